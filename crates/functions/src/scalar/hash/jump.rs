//! `jumpConsistentHash(key, buckets)` (Lamping and Veach, *A Fast, Minimal Memory, Consistent Hash Algorithm*, 2014).

use std::sync::Arc;

use arrow_array::types::Int32Type;
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, integers, primitive_column};

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    call.integers([0, 1])?;
    let buckets = call.constant(1).and_then(Value::as_i64).ok_or_else(|| {
        Error::new(ErrorCode::ILLEGAL_COLUMN, "The number of buckets of function jumpConsistentHash must be constant")
    })?;
    if !(1..=i64::from(i32::MAX)).contains(&buckets) {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            "The number of buckets of function jumpConsistentHash must be a positive Int32",
        ));
    }
    call.bind(DataType::Int32, move |arguments, rows| {
        let keys = integers(arguments, 0, rows)?;
        Ok(primitive_column::<Int32Type>(DataType::Int32, rows, |row| bucket(keys[row] as u64, buckets)))
    })
}

fn bucket(mut key: u64, buckets: i64) -> i32 {
    let (mut bucket, mut next) = (-1_i64, 0_i64);
    while next < buckets {
        bucket = next;
        key = key.wrapping_mul(2_862_933_555_777_941_757).wrapping_add(1);
        next = ((bucket + 1) as f64 * ((1_i64 << 31) as f64 / ((key >> 33) + 1) as f64)) as i64;
    }
    bucket as i32
}
