//! Input and output formats: bytes to blocks and back, in every format that ClickHouse's clients ask for. Single values in text are
//! `types`' business; sockets, compression and the packets of the native protocol are `server`'s.

mod arrow;
#[cfg(feature = "avro")]
mod avro;
mod bit_planes;
mod bson;
mod builder;
mod cells;
mod csv;
mod custom;
mod escaping;
mod field;
mod form;
pub mod format;
pub mod input;
mod json;
mod json_columns;
mod json_input;
mod json_progress;
mod json_whole;
mod markdown;
mod msg_pack;
pub mod native;
mod native_alternatives;
mod native_sparse;
mod native_strings;
mod nested;
pub mod npy;
mod odbc_driver;
mod options;
pub mod output;
mod parquet;
mod pretty;
mod pretty_fit;
mod pretty_json;
mod quantity;
mod regexp;
mod row_binary;
mod scan;
pub mod schema;
mod sql_insert;
mod states;
mod tab_separated;
mod tabular;
mod template;
mod utf8;
mod uuid;
mod values;
mod vertical;
pub mod wire;
mod xml;

pub use format::{
    check_format, finds_columns_by_name, format_of_file, formats, infer_schema, input_format, is_appendable,
    is_read_by_place, output_format,
};
pub use input::{InputBlock, InputFormat, Omitted, TableInput};
pub use options::{Evaluate, FormatOptions};
pub use output::{OutputFormat, Statistics};
pub use parquet::{ParquetFile, ParquetRowGroup, ReadAt};
pub use schema::parse_structure;
