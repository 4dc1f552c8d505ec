//! Functions of `Variant`, `Dynamic` and `JSON`: the values of one type, the name of each value's type, and what is within a value by its
//! name as a subcolumn.

pub(crate) mod json;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_array::{Array, ArrayRef, ListArray};
use squall_types::alternatives::variant_numbers;
use squall_types::cast::{CastOptions, cast};
use squall_types::json::paths::{object_under, path_values};
use squall_types::variant_type::NULL_ALTERNATIVE;
use squall_types::{Alternatives, Column, DataType, EnumValues, Error, ErrorCode, JsonType, Result, Value};

use super::simple::{Call, Function, argument};
use crate::function::{Argument, BoundFunction, ScalarFunction};
use crate::registry::resolve_scalar;

type Bound = Result<Arc<dyn BoundFunction>>;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("variantElement", variant_element).with_nulls().never_throws().of_any_type(),
    &Function::new("variantType", variant_type).with_nulls().never_throws().of_any_type(),
    &Function::new("dynamicElement", dynamic_element).with_nulls().never_throws().of_any_type(),
    &Function::new("dynamicType", dynamic_type).with_nulls().never_throws().of_any_type(),
    &Function::new("isDynamicElementInSharedData", is_shared).with_nulls().never_throws().of_any_type(),
    &Function::new("getSubcolumn", get_subcolumn).with_nulls().with_dictionaries().of_any_type(),
    &Function::new("JSONAllPaths", |call| json::paths(call, json::Which::All)).never_throws(),
    &Function::new("JSONAllPathsWithTypes", |call| json::paths_with_types(call, json::Which::All)).never_throws(),
    &Function::new("JSONAllValues", json::values).never_throws(),
    &Function::new("JSONDynamicPaths", |call| json::paths(call, json::Which::Dynamic)).never_throws(),
    &Function::new("JSONDynamicPathsWithTypes", |call| json::paths_with_types(call, json::Which::Dynamic))
        .never_throws(),
    &Function::new("JSONSharedDataPaths", |call| json::paths(call, json::Which::Shared)).never_throws(),
    &Function::new("JSONSharedDataPathsWithTypes", |call| json::paths_with_types(call, json::Which::Shared))
        .never_throws(),
];

/// A column made of another, item by item where it is of arrays.
fn within_arrays(column: &Column, depth: usize, of: &dyn Fn(&Column) -> Result<Column>) -> Result<Column> {
    if depth == 0 {
        return of(&column.materialize()?);
    }
    let DataType::Array(item) = column.data_type() else { return Err(Error::logical("an array that is none")) };
    let array = column.to_array()?;
    let list = array.as_list::<i32>();
    let items = within_arrays(&Column::new((**item).clone(), list.values().clone()), depth - 1, of)?;
    let field = items.data_type().arrow_list_item();
    let field = Arc::new(field.as_ref().clone().with_data_type(items.array().data_type().clone()));
    let lists: ArrayRef =
        Arc::new(ListArray::try_new(field, list.offsets().clone(), items.to_array()?, list.nulls().cloned())?);
    Ok(Column::new(DataType::array(items.data_type().clone()), lists))
}

/// The type under arrays, and how many these are.
fn under_arrays(data_type: &DataType) -> (&DataType, usize) {
    match data_type {
        DataType::Array(item) => {
            let (inner, depth) = under_arrays(item);
            (inner, depth + 1)
        }
        other => (other, 0),
    }
}

fn in_arrays(data_type: DataType, depth: usize) -> DataType {
    (0..depth).fold(data_type, |item, _| DataType::array(item))
}

fn type_name(call: &Call<'_>) -> Result<DataType> {
    let name = call.constant(1).and_then(Value::as_str).ok_or_else(|| {
        Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Second argument of function {} must be a String with the name of a type", call.name),
        )
    })?;
    DataType::parse(name).map_err(|_| {
        Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("{} doesn't contain variant with type {name}", call.type_of(0)),
        )
    })
}

fn wrong_first(call: &Call<'_>, wanted: &str) -> Error {
    Error::new(
        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        format!(
            "First argument for function {} must be {wanted} or Array of {wanted}. Actual {}",
            call.name,
            call.type_of(0)
        ),
    )
}

fn variant_element(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    let (inner, depth) = under_arrays(call.type_of(0));
    let DataType::Variant(alternatives) = inner else { return Err(wrong_first(call, "Variant")) };
    let wanted = type_name(call)?;
    if !alternatives.contains(&wanted) {
        if call.arguments.len() == 3 {
            return call.bind(call.type_of(2).clone(), |arguments, _| Ok(argument(arguments, 2)?.clone()));
        }
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("{inner} doesn't contain variant with type {wanted}"),
        ));
    }
    element_of(call, depth, wanted)
}

fn dynamic_element(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let (inner, depth) = under_arrays(call.type_of(0));
    if !matches!(inner, DataType::Dynamic(_)) {
        return Err(wrong_first(call, "Dynamic"));
    }
    element_of(call, depth, type_name(call)?)
}

/// The values of one type, NULL or a default in the rows of others.
fn element_of(call: &Call<'_>, depth: usize, wanted: DataType) -> Bound {
    let wanted = nested_objects(&wanted);
    let to = wanted.alternative();
    call.bind(in_arrays(to.clone(), depth), move |arguments, _| {
        let of = |column: &Column| {
            let mut found = Alternatives::of(column)?;
            let is_wanted: Vec<bool> = found.columns.iter().map(|column| *column.data_type() == wanted).collect();
            for row in &mut found.rows {
                *row = row.filter(|(at, _)| is_wanted.get(*at as usize) == Some(&true));
            }
            // Columns of other types are not converted.
            let none = Column::empty(to.clone());
            found.unite(&to, |at, column| match is_wanted.get(at) {
                Some(true) => cast(column, &to, &CastOptions::default()),
                _ => Ok(none.clone()),
            })
        };
        within_arrays(argument(arguments, 0)?, depth, &of)
    })
}

/// A type in which `JSON` without arguments means what the objects inside a document's arrays are.
fn nested_objects(wanted: &DataType) -> DataType {
    match wanted {
        DataType::Array(item) => DataType::array(nested_objects(item)),
        DataType::Json(json) if **json == JsonType::default() => DataType::Json(Arc::new(JsonType::default().nested())),
        other => other.clone(),
    }
}

fn variant_type(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let DataType::Variant(alternatives) = call.type_of(0).without_names() else {
        return Err(wrong_first(call, "Variant"));
    };
    let named = alternatives.iter().enumerate().map(|(at, one)| (one.to_string().into(), at as i16));
    let values = [("None".into(), -1)].into_iter().chain(named).collect();
    let result = DataType::Enum8(Arc::new(EnumValues::new(values)?));
    call.bind(result.clone(), move |arguments, rows| {
        let column = argument(arguments, 0)?;
        let numbers = variant_numbers(column.array());
        let number = |number: &u8| if *number == NULL_ALTERNATIVE { -1 } else { *number as i8 };
        let types = Column::from_primitive::<Int8Type>(result.clone(), numbers.iter().map(number).collect());
        Ok(if column.is_constant() { Column::repeat(&types, rows) } else { types })
    })
}

/// What `dynamicType` says of NULL.
const NO_TYPE: &str = "None";

fn dynamic_type(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    if !matches!(call.type_of(0), DataType::Dynamic(_)) {
        return Err(wrong_first(call, "Dynamic"));
    }
    let result = DataType::LowCardinality(Arc::new(DataType::String));
    call.bind(result, |arguments, _| {
        let found = Alternatives::of(argument(arguments, 0)?)?;
        let names: Vec<String> = found.columns.iter().map(|column| column.data_type().to_string()).collect();
        let name = |row: &Option<(u32, u32)>| row.and_then(|(at, _)| names.get(at as usize));
        let names = found.rows.iter().map(|row| name(row).map_or(NO_TYPE, String::as_str));
        Column::from_strings(names).into_low_cardinality()
    })
}

/// Whether a value's type is past the limit of types that ClickHouse keeps apart.
fn is_shared(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let DataType::Dynamic(max_types) = call.type_of(0) else { return Err(wrong_first(call, "Dynamic")) };
    let max_types = u32::from(*max_types);
    call.bind(DataType::Bool, move |arguments, _| {
        let found = Alternatives::of(argument(arguments, 0)?)?;
        let is_shared = found.rows.iter().map(|row| u8::from(row.is_some_and(|(at, _)| at >= max_types)));
        Ok(Column::from_primitive::<arrow_array::types::UInt8Type>(DataType::Bool, is_shared.collect()))
    })
}

/// What is within a value of a name as a subcolumn has it.
///
/// # Errors
/// `ILLEGAL_COLUMN` where there is no such subcolumn.
pub(super) fn get_subcolumn(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let name = call.constant(1).and_then(Value::as_str).ok_or_else(|| {
        Error::new(ErrorCode::ILLEGAL_COLUMN, "The second argument of getSubcolumn should be a constant String")
    })?;
    let (inner, depth) = under_arrays(call.type_of(0));
    if let DataType::Json(json) = inner.inner() {
        return json_subcolumn(call, json, depth, name);
    }
    if let Some((function, depth, of)) = plain_subcolumn(call.type_of(0), name) {
        let bound = resolve_scalar(function, &[Argument::of(of)], call.context)?;
        return call.bind(in_arrays(bound.return_type().clone(), depth), move |arguments, _| {
            let of = |column: &Column| bound.execute(std::slice::from_ref(column), column.rows());
            within_arrays(argument(arguments, 0)?, depth, &of)
        });
    }
    let name = name.to_owned();
    let text = |value: &str| Argument { data_type: DataType::String, constant: Some(Value::string(value)) };
    let first = Argument::of(call.type_of(0).clone());
    let (function, arguments) = match call.type_of(0) {
        _ if matches!(inner, DataType::Tuple(_)) => ("tupleElement", vec![first, text(&name)]),
        _ if matches!(inner, DataType::Variant(_)) => ("variantElement", vec![first, text(&name)]),
        _ if matches!(inner, DataType::Dynamic(_)) => ("dynamicElement", vec![first, text(&name)]),
        other => {
            return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, format!("There is no subcolumn {name} in type {other}")));
        }
    };
    let bound = resolve_scalar(function, &arguments, call.context)?;
    let has_name = arguments.len() == 2;
    call.bind(bound.return_type().clone(), move |arguments, rows| {
        let mut passed = vec![argument(arguments, 0)?.clone()];
        if has_name {
            passed.push(Column::constant(DataType::String, &Value::string(&name), rows)?);
        }
        bound.execute(&passed, rows)
    })
}

/// The function whose result a subcolumn is, of the type that is within so many arrays: lengths, whether it is NULL, a map's parts.
fn plain_subcolumn(data_type: &DataType, name: &str) -> Option<(&'static str, usize, DataType)> {
    let (mut data_type, mut depth) = (data_type, 0);
    loop {
        let is_size = || name.strip_prefix("size").is_some_and(|level| level == depth.to_string());
        let function = match (data_type, name) {
            (DataType::Array(_) | DataType::Map(..), _) if is_size() => Some("length"),
            (DataType::Nullable(_), "null") => Some("isNull"),
            (DataType::Map(..), "keys") => Some("mapKeys"),
            (DataType::Map(..), "values") => Some("mapValues"),
            (DataType::String, "size") => Some("length"),
            (DataType::Nullable(inner), "size") if **inner == DataType::String => Some("length"),
            _ => None,
        };
        match (function, data_type) {
            (Some(function), _) => return Some((function, depth, data_type.clone())),
            (None, DataType::Array(item)) => (data_type, depth) = (item, depth + 1),
            (None, _) => return None,
        }
    }
}

/// A path of a document; `^path` is the object under it.
fn json_subcolumn(call: &Call<'_>, json: &Arc<JsonType>, depth: usize, name: &str) -> Bound {
    let (is_object, path) = match name.strip_prefix('^') {
        Some(path) => (true, path.trim_matches('`').to_owned()),
        None => (false, name.to_owned()),
    };
    let data_type = match is_object {
        true => DataType::Json(Arc::new(json.under(&path))),
        false => json.type_of(&path).cloned().unwrap_or_else(|| json.dynamic()),
    };
    call.bind(in_arrays(data_type, depth), move |arguments, _| {
        let of = |column: &Column| match is_object {
            true => object_under(column, &path),
            false => path_values(column, &path),
        };
        within_arrays(argument(arguments, 0)?, depth, &of)
    })
}
