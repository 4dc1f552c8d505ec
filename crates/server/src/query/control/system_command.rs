//! SYSTEM: what an operator tells the server itself.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_sql::ast::{self, SystemCommand};
use squall_types::{Error, ErrorCode, Result};

use crate::access::Privilege;
use crate::query::Answer;
use crate::query::change::refresh;
use crate::query::definition::dictionary;
use crate::query::statement::{refuse_cluster, table_name};
use crate::session::Session;

/// Runs SYSTEM.
pub(in crate::query) async fn run(
    session: &Session,
    statement: &ast::System,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let server = &session.server;
    check(session, statement)?;
    match statement.command {
        SystemCommand::FlushLogs => {
            let server = server.clone();
            run_blocking(move || server.system_logs.flush()).await?;
            Ok(Answer::Done)
        }
        SystemCommand::ReloadConfig | SystemCommand::ReloadUsers => {
            let server = server.clone();
            run_blocking(move || server.reload()).await?;
            dictionary::reload_files(&session.server).await?;
            Ok(Answer::Done)
        }
        SystemCommand::Shutdown | SystemCommand::Kill => {
            server.shut_down();
            Ok(Answer::Done)
        }
        SystemCommand::ClearQueryCache | SystemCommand::ClearCompiledExpressionCache => {
            server.statements.clear();
            server.plan_templates.clear();
            Ok(Answer::Done)
        }
        SystemCommand::ClearUncompressedCache => {
            server.databases.clear_column_cache();
            Ok(Answer::Done)
        }
        SystemCommand::ClearQueryConditionCache => {
            squall_storage::clear_condition_cache();
            Ok(Answer::Done)
        }
        SystemCommand::ReloadAsynchronousMetrics => {
            let server = server.clone();
            run_blocking(move || Ok(server.asynchronous_metrics.update(&server))).await?;
            Ok(Answer::Done)
        }
        SystemCommand::ReloadDictionaries => dictionary::reload_all(session, context).await,
        SystemCommand::ReloadDictionary => match &statement.tables[..] {
            [name] => dictionary::reload(session, name, context).await,
            _ => Err(Error::not_implemented("SYSTEM RELOAD DICTIONARY of several")),
        },
        SystemCommand::StopMerges | SystemCommand::StartMerges => {
            let is_stopped = statement.command == SystemCommand::StopMerges;
            if statement.tables.is_empty() {
                server.databases.stop_all_merges(is_stopped);
            }
            for name in &statement.tables {
                let (database, table) = table_name(session, name)?;
                session.databases_of(&database).stop_merges(&database, &table, is_stopped);
            }
            Ok(Answer::Done)
        }
        SystemCommand::StopTtlMerges | SystemCommand::StartTtlMerges => {
            let is_stopped = statement.command == SystemCommand::StopTtlMerges;
            if statement.tables.is_empty() {
                server.databases.stop_all_ttl_merges(is_stopped);
            }
            for name in &statement.tables {
                let (database, table) = table_name(session, name)?;
                session.databases_of(&database).stop_ttl_merges(&database, &table, is_stopped);
            }
            Ok(Answer::Done)
        }
        // Not there, as nothing moves parts: nothing is to be done.
        SystemCommand::StopMoves
        | SystemCommand::StartMoves
        | SystemCommand::ReloadEmbeddedDictionaries
        | SystemCommand::ReloadFunctions
        | SystemCommand::ReloadModels => Ok(Answer::Done),
        // Nothing is replicated or distributed: what sends and fetches has nothing to do, stopped or started.
        SystemCommand::StopDistributedSends
        | SystemCommand::StartDistributedSends
        | SystemCommand::StopFetches
        | SystemCommand::StartFetches
        | SystemCommand::StopReplicatedSends
        | SystemCommand::StartReplicatedSends
        | SystemCommand::StopReplicationQueues
        | SystemCommand::StartReplicationQueues
        | SystemCommand::StopPullingReplicationLog
        | SystemCommand::StartPullingReplicationLog
        | SystemCommand::StopReplicatedDdlQueries
        | SystemCommand::StartReplicatedDdlQueries
        | SystemCommand::RestartReplicas => Ok(Answer::Done),
        // Tables have their parts and the parts' keys from the server's start to its end.
        SystemCommand::WaitLoadingParts | SystemCommand::LoadPrimaryKey | SystemCommand::UnloadPrimaryKey => {
            Ok(Answer::Done)
        }
        // What is cached of files is in memory alone.
        SystemCommand::SyncFileCache => Ok(Answer::Done),
        SystemCommand::SyncReplica | SystemCommand::RestartReplica | SystemCommand::RestoreReplica => {
            Err(none_of_the_kind(session, statement, "replicated"))
        }
        SystemCommand::FlushDistributed => Err(none_of_the_kind(session, statement, "distributed")),
        SystemCommand::StopViews
        | SystemCommand::StartViews
        | SystemCommand::RefreshView
        | SystemCommand::StopView
        | SystemCommand::StartView
        | SystemCommand::CancelView
        | SystemCommand::WaitView => refresh::run(session, statement, context).await,
        SystemCommand::FlushAsyncInsertQueue => {
            let named = statement.tables.iter().map(|name| table_name(session, name)).collect::<Result<Vec<_>>>()?;
            let is_meant = |database: &str, table: &str| {
                named.is_empty() || named.iter().any(|name| name.0 == database && name.1 == table)
            };
            server.async_inserts.flush(is_meant).await;
            Ok(Answer::Done)
        }
        command => {
            let words = command.keywords();
            // Caches that are not there are empty.
            if (words.starts_with("DROP ") || words.starts_with("CLEAR ")) && words.contains("CACHE") {
                return Ok(Answer::Done);
            }
            Err(Error::not_implemented(format!("SYSTEM {words}")))
        }
    }
}

/// The error of a command for tables of a kind that is not there: a table is not of it, or is not there either.
fn none_of_the_kind(session: &Session, statement: &ast::System, kind: &str) -> Error {
    let refuse = |name: &ast::TableName| -> Result<Error> {
        let (database, table) = table_name(session, name)?;
        session.databases_of(&database).table(&database, &table)?;
        Ok(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Table {database}.{table} is not {kind}")))
    };
    match statement.tables.first() {
        Some(name) => refuse(name).unwrap_or_else(|error| error),
        None => Error::not_implemented(format!("SYSTEM {}", statement.command.keywords())),
    }
}

/// The privilege of a command: that which has its words, or those of its kind.
fn privilege(command: SystemCommand) -> Privilege {
    let words = command.keywords();
    match command {
        SystemCommand::Shutdown | SystemCommand::Kill => return Privilege::SystemShutdown,
        SystemCommand::ReloadDictionaries => return Privilege::SystemReloadDictionary,
        _ => {}
    }
    let named = |words: &str| Privilege::named(&format!("SYSTEM {words}"));
    let without_verb = words.split_once(' ').map(|(_, rest)| rest);
    named(words)
        .or_else(|| named(&words.replacen("CLEAR", "DROP", 1)))
        .or_else(|| named(words.strip_suffix('S')?))
        .or_else(|| named(without_verb?))
        // What has no privilege of its own is for those who may do everything with the server.
        .unwrap_or(Privilege::System)
}

/// Checks that the session may give a command, for each of the tables that it names.
fn check(session: &Session, statement: &ast::System) -> Result<()> {
    let privilege = privilege(statement.command);
    if privilege.level().depth() == 2 {
        for name in &statement.tables {
            let (database, table) = table_name(session, name)?;
            session.access.check(privilege, &[&database, &table])?;
        }
        if !statement.tables.is_empty() {
            return Ok(());
        }
    }
    session.access.check(privilege, &[])
}

/// Runs what may wait for a disk on a thread for that.
pub(in crate::query) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::logical(format!("the work was interrupted: {error}")))?
}
