//! What happens to parts, for `system.part_log`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// What happened to a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartEventKind {
    /// It came, by INSERT or ATTACH.
    NewPart = 1,
    /// It was made of others.
    MergeParts = 2,
    /// It left the table.
    RemovePart = 4,
    /// It was rewritten.
    MutatePart = 5,
}

/// Something that happened to a part.
#[derive(Clone, Debug)]
pub struct PartEvent {
    /// What.
    pub kind: PartEventKind,
    /// When.
    pub at: SystemTime,
    /// How long it took, where that is known.
    pub duration: Duration,
    /// The table's database.
    pub database: Arc<str>,
    /// The table.
    pub table: Arc<str>,
    /// The table's UUID.
    pub uuid: uuid::Uuid,
    /// The part.
    pub part: Arc<str>,
    /// Its partition.
    pub partition_id: Arc<str>,
    /// Its file.
    pub path: Arc<str>,
    /// Its rows.
    pub rows: u64,
    /// Its bytes on disk.
    pub bytes: u64,
    /// Bytes of its values before encoding, where it knows.
    pub value_bytes: u64,
    /// The parts that it was made of.
    pub merged_from: Vec<Arc<str>>,
    /// Rows that were read for it.
    pub read_rows: u64,
    /// Bytes in memory of these.
    pub read_bytes: u64,
}

/// Who is told. It never waits.
pub type NotePart = Box<dyn Fn(PartEvent) + Send + Sync>;
