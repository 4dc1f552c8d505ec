//! Regular expressions: `match`, `extract`, `replaceRegexp…`, `splitByRegexp` and their kin. The syntax is RE2's, as the `regex` crate
//! has it; `.` matches line breaks too, as in ClickHouse.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ListArray;
use arrow_array::types::{UInt8Type, UInt64Type};
use arrow_buffer::OffsetBuffer;
use regex::bytes::{CaptureLocations, Match, Regex, RegexBuilder};
use squall_types::text::{TextOptions, TextStyle, ValueWriter};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint, grow};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, string_column};

use super::list::{ListBuilder, list_column};
use super::re2_syntax::translated;
use super::sequence::{ByteClass, Groups, Sequence};
use super::split::{keeps_rest, parts_max};
use super::utf8::characters;

/// Bytes that a compiled expression may take.
const COMPILED_BYTES_MAX: usize = 8 << 20;

/// Compiles an expression.
pub(super) fn compile(pattern: &str) -> Result<Regex> {
    let mut builder = RegexBuilder::new(&translated(pattern));
    builder.dot_matches_new_line(true).size_limit(COMPILED_BYTES_MAX).build().map_err(|error| {
        let reason = error.to_string();
        let reason = reason.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        Error::new(
            ErrorCode::CANNOT_COMPILE_REGEXP,
            format!("OptimizedRegularExpression: cannot compile re2: {pattern}, error: {reason}"),
        )
    })
}

fn compile_bytes(pattern: &[u8]) -> Result<Regex> {
    compile(&String::from_utf8_lossy(pattern))
}

/// The expressions of a block's rows: compiled once where the pattern is constant, else again whenever it changes. They are lent,
/// not cloned: a clone of an expression begins with an empty cache.
struct Expressions<'a> {
    constant: Option<&'a Regex>,
    last: Option<(Vec<u8>, Regex)>,
}

impl<'a> Expressions<'a> {
    /// The expression of a constant pattern, where argument `at` is one.
    fn constant(call: &Call<'_>, at: usize) -> Result<Option<Regex>> {
        call.constant(at).and_then(Value::as_bytes).map(compile_bytes).transpose()
    }

    fn new(constant: Option<&'a Regex>) -> Self {
        Self { constant, last: None }
    }

    fn get(&mut self, pattern: &[u8]) -> Result<&Regex> {
        if let Some(constant) = self.constant {
            return Ok(constant);
        }
        let last = match self.last.take().filter(|(known, _)| known == pattern) {
            Some(last) => last,
            None => (pattern.to_vec(), compile_bytes(pattern)?),
        };
        Ok(&self.last.insert(last).1)
    }
}

/// The arguments with the names of an enum's values in place of the first; `None` where that is no enum.
pub(super) fn with_names(arguments: &[Column], rows: usize, options: &TextOptions) -> Result<Option<Vec<Column>>> {
    let Some(first) = arguments.first() else { return Ok(None) };
    if !matches!(first.data_type(), DataType::Enum8(_) | DataType::Enum16(_)) {
        return Ok(None);
    }
    let mut writer = ValueWriter::new(first, TextStyle::Plain, options)?;
    let names = string_column(rows, rows * 8, |out, row| {
        writer.write(out, row);
        Ok(())
    })?;
    let mut arguments = arguments.to_vec();
    if let Some(first) = arguments.first_mut() {
        *first = names;
    }
    Ok(Some(arguments))
}

/// Checks that the first `count` arguments are strings.
fn check(call: &Call<'_>, count: usize) -> Result<()> {
    call.arguments(count..=count)?;
    call.strings(0..count)
}

pub(super) fn resolve_match(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    call.each([0], |data_type| {
        data_type.is_string_or_fixed_string() || matches!(data_type, DataType::Enum8(_) | DataType::Enum16(_))
    })?;
    call.strings([1])?;
    let constant = Expressions::constant(call, 1)?;
    let options = call.text_options()?;
    let call = if constant.is_some() { call.never_throws() } else { *call };
    call.bind(DataType::UInt8, move |arguments, rows| {
        let named = with_names(arguments, rows, &options)?;
        let arguments = named.as_deref().unwrap_or(arguments);
        let (strings, patterns) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
        let mut expressions = Expressions::new(constant.as_ref());
        let mut flags = Vec::with_capacity(rows);
        for row in 0..rows {
            checkpoint(64 + strings.get(row).len())?;
            flags.push(u8::from(expressions.get(patterns.get(row))?.is_match(strings.get(row))));
        }
        Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, flags))
    })
}

/// The text of one of the groups that were found.
fn group<'a>(string: &'a [u8], groups: &Groups, at: usize) -> &'a [u8] {
    groups.get(at).and_then(|(start, end)| string.get(*start..*end)).unwrap_or_default()
}

/// Finds matches of an expression one after the other, and of each the first group, or the whole where the expression has no groups.
struct FirstGroups<'a> {
    expression: &'a Regex,
    class: Option<ByteClass>,
    /// Where groups are, if there are any.
    groups: Option<CaptureLocations>,
}

impl<'a> FirstGroups<'a> {
    fn new(expression: &'a Regex) -> Self {
        let has_groups = expression.captures_len() > 1;
        Self {
            expression,
            class: if has_groups { None } else { ByteClass::of(expression.as_str()) },
            groups: has_groups.then(|| expression.capture_locations()),
        }
    }

    /// The first match at a position or behind it, and its group.
    fn find<'s>(&mut self, string: &'s [u8], at: usize) -> Option<(Range<usize>, &'s [u8])> {
        let Some(groups) = &mut self.groups else {
            let found = match self.class.as_ref().filter(|class| class.takes(string)) {
                Some(class) => class.find(string, at)?,
                None => self.expression.find_at(string, at)?.range(),
            };
            return Some((found.clone(), &string[found]));
        };
        let found = self.expression.captures_read_at(groups, string, at)?.range();
        Some((found, groups.get(1).and_then(|(start, end)| string.get(start..end)).unwrap_or_default()))
    }
}

pub(super) fn resolve_extract(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    check(call, 2)?;
    let expression = compile_bytes(call.constant_bytes(1)?)?;
    let sequence = Sequence::of(call.constant_bytes(1)?);
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let (mut groups, mut first_groups) = (Groups::new(), FirstGroups::new(&expression));
        string_column(rows, strings.bytes(rows) / 2, |out, row| {
            checkpoint(64 + 4 * strings.get(row).len())?;
            let string = strings.get(row);
            if let Some(sequence) = sequence.as_ref().filter(|sequence| sequence.takes(string)) {
                if sequence.find(string, &mut groups) {
                    out.extend_from_slice(group(string, &groups, usize::from(groups.len() > 1)));
                }
                return Ok(());
            }
            if let Some((_, group)) = first_groups.find(string, 0) {
                out.extend_from_slice(group);
            }
            Ok(())
        })
    })
}

pub(super) fn resolve_extract_all(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    check(call, 2)?;
    let expression = compile_bytes(call.constant_bytes(1)?)?;
    call.bind(DataType::array(DataType::String), move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let mut first_groups = FirstGroups::new(&expression);
        list_column(rows, |list, row| {
            let (string, mut at) = (strings.get(row), 0);
            checkpoint(64 + 4 * string.len())?;
            // An empty match ends the search in ClickHouse.
            while let Some((whole, group)) = first_groups.find(string, at).filter(|(whole, _)| !whole.is_empty()) {
                list.push(group)?;
                at = whole.end;
            }
            Ok(())
        })
    })
}

/// `extractGroups`: the groups of the first match; `extractAllGroups…`: those of all, by match (vertical) or by group.
pub(super) fn resolve_groups(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    check(call, 2)?;
    let expression = compile_bytes(call.constant_bytes(1)?)?;
    let groups = expression.captures_len() - 1;
    if groups == 0 {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("There are no groups in regexp: {}", expression.as_str()),
        ));
    }
    if call.name == "extractGroups" {
        return call.bind(DataType::array(DataType::String), move |arguments, rows| {
            let strings = Strings::of(arguments, 0)?;
            list_column(rows, |list, row| match expression.captures(strings.get(row)) {
                Some(captures) => {
                    (1..=groups).try_for_each(|at| list.push(captures.get(at).map_or(&[], |group| group.as_bytes())))
                }
                None => Ok(()),
            })
        });
    }
    let by_match = call.name.ends_with("Vertical");
    let (name, matches_max) = (call.name, call.context.settings.regexp_max_matches_per_row);
    let return_type = DataType::array(DataType::array(DataType::String));
    call.bind(return_type.clone(), move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let mut inner = ListBuilder::new(rows)?;
        let mut lengths = Vec::with_capacity(rows);
        // The groups of a row's matches, match by match.
        let mut found: Vec<&[u8]> = Vec::new();
        let mut captures = expression.capture_locations();
        for row in 0..rows {
            let string = strings.get(row);
            found.clear();
            let mut at = 0;
            while at < string.len()
                && let Some(whole) = expression.captures_read_at(&mut captures, string, at)
            {
                checkpoint(64 + 4 * whole.len())?;
                if !by_match && (found.len() / groups) as u64 == matches_max {
                    return Err(Error::new(
                        ErrorCode::TOO_LARGE_ARRAY_SIZE,
                        format!("Too many matches per row (> {matches_max}) in the result of function {name}"),
                    ));
                }
                grow(&mut found, groups)?;
                found.extend((1..=groups).map(|group| {
                    captures.get(group).and_then(|(start, end)| string.get(start..end)).unwrap_or_default()
                }));
                // After an empty match the search goes on behind the next byte.
                at = whole.end() + usize::from(whole.is_empty());
            }
            let matches = found.len() / groups;
            lengths.push(if by_match { matches } else { groups });
            if by_match {
                for of_match in found.chunks(groups) {
                    of_match.iter().try_for_each(|group| inner.push(group))?;
                    inner.end_row()?;
                }
            } else {
                for group in 0..groups {
                    found.iter().skip(group).step_by(groups).try_for_each(|group| inner.push(group))?;
                    inner.end_row()?;
                }
            }
        }
        let inner = inner.finish()?;
        let field = DataType::array(DataType::String).arrow_list_item();
        let offsets = OffsetBuffer::from_lengths(lengths);
        let lists = ListArray::try_new(field, offsets, inner.array().clone(), None)?;
        Ok(Column::new(return_type.clone(), Arc::new(lists)))
    })
}

pub(super) fn resolve_count(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    check(call, 2)?;
    let pattern = String::from_utf8_lossy(call.constant_bytes(1)?);
    let expression =
        if call.name.ends_with("CaseInsensitive") { compile(&format!("(?i:{pattern})"))? } else { compile(&pattern)? };
    call.bind(DataType::UInt64, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let count = |row| {
            checkpoint(64 + strings.get(row).len())?;
            Ok(expression.find_iter(strings.get(row)).filter(|found| !found.is_empty()).count() as u64)
        };
        let counts = (0..rows).map(count).collect::<Result<_>>()?;
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, counts))
    })
}

pub(super) fn resolve_quote(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    check(call, 1)?;
    call.bind(DataType::String, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        string_column(rows, strings.bytes(rows), |out, row| {
            for &byte in strings.get(row) {
                match byte {
                    0 | b'\\' | b'(' | b')' | b'^' | b'$' | b'.' | b'[' | b']' | b'?' | b'*' | b'+' | b'{' | b':'
                    | b'-' | b'|' => {
                        out.extend([b'\\', byte]);
                    }
                    other => out.push(other),
                }
            }
            Ok(())
        })
    })
}

/// What a match is replaced with.
enum Piece {
    Text(Vec<u8>),
    Group(usize),
}

/// Reads `\0` to `\9` and `\\`; any other escape is itself.
fn parse_replacement(replacement: &[u8], groups: usize) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut text = Vec::new();
    let mut bytes = replacement.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match (byte, bytes.peek().copied()) {
            (b'\\', Some(digit @ b'0'..=b'9')) => {
                bytes.next();
                let group = usize::from(digit - b'0');
                if group > groups {
                    return Err(Error::new(
                        ErrorCode::BAD_ARGUMENTS,
                        format!(
                            "Substitution '\\{group}' in replacement argument is invalid, regexp has only {groups} capturing groups"
                        ),
                    ));
                }
                pieces.push(Piece::Text(std::mem::take(&mut text)));
                pieces.push(Piece::Group(group));
            }
            (b'\\', Some(b'\\')) => {
                bytes.next();
                text.push(b'\\');
            }
            (other, _) => text.push(other),
        }
    }
    pieces.push(Piece::Text(text));
    Ok(pieces)
}

pub(super) fn resolve_replace(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    check(call, 3)?;
    let constant = Expressions::constant(call, 1)?;
    let sequence = call.constant(1).and_then(Value::as_bytes).and_then(Sequence::of);
    let class = constant.as_ref().and_then(|expression| ByteClass::of(expression.as_str()));
    let once = call.name == "replaceRegexpOne";
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let (patterns, replacements) = (Strings::of(arguments, 1)?, Strings::of(arguments, 2)?);
        let mut expressions = Expressions::new(constant.as_ref());
        let mut last: Option<(&[u8], usize, Vec<Piece>)> = None;
        let mut found = Groups::new();
        if let (Some(class), Strings::Constant(replacement), false) = (&class, &replacements, once)
            && let [Piece::Text(text)] = &parse_replacement(replacement, 0)?[..]
            && let Some(expression) = &constant
        {
            return string_column(rows, strings.bytes(rows), |out, row| {
                let string = strings.get(row);
                checkpoint(64 + 2 * string.len())?;
                match class.takes(string) {
                    true => replace_runs(out, string, class, text),
                    false => replace(out, string, expression, &[Piece::Text(text.clone())], usize::MAX),
                }
            });
        }
        if let (Some(sequence), Some(expression), Strings::Constant(replacement)) =
            (&sequence, &constant, &replacements)
        {
            let pieces = parse_replacement(replacement, expression.captures_len() - 1)?;
            return string_column(rows, strings.bytes(rows), |out, row| {
                let string = strings.get(row);
                checkpoint(64 + string.len())?;
                match sequence.takes(string) {
                    true => replace_start(out, string, sequence, &pieces, &mut found),
                    false => replace(out, string, expression, &pieces, if once { 1 } else { usize::MAX }),
                }
            });
        }
        string_column(rows, strings.bytes(rows), |out, row| {
            checkpoint(64 + strings.get(row).len())?;
            let (string, pattern, replacement) = (strings.get(row), patterns.get(row), replacements.get(row));
            if pattern.is_empty() {
                out.extend_from_slice(string);
                return Ok(());
            }
            let expression = expressions.get(pattern)?;
            let groups = expression.captures_len() - 1;
            let known = last.take().filter(|(known, of, _)| *known == replacement && *of == groups);
            let pieces = match known {
                Some((.., pieces)) => pieces,
                None => parse_replacement(replacement, groups)?,
            };
            match sequence.as_ref().filter(|sequence| sequence.takes(string)) {
                Some(sequence) => replace_start(out, string, sequence, &pieces, &mut found)?,
                None => replace(out, string, expression, &pieces, if once { 1 } else { usize::MAX })?,
            }
            last = Some((replacement, groups, pieces));
            Ok(())
        })
    })
}

/// Appends a string with its only match replaced, which begins where the string does.
fn replace_start(
    out: &mut Vec<u8>,
    string: &[u8],
    sequence: &Sequence,
    pieces: &[Piece],
    found: &mut Groups,
) -> Result<()> {
    let is_found = sequence.find(string, found);
    let end = found.first().map_or(0, |(_, end)| *end);
    let pieces = if is_found { pieces } else { &[] };
    // A group is no longer than the string.
    let bytes_max = |piece: &Piece| match piece {
        Piece::Text(text) => text.len(),
        Piece::Group(_) => string.len(),
    };
    let bytes = string.len() + pieces.iter().map(bytes_max).sum::<usize>();
    if out.capacity() - out.len() < bytes {
        grow(out, bytes.max(out.len() / 2))?;
    }
    for piece in pieces {
        out.extend_from_slice(match piece {
            Piece::Text(text) => text,
            Piece::Group(at) => group(string, found, *at),
        });
    }
    out.extend_from_slice(string.get(end..).unwrap_or_default());
    if out.len() > i32::MAX as usize { Err(crate::scalar::simple::too_large()) } else { Ok(()) }
}

/// Appends a string with all bytes of a class, or runs of them, replaced.
fn replace_runs(out: &mut Vec<u8>, string: &[u8], class: &ByteClass, text: &[u8]) -> Result<()> {
    let mut end = 0;
    while let Some(run) = class.find(string, end) {
        let bytes = run.start - end + text.len();
        if out.capacity() - out.len() < bytes {
            checkpoint(bytes)?;
            grow(out, bytes.max(out.len() / 2))?;
        }
        out.extend_from_slice(&string[end..run.start]);
        out.extend_from_slice(text);
        end = run.end;
    }
    out.extend_from_slice(&string[end..]);
    if out.len() > i32::MAX as usize { Err(crate::scalar::simple::too_large()) } else { Ok(()) }
}

/// Appends a string with its first `count` matches replaced.
fn replace(out: &mut Vec<u8>, string: &[u8], expression: &Regex, pieces: &[Piece], count: usize) -> Result<()> {
    let mut end = 0;
    let mut put = |whole: Match<'_>, append_group: &dyn Fn(&mut Vec<u8>, usize)| {
        out.extend_from_slice(&string[end..whole.start()]);
        for piece in pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Group(at) => append_group(out, *at),
            }
        }
        end = whole.end();
        checkpoint(32)?;
        if out.capacity() - out.len() < out.len() / 4 {
            grow(out, out.len() / 2)?;
        }
        if out.len() > i32::MAX as usize { Err(crate::scalar::simple::too_large()) } else { Ok(()) }
    };
    // Where no group is asked for, finding the matches alone is several times faster than finding their groups, too.
    let wants_groups = pieces.iter().any(|piece| matches!(piece, Piece::Group(1..)));
    // Right behind a match an empty one counts as well.
    let mut at = 0;
    for _ in 0..count {
        let whole = if wants_groups {
            let Some(captures) = expression.captures_at(string, at) else { break };
            let Some(whole) = captures.get(0) else { break };
            let append = |out: &mut Vec<u8>, at: usize| {
                out.extend_from_slice(captures.get(at).map_or(&[], |group| group.as_bytes()));
            };
            put(whole, &append)?;
            whole
        } else {
            let Some(whole) = expression.find_at(string, at) else { break };
            put(whole, &|out: &mut Vec<u8>, _| out.extend_from_slice(whole.as_bytes()))?;
            whole
        };
        at = if whole.is_empty() { whole.end() + 1 } else { whole.end() };
        if at > string.len() {
            break;
        }
    }
    out.extend_from_slice(&string[end..]);
    Ok(())
}

pub(super) fn resolve_split(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=3)?;
    call.strings([0, 1])?;
    call.integers([2])?;
    let parts_max = parts_max(call, 2)?;
    let keeps_rest = keeps_rest(call);
    let pattern = call.constant_bytes(0)?;
    let expression = compile_bytes(pattern)?;
    let by_character = pattern.is_empty();
    call.bind(DataType::array(DataType::String), move |arguments, rows| {
        let strings = Strings::of(arguments, 1)?;
        list_column(rows, |list, row| {
            let string = strings.get(row);
            if by_character {
                let single = if keeps_rest { parts_max - 1 } else { parts_max };
                let mut rest = string;
                for character in characters(string).take(single) {
                    list.push(character)?;
                    rest = rest.get(character.len()..).unwrap_or_default();
                }
                return if keeps_rest && !rest.is_empty() { list.push(rest) } else { Ok(()) };
            }
            let (mut start, mut parts) = (0, 0);
            while parts < parts_max {
                // An empty match separates nothing, and what follows it is one part.
                let is_rest = keeps_rest && parts + 1 == parts_max;
                let found = expression.find_at(string, start).filter(|found| !found.is_empty() && !is_rest);
                let Some(found) = found else {
                    list.push(string.get(start..).unwrap_or_default())?;
                    break;
                };
                list.push(string.get(start..found.start()).unwrap_or_default())?;
                (start, parts) = (found.end(), parts + 1);
            }
            Ok(())
        })
    })
}
