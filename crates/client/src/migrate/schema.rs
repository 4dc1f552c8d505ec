//! The functions and tables of the source, and how they are made at the target: by the source's own CREATE statements, with the few words
//! changed that tie a table to its server.

use std::fmt;

use squall_types::{Error, ErrorCode, Result};

use super::Missing;
use crate::external::split;
use crate::run::quoted;
use crate::sentence;
use crate::session::{Session, ask};

/// Databases that every server has of its own.
const OWN: &str = "'system', 'information_schema', 'INFORMATION_SCHEMA', '_temporary_and_external_tables'";

/// A table of the source.
#[derive(Debug, Clone)]
pub struct Table {
    /// Its database.
    pub database: String,
    /// Its name.
    pub name: String,
    engine: String,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.database, self.name)
    }
}

impl Table {
    /// The name as a statement has it.
    pub fn quoted(&self) -> String {
        format!("{}.{}", identifier(&self.database), identifier(&self.name))
    }

    /// Whether it holds rows of its own, and not those of other tables or none.
    fn has_rows(&self) -> bool {
        let of_others = ["View", "Distributed", "Merge", "Buffer", "Null", "Dictionary"];
        !of_others.iter().any(|end| self.engine == *end || (*end == "View" && self.engine.ends_with(end)))
    }
}

/// How a table was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// Its rows are to come.
    WithRows,
    /// It has no rows of its own.
    WithoutRows,
}

fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

/// The source's tables of these databases, or of all; views after the tables that they read.
///
/// # Errors
/// Where the source does not list them, or has no such database.
pub fn tables(source: &mut dyn Session, databases: &[String]) -> Result<Vec<Table>> {
    let of_databases = match databases {
        [] => format!("database NOT IN ({OWN})"),
        databases => {
            let names: Vec<String> = databases.iter().map(|name| quoted(name)).collect();
            format!("database IN ({})", names.join(", "))
        }
    };
    let query = format!(
        "SELECT database, name, engine FROM system.tables WHERE {of_databases} AND name NOT LIKE '.inner%' \
         ORDER BY engine LIKE '%View' OR engine IN ('Distributed', 'Merge', 'Buffer'), database, name"
    );
    let rows = ask(source, &query)?;
    let tables: Vec<Table> = rows
        .into_iter()
        .filter_map(|row| {
            let [database, name, engine] = row.try_into().ok()?;
            Some(Table { database, name, engine })
        })
        .collect();
    match databases.iter().find(|name| !tables.iter().any(|table| table.database == **name)) {
        Some(name) => Err(Error::new(ErrorCode::UNKNOWN_DATABASE, format!("The source has no tables in {name}"))),
        None => Ok(tables),
    }
}

/// Makes the source's SQL functions at the target, for the tables whose columns and views use them. Returns those that the target does not
/// take.
///
/// # Errors
/// Where the source does not list them.
pub fn make_functions(source: &mut dyn Session, target: &mut dyn Session) -> Result<Vec<Missing>> {
    let query = "SELECT name, create_query FROM system.functions WHERE origin = 'SQLUserDefined' ORDER BY name";
    let rows = match ask(source, query) {
        // Servers that know no such column have no such functions.
        Err(error) if error.code == ErrorCode::UNKNOWN_IDENTIFIER => return Ok(Vec::new()),
        rows => rows?,
    };
    let mut missing = Vec::new();
    for row in rows {
        let [name, statement] = row.try_into().unwrap_or_default();
        let made =
            portable(&statement).ok_or_else(|| Error::new(ErrorCode::NOT_IMPLEMENTED, "The source shows no CREATE"));
        if let Err(error) = made.and_then(|statement| ask(target, &statement)) {
            missing.push(Missing { name: format!("function {name}"), reason: sentence(&error) });
        }
    }
    Ok(missing)
}

/// Makes a table at the target, where it is not there yet.
///
/// # Errors
/// Why the target does not take it.
pub fn make(source: &mut dyn Session, target: &mut dyn Session, table: &Table) -> Result<Made> {
    let created = ask(source, &format!("SHOW CREATE TABLE {}", table.quoted()))?;
    let statement = created.into_iter().next().and_then(|row| row.into_iter().next()).unwrap_or_default();
    ask(target, &format!("CREATE DATABASE IF NOT EXISTS {}", identifier(&table.database)))?;
    let statement = portable(&statement).ok_or_else(|| {
        Error::new(
            ErrorCode::NOT_IMPLEMENTED,
            format!("The source shows no CREATE statement of engine {}", table.engine),
        )
    })?;
    ask(target, &statement)?;
    Ok(if table.has_rows() { Made::WithRows } else { Made::WithoutRows })
}

/// A CREATE statement that another server takes, and that does nothing where the table is there.
fn portable(statement: &str) -> Option<String> {
    let kinds =
        ["CREATE TABLE ", "CREATE MATERIALIZED VIEW ", "CREATE VIEW ", "CREATE DICTIONARY ", "CREATE FUNCTION "];
    let (kind, rest) = kinds.iter().find_map(|kind| Some((*kind, statement.strip_prefix(kind)?)))?;
    Some(format!("{kind}IF NOT EXISTS {}", with_clauses(rest).unwrap_or_else(|| rest.to_owned())))
}

/// The statement of a table of the MergeTree family with clauses in place of the parameters that came before there were any:
/// `MergeTree(date, [sampling,] key, granularity)`.
fn with_clauses(statement: &str) -> Option<String> {
    const ENGINE: &str = "MergeTree(";
    let engine = statement.find(" ENGINE = ")?;
    let start = engine + statement.get(engine..)?.find(ENGINE)? + ENGINE.len();
    let parameters = statement.get(start..)?.trim_end().strip_suffix(')')?;
    let (date, sampling, key, granularity) = match split(parameters)[..] {
        [date, key, granularity] => (date, None, key, granularity),
        [date, sampling, key, granularity] => (date, Some(sampling), key, granularity),
        _ => return None,
    };
    granularity.parse::<u32>().ok()?;
    let head = statement.get(..start - 1)?;
    let sampling = sampling.map(|sampling| format!(" SAMPLE BY {sampling}")).unwrap_or_default();
    Some(format!(
        "{head} PARTITION BY toYYYYMM({date}) ORDER BY {key}{sampling} SETTINGS index_granularity = {granularity}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_do_nothing_twice() {
        assert_eq!(portable("CREATE TABLE a.b (x UInt8)").unwrap(), "CREATE TABLE IF NOT EXISTS a.b (x UInt8)");
        assert_eq!(
            portable("CREATE TABLE a.b ( d Date,  x UInt8) ENGINE = MergeTree(d, (x, d), 8192)").unwrap(),
            "CREATE TABLE IF NOT EXISTS a.b ( d Date,  x UInt8) ENGINE = MergeTree PARTITION BY toYYYYMM(d) \
             ORDER BY (x, d) SETTINGS index_granularity = 8192"
        );
        let new = "CREATE TABLE a.b (x UInt8) ENGINE = MergeTree() ORDER BY x";
        assert_eq!(portable(new).unwrap(), new.replace("TABLE", "TABLE IF NOT EXISTS"));
        assert_eq!(portable("ATTACH TABLE a"), None);
        let table = Table { database: "d`e".into(), name: "t".into(), engine: "MaterializedView".into() };
        assert_eq!(table.quoted(), "`d\\`e`.`t`");
        assert!(!table.has_rows());
    }
}
