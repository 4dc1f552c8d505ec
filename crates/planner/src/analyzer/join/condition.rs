//! The condition after ON: equalities of both sides become keys, what tests one side goes below the join where it may.

use std::sync::Arc;

use squall_sql::ast;
use squall_types::{Error, ErrorCode, Result, Schema};

use super::{Clauses, Side, both, tree_names};
use crate::analyzer::conversion::supertype;
use crate::analyzer::join_keys::{equality, is_disjunction_of_equalities, null_safe_equalities, sides_of};
use crate::analyzer::scope::Scope;
use crate::analyzer::source::Source;
use crate::analyzer::stage::Stage;
use crate::explain::text;
use crate::expression::Expression;
use crate::plan::{Inequality, JoinKey, JoinKind, JoinStrictness, Nearest, Plan};
use crate::rules::{all_of, conjuncts, known_condition};

impl Scope<'_> {
    /// The keys and conditions of ON. What tests one side alone is put below the join where that makes no difference.
    pub(super) fn on(
        &mut self,
        expression: &ast::Expression,
        join: Arc<str>,
        left: &mut Side,
        right: &mut Side,
        (kind, strictness): (JoinKind, JoinStrictness),
    ) -> Result<Clauses> {
        let first = left.len();
        let (condition, schema) = self.on_condition(expression, join, left, right)?;
        let functions = &self.analyzer.context.functions;
        let mut found = Vec::new();
        conjuncts(condition.clone(), &mut found);
        let mut conditions = Vec::with_capacity(found.len());
        for condition in found {
            match null_safe_equalities(&condition, first, functions)? {
                Some(equalities) => conditions.extend(equalities),
                None => conditions.push(condition),
            }
        }
        let mut clauses = Clauses::default();
        let (mut of_left, mut of_right) = (Vec::new(), Vec::new());
        let mut needs_keys = false;
        for condition in conditions {
            match known_condition(&condition) {
                Some(true) => continue,
                Some(false) if !kind.keeps_right() => {
                    let schema = right.plan.schema().clone();
                    right.plan = Plan::no_rows(schema);
                    continue;
                }
                Some(false) => {
                    clauses.condition.push(condition);
                    continue;
                }
                None => {}
            }
            if let Some((left_key, right_key)) = equality(&condition, first) {
                clauses.keys.push(self.key(left_key, right_key, first, &tree_names(&self.source, &schema))?);
                continue;
            }
            if strictness == JoinStrictness::Asof && sides_of(&condition, first) == (true, true) {
                let names = tree_names(&self.source, &schema);
                clauses.nearest = Some(self.nearest(&condition, first, &names, clauses.nearest.is_some())?);
                continue;
            }
            needs_keys |= !is_disjunction_of_equalities(&condition, first);
            let random = !condition.is_deterministic();
            match sides_of(&condition, first) {
                (true, false) if !kind.keeps_left() && !random => of_left.push(condition),
                (false, true) if !kind.keeps_right() && !random => {
                    of_right.push(condition.map_columns(&|column| column - first));
                }
                _ => clauses.condition.push(condition),
            }
        }
        let is_filter = kind == JoinKind::Inner && strictness == JoinStrictness::All;
        if needs_keys && clauses.keys.is_empty() && !is_filter {
            let names = tree_names(&self.source, &schema);
            return Err(Error::new(
                ErrorCode::INVALID_JOIN_ON_EXPRESSION,
                format!("Cannot determine join keys in JOIN ON expression {}", text(&condition, &names)),
            ));
        }
        for (side, conditions) in [(left, of_left), (right, of_right)] {
            if let Some(predicate) = all_of(conditions, functions)? {
                side.plan.replace(|input| Plan::Filter { input: Box::new(input), predicate });
            }
        }
        Ok(clauses)
    }

    /// The condition of ON over the columns of both sides, and these columns. The scope's names are those of both then.
    fn on_condition(
        &mut self,
        expression: &ast::Expression,
        join: Arc<str>,
        left: &Side,
        right: &Side,
    ) -> Result<(Expression, Arc<Schema>)> {
        let tree = both(&left.tree, &right.tree, left.len(), join);
        let fields = left.plan.schema().fields.iter().chain(&right.plan.schema().fields).cloned().collect();
        let schema = Arc::new(Schema { fields });
        self.source = Source::names_of_join(schema.clone(), tree);
        let node = self.resolve(expression)?;
        if let Some(aggregate) = Stage::aggregates(&self.graph, &[node], &[]).first() {
            let aggregate = self.aggregate_text(*aggregate);
            return Err(Error::new(
                ErrorCode::ILLEGAL_AGGREGATION,
                format!("Aggregate function {aggregate} is found in JOIN TREE in query"),
            ));
        }
        let node = self.condition(node, "JOIN ON")?;
        let columns = self.graph.columns();
        let stage = Stage::at(&self.graph, Plan::no_rows(schema.clone()), columns);
        let condition = stage.lower(node)?;
        Ok((condition, schema))
    }

    /// The inequality of an ASOF JOIN.
    fn nearest(&self, condition: &Expression, first: usize, names: &Schema, has_one: bool) -> Result<Nearest> {
        let invalid = |message: String| Err(Error::new(ErrorCode::INVALID_JOIN_ON_EXPRESSION, message));
        let sides = match condition {
            Expression::Function { name, arguments, .. } => Inequality::of_function(name).zip(match &arguments[..] {
                [one, other] => Some((one, other)),
                _ => None,
            }),
            _ => None,
        };
        let sides = sides.and_then(|(inequality, (one, other))| match (sides_of(one, first), sides_of(other, first)) {
            ((true, false), (false, true)) => Some((inequality, one, other)),
            ((false, true), (true, false)) => Some((inequality.mirrored(), other, one)),
            _ => None,
        });
        let Some((inequality, left, right)) = sides else {
            return invalid(format!(
                "ASOF join requires one inequality predicate (<, <=, > or >=) in the JOIN ON expression, in addition to \
                 the equality predicates, but only found: {}",
                text(condition, names)
            ));
        };
        if has_one {
            return invalid(
                "ASOF join does not support multiple inequality predicates in JOIN ON expression".to_owned(),
            );
        }
        // What has no type that holds the values of both has no order either.
        supertype(&[left.data_type().inner().clone(), right.data_type().inner().clone()])?;
        let JoinKey { left, right } = self.key(left.clone(), right.clone(), first, names)?;
        Ok(Nearest { left, right, inequality })
    }
}
