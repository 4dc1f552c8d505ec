//! Pages that need no query: those for browsers, and the one for Prometheus.

pub(super) mod assets;
pub(super) mod metrics;
