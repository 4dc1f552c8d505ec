//! `visibleWidth`: how many columns a value's text takes on a terminal.

use std::sync::Arc;

use arrow_array::types::UInt64Type;
use squall_types::text::{TextStyle, ValueWriter};
use squall_types::{DataType, Error, ErrorCode, Result};
use unicode_width::UnicodeWidthStr;

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument, primitive_column};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    let options = call.text_options()?;
    // Once, a character was as wide as any other.
    let counts_characters = match call.context.settings.function_visible_width_behavior {
        0 => true,
        1 => false,
        other => {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("Unsupported value {other} of the `function_visible_width_behavior` setting"),
            ));
        }
    };
    call.bind(DataType::UInt64, move |arguments, rows| {
        let mut writer = ValueWriter::new(argument(arguments, 0)?, TextStyle::Plain, &options)?;
        let mut text = Vec::new();
        Ok(primitive_column::<UInt64Type>(DataType::UInt64, rows, |row| {
            text.clear();
            writer.write(&mut text, row);
            let text = String::from_utf8_lossy(&text);
            if counts_characters { text.chars().count() as u64 } else { text.width() as u64 }
        }))
    })
}
