//! A query's start: from its text to the first row that it could give, with the checks and the settings on the way.

use std::sync::Arc;
use std::time::SystemTime;

use squall_runtime::profile_events;
use squall_sql::ast::Statement;
use squall_types::{Error, ErrorCode, Result, Settings};

use super::counting::count_failure;
use super::plan::cache::Parsed;
use super::plan::parsing::{parse, plain_kind, shown_text};
use super::{Answer, Body, Query, QueryRequest, is_picked, takes_of_quota, without_secrets};
use super::{control, definition, plan, statement};
use crate::access::{QuotaWatch, Resource, now_seconds};
use crate::process::{ProcessInfo, QueryKind};
use crate::session::{HttpMethod, Session};
use crate::system_log::{LoggedEvents, QueryLogEntry};

/// Longer statements are parsed where they hold up no connection.
const PARSED_HERE_BYTES: usize = 16 << 10;

impl Query {
    /// Starts a query of a session. `SET` and `USE` change the session.
    ///
    /// # Errors
    /// Everything that can go wrong before the first row; it is in the query log already.
    pub async fn start(session: &mut Session, request: QueryRequest<'_>) -> Result<Box<Self>> {
        let started_at = SystemTime::now();
        session.refresh_access()?;
        let mut parsed = None;
        let mut logged_settings = session.settings.clone();
        let result = Self::try_start(session, &request, started_at, &mut parsed, &mut logged_settings).await;
        match result {
            Ok(query) => Ok(query),
            Err(Failure::BeforeStart(error)) => {
                let error = without_secrets(error);
                note_failed_start(session, &request, started_at, parsed.as_deref(), logged_settings, &error);
                Err(error)
            }
            Err(Failure::Logged(error)) => Err(error),
        }
    }

    async fn try_start(
        session: &mut Session,
        request: &QueryRequest<'_>,
        started_at: SystemTime,
        parsed_out: &mut Option<Arc<Parsed>>,
        logged_settings: &mut Arc<Settings>,
    ) -> Result<Box<Self>, Failure> {
        let mut scope = scope_of_request(session, request)?;
        if let Some(scope) = &scope {
            *logged_settings = scope.settings.clone();
        }
        let parse = || parse(scope.as_ref().unwrap_or(session), request.text);
        let is_long = request.text.len() > PARSED_HERE_BYTES && plain_kind(request.text) != QueryKind::Insert;
        let mut parsed = if is_long { plan::planning::in_place(parse)? } else { parse()? };
        *parsed_out = Some(parsed.clone());
        let mut is_acting = false;
        while let Some((acting, within)) =
            control::execute_as::statement_within(scope.as_ref().unwrap_or(session), &parsed)?
        {
            (scope, parsed, is_acting) = (Some(acting), within, true);
        }
        set_settings_of_statement(session, &mut scope, &parsed.statement, logged_settings)?;
        let running = scope.as_ref().unwrap_or(session);
        check_readonly(running, parsed.kind)?;
        check_ddl(running, parsed.kind)?;
        let server = running.server.clone();
        let quota = use_quota(running, &parsed)?;
        let context =
            Self::context_of(running, &request.query_id, quota.as_ref().filter(|_| takes_of_quota(parsed.kind)));
        let info = Self::info_of(running, &parsed, started_at);
        if server.is_shutting_down() {
            return Err(Error::new(ErrorCode::ABORTED, "Server is shutting down").into());
        }
        let always =
            matches!(parsed.kind, QueryKind::KillQuery | QueryKind::Set | QueryKind::Use) || parsed.looks_at_processes;
        // Only the user's own profile makes an operator: a session could set the setting itself.
        let is_operator = running.access.settings.use_operator_reserve;
        if !always && !is_operator {
            server
                .processes
                .overload
                .check(&running.settings, server.config.load().server.os_cpu_busy_time_threshold)?;
        }
        let handle = server.processes.admit(info, context.clone(), is_operator, always).await?;
        let query = Self::begun(running, &parsed, handle, quota);
        let answer = match scope {
            Some(mut scope) => {
                let answer = statement::run(&mut scope, &parsed, &context).await;
                // What was done in another's name is over.
                if !is_acting && answer.is_ok() {
                    keep_changes(session, scope, &parsed.statement)?;
                }
                answer
            }
            None => statement::run(session, &parsed, &context).await,
        };
        query.with_answer(answer)
    }

    /// The query with what its statement gives or takes.
    ///
    /// # Errors
    /// The statement's; it is in the query log then.
    fn with_answer(mut self: Box<Self>, answer: Result<Answer>) -> Result<Box<Self>, Failure> {
        match answer {
            Ok(Answer::Stream(stream)) => self.body = Body::Stream(stream),
            Ok(Answer::Blocks(blocks, schema)) => self.body = Body::Blocks { schema, blocks: blocks.into() },
            Ok(Answer::Insert { sink, format, inline_data }) => {
                self.body = Body::Insert { sink: Some(sink), format, inline_data };
            }
            Ok(Answer::Done) => {}
            Err(error) => {
                let error = without_secrets(error);
                self.fail(&error);
                return Err(Failure::Logged(error));
            }
        }
        Ok(self)
    }
}

/// Where a failed start stands in the log.
enum Failure {
    BeforeStart(Error),
    Logged(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::BeforeStart(error)
    }
}

/// Counts and logs a query that has failed before it began; `settings` say whether it goes to the query log.
fn note_failed_start(
    session: &Session,
    request: &QueryRequest<'_>,
    started_at: SystemTime,
    parsed: Option<&Parsed>,
    settings: Arc<Settings>,
    error: &Error,
) {
    let server = &session.server;
    let kind = match parsed {
        Some(parsed) => parsed.kind,
        // Refused before it was parsed.
        None if error.code == ErrorCode::TOO_MANY_SIMULTANEOUS_QUERIES => plain_kind(request.text),
        None => QueryKind::None,
    };
    count_failure(&profile_events::GLOBAL, kind, error);
    server.errors.add(error, &request.query_id);
    tracing::error!(target: "executeQuery", query_id = &*request.query_id, "{error} (from {}) (in query: {})",
        session.client.address, shown_text(request.text));
    if !LoggedEvents::wants_failure(&settings) || !is_picked(&settings) {
        return;
    }
    let query = shown_text(request.text);
    let info = ProcessInfo {
        normalized_query_hash: match parsed {
            Some(parsed) => parsed.normalized_query_hash,
            None => squall_sql::normalize(&*query).hash,
        },
        query,
        kind,
        user: session.access.name.clone(),
        authenticated_user: session.authenticated_user.clone(),
        client: session.client.clone(),
        database: session.database.clone(),
        started_at,
        is_internal: false,
    };
    let query_id = request.query_id.clone();
    server.system_logs.add_query(QueryLogEntry::before_start(Arc::new(info), query_id, settings, error));
}

/// A copy of the session with this query's own settings, where it has some: only SET and USE reach the session itself.
fn scope_of_request(session: &Session, request: &QueryRequest<'_>) -> Result<Option<Session>> {
    if request.settings.is_empty() {
        return Ok(None);
    }
    let mut scope = session.clone();
    for (name, value) in request.settings {
        scope.set(name, value)?;
    }
    Ok(Some(scope))
}

/// Sets the settings that a statement carries, in a copy of the session.
fn set_settings_of_statement(
    session: &Session,
    scope: &mut Option<Session>,
    statement: &Statement,
    logged_settings: &mut Arc<Settings>,
) -> Result<()> {
    let mut of_statement = statement.own_settings();
    if let Statement::CreateTable(create) = statement {
        of_statement.extend(definition::create::settings_of_query(create, scope.as_ref().unwrap_or(session)));
    }
    if of_statement.is_empty() {
        return Ok(());
    }
    let scope = scope.get_or_insert_with(|| session.clone());
    for setting in of_statement {
        statement::apply_setting(scope, setting)?;
    }
    *logged_settings = scope.settings.clone();
    Ok(())
}

/// Brings to the session what a USE or SET did to its copy.
fn keep_changes(session: &mut Session, scope: Session, statement: &Statement) -> Result<()> {
    match statement {
        Statement::Use(_) => session.database = scope.database,
        Statement::Set(set) => statement::set(session, set)?,
        Statement::SetRole(_) => session.keep_roles_of(&scope),
        Statement::ExecuteAs(execute) => *session = session.acting_as(&execute.user)?,
        _ => {}
    }
    Ok(())
}

/// Counts a query of its user's quota.
///
/// # Errors
/// `QUOTA_EXCEEDED`, `QUOTA_REQUIRES_CLIENT_KEY`.
fn use_quota(session: &Session, parsed: &Parsed) -> Result<Option<Arc<QuotaWatch>>> {
    let Some(quota) = session.quota(parsed.normalized_query_hash)? else { return Ok(None) };
    if !takes_of_quota(parsed.kind) {
        return Ok(Some(Arc::new(QuotaWatch::new(quota))));
    }
    let now = now_seconds();
    quota.check_all(now)?;
    quota.add(Resource::Queries, 1, now)?;
    quota.add_form(parsed.normalized_query_hash, now)?;
    match parsed.kind {
        QueryKind::Select => quota.add(Resource::QuerySelects, 1, now)?,
        QueryKind::Insert => quota.add(Resource::QueryInserts, 1, now)?,
        _ => {}
    }
    Ok(Some(Arc::new(QuotaWatch::new(quota))))
}

pub(super) fn check_readonly(session: &Session, kind: QueryKind) -> Result<()> {
    let reads = kind.only_reads() || matches!(kind, QueryKind::Set | QueryKind::Use);
    if session.settings.readonly == 0 || reads {
        return Ok(());
    }
    let why = if session.client.http_method == HttpMethod::Get {
        " For queries over HTTP, method GET implies readonly. You should use method POST for modifying queries."
    } else {
        ""
    };
    let message = format!("{}: Cannot execute query in readonly mode.{why}", session.access.name);
    Err(Error::new(ErrorCode::READONLY, message))
}

/// Whether a statement that defines something is allowed (`allow_ddl`).
pub(super) fn check_ddl(session: &Session, kind: QueryKind) -> Result<()> {
    let defines = matches!(kind, QueryKind::Create | QueryKind::Drop | QueryKind::Rename | QueryKind::Alter);
    if session.settings.allow_ddl || !defines {
        return Ok(());
    }
    let message = format!("Cannot execute query. DDL queries are prohibited for the user {}", session.access.name);
    Err(Error::new(ErrorCode::QUERY_IS_PROHIBITED, message))
}
