//! The form of temporary data: a block is its rows' number and its columns (`packing`), compressed where that makes them smaller. A
//! `LowCardinality` column is written without its dictionary, which may be larger than the block.

use std::sync::Arc;

use squall_types::cast::{CastOptions, cast};
use squall_types::memory::reserve;
use squall_types::{Block, Column, Error, ErrorCode, Result, Schema};

use super::packing::{put_array, take_array};

/// How bytes are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Codec {
    None = 0,
    Lz4 = 1,
    Zstd = 2,
}

impl Codec {
    /// The codec of a name in `temporary_files_codec`.
    pub(super) fn parse(name: &str) -> Result<Self> {
        match name.to_ascii_uppercase().as_str() {
            "NONE" => Ok(Self::None),
            "LZ4" => Ok(Self::Lz4),
            "ZSTD" => Ok(Self::Zstd),
            _ => Err(Error::new(ErrorCode::UNKNOWN_CODEC, format!("Unknown codec '{name}' of temporary_files_codec"))),
        }
    }
}

/// Compresses frames, as long as it pays.
#[derive(Debug)]
pub(super) struct Compressor {
    codec: Codec,
    /// Frames that are not tried, because the last one that was became hardly smaller.
    skips: usize,
}

impl Compressor {
    pub(super) fn new(codec: Codec) -> Self {
        Self { codec, skips: 0 }
    }

    /// Appends the codec's number and the bytes, compressed or as they are.
    fn put(&mut self, plain: &[u8], out: &mut Vec<u8>) -> Result<()> {
        /// Frames between two that are tried.
        const SKIPS: usize = 15;
        let start = out.len();
        if self.skips > 0 || self.codec == Codec::None {
            self.skips = self.skips.saturating_sub(1);
        } else {
            let failed = |error: &dyn std::fmt::Display| Error::logical(error.to_string());
            if self.codec == Codec::Zstd {
                out.push(Codec::Zstd as u8);
                out.extend_from_slice(&zstd::bulk::compress(plain, 1).map_err(|error| failed(&error))?);
            } else {
                out.push(Codec::Lz4 as u8);
                out.resize(start + 1 + lz4_flex::block::get_maximum_output_size(plain.len()), 0);
                let written = lz4_flex::block::compress_into(plain, &mut out[start + 1..]);
                out.truncate(start + 1 + written.map_err(|error| failed(&error))?);
            }
            if out.len() - start <= plain.len() / 8 * 7 {
                return Ok(());
            }
            self.skips = SKIPS;
        }
        out.truncate(start);
        out.push(Codec::None as u8);
        out.extend_from_slice(plain);
        Ok(())
    }
}

/// The length of the bytes before they were compressed, the number of rows, and the codec.
const HEADER_BYTES: usize = 9;

/// Adds a block to `out`; the bytes that it has uncompressed.
pub(super) fn encode_frame(
    block: &Block,
    compressor: &mut Compressor,
    plain: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<usize> {
    plain.clear();
    for column in block.columns() {
        let data_type = column.data_type().remove_low_cardinality();
        let array = if data_type == column.data_type() {
            column.to_array()?
        } else {
            cast(&column.materialize()?, data_type, &CastOptions::default())?.to_array()?
        };
        put_array(&array, plain)?;
    }
    let number = |number: usize| {
        u32::try_from(number).map_err(|_| Error::logical("a block of 4 GiB of temporary data")).map(u32::to_le_bytes)
    };
    out.extend_from_slice(&number(plain.len())?);
    out.extend_from_slice(&number(block.rows())?);
    compressor.put(plain, out)?;
    Ok(plain.len())
}

/// The block that [`encode_frame`] wrote, with the columns of `schema`.
///
/// # Errors
/// `CORRUPTED_DATA` where the bytes are not what was written.
pub(crate) fn decode_frame(bytes: &[u8], schema: &Arc<Schema>) -> Result<Block> {
    let corrupt = |what: &dyn std::fmt::Display| {
        Error::new(ErrorCode::CORRUPTED_DATA, format!("Temporary data cannot be read: {what}"))
    };
    let (header, compressed) = bytes.split_at_checked(HEADER_BYTES).ok_or_else(|| corrupt(&"too short"))?;
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]) as usize;
    let (length, rows) = (number(0), number(4));
    let mut plain = Vec::new();
    let mut left = match header[8] {
        0 => compressed,
        1 => {
            reserve(length)?;
            plain.resize(length, 0);
            lzzzz::lz4::decompress(compressed, &mut plain).map_err(|error| corrupt(&error))?;
            &plain[..]
        }
        _ => {
            reserve(length)?;
            plain = zstd::bulk::decompress(compressed, length).map_err(|error| corrupt(&error))?;
            &plain[..]
        }
    };
    let columns = schema.types().map(|data_type| {
        let plain = data_type.remove_low_cardinality();
        let array = take_array(&mut left, &plain.arrow_type(), rows).map_err(|error| match error.code {
            ErrorCode::MEMORY_LIMIT_EXCEEDED => error,
            _ => corrupt(&error.message),
        })?;
        let column = Column::new(plain.clone(), array);
        if plain == data_type { Ok(column) } else { cast(&column, data_type, &CastOptions::default()) }
    });
    let columns = columns.collect::<Result<_>>()?;
    if !left.is_empty() {
        return Err(corrupt(&"other columns"));
    }
    Ok(Block::new(schema.clone(), columns, rows))
}

#[cfg(test)]
mod tests {
    use squall_types::{ColumnBuilder, DataType, Value};

    use super::*;

    #[test]
    fn blocks_come_back_as_they_were() {
        let columns: Vec<(&str, Vec<Value>)> = vec![
            ("UInt64", vec![Value::UInt64(1), Value::UInt64(u64::MAX), Value::UInt64(3)]),
            ("Nullable(String)", vec![Value::from("a"), Value::Null, Value::from("")]),
            ("LowCardinality(Nullable(String))", vec![Value::from("x"), Value::Null, Value::from("x")]),
            (
                "Array(LowCardinality(String))",
                vec![
                    Value::Array([Value::from("y")].into()),
                    Value::Array([].into()),
                    Value::Array([Value::from("z"), Value::from("y")].into()),
                ],
            ),
            (
                "Tuple(Int8, FixedString(2))",
                (0..3).map(|n| Value::Tuple([Value::Int64(n), Value::from("ab")].into())).collect(),
            ),
            ("Nullable(Float32)", vec![Value::Float64(0.5), Value::Null, Value::Float64(-1.0)]),
        ];
        let columns = columns.into_iter().map(|(data_type, values)| {
            let mut builder = ColumnBuilder::new(DataType::parse(data_type).unwrap());
            values.iter().for_each(|value| builder.append(value).unwrap());
            (data_type, builder.finish().unwrap())
        });
        let block = Block::from_columns(columns).unwrap();
        for codec in ["NONE", "lz4", "ZSTD"] {
            let mut out = vec![7];
            // Also a part of a block.
            for block in [block.clone(), block.slice(1, 2), block.slice(0, 0)] {
                out.truncate(1);
                let mut compressor = Compressor::new(Codec::parse(codec).unwrap());
                encode_frame(&block, &mut compressor, &mut Vec::new(), &mut out).unwrap();
                let back = decode_frame(&out[1..], block.schema()).unwrap();
                assert_eq!(back.rows(), block.rows());
                for (column, other) in block.columns().iter().zip(back.columns()) {
                    assert_eq!(column.data_type(), other.data_type());
                    (0..block.rows()).for_each(|row| assert_eq!(column.value(row), other.value(row)));
                }
                assert!(decode_frame(&out[1..out.len() / 2], block.schema()).is_err());
            }
        }
        assert_eq!(Codec::parse("gzip").unwrap_err().code, ErrorCode::UNKNOWN_CODEC);
    }
}
