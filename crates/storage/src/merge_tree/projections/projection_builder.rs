//! What a new part has of its table's projections, on its way: each run of the part's rows makes a piece, which is a part in memory, and the
//! pieces are merged at the end as parts are. A merge of parts that have a projection already merges these.

use std::pin::Pin;
use std::sync::Arc;

use squall_runtime::Pieces;
use squall_types::{Block, Result};

use super::projection::Projection;
use crate::merge_tree::MergeTree;
use crate::merge_tree::changes::deleted_rows::Deletions;
use crate::merge_tree::merges::merged_part::merge_rows;
use crate::merge_tree::merges::merging::MergeProgress;
use crate::merge_tree::parts::part::Part;
use crate::merge_tree::parts::part_encoder::EncodedPart;
use crate::merge_tree::parts::part_name::PartName;
use crate::merge_tree::parts::part_writer::encode_rows;

/// A projection of a part on its way.
pub(in crate::merge_tree) struct ProjectionBuilder {
    pub(in crate::merge_tree) projection: Arc<Projection>,
    name: PartName,
    state: State,
}

enum State {
    /// Pieces of the part's rows so far.
    OfRows(Vec<EncodedPart>),
    /// What other parts have, which become one with the new part.
    OfParts(Vec<Arc<Part>>),
}

impl ProjectionBuilder {
    /// Of the rows of a part.
    pub(in crate::merge_tree) fn new(projection: &Arc<Projection>, name: &PartName) -> Self {
        Self { projection: projection.clone(), name: name.clone(), state: State::OfRows(Vec::new()) }
    }

    /// Those of the rows of a part.
    pub(in crate::merge_tree) fn all(projections: &[Arc<Projection>], name: &PartName) -> Vec<Self> {
        projections.iter().map(|projection| Self::new(projection, name)).collect()
    }

    /// Those of a part that others become, all rows of which it keeps as they are where `keeps_rows` says so.
    pub(in crate::merge_tree) fn of_merge(
        table: &MergeTree,
        parts: &[Arc<Part>],
        name: &PartName,
        keeps_rows: bool,
    ) -> Vec<Self> {
        let builder = |projection: &Arc<Projection>| {
            let of_parts = || parts.iter().map(|part| projection.of_part(part)).collect::<Option<Vec<Arc<Part>>>>();
            match of_parts().filter(|_| keeps_rows) {
                Some(of_parts) => {
                    Self { projection: projection.clone(), name: name.clone(), state: State::OfParts(of_parts) }
                }
                None => Self::new(projection, name),
            }
        };
        table.merged_projections().iter().map(builder).collect()
    }

    /// Adds rows of the part.
    ///
    /// # Errors
    /// Those of the projection's expressions, and where its rows cannot be encoded.
    pub(in crate::merge_tree) async fn append(
        &mut self,
        table: &MergeTree,
        block: &Block,
        pieces: &mut Pieces,
    ) -> Result<()> {
        let State::OfRows(made) = &mut self.state else { return Ok(()) };
        let rows = self.projection.rows(table, block, pieces).await?;
        made.extend(piece(&self.projection.table, &self.name, &rows, pieces).await?);
        Ok(())
    }

    /// What the part has of the projection; nothing where it has no row.
    ///
    /// # Errors
    /// Where pieces cannot be read or the projection cannot be encoded.
    pub(in crate::merge_tree) async fn finish(self, pieces: &mut Pieces) -> Result<Option<EncodedPart>> {
        let Self { projection, name, state } = self;
        let table = &projection.table;
        let parts = match state {
            State::OfRows(mut made) if made.len() <= 1 => return Ok(made.pop()),
            State::OfRows(made) => {
                made.into_iter().map(|piece| Arc::new(Part::in_memory(&name, piece, table))).collect::<Vec<_>>()
            }
            State::OfParts(parts) => parts,
        };
        merged(table, &name, &parts, pieces).await
    }
}

/// What becomes a part's projection, or a piece of it. It is made as the part is, but has no projections of its own.
type Made<'a> = Pin<Box<dyn Future<Output = Result<Option<EncodedPart>>> + Send + 'a>>;

fn piece<'a>(table: &'a Arc<MergeTree>, name: &'a PartName, rows: &'a Block, pieces: &'a mut Pieces) -> Made<'a> {
    Box::pin(async move {
        let encoded = encode_rows(table, name, rows, false, &[], Vec::new(), pieces).await?;
        Ok(encoded.map(|(encoded, _)| encoded))
    })
}

fn merged<'a>(
    table: &'a Arc<MergeTree>,
    name: &'a PartName,
    parts: &'a [Arc<Part>],
    pieces: &'a mut Pieces,
) -> Made<'a> {
    Box::pin(async move {
        let progress = MergeProgress::default();
        let merged =
            merge_rows(table, name, (parts, &Deletions::default()), None, (Vec::new(), None), &progress, pieces)
                .await?;
        Ok(merged.map(|(encoded, _)| encoded))
    })
}
