//! A text's tokens by the names that ClickHouse has for them, with the blanks and comments between: for functions that show how a
//! query is read.

use crate::lexer::{Lexer, TokenKind};

/// ClickHouse's names of kinds of tokens, in the order of their numbers.
pub const SPELLED_KINDS: &[&str] = &[
    "Whitespace",
    "Comment",
    "BareWord",
    "Number",
    "StringLiteral",
    "QuotedIdentifier",
    "OpeningRoundBracket",
    "ClosingRoundBracket",
    "OpeningSquareBracket",
    "ClosingSquareBracket",
    "OpeningCurlyBrace",
    "ClosingCurlyBrace",
    "Comma",
    "Semicolon",
    "VerticalDelimiter",
    "Dot",
    "Asterisk",
    "HereDoc",
    "DollarSign",
    "Plus",
    "Minus",
    "Slash",
    "Percent",
    "Arrow",
    "QuestionMark",
    "Colon",
    "Caret",
    "DoubleColon",
    "Equals",
    "NotEquals",
    "Less",
    "Greater",
    "LessOrEquals",
    "GreaterOrEquals",
    "Spaceship",
    "PipeMark",
    "PipeOperator",
    "Concatenation",
    "Tilde",
    "TildeAsterisk",
    "NotTilde",
    "NotTildeAsterisk",
    "At",
    "DoubleAt",
    "EndOfStream",
    "Error",
    "ErrorMultilineCommentIsNotClosed",
    "ErrorSingleQuoteIsNotClosed",
    "ErrorDoubleQuoteIsNotClosed",
    "ErrorBackQuoteIsNotClosed",
    "ErrorSingleExclamationMark",
    "ErrorSinglePipeMark",
    "ErrorWrongNumber",
    "ErrorMaxQuerySizeExceeded",
];

/// A token by its kind's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpelledToken {
    /// One of [`SPELLED_KINDS`].
    pub kind: &'static str,
    /// Whether it is a word of the grammar.
    pub is_keyword: bool,
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

impl SpelledToken {
    /// Whether it is more than a blank or a comment.
    pub fn is_significant(&self) -> bool {
        !matches!(self.kind, "Whitespace" | "Comment")
    }
}

/// The tokens of a text up to its end, or up to the first that is none.
pub fn spelled_tokens(text: &[u8]) -> Vec<SpelledToken> {
    let mut lexer = Lexer::new(text, 0, 0);
    let mut tokens = Vec::new();
    let mut end = 0;
    loop {
        let token = lexer.next_token();
        let (start, stop) = (token.start as usize, token.end as usize);
        let between = if token.kind == TokenKind::End { text.len() } else { start };
        put_blanks(text, end, between, &mut tokens);
        end = stop;
        if token.kind == TokenKind::End {
            return tokens;
        }
        let is_keyword = token.kind == TokenKind::Word && token.keyword != crate::keyword::Keyword::NONE;
        tokens.push(SpelledToken { kind: token.kind.name(), is_keyword, start, end: stop });
        if matches!(token.kind, TokenKind::Error(_)) {
            return tokens;
        }
    }
}

/// The blanks and comments of a stretch between two tokens.
fn put_blanks(text: &[u8], from: usize, to: usize, tokens: &mut Vec<SpelledToken>) {
    let mut at = from;
    while at < to {
        let rest = text.get(at..to).unwrap_or_default();
        let length_of_line = || rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let (kind, length) = match rest {
            [b'-', b'-', ..] | [b'#', b' ' | b'!', ..] => ("Comment", length_of_line()),
            [b'/', b'*', ..] => ("Comment", 4 + crate::lexer::comment_body(&rest[2..]).unwrap_or(rest.len())),
            _ => {
                let is_comment = |window: &[u8]| matches!(window, [b'-', b'-'] | [b'/', b'*'] | [b'#', b' ' | b'!']);
                ("Whitespace", rest.windows(2).position(is_comment).unwrap_or(rest.len()))
            }
        };
        let end = to.min(at + length.max(1));
        tokens.push(SpelledToken { kind, is_keyword: false, start: at, end });
        at = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_out() {
        let text = b"SELECT 1 -- x\n /* y */, a\n";
        let kinds: Vec<&str> = spelled_tokens(text).iter().map(|token| token.kind).collect();
        let expected = [
            "BareWord",
            "Whitespace",
            "Number",
            "Whitespace",
            "Comment",
            "Whitespace",
            "Comment",
            "Comma",
            "Whitespace",
            "BareWord",
            "Whitespace",
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn every_kind_has_a_number() {
        for token in
            spelled_tokens(b"a 1 'b' \"c\" () [] {} , ; . * + - / % -> ? : ^ :: = != < > <= >= <=> || @ @@ $$h$$")
        {
            assert!(SPELLED_KINDS.contains(&token.kind), "{}", token.kind);
        }
    }
}
