//! Text under way, and what several readers take from it.

use crate::error::{Error, ErrorCode, Result};
use crate::grow;

/// The length of the JSON value at the start of a text, which may go on behind it.
///
/// # Errors
/// `INCORRECT_DATA` where there is no value, or brackets do not match.
pub fn json_value_length(text: &[u8]) -> Result<usize> {
    let mut input = Input { text, at: 0 };
    input.skip_json()?;
    Ok(input.at)
}

/// Text under way: a position that moves forward.
pub(super) struct Input<'a> {
    pub text: &'a [u8],
    pub at: usize,
}

impl<'a> Input<'a> {
    pub fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    pub fn skip_spaces(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    pub fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    pub fn expect(&mut self, byte: u8) -> Result<()> {
        if self.eat(byte) {
            return Ok(());
        }
        let place = match self.peek() {
            None => "at end of stream".to_owned(),
            Some(_) => format!("before: '{}'", shown(self.rest().get(..20).unwrap_or(self.rest()))),
        };
        Err(Error::new(
            ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
            format!("Cannot parse input: expected '{}' {place}", char::from(byte)),
        ))
    }

    pub fn eat_word(&mut self, word: &[u8]) -> bool {
        let found = self.rest().get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
            && !self.rest().get(word.len()).is_some_and(u8::is_ascii_alphanumeric);
        if found {
            self.at += word.len();
        }
        found
    }

    /// Passes over a value of JSON.
    pub fn skip_json(&mut self) -> Result<()> {
        // What closes each object and array that is open.
        let mut open: Vec<u8> = Vec::new();
        loop {
            self.skip_spaces();
            match self.peek() {
                Some(b'"') => self.skip_json_string()?,
                Some(bracket @ (b'{' | b'[')) => {
                    grow(&mut open, 1)?;
                    open.push(if bracket == b'{' { b'}' } else { b']' });
                    self.at += 1;
                }
                Some(bracket @ (b'}' | b']')) if open.last() == Some(&bracket) => {
                    open.pop();
                    self.at += 1;
                }
                Some(b',' | b':') if !open.is_empty() => {
                    self.at += 1;
                    continue;
                }
                None | Some(b'}' | b']' | b',' | b':') => {
                    return Err(Error::new(ErrorCode::INCORRECT_DATA, "Expected a value of JSON"));
                }
                Some(_) => {
                    let ends = |byte: &u8| byte.is_ascii_whitespace() || b",:{}[]\"".contains(byte);
                    let rest = self.rest();
                    self.at += rest.iter().position(ends).unwrap_or(rest.len());
                }
            }
            if open.is_empty() {
                return Ok(());
            }
        }
    }

    fn skip_json_string(&mut self) -> Result<()> {
        self.expect(b'"')?;
        while let Some(end) = memchr::memchr2(b'"', b'\\', self.rest()) {
            self.at += end + 1;
            if self.text.get(self.at - 1) == Some(&b'"') {
                return Ok(());
            }
            // What a backslash escapes.
            self.at += 1;
        }
        Err(Error::new(ErrorCode::INCORRECT_DATA, "A string of JSON has no end"))
    }

    /// Items between brackets: `[1, 2]`, `{…}`. `item` reads one.
    pub fn list(&mut self, open: u8, close: u8, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        if open == b'[' && self.peek() != Some(open) {
            return Err(Error::new(ErrorCode::CANNOT_READ_ARRAY_FROM_TEXT, "Array does not start with '[' character"));
        }
        self.expect(open)?;
        self.skip_spaces();
        if self.eat(close) {
            return Ok(());
        }
        loop {
            self.skip_spaces();
            item(self)?;
            self.skip_spaces();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(found) if open == b'[' && found != close => {
                    return Err(Error::new(
                        ErrorCode::CANNOT_READ_ARRAY_FROM_TEXT,
                        format!(
                            "Cannot read array from text, expected comma or end of array, found '{}'",
                            char::from(found)
                        ),
                    ));
                }
                _ => return self.expect(close),
            }
        }
    }
}

pub(super) fn shown(text: &[u8]) -> std::borrow::Cow<'_, str> {
    const SHOWN_BYTES_MAX: usize = 256;
    String::from_utf8_lossy(text.get(..SHOWN_BYTES_MAX).unwrap_or(text))
}

/// The contents of a string at the front in these quotes, where nothing is escaped in it.
#[inline]
pub(super) fn plain_string(text: &[u8], quote: u8) -> Option<&[u8]> {
    let contents = text.strip_prefix(&[quote])?;
    let end = memchr::memchr2(quote, b'\\', contents)?;
    let is_end = contents.get(end) == Some(&quote) && (quote == b'"' || contents.get(end + 1) != Some(&quote));
    if is_end { contents.get(..end) } else { None }
}
