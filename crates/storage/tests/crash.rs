//! `kill -9` at random moments of inserts and DDL: what was acknowledged is there after a restart, nothing is half there, and no
//! file is left that no commit knows.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use common::{block, definition, insert, read_all, request};
use rand::RngExt;
use squall_storage::{Databases, StorageOptions};
use squall_types::Value;

const DIRECTORY: &str = "SQUALL_CRASH_TEST_DIRECTORY";
const ROWS: u64 = 500;
const THREADS: u64 = 4;

fn open(path: &Path) -> Arc<Databases> {
    Databases::open(path, &StorageOptions { column_cache_bytes: Some(16 << 20), ..StorageOptions::default() }).unwrap()
}

/// Not a test: what the killed process does. Prints each insert that was acknowledged.
#[test]
fn child() {
    let Ok(directory) = std::env::var(DIRECTORY) else { return };
    let databases = open(Path::new(&directory));
    let of = &[("thread", "UInt64"), ("number", "UInt64"), ("row", "UInt64"), ("text", "String")];
    databases.create_table("default", "t", definition("MergeTree", of, &["thread", "row"]), true).unwrap();
    let first = std::process::id() as u64 * 1_000_000;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let databases = &databases;
            scope.spawn(move || {
                for number in first.. {
                    let table = databases.table("default", "t").unwrap();
                    let row = |row| {
                        vec![Value::UInt64(thread), Value::UInt64(number), Value::UInt64(row), Value::from("some text")]
                    };
                    insert(&*table, [block(&*table, (0..ROWS).map(row))]).unwrap();
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "acknowledged {thread} {number}").unwrap();
                    out.flush().unwrap();
                }
            });
        }
        // Tables come and go beside the inserts.
        let databases = &databases;
        scope.spawn(move || {
            loop {
                databases.create_table("default", "u", definition("MergeTree", of, &["row"]), true).unwrap();
                let table = databases.table("default", "u").unwrap();
                let row = |row| vec![Value::UInt64(0), Value::UInt64(0), Value::UInt64(row), Value::from("")];
                insert(&*table, [block(&*table, (0..ROWS).map(row))]).unwrap();
                databases.truncate_table("default", "u", false).unwrap();
                insert(&*table, [block(&*table, (0..ROWS).map(row))]).unwrap();
                databases.drop_table("default", "u", false).unwrap();
            }
        });
    });
}

#[test]
fn acknowledged_inserts_survive_kill() {
    let directory = tempfile::tempdir().unwrap();
    let mut acknowledged: Vec<(u64, u64)> = Vec::new();
    let mut random = rand::rng();
    for round in 0..8 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["child", "--exact", "--nocapture"])
            .env(DIRECTORY, directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let reader = std::thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .filter_map(|line| {
                    let (thread, number) = line.strip_prefix("acknowledged ")?.split_once(' ')?;
                    Some((thread.parse().ok()?, number.parse().ok()?))
                })
                .collect::<Vec<(u64, u64)>>()
        });
        std::thread::sleep(Duration::from_millis(random.random_range(150..700)));
        child.kill().unwrap();
        child.wait().unwrap();
        acknowledged.extend(reader.join().unwrap());

        let databases = open(directory.path());
        let Ok(table) = databases.table("default", "t") else { continue };
        let mut rows: HashMap<(u64, u64), u64> = HashMap::new();
        for row in read_all(&*table, &request(&*table, &["thread", "number"], None)).unwrap() {
            *rows.entry((row[0].as_u64().unwrap(), row[1].as_u64().unwrap())).or_default() += 1;
        }
        for insert in &acknowledged {
            assert_eq!(rows.get(insert), Some(&ROWS), "round {round}: {insert:?}");
        }
        assert!(rows.values().all(|rows| *rows == ROWS), "round {round}: a part of an insert");
        let mut known: Vec<String> = databases
            .tables("default")
            .unwrap()
            .iter()
            .flat_map(|table| table.table.parts())
            .map(|part| part.path.display().to_string())
            .collect();
        let mut found = Vec::new();
        for directory in std::fs::read_dir(directory.path().canonicalize().unwrap().join("data")).unwrap() {
            let files = std::fs::read_dir(directory.unwrap().path()).unwrap();
            found.extend(files.map(|file| file.unwrap().path().display().to_string()));
        }
        known.sort();
        found.sort();
        assert_eq!(known, found, "round {round}: files");
    }
    assert!(!acknowledged.is_empty());
}
