//! What a predicate says of ranges of values: given the smallest and largest value of some columns over a set of rows, whether
//! any of these rows can match. Used to prune parts, row groups, granules and generated sequences. It only ever errs towards
//! reading more; evaluating the predicate over rows is the engine's work.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use chrono::{NaiveDate, NaiveDateTime};
use squall_functions::BoundFunction;
use squall_planner::{Expression, KeyExpression};
use squall_types::{Column, DataType, Value};

/// What a range is asked of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Field {
    /// A column of the table by position.
    Column(usize),
    /// An expression of the sorting key by position, where it is not a plain column.
    Key(usize),
}

/// All values of a field over some rows lie within `low..=high`; `None` is unbounded.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueRange {
    /// Not greater than any value.
    pub low: Option<Value>,
    /// Not less than any value.
    pub high: Option<Value>,
    /// Whether there may be NULL or NaN besides, which match no comparison.
    pub incomparable: bool,
}

impl ValueRange {
    /// The smallest range that holds both.
    pub(crate) fn hull(&self, other: &Self) -> Self {
        let pick = |left: &Option<Value>, right: &Option<Value>, wanted: Ordering| match (left, right) {
            (Some(left), Some(right)) => Some(if left.compare(right) == wanted { left.clone() } else { right.clone() }),
            _ => None,
        };
        Self {
            low: pick(&self.low, &other.low, Ordering::Less),
            high: pick(&self.high, &other.high, Ordering::Greater),
            incomparable: self.incomparable || other.incomparable,
        }
    }

    /// What lies in both, where both hold the same values.
    pub(crate) fn intersection(self, other: Self) -> Self {
        let pick = |left: Option<Value>, right: Option<Value>, wanted: Ordering| match (left, right) {
            (Some(left), Some(right)) => Some(if left.compare(&right) == wanted { left } else { right }),
            (left, right) => left.or(right),
        };
        Self {
            low: pick(self.low, other.low, Ordering::Greater),
            high: pick(self.high, other.high, Ordering::Less),
            incomparable: self.incomparable && other.incomparable,
        }
    }
}

/// A predicate, reduced to what ranges can answer.
#[derive(Clone, Debug)]
pub(crate) struct KeyCondition {
    root: Node,
}

#[derive(Clone, Debug)]
enum Node {
    /// Nothing is known.
    Unknown,
    Constant(bool),
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    Within(Within),
}

/// `field`, sent through monotonic functions, lies in one of the intervals.
#[derive(Clone, Debug)]
struct Within {
    field: Field,
    /// Innermost first.
    steps: Vec<Step>,
    /// Disjoint and ascending.
    intervals: Vec<Interval>,
    /// Whether lying in an interval is enough to match; otherwise it is only necessary.
    exact: bool,
}

/// A function that keeps the order of its first argument.
#[derive(Clone, Debug)]
struct Step {
    function: Arc<dyn BoundFunction>,
    argument_type: DataType,
    constants: Vec<(Value, DataType)>,
}

/// Values from a bound to another.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Interval {
    /// The bound and whether it belongs to the interval; `None` is unbounded.
    pub low: Option<(Value, bool)>,
    /// The same at the other end.
    pub high: Option<(Value, bool)>,
}

impl Interval {
    /// What lies in both, if anything can.
    fn intersection(&self, other: &Self) -> Option<Self> {
        let low = tighter(&self.low, &other.low, Ordering::Greater);
        let high = tighter(&self.high, &other.high, Ordering::Less);
        let is_empty =
            low.as_ref().zip(high.as_ref()).is_some_and(|((low, has_low), (high, has_high))| match low.compare(high) {
                Ordering::Less => false,
                Ordering::Equal => !(*has_low && *has_high),
                Ordering::Greater => true,
            });
        (!is_empty).then_some(Self { low, high })
    }

    /// Whether it ends before another one does.
    fn ends_before(&self, other: &Self) -> bool {
        match (&self.high, &other.high) {
            (Some((left, _)), Some((right, _))) => left.compare(right).is_lt(),
            (Some(_), None) => true,
            (None, _) => false,
        }
    }
}

type End = Option<(Value, bool)>;

/// The bound that lets less through; `wanted` is how it compares with the other one.
fn tighter(left: &End, right: &End, wanted: Ordering) -> End {
    match (left, right) {
        (Some(a), Some(b)) => match a.0.compare(&b.0) {
            Ordering::Equal => Some((a.0.clone(), a.1 && b.1)),
            order if order == wanted => left.clone(),
            _ => right.clone(),
        },
        (a, b) => a.clone().or_else(|| b.clone()),
    }
}

/// What lies in both of two lists of intervals, each disjoint and ascending.
fn common(left: &[Interval], right: &[Interval]) -> Vec<Interval> {
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    let mut found = Vec::new();
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        found.extend(a.intersection(b));
        if a.ends_before(b) {
            left.next()
        } else {
            right.next()
        };
    }
    found
}

/// Whether a condition can be true, and whether it can be anything else, over some rows.
#[derive(Clone, Copy)]
struct Mask {
    can_be_true: bool,
    can_be_false: bool,
}

impl Mask {
    const ANY: Self = Self { can_be_true: true, can_be_false: true };
}

impl KeyCondition {
    /// Reads a predicate over a table's columns. Expressions of `keys` are recognised wherever they stand in it.
    pub(crate) fn new(predicate: &Expression, keys: &[KeyExpression]) -> Self {
        Self { root: node(predicate, keys) }
    }

    /// Whether it can never rule anything out.
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self.root, Node::Unknown | Node::Constant(true))
    }

    /// Whether what is known of these fields can rule anything out.
    pub(crate) fn is_useful(&self, of: &dyn Fn(Field) -> bool) -> bool {
        is_useful(&self.root, of)
    }

    /// Whether rows whose fields lie in these ranges can match. `range` answers `None` for a field of which nothing is known.
    pub(crate) fn can_match(&self, range: &dyn Fn(Field) -> Option<ValueRange>) -> bool {
        check(&self.root, range).can_be_true
    }

    /// The intervals, disjoint and ascending, outside of which `field` never is where the predicate is true; `None` where that is not
    /// known. A predicate that has no more to say [is only of](Self::is_only_of) the field.
    pub(crate) fn intervals(&self, field: Field) -> Option<Cow<'_, [Interval]>> {
        intervals(&self.root, field)
    }

    /// Whether nothing but the values of `field` is asked for.
    pub(crate) fn is_only_of(&self, field: Field) -> bool {
        let is_of = |node: &Node| matches!(node, Node::Within(within) if within.is_plainly(field));
        match &self.root {
            Node::And(nodes) => nodes.iter().all(is_of),
            root => is_of(root),
        }
    }

    /// The smallest and largest value of `field` with which the whole predicate can be true: its bounding interval.
    pub(crate) fn bounds(&self, field: Field) -> (Option<Value>, Option<Value>) {
        bounds(&self.root, field)
    }
}

fn is_useful(node: &Node, of: &dyn Fn(Field) -> bool) -> bool {
    match node {
        Node::Unknown | Node::Constant(true) => false,
        Node::Constant(false) => true,
        Node::And(nodes) => nodes.iter().any(|node| is_useful(node, of)),
        Node::Or(nodes) => nodes.iter().all(|node| is_useful(node, of)),
        Node::Not(node) => match &**node {
            Node::And(nodes) => nodes.iter().all(|node| is_useful(&Node::Not(Box::new(node.clone())), of)),
            Node::Or(nodes) => nodes.iter().any(|node| is_useful(&Node::Not(Box::new(node.clone())), of)),
            Node::Constant(value) => *value,
            node => is_useful(node, of),
        },
        Node::Within(within) => of(within.field),
    }
}

/// The smallest and the largest value of a column, by position, with which a predicate over such columns can be true, where known.
pub fn column_bounds(predicate: &Expression, column: usize) -> (Option<Value>, Option<Value>) {
    KeyCondition::new(predicate, &[]).bounds(Field::Column(column))
}

fn check(node: &Node, range: &dyn Fn(Field) -> Option<ValueRange>) -> Mask {
    match node {
        Node::Unknown => Mask::ANY,
        Node::Constant(value) => Mask { can_be_true: *value, can_be_false: !value },
        Node::Not(inner) => {
            let mask = check(inner, range);
            Mask { can_be_true: mask.can_be_false, can_be_false: mask.can_be_true }
        }
        Node::And(nodes) => {
            let mut all = Mask { can_be_true: true, can_be_false: false };
            for node in nodes {
                let mask = check(node, range);
                all.can_be_true &= mask.can_be_true;
                all.can_be_false |= mask.can_be_false;
                if !all.can_be_true {
                    break;
                }
            }
            all
        }
        Node::Or(nodes) => {
            let mut any = Mask { can_be_true: false, can_be_false: true };
            for node in nodes {
                let mask = check(node, range);
                any.can_be_true |= mask.can_be_true;
                any.can_be_false &= mask.can_be_false;
            }
            any
        }
        Node::Within(within) => match range(within.field) {
            Some(range) => within.check(&within.through_steps(range)),
            None => Mask::ANY,
        },
    }
}

fn intervals(node: &Node, field: Field) -> Option<Cow<'_, [Interval]>> {
    match node {
        Node::Within(within) if within.is_plainly(field) => Some(Cow::Borrowed(&within.intervals)),
        Node::And(nodes) => nodes
            .iter()
            .filter_map(|node| intervals(node, field))
            .reduce(|left, right| Cow::Owned(common(&left, &right))),
        _ => None,
    }
}

impl Within {
    fn is_plainly(&self, field: Field) -> bool {
        self.field == field && self.steps.is_empty()
    }

    fn through_steps(&self, mut range: ValueRange) -> ValueRange {
        for step in &self.steps {
            if !step.is_monotonic_over(&range) {
                return ValueRange { low: None, high: None, incomparable: range.incomparable };
            }
            range.low = range.low.and_then(|value| step.apply(&value));
            range.high = range.high.and_then(|value| step.apply(&value));
        }
        range
    }

    fn check(&self, range: &ValueRange) -> Mask {
        // The first interval that does not end below the range.
        let at = self.intervals.partition_point(|interval| match (&interval.high, &range.low) {
            (Some((high, inclusive)), Some(low)) => match high.compare(low) {
                Ordering::Less => true,
                Ordering::Equal => !inclusive,
                Ordering::Greater => false,
            },
            _ => false,
        });
        let Some(interval) = self.intervals.get(at) else { return Mask { can_be_true: false, can_be_false: true } };
        let starts_after = match (&interval.low, &range.high) {
            (Some((low, inclusive)), Some(high)) => match low.compare(high) {
                Ordering::Greater => true,
                Ordering::Equal => !inclusive,
                Ordering::Less => false,
            },
            _ => false,
        };
        if starts_after {
            return Mask { can_be_true: false, can_be_false: true };
        }
        let holds_low = match (&interval.low, &range.low) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some((bound, inclusive)), Some(low)) => match bound.compare(low) {
                Ordering::Less => true,
                Ordering::Equal => *inclusive,
                Ordering::Greater => false,
            },
        };
        let holds_high = match (&interval.high, &range.high) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some((bound, inclusive)), Some(high)) => match bound.compare(high) {
                Ordering::Greater => true,
                Ordering::Equal => *inclusive,
                Ordering::Less => false,
            },
        };
        let all_match = self.exact && holds_low && holds_high && !range.incomparable;
        Mask { can_be_true: true, can_be_false: !all_match }
    }
}

impl Step {
    /// Whether the function keeps the order of all values of a range.
    fn is_monotonic_over(&self, range: &ValueRange) -> bool {
        let Some((first, last)) = self.function.properties().monotonic else { return false };
        let end = |end: &Option<Value>, unbounded: i64| match end {
            Some(value) => value.as_i64(),
            None => Some(unbounded),
        };
        let (low, high) = (end(&range.low, i64::MIN), end(&range.high, i64::MAX));
        low.is_some_and(|low| low >= first) && high.is_some_and(|high| high <= last)
    }

    fn apply(&self, value: &Value) -> Option<Value> {
        let mut arguments = vec![Column::constant(self.argument_type.clone(), value, 1).ok()?];
        for (constant, data_type) in &self.constants {
            arguments.push(Column::constant(data_type.clone(), constant, 1).ok()?);
        }
        let result = self.function.execute(&arguments, 1).ok()?;
        (result.rows() == 1).then(|| result.value(0)).filter(|value| !value.is_null())
    }
}

fn bounds(node: &Node, field: Field) -> (Option<Value>, Option<Value>) {
    match node {
        Node::Within(within) if within.is_plainly(field) => {
            let low = within.intervals.first().and_then(|interval| interval.low.as_ref());
            let high = within.intervals.last().and_then(|interval| interval.high.as_ref());
            (low.map(|(value, _)| value.clone()), high.map(|(value, _)| value.clone()))
        }
        Node::And(nodes) => nodes.iter().map(|node| bounds(node, field)).fold((None, None), |(low, high), (l, h)| {
            let tighter = |a: Option<Value>, b: Option<Value>, wanted: Ordering| match (a, b) {
                (Some(a), Some(b)) => Some(if a.compare(&b) == wanted { a } else { b }),
                (a, b) => a.or(b),
            };
            (tighter(low, l, Ordering::Greater), tighter(high, h, Ordering::Less))
        }),
        Node::Or(nodes) => {
            let mut all = nodes.iter().map(|node| bounds(node, field));
            let Some(first) = all.next() else { return (None, None) };
            all.fold(first, |(low, high), (l, h)| {
                let wider = |a: Option<Value>, b: Option<Value>, wanted: Ordering| match (a, b) {
                    (Some(a), Some(b)) => Some(if a.compare(&b) == wanted { a } else { b }),
                    _ => None,
                };
                (wider(low, l, Ordering::Less), wider(high, h, Ordering::Greater))
            })
        }
        _ => (None, None),
    }
}

fn node(expression: &Expression, keys: &[KeyExpression]) -> Node {
    let (name, arguments) = match expression {
        Expression::Function { name, arguments, .. } => (&**name, arguments.as_slice()),
        Expression::Constant { value, .. } => {
            return match value {
                Value::Null => Node::Constant(false),
                Value::Float64(value) => Node::Constant(*value != 0.0),
                value => value.as_i64().map_or(Node::Unknown, |value| Node::Constant(value != 0)),
            };
        }
        Expression::Column { .. } | Expression::HigherOrder { .. } => return Node::Unknown,
    };
    match (name, arguments) {
        ("and", _) => Node::And(arguments.iter().map(|argument| node(argument, keys)).collect()),
        ("or", _) => {
            let nodes: Vec<Node> = arguments.iter().map(|argument| node(argument, keys)).collect();
            if nodes.iter().any(|node| matches!(node, Node::Unknown)) { Node::Unknown } else { Node::Or(nodes) }
        }
        ("not", [inner]) => negated(node(inner, keys)),
        ("notEquals", [..]) => negated(comparison("equals", arguments, keys)),
        ("notIn", [..]) => negated(comparison("in", arguments, keys)),
        _ => comparison(name, arguments, keys),
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

/// `field operator constant`, or the same turned round.
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
    let Some((field, steps)) = field_of(operand, keys) else { return Node::Unknown };
    let operand_type = operand.data_type().inner();
    let (intervals, exact) = match name {
        "in" => {
            let (Value::Array(items) | Value::Tuple(items)) = value else { return Node::Unknown };
            let mut points = Vec::with_capacity(items.len());
            let mut exact = true;
            for (at, item) in items.iter().enumerate() {
                if item.is_null() {
                    continue;
                }
                let item_type = match value_type.inner() {
                    DataType::Array(item_type) => (**item_type).clone(),
                    DataType::Tuple(elements) => match elements.get(at) {
                        Some(element) => element.data_type.clone(),
                        None => return Node::Unknown,
                    },
                    _ => return Node::Unknown,
                };
                let Some(bound) = Bound::of(item, &item_type, operand_type) else { return Node::Unknown };
                exact &= bound.exact;
                points.push(Interval { low: Some((bound.low, true)), high: Some((bound.high, true)) });
            }
            if !exact {
                // Widened points may overlap: their hull is enough.
                let low = points.iter().filter_map(|point| point.low.clone()).min_by(|a, b| a.0.compare(&b.0));
                let high = points.iter().filter_map(|point| point.high.clone()).max_by(|a, b| a.0.compare(&b.0));
                points = if points.is_empty() { points } else { vec![Interval { low, high }] };
            } else {
                let key = |interval: &Interval| interval.low.clone().map_or(Value::Null, |(value, _)| value);
                points.sort_by(|a, b| key(a).compare(&key(b)));
                points.dedup_by(|a, b| key(a).compare(&key(b)).is_eq());
            }
            (points, exact)
        }
        "startsWith" | "like" => {
            let (DataType::String, Some(pattern)) = (operand_type, value.as_bytes()) else { return Node::Unknown };
            let (prefix, exact) = match name {
                "like" => like_prefix(pattern),
                _ => (pattern.to_vec(), true),
            };
            if prefix.is_empty() {
                return Node::Unknown;
            }
            let high = successor(&prefix).map(|end| (Value::string(end), false));
            (vec![Interval { low: Some((Value::string(prefix), true)), high }], exact)
        }
        _ => {
            if value.is_null() {
                return if matches!(name, "less" | "lessOrEquals" | "greater" | "greaterOrEquals" | "equals") {
                    Node::Constant(false)
                } else {
                    Node::Unknown
                };
            }
            let Some(bound) = Bound::of(value, value_type, operand_type) else { return Node::Unknown };
            // An inexact bound takes in its end.
            let closed = !bound.exact;
            let interval = match name {
                "less" => Interval { low: None, high: Some((bound.high, closed)) },
                "lessOrEquals" => Interval { low: None, high: Some((bound.high, true)) },
                "greater" => Interval { low: Some((bound.low, closed)), high: None },
                "greaterOrEquals" => Interval { low: Some((bound.low, true)), high: None },
                "equals" => Interval { low: Some((bound.low, true)), high: Some((bound.high, true)) },
                _ => return Node::Unknown,
            };
            (vec![interval], bound.exact)
        }
    };
    Node::Within(Within { field, steps, intervals, exact })
}

/// The field that an expression is, or is a monotonic function of.
fn field_of(expression: &Expression, keys: &[KeyExpression]) -> Option<(Field, Vec<Step>)> {
    if let Expression::Column { position, .. } = expression {
        return Some((Field::Column(*position), Vec::new()));
    }
    if let Some(at) = keys.iter().position(|key| key.expression.same(expression)) {
        return Some((Field::Key(at), Vec::new()));
    }
    let Expression::Function { function, arguments, .. } = expression else { return None };
    let (inner, rest) = arguments.split_first()?;
    function.properties().monotonic?;
    let constants = rest.iter().map(|argument| match argument {
        Expression::Constant { value, data_type } => Some((value.clone(), data_type.clone())),
        _ => None,
    });
    let constants = constants.collect::<Option<Vec<_>>>()?;
    let (field, mut steps) = field_of(inner, keys)?;
    steps.push(Step { function: function.clone(), argument_type: inner.data_type().clone(), constants });
    Some((field, steps))
}

/// A constant in the terms of the operand's type: the true bound lies in `low..=high`.
struct Bound {
    low: Value,
    high: Value,
    exact: bool,
}

impl Bound {
    fn exactly(value: Value) -> Self {
        Self { low: value.clone(), high: value, exact: true }
    }

    /// `None` where types compare in a way that is not followed here.
    fn of(value: &Value, value_type: &DataType, operand: &DataType) -> Option<Self> {
        // More than any difference between a time zone's clock and UTC.
        const ZONE_SECONDS_MAX: i64 = 26 * 3600;
        let value_type = value_type.inner();
        let is_whole = |data_type: &DataType| data_type.is_integer() || *data_type == DataType::Bool;
        if let Value::Float64(number) = value
            && number.is_nan()
        {
            return None;
        }
        match (operand, value_type) {
            (operand, value_type) if is_whole(operand) && is_whole(value_type) => Some(Self::exactly(value.clone())),
            (operand, value_type)
                if [operand, value_type]
                    .iter()
                    .all(|side| is_whole(side) || side.is_wide_integer() || side.is_decimal()) =>
            {
                Some(Self::exactly(value.clone()))
            }
            (operand, value_type) if operand.is_float() && (value_type.is_float() || is_whole(value_type)) => {
                // 64-bit integers are rounded on the way to a float.
                let rounded = value.as_f64()?;
                let exact = matches!(value, Value::Float64(_)) || rounded.abs() < 9_007_199_254_740_992.0;
                Some(Self { low: value.clone(), high: value.clone(), exact })
            }
            (operand, value_type) if is_whole(operand) && value_type.is_float() => {
                Some(Self { low: value.clone(), high: value.clone(), exact: false })
            }
            (DataType::String, DataType::String | DataType::FixedString(_)) => Some(Self::exactly(value.clone())),
            (DataType::FixedString(width), DataType::String | DataType::FixedString(_)) => {
                let mut bytes = value.as_bytes()?.to_vec();
                if bytes.len() > *width {
                    return None;
                }
                bytes.resize(*width, 0);
                Some(Self::exactly(Value::string(bytes)))
            }
            (DataType::Date | DataType::Date32, DataType::String) => {
                let date = NaiveDate::parse_from_str(value.as_str()?, "%Y-%m-%d").ok()?;
                let days = date.signed_duration_since(NaiveDate::default()).num_days();
                let in_range = *operand == DataType::Date32 || (0..=i64::from(u16::MAX)).contains(&days);
                in_range.then(|| Self::exactly(Value::Int64(days)))
            }
            (DataType::DateTime(_), DataType::String) => {
                let text = value.as_str()?;
                let time = NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").ok().or_else(|| {
                    NaiveDate::parse_from_str(text, "%Y-%m-%d").ok().and_then(|date| date.and_hms_opt(0, 0, 0))
                })?;
                let seconds = time.and_utc().timestamp();
                let (low, high) = (seconds - ZONE_SECONDS_MAX, seconds + ZONE_SECONDS_MAX);
                Some(Self { low: Value::Int64(low), high: Value::Int64(high), exact: false })
            }
            (DataType::Enum8(values) | DataType::Enum16(values), DataType::String) => {
                values.number(value.as_bytes()?).map(|number| Self::exactly(Value::Int64(i64::from(number))))
            }
            (DataType::DateTime(_), DataType::DateTime(_)) => Some(Self::exactly(value.clone())),
            (DataType::DateTime64(left, _), DataType::DateTime64(right, _)) if left == right => {
                Some(Self::exactly(value.clone()))
            }
            (DataType::Date | DataType::Date32 | DataType::IPv4, value_type) if operand == value_type => {
                Some(Self::exactly(value.clone()))
            }
            _ => None,
        }
    }
}

/// The bytes with which every match of a LIKE pattern begins, and whether beginning with them is enough.
fn like_prefix(pattern: &[u8]) -> (Vec<u8>, bool) {
    let mut prefix = Vec::new();
    let mut at = 0;
    while let Some(byte) = pattern.get(at) {
        match (byte, pattern.get(at + 1)) {
            (b'%', None) => return (prefix, true),
            (b'%' | b'_', _) => return (prefix, false),
            (b'\\', Some(escaped @ (b'%' | b'_' | b'\\'))) => {
                prefix.push(*escaped);
                at += 1;
            }
            (byte, _) => prefix.push(*byte),
        }
        at += 1;
    }
    (prefix, false)
}

/// The least string that is greater than every string with this prefix.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xFF)?;
    let mut end = prefix.get(..=last)?.to_vec();
    if let Some(byte) = end.last_mut() {
        *byte += 1;
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use squall_functions::FunctionContext;
    use squall_planner::{ColumnDescription, bind_expression};

    use super::*;

    #[test]
    fn lists_of_intervals_have_common_ones() {
        let interval = |low: Option<u64>, high: Option<u64>| Interval {
            low: low.map(|value| (Value::UInt64(value), true)),
            high: high.map(|value| (Value::UInt64(value), true)),
        };
        let point = |value| interval(Some(value), Some(value));
        let points = [point(1), point(5), point(9)];
        assert_eq!(common(&points, &[interval(Some(2), None)]), [point(5), point(9)]);
        assert_eq!(common(&[interval(None, Some(5))], &points), [point(1), point(5)]);
        assert_eq!(common(&points, &points), points);
        assert_eq!(common(&points, &[]), []);
        let open = Interval { low: Some((Value::UInt64(5), false)), high: None };
        assert_eq!(common(&points, &[open]), [point(9)]);
        assert_eq!(
            common(&[interval(None, Some(4)), interval(Some(6), None)], &[interval(Some(3), Some(7))]),
            [interval(Some(3), Some(4)), interval(Some(6), Some(7))]
        );
    }

    #[test]
    fn functions_are_followed_where_they_keep_the_order() {
        let day = ColumnDescription {
            name: "d".into(),
            data_type: DataType::Date32,
            default: None,
            comment: "".into(),
            codec: None,
        };
        let can_match = |sql: &str, low: i64, high: i64| {
            let predicate =
                bind_expression(sql, std::slice::from_ref(&day), &FunctionContext::outside_queries("UTC")).unwrap();
            let range =
                ValueRange { low: Some(Value::Int64(low)), high: Some(Value::Int64(high)), incomparable: false };
            KeyCondition::new(&predicate, &[]).can_match(&|_| Some(range.clone()))
        };
        // Some weeks from 2020-01-01 on.
        let (low, high) = (18_262, 18_300);
        assert!(can_match("toYear(d) = 2020", low, high));
        assert!(!can_match("toYear(d) = 2021", low, high));
        assert!(!can_match("toYYYYMM(CAST(d AS Date)) = 201912", low, high));
        assert!(!can_match("toDateTime(d) < toDateTime('1980-01-01 00:00:00')", low, high));
        // Days that DateTime does not have wrap to its first ones.
        assert!(can_match("toDateTime(d) < toDateTime('1980-01-01 00:00:00')", 49_900, 50_000));
        // Nothing says that this one is monotonic.
        assert!(can_match("toDayOfMonth(d) = 31", low, low));
    }

    #[test]
    fn like_patterns_have_prefixes() {
        assert_eq!(like_prefix(b"ab%"), (b"ab".to_vec(), true));
        assert_eq!(like_prefix(b"a\\%b_c"), (b"a%b".to_vec(), false));
        assert_eq!(like_prefix(b"%x"), (Vec::new(), false));
        assert_eq!(successor(b"a\xFF"), Some(b"b".to_vec()));
        assert_eq!(successor(b"\xFF"), None);
    }
}
