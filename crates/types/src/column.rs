//! A column: a ClickHouse type and an Arrow array of it, one value that stands for every row, those rows that are not like most, or the
//! codes of few strings.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowDictionaryKeyType, UInt32Type};
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray, ListArray,
    NullArray, PrimitiveArray, StructArray, UInt32Array, new_empty_array,
};
use arrow_buffer::{ArrowNativeType, NullBuffer, OffsetBuffer, ScalarBuffer};

use crate::alternatives::{dynamic_value, put_dynamic};
use crate::coded::Coded;
use crate::data_type::DataType;
use crate::error::{Error, ErrorCode, Result};
use crate::integer::{I256, Integer, U256};
use crate::memory::grow;
use crate::physical::Physical;
use crate::rows::Rows;
use crate::sparse::Sparse;
use crate::value::Value;
use crate::variant_type::NULL_ALTERNATIVE;
use crate::{kernels, match_integer, value_bytes};

/// Values of one ClickHouse type. Cheap to clone and to slice: arrays are shared.
#[derive(Clone, Debug)]
pub struct Column {
    data_type: DataType,
    rows: Rows,
}

impl Column {
    /// A column of `array`, whose Arrow type must be `data_type.arrow_type()`.
    pub fn new(data_type: DataType, array: ArrayRef) -> Self {
        Self::of_rows(data_type, Rows::Whole(array))
    }

    /// A column of rows whose Arrow type must be `data_type.arrow_type()`.
    pub fn of_rows(data_type: DataType, rows: Rows) -> Self {
        debug_assert!(
            same_layout(&data_type.arrow_type(), rows.arrow_type()),
            "{data_type} over {:?}",
            rows.arrow_type()
        );
        Self { data_type, rows }
    }

    /// `rows` times `value`.
    ///
    /// # Errors
    /// `TYPE_MISMATCH` where the value is not one of the type's.
    pub fn constant(data_type: DataType, value: &Value, rows: usize) -> Result<Self> {
        let mut builder = ColumnBuilder::new(data_type.clone());
        builder.append(value)?;
        Ok(Self { data_type, rows: Rows::Constant(builder.finish_array()?, rows) })
    }

    /// `rows` times the only row of `one`.
    pub fn repeat(one: &Self, rows: usize) -> Self {
        let array = one.array().clone();
        debug_assert_eq!(array.len(), 1);
        Self { data_type: one.data_type.clone(), rows: Rows::Constant(array, rows) }
    }

    /// No rows of a type.
    pub fn empty(data_type: DataType) -> Self {
        let array = new_empty_array(&data_type.arrow_type());
        Self { data_type, rows: Rows::Whole(array) }
    }

    /// `rows` times the type's default value (0, empty, NULL where nullable).
    pub fn default_values(data_type: DataType, rows: usize) -> Result<Self> {
        let value = default_value(&data_type);
        Self::constant(data_type, &value, rows)
    }

    /// A column of a primitive type from its values.
    pub fn from_primitive<T: ArrowPrimitiveType>(data_type: DataType, values: Vec<T::Native>) -> Self {
        Self::new(data_type, Arc::new(PrimitiveArray::<T>::new(values.into(), None)))
    }

    /// A `String` column.
    pub fn from_strings<S: AsRef<[u8]>>(values: impl IntoIterator<Item = S>) -> Self {
        Self::new(DataType::String, Arc::new(BinaryArray::from_iter_values(values)))
    }

    /// The type.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// The same values under another type of the same layout (`Int8` as `Enum8`, `UInt32` as `DateTime`).
    #[must_use]
    pub fn with_type(mut self, data_type: DataType) -> Self {
        debug_assert!(same_layout(&data_type.arrow_type(), self.rows.arrow_type()));
        self.data_type = data_type;
        self
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// Whether one value stands for every row.
    pub fn is_constant(&self) -> bool {
        matches!(self.rows, Rows::Constant(..))
    }

    /// The value where the column is a constant.
    pub fn constant_value(&self) -> Option<Value> {
        match &self.rows {
            Rows::Constant(one, _) => Some(value_at(&self.data_type, &**one, 0)),
            _ => None,
        }
    }

    /// The rows where most of them have one value: for code that gains by it. What does not ask sees a column like others, whose
    /// array is made when it is asked for.
    pub fn sparse(&self) -> Option<&Sparse> {
        match &self.rows {
            Rows::Sparse(sparse) => Some(sparse),
            _ => None,
        }
    }

    /// The rows as codes of few strings: for code that gains by it, as that of [`sparse`](Self::sparse).
    pub fn coded(&self) -> Option<&Coded> {
        match &self.rows {
            Rows::Coded(coded) => Some(coded),
            _ => None,
        }
    }

    /// Codes and values of rows that are such: of a [coded](Self::coded) column, or of a `LowCardinality` one.
    pub fn dictionary(&self) -> Option<&DictionaryArray<UInt32Type>> {
        match &self.rows {
            Rows::Coded(coded) => Some(coded.dictionary()),
            Rows::Whole(array) => array.as_dictionary_opt::<UInt32Type>(),
            Rows::Constant(..) | Rows::Sparse(_) => None,
        }
    }

    /// The array of all rows, or of the one row of a constant: for code that treats constants apart.
    pub fn array(&self) -> &ArrayRef {
        self.rows.array()
    }

    /// The array of all rows; a constant is written out.
    pub fn to_array(&self) -> Result<ArrayRef> {
        match &self.rows {
            Rows::Whole(array) | Rows::Constant(array, 1) => Ok(array.clone()),
            Rows::Constant(one, rows) => kernels::repeat(&**one, *rows),
            Rows::Sparse(sparse) => sparse.to_array(),
            Rows::Coded(coded) => coded.to_array(),
        }
    }

    /// The same column, a constant written out: rows that are sparse or codes stay so.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
    pub fn without_constant(self) -> Result<Self> {
        if self.is_constant() { self.materialize() } else { Ok(self) }
    }

    /// The same column with every row written out.
    pub fn materialize(&self) -> Result<Self> {
        Ok(Self { data_type: self.data_type.clone(), rows: Rows::Whole(self.to_array()?) })
    }

    /// The value of a row. Slow: for constants, results of one row, and tests.
    pub fn value(&self, row: usize) -> Value {
        let (array, at) = match &self.rows {
            Rows::Whole(array) => (array, row),
            Rows::Constant(one, _) => (one, 0),
            Rows::Sparse(sparse) => sparse.find(row).map_or((sparse.default_row(), 0), |at| (sparse.values(), at)),
            Rows::Coded(coded) if coded.codes().is_null(row) => return Value::Null,
            Rows::Coded(coded) => (coded.values(), coded.codes().value(row) as usize),
        };
        value_at(&self.data_type, &**array, at)
    }

    /// Rows `offset..offset + rows`, without copying.
    #[must_use]
    pub fn slice(&self, offset: usize, rows: usize) -> Self {
        Self { data_type: self.data_type.clone(), rows: self.rows.slice(offset, rows) }
    }

    /// The rows whose mask is true; NULL in the mask counts as false. `selected` is the number of them.
    pub fn filter(&self, mask: &BooleanArray, selected: usize) -> Result<Self> {
        let rows = match &self.rows {
            Rows::Whole(array) => Rows::Whole(kernels::filter(&**array, mask)?),
            Rows::Constant(one, _) => Rows::Constant(one.clone(), selected),
            Rows::Sparse(sparse) => {
                let chosen = sparse.filter(mask, selected)?;
                match chosen.defaults() {
                    0 => Rows::Whole(chosen.values().clone()),
                    // Where most rows are listed, the list only costs.
                    few if few <= chosen.rows() / 2 => Rows::Whole(chosen.to_array()?),
                    _ => Rows::Sparse(chosen),
                }
            }
            Rows::Coded(coded) => coded.filter(mask)?,
        };
        Ok(Self { data_type: self.data_type.clone(), rows })
    }

    /// The rows at these positions; a NULL position makes a NULL (or, without validity, a default) row.
    pub fn take(&self, positions: &UInt32Array) -> Result<Self> {
        let rows = match &self.rows {
            Rows::Whole(array) => match Coded::of_repeated(array, positions)? {
                Some(repeated) => repeated,
                None => Rows::Whole(kernels::take(&**array, positions)?),
            },
            Rows::Constant(one, _) if positions.null_count() == 0 => Rows::Constant(one.clone(), positions.len()),
            Rows::Sparse(sparse) if positions.null_count() == 0 => Rows::Whole(sparse.take(positions)?),
            Rows::Coded(coded) => coded.take(positions)?,
            Rows::Constant(..) | Rows::Sparse(_) => return self.materialize()?.take(positions),
        };
        Ok(Self { data_type: self.data_type.clone(), rows })
    }

    /// The columns one after the other. All must have one type; an empty list is an error.
    pub fn concat(columns: &[Self]) -> Result<Self> {
        let [first, rest @ ..] = columns else { return Err(Error::logical("concat of no columns")) };
        if rest.is_empty() {
            return first.materialize();
        }
        if let Some(sparse) = columns.iter().map(Self::sparse).collect::<Option<Vec<_>>>()
            && let Some(all) = Sparse::concat(&sparse)?
        {
            return Ok(Self::of_rows(first.data_type.clone(), Rows::Sparse(all)));
        }
        if let Some(coded) = columns.iter().map(Self::coded).collect::<Option<Vec<_>>>()
            && let Some(all) = Coded::concat(&coded)?
        {
            return Ok(Self::of_rows(first.data_type.clone(), all));
        }
        let arrays = columns.iter().map(Self::to_array).collect::<Result<Vec<_>>>()?;
        let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
        Ok(Self::new(first.data_type.clone(), kernels::concat(&arrays)?))
    }

    /// The primitive array of a non-constant column of this Arrow type.
    pub fn as_primitive<T: ArrowPrimitiveType>(&self) -> Result<&PrimitiveArray<T>> {
        self.array()
            .as_primitive_opt::<T>()
            .ok_or_else(|| Error::logical(format!("column of {} is not {:?}", self.data_type, T::DATA_TYPE)))
    }

    /// The string array of a non-constant `String` (or `Nullable(String)`) column.
    pub fn as_binary(&self) -> Result<&BinaryArray> {
        self.array()
            .as_binary_opt::<i32>()
            .ok_or_else(|| Error::logical(format!("column of {} is not String", self.data_type)))
    }

    /// Which rows are NULL; `None` where none is. For `LowCardinality` these are the keys' NULLs.
    pub fn nulls(&self) -> Option<&NullBuffer> {
        match &self.rows {
            Rows::Whole(array) | Rows::Constant(array, _) => array.nulls().filter(|nulls| nulls.null_count() > 0),
            Rows::Sparse(_) => None,
            Rows::Coded(coded) => coded.nulls(),
        }
    }

    /// Bytes held in memory, shared buffers counted in full.
    pub fn memory_bytes(&self) -> usize {
        self.rows.memory_bytes()
    }

    /// Bytes of the values in ClickHouse's accounting (`read_bytes`): fixed widths by row, strings by content and a length. However the
    /// rows are held.
    pub fn value_bytes(&self) -> usize {
        value_bytes::of_rows(&self.data_type, &self.rows)
    }
}

/// Whether two Arrow types have one layout: list items and struct fields may differ in names and nullability.
fn same_layout(expected: &arrow_schema::DataType, found: &arrow_schema::DataType) -> bool {
    use arrow_schema::DataType as Arrow;
    match (expected, found) {
        (Arrow::List(left), Arrow::List(right)) => same_layout(left.data_type(), right.data_type()),
        (Arrow::Struct(left), Arrow::Struct(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same_layout(left.data_type(), right.data_type()))
        }
        (Arrow::Dictionary(left_key, left), Arrow::Dictionary(right_key, right)) => {
            left_key == right_key && same_layout(left, right)
        }
        _ => expected == found,
    }
}

/// The default value of a type: 0, the empty string, NULL where nullable, the first number of an enum.
pub fn default_value(data_type: &DataType) -> Value {
    match data_type {
        DataType::Nothing | DataType::Nullable(_) => return Value::Null,
        DataType::Bool => return Value::Bool(false),
        DataType::Enum8(values) | DataType::Enum16(values) => {
            return Value::Int64(values.iter().next().map_or(0, |(_, number)| i64::from(number)));
        }
        DataType::Decimal(_, scale) => return Value::Decimal(Box::default(), *scale),
        DataType::LowCardinality(inner) => return default_value(inner),
        DataType::SimpleAggregateFunction(simple) => return default_value(simple.values()),
        DataType::Named(named) => return default_value(named.values()),
        DataType::Array(_) => return Value::Array([].into()),
        DataType::Map(..) => return Value::Map([].into()),
        DataType::Variant(_) | DataType::Dynamic(_) => return Value::Null,
        DataType::Tuple(_) | DataType::Json(_) => {
            return Value::Tuple(data_type.struct_types().iter().map(default_value).collect());
        }
        _ => {}
    }
    match data_type.physical() {
        Physical::Nothing | Physical::Dictionary | Physical::List | Physical::Struct => Value::Null,
        Physical::UInt8 | Physical::UInt16 | Physical::UInt32 | Physical::UInt64 => Value::UInt64(0),
        Physical::Int8 | Physical::Int16 | Physical::Int32 | Physical::Int64 => Value::Int64(0),
        Physical::UInt128 | Physical::UInt256 => Value::UInt256(Box::default()),
        Physical::Int128 | Physical::Int256 => Value::Int256(Box::default()),
        Physical::Float32 | Physical::Float64 => Value::Float64(0.0),
        Physical::Bytes => Value::string(""),
        Physical::Fixed(length) => Value::String(vec![0; length].into()),
        Physical::Uuid => Value::Uuid([0; 16]),
    }
}

/// The value at a position of an array of `data_type`.
pub(crate) fn value_at(data_type: &DataType, array: &dyn Array, row: usize) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    fn primitive<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
        array.as_primitive::<T>().value(row)
    }
    fn wide<T: Integer>(array: &dyn Array, row: usize) -> T {
        T::from_bytes(array.as_fixed_size_binary().value(row))
    }
    let unsigned = |value: u64| Value::UInt64(value);
    let signed = |value: i64| Value::Int64(value);
    match data_type {
        DataType::Bool => return Value::Bool(primitive::<UInt8Type>(array, row) != 0),
        DataType::Nullable(inner) => return value_at(inner, array, row),
        DataType::SimpleAggregateFunction(simple) => return value_at(simple.values(), array, row),
        DataType::Named(named) => return value_at(named.values(), array, row),
        DataType::LowCardinality(inner) => {
            let dictionary = array.as_dictionary::<UInt32Type>();
            return value_at(inner, &**dictionary.values(), dictionary.keys().value(row).as_usize());
        }
        DataType::Decimal(_, scale) => {
            let value = match_integer!(data_type, T => T::values(&*array.slice(row, 1)).first().map(|value| value.large()), _ => None);
            return Value::Decimal(Box::new(value.unwrap_or_default()), *scale);
        }
        DataType::Array(item) => {
            let items = array.as_list::<i32>().value(row);
            return Value::Array((0..items.len()).map(|at| value_at(item, &*items, at)).collect());
        }
        DataType::Map(key, value) => {
            let entries = array.as_list::<i32>().value(row);
            let entries = entries.as_struct();
            return Value::Map(
                (0..entries.len())
                    .map(|at| (value_at(key, &**entries.column(0), at), value_at(value, &**entries.column(1), at)))
                    .collect(),
            );
        }
        DataType::Variant(alternatives) => {
            let columns = array.as_struct().columns();
            let number = columns.first().map_or(NULL_ALTERNATIVE, |numbers| primitive::<UInt8Type>(&**numbers, row));
            let number = usize::from(number);
            let Some((one, column)) = alternatives.get(number).zip(columns.get(number + 1)) else { return Value::Null };
            return Value::typed(one.clone(), value_at(one, &**column, row));
        }
        // Bytes that are no value can only come from a damaged file.
        DataType::Dynamic(_) => return dynamic_value(array.as_binary::<i32>().value(row)).unwrap_or(Value::Null),
        DataType::Tuple(_) | DataType::Json(_) => {
            let types = data_type.struct_types();
            let parts = types.iter().zip(array.as_struct().columns());
            return Value::Tuple(parts.map(|(part, column)| value_at(part, &**column, row)).collect());
        }
        _ => {}
    }
    match data_type.physical() {
        Physical::Nothing | Physical::Dictionary | Physical::List | Physical::Struct => Value::Null,
        Physical::UInt8 => unsigned(primitive::<UInt8Type>(array, row).into()),
        Physical::UInt16 => unsigned(primitive::<UInt16Type>(array, row).into()),
        Physical::UInt32 => unsigned(primitive::<UInt32Type>(array, row).into()),
        Physical::UInt64 => unsigned(primitive::<UInt64Type>(array, row)),
        Physical::Int8 => signed(primitive::<Int8Type>(array, row).into()),
        Physical::Int16 => signed(primitive::<Int16Type>(array, row).into()),
        Physical::Int32 => signed(primitive::<Int32Type>(array, row).into()),
        Physical::Int64 => signed(primitive::<Int64Type>(array, row)),
        Physical::Int128 => Value::Int256(Box::new(wide::<i128>(array, row).into())),
        Physical::Int256 => Value::Int256(Box::new(wide(array, row))),
        Physical::UInt128 => Value::UInt256(Box::new(wide::<u128>(array, row).into())),
        Physical::UInt256 => Value::UInt256(Box::new(wide(array, row))),
        Physical::Float32 => Value::Float64(primitive::<Float32Type>(array, row).into()),
        Physical::Float64 => Value::Float64(primitive::<Float64Type>(array, row)),
        Physical::Bytes => Value::string(array.as_binary::<i32>().value(row)),
        Physical::Uuid => Value::Uuid(array.as_fixed_size_binary().value(row).try_into().unwrap_or_default()),
        Physical::Fixed(_) => Value::string(array.as_fixed_size_binary().value(row)),
    }
}

/// Builds a column value by value. Slow but complete: for constants, `VALUES`, system tables and tests; formats and functions
/// that see many rows build their arrays themselves.
#[derive(Debug)]
pub struct ColumnBuilder {
    data_type: DataType,
    values: Values,
    /// Validity of each row, kept only by nullable builders.
    valid: Option<Vec<bool>>,
}

#[derive(Debug)]
enum Values {
    Nothing(usize),
    UInt8(Vec<u8>),
    UInt16(Vec<u16>),
    UInt32(Vec<u32>),
    UInt64(Vec<u64>),
    Int8(Vec<i8>),
    Int16(Vec<i16>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    UInt128(Vec<u128>),
    UInt256(Vec<U256>),
    Int128(Vec<i128>),
    Int256(Vec<I256>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    String {
        bytes: Vec<u8>,
        offsets: Vec<i32>,
    },
    Fixed {
        bytes: Vec<u8>,
        width: usize,
    },
    List {
        items: Box<ColumnBuilder>,
        offsets: Vec<i32>,
    },
    Tuple {
        elements: Vec<ColumnBuilder>,
        rows: usize,
    },
    /// Values by first appearance; rows are keys into them.
    Dictionary {
        index: std::collections::HashMap<Vec<u8>, u32>,
        values: Box<ColumnBuilder>,
        keys: Vec<Option<u32>>,
    },
}

impl ColumnBuilder {
    /// An empty builder of a type.
    pub fn new(data_type: DataType) -> Self {
        let (inner, valid) = match &data_type {
            DataType::Nullable(inner) => (inner.without_names(), Some(Vec::new())),
            other => (other.without_names(), None),
        };
        let values = match inner.physical() {
            Physical::Nothing => Values::Nothing(0),
            Physical::UInt8 => Values::UInt8(Vec::new()),
            Physical::UInt16 => Values::UInt16(Vec::new()),
            Physical::UInt32 => Values::UInt32(Vec::new()),
            Physical::UInt64 => Values::UInt64(Vec::new()),
            Physical::Int8 => Values::Int8(Vec::new()),
            Physical::Int16 => Values::Int16(Vec::new()),
            Physical::Int32 => Values::Int32(Vec::new()),
            Physical::Int64 => Values::Int64(Vec::new()),
            Physical::UInt128 => Values::UInt128(Vec::new()),
            Physical::UInt256 => Values::UInt256(Vec::new()),
            Physical::Int128 => Values::Int128(Vec::new()),
            Physical::Int256 => Values::Int256(Vec::new()),
            Physical::Float32 => Values::Float32(Vec::new()),
            Physical::Float64 => Values::Float64(Vec::new()),
            Physical::Bytes => Values::String { bytes: Vec::new(), offsets: vec![0] },
            Physical::Fixed(width) => Values::Fixed { bytes: Vec::new(), width },
            Physical::Uuid => Values::Fixed { bytes: Vec::new(), width: 16 },
            Physical::List => Values::List { items: Box::new(Self::new(inner.list_item())), offsets: vec![0] },
            Physical::Struct => {
                Values::Tuple { elements: inner.struct_types().into_iter().map(Self::new).collect(), rows: 0 }
            }
            Physical::Dictionary => Values::Dictionary {
                index: std::collections::HashMap::new(),
                values: Box::new(Self::new(inner.remove_low_cardinality().remove_nullable())),
                keys: Vec::new(),
            },
        };
        Self { data_type, values, valid }
    }

    /// The rows so far.
    pub fn rows(&self) -> usize {
        match &self.values {
            Values::Nothing(rows) | Values::Tuple { rows, .. } => *rows,
            Values::UInt8(values) => values.len(),
            Values::UInt16(values) => values.len(),
            Values::UInt32(values) => values.len(),
            Values::UInt64(values) => values.len(),
            Values::Int8(values) => values.len(),
            Values::Int16(values) => values.len(),
            Values::Int32(values) => values.len(),
            Values::Int64(values) => values.len(),
            Values::UInt128(values) => values.len(),
            Values::UInt256(values) => values.len(),
            Values::Int128(values) => values.len(),
            Values::Int256(values) => values.len(),
            Values::Float32(values) => values.len(),
            Values::Float64(values) => values.len(),
            Values::String { offsets, .. } | Values::List { offsets, .. } => offsets.len() - 1,
            Values::Fixed { bytes, width } => bytes.len() / width,
            Values::Dictionary { keys, .. } => keys.len(),
        }
    }

    /// Appends a value, converting between integer variants where it fits.
    ///
    /// # Errors
    /// `TYPE_MISMATCH`, `VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE`, `CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN`.
    pub fn append(&mut self, value: &Value) -> Result<()> {
        if let (true, Some(valid)) = (value.is_null(), &mut self.valid) {
            valid.push(false);
            let filler = match &self.data_type {
                DataType::Nullable(inner) => default_value(inner),
                other => default_value(other),
            };
            return self.append_valid(&filler);
        }
        self.append_valid(value)?;
        if let Some(valid) = &mut self.valid {
            valid.push(true);
        }
        Ok(())
    }

    fn append_valid(&mut self, value: &Value) -> Result<()> {
        fn unsigned<T: TryFrom<u64>>(value: &Value, data_type: &DataType) -> Result<T> {
            value.as_u64().and_then(|value| T::try_from(value).ok()).ok_or_else(|| mismatch(value, data_type))
        }
        fn signed<T: TryFrom<i64> + Integer>(value: &Value, data_type: &DataType) -> Result<T> {
            if data_type.inner().is_decimal() {
                return wide(value, data_type);
            }
            value.as_i64().and_then(|value| T::try_from(value).ok()).ok_or_else(|| mismatch(value, data_type))
        }
        // An integer, or the digits of a decimal of the type's scale.
        fn wide<T: Integer>(value: &Value, data_type: &DataType) -> Result<T> {
            let scale = data_type.inner().scale();
            let digits = value.as_decimal().filter(|(_, found)| *found <= scale).and_then(|(digits, found)| {
                digits.times(I256::power_of_ten(u32::from(scale - found))?).and_then(T::fit_large)
            });
            digits.ok_or_else(|| mismatch(value, data_type))
        }
        let data_type = &self.data_type;
        match &mut self.values {
            Values::Nothing(rows) => {
                if !value.is_null() {
                    return Err(mismatch(value, data_type));
                }
                *rows += 1;
            }
            Values::UInt8(values) => values.push(unsigned(value, data_type)?),
            Values::UInt16(values) => values.push(unsigned(value, data_type)?),
            Values::UInt32(values) => values.push(unsigned(value, data_type)?),
            Values::UInt64(values) => values.push(unsigned(value, data_type)?),
            Values::Int8(values) => values.push(signed(value, data_type)?),
            Values::Int16(values) => values.push(signed(value, data_type)?),
            Values::Int32(values) => values.push(signed(value, data_type)?),
            Values::Int64(values) => values.push(signed(value, data_type)?),
            Values::UInt128(values) => values.push(wide(value, data_type)?),
            Values::UInt256(values) => match value {
                Value::UInt256(value) => values.push(**value),
                other => values.push(wide(other, data_type)?),
            },
            Values::Int128(values) => values.push(wide(value, data_type)?),
            Values::Int256(values) => values.push(wide(value, data_type)?),
            Values::Float32(values) => {
                let value = value.as_f64().ok_or_else(|| mismatch(value, data_type))? as f32;
                values.push(if *data_type.inner() == DataType::BFloat16 {
                    crate::text::bfloat16(value)
                } else {
                    value
                });
            }
            Values::Float64(values) => values.push(value.as_f64().ok_or_else(|| mismatch(value, data_type))?),
            Values::String { bytes, offsets } => {
                let dynamic;
                let found = match data_type.inner() {
                    DataType::Dynamic(_) => {
                        let mut binary = Vec::new();
                        put_dynamic(value, &mut binary)?;
                        dynamic = Value::String(binary.into());
                        &dynamic
                    }
                    _ => value,
                };
                let found = found.as_bytes().ok_or_else(|| mismatch(value, data_type))?;
                grow(bytes, found.len())?;
                bytes.extend_from_slice(found);
                let end = i32::try_from(bytes.len()).map_err(|_| {
                    Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "More than 2 GiB of strings in one block")
                })?;
                offsets.push(end);
            }
            Values::Fixed { bytes, width } => {
                let found = value.as_bytes().filter(|found| found.len() <= *width);
                let found = found.ok_or_else(|| mismatch(value, data_type))?;
                grow(bytes, *width)?;
                bytes.extend_from_slice(found);
                bytes.extend(std::iter::repeat_n(0, *width - found.len()));
            }
            Values::List { items, offsets } => {
                match value {
                    Value::Array(array) => array.iter().try_for_each(|item| items.append(item))?,
                    Value::Map(entries) => entries.iter().try_for_each(|(key, value)| {
                        items.append(&Value::Tuple([key.clone(), value.clone()].into()))
                    })?,
                    other => return Err(mismatch(other, data_type)),
                }
                offsets.push(i32::try_from(items.rows()).map_err(|_| {
                    Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "More than 2^31 items of arrays in one block")
                })?);
            }
            Values::Tuple { elements, rows } => {
                let parts;
                let value = match data_type.inner() {
                    DataType::Variant(alternatives) => {
                        parts = variant_parts(value, alternatives).ok_or_else(|| mismatch(value, data_type))?;
                        &parts
                    }
                    _ => value,
                };
                let Value::Tuple(values) = value else { return Err(mismatch(value, data_type)) };
                if values.len() != elements.len() {
                    return Err(mismatch(value, data_type));
                }
                elements.iter_mut().zip(values.iter()).try_for_each(|(element, value)| element.append(value))?;
                *rows += 1;
            }
            Values::Dictionary { index, values, keys } => {
                if value.is_null() {
                    if !data_type.is_nullable() {
                        return Err(mismatch(value, data_type));
                    }
                    keys.push(None);
                    return Ok(());
                }
                let identity = match value.as_bytes() {
                    Some(bytes) => bytes.to_vec(),
                    None => value.to_string().into_bytes(),
                };
                let key = match index.get(&identity) {
                    Some(key) => *key,
                    None => {
                        let key = values.rows() as u32;
                        values.append(value)?;
                        index.insert(identity, key);
                        key
                    }
                };
                keys.push(Some(key));
            }
        }
        Ok(())
    }

    /// The column of all appended values.
    pub fn finish(self) -> Result<Column> {
        let data_type = self.data_type.clone();
        Ok(Column::new(data_type, self.finish_array()?))
    }

    fn finish_array(self) -> Result<ArrayRef> {
        let nulls = self.valid.map(NullBuffer::from).filter(|nulls| nulls.null_count() > 0);
        fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
            Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls))
        }
        let inner = &match &self.data_type {
            DataType::Nullable(inner) => inner.without_names(),
            other => other.without_names(),
        };
        Ok(match self.values {
            Values::Nothing(rows) => Arc::new(NullArray::new(rows)),
            Values::UInt8(values) => primitive::<UInt8Type>(values, nulls),
            Values::UInt16(values) => primitive::<UInt16Type>(values, nulls),
            Values::UInt32(values) => primitive::<UInt32Type>(values, nulls),
            Values::UInt64(values) => primitive::<UInt64Type>(values, nulls),
            Values::Int8(values) => primitive::<Int8Type>(values, nulls),
            Values::Int16(values) => primitive::<Int16Type>(values, nulls),
            Values::Int32(values) => primitive::<Int32Type>(values, nulls),
            Values::Int64(values) => primitive::<Int64Type>(values, nulls),
            Values::UInt128(values) => Integer::array(values, nulls)?,
            Values::UInt256(values) => Integer::array(values, nulls)?,
            Values::Int128(values) => Integer::array(values, nulls)?,
            Values::Int256(values) => Integer::array(values, nulls)?,
            Values::Float32(values) => primitive::<Float32Type>(values, nulls),
            Values::Float64(values) => primitive::<Float64Type>(values, nulls),
            Values::String { bytes, offsets } => {
                Arc::new(BinaryArray::try_new(OffsetBuffer::new(offsets.into()), bytes.into(), nulls)?)
            }
            Values::Fixed { bytes, width } => {
                Arc::new(FixedSizeBinaryArray::try_new(i32::try_from(width).unwrap_or(i32::MAX), bytes.into(), nulls)?)
            }
            Values::List { items, offsets } => {
                let field = match inner {
                    DataType::Array(item) => item.arrow_list_item(),
                    other => other.map_entry_type().arrow_list_item(),
                };
                Arc::new(ListArray::try_new(field, OffsetBuffer::new(offsets.into()), items.finish_array()?, nulls)?)
            }
            Values::Tuple { elements, rows } => {
                let columns = elements.into_iter().map(Self::finish_array).collect::<Result<Vec<_>>>()?;
                Arc::new(StructArray::try_new_with_length(inner.arrow_fields(), columns, nulls, rows)?)
            }
            Values::Dictionary { values, keys, .. } => {
                Arc::new(dictionary_array(keys.into_iter().collect::<UInt32Array>(), values.finish_array()?)?)
            }
        })
    }
}

/// The values of the columns that hold a value of a `Variant`; `None` where it is of no alternative.
fn variant_parts(value: &Value, alternatives: &[DataType]) -> Option<Value> {
    let (number, value) = match value {
        Value::Null => (None, value),
        Value::Typed(typed) => (Some(alternatives.iter().position(|known| *known == typed.0)?), &typed.1),
        plain => (Some(alternatives.iter().position(|known| *known == plain.literal_type())?), plain),
    };
    let held = |(at, one): (usize, &DataType)| match Some(at) == number {
        true => value.clone(),
        false => default_value(&one.held_alternative()),
    };
    let number = Value::UInt64(number.map_or(NULL_ALTERNATIVE, |number| number as u8).into());
    Some(Value::Tuple(std::iter::once(number).chain(alternatives.iter().enumerate().map(held)).collect()))
}

fn dictionary_array<K: ArrowDictionaryKeyType>(
    keys: PrimitiveArray<K>,
    values: ArrayRef,
) -> Result<DictionaryArray<K>> {
    Ok(DictionaryArray::try_new(keys, values)?)
}

fn mismatch(value: &Value, data_type: &DataType) -> Error {
    if value.is_null() {
        return Error::new(
            ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN,
            format!("Cannot convert NULL value to non-Nullable type {data_type}"),
        );
    }
    let code = match value {
        Value::UInt64(_) | Value::Int64(_) | Value::Int256(_) | Value::UInt256(_) | Value::Decimal(..)
            if data_type.inner().fixed_width_bytes().is_some() =>
        {
            ErrorCode::VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
        }
        _ => ErrorCode::TYPE_MISMATCH,
    };
    Error::new(code, format!("Value {value} is not one of type {data_type}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(name: &str, values: &[Value]) {
        let mut builder = ColumnBuilder::new(DataType::parse(name).unwrap());
        for value in values {
            builder.append(value).unwrap();
        }
        let column = builder.finish().unwrap();
        assert_eq!(column.rows(), values.len());
        for (row, value) in values.iter().enumerate() {
            assert_eq!(&column.value(row), value, "{name} row {row}");
        }
        let twice = Column::concat(&[column.clone(), column.slice(0, 1)]).unwrap();
        assert_eq!(twice.value(values.len()), values[0]);
        let constant = Column::constant(column.data_type().clone(), &values[0], 3).unwrap();
        assert_eq!(constant.materialize().unwrap().value(2), values[0]);
    }

    #[test]
    fn values_come_back() {
        round_trip("UInt8", &[Value::UInt64(7), Value::UInt64(255)]);
        round_trip("Nullable(Int16)", &[Value::Null, Value::Int64(-5)]);
        round_trip("String", &[Value::from("a"), Value::from("")]);
        round_trip("LowCardinality(Nullable(String))", &[Value::from("a"), Value::Null, Value::from("a")]);
        round_trip(
            "Array(Nullable(String))",
            &[Value::Array([Value::Null, Value::from("x")].into()), Value::Array([].into())],
        );
        round_trip("Tuple(UInt8, String)", &[Value::Tuple([Value::UInt64(1), Value::from("x")].into())]);
        round_trip("Map(String, UInt64)", &[Value::Map([(Value::from("k"), Value::UInt64(2))].into())]);
        round_trip("FixedString(2)", &[Value::from("ab")]);
        let wide = |value: i64| Value::Int256(Box::new(value.into()));
        round_trip("Int128", &[wide(-7), wide(i64::MIN)]);
        round_trip("Nullable(Int256)", &[wide(-7), Value::Null]);
        round_trip("UInt256", &[Value::UInt256(Box::new(U256::MAX))]);
        for precision in [9, 18, 38, 76] {
            round_trip(&format!("Decimal({precision}, 2)"), &[Value::Decimal(Box::new((-150).into()), 2)]);
        }
        round_trip("Bool", &[Value::Bool(true)]);
    }

    #[test]
    fn bad_values_are_refused() {
        let refuse = |name: &str, value: Value, code: ErrorCode| {
            let mut builder = ColumnBuilder::new(DataType::parse(name).unwrap());
            assert_eq!(builder.append(&value).unwrap_err().code, code);
        };
        refuse("UInt8", Value::UInt64(256), ErrorCode::VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE);
        refuse("UInt8", Value::from("x"), ErrorCode::TYPE_MISMATCH);
        refuse("UInt8", Value::Null, ErrorCode::CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN);
    }
}
