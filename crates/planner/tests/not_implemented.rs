//! What ClickHouse has and Squall does not yet says so, with ClickHouse's code.

mod support;

use squall_types::ErrorCode;
use support::World;

#[test]
fn what_is_missing_says_so() {
    for query in [
        "SELECT a FROM t GROUP BY a WITH ROLLUP",
        "SELECT a FROM t GROUP BY a WITH CUBE",
        "SELECT a, b FROM t GROUP BY GROUPING SETS ((a), (b))",
        "SELECT a FROM t INTERSECT SELECT a FROM u",
        "SELECT a FROM t EXCEPT SELECT a FROM u",
        "SELECT a FROM t ORDER BY a WITH FILL",
        "SELECT a FROM t ORDER BY c COLLATE 'en'",
        "SELECT a FROM t LIMIT -1",
        "SELECT sum(a) OVER (ORDER BY ALL) FROM t",
    ] {
        let code = World::new().plan(query).map(|_| ErrorCode::OK).unwrap_or_else(|error| error.code);
        let refusals = [ErrorCode::NOT_IMPLEMENTED, ErrorCode::SUPPORT_IS_DISABLED, ErrorCode::UNKNOWN_FUNCTION];
        assert!(refusals.contains(&code), "{query}: {code:?}");
    }
}
