//! Moments, tests, regressions and other statistics.

pub(super) mod analysis_of_variance;
pub(super) mod contingency;
pub(super) mod covariance;
pub(super) mod distributions;
pub(super) mod entropy;
pub(super) mod gini;
pub(super) mod information_value;
pub(super) mod k_means;
mod lanes;
pub(super) mod mean_tests;
pub(super) mod moment_matrix;
pub(crate) mod numeric_vector;
pub(super) mod rank_tests;
pub(super) mod regression;
pub(super) mod samples;
pub(super) mod shape;
pub(crate) mod stochastic;
pub(super) mod variance;
pub(super) mod welford;
