//! Conditions that rows have to meet whatever the query says: those of row policies, and those that the settings
//! `additional_table_filters` and `additional_result_filter` add.

use std::sync::Arc;

use squall_sql::ast::{self, Literal, SettingValue};
use squall_sql::{ParserLimits, parse_setting_value};
use squall_types::{Error, ErrorCode, Result};

use super::scope::Scope;
use super::source::Source;
use super::stage::{Unbuilt, project};
use super::{Analyzer, whole};
use crate::plan::Plan;

impl Scope<'_> {
    /// The rows of a table, a view or a table function that meet the conditions of `additional_table_filters`.
    ///
    /// # Errors
    /// What is wrong with the setting or with a condition.
    pub fn additionally_filtered(&self, mut source: Source, alias: Option<&str>) -> Result<Source> {
        let context = self.analyzer.context;
        let filters = &*context.settings.additional_table_filters;
        if matches!(filters, "" | "{}") {
            return Ok(source);
        }
        let (database, table) = (source.database.clone(), source.table.clone());
        let is_meant = |name: &str| {
            let (Some(database), Some(table)) = (&database, &table) else { return alias == Some(name) };
            let is_current = *database == context.functions.current_database;
            alias == Some(name)
                || is_current && name == &**table
                || name.split_once('.').is_some_and(|(of, name)| of == &**database && name == &**table)
        };
        for (name, condition) in table_filters(filters)? {
            if is_meant(&name) {
                source = filtered(self.analyzer, source, &parsed(&condition)?, false)?;
            }
        }
        Ok(source)
    }
}

/// The names and conditions of `additional_table_filters`.
fn table_filters(text: &str) -> Result<Vec<(String, String)>> {
    let bad = || {
        let message = format!("additional_table_filters must be a map of texts: {{'table': 'condition'}}, not {text}");
        Error::new(ErrorCode::BAD_ARGUMENTS, message)
    };
    let value = parse_setting_value(text, &ParserLimits::default()).map_err(|_| bad())?;
    let SettingValue::Literal(Literal::Map(filters)) = value else { return Err(bad()) };
    let text = |literal: &Literal| literal.as_str().map(str::to_owned).ok_or_else(bad);
    filters.iter().map(|(name, condition)| Ok((text(name)?, text(condition)?))).collect()
}

fn parsed(condition: &str) -> Result<ast::Expression> {
    super::text::parse_expression(condition).map_err(|error| error.context("While parsing an additional filter"))
}

/// The rows of a result that meet `additional_result_filter`.
///
/// # Errors
/// What is wrong with the condition.
pub(super) fn of_result(analyzer: &Analyzer<'_>, plan: Plan) -> Result<Plan> {
    match &*analyzer.context.settings.additional_result_filter {
        "" => Ok(plan),
        condition => Ok(whole(filtered(analyzer, Source::plan(plan), &parsed(condition)?, false)?)),
    }
}

/// The rows of a table that a policy shows.
///
/// # Errors
/// What is wrong with the policy's condition.
pub(super) fn by_policy(analyzer: &Analyzer<'_>, table: Source, condition: &ast::Expression) -> Result<Source> {
    filtered(analyzer, table, condition, true)
}

/// The rows of a source that meet a condition, as a source with all of its columns: first those that `*` stands for. The query must not
/// learn of the other rows of a table that `hides_rows`.
fn filtered(analyzer: &Analyzer<'_>, rows: Source, condition: &ast::Expression, hides_rows: bool) -> Result<Source> {
    let functions = &analyzer.context.functions;
    let mut scope = Scope::without_select(analyzer, None);
    scope.source = rows;
    let visible = scope.source.asterisk();
    let hidden: Vec<usize> = (0..scope.source.table_columns()).filter(|column| !visible.contains(column)).collect();
    let mut names: Vec<Arc<str>> = Vec::new();
    let mut nodes = Vec::new();
    for column in visible.iter().chain(&hidden) {
        let name = scope.source.name(*column).to_owned();
        // A table's names are unique, and some are computed.
        nodes.push(match scope.source.as_table() {
            Some(_) => scope.resolve(&ast::Expression::identifier(name.as_str()))?,
            None => scope.graph.column(*column, scope.source.data_type(*column)),
        });
        names.push(name.into());
    }
    let condition = scope.resolve(condition)?;
    let graph = scope.graph;
    let mut source = scope.source;
    let mut stage = source.take_stage(&graph);
    let missing = || Error::logical("a column of filtered rows is missing");
    let condition_of_scan = if hides_rows { Some(stage.lower(condition).map_err(|_| missing())?) } else { None };
    if !hides_rows {
        stage.filter(condition, functions).map_err(|unbuilt| match unbuilt {
            Unbuilt::Missing(_) => missing(),
            Unbuilt::Error(error) => error,
        })?;
    }
    let expressions = nodes.iter().map(|node| stage.lower(*node)).collect::<Result<Vec<_>, _>>();
    let expressions = expressions.map_err(|_| missing())?;
    let mut plan = stage.into_plan();
    match (&mut plan, condition_of_scan) {
        (_, None) => {}
        (Plan::Scan(scan), Some(condition)) => {
            scan.predicate = crate::rules::all_of(vec![condition], functions)?;
            scan.hides_rows = true;
        }
        _ => return Err(Error::logical("a table with a row policy is no scan")),
    }
    let plan = project(plan, expressions, names.into_iter());
    let (database, name) = (source.database.take(), source.table.take());
    Ok(Source::plan(plan).named(database.as_deref(), name.as_deref()).with_virtual_columns(hidden.len()))
}
