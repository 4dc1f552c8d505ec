//! A thread's stack: its bounds, and the chain of frame pointers in it. An address is followed only where it lies between the stack
//! pointer and the stack's known end, so that no system call need ask whether it is mapped (document 002 found `mincore` there).

/// The addresses of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StackBounds {
    pub(super) low: usize,
    pub(super) high: usize,
}

impl StackBounds {
    /// Of a thread that was not asked.
    pub(super) const UNKNOWN: Self = Self { low: 0, high: 0 };

    /// Of the calling thread. Not for signal handlers.
    pub(super) fn of_this_thread() -> Self {
        // SAFETY: the attributes are initialised by the first call where it succeeds, read by the second, and destroyed.
        unsafe {
            let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
            if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
                return Self::UNKNOWN;
            }
            let (mut low, mut size) = (std::ptr::null_mut(), 0);
            let got = libc::pthread_attr_getstack(&raw const attributes, &raw mut low, &raw mut size) == 0;
            libc::pthread_attr_destroy(&raw mut attributes);
            if got { Self { low: low as usize, high: low as usize + size } } else { Self::UNKNOWN }
        }
    }

    pub(super) fn is_known(self) -> bool {
        self.high > 0
    }
}

/// Where a thread is: the registers that unwinding begins with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    pub(super) instruction: usize,
    pub(super) frame: usize,
    pub(super) stack: usize,
}

impl Registers {
    /// Those of the calling function.
    #[inline(always)]
    pub(super) fn here() -> Self {
        let (instruction, frame, stack): (usize, usize, usize);
        // SAFETY: three registers are read.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::asm!("lea {}, [rip]", "mov {}, rbp", "mov {}, rsp", out(reg) instruction, out(reg) frame, out(reg) stack,
                options(nomem, nostack, preserves_flags));
        }
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            std::arch::asm!("adr {}, .", "mov {}, x29", "mov {}, sp", out(reg) instruction, out(reg) frame, out(reg) stack,
                options(nomem, nostack, preserves_flags));
        }
        Self { instruction, frame, stack }
    }

    /// Those of an interrupted thread.
    ///
    /// # Safety
    /// `context` is what the kernel gave to a signal handler.
    #[cfg(target_arch = "x86_64")]
    pub(super) unsafe fn of_context(context: *const libc::ucontext_t) -> Self {
        // SAFETY: the caller's promise.
        let registers = unsafe { &(*context).uc_mcontext.gregs };
        let register = |at: libc::c_int| registers[at as usize] as usize;
        Self { instruction: register(libc::REG_RIP), frame: register(libc::REG_RBP), stack: register(libc::REG_RSP) }
    }

    /// Those of an interrupted thread.
    ///
    /// # Safety
    /// `context` is what the kernel gave to a signal handler.
    #[cfg(target_arch = "aarch64")]
    pub(super) unsafe fn of_context(context: *const libc::ucontext_t) -> Self {
        // SAFETY: the caller's promise.
        let machine = unsafe { &(*context).uc_mcontext };
        Self { instruction: machine.pc as usize, frame: machine.regs[29] as usize, stack: machine.sp as usize }
    }
}

/// Follows the frame pointers; fills `frames` with addresses, innermost first, and returns how many. Async-signal-safe.
///
/// # Safety
/// `bounds` are those of the stack that `registers` are of, or unknown; its memory from the stack pointer up is mapped, which a living
/// thread's is.
pub(super) unsafe fn unwind(registers: Registers, bounds: StackBounds, frames: &mut [u64]) -> usize {
    const WORD: usize = size_of::<usize>();
    let Some((first, rest)) = frames.split_first_mut() else { return 0 };
    *first = registers.instruction as u64;
    let mut count = 1;
    // On another stack than the thread's own nothing is known of what is mapped.
    if registers.stack < bounds.low || registers.stack >= bounds.high {
        return count;
    }
    let mut low = registers.stack;
    let mut frame = registers.frame;
    for slot in rest {
        if frame < low || !frame.is_multiple_of(WORD) || frame.saturating_add(2 * WORD) > bounds.high {
            break;
        }
        // SAFETY: two words at `frame` lie between the stack pointer and the stack's end.
        let (next, caller) = unsafe { (*(frame as *const usize), *((frame + WORD) as *const usize)) };
        if caller == 0 {
            break;
        }
        *slot = caller as u64;
        count += 1;
        // Callers' frames are further up: a chain that turns back is none.
        low = frame + 2 * WORD;
        frame = next;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack of made-up words: each frame is (next frame, return address).
    fn unwound(words: &[usize], start: usize, links: &[(usize, usize, usize)]) -> Vec<u64> {
        let mut memory = words.to_vec();
        let base = memory.as_ptr() as usize;
        for (at, next, caller) in links {
            memory[*at] = if *next == usize::MAX { 7 } else { base + next * 8 };
            memory[at + 1] = *caller;
        }
        let bounds = StackBounds { low: base, high: base + memory.len() * 8 };
        let registers = Registers { instruction: 1, frame: base + start * 8, stack: base };
        let mut frames = [0; 8];
        // SAFETY: the bounds are those of a vector that lives.
        let count = unsafe { unwind(registers, bounds, &mut frames) };
        frames[..count].to_vec()
    }

    #[test]
    fn frames_are_followed_within_the_stack() {
        assert_eq!(unwound(&[0; 16], 2, &[(2, 6, 100), (6, 12, 200), (12, usize::MAX, 300)]), [1, 100, 200, 300]);
        // Backwards, to itself, beyond the end, unaligned: the chain ends there.
        assert_eq!(unwound(&[0; 16], 6, &[(6, 2, 100)]), [1, 100]);
        assert_eq!(unwound(&[0; 16], 6, &[(6, 6, 100)]), [1, 100]);
        assert_eq!(unwound(&[0; 16], 15, &[]), [1]);
        assert_eq!(unwound(&[0; 16], 2, &[(2, 1000, 100)]), [1, 100]);
    }

    #[test]
    fn a_stack_that_is_not_known_is_not_read() {
        let registers = Registers { instruction: 5, frame: 16, stack: 8 };
        // SAFETY: nothing is read of unknown bounds.
        assert_eq!(unsafe { unwind(registers, StackBounds::UNKNOWN, &mut [0; 4]) }, 1);
        let here = 0_u8;
        let bounds = StackBounds::of_this_thread();
        assert!(bounds.is_known() && (bounds.low..bounds.high).contains(&(&raw const here as usize)));
    }
}
