//! `argMin(arg, value)` and `argMax(arg, value)`: the argument of the row with the least or greatest value, the first of several;
//! `argAndMin` and `argAndMax` give the value, too.

use std::marker::PhantomData;
use std::sync::Arc;

use squall_types::{Column, ColumnBuilder, DataType, Error, Result, Value, default_value};

use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::value_column;
use crate::aggregate::values::comparable;
use crate::aggregate::values::element::{AnyValue, Bytes, Element, with_element};

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let (argument, value) = call.two_arguments()?;
    comparable::check(call.name, value)?;
    let (data_type, greatest) = (argument.clone(), call.name.ends_with("Max"));
    let value_type = value.clone();
    let with_value = call.name.starts_with("argAnd");
    let return_type = if with_value { DataType::tuple([argument.clone(), value.clone()]) } else { argument.clone() };
    Ok(
        with_element!(value, E => grouped::function(ArgExtreme::<E> { return_type, data_type, value_type, with_value, greatest, element: PhantomData })),
    )
}

#[derive(Debug)]
struct ArgExtreme<E> {
    return_type: DataType,
    data_type: DataType,
    value_type: DataType,
    /// Whether the value is given, too.
    with_value: bool,
    greatest: bool,
    element: PhantomData<E>,
}

/// The best value so far. Its argument is read only when a value replaces another, which is seldom, so a generic [`Value`] does.
#[derive(Clone)]
pub(in crate::aggregate) struct Best<V> {
    value: V,
    argument: Value,
}

impl<E: Element> StateFunction for ArgExtreme<E> {
    type State = Option<Best<E::Owned>>;
    type Rows<'a> = (&'a Column, E::Rows<'a>);

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        None
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [argument, value] = arguments else { return Err(Error::logical("argMin and argMax take two arguments")) };
        Ok((argument, E::rows(value)?))
    }

    #[inline]
    fn add(&self, state: &mut Self::State, (arguments, values): &Self::Rows<'_>, row: usize) {
        let value = E::get(values, row);
        match state {
            Some(best) if !E::replaces(value, E::as_ref(&best.value), self.greatest) => {}
            _ => *state = Some(Best { value: E::own(value), argument: arguments.value(row) }),
        }
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        match (&*into, &from) {
            (_, None) => {}
            (Some(best), Some(other))
                if !E::replaces(E::as_ref(&other.value), E::as_ref(&best.value), self.greatest) => {}
            _ => *into = from,
        }
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        let argument = state.as_ref().map(|best| &best.argument);
        match (&self.data_type, argument) {
            (DataType::String, Some(Value::String(string))) => {
                Bytes::write_one(&self.data_type, Some(&(**string).into()), out)?;
            }
            (DataType::String, _) => Bytes::write_one(&self.data_type, None, out)?,
            _ => AnyValue::write_one(&self.data_type, argument, out)?,
        }
        E::write_one(&self.value_type, state.as_ref().map(|best| &best.value), out)
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let argument = match &self.data_type {
            DataType::String => Bytes::read_one(&self.data_type, bytes)?.map(Value::string),
            _ => AnyValue::read_one(&self.data_type, bytes)?,
        };
        let value = E::read_one(&self.value_type, bytes)?;
        Ok(argument.zip(value).map(|(argument, value)| Best { value, argument }))
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let mut builder = ColumnBuilder::new(self.data_type.clone());
        let default = default_value(&self.data_type);
        if self.with_value {
            let extremes = E::column(
                &self.value_type,
                states.iter().map(|state| {
                    state.as_ref().map_or_else(|| E::default(&self.value_type), |best| best.value.clone())
                }),
            )?;
            let pair = |(row, state): (usize, &Self::State)| {
                let argument = state.as_ref().map_or(&default, |best| &best.argument).clone();
                Value::Tuple([argument, extremes.value(row)].into())
            };
            return value_column(&self.return_type, states.iter().enumerate().map(pair));
        }
        for state in &states {
            builder.append(state.as_ref().map_or(&default, |best| &best.argument))?;
        }
        builder.finish()
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.as_ref().map_or(0, |best| E::heap_bytes(&best.value) + AnyValue::heap_bytes(&best.argument))
    }
}
