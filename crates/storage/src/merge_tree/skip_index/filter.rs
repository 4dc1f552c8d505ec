//! What a scan asks of an index: made once of its predicate, and tested on the entries of parts.

use std::sync::Arc;

use squall_planner::{Expression, KeyExpression, SkipIndexKind};
use squall_types::{DataType, Result};

use super::SkipIndex;
use super::bloom::may_hold;
use super::page::corrupted;
use super::rows::RowCondition;
use super::terms::{Reader, Terms};
use super::value_bounds::take_bounds;
use crate::key_condition::{Field, KeyCondition, ValueRange};

/// A predicate as an index can answer it.
#[derive(Debug)]
pub(in super::super) struct IndexFilter {
    pub(in super::super) index: Arc<SkipIndex>,
    pub(super) question: Question,
}

#[derive(Debug)]
pub(super) enum Question {
    Ranges(KeyCondition),
    Rows(RowCondition),
    Terms(Terms),
}

impl IndexFilter {
    /// What a predicate asks of an index; `None` where that is nothing.
    pub(in super::super) fn new(index: &Arc<SkipIndex>, predicate: &Expression) -> Option<Self> {
        let expressions = &index.expressions;
        let question = match &index.kind {
            SkipIndexKind::MinMax => {
                let key = |expression: &Expression| KeyExpression { sql: "".into(), expression: expression.clone() };
                let keys: Vec<KeyExpression> = expressions.iter().map(key).collect();
                Question::Ranges(KeyCondition::new(predicate, &keys))
            }
            SkipIndexKind::Set { .. } => Question::Rows(RowCondition::new(predicate, expressions)),
            SkipIndexKind::BloomFilter { .. } | SkipIndexKind::Words { .. } | SkipIndexKind::Text { .. } => {
                Question::Terms(Reader { expressions, kind: &index.kind }.read(predicate))
            }
        };
        let filter = Self { index: index.clone(), question };
        let is_asked = match &filter.question {
            Question::Ranges(condition) => condition.is_useful(&|field| filter.place(field).is_some()),
            Question::Rows(condition) => condition.is_useful(),
            Question::Terms(terms) => terms.is_asked(),
        };
        is_asked.then_some(filter)
    }

    /// Whether its entries can leave anything out; what is asked of words may have none that tell.
    pub(in super::super) fn is_useful(&self) -> bool {
        match &self.question {
            Question::Ranges(_) | Question::Rows(_) => true,
            Question::Terms(terms) => terms.is_useful(),
        }
    }

    /// The place of a field among the indexed expressions.
    fn place(&self, field: Field) -> Option<usize> {
        match field {
            Field::Key(key) => (key < self.index.expressions.len()).then_some(key),
            Field::Column(column) => self
                .index
                .expressions
                .iter()
                .position(|one| matches!(one, Expression::Column { position, .. } if *position == column)),
        }
    }

    /// What is asked, as EXPLAIN shows it, where that can be told; `name` is what a column is called.
    pub(in super::super) fn text(&self, name: &dyn Fn(usize) -> Option<String>) -> Option<String> {
        match &self.question {
            Question::Ranges(condition) => Some(condition.text(&|field| match field {
                Field::Column(column) => self.place(field).and_then(|_| name(column)),
                Field::Key(key) => self.index.labels.get(key).cloned(),
            })),
            Question::Terms(terms) if matches!(self.index.kind, SkipIndexKind::Text { .. }) => {
                let mut words = Vec::new();
                terms.visit(&mut |term| {
                    let word = format!("\"{}\"", String::from_utf8_lossy(&term.word));
                    if !words.contains(&word) {
                        words.push(word);
                    }
                });
                let mode = if matches!(terms, Terms::Or(_)) { "Any" } else { "All" };
                Some(format!("(mode: {mode}; tokens: [{}])", words.join(", ")))
            }
            Question::Rows(_) | Question::Terms(_) => None,
        }
    }

    /// Whether rows of an entry may meet the predicate.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`.
    pub(super) fn may_match(&self, entry: &[u8]) -> Result<bool> {
        match &self.question {
            Question::Ranges(condition) => {
                let mut bytes = entry;
                let types: Vec<&DataType> = self.index.types().collect();
                let ranges = types.iter().map(|data_type| take_bounds(&mut bytes, data_type));
                let ranges = ranges.collect::<Result<Vec<ValueRange>>>()?;
                Ok(condition.can_match(&|field| ranges.get(self.place(field)?).cloned()))
            }
            Question::Rows(condition) => condition.may_match(entry),
            Question::Terms(terms) if matches!(self.index.kind, SkipIndexKind::BloomFilter { .. }) => {
                let mut bytes = entry;
                let filters = self.index.expressions.iter();
                let filters = filters.map(|_| squall_types::binary::take_string(&mut bytes).map_err(|_| corrupted()));
                let filters = filters.collect::<Result<Vec<&[u8]>>>()?;
                Ok(terms.can_hold(&|term| filters.get(term.column).is_none_or(|filter| may_hold(filter, term.hash))))
            }
            Question::Terms(terms) => {
                let columns = match self.index.expressions.len() {
                    0 | 1 => vec![entry],
                    count => {
                        let mut bytes = entry;
                        let column = |_| squall_types::binary::take_string(&mut bytes).map_err(|_| corrupted());
                        (0..count).map(column).collect::<Result<Vec<&[u8]>>>()?
                    }
                };
                Ok(terms.can_hold(&|term| match columns.get(term.column).and_then(|own| own.split_first()) {
                    Some((0, filter)) => may_hold(filter, term.hash),
                    Some(_) | None => true,
                }))
            }
        }
    }
}
