//! `Variant(T1, …)`: values each of one of several types, or NULL.

use std::sync::Arc;

use crate::data_type::DataType;
use crate::error::{Error, ErrorCode, Result};
use crate::supertype::least_supertype;

/// The number in place of an alternative's that stands for NULL.
pub const NULL_ALTERNATIVE: u8 = u8::MAX;

/// What a `Dynamic` without arguments has.
pub const DYNAMIC_TYPES: u8 = 32;

/// The most that a `Dynamic` may ask for.
pub const DYNAMIC_TYPES_MAX: u8 = 254;

impl DataType {
    /// The `Variant` of alternatives, each once, in the order of their names.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for alternatives that are nullable, or too many.
    pub fn variant(mut alternatives: Vec<Self>) -> Result<Self> {
        let bad = |message: &str| Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        if alternatives.iter().any(|alternative| alternative.is_nullable()) {
            return bad("Nullable/LowCardinality(Nullable) types are not allowed inside Variant type.");
        }
        if alternatives.iter().any(|alternative| matches!(alternative, Self::Variant(_) | Self::Dynamic(_))) {
            return bad("Variant/Dynamic types are not allowed inside Variant type.");
        }
        alternatives.retain(|alternative| *alternative != Self::Nothing);
        alternatives.sort_by_cached_key(ToString::to_string);
        alternatives.dedup();
        if alternatives.len() > usize::from(NULL_ALTERNATIVE) {
            return bad("Variant type with more than 255 nested types is not allowed.");
        }
        Ok(Self::Variant(alternatives.into()))
    }

    /// `Dynamic` without arguments.
    pub fn dynamic() -> Self {
        Self::Dynamic(DYNAMIC_TYPES)
    }

    /// Whether its values may be of several types: `Variant` and `Dynamic`.
    pub fn is_of_alternatives(&self) -> bool {
        matches!(self, Self::Variant(_) | Self::Dynamic(_))
    }

    /// Whether values of several types may be somewhere in it.
    pub fn has_alternatives(&self) -> bool {
        match self {
            Self::Variant(_) | Self::Dynamic(_) | Self::Json(_) => true,
            Self::Nullable(inner) | Self::LowCardinality(inner) | Self::Array(inner) => inner.has_alternatives(),
            Self::Map(key, value) => key.has_alternatives() || value.has_alternatives(),
            Self::Tuple(elements) => elements.iter().any(|element| element.data_type.has_alternatives()),
            _ => false,
        }
    }

    /// The type that an alternative has on its own: nullable where that exists.
    #[must_use]
    pub fn alternative(&self) -> Self {
        match self {
            Self::LowCardinality(inner) => Self::LowCardinality(Arc::new(inner.to_nullable())),
            other => other.to_nullable(),
        }
    }

    /// The type of the column that holds an alternative's values: nullable where its arrays have a validity.
    #[must_use]
    pub fn held_alternative(&self) -> Self {
        match self {
            Self::LowCardinality(_) => self.clone(),
            other => other.to_nullable(),
        }
    }

    /// Two alternatives of a `Variant` somewhere in it that text and numbers would mix up.
    pub fn suspicious_alternatives(&self) -> Option<(&Self, &Self)> {
        match self {
            Self::Variant(alternatives) => alternatives.iter().enumerate().find_map(|(at, left)| {
                let others = alternatives.get(at + 1..).unwrap_or_default();
                others.iter().find(|right| are_similar(left, right)).map(|right| (left, right))
            }),
            Self::Nullable(inner) | Self::LowCardinality(inner) | Self::Array(inner) => inner.suspicious_alternatives(),
            Self::Map(key, value) => key.suspicious_alternatives().or_else(|| value.suspicious_alternatives()),
            Self::Tuple(elements) => elements.iter().find_map(|element| element.data_type.suspicious_alternatives()),
            _ => None,
        }
    }
}

/// Whether values of one type are easily taken for those of another: where both have a type in common.
fn are_similar(left: &DataType, right: &DataType) -> bool {
    let pair = [left, right];
    let has = |is_so: fn(&DataType) -> bool| pair.into_iter().any(is_so);
    if has(|one| *one == DataType::Bool)
        || has(|one| *one == DataType::IPv4) && has(|one| *one == DataType::IPv6)
        || has(DataType::is_any_float) && has(DataType::is_decimal)
    {
        return false;
    }
    least_supertype(&[left.clone(), right.clone()]).is_ok_and(|common| !common.is_of_alternatives())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_alternatives_are_found() {
        for (name, similar) in [
            ("Variant(UInt8, Float64)", true),
            ("Array(Variant(UInt8, UInt16))", true),
            ("Variant(String, LowCardinality(String))", true),
            ("Variant(Array(UInt8), Array(UInt16))", true),
            ("Variant(Date, DateTime)", true),
            ("Variant(Int8, UInt64)", false),
            ("Variant(Bool, UInt8)", false),
            ("Variant(UInt8, String, Array(UInt8), Date)", false),
        ] {
            let data_type = DataType::parse(name).unwrap();
            assert_eq!(data_type.suspicious_alternatives().is_some(), similar, "{name}");
        }
        assert_eq!(DataType::parse("Variant(Nullable(UInt8))").unwrap_err().code, ErrorCode::BAD_ARGUMENTS);
    }
}
