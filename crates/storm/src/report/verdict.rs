//! What results say in words: how far each server is from the others over all steps that both were measured at, and what went wrong.

use std::collections::BTreeMap;

use crate::suite::row::{Row, STEP};

/// A step's name and what tells it from others.
pub type Step = [String; STEP.len()];

/// The step of a row.
pub fn step(row: &Row) -> Step {
    row.step().map(str::to_owned)
}

/// The server of a row: its name, or, in files of the published suite, its version.
pub fn server(row: &Row) -> String {
    match row.get("server") {
        "" => format!("ClickHouse {}", row.get("server_version")),
        name => name.to_owned(),
    }
}

/// Servers in the order in which they first come.
pub fn servers(rows: &[Row]) -> Vec<String> {
    let mut servers = Vec::new();
    for row in rows {
        let server = server(row);
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    servers
}

/// The middle of a column over all rounds, by server and step.
pub fn middles(rows: &[Row], column: &str) -> BTreeMap<(String, Step), f64> {
    let mut values: BTreeMap<(String, Step), Vec<f64>> = BTreeMap::new();
    for row in rows {
        if let Some(value) = row.number(column) {
            values.entry((server(row), step(row))).or_default().push(value);
        }
    }
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    values.into_iter().map(|(key, values)| (key, middle(values))).collect()
}

/// How many times as many requests a second the first server answered as each other one, by that one and step; loads at a given rate aside.
pub fn ratios(rows: &[Row]) -> BTreeMap<(String, Step), f64> {
    let rates = middles(rows, "QPS");
    let Some(first) = servers(rows).into_iter().next() else { return BTreeMap::new() };
    let of_other = |((server, step), theirs): (&(String, Step), &f64)| {
        let ours = rates.get(&(first.clone(), step.clone()))?;
        let [.., load, _, _] = step;
        let is_told = *server != first && load.is_empty() && *theirs > 0.0;
        is_told.then(|| ((server.clone(), step.clone()), ours / theirs))
    };
    rates.iter().filter_map(of_other).collect()
}

/// The sentences at the top of a report.
pub fn sentences(rows: &[Row]) -> Vec<String> {
    let servers = servers(rows);
    let rates = middles(rows, "QPS");
    let mut sentences = Vec::new();
    if let [first, others @ ..] = servers.as_slice() {
        for other in others {
            sentences.extend(comparison(first, other, &rates));
        }
    }
    for server in &servers {
        let failed: f64 = rows
            .iter()
            .filter(|row| self::server(row) == *server && row.get("load").is_empty())
            .filter_map(|row| row.number("errors"))
            .sum();
        let steps = rates.keys().filter(|(name, _)| name == server).count();
        sentences.push(match failed {
            0.0 => format!("{server} answered every request at the pace of its clients, at {steps} steps."),
            failed => format!("{server} left {failed:.0} requests without a right answer, over {steps} steps."),
        });
    }
    let limited = rows.iter().filter(|row| !row.get("generator_warning").is_empty()).count();
    if limited > 0 {
        sentences.push(format!(
            "At {limited} of {} measurements the load generator, not the server, was the limit: there the server can do more.",
            rows.len()
        ));
    }
    sentences
}

fn comparison(first: &str, other: &str, rates: &BTreeMap<(String, Step), f64>) -> Option<String> {
    let mut ratios: Vec<(f64, &Step)> = rates
        .iter()
        // In an open loop the rate is what was asked for.
        .filter(|((server, [.., load, _, _]), _)| server == first && load.is_empty())
        .filter_map(|((_, step), rate)| {
            let theirs = rates.get(&(other.to_owned(), step.clone())).filter(|&&rate| rate > 0.0)?;
            (*rate > 0.0).then_some((rate / theirs, step))
        })
        .collect();
    ratios.sort_by(|left, right| left.0.total_cmp(&right.0));
    let (worst, best) = (ratios.first()?, ratios.last()?);
    let mean = (ratios.iter().map(|(ratio, _)| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let behind = ratios.iter().filter(|(ratio, _)| *ratio < 1.0).count();
    let behind = match behind {
        0 => "It was behind at none".to_owned(),
        behind => format!("It was behind at {behind}"),
    };
    Some(format!(
        "{first} answered {mean:.2} times as many requests a second as {other} (geometric mean over {} steps; from {:.2} at {} to {:.2} at {}). \
         {behind} of them.",
        ratios.len(),
        worst.0,
        describe(worst.1),
        best.0,
        describe(best.1)
    ))
}

/// A step in words.
pub fn describe(step: &Step) -> String {
    let [name, .., concurrency] = step;
    let series = series(step);
    let clients = if concurrency == "1" { "1 client".to_owned() } else { format!("{concurrency} clients") };
    format!("{name}, {series}, {clients}")
}

/// What tells a line of a chart from the others of its test.
pub fn series(step: &Step) -> String {
    let [subtype, way] = [subtype(step), way(step)];
    if subtype.is_empty() { way } else { format!("{subtype}, {way}") }
}

/// What is asked.
pub fn subtype([_, one, two, three, ..]: &Step) -> String {
    let words: Vec<&str> = [one, two, three].into_iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
    words.join(", ")
}

/// How it is asked.
pub fn way([_, _, _, _, protocol, proxy, keep_alive, load, idle, _]: &Step) -> String {
    let mut words = Vec::new();
    words.push(if proxy.is_empty() { protocol.clone() } else { format!("{protocol} behind {proxy}") });
    if keep_alive == "0" {
        words.push("a new connection each".to_owned());
    }
    if !load.is_empty() {
        words.push(format!("open loop at {load} times"));
    }
    if !idle.is_empty() && idle != "0" {
        words.push(format!("{idle} idle"));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn row(server: &str, concurrency: usize, rate: f64, errors: u64) -> Row {
        let mut row = Row::default();
        row.set("server", server);
        row.set("test_name", "001_simple_ping");
        row.set("protocol", "http");
        row.set("http_keepalive", 0);
        row.set("concurrency", concurrency);
        row.set("QPS", rate);
        row.set("errors", errors);
        row
    }

    #[test]
    fn verdicts_are_words() {
        let rows = [
            row("Squall", 1, 100.0, 0),
            row("ClickHouse", 1, 200.0, 0),
            row("Squall", 8, 900.0, 0),
            row("ClickHouse", 8, 112.5, 3),
            row("Squall", 16, 1.0, 0),
        ];
        assert_eq!(
            sentences(&rows),
            [
                "Squall answered 2.00 times as many requests a second as ClickHouse (geometric mean over 2 steps; from 0.50 at \
                 001_simple_ping, http, a new connection each, 1 client to 8.00 at 001_simple_ping, http, a new connection each, 8 clients). \
                 It was behind at 1 of them.",
                "Squall answered every request at the pace of its clients, at 3 steps.",
                "ClickHouse left 3 requests without a right answer, over 2 steps.",
            ]
        );
        assert!(sentences(&[]).is_empty() && ratios(&[]).is_empty());
        let ratios: Vec<(String, f64)> =
            ratios(&rows).into_iter().map(|((server, step), ratio)| (format!("{server} {}", step[9]), ratio)).collect();
        assert_eq!(ratios, [("ClickHouse 1".to_owned(), 0.5), ("ClickHouse 8".to_owned(), 8.0)]);
    }

    #[test]
    fn rounds_come_to_their_middle() {
        let rows = [row("Squall", 1, 100.0, 0), row("Squall", 1, 900.0, 0), row("Squall", 1, 200.0, 0)];
        assert_eq!(middles(&rows, "QPS").into_values().collect::<Vec<_>>(), [200.0]);
    }
}
