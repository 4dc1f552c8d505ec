//! Mutations: ALTER TABLE … UPDATE and DELETE, DELETE FROM and UPDATE. A query is run over each part that holds rows that meet the
//! condition, and what it gives takes the part's place. A statement that returns is done, whatever `mutations_sync` says.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use squall_engine::QueryContext;
use squall_planner::{ColumnDescription, DefaultKind, Plan};
use squall_sql::ast::{self, AlterCommand, Assignment, PartitionSelector};
use squall_storage::{PartSelection, Rewrite, RewriteOf, Table, TableName};
use squall_types::{Column, Error, ErrorCode, Result, Value, reserve};

use super::alter::selection;
use super::statement::{identifier, refuse_cluster, table_name};
use super::system_command::run_blocking;
use super::{Answer, planning, show, ttl};
use crate::session::Session;

/// The name under which a mutation's query reads the rows that it rewrites.
pub(super) const ROWS: &str = "_rows_to_rewrite";
/// How long a mutation waits for a merge of the same parts before it looks again.
const MERGE_WAIT: Duration = Duration::from_millis(20);
/// How often it does.
const MERGE_WAITS_MAX: usize = 3000;

/// Runs DELETE FROM.
pub(super) async fn delete(session: &Session, statement: &ast::Delete, context: &Arc<QueryContext>) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let (database, table) = table_name(session, &statement.table)?;
    let command = AlterCommand::Delete { partition: statement.partition.clone(), filter: statement.filter.clone() };
    run_as(session, &database, &table, &[&command], true, context).await?;
    Ok(Answer::Done)
}

/// Runs UPDATE.
pub(super) async fn update(session: &Session, statement: &ast::Update, context: &Arc<QueryContext>) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let (database, table) = table_name(session, &statement.table)?;
    let command = AlterCommand::Update {
        assignments: statement.assignments.clone(),
        partition: statement.partition.clone(),
        filter: statement.filter.clone(),
    };
    run_all(session, &database, &table, &[&command], context).await?;
    Ok(Answer::Done)
}

/// What a command makes of rows.
struct Mutation {
    partition: Option<PartitionSelector>,
    /// Which rows it is about; all where there is none.
    filter: Option<ast::Expression>,
    /// New values; none where the rows go.
    assignments: Option<Vec<Assignment>>,
}

/// The mutation that a command is; `None` where it is none.
fn mutation(command: &AlterCommand, columns: &[ColumnDescription]) -> Result<Option<Mutation>> {
    let find = |name: &str| columns.iter().find(|column| *column.name == *name);
    Ok(Some(match command {
        AlterCommand::Delete { partition, filter } => {
            Mutation { partition: partition.clone(), filter: Some(filter.clone()), assignments: None }
        }
        AlterCommand::Update { assignments, partition, filter } => Mutation {
            partition: partition.clone(),
            filter: Some(filter.clone()),
            assignments: Some(assignments.clone()),
        },
        AlterCommand::ClearColumn { if_exists, column, partition: Some(partition) } => {
            let name = &column.value;
            let Some(known) = find(name) else {
                if *if_exists {
                    return Ok(None);
                }
                let message = format!("Wrong column name. Cannot find column `{name}` to clear");
                return Err(Error::new(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, message));
            };
            let expression = match &known.default {
                Some(default) => parse(&default.expression)?,
                None => parse(&format!("defaultValueOfTypeName({})", literal(known)))?,
            };
            let assignment = Assignment { column: name.clone(), expression };
            Mutation { partition: Some(partition.clone()), filter: None, assignments: Some(vec![assignment]) }
        }
        AlterCommand::MaterializeColumn { column, partition } => {
            let name = &column.value;
            let Some(known) = find(name) else {
                let message = format!("Wrong column name. Cannot find column `{name}` to materialize");
                return Err(Error::new(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, message));
            };
            let Some(default) = &known.default else {
                let message = format!("Cannot materialize column `{name}`: it has no default expression");
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
            };
            // Rows keep the value of a DEFAULT that they were given.
            let expression = match default.kind {
                DefaultKind::Default => ast::Expression::identifier(name.clone()),
                DefaultKind::Materialized | DefaultKind::Alias | DefaultKind::Ephemeral => parse(&default.expression)?,
            };
            let assignment = Assignment { column: name.clone(), expression };
            Mutation { partition: partition.clone(), filter: None, assignments: Some(vec![assignment]) }
        }
        // What was updated is so in the parts already.
        _ => return Ok(None),
    }))
}

/// Whether a command is carried out here.
pub(super) fn is_mutation(command: &AlterCommand) -> bool {
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

/// Carries out MATERIALIZE INDEX, or CLEAR INDEX: parts are written anew with the index, or without it.
async fn run_index(
    session: &Session,
    database: &str,
    table: &str,
    (index, partition, if_exists): (&ast::Identifier, Option<&PartitionSelector>, bool),
    clears: bool,
    context: &Arc<QueryContext>,
) -> Result<()> {
    let name = identifier(session, index)?;
    let description = session.databases_of(database).describe(database, table)?;
    let is_known = description.definition.iter().any(|known| known.indices.iter().any(|index| *index.name == *name));
    if !is_known && if_exists {
        return Ok(());
    }
    let parts = match partition {
        Some(partition) => selection(session, database, table, partition, context).await?,
        None => PartSelection::All,
    };
    let of = RewriteOf::Index { parts, name: (&*name).into(), clears };
    let rewrite = begin(session, database, table, &of).await?;
    write_all_anew(session, table, rewrite, context).await
}

/// Carries out MATERIALIZE PROJECTION, or CLEAR PROJECTION: parts are written anew with the projection, or without it.
async fn run_projection(
    session: &Session,
    database: &str,
    table: &str,
    (projection, partition, if_exists): (&ast::Identifier, Option<&PartitionSelector>, bool),
    clears: bool,
    context: &Arc<QueryContext>,
) -> Result<()> {
    let name = identifier(session, projection)?;
    let description = session.databases_of(database).describe(database, table)?;
    let mut known = description.definition.iter().flat_map(|definition| &definition.projections);
    if if_exists && !known.any(|known| *known.name == *name) {
        return Ok(());
    }
    let parts = match partition {
        Some(partition) => selection(session, database, table, partition, context).await?,
        None => PartSelection::All,
    };
    let of = RewriteOf::Projection { parts, name: (&*name).into(), clears };
    let rewrite = begin(session, database, table, &of).await?;
    write_all_anew(session, table, rewrite, context).await
}

/// Writes the rows of all pieces as they are.
async fn write_all_anew(session: &Session, table: &str, rewrite: Rewrite, context: &Arc<QueryContext>) -> Result<()> {
    let all = Mutation { partition: None, filter: None, assignments: Some(Vec::new()) };
    for (source, target) in rewrite.pieces(ROWS) {
        let query = query(&all, source.columns(), table)?;
        write(&session.with_stand_in(ROWS, source), &query, &*target, context).await?;
    }
    run_blocking(move || rewrite.commit()).await
}

/// Carries out the commands of a mutation, one after the other; `system.mutations` shows it.
pub(super) async fn run_all(
    session: &Session,
    database: &str,
    table: &str,
    commands: &[&AlterCommand],
    context: &Arc<QueryContext>,
) -> Result<()> {
    run_as(session, database, table, commands, false, context).await
}

/// The same; `is_lightweight` where it was not ALTER TABLE that deletes.
async fn run_as(
    session: &Session,
    database: &str,
    table: &str,
    commands: &[&AlterCommand],
    is_lightweight: bool,
    context: &Arc<QueryContext>,
) -> Result<()> {
    let uuid = session.databases_of(database).describe(database, table)?.uuid;
    let shown = commands.iter().map(|command| shown(command)).collect();
    let turn = session.server.mutations.begin(TableName::new(database, table), uuid, shown, context);
    for command in commands {
        run(session, database, table, command, is_lightweight, context).await?;
    }
    turn.finish();
    Ok(())
}

/// A command in SQL, as ClickHouse shows it.
fn shown(command: &AlterCommand) -> String {
    let statement = ast::AlterTable::of(ast::TableName::new("t"), vec![command.clone()]);
    let text = squall_sql::format_one_line(&ast::Statement::AlterTable(Box::new(statement)));
    text.strip_prefix("ALTER TABLE t ").map_or(text.clone(), str::to_owned)
}

/// Carries out a command.
async fn run(
    session: &Session,
    database: &str,
    table: &str,
    command: &AlterCommand,
    is_lightweight: bool,
    context: &Arc<QueryContext>,
) -> Result<()> {
    if session.server.config.load().server.disable_insertion_and_mutation && database != "system" {
        return Err(Error::new(ErrorCode::QUERY_IS_PROHIBITED, "Mutations are prohibited"));
    }
    match command {
        AlterCommand::MaterializeTtl { partition } => {
            return ttl::materialize(session, database, table, partition.as_ref(), context).await;
        }
        AlterCommand::ApplyDeletedMask { partition } => {
            let of = match partition {
                Some(partition) => selection(session, database, table, partition, context).await?,
                None => PartSelection::All,
            };
            let rewrite = begin(session, database, table, &RewriteOf::Deleted(of)).await?;
            return write_all_anew(session, table, rewrite, context).await;
        }
        AlterCommand::MaterializeIndex { if_exists, index, partition } => {
            let of = (index, partition.as_ref(), *if_exists);
            return run_index(session, database, table, of, false, context).await;
        }
        AlterCommand::ClearIndex { if_exists, index, partition } => {
            let of = (index, partition.as_ref(), *if_exists);
            return run_index(session, database, table, of, true, context).await;
        }
        AlterCommand::MaterializeProjection { if_exists, projection, partition } => {
            let of = (projection, partition.as_ref(), *if_exists);
            return run_projection(session, database, table, of, false, context).await;
        }
        AlterCommand::ClearProjection { if_exists, projection, partition } => {
            let of = (projection, partition.as_ref(), *if_exists);
            return run_projection(session, database, table, of, true, context).await;
        }
        _ => {}
    }
    let description = session.databases_of(database).describe(database, table)?;
    let columns = description.table.columns().to_vec();
    let Some(mutation) = mutation(command, &columns)? else { return Ok(()) };
    let keys: Vec<String> = description.definition.iter().flat_map(|definition| definition.key_columns()).collect();
    if let Some(assignments) = &mutation.assignments {
        let is_checked = mutation.filter.is_some();
        assignments.iter().try_for_each(|assignment| check_assignment(assignment, &columns, &keys, is_checked))?;
    }
    let of = match &mutation.partition {
        Some(partition) => selection(session, database, table, partition, context).await?,
        None => PartSelection::All,
    };
    if is_lightweight && let Some(filter) = &mutation.filter {
        let query = query(&mutation, &columns, table)?;
        return delete_rows(session, (database, table), of, filter, &query, context).await;
    }
    let of = RewriteOf::Parts(of);
    let rewrite = begin(session, database, table, &of).await?;
    let pieces = rewrite.pieces(ROWS);
    // The table may have been altered meanwhile: what is rewritten has the columns of what is read.
    let columns = pieces.first().map_or(columns, |(source, _)| source.columns().to_vec());
    let query = query(&mutation, &columns, table)?;
    let probe = mutation.filter.as_ref().map(|filter| probe(filter, table)).transpose()?;
    if pieces.is_empty() {
        // Nothing to do, but what is wrong is said all the same.
        return Ok(());
    }
    for (source, target) in pieces {
        let own = session.with_stand_in(ROWS, source);
        if let Some(probe) = &probe
            && !has_rows(&own, probe, context).await?
        {
            continue;
        }
        write(&own, &query, &*target, context).await?;
    }
    run_blocking(move || rewrite.commit()).await
}

/// Deletes rows that meet a condition. Those of a part are named beside it, which is then passed over; where they are most of the part, or many
/// and scattered, the part is written anew by `rest`, which gives the other rows.
async fn delete_rows(
    session: &Session,
    (database, table): (&str, &str),
    of: PartSelection,
    filter: &ast::Expression,
    rest: &ast::Query,
    context: &Arc<QueryContext>,
) -> Result<()> {
    let mut rewrite = begin(session, database, table, &RewriteOf::PartsOfDelete(of)).await?;
    let pieces = rewrite.pieces(ROWS);
    let mut dense: Vec<usize> = (0..pieces.len()).collect();
    if let Some(source) = rewrite.source(ROWS) {
        // As it is written, so that indexes understand it.
        let filter = squall_sql::format_expression(filter);
        let find = format!("SELECT _part_index, _part_offset FROM {ROWS} AS {} WHERE {filter}", quoted(table));
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
    run_blocking(move || rewrite.commit()).await
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
pub(super) async fn rewrite_casts(
    session: &Session,
    database: &str,
    table: &str,
    context: &Arc<QueryContext>,
) -> Result<()> {
    let description = session.databases_of(database).describe(database, table)?;
    if !description.table.engine().ends_with("MergeTree") {
        return Ok(());
    }
    let rewrite = begin(session, database, table, &RewriteOf::Casts).await?;
    write_all_anew(session, table, rewrite, context).await
}

/// Begins once no merge is at the same parts.
pub(super) async fn begin(session: &Session, database: &str, table: &str, of: &RewriteOf) -> Result<Rewrite> {
    let databases = session.databases_of(database).clone();
    // What the background merges gives way, and comes again when the parts are chosen.
    let _hold = databases.hold_merges(database, table)?;
    for attempt in 0.. {
        match databases.rewrite(database, table, of) {
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

fn check_assignment(
    assignment: &Assignment,
    columns: &[ColumnDescription],
    keys: &[String],
    is_checked: bool,
) -> Result<()> {
    let name = &assignment.column;
    let Some(column) = columns.iter().find(|column| *column.name == **name) else {
        let message = format!("There is no column {name} in table");
        return Err(Error::new(ErrorCode::NO_SUCH_COLUMN_IN_TABLE, message));
    };
    if keys.iter().any(|key| key == name) {
        let message = format!("Cannot UPDATE key column `{name}`");
        return Err(Error::new(ErrorCode::CANNOT_UPDATE_COLUMN, message));
    }
    let kind = column.default.as_ref().map(|default| default.kind);
    match kind {
        Some(DefaultKind::Alias | DefaultKind::Ephemeral) => {
            let message = format!("Cannot UPDATE column `{name}`, which is not stored");
            Err(Error::new(ErrorCode::CANNOT_UPDATE_COLUMN, message))
        }
        Some(DefaultKind::Materialized) if is_checked => {
            let message = format!("Cannot UPDATE materialized column `{name}`");
            Err(Error::new(ErrorCode::CANNOT_UPDATE_COLUMN, message))
        }
        _ => Ok(()),
    }
}

fn parse(sql: &str) -> Result<ast::Expression> {
    squall_sql::parse_expression(sql, &squall_sql::ParserLimits::default())
        .map_err(|error| Error::new(ErrorCode::SYNTAX_ERROR, error.to_string()))
}

/// The name of a column's type in quotes.
fn literal(column: &ColumnDescription) -> String {
    Value::string(column.data_type.to_string()).to_string()
}

pub(super) fn quoted(name: &str) -> String {
    squall_sql::format_expression(&ast::Expression::identifier(name))
}

/// A condition under which NULL is no.
fn condition(filter: &ast::Expression) -> String {
    format!("ifNull({}, 0) != 0", squall_sql::format_expression(filter))
}

/// The columns that parts have.
pub(super) fn stored_columns(columns: &[ColumnDescription]) -> Vec<&ColumnDescription> {
    let is_stored = |column: &&ColumnDescription| {
        let kind = column.default.as_ref().map(|default| default.kind);
        !matches!(kind, Some(DefaultKind::Alias | DefaultKind::Ephemeral))
    };
    columns.iter().filter(is_stored).collect()
}

/// The query over the rows of a piece that gives what stands for them: all stored columns in their order.
fn query(mutation: &Mutation, columns: &[ColumnDescription], table: &str) -> Result<ast::Query> {
    let stored = stored_columns(columns);
    let from = format!("FROM {ROWS} AS {}", quoted(table));
    let Some(assignments) = &mutation.assignments else {
        let names: Vec<String> = stored.iter().map(|column| quoted(&column.name)).collect();
        let kept =
            mutation.filter.as_ref().map_or_else(|| "0".to_owned(), |filter| format!("NOT ({})", condition(filter)));
        return show::query(&format!("SELECT {} {from} WHERE {kept}", names.join(", ")));
    };
    let of = |name: &str| assignments.iter().find(|assignment| *assignment.column == *name);
    let value = |column: &&ColumnDescription| {
        let name = quoted(&column.name);
        let Some(assignment) = of(&column.name) else { return name };
        let data_type = literal(column);
        let new = format!("CAST({}, {data_type})", squall_sql::format_expression(&assignment.expression));
        match &mutation.filter {
            Some(filter) => {
                format!("CAST(if({}, {new}, {name}), {data_type}) AS {}", condition(filter), unused(column))
            }
            None => format!("{new} AS {}", unused(column)),
        }
    };
    // Under names of their own: an alias must not be what another column's new value refers to.
    let values: Vec<String> = stored.iter().map(value).collect();
    // Columns that are computed of changed ones follow them.
    let depends = |column: &&&ColumnDescription| {
        let default = column.default.as_ref().filter(|default| default.kind == DefaultKind::Materialized);
        default.is_some_and(|default| {
            of(&column.name).is_none()
                && assignments
                    .iter()
                    .any(|assignment| squall_planner::names_column(&default.expression, &assignment.column))
        })
    };
    if !stored.iter().any(|column| depends(&column)) {
        return show::query(&format!("SELECT {} {from}", values.join(", ")));
    }
    let renamed = stored.iter().map(|column| match of(&column.name) {
        Some(_) => format!("{} AS {}", unused(column), quoted(&column.name)),
        None => quoted(&column.name),
    });
    let last = stored.iter().map(|column| match depends(&column) {
        true => {
            let default = column.default.as_ref().map_or("", |default| &*default.expression);
            format!("CAST({default}, {})", literal(column))
        }
        false => quoted(&column.name),
    });
    show::query(&format!(
        "SELECT {} FROM (SELECT {} FROM (SELECT {} {from}))",
        last.collect::<Vec<_>>().join(", "),
        renamed.collect::<Vec<_>>().join(", "),
        values.join(", ")
    ))
}

/// A name for a column's new value.
fn unused(column: &ColumnDescription) -> String {
    quoted(&format!("_new_{}", column.name))
}

/// A query that gives a row where a piece has one that is to change.
fn probe(filter: &ast::Expression, table: &str) -> Result<ast::Query> {
    let filter = squall_sql::format_expression(filter);
    show::query(&format!("SELECT 1 FROM {ROWS} AS {} WHERE {filter} LIMIT 1", quoted(table)))
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
pub(super) async fn write(
    session: &Session,
    query: &ast::Query,
    target: &dyn Table,
    context: &Arc<QueryContext>,
) -> Result<()> {
    let plan: Plan = planning::plan(session, query, context).await?;
    session.server.engine.insert_select(&plan, target, context.clone())?.finished().await
}
