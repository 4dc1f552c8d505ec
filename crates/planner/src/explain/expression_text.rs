//! Expressions as text, operators between their operands, and the names of columns that only a plan sees.

use std::fmt::Write;
use std::sync::Arc;

use squall_types::{CastOptions, DataType, Schema, Value, cast_value};

use crate::analyzer::append_constant;
use crate::expression::Expression;

/// A name for a column that only the plan itself sees: the expression's text, or the function alone where that is long. (It must
/// not grow: names are made of names.)
pub(crate) fn hidden_name(expression: &Expression, schema: &Schema) -> Arc<str> {
    const BYTES_MAX: usize = 60;
    let is_small = expression.size() <= BYTES_MAX / 4;
    match expression {
        _ if is_small => {
            let text = text(expression, schema);
            if text.len() <= BYTES_MAX { text.into() } else { hidden_name_of_function(expression) }
        }
        _ => hidden_name_of_function(expression),
    }
}

fn hidden_name_of_function(expression: &Expression) -> Arc<str> {
    match expression {
        Expression::Function { name, .. } | Expression::HigherOrder { name, .. } => format!("{name}(…)").into(),
        _ => "…".into(),
    }
}

/// An expression over columns of these names, operators between their operands.
pub fn text(expression: &Expression, schema: &Schema) -> String {
    let mut out = String::new();
    append(&mut out, expression, schema, false, usize::MAX);
    out
}

/// The same for people: of long arrays, as the sets of IN may be, the first items and how many there are.
pub(super) fn brief_text(expression: &Expression, schema: &Schema) -> String {
    let mut out = String::new();
    append(&mut out, expression, schema, false, ITEMS_SHOWN);
    out
}

/// Items that are shown of a longer array.
const ITEMS_SHOWN: usize = 20;

/// The text of a value that is written as one.
fn in_words(value: &Value, data_type: &DataType) -> Option<Value> {
    let data_type = data_type.inner();
    let is_text = data_type.is_date_or_time()
        || matches!(
            data_type,
            DataType::UUID | DataType::IPv4 | DataType::IPv6 | DataType::Enum8(_) | DataType::Enum16(_)
        );
    if !is_text || value.is_null() {
        return None;
    }
    cast_value(value, data_type, &DataType::String, &CastOptions::default()).ok()
}

fn append_value(out: &mut String, value: &Value, data_type: &DataType) {
    match in_words(value, data_type) {
        Some(words) => append_constant(out, &words),
        None => append_constant(out, value),
    }
}

fn append(out: &mut String, expression: &Expression, schema: &Schema, is_operand: bool, items_max: usize) {
    match expression {
        Expression::Column { position, .. } => match schema.fields.get(*position) {
            Some((name, _)) => out.push_str(name),
            None => {
                // Writing to a string does not fail.
                let _ = write!(out, "column {position}");
            }
        },
        Expression::Constant { value: Value::Array(items), data_type } if items.len() > items_max => {
            let first = Value::Array(items.iter().take(items_max).cloned().collect());
            append_value(out, &first, data_type);
            // The array's closing bracket comes after what stands for the rest.
            out.pop();
            let _ = write!(out, ", … {} in all]", items.len());
        }
        Expression::Constant { value, data_type } => append_value(out, value, data_type),
        Expression::HigherOrder { name, lambda, operands, .. } => {
            let parameters: Vec<&str> = lambda.schema.names().take(lambda.parameters).collect();
            // Writing to a string does not fail.
            let _ = match &parameters[..] {
                [only] => write!(out, "{name}({only} -> "),
                several => write!(out, "{name}(({}) -> ", several.join(", ")),
            };
            append(out, &lambda.body, &lambda.schema, false, items_max);
            for argument in operands.iter().take(operands.len() - lambda.captured()) {
                out.push_str(", ");
                append(out, argument, schema, false, items_max);
            }
            out.push(')');
        }
        Expression::Function { name, arguments, .. } => {
            let Some(operator) = operator(name).filter(|_| arguments.len() >= 2) else {
                out.push_str(name);
                out.push('(');
                for (at, argument) in arguments.iter().enumerate() {
                    if at > 0 {
                        out.push_str(", ");
                    }
                    append(out, argument, schema, false, items_max);
                }
                out.push(')');
                return;
            };
            if is_operand {
                out.push('(');
            }
            for (at, argument) in arguments.iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                    out.push_str(operator);
                    out.push(' ');
                }
                append(out, argument, schema, true, items_max);
            }
            if is_operand {
                out.push(')');
            }
        }
    }
}

fn operator(function: &str) -> Option<&'static str> {
    Some(match function {
        "and" => "AND",
        "or" => "OR",
        "equals" => "=",
        "notEquals" => "!=",
        "less" => "<",
        "lessOrEquals" => "<=",
        "greater" => ">",
        "greaterOrEquals" => ">=",
        "plus" => "+",
        "minus" => "-",
        "multiply" => "*",
        "divide" => "/",
        "modulo" => "%",
        "like" => "LIKE",
        "notLike" => "NOT LIKE",
        "in" => "IN",
        "notIn" => "NOT IN",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use squall_functions::FunctionContext;
    use squall_types::Result;

    use super::*;
    use crate::rules::call;

    #[test]
    fn people_see_the_first_items_of_long_arrays() -> Result<()> {
        let functions = FunctionContext::outside_queries("UTC");
        let schema = Schema::new([("x", DataType::UInt64)]);
        let within = |items: u64| {
            let value = Value::Array((0..items).map(Value::UInt64).collect());
            let data_type = DataType::parse("Array(UInt64)")?;
            let set = Expression::Constant { value, data_type };
            call("in", vec![Expression::column(0, &DataType::UInt64), set], &functions)
        };
        assert_eq!(brief_text(&within(3)?, &schema), "x IN [0, 1, 2]");
        assert_eq!(text(&within(3)?, &schema), "x IN [0, 1, 2]");
        let long = brief_text(&within(1_000)?, &schema);
        assert!(long.starts_with("x IN [0, 1, ") && long.ends_with("18, 19, … 1000 in all]"), "{long}");
        assert!(text(&within(1_000)?, &schema).ends_with(", 998, 999]"));
        Ok(())
    }
}
