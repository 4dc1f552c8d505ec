//! The output: stripes of rows, each written once it is full, and at the end what the file consists of.

use std::sync::Arc;

use prost::Message;
use squall_types::calendar::TimeZone;
use squall_types::{Block, DataType, Error, ErrorCode, Result, Schema};

use super::chunks::{Compression, append_chunks};
use super::column_writer::ColumnWriter;
use super::messages::{ColumnEncoding, Footer, PostScript, StreamMessage, StripeFooter, StripeInformation, encoding};
use super::types::{Kind, OrcType};
use super::{EPOCH_SECONDS, MAGIC};
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};

/// Bytes that are collected for a stripe, about.
const STRIPE_BYTES: usize = 64 << 20;
/// The version of the format.
const VERSION: [u32; 2] = [0, 12];
/// Times in it are told as all writers but Java's first ones tell them.
const WRITER_VERSION: u32 = 6;
/// No number of those that are registered.
const WRITER: u32 = u32::MAX;
/// Gregorian days, also before 1582.
const CALENDAR: i32 = 2;

/// The output format.
pub(crate) struct OrcOutput {
    types: Vec<DataType>,
    root: OrcType,
    columns: Vec<ColumnWriter>,
    compression: Option<Compression>,
    zone: TimeZone,
    /// Rows of the stripe at hand, and the bytes before it.
    rows: u64,
    written_bytes: u64,
    stripes: Vec<StripeInformation>,
}

impl OrcOutput {
    /// # Errors
    /// `ILLEGAL_COLUMN` for a type that the format has no place for, `BAD_ARGUMENTS` for settings.
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Result<Self> {
        let settings = &options.settings;
        let string = if settings.output_format_orc_string_as_string { Kind::String } else { Kind::Binary };
        let mut next = 1;
        let parts = schema.types().map(|data_type| OrcType::of(data_type, &string, &mut next));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let names = schema.names().map(str::to_owned).collect();
        let root = OrcType { column: 0, kind: Kind::Struct(names), parts };
        let zone = TimeZone::named(&settings.output_format_orc_writer_time_zone_name)?;
        let base = zone.to_utc(EPOCH_SECONDS);
        let columns = root.parts.iter().map(|of| ColumnWriter::new(of, base)).collect::<Result<_>>()?;
        let chunk_bytes = settings.output_format_orc_compression_block_size;
        Ok(Self {
            types: schema.types().cloned().collect(),
            root,
            columns,
            compression: Compression::of_name(&settings.output_format_orc_compression_method, chunk_bytes),
            zone,
            rows: 0,
            written_bytes: MAGIC.len() as u64,
            stripes: Vec::new(),
        })
    }

    fn message(&self, message: &impl Message, out: &mut Vec<u8>) -> Result<u64> {
        let start = out.len();
        append_chunks(self.compression, &message.encode_to_vec(), out)?;
        Ok((out.len() - start) as u64)
    }

    fn end_stripe(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        // The root is always there.
        let mut encodings = vec![ColumnEncoding { kind: Some(encoding::DIRECT), dictionary_size: None }];
        let mut streams = Vec::new();
        self.columns.iter_mut().try_for_each(|column| column.finish(&mut streams, &mut encodings))?;
        let start = out.len();
        let mut messages = Vec::with_capacity(streams.len());
        for stream in streams {
            let before = out.len();
            append_chunks(self.compression, &stream.bytes, out)?;
            messages.push(StreamMessage {
                kind: Some(stream.kind),
                column: Some(stream.column),
                length: Some((out.len() - before) as u64),
            });
        }
        let data_length = (out.len() - start) as u64;
        let writer_timezone = Some(self.zone.name().to_string());
        let footer = StripeFooter { streams: messages, columns: encodings, writer_timezone };
        let footer_length = self.message(&footer, out)?;
        self.stripes.push(StripeInformation {
            offset: Some(self.written_bytes),
            index_length: Some(0),
            data_length: Some(data_length),
            footer_length: Some(footer_length),
            number_of_rows: Some(std::mem::take(&mut self.rows)),
        });
        self.written_bytes += data_length + footer_length;
        Ok(())
    }
}

impl OutputFormat for OrcOutput {
    fn content_type(&self) -> &'static str {
        "application/octet-stream"
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(MAGIC);
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let columns = self.columns.iter_mut().zip(&self.types).zip(block.columns());
        for ((writer, data_type), column) in columns {
            writer.write(data_type, &column.to_array()?, None)?;
        }
        self.rows += block.rows() as u64;
        if self.columns.iter().map(ColumnWriter::bytes).sum::<usize>() >= STRIPE_BYTES {
            self.end_stripe(out)?;
        }
        Ok(())
    }

    fn end(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        self.end_stripe(out)?;
        let footer = Footer {
            header_length: Some(MAGIC.len() as u64),
            content_length: Some(self.written_bytes),
            stripes: self.stripes.clone(),
            types: self.root.messages(),
            number_of_rows: Some(self.stripes.iter().map(StripeInformation::number_of_rows).sum()),
            row_index_stride: Some(0),
            writer: Some(WRITER),
            calendar: Some(CALENDAR),
            software_version: Some(format!("Squall {}", env!("CARGO_PKG_VERSION"))),
        };
        let footer_length = self.message(&footer, out)?;
        let script = PostScript {
            footer_length: Some(footer_length),
            compression: Some(self.compression.map_or(0, Compression::number)),
            compression_block_size: self.compression.map(|compression| compression.chunk_bytes() as u64),
            version: VERSION.to_vec(),
            metadata_length: Some(0),
            writer_version: Some(WRITER_VERSION),
            magic: Some(MAGIC.to_vec()),
        };
        let script = script.encode_to_vec();
        out.extend_from_slice(&script);
        let length = u8::try_from(script.len());
        out.push(length.map_err(|_| Error::new(ErrorCode::LOGICAL_ERROR, "an ORC file whose last part is too long"))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use squall_types::Column;

    use super::*;
    use crate::input::InputFormat;
    use crate::orc::OrcInput;
    use crate::whole_input::WholeInput;

    #[test]
    fn stripes_stand_one_after_the_other() {
        let schema = Arc::new(Schema::new([("s", DataType::String), ("n", DataType::String.to_nullable())]));
        let options = FormatOptions::default();
        let mut output = OrcOutput::new(&schema, &options).unwrap();
        let mut out = Vec::new();
        output.begin(&mut out);
        for part in 0..3 {
            let strings = Column::from_strings((0..10).map(|at| format!("{part} {at}")));
            // There are NULLs in the second stripe alone.
            let nulls = Column::default_values(DataType::String.to_nullable(), 10).unwrap();
            let others = strings.clone().with_type(DataType::String.to_nullable());
            let columns = vec![strings, if part == 1 { nulls } else { others }];
            output.block(&Block::new(schema.clone(), columns, 10), &mut out).unwrap();
            output.end_stripe(&mut out).unwrap();
        }
        output.end(&Statistics::default(), &mut out).unwrap();
        let mut input = WholeInput::new(OrcInput::new(&schema, &options), &options);
        input.feed(&out, &mut Vec::new()).unwrap();
        for part in 0..3 {
            let block = input.next_block().unwrap().unwrap().block;
            assert_eq!(block.rows(), 10);
            let [strings, nulls] = block.columns() else { panic!("{block:?}") };
            assert_eq!(strings.value(9).to_string(), format!("'{part} 9'"));
            assert_eq!(nulls.value(9).is_null(), part == 1);
        }
        assert!(input.next_block().unwrap().is_none());
    }
}
