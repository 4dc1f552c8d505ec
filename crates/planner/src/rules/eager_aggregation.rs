//! `SELECT name, sum(price) FROM sales JOIN customers USING (customer) GROUP BY name`: where many sales are of one customer, they are summed by
//! customer before the join. The join then finds the name of each customer once, and the aggregation above puts together sums by name. So
//! fewer rows are looked up, and keys that are long are hashed once a customer instead of once a sale. However many partners a row has, it
//! counts as often as before. Source: Yan, Larson, *Eager Aggregation and Lazy Aggregation*, VLDB 1995.

use std::ops::Range;
use std::sync::Arc;

use squall_functions::ignores_order;
use squall_types::Schema;

use super::aggregation_steps::{Steps, first_step, second_step};
use super::cardinality;
use crate::expression::Expression;
use crate::plan::{Aggregate, Join, JoinKey, JoinKind, JoinStrictness, Plan};

/// Fewer rows are aggregated fast enough.
const ROWS_MIN: f64 = 65_536.0;
/// So many times fewer groups than rows must be expected below the join.
const GAIN_MIN: f64 = 4.0;
/// Where the result has fewer groups than this part of those below the join, its hash table is small and fast as it is.
const GROUPS_SHARE_MIN: f64 = 0.25;
/// Where the join leaves less of the rows than this, those that it leaves are better aggregated alone.
const LEFT_MIN: f64 = 0.5;

/// Whether a plan has an aggregation over a join.
pub(super) fn may_apply(plan: &Plan) -> bool {
    let is_candidate = match plan {
        Plan::Aggregate(aggregate) => !aggregate.aggregates.is_empty() && is_over_join(&aggregate.input),
        _ => false,
    };
    is_candidate || plan.inputs().any(may_apply)
}

fn is_over_join(plan: &Plan) -> bool {
    match plan {
        Plan::Join(join) => join.kind == JoinKind::Inner,
        Plan::Project { input, .. } | Plan::Filter { input, .. } => is_over_join(input),
        _ => false,
    }
}

pub(super) fn apply(plan: &mut Plan) {
    // Nothing below fails.
    let _ = plan.try_for_each_input(|input| {
        apply(input);
        Ok(())
    });
    let Plan::Aggregate(aggregate) = plan else { return };
    if let Some(eager) = aggregated_below(aggregate) {
        *aggregate = eager;
    }
}

/// The aggregation over a join one of whose sides is aggregated; `None` where that is not worth it.
fn aggregated_below(aggregate: &Aggregate) -> Option<Aggregate> {
    let Plan::Join(join) = &*aggregate.input else { return None };
    let is_plain = !aggregate.with_totals && aggregate.sets.is_none() && !aggregate.keys.is_empty();
    let is_inner = join.kind == JoinKind::Inner && join.strictness == JoinStrictness::All && !join.keys.is_empty();
    if !is_plain || !is_inner || !is_deterministic(aggregate, join) || may_throw(aggregate) {
        return None;
    }
    let steps = aggregate.aggregates.iter().map(Steps::by_results).collect::<Option<Vec<_>>>()?;
    // Without aggregates a join need not find all partners, which is another rule's.
    if steps.is_empty() || !aggregate.aggregates.iter().all(|call| ignores_order(call.function_name())) {
        return None;
    }
    let side = Side::with_arguments(aggregate, join)?;
    side.is_worth(aggregate)?.then(|| side.aggregate(aggregate, join, steps))
}

fn is_deterministic(aggregate: &Aggregate, join: &Join) -> bool {
    let arguments = aggregate.aggregates.iter().flat_map(|call| &call.arguments);
    let of_join = join.keys.iter().flat_map(|key| [&key.left, &key.right]);
    aggregate.keys.iter().chain(arguments).chain(of_join).chain(&join.condition).all(Expression::is_deterministic)
}

/// Whether an argument may be an error. Below the join it would be computed of rows, too, that find no partner.
fn may_throw(aggregate: &Aggregate) -> bool {
    aggregate.aggregates.iter().flat_map(|call| &call.arguments).any(Expression::may_throw)
}

/// The side of a join that is aggregated below it.
struct Side<'a> {
    is_left: bool,
    input: &'a Plan,
    /// The columns of `input` that something but the aggregates' arguments reads, ascending.
    columns: Vec<usize>,
}

impl<'a> Side<'a> {
    /// The side that all arguments are of, the larger one where there are none.
    fn with_arguments(aggregate: &Aggregate, join: &'a Join) -> Option<Self> {
        let width = join.left_columns.len();
        let (mut reads_left, mut reads_right) = (false, false);
        for argument in aggregate.aggregates.iter().flat_map(|call| &call.arguments) {
            argument.visit_columns(&mut |at| if at < width { reads_left = true } else { reads_right = true });
        }
        let is_left = match (reads_left, reads_right) {
            (true, true) => return None,
            (false, false) => cardinality::rows(&join.left)? >= cardinality::rows(&join.right)?,
            (reads_left, _) => reads_left,
        };
        let input = if is_left { &*join.left } else { &*join.right };
        let mut side = Self { is_left, input, columns: Vec::new() };
        let mut columns = Vec::new();
        for key in &aggregate.keys {
            key.visit_columns(&mut |at| columns.extend(side.column(join, at)));
        }
        for JoinKey { left, right } in &join.keys {
            let key = if is_left { left } else { right };
            key.visit_columns(&mut |at| columns.push(at));
        }
        let first = join.left.schema().len();
        if let Some(condition) = &join.condition {
            condition.visit_columns(&mut |at| columns.extend(side.of_pair(at, first)));
        }
        columns.sort_unstable();
        columns.dedup();
        side.columns = columns;
        Some(side)
    }

    /// The column of this side that a column of the join is.
    fn column(&self, join: &Join, at: usize) -> Option<usize> {
        match at.checked_sub(join.left_columns.len()) {
            None => join.left_columns.get(at).filter(|_| self.is_left),
            Some(of_right) => join.right_columns.get(of_right).filter(|_| !self.is_left),
        }
        .copied()
    }

    /// The column of this side that a column of a pair of rows is; the left one has `first`.
    fn of_pair(&self, at: usize, first: usize) -> Option<usize> {
        match at.checked_sub(first) {
            None => Some(at).filter(|_| self.is_left),
            of_right => of_right.filter(|_| !self.is_left),
        }
    }

    /// Whether this saves more than it costs; `None` where nobody knows.
    fn is_worth(&self, aggregate: &Aggregate) -> Option<bool> {
        // Floats that are equal may have other bytes, of which a group has one.
        let is_float = |column: &usize| {
            self.input.schema().fields.get(*column).is_none_or(|(_, data_type)| data_type.inner().is_float())
        };
        let rows = cardinality::rows(self.input).filter(|rows| *rows >= ROWS_MIN)?;
        if self.columns.iter().any(is_float) {
            return Some(false);
        }
        let groups = cardinality::groups_at_most(self.input, &self.columns)?;
        let joined = cardinality::rows(&aggregate.input)?;
        let wanted = cardinality::groups(&aggregate.keys, &aggregate.input, joined);
        Some(groups * GAIN_MIN <= rows && joined >= rows * LEFT_MIN && wanted >= groups * GROUPS_SHARE_MIN)
    }

    fn aggregate(&self, aggregate: &Aggregate, join: &Join, mut steps: Vec<Steps>) -> Aggregate {
        for step in &mut steps {
            let arguments = step.first.arguments.iter();
            step.first.arguments =
                arguments.map(|argument| argument.map_columns(&|at| self.column(join, at).unwrap_or(at))).collect();
        }
        let groups = first_step(self.input.clone(), &self.columns, &steps);
        let place = |column: usize| self.columns.iter().position(|known| *known == column).unwrap_or(column);
        let (all, first, width) = (groups.schema().len(), join.left.schema().len(), join.left_columns.len());
        let of_left = if self.is_left { all } else { width };
        // Columns of the new join, and of its pairs of rows.
        let of_join = |at: usize| match self.column(join, at) {
            Some(column) if self.is_left => place(column),
            Some(column) => width + place(column),
            None if self.is_left => at - width + of_left,
            None => at,
        };
        let of_pair = |at: usize| match self.of_pair(at, first) {
            Some(column) if self.is_left => place(column),
            Some(column) => first + place(column),
            None if self.is_left => at - first + all,
            None => at,
        };
        let merges =
            second_step(&steps, &aggregate.aggregates, self.columns.len() + if self.is_left { 0 } else { width });
        let own_key = |key: &Expression, is_own: bool| if is_own { key.map_columns(&place) } else { key.clone() };
        let keys = join.keys.iter().map(|JoinKey { left, right }| JoinKey {
            left: own_key(left, self.is_left),
            right: own_key(right, !self.is_left),
        });
        let (keys, condition) = (keys.collect(), join.condition.as_ref().map(|all| all.map_columns(&of_pair)));
        let old_fields = |columns: Range<usize>| join.schema.fields.get(columns).unwrap_or_default().to_vec();
        let (own_fields, own_columns) = (groups.schema().fields.clone(), (0..all).collect());
        let groups = Box::new(groups);
        let (left, left_columns, left_fields, right, right_columns, right_fields) = match self.is_left {
            true => {
                let others = old_fields(width..join.schema.len());
                (groups, own_columns, own_fields, join.right.clone(), join.right_columns.clone(), others)
            }
            false => {
                let others = old_fields(0..width);
                (join.left.clone(), join.left_columns.clone(), others, groups, own_columns, own_fields)
            }
        };
        let fields = left_fields.into_iter().chain(right_fields).collect();
        let schema = Arc::new(Schema { fields });
        let join = Join { left, right, keys, condition, left_columns, right_columns, schema, ..join.clone() };
        Aggregate {
            input: Box::new(Plan::Join(join)),
            keys: aggregate.keys.iter().map(|key| key.map_columns(&of_join)).collect(),
            aggregates: merges,
            ..aggregate.clone()
        }
    }
}
