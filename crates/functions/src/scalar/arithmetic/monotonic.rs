//! Where arithmetic of a column and a constant keeps the order of the column's values, or turns it round: where its result does not wrap.

use squall_types::{DataType, Value};

use super::Shape;
use crate::properties::Monotonic;
use crate::scalar::simple::Call;

/// What is done with a value and a constant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Plus,
    Minus,
    Multiply,
    /// The quotient as a float.
    Divide,
}

/// Where an operation whose result has this type is monotonic in its argument that is no constant.
pub(super) fn of(call: &Call<'_>, operation: Operation, result: &DataType) -> Option<Monotonic> {
    let argument = match (call.constant(0), call.constant(1)) {
        (None, Some(_)) => 0,
        (Some(_), None) if operation != Operation::Divide => 1,
        _ => return None,
    };
    let constant = call.constant(1 - argument)?;
    let factor = constant.as_f64().filter(|factor| factor.is_finite())?;
    let decreases = match operation {
        Operation::Plus => false,
        Operation::Minus => argument == 1,
        Operation::Multiply | Operation::Divide if factor == 0.0 => return None,
        Operation::Multiply | Operation::Divide => factor < 0.0,
    };
    let everywhere = Monotonic { argument, decreases, ..Monotonic::GROWS };
    if result.is_float() {
        return Some(everywhere);
    }
    let constant = whole(constant)?;
    where_it_fits(everywhere, Shape::of(call.type_of(argument))?, result, |bound| match operation {
        Operation::Plus => bound - constant,
        Operation::Minus if decreases => constant - bound,
        Operation::Minus => bound + constant,
        Operation::Multiply | Operation::Divide => bound / constant,
    })
}

/// The same of the negative of a number.
pub(super) fn of_negation(shape: Shape, result: &DataType) -> Option<Monotonic> {
    let everywhere = Monotonic { decreases: true, ..Monotonic::GROWS };
    if result.is_float() { Some(everywhere) } else { where_it_fits(everywhere, shape, result, |bound| -bound) }
}

/// Integers whose image lies between those of the result's type, of which `inverse` tells the originals.
fn where_it_fits(
    everywhere: Monotonic,
    shape: Shape,
    result: &DataType,
    inverse: impl Fn(i128) -> i128,
) -> Option<Monotonic> {
    let (least, most) = range(Shape::of(result)?)?;
    let (first, last) = range(shape)?;
    let (one, other) = (inverse(least), inverse(most));
    let (low, high) = (one.min(other), one.max(other));
    // True of all values of the type on that side, or up to a value that is none of the ends.
    let first = if low <= first { i64::MIN } else { i64::try_from(low).ok()?.max(i64::MIN + 1) };
    let last = if high >= last { i64::MAX } else { i64::try_from(high).unwrap_or(i64::MAX).min(i64::MAX - 1) };
    (first <= last).then_some(Monotonic { first, last, ..everywhere })
}

/// The values of an integer's shape.
fn range(shape: Shape) -> Option<(i128, i128)> {
    if shape.is_float || shape.bytes > 8 {
        return None;
    }
    let bits = 8 * shape.bytes as u32;
    Some(match shape.is_signed {
        true => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
        false => (0, (1_i128 << bits) - 1),
    })
}

fn whole(value: &Value) -> Option<i128> {
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::{Argument, FunctionContext};
    use crate::registry::resolve_scalar;

    #[test]
    fn sums_keep_the_order_as_long_as_they_do_not_wrap() {
        let bound = |name: &str, left: Argument, right: Argument| {
            let function = resolve_scalar(name, &[left, right], &FunctionContext::outside_queries("UTC")).unwrap();
            function.properties().monotonic
        };
        let column = |data_type: DataType| Argument::of(data_type);
        let constant = |value: u64| Argument { data_type: DataType::UInt64, constant: Some(Value::UInt64(value)) };
        let small = Argument { data_type: DataType::UInt8, constant: Some(Value::UInt64(3)) };
        assert_eq!(bound("plus", column(DataType::UInt32), small.clone()), Some(Monotonic::GROWS));
        let grown = bound("plus", column(DataType::UInt64), constant(3)).unwrap();
        assert!(!grown.is_everywhere() && grown.last == i64::MAX - 1);
        let turned = bound("minus", small, column(DataType::UInt32)).unwrap();
        assert!(turned.decreases && turned.is_everywhere() && turned.argument == 1);
        assert_eq!(bound("multiply", column(DataType::UInt64), constant(0)), None);
        let ten = bound("multiply", column(DataType::UInt64), constant(10)).unwrap();
        assert_eq!(i128::from(ten.last), i128::from(u64::MAX) / 10);
    }
}
