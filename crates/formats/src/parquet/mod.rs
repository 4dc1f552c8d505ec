//! Parquet, in and out. What is read is doubtful until it was looked at: `footer` and `pages` check sizes, depths and counts before the
//! library believes them, so that no file takes more memory than its query may have.

mod dictionaries;
mod file;
mod footer;
mod input;
mod layout;
mod output;
mod pages;
mod ranges;
mod thrift;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use squall_types::{Error, ErrorCode, Result};

pub(crate) use dictionaries::Dictionaries;
pub(crate) use file::infer;
pub use file::{ParquetFile, ParquetRowGroup, ReadAt};
pub(crate) use input::{ParquetInput, block_of, type_of, without_panic};
pub(crate) use output::ParquetOutput;

fn parquet_error(error: &ParquetError) -> Error {
    // What our own pages refused goes through the library.
    if let ParquetError::External(inner) = error
        && let Some(own) = inner.downcast_ref::<Error>()
    {
        return own.clone();
    }
    Error::new(ErrorCode::INCORRECT_DATA, format!("Parquet: {error}"))
}

fn arrow_error(error: &ArrowError) -> Error {
    match error {
        ArrowError::ExternalError(inner) if let Some(error) = inner.downcast_ref::<ParquetError>() => {
            parquet_error(error)
        }
        error => Error::new(ErrorCode::INCORRECT_DATA, format!("Parquet: {error}")),
    }
}

fn corrupted(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorCode::INCORRECT_DATA, format!("Parquet: {what}"))
}

fn map<From: ArrowPrimitiveType, To: ArrowPrimitiveType>(
    array: &ArrayRef,
    convert: impl Fn(From::Native) -> To::Native,
) -> PrimitiveArray<To> {
    array.as_primitive::<From>().unary(convert)
}

/// Each value with its bytes turned round, as Parquet has wide decimals: the most significant byte first.
fn big_endian(array: &ArrayRef) -> Result<ArrayRef> {
    let values = array.as_fixed_size_binary();
    let width = usize::try_from(values.value_length()).unwrap_or(1).max(1);
    let mut bytes: Vec<u8> = (0..values.len()).flat_map(|row| values.value(row).iter().copied()).collect();
    bytes.chunks_mut(width).for_each(<[u8]>::reverse);
    let nulls = values.nulls().cloned();
    Ok(Arc::new(arrow_array::FixedSizeBinaryArray::try_new(values.value_length(), bytes.into(), nulls)?))
}
