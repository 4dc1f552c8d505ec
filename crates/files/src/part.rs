//! What a scan is cut into: a file that is read from its beginning, or a row group of a Parquet file. Each part has two sides, a [`Fetcher`]
//! and a [`Decoder`]. Between them wait pieces. Those of a file of rows can be read apart from each other: then several workers do so, and the
//! decoder joins what they read, in the order of the pieces.

use std::collections::VecDeque;
use std::sync::Arc;

use squall_formats::split::{Piece, PieceRows, RowEnds, end_piece};
use squall_formats::{FormatOptions, InputBlock, InputFormat};
use squall_types::{Block, Result, Schema};

use crate::decoder::Decoder;
use crate::fetcher::{Fetched, Fetcher, Unread};
use crate::table::{Data, Defaults, Source};

/// What parts are made of.
pub(crate) struct Reading {
    pub data: Data,
    pub source: Source,
    pub format: Arc<str>,
    /// The columns that formats are asked for.
    pub schema: Arc<Schema>,
    /// What fills in values that files leave out, where the type's default does not do.
    pub defaults: Option<Arc<dyn Defaults>>,
    pub options: FormatOptions,
}

impl Reading {
    /// The block with the values that a file leaves out.
    pub fn filled(&self, read: InputBlock) -> Result<Block> {
        match &self.defaults {
            Some(defaults) => defaults.fill(read),
            None => Ok(read.block),
        }
    }
}

/// A part that was begun.
pub(crate) struct Part {
    pub number: u64,
    pub file: usize,
    /// `None` while a thread fetches.
    pub fetcher: Option<Fetcher>,
    /// `None` while a worker decodes in order.
    pub decoder: Option<Decoder>,
    /// Where pieces are cut, so that workers can read them apart.
    pub row_ends: Option<RowEnds>,
    pieces: VecDeque<Undecoded>,
    /// Pieces before the first of `pieces`.
    pieces_before: u64,
    pub is_fetched: bool,
}

/// What was fetched and is not decoded.
enum Undecoded {
    Waiting(Fetched),
    /// A worker reads it.
    Claimed,
    /// A worker has read it.
    Read(Piece, PieceRows),
}

/// What a worker is to do for a part.
pub(crate) enum Work {
    /// To decode what was fetched next, or to go on.
    Decode(Decoder, Option<Fetched>),
    /// To read the piece of this number with a reader of its own.
    Read(u64, Piece, Box<dyn InputFormat>),
    /// To hand rows on.
    Give(Vec<InputBlock>),
}

impl Part {
    /// A part of which nothing was fetched.
    pub fn new(number: u64, unread: Unread) -> Self {
        Self {
            number,
            file: unread.file(),
            fetcher: Some(Fetcher::Unopened(unread)),
            decoder: Some(Decoder::New),
            row_ends: None,
            pieces: VecDeque::new(),
            pieces_before: 0,
            is_fetched: false,
        }
    }

    /// Pieces that are not decoded.
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// Adds what was fetched.
    pub fn push(&mut self, fetched: Fetched) {
        self.pieces.push_back(Undecoded::Waiting(fetched));
    }

    /// Takes what there is to do, if anything; `reads_apart`: also what is out of order.
    ///
    /// # Errors
    /// As of making any reader.
    pub fn claim(&mut self, reads_apart: bool) -> Result<Option<Work>> {
        let Some(decoder) = &mut self.decoder else { return Ok(None) };
        if decoder.goes_on() {
            return Ok(self.decoder.take().map(|decoder| Work::Decode(decoder, None)));
        }
        if let Decoder::Rows(input) = decoder {
            if let Some(Undecoded::Read(piece, rows)) =
                self.pieces.pop_front_if(|piece| matches!(piece, Undecoded::Read(..)))
            {
                self.pieces_before += 1;
                let mut blocks = Vec::new();
                if input.take(rows, &mut blocks)? {
                    return Ok(Some(Work::Give(blocks)));
                }
                return Ok(self.decoder.take().map(|decoder| Work::Decode(decoder, Some(Fetched::Bytes(piece)))));
            }
            let mut pieces = self.pieces.iter_mut().zip(self.pieces_before..);
            let can_be_read = |piece: &Undecoded| match piece {
                Undecoded::Waiting(Fetched::Bytes(piece)) => piece.begins_with_row,
                _ => false,
            };
            if let Some((place, number)) = pieces.find(|(piece, _)| can_be_read(piece))
                && reads_apart
                && let Some(fork) = input.fork()?
                && let Undecoded::Waiting(Fetched::Bytes(piece)) = std::mem::replace(place, Undecoded::Claimed)
            {
                return Ok(Some(Work::Read(number, piece, fork)));
            }
        }
        let fetched = match self.pieces.pop_front_if(|piece| matches!(piece, Undecoded::Waiting(_))) {
            Some(Undecoded::Waiting(fetched)) => {
                self.pieces_before += 1;
                Some(fetched)
            }
            _ if self.pieces.is_empty() && self.is_fetched => None,
            _ => return Ok(None),
        };
        Ok(self.decoder.take().map(|decoder| Work::Decode(decoder, fetched)))
    }

    /// Puts back a piece that was read.
    pub fn put_read(&mut self, number: u64, piece: Piece, rows: PieceRows) {
        let at = usize::try_from(number - self.pieces_before).ok();
        if let Some(place) = at.and_then(|at| self.pieces.get_mut(at)) {
            *place = Undecoded::Read(piece, rows);
        }
    }

    /// Puts the decoder back.
    ///
    /// # Errors
    /// As of making any reader.
    pub fn put_decoder(&mut self, mut decoder: Decoder, reads_apart: bool) -> Result<()> {
        if let Decoder::Rows(input) = &mut decoder
            && self.row_ends.is_none()
            && reads_apart
        {
            self.row_ends = input.row_ends()?;
        }
        self.decoder = Some(decoder);
        Ok(())
    }
}

/// Reads a piece with a reader of its own.
pub(crate) fn read_piece(piece: &[u8], mut reader: Box<dyn InputFormat>) -> PieceRows {
    let mut blocks = Vec::new();
    reader.feed(piece, &mut blocks).ok()?;
    end_piece(reader, blocks)
}
