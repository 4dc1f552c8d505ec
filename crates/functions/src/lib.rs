//! Scalar, higher-order, aggregate and window functions with ClickHouse's names and typing rules, in one registry. Knows types
//! and blocks; knows neither plans nor tables.

pub mod accumulator;
mod aggregate;
mod bits;
mod by_alternative;
mod defaults;
pub mod frames;
pub mod function;
pub mod higher_order;
pub mod lookup;
mod moment;
mod names;
mod partial_sort;
mod partition_id;
mod properties;
pub mod regions;
pub mod registry;
mod scalar;
mod selection;
mod series_tags;
mod surroundings;
mod top_level_domains;
pub mod window;

pub use accumulator::{Accumulator, AggregateFunction, CUT_PARTS, CUT_PIECES, GroupIds, STEP_ITEMS};
pub use bits::bits_of;
pub use frames::{FrameStep, FrameWalk, RowRange};
pub use function::{Argument, BoundFunction, Defaults, FunctionContext, ScalarFunction};
pub use higher_order::{BoundHigherOrder, HigherOrderFunction, Lambda};
pub use lookup::{Attribute, Found, KeyedRows, Lookups, MISSING};
pub use moment::Moment;
pub use partition_id::partition_id;
pub use properties::{Lazy, Monotonic, Properties};
pub use registry::{
    FunctionDescription, aggregate_combinators, aggregate_exists, aggregate_merged_by, aggregate_name_parts,
    aggregate_of_states, all_functions, canonical_name, check_aggregate_allowed, check_type, edit_distance,
    higher_order, ignores_order, looks_up, merge_of_states, resolve_aggregate, resolve_scalar, resolve_simple,
    scalar_exists, searches_words, shows_names, stands_alone, state_and_merge, unknown_function,
};
pub use scalar::collation::COLLATIONS;
pub use scalar::conversion::check_alternatives;
pub use scalar::hash::sip::sip_hash64;
pub use scalar::other::schema::protobuf_schema;
pub use scalar::set::in_set;
pub use scalar::text::Tokenizer;
pub use selection::{Selection, truth};
pub use series_tags::SeriesTags;
pub use surroundings::{DiskSpace, Surroundings};
pub use top_level_domains::TopLevelDomains;
pub use window::{
    FrameUse, OtherRows, Place, RowWalk, WindowFunction, WindowRows, WindowWalk, resolve_window, window_function_exists,
};
