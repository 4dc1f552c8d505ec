//! Constants beside columns of another type become values of the column's type, once: `time > '2024-01-01'` compares times with a time. So no
//! row's value is converted, and what is known of ranges of the column's values answers the comparison. A constant that the column's type
//! does not have stays as it is.

use squall_functions::FunctionContext;
use squall_types::{CastOptions, DataType, Result, cast_value, exact_value};

use super::call;
use crate::analyzer::cast_options;
use crate::expression::Expression;
use crate::plan::Plan;

pub(super) fn apply(plan: &mut Plan, functions: &FunctionContext) -> Result<()> {
    plan.try_for_each_input(|input| apply(input, functions))?;
    match plan {
        Plan::Filter { predicate, .. } => within(predicate, functions),
        Plan::Scan(scan) => scan.predicate.iter_mut().for_each(|predicate| within(predicate, functions)),
        _ => {}
    }
    Ok(())
}

fn within(expression: &mut Expression, functions: &FunctionContext) {
    expression.children_mut().iter_mut().for_each(|child| within(child, functions));
    let Expression::Function { name, function, arguments } = &*expression else { return };
    let [left, right] = &arguments[..] else { return };
    if !function.properties().compares {
        return;
    }
    let options = cast_options(functions);
    let typed = match (left, right) {
        (Expression::Constant { .. }, Expression::Constant { .. }) => None,
        (operand, constant @ Expression::Constant { .. }) => {
            typed(operand.data_type(), constant, &options).map(|typed| vec![operand.clone(), typed])
        }
        (constant @ Expression::Constant { .. }, operand) => {
            typed(operand.data_type(), constant, &options).map(|typed| vec![typed, operand.clone()])
        }
        _ => None,
    };
    // What cannot be compared so is compared as it was.
    if let Some(Ok(compared)) = typed.map(|arguments| call(name, arguments, functions))
        && compared.data_type() == function.return_type()
    {
        *expression = compared;
    }
}

/// A constant as the type that both sides of a comparison are brought to.
fn typed(operand: &DataType, constant: &Expression, options: &CastOptions) -> Option<Expression> {
    let Expression::Constant { value, data_type: from } = constant else { return None };
    let (operand, plain) = (operand.inner(), from.inner());
    let (to, value) = match (operand, plain) {
        _ if value.is_null() || operand.is_string_or_fixed_string() || operand.is_nested() => return None,
        (to, from) if from.is_string_or_fixed_string() => (to.clone(), exact_value(value, from, to, options).ok()??),
        (DataType::DateTime(zone), from @ DataType::Date) => {
            let to = DataType::DateTime64(0, zone.clone());
            (to.clone(), cast_value(value, from, &to, options).ok()?)
        }
        (to @ DataType::DateTime64(..), from @ (DataType::Date | DataType::Date32 | DataType::DateTime(_))) => {
            (to.clone(), cast_value(value, from, to, options).ok()?)
        }
        _ => return None,
    };
    Some(Expression::Constant { value, data_type: to })
}
