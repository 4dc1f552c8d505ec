//! DROP, DETACH and TRUNCATE of databases, tables and views.

use squall_sql::ast::{self, DropAction, DropTarget};
use squall_storage::TEMPORARY_DATABASE;
use squall_types::{Error, ErrorCode, Result};

use super::dependents::check_dependents;
use super::dictionary;
use super::drop_limit::DropLimit;
use super::show;
use crate::access::Privilege;
use crate::query::Answer;
use crate::query::control::system_command::run_blocking;
use crate::query::source::file_engine;
use crate::query::statement::{drop_verb, identifier, refuse_cluster, table_name, temporary_table_name};
use crate::session::Session;

/// Checks that each of some tables may be removed, or emptied.
fn check_drop(session: &Session, truncates: bool, tables: &[(String, String)]) -> Result<()> {
    let privilege = if truncates { Privilege::Truncate } else { Privilege::DropTable };
    tables.iter().try_for_each(|(database, table)| session.access.check(privilege, &[database, table]))
}

/// Runs DROP, DETACH and TRUNCATE.
pub(in crate::query) async fn drop(session: &Session, statement: &ast::Drop) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let databases = session.server.databases.clone();
    let own = session.temporary_tables.clone();
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
                tables.retain(|(database, name)| databases.table(database, name).is_ok_and(|table| !table.is_view()));
            } else {
                if statement.if_empty && databases.tables(&name).is_ok_and(|tables| !tables.is_empty()) {
                    return Err(Error::new(ErrorCode::DATABASE_NOT_EMPTY, format!("Database {name} is not empty")));
                }
                let limit = DropLimit::of_tables(session);
                let own = session.clone();
                run_blocking(move || {
                    let tables = databases.tables(&name).unwrap_or_default();
                    tables.iter().try_for_each(|table| limit.check(&*table.table))?;
                    databases.drop_database(&name, if_exists)?;
                    tables.iter().try_for_each(|table| file_engine::remove_rows(&own, &*table.table, true))
                })
                .await?;
                return Ok(Answer::Done);
            }
        }
        DropTarget::Tables(names) => {
            for name in names {
                let name =
                    if statement.temporary { temporary_table_name(session, name)? } else { table_name(session, name)? };
                if statement.temporary && !if_exists && !session.temporary_tables.has(&name.1) {
                    let message = format!("Temporary table {} doesn't exist", name.1);
                    return Err(Error::new(ErrorCode::UNKNOWN_TABLE, message));
                }
                tables.push(name);
            }
            check_drop(session, truncates, &tables)?;
        }
        DropTarget::AllTables { database, like } => {
            let name = identifier(session, database)?;
            let mut names: Vec<String> =
                databases.tables(&name)?.into_iter().map(|table| table.table.name().to_owned()).collect();
            if let Some(like) = like {
                names.retain(|name| show::is_like(name, like));
            }
            tables.extend(names.into_iter().map(|table| (name.clone(), table)));
            check_drop(session, true, &tables)?;
            // What has no rows of its own stays as it is.
            tables.retain(|(database, name)| {
                databases.table(database, name).is_ok_and(|table| !table.is_view() && table.table_function().is_none())
            });
        }
        DropTarget::Dictionary(name) if statement.action == DropAction::Drop => {
            return dictionary::drop(session, name, if_exists).await;
        }
        DropTarget::View(name) => {
            let (database, table) = table_name(session, name)?;
            session.access.check(Privilege::DropView, &[&database, &table])?;
            match session.databases_of(&database).table(&database, &table) {
                Ok(found) if !found.is_view() => {
                    let message = format!("Table {database}.{table} is not a View");
                    return Err(Error::new(ErrorCode::INCORRECT_QUERY, message));
                }
                Err(error) if !if_exists => return Err(error),
                _ => tables.push((database, table)),
            }
        }
        DropTarget::Dictionary(name) if statement.action == DropAction::Detach => {
            let (database, name) = table_name(session, name)?;
            session.access.check(Privilege::DropDictionary, &[&database, &name])?;
            let is_permanently = statement.permanently;
            run_blocking(move || databases.detach_dictionary(&database, &name, is_permanently, if_exists)).await?;
            return Ok(Answer::Done);
        }
        DropTarget::Dictionary(_) => {
            return Err(Error::not_implemented(format!("{} DICTIONARY", drop_verb(statement.action))));
        }
    }
    if statement.action == DropAction::Drop {
        tables.iter().try_for_each(|(database, table)| check_dependents(session, database, table))?;
    }
    let if_empty = statement.if_empty;
    let limit = DropLimit::of_tables(session);
    let of_session = session.clone();
    let detaches = (statement.action == DropAction::Detach).then_some(statement.permanently);
    run_blocking(move || {
        for (database, table) in tables {
            let databases = if database == TEMPORARY_DATABASE { own.databases() } else { &databases };
            if let Some(is_permanently) = detaches {
                databases.detach_table(&database, &table, is_permanently, if_exists)?;
                continue;
            }
            if let Ok(table) = databases.table(&database, &table) {
                limit.check(&*table)?;
            }
            let found = databases.table(&database, &table).ok();
            if truncates {
                databases.truncate_table(&database, &table, if_exists)?;
                found.map_or(Ok(()), |found| file_engine::remove_rows(&of_session, &*found, false))?;
                continue;
            }
            if if_empty && databases.table(&database, &table).is_ok_and(|table| table.rows() != Some(0)) {
                let message = format!("Table {database}.{table} is not empty");
                return Err(Error::new(ErrorCode::TABLE_NOT_EMPTY, message));
            }
            databases.drop_table(&database, &table, if_exists)?;
            found.map_or(Ok(()), |found| file_engine::remove_rows(&of_session, &*found, true))?;
        }
        Ok(())
    })
    .await?;
    Ok(Answer::Done)
}
