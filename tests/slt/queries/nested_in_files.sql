-- Arrays of structs in files as the arrays of a nested structure.
INSERT INTO FUNCTION file('nested_structs.parquet') SELECT [(1, 'a'), (2, 'b')]::Array(Tuple(x UInt32, y String)) AS n, 5 AS k;
SELECT * FROM file('nested_structs.parquet', 'Parquet', 'n Nested(x UInt32, y String)');
SELECT n.y, k FROM file('nested_structs.parquet', 'Parquet', 'k UInt8, n Nested(y String, z UInt8)');
SELECT * FROM file('nested_structs.parquet', 'Parquet', 'n Array(Tuple(x UInt32, y String))');
INSERT INTO FUNCTION file('nested_structs.arrow') SELECT [(1, 'a'), (2, 'b')]::Array(Tuple(x UInt32, y String)) AS n;
SELECT * FROM file('nested_structs.arrow', 'Arrow', 'n Nested(x UInt32, y String)');
INSERT INTO FUNCTION file('nested_structs.avro') SELECT [(1, 'a'), (2, 'b')]::Array(Tuple(x UInt32, y String)) AS n;
SELECT * FROM file('nested_structs.avro', 'Avro', 'n Nested(x UInt32, y String)');
INSERT INTO FUNCTION file('nested_columns.parquet', 'Parquet', 'n Nested(x UInt32, y String)') SELECT [1, 2], ['a', 'b'];
SELECT * FROM file('nested_columns.parquet');
