//! Parameters of aggregate functions as they are written in names of types and in `arrayReduce`: numbers, strings, arrays and tuples.

use squall_types::{Error, ErrorCode, Result, Value};

/// How deep arrays may nest.
const DEPTH_MAX: usize = 50;

/// The literals of a list without brackets.
///
/// # Errors
/// `SYNTAX_ERROR`.
pub(in crate::aggregate) fn read(text: &str) -> Result<Vec<Value>> {
    let mut reader = Reader { text, at: 0 };
    let values = reader.list(None, 0)?;
    Ok(values)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn error(&self) -> Error {
        Error::new(
            ErrorCode::SYNTAX_ERROR,
            format!("Cannot read the parameters '{}' of an aggregate function at position {}", self.text, self.at + 1),
        )
    }

    fn rest(&mut self) -> &str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    fn eat(&mut self, symbol: char) -> bool {
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len_utf8();
        }
        found
    }

    /// Values up to this bracket, or to the end.
    fn list(&mut self, end: Option<char>, depth: usize) -> Result<Vec<Value>> {
        if depth > DEPTH_MAX {
            return Err(self.error());
        }
        let mut values = Vec::new();
        loop {
            let is_over = match end {
                Some(end) => self.eat(end),
                None => self.rest().is_empty(),
            };
            if is_over {
                return Ok(values);
            }
            if !values.is_empty() && !self.eat(',') {
                return Err(self.error());
            }
            // A tuple of one has a comma behind it.
            if end.is_some_and(|end| self.eat(end)) {
                return Ok(values);
            }
            values.push(self.value(depth)?);
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value> {
        if self.eat('[') {
            return Ok(Value::Array(self.list(Some(']'), depth + 1)?.into()));
        }
        if self.eat('(') {
            return Ok(Value::Tuple(self.list(Some(')'), depth + 1)?.into()));
        }
        if self.eat('\'') {
            return self.string();
        }
        let rest = self.rest();
        let end = rest.find([',', ']', ')', ' ']).unwrap_or(rest.len());
        let word = rest[..end].to_owned();
        self.at += end;
        let number = || {
            let unsigned = word.parse().map(Value::UInt64);
            unsigned.or_else(|_| word.parse().map(Value::Int64)).or_else(|_| word.parse().map(Value::Float64))
        };
        match word.as_str() {
            "NULL" => Ok(Value::Null),
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            _ => number().map_err(|_| self.error()),
        }
    }

    fn string(&mut self) -> Result<Value> {
        let mut text = String::new();
        let mut characters = self.text[self.at..].char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, 'r')) => text.push('\r'),
                    Some((_, '0')) => text.push('\0'),
                    Some((_, other)) => text.push(other),
                    None => break,
                },
                '\'' => {
                    self.at += at + 1;
                    return Ok(Value::from(text.as_str()));
                }
                other => text.push(other),
            }
        }
        Err(self.error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_come_back() {
        for text in ["0.5, 0.9", "", "10", "-3", "'a\\'b', [1, 2]", "(1, 'x')", "NULL"] {
            let values = read(text).unwrap();
            let written: Vec<String> = values.iter().map(Value::to_string).collect();
            assert_eq!(written.join(", "), text);
        }
        for wrong in ["0.5,,", "[1", "'a", "abc", "1 2"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
