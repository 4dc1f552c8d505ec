//! Which rows are missing: the values of the filled columns, row after row, without the rows themselves.

use squall_planner::evaluate;
use squall_planner::fill::{FillColumn, FillMark, FillStep, range};
use squall_types::{Block, ColumnBuilder, DataType, Error, ErrorCode, Result, Schema, Value};

/// The values of the filled columns of a row; `None` is NULL, and where a new row gets a default.
pub(super) type Marks = Vec<Option<FillMark>>;

/// Steps through the values of filled columns. The last column goes on first, within the values of those before it.
pub(super) struct Walk<'a> {
    columns: &'a [FillColumn],
    /// The last new row, or the row that is gone on from.
    row: Marks,
    /// The row that is there and comes next.
    next: Marks,
    /// What new rows do not come to, by column: `TO`, or what `STALENESS` allows.
    borders: Marks,
    /// Whether `row` came out.
    is_given: bool,
}

fn out_of_range(message: String) -> Error {
    Error::new(ErrorCode::INVALID_WITH_FILL_EXPRESSION, message)
}

/// The one of two values that comes first; the only one where one is missing.
fn first_of(left: Option<FillMark>, right: Option<FillMark>, descending: bool) -> Option<FillMark> {
    match (left, right) {
        (Some(left), Some(right)) => Some(if left.is_before(right, descending) { left } else { right }),
        (left, right) => left.or(right),
    }
}

/// Whether two values are equal; NaN equals itself.
fn same(left: Option<FillMark>, right: Option<FillMark>) -> bool {
    match (left, right) {
        (Some(FillMark::Float(left)), Some(FillMark::Float(right))) => left == right || left.is_nan() && right.is_nan(),
        (left, right) => left == right,
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(columns: &'a [FillColumn]) -> Self {
        let nothing = vec![None; columns.len()];
        let borders = columns.iter().map(|column| column.to).collect();
        Self { columns, row: nothing.clone(), next: nothing, borders, is_given: false }
    }

    /// The new row.
    pub(super) fn row(&self) -> &Marks {
        &self.row
    }

    /// The new row came out.
    pub(super) fn give(&mut self) {
        self.is_given = true;
    }

    /// A group of rows begins with these values. Whether a row is to come out before it.
    pub(super) fn begin(&mut self, first: &Marks) -> bool {
        for (at, column) in self.columns.iter().enumerate() {
            let current = first[at];
            if let Some(from) = column.from
                && !same(current, Some(from))
            {
                self.begin_from(at);
                self.is_given = false;
                return current.is_some_and(|current| from.is_before(current, column.descending));
            }
            self.row[at] = current;
        }
        false
    }

    /// No row at all has come.
    pub(super) fn begin_without_rows(&mut self) {
        self.begin_from(0);
        self.is_given = false;
    }

    /// A row comes next. Whether the row that is gone on from is to come out before it.
    pub(super) fn approach(&mut self, next: Marks) -> bool {
        let is_past = self.is_before(&self.next, &self.row);
        self.next = next;
        is_past && self.is_before(&self.row, &self.next) && self.is_within()
    }

    /// All rows of a group have come. `None` where nothing is missing behind them; otherwise whether the row that is gone on from is to
    /// come out.
    pub(super) fn end(&mut self) -> Option<bool> {
        let is_empty = |row: &Marks| row.iter().all(Option::is_none);
        let gives_first =
            self.is_before(&self.next, &self.row) && !self.is_given || is_empty(&self.next) && !is_empty(&self.row);
        self.next.fill(None);
        let has_borders = self.borders.iter().any(Option::is_some);
        (has_borders && self.is_within()).then_some(gives_first)
    }

    /// Where the row that is gone on from has changed without coming out.
    pub(super) fn keep(&mut self) {
        self.is_given = false;
    }

    /// Whether rows of one group may be too far from each other to be filled all the way.
    pub(super) fn has_staleness(&self) -> bool {
        self.columns.iter().any(|column| column.staleness.is_some())
    }

    /// New rows may be so far from this one.
    ///
    /// # Errors
    /// `INVALID_WITH_FILL_EXPRESSION` where the column has no such value.
    pub(super) fn allow_from(&mut self, row: &Marks) -> Result<()> {
        for (at, column) in self.columns.iter().enumerate() {
            let Some(staleness) = &column.staleness else { continue };
            let reach = row[at].map(|value| after(column, value, staleness, 1)).transpose()?;
            // Where it is below all numbers without a sign, nothing follows: for ClickHouse it would be above them.
            let is_unsigned = range(&column.data_type).is_some_and(|(least, _)| least == 0);
            let reach = if is_unsigned && reach.is_some_and(FillMark::is_negative) { row[at] } else { reach };
            self.borders[at] = first_of(column.to, reach, column.descending);
        }
        Ok(())
    }

    /// Goes on to the next missing row before the one that comes next; `has_moved` where the row changed, also where it is none.
    ///
    /// # Errors
    /// `INVALID_WITH_FILL_EXPRESSION` where a column has no such value.
    pub(super) fn advance(&mut self, has_moved: &mut bool) -> Result<bool> {
        let goes_on = |at: &usize| {
            let border = first_of(self.borders[*at], self.next[*at], self.columns[*at].descending);
            self.row[*at].is_some() && border.is_some() && !same(self.row[*at], border)
        };
        let Some(at) = (0..self.columns.len()).find(goes_on) else { return Ok(false) };
        let column = &self.columns[at];
        let Some(own) = self.row[at].filter(|own| own.is_finite()) else { return Ok(false) };
        let (next, border) = (self.next[at], self.borders[at]);
        let is_before = |left: FillMark, right: FillMark| left.is_before(right, column.descending);
        let is_past = next.is_some_and(|next| !next.is_finite() || is_before(next, own))
            || border.is_some_and(|border| !is_before(own, border));
        if is_past {
            return Ok(false);
        }
        for within in (at + 1..self.columns.len()).rev() {
            let (Some(value), Some(border)) = (self.row[within], self.borders[within]) else { continue };
            let column = &self.columns[within];
            let value = after(column, value, &column.step, 1)?;
            if value.is_before(border, column.descending) {
                check(column, value)?;
                self.row[within] = Some(value);
                self.begin_from(within + 1);
                *has_moved = true;
                return Ok(true);
            }
        }
        let value = after(column, own, &column.step, 1)?;
        let is_past =
            next.is_some_and(|next| is_before(next, value)) || border.is_some_and(|border| !is_before(value, border));
        if is_past {
            return Ok(false);
        }
        check(column, value)?;
        self.row[at] = Some(value);
        *has_moved = true;
        if same(self.row[at], next) {
            return Ok(self.begin_beside_next(at + 1));
        }
        self.begin_from(at + 1);
        Ok(true)
    }

    /// Passes over what is not filled, to the last place of a new row before the one that comes next. Whether a new row is there.
    ///
    /// # Errors
    /// Those of the steps.
    pub(super) fn pass_over(&mut self, has_moved: &mut bool) -> Result<bool> {
        for (at, column) in self.columns.iter().enumerate() {
            let (Some(own), Some(next)) = (self.row[at], self.next[at]) else { continue };
            if same(self.row[at], self.next[at]) {
                continue;
            }
            if next.is_before(own, column.descending) {
                return Ok(false);
            }
            self.row[at] = Some(last_before(column, own, next)?);
            if same(self.row[at], self.next[at]) {
                *has_moved = true;
                return Ok(self.begin_beside_next(at + 1));
            }
            for (own, column) in self.row.iter_mut().zip(self.columns).skip(at + 1) {
                *own = column.to;
            }
            *has_moved = false;
            return Ok(false);
        }
        Ok(false)
    }

    fn begin_from(&mut self, first: usize) {
        for (own, column) in self.row.iter_mut().zip(self.columns).skip(first) {
            *own = column.from;
        }
    }

    /// The columns before are those of the row that comes next: whether these begin before that row's.
    fn begin_beside_next(&mut self, first: usize) -> bool {
        let mut is_before = false;
        for (at, column) in self.columns.iter().enumerate().skip(first) {
            self.row[at] = column.from.or(self.next[at]);
            let precedes = |other: Option<FillMark>| match (self.row[at], other) {
                (_, None) | (None, Some(_)) => true,
                (Some(own), Some(other)) => own.is_before(other, column.descending),
            };
            is_before |= precedes(self.next[at]) && precedes(self.borders[at]);
        }
        is_before
    }

    /// Whether a row comes before another, NULLs aside.
    fn is_before(&self, left: &Marks, right: &Marks) -> bool {
        for ((column, left), right) in self.columns.iter().zip(left).zip(right) {
            if let (Some(left), Some(right)) = (left, right)
                && !same(Some(*left), Some(*right))
            {
                return left.is_before(*right, column.descending);
            }
        }
        false
    }

    /// Whether the first column that ends somewhere is not there yet.
    fn is_within(&self) -> bool {
        let mut columns = self.columns.iter().zip(&self.row).zip(&self.borders);
        let within =
            columns.find_map(|((column, own), border)| Some(own.as_ref()?.is_before((*border)?, column.descending)));
        within.unwrap_or(true)
    }
}

/// Refuses a value that the column cannot hold.
fn check(column: &FillColumn, value: FillMark) -> Result<()> {
    match (value, range(&column.data_type)) {
        (FillMark::Integer(number), Some((least, most))) if !(least..=most).contains(&number) => {
            Err(out_of_range(format!(
                "WITH FILL generates the value {number} which is out of range of the ORDER BY column type {}",
                column.data_type
            )))
        }
        _ => Ok(()),
    }
}

/// The value some steps after another.
fn after(column: &FillColumn, value: FillMark, step: &FillStep, steps: i64) -> Result<FillMark> {
    let moved = shifted(column, value, step, steps)?;
    if moved.is_some_and(|moved| value.is_before(moved, column.descending)) {
        return Ok(moved.unwrap_or(value));
    }
    Err(out_of_range("WITH FILL step does not advance in the sorting direction".to_owned()))
}

fn shifted(column: &FillColumn, value: FillMark, step: &FillStep, steps: i64) -> Result<Option<FillMark>> {
    let expression = match step {
        FillStep::Number(number) => return Ok(Some(value.plus(*number, steps))),
        FillStep::Interval(expression) => expression,
    };
    let Some(value) = value.value(&column.data_type) else { return Ok(None) };
    let of = |data_type: &DataType, value: &Value| {
        let mut builder = ColumnBuilder::new(data_type.clone());
        builder.append(value)?;
        builder.finish()
    };
    let columns = vec![of(&column.data_type, &value)?, of(&DataType::Int64, &Value::Int64(steps))?];
    let schema = Schema::new([("value", column.data_type.clone()), ("steps", DataType::Int64)]);
    let moved = evaluate(expression, &Block::new(schema.into(), columns, 1))?;
    Ok(FillMark::of(&moved.value(0)))
}

/// The last value, in steps from `own`, that is not after `end`.
fn last_before(column: &FillColumn, own: FillMark, end: FillMark) -> Result<FillMark> {
    // Farther and farther, then nearer and nearer: of steps of the calendar only the sum is known.
    let (mut value, mut steps, mut is_near) = (own, 1i64, false);
    while steps > 0 {
        let moved = shifted(column, value, &column.step, steps)?;
        let fits = moved
            .filter(|moved| value.is_before(*moved, column.descending) && !end.is_before(*moved, column.descending));
        match fits {
            Some(moved) => value = moved,
            None => is_near = true,
        }
        steps = if is_near { steps / 2 } else { steps.saturating_mul(2) };
    }
    Ok(value)
}
