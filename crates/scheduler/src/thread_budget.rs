//! `total_max_threads`, the seed's budget of query threads (seed 000): how many threads a query may start with when so many run
//! already. Pure.

/// The budget: `total_max_threads` as configured and resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadBudget {
    /// Threads of all queries together; `None` is no limit.
    pub threads_max: Option<usize>,
}

impl ThreadBudget {
    /// From the configured value: absent or 0 is unused, -1 is twice the logical CPUs, N is N; any other negative number is
    /// refused.
    ///
    /// # Errors
    /// The value that means nothing.
    pub fn from_config(total_max_threads: Option<i64>, logical_cpus: usize) -> Result<Self, i64> {
        let threads_max = match total_max_threads {
            None | Some(0) => None,
            Some(-1) => Some(logical_cpus * 2),
            Some(threads) => Some(usize::try_from(threads).map_err(|_| threads)?),
        };
        Ok(Self { threads_max })
    }

    /// Threads for a new query: what the plan recommends, at most `max_threads`, at most what the budget leaves beside the
    /// `running` threads of other queries, and never below 1.
    pub fn threads_for_query(&self, recommended: usize, max_threads: usize, running: usize) -> usize {
        let wanted = recommended.min(max_threads);
        let left = self.threads_max.map_or(usize::MAX, |threads_max| threads_max.saturating_sub(running));
        wanted.min(left).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_worked_example() {
        let budget = ThreadBudget::from_config(Some(200), 16).unwrap();
        assert_eq!(budget.threads_for_query(32, 16, 190), 10);
        assert_eq!(budget.threads_for_query(32, 16, 0), 16);
        assert_eq!(budget.threads_for_query(4, 16, 0), 4);
        assert_eq!(budget.threads_for_query(32, 16, 200), 1);
        assert_eq!(budget.threads_for_query(32, 16, 1000), 1);
    }

    #[test]
    fn values_of_the_setting() {
        assert_eq!(ThreadBudget::from_config(None, 16).unwrap().threads_max, None);
        assert_eq!(ThreadBudget::from_config(Some(0), 16).unwrap().threads_max, None);
        assert_eq!(ThreadBudget::from_config(Some(-1), 16).unwrap().threads_max, Some(32));
        assert_eq!(ThreadBudget::from_config(Some(24), 16).unwrap().threads_max, Some(24));
        assert_eq!(ThreadBudget::from_config(Some(-2), 16), Err(-2));
        assert_eq!(ThreadBudget::from_config(Some(0), 16).unwrap().threads_for_query(32, 16, 5000), 16);
    }
}
