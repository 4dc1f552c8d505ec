//! `viewExplain('EXPLAIN …', 'settings', (query))`: an EXPLAIN that stands in place of a table. The parser writes it for
//! `SELECT … FROM (EXPLAIN …)`.

use std::sync::Arc;
use std::time::Instant;

use squall_sql::ast::{self, ExplainKind, ExpressionKind, Statement};
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Schema};

use super::scope::Scope;
use super::source::Source;
use crate::explain::{ExplainOptions, Shown, explain_plan, not_explained};
use crate::plan::{Plan, Scan};
use crate::plan_query;
use crate::settle::settle;

impl Scope<'_> {
    /// The lines of an EXPLAIN, a row each; the query itself is planned, and run by `EXPLAIN ANALYZE` alone.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS`, `NOT_IMPLEMENTED`, and what is wrong with the query.
    pub(super) fn view_explain(&mut self, arguments: &[ast::Expression]) -> Result<Source> {
        let [kind, settings, ast::Expression { kind: ExpressionKind::Subquery(query), .. }] = arguments else {
            let message = "Table function 'viewExplain' takes the words of EXPLAIN, its settings and a query";
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        };
        let (kind, settings) = (self.constant_argument(kind)?.0, self.constant_argument(settings)?.0);
        let kind = explain_kind(kind.as_str().unwrap_or_default())?;
        let context = self.analyzer.context;
        let shown = || Shown::of_text(kind, settings.as_str().unwrap_or_default());
        let lines: Vec<String> = match kind {
            ExplainKind::Ast => lines(&squall_sql::dump(&Statement::Query(query.clone()))),
            ExplainKind::Syntax => vec![squall_sql::format(&Statement::Query(query.clone()))],
            ExplainKind::Plan => {
                let plan = self.explained(query)?;
                let of_scan = |scan: &Scan| context.subqueries.describe_scan(scan);
                let options = ExplainOptions { shown: shown()?, of_scan: Some(&of_scan), of_work: None };
                lines(&explain_plan(&plan, options)?)
            }
            ExplainKind::Pipeline => {
                let plan = self.explained(query)?;
                context.subqueries.explain_pipeline(&plan)?
            }
            ExplainKind::Analyze => {
                let began = Instant::now();
                let plan = self.explained(query)?;
                context.subqueries.explain_analyze(&plan, began.elapsed(), shown()?)?
            }
            other => return Err(not_explained(other)),
        };
        let schema = Arc::new(Schema::new([("explain", DataType::String)]));
        let rows = lines.len();
        let block = Block::new(schema.clone(), vec![Column::from_strings(lines)], rows);
        Ok(Source::plan(Plan::Values { schema, blocks: vec![block] }))
    }

    /// The plan that a query would run by at this moment.
    fn explained(&self, query: &ast::Query) -> Result<Plan> {
        let context = self.analyzer.context;
        let mut plan = self.analyzer.nested(|| plan_query(query, context))?;
        let own = context.settings_within(query)?;
        let settings = own.as_deref().unwrap_or(context.settings);
        settle(&mut plan, settings, &context.functions)?;
        Ok(plan)
    }
}

/// The kind of which these are the words.
fn explain_kind(words: &str) -> Result<ExplainKind> {
    let words = words.strip_prefix("EXPLAIN").unwrap_or(words).trim();
    let is_it = |kind: &&ExplainKind| {
        kind.keywords().unwrap_or("PLAN") == words || words.is_empty() && kind.keywords().is_none()
    };
    ExplainKind::ALL
        .iter()
        .find(is_it)
        .copied()
        .ok_or_else(|| Error::new(ErrorCode::BAD_ARGUMENTS, format!("Unknown kind of EXPLAIN: '{words}'")))
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}
