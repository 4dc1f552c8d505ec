//! The form of temporary data: a block is an Arrow IPC stream of one batch, compressed. A `LowCardinality` column is written without its
//! dictionary, which may be larger than the block.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Field, Schema as ArrowSchema};
use squall_types::cast::{CastOptions, cast};
use squall_types::memory::reserve;
use squall_types::{Block, Column, Error, ErrorCode, Result, Schema};

/// How bytes are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Codec {
    None,
    Lz4,
    Zstd,
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

/// The length of the bytes before they were compressed, and whether they are.
const HEADER_BYTES: usize = 5;

/// Adds a block to `out`; the bytes that it has uncompressed.
pub(super) fn encode_frame(block: &Block, codec: Codec, plain: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<usize> {
    let arrays = block.columns().iter().map(|column| {
        let plain = column.data_type().remove_low_cardinality();
        if plain == column.data_type() {
            return column.to_array();
        }
        cast(&column.materialize()?, plain, &CastOptions::default())?.to_array()
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let fields = arrays.iter().enumerate();
    let fields: Vec<Field> =
        fields.map(|(at, array)| Field::new(at.to_string(), array.data_type().clone(), true)).collect();
    let schema = Arc::new(ArrowSchema::new(fields));
    let options = RecordBatchOptions::new().with_row_count(Some(block.rows()));
    let batch = RecordBatch::try_new_with_options(schema.clone(), arrays, &options)?;
    plain.clear();
    let mut writer = StreamWriter::try_new(&mut *plain, &schema)?;
    writer.write(&batch)?;
    drop(writer);
    let length = u32::try_from(plain.len()).map_err(|_| Error::logical("a block of 4 GiB of temporary data"))?;
    out.extend_from_slice(&length.to_le_bytes());
    let start = out.len() + 1;
    match codec {
        Codec::None => {
            out.push(0);
            out.extend_from_slice(plain);
        }
        Codec::Lz4 => {
            out.push(1);
            out.resize(start + lz4_flex::block::get_maximum_output_size(plain.len()), 0);
            let written = lz4_flex::block::compress_into(plain, &mut out[start..]);
            out.truncate(start + written.map_err(|error| Error::logical(error.to_string()))?);
        }
        Codec::Zstd => {
            out.push(2);
            let compressed = zstd::bulk::compress(plain, 1).map_err(|error| Error::logical(error.to_string()))?;
            out.extend_from_slice(&compressed);
        }
    }
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
    let length = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
    reserve(length)?;
    let plain = match header[4] {
        0 => compressed.to_vec(),
        1 => {
            let mut plain = vec![0; length];
            lzzzz::lz4::decompress(compressed, &mut plain).map_err(|error| corrupt(&error))?;
            plain
        }
        _ => zstd::bulk::decompress(compressed, length).map_err(|error| corrupt(&error))?,
    };
    let batch = StreamDecoder::new().decode(&mut Buffer::from_vec(plain)).map_err(|error| corrupt(&error))?;
    let batch = batch.filter(|batch| batch.num_columns() == schema.len()).ok_or_else(|| corrupt(&"other columns"))?;
    let columns = schema.types().zip(batch.columns()).map(|(data_type, array)| {
        let plain = data_type.remove_low_cardinality();
        let column = Column::new(plain.clone(), array.clone());
        if plain == data_type { Ok(column) } else { cast(&column, data_type, &CastOptions::default()) }
    });
    Ok(Block::new(schema.clone(), columns.collect::<Result<_>>()?, batch.num_rows()))
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
                encode_frame(&block, Codec::parse(codec).unwrap(), &mut Vec::new(), &mut out).unwrap();
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
