//! A table of other servers: its columns, which the first server describes, and what reading and inserting say to them.

use std::any::Any;
use std::sync::Arc;

use squall_native::Query;
use squall_planner::{ColumnDefault, ColumnDescription, DefaultKind, TableMetadata};
use squall_storage::{Insertion, ScanRequest, Table, TableScan};
use squall_types::text::append_quoted;
use squall_types::{Block, DataType, Error, ErrorCode, Result, Value};

use crate::condition;
use crate::link::{Peers, in_time, wait_for};
use crate::read::RemoteScan;
use crate::write::insertion;

/// What is read there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// A table of a database.
    Table {
        /// The database's name.
        database: String,
        /// The table's name.
        table: String,
    },
    /// A table function, as SQL.
    Function(String),
}

impl Target {
    /// As it stands after FROM.
    fn sql(&self) -> String {
        match self {
            Self::Table { database, table } => format!("{}.{}", name_sql(database), name_sql(table)),
            Self::Function(sql) => sql.clone(),
        }
    }

    /// As it stands after INSERT INTO.
    fn insert_sql(&self) -> String {
        match self {
            Self::Table { .. } => self.sql(),
            Self::Function(sql) => format!("FUNCTION {sql}"),
        }
    }
}

/// A name in backticks.
pub(crate) fn name_sql(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

/// A table of other servers.
#[derive(Debug)]
pub struct RemoteTable {
    peers: Arc<Peers>,
    target: Target,
    columns: Vec<ColumnDescription>,
    hidden: usize,
}

impl RemoteTable {
    /// The table that the first shard describes. Waits for the network.
    ///
    /// # Errors
    /// Those of connecting; the other server's exception; `UNKNOWN_TYPE` for a column of a type that is not known here.
    pub fn open(peers: Peers, target: Target) -> Result<Self> {
        let described = describe(&peers, &target)?;
        let of_kind = |hidden: bool| {
            let fields = described.iter().filter(move |column| column.is_hidden() == hidden && !column.is_ephemeral());
            fields.map(Described::column).collect::<Result<Vec<_>>>()
        };
        let (mut columns, hidden) = (of_kind(false)?, of_kind(true)?);
        let hidden_count = hidden.len();
        columns.extend(hidden);
        Ok(Self { peers: Arc::new(peers), target, columns, hidden: hidden_count })
    }

    /// The same table, of one shard, for an INSERT: with these columns alone, where they are named, or with those that are inserted where
    /// none are. The other server fills in the others. Waits for the network.
    ///
    /// # Errors
    /// Those of [`open`](Self::open); `NO_SUCH_COLUMN_IN_TABLE`.
    pub fn for_insert(peers: Peers, target: Target, named: Option<&[String]>) -> Result<Self> {
        let described = describe(&peers, &target)?;
        let columns = match named {
            None => described
                .iter()
                .filter(|column| !column.is_hidden() && !column.is_ephemeral())
                .map(Described::inserted_column)
                .collect(),
            Some(names) => names
                .iter()
                .map(|name| {
                    let found = described.iter().find(|column| column.name == *name && column.default != "ALIAS");
                    let missing = || {
                        let message = format!("No such column {name} in table {}", target.sql());
                        Error::new(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, message)
                    };
                    found.ok_or_else(missing)?.inserted_column()
                })
                .collect::<Result<Vec<_>>>(),
        }?;
        Ok(Self { peers: Arc::new(peers), target, columns, hidden: 0 })
    }
}

/// A column as a server describes it.
struct Described {
    name: String,
    type_name: String,
    /// `DEFAULT`, `MATERIALIZED`, `ALIAS`, `EPHEMERAL`, or nothing.
    default: String,
    /// Its expression.
    expression: String,
}

impl Described {
    /// Whether it is read by name only.
    fn is_hidden(&self) -> bool {
        matches!(self.default.as_str(), "ALIAS" | "MATERIALIZED")
    }

    fn is_ephemeral(&self) -> bool {
        self.default == "EPHEMERAL"
    }

    fn column(&self) -> Result<ColumnDescription> {
        let data_type = DataType::parse(&self.type_name)
            .map_err(|error| error.context(format_args!("column {} of the other server", self.name)))?;
        Ok(ColumnDescription::new(self.name.as_str(), data_type))
    }

    /// The same with the default that rows get which do not give it.
    fn inserted_column(&self) -> Result<ColumnDescription> {
        let kind = DefaultKind::Default;
        let default =
            (self.default == "DEFAULT").then(|| ColumnDefault { kind, expression: self.expression.as_str().into() });
        Ok(ColumnDescription { default, ..self.column()? })
    }
}

fn describe(peers: &Peers, target: &Target) -> Result<Vec<Described>> {
    let text = format!("DESCRIBE TABLE {}", target.sql());
    let mut columns = Vec::new();
    wait_for(async {
        let mut connection = peers.connect(0).await?;
        let query = Query { text: &text, ..Query::default() };
        in_time(connection.read(&query, |block| {
            take_described(block, &mut columns);
            Ok(())
        }))
        .await??;
        Ok(())
    })
    .map_err(|error: Error| error.context(format_args!("from {}", peers.names())))?;
    Ok(columns)
}

fn take_described(block: &Block, columns: &mut Vec<Described>) {
    let text = |column: usize, row: usize| match block.columns().get(column).map(|column| column.value(row)) {
        Some(Value::String(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => String::new(),
    };
    for row in 0..block.rows() {
        columns.push(Described {
            name: text(0, row),
            type_name: text(1, row),
            default: text(2, row),
            expression: text(3, row),
        });
    }
}

impl TableMetadata for RemoteTable {
    fn database(&self) -> &str {
        "_table_function"
    }
    fn name(&self) -> &str {
        "remote"
    }
    fn engine(&self) -> &str {
        "Distributed"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn virtual_columns(&self) -> usize {
        self.hidden
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for RemoteTable {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let names = request.columns.iter().map(|at| self.columns.get(*at).map(|column| name_sql(&column.name)));
        let names = names.collect::<Option<Vec<_>>>().ok_or_else(|| Error::logical("a column that no server has"))?;
        // Where only rows count, a server that counts them sends one number.
        let counts = names.is_empty() && request.predicate.is_none();
        let expressions = match names.as_slice() {
            [] if counts => "count()".to_owned(),
            [] => "1".to_owned(),
            names => names.join(", "),
        };
        let mut text = format!("SELECT {expressions} FROM {}", self.target.sql());
        if let Some(condition) =
            request.predicate.as_ref().and_then(|predicate| condition::sql(predicate, &request.schema))
        {
            text.push_str(" WHERE ");
            text.push_str(&condition);
        }
        let limit = request.limited(u64::MAX);
        if limit < u64::MAX && !counts {
            text.push_str(&format!(" LIMIT {limit}"));
        }
        Ok(Arc::new(RemoteScan::new(self.peers.clone(), text, request.schema.clone(), counts)))
    }

    fn insert(&self) -> Result<Arc<dyn Insertion>> {
        let names: Vec<String> = self.columns.iter().map(|column| name_sql(&column.name)).collect();
        let text = format!("INSERT INTO {} ({}) FORMAT Native", self.target.insert_sql(), names.join(", "));
        let fields = self.columns.iter().map(|column| (column.name.clone(), column.data_type.clone()));
        let schema = squall_types::Schema::new(fields);
        Ok(Arc::new(insertion(self.peers.clone(), text, Arc::new(schema))?))
    }
}

/// A string literal.
pub(crate) fn string_sql(text: &[u8]) -> Option<String> {
    let mut quoted = Vec::new();
    append_quoted(&mut quoted, text);
    String::from_utf8(quoted).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        let target = Target::Table { database: "d`x".into(), table: "t\\".into() };
        assert_eq!(target.sql(), "`d\\`x`.`t\\\\`");
        assert_eq!(Target::Function("numbers(10)".into()).insert_sql(), "FUNCTION numbers(10)");
    }
}
