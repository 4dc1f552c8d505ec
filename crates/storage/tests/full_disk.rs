//! A full disk refuses inserts with the right code, leaves nothing behind, and loses nothing; room made, inserts go on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::path::Path;
use std::process::Command;

use common::{block, count, definition, insert};
use squall_storage::{Databases, StorageOptions};
use squall_types::{ErrorCode, Value};

/// A file system of a few megabytes, where this process may mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<Self> {
        let directory = tempfile::tempdir().ok()?;
        let options = format!("size={size}");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(directory.path()).status();
        mounted.is_ok_and(|status| status.success()).then(|| Self(directory))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

/// Runs this test again as root of a namespace of its own, where file systems may be mounted. A container may forbid that, too.
fn run_where_one_may_mount(test: &str) {
    let namespace = ["--user", "--map-root-user", "--mount"];
    let probe = Command::new("unshare").args(namespace).args(["mount", "-t", "tmpfs", "tmpfs", "/mnt"]).status();
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!(
            "NOT TESTED: a full disk, as no file system can be mounted here, not even in a namespace of one's own"
        );
        return;
    }
    let mut again = Command::new("unshare");
    again.args(namespace).arg(std::env::current_exe().unwrap()).args([test, "--exact"]);
    assert!(again.status().unwrap().success(), "the test failed in its namespace");
}

fn files(path: &Path) -> usize {
    let directories = std::fs::read_dir(path.join("data")).unwrap();
    directories.map(|directory| std::fs::read_dir(directory.unwrap().path()).unwrap().count()).sum()
}

#[test]
fn a_full_disk_refuses_inserts_and_loses_nothing() {
    let Some(disk) = SmallDisk::mount("8m") else {
        run_where_one_may_mount("a_full_disk_refuses_inserts_and_loses_nothing");
        return;
    };
    let databases = Databases::open(disk.path(), &StorageOptions::default()).unwrap();
    databases
        .create_table("default", "t", definition("MergeTree", &[("a", "UInt64"), ("s", "String")], &["a"]), false)
        .unwrap();
    let mut state = 1_u64;
    let mut insert_some = |rows: usize| {
        let table = databases.table("default", "t").unwrap();
        let rows = (0..rows).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            vec![Value::UInt64(state), Value::from(format!("{state:x}{:x}", state.rotate_left(17)).as_str())]
        });
        insert(&*table, [block(&*table, rows.collect::<Vec<_>>())])
    };
    let mut inserts = 0;
    let error = loop {
        match insert_some(20_000) {
            Ok(()) => inserts += 1,
            Err(error) => break error,
        }
        assert!(inserts < 100, "the disk does not fill");
    };
    assert_eq!(error.code, ErrorCode::NOT_ENOUGH_SPACE, "{error}");
    assert!(inserts > 0);
    assert_eq!(count(&databases, "default", "t"), inserts * 20_000);
    // Smaller and smaller ones fill it to the brim, also for the catalog.
    for rows in [2000, 200, 20, 1, 1, 1] {
        while insert_some(rows).is_ok() {
            assert!(files(disk.path()) < 2900, "the disk does not fill");
        }
    }
    let visible = count(&databases, "default", "t");
    for _ in 0..500 {
        if files(disk.path()) == databases.table("default", "t").unwrap().parts().len() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(files(disk.path()), databases.table("default", "t").unwrap().parts().len());
    drop(databases);
    let databases = Databases::open(disk.path(), &StorageOptions::default()).unwrap();
    assert_eq!(count(&databases, "default", "t"), visible);
    databases.truncate_table("default", "t", false).unwrap_or_else(|error| {
        // Even this takes a page of the catalog: room is made by hand, as somebody with a full disk would.
        assert_eq!(error.code, ErrorCode::NOT_ENOUGH_SPACE);
    });
}
