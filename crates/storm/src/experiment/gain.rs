//! What a way to give threads to queries gains over the best fixed `max_threads`: how much less time it takes for a thousand queries of one
//! client and a thousand of twenty together. Rounds are compared one by one, so that the machine's slow and fast moments cancel out.

use std::fmt;

use super::CLIENTS;
use super::results::Point;

/// What a budget gained in the document that asked for `total_max_threads`, on its machine of 16 logical cores, in percent.
const DOCUMENT_PERCENT: f64 = 13.3;

/// Points of one way: each number of clients once.
type Way<'a> = Vec<&'a Point>;

/// A gain, with what it is and is compared with.
#[derive(Debug, PartialEq)]
pub(super) struct Gain {
    /// What gains.
    pub way: String,
    /// In percent: the mean over the rounds.
    pub percent: f64,
    /// Half the width of the 95 % confidence interval around it; infinite with a single round.
    pub uncertainty: f64,
}

/// The best fixed `max_threads`, and what a budget of threads and the default policy gain over it.
#[derive(Debug)]
pub(super) struct Gains {
    best_fixed: u32,
    gains: Vec<Gain>,
}

impl Gains {
    /// From parts a, b and c; `None` where nothing was measured.
    pub fn of(fixed: &[Point], budgets: &[(i64, Point)], stride: &[Point]) -> Option<Self> {
        let (best_fixed, base) =
            by_threads(fixed).min_by(|(_, left), (_, right)| time(left).total_cmp(&time(right)))?;
        let mut totals: Vec<i64> = budgets.iter().map(|(total, _)| *total).collect();
        totals.dedup();
        let budget = totals.into_iter().map(|total| {
            (total, budgets.iter().filter(|(other, _)| *other == total).map(|(_, point)| point).collect::<Way<'_>>())
        });
        let budget = budget.min_by(|(_, left), (_, right)| time(left).total_cmp(&time(right)));
        let budget = budget.map(|(total, way)| gain(format!("total_max_threads = {total}, the best"), &base, &way));
        let least = by_threads(stride).filter(|(threads, _)| *threads as usize >= super::results::cpus());
        let least = least.max_by(|(_, left), (_, right)| time(left).total_cmp(&time(right)));
        let least = least.map(|(threads, way)| {
            gain(format!("stride, max_threads = {threads}, the worst that is not below the CPUs"), &base, &way)
        });
        Some(Self { best_fixed, gains: budget.into_iter().chain(least).collect() })
    }
}

fn by_threads(points: &[Point]) -> impl Iterator<Item = (u32, Way<'_>)> {
    points.iter().filter(|point| point.clients == CLIENTS[0]).map(|point| {
        let way = points.iter().filter(|other| other.max_threads == point.max_threads).collect();
        (point.max_threads, way)
    })
}

fn time(way: &Way<'_>) -> f64 {
    way.iter().map(|point| point.time()).sum()
}

/// Seconds in each round.
fn times(way: &Way<'_>) -> Vec<f64> {
    let rounds = way.iter().map(|point| point.times().len()).min().unwrap_or(0);
    (0..rounds).map(|round| way.iter().map(|point| point.times()[round]).sum()).collect()
}

fn gain(way: String, base: &Way<'_>, other: &Way<'_>) -> Gain {
    let gains: Vec<f64> =
        times(base).iter().zip(times(other)).map(|(base, other)| 100.0 * (1.0 - other / base.max(1e-9))).collect();
    let rounds = gains.len() as f64;
    let percent = gains.iter().sum::<f64>() / rounds;
    let variance = gains.iter().map(|gain| (gain - percent).powi(2)).sum::<f64>() / (rounds - 1.0);
    let uncertainty =
        if gains.len() < 2 { f64::INFINITY } else { quantile(gains.len() - 1) * (variance / rounds).sqrt() };
    Gain { way, percent, uncertainty }
}

/// Student's t of so many degrees of freedom, at 97.5 %.
fn quantile(degrees: usize) -> f64 {
    const FIRST: [f64; 10] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23];
    // Cornish and Fisher's first terms suffice further on.
    FIRST.get(degrees - 1).copied().unwrap_or_else(|| 1.96 + 2.37 / degrees as f64 + 2.8 / (degrees as f64).powi(2))
}

impl fmt::Display for Gains {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\nTime gained over the best fixed max_threads, {}, for a thousand queries of 1 client and a thousand of 20; the document \
             measured {DOCUMENT_PERCENT} % for total_max_threads on 16 logical cores\n",
            self.best_fixed
        )?;
        for Gain { way, percent, uncertainty } in &self.gains {
            let told = if percent.abs() > *uncertainty { "" } else { ": no difference that can be told from noise" };
            writeln!(f, "{percent:>6.1} % ± {uncertainty:.1}  {way}{told}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::Sample;
    use super::*;

    fn point(max_threads: u32, clients: usize, rates: &[u64]) -> Point {
        let samples = rates.iter().map(|queries| Sample { queries: *queries, seconds: 1.0, ..Sample::default() });
        let mut samples = samples.collect::<Vec<_>>().into_iter();
        let mut point = Point::new(max_threads, clients, samples.next().unwrap());
        samples.for_each(|sample| point.add(sample));
        point
    }

    #[test]
    fn rounds_are_compared_one_by_one() {
        // The machine was half as fast in the second round; every round shows a fifth less time.
        let fixed = [point(1, 1, &[10, 5]), point(1, 20, &[10, 5]), point(2, 1, &[100, 50]), point(2, 20, &[100, 50])];
        let budgets = [
            (8, point(16, 1, &[125, 62])),
            (8, point(16, 20, &[125, 63])),
            (9, point(16, 1, &[1, 1])),
            (9, point(16, 20, &[1, 1])),
        ];
        let gains = Gains::of(&fixed, &budgets, &[]).unwrap();
        assert_eq!(gains.best_fixed, 2);
        let [gain] = &gains.gains[..] else { panic!() };
        assert!((gain.percent - 20.0).abs() < 0.1 && gain.uncertainty < 1.0, "{gain:?}");
        assert_eq!(gain.way, "total_max_threads = 8, the best");
        assert!(Gains::of(&[], &[], &[]).is_none());
    }

    #[test]
    fn noise_is_called_noise() {
        let fixed = [point(2, 1, &[100, 90, 110]), point(2, 20, &[100, 100, 100])];
        let budgets = [(8, point(16, 1, &[101, 99, 100])), (8, point(16, 20, &[100, 100, 100]))];
        let text = Gains::of(&fixed, &budgets, &[]).unwrap().to_string();
        assert!(text.contains("no difference that can be told from noise"), "{text}");
        assert!((quantile(12) - 2.18).abs() < 0.02 && (quantile(30) - 2.04).abs() < 0.02);
    }
}
