//! What the catalog knows of databases and tables, read at the start: definitions still as text, parts as they were described.

use std::sync::Arc;

use rusqlite::{Connection, params};
use squall_planner::{ColumnDefault, ColumnDescription, DefaultKind, Expression, KeyExpression, TableDefinition};
use squall_types::{DataType, Error, ErrorCode, Result, Schema, Value};
use uuid::Uuid;

/// A database as the catalog keeps it.
#[derive(Clone, Debug)]
pub(crate) struct StoredDatabase {
    pub(crate) id: i64,
    pub(crate) uuid: Uuid,
    pub(crate) name: String,
    pub(crate) comment: String,
}

/// A table as the catalog keeps it. Key expressions are still text.
#[derive(Clone, Debug)]
pub(crate) struct StoredTable {
    pub(crate) id: i64,
    pub(crate) uuid: Uuid,
    pub(crate) database_id: i64,
    pub(crate) name: String,
    pub(crate) engine: String,
    pub(crate) columns: Vec<ColumnDescription>,
    pub(crate) sorting_key: Vec<String>,
    pub(crate) primary_key: Option<Vec<String>>,
    pub(crate) partition_key: Vec<String>,
    pub(crate) engine_arguments: Vec<String>,
    pub(crate) settings: Vec<(Arc<str>, Arc<str>)>,
    pub(crate) comment: String,
    pub(crate) parts: Vec<StoredPart>,
}

/// A part as the catalog keeps it.
#[derive(Clone, Debug)]
pub(crate) struct StoredPart {
    pub(crate) name: Arc<str>,
    pub(crate) partition_id: Arc<str>,
    /// The file's name in the table's directory.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    pub(crate) description: Vec<u8>,
}

/// A table as it lies in the catalog's tables.
pub(super) struct RawTable {
    id: i64,
    uuid: String,
    database_id: i64,
    name: String,
    engine: String,
    has_primary_key: bool,
    comment: String,
    columns: Vec<RawColumn>,
    keys: Vec<(String, String)>,
    settings: Vec<(Arc<str>, Arc<str>)>,
    parts: Vec<StoredPart>,
}

struct RawColumn {
    name: String,
    data_type: String,
    default_kind: Option<String>,
    default_expression: Option<String>,
    comment: String,
}

/// Reads everything that is there now.
pub(super) fn load(connection: &Connection) -> rusqlite::Result<(Vec<StoredDatabase>, Vec<RawTable>)> {
    let databases = connection
        .prepare(
            "SELECT s.schema_id, s.schema_uuid, s.schema_name, q.comment
             FROM ducklake_schema s JOIN squall_schema q USING (schema_id) WHERE s.end_snapshot IS NULL ORDER BY 1",
        )?
        .query_map([], |row| {
            let uuid: String = row.get(1)?;
            let uuid = Uuid::parse_str(&uuid).unwrap_or_default();
            Ok(StoredDatabase { id: row.get(0)?, uuid, name: row.get(2)?, comment: row.get(3)? })
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let mut tables = connection
        .prepare(
            "SELECT t.table_id, t.table_uuid, t.schema_id, t.table_name, q.engine, q.has_primary_key, q.comment
             FROM ducklake_table t JOIN squall_table q USING (table_id) WHERE t.end_snapshot IS NULL ORDER BY 1",
        )?
        .query_map([], |row| {
            Ok(RawTable {
                id: row.get(0)?,
                uuid: row.get(1)?,
                database_id: row.get(2)?,
                name: row.get(3)?,
                engine: row.get(4)?,
                has_primary_key: row.get(5)?,
                comment: row.get(6)?,
                columns: Vec::new(),
                keys: Vec::new(),
                settings: Vec::new(),
                parts: Vec::new(),
            })
        })?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let mut columns = connection.prepare(
        "SELECT column_name, data_type, default_kind, default_expression, comment FROM squall_column
         WHERE table_id = ?1 ORDER BY position",
    )?;
    let mut keys = connection
        .prepare("SELECT key_kind, expression FROM squall_key WHERE table_id = ?1 ORDER BY key_kind, position")?;
    let mut settings =
        connection.prepare("SELECT name, value FROM squall_setting WHERE table_id = ?1 ORDER BY position")?;
    let mut parts = connection.prepare(
        "SELECT p.part_name, p.partition, f.path, f.file_size_bytes, p.description
         FROM ducklake_data_file f JOIN squall_part p USING (data_file_id)
         WHERE f.table_id = ?1 AND f.end_snapshot IS NULL ORDER BY f.data_file_id",
    )?;
    for table in &mut tables {
        table.columns = columns
            .query_map(params![table.id], |row| {
                Ok(RawColumn {
                    name: row.get(0)?,
                    data_type: row.get(1)?,
                    default_kind: row.get(2)?,
                    default_expression: row.get(3)?,
                    comment: row.get(4)?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?;
        table.keys = keys
            .query_map(params![table.id], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        table.settings = settings
            .query_map(params![table.id], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        table.parts = parts
            .query_map(params![table.id], |row| {
                Ok(StoredPart {
                    name: row.get(0)?,
                    partition_id: row.get(1)?,
                    path: row.get(2)?,
                    bytes: row.get::<_, i64>(3)? as u64,
                    description: row.get(4)?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?;
    }
    Ok((databases, tables))
}

impl TryFrom<RawTable> for StoredTable {
    type Error = Error;

    fn try_from(raw: RawTable) -> Result<Self> {
        let column = |column: RawColumn| {
            let default = column.default_kind.as_deref().zip(column.default_expression);
            Ok(ColumnDescription {
                name: column.name.into(),
                data_type: DataType::parse(&column.data_type)?,
                default: default
                    .map(|(kind, expression)| {
                        Ok::<_, Error>(ColumnDefault { kind: default_kind(kind)?, expression: expression.into() })
                    })
                    .transpose()?,
                comment: column.comment.into(),
            })
        };
        let keys = |kind: &str| -> Vec<String> {
            raw.keys.iter().filter(|(known, _)| known == kind).map(|(_, expression)| expression.clone()).collect()
        };
        Ok(Self {
            id: raw.id,
            uuid: Uuid::parse_str(&raw.uuid).unwrap_or_default(),
            database_id: raw.database_id,
            name: raw.name,
            engine: raw.engine,
            sorting_key: keys("sorting"),
            primary_key: raw.has_primary_key.then(|| keys("primary")),
            partition_key: keys("partition"),
            engine_arguments: keys("argument"),
            columns: raw.columns.into_iter().map(column).collect::<Result<_>>()?,
            settings: raw.settings,
            comment: raw.comment,
            parts: raw.parts,
        })
    }
}

impl StoredTable {
    /// The definition, its key expressions read by `bind`.
    ///
    /// # Errors
    /// Those of `bind`.
    pub(crate) fn definition(
        &self,
        bind: impl Fn(&str, &[ColumnDescription]) -> Result<Expression>,
    ) -> Result<TableDefinition> {
        let keys = |keys: &[String]| {
            keys.iter()
                .map(|sql| {
                    let expression = bind(sql, &self.columns)?;
                    Ok(KeyExpression { sql: sql.as_str().into(), expression })
                })
                .collect::<Result<Vec<_>>>()
        };
        Ok(TableDefinition {
            columns: self.columns.clone(),
            engine: self.engine.as_str().into(),
            engine_arguments: self.engine_arguments.iter().map(|argument| Value::string(argument.as_str())).collect(),
            sorting_key: keys(&self.sorting_key)?,
            primary_key: self.primary_key.as_deref().map(keys).transpose()?,
            partition_key: keys(&self.partition_key)?,
            settings: self.settings.clone(),
            comment: self.comment.as_str().into(),
        })
    }
}

/// The columns of a table that are stored.
pub(super) fn stored_schema(columns: &[ColumnDescription]) -> Arc<Schema> {
    let is_stored = |column: &&ColumnDescription| {
        !column
            .default
            .as_ref()
            .is_some_and(|default| matches!(default.kind, DefaultKind::Alias | DefaultKind::Ephemeral))
    };
    Arc::new(Schema::new(
        columns.iter().filter(is_stored).map(|column| (column.name.clone(), column.data_type.clone())),
    ))
}

/// The word for a kind of default.
pub(super) fn default_kind_name(kind: DefaultKind) -> &'static str {
    match kind {
        DefaultKind::Default => "DEFAULT",
        DefaultKind::Materialized => "MATERIALIZED",
        DefaultKind::Alias => "ALIAS",
        DefaultKind::Ephemeral => "EPHEMERAL",
    }
}

fn default_kind(name: &str) -> Result<DefaultKind> {
    Ok(match name {
        "DEFAULT" => DefaultKind::Default,
        "MATERIALIZED" => DefaultKind::Materialized,
        "ALIAS" => DefaultKind::Alias,
        "EPHEMERAL" => DefaultKind::Ephemeral,
        other => {
            return Err(Error::new(
                ErrorCode::CORRUPTED_DATA,
                format!("The catalog has a column default of kind {other}"),
            ));
        }
    })
}
