//! Numbers of any type as 64 bits that have their order, so that one piece of code keeps values of all of them, and gives them back.

use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_schema::DataType as ArrowType;
use squall_types::{Column, DataType, Error, Result};

use super::row_hash::number_bits;
use super::state_bytes::take_bytes;

/// How a type's numbers are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::aggregate) enum Numbers {
    /// Bytes of a number.
    Unsigned(usize),
    Signed(usize),
    Float32,
    Float64,
}

const SIGN: u64 = 1 << 63;

impl Numbers {
    /// Of this type; `None` where its values are not stored as numbers of up to 64 bits.
    pub fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type.arrow_type() {
            ArrowType::UInt8 => Self::Unsigned(1),
            ArrowType::UInt16 => Self::Unsigned(2),
            ArrowType::UInt32 => Self::Unsigned(4),
            ArrowType::UInt64 => Self::Unsigned(8),
            ArrowType::Int8 => Self::Signed(1),
            ArrowType::Int16 => Self::Signed(2),
            ArrowType::Int32 => Self::Signed(4),
            ArrowType::Int64 => Self::Signed(8),
            ArrowType::Float32 => Self::Float32,
            ArrowType::Float64 => Self::Float64,
            _ => return None,
        })
    }

    /// Bytes of a number.
    pub fn width(self) -> usize {
        match self {
            Self::Unsigned(width) | Self::Signed(width) => width,
            Self::Float32 => 4,
            Self::Float64 => 8,
        }
    }

    /// A column's numbers in order-preserving form.
    pub fn ranks(self, column: &Column) -> Result<Vec<u64>> {
        let bits = number_bits(column).ok_or_else(|| Error::logical("a number was expected"))?;
        Ok(bits.into_iter().map(|bits| self.rank(bits)).collect())
    }

    fn rank(self, bits: u64) -> u64 {
        match self {
            Self::Unsigned(_) => bits,
            Self::Signed(_) => bits ^ SIGN,
            Self::Float32 => {
                let bits = bits as u32;
                let flipped = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
                u64::from(flipped)
            }
            Self::Float64 => {
                if bits & SIGN != 0 {
                    !bits
                } else {
                    bits | SIGN
                }
            }
        }
    }

    /// The bits of a number, with its sign.
    pub fn bits(self, rank: u64) -> u64 {
        match self {
            Self::Unsigned(_) => rank,
            Self::Signed(_) => rank ^ SIGN,
            Self::Float32 => {
                let rank = rank as u32;
                u64::from(if rank >> 31 == 1 { rank & !(1 << 31) } else { !rank })
            }
            Self::Float64 => {
                if rank & SIGN != 0 {
                    rank & !SIGN
                } else {
                    !rank
                }
            }
        }
    }

    /// The number as a float.
    pub fn to_f64(self, rank: u64) -> f64 {
        let bits = self.bits(rank);
        match self {
            Self::Unsigned(_) => bits as f64,
            Self::Signed(_) => bits as i64 as f64,
            Self::Float32 => f64::from(f32::from_bits(bits as u32)),
            Self::Float64 => f64::from_bits(bits),
        }
    }

    /// A float as a number of this type.
    pub fn rank_of(self, float: f64) -> u64 {
        self.rank(match self {
            Self::Unsigned(_) => float as u64,
            Self::Signed(_) => float as i64 as u64,
            Self::Float32 => u64::from((float as f32).to_bits()),
            Self::Float64 => float.to_bits(),
        })
    }

    /// What stands for no value: NaN, 0 where there is none.
    pub fn none(self) -> u64 {
        self.rank_of(f64::NAN)
    }

    /// Appends a number as it lies in memory.
    pub fn put(self, rank: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bits(rank).to_le_bytes()[..self.width()]);
    }

    /// Takes a number from the front of `bytes`.
    pub fn take(self, bytes: &mut &[u8]) -> Result<u64> {
        let width = self.width();
        let mut own = [0; 8];
        own[..width].copy_from_slice(take_bytes(bytes, width)?);
        let bits = u64::from_le_bytes(own);
        let unused = 64 - 8 * width as u32;
        Ok(self.rank(match self {
            Self::Signed(_) => (((bits << unused) as i64) >> unused) as u64,
            _ => bits,
        }))
    }

    /// The column of numbers.
    pub fn column(self, data_type: &DataType, ranks: impl Iterator<Item = u64>) -> Column {
        let data_type = data_type.clone();
        let bits = ranks.map(|rank| self.bits(rank));
        match self {
            Self::Unsigned(1) => Column::from_primitive::<UInt8Type>(data_type, bits.map(|bits| bits as u8).collect()),
            Self::Unsigned(2) => {
                Column::from_primitive::<UInt16Type>(data_type, bits.map(|bits| bits as u16).collect())
            }
            Self::Unsigned(4) => {
                Column::from_primitive::<UInt32Type>(data_type, bits.map(|bits| bits as u32).collect())
            }
            Self::Unsigned(_) => Column::from_primitive::<UInt64Type>(data_type, bits.collect()),
            Self::Signed(1) => Column::from_primitive::<Int8Type>(data_type, bits.map(|bits| bits as i8).collect()),
            Self::Signed(2) => Column::from_primitive::<Int16Type>(data_type, bits.map(|bits| bits as i16).collect()),
            Self::Signed(4) => Column::from_primitive::<Int32Type>(data_type, bits.map(|bits| bits as i32).collect()),
            Self::Signed(_) => Column::from_primitive::<Int64Type>(data_type, bits.map(|bits| bits as i64).collect()),
            Self::Float32 => {
                Column::from_primitive::<Float32Type>(data_type, bits.map(|bits| f32::from_bits(bits as u32)).collect())
            }
            Self::Float64 => Column::from_primitive::<Float64Type>(data_type, bits.map(f64::from_bits).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_and_numbers_come_back() {
        for (numbers, floats) in [
            (Numbers::Unsigned(8), vec![0.0, 1.0, 7e9]),
            (Numbers::Signed(2), vec![-300.0, -1.0, 0.0, 200.0]),
            (Numbers::Float32, vec![f64::NEG_INFINITY, -1.5, 0.0, 0.5, 3e10]),
            (Numbers::Float64, vec![-1e300, -1.0, 0.0, 1e-300, 5.0]),
        ] {
            let ranks: Vec<u64> = floats.iter().map(|float| numbers.rank_of(*float)).collect();
            assert!(ranks.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
            for (rank, float) in ranks.iter().zip(&floats) {
                let mut bytes = Vec::new();
                numbers.put(*rank, &mut bytes);
                assert_eq!(numbers.take(&mut &bytes[..]).unwrap(), *rank);
                assert!((numbers.to_f64(*rank) - float).abs() < 1e-3 * float.abs().max(1.0) || float.is_infinite());
            }
        }
    }
}
