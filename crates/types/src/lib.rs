//! ClickHouse's data types over Arrow arrays: what a [`Column`] and a [`Block`] are, how values are typed, cast and printed, and
//! the one [`Error`] that crosses crate boundaries. Knows no SQL, no plans and no files.

pub mod block;
pub mod calendar;
pub mod cast;
pub mod checkpoint;
pub mod column;
pub mod data_type;
pub mod error;
pub mod exact;
pub mod gather;
pub mod integer;
pub mod kernels;
pub mod long_sort;
pub mod memory;
pub mod packed_hash;
pub mod physical;
pub mod pieces;
mod prefetch;
pub mod rows;
pub mod settings;
pub mod sparse;
pub mod supertype;
pub mod text;
pub mod type_family;
pub mod type_name;
pub mod value;
mod wrappers;

pub use block::{Block, Schema};
pub use cast::{CastMode, CastOptions, cast, cast_value, convert_value};
pub use checkpoint::checkpoint;
pub use column::{Column, ColumnBuilder, default_value};
pub use data_type::{DataType, EnumValues, IntervalKind, TupleElement};
pub use error::{Error, ErrorCode, Result};
pub use exact::exact_value;
pub use integer::Integer;
pub use long_sort::sort_long;
pub use memory::{grow, reserve};
pub use physical::Physical;
pub use pieces::PieceRows;
pub use prefetch::prefetch;
pub use rows::Rows;
pub use settings::Settings;
pub use sparse::Sparse;
pub use supertype::least_supertype;
pub use value::{Value, uuid_rank};
