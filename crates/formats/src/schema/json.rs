//! What type a JSON value has.

use squall_types::text::read_json_string;
use squall_types::{Error, ErrorCode, Result};

use super::guess::{Guess, Kind, Mixing};
use super::text::{DEPTH_MAX, GuessOptions, is_integer};

/// Reads JSON values of a text that is there whole.
pub(super) struct JsonValues<'a> {
    options: &'a GuessOptions,
    text: &'a [u8],
    at: usize,
    depth: usize,
}

fn bad(what: &str) -> Error {
    Error::new(ErrorCode::INCORRECT_DATA, format!("Cannot parse JSON: {what}"))
}

impl<'a> JsonValues<'a> {
    pub fn new(options: &'a GuessOptions, text: &'a [u8]) -> Self {
        Self { options, text, at: 0, depth: 0 }
    }

    fn next(&mut self) -> Option<u8> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.text.get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.next() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn string(&mut self) -> Result<Vec<u8>> {
        let mut value = Vec::new();
        self.next();
        self.at += read_json_string(&mut value, self.text.get(self.at..).unwrap_or_default())?;
        Ok(value)
    }

    /// What stands between two brackets, item by item.
    fn items<T>(&mut self, [open, close]: [u8; 2], item: impl Fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = Vec::new();
        if !self.eat(open) {
            return Err(bad(&format!("expected '{}'", char::from(open))));
        }
        while !self.eat(close) {
            if !items.is_empty() && !self.eat(b',') {
                return Err(bad(&format!("expected ',' or '{}'", char::from(close))));
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// The keys of an object and what their values are.
    ///
    /// # Errors
    /// Where it is none.
    pub fn object(&mut self) -> Result<Vec<(String, Guess)>> {
        self.items(*b"{}", |values| {
            let name = values.text()?;
            if !values.eat(b':') {
                return Err(bad("expected ':'"));
            }
            Ok((name, values.value()?))
        })
    }

    /// What the items of an array are.
    ///
    /// # Errors
    /// Where it is none.
    pub fn array(&mut self) -> Result<Vec<Guess>> {
        self.items(*b"[]", Self::value)
    }

    /// The texts of an array of strings.
    ///
    /// # Errors
    /// Where it is none.
    pub fn strings(&mut self) -> Result<Vec<String>> {
        self.items(*b"[]", Self::text)
    }

    fn text(&mut self) -> Result<String> {
        Ok(String::from_utf8_lossy(&self.string()?).into_owned())
    }

    /// What the value at hand is.
    ///
    /// # Errors
    /// Where it is no JSON; `TOO_DEEP_RECURSION`.
    pub fn value(&mut self) -> Result<Guess> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Error::new(ErrorCode::TOO_DEEP_RECURSION, "Too deep nesting of brackets in the input"));
        }
        let guess = match self.next() {
            Some(b'{') => self.object_as_value()?,
            Some(b'[') => array_of(self.array()?, self.options),
            Some(b'"') => {
                let value = self.string()?;
                let moment = self.options.moment(&value);
                let number = || self.options.number(&value, true).filter(|_| self.options.json_numbers_in_strings);
                match moment {
                    Some(moment) => moment.into(),
                    None => number().map_or(Kind::String.into(), |kind| Guess { is_quoted: true, ..kind.into() }),
                }
            }
            _ => self.word()?,
        };
        self.depth -= 1;
        Ok(guess)
    }

    /// An object that is a value: a tuple, a string or a map, as settings say.
    fn object_as_value(&mut self) -> Result<Guess> {
        let fields = self.object()?;
        if self.options.json_named_tuples {
            return Ok(Kind::Object(fields).into());
        }
        if self.options.json_objects_as_strings && !fields.is_empty() {
            return Ok(Kind::String.into());
        }
        let unknown = Guess::from(Kind::Unknown);
        let mut values = fields.into_iter().map(|(_, value)| value);
        let values = values.try_fold(unknown, |all, next| all.join(next, self.options.json_mixing));
        let values = values.ok_or_else(|| bad("the values of an object are of different types"))?;
        Ok(Kind::Map(Box::new(Kind::String.into()), Box::new(values)).into())
    }

    fn word(&mut self) -> Result<Guess> {
        let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b':') || byte.is_ascii_whitespace();
        let rest = self.text.get(self.at..).unwrap_or_default();
        let word = rest.get(..rest.iter().position(is_end).unwrap_or(rest.len())).unwrap_or_default();
        self.at += word.len();
        match word {
            b"null" => return Ok(Guess::null()),
            b"true" | b"false" => return Ok(Kind::Bool.into()),
            _ => {}
        }
        let number = self.options.number(word, true).map(|kind| match kind {
            // As in ClickHouse, an integer that 64 bits do not hold is read as it is written.
            Kind::Float64 if self.options.integers && is_integer(word) => Kind::String.into(),
            kind => Guess::from(kind),
        });
        number.ok_or_else(|| bad(&format!("'{}' is no value", String::from_utf8_lossy(word))))
    }
}

/// What the values of a column in one array are together; `None` where no type holds them.
///
/// # Errors
/// Where it is no array.
pub(crate) fn guesses_of_array(text: &[u8], options: &GuessOptions) -> Result<Option<Guess>> {
    let unknown = Guess::from(Kind::Unknown);
    let items = JsonValues::new(options, text).array()?;
    Ok(items.into_iter().try_fold(unknown, |all, next| all.join(next, options.json_mixing)))
}

/// An array of items of one type. Where there is no such type it is one of dynamic values, or a tuple.
fn array_of(items: Vec<Guess>, options: &GuessOptions) -> Guess {
    let is_dynamic = options.json_dynamic_arrays;
    let mixing = if is_dynamic { Mixing::JsonItems } else { options.json_mixing };
    let unknown = Guess::from(Kind::Unknown);
    let joined = items.iter().cloned().try_fold(unknown, |all, next| all.join(next, mixing));
    match joined {
        Some(item) => Kind::Array(Box::new(item)).into(),
        None if is_dynamic => {
            let unknown = Guess::from(Kind::Unknown);
            let as_text = items.into_iter().try_fold(unknown, |all, next| all.join(next, options.json_mixing));
            Kind::Array(Box::new(Kind::Dynamic(as_text.map(Box::new)).into())).into()
        }
        None => Kind::Tuple(items).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::guess::Nullability;
    use super::*;
    use crate::options::FormatOptions;

    #[test]
    fn values_tell_their_types() {
        let options = GuessOptions::new(&FormatOptions::default());
        for (text, expected) in [
            (
                r#"{"a": 1, "b": {"c": [1, null, 2.5], "d": "x"}}"#,
                "Tuple(a Int64, b Tuple(c Array(Float64), d String))",
            ),
            (r#"[1, "a"]"#, "Array(Dynamic)"),
            (r#"[1, [2]]"#, "Array(Dynamic)"),
            (r#"[[1], ["a"]]"#, "Array(Dynamic)"),
            (r#"["2024-01-01", "a", null]"#, "Array(String)"),
            (r#"[{"a": 1}, {"b": "x"}]"#, "Array(Tuple(a Int64, b String))"),
            (r#""2024-01-01""#, "Date"),
            ("1e5", "Float64"),
            ("[]", "Array(String)"),
            ("{}", "String"),
        ] {
            let guess = JsonValues::new(&options, text.as_bytes()).value().unwrap();
            assert_eq!(guess.data_type(Nullability::Never).to_string(), expected, "{text}");
        }
        for text in ["", "{", "[1,", "tru", r#"{"a" 1}"#, r#"{"a": }"#, r#"["#] {
            assert!(JsonValues::new(&options, text.as_bytes()).value().is_err(), "{text}");
        }
        let deep = "[".repeat(100_000);
        let error = JsonValues::new(&options, deep.as_bytes()).value().unwrap_err();
        assert_eq!(error.code, ErrorCode::TOO_DEEP_RECURSION);
    }
}
