//! EXPLAIN: the tree, the formatted text, the plan or the pipelines of a statement, a line in each row.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_planner::{ExplainOptions, explain_plan, not_explained};
use squall_sql::ast::{self, ExplainKind, Literal, SettingValue, Statement};
use squall_types::{Column, Error, ErrorCode, Result};

use super::{Answer, describe, planning};
use crate::session::Session;

/// Runs EXPLAIN.
pub(super) async fn run(session: &Session, explain: &ast::Explain, context: &Arc<QueryContext>) -> Result<Answer> {
    let Some(statement) = explain.statement.as_deref() else {
        return Err(Error::not_implemented("EXPLAIN without a statement"));
    };
    let lines = match explain.kind {
        ExplainKind::Ast => lines(&squall_sql::dump(statement)),
        ExplainKind::Syntax => vec![squall_sql::format(statement)],
        ExplainKind::Plan => {
            let plan = planning::plan(session, query_of(statement)?, context).await?;
            let header = explain.settings.iter().any(|setting| setting.name == "header" && is_on(&setting.value));
            lines(&explain_plan(&plan, ExplainOptions { header }))
        }
        ExplainKind::Pipeline => {
            let plan = planning::plan(session, query_of(statement)?, context).await?;
            session.server.engine.explain_pipeline(&plan, context.clone())?
        }
        kind => return Err(not_explained(kind)),
    };
    describe::answer([("explain", Column::from_strings(lines))])
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
            ast::InsertSource::Query(query) => Ok(query),
            _ => Err(Error::new(ErrorCode::INCORRECT_QUERY, "Only SELECT and INSERT SELECT have plans")),
        },
        _ => Err(Error::new(ErrorCode::INCORRECT_QUERY, "Only SELECT and INSERT SELECT have plans")),
    }
}
