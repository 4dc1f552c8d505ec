//! What paths the objects of a `JSON` have.

use std::sync::Arc;

use arrow_array::Array;
use squall_types::alternatives::dynamic_parts;
use squall_types::json::paths::{OtherPaths, path_values};
use squall_types::text::{TextStyle, ValueWriter};
use squall_types::type_code::take_type;
use squall_types::{Column, ColumnBuilder, DataType, JsonType, Result, Value, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument};

type Bound = Result<Arc<dyn BoundFunction>>;

/// Which of the paths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those with types, and all others.
    All,
    /// Those without types that are within the limit of paths that ClickHouse keeps apart.
    Dynamic,
    /// Those beyond it.
    Shared,
}

fn json_of(call: &Call<'_>) -> Result<Arc<JsonType>> {
    call.arguments(1..=1)?;
    match call.type_of(0) {
        DataType::Json(json) => Ok(json.clone()),
        _ => Err(call.illegal(0)),
    }
}

/// The paths of each row with their types, in order.
///
/// # Errors
/// Those of values that cannot be read, and of a checkpoint.
pub(crate) fn of_rows(column: &Column, json: &JsonType, which: Which) -> Result<Vec<Vec<(String, String)>>> {
    let array = column.to_array()?;
    let others = OtherPaths::of(&array)?;
    // Paths are within the limit in the order in which they come.
    let mut kept = std::collections::HashSet::new();
    let most = usize::try_from(json.max_dynamic_paths).unwrap_or(usize::MAX);
    for row in 0..array.len() {
        checkpoint(16)?;
        for at in others.row(row) {
            if kept.len() < most {
                kept.insert(others.path(at));
            }
        }
    }
    (0..array.len())
        .map(|row| {
            checkpoint(64)?;
            let mut found: Vec<(String, String)> = Vec::new();
            if which == Which::All {
                found.extend(json.typed.iter().map(|(path, data_type)| (path.to_string(), data_type.to_string())));
            }
            for at in others.row(row) {
                let path = others.path(at);
                let is_wanted = match which {
                    Which::All => true,
                    Which::Dynamic => kept.contains(path),
                    Which::Shared => !kept.contains(path),
                };
                if is_wanted && let Some((code, _)) = dynamic_parts(others.value(at))? {
                    let data_type = take_type(&mut &*code)?;
                    found.push((String::from_utf8_lossy(path).into_owned(), data_type.to_string()));
                }
            }
            found.sort();
            Ok(found)
        })
        .collect()
}

pub(super) fn paths(call: &Call<'_>, which: Which) -> Bound {
    let json = json_of(call)?;
    let result = DataType::array(DataType::String);
    call.bind(result.clone(), move |arguments, _| {
        let column = argument(arguments, 0)?.materialize()?;
        if which == Which::All
            && json.typed.is_empty()
            && let Some(lists) = OtherPaths::of(column.array())?.lists()?
        {
            return Ok(lists);
        }
        let mut builder = ColumnBuilder::new(result.clone());
        for row in of_rows(&column, &json, which)? {
            builder.append(&Value::Array(row.into_iter().map(|(path, _)| Value::string(path)).collect()))?;
        }
        builder.finish()
    })
}

/// `JSONAllValues`: the text of each path's value, in the order of paths.
pub(super) fn values(call: &Call<'_>) -> Bound {
    let json = json_of(call)?;
    let result = DataType::array(DataType::String);
    let options = call.text_options()?;
    call.bind(result.clone(), move |arguments, _| {
        let column = argument(arguments, 0)?;
        let rows = of_rows(column, &json, Which::All)?;
        let column = column.materialize()?;
        // The text of a path's values is made once for all rows that have it.
        let mut texts: std::collections::BTreeMap<String, ValueWriter> = Default::default();
        let mut builder = ColumnBuilder::new(result.clone());
        for (at, row) in rows.into_iter().enumerate() {
            let mut found = Vec::with_capacity(row.len());
            for (path, _) in row {
                checkpoint(64)?;
                let values = match texts.get_mut(&path) {
                    Some(values) => values,
                    None => {
                        let values = path_values(&column, &path)?.materialize()?;
                        let writer = ValueWriter::new(&values, TextStyle::Plain, &options)?;
                        texts.entry(path).or_insert(writer)
                    }
                };
                let mut text = Vec::new();
                values.write(&mut text, at);
                found.push(Value::string(text));
            }
            builder.append(&Value::Array(found.into()))?;
        }
        builder.finish()
    })
}

pub(super) fn paths_with_types(call: &Call<'_>, which: Which) -> Bound {
    let json = json_of(call)?;
    let result = DataType::Map(Arc::new(DataType::String), Arc::new(DataType::String));
    call.bind(result.clone(), move |arguments, _| {
        let mut builder = ColumnBuilder::new(result.clone());
        for row in of_rows(argument(arguments, 0)?, &json, which)? {
            let entries = row.into_iter().map(|(path, name)| (Value::string(path), Value::string(name)));
            builder.append(&Value::Map(entries.collect()))?;
        }
        builder.finish()
    })
}
