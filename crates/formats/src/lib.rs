//! Input and output formats: bytes to blocks and back, in every format that ClickHouse's clients ask for. Single values in text are
//! `types`' business; sockets, compression and the packets of the native protocol are `server`'s.

mod arrow;
mod binary;
mod builder;
mod display;
pub mod format;
mod format_properties;
pub mod input;
mod json;
pub mod native;
mod native_alternatives;
mod native_sparse;
mod native_strings;
mod nested;
mod options;
#[cfg(feature = "orc")]
mod orc;
pub mod output;
mod parquet;
#[cfg(feature = "protobuf")]
mod protobuf;
pub mod schema;
mod schema_folder;
pub mod split;
mod text;
mod whole_input;
pub mod wire;

pub use format::{
    check_format, finds_columns_by_name, format_of_file, formats, infer_schema, input_format, is_appendable,
    is_read_by_place, load_schema, output_format,
};
pub use format_properties::{FormatProperties, format_properties};
pub use input::{InputBlock, InputFormat, Omitted, TableInput};
pub use options::{Evaluate, FormatOptions};
pub use output::{OutputFormat, Pending, Statistics, Workers};
pub use parquet::{ParquetFile, ParquetRowGroup, ReadAt};
pub use schema_folder::SchemaFolder;
