-- ARRAY JOIN of nested structures and of their arrays.
CREATE TABLE nn (id UInt8, n Nested(a UInt8, b String)) ENGINE=Memory;
INSERT INTO nn VALUES (1,[1,2],['x','y']),(2,[],[]);
SELECT * FROM nn ARRAY JOIN n.a;
SELECT id, n.a, n.b FROM nn ARRAY JOIN n.a;
SELECT id, n.a, n.b FROM nn ARRAY JOIN n;
SELECT * FROM nn ARRAY JOIN n;
SELECT * FROM nn ARRAY JOIN n AS m;
SELECT id, m.a, m.b, n.a FROM nn ARRAY JOIN n AS m;
SELECT id, m, n.a FROM nn ARRAY JOIN n.a AS m;
SELECT id, n FROM nn ARRAY JOIN n;
SELECT id, n.a, n.b FROM nn LEFT ARRAY JOIN n;
SELECT id, a FROM nn ARRAY JOIN n.a;
SELECT id, nn.n.a FROM nn ARRAY JOIN nn.n.a;
SELECT n FROM nn;
SELECT id, n.a, m FROM nn ARRAY JOIN n, arrayEnumerate(n.a) AS m;
SELECT id, n.a, m FROM nn ARRAY JOIN n AS p, arrayEnumerate(n.a) AS m;
