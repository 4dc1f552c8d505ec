//! How columns lie in the files of new parts: what compresses each of them and how its values are encoded, by its CODEC or as the table says.

use parquet::basic::{Compression, Encoding, ZstdLevel};
use squall_planner::{ColumnCodec, ColumnCompression, ColumnPacking};
use squall_types::{Error, Result};

use crate::identity::TableIdentity;

/// What compresses pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PageCodec {
    /// Nothing.
    None,
    /// LZ4, the fast way.
    Lz4,
    /// LZ4 that looks longer for matches, by its level: whoever reads notices nothing. Pages that the `parquet` crate makes, those of lists
    /// and the like, are compressed the fast way.
    Lz4Hc(i32),
    /// ZSTD of a level.
    Zstd(ZstdLevel),
}

impl PageCodec {
    /// Parquet's name of it.
    pub(in crate::merge_tree) fn in_parquet(self) -> Compression {
        match self {
            Self::None => Compression::UNCOMPRESSED,
            Self::Lz4 | Self::Lz4Hc(_) => Compression::LZ4_RAW,
            Self::Zstd(level) => Compression::ZSTD(level),
        }
    }
}

/// What compresses the columns of small parts, which are soon merged, where nobody has chosen.
pub(in crate::merge_tree) const OF_SMALL_PARTS: PageCodec = PageCodec::Lz4;

/// ClickHouse's word for [what compresses large parts](of_large_parts).
pub(in crate::merge_tree) const CODEC_OF_LARGE_PARTS: &str = "ZSTD(1)";

/// What compresses the columns of large parts, where nobody has chosen. LZ4HC(3) takes a twelfth more, and 1.7 times as long to merge.
pub(in crate::merge_tree) fn of_large_parts() -> PageCodec {
    PageCodec::Zstd(ZstdLevel::default())
}

/// Parts made of so many bytes on disk are large: they stay for long, and the background makes them. In debug builds it is less, so that tests
/// meet such.
pub(in crate::merge_tree) const LARGE_PART_BYTES: u64 = if cfg!(debug_assertions) { 100_000 } else { 100_000_000 };

/// How a column lies in files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::merge_tree) struct Packing {
    /// What compresses its pages.
    pub(in crate::merge_tree) codec: PageCodec,
    /// How its values are encoded, where that is not left to the writer.
    pub(in crate::merge_tree) encoding: Option<Encoding>,
    /// Whether the column has a CODEC that asks for this: then its pages are compressed so even where they would take less as they are.
    pub(in crate::merge_tree) is_asked_for: bool,
}

/// The codec that somebody has chosen, who may leave it to the table's.
pub(in crate::merge_tree) fn chosen(codec: ColumnCompression, default: PageCodec) -> Result<PageCodec> {
    Ok(match codec {
        ColumnCompression::Default => default,
        ColumnCompression::None => PageCodec::None,
        ColumnCompression::Lz4 => PageCodec::Lz4,
        ColumnCompression::Lz4Hc(level) => PageCodec::Lz4Hc(level),
        ColumnCompression::Zstd(level) => {
            PageCodec::Zstd(ZstdLevel::try_new(level).map_err(|error| Error::logical(error.to_string()))?)
        }
    })
}

/// The packing of each stored column; `default` compresses those that do not say.
pub(in crate::merge_tree) fn packings(identity: &TableIdentity, default: PageCodec) -> Result<Vec<Packing>> {
    let columns = identity.definition.columns.iter().zip(&identity.stored_positions);
    let stored = columns.filter(|(_, position)| position.is_some());
    let packing = |codec: Option<&str>, data_type| {
        let Some(codec) = codec else {
            return Ok(Packing { codec: default, encoding: None, is_asked_for: false });
        };
        let asked = ColumnCodec::parse(codec, data_type)?;
        let codec = chosen(asked.compression, default)?;
        let encoding = asked.packing.map(|packing| match packing {
            ColumnPacking::Deltas => Encoding::DELTA_BINARY_PACKED,
            ColumnPacking::SplitBytes => Encoding::BYTE_STREAM_SPLIT,
        });
        Ok(Packing { codec, encoding, is_asked_for: true })
    };
    stored.map(|(column, _)| packing(column.codec.as_deref(), &column.data_type)).collect()
}
