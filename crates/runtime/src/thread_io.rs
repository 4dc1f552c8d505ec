//! What a thread has read and written, by the kernel's accounting (`/proc/thread-self/io`).

use std::cell::OnceCell;
use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::profile_events::{Counters, ProfileEvent};

/// Bytes since the thread began.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct ThreadIo {
    /// By calls that read and write files and pipes, whether a disk was needed or not.
    read_chars: u64,
    write_chars: u64,
    /// From and to block devices.
    read_bytes: u64,
    write_bytes: u64,
}

impl ThreadIo {
    pub(crate) const NOTHING: Self = Self { read_chars: 0, write_chars: 0, read_bytes: 0, write_bytes: 0 };

    /// Of the calling thread; `None` where the kernel does not say.
    pub(crate) fn of_this_thread() -> Option<Self> {
        thread_local! {
            static FILE: OnceCell<Option<File>> = const { OnceCell::new() };
        }
        FILE.with(|file| {
            let file = file.get_or_init(|| File::open("/proc/thread-self/io").ok()).as_ref()?;
            let mut text = [0; 256];
            let bytes = file.read_at(&mut text, 0).ok()?;
            Self::parse(std::str::from_utf8(text.get(..bytes)?).ok()?)
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let number = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Some(Self {
            read_chars: number("rchar:")?,
            write_chars: number("wchar:")?,
            read_bytes: number("read_bytes:")?,
            write_bytes: number("write_bytes:")?,
        })
    }

    /// Adds what came since `before`.
    pub(crate) fn add_since(self, before: Self, counters: &Counters) {
        for (event, now, before) in [
            (ProfileEvent::OSReadChars, self.read_chars, before.read_chars),
            (ProfileEvent::OSWriteChars, self.write_chars, before.write_chars),
            (ProfileEvent::OSReadBytes, self.read_bytes, before.read_bytes),
            (ProfileEvent::OSWriteBytes, self.write_bytes, before.write_bytes),
        ] {
            if now > before {
                counters.add(event, now - before);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_thread_wrote_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let before = ThreadIo::of_this_thread().unwrap();
        std::fs::write(folder.path().join("file"), [0; 5000]).unwrap();
        let counters = Counters::new();
        ThreadIo::of_this_thread().unwrap().add_since(before, &counters);
        assert!(counters.get(ProfileEvent::OSWriteChars) >= 5000);
        // The accounting itself was read.
        assert!(counters.get(ProfileEvent::OSReadChars) > 0);
        assert_eq!(ThreadIo::parse("rchar: 1\nwchar: 2\n"), None);
    }
}
