//! The accumulator of functions that have one small state a group: a `Vec` of states indexed by group. A function says how a row
//! changes a state, how two states become one, and what column a list of states makes; the loops are here.

use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use squall_types::memory::reserve;
use squall_types::{Column, DataType, Error, Result, checkpoint, prefetch};

use crate::accumulator::{Accumulator, AggregateFunction, CUT_PARTS, CUT_PIECES, GroupIds, PREFETCH_AHEAD, STEP_ITEMS};
use crate::frames::{FrameStep, FrameWalk};

/// An aggregate function described by its state.
pub(super) trait StateFunction: Debug + Send + Sync + 'static {
    /// The state of one group.
    type State: Clone + Send + 'static;
    /// The arguments of a block, ready to be read by row.
    type Rows<'a>;

    /// Whether states hold memory outside the `Vec` of them.
    const HAS_HEAP: bool = false;

    /// Whether a state may have so many items that it is merged and finished in steps.
    const HAS_ITEMS: bool = false;

    /// Whether states that have some of the rows each are, merged, exactly the state of all rows, and are no more than numbers: sums of integers.
    const ADDS_UP: bool = false;

    fn return_type(&self) -> &DataType;

    /// The state of a group without rows.
    fn state(&self) -> Self::State;

    /// Reads the arguments, which are neither constants nor dictionaries.
    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>>;

    /// Makes room in a state for so many rows more, where a state grows with its rows and room is one piece of memory.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`.
    fn make_room(&self, _state: &mut Self::State, _rows: usize) -> Result<()> {
        Ok(())
    }

    /// Adds one row.
    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize);

    /// Whether [`bring_near`](Self::bring_near) does anything.
    const BRINGS_NEAR: bool = false;

    /// Has the memory brought near that adding this row will read outside the state.
    fn bring_near(&self, _state: &Self::State, _rows: &Self::Rows<'_>, _row: usize) {}

    /// Adds rows `0..count`, all of one group.
    fn add_all(&self, state: &mut Self::State, rows: &Self::Rows<'_>, count: usize) {
        for row in 0..count {
            if Self::BRINGS_NEAR && row + PREFETCH_AHEAD < count {
                self.bring_near(state, rows, row + PREFETCH_AHEAD);
            }
            self.add(state, rows, row);
        }
    }

    /// Adds the only row of `rows` so many times, where that takes less than adding it one by one; whether it did.
    fn add_times(&self, _state: &mut Self::State, _rows: &Self::Rows<'_>, _times: usize) -> bool {
        false
    }

    /// Whether the only row of `rows` changes no state.
    fn is_neutral(&self, _rows: &Self::Rows<'_>) -> bool {
        false
    }

    /// Adds the rows that `from` has seen, which came after those of `into`.
    ///
    /// # Errors
    /// `MEMORY_LIMIT_EXCEEDED`, and those of a checkpoint.
    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()>;

    /// As [`merge`](Self::merge), where nothing else is merged before the state is settled.
    fn merge_last(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        self.merge(into, from)
    }

    /// The values that merging or finishing a state goes through.
    fn items(&self, _state: &Self::State) -> usize {
        0
    }

    /// Whether states can be cut by the hashes of their values.
    fn can_cut(&self) -> bool {
        false
    }

    /// The state in [`CUT_PARTS`]; merged in any order once they are settled, these are the whole again, settled.
    fn cut(&self, _state: Self::State) -> Result<Vec<Self::State>> {
        Err(Error::logical("a state that cannot be cut"))
    }

    /// Does a step of about [`STEP_ITEMS`] on the way to the result, or as many as are left of `items`, which become fewer; whether none
    /// is left to do.
    fn settle(&self, _state: &mut Self::State, _items: &mut usize) -> Result<bool> {
        Ok(true)
    }

    /// The results, in order.
    fn finish(&self, states: Vec<Self::State>) -> Result<Column>;

    /// Appends a state in its serialised form.
    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()>;

    /// Takes the state that [`write`](Self::write) wrote from the front of `bytes`.
    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State>;

    /// Bytes that a state holds outside itself.
    fn heap_bytes(&self, _state: &Self::State) -> usize {
        0
    }
}

/// The [`AggregateFunction`] of a [`StateFunction`].
pub(super) fn function<F: StateFunction>(function: F) -> Arc<dyn AggregateFunction> {
    Arc::new(Grouped { function: Arc::new(function) })
}

/// The accumulator as the type that it must have.
pub(super) fn same<A: Accumulator>(other: &mut dyn Accumulator) -> Result<&mut A> {
    let other: &mut dyn Any = other;
    other.downcast_mut().ok_or_else(|| Error::logical("merge of accumulators of two functions"))
}

#[derive(Debug)]
struct Grouped<F> {
    function: Arc<F>,
}

impl<F: StateFunction> AggregateFunction for Grouped<F> {
    fn return_type(&self) -> &DataType {
        self.function.return_type()
    }

    fn accumulator(&self) -> Box<dyn Accumulator> {
        Box::new(States { function: self.function.clone(), states: Vec::new(), settled: 0 })
    }

    fn frame_walk<'a>(&'a self) -> Box<dyn FrameWalk + 'a> {
        Box::new(StateWalk { function: &*self.function, state: self.function.state() })
    }
}

/// The state of the frame so far.
struct StateWalk<'a, F: StateFunction> {
    function: &'a F,
    state: F::State,
}

impl<F: StateFunction> FrameWalk for StateWalk<'_, F> {
    fn walk(&mut self, arguments: &[Column], steps: &[FrameStep]) -> Result<Column> {
        /// States are made results as soon as they hold this much.
        const HEAP_BYTES_MAX: usize = 16 << 20;
        let (function, state) = (self.function, &mut self.state);
        let rows = function.rows(arguments)?;
        let mut states = Vec::with_capacity(if F::HAS_HEAP { 0 } else { steps.len() });
        let mut heap_bytes = 0;
        let mut results = Vec::new();
        for step in steps {
            if step.begins {
                *state = function.state();
            }
            if F::HAS_HEAP {
                for row in step.rows.range() {
                    function.add(state, &rows, row);
                    checkpoint(64)?;
                }
            } else {
                step.rows.range().for_each(|row| function.add(state, &rows, row));
            }
            checkpoint(64)?;
            if !step.gives {
                continue;
            }
            if F::HAS_HEAP {
                let bytes = function.heap_bytes(state);
                reserve(bytes)?;
                heap_bytes += bytes;
            }
            states.push(state.clone());
            if heap_bytes > HEAP_BYTES_MAX {
                results.push(function.finish(std::mem::take(&mut states))?);
                heap_bytes = 0;
            }
        }
        if results.is_empty() || !states.is_empty() {
            results.push(function.finish(states)?);
        }
        Column::concat(&results)
    }
}

struct States<F: StateFunction> {
    function: Arc<F>,
    states: Vec<F::State>,
    /// So many are settled.
    settled: usize,
}

impl<F: StateFunction> States<F> {
    fn grow(&mut self, groups: usize) -> Result<()> {
        if groups > self.states.len() {
            let more = groups - self.states.len();
            squall_types::grow(&mut self.states, more)?;
            self.states.resize_with(groups, || self.function.state());
        }
        Ok(())
    }

    /// Merges groups of another accumulator.
    #[inline]
    fn merge_each(
        &mut self,
        other: &mut dyn Accumulator,
        first: usize,
        to: &[u32],
        groups: usize,
        merge: impl Fn(&F, &mut F::State, F::State) -> Result<()>,
    ) -> Result<()> {
        let other = same::<Self>(other)?;
        self.grow(groups)?;
        let function = &*self.function;
        for (state, &to) in other.states.iter_mut().skip(first).zip(to) {
            checkpoint(64)?;
            let state = std::mem::replace(state, function.state());
            merge(function, &mut self.states[to as usize], state)?;
        }
        Ok(())
    }

    /// Adds rows whose values are kept, so many at a time that the limit of memory is not passed by much.
    fn add_pieces(
        &mut self,
        arguments: &F::Rows<'_>,
        rows: usize,
        bytes: usize,
        group: impl Fn(usize) -> usize,
    ) -> Result<()> {
        let (function, states) = (&*self.function, &mut self.states[..]);
        let is_far = size_of_val(states) > CACHED_BYTES_MAX;
        let of_row = bytes / rows.max(1);
        let piece = (PIECE_BYTES / of_row.max(1)).clamp(1, PIECE_ROWS);
        for start in (0..rows).step_by(piece) {
            checkpoint(PIECE_BYTES / 4)?;
            for row in start..rows.min(start + piece) {
                // First the states, then what they refer to.
                let ahead = if F::BRINGS_NEAR { 2 * PREFETCH_AHEAD } else { PREFETCH_AHEAD };
                if is_far && row + ahead < rows {
                    prefetch(states, group(row + ahead));
                }
                if F::BRINGS_NEAR && row + PREFETCH_AHEAD < rows {
                    let row = row + PREFETCH_AHEAD;
                    function.bring_near(&states[group(row)], arguments, row);
                }
                function.add(&mut states[group(row)], arguments, row);
            }
        }
        Ok(())
    }
}

/// Neighbouring rows of few groups go to so many states each.
const LANES: usize = 4;
/// States of so many bytes in all lanes stay in the nearest cache.
const LANE_BYTES_MAX: usize = 16 << 10;

impl<F: StateFunction> States<F> {
    /// Whether rows of so few groups are better added in lanes.
    fn has_lanes(groups: usize, rows: usize) -> bool {
        F::ADDS_UP && groups * LANES * size_of::<F::State>() <= LANE_BYTES_MAX && rows >= groups * LANES * 4
    }

    /// Adds rows of few groups. Most are of the same group as one right before, and each addition would wait for that one's: so each of some
    /// neighbours has states of its own.
    #[inline]
    fn add_in_lanes(
        &mut self,
        arguments: &F::Rows<'_>,
        (groups, rows): (usize, usize),
        group: impl Fn(usize) -> usize,
    ) -> Result<()> {
        let function = &*self.function;
        let mut states: Vec<[F::State; LANES]> =
            (0..groups).map(|_| std::array::from_fn(|_| function.state())).collect();
        let whole = rows / LANES * LANES;
        for first in (0..whole).step_by(LANES) {
            for lane in 0..LANES {
                function.add(&mut states[group(first + lane)][lane], arguments, first + lane);
            }
        }
        (whole..rows).for_each(|row| function.add(&mut states[group(row)][0], arguments, row));
        for (into, lanes) in self.states.iter_mut().zip(states) {
            lanes.into_iter().try_for_each(|state| function.merge(into, state))?;
        }
        Ok(())
    }
}

/// Rows, and bytes of them, that states with memory of their own take in without a look at the limits.
const PIECE_ROWS: usize = 4_096;
const PIECE_BYTES: usize = 1 << 18;
/// States of so many bytes stay in the cache of a core; of more, those of the rows to come are brought near.
const CACHED_BYTES_MAX: usize = 256 << 10;

impl<F: StateFunction> Accumulator for States<F> {
    fn update(&mut self, group_ids: GroupIds<'_>, groups: usize, arguments: &[Column], rows: usize) -> Result<()> {
        self.grow(groups)?;
        let bytes = if F::HAS_HEAP { arguments.iter().map(Column::value_bytes).sum() } else { 0 };
        let function = self.function.clone();
        let arguments = function.rows(arguments)?;
        if F::HAS_HEAP {
            match group_ids {
                GroupIds::Single => {
                    let Some(state) = self.states.first_mut() else { return Ok(()) };
                    function.make_room(state, rows)?;
                    if bytes > 1 << 20 {
                        return self.add_pieces(&arguments, rows, bytes, |_| 0);
                    }
                }
                GroupIds::Direct8(ids) => {
                    return self.add_pieces(&arguments, rows, bytes, |row| usize::from(ids[row]));
                }
                GroupIds::Direct16(ids) => {
                    return self.add_pieces(&arguments, rows, bytes, |row| usize::from(ids[row]));
                }
                GroupIds::Each(ids) => return self.add_pieces(&arguments, rows, bytes, |row| ids[row] as usize),
            }
        }
        let states = &mut self.states[..];
        match group_ids {
            GroupIds::Single => {
                if let Some(state) = states.first_mut() {
                    function.add_all(state, &arguments, rows);
                }
            }
            GroupIds::Direct8(ids) if Self::has_lanes(groups, rows) => {
                return self.add_in_lanes(&arguments, (groups, rows), |row| usize::from(ids[row]));
            }
            GroupIds::Each(ids) if Self::has_lanes(groups, rows) => {
                return self.add_in_lanes(&arguments, (groups, rows), |row| ids[row] as usize);
            }
            GroupIds::Direct8(ids) => {
                for (row, &id) in ids[..rows].iter().enumerate() {
                    function.add(&mut states[usize::from(id)], &arguments, row);
                }
            }
            GroupIds::Direct16(ids) => {
                for (row, &id) in ids[..rows].iter().enumerate() {
                    function.add(&mut states[usize::from(id)], &arguments, row);
                }
            }
            GroupIds::Each(ids) => {
                let is_far = size_of_val(states) > CACHED_BYTES_MAX;
                for (row, &id) in ids[..rows].iter().enumerate() {
                    if is_far && let Some(ahead) = ids.get(row + PREFETCH_AHEAD) {
                        prefetch(states, *ahead as usize);
                    }
                    function.add(&mut states[id as usize], &arguments, row);
                }
            }
        }
        Ok(())
    }

    fn update_times(&mut self, arguments: &[Column], times: usize) -> Result<bool> {
        self.grow(1)?;
        let function = self.function.clone();
        let one = function.rows(arguments)?;
        Ok(self.states.first_mut().is_some_and(|state| function.add_times(state, &one, times)))
    }

    fn is_neutral(&self, arguments: &[Column]) -> Result<bool> {
        Ok(self.function.is_neutral(&self.function.rows(arguments)?))
    }

    fn reserve_groups(&mut self, groups: usize) -> Result<()> {
        let more = groups.saturating_sub(self.states.len());
        squall_types::grow(&mut self.states, more)
    }

    fn take(&mut self, groups: &[u32]) -> Result<Box<dyn Accumulator>> {
        reserve(groups.len() * size_of::<F::State>())?;
        let (function, from) = (&*self.function, &mut self.states[..]);
        let mut states = Vec::with_capacity(groups.len());
        for (at, group) in groups.iter().enumerate() {
            if let Some(ahead) = groups.get(at + PREFETCH_AHEAD) {
                prefetch(from, *ahead as usize);
            }
            states.push(match from.get_mut(*group as usize) {
                Some(state) if F::HAS_HEAP => std::mem::replace(state, function.state()),
                // What holds no memory need not be taken out of its place.
                Some(state) => state.clone(),
                // A group past the last update's has no state yet.
                None => function.state(),
            });
        }
        Ok(Box::new(Self { function: self.function.clone(), states, settled: 0 }))
    }

    fn merge_range(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
        self.merge_each(other, first, to, groups, F::merge)
    }

    fn merge_last(&mut self, other: &mut dyn Accumulator, first: usize, to: &[u32], groups: usize) -> Result<()> {
        self.merge_each(other, first, to, groups, F::merge_last)
    }

    fn items(&self, groups: Range<usize>) -> usize {
        if !F::HAS_ITEMS {
            return 0;
        }
        let groups = groups.start.min(self.states.len())..groups.end.min(self.states.len());
        self.states[groups].iter().map(|state| self.function.items(state)).sum()
    }

    fn large(&self, items: usize) -> Vec<u32> {
        if !F::HAS_ITEMS || !self.function.can_cut() {
            return Vec::new();
        }
        let states = self.states.iter().enumerate();
        states.filter(|(_, state)| self.function.items(state) > items).map(|(group, _)| group as u32).collect()
    }

    fn cut(&mut self, group: u32) -> Result<Vec<Box<dyn Accumulator>>> {
        let fresh = self.function.state();
        let state = self.states.get_mut(group as usize).map(|state| std::mem::replace(state, fresh));
        let mut parts = self.function.cut(state.unwrap_or_else(|| self.function.state()))?.into_iter();
        let piece = |_| -> Box<dyn Accumulator> {
            let states = parts.by_ref().take(CUT_PARTS / CUT_PIECES).collect();
            Box::new(Self { function: self.function.clone(), states, settled: 0 })
        };
        Ok((0..CUT_PIECES).map(piece).collect())
    }

    fn settle(&mut self) -> Result<bool> {
        if !F::HAS_ITEMS {
            return Ok(true);
        }
        let mut items = STEP_ITEMS;
        while let Some(state) = self.states.get_mut(self.settled) {
            if !self.function.settle(state, &mut items)? {
                return Ok(false);
            }
            self.settled += 1;
            if items == 0 {
                break;
            }
        }
        Ok(self.settled == self.states.len())
    }

    fn finish(mut self: Box<Self>, groups: usize) -> Result<Column> {
        self.grow(groups)?;
        self.states.truncate(groups);
        self.function.finish(self.states)
    }

    fn serialize(&mut self, group: usize, out: &mut Vec<u8>) -> Result<()> {
        match self.states.get(group) {
            Some(state) => self.function.write(state, out),
            None => self.function.write(&self.function.state(), out),
        }
    }

    fn prefetch(&self, group: usize) {
        prefetch(&self.states, group);
    }

    fn merge_serialized(&mut self, group: usize, bytes: &mut &[u8]) -> Result<()> {
        self.grow(group + 1)?;
        let state = self.function.read(bytes)?;
        self.function.merge(&mut self.states[group], state)
    }

    fn memory_bytes(&self) -> usize {
        /// Heap is measured on this many states at most, and extrapolated.
        const SAMPLES: usize = 1024;
        let shallow = self.states.capacity() * size_of::<F::State>();
        if !F::HAS_HEAP || self.states.is_empty() {
            return shallow;
        }
        let step = self.states.len().div_ceil(SAMPLES);
        let sampled: usize = self.states.iter().step_by(step).map(|state| self.function.heap_bytes(state)).sum();
        shallow + sampled * step
    }
}
