//! CREATE DICTIONARY, SYSTEM RELOAD DICTIONARY, and the reloading of dictionaries whose lifetime is over.

use std::sync::{Arc, Weak};
use std::time::Instant;

use squall_engine::QueryContext;
use squall_planner::{
    ContextReader, DictionarySource, OutsidePlace, PlannerContext, SourceReader, load, plan_dictionary,
};
use squall_sql::ast::{self, CreateMode};
use squall_storage::{Dictionary, OnDemandReader};
use squall_types::{Error, ErrorCode, Result};

use crate::access::Privilege;
use crate::dictionaries::sources;
use crate::query::Answer;
use crate::query::control::system_command::run_blocking;
use crate::query::plan::planning;
use crate::query::statement::{identifier, refuse_cluster, table_name};
use crate::server::Server;
use crate::session::Session;

/// Runs CREATE DICTIONARY. Nothing is loaded until somebody looks something up.
pub(in crate::query) async fn create(
    session: &Session,
    statement: &ast::CreateDictionary,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let (database, name) = table_name(session, &statement.name)?;
    session.access.check(Privilege::CreateDictionary, &[&database, &name])?;
    if matches!(statement.mode, CreateMode::CreateOrReplace | CreateMode::Replace) {
        session.access.check(Privilege::DropDictionary, &[&database, &name])?;
    }
    if statement.attach && statement.definition.is_none() {
        let (databases, if_not_exists) = (session.server.databases.clone(), statement.mode == CreateMode::IfNotExists);
        run_blocking(move || databases.attach_dictionary(&database, &name, if_not_exists)).await?;
        return Ok(Answer::Done);
    }
    let functions = planning::function_context(session, &context.query_id, planning::lookups(session));
    let definition = plan_dictionary(statement, &database, &functions)?;
    // Dictionaries that are there may have one: it was taken once.
    if definition.layout.is_direct() && statement.definition.as_ref().is_some_and(|written| written.lifetime.is_some())
    {
        let message = "'lifetime' parameter is redundant for a dictionary of layout 'direct'";
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    check_source(session, &definition.source, context).await?;
    let databases = session.server.databases.clone();
    let mode = statement.mode;
    run_blocking(move || {
        if matches!(mode, CreateMode::CreateOrReplace | CreateMode::Replace) {
            return databases.replace_dictionary(&database, &name, definition, mode == CreateMode::Replace);
        }
        databases.create_dictionary(&database, &name, definition, mode == CreateMode::IfNotExists)
    })
    .await?;
    Ok(Answer::Done)
}

/// A dictionary's source is read by the server for whoever looks something up. So who makes the dictionary must be able to read it, and what
/// it means must not depend on who reads: the server sees rows, tables and queries of others that its maker does not.
async fn check_source(session: &Session, source: &DictionarySource, context: &Arc<QueryContext>) -> Result<()> {
    match source {
        DictionarySource::Null => Ok(()),
        DictionarySource::Outside(outside) => match &outside.place {
            OutsidePlace::File(_) => session.access.check_source(Privilege::File),
            OutsidePlace::Http { url, .. } => {
                session.access.check_source(Privilege::Url)?;
                session.server.config.load().remote_hosts.check_url(url)
            }
            OutsidePlace::Foreign(place) => {
                session.access.check_source(place.kind.into())?;
                sources::check_foreign(place, &session.server)
            }
            OutsidePlace::Command { .. } => Err(Error::new(
                ErrorCode::DICTIONARY_ACCESS_DENIED,
                "Dictionaries with executable dictionary source are not allowed to be created from DDL query",
            )),
        },
        DictionarySource::Query(source)
            if let Some(server) = &source.server
                && sources::peer(server, &session.server)?.is_some() =>
        {
            session.access.check_source(Privilege::Remote)
        }
        DictionarySource::Query(_) if session.access.reads_everything() => Ok(()),
        DictionarySource::Query(source) => {
            let session = &session.clone().for_dictionary_source();
            let queries = std::iter::once(&source.query).chain(&source.invalidate_query);
            for query in queries {
                planning::with_planner(session, context, &**query, squall_planner::plan_query).await?;
            }
            Ok(())
        }
    }
}

/// Runs DROP DICTIONARY.
pub(in crate::query) async fn drop(session: &Session, name: &ast::TableName, if_exists: bool) -> Result<Answer> {
    let (database, name) = table_name(session, name)?;
    session.access.check(Privilege::DropDictionary, &[&database, &name])?;
    let databases = session.server.databases.clone();
    run_blocking(move || databases.drop_dictionary(&database, &name, if_exists)).await?;
    Ok(Answer::Done)
}

/// Runs SYSTEM RELOAD DICTIONARY.
pub(in crate::query) async fn reload(
    session: &Session,
    name: &ast::TableName,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    let (database, table) = match &name.database {
        Some(_) => table_name(session, name)?,
        None => (session.database.to_string(), identifier(session, &name.table)?),
    };
    let full_name = if name.database.is_some() { format!("{database}.{table}") } else { table.clone() };
    let found = session.server.databases.dictionary_by_name(&full_name, &database);
    let dictionary = found.ok_or_else(|| {
        let shown = if name.database.is_some() { format!("{database}.{table}") } else { table.clone() };
        Error::new(ErrorCode::BAD_ARGUMENTS, format!("Dictionary (`{shown}`) not found"))
    })?;
    reload_now(session, dictionary, context).await?;
    Ok(Answer::Done)
}

/// Runs SYSTEM RELOAD DICTIONARIES: configuration files are read again, then those dictionaries that are loaded, as in ClickHouse.
pub(in crate::query) async fn reload_all(session: &Session, context: &Arc<QueryContext>) -> Result<Answer> {
    reload_files(&session.server).await?;
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

/// Reads the files of dictionaries again, and loads those that have changed and were loaded before.
///
/// # Errors
/// Where a dictionary cannot be made.
pub(in crate::query) async fn reload_files(server: &Arc<Server>) -> Result<()> {
    let reading = server.clone();
    let changed = run_blocking(move || reading.reload_dictionary_files(true)).await?;
    load_dictionaries(server, changed).await;
    Ok(())
}

/// Loads the dictionaries of configuration files, unless they are to wait until somebody asks (`dictionaries_lazy_load`).
pub async fn load_configured(server: &Arc<Server>) {
    if !server.config.load().server.dictionaries_lazy_load {
        let all = server.databases.dictionaries().into_iter();
        load_dictionaries(server, all.filter(|dictionary| dictionary.definition().origin.is_some()).collect()).await;
    }
}

/// Loads dictionaries, one after the other; what fails is told in the log.
pub async fn load_dictionaries(server: &Arc<Server>, dictionaries: Vec<Arc<Dictionary>>) {
    each_in_background(server, dictionaries, |dictionary, planner| load(dictionary, true, planner)).await;
}

/// Loads the dictionaries again whose lifetime is over and whose source may have changed, one after the other.
pub async fn reload_due(server: &Arc<Server>) {
    let due: Vec<_> =
        server.databases.dictionaries().into_iter().filter(|dictionary| dictionary.is_due(Instant::now())).collect();
    each_in_background(server, due, |dictionary, planner| dictionary.refresh(&mut ContextReader { context: planner }))
        .await;
}

async fn each_in_background(
    server: &Arc<Server>,
    dictionaries: Vec<Arc<Dictionary>>,
    work: fn(&Dictionary, &PlannerContext<'_>) -> Result<()>,
) {
    for dictionary in dictionaries {
        let (session, context) = own_query(server);
        let name = dictionary.shown_name();
        let done = run_blocking(move || {
            planning::planner_that_waits(&session, &context, |planner| work(&dictionary, planner))
        });
        if let Err(error) = done.await {
            tracing::error!(target: "ExternalDictionariesLoader", dictionary = %name, "{error}");
        }
    }
}

/// A query of the server's own, which may read everything.
fn own_query(server: &Arc<Server>) -> (Session, Arc<QueryContext>) {
    let session = Session::of_server(server.clone());
    let id = format!("dictionary-{}", uuid::Uuid::new_v4().simple());
    let context = QueryContext::new(id.into(), session.settings.clone());
    (session, context)
}

impl OnDemandReader for ServerReader {
    fn read(&self, work: &mut dyn FnMut(&mut dyn SourceReader) -> Result<()>) -> Result<()> {
        let server = self.0.upgrade().ok_or_else(|| Error::logical("the server has stopped"))?;
        let (session, context) = own_query(&server);
        planning::planner_here(&session, &context, |planner| work(&mut ContextReader { context: planner }))
    }
}

/// Reads the sources of dictionaries that hold not all of their rows, on the thread that looks something up.
pub struct ServerReader(pub Weak<Server>);
