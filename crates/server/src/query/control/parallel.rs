//! PARALLEL WITH: several statements that give no rows. They are run one after the other, which is one of the orders that they may have.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_sql::ast::Statement;
use squall_types::{Error, ErrorCode, Result};

use crate::process::QueryKind;
use crate::query::Answer;
use crate::query::plan::parsing::parsed_of;
use crate::query::start::{check_ddl, check_readonly};
use crate::query::statement;
use crate::session::Session;

/// Runs the statements; those behind one that fails are not run.
///
/// # Errors
/// `INCORRECT_QUERY` for a statement that gives rows; the statements' own.
pub(in crate::query) async fn run(
    session: &mut Session,
    statements: &[Statement],
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    for statement in statements {
        let kind = statement::kind(statement);
        if gives_rows(kind) {
            let text = squall_sql::format_one_line(statement);
            return Err(Error::new(
                ErrorCode::INCORRECT_QUERY,
                format!(
                    "Query {text} can't be combined with other queries using PARALLEL WITH clause because this query has output \
                     (Use UNION to combine select queries)"
                ),
            ));
        }
        check_readonly(session, kind)?;
        check_ddl(session, kind)?;
    }
    for statement in statements {
        // Rows of a command are its report, and nobody asked for it.
        match Box::pin(statement::run(session, &parsed_of(statement.clone()), context)).await? {
            Answer::Done | Answer::Blocks(..) => {}
            Answer::Stream(_) | Answer::Insert { .. } => {
                return Err(Error::not_implemented("PARALLEL WITH of this statement"));
            }
        }
    }
    Ok(Answer::Done)
}

fn gives_rows(kind: QueryKind) -> bool {
    matches!(
        kind,
        QueryKind::Select
            | QueryKind::Show
            | QueryKind::Exists
            | QueryKind::Describe
            | QueryKind::Explain
            | QueryKind::Check
            | QueryKind::KillQuery
    )
}
