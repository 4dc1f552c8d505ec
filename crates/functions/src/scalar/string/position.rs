//! Where and how often one string is in another: `position` and its variants, `countSubstrings`, `multiSearch…`, `hasToken`,
//! `startsWith`, `endsWith`.

use std::sync::Arc;

use arrow_array::ListArray;
use arrow_array::UInt64Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt64Type};
use arrow_buffer::OffsetBuffer;
use memchr::memmem;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::function::BoundFunction;
use crate::registry::resolve_scalar;
use crate::scalar::kernel::bytes_column;
use crate::scalar::simple::{Call, Strings, integers, primitive_column};

use super::search::{Mode, first_matches, fold_rows};
use super::utf8::{character_length, offset_of_character};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=3)?;
    call.strings([0, 1])?;
    call.integers([2])?;
    // `locate` is MySQL's, unless a setting says otherwise: the needle first.
    let is_swapped = call.context.settings.function_locate_has_mysql_compatible_argument_order;
    let (haystack, needle) = if call.name == "locate" && is_swapped { (1, 0) } else { (0, 1) };
    let mode = Mode::of(call.name);
    call.bind(DataType::UInt64, move |arguments, rows| {
        let (haystacks, needles) = (Strings::of(arguments, haystack)?, Strings::of(arguments, needle)?);
        if let (Strings::Varying(strings), Strings::Constant(needle)) = (haystacks, needles)
            && arguments.len() == 2
            && (!mode.any_case || !mode.characters)
            && !needle.is_empty()
        {
            let (folded, needle) = (mode.any_case.then(|| fold_rows(strings)).transpose()?, mode.fold(needle));
            let strings = folded.as_ref().unwrap_or(strings);
            let finder = memmem::Finder::new(&*needle);
            let find =
                |data: &[u8], from: usize| finder.find(&data[from..]).map(|at| (from + at, from + at + needle.len()));
            let mut positions = vec![0; rows];
            first_matches(strings, find, |row, at| positions[row] = 1 + mode.count(strings.value(row), at) as u64);
            return Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, positions));
        }
        let starts = if arguments.len() > 2 { integers(arguments, 2, rows)? } else { vec![1; rows] };
        let found = (0..rows).map(|row| {
            let start = usize::try_from(starts[row].max(1) - 1).unwrap_or(usize::MAX);
            checkpoint(haystacks.get(row).len() / 4)?;
            Ok(position(haystacks.get(row), needles.get(row), start, mode))
        });
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, found.collect::<Result<_>>()?))
    })
}

/// The position, from 1, of the needle at or after `start`, which counts from 0; 0 where it is not there.
fn position(haystack: &[u8], needle: &[u8], start: usize, mode: Mode) -> u64 {
    let haystack = mode.fold(haystack);
    let needle = mode.fold(needle);
    if start > mode.count(&haystack, haystack.len()) {
        return 0;
    }
    let from = if mode.characters { offset_of_character(&haystack, start) } else { start };
    match memmem::find(&haystack[from..], &needle) {
        Some(at) => 1 + mode.count(&haystack, from + at) as u64,
        None => 0,
    }
}

pub(super) fn resolve_count(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=3)?;
    call.strings([0, 1])?;
    call.integers([2])?;
    let mode = Mode::of(call.name);
    call.bind(DataType::UInt64, move |arguments, rows| {
        let (haystacks, needles) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
        let starts = if arguments.len() > 2 { integers(arguments, 2, rows)? } else { vec![1; rows] };
        let counts = (0..rows).map(|row| {
            checkpoint(haystacks.get(row).len())?;
            let (haystack, needle) = (mode.fold(haystacks.get(row)), mode.fold(needles.get(row)));
            let start = usize::try_from(starts[row].max(1) - 1).unwrap_or(usize::MAX);
            let from = if mode.characters { offset_of_character(&haystack, start) } else { start };
            match haystack.get(from..) {
                Some(rest) if !needle.is_empty() => Ok(memmem::find_iter(rest, &*needle).count() as u64),
                _ => Ok(0),
            }
        });
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, counts.collect::<Result<_>>()?))
    })
}

pub(super) fn resolve_many(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    call.strings([0])?;
    if *call.type_of(1) != DataType::array(DataType::String) && *call.type_of(1) != DataType::array(DataType::Nothing) {
        return Err(call.illegal(1));
    }
    let Some(Value::Array(needles)) = call.constant(1) else {
        return Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("The needles of function {} must be a constant array", call.name),
        ));
    };
    let mode = Mode::of(call.name);
    let name = call.name.trim_end_matches("UTF8").trim_end_matches("CaseInsensitive");
    let needles: Vec<memmem::Finder<'static>> = needles
        .iter()
        .filter_map(Value::as_bytes)
        .map(|needle| memmem::Finder::new(&mode.fold(needle)).into_owned())
        .collect();
    match name {
        "multiSearchAny" => call.bind(DataType::UInt8, move |arguments, rows| {
            let strings = Strings::of(arguments, 0)?;
            let mut found = vec![0; rows];
            match strings {
                Strings::Varying(strings)
                    if !mode.any_case && needles.iter().all(|needle| !needle.needle().is_empty()) =>
                {
                    for needle in &needles {
                        let find = |data: &[u8], from: usize| {
                            needle.find(&data[from..]).map(|at| (from + at, from + at + needle.needle().len()))
                        };
                        first_matches(strings, find, |row, _| found[row] = 1);
                    }
                }
                _ => found.iter_mut().enumerate().for_each(|(row, found)| {
                    let haystack = mode.fold(strings.get(row));
                    *found = u8::from(needles.iter().any(|needle| needle.find(&haystack).is_some()));
                }),
            }
            Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, found))
        }),
        "multiSearchAllPositions" => {
            let return_type = DataType::array(DataType::UInt64);
            call.bind(return_type.clone(), move |arguments, rows| {
                let strings = Strings::of(arguments, 0)?;
                squall_types::reserve(8 * rows.saturating_mul(needles.len()))?;
                let mut positions = Vec::with_capacity(rows * needles.len());
                for row in 0..rows {
                    checkpoint(strings.get(row).len() / 4 * (1 + needles.len()))?;
                    let haystack = mode.fold(strings.get(row));
                    let position = |needle: &memmem::Finder<'_>| {
                        needle.find(&haystack).map_or(0, |at| mode.count(&haystack, at) as u64 + 1)
                    };
                    positions.extend(needles.iter().map(position));
                }
                let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(needles.len(), rows));
                let items = Arc::new(UInt64Array::from(positions));
                let lists = ListArray::try_new(DataType::UInt64.arrow_list_item(), offsets, items, None)?;
                Ok(Column::new(return_type.clone(), Arc::new(lists)))
            })
        }
        _ => {
            let wants_index = name == "multiSearchFirstIndex";
            call.bind(DataType::UInt64, move |arguments, rows| {
                let strings = Strings::of(arguments, 0)?;
                Ok(primitive_column::<UInt64Type>(DataType::UInt64, rows, |row| {
                    let haystack = mode.fold(strings.get(row));
                    let mut positions = needles.iter().map(|needle| needle.find(&haystack));
                    if wants_index {
                        return positions.position(|at| at.is_some()).map_or(0, |index| index as u64 + 1);
                    }
                    positions.flatten().min().map_or(0, |at| mode.count(&haystack, at) as u64 + 1)
                }))
            })
        }
    }
}

pub(super) fn resolve_token(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    call.strings([0, 1])?;
    let mode = Mode::of(call.name);
    let needle = mode.fold(call.constant_bytes(1)?).into_owned();
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    if needle.is_empty() {
        // No token is empty.
        return call.bind(DataType::UInt8, |_, rows| Ok(bytes_column(vec![0; rows])));
    }
    if !needle.iter().all(is_token) {
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Needle must not contain whitespace or separator characters"));
    }
    let finder = memmem::Finder::new(&needle).into_owned();
    call.bind(DataType::UInt8, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| {
            let haystack = mode.fold(strings.get(row));
            let ends_token = |at: Option<usize>| at.and_then(|at| haystack.get(at)).is_none_or(|byte| !is_token(byte));
            let mut from = 0;
            while let Some(at) = finder.find(&haystack[from..]) {
                let start = from + at;
                if ends_token(start.checked_sub(1)) && ends_token(Some(start + finder.needle().len())) {
                    return 1;
                }
                from = start + character_length(&haystack[start..]);
            }
            0
        }))
    })
}

pub(super) fn resolve_ends(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    if let (DataType::Array(_), DataType::Array(_)) = (call.type_of(0), call.type_of(1)) {
        return resolve_array_ends(call);
    }
    call.strings([0, 1])?;
    let at_start = call.name.starts_with("starts");
    let by_characters = call.name.ends_with("UTF8");
    call.bind(DataType::UInt8, move |arguments, rows| {
        let (strings, ends) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
        Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| {
            let (string, end) = (strings.get(row), ends.get(row));
            if by_characters {
                return u8::from(characters_at_end(string, characters(end), at_start) == end);
            }
            u8::from(if at_start { string.starts_with(end) } else { string.ends_with(end) })
        }))
    })
}

/// How many characters begin in a text.
fn characters(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

/// So many characters of a text, at its start or at its end.
fn characters_at_end(text: &[u8], count: usize, at_start: bool) -> &[u8] {
    if at_start {
        let mut length = 0;
        for _ in 0..count {
            // So many bytes as the first one says, whatever they are.
            let Some(first) = text.get(length) else { break };
            let led = if (0xC0..0xF8).contains(first) { first.leading_ones() as usize } else { 1 };
            length = (length + led).min(text.len());
        }
        return text.get(..length).unwrap_or_default();
    }
    let starts = text.iter().enumerate().rev().filter(|(_, byte)| **byte & 0xC0 != 0x80).map(|(at, _)| at);
    let start = match count.checked_sub(1) {
        Some(last) => starts.take(count).nth(last).unwrap_or(0),
        None => text.len(),
    };
    text.get(start..).unwrap_or_default()
}

/// Whether arrays start or end with other arrays, by the equality of slices.
fn resolve_array_ends(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    let at_start = call.name == "startsWith";
    // Both sides in their common type, as the items of one array of both.
    let both = resolve_scalar("array", call.arguments, call.context)?;
    call.bind(DataType::UInt8, move |arguments, rows| {
        let both = both.execute(arguments, rows)?.materialize()?;
        let pairs = both.array().as_list::<i32>();
        let DataType::Array(one) = both.data_type() else { return Err(Error::logical("array() made no array")) };
        let items = Column::new((**one).clone(), pairs.values().clone());
        let mut flags = Vec::with_capacity(rows);
        for row in 0..rows {
            let first = pairs.value_offsets()[row] as usize;
            let is_end = match (items.value(first), items.value(first + 1)) {
                (Value::Array(whole), Value::Array(end)) => {
                    if at_start {
                        whole.starts_with(&end)
                    } else {
                        whole.ends_with(&end)
                    }
                }
                _ => false,
            };
            flags.push(u8::from(is_end));
        }
        Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, flags))
    })
}
