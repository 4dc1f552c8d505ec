//! For whom a system table is: what its rows may tell of.

use std::sync::Arc;

use crate::access::{Access, Privilege};

/// Who looks; nobody in particular sees everything.
#[derive(Clone, Debug, Default)]
pub struct Viewer(Option<Arc<Access>>);

impl Viewer {
    /// The user of a session.
    pub fn of(access: &Arc<Access>) -> Self {
        Self(Some(access.clone()))
    }

    /// Whether a database is shown.
    pub fn sees_database(&self, database: &str) -> bool {
        self.0.as_ref().is_none_or(|access| access.may_show_database(database))
    }

    /// Whether a table is shown.
    pub fn sees_table(&self, database: &str, table: &str) -> bool {
        self.0.as_ref().is_none_or(|access| access.may_show_table(database, table))
    }

    /// Whether a column is shown.
    pub fn sees_column(&self, database: &str, table: &str, column: &str) -> bool {
        self.0.as_ref().is_none_or(|access| access.may_show_column(database, table, column))
    }

    /// Whether a dictionary is shown; those of configuration files are in the database without a name.
    pub fn sees_dictionary(&self, database: &str, name: &str) -> bool {
        self.0.as_ref().is_none_or(|access| access.has(Privilege::ShowDictionaries.set(), &[database, name]))
    }

    /// Whether the queries of a user are shown: one's own, and those of others to who was given the table, or may end them.
    pub fn sees_queries_of(&self, user: &str) -> bool {
        self.0.as_ref().is_none_or(|access| {
            *access.name == *user
                || access.rights().at(&["system", "processes"]).privileges.contains(Privilege::Select.set())
                || access.has(Privilege::KillQuery.set(), &[])
        })
    }
}
