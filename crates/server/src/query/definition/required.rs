//! What statements that change tables need, whatever of them is carried out: who may not do something is told so before anything else is
//! said of it.

use squall_sql::ast::{
    AlterCommand, Backup, BackupElementKind, CheckTarget, CreateMode, CreateSource, CreateTable, Expression,
    ExpressionKind, MoveDestination, ObjectKind, Statement, TableName,
};
use squall_types::Result;

use crate::access::{Privilege, PrivilegeSet, Target};
use crate::query::statement::{identifier, stored_table_name, table_name};
use crate::session::Session;

/// Checks that the session may run a statement, as far as its text tells what it needs.
///
/// # Errors
/// `ACCESS_DENIED`.
pub(in crate::query) fn check(session: &Session, statement: &Statement) -> Result<()> {
    use Privilege as P;
    let access = &session.access;
    let on_table = |privilege: Privilege, name: &TableName| {
        let (database, table) = table_name(session, name)?;
        access.check(privilege, &[&database, &table])
    };
    match statement {
        Statement::CreateTable(statement) => check_create(session, statement),
        Statement::CreateView(statement) if statement.temporary => access.check(P::CreateTemporaryTable, &[]),
        Statement::CreateView(statement) => {
            let (database, view) = stored_table_name(session, &statement.name)?;
            access.check(P::CreateView, &[&database, &view])?;
            match statement.mode {
                CreateMode::CreateOrReplace | CreateMode::Replace => access.check(P::DropView, &[&database, &view]),
                CreateMode::Create | CreateMode::IfNotExists => Ok(()),
            }
        }
        Statement::CreateFunction(_) => access.check(P::CreateFunction, &[]),
        Statement::CreateNamedCollection(_) => access.check(P::CreateNamedCollection, &[]),
        Statement::AlterNamedCollection(_) => access.check(P::AlterNamedCollection, &[]),
        Statement::CreateWorkload(_) => access.check(P::CreateWorkload, &[]),
        Statement::CreateResource(_) => access.check(P::CreateResource, &[]),
        Statement::DropObject(statement) => match statement.kind {
            ObjectKind::Function => access.check(P::DropFunction, &[]),
            ObjectKind::NamedCollection => access.check(P::DropNamedCollection, &[]),
            // The ALTER that it stands for is checked.
            ObjectKind::Index => Ok(()),
            ObjectKind::Workload | ObjectKind::Resource => access.check(P::Drop, &[]),
        },
        Statement::Delete(statement) => on_table(P::AlterDelete, &statement.table),
        Statement::Update(statement) => on_table(P::AlterUpdate, &statement.table),
        Statement::Undrop(statement) => on_table(P::UndropTable, &statement.table),
        Statement::AlterTable(statement) => {
            let (database, table) = table_name(session, &statement.table)?;
            statement.commands.iter().try_for_each(|command| check_alter(session, command, &database, &table))
        }
        Statement::AlterDatabase(statement) => {
            access.check(P::AlterDatabase, &[&identifier(session, &statement.database)?])
        }
        Statement::Check(statement) => match &statement.target {
            CheckTarget::Table { table, .. } => on_table(P::Check, table),
            CheckTarget::Database(name) => access.check(P::Check, &[&identifier(session, name)?]),
            CheckTarget::AllTables => access.check(P::Check, &[]),
            CheckTarget::Grant(_) => Ok(()),
        },
        Statement::Backup(statement) => check_backup(session, statement),
        Statement::Transaction(_) | Statement::Watch(_) => Ok(()),
        Statement::Parallel(statements) => statements.iter().try_for_each(|statement| check(session, statement)),
        _ => Ok(()),
    }
}

/// Whether the session may make a table, and what it is made of.
fn check_create(session: &Session, statement: &CreateTable) -> Result<()> {
    let access = &session.access;
    if statement.temporary {
        return access.check(Privilege::CreateTemporaryTable, &[]);
    }
    let (database, table) = stored_table_name(session, &statement.name)?;
    let path = &[&*database, &*table];
    access.check(Privilege::CreateTable, path)?;
    if matches!(statement.mode, CreateMode::CreateOrReplace | CreateMode::Replace) {
        access.check(Privilege::DropTable, path)?;
    }
    if let Some(engine) = statement.storage.as_ref().and_then(|storage| storage.engine.as_ref())
        && engine.name == "Dictionary"
    {
        check_dictionary(session, engine.arguments.first())?;
    }
    match &statement.source {
        Some(CreateSource::Query(_)) if !statement.empty => access.check(Privilege::Insert, path),
        Some(CreateSource::Table(name)) => {
            let (database, table) = table_name(session, name)?;
            access.check_show_columns(&database, &table)
        }
        Some(CreateSource::Clone(name)) => {
            let (database, table) = table_name(session, name)?;
            access.check_all([Privilege::Insert, Privilege::AlterDelete].into_iter().collect(), path)?;
            access.check(Privilege::Select, &[&database, &table])
        }
        _ => Ok(()),
    }
}

/// A table of the engine Dictionary shows all of a dictionary, so its maker must be able to look into that.
fn check_dictionary(session: &Session, name: Option<&Expression>) -> Result<()> {
    let name = name.and_then(|name| match &name.kind {
        ExpressionKind::Literal(literal) => literal.as_str().map(str::to_owned),
        ExpressionKind::Identifier(parts) => {
            Some(parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join("."))
        }
        _ => None,
    });
    let access = &session.access;
    let Some(name) = name else { return access.check(Privilege::DictGet, &[]) };
    let found = session.server.databases.dictionary_by_name(&name, &session.database);
    if found.is_some_and(|dictionary| dictionary.definition().origin.is_some()) {
        return access.check(Privilege::DictGet, &["", &name]);
    }
    match name.split_once('.') {
        Some((database, name)) => access.check(Privilege::DictGet, &[database, name]),
        None => access.check(Privilege::DictGet, &[&session.database, &name]),
    }
}

fn check_alter(session: &Session, command: &AlterCommand, database: &str, table: &str) -> Result<()> {
    use AlterCommand as C;
    use Privilege as P;
    let access = &session.access;
    let path = &[database, table];
    let other = |privileges: &[Privilege], name: &TableName| {
        let (database, table) = table_name(session, name)?;
        access.check_all(privileges.iter().copied().collect(), &[&database, &table])
    };
    let privilege = match command {
        C::AddColumn { .. } => P::AlterAddColumn,
        C::DropColumn { .. } => P::AlterDropColumn,
        C::ClearColumn { .. } => P::AlterClearColumn,
        C::MaterializeColumn { .. } => P::AlterMaterializeColumn,
        C::ModifyColumn { .. }
        | C::RemoveColumnProperty { .. }
        | C::ModifyColumnSetting { .. }
        | C::ResetColumnSetting { .. } => P::AlterModifyColumn,
        C::RenameColumn { .. } => P::AlterRenameColumn,
        C::CommentColumn { .. } => P::AlterCommentColumn,
        C::ModifyComment(_) => P::AlterModifyComment,
        C::ModifyOrderBy(_) => P::AlterOrderBy,
        C::ModifySampleBy(_) | C::RemoveSampleBy => P::AlterSampleBy,
        C::ModifyTtl(_) | C::RemoveTtl => P::AlterTtl,
        C::MaterializeTtl { .. } => P::AlterMaterializeTtl,
        C::RewriteParts { .. } => P::AlterRewriteParts,
        C::ModifySetting(_) | C::ResetSetting(_) => P::AlterSettings,
        C::ModifyQuery(_) => P::AlterViewModifyQuery,
        C::ModifyRefresh(_) => P::AlterViewModifyRefresh,
        C::ModifySqlSecurity { .. } => P::AlterViewModifySqlSecurity,
        C::AddIndex { .. } => P::AlterAddIndex,
        C::DropIndex { .. } => P::AlterDropIndex,
        C::ClearIndex { .. } => P::AlterClearIndex,
        C::MaterializeIndex { .. } => P::AlterMaterializeIndex,
        C::AddStatistics { .. } => P::AlterAddStatistics,
        C::ModifyStatistics { .. } => P::AlterModifyStatistics,
        C::DropStatistics { .. } | C::ClearStatistics { .. } => P::AlterDropStatistics,
        C::MaterializeStatistics { .. } => P::AlterMaterializeStatistics,
        C::AddProjection { .. } => P::AlterAddProjection,
        C::DropProjection { .. } => P::AlterDropProjection,
        C::ClearProjection { .. } => P::AlterClearProjection,
        C::MaterializeProjection { .. } => P::AlterMaterializeProjection,
        C::AddConstraint { .. } => P::AlterAddConstraint,
        C::DropConstraint { .. } => P::AlterDropConstraint,
        C::DropPartition { .. }
        | C::DropDetachedPartition(_)
        | C::ForgetPartition(_)
        | C::Delete { .. }
        | C::ApplyDeletedMask { .. } => P::AlterDelete,
        C::AttachPartition { from, .. } => {
            if let Some(from) = from {
                other(&[P::Select], from)?;
                access.check(P::AlterDelete, path)?;
            }
            P::Insert
        }
        C::ReplacePartition { from, .. } => {
            other(&[P::Select], from)?;
            access.check(P::AlterDelete, path)?;
            P::Insert
        }
        C::MovePartition { to, .. } => {
            if let MoveDestination::Table(to) = to {
                other(&[P::Insert], to)?;
                access.check_all([P::Select, P::AlterDelete].into_iter().collect(), path)?;
            }
            P::AlterMovePartition
        }
        C::FetchPartition { .. } => P::AlterFetchPartition,
        C::Freeze { .. } | C::Unfreeze { .. } => P::AlterFreezePartition,
        C::ExportPartition { to, .. } => {
            other(&[P::Insert], to)?;
            P::Select
        }
        C::Update { .. } | C::ApplyPatches { .. } => P::AlterUpdate,
    };
    access.check(privilege, path)
}

fn check_backup(session: &Session, statement: &Backup) -> Result<()> {
    let access = &session.access;
    if statement.restore {
        // A backup has what its maker may read: who takes tables out of any must be one who may read files.
        match statement.location.name.as_str() {
            "File" => access.check_source(Privilege::File)?,
            "Disk" => access.check_source(Privilege::Disk)?,
            _ => {}
        }
    }
    let set: PrivilegeSet = if statement.restore {
        [Privilege::CreateTable, Privilege::Insert].into_iter().collect()
    } else {
        Privilege::Backup.set()
    };
    for element in &statement.elements {
        let target = match (&element.kind, &element.new_name) {
            (BackupElementKind::TemporaryTable(_), _) => continue,
            (BackupElementKind::All, _) => Target::default(),
            // A database's new name stands where a table's would.
            (BackupElementKind::Database(_), Some(name)) if statement.restore => {
                Target::new(&[&identifier(session, &name.table)?])
            }
            (BackupElementKind::Database(name), _) => Target::new(&[&identifier(session, name)?]),
            (BackupElementKind::Table(name), new_name) => {
                let name = new_name.as_ref().filter(|_| statement.restore).unwrap_or(name);
                let (database, table) = table_name(session, name)?;
                Target::new(&[&database, &table])
            }
        };
        if target.path.len() < 2 && statement.restore {
            let path: Vec<&str> = target.path.iter().map(|name| &**name).collect();
            access.check(Privilege::CreateDatabase, &path)?;
        }
        access.check_target(&target, set)?;
    }
    Ok(())
}
