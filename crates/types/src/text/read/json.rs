//! Values in JSON.

use std::sync::Arc;

use super::Scratch;
use super::alternatives::json_value;
use super::bare::read_bool;
use super::input::{Input, plain_string, shown};
use super::node::{Node, push_end};
use crate::error::{Error, ErrorCode, Result};
use crate::text::escape::read_json_string;

impl Node {
    pub fn read_json(&mut self, input: &mut Input<'_>, scratch: &mut Scratch) -> Result<()> {
        input.skip_spaces();
        if input.peek() == Some(b'n') && input.eat_word(b"null") {
            self.append_default();
            return Ok(());
        }
        if scratch.json.empty_as_default && input.eat_word(b"\"\"") {
            self.append_default();
            return Ok(());
        }
        match self {
            Self::Nullable(inner, valid) => {
                inner.read_json(input, scratch)?;
                valid.push(true);
                Ok(())
            }
            Self::LowCardinality(inner) => inner.read_json(input, scratch),
            Self::Variant(reader) => reader.read_json(input, scratch),
            Self::Dynamic(reader) => reader.read_json(input),
            Self::Object(reader) if input.peek() != Some(b'"') => reader.read(json_value(input)?, scratch),
            Self::Array(offsets, items) => {
                input.list(b'[', b']', |input| items.read_json(input, scratch))?;
                push_end(offsets, items.rows())
            }
            Self::Map(offsets, keys, values) if scratch.json.maps_as_arrays => {
                input.list(b'[', b']', |input| read_entry(keys, values, input, scratch))?;
                push_end(offsets, keys.rows())
            }
            Self::Map(offsets, keys, values) => {
                input.list(b'{', b'}', |input| {
                    keys.read_json(input, scratch)?;
                    input.skip_spaces();
                    input.expect(b':')?;
                    values.read_json(input, scratch)
                })?;
                push_end(offsets, keys.rows())
            }
            Self::Tuple(elements, rows) if input.peek() == Some(b'{') && scratch.json.named_tuples_as_objects => {
                read_named_elements(elements, *rows, input, scratch)?;
                *rows += 1;
                Ok(())
            }
            Self::Tuple(elements, rows) => {
                input.expect(b'[')?;
                for (at, (_, element)) in elements.iter_mut().enumerate() {
                    if at > 0 {
                        input.skip_spaces();
                        input.expect(b',')?;
                    }
                    element.read_json(input, scratch)?;
                }
                input.skip_spaces();
                input.expect(b']')?;
                *rows += 1;
                Ok(())
            }
            _ if input.peek() == Some(b'"') => self.read_json_text(input, scratch),
            Self::Bool(values) => {
                let value = match () {
                    () if input.eat_word(b"true") || input.eat(b'1') => 1,
                    () if input.eat_word(b"false") || input.eat(b'0') => 0,
                    () => return Err(read_bool(input.rest()).err().unwrap_or_else(|| Error::logical("bool"))),
                };
                values.push(value);
                Ok(())
            }
            Self::String(..) | Self::FixedString(..) => self.read_json_as_string(input, scratch),
            _ if self.is_number() && scratch.json.bools_as_numbers => {
                let word = if input.eat_word(b"true") {
                    &b"1"[..]
                } else if input.eat_word(b"false") {
                    b"0"
                } else {
                    return self.read_unquoted(input);
                };
                self.read_bare(word).map(|_| ())
            }
            _ => self.read_unquoted(input),
        }
    }

    /// What stands in quotes.
    #[inline]
    fn read_json_text(&mut self, input: &mut Input<'_>, scratch: &mut Scratch) -> Result<()> {
        let text = input.rest();
        match plain_string(text, b'"') {
            Some(contents) => {
                input.at += contents.len() + 2;
                self.read_whole(contents, scratch)
            }
            None => {
                scratch.bytes.clear();
                input.at += read_json_string(&mut scratch.bytes, text)?;
                let contents = std::mem::take(&mut scratch.bytes);
                let result = self.read_whole(&contents, scratch);
                scratch.bytes = contents;
                result
            }
        }
    }

    /// What is no text, for a string: it takes a bare number or word as it is written.
    fn read_json_as_string(&mut self, input: &mut Input<'_>, scratch: &mut Scratch) -> Result<()> {
        let rest = input.rest();
        let first = input.peek();
        if !scratch.json.takes_as_string(first) {
            let (code, what) = match first {
                Some(b'{' | b'[' | b't' | b'f') => (ErrorCode::INCORRECT_DATA, "JSON String value"),
                _ => (ErrorCode::CANNOT_PARSE_QUOTED_STRING, "JSON string: expected opening quote"),
            };
            return Err(Error::new(code, format!("Cannot parse {what}: {}", shown(rest))));
        }
        if matches!(first, Some(b'{' | b'[')) {
            return self.read_whole(json_value(input)?, scratch);
        }
        let end = rest.iter().position(|byte| matches!(byte, b',' | b'}' | b']' | b':') || byte.is_ascii_whitespace());
        let text = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        if text.is_empty() {
            return input.expect(b'"');
        }
        input.at += self.read_bare(text)?;
        Ok(())
    }
}

/// Reads the elements of one tuple that is an object, in any order; those that it does not have get their defaults.
fn read_named_elements(
    elements: &mut [(Arc<str>, Node)],
    before: usize,
    input: &mut Input<'_>,
    scratch: &mut Scratch,
) -> Result<()> {
    input.list(b'{', b'}', |input| {
        scratch.bytes.clear();
        input.at += read_json_string(&mut scratch.bytes, input.rest())?;
        let name = std::mem::take(&mut scratch.bytes);
        let found = elements.iter_mut().find(|(known, element)| known.as_bytes() == name && element.rows() == before);
        let Some((_, element)) = found else {
            // What the tuple does not have is passed over.
            if elements.iter().all(|(known, _)| known.as_bytes() != name) {
                if !scratch.json.ignores_unknown_keys {
                    return Err(Error::new(
                        ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK,
                        format!(
                            "Tuple doesn't have element with name '{}', enable setting \
                             input_format_json_ignore_unknown_keys_in_named_tuple",
                            shown(&name)
                        ),
                    ));
                }
                input.skip_spaces();
                input.expect(b':')?;
                return input.skip_json();
            }
            return Err(Error::new(
                ErrorCode::INCORRECT_DATA,
                format!("Repeated element \"{}\" of a tuple", shown(&name)),
            ));
        };
        input.skip_spaces();
        input.expect(b':')?;
        element.read_json(input, scratch)
    })?;
    for (name, element) in elements.iter_mut().filter(|(_, element)| element.rows() == before) {
        if !scratch.json.defaults_for_missing_elements {
            return Err(Error::new(
                ErrorCode::INCORRECT_DATA,
                format!(
                    "JSON object doesn't contain tuple element {name}. If you want to insert defaults in case of \
                     missing elements, enable setting \
                     input_format_json_defaults_for_missing_elements_in_named_tuple"
                ),
            ));
        }
        element.append_default();
    }
    Ok(())
}

/// Reads a pair of a map that is an array of named tuples.
fn read_entry(keys: &mut Node, values: &mut Node, input: &mut Input<'_>, scratch: &mut Scratch) -> Result<()> {
    input.skip_spaces();
    if !scratch.json.named_tuples_as_objects {
        input.expect(b'[')?;
        keys.read_json(input, scratch)?;
        input.skip_spaces();
        input.expect(b',')?;
        values.read_json(input, scratch)?;
        input.skip_spaces();
        return input.expect(b']');
    }
    let before = keys.rows();
    input.list(b'{', b'}', |input| {
        scratch.bytes.clear();
        input.at += read_json_string(&mut scratch.bytes, input.rest())?;
        let name = std::mem::take(&mut scratch.bytes);
        input.skip_spaces();
        input.expect(b':')?;
        match &name[..] {
            b"keys" if keys.rows() == before => keys.read_json(input, scratch),
            b"values" if values.rows() == before => values.read_json(input, scratch),
            _ => {
                input.skip_spaces();
                input.skip_json()
            }
        }
    })?;
    for part in [keys, values] {
        if part.rows() == before {
            part.append_default();
        }
    }
    Ok(())
}
