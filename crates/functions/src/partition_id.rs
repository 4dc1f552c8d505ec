//! The ids of partitions: what `partitionId` gives and tables name their parts by.

use squall_types::calendar::civil_from_days;
use squall_types::{Column, DataType, Value};
use twox_hash::XxHash3_64;

/// The id of the partition of a row with these values of the key: integers in decimal, dates as `YYYYMMDD`, joined by `-`; anything else
/// makes the id a hash of all values.
pub fn partition_id(keys: &[Column], values: &[Value]) -> String {
    let parts = keys.iter().zip(values).map(|(key, value)| match (key.data_type().inner(), value) {
        (DataType::Date | DataType::Date32, value) => {
            let (year, month, day) = civil_from_days(value.as_i64()?.try_into().ok()?);
            Some(format!("{year:04}{month:02}{day:02}"))
        }
        (_, Value::UInt64(number)) => Some(number.to_string()),
        (_, Value::Int64(number)) => Some(number.to_string()),
        (_, Value::Bool(flag)) => Some(u8::from(*flag).to_string()),
        _ => None,
    });
    match parts.collect::<Option<Vec<String>>>() {
        Some(parts) => parts.join("-"),
        None => {
            let mut bytes = Vec::new();
            for value in values {
                let text = value.as_bytes().map_or_else(|| value.to_string().into_bytes(), <[u8]>::to_vec);
                bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
                bytes.extend_from_slice(&text);
            }
            let seeded = |seed| XxHash3_64::oneshot_with_seed(seed, &bytes);
            format!("{:016x}{:016x}", seeded(0), seeded(1))
        }
    }
}
