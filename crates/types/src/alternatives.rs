//! Columns whose values are of several types, taken apart: for each type a column of its values, and for each row which of them it is.
//! What computes with values of `Variant` and `Dynamic` goes through this form.
//!
//! A `Variant` is a struct of the number of each row's alternative and one column for each alternative, which holds NULL, or a default,
//! in the rows of others. A row of a `Dynamic` is the length of its type's bytes, these bytes, and the value in binary; no bytes are NULL.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;
use arrow_array::{Array, ArrayRef, BinaryArray, StructArray, UInt8Array, UInt32Array};
use arrow_buffer::OffsetBuffer;
use hashbrown::HashMap;

use crate::binary::{put_row, put_varint, read_rows, take_bytes, take_count, too_short};
use crate::column::{Column, value_at};
use crate::data_type::DataType;
use crate::error::{Error, ErrorCode, Result};
use crate::type_code::{take_type, type_bytes};
use crate::value::Value;
use crate::variant_type::NULL_ALTERNATIVE;
use crate::{checkpoint, grow, kernels, reserve};

/// Values by type.
#[derive(Clone, Debug)]
pub struct Alternatives {
    /// The types that occur with their values, none of which is NULL.
    pub columns: Vec<Column>,
    /// For each row which of the columns its value is in, and where; `None` for NULL.
    pub rows: Vec<Option<(u32, u32)>>,
}

impl Alternatives {
    /// The values of a column of `Variant` or `Dynamic`; values of another type are the only alternative.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` for bytes that are no values, `MEMORY_LIMIT_EXCEEDED`.
    pub fn of(column: &Column) -> Result<Self> {
        Self::of_array(column.data_type(), &column.to_array()?)
    }

    /// The same of an array.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_array(data_type: &DataType, array: &ArrayRef) -> Result<Self> {
        reserve(array.len() * size_of::<Option<(u32, u32)>>())?;
        match data_type {
            DataType::Variant(alternatives) => of_variant(alternatives, array),
            DataType::Dynamic(_) => of_dynamic(array),
            DataType::LowCardinality(inner) => {
                let dictionary = array.as_dictionary::<arrow_array::types::UInt32Type>();
                Self::of_array(inner, &kernels::take(&**dictionary.values(), dictionary.keys())?)
            }
            other => {
                let column = Column::new(other.clone(), array.clone()).without_nulls()?;
                let is_null = |row: usize| array.is_null(row) || *column.data_type() == DataType::Nothing;
                let rows = (0..array.len()).map(|row| (!is_null(row)).then_some((0, row as u32))).collect();
                Ok(Self { columns: vec![column], rows })
            }
        }
    }

    /// The values, where all are of one type and none is NULL: a row each, in order.
    pub fn only(&self) -> Option<&Column> {
        let [one] = &self.columns[..] else { return None };
        let is_in_order = |(at, row): (usize, &Option<(u32, u32)>)| *row == Some((0, at as u32));
        (one.rows() == self.rows.len() && self.rows.iter().enumerate().all(is_in_order)).then_some(one)
    }

    /// The rows, each with its value in the type `to`, where `cast` makes columns of that type; NULL is `to`'s NULL or default.
    ///
    /// # Errors
    /// Those of `cast`, `MEMORY_LIMIT_EXCEEDED`.
    pub fn unite(&self, to: &DataType, mut cast: impl FnMut(usize, &Column) -> Result<Column>) -> Result<Column> {
        if let Some(only) = self.only() {
            return cast(0, only)?.materialize();
        }
        let mut starts = Vec::with_capacity(self.columns.len());
        let mut columns = Vec::with_capacity(self.columns.len() + 1);
        let mut total = 0u32;
        for (at, column) in self.columns.iter().enumerate() {
            let column = cast(at, column)?.materialize()?;
            starts.push(total);
            total += column.rows() as u32;
            columns.push(column);
        }
        // What stands for NULL is the type's default.
        if self.rows.iter().any(Option::is_none) {
            columns.push(Column::default_values(to.clone(), 1)?);
        }
        if columns.is_empty() {
            return Ok(Column::empty(to.clone()));
        }
        let positions = self.rows.iter().map(|row| match row {
            Some((at, position)) => starts.get(*at as usize).map_or(total, |start| start + position),
            None => total,
        });
        Column::concat(&columns)?.take(&UInt32Array::from(positions.collect::<Vec<u32>>()))
    }

    /// The rows as a `Dynamic`.
    ///
    /// # Errors
    /// `TOO_LARGE_STRING_SIZE`, `MEMORY_LIMIT_EXCEEDED`.
    pub fn to_dynamic(&self) -> Result<ArrayRef> {
        let mut writer = DynamicWriter::default();
        let prefixes: Vec<Vec<u8>> = self.columns.iter().map(|column| type_prefix(column.data_type())).collect();
        for row in &self.rows {
            checkpoint(16)?;
            if let Some((at, position)) = row
                && let (Some(column), Some(prefix)) = (self.columns.get(*at as usize), prefixes.get(*at as usize))
            {
                grow(&mut writer.bytes, prefix.len() + 16)?;
                writer.bytes.extend_from_slice(prefix);
                put_row(column.data_type(), &**column.array(), *position as usize, &mut writer.bytes)?;
            }
            writer.end_row()?;
        }
        writer.finish()
    }

    /// The rows as a `Variant` of these alternatives, among which all types are.
    ///
    /// # Errors
    /// `CANNOT_CONVERT_TYPE` where a type is not among them, `MEMORY_LIMIT_EXCEEDED`.
    pub fn to_variant(&self, alternatives: &[DataType]) -> Result<ArrayRef> {
        let place = |column: &Column| alternatives.iter().position(|known| known == column.data_type());
        let places: Vec<Option<usize>> = self.columns.iter().map(place).collect();
        let is_used = |at: usize| self.rows.iter().flatten().any(|row| row.0 as usize == at);
        if let Some(at) =
            places.iter().enumerate().find_map(|(at, place)| (place.is_none() && is_used(at)).then_some(at))
        {
            let to = DataType::Variant(alternatives.into());
            let found = self.columns.get(at).map(|column| column.data_type().to_string()).unwrap_or_default();
            return Err(Error::new(
                ErrorCode::CANNOT_CONVERT_TYPE,
                format!(
                    "Cannot convert type {found} to {to}. Conversion to Variant allowed only for types from this Variant"
                ),
            ));
        }
        let numbers: UInt8Array = self
            .rows
            .iter()
            .map(|row| {
                let place = row.and_then(|(at, _)| places.get(at as usize).copied().flatten());
                place.map_or(NULL_ALTERNATIVE, |place| place as u8)
            })
            .collect::<Vec<u8>>()
            .into();
        let mut columns: Vec<ArrayRef> = vec![Arc::new(numbers)];
        for (place, alternative) in alternatives.iter().enumerate() {
            let own = places.iter().position(|found| *found == Some(place));
            let only = Self {
                columns: own.and_then(|own| self.columns.get(own)).into_iter().cloned().collect(),
                rows: self
                    .rows
                    .iter()
                    .map(|row| row.filter(|(at, _)| Some(*at as usize) == own).map(|(_, position)| (0, position)))
                    .collect(),
            };
            let to = alternative.held_alternative();
            let column = only.unite(&to, |_, column| crate::cast(column, &to, &crate::CastOptions::default()))?;
            columns.push(column.to_array()?);
        }
        variant_array(alternatives, columns)
    }
}

/// The array of a `Variant` from the numbers of alternatives and their columns.
///
/// # Errors
/// `LOGICAL_ERROR` where the columns are not as long as each other.
pub fn variant_array(alternatives: &[DataType], columns: Vec<ArrayRef>) -> Result<ArrayRef> {
    let rows = columns.first().map_or(0, |numbers| numbers.len());
    let fields = DataType::Variant(alternatives.into()).arrow_fields();
    let fields: arrow_schema::Fields = fields
        .iter()
        .zip(&columns)
        .map(|(field, column)| arrow_schema::Field::new(field.name(), column.data_type().clone(), true))
        .collect();
    Ok(Arc::new(StructArray::try_new_with_length(fields, columns, None, rows)?))
}

/// The numbers of the rows' alternatives.
pub fn variant_numbers(array: &ArrayRef) -> &[u8] {
    array.as_struct().columns().first().map_or(&[], |numbers| numbers.as_primitive::<UInt8Type>().values())
}

fn of_variant(alternatives: &[DataType], array: &ArrayRef) -> Result<Alternatives> {
    let numbers = variant_numbers(array);
    let mut columns = Vec::with_capacity(alternatives.len());
    let mut places: Vec<Vec<u32>> = vec![Vec::new(); alternatives.len()];
    let rows = numbers.iter().enumerate().map(|(row, number)| {
        let places = places.get_mut(usize::from(*number))?;
        places.push(row as u32);
        Some((u32::from(*number), places.len() as u32 - 1))
    });
    let rows = rows.collect();
    for ((alternative, column), places) in
        alternatives.iter().zip(array.as_struct().columns().iter().skip(1)).zip(places)
    {
        let column = Column::new(alternative.held_alternative(), column.clone());
        columns.push(column.take(&UInt32Array::from(places))?.without_nulls()?);
    }
    Ok(Alternatives { rows, columns })
}

/// The type and the value of a row of a `Dynamic`, in binary; `None` for NULL.
///
/// # Errors
/// `CANNOT_READ_ALL_DATA`.
pub fn dynamic_parts(bytes: &[u8]) -> Result<Option<(&[u8], &[u8])>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let mut rest = bytes;
    let length = take_count(&mut rest)?;
    let code = take_bytes(&mut rest, length)?;
    Ok(Some((code, rest)))
}

/// What a row of a `Dynamic` begins with where its value is of a type.
pub fn type_prefix(data_type: &DataType) -> Vec<u8> {
    let code = type_bytes(data_type);
    let mut prefix = Vec::with_capacity(code.len() + 1);
    put_varint(code.len() as u64, &mut prefix);
    prefix.extend_from_slice(&code);
    prefix
}

/// The type and value of a row of a `Dynamic`.
///
/// # Errors
/// `LOGICAL_ERROR` for bytes that are no value.
pub(crate) fn dynamic_value(bytes: &[u8]) -> Result<Value> {
    let Some((code, value)) = dynamic_parts(bytes)? else { return Ok(Value::Null) };
    let data_type = take_type(&mut &*code)?;
    let array = read_rows(&data_type, &[value])?;
    Ok(Value::typed(data_type.clone(), value_at(&data_type, &*array, 0)))
}

/// Appends a value to the bytes of a `Dynamic`'s row.
pub(crate) fn put_dynamic(value: &Value, out: &mut Vec<u8>) -> Result<()> {
    match value {
        Value::Null => Ok(()),
        Value::Typed(typed) if typed.1.is_null() => Ok(()),
        Value::Typed(typed) => {
            out.extend_from_slice(&type_prefix(&typed.0));
            crate::binary::put_value(&typed.1, &typed.0, out)
        }
        plain => {
            let data_type = plain.literal_type();
            out.extend_from_slice(&type_prefix(&data_type));
            crate::binary::put_value(plain, &data_type, out)
        }
    }
}

fn of_dynamic(array: &ArrayRef) -> Result<Alternatives> {
    let values = array.as_binary::<i32>();
    let mut numbers: HashMap<&[u8], u32> = HashMap::new();
    let mut by_type: Vec<Vec<&[u8]>> = Vec::new();
    let mut rows = Vec::with_capacity(values.len());
    // Most values are of the type of the one before.
    let mut last: (&[u8], u32) = (&[], 0);
    for row in 0..values.len() {
        checkpoint(1)?;
        let bytes = values.value(row);
        let of_last = if last.0.is_empty() { None } else { bytes.strip_prefix(last.0) };
        let (number, value) = match of_last {
            Some(value) => (last.1, value),
            None => {
                let Some((code, value)) = dynamic_parts(bytes)? else {
                    rows.push(None);
                    continue;
                };
                let number = *numbers.entry(code).or_insert_with(|| {
                    by_type.push(Vec::new());
                    by_type.len() as u32 - 1
                });
                last = (bytes.get(..bytes.len() - value.len()).unwrap_or_default(), number);
                (number, value)
            }
        };
        let of_type = by_type.get_mut(number as usize).ok_or_else(too_short)?;
        rows.push(Some((number, of_type.len() as u32)));
        grow(of_type, 1)?;
        of_type.push(value);
    }
    let mut codes: Vec<(&[u8], u32)> = numbers.into_iter().collect();
    codes.sort_by_key(|(_, number)| *number);
    let columns = codes.into_iter().zip(by_type).map(|((code, _), values)| {
        let data_type = take_type(&mut &*code)?;
        let array = read_rows(&data_type, &values)?;
        Ok(Column::new(data_type, array))
    });
    Ok(Alternatives { columns: columns.collect::<Result<_>>()?, rows })
}

/// Builds the array of a `Dynamic` row by row.
#[derive(Debug)]
pub struct DynamicWriter {
    /// The bytes of all rows so far.
    pub bytes: Vec<u8>,
    ends: Vec<i32>,
}

impl Default for DynamicWriter {
    fn default() -> Self {
        Self { bytes: Vec::new(), ends: vec![0] }
    }
}

impl DynamicWriter {
    /// The rows so far.
    pub fn rows(&self) -> usize {
        self.ends.len() - 1
    }

    /// Ends a row; one to which no bytes were added is NULL.
    ///
    /// # Errors
    /// `TOO_LARGE_STRING_SIZE`.
    pub fn end_row(&mut self) -> Result<()> {
        self.ends.push(i32::try_from(self.bytes.len()).map_err(|_| {
            Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of values of Dynamic in one block")
        })?);
        Ok(())
    }

    /// Takes rows back.
    pub fn truncate(&mut self, rows: usize) {
        self.ends.truncate(rows + 1);
        self.bytes.truncate(self.ends.last().map_or(0, |end| *end as usize));
    }

    /// The array; the writer is empty afterwards.
    ///
    /// # Errors
    /// `LOGICAL_ERROR`.
    pub fn finish(&mut self) -> Result<ArrayRef> {
        let all = std::mem::take(self);
        Ok(Arc::new(BinaryArray::try_new(OffsetBuffer::new(all.ends.into()), all.bytes.into(), None)?))
    }
}
