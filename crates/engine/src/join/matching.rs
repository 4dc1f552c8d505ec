//! What a join does with the pairs it finds: which columns it needs of either side, which pairs come out, which rows come alone.

use std::sync::Arc;

use squall_planner::{Expression, Join, JoinKind, JoinStrictness, Nearest, evaluate};
use squall_storage::ValueEnds;
use squall_storage::key_index::{KeyForm, Keys};
use squall_types::{Block, Column, DataType, Result, Schema};

use super::build::Held;
use crate::query_context::QueryContext;

/// The rules of one join.
pub(crate) struct Matching {
    pub(super) kind: JoinKind,
    pub(super) strictness: JoinStrictness,
    pub(super) form: KeyForm,
    pub(super) left_keys: Vec<Expression>,
    pub(super) right_keys: Vec<Expression>,
    /// The left input's columns that come out.
    pub(super) left_columns: Vec<usize>,
    /// The right input's columns that are held: those that come out first, then those that only the condition reads.
    pub(super) held_columns: Vec<usize>,
    /// The types in which they are held.
    pub(super) held_types: Vec<DataType>,
    pub(super) condition: Option<Condition>,
    pub(super) nearest: Option<Nearest>,
    /// Whether a scan of the left side may be bounded by the right side's keys.
    bounds_scans: bool,
    pub(super) schema: Arc<Schema>,
    pub(super) context: Arc<QueryContext>,
}

/// What must hold of a pair besides the keys.
pub(super) struct Condition {
    /// The left input's columns that it reads.
    pub(super) left: Vec<usize>,
    /// The held columns that it reads.
    pub(super) right: Vec<usize>,
    /// Over these columns: of one or more of these. Where there are no keys, a disjunction of equalities is one alternative each.
    pub(super) alternatives: Vec<Expression>,
    pub(super) schema: Arc<Schema>,
}

impl Matching {
    pub(crate) fn new(join: &Join, context: Arc<QueryContext>) -> Self {
        let first = join.left.schema().len();
        let (left_schema, right_schema) = (join.left.schema(), join.right.schema());
        let mut held_columns = join.right_columns.clone();
        let mut held_types: Vec<DataType> = join.schema.types().skip(join.left_columns.len()).cloned().collect();
        let condition = join.condition.as_ref().map(|predicate| {
            let (mut left, mut right) = (Vec::new(), Vec::new());
            predicate.visit_columns(&mut |column| {
                if column < first {
                    if !left.contains(&column) {
                        left.push(column);
                    }
                    return;
                }
                let column = column - first;
                // The condition tests what is there: a column that is made Nullable for the result is held once more.
                let own_type = &right_schema.fields[column].1;
                let known = held_columns
                    .iter()
                    .zip(&held_types)
                    .position(|(held, held_type)| *held == column && held_type == own_type);
                let held = known.unwrap_or_else(|| {
                    held_columns.push(column);
                    held_types.push(own_type.clone());
                    held_columns.len() - 1
                });
                if !right.contains(&held) {
                    right.push(held);
                }
            });
            let of_left = left.iter().map(|column: &usize| left_schema.fields[*column].clone());
            let of_right = right.iter().map(|held: &usize| right_schema.fields[held_columns[*held]].clone());
            let schema = Arc::new(Schema { fields: of_left.chain(of_right).collect() });
            let place = |column: usize| {
                if column < first {
                    return left.iter().position(|known| *known == column).unwrap_or(0);
                }
                let at = right.iter().position(|held| {
                    held_columns[*held] == column - first && held_types[*held] == right_schema.fields[column - first].1
                });
                left.len() + at.unwrap_or(0)
            };
            let predicate = predicate.map_columns(&place);
            let alternatives = match predicate {
                Expression::Function { name, arguments, .. } if &*name == "or" && join.keys.is_empty() => arguments,
                other => vec![other],
            };
            Condition { alternatives, left: left.clone(), right: right.clone(), schema }
        });
        Self {
            kind: join.kind,
            strictness: join.strictness,
            form: KeyForm::of(join.keys.iter().map(|key| key.left.data_type())),
            left_keys: join.keys.iter().map(|key| key.left.clone()).collect(),
            right_keys: join.keys.iter().map(|key| key.right.clone()).collect(),
            left_columns: join.left_columns.clone(),
            held_columns,
            held_types,
            condition,
            nearest: join.nearest.clone(),
            bounds_scans: join.runtime_filter.is_some(),
            schema: join.schema.clone(),
            context,
        }
    }

    /// The keys of a block's rows.
    pub(super) fn keys(&self, expressions: &[Expression], block: &Block) -> Result<Keys> {
        self.keys_of(&self.key_columns(expressions, block)?, block.rows())
    }

    /// The keys of rows that have these columns.
    pub(super) fn keys_of(&self, columns: &[Column], rows: usize) -> Result<Keys> {
        Keys::new(self.form, columns, rows)
    }

    /// The keys of a block's rows, a column each.
    pub(super) fn key_columns(&self, expressions: &[Expression], block: &Block) -> Result<Vec<Column>> {
        expressions.iter().map(|key| evaluate(key, block)?.materialize()).collect()
    }

    /// The ends of the keys of no rows, where a scan wants to know them.
    pub(super) fn no_ends(&self) -> Vec<Option<ValueEnds>> {
        let keys = if self.bounds_scans { self.right_keys.len() } else { 0 };
        vec![Some(ValueEnds::NOTHING); keys]
    }

    /// Whether rows can be joined bucket by bucket of their keys' hashes.
    pub(crate) fn can_be_cut(&self) -> bool {
        !self.right_keys.is_empty() && self.strictness != JoinStrictness::Paste
    }

    /// Whether `join_algorithm` names the one that puts both sides on disk.
    pub(super) fn is_grace(&self) -> bool {
        self.context.settings.join_algorithm.split(',').any(|name| name.trim() == "grace_hash")
    }

    /// Whether only the first row of a key counts.
    pub(super) fn takes_first_of_key(&self) -> bool {
        // Without keys all rows are of one key, and only the condition tells them apart.
        let tells_apart = !self.left_keys.is_empty() || self.condition.is_none();
        tells_apart
            && matches!(
                (self.strictness, self.kind),
                (JoinStrictness::Any, JoinKind::Inner) | (JoinStrictness::RightAny | JoinStrictness::Asof, _)
            )
    }

    /// Whether a left row that has partners by several alternatives gets the one by the first of these.
    pub(super) fn chooses_alternative(&self) -> bool {
        let has_several = self.condition.as_ref().is_some_and(|condition| condition.alternatives.len() > 1);
        has_several
            && matches!(
                (self.strictness, self.kind),
                (JoinStrictness::Any, JoinKind::Inner | JoinKind::Left)
                    | (JoinStrictness::Semi, JoinKind::Left)
                    | (JoinStrictness::RightAny, _)
            )
    }

    /// Whether the last row of a key stands for all.
    pub(super) fn keeps_last_of_key(&self) -> bool {
        self.context.settings.join_any_take_last_row
            && !self.left_keys.is_empty()
            && !self.kind.keeps_right()
            && matches!(self.strictness, JoinStrictness::Any | JoinStrictness::RightAny)
    }

    /// Whether a left row needs no further partner once it has one.
    pub(super) fn is_satisfied_by_one(&self) -> bool {
        let one_of_right = matches!(
            self.strictness,
            JoinStrictness::Any | JoinStrictness::RightAny | JoinStrictness::Semi | JoinStrictness::Anti
        );
        self.takes_first_of_key() || self.kind == JoinKind::Left && one_of_right
    }

    /// Whether a pair that agrees comes out. `is_first`: no pair of this left row came out before.
    #[inline]
    pub(super) fn accepts(&self, held: &Held, right: u32, is_first: bool) -> bool {
        use JoinKind::{Full, Inner, Left, Right};
        use JoinStrictness::{All, Any, Asof, RightAny, Semi};
        match (self.strictness, self.kind) {
            (All | Asof, Inner | Left) => true,
            (All, Right | Full) => {
                held.find(right);
                true
            }
            (Any | Semi, Left) | (RightAny, Inner | Left) => is_first,
            (RightAny, Right | Full) => {
                held.find(right);
                is_first
            }
            (Any, Inner) => is_first && !held.find(right),
            (Any | Semi, Right) => !held.find(right),
            (JoinStrictness::Anti, Right) => {
                held.find(right);
                false
            }
            // LEFT ANTI; the others are no joins.
            _ => false,
        }
    }

    /// Whether a left row for which no pair agreed comes out alone.
    pub(super) fn gives_unmatched_left(&self) -> bool {
        self.kind.keeps_left() && self.strictness != JoinStrictness::Semi
    }

    /// Whether right rows for which no pair agreed come out alone.
    pub(crate) fn gives_unmatched_right(&self) -> bool {
        self.kind.keeps_right() && self.strictness != JoinStrictness::Semi
    }

    /// Whether of a left row only matters whether it has a partner, or which one comes first.
    pub(super) fn asks_only_existence(&self) -> bool {
        self.kind == JoinKind::Left
            && matches!(self.strictness, JoinStrictness::Semi | JoinStrictness::Anti)
            && !self.chooses_alternative()
    }

    /// Whether a right row that was found once needs no further pair.
    pub(super) fn finds_right_once(&self) -> bool {
        self.kind == JoinKind::Right && matches!(self.strictness, JoinStrictness::Semi | JoinStrictness::Anti)
    }

    /// Whether it must be known of right rows whether they were found.
    pub(super) fn notes_finds(&self) -> bool {
        self.kind.keeps_right() || self.strictness == JoinStrictness::Any && self.kind == JoinKind::Inner
    }
}
