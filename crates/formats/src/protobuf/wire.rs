//! The bytes of messages: numbers of variable length, keys of fields, and what fields hold.

use protox::prost_reflect::Kind;
use squall_types::{Error, ErrorCode, Result};

use crate::wire::put_varint;

/// The wire types.
pub(super) const VARINT: u8 = 0;
const FIXED64: u8 = 1;
pub(super) const LENGTH: u8 = 2;
pub(super) const GROUP: u8 = 3;
pub(super) const GROUP_END: u8 = 4;
const FIXED32: u8 = 5;

/// The type of a field that holds one value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scalar {
    Int32,
    Int64,
    UInt32,
    UInt64,
    SInt32,
    SInt64,
    Fixed32,
    Fixed64,
    SFixed32,
    SFixed64,
    Float,
    Double,
    Bool,
    String,
    Bytes,
    Enum,
}

impl Scalar {
    /// `None` for a message.
    pub fn of(kind: &Kind) -> Option<Self> {
        Some(match kind {
            Kind::Double => Self::Double,
            Kind::Float => Self::Float,
            Kind::Int32 => Self::Int32,
            Kind::Int64 => Self::Int64,
            Kind::Uint32 => Self::UInt32,
            Kind::Uint64 => Self::UInt64,
            Kind::Sint32 => Self::SInt32,
            Kind::Sint64 => Self::SInt64,
            Kind::Fixed32 => Self::Fixed32,
            Kind::Fixed64 => Self::Fixed64,
            Kind::Sfixed32 => Self::SFixed32,
            Kind::Sfixed64 => Self::SFixed64,
            Kind::Bool => Self::Bool,
            Kind::String => Self::String,
            Kind::Bytes => Self::Bytes,
            Kind::Enum(_) => Self::Enum,
            Kind::Message(_) => return None,
        })
    }

    /// The name in schemas.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::UInt32 => "uint32",
            Self::UInt64 => "uint64",
            Self::SInt32 => "sint32",
            Self::SInt64 => "sint64",
            Self::Fixed32 => "fixed32",
            Self::Fixed64 => "fixed64",
            Self::SFixed32 => "sfixed32",
            Self::SFixed64 => "sfixed64",
            Self::Float => "float",
            Self::Double => "double",
            Self::Bool => "bool",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Enum => "enum",
        }
    }

    /// The wire type of its values.
    pub fn wire(self) -> u8 {
        match self {
            Self::Fixed32 | Self::SFixed32 | Self::Float => FIXED32,
            Self::Fixed64 | Self::SFixed64 | Self::Double => FIXED64,
            Self::String | Self::Bytes => LENGTH,
            Self::Int32
            | Self::Int64
            | Self::UInt32
            | Self::UInt64
            | Self::SInt32
            | Self::SInt64
            | Self::Bool
            | Self::Enum => VARINT,
        }
    }

    /// Whether it holds bytes.
    pub fn is_bytes(self) -> bool {
        matches!(self, Self::String | Self::Bytes)
    }
}

/// The bytes before a field's value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    bytes: [u8; 5],
    length: u8,
}

impl Key {
    /// What stands before each of values that are packed together: nothing.
    pub const NONE: Self = Self { bytes: [0; 5], length: 0 };

    pub fn new(number: u32, wire: u8) -> Self {
        let mut key = Vec::with_capacity(5);
        put_varint(&mut key, u64::from(number << 3 | u32::from(wire)));
        let mut bytes = [0; 5];
        bytes.iter_mut().zip(&key).for_each(|(to, from)| *to = *from);
        Self { bytes, length: key.len() as u8 }
    }

    #[inline(always)]
    pub fn put(self, out: &mut Vec<u8>) {
        // Keys of fields up to 15 are one byte.
        if self.length == 1 {
            out.push(self.bytes[0]);
        } else {
            out.extend_from_slice(self.bytes.get(..usize::from(self.length)).unwrap_or_default());
        }
    }

    /// Puts the key and a number of variable length behind it.
    #[inline(always)]
    pub fn put_varint(self, value: u64, out: &mut Vec<u8>) {
        if self.length != 1 {
            self.put(out);
            put_varint(out, value);
            return;
        }
        // Most take a few bytes, which are put at once.
        let (key, more) = (self.bytes[0], |shift: u32| (value >> shift) as u8 | 0x80);
        let last = |shift: u32| (value >> shift) as u8;
        match value {
            0..0x80 => out.extend_from_slice(&[key, last(0)]),
            0x80..0x4000 => out.extend_from_slice(&[key, more(0), last(7)]),
            0x4000..0x20_0000 => out.extend_from_slice(&[key, more(0), more(7), last(14)]),
            0x20_0000..0x1000_0000 => out.extend_from_slice(&[key, more(0), more(7), more(14), last(21)]),
            _ => {
                out.extend_from_slice(&[key, more(0), more(7), more(14), more(21)]);
                put_varint(out, value >> 28);
            }
        }
    }

    /// Puts the key and four bytes.
    #[inline(always)]
    pub fn put_four(self, [a, b, c, d]: [u8; 4], out: &mut Vec<u8>) {
        if self.length == 1 {
            out.extend_from_slice(&[self.bytes[0], a, b, c, d]);
        } else {
            self.put(out);
            out.extend_from_slice(&[a, b, c, d]);
        }
    }

    /// Puts the key and eight bytes.
    #[inline(always)]
    pub fn put_eight(self, [a, b, c, d, e, f, g, h]: [u8; 8], out: &mut Vec<u8>) {
        if self.length == 1 {
            out.extend_from_slice(&[self.bytes[0], a, b, c, d, e, f, g, h]);
        } else {
            self.put(out);
            out.extend_from_slice(&[a, b, c, d, e, f, g, h]);
        }
    }
}

/// Writes what comes behind its length.
pub(super) fn put_with_length(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    // Most are so short that their length is one byte.
    let at = out.len();
    out.push(0);
    put(out)?;
    set_length(out, at);
    Ok(())
}

/// Sets the length of what stands behind the byte for it.
pub(super) fn set_length(out: &mut Vec<u8>, at: usize) {
    let length = out.len() - at - 1;
    if let (Ok(length @ 0..0x80), Some(place)) = (u8::try_from(length), out.get_mut(at)) {
        *place = length;
        return;
    }
    let mut prefix = Vec::with_capacity(10);
    put_varint(&mut prefix, length as u64);
    out.splice(at..at + 1, prefix);
}

/// What a field holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Raw<'a> {
    Varint(u64),
    Fixed32(u32),
    Fixed64(u64),
    /// Behind its length: a string, a message, or packed values.
    Bytes(&'a [u8]),
    Group(&'a [u8]),
}

/// Bytes that are no messages of the schema.
pub(super) fn corrupted() -> Error {
    Error::new(
        ErrorCode::UNKNOWN_PROTOBUF_FORMAT,
        "Protobuf messages are corrupted or don't match the provided schema. Please note that Protobuf stream is \
         length-delimited: every message is prefixed by its length in varint",
    )
}

#[inline(always)]
pub(super) fn take_varint(input: &mut &[u8]) -> Result<u64> {
    match input.split_first() {
        Some((first, rest)) if *first < 0x80 => {
            *input = rest;
            Ok(u64::from(*first))
        }
        _ => take_long_varint(input),
    }
}

fn take_long_varint(input: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for (at, byte) in input.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7F) << (7 * at);
        if byte & 0x80 == 0 {
            *input = input.get(at + 1..).unwrap_or_default();
            return Ok(value);
        }
    }
    Err(corrupted())
}

#[inline]
fn take_bytes<'a>(input: &mut &'a [u8], count: u64) -> Result<&'a [u8]> {
    let taken = usize::try_from(count).ok().and_then(|count| input.split_at_checked(count));
    let (taken, rest) = taken.ok_or_else(corrupted)?;
    *input = rest;
    Ok(taken)
}

#[inline]
fn take_array<const N: usize>(input: &mut &[u8]) -> Result<[u8; N]> {
    let (taken, rest) = input.split_first_chunk::<N>().ok_or_else(corrupted)?;
    *input = rest;
    Ok(*taken)
}

/// The next field: its number, and what it holds.
#[inline]
pub(super) fn take_field<'a>(input: &mut &'a [u8]) -> Result<(u32, Raw<'a>)> {
    let key = u32::try_from(take_varint(input)?).map_err(|_| corrupted())?;
    let number = key >> 3;
    let raw = match key as u8 & 7 {
        VARINT => Raw::Varint(take_varint(input)?),
        FIXED32 => Raw::Fixed32(u32::from_le_bytes(take_array(input)?)),
        FIXED64 => Raw::Fixed64(u64::from_le_bytes(take_array(input)?)),
        LENGTH => {
            let length = take_varint(input)?;
            Raw::Bytes(take_bytes(input, length)?)
        }
        GROUP => Raw::Group(take_group(input, number)?),
        _ => return Err(corrupted()),
    };
    Ok((number, raw))
}

/// The next of values that are packed together.
#[inline]
pub(super) fn take_packed(input: &mut &[u8], scalar: Scalar) -> Result<Raw<'static>> {
    Ok(match scalar.wire() {
        FIXED32 => Raw::Fixed32(u32::from_le_bytes(take_array(input)?)),
        FIXED64 => Raw::Fixed64(u64::from_le_bytes(take_array(input)?)),
        _ => Raw::Varint(take_varint(input)?),
    })
}

/// The fields of a group, whose end is passed over.
fn take_group<'a>(input: &mut &'a [u8], number: u32) -> Result<&'a [u8]> {
    let all = *input;
    // Groups may hold groups: the numbers of those that are open.
    let mut open = vec![number];
    loop {
        let before = input.len();
        let key = u32::try_from(take_varint(input)?).map_err(|_| corrupted())?;
        match key as u8 & 7 {
            VARINT => drop(take_varint(input)?),
            FIXED32 => drop(take_bytes(input, 4)?),
            FIXED64 => drop(take_bytes(input, 8)?),
            LENGTH => {
                let length = take_varint(input)?;
                take_bytes(input, length)?;
            }
            GROUP => open.push(key >> 3),
            GROUP_END if open.pop() == Some(key >> 3) => {
                if open.is_empty() {
                    return Ok(all.get(..all.len() - before).unwrap_or_default());
                }
            }
            _ => return Err(corrupted()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_taken_apart() {
        let mut input: &[u8] =
            b"\x08\xAC\x02\x12\x01a\x1D\x01\0\0\0\x21\x02\0\0\0\0\0\0\0\x2B\x08\x01\x33\x34\x2C\x08\x05";
        let mut fields = Vec::new();
        while !input.is_empty() {
            fields.push(format!("{:?}", take_field(&mut input).unwrap()));
        }
        assert_eq!(
            fields,
            [
                "(1, Varint(300))",
                "(2, Bytes([97]))",
                "(3, Fixed32(1))",
                "(4, Fixed64(2))",
                "(5, Group([8, 1, 51, 52]))",
                "(1, Varint(5))"
            ]
        );
        for bad in
            [&b"\x08"[..], b"\x12\x05a", b"\x0F", b"\x0C", b"\x0B\x08\x01", b"\x0B\x14", b"\x09\x01", &[0xFF; 11]]
        {
            assert_eq!(take_field(&mut &bad[..]).unwrap_err().code, ErrorCode::UNKNOWN_PROTOBUF_FORMAT, "{bad:?}");
        }
    }

    #[test]
    fn keys_and_numbers_are_put_at_once() {
        for value in (0..64).map(|shift| 1 << shift).flat_map(|power: u64| [power - 1, power, u64::MAX - power]) {
            for key in [Key::NONE, Key::new(1, VARINT), Key::new(1000, VARINT)] {
                let (mut at_once, mut apart) = (Vec::new(), Vec::new());
                key.put_varint(value, &mut at_once);
                key.put(&mut apart);
                put_varint(&mut apart, value);
                assert_eq!(at_once, apart);
            }
        }
    }

    #[test]
    fn lengths_take_as_many_bytes_as_they_need() {
        for length in [0, 1, 127, 128, 300, 20_000] {
            let mut out = vec![7];
            put_with_length(&mut out, |out| {
                out.extend(std::iter::repeat_n(1, length));
                Ok(())
            })
            .unwrap();
            let mut rest = &out[1..];
            assert_eq!(take_varint(&mut rest).unwrap() as usize, length);
            assert_eq!(rest.len(), length);
        }
    }
}
