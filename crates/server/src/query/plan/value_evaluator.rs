//! What evaluates the expressions that stand in VALUES.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_formats::Evaluate;
use squall_planner::{Plan, evaluate};
use squall_types::checkpoint::leash;
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use super::planning;
use crate::query::definition::show;
use crate::session::Session;

/// Evaluates expressions of VALUES: each is a SELECT of one row. No query is started for it, which could be cancelled with the
/// INSERT as its own.
pub(in crate::query) fn evaluator(session: &Session, context: &Arc<QueryContext>) -> Evaluate {
    let (session, context) = (session.clone(), context.clone());
    let evaluate_value = move |sql: &str, data_type: &DataType| -> Result<Value> {
        let query = show::query(&format!("SELECT _CAST(({sql}), {})", show::literal(&data_type.to_string())))?;
        let plan = planning::planner_now(&session, &context, |planner| squall_planner::plan_query(&query, planner))?;
        let too_complex =
            || Error::new(ErrorCode::NOT_IMPLEMENTED, format!("The expression '{sql}' in VALUES is too complex"));
        let (blocks, expressions) = match &plan {
            Plan::Values { blocks, .. } => (blocks, &[][..]),
            Plan::Project { input, expressions, .. } => match &**input {
                Plan::Values { blocks, .. } => (blocks, &expressions[..]),
                _ => return Err(too_complex()),
            },
            _ => return Err(too_complex()),
        };
        let row = blocks.first().filter(|block| block.rows() == 1).ok_or_else(too_complex)?;
        match expressions.first() {
            Some(expression) => Ok(evaluate(expression, row)?.value(0)),
            None => Ok(row.columns().first().ok_or_else(too_complex)?.value(0)),
        }
    };
    Arc::new(move |sql: &str, data_type: &DataType| {
        let leash = leash(planning::PLANNING_MAX);
        let value = evaluate_value(sql, data_type);
        let is_done = !leash.was_too_short();
        drop(leash);
        if is_done { value } else { planning::in_place(|| evaluate_value(sql, data_type)) }
    })
}
