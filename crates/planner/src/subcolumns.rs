//! Subcolumn pruning: `SELECT data.user FROM events WHERE data.kind = 'click'` needs two paths of the documents in `data`, not the
//! documents. So the scan gives the paths as columns of their own, where its table [can](crate::TableMetadata::with_subcolumn), and a condition
//! throws away rows of two narrow columns. Tables that can are tables of this moment, so this is no rule: it is done to a plan right
//! before it runs.

use std::sync::Arc;

use squall_types::{DataType, Schema};

use crate::expression::Expression;
use crate::plan::Plan;
use crate::rules::prune_columns;

/// What is within a column by its name, as a column of its own.
#[derive(Clone, Debug)]
pub struct Subcolumn {
    /// The position of the column among the table's.
    pub column: usize,
    /// The name within the column: a path.
    pub path: Arc<str>,
    /// How it is computed of the table's columns.
    pub expression: Expression,
}

impl Subcolumn {
    /// One that an expression over columns of these types is.
    fn of(expression: &Expression, schema: &Schema) -> Option<(usize, Arc<str>)> {
        let Expression::Function { name, arguments, .. } = expression else { return None };
        let [Expression::Column { position, .. }, path] = &arguments[..] else { return None };
        if &**name != "getSubcolumn" || !matches!(schema.fields.get(*position), Some((_, DataType::Json(_)))) {
            return None;
        }
        Some((*position, path.constant()?.as_str()?.into()))
    }
}

/// Whether [`read_subcolumns`] may do anything with a plan.
pub(crate) fn may_read_subcolumns(plan: &Plan) -> bool {
    match plan {
        Plan::Scan(scan) => scan.schema.types().any(|data_type| matches!(data_type, DataType::Json(_))),
        other => other.inputs().any(may_read_subcolumns),
    }
}

/// Has scans give subcolumns as columns of their own.
pub(crate) fn read_subcolumns(plan: &mut Plan) {
    if may_read_subcolumns(plan) && apply(plan) {
        // A column of which only subcolumns are read is read no longer.
        prune_columns(plan);
    }
}

/// Whether anything was changed.
fn apply(plan: &mut Plan) -> bool {
    let mut is_changed = match plan {
        Plan::Project { input, expressions, .. } => give(input, &mut expressions.iter_mut().collect::<Vec<_>>()),
        Plan::Aggregate(aggregate) => {
            let arguments = aggregate.aggregates.iter_mut().flat_map(|call| &mut call.arguments);
            give(&mut aggregate.input, &mut aggregate.keys.iter_mut().chain(arguments).collect::<Vec<_>>())
        }
        Plan::Join(join) => {
            let before = join.left.schema().len();
            let left = join.keys.iter_mut().map(|key| &mut key.left);
            let left = left.chain(join.nearest.iter_mut().map(|nearest| &mut nearest.left));
            let is_left_changed = give(&mut join.left, &mut left.collect::<Vec<_>>());
            let added = join.left.schema().len() - before;
            if let Some(condition) = &mut join.condition {
                condition.renumber(&|position| if position < before { position } else { position + added });
            }
            let right = join.keys.iter_mut().map(|key| &mut key.right);
            let right = right.chain(join.nearest.iter_mut().map(|nearest| &mut nearest.right));
            give(&mut join.right, &mut right.collect::<Vec<_>>()) || is_left_changed
        }
        _ => false,
    };
    // Nothing below fails.
    let _ = plan.try_for_each_input(|input| {
        is_changed |= apply(input);
        Ok(())
    });
    is_changed
}

/// A subcolumn of a step's rows: the column's position, the path, and the expression that it is.
type Found = (usize, Arc<str>, Expression);

/// Has a step give, as columns of their own, the subcolumns that `readers`, expressions over its rows, are of. Whether it can.
fn give(input: &mut Plan, readers: &mut [&mut Expression]) -> bool {
    let schema = input.schema().clone();
    if !schema.types().any(|data_type| matches!(data_type, DataType::Json(_))) {
        return false;
    }
    let mut found: Vec<Found> = Vec::new();
    let mut look = |expression: &Expression| collect(expression, &schema, &mut found);
    readers.iter().for_each(|reader| look(reader));
    each_expression(input, &mut |expression| look(expression));
    found.retain(|wanted| extend(input, wanted));
    if found.is_empty() {
        return false;
    }
    let mut put = |expression: &mut Expression| replace(expression, &schema, &found);
    readers.iter_mut().for_each(|reader| put(reader));
    each_expression(input, &mut put);
    true
}

/// Adds a subcolumn to a step's columns, as the last one. Whether it can: the column must come from a scan as it is.
fn extend(plan: &mut Plan, wanted: &Found) -> bool {
    let (position, path, expression) = wanted;
    match plan {
        Plan::Filter { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. }
        | Plan::LimitBy { input, .. } => extend(input, wanted),
        Plan::Scan(scan) => {
            let Some(column) = scan.columns.get(*position).copied().filter(|_| !scan.has_places) else { return false };
            let subcolumn = Subcolumn { column, path: path.clone(), expression: expression.map_columns(&|_| column) };
            let Some(face) = scan.table.with_subcolumn(&subcolumn) else { return false };
            let Some(last) = face.columns().last() else { return false };
            let mut fields = scan.schema.fields.clone();
            fields.push((last.name.clone(), last.data_type.clone()));
            scan.schema = Arc::new(Schema { fields });
            scan.columns.push(face.columns().len() - 1);
            scan.table = face;
            true
        }
        Plan::Project { input, expressions, schema } => {
            let Some(Expression::Column { position, .. }) = expressions.get(*position) else { return false };
            let below = expression.map_columns(&|_| *position);
            if !comes_from_scan(input, *position) {
                return false;
            }
            let mut fields = schema.fields.clone();
            fields.push((path.clone(), below.data_type().clone()));
            *schema = Arc::new(Schema { fields });
            // The step below gives it in its turn.
            expressions.push(below);
            true
        }
        Plan::Join(_) => extend_join(plan, wanted),
        _ => false,
    }
}

fn extend_join(plan: &mut Plan, (position, path, expression): &Found) -> bool {
    let Plan::Join(join) = plan else { return false };
    let lefts = join.left_columns.len();
    let (input, columns, at) = match position.checked_sub(lefts) {
        None => (&mut join.left, &mut join.left_columns, *position),
        Some(at) => (&mut join.right, &mut join.right_columns, at),
    };
    let Some(below) = columns.get(at).copied() else { return false };
    let before = input.schema().len();
    // A side that is missing has the type's default, whose subcolumns are defaults, too.
    if !extend(input, &(below, path.clone(), expression.map_columns(&|_| below))) {
        return false;
    }
    columns.push(before);
    let field = (path.clone(), expression.data_type().clone());
    let all = join.schema.len();
    let new = if *position < lefts { lefts } else { all };
    if let (Some(condition), true) = (&mut join.condition, *position < lefts) {
        condition.renumber(&|column| if column < before { column } else { column + 1 });
    }
    let mut fields = join.schema.fields.clone();
    let mut schema = fields.clone();
    schema.push(field.clone());
    fields.insert(new, field);
    join.schema = Arc::new(Schema { fields });
    // The new column comes last.
    let place = |column: usize| if column == all { new } else { column + usize::from(column >= new) };
    let column =
        |(column, (_, data_type)): (usize, &(Arc<str>, DataType))| Expression::column(place(column), data_type);
    let expressions = schema.iter().enumerate().map(column).collect();
    plan.replace(|join| Plan::Project {
        input: Box::new(join),
        expressions,
        schema: Arc::new(Schema { fields: schema }),
    });
    true
}

/// Whether a column is a scan's.
fn comes_from_scan(plan: &Plan, position: usize) -> bool {
    match plan {
        Plan::Scan(scan) => !scan.has_places,
        Plan::Filter { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. }
        | Plan::LimitBy { input, .. } => comes_from_scan(input, position),
        Plan::Project { input, expressions, .. } => match expressions.get(position) {
            Some(Expression::Column { position, .. }) => comes_from_scan(input, *position),
            _ => false,
        },
        Plan::Join(join) => match position.checked_sub(join.left_columns.len()) {
            None => join.left_columns.get(position).is_some_and(|at| comes_from_scan(&join.left, *at)),
            Some(at) => join.right_columns.get(at).is_some_and(|at| comes_from_scan(&join.right, *at)),
        },
        _ => false,
    }
}

/// Every expression of these steps and of the scan.
fn each_expression(plan: &mut Plan, visit: &mut dyn FnMut(&mut Expression)) {
    match plan {
        Plan::Scan(scan) => scan.predicate.iter_mut().for_each(visit),
        Plan::Filter { input, predicate } => {
            visit(predicate);
            each_expression(input, visit);
        }
        Plan::Sort { input, keys, .. } => {
            keys.iter_mut().for_each(|key| visit(&mut key.expression));
            each_expression(input, visit);
        }
        Plan::Limit { input, ties, .. } => {
            ties.iter_mut().flatten().for_each(|key| visit(&mut key.expression));
            each_expression(input, visit);
        }
        Plan::LimitBy { input, keys, .. } => {
            keys.iter_mut().for_each(&mut *visit);
            each_expression(input, visit);
        }
        _ => {}
    }
}

/// Adds the subcolumns that an expression is of.
fn collect(expression: &Expression, schema: &Schema, found: &mut Vec<Found>) {
    let Some((position, path)) = Subcolumn::of(expression, schema) else {
        expression.children().iter().for_each(|child| collect(child, schema, found));
        return;
    };
    if !found.iter().any(|(known, known_path, _)| *known == position && *known_path == path) {
        found.push((position, path, expression.clone()));
    }
}

/// Puts the columns behind those of the schema in the place of subcolumns.
fn replace(expression: &mut Expression, schema: &Schema, found: &[Found]) {
    let place = Subcolumn::of(expression, schema).and_then(|(position, path)| {
        found.iter().position(|(known, known_path, _)| *known == position && *known_path == path)
    });
    match place {
        Some(place) => *expression = Expression::column(schema.len() + place, expression.data_type()),
        None => expression.children_mut().iter_mut().for_each(|child| replace(child, schema, found)),
    }
}
