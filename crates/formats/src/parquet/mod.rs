//! Parquet, in and out. What is read is doubtful until it was looked at: `footer` and `pages` check sizes, depths and counts before the
//! library believes them, so that no file takes more memory than its query may have.

mod file;
mod footer;
mod input;
mod output;
mod pages;
mod ranges;
mod thrift;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use squall_types::{Error, ErrorCode};

pub(crate) use file::infer;
pub use file::{ParquetFile, ParquetRowGroup, ReadAt};
pub(crate) use input::ParquetInput;
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
