//! Large numbers in words, which formats for people put beside them.

/// What number in words a value of digits is: ` -- 2.50 million`; nothing up to a million.
pub(crate) fn append_tip(text: &[u8], out: &mut Vec<u8>) {
    const WORDS: [&str; 22] = [
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
    ];
    let Some(mut value) = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok()) else { return };
    if !value.is_finite() || value.abs() <= 1e6 {
        return;
    }
    let mut word = 0;
    while word + 1 < WORDS.len() && value.abs() >= 1000.0 {
        value /= 1000.0;
        word += 1;
    }
    out.extend_from_slice(format!(" -- {value:.2}{}", WORDS[word]).as_bytes());
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
            append_tip(number.as_bytes(), &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), words);
        }
    }
}
