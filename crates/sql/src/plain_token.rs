//! A text's tokens as far as brackets, words and literals go, for whoever looks for something in texts that may not parse.

use crate::lexer::{Lexer, LexicalError, TokenKind as T};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainKind {
    /// A string of any kind; one that does not end goes to the end of the text.
    String,
    /// A number.
    Number,
    /// A word, or an identifier in quotes.
    Word,
    /// `(`, `[`, `{`.
    Open,
    /// `)`, `]`, `}`.
    Close,
    /// `,`.
    Comma,
    /// `.`.
    Dot,
    /// `=`.
    Equals,
    /// Anything else.
    Other,
}

/// A token: blanks and comments lie between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainToken {
    /// What it is.
    pub kind: PlainKind,
    /// Where it begins.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// The tokens of a text, whatever it is.
pub fn plain_tokens(text: &str) -> Vec<PlainToken> {
    let mut lexer = Lexer::new(text.as_bytes(), 0, 0);
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next_token();
        let kind = match token.kind {
            T::End => return tokens,
            T::String | T::HexString | T::BinaryString | T::HereDoc | T::Error(LexicalError::SingleQuoteNotClosed) => {
                PlainKind::String
            }
            T::Number => PlainKind::Number,
            T::Word | T::QuotedIdentifier => PlainKind::Word,
            T::OpenRound | T::OpenSquare | T::OpenCurly => PlainKind::Open,
            T::CloseRound | T::CloseSquare | T::CloseCurly => PlainKind::Close,
            T::Comma => PlainKind::Comma,
            T::Dot => PlainKind::Dot,
            T::Equals => PlainKind::Equals,
            _ => PlainKind::Other,
        };
        tokens.push(PlainToken { kind, start: token.start as usize, end: token.end as usize });
    }
}
