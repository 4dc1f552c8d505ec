//! base32 (RFC 4648) and base58 (Bitcoin's alphabet).

use std::sync::Arc;

use data_encoding::BASE32;
use squall_types::{DataType, Error, ErrorCode, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, string_column};

type Bound = Result<Arc<dyn BoundFunction>>;

pub(super) fn resolve_encode(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let is_32 = call.name.contains("32");
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        string_column(rows, strings.bytes(rows) * 8 / 5, |out, row| {
            let bytes = strings.get(row);
            checkpoint(work(bytes.len(), is_32))?;
            let text = if is_32 { BASE32.encode(bytes) } else { bs58::encode(bytes).into_string() };
            out.extend_from_slice(text.as_bytes());
            Ok(())
        })
    })
}

/// base58 divides the whole number again and again.
fn work(bytes: usize, is_32: bool) -> usize {
    if is_32 { bytes } else { bytes.saturating_mul(bytes) }
}

pub(super) fn resolve_decode(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let name = call.name;
    let (is_32, is_lenient) = (name.contains("32"), name.starts_with("try"));
    call.bind(DataType::String, move |arguments, rows| {
        let strings = Strings::of(arguments, 0)?;
        string_column(rows, strings.bytes(rows), |out, row| {
            let text = strings.get(row);
            checkpoint(work(text.len(), is_32))?;
            let decoded = match is_32 {
                true => BASE32.decode(&text.to_ascii_uppercase()).ok(),
                false => bs58::decode(text).into_vec().ok(),
            };
            match decoded {
                Some(bytes) => out.extend_from_slice(&bytes),
                None if is_lenient => {}
                None => {
                    return Err(Error::new(
                        ErrorCode::INCORRECT_DATA,
                        format!("Invalid {name} value ({}), cannot be decoded", String::from_utf8_lossy(text)),
                    ));
                }
            }
            Ok(())
        })
    })
}
