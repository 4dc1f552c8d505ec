//! The settings of EXPLAIN: what is shown of a plan besides its steps.

use squall_sql::ast::ExplainKind;
use squall_types::{Error, ErrorCode, Result};

/// Settings that show something here, where they are on.
const SHOWN: &[&str] = &["header", "indexes", "indices", "estimates", "graph"];
/// Settings that ask for what is so in any case, or for what plans here have none of.
const WITHOUT_EFFECT: &[&str] = &[
    "actions",
    "column_structure",
    "compact",
    "description",
    "distributed",
    "input_headers",
    "keep_logical_steps",
    "matches",
    "pretty",
    "processors",
    "projections",
    "sorting",
];
/// Settings that ask for another form, or for another plan, where they are on or off.
const REFUSED: &[(&str, bool)] = &[("json", true), ("optimize", false)];

/// What a statement asks for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[allow(clippy::struct_excessive_bools)] // Each is a setting of EXPLAIN.
pub struct Shown {
    /// `header = 1`: the names and types of each step's columns.
    pub header: bool,
    /// `indexes = 1`: what keys and skip indexes leave of each table.
    pub indexes: bool,
    /// `estimates = 1`: how many rows the planner expects each step to give.
    pub estimates: bool,
    /// `graph = 1`: Graphviz's language in the place of a tree.
    pub graph: bool,
}

impl Shown {
    /// What settings ask for: their names, and whether each is on.
    ///
    /// # Errors
    /// `UNKNOWN_SETTING`, `NOT_IMPLEMENTED`.
    pub fn of<'a>(kind: ExplainKind, settings: impl IntoIterator<Item = (&'a str, bool)>) -> Result<Self> {
        let kind = kind.keywords().unwrap_or("PLAN");
        let mut shown = Self::default();
        for (name, is_on) in settings {
            if REFUSED.contains(&(name, is_on)) {
                return Err(Error::not_implemented(format!("EXPLAIN {kind} {name} = {}", u8::from(is_on))));
            }
            let refused = REFUSED.iter().map(|(name, _)| name);
            let all = || SHOWN.iter().chain(WITHOUT_EFFECT).chain(refused.clone()).copied();
            if !all().any(|known| known == name) {
                let all = all().collect::<Vec<_>>().join(", ");
                let message =
                    format!("Unknown setting \"{name}\" for EXPLAIN {kind} query. Supported settings: {all}.");
                return Err(Error::new(ErrorCode::UNKNOWN_SETTING, message));
            }
            match name {
                "header" => shown.header = is_on,
                "indexes" | "indices" => shown.indexes = is_on,
                "estimates" => shown.estimates = is_on,
                "graph" => shown.graph = is_on,
                _ => {}
            }
        }
        Ok(shown)
    }

    /// The same of settings as text: `header = 1, estimates = 1`.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_text(kind: ExplainKind, settings: &str) -> Result<Self> {
        let settings = settings.split(',').filter_map(|setting| setting.split_once('='));
        Self::of(kind, settings.map(|(name, value)| (name.trim(), matches!(value.trim(), "1" | "true"))))
    }
}
