//! Lines that wait for `system.text_log`.

use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;

use super::level::Level;
use super::line::LogLine;

/// Lines that wait for the table.
const LINES_MAX: usize = 65_536;

/// The lines, and the level from which on they are kept.
struct TextLines {
    lines: Mutex<Vec<LogLine>>,
    level: AtomicU8,
}

static TEXT_LINES: TextLines = TextLines { lines: Mutex::new(Vec::new()), level: AtomicU8::new(0) };

/// Keeps lines from `level` on for [`take_text_lines`].
pub fn keep_text_lines(level: Level) {
    TEXT_LINES.level.store(level as u8, Ordering::Relaxed);
    tracing::callsite::rebuild_interest_cache();
}

/// Takes the lines that were kept.
pub fn take_text_lines() -> Vec<LogLine> {
    std::mem::take(&mut *TEXT_LINES.lines.lock())
}

/// The level from which on lines are kept.
pub(super) fn wanted() -> Level {
    Level::of_number(TEXT_LINES.level.load(Ordering::Relaxed))
}

/// Keeps a line where it is wanted; whether there was room.
pub(super) fn offer(line: &LogLine<&str>) -> bool {
    if line.level > wanted() {
        return true;
    }
    let mut lines = TEXT_LINES.lines.lock();
    let has_room = lines.len() < LINES_MAX;
    if has_room {
        lines.push(line.with_texts(|text| (*text).to_owned()));
    }
    has_room
}
