//! Binary formats other than Native, Arrow and Parquet.

#[cfg(feature = "avro")]
pub(super) mod avro;
pub(super) mod bit_planes;
pub(super) mod bson;
pub(super) mod msg_pack;
pub(crate) mod npy;
pub(super) mod odbc_driver;
pub(super) mod raw_blob;
pub(super) mod row_binary;
pub(super) mod states;
pub(super) mod uuid;
