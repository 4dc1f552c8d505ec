//! `squall storm compare`: two files of results step by step, and which of them differ by more than noise.

use std::collections::BTreeMap;
use std::path::PathBuf;

use squall_types::Result;

use super::verdict::{Step, describe, server, step};
use crate::statistics::Sample;
use crate::suite::results::read;
use crate::suite::row::Row;

/// Compare two results of the suite: what became faster or slower beyond noise.
///
/// Noise is known where both files have more than one round (squall storm suite --rounds 5): Welch's t-test over the rounds. Steps of one round are
/// shown without a judgement.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Results before, a file of squall storm suite or of the published suite
    before: PathBuf,
    /// Results after
    after: PathBuf,
    /// The column that is compared: QPS, or a latency
    #[arg(long, default_value = "QPS")]
    column: String,
    /// How sure a difference must be, in percent
    #[arg(long, default_value_t = 95.0, value_parser = parse_confidence)]
    confidence: f64,
    /// Also show steps that did not change
    #[arg(long)]
    all: bool,
}

fn parse_confidence(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|level| (50.0..=99.99).contains(level)).ok_or_else(|| "expected 50 to 99.99".to_owned())
}

/// Runs `squall storm compare`.
///
/// # Errors
/// Files that are no results.
pub fn run(args: &Args) -> Result<()> {
    let (before, after) = (samples(&read(&args.before)?, &args.column), samples(&read(&args.after)?, &args.column));
    print!("{}", table(&before, &after, args));
    Ok(())
}

type Samples = BTreeMap<(String, Step), Sample>;

fn samples(rows: &[Row], column: &str) -> Samples {
    let mut values: BTreeMap<(String, Step), Vec<f64>> = BTreeMap::new();
    for row in rows {
        if let Some(value) = row.number(column) {
            values.entry((server(row), step(row))).or_default().push(value);
        }
    }
    values.into_iter().map(|(key, values)| (key, Sample::of(&values))).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Worse,
    Better,
    Unproven,
    Unknown,
}

fn table(before: &Samples, after: &Samples, args: &Args) -> String {
    // Of rates more is better, of all else less.
    let more_is_better = !args.column.starts_with("latency") && args.column != "errors";
    let mut lines: Vec<(Change, String)> = Vec::new();
    for (key, first) in before {
        let Some(second) = after.get(key) else { continue };
        let percent = |value: f64| 100.0 * value / first.mean.abs().max(f64::MIN_POSITIVE);
        let (change, how_sure) = match first.difference(second, args.confidence) {
            None => (Change::Unknown, "one round, noise unknown".to_owned()),
            Some(difference) => {
                let change = match (difference.is_proven(), (difference.mean > 0.0) == more_is_better) {
                    (false, _) => Change::Unproven,
                    (true, true) => Change::Better,
                    (true, false) => Change::Worse,
                };
                (change, format!("± {:.1} %", percent(difference.error)))
            }
        };
        let word = match change {
            Change::Worse => "worse",
            Change::Better => "better",
            Change::Unproven => "same",
            Change::Unknown => "?",
        };
        let line = format!(
            "{word:6}  {:>+8.1} % {how_sure}  {:.6} → {:.6}  {}, {}",
            percent(second.mean - first.mean),
            first.mean,
            second.mean,
            key.0,
            describe(&key.1)
        );
        lines.push((change, line));
    }
    lines.sort_by_key(|(change, _)| *change);
    let count = |change: Change| lines.iter().filter(|(other, _)| *other == change).count();
    let mut out = format!(
        "{}: of {} steps in both, {} worse, {} better, {} the same within noise, {} of unknown noise; {} % confidence\n",
        args.column,
        lines.len(),
        count(Change::Worse),
        count(Change::Better),
        count(Change::Unproven),
        count(Change::Unknown),
        args.confidence
    );
    for (change, line) in &lines {
        if args.all || *change != Change::Unproven {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rates: &[f64]) -> Vec<Row> {
        let row = |rate: &f64| {
            let mut row = Row::default();
            row.set("server", "Squall");
            row.set("test_name", "ping");
            row.set("concurrency", 1);
            row.set("QPS", rate);
            row.set("latency_50percentile", rate);
            row
        };
        rates.iter().map(row).collect()
    }

    fn compared(column: &str, before: &[f64], after: &[f64]) -> String {
        let args = Args {
            before: PathBuf::new(),
            after: PathBuf::new(),
            column: column.to_owned(),
            confidence: 95.0,
            all: false,
        };
        table(&samples(&rows(before), column), &samples(&rows(after), column), &args)
    }

    #[test]
    fn changes_beyond_noise_are_marked() {
        let (slow, fast) = ([100.0, 101.0, 99.0], [120.0, 121.0, 119.0]);
        assert!(compared("QPS", &slow, &fast).contains("\nbetter     +20.0 % ± 2."));
        assert!(compared("QPS", &fast, &slow).contains("\nworse "));
        assert!(compared("latency_50percentile", &slow, &fast).contains("\nworse "));
        let same = compared("QPS", &slow, &[101.0, 100.0, 99.5]);
        assert!(same.contains("1 the same within noise") && same.lines().count() == 1, "{same}");
        assert!(compared("QPS", &[100.0], &[200.0]).contains("\n?         +100.0 % one round"));
    }
}
