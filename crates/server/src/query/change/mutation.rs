//! Mutations: ALTER TABLE … UPDATE and DELETE, DELETE FROM and UPDATE. A query is run over each part that holds rows that meet the
//! condition, and what it gives takes the part's place. DELETE FROM and UPDATE are done when they return.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use parking_lot::Mutex;
use squall_engine::QueryContext;
use squall_planner::{ColumnDescription, Plan};
use squall_sql::ast::{self, AlterCommand, Assignment, PartitionSelector};
use squall_storage::{MutationFence, MutationStep, PartSelection, Rewrite, RewriteOf, Table, TableName};
use squall_types::{Column, Error, ErrorCode, Result, reserve};

use super::alter::selection;
use super::mutated::{Mutated, ROWS, check_assignment, mutated, probe, query, quoted};
use super::pending_mutation;
use super::ttl;
use crate::mutations::Mutation;
use crate::query::Answer;
use crate::query::control::system_command::run_blocking;
use crate::query::definition::show;
use crate::query::plan::planning;
use crate::query::statement::{identifier, refuse_cluster, table_name};
use crate::session::Session;

/// How long a mutation waits for a merge of the same parts before it looks again.
const MERGE_WAIT: Duration = Duration::from_millis(20);
/// How often it does.
const MERGE_WAITS_MAX: usize = 3000;

/// Runs DELETE FROM.
pub(in crate::query) async fn delete(
    session: &Session,
    statement: &ast::Delete,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let (database, table) = table_name(session, &statement.table)?;
    let command = AlterCommand::Delete { partition: statement.partition.clone(), filter: statement.filter.clone() };
    run_now(session, (&database, &table), &[&command], true, context).await?;
    Ok(Answer::Done)
}

/// Runs UPDATE.
pub(in crate::query) async fn update(
    session: &Session,
    statement: &ast::Update,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let (database, table) = table_name(session, &statement.table)?;
    let command = AlterCommand::Update {
        assignments: statement.assignments.clone(),
        partition: statement.partition.clone(),
        filter: statement.filter.clone(),
    };
    run_now(session, (&database, &table), &[&command], false, context).await?;
    Ok(Answer::Done)
}

/// Whether a command is carried out here.
pub(in crate::query) fn is_mutation(command: &AlterCommand) -> bool {
    matches!(
        command,
        AlterCommand::Delete { .. }
            | AlterCommand::Update { .. }
            | AlterCommand::ClearColumn { partition: Some(_), .. }
            | AlterCommand::MaterializeColumn { .. }
            | AlterCommand::MaterializeTtl { .. }
            | AlterCommand::ApplyDeletedMask { .. }
            | AlterCommand::ApplyPatches { .. }
            | AlterCommand::MaterializeIndex { .. }
            | AlterCommand::ClearIndex { .. }
            | AlterCommand::MaterializeProjection { .. }
            | AlterCommand::ClearProjection { .. }
    )
}

/// An attempt at the commands of a mutation: on which table, in whose name, and what is kept of it.
pub(in crate::query) struct Attempt<'a> {
    session: &'a Session,
    database: &'a str,
    table: &'a str,
    context: &'a Arc<QueryContext>,
    /// Where it was not ALTER TABLE that deletes.
    is_lightweight: bool,
    /// Which parts it is about, where not all.
    fence: Option<&'a MutationFence>,
    /// What is recorded with what it writes; taken by who does.
    step: Mutex<Option<MutationStep>>,
    mutation: Option<&'a Mutation>,
}

impl<'a> Attempt<'a> {
    /// Of a mutation that is not kept.
    fn within_statement(
        session: &'a Session,
        (database, table): (&'a str, &'a str),
        is_lightweight: bool,
        context: &'a Arc<QueryContext>,
    ) -> Self {
        let (fence, step, mutation) = (None, Mutex::default(), None);
        Self { session, database, table, context, is_lightweight, fence, step, mutation }
    }

    /// Of one that is kept, one of whose commands is this step.
    pub(in crate::query) fn of_kept(
        session: &'a Session,
        name: &'a TableName,
        context: &'a Arc<QueryContext>,
        mutation: &'a Mutation,
        (fence, step): (&'a MutationFence, MutationStep),
    ) -> Self {
        Self {
            session,
            database: &name.database,
            table: &name.table,
            context,
            is_lightweight: false,
            fence: Some(fence),
            step: Mutex::new(Some(step)),
            mutation: Some(mutation),
        }
    }

    /// The step, where nothing has recorded it.
    pub(in crate::query) fn left_step(&self) -> Option<MutationStep> {
        self.step.lock().take()
    }

    async fn begin(&self, of: &RewriteOf) -> Result<Rewrite> {
        begin(self.session, self.database, self.table, of, self.fence).await
    }

    async fn selection(&self, partition: Option<&PartitionSelector>) -> Result<PartSelection> {
        match partition {
            Some(partition) => selection(self.session, self.database, self.table, partition, self.context).await,
            None => Ok(PartSelection::All),
        }
    }

    fn note_part(&self, part: Option<&Arc<str>>) {
        self.mutation.into_iter().for_each(|mutation| mutation.note_part(part.cloned()));
    }

    async fn commit(&self, rewrite: Rewrite) -> Result<()> {
        self.note_part(None);
        let step = self.left_step();
        run_blocking(move || rewrite.commit(step)).await
    }

    /// Writes parts anew with an index or projection, or without it.
    async fn rewrite_with(&self, of: &RewriteOf) -> Result<()> {
        let rewrite = self.begin(of).await?;
        self.write_all_anew(rewrite).await
    }

    /// Writes the rows of all pieces as they are.
    async fn write_all_anew(&self, rewrite: Rewrite) -> Result<()> {
        let all = Mutated { partition: None, filter: None, assignments: Some(Vec::new()) };
        for ((source, target), part) in rewrite.pieces(ROWS).into_iter().zip(named(&rewrite)) {
            self.note_part(part.as_ref());
            let query = query(&all, source.columns(), self.table)?;
            write(&self.session.with_stand_in(ROWS, source), &query, &*target, self.context).await?;
        }
        self.commit(rewrite).await
    }

    /// Deletes rows that meet a condition. Those of a part are named beside it, which is then passed over; where they are most of the part, or
    /// many and scattered, the part is written anew by `rest`, which gives the other rows.
    async fn delete_rows(&self, of: PartSelection, filter: &ast::Expression, rest: &ast::Query) -> Result<()> {
        let (session, context) = (self.session, self.context);
        let mut rewrite = self.begin(&RewriteOf::PartsOfDelete(of)).await?;
        let pieces = rewrite.pieces(ROWS);
        let mut dense: Vec<usize> = (0..pieces.len()).collect();
        if let Some(source) = rewrite.source(ROWS) {
            // As it is written, so that indexes understand it.
            let filter = squall_sql::format_expression(filter);
            let find = format!("SELECT _part_index, _part_offset FROM {ROWS} AS {} WHERE {filter}", quoted(self.table));
            let found =
                positions(&session.with_stand_in(ROWS, source), &show::query(&find)?, pieces.len(), context).await?;
            dense.clear();
            for (part, rows) in found.into_iter().enumerate() {
                if !rows.is_empty() && !rewrite.delete(part, rows) {
                    dense.push(part);
                }
            }
        }
        for part in dense {
            let Some((source, target)) = pieces.get(part) else { continue };
            write(&session.with_stand_in(ROWS, source.clone()), rest, &**target, context).await?;
        }
        drop(pieces);
        self.commit(rewrite).await
    }
}

/// The names of the parts that a rewrite is of; of rows in memory none.
fn named(rewrite: &Rewrite) -> impl Iterator<Item = Option<Arc<str>>> + use<> {
    rewrite.part_names().into_iter().map(Some).chain(std::iter::repeat(None))
}

/// Carries out the commands of a mutation, or has that done: `mutations_sync` says whether it waits. `system.mutations` shows it.
pub(in crate::query) async fn run_all(
    session: &Session,
    database: &str,
    table: &str,
    commands: &[&AlterCommand],
    context: &Arc<QueryContext>,
) -> Result<()> {
    check_allowed(session, database)?;
    if pending_mutation::order(session, (database, table), commands, context).await? {
        return Ok(());
    }
    run_now(session, (database, table), commands, false, context).await
}

/// Carries out commands within their statement, after those mutations that were ordered before; `is_lightweight` where it was not ALTER TABLE
/// that deletes.
pub(in crate::query) async fn run_now(
    session: &Session,
    (database, table): (&str, &str),
    commands: &[&AlterCommand],
    is_lightweight: bool,
    context: &Arc<QueryContext>,
) -> Result<()> {
    check_allowed(session, database)?;
    let uuid = session.databases_of(database).describe(database, table)?.uuid;
    pending_mutation::wait_for_earlier(&session.server, uuid, &|_| true, &|| context.check_cancelled()).await?;
    let shown = commands.iter().map(|command| shown(command)).collect();
    let turn = session.server.mutations.begin(uuid, shown, context);
    let attempt = Attempt::within_statement(session, (database, table), is_lightweight, context);
    for command in commands {
        run(&attempt, command).await?;
    }
    turn.finish();
    Ok(())
}

fn check_allowed(session: &Session, database: &str) -> Result<()> {
    if session.server.config.load().server.disable_insertion_and_mutation && database != "system" {
        return Err(Error::new(ErrorCode::QUERY_IS_PROHIBITED, "Mutations are prohibited"));
    }
    Ok(())
}

/// Whether a mutation that is kept names a column.
pub(in crate::query) fn names(mutation: &Mutation, column: &str) -> bool {
    let commands = mutation.kept.iter().flat_map(|kept| &kept.order.commands);
    commands.filter_map(|text| pending_mutation::commands_of(text).ok()).flatten().any(|command| {
        let names = |expression: &ast::Expression| {
            squall_planner::names_column(&squall_sql::format_expression(expression), column)
        };
        match &command {
            AlterCommand::Delete { filter, .. } => names(filter),
            AlterCommand::Update { assignments, filter, .. } => {
                let names_assignment =
                    |assignment: &Assignment| *assignment.column == *column || names(&assignment.expression);
                names(filter) || assignments.iter().any(names_assignment)
            }
            AlterCommand::ClearColumn { column: own, .. } | AlterCommand::MaterializeColumn { column: own, .. } => {
                own.value == column
            }
            _ => false,
        }
    })
}

/// A command in SQL, as ClickHouse shows it.
pub(in crate::query) fn shown(command: &AlterCommand) -> String {
    let statement = ast::AlterTable::of(ast::TableName::new("t"), vec![command.clone()]);
    let text = squall_sql::format_one_line(&ast::Statement::AlterTable(Box::new(statement)));
    let command = text.strip_prefix("ALTER TABLE t ").unwrap_or(&text);
    // Statements have two spaces here, and mutations one.
    command.replacen("(UPDATE  ", "(UPDATE ", 1)
}

/// The rewriting of parts that adds or takes away what lies in their files beside the rows, where a command is that; `None` where nothing is
/// to be done, as there is no such thing and that is right.
async fn rewriting_beside_rows(attempt: &Attempt<'_>, command: &AlterCommand) -> Result<Option<Option<RewriteOf>>> {
    let name = |name: &ast::Identifier| identifier(attempt.session, name);
    let definition =
        attempt.session.databases_of(attempt.database).describe(attempt.database, attempt.table)?.definition;
    let (if_exists, is_known, partition) = match command {
        AlterCommand::MaterializeIndex { if_exists, index, partition }
        | AlterCommand::ClearIndex { if_exists, index, partition } => {
            let name = name(index)?;
            let known = definition.iter().any(|known| known.indices.iter().any(|index| *index.name == *name));
            (*if_exists, known, partition.as_ref())
        }
        AlterCommand::MaterializeProjection { if_exists, projection, partition }
        | AlterCommand::ClearProjection { if_exists, projection, partition } => {
            let name = name(projection)?;
            let mut known = definition.iter().flat_map(|definition| &definition.projections);
            (*if_exists, known.any(|known| *known.name == *name), partition.as_ref())
        }
        AlterCommand::ApplyDeletedMask { partition } => (false, true, partition.as_ref()),
        _ => return Ok(None),
    };
    if if_exists && !is_known {
        return Ok(Some(None));
    }
    let parts = attempt.selection(partition).await?;
    Ok(Some(match command {
        AlterCommand::MaterializeIndex { index, .. } => {
            Some(RewriteOf::Index { parts, name: name(index)?.into(), clears: false })
        }
        AlterCommand::ClearIndex { index, .. } => {
            Some(RewriteOf::Index { parts, name: name(index)?.into(), clears: true })
        }
        AlterCommand::MaterializeProjection { projection, .. } => {
            Some(RewriteOf::Projection { parts, name: name(projection)?.into(), clears: false })
        }
        AlterCommand::ClearProjection { projection, .. } => {
            Some(RewriteOf::Projection { parts, name: name(projection)?.into(), clears: true })
        }
        _ => Some(RewriteOf::Deleted(parts)),
    }))
}

/// The partition that a command is about; `None` where it is about all.
pub(in crate::query) async fn partition_of(
    session: &Session,
    (database, table): (&str, &str),
    command: &AlterCommand,
    context: &Arc<QueryContext>,
) -> Result<Option<String>> {
    let partition = match command {
        AlterCommand::Delete { partition, .. }
        | AlterCommand::Update { partition, .. }
        | AlterCommand::ClearColumn { partition, .. }
        | AlterCommand::MaterializeColumn { partition, .. }
        | AlterCommand::MaterializeTtl { partition }
        | AlterCommand::ApplyDeletedMask { partition }
        | AlterCommand::MaterializeIndex { partition, .. }
        | AlterCommand::ClearIndex { partition, .. }
        | AlterCommand::MaterializeProjection { partition, .. }
        | AlterCommand::ClearProjection { partition, .. } => partition.as_ref(),
        _ => None,
    };
    let Some(partition) = partition else { return Ok(None) };
    Ok(match selection(session, database, table, partition, context).await? {
        PartSelection::Partition(id) => Some(id.to_string()),
        PartSelection::All | PartSelection::Part(_) => None,
    })
}

/// Finds what is wrong with a command before anything is done for it.
///
/// # Errors
/// Those that carrying it out would meet, but for those of the rows.
pub(in crate::query) async fn check(
    session: &Session,
    (database, table): (&str, &str),
    command: &AlterCommand,
    context: &Arc<QueryContext>,
) -> Result<()> {
    // About no part at all.
    let nothing = MutationFence { version: 0, excluded: Vec::new() };
    let attempt =
        Attempt { fence: Some(&nothing), ..Attempt::within_statement(session, (database, table), false, context) };
    if let AlterCommand::MaterializeTtl { .. } = command {
        return ttl::check(session, database, table);
    }
    let databases = session.databases_of(database);
    if let Some(of) = rewriting_beside_rows(&attempt, command).await? {
        return of.map_or(Ok(()), |of| databases.rewrite(database, table, &of, attempt.fence).map(drop));
    }
    let Some((mutated, _)) = prepared(&attempt, command)? else { return Ok(()) };
    databases.rewrite(database, table, &RewriteOf::Parts(PartSelection::All), attempt.fence)?;
    let rows = databases.table(database, table)?;
    let query = query(&mutated, rows.columns(), table)?;
    planning::plan(&session.with_stand_in(ROWS, rows), &query, context).await.map(drop)
}

/// What a command makes of rows, and the columns of these; `None` where it does nothing with them.
fn prepared(attempt: &Attempt<'_>, command: &AlterCommand) -> Result<Option<(Mutated, Vec<ColumnDescription>)>> {
    let description = attempt.session.databases_of(attempt.database).describe(attempt.database, attempt.table)?;
    let columns = description.table.columns().to_vec();
    let Some(mutated) = mutated(command, &columns)? else { return Ok(None) };
    let keys: Vec<String> = description.definition.iter().flat_map(|definition| definition.key_columns()).collect();
    if let Some(assignments) = &mutated.assignments {
        let is_checked = mutated.filter.is_some();
        assignments.iter().try_for_each(|assignment| check_assignment(assignment, &columns, &keys, is_checked))?;
    }
    Ok(Some((mutated, columns)))
}

/// Carries out a command.
///
/// # Errors
/// What is wrong with it, or with the rows.
pub(in crate::query) async fn run(attempt: &Attempt<'_>, command: &AlterCommand) -> Result<()> {
    let Attempt { session, database, table, context, .. } = *attempt;
    if let AlterCommand::MaterializeTtl { partition } = command {
        return ttl::materialize(session, database, table, partition.as_ref(), context).await;
    }
    if let Some(of) = rewriting_beside_rows(attempt, command).await? {
        return match of {
            Some(of) => attempt.rewrite_with(&of).await,
            None => Ok(()),
        };
    }
    let Some((mutated, columns)) = prepared(attempt, command)? else { return Ok(()) };
    let of = attempt.selection(mutated.partition.as_ref()).await?;
    if attempt.is_lightweight
        && let Some(filter) = &mutated.filter
    {
        let query = query(&mutated, &columns, table)?;
        return attempt.delete_rows(of, filter, &query).await;
    }
    let rewrite = attempt.begin(&RewriteOf::Parts(of)).await?;
    let pieces = rewrite.pieces(ROWS);
    // The table may have been altered meanwhile: what is rewritten has the columns of what is read.
    let columns = pieces.first().map_or(columns, |(source, _)| source.columns().to_vec());
    let query = query(&mutated, &columns, table)?;
    let probe = mutated.filter.as_ref().map(|filter| probe(filter, table)).transpose()?;
    for ((source, target), part) in pieces.into_iter().zip(named(&rewrite)) {
        attempt.note_part(part.as_ref());
        let own = session.with_stand_in(ROWS, source);
        if let Some(probe) = &probe
            && !has_rows(&own, probe, context).await?
        {
            continue;
        }
        write(&own, &query, &*target, context).await?;
    }
    attempt.commit(rewrite).await
}

/// The numbers of rows that a query finds, by the numbers of their parts, of which there are so many.
async fn positions(
    session: &Session,
    query: &ast::Query,
    parts: usize,
    context: &Arc<QueryContext>,
) -> Result<Vec<Vec<u32>>> {
    let mut found = vec![Vec::new(); parts];
    let plan = planning::plan(session, query, context).await?;
    let mut stream = session.server.engine.start(&plan, context.clone())?;
    while let Some(block) = stream.next().await {
        let block = block?;
        reserve(block.rows() * size_of::<u32>())?;
        let arrays = block.columns().iter().map(Column::to_array).collect::<Result<Vec<_>>>()?;
        let numbers = |at: usize| arrays.get(at).and_then(|array| array.as_primitive_opt::<UInt64Type>());
        let (Some(parts), Some(rows)) = (numbers(0), numbers(1)) else {
            return Err(Error::logical("positions of rows that are no numbers"));
        };
        for (part, row) in parts.values().iter().zip(rows.values()) {
            let row = u32::try_from(*row).map_err(|_| Error::logical("a row beyond the end of a part"))?;
            if let Some(of_part) = found.get_mut(*part as usize) {
                of_part.push(row);
            }
        }
    }
    Ok(found)
}

/// Writes anew what readers of the lake would not find since a column's type was altered.
pub(in crate::query) async fn rewrite_casts(
    session: &Session,
    database: &str,
    table: &str,
    context: &Arc<QueryContext>,
) -> Result<()> {
    let description = session.databases_of(database).describe(database, table)?;
    if !description.table.engine().ends_with("MergeTree") {
        return Ok(());
    }
    let attempt = Attempt::within_statement(session, (database, table), false, context);
    attempt.rewrite_with(&RewriteOf::Casts).await
}

/// Begins to rewrite the parts that a mutation is about, or all, once no merge is at the same ones.
pub(in crate::query) async fn begin(
    session: &Session,
    database: &str,
    table: &str,
    of: &RewriteOf,
    fence: Option<&MutationFence>,
) -> Result<Rewrite> {
    let databases = session.databases_of(database).clone();
    // What the background merges gives way, and comes again when the parts are chosen.
    let _hold = databases.hold_merges(database, table)?;
    for attempt in 0.. {
        match databases.rewrite(database, table, of, fence) {
            Err(error)
                if matches!(error.code, ErrorCode::PART_IS_TEMPORARILY_LOCKED | ErrorCode::NO_SUCH_DATA_PART)
                    && attempt < MERGE_WAITS_MAX =>
            {
                tokio::time::sleep(MERGE_WAIT).await;
            }
            begun => return begun,
        }
    }
    Err(Error::logical("a mutation that never began"))
}

async fn has_rows(session: &Session, query: &ast::Query, context: &Arc<QueryContext>) -> Result<bool> {
    let plan = planning::plan(session, query, context).await?;
    let mut stream = session.server.engine.start(&plan, context.clone())?;
    let mut rows = 0;
    while let Some(block) = stream.next().await {
        rows += block?.rows();
    }
    Ok(rows > 0)
}

/// Inserts what a query gives.
pub(in crate::query) async fn write(
    session: &Session,
    query: &ast::Query,
    target: &dyn Table,
    context: &Arc<QueryContext>,
) -> Result<()> {
    let plan: Plan = planning::plan(session, query, context).await?;
    session.server.engine.insert_select(&plan, target, context.clone())?.finished().await
}
