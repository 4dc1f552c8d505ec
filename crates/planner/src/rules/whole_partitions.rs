//! An aggregate over whole partitions, `sum(x) OVER (PARTITION BY k)`, has one value for all rows of a partition: it is an aggregation,
//! joined to the rows by its keys. No row is sorted for it. The rows are read twice, so this is for those that stream by, and for fewer
//! partitions than rows.

use std::sync::Arc;

use squall_functions::FunctionContext;
use squall_types::{Result, Schema, default_value};

use super::{call, cardinality};
use crate::analyzer::cast;
use crate::expression::Expression;
use crate::plan::{Aggregate, AggregateCall, FrameBound, FrameUnit, Join, JoinKey, Plan, Window, WindowCallFunction};

/// Fewer rows are sorted faster than joined.
const ROWS_MIN: f64 = 65_536.0;
/// A partition has so many rows at least, on average.
const ROWS_PER_PARTITION_MIN: f64 = 4.0;

pub(super) fn apply(plan: &mut Plan, functions: &FunctionContext) -> Result<()> {
    rewrite(plan, functions, false)
}

/// `order_matters`: whether a window above takes its rows in the order of this step, and has no sort of its own.
fn rewrite(plan: &mut Plan, functions: &FunctionContext, order_matters: bool) -> Result<()> {
    let below = match plan {
        Plan::Window(_) => true,
        Plan::Filter { .. }
        | Plan::Project { .. }
        | Plan::ArrayJoin { .. }
        | Plan::Limit { .. }
        | Plan::LimitBy { .. } => order_matters,
        _ => false,
    };
    plan.try_for_each_input(|input| rewrite(input, functions, below))?;
    let Plan::Window(window) = plan else { return Ok(()) };
    if !order_matters && let Some(joined) = joined(window, functions)? {
        *plan = joined;
    }
    Ok(())
}

/// The rows of a window joined to its aggregates, where that is worth it.
fn joined(window: &Window, functions: &FunctionContext) -> Result<Option<Plan>> {
    let Window { input, partition_by, order_by, frame, calls, schema } = window;
    let is_whole = frame.begin == FrameBound::UnboundedPreceding
        && matches!(frame.end, FrameBound::CurrentRow | FrameBound::UnboundedFollowing)
        && (frame.end == FrameBound::UnboundedFollowing || frame.unit != FrameUnit::Rows);
    let Plan::Sort { input, limit: None, group_limit: None, .. } = &**input else { return Ok(None) };
    if partition_by.is_empty() || !order_by.is_empty() || !is_whole || !streams(input) {
        return Ok(None);
    }
    let Some(rows) = cardinality::rows(input).filter(|rows| *rows >= ROWS_MIN) else { return Ok(None) };
    if cardinality::groups(partition_by, input, rows) * ROWS_PER_PARTITION_MIN > rows {
        return Ok(None);
    }
    let mut aggregates = Vec::with_capacity(calls.len());
    for call in calls {
        let WindowCallFunction::Aggregate(function) = &call.function else { return Ok(None) };
        // Longer results are better copied once a partition than once a row.
        if function.return_type().inner().fixed_width_bytes().is_none() {
            return Ok(None);
        }
        let (name, function, arguments) = (call.name.clone(), function.clone(), call.arguments.clone());
        aggregates.push(AggregateCall { name, function, arguments });
    }
    let mut keys = Vec::with_capacity(partition_by.len());
    for (at, key) in partition_by.iter().enumerate() {
        // Floats that are equal may have other bytes.
        if key.data_type().inner().is_float() || !key.is_deterministic() {
            return Ok(None);
        }
        let of_group = Expression::column(at, key.data_type());
        keys.extend(same_partition(key.clone(), of_group, functions)?);
    }
    let of_keys = partition_by.iter().map(|key| ("".into(), key.data_type().clone()));
    let of_calls = calls.iter().map(|call| (call.name.clone(), call.function.return_type().clone()));
    let groups = Plan::Aggregate(Aggregate {
        input: input.clone(),
        keys: partition_by.clone(),
        aggregates,
        schema: Arc::new(Schema { fields: of_keys.chain(of_calls).collect() }),
        with_totals: false,
        sets: None,
        limit: None,
    });
    let right_columns = (partition_by.len()..partition_by.len() + calls.len()).collect();
    let join = Join::inner((**input).clone(), groups, keys);
    Ok(Some(Plan::Join(Join { right_columns, schema: schema.clone(), ..join })))
}

/// The equalities that say that a row is of a group; NULL is a group, too.
fn same_partition(row: Expression, group: Expression, functions: &FunctionContext) -> Result<Vec<JoinKey>> {
    let of_both = |make: &dyn Fn(Expression) -> Result<Expression>| -> Result<JoinKey> {
        Ok(JoinKey { left: make(row.clone())?, right: make(group.clone())? })
    };
    let plain = row.data_type().remove_low_cardinality().clone();
    let without_dictionary = |side: Expression| cast(side, &plain, functions);
    if !plain.is_nullable() {
        return Ok(vec![of_both(&without_dictionary)?]);
    }
    let data_type = plain.remove_nullable();
    let is_null = |side: Expression| call("isNull", vec![side], functions);
    let value = |side: Expression| {
        let default = Expression::Constant { value: default_value(&data_type), data_type: data_type.clone() };
        call("ifNull", vec![without_dictionary(side)?, default], functions)
    };
    Ok(vec![of_both(&is_null)?, of_both(&value)?])
}

/// Whether rows come from one table as it is read, the same ones each time.
fn streams(plan: &Plan) -> bool {
    let mut is_deterministic = true;
    plan.visit_expressions(&mut |expression| is_deterministic &= expression.is_deterministic());
    is_deterministic
        && match plan {
            Plan::Scan(scan) => scan.limit.is_none(),
            Plan::Filter { input, .. } | Plan::Project { input, .. } => streams(input),
            _ => false,
        }
}
