//! Constants as the parser understands them, before any type is known. A number before `::` is kept as text: `1.10::Decimal(3, 2)`
//! is `CAST('1.10', 'Decimal(3, 2)')`.

use std::hash::{Hash, Hasher};

use crate::format::format_literal;

/// A 64-bit float that compares by its bits, so that literals can be equal, and hashed, whatever they hold.
#[derive(Clone, Copy, Debug)]
pub struct Float(pub f64);

impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Float {}

impl Hash for Float {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// A constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// `NULL`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number from 0 to 2⁶⁴ − 1.
    UInt64(u64),
    /// A negative whole number from −2⁶³.
    Int64(i64),
    /// A number with a point or an exponent, one beyond 64 bits, `inf`, `nan`.
    Float64(Float),
    /// A string: bytes, because `'\xff'` is one.
    String(Vec<u8>),
    /// `[1, 2]` whose elements are all constants.
    Array(Vec<Literal>),
    /// `(1, 2)` whose elements are all constants.
    Tuple(Vec<Literal>),
    /// `{'key': value}`, as the value of a setting.
    Map(Vec<(Literal, Literal)>),
}

impl Literal {
    /// A string literal.
    pub fn string(text: impl AsRef<[u8]>) -> Self {
        Literal::String(text.as_ref().to_vec())
    }

    /// The text of a setting's value, as `Settings::set` takes it; `None` of an array or a tuple.
    pub fn setting_text(&self) -> Option<String> {
        match self {
            Literal::Null => Some(String::new()),
            Literal::Bool(value) => Some(u8::from(*value).to_string()),
            Literal::UInt64(value) => Some(value.to_string()),
            Literal::Int64(value) => Some(value.to_string()),
            Literal::Float64(value) => Some(value.0.to_string()),
            Literal::String(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            Literal::Map(pairs) => {
                let pairs =
                    pairs.iter().map(|(key, value)| format!("{}:{}", format_literal(key), format_literal(value)));
                Some(format!("{{{}}}", pairs.collect::<Vec<_>>().join(",")))
            }
            Literal::Array(_) | Literal::Tuple(_) => None,
        }
    }

    /// A float literal.
    pub fn float(value: f64) -> Self {
        Literal::Float64(Float(value))
    }

    /// The string's text, when this is a string of valid UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Literal::String(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The number, when this is a whole number that fits in `u64`.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Literal::UInt64(value) => Some(*value),
            _ => None,
        }
    }
}
