//! Reads a predicate: which of its parts say something of a field, or of a monotonic function of one. What is said of a column is also said
//! of keys that are made of it.

use std::cmp::Ordering;

use squall_planner::{Expression, KeyExpression};
use squall_types::{DataType, Value};

use super::constant::{Bound, like_prefix, regexp_prefix, successor};
use super::interval::{End, Interval};
use super::step::Step;
use super::{Field, Node, Within};

/// The values of a larger set are not looked for one by one, only the range that holds them all: each takes about 100 bytes.
const POINTS_MAX: usize = 1 << 18;
/// So many values are gathered before the range that holds them takes their place.
const HULL_POINTS: usize = 4096;

/// Up to so many tuples of a set are looked for as such; of more, their elements are.
const TUPLES_MAX: usize = 64;

/// What a predicate says of the columns of a table and of `keys`.
pub(super) fn node(expression: &Expression, keys: &[KeyExpression]) -> Node {
    let (name, arguments) = match expression {
        Expression::Function { name, arguments, .. } => (&**name, arguments.as_slice()),
        Expression::Constant { value, .. } => {
            return match value {
                Value::Null => Node::Constant(false),
                Value::Float64(value) => Node::Constant(*value != 0.0),
                value => value.as_i64().map_or(Node::Unknown, |value| Node::Constant(value != 0)),
            };
        }
        Expression::Column { .. } => return truth(expression, keys),
        Expression::HigherOrder { .. } => return Node::Unknown,
    };
    match (name, arguments) {
        // It holds for all rows, and those that its arguments leave out are not to be read.
        ("and" | "indexHint", _) => Node::And(arguments.iter().map(|argument| node(argument, keys)).collect()),
        ("or", _) => {
            let nodes: Vec<Node> = arguments.iter().map(|argument| node(argument, keys)).collect();
            if nodes.iter().any(|node| matches!(node, Node::Unknown)) { Node::Unknown } else { Node::Or(nodes) }
        }
        ("not", [Expression::Function { name, .. }]) if &**name == "indexHint" => Node::Unknown,
        ("not", [inner]) => negated(node(inner, keys)),
        ("if", [condition, then, otherwise]) => match condition.constant() {
            Some(value) if value.as_i64().is_some_and(|value| value != 0) => node(then, keys),
            Some(_) => node(otherwise, keys),
            None => Node::Unknown,
        },
        ("isNull", [operand]) => is_null(operand),
        ("isNotNull", [operand]) => negated(is_null(operand)),
        ("notEquals", [..]) => negated(comparison("equals", arguments, keys)),
        ("notIn", [..]) => negated(comparison("in", arguments, keys)),
        ("notLike", [..]) => negated(comparison("like", arguments, keys)),
        ("has", [list @ Expression::Constant { .. }, operand]) => {
            comparison("in", &[operand.clone(), list.clone()], keys)
        }
        _ => match comparison(name, arguments, keys) {
            Node::Unknown => truth(expression, keys),
            known => known,
        },
    }
}

/// A number that stands for itself: it is not 0.
fn truth(expression: &Expression, keys: &[KeyExpression]) -> Node {
    let is_number = expression.data_type().inner().is_integer() || *expression.data_type().inner() == DataType::Bool;
    match field_of(expression, keys).filter(|_| is_number) {
        Some((field, steps)) => {
            let intervals = vec![Interval::point(Value::UInt64(0))];
            negated(Node::Within(Within { field, steps, intervals, exact: true }))
        }
        None => Node::Unknown,
    }
}

fn is_null(operand: &Expression) -> Node {
    match operand {
        Expression::Column { position, data_type } if data_type.is_nullable() => Node::IsNull(Field::Column(*position)),
        _ => Node::Unknown,
    }
}

fn negated(inner: Node) -> Node {
    match inner {
        Node::Unknown => Node::Unknown,
        // NOT NULL is NULL, so a constant that came of NULL must not turn true; reading more is always right.
        Node::Constant(_) => Node::Unknown,
        inner => Node::Not(Box::new(inner)),
    }
}

/// `operand operator constant`, or the same turned round.
fn comparison(name: &str, arguments: &[Expression], keys: &[KeyExpression]) -> Node {
    let [left, right] = arguments else { return Node::Unknown };
    let (name, operand, value, value_type) = match (left, right) {
        (operand, Expression::Constant { value, data_type }) => (name, operand, value, data_type),
        (Expression::Constant { value, data_type }, operand) => {
            let turned = match name {
                "less" => "greater",
                "lessOrEquals" => "greaterOrEquals",
                "greater" => "less",
                "greaterOrEquals" => "lessOrEquals",
                "equals" => "equals",
                _ => return Node::Unknown,
            };
            (turned, operand, value, data_type)
        }
        _ => return Node::Unknown,
    };
    if let Expression::Function { name: tuple, arguments: elements, .. } = operand
        && &**tuple == "tuple"
    {
        return of_tuple(name, elements, value, value_type, keys);
    }
    let is_comparison = matches!(name, "less" | "lessOrEquals" | "greater" | "greaterOrEquals" | "equals");
    if value.is_null() {
        return if is_comparison { Node::Constant(false) } else { Node::Unknown };
    }
    match allowed(name, operand.data_type().inner(), value, value_type) {
        Some(allowed) => of_operand(operand, &allowed, keys),
        None => Node::Unknown,
    }
}

/// Where the values of an operand lie that meet a comparison.
struct Allowed {
    /// Disjoint and ascending.
    intervals: Vec<Interval>,
    /// Whether lying there is enough.
    exact: bool,
}

/// What a comparison with a constant asks of an operand of this type; `None` where that is not known.
fn allowed(name: &str, operand: &DataType, value: &Value, value_type: &DataType) -> Option<Allowed> {
    let (intervals, exact) = match name {
        "in" => {
            let items = items(value, value_type)?;
            let mut exact = items.len() <= POINTS_MAX;
            let mut points = Vec::new();
            for (item, item_type) in items.filter(|(item, _)| !item.is_null()) {
                let bound = Bound::of(item, item_type, operand)?;
                exact &= bound.exact;
                points.push(Interval { low: Some((bound.low, true)), high: Some((bound.high, true)) });
                if !exact && points.len() >= HULL_POINTS {
                    points = hull(points);
                }
            }
            if exact { (sorted(points), true) } else { (hull(points), false) }
        }
        "startsWith" | "like" | "match" => {
            let (DataType::String, Some(pattern)) = (operand, value.as_bytes()) else { return None };
            let (prefix, exact) = match name {
                "like" => like_prefix(pattern),
                "match" => (regexp_prefix(pattern), false),
                _ => (pattern.to_vec(), true),
            };
            if prefix.is_empty() {
                return None;
            }
            let high = successor(&prefix).map(|end| (Value::string(end), false));
            (vec![Interval { low: Some((Value::string(prefix), true)), high }], exact)
        }
        _ => {
            let bound = Bound::of(value, value_type, operand)?;
            // An inexact bound takes in its end.
            let closed = !bound.exact;
            let interval = match name {
                "less" => Interval { low: None, high: Some((bound.high, closed)) },
                "lessOrEquals" => Interval { low: None, high: Some((bound.high, true)) },
                "greater" => Interval { low: Some((bound.low, closed)), high: None },
                "greaterOrEquals" => Interval { low: Some((bound.low, true)), high: None },
                "equals" => Interval { low: Some((bound.low, true)), high: Some((bound.high, true)) },
                _ => return None,
            };
            (vec![interval], bound.exact)
        }
    };
    Some(Allowed { intervals, exact })
}

/// The items of a list, each with its type.
fn items<'a>(
    value: &'a Value,
    value_type: &'a DataType,
) -> Option<impl ExactSizeIterator<Item = (&'a Value, &'a DataType)>> {
    let value_type = value_type.inner();
    let (values, count) = match (value, value_type) {
        (Value::Array(values), DataType::Array(_)) => (values, values.len()),
        (Value::Tuple(values), DataType::Tuple(elements)) => (values, values.len().min(elements.len())),
        _ => return None,
    };
    Some(values[..count].iter().enumerate().map(move |(at, value)| match value_type {
        DataType::Array(item) => (value, &**item),
        DataType::Tuple(elements) => (value, &elements[at].data_type),
        other => (value, other),
    }))
}

fn low_of(interval: &Interval) -> &Value {
    interval.low.as_ref().map_or(&Value::Null, |(value, _)| value)
}

/// Points in order, each once.
fn sorted(mut points: Vec<Interval>) -> Vec<Interval> {
    points.sort_by(|a, b| low_of(a).compare(low_of(b)));
    points.dedup_by(|a, b| low_of(a).compare(low_of(b)).is_eq());
    points
}

/// The one interval around all of them, its ends among it: they may overlap.
fn hull(intervals: Vec<Interval>) -> Vec<Interval> {
    let end = |end: fn(&Interval) -> &End, wanted: Ordering| {
        let ends = intervals.iter().map(|interval| end(interval).as_ref().map(|(value, _)| value));
        let ends = ends.collect::<Option<Vec<&Value>>>()?;
        let outermost = ends.into_iter().reduce(|left, right| if right.compare(left) == wanted { right } else { left });
        outermost.map(|value| (value.clone(), true))
    };
    let low = end(|interval| &interval.low, Ordering::Less);
    let high = end(|interval| &interval.high, Ordering::Greater);
    if intervals.is_empty() { Vec::new() } else { vec![Interval { low, high }] }
}

/// What it says of fields that the values of an expression lie in some intervals.
fn of_operand(operand: &Expression, allowed: &Allowed, keys: &[KeyExpression]) -> Node {
    let mut nodes = Vec::new();
    if let Some((field, steps)) = field_of(operand, keys) {
        nodes.push(Node::Within(Within { field, steps, intervals: allowed.intervals.clone(), exact: allowed.exact }));
    }
    for (at, key) in keys.iter().enumerate() {
        let Some(steps) = steps_from(operand, &key.expression).filter(|steps| !steps.is_empty()) else { continue };
        let image =
            |interval: &Interval| steps.iter().try_fold(interval.clone(), |interval, step| step.image(&interval));
        let Some(images) = allowed.intervals.iter().map(image).collect::<Option<Vec<_>>>() else { continue };
        let are_points = images.iter().all(|image| image.as_point().is_some());
        let intervals = if are_points { sorted(images) } else { hull(images) };
        nodes.push(Node::Within(Within { field: Field::Key(at), steps: Vec::new(), intervals, exact: false }));
    }
    match nodes.len() {
        0 => Node::Unknown,
        1 => nodes.pop().unwrap_or(Node::Unknown),
        _ => Node::And(nodes),
    }
}

/// The functions that make a key of an expression, innermost first; `None` where it is made of something else.
fn steps_from(operand: &Expression, key: &Expression) -> Option<Vec<Step>> {
    if key.same(operand) {
        return Some(Vec::new());
    }
    let (step, inner) = Step::of(key)?;
    let mut steps = steps_from(operand, inner)?;
    steps.push(step);
    Some(steps)
}

/// The field that an expression is, or is a monotonic function of.
fn field_of(expression: &Expression, keys: &[KeyExpression]) -> Option<(Field, Vec<Step>)> {
    if let Expression::Column { position, .. } = expression {
        return Some((Field::Column(*position), Vec::new()));
    }
    if let Some(at) = keys.iter().position(|key| key.expression.same(expression)) {
        return Some((Field::Key(at), Vec::new()));
    }
    let (step, inner) = Step::of(expression)?;
    if !step.may_keep_order() {
        return None;
    }
    let (field, mut steps) = field_of(inner, keys)?;
    steps.push(step);
    Some((field, steps))
}

/// A comparison of a tuple with a constant one, or with a set of such.
fn of_tuple(name: &str, elements: &[Expression], value: &Value, value_type: &DataType, keys: &[KeyExpression]) -> Node {
    if name == "in" {
        let Some(items) = items(value, value_type) else { return Node::Unknown };
        if items.len() > POINTS_MAX {
            return Node::Unknown;
        }
        let rows: Option<Vec<_>> = items.map(|(item, item_type)| row(item, item_type, elements.len())).collect();
        return rows.map_or(Node::Unknown, |rows| one_of(elements, &rows, keys));
    }
    let Some(row) = row(value, value_type, elements.len()) else { return Node::Unknown };
    // The first elements decide unless they are equal.
    let weak = match name {
        "equals" => return one_of(elements, &[row], keys),
        "less" | "lessOrEquals" => "lessOrEquals",
        "greater" | "greaterOrEquals" => "greaterOrEquals",
        _ => return Node::Unknown,
    };
    let (Some(first), Some((value, value_type))) = (elements.first(), row.first()) else { return Node::Unknown };
    if value.is_null() {
        return Node::Unknown;
    }
    match allowed(weak, first.data_type().inner(), value, value_type) {
        Some(allowed) => of_operand(first, &Allowed { exact: false, ..allowed }, keys),
        None => Node::Unknown,
    }
}

/// The elements of a constant tuple, each with its type.
fn row<'a>(value: &'a Value, value_type: &'a DataType, length: usize) -> Option<Vec<(&'a Value, &'a DataType)>> {
    items(value, value_type)
        .filter(|items| items.len() == length && matches!(value, Value::Tuple(_)))
        .map(Iterator::collect)
}

/// The elements of a tuple are those of one of some rows.
fn one_of(elements: &[Expression], rows: &[Vec<(&Value, &DataType)>], keys: &[KeyExpression]) -> Node {
    let point = |element: &Expression, (value, value_type): (&Value, &DataType)| {
        if value.is_null() {
            return None;
        }
        let bound = Bound::of(value, value_type, element.data_type().inner())?;
        Some((Interval { low: Some((bound.low, true)), high: Some((bound.high, true)) }, bound.exact))
    };
    let mut nodes = Vec::new();
    for (at, element) in elements.iter().enumerate() {
        let points = rows.iter().map(|row| point(element, *row.get(at)?)).collect::<Option<Vec<_>>>();
        let Some(points) = points else { continue };
        let are_exact = points.iter().all(|(_, exact)| *exact);
        let points = points.into_iter().map(|(point, _)| point).collect();
        let intervals = if are_exact { sorted(points) } else { hull(points) };
        match of_operand(element, &Allowed { intervals, exact: false }, keys) {
            Node::Unknown => {}
            known => nodes.push(known),
        }
    }
    if (2..=TUPLES_MAX).contains(&rows.len()) && nodes.len() > 1 {
        let one = |row: &Vec<(&Value, &DataType)>| {
            let of = |(element, item): (&Expression, &(&Value, &DataType))| {
                let (interval, _) = point(element, *item)?;
                Some(of_operand(element, &Allowed { intervals: vec![interval], exact: false }, keys))
            };
            Node::And(elements.iter().zip(row).filter_map(of).filter(|node| !matches!(node, Node::Unknown)).collect())
        };
        nodes.push(Node::Or(rows.iter().map(one).collect()));
    }
    if nodes.is_empty() { Node::Unknown } else { Node::And(nodes) }
}
