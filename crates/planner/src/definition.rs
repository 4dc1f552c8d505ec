//! A table as `CREATE TABLE` defines it, typed: what the planner makes of the statement and `storage` keeps.

use std::sync::Arc;

use squall_sql::ast;
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::analyzer::text;
use crate::catalog::ColumnDescription;
use crate::expression::Expression;

/// What stands for an engine in tables that are made `AS` a table function; its arguments are the call, and the engine that is shown.
pub const TABLE_FUNCTION: &str = "TableFunction";

/// Whether tables of an engine are objects of S3, or of what speaks its protocol.
pub fn is_s3_engine(engine: &str) -> bool {
    matches!(engine, "S3" | "GCS" | "OSS" | "COSN")
}

/// The table function whose rows tables of an engine show that are another server's: PostgreSQL's or MySQL's.
pub fn foreign_function(engine: &str) -> Option<&'static str> {
    match engine {
        "PostgreSQL" => Some("postgresql"),
        "MySQL" => Some("mysql"),
        _ => None,
    }
}

/// The engine of views; its argument is the query.
pub const VIEW: &str = "View";

/// The engine of materialized views; [`MaterializedView`](crate::MaterializedView) says what its arguments are.
pub const MATERIALIZED_VIEW: &str = "MaterializedView";

/// A condition on a table's rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Constraint {
    /// Its name.
    pub name: Arc<str>,
    /// `ASSUME`: nobody checks it.
    pub is_assumed: bool,
    /// The condition in SQL.
    pub sql: Arc<str>,
}

/// A skip index, as it is kept and shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SkipIndex {
    /// Its name.
    pub name: Arc<str>,
    /// What is indexed, in SQL.
    pub sql: Arc<str>,
    /// `minmax`, `set(100)`, ….
    pub kind: Arc<str>,
    /// Granules of an entry.
    pub granularity: u64,
}

impl std::fmt::Display for SkipIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = text::expression(&ast::Expression::identifier(&*self.name));
        write!(f, "INDEX {name} {} TYPE {} GRANULARITY {}", self.sql, self.kind, self.granularity)
    }
}

/// A projection, as it is kept and shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProjectionDefinition {
    /// Its name.
    pub name: Arc<str>,
    /// What it selects, in SQL: `SELECT a, sum(b) GROUP BY a`.
    pub sql: Arc<str>,
    /// `WITH SETTINGS`, as text.
    pub settings: Vec<(Arc<str>, Arc<str>)>,
}

impl std::fmt::Display for ProjectionDefinition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = text::expression(&ast::Expression::identifier(&*self.name));
        write!(f, "PROJECTION {name} ({})", self.sql)?;
        if self.settings.is_empty() {
            return Ok(());
        }
        let setting = |(name, value): &(Arc<str>, Arc<str>)| match value.parse::<f64>() {
            Ok(_) => format!("{name} = {value}"),
            Err(_) => format!("{name} = {}", Value::string(&**value)),
        };
        write!(f, " WITH SETTINGS ({})", self.settings.iter().map(setting).collect::<Vec<_>>().join(", "))
    }
}

/// A table's definition.
#[derive(Clone, Debug, Default)]
pub struct TableDefinition {
    /// The columns, in order.
    pub columns: Vec<ColumnDescription>,
    /// The engine's name, `MergeTree` or `Memory`; `storage` refuses what it does not have (`UNKNOWN_STORAGE`).
    pub engine: Arc<str>,
    /// The engine's arguments, each as text. Of most engines it is SQL: a literal, or the name of a column.
    pub engine_arguments: Vec<Value>,
    /// `ORDER BY`: one entry per key, over the table's columns by position.
    pub sorting_key: Vec<KeyExpression>,
    /// `PRIMARY KEY` where it is given: a prefix of the sorting key.
    pub primary_key: Option<Vec<KeyExpression>>,
    /// `PARTITION BY`.
    pub partition_key: Vec<KeyExpression>,
    /// `SAMPLE BY`: an unsigned integer over whose range rows are spread evenly.
    pub sampling_key: Option<KeyExpression>,
    /// `SETTINGS`, as text.
    pub settings: Vec<(Arc<str>, Arc<str>)>,
    /// `COMMENT`.
    pub comment: Arc<str>,
    /// `CONSTRAINT`.
    pub constraints: Vec<Constraint>,
    /// `INDEX`.
    pub indices: Vec<SkipIndex>,
    /// `PROJECTION`.
    pub projections: Vec<ProjectionDefinition>,
    /// `TTL` of the table: its elements in SQL, as [`TableTtl`](crate::TableTtl) binds them.
    pub ttl: Vec<Arc<str>>,
}

impl TableDefinition {
    /// Whether rows or values of the table expire, or their files change, as time passes.
    pub fn has_ttl(&self) -> bool {
        !self.ttl.is_empty() || self.columns.iter().any(|column| column.ttl.is_some())
    }

    /// Whether the keys were given as the engine's arguments, as in `MergeTree(date, key, 8192)`.
    pub fn has_old_syntax(&self) -> bool {
        &*self.engine == "MergeTree" && !self.engine_arguments.is_empty()
    }

    /// The table function whose rows the table has.
    pub fn table_function(&self) -> Option<&str> {
        let text = self.engine_arguments.first().and_then(Value::as_str)?;
        (&*self.engine == TABLE_FUNCTION).then_some(text)
    }

    /// The query of a view.
    pub fn view_query(&self) -> Option<&str> {
        let text = self.engine_arguments.first().and_then(Value::as_str)?;
        (&*self.engine == VIEW).then_some(text)
    }

    /// The table function whose rows a table shows of an engine that has none of its own.
    pub fn function_of_engine(&self) -> Option<String> {
        let arguments = || self.engine_arguments.iter().filter_map(Value::as_str);
        match &*self.engine {
            "Merge" | "Buffer" => Some(format!("merge({})", arguments().take(2).collect::<Vec<_>>().join(", "))),
            "SQLite" => Some(format!("sqlite({})", arguments().collect::<Vec<_>>().join(", "))),
            engine if is_s3_engine(engine) => Some(format!("s3({})", arguments().collect::<Vec<_>>().join(", "))),
            engine if let Some(function) = foreign_function(engine) => {
                Some(format!("{function}({})", arguments().collect::<Vec<_>>().join(", ")))
            }
            "Executable" => {
                let structure = self.structure();
                let program = arguments().take(2).chain([structure.as_str()]).chain(arguments().skip(2));
                let mut program: Vec<String> = program.map(str::to_owned).collect();
                if !self.settings.is_empty() {
                    let setting =
                        |(name, value): &(Arc<str>, Arc<str>)| format!("{name} = {}", Value::string(&**value));
                    let settings: Vec<String> = self.settings.iter().map(setting).collect();
                    program.push(format!("SETTINGS {}", settings.join(", ")));
                }
                Some(format!("executable({})", program.join(", ")))
            }
            "GenerateRandom" => {
                let structure = self.structure();
                let arguments: Vec<&str> = std::iter::once(structure.as_str()).chain(arguments()).collect();
                Some(format!("generateRandom({})", arguments.join(", ")))
            }
            _ => None,
        }
    }

    /// The columns as a string of SQL that a table function takes for its structure.
    fn structure(&self) -> String {
        let column = |column: &ColumnDescription| {
            let name = text::expression(&ast::Expression::identifier(column.name.to_string()));
            format!("{name} {}", column.data_type)
        };
        let structure: Vec<String> = self.columns.iter().map(column).collect();
        Value::string(structure.join(", ")).to_string()
    }

    /// The names of the columns that the place of a row depends on: those of all keys, and those that the engine's arguments name.
    pub fn key_columns(&self) -> Vec<String> {
        let keys = self.sorting_key.iter().chain(self.primary_key.iter().flatten()).chain(&self.partition_key);
        let mut names: Vec<String> = Vec::new();
        for key in keys {
            key.expression.visit_columns(&mut |position| {
                names.extend(self.columns.get(position).map(|column| column.name.to_string()));
            });
        }
        if self.engine.ends_with("MergeTree") {
            let arguments = self.engine_arguments.iter().filter_map(Value::as_str);
            names.extend(arguments.map(|argument| argument.trim_matches('`').to_owned()));
        }
        names
    }

    /// Whether the table is but another word for rows elsewhere.
    pub fn has_no_rows(&self) -> bool {
        matches!(&*self.engine, VIEW | MATERIALIZED_VIEW)
    }

    /// The statement of a dictionary. A table with `ENGINE = Dictionary(name)` has that name in its place, and this is none.
    pub fn dictionary_statement(&self) -> Option<&str> {
        let text = self.engine_arguments.first().and_then(Value::as_str)?;
        (&*self.engine == "Dictionary" && text.starts_with("CREATE DICTIONARY ")).then_some(text)
    }
}

/// One expression of a key: its text to keep and show, and what it computes.
#[derive(Clone, Debug)]
pub struct KeyExpression {
    /// The expression in SQL.
    pub sql: Arc<str>,
    /// The same over the table's columns by position.
    pub expression: Expression,
}

impl KeyExpression {
    /// # Errors
    /// `DATA_TYPE_CANNOT_BE_USED_IN_KEY` for states, which have no order.
    pub fn check_comparable(&self) -> Result<()> {
        let data_type = self.expression.data_type();
        if !matches!(data_type.inner(), DataType::AggregateFunction(_)) {
            return Ok(());
        }
        let message = format!(
            "Column `{}` with type {data_type} is not allowed in key expression, it's not comparable",
            self.sql
        );
        Err(Error::new(ErrorCode::DATA_TYPE_CANNOT_BE_USED_IN_KEY, message))
    }
}
