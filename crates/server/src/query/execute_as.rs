//! EXECUTE AS: one statement, or the rest of a session, in another user's name. Who sent it stays who is shown, and whose limits the query has;
//! what may be read and done is the other user's matter alone.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_sql::ast::ExecuteAs;
use squall_types::{Error, ErrorCode, Result};

use super::cache::Parsed;
use super::{Answer, check_readonly, statement};
use crate::access::Privilege;
use crate::session::Session;

/// Checks that a session may act as the user.
///
/// # Errors
/// `SUPPORT_IS_DISABLED` where the configuration does not allow it to anybody, `ACCESS_DENIED`.
pub(super) fn check(session: &Session, statement: &ExecuteAs) -> Result<()> {
    if !session.server.config.load().server.allow_impersonate_user {
        return Err(Error::new(
            ErrorCode::SUPPORT_IS_DISABLED,
            "IMPERSONATE feature is disabled, set access_control_improvements.allow_impersonate_user to 1 to enable",
        ));
    }
    session.access.check(Privilege::Impersonate, &[&statement.user])
}

/// Runs EXECUTE AS, which [`check`] has allowed.
pub(super) async fn run(
    session: &mut Session,
    statement: &ExecuteAs,
    parsed: &Parsed,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    let mut other = session.acting_as(&statement.user)?;
    let Some(inner) = &statement.statement else {
        *session = other;
        return Ok(Answer::Done);
    };
    check_readonly(&other, parsed.kind)?;
    let inner = Parsed {
        text: parsed.text.clone(),
        statement: Arc::new((**inner).clone()),
        kind: parsed.kind,
        normalized_query_hash: parsed.normalized_query_hash,
        format: parsed.format.clone(),
        may_sleep: parsed.may_sleep,
        looks_at_processes: parsed.looks_at_processes,
        // A plan that is kept with the text would be of whoever came first.
        shape: None,
        plan: Default::default(),
    };
    Box::pin(statement::run(&mut other, &inner, context)).await
}
