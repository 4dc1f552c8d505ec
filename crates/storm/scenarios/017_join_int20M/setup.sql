DROP TABLE IF EXISTS int20M;

CREATE TABLE int20M (id UInt64, value Float32) ENGINE = Join(ANY, LEFT, id);

INSERT INTO int20M SELECT cityHash64(number), rand(1) / (rand(2) + 1) FROM numbers({int_rows});

