//! The table at the end of the suite: for each step what each server gave, and the ratio of the first to the second.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::row::{Row, Step};

/// The table as text.
pub fn table(rows: &[Row], skipped: &BTreeSet<String>) -> String {
    let mut servers: Vec<&str> = Vec::new();
    let mut steps: Vec<Step<'_>> = Vec::new();
    for row in rows {
        let step = row.step();
        if !steps.contains(&step) {
            steps.push(step);
        }
        if !servers.contains(&row.get("server")) {
            servers.push(row.get("server"));
        }
    }
    let mut out = String::new();
    // Writing to a String cannot fail; so below.
    let _ = write!(out, "{:>7}", "clients");
    for server in &servers {
        let _ = write!(out, "  {:>34}", format!("{server}: requests/s, p99 ms, errors"));
    }
    if servers.len() > 1 {
        let _ = write!(out, "  {:>6}", "ratio");
    }
    out.push('\n');
    let mut heading = None;
    for step in &steps {
        let [here @ .., clients] = step;
        if heading != Some(here) {
            heading = Some(here);
            let _ = writeln!(out, "\n{}", describe(step));
        }
        let _ = write!(out, "{clients:>7}");
        let of = |server: &str| -> Vec<&Row> {
            rows.iter().filter(|row| row.get("server") == server && row.step() == *step).collect()
        };
        let rates: Vec<Option<f64>> = servers.iter().map(|server| median(&of(server), "QPS")).collect();
        for (server, rate) in servers.iter().zip(&rates) {
            let rows = of(server);
            let errors: f64 = rows.iter().filter_map(|row| row.number("errors")).sum();
            match rate {
                Some(rate) => {
                    // A step in which no request ended has no latency.
                    let p99 = match median(&rows, "latency_99percentile") {
                        Some(p99) if p99 > 0.0 => format!("{:.3}", p99 * 1e3),
                        _ => "-".to_owned(),
                    };
                    let _ = write!(out, "  {rate:>14.1} {p99:>12} {errors:>6}");
                }
                None => {
                    let _ = write!(out, "  {:>34}", "left out");
                }
            }
        }
        if let [Some(first), Some(second), ..] = rates.as_slice()
            && *second > 0.0
        {
            let _ = write!(out, "  {:>6.2}", first / second);
        }
        out.push('\n');
    }
    if !skipped.is_empty() {
        out.push_str("\nLeft out\n");
        for what in skipped {
            let _ = writeln!(out, "  {what}");
        }
    }
    out
}

/// The middle of the rounds.
fn median(rows: &[&Row], column: &str) -> Option<f64> {
    let mut values: Vec<f64> = rows.iter().filter_map(|row| row.number(column)).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

fn describe(step: &Step<'_>) -> String {
    let [name, one, two, three, protocol, proxy, keep_alive, load, idle, _] = step;
    let mut text = format!("{name}, {protocol}");
    if !proxy.is_empty() {
        let _ = write!(text, " behind {proxy}");
    }
    if *keep_alive == "0" {
        text.push_str(", a new connection each");
    }
    for subtype in [one, two, three] {
        if !subtype.is_empty() {
            let _ = write!(text, ", {subtype}");
        }
    }
    if !load.is_empty() {
        let _ = write!(text, ", open loop at {load} times what it carries");
    }
    if !idle.is_empty() && *idle != "0" {
        let _ = write!(text, ", {idle} idle connections");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_stand_beside_each_other() {
        let row = |server: &str, rate: f64, concurrency: usize| {
            let mut row = Row::default();
            row.set("server", server);
            row.set("test_name", "001_simple_ping");
            row.set("protocol", "http");
            row.set("http_keepalive", 0);
            row.set("concurrency", concurrency);
            row.set("QPS", rate);
            row.set("latency_99percentile", 0.002);
            row.set("errors", 0);
            row
        };
        let rows = [
            row("Squall", 300.0, 8),
            row("Squall", 100.0, 8),
            row("Squall", 200.0, 8),
            row("ClickHouse", 100.0, 8),
            row("Squall", 1.0, 16),
            row("Squall", 1.0, 32),
            row("ClickHouse", 0.0, 32),
        ];
        let skipped = BTreeSet::from(["021_join on Squall: no".to_owned()]);
        let table = table(&rows, &skipped);
        assert!(table.contains("\n001_simple_ping, http, a new connection each\n"), "{table}");
        assert!(
            table.contains("      8           200.0        2.000      0           100.0        2.000      0    2.00\n"),
            "{table}"
        );
        assert!(table.contains("             0.0        2.000      0\n"), "{table}");
        assert!(table.contains("left out\n") && table.ends_with("  021_join on Squall: no\n"), "{table}");
    }
}
