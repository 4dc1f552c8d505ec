//! Mutations of tables that keep them: an ALTER TABLE is checked, recorded, and carried out in the background, for whoever waits and for who
//! does not. What was recorded goes on when the server starts again.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use squall_engine::QueryContext;
use squall_sql::ast::{self, AlterCommand};
use squall_storage::{MutationOrder, MutationStep, TableName, TableWhereabouts};
use squall_types::{Error, ErrorCode, Result, Settings};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::mutation::{Attempt, check, partition_of, run, shown};
use crate::background::{background_settings, sleep_until};
use crate::mutations::{Mutation, MutationEnd, Standing};
use crate::query::control::system_command::run_blocking;
use crate::server::Server;
use crate::session::Session;

/// Mutations that run at once.
const RUNNING_MAX: usize = 4;
/// How often one who waits looks whether they still want to.
const LOOK: Duration = Duration::from_millis(50);
/// Mutations of a table that are not done: ClickHouse's `number_of_mutations_to_throw`.
const PENDING_MAX: usize = 1000;

/// Orders a mutation, and waits for it where `mutations_sync` says so, or where it clears. `false` where the table keeps none: then it is to be carried out here and now.
///
/// # Errors
/// What is wrong with the commands; `UNFINISHED` where it has failed or was killed while somebody waits, and is not done.
pub(in crate::query) async fn order(
    session: &Session,
    (database, table): (&str, &str),
    commands: &[&AlterCommand],
    context: &Arc<QueryContext>,
) -> Result<bool> {
    let server = &session.server;
    if server.is_local() || !Arc::ptr_eq(session.databases_of(database), &server.databases) {
        return Ok(false);
    }
    let uuid = server.databases.describe(database, table)?.uuid;
    if server.mutations.pending(uuid).len() >= PENDING_MAX {
        let message = format!("Too many unfinished mutations ({PENDING_MAX}) in table {database}.{table}");
        return Err(Error::new(ErrorCode::TOO_MANY_MUTATIONS, message));
    }
    let mut partitions = Some(Vec::new());
    for command in commands {
        check(session, (database, table), command, context).await?;
        match (partition_of(session, (database, table), command, context).await?, &mut partitions) {
            (Some(id), Some(ids)) => ids.push(id),
            _ => partitions = None,
        }
    }
    let order = MutationOrder {
        commands: commands.iter().map(|command| statement_of(command)).collect(),
        // The server itself has no name.
        user: (!session.access.id.is_nil()).then(|| session.access.name.to_string()),
        database: session.database.to_string(),
        settings: context.settings.changes().map(|(name, value)| (name.to_owned(), value)).collect(),
        parameters: session.parameters.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        partitions,
    };
    let (databases, name) = (server.databases.clone(), TableName::new(database, table));
    let now = unix_s(SystemTime::now());
    let ordered = run_blocking(move || databases.order_mutation(&name.database, &name.table, order, now)).await?;
    let Some(stored) = ordered else { return Ok(false) };
    let mutation = server.mutations.add(uuid, stored, commands.iter().map(|command| shown(command)).collect());
    if context.settings.mutations_sync > 0 || commands.iter().any(|command| clears(command)) {
        wait(server, &mutation, &|| context.check_cancelled()).await?;
    }
    Ok(true)
}

/// Whether a command changes the table as DROP does, of whose end ClickHouse's clients are told whatever `mutations_sync` says.
fn clears(command: &AlterCommand) -> bool {
    matches!(
        command,
        AlterCommand::ClearColumn { .. }
            | AlterCommand::ClearIndex { .. }
            | AlterCommand::ClearProjection { .. }
            | AlterCommand::ClearStatistics { .. }
    )
}

/// Waits until the mutations of a table are done that were ordered so far, of those that may change a partition of which `is_concerned`
/// holds. `check` is asked now and then. Whoever takes parts elsewhere asks for it, as mutations do not follow them there.
///
/// # Errors
/// `UNFINISHED` where one of them fails or is killed, and those of `check`.
pub(in crate::query) async fn wait_for_earlier(
    server: &Server,
    uuid: Uuid,
    is_concerned: &(dyn Fn(&str) -> bool + Sync),
    check: &(dyn Fn() -> Result<()> + Sync),
) -> Result<()> {
    let concerns = |mutation: &&Arc<Mutation>| {
        let partitions = mutation.kept.as_ref().and_then(|kept| kept.order.partitions.as_ref());
        partitions.is_none_or(|ids| ids.iter().any(|id| is_concerned(id)))
    };
    match server.mutations.pending(uuid).iter().rev().find(concerns) {
        Some(last) => wait(server, last, check).await,
        None => Ok(()),
    }
}

async fn wait(server: &Server, mutation: &Arc<Mutation>, check: &(dyn Fn() -> Result<()> + Sync)) -> Result<()> {
    loop {
        let mut changed = pin!(server.mutations.changed());
        changed.as_mut().enable();
        match server.mutations.standing(mutation) {
            Standing::Done => return Ok(()),
            Standing::Killed => {
                let message = format!("Mutation {} was killed", mutation.id);
                return Err(Error::new(ErrorCode::UNFINISHED, message));
            }
            Standing::Failed(failure) => {
                let message = format!(
                    "Exception happened during execution of mutation '{}' with part '{}' reason: '{}'. This error maybe retryable or not. \
                     In case of unretryable error, mutation can be killed with KILL MUTATION query",
                    mutation.id,
                    failure.part.as_deref().unwrap_or_default(),
                    failure.error
                );
                return Err(Error::new(ErrorCode::UNFINISHED, message));
            }
            Standing::Pending => {}
        }
        check()?;
        // What it gives back is whether somebody was faster.
        let _ = tokio::time::timeout(LOOK, changed).await;
    }
}

/// Has the mutations go on that an earlier run of the server has left.
///
/// # Errors
/// Where the catalog cannot be read.
pub(crate) fn resume_mutations(server: &Server) -> Result<()> {
    for (uuid, stored) in server.databases.mutations()? {
        // One that cannot be read is shown as it is written, and fails when its turn comes.
        let commands = stored.order.commands.iter();
        let commands =
            commands.map(|text| commands_of(text).map_or_else(|_| text.clone(), |all| all.iter().map(shown).collect()));
        let commands = commands.collect();
        server.mutations.add(uuid, stored, commands);
    }
    Ok(())
}

/// Carries mutations out until the server stops.
pub(crate) async fn mutate_in_background(server: Arc<Server>) {
    let mut running: JoinSet<()> = JoinSet::new();
    let settings = Arc::new(background_settings(&Settings::default()));
    loop {
        let mut changed = pin!(server.mutations.changed());
        changed.as_mut().enable();
        while running.len() < RUNNING_MAX {
            let context = |mutation: &Mutation| QueryContext::new(mutation.id.as_str().into(), settings.clone());
            let Some(mutation) = server.mutations.next(Instant::now(), context) else { break };
            running.spawn(carry_out(server.clone(), mutation));
        }
        // One that ends makes room for those whose time has come.
        let retry = if running.len() < RUNNING_MAX { server.mutations.next_retry() } else { None };
        tokio::select! {
            () = changed => {}
            () = sleep_until(retry) => {}
            Some(_) = running.join_next() => {}
            () = server.stopping() => break,
        }
    }
    server.mutations.cancel_all();
    while running.join_next().await.is_some() {}
}

async fn carry_out(server: Arc<Server>, mutation: Arc<Mutation>) {
    let databases = &server.databases;
    let table = databases.whereabouts(mutation.uuid);
    let end = match &table {
        TableWhereabouts::Here(name) => match attempt(&server, name, &mutation).await {
            Ok(()) => MutationEnd::Done,
            Err(error) => match error.code {
                // Its table is gone, and with it the record in the catalog.
                ErrorCode::TABLE_IS_DROPPED => return server.mutations.forget(&mutation),
                ErrorCode::QUERY_WAS_CANCELLED
                | ErrorCode::NO_SUCH_DATA_PART
                | ErrorCode::PART_IS_TEMPORARILY_LOCKED => MutationEnd::Busy,
                // Renamed or detached while it ran: it is looked for at the next attempt.
                _ if databases.whereabouts(mutation.uuid) != table => MutationEnd::Busy,
                _ => {
                    tracing::warn!(target: "MergeTree", "{} has failed and is tried again: {error}", mutation.id);
                    MutationEnd::Failed(error)
                }
            },
        },
        TableWhereabouts::Detached => MutationEnd::Detached,
        TableWhereabouts::Gone => return server.mutations.forget(&mutation),
    };
    server.mutations.note_end(&mutation, end);
    // It may have been attached before that was noted.
    if table == TableWhereabouts::Detached && databases.whereabouts(mutation.uuid) != table {
        server.mutations.note_tables_changed();
    }
}

/// Carries out those commands of a mutation that are not done.
async fn attempt(server: &Arc<Server>, name: &Arc<TableName>, mutation: &Arc<Mutation>) -> Result<()> {
    let Some(kept) = &mutation.kept else { return Ok(()) };
    let session = session_of(server, &kept.order)?;
    let commands: Vec<AlterCommand> =
        kept.order.commands.iter().map(|text| commands_of(text)).collect::<Result<Vec<_>>>()?.concat();
    for at in mutation.commands_done()..commands.len() {
        let Some(command) = commands.get(at) else { break };
        let context = QueryContext::new(mutation.id.as_str().into(), session.settings.clone());
        context.set_cpu_share(server.background_share.clone());
        mutation.run_as(&context)?;
        let is_last = at + 1 == commands.len();
        let finished = is_last.then(|| unix_s(SystemTime::now()));
        let step = MutationStep { version: kept.fence.version, finished };
        let attempt = Attempt::of_kept(&session, name, &context, mutation, (&kept.fence, step));
        let result = run(&attempt, command).await;
        context.count_for_process();
        result?;
        if let Some(step) = attempt.left_step() {
            let (databases, name) = (server.databases.clone(), name.clone());
            run_blocking(move || databases.note_mutation_step(&name.database, &name.table, step)).await?;
        }
        mutation.note_step();
    }
    Ok(())
}

/// The session that a mutation is carried out in: its owner's, as it was.
fn session_of(server: &Arc<Server>, order: &MutationOrder) -> Result<Session> {
    let own = Session::of_server(server.clone());
    let mut session = match &order.user {
        Some(user) => own.acting_as(user)?,
        None => own,
    };
    session.database = order.database.as_str().into();
    let mut settings = Settings::clone(&session.settings);
    order.settings.iter().try_for_each(|(name, value)| settings.set(name, value))?;
    session.settings = background_settings(&settings).into();
    session.parameters = Arc::new(order.parameters.iter().cloned().collect());
    Ok(session)
}

/// A command as a statement of its own.
fn statement_of(command: &AlterCommand) -> String {
    let statement = ast::AlterTable::of(ast::TableName::new("t"), vec![command.clone()]);
    squall_sql::format_one_line(&ast::Statement::AlterTable(Box::new(statement)))
}

/// The commands of such a statement.
pub(in crate::query) fn commands_of(statement: &str) -> Result<Vec<AlterCommand>> {
    let limits = squall_sql::ParserLimits::default();
    match squall_sql::parse(statement, &limits) {
        Ok(ast::Statement::AlterTable(statement)) => Ok(statement.commands),
        Ok(_) => Err(Error::logical("a mutation that is no ALTER TABLE")),
        Err(error) => Err(Error::new(ErrorCode::SYNTAX_ERROR, error.to_string())),
    }
}

fn unix_s(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
