//! What a function of a lambda is: `arrayMap`, `mapFilter`, `arrayFold`. The lambda itself is an expression of a plan, of which
//! nothing is known here: it is a callback over columns, called once for the items of all rows together.

use std::fmt::Debug;
use std::sync::Arc;

use arrow_array::UInt32Array;
use squall_types::{Column, DataType, Result};

use crate::function::{Argument, FunctionContext};

/// A lambda while a function of it is executed.
pub trait Lambda {
    /// How many arguments it has.
    fn arguments(&self) -> usize;

    /// Whether equal arguments make equal results: what it gave may then be computed again, for fewer calls at a time.
    fn is_deterministic(&self) -> bool;

    /// The results of `calls` calls. `arguments` have `calls` rows; `rows` gives the row of the block that each call belongs to,
    /// by which captured values are repeated, and is asked only where something is captured.
    ///
    /// # Errors
    /// Those of the lambda's functions.
    fn call(&self, arguments: &[Column], calls: usize, rows: &dyn Fn() -> UInt32Array) -> Result<Column>;
}

/// A function of a lambda by name, before types are known.
pub trait HigherOrderFunction: Send + Sync {
    /// ClickHouse's name.
    fn name(&self) -> &'static str;

    /// The types of the arguments of a lambda that has `count` of them. `arguments` are the function's other arguments.
    ///
    /// # Errors
    /// `NUMBER_OF_ARGUMENTS_DOESNT_MATCH`, `ILLEGAL_TYPE_OF_ARGUMENT`.
    fn parameters(&self, count: usize, arguments: &[Argument]) -> Result<Vec<DataType>>;

    /// Chooses types and implementation for a lambda that gives `result`.
    ///
    /// # Errors
    /// `ILLEGAL_TYPE_OF_ARGUMENT` and the function's own.
    fn resolve(
        &self,
        result: &DataType,
        arguments: &[Argument],
        context: &FunctionContext,
    ) -> Result<Arc<dyn BoundHigherOrder>>;
}

/// A function of a lambda with its types settled.
pub trait BoundHigherOrder: Send + Sync + Debug {
    /// The type of the result.
    fn return_type(&self) -> &DataType;

    /// Whether it refuses some values itself: its lambda is asked apart, and where that has several arguments their arrays may differ in
    /// length.
    fn may_throw(&self) -> bool {
        true
    }

    /// The results of `rows` rows. Arguments have `rows` rows each; any may be a constant.
    ///
    /// # Errors
    /// `SIZES_OF_ARRAYS_DONT_MATCH`, and those of the lambda.
    fn execute(&self, lambda: &dyn Lambda, arguments: &[Column], rows: usize) -> Result<Column>;
}
