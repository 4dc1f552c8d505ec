//! Large sets of `IN`: the rows are joined, not made a constant. A join builds its table on all cores, in a few bytes a row, and bounds the
//! scan by what it holds.

use std::sync::Arc;

use squall_types::{Block, DataType, Result, Schema, Value};

use super::decorrelate::SubqueryKind;
use super::graph::NodeId;
use super::join_keys::compares_bytes;
use super::scope::Scope;
use crate::expression::Expression;
use crate::plan::Plan;
use crate::rules::{all_of, call};

/// Sets of so many rows are joined. Of fewer, building the set takes a few milliseconds.
const ROWS_MIN: usize = 1 << 15;
/// The same of columns that a table is sorted by: up to so many values, a scan looks for each in the key.
const ROWS_MIN_OF_KEY: usize = 1 << 18;

impl Scope<'_> {
    /// Whether a value is among the rows, as a join finds it out; `None` where a set of constants serves.
    ///
    /// # Errors
    /// `TOO_DEEP_AST`, and those of the functions that take a tuple apart.
    pub fn among_rows(&mut self, value: NodeId, schema: &Arc<Schema>, blocks: &[Block]) -> Result<Option<NodeId>> {
        let settings = self.analyzer.context.settings;
        let is_limited = settings.max_rows_in_set > 0 || settings.max_bytes_in_set > 0;
        let rows: usize = blocks.iter().map(Block::rows).sum();
        // Windows and arrays are computed after a join of subqueries.
        let is_late = self.graph.node(value).has_window || self.graph.node(value).has_array_join;
        if !self.joins_sets || self.lambda_depth > 0 || is_limited || is_late || rows < ROWS_MIN {
            return Ok(None);
        }
        let Some(sought) = self.elements(value, schema.len())? else { return Ok(None) };
        let is_joinable = sought.iter().zip(schema.types()).all(|(sought, found)| {
            self.graph.constant_value(*sought).is_none() && compares_bytes(self.graph.data_type(*sought), found)
        });
        let may_prune = sought.iter().any(|sought| self.is_of_key(*sought));
        if !is_joinable || may_prune && rows < ROWS_MIN_OF_KEY {
            return Ok(None);
        }
        let functions = &self.analyzer.context.functions;
        let mut equal = Vec::with_capacity(sought.len());
        for (at, (sought, found)) in sought.iter().zip(schema.types()).enumerate() {
            let outer = self.outer_expression(at, self.graph.data_type(*sought));
            equal.push(call("equals", vec![outer, Expression::column(at, found)], functions)?);
        }
        let mut plan = Plan::Values { schema: schema.clone(), blocks: blocks.to_vec() };
        if let Some(predicate) = all_of(equal, functions)? {
            plan = Plan::Filter { input: Box::new(plan), predicate };
        }
        self.graph.correlated(SubqueryKind::Exists, plan, sought, DataType::UInt8).map(Some)
    }

    /// The elements of a tuple, or the one value that there is; `None` where these are not so many.
    fn elements(&mut self, value: NodeId, count: usize) -> Result<Option<Vec<NodeId>>> {
        let DataType::Tuple(elements) = self.graph.data_type(value) else {
            return Ok((count == 1).then(|| vec![value]));
        };
        if elements.len() != count {
            return Ok(None);
        }
        let numbers = 1..=count as u64;
        let element = |number| {
            let number = self.graph.constant(Value::UInt64(number), DataType::UInt64);
            self.scalar("tupleElement", vec![value, number])
        };
        numbers.map(element).collect::<Result<_>>().map(Some)
    }

    /// Whether it is a column that the table is sorted by; also where that is not known.
    fn is_of_key(&self, value: NodeId) -> bool {
        match (self.graph.column_of(value), self.source.as_table()) {
            (Some(column), Some(table)) if !table.sorting_key().is_empty() => table.sorting_key().contains(&column),
            (Some(_), _) => true,
            (None, _) => false,
        }
    }
}
