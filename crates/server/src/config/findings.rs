//! What reading a configuration came upon: what is in force, what has no effect here, what is missing, and what must not be missing.

use super::element::Element;

/// What becomes of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It has no effect and needs none, for this reason.
    Harmless(&'static str),
    /// What it asks for is not done, with this consequence: a warning.
    Missing(&'static str),
    /// It guards something, and nothing would guard it: the server does not start.
    Stops(&'static str),
}

/// Everything that was found, with file, line and element where there is more to say than a name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Findings {
    /// The names of elements that are in force.
    pub in_force: Vec<String>,
    /// Elements without effect, and why that does no harm.
    pub harmless: Vec<String>,
    /// What an operator should know.
    pub warnings: Vec<String>,
    /// Why the server does not start.
    pub stops: Vec<String>,
}

impl Findings {
    /// Notes that something reads an element.
    pub(super) fn in_force(&mut self, element: &Element) {
        if !self.in_force.contains(&element.name) {
            self.in_force.push(element.name.clone());
        }
    }

    /// Notes what becomes of an element, which `path` names: `openSSL/server/fips`.
    pub(crate) fn note(&mut self, element: &Element, path: &str, verdict: Verdict) {
        let said = |why| format!("{}: <{path}>: {why}", element.origin);
        match verdict {
            Verdict::Harmless(why) => self.harmless.push(said(why)),
            Verdict::Missing(why) => self.warnings.push(format!("{}: <{path}> is ignored: {why}", element.origin)),
            Verdict::Stops(why) => self.stops.push(said(why)),
        }
    }

    /// Notes an element that nobody knows.
    pub(crate) fn unknown(&mut self, element: &Element, path: &str) {
        self.warnings.push(format!("{}: unknown element <{path}> is ignored", element.origin));
    }
}
