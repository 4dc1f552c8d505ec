//! The types of a file, and those of ours that they are read as and written of.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, TupleElement};

use super::corrupted;
use super::messages::TypeMessage;

/// How deep types may nest.
const DEPTH_MAX: usize = 64;
/// What a decimal without a precision has, as Hive wrote it once.
const OLD_DECIMAL: (u32, u32) = (38, 6);
/// The most digits of a decimal.
const DECIMAL_DIGITS_MAX: u8 = 38;

/// What kind of type it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Boolean,
    Byte,
    Short,
    Int,
    Long,
    Float,
    Double,
    String,
    Binary,
    Timestamp,
    List,
    Map,
    /// The names of its fields.
    Struct(Vec<String>),
    Union,
    /// Digits, and how many of them come after the point.
    Decimal(u8, u8),
    Date,
    Varchar(u32),
    Char(u32),
    TimestampInstant,
}

/// A type with those that it consists of.
#[derive(Clone, Debug)]
pub(super) struct OrcType {
    /// The number of its column.
    pub column: u32,
    pub kind: Kind,
    pub parts: Vec<OrcType>,
}

fn unsupported(data_type: &DataType) -> Error {
    let message = format!("Type {data_type} is not supported for ORC output format");
    Error::new(ErrorCode::ILLEGAL_COLUMN, message)
}

impl OrcType {
    /// The root of a file's types, which stand in the order of their columns: each before its parts.
    ///
    /// # Errors
    /// `INCORRECT_DATA` where they are no such tree, `TOO_DEEP_RECURSION`, `ARGUMENT_OUT_OF_BOUND` for impossible decimals.
    pub fn root(messages: &[TypeMessage]) -> Result<Self> {
        let mut next = 0;
        let root = Self::read(messages, &mut next, 0)?;
        if next != messages.len() {
            return Err(corrupted("types that are of no column"));
        }
        Ok(root)
    }

    fn read(messages: &[TypeMessage], next: &mut usize, depth: usize) -> Result<Self> {
        if depth > DEPTH_MAX {
            let message = format!("ORC: types nest deeper than {DEPTH_MAX} levels");
            return Err(Error::new(ErrorCode::TOO_DEEP_RECURSION, message));
        }
        let column = *next;
        let message = messages.get(column).ok_or_else(|| corrupted("a type that is not there"))?;
        *next += 1;
        let mut parts = Vec::new();
        for part in &message.subtypes {
            if usize::try_from(*part) != Ok(*next) {
                return Err(corrupted("types are not in the order of their columns"));
            }
            parts.push(Self::read(messages, next, depth + 1)?);
        }
        let kind = Self::kind(message)?;
        let parts_wanted = match kind {
            Kind::List => 1,
            Kind::Map => 2,
            Kind::Struct(ref names) => names.len(),
            Kind::Union => parts.len(),
            _ => 0,
        };
        if parts.len() != parts_wanted {
            return Err(corrupted("a type of another number of parts"));
        }
        Ok(Self { column: column as u32, kind, parts })
    }

    fn kind(message: &TypeMessage) -> Result<Kind> {
        let length = message.maximum_length.unwrap_or(0);
        Ok(match message.kind.unwrap_or(0) {
            0 => Kind::Boolean,
            1 => Kind::Byte,
            2 => Kind::Short,
            3 => Kind::Int,
            4 => Kind::Long,
            5 => Kind::Float,
            6 => Kind::Double,
            7 => Kind::String,
            8 => Kind::Binary,
            9 => Kind::Timestamp,
            10 => Kind::List,
            11 => Kind::Map,
            12 => Kind::Struct(message.field_names.clone()),
            13 => Kind::Union,
            14 => {
                let (precision, scale) = match message.precision.unwrap_or(0) {
                    0 => OLD_DECIMAL,
                    precision => (precision, message.scale.unwrap_or(0)),
                };
                match squall_types::type_name::decimal(precision.into(), scale.into())? {
                    DataType::Decimal(precision @ ..=DECIMAL_DIGITS_MAX, scale) => Kind::Decimal(precision, scale),
                    _ => {
                        let message = format!("Decimal precision {precision} in an ORC type is out of bound");
                        return Err(Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message));
                    }
                }
            }
            15 => Kind::Date,
            16 => Kind::Varchar(length),
            17 if length == 0 => return Err(corrupted("a CHAR of no length")),
            17 => Kind::Char(length),
            18 => Kind::TimestampInstant,
            other => return Err(Error::new(ErrorCode::UNKNOWN_TYPE, format!("Unknown ORC type {other}"))),
        })
    }

    /// The types as a file has them, in the order of their columns.
    pub fn messages(&self) -> Vec<TypeMessage> {
        let mut messages = Vec::new();
        self.append_messages(&mut messages);
        messages
    }

    fn append_messages(&self, messages: &mut Vec<TypeMessage>) {
        let mut message =
            TypeMessage { subtypes: self.parts.iter().map(|part| part.column).collect(), ..TypeMessage::default() };
        message.kind = Some(match &self.kind {
            Kind::Boolean => 0,
            Kind::Byte => 1,
            Kind::Short => 2,
            Kind::Int => 3,
            Kind::Long => 4,
            Kind::Float => 5,
            Kind::Double => 6,
            Kind::String => 7,
            Kind::Binary => 8,
            Kind::Timestamp => 9,
            Kind::List => 10,
            Kind::Map => 11,
            Kind::Struct(names) => {
                message.field_names.clone_from(names);
                12
            }
            Kind::Union => 13,
            Kind::Decimal(precision, scale) => {
                (message.precision, message.scale) = (Some((*precision).into()), Some((*scale).into()));
                14
            }
            Kind::Date => 15,
            Kind::Varchar(length) => {
                message.maximum_length = Some(*length);
                16
            }
            Kind::Char(length) => {
                message.maximum_length = Some(*length);
                17
            }
            Kind::TimestampInstant => 18,
        });
        messages.push(message);
        self.parts.iter().for_each(|part| part.append_messages(messages));
    }

    /// The fields of the root, or of any structure.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Self)> {
        let names = match &self.kind {
            Kind::Struct(names) => names.as_slice(),
            _ => &[],
        };
        names.iter().map(String::as_str).zip(&self.parts)
    }

    /// The type of ours; those of values that may be NULL are nullable where that is wanted, and strings are `LowCardinality` where
    /// the column of their number has a dictionary.
    ///
    /// # Errors
    /// `UNKNOWN_TYPE` for a union that no `Variant` is.
    pub fn data_type(&self, is_nullable: bool, has_dictionary: &dyn Fn(u32) -> bool) -> Result<DataType> {
        let data_type = match &self.kind {
            Kind::Boolean => DataType::Bool,
            Kind::Byte => DataType::Int8,
            Kind::Short => DataType::Int16,
            Kind::Int => DataType::Int32,
            Kind::Long => DataType::Int64,
            Kind::Float => DataType::Float32,
            Kind::Double => DataType::Float64,
            Kind::String | Kind::Binary | Kind::Varchar(_) if has_dictionary(self.column) => {
                DataType::LowCardinality(Arc::new(DataType::String))
            }
            Kind::String | Kind::Binary | Kind::Varchar(_) => DataType::String,
            Kind::Char(length) => DataType::FixedString(*length as usize),
            Kind::Timestamp => DataType::DateTime64(9, None),
            Kind::TimestampInstant => DataType::DateTime64(9, Some("UTC".into())),
            Kind::Decimal(precision, scale) => DataType::Decimal(*precision, *scale),
            Kind::Date => DataType::Date32,
            Kind::List => {
                let [item] = self.parts.as_slice() else { return Err(corrupted("a list without a type")) };
                DataType::array(item.data_type(is_nullable, has_dictionary)?)
            }
            Kind::Map => {
                let [key, value] = self.parts.as_slice() else { return Err(corrupted("a map without types")) };
                DataType::Map(
                    Arc::new(key.data_type(false, has_dictionary)?),
                    Arc::new(value.data_type(is_nullable, has_dictionary)?),
                )
            }
            Kind::Struct(_) => {
                let elements = self.fields().map(|(name, part)| {
                    Ok(TupleElement {
                        name: Some(name.into()),
                        data_type: part.data_type(is_nullable, has_dictionary)?,
                    })
                });
                DataType::Tuple(elements.collect::<Result<_>>()?)
            }
            Kind::Union => {
                let unknown = |why: &str| {
                    let message = format!(
                        "Unsupported ORC type: a union {why}. If you want to skip columns with unsupported types, you can enable setting \
                         input_format_orc_skip_columns_with_unsupported_types_in_schema_inference"
                    );
                    Error::new(ErrorCode::UNKNOWN_TYPE, message)
                };
                let parts = self.parts.iter().map(|part| {
                    let data_type = part.data_type(is_nullable, has_dictionary)?;
                    Ok(if data_type.is_nullable() { data_type.remove_nullable() } else { data_type })
                });
                let parts = parts.collect::<Result<Vec<_>>>()?;
                let count = parts.len();
                return match DataType::variant(parts) {
                    Ok(DataType::Variant(alternatives)) if alternatives.len() == count && count > 0 => {
                        Ok(DataType::Variant(alternatives))
                    }
                    Ok(_) => Err(unknown("of equal types")),
                    Err(error) => Err(unknown(&error.message)),
                };
            }
        };
        Ok(if is_nullable { data_type.to_nullable() } else { data_type })
    }

    /// The type that columns of ours are written as; `next` counts the columns of the file.
    ///
    /// # Errors
    /// `ILLEGAL_COLUMN` where there is none.
    pub fn of(data_type: &DataType, string: &Kind, next: &mut u32) -> Result<Self> {
        let column = *next;
        let mut parts = Vec::new();
        let kind = match data_type {
            DataType::Nullable(inner) | DataType::LowCardinality(inner) => return Self::of(inner, string, next),
            DataType::SimpleAggregateFunction(simple) => return Self::of(simple.values(), string, next),
            DataType::Named(named) => return Self::of(named.values(), string, next),
            DataType::Bool => Kind::Boolean,
            DataType::UInt8 | DataType::Int8 | DataType::Enum8(_) => Kind::Byte,
            DataType::UInt16 | DataType::Int16 | DataType::Enum16(_) => Kind::Short,
            DataType::UInt32 | DataType::Int32 | DataType::IPv4 => Kind::Int,
            DataType::UInt64 | DataType::Int64 => Kind::Long,
            DataType::Float32 => Kind::Float,
            DataType::Float64 => Kind::Double,
            DataType::Date | DataType::Date32 => Kind::Date,
            DataType::DateTime(_) | DataType::DateTime64(..) => Kind::Timestamp,
            DataType::Int128 | DataType::UInt128 | DataType::Int256 | DataType::UInt256 | DataType::IPv6 => {
                Kind::Binary
            }
            DataType::Decimal(precision, scale) if *precision <= DECIMAL_DIGITS_MAX => {
                Kind::Decimal(*precision, *scale)
            }
            DataType::Decimal(..) => Kind::Binary,
            DataType::String | DataType::FixedString(_) => string.clone(),
            DataType::Array(item) => {
                *next += 1;
                parts.push(Self::of(item, string, next)?);
                return Ok(Self { column, kind: Kind::List, parts });
            }
            DataType::Map(key, value) => {
                *next += 1;
                for part in [key, value] {
                    parts.push(Self::of(part, string, next)?);
                }
                return Ok(Self { column, kind: Kind::Map, parts });
            }
            DataType::Tuple(_) => {
                *next += 1;
                let mut names = Vec::new();
                for (name, part) in data_type.struct_parts() {
                    parts.push(Self::of(&part, string, next)?);
                    names.push(name);
                }
                return Ok(Self { column, kind: Kind::Struct(names), parts });
            }
            DataType::Variant(alternatives) => {
                *next += 1;
                for part in alternatives.iter() {
                    parts.push(Self::of(part, string, next)?);
                }
                let union = Self { column, kind: Kind::Union, parts };
                let message = "alternatives that are written as the same ORC type cannot be read back";
                let union_of_others = |_| {
                    Error::new(
                        unsupported(data_type).code,
                        format!("Type {data_type} is not supported for ORC output format: {message}"),
                    )
                };
                union.data_type(false, &|_| false).map_err(union_of_others)?;
                return Ok(union);
            }
            DataType::Nothing
            | DataType::BFloat16
            | DataType::UUID
            | DataType::Time
            | DataType::Time64(_)
            | DataType::Interval(_)
            | DataType::Dynamic(_)
            | DataType::Json(_)
            | DataType::AggregateFunction(_) => return Err(unsupported(data_type)),
        };
        *next += 1;
        Ok(Self { column, kind, parts })
    }

    /// Whether columns of a type are written as this one.
    pub fn is_of(&self, data_type: &DataType) -> bool {
        [Kind::String, Kind::Binary]
            .iter()
            .any(|string| Self::of(data_type, string, &mut self.column.clone()).is_ok_and(|other| self.is_like(&other)))
    }

    fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind && self.parts.iter().zip(&other.parts).all(|(one, other)| one.is_like(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: i32, subtypes: &[u32]) -> TypeMessage {
        let field_names = subtypes.iter().map(|_| "x".to_owned()).collect();
        TypeMessage { kind: Some(kind), subtypes: subtypes.to_vec(), field_names, ..TypeMessage::default() }
    }

    #[test]
    fn types_are_a_tree_of_bounded_depth() {
        let code = |messages: &[TypeMessage]| OrcType::root(messages).unwrap_err().code;
        assert_eq!(code(&[]), ErrorCode::INCORRECT_DATA);
        assert_eq!(code(&[message(12, &[0])]), ErrorCode::INCORRECT_DATA);
        assert_eq!(code(&[message(12, &[1, 1]), message(3, &[])]), ErrorCode::INCORRECT_DATA);
        assert_eq!(code(&[message(12, &[1]), message(3, &[]), message(3, &[])]), ErrorCode::INCORRECT_DATA);
        assert_eq!(code(&[message(12, &[1]), message(10, &[])]), ErrorCode::INCORRECT_DATA);
        assert_eq!(code(&[message(12, &[1]), message(99, &[])]), ErrorCode::UNKNOWN_TYPE);
        let deep: Vec<TypeMessage> = (0..1000).map(|at| message(10, &[at + 1])).collect();
        assert_eq!(code(&deep), ErrorCode::TOO_DEEP_RECURSION);
        assert!(OrcType::root(&[message(12, &[1, 2]), message(3, &[]), message(7, &[])]).is_ok());
    }

    #[test]
    fn types_come_back() {
        let data_type =
            "Tuple(a Int32, b Array(Map(String, Decimal(20, 3))), c Variant(Int8, String), d Tuple(x Date32))";
        let data_type = DataType::parse(data_type).unwrap();
        let written = OrcType::of(&data_type, &Kind::String, &mut 0).unwrap();
        let read = OrcType::root(&written.messages()).unwrap();
        assert_eq!(read.data_type(false, &|_| false).unwrap(), data_type);
        assert!(read.is_of(&data_type));
    }
}
