//! `visibleWidth`: how many columns a value's text takes on a terminal.

use std::sync::Arc;

use arrow_array::types::UInt64Type;
use squall_types::text::{TextStyle, ValueWriter};
use squall_types::{DataType, Result};
use unicode_width::UnicodeWidthStr;

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument, primitive_column};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    let options = call.text_options()?;
    call.bind(DataType::UInt64, move |arguments, rows| {
        let mut writer = ValueWriter::new(argument(arguments, 0)?, TextStyle::Plain, &options)?;
        let mut text = Vec::new();
        Ok(primitive_column::<UInt64Type>(DataType::UInt64, rows, |row| {
            text.clear();
            writer.write(&mut text, row);
            String::from_utf8_lossy(&text).width() as u64
        }))
    })
}
