//! Values as Values and nested values write them.

use std::sync::Arc;

use super::Scratch;
use super::bare::read_bool;
use super::input::{Input, plain_string};
use super::node::{Node, push_end};
use crate::calendar::{DATE32_MAX, DATE32_MIN, DAY_SECONDS};
use crate::error::{Error, ErrorCode, Result};
use crate::text::escape::read_quoted;
use crate::text::number::{read_float64, read_integer};

impl Node {
    /// A value inside another one.
    fn read_item(&mut self, input: &mut Input<'_>, scratch: &mut Scratch) -> Result<()> {
        if scratch.nulls_are_defaults && input.peek() == Some(b'N') && !self.has_null() && input.eat_word(b"NULL") {
            self.append_default();
            return Ok(());
        }
        self.read_quoted(input, scratch)
    }

    pub fn read_quoted(&mut self, input: &mut Input<'_>, scratch: &mut Scratch) -> Result<()> {
        match self {
            Self::Nullable(inner, valid) => {
                if input.eat_word(b"NULL") {
                    self.append_default();
                    return Ok(());
                }
                inner.read_quoted(input, scratch)?;
                valid.push(true);
                Ok(())
            }
            Self::LowCardinality(inner) => inner.read_quoted(input, scratch),
            Self::Variant(reader) => reader.read_quoted(input, scratch),
            Self::Dynamic(reader) => reader.read_quoted(input),
            Self::Nothing(rows) => {
                if !input.eat_word(b"NULL") {
                    return Err(Error::new(ErrorCode::CANNOT_PARSE_TEXT, "Type Nothing has no values"));
                }
                *rows += 1;
                Ok(())
            }
            Self::Array(offsets, items) => {
                input.list(b'[', b']', |input| items.read_item(input, scratch))?;
                push_end(offsets, items.rows())
            }
            Self::Map(offsets, keys, values) => {
                input.list(b'{', b'}', |input| {
                    keys.read_quoted(input, scratch)?;
                    input.skip_spaces();
                    input.expect(b':')?;
                    input.skip_spaces();
                    values.read_item(input, scratch)
                })?;
                push_end(offsets, keys.rows())
            }
            Self::Tuple(elements, rows) => {
                read_elements(elements, input, scratch)?;
                *rows += 1;
                Ok(())
            }
            Self::Bool(values) if input.peek() != Some(b'\'') => {
                let value = match () {
                    () if input.eat_word(b"true") || input.eat(b'1') => 1,
                    () if input.eat_word(b"false") || input.eat(b'0') => 0,
                    () => return Err(read_bool(input.rest()).err().unwrap_or_else(|| Error::logical("bool"))),
                };
                values.push(value);
                Ok(())
            }
            _ if input.peek() != Some(b'\'')
                && !matches!(self, Self::String(..) | Self::FixedString(..) | Self::Object(_)) =>
            {
                self.read_unquoted(input)
            }
            _ => self.read_quoted_text(input, scratch),
        }
    }

    /// What stands in quotes.
    #[inline]
    fn read_quoted_text(&mut self, input: &mut Input<'_>, scratch: &mut Scratch) -> Result<()> {
        scratch.bytes.clear();
        let text = input.rest();
        match plain_string(text, b'\'') {
            // Without escapes the bytes are taken from where they are.
            Some(contents) => {
                input.at += contents.len() + 2;
                self.read_whole(contents, scratch)
            }
            None => {
                input.at += read_quoted(&mut scratch.bytes, text)?;
                let contents = std::mem::take(&mut scratch.bytes);
                let result = self.read_whole(&contents, scratch);
                scratch.bytes = contents;
                result
            }
        }
    }

    /// A number, or a date, time or enum written without quotes as a number.
    pub fn read_unquoted(&mut self, input: &mut Input<'_>) -> Result<()> {
        let rest = input.rest();
        let read = if self.is_number() {
            self.read_bare(rest)?
        } else {
            let end = rest
                .iter()
                .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b':')));
            let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            if text.is_empty() || !text.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.' || *byte == b'-') {
                return input.expect(b'\'');
            }
            match self {
                // A number is days or seconds here, not a date's digits.
                Self::Date(values) => {
                    let (days, read) = read_integer(text, false).unwrap_or((0, 0));
                    values.push(days as u16);
                    read
                }
                Self::Date32(values) => {
                    let (days, read) = read_integer(text, true).unwrap_or((0, 0));
                    values.push(days as i32);
                    read
                }
                Self::DateTime(values, ..) => {
                    let (seconds, read) = read_integer(text, false).unwrap_or((0, 0));
                    values.push(seconds as u32);
                    read
                }
                Self::Time(values) => {
                    let (seconds, read) = read_integer(text, true).unwrap_or((0, 0));
                    values.push(seconds as i32);
                    read
                }
                Self::DateTime64(values, digits, ..) => {
                    // A moment past the calendar is its end.
                    let seconds = i64::from(DATE32_MIN) * DAY_SECONDS..=(i64::from(DATE32_MAX) + 1) * DAY_SECONDS - 1;
                    let (ticks, read) = seconds_as_ticks(text, *digits, &seconds);
                    values.push(ticks);
                    read
                }
                Self::Time64(values, digits) => {
                    let (ticks, read) = seconds_as_ticks(text, *digits, &(i64::MIN..=i64::MAX));
                    values.push(ticks);
                    read
                }
                _ => self.read_bare(text)?,
            }
        };
        if read == 0 {
            self.truncate(self.rows() - 1);
            return Err(self.incomplete(rest, 0));
        }
        input.at += read;
        Ok(())
    }
}

/// Seconds with a fraction as ticks of so many digits, and the bytes read.
fn seconds_as_ticks(text: &[u8], digits: u8, allowed: &std::ops::RangeInclusive<i64>) -> (i64, usize) {
    let (seconds, mut read) = read_integer(text, true).unwrap_or((0, 0));
    let seconds = (seconds as i64).clamp(*allowed.start(), *allowed.end());
    let mut ticks = seconds.saturating_mul(10i64.pow(digits.into()));
    if let Some((fraction, length)) = text.get(read..).filter(|rest| rest.starts_with(b".")).and_then(read_float64) {
        let fraction = (fraction * 10f64.powi(digits.into())) as i64;
        ticks = ticks.saturating_add(if text.starts_with(b"-") { -fraction } else { fraction });
        read += length;
    }
    (ticks, read)
}

/// Reads the elements of one tuple, with its parentheses.
fn read_elements(elements: &mut [(Arc<str>, Node)], input: &mut Input<'_>, scratch: &mut Scratch) -> Result<()> {
    input.expect(b'(')?;
    for (at, (_, element)) in elements.iter_mut().enumerate() {
        input.skip_spaces();
        if at > 0 {
            input.expect(b',')?;
            input.skip_spaces();
        }
        element.read_item(input, scratch)?;
    }
    input.skip_spaces();
    // `(1,)` is a tuple of one.
    if elements.len() == 1 && input.eat(b',') {
        input.skip_spaces();
    }
    input.expect(b')')
}
