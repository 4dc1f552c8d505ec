//! `Nullable` and `LowCardinality` put on columns and taken off them, without touching the values where that is possible.

use std::hash::Hash;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, DictionaryArray, FixedSizeBinaryArray, ListArray, PrimitiveArray, StructArray,
    UInt32Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType as ArrowType;
use hashbrown::HashMap;

use crate::cast::{CastOptions, cast};
use crate::coded::Coded;
use crate::column::Column;
use crate::data_type::DataType;
use crate::error::{Error, Result};
use crate::kernels;
use crate::rows::Rows;

/// Runs `$body` with `$t` as the Arrow type of a primitive array, or `$other` for arrays of any other kind.
#[macro_export]
macro_rules! match_primitive {
    ($arrow_type:expr, $t:ident => $body:expr, _ => $other:expr) => {{
        use arrow_array::types as arrow_types;
        match $arrow_type {
            arrow_schema::DataType::UInt8 => {
                type $t = arrow_types::UInt8Type;
                $body
            }
            arrow_schema::DataType::UInt16 => {
                type $t = arrow_types::UInt16Type;
                $body
            }
            arrow_schema::DataType::UInt32 => {
                type $t = arrow_types::UInt32Type;
                $body
            }
            arrow_schema::DataType::UInt64 => {
                type $t = arrow_types::UInt64Type;
                $body
            }
            arrow_schema::DataType::Int8 => {
                type $t = arrow_types::Int8Type;
                $body
            }
            arrow_schema::DataType::Int16 => {
                type $t = arrow_types::Int16Type;
                $body
            }
            arrow_schema::DataType::Int32 => {
                type $t = arrow_types::Int32Type;
                $body
            }
            arrow_schema::DataType::Int64 => {
                type $t = arrow_types::Int64Type;
                $body
            }
            arrow_schema::DataType::Float32 => {
                type $t = arrow_types::Float32Type;
                $body
            }
            arrow_schema::DataType::Float64 => {
                type $t = arrow_types::Float64Type;
                $body
            }
            _ => $other,
        }
    }};
}

impl Column {
    /// The values as `T` of a `Nullable(T)`; what lies under a NULL is anything. Other types are returned as they are.
    ///
    /// # Errors
    /// Never for a column of a valid layout.
    pub fn without_nulls(&self) -> Result<Self> {
        let data_type = match self.data_type() {
            DataType::Nullable(inner) => (**inner).clone(),
            other => other.clone(),
        };
        if matches!(data_type, DataType::LowCardinality(_)) {
            return Ok(self.clone());
        }
        if let Some(coded) = self.coded() {
            return Ok(Self::of_rows(data_type, Rows::Coded(coded.with_nulls(None)?)));
        }
        let array = match &data_type {
            DataType::Tuple(_) => denulled(&data_type, self.array())?,
            _ if self.array().nulls().is_some() => with_validity(self.array(), None)?,
            _ => self.array().clone(),
        };
        Ok(self.like(data_type, array))
    }

    /// The values as `Nullable(T)` with this validity in place of the column's own; a type that has no `Nullable` stays as it is
    /// and `nulls` is not looked at. A constant takes a validity of one row.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where the validity is not of the column's length.
    pub fn to_nullable(&self, nulls: Option<NullBuffer>) -> Result<Self> {
        let data_type = match self.data_type() {
            DataType::Nullable(_) => self.data_type().clone(),
            other if other.can_be_inside_nullable() => DataType::Nullable(Arc::new(other.clone())),
            _ => return Ok(self.clone()),
        };
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        if let Some(coded) = self.coded() {
            return Ok(Self::of_rows(data_type, Rows::Coded(coded.with_nulls(nulls)?)));
        }
        let array = match (&nulls, self.array().nulls()) {
            (None, None) => self.array().clone(),
            _ => with_validity(self.array(), nulls)?,
        };
        Ok(self.like(data_type, array))
    }

    /// The values without an outer `LowCardinality`: `T` of `LowCardinality(T)`, nullable where T is.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where a key has no entry.
    pub fn without_low_cardinality(&self) -> Result<Self> {
        let DataType::LowCardinality(inner) = self.data_type() else { return Ok(self.clone()) };
        let dictionary = self.array().as_dictionary::<UInt32Type>();
        if !self.is_constant()
            && let Some(rows) = Coded::rows_of(dictionary.clone())?
        {
            return Ok(Self::of_rows((**inner).clone(), rows));
        }
        let array = kernels::take(&**dictionary.values(), dictionary.keys())?;
        Ok(self.like((**inner).clone(), array))
    }

    /// The values without any `LowCardinality`, also inside arrays, tuples and maps.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where a key has no entry.
    pub fn without_dictionaries(&self) -> Result<Self> {
        match self.data_type() {
            DataType::LowCardinality(_) => self.without_low_cardinality(),
            other if other.has_dictionary() => cast(self, &other.without_dictionaries(), &CastOptions::default()),
            _ => Ok(self.clone()),
        }
    }

    /// The values as `LowCardinality(T)`, each distinct value once in the dictionary. A column that is one already stays.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` for types that have no `LowCardinality`.
    pub fn into_low_cardinality(self) -> Result<Self> {
        if matches!(self.data_type(), DataType::LowCardinality(_)) {
            return Ok(self);
        }
        let array = match self.coded() {
            Some(coded) => Arc::new(coded.dictionary().clone()),
            None => encode_dictionary(self.array())?,
        };
        let data_type = DataType::LowCardinality(Arc::new(self.data_type().clone()));
        Ok(self.like(data_type, array))
    }

    /// A column of another type and array with this one's constancy.
    pub(crate) fn like(&self, data_type: DataType, array: ArrayRef) -> Self {
        let column = Self::new(data_type, array);
        if self.is_constant() { Self::repeat(&column, self.rows()) } else { column }
    }
}

/// The same values as a dictionary of each distinct one; keys carry the validity.
pub(crate) fn encode_dictionary(array: &ArrayRef) -> Result<ArrayRef> {
    let (keys, first_rows) = match array.data_type() {
        ArrowType::Binary => distinct(array.as_binary::<i32>().iter()),
        ArrowType::FixedSizeBinary(_) => distinct(array.as_fixed_size_binary().iter()),
        ArrowType::Float32 => distinct(
            array.as_primitive::<arrow_array::types::Float32Type>().iter().map(|value| value.map(f32::to_bits)),
        ),
        ArrowType::Float64 => distinct(
            array.as_primitive::<arrow_array::types::Float64Type>().iter().map(|value| value.map(f64::to_bits)),
        ),
        ArrowType::UInt8 => distinct(array.as_primitive::<arrow_array::types::UInt8Type>().iter()),
        ArrowType::UInt16 => distinct(array.as_primitive::<arrow_array::types::UInt16Type>().iter()),
        ArrowType::UInt32 => distinct(array.as_primitive::<UInt32Type>().iter()),
        ArrowType::UInt64 => distinct(array.as_primitive::<arrow_array::types::UInt64Type>().iter()),
        ArrowType::Int8 => distinct(array.as_primitive::<arrow_array::types::Int8Type>().iter()),
        ArrowType::Int16 => distinct(array.as_primitive::<arrow_array::types::Int16Type>().iter()),
        ArrowType::Int32 => distinct(array.as_primitive::<arrow_array::types::Int32Type>().iter()),
        ArrowType::Int64 => distinct(array.as_primitive::<arrow_array::types::Int64Type>().iter()),
        other => return Err(Error::logical(format!("LowCardinality over {other}"))),
    };
    let values = kernels::take(&**array, &first_rows)?;
    Ok(Arc::new(DictionaryArray::try_new(keys, values)?))
}

/// The key of each row, by first appearance, and the row of each key's first appearance.
fn distinct<K: Hash + Eq>(values: impl Iterator<Item = Option<K>>) -> (UInt32Array, UInt32Array) {
    let mut keys: HashMap<K, u32> = HashMap::new();
    let mut first_rows: Vec<u32> = Vec::new();
    let rows = values
        .enumerate()
        .map(|(row, value)| {
            value.map(|value| {
                *keys.entry(value).or_insert_with(|| {
                    first_rows.push(row as u32);
                    first_rows.len() as u32 - 1
                })
            })
        })
        .collect();
    (rows, first_rows.into())
}

/// The values of a type that has no NULL of its own: what was NULL, as the tuple around it was, is anything.
pub(crate) fn denulled(data_type: &DataType, array: &ArrayRef) -> Result<ArrayRef> {
    match data_type {
        DataType::Nullable(_) | DataType::LowCardinality(_) => Ok(array.clone()),
        DataType::Tuple(elements) => {
            let (fields, columns, _) = array.as_struct().clone().into_parts();
            let columns = elements.iter().zip(&columns).map(|(element, column)| denulled(&element.data_type, column));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            Ok(Arc::new(StructArray::try_new_with_length(fields, columns, None, array.len())?))
        }
        _ if array.nulls().is_some() => with_validity(array, None),
        _ => Ok(array.clone()),
    }
}

/// The same values with this validity in place of their own.
pub(crate) fn with_validity(array: &ArrayRef, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    match_primitive!(array.data_type(), T => {
        let values = array.as_primitive::<T>().values().clone();
        Ok(Arc::new(PrimitiveArray::<T>::try_new(values, nulls)?))
    }, _ => match array.data_type() {
        ArrowType::Binary => {
            let (offsets, values, _) = array.as_binary::<i32>().clone().into_parts();
            Ok(Arc::new(BinaryArray::try_new(offsets, values, nulls)?))
        }
        ArrowType::FixedSizeBinary(width) => {
            let values = array.as_fixed_size_binary();
            Ok(Arc::new(FixedSizeBinaryArray::try_new(*width, values.values().clone(), nulls)?))
        }
        ArrowType::List(_) => {
            let (field, offsets, values, _) = array.as_list::<i32>().clone().into_parts();
            Ok(Arc::new(ListArray::try_new(field, offsets, values, nulls)?))
        }
        ArrowType::Struct(_) => {
            let rows = array.len();
            let (fields, columns, _) = array.as_struct().clone().into_parts();
            Ok(Arc::new(StructArray::try_new_with_length(fields, columns, nulls, rows)?))
        }
        _ => Ok(array.clone()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ColumnBuilder, Value};

    fn column(name: &str, values: &[Value]) -> Column {
        let mut builder = ColumnBuilder::new(DataType::parse(name).unwrap());
        values.iter().for_each(|value| builder.append(value).unwrap());
        builder.finish().unwrap()
    }

    #[test]
    fn wrappers_go_on_and_off() {
        let values = [Value::from("a"), Value::Null, Value::from("a"), Value::from("b")];
        let nullable = column("Nullable(String)", &values);
        let dictionary = nullable.clone().into_low_cardinality().unwrap();
        assert_eq!(dictionary.data_type().to_string(), "LowCardinality(Nullable(String))");
        assert_eq!(dictionary.array().as_dictionary::<UInt32Type>().values().len(), 2);
        let back = dictionary.without_low_cardinality().unwrap();
        assert_eq!((0..4).map(|row| back.value(row)).collect::<Vec<_>>(), values);
        let plain = nullable.without_nulls().unwrap();
        assert!(plain.nulls().is_none());
        assert_eq!(plain.value(3), Value::from("b"));
        let again = plain.to_nullable(nullable.nulls().cloned()).unwrap();
        assert_eq!((0..4).map(|row| again.value(row)).collect::<Vec<_>>(), values);
    }

    #[test]
    fn slices_keep_their_rows() {
        let fixed =
            column("Nullable(FixedString(2))", &[Value::from("ab"), Value::Null, Value::from("cd")]).slice(1, 2);
        let plain = fixed.without_nulls().unwrap();
        assert_eq!(plain.rows(), 2);
        assert_eq!(plain.value(1), Value::from("cd"));
    }
}
