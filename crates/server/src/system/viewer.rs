//! For whom a system table is: what its rows may tell of.

use std::sync::Arc;

use squall_storage::{TEMPORARY_DATABASE, TableDescription};

use crate::access::{Access, Privilege};
use crate::session::{Session, TemporaryTables};

/// Who looks; nobody in particular sees everything.
#[derive(Clone, Debug, Default)]
pub struct Viewer(Option<Arc<Access>>, TemporaryTables);

impl Viewer {
    /// Who looks from a session.
    pub fn of(session: &Session) -> Self {
        Self(Some(session.access.clone()), session.temporary_tables.clone())
    }

    /// The tables that the session made for itself.
    pub fn temporary_tables(&self) -> Vec<TableDescription> {
        match self.1.may_be_any() {
            true => self.1.databases().tables(TEMPORARY_DATABASE).unwrap_or_default(),
            false => Vec::new(),
        }
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
