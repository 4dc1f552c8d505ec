//! What a migration has done, as a file with a line for each table and for each user, role and the like. Its first line says from where to
//! where, so that another migration does not take it for its own.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use squall_types::Result;

use crate::bad;
use crate::run::file_error;

/// What is done.
#[derive(Debug)]
pub struct Journal {
    file: Mutex<File>,
    name: String,
    done: HashSet<String>,
}

impl Journal {
    /// Reads what was done, or begins.
    ///
    /// # Errors
    /// Where the file cannot be used or is another migration's.
    pub fn open(path: &Path, identity: &str) -> Result<Self> {
        let name = path.display().to_string();
        // Passwords do not belong into files.
        let identity = format!("{:016x}", fingerprint(identity));
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| file_error(&name, &error))?,
        };
        let mut lines = text.lines();
        match lines.next() {
            Some(first) if first != identity => {
                return Err(bad(format!("{name} is another migration's; --state names another file")));
            }
            _ => {}
        }
        let done = lines.filter_map(|line| line.split_once('\t')).map(|(table, _)| table.to_owned()).collect();
        let file = OpenOptions::new().append(true).create(true).open(path);
        let mut file = file.map_err(|error| file_error(&name, &error))?;
        if text.is_empty() {
            writeln!(file, "{identity}").map_err(|error| file_error(&name, &error))?;
        }
        Ok(Journal { file: Mutex::new(file), name, done })
    }

    /// Whether an earlier run has brought what has this name.
    pub fn is_done(&self, name: &str) -> bool {
        self.done.contains(name)
    }

    /// Says that something has come, and with how many rows.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn done(&self, name: &str, rows: u64) -> Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = writeln!(file, "{name}\t{rows}").and_then(|()| file.sync_data());
        written.map_err(|error| file_error(&self.name, &error))
    }
}

/// FNV-1a: the same in every version of the program.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let journal = Journal::open(&path, "a b").unwrap();
        assert!(!journal.is_done("d.t"));
        journal.done("d.t", 7).unwrap();
        assert!(Journal::open(&path, "a b").unwrap().is_done("d.t"));
        assert!(Journal::open(&path, "a c").unwrap_err().message.contains("another migration's"));
    }
}
