//! Tables made `AS` a table function: such a table has no rows of its own, and whoever reads it calls the function, with the rights of who
//! reads.

use std::collections::HashMap;
use std::sync::Arc;

use squall_sql::ast;
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::analyzer::{Analyzer, Scope, Source, cast, project, text, whole};
use crate::catalog::{ColumnDescription, TableMetadata};
use crate::context::PlannerContext;
use crate::create::described;
use crate::definition::{TABLE_FUNCTION, TableDefinition, foreign_function, is_s3_engine};
use crate::expression::Expression;
use crate::plan::Plan;

/// The engine that is shown of a table whose function stands for other tables.
const PROXY: &str = "Proxy";

/// The definition of a table of a function's rows, with the function's columns unless others are declared.
///
/// # Errors
/// What is wrong with the function, `ACCESS_DENIED` where it reads what its maker may not read, and `THERE_IS_NO_COLUMN`.
pub(crate) fn definition(
    function: &ast::Function,
    declared: Vec<ColumnDescription>,
    comment: &str,
    context: &PlannerContext<'_>,
) -> Result<TableDefinition> {
    // Parameters are this query's; later ones have none of them.
    let parameters = HashMap::new();
    let context = PlannerContext { parameters: &parameters, ..context.clone() };
    let analyzer = Analyzer::new(&context);
    let source = Scope::without_select(&analyzer, None).table_function(function)?;
    let engine = source.as_table().map_or(PROXY, |table| table.engine()).to_owned();
    let plan = whole(source);
    crate::rules::check_reads(&plan, &context)?;
    let of_function: Vec<ColumnDescription> = plan.schema().fields.iter().map(described).collect();
    for column in &declared {
        if column.default.is_some() {
            return Err(Error::not_implemented("A column with a default in a table made AS a table function"));
        }
        if !of_function.iter().any(|known| known.name == column.name) {
            let message = format!("There is no column {} in table function {}", column.name, function.name);
            return Err(Error::new(ErrorCode::THERE_IS_NO_COLUMN, message));
        }
    }
    let call = ast::ExpressionKind::Function(Box::new(function.clone()));
    let sql = text::expression(&ast::Expression::new(call, ast::Span::default()));
    Ok(TableDefinition {
        constraints: Vec::new(),
        indices: Vec::new(),
        projections: Vec::new(),
        ttl: Vec::new(),
        columns: if declared.is_empty() { of_function } else { declared },
        engine: TABLE_FUNCTION.into(),
        engine_arguments: vec![Value::string(sql), Value::string(engine)],
        sorting_key: Vec::new(),
        primary_key: None,
        partition_key: Vec::new(),
        sampling_key: None,
        settings: Vec::new(),
        comment: comment.into(),
    })
}

/// The columns that a table of an engine has unless it declares others: those of the function whose rows it shows. None where it must
/// declare them.
///
/// # Errors
/// Those of the function; `CANNOT_EXTRACT_TABLE_STRUCTURE` where the engine shows tables and there is none.
pub(crate) fn columns_of_engine(
    engine: &str,
    arguments: Vec<Value>,
    context: &PlannerContext<'_>,
) -> Result<Vec<ColumnDescription>> {
    let has_own = matches!(engine, "Merge" | "SQLite") || is_s3_engine(engine) || foreign_function(engine).is_some();
    let definition = TableDefinition { engine: engine.into(), engine_arguments: arguments, ..Default::default() };
    let Some(function) = definition.function_of_engine().filter(|_| has_own) else { return Ok(Vec::new()) };
    let function = parse_table_function(&function)?;
    let columns = Analyzer::new(context).table_function_columns(&function)?;
    let is_shown = |name: &str| engine != "Merge" || !matches!(name, "_database" | "_table");
    Ok(columns.into_iter().filter(|column| is_shown(&column.name)).collect())
}

/// The function of a definition's text.
///
/// # Errors
/// `SYNTAX_ERROR`.
pub fn parse_table_function(sql: &str) -> Result<Arc<ast::Function>> {
    let bad =
        |why: String| Error::new(ErrorCode::SYNTAX_ERROR, format!("The table function {sql} cannot be read: {why}"));
    let create = format!("CREATE TABLE t AS {sql}");
    let statement = squall_sql::parse(&create, &squall_sql::ParserLimits::default());
    if let ast::Statement::CreateTable(create) = statement.map_err(|error| bad(error.to_string()))?
        && let Some(ast::CreateSource::Function(function)) = create.source
    {
        return Ok(Arc::new(function));
    }
    Err(bad("it is none".to_owned()))
}

/// The rows of such a table, where the query may read the table and all that the function reads.
///
/// # Errors
/// Those of the function; `ACCESS_DENIED`; `NOT_IMPLEMENTED` where a row policy hides some of the rows.
pub(crate) fn rows(analyzer: &Analyzer<'_>, table: &dyn TableMetadata, function: &ast::Function) -> Result<Source> {
    let catalog = analyzer.context.catalog;
    let names: Vec<&str> = table.columns().iter().map(|column| &*column.name).collect();
    catalog.check_read(table, &names)?;
    if catalog.row_filter(table)?.is_some() {
        return Err(Error::not_implemented("A row policy of a table made AS a table function"));
    }
    // Tables over others show what those have of their columns at the moment.
    let is_merge = table.engine() == "Merge";
    let shows_others = is_merge || table.engine() == "Buffer";
    let input = analyzer.nested(|| {
        let mut scope = Scope::without_select(analyzer, None);
        if !shows_others {
            return Ok(whole(scope.table_function(function)?));
        }
        match scope.merge(&function.arguments, Some((table.database(), table.name()))) {
            // The name of a database that is gone, or of no table.
            Err(error) if error.code == ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE => {
                Ok(Plan::Values { schema: Arc::default(), blocks: Vec::new() })
            }
            source => Ok(whole(source?.with_virtual_columns(0))),
        }
    })?;
    let mut expressions = Vec::with_capacity(names.len());
    for column in table.columns() {
        let of_function = match input.schema().position(&column.name) {
            Some(position) => {
                let of_function = Expression::column(position, &input.schema().fields[position].1);
                if table.engine() == "SQLite" || foreign_function(table.engine()).is_some() {
                    or_default(of_function, &column.data_type, analyzer)?
                } else {
                    of_function
                }
            }
            None if shows_others => {
                let value = squall_types::default_value(&column.data_type);
                Expression::Constant { value, data_type: column.data_type.clone() }
            }
            None => {
                let message = format!("Table function {} has no column {} any more", function.name, column.name);
                return Err(Error::new(ErrorCode::THERE_IS_NO_COLUMN, message));
            }
        };
        expressions.push(cast(of_function, &column.data_type, &analyzer.context.functions)?);
    }
    let mut names: Vec<Arc<str>> = table.columns().iter().map(|column| column.name.clone()).collect();
    let mut virtual_columns = 0;
    for name in ["_database", "_table"] {
        if let Some(position) = input.schema().position(name).filter(|_| is_merge) {
            expressions.push(Expression::column(position, &input.schema().fields[position].1));
            names.push(name.into());
            virtual_columns += 1;
        }
    }
    let plan: Plan = project(input, expressions, names.into_iter());
    let source = Source::plan(plan).with_virtual_columns(virtual_columns);
    Ok(source.named(Some(table.database()), Some(table.name())))
}

/// Values with the default in the place of NULL, where the column that shows them has none: SQLite does not insist on what it declares,
/// and what another server has may be declared here without NULL.
fn or_default(values: Expression, shown_as: &DataType, analyzer: &Analyzer<'_>) -> Result<Expression> {
    let with_null = shown_as.to_nullable();
    if shown_as.is_nullable() || !values.data_type().is_nullable() || !with_null.is_nullable() {
        return Ok(values);
    }
    let functions = &analyzer.context.functions;
    let default = Expression::Constant { value: squall_types::default_value(shown_as), data_type: shown_as.clone() };
    crate::rules::call("ifNull", vec![cast(values, &with_null, functions)?, default], functions)
}
