//! Data types as written: a name and its arguments. What they mean is `squall-types`' business.

use super::{Literal, Span};

/// `Name` or `Name(arguments)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DataType {
    /// The name as written; types of several words (`DOUBLE PRECISION`) have them in upper case, one space between.
    pub name: String,
    /// What stands in the parentheses; none when there are none.
    pub arguments: Option<Vec<DataTypeArgument>>,
    /// Where it stands.
    pub span: Span,
}

/// One argument of a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DataTypeArgument {
    /// `Array(UInt8)`; also the function of `AggregateFunction(quantiles(0.5, 0.9), UInt8)`, whose arguments are literals.
    Type(DataType),
    /// `Tuple(a UInt8)`, `Nested(a UInt8)`, `JSON(a.b UInt8)`.
    Named {
        /// The element's name or path.
        name: String,
        /// Its type.
        data_type: DataType,
    },
    /// `Enum8('a' = 1)`.
    EnumValue {
        /// The name of the value.
        name: String,
        /// The number.
        value: i64,
    },
    /// `FixedString(16)`, `DateTime('UTC')`.
    Literal(Literal),
    /// `JSON(max_dynamic_paths = 8)`, `Dynamic(max_types = 8)`.
    Parameter {
        /// The parameter's name.
        name: String,
        /// Its value.
        value: Literal,
    },
    /// `JSON(SKIP a.b)`.
    Skip(String),
    /// `JSON(SKIP REGEXP 'a')`.
    SkipRegexp(String),
}
