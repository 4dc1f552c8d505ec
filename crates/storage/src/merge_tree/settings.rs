//! The settings of a MergeTree table, read from `SETTINGS` of its CREATE TABLE.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use parquet::basic::ZstdLevel;
use squall_planner::TableDefinition;
use squall_types::settings::foreign::{self, Effect};
use squall_types::settings::{SettingDescription, SettingType};
use squall_types::{Error, ErrorCode, Result};

use super::chunks::packing::PageCodec;

/// ClickHouse's other settings; the table's first lines say what stands in it.
static FOREIGN: LazyLock<Vec<SettingDescription>> =
    LazyLock::new(|| foreign::descriptions(include_str!("foreign_settings.tsv")));

/// Rows between two entries of the primary index where the table does not say.
const INDEX_GRANULARITY_DEFAULT: usize = 8192;
/// Parts of a partition at which inserts are refused.
const PARTS_TO_THROW_INSERT_DEFAULT: usize = 3000;
/// Parts of a partition from which on inserts wait.
const PARTS_TO_DELAY_INSERT_DEFAULT: usize = 1000;
/// Bytes of parts that the background merges into one where the table does not say.
const MERGED_BYTES_MAX_DEFAULT: u64 = 150 << 30;
/// Seconds between merges of a partition for the sake of its TTL where the table does not say.
const TTL_TIMEOUT_DEFAULT: u64 = 14_400;
/// The same of tables of other engines that keep their rows in parts.
const PARTS_OF_OTHERS_MAX: usize = 100_000;
/// Above this share of defaults a chunk is held sparse where the table does not say.
const RATIO_OF_DEFAULTS_DEFAULT: f64 = 0.9375;
/// The rows of a row group, rounded to granules: long contiguous arrays in the cache, yet several for each core.
const ROW_GROUP_ROWS: usize = 1 << 20;

/// A table's settings.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct MergeTreeSettings {
    /// `allow_nullable_key`.
    pub(crate) allow_nullable_key: bool,
    /// `index_granularity`: rows of a granule.
    pub(crate) index_granularity: usize,
    /// `parts_to_throw_insert`.
    pub(crate) parts_to_throw_insert: usize,
    /// `parts_to_delay_insert`.
    pub(crate) parts_to_delay_insert: usize,
    /// `max_delay_to_insert`, in seconds.
    pub(crate) max_delay_to_insert: u64,
    /// `min_delay_to_insert_ms`.
    pub(crate) min_delay_to_insert_ms: u64,
    /// `max_avg_part_size_for_too_many_parts`: partitions whose parts have more bytes on average hold no INSERT back; 0 for none such.
    pub(crate) max_avg_part_size_for_too_many_parts: u64,
    /// `max_bytes_to_merge_at_max_space_in_pool`: bytes on disk of parts that the background merges into one.
    pub(crate) merged_bytes_max: u64,
    /// `non_replicated_deduplication_window`: the INSERTs that the table remembers.
    pub(crate) deduplication_window: u64,
    /// `merge_with_ttl_timeout`: seconds between merges of a partition for the sake of rows that expire.
    pub(crate) merge_with_ttl_timeout: u64,
    /// `merge_with_recompression_ttl_timeout`: the same for parts that are compressed anew.
    pub(crate) merge_with_recompression_ttl_timeout: u64,
    /// `ttl_only_drop_parts`: no merge is for the sake of some rows of a part.
    pub(crate) ttl_only_drop_parts: bool,
    /// `default_compression_codec`: that of the files; `None` leaves it to their size.
    pub(crate) codec: Option<PageCodec>,
    /// `ratio_of_defaults_for_sparse_serialization`: chunks of which a larger share are defaults are held sparse; none from 1 on.
    pub(crate) ratio_of_defaults: f64,
    /// `deduplicate_merge_projection_mode`: what becomes of projections where merges make other rows.
    pub(crate) deduplicate_merge_projection_mode: ProjectionMode,
    /// `lightweight_mutation_projection_mode`: what becomes of them where DELETE FROM takes rows out.
    pub(crate) lightweight_mutation_projection_mode: ProjectionMode,
    /// `materialize_projections_on_insert`.
    pub(crate) materialize_projections_on_insert: bool,
    /// `add_minmax_index_for_numeric_columns`.
    pub(crate) add_minmax_index_for_numeric_columns: bool,
    /// `add_minmax_index_for_string_columns`.
    pub(crate) add_minmax_index_for_string_columns: bool,
    /// `add_minmax_index_for_temporal_columns`.
    pub(crate) add_minmax_index_for_temporal_columns: bool,
}

/// What becomes of the projections of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProjectionMode {
    /// They are in the way.
    Throw,
    /// It loses them.
    Drop,
    /// They are made anew.
    Rebuild,
}

/// Reads one setting.
type Read = fn(&mut MergeTreeSettings, &str) -> Result<()>;

/// The settings that are implemented.
static SETTINGS: [(SettingDescription, Read); 21] = [
    (
        described(
            "add_minmax_index_for_numeric_columns",
            SettingType::Bool,
            "0",
            "Whether every column of numbers has a skip index of the type minmax.",
        ),
        |settings, value| {
            settings.add_minmax_index_for_numeric_columns = flag(value)?;
            Ok(())
        },
    ),
    (
        described(
            "add_minmax_index_for_string_columns",
            SettingType::Bool,
            "0",
            "Whether every column of strings has a skip index of the type minmax.",
        ),
        |settings, value| {
            settings.add_minmax_index_for_string_columns = flag(value)?;
            Ok(())
        },
    ),
    (
        described(
            "add_minmax_index_for_temporal_columns",
            SettingType::Bool,
            "0",
            "Whether every column of dates or times has a skip index of the type minmax.",
        ),
        |settings, value| {
            settings.add_minmax_index_for_temporal_columns = flag(value)?;
            Ok(())
        },
    ),
    (
        described("allow_nullable_key", SettingType::Bool, "0", "Whether keys may be Nullable; NULL comes last."),
        |settings, value| {
            settings.allow_nullable_key = flag(value)?;
            Ok(())
        },
    ),
    (
        described(
            "default_compression_codec",
            SettingType::String,
            "",
            "The codec of parts: LZ4, LZ4HC(level), ZSTD(level), NONE. Empty: LZ4, and ZSTD for parts merged from 100 MB or more.",
        ),
        |settings, value| {
            settings.codec = codec(value)?;
            Ok(())
        },
    ),
    (
        described(
            "deduplicate_merge_projection_mode",
            SettingType::String,
            "throw",
            "What becomes of projections where merges make other rows of a table's: throw (there are none), drop or rebuild.",
        ),
        |settings, value| {
            settings.deduplicate_merge_projection_mode = projection_mode(value)?;
            Ok(())
        },
    ),
    (
        described("index_granularity", SettingType::UInt64, "8192", "Rows between two entries of the primary index."),
        |settings, value| {
            settings.index_granularity = number(value)?;
            Ok(())
        },
    ),
    (
        described(
            "lightweight_mutation_projection_mode",
            SettingType::String,
            "throw",
            "What becomes of projections where DELETE FROM takes rows out: throw (it fails), drop or rebuild.",
        ),
        |settings, value| {
            settings.lightweight_mutation_projection_mode = projection_mode(value)?;
            Ok(())
        },
    ),
    (
        described(
            "materialize_projections_on_insert",
            SettingType::Bool,
            "1",
            "Whether parts that INSERT makes get the table's projections; otherwise they get them when they are merged.",
        ),
        |settings, value| {
            settings.materialize_projections_on_insert = flag(value)?;
            Ok(())
        },
    ),
    (
        described(
            "max_bytes_to_merge_at_max_space_in_pool",
            SettingType::UInt64,
            "161061273600",
            "Bytes on disk of parts that the background merges into one, at most; a merge never takes more than 256 MiB.",
        ),
        |settings, value| {
            settings.merged_bytes_max = number(value)? as u64;
            Ok(())
        },
    ),
    (
        described(
            "max_avg_part_size_for_too_many_parts",
            SettingType::UInt64,
            "1073741824",
            "Partitions whose parts have more bytes on average hold no INSERT back, however many parts they have; 0 for none such.",
        ),
        |settings, value| {
            settings.max_avg_part_size_for_too_many_parts = number(value)? as u64;
            Ok(())
        },
    ),
    (
        described(
            "max_delay_to_insert",
            SettingType::UInt64,
            "1",
            "Seconds that an INSERT waits at most where a partition has nearly parts_to_throw_insert parts.",
        ),
        |settings, value| {
            settings.max_delay_to_insert = number(value)? as u64;
            Ok(())
        },
    ),
    (
        described(
            "merge_with_recompression_ttl_timeout",
            SettingType::Int64,
            "14400",
            "Seconds between merges of a partition that compress parts anew as their TTL says.",
        ),
        |settings, value| {
            settings.merge_with_recompression_ttl_timeout = number(value)? as u64;
            Ok(())
        },
    ),
    (
        described(
            "merge_with_ttl_timeout",
            SettingType::Int64,
            "14400",
            "Seconds between merges of a partition that take expired rows and values out of parts.",
        ),
        |settings, value| {
            settings.merge_with_ttl_timeout = number(value)? as u64;
            Ok(())
        },
    ),
    (
        described(
            "min_delay_to_insert_ms",
            SettingType::UInt64,
            "10",
            "Milliseconds that an INSERT waits at least where a partition has parts_to_delay_insert parts.",
        ),
        |settings, value| {
            settings.min_delay_to_insert_ms = number(value)? as u64;
            Ok(())
        },
    ),
    (
        described(
            "non_replicated_deduplication_window",
            SettingType::UInt64,
            "0",
            "How many of the last INSERTs are remembered in each table: one of them that comes again changes nothing. 0 is none.",
        ),
        |settings, value| {
            settings.deduplication_window = number(value)? as u64;
            Ok(())
        },
    ),
    (
        described(
            "parts_to_delay_insert",
            SettingType::UInt64,
            "1000",
            "Parts of a partition from which on inserts wait, the longer the more there are; 0 is never.",
        ),
        |settings, value| {
            settings.parts_to_delay_insert = number(value)?;
            Ok(())
        },
    ),
    (
        described(
            "parts_to_throw_insert",
            SettingType::UInt64,
            "3000",
            "Parts of a partition at which inserts are refused.",
        ),
        |settings, value| {
            settings.parts_to_throw_insert = number(value)?;
            Ok(())
        },
    ),
    (
        described(
            "ratio_of_defaults_for_sparse_serialization",
            SettingType::Float,
            "0.9375",
            "Columns of which a larger share are defaults are held sparse in memory, strings from 0.75 on; none from 1 on.",
        ),
        |settings, value| {
            settings.ratio_of_defaults = ratio(value)?;
            Ok(())
        },
    ),
    (
        described("storage_policy", SettingType::String, "default", "Where parts lie: `default` is the only policy."),
        |_, value| match value {
            "default" => Ok(()),
            // Another disk may be another promise: encrypted, or elsewhere.
            other => {
                let message = format!("Unknown storage policy `{other}`: there is one, `default`");
                Err(Error::new(ErrorCode::UNKNOWN_POLICY, message))
            }
        },
    ),
    (
        described(
            "ttl_only_drop_parts",
            SettingType::Bool,
            "0",
            "Whether the background takes only parts away all of whose rows have expired, and no rows out of others.",
        ),
        |settings, value| {
            settings.ttl_only_drop_parts = number(value)? != 0;
            Ok(())
        },
    ),
];

const fn described(
    name: &'static str,
    setting_type: SettingType,
    default: &'static str,
    description: &'static str,
) -> SettingDescription {
    SettingDescription {
        name,
        setting_type,
        type_name: setting_type.name(),
        default,
        allowed: Cow::Borrowed(&[]),
        description,
        effect: Effect::Implemented,
        tier: "Production",
    }
}

/// Every setting of MergeTree tables that is known: those that are implemented, then ClickHouse's others.
pub fn merge_tree_settings() -> impl Iterator<Item = &'static SettingDescription> {
    SETTINGS.iter().map(|(description, _)| description).chain(FOREIGN.iter())
}

impl MergeTreeSettings {
    /// Reads a definition's settings.
    ///
    /// # Errors
    /// `UNKNOWN_SETTING`, `CANNOT_PARSE_INPUT_ASSERTION_FAILED`, `BAD_ARGUMENTS`.
    pub(crate) fn new(definition: &TableDefinition) -> Result<Self> {
        let mut settings = Self {
            allow_nullable_key: false,
            index_granularity: INDEX_GRANULARITY_DEFAULT,
            parts_to_throw_insert: PARTS_TO_THROW_INSERT_DEFAULT,
            parts_to_delay_insert: PARTS_TO_DELAY_INSERT_DEFAULT,
            max_delay_to_insert: 1,
            min_delay_to_insert_ms: 10,
            max_avg_part_size_for_too_many_parts: 1 << 30,
            merged_bytes_max: MERGED_BYTES_MAX_DEFAULT,
            deduplication_window: 0,
            merge_with_ttl_timeout: TTL_TIMEOUT_DEFAULT,
            merge_with_recompression_ttl_timeout: TTL_TIMEOUT_DEFAULT,
            ttl_only_drop_parts: false,
            codec: None,
            ratio_of_defaults: RATIO_OF_DEFAULTS_DEFAULT,
            deduplicate_merge_projection_mode: ProjectionMode::Throw,
            lightweight_mutation_projection_mode: ProjectionMode::Throw,
            materialize_projections_on_insert: true,
            add_minmax_index_for_numeric_columns: false,
            add_minmax_index_for_string_columns: false,
            add_minmax_index_for_temporal_columns: false,
        };
        if !definition.engine.ends_with("MergeTree") {
            // Nobody merges the parts of other engines, which have no limit of their own in ClickHouse.
            settings.parts_to_throw_insert = PARTS_OF_OTHERS_MAX;
            settings.parts_to_delay_insert = 0;
        }
        for (name, value) in &definition.settings {
            if &*definition.engine == "Set" && matches!(&**name, "persistent" | "disk") {
                continue;
            }
            if let Some((_, read)) = SETTINGS.iter().find(|(known, _)| known.name == &**name) {
                read(&mut settings, value)?;
            } else if let Some(foreign) = FOREIGN.iter().find(|known| known.name == &**name) {
                foreign.foreign_value(value)?;
            } else {
                let message = format!("Unknown setting '{name}': for storage {}", definition.engine);
                return Err(Error::new(ErrorCode::UNKNOWN_SETTING, message));
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

    /// How long an INSERT waits where the fullest partition has so many parts: from the shortest delay at `parts_to_delay_insert` to the
    /// longest at `parts_to_throw_insert`.
    pub(crate) fn insert_delay(&self, parts: usize) -> Option<Duration> {
        let (from, to) = (self.parts_to_delay_insert, self.parts_to_throw_insert);
        if from == 0 || parts < from || parts >= to {
            return None;
        }
        let longest = self.max_delay_to_insert.saturating_mul(1000) as f64;
        let place = (parts - from + 1) as f64 / (to - from) as f64;
        let delay = (longest * place).max(self.min_delay_to_insert_ms as f64);
        Some(Duration::from_millis(delay as u64))
    }

    /// Whether there is a setting of this name.
    pub(crate) fn is_known(name: &str) -> bool {
        merge_tree_settings().any(|known| known.name == name)
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

fn flag(text: &str) -> Result<bool> {
    Ok(number(match text.trim() {
        "true" => "1",
        "false" => "0",
        number => number,
    })? != 0)
}

fn projection_mode(text: &str) -> Result<ProjectionMode> {
    match text.trim() {
        "throw" => Ok(ProjectionMode::Throw),
        "drop" => Ok(ProjectionMode::Drop),
        "rebuild" => Ok(ProjectionMode::Rebuild),
        "ignore" => Err(Error::not_implemented("Merging projections as they are, which makes them wrong,")),
        other => {
            let message = format!(
                "Unexpected value of a projection mode: '{other}'. Must be one of ['throw', 'drop', 'rebuild']"
            );
            Err(Error::new(ErrorCode::BAD_ARGUMENTS, message))
        }
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

fn ratio(text: &str) -> Result<f64> {
    let refuse = |message: String| Err(Error::new(ErrorCode::CANNOT_PARSE_NUMBER, message));
    match text.trim().parse::<f64>() {
        Ok(ratio) if ratio.is_finite() => Ok(ratio),
        Ok(other) => refuse(format!("Float setting value must be finite, got {other}")),
        Err(_) => refuse(format!("Cannot read floating point value here: {text}")),
    }
}

/// ClickHouse's codecs as far as Parquet has them.
fn codec(text: &str) -> Result<Option<PageCodec>> {
    let text = text.trim();
    let name = text.to_ascii_uppercase();
    let (name, level) = match name.strip_suffix(')').and_then(|name| name.split_once('(')) {
        Some((name, level)) => (name, level.trim().parse().ok()),
        None => (name.as_str(), Some(0)),
    };
    let has_level = text.ends_with(')');
    let codec = match (name, level) {
        ("", _) if !has_level => return Ok(None),
        ("LZ4", _) if !has_level => Some(PageCodec::Lz4),
        ("NONE", _) if !has_level => Some(PageCodec::None),
        ("ZSTD", _) if !has_level => Some(PageCodec::Zstd(ZstdLevel::default())),
        ("ZSTD", Some(level)) => ZstdLevel::try_new(level).ok().map(PageCodec::Zstd),
        ("LZ4HC", Some(level)) => Some(PageCodec::Lz4Hc(level)),
        _ => None,
    };
    let unknown = || {
        let known = "LZ4, LZ4HC, LZ4HC(level), ZSTD, ZSTD(level) or NONE";
        Error::new(ErrorCode::BAD_ARGUMENTS, format!("Unknown codec '{text}' of default_compression_codec: {known}"))
    };
    codec.map(Some).ok_or_else(unknown)
}
