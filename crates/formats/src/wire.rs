//! The atoms of binary formats and of the native protocol: variable-length numbers, strings with their length before them, and a
//! cursor over received bytes that can tell "not all here yet" from "wrong".

use squall_types::{Error, ErrorCode};

/// Why reading stopped before a value's end.
#[derive(Debug)]
pub enum Stop {
    /// The bytes are right so far, but more must come.
    Incomplete,
    /// The bytes are wrong.
    Bad(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Bad(error)
    }
}

impl Stop {
    /// The error of a reader that has all bytes there will ever be.
    pub fn into_error(self) -> Error {
        match self {
            Self::Incomplete => {
                Error::new(ErrorCode::CANNOT_READ_ALL_DATA, "Cannot read all data: the input ends too early")
            }
            Self::Bad(error) => error,
        }
    }
}

/// A cursor over bytes of which more may come later.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    is_last: bool,
}

impl<'a> Cursor<'a> {
    /// A cursor at the start of `bytes`, after which more may come.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, is_last: false }
    }

    /// A cursor at the start of `bytes`, after which nothing comes.
    pub fn complete(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, is_last: true }
    }

    /// Whether nothing comes after these bytes.
    pub fn is_last(&self) -> bool {
        self.is_last
    }

    /// The bytes read so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Moves to a position that [`Cursor::position`] told.
    pub fn seek(&mut self, position: usize) {
        self.at = position.min(self.bytes.len());
    }

    /// The bytes that were not read yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// All bytes, read or not.
    pub fn all(&self) -> &'a [u8] {
        self.bytes
    }

    /// Moves past `count` bytes that [`Cursor::rest`] showed.
    #[inline]
    pub fn advance(&mut self, count: usize) {
        self.at = (self.at + count).min(self.bytes.len());
    }

    /// Whether all bytes are read.
    pub fn is_empty(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The next byte, not moved past. At the end: `None` if nothing comes after, else `Incomplete`.
    #[inline]
    pub fn peek(&self) -> Result<Option<u8>, Stop> {
        match self.bytes.get(self.at) {
            Some(byte) => Ok(Some(*byte)),
            None if self.is_last => Ok(None),
            None => Err(Stop::Incomplete),
        }
    }

    /// Moves past the next byte if it is this one.
    #[inline]
    pub fn eat(&mut self, byte: u8) -> Result<bool, Stop> {
        let found = self.peek()? == Some(byte);
        self.at += usize::from(found);
        Ok(found)
    }

    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Stop> {
        let taken = self.rest().get(..count).ok_or(Stop::Incomplete)?;
        self.at += count;
        Ok(taken)
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let array = *self.rest().first_chunk::<N>().ok_or(Stop::Incomplete)?;
        self.at += N;
        Ok(array)
    }

    /// The next byte.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Stop> {
        Ok(self.array::<1>()?[0])
    }

    /// A number in LEB128.
    #[inline]
    pub fn varint(&mut self) -> Result<u64, Stop> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, "A variable-length number is longer than nine bytes")))
    }

    /// The bytes of a string with its length before it, of at most `bytes_max` bytes.
    #[inline]
    pub fn string(&mut self, bytes_max: u64) -> Result<&'a [u8], Stop> {
        let length = self.varint()?;
        if length > bytes_max {
            return Err(Stop::Bad(Error::new(
                ErrorCode::TOO_LARGE_STRING_SIZE,
                format!("Too large string size: {length} bytes, at most {bytes_max} are accepted"),
            )));
        }
        self.take(length as usize)
    }

    /// A string in UTF-8 with its length before it; anything else in it is replaced.
    pub fn text(&mut self, bytes_max: u64) -> Result<String, Stop> {
        Ok(String::from_utf8_lossy(self.string(bytes_max)?).into_owned())
    }
}

/// Appends a number in LEB128.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a string with its length before it.
#[inline]
pub fn put_string(out: &mut Vec<u8>, value: impl AsRef<[u8]>) {
    let value = value.as_ref();
    put_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// A `BFloat16` as the wire has it: the upper half of the float's bits.
#[inline]
pub(crate) fn bfloat16_bytes(value: f32) -> [u8; 2] {
    ((value.to_bits() >> 16) as u16).to_le_bytes()
}

/// The float of a `BFloat16` on the wire.
#[inline]
pub(crate) fn bfloat16_of(bytes: [u8; 2]) -> f32 {
    f32::from_bits(u32::from(u16::from_le_bytes(bytes)) << 16)
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
            let mut cursor = Cursor::new(&out);
            assert_eq!(cursor.varint().unwrap(), value);
            assert_eq!(cursor.text(100).unwrap(), "имя");
            assert!(matches!(cursor.byte(), Err(Stop::Incomplete)));
        }
        assert!(matches!(Cursor::new(&[0xFF; 11]).varint(), Err(Stop::Bad(_))));
        assert!(matches!(Cursor::new(&[0xFF, 0xFF, 0xFF, 0xFF, 0x7F]).string(100), Err(Stop::Bad(_))));
    }
}
