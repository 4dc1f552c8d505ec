//! Literals as they stand in a text, for plans that hold whatever their values are.

use squall_types::{DataType, Value};

/// A literal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Literal {
    /// Digits.
    Integer(u64),
    /// Between quotes, without escapes.
    String(Box<[u8]>),
    /// Anything else, as it is written.
    Other(Box<[u8]>),
}

/// Shorter strings could stand in a plan by chance.
const MARK_BYTES_MIN: usize = 8;

impl Literal {
    /// The literal that is written so.
    pub fn of(text: &[u8]) -> Self {
        if text.iter().all(u8::is_ascii_digit)
            && let Some(value) = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok())
        {
            return Self::Integer(value);
        }
        match text {
            [b'\'', bytes @ .., b'\''] if !bytes.iter().any(|byte| matches!(byte, b'\'' | b'\\')) => {
                Self::String(bytes.into())
            }
            _ => Self::Other(text.into()),
        }
    }

    /// How it is written.
    pub fn append(&self, out: &mut Vec<u8>) {
        match self {
            Self::Integer(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Self::String(bytes) => {
                out.push(b'\'');
                out.extend_from_slice(bytes);
                out.push(b'\'');
            }
            Self::Other(text) => out.extend_from_slice(text),
        }
    }

    /// Another literal of the same kind, made of random bytes, that is seen again wherever it comes to stand; `None` where there are too
    /// few of the kind to be sure.
    pub fn mark(&self, random: u64) -> Option<Self> {
        match self {
            Self::Integer(value) => {
                let (low, high) = class(*value);
                (high > u64::from(u8::MAX)).then(|| Self::Integer(low + random % (high - low)))
            }
            Self::String(bytes) if bytes.len() >= MARK_BYTES_MIN => {
                let letter = |at: usize| b'a' + (random.rotate_left(at as u32 * 5) % 26) as u8;
                Some(Self::String((0..bytes.len()).map(letter).collect()))
            }
            Self::String(_) | Self::Other(_) => None,
        }
    }

    /// Whether it and another one have the same type, and strings the same length: then plans treat them alike.
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Integer(left), Self::Integer(right)) => class(*left) == class(*right),
            (Self::String(left), Self::String(right)) => left.len() == right.len(),
            _ => false,
        }
    }

    /// Whether a constant of a plan is this literal's value as it is, in a type that holds all literals [like](Self::is_like) it.
    pub fn is(&self, value: &Value, data_type: &DataType) -> bool {
        match (self, value, data_type) {
            (Self::Integer(own), Value::UInt64(value), DataType::UInt16 | DataType::UInt32 | DataType::UInt64) => {
                own == value
            }
            (Self::String(own), Value::String(value), DataType::String) => **own == **value,
            (Self::String(own), Value::String(value), DataType::FixedString(width)) => {
                **own == **value && own.len() == *width
            }
            _ => false,
        }
    }

    /// The value, of literals that have marks.
    pub fn value(&self) -> Option<Value> {
        match self {
            Self::Integer(value) => Some(Value::UInt64(*value)),
            Self::String(bytes) => Some(Value::string(bytes)),
            Self::Other(_) => None,
        }
    }
}

/// The integers whose literals have the same type as this one's: the least, and the greatest.
fn class(value: u64) -> (u64, u64) {
    let mut low = 0;
    for high in [u64::from(u8::MAX), u64::from(u16::MAX), u64::from(u32::MAX)] {
        if value <= high {
            return (low, high);
        }
        low = high + 1;
    }
    (low, u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_read_and_written() {
        for (text, literal) in [
            ("17", Literal::Integer(17)),
            ("18446744073709551615", Literal::Integer(u64::MAX)),
            ("'abc'", Literal::String(b"abc"[..].into())),
            ("''", Literal::String(b""[..].into())),
            ("'a\\'b'", Literal::Other(b"'a\\'b'"[..].into())),
            ("1.5", Literal::Other(b"1.5"[..].into())),
            ("18446744073709551616", Literal::Other(b"18446744073709551616"[..].into())),
        ] {
            assert_eq!(Literal::of(text.as_bytes()), literal);
            let mut out = Vec::new();
            literal.append(&mut out);
            assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn marks_are_of_the_kind() {
        for text in ["300", "65535", "65536", "5000000000", "'abcdefgh'"] {
            for random in [0, 1, u64::MAX, 0x0123_4567_89AB_CDEF] {
                let literal = Literal::of(text.as_bytes());
                let mark = literal.mark(random).unwrap();
                assert!(mark.is_like(&literal), "{mark:?}");
            }
        }
        for text in ["5", "255", "'abc'", "1.5"] {
            assert_eq!(Literal::of(text.as_bytes()).mark(1), None);
        }
    }

    #[test]
    fn types_tell_literals_apart() {
        let literal = |text: &str| Literal::of(text.as_bytes());
        assert!(!literal("300").is_like(&literal("70000")));
        assert!(!literal("'ab'").is_like(&literal("'abc'")));
        assert!(!literal("300").is_like(&literal("'300'")));
        assert!(!literal("300").is(&Value::Int64(300), &DataType::Int16));
        assert!(literal("300").is(&Value::UInt64(300), &DataType::UInt64));
    }
}
