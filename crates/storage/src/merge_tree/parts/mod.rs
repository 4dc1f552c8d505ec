//! Parts: their files, their names, what is known of them, and how they are made.

pub(super) mod chunk_bytes;
mod code_reader;
pub(super) mod column_reader;
pub(super) mod part;
pub(super) mod part_bytes;
pub(super) mod part_columns;
pub(super) mod part_description;
pub(super) mod part_encoder;
pub(super) mod part_footer;
pub(super) mod part_info;
pub(super) mod part_life;
pub(super) mod part_name;
pub(super) mod part_place;
mod part_reading;
pub(super) mod part_schema;
pub(super) mod part_stream;
pub(super) mod part_writer;
pub(super) mod partition;
pub(super) mod row_groups;
mod string_reader;
pub(super) mod table_directory;
pub(super) mod unsorted_rows;
mod written;
