//! `SOURCE` of a dictionary: where its rows are, as the definition says it. Reading them is somebody else's.

use std::sync::Arc;

use squall_sql::ast::{self, KeyValue, KeyValueFunction, KeyValueValue, Statement};
use squall_sql::{ParserLimits, parse};
use squall_types::{Error, ErrorCode, Result};

use super::foreign::{ForeignKind, ForeignPlace};
use super::{incorrect, pair_text};
use crate::catalog::ColumnDescription;

/// Where the rows of a dictionary are.
#[derive(Clone, Debug)]
pub enum DictionarySource {
    /// `CLICKHOUSE`: a query of this server, or of another one.
    Query(QuerySource),
    /// `FILE`, `HTTP`, `EXECUTABLE`, `POSTGRESQL`, `MYSQL`.
    Outside(OutsideSource),
    /// `NULL`: there are none.
    Null,
}

/// A query whose rows have the columns as declared.
#[derive(Clone, Debug)]
pub struct QuerySource {
    /// The query.
    pub query: Arc<ast::Query>,
    /// The server that the definition names; without it, this one.
    pub server: Option<SourceServer>,
    /// `INVALIDATE_QUERY`: the rows are loaded again only where its answer is another than before.
    pub invalidate_query: Option<Arc<ast::Query>>,
    /// `UPDATE_FIELD`: only rows whose column of this name is not older than the last load are loaded again.
    pub update: Option<UpdateField>,
}

/// The server that a query is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceServer {
    /// Its name, or its address.
    pub host: String,
    /// Its port of the native protocol, where the definition names one.
    pub port: Option<u16>,
    /// Whether to speak under TLS.
    pub is_secure: bool,
    /// The user there.
    pub user: String,
    /// The user's password.
    pub password: String,
    /// The database of tables without one.
    pub database: String,
    /// Whether the dictionary was made by a statement, whose author must not reach every server.
    pub is_of_statement: bool,
}

/// A column that says when a row was changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UpdateField {
    /// The query of changed rows, up to the time that they are to be compared with.
    sql: String,
    /// `UPDATE_LAG`: so many seconds before the last load count as after it.
    lag_s: u64,
}

impl UpdateField {
    /// The query of the rows that were changed since a load, in seconds since the epoch.
    ///
    /// # Errors
    /// `SYNTAX_ERROR`.
    pub fn query_since(&self, loaded_s: u64) -> Result<Arc<ast::Query>> {
        select(&format!("{}toDateTime({})", self.sql, loaded_s.saturating_sub(self.lag_s)))
    }
}

/// Rows outside of this server's tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutsideSource {
    /// Where.
    pub place: OutsidePlace,
    /// The format's name; of a place whose rows come in one.
    pub format: String,
    /// Whether the dictionary was made by a statement, whose author must not read every file.
    pub is_of_statement: bool,
}

/// Where rows outside of this server are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OutsidePlace {
    /// A file by its path.
    File(String),
    /// An answer to a request.
    Http {
        /// Where to.
        url: String,
        /// Basic authentication.
        credentials: Option<(String, String)>,
        /// Further headers.
        headers: Vec<(String, String)>,
    },
    /// What a command prints.
    Command {
        /// For the shell.
        command: String,
        /// Whether what it prints has no key: rows come in the order of the keys that it was given.
        has_implicit_key: bool,
    },
    /// A table or a query of a server of PostgreSQL or MySQL, whose rows come in no format.
    Foreign(ForeignPlace),
}

impl DictionarySource {
    /// Reads `SOURCE(…)`; gives the source, and the same in words.
    ///
    /// # Errors
    /// `UNKNOWN_ELEMENT_IN_CONFIG`, `INCORRECT_DICTIONARY_DEFINITION`, `BAD_ARGUMENTS`, `SYNTAX_ERROR`; `DICTIONARY_ACCESS_DENIED` for commands
    /// in a statement; `NOT_IMPLEMENTED` for other servers and databases.
    pub(super) fn read(
        source: &KeyValueFunction,
        columns: &[ColumnDescription],
        expressions: &[Option<String>],
        database: &str,
        is_of_statement: bool,
    ) -> Result<(Self, String)> {
        let outside = |place: OutsidePlace, words: String| {
            let format = text(source, "format")?.ok_or_else(|| missing(source, "format"))?;
            Ok((Self::Outside(OutsideSource { place, format, is_of_statement }), words))
        };
        match source.name.as_str() {
            "clickhouse" => query_source(source, columns, expressions, database, is_of_statement),
            "null" => Ok((Self::Null, "Null".to_owned())),
            "file" => {
                check_keys(source, &["path", "format", "filename"])?;
                let path = match text(source, "path")? {
                    Some(path) => path,
                    None => text(source, "filename")?.ok_or_else(|| missing(source, "path"))?,
                };
                let words = format!("File: {path} {}", text(source, "format")?.unwrap_or_default());
                outside(OutsidePlace::File(path), words)
            }
            "http" => {
                check_keys(source, &["url", "format", "credentials", "headers"])?;
                let url = text(source, "url")?.ok_or_else(|| missing(source, "url"))?;
                let words = url.clone();
                outside(OutsidePlace::Http { url, credentials: credentials(source)?, headers: headers(source)? }, words)
            }
            "executable" => {
                let known = [
                    "command",
                    "format",
                    "implicit_key",
                    "execute_direct",
                    "send_chunk_header",
                    "command_termination_timeout",
                    "command_read_timeout",
                    "command_write_timeout",
                ];
                check_keys(source, &known)?;
                if is_of_statement {
                    return Err(Error::new(
                        ErrorCode::DICTIONARY_ACCESS_DENIED,
                        "Dictionaries with executable dictionary source are not allowed to be created from DDL query",
                    ));
                }
                let command = text(source, "command")?.ok_or_else(|| missing(source, "command"))?;
                let is_on = |key: &str| Ok::<_, Error>(matches!(text(source, key)?.as_deref(), Some("1" | "true")));
                if is_on("execute_direct")? || is_on("send_chunk_header")? {
                    return Err(Error::not_implemented(
                        "execute_direct and send_chunk_header of a dictionary's source",
                    ));
                }
                let words = format!("Executable: {command}");
                outside(OutsidePlace::Command { command, has_implicit_key: is_on("implicit_key")? }, words)
            }
            name if let Some(kind) = ForeignKind::of_function(name) => {
                let (place, words) = ForeignPlace::read(kind, source, columns, expressions)?;
                let place = OutsidePlace::Foreign(place);
                Ok((Self::Outside(OutsideSource { place, format: String::new(), is_of_statement }), words))
            }
            "executable_pool" | "odbc" | "jdbc" | "mongodb" | "redis" | "cassandra" | "library" | "yamlregexptree"
            | "ytsaurus" => Err(Error::not_implemented(format!("Dictionary source {}", source.name))),
            other => Err(Error::new(
                ErrorCode::UNKNOWN_ELEMENT_IN_CONFIG,
                format!("Unknown dictionary source type: {other}"),
            )),
        }
    }
}

fn missing(source: &KeyValueFunction, key: &str) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, format!("Dictionary source {} needs `{key}`", source.name))
}

fn pair<'a>(source: &'a KeyValueFunction, key: &str) -> Option<&'a KeyValue> {
    source.pairs.iter().find(|pair| pair.key == key)
}

pub(super) fn text(source: &KeyValueFunction, key: &str) -> Result<Option<String>> {
    pair(source, key).map(pair_text).transpose()
}

pub(super) fn check_keys(source: &KeyValueFunction, known: &[&str]) -> Result<()> {
    match source.pairs.iter().find(|pair| !known.contains(&pair.key.as_str())) {
        Some(pair) => Err(Error::new(
            ErrorCode::UNKNOWN_ELEMENT_IN_CONFIG,
            format!("Unexpected key `{}` in dictionary source configuration", pair.key),
        )),
        None => Ok(()),
    }
}

/// Pairs in parentheses, where there are some.
fn pairs(pair: Option<&KeyValue>) -> Result<&[KeyValue]> {
    match pair.map(|pair| (&pair.value, &pair.key)) {
        None => Ok(&[]),
        Some((KeyValueValue::Pairs(pairs), _)) => Ok(pairs),
        Some((_, key)) => Err(incorrect(format!("The value of '{key}' must be pairs of a name and a value"))),
    }
}

pub(super) fn named(pairs: &[KeyValue], key: &str) -> Result<String> {
    Ok(pairs.iter().find(|pair| pair.key == key).map(pair_text).transpose()?.unwrap_or_default())
}

fn credentials(source: &KeyValueFunction) -> Result<Option<(String, String)>> {
    let pairs = pairs(pair(source, "credentials"))?;
    if pairs.is_empty() {
        return Ok(None);
    }
    Ok(Some((named(pairs, "user")?, named(pairs, "password")?)))
}

fn headers(source: &KeyValueFunction) -> Result<Vec<(String, String)>> {
    let header = |header: &KeyValue| {
        let parts = pairs(Some(header))?;
        Ok((named(parts, "name")?, named(parts, "value")?))
    };
    pairs(pair(source, "headers"))?.iter().map(header).collect()
}

/// The query of `SOURCE(CLICKHOUSE(…))`, and the source in words.
fn query_source(
    source: &KeyValueFunction,
    columns: &[ColumnDescription],
    expressions: &[Option<String>],
    database: &str,
    is_of_statement: bool,
) -> Result<(DictionarySource, String)> {
    let known = [
        "host",
        "port",
        "user",
        "password",
        "db",
        "table",
        "query",
        "where",
        "secure",
        "name",
        "invalidate_query",
        "update_field",
        "update_lag",
    ];
    check_keys(source, &known)?;
    let server = source_server(source, is_of_statement)?;
    let own = || server.as_ref().map_or_else(|| database.to_owned(), |server| server.database.clone());
    let mut has_condition = false;
    let (sql, words) = match (text(source, "query")?, text(source, "table")?) {
        (Some(query), _) if !query.is_empty() => (query.clone(), format!("ClickHouse: {query}")),
        (_, Some(table)) => {
            let database = filled(source, "db")?.unwrap_or_else(own);
            let condition = filled(source, "where")?;
            has_condition = condition.is_some();
            table_query(&database, &table, columns, expressions, condition.as_deref())
        }
        _ => {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                "ClickHouse dictionary source configuration must contain table or query field",
            ));
        }
    };
    let update = update_field(source, &sql, has_condition)?;
    let invalidate_query = filled(source, "invalidate_query")?;
    let source = QuerySource {
        query: select(&sql)?,
        server,
        invalidate_query: invalidate_query.map(|query| select(&query)).transpose()?,
        update,
    };
    Ok((DictionarySource::Query(source), words))
}

/// The text of a key that is there and not empty.
fn filled(source: &KeyValueFunction, key: &str) -> Result<Option<String>> {
    Ok(text(source, key)?.filter(|text| !text.is_empty()))
}

/// A name as SQL writes it.
fn quoted(name: &str) -> String {
    squall_sql::format_expression(&ast::Expression::identifier(name))
}

/// The server that is asked; none where it is this one.
fn source_server(source: &KeyValueFunction, is_of_statement: bool) -> Result<Option<SourceServer>> {
    let Some(host) = filled(source, "host")? else { return Ok(None) };
    let port = filled(source, "port")?.map(|port| port.parse().map_err(|_| incorrect(format!("{port} is not a port"))));
    let server = SourceServer {
        host,
        port: port.transpose()?,
        is_secure: matches!(text(source, "secure")?.as_deref(), Some("1" | "true")),
        user: filled(source, "user")?.unwrap_or_else(|| "default".to_owned()),
        password: text(source, "password")?.unwrap_or_default(),
        database: filled(source, "db")?.unwrap_or_else(|| "default".to_owned()),
        is_of_statement,
    };
    // Without a port, these names are this server's.
    let is_local = server.port.is_none() && matches!(server.host.as_str(), "localhost" | "127.0.0.1" | "::1");
    Ok(Some(server).filter(|_| !is_local))
}

/// The query of a table's rows for which a condition holds, and the table in words.
fn table_query(
    database: &str,
    table: &str,
    columns: &[ColumnDescription],
    expressions: &[Option<String>],
    condition: Option<&str>,
) -> (String, String) {
    let selected = columns.iter().zip(expressions).map(|(column, expression)| match expression {
        Some(expression) => format!("{expression} AS {}", quoted(&column.name)),
        None => quoted(&column.name),
    });
    let selected = selected.collect::<Vec<_>>().join(", ");
    let mut sql = format!("SELECT {selected} FROM {}.{}", quoted(database), quoted(table));
    let mut words = format!("ClickHouse: {database}.{table}");
    if let Some(condition) = condition {
        sql += &format!(" WHERE ({condition})");
        words += &format!(", where: {condition}");
    }
    (sql, words)
}

/// How rows are read that have changed since the last time, where the source names a column that tells.
fn update_field(source: &KeyValueFunction, sql: &str, has_condition: bool) -> Result<Option<UpdateField>> {
    let Some(column) = filled(source, "update_field")? else { return Ok(None) };
    if filled(source, "query")?.is_some() {
        return Err(Error::not_implemented("update_field of a dictionary's source that is a query"));
    }
    let lag = text(source, "update_lag")?.unwrap_or_else(|| "1".to_owned());
    let lag_s = lag.parse().map_err(|_| incorrect(format!("update_lag must be a number, not {lag}")))?;
    let and = if has_condition { "AND" } else { "WHERE" };
    Ok(Some(UpdateField { sql: format!("{sql} {and} {} >= ", quoted(&column)), lag_s }))
}

fn select(sql: &str) -> Result<Arc<ast::Query>> {
    match parse(sql, &ParserLimits::default()) {
        Ok(Statement::Query(query)) => Ok(Arc::new(*query)),
        Ok(_) => Err(incorrect("The source of a dictionary must be a SELECT")),
        Err(error) => Err(Error::new(ErrorCode::SYNTAX_ERROR, error.to_string())),
    }
}
