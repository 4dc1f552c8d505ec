//! Vectors that are tuples: functions of numbers put together.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, Result, Value};

use super::arrays::{Measure, power};
use crate::function::{Argument, BoundFunction, FunctionContext};
use crate::registry::resolve_scalar;
use crate::scalar::simple::{Call, argument};
use crate::scalar::tuple::arithmetic::elements_of;
use crate::scalar::tuple::elements;

type Bound = Result<Arc<dyn BoundFunction>>;

/// An expression over the arguments of a call: what it takes, and its type.
enum Formula {
    /// An element of an argument.
    Element(usize, usize, DataType),
    Constant(DataType, Value),
    Call(Arc<dyn BoundFunction>, Vec<Formula>),
}

impl Formula {
    fn data_type(&self) -> &DataType {
        match self {
            Self::Element(_, _, data_type) | Self::Constant(data_type, _) => data_type,
            Self::Call(function, _) => function.return_type(),
        }
    }

    fn call(name: &str, arguments: Vec<Self>, context: &FunctionContext) -> Result<Self> {
        let described = arguments.iter().map(|argument| Argument {
            data_type: argument.data_type().clone(),
            constant: if let Self::Constant(_, value) = argument { Some(value.clone()) } else { None },
        });
        let function = resolve_scalar(name, &described.collect::<Vec<_>>(), context)?;
        Ok(Self::Call(function, arguments))
    }

    fn number(number: f64) -> Self {
        Self::Constant(DataType::Float64, Value::Float64(number))
    }

    fn run(&self, parts: &[Vec<Column>], rows: usize) -> Result<Column> {
        match self {
            Self::Element(at, element, _) => parts
                .get(*at)
                .and_then(|parts| parts.get(*element))
                .cloned()
                .ok_or_else(|| Error::logical("a tuple has fewer elements than its type")),
            Self::Constant(data_type, value) => Column::constant(data_type.clone(), value, rows),
            Self::Call(function, arguments) => {
                let arguments = arguments.iter().map(|argument| argument.run(parts, rows));
                function.execute(&arguments.collect::<Result<Vec<_>>>()?, rows)
            }
        }
    }
}

fn element_formulas(call: &Call<'_>, at: usize) -> Result<Vec<Formula>> {
    let elements = elements_of(call, at)?.iter().enumerate();
    Ok(elements.map(|(position, element)| Formula::Element(at, position, element.data_type.clone())).collect())
}

/// The formula of the length of a vector whose elements are made anew each time they are needed.
fn length(
    measure: Measure,
    power: f64,
    count: usize,
    element: &dyn Fn(usize) -> Result<Formula>,
    context: &FunctionContext,
) -> Result<Formula> {
    let call = |name: &str, arguments| Formula::call(name, arguments, context);
    let mut total = None;
    for at in 0..count {
        let part = match measure {
            Measure::L1 | Measure::Linf => call("abs", vec![element(at)?])?,
            Measure::L2 | Measure::L2Squared | Measure::Cosine => call("multiply", vec![element(at)?, element(at)?])?,
            Measure::Lp => call("pow", vec![call("abs", vec![element(at)?])?, Formula::number(power)])?,
        };
        total = Some(match total {
            None => part,
            Some(total) if measure == Measure::Linf => call("max2", vec![total, part])?,
            Some(total) => call("plus", vec![total, part])?,
        });
    }
    let Some(total) = total else { return Ok(Formula::Constant(DataType::UInt8, Value::UInt64(0))) };
    match measure {
        Measure::L2 => call("sqrt", vec![total]),
        Measure::Lp => call("pow", vec![total, Formula::number(1.0 / power)]),
        _ => Ok(total),
    }
}

fn bind(call: &Call<'_>, formula: Formula) -> Bound {
    call.bind(formula.data_type().clone(), move |arguments, rows| {
        let parts = arguments.iter().map(|argument| match argument.data_type() {
            DataType::Tuple(_) => elements(argument),
            _ => Ok(vec![argument.clone()]),
        });
        formula.run(&parts.collect::<Result<Vec<_>>>()?, rows)
    })
}

fn norm_formula(call: &Call<'_>, measure: Measure) -> Result<Formula> {
    let power = if measure == Measure::Lp { power(call, 1)? } else { 1.0 };
    let types = elements_of(call, 0)?;
    let element = |at: usize| {
        let data_type = types.get(at).map_or(DataType::Nothing, |element| element.data_type.clone());
        Ok(Formula::Element(0, at, data_type))
    };
    length(measure, power, types.len(), &element, call.context)
}

pub(super) fn norm(call: &Call<'_>, measure: Measure) -> Bound {
    bind(call, norm_formula(call, measure)?)
}

pub(super) fn normalize(call: &Call<'_>, measure: Measure) -> Bound {
    let norm = bind(call, norm_formula(call, measure)?)?;
    let sides =
        [call.arguments.first().cloned().ok_or_else(|| call.illegal(0))?, Argument::of(norm.return_type().clone())];
    let divide = resolve_scalar("tupleDivideByNumber", &sides, call.context)?;
    call.bind(divide.return_type().clone(), move |arguments, rows| {
        let norms = norm.execute(arguments, rows)?;
        divide.execute(&[argument(arguments, 0)?.clone(), norms], rows)
    })
}

/// Two tuples of one size.
fn pairs(call: &Call<'_>) -> Result<Vec<(Formula, Formula)>> {
    let (left, right) = (element_formulas(call, 0)?, element_formulas(call, 1)?);
    if left.len() != right.len() {
        return Err(Error::new(
            squall_types::ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Expected tuples of the same size as arguments of function {}, got {} and {}",
                call.name,
                call.type_of(0),
                call.type_of(1)
            ),
        ));
    }
    Ok(left.into_iter().zip(right).collect())
}

fn dot_formula(call: &Call<'_>) -> Result<Formula> {
    let mut total = None;
    for (left, right) in pairs(call)? {
        let product = Formula::call("multiply", vec![left, right], call.context)?;
        total = Some(match total {
            None => product,
            Some(total) => Formula::call("plus", vec![total, product], call.context)?,
        });
    }
    Ok(total.unwrap_or(Formula::Constant(DataType::UInt8, Value::UInt64(0))))
}

pub(super) fn dot_product(call: &Call<'_>) -> Bound {
    bind(call, dot_formula(call)?)
}

pub(super) fn distance(call: &Call<'_>, measure: Measure) -> Bound {
    let context = call.context;
    let count = pairs(call)?.len();
    let of_side = |side: usize, at: usize| {
        let element = elements_of(call, side)?.get(at).map(|element| element.data_type.clone());
        Ok(Formula::Element(side, at, element.unwrap_or(DataType::Nothing)))
    };
    if measure == Measure::Cosine {
        let norm = |side: usize| length(Measure::L2, 1.0, count, &|at| of_side(side, at), context);
        let norms = Formula::call("multiply", vec![norm(0)?, norm(1)?], context)?;
        let cosine = Formula::call("divide", vec![dot_formula(call)?, norms], context)?;
        return bind(
            call,
            Formula::call("minus", vec![Formula::Constant(DataType::UInt8, Value::UInt64(1)), cosine], context)?,
        );
    }
    let power = if measure == Measure::Lp { power(call, 2)? } else { 1.0 };
    let apart = |at: usize| Formula::call("minus", vec![of_side(0, at)?, of_side(1, at)?], context);
    bind(call, length(measure, power, count, &apart, context)?)
}
