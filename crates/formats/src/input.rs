//! The face of input formats: bytes in as they arrive, blocks of the table's columns out. Also what formats of rows share: the rows
//! under construction, and the loop that cuts them into blocks and keeps the bytes of an unfinished row.

use std::sync::Arc;

use arrow_buffer::BooleanBuffer;
use squall_types::cast::{CastMode, CastOptions, cast};
use squall_types::text::{TextOptions, ValueReader};
use squall_types::{
    Block, Column, ColumnBuilder, DataType, Error, ErrorCode, Result, Schema, checkpoint, default_value, grow,
};

use crate::options::FormatOptions;
use crate::parquet::ReadAt;
use crate::split::{RowEnds, SplitReader};
use crate::wire::{Cursor, Stop};

/// Bytes of input after which a block is closed, whatever its rows.
const BLOCK_INPUT_BYTES: usize = 1 << 20;
/// The most of the input that an error shows.
const ERROR_TEXT_BYTES: usize = 40;

/// Rows for a table.
#[derive(Clone, Debug)]
pub struct InputBlock {
    /// All columns of the table's schema.
    pub block: Block,
    /// For each column, the rows that the input did not give; they hold the type's default and want the column's `DEFAULT`.
    pub omitted: Vec<Omitted>,
}

/// Rows that the input did not give.
#[derive(Clone, PartialEq, Debug)]
pub enum Omitted {
    /// All were given.
    None,
    /// None was given.
    All,
    /// Those whose bit is set were not given.
    Rows(BooleanBuffer),
}

/// Reads blocks from bytes that arrive in pieces.
pub trait InputFormat: Send {
    /// Takes the next bytes and appends the blocks that are complete with them. After an error the format is of no further use.
    ///
    /// # Errors
    /// What is wrong with the input, with the row, the column and the text around; a limit that it exceeds.
    fn feed(&mut self, chunk: &[u8], blocks: &mut Vec<InputBlock>) -> Result<()>;

    /// The input is at its end: appends what is left.
    ///
    /// # Errors
    /// As [`InputFormat::feed`]; `CANNOT_READ_ALL_DATA` and its like where the end comes too early.
    fn finish(&mut self, blocks: &mut Vec<InputBlock>) -> Result<()>;

    /// After [`finish`](Self::finish): the next block of a format that has to have all of its input before it reads any; `None` at the end.
    /// Reading takes time: not for I/O threads.
    ///
    /// # Errors
    /// As [`InputFormat::feed`].
    fn next_block(&mut self) -> Result<Option<InputBlock>> {
        Ok(None)
    }

    /// Whether [`next_block`](Self::next_block) has any.
    fn reads_at_end(&self) -> bool {
        false
    }

    /// Instead of [`feed`](Self::feed): where the bytes are, for a format that [is read by place](crate::is_read_by_place).
    ///
    /// # Errors
    /// `LOGICAL_ERROR` for another format.
    fn open(&mut self, _source: Arc<dyn ReadAt>) -> Result<()> {
        Err(Error::logical("a format that is not read by place"))
    }

    /// How pieces of what follows can be read apart from each other; `None` where, or as long as, they cannot.
    fn split(&mut self) -> Option<&mut dyn SplitReader> {
        None
    }
}

/// The columns of the table that input goes to, and how names in the input find them.
#[derive(Clone, Debug)]
pub struct TableInput {
    pub(crate) schema: Arc<Schema>,
    skip_unknown_fields: bool,
    checks_types: bool,
    cast: CastOptions,
    /// Whether NULL for a column that takes none is its default.
    pub(crate) null_as_default: bool,
    /// Whether what is left out is NULL, which not every column takes.
    omits_as_null: bool,
}

impl TableInput {
    /// For a table with these columns.
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        Self {
            schema: schema.clone(),
            skip_unknown_fields: options.settings.input_format_skip_unknown_fields,
            cast: CastOptions::new(CastMode::Plain, options.time_zone.clone()),
            checks_types: options.settings.input_format_with_types_use_header,
            null_as_default: options.settings.input_format_null_as_default,
            omits_as_null: options.settings.input_format_force_null_for_omitted_fields,
        }
    }

    /// Checks that the input may leave a column out.
    fn check_omitted(&self, position: usize) -> Result<()> {
        match self.schema.fields.get(position) {
            Some((name, data_type)) if self.omits_as_null && !data_type.is_nullable() => {
                let message = format!("Cannot insert NULL value into a column `{name}` of type '{data_type}'");
                Err(Error::new(ErrorCode::TYPE_MISMATCH, message))
            }
            _ => Ok(()),
        }
    }

    /// The position of a column; `None` for an unknown one that is to be skipped.
    pub(crate) fn position(&self, name: &str) -> Result<Option<usize>> {
        let found = self.schema.position(name).or_else(|| {
            // Without an exact match, ClickHouse takes one that differs in the case of letters.
            self.schema.names().position(|known| known.eq_ignore_ascii_case(name))
        });
        if found.is_none() && !self.skip_unknown_fields {
            return Err(Error::new(ErrorCode::INCORRECT_DATA, format!("Unknown field found in input: '{name}'")));
        }
        Ok(found)
    }

    /// The positions of all columns that a header names.
    pub(crate) fn positions(&self, names: &[String]) -> Result<Vec<Option<usize>>> {
        let positions = names.iter().map(|name| self.position(name)).collect::<Result<Vec<_>>>()?;
        let mut seen = vec![false; self.schema.len()];
        for (position, name) in positions.iter().zip(names) {
            if let Some(seen) = position.and_then(|position| seen.get_mut(position))
                && std::mem::replace(seen, true)
            {
                return Err(Error::new(ErrorCode::INCORRECT_DATA, format!("Duplicate field found in input: '{name}'")));
            }
        }
        Ok(positions)
    }

    /// Checks the types that a header names against the table's.
    pub(crate) fn check_types(&self, names: &[String], types: &[String]) -> Result<()> {
        if !self.checks_types {
            return Ok(());
        }
        for (name, found) in names.iter().zip(types) {
            let expected = self.schema.fields.iter().find(|(known, _)| **known == **name);
            if let Some((_, expected)) = expected
                && DataType::parse(found)? != *expected
            {
                return Err(Error::new(
                    ErrorCode::INCORRECT_DATA,
                    format!("Type of '{name}' must be {expected}, not {found}"),
                ));
            }
        }
        Ok(())
    }

    /// The block with the table's columns, cast to their types.
    ///
    /// # Errors
    /// `INCORRECT_DATA` for unknown columns that are not to be skipped; those of casts.
    pub fn match_block(&self, block: &Block) -> Result<InputBlock> {
        let names: Vec<String> = block.schema().names().map(str::to_owned).collect();
        let mut found: Vec<Option<&Column>> = vec![None; self.schema.len()];
        for (position, column) in self.positions(&names)?.into_iter().zip(block.columns()) {
            if let Some(slot) = position.and_then(|position| found.get_mut(position)) {
                *slot = Some(column);
            }
        }
        let mut columns = Vec::with_capacity(found.len());
        let mut omitted = Vec::with_capacity(found.len());
        for (position, ((name, data_type), column)) in self.schema.fields.iter().zip(found).enumerate() {
            match column {
                None => {
                    self.check_omitted(position)?;
                    columns.push(Column::default_values(data_type.clone(), block.rows())?.materialize()?);
                    omitted.push(Omitted::All);
                }
                Some(column) => {
                    let (column, rows) = self
                        .match_column(column, data_type)
                        .map_err(|error| error.context(format_args!("Column {name}")))?;
                    columns.push(column);
                    omitted.push(rows);
                }
            }
        }
        Ok(InputBlock { block: Block::new(self.schema.clone(), columns, block.rows()), omitted })
    }

    fn match_column(&self, column: &Column, data_type: &DataType) -> Result<(Column, Omitted)> {
        if column.data_type() == data_type {
            return Ok((column.clone().without_constant()?, Omitted::None));
        }
        let nulls = column.nulls().filter(|_| !data_type.is_nullable() && self.null_as_default);
        let Some(nulls) = nulls else {
            return Ok((cast(column, data_type, &self.cast)?.without_constant()?, Omitted::None));
        };
        // A NULL becomes the default of a type that has none.
        let omitted = !nulls.inner();
        let cast = cast(column, &data_type.to_nullable(), &self.cast)?;
        Ok((without_nulls(&cast, data_type)?, Omitted::Rows(omitted)))
    }
}

/// The column with the type's default in place of NULL.
fn without_nulls(column: &Column, data_type: &DataType) -> Result<Column> {
    let default = default_value(data_type);
    let mut builder = ColumnBuilder::new(data_type.clone());
    for row in 0..column.rows() {
        let value = column.value(row);
        builder.append(if value.is_null() { &default } else { &value })?;
    }
    builder.finish()
}

/// A column under construction.
pub(crate) trait GrowingColumn: Sized + Send {
    /// An empty one of a type.
    fn empty(data_type: &DataType, text: &TextOptions) -> Result<Self>;
    /// Appends NULL where the type has it, otherwise 0 or an empty value.
    fn append_default(&mut self) -> Result<()>;
    /// Drops the rows from `rows` on, and what a value that failed has left behind.
    fn truncate(&mut self, rows: usize);
    /// The column of all rows; it is empty afterwards.
    fn finish(&mut self) -> Result<Column>;
}

impl GrowingColumn for ValueReader {
    fn empty(data_type: &DataType, text: &TextOptions) -> Result<Self> {
        Self::new(data_type, text)
    }

    fn append_default(&mut self) -> Result<()> {
        Self::append_default(self);
        Ok(())
    }

    fn truncate(&mut self, rows: usize) {
        Self::truncate(self, rows);
    }

    fn finish(&mut self) -> Result<Column> {
        Self::finish(self)
    }
}

/// Rows under construction.
#[derive(Debug)]
pub(crate) struct Rows<C> {
    pub table: TableInput,
    text: TextOptions,
    builders: Vec<C>,
    /// For each column, the rows that were omitted, ascending.
    omitted: Vec<Vec<u32>>,
    /// Which columns of the row at hand have their value.
    filled: Vec<bool>,
    rows: usize,
    /// The column that was asked for last: what an error names.
    column: Option<usize>,
}

impl<C: GrowingColumn> Rows<C> {
    fn new(table: TableInput, text: TextOptions) -> Result<Self> {
        let builders = table.schema.types().map(|data_type| C::empty(data_type, &text)).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            omitted: vec![Vec::new(); builders.len()],
            filled: vec![false; builders.len()],
            builders,
            rows: 0,
            column: None,
            text,
            table,
        })
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.builders.len()
    }

    /// The builder of a column, to which one value must be appended.
    #[inline]
    pub fn column(&mut self, position: usize) -> Result<&mut C> {
        self.column = Some(position);
        match (self.builders.get_mut(position), self.filled.get_mut(position)) {
            (Some(builder), Some(filled)) => {
                *filled = true;
                Ok(builder)
            }
            _ => Err(Error::logical(format!("no column {position} in the input's table"))),
        }
    }

    /// The rows that are whole.
    pub fn count(&self) -> usize {
        self.rows
    }

    /// The builders of all columns, for formats that fill those of a row in no order. Each that gets a value is to be [`fill`](Self::fill)ed.
    pub fn columns(&mut self) -> &mut [C] {
        &mut self.builders
    }

    /// Notes that a column of the row at hand has its value.
    pub fn fill(&mut self, position: usize) {
        if let Some(filled) = self.filled.get_mut(position) {
            *filled = true;
        }
    }

    /// Whether the row at hand has a value of this column already.
    pub fn is_filled(&self, position: usize) -> bool {
        self.filled.get(position).copied().unwrap_or(false)
    }

    /// Notes that the value just appended to a column is no more than a default.
    pub fn mark_omitted(&mut self, position: usize) {
        if let Some(omitted) = self.omitted.get_mut(position) {
            omitted.push(self.rows as u32);
        }
    }

    /// Leaves a column of the row at hand out.
    pub fn omit(&mut self, position: usize) -> Result<()> {
        self.column(position)?.append_default()?;
        self.mark_omitted(position);
        Ok(())
    }

    fn end_row(&mut self) -> Result<()> {
        for position in 0..self.builders.len() {
            if !self.is_filled(position) {
                self.table.check_omitted(position)?;
                self.omit(position)?;
            }
        }
        self.filled.fill(false);
        self.rows += 1;
        Ok(())
    }

    /// Drops what there is of the row at hand.
    pub fn take_back_row(&mut self) {
        for (builder, omitted) in self.builders.iter_mut().zip(&mut self.omitted) {
            builder.truncate(self.rows);
            while omitted.last().is_some_and(|row| *row as usize >= self.rows) {
                omitted.pop();
            }
        }
        self.filled.fill(false);
        self.column = None;
    }

    fn finish(&mut self) -> Result<InputBlock> {
        let rows = std::mem::take(&mut self.rows);
        let columns = self.builders.iter_mut().map(C::finish).collect::<Result<Vec<_>>>()?;
        let omitted = self.omitted.iter_mut().map(|positions| {
            let positions = std::mem::take(positions);
            match positions.len() {
                0 => Omitted::None,
                all if all == rows => Omitted::All,
                _ => {
                    let mut bits = vec![false; rows];
                    positions.iter().for_each(|row| bits[*row as usize] = true);
                    Omitted::Rows(BooleanBuffer::from(bits))
                }
            }
        });
        Ok(InputBlock { omitted: omitted.collect(), block: Block::new(self.table.schema.clone(), columns, rows) })
    }
}

/// How a format of rows reads them.
pub(crate) trait RowReader: Sized + Send + 'static {
    /// What columns grow in.
    type Column: GrowingColumn;

    /// Of a format whose rows several readers can read at once, after the header: where rows seem to end, and a reader of bytes that begin
    /// with one.
    fn fork(&self) -> Option<(RowEnds, Self)> {
        None
    }

    /// Reads what stands before the first row; once, from the first byte of the input.
    fn header(&mut self, _input: &mut Cursor<'_>, _rows: &mut Rows<Self::Column>) -> Result<(), Stop> {
        Ok(())
    }

    /// Reads a row, with what separates it from the next. `false`: what was read was no row, but an end or a separator.
    ///
    /// # Errors
    /// `Incomplete`: the row is read again from its start when there is more.
    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<Self::Column>) -> Result<bool, Stop>;

    /// Moves from the start of a row that cannot be read to the next row.
    fn skip_row(&mut self, input: &mut Cursor<'_>) -> Result<(), Stop>;

    /// Whether the input may end where the last row ended.
    fn is_complete(&self) -> bool {
        true
    }

    /// Whether another row may follow.
    fn is_open(&self) -> bool {
        true
    }
}

/// An input format of rows.
pub(crate) struct RowInput<R: RowReader> {
    reader: R,
    rows: Rows<R::Column>,
    has_header: bool,
    /// Bytes from the start of an unfinished row on.
    pending: Vec<u8>,
    /// Reading again is worth it only when there are so many bytes: twice what was not enough.
    retry_bytes: usize,
    pending_bytes_max: usize,
    block_rows_max: usize,
    block_input_bytes: usize,
    rows_read: u64,
    errors: u64,
    errors_max: u64,
    errors_ratio_max: f64,
    is_split: bool,
}

impl<R: RowReader> RowInput<R> {
    pub fn new(reader: R, schema: &Arc<Schema>, options: &FormatOptions) -> Result<Self> {
        let settings = &options.settings;
        Ok(Self {
            reader,
            rows: Rows::new(TableInput::new(schema, options), options.text())?,
            has_header: false,
            pending: Vec::new(),
            retry_bytes: 0,
            pending_bytes_max: options.pending_bytes_max,
            block_rows_max: usize::try_from(settings.max_insert_block_size)
                .unwrap_or(usize::MAX)
                .clamp(1, u32::MAX as usize),
            block_input_bytes: 0,
            rows_read: 0,
            errors: 0,
            errors_max: settings.input_format_allow_errors_num,
            errors_ratio_max: settings.input_format_allow_errors_ratio,
            is_split: settings.input_format_parallel_parsing,
        })
    }

    /// Reads rows; returns the position after the last that is complete.
    fn read(&mut self, input: &mut Cursor<'_>, blocks: &mut Vec<InputBlock>) -> Result<usize> {
        loop {
            let start = input.position();
            if self.has_header && input.is_empty() {
                return Ok(start);
            }
            let outcome = if self.has_header {
                self.reader.row(input, &mut self.rows)
            } else {
                self.reader.header(input, &mut self.rows).map(|()| false)
            };
            match outcome {
                Ok(is_row) => {
                    let is_stuck = self.has_header && input.position() == start && (is_row || !input.is_empty());
                    if is_stuck {
                        // Rows without bytes would never come to an end.
                        let message = "Rows of the input have no columns that take any bytes";
                        return Err(Error::new(ErrorCode::INCORRECT_DATA, message));
                    }
                    self.has_header = true;
                    if is_row {
                        self.rows.end_row()?;
                        self.rows_read += 1;
                    } else if input.position() == start && input.is_empty() {
                        return Ok(start);
                    }
                    checkpoint(32 + 2 * (input.position() - start))?;
                    self.block_input_bytes += input.position() - start;
                    if self.rows.rows >= self.block_rows_max
                        || (self.block_input_bytes >= BLOCK_INPUT_BYTES && self.rows.rows > 0)
                    {
                        self.close_block(blocks)?;
                    }
                }
                Err(Stop::Incomplete) if !input.is_last() => {
                    self.rows.take_back_row();
                    return Ok(start);
                }
                Err(stop) => {
                    let error = self.describe(stop.into_error(), input);
                    self.rows.take_back_row();
                    self.errors += 1;
                    let ratio = self.errors as f64 / (self.rows_read + self.errors) as f64;
                    if !self.has_header || (self.errors > self.errors_max && ratio > self.errors_ratio_max) {
                        return Err(error);
                    }
                    input.seek(start);
                    match self.reader.skip_row(input) {
                        Ok(()) if input.position() > start => {}
                        Ok(()) => return Err(error),
                        Err(Stop::Incomplete) if !input.is_last() => {
                            self.errors -= 1;
                            return Ok(start);
                        }
                        Err(_) => input.advance(usize::MAX / 2),
                    }
                }
            }
        }
    }

    fn close_block(&mut self, blocks: &mut Vec<InputBlock>) -> Result<()> {
        self.block_input_bytes = 0;
        blocks.push(self.rows.finish()?);
        Ok(())
    }

    /// The error with the text at which reading stopped, the row and the column.
    fn describe(&self, error: Error, input: &Cursor<'_>) -> Error {
        let rest = input.rest();
        let before = String::from_utf8_lossy(rest.get(..ERROR_TEXT_BYTES).unwrap_or(rest)).escape_debug().to_string();
        let column = self.rows.column.and_then(|column| self.rows.table.schema.fields.get(column));
        let column = column.map(|(name, data_type)| format!(", column {name} of type {data_type}")).unwrap_or_default();
        let message = error.message;
        Error::new(error.code, format!("{message}, before: '{before}': (at row {}{column})", self.rows_read + 1))
    }
}

impl<R: RowReader> InputFormat for RowInput<R> {
    fn feed(&mut self, chunk: &[u8], blocks: &mut Vec<InputBlock>) -> Result<()> {
        if self.pending.is_empty() {
            // The usual way: rows are read where they arrived.
            let read = self.read(&mut Cursor::new(chunk), blocks)?;
            grow(&mut self.pending, chunk.len() - read)?;
            self.pending.extend_from_slice(&chunk[read..]);
            self.retry_bytes = 0;
        } else {
            grow(&mut self.pending, chunk.len())?;
            self.pending.extend_from_slice(chunk);
            if self.pending.len() < self.retry_bytes {
                return Ok(());
            }
            let pending = std::mem::take(&mut self.pending);
            let read = self.read(&mut Cursor::new(&pending), blocks)?;
            self.pending = pending;
            self.pending.drain(..read);
            self.retry_bytes = if read == 0 { 2 * self.pending.len() } else { 0 };
        }
        if self.pending.len() > self.pending_bytes_max {
            return Err(Error::new(
                ErrorCode::TOO_LARGE_STRING_SIZE,
                format!("Row {} of the input is larger than {} bytes", self.rows_read + 1, self.pending_bytes_max),
            ));
        }
        Ok(())
    }

    fn finish(&mut self, blocks: &mut Vec<InputBlock>) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let mut input = Cursor::complete(&pending);
        if !pending.is_empty() || !self.has_header {
            self.read(&mut input, blocks)?;
        }
        if !self.reader.is_complete() {
            return Err(self.describe(Stop::Incomplete.into_error(), &input));
        }
        if self.rows.rows > 0 { self.close_block(blocks) } else { Ok(()) }
    }

    fn split(&mut self) -> Option<&mut dyn SplitReader> {
        let can_be_split = self.is_split && self.has_header && self.reader.fork().is_some();
        can_be_split.then_some(self as &mut dyn SplitReader)
    }
}

impl<R: RowReader> SplitReader for RowInput<R> {
    fn fork(&self) -> Result<(RowEnds, Box<dyn InputFormat>)> {
        let (ends, reader) = self.reader.fork().ok_or_else(|| Error::logical("rows that are not to be split"))?;
        let fork = Self {
            reader,
            rows: Rows::new(self.rows.table.clone(), self.rows.text.clone())?,
            has_header: true,
            pending: Vec::new(),
            retry_bytes: 0,
            block_input_bytes: 0,
            rows_read: 0,
            errors: 0,
            errors_max: 0,
            errors_ratio_max: 0.0,
            ..*self
        };
        Ok((ends, Box::new(fork)))
    }

    fn is_between_rows(&self) -> bool {
        self.pending.is_empty() && self.reader.is_open()
    }

    fn give_way(&mut self, rows: u64, blocks: &mut Vec<InputBlock>) -> Result<()> {
        self.rows_read += rows;
        if self.rows.rows > 0 { self.close_block(blocks) } else { Ok(()) }
    }
}
