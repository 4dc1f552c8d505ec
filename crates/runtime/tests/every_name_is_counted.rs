//! No event and no metric is always 0 because nobody counts it: each name stands somewhere in the sources beside its declaration.

#![allow(clippy::unwrap_used, reason = "a failure is the test's failure")]

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use squall_runtime::{CurrentMetric, ProfileEvent};

/// Adds `Kind::Name` as it is written anywhere in the sources of a folder, tests aside.
fn find_uses(folder: &Path, kinds: &[&str], uses: &mut HashSet<String>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find_uses(&path, kinds, uses);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            for kind in kinds {
                for rest in text.split(&format!("{kind}::")).skip(1) {
                    let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(rest.len());
                    uses.insert(rest[..end].to_owned());
                }
            }
        }
    }
}

#[test]
fn every_name_is_counted() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut uses = HashSet::new();
    for entry in fs::read_dir(crates).unwrap().flatten() {
        let sources = entry.path().join("src");
        if sources.is_dir() {
            // `Event` is what the spill's table of kinds calls them.
            find_uses(&sources, &["ProfileEvent", "CurrentMetric", "Event"], &mut uses);
        }
    }
    let events = ProfileEvent::ALL.iter().map(|event| event.name());
    let metrics = CurrentMetric::ALL.iter().map(|metric| metric.name());
    let unused: Vec<&str> = events.chain(metrics).filter(|name| !uses.contains(*name)).collect();
    assert!(unused.is_empty(), "nobody counts {unused:?}");
}
