//! `generateRandomStructure`: names and random types of columns, the same for a seed as ClickHouse's.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::Call;

use super::pcg::Pcg64;

const COLUMNS_MAX: u64 = 128;
const ELEMENTS_MAX: u64 = 16;
const ENUM_VALUES_MAX: u64 = 16;
const FIXED_STRING_MAX: u64 = 256;
/// Types in one another, at most.
const DEPTH_MAX: usize = 16;

/// Types that no other type is in; how each goes on is in [`Writer::any`].
const SIMPLE: [&str; 29] = [
    "Int8",
    "UInt8",
    "Int16",
    "UInt16",
    "Int32",
    "UInt32",
    "Int64",
    "UInt64",
    "Int128",
    "UInt128",
    "Int256",
    "UInt256",
    "Float32",
    "Float64",
    "Decimal32",
    "Decimal64",
    "Decimal128",
    "Decimal256",
    "Date",
    "Date32",
    "DateTime",
    "DateTime64",
    "String",
    "FixedString",
    "Enum8",
    "Enum16",
    "IPv4",
    "IPv6",
    "UUID",
];

const COMPLEX: [&str; 5] = ["Nullable", "LowCardinality", "Array", "Tuple", "Map"];

const KEYS: [&str; 22] = [
    "Int8",
    "UInt8",
    "Int16",
    "UInt16",
    "Int32",
    "UInt32",
    "Int64",
    "UInt64",
    "Int128",
    "UInt128",
    "Int256",
    "UInt256",
    "Date",
    "Date32",
    "DateTime",
    "String",
    "FixedString",
    "IPv4",
    "Enum8",
    "Enum16",
    "UUID",
    "LowCardinality",
];

/// What a dictionary may be of where `allow_suspicious_low_cardinality_types` is set.
const SUSPICIOUS: [&str; 22] = [
    "Int8",
    "UInt8",
    "Int16",
    "UInt16",
    "Int32",
    "UInt32",
    "Int64",
    "UInt64",
    "Int128",
    "UInt128",
    "Int256",
    "UInt256",
    "Float32",
    "Float64",
    "Date",
    "Date32",
    "DateTime",
    "String",
    "FixedString",
    "IPv4",
    "IPv6",
    "UUID",
];

/// `generateRandomStructure([columns[, seed]])`.
pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(0..=2)?;
    for at in 0..call.arguments.len() {
        let own = call.type_of(at);
        if !own.is_unsigned_integer() && *own.inner() != DataType::Nothing {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "Illegal type {own} of the {} argument of function {}, expected unsigned integer or Null",
                    at + 1,
                    call.name
                ),
            ));
        }
    }
    if let Some(at) = (0..call.arguments.len()).find(|at| call.constant(*at).is_none()) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Argument at index {at} for function {} must be constant", call.name),
        ));
    }
    let columns = call.constant(0).and_then(Value::as_u64);
    if let Some(columns) = columns.filter(|columns| *columns > COLUMNS_MAX) {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Maximum allowed number of columns is {COLUMNS_MAX}, got {columns}"),
        ));
    }
    let seed = call.constant(1).and_then(Value::as_u64);
    if seed.is_none() {
        call.context.moment.note();
    }
    let seed = seed.unwrap_or_else(rand::random);
    let allows_suspicious = call.context.settings.get("allow_suspicious_low_cardinality_types").as_deref() == Some("1");
    call.bind(DataType::String, move |_, rows| {
        let mut writer = Writer { numbers: Pcg64::new(seed), out: String::new(), allows_suspicious };
        writer.structure(columns.unwrap_or(0))?;
        Column::constant(DataType::String, &Value::string(writer.out), rows)
    })
}

struct Writer {
    numbers: Pcg64,
    out: String,
    allows_suspicious: bool,
}

impl Writer {
    fn structure(&mut self, columns: u64) -> Result<()> {
        let columns = if columns == 0 { self.numbers.below(COLUMNS_MAX) + 1 } else { columns };
        for at in 1..=columns {
            let name = format!("c{at}");
            if at > 1 {
                self.out += ", ";
            }
            self.out += &name;
            self.out += " ";
            self.any(&name, true, 0)?;
        }
        Ok(())
    }

    /// A type with a number from 1 to `most` in it.
    fn numbered(&mut self, name: &str, most: u64) {
        let number = self.numbers.below(most) + 1;
        self.out += &format!("{name}({number})");
    }

    fn any(&mut self, column: &str, allows_complex: bool, depth: usize) -> Result<()> {
        checkpoint(256)?;
        let is_simple = !allows_complex || depth > DEPTH_MAX;
        let count = SIMPLE.len() + if is_simple { 0 } else { COMPLEX.len() };
        let chosen = self.numbers.below(count as u64) as usize;
        let name = SIMPLE.iter().chain(&COMPLEX).nth(chosen).copied().unwrap_or("String");
        match name {
            "UInt8" => self.out += if self.numbers.below(2) == 1 { "UInt8" } else { "Bool" },
            "FixedString" => self.numbered(name, FIXED_STRING_MAX),
            "DateTime64" | "Decimal32" => self.numbered(name, 9),
            "Decimal64" => self.numbered(name, 18),
            "Decimal128" => self.numbered(name, 38),
            "Decimal256" => self.numbered(name, 76),
            "Enum8" | "Enum16" => self.enumeration(column, name),
            "LowCardinality" => self.low_cardinality(),
            "Nullable" => {
                self.out += "Nullable(";
                self.any(column, false, depth + 1)?;
                self.out += ")";
            }
            "Array" => {
                self.out += "Array(";
                self.any(column, true, depth + 1)?;
                self.out += ")";
            }
            "Map" => {
                self.out += "Map(";
                self.key(column);
                self.out += ", ";
                self.any(column, true, depth + 1)?;
                self.out += ")";
            }
            "Tuple" => {
                let count = self.numbers.below(ELEMENTS_MAX) + 1;
                let is_nested = self.numbers.below(2) == 1;
                let is_named = self.numbers.below(2) == 1 || is_nested;
                self.out += if is_nested { "Nested(" } else { "Tuple(" };
                for at in 1..=count {
                    let name = format!("e{at}");
                    if at > 1 {
                        self.out += ", ";
                    }
                    if is_named {
                        self.out += &name;
                        self.out += " ";
                    }
                    self.any(&name, true, depth + 1)?;
                }
                self.out += ")";
            }
            plain => self.out += plain,
        }
        Ok(())
    }

    fn low_cardinality(&mut self) {
        self.out += "LowCardinality(";
        let is_nullable = self.numbers.below(2) == 1;
        if is_nullable {
            self.out += "Nullable(";
        }
        let name = if self.allows_suspicious {
            SUSPICIOUS[self.numbers.below(SUSPICIOUS.len() as u64) as usize]
        } else if self.numbers.below(2) == 1 {
            "String"
        } else {
            "FixedString"
        };
        match name {
            "FixedString" => self.numbered(name, FIXED_STRING_MAX),
            plain => self.out += plain,
        }
        self.out += if is_nullable { "))" } else { ")" };
    }

    fn key(&mut self, column: &str) {
        match KEYS[self.numbers.below(KEYS.len() as u64) as usize] {
            name @ "FixedString" => self.numbered(name, FIXED_STRING_MAX),
            "LowCardinality" => {
                self.out += "LowCardinality(";
                match self.numbers.below(2) {
                    1 => self.out += "String",
                    _ => self.numbered("FixedString", FIXED_STRING_MAX),
                }
                self.out += ")";
            }
            name @ ("Enum8" | "Enum16") => self.enumeration(column, name),
            plain => self.out += plain,
        }
    }

    fn enumeration(&mut self, column: &str, name: &str) {
        let greatest = if name == "Enum8" { i64::from(i8::MAX) } else { i64::from(i16::MAX) };
        let count = self.numbers.below(ENUM_VALUES_MAX) + 1;
        let span = 2 * greatest as u64 + 3 - count;
        let mut values: Vec<i64> = (0..count).map(|_| self.numbers.below(span) as i64 - greatest - 1).collect();
        // Each by its place more: so no two are the same.
        values.sort_unstable();
        (0..).zip(&mut values).for_each(|(at, value)| *value += at);
        self.numbers.shuffle(&mut values);
        let values: Vec<String> =
            values.iter().enumerate().map(|(at, value)| format!("'{column}V{at}' = {value}")).collect();
        self.out += &format!("{name}({})", values.join(", "));
    }
}
