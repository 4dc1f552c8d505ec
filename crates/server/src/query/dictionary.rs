//! CREATE DICTIONARY, SYSTEM RELOAD DICTIONARY, and the reloading of dictionaries whose lifetime is over.

use std::sync::Arc;
use std::time::Instant;

use squall_engine::QueryContext;
use squall_planner::{load, plan_dictionary};
use squall_sql::ast::{self, CreateMode};
use squall_storage::Dictionary;
use squall_types::{Error, ErrorCode, Result};

use super::statement::{identifier, refuse_cluster, table_name};
use super::system_command::run_blocking;
use super::{Answer, planning};
use crate::server::Server;
use crate::session::{ClientInfo, Session};

/// Runs CREATE DICTIONARY. Nothing is loaded until somebody looks something up.
pub(super) async fn create(
    session: &Session,
    statement: &ast::CreateDictionary,
    context: &QueryContext,
) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let (database, name) = table_name(session, &statement.name)?;
    let functions = planning::function_context(session, &context.query_id);
    let definition = plan_dictionary(statement, &database, &functions)?;
    let databases = session.server.databases.clone();
    let mode = statement.mode;
    run_blocking(move || {
        if matches!(mode, CreateMode::CreateOrReplace | CreateMode::Replace) {
            databases.drop_dictionary(&database, &name, mode == CreateMode::CreateOrReplace)?;
        }
        databases.create_dictionary(&database, &name, definition, mode == CreateMode::IfNotExists)
    })
    .await?;
    Ok(Answer::Done)
}

/// Runs DROP DICTIONARY.
pub(super) async fn drop(session: &Session, name: &ast::TableName, if_exists: bool) -> Result<Answer> {
    let (database, name) = table_name(session, name)?;
    let databases = session.server.databases.clone();
    run_blocking(move || databases.drop_dictionary(&database, &name, if_exists)).await?;
    Ok(Answer::Done)
}

/// Runs SYSTEM RELOAD DICTIONARY.
pub(super) async fn reload(session: &Session, name: &ast::TableName, context: &Arc<QueryContext>) -> Result<Answer> {
    let (database, table) = match &name.database {
        Some(_) => table_name(session, name)?,
        None => (session.database.to_string(), identifier(session, &name.table)?),
    };
    let dictionary = session.server.databases.dictionary(&database, &table).ok_or_else(|| {
        let shown = if name.database.is_some() { format!("{database}.{table}") } else { table.clone() };
        Error::new(ErrorCode::BAD_ARGUMENTS, format!("Dictionary (`{shown}`) not found"))
    })?;
    reload_now(session, dictionary, context).await?;
    Ok(Answer::Done)
}

/// Runs SYSTEM RELOAD DICTIONARIES: those that are loaded, as in ClickHouse.
pub(super) async fn reload_all(session: &Session, context: &Arc<QueryContext>) -> Result<Answer> {
    for dictionary in session.server.databases.dictionaries() {
        if dictionary.describe().is_loaded {
            reload_now(session, dictionary, context).await?;
        }
    }
    Ok(Answer::Done)
}

async fn reload_now(session: &Session, dictionary: Arc<Dictionary>, context: &Arc<QueryContext>) -> Result<()> {
    let (session, context) = (session.clone(), context.clone());
    run_blocking(move || planning::planner_that_waits(&session, &context, |planner| load(&*dictionary, true, planner)))
        .await
}

/// Loads the dictionaries again whose lifetime is over, one after the other.
pub async fn reload_due(server: &Arc<Server>) {
    let due: Vec<_> =
        server.databases.dictionaries().into_iter().filter(|dictionary| dictionary.is_due(Instant::now())).collect();
    if due.is_empty() {
        return;
    }
    let user = server.users.load().users().first().map(|user| (*user).clone());
    let user = server.users.load().user("default").cloned().or(user);
    let Some(user) = user else { return };
    let session = Session::new(server.clone(), user, Arc::new(ClientInfo::default()));
    for dictionary in due {
        let id = format!("reload-{}", uuid::Uuid::new_v4().simple());
        let context = QueryContext::new(id.into(), session.settings.clone());
        let name = dictionary.describe().name;
        if let Err(error) = reload_now(&session, dictionary, &context).await {
            tracing::error!(target: "ExternalDictionariesLoader", dictionary = %name, "{error}");
        }
    }
}
