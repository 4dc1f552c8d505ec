//! The side of a part that computes: it decodes what was fetched, in its order.

use squall_formats::split::SplitInput;
use squall_formats::{InputFormat, ParquetRowGroup, input_format};
use squall_types::{Block, Result};

use crate::fetcher::Fetched;
use crate::part::Reading;

/// Decodes a part.
pub(crate) enum Decoder {
    /// Nothing has come yet.
    New,
    Rows(Box<SplitInput>),
    /// All bytes are there, and some are not decoded.
    Rest(Box<dyn InputFormat>),
    Group(Box<ParquetRowGroup>),
    Over,
}

impl Decoder {
    /// Whether it goes on without anything being fetched.
    pub fn goes_on(&self) -> bool {
        matches!(self, Self::Rest(_) | Self::Group(_))
    }

    /// Decodes what was fetched, or goes on with what it has; at the end of what is fetched it is given nothing.
    pub fn decode(&mut self, fetched: Option<Fetched>, reading: &Reading, blocks: &mut Vec<Block>) -> Result<()> {
        let mut read = Vec::new();
        match std::mem::replace(self, Self::Over) {
            Self::New => match fetched {
                Some(Fetched::Group(group)) => {
                    match group.counted() {
                        Some(block) => blocks.push(block),
                        None => *self = Self::Group(group),
                    }
                    return Ok(());
                }
                Some(Fetched::Bytes(piece)) => {
                    let mut format = input_format(&reading.format, &reading.schema, &reading.options)?;
                    format.feed(&piece.bytes, &mut read)?;
                    *self = Self::Rows(Box::new(SplitInput::new(format)));
                }
                Some(Fetched::Parts(_)) | None => {}
            },
            Self::Rows(mut input) => match fetched {
                Some(Fetched::Bytes(piece)) => {
                    input.feed(&piece.bytes, &mut read)?;
                    *self = Self::Rows(input);
                }
                _ => {
                    let mut format = input.reader();
                    format.finish(&mut read)?;
                    if format.reads_at_end() {
                        *self = Self::Rest(format);
                    }
                }
            },
            Self::Rest(mut format) => {
                if let Some(block) = format.next_block()? {
                    read.push(block);
                    *self = Self::Rest(format);
                }
            }
            Self::Group(mut group) => {
                if let Some(block) = group.next_block()? {
                    read.push(block);
                    *self = Self::Group(group);
                }
            }
            Self::Over => {}
        }
        for read in read {
            blocks.push(reading.filled(read)?);
        }
        Ok(())
    }
}
