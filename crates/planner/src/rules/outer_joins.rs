//! `a LEFT JOIN b WHERE b.x > 5`: a row of `a` without a partner has the default of `b.x`, or NULL, and the condition lets it not pass. So
//! the join may as well leave it out: it is an inner join, below which conditions move on both sides and whose order is free. A subquery
//! in a comparison (`x < (SELECT avg(y) FROM b WHERE b.k = a.k)`) comes as such a join. A key of another join is such a condition, too: NULL
//! equals nothing.

use std::sync::Arc;

use squall_functions::FunctionContext;
use squall_types::{Column, DataType, Result, Schema, Value, default_value};

use super::unique_keys::is_unique;
use super::{call, column_made_nullable, conjuncts};
use crate::analyzer::cast;
use crate::expression::Expression;
use crate::plan::{Join, JoinKey, JoinKind, JoinStrictness, Plan};

/// Makes outer joins keep fewer rows where the filters right above them leave the others out. Whether there was such a join: then conditions
/// may go further down.
pub(super) fn apply(plan: &mut Plan, functions: &FunctionContext) -> Result<bool> {
    let mut is_changed = false;
    if let Plan::Filter { input, predicate } = plan
        && matches!(**input, Plan::Join(_))
    {
        let mut conditions = Vec::new();
        conjuncts(predicate.clone(), &mut conditions);
        is_changed = reduce(input, &conditions, functions)?;
    }
    if let Plan::Join(join) = plan {
        is_changed |= reduce_below(join, &[], functions)?;
    }
    plan.try_for_each_input(|input| {
        is_changed |= apply(input, functions)?;
        Ok(())
    })?;
    Ok(is_changed)
}

/// Makes outer joins below a join keep fewer rows, where rows without a partner there find none here. `present`: columns of the join; rows that
/// have NULL there do not matter to anybody. Whether there was such a join.
fn reduce_below(join: &mut Join, present: &[usize], functions: &FunctionContext) -> Result<bool> {
    let width = join.left_columns.len();
    let (drops_left, drops_right) = (!join.kind.keeps_left(), !join.kind.keeps_right());
    let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
    // Where one of several partners is chosen, leaving rows out may change which one it is.
    for column in present.iter().filter(|_| join.strictness == JoinStrictness::All) {
        match column.checked_sub(width) {
            None => of_left.extend(join.left_columns.get(*column).filter(|_| drops_right)),
            Some(column) => of_right.extend(join.right_columns.get(column).filter(|_| drops_left)),
        }
    }
    // A row whose key is NULL is nobody's partner.
    if matches!(join.strictness, JoinStrictness::All | JoinStrictness::Semi) {
        for JoinKey { left, right } in &join.keys {
            of_left.extend(column_made_nullable(left).filter(|_| drops_left));
            of_right.extend(column_made_nullable(right).filter(|_| drops_right));
        }
    }
    let is_left_changed = reduce_side(&mut join.left, &of_left, functions)?;
    Ok(reduce_side(&mut join.right, &of_right, functions)? || is_left_changed)
}

/// The same where the join is a side of another one.
fn reduce_side(side: &mut Plan, present: &[usize], functions: &FunctionContext) -> Result<bool> {
    let Plan::Join(below) = side else { return Ok(false) };
    if present.is_empty() {
        return Ok(false);
    }
    let schema = below.schema.clone();
    let columns = present.iter().filter_map(|at| Some(Expression::column(*at, &schema.fields.get(*at)?.1)));
    let conditions = columns.map(|column| call("isNotNull", vec![column], functions)).collect::<Result<Vec<_>>>()?;
    match reduce(side, &conditions, functions)? {
        true => Ok(true),
        false => match side {
            Plan::Join(below) => reduce_below(below, present, functions),
            _ => Ok(false),
        },
    }
}

/// Makes of an outer join one that keeps fewer rows, where `conditions` on its rows leave the others out. Whether it did; then the plan is a
/// projection of the new join to the types that the old one had.
fn reduce(plan: &mut Plan, conditions: &[Expression], functions: &FunctionContext) -> Result<bool> {
    let Plan::Join(join) = plan else { return Ok(false) };
    let Some((kind, strictness)) = reduced(join, conditions) else { return Ok(false) };
    join.kind = kind;
    join.strictness = match strictness {
        // One row at most is found: it does not matter which.
        JoinStrictness::RightAny if kind == JoinKind::Inner && finds_one(join) => JoinStrictness::All,
        other => other,
    };
    let schema = join.schema.clone();
    let width = join.left_columns.len();
    let own_type = |at: usize| match join.left_columns.get(at) {
        Some(column) if !kind.keeps_right() => Some(&join.left.schema().fields.get(*column)?.1),
        None if !kind.keeps_left() => Some(&join.right.schema().fields.get(*join.right_columns.get(at - width)?)?.1),
        _ => None,
    };
    let fields = schema.fields.iter().enumerate().map(|(at, (name, data_type))| {
        let data_type = own_type(at).unwrap_or(data_type).clone();
        (name.clone(), data_type)
    });
    let fields: Vec<(Arc<str>, DataType)> = fields.collect();
    let columns = fields.iter().enumerate().map(|(at, (_, own))| Expression::column(at, own));
    let expressions = columns.zip(schema.types()).map(|(column, data_type)| cast(column, data_type, functions));
    let expressions = expressions.collect::<Result<Vec<_>>>()?;
    join.schema = Arc::new(Schema { fields });
    plan.replace(|join| Plan::Project { input: Box::new(join), expressions, schema });
    Ok(true)
}

/// The kind and strictness that do for the rows that the conditions let pass; `None` where no row can be left out.
fn reduced(join: &Join, conditions: &[Expression]) -> Option<(JoinKind, JoinStrictness)> {
    let is_reducible = match (join.kind, join.strictness) {
        (JoinKind::Inner, _) => false,
        (_, JoinStrictness::All) => true,
        (JoinKind::Left, JoinStrictness::Any | JoinStrictness::RightAny | JoinStrictness::Asof) => true,
        _ => false,
    };
    if !is_reducible || conditions.is_empty() {
        return None;
    }
    let width = join.left_columns.len();
    let rejects = |is_missing: &dyn Fn(usize) -> bool| {
        let missing = |at: usize| join.schema.types().nth(at).filter(|_| is_missing(at)).map(default_value);
        conditions.iter().any(|condition| condition.is_deterministic() && is_rejected(condition, &missing))
    };
    let without_left = join.kind.keeps_right() && rejects(&|at| at < width);
    let without_right = join.kind.keeps_left() && rejects(&|at| at >= width);
    let kind = match (join.kind, without_left, without_right) {
        (JoinKind::Left, _, true) | (JoinKind::Right, true, _) | (JoinKind::Full, true, true) => JoinKind::Inner,
        (JoinKind::Full, true, false) => JoinKind::Left,
        (JoinKind::Full, false, true) => JoinKind::Right,
        _ => return None,
    };
    let strictness = if join.strictness == JoinStrictness::Any { JoinStrictness::RightAny } else { join.strictness };
    Some((kind, strictness))
}

/// Whether a row of the left side finds one of the right side at most.
fn finds_one(join: &Join) -> bool {
    let keys: Vec<usize> = join.keys.iter().filter_map(|key| column_made_nullable(&key.right)).collect();
    is_unique(&join.right, &keys)
}

/// Whether a condition cannot hold of a row of whose columns some are missing, whatever the others are.
fn is_rejected(condition: &Expression, missing: &dyn Fn(usize) -> Option<Value>) -> bool {
    match condition {
        Expression::Function { name, arguments, .. } if &**name == "and" => {
            arguments.iter().any(|part| is_rejected(part, missing))
        }
        Expression::Function { name, arguments, .. } if &**name == "or" => {
            arguments.iter().all(|part| is_rejected(part, missing))
        }
        _ => value(condition, missing)
            .is_some_and(|value| value.is_null() || value.as_f64().is_some_and(|number| number == 0.0)),
    }
}

/// The value that an expression has of such a row; `None` where it depends on other columns.
fn value(expression: &Expression, missing: &dyn Fn(usize) -> Option<Value>) -> Option<Value> {
    match expression {
        Expression::Column { position, .. } => missing(*position),
        Expression::Constant { value, .. } => Some(value.clone()),
        Expression::Function { function, arguments, .. } => {
            let properties = function.properties();
            let values: Vec<Option<Value>> = arguments.iter().map(|argument| value(argument, missing)).collect();
            if properties.passes_nulls && values.iter().flatten().any(Value::is_null) {
                return Some(Value::Null);
            }
            if !properties.is_deterministic || !properties.is_foldable {
                return None;
            }
            let columns = arguments
                .iter()
                .zip(values)
                .map(|(argument, value)| Column::constant(argument.data_type().clone(), &value?, 1).ok());
            let result = function.execute(&columns.collect::<Option<Vec<_>>>()?, 1).ok()?;
            (result.rows() == 1).then(|| result.value(0))
        }
        Expression::HigherOrder { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use squall_functions::FunctionContext;

    use super::*;
    use crate::rules::call;

    fn constant(value: u64) -> Expression {
        Expression::Constant { value: Value::UInt64(value), data_type: DataType::UInt64 }
    }

    #[test]
    fn conditions_that_a_missing_row_cannot_meet() -> Result<()> {
        let functions = FunctionContext::outside_queries("UTC");
        let nullable = DataType::Nullable(Arc::new(DataType::UInt64));
        let (left, right) = (Expression::column(0, &DataType::UInt64), Expression::column(1, &nullable));
        let plain = Expression::column(1, &DataType::UInt64);
        let of = |name: &str, arguments: Vec<Expression>| call(name, arguments, &functions);
        let null = |at: usize| (at == 1).then_some(Value::Null);
        let zero = |at: usize| (at == 1).then_some(Value::UInt64(0));
        assert!(is_rejected(&of("less", vec![left.clone(), right.clone()])?, &null));
        assert!(is_rejected(&of("isNotNull", vec![right.clone()])?, &null));
        assert!(!is_rejected(&of("isNull", vec![right.clone()])?, &null));
        let sum = of("plus", vec![right.clone(), left.clone()])?;
        assert!(is_rejected(&of("equals", vec![sum, constant(5)])?, &null));
        let other = of("equals", vec![left.clone(), constant(1)])?;
        let greater = of("greater", vec![right.clone(), constant(5)])?;
        assert!(!is_rejected(&of("or", vec![greater.clone(), other.clone()])?, &null));
        assert!(is_rejected(&of("and", vec![greater, other])?, &null));
        // Without join_use_nulls a missing number is 0.
        assert!(is_rejected(&of("equals", vec![plain.clone(), constant(5)])?, &zero));
        assert!(!is_rejected(&of("less", vec![plain.clone(), constant(5)])?, &zero));
        assert!(!is_rejected(&of("less", vec![left, plain])?, &zero));
        Ok(())
    }
}
