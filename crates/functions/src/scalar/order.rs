//! The order of values of any type, row by row: for arrays, tuples and maps, which no tight loop compares.

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as ArrowType;
use squall_types::{Column, DataType, Error, Result, sort_long};

use crate::partial_sort;

/// Compares a row of one array with a row of another.
pub(crate) type RowOrder = Box<dyn Fn(usize, usize) -> Ordering + Send + Sync>;

/// The order of the rows of two columns of one type: numbers by value with NaN last, strings by bytes, lists and structs item by item,
/// NULL last and equal to NULL. Of a constant there is one row.
///
/// # Errors
/// `LOGICAL_ERROR` where the columns differ in type.
pub(crate) fn row_order(left: &Column, right: &Column) -> Result<RowOrder> {
    row_order_with(left, right, Ordering::Greater)
}

/// [`row_order`] where NULL and NaN compare with anything else as `unknown`.
///
/// # Errors
/// `LOGICAL_ERROR` where the columns differ in type.
pub(crate) fn row_order_with(left: &Column, right: &Column, unknown: Ordering) -> Result<RowOrder> {
    array_order(left.data_type(), left.array(), right.array(), unknown)
}

fn array_order(data_type: &DataType, left: &ArrayRef, right: &ArrayRef, unknown: Ordering) -> Result<RowOrder> {
    let by_value = value_order(data_type, left, right, unknown)?;
    let (left_nulls, right_nulls) = (left.nulls().cloned(), right.nulls().cloned());
    if left_nulls.is_none() && right_nulls.is_none() {
        return Ok(by_value);
    }
    Ok(Box::new(move |l, r| {
        let left_is_null = left_nulls.as_ref().is_some_and(|nulls| nulls.is_null(l));
        let right_is_null = right_nulls.as_ref().is_some_and(|nulls| nulls.is_null(r));
        match (left_is_null, right_is_null) {
            (false, false) => by_value(l, r),
            (left, right) => as_unknown(left.cmp(&right), unknown),
        }
    }))
}

/// The order of what is NULL or NaN with what is not, where these come last, turned round where they come first.
#[inline]
fn as_unknown(last: Ordering, unknown: Ordering) -> Ordering {
    if unknown.is_lt() { last.reverse() } else { last }
}

/// The order in which `arraySort` puts items: ascending, or descending where reversed, NaN and NULL at the end either way.
pub(crate) enum ItemOrder {
    /// Numbers, none of them NULL or NaN, as bits that have their order.
    Bits(Vec<u64>),
    /// Anything else.
    Values(ValueOrder),
}

/// The order of items of any type.
pub(crate) struct ValueOrder {
    by_value: RowOrder,
    nulls: Option<NullBuffer>,
    /// Which items are NaN; empty for types that have none.
    nans: Vec<bool>,
    is_reversed: bool,
}

impl ItemOrder {
    /// The order of the items of a column that is no constant.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` for a type without an order.
    pub fn new(items: &Column, is_reversed: bool) -> Result<Self> {
        let array = items.array();
        let flip = if is_reversed { u64::MAX } else { 0 };
        let (bits, nans) = squall_types::match_primitive!(array.data_type(), T => {
            let values = array.as_primitive::<T>().values();
            if array.null_count() == 0 && !values.iter().any(|value| value.is_nan_value()) {
                (Some(values.iter().map(|value| value.ordered_bits() ^ flip).collect()), Vec::new())
            } else {
                (None, values.iter().map(|value| value.is_nan_value()).collect())
            }
        }, _ => (None, Vec::new()));
        Ok(match bits {
            Some(bits) => Self::Bits(bits),
            None => Self::Values(ValueOrder {
                // Within items, too, NULL and NaN come last either way.
                by_value: row_order_with(items, items, if is_reversed { Ordering::Less } else { Ordering::Greater })?,
                nulls: array.nulls().cloned(),
                nans,
                is_reversed,
            }),
        })
    }

    /// Puts positions of items in the order of the items; equal ones keep theirs.
    ///
    /// # Errors
    /// Those of a checkpoint.
    pub fn sort(&self, positions: &mut [u32]) -> Result<()> {
        match self {
            Self::Bits(bits) => sort_long(positions, |left, right| bits[*left as usize].cmp(&bits[*right as usize])),
            Self::Values(order) => sort_long(positions, |left, right| order.compare(*left as usize, *right as usize)),
        }
    }

    /// Sorts so that the first `limit` positions are those of a sort. Of few items the others lie as ClickHouse leaves them, which is
    /// how Floyd's and Rivest's selection does.
    ///
    /// # Errors
    /// Those of a checkpoint.
    pub fn sort_first(&self, positions: &mut [u32], limit: usize) -> Result<()> {
        /// Up to so many items the selection takes no samples.
        const SELECTED_MAX: usize = 600;
        if limit >= positions.len() || positions.len() > SELECTED_MAX {
            return self.sort(positions);
        }
        squall_types::checkpoint(positions.len() * 20)?;
        let less = |left: &u32, right: &u32| self.compare(*left as usize, *right as usize).is_lt();
        partial_sort::select(positions, limit - 1, &less);
        self.sort(&mut positions[..limit])
    }

    /// The order of two items.
    #[inline]
    pub fn compare(&self, left: usize, right: usize) -> Ordering {
        match self {
            Self::Bits(bits) => bits[left].cmp(&bits[right]),
            Self::Values(order) => order.compare(left, right),
        }
    }
}

impl ValueOrder {
    fn compare(&self, left: usize, right: usize) -> Ordering {
        let is_null = |at: usize| self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(at));
        let is_last = |at: usize| is_null(at) || self.nans.get(at) == Some(&true);
        match (is_last(left), is_last(right)) {
            (false, false) if self.is_reversed => (self.by_value)(right, left),
            (false, false) => (self.by_value)(left, right),
            (true, true) => is_null(left).cmp(&is_null(right)),
            (left, right) => left.cmp(&right),
        }
    }
}

/// Numbers in an order that is total.
pub(crate) trait TotalOrder: Copy {
    /// The order by value; NaN after every number and equal to NaN.
    fn order(self, other: Self) -> Ordering;

    /// Bits whose order as a number is that of the values, for values that are not NaN.
    fn ordered_bits(self) -> u64;

    /// Whether it is NaN.
    fn is_nan_value(self) -> bool;
}

macro_rules! total_order {
    ($sign:expr, $($t:ty),*) => {
        $(impl TotalOrder for $t {
            #[inline(always)]
            fn order(self, other: Self) -> Ordering {
                self.cmp(&other)
            }

            #[inline(always)]
            fn ordered_bits(self) -> u64 {
                // A signed number is extended by its sign, which is then turned over.
                self as u64 ^ $sign
            }

            #[inline(always)]
            fn is_nan_value(self) -> bool {
                false
            }
        })*
    };
}

total_order!(0, u8, u16, u32, u64);
total_order!(1 << 63, i8, i16, i32, i64);

macro_rules! total_order_float {
    ($($t:ty),*) => {
        $(impl TotalOrder for $t {
            #[inline(always)]
            fn order(self, other: Self) -> Ordering {
                self.partial_cmp(&other).unwrap_or_else(|| self.is_nan().cmp(&other.is_nan()))
            }

            #[inline(always)]
            fn ordered_bits(self) -> u64 {
                // Zero and minus zero are equal: the sum of minus zero and zero is zero.
                let bits = (f64::from(self) + 0.0).to_bits();
                if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
            }

            #[inline(always)]
            fn is_nan_value(self) -> bool {
                self.is_nan()
            }
        })*
    };
}

total_order_float!(f32, f64);

fn value_order(data_type: &DataType, left: &ArrayRef, right: &ArrayRef, unknown: Ordering) -> Result<RowOrder> {
    squall_types::match_primitive!(left.data_type(), T => {
        let (Some(left), Some(right)) = (left.as_primitive_opt::<T>(), right.as_primitive_opt::<T>()) else {
            return Err(differ());
        };
        Ok(primitive::<T>(left.values().clone(), right.values().clone(), unknown))
    }, _ => other_order(data_type, left, right, unknown))
}

fn primitive<T: ArrowPrimitiveType<Native: TotalOrder>>(
    left: arrow_buffer::ScalarBuffer<T::Native>,
    right: arrow_buffer::ScalarBuffer<T::Native>,
    unknown: Ordering,
) -> RowOrder {
    Box::new(move |l, r| {
        let (left, right) = (left[l], right[r]);
        if left.is_nan_value() || right.is_nan_value() {
            as_unknown(left.order(right), unknown)
        } else {
            left.order(right)
        }
    })
}

fn differ() -> Error {
    Error::logical("arrays of different types are compared")
}

fn other_order(data_type: &DataType, left: &ArrayRef, right: &ArrayRef, unknown: Ordering) -> Result<RowOrder> {
    let data_type = match data_type {
        DataType::Nullable(inner) => inner,
        other => other,
    };
    match (left.data_type(), right.data_type()) {
        (ArrowType::Null, _) | (_, ArrowType::Null) => Ok(Box::new(|_, _| Ordering::Equal)),
        (ArrowType::Binary, ArrowType::Binary) => {
            let (left, right) = (left.as_binary::<i32>().clone(), right.as_binary::<i32>().clone());
            Ok(Box::new(move |l, r| left.value(l).cmp(right.value(r))))
        }
        (ArrowType::FixedSizeBinary(_), ArrowType::FixedSizeBinary(_)) => {
            let (left, right) = (left.as_fixed_size_binary().clone(), right.as_fixed_size_binary().clone());
            if let Some(rank) = data_type.physical().rank() {
                return Ok(Box::new(move |l, r| rank(left.value(l)).cmp(&rank(right.value(r)))));
            }
            Ok(Box::new(move |l, r| left.value(l).cmp(right.value(r))))
        }
        (ArrowType::Dictionary(..), ArrowType::Dictionary(..)) => {
            let (left, right) = (left.as_dictionary::<UInt32Type>(), right.as_dictionary::<UInt32Type>());
            let entries = array_order(data_type.remove_low_cardinality(), left.values(), right.values(), unknown)?;
            let (left, right) = (left.keys().values().clone(), right.keys().values().clone());
            Ok(Box::new(move |l, r| entries(left[l] as usize, right[r] as usize)))
        }
        (ArrowType::List(_), ArrowType::List(_)) => {
            let item_type = data_type.list_item();
            let (left, right) = (left.as_list::<i32>(), right.as_list::<i32>());
            let items = array_order(&item_type, left.values(), right.values(), unknown)?;
            let (left, right) = (left.offsets().clone(), right.offsets().clone());
            Ok(Box::new(move |l, r| {
                let (left, right) = (left[l] as usize..left[l + 1] as usize, right[r] as usize..right[r + 1] as usize);
                let lengths = left.len().cmp(&right.len());
                left.zip(right).map(|(l, r)| items(l, r)).find(|order| order.is_ne()).unwrap_or(lengths)
            }))
        }
        (ArrowType::Struct(_), ArrowType::Struct(_)) => {
            let types = data_type.struct_types();
            let (left, right) = (left.as_struct(), right.as_struct());
            if left.num_columns() != right.num_columns() || left.num_columns() != types.len() {
                return Err(differ());
            }
            let columns = types.iter().zip(left.columns().iter().zip(right.columns()));
            let columns = columns.map(|(part, (l, r))| array_order(part, l, r, unknown));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            Ok(Box::new(move |l, r| {
                columns.iter().map(|column| column(l, r)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }))
        }
        _ => Err(differ()),
    }
}
