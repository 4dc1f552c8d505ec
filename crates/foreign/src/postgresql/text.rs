//! Values as the text that PostgreSQL reads.

use squall_types::calendar::TimeZone;
use squall_types::text::{TextOptions, TextStyle, ValueWriter};
use squall_types::{CastMode, CastOptions, Column, DataType, Result, Value, cast, cast_value};

/// Writes the values of a column for a column there.
pub(super) struct Encoder {
    column: Column,
    form: Form,
    options: CastOptions,
    text: Vec<u8>,
}

/// How the values are written.
enum Form {
    /// As everybody writes them.
    Plain(Box<ValueWriter>),
    /// As the bytes of a `bytea`.
    Bytes,
    /// As an array; `true` where its items are `bytea`.
    Array(bool),
}

impl Encoder {
    /// For a column there of a type of this name. Times are told in the session's zone, whatever zone they name.
    ///
    /// # Errors
    /// Those of the conversion.
    pub fn new(column: &Column, type_name: &str, zone: &TimeZone) -> Result<Self> {
        let options = CastOptions::new(CastMode::Plain, zone.clone());
        let is_bytes = type_name.starts_with("bytea");
        let column = match plain(column.data_type()) {
            Some(data_type) => cast(column, &data_type, &options)?,
            None => column.clone(),
        };
        let form = match column.data_type().inner() {
            DataType::Array(_) => Form::Array(is_bytes),
            DataType::String | DataType::FixedString(_) if is_bytes => Form::Bytes,
            _ => {
                let writer = ValueWriter::new(&column, TextStyle::Plain, &TextOptions::in_zone(zone.clone()))?;
                Form::Plain(Box::new(writer))
            }
        };
        Ok(Self { column, form, options, text: Vec::new() })
    }

    /// The text of a row's value; `None` is NULL.
    ///
    /// # Errors
    /// Where a value has no text.
    pub fn text(&mut self, row: usize) -> Result<Option<&[u8]>> {
        let Self { column, form, options, text } = self;
        text.clear();
        match form {
            Form::Plain(writer) => {
                if matches!(column.value(row), Value::Null) {
                    return Ok(None);
                }
                writer.write(text, row);
            }
            Form::Bytes => match column.value(row) {
                Value::String(bytes) => append_hex(text, &bytes),
                _ => return Ok(None),
            },
            Form::Array(is_bytes) => append_array(text, &column.value(row), column.data_type(), *is_bytes, options)?,
        }
        Ok(Some(text))
    }
}

/// A type of times without the zone that it names; `None` where it names none.
fn plain(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::DateTime(Some(_)) => Some(DataType::DateTime(None)),
        DataType::DateTime64(digits, Some(_)) => Some(DataType::DateTime64(*digits, None)),
        DataType::Nullable(inner) => plain(inner).map(|inner| inner.to_nullable()),
        _ => None,
    }
}

fn append_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"\\x");
    for byte in bytes {
        out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

/// `{1,NULL,"a b"}`.
fn append_array(
    out: &mut Vec<u8>,
    value: &Value,
    data_type: &DataType,
    is_bytes: bool,
    options: &CastOptions,
) -> Result<()> {
    let (Value::Array(items), DataType::Array(item)) = (value, data_type.inner()) else { return Ok(()) };
    out.push(b'{');
    for (at, value) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if matches!(value, Value::Null) {
            out.extend_from_slice(b"NULL");
        } else if matches!(item.inner(), DataType::Array(_)) {
            append_array(out, value, item, is_bytes, options)?;
        } else if let (true, Value::String(bytes)) = (is_bytes, value) {
            let mut text = Vec::new();
            append_hex(&mut text, bytes);
            append_item(out, &text);
        } else {
            let item = plain(item).unwrap_or_else(|| (**item).clone());
            if let Value::String(text) = cast_value(value, &item, &DataType::String, options)? {
                append_item(out, &text);
            }
        }
    }
    out.push(b'}');
    Ok(())
}

fn append_item(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for byte in text {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
}

/// A field of COPY's text form.
pub(super) fn append_field(out: &mut Vec<u8>, text: Option<&[u8]>) {
    let Some(text) = text else {
        out.extend_from_slice(b"\\N");
        return;
    };
    for byte in text {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => out.push(*byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use squall_types::ColumnBuilder;

    use super::*;

    fn text(data_type: DataType, value: &Value, type_name: &str) -> Option<String> {
        let mut builder = ColumnBuilder::new(data_type);
        builder.append(value).unwrap();
        let mut encoder = Encoder::new(&builder.finish().unwrap(), type_name, &TimeZone::utc()).unwrap();
        encoder.text(0).unwrap().map(|text| String::from_utf8_lossy(text).into_owned())
    }

    #[test]
    fn values_are_written() {
        let string = Value::string("a\"\\\t");
        assert_eq!(text(DataType::String, &string, "text").as_deref(), Some("a\"\\\t"));
        assert_eq!(text(DataType::String, &Value::string([0, 255]), "bytea").as_deref(), Some("\\x00ff"));
        assert_eq!(text(DataType::Int32.to_nullable(), &Value::Null, "integer"), None);
        let (strings, numbers) = (DataType::array(DataType::String), DataType::array(DataType::Int8.to_nullable()));
        assert_eq!(text(strings, &Value::Array([string].into()), "text[]").as_deref(), Some("{\"a\\\"\\\\\t\"}"));
        let items = Value::Array([Value::Int64(1), Value::Null].into());
        assert_eq!(text(numbers.clone(), &items, "integer[]").as_deref(), Some("{\"1\",NULL}"));
        let nested = Value::Array([items.clone(), items].into());
        let nested = text(DataType::array(numbers), &nested, "integer[]");
        assert_eq!(nested.as_deref(), Some("{{\"1\",NULL},{\"1\",NULL}}"));
        let tokyo = DataType::DateTime(Some("Asia/Tokyo".into()));
        assert_eq!(text(tokyo, &Value::UInt64(0), "timestamp").as_deref(), Some("1970-01-01 00:00:00"));
    }

    #[test]
    fn fields_keep_their_lines() {
        let mut out = Vec::new();
        append_field(&mut out, Some(b"a\tb\\c\nd\re"));
        out.push(b'\t');
        append_field(&mut out, None);
        assert_eq!(out, b"a\\tb\\\\c\\nd\\re\t\\N");
    }
}
