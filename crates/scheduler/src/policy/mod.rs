//! Policies of `concurrent_threads_scheduler`: who runs next (`stride`), and how many threads who has (`slots` and its policies). Pure
//! state machines.

pub mod fair_round_robin;
pub mod fixed_at_start;
pub mod lease;
pub mod max_min_fair;
pub mod round_robin;
pub mod slots;
pub mod stride;

use std::fmt;
use std::str::FromStr;

/// A value of `concurrent_threads_scheduler`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PolicyKind {
    /// Workers are shared by all queries, morsel by morsel, by stride scheduling with decaying priorities.
    #[default]
    Stride,
    /// The algorithm of document 000: a query's number of threads is fixed when it starts, by `total_max_threads`.
    FixedAtStart,
    /// ClickHouse's first: slots for all threads, the first in any case, free ones in turn.
    RoundRobin,
    /// ClickHouse's second: a query's first thread needs no slot.
    FairRoundRobin,
    /// ClickHouse's third: free slots go to the query that holds the fewest.
    MaxMinFair,
}

impl PolicyKind {
    /// Every policy.
    pub const ALL: [Self; 5] =
        [Self::Stride, Self::FixedAtStart, Self::RoundRobin, Self::FairRoundRobin, Self::MaxMinFair];
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stride => "stride",
            Self::FixedAtStart => "fixed_at_start",
            Self::RoundRobin => "round_robin",
            Self::FairRoundRobin => "fair_round_robin",
            Self::MaxMinFair => "max_min_fair",
        })
    }
}

impl FromStr for PolicyKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.to_string() == name).ok_or_else(|| {
            format!(
                "unknown scheduler '{name}', expected one of: {}",
                Self::ALL.map(|kind| kind.to_string()).join(", ")
            )
        })
    }
}
