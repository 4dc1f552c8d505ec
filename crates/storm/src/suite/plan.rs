//! What is measured of a scenario, step by step, and how long it takes: a pure function of the scenario and of what the user asks for.

use super::scenario::{Query, Scenario, Variant};
use super::values::{Values, combinations, fill};
use crate::load::Wire;

/// The numbers of clients of the published suite; the last one over HTTP only.
const CONCURRENCY: [usize; 14] = [1, 4, 8, 16, 32, 64, 128, 256, 512, 768, 1024, 1536, 2048, 4096];
const CONCURRENCY_OF_NATIVE_MAX: usize = 2048;
const SHORT_CONCURRENCY: [usize; 2] = [16, 64];
/// Seconds of a step.
const SECONDS: f64 = 15.0;
const SHORT_SECONDS: f64 = 1.0;
/// What the data of the short form is scaled by.
const SHORT_SCALE: f64 = 0.05;
/// What a step and one of an open loop take beyond their seconds, and a server's start and stop, for the estimate.
const STEP_SECONDS: f64 = 0.3;
const OPEN_STEP_SECONDS: f64 = 3.0;
const START_SECONDS: f64 = 2.0;

/// What the user asks for.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// The short form.
    pub is_short: bool,
    /// Instead of what the scenarios say.
    pub seconds: Option<f64>,
    /// Instead of what the scenarios say.
    pub concurrency: Option<Vec<usize>>,
    /// Instead of 1, or of what the short form has.
    pub scale: Option<f64>,
    /// How often everything is measured.
    pub rounds: u32,
}

/// One combination of a scenario's matrix: servers of their own, with data of their own.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The scenario's name with the matrix's values in it.
    pub name: String,
    /// Values of the matrix and scaled numbers.
    pub values: Values,
    /// What is measured.
    pub steps: Vec<Step>,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Which query of the scenario.
    pub query: usize,
    /// How it is sent.
    pub variant: Variant,
    /// How many clients.
    pub concurrency: usize,
    /// Connections that are idle beside them.
    pub idle: usize,
    /// In an open loop at so many times the rate of the closed loop, which is the step before.
    pub overload: Option<f64>,
    /// Which round it is, from 1 on.
    pub round: u32,
    /// For how long.
    pub seconds: f64,
}

/// The stages of a scenario; none where the short form leaves it out.
pub fn stages(scenario: &Scenario, wish: &Wish) -> Vec<Stage> {
    if wish.is_short && scenario.short.skip {
        return Vec::new();
    }
    let short = wish.is_short.then_some(&scenario.short);
    let scale = wish.scale.or_else(|| Some(short?.scale.unwrap_or(SHORT_SCALE))).unwrap_or(1.0);
    let scaled = scenario.scaled.iter().map(|(name, &number)| {
        // At least one row, or there is nothing to find.
        (name.clone(), ((number as f64 * scale) as u64).max(1).to_string())
    });
    let mut matrix = scenario.matrix.clone();
    for (name, values) in short.into_iter().flat_map(|short| &short.matrix) {
        if let Some(instead) = matrix.get_mut(name) {
            instead.clone_from(values);
        }
    }
    let steps = steps(scenario, wish);
    let stage = |values: Values| Stage { name: fill(&scenario.name, &values), values, steps: steps.clone() };
    combinations(scaled.collect(), &matrix).into_iter().map(stage).collect()
}

fn steps(scenario: &Scenario, wish: &Wish) -> Vec<Step> {
    let short = wish.is_short.then_some(&scenario.short);
    let default_seconds = if wish.is_short { SHORT_SECONDS } else { SECONDS };
    let seconds =
        wish.seconds.or_else(|| short.map_or(scenario.seconds, |short| short.seconds)).unwrap_or(default_seconds);
    let concurrency = wish.concurrency.clone().or_else(|| match short {
        Some(short) => short.concurrency.clone().or_else(|| scenario.concurrency.clone()),
        None => scenario.concurrency.clone(),
    });
    let idle = short.and_then(|short| short.idle.clone()).unwrap_or_else(|| scenario.idle.clone());
    let idle = if idle.is_empty() { vec![0] } else { idle };
    let is_chosen = |position: usize| {
        short.and_then(|short| short.variants.as_ref()).is_none_or(|chosen| chosen.contains(&position))
    };
    let queries = short.and_then(|short| short.queries).unwrap_or(usize::MAX);
    let mut steps = Vec::new();
    for round in 1..=wish.rounds.max(1) {
        for (position, &variant) in scenario.variant.iter().enumerate() {
            if !is_chosen(position) {
                continue;
            }
            for (query, asked) in scenario.query.iter().enumerate().take(queries) {
                for &idle in &idle {
                    for concurrency in levels(&concurrency, variant, wish.is_short) {
                        let closed = Step { query, variant, concurrency, idle, overload: None, round, seconds };
                        let open = asked.overload.iter().map(|&load| Step { overload: Some(load), ..closed.clone() });
                        let open: Vec<Step> = open.collect();
                        steps.push(closed);
                        steps.extend(open);
                    }
                }
            }
        }
    }
    steps
}

fn levels(concurrency: &Option<Vec<usize>>, variant: Variant, is_short: bool) -> Vec<usize> {
    match concurrency {
        Some(levels) => levels.clone(),
        None if is_short => SHORT_CONCURRENCY.to_vec(),
        None => {
            let is_native = matches!(variant.protocol, Wire::Tcp | Wire::Tcps);
            CONCURRENCY.into_iter().filter(|&level| !is_native || level <= CONCURRENCY_OF_NATIVE_MAX).collect()
        }
    }
}

/// The seconds that a stage takes on so many servers, about; making its data not counted.
pub fn estimate(stage: &Stage, servers: usize) -> f64 {
    let beyond = |step: &Step| if step.overload.is_some() { OPEN_STEP_SECONDS } else { STEP_SECONDS };
    let steps: f64 = stage.steps.iter().map(|step| step.seconds + beyond(step)).sum();
    servers as f64 * (steps + START_SECONDS)
}

/// The three subtypes of a query, with the values in them.
pub fn subtypes(query: &Query, values: &Values) -> [String; 3] {
    std::array::from_fn(|position| query.subtype.get(position).map_or_else(String::new, |text| fill(text, values)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(text: &str) -> Scenario {
        toml::from_str(&format!("name = 'lookup_{{granularity}}'\ndescription = 'x'\n{text}")).unwrap()
    }

    const LOOKUP: &str = "
        [matrix]
        granularity = [16, 1024]
        [scaled]
        rows = 1000
        [short]
        matrix = { granularity = [256] }
        concurrency = [8]
        variants = [0]
        queries = 1
        [[variant]]
        protocol = 'http'
        [[variant]]
        protocol = 'tcp'
        [[query]]
        sql = 'a'
        overload = [2.0]
        [[query]]
        sql = 'b'
    ";

    #[test]
    fn the_full_form_goes_through_everything() {
        let stages = stages(&scenario(LOOKUP), &Wish::default());
        let names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();
        assert_eq!(names, ["lookup_16", "lookup_1024"]);
        assert_eq!(stages[1].values["rows"], "1000");
        // HTTP has a level more; the first query is asked twice at each.
        assert_eq!(stages[0].steps.len(), (14 + 13) * 3);
        assert!(stages[0].steps.iter().all(|step| step.seconds == 15.0));
        let hours = estimate(&stages[0], 2) / 3600.0;
        assert!((0.6..0.85).contains(&hours), "{hours}");
    }

    #[test]
    fn the_short_form_and_wishes_take_less() {
        let short = Wish { is_short: true, ..Wish::default() };
        let stages = stages(&scenario(LOOKUP), &short);
        let [stage] = stages.as_slice() else { panic!("{stages:?}") };
        assert_eq!((stage.name.as_str(), stage.values["rows"].as_str()), ("lookup_256", "50"));
        let overloads: Vec<Option<f64>> = stage.steps.iter().map(|step| step.overload).collect();
        assert_eq!(overloads, [None, Some(2.0)]);
        let wish = Wish { seconds: Some(0.5), concurrency: Some(vec![3]), scale: Some(1.0), rounds: 2, ..short };
        let stage = &super::stages(&scenario(LOOKUP), &wish)[0];
        assert_eq!((stage.steps.len(), stage.steps[3].round, stage.values["rows"].as_str()), (4, 2, "1000"));
        assert!(stage.steps.iter().all(|step| step.seconds == 0.5 && step.concurrency == 3));
        let skipped = scenario(&format!("{LOOKUP}\n[ask]")).short;
        assert!(!skipped.skip);
    }
}
