//! Whether configuration files have changed since they were read: what the file system says of each, and of those that have come to
//! lie beside them.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use squall_types::Error;

use super::merge::files_beside;

/// A file's identity, its size and its last change of any kind, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    inode: u64,
    bytes: u64,
    changed_ns: i128,
}

impl Stamp {
    /// `None` where there is no such file, or none that may be looked at.
    fn of(file: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(file).ok()?;
        let changed_ns = i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec());
        Some(Self { inode: metadata.ino(), bytes: metadata.size(), changed_ns })
    }
}

/// The files of a configuration at one moment.
#[derive(Clone, Debug, Default)]
pub struct ConfigWatch {
    stamps: BTreeMap<PathBuf, Option<Stamp>>,
    /// Why they could not be loaded.
    failure: Option<String>,
}

impl ConfigWatch {
    /// Files that were read, and all that would be read with them, as they are now.
    pub fn of(files: &[PathBuf]) -> Self {
        let beside = files.iter().flat_map(|file| files_beside(file).unwrap_or_default());
        let stamps = files.iter().cloned().chain(beside).map(|file| {
            let stamp = Stamp::of(&file);
            (file, stamp)
        });
        Self { stamps: stamps.collect(), failure: None }
    }

    /// What was seen before a reload, after it: the files that are read now, and why it failed.
    #[must_use]
    pub fn after(&self, files: &[PathBuf], failure: Option<&Error>) -> Self {
        let mut now = Self::of(files);
        for (file, stamp) in &mut now.stamps {
            if let Some(before) = self.stamps.get(file) {
                *stamp = *before;
            }
        }
        now.failure = failure.map(ToString::to_string);
        now
    }

    /// Why the last reload failed.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Whether these files are others than those that were seen. After a failure it may also be files that are not known yet which
    /// were mended: then it is always worth a try.
    pub fn has_changed(&self, files: &[PathBuf]) -> bool {
        self.failure.is_some() || self.stamps != Self::of(files).stamps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_types::ErrorCode;

    #[test]
    fn files_that_change_come_and_go_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let main = folder.path().join("config.xml");
        let beside = folder.path().join("config.d/one.xml");
        std::fs::create_dir(folder.path().join("config.d")).unwrap();
        std::fs::write(&main, "<clickhouse/>").unwrap();
        let files = [main.clone()];
        let mut watch = ConfigWatch::of(&files);
        let mut notices = |change: &dyn Fn()| {
            assert!(!watch.has_changed(&files));
            change();
            let has_changed = watch.has_changed(&files);
            watch = ConfigWatch::of(&files).after(&files, None);
            has_changed
        };
        assert!(notices(&|| std::fs::write(&beside, "<clickhouse/>").unwrap()));
        assert!(notices(&|| std::fs::write(&beside, "<clickhouse></clickhouse>").unwrap()));
        // As editors do it: another file of the same name.
        let other = folder.path().join("other");
        assert!(!notices(&|| std::fs::write(&other, "<clickhouse/>").unwrap()));
        assert!(notices(&|| std::fs::rename(&other, &main).unwrap()));
        assert!(notices(&|| std::fs::remove_file(&beside).unwrap()));
        assert!(notices(&|| std::fs::remove_file(&main).unwrap()));
    }

    #[test]
    fn what_changes_during_a_reload_and_what_failed_is_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let files = [folder.path().join("config.xml"), folder.path().join("included.xml")];
        std::fs::write(&files[0], "1").unwrap();
        let before = ConfigWatch::of(&files[..1]);
        std::fs::write(&files[0], "22").unwrap();
        std::fs::write(&files[1], "3").unwrap();
        assert!(before.after(&files, None).has_changed(&files));
        let seen = ConfigWatch::of(&files);
        assert!(!seen.after(&files, None).has_changed(&files));
        let failed = seen.after(&files, Some(&Error::new(ErrorCode::CANNOT_OPEN_FILE, "broken")));
        assert!(failed.has_changed(&files) && failed.failure().is_some_and(|failure| failure.contains("broken")));
    }
}
