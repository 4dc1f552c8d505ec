//! Tags of time series: sets of names and values that a query calls by numbers, its groups.

use std::collections::BTreeMap;
use std::sync::Arc;

use regex::bytes::Regex;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::hash::city;
use crate::scalar::simple::{Call, argument, value_column};
use crate::series_tags::{SeriesTags, Tags};

type Bound = Result<Arc<dyn BoundFunction>>;

/// Tags that are being changed, by name.
type Open = BTreeMap<Box<[u8]>, Box<[u8]>>;

fn pairs_type() -> DataType {
    DataType::array(DataType::tuple([DataType::String, DataType::String]))
}

fn wrong_type(call: &Call<'_>, at: usize, wanted: &str) -> Error {
    Error::new(
        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        format!(
            "Argument #{} of function {} has wrong type {}, it must be {wanted}",
            at + 1,
            call.name,
            call.type_of(at)
        ),
    )
}

/// The tags of the query; what is made of them is good for this run alone.
fn tags_of_query(call: &Call<'_>) -> SeriesTags {
    call.context.moment.note();
    call.context.series_tags.clone()
}

fn check_group(call: &Call<'_>, at: usize) -> Result<()> {
    if *call.type_of(at) == DataType::UInt64 { Ok(()) } else { Err(wrong_type(call, at, "UInt64")) }
}

/// Checks an array or map of tags and the pairs of names and values after it.
fn check_tags(call: &Call<'_>, from: usize) -> Result<()> {
    let count = call.arguments.len();
    if count <= from || !(count - from - 1).is_multiple_of(2) {
        return Err(Error::new(
            ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
            format!("Function {} takes tags, and then names and values of tags by turns", call.name),
        ));
    }
    let is_text = |data_type: &DataType| {
        let plain = data_type.remove_low_cardinality().remove_nullable();
        plain.is_string_or_fixed_string() || plain == DataType::Nothing
    };
    let has_tags = match call.type_of(from) {
        DataType::Array(item) => match &**item {
            DataType::Tuple(pair) => pair.len() == 2 && pair.iter().all(|element| is_text(&element.data_type)),
            item => *item == DataType::Nothing,
        },
        DataType::Map(key, value) => is_text(key) && is_text(value),
        _ => false,
    };
    if !has_tags {
        return Err(wrong_type(call, from, "Array(Tuple(String, String)) or Map(String, String)"));
    }
    match (from + 1..count).find(|at| !is_text(call.type_of(*at))) {
        Some(at) => Err(wrong_type(call, at, "String")),
        None => Ok(()),
    }
}

fn bytes(value: &Value) -> Box<[u8]> {
    value.as_bytes().unwrap_or_default().into()
}

/// The tags of a row, from the argument `from` on.
fn open(arguments: &[Column], from: usize, row: usize) -> Result<Open> {
    let mut tags = Open::new();
    let mut put = |name: Box<[u8]>, value: Box<[u8]>| {
        if value.is_empty() {
            return Ok(());
        }
        match tags.get(&name) {
            Some(known) if *known != value => {
                let [name, known, value] = [&name, known, &value].map(|bytes| String::from_utf8_lossy(bytes));
                Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!("Found two tags with the same name '{name}' but different values '{known}' and '{value}'"),
                ))
            }
            _ => {
                tags.insert(name, value);
                Ok(())
            }
        }
    };
    match argument(arguments, from)?.value(row) {
        Value::Array(pairs) => {
            for pair in pairs.iter() {
                if let Value::Tuple(pair) = pair
                    && let [name, value] = &pair[..]
                {
                    put(bytes(name), bytes(value))?;
                }
            }
        }
        Value::Map(pairs) => pairs.iter().try_for_each(|(name, value)| put(bytes(name), bytes(value)))?,
        _ => {}
    }
    for pair in arguments.get(from + 1..).unwrap_or_default().chunks(2) {
        if let [name, value] = pair {
            put(bytes(&name.value(row)), bytes(&value.value(row)))?;
        }
    }
    Ok(tags)
}

fn opened(tags: &Tags) -> Open {
    tags.iter().cloned().collect()
}

fn as_pairs(tags: &Tags) -> Value {
    let pair =
        |(name, value): &(Box<[u8]>, Box<[u8]>)| Value::Tuple([Value::string(name), Value::string(value)].into());
    Value::Array(tags.iter().map(pair).collect())
}

/// `timeSeriesGroupToSamplingKey`: a number that the tags of a group make, the same in every query.
pub(super) fn resolve_sampling_key(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    check_group(call, 0)?;
    let known = tags_of_query(call);
    call.bind(DataType::UInt64, move |arguments, rows| {
        let groups = argument(arguments, 0)?;
        value_column(&DataType::UInt64, rows, |row| {
            let tags = known.tags(groups.value(row).as_u64().unwrap_or(0))?;
            let texts = tags.iter().flat_map(|(name, value)| [name, value]);
            Ok(Value::UInt64(texts.fold(0, |seed, text| city::hash64_seeded(text, seed))))
        })
    })
}

/// `timeSeriesTagsToGroup`.
pub(super) fn resolve_to_group(call: &Call<'_>) -> Bound {
    check_tags(call, 0)?;
    let known = tags_of_query(call);
    call.bind(DataType::UInt64, move |arguments, rows| {
        value_column(&DataType::UInt64, rows, |row| {
            Ok(Value::UInt64(known.group(open(arguments, 0, row)?.into_iter().collect())))
        })
    })
}

/// `timeSeriesTagsToMap`.
pub(super) fn resolve_to_map(call: &Call<'_>) -> Bound {
    check_tags(call, 0)?;
    let result = DataType::Map(Arc::new(DataType::String), Arc::new(DataType::String));
    call.bind(result.clone(), move |arguments, rows| {
        value_column(&result, rows, |row| {
            let tags = open(arguments, 0, row)?;
            Ok(Value::Map(tags.iter().map(|(name, value)| (Value::string(name), Value::string(value))).collect()))
        })
    })
}

/// `timeSeriesStoreTags`.
pub(super) fn resolve_store(call: &Call<'_>) -> Bound {
    check_tags(call, 1)?;
    let known = tags_of_query(call);
    call.bind(call.type_of(0).clone(), move |arguments, rows| {
        let identifiers = argument(arguments, 0)?;
        for row in 0..rows {
            checkpoint(512)?;
            let group = known.group(open(arguments, 1, row)?.into_iter().collect());
            known.store(&identifiers.value(row).to_string(), group);
        }
        Ok(identifiers.clone())
    })
}

/// `timeSeriesIdToGroup`, `timeSeriesIdToTags`.
pub(super) fn resolve_of_id(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    let known = tags_of_query(call);
    let is_group = call.name.ends_with("Group");
    let result = if is_group { DataType::UInt64 } else { pairs_type() };
    call.bind(result.clone(), move |arguments, rows| {
        let identifiers = argument(arguments, 0)?;
        value_column(&result, rows, |row| {
            let group = known.group_of(&identifiers.value(row).to_string())?;
            if is_group { Ok(Value::UInt64(group)) } else { Ok(as_pairs(&known.tags(group)?)) }
        })
    })
}

fn group_at(arguments: &[Column], at: usize, row: usize) -> Result<u64> {
    Ok(argument(arguments, at)?.value(row).as_u64().unwrap_or(0))
}

/// `timeSeriesGroupToTags`.
pub(super) fn resolve_to_tags(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    check_group(call, 0)?;
    let known = tags_of_query(call);
    let result = pairs_type();
    call.bind(result.clone(), move |arguments, rows| {
        value_column(&result, rows, |row| Ok(as_pairs(&known.tags(group_at(arguments, 0, row)?)?)))
    })
}

/// `timeSeriesExtractTag`.
pub(super) fn resolve_extract(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    check_group(call, 0)?;
    call.strings([1])?;
    let known = tags_of_query(call);
    let result = DataType::String.to_nullable();
    call.bind(result.clone(), move |arguments, rows| {
        let names = argument(arguments, 1)?;
        value_column(&result, rows, |row| {
            let name = bytes(&names.value(row));
            let tags = known.tags(group_at(arguments, 0, row)?)?;
            let found = tags.iter().find(|(known, _)| *known == name);
            Ok(found.map_or(Value::Null, |(_, value)| Value::string(value)))
        })
    })
}

/// The names that an argument of a row has: one, or an array of them.
fn names_at(arguments: &[Column], at: usize, row: usize) -> Result<Vec<Box<[u8]>>> {
    Ok(match argument(arguments, at)?.value(row) {
        Value::Array(names) => names.iter().map(bytes).collect(),
        name => vec![bytes(&name)],
    })
}

fn check_names(call: &Call<'_>, at: usize, are_many: bool) -> Result<()> {
    let is_text = |data_type: &DataType| data_type.is_string_or_fixed_string() || *data_type == DataType::Nothing;
    match call.type_of(at) {
        DataType::Array(item) if are_many && is_text(item) => Ok(()),
        other if !are_many && is_text(other) => Ok(()),
        _ => Err(wrong_type(call, at, if are_many { "Array(String)" } else { "String" })),
    }
}

/// A new group made of the one that the first argument is.
fn changed(
    call: &Call<'_>,
    change: impl Fn(&SeriesTags, &mut Open, &[Column], usize) -> Result<()> + Send + Sync + 'static,
) -> Bound {
    check_group(call, 0)?;
    let known = tags_of_query(call);
    call.bind(DataType::UInt64, move |arguments, rows| {
        value_column(&DataType::UInt64, rows, |row| {
            let mut tags = opened(&known.tags(group_at(arguments, 0, row)?)?);
            change(&known, &mut tags, arguments, row)?;
            Ok(Value::UInt64(known.group(tags.into_iter().collect())))
        })
    })
}

/// `timeSeriesRemoveTag`, `timeSeriesRemoveTags`, `timeSeriesRemoveAllTagsExcept`.
pub(super) fn resolve_remove(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    let keeps = call.name.ends_with("Except");
    check_names(call, 1, call.name != "timeSeriesRemoveTag")?;
    changed(call, move |_, tags, arguments, row| {
        let names = names_at(arguments, 1, row)?;
        tags.retain(|name, _| names.contains(name) == keeps);
        Ok(())
    })
}

/// `timeSeriesCopyTag`, `timeSeriesCopyTags`.
pub(super) fn resolve_copy(call: &Call<'_>) -> Bound {
    call.arguments(3..=3)?;
    check_group(call, 1)?;
    check_names(call, 2, call.name.ends_with('s'))?;
    changed(call, |known, tags, arguments, row| {
        let source = opened(&known.tags(group_at(arguments, 1, row)?)?);
        for name in names_at(arguments, 2, row)? {
            match source.get(&name) {
                Some(value) => tags.insert(name, value.clone()),
                None => tags.remove(&name),
            };
        }
        Ok(())
    })
}

/// `timeSeriesJoinTags(group, dest_tag, separator, src_tags)`.
pub(super) fn resolve_join(call: &Call<'_>) -> Bound {
    call.arguments(4..=4)?;
    call.strings([1, 2])?;
    check_names(call, 3, true)?;
    changed(call, |_, tags, arguments, row| {
        let separator = bytes(&argument(arguments, 2)?.value(row));
        let names = names_at(arguments, 3, row)?;
        let values: Vec<&[u8]> = names.iter().map(|name| tags.get(name).map_or(&b""[..], |value| value)).collect();
        let joined = values.join(&separator[..]);
        tags.insert(bytes(&argument(arguments, 1)?.value(row)), joined.into());
        Ok(())
    })
}

/// `timeSeriesReplaceTag(group, dest_tag, replacement, src_tag, regex)`.
pub(super) fn resolve_replace(call: &Call<'_>) -> Bound {
    call.arguments(5..=5)?;
    call.strings([1, 2, 3, 4])?;
    changed(call, |_, tags, arguments, row| {
        let [name, replacement, source, pattern] =
            [1, 2, 3, 4].map(|at| argument(arguments, at).map(|column| bytes(&column.value(row))));
        let pattern = pattern?;
        let pattern = String::from_utf8_lossy(&pattern);
        let regex = Regex::new(&format!("^(?s:{pattern})$")).map_err(|error| {
            Error::new(ErrorCode::BAD_ARGUMENTS, format!("Regular expression '{pattern}' is wrong: {error}"))
        })?;
        let value = tags.get(&source?).cloned().unwrap_or_default();
        let Some(groups) = regex.captures(&value) else { return Ok(()) };
        let mut replaced = Vec::new();
        groups.expand(&replacement?, &mut replaced);
        tags.insert(name?, replaced.into());
        Ok(())
    })
}

/// `timeSeriesMetricTypeToSuffixes`.
pub(super) fn resolve_suffixes(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let result = DataType::array(DataType::String);
    call.bind(result.clone(), move |arguments, rows| {
        let types = argument(arguments, 0)?;
        value_column(&result, rows, |row| {
            let suffixes: &[&str] = match types.value(row).as_bytes().unwrap_or_default() {
                b"counter" => &["", "_total"],
                b"summary" => &["", "_count", "_sum"],
                b"histogram" => &["_bucket", "_count", "_sum"],
                b"gaugehistogram" => &["_bucket", "_gcount", "_gsum"],
                b"info" => &["", "_info"],
                _ => &[""],
            };
            Ok(Value::Array(suffixes.iter().copied().map(Value::from).collect()))
        })
    })
}

/// `timeSeriesPrometheusValueToString`: all digits, never an exponent.
pub(super) fn resolve_value_text(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.each([0], DataType::is_number)?;
    call.bind(DataType::String, |arguments, rows| {
        let values = argument(arguments, 0)?;
        value_column(&DataType::String, rows, |row| {
            Ok(Value::string(match values.value(row).as_f64().unwrap_or(f64::NAN) {
                value if value.is_nan() => "NaN".to_owned(),
                f64::INFINITY => "+Inf".to_owned(),
                f64::NEG_INFINITY => "-Inf".to_owned(),
                value => value.to_string(),
            }))
        })
    })
}

/// `timeSeriesThrowDuplicateSeriesIf(condition, group)`.
pub(super) fn resolve_duplicate(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    call.integers([0])?;
    check_group(call, 1)?;
    let known = tags_of_query(call);
    call.bind(DataType::UInt8, move |arguments, rows| {
        let conditions = argument(arguments, 0)?;
        value_column(&DataType::UInt8, rows, |row| {
            if conditions.value(row).as_i64().unwrap_or(0) == 0 {
                return Ok(Value::UInt64(0));
            }
            let tags = known.tags(group_at(arguments, 1, row)?)?;
            let shown: Vec<String> = tags
                .iter()
                .map(|(name, value)| format!("'{}': '{}'", name.escape_ascii(), value.escape_ascii()))
                .collect();
            Err(Error::new(
                ErrorCode::DUPLICATE_TIME_SERIES,
                format!(
                    "Multiple series have the same tags {{{}}}, duplicate series in the same result set are not allowed",
                    shown.join(", ")
                ),
            ))
        })
    })
}
