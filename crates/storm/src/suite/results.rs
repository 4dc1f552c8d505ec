//! The one file of results: the published suite's 22 columns, then ours. Each row is written when it was measured, so that an interrupted
//! suite goes on where it stopped.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use squall_types::{Error, ErrorCode, Result};

use super::row::Row;
use crate::csv;
use crate::file_error::file_error;

/// The columns of the published suite. Latencies are in seconds and `duration` in microseconds there, so they are here.
pub const PUBLISHED: [&str; 22] = [
    "server_version",
    "client_version",
    "test_name",
    "test_subtype1",
    "test_subtype2",
    "test_subtype3",
    "protocol",
    "http_keepalive",
    "concurrency",
    "QPS",
    "num_queries",
    "MiBPS_result",
    "latency_0percentile",
    "latency_20percentile",
    "latency_50percentile",
    "latency_80percentile",
    "latency_90percentile",
    "latency_95percentile",
    "latency_99percentile",
    "latency_999percentile",
    "duration",
    "errors",
];

/// Ours.
pub const OURS: [&str; 20] = [
    "server",
    "proxy",
    "round",
    "class",
    "load",
    "offered_per_second",
    "idle_connections",
    "idle_connections_open",
    "latency_9999percentile",
    "latency_max",
    "errors_by_kind",
    "read_rows_per_second",
    "beside_per_second",
    "beside_fairness",
    "server_cpu_share",
    "server_memory_bytes",
    "server_threads",
    "generator_work_share",
    "generator_warning",
    "measured_at",
];

/// The rows of a file.
#[derive(Debug)]
pub struct Results {
    path: PathBuf,
    rows: Vec<Row>,
}

impl Results {
    /// Reads the file, if it is there, to add to it; `is_fresh` begins a new one.
    ///
    /// # Errors
    /// A file that cannot be read or written, or is of other columns.
    pub fn open(path: &Path, is_fresh: bool) -> Result<Self> {
        let mut results = Results { path: path.to_owned(), rows: Vec::new() };
        if path.exists() && !is_fresh {
            results.rows = read(path)?;
        }
        // Written anew, without a last row that was cut off.
        let mut text = String::new();
        csv::put_record(PUBLISHED.into_iter().chain(OURS), &mut text);
        results.rows.iter().for_each(|row| put_row(row, &mut text));
        std::fs::write(path, text).map_err(|error| file_error(path, &error))?;
        Ok(results)
    }

    /// All rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row that measures the same, if there is one.
    pub fn find(&self, row: &Row) -> Option<&Row> {
        self.rows.iter().find(|other| other.is_same(row))
    }

    /// Adds a row, and writes it.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn add(&mut self, row: Row) -> Result<()> {
        let mut text = String::new();
        put_row(&row, &mut text);
        let written =
            OpenOptions::new().append(true).open(&self.path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| file_error(&self.path, &error))?;
        self.rows.push(row);
        Ok(())
    }
}

/// Reads the rows of a file: ours, or the published suite's.
///
/// # Errors
/// A file that cannot be read, or is of other columns.
pub fn read(path: &Path) -> Result<Vec<Row>> {
    let text = std::fs::read_to_string(path).map_err(|error| file_error(path, &error))?;
    let mut records = csv::records(&text).into_iter();
    let header = records.next().unwrap_or_default();
    if !PUBLISHED.iter().all(|column| header.iter().any(|found| found == column)) {
        let message = format!("{} has no results: its columns are others", path.display());
        return Err(Error::new(ErrorCode::INCORRECT_DATA, message));
    }
    Ok(records.map(|record| header.iter().cloned().zip(record).collect()).collect())
}

fn put_row(row: &Row, out: &mut String) {
    csv::put_record(PUBLISHED.iter().chain(&OURS).map(|column| row.get(column)), out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_goes_on_where_it_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.csv");
        let row = |concurrency: usize| {
            let mut row = Row::default();
            row.set("test_name", "a, \"b\"");
            row.set("concurrency", concurrency);
            row
        };
        let mut results = Results::open(&path, false).unwrap();
        let mut first = row(1);
        first.set("QPS", 12.5);
        results.add(first.clone()).unwrap();
        // It was killed while it wrote a second row.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"18.16.1,squ").unwrap();
        let mut results = Results::open(&path, false).unwrap();
        assert_eq!(results.rows().len(), 1);
        assert_eq!(results.find(&row(1)).and_then(|row| row.number("QPS")), Some(12.5));
        assert!(results.find(&row(2)).is_none());
        results.add(row(2)).unwrap();
        assert_eq!(read(&path).unwrap().len(), 2);
        assert_eq!(Results::open(&path, true).unwrap().rows().len(), 0);
    }

    #[test]
    fn other_files_are_no_results() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.csv");
        std::fs::write(&path, "a,b\n1,2\n").unwrap();
        assert_eq!(read(&path).unwrap_err().code, ErrorCode::INCORRECT_DATA);
    }
}
