//! How columns of a type are held: the few layouts that every type is one of. Code that moves values without asking what they mean
//! (columns, builders, Native, keys) is written over these, so that a type with a layout that exists needs nothing there.

use arrow_schema::DataType as ArrowType;

use crate::data_type::DataType;

/// A layout of values. Wrappers (`Nullable`) have that of what they wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)] // Numbers are called as the types are.
pub enum Physical {
    /// No values.
    Nothing,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    /// 16 bytes, least first.
    UInt128,
    /// 32 bytes, least first.
    UInt256,
    Int8,
    Int16,
    Int32,
    Int64,
    Int128,
    Int256,
    Float32,
    Float64,
    /// Bytes of any length.
    Bytes,
    /// So many bytes, ordered as strings are.
    Fixed(usize),
    /// 16 bytes, ordered by their second half first.
    Uuid,
    /// Keys into values.
    Dictionary,
    /// Items of [`DataType::list_item`].
    List,
    /// One column for each element.
    Struct,
}

impl DataType {
    /// How its columns are held.
    pub fn physical(&self) -> Physical {
        match self {
            Self::Nothing => Physical::Nothing,
            Self::Bool | Self::UInt8 => Physical::UInt8,
            Self::UInt16 | Self::Date => Physical::UInt16,
            Self::UInt32 | Self::DateTime(_) | Self::IPv4 => Physical::UInt32,
            Self::UInt64 => Physical::UInt64,
            Self::UInt128 => Physical::UInt128,
            Self::UInt256 => Physical::UInt256,
            Self::Int8 | Self::Enum8(_) => Physical::Int8,
            Self::Int16 | Self::Enum16(_) => Physical::Int16,
            Self::Int32 | Self::Date32 | Self::Time => Physical::Int32,
            Self::Int64 | Self::DateTime64(..) | Self::Time64(_) | Self::Interval(_) => Physical::Int64,
            Self::Int128 => Physical::Int128,
            Self::Int256 => Physical::Int256,
            Self::Decimal(precision, _) => match precision {
                ..=9 => Physical::Int32,
                10..=18 => Physical::Int64,
                19..=38 => Physical::Int128,
                _ => Physical::Int256,
            },
            Self::Float32 | Self::BFloat16 => Physical::Float32,
            Self::Float64 => Physical::Float64,
            Self::String | Self::Dynamic(_) | Self::AggregateFunction(_) => Physical::Bytes,
            Self::FixedString(length) => Physical::Fixed(*length),
            Self::IPv6 => Physical::Fixed(16),
            Self::UUID => Physical::Uuid,
            Self::Nullable(inner) => inner.physical(),
            Self::SimpleAggregateFunction(simple) => simple.values().physical(),
            Self::Named(named) => named.values().physical(),
            Self::LowCardinality(_) => Physical::Dictionary,
            Self::Array(_) | Self::Map(..) => Physical::List,
            Self::Tuple(_) | Self::Variant(_) | Self::Json(_) => Physical::Struct,
        }
    }

    /// Whether its values are made of values of other types.
    pub fn is_nested(&self) -> bool {
        matches!(self.physical(), Physical::List | Physical::Struct)
    }

    /// The type of the items where it is held as a list.
    pub fn list_item(&self) -> Self {
        match self {
            Self::Array(item) => (**item).clone(),
            Self::SimpleAggregateFunction(simple) => simple.values().list_item(),
            Self::Named(named) => named.values().list_item(),
            other => other.map_entry_type(),
        }
    }

    /// The names and types of its columns where it is held as a struct.
    pub fn struct_parts(&self) -> Vec<(String, Self)> {
        match self {
            Self::Nullable(inner) => inner.struct_parts(),
            Self::SimpleAggregateFunction(simple) => simple.values().struct_parts(),
            Self::Named(named) => named.values().struct_parts(),
            Self::Tuple(elements) => elements
                .iter()
                .enumerate()
                .map(|(at, element)| {
                    let name = element.name.as_deref().map_or_else(|| (at + 1).to_string(), str::to_owned);
                    (name, element.data_type.clone())
                })
                .collect(),
            Self::Variant(alternatives) => {
                let number = ("alternative".to_owned(), Self::UInt8);
                let held = alternatives.iter().map(|one| (one.to_string(), one.held_alternative()));
                std::iter::once(number).chain(held).collect()
            }
            Self::Json(json) => {
                let typed = json.typed.iter().map(|(path, data_type)| (path.to_string(), data_type.clone()));
                typed.chain([("other paths".to_owned(), json.others())]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The types of its columns where it is held as a struct.
    pub fn struct_types(&self) -> Vec<Self> {
        self.struct_parts().into_iter().map(|(_, data_type)| data_type).collect()
    }

    /// Bytes of one value where all values have the same length in memory.
    pub fn fixed_width_bytes(&self) -> Option<usize> {
        if matches!(self, Self::Nullable(_)) {
            return None;
        }
        self.physical().fixed_width_bytes()
    }

    /// The type of the Arrow array that holds this type: the table at the top of `data_type.rs`.
    pub fn arrow_type(&self) -> ArrowType {
        match self.physical() {
            Physical::Nothing => ArrowType::Null,
            Physical::UInt8 => ArrowType::UInt8,
            Physical::UInt16 => ArrowType::UInt16,
            Physical::UInt32 => ArrowType::UInt32,
            Physical::UInt64 => ArrowType::UInt64,
            Physical::Int8 => ArrowType::Int8,
            Physical::Int16 => ArrowType::Int16,
            Physical::Int32 => ArrowType::Int32,
            Physical::Int64 => ArrowType::Int64,
            Physical::Float32 => ArrowType::Float32,
            Physical::Float64 => ArrowType::Float64,
            Physical::Bytes => ArrowType::Binary,
            Physical::Fixed(length) => ArrowType::FixedSizeBinary(i32::try_from(length).unwrap_or(i32::MAX)),
            Physical::Uuid | Physical::UInt128 | Physical::Int128 => ArrowType::FixedSizeBinary(16),
            Physical::UInt256 | Physical::Int256 => ArrowType::FixedSizeBinary(32),
            Physical::Dictionary => {
                let values = self.inner_of_dictionary().arrow_type();
                ArrowType::Dictionary(Box::new(ArrowType::UInt32), Box::new(values))
            }
            Physical::List => ArrowType::List(self.without_nullable().list_item().arrow_list_item()),
            Physical::Struct => ArrowType::Struct(self.without_nullable().arrow_fields()),
        }
    }

    fn without_nullable(&self) -> &Self {
        match self {
            Self::Nullable(inner) => inner.without_nullable(),
            Self::SimpleAggregateFunction(simple) => simple.values(),
            Self::Named(named) => named.values(),
            other => other,
        }
    }

    fn inner_of_dictionary(&self) -> &Self {
        match self.without_nullable() {
            Self::LowCardinality(inner) => inner,
            other => other,
        }
    }
}

impl Physical {
    /// Bytes of one value where all values have the same length.
    pub fn fixed_width_bytes(self) -> Option<usize> {
        Some(match self {
            Self::UInt8 | Self::Int8 => 1,
            Self::UInt16 | Self::Int16 => 2,
            Self::UInt32 | Self::Int32 | Self::Float32 => 4,
            Self::UInt64 | Self::Int64 | Self::Float64 => 8,
            Self::UInt128 | Self::Int128 | Self::Uuid => 16,
            Self::UInt256 | Self::Int256 => 32,
            Self::Fixed(length) => length,
            Self::Nothing | Self::Bytes | Self::Dictionary | Self::List | Self::Struct => return None,
        })
    }

    /// For values held as bytes whose order is not that of the bytes: bytes that have it. `None` where they have it themselves.
    pub fn rank(self) -> Option<fn(&[u8]) -> Rank> {
        match self {
            Self::Uuid => Some(|bytes| [0, crate::value::uuid_rank(bytes)]),
            Self::UInt128 => Some(|bytes| [0, number(bytes)]),
            Self::Int128 => Some(|bytes| [0, number(bytes) ^ SIGN]),
            Self::UInt256 => Some(halves),
            Self::Int256 => Some(|bytes| {
                let [high, low] = halves(bytes);
                [high ^ SIGN, low]
            }),
            Self::Nothing
            | Self::UInt8
            | Self::UInt16
            | Self::UInt32
            | Self::UInt64
            | Self::Int8
            | Self::Int16
            | Self::Int32
            | Self::Int64
            | Self::Float32
            | Self::Float64
            | Self::Bytes
            | Self::Fixed(_)
            | Self::Dictionary
            | Self::List
            | Self::Struct => None,
        }
    }
}

/// What orders a value of up to 256 bits: its high half, then its low one.
pub type Rank = [u128; 2];

const SIGN: u128 = 1 << 127;

#[inline]
fn number(bytes: &[u8]) -> u128 {
    bytes.first_chunk().map_or(0, |bytes| u128::from_le_bytes(*bytes))
}

#[inline]
fn halves(bytes: &[u8]) -> Rank {
    [number(bytes.get(16..).unwrap_or_default()), number(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integer::{I256, Integer, U256};

    fn ascends<T: Integer>(physical: Physical, values: &[T]) {
        let rank = physical.rank().unwrap();
        let ranks = values.iter().map(|value| {
            let mut bytes = Vec::new();
            value.append_bytes(&mut bytes);
            rank(&bytes)
        });
        assert!(ranks.collect::<Vec<_>>().is_sorted_by(|left, right| left < right), "{physical:?}");
    }

    #[test]
    fn ranks_have_the_order_of_values() {
        ascends(Physical::UInt128, &[0u128, 1, 256, u128::MAX]);
        ascends(Physical::Int128, &[i128::MIN, -256, -1, 0, 1, i128::MAX]);
        ascends(Physical::UInt256, &[U256::ZERO, U256::from(256u32), U256::from(u128::MAX), U256::MAX]);
        ascends(Physical::Int256, &[I256::MIN, I256::from(-256), I256::MINUS_ONE, I256::ZERO, I256::MAX]);
    }
}
