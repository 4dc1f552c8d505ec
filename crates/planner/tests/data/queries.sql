-- Names of expressions, aliases, asterisks
select a+1 from t
select a = 2, a==2, a<>2, a!=2, not a, -a, a%2, a div 2, a mod 2, a||c from t
select count(), count(*), count(a), count(1), sum(a)+1 from t
select t.a, default.t.a, t.*  from t
select x.a from t as x
select 'abc', 'a''b', 'a\nb', 1.0, 1.5, 1e10, -1, -1.5, null, true, [1,2], [1,2.5], (1,2), (1,'a'), [], ['a','b'], tuple(), array(), [a,b], (a,b), (a,1) from t
select a as b1, b1+1, b1 + 1 as z, z*2 from t
select 18446744073709551615, 18446744073709551616, 0x10, 0b11, 1_000, .5, inf, nan, -inf
select (select 1), (select 1) as q, (select a from t limit 1), (select 1,2)
select 1 in (1,2), a in (1,2,3), a not in (select a from u), a in u, (a,b) in ((1,2),(3,4)), a in (1), a in [1,2] from t
select exists(select 1), a between 1 and 2, case when a=1 then 'x' else 'y' end, case a when 1 then 'x' when 2 then 'z' else 'y' end, case when a=1 then 1 end from t
select a::String, cast(a as String), cast(a, 'String'), CAST(a AS Nullable(UInt8)), a::UInt8 + 1 from t
select if(a,1,2), a ? 1 : 2, multiIf(a,1,2), IF(a,1,2) from t
select tup.x, tup.1, tup.y, arr[1], arr[-1], tupleElement(tup,1), arr.size0 from t
select now() - interval 1 day, date '2020-01-01', timestamp '2020-01-01 00:00:00', interval 3 month + d from t
select COUNT(*), Sum(a), SUM(a), cOuNt() from t
select count(distinct a), uniqExact(a), count(distinct a, b), sum(distinct a) from t
select quantile(0.9)(a), quantiles(0.5,0.9)(a), quantile(a) from t
select sumIf(a, b>1), count() filter (where a>1), sum(a) filter(where a > 1) from t
select a is null, a is not null, c like '%x%', c not like 'x', c ilike 'x', not a in (1) from t
select substring(c from 1 for 2), extract(year from d), trim(c), trim(both 'x' from c), position('x' in c), date_add(day, 1, d), date_diff('day', d, d), substr(c,1) from t
select toString(a) as c from t
select a as a from t
select a+1 as a from t
select a as b, b as a from t
with 1 as x select x, x+1, x as y
with (select 1) as x select x, x+1
with 1+1 as x select x, x+1
with cte as (select 1 as z) select * from cte
with cte as (select 1 as z) select cte.z, c2.z from cte as c2
select * from (select 1, 2 as b, 3+4)
select `1`, `plus(3, 4)` from (select 1, 2 as b, 3+4)
select {x:UInt8}
select materialize(1), toTypeName(1), identity(1), ignore(1)
select (1+2)*3, 1+2*3, - (1), -(-1), not 1, 1 and 0, 1 or 0, 1 and a or b from t
select numbers.number from numbers(3) as numbers
select number from numbers(3)
select * from values('a UInt8, b String', (1,'x'),(2,'y'))
select * from values((1,'x'),(2,'y'))
select * from (values (1,'x'),(2,'y'))
select a, * from t
select * except a, * except(a,b), * replace(a+1 as a) from u
select * apply sum from (select 1 as a, 2 as b)
select * apply(toString) apply(length) from (select 1 as a, 2 as b)
select columns('a|k') from u
select columns(a, k) from u
code:select columns('a|k') + columns('a|k') from u
select * apply(quantile(0.9)) from (select 1 as a, 2 as b)
code:select plus(*) from (select 1 as a, 2 as b)
select arrayJoin([1,2,3]) as x, x+1
select arr, x from t array join arr as x
select arr, c from t array join arr
-- Membership, errors, grouping, clauses, unions
select 1 in (1,2), a in (1,2,3), a not in (select a from u), (a,b) in ((1,2),(3,4)), a in (1), a in [1,2], a in 1 from t
code:code:select a in (select 1), a in ((select 1)), a in (u) from t
select c in (1,2) from t
select a in ('1','2') from t
code:select a in ('x') from t
select d in ('2020-01-01', '2020-01-02'), e in ('2020-01-01 00:00:00') from t
select a in (256, -1, 1.5, 2) from t
select a in numbers(3) from t
select xx from t
select aa from t
code:select t.xx from t
select foo.a from t
select a from t where zz=1
select A from t
code:select sum(q) from t
code:select q from t as w
select abc.def.ghi from t
code:select a+nope from (select a from t)
select nope
select uu.a from u
select countt(a) from t
select foo(a) from t
select Plus(1,2), tostring(1)
select LENGTH('a'), Length('a'), length('a')
code:select a from nope
select a from nodb.t
code:select a from d.nope
select a from nopefunc(1)
select a, sum(b) from t
select a+1, sum(b) from t group by a
select a+1, sum(b) from t group by a+1
select a+2, sum(b) from t group by a+1
select a+1+1, sum(b) from t group by a+1
select b from t group by a
select * from t group by a
select sum(a) from t group by b having a > 1
select sum(a) from t where sum(a) > 1
select sum(sum(a)) from t
select sum(a) as s, sum(s) from t
select sum(a) as s, s + 1, sum(b) + s from t
select a from t group by sum(a)
select a from t order by sum(a)
select a as s, sum(a) as a from t group by s
select sum(a) as a from t
select sum(a) as a, a + 1 from t
select sum(a) as a from t where a > 1
select max(a) as a, max(b) as b from t group by a
select a as b, b + 1 as a from t
select a + 1 as b, b + 1 as a from t
select x + 1 as y, y + 1 as x from t
select x as x from t
select a + 1 as a, a from t
select 1 as x, 2 as x
select 1 as x, 1 as x
select a as x, b as x from t
select count() from t group by 1
select a, count() from t group by 1
select a, count() from t group by 2
select a, count() from t group by 3
select a, count() from t group by 0
select a, count() from t group by -1
select a, b from t order by 2
select a, b from t order by 3
select a, b from t order by 1+1
select a, b from t limit 1 by 1
select a, b from t limit 1 by 5
select a, count() from t group by all
select a + count() from t group by all
select a, b from t order by all
select distinct a from t order by b
select distinct on (a) a, b from t order by b
select a from t limit 1+1
select a from t limit a
select a from t limit 'x'
select a from t limit 1.5
select a from t where c
select a from t where 1.5
select a from t where f
select a from t where null
select a from t where n
select a from t where d
select a from t where arr
select count() from t having c
select a from t where 'x'
select a from u final
select a from t sample 0.1
select a from (select a from t) final
select a from t having a > 1
select 1 having 1
select 1 having 0
select a from t union all select b from t
select a from t union all select a, b from t
select a as x from t union all select b as y from t
select a from t union select a from t
select a from t union distinct select n from t
select 1 union all select null
select 1 union all select -1
select any(a), argMin(a, b), groupArray(a), uniq(a, b) from t
select min(n), max(n), sum(n), avg(n), count(n), any(n) from t
code:select quantile(a)(b) from t
select quantile(0.5+0.4)(b) from t
code:select sum(0.5)(b) from t
code:select sum() from t
code:select sum(a,b) from t
code:select sum(c) from t
select countIf(a) from t
code:select length(a) from t
code:select length() from t
code:select plus(1) from t
select a from t order by nope
select a.b.c from t
select t.a.b from t
-- Subqueries, literals, qualified names, transformers
select a in (select 1) from t
select a in ((select 1)) from t
select c in ('x','y'), n in (1, null), lc in ('x'), (a, c) in (1, 'x'), (a,c) in [(1,'x')] from t
select a in tuple(1,2), a in (1+1, 3) from t
with [1,2] as s select 1 in s
with cte as (select 1 as z) select 1 in cte, 2 in (cte)
select exists(select a from t where 0), exists(select 1), exists(select 1) as e, not exists(select 1)
select (select a from u limit 1) + 1, a in (select a from u) from t
select (select number from numbers(3))
select (select 1) in (select 2)
select ((select 1))
with (select 1) as x select (select 2), x + (select 3)
select 1 + (select (select 2))
select (select 5 + (select 2)) where 1 in (select 3)
select a from t where a = (select max(a) from u)
select 1 as x, (select x + 1)
with 1 as x select (select x + 1)
select count() from (select 1 union all select 2)
select [a, 1], [1, a + 1], (1 + 1, 2), [1+1, 2], [now(), 1]
select 1.0, 0.1, 1e100, 1e-10, -0.0, 100., 1e15, 123456789012345678, 1.0e0, 1e300*10
select 'it''s', 'tab\t', 'back\\slash', 'nul\0', '\x01', 'é'
select -a, - 1, -(1), +1, + a from t
select 1 -1, a -1, a - -1 from t
select toDate('2020-01-01') + 1, today() - 1 > d from t
select count() as c, c * 2 as d2, d2 + c from t
select a b, b "x y", c `z``z` from t
select a from t as x where t.a = 1
select x.a, default.x.a from t as x
select a.* from t as a
select t.* from t as x
select default.t.* from t
select d.t.x from d.t
select t.x from d.t
select q.z from (select 1 as z) as q
select q.* , z from (select 1 as z) as q
select * from (select 1 as z) as q(w)
with q(w) as (select 1) select w from q
select * from (select a, a from t)
select a from (select a, b as a from t)
select * from (select 1 as x, 2 as y) where x = y
select * except(zz) from u
select * except strict(zz) from u
select * replace(a + 1 as zz) from u
select * replace strict(a + 1 as zz) from u
select * except('a|k') from u
select columns('zzz') from u
code:select columns(zz) from u
select sum(*) from (select 1 as a)
select sum(columns('a')) from u
code:select count(t.*) from t
select u.*, a from u
select * apply(sum) apply(toString) from (select 1 as a)
select * apply(toString, 'p_') from u
select * from u order by columns('k')
code:select * from u order by *
select a from u group by *
select distinct * from u
select untuple(tup) from t
select tup.* from t
select untuple((1,2)), untuple((1,2)) as z
select a+b as `sum of`, `sum of` * 2 from t
select toString(1) as `1`, `1` || 'x'
select a from t group by a, b order by b
select a from t group by a order by b
select a + 1 as x from t group by x having x > 1 order by x desc
select a % 2 as p, count() from t where p = 1 group by p
select sum(b) as s from t group by a having s > 1 order by s limit 3
select a, any(b) from t group by a order by any(b), sum(b)
select uniq(a) from t order by sum(b)
select 1 from t group by a + 1 having max(b) > a + 1
select toString(a) from t group by toString(a)
select toString(a) || 'x' from t group by toString(a)
select if(a > 1, sum(b), 0) from t group by a > 1
select a = 1, sum(b) from t group by a = 1
select (a, b) from t group by a, b
select (a, b) from t group by (a, b)
select a from t group by (a, b)
select tuple(a) from t group by tuple(a)
select a from t group by ()
select count() from t group by tuple()
select 1, 'x', count() from t group by 'x'
select 5 as k, count() from t group by k
select toTypeName(a), count() from t
select materialize(1) as m, count() from t
select now() as n1, count() from t
-- Parameters, arrays, ARRAY JOIN, scopes
select {x:UInt8}, {s:String}, {x:UInt8} + 1, {x:Nullable(UInt8)}, {x:UInt8} as y
select {c:Identifier} from {t:Identifier}
code:select {x:Foo}
code:select {s:UInt8}
select tuple(1), tuple(1,2), (1,), [toUInt8(1)], array(1,2), tuple('a'), [a] from t
select toDate('2020-01-01') as d0, [d0], (d0, 1), 1 + 1 as two, [two, 1]
select [1, null], [1, -1], [1, 2.5], [[1],[2,3]], [(1,'a'),(2,'b')], (1, null, 'x', 1.0, [1,2]), [1, 1000], map('a', 1), [[], [1]], [null], [null, 'a']
select [1, 'a']
select [a, 1], [1, a + 1], (1 + 1, 2), [1+1, 2], (a, 1, 'x') from t
select * from t array join arr
select * from t array join arr as x
select arr, x, y from t array join arr as x, arrayEnumerate(arr) as y
select x + 1 as z, arr from t left array join arr as x where x > 1
select t.arr from t array join arr
code:select a from t array join c
select arrayJoin(arr) as x, a from t where x > 1
select arrayJoin([1,2]) + arrayJoin([1,2]) , arrayJoin([3,4])
select sum(arrayJoin([1,2]))
select arrayJoin(groupArray(a)) from t
code:select arrayJoin(a) from t
select count() from t group by arrayJoin(arr)
code:select quantile(0.5)(a), quantileIf(0.5)(a, b>1), countIf(b>1), sumIf(a,b) from t
select a from t limit 2 with ties
select a from t order by a limit 2 with ties
select a from t order by a limit 1 by b limit 2
select a from t limit 1, 2
select a from t order by a offset 2 rows fetch first 3 rows only
select top 3 a from t
with recursive x as (select 1) select * from x
code:with x as (select * from x) select * from x
with t as (select a from t) select * from t
with a1 as (select 1 as z), a2 as (select z + 1 as y from a1) select * from a2
with a1 as (select 1 as z) select * from (select * from a1) as q
with 1 as z select * from (select z + 1)
with a2 as (select * from a1), a1 as (select 1 as z) select * from a2
select count(*) from t where a in (1) and b not in (2)
select x from (select a + 1 as x from t) where x > 2
select * from (select 1 union all select 2) order by 1
select * from (select a, b from t order by a limit 3) order by b
select 1 where 0
select 1 from t
select 'x' as a, a from t
select 1 as number, number from numbers(2)
select a as x, x as y, y as z from t
select a as x from t where y > 1 and x as y
select (a + 1 as q) * 2, q from t
select sum(a + 1 as q), q from t
select sum(a as q), q from t group by q
select 1 as x from t where x = 1 having x = 1
with 1 as x select 2 as x
with 1 as a select a from t
select [1,2] as arr2, arr2[1], tup as tt, tt.x, tt.1 from t
code:select a.1 from t
code:select tup.zz from t
select arr.size0, n.null, c.zz from t
code:select case a when 1 then 2 end, case when a then 1 when b then 2 else 3 end from t
select c || 'a' || 'b', concat(c, 'x'), a and b and c is null, a or b or a, not (a or b), (a and b) and f from t
select a = 1 and b = 2 or f > 1.5 from t
select interval 1 day, interval '1 day', interval a day from t
select a between 1 and 2 and b from t
select * from view(select 1 as x)
select * from numbers('x')
select * from numbers(1+1)
select * from (select * from (select * from (select 1 as x)))
select count(null), sum(null), max(null), any(null)
select countDistinct(a), count(distinct a, b), COUNT(DISTINCT a) from t
select max(a) as m from t where m > 1
select currentDatabase(), user(), version()
select a, a as a2, count() from t group by a2
select a, count() from t group by toString(a)
select b as a, count() from t group by a
select a from t where 1
select a from t order by 'x', 1+1, a desc nulls first
code:select cast(a, b) from t
code:select CAST(1, 'Foo')
code:select toString(a, b, c) from t
select ignore(a), toTypeName(sum(a)) from t group by a
select a from t group by a having count() > 1 and a in (1,2)
select a from t order by a limit 3, 2 settings max_threads = 1
select t.a + t.b, sum(t.a) from t group by t.a + t.b
select count() + 1 as x, x * 2 from t having x > 1
select a as `a b`, `a b` from t
-- Aliases that hide columns, LIMIT, types of unions, sets
select *
select dummy
select dummy from system.one
select * from (select 1) where dummy
select a, (select 1) from t where (select 1)
select a from (select a, b from t) as q group by b
select z from (select a as z from t) group by 1+1
select q.z, count() from (select a as z from t) as q
select number, count() from numbers(3)
select (select 1, (select 2)), (select * from (select (select 3), (select 4)))
select distinct a from t limit 1 by a
select count(*) from (select * from t)
select a from t where a group by a having count() order by a limit 1
select sum(a) from t group by all
select *, count() from u group by all
select a+1 as x, x from t group by x
select sum(number) as number from numbers(10)
select number % 2 as number, count() from numbers(10) group by number
select number as n, n as number from numbers(2)
select -number as number from numbers(3) order by number
select number from numbers(3) order by -number
select number from numbers(3) where number as x
select a, a from t order by 2
select count() from t having count() > 0 and 1
select sum(a) from t having b
select 'x' || c as c from t where c = 'xa'
select 'x' || c as c from t where t.c = 'xa'
select 1 from t where a = 1 and (select 1) = 1
with x as (select a from t) select x.a from x
with x as (select 1 as a), y as (select 2 as a) select * from x union all select * from y
with 1 as k select k union all select k
with x as (select 1) select * from x union all select * from x
select * from t union all select * from t
select 1 as a union all select 2 as b order by a
(select 1) union all (select 2)
select * from (select 1 as a union distinct select 1)
select 1, 2 union all select 3
select [1] union all select [-1]
select (1, 'a') union all select (2, 'b')
select toDate('2020-01-01') union all select toDateTime('2020-01-01 00:00:00')
select 1 limit 0
select number from numbers(10) limit 2, 3
select number from numbers(10) limit 3 offset 2
select number from numbers(10) limit null
select number from numbers(10) limit toUInt8(3)
select number from numbers(10) limit (select 2)
with 2 as l select number from numbers(10) limit l
select number from numbers(10) limit 1 by number % 3
select number from numbers(10) order by number % 3, number limit 1 by number % 3
select number from numbers(10) limit 1 offset 1 by number % 3
select * from numbers(3) as n where n.number = 1
select n.* from numbers(3) as n
select n.number + 1 from numbers(3) as n
select x from (select number as x from numbers(3)) as n where n.x = 1
select n.x + 1, n.x as y from (select number as x from numbers(3)) as n where n.x = 1
select `a` + `b` from t
select any(a) as x, x + 1 as y from t having y > 3
select a, b from t group by a, b, a + b
select sum(a), sum(a + 1), sum(a + 2), sum(1 + a), sum(a - 1), sum(a * 2) from t
select sum(b - 1), sum(1 - b), sum(n + 1), sum(f + 1), sum(a + 1.5), sum(a + 1000) from t
select toTypeName(sum(a + 1)), toTypeName(sum(b + 1)), toTypeName(sum(a - 1)), toTypeName(sum(n + 1)), toTypeName(sum(1 - a))
select toTypeName(sum(a + 1)), toTypeName(sum(b + 1)), toTypeName(sum(a - 1)), toTypeName(sum(n + 1)), toTypeName(sum(1 - a)) from t
select any(count()) from t
select count(), count() + 1 from t order by count()
code:select ignore(*) from t
select a from t where ignore(*)
select toString(*) from (select 1 as x)
select tuple(*), [*] from (select 1 as x, 2 as y)
select (*) from (select 1 as x, 2 as y)
select (*, 1) from (select 1 as x, 2 as y)
code:select * from u where a = 1 and *
select nullIf(a, 1), coalesce(n, 1), ifNull(n, 1), assumeNotNull(n), isNull(n) from t
select a in (select a, k from u) from t
select (a, b) in (select a, k from u) from t
select a in (select s from u) from t
select 1 in (select 'x')
select '1' in (select 1)
select a in [1, 2, 300] from t
code:select a in (1, 'x') from t
select tuple(a, b) in ((1, 2)), (a, b) in (1, 2) from t
select a in () from t
select a in tuple() from t
select a in [] from t
code:select f in (1, 2.5), c in ('a') , d in (toDate('2020-01-01')), d in ('xx') from t
select b in (-1, 2, 3000000000) from t
select arr in ([1,2]), arr in ([[1,2]]) from t
-- Numbers of subqueries, views, defaults
select (select 1) from (select 2)
select (select 1), x from (select (select 2) as x)
select x, (select 1) from (select (select 2) as x)
select 1 in (select 1), (select 2) order by (select 3), 1
select (select 2) from t where a in (select 1)
select (select 2) from t where a in (select 1) order by (select 5)
select a from (select (select 1) + a as a from t)
select (select 1), (select 1)
with x as (select 1 as z) select (select 2), z, (select 4) from x
with x as (select 1 as z) select (select z from x), (select 4)
select 1 in (select 1) union all select (select 3)
select (select 3) union all select (select 3)
select a as b from t where b > 1 and t.b = 1
select a from t group by b as a
select b as a, a as c2 from t
select t.b as a, a as c2 from t
select a, a as a, b as b from t
select a as t, t.a from t
select tup as a, a.x, t.a from t
select x.y from (select tup as x from t)
select x.y from (select tup as x from t) as x
select `x.y` from (select 1 as `x.y`)
select x.y from (select 1 as `x.y`)
select q.x.y from (select 1 as `x.y`) as q
select max(x) from (select 1 as x) where x=1 having max(x)=1 order by max(x) limit 1
select count(*) c from t where a>1 group by a, b having c>1 order by c, a limit 1 by a limit 2
select id, code, low from w
select * from w
select w.code from w where code=1
select name, code + 1 from w order by code
select lower(low) from w
select * except(id) from w
select b1 from v where a = 1
select v.a from v
select default.v.a from default.v
select x.a from v x
with 5 as n1 select n1 + a from t where a = n1
with (select max(a) from t) as m select a from t where a = m
with sum(b) as s select a, s from t group by a having s > 1
with a + 1 as x, x + 1 as y select y from t where y > 1
select a from t where (a, b) = (1, 2)
select (a, b).1, (a, b).2 from t
select not a, not (a = 1), -a + 1, -(a + 1) from t
select a = 1 ? 'x' : 'y' from t
select a between 1 and 2, a not between 1 and 2 from t
select c like '%x' or c not like 'y%' from t
select c is null, c is not null, n is null from t
select a <=> 1 from t
select a div 2, a % 2, a mod 2, a / 2 from t
select date '2020-01-01' + interval 1 day
select extract(day from d), toYYYYMM(d) from t
select [1,2,3][1], (1,2).1, [a][1] from t
select cast(a as Float32), a::Int16, '5'::UInt8, 1::String, cast('1' as UInt8)
select cast(a as Float32), a::Int16, '5'::UInt8, 1::String, cast('1' as UInt8) from t
select 1::UInt8 + 1, -1::Int8, (1+1)::String
select [1,2]::Array(UInt8), (1,'a')::Tuple(UInt8,String)
select '1.10'::Float64, 1.10::Float32, 5::Nullable(UInt8)
select true, false, true and false, not true
select toTypeName(a) as x, x = 'UInt8' from t
select count(distinct a), count(distinct b) from t
select uniq(a, b), uniqExact(a, b) from t
select any(a), anyLast(a), first_value(a), last_value(a) from t
select min(c), max(d), avg(a), avg(f), median(a) from t
select stddevPop(a), varSamp(a), corr(a, b) from t
select groupUniqArray(a), groupArray(3)(a), topK(3)(a) from t
select argMax(c, a), argMinIf(c, a, b > 0) from t
select sumIf(b, a), avgIf(a, b = 1), countIf(n is null) from t
select sumOrNull(a), countOrDefault(a) from t
select * from v
select * apply(x -> x+1) from (select 1 as a, 2 as b)
select length(*) from (select 'a' as a)
select concat(*) from (select 'a' as a, 'b' as b)
select * apply(x -> x::String) except(k) from u
select 'a' union all select null
code:select 'a' + 1
select lc = 'x', lc != 'x' and a = 1, lower(lc) from t
select a from t where lc = 'x'
select a from t where lc in ('x')
select count() from t where n > 1 or n is null
select a as x, b as y from t order by x + y
select a as x from t group by x order by x
select c, count() as n2 from t group by c having n2 > 1 order by n2 desc, c limit 5
select c, count() as n2 from t group by 1 order by 2 desc
select toString(a) as k, max(b) from t group by k
select a % 10 as k, sum(b) / count() as m from t group by k order by m
select a, b, count() from t where d >= '2020-01-01' and d < '2020-02-01' group by a, b order by count() desc limit 10
select a from t where a in (select a from u where k > 1)
select a from t where (a, b) in (select a, k from u)
select a from t where a not in (1, 2, 3) and c in ('x', 'y')
select exists(select 1 from t) as x from u
select (select count() from t) as x, x + 1
select (select max(a) from t) from u
select u.a, u.k from u where u.s = 'x' order by u.k
select q.a from (select a from t) as q where q.a > 1
select q.a + 1 as x from (select a from t) as q group by q.a
select a from (select a, b from t where b > 1 order by b limit 10) where a = 1
select count() from (select distinct a from t)
select uniqExact(a) + 1 as x from t having x > 1
select sum(a) as s, sum(b) as s2, s / s2 as r from t
select count(), count() * 2, -count() from t
select min(a) as mn, max(a) as mx, mx - mn as rng from t group by b having rng > 2
select if(count() > 0, sum(a) / count(), 0) as avg1 from t
select coalesce(n, 0) as x, ifNull(n, 1), nullIf(a, 1) from t where x > 1
select 1 + 2 * 3 as x, (1 + 2) * 3 as y, x - y
select -5 as x, abs(x), -x
select 'a' || 'b' as x, length(x), upper(x)
select toDate('2020-01-01') as x, toYear(x), x + 1
select toDateTime('2020-01-01 00:00:00') as x, toDate(x), toHour(x)
select [1, 2, 3] as x, x[1], length(x), has(x, 2)
select (1, 'a') as x, x.1, x.2
select null as x, isNull(x), x + 1
select 1.5 as x, toInt32(x), floor(x)
select count() from numbers(10) where number % 2 = 0
select number, number * 2 as d2 from numbers(5) where d2 > 4
select n from (select number as n from numbers(3)) where n > 1
select a from t limit 10 offset 3
select a from t order by a desc, b asc nulls first limit 3, 4
select distinct a % 2 as p from t order by p
select distinct a, b from t where a > 1 limit 3
select sum(x) from (select a as x from t union all select k from u)
select a from t union all select k from u union all select x from d.t
select a, c from t where c = '' limit 1 by a
select 1 as a, a as b, b as c
select a + b as s, s * 2 as d2, d2 - s as e2 from t
select t.tup.x, tup.x + 1, t.tup.1 from t
select arr[1] + 1, arr[a], length(arr) from t
with 1 as one, one + 1 as two select two + one as three
with x as (select a, b from t where a > 1), y as (select a, sum(b) as s from x group by a) select y.a, s from y where s > 10 order by s
with (select count() from t) as total select a, count() / total from t group by a
select toTypeName(a), toTypeName(b + a), toTypeName(c), toTypeName([a, b]) from t
select toTypeName(1), toTypeName(1 + 1), toTypeName('x'), toTypeName(null), toTypeName([1, 2.5]), toTypeName((1, 'x'))
select *, a + 1 from u where k > 0 order by s
select * except(s), s from u
select u.* except(a) from u
select columns('^[ak]$') from u
select * replace(k + 1 as k, s || 'x' as s) from u
select * apply(max) from u
select sum(a) over1 from t
select a as `select`, `select` + 1 from t
select "a" from "t"
select count(a = 1) from t
select sum(a = 1), sum(a > 1 and b > 1) from t
select avg(b), avg(f), avg(a + b) from t
select a from default.t where default.t.a = 1
select x.b from t as x where x.a = 1 group by x.b
select nope.a from t as x
select a, c from t group by a
select a, sum(b) from t group by a having c = 'x'
select a + b from t group by a
select max(c) from t group by a order by c
select a from t group by a limit 1 by b
select count(b) from t where count() > 1
select avg(sum(a)) from t
select count() from t group by count()
select a from t where nope = 1
select nope + 1 from t
select a from t group by nope
select sum(nope) from t
select t.nope from t
select u.a from t
select a from t order by t.nope
select a from t having nope
select 1 where nope
select a in (select nope from u) from t
select (select nope from u) from t
select a from (select a from t where nope = 1)
select a from tt
select a from default.tt
select a, count() from t
select a from t where c
select a from t where arr
select a from t having c
code:select nope(a) from t
select a from t limit a
select a from t limit 'x'
select a from t limit 1 by 9
select a from t order by 9
select a from t group by 9
select a as x, b as x from t
-- Made at random
select ((2 = 1) = (tup.x < 2)), toYear(d) as w1, toInt32((300 between 1 and t.b)), (if(t.b > tup.x, w1, w1) > 1 or a < 2 or default.t.a = 3) from t order by f - b desc
select ((300 < t.b) >= (2.5 > 1 or f < 2 or n = 3)), if((f = n) > b, isNull(f), 2.5 / a), (case when default.t.a > 1 then 2 else f end <= b), (t.b > 1 or a < 2 or n::Float32 = 3) from t
select ((default.t.a > 1 or b < 2 or default.t.a = 3) + (a between 1 and default.t.a)), (tup.x + 300), (f / 2 + n) from t where toYear(d) > 0 order by -(tup.x) limit 1 by b
select ((f * n) between 1 and t.b), case when (select 1) > 1 then -(2.5) else (t.b < default.t.a) end, 1, n from t
select ((select count() from u where a = 1) <= a), case when (b < b) > 1 then (n between 1 and tup.x) else (toYear(d) + t.b) end, t.a * (300 > 1 and length(c) < 2 or toYear(d) = 3) as b from t
select ((select max(k) from u) * if(t.b > tup.x, 2, tup.x)) from t
select ((t.b > 1 and length(c) < 2 and 2 = 3) > (length(c) != 300)) as q from t where toInt32(a) > 0
select ((tup.x != a) < (n between 1 and t.b)), n::Float32 as x, toInt32(f) as y, length(c) as a from t where (f > 1 or a < 2 or 2 = 3) > 0 limit 2
select ((tup.x between 1 and 2.5) > 1 and b - 2 < 2 and toYear(d) - b = 3) as z, (tup.x between 1 and if(1 > f, length(c), 2)) from t where (default.t.a > 1 and 300 < 2 or f = 3) > 0
select (1 > 1 and (2 > 1 or length(c) < 2 or length(c) = 3) < 2 and isNull(length(c)) = 3), if(case when tup.x > 1 then a else 2.5 end > case when n > 1 then f else n end, toFloat64(2), if(toYear(d) > t.a, b, 1)) as b from t
select (1 between 1 and (t.a > 1 or f < 2 or 2.5 = 3)) as b, (toFloat64(b) * b::Int64), (b >= default.t.a) * (select count() from u where a = 1) from t order by coalesce(f, t.b)
select (2.5 <= 1) from t group by (2.5 <= 1)
select (2.5 > 1 or length(c) < 2 or 1 = 3), countIf(a = 1) as y, (t.a * b) from t where n > 0 group by 1, 3
select (300 / t.b = 300), toYear(d) from t
select (300 < f), countIf(b > 2) as b from t where case when t.a > 1 then 2.5 else t.b end > 0 group by (300 < f) limit 1 by 1
select (300 = b) - (1 between 1 and f), (a > 1 or default.t.a < 2 and tup.x = 3) + (f - n) as z, a in (1, 2), length(c) as x from t where (select count() from u where a = 1) > 0
select (300 > 1 or 300 < 2 or n = 3) * n in (1) as q, t.b from t order by n
select (300 between 1 and default.t.a), sumIf((300 between 1 and a), a > 1), t.a from t where 2.5 > 0 group by (300 between 1 and default.t.a), t.a order by 1 desc
select (300 between 1 and length(c)) as a from t where a / toYear(d) > 0 order by bitNot(tup.x) desc
select (300 between 1 and tup.x) as q, case when n > 1 then 1 else 1 end, countIf(b > 2) + count() as x from t group by q, case when n > 1 then 1 else 1 end order by 1 desc limit 2
select (a between 1 and 300), count((f between 1 and 300)) as a, count() as b from t where (a <= t.a) > 0 group by (a between 1 and 300) having any(case when length(c) > 1 then tup.x else 1 end) > 1 limit 1 by 1 limit 8
select (a between 1 and length(c)) as w1, groupArray(if(f > 2, 2.5, b)), max(b::Float32) as z, sumIf((b < tup.x), a > 1) from t group by 1 limit 3
select (a in (1, 2) between 1 and b::UInt8), toYear(d) as q, if((select count() from u where a = 1) > t.a, 1, a::Nullable(Int32)) as y, length(c) from t limit 8
select (a, b) in ((1, 2)) as b, ((2.5 - default.t.a) between 1 and (select 1)) as x from t order by (2 * t.a) desc limit 9
select (a, b) in ((1, 2)) from t limit 7
select (b between 1 and if(2.5 > t.a, n, toYear(d))), (select 1), if(b::Nullable(Int32) > toYear(d), (1 < t.b), t.a) from t
select (b between 1 and plus(b, f)) as q from t where (select count() from u where a = 1) > 0
select (b::Float32 < (t.a > 1 and a < 2 or t.a = 3)), a::Int64, 2 from t
select (case when 300 > 1 then t.a else a end between 1 and (f != n)) as a, (toYear(d) > 1 and 1 * length(c) < 2 and if(2.5 > a, a, 300) = 3) from t
select (case when a > 1 then t.b else 1 end * t.a), abs((2 > 1 or a < 2 or a = 3)) as b, (select count() from u where a = 1), a::UInt8 from t where length(c) > 0 order by least(b, n) limit 1
select (default.t.a + tup.x) as a from t group by a
select (default.t.a - t.a) as w1 from t where (2 between 1 and t.a) > 0 group by w1 having sumIf((a, b) in ((1, 2)), a > 1) > 1
select (default.t.a > 1 or a in (select a from u) < 2 and toFloat64(a) = 3), (f * t.a * multiply(f, t.a)) as y from t where 2 * toYear(d) > 0
select (equals(n, t.a) between 1 and not(toYear(d))) as y from t where (2.5 + toYear(d)) > 0 order by n in (1) desc
select (f * f > 1 or equals(tup.x, 2.5) < 2 and 300 = 3) as y, (select count() from u where a = 1) from t
select (f - b) as z from t where (1 * t.b) > 0 group by z
select (f > 1 and (1 + tup.x) < 2 or 2.5 - 300 = 3) as a from t limit 7
select (f > 1 or 300 < 2 and tup.x = 3), c in ('x', 'y') from t where (default.t.a + length(c)) > 0 group by (f > 1 or 300 < 2 and tup.x = 3), c in ('x', 'y') order by avg(if(300 > tup.x, 2, f))
select (length(c) > 1 or case when toYear(d) > 1 then toYear(d) else tup.x end < 2 and c in ('x', 'y') = 3) from t order by f
select (n * 300), groupArray(n) from t where f > 0 group by 1 order by avg(t.a / 1)
select (n between 1 and t.a) / a::UInt8 as z, f as x, (case when tup.x > 1 then a else tup.x end between 1 and a) from t limit 1
select (n::Float32 between 1 and if(t.b > f, default.t.a, 300)), 2 as z, b as a, abs((length(c) > 1 and 2 < 2 or a = 3)) as y from t order by (2.5 > 1 or a < 2 or n = 3)
select (select count() from u where a = 1) as y from t where n::Nullable(Int32) > 0 group by 1 having uniq((a + t.a)) > 1 limit 5
select (select count() from u where a = 1) from t where (default.t.a + tup.x) > 0 order by tup.x desc
select (select max(k) from u), (minus(2, length(c)) between 1 and a::Float32), (a * multiply(default.t.a, t.a)), length(c) from t limit 1
select (select max(k) from u), a::Int64 from t order by 2
select (t.a != t.a) from t where (a > 2.5) > 0 group by 1 order by 1 desc
select (t.a + 2 > 1 or toUInt8(2) < 2 or toYear(d) = 3) as a, ((f < t.b) - (a < n)), greatest((t.b - 300), a::UInt8) as b, a from t limit 9
select (t.a > 1 or default.t.a < 2 or b = 3), (b between 1 and b) from t where (2 > 1 or toYear(d) < 2 and 2 = 3) > 0 group by (t.a > 1 or default.t.a < 2 or b = 3), (b between 1 and b)
select (t.b between 1 and t.a) from t group by (t.b between 1 and t.a) order by 1 desc
select (tup.x != default.t.a) from t order by multiply(300, default.t.a) desc
select (tup.x * a) as b, count() from t group by b order by 1 desc limit 10
select (tup.x * t.b) from t group by (tup.x * t.b)
select (tup.x > 1 and a < 2 or default.t.a = 3) / f as b, (toYear(d) between 1 and (n > 1 and b < 2 and f = 3)) as z, (a, b) in ((1, 2)) as y, 300 + (default.t.a < y) as x from t where (2 * a) > 0
select (tup.x between 1 and f), 2 as y, ((select max(k) from u) * (b * f)) from t order by case when 2 > 1 then t.b else t.b end desc
select * from (select ((a, b) in ((1, 2)) > 1 or toInt32(length(c)) < 2 and a::Nullable(Int32) = 3) as w1, toYear(d) from t where if(b > tup.x, 1, f) > 0 order by (tup.x > 1 and tup.x < 2 or 300 = 3))
select * from (select ((f > 1 or f < 2 or toYear(d) = 3) between 1 and case when b > 1 then b else 2.5 end), plus(1, 2), case when bitNot(300) > 1 then (a, b) in ((1, 2)) else if(t.b > f, 2, 2.5) end from t where multiply(toYear(d), a) > 0)
select * from (select (2 between 1 and greatest(b, 2.5)) as b, t.a, ((300 <= t.a) between 1 and (a, b) in ((1, 2))) as a from t where 1 > 0)
select * from (select (2.5 between 1 and negate(a)) as z, least(case when toYear(d) > 1 then f else 2.5 end, -(t.b)) as x, (a, b) in ((1, 2)) as b, (coalesce(x, a) != (a, b) in ((1, 2))) from t where x > 0)
select * from (select (300 * n) - (toYear(d) - t.a) as x, b as b, (a in (1, 2) > 1 and (x > 1 or tup.x < 2 or t.a = 3) < 2 or b::Int64 = 3), isNull(t.a) as a from t where a > 0)
select * from (select (b - 300 - 300) from t where default.t.a > 0 limit 9)
select * from (select (f between 1 and 2), max(toUInt8(t.a)) + max(a), case when tup.x > 1 then a else n end as x from t group by 1, 3)
select * from (select (length(c) * 2 > 1 and 1 < 2 and if(300 > 2.5, 2, 1) = 3) from t where assumeNotNull(toYear(d)) > 0)
select * from (select (n < b), 2.5 as w1 from t order by (n between 1 and 300) desc)
select * from (select (not(1) + (n between 1 and b)) as y from t where tup.x > 0 order by (f between 1 and y) desc)
select * from (select (t.a >= t.a) / (300 between 1 and tup.x) from t where 2.5 > 0)
select * from (select a::Nullable(Int32) as y, t.b, (a, b) in ((1, 2)), 300 from t where length(c) > 0 limit 1 by 300)
select * from (select a::UInt8, 300, t.b from t where n > 0)
select * from (select avg(1) from t where (2 + tup.x) > 0)
select * from (select b from t where t.b > 0 group by 1 order by min(1) limit 10)
select * from (select b::UInt8, (2 > 300) as b, case when t.b > 1 then 1 else 2.5 end from t group by b::UInt8, b, case when t.b > 1 then 1 else 2.5 end having max(a::Int64) > 1 order by max(1) desc)
select * from (select case when t.b > 1 then length(c) else 2 end, uniq(2 - b) as z, groupArray((2.5 > 1 and 2 < 2 or default.t.a = 3)), max(300) as w1 from t group by case when t.b > 1 then length(c) else 2 end)
select * from (select coalesce(n, (toYear(d) > 1 or b < 2 and default.t.a = 3)) as q from t where equals(1, q) > 0 order by (default.t.a <= 300) limit 1)
select * from (select count((300 * f)) as z, count(2 + 300), 2 as q from t where default.t.a > 0 group by 2 having min(b::Nullable(Int32)) > 1 limit 1 by 1)
select * from (select default.t.a, case when 1 > 1 then default.t.a else 2.5 end from t where if(300 > a, t.a, toYear(d)) > 0 group by default.t.a, case when 1 > 1 then default.t.a else 2.5 end having any(a * 300) > 1)
select * from (select distinct case when length(c) / 2 > 1 then a::Float32 else (a between 1 and toYear(d)) end as y from t order by 2.5 + y desc limit 8)
select * from (select distinct groupArray((b between 1 and t.b)) + max(a) as q from t having sumIf(b, a > 1) > 1)
select * from (select distinct t.b, case when (b between 1 and 1) > 1 then (length(c) between 1 and 300) else (2.5 * 300) end as q, toYear(d) from t order by a + toYear(d) limit 0)
select * from (select groupArray((t.a = default.t.a)) + 1, count() + count(), countIf(b > 2) + count() as x from t)
select * from (select groupArray((tup.x + toYear(d))) + 1 as y from t where default.t.a - toYear(d) > 0)
select * from (select ifNull(if(length(c) > f, b, toYear(d)), minus(2, a)) as b from t where n::Nullable(Int32) > 0)
select * from (select length(c) as a, case when n > 1 then (f * length(c)) else (a = n) end from t limit 5)
select * from (select length(c) as w1 from t where case when t.b > 1 then b else toYear(d) end > 0 limit 5)
select * from (select sum(n::UInt8) as x, case when toYear(d) > 1 then 1 else 2.5 end from t group by case when toYear(d) > 1 then 1 else 2.5 end)
select * from (select toInt32(1) * 300, t.a, ((2.5 between 1 and t.a) = f) as a, (b not in (3) between 1 and length(c)) from t where 1 > 0)
select * from (select toNullable(n) as b, sum((t.b > 1 or t.b < 2 or 1 = 3)) + 1 as x from t where if(t.b > default.t.a, 2.5, default.t.a) > 0 group by b order by 1 desc)
select * from (select toYear(d), 2.5, if(case when default.t.a > 1 then t.a else 300 end > (n > default.t.a), b, toUInt8(length(c))) as b, ((a <= a) > 2.5) as y from t)
select * from (select toYear(d), tup.x - tup.x, toUInt8(f) from t where minus(t.b, toYear(d)) > 0 group by toYear(d), tup.x - tup.x, toUInt8(f) order by 1)
select * from (select tup.x as q, sum(length(c)), (a, b) in ((1, 2)), isNull(toYear(d)) from t group by q, (a, b) in ((1, 2)), isNull(toYear(d)) having uniqExact((f <= t.b)) > 1)
select * from (select uniq(n * default.t.a) as z, max(case when 1 > 1 then n else a end) + 1 from t where (tup.x <= length(c)) > 0 having any(2.5) > 1)
select * from (select uniq(n::Float32) from t)
select * from (select uniqExact(t.a) + max(a) as x, case when t.a > 1 then b else toYear(d) end from t where if(2 > t.b, length(c), toYear(d)) > 0 group by 2 order by 1 desc)
select * from (with (select count() from u where a = 1) as b select bitNot(a) as z, length(c), a::Int64 as q from t order by a::UInt8 limit 8)
select * from (with (select max(k) from u) as z select b::UInt8 from t order by z / 300 desc)
select * from (with (toYear(d) > 1 or b < 2 and 2 = 3) as z select (a::UInt8 > 1 or 2.5 < 2 or 1 = 3) as y, abs((n > 1 or t.b < 2 or b = 3)) from t)
select * from (with 2 as z select n as x, if((300 > 1 and x < 2 or t.a = 3) > (1 < b), a::Float32, (b > 1 or 300 < 2 or 2.5 = 3)), b::UInt8 as y, (select count() from u where a = 1) from t where length(c) > 0)
select * from (with 300 as q select (length(c) - default.t.a) as b, (length(c) - length(c)) from t where (2.5 > 1 and length(c) < 2 and tup.x = 3) > 0 group by 2 limit 1 by 1)
select * from (with a in (1, 2) as q select distinct n, case when 2 > 1 then a else q end, (select count() from u where a = 1) from t limit 3)
select * from (with a::Nullable(Int32) as b select distinct count() + 1, uniq(b) from t order by min(isNull(2)) limit 1 by 1)
select * from (with a::Nullable(Int32) as x select n in (1) * tup.x + t.a, b::UInt8 as q, equals((n * n), case when a > 1 then tup.x else q end) from t order by case when 300 > 1 then x else b end desc)
select * from (with a::UInt8 as x select if((default.t.a > default.t.a) > a, least(x, t.a), b), (x between 1 and 2.5) + b::UInt8, case when (t.a < length(c)) > 1 then b::UInt8 else default.t.a end from t)
select * from (with case when 1 > 1 then b else toYear(d) end as w1 select min(toFloat64(default.t.a)) as x from t)
select * from (with isNull(1) as x select distinct countIf(a = 1) from t where (a, b) in ((1, 2)) > 0)
select * from (with multiply(a, 2.5) as q select count(), t.b as w1, sum(case when 2 > 1 then b else n end) from t group by w1 order by 1 desc)
select -((length(c) between 1 and f)), (multiply(default.t.a, f) * (t.b - toYear(d))), 300 as z, default.t.a from t where if(length(c) > 2, z, t.a) > 0
select 1 as b, sum((a, b) in ((1, 2))), min(ifNull(t.a, 300)) as y from t where (length(c) > 1 or f < 2 or toYear(d) = 3) > 0 group by b having max(plus(b, f)) > 1
select 1 from t where (a, b) in ((1, 2)) > 0
select 1, n as b, b::Nullable(Int32), tup.x from t where b > 0 limit 3
select 1, n in (1), f from t where plus(length(c), 2) > 0 order by default.t.a desc
select 2 as w1, (toYear(d) * 300), t.a as x from t where t.a > 0 group by 2, (toYear(d) * 300), t.a
select 2, 2, abs(2) - case when 300 > 1 then 2 else t.b end as z from t order by case when z > 1 then 2.5 else a end desc limit 0
select 2, a from t where (t.b != length(c)) > 0 group by 1, 2
select 2.5 - (b * n), (select count() from u where a = 1) as q, multiply(case when 300 > 1 then a else t.b end, q), equals(n::Int64, case when q > 1 then 2.5 else default.t.a end) as a from t where if(toYear(d) > q, n, 1) > 0 limit 7
select 2.5 - b, avg((f <= n)) + max(a) as z, groupArray(length(c)), ifNull(t.b, b) from t group by 2.5 - b, ifNull(t.b, b) limit 3
select 2.5 as y, isNull(b not in (3)) as z from t
select 300 as w1, 300 as x from t
select 300 as x, 1 from t where x > 0 limit 0
select 300 as x, n in (1) as w1 from t
select 300, least(-(a), case when n > 1 then t.a else default.t.a end), n from t limit 9
select a * (b != tup.x) as b, case when b > 1 then 1 else f end as a, 1 as w1 from t
select a as b, a in (select a from u) as q, toFloat64((length(c) > 1 and b < 2 or f = 3)) from t limit 5
select a as y, sum((1 * length(c))) as x from t group by y having countIf(b > 2) > 1
select a as z, groupArray(toInt32(1)) as y from t where f > 0 group by 1
select a in (1, 2) from t where negate(tup.x) > 0 group by a in (1, 2) order by uniqExact(a in (select a from u))
select a, (n > 1 and toYear(d) < 2 or length(c) = 3), any(if(toYear(d) > default.t.a, n, n)) as x, 300 from t where (a between 1 and 300) > 0 group by a, (n > 1 and toYear(d) < 2 or length(c) = 3), 300 order by sumIf(a, a > 1)
select a, case when (select 1) > 1 then t.b else (a > 1 and t.a < 2 or 2.5 = 3) end as a, t.a, (greatest(toYear(d), a) between 1 and (1 - f)) as q from t where if(q > t.b, n, f) > 0 limit 1 by t.a limit 5
select a, if(2.5 > a, a, n) as q, avg((select max(k) from u)) as b from t group by a, if(2.5 > a, a, n) having uniq(1) > 1 limit 3
select a, if(length(c) > 1, 1, (1 * 1)), default.t.a as y, if(a::Int64 > a, (300 + toYear(d)), (300 between 1 and 2.5)) from t
select a::Float32 as q, isNull(t.a / q) from t
select a::Nullable(Int32) as q, 1 as x, q as a, case when (a * x) > 1 then (b between 1 and 2) else default.t.a - 2 end from t
select abs((tup.x != 1)) as w1, equals(2, (t.a = 300)) from t where w1 > 0
select abs(default.t.a), min(t.b) + count() as a, groupArray(c in ('x', 'y')) as z, countIf(b > 2) + count() as q from t where c in ('x', 'y') > 0 group by abs(default.t.a)
select any((300 + tup.x)) + 1, -(default.t.a), max(b not in (3)) as y from t group by -(default.t.a)
select any((300 - f)), assumeNotNull(default.t.a) from t where b > 0 group by assumeNotNull(default.t.a) limit 1 by 1
select any((toYear(d) > 1 and t.b < 2 or 2 = 3)) from t where default.t.a > 0 having max(assumeNotNull(t.a)) > 1
select any(b) from t where (length(c) - n) > 0
select any(if(t.a > default.t.a, 1, toYear(d))) as b, multiply(length(c), default.t.a), length(c) as y, n in (1) from t group by 2, 3, 4 limit 1 by 1
select any(t.a) + max(a) from t where (b < default.t.a) > 0 limit 8
select assumeNotNull(b not in (3)) as a, ((a - a) > 1 or ifNull(toYear(d), toYear(d)) < 2 and toYear(d) = 3) as z, f from t limit 1
select avg((1 between 1 and 300)) as b, uniqExact(a::Nullable(Int32)) + 1, (default.t.a > default.t.a), count() + count() as z from t group by (default.t.a > default.t.a) limit 2
select avg((f * tup.x)), toYear(d), n / 1 from t group by toYear(d), n / 1 limit 4
select avg(300) + 1 as z from t where b > 0 order by 1 desc
select b + 2 as b, multiply(t.a, 300) as w1 from t where (tup.x - n) > 0 group by b + 2, w1 order by max((f > 1 and toYear(d) < 2 and tup.x = 3)) desc limit 4
select b as z from t group by z having avg((n > 1 and length(c) < 2 or b = 3)) > 1 limit 4
select b from t where (default.t.a > 1 and 300 < 2 and 1 = 3) > 0
select b from t where (n > 1 and n < 2 or a = 3) > 0 group by b having count(t.a) > 1
select b not in (3) as b, toYear(d) from t where (b > 1 and length(c) < 2 and 1 = 3) > 0
select b not in (3) as q from t
select b not in (3), assumeNotNull(case when n > 1 then 300 else a end), case when c in ('x', 'y') > 1 then (default.t.a <= toYear(d)) else (length(c) = 2.5) end as x from t limit 2
select b, case when toYear(d) > 1 then ifNull(b, default.t.a) else a::UInt8 end from t limit 1 by b
select b::Float32 - (b + t.b), ((b >= default.t.a) != 2) from t where length(c) > 0 order by case when a > 1 then length(c) else t.a end desc limit 1 by tup.x
select b::Nullable(Int32) as z, ((select 1) between 1 and case when b > 1 then t.a else length(c) end) from t where b > 0 order by toYear(d) + t.a limit 1 by n
select b::Nullable(Int32) from t where b / t.a > 0
select b::Nullable(Int32), avg(f) + count() as w1, any(n::Float32) + max(a) from t group by b::Nullable(Int32) order by count(n) desc
select c in ('x', 'y'), max(minus(300, length(c))) as y, (t.a > 1 or t.b < 2 or 2 = 3) from t group by c in ('x', 'y'), (t.a > 1 or t.b < 2 or 2 = 3) having count(if(toYear(d) > b, length(c), default.t.a)) > 1
select case when (f + toYear(d)) > 1 then (300 between 1 and toYear(d)) else n in (1) end, (toNullable(length(c)) * (t.b between 1 and n)) as w1 from t limit 1
select case when (select count() from u where a = 1) > 1 then toInt32(length(c)) else f end as z, ((n > toYear(d)) * a) as x from t
select case when a > 1 then 300 else length(c) end as x, groupArray(f) as y from t group by case when a > 1 then 300 else length(c) end
select case when a in (select a from u) > 1 then (length(c) = 1) else tup.x end, a in (1, 2) as b, minus(b::Nullable(Int32), (2 between 1 and default.t.a)) as w1, (b not in (3) > 1 or 2.5 < 2 and n::Int64 = 3) from t where plus(w1, t.b) > 0
select case when greatest(2.5, 2.5) > 1 then (1 + b) else if(tup.x > b, a, tup.x) end from t order by b not in (3)
select case when if(default.t.a > t.a, n, tup.x) > 1 then tup.x else if(toYear(d) > b, 2, 2) end from t order by toYear(d) limit 1 by b
select case when if(length(c) > 300, 2, 1) > 1 then least(2, f) else t.b end, (tup.x between 1 and t.a - 300) from t order by n in (1) desc limit 10
select case when toYear(d) / default.t.a > 1 then n else (default.t.a > 300) end, ifNull(coalesce(300, f), (a > 1 and 300 < 2 or 300 = 3)) from t where t.b > 0 order by not(toYear(d))
select coalesce(2, 1) as a from t where (a, b) in ((1, 2)) > 0 group by coalesce(2, 1) having uniq(2 * 2) > 1
select coalesce(n, least(t.b, toYear(d))) as b, if(toYear(d) > t.b, toYear(d), toYear(d)) - minus(b, 1) as y, length(c) from t limit 9
select count() + 1, min(b * default.t.a) as y from t
select count() as b, a + toYear(d), min(t.a) from t where (t.a > 1 and a < 2 or n = 3) > 0 group by a + toYear(d) order by 1
select count() from (select ((default.t.a + 300) + multiply(2, n)) as q, b::Float32 as w1 from t)
select count() from (select 2 as z, if(case when t.a > 1 then a else toYear(d) end > equals(2.5, t.b), 1, (default.t.a > 1 and default.t.a < 2 or default.t.a = 3)), default.t.a from t where n in (1) > 0 limit 2)
select count() from (select 2, toYear(d) from t)
select count() from (select a::Float32 as y, a in (1, 2) as a, sumIf(case when t.a > 1 then n else 2 end, a > 1) + count() as x, f from t where (b - t.a) > 0 group by a::Float32, a in (1, 2), f having sumIf(default.t.a + 1, a > 1) > 1 limit 8)
select count() from (select any((n between 1 and a)) as b, max(a in (1, 2)) as a, case when 2.5 > 1 then 1 else 300 end as x from t group by x limit 1 by 1)
select count() from (select c in ('x', 'y') from t where (tup.x + b) > 0 group by c in ('x', 'y'))
select count() from (select count(), b from t where if(toYear(d) > 1, length(c), tup.x) > 0 group by b)
select count() from (select default.t.a as y, (2.5 + t.a) as z, groupArray(t.a), avg(n) from t where coalesce(1, b) > 0 group by y, (2.5 + t.a) limit 8)
select count() from (select distinct n / 2.5 as a from t)
select count() from (select if((n between 1 and default.t.a) > 2, coalesce(n, default.t.a), case when t.a > 1 then f else t.b end) as b, case when toYear(d) / n > 1 then (f between 1 and tup.x) else b::Int64 end as a from t where equals(a, 2) > 0)
select count() from (select max(t.a) as w1, sumIf(assumeNotNull(b), a > 1) as a, (toYear(d) > 1 and 2.5 < 2 and n = 3) from t group by (toYear(d) > 1 and 2.5 < 2 and n = 3))
select count() from (select minus(300, 1) as y, groupArray(if(tup.x > 2, f, 2)) + count() from t group by minus(300, 1) having sum((a > 1 or 2 < 2 and 2 = 3)) > 1)
select count() from (select toUInt8(b::Int64), ((tup.x between 1 and a) + (2 between 1 and 300)) as q from t where (q > 1 and 2.5 < 2 and t.a = 3) > 0 order by (t.b between 1 and length(c)) desc)
select count() from (with (a - 2.5) as a select (default.t.a between 1 and t.a), sum((default.t.a > b)) + 1 from t where multiply(length(c), 300) > 0 group by (default.t.a between 1 and t.a) limit 2)
select count() from (with (tup.x > 1 or t.b < 2 and tup.x = 3) as w1 select equals(tup.x, (toYear(d) - default.t.a)), (a in (select a from u) - -(w1)) as z from t order by tup.x desc)
select count() from (with c in ('x', 'y') as a select toNullable(case when 1 > 1 then 2.5 else t.b end) from t where a > 0)
select count() from (with greatest(300, default.t.a) as b select distinct length(c), (n::UInt8 = equals(toYear(d), b)) as q, q from t order by f limit 4)
select count() from (with if(t.a > length(c), f, default.t.a) as x select case when (2 * toYear(d)) > 1 then (x >= tup.x) else length(c) end as a from t where least(b, f) > 0)
select count() from (with n as a select (default.t.a < tup.x) as z, 300 from t group by 1, 2 order by 1 desc)
select count() from (with n as x select 2 - f from t group by 2 - f)
select count(), tup.x from t group by tup.x having min((300 between 1 and 2)) > 1 order by uniqExact(c in ('x', 'y'))
select countIf(a = 1) + count(), b::Float32, if(f > length(c), 2.5, default.t.a), uniq(1) as q from t where n + t.b > 0 group by b::Float32, if(f > length(c), 2.5, default.t.a) having sumIf((select max(k) from u), a > 1) > 1 limit 9
select countIf(a = 1), max(ifNull(2, f)) + max(a), any((2 + default.t.a)) from t order by min((toYear(d) > 1 or a < 2 and toYear(d) = 3)) desc
select countIf(a = 1), negate(n) as a from t where abs(2) > 0 group by a order by groupArray(f) limit 0
select countIf(b > 2) + max(a), groupArray(greatest(toYear(d), default.t.a)) + max(a), avg(2), uniqExact(length(c) - a) from t
select default.t.a as b, 1 as w1 from t
select default.t.a as y from t where 2 / y > 0 order by t.b - 300 limit 0
select default.t.a, (length(c) = a - 1), case when b > 1 then 300 else coalesce(a, 300) end from t order by (b > 1 and tup.x < 2 or default.t.a = 3) desc limit 1 by toYear(d)
select default.t.a, case when n > 1 then t.a else 1 end as b, any(-(2)) + max(a), b::Int64 as q from t where toUInt8(toYear(d)) > 0 group by default.t.a, b, q
select distinct ((b between 1 and 2.5) <= (a > 1 or t.a < 2 and length(c) = 3)), f, a, ((n between 1 and default.t.a) between 1 and (t.a between 1 and a)) from t
select distinct ((t.b < t.a) > 1 or t.a < 2 and 1 = 3), length(c), 1, b as y from t where case when length(c) > 1 then b else 2 end > 0
select distinct (2 between 1 and (select max(k) from u)), f as q, (t.a > tup.x) - case when default.t.a > 1 then n else t.a end from t
select distinct (300 * 300) / case when tup.x > 1 then toYear(d) else a end, b::UInt8 as a, b::Int64 as z, case when a * a > 1 then (1 between 1 and 2.5) else z end from t order by b::UInt8
select distinct (f * toYear(d) > 1 or (300 > 1 and t.b < 2 or 2.5 = 3) < 2 and t.a + toYear(d) = 3), 300 from t where -(1) > 0 order by 1 desc
select distinct (n in (1) > 1 and (n > t.a) < 2 or (toYear(d) between 1 and n) = 3), n from t limit 9
select distinct 1 as q, (select count() from u where a = 1) as y, negate(toYear(d)) as z from t order by a desc
select distinct a + if(length(c) > 300, f, default.t.a), (case when length(c) > 1 then 1 else 1 end >= toYear(d)) as a, toNullable(b::Float32) as y from t
select distinct a in (1, 2) as z, toYear(d), not((select 1)) as y, y as w1 from t
select distinct avg((t.b > 1 and 2.5 < 2 or length(c) = 3)) from t
select distinct case when t.a > 1 then minus(tup.x, a) else b end as q, n * plus(2, b) from t where a in (1, 2) > 0
select distinct count(n::Float32) + 1 as q from t where b not in (3) > 0 having min(300) > 1
select distinct f as a, count(), length(c) - 2.5 from t group by a, length(c) - 2.5 having uniq(a in (1, 2)) > 1
select distinct greatest(300, toYear(d)) from t where a in (select a from u) > 0 group by greatest(300, toYear(d)) limit 5
select distinct if(2.5 > t.a, 2.5, 2) from t group by if(2.5 > t.a, 2.5, 2) having sum(a in (select a from u)) > 1 limit 3
select distinct if(toInt32(2) > tup.x, a, case when toYear(d) > 1 then toYear(d) else f end) from t
select distinct n in (1) from t where (length(c) > f) > 0 limit 1 by n
select distinct n, isNull((2 > 1 or 2.5 < 2 and t.a = 3)) from t where n in (1) > 0 limit 3
select distinct n::UInt8, default.t.a as b, coalesce(greatest(toYear(d), 2), default.t.a - toYear(d)) as q from t order by (select count() from u where a = 1)
select distinct n::UInt8, uniq(case when n > 1 then 2 else 2.5 end) + max(a), if(t.a > f, a, f) as y from t group by n::UInt8, y having avg(not(300)) > 1
select distinct t.a as b, not(a::UInt8) from t where t.b > 0 limit 8
select distinct toUInt8(negate(tup.x)) from t where default.t.a > 0 order by 1 desc
select equals((2 > 1 or 300 < 2 or 300 = 3), t.a), (case when a > 1 then t.a else f end >= tup.x), 1, case when ifNull(n, 1) > 1 then t.b else (toYear(d) + tup.x) end from t where (a, b) in ((1, 2)) > 0 limit 1 by 300 limit 8
select f * f from t group by f * f having countIf(a = 1) > 1
select f as q, (toFloat64(b) <= n::Float32) as w1 from t where toUInt8(t.a) > 0 limit 4
select f, (n - t.b between 1 and coalesce(f, t.b)), f from t
select f, a - toYear(d) as y from t order by b not in (3) desc limit 3
select f, case when b > 1 then t.a else a end as y, count((n > 1 or t.b < 2 and 1 = 3)) as b from t where -(1) > 0 group by f, y order by 1 desc limit 0
select greatest((1 between 1 and 1), (a < n)) as x, a from t
select greatest(tup.x, (1 between 1 and t.b)) from t order by b not in (3) limit 1 by 2
select groupArray((b > 1 and f < 2 or 1 = 3)) as y, uniqExact(a in (select a from u)), groupArray(tup.x), min((a >= f)) + 1 from t where a > 0
select groupArray((select max(k) from u)), case when 300 > 1 then b else 300 end, countIf(a = 1) as w1, 2.5 from t group by case when 300 > 1 then b else 300 end, 2.5
select groupArray((toYear(d) > 1 or toYear(d) < 2 and t.a = 3)) as b, max(if(f > n, 2, 2)) as q from t where length(c) > 0 order by uniqExact(default.t.a)
select groupArray(equals(toYear(d), t.b)), count(a::UInt8), case when n > 1 then t.b else a end as q from t group by case when n > 1 then t.b else a end
select groupArray(if(length(c) > b, 2, 300)) + count(), count(f) as a, count() as w1 from t where (t.b > 1 or t.a < 2 and 2 = 3) > 0 limit 10
select groupArray(t.b) + count(), n::Float32, max(n::Int64) from t group by n::Float32 order by sumIf((t.a < length(c)), a > 1) desc
select if(1 > length(c), length(c), 1), count() + 1 as w1, t.b from t where default.t.a > 0 group by if(1 > length(c), length(c), 1), t.b having avg(2.5) > 1 order by 1 desc limit 9
select if(2 > 2, t.b, n) from t group by if(2 > 2, t.b, n) having max(if(length(c) > 2, n, a)) > 1
select if(case when default.t.a > 1 then 2 else f end > case when b > 1 then 2 else b end, case when t.a > 1 then 300 else tup.x end, if(default.t.a > 2.5, default.t.a, t.a)) as q from t where 1 > 0
select if(default.t.a > 2.5, b, 300) from t where (select count() from u where a = 1) > 0 group by if(default.t.a > 2.5, b, 300) order by uniqExact(if(2.5 > 2, a, a))
select if(default.t.a > n, toYear(d), 2.5) as q, (t.a <= 2) as w1 from t group by q, w1 order by count(300 - b) desc
select if(if(length(c) > n, 300, default.t.a) > (1 + 2), (a, b) in ((1, 2)), a::Nullable(Int32)) as y, (1 between 1 and (2 + default.t.a)) as z, (select 1), 300 as b from t where tup.x > 0 limit 10
select if(negate(t.b) > a::Int64, toYear(d) - 2, if(b > t.a, toYear(d), n)) from t where n > 0 order by toFloat64(f)
select if(t.a > n, 300, 1), tup.x * a as q, avg(case when 2 > 1 then 2.5 else tup.x end) from t where if(a > 300, 1, t.a) > 0 group by if(t.a > n, 300, 1), tup.x * a limit 1 by 1
select if(t.a > t.a, 2.5, 2.5), count() from t group by if(t.a > t.a, 2.5, 2.5) order by countIf(b > 2)
select if(t.b > t.b, 2, f), (n * n) as a, uniq(if(default.t.a > 300, 300, b)) + count() as q from t where tup.x > 0 group by if(t.b > t.b, 2, f), a limit 9
select ifNull((2.5 >= toYear(d)), length(c)), 300 * 300 / n as y, (if(2 > n, toYear(d), length(c)) <= 2.5 * 2) as x, b as z from t
select isNull((length(c) > 1 or 300 < 2 and b = 3)) as q from t
select isNull((toYear(d) > 1 or length(c) < 2 and t.a = 3)), (2.5 * f) as q from t where q > 0
select length(c) * tup.x, (t.b - 1), a::UInt8 from t where (a between 1 and n) > 0 group by length(c) * tup.x, (t.b - 1), a::UInt8
select length(c) as x, length(c), any(1), uniq(if(a > tup.x, tup.x, a)) as q from t group by length(c), length(c)
select length(c) as y from t where (select count() from u where a = 1) > 0
select max((a, b) in ((1, 2))), countIf(b > 2), any((300 > 1 and length(c) < 2 and b = 3)) as q, (toYear(d) = 1) from t group by (toYear(d) = 1) order by sumIf(c in ('x', 'y'), a > 1) desc
select max((default.t.a + length(c))) + 1 as a from t order by 1 desc
select max((f + a)), uniqExact((a, b) in ((1, 2))), toYear(d) from t group by toYear(d)
select max((n > 1 or n < 2 or 2 = 3)), sumIf(n, a > 1) + count() from t having countIf(b > 2) > 1
select max((t.a != default.t.a)) from t where equals(2.5, length(c)) > 0 having any(case when f > 1 then a else 300 end) > 1
select max(2.5), (default.t.a != length(c)), count() from t group by 2
select max(a in (1, 2)) as b, sumIf((n * 300), a > 1) as q from t order by min(2.5)
select max(t.a) + 1 as q, (t.a between 1 and t.a) as w1, groupArray(-(f)) from t group by (t.a between 1 and t.a)
select min((2 between 1 and 1)) + 1, a from t group by a
select min((2.5 * a)) + max(a) from t
select min(1) as x, 2.5 as a, (t.b between 1 and tup.x) as w1, any(coalesce(2, 2)) + count() from t where a in (select a from u) > 0 group by a, w1
select min(300) + max(a) as b, length(c) as y from t where case when 1 > 1 then 1 else t.a end > 0 group by y order by count((length(c) = t.a)) desc limit 5
select min(c in ('x', 'y')), (1 > 1 and t.b < 2 and 2.5 = 3), uniqExact((length(c) < t.a)) from t where 2.5 > 0 group by (1 > 1 and t.b < 2 and 2.5 = 3) order by 1
select min(least(toYear(d), n)) as b, (toYear(d) = default.t.a) from t group by (toYear(d) = default.t.a)
select min(n::Int64) as w1, countIf(a = 1) as b, if(300 > tup.x, t.a, f) from t group by 3
select minus(b::Float32, b::Int64) as x from t where 2 > 0 limit 4
select minus(toFloat64(f), (300 > 1 or default.t.a < 2 and b = 3)), length(c), bitNot(a::Nullable(Int32)) from t where (a > 1 and t.a < 2 or t.a = 3) > 0
select multiply((select 1), if(b > a, default.t.a, 300)) from t where 2 > 0
select n + n + (tup.x * 2.5), t.b, plus(300, (select count() from u where a = 1)) as x from t
select n / length(c) from t where (1 * f) > 0 group by n / length(c) limit 1 by 1
select n as b, groupArray(b not in (3)) from t where (length(c) - t.a) > 0 group by n
select n as y, count(), sum((toYear(d) between 1 and b)) + count(), max((300 - length(c))) from t where toUInt8(toYear(d)) > 0 group by y limit 1 by 1
select n in (1) as q from t where -(tup.x) > 0
select n in (1) as y from t
select n in (1) from t group by n in (1) having avg(equals(n, t.b)) > 1
select n, ((t.b + b) between 1 and n::Nullable(Int32)), -(n::UInt8), n in (1) as q from t limit 3
select n, (a >= 2.5), if(1 > toYear(d), t.b, t.a) as q, sum((300 > 2.5)) from t group by n, (a >= 2.5), q
select n, toYear(d) as z from t where z > 0
select n::Float32 as q, a::Int64, ((tup.x > 1 and 2.5 < 2 and n = 3) * 1) from t
select n::Float32 as w1, toFloat64((300 between 1 and t.a)), if(f > toFloat64(w1), (1 between 1 and toYear(d)), toUInt8(2.5)), case when least(w1, t.b) > 1 then (a, b) in ((1, 2)) else 300 end from t
select n::Float32 as w1, uniqExact(if(2 > tup.x, 1, tup.x)) + count(), count(if(f > length(c), toYear(d), b)) from t group by w1 having uniqExact((2.5 > 1 and 300 < 2 or f = 3)) > 1
select n::Float32 from t
select n::Int64 - a + n, t.a * (n <= default.t.a) as q, 2.5, assumeNotNull(t.a) from t where a in (select a from u) > 0
select n::Nullable(Int32) from t
select n::UInt8 as x, (f + length(c)) - (x > 1 or 2 < 2 and 2.5 = 3) as y, b / 2.5, -(default.t.a) / (x > 1 or t.a < 2 and x = 3) from t
select negate(1) + (toYear(d) * f) as b from t
select plus(2, toYear(d)) as q from t group by plus(2, toYear(d)) having uniqExact((select 1)) > 1
select plus(2.5, default.t.a) as z, a in (select a from u) from t where a::Int64 > 0 group by 2 having any((a between 1 and f)) > 1
select sub.* from (select (-(1) > 1 and b not in (3) < 2 and f = 3) from t) as sub
select sub.* from (select (a > 1 and tup.x < 2 or 2 = 3), count() from t where a in (1, 2) > 0 group by (a > 1 and tup.x < 2 or 2 = 3)) as sub
select sub.* from (select 2.5 from t where (f between 1 and a) > 0 order by 300 desc limit 1 by default.t.a) as sub
select sub.* from (select b, tup.x from t where tup.x > 0) as sub
select sub.* from (select b::Float32, (300 - a), count(f * tup.x) + count() from t where a::Float32 > 0 group by b::Float32, (300 - a)) as sub
select sub.* from (select c in ('x', 'y') as z, n, if(f > default.t.a, 2.5, toYear(d)) as y, (default.t.a + 1) from t where t.a > 0 group by 1, 2, 4 having groupArray((tup.x > 1 and 2.5 < 2 or n = 3)) > 1) as sub
select sub.* from (select case when length(c) > 1 then (t.a > 1 or length(c) < 2 and t.b = 3) else if(1 > 2, default.t.a, n) end from t order by if(300 > f, n, 300) limit 1 by 2.5) as sub
select sub.* from (select count((f between 1 and t.a)), avg(2.5) as x, min((1 < t.a)) from t where 2.5 > 0) as sub
select sub.* from (select count() as y, t.b from t where if(tup.x > 1, n, 2.5) > 0 group by t.b) as sub
select sub.* from (select countIf(a = 1) + 1 from t having avg((t.b between 1 and b)) > 1 limit 1 by 1 limit 1) as sub
select sub.* from (select default.t.a, avg((f - t.a)), (a, b) in ((1, 2)), a from t where n > 0 group by default.t.a, (a, b) in ((1, 2)), a) as sub
select sub.* from (select distinct (greatest(b, 300) > n::Nullable(Int32)) from t limit 6) as sub
select sub.* from (select distinct count() from t) as sub
select sub.* from (select groupArray((n - 2.5)) + 1, toNullable(t.b), equals(toYear(d), default.t.a), any(n::UInt8) + max(a) as y from t group by 2, 3) as sub
select sub.* from (select if(f - b > toNullable(1), (1 between 1 and length(c)), (t.b - length(c))) as z from t order by a::Float32 desc) as sub
select sub.* from (select if(not(2.5) > assumeNotNull(b), if(300 > 2, f, 300), toInt32(300)) as w1 from t limit 1 by tup.x) as sub
select sub.* from (select max(if(b > t.a, t.b, 2)) as y, ifNull(toYear(d), toYear(d)), sumIf(t.b, a > 1) from t group by ifNull(toYear(d), toYear(d))) as sub
select sub.* from (select max(t.b) from t limit 5) as sub
select sub.* from (select sumIf(ifNull(300, t.a), a > 1), case when a > 1 then length(c) else tup.x end, any(1) + count() from t group by case when a > 1 then length(c) else tup.x end) as sub
select sub.* from (select tup.x, -(t.b) * a::Float32 as a, t.b, a::Int64 as b from t limit 10) as sub
select sub.* from (select uniq(toYear(d)) + 1, min(a), a as b, (a > 1 and default.t.a < 2 and t.a = 3) as q from t group by a, (a > 1 and default.t.a < 2 and t.a = 3) order by sumIf(2, a > 1) desc) as sub
select sub.* from (select uniqExact(plus(2.5, 300)), uniqExact((1 = 1)) + 1 as x, max((tup.x != b)) from t where (a + 300) > 0 having any((n < n)) > 1 order by sum(case when t.a > 1 then t.b else a end) desc) as sub
select sub.* from (with (2.5 between 1 and a) as b select tup.x as w1, avg(bitNot(length(c))) + count() as x from t group by tup.x) as sub
select sub.* from (with (f = f) as b select (select max(k) from u), ((n + b) > 1 and t.b < 2 and toYear(d) = 3) as x from t where toYear(d) > 0 limit 10) as sub
select sub.* from (with (select max(k) from u) as a select sumIf(default.t.a, a > 1) + 1 from t where case when 300 > 1 then t.b else default.t.a end > 0 having count() > 1 order by 1) as sub
select sub.* from (with (tup.x - n) as a select uniqExact(300) as w1, countIf(a = 1), uniqExact((b > 1 and n < 2 and b = 3)), length(c) / length(c) as x from t where (default.t.a > 1 or a < 2 or t.a = 3) > 0 group by length(c) / length(c) order by 1) as sub
select sub.* from (with equals(t.b, 2.5) as b select 2, sumIf(case when 300 > 1 then f else t.b end, a > 1) as y from t group by 2) as sub
select sub.* from (with t.a as a select distinct case when t.b > 1 then a else toYear(d) end from t group by case when t.b > 1 then a else toYear(d) end having uniq(n) > 1) as sub
select sum((a > 1 and length(c) < 2 or t.a = 3)), (1 > 1 or f < 2 or default.t.a = 3) from t group by (1 > 1 or f < 2 or default.t.a = 3)
select sum(equals(t.a, 300)) + max(a), t.a as y, count(), count(least(2, 1)) + count() from t where case when n > 1 then 1 else t.b end > 0 group by y order by 1
select sum(f) from t order by count(if(n > t.b, t.b, b)) limit 1 by 1
select sum(t.b) + max(a), ifNull(f, 1) as y, count(), count() as w1 from t where (t.a between 1 and 2) > 0 group by ifNull(f, 1)
select sumIf(300, a > 1) + max(a) from t where minus(b, t.a) > 0
select sumIf(plus(toYear(d), 1), a > 1), count() from t order by 1
select t.a as q, toFloat64((n > 1 and n < 2 or 300 = 3)), default.t.a from t where (2.5 + t.a) > 0
select t.a, (f > 1 or t.b < 2 and tup.x = 3), sumIf(case when n > 1 then tup.x else t.b end, a > 1) + 1, sumIf(t.b, a > 1) from t group by t.a, (f > 1 or t.b < 2 and tup.x = 3)
select t.a, max((2.5 > 1 or toYear(d) < 2 or n = 3)) + max(a), (a + toYear(d)) as q from t group by t.a, (a + toYear(d)) having avg(minus(b, 2.5)) > 1 order by 1
select t.b, (300 + 1 between 1 and (a > 1 and tup.x < 2 and f = 3)) from t
select toFloat64((default.t.a <= n)) as y, n in (1), default.t.a as q from t limit 9
select toNullable(case when 2.5 > 1 then b else f end) from t
select toUInt8(toYear(d)), 2.5, tup.x, n + t.a as b from t where (toYear(d) > 1 or b < 2 and b = 3) > 0 group by toUInt8(toYear(d)), 2.5, tup.x, b
select toUInt8(toYear(d)), if(if(2.5 > b, toYear(d), 2) > n, (1 <= 2), tup.x), if(greatest(f, default.t.a) > (t.b between 1 and default.t.a), n in (1), (length(c) = t.a)) as x, toFloat64((select max(k) from u)) from t order by greatest(tup.x, length(c))
select toYear(d) as w1 from t group by toYear(d)
select toYear(d) as w1, 300 from t
select toYear(d) as w1, count(toYear(d)) + 1, if(tup.x > f, 2, 2) from t where length(c) > 0 group by toYear(d), if(tup.x > f, 2, 2) order by sum(if(b > 300, default.t.a, n)) desc
select toYear(d) as w1, greatest(default.t.a, f) + (tup.x > 1 and 2.5 < 2 or w1 = 3) from t where (n >= 2) > 0 order by (t.b > 300) limit 1
select toYear(d) as y, (select max(k) from u), f from t order by y limit 10
select toYear(d), (select 1) from t where n::Int64 > 0 order by (a * 2.5) desc limit 10
select tup.x as q, b::Nullable(Int32), sum((default.t.a > 1 and 2 < 2 or t.a = 3)) as b, (2.5 > 1 and n < 2 and default.t.a = 3) from t group by tup.x, b::Nullable(Int32), (2.5 > 1 and n < 2 and default.t.a = 3)
select tup.x from t where 1 > 0 group by tup.x order by uniqExact(t.b) desc
select uniq((length(c) * t.a)) + 1 as z from t
select uniq((length(c) = 1)), count() + max(a) as a, default.t.a, uniq((tup.x > 1 or 2 < 2 or t.b = 3)) from t group by default.t.a
select uniq(bitNot(a)) as a, (select max(k) from u) as q from t group by 2 limit 8
select uniq(default.t.a), avg((length(c) * 2)) as w1, max(length(c)) as q from t
select uniqExact((2.5 between 1 and f)), groupArray(n::Float32) + count() as z from t order by uniqExact((300 > 1 or default.t.a < 2 or t.b = 3)) desc
select uniqExact((t.a between 1 and b)), groupArray(2.5) + 1, (300 between 1 and t.b) from t group by (300 between 1 and t.b) limit 10
select uniqExact(b) as b, sum(n::Float32) + max(a) as w1, c in ('x', 'y'), if(1 > toYear(d), t.a, f) as q from t group by c in ('x', 'y'), if(1 > toYear(d), t.a, f)
with (2.5 >= f) as b select default.t.a - tup.x, length(c) from t where b::UInt8 > 0 group by default.t.a - tup.x, length(c)
with (default.t.a > 1 or t.b < 2 or f = 3) as x select 2 as y from t
with (f > 1 or tup.x < 2 and t.a = 3) as a select distinct ((b - 2) > 1 and (2.5 + a) < 2 or f + a = 3), ((n between 1 and tup.x) * toFloat64(2)) from t
with (length(c) > 1 and 2 < 2 and 300 = 3) as y select tup.x from t where (300 between 1 and b) > 0 order by (2 between 1 and y)
with (length(c) > 1 or t.a < 2 and f = 3) as x select avg(2.5), abs(length(c)) from t where case when t.b > 1 then tup.x else default.t.a end > 0 group by abs(length(c))
with (length(c) between 1 and length(c)) as a select b::Nullable(Int32) as x, plus(300, default.t.a) as y from t group by 2
with (select 1) as b select t.b as y, case when (f between 1 and 1) > 1 then b::Float32 else (toYear(d) + toYear(d)) end as x, n::Int64 as w1 from t where not(y) > 0 order by if(t.b > 2.5, a, t.a)
with (toYear(d) between 1 and toYear(d)) as z select uniqExact(300), avg((t.b > 1 and 2 < 2 or t.b = 3)) from t having uniq((1 > 1 or f < 2 and 2.5 = 3)) > 1 order by max(a) limit 1 by 1
with (tup.x between 1 and 2.5) as q select uniqExact(case when 300 > 1 then tup.x else toYear(d) end) + 1, (2 = 2.5), t.a as b, uniqExact(toFloat64(f)) as y from t group by (2 = 2.5), t.a
with -(2.5) as a select min(f / toYear(d)), min(toNullable(t.b)) from t where n::Nullable(Int32) > 0 order by count() desc
with 1 as b select (1 > tup.x) from t group by (1 > tup.x)
with 1 as x select if(t.a > b, 2.5, t.b) from t group by 1 having groupArray(case when f > 1 then toYear(d) else a end) > 1
with 2 * t.b as y select b, (select 1) as a from t limit 2
with 2 * toYear(d) as x select t.a from t group by t.a order by 1 desc
with 2 as a select distinct b::Int64 as z from t order by default.t.a desc
with 2.5 as x select (multiply(toYear(d), default.t.a) > 1 and (1 > 1 or length(c) < 2 and default.t.a = 3) < 2 or (t.a between 1 and t.a) = 3) as b, not(isNull(b)) as w1 from t
with 300 + f as b select distinct (select count() from u where a = 1) from t
with 300 as w1 select (case when default.t.a > 1 then default.t.a else f end * bitNot(default.t.a)) as y, default.t.a, a in (1, 2) as z from t
with 300 as x select x, (300 - length(c)) / (toYear(d) between 1 and x) as q from t
with a in (1, 2) as x select a::UInt8 as b from t
with a in (1, 2) as z select distinct uniqExact(2.5 / 2), groupArray(bitNot(2)) + count() from t having count() > 1 order by 1 desc
with a::Float32 as b select (tup.x between 1 and n), a, n from t where case when a > 1 then t.a else length(c) end > 0 group by (tup.x between 1 and n), a, n order by sum(case when toYear(d) > 1 then 2.5 else b end)
with b as q select avg(isNull(t.b)) + count(), any((t.a * length(c))), uniq(300) as w1 from t limit 8
with b as w1 select any(default.t.a) from t having uniqExact(toUInt8(b)) > 1 order by 1 desc
with b not in (3) as y select minus(case when default.t.a > 1 then tup.x else t.b end, 300) as q, (toNullable(y) + 2.5) as a, toYear(d) as z from t
with b::Int64 as y select length(c) from t where not(length(c)) > 0 order by default.t.a
with b::UInt8 as b select 300, sumIf((t.b - 300), a > 1) + max(a), any(2) as w1 from t group by 300
with default.t.a * t.a as w1 select sum((t.a > 1 and length(c) < 2 or t.b = 3)), avg((t.a between 1 and b)) as x, any(f) + max(a) as z from t having uniqExact(case when tup.x > 1 then t.b else toYear(d) end) > 1 order by 1 limit 3
with equals(f, tup.x) as a select ((a between 1 and t.b) > 1 or case when n > 1 then a else n end < 2 and if(1 > t.a, 2, tup.x) = 3) from t order by (default.t.a between 1 and a)
with equals(toYear(d), tup.x) as a select 300 from t order by n / a
with greatest(2, 2.5) as w1 select b::UInt8 as a, (a::UInt8 > 1 or 2 < 2 or t.a = 3), (t.a between 1 and not(2.5)), (equals(a, a) > a) from t
with if(1 > 2.5, 1, a) as b select (select max(k) from u) from t where b::UInt8 > 0
with if(1 > b, 2, length(c)) as b select t.b as w1, c in ('x', 'y') as a from t where minus(b, b) > 0 order by tup.x * 2.5 limit 7
with if(1 > b, toYear(d), t.b) as a select if(t.a > default.t.a, t.a, b) as b from t group by b having min(case when 300 > 1 then 2 else length(c) end) > 1 limit 3
with if(b > 1, f, n) as w1 select min(2) as z, (a = 1), sumIf(tup.x, a > 1), count() + 1 as y from t where (select 1) > 0 group by (a = 1) limit 5
with if(default.t.a > length(c), toYear(d), b) as z select if(300 > 2, default.t.a, 2.5), sum((1 - toYear(d))) as w1 from t group by if(300 > 2, default.t.a, 2.5) having any((1 between 1 and 300)) > 1 limit 9
with if(tup.x > default.t.a, t.b, 1) as q select greatest(b, (length(c) < length(c))) as y from t where (tup.x between 1 and 1) > 0
with least(toYear(d), default.t.a) as q select if(2 > 2.5, length(c), t.a), b::Int64 from t group by if(2 > 2.5, length(c), t.a), b::Int64
with length(c) - 300 as w1 select 1 + a in (select a from u), (ifNull(t.a, toYear(d)) - case when f > 1 then default.t.a else 2 end) from t limit 1 by a
with minus(f, length(c)) as a select min(default.t.a) from t having min(tup.x - 2.5) > 1
with multiply(toYear(d), default.t.a) as a select 300 as b, (c in ('x', 'y') + (b > 1 or b < 2 and f = 3)), toYear(d) from t where f / default.t.a > 0
with multiply(toYear(d), default.t.a) as b select (select 1) as q, coalesce(if(f > length(c), 2.5, 2), (n * f)), toYear(d) + a, if((length(c) between 1 and t.a) > (300 between 1 and f), 1, (b >= 2.5)) as z from t order by (t.b between 1 and 300) desc limit 5
with n as q select max(if(toYear(d) > 2.5, 1, f)) as z, sumIf(case when t.a > 1 then toYear(d) else t.b end, a > 1), f from t group by f having uniq((toYear(d) between 1 and b)) > 1 limit 2
with n as z select b not in (3) - (b + 1) from t
with n::Float32 as y select min((toYear(d) * 2.5)) + count() as z, any(default.t.a) as a, max(1 * f) from t where n::Nullable(Int32) > 0 having uniq((t.b between 1 and t.b)) > 1 order by 1 desc limit 10
with n::Int64 as z select ((z = f) * n::UInt8), c in ('x', 'y') as w1, bitNot(2.5 - 2.5) from t where (z + 2) > 0
with negate(n) as q select groupArray(assumeNotNull(n)) + count(), count() as x, tup.x / f as y, max((300 * f)) from t where (b - toYear(d)) > 0 group by y
with not(n) as w1 select c in ('x', 'y') as y, (tup.x - (tup.x > 1 or y < 2 or toYear(d) = 3)), (t.a > 1 or a::UInt8 < 2 and t.b * 2 = 3), ((t.b <= t.b) != w1) as a from t where w1 > 0 order by (300 < f) desc
with t.a as y select if(length(c) > 2, t.a, 1) from t group by if(length(c) > 2, t.a, 1) order by any(1) desc
with t.b * length(c) as q select distinct ifNull(tup.x, 1), negate(default.t.a), countIf(b > 2), groupArray(a) from t where (tup.x != a) > 0 group by ifNull(tup.x, 1), negate(default.t.a) having countIf(a = 1) > 1
with t.b as b select avg(2.5) from t having min(300) > 1 order by 1 limit 4
with toFloat64(a) as b select b, b::Int64 as z from t order by (2 - z)
with toFloat64(toYear(d)) as w1 select plus((select max(k) from u), (length(c) < b)) as x from t
with toInt32(n) as z select groupArray(a::Int64) + max(a), min(negate(length(c))) + count(), groupArray(toUInt8(t.a)), any(n::Nullable(Int32)) + 1 as b from t where c in ('x', 'y') > 0 having min((select 1)) > 1
with toUInt8(2) as b select t.b, (1 * length(c) > 1 or toYear(d) * n < 2 or (a <= t.a) = 3) as x, ((default.t.a between 1 and default.t.a) > 1 or (t.b > 1 or x < 2 or a = 3) < 2 or toYear(d) = 3) from t limit 1 by b
with toYear(d) as b select distinct (t.b between 1 and default.t.a), n, f as x, (length(c) <= b) as w1 from t where ifNull(2, 1) > 0 group by (t.b between 1 and default.t.a), n, x, w1 limit 4
with tup.x as a select distinct groupArray(2.5) from t having min((n > 2.5)) > 1 order by 1 desc
-- Lambdas: names, types, errors.
select arrayMap(x -> x + 1, arr) from t
select arrayMap(x -> x + a, arr), arrayFilter(x -> x > b, arr) as f, length(f) from t
select arrayMap((x, y) -> x * y, arr, arr) from t
select arrayMap(x -> arrayMap(y -> x + y + a, arr), arr) from t
select arrayMap(x -> tup.x, arr), arrayMap(x -> t.tup.y || toString(x), arr) from t
select arrayMap(x -> (x as z) + z, arr) from t
select arrayFold((acc, x) -> acc + x, arr, toUInt64(0)) from t
select arraySum(x -> n, arr) from t
select arrayMap(x -> n, arr), arraySort(x -> -x, arr), arrayFirst(x -> x > 1, arr), arrayFirstIndex(x -> x, arr::Array(UInt8)) from t
select arrayCount(x -> x in (1, 2), arr), arrayExists(x -> x in (select a from u), arr) from t
select groupArray(a) as g, arrayMap(x -> x + max(b), g) from t
select arrayMap(x -> x + a, arr) as m, count() from t group by m
select arrayMap(x -> x + b, arr) from t group by arr, a
select arrayMap(x -> lc, arr), arrayMap(x -> x, [lc]) from t
with x -> x + 1 as f select arrayMap(f, arr) from t
with (x, y) -> x + y as f select f(a, b) + 1 as r from t
code: with x -> x + 1 as f select f(a, b) from t
code: select arrayMap(x -> y, arr) from t
code: select arrayMap((x, y) -> x, arr) from t
code: select arrayMap(x -> x, a) from t
code: select arrayFilter(x -> c, arr) from t
code: select length(x -> x) from t
code: select arrayMap(arr) from t
code: select arrayMap(1, arr) from t
code: select arrayFold((acc, x) -> acc + x, arr, a) from t
code: select arrayMap(x -> arrayJoin([x]), arr) from t
-- Windows: names, types, errors.
select sum(a) over () from t
select row_number() over (partition by a % 2 order by b + 1 desc nulls first, c), rank() over w from t window w as (order by d)
select avg(b) over (w order by b rows 2 preceding) as m, m + 1 from t window w as (partition by c)
select sum(a) over (order by b range between 1 preceding and unbounded following) from t
select lag(n) over (order by a), lead(c, 2, 'x') over (order by a), lagInFrame(e) over (order by a), nth_value(f, 2) over (order by a) from t
select percent_rank() over (order by a), cume_dist() over (order by a), ntile(3) over (order by a), dense_rank() over (order by a) from t
select first_value(n) over (order by a), last_value(n) respect nulls over (order by a), count(*) over (), countIf(a > 1) over (order by a) from t
select a % 2 as k, sum(b) as s, sum(s) over (order by k), s / sum(s) over () as share from t group by k
select a from t qualify row_number() over (partition by b order by a) = 1
select sum(a) over (partition by b as p order by d), p from t
select t.a, quantile(0.9)(t.b) over (partition by t.c) from t
select nonNegativeDerivative(a, e) over (order by e) from t
code: select a from t where row_number() over () > 1
code: select a from t group by a having sum(a) over () > 1
code: select sum(row_number() over ()) from t
code: select sum(sum(a) over ()) over () from t
code: select sum(a) over nosuch from t
code: select sum(b) over () from t group by a
code: select row_number() from t
code: select plus(a, 1) over () from t
code: select sum(a) over (order by a rows between current row and 1 preceding) from t
code: select sum(a) over (order by a rows between -1 preceding and current row) from t
code: select sum(a) over (order by c range between 1 preceding and current row) from t
code: select lag(a) over (order by a rows between 1 preceding and current row) from t
code: select ntile(2) over () from t
