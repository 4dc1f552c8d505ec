//! A condition as `EXPLAIN indexes = 1` shows it.

use squall_types::Value;

use super::interval::{End, Interval};
use super::{Field, Node, Within};

/// What a condition asks of the fields that have a name; `true` where that is nothing.
pub(super) fn condition(root: &Node, name: &dyn Fn(Field) -> Option<String>) -> String {
    node(root, false, name).unwrap_or_else(|| "true".to_owned())
}

fn node(of: &Node, is_negated: bool, name: &dyn Fn(Field) -> Option<String>) -> Option<String> {
    let all = |nodes: &[Node], word: &str, is_needed: bool| {
        let mut texts: Vec<String> = Vec::new();
        for inner in nodes {
            match node(inner, is_negated, name) {
                Some(text) if !texts.contains(&text) => texts.push(text),
                Some(_) => {}
                None if is_needed => return None,
                None => {}
            }
        }
        match texts.len() {
            0 | 1 => texts.pop(),
            _ => {
                texts.reverse();
                Some(format!("{word}({})", texts.join(", ")))
            }
        }
    };
    match of {
        Node::Unknown => None,
        Node::Constant(value) if *value != is_negated => None,
        Node::Constant(_) => Some("false".to_owned()),
        Node::Not(inner) => node(inner, !is_negated, name),
        Node::And(nodes) if is_negated => all(nodes, "or", true),
        Node::Or(nodes) if is_negated => all(nodes, "and", false),
        Node::And(nodes) => all(nodes, "and", false),
        Node::Or(nodes) => all(nodes, "or", true),
        Node::IsNull(field) => {
            let name = name(*field)?;
            Some(if is_negated { format!("({name} isNotNull)") } else { format!("({name} isNull)") })
        }
        Node::Within(within) => of_field(within, is_negated, name),
    }
}

fn of_field(within: &Within, is_negated: bool, name: &dyn Fn(Field) -> Option<String>) -> Option<String> {
    let name = within.steps.iter().fold(name(within.field)?, |inner, step| format!("{}({inner})", step.name));
    let intervals = within.intervals.as_slice();
    let one = match intervals {
        [] => return (!is_negated).then(|| "false".to_owned()),
        [one] => Some(one),
        _ => None,
    };
    match (one, is_negated) {
        (None, false) => Some(format!("({name} in {}-element set)", intervals.len())),
        (None, true) => Some(format!("({name} not in {}-element set)", intervals.len())),
        (Some(one), false) => Some(format!("({name} in {})", interval(one))),
        // What is on one side of a bound is an interval itself.
        (Some(Interval { low: Some((low, has_low)), high: None }), true) => {
            let below = Interval { low: None, high: Some((low.clone(), !has_low)) };
            Some(format!("({name} in {})", interval(&below)))
        }
        (Some(Interval { low: None, high: Some((high, has_high)) }), true) => {
            let above = Interval { low: Some((high.clone(), !has_high)), high: None };
            Some(format!("({name} in {})", interval(&above)))
        }
        (Some(one), true) => Some(format!("({name} not in {})", interval(one))),
    }
}

fn interval(of: &Interval) -> String {
    // The whole number beside one that does not belong to it does.
    let whole = |end: &End, by: i64| match end {
        Some((value @ (Value::UInt64(_) | Value::Int64(_)), false)) => {
            let next = value.as_i64().and_then(|value| value.checked_add(by));
            next.map(|next| Some((Value::Int64(next), true))).unwrap_or_else(|| end.clone())
        }
        end => end.clone(),
    };
    let low = match whole(&of.low, 1) {
        Some((value, true)) => format!("[{value}"),
        Some((value, false)) => format!("({value}"),
        None => "(-Inf".to_owned(),
    };
    let high = match whole(&of.high, -1) {
        Some((value, true)) => format!("{value}]"),
        Some((value, false)) => format!("{value})"),
        None => "+Inf)".to_owned(),
    };
    format!("{low}, {high}")
}
