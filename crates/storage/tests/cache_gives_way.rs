//! The column cache gives way before a query is refused memory. A program of its own: the server's limit is the process's.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{block, definition, insert, read_all, request};
use squall_runtime::memory::{SERVER, TrackingAllocator};
use squall_storage::{Databases, StorageOptions};
use squall_types::Value;

#[global_allocator]
static ALLOCATOR: TrackingAllocator<std::alloc::System> = TrackingAllocator(std::alloc::System);

const ROWS: u64 = 2_000_000;

#[test]
#[ignore = "long"]
fn chunks_that_nobody_reads_give_way_to_a_query() {
    let directory = tempfile::tempdir().unwrap();
    let options = StorageOptions { column_cache_bytes: Some(1 << 30), ..StorageOptions::default() };
    let databases = Databases::open(directory.path(), &options).unwrap();
    let columns = &[("a", "UInt64"), ("b", "UInt64"), ("c", "UInt64")];
    databases.create_table("default", "t", definition("MergeTree", columns, &["a"]), false).unwrap();
    let table = databases.table("default", "t").unwrap();
    let row = |at: u64| vec![Value::UInt64(at), Value::UInt64(at * 7), Value::UInt64(at * 13)];
    insert(&*table, [block(&*table, (0..ROWS).map(row))]).unwrap();
    // With the part, as of now.
    let table = databases.table("default", "t").unwrap();
    let read = |name: &str| read_all(&*table, &request(&*table, &[name], None)).unwrap().len() as u64;
    for name in ["a", "b", "c"] {
        (0..2).for_each(|_| assert_eq!(read(name), ROWS));
    }
    let before = databases.column_cache().bytes;
    assert!(before >= 24 * ROWS, "{before}");
    let scan = table.scan(&request(&*table, &["a"], None)).unwrap();
    squall_runtime::memory::flush();
    SERVER.set_limit(SERVER.bytes() as u64 + (8 << 20));
    let (reserved, refused) = (squall_types::reserve(24 << 20), squall_types::reserve(1 << 30));
    SERVER.set_limit(0);
    reserved.unwrap();
    assert!(refused.is_err());
    // What a scan holds stays: letting go of it frees nothing.
    let after = databases.column_cache().bytes;
    assert!((8 * ROWS..16 * ROWS).contains(&after), "{before} to {after}");
    drop(scan);
    assert_eq!(read("c"), ROWS);
}
