//! Patterns of paths: `*` and `?` within a name, `**` over folders, `{a,b}` and `{1..9}` for one of several texts. Nothing here looks at a
//! disk.

use squall_types::{Error, ErrorCode, Result};

/// The most paths that braces may stand for, as in ClickHouse.
const ALTERNATIVES_MAX: usize = 1000;

/// Whether a path means itself alone.
pub fn is_plain(path: &str) -> bool {
    !path.contains(['*', '?', '{'])
}

/// The patterns without braces that one with braces stands for.
///
/// # Errors
/// `BAD_ARGUMENTS` for too many.
pub fn alternatives(pattern: &str) -> Result<Vec<String>> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(next) = open.pop() {
        let Some((before, inside, after)) = first_braces(&next) else {
            done.push(next);
            continue;
        };
        let texts = texts(inside);
        if open.len() + done.len() + texts.len() > ALTERNATIVES_MAX {
            let message = format!("The pattern {pattern} stands for more than {ALTERNATIVES_MAX} paths");
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
        // The last is taken first.
        open.extend(texts.iter().rev().map(|text| format!("{before}{text}{after}")));
    }
    Ok(done)
}

/// What stands before, in and after the first braces that have something to choose from.
fn first_braces(pattern: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let start = from + pattern.get(from..)?.find('{')?;
        let end = start + 1 + closing(pattern.get(start + 1..)?)?;
        let inside = pattern.get(start + 1..end)?;
        if inside.contains(',') || matches!(choices(inside), Choices::Numbers { .. }) {
            return Some((pattern.get(..start)?, inside, pattern.get(end + 1..)?));
        }
        from = end + 1;
    }
}

/// Where the braces end that stand open before a text.
pub fn closing(text: &str) -> Option<usize> {
    let mut depth = 1usize;
    text.char_indices().find_map(|(at, letter)| {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

/// The texts that braces offer.
fn texts(inside: &str) -> Vec<String> {
    match choices(inside) {
        Choices::Numbers { first, last, width } => {
            let number = |number: u64| format!("{number:0width$}");
            // One more than may be is enough to be refused.
            let span = first.abs_diff(last).min(ALTERNATIVES_MAX as u64);
            if first <= last {
                (first..=first + span).map(number).collect()
            } else {
                (first - span..=first).rev().map(number).collect()
            }
        }
        Choices::Texts(texts) => texts.into_iter().map(str::to_owned).collect(),
    }
}

/// What braces offer.
pub enum Choices<'a> {
    /// The numbers between two, with so many digits at least.
    Numbers {
        /// The number that comes first.
        first: u64,
        /// The number that comes last, which may be the smaller one.
        last: u64,
        /// The least digits.
        width: usize,
    },
    /// One of several texts, which may have braces of their own.
    Texts(Vec<&'a str>),
}

/// What braces offer, by what stands in them.
pub fn choices(inside: &str) -> Choices<'_> {
    if let Some((first, last, width)) = range(inside) {
        return Choices::Numbers { first, last, width };
    }
    let mut depth = 0usize;
    let split = inside.split(|letter| {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    });
    Choices::Texts(split.collect())
}

/// `1..9`, `01..12`: the bounds, and how many digits the numbers have at least.
fn range(inside: &str) -> Option<(u64, u64, usize)> {
    let (first, last) = inside.split_once("..")?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(first) || !is_number(last) {
        return None;
    }
    let is_padded = first.starts_with('0') && first.len() > 1 || last.starts_with('0') && last.len() > 1;
    let width = if is_padded { first.len().max(last.len()) } else { 0 };
    Some((first.parse().ok()?, last.parse().ok()?, width))
}

/// Whether a name is one that a pattern without folders means.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut in_name) = (0, 0);
    // Where to go on if what follows the last star does not match here.
    let mut star = None;
    while in_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(letter) if *letter == '?' || name.get(in_name) == Some(letter) => {
                at += 1;
                in_name += 1;
            }
            _ => match star {
                Some((star_at, from)) => {
                    star = Some((star_at, from + 1));
                    at = star_at + 1;
                    in_name = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(at).all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_stand_for_several_paths() {
        let expanded = |pattern: &str| alternatives(pattern).unwrap().join(" ");
        assert_eq!(expanded("a{1..3}.csv"), "a1.csv a2.csv a3.csv");
        assert_eq!(expanded("{08..11}"), "08 09 10 11");
        assert_eq!(expanded("{3..1}"), "3 2 1");
        assert_eq!(expanded("{a,b{1,2}}/x"), "a/x b1/x b2/x");
        assert_eq!(expanded("{a}"), "{a}");
        assert_eq!(expanded("{a,b"), "{a,b");
        assert_eq!(expanded("}{"), "}{");
        for pattern in ["{1..99999999999}", "{1..100}{1..100}", "{0..18446744073709551615}"] {
            assert_eq!(alternatives(pattern).unwrap_err().code, ErrorCode::BAD_ARGUMENTS, "{pattern}");
        }
    }

    #[test]
    fn names_are_matched() {
        for (pattern, name) in [("*.csv", "a.csv"), ("a?c", "abc"), ("*", ""), ("*a*b", "xaxbaab"), ("имя?", "имя1")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("*.csv", "a.tsv"), ("a?c", "ac"), ("", "a"), ("*a*b", "xaxba"), ("a", "")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
