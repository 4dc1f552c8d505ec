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
