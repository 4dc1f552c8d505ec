//! `sleep` and `sleepEachRow`, for tests of queries that take long. They hold their worker, so they are bounded as in ClickHouse: at
//! most three seconds a block.

use std::sync::Arc;
use std::time::{Duration, Instant};

use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::{Timed, count};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::Call;

/// `function_sleep_max_microseconds_per_block`.
const MICROSECONDS_MAX: u64 = 3_000_000;

/// It sleeps so long at a time.
const PART: Duration = Duration::from_millis(2);

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    if !call.type_of(0).is_unsigned_integer() && !call.type_of(0).is_float() {
        return Err(call.illegal(0));
    }
    let seconds = call.constant(0).and_then(Value::as_f64).ok_or_else(|| {
        Error::new(ErrorCode::ILLEGAL_COLUMN, format!("The argument of function {} must be constant", call.name))
    })?;
    if !seconds.is_finite() || seconds < 0.0 {
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Cannot sleep infinite or NaN time (not implemented)"));
    }
    let microseconds = (seconds * 1e6) as u64;
    let each_row = call.name == "sleepEachRow";
    call.bind(DataType::UInt8, move |_, rows| {
        let sleeps = if each_row { rows as u64 } else { u64::from(rows > 0) };
        let total = microseconds.saturating_mul(sleeps);
        if total > MICROSECONDS_MAX {
            return Err(Error::new(
                ErrorCode::TOO_SLOW,
                format!("The maximum sleep time is {MICROSECONDS_MAX} microseconds. Requested: {total} microseconds"),
            ));
        }
        count(ProfileEvent::SleepFunctionCalls, sleeps);
        count(ProfileEvent::SleepFunctionMicroseconds, total);
        let _slept = Timed::new(ProfileEvent::SleepFunctionElapsedMicroseconds);
        // In parts, so that who asks the query to end is heard.
        let end = Instant::now() + Duration::from_micros(total);
        loop {
            checkpoint(usize::MAX)?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(PART));
        }
        Column::constant(DataType::UInt8, &Value::UInt64(0), rows)
    })
}
