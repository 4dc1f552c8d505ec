//! `query_masking_rules`: what must not be read in logs is replaced before it gets there: in texts of queries, in the server's log, in
//! messages of errors. Results and what clients are told of their own queries stay as they are.

use std::borrow::Cow;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use regex::{Captures, Regex};
use squall_runtime::{ProfileEvent, profile_events};
use squall_types::{Error, ErrorCode, Result};

use crate::config::Element;

/// What stands for a secret where a rule does not say.
const REPLACE_DEFAULT: &str = "******";

/// One rule's `regexp` and `replace`.
#[derive(Clone, Debug)]
struct Rule {
    pattern: Regex,
    replacement: Vec<Piece>,
}

/// A part of `replace`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// `\1`: what a group of the pattern found; `\0` all of it.
    Group(usize),
}

/// The rules, in the order in which they are applied.
#[derive(Clone, Debug, Default)]
pub struct MaskingRules(Vec<Rule>);

impl MaskingRules {
    /// Reads the element's rules.
    ///
    /// # Errors
    /// With file, line and element where a rule has no pattern, one that cannot be compiled, or something that is not known: a rule that is
    /// not understood would hide nothing.
    pub fn read(element: &Element) -> Result<Self> {
        let mut rules = Vec::new();
        for rule in &element.children {
            if rule.name != "rule" {
                return Err(rule.error("is not known here, where each element is a <rule>"));
            }
            let (mut pattern, mut replacement) = (None, REPLACE_DEFAULT);
            for child in &rule.children {
                match child.name.as_str() {
                    "name" => {}
                    "regexp" => {
                        let compiled = Regex::new(child.trimmed());
                        pattern = Some(compiled.map_err(|error| {
                            let message = format!("{}: element <{}>: {error}", child.origin, child.name);
                            Error::new(ErrorCode::CANNOT_COMPILE_REGEXP, message)
                        })?);
                    }
                    "replace" => replacement = &child.text,
                    _ => return Err(child.error("is not known in a rule, which has a name, a regexp and a replace")),
                }
            }
            let pattern = pattern.ok_or_else(|| rule.error("needs a <regexp>"))?;
            let replacement = pieces(replacement);
            let groups = pattern.captures_len();
            if replacement.iter().any(|piece| matches!(piece, Piece::Group(group) if *group >= groups)) {
                return Err(
                    rule.error(format_args!("<replace> names a group that <regexp> has not: it has {}", groups - 1))
                );
            }
            rules.push(Rule { pattern, replacement });
        }
        Ok(Self(rules))
    }

    fn apply<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = Cow::Borrowed(text);
        for Rule { pattern, replacement } in &self.0 {
            let mut matches = 0;
            let replaced = pattern.replace_all(&masked, |found: &Captures<'_>| {
                matches += 1;
                replacement.iter().map(|piece| piece.text(found)).collect::<String>()
            });
            if let Cow::Owned(replaced) = replaced {
                profile_events::GLOBAL.add(ProfileEvent::QueryMaskingRulesMatch, matches);
                masked = Cow::Owned(replaced);
            }
        }
        masked
    }
}

impl Piece {
    fn text<'a>(&'a self, found: &'a Captures<'_>) -> &'a str {
        match self {
            Self::Text(text) => text,
            Self::Group(group) => found.get(*group).map_or("", |group| group.as_str()),
        }
    }
}

/// The parts of `replace`, in RE2's language.
fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, characters.clone().next()) {
            ('\\', Some(digit)) if digit.is_ascii_digit() => {
                if !literal.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                }
                pieces.push(Piece::Group(digit.to_digit(10).unwrap_or(0) as usize));
                characters.next();
            }
            ('\\', Some('\\')) => {
                literal.push('\\');
                characters.next();
            }
            _ => literal.push(character),
        }
    }
    if !literal.is_empty() {
        pieces.push(Piece::Text(literal));
    }
    pieces
}

/// The process's rules: its log is one for all.
static RULES: ArcSwapOption<MaskingRules> = ArcSwapOption::const_empty();

/// From now on these rules hold.
pub fn set_rules(rules: &MaskingRules) {
    RULES.store((!rules.0.is_empty()).then(|| Arc::new(rules.clone())));
}

/// Whether there are rules.
pub fn is_on() -> bool {
    RULES.load().is_some()
}

/// A text as logs may show it.
pub fn mask(text: &str) -> Cow<'_, str> {
    match &*RULES.load() {
        Some(rules) => rules.apply(text),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rules: &str) -> Result<MaskingRules> {
        MaskingRules::read(&Element::parse("c.xml", &format!("<query_masking_rules>{rules}</query_masking_rules>"))?)
    }

    #[test]
    fn rules_replace_in_their_order() {
        let rules = read(
            "<rule><name>a</name><regexp>(?i)\\b(password)\\s*=\\s*'[^']*'</regexp><replace>\\1='?'</replace></rule>\
             <rule><regexp>\\d{4}-\\d{4}</regexp></rule><rule><regexp>\\*+</regexp><replace>a\\\\b</replace></rule>",
        )
        .unwrap();
        let masked = rules.apply("SELECT 1, Password = 'secret', '1234-5678'");
        assert_eq!(masked, "SELECT 1, Password='?', 'a\\b'");
        assert!(matches!(rules.apply("SELECT 1"), Cow::Borrowed("SELECT 1")));
    }

    #[test]
    fn a_rule_that_hides_nothing_is_an_error() {
        for rules in [
            "<rule><name>a</name></rule>",
            "<rule><regexp>(</regexp></rule>",
            "<rule><regexp>a</regexp><replace>\\1</replace></rule>",
            "<rule><regexp>a</regexp><throw>1</throw></rule>",
            "<rules/>",
        ] {
            assert!(read(rules).unwrap_err().message.contains("c.xml:1"), "{rules}");
        }
    }
}
