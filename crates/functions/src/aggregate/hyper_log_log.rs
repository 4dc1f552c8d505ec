//! `uniqHLL12` and `uniqCombined`: estimates of the number of distinct values in a fixed number of registers. Few values are kept
//! as a set of hashes, and counted exactly. (Flajolet et al., *HyperLogLog*, 2007; the estimator is Ertl's, *New Cardinality
//! Estimation Algorithms for HyperLogLog Sketches*, 2017, which needs no tables of corrections.)

use std::sync::Arc;

use arrow_array::types::UInt64Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::accumulator::AggregateFunction;

use super::family::Call;
use super::grouped::{self, StateFunction};
use super::hash_set::HashSet;
use super::parted::Part;
use super::row_hash::value_hashes;
use super::state_bytes::{Raw, put_varint, take_bytes, take_count};
use super::uniq_exact::at_least_one_argument;

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    at_least_one_argument(call)?;
    let precision = match (call.name, call.parameters) {
        ("uniqHLL12", _) => {
            call.without_parameters()?;
            12
        }
        (_, []) => 17,
        (_, [precision]) => {
            let precision = precision.as_u64().and_then(|precision| u32::try_from(precision).ok());
            precision.filter(|precision| (12..=20).contains(precision)).ok_or_else(|| {
                Error::new(
                    ErrorCode::ARGUMENT_OUT_OF_BOUND,
                    format!("Parameter for aggregate function {} is out of range: [12, 20]", call.name),
                )
            })?
        }
        _ => {
            return Err(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                format!("Aggregate function {} requires one parameter or less", call.name),
            ));
        }
    };
    Ok(grouped::function(HyperLogLog { precision }))
}

#[derive(Debug)]
struct HyperLogLog {
    /// The binary logarithm of the number of registers.
    precision: u32,
}

/// What is known of a group's values.
#[derive(Clone)]
pub(super) enum Sketch {
    /// Their hashes, as long as these take no more memory than the registers.
    Few(HashSet<u64>),
    /// The longest run of leading zeros plus one, of the hashes that fall to each register.
    Registers(Box<[u8]>),
}

impl HyperLogLog {
    fn add_to_registers(&self, registers: &mut [u8], hash: u64) {
        let register = (hash >> (64 - self.precision)) as usize;
        // A one behind the last bit bounds the run.
        let rest = (hash << self.precision) | (1 << (self.precision - 1));
        let rank = rest.leading_zeros() as u8 + 1;
        registers[register] = registers[register].max(rank);
    }

    fn registers(&self, few: &HashSet<u64>) -> Box<[u8]> {
        let mut registers = vec![0; 1 << self.precision].into_boxed_slice();
        few.iter().for_each(|hash| self.add_to_registers(&mut registers, hash));
        registers
    }

    fn estimate(&self, registers: &[u8]) -> u64 {
        let ranks_max = 64 - self.precision as usize;
        let mut of_rank = vec![0_u32; ranks_max + 2];
        registers.iter().for_each(|&rank| of_rank[usize::from(rank)] += 1);
        let count = registers.len() as f64;
        let mut sum = count * tau(1.0 - f64::from(of_rank[ranks_max + 1]) / count);
        for &registers in of_rank[1..=ranks_max].iter().rev() {
            sum = 0.5 * (sum + f64::from(registers));
        }
        sum += count * sigma(f64::from(of_rank[0]) / count);
        (count * count / (2.0 * std::f64::consts::LN_2 * sum)).round() as u64
    }
}

/// Ertl's correction for registers that nothing fell to.
fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut sum) = (1.0, x);
    loop {
        x *= x;
        let before = sum;
        sum += x * y;
        y += y;
        if sum == before {
            return sum;
        }
    }
}

/// Ertl's correction for registers that are full.
fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut sum) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = sum;
        y *= 0.5;
        sum -= (1.0 - x).powi(2) * y;
        if sum == before {
            return sum / 3.0;
        }
    }
}

impl StateFunction for HyperLogLog {
    type State = Sketch;
    type Rows<'a> = Vec<u64>;

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &DataType::UInt64
    }

    fn state(&self) -> Self::State {
        Sketch::Few(HashSet::default())
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        Ok(value_hashes(arguments))
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        match state {
            Sketch::Registers(registers) => self.add_to_registers(registers, rows[row]),
            Sketch::Few(few) => {
                few.insert(rows[row]);
                if few.memory_bytes() > 1 << self.precision {
                    *state = Sketch::Registers(self.registers(few));
                }
            }
        }
    }

    fn add_times(&self, state: &mut Self::State, rows: &Self::Rows<'_>, _: usize) -> bool {
        self.add(state, rows, 0);
        true
    }

    fn merge(&self, into: &mut Self::State, mut from: Self::State) -> Result<()> {
        if matches!(from, Sketch::Registers(_)) {
            std::mem::swap(into, &mut from);
        }
        match (&mut *into, from) {
            (Sketch::Registers(registers), Sketch::Registers(other)) => {
                registers.iter_mut().zip(&other).for_each(|(rank, other)| *rank = (*rank).max(*other));
            }
            (Sketch::Registers(registers), Sketch::Few(few)) => {
                few.iter().for_each(|hash| self.add_to_registers(registers, hash));
            }
            (Sketch::Few(few), Sketch::Few(other)) => {
                few.merge(other)?;
                if few.memory_bytes() > 1 << self.precision {
                    *into = Sketch::Registers(self.registers(few));
                }
            }
            (Sketch::Few(_), Sketch::Registers(_)) => {}
        }
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        match state {
            Sketch::Few(few) => {
                out.push(0);
                put_varint(few.len() as u64, out);
                few.iter().for_each(|hash| hash.put(out));
            }
            Sketch::Registers(registers) => {
                out.push(1);
                out.extend_from_slice(registers);
            }
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        if u8::take(bytes)? != 0 {
            return Ok(Sketch::Registers(take_bytes(bytes, 1 << self.precision)?.into()));
        }
        let mut few = HashSet::default();
        for _ in 0..take_count(bytes)? {
            few.insert(Raw::take(bytes)?);
        }
        Ok(Sketch::Few(few))
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let estimate = |state: &Sketch| match state {
            Sketch::Few(few) => few.len() as u64,
            Sketch::Registers(registers) => self.estimate(registers),
        };
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, states.iter().map(estimate).collect()))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        match state {
            Sketch::Few(few) => few.memory_bytes(),
            Sketch::Registers(registers) => registers.len(),
        }
    }
}
