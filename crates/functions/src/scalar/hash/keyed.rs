//! `HMAC(algorithm, message, key)`: digests that only who has the key can make.

use std::sync::Arc;

use hmac::{Mac, SimpleHmac};
use squall_types::{DataType, Error, ErrorCode, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, string_column};

type Append = fn(&mut Vec<u8>, &[u8], &[u8]) -> Result<()>;

macro_rules! append {
    ($digest:ty) => {
        |out, key, message| {
            let mac = <SimpleHmac<$digest> as hmac::KeyInit>::new_from_slice(key);
            let mut mac = mac.map_err(|_| Error::new(ErrorCode::BAD_ARGUMENTS, "Invalid key of function HMAC"))?;
            mac.update(message);
            out.extend_from_slice(&mac.finalize().into_bytes());
            Ok(())
        }
    };
}

/// What makes digests of this name, in any case of letters.
fn algorithm(name: &str) -> Option<Append> {
    Some(match &*name.to_ascii_lowercase() {
        "md4" => append!(md4::Md4),
        "md5" => append!(md5::Md5),
        "ripemd" | "ripemd160" | "rmd160" => append!(ripemd::Ripemd160),
        "sha1" => append!(sha1::Sha1),
        "sha224" => append!(sha2::Sha224),
        "sha256" => append!(sha2::Sha256),
        "sha384" => append!(sha2::Sha384),
        "sha512" => append!(sha2::Sha512),
        "sha512-224" => append!(sha2::Sha512_224),
        "sha512-256" => append!(sha2::Sha512_256),
        "sha3-224" => append!(sha3::Sha3_224),
        "sha3-256" => append!(sha3::Sha3_256),
        "sha3-384" => append!(sha3::Sha3_384),
        "sha3-512" => append!(sha3::Sha3_512),
        _ => return None,
    })
}

pub(super) fn resolve_hmac(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(3..=3)?;
    call.strings(0..3)?;
    let name = String::from_utf8_lossy(call.constant_bytes(0)?);
    let append = algorithm(&name).ok_or_else(|| {
        Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!(
                "Invalid hash algorithm: '{name}'. Supported algorithms are: md4, md5, ripemd160, sha1, sha224, sha256, \
                 sha384, sha512, sha512-224, sha512-256, sha3-224, sha3-256, sha3-384, sha3-512"
            ),
        )
    })?;
    call.bind(DataType::String, move |arguments, rows| {
        let (messages, keys) = (Strings::of(arguments, 1)?, Strings::of(arguments, 2)?);
        string_column(rows, 32 * rows, |out, row| {
            checkpoint(256 + messages.get(row).len())?;
            append(out, keys.get(row), messages.get(row))
        })
    })
}
