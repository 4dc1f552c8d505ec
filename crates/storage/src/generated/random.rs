//! Random rows: the table function `generateRandom('structure'[, seed[, max_string_length[, max_array_length]]])`. A row depends on the seed
//! and on its number alone, so that many threads make the rows of one scan.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;

use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use squall_planner::{ColumnDescription, TableMetadata};
use squall_types::{Block, ColumnBuilder, DataType, Error, ErrorCode, Result, Schema, Value, checkpoint};

use crate::row_claims::RowClaims;
use crate::table::{Claim, Morsel, ScanRequest, Table, TableScan};

/// Rows of one block, and of one generator: where a block begins does not depend on who makes it.
const BLOCK_ROWS: u64 = 1024;
/// A value is about so many nanoseconds' work.
const VALUE_WORK: usize = 50;
/// The longest strings and arrays that are made, as in ClickHouse.
const LENGTH_MAX: u64 = 0xFF_FFFF;

/// An endless table of random rows.
#[derive(Debug)]
pub(super) struct Random {
    columns: Vec<ColumnDescription>,
    seed: u64,
    lengths: Lengths,
}

#[derive(Clone, Copy, Debug)]
struct Lengths {
    string: u64,
    array: u64,
}

impl Random {
    /// The table of a call.
    ///
    /// # Errors
    /// `NUMBER_OF_ARGUMENTS_DOESNT_MATCH`, `BAD_ARGUMENTS`; `NOT_IMPLEMENTED` for types that no values are made of.
    pub(super) fn new(arguments: &[Value]) -> Result<Self> {
        let bad = |message: &str| Error::new(ErrorCode::BAD_ARGUMENTS, message.to_owned());
        let Some((structure, numbers)) = arguments.split_first().filter(|(_, numbers)| numbers.len() <= 3) else {
            return Err(Error::new(
                ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
                "Table function 'generateRandom' requires at most four arguments: structure, [random_seed, max_string_length, \
                 max_array_length]",
            ));
        };
        let columns = columns_of("generateRandom", structure)?;
        columns.iter().try_for_each(|column| check(&column.data_type))?;
        let number = |at: usize, default: u64| match numbers.get(at) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => value
                .as_u64()
                .or_else(|| value.as_i64().map(i64::cast_unsigned))
                .ok_or_else(|| bad("The seed and the lengths of generateRandom must be numbers or NULL")),
        };
        let seed = number(0, rand::rng().next_u64())?;
        let lengths = Lengths { string: number(1, 10)?, array: number(2, 10)? };
        if lengths.string > LENGTH_MAX || lengths.array > LENGTH_MAX {
            return Err(bad("The lengths of strings and arrays of generateRandom are limited to 16777215"));
        }
        Ok(Self { columns, seed, lengths })
    }
}

/// The columns of a structure, `'a UInt8, b String'`.
///
/// # Errors
/// `BAD_ARGUMENTS`, and those of the types.
pub(super) fn columns_of(function: &str, structure: &Value) -> Result<Vec<ColumnDescription>> {
    let bad = || {
        let message =
            format!("The structure of table function {function} must be a string of names and types of columns");
        Error::new(ErrorCode::BAD_ARGUMENTS, message)
    };
    let structure = structure.as_str().ok_or_else(bad)?;
    let DataType::Tuple(elements) = DataType::parse(&format!("Tuple({structure})"))? else { return Err(bad()) };
    let column = |element: &squall_types::TupleElement| {
        Ok(ColumnDescription::new(element.name.clone().ok_or_else(bad)?, element.data_type.clone()))
    };
    elements.iter().map(column).collect()
}

impl TableMetadata for Random {
    fn database(&self) -> &str {
        "_table_function"
    }
    fn name(&self) -> &str {
        "generateRandom"
    }
    fn engine(&self) -> &str {
        "GenerateRandom"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for Random {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        Ok(Arc::new(RandomScan {
            schema: request.schema.clone(),
            columns: request.columns.clone(),
            claims: RowClaims::new(request.limited(u64::MAX).div_ceil(BLOCK_ROWS)),
            rows: request.limited(u64::MAX),
            is_endless: request.limit.is_none(),
            seed: self.seed,
            lengths: self.lengths,
        }))
    }
}

/// Its morsels are blocks.
struct RandomScan {
    schema: Arc<Schema>,
    columns: Vec<usize>,
    claims: RowClaims,
    rows: u64,
    is_endless: bool,
    seed: u64,
    lengths: Lengths,
}

impl TableScan for RandomScan {
    fn rows_total(&self) -> Option<u64> {
        (!self.is_endless).then_some(self.rows)
    }

    fn claim(&self, rows: u64, _: &Waker) -> Claim {
        self.claims.claim(rows.div_ceil(BLOCK_ROWS))
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        for block in morsel.first..morsel.first.saturating_add(morsel.rows) {
            let rows = BLOCK_ROWS.min(self.rows.saturating_sub(block.saturating_mul(BLOCK_ROWS))) as usize;
            let mut columns = Vec::with_capacity(self.columns.len());
            for (position, data_type) in self.columns.iter().zip(self.schema.types()) {
                // Each column has values of its own, whatever others are read.
                let place = self.seed ^ block.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ ((*position as u64) << 48);
                let mut random = StdRng::seed_from_u64(place);
                let mut builder = ColumnBuilder::new(data_type.clone());
                for _ in 0..rows {
                    checkpoint(VALUE_WORK)?;
                    builder.append(&value(data_type, &mut random, self.lengths)?)?;
                }
                columns.push(builder.finish()?);
            }
            if consume(Block::new(self.schema.clone(), columns, rows))?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

fn check(data_type: &DataType) -> Result<()> {
    let lengths = Lengths { string: 1, array: 1 };
    let value = value(data_type, &mut StdRng::seed_from_u64(0), lengths)?;
    ColumnBuilder::new(data_type.clone()).append(&value)
}

/// A random value of a type.
fn value(data_type: &DataType, random: &mut StdRng, lengths: Lengths) -> Result<Value> {
    let many = |random: &mut StdRng, item: &DataType| -> Result<Vec<Value>> {
        let length = random.random_range(0..=lengths.array);
        (0..length).map(|_| value(item, random, lengths)).collect()
    };
    Ok(match data_type {
        DataType::Bool => Value::Bool(random.random()),
        DataType::UInt8 => Value::UInt64(random.random::<u8>().into()),
        DataType::UInt16 | DataType::Date => Value::UInt64(random.random::<u16>().into()),
        DataType::UInt32 | DataType::IPv4 | DataType::DateTime(_) => Value::UInt64(random.random::<u32>().into()),
        DataType::UInt64 => Value::UInt64(random.random()),
        DataType::Int8 => Value::Int64(random.random::<i8>().into()),
        DataType::Int16 => Value::Int64(random.random::<i16>().into()),
        DataType::Int32 => Value::Int64(random.random::<i32>().into()),
        DataType::Int64 => Value::Int64(random.random()),
        // The days and moments that these types show, 1900 to 2299.
        DataType::Date32 => Value::Int64(random.random_range(-25_567..=120_529)),
        DataType::DateTime64(digits, _) => {
            let second = 10_i64.pow(u32::from(*digits));
            let last = (i64::MAX / second).min(10_413_791_999);
            let first = (i64::MIN / second).max(-2_208_988_800);
            Value::Int64(random.random_range(first * second..=last * second))
        }
        DataType::Float32 => Value::Float64(f32::from_bits(random.random()).into()),
        DataType::Float64 => Value::Float64(f64::from_bits(random.random())),
        DataType::String => {
            let length = random.random_range(0..=lengths.string);
            Value::String((0..length).map(|_| random.random_range(b' '..=b'~')).collect())
        }
        DataType::FixedString(length) => Value::String((0..*length).map(|_| random.random()).collect()),
        DataType::IPv6 => Value::String((0..16).map(|_| random.random()).collect()),
        DataType::UUID => Value::Uuid(random.random()),
        DataType::Enum8(values) | DataType::Enum16(values) => {
            let count = values.iter().count();
            let chosen = values.iter().nth(random.random_range(0..count)).map_or(0, |(_, number)| number);
            Value::Int64(chosen.into())
        }
        DataType::Nullable(inner) => match random.random_ratio(1, 16) {
            true => Value::Null,
            false => value(inner, random, lengths)?,
        },
        DataType::LowCardinality(inner) => value(inner, random, lengths)?,
        DataType::Array(item) => Value::Array(many(random, item)?.into()),
        DataType::Map(key, item) => {
            let length = random.random_range(0..=lengths.array);
            let entry = |_| Ok((value(key, random, lengths)?, value(item, random, lengths)?));
            Value::Map((0..length).map(entry).collect::<Result<Vec<_>>>()?.into())
        }
        DataType::Tuple(elements) => {
            let element = |element: &squall_types::TupleElement| value(&element.data_type, random, lengths);
            Value::Tuple(elements.iter().map(element).collect::<Result<Vec<_>>>()?.into())
        }
        other => return Err(Error::not_implemented(format!("Random values of type {other}"))),
    })
}
