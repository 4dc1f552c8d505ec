//! The names that can be completed: read from the session's system tables, and again after statements that change them.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::session::{Session, ask};

/// Names of one kind that are kept.
const NAMES_MAX: usize = 20_000;

/// What a name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A database.
    Database,
    /// A table or view of a database.
    Table,
    /// A column of a table.
    Column,
    /// A function.
    Function,
    /// A setting.
    Setting,
    /// A format.
    Format,
    /// A word of the grammar.
    Keyword,
}

impl Kind {
    /// In a word, for the menu.
    pub fn word(self) -> &'static str {
        match self {
            Self::Database => "database",
            Self::Table => "table",
            Self::Column => "column",
            Self::Function => "function",
            Self::Setting => "setting",
            Self::Format => "format",
            Self::Keyword => "keyword",
        }
    }

    /// The query that lists names of this kind with what they belong to: a table's database, a column's table.
    fn query(self) -> Option<String> {
        let query = match self {
            Self::Database => "SELECT name, '' FROM system.databases",
            Self::Table => "SELECT name, database FROM system.tables",
            Self::Column => "SELECT name, table FROM system.columns",
            Self::Function => "SELECT name, '' FROM system.functions",
            Self::Setting => "SELECT name, '' FROM system.settings",
            Self::Format => "SELECT name, '' FROM system.formats",
            Self::Keyword => return None,
        };
        Some(format!("{query} LIMIT {NAMES_MAX}"))
    }
}

/// A name that can be completed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name {
    /// What it is.
    pub kind: Kind,
    /// The name.
    pub text: String,
    /// A table's database, a column's table.
    pub owner: String,
}

/// All names, shared by the editor's parts.
#[derive(Debug, Clone, Default)]
pub struct Names(Arc<Mutex<Loaded>>);

#[derive(Debug, Default)]
struct Loaded {
    names: Vec<Name>,
    /// Columns, tables and databases, which are no keywords even where a keyword is written so.
    identifiers: HashSet<String>,
}

impl Names {
    /// Reads the names again. A server that does not list some, or does not let this user see them, has none of them.
    pub fn load(&self, session: &mut dyn Session) {
        let mut loaded = Loaded::default();
        let kinds = [Kind::Database, Kind::Table, Kind::Column, Kind::Function, Kind::Setting, Kind::Format];
        for kind in kinds {
            let Some(query) = kind.query() else { continue };
            for row in ask(session, &query).unwrap_or_default() {
                let mut row = row.into_iter();
                let (text, owner) = (row.next().unwrap_or_default(), row.next().unwrap_or_default());
                if matches!(kind, Kind::Database | Kind::Table | Kind::Column) {
                    loaded.identifiers.insert(text.clone());
                }
                loaded.names.push(Name { kind, text, owner });
            }
        }
        let keywords = squall_sql::keywords().filter(|word| word.len() > 1);
        loaded.names.extend(keywords.map(|word| Name {
            kind: Kind::Keyword,
            text: word.to_owned(),
            owner: String::new(),
        }));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = loaded;
    }

    /// Whether a column, table or database has this name.
    pub fn is_identifier(&self, name: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).identifiers.contains(name)
    }

    /// The names that `wanted` takes.
    pub fn find(&self, wanted: impl Fn(&Name) -> bool) -> Vec<Name> {
        let loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.names.iter().filter(|name| wanted(name)).cloned().collect()
    }

    #[cfg(test)]
    pub fn of(names: &[(Kind, &str, &str)]) -> Self {
        let owned = |(kind, text, owner): &(Kind, &str, &str)| Name {
            kind: *kind,
            text: (*text).to_owned(),
            owner: (*owner).to_owned(),
        };
        let loaded = Loaded { names: names.iter().map(owned).collect(), identifiers: HashSet::new() };
        Self(Arc::new(Mutex::new(loaded)))
    }
}
