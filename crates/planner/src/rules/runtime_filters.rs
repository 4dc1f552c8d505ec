//! A join whose build side holds few of the key's values lets few rows of its probe side through. What stands below on the probe side (other
//! joins, aggregations) need not work for rows that end here: a filter by the keys of the build side moves as far down as conditions do,
//! most often to a scan, which passes over what lies outside of these keys. It is ClickHouse's `enable_join_runtime_filters`. What the
//! filter looks up is there only when the query runs, so the plan has a call of [`APPLY_FILTER`] with the join's number, which lets every
//! row through until the engine knows better, and the scan has the numbers of the joins by which it is bounded.

use squall_functions::{BoundFunction, FunctionContext, Properties};
use squall_types::{Column, DataType, Result, Value};

use super::cardinality::{self, CommonKeys};
use super::{all_of, conjuncts, predicate_pushdown};
use crate::expression::Expression;
use crate::plan::{Join, JoinKey, JoinKind, JoinStrictness, KeyBound, Plan};

/// ClickHouse's name of the function that a runtime filter is.
const APPLY_FILTER: &str = "__applyFilter";
/// The name of a filter that only bounds the scans that it gets to: its rows are not worth testing.
const APPLY_BOUNDS: &str = "__applyBounds";
/// A filter that lets more of the rows through is not worth testing.
const PASSED_MAX: f64 = 0.7;
/// A filter that lets no more of the rows through is tested before others, though its own join would test them next.
const SPARES_OTHERS_MAX: f64 = 0.15;
/// Keys of so many build rows stay in the first cache of a core, as bits or places.
const SMALL_BUILD_ROWS: f64 = 4096.0;

/// A runtime filter as the engine finds it in a plan.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeFilter<'a> {
    /// The number of the join ([`Join::runtime_filter`]) whose build side holds the keys.
    pub join: u64,
    /// The keys, over the filter's input.
    pub keys: &'a [Expression],
}

impl<'a> RuntimeFilter<'a> {
    /// The runtime filter that a condition is.
    pub fn of(condition: &'a Expression) -> Option<Self> {
        Self::named(condition, APPLY_FILTER)
    }

    fn named(condition: &'a Expression, wanted: &str) -> Option<Self> {
        let Expression::Function { name, arguments, .. } = condition else { return None };
        let (number, keys) = arguments.split_first().filter(|_| **name == *wanted)?;
        match number.constant()? {
            Value::UInt64(join) => Some(Self { join: *join, keys }),
            _ => None,
        }
    }

    /// The same of a condition that only bounds scans too.
    fn or_bounds_of(condition: &'a Expression) -> Option<Self> {
        Self::of(condition).or_else(|| Self::named(condition, APPLY_BOUNDS))
    }
}

/// Lets every row through: who knows the keys tests them in its place.
#[derive(Debug)]
struct ApplyFilter;

impl BoundFunction for ApplyFilter {
    fn return_type(&self) -> &DataType {
        &DataType::UInt8
    }

    fn execute(&self, _: &[Column], rows: usize) -> Result<Column> {
        Column::constant(DataType::UInt8, &Value::UInt64(1), rows)
    }

    fn properties(&self) -> Properties {
        Properties { may_throw: false, is_foldable: false, ..Properties::UNKNOWN }
    }
}

/// Makes the numbers of the filters of a plan those in which its joins come, so that plans that differ in nothing else are the same. The
/// plan has no filters of joins [around it](without_outer).
pub(super) fn renumber(plan: &mut Plan) {
    fn number_joins(plan: &mut Plan, joins: &mut Vec<u64>) {
        if let Plan::Join(join) = plan
            && let Some(number) = &mut join.runtime_filter
        {
            joins.push(*number);
            *number = joins.len() as u64;
        }
        each_input(plan, &mut |input| number_joins(input, joins));
    }
    fn number_filters(plan: &mut Plan, joins: &[u64]) {
        let new = |number: u64| joins.iter().position(|known| *known == number).map_or(number, |at| at as u64 + 1);
        match plan {
            Plan::Filter { predicate, .. } => {
                if let Some(filter) = RuntimeFilter::of(predicate)
                    && let number = new(filter.join)
                    && let Expression::Function { arguments, .. } = predicate
                    && let Some(first) = arguments.first_mut()
                {
                    *first = number_of(number);
                }
            }
            Plan::Scan(scan) => scan.bounds.iter_mut().for_each(|bound| bound.join = new(bound.join)),
            _ => {}
        }
        each_input(plan, &mut |input| number_filters(input, joins));
    }
    let mut joins = Vec::new();
    number_joins(plan, &mut joins);
    number_filters(plan, &joins);
}

/// Takes the filters and bounds of joins around a plan away. Whether there were filters: without any, the plan gives all of its rows.
pub(super) fn without_outer(plan: &mut Plan) -> bool {
    fn joins_of(plan: &Plan, joins: &mut Vec<u64>) {
        if let Plan::Join(join) = plan {
            joins.extend(join.runtime_filter);
        }
        plan.inputs().for_each(|input| joins_of(input, joins));
    }
    fn retain(plan: &mut Plan, joins: &[u64]) -> bool {
        let is_outer = |filter: RuntimeFilter<'_>| !joins.contains(&filter.join);
        let mut is_taken = false;
        while let Plan::Filter { predicate, .. } = plan
            && RuntimeFilter::of(predicate).is_some_and(is_outer)
        {
            is_taken = true;
            plan.replace(|plan| match plan {
                Plan::Filter { input, .. } => *input,
                other => other,
            });
        }
        if let Plan::Scan(scan) = plan {
            scan.bounds.retain(|bound| joins.contains(&bound.join));
        }
        each_input(plan, &mut |input| is_taken |= retain(input, joins));
        is_taken
    }
    let mut joins = Vec::new();
    joins_of(plan, &mut joins);
    retain(plan, &joins)
}

fn each_input(plan: &mut Plan, visit: &mut dyn FnMut(&mut Plan)) {
    let _ = plan.try_for_each_input(|input| {
        visit(input);
        Ok(())
    });
}

fn number_of(filter: u64) -> Expression {
    Expression::Constant { value: Value::UInt64(filter), data_type: DataType::UInt64 }
}

/// Adds filters to the probe sides of joins that are worth it.
pub(super) fn apply(plan: &mut Plan, functions: &FunctionContext) -> Result<()> {
    let mut filters = Filters::default();
    add(plan, &mut filters, functions)?;
    if filters.passed.is_empty() { Ok(()) } else { set_apart(plan, &filters, functions) }
}

/// What is known of the filters by their numbers, from 1 on.
#[derive(Default)]
struct Filters {
    /// Which of the rows each lets through, as an estimate.
    passed: Vec<f64>,
    /// What it costs to test a row, where the keys of a small build side cost 1.
    cost: Vec<f64>,
}

impl Filters {
    fn add(&mut self, passed: f64, build_rows: Option<f64>) -> u64 {
        self.passed.push(passed);
        // The more keys, the farther from the core.
        let doublings = (build_rows.unwrap_or(0.0) / SMALL_BUILD_ROWS).max(1.0).log2();
        self.cost.push(1.0 + doublings / 16.0);
        self.passed.len() as u64
    }

    fn known(of_all: &[f64], filter: &Expression) -> f64 {
        let filter = RuntimeFilter::or_bounds_of(filter);
        let place = filter.and_then(|filter| usize::try_from(filter.join).ok()?.checked_sub(1));
        place.and_then(|place| of_all.get(place).copied()).unwrap_or(1.0)
    }

    fn passed(&self, filter: &Expression) -> f64 {
        Self::known(&self.passed, filter)
    }

    /// Filters of the same rows in the order in which they are tested: those first that leave out most for what they cost. One that need not be
    /// tested, as the rows come to its own join next, is worth it where it spares another one nearly all of its rows.
    fn in_order(&self, mut filters: Vec<Expression>) -> Vec<Expression> {
        let left_out = |filter: &Expression| (1.0 - self.passed(filter)) / Self::known(&self.cost, filter);
        filters.sort_by(|left, right| left_out(right).total_cmp(&left_out(left)));
        let last = filters.iter().rposition(|filter| RuntimeFilter::of(filter).is_some()).unwrap_or(0);
        for filter in filters.iter_mut().take(last) {
            if self.passed(filter) < SPARES_OTHERS_MAX
                && let Expression::Function { name, .. } = filter
            {
                *name = APPLY_FILTER.into();
            }
        }
        filters
    }
}

fn add(plan: &mut Plan, filters: &mut Filters, functions: &FunctionContext) -> Result<()> {
    if let Plan::Join(join) = plan
        && drops_unmatched_left(join)
        && let Some(passed) = passed(join)
    {
        let is_tested = has_work_below(&join.left) && passed < PASSED_MAX;
        let own = filters.add(passed, cardinality::rows(&join.right));
        join.runtime_filter = Some(own);
        let number = number_of(own);
        let keys = join.keys.iter().map(|key| key.left.clone());
        let filter = Expression::Function {
            name: if is_tested { APPLY_FILTER } else { APPLY_BOUNDS }.into(),
            function: std::sync::Arc::new(ApplyFilter),
            arguments: std::iter::once(number).chain(keys).collect(),
        };
        predicate_pushdown::add(&mut join.left, filter, functions)?;
        if take_back(&mut join.left, own, functions)? {
            join.runtime_filter = None;
        }
    }
    plan.try_for_each_input(|input| add(input, filters, functions))
}

/// Takes a filter away that did not get below anything that works: its join looks the same keys up right after it.
fn take_back(plan: &mut Plan, number: u64, functions: &FunctionContext) -> Result<bool> {
    if let Plan::Project { input, .. } = plan {
        return take_back(input, number, functions);
    }
    let mut is_taken = false;
    plan.replace_with(|plan| {
        let Plan::Filter { input, predicate } = plan else { return Ok(plan) };
        let mut all = Vec::new();
        conjuncts(predicate, &mut all);
        let count = all.len();
        all.retain(|part| RuntimeFilter::or_bounds_of(part).is_none_or(|filter| filter.join != number));
        is_taken = all.len() < count;
        Ok(match all_of(all, functions)? {
            Some(predicate) => Plan::Filter { input, predicate },
            None => *input,
        })
    })?;
    Ok(is_taken)
}

/// Whether a left row without a partner never comes out, so that it may be missing.
fn drops_unmatched_left(join: &Join) -> bool {
    let is_deterministic = |key: &Expression| key.is_deterministic() && !key.may_throw();
    !join.keys.is_empty()
        && join.keys.iter().all(|key| is_deterministic(&key.left))
        && match join.strictness {
            JoinStrictness::All | JoinStrictness::Any | JoinStrictness::RightAny => !join.kind.keeps_left(),
            JoinStrictness::Semi => true,
            JoinStrictness::Anti => join.kind == JoinKind::Right,
            JoinStrictness::Asof | JoinStrictness::Paste => false,
        }
}

/// Whether a filter would save more than the lookups of its own join.
fn has_work_below(plan: &Plan) -> bool {
    match plan {
        Plan::Scan(_) | Plan::Values { .. } | Plan::CommonRows(_) => false,
        Plan::Filter { input, .. } | Plan::Project { input, .. } | Plan::ArrayJoin { input, .. } => {
            has_work_below(input)
        }
        Plan::Union { inputs, .. } => inputs.iter().any(has_work_below),
        Plan::Join(_)
        | Plan::Aggregate(_)
        | Plan::Window(_)
        | Plan::Fill(_)
        | Plan::LateColumns(_)
        | Plan::Sort { .. }
        | Plan::Limit { .. }
        | Plan::LimitBy { .. }
        | Plan::CommonSubplan { .. }
        | Plan::Distinct { .. } => true,
    }
}

/// Which of the left rows find a partner, as an estimate; `None` where nothing below the build side leaves rows out.
fn passed(join: &Join) -> Option<f64> {
    let mut rows = cardinality::rows(&join.right)?;
    if let Plan::Values { .. } = *join.right {
        // A set: its values are among those that the left side has.
        let of_left = |key: &JoinKey| {
            let of_table = || cardinality::source_rows(&join.left, &key.left);
            cardinality::distinct(&join.left, &key.left).or_else(of_table)
        };
        let values = join.keys.iter().filter_map(of_left).fold(0.0, f64::max);
        return Some(if values > rows { rows / values } else { 1.0 });
    }
    let mut values = 1.0;
    for key in &join.keys {
        let of_table = || cardinality::source_rows(&join.right, &key.right);
        let mut of_key = cardinality::distinct(&join.right, &key.right).or_else(of_table)?;
        if let Some(common) = CommonKeys::of(join, key) {
            of_key = of_key.min(common.values);
            rows = cardinality::rows_with_partner(rows, common.right_table, common.right);
        }
        values *= of_key;
    }
    Some(rows / values.max(1.0))
}

/// Gives each filter a step of its own, after all other conditions, which are cheaper.
fn set_apart(plan: &mut Plan, known: &Filters, functions: &FunctionContext) -> Result<()> {
    plan.try_for_each_input(|input| set_apart(input, known, functions))?;
    let scan = match plan {
        Plan::Scan(scan) => scan,
        Plan::Filter { .. } => return split_filter(plan, known, functions),
        _ => return Ok(()),
    };
    let (filters, others) = parts(scan.predicate.take());
    scan.predicate = all_of(others, functions)?;
    for filter in filters.iter().filter_map(RuntimeFilter::or_bounds_of) {
        let bounds = filter.keys.iter().enumerate().filter_map(|(key, expression)| match expression {
            Expression::Column { position, .. } => {
                Some(KeyBound { join: filter.join, key, column: *scan.columns.get(*position)? })
            }
            _ => None,
        });
        scan.bounds.extend(bounds);
    }
    put_above(plan, known.in_order(filters));
    Ok(())
}

fn split_filter(plan: &mut Plan, known: &Filters, functions: &FunctionContext) -> Result<()> {
    let mut filters = Vec::new();
    plan.replace_with(|plan| {
        let Plan::Filter { input, predicate } = plan else { return Ok(plan) };
        let (found, others) = parts(Some(predicate));
        filters = found;
        Ok(match all_of(others, functions)? {
            Some(predicate) => Plan::Filter { input, predicate },
            None => *input,
        })
    })?;
    put_above(plan, known.in_order(filters));
    Ok(())
}

/// The runtime filters of a condition, and its other parts.
fn parts(predicate: Option<Expression>) -> (Vec<Expression>, Vec<Expression>) {
    let mut all = Vec::new();
    if let Some(predicate) = predicate {
        conjuncts(predicate, &mut all);
    }
    all.into_iter().partition(|part| RuntimeFilter::or_bounds_of(part).is_some())
}

fn put_above(plan: &mut Plan, filters: Vec<Expression>) {
    for predicate in filters.into_iter().filter(|filter| RuntimeFilter::of(filter).is_some()) {
        plan.replace(|plan| Plan::Filter { input: Box::new(plan), predicate });
    }
}
