//! Inner joins next to one another as a graph: the relations, and what holds between their columns.

use std::sync::Arc;

use squall_functions::FunctionContext;
use squall_types::{Error, Result, Schema};

use crate::analyzer::{as_join_key, equality};
use crate::expression::Expression;
use crate::plan::{Join, JoinKey, JoinKind, JoinStrictness, Plan};
use crate::rules::cardinality::{self, Span};
use crate::rules::{all_of, call, column_made_nullable, conjuncts};

/// A set of relations, a bit each.
pub type Relations = u64;

/// The rows of a relation of which nobody knows how many there are.
const ROWS_UNKNOWN: f64 = 10_000.0;

/// What is joined: anything but an inner join.
#[derive(Debug)]
pub struct Relation {
    pub plan: Plan,
    /// Its estimated rows.
    pub rows: f64,
    /// Where its columns begin among those of all relations.
    first: usize,
}

/// One of several expressions that are equal in every row of the result.
#[derive(Debug)]
pub struct Member {
    /// The relation whose columns it reads.
    pub relation: usize,
    /// How many values it has, before conditions leave some of them out.
    pub values: f64,
    /// How many rows there are of which it could be a key.
    pub rows: f64,
    /// Its values, where they are known.
    span: Option<Span>,
    expression: Expression,
}

/// Any other condition.
#[derive(Debug)]
pub struct Condition {
    /// The relations that it reads.
    pub relations: Relations,
    expression: Expression,
}

/// An order of joins. The left side streams past the right one, which is held in memory.
#[derive(Clone, Debug)]
pub enum Tree {
    Relation(usize),
    Join(Box<Tree>, Box<Tree>),
}

impl Tree {
    /// The relations in it.
    pub fn relations(&self) -> Relations {
        match self {
            Self::Relation(relation) => 1 << relation,
            Self::Join(left, right) => left.relations() | right.relations(),
        }
    }
}

/// The graph. Expressions are over the columns of all relations one after the other.
#[derive(Debug)]
pub struct Graph {
    pub relations: Vec<Relation>,
    /// Equalities: of each class all members are equal.
    pub classes: Vec<Vec<Member>>,
    pub conditions: Vec<Condition>,
    /// The order in which the query has the joins.
    pub written: Tree,
    /// The columns that are put out.
    columns: Vec<Expression>,
}

/// Whether a join only puts rows side by side that its keys and its condition let pass.
fn is_plain(join: &Join) -> bool {
    join.kind == JoinKind::Inner
        && join.strictness == JoinStrictness::All
        && join.nearest.is_none()
        && join.condition.as_ref().is_none_or(Expression::is_deterministic)
        && join.keys.iter().all(|key| key.left.is_deterministic() && key.right.is_deterministic())
}

/// Whether a step belongs to the joins that it stands above: it tests their rows, or leaves out or turns their columns.
fn is_between(plan: &Plan) -> bool {
    match plan {
        Plan::Join(join) => is_plain(join),
        Plan::Filter { input, predicate } => predicate.is_deterministic() && is_between(input),
        Plan::Project { input, expressions, .. } => {
            expressions.iter().all(|expression| column_made_nullable(expression).is_some()) && is_between(input)
        }
        _ => false,
    }
}

/// Calls `visit` with every relation below neighbouring joins; with the step itself where it is none of these.
pub fn for_each_relation(plan: &mut Plan, visit: &mut dyn FnMut(&mut Plan) -> Result<()>) -> Result<()> {
    if is_between(plan) { plan.try_for_each_input(|input| for_each_relation(input, visit)) } else { visit(plan) }
}

/// How many relations neighbouring joins have.
fn relations(plan: &Plan) -> usize {
    match plan {
        Plan::Join(join) if is_plain(join) => relations(&join.left) + relations(&join.right),
        Plan::Filter { input, .. } | Plan::Project { input, .. } if is_between(plan) => relations(input),
        _ => 1,
    }
}

impl Graph {
    /// The graph of neighbouring joins of at least three relations.
    ///
    /// # Errors
    /// Where a key's sides cannot be compared otherwise.
    pub fn of(plan: &Plan, functions: &FunctionContext) -> Result<Option<Self>> {
        // Counted first: a table may have to work to know its rows.
        if !is_between(plan) || !(3..=Relations::BITS as usize).contains(&relations(plan)) {
            return Ok(None);
        }
        let mut found = Self {
            relations: Vec::new(),
            classes: Vec::new(),
            conditions: Vec::new(),
            written: Tree::Relation(0),
            columns: Vec::new(),
        };
        let (mut keys, mut conditions) = (Vec::new(), Vec::new());
        (found.columns, found.written) = found.take(plan, &mut keys, &mut conditions);
        for (left, right) in keys {
            found.equate(left, right, functions)?;
        }
        for expression in conditions {
            found.add(expression);
        }
        found.keep_to_common_values();
        Ok(Some(found))
    }

    /// Has each relation only those rows whose keys all others of a class may have.
    fn keep_to_common_values(&mut self) {
        for class in &mut self.classes {
            let Some(common) = class.iter().filter_map(|member| member.span).reduce(Span::and) else { continue };
            for member in class {
                let Some(span) = member.span else { continue };
                member.values = member.values.min(common.width());
                if let Some(relation) = self.relations.get_mut(member.relation) {
                    let fraction = common.width() / span.width();
                    relation.rows = cardinality::rows_with_partner(relation.rows, member.rows, fraction).max(1.0);
                }
            }
        }
    }

    /// Adds a step with what is below it; its columns and its tree.
    fn take(
        &mut self,
        plan: &Plan,
        keys: &mut Vec<(Expression, Expression)>,
        conditions: &mut Vec<Expression>,
    ) -> (Vec<Expression>, Tree) {
        match plan {
            Plan::Join(join) if is_plain(join) => {
                let (left, left_tree) = self.take(&join.left, keys, conditions);
                let (right, right_tree) = self.take(&join.right, keys, conditions);
                keys.extend(join.keys.iter().map(|key| (key.left.substitute(&left), key.right.substitute(&right))));
                let of_left = join.left_columns.iter().filter_map(|at| left.get(*at)).cloned();
                let of_right = join.right_columns.iter().filter_map(|at| right.get(*at)).cloned();
                let columns = of_left.chain(of_right).collect();
                if let Some(condition) = &join.condition {
                    let both: Vec<Expression> = left.into_iter().chain(right).collect();
                    conjuncts(condition.substitute(&both), conditions);
                }
                (columns, Tree::Join(Box::new(left_tree), Box::new(right_tree)))
            }
            Plan::Filter { input, predicate } if is_between(plan) => {
                let (columns, tree) = self.take(input, keys, conditions);
                conjuncts(predicate.substitute(&columns), conditions);
                (columns, tree)
            }
            Plan::Project { input, expressions, .. } if is_between(plan) => {
                let (columns, tree) = self.take(input, keys, conditions);
                (expressions.iter().map(|expression| expression.substitute(&columns)).collect(), tree)
            }
            relation => {
                let first = self.relations.last().map_or(0, |last| last.first + last.plan.schema().len());
                let columns = relation.schema().types().enumerate();
                let columns = columns.map(|(at, data_type)| Expression::column(first + at, data_type)).collect();
                let rows = cardinality::rows(relation).unwrap_or(ROWS_UNKNOWN).max(1.0);
                self.relations.push(Relation { plan: relation.clone(), rows, first });
                (columns, Tree::Relation(self.relations.len() - 1))
            }
        }
    }

    /// The relations whose columns an expression reads.
    fn read_by(&self, expression: &Expression) -> Relations {
        let mut found = 0;
        expression.visit_columns(&mut |column| {
            let after = self.relations.partition_point(|relation| relation.first <= column);
            found |= 1 << after.saturating_sub(1);
        });
        found
    }

    /// Notes that the sides of a key are equal.
    ///
    /// # Errors
    /// `LOGICAL_ERROR` where they are of types that `equals` does not compare.
    fn equate(&mut self, left: Expression, right: Expression, functions: &FunctionContext) -> Result<()> {
        let (Some(of_left), Some(of_right)) = (self.member(&left), self.member(&right)) else {
            // A side that reads several relations: the equality is a key again where a join has these relations on one side.
            self.add(call("equals", vec![left, right], functions)?);
            return Ok(());
        };
        let mut joined = vec![of_left, of_right];
        let mut others = Vec::with_capacity(self.classes.len() + 1);
        for class in self.classes.drain(..) {
            let is_same = |member: &Member| joined.iter().any(|new| new.expression.same(&member.expression));
            if class.iter().any(is_same) {
                joined.retain(|new| !class.iter().any(|member| member.expression.same(&new.expression)));
                joined.extend(class);
            } else {
                others.push(class);
            }
        }
        others.push(joined);
        self.classes = others;
        Ok(())
    }

    /// The expression as a member of a class; `None` where it does not read exactly one relation.
    fn member(&self, expression: &Expression) -> Option<Member> {
        let relations = self.read_by(expression);
        let at = relations.trailing_zeros() as usize;
        let relation = self.relations.get(at).filter(|_| relations.count_ones() == 1)?;
        let own = expression.map_columns(&|column| column - relation.first);
        let rows = cardinality::source_rows(&relation.plan, &own).unwrap_or(relation.rows);
        let values = cardinality::distinct(&relation.plan, &own).unwrap_or(rows).max(1.0);
        let span = cardinality::key_span(&relation.plan, &own);
        Some(Member { relation: at, values, rows: rows.max(1.0), span, expression: expression.clone() })
    }

    /// Notes a condition; one of a single relation is tested there.
    fn add(&mut self, expression: Expression) {
        let relations = self.read_by(&expression);
        let only = relations.trailing_zeros() as usize;
        if relations.count_ones() == 1
            && let Some(relation) = self.relations.get_mut(only)
        {
            // It leaves fewer of the relation's rows.
            let own = expression.map_columns(&|column| column - relation.first);
            relation.rows = (relation.rows * cardinality::selectivity(&own, &relation.plan)).max(1.0);
        }
        self.conditions.push(Condition { relations, expression });
    }

    /// The joins in another order, with the columns that the graph's plan had.
    ///
    /// # Errors
    /// Where conditions cannot be put together.
    pub fn plan(&self, tree: &Tree, schema: &Arc<Schema>, functions: &FunctionContext) -> Result<Plan> {
        let (mut plan, columns) = self.joined(tree, functions)?;
        // What reads no column at all.
        let constant = self.conditions.iter().filter(|condition| condition.relations == 0);
        plan = filtered(plan, constant.map(|condition| condition.expression.clone()).collect(), functions)?;
        let expressions = self.columns.iter().map(|column| local(column, &columns)).collect();
        Ok(Plan::Project { input: Box::new(plan), expressions, schema: schema.clone() })
    }

    /// The plan of a tree, and which of all columns its own are.
    fn joined(&self, tree: &Tree, functions: &FunctionContext) -> Result<(Plan, Vec<usize>)> {
        let (plan, columns, within) = match tree {
            Tree::Relation(at) => {
                let Some(relation) = self.relations.get(*at) else { return Err(Error::logical("no such relation")) };
                let width = relation.plan.schema().len();
                (relation.plan.clone(), (relation.first..relation.first + width).collect(), [0, 0])
            }
            Tree::Join(left, right) => {
                let within = [left.relations(), right.relations()];
                let (left, left_columns) = self.joined(left, functions)?;
                let (right, right_columns) = self.joined(right, functions)?;
                let of = |class: &&Vec<Member>, side: Relations| {
                    class
                        .iter()
                        .find(|member| side & (1 << member.relation) != 0)
                        .map(|member| member.expression.clone())
                };
                let keys = self.classes.iter().filter_map(|class| {
                    Some(JoinKey {
                        left: local(&of(&class, within[0])?, &left_columns),
                        right: local(&of(&class, within[1])?, &right_columns),
                    })
                });
                let join = side_by_side(left, right, keys.collect());
                (join, [left_columns, right_columns].concat(), within)
            }
        };
        let all = tree.relations();
        let is_new = |condition: &&Condition| {
            condition.relations & !all == 0
                && condition.relations != 0
                && within.iter().all(|side| condition.relations & !side != 0)
        };
        let mut tested = Vec::new();
        let mut plan = plan;
        for condition in self.conditions.iter().filter(is_new) {
            let expression = local(&condition.expression, &columns);
            if let Plan::Join(join) = &mut plan
                && let first = join.left.schema().len()
                && let Some((left, right)) = equality(&expression, first)
                && let Some(key) = as_join_key(&left, &right, functions)
            {
                let right = key.right.map_columns(&|column| column - first);
                join.keys.push(JoinKey { left: key.left, right });
                continue;
            }
            tested.push(expression);
        }
        Ok((filtered(plan, tested, functions)?, columns))
    }
}

/// An expression over all columns as one over those that a step has.
fn local(expression: &Expression, columns: &[usize]) -> Expression {
    expression.map_columns(&|column| columns.iter().position(|own| *own == column).unwrap_or(column))
}

fn filtered(plan: Plan, conditions: Vec<Expression>, functions: &FunctionContext) -> Result<Plan> {
    Ok(match all_of(conditions, functions)? {
        Some(predicate) => Plan::Filter { input: Box::new(plan), predicate },
        None => plan,
    })
}

fn side_by_side(left: Plan, right: Plan, keys: Vec<JoinKey>) -> Plan {
    Plan::Join(Join::inner(left, right, keys))
}
