//! `-SimpleState`: the function's results under the name that says how tables merge them.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, SimpleAggregateType, Value};

use crate::accumulator::{Accumulator, AggregateFunction};
use crate::aggregate::adapted::{Adapted, Adapter};
use crate::frames::{FrameStep, FrameWalk};

/// A function whose results are values of `SimpleAggregateFunction`.
#[derive(Debug)]
pub(in crate::aggregate) struct SimpleState {
    function: Arc<dyn AggregateFunction>,
    return_type: DataType,
}

impl SimpleState {
    /// Over `function`, which has this name without aliases.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where results of the function cannot be merged by it again.
    pub fn new(function: Arc<dyn AggregateFunction>, name: &str, parameters: &[Value]) -> Result<Self> {
        if !SimpleAggregateType::is_possible(name) {
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, SimpleAggregateType::unsupported(name)));
        }
        let parameters: Vec<String> = parameters.iter().map(Value::to_string).collect();
        let simple = SimpleAggregateType {
            function: name.into(),
            parameters: parameters.join(", ").into(),
            argument: function.return_type().clone(),
        };
        Ok(Self { function, return_type: simple.wrapped() })
    }
}

impl AggregateFunction for SimpleState {
    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        Adapted::boxed(self.function.accumulator(), Named(Arc::new(self.return_type.clone())))
    }

    fn needs_arguments(&self) -> bool {
        self.function.needs_arguments()
    }

    fn frame_walk<'a>(&'a self) -> Box<dyn FrameWalk + 'a> {
        Box::new(NamedWalk { nested: self.function.frame_walk(), return_type: &self.return_type })
    }
}

struct NamedWalk<'a> {
    nested: Box<dyn FrameWalk + 'a>,
    return_type: &'a DataType,
}

impl FrameWalk for NamedWalk<'_> {
    fn walk(&mut self, arguments: &[Column], steps: &[FrameStep]) -> Result<Column> {
        Ok(self.nested.walk(arguments, steps)?.with_type(self.return_type.clone()))
    }
}

/// Gives results their type.
#[derive(Clone)]
struct Named(Arc<DataType>);

impl Adapter for Named {
    fn finished(&self, results: Column) -> Result<Column> {
        Ok(results.with_type((*self.0).clone()))
    }
}
