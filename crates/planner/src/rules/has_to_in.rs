//! `has([…], x)` of a constant list is `x IN (…)`: a set is asked for each row, where `has` compares the row with each item. Of a
//! list of two million numbers that is the difference between seconds and microseconds for a thousand rows.

use squall_functions::FunctionContext;
use squall_types::{DataType, Result, Value, reserve};

use super::call;
use crate::expression::Expression;
use crate::plan::Plan;

pub(super) fn apply(plan: &mut Plan, functions: &FunctionContext) -> Result<()> {
    plan.try_for_each_input(|input| apply(input, functions))?;
    match plan {
        Plan::Project { expressions, .. } => {
            expressions.iter_mut().try_for_each(|expression| rewrite(expression, functions))
        }
        Plan::Filter { predicate, .. } => rewrite(predicate, functions),
        _ => Ok(()),
    }
}

fn rewrite(expression: &mut Expression, functions: &FunctionContext) -> Result<()> {
    expression.children_mut().iter_mut().try_for_each(|child| rewrite(child, functions))?;
    let Expression::Function { name, arguments, .. } = expression else { return Ok(()) };
    if &**name == "has"
        && let [list, operand] = &arguments[..]
        && let Some(items) = set_of(list, operand)
        // Where there is no room for the set, `has` needs none.
        && reserve(items.iter().map(bytes_in_set).sum()).is_ok()
    {
        *expression = call("in", vec![operand.clone(), list.clone()], functions)?;
    }
    Ok(())
}

/// What an item takes at most while the set is made: a copy of the value, a row, and the set's own.
fn bytes_in_set(item: &Value) -> usize {
    3 * size_of::<Value>() + 2 * item.as_bytes().map_or(0, <[u8]>::len)
}

/// The items of a list, where both functions compare them with an operand alike: both have the same type, and its values are equal
/// where their bytes are.
fn set_of<'a>(list: &'a Expression, operand: &Expression) -> Option<&'a [Value]> {
    let (Some(Value::Array(items)), DataType::Array(item)) = (list.constant(), list.data_type()) else { return None };
    let data_type = operand.data_type();
    let is_compared_alike = data_type.is_integer() || *data_type == DataType::String;
    (operand.constant().is_none() && **item == *data_type && is_compared_alike).then_some(items)
}
