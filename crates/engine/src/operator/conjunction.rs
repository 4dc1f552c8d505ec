//! Several conditions that must all hold. Each is tested on the rows that the ones before have left: where few are left, these are
//! copied first. The order is the one that costs least, by what each condition has cost and let through so far; so
//! `URL LIKE '%google%' AND SearchPhrase != ''` looks into the URLs of few rows.
//!
//! A condition of cost c that lets a share p through ranks by c / (1 - p): the order of ascending ranks is the cheapest where
//! conditions are independent. Source: Hellerstein, Stonebraker, *Predicate Migration*, SIGMOD 1993, section 3.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arrow_array::BooleanArray;
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use squall_functions::Selection;
use squall_planner::{Expression, conjuncts, select};
use squall_types::{Block, Column, Result};

/// Rows on which a condition is tested before the order is changed: until then all conditions are tested on all rows.
const ROWS_TO_KNOW: u64 = 4_096;
/// What copying a row is thought to cost until it is known.
const COPY_NS: f64 = 4.0;

/// Conditions of which a row has to pass all.
pub(crate) struct Conjunction {
    conditions: Vec<Condition>,
    /// Copying the rows that are left.
    copying: Cost,
}

struct Condition {
    predicate: Expression,
    /// By position in the input: whether the condition reads the column.
    is_read: Vec<bool>,
    testing: Cost,
    passed: AtomicU64,
}

/// What something has cost so far.
#[derive(Default)]
struct Cost {
    rows: AtomicU64,
    took_ns: AtomicU64,
}

impl Cost {
    fn add(&self, rows: usize, took: Duration) {
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
        self.took_ns.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
    }

    fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    fn of_row_ns(&self) -> Option<f64> {
        match self.rows() {
            0 => None,
            rows => Some(self.took_ns.load(Ordering::Relaxed) as f64 / rows as f64),
        }
    }
}

/// What is known of a condition.
#[derive(Clone, Copy, Debug)]
struct Measured {
    /// Of testing a row.
    cost_ns: f64,
    /// The share of rows that it lets through.
    passes: f64,
}

impl Measured {
    fn rank(self) -> f64 {
        self.cost_ns / (1.0 - self.passes).max(1e-6)
    }
}

/// The order in which conditions cost least; as they stand where one is not known yet.
fn cheapest_order(conditions: &[Option<Measured>]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..conditions.len()).collect();
    let ranks: Option<Vec<f64>> = conditions.iter().map(|condition| condition.map(Measured::rank)).collect();
    if let Some(ranks) = ranks {
        order.sort_by(|one, other| ranks[*one].total_cmp(&ranks[*other]));
    }
    order
}

/// Whether it costs less to copy the `left` rows of `rows` and test those than to test all: testing a row costs `rest_ns`.
fn is_worth_copying(rows: usize, left: usize, rest_ns: f64, copy_ns: f64) -> bool {
    (rows - left) as f64 * rest_ns > left as f64 * copy_ns
}

impl Conjunction {
    /// The conditions that a predicate is made of. It is a single one where the order of its parts matters: one may be an error for rows
    /// that another one leaves out, or gives another value each time; or where the order may not change.
    pub(crate) fn of(predicate: Expression, may_reorder: bool) -> Self {
        let mut parts = Vec::new();
        if may_reorder && !predicate.may_throw() && predicate.is_deterministic() {
            conjuncts(predicate, &mut parts);
        } else {
            parts.push(predicate);
        }
        let conditions = parts.into_iter().map(|predicate| {
            let mut is_read = Vec::new();
            predicate.visit_columns(&mut |position| {
                is_read.resize(is_read.len().max(position + 1), false);
                is_read[position] = true;
            });
            Condition { predicate, is_read, testing: Cost::default(), passed: AtomicU64::new(0) }
        });
        Self { conditions: conditions.collect(), copying: Cost::default() }
    }

    /// Whether equal blocks give equal rows.
    pub(crate) fn is_deterministic(&self) -> bool {
        self.conditions.iter().all(|condition| condition.predicate.is_deterministic())
    }

    /// The rows that pass all conditions.
    ///
    /// # Errors
    /// As those of [`select`].
    pub(crate) fn select(&self, block: &Block) -> Result<Selection> {
        if let [only] = &self.conditions[..] {
            return select(&only.predicate, block);
        }
        let measured: Vec<Option<Measured>> = self.conditions.iter().map(Condition::measured).collect();
        let order = cheapest_order(&measured);
        let is_known = measured.iter().all(Option::is_some);
        // Rows that were copied, from the first copy to the last; then those of the last that still pass.
        let mut copies: Vec<BooleanBuffer> = Vec::new();
        let mut passing: Option<BooleanBuffer> = None;
        let mut rows = block.clone();
        for (tested, at) in order.iter().enumerate() {
            match self.conditions[*at].select(&rows)? {
                Selection::None => return Ok(Selection::None),
                Selection::All => continue,
                Selection::Some(mask) => {
                    let both = passing.take().map_or_else(|| mask.values().clone(), |passing| &passing & mask.values());
                    passing = Some(both);
                }
            }
            let rest = &order[tested + 1..];
            let Some(mask) = passing.as_ref().filter(|_| !rest.is_empty()) else { continue };
            let left = mask.count_set_bits();
            if left == 0 {
                return Ok(Selection::None);
            }
            let rest_ns: f64 = rest.iter().filter_map(|at| Some(measured[*at]?.cost_ns)).sum();
            let copy_ns = self.copying.of_row_ns().unwrap_or(COPY_NS);
            if is_known && is_worth_copying(rows.rows(), left, rest_ns, copy_ns) {
                rows = self.copy(&rows, mask, left, rest)?;
                copies.extend(passing.take());
            }
        }
        let bits = copies.into_iter().rev().fold(passing, |passing, copied| {
            Some(match passing {
                Some(passing) => spread(&copied, &passing),
                None => copied,
            })
        });
        Ok(match bits.map(|bits| (bits.count_set_bits(), bits)) {
            None => Selection::All,
            Some((0, _)) => Selection::None,
            Some((all, bits)) if all == bits.len() => Selection::All,
            Some((_, bits)) => Selection::Some(BooleanArray::new(bits, None)),
        })
    }

    /// The rows of a mask, with the columns that the conditions of `rest` read.
    fn copy(&self, block: &Block, mask: &BooleanBuffer, left: usize, rest: &[usize]) -> Result<Block> {
        let began = Instant::now();
        let mask = BooleanArray::new(mask.clone(), None);
        let is_read = |at: usize| rest.iter().any(|condition| self.conditions[*condition].reads(at));
        let columns = block.columns().iter().enumerate().map(|(at, column)| match is_read(at) {
            true => column.filter(&mask, left),
            false => Column::default_values(column.data_type().clone(), left),
        });
        let copied = Block::new(block.schema().clone(), columns.collect::<Result<_>>()?, left);
        self.copying.add(left, began.elapsed());
        Ok(copied)
    }
}

impl Condition {
    fn reads(&self, column: usize) -> bool {
        self.is_read.get(column).is_some_and(|is_read| *is_read)
    }

    fn measured(&self) -> Option<Measured> {
        let rows = self.testing.rows();
        let passes = self.passed.load(Ordering::Relaxed) as f64 / rows.max(1) as f64;
        (rows >= ROWS_TO_KNOW).then_some(Measured { cost_ns: self.testing.of_row_ns()?, passes: passes.min(1.0) })
    }

    fn select(&self, rows: &Block) -> Result<Selection> {
        let began = Instant::now();
        let selection = select(&self.predicate, rows)?;
        self.testing.add(rows.rows(), began.elapsed());
        let passed = match &selection {
            Selection::All => rows.rows(),
            Selection::None => 0,
            Selection::Some(mask) => mask.values().count_set_bits(),
        };
        self.passed.fetch_add(passed as u64, Ordering::Relaxed);
        Ok(selection)
    }
}

/// Of the rows of a mask those whose bit among them is set.
fn spread(mask: &BooleanBuffer, among: &BooleanBuffer) -> BooleanBuffer {
    let mut bits = BooleanBufferBuilder::new(mask.len());
    bits.append_n(mask.len(), false);
    for (row, is_set) in mask.set_indices().zip(among) {
        bits.set_bit(row, is_set);
    }
    bits.finish()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use squall_functions::FunctionContext;
    use squall_types::{DataType, Schema, Value};

    use super::*;
    use crate::test_columns::column;

    fn call(name: &str, arguments: Vec<Expression>) -> Expression {
        squall_planner::call(name, arguments, &FunctionContext::outside_queries("UTC")).unwrap()
    }

    /// Whether column `at`, of numbers, leaves `rest` when divided by `by`.
    fn leaves(at: usize, by: u64, rest: u64) -> Expression {
        let number = |value: u64| Expression::Constant { value: Value::UInt64(value), data_type: DataType::UInt32 };
        let number_column = Expression::column(at, &DataType::UInt32);
        call("equals", vec![call("bitAnd", vec![number_column, number(by - 1)]), number(rest)])
    }

    fn numbers(rows: u64) -> Block {
        let values = |factor: u64| (0..rows).map(|row| Value::UInt64(row * factor % 65_536)).collect::<Vec<_>>();
        let columns = [1, 7, 13].map(|factor| column("UInt32", &values(factor)));
        let schema = Schema::new(["a", "b", "c"].map(|name| (name, DataType::UInt32)));
        Block::new(Arc::new(schema), columns.into(), rows as usize)
    }

    fn selected(selection: &Selection, rows: usize) -> Vec<usize> {
        match selection {
            Selection::All => (0..rows).collect(),
            Selection::None => Vec::new(),
            Selection::Some(mask) => mask.values().set_indices().collect(),
        }
    }

    #[test]
    fn the_rows_are_those_that_pass_all_conditions() {
        for parts in [
            vec![leaves(0, 2, 1), leaves(1, 64, 7), leaves(2, 4, 3)],
            vec![leaves(1, 1024, 5), leaves(0, 1, 0), leaves(2, 2, 1)],
            vec![leaves(0, 2, 1), leaves(0, 2, 0)],
            vec![leaves(0, 1, 0), leaves(1, 1, 0)],
        ] {
            let whole = call("and", parts);
            let conjunction = Conjunction::of(whole.clone(), true);
            assert!(conjunction.conditions.len() > 1);
            // Before costs are known, and after.
            for rows in [100, 5_000, 20_000, 777, 64_001] {
                let block = numbers(rows);
                let expected = selected(&select(&whole, &block).unwrap(), rows as usize);
                assert_eq!(selected(&conjunction.select(&block).unwrap(), rows as usize), expected, "{rows} rows");
            }
        }
    }

    #[test]
    fn cheap_conditions_that_leave_little_come_first() {
        let of = |cost_ns, passes| Some(Measured { cost_ns, passes });
        assert_eq!(cheapest_order(&[of(10.0, 0.5), of(1.0, 0.5), of(1.0, 0.1)]), [2, 1, 0]);
        assert_eq!(cheapest_order(&[of(1.0, 1.0), of(50.0, 0.1)]), [1, 0]);
        assert_eq!(cheapest_order(&[of(10.0, 0.5), None, of(1.0, 0.1)]), [0, 1, 2]);
        assert!(is_worth_copying(1_000, 100, 1.0, 5.0));
        assert!(!is_worth_copying(1_000, 500, 1.0, 5.0));
        assert!(!is_worth_copying(1_000, 1_000, 1.0, 5.0));
    }

    #[test]
    fn what_may_fail_or_vary_stays_whole() {
        let varies = call("equals", vec![call("rand", Vec::new()), leaves(0, 2, 1)]);
        let fails = call("intDiv", vec![leaves(0, 2, 1), leaves(1, 2, 1)]);
        for part in [varies, fails] {
            assert_eq!(Conjunction::of(call("and", vec![leaves(0, 2, 1), part]), true).conditions.len(), 1);
        }
        let parts = || call("and", vec![leaves(0, 2, 1), leaves(1, 2, 1)]);
        assert_eq!(Conjunction::of(parts(), true).conditions.len(), 2);
        assert_eq!(Conjunction::of(parts(), false).conditions.len(), 1);
    }
}
