//! Lists of the domains under which anybody may have one, as publicsuffix.org writes them.

use std::collections::HashSet;

/// A list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TopLevelDomains {
    plain: HashSet<Box<[u8]>>,
    /// Domains all of whose direct parts count: `*.ck`.
    parents: HashSet<Box<[u8]>>,
    /// Those of them that do not: `!www.ck`.
    exceptions: HashSet<Box<[u8]>>,
}

impl TopLevelDomains {
    /// The list of a text with a rule a line; `//` begins a comment.
    pub fn parse(text: &str) -> Self {
        let mut list = Self::default();
        for rule in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
            let (set, domain) = if let Some(exception) = rule.strip_prefix('!') {
                (&mut list.exceptions, exception)
            } else if let Some(parent) = rule.strip_prefix("*.") {
                (&mut list.parents, parent)
            } else {
                (&mut list.plain, rule)
            };
            set.insert(domain.as_bytes().into());
        }
        list
    }

    /// Whether anybody may have a domain under this one.
    pub fn contains(&self, domain: &[u8]) -> bool {
        if self.exceptions.contains(domain) {
            return false;
        }
        let parent = domain.iter().position(|byte| *byte == b'.').map(|dot| &domain[dot + 1..]);
        self.plain.contains(domain) || parent.is_some_and(|parent| self.parents.contains(parent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_all_kinds_hold() {
        let list = TopLevelDomains::parse("// of the Cook Islands\n*.ck\n!www.ck\n\ncom\n");
        for (domain, is_in) in [("com", true), ("co.ck", true), ("www.ck", false), ("ck", false), ("x.com", false)] {
            assert_eq!(list.contains(domain.as_bytes()), is_in, "{domain}");
        }
    }
}
