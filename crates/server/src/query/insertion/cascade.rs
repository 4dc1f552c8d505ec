//! An INSERT into a table that materialized views follow: the rows of each inserted block go through the views' queries into their targets,
//! and from there through the views of these; then all of it is committed at once.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_engine::QueryContext;
use squall_planner::{MaterializedView, Plan, TableDefinition, TableMetadata, Used, ViewPlan, plan_view_rows};
use squall_sql::ast::SqlSecurity;
use squall_storage::{
    IdentifiedInsertion, InsertId, InsertLimits, InsertPlace, InsertWriter, Insertion, PartWork, RefreshNote, Table,
    TableHandle, TableName, commit_together, inserted_rows,
};
use squall_types::{Block, Error, ErrorCode, Result};

use super::insert_target;
use crate::query::control::system_command::run_blocking;
use crate::query::plan::planning;
use crate::query::source::file_engine;
use crate::session::Session;

/// Views that follow each other from an INSERT on.
pub(in crate::query) const DEPTH_MAX: usize = 64;

/// The session in which a view's query runs: its definer's, or the server's for `SQL SECURITY NONE`, with the settings of the INSERT.
pub(in crate::query) fn session_of_view(session: &Session, view: &MaterializedView) -> Result<Session> {
    let mut own = match view.security {
        Some(SqlSecurity::None) => Session::of_server(session.server.clone()),
        _ => session.acting_as(&view.definer)?,
    };
    own.settings.clone_from(&session.settings);
    own.client.clone_from(&session.client);
    (own.external_tables, own.inserted, own.input) = (None, None, None);
    Ok(own)
}

/// The name of the table that a view writes to.
pub(in crate::query) fn target_of(view: &dyn Table, of: &MaterializedView) -> (String, String) {
    let (database, table) = of.target(view.database());
    (database.to_owned(), table.to_owned())
}

/// The table of this name, or what a view of this name writes to.
fn final_target(session: &Session, database: &str, table: &str) -> Result<Arc<dyn Table>> {
    let mut found = session.server.databases.table(database, table)?;
    for _ in 0..DEPTH_MAX {
        let Some(view) = found.materialized_view().cloned() else { return Ok(found) };
        let (database, table) = target_of(&*found, &view);
        found = session.server.databases.table(&database, &table)?;
    }
    Err(Error::new(ErrorCode::TOO_DEEP_RECURSION, format!("The view {database}.{table} writes to itself")))
}

/// The table that a statement about a table's parts is carried out on: of a materialized view the table for its rows.
///
/// # Errors
/// `INCORRECT_QUERY` for a view of another table; `UNKNOWN_TABLE`.
pub(in crate::query) fn table_of_parts(session: &Session, database: String, name: String) -> Result<(String, String)> {
    let table = session.databases_of(&database).table(&database, &name)?;
    match table.materialized_view() {
        Some(view) if view.has_inner_table() => Ok(target_of(&*table, view)),
        Some(_) => {
            let message = "MATERIALIZED VIEW targets existing table. Execute the statement directly on it";
            Err(Error::new(ErrorCode::INCORRECT_QUERY, message))
        }
        None => Ok((database, name)),
    }
}

/// An INSERT into a table and, through views, into others. Dropping it before its end leaves nothing of it behind.
pub(in crate::query) struct Cascade {
    session: Session,
    limits: InsertLimits,
    root: Node,
    refresh: Option<RefreshNoter>,
}

/// Gives what the catalog is to keep of a refresh that is about to be committed.
pub(in crate::query) type RefreshNoter = Box<dyn FnOnce() -> Result<Option<RefreshNote>> + Send>;

/// A table that is written to.
struct Node {
    table: Arc<dyn Table>,
    definition: Option<Arc<TableDefinition>>,
    rows: Arc<Rows>,
    views: Vec<View>,
}

/// A view that follows it.
struct View {
    name: Arc<TableName>,
    session: Session,
    query: Arc<squall_sql::ast::Query>,
    target: Node,
}

impl Cascade {
    /// The INSERT into a table; `None` where no view follows it.
    ///
    /// # Errors
    /// `UNKNOWN_TABLE` where a view's target is gone, `TOO_DEEP_RECURSION` where views go in a circle, `UNKNOWN_USER` for a definer who is gone.
    pub(in crate::query) fn of(
        session: &Session,
        table: &Arc<dyn Table>,
        id: Option<Arc<InsertId>>,
        context: &Arc<QueryContext>,
    ) -> Result<Option<Self>> {
        if session.server.databases.views_of(table.database(), table.name()).is_empty() {
            return Ok(None);
        }
        let mut cascade = Self::over(session, table, context)?;
        if let Some(id) = id {
            cascade.root.identify(&id, context.settings.deduplicate_blocks_in_dependent_materialized_views);
        }
        Ok(Some(cascade))
    }

    /// The refresh of a view that appends to a table, where the view's schedule goes on in the commit of the rows.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(in crate::query) fn of_refresh(
        session: &Session,
        table: &Arc<dyn Table>,
        refresh: RefreshNoter,
        context: &Arc<QueryContext>,
    ) -> Result<Self> {
        Ok(Self { refresh: Some(refresh), ..Self::over(session, table, context)? })
    }

    fn over(session: &Session, table: &Arc<dyn Table>, context: &Arc<QueryContext>) -> Result<Self> {
        let limits = InsertLimits::new(&context.settings);
        let root = Node::new(session, table.clone(), limits, context, &mut Vec::new())?;
        Ok(Self { session: session.clone(), limits, root, refresh: None })
    }

    /// Takes the rows of the first table. Its commit is [`finish`](Self::finish)'s.
    pub(in crate::query) fn rows(&self) -> Arc<dyn Insertion> {
        self.root.rows.clone()
    }

    /// Inserts a plan's rows, of the first table's stored columns.
    ///
    /// # Errors
    /// The INSERT's.
    pub(in crate::query) async fn insert_select(mut self, plan: &Plan, context: &Arc<QueryContext>) -> Result<()> {
        let engine = self.session.server.engine.clone();
        let mut rows = engine.start_inner(plan, context.clone())?;
        let mut sink = engine.insert_input(self.rows(), None, context.clone());
        while let Some(block) = rows.next().await {
            sink.send(block?).await?;
            self.flush_if_many(context).await?;
        }
        sink.finish().await?;
        self.finish(context).await
    }

    /// Sends what has come through the views where it is as much as a block of an INSERT.
    ///
    /// # Errors
    /// Those of the views' queries.
    pub(in crate::query) async fn flush_if_many(&mut self, context: &Arc<QueryContext>) -> Result<()> {
        if !self.root.rows.is_block(&self.limits) {
            return Ok(());
        }
        self.root.flush(&self.session, context).await
    }

    /// All rows of the first table have come: sends them through the views and commits everything.
    ///
    /// # Errors
    /// Those of the views' queries and of the commit.
    pub(in crate::query) async fn finish(mut self, context: &Arc<QueryContext>) -> Result<()> {
        self.root.flush(&self.session, context).await?;
        let mut insertions = Vec::new();
        self.root.insertions(&mut insertions);
        let refresh = self.refresh.take();
        run_blocking(move || commit_together(&insertions, refresh.map_or(Ok(None), |note| note())?)).await
    }
}

impl Node {
    /// `above` are the tables whose views led here.
    fn new(
        session: &Session,
        table: Arc<dyn Table>,
        limits: InsertLimits,
        context: &Arc<QueryContext>,
        above: &mut Vec<TableName>,
    ) -> Result<Self> {
        let name = TableName::new(table.database(), table.name());
        if above.contains(&name) || above.len() >= DEPTH_MAX {
            let message = format!("Dependencies of the table {name} are cyclic");
            return Err(Error::new(ErrorCode::TOO_DEEP_RECURSION, message));
        }
        let databases = &session.server.databases;
        let found = databases.views_of(&name.database, &name.table);
        let mut definition = None;
        if !found.is_empty() {
            definition = databases.describe(&name.database, &name.table)?.definition;
        }
        above.push(name.clone());
        let mut views = Vec::with_capacity(found.len());
        for (view_name, view) in &found {
            let own = session_of_view(session, view)?;
            let (database, table) = view.target(&view_name.database);
            let target = final_target(session, database, table).map_err(|error| match error.code {
                ErrorCode::UNKNOWN_TABLE | ErrorCode::UNKNOWN_DATABASE => {
                    let message = format!("Target table '{database}.{table}' of view '{view_name}' doesn't exist");
                    Error::new(ErrorCode::UNKNOWN_TABLE, message)
                }
                _ => error,
            })?;
            let target = file_engine::target(session, &target)?.unwrap_or(target);
            context.note_uses(|uses| {
                uses.note(Used::View(&view_name.database, &view_name.table));
                uses.note(Used::Table(target.database(), target.name()));
            });
            let target = Self::new(session, target, limits, context, above)?;
            views.push(View { name: view_name.clone(), session: own, query: view.query.clone(), target });
        }
        above.pop();
        let rows =
            Rows { insertion: context.begin_insert(&*table, limits)?, kept: (!views.is_empty()).then(Arc::default) };
        Ok(Self { table, definition, rows: Arc::new(rows), views })
    }

    /// Says by what the INSERT into this first table is known, to those of the tables that remember INSERTs.
    fn identify(&mut self, id: &Arc<InsertId>, with_views: bool) {
        let mut is_remembered = self.table.deduplication_window() > 0;
        self.rows.insertion.identify(id, None);
        if with_views {
            self.views.iter().for_each(|view| is_remembered |= view.identify(id));
        }
        if is_remembered {
            let insertion = IdentifiedInsertion::of(self.rows.insertion.clone(), id.clone());
            self.rows = Arc::new(Rows { insertion, kept: self.rows.kept.clone() });
        }
    }

    /// Sends what has come through the views.
    fn flush<'a>(
        &'a mut self,
        session: &'a Session,
        context: &'a Arc<QueryContext>,
    ) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>> {
        Box::pin(async move {
            let blocks = self.rows.take();
            let Some(definition) = self.definition.as_ref().filter(|_| !blocks.is_empty()) else { return Ok(()) };
            let name = TableName::new(self.table.database(), self.table.name());
            let rows = {
                let _thread = context.enter();
                inserted_rows(name, definition.clone(), blocks)?
            };
            for view in &mut self.views {
                let own = view.session.with_inserted(rows.clone());
                let target: Arc<dyn TableMetadata> = Arc::new(TableHandle(view.target.table.clone()));
                let of = ViewPlan { query: view.query.clone(), target };
                let (plan, positions) = planning::with_planner(&own, context, &of, plan_view_rows).await?;
                insert_target::check_columns(&own, &*view.target.table, &positions)?;
                let engine = &session.server.engine;
                engine.insert_into(&plan, view.target.rows.clone(), context.clone())?.finished().await?;
                view.target.flush(session, context).await?;
            }
            Ok(())
        })
    }

    /// What is to be committed, the first table first.
    fn insertions(&self, all: &mut Vec<Arc<dyn Insertion>>) {
        all.push(self.rows.insertion.clone());
        self.views.iter().for_each(|view| view.target.insertions(all));
    }
}

impl View {
    /// The same to the tables that the view writes to; whether one of them remembers INSERTs.
    fn identify(&self, id: &Arc<InsertId>) -> bool {
        let target = &self.target;
        target.rows.insertion.identify(id, Some(&self.name));
        target.views.iter().fold(target.table.deduplication_window() > 0, |any, view| view.identify(id) || any)
    }
}

/// Blocks that views are to see.
#[derive(Default)]
struct Kept {
    blocks: Vec<Block>,
    rows: usize,
    bytes: usize,
}

/// The rows of a table whose commit waits for that of others. They are kept for the views that follow it.
pub(in crate::query) struct Rows {
    insertion: Arc<dyn Insertion>,
    kept: Option<Arc<Mutex<Kept>>>,
}

impl Rows {
    /// Rows that nobody follows.
    pub(in crate::query) fn held(insertion: Arc<dyn Insertion>) -> Arc<Self> {
        Arc::new(Self { insertion, kept: None })
    }

    fn is_block(&self, limits: &InsertLimits) -> bool {
        self.kept.as_ref().is_some_and(|kept| {
            let kept = kept.lock();
            kept.rows >= limits.min_insert_block_size_rows || kept.bytes >= limits.min_insert_block_size_bytes
        })
    }

    fn take(&self) -> Vec<Block> {
        self.kept.as_ref().map(|kept| std::mem::take(&mut *kept.lock()).blocks).unwrap_or_default()
    }
}

impl Insertion for Rows {
    fn writer(&self) -> Result<Box<dyn InsertWriter>> {
        let writer = self.insertion.writer()?;
        Ok(match &self.kept {
            Some(kept) => Box::new(KeepingWriter { writer, kept: kept.clone() }),
            None => writer,
        })
    }

    fn keeps_order(&self) -> bool {
        // Views see rows in the order in which they come.
        self.kept.is_some() || self.insertion.keeps_order()
    }

    fn commit(&self) -> Result<()> {
        Ok(())
    }
}

struct KeepingWriter {
    writer: Box<dyn InsertWriter>,
    kept: Arc<Mutex<Kept>>,
}

impl InsertWriter for KeepingWriter {
    fn set_place(&mut self, place: InsertPlace) {
        self.writer.set_place(place);
    }

    fn write(&mut self, block: Block) -> Result<Option<PartWork>> {
        if !block.is_empty() {
            let mut kept = self.kept.lock();
            kept.rows += block.rows();
            kept.bytes += block.value_bytes();
            kept.blocks.push(block.clone());
        }
        self.writer.write(block)
    }

    fn finish(self: Box<Self>) -> Result<Option<PartWork>> {
        self.writer.finish()
    }
}
