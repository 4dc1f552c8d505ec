//! Large numbers in words, which formats for people put beside them.

use squall_types::text::append_float64;
use squall_types::text::readable::QUANTITY;

/// What number in words a value of digits is: ` -- 2.50 million`; nothing up to `threshold`
/// (`output_format_pretty_single_large_number_tip_threshold`; 0 is never).
pub(crate) fn append_tip(text: &[u8], threshold: u64, out: &mut Vec<u8>) {
    let Some(value) = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok()) else { return };
    let size = value.abs();
    // What is as large as a hash is taken for one and not said in words.
    if !value.is_finite() || threshold == 0 || size <= threshold as f64 || (size > 1e17 && size <= u64::MAX as f64) {
        return;
    }
    let (value, word) = QUANTITY.scale(value);
    out.extend_from_slice(b" -- ");
    if value.abs() < 1e60 {
        out.extend_from_slice(format!("{value:.2}").as_bytes());
    } else {
        append_float64(out, value);
    }
    out.extend_from_slice(word.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_words() {
        for (number, words) in [
            ("1000000", ""),
            ("-1234567", " -- -1.23 million"),
            ("999999999", " -- 1000.00 million"),
            ("inf", ""),
            ("x", ""),
        ] {
            let mut out = Vec::new();
            append_tip(number.as_bytes(), 1_000_000, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), words);
        }
    }
}
