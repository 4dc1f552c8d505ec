-- What fills the tables of ssb.sql, in their order, from TPC-H's tables at the same scale factor. A city is a nation's first nine letters and a digit; brands are
-- TPC-H's, forty to each, under SSB's names. There are more customers and suppliers than the paper has.
SELECT
    l_orderkey AS lo_orderkey,
    l_linenumber AS lo_linenumber,
    o_custkey AS lo_custkey,
    l_partkey AS lo_partkey,
    l_suppkey AS lo_suppkey,
    toInt32(toYYYYMMDD(o_orderdate)) AS lo_orderdate,
    o_orderpriority AS lo_orderpriority,
    o_shippriority AS lo_shippriority,
    toInt32(l_quantity) AS lo_quantity,
    toInt32(round(l_extendedprice * 100)) AS lo_extendedprice,
    toInt32(round(o_totalprice * 100)) AS lo_ordtotalprice,
    toInt32(round(l_discount * 100)) AS lo_discount,
    toInt32(intDiv(toInt64(lo_extendedprice) * (100 - lo_discount), 100)) AS lo_revenue,
    toInt32(intDiv(toInt64(round(p_retailprice * 100)) * 6, 10)) AS lo_supplycost,
    toInt32(round(l_tax * 100)) AS lo_tax,
    toInt32(toYYYYMMDD(l_commitdate)) AS lo_commitdate,
    l_shipmode AS lo_shipmode
FROM lineitem
INNER JOIN orders ON o_orderkey = l_orderkey
INNER JOIN part ON p_partkey = l_partkey;

SELECT
    c_custkey,
    c_name,
    c_address,
    concat(substring(concat(n_name, '         '), 1, 9), toString(c_custkey % 10)) AS c_city,
    n_name AS c_nation,
    r_name AS c_region,
    c_phone,
    c_mktsegment
FROM customer
INNER JOIN nation ON n_nationkey = c_nationkey
INNER JOIN region ON r_regionkey = n_regionkey;

SELECT
    s_suppkey,
    s_name,
    s_address,
    concat(substring(concat(n_name, '         '), 1, 9), toString(s_suppkey % 10)) AS s_city,
    n_name AS s_nation,
    r_name AS s_region,
    s_phone
FROM supplier
INNER JOIN nation ON n_nationkey = s_nationkey
INNER JOIN region ON r_regionkey = n_regionkey;

SELECT
    p_partkey,
    p_name,
    concat('MFGR#', substring(p_brand, 7, 1)) AS p_mfgr,
    concat('MFGR#', substring(p_brand, 7, 2)) AS p_category,
    concat('MFGR#', substring(p_brand, 7, 2), toString(p_partkey % 40 + 1)) AS p_brand1,
    splitByChar(' ', p_name)[1] AS p_color,
    p_type,
    p_size,
    p_container
FROM part;

SELECT
    toInt32(toYYYYMMDD(d_date)) AS d_datekey,
    toDate('1992-01-01') + number AS d_date,
    toInt32(toDayOfWeek(d_date)) AS d_dayofweek,
    toInt32(toMonth(d_date)) AS d_month,
    toInt32(toYear(d_date)) AS d_year,
    toInt32(toYYYYMM(d_date)) AS d_yearmonthnum,
    concat(substring('JanFebMarAprMayJunJulAugSepOctNovDec', d_month * 3 - 2, 3), toString(d_year)) AS d_yearmonth,
    toInt32(toDayOfMonth(d_date)) AS d_daynuminmonth,
    toInt32(toDayOfYear(d_date)) AS d_daynuminyear,
    toInt32(intDiv(d_daynuminyear - 1, 7) + 1) AS d_weeknuminyear
FROM numbers(2557);
