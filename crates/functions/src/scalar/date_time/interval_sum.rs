//! `addInterval` and `subtractInterval`: intervals, and tuples of them, put together to tuples; those of one unit are added up.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, Result, TupleElement, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument, value_column};

/// The units of an argument: of one interval, or of each of a tuple.
fn units(call: &Call<'_>, at: usize) -> Result<Vec<DataType>> {
    let is_interval = |data_type: &&DataType| matches!(data_type, DataType::Interval(_));
    match call.type_of(at) {
        interval @ DataType::Interval(_) => Ok(vec![interval.clone()]),
        DataType::Tuple(elements)
            if at == 0 && elements.iter().map(|element| &element.data_type).all(|t| is_interval(&t)) =>
        {
            Ok(elements.iter().map(|element: &TupleElement| element.data_type.clone()).collect())
        }
        _ => Err(call.illegal(at)),
    }
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    let mut types = units(call, 0)?;
    let added = units(call, 1)?;
    let sign = if call.name == "subtractInterval" { -1 } else { 1 };
    let joins = types.last() == added.first();
    if !joins {
        types.extend(added);
    }
    let result = DataType::tuple(types);
    call.bind(result.clone(), move |arguments, rows| {
        let (first, second) = (argument(arguments, 0)?, argument(arguments, 1)?);
        let number = |column: &Column, row: usize| column.value(row).as_i64().unwrap_or(0);
        value_column(&result, rows, |row| {
            let mut values = match first.value(row) {
                Value::Tuple(values) => values.to_vec(),
                one => vec![one],
            };
            let added = number(second, row).wrapping_mul(sign);
            match values.last_mut() {
                Some(last) if joins => *last = Value::Int64(last.as_i64().unwrap_or(0).wrapping_add(added)),
                Some(_) => values.push(Value::Int64(added)),
                None => return Err(Error::logical("a tuple of intervals without any")),
            }
            Ok(Value::Tuple(values.into()))
        })
    })
}
