//! The tags of time series that a query has met: each set of tags has a number, its group, and identifiers of series stand for groups.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_types::{Error, ErrorCode, Result};

/// A name and a value.
pub type Tag = (Box<[u8]>, Box<[u8]>);

/// Tags ascending by name, without empty values.
pub type Tags = Arc<[Tag]>;

/// All tags of one query. A clone is the same.
#[derive(Clone, Debug, Default)]
pub struct SeriesTags(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    /// By their numbers from 1 on; 0 is the group without tags.
    groups: Vec<Tags>,
    numbers: HashMap<Tags, u64>,
    /// Groups of series, by their identifiers as text.
    series: HashMap<Box<str>, u64>,
}

impl SeriesTags {
    /// The number of the group of these tags, which need not be in order.
    pub fn group(&self, mut tags: Vec<Tag>) -> u64 {
        tags.retain(|(_, value)| !value.is_empty());
        tags.sort_unstable();
        if tags.is_empty() {
            return 0;
        }
        let tags: Tags = tags.into();
        let mut known = self.0.lock();
        if let Some(number) = known.numbers.get(&tags) {
            return *number;
        }
        known.groups.push(tags.clone());
        let number = known.groups.len() as u64;
        known.numbers.insert(tags, number);
        number
    }

    /// The tags of a group.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for a number that no group has.
    pub fn tags(&self, group: u64) -> Result<Tags> {
        let Some(at) = group.checked_sub(1) else { return Ok(Arc::default()) };
        let known = self.0.lock();
        let found = usize::try_from(at).ok().and_then(|at| known.groups.get(at));
        found.cloned().ok_or_else(|| Error::new(ErrorCode::BAD_ARGUMENTS, format!("Unknown group {group}")))
    }

    /// Notes that a series has the tags of a group.
    pub fn store(&self, identifier: &str, group: u64) {
        self.0.lock().series.insert(identifier.into(), group);
    }

    /// The group of a series.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for a series that nobody has stored.
    pub fn group_of(&self, identifier: &str) -> Result<u64> {
        let known = self.0.lock();
        let unknown = || Error::new(ErrorCode::BAD_ARGUMENTS, format!("Unknown identifier {identifier}"));
        known.series.get(identifier).copied().ok_or_else(unknown)
    }
}
