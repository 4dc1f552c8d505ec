//! Each target on its corpus and some thousands of inputs made of it: `make fuzz` does the same for longer.

#![allow(clippy::panic)]

use std::time::Duration;

use squall_fuzz::runner::{Bounds, run};
use squall_fuzz::targets;
use squall_runtime::TrackingAllocator;

#[global_allocator]
static ALLOCATOR: TrackingAllocator<std::alloc::System> = TrackingAllocator(std::alloc::System);

#[test]
fn no_input_panics_waits_or_takes_much_memory() {
    for target in targets::ALL {
        let bounds = Bounds { inputs: 1_000, time: Duration::from_secs(3600), seed: 7 };
        let report = run(target, bounds, |_| {});
        assert!(report.corpus > 0, "{} has no corpus", target.name);
        if let Some((finding, input)) = report.findings.first() {
            panic!("{}: {finding}: {}", target.name, input.escape_ascii());
        }
    }
}
