//! `SimpleAggregateFunction(f, T)`: values of T under a name that says how tables merge them.

use std::fmt;
use std::sync::Arc;

use crate::data_type::DataType;

/// What is between the parentheses of `SimpleAggregateFunction(…)`. It stands inside the `Nullable` and `LowCardinality` of its argument,
/// so that code that asks for these wrappers finds them outside, as with any other type.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SimpleAggregateType {
    /// The function's name.
    pub function: Arc<str>,
    /// Its parameters as literals, between commas.
    pub parameters: Arc<str>,
    /// The type that is written as the argument, with its wrappers.
    pub argument: DataType,
}

/// The functions whose results can be merged by them again.
const FUNCTIONS: &[&str] = &[
    "any",
    "any_respect_nulls",
    "anyLast",
    "anyLast_respect_nulls",
    "min",
    "max",
    "sum",
    "sumWithOverflow",
    "groupBitAnd",
    "groupBitOr",
    "groupBitXor",
    "sumMap",
    "minMap",
    "maxMap",
    "groupArrayArray",
    "groupArrayLastArray",
    "groupUniqArrayArray",
    "groupUniqArrayArrayMap",
    "sumMappedArrays",
    "minMappedArrays",
    "maxMappedArrays",
];

impl SimpleAggregateType {
    /// Whether a function's results can be merged by it again.
    pub fn is_possible(function: &str) -> bool {
        FUNCTIONS.contains(&function)
    }

    /// What to say of any other function.
    pub fn unsupported(function: &str) -> String {
        format!("Unsupported aggregate function {function}, supported functions are {}", FUNCTIONS.join(","))
    }

    /// The type of the values, without wrappers.
    pub fn values(&self) -> &DataType {
        self.argument.inner()
    }

    /// Whether a wrapper, or those inside of it, are the argument's own.
    pub(crate) fn is_wrapped_as(&self, wrapper: &DataType) -> bool {
        fn wrappers(data_type: &DataType) -> (bool, bool) {
            (matches!(data_type, DataType::LowCardinality(_)), data_type.is_nullable())
        }
        let (own, found) = (wrappers(&self.argument), wrappers(wrapper));
        own == found || found == (false, true) && own == (true, true)
    }

    /// The type of a column: this under the wrappers of its argument.
    pub fn wrapped(self) -> DataType {
        let wrappers = self.argument.clone();
        wrappers.with_inner(DataType::SimpleAggregateFunction(Arc::new(self)))
    }
}

impl fmt::Display for SimpleAggregateType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimpleAggregateFunction({}", self.function)?;
        if !self.parameters.is_empty() {
            write!(f, "({})", self.parameters)?;
        }
        write!(f, ", {})", self.argument)
    }
}

impl DataType {
    /// The aggregate function that a column of this type is merged by, where its type names one.
    pub fn simple_aggregate(&self) -> Option<&SimpleAggregateType> {
        match self {
            Self::Nullable(inner) | Self::LowCardinality(inner) => inner.simple_aggregate(),
            Self::SimpleAggregateFunction(simple) => Some(simple),
            _ => None,
        }
    }

    /// The type that computes: without names that only say what a table does with the values, and with the number that calculations
    /// take a `BFloat16` for. It has the same layout.
    #[must_use]
    pub fn computed(&self) -> Self {
        match self {
            Self::SimpleAggregateFunction(simple) => simple.values().computed(),
            Self::Named(named) => named.values().computed(),
            Self::BFloat16 => Self::Float32,
            Self::Nullable(inner) => Self::Nullable(Arc::new(inner.computed())),
            Self::LowCardinality(inner) => Self::LowCardinality(Arc::new(inner.computed())),
            Self::Array(item) => Self::array(item.computed()),
            Self::Map(key, value) => Self::Map(Arc::new(key.computed()), Arc::new(value.computed())),
            Self::Tuple(elements) => {
                let computed = |element: &crate::data_type::TupleElement| crate::data_type::TupleElement {
                    name: element.name.clone(),
                    data_type: element.data_type.computed(),
                };
                Self::Tuple(elements.iter().map(computed).collect())
            }
            other => other.clone(),
        }
    }

    /// The type without an outer name, inside its wrappers.
    #[must_use]
    pub fn without_names(&self) -> Self {
        match self {
            Self::SimpleAggregateFunction(simple) => simple.values().clone(),
            Self::Named(named) => named.values().clone(),
            Self::Nullable(inner) => Self::Nullable(Arc::new(inner.without_names())),
            Self::LowCardinality(inner) => Self::LowCardinality(Arc::new(inner.without_names())),
            other => other.clone(),
        }
    }

    /// Whether [`computed`](Self::computed) is another type.
    pub fn is_computed_otherwise(&self) -> bool {
        match self {
            Self::SimpleAggregateFunction(_) | Self::Named(_) | Self::BFloat16 => true,
            Self::Nullable(inner) | Self::LowCardinality(inner) | Self::Array(inner) => inner.is_computed_otherwise(),
            Self::Map(key, value) => key.is_computed_otherwise() || value.is_computed_otherwise(),
            Self::Tuple(elements) => elements.iter().any(|element| element.data_type.is_computed_otherwise()),
            _ => false,
        }
    }

    /// The same wrappers around another type.
    #[must_use]
    fn with_inner(&self, inner: Self) -> Self {
        match self {
            Self::Nullable(wrapped) => Self::Nullable(Arc::new(wrapped.with_inner(inner))),
            Self::LowCardinality(wrapped) => Self::LowCardinality(Arc::new(wrapped.with_inner(inner))),
            _ => inner,
        }
    }
}
