//! CREATE, DROP, DETACH, TRUNCATE, RENAME and EXCHANGE of databases and tables. The catalog's commits wait for the disk, so they
//! run on a thread for that.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_planner::{Used, plan_table_definition};
use squall_sql::ast::{self, CreateMode, CreateSource, DropAction, DropTarget, RenameKind};
use squall_storage::TableName;
use squall_types::{Error, ErrorCode, Result};

use super::drop_limit::DropLimit;
use super::statement::{drop_verb, identifier, refuse_cluster, table_name};
use super::system_command::run_blocking;
use super::{Answer, dictionary, insert, planning};
use crate::access::Privilege;
use crate::session::Session;

/// Runs CREATE DATABASE.
pub(super) async fn database(session: &Session, statement: &ast::CreateDatabase) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    if let Some(engine) = statement.storage.as_ref().and_then(|storage| storage.engine.as_ref())
        && !matches!(engine.name.as_str(), "Atomic" | "Ordinary" | "Memory")
    {
        return Err(Error::new(
            ErrorCode::UNKNOWN_DATABASE_ENGINE,
            format!("Unknown database engine: {}", engine.name),
        ));
    }
    let name = identifier(session, &statement.name)?;
    session.access.check(Privilege::CreateDatabase, &[&name])?;
    let (databases, if_not_exists) = (session.server.databases.clone(), statement.if_not_exists);
    if statement.attach {
        run_blocking(move || databases.attach_database(&name, if_not_exists)).await?;
        return Ok(Answer::Done);
    }
    let comment = statement.comment.clone().unwrap_or_default();
    run_blocking(move || databases.create_database(&name, if_not_exists, &comment)).await?;
    Ok(Answer::Done)
}

/// What is attached is a table that was detached, as it is: the parts of another come in by ATTACH PARTITION, or from a backup.
///
/// # Errors
/// `INCORRECT_QUERY` for a definition, as of ClickHouse's Atomic databases; `NOT_IMPLEMENTED` for what would make a table of a folder.
fn check_attach(statement: &ast::CreateTable) -> Result<()> {
    if statement.attach_from.is_some() {
        return Err(Error::not_implemented("ATTACH TABLE … FROM 'path'"));
    }
    if statement.attach_as_replicated.is_some() {
        return Err(Error::not_implemented("ATTACH TABLE … AS [NOT] REPLICATED"));
    }
    if statement.elements.is_none() && statement.storage.is_none() && statement.source.is_none() {
        return Ok(());
    }
    if statement.name.uuid.is_some() {
        return Err(Error::not_implemented("ATTACH TABLE … UUID with a definition"));
    }
    let name = &statement.name.table.value;
    Err(Error::new(
        ErrorCode::INCORRECT_QUERY,
        format!(
            "Incorrect ATTACH TABLE query for Atomic database engine. Use one of the following queries instead: \
             ATTACH TABLE {name}, which takes a detached table back; CREATE TABLE {name} <table definition>"
        ),
    ))
}

/// Runs CREATE TABLE, and the INSERT of its `AS SELECT`.
pub(super) async fn table(
    session: &Session,
    statement: &ast::CreateTable,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    if statement.temporary {
        return Err(Error::not_implemented("CREATE TEMPORARY TABLE"));
    }
    let (database, table) = table_name(session, &statement.name)?;
    let databases = session.server.databases.clone();
    let if_not_exists = statement.mode == CreateMode::IfNotExists;
    if statement.attach {
        check_attach(statement)?;
        run_blocking(move || databases.attach_table(&database, &table, if_not_exists)).await?;
        return Ok(Answer::Done);
    }
    if if_not_exists && databases.has_table(&database, &table) {
        return Ok(Answer::Done);
    }
    let query = match &statement.source {
        Some(CreateSource::Query(query)) => Some(query),
        _ => None,
    };
    let definition = planning::with_planner(session, context, statement, plan_table_definition).await?;
    context.note_uses(|uses| {
        uses.note(Used::Table(&database, &table));
        uses.note(Used::Storage(&definition.engine));
        definition.columns.iter().for_each(|column| uses.note(Used::DataType(&column.data_type)));
    });
    let replace = match statement.mode {
        CreateMode::Create | CreateMode::IfNotExists => false,
        CreateMode::CreateOrReplace => true,
        CreateMode::Replace => {
            databases.table(&database, &table)?;
            true
        }
    };
    let fill = query.filter(|_| !statement.empty);
    if replace {
        // The new table is made beside the old one, filled, and takes its place at once.
        let beside = format!(".tmp_replace_{}", uuid::Uuid::new_v4().simple());
        let (in_database, name) = (database.clone(), beside.clone());
        let of = databases.clone();
        run_blocking(move || of.create_table(&in_database, &name, definition, false)).await?;
        let filled = match fill {
            Some(query) => insert::select_into(session, &database, &beside, None, query, context).await,
            None => Ok(()),
        };
        run_blocking(move || {
            let (new, old) =
                (TableName::new(database.as_str(), beside.as_str()), TableName::new(database.as_str(), table.as_str()));
            if filled.is_ok() {
                if databases.has_table(&database, &table) {
                    databases.exchange_tables(&new, &old)?;
                } else {
                    return databases.rename_table(&new, &old);
                }
            }
            databases.drop_table(&database, &beside, true)?;
            filled
        })
        .await?;
        return Ok(Answer::Done);
    }
    let (in_database, name, of) = (database.clone(), table.clone(), databases.clone());
    run_blocking(move || of.create_table(&in_database, &name, definition, if_not_exists)).await?;
    if let Some(query) = fill {
        insert::select_into(session, &database, &table, None, query, context).await?;
    }
    Ok(Answer::Done)
}

/// Checks that each of some tables may be removed, or emptied.
fn check_drop(session: &Session, truncates: bool, tables: &[(String, String)]) -> Result<()> {
    let privilege = if truncates { Privilege::Truncate } else { Privilege::DropTable };
    tables.iter().try_for_each(|(database, table)| session.access.check(privilege, &[database, table]))
}

/// Runs DROP, DETACH and TRUNCATE.
pub(super) async fn drop(session: &Session, statement: &ast::Drop) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let databases = session.server.databases.clone();
    let if_exists = statement.if_exists;
    let truncates = statement.action == DropAction::Truncate;
    let mut tables = Vec::new();
    match &statement.target {
        DropTarget::Database(name) => {
            let name = identifier(session, name)?;
            session.access.check(Privilege::DropDatabase, &[&name])?;
            let names = databases.tables(&name).unwrap_or_default().into_iter();
            let names: Vec<_> = names.map(|table| (name.clone(), table.table.name().to_owned())).collect();
            check_drop(session, truncates, &names)?;
            if statement.action == DropAction::Detach {
                if statement.permanently {
                    return Err(Error::not_implemented("DETACH PERMANENTLY of a database"));
                }
                run_blocking(move || databases.detach_database(&name, if_exists)).await?;
                return Ok(Answer::Done);
            }
            if truncates {
                databases.tables(&name)?;
                tables.extend(names);
            } else {
                if statement.if_empty && databases.tables(&name).is_ok_and(|tables| !tables.is_empty()) {
                    return Err(Error::new(ErrorCode::DATABASE_NOT_EMPTY, format!("Database {name} is not empty")));
                }
                let limit = DropLimit::of_tables(session);
                run_blocking(move || {
                    for table in databases.tables(&name).unwrap_or_default() {
                        limit.check(&*table.table)?;
                    }
                    databases.drop_database(&name, if_exists)
                })
                .await?;
                return Ok(Answer::Done);
            }
        }
        DropTarget::Tables(names) => {
            for name in names {
                tables.push(table_name(session, name)?);
            }
            check_drop(session, truncates, &tables)?;
        }
        DropTarget::AllTables { database, like: None } => {
            let name = identifier(session, database)?;
            let names = databases.tables(&name)?.into_iter().map(|table| (name.clone(), table.table.name().to_owned()));
            tables.extend(names);
            check_drop(session, true, &tables)?;
        }
        DropTarget::AllTables { like: Some(_), .. } => return Err(Error::not_implemented("TRUNCATE TABLES with LIKE")),
        DropTarget::Dictionary(name) if statement.action == DropAction::Drop => {
            return dictionary::drop(session, name, if_exists).await;
        }
        DropTarget::View(name) | DropTarget::Dictionary(name) if if_exists => {
            let (database, table) = table_name(session, name)?;
            session.access.check(Privilege::DropView, &[&database, &table])?;
            return Ok(Answer::Done);
        }
        DropTarget::View(_) => return Err(Error::not_implemented(format!("{} VIEW", drop_verb(statement.action)))),
        DropTarget::Dictionary(_) => {
            return Err(Error::not_implemented(format!("{} DICTIONARY", drop_verb(statement.action))));
        }
    }
    let if_empty = statement.if_empty;
    let limit = DropLimit::of_tables(session);
    let detaches = (statement.action == DropAction::Detach).then_some(statement.permanently);
    run_blocking(move || {
        for (database, table) in tables {
            if let Some(is_permanently) = detaches {
                databases.detach_table(&database, &table, is_permanently, if_exists)?;
                continue;
            }
            if let Ok(table) = databases.table(&database, &table) {
                limit.check(&*table)?;
            }
            if truncates {
                databases.truncate_table(&database, &table, if_exists)?;
                continue;
            }
            if if_empty && databases.table(&database, &table).is_ok_and(|table| table.rows() != Some(0)) {
                let message = format!("Table {database}.{table} is not empty");
                return Err(Error::new(ErrorCode::TABLE_NOT_EMPTY, message));
            }
            databases.drop_table(&database, &table, if_exists)?;
        }
        Ok(())
    })
    .await?;
    Ok(Answer::Done)
}

/// As in ClickHouse: who gives a table another name removes one and makes another of the same rows.
fn check_rename(session: &Session, from: &(String, String), to: &(String, String)) -> Result<()> {
    let of = |privileges: [Privilege; 2]| privileges.into_iter().collect();
    session.access.check_all(of([Privilege::Select, Privilege::DropTable]), &[&from.0, &from.1])?;
    session.access.check_all(of([Privilege::CreateTable, Privilege::Insert]), &[&to.0, &to.1])
}

/// Runs RENAME and EXCHANGE.
pub(super) async fn rename(session: &Session, statement: &ast::Rename) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    if statement.kind != RenameKind::Table {
        return Err(Error::not_implemented("RENAME of databases and dictionaries"));
    }
    let mut pairs = Vec::new();
    for (from, to) in &statement.pairs {
        let (from, to) = (table_name(session, from)?, table_name(session, to)?);
        check_rename(session, &from, &to)?;
        if statement.exchange {
            check_rename(session, &to, &from)?;
        }
        pairs.push((from, to));
    }
    let databases = session.server.databases.clone();
    let (exchange, if_exists) = (statement.exchange, statement.if_exists);
    run_blocking(move || {
        for ((from_database, from), (to_database, to)) in pairs {
            if if_exists && !databases.has_table(&from_database, &from) {
                continue;
            }
            let (from, to) = (TableName::new(from_database, from), TableName::new(to_database, to));
            if exchange {
                databases.exchange_tables(&from, &to)?;
            } else {
                databases.rename_table(&from, &to)?;
            }
        }
        Ok(())
    })
    .await?;
    Ok(Answer::Done)
}
