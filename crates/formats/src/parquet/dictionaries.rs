//! Strings that lie in a file as keys of a dictionary: their rows become codes of it, and no string is copied.

use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray};
use arrow_schema::{DataType as ArrowType, Field, Fields};
use squall_types::{Column, DataType, Result, Rows, SharedStrings, kernels};

/// Strings of larger dictionaries are written out: a batch has far fewer rows, and whoever counts what it holds counts all strings.
const VALUES_MAX: usize = 1 << 14;

/// The type that the library shall read such strings as.
fn coded_type() -> ArrowType {
    ArrowType::Dictionary(Box::new(ArrowType::UInt32), Box::new(ArrowType::Binary))
}

/// The fields, the strings of these names as codes.
pub(super) fn with_codes(fields: &Fields, coded: &[&str]) -> Fields {
    let fields = fields.iter().map(|field| {
        let is_string = matches!(field.data_type(), ArrowType::Binary | ArrowType::Utf8);
        match is_string && coded.contains(&field.name().as_str()) {
            true => Arc::new(Field::new(field.name(), coded_type(), field.is_nullable())),
            false => field.clone(),
        }
    });
    fields.collect()
}

/// The dictionaries of a row group's columns, by their places: batches share them.
#[derive(Default)]
pub(crate) struct Dictionaries(Vec<Option<(ArrayRef, SharedStrings)>>);

impl Dictionaries {
    /// The rows of the column at a place, as codes where that is worth it.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
    pub(super) fn column(&mut self, at: usize, array: &DictionaryArray<UInt32Type>) -> Result<Column> {
        let data_type = if array.null_count() > 0 { DataType::String.to_nullable() } else { DataType::String };
        let values = array.values();
        if self.0.len() <= at {
            self.0.resize_with(at + 1, || None);
        }
        if let Some(known) = self.0.get_mut(at)
            && (1..=VALUES_MAX).contains(&values.len())
        {
            if !known.as_ref().is_some_and(|(known, _)| Arc::ptr_eq(known, values)) {
                *known = SharedStrings::of(values).map(|strings| (values.clone(), strings));
            }
            if let Some((_, strings)) = known {
                return Ok(Column::of_rows(data_type, strings.rows(array.keys())?));
            }
        }
        let written_out = kernels::take(&**values, array.keys())?;
        Ok(Column::of_rows(data_type, Rows::Whole(written_out)))
    }
}
