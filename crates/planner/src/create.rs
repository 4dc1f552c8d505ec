//! `CREATE TABLE`: the statement with its types and expressions settled, for `storage` to keep.

mod storage;

use std::sync::Arc;

use squall_functions::{FunctionContext, Moment};
use squall_sql::ast;
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::analyzer::{Analyzer, Definitions, text, typed_literal, without_user_functions};
use crate::catalog::{ColumnDefault, ColumnDescription, DefaultKind};
use crate::codec;
use crate::context::PlannerContext;
use crate::definition::{
    Constraint, KeyExpression, ProjectionDefinition, SkipIndex, TABLE_FUNCTION, TableDefinition, VIEW,
    foreign_function, is_s3_engine,
};
use crate::expression::Expression;
use crate::function_table;
use crate::insert::plan_defaults;
use crate::projection::plan_projection;
use crate::skip_index::{SkipIndexKind, TEXT_GRANULARITY, indexed_expressions};
use crate::ttl;
use storage::settle_storage;

/// The most columns of a table.
const COLUMNS_MAX: usize = 10_000;

/// The definition of a table that is being created. For `CREATE TABLE … AS SELECT …` the columns are the query's unless they
/// are given; running the query is the caller's business.
///
/// # Errors
/// `INCORRECT_QUERY` without columns, `ILLEGAL_COLUMN`, `UNKNOWN_TYPE`, `UNKNOWN_IDENTIFIER`, `CYCLIC_ALIASES`, and whatever is
/// wrong with an expression; `NOT_IMPLEMENTED` for what tables do not have here yet.
pub fn plan_table_definition(create: &ast::CreateTable, context: &PlannerContext<'_>) -> Result<TableDefinition> {
    let elements = create.elements.clone().unwrap_or_default();
    let mut storage = create.storage.clone().unwrap_or_default();
    let mut columns = declared_columns(&elements.columns, &[], context)?;
    if let Some(function) = table_function(create, context)? {
        if create.storage.is_some() {
            return Err(Error::new(
                ErrorCode::INCORRECT_QUERY,
                "A table made AS a table function has no engine of its own",
            ));
        }
        let comment = create.comment.as_deref().unwrap_or_default();
        return function_table::definition(&function, columns, comment, context);
    }
    if let Some(engine) = &storage.engine
        && matches!(engine.name.as_str(), TABLE_FUNCTION | VIEW)
    {
        return Err(Error::new(ErrorCode::UNKNOWN_STORAGE, format!("Unknown table engine {}", engine.name)));
    }
    settle_storage(create, &mut storage, &mut columns, context)?;
    if columns.is_empty() {
        return Err(Error::new(
            ErrorCode::INCORRECT_QUERY,
            "Incorrect CREATE query: required list of column descriptions or AS section or SELECT",
        ));
    }
    check_columns(&columns, context)?;
    let keys = Keys { columns: &columns, context };
    let constraints = constraints(create, &elements, &columns, context)?;
    let indices = indices(create, &elements, &columns, context)?;
    let projections = projections(create, &elements, &columns, context)?;
    let primary_key = keys.primary_key(&storage, &elements)?;
    let sorting_key = match &storage.order_by {
        Some(order_by) => sorting_key(order_by, &columns, context)?,
        None => primary_key.clone().unwrap_or_default(),
    };
    check_prefix(primary_key.as_deref(), &sorting_key)?;
    let partition_key = storage.partition_by.as_ref().map_or(Ok(Vec::new()), |key| keys.key(key))?;
    let engine_arguments = storage.engine.as_ref().map_or(Ok(Vec::new()), |engine| arguments(engine, context))?;
    let sampling_key = match &storage.sample_by {
        Some(key) => Some(sampling_key(keys.part(key)?, primary_key.as_deref().unwrap_or(&sorting_key))?),
        None => None,
    };
    let settings = storage.settings.iter().map(plan_setting).collect::<Result<_>>()?;
    let definition = TableDefinition {
        constraints,
        indices,
        projections,
        ttl: ttl::declared(&storage.ttl, context)?,
        engine: storage.engine.as_ref().map_or("", |engine| &engine.name).into(),
        engine_arguments,
        sorting_key,
        primary_key,
        partition_key,
        sampling_key,
        settings,
        comment: match (&create.comment, &create.source) {
            (Some(comment), _) => comment.as_str().into(),
            (None, Some(ast::CreateSource::Table(name) | ast::CreateSource::Clone(name))) => comment_of(name, context)?,
            (None, _) => "".into(),
        },
        columns,
    };
    ttl::check(&definition, context)?;
    Ok(definition)
}

/// The comment of a table, which those that are made of it have, too.
fn comment_of(name: &ast::TableName, context: &PlannerContext<'_>) -> Result<Arc<str>> {
    let analyzer = Analyzer::new(context);
    let database = name.database.as_ref().map(|database| analyzer.identifier(database)).transpose()?;
    let definition = context.catalog.definition(database, analyzer.identifier(&name.table)?)?;
    Ok(definition.map_or_else(|| "".into(), |definition| definition.comment.clone()))
}

/// The table function that a table is made of: the one that it is created `AS`, or that of the table that it is created `AS`.
fn table_function(create: &ast::CreateTable, context: &PlannerContext<'_>) -> Result<Option<Arc<ast::Function>>> {
    let has_engine = create.storage.as_ref().is_some_and(|storage| storage.engine.is_some());
    match &create.source {
        Some(ast::CreateSource::Function(function)) => Ok(Some(Arc::new(function.clone()))),
        Some(ast::CreateSource::Table(name)) if !has_engine => {
            let analyzer = Analyzer::new(context);
            let database = name.database.as_ref().map(|database| analyzer.identifier(database)).transpose()?;
            let table = context.catalog.table(database, analyzer.identifier(&name.table)?)?;
            Ok(table.table_function().cloned())
        }
        _ => Ok(None),
    }
}

fn refuse(is_there: bool, what: &str) -> Result<()> {
    if is_there { Err(Error::not_implemented(what)) } else { Ok(()) }
}

/// `TOO_MANY_COLUMNS` for more than a table may have.
pub(crate) fn check_count(columns: usize) -> Result<()> {
    if columns > COLUMNS_MAX {
        let message = format!("A table of {columns} columns. Maximum: {COLUMNS_MAX}");
        return Err(Error::new(ErrorCode::TOO_MANY_COLUMNS, message));
    }
    Ok(())
}

/// A column of a name and a type, and nothing else.
pub(crate) fn described((name, data_type): &(Arc<str>, DataType)) -> ColumnDescription {
    ColumnDescription::new(name.clone(), data_type.clone())
}

/// A type as a column declares it.
pub(crate) fn settled_type(data_type: &ast::DataType, nullable: Option<bool>) -> Result<DataType> {
    let data_type = modified(DataType::parse(&squall_sql::format_data_type(data_type))?, nullable)?;
    squall_functions::check_type(&data_type)?;
    Ok(data_type)
}

/// Whether a column says `DEFAULT NULL`, which makes its type Nullable.
fn is_null_by_default(declaration: &ast::ColumnDeclaration) -> bool {
    declaration.default.as_ref().is_some_and(|default| {
        default.kind == ast::ColumnDefaultKind::Default
            && default
                .expression
                .as_ref()
                .is_some_and(|expression| matches!(expression.kind, ast::ExpressionKind::Literal(ast::Literal::Null)))
    })
}

/// Columns of a table that has others already, types settled and defaults checked.
pub(crate) fn declared_columns(
    declarations: &[ast::ColumnDeclaration],
    others: &[ColumnDescription],
    context: &PlannerContext<'_>,
) -> Result<Vec<ColumnDescription>> {
    check_count(declarations.len())?;
    let mut columns: Vec<ColumnDescription> = Vec::with_capacity(declarations.len());
    for declaration in declarations {
        if declaration.statistics.is_some() {
            let message =
                "Statistics of columns are not supported: parts hold the minimum and maximum of each block anyway";
            return Err(Error::new(ErrorCode::SUPPORT_IS_DISABLED, message));
        }
        let name: Arc<str> = declaration.name.value.as_str().into();
        if columns.iter().any(|known| known.name == name) {
            return Err(Error::new(
                ErrorCode::ILLEGAL_COLUMN,
                format!("Cannot add column {name}: column with this name already exists"),
            ));
        }
        let default = declaration.default.as_ref().map(|default| column_default(default, context)).transpose()?;
        // Where no type is written, the default tells it, below.
        let data_type = match &declaration.data_type {
            Some(data_type) => {
                let parsed = DataType::parse(&squall_sql::format_data_type(data_type))?;
                let is_null = is_null_by_default(declaration);
                let by_default = (context.settings.data_type_default_nullable || is_null) && !parsed.is_nullable();
                modified(parsed, declaration.nullable.or(by_default.then_some(true)))?
            }
            None => DataType::Nothing,
        };
        squall_functions::check_type(&data_type)?;
        columns.push(ColumnDescription {
            default,
            comment: declaration.comment.as_deref().unwrap_or_default().into(),
            ttl: declaration.ttl.as_ref().map(|ttl| column_ttl(ttl, context)).transpose()?,
            ..ColumnDescription::new(name, data_type)
        });
    }
    infer_types(&mut columns, others, declarations, context)?;
    for (column, declaration) in columns.iter_mut().zip(declarations) {
        column.codec = declaration.codec.as_ref().map(|codecs| codec_of(codecs, column, context)).transpose()?;
    }
    if !context.settings.flatten_nested {
        return Ok(columns);
    }
    Ok(columns.into_iter().zip(declarations).flat_map(|(column, declaration)| flattened(column, declaration)).collect())
}

/// What is declared as `Nested` is an array for each of its elements, named after both.
fn flattened(column: ColumnDescription, declaration: &ast::ColumnDeclaration) -> Vec<ColumnDescription> {
    let is_nested = declaration.data_type.as_ref().is_some_and(|declared| declared.name == "Nested");
    match &column.data_type {
        DataType::Array(item) if is_nested && let DataType::Tuple(elements) = &**item => elements
            .iter()
            .map(|element| ColumnDescription {
                name: format!("{}.{}", column.name, element.name.as_deref().unwrap_or_default()).into(),
                data_type: DataType::array(element.data_type.clone()),
                ..column.clone()
            })
            .collect(),
        _ => vec![column],
    }
}

/// `ORDER BY` of a table.
pub(crate) fn sorting_key(
    order_by: &ast::SortingKey,
    columns: &[ColumnDescription],
    context: &PlannerContext<'_>,
) -> Result<Vec<KeyExpression>> {
    refuse(order_by.items.iter().any(|item| item.descending), "A descending sorting key")?;
    let keys = Keys { columns, context };
    order_by.items.iter().map(|item| keys.part(&item.expression)).collect()
}

pub(crate) fn codec_of(
    codecs: &[ast::Function],
    column: &ColumnDescription,
    context: &PlannerContext<'_>,
) -> Result<Arc<str>> {
    let kind = column.default.as_ref().map(|default| default.kind);
    if let Some(kind @ (DefaultKind::Alias | DefaultKind::Ephemeral)) = kind {
        let kind = if kind == DefaultKind::Alias { "ALIAS" } else { "EPHEMERAL" };
        let message = format!("Cannot specify codec for column type {kind}");
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    codec::declared(codecs, &column.data_type, context.settings.allow_suspicious_codecs)
}

/// Types of columns that have only a default: in an order in which each default's own columns are known.
fn infer_types(
    columns: &mut [ColumnDescription],
    others: &[ColumnDescription],
    declarations: &[ast::ColumnDeclaration],
    context: &PlannerContext<'_>,
) -> Result<()> {
    let mut untyped: Vec<usize> = declarations
        .iter()
        .enumerate()
        .filter(|(_, declaration)| declaration.data_type.is_none())
        .map(|(at, _)| at)
        .collect();
    while !untyped.is_empty() {
        let before = untyped.len();
        let mut failure = None;
        let mut left = Vec::new();
        for at in untyped {
            let expression =
                declarations.get(at).and_then(|declaration| declaration.default.as_ref()?.expression.as_ref());
            let Some(expression) = expression else {
                // EPHEMERAL without a type and an expression is a String.
                if let Some(column) = columns.get_mut(at) {
                    column.data_type = DataType::String;
                }
                continue;
            };
            // Columns that are not known yet are not there.
            let known: Vec<ColumnDescription> = others
                .iter()
                .chain(&*columns)
                .filter(|column| column.data_type != DataType::Nothing)
                .cloned()
                .collect();
            match expression_over(&known, expression, context) {
                Ok(resolved) => {
                    let declared = declarations.get(at).and_then(|declaration| declaration.nullable);
                    let nullable = declared.or(context.settings.data_type_default_nullable.then_some(true));
                    let data_type = resolved.data_type().clone();
                    if let Some(column) = columns.get_mut(at) {
                        let nullable = nullable.filter(|_| !data_type.is_nullable());
                        column.data_type = modified(data_type, nullable)?;
                    }
                }
                Err(error) => {
                    failure.get_or_insert(error);
                    left.push(at);
                }
            }
        }
        if left.len() == before {
            let failure = failure.unwrap_or_else(|| Error::logical("no type was found and nothing failed"));
            return Err(cycle_of(&left, columns, others, declarations, context).unwrap_or(failure));
        }
        untyped = left;
    }
    Ok(())
}

/// `CYCLIC_ALIASES` where all that columns without a type lack is each other; `None` where one of them lacks something else.
fn cycle_of(
    untyped: &[usize],
    columns: &[ColumnDescription],
    others: &[ColumnDescription],
    declarations: &[ast::ColumnDeclaration],
    context: &PlannerContext<'_>,
) -> Option<Error> {
    // With a type for each of them, whichever it is, no name is missing.
    let mut known: Vec<ColumnDescription> = others.iter().chain(columns).cloned().collect();
    let unknown = known.iter_mut().filter(|column| column.data_type == DataType::Nothing);
    unknown.for_each(|column| column.data_type = DataType::String);
    let lacks_more = |at: &usize| {
        let default = declarations.get(*at).and_then(|declaration| declaration.default.as_ref()?.expression.as_ref());
        default.is_some_and(|default| {
            let resolved = expression_over(&known, default, context);
            resolved.is_err_and(|error| error.code == ErrorCode::UNKNOWN_IDENTIFIER)
        })
    };
    if untyped.iter().any(lacks_more) {
        return None;
    }
    let names: Vec<&str> = untyped.iter().filter_map(|at| columns.get(*at)).map(|column| &*column.name).collect();
    let message = format!("Cyclic alias detected in column DEFAULT expressions of: {}", names.join(", "));
    Some(Error::new(ErrorCode::CYCLIC_ALIASES, message))
}

/// `NULL` and `NOT NULL` after a type.
fn modified(data_type: DataType, nullable: Option<bool>) -> Result<DataType> {
    match nullable {
        None => Ok(data_type),
        Some(_) if data_type.is_nullable() => {
            Err(Error::new(ErrorCode::ILLEGAL_SYNTAX_FOR_DATA_TYPE, "Can't use [NOT] NULL modifier with Nullable type"))
        }
        Some(true) if matches!(&data_type, DataType::LowCardinality(inner) if inner.can_be_inside_nullable()) => {
            let inner = data_type.remove_low_cardinality().to_nullable();
            Ok(DataType::LowCardinality(Arc::new(inner)))
        }
        Some(true) if !data_type.can_be_inside_nullable() => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Nested type {data_type} cannot be inside Nullable type"),
        )),
        Some(true) => Ok(data_type.to_nullable()),
        Some(false) => Ok(data_type),
    }
}

pub(crate) fn column_ttl(ttl: &ast::Expression, context: &PlannerContext<'_>) -> Result<Arc<str>> {
    Ok(text::expression(&without_user_functions(ttl, context.catalog)?).into())
}

pub(crate) fn column_default(default: &ast::ColumnDefault, context: &PlannerContext<'_>) -> Result<ColumnDefault> {
    let kind = match default.kind {
        ast::ColumnDefaultKind::Default => DefaultKind::Default,
        ast::ColumnDefaultKind::Materialized => DefaultKind::Materialized,
        ast::ColumnDefaultKind::Alias => DefaultKind::Alias,
        ast::ColumnDefaultKind::Ephemeral => DefaultKind::Ephemeral,
        ast::ColumnDefaultKind::AutoIncrement => {
            return Err(Error::new(ErrorCode::SYNTAX_ERROR, "AUTO_INCREMENT is not supported"));
        }
    };
    let expanded = default.expression.as_ref().map(|default| without_user_functions(default, context.catalog));
    let expression = expanded.transpose()?.as_ref().map_or_else(String::new, text::expression);
    Ok(ColumnDefault { kind, expression: expression.into() })
}

/// What SAMPLE BY says, checked.
///
/// # Errors
/// `BAD_ARGUMENTS` where it is no part of the primary key, `ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER` for another type,
/// `DATA_TYPE_CANNOT_BE_USED_IN_KEY`.
fn sampling_key(key: KeyExpression, primary_key: &[KeyExpression]) -> Result<KeyExpression> {
    key.check_comparable()?;
    if !primary_key.iter().any(|part| part.expression.same(&key.expression)) {
        let message = "Sampling expression must be present in the primary key";
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    if !key.expression.data_type().is_unsigned_integer() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_COLUMN_FOR_FILTER,
            format!(
                "Invalid sampling column type in storage parameters: {}. Must be one unsigned integer type",
                key.expression.data_type()
            ),
        ));
    }
    Ok(key)
}

/// The skip indexes that are declared, or those of the table that this one is like.
fn indices(
    create: &ast::CreateTable,
    elements: &ast::TableElements,
    columns: &[ColumnDescription],
    context: &PlannerContext<'_>,
) -> Result<Vec<SkipIndex>> {
    let mut indices: Vec<SkipIndex> = Vec::new();
    for declared in &elements.indices {
        let index = plan_index(declared, columns, context)?;
        if indices.iter().any(|known| known.name == index.name) {
            let message =
                format!("Duplicated index name {} is not allowed. Please use a different index name", index.name);
            return Err(Error::new(ErrorCode::ILLEGAL_INDEX, message));
        }
        indices.push(index);
    }
    indices.extend(like(create, elements, context)?.iter().flat_map(|like| like.indices.iter().cloned()));
    Ok(indices)
}

/// The table that a new one is like in all that is not said.
fn like(
    create: &ast::CreateTable,
    elements: &ast::TableElements,
    context: &PlannerContext<'_>,
) -> Result<Option<Arc<TableDefinition>>> {
    match &create.source {
        Some(ast::CreateSource::Table(name) | ast::CreateSource::Clone(name))
            if elements.columns.is_empty()
                && create.storage.as_ref().is_none_or(|storage| storage.engine.is_none())
                && !create.temporary =>
        {
            let analyzer = Analyzer::new(context);
            let database = name.database.as_ref().map(|database| analyzer.identifier(database)).transpose()?;
            context.catalog.definition(database, analyzer.identifier(&name.table)?)
        }
        _ => Ok(None),
    }
}

/// The projections that are declared, or those of the table that this one is like.
fn projections(
    create: &ast::CreateTable,
    elements: &ast::TableElements,
    columns: &[ColumnDescription],
    context: &PlannerContext<'_>,
) -> Result<Vec<ProjectionDefinition>> {
    let mut projections: Vec<ProjectionDefinition> = Vec::new();
    for declared in &elements.projections {
        let projection = plan_projection(declared, columns, &context.functions)?;
        if projections.iter().any(|known| known.name == projection.name) {
            let message =
                format!("Cannot add projection {}: projection with this name already exists", projection.name);
            return Err(Error::new(ErrorCode::ILLEGAL_PROJECTION, message));
        }
        projections.push(projection);
    }
    projections.extend(like(create, elements, context)?.iter().flat_map(|like| like.projections.iter().cloned()));
    Ok(projections)
}

/// A skip index of a table of these columns.
///
/// # Errors
/// `INCORRECT_QUERY`, `BAD_ARGUMENTS` and `ILLEGAL_COLUMN` for types, arguments and expressions that do not suit; `NOT_IMPLEMENTED` for types
/// that are not here; those of the expression.
pub fn plan_index(
    declared: &ast::IndexDeclaration,
    columns: &[ColumnDescription],
    context: &PlannerContext<'_>,
) -> Result<SkipIndex> {
    let name = &declared.name.value;
    let Some(kind) = &declared.index_type else {
        let message = format!("Index type is required for index {name}");
        return Err(Error::new(ErrorCode::INCORRECT_QUERY, message));
    };
    let within =
        |error: Error| Error::new(error.code, format!("{}: When validating secondary index `{name}`", error.message));
    let known = SkipIndexKind::of_function(kind).map_err(within)?;
    let indexed = without_user_functions(&declared.expression, context.catalog)?;
    let expressions = indexed_expressions(&expression_over(columns, &indexed, context)?);
    for expression in &expressions {
        if !expression.is_deterministic() {
            let sql = text::expression(&indexed);
            let message = format!(
                "Expression must be deterministic but it contains non-deterministic part `{sql}`: for secondary index '{name}'"
            );
            return Err(within(Error::new(ErrorCode::BAD_ARGUMENTS, message)));
        }
        let mut columns = 0;
        expression.visit_columns(&mut |_| columns += 1);
        if columns == 0 {
            let message = format!("Secondary index '{name}' cannot contain constants");
            return Err(within(Error::new(ErrorCode::INCORRECT_QUERY, message)));
        }
    }
    known.check(&expressions).map_err(within)?;
    let granularity = match known {
        SkipIndexKind::Text { .. } => TEXT_GRANULARITY,
        _ => declared.granularity.max(1),
    };
    let call = ast::Expression::new(ast::ExpressionKind::Function(Box::new(kind.clone())), ast::Span::default());
    Ok(SkipIndex {
        name: name.as_str().into(),
        sql: text::expression(&indexed).into(),
        kind: text::expression(&call).into(),
        granularity,
    })
}

/// A constraint of a table of these columns.
///
/// # Errors
/// Those of its expression.
pub fn plan_constraint(
    declared: &ast::ConstraintDeclaration,
    columns: &[ColumnDescription],
    context: &PlannerContext<'_>,
) -> Result<Constraint> {
    let expression = without_user_functions(&declared.expression, context.catalog)?;
    expression_over(columns, &expression, context)?;
    Ok(Constraint {
        name: declared.name.value.as_str().into(),
        is_assumed: declared.assume,
        sql: text::expression(&expression).into(),
    })
}

/// The constraints that are declared, or those of the table that this one is like.
fn constraints(
    create: &ast::CreateTable,
    elements: &ast::TableElements,
    columns: &[ColumnDescription],
    context: &PlannerContext<'_>,
) -> Result<Vec<Constraint>> {
    let mut constraints: Vec<Constraint> = Vec::new();
    for declared in &elements.constraints {
        constraints.push(plan_constraint(declared, columns, context)?);
    }
    if let Some(ast::CreateSource::Table(name) | ast::CreateSource::Clone(name)) = &create.source
        && elements.columns.is_empty()
    {
        let analyzer = Analyzer::new(context);
        let database = name.database.as_ref().map(|database| analyzer.identifier(database)).transpose()?;
        let table = context.catalog.table(database, analyzer.identifier(&name.table)?)?;
        constraints.extend(table.constraints().iter().cloned());
    }
    Ok(constraints)
}

pub(crate) fn check_columns(columns: &[ColumnDescription], context: &PlannerContext<'_>) -> Result<()> {
    columns.iter().try_for_each(|column| check_type(&column.data_type, context))?;
    check_defaults(columns, context)
}

/// Refuses types that the settings do not allow for a new column.
pub(crate) fn check_type(data_type: &DataType, context: &PlannerContext<'_>) -> Result<()> {
    if !context.settings.allow_suspicious_low_cardinality_types {
        check_low_cardinality(data_type)?;
    }
    if !context.settings.allow_suspicious_variant_types {
        squall_functions::check_alternatives(data_type)?;
    }
    Ok(())
}

/// Defaults must have values of their columns' types, and must not go in circles.
pub(crate) fn check_defaults(columns: &[ColumnDescription], context: &PlannerContext<'_>) -> Result<()> {
    let all: Vec<usize> = (0..columns.len()).collect();
    let has_default = |at: &usize| columns.get(*at).is_some_and(|column| column.default.is_some());
    let with_defaults: Vec<usize> = all.iter().copied().filter(has_default).collect();
    plan_defaults(columns, &all, &with_defaults, context).map_err(|mut error| {
        error.message.push_str(": default expression and column type are incompatible");
        error
    })?;
    Ok(())
}

fn check_low_cardinality(data_type: &DataType) -> Result<()> {
    match data_type {
        DataType::LowCardinality(inner) => {
            let is_small = inner.inner().fixed_width_bytes().is_some_and(|width| width <= 8)
                && !matches!(inner.inner(), DataType::FixedString(_));
            if is_small {
                return Err(Error::new(
                    ErrorCode::SUSPICIOUS_TYPE_FOR_LOW_CARDINALITY,
                    format!(
                        "Creating columns of type {data_type} is prohibited by default due to expected negative impact on \
                         performance. It can be enabled with the `allow_suspicious_low_cardinality_types` setting"
                    ),
                ));
            }
            Ok(())
        }
        DataType::Array(item) => check_low_cardinality(item),
        DataType::Map(key, value) => check_low_cardinality(key).and_then(|()| check_low_cardinality(value)),
        DataType::Tuple(elements) => elements.iter().try_for_each(|element| check_low_cardinality(&element.data_type)),
        _ => Ok(()),
    }
}

/// Expressions of keys over a table's columns.
struct Keys<'a> {
    columns: &'a [ColumnDescription],
    context: &'a PlannerContext<'a>,
}

impl Keys<'_> {
    /// PRIMARY KEY: of the engine's clauses, of the elements, or what columns say of themselves.
    fn primary_key(&self, storage: &ast::Storage, elements: &ast::TableElements) -> Result<Option<Vec<KeyExpression>>> {
        if let Some(key) = storage.primary_key.as_ref().or(elements.primary_key.as_ref()) {
            return Ok(Some(self.key(key)?));
        }
        let mut in_columns = elements.columns.iter().filter(|column| column.primary_key).peekable();
        if in_columns.peek().is_none() {
            return Ok(None);
        }
        let part = |column: &ast::ColumnDeclaration| self.part(&ast::Expression::identifier(column.name.value.clone()));
        Ok(Some(in_columns.map(part).collect::<Result<_>>()?))
    }

    /// The parts of a key: the elements of a tuple, or one expression.
    fn key(&self, key: &ast::Expression) -> Result<Vec<KeyExpression>> {
        match &key.kind {
            ast::ExpressionKind::Function(call) if call.name == "tuple" => {
                call.arguments.iter().map(|part| self.part(part)).collect()
            }
            ast::ExpressionKind::Literal(ast::Literal::Tuple(items)) if items.is_empty() => Ok(Vec::new()),
            _ => Ok(vec![self.part(key)?]),
        }
    }

    fn part(&self, part: &ast::Expression) -> Result<KeyExpression> {
        // A key that is another at another time does not find the rows that it put in order.
        let moment = Moment::default();
        let functions = FunctionContext { moment: moment.clone(), ..self.context.functions.clone() };
        let context = PlannerContext { functions, ..self.context.clone() };
        let part = &without_user_functions(part, context.catalog)?;
        let expression = expression_over(self.columns, part, &context)?;
        if moment.was_asked() || !expression.is_deterministic() {
            let message = format!("Expression of a key must be deterministic: {}", text::expression(part));
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        if matches!(expression, Expression::Constant { .. }) {
            return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, "Sorting key cannot contain constants"));
        }
        Ok(KeyExpression { sql: text::expression(part).into(), expression })
    }
}

/// An expression over columns by position.
///
/// # Errors
/// What is wrong with it.
pub fn expression_over(
    columns: &[ColumnDescription],
    expression: &ast::Expression,
    context: &PlannerContext<'_>,
) -> Result<Expression> {
    let analyzer = Analyzer::new(context);
    let mut definitions = Definitions::new(&analyzer, columns);
    for (position, column) in columns.iter().enumerate() {
        definitions.give(position, position, &column.data_type);
    }
    definitions.resolve(expression)
}

fn check_prefix(primary_key: Option<&[KeyExpression]>, sorting_key: &[KeyExpression]) -> Result<()> {
    let primary_key = primary_key.unwrap_or_default();
    if primary_key.len() > sorting_key.len() {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!(
                "Primary key must be a prefix of the sorting key, but its length: {} is greater than the sorting key length: {}",
                primary_key.len(),
                sorting_key.len()
            ),
        ));
    }
    for (at, (primary, sorting)) in primary_key.iter().zip(sorting_key).enumerate() {
        if !primary.expression.same(&sorting.expression) {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!(
                    "Primary key must be a prefix of the sorting key, but the column in the position {at} is {}, not {}",
                    sorting.sql, primary.sql
                ),
            ));
        }
    }
    Ok(())
}

/// An engine's arguments as they are kept: names as they are of the engines Join and Dictionary, SQL of all others.
fn arguments(engine: &ast::Function, context: &PlannerContext<'_>) -> Result<Vec<Value>> {
    let name = |argument: &ast::Expression| match &argument.kind {
        ast::ExpressionKind::Identifier(parts) => {
            Some(parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join("."))
        }
        _ => None,
    };
    let given = &engine.arguments;
    let settled = |argument: &ast::Expression| {
        let sql = text::expression(argument);
        Ok(Value::string(match engine.name.as_str() {
            // One in quotes is no name.
            "Join" => name(argument).unwrap_or(sql),
            "Dictionary" => match argument.as_literal() {
                Some(literal) => return typed_literal(literal).map(|(value, _)| value),
                None => sql,
            },
            // Which columns are summed is told by their names.
            "SummingMergeTree" if argument.as_function().is_some_and(|call| call.name == "array") => {
                let message = format!("{sql} is not an identifier");
                return Err(Error::new(ErrorCode::UNEXPECTED_AST_STRUCTURE, message));
            }
            engine if engine.ends_with("MergeTree") => sql,
            // The first may be the name of a collection, and others may have names.
            engine if is_s3_engine(engine) || foreign_function(engine).is_some() => match name(argument) {
                Some(name) if given.first() != Some(argument) => Value::string(name).to_string(),
                _ => sql,
            },
            _ => match &argument.kind {
                ast::ExpressionKind::Identifier(_) => Value::string(name(argument).unwrap_or_default()).to_string(),
                ast::ExpressionKind::Function(call) if !call.name.eq_ignore_ascii_case("regexp") => {
                    match expression_over(&[], argument, context)? {
                        Expression::Constant { value, .. } => value.to_string(),
                        _ => sql,
                    }
                }
                _ => sql,
            },
        }))
    };
    engine.arguments.iter().map(settled).collect()
}

/// A setting of a table, its value as text.
///
/// # Errors
/// Where the value is none.
pub fn plan_setting(setting: &ast::Setting) -> Result<(Arc<str>, Arc<str>)> {
    let text = match &setting.value {
        ast::SettingValue::Literal(literal) => match typed_literal(literal)?.0 {
            Value::String(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Value::Bool(value) => u8::from(value).to_string(),
            other => other.to_string(),
        },
        ast::SettingValue::Default => return Err(Error::not_implemented("DEFAULT as a table's setting")),
        ast::SettingValue::Expression(expression) => text::expression(expression),
    };
    Ok((setting.name.as_str().into(), text.into()))
}
