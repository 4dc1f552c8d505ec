-- Strings beside constants and in sets: by length and first bytes, then by the rest.
CREATE TABLE s (i UInt32, t String, l LowCardinality(String), x FixedString(3), o Nullable(String)) ENGINE = MergeTree ORDER BY i;
INSERT INTO s SELECT number, ['', 'a', 'ab', 'ab\0', 'abcdefgh', 'abcdefghi', 'abcdefghj', 'xbcdefghi', 'MAIL', 'SHIP', 'äöü', 'abcdefg', '\0\0', '\0'][number % 14 + 1], toString(number % 5), toString(number % 7), if(number % 3 = 0, NULL, toString(number % 11)) FROM numbers(500);
SELECT countIf(t = ''), countIf(t = 'a'), countIf(t = 'ab'), countIf(t = 'ab\0'), countIf(t = 'abcdefgh'), countIf(t = 'abcdefghi'), countIf('abcdefghj' = t), countIf(t = 'äöü'), countIf(t = '\0') FROM s;
SELECT countIf(t <> ''), countIf(t <> 'a'), countIf(t != 'abcdefgh'), countIf('abcdefghi' != t), countIf(t != 'abcdefghijklmnop'), countIf(o = '7'), countIf(o != '7'), countIf(l = '3'), countIf(x = '3') FROM s;
SELECT countIf(t IN ('MAIL', 'SHIP')), countIf(t IN ('', 'ab', 'ab\0')), countIf(t NOT IN ('abcdefgh', 'a')), countIf(t IN ('abcdefghi', 'MAIL')), countIf(o IN ('1', '10', '9')), countIf(l IN ('1', '4')), countIf(x IN ('1', '2')), countIf(t IN ('\0', '\0\0')) FROM s;
SELECT countIf(t IN ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'MAIL', 'SHIP')), countIf(t IN (SELECT DISTINCT t FROM s WHERE i < 4)) FROM s;
DROP TABLE s;
