//! CREATE, ALTER and DROP of functions and named collections, and DROP of what does not exist here.

use squall_functions::{aggregate_exists, scalar_exists};
use squall_sql::ast::{self, ObjectKind};
use squall_types::{Error, ErrorCode, Result};

use crate::access::Privilege;
use crate::query::Answer;
use crate::query::control::system_command::run_blocking;
use crate::query::statement::{identifier, refuse_cluster};
use crate::session::Session;

/// Runs CREATE FUNCTION.
pub(in crate::query) async fn create_function(session: &Session, statement: &ast::CreateFunction) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let mut statement = statement.clone();
    statement.name = ast::Identifier::new(identifier(session, &statement.name)?);
    let name = &statement.name.value;
    if scalar_exists(name) || aggregate_exists(name) {
        let message = format!("The function '{name}' already exists");
        return Err(Error::new(ErrorCode::FUNCTION_ALREADY_EXISTS, message));
    }
    let server = session.server.clone();
    run_blocking(move || server.objects.create_function(statement)).await?;
    Ok(Answer::Done)
}

/// Runs CREATE NAMED COLLECTION.
pub(in crate::query) async fn create_collection(
    session: &Session,
    statement: &ast::CreateNamedCollection,
) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let mut statement = statement.clone();
    statement.name = ast::Identifier::new(identifier(session, &statement.name)?);
    let server = session.server.clone();
    run_blocking(move || server.objects.create_collection(statement)).await?;
    Ok(Answer::Done)
}

/// Runs ALTER NAMED COLLECTION.
pub(in crate::query) async fn alter_collection(
    session: &Session,
    statement: &ast::AlterNamedCollection,
) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let mut statement = statement.clone();
    statement.name = ast::Identifier::new(identifier(session, &statement.name)?);
    let server = session.server.clone();
    run_blocking(move || server.objects.alter_collection(&statement)).await?;
    Ok(Answer::Done)
}

/// Runs DROP FUNCTION and its kin.
pub(in crate::query) async fn drop(session: &Session, statement: &ast::DropObject) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let name = identifier(session, &statement.name)?;
    let (server, if_exists) = (session.server.clone(), statement.if_exists);
    match statement.kind {
        ObjectKind::Function => {
            session.access.check(Privilege::DropFunction, &[])?;
            if scalar_exists(&name) || aggregate_exists(&name) {
                let message = format!("Cannot drop system function '{name}'");
                return Err(Error::new(ErrorCode::CANNOT_DROP_FUNCTION, message));
            }
            run_blocking(move || server.objects.drop_function(&name, if_exists)).await?;
        }
        ObjectKind::NamedCollection => {
            session.access.check(Privilege::DropNamedCollection, &[])?;
            run_blocking(move || server.objects.drop_collection(&name, if_exists)).await?;
        }
        ObjectKind::Index => return Err(Error::not_implemented("DROP INDEX")),
        ObjectKind::Workload => return Err(Error::not_implemented("DROP WORKLOAD")),
        ObjectKind::Resource => return Err(Error::not_implemented("DROP RESOURCE")),
    }
    Ok(Answer::Done)
}
