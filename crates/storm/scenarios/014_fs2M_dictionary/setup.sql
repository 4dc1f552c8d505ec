DROP TABLE IF EXISTS fs2M;

CREATE TABLE fs2M
(
    id FixedString(16),
    value1 Float64,
    value2 Float64,
    value3 UInt32,
    value4 UInt64,
    str_value String
)
ENGINE = MergeTree
PARTITION BY tuple()
ORDER BY id
SETTINGS index_granularity = 256;

INSERT INTO fs2M SELECT
    murmurHash3_128(reinterpretAsString(number)),
    rand(1) / (rand(2) + 1),
    toFloat64(rand(3) / (rand(4) + 1)),
    rand(5),
    rand64(6),
    concat(hex(rand64(7)), hex(rand64(8)), toString(generateUUIDv4()))
FROM numbers({fs_rows});

-- optional: servers before 20.1 have it from dictionaries.d
CREATE DICTIONARY fs2M_dictionary
(
    id String,
    value1 Float64 DEFAULT 0,
    value2 Float64 DEFAULT 0,
    value3 UInt32 DEFAULT 0,
    value4 UInt64 DEFAULT 0,
    str_value String DEFAULT ''
)
PRIMARY KEY id
SOURCE(CLICKHOUSE(TABLE 'fs2M' DB 'default' USER 'default'))
LAYOUT(COMPLEX_KEY_HASHED())
LIFETIME(0);
