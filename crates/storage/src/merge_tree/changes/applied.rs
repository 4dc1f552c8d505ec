//! Parts without the rows that are deleted of them, for whoever takes a part's file elsewhere: a backup, `detached/`, another table.

use std::sync::Arc;

use squall_runtime::{Pieces, block_on};
use squall_types::Result;
use uuid::Uuid;

use super::deleted_rows::Deletions;
use crate::merge_tree::MergeTree;
use crate::merge_tree::merges::merged_part::merge_rows;
use crate::merge_tree::merges::merging::MergeProgress;
use crate::merge_tree::parts::part::{Part, PartFile};
use crate::merge_tree::parts::part_encoder::EncodedPart;
use crate::merge_tree::parts::part_footer::bad_name;
use crate::merge_tree::parts::part_name::PartName;
use crate::merge_tree::parts::part_stream::PartStream;
use crate::merge_tree::projections::projection_builder::ProjectionBuilder;

impl MergeTree {
    /// Parts as they are; for each that has deleted rows one that lacks them, which is nobody's and goes with the answer. One that has no
    /// other rows is left out. Waits for the disk.
    ///
    /// # Errors
    /// Where a part cannot be read or written.
    pub(crate) fn without_deleted(self: &Arc<Self>, parts: &[Arc<Part>]) -> Result<Vec<Arc<Part>>> {
        let set = self.parts.load_full();
        self.applied(parts, &set.deletions)
    }

    /// The same by what was deleted at some moment.
    ///
    /// # Errors
    /// As [`without_deleted`](Self::without_deleted).
    pub(in crate::merge_tree) fn applied(
        self: &Arc<Self>,
        parts: &[Arc<Part>],
        deletions: &Deletions,
    ) -> Result<Vec<Arc<Part>>> {
        let mut applied = Vec::with_capacity(parts.len());
        for part in parts {
            match deletions.of(&part.file.name) {
                Some(_) if part.failure().is_none() => applied.extend(self.copy_without(part, deletions)?),
                _ => applied.push(part.clone()),
            }
        }
        Ok(applied)
    }

    fn copy_without(self: &Arc<Self>, part: &Arc<Part>, deletions: &Deletions) -> Result<Option<Arc<Part>>> {
        let name = PartName::parse(&part.file.name).ok_or_else(|| bad_name(&part.file.name))?;
        let parts = std::slice::from_ref(part);
        // A merge may be writing a file under the name that the part would get.
        let path = self.directory.path().join(format!("{name}-{}.parquet", Uuid::new_v4()));
        let mut stream = PartStream::of_path(self, path.clone(), None);
        let made = block_on(async {
            let projections = ProjectionBuilder::of_merge(self, parts, &name, false);
            let (progress, mut pieces) = (MergeProgress::default(), Pieces::begin());
            let to = (projections, Some(&mut stream));
            let made = merge_rows(self, &name, (parts, deletions), None, to, &progress, &mut pieces).await;
            stream.settle().await.and(made)
        })?;
        let Some((EncodedPart { bytes, description }, _)) = made else { return Ok(None) };
        let file = PartFile { path: path.clone(), bytes: bytes.len(), ..part.file.clone() };
        let copy = Arc::new(self.uncommitted(file, description, self.schema.clone()));
        stream.finish(&bytes)?;
        Ok(Some(copy))
    }
}
