//! Work that a sink leaves behind when all its rows have come: numbered units, each a future that any worker carries on piece by piece.
//! The rows of units leave in the order of their numbers, whoever is done first.

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};

use squall_storage::{Claim, Morsel, TableScan};
use squall_types::{Block, Error, Result};

use crate::query_context::QueryContext;
use crate::sync::Mutex;
use crate::works::Work;

/// Units that may be under way at once, where nothing else limits them.
const UNITS_MAX: usize = 256;

/// Rows of a block that are not worth cutting.
const ROWS_MIN: usize = 4_096;

/// The rows of a unit on their way out.
#[derive(Clone, Default)]
pub(crate) struct Rows(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    blocks: VecDeque<Block>,
    /// The unit, while it waits for room.
    unit: Option<Waker>,
}

impl Rows {
    /// Gives rows, which leave after this piece of the unit, or when the units before it are over.
    pub(crate) fn push(&self, block: Block) {
        if !block.is_empty() {
            self.0.lock().blocks.push_back(block);
        }
    }

    /// Waits until few blocks wait: for units that give many.
    pub(crate) async fn room(&self) {
        const FEW: usize = 8;
        self.room_among(FEW).await;
    }

    /// Waits until fewer blocks than that wait.
    pub(crate) async fn room_among(&self, blocks_max: usize) {
        poll_fn(|task| {
            let mut waiting = self.0.lock();
            if waiting.blocks.len() < blocks_max {
                return Poll::Ready(());
            }
            waiting.unit = Some(task.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn pop(&self) -> Option<Block> {
        let (block, unit) = {
            let mut waiting = self.0.lock();
            (waiting.blocks.pop_front(), waiting.unit.take())
        };
        if let Some(unit) = unit {
            unit.wake();
        }
        block
    }
}

/// Work in so many units.
pub(crate) trait Units: Send + Sync + 'static {
    /// How many units there are; asked once the work may begin.
    fn units(&self) -> usize;

    /// How many units after the first that is not over may be begun: what bounds the memory of those under way, and of rows that wait
    /// for their turn.
    fn units_at_once(&self) -> usize {
        UNITS_MAX
    }

    /// The work of a unit, with a place to pause (`squall_runtime::Pieces`) about every millisecond; its rows go to `rows`. No lock is
    /// held over a pause.
    fn run(self: Arc<Self>, unit: usize, rows: Rows) -> impl Future<Output = Result<()>> + Send + 'static;
}

/// The source that hands out pieces of units.
pub(crate) struct UnitSource<U> {
    work: Arc<U>,
    context: Arc<QueryContext>,
    units: OnceLock<usize>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Units begun and not over, and those whose rows have not left, by number.
    begun: BTreeMap<usize, Unit>,
    /// The unit that is begun next.
    next: usize,
    /// What is claimed, by the number of its morsel: there until the worker takes it.
    claimed: VecDeque<(u64, Claimed)>,
    claims: u64,
    /// Somebody found nothing to do and waits for a unit to be over.
    waiter: Option<Waker>,
}

struct Unit {
    /// There while nobody is at it.
    work: Option<Work>,
    rows: Rows,
    is_over: bool,
}

/// What a morsel is.
enum Claimed {
    /// A piece of a unit. Its rows go straight on where no unit before it has any left.
    Piece { unit: usize, work: Work, rows: Rows, is_first: bool },
    /// Rows of a unit that is over.
    Rows(Block),
}

impl<U: Units> UnitSource<U> {
    pub(crate) fn new(work: U, context: Arc<QueryContext>) -> Self {
        Self { work: Arc::new(work), context, units: OnceLock::new(), state: Mutex::default() }
    }

    fn units(&self) -> usize {
        *self.units.get_or_init(|| self.work.units())
    }

    /// What can be done now.
    fn choose(&self, state: &mut State, rows_max: u64) -> Option<Claimed> {
        let units = self.units();
        while let Some(mut first) = state.begun.first_entry() {
            let unit = first.get_mut();
            if unit.work.is_none() && !unit.is_over {
                // Whoever is at it passes its rows on.
                break;
            }
            let Some(block) = unit.rows.pop() else {
                if !unit.is_over {
                    break;
                }
                first.remove();
                continue;
            };
            let wanted = usize::try_from(rows_max).unwrap_or(usize::MAX).max(ROWS_MIN);
            if wanted < block.rows() {
                let rest = block.slice(wanted, block.rows() - wanted);
                unit.rows.0.lock().blocks.push_front(rest);
                return Some(Claimed::Rows(block.slice(0, wanted)));
            }
            return Some(Claimed::Rows(block));
        }
        let first = state.begun.first_key_value().map_or(state.next, |(first, _)| *first);
        let can_go_on = |unit: &Unit| unit.work.as_ref().is_some_and(Work::can_go_on);
        let ready = state.begun.iter_mut().find(|(_, unit)| can_go_on(unit));
        if let Some((number, Unit { work, rows, .. })) = ready
            && let Some(work) = work.take()
        {
            return Some(Claimed::Piece { unit: *number, work, rows: rows.clone(), is_first: *number == first });
        }
        if state.next >= units || state.next - first >= self.work.units_at_once().max(1) {
            return None;
        }
        let (unit, rows) = (state.next, Rows::default());
        state.next += 1;
        let work = Work::new(Box::pin(self.work.clone().run(unit, rows.clone())), self.context.clone());
        state.begun.insert(unit, Unit { work: None, rows: rows.clone(), is_over: false });
        Some(Claimed::Piece { unit, work, rows, is_first: unit == first })
    }
}

impl<U: Units> TableScan for UnitSource<U> {
    /// Nobody knows how many rows units will give; only that one is work for one worker. Asked once the work may begin.
    fn rows_total(&self) -> Option<u64> {
        let units = self.units();
        (units <= 1).then_some(units as u64)
    }

    /// A piece has no rows, so that the size of morsels is that of the rows which leave.
    fn claim(&self, rows: u64, waker: &Waker) -> Claim {
        let mut state = self.state.lock();
        let Some(chosen) = self.choose(&mut state, rows) else {
            if state.next >= self.units() && state.begun.is_empty() {
                return Claim::Finished;
            }
            state.waiter = Some(waker.clone());
            return Claim::Pending;
        };
        let rows = match &chosen {
            Claimed::Piece { .. } => 0,
            Claimed::Rows(block) => block.rows() as u64,
        };
        let first = state.claims;
        state.claims += 1;
        state.claimed.push_back((first, chosen));
        Claim::Morsel(Morsel { first, rows })
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        let claimed = {
            let mut state = self.state.lock();
            let at = state.claimed.iter().position(|(number, _)| *number == morsel.first);
            at.and_then(|at| state.claimed.remove(at))
        };
        let (unit, mut work, rows, is_first) = match claimed {
            Some((_, Claimed::Rows(block))) => return consume(block).map(drop),
            Some((_, Claimed::Piece { unit, work, rows, is_first })) => (unit, work, rows, is_first),
            None => return Err(Error::logical("a piece of a unit is run twice")),
        };
        let call = work.call();
        // An error leaves the unit in work: nobody finds the units over before it has ended the query.
        let progress = match work.run_piece() {
            Poll::Ready(result) => Poll::Ready(result?),
            Poll::Pending => Poll::Pending,
        };
        if is_first {
            while let Some(block) = rows.pop() {
                if consume(block)?.is_break() {
                    break;
                }
            }
        }
        let mut state = self.state.lock();
        if progress.is_pending() {
            if let Some(place) = state.begun.get_mut(&unit) {
                place.work = Some(work);
            }
            drop(state);
            call.await_again();
            return Ok(());
        }
        if is_first {
            state.begun.remove(&unit);
        } else if let Some(place) = state.begun.get_mut(&unit) {
            place.is_over = true;
        }
        // There may be rows to hand out, units to begin, or no more at all.
        let waiter = state.waiter.take();
        drop(state);
        if let Some(waiter) = waiter {
            waiter.wake();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow_array::types::UInt64Type;
    use squall_runtime::Pieces;
    use squall_types::{Column, DataType, Settings};

    use super::*;

    /// Unit `n` takes `pieces[n]` pieces and gives its number after each.
    struct Steps {
        pieces: Vec<usize>,
        under_way: AtomicUsize,
        most: AtomicUsize,
    }

    impl Units for Steps {
        fn units(&self) -> usize {
            self.pieces.len()
        }

        fn units_at_once(&self) -> usize {
            3
        }

        async fn run(self: Arc<Self>, unit: usize, rows: Rows) -> Result<()> {
            let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            for piece in 0..self.pieces[unit] {
                if piece > 0 {
                    Pieces::give_way().await;
                }
                let column = Column::from_primitive::<UInt64Type>(DataType::UInt64, vec![unit as u64; 3]);
                rows.push(Block::from_columns([("unit", column)]).unwrap());
            }
            self.under_way.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        }
    }

    fn context() -> Arc<QueryContext> {
        QueryContext::new("id".into(), Settings::default().into())
    }

    #[test]
    fn rows_leave_in_the_order_of_units() {
        let pieces: Vec<usize> = (0..20).map(|unit| unit * 7 % 5).collect();
        let wanted: Vec<u64> =
            pieces.iter().enumerate().flat_map(|(unit, pieces)| vec![unit as u64; pieces * 3]).collect();
        let steps = Steps { pieces, under_way: 0.into(), most: 0.into() };
        let source = UnitSource::new(steps, context());
        let mut seen = Vec::new();
        // Two claims are open at any time, and read in the wrong order.
        let mut open: Vec<Morsel> = Vec::new();
        let mut rows_of_morsel = BTreeMap::new();
        loop {
            let claim = source.claim(2, Waker::noop());
            match claim {
                Claim::Morsel(morsel) => open.push(morsel),
                Claim::Finished if open.is_empty() => break,
                _ => assert!(!open.is_empty(), "nothing can be claimed, and nothing is open"),
            }
            if open.len() == 2 || !matches!(claim, Claim::Morsel(_)) {
                let morsel = open.pop().unwrap();
                let mut values = Vec::new();
                source
                    .read(morsel, &mut |block| {
                        values.extend((0..block.rows()).map(|row| block.column(0).value(row).as_u64().unwrap()));
                        Ok(ControlFlow::Continue(()))
                    })
                    .unwrap();
                rows_of_morsel.insert(morsel.first, values);
            }
        }
        rows_of_morsel.into_values().for_each(|values| seen.extend(values));
        assert_eq!(seen, wanted);
        assert!(source.work.most.load(Ordering::SeqCst) <= 3);
    }

    /// A unit that fails.
    struct Failing;

    impl Units for Failing {
        fn units(&self) -> usize {
            1
        }

        async fn run(self: Arc<Self>, _: usize, _: Rows) -> Result<()> {
            Err(Error::logical("failed"))
        }
    }

    #[test]
    fn units_are_not_over_where_one_failed() {
        let source = UnitSource::new(Failing, context());
        let Claim::Morsel(morsel) = source.claim(1, Waker::noop()) else { panic!("no unit") };
        assert!(source.read(morsel, &mut |_| Ok(ControlFlow::Continue(()))).is_err());
        assert_eq!(source.claim(1, Waker::noop()), Claim::Pending);
    }
}
