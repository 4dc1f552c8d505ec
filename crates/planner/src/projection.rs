//! Projections: what CREATE TABLE keeps of their queries, and these queries bound to the table's columns. What is kept of the rows is a table
//! of its own, whose columns and order are told here; writing and reading it is `storage`'s business.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use squall_functions::{AggregateFunction, FunctionContext, resolve_aggregate, state_and_merge};
use squall_sql::{ParserLimits, ast};
use squall_types::{DataType, Error, ErrorCode, Result, Settings, Value};

use crate::analyzer::{analyze_query, text, typed_literal};
use crate::bind::Nothing;
use crate::catalog::{Catalog, ColumnDescription, TableMetadata};
use crate::context::PlannerContext;
use crate::create::plan_setting;
use crate::definition::{KeyExpression, ProjectionDefinition};
use crate::expression::Expression;
use crate::plan::{Aggregate, AggregateCall, Plan, Scan};
use crate::rules::{over_keys, settle_expressions};

/// The name of the table in a projection's query.
const TABLE: &str = "_projected";

/// A projection of a table.
#[derive(Clone, Debug)]
pub struct Projection {
    /// Its name.
    pub name: Arc<str>,
    /// The columns that it has: one for each value, then one of states for each aggregate.
    pub columns: Vec<ColumnDescription>,
    /// What the first columns hold, over the table's: of an aggregating projection its keys.
    pub values: Vec<Expression>,
    /// What the columns after these hold the states of.
    pub aggregates: Vec<ProjectionAggregate>,
    /// Whether rows of equal keys are one.
    pub is_aggregating: bool,
    /// What its rows are sorted by, over its own columns.
    pub sorting_key: Vec<KeyExpression>,
}

/// An aggregate of a projection.
#[derive(Clone, Debug)]
pub struct ProjectionAggregate {
    /// The aggregate, over the table's columns.
    pub call: AggregateCall,
    /// What gives its states.
    pub state: Arc<dyn AggregateFunction>,
    /// What gives its results for states.
    pub merge: Arc<dyn AggregateFunction>,
}

/// The rows of a table, as a projection has them.
#[derive(Clone, Debug)]
pub struct Projected {
    /// The projection's rows, where it has any: a table of the projection's columns.
    pub rows: Arc<dyn TableMetadata>,
    /// The table's rows that the projection does not have.
    pub rest: Option<Arc<dyn TableMetadata>>,
}

/// A projection that a statement declares for a table of these columns.
///
/// # Errors
/// As of [`Projection::bind`]; `NOT_IMPLEMENTED` for kinds that are not here.
pub fn plan_projection(
    declared: &ast::ProjectionDeclaration,
    columns: &[ColumnDescription],
    functions: &FunctionContext,
) -> Result<ProjectionDefinition> {
    let ast::ProjectionBody::Select(select) = &declared.body else {
        return Err(Error::not_implemented("A projection of the kind INDEX"));
    };
    let definition = ProjectionDefinition {
        name: declared.name.value.as_str().into(),
        sql: squall_sql::format_projection_select(select).into(),
        settings: declared.settings.iter().map(plan_setting).collect::<Result<_>>()?,
    };
    Projection::bind(&definition, columns, functions)?;
    Ok(definition)
}

impl ProjectionDefinition {
    /// As SHOW CREATE TABLE shows it, over several lines.
    pub fn many_lines(&self) -> String {
        let declaration = self.to_string();
        let text = declaration.strip_prefix("PROJECTION ").unwrap_or(&declaration);
        match squall_sql::parse_projection(text, &ParserLimits::default()) {
            Ok(parsed) => format!("PROJECTION {}", squall_sql::format_projection(&parsed, false)),
            Err(_) => declaration,
        }
    }
}

impl Projection {
    /// Binds what a definition says to a table's columns.
    ///
    /// # Errors
    /// `ILLEGAL_PROJECTION` for a query that a projection cannot have, `BAD_ARGUMENTS` for one without an order and for expressions that are
    /// not the same each time; whatever is wrong with its expressions.
    pub fn bind(
        definition: &ProjectionDefinition,
        columns: &[ColumnDescription],
        functions: &FunctionContext,
    ) -> Result<Self> {
        let select = parse(&definition.sql)?;
        if select.filter.is_some() {
            return Err(Error::not_implemented("A projection with WHERE"));
        }
        let order: Vec<ast::Expression> = match &select.order_by {
            Some(order) if order.items.iter().any(|item| item.descending) => {
                return Err(Error::not_implemented("A projection in descending order"));
            }
            Some(order) => order.items.iter().flat_map(|item| elements(&item.expression)).collect(),
            None => Vec::new(),
        };
        let (plan, order_from) = analyze(&select, &order, columns, functions)?;
        let bound = match split(&plan)? {
            Query::Plain(values) => Self::plain(&definition.name, &plan, values, order_from)?,
            Query::Grouped(_) if !order.is_empty() => {
                return Err(illegal("When aggregation is used in projection, ORDER BY cannot be specified."));
            }
            Query::Grouped(aggregate) => Self::grouped(&definition.name, aggregate)?,
        };
        let arguments = bound.aggregates.iter().flat_map(|aggregate| &aggregate.call.arguments);
        if bound.values.iter().chain(arguments).any(|value| !value.is_deterministic()) {
            let message = format!("Projection {} contains an expression that is not deterministic", definition.name);
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        Ok(bound)
    }

    /// One of rows in another order: the last of `values`, from `order_from` on, are the order's.
    fn plain(name: &Arc<str>, plan: &Plan, values: Vec<Expression>, order_from: usize) -> Result<Self> {
        if order_from == values.len() {
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "ORDER BY cannot be empty"));
        }
        let mut bound = Self {
            name: name.clone(),
            columns: Vec::new(),
            values: Vec::new(),
            aggregates: Vec::new(),
            is_aggregating: false,
            sorting_key: Vec::new(),
        };
        let names: Vec<&str> = plan.schema().names().collect();
        for (at, value) in values.iter().enumerate().take(order_from) {
            bound.add(names.get(at).copied().unwrap_or_default(), value);
        }
        for (at, value) in values.iter().enumerate().skip(order_from) {
            let sql = names.get(at).copied().unwrap_or_default().to_owned();
            let expression = match over_keys(value, &bound.values, &|_| true) {
                Some(expression) => expression,
                None => {
                    let at = bound.add(&sql, value);
                    Expression::column(at, value.data_type())
                }
            };
            bound.sorting_key.push(KeyExpression { sql: sql.into(), expression });
        }
        Ok(bound)
    }

    /// One of rows that are aggregated.
    fn grouped(name: &Arc<str>, aggregate: Aggregate) -> Result<Self> {
        if aggregate.with_totals || aggregate.sets.is_some() {
            return Err(illegal("A projection has one set of keys"));
        }
        let mut bound = Self {
            name: name.clone(),
            columns: Vec::new(),
            values: Vec::new(),
            aggregates: Vec::new(),
            is_aggregating: true,
            sorting_key: Vec::new(),
        };
        let names: Vec<&str> = aggregate.schema.names().collect();
        for (at, key) in aggregate.keys.iter().enumerate() {
            let name = names.get(at).copied().unwrap_or_default();
            if bound.values.iter().any(|known| known.same(key)) {
                continue;
            }
            let position = bound.add(name, key);
            let expression = Expression::column(position, key.data_type());
            bound.sorting_key.push(KeyExpression { sql: name.into(), expression });
        }
        for call in aggregate.aggregates {
            let state = state_function(&call)?;
            let (_, merge) = state_and_merge(&call.function);
            let column = bound.unused(&call.name);
            bound.columns.push(ColumnDescription::new(column, state.return_type().clone()));
            bound.aggregates.push(ProjectionAggregate { call, state, merge });
        }
        Ok(bound)
    }

    /// Adds a column of a value, where there is none yet; its position.
    fn add(&mut self, name: &str, value: &Expression) -> usize {
        if let Some(known) = self.values.iter().position(|known| known.same(value)) {
            return known;
        }
        let name = self.unused(name);
        self.columns.push(ColumnDescription::new(name, value.data_type().clone()));
        self.values.push(value.clone());
        self.values.len() - 1
    }

    /// A name like this that no column has.
    fn unused(&self, name: &str) -> Arc<str> {
        let is_unused = |name: &str| !self.columns.iter().any(|column| &*column.name == name);
        let numbered = (1..u32::MAX).map(|number| format!("{name}_{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        names.find(|name| is_unused(name)).unwrap_or_default().into()
    }
}

/// What a projection's query is.
enum Query {
    /// Values of each row.
    Plain(Vec<Expression>),
    /// An aggregation of the table's rows.
    Grouped(Aggregate),
}

fn parse(sql: &str) -> Result<ast::ProjectionSelect> {
    let parsed = squall_sql::parse_projection(&format!("p ({sql})"), &ParserLimits::default())
        .map_err(|error| Error::new(ErrorCode::SYNTAX_ERROR, error.to_string()))?;
    match parsed.body {
        ast::ProjectionBody::Select(select) => Ok(*select),
        ast::ProjectionBody::Index { .. } => Err(illegal("A projection without a query")),
    }
}

/// The elements of a tuple, or the expression itself.
fn elements(expression: &ast::Expression) -> Vec<ast::Expression> {
    match expression.as_function() {
        Some(call) if call.name == "tuple" => call.arguments.clone(),
        _ => vec![expression.clone()],
    }
}

/// The plan of a projection's query, with what it is ordered by as its last columns; the first of these.
fn analyze(
    select: &ast::ProjectionSelect,
    order: &[ast::Expression],
    columns: &[ColumnDescription],
    functions: &FunctionContext,
) -> Result<(Plan, usize)> {
    let table = ast::TableExpression {
        source: ast::TableSource::Table(ast::TableName::new(TABLE)),
        alias: None,
        column_aliases: Vec::new(),
        with_final: false,
        sample: None,
        span: ast::Span::default(),
    };
    let body = ast::Select {
        with: select.with.clone(),
        projection: select.projection.iter().chain(order).cloned().collect(),
        from: Some(ast::From { table: Some(table), steps: Vec::new() }),
        group_by: select.group_by.clone(),
        ..ast::Select::default()
    };
    let query = ast::Query::of(ast::QueryBody::Select(Box::new(body)), ast::Span::default());
    let mut settings = Settings::default();
    settings.enable_positional_arguments = false;
    let catalog = OneTable { columns: columns.into() };
    let context = PlannerContext {
        catalog: &catalog,
        settings: &settings,
        functions: functions.clone(),
        parameters: &HashMap::new(),
        subqueries: &Nothing,
    };
    let mut plan = analyze_query(&query, &context)?;
    settle_expressions(&mut plan, functions)?;
    let order_from = plan.schema().len().saturating_sub(order.len());
    Ok((plan, order_from))
}

/// What the plan of a projection's query does, over the table's columns.
fn split(plan: &Plan) -> Result<Query> {
    let refused = || illegal("A projection selects columns or aggregates of its table, and nothing else");
    if let Some(values) = values_of(plan) {
        return Ok(Query::Plain(values));
    }
    let mut inner = plan;
    while let Plan::Project { input, .. } = inner {
        inner = input;
    }
    let Plan::Aggregate(aggregate) = inner else { return Err(refused()) };
    let values = values_of(&aggregate.input).ok_or_else(refused)?;
    let mut aggregate = aggregate.clone();
    let arguments = aggregate.aggregates.iter_mut().flat_map(|call| &mut call.arguments);
    aggregate.keys.iter_mut().chain(arguments).for_each(|expression| *expression = expression.substitute(&values));
    Ok(Query::Grouped(aggregate))
}

/// The columns of a step over the columns of the table that it reads, where it does nothing but compute them row by row.
fn values_of(plan: &Plan) -> Option<Vec<Expression>> {
    match plan {
        Plan::Scan(Scan { columns, schema, predicate: None, limit: None, .. }) => {
            Some(columns.iter().zip(schema.types()).map(|(at, data_type)| Expression::column(*at, data_type)).collect())
        }
        Plan::Project { input, expressions, .. } => {
            let values = values_of(input)?;
            Some(expressions.iter().map(|expression| expression.substitute(&values)).collect())
        }
        _ => None,
    }
}

/// What gives the states of an aggregate.
fn state_function(call: &AggregateCall) -> Result<Arc<dyn AggregateFunction>> {
    let function = text::parse_expression(call.function_text())?;
    let parameter = |parameter: &ast::Expression| match parameter.as_literal() {
        Some(literal) => Ok(typed_literal(literal)?.0),
        None => Err(illegal(&format!("A parameter of {} is no literal", call.name))),
    };
    let parameters = match function.as_function() {
        Some(function) => function.arguments.iter().map(parameter).collect::<Result<Vec<Value>>>()?,
        None => Vec::new(),
    };
    let types: Vec<DataType> = call.arguments.iter().map(|argument| argument.data_type().computed()).collect();
    resolve_aggregate(&format!("{}State", call.function_name()), &parameters, &types)
}

fn illegal(message: &str) -> Error {
    Error::new(ErrorCode::ILLEGAL_PROJECTION, message)
}

/// The table of a projection's query.
#[derive(Debug)]
struct OneTable {
    columns: Arc<[ColumnDescription]>,
}

impl Catalog for OneTable {
    fn table(&self, _: Option<&str>, table: &str) -> Result<Arc<dyn TableMetadata>> {
        match table {
            TABLE => Ok(Arc::new(Self { columns: self.columns.clone() })),
            other => Err(Error::new(
                ErrorCode::ILLEGAL_PROJECTION,
                format!("A projection that reads another table, {other}"),
            )),
        }
    }

    fn tables(&self, _: &str) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn table_function(&self, name: &str, _: &[Value], _: &PlannerContext<'_>) -> Result<Arc<dyn TableMetadata>> {
        Err(Error::new(ErrorCode::ILLEGAL_PROJECTION, format!("A projection that reads another table, {name}()")))
    }
}

impl TableMetadata for OneTable {
    fn database(&self) -> &str {
        ""
    }
    fn name(&self) -> &str {
        TABLE
    }
    fn engine(&self) -> &str {
        "MergeTree"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}
