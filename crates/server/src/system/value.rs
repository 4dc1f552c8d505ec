//! Values of system tables from what the server holds.

use std::net::Ipv6Addr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use squall_types::Value;

/// A `String`.
pub fn text(text: impl AsRef<str>) -> Value {
    Value::string(text.as_ref())
}

/// An unsigned number.
pub fn number(number: impl TryInto<u64>) -> Value {
    Value::UInt64(number.try_into().unwrap_or(u64::MAX))
}

/// A signed number.
pub fn signed(number: impl Into<i64>) -> Value {
    Value::Int64(number.into())
}

/// A `UInt8` of 0 or 1.
pub fn flag(flag: bool) -> Value {
    Value::UInt64(flag.into())
}

/// An `Array(String)`.
pub fn texts<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> Value {
    Value::Array(items.into_iter().map(text).collect())
}

/// No items of any array.
pub fn no_items() -> Value {
    Value::Array(Arc::default())
}

/// A `Map`.
pub fn map(entries: impl IntoIterator<Item = (Value, Value)>) -> Value {
    Value::Map(entries.into_iter().collect())
}

/// An `IPv6`.
pub fn ipv6(address: Ipv6Addr) -> Value {
    Value::string(address.octets())
}

/// A `UUID`.
pub fn uuid(uuid: uuid::Uuid) -> Value {
    Value::string(uuid.as_bytes())
}

/// A `DateTime`.
pub fn date_time(time: SystemTime) -> Value {
    Value::UInt64(time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}
