//! EXECUTE AS: one statement, or the rest of a session, in another user's name: with that user's rights, profile, quota and limits, in the same
//! database. `authenticatedUser()` and the query log still tell who has come in.

use std::sync::Arc;

use squall_sql::ast::{ExecuteAs, Statement};
use squall_types::{Error, ErrorCode, Result};

use crate::access::Privilege;
use crate::query::plan::cache::Parsed;
use crate::session::Session;

/// The session as it acts in the user's name.
///
/// # Errors
/// `SUPPORT_IS_DISABLED` where the configuration does not allow it to anybody, `ACCESS_DENIED`, `UNKNOWN_USER`.
pub(in crate::query) fn acting(session: &Session, statement: &ExecuteAs) -> Result<Session> {
    if !session.server.config.load().server.allow_impersonate_user {
        return Err(Error::new(
            ErrorCode::SUPPORT_IS_DISABLED,
            "IMPERSONATE feature is disabled, set access_control_improvements.allow_impersonate_user to 1 to enable",
        ));
    }
    session.access.check(Privilege::Impersonate, &[&statement.user])?;
    session.acting_as(&statement.user)
}

/// The statement within, and in whose name it is run; nothing for a statement without one.
///
/// # Errors
/// As of [`acting`].
pub(in crate::query) fn statement_within(session: &Session, parsed: &Parsed) -> Result<Option<(Session, Arc<Parsed>)>> {
    let Statement::ExecuteAs(outer) = &*parsed.statement else { return Ok(None) };
    let Some(inner) = &outer.statement else { return Ok(None) };
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
    Ok(Some((acting(session, outer)?, Arc::new(inner))))
}
