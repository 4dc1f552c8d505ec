//! Regular expressions: several at once, without regard to case, groups by number, and where they match.

use std::sync::Arc;

use arrow_array::types::{UInt8Type, UInt64Type};
use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::array::list_column;
use crate::scalar::simple::{Call, Strings, argument, integers, primitive_column, string_column, value_column};
use crate::scalar::string::translated;

type Bound = Result<Arc<dyn BoundFunction>>;

/// Bytes that compiled expressions may take.
const COMPILED_BYTES_MAX: usize = 64 << 20;

fn not_compiled(pattern: &str, error: &regex::Error) -> Error {
    let reason = error.to_string();
    let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
    Error::new(
        ErrorCode::CANNOT_COMPILE_REGEXP,
        format!("OptimizedRegularExpression: cannot compile re2: {pattern}, error: {reason}"),
    )
}

/// A pattern up to its first zero byte: the library that ClickHouse looks for several of them with takes them as C's strings.
fn before_zero(pattern: &[u8]) -> &[u8] {
    pattern.split(|byte| *byte == 0).next().unwrap_or_default()
}

fn compile(pattern: &[u8], options: impl Fn(&mut RegexBuilder) -> &mut RegexBuilder) -> Result<Regex> {
    let pattern = String::from_utf8_lossy(pattern);
    let mut builder = RegexBuilder::new(&translated(&pattern));
    let builder = options(builder.dot_matches_new_line(true).size_limit(COMPILED_BYTES_MAX));
    builder.build().map_err(|error| not_compiled(&pattern, &error))
}

/// `matchCaseInsensitive`, `notMatch`, `notMatchCaseInsensitive`.
pub(super) fn resolve_match(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    call.strings([0, 1])?;
    let in_any_case = call.name.ends_with("CaseInsensitive");
    let is_negated = call.name.starts_with("not");
    let constant = match call.constant(1).and_then(Value::as_bytes) {
        Some(pattern) => Some(compile(pattern, |builder| builder.case_insensitive(in_any_case))?),
        None => None,
    };
    call.bind(DataType::UInt8, move |arguments, rows| {
        let (texts, patterns) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
        let mut last: Option<(&[u8], Regex)> = None;
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            checkpoint(8 * texts.get(row).len())?;
            let pattern = patterns.get(row);
            let is_match = match (&constant, &last) {
                (Some(regex), _) => regex.is_match(texts.get(row)),
                (None, Some((known, regex))) if *known == pattern => regex.is_match(texts.get(row)),
                _ => {
                    let regex = compile(pattern, |builder| builder.case_insensitive(in_any_case))?;
                    let is_match = regex.is_match(texts.get(row));
                    last = Some((pattern, regex));
                    is_match
                }
            };
            values.push(u8::from(is_match != is_negated));
        }
        Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, values))
    })
}

/// The constant array of expressions of an argument.
fn expressions(call: &Call<'_>, at: usize) -> Result<(RegexSet, Vec<Regex>)> {
    if *call.type_of(at) != DataType::array(DataType::String) {
        return Err(call.illegal(at));
    }
    let Some(patterns) = call.constant(at) else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("The patterns of function {} must be a constant array", call.name),
        ));
    };
    refuse_expensive(call, patterns)?;
    compile_many(patterns)
}

/// Refuses expressions with many repetitions, as `reject_expensive_hyperscan_regexps` says.
fn refuse_expensive(call: &Call<'_>, patterns: &Value) -> Result<()> {
    let is_off = call.context.settings.get("reject_expensive_hyperscan_regexps");
    if is_off.is_some_and(|value| value == "0" || value == "false") {
        return Ok(());
    }
    let Value::Array(patterns) = patterns else { return Ok(()) };
    if patterns.iter().filter_map(Value::as_bytes).any(repeats_often) {
        return Err(Error::new(
            ErrorCode::HYPERSCAN_CANNOT_SCAN_TEXT,
            "Regular expression evaluation in vectorscan will be too slow. To ignore this error, disable setting \
             'reject_expensive_hyperscan_regexps'",
        ));
    }
    Ok(())
}

/// Whether a bound of a repetition, `{n}`, `{n,}` or `{n,m}`, is above 50.
fn repeats_often(pattern: &[u8]) -> bool {
    const REPETITIONS_MAX: u64 = 50;
    let bounds = |rest: &[u8]| -> Option<Vec<u64>> {
        let inside = rest.get(..rest.iter().position(|byte| *byte == b'}')?)?;
        let number = |part: &[u8]| std::str::from_utf8(part).ok()?.parse::<u64>().ok();
        let mut parts = inside.split(|byte| *byte == b',');
        let (first, second, rest) = (parts.next()?, parts.next(), parts.next());
        match (number(first), second, rest) {
            (Some(least), None, _) => Some(vec![least]),
            (Some(least), Some(most), None) => Some([Some(least), number(most)].into_iter().flatten().collect()),
            _ => None,
        }
    };
    let mut parts = pattern.split(|byte| *byte == b'{').skip(1);
    parts.any(|rest| bounds(rest).is_some_and(|bounds| bounds.iter().any(|bound| *bound > REPETITIONS_MAX)))
}

/// The expressions of an array, all at once and each by itself.
pub(super) fn compile_many(patterns: &Value) -> Result<(RegexSet, Vec<Regex>)> {
    let Value::Array(patterns) = patterns else { return Err(Error::logical("patterns are an array")) };
    let patterns =
        patterns.iter().filter_map(Value::as_bytes).map(|pattern| String::from_utf8_lossy(before_zero(pattern)).into());
    let patterns: Vec<String> = patterns.collect();
    let mut builder = RegexSetBuilder::new(patterns.iter().map(|pattern| translated(pattern)));
    let set = builder.dot_matches_new_line(true).size_limit(COMPILED_BYTES_MAX).build().map_err(|error| {
        Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Pattern '{}' failed with error '{error}'", patterns.first().map_or("", String::as_str)),
        )
    })?;
    let each = patterns.iter().map(|pattern| compile(pattern.as_bytes(), |builder| builder)).collect::<Result<_>>()?;
    Ok((set, each))
}

/// The same functions with expressions that differ by row.
fn resolve_varying(call: &Call<'_>) -> Bound {
    if *call.type_of(1) != DataType::array(DataType::String) {
        return Err(call.illegal(1));
    }
    if call.constant(0).is_some() {
        return Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Function '{}' doesn't support search with non-constant needles in constant haystack", call.name),
        ));
    }
    let name = call.name;
    let result = match name {
        "multiMatchAny" => DataType::UInt8,
        "multiMatchAnyIndex" => DataType::UInt64,
        _ => DataType::array(DataType::UInt64),
    };
    call.bind(result.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let patterns = argument(arguments, 1)?;
        let mut known: Option<(Value, RegexSet, Vec<Regex>)> = None;
        value_column(&result, rows, |row| {
            let own = patterns.value(row);
            checkpoint(8 * texts.get(row).len())?;
            let (_, set, each) = match known.take() {
                Some(compiled) if compiled.0 == own => known.insert(compiled),
                _ => {
                    let (set, each) = compile_many(&own)?;
                    known.insert((own, set, each))
                }
            };
            let found = by_end(set, each, texts.get(row));
            Ok(match name {
                "multiMatchAny" => Value::UInt64((!found.is_empty()).into()),
                "multiMatchAnyIndex" => Value::UInt64(found.first().copied().unwrap_or(0)),
                _ => Value::Array(found.into_iter().map(Value::UInt64).collect()),
            })
        })
    })
}

/// The expressions that match, counted from 1, in the order in which their first matches end.
pub(super) fn by_end(set: &RegexSet, each: &[Regex], text: &[u8]) -> Vec<u64> {
    let end = |at: usize| each.get(at).and_then(|regex| regex.shortest_match(text)).unwrap_or(text.len());
    let mut matches: Vec<(usize, u64)> = set.matches(text).iter().map(|at| (end(at), at as u64 + 1)).collect();
    matches.sort_unstable();
    matches.into_iter().map(|(_, at)| at).collect()
}

/// `multiMatchAny`, `multiMatchAnyIndex`, `multiMatchAllIndices`.
pub(super) fn resolve_many(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    call.strings([0])?;
    if call.constant(1).is_none() {
        return resolve_varying(call);
    }
    let (set, each) = expressions(call, 1)?;
    match call.name {
        "multiMatchAny" => call.bind(DataType::UInt8, move |arguments, rows| {
            let texts = Strings::of(arguments, 0)?;
            Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| u8::from(set.is_match(texts.get(row)))))
        }),
        "multiMatchAnyIndex" => call.bind(DataType::UInt64, move |arguments, rows| {
            let texts = Strings::of(arguments, 0)?;
            Ok(primitive_column::<UInt64Type>(DataType::UInt64, rows, |row| {
                by_end(&set, &each, texts.get(row)).first().copied().unwrap_or(0)
            }))
        }),
        _ => call.bind(DataType::array(DataType::UInt64), move |arguments, rows| {
            let texts = Strings::of(arguments, 0)?;
            let (mut indices, mut ends) = (Vec::new(), vec![0]);
            for row in 0..rows {
                checkpoint(8 * texts.get(row).len())?;
                indices.extend(by_end(&set, &each, texts.get(row)));
                ends.push(indices.len() as i32);
            }
            let indices = Column::from_primitive::<UInt64Type>(DataType::UInt64, indices);
            list_column(&DataType::UInt64, ends, indices.array().clone())
        }),
    }
}

/// `regexpExtract(text, pattern[, group])`: the first group where nothing is said, the whole match where there is none.
pub(super) fn resolve_extract(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    call.strings([0, 1])?;
    call.integers([2])?;
    let pattern = call.constant_bytes(1)?;
    let regex = compile(pattern, |builder| builder)?;
    let shown = String::from_utf8_lossy(pattern).into_owned();
    let name = call.name;
    call.bind(DataType::String, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let groups = regex.captures_len();
        let wanted = if arguments.len() > 2 { Some(integers(arguments, 2, rows)?) } else { None };
        string_column(rows, 0, |out, row| {
            checkpoint(8 * texts.get(row).len())?;
            let group = match &wanted {
                None => usize::from(groups > 1),
                Some(wanted) => usize::try_from(wanted[row]).ok().filter(|group| *group < groups).ok_or_else(|| {
                    Error::new(
                        ErrorCode::INDEX_OF_POSITIONAL_ARGUMENT_IS_OUT_OF_RANGE,
                        format!(
                            "Index value {} for regexp pattern `{shown}` in function {name} is out-of-range, should be \
                             in [0, {groups})",
                            wanted[row]
                        ),
                    )
                })?,
            };
            if let Some(found) = regex.captures(texts.get(row)).and_then(|captures| captures.get(group)) {
                out.extend_from_slice(found.as_bytes());
            }
            Ok(())
        })
    })
}

/// `regexpPosition(text, pattern[, position[, occurrence[, option[, flags[, group]]]]])`.
pub(super) fn resolve_position(call: &Call<'_>) -> Bound {
    call.arguments(2..=7)?;
    call.strings([0, 1, 5])?;
    call.integers([2, 3, 4, 6])?;
    let flags = if call.arguments.len() > 5 { call.constant_bytes(5)? } else { b"" };
    if let Some(other) = flags.iter().find(|flag| !b"imsc".contains(flag)) {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Unknown flag '{}' of function {}", char::from(*other), call.name),
        ));
    }
    let regex = compile(call.constant_bytes(1)?, |builder| {
        builder.case_insensitive(flags.contains(&b'i')).multi_line(flags.contains(&b'm'))
    })?;
    let name = call.name;
    call.bind(DataType::UInt64, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let number = |at: usize, otherwise: i64| match arguments.len() > at {
            true => integers(arguments, at, rows),
            false => Ok(vec![otherwise; rows]),
        };
        let (starts, occurrences, options, groups) = (number(2, 1)?, number(3, 1)?, number(4, 0)?, number(6, 0)?);
        let position = |row: usize| {
            let text = texts.get(row);
            checkpoint(8 * text.len())?;
            let (Ok(start), Ok(occurrence)) = (usize::try_from(starts[row]), usize::try_from(occurrences[row])) else {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!("Position and occurrence of function {name} must be positive"),
                ));
            };
            if start == 0 || occurrence == 0 {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!("Position and occurrence of function {name} must be positive"),
                ));
            }
            let Some(rest) = text.get(start - 1..) else { return Ok(0) };
            let group = usize::try_from(groups[row]).unwrap_or(0);
            let found = regex.captures_iter(rest).nth(occurrence - 1).and_then(|captures| captures.get(group));
            Ok(found.map_or(0, |found| {
                let at = if options[row] == 0 { found.start() } else { found.end() };
                (start + at) as u64
            }))
        };
        let values = (0..rows).map(position).collect::<Result<_>>()?;
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, values))
    })
}
