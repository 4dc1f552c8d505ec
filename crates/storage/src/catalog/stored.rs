//! What the catalog knows of databases and tables, read at the start: definitions still as text, parts as they were described.

use std::sync::Arc;

use rusqlite::{Connection, Row, Statement, params};
use squall_planner::{ColumnDescription, DefaultKind};
use squall_types::Schema;
use uuid::Uuid;

use super::deletions::StoredDeletion;
use crate::fields::FieldRecord;
use crate::mutation::StoredMutation;
use crate::table_record::{ColumnRecord, ConstraintRecord, IndexRecord, ProjectionRecord, TableRecord};

/// A database as the catalog keeps it.
#[derive(Clone, Debug)]
pub(crate) struct StoredDatabase {
    pub(crate) id: i64,
    pub(crate) uuid: Uuid,
    pub(crate) name: String,
    pub(crate) comment: String,
}

/// A table as the catalog keeps it.
#[derive(Clone, Debug)]
pub(crate) struct StoredTable {
    pub(crate) id: i64,
    pub(crate) database_id: i64,
    pub(crate) record: TableRecord,
    /// `DETACH TABLE … PERMANENTLY`.
    pub(crate) is_detached: bool,
    pub(crate) parts: Vec<StoredPart>,
    /// The schemas that it has and had, by their numbers; none of one that was never written to.
    pub(crate) schemas: Vec<(i64, Vec<FieldRecord>)>,
    /// Its mutations, which the caller reads.
    pub(crate) mutations: Vec<StoredMutation>,
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
    /// The number of the schema that it was written with.
    pub(crate) schema: i64,
    /// Which of its rows are deleted.
    pub(crate) deletion: StoredDeletion,
}

/// Reads everything that is there now.
pub(super) fn load(connection: &Connection) -> rusqlite::Result<(Vec<StoredDatabase>, Vec<StoredTable>)> {
    let databases = databases(connection)?;
    let mut tables = tables(connection)?;
    let mut reader = TableReader::new(connection)?;
    let mut deletions = super::deletions::load(connection)?;
    for table in &mut tables {
        reader.read_definition(table)?;
        table.parts = reader.parts(table.id)?;
        if let Some(mut of_table) = deletions.remove(&table.id) {
            for part in &mut table.parts {
                part.deletion = of_table.remove(&part.name).unwrap_or_default();
            }
        }
    }
    Ok((databases, tables))
}

/// The databases, in the order in which they were created.
fn databases(connection: &Connection) -> rusqlite::Result<Vec<StoredDatabase>> {
    connection
        .prepare(
            "SELECT s.schema_id, s.schema_uuid, s.schema_name, q.comment
             FROM ducklake_schema s JOIN squall_schema q USING (schema_id) WHERE s.end_snapshot IS NULL ORDER BY 1",
        )?
        .query_map([], |row| {
            let uuid: String = row.get(1)?;
            let uuid = Uuid::parse_str(&uuid).unwrap_or_default();
            Ok(StoredDatabase { id: row.get(0)?, uuid, name: row.get(2)?, comment: row.get(3)? })
        })?
        .collect()
}

/// The tables, in the order in which they were created, still without columns, keys, settings and parts.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<StoredTable>> {
    connection
        .prepare(
            "SELECT t.table_id, t.table_uuid, t.schema_id, t.table_name, q.engine, q.has_primary_key, q.comment, s.schema_name,
                 d.table_id IS NOT NULL
             FROM (
                     SELECT table_id, table_uuid, schema_id, table_name FROM ducklake_table WHERE end_snapshot IS NULL
                     UNION ALL SELECT * FROM squall_table_beside_lake
                 ) t JOIN squall_table q USING (table_id) JOIN ducklake_schema s USING (schema_id)
                 LEFT JOIN squall_detached_table d USING (table_id)
             WHERE s.end_snapshot IS NULL ORDER BY 1",
        )?
        .query_map([], |row| {
            let record = TableRecord {
                uuid: row.get(1)?,
                table: row.get(3)?,
                engine: row.get(4)?,
                primary_key: row.get::<_, bool>(5)?.then(Vec::new),
                comment: row.get(6)?,
                database: row.get(7)?,
                ..TableRecord::default()
            };
            let (id, database_id, is_detached) = (row.get(0)?, row.get(2)?, row.get(8)?);
            let (parts, schemas, mutations) = Default::default();
            Ok(StoredTable { id, database_id, record, is_detached, parts, schemas, mutations })
        })?
        .collect()
}

/// The queries for what belongs to one table.
struct TableReader<'a> {
    connection: &'a Connection,
    columns: Statement<'a>,
    keys: Statement<'a>,
    settings: Statement<'a>,
    parts: Statement<'a>,
    has_schemas: bool,
}

impl<'a> TableReader<'a> {
    fn new(connection: &'a Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            connection,
            columns: connection.prepare(
                "SELECT column_name, data_type, default_kind, default_expression, comment, codec, ttl FROM squall_column
                 WHERE table_id = ?1 ORDER BY position",
            )?,
            keys: connection
                .prepare("SELECT key_kind, expression FROM squall_key WHERE table_id = ?1 ORDER BY key_kind, position")?,
            settings: connection
                .prepare("SELECT name, value FROM squall_setting WHERE table_id = ?1 ORDER BY position")?,
            parts: connection.prepare(
                "SELECT p.part_name, p.partition, f.path, f.file_size_bytes, p.description, p.schema_number
                 FROM ducklake_data_file f JOIN squall_part p USING (data_file_id)
                 WHERE f.table_id = ?1 AND f.end_snapshot IS NULL ORDER BY f.data_file_id",
            )?,
            has_schemas: connection.query_row(
                "SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'squall_table_schema'",
                [],
                |row| row.get(0),
            )?,
        })
    }

    /// Reads a table's schemas, columns, keys and settings.
    fn read_definition(&mut self, table: &mut StoredTable) -> rusqlite::Result<()> {
        if self.has_schemas {
            table.schemas = self
                .connection
                .prepare_cached("SELECT number, columns FROM squall_table_schema WHERE table_id = ?1 ORDER BY number")?
                .query_map(params![table.id], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?
                .map(|row| row.map(|(number, text)| (number, serde_json::from_str(&text).unwrap_or_default())))
                .collect::<rusqlite::Result<_>>()?;
        }
        let record = &mut table.record;
        // Parts that came from elsewhere have negative ones.
        if let Some((number, fields)) = table.schemas.last().filter(|(number, _)| *number > 0) {
            record.schema_number = *number;
            record.fields = fields.iter().map(|field| field.ids.clone()).collect();
        }
        record.columns = self
            .columns
            .query_map(params![table.id], |row| {
                Ok(ColumnRecord {
                    name: row.get(0)?,
                    data_type: row.get(1)?,
                    default_kind: row.get(2)?,
                    default_expression: row.get(3)?,
                    comment: row.get(4)?,
                    codec: row.get(5)?,
                    ttl: row.get(6)?,
                })
            })?
            .collect::<rusqlite::Result<_>>()?;
        self.read_keys(table.id, record)?;
        record.settings = self
            .settings
            .query_map(params![table.id], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        Ok(())
    }

    /// Reads a table's keys, and what else the catalog keeps as expressions beside them.
    fn read_keys(&mut self, table_id: i64, record: &mut TableRecord) -> rusqlite::Result<()> {
        let mut found = self.keys.query(params![table_id])?;
        while let Some(row) = found.next()? {
            let (kind, expression): (String, String) = (row.get(0)?, row.get(1)?);
            match kind.as_str() {
                "sorting" => record.sorting_key.push(expression),
                "primary" => record.primary_key.get_or_insert_default().push(expression),
                "partition" => record.partition_key.push(expression),
                "sampling" => record.sampling_key = Some(expression),
                "ttl" => record.ttl.push(expression),
                "index" => record.indices.extend(serde_json::from_str::<IndexRecord>(&expression).ok()),
                "projection" => record.projections.extend(serde_json::from_str::<ProjectionRecord>(&expression).ok()),
                // One that cannot be read lets in nothing.
                "constraint" => record.constraints.push(serde_json::from_str(&expression).unwrap_or_else(|_| {
                    ConstraintRecord { name: "unreadable".to_owned(), is_assumed: false, sql: "0".to_owned() }
                })),
                "argument" => record.engine_arguments.push(expression),
                _ => {}
            }
        }
        Ok(())
    }

    /// A table's parts, still without what is deleted of them.
    fn parts(&mut self, table_id: i64) -> rusqlite::Result<Vec<StoredPart>> {
        let part = |row: &Row<'_>| {
            Ok(StoredPart {
                name: row.get(0)?,
                partition_id: row.get(1)?,
                path: row.get(2)?,
                bytes: row.get::<_, i64>(3)? as u64,
                description: row.get(4)?,
                schema: row.get(5)?,
                deletion: StoredDeletion::default(),
            })
        };
        self.parts.query_map(params![table_id], part)?.collect()
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
