//! Tables of the engine `File`, and of those over objects of S3, as far as storage has them: a definition, and where the rows are. Formats and files are others' business:
//! the server puts what reads and writes the file in the table's place.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use squall_planner::{ColumnDescription, Constraint, DefaultKind, TableDefinition, TableMetadata, is_s3_engine};
use squall_types::{Error, ErrorCode, Result, Schema, Value};

use crate::identity::{TableIdentity, TableName};
use crate::table::{Insertion, ScanRequest, Table, TableScan};

/// A table whose rows are a file's, or those of objects of S3.
#[derive(Debug)]
pub struct StoredFile {
    name: Arc<TableName>,
    identity: Arc<TableIdentity>,
    arguments: Vec<String>,
}

impl StoredFile {
    pub(crate) fn new(name: Arc<TableName>, identity: Arc<TableIdentity>) -> Self {
        let arguments = identity.definition.engine_arguments.iter().filter_map(Value::as_str).map(text_of).collect();
        Self { name, identity, arguments }
    }

    /// Checks the engine's arguments and the columns.
    ///
    /// # Errors
    /// `NUMBER_OF_ARGUMENTS_DOESNT_MATCH`, `BAD_ARGUMENTS`.
    pub(crate) fn check(definition: &TableDefinition) -> Result<()> {
        let is_special = |column: &ColumnDescription| {
            column.default.as_ref().is_some_and(|default| default.kind != DefaultKind::Default)
        };
        if definition.columns.iter().any(is_special) && is_s3_engine(&definition.engine) {
            let message = "Special columns like MATERIALIZED, ALIAS or EPHEMERAL are not supported for s3 storage";
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        if definition.columns.iter().any(is_special) {
            let message = "Table engine File doesn't support special columns like MATERIALIZED, ALIAS or EPHEMERAL";
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        if is_s3_engine(&definition.engine) {
            let message = "Storage S3 requires an URL or a named collection, and up to 5 more arguments";
            let is_none = definition.engine_arguments.is_empty();
            let none = || Err(Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message));
            return if is_none { none() } else { Ok(()) };
        }
        if matches!(definition.engine_arguments.len(), 1..=3) {
            return Ok(());
        }
        let message =
            "Storage File requires from 1 to 3 arguments: name of used format, source and compression_method.";
        Err(Error::new(ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH, message))
    }

    /// The call of the function `s3` that the engine's arguments are those of; `None` for a file.
    pub fn s3_call(&self) -> Option<String> {
        let definition = &self.identity.definition;
        is_s3_engine(&definition.engine).then(|| definition.function_of_engine()).flatten()
    }

    fn argument(&self, at: usize) -> Option<&str> {
        self.arguments.get(at).map(String::as_str)
    }

    /// The format.
    pub fn format(&self) -> &str {
        self.argument(0).unwrap_or_default()
    }

    /// The path that the table was made with; without one the file is the table's own.
    pub fn path(&self) -> Option<&str> {
        self.argument(1)
    }

    /// The compression, where it was said.
    pub fn compression(&self) -> Option<&str> {
        self.argument(2)
    }

    /// The folder of the table's own file, within a server's data.
    pub fn own_folder(&self) -> PathBuf {
        PathBuf::from("files").join(self.identity.uuid.to_string())
    }

    /// The columns that are in the file.
    pub fn stored(&self) -> &Arc<Schema> {
        &self.identity.stored
    }

    /// The positions among these of some of the table's columns.
    ///
    /// # Errors
    /// Where one is not in the file.
    pub fn stored_columns(&self, columns: &[usize]) -> Result<Vec<usize>> {
        self.identity.stored_columns(columns)
    }
}

/// The format of a table of this definition.
pub fn format_of_definition(definition: &TableDefinition) -> Option<String> {
    let first = definition.engine_arguments.first().and_then(Value::as_str).map(text_of);
    first.filter(|_| &*definition.engine == "File")
}

/// An argument of the engine, which is kept as SQL.
fn text_of(sql: &str) -> String {
    let parsed = squall_sql::parse_expression(sql, &squall_sql::ParserLimits::default());
    let literal =
        parsed.ok().and_then(|parsed| parsed.as_literal().and_then(|literal| literal.as_str().map(str::to_owned)));
    literal.unwrap_or_else(|| sql.to_owned())
}

impl TableMetadata for StoredFile {
    fn database(&self) -> &str {
        &self.name.database
    }
    fn name(&self) -> &str {
        &self.name.table
    }
    fn engine(&self) -> &str {
        &self.identity.definition.engine
    }
    fn supports_prewhere(&self) -> bool {
        true
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.identity.definition.columns
    }
    fn constraints(&self) -> &[Constraint] {
        &self.identity.definition.constraints
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn not_in_place() -> Error {
    Error::not_implemented("A table of the engine File or S3 in this place")
}

impl Table for StoredFile {
    fn scan(&self, _: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        Err(not_in_place())
    }

    fn insert(&self) -> Result<Arc<dyn Insertion>> {
        Err(not_in_place())
    }
}
