//! What a predicate says of ranges of values: given the smallest and largest value of some columns over a set of rows, whether
//! any of these rows can match. Used to prune parts, row groups, granules and generated sequences. It only ever errs towards
//! reading more; evaluating the predicate over rows is the engine's work.

mod constant;
mod interval;
mod reading;
mod step;
mod text;

use std::borrow::Cow;
use std::cmp::Ordering;

use squall_planner::{Expression, KeyExpression};
use squall_types::Value;

pub(crate) use constant::successor;
use interval::common;
pub(crate) use interval::{Interval, ValueRange};
use step::Step;

/// What a range is asked of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Field {
    /// A column of the table by position.
    Column(usize),
    /// An expression of the sorting key by position, where it is not a plain column.
    Key(usize),
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
    /// The field is NULL.
    IsNull(Field),
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
        Self { root: reading::node(predicate, keys) }
    }

    /// That a field lies between two values, both included; without them no row matches.
    pub(crate) fn between(field: Field, ends: &Option<(Value, Value)>) -> Self {
        let interval = |(low, high): &(Value, Value)| Interval {
            low: Some((low.clone(), true)),
            high: Some((high.clone(), true)),
        };
        let intervals = ends.iter().map(interval).collect();
        Self { root: Node::Within(Within { field, steps: Vec::new(), intervals, exact: true }) }
    }

    /// That both hold.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        let mut nodes = match self.root {
            Node::And(nodes) => nodes,
            root => vec![root],
        };
        nodes.push(other.root);
        Self { root: Node::And(nodes) }
    }

    /// What it asks of some fields, as EXPLAIN shows it: `name` is what a field is called, `None` one of which nothing is shown.
    pub(crate) fn text(&self, name: &dyn Fn(Field) -> Option<String>) -> String {
        text::condition(&self.root, name)
    }

    /// The fields that it asks for.
    pub(crate) fn visit_fields(&self, visit: &mut dyn FnMut(Field)) {
        visit_fields(&self.root, visit);
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

fn visit_fields(node: &Node, visit: &mut dyn FnMut(Field)) {
    match node {
        Node::Unknown | Node::Constant(_) => {}
        Node::And(nodes) | Node::Or(nodes) => nodes.iter().for_each(|node| visit_fields(node, visit)),
        Node::Not(node) => visit_fields(node, visit),
        Node::Within(within) => visit(within.field),
        Node::IsNull(field) => visit(*field),
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
        Node::IsNull(field) => of(*field),
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
        Node::IsNull(field) => {
            Mask { can_be_true: range(*field).is_none_or(|range| range.incomparable), can_be_false: true }
        }
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
            if step.decreases() {
                std::mem::swap(&mut range.low, &mut range.high);
            }
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

#[cfg(test)]
mod tests {
    use squall_functions::FunctionContext;
    use squall_planner::{ColumnDescription, bind_expression};
    use squall_types::DataType;

    use super::*;

    #[test]
    fn functions_are_followed_where_they_keep_the_order() {
        let day = ColumnDescription::new("d", DataType::Date32);
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

    /// Whether `sql` over a column `x` of this type, and over keys of it, can hold where `x` lies between two values.
    fn can_hold(data_type: &str, keys: &[&str], sql: &str, known: &dyn Fn(Field) -> Option<(Value, Value)>) -> bool {
        let column = ColumnDescription::new("x", DataType::parse(data_type).unwrap());
        let columns = [column];
        let bind = |sql: &str| bind_expression(sql, &columns, &FunctionContext::outside_queries("UTC")).unwrap();
        let keys: Vec<KeyExpression> =
            keys.iter().map(|sql| KeyExpression { sql: (*sql).into(), expression: bind(sql) }).collect();
        KeyCondition::new(&bind(sql), &keys).can_match(&|field| {
            let (low, high) = known(field)?;
            Some(ValueRange { low: Some(low), high: Some(high), incomparable: false })
        })
    }

    #[test]
    fn what_is_said_of_a_column_is_said_of_keys_that_are_made_of_it() {
        let key = |low: u64, high: u64| {
            move |field| (field == Field::Key(0)).then_some((Value::UInt64(low), Value::UInt64(high)))
        };
        // Any function of an equal value, and monotonic ones of a range.
        assert!(!can_hold("UInt32", &["x % 8"], "x = 13", &key(6, 6)));
        assert!(can_hold("UInt32", &["x % 8"], "x = 13", &key(5, 5)));
        assert!(!can_hold("UInt32", &["x % 8"], "x IN (8, 16)", &key(1, 7)));
        assert!(can_hold("UInt32", &["x % 8"], "x > 13", &key(1, 1)));
        assert!(!can_hold("UInt32", &["intDiv(x, 10)"], "x > 100", &key(0, 9)));
        assert!(can_hold("UInt32", &["intDiv(x, 10)"], "x > 100", &key(10, 10)));
        assert!(!can_hold("UInt32", &["intDiv(x + 5, 10)"], "x < 20", &key(3, 9)));
        assert!(can_hold("UInt32", &["intDiv(x + 5, 10)"], "x < 20", &key(2, 9)));
        assert!(!can_hold(
            "DateTime",
            &["toYYYYMM(x)"],
            "x >= toDateTime('2021-03-01 00:00:00')",
            &key(202_001, 202_102)
        ));
        assert!(can_hold(
            "DateTime",
            &["toYYYYMM(x)"],
            "x >= toDateTime('2021-03-01 00:00:00')",
            &key(202_001, 202_103)
        ));
    }

    #[test]
    fn functions_that_turn_the_order_round_are_followed() {
        let x = |low: u64, high: u64| {
            move |field| (field == Field::Column(0)).then_some((Value::UInt64(low), Value::UInt64(high)))
        };
        assert!(!can_hold("UInt32", &[], "-x > -10", &x(10, 20)));
        assert!(can_hold("UInt32", &[], "-x > -10", &x(9, 20)));
        assert!(!can_hold("UInt32", &[], "100 - x >= 91", &x(10, 20)));
        assert!(!can_hold("UInt32", &[], "x * 2 + 1 < 21", &x(10, 20)));
        // It wraps.
        assert!(can_hold("UInt64", &[], "x + 1 < 5", &x(7, u64::MAX)));
    }

    #[test]
    fn tuples_and_truth_are_taken_apart() {
        let x = |low: u64, high: u64| {
            move |field| (field == Field::Column(0)).then_some((Value::UInt64(low), Value::UInt64(high)))
        };
        assert!(!can_hold("UInt32", &[], "(x, x) IN ((1, 2), (30, 30))", &x(2, 20)));
        assert!(can_hold("UInt32", &[], "(x, x) IN ((1, 2), (12, 12))", &x(2, 20)));
        assert!(!can_hold("UInt32", &[], "(x, 1) > (20, 5)", &x(2, 19)));
        assert!(!can_hold("UInt32", &[], "x", &x(0, 0)));
        assert!(!can_hold("UInt32", &[], "NOT x", &x(1, 5)));
        assert!(!can_hold("Nullable(UInt32)", &[], "x IS NULL", &x(1, 5)));
        assert!(!can_hold("UInt32", &[], "has([1, 2], x)", &x(3, 5)));
        assert!(!can_hold("UInt32", &[], "if(x > 1, 1, 1) AND x = 9", &x(3, 5)));
    }
}
