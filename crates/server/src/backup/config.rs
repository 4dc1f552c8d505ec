//! Where backups may lie: `<backups>`, and the local disks of `<storage_configuration>`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use squall_types::Result;

use crate::config::Element;

/// What the configuration allows.
#[derive(Clone, Debug, Default)]
pub struct BackupsConfig {
    /// `backups.allowed_path`: where `File(…)` may write and read; the first is that of relative names.
    pub allowed_paths: Vec<PathBuf>,
    /// `backups.allowed_disk`: what may be named in `Disk(…)`.
    pub allowed_disks: Vec<String>,
    /// The folders of local disks, by name.
    pub disks: BTreeMap<String, PathBuf>,
}

impl BackupsConfig {
    /// Reads `<backups>`.
    ///
    /// # Errors
    /// Where a path is not one.
    pub fn read(&mut self, element: &Element) -> Result<()> {
        for path in element.children_named("allowed_path") {
            let path = Path::new(path.trimmed());
            self.allowed_paths.push(std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()));
        }
        self.allowed_disks.extend(element.children_named("allowed_disk").map(|disk| disk.trimmed().to_owned()));
        Ok(())
    }

    /// Reads the local disks of `<storage_configuration>`.
    pub fn read_disks(&mut self, element: &Element) {
        for disk in element.child("disks").into_iter().flat_map(|disks| &disks.children) {
            let is_local = disk.child("type").is_none_or(|kind| kind.trimmed() == "local");
            if let Some(path) = disk.child("path").filter(|_| is_local) {
                self.disks.insert(disk.name.clone(), PathBuf::from(path.trimmed()));
            }
        }
    }
}
