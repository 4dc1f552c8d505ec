//! ORDER BY: keys as comparable bytes, workers' sorted runs, a parallel merge by ranges; with a LIMIT, only the first rows are kept.

pub(crate) mod keys;
pub(crate) mod merge;
pub(crate) mod run;
pub(crate) mod sink;
