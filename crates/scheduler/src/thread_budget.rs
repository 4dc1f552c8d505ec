//! `total_max_threads`, document 000's budget of query threads: what its values mean. How it is spent is the policies'.

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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_setting() {
        assert_eq!(ThreadBudget::from_config(None, 16).unwrap().threads_max, None);
        assert_eq!(ThreadBudget::from_config(Some(0), 16).unwrap().threads_max, None);
        assert_eq!(ThreadBudget::from_config(Some(-1), 16).unwrap().threads_max, Some(32));
        assert_eq!(ThreadBudget::from_config(Some(24), 16).unwrap().threads_max, Some(24));
        assert_eq!(ThreadBudget::from_config(Some(-2), 16), Err(-2));
    }
}
