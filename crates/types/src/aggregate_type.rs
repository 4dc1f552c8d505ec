//! The type of states of aggregate functions: which function with which parameters, and of which arguments.

use std::fmt;
use std::sync::Arc;

use crate::data_type::DataType;

/// What is between the parentheses of `AggregateFunction(…)`. Its values are the states as ClickHouse writes them; no bytes are a state
/// without rows.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AggregateType {
    /// The form of the states, for functions that have several.
    pub version: Option<u64>,
    /// The function's name, with combinators.
    pub function: Arc<str>,
    /// Its parameters as literals, between commas.
    pub parameters: Arc<str>,
    /// The types of its arguments.
    pub arguments: Arc<[DataType]>,
}

impl fmt::Display for AggregateType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AggregateFunction(")?;
        if let Some(version) = self.version {
            write!(f, "{version}, ")?;
        }
        f.write_str(&self.function)?;
        if !self.parameters.is_empty() {
            write!(f, "({})", self.parameters)?;
        }
        for argument in &*self.arguments {
            write!(f, ", {argument}")?;
        }
        f.write_str(")")
    }
}
