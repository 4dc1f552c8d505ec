//! Contention for the lock of the process's memory map (`mmap_lock`, once `mmap_sem`): what made creating a thread slow in the document.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Maps memory with its pages and unmaps it, as a query does that allocates: nobody else can change the map meanwhile.
fn map_and_unmap(bytes: usize) {
    // SAFETY: a fresh private mapping, unmapped once.
    unsafe {
        let (access, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE);
        let memory = libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0);
        assert_ne!(memory, libc::MAP_FAILED);
        assert_eq!(libc::munmap(memory, bytes), 0);
    }
}

/// Threads that map and unmap until this is dropped.
pub struct Contention {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Contention {
    /// `pause` after each mapping leaves the CPUs to others.
    pub fn start(threads: usize, mapping_bytes: usize, pause: Duration) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let map = |_| {
            let stop = stop.clone();
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    map_and_unmap(mapping_bytes);
                    std::thread::sleep(pause);
                }
            })
        };
        let threads = (0..threads).map(map).collect();
        Self { stop, threads }
    }
}

impl Drop for Contention {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
    }
}
