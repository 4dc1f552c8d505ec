//! Which chunks a scan that comes from the disk decodes whole and leaves in the cache, and of which it decodes only the rows that it hands
//! out, past the cache. What fits easily is kept, as it may be read again. Of a scan that would fill much of the cache, or that wants a
//! few rows of each row group, chunks are kept once they are read again: memory that is new to a process is slow, and what is read once
//! needs none.

/// What takes at most this share of the cache fits easily, as a divisor.
const SMALL_SHARE: u64 = 8;
/// So little fits whatever is read of it.
const TINY_BYTES: u64 = 1 << 20;
/// A scan that wants less than this share of the rows of a row group wants few of them, as a divisor.
const FEW_ROWS_SHARE: u64 = 64;

/// What is known of the chunks of a row group that a scan wants and that are not in the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing {
    /// The rows of the row group, and those that the scan reads.
    pub rows: u64,
    pub rows_wanted: u64,
    /// What they and those of the scan's other row groups take in memory, as estimated.
    pub bytes_of_scan: u64,
    /// Whether a scan has read rows of all of them before.
    pub were_read: bool,
}

impl Missing {
    /// Whether they are decoded whole, for a cache of so many bytes.
    pub fn are_kept(&self, cache_bytes: u64) -> bool {
        if self.were_read {
            // Beyond that they would push out each other.
            return self.bytes_of_scan <= cache_bytes / 4 * 3;
        }
        let are_few = self.rows_wanted.saturating_mul(FEW_ROWS_SHARE) < self.rows && self.bytes_of_scan > TINY_BYTES;
        self.bytes_of_scan <= cache_bytes / SMALL_SHARE && !are_few
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_kept_at_once_or_when_it_is_read_again() {
        let cache = 1 << 30;
        let small = Missing { rows: 6400, rows_wanted: 6400, bytes_of_scan: cache / 8, were_read: false };
        assert!(small.are_kept(cache));
        let few = Missing { rows_wanted: 99, ..small };
        assert!(!few.are_kept(cache) && Missing { rows_wanted: 100, ..small }.are_kept(cache));
        assert!(Missing { were_read: true, ..few }.are_kept(cache));
        let large = Missing { bytes_of_scan: cache / 8 + 1, ..small };
        assert!(!large.are_kept(cache) && Missing { were_read: true, ..large }.are_kept(cache));
        let too_large = Missing { bytes_of_scan: cache / 4 * 3 + 1, were_read: true, ..small };
        assert!(!too_large.are_kept(cache));
    }
}
