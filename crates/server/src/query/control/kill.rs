//! KILL QUERY and KILL MUTATION: find them by a condition over `system.processes` or `system.mutations`, and ask them to end.

use std::sync::Arc;
use std::time::Duration;

use squall_engine::QueryContext;
use squall_sql::ast::{self, KillKind, KillMode};
use squall_storage::TableName;
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result};

use super::system_command::run_blocking;
use crate::access::Privilege;
use crate::mutations::Mutation;
use crate::query::Answer;
use crate::query::definition::{describe, show};
use crate::query::plan::planning;
use crate::query::statement::refuse_cluster;
use crate::session::Session;

/// How long `SYNC` waits for one query.
const SYNC_WAIT: Duration = Duration::from_secs(60);

/// Runs KILL.
pub(in crate::query) async fn run(
    session: &Session,
    statement: &ast::Kill,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    if statement.kind == KillKind::Mutation {
        return kill_mutations(session, statement, context).await;
    }
    if statement.kind != KillKind::Query {
        return Err(Error::not_implemented("KILL of anything but queries"));
    }
    let select = show::with_condition(
        show::query("SELECT query_id, user, query FROM system.processes")?,
        statement.filter.clone(),
    )?;
    let plan = planning::plan(session, &select, context).await?;
    let mut found = session.server.engine.start(&plan, context.clone())?;
    let mut refused = None;
    let (mut statuses, mut ids, mut users, mut texts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    while let Some(block) = found.next().await {
        let block = block?;
        for row in 0..block.rows() {
            let text = |column: usize| value_text(&block, column, row);
            let id = text(0);
            // Not itself.
            if *id == *context.query_id {
                continue;
            }
            let user = text(1);
            if user != *session.access.name && !session.access.has(Privilege::KillQuery.set(), &[]) {
                refused = Some(user);
                continue;
            }
            statuses.push(kill(session, &id, statement.mode).await);
            ids.push(id);
            users.push(text(1));
            texts.push(text(2));
        }
    }
    if ids.is_empty() {
        // Only those of others were meant.
        if let Some(user) = refused {
            let message = format!("User {} attempts to kill query created by {user}", session.access.name);
            return Err(Error::new(ErrorCode::ACCESS_DENIED, message));
        }
        return Ok(Answer::Done);
    }
    let strings = |strings: Vec<String>| Column::from_strings(strings);
    debug_assert_eq!(DataType::String, *strings(Vec::new()).data_type());
    describe::answer([
        ("kill_status", strings(statuses.into_iter().map(str::to_owned).collect())),
        ("query_id", strings(ids)),
        ("user", strings(users)),
        ("query", strings(texts)),
    ])
}

/// Runs KILL MUTATION: those that are not done are carried out no further, whether they run or wait.
async fn kill_mutations(session: &Session, statement: &ast::Kill, context: &Arc<QueryContext>) -> Result<Answer> {
    let select = show::with_condition(
        show::query("SELECT database, table, mutation_id, command FROM system.mutations")?,
        statement.filter.clone(),
    )?;
    let plan = planning::plan(session, &select, context).await?;
    let mut found = session.server.engine.start(&plan, context.clone())?;
    let mut rows: Vec<[String; 5]> = Vec::new();
    while let Some(block) = found.next().await {
        let block = block?;
        for row in 0..block.rows() {
            let [database, table, id, command] = [0, 1, 2, 3].map(|column| value_text(&block, column, row));
            let privileges = [Privilege::AlterUpdate, Privilege::AlterDelete].into_iter().collect();
            session.access.check_all(privileges, &[&database, &table])?;
            let uuid = session.server.databases.describe(&database, &table)?.uuid;
            let all = session.server.mutations.all();
            let is_meant = |mutation: &&Arc<Mutation>| mutation.id == id && mutation.uuid == uuid;
            let mutation = all.iter().find(is_meant).filter(|mutation| mutation.finished().is_none());
            let status = match mutation {
                None => "finished",
                Some(_) if statement.mode == KillMode::Test => "unknown_status",
                Some(mutation) => {
                    kill_mutation(session, TableName::new(database.as_str(), table.as_str()), mutation).await?;
                    "waiting"
                }
            };
            rows.push([status.to_owned(), database, table, id, command]);
        }
    }
    if rows.is_empty() {
        return Ok(Answer::Done);
    }
    let column = |at: usize| Column::from_strings(rows.iter().map(|row| row.get(at).cloned().unwrap_or_default()));
    let names = ["kill_status", "database", "table", "mutation_id", "command"];
    describe::answer(names.into_iter().enumerate().map(|(at, name)| (name, column(at))))
}

/// Has a mutation end for good: the catalog forgets it first, after which nothing of it can be committed.
async fn kill_mutation(session: &Session, table: TableName, mutation: &Arc<Mutation>) -> Result<()> {
    if let Some(kept) = &mutation.kept {
        let (databases, version) = (session.server.databases.clone(), kept.fence.version);
        run_blocking(move || databases.kill_mutation(&table.database, &table.table, version)).await?;
    }
    session.server.mutations.forget(mutation);
    Ok(())
}

async fn kill(session: &Session, id: &str, mode: KillMode) -> &'static str {
    if mode == KillMode::Test {
        return "unknown_status";
    }
    let Some(process) = session.server.processes.find(id) else { return "finished" };
    process.cancel();
    match mode {
        KillMode::Sync => match tokio::time::timeout(SYNC_WAIT, process.wait_for_end()).await {
            Ok(()) => "finished",
            Err(_) => "waiting",
        },
        KillMode::Async | KillMode::Test => "waiting",
    }
}

fn value_text(block: &Block, column: usize, row: usize) -> String {
    block.column(column).value(row).as_str().unwrap_or_default().to_owned()
}
