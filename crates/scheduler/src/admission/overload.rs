//! `SERVER_OVERLOADED`: whether the operating system keeps this server's threads waiting for a CPU so long that new queries are better
//! sent elsewhere. ClickHouse's rule (its issue #63206): the ratio of the time that threads waited for a CPU to the time that they ran
//! on one, between two thresholds a growing probability. Pure.

/// Ratios and the least work that counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CpuOverload {
    /// `min_os_cpu_wait_time_ratio_to_throw`: nothing is refused up to here.
    pub ratio_min: f64,
    /// `max_os_cpu_wait_time_ratio_to_throw`: everything is from here on; 0 switches the rule off.
    pub ratio_max: f64,
    /// `os_cpu_busy_time_threshold`: a server that worked less in the second is not overloaded.
    pub busy_us_min: u64,
}

impl CpuOverload {
    /// The probability with which a query is refused, after a second in which threads ran for `busy_us` and waited for a CPU for
    /// `wait_us`.
    pub fn probability(&self, busy_us: u64, wait_us: u64) -> f64 {
        if self.ratio_max <= 0.0 || busy_us == 0 || busy_us < self.busy_us_min {
            return 0.0;
        }
        let ratio = wait_us as f64 / busy_us as f64;
        if ratio >= self.ratio_max {
            return 1.0;
        }
        ((ratio - self.ratio_min) / (self.ratio_max - self.ratio_min)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probability_grows_between_the_thresholds() {
        let rule = CpuOverload { ratio_min: 2.0, ratio_max: 6.0, busy_us_min: 1_000 };
        for (busy_us, wait_us, probability) in [
            (0, 9_000, 0.0),
            (999, 99_000, 0.0),
            (1_000, 1_000, 0.0),
            (1_000, 2_000, 0.0),
            (1_000, 4_000, 0.5),
            (1_000, 6_000, 1.0),
            (1_000, 60_000, 1.0),
        ] {
            assert_eq!(rule.probability(busy_us, wait_us), probability, "{busy_us} {wait_us}");
        }
        let off = CpuOverload { ratio_min: 0.0, ratio_max: 0.0, busy_us_min: 0 };
        assert_eq!(off.probability(1, 1_000_000), 0.0);
        let step = CpuOverload { ratio_min: 3.0, ratio_max: 3.0, busy_us_min: 0 };
        assert_eq!((step.probability(10, 29), step.probability(10, 30)), (0.0, 1.0));
    }
}
