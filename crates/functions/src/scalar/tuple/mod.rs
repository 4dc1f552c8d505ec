//! Tuples: making them and taking them apart, and arithmetic over their elements.

pub(super) mod arithmetic;
mod shape;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_buffer::NullBuffer;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use super::simple::{Call, Function, argument};
use crate::function::{BoundFunction, ScalarFunction};

type Bound = Result<Arc<dyn BoundFunction>>;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("tuple", tuple).with_nulls().with_dictionaries().never_throws().of_any_type(),
    &Function::new("tupleElement", tuple_element).with_nulls().with_dictionaries().never_throws().of_any_type(),
    &Function::new("flattenTuple", shape::flatten).with_nulls().with_dictionaries().never_throws(),
    &Function::new("tupleConcat", shape::concat).with_nulls().never_throws(),
    &Function::new("tupleToNameValuePairs", shape::name_value_pairs).with_nulls().with_dictionaries().never_throws(),
    &Function::new("tupleHammingDistance", shape::hamming_distance).never_throws(),
    &Function::new("tupleDivide", |call| arithmetic::of_tuples(call, "divide")),
    &Function::new("tupleIntDiv", |call| arithmetic::of_tuples(call, "intDiv")),
    &Function::new("tupleIntDivOrZero", |call| arithmetic::of_tuples(call, "intDivOrZero")),
    &Function::new("tupleMinus", |call| arithmetic::of_tuples(call, "minus")),
    &Function::new("tupleModulo", |call| arithmetic::of_tuples(call, "modulo")),
    &Function::new("tupleMultiply", |call| arithmetic::of_tuples(call, "multiply")),
    &Function::new("tuplePlus", |call| arithmetic::of_tuples(call, "plus")),
    &Function::new("tupleDivideByNumber", |call| arithmetic::by_number(call, "divide")),
    &Function::new("tupleIntDivByNumber", |call| arithmetic::by_number(call, "intDiv")),
    &Function::new("tupleIntDivOrZeroByNumber", |call| arithmetic::by_number(call, "intDivOrZero")),
    &Function::new("tupleModuloByNumber", |call| arithmetic::by_number(call, "modulo")),
    &Function::new("tupleMultiplyByNumber", |call| arithmetic::by_number(call, "multiply")),
    &Function::new("tuplePositiveModuloByNumber", |call| arithmetic::by_number(call, "positiveModulo")),
    &Function::new("tupleNegate", |call| arithmetic::of_one(call, "negate")),
    &Function::new("tupleNames", tuple_names).with_nulls().with_dictionaries().never_throws(),
];

/// The elements of a tuple column as columns; of a constant as constants.
pub(crate) fn elements(tuple: &Column) -> Result<Vec<Column>> {
    let DataType::Tuple(types) = tuple.data_type() else {
        return Err(Error::logical(format!("{} is no tuple", tuple.data_type())));
    };
    let array = tuple.array().as_struct();
    Ok(types
        .iter()
        .zip(array.columns())
        .map(|(element, column)| {
            let column = Column::new(element.data_type.clone(), column.clone());
            if tuple.is_constant() { Column::repeat(&column, tuple.rows()) } else { column }
        })
        .collect())
}

/// A tuple column of these columns, all of which have `rows` rows.
pub(crate) fn from_elements(data_type: &DataType, columns: &[Column], rows: usize) -> Result<Column> {
    let arrays = columns.iter().map(Column::to_array).collect::<Result<Vec<_>>>()?;
    let fields = data_type
        .arrow_fields()
        .iter()
        .zip(&arrays)
        .map(|(field, array)| arrow_schema::Field::new(field.name(), array.data_type().clone(), true))
        .collect();
    Ok(Column::new(
        data_type.clone(),
        Arc::new(StructArray::try_new_with_length(fields, arrays, None::<NullBuffer>, rows)?),
    ))
}

fn tuple(call: &Call<'_>) -> Bound {
    let result = DataType::tuple(call.arguments.iter().map(|argument| argument.data_type.clone()));
    call.bind(result.clone(), move |arguments, rows| from_elements(&result, arguments, rows))
}

fn tuple_element(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    let (mut depth, mut tuple_type) = (0_usize, call.type_of(0));
    loop {
        match tuple_type {
            DataType::Array(item) => (depth, tuple_type) = (depth + 1, &**item),
            DataType::Named(named) => tuple_type = named.values(),
            _ => break,
        }
    }
    if matches!(tuple_type.inner(), DataType::Json(_)) && call.arguments.len() == 2 {
        return super::alternatives::get_subcolumn(call);
    }
    let is_nullable = tuple_type.is_nullable();
    let DataType::Tuple(types) = tuple_type.inner().without_names() else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "First argument for function {} must be tuple, array of tuples or map. Actual {}",
                call.name,
                call.type_of(0)
            ),
        ));
    };
    let at = match call.constant(1) {
        Some(Value::String(name)) => {
            let found = types.iter().position(|element| element.name.as_deref().map(str::as_bytes) == Some(name));
            found.or_else(|| {
                // Elements without names are called 1, 2, 3, ….
                let number: usize = std::str::from_utf8(name).ok()?.parse().ok()?;
                types.get(number.checked_sub(1)?).filter(|element| element.name.is_none()).map(|_| number - 1)
            })
        }
        Some(value) => match value.as_i64() {
            Some(number @ 1..) => usize::try_from(number - 1).ok().filter(|at| *at < types.len()),
            // From the end.
            Some(number @ ..=-1) => types.len().checked_sub(number.unsigned_abs() as usize),
            Some(0) => None,
            None => return Err(call.illegal(1)),
        },
        None => {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!("Second argument to {} must be a constant UInt or String", call.name),
            ));
        }
    };
    let Some((at, element)) = at.and_then(|at| Some((at, types.get(at)?))) else {
        if call.arguments.len() == 3 {
            let result = call.type_of(2).clone();
            return call.bind(result, |arguments, _| Ok(argument(arguments, 2)?.clone()));
        }
        let (code, message) = match call.constant(1) {
            Some(Value::String(name)) => {
                let name = String::from_utf8_lossy(name);
                (ErrorCode::BAD_ARGUMENTS, format!("Tuple doesn't have element with name '{name}'"))
            }
            index => {
                let index = index.map(ToString::to_string).unwrap_or_default();
                (ErrorCode::ARGUMENT_OUT_OF_BOUND, format!("Tuple doesn't have element with index '{index}'"))
            }
        };
        return Err(Error::new(code, message));
    };
    let element = element.data_type.clone();
    let item = if is_nullable { element.to_nullable() } else { element.clone() };
    let result = (0..depth).fold(item.clone(), |item, _| DataType::array(item));
    call.bind(result.clone(), move |arguments, _| {
        let column = argument(arguments, 0)?;
        let of_tuples = |tuples: &ArrayRef| match is_nullable {
            true => element_of_nullable(tuples, at, &element, &item),
            false => Ok(tuples.as_struct().column(at).clone()),
        };
        let picked = Column::new(result.clone(), in_arrays(column.array(), depth, &of_tuples)?);
        Ok(if column.is_constant() { Column::repeat(&picked, column.rows()) } else { picked })
    })
}

/// What is made of the items of arrays that lie so deep in each other; of the array itself where that is not at all.
fn in_arrays(array: &ArrayRef, depth: usize, of: &dyn Fn(&ArrayRef) -> Result<ArrayRef>) -> Result<ArrayRef> {
    if depth == 0 {
        return of(array);
    }
    let list = array.as_list::<i32>();
    let items = in_arrays(list.values(), depth - 1, of)?;
    let field = Arc::new(arrow_schema::Field::new("item", items.data_type().clone(), true));
    Ok(Arc::new(arrow_array::ListArray::try_new(field, list.offsets().clone(), items, None)?))
}

/// An element of tuples of which some are NULL: it is NULL with them where its type can be.
fn element_of_nullable(tuples: &ArrayRef, at: usize, element: &DataType, result: &DataType) -> Result<ArrayRef> {
    let values = Column::new(element.clone(), tuples.as_struct().column(at).clone());
    // Under a NULL tuple an element may look like NULL though its type knows none.
    let own = values.nulls().filter(|_| element.remove_low_cardinality().is_nullable());
    let nulls = NullBuffer::union(own, tuples.nulls());
    match result {
        DataType::LowCardinality(_) => values.without_low_cardinality()?.to_nullable(nulls)?.into_low_cardinality(),
        DataType::Nullable(_) => values.to_nullable(nulls),
        _ => values.without_nulls(),
    }?
    .to_array()
}

fn tuple_names(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let DataType::Tuple(types) = call.type_of(0) else { return Err(call.illegal(0)) };
    let names: Vec<Value> = types
        .iter()
        .enumerate()
        .map(|(at, element)| Value::string(element.name.as_deref().map_or_else(|| (at + 1).to_string(), str::to_owned)))
        .collect();
    let names = Value::Array(names.into());
    let result = DataType::array(DataType::String);
    call.bind(result.clone(), move |_, rows| Column::constant(result.clone(), &names, rows))
}
