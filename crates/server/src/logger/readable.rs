//! Values as lines of the log show them.

use std::fmt::{self, Display, Formatter, Write as _};

use squall_types::text::readable::BINARY_SIZE;

/// A number of bytes as ClickHouse writes it: `1.00 B`, `7.63 MiB`.
#[derive(Clone, Copy, Debug)]
pub struct ReadableSize(pub f64);

impl Display for ReadableSize {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (size, unit) = BINARY_SIZE.scale(self.0);
        write!(f, "{size:.2}{unit}")
    }
}

/// A text of many lines in one: a line's end and the space around it become one space.
#[derive(Clone, Copy, Debug)]
pub struct OneLine<'a>(pub &'a str);

impl Display for OneLine<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut lines = self.0.lines().map(str::trim).filter(|line| !line.is_empty());
        f.write_str(lines.next().unwrap_or_default())?;
        for line in lines {
            f.write_char(' ')?;
            f.write_str(line)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_binary_units() {
        for (bytes, text) in [(0.0, "0.00 B"), (1023.0, "1023.00 B"), (1024.0, "1.00 KiB"), (8e6, "7.63 MiB")] {
            assert_eq!(ReadableSize(bytes).to_string(), text);
        }
    }

    #[test]
    fn a_query_is_one_line() {
        assert_eq!(OneLine("SELECT 1\n  FROM t\r\n\n WHERE x").to_string(), "SELECT 1 FROM t WHERE x");
        assert_eq!(OneLine("SELECT 1").to_string(), "SELECT 1");
    }
}
