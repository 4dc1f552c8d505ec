//! Ctrl-C: the first one asks the running statement to end, a second one ends the program.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::SIGINT;

/// What a shell exits with that SIGINT ended.
const STATUS: i32 = 128 + SIGINT;

/// Whether the user wants the running statement to end.
#[derive(Debug, Clone, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens for Ctrl-C from now on.
    ///
    /// # Errors
    /// Where the system has no place for the handler.
    pub fn listen() -> io::Result<Self> {
        let interrupt = Self::default();
        // The order matters: the first signal finds the flag still down.
        signal_hook::flag::register_conditional_shutdown(SIGINT, STATUS, interrupt.0.clone())?;
        signal_hook::flag::register(SIGINT, interrupt.0.clone())?;
        Ok(interrupt)
    }

    /// Whether Ctrl-C was pressed since the last statement began.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Another statement begins.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}
