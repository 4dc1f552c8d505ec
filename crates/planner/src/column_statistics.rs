//! What the planner knows of the values of a table's column, as estimates.

use squall_types::Value;

/// A column's values.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnStatistics {
    /// How many different ones there are, but for NULL.
    pub distinct: f64,
    /// Which part of the rows is NULL, from 0 to 1.
    pub nulls: f64,
    /// Values that many rows have, with the part of the rows that have them.
    pub common: Vec<(Value, f64)>,
}

impl ColumnStatistics {
    /// The share of the rows that have a value. Values that are not common share the rest evenly: there are `values` different ones in all.
    pub fn share_of(&self, value: &Value, values: f64) -> f64 {
        if let Some((_, share)) = self.common.iter().find(|(known, _)| known.compare(value).is_eq()) {
            return *share;
        }
        let common: f64 = self.common.iter().map(|(_, share)| share).sum();
        let others = (values - self.common.len() as f64).max(1.0);
        ((1.0 - self.nulls - common) / others).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_common_shares_the_rest() {
        let common = vec![(Value::from(""), 0.9), (Value::from("x"), 0.02)];
        let statistics = ColumnStatistics { distinct: 6.0, nulls: 0.04, common };
        let share = |value: &str| statistics.share_of(&Value::from(value), statistics.distinct);
        assert_eq!((share(""), share("x")), (0.9, 0.02));
        assert!((share("y") - 0.01).abs() < 1e-12);
    }
}
