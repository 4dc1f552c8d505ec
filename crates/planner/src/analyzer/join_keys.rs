//! Conditions of a join as its keys: which comparisons are equalities of the two sides, and what type both sides then have.

use std::sync::Arc;

use squall_functions::FunctionContext;
use squall_types::column::default_value;
use squall_types::{DataType, Result, Value};

use super::conversion::{cast, supertype};
use crate::expression::Expression;
use crate::plan::JoinKey;
use crate::rules::{call, conjuncts};

/// Whether an expression reads columns of the left side, and of the right side, which begins at `first`.
pub(crate) fn sides_of(expression: &Expression, first: usize) -> (bool, bool) {
    let mut sides = (false, false);
    expression.visit_columns(&mut |column| if column < first { sides.0 = true } else { sides.1 = true });
    sides
}

/// The two sides of a call of `function` across the sides of a join, the left one first.
fn sides_of_call(condition: &Expression, function: &str, first: usize) -> Option<(Expression, Expression)> {
    let Expression::Function { name, arguments, .. } = condition else { return None };
    let [one, other] = &arguments[..] else { return None };
    if &**name != function {
        return None;
    }
    match (sides_of(one, first), sides_of(other, first)) {
        ((true, false), (false, true)) => Some((one.clone(), other.clone())),
        ((false, true), (true, false)) => Some((other.clone(), one.clone())),
        _ => None,
    }
}

/// The two sides of an equality between the sides of a join, the left one first.
pub(crate) fn equality(condition: &Expression, first: usize) -> Option<(Expression, Expression)> {
    sides_of_call(condition, "equals", first)
}

/// `a = x OR b = y`: ClickHouse takes every branch for a set of keys.
pub(super) fn is_disjunction_of_equalities(condition: &Expression, first: usize) -> bool {
    match condition {
        Expression::Function { name, arguments, .. } if &**name == "or" => arguments.iter().all(|branch| {
            let mut conditions = Vec::new();
            conjuncts(branch.clone(), &mut conditions);
            conditions
                .iter()
                .any(|condition| equality(condition, first).is_some() || is_disjunction_of_equalities(condition, first))
        }),
        _ => false,
    }
}

/// The type that keys of two types are compared in, without Nullable and LowCardinality.
///
/// # Errors
/// `NO_COMMON_TYPE`.
pub(crate) fn key_type(left: &DataType, right: &DataType) -> Result<DataType> {
    let plain = |data_type: &DataType| data_type.remove_low_cardinality().remove_nullable();
    let (left, right) = (plain(left), plain(right));
    match supertype(&[left.clone(), right.clone()]) {
        // What no signed integer holds is compared by its bits.
        Err(_) if left.is_integer() && right.is_integer() => Ok(DataType::UInt64),
        // NULL alone, which equals nothing.
        Ok(DataType::Nothing) => Ok(DataType::UInt8),
        other => other,
    }
}

/// A key's type with Nullable where the side that it is of has NULLs.
pub(super) fn with_nulls_of(data_type: &DataType, other: &DataType) -> DataType {
    if other.remove_low_cardinality().is_nullable() && data_type.can_be_inside_nullable() {
        return DataType::Nullable(Arc::new(data_type.clone()));
    }
    data_type.clone()
}

/// What `a <=> b`, for which NULL equals NULL, says in equalities: that both are NULL or neither is, and that the values are the same,
/// with one value in the place of every NULL. These can be keys. `None` for other conditions.
///
/// # Errors
/// Those of the functions that it is made of.
pub(crate) fn null_safe_equalities(
    condition: &Expression,
    first: usize,
    functions: &FunctionContext,
) -> Result<Option<Vec<Expression>>> {
    let Some((left, right)) = sides_of_call(condition, "isNotDistinctFrom", first) else { return Ok(None) };
    let sides = [left, right];
    if !sides.iter().all(|side| side.data_type().remove_low_cardinality().is_nullable()) {
        return Ok(Some(vec![call("equals", sides.into(), functions)?]));
    }
    let of_both = |make: &dyn Fn(&Expression) -> Result<Expression>| {
        call("equals", sides.iter().map(make).collect::<Result<_>>()?, functions)
    };
    Ok(Some(vec![
        of_both(&|side| call("isNull", vec![side.clone()], functions))?,
        of_both(&|side| {
            let data_type = side.data_type().remove_low_cardinality().remove_nullable();
            let value = default_value(&data_type);
            call("ifNull", vec![side.clone(), Expression::Constant { value, data_type }], functions)
        })?,
    ]))
}

/// An equality as a key of a join whose rows without partners are left out; `None` where no key compares as `equals` does.
pub(crate) fn as_join_key(left: &Expression, right: &Expression, functions: &FunctionContext) -> Option<JoinKey> {
    let plain = |side: &Expression| side.data_type().remove_low_cardinality().remove_nullable();
    let types = [plain(left), plain(right)];
    let data_type = match &types {
        [left, right] if left == right => left.clone(),
        [left, right] => key_type(left, right).ok().filter(|key| types.iter().all(|own| is_kept_as(own, key)))?,
    };
    let side = |side: &Expression| match &data_type {
        float if float.is_float() => comparable_float(side, functions),
        // A key of 64 bits has no sign. A number below zero becomes NULL, which equals nothing.
        DataType::UInt64 if side.data_type().inner().is_signed_integer() => {
            let to = Expression::Constant { value: Value::from("UInt64"), data_type: DataType::String };
            call("accurateCastOrNull", vec![side.clone(), to], functions).ok()
        }
        plain if has_equal_bytes(plain) => {
            let nullable = side.data_type().remove_low_cardinality().is_nullable();
            let to = if nullable { DataType::Nullable(Arc::new(plain.clone())) } else { plain.clone() };
            cast(side.clone(), &to, functions).ok()
        }
        _ => None,
    };
    Some(JoinKey { left: side(left)?, right: side(right)? })
}

/// Whether two types have values that are equal just where their bytes are as keys of a join.
pub(super) fn compares_bytes(left: &DataType, right: &DataType) -> bool {
    let plain = |data_type: &DataType| data_type.remove_low_cardinality().remove_nullable();
    let (left, right) = (plain(left), plain(right));
    left == right && has_equal_bytes(&left) || left.is_integer() && right.is_integer()
}

/// Whether values of the type are equal just where their bytes are.
fn has_equal_bytes(data_type: &DataType) -> bool {
    use DataType::{Bool, Decimal, Enum8, Enum16, FixedString, IPv4, IPv6, String, UUID};
    let is_other =
        matches!(data_type, Bool | Decimal(..) | Enum8(_) | Enum16(_) | FixedString(_) | IPv4 | IPv6 | String | UUID);
    is_other || data_type.is_any_integer() || data_type.is_date_or_time()
}

/// Whether two values of a type are equal just where they are as values of the type that keys are compared in.
fn is_kept_as(own: &DataType, key: &DataType) -> bool {
    use DataType::{Decimal, FixedString, String};
    match (own, key) {
        (Decimal(_, own), Decimal(_, key)) => own == key,
        (Decimal(..) | FixedString(_), _) => false,
        (_, key) => key.is_any_integer() || key.is_date_or_time() || *key == String,
    }
}

/// A float whose bytes say what it equals: zero has one sign, and NaN, which equals nothing, is NULL.
fn comparable_float(side: &Expression, functions: &FunctionContext) -> Option<Expression> {
    let data_type = side.data_type().remove_low_cardinality().remove_nullable();
    let constant = |value: Value, data_type: DataType| Expression::Constant { value, data_type };
    let zero = || constant(Value::Float64(0.0), data_type.clone());
    let is_nan = call("isNaN", vec![side.clone()], functions).ok()?;
    let is_zero = call("equals", vec![side.clone(), zero()], functions).ok()?;
    let null = constant(Value::Null, DataType::Nullable(Arc::new(DataType::Nothing)));
    call("multiIf", vec![is_nan, null, is_zero, zero(), side.clone()], functions).ok()
}
