//! The atoms of the protocol: variable-length numbers, strings, and a cursor that can tell "not all here yet" from "wrong".

use squall_types::{Error, ErrorCode};

/// The longest string that a server may send: a query's text or an exception with its stack trace.
const STRING_BYTES_MAX: u64 = 1 << 26;

/// Why parsing stopped.
#[derive(Debug)]
pub enum Stop {
    /// The bytes are right so far, but there must come more.
    Incomplete,
    /// The bytes are wrong.
    Bad(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Bad(error)
    }
}

/// A cursor over received bytes.
#[derive(Debug)]
pub struct Input<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Input<'a> {
    /// A cursor at the beginning of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Input { bytes, position: 0 }
    }

    /// The number of bytes read so far.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Stop> {
        let end = self.position.checked_add(count).ok_or_else(too_large)?;
        let taken = self.bytes.get(self.position..end).ok_or(Stop::Incomplete)?;
        self.position = end;
        Ok(taken)
    }

    /// The next `count` bytes, without moving past them.
    pub fn peek(&self, count: usize) -> Result<&'a [u8], Stop> {
        self.bytes.get(self.position..).and_then(|rest| rest.get(..count)).ok_or(Stop::Incomplete)
    }

    /// All bytes that were not taken yet.
    pub fn remaining(&self) -> &'a [u8] {
        self.bytes.get(self.position..).unwrap_or_default()
    }

    /// The next `rows` values of `width` bytes.
    pub fn take_values(&mut self, rows: u64, width: u64) -> Result<&'a [u8], Stop> {
        let bytes = rows.checked_mul(width).and_then(|bytes| usize::try_from(bytes).ok()).ok_or_else(too_large)?;
        self.take(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    pub fn u8(&mut self) -> Result<u8, Stop> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    pub fn i32(&mut self) -> Result<i32, Stop> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    pub fn u64(&mut self) -> Result<u64, Stop> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A number in LEB128.
    pub fn varint(&mut self) -> Result<u64, Stop> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, "A number from the server is longer than ten bytes")))
    }

    /// The bytes of a string with its length before it.
    pub fn bytes(&mut self) -> Result<&'a [u8], Stop> {
        let length = self.varint()?;
        if length > STRING_BYTES_MAX {
            return Err(too_large());
        }
        self.take(length as usize)
    }

    /// A string; what is not UTF-8 in it is replaced.
    pub fn string(&mut self) -> Result<String, Stop> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }
}

fn too_large() -> Stop {
    Stop::Bad(Error::new(ErrorCode::TOO_LARGE_STRING_SIZE, "The server sent a length that is beyond every limit"))
}

/// Appends a number in LEB128.
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a string with its length before it.
pub fn put_string(out: &mut Vec<u8>, value: &str) {
    put_varint(out, value.len() as u64);
    out.extend_from_slice(value.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_strings_come_back() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            put_string(&mut out, "имя");
            let mut input = Input::new(&out);
            assert_eq!(input.varint().unwrap(), value);
            assert_eq!(input.string().unwrap(), "имя");
            assert_eq!(input.position(), out.len());
            assert!(matches!(input.u8(), Err(Stop::Incomplete)));
        }
        assert!(matches!(Input::new(&[0xFF; 11]).varint(), Err(Stop::Bad(_))));
        assert!(matches!(Input::new(&[0xFF, 0xFF, 0xFF, 0xFF, 0x7F]).bytes(), Err(Stop::Bad(_))));
    }
}
