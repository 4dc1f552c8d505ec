//! Patterns of keys: `*` and `?` within a part, `**` over parts, `{a,b}` and `{1..9}` for one of several texts. A bucket's keys are listed
//! by the text before the first of them, and tested by a regular expression.

use std::fmt::Write;

use regex::{Regex, RegexBuilder};
use squall_files::glob::{Choices, choices, closing};
use squall_types::{Error, ErrorCode, Result};

/// The most numbers of a range.
const NUMBERS_MAX: u64 = 100_000;
/// How deep braces may nest.
const DEPTH_MAX: usize = 16;
/// Bytes of a compiled expression.
const REGEX_BYTES_MAX: usize = 16 << 20;

/// Whether the keys that a pattern may mean are known without a look at the bucket: it only has braces with texts.
pub(super) fn is_enumeration(pattern: &str) -> bool {
    !pattern.contains(['*', '?']) && pattern.contains(',') && !pattern.contains("..")
}

/// The text that all keys of a pattern begin with.
pub(super) fn prefix(pattern: &str) -> &str {
    pattern.split(['*', '?', '{']).next().unwrap_or_default()
}

/// The expression that matches a pattern's keys.
///
/// # Errors
/// `BAD_ARGUMENTS` where it would be too large.
pub(super) fn expression(pattern: &str) -> Result<Regex> {
    let too_large = || Error::new(ErrorCode::BAD_ARGUMENTS, format!("The pattern {pattern} stands for too much"));
    let mut expression = String::from("(?s)^");
    translate(pattern, &mut expression, 0).ok_or_else(too_large)?;
    expression.push('$');
    RegexBuilder::new(&expression).size_limit(REGEX_BYTES_MAX).build().map_err(|_| too_large())
}

/// Appends what a pattern means as an expression.
fn translate(pattern: &str, expression: &mut String, depth: usize) -> Option<()> {
    if depth > DEPTH_MAX {
        return None;
    }
    let mut rest = pattern;
    let mut begins_part = depth == 0;
    while let Some(letter) = rest.chars().next() {
        let after = rest.get(letter.len_utf8()..)?;
        rest = match letter {
            '*' if after.starts_with('*') => {
                let after = after.trim_start_matches('*');
                match after.strip_prefix('/').filter(|_| begins_part) {
                    // Also no folder at all.
                    Some(after) => {
                        expression.push_str("(?:.*/)?");
                        after
                    }
                    None => {
                        expression.push_str(".*");
                        after
                    }
                }
            }
            '*' => {
                expression.push_str("[^/]*");
                after
            }
            '?' => {
                expression.push_str("[^/]");
                after
            }
            '{' => match closing(after) {
                Some(end) => {
                    choice(after.get(..end)?, expression, depth)?;
                    after.get(end + 1..)?
                }
                None => {
                    expression.push_str("\\{");
                    after
                }
            },
            letter => {
                expression.push_str(&regex::escape(letter.encode_utf8(&mut [0; 4])));
                after
            }
        };
        begins_part = letter == '/' || (begins_part && letter == '*' && expression.ends_with("(?:.*/)?"));
    }
    Some(())
}

/// Appends what stands in braces.
fn choice(inside: &str, expression: &mut String, depth: usize) -> Option<()> {
    expression.push_str("(?:");
    match choices(inside) {
        Choices::Numbers { first, last, width } => {
            let (low, high) = (first.min(last), first.max(last));
            if high - low >= NUMBERS_MAX {
                return None;
            }
            for number in low..=high {
                let separator = if number == low { "" } else { "|" };
                let _ = write!(expression, "{separator}{number:0width$}");
            }
        }
        Choices::Texts(texts) => {
            for (at, text) in texts.into_iter().enumerate() {
                expression.push_str(if at == 0 { "" } else { "|" });
                translate(text, expression, depth + 1)?;
            }
        }
    }
    expression.push(')');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_matched() {
        for (pattern, keys, others) in [
            ("d/*.tsv", &["d/1.tsv", "d/.tsv"][..], &["d/e/3.tsv", "1.tsv", "d/1.tsvx"][..]),
            ("**/*.tsv", &["1.tsv", "d/1.tsv", "d/e/1.tsv"], &["d/1.csv"]),
            ("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb"]),
            ("a**b", &["ab", "a/x/b"], &["a/x"]),
            ("**", &["", "a", "a/b\n"], &[]),
            ("g{1..3}?", &["g1x", "g3y"], &["g1", "g4x", "g01x", "g1/"]),
            ("g{08..11}", &["g08", "g11"], &["g8", "g12"]),
            ("g{3..1}", &["g2"], &["g4"]),
            ("{a,b{1,2}}.*", &["a.x", "b2.x"], &["b.x", "c.x"]),
            ("g{1}", &["g1"], &["g{1}"]),
            ("a+(b){", &["a+(b){"], &["aab{"]),
        ] {
            let expression = expression(pattern).unwrap();
            assert!(keys.iter().all(|key| expression.is_match(key)), "{pattern} {expression}");
            assert!(!others.iter().any(|key| expression.is_match(key)), "{pattern} {expression}");
        }
        assert_eq!(prefix("a/b{1,2}/*"), "a/b");
        assert!(is_enumeration("a{1,2}") && !is_enumeration("a{1..2}") && !is_enumeration("{a,b}*"));
    }

    #[test]
    fn what_is_too_much_is_refused() {
        for pattern in
            ["{0..99999999}", "{0..18446744073709551615}", &"{".repeat(100), &("{a,".repeat(50) + &"}".repeat(50))]
        {
            if let Err(error) = expression(pattern) {
                assert_eq!(error.code, ErrorCode::BAD_ARGUMENTS, "{pattern}");
            }
        }
        assert!(expression("{0..99999999}").is_err() && expression(&("{a,".repeat(50) + &"}".repeat(50))).is_err());
    }
}
