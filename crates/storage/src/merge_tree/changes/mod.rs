//! Changes of parts other than merges: mutations, deleted rows, parts that come and go.

pub(super) mod applied;
pub(super) mod backup;
pub(super) mod deleted_rows;
pub(super) mod detached;
pub(super) mod foreign;
pub(super) mod linked;
pub(super) mod mutations;
