//! Blocks in the Native format, as far as a load generator needs them: written from a [`Block`] of plain columns, and read just far
//! enough to know where they end and what a single value says.

use arrow_array::types::{Int16Type, Int32Type, Int64Type, UInt16Type, UInt32Type};
use squall_types::{Block, Column, DataType, Error, ErrorCode};

use super::wire::{Input, Stop, put_string, put_varint};

/// Columns and rows of a block that a server may send.
const COLUMNS_MAX: u64 = 100_000;
const ROWS_MAX: u64 = 1 << 32;
/// How deep a type's name may nest.
const TYPE_DEPTH_MAX: usize = 64;
/// Dictionary columns: the key version that servers announce, and the bit that says that keys follow.
const LOW_CARDINALITY_KEYS: u64 = 1;
const LOW_CARDINALITY_ADDITIONAL_KEYS: u64 = 1 << 9;

/// From this revision on, each column says whether its serialization is a custom one.
pub const REVISION_WITH_CUSTOM_SERIALIZATION: u64 = 54_454;

/// The result of a query that was kept: its first rows.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    columns: Vec<ReceivedColumn>,
}

#[derive(Debug, Clone)]
struct ReceivedColumn {
    type_name: String,
    data: Vec<u8>,
}

impl Answer {
    /// The first value of the first column as text, where it is a string or a whole number.
    pub fn text(&self) -> Option<String> {
        let ReceivedColumn { type_name, data } = self.columns.first()?;
        let input = &mut Input::new(data);
        Some(match type_name.as_str() {
            "String" => input.string().ok()?,
            "UInt8" => input.u8().ok()?.to_string(),
            "UInt16" => u16::from_le_bytes(input.take(2).ok()?.try_into().ok()?).to_string(),
            "UInt32" => (input.i32().ok()? as u32).to_string(),
            "UInt64" => input.u64().ok()?.to_string(),
            "Int64" => (input.u64().ok()? as i64).to_string(),
            _ => return None,
        })
    }

    /// The first value of the first column as a number.
    pub fn number(&self) -> Option<u64> {
        self.text()?.parse().ok()
    }
}

/// Reads one block and returns its number of rows; the columns of the first block that has rows go to `kept`.
pub fn read_block(input: &mut Input<'_>, revision: u64, kept: Option<&mut Answer>) -> Result<u64, Stop> {
    // Block info: numbered fields up to number 0.
    loop {
        match input.varint()? {
            0 => break,
            1 => drop(input.u8()?),
            2 => drop(input.i32()?),
            other => return Err(incorrect(format!("Unknown field {other} of a block's info"))),
        }
    }
    let (columns, rows) = (input.varint()?, input.varint()?);
    if columns > COLUMNS_MAX || rows > ROWS_MAX {
        return Err(incorrect(format!("A block of {columns} columns and {rows} rows is beyond every limit")));
    }
    let mut received = Vec::new();
    for _ in 0..columns {
        input.bytes()?;
        let type_name = input.string()?;
        if revision >= REVISION_WITH_CUSTOM_SERIALIZATION && input.u8()? != 0 {
            return Err(incorrect("The server sent a column in a custom serialization".to_owned()));
        }
        let rest = input.remaining();
        let start = input.position();
        if rows > 0 {
            skip_prefix(&type_name, input, 0)?;
            skip_values(&type_name, rows, input, 0)?;
        }
        if kept.is_some() {
            received.push(ReceivedColumn { type_name, data: rest[..input.position() - start].to_vec() });
        }
    }
    if let Some(kept) = kept
        && rows > 0
        && kept.columns.is_empty()
    {
        kept.columns = received;
    }
    Ok(rows)
}

/// Moves past what a type writes once before its values: only dictionaries do.
fn skip_prefix(type_name: &str, input: &mut Input<'_>, depth: usize) -> Result<(), Stop> {
    let (family, arguments) = split_type(type_name, depth)?;
    match family {
        "LowCardinality" => match input.u64()? {
            LOW_CARDINALITY_KEYS => Ok(()),
            other => Err(incorrect(format!("Unknown version {other} of LowCardinality keys"))),
        },
        "Array" | "Map" | "Tuple" | "Nullable" | "Nested" => {
            arguments.iter().try_for_each(|argument| skip_prefix(element_type(argument), input, depth + 1))
        }
        _ => Ok(()),
    }
}

/// Moves past `rows` values of a type.
fn skip_values(type_name: &str, rows: u64, input: &mut Input<'_>, depth: usize) -> Result<(), Stop> {
    let (family, arguments) = split_type(type_name, depth)?;
    let argument = |position: usize| arguments.get(position).copied().unwrap_or_default();
    let width = match family {
        "UInt8" | "Int8" | "Bool" | "Enum8" | "Nothing" => 1,
        "UInt16" | "Int16" | "Date" | "Enum16" => 2,
        "UInt32" | "Int32" | "Float32" | "DateTime" | "Date32" | "IPv4" | "Decimal32" => 4,
        "UInt64" | "Int64" | "Float64" | "DateTime64" | "Decimal64" => 8,
        "UInt128" | "Int128" | "UUID" | "IPv6" | "Decimal128" => 16,
        "UInt256" | "Int256" | "Decimal256" => 32,
        "Decimal" => match argument(0).parse().unwrap_or(0) {
            0..=9 => 4,
            10..=18 => 8,
            19..=38 => 16,
            _ => 32u64,
        },
        "FixedString" => argument(0).parse().map_err(|_| incorrect(format!("Bad type {type_name}")))?,
        "String" => {
            for _ in 0..rows {
                input.bytes()?;
            }
            return Ok(());
        }
        "Nullable" => {
            input.take_values(rows, 1)?;
            return skip_values(argument(0), rows, input, depth + 1);
        }
        "SimpleAggregateFunction" => return skip_values(argument(1), rows, input, depth + 1),
        "Tuple" => {
            return arguments.iter().try_for_each(|element| skip_values(element_type(element), rows, input, depth + 1));
        }
        "Array" | "Map" | "Nested" => {
            let ends = input.take_values(rows, 8)?;
            let inner_rows = ends.last_chunk::<8>().map_or(0, |last| u64::from_le_bytes(*last));
            if inner_rows == 0 {
                return Ok(());
            }
            return arguments
                .iter()
                .try_for_each(|element| skip_values(element_type(element), inner_rows, input, depth + 1));
        }
        "LowCardinality" => {
            let flags = input.u64()?;
            if flags & LOW_CARDINALITY_ADDITIONAL_KEYS == 0 {
                return Err(incorrect("A LowCardinality column without keys of its own".to_owned()));
            }
            let keys = input.u64()?;
            let inner = argument(0);
            let inner = inner.strip_prefix("Nullable(").and_then(|inner| inner.strip_suffix(')')).unwrap_or(inner);
            skip_values(inner, keys, input, depth + 1)?;
            let rows = input.u64()?;
            input.take_values(rows, 1 << (flags & 3))?;
            return Ok(());
        }
        interval if interval.starts_with("Interval") => 8,
        _ => {
            let message = format!("This client cannot read columns of type {type_name}");
            return Err(Error::new(ErrorCode::NOT_IMPLEMENTED, message).into());
        }
    };
    input.take_values(rows, width)?;
    Ok(())
}

/// `Map(String, Array(UInt8))` as `Map` and its arguments, cut at the commas of the first level.
fn split_type(name: &str, depth: usize) -> Result<(&str, Vec<&str>), Stop> {
    if depth > TYPE_DEPTH_MAX {
        return Err(incorrect("A type nests too deeply".to_owned()));
    }
    let Some((family, rest)) = name.split_once('(') else { return Ok((name, Vec::new())) };
    let inner = rest.strip_suffix(')').unwrap_or(rest);
    if matches!(family, "Enum8" | "Enum16") {
        return Ok((family, Vec::new()));
    }
    let mut level = 0;
    let mut quoted = false;
    let arguments = inner.split(|letter| {
        match letter {
            '\'' => quoted = !quoted,
            '(' if !quoted => level += 1,
            ')' if !quoted => level -= 1,
            _ => {}
        }
        letter == ',' && level == 0 && !quoted
    });
    Ok((family, arguments.map(str::trim).collect()))
}

/// The type of a tuple's element, whose name, if it has one, stands before it.
fn element_type(element: &str) -> &str {
    let head = element.split('(').next().unwrap_or(element);
    match head.split_once(' ') {
        Some((name, _)) => element[name.len()..].trim_start(),
        None => element,
    }
}

fn incorrect(message: String) -> Stop {
    Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message))
}

/// Appends `block` in the Native format of a revision; in files (revision 0) there is no block info.
///
/// # Errors
/// `NOT_IMPLEMENTED` for a type other than those of generated tables: `Int16`, `Int32`, `Int64`, `Date`, `DateTime`, `String`.
pub fn encode_block(block: &Block, revision: u64, out: &mut Vec<u8>) -> Result<(), Error> {
    out.reserve(block.value_bytes() + 64 * block.columns().len() + 64);
    if revision > 0 {
        // Not an overflow block; of no bucket.
        out.extend_from_slice(&[1, 0, 2, 0xFF, 0xFF, 0xFF, 0xFF, 0]);
    }
    put_varint(out, block.columns().len() as u64);
    put_varint(out, block.rows() as u64);
    for ((name, data_type), column) in block.schema().fields.iter().zip(block.columns()) {
        put_string(out, name);
        put_string(out, &data_type.to_string());
        if revision >= REVISION_WITH_CUSTOM_SERIALIZATION {
            out.push(0);
        }
        encode_values(column, out)?;
    }
    Ok(())
}

/// Arrow's buffers are little-endian wherever Squall runs, as the format is.
fn encode_values(column: &Column, out: &mut Vec<u8>) -> Result<(), Error> {
    match column.data_type() {
        DataType::Int16 => out.extend_from_slice(column.as_primitive::<Int16Type>()?.values().inner()),
        DataType::Int32 => out.extend_from_slice(column.as_primitive::<Int32Type>()?.values().inner()),
        DataType::Int64 => out.extend_from_slice(column.as_primitive::<Int64Type>()?.values().inner()),
        DataType::Date => out.extend_from_slice(column.as_primitive::<UInt16Type>()?.values().inner()),
        DataType::DateTime(_) => out.extend_from_slice(column.as_primitive::<UInt32Type>()?.values().inner()),
        DataType::String => {
            let strings = column.as_binary()?;
            for pair in strings.value_offsets().windows(2) {
                put_varint(out, (pair[1] - pair[0]) as u64);
                out.extend_from_slice(&strings.value_data()[pair[0] as usize..pair[1] as usize]);
            }
        }
        other => return Err(Error::not_implemented(format_args!("Writing {other} in blocks"))),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_split_at_their_own_commas() {
        let (family, arguments) = split_type("Map(String, Tuple(a UInt8, b Array(Enum8('x,(' = 1))))", 0).unwrap();
        assert_eq!((family, arguments.len()), ("Map", 2));
        assert_eq!(element_type("a UInt8"), "UInt8");
        assert_eq!(element_type("Tuple(a UInt8)"), "Tuple(a UInt8)");
        assert_eq!(element_type("b Array(Tuple(c UInt8))"), "Array(Tuple(c UInt8))");
        assert!(split_type("x", TYPE_DEPTH_MAX + 1).is_err());
    }

    #[test]
    fn blocks_are_measured_and_single_values_read() {
        let block = Block::from_columns([
            ("s", Column::from_strings(["привет", ""])),
            ("n", Column::from_primitive::<Int64Type>(DataType::Int64, vec![-5, 7])),
        ])
        .unwrap();
        for revision in [54_401, REVISION_WITH_CUSTOM_SERIALIZATION] {
            let mut wire = Vec::new();
            encode_block(&block, revision, &mut wire).unwrap();
            let mut answer = Answer::default();
            let mut input = Input::new(&wire);
            assert_eq!(read_block(&mut input, revision, Some(&mut answer)).unwrap(), 2);
            assert_eq!(input.position(), wire.len());
            assert_eq!(answer.text().unwrap(), "привет");
            // Cut anywhere, it waits for more.
            for cut in 0..wire.len() {
                assert!(matches!(read_block(&mut Input::new(&wire[..cut]), revision, None), Err(Stop::Incomplete)));
            }
        }
    }
}
