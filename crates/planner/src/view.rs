//! Views: what CREATE VIEW keeps of a query, and the plan that stands where a view is read. A view sees nothing of the query that reads it but
//! the values of its own parameters.

use std::collections::HashMap;
use std::sync::Arc;

use squall_sql::ast::{self, ExpressionKind, Visitor, WithItem};
use squall_types::{Error, ErrorCode, Result, Value};

use crate::analyzer::{Analyzer, Source, analyze_query, cast, project, text};
use crate::catalog::{ColumnDescription, TableMetadata};
use crate::context::PlannerContext;
use crate::create::{check_count, described, settled_type};
use crate::definition::{TableDefinition, VIEW};
use crate::expression::Expression;
use crate::plan::Plan;
use crate::uses::Used;

/// The definition of a plain view.
///
/// # Errors
/// What is wrong with its query or its columns; `NOT_IMPLEMENTED` for other kinds of view.
pub fn plan_view_definition(create: &ast::CreateView, context: &PlannerContext<'_>) -> Result<TableDefinition> {
    let kind = match create.kind {
        ast::ViewKind::Plain | ast::ViewKind::Materialized => None,
        ast::ViewKind::Live => Some("CREATE LIVE VIEW"),
        ast::ViewKind::Window => Some("CREATE WINDOW VIEW"),
    };
    if let Some(kind) = kind {
        return Err(Error::not_implemented(kind));
    }
    if matches!(create.security, Some(ast::SqlSecurity::Definer | ast::SqlSecurity::None)) || create.definer.is_some() {
        return Err(Error::not_implemented(
            "A view that is read with the rights of another user, SQL SECURITY DEFINER or NONE,",
        ));
    }
    let Some(query) = &create.query else {
        return Err(Error::new(ErrorCode::INCORRECT_QUERY, "A view needs a query"));
    };
    let (mut query, has_parameters) = qualified(query, &context.functions.current_database);
    let declared = create.elements.as_ref().map(|elements| elements.columns.as_slice()).unwrap_or_default();
    check_count(declared.len())?;
    let has_types = declared.iter().any(|column| column.data_type.is_some());
    if !has_types && !declared.is_empty() {
        rename(&mut query, declared)?;
    }
    let mut columns: Vec<ColumnDescription> = Vec::new();
    if !has_parameters {
        let schema = analyze_query(&query, context)?.schema().clone();
        columns = schema.fields.iter().map(described).collect();
        if has_types {
            columns.clear();
            for column in declared {
                let data_type = column.data_type.as_ref().map(|data_type| settled_type(data_type, column.nullable));
                let data_type = data_type.transpose()?.unwrap_or(squall_types::DataType::String);
                let comment = column.comment.as_deref().unwrap_or_default().into();
                let of_name = described(&(column.name.value.as_str().into(), data_type));
                columns.push(ColumnDescription { comment, ..of_name });
            }
        }
    }
    Ok(TableDefinition {
        columns,
        engine: VIEW.into(),
        engine_arguments: vec![Value::string(text::query(query))],
        comment: create.comment.as_deref().unwrap_or_default().into(),
        ..TableDefinition::default()
    })
}

/// A query with the current database before names of tables that have none, and whether it has parameters.
pub(crate) fn qualified(query: &ast::Query, database: &str) -> (ast::Query, bool) {
    let mut query = query.clone();
    let mut names = Qualifier { database, hidden: Vec::new(), has_parameters: false };
    query.walk(&mut names);
    (query, names.has_parameters)
}

/// Gives the columns of a query other names: `CREATE VIEW v (a, b) AS …`.
pub(crate) fn rename(query: &mut ast::Query, names: &[ast::ColumnDeclaration]) -> Result<()> {
    fn of_body<'a>(body: &mut ast::QueryBody, names: &mut impl Iterator<Item = &'a ast::ColumnDeclaration>) {
        match body {
            ast::QueryBody::Select(select) => {
                for (column, name) in select.projection.iter_mut().zip(names) {
                    column.alias = Some(Box::new(name.name.clone()));
                }
            }
            ast::QueryBody::SetOperation(operation) => {
                if let Some(first) = operation.operands.first_mut() {
                    of_body(first, names);
                }
            }
        }
    }
    let mut first = &query.body;
    while let ast::QueryBody::SetOperation(operation) = first {
        match operation.operands.first() {
            Some(operand) => first = operand,
            None => break,
        }
    }
    if let ast::QueryBody::Select(select) = first
        && select.projection.len() != names.len()
    {
        let message = format!(
            "Number of columns doesn't match (source: {} and result: {})",
            select.projection.len(),
            names.len()
        );
        return Err(Error::new(ErrorCode::NUMBER_OF_COLUMNS_DOESNT_MATCH, message));
    }
    of_body(&mut query.body, &mut names.iter());
    Ok(())
}

/// Writes the current database before names of tables that have none.
struct Qualifier<'a> {
    database: &'a str,
    /// Names of common table expressions, of each SELECT that is being walked.
    hidden: Vec<Vec<String>>,
    has_parameters: bool,
}

impl Qualifier<'_> {
    fn is_hidden(&self, name: &str) -> bool {
        self.hidden.iter().flatten().any(|hidden| hidden == name)
    }
}

impl Visitor for Qualifier<'_> {
    fn enter(&mut self, select: &ast::Select) {
        let name = |item: &WithItem| match item {
            WithItem::Table { name, .. } => Some(name.value.clone()),
            WithItem::Expression(_) => None,
        };
        self.hidden.push(select.with.iter().filter_map(name).collect());
    }

    fn leave(&mut self, _: &ast::Select) {
        self.hidden.pop();
    }

    fn table(&mut self, name: &mut ast::TableName) {
        if name.database.is_none() && !name.table.parameter && !self.is_hidden(&name.table.value) {
            name.database = Some(ast::Identifier::new(self.database));
        }
    }

    fn expression(&mut self, expression: &mut ast::Expression) -> bool {
        match &mut expression.kind {
            ExpressionKind::Parameter(_) => self.has_parameters = true,
            ExpressionKind::Function(call)
                if matches!(
                    call.name.as_str(),
                    "in" | "notIn" | "globalIn" | "globalNotIn" | "nullIn" | "notNullIn"
                ) =>
            {
                if let Some(ExpressionKind::Identifier(parts)) = call.arguments.get_mut(1).map(|right| &mut right.kind)
                    && let [table] = parts.as_slice()
                    && !self.is_hidden(&table.value)
                {
                    parts.insert(0, ast::Identifier::new(self.database));
                }
            }
            _ => {}
        }
        true
    }
}

/// The query of a view's definition.
///
/// # Errors
/// `SYNTAX_ERROR`.
pub fn parse_view(sql: &str) -> Result<Arc<ast::Query>> {
    let bad = |why: String| Error::new(ErrorCode::SYNTAX_ERROR, format!("The query of a view cannot be read: {why}"));
    let statement = squall_sql::parse(sql, &squall_sql::ParserLimits::default());
    match statement.map_err(|error| bad(error.to_string()))? {
        ast::Statement::Query(query) => Ok(Arc::new(*query)),
        _ => Err(bad("it is none".to_owned())),
    }
}

/// The rows of a view, where the query may read it; what the view itself reads, the query must be allowed to read, too.
///
/// # Errors
/// Those of the view's query; `ACCESS_DENIED`; `UNKNOWN_IDENTIFIER` for a declared column that the query does not have.
pub(crate) fn rows(
    analyzer: &Analyzer<'_>,
    table: &dyn TableMetadata,
    query: &ast::Query,
    parameters: Option<HashMap<String, String>>,
) -> Result<Source> {
    let catalog = analyzer.context.catalog;
    let names: Vec<&str> = table.columns().iter().map(|column| &*column.name).collect();
    catalog.check_read(table, &names)?;
    catalog.note(Used::View(table.database(), table.name()));
    if catalog.row_filter(table)?.is_some() {
        return Err(Error::not_implemented("A row policy of a view"));
    }
    if names.is_empty() && parameters.is_none() {
        let message = format!("Empty list of columns in projection: the view {} has parameters", table.name());
        return Err(Error::new(ErrorCode::EMPTY_LIST_OF_COLUMNS_QUERIED, message));
    }
    catalog.within_view(true);
    let input = rows_of_query(analyzer, query, parameters);
    catalog.within_view(false);
    let input = input?;
    if names.is_empty() {
        return Ok(Source::plan(input).named(Some(table.database()), Some(table.name())));
    }
    let mut expressions = Vec::with_capacity(names.len());
    for column in table.columns() {
        let position = input.schema().position(&column.name).ok_or_else(|| {
            let message = format!("Unknown expression identifier `{}` in the view {}", column.name, table.name());
            Error::new(ErrorCode::UNKNOWN_IDENTIFIER, message)
        })?;
        let of_query = Expression::column(position, &input.schema().fields[position].1);
        // Whether a join makes NULLs is a setting of whoever reads.
        if of_query.data_type().is_nullable() && !column.data_type.is_nullable() && has_join(&query.body) {
            return Err(Error::new(
                ErrorCode::INCORRECT_QUERY,
                format!(
                    "Query from view {}.{} returned Nullable column having not Nullable type in structure. If query from \
                     view has JOIN, it may be cause by different values of 'join_use_nulls' setting. You may explicitly \
                     specify 'join_use_nulls' in 'CREATE VIEW' query to avoid this error",
                    table.database(),
                    table.name()
                ),
            ));
        }
        expressions.push(cast(of_query, &column.data_type, &analyzer.context.functions)?);
    }
    let plan = project(input, expressions, table.columns().iter().map(|column| column.name.clone()));
    Ok(Source::plan(plan).named(Some(table.database()), Some(table.name())))
}

/// Whether a query joins tables, itself or a part of it that a set operation combines.
fn has_join(body: &ast::QueryBody) -> bool {
    match body {
        ast::QueryBody::Select(select) => {
            let steps = select.from.iter().flat_map(|from| &from.steps);
            steps.into_iter().any(|step| matches!(step, ast::FromStep::Join(_)))
        }
        ast::QueryBody::SetOperation(operation) => operation.operands.iter().any(has_join),
    }
}

fn rows_of_query(
    analyzer: &Analyzer<'_>,
    query: &ast::Query,
    parameters: Option<HashMap<String, String>>,
) -> Result<Plan> {
    let settings = analyzer.context.settings_within(query)?;
    if parameters.is_none() && settings.is_none() {
        return analyzer.nested(|| analyzer.plan_within(&query.body, None));
    }
    let mut context = match &settings {
        Some(settings) => analyzer.context.under(settings),
        None => analyzer.context.clone(),
    };
    if let Some(parameters) = &parameters {
        context.parameters = parameters;
    }
    let within = analyzer.with_context(&context);
    within.nested(|| within.plan_within(&query.body, None))
}
