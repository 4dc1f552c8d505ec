//! Between which integers a column of a plan lies: by the statistics of the table that it comes from, and by the filters that its rows have
//! passed.

use squall_planner::{Expression, Plan};
use squall_storage::column_bounds;
use squall_types::Value;

/// The least and the greatest value that may occur, where known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Bounds {
    low: Option<i64>,
    high: Option<i64>,
}

impl Bounds {
    /// Of a column that a plan gives.
    pub fn of(plan: &Plan, position: usize) -> Self {
        match plan {
            Plan::Scan(scan) => {
                let column = scan.columns.get(position);
                let range = column.and_then(|column| scan.table.column_range(*column));
                let (low, high) = range.unzip();
                Self::new(low, high).where_holds(scan.predicate.as_ref(), position)
            }
            Plan::Filter { input, predicate } => Self::of(input, position).where_holds(Some(predicate), position),
            Plan::Project { input, expressions, .. } => match expressions.get(position) {
                Some(Expression::Column { position, .. }) => Self::of(input, *position),
                _ => Self::default(),
            },
            _ => Self::default(),
        }
    }

    fn new(low: Option<Value>, high: Option<Value>) -> Self {
        let integer = |value: Option<Value>| value.and_then(|value| value.as_i64());
        Self { low: integer(low), high: integer(high) }
    }

    /// The same of the rows for which a condition holds.
    fn where_holds(self, predicate: Option<&Expression>, position: usize) -> Self {
        let Some(predicate) = predicate else { return self };
        let (low, high) = column_bounds(predicate, position);
        let told = Self::new(low, high);
        let narrower = |ours: Option<i64>, told: Option<i64>, pick: fn(i64, i64) -> i64| match (ours, told) {
            (Some(ours), Some(told)) => Some(pick(ours, told)),
            (ours, told) => ours.or(told),
        };
        Self { low: narrower(self.low, told.low, i64::max), high: narrower(self.high, told.high, i64::min) }
    }

    /// The bits of the first of the numbers of 16 bits that may occur, and how many there are from it on. Numbers that begin close to 0
    /// begin with it: then their bits are their places.
    pub fn of_16_bits(self, is_signed: bool) -> (u16, usize) {
        let (least, greatest) = if is_signed { (i16::MIN.into(), i16::MAX.into()) } else { (0, u16::MAX.into()) };
        let high = self.high.unwrap_or(greatest).clamp(least, greatest);
        let low = self.low.unwrap_or(least).clamp(least, high);
        let first = if low > 0 && 2 * (high - low) >= high { 0 } else { low };
        (first as u16, (high - first) as usize + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_become_places() {
        let places = |low, high, is_signed| Bounds { low, high }.of_16_bits(is_signed);
        assert_eq!(places(None, None, false), (0, 1 << 16));
        assert_eq!(places(None, None, true), (1 << 15, 1 << 16));
        assert_eq!(places(Some(15_000), Some(15_030), false), (15_000, 31), "dates of a month");
        assert_eq!(places(Some(10), Some(100), false), (0, 101), "close to 0");
        assert_eq!(places(Some(-3), Some(4), true), (u16::MAX - 2, 8));
        assert_eq!(places(Some(-3), None, false), (0, 1 << 16));
        assert_eq!(places(Some(70_000), Some(80_000), false), (u16::MAX, 1), "nothing occurs");
        assert_eq!(places(Some(5), Some(4), true), (4, 1), "nothing occurs");
        assert_eq!(places(None, Some(-32_000), true), (1 << 15, 769));
    }
}
