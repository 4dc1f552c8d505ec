//! `fuzzBits`: strings some of whose bits are turned.

use std::sync::Arc;

use arrow_array::FixedSizeBinaryArray;
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint, reserve};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, string_column};

use super::generator::Generator;

/// `fuzzBits(text, probability)`.
pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    call.strings([0])?;
    let probability = call.constant(1).filter(|_| call.type_of(1).is_float()).and_then(Value::as_f64);
    let probability = probability.ok_or_else(|| {
        Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!("Second argument of function {} must be constant float", call.name),
        )
    })?;
    if !(0.0..=1.0).contains(&probability) {
        return Err(Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            format!("Second argument of function {} must be from `0.0` to `1.0`", call.name),
        ));
    }
    let result = call.type_of(0).clone();
    call.bind(result.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let mut generator = Generator::of_thread();
        let mut append = |out: &mut Vec<u8>, row: usize| {
            let text = texts.get(row);
            checkpoint(16 * text.len())?;
            let mut turned = |bit: u8| u8::from(generator.canonical() < probability) << bit;
            out.extend(text.iter().map(|byte| byte ^ (0..8).fold(0, |mask, bit| mask | turned(bit))));
            Ok(())
        };
        let DataType::FixedString(width) = result else {
            return string_column(rows, texts.bytes(rows), append);
        };
        reserve(width * rows)?;
        let mut bytes = Vec::with_capacity(width * rows);
        (0..rows).try_for_each(|row| append(&mut bytes, row))?;
        let array = FixedSizeBinaryArray::try_new(width as i32, bytes.into(), None)?;
        Ok(Column::new(result.clone(), Arc::new(array)))
    })
}
