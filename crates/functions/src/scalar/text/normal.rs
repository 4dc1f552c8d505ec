//! Unicode's normal forms, text without regard to case or accents, and keys that sort numbers in texts by value.

use std::sync::Arc;

use caseless::Caseless;
use squall_types::{DataType, Error, ErrorCode, Result, checkpoint};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, string_column};

type Bound = Result<Arc<dyn BoundFunction>>;

pub(super) fn resolve(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let name = call.name;
    let form: fn(&str, &mut String) = match name {
        "normalizeUTF8NFC" => |text, out| out.extend(text.nfc()),
        "normalizeUTF8NFD" => |text, out| out.extend(text.nfd()),
        "normalizeUTF8NFKC" => |text, out| out.extend(text.nfkc()),
        "normalizeUTF8NFKD" => |text, out| out.extend(text.nfkd()),
        "normalizeUTF8NFKCCasefold" => |text, out| out.extend(text.nfkc().default_case_fold().nfkc()),
        "caseFoldUTF8" => |text, out| out.extend(text.chars().default_case_fold()),
        _ => |text, out| out.extend(text.nfd().filter(|character| !is_combining_mark(*character)).nfc()),
    };
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        let mut formed = String::new();
        string_column(rows, strings.bytes(rows), |out, row| {
            let text = strings.get(row);
            checkpoint(16 * text.len())?;
            let text = std::str::from_utf8(text).map_err(|_| {
                Error::new(ErrorCode::CANNOT_NORMALIZE_STRING, format!("String of function {name} is not valid UTF-8"))
            })?;
            formed.clear();
            form(text, &mut formed);
            out.extend_from_slice(formed.as_bytes());
            Ok(())
        })
    })
}

/// `naturalSortKey(text)`: each number with how many digits it has in front, so that shorter numbers come first.
pub(super) fn resolve_natural_key(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    call.bind(DataType::String, |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        string_column(rows, strings.bytes(rows), |out, row| {
            let mut rest = strings.get(row);
            while let Some(byte) = rest.first() {
                if !byte.is_ascii_digit() {
                    out.push(*byte);
                    rest = rest.get(1..).unwrap_or_default();
                    continue;
                }
                let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let (digits, after) = rest.split_at(count);
                let zeros = digits.iter().take_while(|digit| **digit == b'0').count().min(count - 1);
                let digits = digits.get(zeros..).unwrap_or(digits);
                out.push(digits.len().saturating_sub(1).min(255 - usize::from(b'0')) as u8 + b'0');
                out.extend_from_slice(digits);
                rest = after;
            }
            Ok(())
        })
    })
}
