//! Ids with a time in them: Snowflake's numbers, which begin with milliseconds, and UUIDs of version 7.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, FixedSizeBinaryArray};
use squall_types::{Column, DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::scalar::random::Generator;
use crate::scalar::simple::{Call, Strings, argument, integers};

type Bound = Result<Arc<dyn BoundFunction>>;

/// Bits below the milliseconds: of the machine and of a counter.
const LOW_BITS: u32 = 22;
const COUNTER_BITS: u32 = 12;

fn zone(call: &Call<'_>, at: usize) -> Result<Option<Arc<str>>> {
    if at >= call.arguments.len() {
        return Ok(None);
    }
    match call.constant(at).and_then(Value::as_str) {
        Some(name) => {
            squall_types::calendar::TimeZone::named(name)?;
            Ok(Some(name.into()))
        }
        // Of zones that differ by row the type names none.
        None if *call.type_of(at) == DataType::String && has_varying_zones(call) => Ok(None),
        None if *call.type_of(at) == DataType::String => Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Time zone argument of function {} must be a constant string", call.name),
        )),
        None => Err(call.illegal(at)),
    }
}

/// `allow_nonconst_timezone_arguments`.
fn has_varying_zones(call: &Call<'_>) -> bool {
    let is_set = call.context.settings.get("allow_nonconst_timezone_arguments");
    is_set.is_some_and(|value| value == "1" || value == "true")
}

fn epoch(call: &Call<'_>, at: usize) -> Result<i64> {
    match call.constant(at) {
        None if at >= call.arguments.len() => Ok(0),
        Some(epoch) => epoch.as_i64().ok_or_else(|| call.illegal(at)),
        None => Err(Error::new(
            ErrorCode::ILLEGAL_COLUMN,
            format!("Argument {} of function {} must be constant", at + 1, call.name),
        )),
    }
}

/// `snowflakeIDToDateTime(id[, epoch[, zone]])`, `snowflakeIDToDateTime64`.
pub(super) fn resolve_to_time(call: &Call<'_>) -> Bound {
    call.arguments(1..=3)?;
    if *call.type_of(0) != DataType::UInt64 {
        return Err(call.illegal(0));
    }
    let (epoch, zone) = (epoch(call, 1)?, zone(call, 2)?);
    if call.name.ends_with("64") {
        let result = DataType::DateTime64(3, zone);
        return call.bind(result.clone(), move |arguments, rows| {
            let ids = ids(arguments, rows)?;
            let times = ids.into_iter().map(|id| ((id >> LOW_BITS) as i64).wrapping_add(epoch));
            Ok(Column::from_primitive::<Int64Type>(result.clone(), times.collect()))
        });
    }
    let result = DataType::DateTime(zone);
    call.bind(result.clone(), move |arguments, rows| {
        let ids = ids(arguments, rows)?;
        let times = ids.into_iter().map(|id| (((id >> LOW_BITS) as i64).wrapping_add(epoch) / 1000) as u32);
        Ok(Column::from_primitive::<UInt32Type>(result.clone(), times.collect()))
    })
}

fn ids(arguments: &[Column], rows: usize) -> Result<Vec<u64>> {
    let column = argument(arguments, 0)?;
    let values = column.as_primitive::<UInt64Type>()?.values();
    Ok(match (column.is_constant(), values.first()) {
        (true, Some(id)) => vec![*id; rows],
        _ => values.to_vec(),
    })
}

/// `dateTimeToSnowflakeID(time[, epoch])`, `dateTime64ToSnowflakeID`.
pub(super) fn resolve_from_time(call: &Call<'_>) -> Bound {
    call.arguments(1..=2)?;
    let epoch = epoch(call, 1)?;
    let (multiplier, divisor) = match (call.type_of(0), call.name) {
        (DataType::DateTime(_), "dateTimeToSnowflakeID") => (1000_i128, 1),
        (DataType::DateTime64(digits, _), "dateTime64ToSnowflakeID") => (1000, 10_i128.pow((*digits).into())),
        _ => return Err(call.illegal(0)),
    };
    call.bind(DataType::UInt64, move |arguments, rows| {
        let times = integers(std::slice::from_ref(argument(arguments, 0)?), 0, rows)?;
        let id = |time: i64| {
            let milliseconds = i128::from(time) * multiplier / divisor - i128::from(epoch);
            (milliseconds as u64) << LOW_BITS
        };
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, times.into_iter().map(id).collect()))
    })
}

fn milliseconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// `generateSnowflakeID([expression[, machine]])`: ids that grow, also between blocks and threads.
pub(super) fn resolve_generate(call: &Call<'_>) -> Bound {
    call.arguments(0..=2)?;
    call.integers([1])?;
    let machine = match call.constant(1) {
        Some(machine) => machine.as_u64().unwrap_or(0) & 0x3FF,
        None => 0,
    };
    call.bind(DataType::UInt64, move |_, rows| {
        /// The next milliseconds and counter that are free.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let now = milliseconds_now() << COUNTER_BITS;
        let first = NEXT
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| Some(next.max(now) + rows as u64))
            .map_or(now, |next| next.max(now));
        let id = |at: u64| {
            let (time, counter) = (at >> COUNTER_BITS, at & ((1 << COUNTER_BITS) - 1));
            time << LOW_BITS | machine << COUNTER_BITS | counter
        };
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, (first..first + rows as u64).map(id).collect()))
    })
}

/// `UUIDv7ToDateTime(uuid[, zone])`: the epoch of UUIDs of other versions.
pub(super) fn resolve_uuid_time(call: &Call<'_>) -> Bound {
    call.arguments(1..=2)?;
    if *call.type_of(0) != DataType::UUID {
        return Err(call.illegal(0));
    }
    let result = DataType::DateTime64(3, zone(call, 1)?);
    call.bind(result.clone(), move |arguments, rows| {
        let uuids = Strings::of(arguments, 0)?;
        let time = |row| {
            let bytes: [u8; 16] = uuids.get(row).try_into().unwrap_or_default();
            let bits = u128::from_be_bytes(bytes);
            if bits >> 76 & 0xF == 7 { (bits >> 80) as i64 } else { 0 }
        };
        Ok(Column::from_primitive::<Int64Type>(result.clone(), (0..rows).map(time).collect()))
    })
}

/// `dateTimeToUUIDv7(time)`: with this time, and random bits behind it.
pub(super) fn resolve_time_uuid(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    if !matches!(call.type_of(0), DataType::DateTime(_)) {
        return Err(call.illegal(0));
    }
    call.bind(DataType::UUID, |arguments, rows| {
        let times = integers(arguments, 0, rows)?;
        let mut generator = Generator::of_thread();
        let mut bytes = Vec::with_capacity(16 * rows);
        for time in times {
            let random = u128::from(generator.next()) << 64 | u128::from(generator.next());
            let low = random & ((1 << 80) - 1) & !(0xF << 76) & !(0b11 << 62);
            let bits = (time as u128 * 1000) << 80 | low | 7 << 76 | 0b10 << 62;
            bytes.extend_from_slice(&bits.to_be_bytes());
        }
        let array = FixedSizeBinaryArray::try_new(16, bytes.into(), None)?;
        debug_assert_eq!(array.len(), rows);
        Ok(Column::new(DataType::UUID, Arc::new(array)))
    })
}

/// `UUIDToNum(uuid[, variant])`: its bytes as a `FixedString(16)`; of Microsoft's variant 2 the first fields are turned round.
pub(super) fn resolve_uuid_number(call: &Call<'_>) -> Bound {
    call.arguments(1..=2)?;
    if *call.type_of(0) != DataType::UUID {
        return Err(call.illegal(0));
    }
    call.integers([1])?;
    let variant = match call.constant(1) {
        None if call.arguments.len() < 2 => Some(1),
        None => {
            return Err(Error::new(
                ErrorCode::ILLEGAL_COLUMN,
                format!("Argument at index 1 for function {} must be constant", call.name),
            ));
        }
        Some(variant) => variant.as_i64(),
    };
    let is_turned = match variant {
        Some(1) => false,
        Some(2) => true,
        _ => {
            return Err(Error::new(
                ErrorCode::ARGUMENT_OUT_OF_BOUND,
                format!("Variant of function {} must be the constant 1 or 2", call.name),
            ));
        }
    };
    let result = DataType::FixedString(16);
    call.bind(result.clone(), move |arguments, rows| {
        let uuids = Strings::of(arguments, 0)?;
        let mut bytes = Vec::with_capacity(16 * rows);
        for row in 0..rows {
            let mut uuid: [u8; 16] = uuids.get(row).try_into().unwrap_or_default();
            if is_turned {
                uuid[..4].reverse();
                uuid[4..6].reverse();
                uuid[6..8].reverse();
            }
            bytes.extend_from_slice(&uuid);
        }
        Ok(Column::new(result.clone(), Arc::new(FixedSizeBinaryArray::try_new(16, bytes.into(), None)?)))
    })
}
