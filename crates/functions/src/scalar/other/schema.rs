//! `structureToProtobufSchema` and `structureToCapnProtoSchema`: schemas of formats for columns.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, Schema, TupleElement, Value, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::Call;

/// The name of a message where none is given.
const MESSAGE: &str = "Message";

/// `structureTo…Schema(structure[, message])`.
pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    let text = |at: usize, which: &str| {
        let constant = call.constant(at).filter(|_| call.type_of(at).is_string_or_fixed_string());
        constant.and_then(Value::as_str).ok_or_else(|| {
            Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "Illegal type {} of the {which} argument of function {}, expected constant string",
                    call.type_of(at),
                    call.name
                ),
            )
        })
    };
    let structure = Schema::parse(text(0, "first")?)?;
    let message = if call.arguments.len() > 1 { text(1, "second")? } else { MESSAGE };
    let language = if call.name == "structureToProtobufSchema" { Language::Protobuf } else { Language::CapnProto };
    let mut writer = Writer { language, out: String::new() };
    writer.schema(&structure, message)?;
    if language == Language::CapnProto {
        // Every schema has a number of its own.
        call.context.moment.note();
    }
    let schema = Value::string(writer.out);
    call.bind(DataType::String, move |_, rows| Column::constant(DataType::String, &schema, rows))
}

/// The schema of a Protobuf message of this name that has a field for each column.
///
/// # Errors
/// `BAD_ARGUMENTS` for a column whose type has no place in such a schema.
pub fn protobuf_schema(columns: &Schema, message: &str) -> Result<String> {
    let mut writer = Writer { language: Language::Protobuf, out: String::new() };
    writer.schema(columns, message)?;
    Ok(writer.out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Language {
    Protobuf,
    CapnProto,
}

impl Language {
    fn name(self) -> &'static str {
        match self {
            Self::Protobuf => "Protobuf",
            Self::CapnProto => "CapnProto",
        }
    }

    /// What a part with names in it begins with.
    fn part(self) -> &'static str {
        match self {
            Self::Protobuf => "message",
            Self::CapnProto => "struct",
        }
    }

    /// A type that no other is in.
    fn simple(self, data_type: &DataType) -> Option<&'static str> {
        let (protobuf, capn_proto) = match data_type {
            DataType::Bool => ("bool", "Bool"),
            DataType::Int8 => ("int32", "Int8"),
            DataType::Int16 => ("int32", "Int16"),
            DataType::Int32 | DataType::Date32 => ("int32", "Int32"),
            DataType::Int64 => ("int64", "Int64"),
            DataType::UInt8 => ("uint32", "UInt8"),
            DataType::UInt16 | DataType::Date => ("uint32", "UInt16"),
            DataType::UInt32 | DataType::DateTime(_) | DataType::IPv4 => ("uint32", "UInt32"),
            DataType::UInt64 => ("uint64", "UInt64"),
            DataType::DateTime64(..) => ("uint64", "Int64"),
            DataType::Float32 => ("float", "Float32"),
            DataType::Float64 => ("double", "Float64"),
            DataType::Decimal(..=9, _) => ("bytes", "Int32"),
            DataType::Decimal(..=18, _) => ("bytes", "Int64"),
            DataType::Decimal(..)
            | DataType::Int128
            | DataType::Int256
            | DataType::UInt128
            | DataType::UInt256
            | DataType::String
            | DataType::FixedString(_)
            | DataType::UUID
            | DataType::IPv6 => ("bytes", "Data"),
            _ => return None,
        };
        Some(if self == Self::Protobuf { protobuf } else { capn_proto })
    }
}

/// Names and types.
type Fields = Vec<(String, DataType)>;

struct Writer {
    language: Language,
    out: String,
}

impl Writer {
    fn schema(&mut self, structure: &Schema, message: &str) -> Result<()> {
        let fields = structure.fields.iter().map(|(name, data_type)| (name.to_string(), data_type.clone())).collect();
        let fields = self.gathered(fields, self.language == Language::CapnProto)?;
        match self.language {
            Language::Protobuf => self.out += "syntax = \"proto3\";\n\n",
            // The number's highest bit is set.
            Language::CapnProto => self.out += &format!("@0x{:016x};\n\n", rand::random::<u64>() | 1 << 63),
        }
        self.open(self.language.part(), &message_name(message), 0);
        self.fields(&fields, 1)?;
        self.close(0);
        Ok(())
    }

    /// Fields whose names have a point (or an underscore) become fields of one field with the part before it.
    fn gathered(&self, fields: Fields, by_underscore: bool) -> Result<Fields> {
        let mut gathered: Fields = Vec::new();
        let mut nested: Vec<(String, Vec<TupleElement>)> = Vec::new();
        for (name, data_type) in fields {
            if name.starts_with(|first: char| first.is_ascii_digit()) {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!(
                        "Format {} doesn't support field names that starts with a digit: '{name}'",
                        self.language.name()
                    ),
                ));
            }
            match name.split_once(|mark| mark == '.' || by_underscore && mark == '_') {
                Some((outer, inner)) if !inner.is_empty() => {
                    let element = TupleElement { name: Some(inner.into()), data_type };
                    match nested.iter_mut().find(|(known, _)| known == outer) {
                        Some((_, elements)) => elements.push(element),
                        None => nested.push((outer.to_owned(), vec![element])),
                    }
                }
                _ => gathered.push((name, data_type)),
            }
        }
        gathered.extend(nested.into_iter().map(|(name, elements)| (name, DataType::Tuple(elements.into()))));
        Ok(gathered)
    }

    fn indent(&mut self, depth: usize) {
        self.out.extend(std::iter::repeat_n("    ", depth));
    }

    fn open(&mut self, part: &str, name: &str, depth: usize) {
        self.indent(depth);
        let between = if name.is_empty() { "" } else { " " };
        self.out += &format!("{part}{between}{name}\n");
        self.indent(depth);
        self.out += "{\n";
    }

    fn close(&mut self, depth: usize) {
        self.indent(depth);
        self.out += "}\n";
    }

    fn line(&mut self, name: &str, type_name: &str, number: usize, depth: usize) {
        self.indent(depth);
        let name = field_name(name);
        self.out += &match self.language {
            Language::Protobuf => format!("{type_name} {name} = {};\n", number + 1),
            Language::CapnProto => format!("{name} @{number} : {type_name};\n"),
        };
    }

    fn fields(&mut self, fields: &Fields, depth: usize) -> Result<()> {
        for (number, (name, data_type)) in fields.iter().enumerate() {
            let type_name = self.type_name(data_type, name, depth)?;
            self.line(name, &type_name, number, depth);
        }
        Ok(())
    }

    /// A part with these fields, whose name it gives.
    fn part(&mut self, name: &str, fields: &Fields, depth: usize) -> Result<String> {
        let name = message_name(name);
        self.open(self.language.part(), &name, depth);
        self.fields(fields, depth + 1)?;
        self.close(depth);
        Ok(name)
    }

    /// The name of a type; what it needs to be declared is written before.
    fn type_name(&mut self, data_type: &DataType, name: &str, depth: usize) -> Result<String> {
        checkpoint(256)?;
        if let Some(simple) = self.language.simple(data_type) {
            return Ok(simple.to_owned());
        }
        match (data_type, self.language) {
            (DataType::LowCardinality(inner), _) | (DataType::Nullable(inner), Language::Protobuf) => {
                self.type_name(inner, name, depth)
            }
            (DataType::Nullable(inner), Language::CapnProto) => {
                let part = message_name(name);
                self.open("struct", &part, depth);
                let value = self.type_name(inner, name, depth)?;
                self.open("union", "", depth + 1);
                self.line("value", &value, 0, depth + 2);
                self.line("null", "Void", 1, depth + 2);
                self.close(depth + 1);
                self.close(depth);
                Ok(part)
            }
            (DataType::Array(item), Language::Protobuf) => {
                Ok(format!("repeated {}", self.single_name(item, name, depth)?))
            }
            (DataType::Array(item), Language::CapnProto) => Ok(format!("List({})", self.type_name(item, name, depth)?)),
            (DataType::Tuple(elements), _) => {
                let named = elements.iter().enumerate().map(|(at, element)| {
                    let name = element.name.as_deref().map_or_else(|| format!("e{}", at + 1), str::to_owned);
                    (name, element.data_type.clone())
                });
                let fields = self.gathered(named.collect(), false)?;
                self.part(name, &fields, depth)
            }
            (DataType::Map(key, value), Language::Protobuf) => {
                let key = match self.language.simple(key) {
                    Some("bytes") => "string",
                    Some(key) => key,
                    None => {
                        return Err(Error::new(
                            ErrorCode::BAD_ARGUMENTS,
                            format!("Type {data_type} is not supported for conversion into Map key in Protobuf schema"),
                        ));
                    }
                };
                let value = self.single_name(value, &format!("{name}Value"), depth)?;
                Ok(format!("map<{key}, {value}>"))
            }
            (DataType::Map(key, value), Language::CapnProto) => self.map_of_entries(key, value, name, depth),
            (DataType::Enum8(values) | DataType::Enum16(values), _) => {
                let part = message_name(name);
                self.open("enum", &part, depth);
                for (at, (value, _)) in values.iter().enumerate() {
                    self.indent(depth + 1);
                    let between = if self.language == Language::Protobuf { " = " } else { " @" };
                    self.out += &format!("{value}{between}{at};\n");
                }
                self.close(depth);
                Ok(part)
            }
            (other, language) => Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Type {other} is not supported for conversion into {} schema", language.name()),
            )),
        }
    }

    /// The name of a type that Protobuf can repeat. Fields are repeated, types are not: arrays and maps are messages.
    fn single_name(&mut self, data_type: &DataType, name: &str, depth: usize) -> Result<String> {
        match data_type {
            DataType::Array(_) | DataType::Map(..) => {
                self.part(name, &vec![(name.to_owned(), data_type.clone())], depth)
            }
            _ => self.type_name(data_type, name, depth),
        }
    }

    /// The struct of a map in Cap'n Proto: a list of entries.
    fn map_of_entries(&mut self, key: &DataType, value: &DataType, name: &str, depth: usize) -> Result<String> {
        let part = message_name(name);
        self.open("struct", &part, depth);
        self.open("struct", "Entry", depth + 1);
        let key = self.type_name(key, "key", depth + 2)?;
        let value = self.type_name(value, "value", depth + 2)?;
        self.line("key", &key, 0, depth + 2);
        self.line("value", &value, 1, depth + 2);
        self.close(depth + 1);
        self.line("entries", "List(Entry)", 0, depth + 1);
        self.close(depth);
        Ok(part)
    }
}

/// A field begins with a small letter: all letters before the first small one become small.
fn field_name(name: &str) -> String {
    let end = name.find(|letter: char| letter.is_ascii_lowercase()).unwrap_or(name.len());
    name[..end].to_ascii_lowercase() + &name[end..]
}

/// A message begins with a capital letter.
fn message_name(name: &str) -> String {
    let mut name = name.to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    name
}
