//! Ranges of values: what is known of a field over some rows, and what a condition asks of it.

use std::cmp::Ordering;

use squall_types::Value;

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

/// Values from a bound to another.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Interval {
    /// The bound and whether it belongs to the interval; `None` is unbounded.
    pub low: Option<(Value, bool)>,
    /// The same at the other end.
    pub high: Option<(Value, bool)>,
}

impl Interval {
    /// One value.
    pub(crate) fn point(value: Value) -> Self {
        Self { low: Some((value.clone(), true)), high: Some((value, true)) }
    }

    /// The value, where it is one.
    pub(crate) fn as_point(&self) -> Option<&Value> {
        match (&self.low, &self.high) {
            (Some((low, true)), Some((high, true))) if low.compare(high).is_eq() => Some(low),
            _ => None,
        }
    }

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

/// An end of an interval: the bound, and whether it belongs to the interval.
pub(super) type End = Option<(Value, bool)>;

/// The bound that lets less through; `wanted` is how it compares with the other one.
pub(super) fn tighter(left: &End, right: &End, wanted: Ordering) -> End {
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
pub(super) fn common(left: &[Interval], right: &[Interval]) -> Vec<Interval> {
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

#[cfg(test)]
mod tests {
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
}
