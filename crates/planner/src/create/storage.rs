//! How a table that is created is stored: by the engine and the clauses that are given, those of a table that it is
//! created `AS`, or the default; and the columns that come with them.

use std::sync::Arc;

use squall_sql::ast;
use squall_types::{Error, ErrorCode, Result, Value};

use super::{arguments, described};
use crate::analyzer::{Analyzer, analyze_query, text};
use crate::catalog::ColumnDescription;
use crate::context::PlannerContext;
use crate::definition::{KeyExpression, TableDefinition};
use crate::deprecated_engine::{is_deprecated, settle_deprecated};
use crate::function_table;
use crate::ttl;

/// Settles a table's engine and clauses, and its columns where it declares none: those of its source or its engine.
pub(super) fn settle_storage(
    create: &ast::CreateTable,
    storage: &mut ast::Storage,
    columns: &mut Vec<ColumnDescription>,
    context: &PlannerContext<'_>,
) -> Result<()> {
    let of_source = source_columns(create, storage, context)?;
    if columns.is_empty() {
        *columns = of_source;
    }
    if let Some(engine) = storage.engine.as_ref().filter(|_| columns.is_empty()) {
        *columns = function_table::columns_of_engine(&engine.name, arguments(engine, context)?, context)?;
    }
    if storage.engine.is_none() {
        let engine = default_engine(create.temporary, context)?;
        storage.engine = Some(ast::Function::new(engine, Vec::new()));
    }
    let declares_columns = create.elements.as_ref().is_some_and(|elements| !elements.columns.is_empty());
    if !declares_columns && storage.engine.as_ref().is_some_and(|engine| !engine.name.ends_with("MergeTree")) {
        // Of another table's columns those of an engine in which nothing expires.
        columns.iter_mut().for_each(|column| column.ttl = None);
    }
    if is_deprecated(storage) {
        settle_deprecated(storage, context)?;
    }
    Ok(())
}

/// The engine of a table that names none.
fn default_engine<'a>(is_temporary: bool, context: &PlannerContext<'a>) -> Result<&'a str> {
    let settings = context.settings;
    let engine = if is_temporary { &settings.default_temporary_table_engine } else { &settings.default_table_engine };
    match engine.as_str() {
        "None" => Err(Error::new(ErrorCode::ENGINE_REQUIRED, "Table engine is not specified in CREATE query")),
        engine => Ok(engine),
    }
}

/// The columns of what a table is created `AS`; a table's engine and keys come with it where no engine is given.
fn source_columns(
    create: &ast::CreateTable,
    storage: &mut ast::Storage,
    context: &PlannerContext<'_>,
) -> Result<Vec<ColumnDescription>> {
    match &create.source {
        None | Some(ast::CreateSource::Function(_)) => Ok(Vec::new()),
        Some(ast::CreateSource::Query(query)) => {
            Ok(analyze_query(query, context)?.schema().fields.iter().map(described).collect())
        }
        Some(ast::CreateSource::Table(name) | ast::CreateSource::Clone(name)) => {
            let analyzer = Analyzer::new(context);
            let database = name.database.as_ref().map(|database| analyzer.identifier(database)).transpose()?;
            let name = analyzer.identifier(&name.table)?;
            let table = context.catalog.table(database, name)?;
            if matches!(create.source, Some(ast::CreateSource::Clone(_))) && !table.engine().ends_with("MergeTree") {
                return Err(Error::new(
                    ErrorCode::SUPPORT_IS_DISABLED,
                    "Only support CLONE AS from tables of the MergeTree family",
                ));
            }
            if storage.engine.is_none() && !create.temporary {
                match context.catalog.definition(database, name)? {
                    Some(definition) if definition.has_no_rows() => {}
                    Some(definition) => *storage = like_storage(&definition, storage)?,
                    None => storage.engine = Some(ast::Function::new(table.engine(), Vec::new())),
                }
            }
            let columns = table.columns();
            Ok(columns[..columns.len() - table.virtual_columns()].to_vec())
        }
    }
}

/// How a table is stored, as its CREATE TABLE would say it, but for the clauses that are given.
fn like_storage(definition: &TableDefinition, given: &ast::Storage) -> Result<ast::Storage> {
    let word = |argument: &Value| match argument.as_str() {
        // Its words are names.
        Some(name) if &*definition.engine == "Join" => Ok(ast::Expression::identifier(name)),
        Some(sql) => text::parse_expression(sql),
        None => text::parse_expression(&argument.to_string()),
    };
    let arguments = definition.engine_arguments.iter().map(word).collect::<Result<_>>()?;
    let mut like = ast::Storage { engine: Some(ast::Function::new(&*definition.engine, arguments)), ..given.clone() };
    let setting = |(name, value): &(Arc<str>, Arc<str>)| ast::Setting {
        name: name.to_string(),
        value: ast::SettingValue::Literal(ast::Literal::String(value.as_bytes().to_vec())),
        span: ast::Span::default(),
    };
    if like.settings.is_empty() {
        like.settings = definition.settings.iter().map(setting).collect();
    }
    if is_deprecated(&like) {
        return Ok(like);
    }
    let parse =
        |keys: &[KeyExpression]| keys.iter().map(|key| text::parse_expression(&key.sql)).collect::<Result<Vec<_>>>();
    let tuple = |keys: Vec<ast::Expression>| ast::Expression::function("tuple", keys);
    if like.order_by.is_none() && like.primary_key.is_none() && definition.engine.ends_with("MergeTree") {
        let items = parse(&definition.sorting_key)?;
        let items = items.into_iter().map(|expression| ast::SortingKeyItem { expression, descending: false });
        like.order_by = Some(ast::SortingKey { items: items.collect(), tuple: true, span: ast::Span::default() });
        like.primary_key = definition.primary_key.as_deref().map(parse).transpose()?.map(tuple);
    }
    if like.partition_by.is_none() && !definition.partition_key.is_empty() {
        like.partition_by = Some(tuple(parse(&definition.partition_key)?));
    }
    if like.ttl.is_empty() {
        like.ttl = definition.ttl.iter().map(|element| ttl::parse(element)).collect::<Result<_>>()?;
    }
    if like.sample_by.is_none() {
        like.sample_by = definition.sampling_key.as_ref().map(|key| text::parse_expression(&key.sql)).transpose()?;
    }
    Ok(like)
}
