//! A function on the way from a field to what a condition compares: monotonic, so that bounds go through it, or at least a function, so that
//! single values do.

use std::sync::Arc;

use squall_functions::BoundFunction;
use squall_planner::Expression;
use squall_types::{Column, DataType, Value};

use super::interval::{End, Interval, ValueRange};

/// A function of one argument that varies and of constants.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) name: Arc<str>,
    function: Arc<dyn BoundFunction>,
    argument_type: DataType,
    /// The other arguments; `None` in the place of the one that varies.
    constants: Vec<Option<(Value, DataType)>>,
}

impl Step {
    /// The last function of an expression, and what it is a function of; `None` where that is not one thing.
    pub(super) fn of(expression: &Expression) -> Option<(Self, &Expression)> {
        let Expression::Function { name, function, arguments } = expression else { return None };
        if !function.properties().is_deterministic || function.properties().is_of_moment {
            return None;
        }
        let mut inner = None;
        let mut constants = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument {
                Expression::Constant { value, data_type } => constants.push(Some((value.clone(), data_type.clone()))),
                argument if inner.is_none() => {
                    inner = Some(argument);
                    constants.push(None);
                }
                _ => return None,
            }
        }
        let inner = inner?;
        let (name, function) = (name.clone(), function.clone());
        Some((Self { name, function, argument_type: inner.data_type().clone(), constants }, inner))
    }

    /// Whether it is monotonic over some values.
    pub(super) fn may_keep_order(&self) -> bool {
        self.function.properties().monotonic.is_some_and(|monotonic| self.varies(monotonic.argument))
    }

    fn varies(&self, argument: usize) -> bool {
        matches!(self.constants.get(argument), Some(None))
    }

    /// Whether it turns the order round where it is monotonic.
    pub(super) fn decreases(&self) -> bool {
        self.function.properties().monotonic.is_some_and(|monotonic| monotonic.decreases)
    }

    /// Whether the function is monotonic over all values of a range.
    pub(super) fn is_monotonic_over(&self, range: &ValueRange) -> bool {
        self.is_monotonic_between(range.low.as_ref(), range.high.as_ref())
    }

    fn is_monotonic_between(&self, low: Option<&Value>, high: Option<&Value>) -> bool {
        let Some(monotonic) = self.function.properties().monotonic else { return false };
        if !self.varies(monotonic.argument) {
            return false;
        }
        let end = |end: Option<&Value>, unbounded: i64| match end {
            Some(value) => value.as_i64(),
            None => Some(unbounded),
        };
        let (low, high) = (end(low, i64::MIN), end(high, i64::MAX));
        monotonic.is_everywhere()
            || low.is_some_and(|low| low >= monotonic.first) && high.is_some_and(|high| high <= monotonic.last)
    }

    /// The function's value; `None` where it has none.
    pub(super) fn apply(&self, value: &Value) -> Option<Value> {
        let argument = |constant: &Option<(Value, DataType)>| match constant {
            Some((constant, data_type)) => Column::constant(data_type.clone(), constant, 1).ok(),
            None => Column::constant(self.argument_type.clone(), value, 1).ok(),
        };
        let arguments = self.constants.iter().map(argument).collect::<Option<Vec<_>>>()?;
        let result = self.function.execute(&arguments, 1).ok()?;
        (result.rows() == 1).then(|| result.value(0)).filter(|value| !value.is_null())
    }

    /// Where the function's values lie for all values of an interval; `None` where that is not known. An end that belongs to the interval or
    /// not does so of its image, as several values may have the same.
    pub(super) fn image(&self, interval: &Interval) -> Option<Interval> {
        if let Some(point) = interval.as_point() {
            return self.apply(point).map(Interval::point);
        }
        let value = |end: &End| end.as_ref().map(|(value, _)| value.clone());
        let (low, high) = (value(&interval.low), value(&interval.high));
        if !self.is_monotonic_between(low.as_ref(), high.as_ref()) {
            return None;
        }
        let image = |end: Option<Value>| match end {
            Some(value) => self.apply(&value).map(|value| Some((value, true))),
            None => Some(None),
        };
        let (low, high) = (image(low)?, image(high)?);
        Some(if self.decreases() { Interval { low: high, high: low } } else { Interval { low, high } })
    }
}
