//! From the syntax tree to a plan: names are resolved with ClickHouse's rules, types settled, constants folded. What the plan
//! could do better is the business of [`rules`](crate::rules).

mod aggregation;
mod call;
mod conversion;
mod correlated;
mod decorrelate;
mod definitions;
mod expression;
mod fill;
mod from;
mod graph;
mod grouping;
mod hints;
mod join;
mod join_keys;
mod joined_set;
mod limit;
mod literal;
mod matcher;
mod membership;
mod name;
mod recursive;
mod row_filter;
mod sample;
mod scope;
mod select;
mod set_operation;
mod source;
mod stage;
mod subquery;
mod table_function;
pub(crate) mod text;
mod user_function;
mod values;
mod view_explain;
mod window;

use std::cell::{Cell, RefCell};

use squall_sql::ast;
use squall_types::{Block, Error, ErrorCode, Result, Settings, checkpoint};

use crate::context::PlannerContext;
use crate::plan::Plan;

pub(crate) use call::FOLDED_BYTES_MAX;
pub(crate) use conversion::{cast, options as cast_options};
pub(crate) use definitions::Definitions;
pub(crate) use from::whole;
pub(crate) use join_keys::{as_join_key, equality, null_safe_equalities, sides_of};
pub(crate) use literal::append_constant;
pub use literal::typed_literal;
pub use membership::MEMBERSHIPS;
pub(crate) use scope::Scope;
pub(crate) use source::Source;
pub(crate) use stage::{Stage, project};
pub use table_function::{headers_of, is_over_s3, named_argument, remote_call, takes_names};
pub(crate) use user_function::{expand, without_user_functions};

/// Resolving an expression is about so many nanoseconds' work.
const ELEMENT_WORK: usize = 2_000;

/// Plans a query without optimizing it.
///
/// # Errors
/// Everything that can be wrong with a query, with ClickHouse's codes.
pub fn analyze_query(query: &ast::Query, context: &PlannerContext<'_>) -> Result<Plan> {
    let analyzer = Analyzer::new(context);
    let plan = row_filter::of_result(&analyzer, analyzer.plan_body(&query.body, None)?)?;
    Ok(cut(plan, context.settings))
}

/// The rows that the settings `limit` and `offset` leave.
fn cut(plan: Plan, settings: &Settings) -> Plan {
    match (settings.offset, settings.limit) {
        (0, 0) => plan,
        (offset, limit) => {
            Plan::Limit { input: Box::new(plan), offset, limit: (limit > 0).then_some(limit), ties: None }
        }
    }
}

/// What the analysis of one query shares among all its SELECTs: the context, and counts against the limits.
pub(crate) struct Analyzer<'a> {
    pub context: &'a PlannerContext<'a>,
    /// Expressions resolved so far, every use of an alias or a common table expression counted anew.
    elements: Cell<u64>,
    /// How many queries enclose the one at hand.
    depth: Cell<u64>,
    /// Subqueries met so far: their numbers are in names of results.
    subqueries: Cell<u64>,
    /// Joins so far.
    joins: Cell<u64>,
    /// The subqueries that were run, and their rows.
    results: RefCell<Vec<(Plan, Vec<Block>)>>,
}

/// The most expressions of a query; 0 is unlimited. `max_ast_elements` counts where somebody set it: its default is ClickHouse's, whose trees
/// hold long lists of constants as one element.
pub(crate) fn elements_max(settings: &Settings) -> u64 {
    let limits = [
        settings.max_expanded_ast_elements,
        if settings.is_changed("max_ast_elements") { settings.max_ast_elements } else { 0 },
    ];
    limits.into_iter().filter(|limit| *limit > 0).min().unwrap_or(0)
}

impl<'a> Analyzer<'a> {
    pub fn new(context: &'a PlannerContext<'a>) -> Self {
        Self {
            context,
            elements: Cell::new(0),
            depth: Cell::new(0),
            subqueries: Cell::new(0),
            joins: Cell::new(0),
            results: RefCell::default(),
        }
    }

    /// An analyzer of a part that has a context of its own, as deep as this one.
    pub fn with_context<'b>(&self, context: &'b PlannerContext<'b>) -> Analyzer<'b> {
        Analyzer { depth: self.depth.clone(), elements: self.elements.clone(), ..Analyzer::new(context) }
    }

    /// Counts one more expression resolved.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS`, as ClickHouse has it, at `max_expanded_ast_elements`.
    pub fn count_element(&self) -> Result<()> {
        checkpoint(ELEMENT_WORK)?;
        let elements = self.elements.get() + 1;
        self.elements.set(elements);
        match elements_max(self.context.settings) {
            0 => Ok(()),
            most if elements > most => Err(graph::too_big(most)),
            _ => Ok(()),
        }
    }

    /// Counts one more join.
    ///
    /// # Errors
    /// `TOO_DEEP_RECURSION`: each join is a step over the one before, and plans are worked on recursively.
    pub fn count_join(&self) -> Result<()> {
        const JOINS_MAX: u64 = 1_000;
        self.joins.set(self.joins.get() + 1);
        if self.joins.get() > JOINS_MAX {
            let message = format!("A query may have {JOINS_MAX} joins at most");
            return Err(Error::new(ErrorCode::TOO_DEEP_RECURSION, message));
        }
        Ok(())
    }

    /// Plans one level deeper.
    ///
    /// # Errors
    /// `TOO_DEEP_SUBQUERIES`.
    pub fn nested<T>(&self, plan: impl FnOnce() -> Result<T>) -> Result<T> {
        // Queries are planned recursively, so there is a limit even where the settings have none.
        const DEPTH_MAX: u64 = 200;
        let most = match self.context.settings.max_subquery_depth {
            0 => DEPTH_MAX,
            most => most.min(DEPTH_MAX),
        };
        if self.depth.get() > most {
            return Err(Error::new(ErrorCode::TOO_DEEP_SUBQUERIES, format!("Too deep subqueries. Maximum: {most}")));
        }
        self.depth.set(self.depth.get() + 1);
        let result = plan();
        self.depth.set(self.depth.get() - 1);
        result
    }

    /// Whether what is planned now is the query itself, rather than a part of it.
    pub fn is_outermost(&self) -> bool {
        self.depth.get() == 0
    }

    /// The number of the next subquery.
    pub fn next_subquery(&self) -> u64 {
        let number = self.subqueries.get() + 1;
        self.subqueries.set(number);
        number
    }

    /// The text of an identifier: its own, or the parameter's value that it stands for.
    ///
    /// # Errors
    /// `UNKNOWN_QUERY_PARAMETER`.
    pub fn identifier<'x>(&self, identifier: &'x ast::Identifier) -> Result<&'x str>
    where
        'a: 'x,
    {
        if identifier.parameter { self.parameter(&identifier.value) } else { Ok(&identifier.value) }
    }

    /// The text of a query parameter.
    ///
    /// # Errors
    /// `UNKNOWN_QUERY_PARAMETER`.
    pub fn parameter(&self, name: &str) -> Result<&'a str> {
        self.context
            .parameters
            .get(name)
            .map(String::as_str)
            .ok_or_else(|| Error::new(ErrorCode::UNKNOWN_QUERY_PARAMETER, format!("Substitution `{name}` is not set")))
    }
}
