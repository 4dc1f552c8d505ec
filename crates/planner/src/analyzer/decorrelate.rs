//! Joins the rows of subqueries that read columns of the query around them: each such column becomes a column of the subquery's own plan,
//! by which the two are joined (Neumann and Kemper, Unnesting Arbitrary Queries, 2015). Where the subquery says itself which of its columns
//! equals the outer one, that column serves; else the distinct outer values are joined to what the subquery reads.

use std::cell::Cell;
use std::sync::Arc;

use squall_functions::FunctionContext;
use squall_types::{DataType, Error, Result, Schema, Value, default_value};

use super::conversion::cast;
use super::correlated::outer_number;
use super::join_keys::{as_join_key, equality, sides_of};
use super::stage::project;
use crate::expression::Expression;
use crate::plan::{Aggregate, Join, JoinKey, JoinKind, JoinStrictness, Plan, SortKey, Window};
use crate::rules::{all_of, call, conjuncts};

/// What a subquery in an expression is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SubqueryKind {
    /// Its one value, NULL where there are no rows.
    Scalar,
    /// Whether it has rows.
    Exists,
    /// Whether a value is among its rows.
    In,
}

/// What is made of a subquery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// A column after those that are there.
    Column,
    /// Only the rows for which it holds.
    Matching,
    /// Only the rows for which it does not hold.
    NotMatching,
}

/// A subquery and what it reads of the plan around it.
pub(crate) struct Correlated<'a> {
    pub kind: SubqueryKind,
    pub plan: Plan,
    /// The outer columns that it reads, over the plan around.
    pub references: &'a [Expression],
    /// What IN looks for, over the plan around.
    pub value: Option<&'a Expression>,
    pub functions: &'a FunctionContext,
}

/// What the right side of the join comes to.
struct RightSide {
    plan: Plan,
    keys: Vec<JoinKey>,
    /// Over the columns of both sides.
    condition: Vec<Expression>,
}

impl Correlated<'_> {
    /// The plan around joined with the subquery.
    ///
    /// # Errors
    /// `NOT_IMPLEMENTED` for a subquery that cannot be joined.
    pub fn join(self, left: Plan, wanted: Wanted) -> Result<Plan> {
        let RightSide { mut plan, keys, condition } = match self.peeled(left.schema().len())? {
            Some(peeled) => peeled,
            None => self.unnested(&left)?,
        };
        let mut fields = left.schema().fields.clone();
        let first = fields.len();
        let mut right_columns = Vec::new();
        if wanted == Wanted::Column {
            let (column, data_type) = match self.kind {
                SubqueryKind::Scalar => (0, plan.schema().fields[0].1.to_nullable()),
                _ => {
                    let columns = plan.schema().len();
                    plan = with_columns(plan, vec![constant(1, DataType::UInt8)]);
                    (columns, DataType::UInt8)
                }
            };
            right_columns.push(column);
            fields.push(("_subquery".into(), data_type));
        }
        let (kind, strictness) = match wanted {
            Wanted::Column => (JoinKind::Left, JoinStrictness::Any),
            Wanted::Matching => (JoinKind::Left, JoinStrictness::Semi),
            Wanted::NotMatching => (JoinKind::Left, JoinStrictness::Anti),
        };
        Ok(Plan::Join(Join {
            left: Box::new(left),
            right: Box::new(plan),
            kind,
            strictness,
            keys,
            condition: all_of(condition, self.functions)?,
            nearest: None,
            runtime_filter: None,
            left_columns: (0..first).collect(),
            right_columns,
            schema: Arc::new(Schema { fields }),
        }))
    }

    /// The rows of EXISTS or IN below its conditions, where only these read outer columns: they become conditions of the join.
    fn peeled(&self, first: usize) -> Result<Option<RightSide>> {
        if self.kind == SubqueryKind::Scalar {
            return Ok(None);
        }
        let mut plan = self.plan.clone();
        let mut conditions = Vec::new();
        let mut value = plan.schema().fields.first().map(|(_, data_type)| Expression::column(0, data_type));
        loop {
            plan = match plan {
                Plan::Project { input, expressions, .. } => {
                    conditions
                        .iter_mut()
                        .for_each(|condition: &mut Expression| *condition = condition.substitute(&expressions));
                    value = value.map(|value| value.substitute(&expressions));
                    *input
                }
                Plan::Filter { input, predicate } => {
                    conjuncts(predicate, &mut conditions);
                    *input
                }
                Plan::Sort { input, limit: None, .. } | Plan::Distinct { input } => *input,
                Plan::Limit { input, offset: 0, limit: None | Some(1..), .. }
                    if self.kind == SubqueryKind::Exists && conditions.is_empty() =>
                {
                    *input
                }
                other => {
                    plan = other;
                    break;
                }
            };
        }
        if has_outer(&plan) {
            return Ok(None);
        }
        if let (SubqueryKind::In, Some(found), Some(sought)) = (self.kind, value, self.value) {
            return self.right_side(plan, conditions, first, Some((sought.clone(), found))).map(Some);
        }
        self.right_side(plan, conditions, first, None).map(Some)
    }

    fn right_side(
        &self,
        mut plan: Plan,
        conditions: Vec<Expression>,
        first: usize,
        sought: Option<(Expression, Expression)>,
    ) -> Result<RightSide> {
        let (mut keys, mut condition, mut of_right) = (Vec::new(), Vec::new(), Vec::new());
        let reference = |number: usize| self.references.get(number).cloned();
        let of_both = |expression: &Expression| replace_outer(&expression.map_columns(&|at| at + first), &reference);
        let mut all: Vec<Expression> = conditions.iter().map(of_both).collect();
        if let Some((sought, found)) = sought {
            all.push(call("equals", vec![sought, of_both(&found)], self.functions)?);
        }
        for both in all {
            let (of_outer, _) = sides_of(&both, first);
            if !of_outer {
                of_right.push(both.map_columns(&|at| at - first));
                continue;
            }
            let key = equality(&both, first)
                .and_then(|(left, right)| as_join_key(&left, &right.map_columns(&|at| at - first), self.functions));
            match key {
                Some(key) => keys.push(key),
                None => condition.push(both),
            }
        }
        if let Some(predicate) = all_of(of_right, self.functions)? {
            plan = Plan::Filter { input: Box::new(plan), predicate };
        }
        Ok(RightSide { plan, keys, condition })
    }

    /// The subquery's rows for every value of the outer columns.
    fn unnested(&self, left: &Plan) -> Result<RightSide> {
        let types: Vec<DataType> = self.references.iter().map(|reference| reference.data_type().clone()).collect();
        let names = (0..types.len()).map(|number| format!("outer{number}").into());
        let domain = Plan::Distinct { input: Box::new(project(left.clone(), self.references.to_vec(), names)) };
        let unnesting = Unnesting { domain, types, has_domain: Cell::new(false), functions: self.functions };
        let width = self.plan.schema().len();
        let plan = unnesting.rows(self.plan.clone())?;
        let mut keys = Vec::new();
        for (at, (reference, data_type)) in self.references.iter().zip(&unnesting.types).enumerate() {
            let found = Expression::column(width + at, data_type);
            if unnesting.has_domain.get() {
                unnesting.add_keys(reference, &found, &mut keys)?;
            } else {
                // Columns that equal the outer ones are never NULL here.
                keys.push(unnesting.plain_key(reference, &found)?);
            }
        }
        let mut condition = Vec::new();
        if let (SubqueryKind::In, Some(sought)) = (self.kind, self.value) {
            let found = Expression::column(0, &plan.schema().fields[0].1);
            let first = left.schema().len();
            match as_join_key(sought, &found, self.functions) {
                Some(key) => keys.push(key),
                None => {
                    let found = found.map_columns(&|at| at + first);
                    condition.push(call("equals", vec![sought.clone(), found], self.functions)?);
                }
            }
        }
        Ok(RightSide { plan, keys, condition })
    }
}

/// Gives plans the outer columns that they read as columns of their own, after those that they have.
struct Unnesting<'a> {
    /// The distinct values of all outer columns.
    domain: Plan,
    types: Vec<DataType>,
    /// Whether some of the subquery's rows were joined to the domain, whose values may be NULL.
    has_domain: Cell<bool>,
    functions: &'a FunctionContext,
}

impl Unnesting<'_> {
    fn rows(&self, plan: Plan) -> Result<Plan> {
        if !has_outer(&plan) {
            return Ok(self.with_domain(plan));
        }
        let width = plan.schema().len();
        match plan {
            Plan::Filter { input, predicate } => self.filter(*input, predicate),
            Plan::Project { input, expressions, schema } => {
                let inner = input.schema().len();
                let input = self.rows(*input)?;
                let expressions = expressions.iter().map(|expression| self.over(expression, inner));
                let expressions = expressions.chain(self.columns(inner)).collect();
                let names: Vec<Arc<str>> =
                    schema.fields.iter().map(|(name, _)| name.clone()).chain(self.names()).collect();
                Ok(project(input, expressions, names.into_iter()))
            }
            Plan::Aggregate(aggregate) => self.aggregate(aggregate),
            Plan::Distinct { input } => Ok(Plan::Distinct { input: Box::new(self.rows(*input)?) }),
            Plan::Sort { input, mut keys, limit: None, group_limit: None } => {
                keys.iter_mut().for_each(|key| key.expression = self.over(&key.expression, width));
                Ok(Plan::Sort { input: Box::new(self.rows(*input)?), keys, limit: None, group_limit: None })
            }
            Plan::Limit { input, offset, limit, ties: None } => Ok(Plan::LimitBy {
                input: Box::new(self.rows(*input)?),
                offset,
                limit: limit.unwrap_or(u64::MAX),
                keys: self.columns(width).collect(),
            }),
            Plan::LimitBy { input, offset, limit, keys } => {
                let keys = keys.iter().map(|key| self.over(key, width)).chain(self.columns(width)).collect();
                Ok(Plan::LimitBy { input: Box::new(self.rows(*input)?), offset, limit, keys })
            }
            Plan::Union { inputs, schema } => {
                let inputs = inputs.into_iter().map(|input| self.rows(input)).collect::<Result<_>>()?;
                let fields = schema.fields.iter().cloned().chain(self.fields()).collect();
                Ok(Plan::Union { inputs, schema: Arc::new(Schema { fields }) })
            }
            Plan::ArrayJoin { input, arrays, is_left, .. } => {
                let inner = input.schema().len();
                let input = self.rows(*input)?;
                let arrays: Vec<Expression> = arrays.iter().map(|array| self.over(array, inner)).collect();
                let items = schema_after(&schema_of(&input), arrays.iter().map(item_of));
                let plan = Plan::ArrayJoin { input: Box::new(input), arrays, is_left, schema: items };
                Ok(self.in_order(plan, inner))
            }
            Plan::Window(window) => self.window(window),
            Plan::Join(join) => self.join(join),
            Plan::Sort { .. } | Plan::Limit { .. } => {
                Err(Error::not_implemented("A subquery with LIMIT WITH TIES that reads columns of the query around it"))
            }
            Plan::Fill(_) => {
                Err(Error::not_implemented("A subquery WITH FILL that reads columns of the query around it"))
            }
            Plan::Scan(_)
            | Plan::Values { .. }
            | Plan::CommonSubplan { .. }
            | Plan::CommonRows(_)
            | Plan::LateColumns(_) => Err(Error::logical("rows that read outer columns")),
        }
    }

    /// Each row of a plan with every value of the outer columns.
    fn with_domain(&self, plan: Plan) -> Plan {
        self.has_domain.set(true);
        let fields = plan.schema().fields.iter().chain(&self.domain.schema().fields).cloned().collect();
        Plan::Join(Join {
            left_columns: (0..plan.schema().len()).collect(),
            right_columns: (0..self.types.len()).collect(),
            left: Box::new(plan),
            right: Box::new(self.domain.clone()),
            kind: JoinKind::Inner,
            strictness: JoinStrictness::All,
            keys: Vec::new(),
            condition: None,
            nearest: None,
            runtime_filter: None,
            schema: Arc::new(Schema { fields }),
        })
    }

    fn filter(&self, input: Plan, predicate: Expression) -> Result<Plan> {
        let width = input.schema().len();
        let mut conditions = Vec::new();
        conjuncts(predicate, &mut conditions);
        if !has_outer(&input)
            && let Some(equal) = self.equal_columns(&mut conditions)?
        {
            let known =
                conditions.iter().map(|condition| replace_outer(condition, &|number| equal.get(number).cloned()));
            let conditions: Vec<Expression> = known.collect();
            let mut plan = input;
            if let Some(predicate) = all_of(conditions, self.functions)? {
                plan = Plan::Filter { input: Box::new(plan), predicate };
            }
            let columns = plan.schema().fields.clone();
            let outer =
                equal.into_iter().zip(&self.types).map(|(equal, data_type)| cast(equal, data_type, self.functions));
            let expressions =
                columns.iter().enumerate().map(|(at, (_, data_type))| Ok(Expression::column(at, data_type)));
            let expressions = expressions.chain(outer).collect::<Result<_>>()?;
            let names: Vec<Arc<str>> = columns.iter().map(|(name, _)| name.clone()).chain(self.names()).collect();
            return Ok(project(plan, expressions, names.into_iter()));
        }
        let mut plan = self.rows(input)?;
        let conditions = conditions.iter().map(|condition| self.over(condition, width)).collect();
        if let Some(predicate) = all_of(conditions, self.functions)? {
            plan = Plan::Filter { input: Box::new(plan), predicate };
        }
        Ok(plan)
    }

    /// What equals each outer column by one of the conditions, which are replaced by others that keep NULL out; `None` where not all outer
    /// columns have such.
    fn equal_columns(&self, conditions: &mut Vec<Expression>) -> Result<Option<Vec<Expression>>> {
        let mut equal: Vec<Option<Expression>> = vec![None; self.types.len()];
        let mut used = Vec::new();
        for (at, condition) in conditions.iter().enumerate() {
            let Expression::Function { name, arguments, .. } = condition else { continue };
            let [one, other] = &arguments[..] else { continue };
            if &**name != "equals" {
                continue;
            }
            for (outer, own) in [(one, other), (other, one)] {
                let Some(number) = outer_number(outer).filter(|number| matches!(equal.get(*number), Some(None))) else {
                    continue;
                };
                // Floats that are equal need not be the same.
                let is_plain = as_join_key(outer, own, self.functions).is_some()
                    && !own.data_type().inner().is_float()
                    && own.data_type().remove_nullable() == outer.data_type().remove_nullable()
                    && !reads_outer(own)
                    && own.is_deterministic();
                if is_plain {
                    equal[number] = Some(own.clone());
                    used.push(at);
                    break;
                }
            }
        }
        let Some(equal) = equal.into_iter().collect::<Option<Vec<Expression>>>() else { return Ok(None) };
        let mut at = 0;
        conditions.retain(|_| {
            at += 1;
            !used.contains(&(at - 1))
        });
        for own in &equal {
            if own.data_type().is_nullable() {
                conditions.push(call("isNotNull", vec![own.clone()], self.functions)?);
            }
        }
        Ok(Some(equal))
    }

    fn aggregate(&self, aggregate: Aggregate) -> Result<Plan> {
        let inner = aggregate.input.schema().len();
        let input = Box::new(self.rows(*aggregate.input)?);
        let width = aggregate.keys.len();
        let keys = aggregate.keys.iter().map(|key| self.over(key, inner)).chain(self.columns(inner)).collect();
        let mut aggregates = aggregate.aggregates;
        for argument in aggregates.iter_mut().flat_map(|call| &mut call.arguments) {
            *argument = self.over(argument, inner);
        }
        let (of_keys, of_calls) = aggregate.schema.fields.split_at(width);
        let fields = of_keys.iter().cloned().chain(self.fields()).chain(of_calls.iter().cloned()).collect();
        let mut sets = aggregate.sets;
        if let Some(sets) = &mut sets {
            sets.has_group_without_rows = false;
        }
        let schema = Arc::new(Schema { fields });
        let plan =
            Plan::Aggregate(Aggregate { input, keys, aggregates, schema, with_totals: false, sets, limit: None });
        Ok(self.in_order(plan, width))
    }

    fn window(&self, window: Window) -> Result<Plan> {
        let inner = window.input.schema().len();
        let input = self.rows(*window.input)?;
        let partition_by: Vec<Expression> =
            self.columns(inner).chain(window.partition_by.iter().map(|key| self.over(key, inner))).collect();
        let mut order_by = window.order_by;
        order_by.iter_mut().for_each(|key| key.expression = self.over(&key.expression, inner));
        let mut calls = window.calls;
        for argument in calls.iter_mut().flat_map(|call| &mut call.arguments) {
            *argument = self.over(argument, inner);
        }
        let key =
            |expression: &Expression| SortKey { expression: expression.clone(), descending: false, nulls_first: false };
        let keys = partition_by.iter().map(key).chain(order_by.iter().cloned()).collect();
        let input = Plan::Sort { input: Box::new(input), keys, limit: None, group_limit: None };
        let schema = schema_after(
            &schema_of(&input),
            calls.iter().map(|call| (call.name.clone(), call.function.return_type().clone())),
        );
        let plan =
            Plan::Window(Window { input: Box::new(input), partition_by, order_by, frame: window.frame, calls, schema });
        Ok(self.in_order(plan, inner))
    }

    fn join(&self, mut join: Join) -> Result<Plan> {
        let count = self.types.len();
        let (first, right_width) = (join.left.schema().len(), join.right.schema().len());
        let (out_left, out) = (join.left_columns.len(), join.schema.len());
        let condition_reads = join.condition.as_ref().is_some_and(reads_outer);
        let (left_reads, right_reads) = (has_outer(&join.left), has_outer(&join.right));
        let (with_left, with_right) = match join.kind {
            JoinKind::Inner | JoinKind::Left if left_reads && !right_reads && !condition_reads => (true, false),
            JoinKind::Inner if !left_reads => (false, true),
            JoinKind::Right if !left_reads && !condition_reads => (false, true),
            JoinKind::Inner | JoinKind::Left | JoinKind::Right => (true, true),
            JoinKind::Full => {
                return Err(Error::not_implemented(
                    "FULL JOIN in a subquery that reads columns of the query around it",
                ));
            }
        };
        // Of keys that read outer columns nothing is known below the join: they come from ON, where an outer column is a condition.
        let to_right = if with_left { count } else { 0 };
        let outer_at = if with_left { first } else { first + right_width };
        join.condition = join.condition.map(|condition| {
            let moved = condition.map_columns(&|at| if at < first { at } else { at + to_right });
            self.over(&moved, outer_at)
        });
        join.left.replace_with(|left| if with_left { self.rows(left) } else { Ok(left) })?;
        join.right.replace_with(|right| if with_right { self.rows(right) } else { Ok(right) })?;
        if with_left && with_right {
            for (at, data_type) in self.types.iter().enumerate() {
                let left = Expression::column(first + at, data_type);
                self.add_keys(&left, &Expression::column(right_width + at, data_type), &mut join.keys)?;
            }
        }
        let mut fields = join.schema.fields.clone();
        let from_left = with_left && join.kind != JoinKind::Right;
        if from_left {
            join.left_columns.extend(first..first + count);
            fields.splice(out_left..out_left, self.fields());
        } else {
            join.right_columns.extend(right_width..right_width + count);
            fields.extend(self.fields());
        }
        join.schema = Arc::new(Schema { fields });
        let plan = Plan::Join(join);
        Ok(if from_left { self.in_order(plan, out_left) } else { self.in_order(plan, out) })
    }

    /// The key by which two values of an outer column are the same.
    fn plain_key(&self, left: &Expression, right: &Expression) -> Result<JoinKey> {
        let plain = left.data_type().remove_low_cardinality().clone();
        let side = |side: &Expression| cast(side.clone(), &plain, self.functions);
        Ok(JoinKey { left: side(left)?, right: side(right)? })
    }

    /// Keys by which two values of an outer column are the same, also where both are NULL.
    fn add_keys(&self, left: &Expression, right: &Expression, keys: &mut Vec<JoinKey>) -> Result<()> {
        let JoinKey { left, right } = self.plain_key(left, right)?;
        let plain = left.data_type().clone();
        if !plain.is_nullable() {
            keys.push(JoinKey { left, right });
            return Ok(());
        }
        let is_null = |side: &Expression| call("isNull", vec![side.clone()], self.functions);
        keys.push(JoinKey { left: is_null(&left)?, right: is_null(&right)? });
        let value = |side: Expression| {
            let data_type = plain.remove_nullable();
            let absent = Expression::Constant { value: default_value(&data_type), data_type };
            call("ifNull", vec![side, absent], self.functions)
        };
        keys.push(JoinKey { left: value(left)?, right: value(right)? });
        Ok(())
    }

    /// An expression that reads the outer columns from position `first` on.
    fn over(&self, expression: &Expression, first: usize) -> Expression {
        replace_outer(expression, &|number| {
            self.types.get(number).map(|data_type| Expression::column(first + number, data_type))
        })
    }

    /// The outer columns where they begin at `first`.
    fn columns(&self, first: usize) -> impl Iterator<Item = Expression> {
        self.types.iter().enumerate().map(move |(at, data_type)| Expression::column(first + at, data_type))
    }

    fn names(&self) -> impl Iterator<Item = Arc<str>> {
        (0..self.types.len()).map(|number| format!("outer{number}").into())
    }

    fn fields(&self) -> impl Iterator<Item = (Arc<str>, DataType)> {
        self.names().zip(self.types.iter().cloned())
    }

    /// The plan with the outer columns, which are at `first`, after all others.
    fn in_order(&self, plan: Plan, first: usize) -> Plan {
        let fields = plan.schema().fields.clone();
        let last = first + self.types.len();
        let order: Vec<usize> = (0..first).chain(last..fields.len()).chain(first..last).collect();
        let expressions = order.iter().map(|at| Expression::column(*at, &fields[*at].1)).collect();
        project(plan, expressions, order.iter().map(|at| fields[*at].0.clone()).collect::<Vec<_>>().into_iter())
    }
}

fn constant(value: u64, data_type: DataType) -> Expression {
    Expression::Constant { value: Value::UInt64(value), data_type }
}

fn with_columns(plan: Plan, added: Vec<Expression>) -> Plan {
    let fields = plan.schema().fields.clone();
    let columns = fields.iter().enumerate().map(|(at, (_, data_type))| Expression::column(at, data_type));
    let names: Vec<Arc<str>> =
        fields.iter().map(|(name, _)| name.clone()).chain(added.iter().map(|_| "_subquery".into())).collect();
    project(plan, columns.chain(added).collect(), names.into_iter())
}

fn schema_of(plan: &Plan) -> Arc<Schema> {
    plan.schema().clone()
}

fn schema_after(schema: &Schema, added: impl Iterator<Item = (Arc<str>, DataType)>) -> Arc<Schema> {
    Arc::new(Schema { fields: schema.fields.iter().cloned().chain(added).collect() })
}

/// The column of the items of an array.
fn item_of(array: &Expression) -> (Arc<str>, DataType) {
    let data_type = match array.data_type().inner() {
        DataType::Array(item) => (**item).clone(),
        map @ DataType::Map(..) => map.map_entry_type(),
        other => other.clone(),
    };
    ("item".into(), data_type)
}

/// The expression with other expressions in place of outer columns.
fn replace_outer(expression: &Expression, replaced: &impl Fn(usize) -> Option<Expression>) -> Expression {
    match outer_number(expression) {
        Some(number) => replaced(number).unwrap_or_else(|| expression.clone()),
        None => expression.map_children(|child| replace_outer(child, replaced)),
    }
}

fn reads_outer(expression: &Expression) -> bool {
    outer_number(expression).is_some() || expression.children().iter().any(reads_outer)
}

/// Whether something in a plan reads outer columns.
fn has_outer(plan: &Plan) -> bool {
    let mut found = false;
    plan.visit_expressions(&mut |expression| found |= reads_outer(expression));
    found || plan.inputs().any(has_outer)
}
