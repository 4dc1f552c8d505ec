//! Strings cut into arrays: by separators, into words, into n-grams.

use std::sync::Arc;

use memchr::memmem;
use squall_types::{DataType, Error, ErrorCode, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, string_column};
use crate::scalar::text::{Tokenizer, check_text};

use super::list::list_column;
use super::utf8::{character_length, characters};

/// Whether the last of so many parts is all the rest of the string.
pub(super) fn keeps_rest(call: &Call<'_>) -> bool {
    call.context.settings.splitby_max_substrings_includes_remaining_string
}

/// The third argument: the most parts; 0 and less are no bound.
pub(super) fn parts_max(call: &Call<'_>, at: usize) -> Result<usize> {
    match call.constant(at) {
        None if call.arguments.len() > at => Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Argument 'max_substrings' of function {} must be a constant integer", call.name),
        )),
        None => Ok(usize::MAX),
        Some(count) => match count.as_i64() {
            Some(count) if count > 0 => Ok(usize::try_from(count).unwrap_or(usize::MAX)),
            _ => Ok(usize::MAX),
        },
    }
}

pub(super) fn resolve_by(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=3)?;
    call.strings([0, 1])?;
    call.integers([2])?;
    let separator = call.constant_bytes(0)?.to_vec();
    if call.name == "splitByChar" && separator.len() != 1 {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Illegal separator for function {}. Must be exactly one byte", call.name),
        ));
    }
    let parts_max = parts_max(call, 2)?;
    let keeps_rest = keeps_rest(call);
    let finder = memmem::Finder::new(&separator).into_owned();
    call.bind(DataType::array(DataType::String), move |arguments, rows| {
        let strings = Strings::of(arguments, 1)?;
        list_column(rows, |list, row| {
            let string = strings.get(row);
            if finder.needle().is_empty() {
                let single = if keeps_rest { string.len().min(parts_max - 1) } else { string.len().min(parts_max) };
                let (bytes, rest) = string.split_at(single);
                bytes.chunks(1).try_for_each(|byte| list.push(byte))?;
                return if keeps_rest && !rest.is_empty() { list.push(rest) } else { Ok(()) };
            }
            let single = <[u8; 1]>::try_from(finder.needle()).ok();
            let next = |from: usize| match single {
                Some([byte]) => memchr::memchr(byte, &string[from..]),
                None => finder.find(&string[from..]),
            };
            let (mut start, mut count) = (0, 0);
            while count < parts_max {
                let at = next(start).filter(|_| !keeps_rest || count + 1 < parts_max);
                let Some(at) = at else { return list.push(&string[start..]) };
                list.push(&string[start..start + at])?;
                start += at + finder.needle().len();
                count += 1;
            }
            Ok(())
        })
    })
}

pub(super) fn resolve_words(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    call.strings([0])?;
    call.integers([1])?;
    let parts_max = parts_max(call, 1)?;
    let keeps_rest = keeps_rest(call);
    let in_word: fn(u8) -> bool = match call.name {
        "alphaTokens" => |byte| byte.is_ascii_alphabetic(),
        "splitByWhitespace" => |byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C),
        _ => |byte| !(byte.is_ascii_punctuation() || matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0B | 0x0C)),
    };
    call.bind(DataType::array(DataType::String), move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        list_column(rows, |list, row| {
            let mut rest = strings.get(row);
            for count in 1.. {
                let Some(start) = rest.iter().position(|byte| in_word(*byte)) else { break };
                rest = rest.get(start..).unwrap_or_default();
                if keeps_rest && count == parts_max {
                    return list.push(rest);
                }
                let end = rest.iter().position(|byte| !in_word(*byte)).unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                list.push(word)?;
                rest = after;
                if count == parts_max {
                    break;
                }
            }
            Ok(())
        })
    })
}

/// `tokens(text[, tokenizer, …])`, and `tokensForLikePattern`: the words of all texts that are like a pattern.
pub(super) fn resolve_tokens(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=5)?;
    check_text(call)?;
    let tokenizer = Tokenizer::of_arguments(call, 1)?;
    let is_pattern = call.name == "tokensForLikePattern";
    if is_pattern {
        // Whether the tokenizer can tell anything of patterns.
        tokenizer.words_of_pattern(b"")?;
    }
    call.bind(DataType::array(DataType::String), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        list_column(rows, |list, row| match is_pattern {
            true => tokenizer.words_of_pattern(texts.get(row))?.iter().try_for_each(|word| list.push(word)),
            false => tokenizer.each_word(texts.get(row), |word| list.push(word)),
        })
    })
}

pub(super) fn resolve_ngrams(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    call.strings([0])?;
    call.integers([1])?;
    let Some(length) = call.constant(1) else {
        return Err(Error::new(ErrorCode::ILLEGAL_COLUMN, "Second argument of function ngrams must be constant"));
    };
    let length = length.as_u64().and_then(|length| usize::try_from(length).ok()).filter(|length| *length > 0);
    let length = length.ok_or_else(|| {
        Error::new(ErrorCode::BAD_ARGUMENTS, "Second argument of function ngrams must be greater than zero")
    })?;
    call.bind(DataType::array(DataType::String), move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        list_column(rows, |list, row| {
            let mut rest = strings.get(row);
            if rest.is_ascii() {
                return rest.windows(length).try_for_each(|gram| list.push(gram));
            }
            let mut lengths: Vec<usize> = characters(rest).map(<[u8]>::len).collect();
            lengths.truncate((lengths.len() + 1).saturating_sub(length));
            for _ in lengths {
                let end = characters(rest).take(length).map(<[u8]>::len).sum::<usize>();
                list.push(&rest[..end])?;
                rest = &rest[character_length(rest)..];
            }
            Ok(())
        })
    })
}

pub(super) fn resolve_first_line(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    call.strings([0])?;
    call.bind(DataType::String, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        string_column(rows, strings.bytes(rows), |out, row| {
            let string = strings.get(row);
            out.extend_from_slice(string.split(|&byte| byte == b'\n' || byte == b'\r').next().unwrap_or(string));
            Ok(())
        })
    })
}
