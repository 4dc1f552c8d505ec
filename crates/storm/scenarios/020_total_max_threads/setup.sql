CREATE TABLE hits (ClientIP UInt32, ResolutionWidth UInt16) ENGINE = MergeTree PARTITION BY tuple() ORDER BY tuple();

INSERT INTO hits SELECT rand(1), arrayElement([1024, 1280, 1366, 1440, 1536, 1600, 1680, 1920, 2560, 375], 1 + rand(2) % 10) FROM numbers({rows});
