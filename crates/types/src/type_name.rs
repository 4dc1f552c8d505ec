//! Names of types, as users and protocols write them: the types' own and SQL's, with their arguments.

use std::sync::Arc;

use crate::aggregate_type::AggregateType;
use crate::data_type::{DECIMAL_DIGITS_MAX, DataType, EnumValues, IntervalKind, TupleElement};
use crate::error::{Error, ErrorCode, Result};
use crate::json_type::JsonType;
use crate::named_type::{QBit, Shape};
use crate::simple_aggregate_type::SimpleAggregateType;
use crate::type_family::{WORDS_MAX, find, is_alias};
use crate::variant_type::{DYNAMIC_TYPES, DYNAMIC_TYPES_MAX};

/// How deep type names may nest.
const DEPTH_MAX: usize = 100;

impl DataType {
    /// Reads a type's name, as `Display` writes it and with ClickHouse's aliases (`INT`, `TEXT`, `DOUBLE PRECISION`, …).
    ///
    /// # Errors
    /// `UNKNOWN_TYPE`, or `SYNTAX_ERROR` where the text is not a type at all.
    pub fn parse(text: &str) -> Result<Self> {
        let mut reader = NameReader { text, at: 0, is_alias: false };
        let data_type = reader.data_type(0)?;
        reader.spaces();
        if reader.at != text.len() {
            return Err(reader.error("end of the type's name"));
        }
        Ok(data_type)
    }

    /// The columns of a description, `a UInt8, n Nested(x UInt8)`: what is `Nested` is an array for each of its elements, named after
    /// both. An element without a name is there, too.
    ///
    /// # Errors
    /// `SYNTAX_ERROR`, `UNKNOWN_TYPE` and those of [`parse`](Self::parse).
    pub fn parse_columns(text: &str) -> Result<Vec<TupleElement>> {
        let text = format!("({text})");
        let mut reader = NameReader { text: &text, at: 0, is_alias: false };
        let columns = reader.elements(0, true)?;
        reader.spaces();
        if reader.at != text.len() {
            return Err(reader.error("end of the description of columns"));
        }
        Ok(columns)
    }
}

/// Reads type names: identifiers, numbers, quoted strings, parentheses, commas.
struct NameReader<'a> {
    text: &'a str,
    at: usize,
    /// Whether the last family was called by another name.
    is_alias: bool,
}

impl<'a> NameReader<'a> {
    fn error(&self, expected: &str) -> Error {
        Error::new(
            ErrorCode::SYNTAX_ERROR,
            format!("Cannot parse data type '{}': expected {expected} at position {}", self.text, self.at + 1),
        )
    }

    fn spaces(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, symbol: char) -> bool {
        self.spaces();
        let found = self.text[self.at..].starts_with(symbol);
        if found {
            self.at += symbol.len_utf8();
        }
        found
    }

    fn expect(&mut self, symbol: char) -> Result<()> {
        if self.eat(symbol) { Ok(()) } else { Err(self.error(&format!("'{symbol}'"))) }
    }

    fn word(&mut self) -> &'a str {
        self.spaces();
        let rest = &self.text[self.at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// The words from here on that are a name of a family: as many as there are.
    fn phrase(&mut self) -> String {
        let start = self.at;
        let (mut phrase, mut found, mut end) = (String::new(), String::new(), start);
        for _ in 0..WORDS_MAX {
            let word = self.word();
            if word.is_empty() {
                break;
            }
            if !phrase.is_empty() {
                phrase.push(' ');
            }
            phrase.push_str(word);
            if found.is_empty() || is_alias(&phrase) {
                found.clone_from(&phrase);
                end = self.at;
            }
        }
        self.at = end;
        found
    }

    /// The family that is named here.
    fn family(&mut self) -> Result<&'static str> {
        let name = self.phrase();
        if name.is_empty() {
            return Err(self.error("a data type"));
        }
        self.is_alias = is_alias(&name);
        find(&name).ok_or_else(|| unknown(&name))
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T> {
        self.spaces();
        let rest = &self.text[self.at..];
        let end = rest
            .char_indices()
            .find(|(at, c)| !(c.is_ascii_digit() || *at == 0 && *c == '-'))
            .map_or(rest.len(), |(at, _)| at);
        let number = rest[..end].parse().map_err(|_| self.error("a number"))?;
        self.at += end;
        Ok(number)
    }

    fn quoted(&mut self, quote: char) -> Result<Arc<str>> {
        self.expect(quote)?;
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
                end if end == quote => {
                    self.at += at + 1;
                    return Ok(text.into());
                }
                other => text.push(other),
            }
        }
        Err(self.error("the closing quote"))
    }

    fn time_zone(&mut self) -> Result<Arc<str>> {
        self.quoted('\'')
    }

    fn inner(&mut self, depth: usize) -> Result<DataType> {
        self.expect('(')?;
        let inner = self.data_type(depth + 1)?;
        self.expect(')')?;
        Ok(inner)
    }

    /// A function's name, and its parameters as they are written.
    fn function_name(&mut self) -> Result<(&'a str, &'a str)> {
        let name = self.word();
        if name.is_empty() {
            return Err(self.error("the name of an aggregate function"));
        }
        let mut parameters = "";
        if self.eat('(') {
            let start = self.at;
            let mut open = 1;
            while open > 0 {
                let Some(next) = self.text[self.at..].chars().next() else { return Err(self.error("')'")) };
                match next {
                    '\'' => {
                        self.quoted('\'')?;
                        continue;
                    }
                    '(' => open += 1,
                    ')' => open -= 1,
                    _ => {}
                }
                self.at += next.len_utf8();
            }
            parameters = self.text[start..self.at - 1].trim();
        }
        Ok((name, parameters))
    }

    fn aggregate_function(&mut self, depth: usize) -> Result<DataType> {
        self.expect('(')?;
        self.spaces();
        let mut version = None;
        if self.text[self.at..].starts_with(|c: char| c.is_ascii_digit()) {
            version = Some(self.number()?);
            self.expect(',')?;
        }
        let (function, parameters) = self.function_name()?;
        let mut arguments = Vec::new();
        while self.eat(',') {
            arguments.push(self.data_type(depth + 1)?);
        }
        self.expect(')')?;
        Ok(DataType::AggregateFunction(Arc::new(AggregateType {
            version: version.or_else(|| AggregateType::newest_version(function, &arguments)),
            function: function.into(),
            parameters: parameters.into(),
            arguments: arguments.into(),
        })))
    }

    fn data_type(&mut self, depth: usize) -> Result<DataType> {
        if depth > DEPTH_MAX {
            return Err(Error::new(ErrorCode::TOO_DEEP_RECURSION, "Too deeply nested data type"));
        }
        let name = self.family()?;
        Ok(match name {
            "Decimal32" | "Decimal64" | "Decimal128" | "Decimal256" => {
                let precision = match name {
                    "Decimal32" => 9,
                    "Decimal64" => 18,
                    "Decimal128" => 38,
                    _ => DECIMAL_DIGITS_MAX,
                };
                self.expect('(')?;
                let scale = self.number()?;
                self.expect(')')?;
                decimal(precision.into(), scale)?
            }
            "FixedString" => {
                self.expect('(')?;
                let length: usize = self.number()?;
                self.expect(')')?;
                if length == 0 || length > 0xFF_FFFF {
                    return Err(Error::new(
                        ErrorCode::ARGUMENT_OUT_OF_BOUND,
                        format!("FixedString size must be from 1 to 16777215, not {length}"),
                    ));
                }
                DataType::FixedString(length)
            }
            "DateTime" | "DateTime32" => {
                let mut zone = None;
                if self.eat('(') {
                    self.spaces();
                    if self.eat(')') {
                        return Ok(DataType::DateTime(None));
                    }
                    if !self.text[self.at..].starts_with('\'') {
                        let digits: u8 = self.number()?;
                        if self.eat(',') {
                            zone = Some(self.time_zone()?);
                        }
                        self.expect(')')?;
                        if digits == 0 {
                            return Ok(DataType::DateTime(zone));
                        }
                        return Ok(DataType::DateTime64(self.digits(digits)?, zone));
                    }
                    zone = Some(self.time_zone()?);
                    self.expect(')')?;
                }
                DataType::DateTime(zone)
            }
            "DateTime64" => {
                let mut digits = 3;
                let mut zone = None;
                if self.eat('(') {
                    let number = self.number()?;
                    digits = self.digits(number)?;
                    if self.eat(',') {
                        zone = Some(self.time_zone()?);
                    }
                    self.expect(')')?;
                }
                DataType::DateTime64(digits, zone)
            }
            "Enum" | "Enum8" | "Enum16" => self.enumeration(name)?,
            "Nullable" => {
                let inner = self.inner(depth)?;
                if !inner.can_be_inside_nullable() {
                    return Err(Error::new(
                        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                        format!("Nested type {inner} cannot be inside Nullable type"),
                    ));
                }
                DataType::Nullable(Arc::new(inner))
            }
            "LowCardinality" => {
                let inner = self.inner(depth)?;
                match inner.inner() {
                    DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_) | DataType::LowCardinality(_) => {
                        return Err(Error::new(
                            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                            format!(
                                "DataTypeLowCardinality is supported only for numbers, strings, Date or DateTime, but got {inner}"
                            ),
                        ));
                    }
                    _ => DataType::LowCardinality(Arc::new(inner)),
                }
            }
            "AggregateFunction" => self.aggregate_function(depth)?,
            "SimpleAggregateFunction" => {
                self.expect('(')?;
                let (function, parameters) = self.function_name()?;
                self.expect(',')?;
                let argument = self.data_type(depth + 1)?;
                self.expect(')')?;
                let (function, parameters) = (function.into(), parameters.into());
                SimpleAggregateType { function, parameters, argument }.wrapped()
            }
            "Variant" => {
                self.expect('(')?;
                let mut alternatives = Vec::new();
                while !self.eat(')') {
                    alternatives.push(self.data_type(depth + 1)?);
                    if !self.eat(',') {
                        self.expect(')')?;
                        break;
                    }
                }
                DataType::variant(alternatives)?
            }
            "Dynamic" => {
                let mut max_types = DYNAMIC_TYPES;
                if self.eat('(') {
                    let name = self.word();
                    if name != "max_types" {
                        return Err(Error::new(
                            ErrorCode::UNEXPECTED_AST_STRUCTURE,
                            "Dynamic data type argument should be in a form 'max_types=N'",
                        ));
                    }
                    self.expect('=')?;
                    let number: i64 = self.number()?;
                    self.expect(')')?;
                    let allowed = u8::try_from(number).ok().filter(|number| *number <= DYNAMIC_TYPES_MAX);
                    max_types = allowed.ok_or_else(|| {
                        let message =
                            "'max_types' argument for Dynamic type should be a positive integer between 0 and 254";
                        Error::new(ErrorCode::BAD_ARGUMENTS, message)
                    })?;
                }
                DataType::Dynamic(max_types)
            }
            "JSON" => self.json(depth)?,
            "Array" => DataType::Array(Arc::new(self.inner(depth)?)),
            "Map" => {
                self.expect('(')?;
                let key = self.data_type(depth + 1)?;
                self.expect(',')?;
                let value = self.data_type(depth + 1)?;
                self.expect(')')?;
                DataType::Map(Arc::new(key), Arc::new(value))
            }
            "Tuple" => self.tuple(depth)?,
            "Decimal" => {
                let (mut precision, mut scale) = (10, 0);
                if self.eat('(') {
                    precision = self.number()?;
                    if self.eat(',') {
                        scale = self.number()?;
                    }
                    self.expect(')')?;
                }
                decimal(precision, scale)?
            }
            "Time" | "Time64" => {
                let of_seconds = name == "Time";
                let mut digits = if of_seconds { 0 } else { 3 };
                if self.eat('(') {
                    self.spaces();
                    if !self.text[self.at..].starts_with(')') {
                        digits = self.number()?;
                    }
                    self.expect(')')?;
                }
                if of_seconds && digits == 0 {
                    return Ok(DataType::Time);
                }
                if digits > 9 {
                    return Err(Error::new(
                        ErrorCode::BAD_ARGUMENTS,
                        format!("DataTypeTime64 scale {digits} is too large, maximum is 9"),
                    ));
                }
                DataType::Time64(digits)
            }
            "QBit" => {
                self.expect('(')?;
                let element = self.data_type(depth + 1)?;
                self.expect(',')?;
                let dimension = self.number()?;
                let stride = if self.eat(',') { Some(self.number()?) } else { None };
                self.expect(')')?;
                QBit::data_type(element, dimension, stride)?
            }
            name if let Some(shape) = Shape::of(name) => shape.data_type(),
            "Nested" => DataType::array(self.tuple(depth)?),
            other => {
                let data_type = simple_type(other).ok_or_else(|| unknown(other))?;
                // `VARCHAR(255)`, `DOUBLE(10, 2)`, `INT(11) UNSIGNED`: SQL's widths are read and forgotten, as ClickHouse does for its
                // other names of types.
                let is_alias = self.is_alias;
                if is_alias && self.eat('(') {
                    let _width: u64 = self.number()?;
                    if self.eat(',') {
                        let _digits: u64 = self.number()?;
                    }
                    self.expect(')')?;
                }
                if is_alias && data_type.is_integer() {
                    let before = self.at;
                    match self.word() {
                        word if word.eq_ignore_ascii_case("unsigned") => return Ok(unsigned(&data_type)),
                        word if word.eq_ignore_ascii_case("signed") => {}
                        _ => self.at = before,
                    }
                }
                data_type
            }
        })
    }

    fn digits(&self, digits: u8) -> Result<u8> {
        if digits > 9 {
            return Err(Error::new(
                ErrorCode::ARGUMENT_OUT_OF_BOUND,
                format!("Scale {digits} is too large for DateTime64. Maximum is up to nanoseconds (9)"),
            ));
        }
        Ok(digits)
    }

    fn enumeration(&mut self, family: &str) -> Result<DataType> {
        self.expect('(')?;
        let mut values: Vec<(Arc<str>, i16)> = Vec::new();
        loop {
            let name = self.quoted('\'')?;
            let number = if self.eat('=') {
                self.number()?
            } else {
                values.last().map_or(1, |(_, number)| number.wrapping_add(1))
            };
            values.push((name, number));
            if !self.eat(',') {
                break;
            }
        }
        self.expect(')')?;
        let fits = values.iter().all(|(_, number)| i8::try_from(*number).is_ok());
        if family == "Enum8" && !fits {
            return Err(Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, "Value for Enum8 is out of range"));
        }
        let is_wide = family == "Enum16" || !fits;
        let values = Arc::new(EnumValues::new(values)?);
        Ok(if is_wide { DataType::Enum16(values) } else { DataType::Enum8(values) })
    }

    /// The arguments of `JSON`: numbers by name, paths with types, paths to skip.
    fn json(&mut self, depth: usize) -> Result<DataType> {
        let mut json = JsonType::default();
        let (mut typed, mut skipped, mut skipped_by_regexp) = (Vec::new(), Vec::new(), Vec::new());
        if self.eat('(') {
            while !self.eat(')') {
                let start = self.at;
                match self.word() {
                    "max_dynamic_paths" if self.eat('=') => json.max_dynamic_paths = self.number()?,
                    "max_dynamic_types" if self.eat('=') => json.max_dynamic_types = self.number()?,
                    word if word.eq_ignore_ascii_case("SKIP") => {
                        let before = self.at;
                        if self.word().eq_ignore_ascii_case("REGEXP") && self.spaces_before('\'') {
                            skipped_by_regexp.push(self.quoted('\'')?);
                        } else {
                            self.at = before;
                            skipped.push(self.path()?);
                        }
                    }
                    _ => {
                        self.at = start;
                        let path = self.path()?;
                        typed.push((path, self.data_type(depth + 1)?));
                    }
                }
                if !self.eat(',') {
                    self.expect(')')?;
                    break;
                }
            }
        }
        let (paths, types) = (json.max_dynamic_paths, json.max_dynamic_types);
        Ok(DataType::Json(Arc::new(JsonType::new(paths, types, typed, skipped, skipped_by_regexp)?)))
    }

    /// Whether a character follows, after spaces.
    fn spaces_before(&mut self, symbol: char) -> bool {
        self.spaces();
        self.text[self.at..].starts_with(symbol)
    }

    /// Names with dots between them, in quotes or without.
    fn path(&mut self) -> Result<Arc<str>> {
        let mut path = String::new();
        loop {
            if self.spaces_before('`') {
                path.push_str(&self.quoted('`')?);
            } else if self.spaces_before('"') {
                path.push_str(&self.quoted('"')?);
            } else {
                let word = self.word();
                if word.is_empty() {
                    return Err(self.error("a path"));
                }
                path.push_str(word);
            }
            if !self.text[self.at..].starts_with('.') {
                return Ok(path.into());
            }
            self.at += 1;
            path.push('.');
        }
    }

    fn tuple(&mut self, depth: usize) -> Result<DataType> {
        Ok(DataType::Tuple(self.elements(depth, false)?.into()))
    }

    /// Names and types between parentheses. `flattens`: what is `Nested` is an element for each of its own.
    fn elements(&mut self, depth: usize, flattens: bool) -> Result<Vec<TupleElement>> {
        self.expect('(')?;
        let mut elements = Vec::new();
        if self.eat(')') {
            return Ok(elements);
        }
        loop {
            self.spaces();
            let start = self.at;
            // A name is an identifier that another type's name follows.
            let quote = self.text[self.at..].chars().next().filter(|first| matches!(first, '`' | '"'));
            let name = if let Some(quote) = quote {
                Some(self.quoted(quote)?)
            } else {
                let word: Arc<str> = self.word().into();
                self.spaces();
                let next = self.text[self.at..].chars().next();
                let has_type = next.is_some_and(|c| c.is_ascii_alphabetic());
                self.at = start;
                // `DOUBLE PRECISION` is one type, not an element and its type.
                let is_phrase = self.phrase().contains(' ');
                self.at = start;
                if has_type && !is_phrase {
                    self.word();
                    Some(word)
                } else {
                    self.at = start;
                    None
                }
            };
            self.spaces();
            let is_nested = flattens && self.text[self.at..].starts_with("Nested");
            let data_type = self.data_type(depth + 1)?;
            match (&name, &data_type) {
                (Some(name), DataType::Array(item)) if is_nested && let DataType::Tuple(nested) = &**item => {
                    elements.extend(nested.iter().map(|element| TupleElement {
                        name: Some(format!("{name}.{}", element.name.as_deref().unwrap_or_default()).into()),
                        data_type: DataType::array(element.data_type.clone()),
                    }));
                }
                _ => elements.push(TupleElement { name, data_type }),
            }
            if !self.eat(',') {
                break;
            }
        }
        self.expect(')')?;
        Ok(elements)
    }
}

fn unknown(name: &str) -> Error {
    Error::new(ErrorCode::UNKNOWN_TYPE, format!("Unknown data type family: {name}"))
}

/// The integer of the same width without a sign.
fn unsigned(data_type: &DataType) -> DataType {
    match data_type.fixed_width_bytes() {
        Some(1) => DataType::UInt8,
        Some(2) => DataType::UInt16,
        Some(4) => DataType::UInt32,
        _ => DataType::UInt64,
    }
}

/// The decimal of these digits.
///
/// # Errors
/// `ARGUMENT_OUT_OF_BOUND` where there is none.
pub fn decimal(precision: i64, scale: i64) -> Result<DataType> {
    let precision = u8::try_from(precision).ok().filter(|digits| (1..=DECIMAL_DIGITS_MAX).contains(digits));
    let precision = precision.ok_or_else(|| {
        Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            format!("Wrong precision: it must be between 1 and {DECIMAL_DIGITS_MAX}"),
        )
    })?;
    let scale = u8::try_from(scale).ok().filter(|scale| *scale <= precision).ok_or_else(|| {
        Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            "Negative scales and scales larger than precision are not supported",
        )
    })?;
    Ok(DataType::Decimal(precision, scale))
}

/// A type without arguments.
fn simple_type(name: &str) -> Option<DataType> {
    Some(match name {
        "Nothing" => DataType::Nothing,
        "Bool" => DataType::Bool,
        "UInt8" => DataType::UInt8,
        "UInt16" => DataType::UInt16,
        "UInt32" => DataType::UInt32,
        "UInt64" => DataType::UInt64,
        "UInt128" => DataType::UInt128,
        "UInt256" => DataType::UInt256,
        "Int8" => DataType::Int8,
        "Int16" => DataType::Int16,
        "Int32" => DataType::Int32,
        "Int64" => DataType::Int64,
        "Int128" => DataType::Int128,
        "Int256" => DataType::Int256,
        "BFloat16" => DataType::BFloat16,
        "Float32" => DataType::Float32,
        "Float64" => DataType::Float64,
        "String" => DataType::String,
        "UUID" => DataType::UUID,
        "IPv4" => DataType::IPv4,
        "IPv6" => DataType::IPv6,
        "Date" => DataType::Date,
        "Date32" => DataType::Date32,
        _ => {
            let unit = name.strip_prefix("Interval")?;
            let kind = IntervalKind::ALL.into_iter().find(|kind| kind.to_string() == unit)?;
            DataType::Interval(kind)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for name in [
            "UInt8",
            "Array(Nullable(String))",
            "Tuple(UInt8, LowCardinality(Nullable(String)))",
            "AggregateFunction(count)",
            "AggregateFunction(1, sumMap, Array(UInt8), Array(UInt64))",
            "Array(AggregateFunction(quantiles(0.5, 0.9), UInt64))",
            "AggregateFunction(groupConcat(',)'), Nullable(String))",
            "Tuple(a UInt8, `b c` Array(Tuple(x Date, y DateTime('Europe/Berlin'))))",
            "Map(LowCardinality(String), UInt64)",
            "Enum8('a' = -1, 'b\\'c' = 2)",
            "DateTime64(6, 'UTC')",
            "FixedString(16)",
            "IntervalMonth",
            "Nullable(Nothing)",
            "Array(UInt256)",
            "Decimal(38, 10)",
            "BFloat16",
            "Variant(Array(UInt64), String, UInt64)",
            "Dynamic",
            "Dynamic(max_types=3)",
            "JSON",
            "JSON(max_dynamic_types=3, max_dynamic_paths=2, `a.b` UInt32, `x y` String, SKIP c, SKIP REGEXP '^z')",
            "SimpleAggregateFunction(sum, UInt64)",
            "SimpleAggregateFunction(anyLast, Nullable(String))",
            "Nullable(SimpleAggregateFunction(sum, UInt64))",
            "SimpleAggregateFunction(any, LowCardinality(Nullable(String)))",
            "Array(SimpleAggregateFunction(groupArrayArray, Array(UInt8)))",
        ] {
            assert_eq!(DataType::parse(name).unwrap().to_string(), name);
        }
    }

    #[test]
    fn aliases_are_resolved() {
        for (alias, name) in [
            ("BIGINT", "Int64"),
            ("varchar(255)", "String"),
            ("INT(11)", "Int32"),
            ("DOUBLE PRECISION", "Float64"),
            ("Enum('x', 'y')", "Enum8('x' = 1, 'y' = 2)"),
            ("bool", "Bool"),
            ("Decimal64(3)", "Decimal(18, 3)"),
            ("NUMERIC(10)", "Decimal(10, 0)"),
            ("dec", "Decimal(10, 0)"),
            ("NATIONAL CHARACTER LARGE OBJECT", "String"),
            ("char varying(10)", "String"),
            ("BINARY(3)", "FixedString(3)"),
            ("INT(11) UNSIGNED", "UInt32"),
            ("Tuple(a INT SIGNED, DOUBLE PRECISION)", "Tuple(a Int32, Float64)"),
            ("Nested(a UInt8, b String)", "Array(Tuple(a UInt8, b String))"),
            ("QBit(BFloat16, 16,8)", "QBit(BFloat16, 16, 8)"),
            ("Array(Ring)", "Array(Ring)"),
            ("time64", "Time64(3)"),
        ] {
            assert_eq!(DataType::parse(alias).unwrap().to_string(), name);
        }
    }

    #[test]
    fn bad_names_are_refused() {
        for (name, code) in [
            ("", ErrorCode::SYNTAX_ERROR),
            ("Foo", ErrorCode::UNKNOWN_TYPE),
            ("Array(UInt8", ErrorCode::SYNTAX_ERROR),
            ("Nullable(Array(UInt8))", ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT),
            ("FixedString(0)", ErrorCode::ARGUMENT_OUT_OF_BOUND),
            ("Decimal(77)", ErrorCode::ARGUMENT_OUT_OF_BOUND),
            ("Decimal32(10)", ErrorCode::ARGUMENT_OUT_OF_BOUND),
        ] {
            assert_eq!(DataType::parse(name).unwrap_err().code, code, "{name}");
        }
        let deep = format!("{}UInt8{}", "Array(".repeat(200), ")".repeat(200));
        assert_eq!(DataType::parse(&deep).unwrap_err().code, ErrorCode::TOO_DEEP_RECURSION);
    }
}
