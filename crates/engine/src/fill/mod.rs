//! `ORDER BY … WITH FILL`: the sorted rows are collected, on disk where they do not fit into memory, and one unit of work gives them
//! again with the missing rows between them. `walk` knows which rows are missing; here they are made.

mod walk;

use std::ops::Range;
use std::sync::Arc;

use squall_planner::fill::{Fill, FillMark};
use squall_planner::{SortKey, evaluate};
use squall_runtime::Pieces;
use squall_types::{Block, Column, ColumnBuilder, DataType, Result, Schema, Value, default_value};

use self::walk::{Marks, Walk};
use crate::sort::keys::{KeyRows, encode_keys};
use crate::units::{Rows, Units};
use crate::window::Collecting;

/// Rows of a block that leaves, at most.
const BLOCK_ROWS: usize = 8_192;

/// Gives the collected rows and those that are missing between them.
pub(crate) struct WithFill {
    fill: Fill,
    collecting: Arc<Collecting>,
}

impl WithFill {
    pub(crate) fn new(fill: Fill, collecting: Arc<Collecting>) -> Self {
        Self { fill, collecting }
    }
}

impl Units for WithFill {
    fn units(&self) -> usize {
        1
    }

    async fn run(self: Arc<Self>, _unit: usize, out: Rows) -> Result<()> {
        let input = self.collecting.input();
        let schema = self.fill.input.schema().clone();
        let mut filler = Filler::new(&self.fill, schema.clone(), out);
        for number in 0..input.blocks() {
            let block = input.load(number, &schema).await?.materialize()?;
            input.let_go(number..number + 1);
            if !block.is_empty() {
                filler.block(block).await?;
            }
        }
        filler.end().await
    }
}

/// What comes before a new row.
enum Before {
    Nothing,
    /// A row of the block at hand.
    Row(usize),
    /// A new row.
    New(Vec<Value>),
}

/// The rows on their way.
struct Filler<'a> {
    fill: &'a Fill,
    walk: Walk<'a>,
    schema: Arc<Schema>,
    /// What a new row has where nothing says otherwise.
    defaults: Vec<Value>,
    out: Rows,
    pieces: Pieces,
    block: Block,
    /// Rows of the block that leave as they are, behind all that has left.
    copied: Range<usize>,
    /// New rows that follow these.
    new: Vec<ColumnBuilder>,
    new_rows: usize,
    before: Before,
    /// The last row's columns of the order before the filled ones, as bytes and as values.
    prefix: Option<(Vec<u8>, Vec<Value>)>,
}

impl<'a> Filler<'a> {
    fn new(fill: &'a Fill, schema: Arc<Schema>, out: Rows) -> Self {
        Self {
            fill,
            walk: Walk::new(&fill.columns),
            defaults: schema.types().map(default_value).collect(),
            out,
            pieces: Pieces::begin(),
            block: Block::empty(schema.clone()),
            copied: 0..0,
            new: Vec::new(),
            new_rows: 0,
            before: Before::Nothing,
            prefix: None,
            schema,
        }
    }

    async fn block(&mut self, block: Block) -> Result<()> {
        let keys = self.prefixes(&block)?;
        let filled: Vec<Column> = self.fill.columns.iter().map(|column| block.column(column.column).clone()).collect();
        if let Before::Row(row) = self.before {
            // The block at hand changes.
            self.before = Before::New(values_of(&self.block, row));
        }
        self.block = block;
        self.copied = 0..0;
        for row in 0..self.block.rows() {
            let marks: Marks = filled.iter().map(|column| FillMark::of(&column.value(row))).collect();
            self.row(row, marks, &keys).await?;
        }
        self.leave_copied();
        self.pieces.pause().await;
        self.out.room().await;
        Ok(())
    }

    /// The keys of the groups of rows that are filled for themselves.
    fn prefixes(&self, block: &Block) -> Result<KeyRows> {
        let key = |column: &usize| SortKey {
            expression: squall_planner::Expression::column(*column, block.column(*column).data_type()),
            descending: false,
            nulls_first: false,
        };
        encode_keys(&self.fill.prefix.iter().map(key).collect::<Vec<_>>(), block)
    }

    async fn row(&mut self, row: usize, marks: Marks, keys: &KeyRows) -> Result<()> {
        let key = keys.key(row);
        if self.prefix.as_ref().is_none_or(|(known, _)| known != key) {
            if self.prefix.is_some() {
                self.end_of_group().await?;
            }
            let values = self.fill.prefix.iter().map(|column| self.block.column(*column).value(row)).collect();
            self.prefix = Some((key.to_vec(), values));
            if self.walk.begin(&marks) {
                self.give().await?;
            }
            self.walk.allow_from(&marks)?;
        }
        if self.walk.approach(marks.clone()) {
            self.give().await?;
        }
        let mut has_moved = false;
        while self.walk.advance(&mut has_moved)? {
            self.give().await?;
            has_moved = false;
        }
        if self.walk.has_staleness() {
            self.walk.allow_from(&marks)?;
            while self.walk.pass_over(&mut has_moved)? {
                loop {
                    self.give().await?;
                    has_moved = false;
                    if !self.walk.advance(&mut has_moved)? {
                        break;
                    }
                }
            }
        }
        if has_moved {
            self.walk.keep();
        }
        self.copy(row)
    }

    async fn end_of_group(&mut self) -> Result<()> {
        let Some(gives_first) = self.walk.end() else { return Ok(()) };
        if gives_first {
            self.give().await?;
        }
        let mut has_moved = false;
        while self.walk.advance(&mut has_moved)? {
            self.give().await?;
        }
        if has_moved {
            self.walk.keep();
        }
        Ok(())
    }

    async fn end(mut self) -> Result<()> {
        if self.prefix.is_none() {
            self.walk.begin_without_rows();
        }
        self.end_of_group().await?;
        self.leave_new()
    }

    /// The next row of the block at hand follows.
    fn copy(&mut self, row: usize) -> Result<()> {
        self.leave_new()?;
        if self.copied.end != row {
            self.copied = row..row;
        }
        self.copied.end = row + 1;
        self.before = Before::Row(row);
        Ok(())
    }

    /// The walk's row follows.
    async fn give(&mut self) -> Result<()> {
        self.leave_copied();
        let mut values = self.defaults.clone();
        for (column, mark) in self.fill.columns.iter().zip(self.walk.row()) {
            if let Some(value) = mark.and_then(|mark| mark.value(&column.data_type)) {
                values[column.column] = value;
            }
        }
        if let Some((_, prefix)) = &self.prefix {
            for (column, value) in self.fill.prefix.iter().zip(prefix) {
                values[*column] = value.clone();
            }
        }
        self.interpolate(&mut values)?;
        if self.new.is_empty() {
            self.new = self.schema.types().map(|data_type: &DataType| ColumnBuilder::new(data_type.clone())).collect();
        }
        for (builder, value) in self.new.iter_mut().zip(&values) {
            builder.append(value)?;
        }
        self.new_rows += 1;
        self.walk.give();
        self.before = Before::New(values);
        if self.new_rows >= BLOCK_ROWS {
            self.leave_new()?;
            self.out.room().await;
        }
        self.pieces.pause().await;
        Ok(())
    }

    /// Sets what INTERPOLATE says, of the row before.
    fn interpolate(&self, values: &mut [Value]) -> Result<()> {
        if self.fill.interpolated.is_empty() {
            return Ok(());
        }
        let own;
        let before = match &self.before {
            Before::Nothing => &self.defaults,
            Before::Row(row) => {
                own = values_of(&self.block, *row);
                &own
            }
            Before::New(values) => values,
        };
        let is_copied = |(column, expression): &(usize, squall_planner::Expression)| matches!(expression, squall_planner::Expression::Column { position, .. } if position == column);
        let row = match self.fill.interpolated.iter().all(is_copied) {
            true => None,
            false => Some(row_of(&self.schema, before)?),
        };
        for interpolated in &self.fill.interpolated {
            let (column, expression) = interpolated;
            values[*column] = match &row {
                Some(row) if !is_copied(interpolated) => evaluate(expression, row)?.value(0),
                _ => before[*column].clone(),
            };
        }
        Ok(())
    }

    fn leave_copied(&mut self) {
        let rows = std::mem::replace(&mut self.copied, 0..0);
        self.out.push(self.block.slice(rows.start, rows.len()));
    }

    fn leave_new(&mut self) -> Result<()> {
        let builders = std::mem::take(&mut self.new);
        if !builders.is_empty() {
            let columns = builders.into_iter().map(ColumnBuilder::finish).collect::<Result<Vec<_>>>()?;
            self.out.push(Block::new(self.schema.clone(), columns, self.new_rows));
            self.new_rows = 0;
        }
        Ok(())
    }
}

fn values_of(block: &Block, row: usize) -> Vec<Value> {
    block.columns().iter().map(|column| column.value(row)).collect()
}

/// A block of one row.
fn row_of(schema: &Arc<Schema>, values: &[Value]) -> Result<Block> {
    let columns = schema.types().zip(values).map(|(data_type, value)| {
        let mut builder = ColumnBuilder::new(data_type.clone());
        builder.append(value)?;
        builder.finish()
    });
    Ok(Block::new(schema.clone(), columns.collect::<Result<Vec<_>>>()?, 1))
}
