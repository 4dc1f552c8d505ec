//! `has([…], x)` of a constant list is `x IN (…)`: a set is asked for each row, where `has` compares the row with each item. Of a
//! list of two million numbers that is the difference between seconds and microseconds for a thousand rows.

use squall_functions::FunctionContext;
use squall_types::{DataType, Result, Value, exact_value, reserve};

use super::call;
use crate::analyzer::cast_options;
use crate::expression::Expression;
use crate::plan::{Aggregate, Plan};

pub(super) fn apply(plan: &mut Plan, functions: &FunctionContext) -> Result<()> {
    plan.try_for_each_input(|input| apply(input, functions))?;
    match plan {
        Plan::Project { expressions, .. } => {
            expressions.iter_mut().try_for_each(|expression| rewrite(expression, functions))
        }
        Plan::Filter { predicate, .. } => rewrite(predicate, functions),
        Plan::Aggregate(Aggregate { keys, aggregates, .. }) => {
            let arguments = aggregates.iter_mut().flat_map(|call| &mut call.arguments);
            keys.iter_mut().chain(arguments).try_for_each(|expression| rewrite(expression, functions))
        }
        _ => Ok(()),
    }
}

fn rewrite(expression: &mut Expression, functions: &FunctionContext) -> Result<()> {
    expression.children_mut().iter_mut().try_for_each(|child| rewrite(child, functions))?;
    let Expression::Function { name, arguments, .. } = expression else { return Ok(()) };
    if &**name == "has"
        && let [list, operand] = &arguments[..]
        && let Some(list) = set_of(list, operand, functions)
    {
        *expression = call("in", vec![operand.clone(), list], functions)?;
    }
    Ok(())
}

/// What an item takes at most while the set is made: a copy of the value, a row, and the set's own.
fn bytes_in_set(item: &Value) -> usize {
    3 * size_of::<Value>() + 2 * item.as_bytes().map_or(0, <[u8]>::len)
}

/// A list as one of an operand's type, where both functions compare its items with the operand alike: values are equal where their bytes
/// are. `None` elsewhere, and where there is no room for a set, which `has` does not need.
fn set_of(list: &Expression, operand: &Expression, functions: &FunctionContext) -> Option<Expression> {
    let (Some(Value::Array(items)), DataType::Array(item)) = (list.constant(), list.data_type()) else { return None };
    let data_type = operand.data_type();
    let is_alike = **item == *data_type && (data_type.is_integer() || *data_type == DataType::String);
    let are_of_one_sign = item.is_unsigned_integer() && data_type.is_unsigned_integer()
        || item.is_signed_integer() && data_type.is_signed_integer();
    if operand.constant().is_some()
        || !is_alike && !are_of_one_sign
        || reserve(items.iter().map(bytes_in_set).sum()).is_err()
    {
        return None;
    }
    if is_alike {
        return Some(list.clone());
    }
    let options = cast_options(functions);
    // What the operand's type does not have equals nothing.
    let items = items.iter().filter_map(|value| exact_value(value, item, data_type, &options).transpose());
    let items: Vec<Value> = items.collect::<Result<_>>().ok()?;
    (!items.is_empty()).then(|| Expression::Constant {
        value: Value::Array(items.into()),
        data_type: DataType::array(data_type.clone()),
    })
}
