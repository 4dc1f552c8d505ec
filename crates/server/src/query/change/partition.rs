//! The commands of ALTER TABLE about whole partitions and single parts: DROP, DETACH, ATTACH, REPLACE, MOVE, FREEZE and their kin, one after
//! the other.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_sql::ast::{self, AlterCommand, MoveDestination, PartitionSelector};
use squall_storage::{FrozenPart, PartCommand, PartInfo, PartSelection, TableName};
use squall_types::{Column, Error, ErrorCode, Result};

use super::alter::selection;
use super::pending_mutation::wait_for_earlier;
use crate::query::Answer;
use crate::query::control::system_command::run_blocking;
use crate::query::definition::describe::answer;
use crate::query::definition::drop_limit::DropLimit;
use crate::query::statement::table_name;
use crate::session::Session;

/// What a command does.
enum Work {
    Parts(PartCommand),
    /// Parts of another table are put in; whether they take the place of those that are there.
    CopyFrom(TableName, bool),
    MoveTo(TableName),
    Freeze(Option<String>),
    Unfreeze(String),
}

/// A command about some parts.
pub(in crate::query) struct PartitionCommand {
    work: Work,
    of: PartSelection,
    /// Its words, as the answer names them.
    words: String,
}

impl PartitionCommand {
    /// Parts that go elsewhere go as the mutations leave them that were ordered before: there nobody would carry them out.
    async fn wait_for_mutations(
        &self,
        session: &Session,
        table: &TableName,
        context: &Arc<QueryContext>,
    ) -> Result<()> {
        let source = match &self.work {
            Work::CopyFrom(from, _) => from,
            Work::MoveTo(_) | Work::Freeze(_) | Work::Parts(PartCommand::Detach) => table,
            Work::Parts(PartCommand::Drop | PartCommand::Attach | PartCommand::DropDetached) | Work::Unfreeze(_) => {
                return Ok(());
            }
        };
        let uuid = session.databases_of(&source.database).describe(&source.database, &source.table)?.uuid;
        let is_concerned = |partition: &str| match &self.of {
            PartSelection::All => true,
            PartSelection::Partition(id) => **id == *partition,
            PartSelection::Part(part) => part.strip_prefix(partition).is_some_and(|rest| rest.starts_with('_')),
        };
        wait_for_earlier(&session.server, uuid, &is_concerned, &|| context.check_cancelled()).await
    }
}

/// What a command of ALTER TABLE does to parts, and to which; `None` where it is about something else.
///
/// # Errors
/// Where there is no such command here.
pub(in crate::query) async fn partition_command(
    session: &Session,
    (database, table): (&str, &str),
    command: &AlterCommand,
    context: &Arc<QueryContext>,
) -> Result<Option<PartitionCommand>> {
    let other = |name: &ast::TableName| -> Result<TableName> {
        let (database, table) = table_name(session, name)?;
        Ok(TableName::new(database, table))
    };
    let (work, selector, words) = match command {
        AlterCommand::DropPartition { detach: true, partition } => {
            (Work::Parts(PartCommand::Detach), Some(partition), "DETACH")
        }
        AlterCommand::DropPartition { detach: false, partition } => {
            (Work::Parts(PartCommand::Drop), Some(partition), "DROP")
        }
        AlterCommand::AttachPartition { partition, from: None } => {
            (Work::Parts(PartCommand::Attach), Some(partition), "ATTACH")
        }
        AlterCommand::DropDetachedPartition(partition) => {
            if !session.settings.allow_drop_detached {
                return Err(Error::new(
                    ErrorCode::SUPPORT_IS_DISABLED,
                    "Cannot execute query: DROP DETACHED PART is disabled (see allow_drop_detached setting).",
                ));
            }
            (Work::Parts(PartCommand::DropDetached), Some(partition), "DROP DETACHED")
        }
        AlterCommand::AttachPartition { partition, from: Some(from) } => {
            (Work::CopyFrom(other(from)?, false), Some(partition), "ATTACH")
        }
        AlterCommand::ReplacePartition { partition: PartitionSelector::All, .. } => {
            let message = "Only support DROP/DETACH/ATTACH PARTITION ALL currently.";
            return Err(Error::new(ErrorCode::SUPPORT_IS_DISABLED, message));
        }
        AlterCommand::ReplacePartition { partition, from } => {
            (Work::CopyFrom(other(from)?, true), Some(partition), "REPLACE")
        }
        AlterCommand::MovePartition { partition, to } => match to {
            MoveDestination::Table(to) => (Work::MoveTo(other(to)?), Some(partition), "MOVE"),
            MoveDestination::Disk(name) => return Err(nowhere_else("disk", name)),
            MoveDestination::Volume(name) => return Err(nowhere_else("volume", name)),
            MoveDestination::Shard(_) => return Err(Error::not_implemented("MOVE PARTITION TO SHARD")),
        },
        AlterCommand::FetchPartition { .. } => {
            return Err(Error::not_implemented("FETCH PARTITION is not supported by storage MergeTree."));
        }
        AlterCommand::Freeze { partition, name } => (Work::Freeze(name.clone()), partition.as_ref(), "FREEZE"),
        AlterCommand::Unfreeze { partition, name } => {
            let name = name.clone().ok_or_else(|| {
                Error::new(ErrorCode::BAD_ARGUMENTS, "UNFREEZE needs the name that the parts were frozen under")
            })?;
            (Work::Unfreeze(name), partition.as_ref(), "UNFREEZE")
        }
        _ => return Ok(None),
    };
    let kind = match selector {
        None | Some(PartitionSelector::All) => "ALL",
        Some(PartitionSelector::Part(_)) => "PART",
        Some(PartitionSelector::Value(_) | PartitionSelector::Id(_)) => "PARTITION",
    };
    let of = match selector {
        Some(selector) => selection(session, database, table, selector, context).await?,
        None => PartSelection::All,
    };
    Ok(Some(PartitionCommand { work, of, words: format!("{words} {kind}") }))
}

/// There is one disk in one volume.
fn nowhere_else(kind: &str, name: &str) -> Error {
    let message = match name {
        "default" => format!("All parts of the partition are already on {kind} '{name}'."),
        _ => format!("No such {kind} `{name}` in storage policy `default`."),
    };
    Error::new(ErrorCode::UNKNOWN_DISK, message)
}

/// Refuses to move more parts at once than `max_parts_to_move`.
fn check_moved(parts: &[PartInfo], of: &PartSelection, max: u64) -> Result<()> {
    let moved = parts.iter().filter(|part| of.has(&part.name, &part.partition_id)).count();
    if max == 0 || moved as u64 <= max {
        return Ok(());
    }
    let message = format!(
        "Cannot move {moved} parts at once, the limit is {max}. Wait until some parts are merged and retry, move smaller partitions, or \
         increase the setting 'max_parts_to_move'."
    );
    Err(Error::new(ErrorCode::TOO_MANY_PARTS, message))
}

/// Carries commands out, one after the other.
///
/// # Errors
/// The first command's that fails; those before it are done.
pub(in crate::query) async fn run(
    session: &Session,
    (database, table): (&str, &str),
    commands: Vec<PartitionCommand>,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    let (databases, limit) = (session.databases_of(database).clone(), DropLimit::of_parts(session));
    let name = TableName::new(database, table);
    for command in &commands {
        command.wait_for_mutations(session, &name, context).await?;
    }
    let moved_max = context.settings.max_parts_to_move;
    let takes_nothing = context.settings.allow_replace_partition_from_empty_source;
    let frozen = run_blocking(move || {
        let mut frozen: Vec<(String, FrozenPart)> = Vec::new();
        for PartitionCommand { work, of, words } in commands {
            match work {
                Work::Parts(command) => {
                    if matches!(command, PartCommand::Drop | PartCommand::Detach) {
                        limit.check_parts(&*databases.table(&name.database, &name.table)?, &of)?;
                    }
                    databases.change_parts(&name.database, &name.table, command, &of)?;
                }
                Work::CopyFrom(from, replaces) => {
                    if replaces {
                        limit.check_parts(&*databases.table(&name.database, &name.table)?, &of)?;
                    }
                    databases.copy_partition(&from, &name, &of, replaces, takes_nothing)?;
                }
                Work::MoveTo(to) => {
                    check_moved(&databases.table(&name.database, &name.table)?.parts(), &of, moved_max)?;
                    databases.move_partition(&name, &to, &of)?;
                }
                Work::Freeze(backup) => {
                    let parts = databases.freeze(&name, &of, backup.as_deref())?;
                    frozen.extend(parts.into_iter().map(|part| (words.clone(), part)));
                }
                Work::Unfreeze(backup) => {
                    let parts = databases.unfreeze(&name, &of, &backup)?;
                    frozen.extend(parts.into_iter().map(|part| (words.clone(), part)));
                }
            }
        }
        Ok(frozen)
    })
    .await?;
    if frozen.is_empty() || !context.settings.alter_partition_verbose_result {
        return Ok(Answer::Done);
    }
    let strings = |of: &dyn Fn(&(String, FrozenPart)) -> String| Column::from_strings(frozen.iter().map(of));
    answer([
        ("command_type", strings(&|(words, _)| words.clone())),
        ("partition_id", strings(&|(_, part)| part.partition_id.to_string())),
        ("part_name", strings(&|(_, part)| part.name.to_string())),
        ("backup_name", strings(&|(_, part)| part.backup.clone())),
        ("backup_path", strings(&|(_, part)| part.folder.to_string_lossy().into_owned())),
        ("part_backup_path", strings(&|(_, part)| part.path.to_string_lossy().into_owned())),
    ])
}
