CREATE TABLE events (id UInt64, value Float32, url String) ENGINE = MergeTree PARTITION BY tuple() ORDER BY id;

INSERT INTO events SELECT number, rand(1) / (rand(2) + 1), concat('https://example.org/', toString(cityHash64(number) % 100000)) FROM numbers({rows});
