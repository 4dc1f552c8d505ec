//! The life of a part's file, which all who read it share: the last one who lets go of an obsolete file removes it.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use squall_runtime::CurrentMetric;
use squall_runtime::current_metrics::MetricGuard;

use super::table_directory::TableDirectory;
use crate::column_cache::ColumnCache;

/// A part's file as long as anybody may read it. Obsolete until it is kept.
pub(in crate::merge_tree) struct PartLife {
    path: PathBuf,
    cache: Arc<ColumnCache>,
    directory: Arc<TableDirectory>,
    is_obsolete: AtomicBool,
    /// Counts the part as what it is: temporary, active or outdated.
    gauge: Mutex<MetricGuard>,
    /// Whether the catalog lists it, or did.
    was_kept: AtomicBool,
    /// What must stay until the part is visible or its file is removed.
    held: Mutex<Option<Arc<dyn Any + Send + Sync>>>,
}

impl PartLife {
    pub(in crate::merge_tree) fn new(path: PathBuf, cache: Arc<ColumnCache>, directory: Arc<TableDirectory>) -> Self {
        Self {
            path,
            cache,
            directory,
            is_obsolete: AtomicBool::new(true),
            gauge: Mutex::new(CurrentMetric::PartsTemporary.hold(1)),
            was_kept: AtomicBool::new(false),
            held: Mutex::default(),
        }
    }

    /// The part is in the catalog: its file stays.
    pub(in crate::merge_tree) fn keep(&self) {
        self.is_obsolete.store(false, Ordering::Release);
        self.was_kept.store(true, Ordering::Release);
        *self.gauge.lock() = CurrentMetric::PartsActive.hold(1);
    }

    /// The part is in the catalog, or it is not: its file stays, and what it holds is held for ever.
    pub(in crate::merge_tree) fn keep_in_doubt(&self) {
        self.keep();
        std::mem::forget(self.held.lock().take());
    }

    /// Lets go of what the part holds, as it is visible.
    pub(in crate::merge_tree) fn let_go(&self) {
        drop(self.held.lock().take());
    }

    /// The part was committed: its file stays, under its own name.
    pub(in crate::merge_tree) fn settle(&self) {
        if self.is_obsolete.load(Ordering::Acquire) {
            self.keep();
            self.directory.settle(&self.path);
        }
    }

    /// Keeps something until the part is visible, or its file is removed.
    pub(in crate::merge_tree) fn hold(&self, what: Arc<dyn Any + Send + Sync>) {
        *self.held.lock() = Some(what);
    }

    /// The part is no longer in the catalog: its file goes when nobody reads it any more.
    pub(in crate::merge_tree) fn retire(&self) {
        self.is_obsolete.store(true, Ordering::Release);
        *self.gauge.lock() = CurrentMetric::PartsOutdated.hold(1);
    }
}

impl Drop for PartLife {
    fn drop(&mut self) {
        if *self.is_obsolete.get_mut() {
            let path = std::mem::take(&mut self.path);
            // Whoever lets go last may be a worker. Where no thread can be had, the next start removes the file.
            let (directory, held) = (self.directory.clone(), self.held.get_mut().take());
            let was_kept = *self.was_kept.get_mut();
            self.cache.on_io_thread(move || {
                if was_kept {
                    directory.remove(&path);
                } else {
                    directory.remove_uncommitted(&path);
                }
                drop((directory, held));
            });
        }
    }
}
