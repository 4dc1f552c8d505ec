//! What the query cache refuses. Squall keeps no results, but a query that asks for its result to be kept fails where ClickHouse does not
//! keep it: where it calls a function whose result is another each time, or reads a system table.

use std::collections::HashSet;
use std::sync::LazyLock;

use squall_functions::{all_functions, canonical_name};
use squall_sql::ast::{self, Expression, ExpressionKind, TableName};
use squall_types::{Error, ErrorCode, Result, Settings};

use crate::session::Session;
use crate::system;

/// The own names of functions whose result depends on more than their arguments.
static OF_MOMENT: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let functions = all_functions().into_iter();
    functions.filter(|function| function.deterministic == Some(false)).map(|function| function.name).collect()
});

/// Refuses a query that `use_query_cache` is set for and whose result would not be kept.
///
/// # Errors
/// `QUERY_CACHE_USED_WITH_NONDETERMINISTIC_FUNCTIONS`, `QUERY_CACHE_USED_WITH_SYSTEM_TABLE`.
pub(in crate::query) fn check(session: &Session, settings: &Settings, query: &ast::Query) -> Result<()> {
    if !settings.use_query_cache || !settings.enable_writes_to_query_cache {
        return Ok(());
    }
    let mut met = Met { session, function_of_moment: false, system_table: false };
    query.clone().walk(&mut met);
    let refusal = |code, what: &str, setting: &str| {
        let message = format!(
            "The query result was not cached because the query contains a {what}. Use setting `{setting} = 'save'` or `= 'ignore'` to \
             cache the query result regardless, or omit caching."
        );
        Err(Error::new(code, message))
    };
    if met.function_of_moment && settings.query_cache_nondeterministic_function_handling == "throw" {
        let code = ErrorCode::QUERY_CACHE_USED_WITH_NONDETERMINISTIC_FUNCTIONS;
        return refusal(code, "non-deterministic function", "query_cache_nondeterministic_function_handling");
    }
    if met.system_table && settings.query_cache_system_table_handling == "throw" {
        let code = ErrorCode::QUERY_CACHE_USED_WITH_SYSTEM_TABLE;
        return refusal(code, "system table", "query_cache_system_table_handling");
    }
    Ok(())
}

struct Met<'a> {
    session: &'a Session,
    function_of_moment: bool,
    system_table: bool,
}

impl ast::Visitor for Met<'_> {
    fn table(&mut self, name: &mut TableName) {
        let is_system = |database: &str| database == "system" || system::is_information_schema(database);
        self.system_table |= name.database.as_ref().is_some_and(|database| is_system(&database.value));
    }

    fn expression(&mut self, expression: &mut Expression) -> bool {
        if let ExpressionKind::Function(call) = &expression.kind {
            // A function that SQL defined may be another tomorrow.
            self.function_of_moment |= call.name == "arrayJoin"
                || self.session.server.objects.function(&call.name).is_some()
                || canonical_name(&call.name).is_some_and(|own| OF_MOMENT.contains(own));
        }
        true
    }
}
