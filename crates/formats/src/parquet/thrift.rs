//! Thrift's compact protocol, as far as it is needed to look at what a file says before the library believes it. Everything is read in place;
//! nothing is allocated.

use squall_types::Result;

use super::corrupted;

/// How deep what is skipped may nest.
const DEPTH_MAX: u32 = 32;

/// The kinds of values that are told apart here.
pub(super) mod kind {
    pub const TRUE: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const BYTE: u8 = 3;
    pub const I16: u8 = 4;
    pub const I32: u8 = 5;
    pub const I64: u8 = 6;
    pub const DOUBLE: u8 = 7;
    pub const BINARY: u8 = 8;
    pub const LIST: u8 = 9;
    pub const SET: u8 = 10;
    pub const MAP: u8 = 11;
    pub const STRUCT: u8 = 12;
    pub const UUID: u8 = 13;
}

/// A place in such bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thrift<'a> {
    bytes: &'a [u8],
}

impl<'a> Thrift<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Bytes that were not read yet.
    pub fn left(&self) -> usize {
        self.bytes.len()
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8]> {
        let (taken, rest) =
            self.bytes.split_at_checked(bytes).ok_or_else(|| corrupted("its metadata end too early"))?;
        self.bytes = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?.first().copied().unwrap_or(0))
    }

    /// An unsigned number of variable length.
    pub fn varint(&mut self) -> Result<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(corrupted("a number in its metadata is too long"))
    }

    /// A signed number.
    pub fn number(&mut self) -> Result<i64> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// A number that counts something.
    pub fn count(&mut self) -> Result<usize> {
        usize::try_from(self.number()?).map_err(|_| corrupted("a size in its metadata is negative"))
    }

    /// The kind of the next field of a structure, whose number `id` becomes; `None` at its end.
    pub fn field(&mut self, id: &mut i64) -> Result<Option<u8>> {
        let header = self.byte()?;
        if header == 0 {
            return Ok(None);
        }
        *id = match header >> 4 {
            0 => self.number()?,
            delta => *id + i64::from(delta),
        };
        Ok(Some(header & 0x0f))
    }

    /// The number and the kind of the elements that follow; there are bytes for that many.
    pub fn list(&mut self) -> Result<(usize, u8)> {
        let header = self.byte()?;
        let elements = match header >> 4 {
            15 => usize::try_from(self.varint()?).unwrap_or(usize::MAX),
            elements => usize::from(elements),
        };
        if elements > self.left() {
            return Err(corrupted("a list in its metadata is longer than the file"));
        }
        Ok((elements, header & 0x0f))
    }

    /// Goes past a value.
    pub fn skip(&mut self, kind: u8) -> Result<()> {
        self.skip_within(kind, DEPTH_MAX)
    }

    fn skip_within(&mut self, kind: u8, depth: u32) -> Result<()> {
        let Some(depth) = depth.checked_sub(1) else { return Err(corrupted("its metadata nest too deep")) };
        match kind {
            kind::TRUE | kind::FALSE => {}
            kind::BYTE => drop(self.byte()?),
            kind::I16 | kind::I32 | kind::I64 => drop(self.varint()?),
            kind::DOUBLE => drop(self.take(8)?),
            kind::UUID => drop(self.take(16)?),
            kind::BINARY => {
                let bytes = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                self.take(bytes)?;
            }
            kind::LIST | kind::SET => {
                let (elements, kind) = self.list()?;
                for _ in 0..elements {
                    self.skip_element(kind, depth)?;
                }
            }
            kind::MAP => {
                let entries = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                if entries > self.left() {
                    return Err(corrupted("a map in its metadata is longer than the file"));
                }
                if entries > 0 {
                    let kinds = self.byte()?;
                    for _ in 0..entries {
                        self.skip_element(kinds >> 4, depth)?;
                        self.skip_element(kinds & 0x0f, depth)?;
                    }
                }
            }
            kind::STRUCT => {
                let mut id = 0;
                while let Some(kind) = self.field(&mut id)? {
                    self.skip_within(kind, depth)?;
                }
            }
            _ => return Err(corrupted("its metadata hold a value of an unknown kind")),
        }
        Ok(())
    }

    /// Truth values are bytes of their own where they are elements.
    fn skip_element(&mut self, kind: u8, depth: u32) -> Result<()> {
        match kind {
            kind::TRUE | kind::FALSE => drop(self.byte()?),
            kind => self.skip_within(kind, depth)?,
        }
        Ok(())
    }
}
