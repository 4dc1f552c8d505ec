//! AES in its modes. Every key length is a type of its own; here they are one.

use aes::{Aes128, Aes192, Aes256};
use aes_gcm::AesGcm;
use aes_gcm::aead::consts::{U12, U16};
use aes_gcm::aead::{Aead, Payload};
use cipher::block_padding::Pkcs7;
use cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyInit, KeyIvInit, StreamCipher};
use squall_types::{Error, ErrorCode, Result};

/// The bytes of AES's blocks.
pub(super) const BLOCK_BYTES: usize = 16;

/// The bytes that GCM puts behind a text.
const TAG_BYTES: usize = 16;

/// How blocks follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Ecb,
    Cbc,
    Cfb,
    Ofb,
    Ctr,
    Gcm,
}

/// A mode with the length of its keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cipher {
    pub mode: Mode,
    pub key_bytes: usize,
}

fn wrong_key() -> Error {
    Error::logical("a key or an initial vector of the wrong length")
}

fn failed(why: &str) -> Error {
    Error::new(ErrorCode::OPENSSL_ERROR, why.to_owned())
}

/// Runs `$body` with `$aes` as the AES of a key of so many bytes.
macro_rules! by_key {
    ($cipher:expr, $aes:ident => $body:expr) => {
        match $cipher.key_bytes {
            16 => {
                type $aes = Aes128;
                $body
            }
            24 => {
                type $aes = Aes192;
                $body
            }
            _ => {
                type $aes = Aes256;
                $body
            }
        }
    };
}

impl Cipher {
    /// The cipher that OpenSSL calls so, `aes-256-gcm`.
    pub fn named(name: &str) -> Option<Self> {
        let (bits, mode) = name.strip_prefix("aes-")?.split_once('-')?;
        let key_bytes = match bits {
            "128" => 16,
            "192" => 24,
            "256" => 32,
            _ => return None,
        };
        let mode = match mode {
            "ecb" => Mode::Ecb,
            "cbc" => Mode::Cbc,
            "cfb" => Mode::Cfb,
            "ofb" => Mode::Ofb,
            "ctr" => Mode::Ctr,
            "gcm" => Mode::Gcm,
            _ => return None,
        };
        Some(Self { mode, key_bytes })
    }

    /// The encrypted text.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` for a key or an initial vector of another length.
    pub fn encrypt(&self, key: &[u8], start: &[u8], additional: &[u8], text: &[u8]) -> Result<Vec<u8>> {
        by_key!(self, Aes => match self.mode {
            Mode::Ecb => {
                let cipher = ecb::Encryptor::<Aes>::new_from_slice(key).map_err(|_| wrong_key())?;
                Ok(cipher.encrypt_padded_vec::<Pkcs7>(text))
            }
            Mode::Cbc => {
                let cipher = cbc::Encryptor::<Aes>::new_from_slices(key, start).map_err(|_| wrong_key())?;
                Ok(cipher.encrypt_padded_vec::<Pkcs7>(text))
            }
            Mode::Cfb => {
                let mut bytes = text.to_vec();
                cfb_mode::Encryptor::<Aes>::new_from_slices(key, start).map_err(|_| wrong_key())?.encrypt(&mut bytes);
                Ok(bytes)
            }
            Mode::Gcm => {
                let payload = Payload { msg: text, aad: additional };
                let done = match <[u8; BLOCK_BYTES]>::try_from(start) {
                    Ok(start) => AesGcm::<Aes, U16>::new_from_slice(key)
                        .map_err(|_| wrong_key())?
                        .encrypt(&start.into(), payload),
                    Err(_) => AesGcm::<Aes, U12>::new_from_slice(key)
                        .map_err(|_| wrong_key())?
                        .encrypt(&<[u8; 12]>::try_from(start).map_err(|_| wrong_key())?.into(), payload),
                };
                done.map_err(|_| failed("Cannot encrypt"))
            }
            Mode::Ofb | Mode::Ctr => self.stream(key, start, text),
        })
    }

    /// The text of what was encrypted.
    ///
    /// # Errors
    /// `OPENSSL_ERROR` where it was not, or with another key.
    pub fn decrypt(&self, key: &[u8], start: &[u8], additional: &[u8], text: &[u8]) -> Result<Vec<u8>> {
        let is_padded = matches!(self.mode, Mode::Ecb | Mode::Cbc);
        if text.is_empty() {
            return Ok(Vec::new());
        }
        if is_padded && !text.len().is_multiple_of(BLOCK_BYTES) {
            return Err(failed(&format!(
                "Cannot decrypt: data size {} is not a multiple of the cipher block size {BLOCK_BYTES}",
                text.len()
            )));
        }
        if self.mode == Mode::Gcm && text.len() < TAG_BYTES {
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                "Encrypted data is smaller than the size of additional data for AEAD mode, cannot decrypt",
            ));
        }
        let bad_padding = || failed("Cannot decrypt: invalid PKCS#7 padding");
        by_key!(self, Aes => match self.mode {
            Mode::Ecb => {
                let cipher = ecb::Decryptor::<Aes>::new_from_slice(key).map_err(|_| wrong_key())?;
                cipher.decrypt_padded_vec::<Pkcs7>(text).map_err(|_| bad_padding())
            }
            Mode::Cbc => {
                let cipher = cbc::Decryptor::<Aes>::new_from_slices(key, start).map_err(|_| wrong_key())?;
                cipher.decrypt_padded_vec::<Pkcs7>(text).map_err(|_| bad_padding())
            }
            Mode::Cfb => {
                let mut bytes = text.to_vec();
                cfb_mode::Decryptor::<Aes>::new_from_slices(key, start).map_err(|_| wrong_key())?.decrypt(&mut bytes);
                Ok(bytes)
            }
            Mode::Gcm => {
                let payload = Payload { msg: text, aad: additional };
                let done = match <[u8; BLOCK_BYTES]>::try_from(start) {
                    Ok(start) => AesGcm::<Aes, U16>::new_from_slice(key)
                        .map_err(|_| wrong_key())?
                        .decrypt(&start.into(), payload),
                    Err(_) => AesGcm::<Aes, U12>::new_from_slice(key)
                        .map_err(|_| wrong_key())?
                        .decrypt(&<[u8; 12]>::try_from(start).map_err(|_| wrong_key())?.into(), payload),
                };
                done.map_err(|_| failed("EVP_DecryptFinal_ex failed: "))
            }
            Mode::Ofb | Mode::Ctr => self.stream(key, start, text),
        })
    }

    /// Modes that are their own inverse.
    fn stream(&self, key: &[u8], start: &[u8], text: &[u8]) -> Result<Vec<u8>> {
        let mut bytes = text.to_vec();
        by_key!(self, Aes => if self.mode == Mode::Ofb {
            ofb::Ofb::<Aes>::new_from_slices(key, start).map_err(|_| wrong_key())?.apply_keystream(&mut bytes);
        } else {
            ctr::Ctr128BE::<Aes>::new_from_slices(key, start).map_err(|_| wrong_key())?.apply_keystream(&mut bytes);
        });
        Ok(bytes)
    }
}
