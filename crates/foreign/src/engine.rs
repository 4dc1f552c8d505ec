//! What a kind of servers does in its own way: how it describes tables, and how rows come from there and go there.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use squall_types::{DataType, Result, Schema, Settings};

use crate::condition::Operand;
use crate::feed::{Blocks, Incoming};
use crate::server::ForeignServer;

/// What is read there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A table or view.
    Table {
        /// PostgreSQL's schema; of MySQL the database.
        schema: String,
        /// Its name.
        table: String,
    },
    /// The answer to a query in the server's own SQL.
    Query(String),
}

/// What the session wants of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Columns {
    /// `external_table_functions_use_nulls`: columns that may be NULL there may be so here. Otherwise NULL is the type's default.
    pub use_nulls: bool,
    /// `mysql_datatypes_support_level` has `decimal`.
    pub decimals: bool,
    /// `mysql_datatypes_support_level` has `datetime64`.
    pub fractions: bool,
    /// What `mysql_datatypes_support_level` makes of dates.
    pub dates: DateAs,
}

/// What MySQL's dates are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DateAs {
    /// `Date`.
    Date,
    /// `Date32`: `date2Date32`.
    Date32,
    /// `String`: `date2String`.
    String,
}

impl Columns {
    /// What two settings say.
    pub fn of(use_nulls: bool, support_level: &str) -> Self {
        let has = |word: &str| support_level.split(',').any(|known| known.trim() == word);
        let dates = match (has("date2Date32"), has("date2String")) {
            (true, _) => DateAs::Date32,
            (false, true) => DateAs::String,
            (false, false) => DateAs::Date,
        };
        Self { use_nulls, decimals: has("decimal"), fractions: has("datetime64"), dates }
    }

    /// The type of a column that may be NULL there.
    pub(crate) fn or_null(self, data_type: DataType, is_nullable: bool) -> DataType {
        if is_nullable && self.use_nulls { data_type.to_nullable() } else { data_type }
    }
}

/// A column as a server describes it.
#[derive(Clone, Debug)]
pub struct ForeignColumn<K> {
    pub name: Arc<str>,
    /// What it is here.
    pub data_type: DataType,
    /// What is asked for, in the server's SQL.
    pub expression: String,
    /// How conditions name it; `None` where they cannot.
    pub operand: Option<Operand>,
    /// How its values come.
    pub kind: K,
}

/// What is asked for.
pub struct Asked<K> {
    /// The statement.
    pub sql: String,
    /// How the values of each column of `schema` come.
    pub kinds: Vec<K>,
    /// What the blocks have.
    pub schema: Arc<Schema>,
}

/// What is written, and where.
#[derive(Clone, Debug)]
pub struct Written<W> {
    pub schema: String,
    pub table: String,
    pub conflict: W,
    pub columns: Arc<Schema>,
}

/// A kind of servers.
pub trait Engine: Copy + Debug + Send + Sync + 'static {
    /// How values of a column come.
    type Kind: Clone + Debug + Send + Sync;
    /// What becomes of rows that are there already.
    type Conflict: Clone + Debug + Send + Sync;
    /// The engine's name; in small letters the table function's.
    const NAME: &'static str;
    /// The port where an address names none.
    const PORT: u16;
    /// The schema of tables without one; `None` where databases are the schemas.
    const SCHEMA: Option<&'static str>;

    /// How long settings have each address tried.
    fn connect_max(settings: &Settings) -> Duration;

    /// A name in the server's quotes.
    fn name_sql(name: &str) -> String;

    /// A string literal; `None` where the server has none.
    fn literal_sql(text: &[u8]) -> Option<String>;

    /// The columns of a table or query.
    ///
    /// # Errors
    /// Those of the connection; `UNKNOWN_TABLE`.
    #[doc(hidden)]
    fn columns(
        server: &ForeignServer,
        source: &Source,
        wanted: Columns,
    ) -> impl Future<Output = Result<Vec<ForeignColumn<Self::Kind>>>>;

    /// Gives the rows of a statement away, until the end, or until nobody wants more.
    ///
    /// # Errors
    /// Those of the connection, of the statement, and of the query's limits.
    #[doc(hidden)]
    fn follow(server: &ForeignServer, asked: &Asked<Self::Kind>, blocks: &Blocks) -> impl Future<Output = Result<()>>;

    /// Writes what comes, in one transaction; an INSERT that is given up ends with its connection.
    ///
    /// # Errors
    /// Those of the connection, of the statements, and of the query's limits.
    #[doc(hidden)]
    fn carry(
        server: &ForeignServer,
        written: &Written<Self::Conflict>,
        incoming: &Incoming,
    ) -> impl Future<Output = Result<()>>;
}
