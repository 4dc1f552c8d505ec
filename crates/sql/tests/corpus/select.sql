select (a), ((a)), (a+b), ((a+b)), (1), plus(a,b), a+(b), (a+b)*c, a+b*c, (a*b)+c, a-(b-c), (a-b)-c, a-b-c
select 'a\nb', 'a''b', 'a\\b', 'a\x41', x'4142', b'01000001', 'тест', '\0', '\q', $$a'b$$, $t$a$t$
select not a, not not a, not (a and b), not a = b, - a, -(-a), -(1), - 1, - - 1, +1, +a, -a.b, a.-1
select a and b and c, (a and b) and c, a and (b and c), a or b and c, (a or b) and c, a or b or c, and(a,b,c), or(a,b), not(a)
select a in (1,2), a not in (1,2), a in (1), a in (select 1), a in b, a global in (1), a global not in (1), in(a,b), (a,b) in ((1,2),(3,4)), a in (x,y), a in [1,2], a in ()
select a is null, a is not null, a is not distinct from b, a is distinct from b, a <=> b, a is true, a is not false, a is unknown, isNull(a), (a is null) is null, not a is null
select a between 1 and 2, a not between 1 and 2, a between b+1 and c and d
select case a when 1 then 2 else 3 end, case when a then 1 end, case a when 1 then 2 when 3 then 4 end, multiIf(a,1,2), a ? b : c, a ? b : c ? d : e, if(a,b,c)
select cast(a as UInt8), cast(a, 'UInt8'), a::UInt8, a::Array(Nullable(UInt8)), 1::UInt8, '1'::UInt8, [1,2]::Array(UInt8), -1::Int8, 1.5::Decimal(3,2), (1,2)::Tuple(a UInt8, b UInt8), a::UInt8::String, cast(1 as Decimal(1,0)), CAST(x AS Enum8('a'=1,'b'=-2)), a :: DateTime64(3,'UTC'), null::Nullable(UInt8)
select interval 1 day, interval '1 day', interval '1 day 2 hours', interval a month, interval (a+1) year, a + interval 1 second, 1 day, INTERVAL 1 QUARTER, INTERVAL '1' WEEK, interval -1 day
select x -> 1, (x) -> x, (x,y) -> x+y, () -> 1, arrayMap(x -> x+1, a), arrayMap((x,y) -> x and y, a, b), lambda(tuple(x), 1), x -> y -> 1
select t.1, t.1.2, a[1], a[1][2], a[-1], a.b.c, a[1].1, (1,2).1, (a,b).2, f(x).1, f(x)[1], tupleElement(t,1), arrayElement(a,1), tupleElement(t,'x'), f(x).y, a[1].x, [1,2][1], t.-1, (a+b)[1], (a).1, a.b.1
select extract(year from d), extract(d,'x'), extract(quarter from d), extract(epoch from d), date_add(day,1,x), date_add(x, interval 1 day), date_sub(day,1,x), dateadd(day,1,x), date_diff(day,a,b), datediff('day',a,b), timestamp_add(x, interval 1 day), timestampadd(day,1,x), timestampdiff(day,a,b), DATE_DIFF(hour, a, b)
select * , t.*, db.t.*, * except(a), * except a, * except(a,b) , * replace(a+1 as a), * apply(sum), * apply sum, columns('a'), t.columns('a'), columns(a,b), columns('a') except(b) apply(f), * except strict a, * apply(x -> x+1), * apply(quantile(0.5)), * except('a.*'), * replace(1 as a, 2 as b), * except(a) replace (1 as b) apply(f)
select {x:UInt8}, {x: Array(UInt8)}, {t:Identifier}, {a:String} as b from {t:Identifier}.{u:Identifier}
select @@version, @@global.max_threads, @@session.x
select grouping(a), array(), tuple(), map(), nested.a, `nested.a`, a.`b.c`, a.null, null.a, a.size0, a.:Int64, a.^b, json.a.b::Int64, a.b[].c, a.:`Array(JSON)`
select a, from t
select 1 as a, a where b
select distinct a, b from t
select distinct on (a) b from t
select all a from t
select top 5 a from t
select 1 from t as a final sample 1/10 offset 0.5
select 1 from t a join u b on a.x=b.x left any join v using x global any left join w using (x,y) cross join z, k paste join p inner join (select 1) as q on 1 asof join r on r.a=1 semi left join s on 1 full outer join f on 1 right anti join g on 1 natural join h
select 1 from (a join b on 1) join c on 1
select 1 from ((select 1))
select 1 from t array join a
select 1 from t left array join a as b, c join u on 1
select 1 array join [1,2] as x
select 1 from numbers(10) as n, system.one, url('x', settings a=1), `a b`.`c`, values('a UInt8', 1, 2), (values (1,2)) as v(a,b)
select 1 from t as a (x, y)
from t select 1
with a as (select 1) select 1 from a
with recursive a as (select 1 union all select 2) select * from a
with 1 as x, (select 1) as y, z as (select 1), w(a,b) as (select 1,2), k as materialized (select 1) select 1
with x -> x+1 as f select f(1)
select 1 prewhere a where b group by c having d order by e limit 1 offset 2
select 1 from t group by a, b with rollup
select 1 from t group by rollup(a, b)
select 1 from t group by cube(a, b) with totals
select 1 from t group by grouping sets ((a), (a,b), ())
select 1 from t group by all
select 1 from t group by a with cube with totals
select 1 from t with totals
select 1 from t order by all
select 1 from t order by all desc nulls first
select 1 from t order by a asc, b desc, c nulls first, d collate 'en', e with fill from 1 to 2 step 3 staleness 4, f desc nulls last collate 'x' with fill interpolate (a as b+1, c)
select 1 from t order by a with fill interpolate
select 1 from t limit 1
select 1 from t limit 1, 2
select 1 from t limit 1 offset 2
select 1 from t offset 2
select 1 from t offset 2 rows
select 1 from t order by 1 fetch next 3 rows with ties
select 1 from t limit 1 by a limit 2
select 1 from t limit 1 offset 3 by a, b
select 1 from t limit 2,1 by a
select 1 from t limit 1 by all
select 1 from t limit -1
select 1 from t limit 0.5
select 1 from t limit all
select 1 from t window w as (partition by a order by b desc rows between unbounded preceding and unbounded following), w2 as (w order by c range 5 preceding) 
select sum(a) over (w), sum(a) over (rows between 1 preceding and 2 following), sum(a) over (groups current row), sum(a) over (partition by a,b order by c), sum(a) over (order by a range between interval 1 day preceding and current row)
select 1 qualify a > 1
select 1 settings a=1, b='x', c=1.5, d=true, e={'a':1}, f=default, g.h=1, i=[1,2], j
select 1 format JSON
select 1 into outfile 'x' format JSON
select 1 into outfile 'x' append and stdout compression 'gzip' level 3 format JSON settings a=1
select 1 into outfile 'x' truncate
select 1 format JSON settings a=1
select 1 settings a=1 format JSON
select 1 union all select 2
select 1 union all select 2 union all select 3
select 1 union select 2
select 1 union distinct select 2 union all select 3
(select 1) union all (select 2)
(select 1 union all select 2) union all select 3
select 1 union all (select 2 union all select 3)
select 1 union all (select 2 union distinct select 3)
select 1 intersect select 2 except select 3
select 1 intersect all select 2
select 1 except distinct select 2
select 1 union all select 2 intersect select 3
(select 1 union all select 2) intersect select 3
(select 1)
((select 1))
select * from (select 1 union all select 2)
select 1 from (select 1) as x
select 1 order by 1 union all select 2 order by 1 limit 3 settings a=1 format JSON
(select 1 limit 1) union all (select 2 limit 1) format JSON
select 1;
explain select 1
explain plan header=1, actions=1 select 1
explain ast optimize=1 select 1
select * from (explain select 1)
select * from (explain plan header=1 select 1)
explain syntax run_query_tree_passes=1 select 1
explain query tree select 1
explain pipeline graph=1 select 1
explain estimate select 1
explain current transaction
explain table override mysql('a','b','c','d','e') partition by x
explain explain select 1
explain insert into t select 1
explain create table t (a UInt8) engine=Memory
select 1.0, 1., .5, 1e10, 1e100, 1e-7, 0.1
select 100000000000000000000
select 18446744073709551616
select -9223372036854775808, -9223372036854775809, 18446744073709551615
select 340282366920938463463374607431768211456
select 0x10, 0b11, 1_000
select inf, nan, -inf, NaN, Inf
select 0x1p3, 010, 0.0, -0.0, 00.5
select 0x1F, 0xAB_CD, 0b1_1, 1_0.5_0, 1e1_0
select true, false, null, TRUE, NULL, `a b`, `select`, `a``b`, "x y", `Distinct`, t.`a b`, `1a`, `тест`
select [1,2], [1,a], [], (1,), (), tuple(1), array(1,2), (1,a), [(1,2),(3,4)]
select map('a',1), [[1],[2]], ['a',1], [null], (null,1), [1,'a',(1,2)], [true], [-1], [1.5, 1], ((1,2),(3,4)), [1 as x], (1 as y, 2)
select a regexp 'b'
select match(a,'b'), like(a,b)
select case a when 1 then 2 else 3 end
select case when a then 1 end
select case a when 1 then 2 when 3 then 4 end
select multiIf(a,1,2), a ? b : c
select a ? b : c ? d : e
select if(a,b,c)
select x -> 1
select (x) -> x
select (x,y) -> x+y
select () -> 1
select arrayMap(x -> x+1, a), arrayMap((x,y) -> x and y, a, b), arrayMap(x -> (x,1), a), f((x) -> x)
select lambda(tuple(x), 1)
select x -> y -> 1
select count(*), count(), count(distinct a), count(distinct a,b), sum(distinct a)
select uniq(a) filter(where b > 1), count(*) filter (where b)
select quantile(0.5)(a), quantiles(0.1,0.2)(distinct a)
select row_number() over (order by a), first_value(a) ignore nulls over w, first_value(a) respect nulls
select sumIf(a,b) filter (where c)
select count(all a)
select COUNT(DISTINCT (a,b)), Sum(a), cOunt(1), CAST(1 as UInt8)
select trim(a)
select trim(both 'x' from a), trim(leading 'x' from a)
select ltrim(a), rtrim(a), trimLeft(a), ltrim(a,'x'), trim(a,'x')
select overlay(a placing b from 1 for 2)
select mid(a,1), position('a' in b), position(a,b), position(a,b,c), substring(a from 2), substring(a from 2 for 3), substring(a,1,2), substr(a,1)
select date '2020-01-01', timestamp '2020-01-01 00:00:00', DATE 'x', date(a), date, timestamp
select current_date, current_timestamp, current_user, localtimestamp, now
select CURRENT_DATE, CURRENT_TIMESTAMP, current_date(), today
select exists(select 1), exists (select 1), not exists(select 1), (select 1), (select 1 as x) as y
select all(a)
select a = any(select 1), a = any (select 1)
select a > all (select 1)
select a <> any (select 1)
select a <> all (select 1)
select a || b, a || b || c, concat(a,b), a % b, a mod b, a div b, a / b, a DIV 2, a == b, a <> b, a != b
select a <= b, a >= b, a = b, mod(a,b)
select a b, a as b, a as `b c`, (a as b)+1, f(a as b) as c, sum(x as y) z, 'a' as "b", 1 one
select a at time zone 'UTC'
select a.null, null.a
select (1,2,)
select if(a,b)
select format('a{}',1), left(a,1), right(a,1), replace(a,b,c)
select distinct(a)
select all
select any
select left
select interval
select first, last, trim, position, cast, extract, case, end, date_add
select left from t
select from
select from from t
select distinct a from t
select and
select in
select select
select 1 and not 2, not 1 in (2), not a between 1 and 2, a = not b, - a * b, -a[1], -a::Int8, not a::Int8, a in (1) = b, a = b = c, a < b < c, a or not b and c
select a * b / c % d, a || b + c, a + b || c, a = b and c <> d or e, a between b and c between d and e, a is null = b, a like b like c, a + interval 1 day * 2
select a.1.2.b, a.1e5, t.1.1, 1.1.1
select t.1_0
select a . b, a. b, t . *
select `a`.`b`, "a"."b"
select a.b(1), a.b.c(1)
select -1::UInt8, - 1::UInt8, -(1)::UInt8, 1::UInt8 + 1, (1)::UInt8, 'a'::String || 'b', [1,a]::Array(UInt8), (1,2)::String, 1.0::Decimal(3,2), 1e5::Float64, true::Bool, -1.5::Float32, x::x.y
select (a, b) -> 1, ((a, b)) 
select cast('1', 'UInt8'), CAST((1,2) as Tuple(UInt8,UInt8)), CAST(1, 'UInt8' || 'x'), cast(1 as UInt8) as x
select toIntervalDay(1), interval 1 day + 1, interval '1 day', interval '1' day, interval '-1 day', INTERVAL 1 DAYS, INTERVAL '1 year 2 month', interval (1) day, interval f(x) day, interval 1 sql_tsi_day, interval 1 d, interval 1 yy
select 1, x -> 1
select 1, f(x -> 1), f(1, x -> 1)
with 1 as a, x -> 1 as f select 1
select * apply (x -> x), * apply (x -> x)
select 1 from t group by 1, f(x -> 1) order by 1, x -> 1
select 1 except select 2
select 1 except select 2 except select 3
select 1 union all select 2 except select 3
select 1 except (select 2 union all select 3)
select ((1,2)), ((a,b)), ([1]), (((1))), ('a'), (null), ((select 1)), (f(x)), ((x) -> x)
select a in f(x), a in {p:Array(UInt8)}, a in (f(x)), a in tuple(1), a in 'x', a in (1 as b), a in null
select a from t where a in (1) and b in (c)
select (a as b), (a) as b, ((a as b) + 1), (a + 1 as c) * 2, f((a as b))
select t.1 as x, (t.1 as x).2, t.1.2.3, (a.1)[1], a[1].1.2, t.1 + 1, -t.1, f(t.1)
select -1, - 1, -(-1), -(1), - -1, 1 - -1, 1 - 1, a-1, a -1, -1 - -1, -a + -b, -(a + b)
select not 1, not (1), not not 1, not(a, b)
select 1 from t as a final sample 1/10 offset 1/2 array join b as c left any join u using (x) global inner join v on 1, w prewhere 1 where 2 group by a with totals having 3 qualify 1 order by 4 desc nulls first collate 'x' with fill from 1 to 2 step 3 interpolate (a as b) limit 1,2 by 3 limit 4,5 settings max_threads=1
select 1.0, 'a\'b', null, true, 1e100, -0.0, inf, [1.5,'a',null,true], ('a', 1), nan
select t.*, *, columns('a'), columns(a) except(b), * replace(1 as a) apply(f) apply(quantile(0.5)) apply(x->x), t.COLUMNS('x'), db.t.*, COLUMNS(a, b)
(select 1 union distinct select 2) union all select 3
(select 1 limit 1) union all select 2
select sum(a) over (order by b), sum(a) over w, first_value(x) ignore nulls over (partition by a order by b rows between 1 preceding and 2 following)
select * from t cross join u, v left join w on a = b paste join x
select * from t array join a, b as c
select * from (select 1) as x final
select 1 limit 3
select 1 offset 3
select 1 limit 1 by a
select 1 limit 1 offset 2 by a, b
select 1 limit 1 by all
select 1 group by all
select 1 order by all
select 1 group by a with rollup
select distinct a
with recursive x as (select 1) select * from x
with x(a, b) as (select 1, 2) select * from x
select f(x as y) as z, (select 1) as w, [1, 2] as v, a.b as c
select 1 where a between 1 and 2 and not b
select a in (select 1), exists(select 1), a = any(select 1)
select x -> 1, (x, y) -> x, () -> 1
select CAST(1 as UInt8), 1::UInt8, a::Array(UInt8)
select * from s3('x', settings a = 1)
select * from numbers(10) n
select * from view(select 1)
select 1 settings max_threads = 1
select {x:UInt8}
select 1 from t sample 0.1
select a from t order by a with fill interpolate
select a from t order by a with fill interpolate (a, b as c)
select count(distinct a), count(*), quantiles(0.5, 0.9)(x)
select case a when 1 then 2 end, a ? b : c, -a, not a, a.1, a[1], a || b
select interval 1 day, date '2020-01-01', extract(year from x), trim(both 'x' from y)
select `a b`.`c d`, "x"
select @@version
select 1 from t as a(x, y)
select 1 from {t:Identifier}
explain plan header = 1 select 1
explain ast select 1
