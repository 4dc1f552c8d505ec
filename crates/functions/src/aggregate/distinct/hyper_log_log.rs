//! `uniqHLL12`, `uniqCombined` and `uniqCombined64`: estimates of the number of distinct values in a fixed number of registers. Few values
//! are kept as a set of hashes, and counted exactly. (Flajolet et al., *HyperLogLog*, 2007; with linear counting while registers are
//! left empty, and the correction for hashes of 32 bits that meet.)

use std::sync::Arc;

use arrow_array::types::UInt64Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, grow};

use crate::accumulator::AggregateFunction;
use crate::scalar::hash::integer::unsalted32;

use super::hash_set::HashSet;
use super::parted::Part;
use super::uniq_exact::at_least_one_argument;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::row_hash::{Keys, keys, mix};
use crate::aggregate::values::state_bytes::{Raw, put_varint, take_bytes, take_count};

/// Sets of hashes up to this size have a form of their own.
const SMALL_MAX: usize = 16;

/// What linear counting is trusted up to where the number of registers is the usual one of `uniqCombined`.
const LINEAR_MAX: f64 = 159_499.0;
const COMBINED_PRECISION: u32 = 17;

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    at_least_one_argument(call)?;
    if call.name == "uniqHLL12" {
        call.without_parameters()?;
        // A single number is kept as it is, as wide as its type.
        let number = match call.arguments {
            [one] => crate::aggregate::values::ordered::Numbers::of(one),
            _ => None,
        };
        let width = number.map_or(8, crate::aggregate::values::ordered::Numbers::width);
        let is_float = number.is_some_and(|_| call.arguments.iter().any(DataType::is_float));
        let keeps = Keeps::Keys { width, is_float };
        return Ok(grouped::function(HyperLogLog { precision: 12, bits: 32, few_max: SMALL_MAX, keeps }));
    }
    let precision = match call.parameters {
        [] => COMBINED_PRECISION,
        [precision] => {
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
    let bits = match (call.name, call.arguments) {
        ("uniqCombined64", _) => 64,
        // A string's hash has 64 bits already.
        (_, [DataType::String | DataType::FixedString(_) | DataType::IPv6]) => 64,
        _ => 32,
    };
    let few_max = 1 << (precision - 5 + u32::from(bits == 32));
    Ok(grouped::function(HyperLogLog { precision, bits, few_max, keeps: Keeps::Hashes }))
}

/// What is kept of few values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Keeps {
    /// Hashes, as the registers take them.
    Hashes,
    /// Values, or hashes that the registers' are made of, of so many bytes.
    Keys { width: usize, is_float: bool },
}

#[derive(Debug)]
struct HyperLogLog {
    /// The binary logarithm of the number of registers.
    precision: u32,
    /// Bits of a hash.
    bits: u32,
    /// The most values that are kept.
    few_max: usize,
    keeps: Keeps,
}

/// What is known of a group's values.
#[derive(Clone)]
pub(in crate::aggregate) enum Sketch {
    /// Their hashes, while they are few.
    Few(HashSet<u64>),
    /// The longest run of zeros plus one at the end of the hashes that fall to each register.
    Registers(Box<[u8]>),
}

impl HyperLogLog {
    fn ranks_max(&self) -> u8 {
        (self.bits - self.precision + 1) as u8
    }

    fn add_to_registers(&self, registers: &mut [u8], key: u64) {
        let hash = match self.keeps {
            Keeps::Hashes => key,
            Keeps::Keys { .. } => u64::from(unsalted32(key)),
        };
        let register = (hash & ((1 << self.precision) - 1)) as usize;
        let rest = hash >> self.precision;
        let rank = if rest == 0 { self.ranks_max() } else { (rest.trailing_zeros() as u8 + 1).min(self.ranks_max()) };
        registers[register] = registers[register].max(rank);
    }

    fn registers(&self, few: &HashSet<u64>) -> Box<[u8]> {
        let mut registers = vec![0; 1 << self.precision].into_boxed_slice();
        few.iter().for_each(|hash| self.add_to_registers(&mut registers, hash));
        registers
    }

    fn estimate(&self, registers: &[u8]) -> u64 {
        let count = registers.len() as f64;
        let mut of_rank = vec![0_u32; usize::from(self.ranks_max()) + 1];
        registers.iter().for_each(|&rank| of_rank[usize::from(rank)] += 1);
        let empty = of_rank.first().copied().unwrap_or(0);
        let harmonic: f64 = of_rank.iter().zip(0..).map(|(&number, rank)| f64::from(number) * 0.5_f64.powi(rank)).sum();
        let raw = 0.7213 / (1.0 + 1.079 / count) * count * count / harmonic;
        let linear = |other: f64| if empty == 0 { other } else { count * (count.ln() - f64::from(empty).ln()) };
        let estimate = if self.keeps == Keeps::Hashes && self.precision == COMBINED_PRECISION {
            Some(linear(raw)).filter(|linear| *linear < LINEAR_MAX).unwrap_or(raw)
        } else if raw <= 2.5 * count {
            linear(raw)
        } else {
            raw
        };
        // Of so many values some have the same hash of 32 bits.
        let all = 4_294_967_296.0_f64;
        let estimate =
            if estimate > all / 30.0 && estimate < all { -all * (1.0 - estimate / all).ln() } else { estimate };
        (estimate + 0.5) as u64
    }

    fn add_few(&self, state: &mut Sketch) {
        if let Sketch::Few(few) = state
            && few.len() > self.few_max
        {
            *state = Sketch::Registers(self.registers(few));
        }
    }

    /// Bits of a register.
    fn rank_bits(&self) -> u32 {
        u8::BITS - self.ranks_max().leading_zeros()
    }

    /// Bytes in which a state has the number of registers of each rank, and of empty ones.
    fn counts_bytes(&self) -> usize {
        (usize::from(self.ranks_max()) + 1) * 4 + if self.precision < 16 { 2 } else { 4 }
    }

    fn few_width(&self) -> usize {
        match self.keeps {
            Keeps::Keys { width, .. } => width,
            Keeps::Hashes => self.bits as usize / 8,
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
        let mut keys = match (keys(arguments, arguments.first().map_or(0, Column::rows))?, self.keeps) {
            (Keys::Numbers(keys), Keeps::Hashes) => keys.into_iter().map(mix).collect(),
            (Keys::Numbers(keys), Keeps::Keys { width, is_float }) => {
                let mask = u64::MAX >> (64 - 8 * width.clamp(1, 8));
                // The bits of a float are a number that is kept as a float again.
                let kept = |key: u64| match (is_float, width) {
                    (false, _) => key & mask,
                    (true, 4) => u64::from((key as f32).to_bits()),
                    (true, _) => (key as f64).to_bits(),
                };
                keys.into_iter().map(kept).collect()
            }
            (Keys::Values(hashes) | Keys::Rows(hashes), _) => hashes,
        };
        if self.keeps == Keeps::Hashes && self.bits == 32 {
            keys.iter_mut().for_each(|key: &mut u64| *key &= u64::from(u32::MAX));
        }
        Ok(keys)
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        match state {
            Sketch::Registers(registers) => self.add_to_registers(registers, rows[row]),
            Sketch::Few(few) => {
                if few.insert(rows[row]) {
                    self.add_few(state);
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
                self.add_few(into);
            }
            (Sketch::Few(_), Sketch::Registers(_)) => {}
        }
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        let is_combined = self.keeps == Keeps::Hashes;
        match state {
            Sketch::Few(few) => {
                out.push(match is_combined {
                    true => 1 + u8::from(few.len() > SMALL_MAX),
                    false => 0,
                });
                put_varint(few.len() as u64, out);
                let width = self.few_width();
                few.iter().for_each(|hash| out.extend_from_slice(&hash.to_le_bytes()[..width]));
            }
            Sketch::Registers(registers) => {
                out.push(if is_combined { 3 } else { 1 });
                // Registers lie side by side, without bits between them.
                let width = self.rank_bits();
                let (mut pending, mut bits) = (0_u32, 0);
                for rank in registers {
                    pending |= u32::from(*rank) << bits;
                    bits += width;
                    while bits >= 8 {
                        out.push(pending as u8);
                        pending >>= 8;
                        bits -= 8;
                    }
                }
                let mut of_rank = vec![0_u32; usize::from(self.ranks_max()) + 1];
                registers.iter().for_each(|&rank| of_rank[usize::from(rank)] += 1);
                let empty = of_rank.first().copied().unwrap_or(0);
                of_rank.iter().for_each(|number| number.put(out));
                if self.precision < 16 { (empty as u16).put(out) } else { empty.put(out) }
            }
        }
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let kind = u8::take(bytes)?;
        if kind == if self.keeps == Keeps::Hashes { 3 } else { 1 } {
            let width = self.rank_bits();
            let packed = take_bytes(bytes, (1 << self.precision) * width as usize / 8)?;
            take_bytes(bytes, self.counts_bytes())?;
            let mut registers: Vec<u8> = Vec::new();
            grow(&mut registers, 1 << self.precision)?;
            let (mut pending, mut bits) = (0_u32, 0);
            for byte in packed {
                pending |= u32::from(*byte) << bits;
                bits += 8;
                while bits >= width {
                    registers.push((pending as u8 & ((1 << width) - 1)).min(self.ranks_max()));
                    pending >>= width;
                    bits -= width;
                }
            }
            return Ok(Sketch::Registers(registers.into()));
        }
        let mut few = HashSet::default();
        let width = self.few_width();
        for _ in 0..take_count(bytes)? {
            let mut key = [0; 8];
            key[..width].copy_from_slice(take_bytes(bytes, width)?);
            few.insert(u64::from_le_bytes(key));
        }
        let mut state = Sketch::Few(few);
        self.add_few(&mut state);
        Ok(state)
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
