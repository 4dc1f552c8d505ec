//! Whether two sets of measurements differ by more than chance explains: Welch's t-test, which does not ask that both vary alike.

/// What a set of measurements comes to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// How many there are.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
}

/// How far two means are apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The second mean less the first.
    pub mean: f64,
    /// Half the width of the confidence interval around it.
    pub error: f64,
}

impl Difference {
    /// Whether the interval leaves out zero.
    pub fn is_proven(&self) -> bool {
        self.mean.abs() > self.error
    }
}

impl Sample {
    /// Of these values.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count.max(1.0);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Sample { count: values.len() as u64, mean, deviation: (squares / (count - 1.0).max(1.0)).sqrt() }
    }

    /// How far the mean of `other` is from this one, at a level of confidence in percent; none where one of them has fewer than two values.
    pub fn difference(&self, other: &Self, confidence: f64) -> Option<Difference> {
        if self.count < 2 || other.count < 2 {
            return None;
        }
        let (left, right) = (self.count as f64, other.count as f64);
        let (of_left, of_right) = (self.deviation.powi(2) / left, other.deviation.powi(2) / right);
        let freedom = (of_left + of_right).powi(2)
            / (of_left.powi(2) / (left - 1.0) + of_right.powi(2) / (right - 1.0)).max(f64::MIN_POSITIVE);
        let error = student_quantile(0.5 + confidence / 200.0, freedom.max(1.0)) * (of_left + of_right).sqrt();
        Some(Difference { mean: other.mean - self.mean, error })
    }
}

/// The value that Student's distribution stays below with this chance, by bisection of its integral: it is asked for some hundred times
/// in a report, not in a loop.
fn student_quantile(chance: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e3);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if student_below(middle, freedom) < chance { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// The chance that Student's distribution stays below `value`, which is not negative.
fn student_below(value: f64, freedom: f64) -> f64 {
    // With t = sqrt(freedom) * tan(angle) the density becomes a power of the cosine, smooth and bounded on a finite range; Simpson's rule.
    const STEPS: u32 = 400;
    let density = |angle: f64| angle.cos().powf(freedom - 1.0);
    let integral = |from: f64, to: f64| {
        let width = (to - from) / f64::from(STEPS);
        let inner: f64 = (1..STEPS)
            .map(|step| density(from + f64::from(step) * width) * if step % 2 == 1 { 4.0 } else { 2.0 })
            .sum();
        (density(from) + inner + density(to)) * width / 3.0
    };
    // Beyond this angle the power of the cosine is nothing: the grid is laid over what counts.
    let end = (8.0 / freedom.sqrt()).min(std::f64::consts::FRAC_PI_2 - 1e-12);
    let angle = (value / freedom.sqrt()).atan().min(end);
    0.5 + 0.5 * integral(0.0, angle) / integral(0.0, end)
}

/// Jain's index of fairness: 1 where all shares are alike, 1/n where one has all (Jain, Chiu and Hawe, *A quantitative measure of fairness and
/// discrimination*, 1984).
pub fn fairness(shares: &[f64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), share| (sum + share, squares + share * share));
    if squares > 0.0 { sum * sum / (squares * shares.len() as f64) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (chance, freedom, expected) in
            [(0.975, 2.0, 4.303), (0.975, 4.0, 2.776), (0.975, 10.0, 2.228), (0.9975, 30.0, 3.030), (0.975, 1e5, 1.960)]
        {
            let quantile = student_quantile(chance, freedom);
            assert!((quantile / expected - 1.0).abs() < 2e-3, "{chance} {freedom}: {quantile}");
        }
    }

    #[test]
    fn chance_and_change_are_told_apart() {
        let before = Sample::of(&[100.0, 102.0, 98.0]);
        assert_eq!((before.mean, before.deviation), (100.0, 2.0));
        let difference = |values: &[f64]| before.difference(&Sample::of(values), 95.0).unwrap();
        assert!(!difference(&[103.0, 101.0, 99.0]).is_proven());
        let faster = difference(&[120.0, 122.0, 118.0]);
        assert!(faster.is_proven() && faster.mean == 20.0 && (4.0..5.0).contains(&faster.error), "{faster:?}");
        assert_eq!(before.difference(&Sample::of(&[100.0]), 95.0), None);
    }

    #[test]
    fn fairness_is_between_one_for_all_and_all_for_one() {
        assert_eq!([fairness(&[2.0; 4]), fairness(&[3.0, 0.0, 0.0, 0.0]), fairness(&[0.0, 0.0])], [1.0, 0.25, 1.0]);
    }
}
