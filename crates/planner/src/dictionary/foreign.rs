//! `SOURCE(POSTGRESQL(…))` and `SOURCE(MYSQL(…))`: a table or a query of another server.

use std::sync::Arc;

use squall_sql::ast::{KeyValueFunction, KeyValueValue};
use squall_types::{Error, ErrorCode, Result};

use super::source::{check_keys, named, text};
use super::{incorrect, pair_text};
use crate::catalog::ColumnDescription;
use crate::definition::foreign_function;

/// What a source may say. The last ones are about keeping connections, of which none is kept here.
const KNOWN: &[&str] = &[
    "host",
    "port",
    "replica",
    "user",
    "password",
    "db",
    "database",
    "schema",
    "table",
    "where",
    "query",
    "invalidate_query",
    "update_field",
    "update_lag",
    "priority",
    "close_connection",
    "share_connection",
    "fail_on_connection_loss",
    "dont_check_update_time",
    "background_reconnect",
];

/// Whose servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ForeignKind {
    /// PostgreSQL's.
    PostgreSql,
    /// MySQL's and MariaDB's.
    MySql,
}

impl ForeignKind {
    /// The kind of servers that a table function asks, or a dictionary's source of that name.
    pub fn of_function(name: &str) -> Option<Self> {
        match name {
            "postgresql" => Some(Self::PostgreSql),
            "mysql" => Some(Self::MySql),
            _ => None,
        }
    }

    /// The kind of servers that have the rows of an engine's tables.
    pub fn of_engine(name: &str) -> Option<Self> {
        Self::of_function(foreign_function(name)?)
    }
}

/// A table or a query of another server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForeignPlace {
    /// Whose server it is.
    pub kind: ForeignKind,
    /// Where it listens, each with a port where the definition names one; the first that answers is asked.
    pub replicas: Vec<(String, Option<u16>)>,
    /// The user there.
    pub user: String,
    /// The user's password.
    pub password: String,
    /// The database.
    pub database: String,
    /// What is read there.
    pub selection: ForeignSelection,
    /// `INVALIDATE_QUERY`, in the server's SQL: the rows are loaded again only where its answer is another than before.
    pub invalidate_query: Option<String>,
}

/// What is read of another server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ForeignSelection {
    /// `QUERY`, in the server's SQL.
    Query(String),
    /// `TABLE`.
    Table {
        /// `SCHEMA`, of PostgreSQL.
        schema: Option<String>,
        /// Its name.
        table: String,
        /// The columns, some with an expression that computes them.
        columns: Vec<(Arc<str>, Option<String>)>,
        /// `WHERE`, in the server's SQL.
        condition: Option<String>,
    },
}

impl ForeignPlace {
    /// Reads the source; gives it, and the same in words.
    ///
    /// # Errors
    /// `UNKNOWN_ELEMENT_IN_CONFIG`, `INCORRECT_DICTIONARY_DEFINITION`, `BAD_ARGUMENTS`; `NOT_IMPLEMENTED` for `update_field`.
    pub(super) fn read(
        kind: ForeignKind,
        source: &KeyValueFunction,
        columns: &[ColumnDescription],
        expressions: &[Option<String>],
    ) -> Result<(Self, String)> {
        check_keys(source, KNOWN)?;
        let filled = |key: &str| Ok::<_, Error>(text(source, key)?.filter(|text| !text.is_empty()));
        if filled("update_field")?.is_some() {
            return Err(Error::not_implemented(format!("update_field of dictionary source {}", source.name)));
        }
        let database = filled("db")?.or(filled("database")?).unwrap_or_default();
        let words = match kind {
            ForeignKind::PostgreSql => "PostgreSQL",
            ForeignKind::MySql => "MySQL",
        };
        let (selection, words) = match (filled("query")?, filled("table")?) {
            (Some(query), _) => (ForeignSelection::Query(query.clone()), format!("{words}: {query}")),
            (None, Some(table)) => {
                let condition = filled("where")?;
                let of = condition.iter().map(|condition| format!(", where: {condition}")).collect::<String>();
                let words = format!("{words}: {database}.{table}{of}");
                let columns = columns.iter().map(|column| column.name.clone()).zip(expressions.iter().cloned());
                let (schema, columns) = (filled("schema")?, columns.collect());
                (ForeignSelection::Table { schema, table, columns, condition }, words)
            }
            (None, None) => {
                let message = format!("Dictionary source {} must contain table or query field", source.name);
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
            }
        };
        let place = Self {
            kind,
            replicas: replicas(source)?,
            user: filled("user")?.unwrap_or_default(),
            password: text(source, "password")?.unwrap_or_default(),
            database,
            selection,
            invalidate_query: filled("invalidate_query")?,
        };
        Ok((place, words))
    }
}

fn port(text: Option<String>) -> Result<Option<u16>> {
    let port = text.filter(|text| !text.is_empty() && text != "0");
    port.map(|port| port.parse().map_err(|_| incorrect(format!("{port} is not a port")))).transpose()
}

/// `HOST` and `PORT`, or a `REPLICA(HOST … PORT … PRIORITY …)` for each; those of the smallest priority are asked first.
fn replicas(source: &KeyValueFunction) -> Result<Vec<(String, Option<u16>)>> {
    let default_port = port(text(source, "port")?)?;
    let mut replicas = Vec::new();
    for pair in source.pairs.iter().filter(|pair| pair.key == "replica") {
        let KeyValueValue::Pairs(pairs) = &pair.value else {
            return Err(incorrect("The value of 'replica' must be pairs of a name and a value"));
        };
        let of = |key: &str| pairs.iter().find(|pair| pair.key == key).map(pair_text).transpose();
        let priority: u64 = of("priority")?.and_then(|priority| priority.parse().ok()).unwrap_or(0);
        replicas.push((priority, (named(pairs, "host")?, port(of("port")?)?.or(default_port))));
    }
    replicas.sort_by_key(|(priority, _)| *priority);
    let mut replicas: Vec<_> = replicas.into_iter().map(|(_, replica)| replica).collect();
    if let Some(host) = text(source, "host")?.filter(|host| !host.is_empty()) {
        replicas.push((host, default_port));
    }
    if replicas.is_empty() {
        let message = format!("Dictionary source {} needs `host`", source.name);
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    Ok(replicas)
}
