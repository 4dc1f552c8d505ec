//! `groupBitAnd`, `groupBitOr`, `groupBitXor` of integers.

use std::borrow::Cow;
use std::ops::{BitAnd, BitOr, BitXor, Not};
use std::sync::Arc;

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use squall_types::{Column, DataType, Error, Integer, Result, match_integer};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::state_bytes::{Raw, take_bytes};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let argument = call.argument()?;
    Ok(match argument {
        DataType::UInt8 => bits::<UInt8Type>(call, argument),
        DataType::UInt16 => bits::<UInt16Type>(call, argument),
        DataType::UInt32 => bits::<UInt32Type>(call, argument),
        DataType::UInt64 => bits::<UInt64Type>(call, argument),
        DataType::Int8 => bits::<Int8Type>(call, argument),
        DataType::Int16 => bits::<Int16Type>(call, argument),
        DataType::Int32 => bits::<Int32Type>(call, argument),
        DataType::Int64 => bits::<Int64Type>(call, argument),
        wide if wide.is_wide_integer() => {
            match_integer!(wide, T => wide_bits::<T>(call, wide), _ => return Err(call.illegal_type(wide)))
        }
        other => return Err(call.illegal_type(other)),
    })
}

/// An integer's bits.
trait BitSet: Raw + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self> {}

impl<T: Raw + BitAnd<Output = T> + BitOr<Output = T> + BitXor<Output = T> + Not<Output = T>> BitSet for T {}

fn bits<T: ArrowPrimitiveType + std::fmt::Debug>(call: &Call<'_>, data_type: &DataType) -> Arc<dyn AggregateFunction>
where
    T::Native: BitSet,
{
    type Combine<N> = fn(N, N) -> N;
    let none = T::Native::default();
    let (start, combine): (_, Combine<T::Native>) = match call.name {
        "groupBitAnd" => (!none, BitAnd::bitand),
        "groupBitOr" => (none, BitOr::bitor),
        _ => (none, BitXor::bitxor),
    };
    grouped::function(Bits::<T> { data_type: data_type.clone(), start, combine })
}

struct Bits<T: ArrowPrimitiveType> {
    data_type: DataType,
    /// What a group without rows has.
    start: T::Native,
    combine: fn(T::Native, T::Native) -> T::Native,
}

impl<T: ArrowPrimitiveType> std::fmt::Debug for Bits<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bits({})", self.data_type)
    }
}

impl<T: ArrowPrimitiveType<Native: Raw>> StateFunction for Bits<T> {
    type State = T::Native;
    type Rows<'a> = &'a [T::Native];

    fn return_type(&self) -> &DataType {
        &self.data_type
    }

    fn state(&self) -> Self::State {
        self.start
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("groupBit functions take one argument")) };
        Ok(column.as_primitive::<T>()?.values())
    }

    #[inline]
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        *state = (self.combine)(*state, rows[row]);
    }

    fn add_times(&self, state: &mut Self::State, rows: &Self::Rows<'_>, times: usize) -> bool {
        // Twice the same is once the same, or nothing.
        let is_once = (self.combine)(rows[0], rows[0]) == rows[0];
        if is_once || times % 2 == 1 {
            self.add(state, rows, 0);
        }
        true
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        *into = (self.combine)(*into, from);
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        state.put(out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        Raw::take(bytes)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        Ok(Column::from_primitive::<T>(self.data_type.clone(), states))
    }
}

fn wide_bits<T: Integer>(call: &Call<'_>, data_type: &DataType) -> Arc<dyn AggregateFunction> {
    type Combine<T> = fn(T, T) -> T;
    let (start, combine): (_, Combine<T>) = match call.name {
        "groupBitAnd" => (T::wrap(-1), BitAnd::bitand),
        "groupBitOr" => (T::default(), BitOr::bitor),
        _ => (T::default(), BitXor::bitxor),
    };
    grouped::function(WideBits { data_type: data_type.clone(), start, combine })
}

/// The bits of integers past 64 bits.
#[derive(Debug)]
struct WideBits<T: Integer> {
    data_type: DataType,
    /// What a group without rows has.
    start: T,
    combine: fn(T, T) -> T,
}

impl<T: Integer> StateFunction for WideBits<T> {
    type State = T;
    type Rows<'a> = Cow<'a, [T]>;

    fn return_type(&self) -> &DataType {
        &self.data_type
    }

    fn state(&self) -> T {
        self.start
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("groupBit functions take one argument")) };
        Ok(T::values(&**column.array()))
    }

    fn add(&self, state: &mut T, rows: &Self::Rows<'_>, row: usize) {
        *state = (self.combine)(*state, rows[row]);
    }

    fn merge(&self, into: &mut T, from: T) -> Result<()> {
        *into = (self.combine)(*into, from);
        Ok(())
    }

    fn write(&self, state: &T, out: &mut Vec<u8>) -> Result<()> {
        state.append_bytes(out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<T> {
        Ok(T::from_bytes(take_bytes(bytes, T::BYTES)?))
    }

    fn finish(&self, states: Vec<T>) -> Result<Column> {
        Ok(Column::new(self.data_type.clone(), T::array(states, None)?))
    }
}
