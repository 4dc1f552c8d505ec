//! Types of settings that have some values only, each with the error of another value: `OverflowMode` is `throw` or `break`.

use std::sync::LazyLock;

use crate::error::{Error, ErrorCode, Result};

/// The table of types; its first lines say what stands in it.
const TABLE: &str = include_str!("enumerations.tsv");

struct Enumeration {
    name: &'static str,
    code: ErrorCode,
    /// A value is several of these with commas between them.
    is_list: bool,
    values: Vec<&'static str>,
}

fn all() -> &'static [Enumeration] {
    static ALL: LazyLock<Vec<Enumeration>> =
        LazyLock::new(|| TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(read).collect());
    &ALL
}

fn read(line: &'static str) -> Option<Enumeration> {
    let mut fields = line.split('\t');
    let (name, code) = (fields.next()?, fields.next()?);
    let code = ErrorCode::of_name(code)?;
    Some(Enumeration { name, code, is_list: fields.next()? == "list", values: fields.next()?.split(',').collect() })
}

/// Checks a value of a setting of the type of this name; types that are no enumerations take any.
///
/// # Errors
/// The type's own.
pub(super) fn check(type_name: &str, text: &str) -> Result<()> {
    let Ok(at) = all().binary_search_by_key(&type_name, |known| known.name) else { return Ok(()) };
    let Enumeration { name, code, is_list, values } = &all()[at];
    let mut parts = if *is_list { text.split(',').map(str::trim).collect() } else { vec![text] }.into_iter();
    match parts.find(|part| !values.contains(part)) {
        None => Ok(()),
        Some(other) => {
            let values = values.join("', '");
            Err(Error::new(*code, format!("Unexpected value of {name}: '{other}'. Must be one of ['{values}']")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole_and_in_order() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(all().len(), lines);
        assert!(all().iter().map(|known| known.name).is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn lists_have_values_alone() {
        assert!(check("JoinAlgorithm", "hash, auto").is_ok());
        assert_eq!(check("JoinAlgorithm", "hash,foo").unwrap_err().code, ErrorCode::UNKNOWN_JOIN);
        assert_eq!(check("OverflowMode", "throw,break").unwrap_err().code, ErrorCode::UNKNOWN_OVERFLOW_MODE);
        assert!(check("SetOperationMode", "").is_ok());
        assert!(check("String", "anything").is_ok());
    }
}
