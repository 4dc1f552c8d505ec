//! What ClickHouse has and Squall does not yet says so, with ClickHouse's code.

use crate::support::World;
use squall_types::ErrorCode;

#[test]
fn what_is_missing_says_so() {
    let query = "SELECT sum(a) OVER (ORDER BY ALL) FROM t";
    let code = World::new().plan(query).map(|_| ErrorCode::OK).unwrap_or_else(|error| error.code);
    let refusals = [ErrorCode::NOT_IMPLEMENTED, ErrorCode::SUPPORT_IS_DISABLED, ErrorCode::UNKNOWN_FUNCTION];
    assert!(refusals.contains(&code), "{query}: {code:?}");
}
