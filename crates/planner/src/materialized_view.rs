//! Materialized views: what CREATE MATERIALIZED VIEW keeps, the rows that stand where a view is read, and the plan of what a view writes
//! when rows are inserted into its source.

use std::sync::Arc;

use squall_sql::ast::{self, SqlSecurity, TableSource, WithItem};
use squall_types::{Error, ErrorCode, Result, Value};

use crate::analyzer::{Analyzer, Source, analyze_query, cast, project, text};
use crate::catalog::{ColumnDescription, DefaultKind, TableMetadata};
use crate::context::PlannerContext;
use crate::create::{check_count, described, plan_table_definition, settled_type};
use crate::definition::{MATERIALIZED_VIEW, TableDefinition};
use crate::expression::Expression;
use crate::insert::plan_insert;
use crate::plan::{Plan, Scan};
use crate::uses::Used;
use crate::view::{parse_view, qualified, rename};

/// A materialized view, as the arguments of its definition's engine say it.
#[derive(Clone, Debug)]
pub struct MaterializedView {
    /// What is computed of rows that are inserted into the source.
    pub query: Arc<ast::Query>,
    /// The table that the query reads first, by its database and name; none where it reads no table.
    pub source: Option<(String, String)>,
    /// The database of `TO`; none where the view has a table of its own, which is in the view's database.
    pub target_database: Option<String>,
    /// The table that is written to.
    pub target_table: String,
    /// Who made it, or `DEFINER`: the query runs with this user's rights, unless the security is `NONE`.
    pub definer: String,
    /// `SQL SECURITY`, where it was written.
    pub security: Option<SqlSecurity>,
    /// When it is refreshed, where it does not follow INSERTs.
    pub refresh: Option<Arc<ast::RefreshStrategy>>,
    /// `EMPTY`: it is not refreshed when it is made.
    pub begins_empty: bool,
}

impl MaterializedView {
    /// What a definition says.
    ///
    /// # Errors
    /// `SYNTAX_ERROR` where it is not a materialized view's.
    pub fn of(definition: &TableDefinition) -> Result<Self> {
        let text =
            |at: usize| definition.engine_arguments.get(at).and_then(Value::as_str).unwrap_or_default().to_owned();
        let query = parse_view(&text(0))?;
        let refresh = match text(5).as_str() {
            "" => None,
            text => Some(Arc::new(text::parse_refresh(text)?)),
        };
        Ok(Self {
            source: followed(&query, refresh.is_some())?,
            query,
            refresh,
            begins_empty: text(6) == "EMPTY",
            target_database: Some(text(1)).filter(|database| !database.is_empty()),
            target_table: text(2),
            definer: text(3),
            security: match text(4).as_str() {
                "DEFINER" => Some(SqlSecurity::Definer),
                "NONE" => Some(SqlSecurity::None),
                _ => None,
            },
        })
    }

    fn arguments(&self) -> Vec<Value> {
        let security = match self.security {
            Some(SqlSecurity::Definer) => "DEFINER",
            Some(SqlSecurity::None) => "NONE",
            Some(SqlSecurity::Invoker) | None => "",
        };
        let database = self.target_database.as_deref().unwrap_or_default();
        let query = text::query((*self.query).clone());
        let mut arguments =
            [query.as_str(), database, &self.target_table, &self.definer, security].map(Value::string).to_vec();
        if let Some(refresh) = &self.refresh {
            let empty = if self.begins_empty { "EMPTY" } else { "" };
            arguments.extend([squall_sql::format_refresh(refresh).as_str(), empty].map(Value::string));
        }
        arguments
    }

    /// The table that it writes to, of a view in this database.
    pub fn target<'a>(&'a self, database: &'a str) -> (&'a str, &'a str) {
        (self.target_database.as_deref().unwrap_or(database), &self.target_table)
    }

    /// Whether the table that it writes to is a part of the view.
    pub fn has_inner_table(&self) -> bool {
        self.target_database.is_none()
    }
}

/// The definition of a view with the name of its inner table.
pub fn view_target(definition: &mut TableDefinition, inner: &str) {
    if let Some(argument) = definition.engine_arguments.get_mut(2) {
        *argument = Value::string(inner);
    }
}

/// The table whose INSERTs a view follows.
fn followed(query: &ast::Query, is_refreshed: bool) -> Result<Option<(String, String)>> {
    if is_refreshed { Ok(None) } else { source(query) }
}

/// A view's REFRESH clause, in which names have their databases.
fn settled_refresh(strategy: &ast::RefreshStrategy, current_database: &str) -> Arc<ast::RefreshStrategy> {
    let mut strategy = strategy.clone();
    for name in &mut strategy.depends_on {
        name.database.get_or_insert_with(|| ast::Identifier::new(current_database));
    }
    Arc::new(strategy)
}

/// The definition of a view after `MODIFY REFRESH`.
///
/// # Errors
/// `NOT_IMPLEMENTED` for another table or view, and where `APPEND` changes.
pub fn altered_refresh(
    definition: &TableDefinition,
    strategy: &ast::RefreshStrategy,
    current_database: &str,
) -> Result<TableDefinition> {
    let refused = |what: &str| Err(Error::new(ErrorCode::NOT_IMPLEMENTED, what));
    if &*definition.engine != MATERIALIZED_VIEW {
        return refused(&format!("ALTER MODIFY REFRESH is not supported by storage {}", definition.engine));
    }
    let mut view = MaterializedView::of(definition)?;
    match &view.refresh {
        None => return refused("MODIFY REFRESH is for refreshable materialized views alone"),
        Some(before) if before.append != strategy.append => return refused("Changing APPEND is not supported"),
        Some(_) => {}
    }
    view.refresh = Some(settled_refresh(strategy, current_database));
    Ok(TableDefinition { engine_arguments: view.arguments(), ..definition.clone() })
}

/// The table that a query reads first: what FROM begins with, also in subqueries.
fn source(query: &ast::Query) -> Result<Option<(String, String)>> {
    fn of_body(body: &ast::QueryBody, with: &[&WithItem]) -> Result<Option<(String, String)>> {
        let select = match body {
            ast::QueryBody::Select(select) => select,
            ast::QueryBody::SetOperation(operation) => {
                return operation.operands.first().map_or(Ok(None), |first| of_body(first, with));
            }
        };
        let mut with = with.to_vec();
        with.extend(&select.with);
        let Some(table) = select.from.as_ref().and_then(|from| from.table.as_ref()) else { return Ok(None) };
        match &table.source {
            TableSource::Table(name) => {
                let Some(database) = &name.database else {
                    // The query of a WITH, which reads what is before it alone.
                    let found = with.iter().enumerate().rev().find_map(|(at, item)| match item {
                        WithItem::Table { name: known, query, .. } if known.value == name.table.value => {
                            Some((at, query))
                        }
                        _ => None,
                    });
                    return found.map_or(Ok(None), |(at, query)| of_body(&query.body, &with[..at]));
                };
                Ok(Some((database.value.clone(), name.table.value.clone())))
            }
            TableSource::Subquery(query) => of_body(&query.body, &with),
            TableSource::Function(function) => {
                let call = ast::ExpressionKind::Function(function.clone());
                let call = text::expression(&ast::Expression::new(call, ast::Span::default()));
                let message = format!("StorageMaterializedView cannot be created from table functions ({call})");
                Err(Error::new(ErrorCode::QUERY_IS_NOT_SUPPORTED_IN_MATERIALIZED_VIEW, message))
            }
        }
    }
    of_body(&query.body, &[])
}

/// The definitions of a materialized view and, where it is not `TO` another table, of the table for its rows, whose name
/// [`view_target`] is to say.
///
/// # Errors
/// What is wrong with its query, its columns or its table; `THERE_IS_NO_COLUMN` where the table that it is `TO` has not the query's columns.
pub fn plan_materialized_view(
    create: &ast::CreateView,
    context: &PlannerContext<'_>,
) -> Result<(TableDefinition, Option<TableDefinition>)> {
    if create.refresh.is_some() && create.populate {
        let message = "POPULATE is not for a view with REFRESH, which is filled by its first refresh";
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    if create.to_inner_uuid.is_some() {
        return Err(Error::not_implemented("CREATE MATERIALIZED VIEW … TO INNER UUID"));
    }
    if create.security == Some(SqlSecurity::Invoker) {
        let message = "SQL SECURITY INVOKER can't be specified for MATERIALIZED VIEW";
        return Err(Error::new(ErrorCode::QUERY_IS_NOT_SUPPORTED_IN_MATERIALIZED_VIEW, message));
    }
    if create.to.is_some() && create.storage.is_some() {
        let message = "When creating a materialized view you can't declare both 'TO [db].[table]' and 'ENGINE'";
        return Err(Error::new(ErrorCode::SYNTAX_ERROR, message));
    }
    let Some(query) = &create.query else {
        return Err(Error::new(ErrorCode::INCORRECT_QUERY, "A view needs a query"));
    };
    let (mut query, _) = qualified(query, &context.functions.current_database);
    let mut elements = create.elements.clone().unwrap_or_default();
    check_count(elements.columns.len())?;
    if !elements.columns.is_empty() && elements.columns.iter().all(|column| column.data_type.is_none()) {
        rename(&mut query, &elements.columns).map_err(|_| {
            Error::new(
                ErrorCode::BAD_ARGUMENTS,
                "Number of aliases does not match number of expressions in SELECT list",
            )
        })?;
        elements.columns.clear();
    }
    let of_query = columns_of(&query, context)?;
    let definer = match (&create.definer, &create.security) {
        (_, Some(SqlSecurity::None)) => String::new(),
        (Some(ast::Definer::User(name)), _) => name.clone(),
        (Some(ast::Definer::CurrentUser) | None, _) => context.functions.moment.user().to_string(),
    };
    let mut view = MaterializedView {
        source: followed(&query, create.refresh.is_some())?,
        query: Arc::new(query),
        refresh: create.refresh.as_ref().map(|it| settled_refresh(it, &context.functions.current_database)),
        begins_empty: create.empty,
        target_database: None,
        target_table: String::new(),
        definer,
        security: create.security.or(create.definer.as_ref().map(|_| SqlSecurity::Definer)),
    };
    let (columns, inner) = match &create.to {
        Some(name) => {
            let analyzer = Analyzer::new(context);
            let database = match &name.database {
                Some(database) => analyzer.identifier(database)?,
                None => &*context.functions.current_database,
            };
            let target = context.catalog.table(Some(database), analyzer.identifier(&name.table)?)?;
            check_target(&of_query, target.columns())?;
            view.target_database = Some(target.database().to_owned());
            view.target_table = target.name().to_owned();
            (declared(&elements.columns, of_query)?, None)
        }
        None => {
            let inner = inner_definition(create, elements, &view.query, context)?;
            (inner.columns.clone(), Some(inner))
        }
    };
    let comment = create.comment.as_deref().unwrap_or_default().into();
    let engine_arguments = view.arguments();
    let definition =
        TableDefinition { columns, engine: MATERIALIZED_VIEW.into(), engine_arguments, comment, ..Default::default() };
    Ok((definition, inner))
}

/// The definition of a materialized view's own table: `ENGINE`, which is MergeTree without a key where none is said.
fn inner_definition(
    create: &ast::CreateView,
    elements: ast::TableElements,
    query: &ast::Query,
    context: &PlannerContext<'_>,
) -> Result<TableDefinition> {
    let mut storage = create.storage.clone().unwrap_or_default();
    let engine = storage.engine.as_ref().map_or("MergeTree", |engine| &engine.name);
    if matches!(engine, "View" | MATERIALIZED_VIEW) {
        let message = format!("Direct creation of tables with ENGINE {engine} is not supported");
        return Err(Error::new(ErrorCode::INCORRECT_QUERY, message));
    }
    let has_arguments = storage.engine.as_ref().is_some_and(|engine| !engine.arguments.is_empty());
    let has_key = storage.order_by.is_some() || storage.primary_key.is_some();
    if engine.ends_with("MergeTree") && !has_key && !has_arguments {
        storage.order_by = Some(ast::SortingKey { items: Vec::new(), tuple: true, span: ast::Span::default() });
    }
    let table = ast::CreateTable {
        attach: false,
        mode: ast::CreateMode::Create,
        temporary: false,
        name: create.name.clone(),
        cluster: None,
        attach_from: None,
        attach_as_replicated: None,
        elements: Some(elements),
        storage: Some(storage),
        source: Some(ast::CreateSource::Query(Box::new(query.clone()))),
        empty: true,
        comment: None,
        output: ast::Output::default(),
    };
    plan_table_definition(&table, context)
}

fn columns_of(query: &ast::Query, context: &PlannerContext<'_>) -> Result<Vec<ColumnDescription>> {
    let plan = analyze_query(query, context)?;
    crate::rules::check_reads(&plan, context)?;
    Ok(plan.schema().fields.iter().map(described).collect())
}

/// The columns that are declared, or else the query's.
fn declared(columns: &[ast::ColumnDeclaration], of_query: Vec<ColumnDescription>) -> Result<Vec<ColumnDescription>> {
    if columns.is_empty() {
        return Ok(of_query);
    }
    let column = |column: &ast::ColumnDeclaration| {
        let data_type = column.data_type.as_ref().map(|data_type| settled_type(data_type, column.nullable));
        let data_type = data_type.transpose()?.unwrap_or(squall_types::DataType::String);
        let comment = column.comment.as_deref().unwrap_or_default().into();
        Ok(ColumnDescription { comment, ..described(&(column.name.value.as_str().into(), data_type)) })
    };
    columns.iter().map(column).collect()
}

fn check_target(of_query: &[ColumnDescription], target: &[ColumnDescription]) -> Result<()> {
    match of_query.iter().find(|column| !target.iter().any(|known| known.name == column.name)) {
        Some(column) => Err(Error::new(
            ErrorCode::THERE_IS_NO_COLUMN,
            format!(
                "SELECT query outputs column with name '{}', which is not found in the target table. Use 'AS' to assign alias \
                 that matches a column name",
                column.name
            ),
        )),
        None => Ok(()),
    }
}

/// The definition of a materialized view after `MODIFY QUERY`.
///
/// # Errors
/// `NOT_IMPLEMENTED` for another table; what is wrong with the query; `NO_SUCH_COLUMN_IN_TABLE` where the view's own table has not its columns.
pub fn altered_view(
    definition: &TableDefinition,
    query: &ast::Query,
    inner: Option<&[ColumnDescription]>,
    context: &PlannerContext<'_>,
) -> Result<TableDefinition> {
    if &*definition.engine != MATERIALIZED_VIEW {
        let message = format!("Alter of type 'MODIFY_QUERY' is not supported by storage {}", definition.engine);
        return Err(Error::new(ErrorCode::NOT_IMPLEMENTED, message));
    }
    let (query, _) = qualified(query, &context.functions.current_database);
    let columns = columns_of(&query, context)?;
    let before = MaterializedView::of(definition)?;
    let view =
        MaterializedView { source: followed(&query, before.refresh.is_some())?, query: Arc::new(query), ..before };
    if let Some(inner) = inner
        && let Some(column) = columns.iter().find(|column| !inner.iter().any(|known| known.name == column.name))
    {
        let message = format!("Column {} does not exist in the materialized view's inner table", column.name);
        return Err(Error::new(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, message));
    }
    let columns = if inner.is_some() { definition.columns.clone() } else { columns };
    Ok(TableDefinition { columns, engine_arguments: view.arguments(), ..definition.clone() })
}

/// The rows of a materialized view: those of its target, under the view's name and with the view's columns.
///
/// # Errors
/// Where the target is gone or may not be read; `THERE_IS_NO_COLUMN` where it has not the view's columns any more.
pub(crate) fn target_source(
    analyzer: &Analyzer<'_>,
    view: &dyn TableMetadata,
    of: &MaterializedView,
    visible: impl FnOnce(Arc<dyn TableMetadata>) -> Result<Source>,
) -> Result<Source> {
    let catalog = analyzer.context.catalog;
    catalog.note(Used::View(view.database(), view.name()));
    let target = catalog.target_of_view(view, of)?;
    let columns = target.columns();
    let is_same = |(own, known): (&ColumnDescription, &ColumnDescription)| {
        own.name == known.name && own.data_type == known.data_type && is_plain(known)
    };
    if columns.len() == view.columns().len() && view.columns().iter().zip(columns).all(is_same) {
        return visible(target);
    }
    if catalog.row_filter(&*target)?.is_some() {
        return Err(Error::not_implemented(
            "A row policy of a materialized view that has not all columns of its table",
        ));
    }
    let mut positions = Vec::new();
    let mut expressions = Vec::new();
    let mut fields = Vec::new();
    for own in view.columns() {
        let is_stored = |known: &ColumnDescription| {
            let kind = known.default.as_ref().map(|default| default.kind);
            known.name == own.name && !matches!(kind, Some(DefaultKind::Alias | DefaultKind::Ephemeral))
        };
        let position = columns.iter().position(is_stored);
        let Some((position, known)) = position.and_then(|at| Some((at, columns.get(at)?))) else {
            let message = format!("There is no column {} in table {}", own.name, of.target_table);
            return Err(Error::new(ErrorCode::THERE_IS_NO_COLUMN, message));
        };
        let read = Expression::column(positions.len(), &known.data_type);
        expressions.push(cast(read, &own.data_type, &analyzer.context.functions)?);
        positions.push(position);
        fields.push((known.name.clone(), known.data_type.clone()));
    }
    let scan = Plan::Scan(Scan {
        table: target,
        columns: positions,
        schema: Arc::new(squall_types::Schema { fields }),
        predicate: None,
        limit: None,
        bounds: Vec::new(),
        hides_rows: false,
        has_places: false,
    });
    let plan = project(scan, expressions, view.columns().iter().map(|column| column.name.clone()));
    Ok(Source::plan(plan).named(Some(view.database()), Some(view.name())))
}

/// Whether an INSERT gives the column and `*` stands for it.
fn is_plain(column: &ColumnDescription) -> bool {
    column.default.as_ref().is_none_or(|default| default.kind == DefaultKind::Default)
}

/// What is planned when rows come to a view.
#[derive(Clone, Debug)]
pub struct ViewPlan {
    /// The view's query.
    pub query: Arc<ast::Query>,
    /// Where its rows go.
    pub target: Arc<dyn TableMetadata>,
}

/// The plan whose rows are those of the target's stored columns, and the positions of the columns that the view's query gives. Columns
/// that the target has not are left out, others get their defaults.
///
/// # Errors
/// Those of the query, and of the conversion to the target's types.
pub fn plan_view_rows(of: &ViewPlan, context: &PlannerContext<'_>) -> Result<(Plan, Vec<usize>)> {
    let plan = match context.settings_within(&of.query)? {
        Some(settings) => crate::plan_query(&of.query, &context.under(&settings))?,
        None => crate::plan_query(&of.query, context)?,
    };
    let columns = of.target.columns();
    let (mut given, mut positions, mut fields) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (name, data_type)) in plan.schema().fields.iter().enumerate() {
        let is_written = |column: &ColumnDescription| {
            let kind = column.default.as_ref().map(|default| default.kind);
            column.name == *name && !matches!(kind, Some(DefaultKind::Alias | DefaultKind::Materialized))
        };
        if let Some(position) = columns.iter().position(is_written) {
            given.push(Expression::column(at, data_type));
            positions.push(position);
            fields.push((name.clone(), data_type.clone()));
        }
    }
    let schema = Arc::new(squall_types::Schema { fields });
    let inserted = plan_insert(&*of.target, &positions, &schema, context)?;
    let plan = Plan::Project { input: Box::new(plan), expressions: given, schema };
    let plan = Plan::Project { input: Box::new(plan), expressions: inserted.expressions, schema: inserted.schema };
    Ok((plan, positions))
}
