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
    append(&mut out, expression, schema, false);
    out
}

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

fn append(out: &mut String, expression: &Expression, schema: &Schema, is_operand: bool) {
    match expression {
        Expression::Column { position, .. } => match schema.fields.get(*position) {
            Some((name, _)) => out.push_str(name),
            None => {
                // Writing to a string does not fail.
                let _ = write!(out, "column {position}");
            }
        },
        Expression::Constant { value, data_type } => match in_words(value, data_type) {
            Some(words) => append_constant(out, &words),
            None => append_constant(out, value),
        },
        Expression::HigherOrder { name, lambda, operands, .. } => {
            let parameters: Vec<&str> = lambda.schema.names().take(lambda.parameters).collect();
            // Writing to a string does not fail.
            let _ = match &parameters[..] {
                [only] => write!(out, "{name}({only} -> "),
                several => write!(out, "{name}(({}) -> ", several.join(", ")),
            };
            append(out, &lambda.body, &lambda.schema, false);
            for argument in operands.iter().take(operands.len() - lambda.captured()) {
                out.push_str(", ");
                append(out, argument, schema, false);
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
                    append(out, argument, schema, false);
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
                append(out, argument, schema, true);
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
