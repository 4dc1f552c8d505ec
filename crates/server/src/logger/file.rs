//! A log file, perhaps compressed, that is rotated by size: `x.log` becomes `x.log.0`, `x.log.0` becomes `x.log.1`, and so on.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use lz4_flex::frame::FrameEncoder;

/// Bytes that are written to the file at once.
const BUFFER_BYTES: usize = 256 << 10;

/// When a file is rotated, and what is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rotation {
    /// A file of this many bytes is full; 0 is never.
    pub(super) bytes_max: u64,
    /// Rotated files that are kept.
    pub(super) count: usize,
}

/// An open log file.
pub(super) struct LogFile {
    path: PathBuf,
    output: Output,
    /// Bytes of the file; where it is compressed, as they were when it was flushed last.
    bytes: u64,
    rotation: Rotation,
}

enum Output {
    Plain(BufWriter<File>),
    /// Frames of LZ4 one after the other, one for each time that the file was opened.
    Compressed(Box<FrameEncoder<File>>),
}

impl LogFile {
    /// Opens the file for appending, creating its folder where that is missing.
    pub(super) fn open(path: &Path, rotation: Rotation, is_compressed: bool) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let bytes = file.metadata()?.len();
        let output = match is_compressed {
            true => Output::Compressed(Box::new(FrameEncoder::new(file))),
            false => Output::Plain(BufWriter::with_capacity(BUFFER_BYTES, file)),
        };
        Ok(Self { path: path.to_owned(), output, bytes, rotation })
    }

    /// Appends a line, rotating first where the file is full.
    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let Rotation { bytes_max, .. } = self.rotation;
        match &mut self.output {
            Output::Plain(file) => {
                if bytes_max > 0 && self.bytes > 0 && self.bytes + line.len() as u64 > bytes_max {
                    self.rotate()?;
                    return self.write(line);
                }
                file.write_all(line)?;
                self.bytes += line.len() as u64;
            }
            Output::Compressed(encoder) => encoder.write_all(line)?,
        }
        Ok(())
    }

    /// Hands everything to the system. A compressed file is readable up to here, and rotated if it is full.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match &mut self.output {
            Output::Plain(file) => file.flush(),
            Output::Compressed(encoder) => {
                encoder.flush()?;
                self.bytes = encoder.get_ref().metadata()?.len();
                if self.rotation.bytes_max > 0 && self.bytes > self.rotation.bytes_max { self.rotate() } else { Ok(()) }
            }
        }
    }

    /// Ends the file.
    pub(super) fn close(&mut self) -> io::Result<()> {
        match &mut self.output {
            Output::Plain(file) => file.flush(),
            Output::Compressed(encoder) => encoder.try_finish().map_err(io::Error::other),
        }
    }

    fn rotate(&mut self) -> io::Result<()> {
        self.close()?;
        let Rotation { count, .. } = self.rotation;
        for number in (1..count).rev() {
            let older = self.rotated(number - 1);
            if older.exists() {
                std::fs::rename(older, self.rotated(number))?;
            }
        }
        if count > 0 {
            std::fs::rename(&self.path, self.rotated(0))?;
        } else {
            std::fs::remove_file(&self.path)?;
        }
        *self = Self::open(&self.path, self.rotation, matches!(self.output, Output::Compressed(_)))?;
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
        let mut file = LogFile::open(&path, Rotation { bytes_max: 10, count: 2 }, false).unwrap();
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
    #[test]
    fn compressed_files_are_readable_after_each_flush() {
        use std::io::Read;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        let open = |bytes_max| LogFile::open(&path, Rotation { bytes_max, count: 1 }, true).unwrap();
        let read = |path: &Path| {
            let (file, mut text) = (File::open(path).unwrap(), String::new());
            // What is not closed ends in the middle of its frame.
            let _ = lz4_flex::frame::FrameDecoder::new(file).read_to_string(&mut text);
            text
        };
        let mut file = open(0);
        for (line, expected) in [("one\n", "one\n"), ("two\n", "one\ntwo\n")] {
            file.write(line.as_bytes()).unwrap();
            file.flush().unwrap();
            assert!(read(&path).starts_with(expected), "{}", read(&path));
        }
        file.close().unwrap();
        drop(file);
        let mut file = open(1);
        file.write(b"three\n").unwrap();
        file.flush().unwrap();
        let rotated = path.with_extension("log.0");
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
        let mut decoder = lz4_flex::frame::FrameDecoder::new(File::open(rotated).unwrap());
        let mut text = String::new();
        decoder.read_to_string(&mut text).unwrap();
        decoder.read_to_string(&mut text).unwrap();
        assert_eq!(text, "one\ntwo\nthree\n");
    }
}
