//! The parts of a table as a projection has them, and those that lack it.

use std::sync::Arc;

use squall_planner::{Expression, Projected, Projection as Bound, TableMetadata};
use squall_types::Result;

use super::projection::Projection;
use crate::merge_tree::parts::part::Part;
use crate::merge_tree::parts::part_info::Marking;
use crate::merge_tree::scans::pruning;
use crate::merge_tree::{MergeTreeTable, PartSet};
use crate::table::{ProjectionPart, TableHandle};

impl MergeTreeTable {
    /// The parts as a projection has them, and the others.
    pub(in crate::merge_tree) fn split_by(&self, projection: &Bound) -> Option<Projected> {
        let own = self.live.projections.iter().find(|own| std::ptr::eq(&*own.bound, projection))?;
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for part in &self.parts.parts {
            // What it has is of rows that are deleted, too.
            let is_whole = self.parts.deletions.of(&part.file.name).is_none();
            match own.of_part(part).filter(|part| is_whole && part.failure().is_none()) {
                Some(of_projection) => with.push(of_projection),
                None => without.push(part.clone()),
            }
        }
        let table = |table: Self| Arc::new(TableHandle(Arc::new(table))) as Arc<dyn TableMetadata>;
        let rows = Self {
            name: self.name.clone(),
            live: own.table.clone(),
            parts: Arc::new(PartSet::new(with, &own.table.identity, &Arc::default())),
            projection: Some(own.bound.name.clone()),
        };
        let rest = (!without.is_empty()).then(|| {
            let parts = Arc::new(PartSet::new(without, &self.live.identity, &self.parts.deletions));
            table(Self { parts, ..self.whole() })
        });
        Some(Projected { rows: table(rows), rest })
    }

    /// The granules that may have rows which meet a condition.
    pub(in crate::merge_tree) fn granules_selected(&self, condition: Option<&Expression>) -> Result<u64> {
        let condition = pruning::condition(&self.live, condition, &[]);
        Ok(pruning::selection(&pruning::select(&self.live, &self.parts, condition.as_ref())).marks)
    }

    /// What each part has of the table's projections.
    pub(in crate::merge_tree) fn parts_of_projections(&self) -> Vec<ProjectionPart> {
        let marking = Marking::of(&self.live.identity.definition);
        let of = |part: &Arc<Part>| {
            let known = |projection: &Arc<Projection>| {
                let found = projection.of_part(part)?;
                Some(ProjectionPart {
                    name: projection.bound.name.clone(),
                    parent: part.file.name.clone(),
                    rows: found.rows,
                    part_type: marking.part_type(found.rows, found.file.bytes),
                    marks: marking.marks(found.rows, found.file.bytes, found.description.granularity),
                    bytes_on_disk: found.file.bytes,
                    value_bytes: found.description.all_value_bytes(),
                })
            };
            self.live.projections.iter().filter_map(known).collect::<Vec<_>>()
        };
        self.parts.parts.iter().flat_map(of).collect()
    }
}
