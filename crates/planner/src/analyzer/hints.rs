//! "Maybe you meant": the known name that is nearest to a misspelt one.

use squall_functions::edit_distance;

/// Names longer than this are not misspelt ones, and the distance is quadratic.
const NAME_BYTES_MAX: usize = 100;

/// The name among `known` that `name` was most probably meant to be, as the end of a message: `. Maybe you meant: ['x']`;
/// empty where none is near. A third of the letters may be wrong.
pub(crate) fn maybe_you_meant<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return String::new();
    }
    let mistakes_max = name.len().div_ceil(3);
    let lower = name.to_ascii_lowercase();
    let nearest = known
        .filter(|candidate| {
            let difference = candidate.len().abs_diff(name.len());
            difference <= mistakes_max && (difference == 0 || name.len() / difference >= 3)
        })
        .map(|candidate| (edit_distance(lower.as_bytes(), candidate.to_ascii_lowercase().as_bytes()), candidate))
        .filter(|(distance, _)| *distance <= mistakes_max)
        .min_by_key(|(distance, _)| *distance);
    match nearest {
        Some((_, candidate)) => format!(". Maybe you meant: ['{candidate}']"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let hint = |name: &str, known: &[&str]| maybe_you_meant(name, known.iter().copied());
        assert_eq!(hint("A", &["a", "b"]), ". Maybe you meant: ['a']");
        assert_eq!(hint("ClintIP", &["URL", "ClientIP"]), ". Maybe you meant: ['ClientIP']");
        assert_eq!(hint("aa", &["a"]), "");
        assert_eq!(hint("nope", &["a", "k", "s"]), "");
        assert_eq!(hint("", &["a"]), "");
    }
}
