//! The families of types by name, and SQL's other names for them: what `system.data_type_families` lists and what names of types are
//! read by.

/// A family's name, whether it is known in any case, and the family that it is another name for (empty where it is none).
pub type Family = (&'static str, bool, &'static str);

/// Every name that a type is called by, in order.
pub const FAMILIES: &[Family] = &[
    ("AggregateFunction", false, ""),
    ("Array", false, ""),
    ("BFloat16", false, ""),
    ("BIGINT", true, "Int64"),
    ("BIGINT SIGNED", true, "Int64"),
    ("BIGINT UNSIGNED", true, "UInt64"),
    ("BINARY", true, "FixedString"),
    ("BINARY LARGE OBJECT", true, "String"),
    ("BINARY VARYING", true, "String"),
    ("BIT", true, "UInt64"),
    ("BLOB", true, "String"),
    ("BYTE", true, "Int8"),
    ("BYTEA", true, "String"),
    ("Bool", true, ""),
    ("CHAR", true, "String"),
    ("CHAR LARGE OBJECT", true, "String"),
    ("CHAR VARYING", true, "String"),
    ("CHARACTER", true, "String"),
    ("CHARACTER LARGE OBJECT", true, "String"),
    ("CHARACTER VARYING", true, "String"),
    ("CLOB", true, "String"),
    ("DEC", true, "Decimal"),
    ("DOUBLE", true, "Float64"),
    ("DOUBLE PRECISION", true, "Float64"),
    ("Date", true, ""),
    ("Date32", true, ""),
    ("DateTime", true, ""),
    ("DateTime32", true, ""),
    ("DateTime64", true, ""),
    ("Decimal", true, ""),
    ("Decimal128", true, ""),
    ("Decimal256", true, ""),
    ("Decimal32", true, ""),
    ("Decimal64", true, ""),
    ("Dynamic", false, ""),
    ("ENUM", true, "Enum"),
    ("Enum", true, ""),
    ("Enum16", false, ""),
    ("Enum8", false, ""),
    ("FIXED", true, "Decimal"),
    ("FLOAT", true, "Float32"),
    ("FixedString", false, ""),
    ("Float32", false, ""),
    ("Float64", false, ""),
    ("Geometry", false, ""),
    ("INET4", true, "IPv4"),
    ("INET6", true, "IPv6"),
    ("INT", true, "Int32"),
    ("INT SIGNED", true, "Int32"),
    ("INT UNSIGNED", true, "UInt32"),
    ("INT1", true, "Int8"),
    ("INT1 SIGNED", true, "Int8"),
    ("INT1 UNSIGNED", true, "UInt8"),
    ("INTEGER", true, "Int32"),
    ("INTEGER SIGNED", true, "Int32"),
    ("INTEGER UNSIGNED", true, "UInt32"),
    ("IPv4", false, ""),
    ("IPv6", false, ""),
    ("Int128", false, ""),
    ("Int16", false, ""),
    ("Int256", false, ""),
    ("Int32", false, ""),
    ("Int64", false, ""),
    ("Int8", false, ""),
    ("IntervalDay", false, ""),
    ("IntervalHour", false, ""),
    ("IntervalMicrosecond", false, ""),
    ("IntervalMillisecond", false, ""),
    ("IntervalMinute", false, ""),
    ("IntervalMonth", false, ""),
    ("IntervalNanosecond", false, ""),
    ("IntervalQuarter", false, ""),
    ("IntervalSecond", false, ""),
    ("IntervalWeek", false, ""),
    ("IntervalYear", false, ""),
    ("JSON", true, ""),
    ("LONGBLOB", true, "String"),
    ("LONGTEXT", true, "String"),
    ("LineString", false, ""),
    ("LowCardinality", false, ""),
    ("MEDIUMBLOB", true, "String"),
    ("MEDIUMINT", true, "Int32"),
    ("MEDIUMINT SIGNED", true, "Int32"),
    ("MEDIUMINT UNSIGNED", true, "UInt32"),
    ("MEDIUMTEXT", true, "String"),
    ("Map", false, ""),
    ("MultiLineString", false, ""),
    ("MultiPoint", false, ""),
    ("MultiPolygon", false, ""),
    ("NATIONAL CHAR", true, "String"),
    ("NATIONAL CHAR VARYING", true, "String"),
    ("NATIONAL CHARACTER", true, "String"),
    ("NATIONAL CHARACTER LARGE OBJECT", true, "String"),
    ("NATIONAL CHARACTER VARYING", true, "String"),
    ("NCHAR", true, "String"),
    ("NCHAR LARGE OBJECT", true, "String"),
    ("NCHAR VARYING", true, "String"),
    ("NUMERIC", true, "Decimal"),
    ("NVARCHAR", true, "String"),
    ("Nested", false, ""),
    ("Nothing", false, ""),
    ("Nullable", false, ""),
    ("Point", false, ""),
    ("Polygon", false, ""),
    ("QBit", false, ""),
    ("REAL", true, "Float32"),
    ("Ring", false, ""),
    ("SET", true, "UInt64"),
    ("SIGNED", true, "Int64"),
    ("SINGLE", true, "Float32"),
    ("SMALLINT", true, "Int16"),
    ("SMALLINT SIGNED", true, "Int16"),
    ("SMALLINT UNSIGNED", true, "UInt16"),
    ("SimpleAggregateFunction", false, ""),
    ("String", false, ""),
    ("TEXT", true, "String"),
    ("TIMESTAMP", true, "DateTime"),
    ("TINYBLOB", true, "String"),
    ("TINYINT", true, "Int8"),
    ("TINYINT SIGNED", true, "Int8"),
    ("TINYINT UNSIGNED", true, "UInt8"),
    ("TINYTEXT", true, "String"),
    ("Time", true, ""),
    ("Time64", true, ""),
    ("Tuple", false, ""),
    ("UInt128", false, ""),
    ("UInt16", false, ""),
    ("UInt256", false, ""),
    ("UInt32", false, ""),
    ("UInt64", false, ""),
    ("UInt8", false, ""),
    ("UNSIGNED", true, "UInt64"),
    ("UUID", false, ""),
    ("VARBINARY", true, "String"),
    ("VARCHAR", true, "String"),
    ("VARCHAR2", true, "String"),
    ("Variant", false, ""),
    ("YEAR", true, "UInt16"),
    ("bool", true, "Bool"),
    ("boolean", true, "Bool"),
];

/// How many words a name has at most.
pub(crate) const WORDS_MAX: usize = 4;

/// The name of the family that is called `name`.
pub(crate) fn find(name: &str) -> Option<&'static str> {
    let is_called = |family: &&Family| family.0 == name || family.1 && family.0.eq_ignore_ascii_case(name);
    FAMILIES.iter().find(is_called).map(|(own, _, alias_to)| if alias_to.is_empty() { *own } else { *alias_to })
}

/// Whether a name is another one for a family.
pub(crate) fn is_alias(name: &str) -> bool {
    FAMILIES.iter().any(|(known, _, alias_to)| !alias_to.is_empty() && known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_lead_to_families() {
        for (_, _, alias_to) in FAMILIES {
            assert!(alias_to.is_empty() || find(alias_to) == Some(*alias_to), "{alias_to}");
        }
        assert!(FAMILIES.is_sorted_by_key(|(name, ..)| *name));
        assert_eq!(find("national character varying"), Some("String"));
        assert_eq!(find("uint8"), None);
    }
}
