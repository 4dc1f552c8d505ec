//! What is known of a column's type while its values are looked at: the type that each of them suggests, how two of them become one, and
//! the data type that comes out of it in the end.

use std::sync::Arc;

use squall_types::variant_type::DYNAMIC_TYPES;
use squall_types::{DataType, TupleElement};

/// What values suggest.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Guess {
    pub kind: Kind,
    /// Whether there was a NULL among them.
    pub has_nulls: bool,
    /// Numbers all of which stood in quotes: beside other strings they are strings.
    pub is_quoted: bool,
}

/// The kinds of values that text tells apart.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Kind {
    /// Nothing but NULL and empty values.
    Unknown,
    Bool,
    Int64 {
        has_negative: bool,
    },
    UInt64,
    Float64,
    Date,
    DateTime,
    DateTime64,
    String,
    Array(Box<Guess>),
    Tuple(Vec<Guess>),
    /// A JSON object: its keys in the order in which they were met.
    Object(Vec<(String, Guess)>),
    Map(Box<Guess>, Box<Guess>),
    /// Items of different types in one array, with what would hold all of them as their own text, if anything does: it is taken for arrays of
    /// which not all are such.
    Dynamic(Option<Box<Guess>>),
}

/// Which values of different kinds one type holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mixing {
    /// In JSON a string column takes anything as its own text, and truths are numbers. A key of objects may have other objects and values:
    /// it is a string, where that is asked for.
    Json { ambiguous_as_strings: bool },
    /// Of the items of one array in JSON strings mix with dates and truths alone.
    JsonItems,
    /// In CSV and TSV every field is a string, if it is nothing else.
    Text,
    /// In SQL literals nothing but numbers mix, and dates with other strings.
    Literals,
}

impl Mixing {
    /// That of JSON by default.
    pub const JSON: Self = Self::Json { ambiguous_as_strings: false };

    fn is_json(self) -> bool {
        matches!(self, Self::Json { .. })
    }
}

/// Which inferred types are nullable: `schema_inference_make_columns_nullable`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Nullability {
    Never,
    Always,
    /// Where there was a NULL, or the format says that there may be one.
    WhereNulls,
    /// As the format says where it does, otherwise always.
    AsFormatSays,
}

impl Nullability {
    pub fn of_setting(value: &str) -> Self {
        match value {
            "0" => Self::Never,
            "2" | "auto" => Self::WhereNulls,
            "3" => Self::AsFormatSays,
            _ => Self::Always,
        }
    }

    /// A type for values of which some are NULL.
    pub fn apply(self, data_type: DataType, has_nulls: bool) -> DataType {
        match self {
            Self::Never => data_type,
            Self::WhereNulls if !has_nulls => data_type,
            _ => data_type.to_nullable(),
        }
    }
}

impl From<Kind> for Guess {
    fn from(kind: Kind) -> Self {
        Self { kind, has_nulls: false, is_quoted: false }
    }
}

impl Guess {
    pub fn null() -> Self {
        Self { kind: Kind::Unknown, has_nulls: true, is_quoted: false }
    }

    /// What holds both; `None` where nothing does.
    pub fn join(self, other: Self, mixing: Mixing) -> Option<Self> {
        let has_nulls = self.has_nulls || other.has_nulls;
        let is_quoted = match (&self.kind, &other.kind) {
            (Kind::Unknown, _) => other.is_quoted,
            (_, Kind::Unknown) => self.is_quoted,
            (Kind::String, _) | (_, Kind::String) if self.is_quoted || other.is_quoted => {
                return Some(Self { kind: Kind::String, has_nulls, is_quoted: false });
            }
            _ => self.is_quoted && other.is_quoted,
        };
        Some(Self { kind: join(self.kind, other.kind, mixing)?, has_nulls, is_quoted })
    }

    /// The type, with String for what nobody knows.
    pub fn data_type(&self, nullability: Nullability) -> DataType {
        let scalar = |data_type: DataType| nullability.apply(data_type, self.has_nulls);
        match &self.kind {
            Kind::Unknown | Kind::String => scalar(DataType::String),
            Kind::Bool => scalar(DataType::Bool),
            Kind::Int64 { .. } => scalar(DataType::Int64),
            Kind::UInt64 => scalar(DataType::UInt64),
            Kind::Float64 => scalar(DataType::Float64),
            Kind::Date => scalar(DataType::Date),
            Kind::DateTime => scalar(DataType::DateTime(None)),
            Kind::DateTime64 => scalar(DataType::DateTime64(9, None)),
            Kind::Array(item) => DataType::array(item.data_type(nullability)),
            Kind::Tuple(items) => scalar(DataType::tuple(items.iter().map(|item| item.data_type(nullability)))),
            Kind::Object(fields) if fields.is_empty() => scalar(DataType::String),
            Kind::Object(fields) => scalar(DataType::Tuple(
                fields
                    .iter()
                    .map(|(name, guess)| TupleElement {
                        name: Some(name.as_str().into()),
                        data_type: guess.data_type(nullability),
                    })
                    .collect(),
            )),
            Kind::Dynamic(_) => DataType::Dynamic(DYNAMIC_TYPES),
            Kind::Map(key, value) => {
                DataType::Map(Arc::new(key.data_type(Nullability::Never)), Arc::new(value.data_type(nullability)))
            }
        }
    }

    /// Whether nothing in it is without a type.
    pub fn is_known(&self) -> bool {
        match &self.kind {
            Kind::Unknown => false,
            Kind::Array(item) => item.is_known(),
            Kind::Tuple(items) => items.iter().all(Self::is_known),
            Kind::Map(key, value) => key.is_known() && value.is_known(),
            _ => true,
        }
    }
}

/// What holds both values of a key of objects.
fn join_of_key(left: Guess, right: Guess, mixing: Mixing) -> Option<Guess> {
    let is_value = |kind: &Kind| !matches!(kind, Kind::Object(_) | Kind::Array(_) | Kind::Unknown);
    let is_ambiguous = match (&left.kind, &right.kind) {
        (Kind::Object(_), other) | (other, Kind::Object(_)) => is_value(other),
        _ => false,
    };
    match mixing {
        Mixing::Json { ambiguous_as_strings: true } if is_ambiguous => {
            Some(Guess { kind: Kind::String, has_nulls: left.has_nulls || right.has_nulls, is_quoted: false })
        }
        mixing => left.join(right, mixing),
    }
}

fn join(left: Kind, right: Kind, mixing: Mixing) -> Option<Kind> {
    use Kind::{
        Array, Bool, Date, DateTime, DateTime64, Dynamic, Float64, Int64, Map, Object, String, Tuple, UInt64, Unknown,
    };
    let boxed = |left: Box<Guess>, right: Box<Guess>| left.join(*right, mixing).map(Box::new);
    Some(match (left, right) {
        (Array(items), Unknown) if mixing.is_json() && matches!(items.kind, Dynamic(Some(_))) => {
            let Dynamic(Some(as_text)) = items.kind else { return None };
            Array(as_text)
        }
        (Unknown, kind) | (kind, Unknown) => kind,
        (Int64 { has_negative: left }, Int64 { has_negative: right }) => Int64 { has_negative: left || right },
        (Int64 { has_negative }, UInt64) | (UInt64, Int64 { has_negative }) => {
            if has_negative {
                Float64
            } else {
                UInt64
            }
        }
        (Float64, Int64 { .. } | UInt64) | (Int64 { .. } | UInt64, Float64) => Float64,
        (Date, DateTime) | (DateTime, Date) => DateTime,
        (DateTime64, Date | DateTime) | (Date | DateTime, DateTime64) => DateTime64,
        (Dynamic(left), Dynamic(right)) => {
            Dynamic(left.zip(right).and_then(|(left, right)| left.join(*right, Mixing::JSON)).map(Box::new))
        }
        (Dynamic(as_text), other) | (other, Dynamic(as_text)) => {
            let other = Guess::from(other);
            match as_text.and_then(|as_text| as_text.join(other, Mixing::JSON)) {
                Some(joined) if mixing.is_json() => joined.kind,
                joined => Dynamic(joined.map(Box::new)),
            }
        }
        (Array(left), Array(right)) => Array(boxed(left, right)?),
        (Map(left_key, left), Map(right_key, right)) => Map(boxed(left_key, right_key)?, boxed(left, right)?),
        (Tuple(left), Tuple(right)) if left.len() == right.len() => {
            Tuple(left.into_iter().zip(right).map(|(left, right)| left.join(right, mixing)).collect::<Option<_>>()?)
        }
        (Object(mut fields), Object(others)) => {
            for (name, other) in others {
                match fields.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, guess)) => *guess = join_of_key(guess.clone(), other, mixing)?,
                    None => fields.push((name, other)),
                }
            }
            Object(fields)
        }
        (Bool, number @ (Int64 { .. } | UInt64 | Float64)) | (number @ (Int64 { .. } | UInt64 | Float64), Bool)
            if matches!(mixing, Mixing::Json { .. } | Mixing::JsonItems) =>
        {
            number
        }
        (left, right) if left == right => left,
        (String, _) | (_, String) if mixing.is_json() => String,
        (String, Date | DateTime | DateTime64 | Bool) | (Date | DateTime | DateTime64 | Bool, String)
            if mixing == Mixing::JsonItems =>
        {
            String
        }
        // What looks like a date is a string.
        (String, Date | DateTime | DateTime64) | (Date | DateTime | DateTime64, String)
            if mixing == Mixing::Literals =>
        {
            String
        }
        (Date | DateTime | DateTime64, Bool | Int64 { .. } | UInt64 | Float64)
        | (Bool | Int64 { .. } | UInt64 | Float64, Date | DateTime | DateTime64)
            if mixing.is_json() =>
        {
            String
        }
        _ if mixing == Mixing::Text => String,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(kinds: &[Kind], mixing: Mixing) -> Option<String> {
        let mut guesses = kinds.iter().cloned().map(Guess::from);
        let first = guesses.next()?;
        let all = guesses.try_fold(first, |all, next| all.join(next, mixing))?;
        Some(all.data_type(Nullability::Never).to_string())
    }

    #[test]
    fn values_of_different_kinds_become_one_type() {
        let (small, negative) = (Kind::Int64 { has_negative: false }, Kind::Int64 { has_negative: true });
        let type_of = |kinds: &[Kind], mixing| joined(kinds, mixing).unwrap_or_default();
        assert_eq!(type_of(&[small.clone(), Kind::Float64], Mixing::Literals), "Float64");
        assert_eq!(type_of(&[small.clone(), Kind::UInt64], Mixing::Text), "UInt64");
        assert_eq!(type_of(&[negative, Kind::UInt64], Mixing::Text), "Float64");
        assert_eq!(type_of(&[Kind::Date, Kind::DateTime], Mixing::Text), "DateTime");
        assert_eq!(type_of(&[Kind::Date, small.clone()], Mixing::Text), "String");
        assert_eq!(type_of(&[Kind::Bool, small.clone()], Mixing::JSON), "Int64");
        assert_eq!(joined(&[Kind::Bool, small.clone()], Mixing::Literals), None);
        let array = |kind: Kind| Kind::Array(Box::new(kind.into()));
        assert_eq!(type_of(&[array(Kind::Unknown), array(small)], Mixing::JSON), "Array(Int64)");
    }

    #[test]
    fn nulls_make_types_nullable_as_the_setting_says() {
        let guess = Guess::from(Kind::Int64 { has_negative: false });
        let with_null = guess.clone().join(Guess::null(), Mixing::Text).unwrap();
        for (setting, plain, null) in [
            ("0", "Int64", "Int64"),
            ("1", "Nullable(Int64)", "Nullable(Int64)"),
            ("auto", "Int64", "Nullable(Int64)"),
            ("3", "Nullable(Int64)", "Nullable(Int64)"),
        ] {
            let nullability = Nullability::of_setting(setting);
            assert_eq!(guess.data_type(nullability).to_string(), plain, "{setting}");
            assert_eq!(with_null.data_type(nullability).to_string(), null, "{setting}");
        }
    }
}
