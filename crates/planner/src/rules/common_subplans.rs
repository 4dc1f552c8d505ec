//! What a query computes twice in the same way, it computes once: a common table expression that is read several times, or subqueries that
//! are written alike. Its rows are kept, on disk where they do not fit into memory, and read as often as they are wanted. Conditions
//! have moved below before, so that what stays alike leaves out the same rows everywhere. Runtime filters have, too; but where one place
//! wants all rows, the others read those and do without their filters. Where rows stream by, as through a scan or a filter, computing
//! them again costs less than keeping them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use squall_types::{Result, checkpoint};

use super::{PASS_WORK, RuntimeFilter, cardinality, runtime_filters};
use crate::plan::{Aggregate, CommonRows, Plan};

/// More rows than this, as far as they are known, are not kept.
const ROWS_MAX: f64 = 16e6;

pub(super) fn apply(plan: &mut Plan) -> Result<()> {
    // What is alike may hold smaller things that are alike.
    let mut number = 0;
    loop {
        checkpoint(PASS_WORK)?;
        let alike = find(plan);
        if alike.is_empty() {
            return Ok(());
        }
        let mut found: Vec<Option<Plan>> = Vec::new();
        take(plan, &alike, number, &mut found);
        for (at, rows) in found.into_iter().enumerate().rev() {
            let Some(rows) = rows else { continue };
            plan.replace(|input| Plan::CommonSubplan {
                number: number + at,
                rows: Box::new(rows),
                input: Box::new(input),
            });
        }
        number += alike.values().max().map_or(0, |last| last + 1);
    }
}

/// The steps that are alike, by address, each with the number of its kind. None is below another one.
fn find(plan: &Plan) -> HashMap<*const Plan, usize> {
    let mut steps = Vec::new();
    describe(plan, &mut steps);
    let mut by_shape: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, step) in steps.iter().enumerate().filter(|(_, step)| step.gathers && step.repeats) {
        by_shape.entry(step.shape).or_default().push(at);
    }
    by_shape.retain(|_, steps| steps.len() > 1);
    // As they are but for the numbers of their filters, and without the filters of joins around them.
    let of_shapes = by_shape.values().flatten();
    let own: HashMap<usize, Unfiltered> = of_shapes
        .filter_map(|at| {
            let mut plan = steps.get(*at)?.plan.clone();
            let gives_all = !runtime_filters::without_outer(&mut plan);
            runtime_filters::renumber(&mut plan);
            Some((*at, Unfiltered { plan, gives_all }))
        })
        .collect();
    let mut alike = HashMap::new();
    let mut kinds: Vec<&Unfiltered> = Vec::new();
    // Steps come after those below them; so the largest are found first.
    let mut below = steps.len();
    for (at, step) in steps.iter().enumerate().rev() {
        if at >= below {
            continue;
        }
        let Some(others) = by_shape.get(&step.shape).filter(|others| others.contains(&at)) else { continue };
        let Some(own_plan) = own.get(&at) else { continue };
        let is_alike = |other: &usize| *other != at && own.get(other).is_some_and(|other| own_plan.shares(other));
        if !others.iter().any(is_alike) || !step.is_worth_keeping() {
            continue;
        }
        let kind = kinds.iter().position(|known| known.plan.same(&own_plan.plan)).unwrap_or_else(|| {
            kinds.push(own_plan);
            kinds.len() - 1
        });
        alike.insert(std::ptr::from_ref(step.plan), kind);
        below = step.first;
    }
    // One that lies within something else that is kept has no second of its kind left.
    let mut counts: HashMap<usize, usize> = HashMap::new();
    alike.values().for_each(|kind| *counts.entry(*kind).or_default() += 1);
    alike.retain(|_, kind| counts.get(kind).is_some_and(|count| *count > 1));
    alike
}

/// A step and what is below it, without the runtime filters of joins around it.
struct Unfiltered {
    plan: Plan,
    /// Whether there are no such filters: it gives all of its rows.
    gives_all: bool,
}

impl Unfiltered {
    /// Whether the rows are computed once for both. Of two that are both filtered, each may be a small part of the whole.
    fn shares(&self, other: &Self) -> bool {
        (self.gives_all || other.gives_all) && self.plan.same(&other.plan)
    }
}

/// A step with what is below it.
struct Step<'a> {
    plan: &'a Plan,
    /// The number of the first step below it, or its own.
    first: usize,
    /// Equal for steps that are the same.
    shape: u64,
    /// Whether it, or something below it, gathers all rows before it gives any.
    gathers: bool,
    /// Whether it gives the same rows each time.
    repeats: bool,
    /// Whether its rows come in an order.
    is_ordered: bool,
}

impl Step<'_> {
    /// Whether keeping the rows is less than computing them again.
    fn is_worth_keeping(&self) -> bool {
        self.gathers && self.repeats && cardinality::rows(self.plan).is_none_or(|rows| rows <= ROWS_MAX)
    }
}

/// Notes a step after all below it.
fn describe<'a>(plan: &'a Plan, steps: &mut Vec<Step<'a>>) {
    let first = steps.len();
    if let Plan::Filter { input, predicate } = plan
        && RuntimeFilter::of(predicate).is_some()
    {
        // It may be of a join around what is compared, and then it counts for nothing.
        describe(input, steps);
        let Some(input) = steps.last() else { return };
        let own = Step { plan, first, ..*input };
        steps.push(own);
        return;
    }
    let mut hasher = DefaultHasher::new();
    std::mem::discriminant(plan).hash(&mut hasher);
    plan.schema().len().hash(&mut hasher);
    if let Plan::Scan(scan) = plan {
        scan.table.rows_identity().hash(&mut hasher);
        scan.columns.hash(&mut hasher);
    }
    let (mut gathers, mut repeats, mut is_ordered) = (false, true, false);
    for input in plan.inputs() {
        describe(input, steps);
        let Some(input) = steps.last() else { continue };
        input.shape.hash(&mut hasher);
        gathers |= input.gathers;
        repeats &= input.repeats;
        is_ordered = input.is_ordered;
    }
    plan.visit_expressions(&mut |expression| repeats &= expression.is_deterministic());
    match plan {
        Plan::Aggregate(Aggregate { with_totals: true, .. }) => repeats = false,
        Plan::Aggregate(_) | Plan::Distinct { .. } => (gathers, is_ordered) = (true, false),
        Plan::Window(_) => gathers = true,
        Plan::Sort { .. } => is_ordered = true,
        // Without an order a limit takes any rows.
        Plan::Limit { .. } => (gathers, repeats) = (true, repeats && is_ordered),
        Plan::LimitBy { .. } => repeats &= is_ordered,
        Plan::Scan(scan) => repeats &= scan.limit.is_none(),
        Plan::CommonSubplan { .. } => repeats = false,
        Plan::Join(_) | Plan::Union { .. } => is_ordered = false,
        Plan::Values { .. }
        | Plan::Filter { .. }
        | Plan::Project { .. }
        | Plan::Fill(_)
        | Plan::ArrayJoin { .. }
        | Plan::LateColumns(_)
        | Plan::CommonRows(_) => {}
    }
    steps.push(Step { plan, first, shape: hasher.finish(), gathers, repeats, is_ordered });
}

/// Puts readings of kept rows in the places of steps that are alike; `found` gets what they read.
fn take(plan: &mut Plan, alike: &HashMap<*const Plan, usize>, number: usize, found: &mut Vec<Option<Plan>>) {
    let Some(kind) = alike.get(&std::ptr::from_ref(plan)).copied() else {
        let _ = plan.try_for_each_input(|input| {
            take(input, alike, number, found);
            Ok(())
        });
        return;
    };
    if found.len() <= kind {
        found.resize_with(kind + 1, || None);
    }
    let schema = plan.schema().clone();
    let columns = (0..schema.len()).collect();
    let reading = Plan::CommonRows(CommonRows { number: number + kind, columns, schema });
    let mut rows = std::mem::replace(plan, reading);
    runtime_filters::without_outer(&mut rows);
    if let Some(place) = found.get_mut(kind).filter(|place| place.is_none()) {
        *place = Some(rows);
    }
}
