//! Quotients and remainders that are NULL where the divisor is 0. Those rows are computed with 1 in its place.

use std::sync::Arc;

use squall_types::{Column, DataType, ErrorCode, Result, Value, checkpoint};

use crate::function::{Argument, BoundFunction};
use crate::registry::resolve_scalar;
use crate::scalar::conditional::select;
use crate::scalar::kernel::truth;
use crate::scalar::simple::{Call, argument};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    let inner_name = call.name.trim_end_matches("OrNull");
    let divisor_type = call.type_of(1).clone();
    if !divisor_type.is_number() || matches!(call.type_of(0), DataType::Tuple(_)) {
        return Err(crate::scalar::arithmetic::illegal_pair(call));
    }
    let arguments: Vec<Argument> =
        call.arguments.iter().map(|argument| Argument::of(argument.data_type.clone())).collect();
    let inner = resolve_scalar(inner_name, &arguments, call.context)?;
    let one = if divisor_type.is_float() { Value::Float64(1.0) } else { Value::UInt64(1) };
    let one = Column::constant(divisor_type.clone(), &one, 1)
        .or_else(|_| Column::constant(divisor_type, &Value::Int64(1), 1))?
        .materialize()?;
    let result = inner.return_type().to_nullable();
    call.bind(result, move |arguments, rows| {
        let (dividend, divisor) = (argument(arguments, 0)?, argument(arguments, 1)?);
        let counts = truth(divisor, rows)?;
        let divisor = match counts.iter().all(|counts| *counts == 1) {
            true => divisor.clone(),
            false => select(&counts, &divisor.materialize()?, &Column::repeat(&one, rows).materialize()?)?,
        };
        let nulls: Vec<bool> = counts.iter().map(|counts| *counts == 1).collect();
        match inner.execute(&[dividend.clone(), divisor.clone()], rows) {
            Ok(quotients) => quotients.materialize()?.to_nullable(Some(nulls.into())),
            // Where some row has no quotient for another reason, each is computed by itself.
            Err(error) if error.code == ErrorCode::ILLEGAL_DIVISION => {
                let mut parts = Vec::with_capacity(rows);
                for (row, counts) in nulls.into_iter().enumerate() {
                    checkpoint(256)?;
                    let sides = [dividend.slice(row, 1), divisor.slice(row, 1)];
                    let one = if counts { inner.execute(&sides, 1) } else { Err(error.clone()) };
                    parts.push(match one {
                        Ok(quotient) => quotient.materialize()?.to_nullable(None)?,
                        Err(_) => Column::constant(inner.return_type().to_nullable(), &Value::Null, 1)?,
                    });
                }
                Column::concat(&parts)
            }
            Err(error) => Err(error),
        }
    })
}
