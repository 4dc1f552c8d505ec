//! The lexer: cuts a text into tokens that point into it, one at a time, without allocating. Spaces and comments are skipped;
//! what cannot be a token becomes an error token, so that the parser decides what to say about it.

use crate::keyword::{Keyword, keyword};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Word,
    Number,
    /// `'…'`, or one in Unicode quotes.
    String,
    /// `x'…'`.
    HexString,
    /// `b'…'`.
    BinaryString,
    /// `$tag$…$tag$`.
    HereDoc,
    /// In backticks, double quotes or Unicode double quotes.
    QuotedIdentifier,
    OpenRound,
    CloseRound,
    OpenSquare,
    CloseSquare,
    OpenCurly,
    CloseCurly,
    Comma,
    Semicolon,
    /// `\G`.
    VerticalDelimiter,
    Dot,
    Asterisk,
    Dollar,
    Plus,
    Minus,
    Slash,
    Percent,
    Arrow,
    Question,
    Colon,
    DoubleColon,
    Caret,
    Equals,
    NotEquals,
    Less,
    Greater,
    LessOrEquals,
    GreaterOrEquals,
    /// `<=>`.
    Spaceship,
    /// `~`, `~*`, `!~`, `!~*`.
    Match,
    MatchAnyCase,
    NotMatch,
    NotMatchAnyCase,
    Pipe,
    Concatenation,
    At,
    DoubleAt,
    End,
    Error(LexicalError),
}

impl TokenKind {
    /// ClickHouse's name of the kind, as `tokenizeQuery` gives it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Word => "BareWord",
            Self::Number => "Number",
            Self::String | Self::HexString | Self::BinaryString => "StringLiteral",
            Self::HereDoc => "HereDoc",
            Self::QuotedIdentifier => "QuotedIdentifier",
            Self::OpenRound => "OpeningRoundBracket",
            Self::CloseRound => "ClosingRoundBracket",
            Self::OpenSquare => "OpeningSquareBracket",
            Self::CloseSquare => "ClosingSquareBracket",
            Self::OpenCurly => "OpeningCurlyBrace",
            Self::CloseCurly => "ClosingCurlyBrace",
            Self::Comma => "Comma",
            Self::Semicolon => "Semicolon",
            Self::VerticalDelimiter => "VerticalDelimiter",
            Self::Dot => "Dot",
            Self::Asterisk => "Asterisk",
            Self::Dollar => "DollarSign",
            Self::Plus => "Plus",
            Self::Minus => "Minus",
            Self::Slash => "Slash",
            Self::Percent => "Percent",
            Self::Arrow => "Arrow",
            Self::Question => "QuestionMark",
            Self::Colon => "Colon",
            Self::DoubleColon => "DoubleColon",
            Self::Caret => "Caret",
            Self::Equals => "Equals",
            Self::NotEquals => "NotEquals",
            Self::Less => "Less",
            Self::Greater => "Greater",
            Self::LessOrEquals => "LessOrEquals",
            Self::GreaterOrEquals => "GreaterOrEquals",
            Self::Spaceship => "Spaceship",
            Self::Pipe => "PipeMark",
            Self::Concatenation => "Concatenation",
            Self::Match => "Tilde",
            Self::MatchAnyCase => "TildeAsterisk",
            Self::NotMatch => "NotTilde",
            Self::NotMatchAnyCase => "NotTildeAsterisk",
            Self::At => "At",
            Self::DoubleAt => "DoubleAt",
            Self::End => "EndOfStream",
            Self::Error(error) => match error {
                LexicalError::Unrecognized => "Error",
                LexicalError::MultilineCommentNotClosed => "ErrorMultilineCommentIsNotClosed",
                LexicalError::SingleQuoteNotClosed => "ErrorSingleQuoteIsNotClosed",
                LexicalError::DoubleQuoteNotClosed => "ErrorDoubleQuoteIsNotClosed",
                LexicalError::BackQuoteNotClosed => "ErrorBackQuoteIsNotClosed",
                LexicalError::SingleExclamationMark => "ErrorSingleExclamationMark",
                LexicalError::WrongNumber => "ErrorWrongNumber",
                LexicalError::QueryTooLong => "ErrorMaxQuerySizeExceeded",
            },
        }
    }
}

/// Why a token is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LexicalError {
    Unrecognized,
    MultilineCommentNotClosed,
    SingleQuoteNotClosed,
    DoubleQuoteNotClosed,
    BackQuoteNotClosed,
    SingleExclamationMark,
    WrongNumber,
    QueryTooLong,
}

impl LexicalError {
    /// ClickHouse's words for it.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Unrecognized => "Unrecognized token",
            Self::MultilineCommentNotClosed => "Multiline comment is not closed",
            Self::SingleQuoteNotClosed => "Single quoted string is not closed",
            Self::DoubleQuoteNotClosed => "Double quoted string is not closed",
            Self::BackQuoteNotClosed => "Back quoted string is not closed",
            Self::SingleExclamationMark => "Exclamation mark can only occur in !=, !~ and !~* operators",
            Self::WrongNumber => "Wrong number",
            Self::QueryTooLong => "Max query size exceeded (can be increased with the `max_query_size` setting)",
        }
    }
}

/// A token: its kind, its keyword if it is one, and its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) keyword: Keyword,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// Cuts `text` into tokens.
pub(crate) struct Lexer<'a> {
    text: &'a [u8],
    position: usize,
    /// The kind of the token before, which tells `t.1.2` from `1.2`.
    previous: TokenKind,
    /// Tokens that end past this offset are errors.
    max_size: usize,
    begin: usize,
}

fn is_word_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl<'a> Lexer<'a> {
    /// A lexer of `text` from `begin`; tokens that end more than `max_size` bytes after it are errors (0: no limit).
    pub(crate) fn new(text: &'a [u8], begin: usize, max_size: usize) -> Self {
        Self { text, position: begin, previous: TokenKind::End, max_size, begin }
    }

    fn byte(&self, offset: usize) -> u8 {
        self.text.get(self.position + offset).copied().unwrap_or(0)
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.position..).unwrap_or(&[])
    }

    /// The next token; `End` at the end, again and again.
    pub(crate) fn next_token(&mut self) -> Token {
        if let Some(error) = self.skip_blanks() {
            return error;
        }
        let start = self.position;
        let (kind, keyword) = self.scan();
        let mut token = Token { kind, keyword, start: start as u32, end: self.position as u32 };
        if self.max_size != 0 && self.position - self.begin > self.max_size && kind != TokenKind::End {
            token.kind = TokenKind::Error(LexicalError::QueryTooLong);
            token.keyword = Keyword::NONE;
        }
        self.previous = kind;
        token
    }

    /// Skips spaces and comments; a comment that does not end is an error token.
    fn skip_blanks(&mut self) -> Option<Token> {
        loop {
            match self.byte(0) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.position += 1,
                b'-' if self.byte(1) == b'-' => self.skip_line(),
                b'#' if matches!(self.byte(1), b' ' | b'!') => self.skip_line(),
                b'/' if self.byte(1) == b'*' => {
                    let start = self.position;
                    let body = self.text.get(start + 2..).unwrap_or(&[]);
                    match comment_body(body) {
                        Some(length) => self.position += length + 4,
                        None => {
                            self.position = self.text.len();
                            return Some(Token {
                                kind: TokenKind::Error(LexicalError::MultilineCommentNotClosed),
                                keyword: Keyword::NONE,
                                start: start as u32,
                                end: self.position as u32,
                            });
                        }
                    }
                }
                byte if byte >= 0x80 => match unicode_space(self.rest()) {
                    0 => return None,
                    length => self.position += length,
                },
                _ => return None,
            }
        }
    }

    fn skip_line(&mut self) {
        let length = self.rest().iter().position(|&b| b == b'\n').unwrap_or(self.rest().len());
        self.position += length;
    }

    fn scan(&mut self) -> (TokenKind, Keyword) {
        use TokenKind as T;
        let Some(&first) = self.text.get(self.position) else { return (T::End, Keyword::NONE) };
        let (kind, length) = match first {
            b'x' | b'X' if self.byte(1) == b'\'' => match self.digits_in_quotes(|b| b.is_ascii_hexdigit()) {
                Some(length) => (T::HexString, length),
                None => return self.scan_word(),
            },
            b'b' | b'B' if self.byte(1) == b'\'' => match self.digits_in_quotes(|b| matches!(b, b'0' | b'1')) {
                Some(length) => (T::BinaryString, length),
                None => return self.scan_word(),
            },
            byte if is_word_start(byte) => return self.scan_word(),
            b'0'..=b'9' => return (self.scan_number(), Keyword::NONE),
            b'\'' => return (self.scan_quoted(T::String, LexicalError::SingleQuoteNotClosed), Keyword::NONE),
            b'"' => return (self.scan_quoted(T::QuotedIdentifier, LexicalError::DoubleQuoteNotClosed), Keyword::NONE),
            b'`' => return (self.scan_quoted(T::QuotedIdentifier, LexicalError::BackQuoteNotClosed), Keyword::NONE),
            b'.' => {
                let after_operand =
                    matches!(self.previous, T::CloseRound | T::CloseSquare | T::Word | T::QuotedIdentifier | T::Number);
                if self.byte(1).is_ascii_digit() && !after_operand {
                    return (self.scan_number(), Keyword::NONE);
                }
                (T::Dot, 1)
            }
            b'(' => (T::OpenRound, 1),
            b')' => (T::CloseRound, 1),
            b'[' => (T::OpenSquare, 1),
            b']' => (T::CloseSquare, 1),
            b'{' => (T::OpenCurly, 1),
            b'}' => (T::CloseCurly, 1),
            b',' => (T::Comma, 1),
            b';' => (T::Semicolon, 1),
            b'*' => (T::Asterisk, 1),
            b'+' => (T::Plus, 1),
            b'-' if self.byte(1) == b'>' => (T::Arrow, 2),
            b'-' => (T::Minus, 1),
            b'/' => (T::Slash, 1),
            b'%' => (T::Percent, 1),
            b'^' => (T::Caret, 1),
            b'=' if self.byte(1) == b'=' => (T::Equals, 2),
            b'=' => (T::Equals, 1),
            b'!' if self.byte(1) == b'=' => (T::NotEquals, 2),
            b'!' if self.byte(1) == b'~' && self.byte(2) == b'*' => (T::NotMatchAnyCase, 3),
            b'!' if self.byte(1) == b'~' => (T::NotMatch, 2),
            b'~' if self.byte(1) == b'*' => (T::MatchAnyCase, 2),
            b'~' => (T::Match, 1),
            b'!' => (T::Error(LexicalError::SingleExclamationMark), 1),
            b'<' if self.byte(1) == b'=' && self.byte(2) == b'>' => (T::Spaceship, 3),
            b'<' if self.byte(1) == b'=' => (T::LessOrEquals, 2),
            b'<' if self.byte(1) == b'>' => (T::NotEquals, 2),
            b'<' => (T::Less, 1),
            b'>' if self.byte(1) == b'=' => (T::GreaterOrEquals, 2),
            b'>' => (T::Greater, 1),
            b'?' => (T::Question, 1),
            b':' if self.byte(1) == b':' => (T::DoubleColon, 2),
            b':' => (T::Colon, 1),
            b'|' if self.byte(1) == b'|' => (T::Concatenation, 2),
            b'|' => (T::Pipe, 1),
            b'@' if self.byte(1) == b'@' => (T::DoubleAt, 2),
            b'@' => (T::At, 1),
            b'\\' if self.byte(1) == b'G' => (T::VerticalDelimiter, 2),
            b'$' => match self.heredoc() {
                Some(length) => (T::HereDoc, length),
                None if is_word(self.byte(1)) => return self.scan_word(),
                None => (T::Dollar, 1),
            },
            0xe2 => return (self.scan_unicode(), Keyword::NONE),
            _ => {
                let length =
                    self.rest().iter().skip(1).position(|&b| b & 0xc0 != 0x80).map_or(self.rest().len(), |n| n + 1);
                (T::Error(LexicalError::Unrecognized), length)
            }
        };
        self.position += length;
        (kind, Keyword::NONE)
    }

    fn scan_word(&mut self) -> (TokenKind, Keyword) {
        let rest = self.rest();
        let length = rest.iter().position(|&b| !is_word(b) && b != b'$').unwrap_or(rest.len());
        self.position += length;
        (TokenKind::Word, keyword(rest.get(..length).unwrap_or(&[])))
    }

    /// The length of `x'…'` when everything in the quotes is a digit.
    fn digits_in_quotes(&self, is_digit: fn(&u8) -> bool) -> Option<usize> {
        let body = self.rest().get(2..)?;
        let length = body.iter().position(|b| !is_digit(b))?;
        (body.get(length) == Some(&b'\'')).then_some(length + 3)
    }

    fn scan_digits(&mut self, hex: bool) {
        loop {
            let byte = self.byte(0);
            let digit = |b: u8| if hex { b.is_ascii_hexdigit() } else { b.is_ascii_digit() };
            if digit(byte) || (byte == b'_' && digit(self.byte(1))) {
                self.position += 1;
            } else {
                return;
            }
        }
    }

    fn scan_number(&mut self) -> TokenKind {
        let start = self.position;
        if self.previous == TokenKind::Dot {
            self.scan_digits(false);
        } else {
            let mut hex = false;
            if self.byte(0) == b'0'
                && matches!(self.byte(1), b'x' | b'X' | b'b' | b'B')
                && self.byte(2).is_ascii_hexdigit()
            {
                hex = matches!(self.byte(1), b'x' | b'X');
                self.position += 2;
            }
            self.scan_digits(hex);
            if self.byte(0) == b'.' {
                self.position += 1;
                self.scan_digits(hex);
            }
            let exponent = if hex { matches!(self.byte(0), b'p' | b'P') } else { matches!(self.byte(0), b'e' | b'E') };
            if exponent {
                let sign = usize::from(matches!(self.byte(1), b'-' | b'+'));
                if self.byte(1 + sign).is_ascii_digit() {
                    self.position += 1 + sign;
                    self.scan_digits(false);
                }
            }
        }
        if !is_word(self.byte(0)) {
            return TokenKind::Number;
        }
        // `1identifier` is a word, `1.5x` is nothing.
        if self.text.get(start..self.position).is_some_and(|s| s.iter().all(|&b| is_word(b))) {
            while is_word(self.byte(0)) || self.byte(0) == b'$' {
                self.position += 1;
            }
            return TokenKind::Word;
        }
        while is_word(self.byte(0)) {
            self.position += 1;
        }
        TokenKind::Error(LexicalError::WrongNumber)
    }

    /// A token in quotes, with backslash escapes and doubled quotes.
    fn scan_quoted(&mut self, kind: TokenKind, error: LexicalError) -> TokenKind {
        let quote = self.byte(0);
        self.position += 1;
        loop {
            let Some(length) = self.rest().iter().position(|&b| b == quote || b == b'\\') else {
                self.position = self.text.len();
                return TokenKind::Error(error);
            };
            self.position += length;
            if self.byte(0) == quote {
                self.position += 1;
                if self.text.get(self.position) != Some(&quote) {
                    return kind;
                }
                self.position += 1;
            } else {
                self.position = (self.position + 2).min(self.text.len());
            }
        }
    }

    fn heredoc(&self) -> Option<usize> {
        let rest = self.rest();
        let tag = rest.get(1..)?.iter().position(|&b| !is_word(b))? + 1;
        if rest.get(tag) != Some(&b'$') {
            return None;
        }
        let tag = rest.get(..=tag)?;
        let body = find(rest.get(tag.len()..)?, tag)?;
        Some(tag.len() * 2 + body)
    }

    /// Unicode quotes and the Unicode minus, all of which begin with the byte 0xE2.
    fn scan_unicode(&mut self) -> TokenKind {
        let quoted = |this: &mut Self, close: &[u8], kind, error| {
            this.position += 3;
            match find(this.rest(), close) {
                Some(length) => {
                    this.position += length + 3;
                    kind
                }
                None => {
                    this.position = this.text.len();
                    TokenKind::Error(error)
                }
            }
        };
        let second = self.byte(1);
        let third = self.byte(2);
        match (second, third) {
            (0x80, 0x98) => quoted(self, b"\xe2\x80\x99", TokenKind::String, LexicalError::SingleQuoteNotClosed),
            (0x80, 0x9c) => {
                quoted(self, b"\xe2\x80\x9d", TokenKind::QuotedIdentifier, LexicalError::DoubleQuoteNotClosed)
            }
            (0x88, 0x92) => {
                self.position += 3;
                TokenKind::Minus
            }
            _ => {
                self.position = (self.position + 3).min(self.text.len());
                TokenKind::Error(LexicalError::Unrecognized)
            }
        }
    }
}

/// The length of a comment up to what ends it, without what begins it; comments may be within.
pub(crate) fn comment_body(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (1_usize, 0);
    while let Some(pair) = text.get(at..at + 2) {
        match pair {
            b"/*" => depth += 1,
            b"*/" => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        if depth == 0 {
            return Some(at);
        }
        at += 2;
    }
    None
}

/// Where `needle` first stands in `haystack`.
pub(crate) fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let (&first, tail) = needle.split_first()?;
    let mut from = 0;
    while let Some(found) = haystack.get(from..)?.iter().position(|&b| b == first) {
        let at = from + found;
        if haystack.get(at + 1..)?.starts_with(tail) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// The length of the Unicode space, or byte order mark, with which `rest` begins; 0 when it begins with none.
fn unicode_space(rest: &[u8]) -> usize {
    match rest {
        [0xc2, 0xa0 | 0x85, ..] => 2,
        [0xe1, 0x9a, 0x80, ..] | [0xe1, 0xa0, 0x8e, ..] => 3,
        [0xe2, 0x80, 0x80..=0x8d, ..] | [0xe2, 0x80, 0xa8 | 0xa9 | 0xaf, ..] => 3,
        [0xe2, 0x81, 0x9f | 0xa0, ..] => 3,
        [0xe3, 0x80, 0x80, ..] | [0xef, 0xbb, 0xbf, ..] => 3,
        _ => 0,
    }
}
