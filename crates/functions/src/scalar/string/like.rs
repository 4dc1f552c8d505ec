//! `like`, `ilike` and their negations. A pattern is compiled into the cheapest test that it allows: equality, a prefix, a suffix, a
//! search, or a matcher of pieces between `%`.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::types::UInt8Type;
use memchr::memmem;
use regex::bytes::Regex;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings};

use super::regexp;
use super::search::first_matches;
use super::utf8::{begins_character, character_length};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=3)?;
    call.each([0], |data_type| {
        data_type.is_string_or_fixed_string() || matches!(data_type, DataType::Enum8(_) | DataType::Enum16(_))
    })?;
    call.strings([1, 2])?;
    let escape = if call.arguments.len() > 2 { Some(escape_character(call)?) } else { None };
    let any_case = call.name.to_ascii_lowercase().ends_with("ilike");
    let negated = call.name.starts_with("not");
    let constant = match call.constant(1).and_then(Value::as_bytes) {
        Some(pattern) => Some(Pattern::compile(&with_backslashes(pattern, escape)?, any_case)?),
        None => None,
    };
    let options = call.text_options()?;
    // A pattern is refused where it is compiled.
    let call = if constant.is_some() { call.never_throws() } else { *call };
    call.bind(DataType::UInt8, move |arguments, rows| {
        let named = regexp::with_names(arguments, rows, &options)?;
        let arguments = named.as_deref().unwrap_or(arguments);
        let strings = Strings::of(arguments, 0)?;
        let mut flags = vec![0; rows];
        match &constant {
            Some(pattern) => pattern.match_all(&strings, &mut flags),
            None => {
                let patterns = Strings::of(arguments, 1)?;
                // Neighbouring rows often have one pattern.
                let mut last: Option<(&[u8], Pattern)> = None;
                for (row, flag) in flags.iter_mut().enumerate() {
                    let text = patterns.get(row);
                    let pattern = match last.take().filter(|(known, _)| *known == text) {
                        Some((_, pattern)) => pattern,
                        None => Pattern::compile(&with_backslashes(text, escape)?, any_case)?,
                    };
                    *flag = u8::from(pattern.matches(strings.get(row)));
                    last = Some((text, pattern));
                }
            }
        }
        if negated {
            flags.iter_mut().for_each(|flag| *flag ^= 1);
        }
        Ok(Column::from_primitive::<UInt8Type>(DataType::UInt8, flags))
    })
}

/// The character of `ESCAPE`.
fn escape_character(call: &Call<'_>) -> Result<u8> {
    match call.constant_bytes(2)? {
        [one] if one.is_ascii() => Ok(*one),
        _ => Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("The escape character of function {} must be a single ASCII character", call.name),
        )),
    }
}

/// The pattern with a backslash for each escape character, and two for each backslash, which then is a character like any other.
///
/// # Errors
/// `CANNOT_PARSE_ESCAPE_SEQUENCE` where the escape character stands before anything but `%`, `_` and itself.
fn with_backslashes(pattern: &[u8], escape: Option<u8>) -> Result<Cow<'_, [u8]>> {
    let Some(escape) = escape.filter(|escape| *escape != b'\\') else { return Ok(Cow::Borrowed(pattern)) };
    let mut turned = Vec::with_capacity(pattern.len() + 8);
    let mut bytes = pattern.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' {
            turned.extend_from_slice(b"\\\\");
        } else if byte != escape {
            turned.push(byte);
        } else {
            match bytes.next() {
                Some(next) if matches!(next, b'%' | b'_') => turned.extend_from_slice(&[b'\\', next]),
                Some(next) if next == escape => turned.push(next),
                _ => {
                    let pattern = String::from_utf8_lossy(pattern);
                    let escape = char::from(escape);
                    return Err(Error::new(
                        ErrorCode::CANNOT_PARSE_ESCAPE_SEQUENCE,
                        format!(
                            "Invalid escape sequence in LIKE pattern '{pattern}': the escape character '{escape}' must \
                             be followed by '%', '_' or itself"
                        ),
                    ));
                }
            }
        }
    }
    Ok(Cow::Owned(turned))
}

/// A compiled pattern.
#[derive(Debug)]
enum Pattern {
    Anything,
    Equal(Vec<u8>),
    Prefix(Vec<u8>),
    Suffix(Vec<u8>),
    Contains(Box<memmem::Finder<'static>>),
    /// Letters in any case between two `%`: the expression has no anchors and matches nothing empty.
    ContainsAnyCase(Regex),
    AnyCase(Regex),
    Pieces(Vec<Piece>),
}

/// What is between two `%`; the first and the last piece are anchored to the ends of the string.
#[derive(Debug, Default)]
struct Piece {
    parts: Vec<Part>,
    /// Finds the first part where that is text.
    finder: Option<memmem::Finder<'static>>,
}

#[derive(Debug)]
enum Part {
    Text(Vec<u8>),
    /// So many characters, whatever they are.
    Characters(usize),
}

impl Pattern {
    fn compile(pattern: &[u8], any_case: bool) -> Result<Self> {
        let pieces = parse(pattern)?;
        let text = |piece: &Piece| match &piece.parts[..] {
            [] => Some(Vec::new()),
            [Part::Text(text)] => Some(text.clone()),
            _ => None,
        };
        if any_case {
            return Self::compile_any_case(&pieces);
        }
        let texts: Vec<Option<Vec<u8>>> = pieces.iter().map(text).collect();
        Ok(match &texts[..] {
            [Some(whole)] => Self::Equal(whole.clone()),
            [Some(prefix), Some(suffix)] if prefix.is_empty() && suffix.is_empty() => Self::Anything,
            [Some(prefix), Some(suffix)] if suffix.is_empty() => Self::Prefix(prefix.clone()),
            [Some(prefix), Some(suffix)] if prefix.is_empty() => Self::Suffix(suffix.clone()),
            [Some(prefix), Some(middle), Some(suffix)] if prefix.is_empty() && suffix.is_empty() => {
                if middle.is_empty() {
                    Self::Anything
                } else {
                    Self::Contains(Box::new(memmem::Finder::new(middle).into_owned()))
                }
            }
            _ => Self::Pieces(pieces),
        })
    }

    fn compile_any_case(pieces: &[Piece]) -> Result<Self> {
        let expression = |piece: &Piece| {
            let part = |part: &Part| match part {
                Part::Text(text) => regex::escape(&String::from_utf8_lossy(text)),
                Part::Characters(count) => format!(".{{{count}}}"),
            };
            piece.parts.iter().map(part).collect::<String>()
        };
        if let [first, middle, last] = pieces
            && first.parts.is_empty()
            && last.parts.is_empty()
            && let [Part::Text(_)] = &middle.parts[..]
        {
            return Ok(Self::ContainsAnyCase(regexp::compile(&format!("(?i:{})", expression(middle)))?));
        }
        let all: Vec<String> = pieces.iter().map(expression).collect();
        Ok(Self::AnyCase(regexp::compile(&format!("(?i:^{}$)", all.join(".*")))?))
    }

    fn matches(&self, string: &[u8]) -> bool {
        match self {
            Self::Anything => true,
            Self::Equal(text) => string == text,
            Self::Prefix(text) => string.starts_with(text),
            Self::Suffix(text) => string.ends_with(text),
            Self::Contains(finder) => finder.find(string).is_some(),
            Self::ContainsAnyCase(expression) | Self::AnyCase(expression) => expression.is_match(string),
            Self::Pieces(pieces) => match_pieces(pieces, string),
        }
    }

    /// Sets the flags of the rows that match.
    fn match_all(&self, strings: &Strings<'_>, flags: &mut [u8]) {
        match (self, strings) {
            (Self::Contains(finder), Strings::Varying(strings)) => {
                let find = |data: &[u8], from: usize| {
                    finder.find(&data[from..]).map(|at| (from + at, from + at + finder.needle().len()))
                };
                first_matches(strings, find, |row, _| flags[row] = 1);
            }
            (Self::ContainsAnyCase(expression), Strings::Varying(strings)) => {
                let find =
                    |data: &[u8], from: usize| expression.find_at(data, from).map(|found| (found.start(), found.end()));
                first_matches(strings, find, |row, _| flags[row] = 1);
            }
            _ => flags.iter_mut().enumerate().for_each(|(row, flag)| *flag = u8::from(self.matches(strings.get(row)))),
        }
    }
}

/// The pieces between `%`: one more than there are of these; neighbouring `%` are one.
fn parse(pattern: &[u8]) -> Result<Vec<Piece>> {
    let mut pieces = vec![Piece::default()];
    let mut bytes = pattern.iter().copied();
    let mut after_percent = false;
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            if !std::mem::replace(&mut after_percent, true) {
                pieces.push(Piece::default());
            }
            continue;
        }
        after_percent = false;
        let Some(piece) = pieces.last_mut() else { continue };
        match byte {
            b'_' => match piece.parts.last_mut() {
                Some(Part::Characters(count)) => *count += 1,
                _ => piece.parts.push(Part::Characters(1)),
            },
            b'\\' => match bytes.next() {
                Some(escaped @ (b'%' | b'_' | b'\\')) => piece.text(escaped),
                // Any other escape is the two characters themselves.
                Some(other) => {
                    piece.text(b'\\');
                    piece.text(other);
                }
                None => {
                    return Err(Error::new(
                        ErrorCode::CANNOT_PARSE_ESCAPE_SEQUENCE,
                        format!(
                            "Invalid escape sequence at the end of LIKE pattern '{}'",
                            String::from_utf8_lossy(pattern)
                        ),
                    ));
                }
            },
            other => piece.text(other),
        }
    }
    for piece in &mut pieces {
        if let Some(Part::Text(text)) = piece.parts.first() {
            piece.finder = Some(memmem::Finder::new(text).into_owned());
        }
    }
    Ok(pieces)
}

impl Piece {
    fn text(&mut self, byte: u8) {
        match self.parts.last_mut() {
            Some(Part::Text(text)) => text.push(byte),
            _ => self.parts.push(Part::Text(vec![byte])),
        }
    }

    /// Where the piece ends if it begins at the start of `string`.
    fn match_here(&self, string: &[u8]) -> Option<usize> {
        let mut at = 0;
        for part in &self.parts {
            match part {
                Part::Text(text) => {
                    if !string.get(at..)?.starts_with(text) {
                        return None;
                    }
                    at += text.len();
                }
                Part::Characters(count) => {
                    for _ in 0..*count {
                        match character_length(string.get(at..)?) {
                            0 => return None,
                            length => at += length,
                        }
                    }
                }
            }
        }
        Some(at)
    }

    /// Where the first match ends.
    fn find(&self, string: &[u8]) -> Option<usize> {
        let mut from = 0;
        loop {
            let rest = string.get(from..)?;
            let start = match &self.finder {
                Some(finder) => from + finder.find(rest)?,
                None => from,
            };
            if let Some(length) = self.match_here(string.get(start..)?) {
                return Some(start + length);
            }
            match character_length(string.get(start..)?) {
                0 => return None,
                length => from = start + length,
            }
        }
    }

    /// Whether the string ends with the piece.
    fn match_end(&self, string: &[u8]) -> bool {
        if let [Part::Text(text)] = &self.parts[..] {
            return string.ends_with(text);
        }
        // A piece that has places for characters may end at several of them; it ends at the string's end if it does from any
        // character on.
        let starts = (0..=string.len()).filter(|&at| string.get(at).is_none_or(|&byte| begins_character(byte)));
        starts.into_iter().any(|at| self.match_here(&string[at..]) == Some(string.len() - at))
    }
}

/// The first piece is anchored, the ones between are found one after the other as early as they come, the last is at the end.
fn match_pieces(pieces: &[Piece], string: &[u8]) -> bool {
    let [first, others @ ..] = pieces else { return string.is_empty() };
    let Some(mut at) = first.match_here(string) else { return false };
    let [between @ .., last] = others else { return at == string.len() };
    for piece in between {
        match piece.find(&string[at..]) {
            Some(length) => at += length,
            None => return false,
        }
    }
    last.match_end(&string[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Patterns by definition: try every way.
    fn naive(pattern: &[char], string: &[char]) -> bool {
        match (pattern, string) {
            ([], rest) => rest.is_empty(),
            (['%', pattern @ ..], rest) => (0..=rest.len()).any(|at| naive(pattern, &rest[at..])),
            (['_', pattern @ ..], [_, rest @ ..]) => naive(pattern, rest),
            ([one, pattern @ ..], [other, rest @ ..]) => one == other && naive(pattern, rest),
            _ => false,
        }
    }

    #[test]
    fn patterns_match_as_defined() {
        let mut state = 1_u64;
        let mut random = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        for _ in 0..4_000 {
            let pattern: Vec<char> = (0..random(7)).map(|_| ['a', 'b', 'ж', '%', '_'][random(5) as usize]).collect();
            let string: Vec<char> = (0..random(9)).map(|_| ['a', 'b', 'ж'][random(3) as usize]).collect();
            let (text, of): (String, String) = (string.iter().collect(), pattern.iter().collect());
            for any_case in [false, true] {
                let compiled = Pattern::compile(of.as_bytes(), any_case).unwrap();
                assert_eq!(compiled.matches(text.as_bytes()), naive(&pattern, &string), "{text} like {of}");
            }
        }
    }
}
