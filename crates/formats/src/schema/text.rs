//! What kind of value a field of text is: numbers, truths, dates, and arrays, tuples and maps as literals.

use squall_types::calendar::TimeZone;
use squall_types::text::{GuessedMoment, MomentForm, MomentGuess, read_float64, read_quoted};
use squall_types::{Error, ErrorCode, Result};

use super::guess::{Guess, Kind, Mixing};
use crate::options::FormatOptions;

/// How deep literals may nest.
pub(super) const DEPTH_MAX: usize = 100;

/// What the settings say of guessing.
#[derive(Clone, Debug)]
pub(crate) struct GuessOptions {
    pub integers: bool,
    pub exponent_floats: bool,
    moments: MomentGuess,
    /// Whether numbers in quotes are numbers, in CSV and in JSON.
    csv_numbers_in_strings: bool,
    /// Whether fields of CSV and of TSV are looked at; else they are strings.
    csv_best_effort: bool,
    /// Whether a tuple in quotes is a string in CSV.
    csv_tuples_as_strings: bool,
    tsv_best_effort: bool,
    pub json_numbers_in_strings: bool,
    /// Whether an array of JSON has items of any types.
    pub json_dynamic_arrays: bool,
    /// Whether objects of JSON are tuples with their keys as names; else whether they are strings rather than maps.
    pub json_named_tuples: bool,
    pub json_objects_as_strings: bool,
    /// Which values of different kinds columns of JSON hold.
    pub json_mixing: Mixing,
    /// Whether arrays of values may have other lengths than the first.
    pub json_variable_columns: bool,
    time_zone: TimeZone,
    true_word: String,
    false_word: String,
}

impl GuessOptions {
    pub fn new(options: &FormatOptions) -> Self {
        let settings = &options.settings;
        Self {
            integers: settings.input_format_try_infer_integers,
            exponent_floats: settings.input_format_try_infer_exponent_floats,
            moments: MomentGuess {
                dates: settings.input_format_try_infer_dates,
                datetimes: settings.input_format_try_infer_datetimes,
                form: MomentForm::of_setting(&settings.date_time_input_format),
            },
            csv_best_effort: settings.input_format_csv_use_best_effort_in_schema_inference,
            tsv_best_effort: settings.input_format_tsv_use_best_effort_in_schema_inference,
            csv_tuples_as_strings: settings.input_format_csv_try_infer_strings_from_quoted_tuples,
            csv_numbers_in_strings: settings.input_format_csv_try_infer_numbers_from_strings,
            json_numbers_in_strings: settings.input_format_json_try_infer_numbers_from_strings,
            json_dynamic_arrays: settings.input_format_json_infer_array_of_dynamic_from_array_of_different_types,
            json_named_tuples: settings.input_format_json_try_infer_named_tuples_from_objects,
            json_objects_as_strings: settings.input_format_json_read_objects_as_strings,
            json_mixing: Mixing::Json {
                ambiguous_as_strings: settings
                    .input_format_json_use_string_type_for_ambiguous_paths_in_named_tuples_inference_from_objects,
            },
            json_variable_columns: settings.input_format_json_compact_allow_variable_number_of_columns,
            time_zone: options.time_zone.clone(),
            true_word: settings.bool_true_representation.clone(),
            false_word: settings.bool_false_representation.clone(),
        }
    }

    /// The kind of an unquoted field; String where it is nothing else.
    pub fn field(&self, text: &[u8]) -> Guess {
        let is_truth = text == self.true_word.as_bytes() || text == self.false_word.as_bytes();
        if is_truth || text.eq_ignore_ascii_case(b"true") || text.eq_ignore_ascii_case(b"false") {
            return Kind::Bool.into();
        }
        self.number(text, self.exponent_floats)
            .or_else(|| self.moment(text))
            .map(Guess::from)
            .or_else(|| self.nested(text))
            .unwrap_or_else(|| Kind::String.into())
    }

    /// The kind of an unquoted field of CSV.
    pub fn csv_field(&self, text: &[u8]) -> Guess {
        if self.csv_best_effort { self.field(text) } else { Kind::String.into() }
    }

    /// The kind of a field of TSV: what has zeros before its digits is no number, nor is an integer that 64 bits do not hold.
    pub fn escaped_field(&self, text: &[u8]) -> Guess {
        if !self.tsv_best_effort || text.len() > 1 && text.starts_with(b"0") && text.iter().all(u8::is_ascii_digit) {
            return Kind::String.into();
        }
        match self.field(text) {
            Guess { kind: Kind::Float64, .. } if self.integers && is_integer(text) => Kind::String.into(),
            guess => guess,
        }
    }

    /// The kind of what stands in quotes: a number there is a string, unless a setting says otherwise.
    pub fn quoted_field(&self, text: &[u8]) -> Guess {
        if !self.csv_best_effort || (self.csv_tuples_as_strings && text.starts_with(b"(")) {
            return Kind::String.into();
        }
        let number = self.number(text, self.exponent_floats).filter(|_| self.csv_numbers_in_strings).map(Guess::from);
        let moment = number.or_else(|| self.moment(text).map(Guess::from));
        moment.or_else(|| self.nested(text)).unwrap_or_else(|| Kind::String.into())
    }

    /// An array, tuple or map that the whole field is.
    fn nested(&self, text: &[u8]) -> Option<Guess> {
        if !matches!(text.first(), Some(b'[' | b'(' | b'{')) {
            return None;
        }
        let mut literals = Literals { options: self, text, at: 0, depth: 0 };
        let guess = literals.literal().ok()??;
        literals.rest().trim_ascii().is_empty().then_some(guess)
    }

    /// The kind of a number that the whole text is.
    pub fn number(&self, text: &[u8], with_exponent: bool) -> Option<Kind> {
        let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
        let first = *digits.first()?;
        if !first.is_ascii_digit() && first != b'.' {
            let is_word = [&b"nan"[..], b"inf", b"infinity"].iter().any(|word| digits.eq_ignore_ascii_case(word));
            return is_word.then_some(Kind::Float64);
        }
        if digits.iter().all(u8::is_ascii_digit) {
            let text = std::str::from_utf8(text).ok()?;
            let kind = match (text.parse::<i64>(), text.parse::<u64>()) {
                (Ok(number), _) => Kind::Int64 { has_negative: number < 0 },
                (_, Ok(_)) => Kind::UInt64,
                _ => Kind::Float64,
            };
            return Some(if self.integers { kind } else { Kind::Float64 });
        }
        let plain = |byte: &u8| byte.is_ascii_digit() || *byte == b'.' || with_exponent;
        if !digits.iter().all(plain) || !digits.iter().any(u8::is_ascii_digit) {
            return None;
        }
        read_float64(text).filter(|(_, read)| *read == text.len()).map(|_| Kind::Float64)
    }

    /// The kind of a date, or a date and time, that the whole text is.
    pub fn moment(&self, text: &[u8]) -> Option<Kind> {
        self.moments.of(text, &mut self.time_zone.cursor()).map(|moment| match moment {
            GuessedMoment::Date => Kind::Date,
            GuessedMoment::DateTime => Kind::DateTime,
            GuessedMoment::DateTime64 => Kind::DateTime64,
        })
    }
}

/// Whether a text is an integer, of whatever size.
pub(super) fn is_integer(text: &[u8]) -> bool {
    let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// Reads SQL literals.
pub(super) struct Literals<'a> {
    pub options: &'a GuessOptions,
    pub text: &'a [u8],
    pub at: usize,
    pub depth: usize,
}

impl<'a> Literals<'a> {
    pub fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_spaces(&mut self) {
        self.at += self.rest().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.skip_spaces();
        let found = self.rest().first() == Some(&byte);
        self.at += usize::from(found);
        found
    }

    /// The literal at hand; `None` where there is none that is known.
    ///
    /// # Errors
    /// `TOO_DEEP_RECURSION`.
    pub fn literal(&mut self) -> Result<Option<Guess>> {
        self.skip_spaces();
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::new(ErrorCode::TOO_DEEP_RECURSION, "Too deep nesting of brackets in the input"));
        }
        let guess = match self.rest().first() {
            Some(b'\'') => self.string(),
            Some(b'[') => self.items(b']')?.and_then(|items| {
                let all = items
                    .into_iter()
                    .try_fold(Guess::from(Kind::Unknown), |all, next| all.join(next, Mixing::Literals))?;
                Some(Kind::Array(Box::new(all)).into())
            }),
            Some(b'(') => self.items(b')')?.map(|items| Kind::Tuple(items).into()),
            Some(b'{') => self.map()?,
            _ => self.word(),
        };
        self.depth -= 1;
        Ok(guess)
    }

    fn string(&mut self) -> Option<Guess> {
        let mut value = Vec::new();
        self.at += read_quoted(&mut value, self.rest()).ok()?;
        Some(self.options.moment(&value).unwrap_or(Kind::String).into())
    }

    fn word(&mut self) -> Option<Guess> {
        let is_end = |byte: &u8| matches!(byte, b',' | b']' | b')' | b'}' | b':') || byte.is_ascii_whitespace();
        let rest = self.rest();
        let word = rest.get(..rest.iter().position(is_end).unwrap_or(rest.len())).unwrap_or_default();
        self.at += word.len();
        if word.eq_ignore_ascii_case(b"NULL") {
            return Some(Guess::null());
        }
        if word.eq_ignore_ascii_case(b"true") || word.eq_ignore_ascii_case(b"false") {
            return Some(Kind::Bool.into());
        }
        let is_too_wide = |kind: &Kind| *kind == Kind::Float64 && self.options.integers && is_integer(word);
        let kind = self.options.number(word, self.options.exponent_floats);
        kind.filter(|kind| !is_too_wide(kind)).map(Guess::from)
    }

    /// The values of a row; one of which nobody can tell what it is, `1 + 1`, leaves it to other rows. `None` where there is no row.
    ///
    /// # Errors
    /// `TOO_DEEP_RECURSION`.
    pub fn row(&mut self) -> Result<Option<Vec<Guess>>> {
        if !self.eat(b'(') {
            return Ok(None);
        }
        let mut items = Vec::new();
        while !self.eat(b')') {
            if !items.is_empty() && !self.eat(b',') {
                return Ok(None);
            }
            self.skip_spaces();
            let (begin, depth) = (self.at, self.depth);
            let literal = self.literal()?;
            if literal.is_none() {
                // A word is no value of any kind.
                if self.text.get(begin).is_some_and(u8::is_ascii_alphabetic) {
                    return Ok(None);
                }
                (self.at, self.depth) = (begin, depth);
                self.skip_value();
            }
            items.push(literal.unwrap_or(Kind::Unknown.into()));
        }
        Ok(Some(items))
    }

    /// Steps over what is before the next comma or the row's end.
    fn skip_value(&mut self) {
        let mut open = 0_usize;
        while let Some(byte) = self.rest().first() {
            match byte {
                b'\'' => match read_quoted(&mut Vec::new(), self.rest()) {
                    Ok(read) => self.at += read.saturating_sub(1),
                    Err(_) => return,
                },
                b'(' | b'[' | b'{' => open += 1,
                b',' | b')' if open == 0 => return,
                b')' | b']' | b'}' => open = open.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
        }
    }

    fn items(&mut self, close: u8) -> Result<Option<Vec<Guess>>> {
        self.at += 1;
        let mut items = Vec::new();
        while !self.eat(close) {
            if !items.is_empty() && !self.eat(b',') {
                return Ok(None);
            }
            // A tuple of one has a comma after its item.
            if !items.is_empty() && self.eat(close) {
                break;
            }
            match self.literal()? {
                Some(item) => items.push(item),
                None => return Ok(None),
            }
        }
        Ok(Some(items))
    }

    fn map(&mut self) -> Result<Option<Guess>> {
        self.at += 1;
        let (mut keys, mut values) = (Guess::from(Kind::Unknown), Guess::from(Kind::Unknown));
        let mut is_first = true;
        while !self.eat(b'}') {
            if !is_first && !self.eat(b',') {
                return Ok(None);
            }
            is_first = false;
            let Some(key) = self.literal()? else { return Ok(None) };
            if !self.eat(b':') {
                return Ok(None);
            }
            let Some(value) = self.literal()? else { return Ok(None) };
            let (Some(next_keys), Some(next_values)) =
                (keys.join(key, Mixing::Literals), values.join(value, Mixing::Literals))
            else {
                return Ok(None);
            };
            (keys, values) = (next_keys, next_values);
        }
        Ok(Some(Kind::Map(Box::new(keys), Box::new(values)).into()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::guess::Nullability;
    use super::*;

    #[test]
    fn fields_tell_their_types() {
        let options = GuessOptions::new(&FormatOptions::default());
        for (text, expected) in [
            ("1", "Int64"),
            ("-7", "Int64"),
            ("18446744073709551615", "UInt64"),
            ("18446744073709551616", "Float64"),
            ("1.5", "Float64"),
            ("1.5e3", "String"),
            ("true", "Bool"),
            ("2024-02-29", "Date"),
            ("2023-02-29", "String"),
            ("2024-02-29 12:00:00", "DateTime"),
            ("2024-02-29 12:00:00.125", "DateTime64(9)"),
            ("[1,2.5]", "Array(Float64)"),
            ("['a', 'b']", "Array(String)"),
            ("(1,'x')", "Tuple(Int64, String)"),
            ("{'a':1}", "Map(String, Int64)"),
            ("[1,'a']", "String"),
            ("[1", "String"),
            ("- 1", "String"),
            ("nan", "Float64"),
            ("-inf", "Float64"),
            ("nano", "String"),
            ("1900-01-01", "DateTime64(9)"),
            ("2024/2/9", "Date"),
            ("2024.02.09", "String"),
            ("9/2/2024", "DateTime"),
            ("2/29/2024 10:00", "DateTime"),
            ("29 Feb 2024 10:00:00.5 +0100", "DateTime64(9)"),
            ("29.2.2024", "String"),
            ("20240229T100000", "String"),
            ("29 Feb", "String"),
            ("10:00:00", "String"),
            (".", "String"),
        ] {
            let guess = options.field(text.as_bytes());
            assert_eq!(guess.data_type(Nullability::Never).to_string(), expected, "{text}");
        }
        let quoted = options.quoted_field(b"1");
        assert_eq!(quoted.data_type(Nullability::Never).to_string(), "String");
        let deep = [&[b'['; 10_000][..], &[b']'; 10_000][..]].concat();
        assert_eq!(options.field(&deep).kind, Kind::String);
    }
}
