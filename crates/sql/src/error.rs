//! Errors of the parser: what was found where, and what was expected, in ClickHouse's words.

use std::fmt;

/// `SYNTAX_ERROR`.
pub const SYNTAX_ERROR: u16 = 62;
/// ClickHouse's `BAD_ARGUMENTS`.
pub const BAD_ARGUMENTS: u16 = 36;
/// `TOO_DEEP_AST`.
pub const TOO_DEEP_AST: u16 = 167;
/// `TOO_BIG_AST`.
pub const TOO_BIG_AST: u16 = 168;
/// `WITH_TIES_WITHOUT_ORDER_BY`.
pub const WITH_TIES_WITHOUT_ORDER_BY: u16 = 476;
/// `OFFSET_FETCH_WITHOUT_ORDER_BY`.
pub const OFFSET_FETCH_WITHOUT_ORDER_BY: u16 = 628;
/// `TOP_AND_LIMIT_TOGETHER`.
pub const TOP_AND_LIMIT_TOGETHER: u16 = 406;
/// `TOO_SLOW_PARSING`.
pub const TOO_SLOW_PARSING: u16 = 718;
/// `TOO_DEEP_RECURSION`.
pub const TOO_DEEP_RECURSION: u16 = 306;

/// A text that is not a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// ClickHouse's code: 62 `SYNTAX_ERROR` for most.
    pub code: u16,
    /// The whole message in ClickHouse's words, without the code.
    pub message: String,
    /// Offset of the byte at which parsing stopped.
    pub position: usize,
    /// Its line, from 1.
    pub line: usize,
    /// Its column in bytes, from 1.
    pub column: usize,
    /// The token that was found; empty at the end of the text.
    pub found: String,
    /// What could have stood there instead.
    pub expected: Vec<&'static str>,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SyntaxError {}

/// Line and column, both from 1, of a byte offset.
pub(crate) fn line_and_column(text: &[u8], position: usize) -> (usize, usize) {
    let before = text.get(..position).unwrap_or(text);
    let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
    let column = before.iter().rev().take_while(|&&b| b != b'\n').count() + 1;
    (line, column)
}
