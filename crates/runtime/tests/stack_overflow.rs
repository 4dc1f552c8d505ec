//! A job that overflows its stack: the process dies at the stack's guard and not of what it wrote over.

#![allow(clippy::unwrap_used, missing_docs, reason = "a failure is the test's failure")]

use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use squall_runtime::ThreadPool;

const IN_CHILD: &str = "SQUALL_TEST_OVERFLOWS_ITS_STACK";

fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    if depth == u64::MAX { 0 } else { recurse(depth + 1) + frame[depth as usize % 64] }
}

#[test]
fn the_process_dies_at_the_guard() {
    if std::env::var_os(IN_CHILD).is_some() {
        ThreadPool::global().schedule(|| _ = black_box(recurse(0))).unwrap();
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_process_dies_at_the_guard"])
        .env(IN_CHILD, "1")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.signal(), Some(libc::SIGSEGV), "{status}");
}
