//! From a text to a statement: parsed, or known already; and what a statement says besides what it does: its format, its settings, where
//! its data begin.

use std::sync::Arc;

use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::Timed;
use squall_runtime::thread_pool::STACK_BYTES;
use squall_sql::ast::{self, Statement};
use squall_sql::{ParserLimits, SyntaxError};
use squall_types::{Error, ErrorCode, Result};

use super::cache::{self, Parsed};
use super::plan_template::TextShape;
use crate::access::{is_suspicious, masked};
use crate::masking::{self, mask};
use crate::process::QueryKind;
use crate::session::Session;

/// Bytes of a query's text that the process list and the query log show.
const SHOWN_TEXT_BYTES_MAX: usize = 100_000;

pub(in crate::query) fn shown_text(text: &[u8]) -> Arc<str> {
    if masking::is_on() {
        // Before it is cut: half of a secret is one, too.
        let text = String::from_utf8_lossy(text);
        let text = masked(text.trim());
        let masked = mask(&text);
        return masked.get(..masked.floor_char_boundary(SHOWN_TEXT_BYTES_MAX)).unwrap_or_default().into();
    }
    let text = text.get(..SHOWN_TEXT_BYTES_MAX).unwrap_or(text);
    let text = String::from_utf8_lossy(text);
    masked(text.trim()).into()
}

/// The kind of a statement that its first word tells and that admission treats like any other; `None` where it has to be parsed: settings
/// of its own may let it wait longer, and looks at the process list are always let in.
pub(in crate::query) fn plain_kind(text: &[u8]) -> QueryKind {
    let start = text.trim_ascii_start();
    let begins_with =
        |word: &str| start.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()));
    let kind = match () {
        () if begins_with("select ") => QueryKind::Select,
        () if begins_with("insert ") => QueryKind::Insert,
        () => return QueryKind::None,
    };
    let text = text.get(..SHOWN_TEXT_BYTES_MAX).unwrap_or(text).to_ascii_lowercase();
    let mentions = |word: &str| memchr::memmem::find(&text, word.as_bytes()).is_some();
    if mentions("settings") || mentions("process") { QueryKind::None } else { kind }
}

/// Parses a text, or finds it parsed. A server that is full refuses one that it does not know without parsing it, so that a storm of
/// refused queries costs little.
pub(in crate::query) fn parse(session: &Session, text: &[u8]) -> Result<Arc<Parsed>> {
    let cache = &session.server.statements;
    let as_text = std::str::from_utf8(text).ok();
    if let Some(parsed) = as_text.and_then(|text| cache.get(text)) {
        return Ok(parsed);
    }
    let settings = &session.settings;
    let kind = plain_kind(text);
    if kind != QueryKind::None {
        let is_operator = session.access.settings.use_operator_reserve;
        session.server.processes.foresee(kind, &session.access.name, settings, is_operator)?;
    }
    let _parsing = Timed::new(ProfileEvent::QueryParseMicroseconds);
    let limits = ParserLimits {
        max_query_size: usize::try_from(settings.max_query_size).unwrap_or(usize::MAX),
        max_parser_depth: u32::try_from(settings.max_parser_depth).unwrap_or(u32::MAX),
        max_parser_backtracks: u32::try_from(settings.max_parser_backtracks).unwrap_or(u32::MAX),
        max_ast_depth: u32::try_from(settings.max_ast_depth).unwrap_or(u32::MAX),
        // Statements are parsed on I/O threads, which have stacks of this size.
        stack_bytes_max: STACK_BYTES / 2,
    };
    let statement = squall_sql::parse(text, &limits).map_err(|error| syntax_error_in(text, error))?;
    let data = inline_data(&statement);
    let shown = shown_text(data.and_then(|start| text.get(..start)).unwrap_or(text));
    let normalized = squall_sql::normalize(&*shown);
    let kind = crate::query::statement::kind(&statement);
    let shape = match &statement {
        // Where what is shown is the whole text, but for blanks around it.
        Statement::Query(_) if as_text.is_some_and(|text| text.trim() == &*shown) => {
            TextShape::of(shown.as_bytes(), &normalized.literals)
        }
        _ => None,
    };
    let parsed = Arc::new(Parsed {
        kind,
        shape,
        normalized_query_hash: normalized.hash,
        format: statement_format(&statement).map(Into::into),
        may_sleep: cache::may_sleep(&shown),
        looks_at_processes: cache::looks_at_processes(&shown),
        text: shown,
        statement: Arc::new(statement),
        plan: Default::default(),
    });
    // The data of an INSERT differ each time.
    if let Some(text) = as_text
        && data.is_none()
    {
        cache.put(text, &parsed);
    }
    Ok(parsed)
}

/// A statement that the server makes for itself.
pub(in crate::query) fn parsed_of(statement: Statement) -> Arc<Parsed> {
    let text = squall_sql::format_one_line(&statement);
    let shown = shown_text(text.as_bytes());
    Arc::new(Parsed {
        kind: crate::query::statement::kind(&statement),
        shape: None,
        normalized_query_hash: squall_sql::normalize(&*shown).hash,
        format: None,
        may_sleep: false,
        looks_at_processes: false,
        text: shown,
        statement: Arc::new(statement),
        plan: Default::default(),
    })
}

/// A parser's error as everybody's.
pub(in crate::query) fn syntax_error(error: SyntaxError) -> Error {
    Error::new(ErrorCode(i32::from(error.code)), error.message)
}

/// The error of a text that may hold secrets: it does not quote it.
fn syntax_error_in(text: &[u8], error: SyntaxError) -> Error {
    if error.code != squall_sql::SYNTAX_ERROR || !is_suspicious(&String::from_utf8_lossy(text)) {
        return syntax_error(error);
    }
    let SyntaxError { position, line, column, expected, .. } = error;
    let mut message = format!(
        "Syntax error: failed at position {} (line {line}, col {column}). The text is not shown, as there may be secrets in it",
        position + 1
    );
    if !expected.is_empty() {
        message += &format!(". Expected one of: {}", expected.join(", "));
    }
    Error::new(ErrorCode::SYNTAX_ERROR, message)
}

/// Where the data of an INSERT begin.
fn inline_data(statement: &Statement) -> Option<usize> {
    match statement {
        Statement::Insert(insert) => match &insert.source {
            ast::InsertSource::Data { offset, .. } | ast::InsertSource::Input { offset, .. } => offset.0,
            _ => None,
        },
        Statement::ExecuteAs(execute) => inline_data(execute.statement.as_deref()?),
        _ => None,
    }
}

fn statement_format(statement: &Statement) -> Option<&str> {
    Some(statement.output()?.format.as_ref()?.value.as_str())
}
