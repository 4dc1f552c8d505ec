//! What the evidence says: each of document 002's five symptoms found, not found, or not to be told, and the remedies that it names.
//! Pure.

use serde::Serialize;

use super::evidence::{Evidence, History, Look};

/// The load average per CPU from which on it is high.
const LOAD_PER_CPU_MAX: f64 = 2.0;
/// The idle share of the CPUs from which on they are underused.
const IDLE_SHARE_MIN: f64 = 0.2;
/// More queries at once than this are many: the document's "few dozen".
const QUERIES_MAX: f64 = 36.0;
/// Threads by which the pool must grow, and free threads that it must have, as in the document's query.
const THREADS_MIN: f64 = 10.0;
/// The share of its size by which a pool that is stable moves.
const FLUCTUATION_MAX: f64 = 0.25;
/// `SELECT 1` is slow from here on.
const SLOW_MS: f64 = 500.0;
/// A pool whose jobs spend less of their time working wastes it.
const EFFICIENCY_MIN: f64 = 0.9;

/// What is to be said of a symptom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The server shows it.
    Found,
    /// It does not.
    NotFound,
    /// The server does not say enough.
    Unknown,
}

/// One symptom.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// Its name.
    pub symptom: &'static str,
    /// Whether it is there.
    pub verdict: Verdict,
    /// The figures that say so.
    pub evidence: String,
    /// What helps; nothing where nothing was found.
    pub remedies: Vec<String>,
}

/// The five symptoms, in the document's order.
pub fn diagnose(evidence: &Evidence) -> Vec<Finding> {
    let remedies = remedies(evidence);
    let symptoms = [
        ("High load average with low CPU utilization", load(evidence)),
        ("Many simultaneous queries", queries(evidence)),
        ("The global thread pool's size fluctuates", fluctuation(evidence)),
        ("The pool grows although it has free threads", growth(evidence)),
        ("Simple queries are answered slowly at times", freezes(evidence)),
    ];
    symptoms
        .into_iter()
        .map(|(symptom, (verdict, evidence))| {
            let remedies = if verdict == Verdict::Found { remedies.for_symptom(symptom) } else { Vec::new() };
            Finding { symptom, verdict, evidence, remedies }
        })
        .collect()
}

fn found(is_found: bool) -> Verdict {
    if is_found { Verdict::Found } else { Verdict::NotFound }
}

fn most(looks: &[Look], of: impl Fn(&Look) -> Option<f64>) -> Option<f64> {
    looks.iter().filter_map(of).reduce(f64::max)
}

fn load(evidence: &Evidence) -> (Verdict, String) {
    let looks = &evidence.looks;
    let now = most(looks, |look| look.load_average)
        .zip(most(looks, |look| look.idle_share))
        .map(|(load, idle)| (load, idle, most(looks, |look| look.crowd)));
    let past = evidence
        .history
        .as_ref()
        .and_then(|history| Some((history.load_average_max?, history.idle_share_then?, history.crowd_then)));
    let told = evidence.machine.load_average.zip(evidence.machine.idle_share).map(|(load, idle)| (load, idle, None));
    let worst = [now, past, told].into_iter().flatten().max_by(|(left, ..), (right, ..)| left.total_cmp(right));
    let (Some((load, idle, crowd)), Some(cpus)) = (worst, evidence.cpus) else {
        let missing = "the server does not tell its load average, its idle time or its CPUs: say them with --load-average, --idle and --cpus";
        return (Verdict::Unknown, missing.to_owned());
    };
    let mut text = format!("load average {load:.2} on {cpus:.0} CPUs, of whose time {:.0} % was idle", idle * 100.0);
    let is_high = |load: f64| load > cpus * LOAD_PER_CPU_MAX;
    // The average remembers for minutes what was before: idle CPUs beside it prove nothing unless threads still want them.
    let is_over = crowd.is_some_and(|crowd| !is_high(crowd));
    if is_high(load) && is_over {
        text.push_str(", but falling: few threads ran or were blocked");
    }
    if is_high(load) && idle <= IDLE_SHARE_MIN {
        text.push_str(": the CPUs are busy, so this is work and not waiting");
    }
    (found(is_high(load) && idle > IDLE_SHARE_MIN && !is_over), text)
}

fn queries(evidence: &Evidence) -> (Verdict, String) {
    let now = most(&evidence.looks, |look| look.queries);
    let past = evidence.history.as_ref().and_then(|history| history.queries_max);
    match now.into_iter().chain(past).reduce(f64::max) {
        Some(most) => (found(most > QUERIES_MAX), format!("{most:.0} queries ran at once at most")),
        None => (Verdict::Unknown, "the server does not tell how many queries run".to_owned()),
    }
}

fn fluctuation(evidence: &Evidence) -> (Verdict, String) {
    let history = evidence.history.as_ref();
    let count = history.and_then(|history| history.fluctuations);
    if let Some(history) = history
        && let Some(count @ 1..) = count
    {
        let (least, most) = history.fluctuation_from_to.unwrap_or_default();
        let text = format!(
            "in {count} stretches of ten minutes in {} hours; in the worst, at {}, GlobalThread went up and down between {least:.0} and {most:.0}",
            history.hours,
            history.fluctuation_at.as_deref().unwrap_or("?"),
        );
        return (Verdict::Found, text);
    }
    let past = match (history, count) {
        (Some(history), Some(_)) => format!(", and did not fluctuate in {} hours of the metric_log", history.hours),
        _ => String::new(),
    };
    let sizes: Vec<f64> = evidence.looks.iter().filter_map(|look| look.threads).collect();
    let (Some(least), Some(most)) = (sizes.iter().copied().reduce(f64::min), sizes.iter().copied().reduce(f64::max))
    else {
        return match past.is_empty() {
            true => (Verdict::Unknown, "the server has no metric GlobalThread".to_owned()),
            false => (Verdict::NotFound, format!("the server tells no GlobalThread now{past}")),
        };
    };
    let text = format!("GlobalThread was {least:.0} to {most:.0} in {} looks{past}", sizes.len());
    (found(most - least > THREADS_MIN && most - least > most * FLUCTUATION_MAX), text)
}

fn growth(evidence: &Evidence) -> (Verdict, String) {
    let grew = evidence.looks.windows(2).any(|pair| {
        let [before, after] = pair else { return false };
        let free = |look: &Look| look.threads.zip(look.active_threads).map(|(threads, active)| threads - active);
        match (free(before), free(after), before.threads.zip(after.threads)) {
            (Some(free_before), Some(free_after), Some((threads_before, threads_after))) => {
                free_before > THREADS_MIN && free_after > THREADS_MIN && threads_after - threads_before > THREADS_MIN
            }
            _ => false,
        }
    });
    if let Some(History { incidents: 1.., incidents_from_to: Some((from, to)), .. }) = &evidence.history {
        let history = evidence.history.as_ref();
        let (count, hours) = history.map_or((0, 0), |history| (history.incidents, history.hours));
        let increase = history.map_or(0, |history| history.thread_increase_max);
        let text = format!(
            "{count} times in {hours} hours, from {from} to {to}, by up to {increase} threads{}",
            efficiency(history)
        );
        return (Verdict::Found, text);
    }
    let is_known = evidence.looks.iter().any(|look| look.threads.is_some());
    match (grew, &evidence.history) {
        (true, _) => (Verdict::Found, "it did while it was looked at".to_owned()),
        (false, Some(history)) => (
            Verdict::NotFound,
            format!("not in {} hours of the metric_log{}", history.hours, efficiency(Some(history))),
        ),
        (false, None) if is_known => {
            (Verdict::Unknown, "not while it was looked at; the server has no metric_log to look back".to_owned())
        }
        (false, None) => (Verdict::Unknown, "the server has neither the metrics nor a metric_log".to_owned()),
    }
}

/// How the pool spent its jobs' time, where the log counts it.
fn efficiency(history: Option<&History>) -> String {
    let Some((busy, wait)) = history.and_then(|history| history.busy_us.zip(history.job_wait_us)) else {
        return String::new();
    };
    if busy + wait <= 0.0 {
        return String::new();
    }
    let share = busy / (busy + wait);
    let lock_s = history.and_then(|history| history.lock_wait_us).unwrap_or(0.0) / 1e6;
    let mark = if share < EFFICIENCY_MIN { " (poor)" } else { "" };
    format!(
        "; its jobs spent {:.1} % of their time working{mark}, {lock_s:.1} s went into waiting for its locks",
        share * 100.0
    )
}

fn freezes(evidence: &Evidence) -> (Verdict, String) {
    let unanswered = evidence.looks.iter().filter(|look| look.select_1_ms.is_none()).count();
    let slowest = most(&evidence.looks, |look| look.select_1_ms).unwrap_or(0.0);
    let looks = evidence.looks.len();
    let text = match unanswered {
        0 => format!("SELECT 1 took at most {slowest:.1} ms in {looks} tries"),
        _ => format!("SELECT 1 had no answer in 10 s {unanswered} times of {looks}"),
    };
    (found(unanswered > 0 || slowest > SLOW_MS), text)
}

/// What helps this server.
struct Remedies {
    upgrade: Option<String>,
    profilers: Option<String>,
}

fn remedies(evidence: &Evidence) -> Remedies {
    let mut numbers = evidence.version.split('.').map(|number| number.parse::<u32>().ok());
    let version = (|| Some((numbers.next()??, numbers.next()??)))();
    let upgrade = version.filter(|version| *version < (24, 10)).map(|_| {
        format!(
            "upgrade: {} creates threads under its pool's lock; ClickHouse does not since 24.10, Squall never did",
            evidence.version
        )
    });
    let profilers = (version.is_some_and(|version| version < (24, 6)) && evidence.has_profilers != Some(false)).then(|| {
        "set memory_profiler_step, query_profiler_real_time_period_ns and query_profiler_cpu_time_period_ns to 0: before 24.6 \
         they call mincore for every stack, which holds up thread creation"
            .to_owned()
    });
    Remedies { upgrade, profilers }
}

impl Remedies {
    fn for_symptom(&self, symptom: &str) -> Vec<String> {
        let concurrency =
            "limit what one client may start: max_concurrent_queries_for_user, max_execution_time, max_threads, \
            max_bytes_to_read in profiles; cancel_http_readonly_queries_on_client_close"
                .to_owned();
        let all = "limit how many run at once: max_concurrent_queries (Squall: auto), concurrent_threads_soft_limit_ratio_to_cores"
            .to_owned();
        let kernel = "a kernel from 5.8 on, whose mmap lock is contended less".to_owned();
        let free =
            "keep more free threads: max_thread_pool_free_size, so that the pool does not shrink after each peak"
                .to_owned();
        let chosen = match symptom {
            symptom if symptom.starts_with("High load") => vec![all, kernel],
            symptom if symptom.starts_with("Many") => return vec![concurrency, all],
            symptom if symptom.starts_with("The global") => vec![free],
            symptom if symptom.starts_with("The pool") => vec![free, kernel],
            _ => vec![concurrency, all],
        };
        self.upgrade.iter().chain(&self.profilers).cloned().chain(chosen).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::evidence::Machine;

    fn verdicts(evidence: &Evidence) -> Vec<Verdict> {
        diagnose(evidence).iter().map(|finding| finding.verdict).collect()
    }

    #[test]
    fn a_healthy_server_has_no_symptom() {
        let look = Look {
            select_1_ms: Some(1.0),
            queries: Some(3.0),
            threads: Some(100.0),
            active_threads: Some(60.0),
            load_average: Some(1.5),
            idle_share: Some(0.4),
            crowd: Some(3.0),
        };
        let evidence = Evidence {
            version: "26.9.2.1".into(),
            cpus: Some(16.0),
            looks: vec![look; 5],
            history: Some(History { hours: 24, queries_max: Some(20.0), ..History::default() }),
            has_profilers: Some(true),
            ..Evidence::default()
        };
        assert_eq!(verdicts(&evidence), [Verdict::NotFound; 5]);
        assert!(diagnose(&evidence).iter().all(|finding| finding.remedies.is_empty()));
    }

    #[test]
    fn the_seeds_incident_is_recognised() {
        let look = |threads, active_threads, select_1_ms| Look {
            select_1_ms,
            queries: Some(544.0),
            threads: Some(threads),
            active_threads: Some(active_threads),
            load_average: Some(3272.61),
            idle_share: Some(0.4),
            crowd: None,
        };
        let evidence = Evidence {
            version: "24.3.5.46".into(),
            cpus: Some(64.0),
            looks: vec![look(3_000.0, 2_500.0, Some(5_000.0)), look(4_718.0, 3_069.0, None)],
            has_profilers: Some(true),
            ..Evidence::default()
        };
        let findings = diagnose(&evidence);
        assert!(findings.iter().all(|finding| finding.verdict == Verdict::Found), "{findings:?}");
        assert!(findings[0].remedies[0].starts_with("upgrade: 24.3.5.46"));
        assert!(findings[0].remedies[1].contains("mincore"));
        assert!(findings[4].evidence.contains("no answer in 10 s 1 times of 2"));
    }

    #[test]
    fn a_load_that_was_before_is_no_symptom() {
        let verdict = |crowd, crowd_then| {
            let look = Look { load_average: Some(5.5), idle_share: Some(0.95), crowd, ..Look::default() };
            let history =
                History { load_average_max: Some(4.5), idle_share_then: Some(0.9), crowd_then, ..History::default() };
            let mut evidence = Evidence { cpus: Some(2.0), looks: vec![look; 2], ..Evidence::default() };
            let now = diagnose(&evidence)[0].verdict;
            evidence.looks.clear();
            evidence.history = Some(history);
            (now, diagnose(&evidence)[0].verdict)
        };
        assert_eq!(verdict(Some(1.0), Some(1.5)), (Verdict::NotFound, Verdict::NotFound));
        assert_eq!(verdict(Some(40.0), Some(30.0)), (Verdict::Found, Verdict::Found));
        assert_eq!(verdict(None, None), (Verdict::Found, Verdict::Found));
    }

    #[test]
    fn the_past_counts() {
        let history = History {
            hours: 24,
            incidents: 7,
            incidents_from_to: Some(("2024-04-08 20:31:00".into(), "2024-04-08 20:37:00".into())),
            thread_increase_max: 812,
            busy_us: Some(20_795e6),
            job_wait_us: Some(19_762e6),
            lock_wait_us: Some(24_515e6),
            ..History::default()
        };
        let evidence = Evidence { version: "24.9.1".into(), history: Some(history), ..Evidence::default() };
        let growth = &diagnose(&evidence)[3];
        assert_eq!(growth.verdict, Verdict::Found);
        assert!(growth.evidence.contains("7 times in 24 hours"), "{}", growth.evidence);
        assert!(growth.evidence.contains("51.3 % of their time working (poor)"), "{}", growth.evidence);
    }

    #[test]
    fn a_pool_that_moved_is_found_in_the_past() {
        let look = Look { threads: Some(100.0), ..Look::default() };
        let history = History {
            hours: 24,
            fluctuations: Some(3),
            fluctuation_from_to: Some((900.0, 4_718.0)),
            fluctuation_at: Some("2024-04-08 20:30:00".into()),
            ..History::default()
        };
        let mut evidence = Evidence { looks: vec![look; 3], history: Some(history), ..Evidence::default() };
        let finding = &diagnose(&evidence)[2];
        assert_eq!(finding.verdict, Verdict::Found);
        assert!(
            finding.evidence.contains("at 2024-04-08 20:30:00, GlobalThread went up and down between 900 and 4718"),
            "{finding:?}"
        );
        evidence.history = Some(History { hours: 24, fluctuations: Some(0), ..History::default() });
        let finding = &diagnose(&evidence)[2];
        assert_eq!(finding.verdict, Verdict::NotFound);
        assert!(finding.evidence.ends_with("did not fluctuate in 24 hours of the metric_log"), "{finding:?}");
    }

    #[test]
    fn what_an_old_server_does_not_tell_may_be_said() {
        let looks = vec![Look { select_1_ms: Some(1.0), ..Look::default() }];
        let machine = Machine { load_average: Some(78.32), idle_share: Some(0.38) };
        let evidence = Evidence { version: "18.16.1".into(), cpus: Some(16.0), looks, machine, ..Evidence::default() };
        let findings = diagnose(&evidence);
        assert_eq!(findings[0].verdict, Verdict::Found);
        assert!(
            findings[0].evidence.starts_with("load average 78.32 on 16 CPUs, of whose time 38 % was idle"),
            "{findings:?}"
        );
        let busy = Machine { idle_share: Some(0.02), ..machine };
        assert_eq!(diagnose(&Evidence { machine: busy, ..evidence })[0].verdict, Verdict::NotFound);
    }

    #[test]
    fn a_server_that_says_nothing_is_not_called_healthy() {
        let looks = vec![Look { select_1_ms: Some(1.0), ..Look::default() }];
        let evidence = Evidence { version: "18.16.1".into(), looks, ..Evidence::default() };
        use Verdict::{NotFound, Unknown};
        assert_eq!(verdicts(&evidence), [Unknown, Unknown, Unknown, Unknown, NotFound]);
    }
}
