//! Blocks in packets: what stands before a block, the frames of compression around it, and the blocks that carry lines of the log and
//! counters of events.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use squall_formats::native::{BLOCK_INFO, BlockReader, write_block, write_block_column, write_block_head};
use squall_formats::wire::{Cursor, Stop, put_string, put_varint};
use squall_runtime::{Pieces, ProfileEvent};
use squall_types::{Block, Column, ColumnBuilder, DataType, Error, ErrorCode, Result, Schema, Value};

use super::packet::from_server;
use super::revision;
use crate::compression::{Codec, FRAME_BYTES, compress, decompress_frame, frame_bytes};
use crate::logger::LogLine;

/// Bytes of one block that are held before it is whole.
const BLOCK_BYTES_MAX: usize = 1 << 30;

/// How blocks go to one client.
#[derive(Clone, Copy, Debug)]
pub struct BlockWriter {
    /// The revision agreed on.
    pub revision: u64,
    /// How blocks of data are compressed; `None` is without frames.
    pub codec: Option<Codec>,
}

impl BlockWriter {
    /// Appends a packet with a block of data, totals or extremes.
    ///
    /// # Errors
    /// Where the block cannot be written.
    pub fn write(&self, packet: u64, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        put_packet_head(packet, out);
        let block = &self.without_unknown_types(block)?;
        match self.codec {
            None => self.append(block, out),
            Some(codec) => {
                let mut plain = Vec::new();
                self.append(block, &mut plain)?;
                compress(codec, &plain, out)
            }
        }
    }

    /// The same for a worker, which may be interrupted between columns and between frames.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub async fn write_in_pieces(self, packet: u64, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let mut pieces = Pieces::begin();
        let block = self.without_unknown_types(block)?;
        put_packet_head(packet, out);
        let mut plain = Vec::new();
        plain.extend_from_slice(&BLOCK_INFO);
        write_block_head(&block, &mut plain);
        for at in 0..block.columns().len() {
            write_block_column(&block, at, self.revision, &mut plain)?;
            pieces.pause().await;
        }
        let Some(codec) = self.codec else {
            out.append(&mut plain);
            return Ok(());
        };
        for frame in plain.chunks(FRAME_BYTES) {
            compress(codec, frame, out)?;
            pieces.pause().await;
        }
        Ok(())
    }

    /// Appends a packet with a block that is never compressed.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_plain(&self, packet: u64, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        put_packet_head(packet, out);
        self.append(block, out)
    }

    fn append(&self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(&BLOCK_INFO);
        write_block(block, self.revision, out)
    }

    /// Old clients do not know dictionaries.
    fn without_unknown_types(&self, block: &Block) -> Result<Block> {
        let is_unknown = |data_type: &DataType| matches!(data_type, DataType::LowCardinality(_));
        if self.revision >= revision::LOW_CARDINALITY_TYPE || !block.schema().types().any(is_unknown) {
            return Ok(block.clone());
        }
        let columns = block.columns().iter().map(Column::without_low_cardinality).collect::<Result<Vec<_>>>()?;
        let names = block.schema().fields.iter().map(|(name, _)| name.clone());
        let fields = names.zip(columns.iter().map(|column| column.data_type().clone())).collect();
        Ok(Block::new(Arc::new(Schema { fields }), columns, block.rows()))
    }
}

/// Appends what stands before a block: the packet's number, and the name of a table, which is the result's own.
fn put_packet_head(packet: u64, out: &mut Vec<u8>) {
    put_varint(out, packet);
    put_string(out, "");
}

/// Reads the block of one packet, whose bytes arrive in pieces.
#[derive(Debug)]
pub struct BlockInput {
    is_compressed: bool,
    has_name: bool,
    has_info: bool,
    name: String,
    reader: BlockReader,
    /// What frames held and is not read yet.
    plain: Vec<u8>,
}

impl BlockInput {
    /// Of a client of this revision.
    pub fn new(client_revision: u64, is_compressed: bool) -> Self {
        Self {
            is_compressed,
            has_name: false,
            has_info: false,
            name: String::new(),
            reader: BlockReader::new(client_revision),
            plain: Vec::new(),
        }
    }

    /// The name of the table that the block is for: empty is the INSERT's own.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Reads as much as there is; the cursor is then past all that need not be shown again.
    ///
    /// # Errors
    /// `Incomplete`; what is wrong with the frames or the block.
    pub fn read(&mut self, input: &mut Cursor<'_>) -> Result<Block, Stop> {
        if !self.has_name {
            let start = input.position();
            self.name = input.text(1 << 16).inspect_err(|_| input.seek(start))?;
            self.has_name = true;
        }
        if !self.is_compressed {
            return self.read_plain(input);
        }
        loop {
            let plain = std::mem::take(&mut self.plain);
            let mut cursor = Cursor::new(&plain);
            let outcome = self.read_plain(&mut cursor);
            let read = cursor.position();
            self.plain = plain;
            self.plain.drain(..read);
            match outcome {
                Err(Stop::Incomplete) => {}
                Ok(_) if !self.plain.is_empty() => {
                    let message = "A compressed frame goes on after the end of its block";
                    return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)));
                }
                outcome => return outcome,
            }
            if self.plain.len() > BLOCK_BYTES_MAX {
                let message = format!("A column of a block is larger than {BLOCK_BYTES_MAX} bytes");
                return Err(Stop::Bad(Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, message)));
            }
            let frame = frame_bytes(input.rest())?.ok_or(Stop::Incomplete)?;
            decompress_frame(input.take(frame)?, &mut self.plain)?;
        }
    }

    fn read_plain(&mut self, input: &mut Cursor<'_>) -> Result<Block, Stop> {
        if !self.has_info {
            let start = input.position();
            read_block_info(input).inspect_err(|_| input.seek(start))?;
            self.has_info = true;
        }
        self.reader.read(input)
    }
}

/// Reads numbered fields up to number 0; they matter between servers only.
fn read_block_info(input: &mut Cursor<'_>) -> Result<(), Stop> {
    loop {
        match input.varint()? {
            0 => return Ok(()),
            1 => drop(input.byte()?),
            2 => drop(input.take(4)?),
            other => {
                let message = format!("Unknown BlockInfo field number: {other}");
                return Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message)));
            }
        }
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// A block of these columns, from rows of values.
fn block(columns: &[(&str, DataType)], rows: &[Vec<Value>]) -> Result<Block> {
    let mut builders: Vec<ColumnBuilder> =
        columns.iter().map(|(_, data_type)| ColumnBuilder::new(data_type.clone())).collect();
    for row in rows {
        builders.iter_mut().zip(row).try_for_each(|(builder, value)| builder.append(value))?;
    }
    let arrays = builders.into_iter().map(ColumnBuilder::finish).collect::<Result<Vec<_>>>()?;
    let schema = Schema::new(columns.iter().map(|(name, data_type)| (*name, data_type.clone())));
    Ok(Block::new(Arc::new(schema), arrays, rows.len()))
}

/// Lines of the log as clients of a revision read them.
///
/// # Errors
/// Never for lines.
pub fn log_block(lines: &[LogLine], host_name: &str, client_revision: u64) -> Result<Block> {
    let thread = if client_revision < revision::CLIENT_WRITE_INFO {
        ("thread_number", DataType::UInt32)
    } else {
        ("thread_id", DataType::UInt64)
    };
    let columns = [
        ("event_time", DataType::DateTime(None)),
        ("event_time_microseconds", DataType::UInt32),
        ("host_name", DataType::String),
        ("query_id", DataType::String),
        thread,
        ("priority", DataType::Int8),
        ("source", DataType::String),
        ("text", DataType::String),
    ];
    let rows: Vec<Vec<Value>> = lines
        .iter()
        .map(|line| {
            let microseconds = line.time.duration_since(UNIX_EPOCH).map_or(0, |time| time.subsec_micros());
            vec![
                Value::UInt64(seconds(line.time)),
                Value::UInt64(microseconds.into()),
                host_name.into(),
                line.query_id.as_str().into(),
                Value::UInt64(line.thread_id & u64::from(u32::MAX)),
                Value::Int64(line.level.priority().into()),
                line.component.into(),
                line.message.as_str().into(),
            ]
        })
        .collect();
    block(&columns, &rows)
}

/// Counters of events of a query.
///
/// # Errors
/// Never for counters.
pub fn profile_events_block(
    events: impl Iterator<Item = (ProfileEvent, u64)>,
    memory_bytes: i64,
    host_name: &str,
) -> Result<Block> {
    const INCREMENT: i64 = 1;
    const GAUGE: i64 = 2;
    let columns = [
        ("host_name", DataType::String),
        ("current_time", DataType::DateTime(None)),
        ("thread_id", DataType::UInt64),
        ("type", DataType::parse("Enum8('increment' = 1, 'gauge' = 2)")?),
        ("name", DataType::String),
        ("value", DataType::Int64),
    ];
    let now = seconds(SystemTime::now());
    let row = |kind: i64, name: &str, value: i64| {
        vec![
            host_name.into(),
            Value::UInt64(now),
            Value::UInt64(0),
            Value::Int64(kind),
            name.into(),
            Value::Int64(value),
        ]
    };
    let mut rows: Vec<Vec<Value>> =
        events.map(|(event, value)| row(INCREMENT, event.name(), i64::try_from(value).unwrap_or(i64::MAX))).collect();
    rows.push(row(GAUGE, "MemoryTrackerUsage", memory_bytes));
    block(&columns, &rows)
}

/// The packet that ends a result, and an INSERT's data: a block of nothing.
///
/// # Errors
/// Never.
pub fn write_end_of_data(writer: &BlockWriter, out: &mut Vec<u8>) -> Result<()> {
    writer.write(from_server::DATA, &Block::empty(Arc::new(Schema::default())), out)
}

#[cfg(test)]
mod tests {
    use squall_runtime::block_on;

    use super::*;

    fn sample() -> Block {
        let columns = [("a", DataType::UInt8), ("b", DataType::String)];
        let rows: Vec<Vec<Value>> =
            (0..1000_u64).map(|row| vec![Value::UInt64(row % 256), row.to_string().as_str().into()]).collect();
        block(&columns, &rows).unwrap()
    }

    #[test]
    fn blocks_come_back_in_any_pieces() {
        for codec in [None, Some(Codec::None), Some(Codec::Lz4), Some(Codec::Zstd(1))] {
            for revision in [54_400, 54_413, revision::REVISION] {
                let (mut out, mut by_worker) = (Vec::new(), Vec::new());
                let writer = BlockWriter { revision, codec };
                writer.write(from_server::DATA, &sample(), &mut out).unwrap();
                block_on(writer.write_in_pieces(from_server::DATA, &sample(), &mut by_worker)).unwrap();
                assert_eq!(out, by_worker);
                for piece_bytes in [1, 13, usize::MAX] {
                    let mut input = BlockInput::new(revision, codec.is_some());
                    let mut pending = Vec::new();
                    let mut found = None;
                    for piece in out[1..].chunks(piece_bytes) {
                        pending.extend_from_slice(piece);
                        let mut cursor = Cursor::new(&pending);
                        match input.read(&mut cursor) {
                            Ok(block) => found = Some(block),
                            Err(Stop::Incomplete) => {}
                            Err(Stop::Bad(error)) => panic!("{error}"),
                        }
                        let read = cursor.position();
                        pending.drain(..read);
                    }
                    let found = found.unwrap();
                    assert_eq!((found.rows(), found.columns()[1].value(999)), (1000, "999".into()));
                    assert!(pending.is_empty());
                }
            }
        }
    }

    #[test]
    fn damage_is_an_error() {
        let mut out = Vec::new();
        BlockWriter { revision: revision::REVISION, codec: Some(Codec::Lz4) }
            .write(from_server::DATA, &sample(), &mut out)
            .unwrap();
        out[40] ^= 1;
        let stop = BlockInput::new(revision::REVISION, true).read(&mut Cursor::new(&out[1..])).unwrap_err();
        assert_eq!(stop.into_error().code, ErrorCode::CHECKSUM_DOESNT_MATCH);
    }
}
