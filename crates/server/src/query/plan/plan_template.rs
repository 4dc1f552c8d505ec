//! Plans for texts that differ only in constants that rows are compared with: a lookup by key is planned once, whatever keys come. Whether a
//! literal may change is found out by planning the text with a mark in its place. It may where the mark comes to stand in comparisons of
//! a condition and nowhere else in the plan, and the plan of the text itself is the same but for its value.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use parking_lot::Mutex;
use squall_planner::{Expression, Plan, QueryUses};
use squall_types::{DataType, Result, Settings, Value};

use super::kept_plan::KeptPlan;
use super::literal::Literal;
use crate::session::Session;

/// Texts with more literals are planned anew.
const LITERALS_MAX: usize = 32;
const SHARDS: usize = 16;
/// Shapes of one shard; when there are more, some go.
const SHARD_SHAPES_MAX: usize = 64;

/// A text taken apart into its literals and all the rest.
#[derive(PartialEq, Eq, Debug)]
pub struct TextShape {
    /// The text with [`HOLE`]s in the place of literals.
    rest: Arc<[u8]>,
    literals: Box<[Literal]>,
}

/// A byte that no text in UTF-8 has.
const HOLE: u8 = 0xFF;

impl TextShape {
    /// Takes a text apart at the byte ranges of its literals; `None` where it has none, or too many.
    pub fn of(text: &[u8], ranges: &[(usize, usize)]) -> Option<Self> {
        if ranges.is_empty() || ranges.len() > LITERALS_MAX || text.contains(&HOLE) {
            return None;
        }
        let mut rest = Vec::with_capacity(text.len());
        let mut end = 0;
        for (literal_start, literal_end) in ranges {
            rest.extend_from_slice(text.get(end..*literal_start)?);
            rest.push(HOLE);
            end = *literal_end;
        }
        rest.extend_from_slice(text.get(end..)?);
        let literals =
            ranges.iter().map(|(start, end)| text.get(*start..*end).map(Literal::of)).collect::<Option<_>>()?;
        Some(Self { rest: rest.into(), literals })
    }

    /// The text with others in the place of some literals.
    fn with(&self, others: &[Option<Literal>]) -> Vec<u8> {
        let mut text = Vec::new();
        for (at, rest) in self.rest.split(|byte| *byte == HOLE).enumerate() {
            text.extend_from_slice(rest);
            if let Some(literal) = others.get(at).and_then(Option::as_ref).or_else(|| self.literals.get(at)) {
                literal.append(&mut text);
            }
        }
        text
    }
}

/// A plan for every text of a shape whose fixed literals are the same.
#[derive(Debug)]
pub struct PlanTemplate {
    marked: KeptPlan,
    literals: Box<[TemplateLiteral]>,
}

#[derive(Debug)]
enum TemplateLiteral {
    Fixed(Literal),
    /// It may be another one like this mark, which stands in the plan.
    Marked(Literal),
}

impl PlanTemplate {
    /// The template of a text's plan, if there is one. `plan_text` plans another text of the same shape, in the same session.
    fn make(shape: &TextShape, kept: &KeptPlan, mut plan_text: impl FnMut(&[u8]) -> Option<KeptPlan>) -> Option<Self> {
        let mut marks: Vec<Option<Literal>> =
            shape.literals.iter().map(|literal| literal.mark(rand::random())).collect();
        let mut marked = plan_text(&shape.with(&marks))?;
        let stand: Vec<bool> = marks
            .iter()
            .map(|mark| mark.as_ref().is_some_and(|mark| comparisons_with(&marked.plan, mark) > 0))
            .collect();
        if !stand.contains(&true) {
            return None;
        }
        let fixed = marks.iter_mut().zip(&stand).filter(|(mark, stands)| mark.is_some() && !**stands);
        if fixed.map(|(mark, _)| *mark = None).count() > 0 {
            // What is said elsewhere, as in LIMIT, is part of the shape.
            marked = plan_text(&shape.with(&marks))?;
        }
        let text = format!("{:?}", marked.plan);
        let stands_nowhere_else = |mark: &Literal| {
            let shown = mark.value().map(|value| format!("{value:?}")).unwrap_or_default();
            let digits = shown.trim_start_matches("UInt64(").trim_end_matches(')');
            text.matches(digits).count() == comparisons_with(&marked.plan, mark)
        };
        if !marks.iter().flatten().all(stands_nowhere_else) {
            return None;
        }
        let literals = shape.literals.iter().zip(marks).map(|(literal, mark)| match mark {
            Some(mark) => TemplateLiteral::Marked(mark),
            None => TemplateLiteral::Fixed(literal.clone()),
        });
        let template = Self { marked, literals: literals.collect() };
        let mut own = (*template.marked.plan).clone();
        template.put_in(&mut own, &shape.literals);
        (format!("{own:?}") == format!("{:?}", kept.plan)).then_some(template)
    }

    /// Whether it is for a text with these literals.
    fn fits(&self, literals: &[Literal]) -> bool {
        let fits = |(own, literal): (&TemplateLiteral, &Literal)| match own {
            TemplateLiteral::Fixed(own) => own == literal,
            TemplateLiteral::Marked(mark) => mark.is_like(literal),
        };
        self.literals.len() == literals.len() && self.literals.iter().zip(literals).all(fits)
    }

    /// Puts literals in the place of their marks.
    fn put_in(&self, plan: &mut Plan, literals: &[Literal]) {
        for_each_compared(plan, &mut |value, data_type| {
            let stands = |(own, _): &(&TemplateLiteral, &Literal)| matches!(own, TemplateLiteral::Marked(mark) if mark.is(value, data_type));
            let found = self.literals.iter().zip(literals).find(stands);
            if let Some(new) = found.and_then(|(_, literal)| literal.value()) {
                *value = new;
            }
        });
    }
}

/// How often a plan compares with a literal.
fn comparisons_with(plan: &Plan, literal: &Literal) -> usize {
    let mut count = 0;
    for_each_compared(&mut plan.clone(), &mut |value, data_type| count += usize::from(literal.is(value, data_type)));
    count
}

/// Calls `visit` with every constant that conditions of a plan compare with.
fn for_each_compared(plan: &mut Plan, visit: &mut dyn FnMut(&mut Value, &DataType)) {
    match plan {
        Plan::Filter { predicate, .. } => for_each_compared_in(predicate, visit),
        Plan::Scan(scan) => scan.predicate.iter_mut().for_each(|predicate| for_each_compared_in(predicate, visit)),
        _ => {}
    }
    // Nothing fails here.
    let _ = plan.try_for_each_input(|input| {
        for_each_compared(input, visit);
        Ok(())
    });
}

fn for_each_compared_in(expression: &mut Expression, visit: &mut dyn FnMut(&mut Value, &DataType)) {
    // Comparisons are planned the same whatever constant of a type they compare with.
    let compares = matches!(expression, Expression::Function { function, .. } if function.properties().compares);
    for child in expression.children_mut() {
        match child {
            Expression::Constant { value, data_type } if compares => visit(value, data_type),
            child => for_each_compared_in(child, visit),
        }
    }
}

/// What is known of a shape.
#[derive(Clone, Debug)]
enum Known {
    /// One text of it was planned.
    Seen,
    /// There is no template, in this generation of names.
    Unfit(u64),
    /// There is one, made in this generation.
    Template(u64, Arc<PlanTemplate>),
}

/// Who asks, in which database, for what.
type Key = (Arc<str>, Arc<str>, Arc<[u8]>);
type Shard = Mutex<HashMap<Key, Known, foldhash::fast::RandomState>>;

/// Templates by the shape of texts.
#[derive(Default, Debug)]
pub struct PlanTemplates {
    shards: [Shard; SHARDS],
    hasher: foldhash::fast::RandomState,
}

impl PlanTemplates {
    /// The plan of a text of this shape, where a template holds for it, and what the query uses by name.
    ///
    /// # Errors
    /// Where a table has gone in this moment.
    pub fn plan(
        &self,
        shape: &TextShape,
        session: &Session,
        settings: &Arc<Settings>,
    ) -> Option<(Arc<QueryUses>, Result<Arc<Plan>>)> {
        let key = key(session, shape);
        let Known::Template(_, template) = self.shard(&key).lock().get(&key).cloned()? else { return None };
        if !template.marked.holds(session, settings) || !template.fits(&shape.literals) {
            return None;
        }
        let plan = template.marked.bind(session, |plan| template.put_in(plan, &shape.literals));
        Some((template.marked.uses.clone(), plan))
    }

    /// A text of this shape was planned and its plan is kept. The second one makes the template: `plan_text` plans another text.
    pub fn learn(
        &self,
        shape: &TextShape,
        session: &Session,
        kept: &KeptPlan,
        plan_text: impl FnMut(&[u8]) -> Option<KeptPlan>,
    ) {
        let key = key(session, shape);
        let generation = session.server.databases.generation();
        let known = self.shard(&key).lock().get(&key).cloned();
        let now = match known {
            None => Known::Seen,
            // A template that does not fit a text with other fixed literals stays: making one for each would cost more than it saves.
            Some(Known::Unfit(then) | Known::Template(then, _)) if then == generation => return,
            Some(_) => match PlanTemplate::make(shape, kept, plan_text) {
                Some(template) => Known::Template(generation, Arc::new(template)),
                None => Known::Unfit(generation),
            },
        };
        let mut shard = self.shard(&key).lock();
        if shard.len() >= SHARD_SHAPES_MAX {
            // Whichever the map has first: as good as random.
            let mut number = 0;
            shard.retain(|_, _| {
                number += 1;
                number % 2 == 0
            });
        }
        shard.insert(key, now);
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.shards.iter().for_each(|shard| shard.lock().clear());
    }

    fn shard(&self, key: &Key) -> &Shard {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }
}

fn key(session: &Session, shape: &TextShape) -> Key {
    (session.access.name.clone(), session.database.clone(), shape.rest.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Option<TextShape> {
        TextShape::of(text.as_bytes(), &squall_sql::normalize(text).literals)
    }

    #[test]
    fn texts_are_taken_apart_and_put_together() {
        let text = "SELECT a FROM t WHERE id = 12345 AND s IN ('x', 'y') LIMIT 10";
        let apart = shape(text).unwrap();
        assert_eq!(apart.literals.len(), 4);
        assert_eq!(apart.with(&[]), text.as_bytes());
        let others = [Some(Literal::Integer(7)), None, None, Some(Literal::Integer(8))];
        assert_eq!(apart.with(&others), b"SELECT a FROM t WHERE id = 7 AND s IN ('x', 'y') LIMIT 8");
        let same = shape("SELECT a FROM t WHERE id = 7 AND s IN ('x', 'y') LIMIT 8").unwrap();
        assert!(same.rest == apart.rest && same.literals != apart.literals);
        assert!(shape("SELECT a FROM t WHERE id = 7 AND s IN ('x') LIMIT 8").unwrap().rest != apart.rest);
        assert_eq!(shape("SELECT a"), None);
    }
}
