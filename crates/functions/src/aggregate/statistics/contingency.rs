//! `cramersV`, `cramersVBiasCorrected`, `theilsU`, `contingency`: how strongly two columns depend on one another, from how often each of
//! their values, and each pair of them, occurs. Values are told apart by their hashes.

use std::sync::Arc;

use arrow_array::types::Float64Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::row_hash::byte_hashes;
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_count};
use crate::aggregate::values::tally::Tally;

/// What is asked of the table of pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    CramersV,
    BiasCorrected,
    TheilsU,
    Contingency,
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    call.two_arguments()?;
    Ok(grouped::function(CrossTable {
        kind: match call.name {
            "cramersV" => Kind::CramersV,
            "cramersVBiasCorrected" => Kind::BiasCorrected,
            "theilsU" => Kind::TheilsU,
            _ => Kind::Contingency,
        },
    }))
}

#[derive(Debug)]
struct CrossTable {
    kind: Kind,
}

/// How often each value of either column occurs, and each pair.
#[derive(Clone, Default)]
pub(in crate::aggregate) struct Counts {
    count: u64,
    lefts: Tally<u64, u64>,
    rights: Tally<u64, u64>,
    pairs: Tally<(u64, u64), u64>,
}

impl Counts {
    /// Pearson's χ² over the number of rows.
    fn phi_squared(&self) -> f64 {
        let share = |((left, right), count): ((u64, u64), u64)| {
            let of = |counts: &Tally<u64, u64>, key| counts.get(&key).unwrap_or(1) as f64;
            let count = count as f64;
            count * count / (of(&self.lefts, left) * of(&self.rights, right))
        };
        // Rounding must not take it below 0.
        (self.pairs.sorted().into_iter().map(share).sum::<f64>() - 1.0).max(0.0)
    }

    fn result(&self, kind: Kind) -> f64 {
        if self.count < 2 {
            return f64::NAN;
        }
        let (rows, columns) = (self.lefts.len() as f64, self.rights.len() as f64);
        match kind {
            Kind::CramersV => (self.phi_squared() / (rows.min(columns) - 1.0)).sqrt(),
            Kind::Contingency => {
                let phi = self.phi_squared();
                (phi / (1.0 + phi)).sqrt()
            }
            Kind::BiasCorrected => {
                let others = self.count as f64 - 1.0;
                let phi = (self.phi_squared() - (rows - 1.0) * (columns - 1.0) / others).max(0.0);
                let rows = rows - (rows - 1.0) * (rows - 1.0) / others;
                let columns = columns - (columns - 1.0) * (columns - 1.0) / others;
                (phi / (rows.min(columns) - 1.0)).sqrt()
            }
            Kind::TheilsU => {
                let count = self.count as f64;
                let entropy = |(_, count_of): (u64, u64)| {
                    let share = count_of as f64 / count;
                    share * share.ln()
                };
                let of_left: f64 = self.lefts.sorted().into_iter().map(entropy).sum();
                if of_left == 0.0 {
                    return 0.0;
                }
                let conditional = |((_, right), pair): ((u64, u64), u64)| {
                    let pair = pair as f64 / count;
                    let right = self.rights.get(&right).unwrap_or(1) as f64 / count;
                    pair * (pair / right).ln()
                };
                let under_right: f64 = self.pairs.sorted().into_iter().map(conditional).sum();
                ((of_left - under_right) / of_left).clamp(0.0, 1.0)
            }
        }
    }
}

impl StateFunction for CrossTable {
    type State = Counts;
    type Rows<'a> = (Vec<u64>, Vec<u64>);

    const HAS_HEAP: bool = true;
    const HAS_ITEMS: bool = true;

    fn return_type(&self) -> &DataType {
        &DataType::Float64
    }

    fn state(&self) -> Counts {
        Counts::default()
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [left, right] = arguments else { return Err(Error::logical("a contingency takes two arguments")) };
        Ok((byte_hashes(left)?, byte_hashes(right)?))
    }

    fn add(&self, state: &mut Counts, (lefts, rights): &Self::Rows<'_>, row: usize) {
        let (left, right) = (lefts[row], rights[row]);
        state.count += 1;
        *state.lefts.of(left) += 1;
        *state.rights.of(right) += 1;
        *state.pairs.of((left, right)) += 1;
    }

    fn merge(&self, into: &mut Counts, from: Counts) -> Result<()> {
        checkpoint(from.pairs.len() * 200)?;
        into.count += from.count;
        from.lefts.iter().for_each(|(key, count)| *into.lefts.of(key) += count);
        from.rights.iter().for_each(|(key, count)| *into.rights.of(key) += count);
        from.pairs.iter().for_each(|(key, count)| *into.pairs.of(key) += count);
        Ok(())
    }

    fn items(&self, state: &Counts) -> usize {
        state.lefts.len() + state.rights.len() + state.pairs.len()
    }

    fn write(&self, state: &Counts, out: &mut Vec<u8>) -> Result<()> {
        state.count.put(out);
        for counts in [&state.lefts, &state.rights] {
            put_varint(counts.len() as u64, out);
            counts.sorted().into_iter().for_each(|(key, count)| {
                key.put(out);
                count.put(out);
            });
        }
        put_varint(state.pairs.len() as u64, out);
        for ((left, right), count) in state.pairs.sorted() {
            [left, right, count].into_iter().for_each(|number| number.put(out));
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Counts> {
        let mut state = Counts { count: Raw::take(bytes)?, ..Counts::default() };
        for counts in [&mut state.lefts, &mut state.rights] {
            for _ in 0..take_count(bytes)? {
                *counts.of(Raw::take(bytes)?) = Raw::take(bytes)?;
            }
        }
        for _ in 0..take_count(bytes)? {
            let pair = (Raw::take(bytes)?, Raw::take(bytes)?);
            if state.lefts.get(&pair.0).is_none() || state.rights.get(&pair.1).is_none() {
                return Err(Error::new(ErrorCode::INCORRECT_DATA, "A pair of values that are not counted"));
            }
            *state.pairs.of(pair) = Raw::take(bytes)?;
        }
        Ok(state)
    }

    fn finish(&self, states: Vec<Counts>) -> Result<Column> {
        let results = states.iter().map(|state| state.result(self.kind)).collect();
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, results))
    }

    fn heap_bytes(&self, state: &Counts) -> usize {
        state.lefts.heap_bytes() + state.rights.heap_bytes() + state.pairs.heap_bytes()
    }
}
