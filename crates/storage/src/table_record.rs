//! A table's definition as text that lasts: what the catalog keeps in its rows, each part in its footer, and a backup in its list. Types
//! and expressions are settled only when a definition is made of it, so that one that this server cannot read concerns one table.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use squall_planner::{
    ColumnDefault, ColumnDescription, Constraint, DefaultKind, KeyExpression, ProjectionDefinition, SkipIndex,
    TableDefinition,
};
use squall_types::{DataType, Error, ErrorCode, Result, Schema, Value};
use uuid::Uuid;

use crate::fields::{FieldIds, StoredFields};
use crate::identity::{TableIdentity, TableName};
use crate::key_binding::KeyBinding;

/// A table.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct TableRecord {
    pub(crate) database: String,
    pub(crate) table: String,
    pub(crate) uuid: String,
    pub(crate) engine: String,
    pub(crate) engine_arguments: Vec<String>,
    pub(crate) columns: Vec<ColumnRecord>,
    pub(crate) sorting_key: Vec<String>,
    pub(crate) primary_key: Option<Vec<String>>,
    pub(crate) partition_key: Vec<String>,
    /// `SAMPLE BY`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sampling_key: Option<String>,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) comment: String,
    /// Conditions on rows, if any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) constraints: Vec<ConstraintRecord>,
    /// `TTL` of the table: its elements, if any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) ttl: Vec<String>,
    /// Skip indexes, if any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) indices: Vec<IndexRecord>,
    /// Projections, if any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) projections: Vec<ProjectionRecord>,
    /// Counts how often the columns changed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) schema_number: i64,
    /// The ids of the stored columns; none of a table that was never altered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) fields: Vec<FieldIds>,
}

fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// A skip index.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct IndexRecord {
    pub(crate) name: String,
    pub(crate) sql: String,
    pub(crate) kind: String,
    pub(crate) granularity: u64,
}

impl IndexRecord {
    pub(crate) fn new(index: &SkipIndex) -> Self {
        Self {
            name: index.name.to_string(),
            sql: index.sql.to_string(),
            kind: index.kind.to_string(),
            granularity: index.granularity,
        }
    }
}

/// A projection.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ProjectionRecord {
    pub(crate) name: String,
    pub(crate) sql: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) settings: Vec<(String, String)>,
}

impl ProjectionRecord {
    pub(crate) fn new(projection: &ProjectionDefinition) -> Self {
        let settings = projection.settings.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        Self { name: projection.name.to_string(), sql: projection.sql.to_string(), settings: settings.collect() }
    }

    fn definition(&self) -> ProjectionDefinition {
        let settings = self.settings.iter().map(|(name, value)| (name.as_str().into(), value.as_str().into()));
        ProjectionDefinition {
            name: self.name.as_str().into(),
            sql: self.sql.as_str().into(),
            settings: settings.collect(),
        }
    }
}

/// A condition on a table's rows.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ConstraintRecord {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) is_assumed: bool,
    pub(crate) sql: String,
}

impl ConstraintRecord {
    pub(crate) fn new(constraint: &Constraint) -> Self {
        Self { name: constraint.name.to_string(), is_assumed: constraint.is_assumed, sql: constraint.sql.to_string() }
    }
}

/// A column.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ColumnRecord {
    pub(crate) name: String,
    /// The exact ClickHouse type.
    pub(crate) data_type: String,
    /// `DEFAULT`, `MATERIALIZED`, `ALIAS` or `EPHEMERAL`.
    pub(crate) default_kind: Option<String>,
    pub(crate) default_expression: Option<String>,
    pub(crate) comment: String,
    /// Since version 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) codec: Option<String>,
    /// Since version 7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ttl: Option<String>,
}

impl TableRecord {
    /// The record of a table.
    pub(crate) fn new(name: &TableName, uuid: Uuid, definition: &TableDefinition) -> Self {
        let keys = |keys: &[KeyExpression]| keys.iter().map(|key| key.sql.to_string()).collect();
        let column = |column: &ColumnDescription| ColumnRecord {
            name: column.name.to_string(),
            data_type: column.data_type.to_string(),
            default_kind: column.default.as_ref().map(|default| default.kind.keyword().to_owned()),
            default_expression: column.default.as_ref().map(|default| default.expression.to_string()),
            comment: column.comment.to_string(),
            codec: column.codec.as_deref().map(str::to_owned),
            ttl: column.ttl.as_deref().map(str::to_owned),
        };
        let argument = |argument: &Value| argument.as_str().map_or_else(|| argument.to_string(), str::to_owned);
        Self {
            database: name.database.to_string(),
            table: name.table.to_string(),
            uuid: uuid.to_string(),
            engine: definition.engine.to_string(),
            engine_arguments: definition.engine_arguments.iter().map(argument).collect(),
            columns: definition.columns.iter().map(column).collect(),
            sorting_key: keys(&definition.sorting_key),
            primary_key: definition.primary_key.as_deref().map(keys),
            partition_key: keys(&definition.partition_key),
            sampling_key: definition.sampling_key.as_ref().map(|key| key.sql.to_string()),
            settings: definition.settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            comment: definition.comment.to_string(),
            constraints: definition.constraints.iter().map(ConstraintRecord::new).collect(),
            indices: definition.indices.iter().map(IndexRecord::new).collect(),
            projections: definition.projections.iter().map(ProjectionRecord::new).collect(),
            ttl: definition.ttl.iter().map(ToString::to_string).collect(),
            schema_number: 0,
            fields: Vec::new(),
        }
    }

    /// The record of a table that there is.
    pub(crate) fn of(name: &TableName, identity: &TableIdentity) -> Self {
        let record = Self::new(name, identity.uuid, &identity.definition);
        if identity.fields.number == 0 {
            return record;
        }
        Self { schema_number: identity.fields.number, fields: identity.fields.ids.clone(), ..record }
    }

    /// The ids of its stored columns.
    pub(crate) fn stored_fields(&self, stored: &Schema) -> StoredFields {
        if self.fields.is_empty() {
            return StoredFields::first(stored);
        }
        StoredFields { number: self.schema_number, ids: self.fields.clone() }
    }

    /// The columns, their types read.
    ///
    /// # Errors
    /// `UNKNOWN_TYPE` and its kin, `CORRUPTED_DATA`.
    pub(crate) fn columns(&self) -> Result<Vec<ColumnDescription>> {
        let column = |column: &ColumnRecord| {
            let default = column.default_kind.as_deref().zip(column.default_expression.as_deref());
            let default = default
                .map(|(kind, expression)| {
                    Ok::<_, Error>(ColumnDefault { kind: default_kind(kind)?, expression: expression.into() })
                })
                .transpose()?;
            Ok(ColumnDescription {
                name: column.name.as_str().into(),
                data_type: DataType::parse(&column.data_type)?,
                default,
                comment: column.comment.as_str().into(),
                codec: column.codec.as_deref().map(Into::into),
                ttl: column.ttl.as_deref().map(Into::into),
            })
        };
        self.columns.iter().map(column).collect()
    }

    /// The definition, its types and key expressions read.
    ///
    /// # Errors
    /// As [`columns`](Self::columns), and where a key is not an expression over them.
    pub(crate) fn definition(&self, binding: &KeyBinding) -> Result<TableDefinition> {
        let columns = self.columns()?;
        let keys = |keys: &[String]| {
            keys.iter()
                .map(|sql| Ok(KeyExpression { sql: sql.as_str().into(), expression: binding.bind(sql, &columns)? }))
                .collect::<Result<Vec<_>>>()
        };
        Ok(TableDefinition {
            engine: self.engine.as_str().into(),
            engine_arguments: self.engine_arguments.iter().map(|argument| Value::string(argument.as_str())).collect(),
            sorting_key: keys(&self.sorting_key)?,
            primary_key: self.primary_key.as_deref().map(keys).transpose()?,
            partition_key: keys(&self.partition_key)?,
            sampling_key: keys(self.sampling_key.as_slice())?.pop(),
            settings: self.settings.iter().map(|(name, value)| (name.as_str().into(), value.as_str().into())).collect(),
            comment: self.comment.as_str().into(),
            ttl: self.ttl.iter().map(|element| element.as_str().into()).collect(),
            projections: self.projections.iter().map(ProjectionRecord::definition).collect(),
            indices: self
                .indices
                .iter()
                .map(|index| SkipIndex {
                    name: index.name.as_str().into(),
                    sql: index.sql.as_str().into(),
                    kind: index.kind.as_str().into(),
                    granularity: index.granularity,
                })
                .collect(),
            constraints: self
                .constraints
                .iter()
                .map(|constraint| Constraint {
                    name: constraint.name.as_str().into(),
                    is_assumed: constraint.is_assumed,
                    sql: constraint.sql.as_str().into(),
                })
                .collect(),
            columns,
        })
    }

    /// The table's identity.
    ///
    /// # Errors
    /// As [`definition`](Self::definition).
    pub(crate) fn identity(&self, binding: &KeyBinding) -> Result<Arc<TableIdentity>> {
        Ok(Arc::new(self.identity_of(self.uuid(), Arc::new(self.definition(binding)?))?))
    }

    /// The identity of a table of this UUID whose definition was read of the record.
    ///
    /// # Errors
    /// As of [`TableIdentity::new`].
    pub(crate) fn identity_of(&self, uuid: Uuid, definition: Arc<TableDefinition>) -> Result<TableIdentity> {
        if self.fields.is_empty() {
            return TableIdentity::new(uuid, definition);
        }
        let fields = StoredFields { number: self.schema_number, ids: self.fields.clone() };
        TableIdentity::with_fields(uuid, definition, fields)
    }

    /// The UUID; nil where it is not one.
    pub(crate) fn uuid(&self) -> Uuid {
        Uuid::parse_str(&self.uuid).unwrap_or_default()
    }

    /// Its names.
    pub(crate) fn name(&self) -> TableName {
        TableName::new(self.database.as_str(), self.table.as_str())
    }

    /// Whether rows of the one fit into the other: the same columns that are stored, and the same keys.
    pub(crate) fn has_structure_of(&self, other: &Self) -> bool {
        let stored = |record: &Self| -> Vec<(String, String)> {
            let is_stored =
                |column: &&ColumnRecord| !matches!(column.default_kind.as_deref(), Some("ALIAS" | "EPHEMERAL"));
            let columns = record.columns.iter().filter(is_stored);
            columns.map(|column| (column.name.clone(), column.data_type.clone())).collect()
        };
        stored(self) == stored(other) && self.sorting_key == other.sorting_key && self.has_keys_of(other)
    }

    /// Whether parts of the one are indexed and divided as those of the other.
    pub(crate) fn has_keys_of(&self, other: &Self) -> bool {
        self.partition_key == other.partition_key
            && self.primary_key.as_ref().unwrap_or(&self.sorting_key)
                == other.primary_key.as_ref().unwrap_or(&other.sorting_key)
    }

    /// The columns that are stored.
    ///
    /// # Errors
    /// As [`columns`](Self::columns).
    pub(crate) fn stored_schema(&self) -> Result<Arc<Schema>> {
        let columns = self.columns()?;
        let is_stored = |column: &&ColumnDescription| {
            let kind = column.default.as_ref().map(|default| default.kind);
            !matches!(kind, Some(DefaultKind::Alias | DefaultKind::Ephemeral))
        };
        let stored = columns.iter().filter(is_stored);
        Ok(Arc::new(Schema::new(stored.map(|column| (column.name.clone(), column.data_type.clone())))))
    }
}

fn default_kind(name: &str) -> Result<DefaultKind> {
    Ok(match name {
        "DEFAULT" => DefaultKind::Default,
        "MATERIALIZED" => DefaultKind::Materialized,
        "ALIAS" => DefaultKind::Alias,
        "EPHEMERAL" => DefaultKind::Ephemeral,
        other => {
            return Err(Error::new(ErrorCode::CORRUPTED_DATA, format!("A column default of unknown kind {other}")));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_through_text() {
        let column = |name: &str, data_type: &str, default: Option<(&str, &str)>| ColumnRecord {
            name: name.to_owned(),
            data_type: data_type.to_owned(),
            default_kind: default.map(|(kind, _)| kind.to_owned()),
            default_expression: default.map(|(_, expression)| expression.to_owned()),
            comment: "why \"so\"".to_owned(),
            codec: (data_type == "String").then(|| "ZSTD(3)".to_owned()),
            ttl: (data_type == "String").then(|| "c".to_owned()),
        };
        let record = TableRecord {
            database: "d".to_owned(),
            table: "t".to_owned(),
            uuid: Uuid::from_u128(7).to_string(),
            engine: "MergeTree".to_owned(),
            columns: vec![
                column("a", "LowCardinality(Nullable(String))", None),
                column("b", "Enum8('x' = 1)", Some(("DEFAULT", "'x'"))),
                column("c", "DateTime64(3, 'Asia/Tokyo')", None),
                column("e", "String", Some(("ALIAS", "concat(a, 'é')"))),
            ],
            sorting_key: vec!["c".to_owned(), "toString(b)".to_owned()],
            primary_key: Some(vec!["c".to_owned()]),
            partition_key: vec!["toYYYYMM(c)".to_owned()],
            ttl: vec!["c + toIntervalDay(1) GROUP BY c SET a = max(a)".to_owned()],
            projections: vec![ProjectionRecord {
                name: "p".to_owned(),
                sql: "SELECT b, max(a) GROUP BY b".to_owned(),
                settings: vec![("index_granularity".to_owned(), "16".to_owned())],
            }],
            settings: vec![("index_granularity".to_owned(), "7".to_owned())],
            ..TableRecord::default()
        };
        let text = serde_json::to_string(&record).unwrap();
        let back: TableRecord = serde_json::from_str(&text).unwrap();
        assert_eq!(back, record);
        let definition = back.definition(&KeyBinding::new("UTC")).unwrap();
        assert_eq!(TableRecord::new(&record.name(), record.uuid(), &definition), record);
        let mut unreadable = record.clone();
        unreadable.columns[0].data_type = "Unheard(Of)".to_owned();
        assert!(unreadable.definition(&KeyBinding::new("UTC")).is_err() && !unreadable.has_structure_of(&record));
    }
}
