//! Parameters of statements: values drawn from a range, from Zipf's distribution or from the lines of a file.

use std::str::FromStr;
use std::sync::Arc;

use crate::datagen::Random;

/// The lines of a file that may be drawn, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// Where a parameter's values come from.
#[derive(Debug, Clone)]
pub enum Parameter {
    /// Every number from the first to the second, alike.
    Range(i64, i64),
    /// Numbers from `low` on, the first most often.
    Zipf {
        /// The first and most frequent number.
        low: i64,
        /// How far it is to the drawn one.
        zipf: Zipf,
    },
    /// A line of a file, each alike.
    Lines(Arc<[String]>),
}

impl Parameter {
    /// Draws a value and appends it.
    pub fn draw(&self, random: &mut Random, out: &mut String) {
        match self {
            Self::Range(low, high) => push_number(random.between(*low, *high), out),
            Self::Zipf { low, zipf } => push_number(low.saturating_add_unsigned(zipf.draw(random) - 1), out),
            Self::Lines(lines) => {
                if let Some(line) = lines.get(random.below(lines.len() as u64) as usize) {
                    out.push_str(line);
                }
            }
        }
    }
}

fn push_number(number: i64, out: &mut String) {
    out.push_str(itoa::Buffer::new().format(number));
}

impl FromStr for Parameter {
    type Err = String;

    /// Reads `range(LOW, HIGH)`, `zipf(LOW, HIGH, EXPONENT)` or `file(PATH)`.
    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("{text}: expected range(LOW, HIGH), zipf(LOW, HIGH, EXPONENT) or file(PATH)");
        let (name, arguments) =
            text.trim().strip_suffix(')').and_then(|text| text.split_once('(')).ok_or_else(expected)?;
        let numbers: Vec<&str> = arguments.split(',').map(str::trim).collect();
        match (name.trim(), numbers.as_slice()) {
            ("range", [low, high]) => {
                let (low, high) = bounds(low, high).ok_or_else(expected)?;
                Ok(Self::Range(low, high))
            }
            ("zipf", [low, high, exponent]) => {
                let (low, high) = bounds(low, high).ok_or_else(expected)?;
                let exponent = exponent.parse().ok().filter(|exponent| (0.01..=100.0).contains(exponent));
                Ok(Self::Zipf { low, zipf: Zipf::new((high - low) as u64 + 1, exponent.ok_or_else(expected)?) })
            }
            ("file", _) => {
                let path = arguments.trim();
                let bytes = std::fs::metadata(path).map_err(|error| format!("{path}: {error}"))?.len();
                if bytes > FILE_BYTES_MAX {
                    return Err(format!("{path} has more than {FILE_BYTES_MAX} bytes"));
                }
                let lines = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
                let lines: Arc<[String]> = lines.lines().map(str::to_owned).collect();
                if lines.is_empty() { Err(format!("{path} has no lines")) } else { Ok(Self::Lines(lines)) }
            }
            _ => Err(expected()),
        }
    }
}

/// Two numbers in order whose distance is a number as well.
fn bounds(low: &str, high: &str) -> Option<(i64, i64)> {
    let (low, high): (i64, i64) = (low.parse().ok()?, high.parse().ok()?);
    (low <= high && high.checked_sub(low)?.checked_add(1).is_some()).then_some((low, high))
}

/// Ranks 1 to n whose chance falls as rank^-exponent, drawn in constant time without a table, by rejection-inversion (Hörmann and
/// Derflinger, *Rejection-inversion to generate variates from monotone discrete distributions*, 1996).
#[derive(Debug, Clone)]
pub struct Zipf {
    count: f64,
    exponent: f64,
    /// The integral of the density up to the first and the last rank, and how close to a rank no rejection is needed.
    first: f64,
    last: f64,
    slack: f64,
}

impl Zipf {
    /// Ranks up to `count`, which is at least 1; `exponent` is above 0.
    pub fn new(count: u64, exponent: f64) -> Self {
        let mut zipf = Zipf { count: count as f64, exponent, first: 0.0, last: 0.0, slack: 0.0 };
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.last = zipf.integral(zipf.count + 0.5);
        zipf.slack = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.density(2.0));
        zipf
    }

    /// Draws a rank.
    pub fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.last + random.unit() * (self.first - self.last);
            let x = self.inverse(area);
            let rank = x.round().clamp(1.0, self.count);
            if rank - x <= self.slack || area >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    fn integral(&self, x: f64) -> f64 {
        let power = 1.0 - self.exponent;
        // Near the exponent 1 the antiderivative is the logarithm.
        if power.abs() < 1e-9 { x.ln() } else { (x.powf(power) - 1.0) / power }
    }

    fn inverse(&self, area: f64) -> f64 {
        let power = 1.0 - self.exponent;
        if power.abs() < 1e-9 { area.exp() } else { (area * power + 1.0).max(0.0).powf(1.0 / power) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(parameter: &str, draws: u32) -> std::collections::BTreeMap<i64, u32> {
        let parameter: Parameter = parameter.parse().unwrap();
        let mut random = Random::new(7, 0);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..draws {
            let mut text = String::new();
            parameter.draw(&mut random, &mut text);
            *counts.entry(text.parse().unwrap()).or_insert(0) += 1;
        }
        counts
    }

    #[test]
    fn ranges_are_even_and_end_where_they_say() {
        let counts = counts("range(-1, 2)", 40_000);
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [-1, 0, 1, 2]);
        assert!(counts.values().all(|count| (9_500..10_500).contains(count)));
    }

    #[test]
    fn zipf_falls_as_it_should() {
        for exponent in [0.5, 1.0, 1.5] {
            let counts = counts(&format!("zipf(1, 1000, {exponent})"), 300_000);
            assert!(*counts.keys().min().unwrap() == 1 && *counts.keys().max().unwrap() <= 1000);
            let mass: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-exponent)).sum();
            for rank in [1, 2, 3, 10] {
                let expected = 300_000.0 * (rank as f64).powf(-exponent) / mass;
                let drawn = f64::from(counts[&rank]);
                // Six standard deviations.
                assert!((drawn - expected).abs() < 6.0 * expected.sqrt(), "{exponent}: {rank}: {drawn} {expected}");
            }
        }
        assert_eq!(counts("zipf(5, 5, 1.1)", 10).keys().copied().collect::<Vec<_>>(), [5]);
    }

    #[test]
    fn files_are_drawn_by_line_and_nonsense_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "17\n18\n").unwrap();
        let counts = counts(&format!("file({})", file.path().display()), 100);
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [17, 18]);
        for bad in
            ["range(2, 1)", "zipf(1, 2)", "file(/no/such)", "7", "range(-9223372036854775808, 9223372036854775807)"]
        {
            assert!(bad.parse::<Parameter>().is_err(), "{bad}");
        }
    }
}
