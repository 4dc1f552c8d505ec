//! Indexes of a part on their way, as its row groups come.

use std::sync::Arc;

use squall_runtime::Pieces;
use squall_types::{Block, Column, Result};

use super::SkipIndex;
use super::entry::Entry;
use super::page::{EncodedPage, PageWriter};
use super::words::WordsBuilder;
use crate::evaluate::evaluate;

/// Rows that an index takes at a time, in well below a millisecond where texts are of usual lengths.
const ROWS_AT_ONCE: usize = 1024;

/// All indexes of a part.
pub(in super::super) struct IndexBuilders {
    builders: Vec<IndexBuilder>,
    /// Rows of a granule.
    granule: usize,
}

struct IndexBuilder {
    index: Arc<SkipIndex>,
    contents: Contents,
}

enum Contents {
    Entries {
        entry: Option<Entry>,
        /// Rows of the entry so far.
        rows: usize,
        pages: PageWriter,
    },
    Words(WordsBuilder),
}

/// An index that is done.
pub(in super::super) struct EncodedIndex {
    pub(in super::super) index: Arc<SkipIndex>,
    pub(in super::super) pages: Vec<EncodedPage>,
}

impl IndexBuilders {
    pub(in super::super) fn new(indices: &[Arc<SkipIndex>], granule: usize) -> Self {
        let builder = |index: &Arc<SkipIndex>| {
            let contents = match WordsBuilder::of(&index.kind) {
                Some(words) => Contents::Words(words),
                None => Contents::Entries { entry: None, rows: 0, pages: PageWriter::default() },
            };
            IndexBuilder { index: index.clone(), contents }
        };
        Self { builders: indices.iter().map(builder).collect(), granule: granule.max(1) }
    }

    /// Adds the rows of a row group, which begins with a granule.
    ///
    /// # Errors
    /// Where an index's expression fails, `MEMORY_LIMIT_EXCEEDED`.
    pub(in super::super) async fn append(
        &mut self,
        block: &Block,
        positions: &[Option<usize>],
        pieces: &mut Pieces,
    ) -> Result<()> {
        for builder in &mut self.builders {
            let mut first = 0;
            while first < block.rows() {
                // What is left of the granule, in pieces.
                let rows = (self.granule - first % self.granule).min(ROWS_AT_ONCE).min(block.rows() - first);
                let piece = block.slice(first, rows);
                let values = builder.index.expressions.iter().map(|one| evaluate(one, &piece, positions));
                let values = values.collect::<Result<Vec<Column>>>()?;
                first += rows;
                let ends_granule = first.is_multiple_of(self.granule) || first == block.rows();
                builder.add(&values, rows, ends_granule)?;
                if builder.is_full(self.granule) {
                    builder.end_entry()?;
                }
                pieces.pause().await;
            }
        }
        Ok(())
    }

    /// The pages of each index.
    ///
    /// # Errors
    /// Where an entry cannot be written.
    pub(in super::super) async fn finish(self, pieces: &mut Pieces) -> Result<Vec<EncodedIndex>> {
        let mut encoded = Vec::with_capacity(self.builders.len());
        for mut builder in self.builders {
            builder.end_entry()?;
            let IndexBuilder { index, contents } = builder;
            let pages = match contents {
                Contents::Words(words) => words.finish(pieces).await,
                Contents::Entries { pages, .. } => pages.finish(),
            };
            encoded.push(EncodedIndex { index, pages });
        }
        Ok(encoded)
    }
}

impl IndexBuilder {
    /// Adds rows of a granule.
    fn add(&mut self, values: &[Column], count: usize, ends_granule: bool) -> Result<()> {
        match &mut self.contents {
            Contents::Words(words) => {
                words.add(values)?;
                if ends_granule {
                    words.end_granule();
                }
            }
            Contents::Entries { entry, rows, .. } => {
                let columns = self.index.expressions.len();
                if entry.is_none() {
                    *entry = Entry::new(&self.index.kind, columns);
                }
                if let Some(entry) = entry {
                    entry.add(values, count)?;
                }
                *rows += count;
            }
        }
        Ok(())
    }

    /// Whether the entry has all of its granules.
    fn is_full(&self, granule: usize) -> bool {
        let entry_rows = granule.saturating_mul(self.index.granularity);
        matches!(&self.contents, Contents::Entries { rows, .. } if *rows >= entry_rows)
    }

    /// Ends the entry.
    fn end_entry(&mut self) -> Result<()> {
        if let Contents::Entries { entry, rows, pages } = &mut self.contents
            && let Some(done) = entry.take()
        {
            pages.push(&done.encode(self.index.types())?);
            *rows = 0;
        }
        Ok(())
    }
}
