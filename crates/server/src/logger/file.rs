//! A log file that is rotated by size: `x.log` becomes `x.log.0`, `x.log.0` becomes `x.log.1`, and so on.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Bytes that are written to the file at once.
const BUFFER_BYTES: usize = 256 << 10;

/// An open log file.
pub(super) struct LogFile {
    path: PathBuf,
    file: BufWriter<File>,
    bytes: u64,
    bytes_max: u64,
    /// Rotated files that are kept.
    count: usize,
}

impl LogFile {
    /// Opens the file for appending, creating its folder where that is missing.
    pub(super) fn open(path: &Path, bytes_max: u64, count: usize) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file: BufWriter::with_capacity(BUFFER_BYTES, file), bytes, bytes_max, count })
    }

    /// Appends a line, rotating first where the file is full.
    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        if self.bytes_max > 0 && self.bytes > 0 && self.bytes + line.len() as u64 > self.bytes_max {
            self.rotate()?;
        }
        self.file.write_all(line)?;
        self.bytes += line.len() as u64;
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.file.flush()?;
        for number in (1..self.count).rev() {
            let older = self.rotated(number - 1);
            if older.exists() {
                std::fs::rename(older, self.rotated(number))?;
            }
        }
        if self.count > 0 {
            std::fs::rename(&self.path, self.rotated(0))?;
        } else {
            std::fs::remove_file(&self.path)?;
        }
        *self = Self::open(&self.path, self.bytes_max, self.count)?;
        Ok(())
    }

    fn rotated(&self, number: usize) -> PathBuf {
        let mut path = self.path.clone().into_os_string();
        path.push(format!(".{number}"));
        path.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_files_are_rotated_and_the_oldest_removed() {
        let folder = std::env::temp_dir().join(format!("squall-log-{}", std::process::id()));
        let path = folder.join("deep/x.log");
        let mut file = LogFile::open(&path, 10, 2).unwrap();
        for number in 0..5 {
            file.write(format!("line {number}.\n").as_bytes()).unwrap();
        }
        file.flush().unwrap();
        let read = |suffix: &str| std::fs::read_to_string(format!("{}{suffix}", path.display())).unwrap();
        assert_eq!(read(""), "line 4.\n");
        assert_eq!(read(".0"), "line 3.\n");
        assert_eq!(read(".1"), "line 2.\n");
        assert!(!Path::new(&format!("{}.2", path.display())).exists());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
