//! Names of types: what is read is written as a name that is read as the same type.

use squall_types::DataType;

pub const WORDS: &[&str] = &[
    "Nullable(",
    "LowCardinality(",
    "Array(",
    "Map(",
    "Tuple(",
    "String",
    "UInt64",
    "Int8",
    "DateTime64(",
    "'UTC'",
    "Enum8(",
    "FixedString(",
    "Decimal(",
    "IPv6",
    "UUID",
    "Date32",
    ")",
    ", ",
    "'a' = 1",
    "Float32",
    "Nothing",
    "Bool",
    "AggregateFunction(",
];

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(data_type) = DataType::parse(text) {
        let name = data_type.to_string();
        assert_eq!(DataType::parse(&name).as_ref(), Ok(&data_type), "{name}");
    }
}
