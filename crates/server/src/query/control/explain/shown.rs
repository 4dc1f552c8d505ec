//! The settings of EXPLAIN: what is shown of a plan besides its steps.

use squall_planner::{DescribeScan, ExplainOptions, Scan};
use squall_sql::ast::{self, ExplainKind};
use squall_types::{Error, ErrorCode, Result, Settings};

use super::{index_lines, is_on};

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

/// What the statement asks for.
#[derive(Clone, Copy, Default)]
pub(super) struct Shown {
    header: bool,
    indexes: bool,
    estimates: bool,
    graph: bool,
}

impl Shown {
    /// # Errors
    /// `UNKNOWN_SETTING`, `NOT_IMPLEMENTED`.
    pub(super) fn of(explain: &ast::Explain) -> Result<Self> {
        let kind = if explain.kind == ExplainKind::Analyze { "ANALYZE" } else { "PLAN" };
        let mut shown = Self::default();
        for setting in &explain.settings {
            let name = &*setting.name;
            let is_on = is_on(&setting.value);
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

    /// Does something with these as the planner takes them.
    pub(super) fn with<T>(self, settings: &Settings, work: impl FnOnce(ExplainOptions<'_>) -> T) -> T {
        let lines = |scan: &Scan| index_lines(scan, settings);
        let of_scan: Option<&DescribeScan<'_>> = if self.indexes { Some(&lines) } else { None };
        let Self { header, estimates, graph, .. } = self;
        work(ExplainOptions { header, estimates, graph, of_scan, of_work: None })
    }
}
