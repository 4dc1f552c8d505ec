//! Dictionaries whose rows are those of servers of PostgreSQL and MySQL.

use std::hash::{DefaultHasher, Hash, Hasher};

use squall_foreign::{Columns, Engine, ForeignQuery, ForeignServer, MySql, PostgreSql, keys_sql};
use squall_planner::{ForeignKind, ForeignPlace, ForeignSelection};
use squall_remote::{Address, Reach};
use squall_types::calendar::TimeZone;
use squall_types::{Block, Result, Settings};

use crate::access::RemoteHosts;

/// How a source's server is asked.
pub(crate) struct Asking<'a> {
    /// The server, and what is read of it.
    pub place: &'a ForeignPlace,
    /// Whether a statement made the dictionary, whose author must not reach every server.
    pub is_of_statement: bool,
    /// Whom statements may have asked.
    pub remote_hosts: &'a RemoteHosts,
    /// The settings.
    pub settings: &'a Settings,
    /// The server's time zone.
    pub zone: &'a TimeZone,
}

impl Asking<'_> {
    /// The rows, of these keys alone where they are given. Waits for the network.
    ///
    /// # Errors
    /// Those of the connection and of the query; `UNACCEPTABLE_URL`.
    pub fn rows(&self, keys: Option<&Block>) -> Result<Vec<Block>> {
        match self.place.kind {
            ForeignKind::PostgreSql => self.rows_of::<PostgreSql>(&sql::<PostgreSql>(self.place), keys),
            ForeignKind::MySql => self.rows_of::<MySql>(&sql::<MySql>(self.place), keys),
        }
    }

    /// A number that changes with the answer of `INVALIDATE_QUERY`; `None` where there is none, or nobody answers.
    pub fn version(&self) -> Option<u64> {
        let query = self.place.invalidate_query.as_deref()?;
        let rows = match self.place.kind {
            ForeignKind::PostgreSql => self.rows_of::<PostgreSql>(query, None),
            ForeignKind::MySql => self.rows_of::<MySql>(query, None),
        };
        let mut hasher = DefaultHasher::new();
        for block in rows.ok()? {
            for column in block.columns() {
                (0..block.rows()).for_each(|row| column.value(row).to_string().hash(&mut hasher));
            }
        }
        Some(hasher.finish())
    }

    /// Checks that the server may be asked, as far as its name tells.
    ///
    /// # Errors
    /// `UNACCEPTABLE_URL`.
    pub fn check(&self) -> Result<()> {
        match self.place.kind {
            ForeignKind::PostgreSql => self.server::<PostgreSql>().map(drop),
            ForeignKind::MySql => self.server::<MySql>().map(drop),
        }
    }

    fn rows_of<E: Engine>(&self, sql: &str, keys: Option<&Block>) -> Result<Vec<Block>> {
        let condition = keys.map(keys_sql::<E>);
        let wanted = Columns::of(true, &self.settings.mysql_datatypes_support_level);
        ForeignQuery::<E>::new(self.server::<E>()?, sql.to_owned()).rows(condition.as_deref(), wanted)
    }

    /// The server, which a configuration file may name anywhere.
    fn server<E: Engine>(&self) -> Result<ForeignServer> {
        let replica = |(host, port): &(String, Option<u16>)| {
            let address = Address { host: host.clone(), port: port.unwrap_or(E::PORT) };
            let reach = match self.is_of_statement {
                true => self.remote_hosts.reach_of(&address)?,
                false => Reach::Anywhere,
            };
            Ok((address, reach))
        };
        Ok(ForeignServer {
            replicas: self.place.replicas.iter().map(replica).collect::<Result<_>>()?,
            user: self.place.user.clone(),
            password: self.place.password.clone(),
            database: self.place.database.clone(),
            connect_max: E::connect_max(self.settings),
            zone: self.zone.clone(),
        })
    }
}

/// What the server is asked for, in its SQL.
fn sql<E: Engine>(place: &ForeignPlace) -> String {
    let (schema, table, columns, condition) = match &place.selection {
        ForeignSelection::Query(query) => return query.clone(),
        ForeignSelection::Table { schema, table, columns, condition } => (schema, table, columns, condition),
    };
    let schema = match E::SCHEMA {
        Some(usual) => schema.as_deref().unwrap_or(usual),
        None => &place.database,
    };
    let columns = columns.iter().map(|(name, expression)| match expression {
        Some(expression) => format!("{expression} AS {}", E::name_sql(name)),
        None => E::name_sql(name),
    });
    let columns = columns.collect::<Vec<_>>().join(", ");
    let mut sql = format!("SELECT {columns} FROM {}.{}", E::name_sql(schema), E::name_sql(table));
    if let Some(condition) = condition {
        sql += &format!(" WHERE ({condition})");
    }
    sql
}
