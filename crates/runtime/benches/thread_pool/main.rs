//! The fault of document 002 beside the remedy, in one invocation: the same queries, as many threads and the same contention for the process's
//! memory map, once on a pool that creates threads under its lock (`faulty`, here only) and once on ours, in turns. Then what each of the
//! document's five directions is worth (`directions`), and what kinds of queues would be worth on more cores than there are (`simulated`).
//!
//! `cargo bench -p squall-runtime --bench thread_pool`; arguments `incident`, `directions` or `simulated` run one part alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a failure is the bench's failure"
)]

mod directions;
mod faulty;
mod incident;
mod memory_map;
mod simulated;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let runs = |part: &str| arguments.is_empty() || arguments.iter().any(|argument| argument == part);
    if runs("incident") {
        incident::run();
    }
    if runs("directions") {
        directions::run();
    }
    if runs("simulated") {
        simulated::run();
    }
}
