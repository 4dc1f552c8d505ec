//! `FROM a, b, c WHERE a.x = c.x AND b.y = c.y`: joined in the order written, a and b would make all their pairs. Tables of a list are
//! joined in an order in which each has an equality with one before it, where there is one; the largest streams past the others.

use std::sync::Arc;

use squall_types::{Result, Schema};

use super::conjuncts;
use super::join_sides::rows;
use crate::expression::Expression;
use crate::plan::{Join, JoinKind, JoinStrictness, Plan};

pub(super) fn apply(plan: &mut Plan) -> Result<()> {
    if let Plan::Filter { .. } = plan {
        let mut conditions = Vec::new();
        let mut step = &mut *plan;
        while let Plan::Filter { input, predicate } = step {
            conjuncts(predicate.clone(), &mut conditions);
            step = input;
        }
        if is_list(step) {
            reorder(step, &conditions);
        }
    }
    plan.try_for_each_input(apply)
}

/// Whether a step is a join without any condition of its own, which puts out all columns of both sides.
fn is_list(plan: &Plan) -> bool {
    let Plan::Join(join) = plan else { return false };
    join.kind == JoinKind::Inner
        && join.strictness == JoinStrictness::All
        && join.keys.is_empty()
        && join.condition.is_none()
        && join.left_columns.iter().copied().eq(0..join.left.schema().len())
        && join.right_columns.iter().copied().eq(0..join.right.schema().len())
}

fn tables(plan: Plan, into: &mut Vec<Plan>) {
    if !is_list(&plan) {
        return into.push(plan);
    }
    match plan {
        Plan::Join(join) => {
            tables(*join.left, into);
            tables(*join.right, into);
        }
        other => into.push(other),
    }
}

fn reorder(plan: &mut Plan, conditions: &[Expression]) {
    let mut all = Vec::new();
    tables(plan.clone(), &mut all);
    let mut firsts = Vec::with_capacity(all.len());
    let mut width = 0;
    for table in &all {
        firsts.push(width);
        width += table.schema().len();
    }
    let edges = edges(conditions, &firsts);
    let is_connected = |table: usize, chosen: &[usize]| {
        chosen.iter().any(|other| edges.contains(&(table, *other)) || edges.contains(&(*other, table)))
    };
    let written: Vec<usize> = (0..all.len()).collect();
    let is_good = written.iter().skip(1).all(|table| is_connected(*table, &written[..*table]));
    if is_good || edges.is_empty() {
        return;
    }
    let degree = |table: &usize| edges.iter().filter(|(one, other)| one == table || other == table).count();
    let size = |table: &usize| (rows(&all[*table]).unwrap_or(0), degree(table), usize::MAX - table);
    let Some(start) = written.iter().copied().filter(|table| degree(table) > 0).max_by_key(size) else { return };
    let mut order = vec![start];
    while order.len() < all.len() {
        let mut rest = written.iter().copied().filter(|table| !order.contains(table));
        let next = rest.clone().find(|table| is_connected(*table, &order)).or_else(|| rest.next());
        order.extend(next);
    }
    let schema = plan.schema().clone();
    let mut positions = vec![0; width];
    let mut to = 0;
    for table in &order {
        for at in 0..all[*table].schema().len() {
            positions[firsts[*table] + at] = to;
            to += 1;
        }
    }
    let mut all: Vec<Option<Plan>> = all.into_iter().map(Some).collect();
    let joined = order.iter().filter_map(|table| all[*table].take()).reduce(crossed);
    if let Some(joined) = joined {
        let columns = positions.iter().zip(schema.types()).map(|(at, data_type)| Expression::column(*at, data_type));
        *plan = Plan::Project { input: Box::new(joined), expressions: columns.collect(), schema };
    }
}

/// Pairs of tables between whose columns there is an equality.
fn edges(conditions: &[Expression], firsts: &[usize]) -> Vec<(usize, usize)> {
    let table_of = |expression: &Expression| {
        let mut found: Option<usize> = None;
        let mut is_single = true;
        expression.visit_columns(&mut |column| {
            let table = firsts.partition_point(|first| *first <= column).saturating_sub(1);
            is_single &= *found.get_or_insert(table) == table;
        });
        found.filter(|_| is_single)
    };
    let mut edges = Vec::new();
    for condition in conditions {
        let Expression::Function { name, arguments, .. } = condition else { continue };
        let [one, other] = &arguments[..] else { continue };
        if &**name != "equals" || !condition.is_deterministic() {
            continue;
        }
        match (table_of(one), table_of(other)) {
            (Some(one), Some(other)) if one != other => edges.push((one, other)),
            _ => {}
        }
    }
    edges
}

fn crossed(left: Plan, right: Plan) -> Plan {
    let fields = left.schema().fields.iter().chain(&right.schema().fields).cloned().collect();
    Plan::Join(Join {
        left_columns: (0..left.schema().len()).collect(),
        right_columns: (0..right.schema().len()).collect(),
        left: Box::new(left),
        right: Box::new(right),
        kind: JoinKind::Inner,
        strictness: JoinStrictness::All,
        keys: Vec::new(),
        condition: None,
        nearest: None,
        schema: Arc::new(Schema { fields }),
    })
}
