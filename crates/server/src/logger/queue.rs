//! Lines between those who log and the thread that writes. All lines that wait lie in one buffer behind one lock: to log is to copy a
//! text into it, without memory of its own and without waking anybody, and to write is to exchange the whole buffer for an empty one.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use squall_runtime::{ProfileEvent, profile_events};

use super::line::LogLine;

/// Bytes of text that wait to be written.
const BYTES_MAX: usize = 64 << 20;
/// How long lines are gathered before they are written: waking the writer for each would cost more than the line.
const GATHER: Duration = Duration::from_millis(10);

/// Lines and their texts.
#[derive(Debug, Default)]
pub(super) struct Batch {
    lines: Vec<LogLine<Range<usize>>>,
    text: String,
}

impl Batch {
    fn push(&mut self, line: &LogLine<&str>) {
        let Self { lines, text } = self;
        let start = text.len();
        text.push_str(line.query_id);
        let middle = text.len();
        text.push_str(line.message);
        let end = text.len();
        let mut held = line.with_texts(|_| middle..end);
        held.query_id = start..middle;
        lines.push(held);
    }

    /// The lines, in the order in which they came.
    pub(super) fn lines(&self) -> impl Iterator<Item = LogLine<&str>> {
        self.lines.iter().map(|line| line.with_texts(|place| self.text.get(place.clone()).unwrap_or_default()))
    }

    /// Forgets the lines; the memory stays for the next ones, but not what a flood has taken.
    fn clear(&mut self) {
        self.lines.clear();
        self.lines.shrink_to(1 << 14);
        self.text.clear();
        self.text.shrink_to(4 << 20);
    }
}

/// The lines that wait.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// The writer has something to do.
    due: Condvar,
    /// The writer has done something.
    done: Condvar,
    lines_max: usize,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    batch: Batch,
    /// The writer waits for no more lines than there are.
    is_urgent: bool,
    is_closed: bool,
    is_ended: bool,
    /// Batches that the writer took, and those of them that are in the files.
    taken: u64,
    written: u64,
}

impl Queue {
    pub(super) fn new(lines_max: usize) -> Self {
        Self {
            state: Mutex::default(),
            due: Condvar::new(),
            done: Condvar::new(),
            lines_max,
            dropped: AtomicU64::new(0),
        }
    }

    /// Adds a line, or says that it was not. Never waits for the writer: a line without room is dropped and counted.
    pub(super) fn push(&self, line: &LogLine<&str>) -> bool {
        let mut state = self.state.lock();
        let batch = &mut state.batch;
        if batch.lines.len() >= self.lines_max || batch.text.len() + line.message.len() > BYTES_MAX {
            drop(state);
            self.count_dropped();
            return false;
        }
        batch.push(line);
        let is_due = batch.lines.len() == 1 || batch.lines.len() == self.lines_max / 2;
        drop(state);
        if is_due {
            self.due.notify_one();
        }
        true
    }

    /// Counts a line that was lost, here or before it came here.
    pub(super) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        profile_events::GLOBAL.add(ProfileEvent::LogLinesDropped, 1);
    }

    /// The number of lines that were lost since it was asked last.
    pub(super) fn take_dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }

    /// Waits for lines and exchanges them for the batch of those that were written; `false` when the queue is closed and empty.
    pub(super) fn take(&self, batch: &mut Batch) -> bool {
        batch.clear();
        let mut state = self.state.lock();
        state.written = state.taken;
        self.done.notify_all();
        while state.batch.lines.is_empty() && !state.is_closed && !state.is_urgent {
            self.due.wait(&mut state);
        }
        let deadline = Instant::now() + GATHER;
        while !state.is_urgent && !state.is_closed && state.batch.lines.len() < self.lines_max / 2 {
            if self.due.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        state.is_urgent = false;
        state.taken += 1;
        std::mem::swap(&mut state.batch, batch);
        !batch.lines.is_empty() || !state.is_closed
    }

    /// Waits, for at most this long, until the lines that came so far are written.
    pub(super) fn flush(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut state = self.state.lock();
        let wanted = state.taken + 1;
        state.is_urgent = true;
        self.due.notify_one();
        while state.written < wanted {
            if self.done.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
    }

    /// Ends the writer once it has written what there is, and waits for that for at most this long.
    pub(super) fn close(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut state = self.state.lock();
        state.is_closed = true;
        self.due.notify_one();
        while !state.is_ended && !self.done.wait_until(&mut state, deadline).timed_out() {}
    }

    /// The writer has closed its files.
    pub(super) fn end(&self) {
        self.state.lock().is_ended = true;
        self.done.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::level::Level;
    use super::*;

    fn push(queue: &Queue, message: &str) {
        queue.push(&LogLine { message, query_id: "q", ..LogLine::new(Level::Trace, "x", "", 0) });
    }

    #[test]
    fn lines_beyond_the_limit_are_counted() {
        let queue = Queue::new(2);
        for message in ["a", "b", "c", "d"] {
            push(&queue, message);
        }
        let mut batch = Batch::default();
        assert!(queue.take(&mut batch));
        let lines: Vec<String> = batch.lines().map(|line| format!("{} {}", line.query_id, line.message)).collect();
        assert_eq!(lines, ["q a", "q b"]);
        assert_eq!((queue.take_dropped(), queue.take_dropped()), (2, 0));
        push(&queue, "e");
        queue.close(Duration::ZERO);
        assert!(queue.take(&mut batch));
        assert_eq!(batch.lines().map(|line| line.message).collect::<Vec<_>>(), ["e"]);
        assert!(!queue.take(&mut batch));
    }

    #[test]
    fn a_flush_waits_for_what_came_before_it() {
        let queue = Arc::new(Queue::new(1000));
        let written = Arc::new(Mutex::new(Vec::new()));
        let writer = std::thread::spawn({
            let (queue, written) = (queue.clone(), written.clone());
            move || {
                let mut batch = Batch::default();
                while queue.take(&mut batch) {
                    written.lock().extend(batch.lines().map(|line| line.message.to_owned()));
                }
                queue.end();
            }
        });
        for round in 1..=50 {
            push(&queue, "line");
            queue.flush(Duration::from_secs(60));
            assert_eq!(written.lock().len(), round);
        }
        push(&queue, "last");
        queue.close(Duration::from_secs(60));
        assert_eq!(written.lock().len(), 51);
        writer.join().unwrap();
    }
}
