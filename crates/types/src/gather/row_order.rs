//! Rows of columns that come one after the other, put into an order: each value goes from where it came to where it belongs, and is copied
//! once.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, DictionaryArray, FixedSizeBinaryArray, PrimitiveArray,
    UInt32Array,
};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, OffsetBuffer};
use arrow_schema::DataType as ArrowType;
use squall_runtime::Pieces;

use super::{TAKEN_AT_ONCE, codes, concat, take};
use crate::sparse::Sparse;
use crate::{Coded, Column, DataType, Error, ErrorCode, Result, Rows, grow, match_primitive};

/// Bytes of strings that are copied between two looks at the clock, unless one string has more.
const BYTES_AT_ONCE: usize = 256 << 10;
/// The place of a row that is left out.
const LEFT_OUT: u32 = u32::MAX;

/// Which rows of columns that come one after the other, and in which order. One order serves all columns of the same rows.
pub struct RowOrder {
    /// The rows by their numbers among all.
    positions: UInt32Array,
    /// The same by column and row.
    origins: Vec<Origin>,
    /// Where each of all rows goes.
    places: Vec<u32>,
}

/// Where a row comes from.
#[derive(Clone, Copy, Default)]
struct Origin {
    column: u32,
    row: u32,
}

impl RowOrder {
    /// The rows at these positions among the rows of columns of so many rows each.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where a row is not there, or comes twice; `MEMORY_LIMIT_EXCEEDED`.
    pub async fn new(positions: UInt32Array, rows: &[usize], pieces: &mut Pieces) -> Result<Self> {
        let mut places: Vec<u32> = Vec::new();
        let mut origins: Vec<Origin> = Vec::new();
        let all = rows.iter().sum::<usize>();
        grow(&mut places, all)?;
        while places.len() < all {
            places.resize(all.min(places.len() + BYTES_AT_ONCE), LEFT_OUT);
            pieces.pause().await;
        }
        grow(&mut origins, positions.len())?;
        for (at, some) in positions.values().chunks(TAKEN_AT_ONCE).enumerate() {
            note_places(some, (at * TAKEN_AT_ONCE) as u32, &mut places)?;
            origins.resize(origins.len() + some.len(), Origin::default());
            pieces.pause().await;
        }
        let mut first = 0;
        for (column, rows) in (0..).zip(rows) {
            for begin in (0..*rows).step_by(TAKEN_AT_ONCE) {
                let end = (begin + TAKEN_AT_ONCE).min(*rows);
                let first_origin = Origin { column, row: begin as u32 };
                note_origins(&places[first + begin..first + end], first_origin, &mut origins);
                pieces.pause().await;
            }
            first += rows;
        }
        Ok(Self { positions, origins, places })
    }

    /// How many rows there are in it.
    pub fn rows(&self) -> usize {
        self.origins.len()
    }

    /// The rows of a column that comes as these, one after the other, which are let go of.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
    pub async fn apply(&self, columns: Vec<Column>, pieces: &mut Pieces) -> Result<Column> {
        let [first, rest @ ..] = &columns[..] else { return Err(Error::logical("no columns to put in order")) };
        if let Some(one) = common_row(&columns) {
            return Ok(Column::of_rows(first.data_type().clone(), Rows::Constant(one, self.origins.len())));
        }
        let data_type = first.data_type().clone();
        if let Some(array) = self.scatter(&columns, pieces).await? {
            return Ok(Column::new(data_type, array));
        }
        // Codes are put in order with less work than strings, and whoever gets the rows looks at each string once.
        if let Some(coded) = codes(&columns, pieces).await? {
            return Ok(Column::of_rows(data_type, Rows::Coded(self.coded(&coded, pieces).await?)));
        }
        if rest.is_empty() {
            return take(first, &self.positions, pieces).await;
        }
        let arrow_type = data_type.arrow_type();
        let is_copied = matches!(arrow_type, ArrowType::Binary | ArrowType::FixedSizeBinary(_));
        if !is_copied && !match_primitive!(arrow_type, _T => true, _ => false) {
            return take(&concat(columns, pieces).await?, &self.positions, pieces).await;
        }
        let mut arrays = Vec::with_capacity(columns.len());
        for column in columns {
            arrays.push(column.to_array()?);
            pieces.pause().await;
        }
        let valid = self.validity(&arrays, pieces).await?;
        let array: ArrayRef = match_primitive!(arrow_type, T => {
            Arc::new(PrimitiveArray::<T>::new(self.numbers::<T>(&arrays, pieces).await?.into(), valid))
        }, _ => match arrow_type {
            ArrowType::FixedSizeBinary(width) => self.fixed(&arrays, width, valid, pieces).await?,
            _ => self.strings(&arrays, valid, pieces).await?,
        });
        Ok(Column::new(data_type, array))
    }

    /// Sparse numbers: one value everywhere, and the few others to their places. `None` for columns that are not all such.
    async fn scatter(&self, columns: &[Column], pieces: &mut Pieces) -> Result<Option<ArrayRef>> {
        let Some(sparse) = columns.iter().map(Column::sparse).collect::<Option<Vec<&Sparse>>>() else {
            return Ok(None);
        };
        let Some(first) = sparse.first() else { return Ok(None) };
        if sparse.iter().any(|sparse| **sparse.default_row() != **first.default_row()) {
            return Ok(None);
        }
        match_primitive!(first.default_row().data_type(), T => {
            let default = first.default_row().as_primitive::<T>().value(0);
            let mut numbers: Vec<<T as ArrowPrimitiveType>::Native> = Vec::new();
            grow(&mut numbers, self.origins.len())?;
            while numbers.len() < self.origins.len() {
                numbers.resize(self.origins.len().min(numbers.len() + TAKEN_AT_ONCE), default);
                pieces.pause().await;
            }
            let mut before = 0;
            for sparse in sparse {
                let places = &self.places[before..before + sparse.rows()];
                for (row, value) in sparse.positions().zip(sparse.values().as_primitive::<T>().values()) {
                    if let Some(number) = numbers.get_mut(places[row] as usize) {
                        *number = *value;
                    }
                }
                before += sparse.rows();
                pieces.pause().await;
            }
            Ok(Some(Arc::new(PrimitiveArray::<T>::new(numbers.into(), None)) as ArrayRef))
        }, _ => Ok(None))
    }

    async fn coded(&self, rows: &Coded, pieces: &mut Pieces) -> Result<Coded> {
        let all: ArrayRef = Arc::new(rows.codes().clone());
        let one = Column::new(DataType::UInt32.to_nullable(), all);
        let codes = take(&one, &self.positions, pieces).await?.to_array()?;
        let dictionary = DictionaryArray::try_new(codes.as_primitive::<UInt32Type>().clone(), rows.values().clone())?;
        Coded::of(dictionary).ok_or_else(|| Error::logical("a value that is NULL"))
    }

    /// Which rows are no NULL; `None` where all are none.
    async fn validity(&self, arrays: &[ArrayRef], pieces: &mut Pieces) -> Result<Option<NullBuffer>> {
        if arrays.iter().all(|array| array.null_count() == 0) {
            return Ok(None);
        }
        let mut valid = BooleanBufferBuilder::new(self.origins.len());
        for some in self.origins.chunks(TAKEN_AT_ONCE) {
            for origin in some {
                valid.append(arrays[origin.column as usize].is_valid(origin.row as usize));
            }
            pieces.pause().await;
        }
        Ok(Some(NullBuffer::new(valid.finish())))
    }

    async fn numbers<T: ArrowPrimitiveType>(&self, arrays: &[ArrayRef], pieces: &mut Pieces) -> Result<Vec<T::Native>> {
        let columns: Vec<&[T::Native]> = arrays.iter().map(|array| &**array.as_primitive::<T>().values()).collect();
        let mut numbers: Vec<T::Native> = Vec::new();
        grow(&mut numbers, self.origins.len())?;
        for some in self.origins.chunks(TAKEN_AT_ONCE) {
            add_numbers(&columns, some, &mut numbers);
            pieces.pause().await;
        }
        Ok(numbers)
    }

    async fn fixed(
        &self,
        arrays: &[ArrayRef],
        width: i32,
        valid: Option<NullBuffer>,
        pieces: &mut Pieces,
    ) -> Result<ArrayRef> {
        let columns: Vec<&FixedSizeBinaryArray> = arrays.iter().map(|array| array.as_fixed_size_binary()).collect();
        let mut bytes: Vec<u8> = Vec::new();
        grow(&mut bytes, self.origins.len() * usize::try_from(width).unwrap_or(0))?;
        for some in self.origins.chunks(TAKEN_AT_ONCE) {
            for origin in some {
                bytes.extend_from_slice(columns[origin.column as usize].value(origin.row as usize));
            }
            pieces.pause().await;
        }
        let array = FixedSizeBinaryArray::try_new_with_len(width, bytes.into(), valid, self.origins.len())?;
        Ok(Arc::new(array))
    }

    async fn strings(&self, arrays: &[ArrayRef], valid: Option<NullBuffer>, pieces: &mut Pieces) -> Result<ArrayRef> {
        let columns = arrays.iter().map(|array| array.as_binary::<i32>());
        let columns: Vec<(&[i32], &[u8])> = columns.map(|array| (array.value_offsets(), array.value_data())).collect();
        let mut offsets: Vec<i32> = Vec::new();
        grow(&mut offsets, self.origins.len() + 1)?;
        offsets.push(0);
        for some in self.origins.chunks(TAKEN_AT_ONCE) {
            add_offsets(&columns, some, &mut offsets)?;
            pieces.pause().await;
        }
        let mut bytes: Vec<u8> = Vec::new();
        grow(&mut bytes, offsets.last().map_or(0, |end| *end as usize))?;
        let mut rest = &self.origins[..];
        while !rest.is_empty() {
            let copied = add_strings(&columns, rest, &mut bytes);
            rest = &rest[copied..];
            pieces.pause().await;
        }
        // SAFETY: they begin with 0 and ascend by the length of each string, and any bytes are a string. A check would look at all at once.
        let offsets = unsafe { OffsetBuffer::new_unchecked(offsets.into()) };
        // SAFETY: the last offset is the number of bytes.
        Ok(Arc::new(unsafe { BinaryArray::new_unchecked(offsets, bytes.into(), valid) }))
    }
}

/// The one row that all rows of columns are, where that is known without looking at rows.
pub fn common_row(columns: &[Column]) -> Option<ArrayRef> {
    let row = |column: &Column| match column.sparse() {
        Some(sparse) => (sparse.positions().len() == 0).then(|| sparse.default_row().clone()),
        None => column.is_constant().then(|| column.array().clone()),
    };
    let first = row(columns.first()?)?;
    let is_common = columns.iter().skip(1).all(|column| row(column).is_some_and(|row| *row == *first));
    is_common.then_some(first)
}

// The loops are functions of their own: inside a future their variables would lie in memory.

/// Notes where rows go that come at these positions, the first of them to `place`.
#[inline(never)]
fn note_places(positions: &[u32], place: u32, places: &mut [u32]) -> Result<()> {
    for (position, at) in positions.iter().zip(place..) {
        let place = places.get_mut(*position as usize).filter(|place| **place == LEFT_OUT);
        *place.ok_or_else(|| Error::logical("an order with a row that is not there, or twice"))? = at;
    }
    Ok(())
}

/// Notes where rows that go to these places come from, the first of them from `origin`.
#[inline(never)]
fn note_origins(places: &[u32], origin: Origin, origins: &mut [Origin]) {
    for (place, row) in places.iter().zip(origin.row..) {
        if let Some(noted) = origins.get_mut(*place as usize) {
            *noted = Origin { column: origin.column, row };
        }
    }
}

#[inline(never)]
fn add_numbers<N: Copy>(columns: &[&[N]], origins: &[Origin], numbers: &mut Vec<N>) {
    numbers.extend(origins.iter().map(|origin| columns[origin.column as usize][origin.row as usize]));
}

#[inline(never)]
fn add_offsets(columns: &[(&[i32], &[u8])], origins: &[Origin], offsets: &mut Vec<i32>) -> Result<()> {
    let mut end = offsets.last().copied().unwrap_or(0);
    for origin in origins {
        let (own, row) = (columns[origin.column as usize].0, origin.row as usize);
        let too_large = || Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of strings in one block");
        end = end.checked_add(own[row + 1] - own[row]).ok_or_else(too_large)?;
        offsets.push(end);
    }
    Ok(())
}

/// Appends some of the strings, one at least; how many.
#[inline(never)]
fn add_strings(columns: &[(&[i32], &[u8])], origins: &[Origin], bytes: &mut Vec<u8>) -> usize {
    let enough = bytes.len() + BYTES_AT_ONCE;
    let some = &origins[..origins.len().min(TAKEN_AT_ONCE)];
    for (at, origin) in some.iter().enumerate() {
        let ((offsets, values), row) = (columns[origin.column as usize], origin.row as usize);
        bytes.extend_from_slice(&values[offsets[row] as usize..offsets[row + 1] as usize]);
        if bytes.len() > enough {
            return at + 1;
        }
    }
    some.len()
}

#[cfg(test)]
mod tests {
    use squall_runtime::block_on;

    use super::*;
    use crate::{ColumnBuilder, DataType, Value};

    fn column(name: &str, values: &[Value]) -> Column {
        let mut builder = ColumnBuilder::new(DataType::parse(name).unwrap());
        values.iter().for_each(|value| builder.append(value).unwrap());
        builder.finish().unwrap()
    }

    fn order(positions: &[u32], rows: &[usize]) -> Result<RowOrder> {
        block_on(RowOrder::new(positions.to_vec().into(), rows, &mut Pieces::begin()))
    }

    #[test]
    fn rows_of_columns_in_any_order_are_those_of_all_together() {
        let text = |row: usize| Value::from(format!("{row}").repeat(row % 40).as_str());
        for (name, value) in [
            ("UInt16", (|row| Value::UInt64(row as u64)) as fn(usize) -> Value),
            ("Nullable(Float64)", |row| if row.is_multiple_of(3) { Value::Null } else { Value::Float64(row as f64) }),
            ("FixedString(3)", |row| Value::from(format!("{:03}", row % 1000).as_str())),
            ("LowCardinality(String)", |row| Value::from(format!("{}", row % 7).as_str())),
            ("Array(UInt8)", |row| Value::Array(vec![Value::UInt64(row as u64 % 200); row % 4].into())),
            ("UUID", |row| Value::Uuid([row as u8; 16])),
            ("String", text),
            ("String", |row| Value::from(format!("{}", row % 7).as_str())),
            ("Nullable(String)", |row| if row % 5 == 1 { Value::Null } else { Value::from(format!("{row}").as_str()) }),
        ] {
            let values: Vec<Value> = (0..30_000).map(value).collect();
            let whole = column(name, &values);
            let constant = Column::constant(whole.data_type().clone(), &values[0], 9).unwrap();
            let columns = [whole.slice(0, 20_000), whole.slice(20_000, 0), constant, whole.slice(20_000, 10_000)];
            let rows: Vec<usize> = columns.iter().map(Column::rows).collect();
            // All rows but a few, scattered.
            let positions: Vec<u32> = (0..30_009).map(|at| at * 7919 % 30_009).filter(|at| at % 11 > 0).collect();
            let order = order(&positions, &rows).unwrap();
            let found = block_on(order.apply(columns.to_vec(), &mut Pieces::begin())).unwrap();
            let together = Column::concat(&columns).unwrap();
            assert_eq!((found.data_type(), found.rows()), (whole.data_type(), positions.len()));
            let wanted = positions.iter().map(|at| together.value(*at as usize));
            wanted.enumerate().for_each(|(row, value)| assert_eq!(found.value(row), value, "{name} {row}"));
        }
    }

    #[test]
    fn columns_of_few_values_stay_small() {
        let data_type = DataType::Int64;
        let sparse = |rows: Vec<u32>, of: usize| {
            let values = Arc::new(arrow_array::Int64Array::from_iter_values(rows.iter().map(|row| i64::from(*row))));
            let sparse = Sparse::of_nonzeros(rows, values, of).unwrap().unwrap();
            Column::of_rows(data_type.clone(), Rows::Sparse(sparse))
        };
        let columns = vec![sparse(vec![1, 7], 10), sparse(Vec::new(), 5), sparse(vec![3], 4)];
        let positions: Vec<u32> = (0..19).rev().filter(|at| *at != 7).collect();
        let order = order(&positions, &[10, 5, 4]).unwrap();
        let found = block_on(order.apply(columns, &mut Pieces::begin())).unwrap();
        let nonzero = (0..18).filter(|row| found.value(*row) != Value::Int64(0));
        assert_eq!(
            nonzero.map(|row| (row, found.value(row))).collect::<Vec<_>>(),
            [(0, Value::Int64(3)), (16, Value::Int64(1))]
        );
        let one = |rows| Column::constant(data_type.clone(), &Value::Int64(0), rows).unwrap();
        let all = block_on(order.apply(vec![one(10), sparse(Vec::new(), 5), one(4)], &mut Pieces::begin())).unwrap();
        assert_eq!((all.constant_value(), all.rows()), (Some(Value::Int64(0)), 18));
    }

    #[test]
    fn orders_with_rows_that_are_not_there_or_come_twice_are_refused() {
        assert!(order(&[0, 3], &[2, 1]).is_err());
        assert!(order(&[0, 1, 0], &[2, 1]).is_err());
        assert!(order(&[2, 0], &[2, 1]).is_ok());
    }
}
