//! The catalog as one session sees it: storage's tables, the tables of `system` with what the user may see, and checks of everything that a
//! query reads. What the session may do, its [`Access`](crate::access::Access) decides.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use squall_planner::{
    Catalog, ColumnDescription, ColumnStatistics, Constraint, DefaultKind, Expression, ForeignKind, JoinKind,
    JoinStrictness, LoadedByQuery, MaterializedView, Plan, PlannerContext, Program, Projected, Projection, QueryUses,
    RemoteCall, RemoteRows, RemoteServers, Subcolumn, SubqueryRunner, TableDefinition, TableMetadata, Used, is_over_s3,
};
use squall_sql::ast;
use squall_storage::{Dictionary, ExternalTable, NamedLookups, SessionCatalog, TEMPORARY_DATABASE, TableHandle};
use squall_types::{Error, ErrorCode, Result, Value};

use super::kept_plan::is_made_up;
use super::planning::lookups;
use crate::access::{Privilege, PrivilegeSet};
use crate::query::insertion::cascade::session_of_view;
use crate::query::insertion::input::no_input;
use crate::query::source::executable::ExecutableTable;
use crate::query::source::loop_table::LoopTable;
use crate::query::source::{data_function, file_engine, foreign, remote, s3};
use crate::session::Session;
use crate::system;

/// The database that tables of table functions say they are in. Nobody can name it.
pub(in crate::query) const TABLE_FUNCTION_DATABASE: &str = "_table_function";

/// The tables that a session's queries may name.
pub struct QueryCatalog<'a> {
    session: &'a Session,
    tables: SessionCatalog,
    met_moment: Arc<AtomicBool>,
    met_name: AtomicBool,
    lookups: Arc<NamedLookups>,
    /// Views that are being planned, one in the other.
    views: AtomicUsize,
    uses: Mutex<QueryUses>,
}

impl<'a> QueryCatalog<'a> {
    /// Whose it is.
    pub fn session(&self) -> &'a Session {
        self.session
    }

    /// The catalog of a session.
    pub fn new(session: &'a Session) -> Self {
        let tables = SessionCatalog::new(session.server.databases.clone(), session.database.clone());
        Self {
            session,
            tables,
            met_moment: Arc::default(),
            met_name: AtomicBool::new(false),
            lookups: lookups(session),
            views: AtomicUsize::new(0),
            uses: Mutex::default(),
        }
    }

    /// Where the planned query's functions look.
    pub fn lookups(&self) -> Arc<NamedLookups> {
        self.lookups.clone()
    }

    /// Whether something was found by its name: the plan holds as long as the name means the same, for this user.
    pub fn met_name(&self) -> bool {
        self.met_name.load(Ordering::Relaxed)
    }

    /// What the planned query uses; the next one begins with nothing.
    pub fn take_uses(&self) -> QueryUses {
        std::mem::take(&mut self.uses.lock())
    }

    /// Whether the plan is one of this moment: something was looked up that may soon be otherwise and has no name to be found by again, or
    /// planning asked for a table's rows, even where the plan does not show the table any more (a `count()` that became a constant).
    pub fn met_moment(&self) -> bool {
        self.met_moment.load(Ordering::Relaxed)
    }

    fn note_moment(&self) {
        self.met_moment.store(true, Ordering::Relaxed);
    }
}

impl QueryCatalog<'_> {
    /// Whether a table came with the query.
    fn is_external(&self, table: &dyn TableMetadata) -> bool {
        table.as_any().downcast_ref::<ExternalTable>().is_some()
            || table.database() == TEMPORARY_DATABASE
            || self.session.external_tables.as_ref().is_some_and(|tables| {
                tables.find(table.name()).is_some_and(|external| external.database() == table.database())
            })
    }

    /// An error without the name of another table that the user may not know of.
    fn without_hint(&self, mut error: Error) -> Error {
        if !self.session.access.reads_everything()
            && let Some(at) = error.message.find("Maybe you meant")
        {
            error.message.truncate(at);
            error.message.truncate(error.message.trim_end().len());
        }
        error
    }

    /// Refuses what means one thing to who makes a dictionary and another to the server, which reads its source.
    fn check_dictionary_source(&self, what: &str, is_for_server: bool) -> Result<()> {
        if !self.session.plans_dictionary_source || (is_for_server && self.session.access.reads_everything()) {
            return Ok(());
        }
        let message = format!("{}: {what} cannot be the source of a dictionary", self.session.access.name);
        Err(Error::new(ErrorCode::DICTIONARY_ACCESS_DENIED, message))
    }

    /// A table that came with the query: it hides one of its name in the current database.
    fn external_table(&self, database: Option<&str>, table: &str) -> Option<&Arc<ExternalTable>> {
        self.session.external_tables.as_ref().filter(|_| database.is_none())?.find(table)
    }

    /// A dictionary that the user may see: one of a configuration file, which is in no database, or of a database.
    /// Checks that a column of a table of the engine Join may be read, by its key.
    fn check_join_get(&self, database: &str, table: &str, column: Option<&str>) -> Result<()> {
        let access = &self.session.access;
        let found = self.session.server.databases.table(database, table).ok();
        let join = found.as_ref().and_then(|table| table.as_join());
        let (Some(join), Some(column)) = (join, column) else {
            return access.check(Privilege::Select, &[database, table]);
        };
        let mut columns: Vec<&str> = join.key_names().collect();
        columns.push(column);
        access.check_columns(Privilege::Select, database, table, &columns)
    }

    /// Checks that a dictionary may be looked into; those of configuration files are in the database without a name.
    fn check_dictionary(&self, name: &str, dictionary: Option<&Dictionary>) -> Result<()> {
        let (database, table) = match dictionary {
            Some(dictionary) if dictionary.definition().origin.is_some() => ("", name),
            _ => self.lookups.split(name),
        };
        self.session.access.check(Privilege::DictGet, &[database, table])
    }
}

impl Catalog for QueryCatalog<'_> {
    fn note(&self, used: Used<'_>) {
        self.uses.lock().note(used);
    }

    fn table(&self, database: Option<&str>, table: &str) -> Result<Arc<dyn TableMetadata>> {
        if let Some(external) = self.external_table(database, table) {
            self.note_moment();
            self.note(Used::Table(external.database(), table));
            return Ok(Arc::new(TableHandle(external.clone())));
        }
        if database.is_none()
            && let Some((_, own)) = self.session.stand_in.as_ref().filter(|(name, _)| *name == table)
        {
            self.note_moment();
            return Ok(Arc::new(TableHandle(own.clone())));
        }
        if database.is_none()
            && let Some(own) = self.session.temporary_tables.find(table)
        {
            self.note_moment();
            self.check_dictionary_source("A temporary table", false)?;
            return Ok(Arc::new(TableHandle(own)));
        }
        let name = database.unwrap_or(&self.session.database);
        // Another view reads all of its tables.
        if let Some(rows) = self.session.inserted.as_ref().filter(|_| self.views.load(Ordering::Relaxed) == 0)
            && rows.database() == name
            && rows.name() == table
        {
            self.note_moment();
            self.note(Used::Table(name, table));
            return Ok(Arc::new(TableHandle(rows.clone())));
        }
        if name == "system" {
            self.session.access.check_system_table(table)?;
        }
        if name == "system"
            && let Some(own) = system::of_session(self.session, table)
        {
            self.check_dictionary_source("A table of system that shows each user what is theirs", true)?;
            self.note_moment();
            self.note(Used::Table(name, table));
            return Ok(Arc::new(TableHandle(own)));
        }
        let table = self.tables.table(database, table).map_err(|error| self.without_hint(error))?;
        self.note(Used::Table(table.database(), table.name()));
        if table.view_query().is_some() {
            self.check_dictionary_source("A view", false)?;
            self.note_moment();
            return Ok(table);
        }
        if table.materialized_view().is_some() {
            self.check_dictionary_source("A materialized view", false)?;
            self.note_moment();
            return Ok(table);
        }
        if table.table_function().is_some() {
            // Its maker may make another of it, after the dictionary.
            self.check_dictionary_source("A table that is made AS a table function", false)?;
            self.note_moment();
            return Ok(table);
        }
        if let Some(opened) = file_engine::opened(self, &*table)? {
            self.note_moment();
            return Ok(opened);
        }
        if is_made_up(&*table) {
            return Ok(table);
        }
        if is_found_again(&*table) {
            self.met_name.store(true, Ordering::Relaxed);
            return Ok(Arc::new(WatchedTable { table, was_asked: self.met_moment.clone(), names: None }));
        }
        self.note_moment();
        Ok(table)
    }

    fn within_view(&self, enters: bool) {
        match enters {
            true => self.views.fetch_add(1, Ordering::Relaxed),
            false => self.views.fetch_sub(1, Ordering::Relaxed),
        };
    }

    fn target_of_view(&self, view: &dyn TableMetadata, of: &MaterializedView) -> Result<Arc<dyn TableMetadata>> {
        // Whose view it is not learns nothing of its definer.
        self.check_read(view, &[])?;
        let (database, table) = of.target(view.database());
        let definer = session_of_view(self.session, of)?;
        let catalog = QueryCatalog::new(&definer);
        let target = catalog.table(Some(database), table)?;
        self.note(Used::Table(database, table));
        let names: Vec<&str> = view.columns().iter().map(|column| &*column.name).collect();
        if catalog.checks_reads() {
            catalog.check_read(&*target, &names)?;
        }
        if catalog.row_filter(&*target)?.is_some() {
            return Err(Error::not_implemented("A row policy of a materialized view's table"));
        }
        let (database, name) = (view.database().to_owned(), view.name().to_owned());
        Ok(Arc::new(WatchedTable { table: target, was_asked: self.met_moment.clone(), names: Some((database, name)) }))
    }

    fn definition(&self, database: Option<&str>, table: &str) -> Result<Option<Arc<TableDefinition>>> {
        let databases = &self.session.server.databases;
        Ok(databases.describe(database.unwrap_or(&self.session.database), table)?.definition)
    }

    fn databases(&self) -> Vec<String> {
        self.note_moment();
        let databases = self.session.server.databases.databases().into_iter().map(|database| database.name.to_string());
        databases.filter(|name| self.session.access.may_show_database(name)).collect()
    }

    fn tables(&self, database: &str) -> Result<Vec<String>> {
        self.note_moment();
        self.check_dictionary_source("A table function over tables that match", true)?;
        let mut tables = self.tables.tables(database)?;
        tables.retain(|table| self.session.access.may_show_table(database, table));
        Ok(tables)
    }

    fn checks_reads(&self) -> bool {
        !self.session.access.reads_everything()
    }

    fn check_read(&self, table: &dyn TableMetadata, columns: &[&str]) -> Result<()> {
        let (database, name) = (table.database(), table.name());
        // Rows of table functions are made up.
        if system::is_information_schema(database) {
            return Ok(());
        }
        if database.is_empty() || database == TABLE_FUNCTION_DATABASE || is_made_up(table) || self.is_external(table) {
            return Ok(());
        }
        self.session.access.check_columns(Privilege::Select, database, name, columns)
    }

    fn user_function(&self, name: &str) -> Option<Arc<ast::Lambda>> {
        let function = self.session.server.objects.function(name)?;
        self.note_moment();
        Some(function.lambda.clone())
    }

    fn check_function(&self, name: &str) -> Result<()> {
        let privilege = match name {
            "addressToLine" => Privilege::AddressToLine,
            "addressToLineWithInlines" => Privilege::AddressToLineWithInlines,
            "addressToSymbol" => Privilege::AddressToSymbol,
            "demangle" => Privilege::Demangle,
            _ => return Ok(()),
        };
        // The plan is this user's.
        self.note_moment();
        self.session.access.check(privilege, &[])
    }

    fn check_columns_are_known(&self, database: &str, table: &str) -> Result<()> {
        self.session.access.check_show_columns(database, table)
    }

    fn row_filter(&self, table: &dyn TableMetadata) -> Result<Option<Arc<ast::Expression>>> {
        if self.session.access.reads_everything() || self.is_external(table) {
            return Ok(None);
        }
        let filter = self.session.row_filter(table.database(), table.name())?;
        if filter.is_some() {
            self.check_dictionary_source("A table whose rows a policy hides", true)?;
        }
        Ok(filter)
    }

    fn begin_lookup(
        &self,
        function: &str,
        name: Option<&str>,
        column: Option<&str>,
    ) -> Result<Option<Arc<dyn LoadedByQuery>>> {
        self.met_name.store(true, Ordering::Relaxed);
        let access = &self.session.access;
        if function.starts_with("joinGet") {
            // Which rows are found is not filtered, so whoever sees not all of them finds none.
            return match name.map(|name| self.lookups.split(name)) {
                Some((database, table)) if self.session.row_filter(database, table)?.is_none() => {
                    self.check_join_get(database, table, column).map(|()| None)
                }
                _ if access.reads_everything() => Ok(None),
                _ => access.check_all(PrivilegeSet::all(), &[]).map(|()| None),
            };
        }
        let Some(name) = name else {
            access.check(Privilege::DictGet, &[])?;
            return Ok(None);
        };
        let found = self.lookups.find_dictionary(name);
        self.check_dictionary(name, found.as_deref())?;
        let Some(dictionary) = found else { return Ok(None) };
        if dictionary.definition().layout.is_on_demand() {
            self.uses.lock().asks_sources = true;
        }
        Ok(Some(dictionary))
    }

    fn dictionary(&self, name: &str) -> Result<Arc<dyn TableMetadata>> {
        self.note_moment();
        let found = self.lookups.find_dictionary(name);
        self.check_dictionary(name, found.as_deref())?;
        self.tables.dictionary(name)
    }

    fn check_cluster(&self, name: &str) -> Result<()> {
        self.session.access.check(Privilege::Cluster, &[])?;
        system::cluster(&self.session.server, name, false).map(drop)
    }

    fn remote(&self, call: &RemoteCall, subqueries: &dyn SubqueryRunner) -> Result<RemoteRows> {
        let access = &self.session.access;
        match &call.servers {
            RemoteServers::Addresses { .. } => access.check_source(Privilege::Remote)?,
            RemoteServers::Cluster { .. } => access.check(Privilege::Cluster, &[])?,
        }
        let remote::Shards { own, others } = remote::shards(self.session, call)?;
        self.note_moment();
        if others.shards.is_empty() {
            return Ok(RemoteRows { own_shards: own, others: None });
        }
        access.check_source(Privilege::Remote)?;
        // The other server is asked.
        subqueries.check_may_run()?;
        Ok(RemoteRows { own_shards: own, others: Some(remote::table(others, call)?) })
    }

    fn repeated(&self, plan: Plan) -> Result<Arc<dyn TableMetadata>> {
        self.note_moment();
        Ok(Arc::new(TableHandle(Arc::new(LoopTable::new(self.session, plan)))))
    }

    fn executable(&self, program: &Program, inputs: Vec<Plan>) -> Result<Arc<dyn TableMetadata>> {
        self.note_moment();
        self.session.access.check(Privilege::CreateTemporaryTable, &[])?;
        self.check_dictionary_source("executable", false)?;
        Ok(Arc::new(TableHandle(Arc::new(ExecutableTable::new(self.session, program, inputs)?))))
    }

    fn table_function(
        &self,
        name: &str,
        arguments: &[Value],
        planner: &PlannerContext<'_>,
    ) -> Result<Arc<dyn TableMetadata>> {
        match name {
            "file" => {
                self.note_moment();
                self.session.access.check_source(Privilege::File)?;
                // Files are looked at.
                planner.subqueries.check_may_run()?;
                data_function::file(self.session, arguments, planner)
            }
            "url" => {
                self.note_moment();
                self.session.access.check_source(Privilege::Url)?;
                // The server is asked.
                planner.subqueries.check_may_run()?;
                data_function::url(self.session, arguments, planner)
            }
            name if is_over_s3(name) => {
                self.note_moment();
                self.session.access.check_source(Privilege::S3)?;
                // The server is asked.
                planner.subqueries.check_may_run()?;
                s3::table(self.session, name, arguments, planner)
            }
            name if let Some(engine) = ForeignKind::of_function(name) => {
                self.note_moment();
                self.session.access.check_source(engine.into())?;
                // The server is asked.
                planner.subqueries.check_may_run()?;
                foreign::table(self.session, engine, arguments)
            }
            "sqlite" => {
                self.note_moment();
                self.session.access.check_source(Privilege::Sqlite)?;
                // The file is looked at.
                planner.subqueries.check_may_run()?;
                data_function::sqlite(self.session, arguments)
            }
            "input" => {
                self.note_moment();
                self.session.input.as_ref().ok_or_else(no_input)?.table(arguments, planner)
            }
            "format" => {
                self.note_moment();
                data_function::format(self.session, arguments, planner)
            }
            _ => self.tables.table_function(name, arguments, planner),
        }
    }

    fn opened(&self, table: Arc<dyn TableMetadata>, planner: &PlannerContext<'_>) -> Result<Arc<dyn TableMetadata>> {
        file_engine::opened_elsewhere(self, table, planner)
    }

    fn file_by_name(&self, name: &str, planner: &PlannerContext<'_>) -> Result<Option<Arc<dyn TableMetadata>>> {
        if !self.session.server.is_local() {
            return Ok(None);
        }
        self.note_moment();
        planner.subqueries.check_may_run()?;
        data_function::by_name(self.session, name, planner)
    }
}

/// Whether a plan of a table is one of the same table at any later moment, as long as its name stays: an ALIAS may stand for anything.
fn is_found_again(table: &dyn TableMetadata) -> bool {
    let has_alias =
        |column: &ColumnDescription| column.default.as_ref().is_some_and(|default| default.kind == DefaultKind::Alias);
    matches!(table.engine(), "MergeTree" | "Memory" | "Join" | "TinyLog" | "Log" | "StripeLog" | "Set")
        && !table.columns().iter().any(has_alias)
}

/// A table that notes whether planning asks for what its rows are at the moment.
#[derive(Debug)]
struct WatchedTable {
    table: Arc<dyn TableMetadata>,
    was_asked: Arc<AtomicBool>,
    /// The database and name that it is read under, where they are a view's.
    names: Option<(String, String)>,
}

impl TableMetadata for WatchedTable {
    fn database(&self) -> &str {
        self.names.as_ref().map_or_else(|| self.table.database(), |(database, _)| database)
    }
    fn name(&self) -> &str {
        self.names.as_ref().map_or_else(|| self.table.name(), |(_, name)| name)
    }
    fn engine(&self) -> &str {
        self.table.engine()
    }
    fn columns(&self) -> &[ColumnDescription] {
        self.table.columns()
    }
    fn sorting_key(&self) -> &[usize] {
        self.table.sorting_key()
    }
    fn supports_prewhere(&self) -> bool {
        self.table.supports_prewhere()
    }
    fn rows_identity(&self) -> [usize; 2] {
        self.table.rows_identity()
    }
    fn rows(&self) -> Option<u64> {
        self.was_asked.store(true, Ordering::Relaxed);
        self.table.rows()
    }
    fn merged(&self) -> Option<Arc<dyn TableMetadata>> {
        // A plan that is kept finds the table again by its name, and not this.
        self.was_asked.store(true, Ordering::Relaxed);
        let table = self.table.merged()?;
        Some(Arc::new(Self { table, was_asked: self.was_asked.clone(), names: self.names.clone() }))
    }
    fn check_join(&self, kind: JoinKind, strictness: JoinStrictness, use_nulls: bool) -> Result<()> {
        self.table.check_join(kind, strictness, use_nulls)
    }
    fn constraints(&self) -> &[Constraint] {
        self.table.constraints()
    }
    fn column_range(&self, column: usize) -> Option<(Value, Value)> {
        self.was_asked.store(true, Ordering::Relaxed);
        self.table.column_range(column)
    }
    fn column_statistics(&self, column: usize) -> Option<Arc<ColumnStatistics>> {
        self.was_asked.store(true, Ordering::Relaxed);
        self.table.column_statistics(column)
    }
    fn virtual_columns(&self) -> usize {
        self.table.virtual_columns()
    }
    fn sampling_key(&self) -> Option<&Arc<str>> {
        self.table.sampling_key()
    }
    fn tokenizer(&self, expression: &Expression) -> Option<String> {
        self.table.tokenizer(expression)
    }
    fn has_row_places(&self) -> bool {
        self.table.has_row_places()
    }
    // Projections are chosen right before a plan runs, also of one that is kept.
    fn projections(&self) -> Vec<Arc<Projection>> {
        self.table.projections()
    }
    fn projected(&self, projection: &Projection) -> Option<Projected> {
        self.table.projected(projection)
    }
    fn marks_selected(&self, condition: Option<&Expression>) -> Result<Option<u64>> {
        self.table.marks_selected(condition)
    }
    fn with_subcolumn(&self, wanted: &Subcolumn) -> Option<Arc<dyn TableMetadata>> {
        self.table.with_subcolumn(wanted)
    }
    fn with_part_columns(&self) -> Option<Arc<dyn TableMetadata>> {
        // A kept plan would find the table without these columns.
        self.was_asked.store(true, Ordering::Relaxed);
        self.table.with_part_columns()
    }
    fn loaded_by_query(&self) -> Option<Arc<dyn LoadedByQuery>> {
        self.table.loaded_by_query()
    }
    fn as_any(&self) -> &dyn Any {
        self.table.as_any()
    }
}
