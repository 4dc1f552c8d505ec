//! RENAME and EXCHANGE of tables and dictionaries, and RENAME of databases.

use squall_sql::ast::{self, RenameKind};
use squall_storage::{Databases, TableName};
use squall_types::{Error, ErrorCode, Result};
use uuid::Uuid;

use super::dependents::check_dependents;
use crate::access::Privilege;
use crate::query::Answer;
use crate::query::control::system_command::run_blocking;
use crate::query::statement::{identifier, refuse_cluster, stored_table_name};
use crate::session::Session;

/// As in ClickHouse: who gives a table another name removes one and makes another of the same rows.
fn check_rename(session: &Session, from: &(String, String), to: &(String, String)) -> Result<()> {
    let of = |privileges: [Privilege; 2]| privileges.into_iter().collect();
    session.access.check_all(of([Privilege::Select, Privilege::DropTable]), &[&from.0, &from.1])?;
    session.access.check_all(of([Privilege::CreateTable, Privilege::Insert]), &[&to.0, &to.1])
}

/// The same of a dictionary.
fn check_dictionary(session: &Session, from: &(String, String), to: &(String, String)) -> Result<()> {
    session.access.check(Privilege::DropDictionary, &[&from.0, &from.1])?;
    session.access.check(Privilege::CreateDictionary, &[&to.0, &to.1])
}

/// Gives two dictionaries each other's names. Each step is undone where a later one fails.
fn exchange_dictionaries(databases: &Databases, one: &TableName, other: &TableName) -> Result<()> {
    for name in [one, other] {
        if databases.dictionary(&name.database, &name.table).is_none() {
            let message = format!("Table `{}`.`{}` doesn't exist", name.database, name.table);
            return Err(Error::new(ErrorCode::UNKNOWN_TABLE, message));
        }
    }
    let between = TableName::new(one.database.clone(), format!(".exchanged.{}", Uuid::new_v4()));
    databases.rename_dictionary(one, &between)?;
    if let Err(error) = databases.rename_dictionary(other, one) {
        databases.rename_dictionary(&between, one)?;
        return Err(error);
    }
    databases.rename_dictionary(&between, other)
}

/// Runs RENAME DATABASE.
async fn rename_databases(session: &Session, statement: &ast::Rename) -> Result<Answer> {
    if statement.exchange {
        return Err(Error::not_implemented("EXCHANGE DATABASES"));
    }
    let mut pairs = Vec::new();
    for (from, to) in &statement.pairs {
        let (from, to) = (identifier(session, &from.table)?, identifier(session, &to.table)?);
        session.access.check_all([Privilege::Select, Privilege::DropDatabase].into_iter().collect(), &[&from])?;
        session.access.check_all([Privilege::CreateDatabase, Privilege::Insert].into_iter().collect(), &[&to])?;
        pairs.push((from, to));
    }
    let (databases, if_exists) = (session.server.databases.clone(), statement.if_exists);
    run_blocking(move || {
        for (from, to) in pairs {
            if !if_exists || databases.has_database(&from) {
                databases.rename_database(&from, &to)?;
            }
        }
        Ok(())
    })
    .await?;
    Ok(Answer::Done)
}

/// Runs RENAME and EXCHANGE.
pub(in crate::query) async fn rename(session: &Session, statement: &ast::Rename) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    if statement.kind == RenameKind::Database {
        return rename_databases(session, statement).await;
    }
    let of_dictionaries = statement.kind == RenameKind::Dictionary;
    let mut pairs = Vec::new();
    for (from, to) in &statement.pairs {
        let (from, to) = (stored_table_name(session, from)?, stored_table_name(session, to)?);
        let check = if of_dictionaries { check_dictionary } else { check_rename };
        check(session, &from, &to)?;
        if statement.exchange {
            check(session, &to, &from)?;
        } else {
            check_dependents(session, &from.0, &from.1)?;
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
            let is_dictionary = databases.dictionary(&from.database, &from.table).is_some();
            if exchange && (is_dictionary || of_dictionaries) {
                exchange_dictionaries(&databases, &from, &to)?;
            } else if is_dictionary && !exchange {
                databases.rename_dictionary(&from, &to)?;
            } else if exchange {
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
