//! Programs that the tools start: where they are found, the ports and files that they may have, and their end by the id that they were started with.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use squall_types::{Error, ErrorCode, Result};

/// How long a program may take to end when it is asked to, before it is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(20);
/// Ports that a server may have: below those from which Linux takes the ports of clients. Of the latter one may go to a client, perhaps to one that
/// just tries whether the server is up and so reaches itself, before the server listens.
const SERVER_PORTS: std::ops::Range<u16> = 10_240..32_768;

/// Looks for a program on the search path and where Debian keeps servers.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/bin")]);
    folders.map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A port that nobody listens on at the moment.
///
/// # Errors
/// Where the system has none.
pub fn free_port() -> Result<u16> {
    static TRIED: AtomicU16 = AtomicU16::new(0);
    // Programs that run at once begin elsewhere.
    let start = std::process::id().wrapping_mul(97);
    let mut refusal = None;
    for _ in 0..SERVER_PORTS.len() {
        let number = start.wrapping_add(TRIED.fetch_add(1, Ordering::Relaxed).into()) % SERVER_PORTS.len() as u32;
        let port = SERVER_PORTS.start + number as u16;
        match TcpListener::bind(("127.0.0.1", port)) {
            Ok(_) => return Ok(port),
            Err(error) => refusal = Some(error),
        }
    }
    let reason = refusal.map_or_else(String::new, |error| format!(": {error}"));
    Err(Error::new(ErrorCode::NETWORK_ERROR, format!("No port of {SERVER_PORTS:?} is free{reason}")))
}

/// The most files that a process may have open: its hard limit.
pub fn open_files_max() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is ours and lives through the call.
    match unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } {
        0 => limit.rlim_max,
        _ => 1024,
    }
}

/// Lets the program end together with this one, also where this one is killed: with the thread that starts it, which must be the main one.
pub fn end_with_us(command: &mut Command) {
    let ask = || {
        // SAFETY: prctl takes no pointers here, and may be called between fork and exec.
        match unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: what is called between fork and exec neither allocates nor takes a lock.
    unsafe { command.pre_exec(ask) };
}

/// Asks the process to end, and kills it if it does not; returns whether it ended by itself. Calling it again does nothing.
pub fn end(process: &mut Child) -> bool {
    if matches!(process.try_wait(), Ok(Some(_))) {
        return true;
    }
    if let Ok(id) = libc::pid_t::try_from(process.id()) {
        // SAFETY: kill takes no pointers; the process was not waited for yet, so the id is still its.
        unsafe { libc::kill(id, libc::SIGTERM) };
    }
    let asked = Instant::now();
    while asked.elapsed() < STOP_PATIENCE {
        if matches!(process.try_wait(), Ok(Some(_)) | Err(_)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    // Both fail only where it has ended in this moment.
    let _ = process.kill();
    let _ = process.wait();
    false
}
