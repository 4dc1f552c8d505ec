//! A scan's condition as SQL for another server, so that rows that cannot match stay there. It need not be whole: rows that come are
//! filtered again.

use squall_planner::Expression;
use squall_types::{CastOptions, DataType, Schema, Value, cast_value};

use crate::table::{name_sql, string_sql};

/// The functions that are sent: every ClickHouse server has them, and none of them throws.
const PUSHED: [&str; 14] = [
    "equals",
    "notEquals",
    "less",
    "greater",
    "lessOrEquals",
    "greaterOrEquals",
    "and",
    "or",
    "not",
    "isNull",
    "isNotNull",
    "like",
    "notLike",
    "startsWith",
];

/// The part of a condition that another server can be asked for; `None` where there is none.
pub(crate) fn sql(condition: &Expression, schema: &Schema) -> Option<String> {
    sayable(condition, &|part| whole(part, schema))
}

/// The parts of a condition that another server can be asked for, joined by AND: those for which `said` has SQL. `None` where there is none.
pub fn sayable(condition: &Expression, said: &dyn Fn(&Expression) -> Option<String>) -> Option<String> {
    if let Expression::Function { name, arguments, .. } = condition
        && &**name == "and"
    {
        // What cannot be said may be left out: more rows come then.
        let parts: Vec<String> = arguments.iter().filter_map(|part| sayable(part, said)).collect();
        return (!parts.is_empty()).then(|| parts.join(" AND "));
    }
    said(condition)
}

/// An expression as it is, or nothing.
fn whole(expression: &Expression, schema: &Schema) -> Option<String> {
    match expression {
        Expression::Column { position, .. } => schema.fields.get(*position).map(|(name, _)| name_sql(name)),
        Expression::Constant { value, data_type } => constant(value, data_type),
        Expression::Function { name, arguments, .. } if PUSHED.contains(&&**name) => {
            let arguments = arguments.iter().map(|argument| whole(argument, schema)).collect::<Option<Vec<_>>>()?;
            Some(format!("{name}({})", arguments.join(", ")))
        }
        Expression::Function { .. } | Expression::HigherOrder { .. } => None,
    }
}

/// A constant as its text, cast to its type.
fn constant(value: &Value, data_type: &DataType) -> Option<String> {
    if matches!(value, Value::Null) {
        return Some("NULL".to_owned());
    }
    let text = match cast_value(value, data_type, &DataType::String, &CastOptions::default()) {
        Ok(Value::String(text)) => text,
        _ => return None,
    };
    Some(format!("CAST({}, {})", string_sql(&text)?, string_sql(data_type.to_string().as_bytes())?))
}
