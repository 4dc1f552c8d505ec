DROP TABLE IF EXISTS fs12M;

CREATE TABLE fs12M
(
    id FixedString(16),
    value1 Float64,
    value2 Float64,
    value3 UInt32,
    value4 UInt64,
    str_value String
)
ENGINE = Join(ANY, LEFT, id);

INSERT INTO fs12M SELECT
    murmurHash3_128(reinterpretAsString(number)),
    rand(1) / (rand(2) + 1),
    toFloat64(rand(3) / (rand(4) + 1)),
    rand(5),
    rand64(6),
    concat(hex(rand64(7)), hex(rand64(8)), toString(generateUUIDv4()))
FROM numbers({fs_rows});

