//! `encrypt`, `decrypt` and MySQL's forms of them: AES with keys of 128, 192 and 256 bits in the modes ECB, CBC, CFB, OFB, CTR and GCM.

mod cipher;

use std::sync::Arc;

use arrow_buffer::NullBuffer;
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use self::cipher::{BLOCK_BYTES, Cipher, Mode};
use super::simple::{Call, Function, Strings, StringsBuilder};
use crate::function::{BoundFunction, ScalarFunction};

type Bound = Result<Arc<dyn BoundFunction>>;

/// This family's functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("aes_decrypt_mysql", |call| resolve(call, false)),
    &Function::new("aes_encrypt_mysql", |call| resolve(call, true)),
    &Function::new("decrypt", |call| resolve(call, false)),
    &Function::new("encrypt", |call| resolve(call, true)),
    &Function::new("tryDecrypt", |call| resolve(call, false)),
];

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, message.into())
}

/// `encrypt(mode, text, key[, iv[, aad]])` and the others.
fn resolve(call: &Call<'_>, encrypts: bool) -> Bound {
    let is_mysql = call.name.ends_with("mysql");
    call.arguments(3..=if is_mysql { 4 } else { 5 })?;
    call.strings(0..call.arguments.len())?;
    let named = call.constant(0).and_then(|mode| mode.as_str()).ok_or_else(|| {
        Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!(
                "A value of illegal type was provided as 1st argument 'mode' to function '{}'. Expected: encryption \
                 mode string, got: {}",
                call.name,
                call.type_of(0)
            ),
        )
    })?;
    let cipher = Cipher::named(named).ok_or_else(|| bad(format!("Invalid mode: {named}")))?;
    if is_mysql && cipher.mode == Mode::Gcm {
        return Err(bad("Unsupported cipher mode"));
    }
    if call.arguments.len() > 3 && cipher.mode == Mode::Ecb && !is_mysql {
        return Err(bad(format!("{named} does not support IV")));
    }
    if call.arguments.len() > 4 && cipher.mode != Mode::Gcm {
        return Err(bad("AAD can be only set for GCM-mode"));
    }
    let or_null = call.name == "tryDecrypt";
    let result = if or_null { DataType::String.to_nullable() } else { DataType::String };
    call.bind(result, move |arguments, rows| {
        let (texts, keys) = (Strings::of(arguments, 1)?, Strings::of(arguments, 2)?);
        let initial = if arguments.len() > 3 { Strings::of(arguments, 3)? } else { Strings::Constant(b"") };
        let additional = if arguments.len() > 4 { Strings::of(arguments, 4)? } else { Strings::Constant(b"") };
        let mut out = StringsBuilder::new(rows, texts.bytes(rows) + BLOCK_BYTES * rows)?;
        let mut valid = Vec::with_capacity(rows);
        for row in 0..rows {
            let text = texts.get(row);
            checkpoint(256 + 2 * text.len())?;
            let key = key(&cipher, keys.get(row), is_mysql)?;
            let start = initial_vector(&cipher, initial.get(row), is_mysql)?;
            let done = match encrypts {
                true => Ok(cipher.encrypt(&key, &start, additional.get(row), text)?),
                false => cipher.decrypt(&key, &start, additional.get(row), text),
            };
            match done {
                Ok(bytes) => {
                    out.bytes.extend_from_slice(&bytes);
                    valid.push(true);
                }
                // What is wrong with the text makes NULL, not what is wrong with the call.
                Err(error) if or_null && error.code == ErrorCode::OPENSSL_ERROR => valid.push(false),
                Err(error) => return Err(error),
            }
            out.end_row()?;
        }
        let texts: Column = out.finish()?;
        if or_null { texts.to_nullable(Some(NullBuffer::from(valid))) } else { Ok(texts) }
    })
}

/// The key; MySQL folds one that is too long onto its beginning.
fn key(cipher: &Cipher, key: &[u8], is_mysql: bool) -> Result<Vec<u8>> {
    let wanted = cipher.key_bytes;
    if key.len() < wanted || key.len() > wanted && !is_mysql {
        return Err(bad(format!("Invalid key size: {} expected {wanted}", key.len())));
    }
    let mut folded = vec![0; wanted];
    key.iter().enumerate().for_each(|(at, byte)| folded[at % wanted] ^= byte);
    Ok(folded)
}

/// The initial vector: zeros where there is none; MySQL cuts one that is too long.
fn initial_vector(cipher: &Cipher, given: &[u8], is_mysql: bool) -> Result<Vec<u8>> {
    if cipher.mode == Mode::Gcm {
        if given.len() == 12 || given.len() == BLOCK_BYTES {
            return Ok(given.to_vec());
        }
        return Err(bad(format!("Invalid IV size {} != expected size 12", given.len())));
    }
    if cipher.mode == Mode::Ecb || given.is_empty() {
        return Ok(vec![0; BLOCK_BYTES]);
    }
    match given.get(..BLOCK_BYTES) {
        Some(start) if is_mysql || given.len() == BLOCK_BYTES => Ok(start.to_vec()),
        _ => Err(bad(format!("Invalid IV size: {} expected {BLOCK_BYTES}", given.len()))),
    }
}
