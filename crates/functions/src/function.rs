//! What a scalar function is: resolved once per query against argument types, then executed block by block.

use std::fmt::Debug;
use std::sync::Arc;

use squall_types::{Column, DataType, Result, Settings, Value};

use crate::lookup::Lookups;
use crate::moment::Moment;
use crate::properties::Properties;
use crate::series_tags::SeriesTags;
use crate::surroundings::Surroundings;

/// What is known of an argument when a query is planned.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its type.
    pub data_type: DataType,
    /// Its value where it is a constant: some functions' types depend on it (`toFixedString(s, 16)`, `CAST(x, 'Date')`).
    pub constant: Option<Value>,
}

impl Argument {
    /// An argument that differs by row.
    pub fn of(data_type: DataType) -> Self {
        Self { data_type, constant: None }
    }
}

/// What a function may know of the query that it runs in.
#[derive(Clone, Debug)]
pub struct FunctionContext {
    /// The session's time zone: for types that name none.
    pub time_zone: Arc<str>,
    /// What is of this run alone.
    pub moment: Moment,
    /// `currentDatabase()`.
    pub current_database: Arc<str>,
    /// `hostName()`.
    pub host_name: Arc<str>,
    /// `displayName()`.
    pub display_name: Arc<str>,
    /// `version()`.
    pub server_version: Arc<str>,
    /// `revision()`.
    pub server_revision: u32,
    /// Whether functions that look into the server itself may be called (`allow_introspection_functions`).
    pub allow_introspection_functions: bool,
    /// The query's settings.
    pub settings: Arc<Settings>,
    /// Where `dictGet` and `joinGet` look; nowhere outside a server.
    pub lookups: Option<Arc<dyn Lookups>>,
    /// What functions may ask of the server and the session around the query; nothing outside a server.
    pub surroundings: Option<Arc<dyn Surroundings>>,
    /// The tags of time series that the query has met.
    pub series_tags: SeriesTags,
}

impl FunctionContext {
    /// Of work that belongs to no query, as a table's key: at time 0, of nobody, on no server.
    pub fn outside_queries(time_zone: impl Into<Arc<str>>) -> Self {
        let nobody: Arc<str> = "".into();
        Self {
            time_zone: time_zone.into(),
            moment: Moment::default(),
            current_database: nobody.clone(),
            host_name: nobody.clone(),
            display_name: nobody.clone(),
            server_version: nobody,
            server_revision: 0,
            allow_introspection_functions: false,
            settings: Arc::default(),
            lookups: None,
            surroundings: None,
            series_tags: SeriesTags::default(),
        }
    }
}

/// A scalar function by name, before its argument types are known.
pub trait ScalarFunction: Send + Sync {
    /// ClickHouse's name.
    fn name(&self) -> &'static str;

    /// Chooses types and implementation for these arguments.
    ///
    /// The arguments come without `Nullable` and `LowCardinality` where [`defaults`](Self::defaults) says that the registry
    /// takes care of them.
    ///
    /// # Errors
    /// `NUMBER_OF_ARGUMENTS_DOESNT_MATCH`, `ILLEGAL_TYPE_OF_ARGUMENT` and the function's own.
    fn resolve(&self, arguments: &[Argument], context: &FunctionContext) -> Result<Arc<dyn BoundFunction>>;

    /// Whether the result over one `LowCardinality` argument is `LowCardinality` again, as far as the result's type allows.
    fn keeps_low_cardinality(&self) -> bool {
        true
    }

    /// What holds of it whatever types its arguments have.
    fn properties(&self) -> Properties {
        Properties::UNKNOWN
    }

    /// Whether it finds rows by key in what its first argument names, which need not be quoted. What it finds changes.
    fn looks_up(&self) -> bool {
        false
    }

    /// Whether it shows the names of its arguments. A call then has, in the place of its first argument, a tuple of that constant and an
    /// array of the others' names.
    fn shows_names(&self) -> bool {
        false
    }

    /// Whether its third argument says how texts are cut into words: as a text index of its first argument does, where it has none.
    fn searches_words(&self) -> bool {
        false
    }

    /// Whether its name alone is a call of it, where nothing else has that name: `SELECT CURRENT_DATE`.
    fn stands_alone(&self) -> bool {
        false
    }

    /// Which kinds of argument the registry handles for this function.
    fn defaults(&self) -> Defaults {
        Defaults::default()
    }
}

/// What the registry does around a function, so that most functions see plain columns only.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// A NULL in any argument makes a NULL result; the function sees the values without validity.
    pub nulls: bool,
    /// With `nulls`, the result must have a type that takes NULL: where an argument is nullable, an array is refused.
    pub nullable_result: bool,
    /// The literal NULL in an argument after the first makes a NULL result, even where `nulls` is not set.
    pub null_parameters: bool,
    /// `LowCardinality` arguments: with one such argument and constants beside it the function runs over the dictionary alone and the
    /// result is `LowCardinality` again where the type allows; otherwise they are expanded first, as are dictionaries inside arrays,
    /// tuples and maps.
    pub low_cardinality: bool,
    /// Only constant arguments make a constant result, by running on one row; the function gets columns of one row each.
    pub constants: bool,
    /// The function gets values of types that calculations take for others as those: see [`DataType::computed`].
    pub types: bool,
    /// A `BFloat16` among them stays one.
    pub halves: bool,
    /// A `Variant` is one value; otherwise the function runs over the values of each of its types apart.
    pub variants: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            nulls: true,
            nullable_result: false,
            null_parameters: false,
            low_cardinality: true,
            constants: true,
            types: true,
            halves: false,
            variants: false,
        }
    }
}

/// A function with its types settled.
pub trait BoundFunction: Send + Sync + Debug {
    /// The type of the result.
    fn return_type(&self) -> &DataType;

    /// The results of `rows` rows. Arguments have `rows` rows each; any may be a constant.
    ///
    /// # Errors
    /// The function's own, for values that it refuses (`ILLEGAL_DIVISION`, `CANNOT_PARSE_TEXT`, …).
    fn execute(&self, arguments: &[Column], rows: usize) -> Result<Column>;

    /// What holds of it whatever rows it gets.
    fn properties(&self) -> Properties {
        Properties::UNKNOWN
    }
}
