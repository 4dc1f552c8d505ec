//! ALTER TABLE: parts are dropped, detached and attached, codecs, comments, constraints and settings changed. Changes of columns' values are not here yet.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_planner::{plan_column_codec, plan_constraint, plan_index, plan_setting};
use squall_sql::ast::{self, AlterCommand, ColumnProperty, Literal, PartitionSelector};
use squall_storage::{DefinitionChange, PartCommand, PartSelection};
use squall_types::{Column, ColumnBuilder, DataType, Error, ErrorCode, Result, Value};

use super::drop_limit::DropLimit;
use super::statement::{identifier, refuse_cluster, table_name, temporary_table_name};
use super::system_command::run_blocking;
use super::{Answer, planning, required, show};
use crate::session::Session;

/// Runs ALTER TABLE.
pub(super) async fn run(session: &Session, statement: &ast::AlterTable, context: &Arc<QueryContext>) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let (database, table) = if statement.temporary {
        temporary_table_name(session, &statement.table)?
    } else {
        table_name(session, &statement.table)?
    };
    let mut commands = Vec::with_capacity(statement.commands.len());
    let mut changes = Vec::new();
    for command in &statement.commands {
        if definition_changes(session, command, &database, &table, &mut changes, context)? {
            continue;
        }
        let (command, selector) = part_command(session, command)?;
        let selection = selection(session, &database, &table, selector, context).await?;
        commands.push((command, selection));
    }
    if !changes.is_empty() && !commands.is_empty() {
        return Err(Error::not_implemented("ALTER TABLE of parts and of the definition at once"));
    }
    let (databases, limit) = (session.databases_of(&database).clone(), DropLimit::of_parts(session));
    run_blocking(move || {
        if !changes.is_empty() {
            return databases.alter_definition(&database, &table, &changes);
        }
        commands.into_iter().try_for_each(|(command, of)| {
            if matches!(command, PartCommand::Drop | PartCommand::Detach) {
                limit.check_parts(&*databases.table(&database, &table)?, &of)?;
            }
            databases.change_parts(&database, &table, command, &of)
        })
    })
    .await?;
    Ok(Answer::Done)
}

/// Runs CREATE INDEX.
pub(super) async fn create_index(
    session: &Session,
    statement: &ast::CreateIndex,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    if statement.unique {
        return Err(Error::not_implemented("CREATE UNIQUE INDEX"));
    }
    let add = AlterCommand::AddIndex {
        if_not_exists: statement.if_not_exists,
        index: statement.index.clone(),
        placement: ast::Placement::Last,
    };
    alter_alone(session, &statement.table, &statement.cluster, add, context).await
}

/// Runs DROP INDEX.
pub(super) async fn drop_index(
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

/// Adds what a command changes of a table's definition; `false` where it is about something else.
fn definition_changes(
    session: &Session,
    command: &AlterCommand,
    database: &str,
    table: &str,
    changes: &mut Vec<DefinitionChange>,
    context: &Arc<QueryContext>,
) -> Result<bool> {
    match command {
        AlterCommand::ModifyComment(comment) => changes.push(DefinitionChange::Comment(comment.as_str().into())),
        AlterCommand::CommentColumn { if_exists, column, comment } => {
            let name = identifier(session, column)?;
            let table = session.databases_of(database).table(database, table)?;
            if !*if_exists || table.columns().iter().any(|known| *known.name == *name) {
                changes.push(DefinitionChange::ColumnComment { column: name.into(), comment: comment.as_str().into() });
            }
        }
        AlterCommand::AddConstraint { if_not_exists, constraint } => {
            let table = session.databases_of(database).table(database, table)?;
            let constraint = planning::planner_now(session, context, |planner| {
                plan_constraint(constraint, table.columns(), planner)
            })?;
            changes.push(DefinitionChange::AddConstraint { constraint, if_not_exists: *if_not_exists });
        }
        AlterCommand::AddIndex { if_not_exists, index, .. } => {
            let table = session.databases_of(database).table(database, table)?;
            let index = planning::planner_now(session, context, |planner| plan_index(index, table.columns(), planner))?;
            changes.push(DefinitionChange::AddIndex { index, if_not_exists: *if_not_exists });
        }
        // Parts are read by the bounds that they hold as it is.
        AlterCommand::MaterializeIndex { if_exists, index, .. } | AlterCommand::ClearIndex { if_exists, index, .. } => {
            let name = identifier(session, index)?;
            let definition = session.databases_of(database).describe(database, table)?.definition;
            let mut known = definition.iter().flat_map(|definition| &definition.indices);
            if !*if_exists && !known.any(|index| *index.name == *name) {
                let message = format!("Unknown index: {name}");
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
            }
        }
        AlterCommand::DropIndex { if_exists, index } => {
            let name = identifier(session, index)?.into();
            changes.push(DefinitionChange::DropIndex { name, if_exists: *if_exists });
        }
        AlterCommand::DropConstraint { if_exists, constraint } => {
            let name = identifier(session, constraint)?.into();
            changes.push(DefinitionChange::DropConstraint { name, if_exists: *if_exists });
        }
        AlterCommand::ModifyColumn { if_exists, column, placement: None } => {
            let name = identifier(session, &column.name)?;
            let table = session.databases_of(database).table(database, table)?;
            match table.columns().iter().find(|known| *known.name == *name) {
                Some(known) => {
                    let codec = Some(plan_column_codec(column, known)?);
                    changes.push(DefinitionChange::Codec { column: known.name.clone(), codec });
                }
                None if *if_exists => {}
                None => changes.push(DefinitionChange::Codec { column: name.into(), codec: None }),
            }
        }
        AlterCommand::RemoveColumnProperty { if_exists, column, property: ColumnProperty::Codec } => {
            let name = identifier(session, column)?;
            let table = session.databases_of(database).table(database, table)?;
            if !*if_exists || table.columns().iter().any(|known| *known.name == *name) {
                changes.push(DefinitionChange::Codec { column: name.into(), codec: None });
            }
        }
        AlterCommand::ModifySetting(settings) => {
            for setting in settings {
                let (name, value) = plan_setting(setting)?;
                changes.push(DefinitionChange::Setting(name, value));
            }
        }
        AlterCommand::ResetSetting(names) => {
            changes.extend(names.iter().map(|name| DefinitionChange::ResetSetting(name.as_str().into())));
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn part_command<'a>(session: &Session, command: &'a AlterCommand) -> Result<(PartCommand, &'a PartitionSelector)> {
    Ok(match command {
        AlterCommand::DropPartition { detach: true, partition } => (PartCommand::Detach, partition),
        AlterCommand::DropPartition { detach: false, partition } => (PartCommand::Drop, partition),
        AlterCommand::AttachPartition { partition, from: None } => (PartCommand::Attach, partition),
        AlterCommand::DropDetachedPartition(partition) => {
            if !session.settings.allow_drop_detached {
                return Err(Error::new(
                    ErrorCode::SUPPORT_IS_DISABLED,
                    "Cannot execute query: DROP DETACHED PART is disabled (see allow_drop_detached setting).",
                ));
            }
            (PartCommand::DropDetached, partition)
        }
        _ => {
            return Err(Error::not_implemented(
                "ALTER TABLE of anything but parts, codecs, comments, constraints and settings",
            ));
        }
    })
}

/// The parts that a clause PART or PARTITION names.
pub(super) async fn selection(
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
    let mut found = None;
    while let Some(block) = stream.next().await {
        let block = block?;
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
