//! Sqids: short ids of letters and digits for lists of numbers.

use std::sync::Arc;

use arrow_array::types::UInt64Type;
use sqids::Sqids;
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::array::list_column;
use crate::scalar::kernel::as_type;
use crate::scalar::simple::{Call, Numbers, Strings, string_column};

type Bound = Result<Arc<dyn BoundFunction>>;

fn alphabet() -> Sqids {
    Sqids::default()
}

pub(super) fn resolve_encode(call: &Call<'_>) -> Bound {
    call.arguments(1..=usize::MAX)?;
    if let Some(at) = (0..call.arguments.len()).find(|at| !call.type_of(*at).is_unsigned_integer()) {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Argument {at} for function {} must have datatype UInt*, given type: {}",
                call.name,
                call.type_of(at)
            ),
        ));
    }
    let sqids = alphabet();
    call.bind(DataType::String, move |arguments, rows| {
        let arguments = as_type(arguments, &DataType::UInt64)?;
        let columns = (0..arguments.len()).map(|at| Numbers::<UInt64Type>::of(&arguments, at));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let mut numbers = Vec::new();
        string_column(rows, rows * 8, |out, row| {
            checkpoint(1000)?;
            numbers.clear();
            numbers.extend(columns.iter().map(|column| column.get(row)));
            let id = sqids.encode(&numbers).map_err(|error| Error::new(ErrorCode::BAD_ARGUMENTS, error.to_string()))?;
            out.extend_from_slice(id.as_bytes());
            Ok(())
        })
    })
}

pub(super) fn resolve_decode(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let sqids = alphabet();
    call.bind(DataType::array(DataType::UInt64), move |arguments, rows| {
        let ids = Strings::of(arguments, 0)?;
        let (mut values, mut ends) = (Vec::new(), vec![0]);
        for row in 0..rows {
            checkpoint(1000)?;
            if let Ok(id) = std::str::from_utf8(ids.get(row)) {
                values.extend(sqids.decode(id));
            }
            ends.push(values.len() as i32);
        }
        let values = Column::from_primitive::<UInt64Type>(DataType::UInt64, values);
        list_column(&DataType::UInt64, ends, values.array().clone())
    })
}
