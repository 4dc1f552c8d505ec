//! Events in time: sequences, funnels, intervals.

pub(super) mod event_list;
pub(super) mod funnel;
pub(super) mod intervals;
pub(super) mod next_node;
pub(super) mod sequence;
