//! What a run comes to: Squall beside each peer and beside the better of them, what further threads gain, and the charts of both.

use std::fmt::Write as _;

use super::row::Row;
use crate::chart::{Chart, Line, Scale};

/// A query is slower than the better peer where it takes so much longer: less is noise.
const SLOWER: f64 = 1.05;
/// Under this name Squall stands in the rows.
pub const SQUALL: &str = "squall";
/// The column of the fastest peer of each query.
const BETTER: &str = "the better";

/// The mean of ratios: nothing for no values. All are above 0.
pub fn geometric_mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0u32);
    for value in values {
        sum += value.ln();
        count += 1;
    }
    (count > 0).then(|| (sum / f64::from(count)).exp())
}

/// The rows of a run.
#[derive(Debug)]
pub struct Summary<'a> {
    /// All of them.
    pub rows: &'a [Row],
    /// The queries' names, in order.
    pub queries: &'a [String],
    /// The engines' names, Squall first.
    pub engines: &'a [&'static str],
    /// The numbers of threads, in the order that was asked for.
    pub threads: &'a [u32],
}

/// Squall beside a peer on so many threads, over the queries that both answer.
#[derive(Debug, PartialEq)]
struct Comparison {
    queries: usize,
    squall_ms: f64,
    peer_ms: f64,
    /// The geometric mean of the peer's time in Squall's.
    ratio: f64,
    slower: Vec<String>,
}

impl Summary<'_> {
    fn hot_ms(&self, query: &str, engine: &str, threads: u32) -> Option<f64> {
        let of = |engine: &str| {
            let mut rows = self.rows.iter();
            rows.find(|row| row.query == query && row.engine == engine && row.threads == threads)?.hot_ms()
        };
        match engine {
            BETTER => self.peers().filter_map(of).reduce(f64::min),
            other => of(other),
        }
    }

    fn peers(&self) -> impl Iterator<Item = &'static str> {
        self.engines.iter().copied().filter(|&engine| engine != SQUALL)
    }

    fn compare(&self, peer: &str, threads: u32) -> Option<Comparison> {
        let mut pairs = Vec::new();
        for query in self.queries {
            if let (Some(own), Some(other)) = (self.hot_ms(query, SQUALL, threads), self.hot_ms(query, peer, threads)) {
                pairs.push((query, own, other));
            }
        }
        Some(Comparison {
            queries: pairs.len(),
            squall_ms: pairs.iter().map(|(_, own, _)| own).sum(),
            peer_ms: pairs.iter().map(|(_, _, other)| other).sum(),
            ratio: geometric_mean(pairs.iter().map(|(_, own, other)| other / own))?,
            slower: pairs
                .iter()
                .filter(|(_, own, other)| *own > other * SLOWER)
                .map(|(query, ..)| (*query).clone())
                .collect(),
        })
    }

    /// How much faster an engine is on so many threads than on the first number of them: a value a query that both have.
    fn speed_ups(&self, engine: &str, threads: u32) -> Vec<(u32, f64)> {
        let Some(&first) = self.threads.first() else { return Vec::new() };
        let speed_up = |(at, query): (usize, &String)| {
            let gain = self.hot_ms(query, engine, first)? / self.hot_ms(query, engine, threads)?;
            Some((at as u32 + 1, gain))
        };
        self.queries.iter().enumerate().filter_map(speed_up).collect()
    }

    fn mean_speed_up(&self, engine: &str, threads: u32) -> Option<f64> {
        geometric_mean(self.speed_ups(engine, threads).into_iter().map(|(_, gain)| gain))
    }

    /// The queries that fail on an engine, on any number of threads: they count in no comparison.
    fn unanswered(&self, engine: &str) -> Vec<&str> {
        let fails =
            |query: &str| self.rows.iter().any(|row| row.query == query && row.engine == engine && row.error.is_some());
        self.queries.iter().map(String::as_str).filter(|query| fails(query)).collect()
    }

    /// The tables for a reader.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut peers: Vec<&str> = self.peers().collect();
        if peers.len() > 1 {
            peers.push(BETTER);
        }
        // Writing to a String cannot fail; so below.
        for &threads in self.threads {
            for (number, peer) in peers.iter().enumerate() {
                if number == 0 {
                    let _ = writeln!(
                        text,
                        "\n{:<22} queries  Squall, ms    peer, ms  Squall is … times as fast  slower by more than 5 %",
                        format!("{threads} {}, peer", thread_word(threads))
                    );
                }
                if let Some(Comparison { queries, squall_ms, peer_ms, ratio, slower }) = self.compare(peer, threads) {
                    let names = if slower.is_empty() { String::new() } else { format!(": {}", slower.join(" ")) };
                    let _ = writeln!(
                        text,
                        "  {peer:<20} {queries:>7}  {squall_ms:>10.1}  {peer_ms:>10.1}  {ratio:>25.2}  {}{names}",
                        slower.len()
                    );
                }
            }
        }
        if let [first, more @ ..] = self.threads
            && !more.is_empty()
        {
            let _ = write!(text, "\n{:<22}", format!("against {first} {}", thread_word(*first)));
            for threads in more {
                let _ = write!(text, " {:>12}", format!("{threads} threads"));
            }
            text.push('\n');
            for &engine in self.engines {
                let _ = write!(text, "  {engine:<20}");
                for &threads in more {
                    let gain =
                        self.mean_speed_up(engine, threads).map_or_else(String::new, |gain| format!("{gain:.2}"));
                    let _ = write!(text, " {gain:>12}");
                }
                text.push('\n');
            }
        }
        for &engine in self.engines {
            let unanswered = self.unanswered(engine);
            if !unanswered.is_empty() {
                let _ = writeln!(text, "\n{engine} does not answer {}: {}", unanswered.len(), unanswered.join(" "));
            }
        }
        text.push_str(
            "\nTimes as fast and gains are geometric means over the queries, of the best run but the first.\n",
        );
        text
    }

    /// Squall's time in its peers', a point a query, on the most threads; nothing without peers.
    pub fn ratio_chart(&self, title: &str) -> Option<Chart> {
        let panel = |&threads: &u32| {
            let line = |peer: &'static str| {
                let ratio = |(at, query): (usize, &String)| {
                    let ratio = self.hot_ms(query, SQUALL, threads)? / self.hot_ms(query, peer, threads)?;
                    Some((at as u32 + 1, ratio))
                };
                Line::new(peer, self.queries.iter().enumerate().filter_map(ratio))
            };
            (format!("{threads} {}", thread_word(threads)), self.peers().map(line).collect())
        };
        self.peers().next()?;
        Some(Chart {
            title: format!("{title}: Squall's time by its peers'"),
            panels: self.threads.iter().map(panel).collect(),
            x_label: "query".to_owned(),
            y_label: "Squall's time / peer's time".to_owned(),
            scale: Scale::Linear,
        })
    }

    /// What further threads gain, a point a query; nothing where there is one number of threads.
    pub fn speed_up_chart(&self, title: &str) -> Option<Chart> {
        let (first, more) = self.threads.split_first().filter(|(_, more)| !more.is_empty())?;
        let panel = |&threads: &u32| {
            let line = |&engine: &&'static str| Line::new(engine, self.speed_ups(engine, threads));
            (format!("from {first} to {threads} threads"), self.engines.iter().map(line).collect())
        };
        Some(Chart {
            title: format!("{title}: what further threads gain"),
            panels: more.iter().map(panel).collect(),
            x_label: "query".to_owned(),
            y_label: format!("times as fast as on {first}"),
            scale: Scale::Linear,
        })
    }

    /// The mean of these gains over the number of threads; nothing where there is one number of threads.
    pub fn scaling_chart(&self, title: &str) -> Option<Chart> {
        let first = self.threads.first().filter(|_| self.threads.len() > 1)?;
        let line = |&engine: &&'static str| {
            let gains =
                self.threads.iter().filter_map(|&threads| Some((threads, self.mean_speed_up(engine, threads)?)));
            Line::new(engine, gains)
        };
        Some(Chart {
            title: format!("{title}: scaling"),
            panels: vec![("geometric mean of all queries".to_owned(), self.engines.iter().map(line).collect())],
            x_label: "threads".to_owned(),
            y_label: format!("times as fast as on {first}"),
            scale: Scale::Linear,
        })
    }
}

/// The word after a number.
pub fn thread_word(threads: u32) -> &'static str {
    if threads == 1 { "thread" } else { "threads" }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGINES: [&str; 3] = [SQUALL, "chdb", "duckdb"];

    /// Two queries on one thread and on two: Squall takes 10 and 100 ms, chdb twice and half that, DuckDB the same; two threads halve all but DuckDB's.
    fn rows() -> Vec<Row> {
        let mut rows = Vec::new();
        for threads in [1, 2] {
            for (query, times) in [("q1", [10.0, 20.0, 10.0]), ("q2", [100.0, 50.0, 100.0])] {
                for (engine, ms) in ENGINES.into_iter().zip(times) {
                    let gain = if engine == "duckdb" { 1.0 } else { f64::from(threads) };
                    let (query, runs_ms) = (query.to_owned(), vec![999.0, ms / gain]);
                    rows.push(Row { query, engine, threads, rows: 1, runs_ms, cpu_ms: None, error: None });
                }
            }
        }
        rows
    }

    fn with<T>(rows: &[Row], look: impl FnOnce(Summary<'_>) -> T) -> T {
        let queries = ["q1".to_owned(), "q2".to_owned()];
        look(Summary { rows, queries: &queries, engines: &ENGINES, threads: &[1, 2] })
    }

    #[test]
    fn geometric_means_weigh_ratios_alike() {
        assert_eq!(geometric_mean([]), None);
        assert!((geometric_mean([2.0, 0.5]).unwrap() - 1.0).abs() < 1e-12);
        assert!((geometric_mean([1.0, 10.0, 100.0]).unwrap() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn squall_is_compared_with_each_and_with_the_better() {
        with(&rows(), |summary| {
            let chdb = summary.compare("chdb", 1).unwrap();
            assert_eq!((chdb.queries, chdb.squall_ms, chdb.peer_ms), (2, 110.0, 70.0));
            assert!((chdb.ratio - 1.0).abs() < 1e-12);
            assert_eq!(chdb.slower, ["q2"]);
            let better = summary.compare(BETTER, 1).unwrap();
            assert_eq!((better.peer_ms, better.slower.len()), (60.0, 1));
            assert!((better.ratio - 0.5f64.sqrt()).abs() < 1e-12);
            assert_eq!(summary.compare("clickhouse", 1), None);
        });
    }

    #[test]
    fn what_failed_counts_nowhere() {
        let mut rows = rows();
        rows[0].error = Some("no".to_owned());
        with(&rows, |summary| {
            assert_eq!(summary.compare("chdb", 1).unwrap().queries, 1);
            assert_eq!(summary.speed_ups(SQUALL, 2), [(2, 2.0)]);
            assert_eq!((summary.unanswered(SQUALL), summary.unanswered("chdb")), (vec!["q1"], vec![]));
            assert!(summary.text().contains("squall does not answer 1: q1\n"));
        });
    }

    #[test]
    fn threads_gain_what_they_gain() {
        with(&rows(), |summary| {
            assert_eq!(summary.speed_ups(SQUALL, 2), [(1, 2.0), (2, 2.0)]);
            assert!((summary.mean_speed_up("duckdb", 2).unwrap() - 1.0).abs() < 1e-12);
            let text = summary.text();
            assert!(text.contains("against 1 thread") && text.contains("2 threads, peer"), "{text}");
            let charts = [summary.ratio_chart("t"), summary.speed_up_chart("t"), summary.scaling_chart("t")];
            let panels = charts.map(|chart| chart.unwrap().panels.len());
            assert_eq!(panels, [2, 1, 1]);
        });
    }

    #[test]
    fn without_peers_or_further_threads_there_is_nothing_to_draw() {
        let (rows, queries) = (rows(), ["q1".to_owned()]);
        let summary = Summary { rows: &rows, queries: &queries, engines: &[SQUALL], threads: &[2] };
        assert!(summary.ratio_chart("t").is_none() && summary.scaling_chart("t").is_none());
        assert!(summary.speed_up_chart("t").is_none());
    }
}
