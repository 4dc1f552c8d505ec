//! The virtual machine: logical cores, which of them share a physical one, and how fast a core is given what the others do.

use std::collections::BTreeSet;

use crate::simulator::workload::MachineOptions;

/// The cores and which are busy.
#[derive(Debug)]
pub(super) struct Machine {
    options: MachineOptions,
    is_busy: Vec<bool>,
    busy: usize,
    /// Free cores whose physical core is free altogether, and those that share theirs with a busy one. The operating system fills the
    /// former first.
    free_alone: BTreeSet<usize>,
    free_shared: BTreeSet<usize>,
}

impl Machine {
    pub(super) fn new(options: &MachineOptions) -> Self {
        Self {
            options: options.clone(),
            is_busy: vec![false; options.cores],
            busy: 0,
            free_alone: (0..options.cores).collect(),
            free_shared: BTreeSet::new(),
        }
    }

    pub(super) fn options(&self) -> &MachineOptions {
        &self.options
    }

    /// Cores that run something.
    pub(super) fn busy(&self) -> usize {
        self.busy
    }

    pub(super) fn free(&self) -> usize {
        self.options.cores - self.busy
    }

    fn sibling(&self, core: usize) -> Option<usize> {
        let half = self.options.cores / 2;
        self.options.smt.then(|| if core < half { core + half } else { core - half })
    }

    /// Takes a free core: `last` if it is as good as any.
    pub(super) fn take(&mut self, last: Option<usize>) -> Option<usize> {
        let from = |free: &BTreeSet<usize>| last.filter(|core| free.contains(core)).or(free.first().copied());
        let core = from(&self.free_alone).or_else(|| from(&self.free_shared))?;
        self.set(core, true);
        Some(core)
    }

    pub(super) fn release(&mut self, core: usize) {
        self.set(core, false);
    }

    fn set(&mut self, core: usize, is_busy: bool) {
        self.is_busy[core] = is_busy;
        self.busy = if is_busy { self.busy + 1 } else { self.busy - 1 };
        let sibling = self.sibling(core);
        let is_sibling_busy = sibling.is_some_and(|sibling| self.is_busy[sibling]);
        self.free_alone.remove(&core);
        self.free_shared.remove(&core);
        if !is_busy {
            let free = if is_sibling_busy { &mut self.free_shared } else { &mut self.free_alone };
            free.insert(core);
        }
        if let Some(sibling) = sibling.filter(|_| !is_sibling_busy) {
            let (from, to) = match is_busy {
                true => (&mut self.free_alone, &mut self.free_shared),
                false => (&mut self.free_shared, &mut self.free_alone),
            };
            from.remove(&sibling);
            to.insert(sibling);
        }
    }

    /// Work done in a unit of time on a busy core, of which so great a share waits for memory. It holds for one morsel: what the
    /// others begin or end meanwhile counts from the next on.
    pub(super) fn speed(&self, core: usize, memory_bound: f64) -> f64 {
        let is_shared = self.sibling(core).is_some_and(|sibling| self.is_busy[sibling]);
        let speed = if is_shared { self.options.smt_speed } else { 1.0 };
        let ceiling = self.options.bandwidth_cores;
        let crowding = if ceiling > 0.0 { (self.busy as f64 / ceiling).max(1.0) } else { 1.0 };
        speed / (1.0 - memory_bound + memory_bound * crowding)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn physical_cores_are_filled_first() {
        let mut machine = Machine::new(&MachineOptions { cores: 4, ..MachineOptions::default() });
        let cores: Vec<usize> = (0..3).map(|_| machine.take(None).unwrap()).collect();
        assert_eq!(cores, [0, 1, 2]);
        assert_eq!(machine.speed(1, 0.0), 1.0);
        assert_eq!(machine.speed(0, 0.0), 0.644);
        machine.release(2);
        assert_eq!(machine.speed(0, 0.0), 1.0);
        assert_eq!(machine.take(Some(3)), Some(3));
        machine.release(0);
        machine.release(1);
        machine.release(3);
        assert_eq!((machine.free(), machine.take(Some(2))), (4, Some(2)));
    }

    #[test]
    fn memory_gives_no_more_than_its_bandwidth() {
        let options = MachineOptions { cores: 8, smt: false, bandwidth_cores: 4.0, ..MachineOptions::default() };
        let mut machine = Machine::new(&options);
        while machine.take(None).is_some() {}
        assert_eq!(machine.speed(0, 1.0), 0.5);
        assert_eq!(machine.speed(0, 0.0), 1.0);
    }
}
