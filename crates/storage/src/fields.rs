//! The ids of a table's stored columns. A file says of each of its columns which id it has, and so does DuckLake's catalog: by them
//! whoever reads a file finds a column that was renamed, moved, or given another type since.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use squall_types::{DataType, Result, Schema};

use crate::merge_tree::lake_fields;

/// The ids of a stored column; those of nested fields follow the column's own.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FieldIds {
    /// Under which new files have it.
    pub(crate) id: i64,
    /// Under which older files have it, with values of another type: newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) formers: Vec<i64>,
}

/// A stored column of a schema, as it lasts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct FieldRecord {
    #[serde(flatten)]
    pub(crate) ids: FieldIds,
    pub(crate) name: String,
    /// The exact ClickHouse type.
    pub(crate) data_type: String,
}

/// The stored columns of a table at one moment: what a part that was written then holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct StoredFields {
    /// Counts the table's schemas; parts name theirs by it.
    pub(crate) number: i64,
    /// One per stored column.
    pub(crate) ids: Vec<FieldIds>,
}

impl StoredFields {
    /// Those of a table that was never altered: counted from 1.
    pub(crate) fn first(stored: &Schema) -> Self {
        let mut next = 1;
        let ids = stored.types().map(|data_type| {
            let id = next;
            next += lake_fields(data_type);
            FieldIds { id, formers: Vec::new() }
        });
        Self { ids: ids.collect(), number: 0 }
    }

    /// The schema as the catalog keeps it.
    pub(crate) fn records(&self, stored: &Schema) -> Vec<FieldRecord> {
        let record = |(ids, (name, data_type)): (&FieldIds, &(Arc<str>, DataType))| FieldRecord {
            ids: ids.clone(),
            name: name.to_string(),
            data_type: data_type.to_string(),
        };
        self.ids.iter().zip(&stored.fields).map(record).collect()
    }

    /// What the catalog kept.
    ///
    /// # Errors
    /// `UNKNOWN_TYPE` and its kin.
    pub(crate) fn of_records(number: i64, records: &[FieldRecord]) -> Result<(Self, Arc<Schema>)> {
        let field = |record: &FieldRecord| Ok((record.name.as_str().into(), DataType::parse(&record.data_type)?));
        let stored = records.iter().map(field).collect::<Result<Vec<(Arc<str>, DataType)>>>()?;
        let ids = records.iter().map(|record| record.ids.clone()).collect();
        Ok((Self { number, ids }, Arc::new(Schema::new(stored))))
    }
}
