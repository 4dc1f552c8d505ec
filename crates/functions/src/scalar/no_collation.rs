//! A build without collations.

use crate::function::ScalarFunction;

/// No functions.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[];

/// No languages.
pub const COLLATIONS: &[(&str, &str)] = &[];
