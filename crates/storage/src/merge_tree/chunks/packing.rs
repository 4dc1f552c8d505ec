//! How columns lie in the files of new parts: what compresses each of them and how its values are encoded, by its CODEC or as the table says.

use parquet::basic::{Compression, Encoding, ZstdLevel};
use squall_planner::{ColumnCodec, ColumnCompression, ColumnPacking};
use squall_types::{Error, Result};

use crate::identity::TableIdentity;

/// What compresses the columns of small parts, which are soon merged, where nobody has chosen.
pub(in crate::merge_tree) const OF_SMALL_PARTS: Compression = Compression::LZ4_RAW;

/// Parts made of so many bytes on disk are large: they stay for long, and the background makes them. In debug builds it is less, so that tests
/// meet such.
pub(in crate::merge_tree) const LARGE_PART_BYTES: u64 = if cfg!(debug_assertions) { 100_000 } else { 100_000_000 };

/// ClickHouse's word for [what compresses large parts](of_large_parts).
pub(in crate::merge_tree) const CODEC_OF_LARGE_PARTS: &str = "ZSTD(1)";

/// What compresses the columns of large parts, where nobody has chosen.
pub(in crate::merge_tree) fn of_large_parts() -> Compression {
    Compression::ZSTD(ZstdLevel::default())
}

/// How a column lies in files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::merge_tree) struct Packing {
    /// What compresses its pages.
    pub(in crate::merge_tree) compression: Compression,
    /// How its values are encoded, where that is not left to the writer.
    pub(in crate::merge_tree) encoding: Option<Encoding>,
    /// Whether the column has a CODEC that asks for this: then its pages are compressed so even where they would take less as they are.
    pub(in crate::merge_tree) is_asked_for: bool,
}

/// Parquet's word for a codec, which may leave it to the table's.
pub(in crate::merge_tree) fn in_parquet(codec: ColumnCompression, default: Compression) -> Result<Compression> {
    Ok(match codec {
        ColumnCompression::Default => default,
        ColumnCompression::None => Compression::UNCOMPRESSED,
        ColumnCompression::Lz4 => Compression::LZ4_RAW,
        ColumnCompression::Zstd(level) => {
            Compression::ZSTD(ZstdLevel::try_new(level).map_err(|error| Error::logical(error.to_string()))?)
        }
    })
}

/// The packing of each stored column; `default` compresses those that do not say.
pub(in crate::merge_tree) fn packings(identity: &TableIdentity, default: Compression) -> Result<Vec<Packing>> {
    let columns = identity.definition.columns.iter().zip(&identity.stored_positions);
    let stored = columns.filter(|(_, position)| position.is_some());
    let packing = |codec: Option<&str>, data_type| {
        let Some(codec) = codec else {
            return Ok(Packing { compression: default, encoding: None, is_asked_for: false });
        };
        let codec = ColumnCodec::parse(codec, data_type)?;
        let compression = in_parquet(codec.compression, default)?;
        let encoding = codec.packing.map(|packing| match packing {
            ColumnPacking::Deltas => Encoding::DELTA_BINARY_PACKED,
            ColumnPacking::SplitBytes => Encoding::BYTE_STREAM_SPLIT,
        });
        Ok(Packing { compression, encoding, is_asked_for: true })
    };
    stored.map(|(column, _)| packing(column.codec.as_deref(), &column.data_type)).collect()
}
