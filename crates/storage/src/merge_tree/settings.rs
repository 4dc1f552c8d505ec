//! The settings of a MergeTree table, read from `SETTINGS` of its CREATE TABLE.

use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use squall_planner::TableDefinition;
use squall_types::{Error, ErrorCode, Result};

/// Settings of ClickHouse that change nothing here, and why that is no loss.
const WITHOUT_EFFECT: &[(&str, &str)] = &[
    ("allow_nullable_key", "keys may always hold NULL"),
    ("enable_mixed_granularity_parts", "granules have a number of rows, in every part"),
    ("fsync_after_insert", "an insert is acknowledged when it is durable"),
    ("fsync_part_directory", "an insert is acknowledged when it is durable"),
    ("index_granularity_bytes", "granules have a number of rows, in every part"),
    ("merge_max_block_size", "merges read morsels by the time that they take"),
    ("merge_with_ttl_timeout", "TTL is refused"),
    ("min_bytes_for_wide_part", "every part is one file"),
    ("min_rows_for_wide_part", "every part is one file"),
    ("old_parts_lifetime", "parts go when nobody reads them any more"),
    ("parts_to_delay_insert", "inserts wait for the disk instead"),
    ("use_minimalistic_part_header_in_zookeeper", "there is no ZooKeeper"),
];

/// Rows between two entries of the primary index where the table does not say.
const INDEX_GRANULARITY_DEFAULT: usize = 8192;
/// Parts at which inserts are refused: nothing merges parts yet.
const PARTS_TO_THROW_INSERT_DEFAULT: usize = 3000;
/// The rows of a row group, rounded to granules: long contiguous arrays in the cache, yet several for each core.
const ROW_GROUP_ROWS: usize = 1 << 20;

/// A table's settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MergeTreeSettings {
    /// `index_granularity`: rows of a granule.
    pub(crate) index_granularity: usize,
    /// `parts_to_throw_insert`.
    pub(crate) parts_to_throw_insert: usize,
    /// `default_compression_codec`: that of the files.
    pub(crate) compression: Compression,
}

impl MergeTreeSettings {
    /// Reads a definition's settings.
    ///
    /// # Errors
    /// `UNKNOWN_SETTING`, `CANNOT_PARSE_INPUT_ASSERTION_FAILED`, `BAD_ARGUMENTS`.
    pub(crate) fn new(definition: &TableDefinition) -> Result<Self> {
        let mut settings = Self {
            index_granularity: INDEX_GRANULARITY_DEFAULT,
            parts_to_throw_insert: PARTS_TO_THROW_INSERT_DEFAULT,
            compression: Compression::LZ4_RAW,
        };
        for (name, value) in &definition.settings {
            match &**name {
                "index_granularity" => settings.index_granularity = number(value)?,
                "parts_to_throw_insert" => settings.parts_to_throw_insert = number(value)?,
                "default_compression_codec" => settings.compression = compression(value)?,
                "storage_policy" if &**value == "default" => {}
                // Another disk may be another promise: encrypted, or elsewhere.
                "storage_policy" => {
                    let message = format!("Unknown storage policy `{value}`: there is one, `default`");
                    return Err(Error::new(ErrorCode::UNKNOWN_POLICY, message));
                }
                other if WITHOUT_EFFECT.iter().any(|(name, _)| *name == other) => {}
                other => {
                    return Err(Error::new(
                        ErrorCode::UNKNOWN_SETTING,
                        format!("Unknown setting '{other}': for storage MergeTree"),
                    ));
                }
            }
        }
        if settings.index_granularity == 0 || settings.index_granularity > ROW_GROUP_ROWS {
            let value = settings.index_granularity;
            return Err(Error::new(
                ErrorCode::BAD_ARGUMENTS,
                format!("index_granularity: value {value} makes no sense"),
            ));
        }
        Ok(settings)
    }

    /// Whether there is a setting of this name.
    pub(crate) fn is_known(name: &str) -> bool {
        ["index_granularity", "parts_to_throw_insert", "default_compression_codec", "storage_policy"].contains(&name)
            || WITHOUT_EFFECT.iter().any(|(known, _)| *known == name)
    }

    /// Rows of a full row group: whole granules.
    pub(crate) fn row_group_rows(&self) -> usize {
        (ROW_GROUP_ROWS / self.index_granularity).max(1) * self.index_granularity
    }

    /// The definition as `SHOW CREATE TABLE` tells it: with the granularity, given or not.
    pub(crate) fn written_out(&self, mut definition: TableDefinition) -> TableDefinition {
        if !definition.settings.iter().any(|(name, _)| &**name == "index_granularity") {
            let value: Arc<str> = self.index_granularity.to_string().into();
            definition.settings.push(("index_granularity".into(), value));
        }
        definition
    }
}

fn number(text: &str) -> Result<usize> {
    text.trim().parse().map_err(|_| {
        Error::new(
            ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED,
            format!("Cannot parse input: expected 'eof' before: '{text}'"),
        )
    })
}

/// ClickHouse's codecs as far as Parquet has them.
fn compression(codec: &str) -> Result<Compression> {
    let name = codec.trim().to_ascii_uppercase();
    let level = name.strip_prefix("ZSTD(").and_then(|rest| rest.strip_suffix(')')).map(|level| level.trim().parse());
    match (name.as_str(), level) {
        ("" | "LZ4", _) => Ok(Compression::LZ4_RAW),
        ("NONE", _) => Ok(Compression::UNCOMPRESSED),
        ("ZSTD", _) => Ok(Compression::ZSTD(ZstdLevel::default())),
        (_, Some(Ok(level))) if ZstdLevel::try_new(level).is_ok() => {
            Ok(ZstdLevel::try_new(level).map_or(Compression::LZ4_RAW, Compression::ZSTD))
        }
        _ => Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Unknown codec '{codec}' of default_compression_codec: LZ4, ZSTD, ZSTD(level) or NONE"),
        )),
    }
}
