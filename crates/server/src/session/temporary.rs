//! Tables that a session made for itself, `CREATE TEMPORARY TABLE`: nobody else can name them, they hide tables of their names, and they
//! end with the session.

use std::sync::{Arc, OnceLock};

use squall_storage::{Databases, TEMPORARY_DATABASE, Table};

/// The temporary tables of one session, and of its copies for single queries.
#[derive(Clone, Default)]
pub struct TemporaryTables(Arc<OnceLock<Arc<Databases>>>);

impl std::fmt::Debug for TemporaryTables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TemporaryTables").field(&self.0.get().is_some()).finish()
    }
}

impl TemporaryTables {
    /// Where they are kept; the first table of a session makes the place.
    pub fn databases(&self) -> &Arc<Databases> {
        self.0.get_or_init(Databases::temporary)
    }

    /// Whether there may be any.
    pub fn may_be_any(&self) -> bool {
        self.0.get().is_some()
    }

    /// Whether there is one of this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.get().is_some_and(|databases| databases.has_table(TEMPORARY_DATABASE, name))
    }

    /// The table of this name at this moment.
    pub fn find(&self, name: &str) -> Option<Arc<dyn Table>> {
        self.0.get()?.table(TEMPORARY_DATABASE, name).ok()
    }
}
