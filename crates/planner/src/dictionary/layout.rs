//! `LAYOUT` of a dictionary: how its rows are held, or that they are not, and what the layout's parameters say.

use squall_sql::ast::KeyValueFunction;
use squall_types::{Error, ErrorCode, Result};

use super::{incorrect, pair_text};

/// The most cells of a cache, as ClickHouse's own limit of arrays has it.
const CELLS_MAX: u64 = 1 << 30;

/// The layouts of dictionaries. Flat and hashed ones are held as a hash table here; the names are kept for who asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum DictionaryLayout {
    Flat,
    Hashed,
    SparseHashed,
    HashedArray,
    RangeHashed,
    Cache,
    Direct,
    ComplexKeyHashed,
    ComplexKeySparseHashed,
    ComplexKeyHashedArray,
    ComplexKeyRangeHashed,
    ComplexKeyCache,
    ComplexKeyDirect,
    IpTrie,
}

/// Names in SQL, names in `system.dictionaries`.
const LAYOUTS: &[(DictionaryLayout, &str, &str)] = &[
    (DictionaryLayout::Flat, "flat", "Flat"),
    (DictionaryLayout::Hashed, "hashed", "Hashed"),
    (DictionaryLayout::SparseHashed, "sparse_hashed", "SparseHashed"),
    (DictionaryLayout::HashedArray, "hashed_array", "HashedArray"),
    (DictionaryLayout::RangeHashed, "range_hashed", "RangeHashed"),
    (DictionaryLayout::Cache, "cache", "Cache"),
    (DictionaryLayout::Direct, "direct", "Direct"),
    (DictionaryLayout::ComplexKeyHashed, "complex_key_hashed", "ComplexKeyHashed"),
    (DictionaryLayout::ComplexKeySparseHashed, "complex_key_sparse_hashed", "ComplexKeySparseHashed"),
    (DictionaryLayout::ComplexKeyHashedArray, "complex_key_hashed_array", "ComplexKeyHashedArray"),
    (DictionaryLayout::ComplexKeyRangeHashed, "complex_key_range_hashed", "ComplexKeyRangeHashed"),
    (DictionaryLayout::ComplexKeyCache, "complex_key_cache", "ComplexKeyCache"),
    (DictionaryLayout::ComplexKeyDirect, "complex_key_direct", "ComplexKeyDirect"),
    (DictionaryLayout::IpTrie, "ip_trie", "Trie"),
];

impl DictionaryLayout {
    /// The layout of a name in SQL.
    ///
    /// # Errors
    /// `NOT_IMPLEMENTED` for ClickHouse's other layouts, `UNKNOWN_ELEMENT_IN_CONFIG` for names that are nobody's.
    pub(super) fn parse(name: &str) -> Result<Self> {
        if let Some((layout, ..)) = LAYOUTS.iter().find(|(_, known, _)| *known == name) {
            return Ok(*layout);
        }
        if matches!(name, "ssd_cache" | "complex_key_ssd_cache" | "polygon" | "polygon_simple" | "regexp_tree")
            || name.starts_with("polygon_index")
        {
            return Err(Error::not_implemented(format!("Dictionary layout {name}")));
        }
        Err(Error::new(ErrorCode::UNKNOWN_ELEMENT_IN_CONFIG, format!("Unknown dictionary layout type: {name}")))
    }

    /// ClickHouse's name of the type in `system.dictionaries`.
    pub fn type_name(self) -> &'static str {
        LAYOUTS.iter().find(|(layout, ..)| *layout == self).map_or("", |(.., name)| name)
    }

    /// Whether the key is one number.
    pub fn is_simple(self) -> bool {
        matches!(
            self,
            Self::Flat
                | Self::Hashed
                | Self::SparseHashed
                | Self::HashedArray
                | Self::RangeHashed
                | Self::Cache
                | Self::Direct
        )
    }

    /// Whether nothing is held: every lookup asks the source.
    pub fn is_direct(self) -> bool {
        matches!(self, Self::Direct | Self::ComplexKeyDirect)
    }

    /// Whether what is asked for is held, as much of it as there are cells for.
    pub fn is_cache(self) -> bool {
        matches!(self, Self::Cache | Self::ComplexKeyCache)
    }

    /// Whether the source is asked for single keys, when they are looked up.
    pub fn is_on_demand(self) -> bool {
        self.is_direct() || self.is_cache()
    }

    /// Whether a row holds for a range beside its key.
    pub fn has_range(self) -> bool {
        matches!(self, Self::RangeHashed | Self::ComplexKeyRangeHashed)
    }
}

/// What the parameters of a layout say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LayoutParameters {
    /// `SIZE_IN_CELLS` of a cache.
    pub cells_max: usize,
    /// `RANGE_LOOKUP_STRATEGY 'max'`: of several ranges the one that begins last, not the one that begins first.
    pub takes_last_range: bool,
    /// `CONVERT_NULL_RANGE_BOUND_TO_OPEN`: a bound that is NULL is none; otherwise its row does not count.
    pub null_bound_is_open: bool,
    /// `ACCESS_TO_KEY_FROM_ATTRIBUTES` of an `IP_TRIE`.
    pub key_is_attribute: bool,
}

impl LayoutParameters {
    /// Reads the parameters of a layout.
    ///
    /// # Errors
    /// `INCORRECT_DICTIONARY_DEFINITION`, `BAD_ARGUMENTS`, `UNKNOWN_ELEMENT_IN_CONFIG`.
    pub(super) fn read(layout: DictionaryLayout, written: &KeyValueFunction) -> Result<Self> {
        let mut parameters =
            Self { cells_max: 0, takes_last_range: false, null_bound_is_open: true, key_is_attribute: false };
        for pair in &written.pairs {
            let value = pair_text(pair)?;
            let number = || {
                value.parse::<u64>().map_err(|_| {
                    Error::new(
                        ErrorCode::BAD_ARGUMENTS,
                        format!("{} of a layout must be a number, not {value}", pair.key),
                    )
                })
            };
            match pair.key.as_str() {
                "size_in_cells" if layout.is_cache() => {
                    let cells = number()?;
                    if cells == 0 || cells > CELLS_MAX {
                        return Err(Error::new(
                            ErrorCode::BAD_ARGUMENTS,
                            format!("size_in_cells must be from 1 to {CELLS_MAX}, not {cells}"),
                        ));
                    }
                    parameters.cells_max = usize::try_from(cells).unwrap_or(usize::MAX);
                }
                "range_lookup_strategy" if layout.has_range() => match value.as_str() {
                    "min" => parameters.takes_last_range = false,
                    "max" => parameters.takes_last_range = true,
                    other => {
                        return Err(Error::new(
                            ErrorCode::BAD_ARGUMENTS,
                            format!("range_lookup_strategy must be min or max, not {other}"),
                        ));
                    }
                },
                "convert_null_range_bound_to_open" if layout.has_range() => {
                    parameters.null_bound_is_open = matches!(value.as_str(), "1" | "true");
                }
                "access_to_key_from_attributes" if layout == DictionaryLayout::IpTrie => {
                    parameters.key_is_attribute = matches!(value.as_str(), "1" | "true");
                }
                // How ClickHouse shards, fills and updates its tables: there is nothing to choose here.
                "shards"
                | "shard_load_queue_backlog"
                | "max_load_factor"
                | "preallocate"
                | "initial_array_size"
                | "max_array_size"
                | "strict_max_lifetime_seconds"
                | "max_update_queue_size"
                | "update_queue_push_timeout_milliseconds"
                | "query_wait_timeout_milliseconds"
                | "max_threads_for_updates"
                | "allow_read_expired_keys" => {}
                other => {
                    return Err(Error::new(
                        ErrorCode::UNKNOWN_ELEMENT_IN_CONFIG,
                        format!("Unexpected key `{other}` in dictionary layout configuration"),
                    ));
                }
            }
        }
        if layout.is_cache() && parameters.cells_max == 0 {
            return Err(incorrect("Not found: dictionary.layout.cache.size_in_cells"));
        }
        Ok(parameters)
    }
}
