//! Workloads made of a seed, for checking invariants over many of them: any machine, any policy, few clients or many, short queries
//! beside long ones.

use crate::policy::PolicyKind;
use crate::simulator::random::Random;
use crate::simulator::workload::{MachineOptions, QueryClass, RunOptions, SchedulerConfig, Workload};

/// Queries of a class that comes by itself that may be there at once: it uses a tenth of the machine.
const ARRIVED: f64 = 20.0;

/// The workload of a seed: of up to 64 cores and 300 clients, or of so many cores and up to 4,096 clients of a class, for which less
/// time is simulated.
pub fn random_workload(seed: u64, cores: Option<usize>) -> Workload {
    let mut random = Random::new(seed);
    let mut one_of = |values: &[f64]| values[((random.share() * values.len() as f64) as usize).min(values.len() - 1)];
    let clients: &[f64] = match cores {
        None => &[1.0, 2.0, 5.0, 20.0, 100.0],
        Some(_) => &[1.0, 16.0, 64.0, 256.0, 1_024.0, 4_096.0],
    };
    let (warm_up_ms, duration_ms) = if cores.is_some() { (5.0, 50.0) } else { (20.0, 200.0) };
    let cores = match cores {
        None => one_of(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]),
        Some(cores) => cores as f64,
    };
    let machine = MachineOptions {
        cores: cores as usize,
        smt: cores % 2.0 == 0.0 && one_of(&[0.0, 1.0]) > 0.0,
        bandwidth_cores: one_of(&[0.0, 0.0, cores / 2.0]),
        lock_ns: one_of(&[0.0, 250.0, 20_000.0]),
        ..MachineOptions::default()
    };
    let policy = PolicyKind::ALL[one_of(&[0.0, 0.0, 1.0, 2.0, 3.0, 4.0]) as usize];
    let total_max_threads = one_of(&[0.0, -1.0, 1.0, cores, 3.0 * cores]) as i64;
    // Under `stride` a budget cuts the machine; the others give each query a thread whatever the budget.
    let workers = match total_max_threads {
        budget if budget > 0 && policy == PolicyKind::Stride => cores.min(budget as f64),
        _ => cores,
    };
    let classes = one_of(&[1.0, 2.0, 3.0]) as usize;
    let queries: Vec<QueryClass> = (0..classes)
        .map(|class| {
            let is_open = one_of(&[0.0, 0.0, 1.0]) > 0.0;
            let work_ms = one_of(&[0.01, 0.5, 3.0, 20.0, 150.0]);
            let plan_ms = one_of(&[0.0, 0.05, 1.0]);
            QueryClass {
                name: format!("class {class}"),
                clients: if is_open { 0 } else { one_of(clients) as usize },
                think_ms: one_of(&[0.0, 0.0, 5.0]),
                // Together far from what the machine can carry: else they would wait without bound by right.
                arrivals_per_second: if is_open {
                    (0.1 * workers * 1_000.0 / (plan_ms + work_ms)).min(2_000.0)
                } else {
                    0.0
                },
                plan_ms,
                work_ms,
                worker_ms: one_of(&[0.0, 0.05]),
                finish_ms: one_of(&[0.0, 0.2]),
                spread: one_of(&[0.0, 0.05, 0.9]),
                memory_bound: one_of(&[0.0, 0.8]),
                parallelism: one_of(&[1.0, 3.0, 1_024.0]) as usize,
                max_threads: one_of(&[0.0, 1.0, 4.0, 96.0]) as usize,
                weight: one_of(&[1.0, 1.0, 0.5, 4.0]),
            }
        })
        .collect();
    let weights = || queries.iter().map(|class| class.weight);
    let unequal = weights().fold(0.0, f64::max) / weights().fold(f64::MAX, f64::min);
    let mut starvation_ms = 20.0;
    for class in &queries {
        let threads =
            class.parallelism.min(if class.max_threads == 0 { machine.cores } else { class.max_threads }) as f64;
        let work_ms = class.plan_ms + class.work_ms + class.finish_ms + class.worker_ms * threads;
        let turn_ms = (machine.slice_min_us + machine.switch_us) / 1e3;
        let there = if class.clients > 0 { class.clients as f64 } else { ARRIVED };
        // The work of all who are there, and a turn of each of their threads, as slow as the machine ever is: three times, since what comes
        // meanwhile may go first, and as often as its weight is greater.
        let slowness = 1.0 + class.memory_bound;
        starvation_ms +=
            3.0 * unequal * there * (work_ms + threads * turn_ms) * slowness / (machine.smt_speed * workers);
    }
    Workload {
        machine,
        scheduler: SchedulerConfig { policy: policy.to_string(), total_max_threads, ..SchedulerConfig::default() },
        run: RunOptions { warm_up_ms, duration_ms, starvation_ms },
        queries,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::simulate;

    #[test]
    fn invariants_hold_at_every_step_of_any_workload() {
        for seed in 0..250 {
            let workload = random_workload(seed, None);
            if let Err(violation) = simulate(&workload, seed) {
                panic!("{violation}\n{workload:#?}");
            }
        }
    }

    #[test]
    fn invariants_hold_on_large_machines_too() {
        for cores in [64, 256, 1_024] {
            for seed in 0..4 {
                let workload = random_workload(seed, Some(cores));
                if let Err(violation) = simulate(&workload, seed) {
                    panic!("{violation}\n{workload:#?}");
                }
            }
        }
    }

    #[test]
    fn a_seed_replays_the_same_run() {
        for seed in [3, 14, 15] {
            let run = || {
                let outcome = simulate(&random_workload(seed, None), seed).unwrap();
                let latencies: Vec<_> = outcome.classes.into_iter().map(|class| class.latencies_ns).collect();
                (outcome.steps, outcome.busy_ns, latencies)
            };
            assert_eq!(run(), run());
        }
    }
}
