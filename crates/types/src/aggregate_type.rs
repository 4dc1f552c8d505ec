//! The type of states of aggregate functions: which function with which parameters, and of which arguments.

use std::fmt;
use std::sync::Arc;

use crate::data_type::{DECIMAL_DIGITS_MAX, DataType};

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

/// The type with tuples whose elements have no names: those do not change states.
fn unnamed(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Array(item) => DataType::array(unnamed(item)),
        DataType::Map(key, value) => DataType::Map(Arc::new(unnamed(key)), Arc::new(unnamed(value))),
        DataType::Tuple(elements) => DataType::tuple(elements.iter().map(|element| unnamed(&element.data_type))),
        other => other.clone(),
    }
}

impl AggregateType {
    /// The newest form of a function's states, where it has several: those over arrays of keys and values do.
    pub fn newest_version(function: &str, arguments: &[DataType]) -> Option<u64> {
        (function.contains("Map") && !matches!(arguments, [DataType::Map(..), ..])).then_some(1)
    }

    /// Whether states of another type are states of this one, too.
    pub fn has_states_of(&self, other: &Self) -> bool {
        self.form() == other.form()
    }

    /// What the bytes of the states depend on: the name without combinators that only choose rows, the parameters and the arguments.
    fn form(&self) -> (String, String, Vec<DataType>) {
        let mut function = &*self.function;
        let mut arguments = self.arguments.to_vec();
        loop {
            if let (Some(inner), [_, ..]) = (function.strip_suffix("If"), &arguments[..]) {
                function = inner;
                arguments.pop();
            } else if let (Some(inner), Some(items)) = (function.strip_suffix("Array"), items_of(&arguments)) {
                function = inner;
                arguments = items;
            } else {
                break;
            }
        }
        for argument in &mut arguments {
            *argument = unnamed(argument);
            if let DataType::Decimal(digits, scale) = argument {
                *argument = DataType::Decimal(widest(*digits), *scale);
            }
        }
        // What is counted does not matter, and values are kept alike for all levels of quantiles.
        if function == "count" {
            return (function.to_owned(), String::new(), Vec::new());
        }
        if let Some(kind) = function.strip_prefix("quantile") {
            let kind = kind.strip_prefix('s').unwrap_or(kind);
            let accuracy = self.parameters.split(',').next().filter(|_| matches!(kind, "GK" | "DD"));
            return (format!("quantile{kind}"), accuracy.unwrap_or_default().to_owned(), arguments);
        }
        (function.to_owned(), self.parameters.to_string(), arguments)
    }
}

/// The types of the items where all arguments are arrays.
fn items_of(arguments: &[DataType]) -> Option<Vec<DataType>> {
    let item = |argument: &DataType| match argument {
        DataType::Array(item) => Some((**item).clone()),
        _ => None,
    };
    arguments.iter().map(item).collect::<Option<Vec<_>>>().filter(|items| !items.is_empty())
}

/// The most digits of a decimal of the same width.
fn widest(digits: u8) -> u8 {
    [9, 18, 38].into_iter().find(|most| digits <= *most).unwrap_or(DECIMAL_DIGITS_MAX)
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
