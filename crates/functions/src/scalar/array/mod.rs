//! Functions of arrays. Most of them choose items by position: they make a list of positions and take those items at once.

mod build;
mod depth;
mod metrics;
mod numeric;
mod pick;
mod reduce;
mod search;
mod sets;
mod turn;
mod wide;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, ListArray, UInt32Array};
use arrow_buffer::OffsetBuffer;
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint, default_value, grow, kernels};

use super::simple::{Call, Function, argument};
use crate::function::{BoundFunction, ScalarFunction};

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("array", build::array).with_nulls().with_dictionaries().never_throws().of_any_type(),
    &Function::new("range", build::range),
    &Function::new("arrayWithConstant", build::with_constant).with_nulls(),
    &Function::new("arrayConcat", build::concat).never_throws(),
    &Function::new("arrayPushBack", |call| build::push(call, true)).with_nulls().never_throws(),
    &Function::new("arrayPushFront", |call| build::push(call, false)).with_nulls().never_throws(),
    &Function::new("arrayResize", build::resize).with_nulls(),
    &Function::new("arrayFlatten", build::flatten).never_throws(),
    &Function::new("arrayZip", build::zip),
    &Function::new("emptyArrayToSingle", build::empty_to_single).with_dictionaries().never_throws(),
    &Function::new("arrayElement", pick::element),
    &Function::new("arrayElementOrNull", pick::element_or_null),
    &Function::new("arraySlice", pick::slice).with_nulls(),
    &Function::new("arrayPopBack", |call| pick::pop(call, true)).never_throws(),
    &Function::new("arrayPopFront", |call| pick::pop(call, false)).never_throws(),
    &Function::new("arrayReverse", pick::reverse).never_throws(),
    &Function::new("arraySort", |call| pick::sort(call, false, false)).never_throws(),
    &Function::new("arrayReverseSort", |call| pick::sort(call, true, false)).never_throws(),
    &Function::new("nested", build::nested),
    &Function::new("arrayPartialSort", |call| pick::sort(call, false, true)),
    &Function::new("arrayPartialReverseSort", |call| pick::sort(call, true, true)),
    &Function::new("arrayDistinct", pick::distinct).never_throws(),
    &Function::new("arrayCompact", pick::compact).never_throws(),
    &Function::new("arrayUniq", search::uniq).never_throws(),
    &Function::new("arrayEnumerate", search::enumerate).never_throws(),
    &Function::new("arrayEnumerateUniq", search::enumerate_uniq).never_throws(),
    &Function::new("arrayEnumerateDense", search::enumerate_dense).never_throws(),
    &Function::new("has", |call| search::find(call, search::Found::Any)).with_nulls().never_throws(),
    &Function::new("indexOf", |call| search::find(call, search::Found::Position)).with_nulls().never_throws(),
    &Function::new("countEqual", |call| search::find(call, search::Found::Count)).with_nulls().never_throws(),
    &Function::new("hasAny", |call| search::compare(call, search::Contains::Any)).never_throws(),
    &Function::new("hasAll", |call| search::compare(call, search::Contains::All)).never_throws(),
    &Function::new("hasSubstr", |call| search::compare(call, search::Contains::Run)).never_throws(),
    &Function::new("arrayIntersect", search::intersect).never_throws(),
    &Function::new("arrayStringConcat", search::string_concat).never_throws(),
    &Function::new("arraySum", |call| numeric::fold(call, numeric::Fold::Sum)).never_throws(),
    &Function::new("arrayAvg", |call| numeric::fold(call, numeric::Fold::Average)).never_throws(),
    &Function::new("arrayProduct", |call| numeric::fold(call, numeric::Fold::Product)).never_throws(),
    &Function::new("arrayMin", |call| numeric::extreme(call, false)).never_throws(),
    &Function::new("arrayMax", |call| numeric::extreme(call, true)).never_throws(),
    &Function::new("arrayCumSum", |call| numeric::running_sum(call, false)).never_throws(),
    &Function::new("arrayCumSumNonNegative", |call| numeric::running_sum(call, true)).never_throws(),
    &Function::new("arrayDifference", numeric::difference).never_throws(),
    &Function::new("arrayAUCPR", |call| metrics::area(call, false)),
    &Function::new("arrayAutocorrelation", metrics::autocorrelation),
    &Function::new("arrayBottomK", |call| depth::extremes(call, false)),
    &Function::new("arrayEnumerateDenseRanked", |call| depth::enumerate_ranked(call, true)),
    &Function::new("arrayEnumerateUniqRanked", |call| depth::enumerate_ranked(call, false)),
    &Function::new("arrayExcept", sets::except),
    &Function::new("arrayFlattenedLength", depth::flattened_length),
    &Function::new("arrayJaccardIndex", sets::jaccard),
    &Function::new("arrayLevenshteinDistance", sets::levenshtein),
    &Function::new("arrayLevenshteinDistanceWeighted", |call| sets::weighted(call, false)),
    &Function::new("arrayNormalizedGini", metrics::gini),
    &Function::new("arrayROCAUC", |call| metrics::area(call, true)),
    &Function::new("arrayReduce", reduce::resolve).without_dictionary(),
    &Function::new("arrayReduceInRanges", reduce::resolve_in_ranges).without_dictionary(),
    &Function::new("arrayRotateLeft", |call| turn::rotate(call, true)),
    &Function::new("arrayRotateRight", |call| turn::rotate(call, false)),
    &Function::new("arrayShiftLeft", |call| turn::shift(call, true)),
    &Function::new("arrayShiftRight", |call| turn::shift(call, false)),
    &Function::new("arrayShingles", turn::shingles),
    &Function::new("arraySimilarity", |call| sets::weighted(call, true)),
    &Function::new("arraySymmetricDifference", |call| sets::union(call, true)),
    &Function::new("arrayTopK", |call| depth::extremes(call, true)),
    &Function::new("arrayTranspose", turn::transpose),
    &Function::new("arrayUnion", |call| sets::union(call, false)),
    &Function::new("indexOfAssumeSorted", depth::index_of_sorted),
    &Function::new("replicate", turn::replicate).with_dictionaries(),
    &Function::new("arrayPartialShuffle", |call| turn::shuffle(call, true)).never_throws().random(),
    &Function::new("arrayRandomSample", turn::sample).random(),
    &Function::new("arrayRemove", sets::remove).with_nulls(),
    &Function::new("arrayShuffle", |call| turn::shuffle(call, false)).never_throws().random(),
    &Function::new("arrayZipUnaligned", depth::zip_unaligned),
    &Function::new("notHas", search::lacks).with_nulls().never_throws(),
    &Function::new("arrayCount", |call| numeric::holding(call, numeric::Holding::Count)).never_throws(),
    &Function::new("arrayExists", |call| numeric::holding(call, numeric::Holding::Any)).never_throws(),
    &Function::new("arrayAll", |call| numeric::holding(call, numeric::Holding::All)).never_throws(),
];

macro_rules! empty_arrays {
    ($($name:literal => $item:expr),* $(,)?) => {
        &[$(&Function::new(concat!("emptyArray", $name), |call| build::empty(call, $item))),*]
    };
}

/// `emptyArrayX`.
pub(crate) const EMPTY: &[&dyn ScalarFunction] = empty_arrays!(
    "UInt8" => DataType::UInt8,
    "UInt16" => DataType::UInt16,
    "UInt32" => DataType::UInt32,
    "UInt64" => DataType::UInt64,
    "Int8" => DataType::Int8,
    "Int16" => DataType::Int16,
    "Int32" => DataType::Int32,
    "Int64" => DataType::Int64,
    "Float32" => DataType::Float32,
    "Float64" => DataType::Float64,
    "Date" => DataType::Date,
    "DateTime" => DataType::DateTime(None),
    "String" => DataType::String,
);

/// The arrays of a column: the items of all rows, and which of them are whose. A map is an array of its entries.
pub(in crate::scalar) struct Lists {
    offsets: OffsetBuffer<i32>,
    /// Items of all rows and perhaps of others.
    pub items: Column,
    is_constant: bool,
}

impl Lists {
    /// The arrays of an argument.
    pub fn of(arguments: &[Column], at: usize) -> Result<Self> {
        Self::of_column(argument(arguments, at)?)
    }

    /// Whether an item of any row is NULL.
    pub fn has_null_items(&self) -> bool {
        let nulls = self.items.array().logical_nulls();
        let is_null = |at: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(at));
        (self.offsets[0] as usize..self.offsets[self.offsets.len() - 1] as usize).any(is_null)
    }

    /// The arrays of a column.
    pub fn of_column(column: &Column) -> Result<Self> {
        let item_type = match column.data_type() {
            DataType::Array(item) => (**item).clone(),
            map @ DataType::Map(..) => map.map_entry_type(),
            other => return Err(Error::logical(format!("{other} is no array"))),
        };
        let list = column.array().as_list_opt::<i32>().ok_or_else(|| Error::logical("list expected"))?;
        Ok(Self {
            offsets: list.offsets().clone(),
            items: Column::new(item_type, list.values().clone()),
            is_constant: column.is_constant(),
        })
    }

    /// Refuses arrays of other lengths than these.
    ///
    /// # Errors
    /// `SIZES_OF_ARRAYS_DONT_MATCH` with the message.
    pub fn check_lengths(&self, other: &Self, rows: usize, message: impl Fn() -> String) -> Result<()> {
        match (0..rows).all(|row| self.range(row).len() == other.range(row).len()) {
            true => Ok(()),
            false => Err(Error::new(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH, message())),
        }
    }

    /// The number of arrays; 1 of a constant.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The positions of a row's items.
    #[inline]
    pub fn range(&self, row: usize) -> Range<usize> {
        let row = if self.is_constant { 0 } else { row };
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }
}

/// NULL for all rows where the first argument is nothing else, of functions that see the NULLs of items themselves.
pub(super) fn of_null(call: &Call<'_>) -> Option<Result<Arc<dyn BoundFunction>>> {
    let null = call.type_of(0);
    let is_null = null.is_nullable() && *null.inner() == DataType::Nothing;
    is_null.then(|| {
        let null = null.clone();
        call.bind(null.clone(), move |_, rows| Column::default_values(null.clone(), rows))
    })
}

/// The item type of an argument that must be an array.
pub(super) fn item_type<'a>(call: &Call<'a>, at: usize) -> Result<&'a DataType> {
    match call.type_of(at) {
        DataType::Array(item) => Ok(item),
        other => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Argument {} for function {} must be an array but it has type {other}", at + 1, call.name),
        )),
    }
}

/// Collects arrays: positions of items, and where each array ends.
pub(super) struct Positions {
    pub items: Vec<u32>,
    ends: Vec<i32>,
}

impl Positions {
    pub fn new(rows: usize) -> Self {
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        Self { items: Vec::new(), ends }
    }

    /// Appends items to a row's array.
    pub fn extend(&mut self, items: impl Iterator<Item = usize>) -> Result<()> {
        extend(&mut self.items, items.map(|at| at as u32))
    }

    /// Ends a row's array.
    pub fn end_row(&mut self) -> Result<()> {
        checkpoint(8)?;
        let end = i32::try_from(self.items.len())
            .map_err(|_| Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, "More than 2^31 items of arrays in one block"))?;
        self.ends.push(end);
        Ok(())
    }

    /// The arrays of the items at these positions.
    pub fn take(self, items: &Column) -> Result<Column> {
        let taken = kernels::take(&**items.array(), &UInt32Array::from(self.items))?;
        list_column(items.data_type(), self.ends, taken)
    }
}

/// Appends values whose number is known, or at most so many.
pub(in crate::scalar) fn extend<T>(values: &mut Vec<T>, more: impl Iterator<Item = T>) -> Result<()> {
    let count = more.size_hint().1.unwrap_or(0);
    checkpoint(count.saturating_mul(2))?;
    grow(values, count)?;
    values.extend(more);
    Ok(())
}

/// A column of arrays of these items.
pub(in crate::scalar) fn list_column(item_type: &DataType, ends: Vec<i32>, items: ArrayRef) -> Result<Column> {
    let field = Arc::new(arrow_schema::Field::new("item", items.data_type().clone(), true));
    let list = ListArray::try_new(field, OffsetBuffer::new(ends.into()), items, None)?;
    Ok(Column::new(DataType::array(item_type.clone()), Arc::new(list)))
}

/// The items at these positions, with the type's default (NULL where it has that) in place of missing ones.
pub(in crate::scalar) fn take_or_default(items: &Column, positions: &[Option<u32>]) -> Result<Column> {
    let data_type = items.data_type();
    let array = items.array();
    if data_type.is_nullable() || positions.iter().all(Option::is_some) {
        let positions: UInt32Array = positions.iter().copied().collect();
        if array.is_empty() {
            return Column::default_values(data_type.clone(), positions.len())?.materialize();
        }
        return Ok(Column::new(data_type.clone(), kernels::take(&**array, &positions)?));
    }
    squall_types::reserve(16 * positions.len())?;
    // Zero is the default of all numbers but those of enums.
    if !matches!(data_type, DataType::Enum8(_) | DataType::Enum16(_)) {
        let numbers = squall_types::match_primitive!(array.data_type(), T => {
            let values = array.as_primitive::<T>().values();
            let taken = positions.iter().map(|at| at.and_then(|at| values.get(at as usize).copied()).unwrap_or_default());
            Some(Column::from_primitive::<T>(data_type.clone(), taken.collect()))
        }, _ => None);
        if let Some(numbers) = numbers {
            return Ok(numbers);
        }
    }
    if let Some(strings) = array.as_binary_opt::<i32>() {
        let taken = positions.iter().map(|at| at.map_or(&b""[..], |at| strings.value(at as usize)));
        squall_types::reserve(taken.clone().map(<[u8]>::len).sum())?;
        return Ok(Column::new(data_type.clone(), Arc::new(BinaryArray::from_iter_values(taken))));
    }
    let default = Column::constant(data_type.clone(), &default_value(data_type), 1)?;
    let missing = u32::try_from(array.len()).map_err(|_| Error::logical("too many items"))?;
    let all = Column::concat(&[Column::new(data_type.clone(), array.clone()), default])?;
    all.take(&positions.iter().map(|position| Some(position.unwrap_or(missing))).collect())
}
