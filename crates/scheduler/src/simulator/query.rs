//! A virtual query: what of its work is left, who is at it, and how it divides into morsels. It behaves as the engine's do: one
//! morsel of planning, morsels of shared work sized by the very code that sizes real ones, one morsel that finishes.

use std::collections::HashSet;

use crate::morsel_size::MorselSizer;
use crate::simulator::workload::QueryClass;
use crate::task::MORSEL_TARGET;

/// Shared work is counted in rows of this cost, as the sizer measures rows.
const ROW_NS: u64 = 10;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Plan,
    Work,
    Finish,
    Ended,
}

/// What a worker got to do: nanoseconds of work at full speed, and how many rows that is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Morsel {
    pub(super) work_ns: u64,
    rows: u64,
}

/// What came of a morsel's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// There may be more of the same.
    Same,
    /// The query has come to work that several can share, or to its last morsel.
    NextPhase,
    Ended,
}

#[derive(Debug)]
pub(super) struct Query {
    pub(super) class: usize,
    pub(super) client: Option<usize>,
    pub(super) arrived_ns: u64,
    pub(super) memory_bound: f64,
    phase: Phase,
    /// Of a phase of one morsel: whether somebody has it.
    is_claimed: bool,
    plan_ns: u64,
    rows_left: u64,
    worker_ns: u64,
    finish_ns: u64,
    /// Threads that brought a state of their own, or numbers of states that were made.
    states: HashSet<usize>,
    /// Threads of its own, where it has some.
    threads: usize,
    /// Morsels under way.
    running: usize,
    sizer: MorselSizer,
}

fn nanoseconds(milliseconds: f64) -> u64 {
    (milliseconds * 1e6) as u64
}

impl Query {
    pub(super) fn new(class: usize, of: &QueryClass, client: Option<usize>, arrived_ns: u64, scale: f64) -> Self {
        Self {
            class,
            client,
            arrived_ns,
            memory_bound: of.memory_bound,
            phase: Phase::Plan,
            is_claimed: false,
            plan_ns: nanoseconds(of.plan_ms * scale).max(1),
            rows_left: nanoseconds(of.work_ms * scale) / ROW_NS,
            worker_ns: nanoseconds(of.worker_ms),
            finish_ns: nanoseconds(of.finish_ms * scale),
            states: HashSet::new(),
            threads: 0,
            running: 0,
            sizer: MorselSizer::default(),
        }
    }

    /// A morsel, if there is one now, for a thread that brings a state of its own, or for a worker that takes one of the states that
    /// are free, if any is.
    pub(super) fn claim(&mut self, thread: Option<usize>) -> Option<Morsel> {
        let morsel = match self.phase {
            Phase::Work if self.rows_left > 0 || thread.is_some_and(|thread| !self.states.contains(&thread)) => {
                let target_ns = MORSEL_TARGET.as_nanos() as u64;
                let rows = self.sizer.rows(target_ns, Some(self.rows_left), self.running + 1).min(self.rows_left);
                self.rows_left -= rows;
                let is_new = self.states.insert(thread.unwrap_or(self.running));
                let joining_ns = if is_new && self.states.len() > 1 { self.worker_ns } else { 0 };
                Morsel { work_ns: rows * ROW_NS + joining_ns, rows }
            }
            Phase::Plan if !std::mem::replace(&mut self.is_claimed, true) => Morsel { work_ns: self.plan_ns, rows: 0 },
            Phase::Finish if !std::mem::replace(&mut self.is_claimed, true) => {
                Morsel { work_ns: self.finish_ns, rows: 0 }
            }
            Phase::Plan | Phase::Work | Phase::Finish | Phase::Ended => return None,
        };
        self.running += 1;
        Some(morsel)
    }

    /// A morsel is done that took so long.
    pub(super) fn finish(&mut self, morsel: Morsel, elapsed_ns: u64) -> Progress {
        self.running -= 1;
        if morsel.rows > 0 {
            self.sizer.ran(morsel.rows, elapsed_ns);
        }
        if self.running > 0 || (self.phase == Phase::Work && (self.rows_left > 0 || self.states.len() < self.threads)) {
            return Progress::Same;
        }
        self.is_claimed = false;
        self.phase = match self.phase {
            Phase::Plan if self.rows_left > 0 => Phase::Work,
            Phase::Plan | Phase::Work if self.finish_ns > 0 => Phase::Finish,
            Phase::Plan | Phase::Work | Phase::Finish | Phase::Ended => Phase::Ended,
        };
        if self.phase == Phase::Ended { Progress::Ended } else { Progress::NextPhase }
    }

    /// The query has one more thread of its own: its work is not done before that thread has brought its state.
    pub(super) fn add_thread(&mut self) {
        self.threads += 1;
    }

    /// Whether a further worker could have a morsel now.
    pub(super) fn has_morsel(&self) -> bool {
        match self.phase {
            Phase::Work => self.rows_left > 0 || self.states.len() < self.threads,
            Phase::Plan | Phase::Finish => !self.is_claimed,
            Phase::Ended => false,
        }
    }
}
