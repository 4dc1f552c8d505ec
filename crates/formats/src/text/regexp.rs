//! Regexp: lines from which the groups of an expression take the columns' values.

use regex::bytes::Regex;
use squall_types::text::ValueReader;
use squall_types::{Error, ErrorCode, Result};

use crate::input::{RowReader, Rows};
use crate::options::FormatOptions;
use crate::split::RowEnds;
use crate::text::escaping::Escaping;
use crate::wire::{Cursor, Stop};

/// Reads lines.
#[derive(Clone, Debug)]
pub(crate) struct RegexpReader {
    expression: Regex,
    rule: Escaping,
    skips_unmatched: bool,
}

impl RegexpReader {
    /// # Errors
    /// `BAD_ARGUMENTS` without an expression, `CANNOT_COMPILE_REGEXP`.
    pub fn new(options: &FormatOptions) -> Result<Self> {
        let settings = &options.settings;
        if settings.format_regexp.is_empty() {
            let message = "The regular expression is not set for the `Regexp` format: see the setting format_regexp";
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        // The whole line has to match.
        let expression = Regex::new(&format!("^(?:{})$", settings.format_regexp))
            .map_err(|error| Error::new(ErrorCode::CANNOT_COMPILE_REGEXP, format!("Cannot compile re2: {error}")))?;
        Ok(Self {
            expression,
            rule: Escaping::named(&settings.format_regexp_escaping_rule)?,
            skips_unmatched: settings.format_regexp_skip_unmatched,
        })
    }
}

impl RegexpReader {
    /// The rule of the groups.
    pub fn rule(&self) -> Escaping {
        self.rule
    }

    /// What the groups of the next line are; `None` of a line that is passed over.
    ///
    /// # Errors
    /// `INCORRECT_DATA` for a line that does not match.
    pub fn fields<'a>(&self, input: &mut Cursor<'a>) -> Result<Option<Vec<&'a [u8]>>, Stop> {
        let line = line(input)?;
        let Some(groups) = self.expression.captures(line) else {
            if self.skips_unmatched {
                return Ok(None);
            }
            let message = format!("Line \"{}\" doesn't match the regexp.", String::from_utf8_lossy(line));
            return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)));
        };
        Ok(Some(groups.iter().skip(1).map(|group| group.map_or(&[][..], |group| group.as_bytes())).collect()))
    }
}

/// The line at the cursor, which moves behind it.
fn line<'a>(input: &mut Cursor<'a>) -> Result<&'a [u8], Stop> {
    let rest = input.rest();
    let end = match memchr::memchr(b'\n', rest) {
        Some(end) => end,
        None if input.is_last() => rest.len(),
        None => return Err(Stop::Incomplete),
    };
    input.advance(end + 1);
    let line = rest.get(..end).unwrap_or_default();
    Ok(line.strip_suffix(b"\r").unwrap_or(line))
}

impl RowReader for RegexpReader {
    type Column = ValueReader;

    fn fork(&self) -> Option<(RowEnds, Self)> {
        Some((RowEnds::Lines, self.clone()))
    }

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<bool, Stop> {
        let Some(fields) = self.fields(input)? else { return Ok(false) };
        if fields.len() != rows.width() {
            let message = format!(
                "The number of groups in regexp is not equal to the number of columns: {} and {}",
                fields.len(),
                rows.width()
            );
            return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)));
        }
        for (position, field) in fields.into_iter().enumerate() {
            self.rule.read(field, position, rows)?;
        }
        Ok(true)
    }

    fn skip_row(&mut self, input: &mut Cursor<'_>) -> Result<(), Stop> {
        line(input).map(drop)
    }
}
