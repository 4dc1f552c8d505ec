//! What depends on a table: views that read it, materialized views that write to it, and dictionaries that are loaded from it.

use squall_planner::{DictionarySource, QuerySource};
use squall_sql::ast::{self, TableName};
use squall_storage::{Dictionary, TableDescription};
use squall_types::{Error, ErrorCode, Result};

use crate::session::Session;

/// Refuses to take away the name of a table that others depend on: dictionaries where `check_table_dependencies` is set, and views where
/// `check_referential_table_dependencies` is.
///
/// # Errors
/// `HAVE_DEPENDENT_OBJECTS`.
pub(super) fn check_dependents(session: &Session, database: &str, table: &str) -> Result<()> {
    let settings = &session.settings;
    if !settings.check_table_dependencies && !settings.check_referential_table_dependencies {
        return Ok(());
    }
    let databases = &session.server.databases;
    let is_wanted = |(of, name): &(String, String)| of == database && name == table;
    let mut dependents = Vec::new();
    if settings.check_table_dependencies {
        let loaded = databases.dictionaries().into_iter().map(|dictionary| (dictionary.shown_name(), dictionary));
        let loaded = loaded.filter(|(name, dictionary)| read_by(name, dictionary).iter().any(is_wanted));
        dependents.extend(loaded.map(|(name, _)| name));
    }
    if settings.check_referential_table_dependencies {
        for known in databases.databases() {
            let rows = databases.tables(&known.name).unwrap_or_default().into_iter();
            let rows = rows.filter(|row| needed_by(row).iter().any(is_wanted));
            dependents.extend(rows.map(|row| format!("{}.{}", row.table.database(), row.table.name())));
        }
    }
    dependents.sort_unstable();
    if dependents.is_empty() {
        return Ok(());
    }
    let message = format!(
        "Cannot drop or rename {database}.{table}, because some tables depend on it: {}",
        dependents.join(", ")
    );
    Err(Error::new(ErrorCode::HAVE_DEPENDENT_OBJECTS, message))
}

/// The tables that a view reads and writes, each with its database.
fn needed_by(row: &TableDescription) -> Vec<(String, String)> {
    let own = row.table.database();
    let view = row.table.materialized_view();
    let mut needed = Needed { own, tables: Vec::new() };
    if let Some(query) = row.table.view_query().or_else(|| view.map(|view| &view.query)) {
        ast::Query::clone(query).walk(&mut needed);
    }
    if let Some(view) = view.filter(|view| !view.has_inner_table()) {
        let (database, table) = view.target(own);
        needed.tables.push((database.to_owned(), table.to_owned()));
    }
    needed.tables
}

/// The tables of this server that a dictionary is loaded from.
fn read_by(name: &str, dictionary: &Dictionary) -> Vec<(String, String)> {
    // Another server's tables are not this one's.
    let DictionarySource::Query(QuerySource { query, server: None, .. }) = &dictionary.definition().source else {
        return Vec::new();
    };
    let mut needed = Needed { own: name.split_once('.').map_or("", |(database, _)| database), tables: Vec::new() };
    ast::Query::clone(query).walk(&mut needed);
    needed.tables
}

struct Needed<'a> {
    own: &'a str,
    tables: Vec<(String, String)>,
}

impl ast::Visitor for Needed<'_> {
    fn table(&mut self, name: &mut TableName) {
        let database = name.database.as_ref().map_or(self.own, |database| &database.value);
        self.tables.push((database.to_owned(), name.table.value.clone()));
    }
}
