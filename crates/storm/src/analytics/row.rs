//! What one query took on one engine on so many threads, and its line in the CSV.

use crate::csv::put_record;

/// A row of the results.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The query's name.
    pub query: String,
    /// The engine's name.
    pub engine: &'static str,
    /// `max_threads`, or what the engine calls it.
    pub threads: u32,
    /// Rows of the answer.
    pub rows: u64,
    /// Milliseconds of each run, in order.
    pub runs_ms: Vec<f64>,
    /// CPU time of the run that [counts](Self::hot_ms), in milliseconds, as the engine's query log tells it; nothing where there is none.
    pub cpu_ms: Option<f64>,
    /// Why a run failed, after which there are no more.
    pub error: Option<String>,
}

impl Row {
    /// The best run but the first one, which may read from disk; nothing where one failed.
    pub fn hot_ms(&self) -> Option<f64> {
        self.hot_run().map(|run| self.runs_ms[run])
    }

    /// The number of that run, counted from 0.
    pub fn hot_run(&self) -> Option<usize> {
        let first = usize::from(self.runs_ms.len() > 1);
        let runs = (first..self.runs_ms.len()).filter(|_| self.error.is_none());
        runs.min_by(|left, right| self.runs_ms[*left].total_cmp(&self.runs_ms[*right]))
    }

    /// Appends its line.
    pub fn put_csv(&self, workload: &str, runs: usize, out: &mut String) {
        let ms = |ms: Option<f64>| ms.map_or_else(String::new, |ms| format!("{ms:.3}"));
        let mut fields =
            vec![workload.to_owned(), self.query.clone(), self.engine.to_owned(), self.threads.to_string()];
        fields.push(if self.error.is_none() { self.rows.to_string() } else { String::new() });
        fields.extend((0..runs).map(|run| ms(self.runs_ms.get(run).copied())));
        fields.extend([ms(self.hot_ms()), ms(self.cpu_ms)]);
        fields.push(self.error.clone().unwrap_or_default());
        put_record(fields.iter().map(String::as_str), out);
    }
}

/// Appends the names of the columns.
pub fn put_csv_head(runs: usize, out: &mut String) {
    let runs: Vec<String> = (1..=runs).map(|run| format!("run{run}_ms")).collect();
    let names = ["workload", "query", "engine", "threads", "rows"].into_iter();
    put_record(names.chain(runs.iter().map(String::as_str)).chain(["hot_ms", "cpu_ms", "error"]), out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::records;

    fn row(runs_ms: &[f64], error: Option<&str>) -> Row {
        let (query, error) = ("q1".to_owned(), error.map(str::to_owned));
        Row { query, engine: "squall", threads: 2, rows: 7, runs_ms: runs_ms.to_vec(), cpu_ms: None, error }
    }

    #[test]
    fn the_first_run_counts_only_alone() {
        assert_eq!(row(&[1.0, 3.0, 2.0], None).hot_ms(), Some(2.0));
        assert_eq!(row(&[1.0], None).hot_ms(), Some(1.0));
        assert_eq!(row(&[1.0, 2.0], Some("no")).hot_ms(), None);
        assert_eq!(row(&[], None).hot_ms(), None);
    }

    #[test]
    fn lines_have_a_field_a_run() {
        let mut csv = String::new();
        put_csv_head(3, &mut csv);
        row(&[4.0, 2.5, 3.0], None).put_csv("ssb", 3, &mut csv);
        row(&[4.0], Some("a, \"b\"")).put_csv("ssb", 3, &mut csv);
        let records = records(&csv);
        assert_eq!(records[0].len(), 11);
        assert_eq!(records[1], ["ssb", "q1", "squall", "2", "7", "4.000", "2.500", "3.000", "2.500", "", ""]);
        assert_eq!(records[2], ["ssb", "q1", "squall", "2", "", "4.000", "", "", "", "", "a, \"b\""]);
    }
}
