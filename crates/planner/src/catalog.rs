//! What the planner needs to know of databases and tables. `storage` implements it; the engine gets its tables back from the
//! plan by [`TableMetadata::as_any`].

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use squall_sql::ast;
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::column_statistics::ColumnStatistics;
use crate::context::{PlannerContext, SubqueryRunner};
use crate::definition::{Constraint, TableDefinition};
use crate::expression::Expression;
use crate::load::SourceReader;
use crate::materialized_view::MaterializedView;
use crate::plan::{JoinKind, JoinStrictness, Plan};
use crate::projection::{Projected, Projection};
use crate::subcolumns::Subcolumn;
use crate::uses::Used;

/// A column as a table declares it.
#[derive(Clone, Debug)]
pub struct ColumnDescription {
    /// The name.
    pub name: Arc<str>,
    /// The type.
    pub data_type: DataType,
    /// The default's kind and expression, where it has one.
    pub default: Option<ColumnDefault>,
    /// The comment, empty where there is none.
    pub comment: Arc<str>,
    /// `CODEC`: its codecs in SQL, `Delta(4), LZ4`.
    pub codec: Option<Arc<str>>,
    /// `TTL`: when its values become its default, in SQL.
    pub ttl: Option<Arc<str>>,
}

impl ColumnDescription {
    /// A column of a name and a type, and nothing else.
    pub fn new(name: impl Into<Arc<str>>, data_type: DataType) -> Self {
        Self { name: name.into(), data_type, default: None, comment: "".into(), codec: None, ttl: None }
    }

    /// Whether rows have values of it: those of ALIAS columns are computed whenever they are read, EPHEMERAL ones are for defaults alone.
    pub fn is_stored(&self) -> bool {
        let kind = self.default.as_ref().map(|default| default.kind);
        !matches!(kind, Some(DefaultKind::Alias | DefaultKind::Ephemeral))
    }

    /// Whether both are arrays of one nested structure, `n.a` and `n.b`: those have one length in each row.
    pub fn is_nested_with(&self, other: &Self) -> bool {
        let structure = |column: &Self| column.name.split_once('.').map(|(structure, _)| structure.to_owned());
        let is_array = |column: &Self| matches!(column.data_type, DataType::Array(_));
        self.name != other.name
            && is_array(self)
            && is_array(other)
            && structure(self).is_some_and(|own| structure(other).is_some_and(|its| its == own))
    }
}

/// How a column gets values that an INSERT does not give.
#[derive(Clone, Debug)]
pub struct ColumnDefault {
    /// `DEFAULT`, `MATERIALIZED`, `ALIAS` or `EPHEMERAL`.
    pub kind: DefaultKind,
    /// The expression in SQL.
    pub expression: Arc<str>,
}

/// The kinds of default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum DefaultKind {
    Default,
    Materialized,
    Alias,
    Ephemeral,
}

impl DefaultKind {
    /// Its word in a declaration.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Default => "DEFAULT",
            Self::Materialized => "MATERIALIZED",
            Self::Alias => "ALIAS",
            Self::Ephemeral => "EPHEMERAL",
        }
    }
}

/// A table at one moment, as far as planning goes. The moment matters: a table that is changed or dropped while a query runs
/// keeps this face for that query.
pub trait TableMetadata: Send + Sync + Debug {
    /// The database's name.
    fn database(&self) -> &str;
    /// The table's name.
    fn name(&self) -> &str;
    /// The engine's name, `MergeTree`, `Memory`, `SystemNumbers`, ….
    fn engine(&self) -> &str;
    /// The columns, in order.
    fn columns(&self) -> &[ColumnDescription];
    /// Positions of the columns of the sorting key, where it consists of plain columns; empty for no key.
    fn sorting_key(&self) -> &[usize] {
        &[]
    }
    /// Whether some of its columns can be read before others, as PREWHERE asks for.
    fn supports_prewhere(&self) -> bool {
        false
    }
    /// Equal for two faces of one table, both of which are there, where they are its rows at the same moment.
    fn rows_identity(&self) -> [usize; 2] {
        [std::ptr::from_ref(self).cast::<()>() as usize, 0]
    }
    /// The number of rows, where it is known without reading.
    fn rows(&self) -> Option<u64> {
        None
    }
    /// The smallest and largest value of a column over all rows, where known without reading; never NULL.
    fn column_range(&self, _column: usize) -> Option<(Value, Value)> {
        None
    }
    /// What is known of a column's values over all rows, as estimates.
    fn column_statistics(&self, _column: usize) -> Option<Arc<ColumnStatistics>> {
        None
    }
    /// What must be loaded before the table is read: a dictionary.
    fn loaded_by_query(&self) -> Option<Arc<dyn LoadedByQuery>> {
        None
    }
    /// The table function that is called wherever the table is read.
    fn table_function(&self) -> Option<&Arc<ast::Function>> {
        None
    }
    /// The query of a view, which is planned wherever the view is read.
    fn view_query(&self) -> Option<&Arc<ast::Query>> {
        None
    }
    /// The table as if its parts were merged (FINAL); nothing for tables whose rows are never merged into others.
    fn merged(&self) -> Option<Arc<dyn TableMetadata>> {
        None
    }
    /// What a materialized view does; its rows are those of its target.
    fn materialized_view(&self) -> Option<&Arc<MaterializedView>> {
        None
    }
    /// Whether it is a view, materialized or not.
    fn is_view(&self) -> bool {
        self.view_query().is_some() || self.materialized_view().is_some()
    }
    /// Refuses a join that the rows of a right side, held by key, are not for: a table of the engine `Join`.
    ///
    /// # Errors
    /// `INCOMPATIBLE_TYPE_OF_JOIN`.
    fn check_join(&self, _kind: JoinKind, _strictness: JoinStrictness, _use_nulls: bool) -> Result<()> {
        Ok(())
    }
    /// What every row must meet.
    fn constraints(&self) -> &[Constraint] {
        &[]
    }
    /// `SAMPLE BY` in SQL: an unsigned integer over whose range rows are spread evenly.
    fn sampling_key(&self) -> Option<&Arc<str>> {
        None
    }
    /// The tokenizer of the text index over an expression of the table's columns, as `hasAnyTokens` takes it.
    fn tokenizer(&self, _expression: &Expression) -> Option<String> {
        None
    }
    /// The same table with columns behind its own that tell of where rows are from: `_part` and its kin. `None` where it has none.
    fn with_part_columns(&self) -> Option<Arc<dyn TableMetadata>> {
        None
    }
    /// The same table with one more column, a subcolumn, behind its own. `None` where it is read no faster so.
    fn with_subcolumn(&self, _wanted: &Subcolumn) -> Option<Arc<dyn TableMetadata>> {
        None
    }
    /// So many of the last columns tell of where rows are from: they are read by name only, `*` does not stand for them.
    fn virtual_columns(&self) -> usize {
        0
    }
    /// Whether a scan can tell of each row where it is, so that more of its columns can be read later.
    fn has_row_places(&self) -> bool {
        false
    }
    /// The projections that some of the rows are kept in, too.
    fn projections(&self) -> Vec<Arc<Projection>> {
        Vec::new()
    }
    /// The rows as one of these projections has them, as far as it has them.
    fn projected(&self, _projection: &Projection) -> Option<Projected> {
        None
    }
    /// The projection whose rows these are.
    fn of_projection(&self) -> Option<&str> {
        None
    }
    /// How many granules may have rows that meet a condition over the table's columns, as far as the primary key tells; `None` of tables that have
    /// no granules.
    ///
    /// # Errors
    /// Where the condition cannot be understood.
    fn marks_selected(&self, _condition: Option<&Expression>) -> Result<Option<u64>> {
        Ok(None)
    }
    /// The implementation, for the engine to downcast.
    fn as_any(&self) -> &dyn Any;
}

/// What an `impl TableMetadata` says of a table that stands in front of another, `named_like!(field)`: the names and the engine of that one,
/// and what the engine supports.
#[macro_export]
macro_rules! named_like {
    ($table:ident) => {
        fn database(&self) -> &str {
            self.$table.database()
        }
        fn name(&self) -> &str {
            self.$table.name()
        }
        fn engine(&self) -> &str {
            self.$table.engine()
        }
        fn supports_prewhere(&self) -> bool {
            self.$table.supports_prewhere()
        }
        fn as_any(&self) -> &dyn std::any::Any {
            self
        }
    };
}

/// A program that a query runs.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name in the folder of programs, and its arguments behind blanks.
    pub command: String,
    /// The format of what it reads and prints.
    pub format: String,
    /// The columns that it prints.
    pub columns: Vec<ColumnDescription>,
    /// How it is run: settings of the engine `Executable` with their values as text.
    pub settings: Vec<(Arc<str>, Arc<str>)>,
}

/// Rows that come from a source: a dictionary's. Whoever uses it first has the source read.
pub trait LoadedByQuery: Send + Sync {
    /// Whether the rows must be loaded before they are used.
    fn needs_load(&self) -> bool;

    /// Loads the rows, where they are not there yet or are wanted `anew`: `source` fetches them. Who comes meanwhile waits.
    ///
    /// # Errors
    /// Those of `source`; what is wrong with the rows.
    fn load(&self, anew: bool, source: &mut dyn SourceReader) -> Result<()>;
}

/// A call of `remote`, `cluster` or their kin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteCall {
    /// Which servers are asked.
    pub servers: RemoteServers,
    /// What is read there.
    pub target: RemoteTarget,
}

/// The servers of such a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RemoteServers {
    /// Those that `remote` and `remoteSecure` name.
    Addresses {
        /// `host:port`, or an expression for several servers.
        addresses: String,
        /// The user there, `default` where none is named.
        user: String,
        /// The user's password, which is empty where none is given.
        password: String,
        /// Whether the connection is under TLS.
        is_secure: bool,
    },
    /// Those of a cluster of the configuration.
    Cluster {
        /// Its name, in which `{macro}`s are to be put in.
        name: String,
        /// Whether each replica is asked as if it were a shard.
        every_replica: bool,
    },
}

/// Whose rows such a call stands for.
#[derive(Clone, Debug)]
pub struct RemoteRows {
    /// Shards that are this server itself.
    pub own_shards: usize,
    /// The table of the other shards, where there are any.
    pub others: Option<Arc<dyn TableMetadata>>,
}

/// What such a call reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RemoteTarget {
    /// A table.
    Table {
        /// The database's name.
        database: String,
        /// The table's name.
        table: String,
    },
    /// A table function, as SQL.
    Function(String),
}

/// Where names of tables are looked up.
pub trait Catalog: Send + Sync {
    /// Takes note of something that the query uses. Tables are found by looking them up; this is for the rest.
    fn note(&self, _used: Used<'_>) {}

    /// The table of a database (`None`: the session's current one).
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`.
    fn table(&self, database: Option<&str>, table: &str) -> Result<Arc<dyn TableMetadata>>;

    /// Whether [`check_read`](Self::check_read) is to be asked of the columns that are read.
    fn checks_reads(&self) -> bool {
        false
    }

    /// Whether the query may read these columns of a table that was looked up; none are read where only rows count.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    fn check_read(&self, _table: &dyn TableMetadata, _columns: &[&str]) -> Result<()> {
        Ok(())
    }

    /// A function that SQL defined.
    fn user_function(&self, _name: &str) -> Option<Arc<ast::Lambda>> {
        None
    }

    /// Whether the query may call a function.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    fn check_function(&self, _name: &str) -> Result<()> {
        Ok(())
    }

    /// The condition that rows of a table must meet to be seen by the query, over the table's columns.
    ///
    /// # Errors
    /// Where the condition cannot be had.
    fn row_filter(&self, _table: &dyn TableMetadata) -> Result<Option<Arc<ast::Expression>>> {
        Ok(None)
    }

    /// The query of a view is planned next, or was.
    fn within_view(&self, _enters: bool) {}

    /// The table that a materialized view writes to, under the view's name, for who may read the view. The view's definer must be
    /// allowed to read the table.
    ///
    /// # Errors
    /// `UNKNOWN_TABLE` where it is gone, `ACCESS_DENIED`.
    fn target_of_view(&self, view: &dyn TableMetadata, of: &MaterializedView) -> Result<Arc<dyn TableMetadata>> {
        let (database, table) = of.target(view.database());
        self.table(Some(database), table)
    }

    /// How a table was made; nothing of one that was not.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`, `UNKNOWN_TABLE`.
    fn definition(&self, _database: Option<&str>, _table: &str) -> Result<Option<Arc<TableDefinition>>> {
        Ok(None)
    }

    /// The names of the databases that the query may know of, ascending.
    fn databases(&self) -> Vec<String> {
        Vec::new()
    }

    /// The names of a database's tables and views, ascending.
    ///
    /// # Errors
    /// `UNKNOWN_DATABASE`.
    fn tables(&self, database: &str) -> Result<Vec<String>>;

    /// A function that finds rows by key is planned: by its name, and those of its dictionary or table and of the column that it gives, where
    /// they are constants. Gives what must be loaded first.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for an unknown dictionary, `DATABASE_ACCESS_DENIED`.
    fn begin_lookup(
        &self,
        _function: &str,
        _name: Option<&str>,
        _column: Option<&str>,
    ) -> Result<Option<Arc<dyn LoadedByQuery>>> {
        Ok(None)
    }

    /// Checks that all columns of a table may be known of: a table function takes its own from them.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    fn check_columns_are_known(&self, _database: &str, _table: &str) -> Result<()> {
        Ok(())
    }

    /// A dictionary as a table, by the name that `dictGet` knows it by.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where there is none.
    fn dictionary(&self, name: &str) -> Result<Arc<dyn TableMetadata>> {
        Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Dictionary (`{name}`) not found")))
    }

    /// Whether there is a cluster of this name, and a query may use clusters.
    ///
    /// # Errors
    /// `CLUSTER_DOESNT_EXIST`, `ACCESS_DENIED`.
    fn check_cluster(&self, name: &str) -> Result<()> {
        let message = format!("Requested cluster '{name}' not found");
        Err(Error::new(ErrorCode::CLUSTER_DOESNT_EXIST, message))
    }

    /// The rows of servers. May wait as [`table_function`](Self::table_function) does.
    ///
    /// # Errors
    /// `ACCESS_DENIED`, `CLUSTER_DOESNT_EXIST`; those of the address, of the connection, and of the other server.
    fn remote(&self, call: &RemoteCall, _subqueries: &dyn SubqueryRunner) -> Result<RemoteRows> {
        match &call.servers {
            RemoteServers::Addresses { addresses, .. } => {
                return Err(Error::not_implemented(format!("Reading from another server, {addresses},")));
            }
            RemoteServers::Cluster { name, .. } => self.check_cluster(name)?,
        }
        Ok(RemoteRows { own_shards: 1, others: None })
    }

    /// A table of a plan's rows, which come again and again.
    ///
    /// # Errors
    /// `NOT_IMPLEMENTED` where nothing can be run.
    fn repeated(&self, _plan: Plan) -> Result<Arc<dyn TableMetadata>> {
        Err(Error::not_implemented("Table function loop here"))
    }

    /// A table of what a program prints that is given the rows of plans.
    ///
    /// # Errors
    /// `ACCESS_DENIED`; what is wrong with how it is to be run; `NOT_IMPLEMENTED` where nothing can be.
    fn executable(&self, _program: &Program, _inputs: Vec<Plan>) -> Result<Arc<dyn TableMetadata>> {
        Err(Error::not_implemented("Table function executable here"))
    }

    /// The table that a table function with constant arguments makes: `numbers(10)`. Where it must wait for something it asks whether
    /// the context's subqueries may be run, which wait, too.
    ///
    /// # Errors
    /// `UNKNOWN_FUNCTION`, `BAD_ARGUMENTS`.
    fn table_function(
        &self,
        name: &str,
        arguments: &[Value],
        context: &PlannerContext<'_>,
    ) -> Result<Arc<dyn TableMetadata>>;

    /// A table with what its rows are at the moment, where others hold them. May wait as [`table_function`](Self::table_function) does.
    ///
    /// # Errors
    /// Where they cannot be asked.
    fn opened(&self, table: Arc<dyn TableMetadata>, _context: &PlannerContext<'_>) -> Result<Arc<dyn TableMetadata>> {
        Ok(table)
    }

    /// What a name without a database means where there is no table of that name: a file, where the query is its owner's. May wait as
    /// [`table_function`](Self::table_function) does.
    ///
    /// # Errors
    /// Where the file cannot be read.
    fn file_by_name(&self, _name: &str, _context: &PlannerContext<'_>) -> Result<Option<Arc<dyn TableMetadata>>> {
        Ok(None)
    }
}
