//! The line below a running statement: rows, bytes, rates, processors, memory and threads, and a bar where the rows to read are known.
//! Also the words of the numbers, which the line at a statement's end has too.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use squall_types::text::readable::{DECIMAL_SIZE, QUANTITY, readable_bytes};

use crate::session::{Progress, Usage};

/// How often the line is drawn.
const DRAWS_PER_SECOND: u8 = 10;
/// The columns of the bar with its percents, and those beside bar and words.
const BAR_WIDTH: usize = 31;
const MARGIN: usize = 6;
/// Statements that end sooner show none.
const DELAY: Duration = Duration::from_millis(100);

/// `1.23 million`; whole numbers up to a thousand.
pub fn quantity(number: f64) -> String {
    let (scaled, unit) = QUANTITY.scale(number);
    if unit.is_empty() && scaled.fract() == 0.0 { format!("{scaled}") } else { format!("{scaled:.2}{unit}") }
}

/// `1.23 MB`, of powers of 1000 as ClickHouse's clients have it.
pub fn size(bytes: f64) -> String {
    let (scaled, unit) = DECIMAL_SIZE.scale(bytes);
    format!("{scaled:.2}{unit}")
}

/// `1.00 million rows, 8.00 MB (100.00 million rows/s., 800.00 MB/s.)`.
pub fn read_words(progress: &Progress, elapsed: Duration) -> String {
    let (rows, bytes) = if progress.read_rows == 0 && progress.written_rows > 0 {
        (progress.written_rows, progress.written_bytes)
    } else {
        (progress.read_rows, progress.read_bytes)
    };
    let mut words = format!("{} rows, {}", quantity(rows as f64), size(bytes as f64));
    let seconds = elapsed.as_secs_f64();
    if seconds > 0.0 {
        let (rows, bytes) = (rows as f64 / seconds, bytes as f64 / seconds);
        words += &format!(" ({} rows/s., {}/s.)", quantity(rows), size(bytes));
    }
    words
}

/// `3.9 CPU, 120.00 MiB, 4 threads`: what of it is known.
fn usage_words(usage: &Usage, elapsed: Duration) -> String {
    let cpu = usage.cpu.filter(|_| !elapsed.is_zero());
    let cpu = cpu.map(|cpu| format!("{:.1} CPU", cpu.as_secs_f64() / elapsed.as_secs_f64()));
    let memory = usage.memory_bytes.map(|bytes| readable_bytes(i64::try_from(bytes).unwrap_or(i64::MAX)));
    let threads = usage.threads.map(|threads| format!("{threads} threads"));
    [cpu, memory, threads].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What a statement has done so far, and the line that says so.
#[derive(Debug)]
pub struct ProgressLine {
    bar: Option<ProgressBar>,
    began: Instant,
    /// What was done.
    pub done: Progress,
    /// What is used.
    pub usage: Usage,
}

impl ProgressLine {
    /// Of a statement that begins now; `is_shown` on the terminal, which is standard error's.
    pub fn new(is_shown: bool) -> Self {
        ProgressLine {
            bar: is_shown.then(|| {
                ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND))
                    .with_style(style("{spinner} {msg}"))
            }),
            began: Instant::now(),
            done: Progress::default(),
            usage: Usage::default(),
        }
    }

    /// The time since the statement began.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Draws the line again.
    pub fn draw(&mut self) {
        let elapsed = self.elapsed();
        let Some(bar) = self.bar.as_ref().filter(|_| elapsed >= DELAY) else { return };
        if self.done.total_rows > 0 && bar.length().is_none() {
            bar.set_style(style("{spinner} {bar:24} {percent:>3}%  {msg}"));
        }
        if self.done.total_rows > 0 {
            bar.set_length(self.done.total_rows.max(self.done.read_rows));
            bar.set_position(self.done.read_rows);
        }
        let mut message = read_words(&self.done, elapsed);
        let usage = usage_words(&self.usage, elapsed);
        if !usage.is_empty() {
            message += &format!("  {usage}");
        }
        // Room is left for what the terminal shows of Ctrl-C; a line that wraps could not be taken away.
        let width = terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(width, _)| usize::from(width.0));
        let taken = if bar.length().is_some() { BAR_WIDTH } else { 0 } + MARGIN;
        bar.set_message(message.chars().take(width.saturating_sub(taken)).collect::<String>());
        bar.tick();
    }

    /// Takes the line away while something else is written to the terminal.
    pub fn hidden<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Takes the line away for good.
    pub fn remove(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// A template of our own, which is well-formed.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("█▉▊▋▌▍▎▏ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_words() {
        let done = Progress { read_rows: 1_000_000, read_bytes: 8_000_000, ..Progress::default() };
        assert_eq!(
            read_words(&done, Duration::from_millis(500)),
            "1.00 million rows, 8.00 MB (2.00 million rows/s., 16.00 MB/s.)"
        );
        assert_eq!(read_words(&Progress::default(), Duration::ZERO), "0 rows, 0.00 B");
        let usage = Usage { memory_bytes: Some(1 << 20), cpu: Some(Duration::from_secs(3)), threads: Some(2) };
        assert_eq!(usage_words(&usage, Duration::from_secs(2)), "1.5 CPU, 1.00 MiB, 2 threads");
    }
}
