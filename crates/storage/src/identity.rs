//! What a stored table is called and how it is defined. Data is not here.

use std::sync::Arc;

use squall_planner::{Expression, TableDefinition};
use squall_types::{DataType, Error, ErrorCode, Result, Schema};
use uuid::Uuid;

use crate::fields::StoredFields;
use crate::join_table::JoinDefinition;
use crate::merge_tree::is_merge_tree;

/// A table's names, at one moment: RENAME makes a new one.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TableName {
    /// The database.
    pub database: Arc<str>,
    /// The table.
    pub table: Arc<str>,
}

impl TableName {
    /// A name of these parts.
    pub fn new(database: impl Into<Arc<str>>, table: impl Into<Arc<str>>) -> Self {
        Self { database: database.into(), table: table.into() }
    }
}

impl std::fmt::Display for TableName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.database, self.table)
    }
}

/// What stays with a table through renames.
#[derive(Debug)]
pub(crate) struct TableIdentity {
    pub(crate) uuid: Uuid,
    pub(crate) definition: Arc<TableDefinition>,
    /// The columns that are stored, which blocks of an INSERT have: `ALIAS` and `EPHEMERAL` columns are not.
    pub(crate) stored: Arc<Schema>,
    /// For each of the definition's columns its position among the stored ones.
    pub(crate) stored_positions: Vec<Option<usize>>,
    /// Positions of the sorting key's columns as far as it begins with plain ones.
    pub(crate) sorting_columns: Vec<usize>,
    /// The ids of the stored columns.
    pub(crate) fields: StoredFields,
}

impl TableIdentity {
    /// Whether the table's rows are kept in parts on disk.
    ///
    /// # Errors
    /// Where its engine cannot have this definition.
    pub(crate) fn has_parts(&self) -> Result<bool> {
        Ok(match &*self.definition.engine {
            "TinyLog" | "Log" | "StripeLog" => true,
            engine if is_merge_tree(engine) => true,
            "Join" => JoinDefinition::new(&self.definition)?.is_persistent,
            "Set" => is_persistent(&self.definition),
            _ => false,
        })
    }

    pub(crate) fn new(uuid: Uuid, definition: Arc<TableDefinition>) -> Result<Self> {
        let mut stored = Vec::new();
        let mut stored_positions = Vec::new();
        for (at, column) in definition.columns.iter().enumerate() {
            if definition.columns.iter().take(at).any(|before| before.name == column.name) {
                return Err(Error::new(
                    ErrorCode::ILLEGAL_COLUMN,
                    format!("Cannot add column {}: column with this name already exists", column.name),
                ));
            }
            if &*definition.engine != squall_planner::VIEW && !can_be_in_tables(&column.data_type) {
                return Err(Error::new(
                    ErrorCode::DATA_TYPE_CANNOT_BE_USED_IN_TABLES,
                    format!("Data type {} of column '{}' cannot be used in tables", column.data_type, column.name),
                ));
            }
            stored_positions.push(column.is_stored().then_some(stored.len()));
            if column.is_stored() {
                stored.push((column.name.clone(), column.data_type.clone()));
            }
        }
        // A view with parameters has no columns before it is called.
        if stored.is_empty() && !definition.has_no_rows() {
            return Err(Error::new(
                ErrorCode::EMPTY_LIST_OF_COLUMNS_PASSED,
                "Cannot CREATE table without physical columns",
            ));
        }
        let sorting_columns = definition
            .sorting_key
            .iter()
            .map_while(|key| match &key.expression {
                Expression::Column { position, .. } => Some(*position),
                _ => None,
            })
            .collect();
        let stored = Arc::new(Schema::new(stored));
        let fields = StoredFields::first(&stored);
        Ok(Self { uuid, definition, stored, stored_positions, sorting_columns, fields })
    }

    /// The same with ids that are not the first ones.
    ///
    /// # Errors
    /// As [`new`](Self::new); `LOGICAL_ERROR` for more or fewer ids than stored columns.
    pub(crate) fn with_fields(uuid: Uuid, definition: Arc<TableDefinition>, fields: StoredFields) -> Result<Self> {
        let identity = Self::new(uuid, definition)?;
        if fields.ids.len() != identity.stored.len() {
            return Err(Error::logical("other ids than columns"));
        }
        Ok(Self { fields, ..identity })
    }

    /// The positions among the stored columns of some of the definition's columns.
    pub(crate) fn stored_columns(&self, columns: &[usize]) -> Result<Vec<usize>> {
        let stored = |column: &usize| self.stored_positions.get(*column).copied().flatten();
        columns
            .iter()
            .map(|column| stored(column).ok_or_else(|| Error::logical(format!("column {column} is not stored"))))
            .collect()
    }
}

/// Whether a table of the engine `Set` outlives the process.
fn is_persistent(definition: &TableDefinition) -> bool {
    let setting = definition.settings.iter().find(|(name, _)| &**name == "persistent");
    !setting.is_some_and(|(_, value)| matches!(&**value, "0" | "false"))
}

fn can_be_in_tables(data_type: &DataType) -> bool {
    match data_type {
        DataType::Nothing => false,
        DataType::SimpleAggregateFunction(simple) => can_be_in_tables(simple.values()),
        DataType::Named(named) => can_be_in_tables(named.values()),
        DataType::Nullable(inner) | DataType::LowCardinality(inner) | DataType::Array(inner) => can_be_in_tables(inner),
        DataType::Map(key, value) => can_be_in_tables(key) && can_be_in_tables(value),
        // An empty group has no place in Parquet.
        DataType::Tuple(elements) => {
            !elements.is_empty() && elements.iter().all(|element| can_be_in_tables(&element.data_type))
        }
        _ => true,
    }
}
