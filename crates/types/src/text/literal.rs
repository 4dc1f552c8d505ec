//! Values that say themselves what they are, in SQL literals and in JSON: the type that each suggests, and the value as one of a type.
//! `Dynamic` and `JSON` take their values from here.

use std::sync::Arc;

use simd_json::{Node, StaticNode};

use super::date_time::{MomentForm, read_date, read_date_time};
use super::escape::read_quoted;
use super::moment_guess::{GuessedMoment, MomentGuess};
use super::number::read_float64;
use crate::calendar::TimeZone;
use crate::data_type::{DataType, TupleElement};
use crate::error::{Error, ErrorCode, Result};
use crate::json::document::Element;
use crate::json_type::JsonType;
use crate::value::Value;

/// How deep values may nest.
const DEPTH_MAX: usize = 200;

/// A value in text.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(Vec<u8>),
    Array(Vec<Literal>),
    Tuple(Vec<Literal>),
    Map(Vec<(Literal, Literal)>),
    /// A JSON object.
    Object(Vec<(String, Literal)>),
}

impl Literal {
    /// An element of a JSON document.
    pub fn of_json(element: &Element<'_, '_>) -> Self {
        match element.node() {
            Node::Static(StaticNode::Null) => Self::Null,
            Node::Static(StaticNode::Bool(truth)) => Self::Bool(truth),
            Node::Static(StaticNode::I64(number)) => Self::Int(number),
            Node::Static(StaticNode::U64(number)) => i64::try_from(number).map_or(Self::UInt(number), Self::Int),
            Node::Static(StaticNode::F64(number)) => Self::Float(number),
            Node::String(text) => Self::Text(text.as_bytes().to_vec()),
            Node::Array { .. } => Self::Array(element.items().map(|item| Self::of_json(&item)).collect()),
            Node::Object { .. } => {
                Self::Object(element.members().map(|(key, value)| (key.to_owned(), Self::of_json(&value))).collect())
            }
        }
    }

    /// The literal at the front of a text, and its length; `None` where there is none.
    pub fn of_sql(text: &[u8]) -> Option<(Self, usize)> {
        let mut at = 0;
        let literal = nested(text, &mut at, 0)?;
        Some((literal, at))
    }

    /// What a field is as a whole: a literal, or else a text.
    pub fn of_field(field: &[u8]) -> Self {
        match Self::of_sql(field) {
            Some((literal, read)) if read == field.len() && !field.starts_with(b"'") => literal,
            _ => Self::Text(field.to_vec()),
        }
    }
}

fn spaces(text: &[u8], at: &mut usize) {
    while text.get(*at).is_some_and(u8::is_ascii_whitespace) {
        *at += 1;
    }
}

fn nested(text: &[u8], at: &mut usize, depth: usize) -> Option<Literal> {
    if depth > DEPTH_MAX {
        return None;
    }
    let list = |at: &mut usize, close: u8, item: &mut dyn FnMut(&mut usize) -> Option<()>| {
        *at += 1;
        spaces(text, at);
        if text.get(*at) == Some(&close) {
            *at += 1;
            return Some(());
        }
        loop {
            spaces(text, at);
            // `(1,)` is a tuple of one.
            if close == b')' && text.get(*at) == Some(&close) {
                *at += 1;
                return Some(());
            }
            item(at)?;
            spaces(text, at);
            match text.get(*at) {
                Some(b',') => *at += 1,
                Some(found) if *found == close => {
                    *at += 1;
                    return Some(());
                }
                _ => return None,
            }
        }
    };
    let rest = text.get(*at..)?;
    match rest.first()? {
        open @ (b'[' | b'(') => {
            let mut items = Vec::new();
            let close = if *open == b'[' { b']' } else { b')' };
            list(at, close, &mut |at| {
                items.push(nested(text, at, depth + 1)?);
                Some(())
            })?;
            Some(if close == b']' { Literal::Array(items) } else { Literal::Tuple(items) })
        }
        b'{' => {
            let mut entries = Vec::new();
            list(at, b'}', &mut |at| {
                let key = nested(text, at, depth + 1)?;
                spaces(text, at);
                (text.get(*at) == Some(&b':')).then_some(())?;
                *at += 1;
                spaces(text, at);
                entries.push((key, nested(text, at, depth + 1)?));
                Some(())
            })?;
            Some(Literal::Map(entries))
        }
        b'\'' => {
            let mut contents = Vec::new();
            *at += read_quoted(&mut contents, rest).ok()?;
            Some(Literal::Text(contents))
        }
        _ => bare(rest, at),
    }
}

/// A number or a word.
fn bare(rest: &[u8], at: &mut usize) -> Option<Literal> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_');
    let end = rest.iter().position(|byte| !is_word(byte)).unwrap_or(rest.len());
    let word = rest.get(..end).filter(|word| !word.is_empty())?;
    *at += end;
    for (name, literal) in [("null", Literal::Null), ("true", Literal::Bool(true)), ("false", Literal::Bool(false))] {
        if word.eq_ignore_ascii_case(name.as_bytes()) {
            return Some(literal);
        }
    }
    let text = std::str::from_utf8(word).ok()?;
    if let Ok(number) = text.parse() {
        return Some(Literal::Int(number));
    }
    if let Ok(number) = text.parse() {
        return Some(Literal::UInt(number));
    }
    let (number, read) = read_float64(word)?;
    (read == word.len()).then_some(Literal::Float(number))
}

/// How types are chosen for values.
#[derive(Clone, Debug)]
pub(crate) struct Inference {
    /// Of moments that name no zone.
    pub time_zone: TimeZone,
    /// The type of objects inside of arrays of a `JSON`, whose items may be NULL; elsewhere objects are named tuples.
    pub objects: Option<Arc<JsonType>>,
}

impl Inference {
    /// The type of a value, and the value; nothing of NULL.
    ///
    /// # Errors
    /// `INCORRECT_DATA`.
    pub fn typed(&self, literal: &Literal) -> Result<Value> {
        if *literal == Literal::Null {
            return Ok(Value::Null);
        }
        let data_type = self.known(self.type_of(literal));
        let value = self.value(literal, &data_type)?;
        Ok(Value::typed(data_type, value))
    }

    /// The type that a value suggests; `Nothing` of what nobody knows.
    fn type_of(&self, literal: &Literal) -> DataType {
        match literal {
            Literal::Null => DataType::Nothing,
            Literal::Bool(_) => DataType::Bool,
            Literal::Int(_) => DataType::Int64,
            Literal::UInt(_) => DataType::UInt64,
            Literal::Float(_) => DataType::Float64,
            Literal::Text(text) => text_type(text),
            Literal::Array(items) => DataType::array(self.item_type(items.iter())),
            Literal::Tuple(items) => DataType::tuple(items.iter().map(|item| self.known(self.type_of(item)))),
            Literal::Map(entries) => {
                let key = self.item_type(entries.iter().map(|(key, _)| key));
                let value = self.item_type(entries.iter().map(|(_, value)| value));
                DataType::Map(Arc::new(self.known(key).remove_nullable()), Arc::new(self.known(value)))
            }
            Literal::Object(members) => match &self.objects {
                Some(json) => DataType::Json(json.clone()),
                None => {
                    let element = |(name, value): &(String, Literal)| TupleElement {
                        name: Some(name.as_str().into()),
                        data_type: self.known(self.type_of(value)),
                    };
                    DataType::Tuple(members.iter().map(element).collect())
                }
            },
        }
    }

    /// The type of all items of a list.
    fn item_type<'a>(&self, items: impl Iterator<Item = &'a Literal>) -> DataType {
        let (mut joined, mut has_nulls) = (DataType::Nothing, self.objects.is_some());
        for item in items {
            if *item == Literal::Null {
                has_nulls = true;
                continue;
            }
            match join(joined.remove_nullable(), self.type_of(item)) {
                Some(data_type) => joined = data_type,
                None => return DataType::dynamic(),
            }
        }
        if has_nulls && joined != DataType::Nothing { joined.to_nullable_unless_object() } else { joined }
    }

    /// The type with `Nullable(String)` for what nobody knows.
    fn known(&self, data_type: DataType) -> DataType {
        match data_type {
            DataType::Nothing => DataType::String.to_nullable(),
            DataType::Array(item) => DataType::array(self.known((*item).clone())),
            other => other,
        }
    }

    fn value(&self, literal: &Literal, data_type: &DataType) -> Result<Value> {
        let wrong = || Error::new(ErrorCode::INCORRECT_DATA, format!("Cannot read {literal:?} as {data_type}"));
        Ok(match (literal, data_type) {
            (Literal::Null, _) => Value::Null,
            (_, DataType::Nullable(inner)) => self.value(literal, inner)?,
            (_, DataType::Dynamic(_)) => self.typed(literal)?,
            (Literal::Bool(truth), DataType::Bool) => Value::Bool(*truth),
            (Literal::Bool(truth), DataType::Int64) => Value::Int64((*truth).into()),
            (Literal::Bool(truth), DataType::UInt64) => Value::UInt64((*truth).into()),
            (Literal::Bool(truth), DataType::Float64) => Value::Float64(f64::from(u8::from(*truth))),
            (Literal::Int(number), DataType::Int64) => Value::Int64(*number),
            (Literal::Int(number), DataType::UInt64) => Value::UInt64(*number as u64),
            (Literal::Int(number), DataType::Float64) => Value::Float64(*number as f64),
            (Literal::UInt(number), DataType::UInt64) => Value::UInt64(*number),
            (Literal::UInt(number), DataType::Float64) => Value::Float64(*number as f64),
            (Literal::Float(number), DataType::Float64) => Value::Float64(*number),
            (Literal::Text(text), DataType::String) => Value::string(text),
            (Literal::Text(text), DataType::Date) => {
                Value::UInt64(read_date(text)?.0.clamp(0, i32::from(u16::MAX)) as u64)
            }
            (Literal::Text(text), DataType::DateTime(_)) => {
                let (moment, _) = read_date_time(text, &mut self.time_zone.cursor(), MomentForm::default().style())?;
                Value::UInt64(moment.seconds.clamp(0, u32::MAX.into()) as u64)
            }
            (Literal::Text(text), DataType::DateTime64(digits, _)) => {
                let (moment, _) = read_date_time(text, &mut self.time_zone.cursor(), MomentForm::default().style())?;
                Value::Int64(moment.checked_ticks(*digits).ok_or_else(wrong)?)
            }
            (Literal::Array(items), DataType::Array(item)) => {
                Value::Array(items.iter().map(|value| self.value(value, item)).collect::<Result<Vec<_>>>()?.into())
            }
            (Literal::Tuple(items), DataType::Tuple(elements)) => {
                let values = items.iter().zip(elements.iter()).map(|(value, one)| self.value(value, &one.data_type));
                Value::Tuple(values.collect::<Result<Vec<_>>>()?.into())
            }
            (Literal::Object(members), DataType::Tuple(elements)) => {
                let values = elements.iter().map(|element| {
                    let of_name = |(name, _): &&(String, Literal)| Some(name.as_str()) == element.name.as_deref();
                    let value = members.iter().find(of_name).map_or(&Literal::Null, |(_, value)| value);
                    self.value(value, &element.data_type)
                });
                Value::Tuple(values.collect::<Result<Vec<_>>>()?.into())
            }
            (Literal::Map(entries), DataType::Map(key, item)) => {
                let entries =
                    entries.iter().map(|(name, value)| Ok((self.value(name, key)?, self.value(value, item)?)));
                Value::Map(entries.collect::<Result<Vec<_>>>()?.into())
            }
            (Literal::Object(members), DataType::Json(json)) => {
                let mut paths = Vec::new();
                self.flatten("", members, &mut paths)?;
                paths.sort_by(|left, right| left.0.cmp(&right.0));
                let paths = paths.into_iter().map(|(path, value)| (Value::string(path), value));
                debug_assert!(json.typed.is_empty());
                Value::Tuple([Value::Map(paths.collect::<Vec<_>>().into())].into())
            }
            _ => return Err(wrong()),
        })
    }

    /// The paths of an object with their values.
    fn flatten(&self, before: &str, members: &[(String, Literal)], paths: &mut Vec<(String, Value)>) -> Result<()> {
        for (key, value) in members {
            let path = if before.is_empty() { key.clone() } else { format!("{before}.{key}") };
            match value {
                Literal::Object(members) => self.flatten(&path, members, paths)?,
                Literal::Null => {}
                other => {
                    // Objects inside of arrays nest on.
                    let objects = self.objects.as_ref().map(|json| Arc::new(json.nested()));
                    paths.push((path, Self { objects, ..self.clone() }.typed(other)?));
                }
            }
        }
        Ok(())
    }
}

impl DataType {
    fn to_nullable_unless_object(&self) -> Self {
        if matches!(self, Self::Json(_)) { self.clone() } else { self.to_nullable() }
    }
}

/// The type of a text: a date or a moment where it certainly is one.
fn text_type(text: &[u8]) -> DataType {
    match MomentGuess::default().of(text, &mut TimeZone::utc().cursor()) {
        Some(GuessedMoment::Date) => DataType::Date,
        Some(GuessedMoment::DateTime) => DataType::DateTime(None),
        Some(GuessedMoment::DateTime64) => DataType::DateTime64(9, None),
        None => DataType::String,
    }
}

/// The type that holds values of both; `None` where only `Dynamic` does.
fn join(left: DataType, right: DataType) -> Option<DataType> {
    use DataType::{Array, Bool, Date, DateTime, DateTime64, Float64, Int64, Nothing, Nullable, String, Tuple, UInt64};
    let is_moment = |data_type: &DataType| matches!(data_type, Date | DateTime(_) | DateTime64(..));
    Some(match (left, right) {
        (left, right) if left == right => left,
        (Nothing, other) | (other, Nothing) => other,
        (Nullable(left), right) => join((*left).clone(), right)?.to_nullable(),
        (left, Nullable(right)) => join(left, (*right).clone())?.to_nullable(),
        (Int64 | UInt64 | Bool, Float64) | (Float64, Int64 | UInt64 | Bool) | (Int64, UInt64) | (UInt64, Int64) => {
            Float64
        }
        (Bool, number @ (Int64 | UInt64)) | (number @ (Int64 | UInt64), Bool) => number,
        (Date, DateTime(zone)) | (DateTime(zone), Date) => DateTime(zone),
        (moment @ DateTime64(..), other) | (other, moment @ DateTime64(..)) if is_moment(&other) => moment,
        (String, other) | (other, String) if is_moment(&other) => String,
        (Array(left), Array(right)) => {
            let is_any = |item: &DataType| matches!(item, DataType::Dynamic(_));
            match is_any(&left) || is_any(&right) {
                true => DataType::array(DataType::dynamic()),
                false => DataType::array(join((*left).clone(), (*right).clone())?),
            }
        }
        (Tuple(left), Tuple(right)) if left.len() == right.len() => {
            let joined = left.iter().zip(right.iter()).map(|(left, right)| {
                let data_type = join(left.data_type.clone(), right.data_type.clone())?;
                (left.name == right.name).then(|| TupleElement { name: left.name.clone(), data_type })
            });
            Tuple(joined.collect::<Option<Vec<_>>>()?.into())
        }
        _ => return None,
    })
}

/// The length of the JSON value at the front of a text; `None` where it has no end.
pub(crate) fn json_extent(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0usize, 0);
    loop {
        match text.get(at)? {
            b'"' => {
                at += 1;
                loop {
                    match text.get(at)? {
                        b'\\' => at += 2,
                        b'"' => break,
                        _ => at += 1,
                    }
                }
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
            }
            byte if depth == 0 && !byte.is_ascii_whitespace() => {
                // A number or a word.
                let is_end = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                let rest = text.get(at..)?;
                return Some(at + rest.iter().position(is_end).unwrap_or(rest.len()));
            }
            _ => {}
        }
        at += 1;
        if depth == 0 && !text.get(at - 1)?.is_ascii_whitespace() {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inferred(text: &str, objects: Option<JsonType>) -> String {
        let inference = Inference { time_zone: TimeZone::utc(), objects: objects.map(Arc::new) };
        let mut parser = crate::json::document::Parser::default();
        let literal = match parser.parse(text.as_bytes()).unwrap() {
            Some(tape) if !text.contains('\'') => Literal::of_json(&Element::root(&tape).unwrap()),
            _ => Literal::of_field(text.as_bytes()),
        };
        match inference.typed(&literal).unwrap() {
            Value::Typed(typed) => typed.0.to_string(),
            other => other.to_string(),
        }
    }

    #[test]
    fn types_are_those_that_values_suggest() {
        for (text, plain) in [
            ("42", "Int64"),
            ("18446744073709551615", "UInt64"),
            ("1.5", "Float64"),
            ("abc", "String"),
            ("2020-01-01", "Date"),
            ("2020-01-01 10:00:00", "DateTime"),
            ("2020-01-01 10:00:00.5", "DateTime64(9)"),
            ("2020-13-01x", "String"),
            ("[1,2]", "Array(Int64)"),
            ("[1,1.5]", "Array(Float64)"),
            ("[1,NULL]", "Array(Nullable(Int64))"),
            ("[1,'a']", "Array(Dynamic)"),
            ("[]", "Array(Nullable(String))"),
            ("(1,'a')", "Tuple(Int64, String)"),
            ("{'a':1}", "Map(String, Int64)"),
            ("{\"a\":1}", "Tuple(a Int64)"),
            ("NULL", "NULL"),
        ] {
            assert_eq!(inferred(text, None), plain, "{text}");
        }
        for (text, in_json) in [
            ("[1,2]", "Array(Nullable(Int64))"),
            ("[[1],[2,\"a\"]]", "Array(Array(Dynamic))"),
            ("[[],[1]]", "Array(Array(Nullable(Int64)))"),
            ("[\"2020-01-01\",\"abc\"]", "Array(Nullable(String))"),
            ("[{\"x\":1}]", "Array(JSON(max_dynamic_types=16, max_dynamic_paths=256))"),
            ("[{\"x\":1},2]", "Array(Dynamic)"),
        ] {
            assert_eq!(inferred(text, Some(JsonType::default().nested())), in_json, "{text}");
        }
    }

    #[test]
    fn values_in_json_have_an_end() {
        for (text, length) in [("{\"a\":\"}\"} x", 9), ("[1,[2]],", 7), ("12,3", 2), ("\"a\\\"b\"]", 6), (" {} ", 3)] {
            assert_eq!(json_extent(text.as_bytes()), Some(length), "{text}");
        }
        assert_eq!(json_extent(b"{\"a\":"), None);
    }
}
