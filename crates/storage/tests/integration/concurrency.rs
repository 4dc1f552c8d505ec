//! Many writers and scanners at once: every scan sees whole inserts and what was committed before it began.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Wake, Waker};

use crate::common::{block, count, definition, insert, read_all, request};
use parking_lot::Mutex;
use squall_storage::{Claim, Databases, Morsel, StorageOptions, TableScan};
use squall_types::Value;

const ROWS: u64 = 100;

fn number(value: u64) -> Value {
    Value::UInt64(value)
}

fn run(databases: &Databases, engine: &str) {
    let of = &[("insert", "UInt64"), ("row", "UInt64"), ("text", "LowCardinality(String)")];
    let key: &[&str] = if engine == "MergeTree" { &["row"] } else { &[] };
    databases.create_table("default", "t", definition(engine, of, key), false).unwrap();
    let (next, committed, stop) = (AtomicU64::new(0), Mutex::new(Vec::new()), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let id = next.fetch_add(1, Ordering::SeqCst);
                        let table = databases.table("default", "t").unwrap();
                        let rows = (0..ROWS)
                            .map(|row| vec![number(id), number(row), Value::from(["a", "b"][row as usize % 2])]);
                        insert(&*table, [block(&*table, rows)]).unwrap();
                        committed.lock().push(id);
                    }
                })
            })
            .collect();
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    let before = committed.lock().clone();
                    let table = databases.table("default", "t").unwrap();
                    let rows = read_all(&*table, &request(&*table, &["insert", "text"], None)).unwrap();
                    let mut found: HashMap<u64, u64> = HashMap::new();
                    rows.iter().for_each(|row| *found.entry(row[0].as_u64().unwrap()).or_default() += 1);
                    assert!(found.values().all(|rows| *rows == ROWS), "part of an insert is visible");
                    assert!(before.iter().all(|id| found.contains_key(id)), "a committed insert is not visible");
                    assert_eq!(table.rows(), Some(rows.len() as u64));
                }
            });
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        stop.store(true, Ordering::SeqCst);
    });
    assert_eq!(count(databases, "default", "t"), 160 * ROWS);
}

#[test]
fn scans_of_merge_tree_see_whole_inserts() {
    let directory = tempfile::tempdir().unwrap();
    // So small that chunks come and go all the time.
    let options = StorageOptions { column_cache_bytes: Some(50_000), ..StorageOptions::default() };
    run(&Databases::open(directory.path(), &options).unwrap(), "MergeTree");
}

#[test]
fn scans_of_memory_see_whole_inserts() {
    run(&Databases::in_memory(), "Memory");
}

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Claims until nothing is left; waits only for its own waker, so a lost wake hangs. `next` is the row that comes next: rows are handed
/// out in their order.
fn drain(scan: &dyn TableScan, next: &Mutex<u64>, sum: &AtomicU64) {
    loop {
        let flag = Arc::new(Flag::default());
        let claim = {
            let mut next = next.lock();
            let claim = scan.claim(777, &Waker::from(flag.clone()));
            if let Claim::Morsel(Morsel { first, rows }) = claim
                && rows > 0
            {
                assert_eq!(first, *next);
                *next += rows;
            }
            claim
        };
        match claim {
            Claim::Morsel(morsel) => scan
                .read(morsel, &mut |block| {
                    let column = block.column(0);
                    (0..block.rows()).for_each(|row| {
                        sum.fetch_add(column.value(row).as_u64().unwrap(), Ordering::Relaxed);
                    });
                    Ok(ControlFlow::Continue(()))
                })
                .unwrap(),
            Claim::Pending => {
                let begun = std::time::Instant::now();
                while !flag.0.load(Ordering::SeqCst) {
                    assert!(begun.elapsed().as_secs() < 60, "nobody was woken");
                    std::thread::yield_now();
                }
            }
            Claim::Finished => return,
        }
    }
}

#[test]
fn cold_scans_by_many_threads_read_every_row_once_in_order_and_lose_no_wake() {
    let directory = tempfile::tempdir().unwrap();
    let databases = Databases::open(directory.path(), &StorageOptions::default()).unwrap();
    databases
        .create_table("default", "t", definition("MergeTree", &[("a", "UInt64"), ("s", "String")], &["a"]), false)
        .unwrap();
    for part in 0..12 {
        let table = databases.table("default", "t").unwrap();
        insert(&*table, [block(&*table, (0..3000).map(|row| vec![number(part * 3000 + row), Value::from("x")]))])
            .unwrap();
    }
    let table = databases.table("default", "t").unwrap();
    for _ in 0..30 {
        databases.clear_column_cache();
        // Two scans at once share what they load.
        let scans = [
            table.scan(&request(&*table, &["a", "s"], None)).unwrap(),
            table.scan(&request(&*table, &["a"], None)).unwrap(),
        ];
        for scan in scans {
            let (next, sum) = (Mutex::new(0), AtomicU64::new(0));
            std::thread::scope(|scope| {
                (0..4).for_each(|_| {
                    scope.spawn(|| drain(&*scan, &next, &sum));
                });
            });
            assert_eq!(sum.load(Ordering::Relaxed), 36_000 * 35_999 / 2);
        }
    }
}

#[test]
fn concurrent_inserts_share_commits() {
    let directory = tempfile::tempdir().unwrap();
    let databases = Databases::open(directory.path(), &StorageOptions::default()).unwrap();
    databases.create_table("default", "t", definition("MergeTree", &[("a", "UInt64")], &["a"]), false).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let databases = &databases;
            scope.spawn(move || {
                for at in 0..10 {
                    let table = databases.table("default", "t").unwrap();
                    insert(&*table, [block(&*table, [vec![number(thread * 10 + at)]])]).unwrap();
                }
            });
        }
    });
    assert_eq!(count(&databases, "default", "t"), 160);
    drop(databases);
    let databases = Databases::open(directory.path(), &StorageOptions::default()).unwrap();
    let table = databases.table("default", "t").unwrap();
    let mut rows: Vec<u64> = read_all(&*table, &request(&*table, &["a"], None))
        .unwrap()
        .iter()
        .map(|row| row[0].as_u64().unwrap())
        .collect();
    rows.sort_unstable();
    assert_eq!(rows, (0..160).collect::<Vec<u64>>());
}
