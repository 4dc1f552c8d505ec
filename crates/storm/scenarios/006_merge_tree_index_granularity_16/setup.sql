DROP TABLE IF EXISTS int20M;

CREATE TABLE int20M (id UInt64, value Float32)
ENGINE = MergeTree
PARTITION BY tuple()
ORDER BY id
SETTINGS index_granularity = {granularity};

INSERT INTO int20M SELECT cityHash64(number), rand(1) / (rand(2) + 1) FROM numbers({int_rows});

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
ENGINE = MergeTree
PARTITION BY tuple()
ORDER BY id
SETTINGS index_granularity = {granularity};

INSERT INTO fs12M SELECT
    murmurHash3_128(reinterpretAsString(number)),
    rand(1) / (rand(2) + 1),
    toFloat64(rand(3) / (rand(4) + 1)),
    rand(5),
    rand64(6),
    concat(hex(rand64(7)), hex(rand64(8)), toString(generateUUIDv4()))
FROM numbers({fs_rows});

-- As few parts as the server makes of them: a lookup looks into each.
OPTIMIZE TABLE int20M FINAL;

OPTIMIZE TABLE fs12M FINAL;
