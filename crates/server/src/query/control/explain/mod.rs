//! EXPLAIN: the tree, the formatted text, the plan, the pipelines or the work of a statement, a line in each row.

mod analyze;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use squall_engine::QueryContext;
use squall_planner::{ExplainOptions, Plan, Scan, Shown, explain_plan, not_explained};
use squall_sql::ast::{self, ExplainKind, Literal, SettingValue, Statement};
use squall_storage::{ConditionUse, RowNumbers, ScanRequest, SkipIndexUse, TableHandle};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Settings};

pub(in crate::query) use analyze::Analyzed;

use super::system_command::run_blocking;
use crate::query::Answer;
use crate::query::definition::{describe, show};
use crate::query::plan::planning;
use crate::session::Session;

/// Runs EXPLAIN.
pub(in crate::query) async fn run(
    session: &Session,
    explain: &ast::Explain,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    match (explain.kind, &explain.table_override) {
        (ExplainKind::CurrentTransaction, _) => return show::text("explain", "<no current transaction>"),
        (ExplainKind::TableOverride, Some((function, _))) => {
            let message = format!("EXPLAIN TABLE OVERRIDE is not supported for the {}() table function", function.name);
            return Err(Error::new(ErrorCode::INCORRECT_QUERY, message));
        }
        _ => {}
    }
    let Some(statement) = explain.statement.as_deref() else {
        return Err(Error::not_implemented("EXPLAIN without a statement"));
    };
    if explain.kind == ExplainKind::Estimate {
        let plan = planning::plan(session, query_of(statement)?, context).await?;
        let settings = context.settings.clone();
        return run_blocking(move || estimate(&plan, &settings)).await;
    }
    let lines = match explain.kind {
        ExplainKind::Ast => lines(&squall_sql::dump(statement)),
        ExplainKind::Syntax => {
            let is_set =
                |name: &str| explain.settings.iter().any(|setting| setting.name == name && is_on(&setting.value));
            if is_set("run_query_tree_passes") {
                return Err(Error::not_implemented("EXPLAIN SYNTAX run_query_tree_passes = 1"));
            }
            let one_line = is_set("oneline");
            vec![match statement {
                Statement::Query(query) => {
                    let mut query = query.clone();
                    squall_planner::make_explicit(&mut query);
                    squall_sql::format_explicit(&Statement::Query(query), one_line)
                }
                _ if one_line => squall_sql::format_one_line(statement),
                _ => squall_sql::format(statement),
            }]
        }
        ExplainKind::Plan => {
            let shown = shown(explain)?;
            let plan = planning::plan(session, query_of(statement)?, context).await?;
            let settings = context.settings.clone();
            // Indexes are read from the disk.
            let explained = run_blocking(move || {
                let of_scan = |scan: &Scan| index_lines(scan, &settings);
                explain_plan(&plan, ExplainOptions { shown, of_scan: Some(&of_scan), of_work: None })
            });
            lines(&explained.await?)
        }
        ExplainKind::Analyze => {
            let shown = shown(explain)?;
            let Statement::Query(query) = statement else {
                let message = "Only SELECT is currently supported for EXPLAIN ANALYZE query.";
                return Err(Error::new(ErrorCode::NOT_IMPLEMENTED, message));
            };
            let began = Instant::now();
            let plan = planning::plan(session, query, context).await?;
            let analyzed = Analyzed::start(&session.server.engine, &plan, context.clone(), began.elapsed())?;
            let work = analyzed.finish().await?;
            let context = context.clone();
            run_blocking(move || work.lines(&plan, &context, shown)).await?
        }
        ExplainKind::Pipeline => {
            let plan = planning::plan(session, query_of(statement)?, context).await?;
            session.server.engine.explain_pipeline(&plan, context.clone())?
        }
        kind => return Err(not_explained(kind)),
    };
    describe::answer([("explain", Column::from_strings(lines))])
}

/// What each table of a plan would be asked for, of tables that have parts.
fn estimate(plan: &Plan, settings: &Settings) -> Result<Answer> {
    let mut found: BTreeMap<(String, String), [u64; 3]> = BTreeMap::new();
    add_estimates(plan, settings, &mut found)?;
    let numbers = |at: usize| {
        let numbers = found.values().map(|numbers| numbers[at]).collect();
        Column::from_primitive::<arrow_array::types::UInt64Type>(DataType::UInt64, numbers)
    };
    describe::answer([
        ("database", Column::from_strings(found.keys().map(|(database, _)| database))),
        ("table", Column::from_strings(found.keys().map(|(_, table)| table))),
        ("parts", numbers(0)),
        ("rows", numbers(1)),
        ("marks", numbers(2)),
    ])
}

fn add_estimates(plan: &Plan, settings: &Settings, found: &mut BTreeMap<(String, String), [u64; 3]>) -> Result<()> {
    if let Plan::Scan(scan) = plan
        && scan.table.engine().ends_with("MergeTree")
    {
        let request = request_of(scan, settings);
        let table = &TableHandle::of(&*scan.table)?.0;
        let [parts, rows, marks] = match table.index_analysis(&request)? {
            Some(analysis) => {
                let last = analysis.steps.last();
                [last.map_or(0, |step| step.parts), analysis.rows, last.map_or(0, |step| step.granules)]
            }
            None => {
                let begun = table.scan(&request)?;
                let selection = begun.selection();
                [selection.parts, begun.rows_total().unwrap_or_default(), selection.marks]
            }
        };
        // A table without parts says nothing, one whose parts are all left out says zeros.
        if parts > 0 || !table.parts().is_empty() {
            let name = (scan.table.database().to_owned(), scan.table.name().to_owned());
            let sums = found.entry(name).or_default();
            sums.iter_mut().zip([parts, rows, marks]).for_each(|(sum, number)| *sum += number);
        }
    }
    plan.inputs().try_for_each(|input| add_estimates(input, settings, found))
}

/// What the scan of a plan asks its table for.
fn request_of(scan: &Scan, settings: &Settings) -> ScanRequest {
    ScanRequest {
        columns: scan.columns.clone(),
        schema: scan.schema.clone(),
        predicate: scan.predicate.clone(),
        bounds: Vec::new(),
        limit: scan.limit,
        skip_indexes: SkipIndexUse::new(settings),
        row_numbers: RowNumbers::None,
        subcolumns: None,
        condition_use: ConditionUse::default(),
    }
}

/// What indexes leave of a table.
pub(in crate::query) fn index_lines(scan: &Scan, settings: &Settings) -> Result<Vec<String>> {
    let analysis = TableHandle::of(&*scan.table)?.0.index_analysis(&request_of(scan, settings))?;
    Ok(analysis.map_or_else(Vec::new, |analysis| analysis.lines()))
}

fn shown(explain: &ast::Explain) -> Result<Shown> {
    Shown::of(explain.kind, explain.settings.iter().map(|setting| (&*setting.name, is_on(&setting.value))))
}

fn is_on(value: &SettingValue) -> bool {
    matches!(value, SettingValue::Literal(Literal::UInt64(1..) | Literal::Bool(true)))
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// The SELECT whose plan is asked for: the statement itself, or the source of an INSERT.
fn query_of(statement: &Statement) -> Result<&ast::Query> {
    match statement {
        Statement::Query(query) => Ok(query),
        Statement::Insert(insert) => match &insert.source {
            ast::InsertSource::Query(query) | ast::InsertSource::Input { query, .. } => Ok(query),
            _ => Err(Error::new(ErrorCode::INCORRECT_QUERY, "Only SELECT and INSERT SELECT have plans")),
        },
        _ => Err(Error::new(ErrorCode::INCORRECT_QUERY, "Only SELECT and INSERT SELECT have plans")),
    }
}
