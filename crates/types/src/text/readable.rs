//! Numbers for people: a few digits and a unit.

use std::time::Duration;

/// Units and the factor between one and the next.
#[derive(Clone, Copy, Debug)]
pub struct Units {
    base: f64,
    /// With the space before them.
    names: &'static [&'static str],
}

/// Bytes by powers of 1024.
pub const BINARY_SIZE: Units =
    Units { base: 1024.0, names: &[" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB", " ZiB", " YiB"] };

/// Bytes by powers of 1000.
pub const DECIMAL_SIZE: Units =
    Units { base: 1000.0, names: &[" B", " KB", " MB", " GB", " TB", " PB", " EB", " ZB", " YB"] };

/// Numbers in words.
pub const QUANTITY: Units = Units {
    base: 1000.0,
    names: &[
        "",
        " thousand",
        " million",
        " billion",
        " trillion",
        " quadrillion",
        " quintillion",
        " sextillion",
        " septillion",
        " octillion",
        " nonillion",
        " decillion",
        " undecillion",
        " duodecillion",
        " tredecillion",
        " quattuordecillion",
        " quindecillion",
        " sexdecillion",
        " septendecillion",
        " octodecillion",
        " novemdecillion",
        " vigintillion",
    ],
};

impl Units {
    /// A value in the largest unit of which it has at least one, and that unit.
    pub fn scale(self, mut value: f64) -> (f64, &'static str) {
        let mut unit = self.names.iter().copied();
        let mut name = unit.next().unwrap_or_default();
        for larger in unit {
            if value.abs() < self.base || value.is_nan() {
                break;
            }
            value /= self.base;
            name = larger;
        }
        (value, name)
    }
}

/// `1.50 MiB`.
pub fn readable_bytes(bytes: i64) -> String {
    let (size, unit) = BINARY_SIZE.scale(bytes as f64);
    format!("{size:.2}{unit}")
}

/// `1.50 ms`.
pub fn readable_duration(duration: Duration) -> String {
    const UNITS: &[(f64, &str)] = &[(1.0, "s"), (1e-3, "ms"), (1e-6, "us")];
    let seconds = duration.as_secs_f64();
    let unit = UNITS.iter().find(|(unit, _)| seconds >= *unit);
    let (unit, name) = unit.copied().unwrap_or((1e-9, "ns"));
    format!("{:.2} {name}", seconds / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_readable() {
        assert_eq!(readable_bytes(1536), "1.50 KiB");
        assert_eq!(readable_bytes(10 << 20), "10.00 MiB");
    }

    #[test]
    fn durations_are_readable() {
        assert_eq!(readable_duration(Duration::from_nanos(951)), "951.00 ns");
        assert_eq!(readable_duration(Duration::from_micros(1020)), "1.02 ms");
        assert_eq!(readable_duration(Duration::from_secs(75)), "75.00 s");
    }
}
