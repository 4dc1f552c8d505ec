//! Numbers for people: a few digits and a unit.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_readable() {
        assert_eq!(readable_bytes(1536), "1.50 KiB");
        assert_eq!(readable_bytes(10 << 20), "10.00 MiB");
    }
}
