//! What a part knows of a column's values.

use squall_types::Value;
use squall_types::binary::put_varint;

use super::distinct_sketch::DistinctSketch;
use crate::merge_tree::parts::part_description::{Decoder, put_value};

/// Values that are kept as common at most.
const COMMON_MAX: usize = 16;
/// A value is common that at least this part of the rows has.
pub(super) const COMMON_SHARE: f64 = 1.0 / 64.0;

/// A column of some rows.
#[derive(Clone, PartialEq, Debug, Default)]
pub(in crate::merge_tree) struct ColumnSketch {
    pub(super) rows: u64,
    /// Rows that are NULL.
    pub(super) nulls: u64,
    pub(super) distinct: DistinctSketch,
    /// Values with about how many rows have them.
    pub(super) common: Vec<(Value, u64)>,
}

impl ColumnSketch {
    /// Adds other rows. A value that is common only among some counts for these.
    pub(super) fn merge(&mut self, other: Self) {
        self.rows += other.rows;
        self.nulls += other.nulls;
        self.distinct.unite(&other.distinct);
        for (value, rows) in other.common {
            match self.common.iter_mut().find(|(known, _)| known.compare(&value).is_eq()) {
                Some((_, known)) => *known += rows,
                None => self.common.push((value, rows)),
            }
        }
    }

    /// Forgets values that are common no more, the most common first.
    pub(super) fn keep_common(&mut self) {
        let least = (self.rows as f64 * COMMON_SHARE) as u64;
        self.common.retain(|(_, rows)| *rows >= least);
        self.common.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
        self.common.truncate(COMMON_MAX);
    }

    /// The sketch in bytes.
    pub(super) fn encode(&self) -> Box<[u8]> {
        let mut out = Vec::new();
        put_varint(self.rows, &mut out);
        put_varint(self.nulls, &mut out);
        self.distinct.encode(&mut out);
        put_varint(self.common.len() as u64, &mut out);
        for (value, rows) in &self.common {
            put_value(&mut out, Some(value));
            put_varint(*rows, &mut out);
        }
        out.into()
    }

    /// Reads such bytes; `None` where there are none, or others.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut input = Decoder::new(bytes);
        let (rows, nulls) = (input.number()?, input.number()?);
        let distinct = DistinctSketch::decode(&mut input)?;
        let common = (0..input.count()?).map(|_| Some((input.value()??, input.number()?)));
        let common = common.collect::<Option<Vec<_>>>()?;
        (nulls <= rows).then_some(Self { rows, nulls, distinct, common })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sketches_merge_and_come_back() {
        let sketch = |values: &[(&str, u64)], rows| ColumnSketch {
            rows,
            nulls: 1,
            common: values.iter().map(|(value, rows)| (Value::from(*value), *rows)).collect(),
            ..ColumnSketch::default()
        };
        let mut merged = sketch(&[("a", 50), ("b", 2)], 100);
        merged.merge(sketch(&[("c", 90), ("a", 5)], 100));
        merged.keep_common();
        let expected = sketch(&[("c", 90), ("a", 55)], 200);
        assert_eq!(merged, ColumnSketch { nulls: 2, ..expected });
        let bytes = merged.encode();
        assert_eq!(ColumnSketch::decode(&bytes), Some(merged));
        assert_eq!(ColumnSketch::decode(&[]), None);
        (0..bytes.len()).for_each(|end| drop(ColumnSketch::decode(&bytes[..end])));
    }
}
