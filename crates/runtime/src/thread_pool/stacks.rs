//! Threads of the operating system on stacks that are mapped before they are needed, many at a time, and used again.
//!
//! A thread of the standard library costs four changes to the process's memory map: its stack, the guard page, and the same for the signal
//! stack. Each needs the map's lock for itself, which is what made creating threads slow in document 002. Here 64 threads cost one such change: a
//! slab of stacks is mapped at once, and guards are installed without one where the kernel can (Linux 6.13). The price is that a thread that
//! overflows its stack dies by SIGSEGV at the guard without the message that the standard library would print.

use std::ffi::c_void;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use parking_lot::Mutex;

/// The stack of a thread that plans or runs queries, whose expressions may nest as deep as `max_ast_depth` says. Address space
/// only: pages are touched as they are needed.
pub const STACK_BYTES: usize = 16 << 20;

/// At the low end of each stack. Wide enough for code that was not compiled with stack probes.
const GUARD_BYTES: usize = 64 << 10;
const STACKS_PER_SLAB: usize = 64;
const NAME: &std::ffi::CStr = c"ThreadPool";

/// `madvise`: a guard without a mapping of its own.
const MADV_GUARD_INSTALL: libc::c_int = 102;

static STACKS: Mutex<Stacks> = Mutex::new(Stacks { free: Vec::new(), ended: None });

/// The process's stacks that no thread runs on.
struct Stacks {
    free: Vec<Stack>,
    /// The thread that ended last: it may still be on its way out, so its stack is not free before it was joined.
    ended: Option<(libc::pthread_t, Stack)>,
}

/// The lowest address of [`STACK_BYTES`] of memory, guard included, that are its holder's alone.
struct Stack(usize);

impl Stack {
    /// Maps as many as can be had, up to a slab.
    fn map_several() -> io::Result<Vec<Self>> {
        let mut count = STACKS_PER_SLAB;
        let slab = loop {
            match map(count * STACK_BYTES) {
                Ok(slab) => break slab,
                Err(_) if count > 1 => count /= 2,
                Err(error) => return Err(error),
            }
        };
        let stacks: Vec<Self> = (0..count).map(|number| Self(slab + number * STACK_BYTES)).collect();
        for stack in &stacks {
            if let Err(error) = stack.install_guard() {
                // SAFETY: mapped above with this size, and nobody has seen it.
                unsafe { libc::munmap(slab as *mut c_void, count * STACK_BYTES) };
                return Err(error);
            }
        }
        Ok(stacks)
    }

    fn install_guard(&self) -> io::Result<()> {
        // SAFETY: the first bytes of a mapping that this stack owns and nothing uses.
        let is_installed = unsafe {
            let guard = self.0 as *mut c_void;
            libc::madvise(guard, GUARD_BYTES, MADV_GUARD_INSTALL) == 0
                || libc::mprotect(guard, GUARD_BYTES, libc::PROT_NONE) == 0
        };
        if is_installed { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Gives the memory that was touched back to the system.
    fn forget_contents(&self) {
        // SAFETY: the memory is this stack's and no thread runs on it.
        unsafe {
            libc::madvise((self.0 + GUARD_BYTES) as *mut c_void, STACK_BYTES - GUARD_BYTES, libc::MADV_DONTNEED);
        }
    }
}

fn map(bytes: usize) -> io::Result<usize> {
    let (access, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_NORESERVE,
    );
    // SAFETY: a fresh private mapping wherever the kernel likes.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, -1, 0) };
    if memory == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // A stack touches a few pages, and a huge one would be two megabytes. Linux 6.7 and newer know it by MAP_STACK.
    // SAFETY: the mapping that was just made; a kernel without huge pages refuses, which is as good.
    unsafe { libc::madvise(memory, bytes, libc::MADV_NOHUGEPAGE) };
    Ok(memory as usize)
}

/// What a thread starts with.
struct Start {
    body: Box<dyn FnOnce() + Send>,
    stack: Stack,
}

/// Starts a thread that runs `body`. Where it cannot, `body` is dropped.
pub(crate) fn spawn(body: Box<dyn FnOnce() + Send>) -> io::Result<()> {
    let free = STACKS.lock().free.pop();
    let stack = match free {
        Some(stack) => stack,
        None => {
            // Mapped without the lock: others may find stacks meanwhile, or map some as well.
            let mut stacks = Stack::map_several()?;
            let mine = stacks.pop();
            STACKS.lock().free.append(&mut stacks);
            mine.ok_or(io::ErrorKind::OutOfMemory)?
        }
    };
    let lowest = stack.0;
    let start = Box::into_raw(Box::new(Start { body, stack }));
    // SAFETY: the attributes live through the calls. The stack is the thread's alone until it is joined. `start` is taken by the
    // thread if there is one, and by nobody else.
    let code = unsafe {
        let mut attributes = std::mem::zeroed();
        let mut thread = std::mem::zeroed();
        let mut code = libc::pthread_attr_init(&raw mut attributes);
        if code == 0 {
            let usable = (lowest + GUARD_BYTES) as *mut c_void;
            code = libc::pthread_attr_setstack(&raw mut attributes, usable, STACK_BYTES - GUARD_BYTES);
            if code == 0 {
                code = libc::pthread_create(&raw mut thread, &raw const attributes, run, start.cast());
            }
            libc::pthread_attr_destroy(&raw mut attributes);
        }
        code
    };
    if code == 0 {
        return Ok(());
    }
    // SAFETY: no thread was made that could have taken it.
    let start = unsafe { Box::from_raw(start) };
    STACKS.lock().free.push(start.stack);
    Err(io::Error::from_raw_os_error(code))
}

extern "C" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: `spawn` made it for this thread alone.
    let Start { body, stack } = *unsafe { Box::from_raw(start.cast::<Start>()) };
    // SAFETY: the calling thread is alive; the name is short enough and ends with a zero.
    let me = unsafe {
        let me = libc::pthread_self();
        libc::pthread_setname_np(me, NAME.as_ptr());
        me
    };
    // Nothing may unwind out of a thread's start. The hook has printed the panic.
    let _ = catch_unwind(AssertUnwindSafe(body));
    // Whoever ended before is gone by now, or will be in a moment: each buries the one before.
    let before = STACKS.lock().ended.replace((me, stack));
    if let Some((thread, stack)) = before {
        // SAFETY: a thread of `spawn`, taken out of `ended` once and so joined once; it waits for nobody but its own predecessor.
        unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
        stack.forget_contents();
        STACKS.lock().free.push(stack);
    }
    std::ptr::null_mut()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::mpsc;

    use super::*;
    use crate::thread_usage::thread_id;

    #[test]
    fn threads_run_one_after_another_on_the_same_stacks() {
        let (sender, receiver) = mpsc::channel();
        let mut places = std::collections::HashSet::new();
        for number in 0..1_000 {
            let sender = sender.clone();
            spawn(Box::new(move || {
                let on_stack = number;
                sender.send((number, &raw const on_stack as usize / STACK_BYTES, thread_id())).unwrap();
            }))
            .unwrap();
            let (got, place, id) = receiver.recv().unwrap();
            assert_eq!(got, number);
            places.insert(place);
            // It is to be gone before the next one starts, however busy the machine is.
            let task = PathBuf::from(format!("/proc/self/task/{id}"));
            while task.exists() {
                std::thread::yield_now();
            }
        }
        // Other tests of this process take some, too.
        assert!(places.len() < 500, "{} stacks for a thousand threads", places.len());
    }

    #[test]
    fn what_a_thread_keeps_is_dropped_at_its_end_and_a_panic_stays_within() {
        let (sender, receiver) = mpsc::channel::<()>();
        spawn(Box::new(move || {
            let _sender = sender;
            panic!("this thread panics on purpose");
        }))
        .unwrap();
        assert!(receiver.recv().is_err());
    }

    #[test]
    fn a_stack_ends_with_a_guard() {
        let stacks = Stack::map_several().unwrap();
        assert_eq!(stacks.len(), STACKS_PER_SLAB);
        let (_reader, writer) = io::pipe().unwrap();
        let writer = std::os::fd::AsRawFd::as_raw_fd(&writer);
        // The kernel says whether memory can be read without that this process dies of it.
        let is_readable = |address: usize| {
            // SAFETY: the kernel checks the address.
            unsafe { libc::write(writer, address as *const c_void, 1) == 1 }
        };
        for stack in &stacks {
            assert!(!is_readable(stack.0) && !is_readable(stack.0 + GUARD_BYTES - 1));
            assert!(is_readable(stack.0 + GUARD_BYTES) && is_readable(stack.0 + STACK_BYTES - 1));
        }
    }
}
