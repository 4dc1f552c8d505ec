//! Scalar functions, a module per family. Each has a list `FUNCTIONS` of what it holds; the registry joins them.

mod simple;
mod string;

use crate::function::ScalarFunction;

/// The lists of all modules.
pub(crate) const MODULES: &[&[&dyn ScalarFunction]] = &[string::FUNCTIONS];
