//! The columns that a message's fields would be.

use std::collections::HashSet;
use std::sync::Arc;

use protox::prost_reflect::{FieldDescriptor, Kind, MessageDescriptor, OneofDescriptor};
use squall_types::{DataType, EnumValues, Error, ErrorCode, Result, Schema, TupleElement, checkpoint};

use crate::options::FormatOptions;
use crate::protobuf::field::declared_fields;
use crate::protobuf::schema::message;

/// Messages within messages.
const DEPTH_MAX: usize = 100;
/// What tells of a oneof that none of its fields is there.
const OMITTED: &str = "omitted";

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, message)
}

/// The columns of a format by its schema.
///
/// # Errors
/// `BAD_ARGUMENTS` for fields that no type is for, and as of finding the schema.
pub(crate) fn infer(options: &FormatOptions, is_list: bool) -> Result<Schema> {
    let message = message(options, None, is_list)?;
    let settings = &options.settings;
    let mut inference = Inference {
        skips_unknown: settings.input_format_protobuf_skip_fields_with_unsupported_types_in_schema_inference,
        open: HashSet::new(),
        depth: 0,
    };
    let mut columns = inference.fields(&message)?;
    if columns.is_empty() {
        return Err(bad(
            "Cannot convert Protobuf schema to ClickHouse table schema, all fields have unsupported types",
        ));
    }
    if settings.input_format_protobuf_oneof_presence {
        let mut oneofs: Vec<OneofDescriptor> = Vec::new();
        for oneof in declared_fields(&message).iter().filter_map(FieldDescriptor::containing_oneof) {
            if !oneofs.contains(&oneof) {
                oneofs.push(oneof);
            }
        }
        for oneof in oneofs {
            let mut values = vec![(Arc::from(OMITTED), 0)];
            for field in oneof.fields() {
                let number = i16::try_from(field.number())
                    .map_err(|_| bad(format!("The fields of oneof {} have too large numbers", oneof.name())))?;
                values.push((Arc::from(field.name()), number));
            }
            columns.push((oneof.name().to_owned(), enumeration(values)?));
        }
    }
    crate::schema::finished(columns, options)
}

fn enumeration(values: Vec<(Arc<str>, i16)>) -> Result<DataType> {
    let is_narrow = values.iter().all(|(_, number)| (-127..128).contains(number));
    let values = Arc::new(EnumValues::new(values)?);
    Ok(if is_narrow { DataType::Enum8(values) } else { DataType::Enum16(values) })
}

struct Inference {
    skips_unknown: bool,
    /// The fields that are being looked into.
    open: HashSet<String>,
    depth: usize,
}

impl Inference {
    fn fields(&mut self, message: &MessageDescriptor) -> Result<Vec<(String, DataType)>> {
        let mut columns = Vec::new();
        for field in declared_fields(message) {
            columns.extend(self.entered(&field)?);
        }
        Ok(columns)
    }

    /// `None` for what is to be left out.
    fn unknown<T>(&self, message: impl Into<String>) -> Result<Option<T>> {
        if self.skips_unknown { Ok(None) } else { Err(bad(message)) }
    }

    fn entered(&mut self, field: &FieldDescriptor) -> Result<Option<(String, DataType)>> {
        checkpoint(1000)?;
        if self.depth > DEPTH_MAX || !self.open.insert(field.full_name().to_owned()) {
            return self.unknown(format!("ClickHouse doesn't support type recursion ({})", field.full_name()));
        }
        self.depth += 1;
        let column = self.column(field);
        self.depth -= 1;
        self.open.remove(field.full_name());
        column
    }

    fn column(&mut self, field: &FieldDescriptor) -> Result<Option<(String, DataType)>> {
        if let Kind::Message(message) = field.kind()
            && field.is_map()
        {
            let mut value = self.fields(&message)?;
            let (Some((_, value)), Some((_, key))) = (value.pop(), value.pop()) else { return Ok(None) };
            return Ok(Some((field.name().to_owned(), DataType::Map(Arc::new(key), Arc::new(value)))));
        }
        let Some((name, data_type)) = self.single(field)? else { return Ok(None) };
        Ok(Some((name, if field.is_list() { DataType::array(data_type) } else { data_type })))
    }

    /// The column of a field as if it were not repeated.
    fn single(&mut self, field: &FieldDescriptor) -> Result<Option<(String, DataType)>> {
        let data_type = match field.kind() {
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => DataType::Int32,
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => DataType::Int64,
            Kind::Uint32 | Kind::Fixed32 => DataType::UInt32,
            Kind::Uint64 | Kind::Fixed64 => DataType::UInt64,
            Kind::Bool => DataType::UInt8,
            Kind::Float => DataType::Float32,
            Kind::Double => DataType::Float64,
            Kind::String | Kind::Bytes => DataType::String,
            Kind::Enum(described) => {
                let values = described.values().map(|value| {
                    let number = i16::try_from(value.number()).ok().filter(|number| *number > i16::MIN);
                    number.map(|number| (Arc::from(value.name()), number))
                });
                match values.collect::<Option<Vec<_>>>() {
                    Some(values) => enumeration(values)?,
                    None => return self.unknown("ClickHouse supports only 8-bit and 16-bit enums"),
                }
            }
            Kind::Message(message) => {
                let count = message.fields().len();
                if count == 0 {
                    return self.unknown("Empty messages are not supported");
                }
                let mut columns = self.fields(&message)?;
                if count == 1 {
                    // A message of one field is that field.
                    let only = columns.pop();
                    return Ok(only.map(|(name, data_type)| (format!("{}_{name}", field.name()), data_type)));
                }
                if columns.is_empty() {
                    return Ok(None);
                }
                let elements =
                    columns.into_iter().map(|(name, data_type)| TupleElement { name: Some(name.into()), data_type });
                DataType::Tuple(elements.collect())
            }
        };
        Ok(Some((field.name().to_owned(), data_type)))
    }
}
