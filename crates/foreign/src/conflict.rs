//! What an INSERT into a table of MySQL does with rows that are there already.

/// How rows are inserted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Conflict {
    /// Whether they take the place of those with the same keys: REPLACE.
    pub replaces: bool,
    /// What follows `ON DUPLICATE KEY`, or nothing.
    pub on_duplicate: String,
    /// `mysql_max_rows_to_insert`: the most rows of a statement.
    pub rows_max: usize,
}
