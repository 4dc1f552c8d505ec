-- The tables of the Star Schema Benchmark (O'Neil, O'Neil and Chen, revision 3, 2009): one fact table, four dimensions. Money is in cents; days are
-- numbers like 19940213, the key of `date`.
CREATE TABLE lineorder
(
    lo_orderkey Int64,
    lo_linenumber Int32,
    lo_custkey Int32,
    lo_partkey Int32,
    lo_suppkey Int32,
    lo_orderdate Int32,
    lo_orderpriority String,
    lo_shippriority Int32,
    lo_quantity Int32,
    lo_extendedprice Int32,
    lo_ordtotalprice Int32,
    lo_discount Int32,
    lo_revenue Int32,
    lo_supplycost Int32,
    lo_tax Int32,
    lo_commitdate Int32,
    lo_shipmode String
)
ENGINE = MergeTree
ORDER BY (lo_orderdate, lo_orderkey, lo_linenumber);

CREATE TABLE customer
(
    c_custkey Int32,
    c_name String,
    c_address String,
    c_city String,
    c_nation String,
    c_region String,
    c_phone String,
    c_mktsegment String
)
ENGINE = MergeTree
ORDER BY c_custkey;

CREATE TABLE supplier
(
    s_suppkey Int32,
    s_name String,
    s_address String,
    s_city String,
    s_nation String,
    s_region String,
    s_phone String
)
ENGINE = MergeTree
ORDER BY s_suppkey;

CREATE TABLE part
(
    p_partkey Int32,
    p_name String,
    p_mfgr String,
    p_category String,
    p_brand1 String,
    p_color String,
    p_type String,
    p_size Int32,
    p_container String
)
ENGINE = MergeTree
ORDER BY p_partkey;

CREATE TABLE date
(
    d_datekey Int32,
    d_date Date,
    d_dayofweek Int32,
    d_month Int32,
    d_year Int32,
    d_yearmonthnum Int32,
    d_yearmonth String,
    d_daynuminmonth Int32,
    d_daynuminyear Int32,
    d_weeknuminyear Int32
)
ENGINE = MergeTree
ORDER BY d_datekey;
