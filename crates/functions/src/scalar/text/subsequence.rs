//! Whether a string's bytes or characters are in another in their order, and whether a word is one of a text's words.

use std::sync::Arc;

use arrow_array::types::UInt8Type;
use squall_types::{Column, DataType, Result, Value};

use crate::function::BoundFunction;
use crate::registry::resolve_scalar;
use crate::scalar::simple::{Call, Strings, primitive_column};
use crate::scalar::string::{fold_ascii, fold_characters};

type Bound = Result<Arc<dyn BoundFunction>>;

pub(super) fn resolve(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    call.strings([0, 1])?;
    let in_any_case = call.name.contains("CaseInsensitive");
    let in_characters = call.name.ends_with("UTF8");
    let fold: fn(&[u8]) -> Vec<u8> = match (in_any_case, in_characters) {
        (true, true) => fold_characters,
        (true, false) => fold_ascii,
        _ => <[u8]>::to_vec,
    };
    call.bind(DataType::UInt8, move |arguments, rows| {
        let (texts, needles) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
        Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| {
            let (text, needle) = (fold(texts.get(row)), fold(needles.get(row)));
            u8::from(if in_characters {
                let (text, needle) = (String::from_utf8_lossy(&text), String::from_utf8_lossy(&needle));
                holds(text.chars(), needle.chars())
            } else {
                holds(text.iter(), needle.iter())
            })
        }))
    })
}

fn holds<T: PartialEq>(mut text: impl Iterator<Item = T>, mut needle: impl Iterator<Item = T>) -> bool {
    needle.all(|wanted| text.any(|item| item == wanted))
}

/// `hasTokenOrNull(text, token)`: NULL where the token is none.
pub(super) fn resolve_token_or_null(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    call.strings([0, 1])?;
    let result = DataType::UInt8.to_nullable();
    match resolve_scalar(call.name.trim_end_matches("OrNull"), call.arguments, call.context) {
        Ok(has) => call.bind(result, move |arguments, rows| has.execute(arguments, rows)?.to_nullable(None)),
        Err(_) if call.constant(1).is_some() => {
            call.bind(result.clone(), move |_, rows| Column::constant(result.clone(), &Value::Null, rows))
        }
        Err(error) => Err(error),
    }
}
