//! Rules that rewrite a plan into one that does less. Each is a file of its own, with its why; here is their order, and what
//! several of them need.

mod aggregate_arithmetic;
mod aggregation_steps;
mod cardinality;
mod column_pruning;
mod common_subplans;
mod constant_rows;
mod disjunctions;
mod distinct;
mod duplicate_aggregates;
mod eager_aggregation;
mod group_keys;
mod group_limit;
mod grouping_sets;
mod has_to_in;
mod join_order;
mod join_sides;
mod late_projection;
mod limit_pushdown;
mod merge_projects;
mod outer_joins;
mod predicate_pushdown;
mod preimages;
mod redundant_sort;
mod runtime_filters;
mod semi_joins;
mod simplify;
mod typed_constants;
mod unique_keys;
mod unread_aggregates;
mod whole_partitions;

use std::sync::Arc;

pub use cardinality::KeyEstimates;
pub(crate) use cardinality::rows as estimated_rows;
pub(crate) use column_pruning::apply as prune_columns;
pub(crate) use group_keys::over_keys;
pub use runtime_filters::RuntimeFilter;

use squall_functions::{Argument, FunctionContext, resolve_scalar};
use squall_types::{Column, DataType, Result, Value, checkpoint};

use crate::analyzer::cast;
use crate::catalog::TableMetadata;
use crate::context::PlannerContext;
use crate::expression::Expression;
use crate::plan::{Plan, Scan};

/// What a few rules are for checkpoints: a plan may be of any size.
const PASS_WORK: usize = 1 << 16;

/// The plan that the rules make of a plan. Its columns stay as they are.
///
/// # Errors
/// Where a function that a rule inserts cannot be bound, or one that is folded fails.
pub fn optimize(mut plan: Plan, context: &PlannerContext<'_>) -> Result<Plan> {
    if is_trivial(&plan) {
        constant_rows::apply(&mut plan)?;
        return Ok(plan);
    }
    check_reads(&plan, context)?;
    let settings = context.settings;
    checkpoint(PASS_WORK)?;
    grouping_sets::apply(&mut plan)?;
    merge_projects::apply(&mut plan)?;
    simplify::apply(&mut plan, &context.functions)?;
    if settings.optimize_rewrite_has_to_in {
        has_to_in::apply(&mut plan, &context.functions)?;
    }
    if settings.optimize_time_filter_with_preimage {
        preimages::apply(&mut plan, &context.functions)?;
    }
    checkpoint(PASS_WORK)?;
    redundant_sort::apply(&mut plan);
    if settings.enable_optimize_predicate_expression {
        predicate_pushdown::apply(&mut plan, &context.functions)?;
        checkpoint(PASS_WORK)?;
        // Conditions that get below a join may be conditions on the next one.
        while settings.query_plan_convert_outer_join_to_inner_join && outer_joins::apply(&mut plan, &context.functions)?
        {
            predicate_pushdown::apply(&mut plan, &context.functions)?;
            checkpoint(PASS_WORK)?;
        }
        if settings.query_plan_optimize_join_order_limit > 1 {
            join_order::apply(&mut plan, &context.functions)?;
        }
        if settings.query_plan_convert_any_join_to_semi_or_anti_join {
            semi_joins::apply(&mut plan, &context.functions)?;
        }
    }
    checkpoint(PASS_WORK)?;
    // A limit of groups is of those that the query asks for.
    let may_group_more = settings.query_plan_eager_aggregation && settings.max_rows_to_group_by == 0;
    if may_group_more && eager_aggregation::may_apply(&plan) {
        // What is between an aggregation and its join may be nothing.
        merge_projects::apply(&mut plan)?;
        simplify::apply(&mut plan, &context.functions)?;
        eager_aggregation::apply(&mut plan);
    }
    join_sides::apply(&mut plan, &settings.query_plan_join_swap_table);
    if settings.enable_join_runtime_filters && settings.enable_optimize_predicate_expression {
        runtime_filters::apply(&mut plan, &context.functions)?;
    }
    group_keys::apply(&mut plan)?;
    if settings.optimize_arithmetic_operations_in_aggregate_functions {
        aggregate_arithmetic::apply(&mut plan, &context.functions)?;
    }
    checkpoint(PASS_WORK)?;
    // DISTINCT itself counts what its limits are of.
    if settings.max_rows_in_distinct == 0 && settings.max_bytes_in_distinct == 0 {
        distinct::apply(&mut plan);
    }
    whole_partitions::apply(&mut plan, &context.functions)?;
    if settings.query_plan_common_subplans {
        common_subplans::apply(&mut plan)?;
    }
    late_projection::apply(&mut plan);
    checkpoint(PASS_WORK)?;
    merge_projects::apply(&mut plan)?;
    simplify::apply(&mut plan, &context.functions)?;
    checkpoint(PASS_WORK)?;
    duplicate_aggregates::apply(&mut plan)?;
    column_pruning::apply(&mut plan);
    column_pruning::check_limit(&plan, settings.max_columns_to_read)?;
    unread_aggregates::apply(&mut plan, settings)?;
    limit_pushdown::apply(&mut plan, settings.exact_rows_before_limit);
    group_limit::apply(&mut plan);
    typed_constants::apply(&mut plan, &context.functions)?;
    Ok(plan)
}

/// A query in the form in which the rules leave expressions.
///
/// # Errors
/// Where a function that a rule inserts cannot be bound.
pub(crate) fn settle_expressions(plan: &mut Plan, functions: &FunctionContext) -> Result<()> {
    merge_projects::apply(plan)?;
    simplify::apply(plan, functions)
}

/// Whether the query may read what it reads: the columns that something needs, before any rule finds out that rows need not be read.
///
/// # Errors
/// `ACCESS_DENIED`.
pub(crate) fn check_reads(plan: &Plan, context: &PlannerContext<'_>) -> Result<()> {
    fn each_scan(plan: &mut Plan, visit: &mut dyn FnMut(&mut Scan) -> Result<()>) -> Result<()> {
        if let Plan::Scan(scan) = plan {
            visit(scan)?;
        }
        plan.try_for_each_input(|input| each_scan(input, visit))
    }
    let catalog = context.catalog;
    if !catalog.checks_reads() {
        return Ok(());
    }
    let mut read = plan.clone();
    // The first column that the query names of each table.
    let mut named: Vec<(Arc<dyn TableMetadata>, usize)> = Vec::new();
    each_scan(&mut read, &mut |scan| {
        // The columns of a row policy are not the query's.
        scan.predicate = scan.predicate.take().filter(|_| !scan.hides_rows);
        if !scan.hides_rows {
            named.extend(scan.columns.first().map(|column| (scan.table.clone(), *column)));
        }
        // Also a table of which nothing is needed in the end must be one that may be read.
        catalog.check_read(&*scan.table, &[])
    })?;
    column_pruning::apply(&mut read);
    each_scan(&mut read, &mut |scan| {
        let mut columns = scan.columns.clone();
        if columns.is_empty() {
            // As in ClickHouse, a subquery of which only rows count has a column still.
            let of_table = named.iter().find(|(table, _)| Arc::ptr_eq(table, &scan.table));
            columns.extend(of_table.map(|(_, column)| *column));
        }
        let names = columns.iter().filter_map(|column| scan.table.columns().get(*column));
        let names: Vec<&str> = names.map(|column| &*column.name).collect();
        if names.is_empty() { Ok(()) } else { catalog.check_read(&*scan.table, &names) }
    })
}

/// Whether there is nothing to do: `SELECT 1` must be planned in no time.
fn is_trivial(plan: &Plan) -> bool {
    match plan {
        Plan::Values { .. } => true,
        Plan::Project { input, .. } => matches!(**input, Plan::Values { .. }),
        _ => false,
    }
}

/// A call of a scalar function, folded where it is a constant.
///
/// # Errors
/// Where the function does not take these arguments.
pub fn call(name: &str, arguments: Vec<Expression>, functions: &FunctionContext) -> Result<Expression> {
    let described: Vec<Argument> = arguments
        .iter()
        .map(|argument| Argument { data_type: argument.data_type().clone(), constant: argument.constant().cloned() })
        .collect();
    let function = resolve_scalar(name, &described, functions)?;
    Ok(fold(Expression::Function { name: name.into(), function, arguments }))
}

/// The value of a call whose arguments are constants; the expression itself otherwise, and where computing it fails: then it
/// fails when the query runs, if it is computed at all.
fn fold(expression: Expression) -> Expression {
    let Expression::Function { function, arguments, .. } = &expression else { return expression };
    let is_constant = arguments.iter().all(|argument| argument.constant().is_some());
    let properties = function.properties();
    if !is_constant || !properties.is_deterministic || !properties.is_foldable {
        return expression;
    }
    let columns = arguments
        .iter()
        .map(|argument| Column::constant(argument.data_type().clone(), argument.constant().unwrap_or(&Value::Null), 1));
    let value = columns.collect::<Result<Vec<_>>>().and_then(|columns| function.execute(&columns, 1));
    match value {
        Ok(column) if column.rows() == 1 && column.value_bytes() <= crate::analyzer::FOLDED_BYTES_MAX => {
            Expression::Constant { value: column.value(0), data_type: function.return_type().clone() }
        }
        _ => expression,
    }
}

/// The conditions that must all hold for a condition to hold.
pub fn conjuncts(condition: Expression, into: &mut Vec<Expression>) {
    match condition {
        Expression::Function { name, arguments, .. } if &*name == "and" => {
            arguments.into_iter().for_each(|argument| conjuncts(argument, into));
        }
        other => into.push(other),
    }
}

/// The condition that all conditions hold; `None` for no conditions.
///
/// # Errors
/// Where `and` does not take them.
pub(crate) fn all_of(mut conditions: Vec<Expression>, functions: &FunctionContext) -> Result<Option<Expression>> {
    match conditions.len() {
        0 => Ok(None),
        1 => conditions.pop().map(|condition| as_condition(condition, functions)).transpose(),
        _ => call("and", conditions, functions).map(Some),
    }
}

/// An operand of `and`, which may be any number, as a condition that the engine filters by.
///
/// # Errors
/// Where there is no such function.
fn as_condition(condition: Expression, functions: &FunctionContext) -> Result<Expression> {
    let data_type = condition.data_type();
    match (data_type, data_type.inner()) {
        (DataType::LowCardinality(inner), DataType::UInt8 | DataType::Bool) => {
            let inner = (**inner).clone();
            cast(condition, &inner, functions)
        }
        (_, DataType::UInt8 | DataType::Bool) => Ok(condition),
        _ => {
            let zero = Expression::Constant { value: Value::UInt64(0), data_type: DataType::UInt8 };
            let differs = call("notEquals", vec![condition, zero], functions)?;
            if *differs.data_type().inner() == DataType::UInt8
                && !matches!(differs.data_type(), DataType::LowCardinality(_))
            {
                return Ok(differs);
            }
            let plain = differs.data_type().remove_low_cardinality().clone();
            cast(differs, &plain, functions)
        }
    }
}

/// The column that an expression is, or makes Nullable and leaves otherwise as it is.
pub(crate) fn column_made_nullable(expression: &Expression) -> Option<usize> {
    match expression {
        Expression::Column { position, .. } => Some(*position),
        Expression::Function { name, arguments, .. } if &**name == "CAST" => match arguments.first()? {
            Expression::Column { position, data_type } if *expression.data_type() == data_type.to_nullable() => {
                Some(*position)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a condition's value is a constant, and then whether rows pass.
pub(crate) fn known_condition(condition: &Expression) -> Option<bool> {
    if let Expression::Function { name, arguments, .. } = condition
        && &**name == "in"
        && let [_, set] = &arguments[..]
        && let Some(Value::Array(items)) = set.constant()
        && items.is_empty()
    {
        // Nothing is in an empty set, as a subquery's may be.
        return Some(false);
    }
    condition.constant().map(|value| value.as_f64().is_some_and(|number| number != 0.0))
}
