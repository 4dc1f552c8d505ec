//! What the workers did lately: a ring of steps for each worker, for whoever wants to see the scheduler at work or why a query waited.
//! A worker writes its own ring and waits for nobody: six stores a step, beside one look at the clock where it stays with its task. A
//! reader who finds a step being overwritten leaves it out.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Steps that are kept of each worker: some six seconds of morsels.
pub(crate) const STEPS_KEPT: usize = 4_096;
/// A look that found nothing and took less is no step.
const LOOK_NS: u64 = 20_000;

/// Why a worker and a task parted after a step, or that they did not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The worker runs the next morsel of the same task.
    Stays = 1,
    /// Another task is due, or the worker is wanted elsewhere.
    Yields = 2,
    /// The task has no morsel for this worker now: it waits for rows, for memory, or for its client; or others have all there are.
    Idle = 3,
    /// The task is done.
    Finished = 4,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Self; 4] = [Self::Stays, Self::Yields, Self::Idle, Self::Finished];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stays => "stays",
            Self::Yields => "yields",
            Self::Idle => "idle",
            Self::Finished => "finished",
        }
    }
}

/// A step as its worker notes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Noted {
    /// The number of the task, which no other has.
    pub(crate) serial: u64,
    /// When it began, on the workers' clock.
    pub(crate) began_ns: u64,
    /// How long it took, and how much of that was CPU time; a minute at most.
    pub(crate) ns: u64,
    pub(crate) cpu_ns: u64,
    /// For how long the task had been runnable without any worker before.
    pub(crate) waited_ns: u64,
    /// The task's pass after it.
    pub(crate) pass_us: u64,
    pub(crate) outcome: Outcome,
}

/// One worker's ring.
pub(crate) struct Ring {
    slots: Box<[Slot]>,
    /// Steps that were ever noted. Written by the worker alone.
    count: AtomicU64,
}

/// A step, behind a number that is odd while it is written.
#[derive(Default)]
struct Slot {
    version: AtomicU64,
    words: [AtomicU64; WORDS],
}

const WORDS: usize = 5;

impl Ring {
    pub(crate) fn new() -> Self {
        Self { slots: (0..STEPS_KEPT).map(|_| Slot::default()).collect(), count: AtomicU64::new(0) }
    }

    /// Adds a step; only the ring's own worker may.
    pub(crate) fn note(&self, step: Noted) {
        if step.outcome == Outcome::Idle && step.ns < LOOK_NS {
            return;
        }
        let number = self.count.load(Ordering::Relaxed);
        let Some(slot) = self.slots.get(number as usize % STEPS_KEPT) else { return };
        slot.version.store(2 * number + 1, Ordering::Relaxed);
        // A reader that sees any of the new words sees the odd version, too.
        fence(Ordering::Release);
        for (word, value) in slot.words.iter().zip(step.packed()) {
            word.store(value, Ordering::Relaxed);
        }
        slot.version.store(2 * number + 2, Ordering::Release);
        self.count.store(number + 1, Ordering::Release);
    }

    /// The steps that are kept from this number on, with their numbers.
    pub(crate) fn since(&self, number: u64) -> impl Iterator<Item = (u64, Noted)> {
        let end = self.count.load(Ordering::Acquire);
        let first = number.max(end.saturating_sub(STEPS_KEPT as u64));
        (first..end).filter_map(|number| Some((number, self.slots.get(number as usize % STEPS_KEPT)?.read(number)?)))
    }
}

impl Slot {
    /// The step of this number, unless it is gone or going.
    fn read(&self, number: u64) -> Option<Noted> {
        let is_there = |version: u64| version == 2 * number + 2;
        if !is_there(self.version.load(Ordering::Acquire)) {
            return None;
        }
        let words = self.words.each_ref().map(|word| word.load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        is_there(self.version.load(Ordering::Relaxed)).then(|| Noted::unpacked(words))
    }
}

/// The bits of the times of a step.
const HALF: u64 = u32::MAX as u64;
/// The outcome stands above the pass.
const OUTCOME_SHIFT: u32 = 61;

impl Noted {
    /// Durations are kept in 16 ns, so that a minute of each fits into half a word.
    fn packed(self) -> [u64; WORDS] {
        let half = |ns: u64| (ns / 16).min(HALF);
        let pass_us = self.pass_us.min((1 << OUTCOME_SHIFT) - 1);
        [
            self.serial,
            self.began_ns,
            half(self.ns) << 32 | half(self.cpu_ns),
            self.waited_ns,
            (self.outcome as u64) << OUTCOME_SHIFT | pass_us,
        ]
    }

    fn unpacked([serial, began_ns, times, waited_ns, pass]: [u64; WORDS]) -> Self {
        let number = pass >> OUTCOME_SHIFT;
        Self {
            serial,
            began_ns,
            ns: (times >> 32) * 16,
            cpu_ns: (times & HALF) * 16,
            waited_ns,
            pass_us: pass & ((1 << OUTCOME_SHIFT) - 1),
            outcome: Outcome::ALL.into_iter().find(|outcome| *outcome as u64 == number).unwrap_or(Outcome::Stays),
        }
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;

    fn step(number: u64) -> Noted {
        Noted {
            serial: number,
            began_ns: number * 3,
            ns: 1_600_000,
            cpu_ns: 16 * number,
            waited_ns: number << 20,
            pass_us: number * 7,
            outcome: Outcome::ALL[number as usize % 4],
        }
    }

    #[test]
    fn the_last_steps_are_kept_as_they_were() {
        let ring = Ring::new();
        assert_eq!(ring.since(0).count(), 0);
        let last = 3 * STEPS_KEPT as u64 + 5;
        (0..last).for_each(|number| ring.note(step(number)));
        let kept: Vec<_> = ring.since(0).collect();
        let expected: Vec<_> = (last - STEPS_KEPT as u64..last).map(|number| (number, step(number))).collect();
        assert_eq!(kept, expected);
        assert_eq!(ring.since(last - 2).count(), 2);
        assert_eq!(ring.since(last + 2).count(), 0);
    }

    #[test]
    fn looks_that_find_nothing_are_no_steps() {
        let ring = Ring::new();
        ring.note(Noted { ns: LOOK_NS - 1, outcome: Outcome::Idle, ..step(0) });
        ring.note(Noted { ns: LOOK_NS, outcome: Outcome::Idle, ..step(0) });
        ring.note(Noted { ns: 0, outcome: Outcome::Finished, ..step(0) });
        assert_eq!(ring.since(0).count(), 2);
    }

    #[test]
    fn who_reads_while_it_is_written_never_sees_halves() {
        let (ring, is_over) = (Ring::new(), std::sync::atomic::AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..200_000).for_each(|number| ring.note(step(number)));
                is_over.store(true, Ordering::Release);
            });
            loop {
                let was_over = is_over.load(Ordering::Acquire);
                ring.since(0).for_each(|(number, noted)| assert_eq!(noted, step(number)));
                if was_over {
                    break;
                }
            }
        });
    }
}
