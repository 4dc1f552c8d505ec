//! Tables of servers of PostgreSQL and MySQL: the functions `postgresql` and `mysql`, and the engines PostgreSQL and MySQL.

use std::sync::Arc;
use std::time::Duration;

use squall_foreign::{Columns, Conflict, Engine, ForeignServer, ForeignTable, MySql, PostgreSql, Source};
use squall_planner::{ColumnDescription, ForeignKind, TableDefinition, TableMetadata, parse_table_function};
use squall_remote::Address;
use squall_storage::{Table, TableHandle};
use squall_types::{Error, ErrorCode, Result, Settings, Value};

use super::arguments::{Arguments, bad_value, flag, number};
use super::data_function::literals;
use crate::session::Session;

/// The port of a server whose address names none.
fn port(kind: ForeignKind) -> u16 {
    match kind {
        ForeignKind::PostgreSql => PostgreSql::PORT,
        ForeignKind::MySql => MySql::PORT,
    }
}

/// How long each address is tried.
fn connect_max(kind: ForeignKind, settings: &Settings) -> Duration {
    match kind {
        ForeignKind::PostgreSql => PostgreSql::connect_max(settings),
        ForeignKind::MySql => MySql::connect_max(settings),
    }
}

/// What is asked for.
#[derive(Default)]
struct Call {
    addresses: String,
    host: Option<String>,
    port: Option<u64>,
    database: String,
    table: String,
    query: Option<String>,
    user: String,
    password: String,
    schema: String,
    on_conflict: String,
    replaces: bool,
    on_duplicate: String,
}

impl Call {
    fn of(session: &Session, kind: ForeignKind, arguments: &[Value]) -> Result<Self> {
        let given = Arguments::of(session, arguments)?;
        let mut call = Self::default();
        if !given.is_collection {
            let has_query = given.named.iter().any(|(name, _)| name == "query");
            call.take_plain(kind, &given.plain, has_query)?;
        }
        for (name, value) in &given.named {
            call.take(kind, name, value)?;
        }
        if let Some(host) = call.host.take() {
            call.addresses = match call.port {
                Some(port) if host.contains(':') => format!("[{}]:{port}", host.trim_matches(['[', ']'])),
                Some(port) => format!("{host}:{port}"),
                None => host,
            };
        }
        let (name, is_missing) = match () {
            () if call.addresses.is_empty() => ("host", true),
            () if call.database.is_empty() => ("database", true),
            () => ("table", call.table.is_empty() && call.query.is_none()),
        };
        if is_missing {
            let message = format!("Required key `{name}` is not in the named collection or the arguments");
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        if call.replaces && !call.on_duplicate.is_empty() {
            let message = "Only one of 'replace_query' and 'on_duplicate_clause' can be specified, or none of them";
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        Ok(call)
    }

    /// Takes the arguments without names, among which a query has its place in that of the table.
    fn take_plain(&mut self, kind: ForeignKind, given: &[Value], has_query: bool) -> Result<()> {
        let count = given.len() + usize::from(has_query);
        if !matches!(count, 5..=7) {
            let (name, rest) = match kind {
                ForeignKind::PostgreSql => ("PostgreSQL", "schema, on_conflict"),
                ForeignKind::MySql => ("MySQL", "replace_query, on_duplicate_clause"),
            };
            let message = format!(
                "Storage {name} requires from 5 to 7 parameters: host:port, database, table, user, password[, {rest}]. Got: {count}"
            );
            return Err(Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
        }
        let rest = match kind {
            ForeignKind::PostgreSql => ["schema", "on_conflict"],
            ForeignKind::MySql => ["replace_query", "on_duplicate_clause"],
        };
        let names = ["addresses_expr", "database", "table", "user", "password"].into_iter().chain(rest);
        let names = names.filter(|name| !has_query || *name != "table");
        names.zip(given).try_for_each(|(name, value)| self.take(kind, name, value))
    }

    /// Takes an argument with a name.
    fn take(&mut self, kind: ForeignKind, name: &str, value: &Value) -> Result<()> {
        let text = || match value {
            Value::String(bytes) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            _ => Err(bad_value(name)),
        };
        match (name, kind) {
            ("addresses_expr", _) => self.addresses = text()?,
            ("host" | "hostname", _) => self.host = Some(text()?),
            ("port", _) => self.port = Some(number(name, value)?),
            ("database" | "db", _) => self.database = text()?,
            ("table", _) => self.table = text()?,
            ("query", _) => self.query = Some(text()?),
            ("user" | "username", _) => self.user = text()?,
            ("password", _) => self.password = text()?,
            ("schema", ForeignKind::PostgreSql) => self.schema = text()?,
            ("on_conflict", ForeignKind::PostgreSql) => self.on_conflict = text()?,
            ("replace_query", ForeignKind::MySql) => self.replaces = flag(name, value)?,
            ("on_duplicate_clause", ForeignKind::MySql) => self.on_duplicate = text()?,
            _ => {
                let message = format!(
                    "Unexpected key `{name}` in named collection. Keys: host, port or addresses_expr, database, table or query, user, \
                     password, and schema and on_conflict of PostgreSQL, replace_query and on_duplicate_clause of MySQL"
                );
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
            }
        }
        Ok(())
    }

    /// The server, whose addresses the session may ask.
    fn server(&self, session: &Session, kind: ForeignKind) -> Result<ForeignServer> {
        let hosts = &session.server.config.load().remote_hosts;
        let addresses = squall_remote::shards(&self.addresses, port(kind))?.into_iter().flatten();
        let replica = |address: Address| Ok((address.clone(), hosts.reach_of(&address)?));
        Ok(ForeignServer {
            replicas: addresses.map(replica).collect::<Result<_>>()?,
            user: self.user.clone(),
            password: self.password.clone(),
            database: self.database.clone(),
            connect_max: connect_max(kind, &session.settings),
            zone: session.server.zone.clone(),
        })
    }

    fn source(&self, kind: ForeignKind) -> Source {
        if let Some(query) = &self.query {
            return Source::Query(query.clone());
        }
        let usual = match kind {
            ForeignKind::PostgreSql => PostgreSql::SCHEMA,
            ForeignKind::MySql => MySql::SCHEMA,
        };
        let schema = match usual {
            Some(usual) if self.schema.is_empty() => usual,
            Some(_) => &self.schema,
            None => &self.database,
        };
        Source::Table { schema: schema.to_owned(), table: self.table.clone() }
    }

    fn conflict(&self, settings: &Settings) -> Conflict {
        Conflict {
            replaces: self.replaces,
            on_duplicate: self.on_duplicate.clone(),
            rows_max: usize::try_from(settings.mysql_max_rows_to_insert).unwrap_or(usize::MAX),
        }
    }
}

fn columns_of(settings: &Settings) -> Columns {
    Columns::of(settings.external_table_functions_use_nulls, &settings.mysql_datatypes_support_level)
}

/// The table of a call. Waits for the network.
///
/// # Errors
/// What is wrong with the arguments; `UNACCEPTABLE_URL` for a host that the configuration does not allow; those of
/// [`ForeignTable::open`].
pub(in crate::query) fn table(
    session: &Session,
    kind: ForeignKind,
    arguments: &[Value],
) -> Result<Arc<dyn TableMetadata>> {
    Ok(Arc::new(TableHandle(target(session, kind, arguments)?)))
}

/// The same for an INSERT. Waits for the network.
///
/// # Errors
/// As [`table`].
pub(super) fn target(session: &Session, kind: ForeignKind, arguments: &[Value]) -> Result<Arc<dyn Table>> {
    let call = Call::of(session, kind, arguments)?;
    let (server, source, wanted) = (call.server(session, kind)?, call.source(kind), columns_of(&session.settings));
    Ok(match kind {
        ForeignKind::PostgreSql => {
            Arc::new(ForeignTable::<PostgreSql>::open(server, source, call.on_conflict.clone(), wanted)?)
        }
        ForeignKind::MySql => {
            Arc::new(ForeignTable::<MySql>::open(server, source, call.conflict(&session.settings), wanted)?)
        }
    })
}

/// What takes the rows of an INSERT into a table of an engine, which has these columns. Asks nobody.
///
/// # Errors
/// What is wrong with the arguments; `UNACCEPTABLE_URL`.
pub(super) fn shown_target(
    session: &Session,
    kind: ForeignKind,
    arguments: &[Value],
    columns: &[ColumnDescription],
) -> Result<Arc<dyn Table>> {
    let call = Call::of(session, kind, arguments)?;
    let (server, source, columns) = (call.server(session, kind)?, call.source(kind), columns.to_vec());
    Ok(match kind {
        ForeignKind::PostgreSql => {
            let conflict = call.on_conflict.clone();
            Arc::new(ForeignTable::<PostgreSql>::with_columns(server, source, conflict, columns))
        }
        ForeignKind::MySql => {
            let conflict = call.conflict(&session.settings);
            Arc::new(ForeignTable::<MySql>::with_columns(server, source, conflict, columns))
        }
    })
}

/// Checks the arguments of an engine. Asks nobody.
///
/// # Errors
/// As [`shown_target`].
pub(in crate::query) fn check(session: &Session, kind: ForeignKind, definition: &TableDefinition) -> Result<()> {
    let function = parse_table_function(&definition.function_of_engine().unwrap_or_default())?;
    Call::of(session, kind, &literals(&function)?)?.server(session, kind).map(drop)
}
