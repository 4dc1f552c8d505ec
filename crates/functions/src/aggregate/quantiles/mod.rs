//! Quantiles and histograms, exact and by sketches.

pub(super) mod bfloat16;
pub(super) mod dd_sketch;
pub(super) mod deterministic;
pub(super) mod gk_summary;
pub(super) mod histogram;
pub(super) mod levels;
pub(super) mod prometheus_histogram;
pub(super) mod quantile;
pub(super) mod ranks;
pub(super) mod sketched;
pub(super) mod t_digest;
pub(super) mod timing;
pub(super) mod weighted_values;
pub(super) mod wide_quantile;
