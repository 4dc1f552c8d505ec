//! Mutations of a table that are kept in the catalog until they are done.

use std::sync::Arc;

use squall_types::Result;

use crate::merge_tree::MergeTree;
use crate::merge_tree::parts::part_name::PartName;
use crate::mutation::{MutationOrder, MutationStep, StoredMutation};

impl MergeTree {
    /// Orders a mutation of what is in the table now: on return the catalog has it.
    ///
    /// # Errors
    /// Where the catalog cannot be written.
    pub(crate) fn order_mutation(&self, order: MutationOrder, now: u64) -> Result<StoredMutation> {
        let is_visible = |(partition_id, block): &(Arc<str>, u64)| {
            let holds = |name: &PartName| {
                name.partition_id == *partition_id && (name.first_block..=name.last_block).contains(block)
            };
            let parts = self.parts.load();
            parts.parts.iter().any(|part| PartName::parse(&part.file.name).is_some_and(|name| holds(&name)))
        };
        let fence = self.merging.fence(is_visible);
        let mutation = StoredMutation { order, fence, commands_done: 0, created: now, finished: None };
        self.catalog
            .add_mutation(self.table_id, &mutation)
            .inspect_err(|_| self.merging.unfence(mutation.fence.version))?;
        Ok(mutation)
    }

    /// Takes up what the catalog knows of mutations.
    pub(crate) fn resume_mutations(&self, mutations: &[StoredMutation]) {
        for mutation in mutations {
            let blocks = mutation.fence.excluded.iter().copied().chain([mutation.fence.version]);
            blocks.for_each(|block| self.merging.pass_block(block));
            if mutation.finished.is_none() {
                self.merging.resume(&mutation.fence);
            }
        }
    }

    /// Forgets a mutation that is not done. `false` where there is none.
    ///
    /// # Errors
    /// Where the catalog cannot be written.
    pub(crate) fn kill_mutation(&self, version: u64) -> Result<bool> {
        let was_there = self.catalog.remove_mutation(self.table_id, version)?;
        self.merging.unfence(version);
        Ok(was_there)
    }

    /// Records a step of a mutation that has written nothing.
    ///
    /// # Errors
    /// `QUERY_WAS_CANCELLED` where the mutation was killed, and where the catalog cannot be written.
    pub(crate) fn note_mutation_step(&self, step: MutationStep) -> Result<()> {
        self.catalog.note_mutation_step(self.table_id, step)?;
        self.unfence_after(step);
        Ok(())
    }

    /// After a step that is recorded: where it was the last one, merges may reach over the mutation.
    pub(in crate::merge_tree) fn unfence_after(&self, step: MutationStep) {
        if step.finished.is_some() {
            self.merging.unfence(step.version);
        }
    }
}
