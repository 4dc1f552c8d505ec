//! Casts from `Variant`, `Dynamic` and `JSON`, and to them.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

use super::{CastMode, CastOptions, cast};
use crate::alternatives::Alternatives;
use crate::column::Column;
use crate::data_type::DataType;
use crate::error::{Error, ErrorCode, Result};
use crate::text::{TextStyle, ValueReader, ValueWriter};

/// Whether a cast is one of these.
pub(super) fn concerns(from: &DataType, to: &DataType) -> bool {
    let is_object = |data_type: &DataType| matches!(data_type.inner(), DataType::Json(_));
    if *from.inner() == DataType::Nothing && !from.is_of_alternatives() && !to.is_of_alternatives() {
        return false;
    }
    from.is_of_alternatives()
        || to.is_of_alternatives()
        || is_object(from) && *to.inner() != DataType::String && from.inner() != to.inner()
        || is_object(to) && !from.inner().is_string_or_fixed_string() && from.inner() != to.inner()
}

/// Converts an array of such a type.
pub(super) fn convert(from: &DataType, array: &ArrayRef, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    if let DataType::Dynamic(_) = to {
        if matches!(from, DataType::Dynamic(_)) {
            return Ok(array.clone());
        }
        if options.infers_dynamic && from.inner().is_string_or_fixed_string() {
            return read_texts(from, array, to, options);
        }
        if let DataType::LowCardinality(inner) = from {
            // A dictionary is a type of its own.
            let nulls = array.logical_nulls();
            let is_valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            let rows = (0..array.len()).map(|row| is_valid(row).then_some((0, row as u32))).collect();
            let own = DataType::LowCardinality(std::sync::Arc::new(inner.remove_nullable()));
            return Alternatives { columns: vec![Column::new(own, array.clone())], rows }.to_dynamic();
        }
        return Alternatives::of_array(from, array)?.to_dynamic();
    }
    if let DataType::Variant(alternatives) = to {
        return to_variant(from, array, to, alternatives, options);
    }
    if from.is_of_alternatives() {
        let mode = if options.mode == CastMode::OrNull { CastMode::OrNull } else { CastMode::Plain };
        let options = CastOptions { mode, ..options.clone() };
        return Alternatives::of_array(from, array)?.unite(to, |_, column| cast(column, to, &options))?.to_array();
    }
    // Objects of anything else, and anything else of objects, by way of their text.
    if !matches!(from.inner(), DataType::Tuple(_) | DataType::Map(..) | DataType::Json(_)) {
        return Err(super::no_conversion(from, to));
    }
    let column = Column::new(from.clone(), array.clone());
    let mut writer = ValueWriter::new(&column, TextStyle::Json, &options.text)?;
    let mut reader = ValueReader::new(to, &options.text)?;
    let mut text = Vec::new();
    for row in 0..array.len() {
        text.clear();
        writer.write(&mut text, row);
        crate::checkpoint(text.len())?;
        reader.read_json(&text)?;
    }
    reader.finish()?.to_array()
}

fn read_texts(from: &DataType, array: &ArrayRef, to: &DataType, options: &CastOptions) -> Result<ArrayRef> {
    let texts = cast(&Column::new(from.clone(), array.clone()), &DataType::String.to_nullable(), options)?;
    let texts =
        if matches!(to, DataType::Variant(_)) { without_null_words(texts.array())? } else { texts.array().clone() };
    super::text::from_text(&DataType::String, &texts, to, options)
}

/// Texts of which those are NULL that are its word.
fn without_null_words(array: &ArrayRef) -> Result<ArrayRef> {
    let Some(texts) = array.as_binary_opt::<i32>() else { return Ok(array.clone()) };
    let is_null = |text: &[u8]| text.eq_ignore_ascii_case(b"null") || text == "ᴺᵁᴸᴸ".as_bytes();
    let words: arrow_buffer::BooleanBuffer = (0..texts.len()).map(|row| !is_null(texts.value(row))).collect();
    let nulls = arrow_buffer::NullBuffer::union(array.logical_nulls().as_ref(), Some(&words.into()));
    crate::wrappers::with_validity(array, nulls)
}

fn to_variant(
    from: &DataType,
    array: &ArrayRef,
    to: &DataType,
    alternatives: &[DataType],
    options: &CastOptions,
) -> Result<ArrayRef> {
    if let DataType::Variant(own) = from
        && let Some(other) = own.iter().find(|one| !alternatives.contains(one))
    {
        return Err(Error::new(
            ErrorCode::CANNOT_CONVERT_TYPE,
            format!(
                "Cannot convert type {from} to {to}. Conversion between Variant types is allowed only when new Variant type is an \
                 extension of an initial one, and {other} is not in it"
            ),
        ));
    }
    if from.inner().is_string_or_fixed_string() && options.infers_variant {
        return read_texts(from, array, to, options);
    }
    // A dictionary is an alternative of its own.
    let plain = match from {
        DataType::LowCardinality(inner) if !alternatives.contains(&inner.remove_nullable()) => {
            DataType::LowCardinality(std::sync::Arc::new(inner.remove_nullable()))
        }
        other => other.remove_low_cardinality().remove_nullable(),
    };
    if matches!(plain, DataType::LowCardinality(_)) && !from.is_nullable() {
        let rows = (0..array.len()).map(|row| Some((0, row as u32))).collect();
        let columns = vec![Column::new(plain, array.clone())];
        return Alternatives { columns, rows }.to_variant(alternatives);
    }
    let mut found = Alternatives::of_array(from, array)?;
    let has_texts = alternatives.contains(&DataType::String);
    for column in &mut found.columns {
        if !alternatives.contains(column.data_type()) && has_texts && matches!(from, DataType::Dynamic(_)) {
            *column = cast(column, &DataType::String, options)?;
        }
        let with_dictionary = DataType::LowCardinality(std::sync::Arc::new(column.data_type().clone()));
        if !alternatives.contains(column.data_type()) && alternatives.contains(&with_dictionary) {
            *column = cast(column, &with_dictionary, options)?;
        }
    }
    let with_dictionary = DataType::LowCardinality(std::sync::Arc::new(plain.clone()));
    let known = alternatives.contains(&plain)
        || alternatives.contains(&with_dictionary)
        || from.is_of_alternatives()
        || plain == DataType::Nothing;
    if !known {
        // A name that only says what a value means need not be written: `(1, 2)` is a point.
        let is_named = |one: &&DataType| matches!(one, DataType::Named(_));
        for named in alternatives.iter().filter(is_named) {
            if let Ok(array) = super::cast_array(from, array, named, options) {
                return to_variant(named, &array, to, alternatives, options);
            }
        }
        return Err(Error::new(
            ErrorCode::CANNOT_CONVERT_TYPE,
            format!(
                "Cannot convert type {from} to {to}. Conversion to Variant allowed only for types from this Variant"
            ),
        ));
    }
    found.to_variant(alternatives)
}
