//! How much CPU time a task gets beside others: a weight of its own, or a part of a share that several tasks have together (a user's
//! queries, the background's merges). What is done with it is the policies'.

use std::sync::Arc;

use crate::sync::atomic::{AtomicU64, Ordering};

/// Weights of tasks are kept within these bounds: passes can then count thousands of years of CPU time at the ordinary weight.
const WEIGHT_MIN: f64 = 1e-2;
const WEIGHT_MAX: f64 = 1e2;

fn bounded(weight: f64) -> f64 {
    if weight.is_nan() { 1.0 } else { weight.clamp(WEIGHT_MIN, WEIGHT_MAX) }
}

/// The weight that several tasks have together, however many they are.
#[derive(Debug)]
pub struct CpuShare {
    /// The bits of a float: it changes when the configuration does.
    weight: AtomicU64,
    /// Tasks with a share in it that could use a worker, counted under the policy's lock.
    runnable: AtomicU64,
}

impl CpuShare {
    /// A share of this weight; a task without a share has 1.
    pub fn new(weight: f64) -> Arc<Self> {
        Arc::new(Self { weight: AtomicU64::new(bounded(weight).to_bits()), runnable: AtomicU64::new(0) })
    }

    /// Changes the weight from the next morsels on.
    pub fn set_weight(&self, weight: f64) {
        self.weight.store(bounded(weight).to_bits(), Ordering::Relaxed);
    }

    /// The weight of all its tasks together.
    pub fn weight(&self) -> f64 {
        f64::from_bits(self.weight.load(Ordering::Relaxed))
    }

    /// The part of each task that could use a worker.
    fn of_each(&self) -> f64 {
        self.weight() / self.runnable.load(Ordering::Relaxed).max(1) as f64
    }

    /// One task more or less could use a worker. The caller holds the policy's lock.
    pub(crate) fn count(&self, is_runnable: bool) {
        if is_runnable {
            self.runnable.fetch_add(1, Ordering::Relaxed);
        } else {
            self.runnable.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A task's claim to CPU time.
#[derive(Clone, Debug)]
pub struct Weight {
    own: f64,
    share: Option<Arc<CpuShare>>,
}

impl Weight {
    /// A part of a share; `own` says how large it is beside the parts of the others in it.
    pub fn within(share: Arc<CpuShare>, own: f64) -> Self {
        Self { own: bounded(own), share: Some(share) }
    }

    /// What passes are divided by: 1.0 is a query of ordinary priority.
    pub fn value(&self) -> f64 {
        self.own * self.share.as_ref().map_or(1.0, |share| share.of_each())
    }

    pub(crate) fn share(&self) -> Option<&CpuShare> {
        self.share.as_deref()
    }
}

impl From<f64> for Weight {
    fn from(own: f64) -> Self {
        Self { own: bounded(own), share: None }
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_divided_among_those_who_could_use_it() {
        let share = CpuShare::new(3.0);
        let weight = Weight::within(share.clone(), 0.5);
        assert_eq!(weight.value(), 1.5);
        (0..2).for_each(|_| share.count(true));
        assert_eq!(weight.value(), 0.75);
        share.set_weight(f64::INFINITY);
        share.count(false);
        assert_eq!((share.weight(), weight.value()), (WEIGHT_MAX, 50.0));
        assert_eq!((Weight::from(f64::NAN).value(), Weight::from(-1.0).value()), (1.0, WEIGHT_MIN));
    }
}
