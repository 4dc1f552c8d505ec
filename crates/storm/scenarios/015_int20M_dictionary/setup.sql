DROP TABLE IF EXISTS int20M;

CREATE TABLE int20M (id UInt64, value Float32)
ENGINE = MergeTree
PARTITION BY tuple()
ORDER BY id
SETTINGS index_granularity = 256;

INSERT INTO int20M SELECT cityHash64(number), rand(1) / (rand(2) + 1) FROM numbers({int_rows});

-- optional: servers before 20.1 have it from dictionaries.d
CREATE DICTIONARY int20M_dictionary (id UInt64, value Float32 DEFAULT 0)
PRIMARY KEY id
SOURCE(CLICKHOUSE(TABLE 'int20M' DB 'default' USER 'default'))
LAYOUT(HASHED())
LIFETIME(0);
