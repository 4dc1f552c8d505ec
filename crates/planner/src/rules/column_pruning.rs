//! Every step computes, and every scan reads, only the columns that something above needs. `count()` reads none.

use std::sync::Arc;

use squall_types::{Error, ErrorCode, Result, Schema};

use crate::expression::Expression;
use crate::plan::{Aggregate, CommonRows, Join, Plan, Scan, SortKey, Window};

pub(crate) fn apply(plan: &mut Plan) {
    let needed = vec![true; plan.schema().len()];
    prune(plan, &needed);
}

/// Refuses scans of more columns than `max_columns_to_read`; 0 is unlimited.
///
/// # Errors
/// `TOO_MANY_COLUMNS`.
pub(super) fn check_limit(plan: &Plan, columns_max: u64) -> Result<()> {
    match plan {
        Plan::Scan(scan) if columns_max > 0 && scan.columns.len() as u64 > columns_max => Err(Error::new(
            ErrorCode::TOO_MANY_COLUMNS,
            format!(
                "Limit for number of columns to read exceeded. Requested: {}, maximum: {columns_max}",
                scan.columns.len()
            ),
        )),
        _ => plan.inputs().try_for_each(|input| check_limit(input, columns_max)),
    }
}

/// Where each column of a step went: its new position, or none.
type Moves = Vec<Option<usize>>;

/// Drops columns that are not needed. Others may stay; the answer tells.
fn prune(plan: &mut Plan, needed: &[bool]) -> Moves {
    match plan {
        Plan::Scan(scan) => prune_scan(scan, needed),
        // Late columns are chosen once this is done.
        Plan::Values { .. } | Plan::LateColumns(_) => (0..needed.len()).map(Some).collect(),
        Plan::Filter { input, predicate } => {
            let mut below = needed.to_vec();
            need(predicate, &mut below);
            let moves = prune(input, &below);
            renumber(predicate, &moves);
            moves
        }
        Plan::Project { .. } => prune_project(plan, needed),
        Plan::Aggregate(_) => prune_aggregate(plan, needed),
        Plan::Sort { input, keys, .. } => {
            let mut below = needed.to_vec();
            keys.iter().for_each(|key| need(&key.expression, &mut below));
            let moves = prune(input, &below);
            renumber_keys(keys, &moves);
            moves
        }
        Plan::Limit { input, ties, .. } => {
            let mut below = needed.to_vec();
            ties.iter().flatten().for_each(|key| need(&key.expression, &mut below));
            let moves = prune(input, &below);
            if let Some(ties) = ties {
                renumber_keys(ties, &moves);
            }
            moves
        }
        Plan::LimitBy { input, keys, .. } => {
            let mut below = needed.to_vec();
            keys.iter().for_each(|key| need(key, &mut below));
            let moves = prune(input, &below);
            keys.iter_mut().for_each(|key| renumber(key, &moves));
            moves
        }
        Plan::Fill(fill) => prune(&mut fill.input, &vec![true; needed.len()]),
        Plan::Distinct { input } => {
            // Rows differ by all their columns.
            let below = vec![true; needed.len()];
            prune(input, &below)
        }
        Plan::Union { inputs, schema } => {
            for input in inputs.iter_mut() {
                let moves = prune(input, needed);
                put_in_order(input, &moves, needed);
            }
            let (fields, moves) = kept(&schema.fields, needed);
            *schema = Arc::new(Schema { fields });
            moves
        }
        Plan::CommonSubplan { number, rows, input } => prune_common_subplan(*number, rows, input, needed),
        Plan::CommonRows(reading) => keep(&mut reading.columns, &mut reading.schema, needed),
        Plan::Window(_) => prune_window(plan, needed),
        Plan::Join(join) => prune_join(join, needed),
        Plan::ArrayJoin { .. } => prune_array_join(plan, needed),
    }
}

fn prune_project(plan: &mut Plan, needed: &[bool]) -> Moves {
    let Plan::Project { input, expressions, schema } = plan else { return Vec::new() };
    if !needed.contains(&true) {
        // Only the number of rows matters, which the input has too.
        let below = vec![false; input.schema().len()];
        prune(input, &below);
        plan.replace(|plan| match plan {
            Plan::Project { input, .. } => *input,
            other => other,
        });
        return vec![None; needed.len()];
    }
    let moves = keep(expressions, schema, needed);
    let mut below = vec![false; input.schema().len()];
    expressions.iter().for_each(|expression| need(expression, &mut below));
    let input_moves = prune(input, &below);
    expressions.iter_mut().for_each(|expression| renumber(expression, &input_moves));
    moves
}

/// Prunes rows that several places of `input` read: they need what any of these places does.
fn prune_common_subplan(number: usize, rows: &mut Plan, input: &mut Plan, needed: &[bool]) -> Moves {
    let moves = prune(input, needed);
    let mut read = vec![false; rows.schema().len()];
    each_reading(input, number, &mut |reading| {
        for column in &reading.columns {
            read.get_mut(*column).into_iter().for_each(|is_read| *is_read = true);
        }
    });
    let row_moves = prune(rows, &read);
    let place = |column: usize| row_moves.get(column).copied().flatten().unwrap_or(column);
    each_reading(input, number, &mut |reading| {
        reading.columns.iter_mut().for_each(|column| *column = place(*column));
    });
    moves
}

fn prune_array_join(plan: &mut Plan, needed: &[bool]) -> Moves {
    let Plan::ArrayJoin { input, arrays, schema, .. } = plan else { return Vec::new() };
    let columns = input.schema().len();
    let mut below: Vec<bool> = needed.iter().take(columns).copied().collect();
    arrays.iter().for_each(|array| need(array, &mut below));
    let mut moves = prune(input, &below);
    arrays.iter_mut().for_each(|array| renumber(array, &moves));
    let mut fields = input.schema().fields.clone();
    for field in schema.fields.iter().skip(columns) {
        moves.push(Some(fields.len()));
        fields.push(field.clone());
    }
    *schema = Arc::new(Schema { fields });
    moves
}

fn prune_scan(scan: &mut Scan, needed: &[bool]) -> Moves {
    let mut read = needed.to_vec();
    if let Some(predicate) = &scan.predicate {
        need(predicate, &mut read);
    }
    if read.iter().all(|read| *read) {
        return (0..read.len()).map(Some).collect();
    }
    let moves = keep(&mut scan.columns, &mut scan.schema, &read);
    if let Some(predicate) = &mut scan.predicate {
        renumber(predicate, &moves);
    }
    moves
}

fn prune_aggregate(plan: &mut Plan, needed: &[bool]) -> Moves {
    let Plan::Aggregate(Aggregate { input, keys, aggregates, schema, .. }) = plan else { return Vec::new() };
    // Keys make the groups, needed or not.
    let mut wanted = needed.to_vec();
    wanted.iter_mut().take(keys.len()).for_each(|wanted| *wanted = true);
    if !wanted.contains(&true) {
        // One group with nothing in it: a row.
        *plan = Plan::one_row();
        return vec![None; needed.len()];
    }
    let (fields, moves) = kept(&schema.fields, &wanted);
    if fields.len() < schema.len() {
        *schema = Arc::new(Schema { fields });
        let mut at = keys.len();
        aggregates.retain(|_| {
            at += 1;
            wanted.get(at - 1) == Some(&true)
        });
    }
    let mut below = vec![false; input.schema().len()];
    let arguments = aggregates.iter().flat_map(|call| &call.arguments);
    keys.iter().chain(arguments).for_each(|expression| need(expression, &mut below));
    let input_moves = prune(input, &below);
    let arguments = aggregates.iter_mut().flat_map(|call| &mut call.arguments);
    keys.iter_mut().chain(arguments).for_each(|expression| renumber(expression, &input_moves));
    moves
}

fn prune_window(plan: &mut Plan, needed: &[bool]) -> Moves {
    let Plan::Window(Window { input, partition_by, order_by, calls, schema, .. }) = plan else { return Vec::new() };
    let columns = input.schema().len();
    let (own, added) = needed.split_at(columns);
    if !added.contains(&true) {
        // No function is needed: neither is the window.
        let (mut moves, added) = (prune(input, own), added.len());
        moves.extend(vec![None; added]);
        plan.replace(|plan| match plan {
            Plan::Window(window) => *window.input,
            other => other,
        });
        return moves;
    }
    let mut at = 0;
    calls.retain(|_| {
        at += 1;
        added.get(at - 1) == Some(&true)
    });
    let mut below = own.to_vec();
    let arguments = calls.iter().flat_map(|call| &call.arguments);
    let keys = partition_by.iter().chain(order_by.iter().map(|key| &key.expression));
    arguments.chain(keys).for_each(|expression| need(expression, &mut below));
    let mut moves = prune(input, &below);
    let arguments = calls.iter_mut().flat_map(|call| &mut call.arguments);
    let keys = partition_by.iter_mut().chain(order_by.iter_mut().map(|key| &mut key.expression));
    arguments.chain(keys).for_each(|expression| renumber(expression, &moves));
    let mut fields = input.schema().fields.clone();
    for (field, is_needed) in schema.fields[columns..].iter().zip(added) {
        moves.push(is_needed.then_some(fields.len()));
        if *is_needed {
            fields.push(field.clone());
        }
    }
    *schema = Arc::new(Schema { fields });
    moves
}

fn prune_join(join: &mut Join, needed: &[bool]) -> Moves {
    let (fields, moves) = kept(&join.schema.fields, needed);
    join.schema = Arc::new(Schema { fields });
    let (of_left, of_right) = needed.split_at(join.left_columns.len());
    join.left_columns = kept(&join.left_columns, of_left).0;
    join.right_columns = kept(&join.right_columns, of_right).0;
    let first = join.left.schema().len();
    let mut below = vec![false; first + join.right.schema().len()];
    join.left_columns.iter().for_each(|column| below[*column] = true);
    join.right_columns.iter().for_each(|column| below[first + *column] = true);
    join.condition.iter().for_each(|condition| need(condition, &mut below));
    for key in &join.keys {
        need(&key.left, &mut below[..first]);
        need(&key.right, &mut below[first..]);
    }
    if let Some(nearest) = &join.nearest {
        need(&nearest.left, &mut below[..first]);
        need(&nearest.right, &mut below[first..]);
    }
    let left_moves = prune(&mut join.left, &below[..first]);
    let right_moves = prune(&mut join.right, &below[first..]);
    for (columns, moves) in [(&mut join.left_columns, &left_moves), (&mut join.right_columns, &right_moves)] {
        columns.iter_mut().for_each(|column| *column = moves.get(*column).copied().flatten().unwrap_or(*column));
    }
    for key in &mut join.keys {
        renumber(&mut key.left, &left_moves);
        renumber(&mut key.right, &right_moves);
    }
    if let Some(nearest) = &mut join.nearest {
        renumber(&mut nearest.left, &left_moves);
        renumber(&mut nearest.right, &right_moves);
    }
    if let Some(condition) = &mut join.condition {
        let width = join.left.schema().len();
        let of_right = right_moves.into_iter().map(|to| to.map(|to| width + to));
        let both: Moves = left_moves.into_iter().chain(of_right).collect();
        renumber(condition, &both);
    }
    moves
}

/// Every reading of a common subplan's rows.
fn each_reading(plan: &mut Plan, number: usize, visit: &mut dyn FnMut(&mut CommonRows)) {
    if let Plan::CommonRows(reading) = plan
        && reading.number == number
    {
        visit(reading);
    }
    let _ = plan.try_for_each_input(|input| {
        each_reading(input, number, visit);
        Ok(())
    });
}

/// Makes the columns of a UNION's branch exactly those that are needed, in order.
fn put_in_order(input: &mut Plan, moves: &Moves, needed: &[bool]) {
    let wanted: Vec<usize> =
        moves.iter().zip(needed).filter(|(_, needed)| **needed).filter_map(|(to, _)| *to).collect();
    let schema = input.schema();
    if wanted.len() == schema.len() && wanted.iter().enumerate().all(|(at, position)| at == *position) {
        return;
    }
    let fields: Vec<_> = wanted.iter().filter_map(|position| schema.fields.get(*position).cloned()).collect();
    let expressions =
        wanted.iter().zip(&fields).map(|(position, (_, data_type))| Expression::column(*position, data_type)).collect();
    let schema = Arc::new(Schema { fields });
    input.replace(|plan| Plan::Project { input: Box::new(plan), expressions, schema });
}

/// Keeps the needed of a step's columns.
fn keep<T>(columns: &mut Vec<T>, schema: &mut Arc<Schema>, needed: &[bool]) -> Moves {
    let (fields, moves) = kept(&schema.fields, needed);
    if fields.len() < schema.len() {
        *schema = Arc::new(Schema { fields });
        let mut at = 0;
        columns.retain(|_| {
            at += 1;
            needed.get(at - 1) == Some(&true)
        });
    }
    moves
}

fn kept<T: Clone>(fields: &[T], needed: &[bool]) -> (Vec<T>, Moves) {
    let mut left = Vec::with_capacity(fields.len());
    let moves = fields.iter().zip(needed).map(|(field, needed)| {
        needed.then(|| {
            left.push(field.clone());
            left.len() - 1
        })
    });
    let moves = moves.collect();
    (left, moves)
}

fn need(expression: &Expression, needed: &mut [bool]) {
    expression.visit_columns(&mut |position| {
        if let Some(needed) = needed.get_mut(position) {
            *needed = true;
        }
    });
}

fn renumber(expression: &mut Expression, moves: &Moves) {
    // A column that was needed has a place.
    expression.renumber(&|position| moves.get(position).copied().flatten().unwrap_or(position));
}

fn renumber_keys(keys: &mut [SortKey], moves: &Moves) {
    keys.iter_mut().for_each(|key| renumber(&mut key.expression, moves));
}
