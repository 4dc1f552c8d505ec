//! The left side of a join: each block's keys are looked up, and the pairs that the join wants come out in blocks of a bounded
//! size, in the order of the left rows.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::UInt32Array;
use squall_functions::Selection;
use squall_planner::{JoinStrictness, evaluate, select};
use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::count;
use squall_storage::key_index::NO_ROW;
use squall_types::{Block, Column, Result};

use super::build::{Held, JoinTable};
use super::coded_probe::CodedProbe;
use super::matching::{Condition, Matching};
use super::nearest::NearValues;
use crate::operator::Operator;

/// Looks up the left side's rows.
pub(crate) struct JoinProbe {
    matching: Arc<Matching>,
    table: Arc<JoinTable>,
    coded: CodedProbe,
    rows_max: usize,
}

impl JoinProbe {
    pub(crate) fn new(matching: Arc<Matching>, table: Arc<JoinTable>) -> Self {
        let rows_max = matching.context.settings.max_joined_block_size_rows;
        let rows_max = usize::try_from(rows_max).ok().filter(|rows| *rows > 0).unwrap_or(usize::MAX / 2);
        Self { matching, table, coded: CodedProbe::default(), rows_max }
    }

    /// The first right row of each left row's key.
    fn first_partners(&self, held: &Held, block: &Block) -> Result<Vec<u32>> {
        let columns = match &self.matching.left_keys[..] {
            [key] => {
                let key = evaluate(key, block)?;
                let look_up = |strings: &Column| {
                    held.index.find(&self.matching.keys_of(std::slice::from_ref(strings), strings.rows())?)
                };
                if let Some(first) = self.coded.find(&key, look_up)? {
                    return Ok(first);
                }
                vec![key.materialize()?]
            }
            keys => self.matching.key_columns(keys, block)?,
        };
        held.index.find(&self.matching.keys_of(&columns, block.rows())?)
    }
}

impl Operator for JoinProbe {
    fn execute(&self, block: Block) -> Result<Option<Block>> {
        let mut blocks = Vec::new();
        let _ = self.execute_each(block, &mut |block| {
            blocks.push(block);
            Ok(ControlFlow::Continue(()))
        })?;
        if blocks.is_empty() {
            return Ok(None);
        }
        Block::concat(self.matching.schema.clone(), &blocks).map(Some)
    }

    fn execute_each(
        &self,
        block: Block,
        emit: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>,
    ) -> Result<ControlFlow<()>> {
        if let Some(grace) = self.table.grace().filter(|grace| grace.is_on()) {
            grace.put_left(block)?;
            return Ok(ControlFlow::Continue(()));
        }
        count(ProfileEvent::JoinProbeTableRowCount, block.rows() as u64);
        let held = self.table.held()?;
        let mut first = self.first_partners(held, &block)?;
        if let (Some(nearest), Some(rows)) = (&self.matching.nearest, &held.nearest) {
            rows.find(&NearValues::new(&nearest.left, &block)?, &mut first);
        }
        let mut pairs = Pairs {
            matching: &self.matching,
            held,
            block: &block,
            left: Vec::with_capacity(block.rows()),
            right: Vec::with_capacity(block.rows()),
            rows_max: self.rows_max,
            emit,
        };
        let flow = match &self.matching.condition {
            Some(condition) => pairs.find_with(condition, &first)?,
            None => pairs.find(&first)?,
        };
        if flow.is_break() { Ok(flow) } else { pairs.flush() }
    }

    fn is_full(&self) -> bool {
        self.table.grace().is_some_and(|grace| grace.is_left_full())
    }

    fn expands(&self) -> bool {
        true
    }

    fn name(&self) -> &'static str {
        "JoiningTransform"
    }
}

/// The pairs of one block of the left side.
struct Pairs<'a> {
    matching: &'a Matching,
    held: &'a Held,
    block: &'a Block,
    left: Vec<u32>,
    /// [`NO_ROW`] where the left row comes alone.
    right: Vec<u32>,
    rows_max: usize,
    emit: &'a mut dyn FnMut(Block) -> Result<ControlFlow<()>>,
}

impl Pairs<'_> {
    #[inline]
    fn push(&mut self, left: u32, right: u32) {
        self.left.push(left);
        self.right.push(right);
    }

    /// Pairs by keys alone; `first` is the first right row of each left row's key.
    fn find(&mut self, first: &[u32]) -> Result<ControlFlow<()>> {
        let matching = self.matching;
        let unmatched_left = matching.gives_unmatched_left();
        let one_is_enough = matching.is_satisfied_by_one() || !self.held.index.has_chains();
        let is_all = matching.strictness == JoinStrictness::All && !matching.notes_finds();
        for (row, first) in first.iter().enumerate() {
            let row = row as u32;
            if *first == NO_ROW {
                if unmatched_left {
                    self.push(row, NO_ROW);
                }
            } else if is_all && one_is_enough {
                self.push(row, *first);
            } else {
                let (mut right, mut is_first) = (*first, true);
                while right != NO_ROW {
                    if matching.accepts(self.held, right, is_first) {
                        is_first = false;
                        self.push(row, right);
                        if self.left.len() >= self.rows_max && self.flush()?.is_break() {
                            return Ok(ControlFlow::Break(()));
                        }
                    }
                    if one_is_enough {
                        break;
                    }
                    right = self.held.index.next(right);
                }
            }
            if self.left.len() >= self.rows_max && self.flush()?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Pairs by keys for which `condition` holds as well. Candidates are tested many at a time.
    fn find_with(&mut self, condition: &Condition, first: &[u32]) -> Result<ControlFlow<()>> {
        if self.matching.asks_only_existence() {
            return self.find_any(condition, first);
        }
        let mut candidates = Candidates::default();
        let only_first = self.matching.takes_first_of_key();
        let finds_once = self.matching.finds_right_once();
        for (row, first) in first.iter().enumerate() {
            let mut right = *first;
            while right != NO_ROW {
                if !(finds_once && self.held.is_found(right as usize)) {
                    candidates.left.push(row as u32);
                    candidates.right.push(right);
                }
                right = if only_first { NO_ROW } else { self.held.index.next(right) };
                if candidates.left.len() >= self.rows_max && self.settle(condition, &mut candidates, row)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            if candidates.left.len() >= self.rows_max && self.settle(condition, &mut candidates, row + 1)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        self.settle(condition, &mut candidates, first.len())
    }

    /// Which left rows have a partner at all, for LEFT SEMI and ANTI. Of each row that has none yet twice as many candidates are tested as
    /// the time before: most have one soon, and a row of many candidates needs few rounds.
    fn find_any(&mut self, condition: &Condition, first: &[u32]) -> Result<ControlFlow<()>> {
        let mut partners = vec![NO_ROW; first.len()];
        // The rows without a partner so far, and their next candidates.
        let with_candidates = first.iter().enumerate().filter(|(_, right)| **right != NO_ROW);
        let mut open: Vec<(u32, u32)> = with_candidates.map(|(row, right)| (row as u32, *right)).collect();
        let mut of_each = 1;
        while !open.is_empty() {
            let mut candidates = Candidates::default();
            for (row, next) in &mut open {
                if partners[*row as usize] != NO_ROW {
                    continue;
                }
                for _ in 0..of_each {
                    if *next == NO_ROW {
                        break;
                    }
                    candidates.left.push(*row);
                    candidates.right.push(*next);
                    *next = self.held.index.next(*next);
                    if candidates.left.len() >= self.rows_max {
                        self.find_partners(condition, &mut candidates, &mut partners)?;
                    }
                }
            }
            self.find_partners(condition, &mut candidates, &mut partners)?;
            open.retain(|(row, next)| partners[*row as usize] == NO_ROW && *next != NO_ROW);
            of_each = (of_each * 2).min(self.rows_max);
        }
        let is_wanted_alone = self.matching.gives_unmatched_left();
        for (row, right) in partners.into_iter().enumerate() {
            if (right == NO_ROW) == is_wanted_alone {
                self.push(row as u32, right);
            }
            if self.left.len() >= self.rows_max && self.flush()?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Tests candidates; the first that agrees with a row becomes its partner.
    fn find_partners(&self, condition: &Condition, candidates: &mut Candidates, partners: &mut [u32]) -> Result<()> {
        self.check_limits()?;
        let agrees = self.test(condition, candidates)?;
        for (at, (row, right)) in candidates.left.iter().zip(&candidates.right).enumerate() {
            let partner = &mut partners[*row as usize];
            if *partner == NO_ROW && agrees.alternative(at).is_some() {
                *partner = *right;
            }
        }
        candidates.left.clear();
        candidates.right.clear();
        Ok(())
    }

    /// Decides on candidates. All candidates of the rows before `complete` have come.
    fn settle(
        &mut self,
        condition: &Condition,
        candidates: &mut Candidates,
        complete: usize,
    ) -> Result<ControlFlow<()>> {
        let matching = self.matching;
        self.check_limits()?;
        let agrees = self.test(condition, candidates)?;
        let chooses = matching.chooses_alternative();
        let mut at = 0;
        for row in candidates.next_row..=complete {
            if row == complete && candidates.left.get(at).is_none_or(|left| *left as usize != row) {
                break;
            }
            while candidates.left.get(at).is_some_and(|left| *left as usize == row) {
                let right = candidates.right[at];
                if let Some(alternative) = agrees.alternative(at) {
                    candidates.has_agreed = true;
                    if chooses {
                        if candidates.best.is_none_or(|(best, _)| alternative < best) {
                            candidates.best = Some((alternative, right));
                        }
                    } else if matching.accepts(self.held, right, !candidates.has_partner) {
                        candidates.has_partner = true;
                        self.push(row as u32, right);
                    }
                }
                at += 1;
            }
            if row == complete {
                break;
            }
            if let Some((_, right)) = candidates.best.take()
                && matching.accepts(self.held, right, true)
            {
                self.push(row as u32, right);
            }
            if !candidates.has_agreed && matching.gives_unmatched_left() {
                self.push(row as u32, NO_ROW);
            }
            (candidates.has_agreed, candidates.has_partner) = (false, false);
            candidates.next_row = row + 1;
        }
        candidates.left.clear();
        candidates.right.clear();
        if self.left.len() >= self.rows_max { self.flush() } else { Ok(ControlFlow::Continue(())) }
    }

    /// For which candidates the condition holds.
    fn test(&self, condition: &Condition, candidates: &Candidates) -> Result<Agreement> {
        if candidates.left.is_empty() {
            return Ok(Agreement(Vec::new()));
        }
        let left = UInt32Array::from(candidates.left.clone());
        let right = UInt32Array::from(candidates.right.clone());
        let of_left = condition.left.iter().map(|column| self.block.column(*column).take(&left));
        let of_right = condition.right.iter().map(|held| self.held.column(*held)?.take(&right));
        let columns = of_left.chain(of_right).collect::<Result<Vec<Column>>>()?;
        let block = Block::new(condition.schema.clone(), columns, candidates.left.len());
        let alternatives = condition.alternatives.iter().map(|alternative| select(alternative, &block));
        Ok(Agreement(alternatives.collect::<Result<_>>()?))
    }

    /// One block of the left side may make any number of rows: what is looked at between morsels is looked at in between too.
    fn check_limits(&self) -> Result<()> {
        // Who should wait for memory does so after the morsel.
        self.matching.context.check().map(|_| ())
    }

    /// Puts out the pairs so far.
    fn flush(&mut self) -> Result<ControlFlow<()>> {
        let rows = self.left.len();
        if rows == 0 {
            return Ok(ControlFlow::Continue(()));
        }
        count(ProfileEvent::JoinResultRowCount, rows as u64);
        if rows >= self.rows_max {
            self.check_limits()?;
        }
        let (left, mut right) = (std::mem::take(&mut self.left), std::mem::take(&mut self.right));
        let is_whole = rows == self.block.rows() && left.iter().enumerate().all(|(at, row)| *row as usize == at);
        let positions = UInt32Array::from(left);
        let types = self.matching.schema.types();
        let of_left = self.matching.left_columns.iter().zip(types).map(|(column, data_type)| {
            let column = self.block.column(*column);
            let column = if is_whole { column.clone() } else { column.take(&positions)? };
            // A type differs at most by its Nullable, whose arrays are the same.
            Ok(if column.data_type() == data_type {
                column
            } else {
                column.without_constant()?.with_type(data_type.clone())
            })
        });
        let mut columns = of_left.collect::<Result<Vec<_>>>()?;
        if self.matching.gives_unmatched_left() {
            // The row of defaults comes after all others.
            let missing = self.held.rows as u32;
            right.iter_mut().filter(|row| **row == NO_ROW).for_each(|row| *row = missing);
        }
        let positions = UInt32Array::from(right);
        for held in 0..self.matching.schema.len() - columns.len() {
            columns.push(self.held.take(held, &positions)?);
        }
        (self.emit)(Block::new(self.matching.schema.clone(), columns, rows))
    }
}

/// For which candidates each alternative of a condition holds.
struct Agreement(Vec<Selection>);

impl Agreement {
    /// The first alternative that holds for a candidate.
    #[inline]
    fn alternative(&self, at: usize) -> Option<usize> {
        self.0.iter().position(|selection| match selection {
            Selection::All => true,
            Selection::None => false,
            Selection::Some(mask) => mask.value(at),
        })
    }
}

/// Pairs whose condition is still to be tested.
#[derive(Default)]
struct Candidates {
    left: Vec<u32>,
    right: Vec<u32>,
    /// The left row that is decided next.
    next_row: usize,
    /// Whether a pair of that row has agreed so far.
    has_agreed: bool,
    /// Whether one of them came out.
    has_partner: bool,
    /// Of those that agreed, the first by the first alternative: the alternative and the right row.
    best: Option<(usize, u32)>,
}
