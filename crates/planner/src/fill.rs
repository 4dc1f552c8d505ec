//! `ORDER BY … WITH FILL`: rows that are put between those that are there, so that the columns of the order go on in steps.

use std::cmp::Ordering;

use squall_types::{DataType, Value};

use crate::expression::Expression;
use crate::plan::Plan;

/// The rows of an input in its order, and those that are missing between them.
#[derive(Clone, Debug)]
pub struct Fill {
    /// Where rows come from, in order.
    pub input: Box<Plan>,
    /// Columns of the order before the first one that is filled: rows that are equal in them are filled for themselves.
    pub prefix: Vec<usize>,
    /// What is filled; never empty.
    pub columns: Vec<FillColumn>,
    /// Columns that new rows get of the row before them (`INTERPOLATE`); all others get defaults.
    pub interpolated: Vec<(usize, Expression)>,
}

/// A column that goes on in steps.
#[derive(Clone, Debug)]
pub struct FillColumn {
    /// The input's column.
    pub column: usize,
    /// Its type, without Nullable and LowCardinality.
    pub data_type: DataType,
    /// Largest first.
    pub descending: bool,
    /// Where it begins, if before the first row; `FROM`.
    pub from: Option<FillMark>,
    /// What it does not come to after the last row; `TO`.
    pub to: Option<FillMark>,
    /// How far a new row is from the one before; never 0, and in the order's direction.
    pub step: FillStep,
    /// How far new rows may be from the last row that was there; `STALENESS`.
    pub staleness: Option<FillStep>,
}

/// A value of a filled column: integers, days, seconds and ticks, or floats.
#[derive(Clone, Copy, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum FillMark {
    Integer(i128),
    Float(f64),
}

/// A distance.
#[derive(Clone, Debug)]
pub enum FillStep {
    /// So many, of a kind with the column's values.
    Number(FillMark),
    /// A time of the calendar: the value plus so many intervals, over a block of the value and their number (`Int64`).
    Interval(Expression),
}

impl FillMark {
    /// The mark of a value; `None` for NULL and for what cannot be filled.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(Self::Integer((*value).into())),
            Value::UInt64(value) => Some(Self::Integer((*value).into())),
            Value::Int64(value) => Some(Self::Integer((*value).into())),
            Value::Float64(value) => Some(Self::Float(*value)),
            _ => None,
        }
    }

    /// The value of a type; `None` where it has none.
    pub fn value(self, data_type: &DataType) -> Option<Value> {
        let number = match self {
            Self::Float(value) => return Some(Value::Float64(value)),
            Self::Integer(number) => number,
        };
        let (least, most) = range(data_type)?;
        if !(least..=most).contains(&number) {
            return None;
        }
        Some(match data_type {
            DataType::Bool => Value::Bool(number == 1),
            _ if least == 0 => Value::UInt64(u64::try_from(number).ok()?),
            _ => Value::Int64(i64::try_from(number).ok()?),
        })
    }

    /// Whether it is a number to go on from.
    pub fn is_finite(self) -> bool {
        !matches!(self, Self::Float(value) if !value.is_finite())
    }

    /// Whether this value comes before another in an order.
    pub fn is_before(self, other: Self, descending: bool) -> bool {
        let order = match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => left.partial_cmp(&right),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(&right),
            (Self::Integer(left), Self::Float(right)) => (left as f64).partial_cmp(&right),
            (Self::Float(left), Self::Integer(right)) => left.partial_cmp(&(right as f64)),
        };
        order == Some(if descending { Ordering::Greater } else { Ordering::Less })
    }

    /// Whether it is less than 0.
    pub fn is_negative(self) -> bool {
        self.is_before(Self::Integer(0), false)
    }

    /// The value some steps further.
    #[must_use]
    pub fn plus(self, step: Self, steps: i64) -> Self {
        match (self, step) {
            (Self::Integer(value), Self::Integer(step)) => {
                Self::Integer(value.saturating_add(step.saturating_mul(steps.into())))
            }
            (value, step) => Self::Float(value.as_float() + step.as_float() * steps as f64),
        }
    }

    /// As a float.
    pub fn as_float(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

/// The least and the greatest number of a type that can be filled; `None` for other types, and for floats.
pub fn range(data_type: &DataType) -> Option<(i128, i128)> {
    Some(match data_type {
        DataType::Bool => (0, 1),
        DataType::UInt8 => (0, u8::MAX.into()),
        DataType::UInt16 | DataType::Date => (0, u16::MAX.into()),
        DataType::UInt32 | DataType::DateTime(_) => (0, u32::MAX.into()),
        DataType::UInt64 => (0, u64::MAX.into()),
        DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        DataType::Int32 | DataType::Date32 => (i32::MIN.into(), i32::MAX.into()),
        DataType::Int64 | DataType::DateTime64(..) => (i64::MIN.into(), i64::MAX.into()),
        _ => return None,
    })
}
