//! ALTER TABLE: commands about what a table is defined as, carried out together, and those about parts, one after the other.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_planner::Alteration;
use squall_sql::ast::{self, AlterCommand, Literal, PartitionSelector};
use squall_storage::PartSelection;
use squall_types::{Column, ColumnBuilder, DataType, Error, ErrorCode, Result, Value};
use uuid::Uuid;

use super::alteration::alter;
use super::mutation;
use super::partition;
use super::partition::partition_command;
use crate::query::Answer;
use crate::query::control::system_command::run_blocking;
use crate::query::definition::{required, show};
use crate::query::insertion::cascade::table_of_parts;
use crate::query::plan::planning;
use crate::query::statement::{identifier, refuse_cluster, table_name, temporary_table_name};
use crate::session::Session;

/// How often an ALTER is planned anew because another one came before it.
const ATTEMPTS_MAX: usize = 32;

/// Runs ALTER TABLE.
pub(in crate::query) async fn run(
    session: &Session,
    statement: &ast::AlterTable,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let (database, table) = if statement.temporary {
        temporary_table_name(session, &statement.table)?
    } else {
        table_name(session, &statement.table)?
    };
    let (mut changes, mut mutations, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for command in &statement.commands {
        if mutation::is_mutation(command) {
            mutations.push(command);
            continue;
        }
        match partition_command(session, (&database, &table), command, context).await? {
            Some(command) => parts.push(command),
            None => changes.push(command),
        }
    }
    check_renames(session, &changes)?;
    alter_definition(session, &database, &table, &changes, context).await?;
    if changes.iter().any(|command| matches!(command, AlterCommand::ModifyColumn { .. })) {
        mutation::rewrite_casts(session, &database, &table, context).await?;
    }
    let changes_ttl = |command: &&AlterCommand| match command {
        AlterCommand::ModifyTtl(_) => true,
        AlterCommand::ModifyColumn { column, .. } | AlterCommand::AddColumn { column, .. } => column.ttl.is_some(),
        _ => false,
    };
    if context.settings.materialize_ttl_after_modify && changes.iter().any(changes_ttl) {
        let materialize = AlterCommand::MaterializeTtl { partition: None };
        mutation::run_now(session, (&database, &table), &[&materialize], false, context).await?;
    }
    if mutations.is_empty() && parts.is_empty() {
        return Ok(Answer::Done);
    }
    let (database, table) = table_of_parts(session, database, table)?;
    if !mutations.is_empty() {
        mutation::run_all(session, &database, &table, &mutations, context).await?;
    }
    if parts.is_empty() {
        return Ok(Answer::Done);
    }
    partition::run(session, (&database, &table), parts, context).await
}

/// Refuses what is done with a column under the name that it gets in the same statement.
fn check_renames(session: &Session, commands: &[&AlterCommand]) -> Result<()> {
    let refused = |message: String| Err(Error::new(ErrorCode::NOT_IMPLEMENTED, message));
    let both =
        |name: &str| refused(format!("Cannot rename and modify the same column `{name}` in a single ALTER query"));
    let (mut given, mut modified) = (Vec::new(), Vec::new());
    for command in commands {
        match command {
            AlterCommand::RenameColumn { column, to, .. } => {
                let column = identifier(session, column)?;
                if given.contains(&column) {
                    return refused(
                        "Transitive renames in a single ALTER query are not allowed (don't make sense)".into(),
                    );
                }
                if modified.contains(&column) {
                    return both(&column);
                }
                given.push(identifier(session, to)?);
            }
            AlterCommand::ModifyColumn { column, .. } => {
                let column = identifier(session, &column.name)?;
                if given.contains(&column) {
                    return both(&column);
                }
                modified.push(column);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Carries out the commands that change what a table is defined as, all at once.
async fn alter_definition(
    session: &Session,
    database: &str,
    table: &str,
    commands: &[&AlterCommand],
    context: &Arc<QueryContext>,
) -> Result<()> {
    if commands.is_empty() {
        return Ok(());
    }
    for attempt in 0.. {
        let description = session.databases_of(database).describe(database, table)?;
        let engine = description.table.engine().to_owned();
        let Some(before) = description.definition else {
            return Err(Error::not_implemented(format!("ALTER of storage {engine}")));
        };
        let mut alteration = Alteration::new(&before);
        for command in commands {
            refuse_mutated(session, description.uuid, command)?;
            alter(session, database, command, &mut alteration, context)?;
        }
        planning::planner_now(session, context, |planner| alteration.check(planner))?;
        let databases = session.databases_of(database).clone();
        let (database, table) = (database.to_owned(), table.to_owned());
        let altered = run_blocking(move || databases.alter_table(&database, &table, &before, alteration)).await;
        match altered {
            Err(error) if error.code == ErrorCode::CANNOT_ASSIGN_ALTER && attempt < ATTEMPTS_MAX => {}
            altered => return altered,
        }
    }
    Ok(())
}

/// Runs CREATE INDEX.
pub(in crate::query) async fn create_index(
    session: &Session,
    statement: &ast::CreateIndex,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    if statement.unique && !context.settings.create_index_ignore_unique {
        return Err(Error::new(
            ErrorCode::NOT_IMPLEMENTED,
            "CREATE UNIQUE INDEX is not supported. SET create_index_ignore_unique=1 to ignore this UNIQUE keyword.",
        ));
    }
    if statement.index.index_type.is_none() {
        if context.settings.allow_create_index_without_type {
            return Ok(Answer::Done);
        }
        return Err(Error::new(
            ErrorCode::INCORRECT_QUERY,
            "CREATE INDEX without TYPE is forbidden. SET allow_create_index_without_type=1 to ignore this statements",
        ));
    }
    let add = AlterCommand::AddIndex {
        if_not_exists: statement.if_not_exists,
        index: statement.index.clone(),
        placement: ast::Placement::Last,
    };
    alter_alone(session, &statement.table, &statement.cluster, add, context).await
}

/// Runs DROP INDEX.
pub(in crate::query) async fn drop_index(
    session: &Session,
    statement: &ast::DropObject,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    let Some(table) = &statement.table else {
        return Err(Error::new(ErrorCode::SYNTAX_ERROR, "DROP INDEX needs a table: DROP INDEX name ON table"));
    };
    let drop = AlterCommand::DropIndex { if_exists: statement.if_exists, index: statement.name.clone() };
    alter_alone(session, table, &statement.cluster, drop, context).await
}

/// Runs ALTER TABLE of one command, with the rights that it needs.
async fn alter_alone(
    session: &Session,
    table: &ast::TableName,
    cluster: &ast::OnCluster,
    command: AlterCommand,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    let mut statement = ast::AlterTable::of(table.clone(), vec![command]);
    statement.cluster.clone_from(cluster);
    let statement = ast::Statement::AlterTable(Box::new(statement));
    required::check(session, &statement)?;
    match &statement {
        ast::Statement::AlterTable(statement) => run(session, statement, context).await,
        _ => Err(Error::logical("an ALTER is none")),
    }
}

/// Refuses to take away or rename a column that a mutation names which is not done.
fn refuse_mutated(session: &Session, uuid: Uuid, command: &AlterCommand) -> Result<()> {
    let (verb, column) = match command {
        AlterCommand::DropColumn { column, .. } => ("drop", column),
        AlterCommand::RenameColumn { column, .. } => ("rename", column),
        _ => return Ok(()),
    };
    let name = identifier(session, column)?;
    let pending = session.server.mutations.pending(uuid);
    let Some(mutation) = pending.iter().find(|mutation| mutation::names(mutation, &name)) else { return Ok(()) };
    let message = format!(
        "Cannot {verb} column {name} because it's affected by mutation with ID '{id}' which is not finished yet. Wait this mutation, or KILL \
         it with command \"KILL MUTATION WHERE mutation_id = '{id}'\"",
        id = mutation.id
    );
    Err(Error::new(ErrorCode::BAD_ARGUMENTS, message))
}

/// The parts that a clause PART or PARTITION names.
pub(in crate::query) async fn selection(
    session: &Session,
    database: &str,
    table: &str,
    selector: &PartitionSelector,
    context: &Arc<QueryContext>,
) -> Result<PartSelection> {
    Ok(match selector {
        PartitionSelector::All => PartSelection::All,
        PartitionSelector::Id(id) => PartSelection::Partition(text(id)?),
        PartitionSelector::Part(name) => PartSelection::Part(text(name)?),
        PartitionSelector::Value(value) => {
            let values = evaluate(session, value, context).await?;
            PartSelection::Partition(session.server.databases.partition_id(database, table, &values)?)
        }
    })
}

fn text(expression: &ast::Expression) -> Result<Arc<str>> {
    match expression.as_literal() {
        Some(Literal::String(bytes)) => Ok(String::from_utf8_lossy(bytes).into()),
        _ => Err(Error::new(ErrorCode::BAD_ARGUMENTS, "The name of a part or partition must be a string")),
    }
}

/// The values of a partition key: one, or those of a tuple.
async fn evaluate(session: &Session, value: &ast::Expression, context: &Arc<QueryContext>) -> Result<Vec<Column>> {
    let select = show::query(&format!("SELECT {}", squall_sql::format_expression(value)))?;
    let plan = planning::plan(session, &select, context).await?;
    let mut stream = session.server.engine.start(&plan, context.clone())?;
    let (mut found, mut rows) = (None, 0);
    while let Some(block) = stream.next().await {
        let block = block?;
        rows += block.rows();
        if rows > 1 {
            let message = format!("A partition is not a constant expression: {}", squall_sql::format_expression(value));
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        if block.rows() > 0 && !block.columns().is_empty() {
            found = Some(block.column(0).materialize()?.slice(0, 1));
        }
    }
    let column = found.ok_or_else(|| Error::new(ErrorCode::INVALID_PARTITION_VALUE, "The partition has no value"))?;
    let (DataType::Tuple(elements), Value::Tuple(values)) = (column.data_type(), column.value(0)) else {
        return Ok(vec![column]);
    };
    let element = |(element, value): (&squall_types::TupleElement, &Value)| {
        let mut builder = ColumnBuilder::new(element.data_type.clone());
        builder.append(value)?;
        builder.finish()
    };
    elements.iter().zip(values.iter()).map(element).collect()
}
