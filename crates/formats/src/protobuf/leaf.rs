//! A column of single values in a field of single values: which types go into which, and what stands for what.

use std::borrow::Cow;
use std::collections::HashMap;

use protox::prost_reflect::{FieldDescriptor, Kind, Value};
use squall_types::{DataType, Error, ErrorCode, Result};

use crate::protobuf::field::{fold, skips_default};
use crate::protobuf::wire::Scalar;

/// A column of single values.
#[derive(Clone, Debug)]
pub(super) struct Leaf {
    pub number: u32,
    pub scalar: Scalar,
    /// Whether 0 and an empty string are left out.
    pub skips_default: bool,
    pub kind: LeafKind,
    /// The numbers and names of an enum field.
    pub enumeration: Enumeration,
    /// What a field that is not there holds.
    pub absent: Absent,
    /// The names, for errors.
    pub column: String,
    pub field: String,
    pub full_name: String,
    pub type_name: Cow<'static, str>,
}

/// What a column of single values holds.
#[derive(Clone, Debug)]
pub(super) enum LeafKind {
    Number,
    /// Whether an enum has names of the field's enum, and which number of that each of its own is.
    Enum,
    Decimal {
        precision: u8,
        scale: u8,
    },
    DateTime64 {
        digits: u8,
    },
    Date,
    Date32,
    DateTime(Option<std::sync::Arc<str>>),
    IPv4,
    IPv6,
    Uuid,
    String,
    FixedString(usize),
    State,
}

/// The values of an enum field, and which of a column's enum is which.
#[derive(Clone, Debug, Default)]
pub(super) struct Enumeration {
    /// Numbers of the schema by names.
    pub numbers: HashMap<String, i32>,
    /// Names by the schema's numbers.
    pub names: HashMap<i32, String>,
    /// The schema's numbers by the column's.
    pub to_field: HashMap<i16, i32>,
    /// The column's numbers by the schema's.
    pub to_column: HashMap<i32, i16>,
}

/// The value of a field that is not there.
#[derive(Clone, Debug)]
pub(super) enum Absent {
    Int(i64),
    UInt(u64),
    Float(f64),
    Bytes(Vec<u8>),
}

/// The type without names around it.
pub(super) fn bare(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Named(named) => bare(named.values()),
        DataType::SimpleAggregateFunction(simple) => bare(simple.values()),
        other => other,
    }
}

pub(super) fn incompatible(column: &str, data_type: &DataType, field: &FieldDescriptor) -> Error {
    let field_type = Scalar::of(&field.kind()).map_or(if field.is_group() { "group" } else { "message" }, Scalar::name);
    Error::new(
        ErrorCode::DATA_TYPE_INCOMPATIBLE_WITH_PROTOBUF_FIELD,
        format!(
            "The column '{column}' ({}) cannot be serialized to the field '{}' ({field_type}) due to their types are not compatible",
            type_name(data_type),
            field.full_name()
        ),
    )
}

/// The name of a type in errors.
fn type_name(data_type: &DataType) -> Cow<'static, str> {
    match data_type {
        DataType::Bool => "UInt8".into(),
        DataType::Interval(_) => "Int64".into(),
        DataType::Decimal(..=9, _) => "Decimal32".into(),
        DataType::Decimal(..=18, _) => "Decimal64".into(),
        DataType::Decimal(..=38, _) => "Decimal128".into(),
        DataType::Decimal(..) => "Decimal256".into(),
        DataType::DateTime(_) => "DateTime".into(),
        DataType::DateTime64(..) => "DateTime64".into(),
        DataType::FixedString(_) => "FixedString".into(),
        other => other.to_string().into(),
    }
}

pub(super) fn leaf(column: &str, data_type: &DataType, field: &FieldDescriptor) -> Result<Leaf> {
    use Scalar::{Bool, Double, Enum, Float};
    let kind = LeafKind::of(data_type)?;
    let is_float = matches!(data_type, DataType::Float32 | DataType::Float64);
    let scalar = Scalar::of(&field.kind()).filter(|scalar| match kind {
        LeafKind::Number => !(is_float && *scalar == Enum),
        LeafKind::Enum => !matches!(scalar, Float | Double | Bool),
        LeafKind::Decimal { .. } => *scalar != Enum,
        LeafKind::DateTime64 { .. } | LeafKind::Date | LeafKind::Date32 | LeafKind::DateTime(_) | LeafKind::IPv4 => {
            !matches!(scalar, Bool | Enum)
        }
        LeafKind::IPv6 | LeafKind::Uuid | LeafKind::State => scalar.is_bytes(),
        LeafKind::String | LeafKind::FixedString(_) => true,
    });
    let scalar = scalar.ok_or_else(|| incompatible(column, data_type, field))?;
    Ok(Leaf {
        number: field.number(),
        scalar,
        skips_default: skips_default(field, false),
        kind,
        enumeration: enumeration(data_type, field)?,
        absent: Absent::of(field, scalar),
        column: column.to_owned(),
        field: field.name().to_owned(),
        full_name: field.full_name().to_owned(),
        type_name: type_name(data_type),
    })
}

impl LeafKind {
    /// How values of a type are put into a field.
    ///
    /// # Errors
    /// `ILLEGAL_COLUMN` for types that are no values of fields.
    fn of(data_type: &DataType) -> Result<Self> {
        Ok(match data_type {
            DataType::Bool
            | DataType::UInt8
            | DataType::UInt16
            | DataType::UInt32
            | DataType::UInt64
            | DataType::UInt128
            | DataType::UInt256
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Int128
            | DataType::Int256
            | DataType::Float32
            | DataType::Float64
            | DataType::Interval(_) => Self::Number,
            DataType::Enum8(_) | DataType::Enum16(_) => Self::Enum,
            DataType::Decimal(precision, scale) => Self::Decimal { precision: *precision, scale: *scale },
            DataType::DateTime64(digits, _) => Self::DateTime64 { digits: *digits },
            DataType::Date => Self::Date,
            DataType::Date32 => Self::Date32,
            DataType::DateTime(zone) => Self::DateTime(zone.clone()),
            DataType::IPv4 => Self::IPv4,
            DataType::IPv6 => Self::IPv6,
            DataType::UUID => Self::Uuid,
            DataType::String => Self::String,
            DataType::FixedString(width) => Self::FixedString(*width),
            DataType::AggregateFunction(_) => Self::State,
            DataType::Nothing
            | DataType::BFloat16
            | DataType::Time
            | DataType::Time64(_)
            | DataType::Variant(_)
            | DataType::Dynamic(_)
            | DataType::Json(_)
            | DataType::Nullable(_)
            | DataType::LowCardinality(_)
            | DataType::Array(_)
            | DataType::Map(..)
            | DataType::Tuple(_)
            | DataType::SimpleAggregateFunction(_)
            | DataType::Named(_) => {
                let message = format!("Type {data_type} is not supported in Protobuf format");
                return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, message));
            }
        })
    }
}

impl Absent {
    /// The value of a field that is not there.
    fn of(field: &FieldDescriptor, scalar: Scalar) -> Self {
        match field.default_value() {
            Value::Bool(value) => Self::UInt(value.into()),
            Value::I32(value) => Self::Int(value.into()),
            Value::I64(value) => Self::Int(value),
            Value::U32(value) => Self::UInt(value.into()),
            Value::U64(value) => Self::UInt(value),
            Value::F32(value) => Self::Float(value.into()),
            Value::F64(value) => Self::Float(value),
            Value::String(value) => Self::Bytes(value.into_bytes()),
            Value::Bytes(value) => Self::Bytes(value.to_vec()),
            Value::EnumNumber(value) => Self::Int(value.into()),
            // Of a repeated field: what one value would be.
            Value::List(_) | Value::Map(_) | Value::Message(_) => match scalar {
                Scalar::String | Scalar::Bytes => Self::Bytes(Vec::new()),
                Scalar::Float | Scalar::Double => Self::Float(0.0),
                _ => Self::Int(0),
            },
        }
    }
}

/// The values of an enum field, and which of a column's enum is which: the one of the same name, or else of the same number.
fn enumeration(data_type: &DataType, field: &FieldDescriptor) -> Result<Enumeration> {
    let Kind::Enum(described) = field.kind() else { return Ok(Enumeration::default()) };
    let mut found = Enumeration::default();
    let mut folded: HashMap<Vec<u8>, i32> = HashMap::new();
    for value in described.values() {
        found.numbers.insert(value.name().to_owned(), value.number());
        found.names.entry(value.number()).or_insert_with(|| value.name().to_owned());
        folded.entry(value.name().bytes().map(fold).collect()).or_insert(value.number());
    }
    let (DataType::Enum8(values) | DataType::Enum16(values)) = data_type else { return Ok(found) };
    let mut others = Vec::new();
    for (name, number) in values.iter() {
        match folded.get(&name.bytes().map(fold).collect::<Vec<u8>>()) {
            Some(other) => {
                found.to_field.insert(number, *other);
                found.to_column.entry(*other).or_insert(number);
            }
            None => others.push(number),
        }
    }
    for number in others {
        if found.names.contains_key(&i32::from(number)) {
            found.to_field.insert(number, number.into());
            found.to_column.entry(number.into()).or_insert(number);
        }
    }
    if found.to_field.is_empty() {
        return Err(Error::new(
            ErrorCode::DATA_TYPE_INCOMPATIBLE_WITH_PROTOBUF_FIELD,
            format!(
                "Couldn't find mapping between data type {data_type} and the enum '{}' in the protobuf schema",
                described.full_name()
            ),
        ));
    }
    Ok(found)
}

impl Leaf {
    /// A value that the other side has no place for.
    pub fn bad_cast(&self, value: impl std::fmt::Display, from: &str, to: &str, is_output: bool) -> Error {
        let (doing, place) = if is_output { ("writing", "extracted from") } else { ("reading", "for inserting into") };
        Error::new(
            ErrorCode::PROTOBUF_BAD_CAST,
            format!(
                "Could not convert value '{value}' from type {from} to type {to} while {doing} field '{}' {place} column '{}'",
                self.field, self.column
            ),
        )
    }
}
