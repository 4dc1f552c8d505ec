//! How many groups rows will make, by what the first of them have made.

use squall_types::Result;

use super::groups::Groups;

/// Groups for which a table gets room before they come, at most.
pub(super) const GROUPS_EXPECTED_MAX: usize = 1 << 15;
/// Rows by which it is told how many groups those after them will make.
const SAMPLE_ROWS: usize = 4_096;

/// How many groups are still to be made of rows, and of groups of others.
pub(super) struct ExpectedGroups {
    /// The groups before any came.
    groups: usize,
    came: usize,
    left: usize,
    is_told: bool,
}

impl ExpectedGroups {
    pub(super) fn new(groups: &Groups, left: usize) -> Self {
        Self { groups: groups.len(), came: 0, left, is_told: false }
    }

    /// So many have come.
    pub(super) fn have_come(&mut self, rows: usize) {
        self.came += rows;
        self.left = self.left.saturating_sub(rows);
    }

    /// Makes room for the groups that are likely, by what the first rows have made: growing step by step takes longer, and room that is not
    /// used is no longer in the cache.
    pub(super) fn make_room(&mut self, groups: &mut Groups) -> Result<()> {
        let now = groups.len();
        let more = match self.came {
            0 => self.left.min(SAMPLE_ROWS),
            SAMPLE_ROWS.. if !self.is_told => {
                self.is_told = true;
                self.left.saturating_mul(now - self.groups) / self.came
            }
            _ => return Ok(()),
        };
        groups.reserve(now + more.min(GROUPS_EXPECTED_MAX))
    }
}
