//! The Protobuf messages of a file, without what nobody here asks for: statistics, indexes, encryption.

use prost::Message;

/// What the last bytes of a file say: how to read the rest of its end. Never compressed.
#[derive(Clone, PartialEq, Message)]
pub(super) struct PostScript {
    #[prost(uint64, optional, tag = "1")]
    pub footer_length: Option<u64>,
    #[prost(int32, optional, tag = "2")]
    pub compression: Option<i32>,
    #[prost(uint64, optional, tag = "3")]
    pub compression_block_size: Option<u64>,
    #[prost(uint32, repeated, tag = "4")]
    pub version: Vec<u32>,
    #[prost(uint64, optional, tag = "5")]
    pub metadata_length: Option<u64>,
    #[prost(uint32, optional, tag = "6")]
    pub writer_version: Option<u32>,
    #[prost(bytes = "vec", optional, tag = "8000")]
    pub magic: Option<Vec<u8>>,
}

/// What a file consists of.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Footer {
    #[prost(uint64, optional, tag = "1")]
    pub header_length: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    pub content_length: Option<u64>,
    #[prost(message, repeated, tag = "3")]
    pub stripes: Vec<StripeInformation>,
    #[prost(message, repeated, tag = "4")]
    pub types: Vec<TypeMessage>,
    #[prost(uint64, optional, tag = "6")]
    pub number_of_rows: Option<u64>,
    #[prost(uint32, optional, tag = "8")]
    pub row_index_stride: Option<u32>,
    #[prost(uint32, optional, tag = "9")]
    pub writer: Option<u32>,
    #[prost(int32, optional, tag = "11")]
    pub calendar: Option<i32>,
    #[prost(string, optional, tag = "12")]
    pub software_version: Option<String>,
}

/// Where a stripe is.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct StripeInformation {
    #[prost(uint64, optional, tag = "1")]
    pub offset: Option<u64>,
    #[prost(uint64, optional, tag = "2")]
    pub index_length: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub data_length: Option<u64>,
    #[prost(uint64, optional, tag = "4")]
    pub footer_length: Option<u64>,
    #[prost(uint64, optional, tag = "5")]
    pub number_of_rows: Option<u64>,
}

/// A type: columns are numbered as these stand.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TypeMessage {
    #[prost(int32, optional, tag = "1")]
    pub kind: Option<i32>,
    #[prost(uint32, repeated, tag = "2")]
    pub subtypes: Vec<u32>,
    #[prost(string, repeated, tag = "3")]
    pub field_names: Vec<String>,
    #[prost(uint32, optional, tag = "4")]
    pub maximum_length: Option<u32>,
    #[prost(uint32, optional, tag = "5")]
    pub precision: Option<u32>,
    #[prost(uint32, optional, tag = "6")]
    pub scale: Option<u32>,
}

/// What a stripe consists of.
#[derive(Clone, PartialEq, Message)]
pub(super) struct StripeFooter {
    #[prost(message, repeated, tag = "1")]
    pub streams: Vec<StreamMessage>,
    #[prost(message, repeated, tag = "2")]
    pub columns: Vec<ColumnEncoding>,
    #[prost(string, optional, tag = "3")]
    pub writer_timezone: Option<String>,
}

/// A stream of a column; they stand one after the other.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct StreamMessage {
    #[prost(int32, optional, tag = "1")]
    pub kind: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    pub column: Option<u32>,
    #[prost(uint64, optional, tag = "3")]
    pub length: Option<u64>,
}

/// How the values of a column are written.
#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct ColumnEncoding {
    #[prost(int32, optional, tag = "1")]
    pub kind: Option<i32>,
    #[prost(uint32, optional, tag = "2")]
    pub dictionary_size: Option<u32>,
}

/// The kinds of streams.
pub(super) mod stream {
    pub const PRESENT: i32 = 0;
    pub const DATA: i32 = 1;
    pub const LENGTH: i32 = 2;
    pub const DICTIONARY_DATA: i32 = 3;
    pub const SECONDARY: i32 = 5;
}

/// The kinds of encodings; those of the second version have another form of runs.
pub(super) mod encoding {
    pub const DIRECT: i32 = 0;
    pub const DICTIONARY: i32 = 1;
    pub const DIRECT_V2: i32 = 2;
    pub const DICTIONARY_V2: i32 = 3;
}
