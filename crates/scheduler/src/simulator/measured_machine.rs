//! The machine, the query and the measurements of document 000, on which the cost model is calibrated: 16 logical cores (8 physical ones)
//! and one aggregation over 8.9 million rows, sent by 1 and by 20 clients.

use crate::policy::PolicyKind;
use crate::simulator::workload::{MachineOptions, QueryClass, RunOptions, SchedulerConfig, Workload};

/// The values of `max_threads` that the document measured, with the queries a second of 1 and of 20 clients.
pub const MEASURED: [(usize, f64, f64); 9] = [
    (1, 15.7, 153.8),
    (2, 27.5, 138.3),
    (4, 46.3, 124.9),
    (8, 64.9, 109.7),
    (16, 68.8, 93.8),
    (24, 56.3, 79.5),
    (32, 50.4, 72.8),
    (64, 47.8, 61.9),
    (96, 47.5, 62.9),
];

/// The same with `max_threads` 16 and these values of `total_max_threads`.
pub const MEASURED_WITH_BUDGET: [(i64, f64, f64); 6] =
    [(8, 57.9, 150.7), (12, 66.7, 151.5), (16, 67.7, 150.4), (24, 68.9, 151.0), (32, 68.9, 149.5), (64, 63.6, 118.5)];

/// Streams that ClickHouse makes of the document's table: 8,873,898 rows, at least 163,840 for each.
const STREAMS: usize = 54;

/// The document's query under a policy.
pub fn workload(policy: PolicyKind, clients: usize, max_threads: usize, total_max_threads: i64) -> Workload {
    let query = QueryClass {
        name: "aggregation".into(),
        clients,
        plan_ms: 7.0,
        work_ms: 56.3,
        worker_ms: 0.92,
        spread: 0.05,
        parallelism: STREAMS,
        max_threads,
        ..QueryClass::default()
    };
    Workload {
        machine: MachineOptions::default(),
        scheduler: SchedulerConfig { policy: policy.to_string(), total_max_threads, ..SchedulerConfig::default() },
        run: RunOptions {
            warm_up_ms: 200.0,
            duration_ms: if clients == 1 { 10_000.0 } else { 4_000.0 },
            ..RunOptions::default()
        },
        queries: vec![query],
    }
}

/// Seconds that the document's two thousand queries take: a thousand of one client, a thousand of twenty.
pub fn total_seconds(one_client: f64, twenty_clients: f64) -> f64 {
    1_000.0 / one_client + 1_000.0 / twenty_clients
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::simulate;

    fn rate(policy: PolicyKind, clients: usize, max_threads: usize, total_max_threads: i64) -> f64 {
        simulate(&workload(policy, clients, max_threads, total_max_threads), 1).unwrap().queries_per_second()
    }

    fn seconds(policy: PolicyKind, max_threads: usize, total_max_threads: i64) -> f64 {
        let of = |clients| rate(policy, clients, max_threads, total_max_threads);
        total_seconds(of(1), of(20))
    }

    /// The best of the fixed values of `max_threads`, and the seconds that the queries take with it.
    fn best_fixed() -> (usize, f64) {
        let all = [4, 8, 16, 24].map(|threads| (threads, seconds(PolicyKind::FixedAtStart, threads, 0)));
        all.into_iter().min_by(|left, right| left.1.total_cmp(&right.1)).unwrap()
    }

    #[test]
    fn fixed_threads_have_the_seeds_shape() {
        let best = |clients| {
            let rates = MEASURED.map(|(threads, _, _)| (threads, rate(PolicyKind::FixedAtStart, clients, threads, 0)));
            for ((threads, simulated), (_, one, twenty)) in rates.into_iter().zip(MEASURED) {
                let ratio = simulated / if clients == 1 { one } else { twenty };
                assert!(
                    (0.8..1.25).contains(&ratio),
                    "{clients} clients, max_threads {threads}: {ratio} of the measured"
                );
            }
            rates.into_iter().max_by(|left, right| left.1.total_cmp(&right.1)).unwrap().0
        };
        assert_eq!([best(1), best(20)], [16, 1]);
        assert_eq!(best_fixed().0, 8);
    }

    #[test]
    fn a_budget_gains_what_the_seed_found_and_stride_as_much() {
        let (_, fixed) = best_fixed();
        let gain = |seconds: f64| 1.0 - seconds / fixed;
        for total in [16, 24, 32] {
            let budget = gain(seconds(PolicyKind::FixedAtStart, 16, total));
            assert!(budget >= 0.133, "total_max_threads {total}: {budget}");
        }
        let best_budget = gain(seconds(PolicyKind::FixedAtStart, 16, 16));
        for threads in [16, 32, 96] {
            let stride = gain(seconds(PolicyKind::Stride, threads, 0));
            assert!(stride >= best_budget - 0.005, "stride, max_threads {threads}: {stride}, budget {best_budget}");
        }
    }

    #[test]
    fn under_stride_max_threads_costs_a_crowd_nothing() {
        let narrow = rate(PolicyKind::Stride, 20, 1, 0);
        for threads in [4, 16, 96] {
            let wide = rate(PolicyKind::Stride, 20, threads, 0);
            assert!((0.99..1.01).contains(&(wide / narrow)), "{threads}: {wide}, {narrow}");
        }
    }
}
