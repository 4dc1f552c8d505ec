//! `JSON(…)`: objects, of which some paths have types of their own and all others are `Dynamic`.

use std::fmt;
use std::sync::Arc;

use crate::data_type::{DataType, write_identifier, write_quoted};
use crate::error::{Error, ErrorCode, Result};

/// Dynamic paths that a `JSON` without arguments has.
pub const DYNAMIC_PATHS: u64 = 1024;

/// The most that may be asked for.
pub const DYNAMIC_PATHS_MAX: u64 = 10_000;

/// What is between the parentheses of `JSON(…)`. Paths have dots between the keys.
///
/// A column has one column for each typed path, and the other paths of each row in order as a map to `Dynamic`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct JsonType {
    /// How many paths ClickHouse keeps apart from those that few rows have.
    pub max_dynamic_paths: u64,
    /// How many types it keeps apart for one path.
    pub max_dynamic_types: u8,
    /// Paths with their types, in order.
    pub typed: Arc<[(Arc<str>, DataType)]>,
    /// Paths that are left out, with all below them.
    pub skipped: Arc<[Arc<str>]>,
    /// Expressions; paths in which one is found are left out.
    pub skipped_by_regexp: Arc<[Arc<str>]>,
}

impl Default for JsonType {
    fn default() -> Self {
        Self {
            max_dynamic_paths: DYNAMIC_PATHS,
            max_dynamic_types: crate::variant_type::DYNAMIC_TYPES,
            typed: [].into(),
            skipped: [].into(),
            skipped_by_regexp: [].into(),
        }
    }
}

impl JsonType {
    /// Puts the lists in order.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for a path with two types, and for numbers out of range.
    pub fn new(
        max_dynamic_paths: u64,
        max_dynamic_types: u8,
        mut typed: Vec<(Arc<str>, DataType)>,
        mut skipped: Vec<Arc<str>>,
        skipped_by_regexp: Vec<Arc<str>>,
    ) -> Result<Self> {
        let bad = |message: String| Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        if max_dynamic_paths > DYNAMIC_PATHS_MAX {
            return bad(format!("'max_dynamic_paths' must be a non-negative integer up to {DYNAMIC_PATHS_MAX}"));
        }
        if max_dynamic_types > crate::variant_type::DYNAMIC_TYPES_MAX {
            return bad("'max_dynamic_types' must be a non-negative integer up to 254".into());
        }
        typed.sort_by(|left, right| left.0.cmp(&right.0));
        if let Some(twice) = typed.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return bad(format!("Found duplicated path with type: {}", twice[0].0));
        }
        skipped.sort_unstable();
        skipped.dedup();
        Ok(Self {
            max_dynamic_paths,
            max_dynamic_types,
            typed: typed.into(),
            skipped: skipped.into(),
            skipped_by_regexp: skipped_by_regexp.into(),
        })
    }

    /// The type of a path that has one.
    pub fn type_of(&self, path: &str) -> Option<&DataType> {
        let at = self.typed.binary_search_by(|(known, _)| (**known).cmp(path)).ok()?;
        self.typed.get(at).map(|(_, data_type)| data_type)
    }

    /// The type of paths that have none.
    pub fn dynamic(&self) -> DataType {
        DataType::Dynamic(self.max_dynamic_types)
    }

    /// The type of the map of all paths without types.
    pub fn others(&self) -> DataType {
        DataType::Map(Arc::new(DataType::String), Arc::new(self.dynamic()))
    }

    /// The type of objects inside of arrays: ClickHouse gives them a quarter of the paths and half of the types.
    #[must_use]
    pub fn nested(&self) -> Self {
        Self {
            max_dynamic_paths: self.max_dynamic_paths / 4,
            max_dynamic_types: self.max_dynamic_types / 2,
            ..Self::default()
        }
    }

    /// The type of the object under a path.
    #[must_use]
    pub fn under(&self, path: &str) -> Self {
        let below = |name: &str| name.strip_prefix(path).and_then(|rest| rest.strip_prefix('.')).map(Arc::from);
        Self {
            typed: self.typed.iter().filter_map(|(name, data_type)| Some((below(name)?, data_type.clone()))).collect(),
            skipped: self.skipped.iter().filter_map(|name| below(name)).collect(),
            ..self.clone()
        }
    }
}

impl fmt::Display for JsonType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = 0;
        let mut next = |f: &mut fmt::Formatter<'_>| {
            parts += 1;
            f.write_str(if parts == 1 { "(" } else { ", " })
        };
        f.write_str("JSON")?;
        if self.max_dynamic_types != crate::variant_type::DYNAMIC_TYPES {
            next(f)?;
            write!(f, "max_dynamic_types={}", self.max_dynamic_types)?;
        }
        if self.max_dynamic_paths != DYNAMIC_PATHS {
            next(f)?;
            write!(f, "max_dynamic_paths={}", self.max_dynamic_paths)?;
        }
        for (path, data_type) in self.typed.iter() {
            next(f)?;
            write_identifier(f, path)?;
            write!(f, " {data_type}")?;
        }
        for path in self.skipped.iter() {
            next(f)?;
            f.write_str("SKIP ")?;
            write_identifier(f, path)?;
        }
        for expression in self.skipped_by_regexp.iter() {
            next(f)?;
            f.write_str("SKIP REGEXP ")?;
            write_quoted(f, expression)?;
        }
        if parts > 0 { f.write_str(")") } else { Ok(()) }
    }
}
