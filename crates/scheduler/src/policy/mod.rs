//! Policies of `concurrent_threads_scheduler`: who runs next. Pure state machines.

pub mod lease;
pub mod stride;

use std::fmt;
use std::str::FromStr;

/// A value of `concurrent_threads_scheduler`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PolicyKind {
    /// Workers are shared by all queries, morsel by morsel, by stride scheduling with decaying priorities.
    #[default]
    Stride,
    /// The seed's algorithm (seed 000): a query's number of threads is fixed when it starts, by `total_max_threads`.
    FixedAtStart,
}

impl PolicyKind {
    /// Every policy.
    pub const ALL: [Self; 2] = [Self::Stride, Self::FixedAtStart];
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stride => "stride",
            Self::FixedAtStart => "fixed_at_start",
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
