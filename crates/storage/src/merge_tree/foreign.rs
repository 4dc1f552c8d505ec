//! What others who write to the lake do to a table's parts: DuckDB deletes rows of them, in files beside them or in the catalog itself.

use std::collections::HashMap;
use std::sync::Arc;

use super::deleted_rows::Deletions;
use super::{MergeTree, PartSet};
use crate::catalog::{SeenDeletion, StoredDeletion};

impl MergeTree {
    /// Takes over what the catalog says of deleted rows that is not known yet. Called while nobody commits.
    pub(crate) fn adopt_deletions(&self, stored: &HashMap<Arc<str>, StoredDeletion>) {
        let set = self.parts.load_full();
        let mut deletions: Option<Deletions> = None;
        for part in &set.parts {
            let Some(of_part) = stored.get(&part.file.name) else { continue };
            let now = SeenDeletion { path: of_part.path.clone(), inlined: of_part.inlined.len() };
            if set.deletions.seen(&part.file.name) == now {
                continue;
            }
            match self.directory.read_deletion(of_part) {
                Ok(Some(deletion)) => {
                    let all = deletions.get_or_insert_with(|| Deletions::clone(&set.deletions));
                    all.insert(part.file.name.clone(), Arc::new(deletion));
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::error!(%error, part = %part.file.name, "rows that another writer has deleted stay visible");
                }
            }
        }
        if let Some(deletions) = deletions {
            let deletions = Arc::new(deletions);
            self.parts.rcu(|set| PartSet::new(set.parts.clone(), &self.identity, &deletions));
            self.merging.note_change();
        }
    }
}
