//! What becomes of rows with equal sorting keys when parts are merged, when they are inserted, and when they are read with FINAL: the
//! kinds of MergeTree differ in nothing else.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::UInt32Array;
use arrow_array::cast::AsArray;
use squall_functions::{AggregateFunction, GroupIds};
use squall_runtime::Pieces;
use squall_types::calendar::TimeZone;
use squall_types::gather::take;
use squall_types::{Block, CastMode, CastOptions, Column, DataType, Error, ErrorCode, Result, Schema, cast, reserve};

use crate::merge_tree::order::sorting::equal_runs;

/// The rule of a table. Columns are positions among the stored ones.
#[derive(Clone, Debug)]
pub(in crate::merge_tree) enum MergeRule {
    /// The last row of the newest version stays. Rows that say that they are deleted are not read.
    Replacing { version: Option<usize>, is_deleted: Option<usize> },
    /// Rows of opposite signs cancel each other.
    Collapsing { sign: usize },
    /// The same within a version, by which rows are sorted after the key.
    VersionedCollapsing { sign: usize, version: usize },
    /// Values of some columns become one, and of the others the first one stays. `drops_zeros`: without the rows in which all that is
    /// folded are numbers and zero.
    Folding { folds: Vec<Fold>, drops_zeros: bool },
}

/// How the values of a column, or of several, become one.
#[derive(Clone, Debug)]
pub(in crate::merge_tree) struct Fold {
    /// The stored column; of a map the first one.
    pub(in crate::merge_tree) stored: usize,
    pub(in crate::merge_tree) kind: FoldKind,
}

/// By which function.
#[derive(Clone, Debug)]
pub(in crate::merge_tree) enum FoldKind {
    /// A sum, which may be zero.
    Number(Arc<dyn AggregateFunction>),
    /// Something else.
    Value(Arc<dyn AggregateFunction>),
    /// Arrays of keys and of their numbers, which are summed by key.
    Map { columns: Vec<usize>, function: Arc<dyn AggregateFunction> },
}

impl FoldKind {
    fn columns<'a>(&'a self, stored: &'a usize) -> &'a [usize] {
        match self {
            Self::Number(_) | Self::Value(_) => std::slice::from_ref(stored),
            Self::Map { columns, .. } => columns,
        }
    }

    fn function(&self) -> &Arc<dyn AggregateFunction> {
        match self {
            Self::Number(function) | Self::Value(function) | Self::Map { function, .. } => function,
        }
    }
}

/// For whom rows are merged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::merge_tree) enum MergeFor {
    /// A part.
    Part,
    /// A query with FINAL.
    Reading,
}

/// Rows in the order of their keys, and which columns they have.
struct Sorted<'a> {
    block: &'a Block,
    /// The stored column of each of the block's.
    places: &'a [usize],
    /// Where rows with equal keys begin.
    starts: Vec<u32>,
}

impl Sorted<'_> {
    fn column(&self, stored: usize) -> Result<&Column> {
        let at = self.places.iter().position(|place| *place == stored);
        at.and_then(|at| self.block.columns().get(at)).ok_or_else(|| Error::logical("a column of a merge is missing"))
    }

    fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        let ends = self.starts.iter().skip(1).map(|start| *start as usize).chain([self.block.rows()]);
        self.starts.iter().zip(ends).map(|(start, end)| *start as usize..end)
    }
}

impl MergeRule {
    /// A column by which rows are sorted after the key.
    pub(in crate::merge_tree) fn sorted_by(&self) -> Option<usize> {
        match self {
            Self::VersionedCollapsing { version, .. } => Some(*version),
            Self::Replacing { .. } | Self::Collapsing { .. } | Self::Folding { .. } => None,
        }
    }

    /// Whether rows that a merge has left are what a query reads of them.
    pub(in crate::merge_tree) fn leaves_merged_rows(&self) -> bool {
        match self {
            Self::Replacing { is_deleted: None, .. } | Self::Folding { .. } => true,
            Self::Replacing { .. } | Self::Collapsing { .. } | Self::VersionedCollapsing { .. } => false,
        }
    }

    /// Whether it matters which of two rows with equal keys was inserted first: then the rows of an INSERT go through one writer.
    pub(in crate::merge_tree) fn depends_on_order(&self) -> bool {
        match self {
            Self::Replacing { .. } | Self::Collapsing { .. } => true,
            Self::VersionedCollapsing { .. } => false,
            // Sums are the same in any order, and of other columns any value may stay.
            Self::Folding { drops_zeros, .. } => !drops_zeros,
        }
    }

    /// The stored columns that the rule needs to know which rows stay.
    pub(in crate::merge_tree) fn columns(&self) -> Vec<usize> {
        match self {
            Self::Replacing { version, is_deleted } => version.iter().chain(is_deleted).copied().collect(),
            Self::Collapsing { sign } => vec![*sign],
            Self::VersionedCollapsing { sign, version } => vec![*sign, *version],
            Self::Folding { folds, drops_zeros } => {
                let folds = folds.iter().filter(|_| *drops_zeros);
                folds.flat_map(|fold| fold.kind.columns(&fold.stored)).copied().collect()
            }
        }
    }

    /// The rows that stand for those of a block, which are in the order of `keys`. `places` tells the stored column of each of the
    /// block's.
    ///
    /// # Errors
    /// `INCORRECT_DATA` for signs that are neither 1 nor -1; those of aggregate functions.
    pub(in crate::merge_tree) async fn apply(
        &self,
        block: Block,
        places: &[usize],
        keys: &[Column],
        purpose: MergeFor,
        pieces: &mut Pieces,
    ) -> Result<Block> {
        if block.rows() == 0 {
            return Ok(block);
        }
        reserve(block.rows() * 2 * size_of::<u32>())?;
        let starts = match self {
            // Without a key no row is like another; only replacing takes all for the same.
            Self::Folding { .. } if keys.is_empty() => (0..block.rows() as u32).collect(),
            _ => equal_runs(keys, block.rows(), pieces).await?,
        };
        let sorted = Sorted { block: &block, places, starts };
        let rows = match self {
            Self::Replacing { version, is_deleted } => {
                replacing(&sorted, *version, is_deleted.filter(|_| purpose == MergeFor::Reading), pieces).await?
            }
            Self::Collapsing { sign } => collapsing(&sorted, *sign, purpose, pieces).await?,
            Self::VersionedCollapsing { sign, version } => versioned(&sorted, *sign, *version, pieces).await?,
            Self::Folding { folds, drops_zeros } => return folding(&sorted, folds, *drops_zeros, pieces).await,
        };
        taken(&block, rows, pieces).await
    }
}

async fn replacing(
    sorted: &Sorted<'_>,
    version: Option<usize>,
    is_deleted: Option<usize>,
    pieces: &mut Pieces,
) -> Result<Vec<u32>> {
    let versions = version.map(|version| sorted.column(version)).transpose()?;
    let deleted = is_deleted.map(|column| sorted.column(column)).transpose()?;
    let mut rows = Vec::with_capacity(sorted.starts.len());
    for (at, run) in sorted.runs().enumerate() {
        let mut chosen = run.end - 1;
        if let Some(versions) = versions.filter(|_| run.len() > 1) {
            chosen = run.start;
            let mut newest = versions.value(chosen);
            for row in run.start + 1..run.end {
                let version = versions.value(row);
                if version.compare(&newest).is_ge() {
                    (chosen, newest) = (row, version);
                }
                pause(pieces, row).await;
            }
        }
        if deleted.is_none_or(|deleted| deleted.value(chosen).as_u64().unwrap_or(0) == 0) {
            rows.push(chosen as u32);
        }
        pause(pieces, at).await;
    }
    Ok(rows)
}

async fn collapsing(sorted: &Sorted<'_>, sign: usize, purpose: MergeFor, pieces: &mut Pieces) -> Result<Vec<u32>> {
    let signs = sorted.column(sign)?;
    let mut rows = Vec::with_capacity(sorted.starts.len());
    for run in sorted.runs() {
        let (mut first_negative, mut last_positive, mut sum, mut last) = (None, None, 0_i64, 0);
        for row in run {
            last = match signs.value(row).as_i64() {
                Some(sign @ (1 | -1)) => sign,
                other => {
                    let message = format!("Incorrect data: Sign = {} (must be 1 or -1).", other.unwrap_or(0));
                    return Err(Error::new(ErrorCode::INCORRECT_DATA, message));
                }
            };
            sum += last;
            match last {
                1 => last_positive = Some(row as u32),
                _ => first_negative = first_negative.or(Some(row as u32)),
            }
            pause(pieces, row).await;
        }
        // Who reads wants rows that are there, and none that take away.
        let first_negative = first_negative.filter(|_| purpose == MergeFor::Part);
        match sum {
            0 if last == 1 => rows.extend([first_negative, last_positive].into_iter().flatten()),
            0 => {}
            1.. => rows.extend(last_positive),
            _ => rows.extend(first_negative),
        }
    }
    Ok(rows)
}

async fn versioned(sorted: &Sorted<'_>, sign: usize, version: usize, pieces: &mut Pieces) -> Result<Vec<u32>> {
    let (signs, versions) = (sorted.column(sign)?, sorted.column(version)?);
    let mut rows = Vec::with_capacity(sorted.starts.len());
    for run in sorted.runs() {
        let mut left: Vec<(u32, i64)> = Vec::new();
        let mut of = None;
        for row in run {
            let (sign, version) = (signs.value(row).as_i64().unwrap_or(0), versions.value(row));
            if of.as_ref().is_none_or(|of| !version.compare(of).is_eq()) {
                rows.extend(left.drain(..).map(|(row, _)| row));
                of = Some(version);
            }
            match left.last() {
                Some((_, other)) if *other != sign => drop(left.pop()),
                _ => left.push((row as u32, sign)),
            }
            pause(pieces, row).await;
        }
        rows.extend(left.into_iter().map(|(row, _)| row));
    }
    Ok(rows)
}

/// One row for each run of equal keys.
async fn folding(sorted: &Sorted<'_>, folds: &[Fold], drops_zeros: bool, pieces: &mut Pieces) -> Result<Block> {
    let Sorted { block, places, starts } = sorted;
    let is_one_each = starts.len() == block.rows();
    let mut groups: Vec<u32> = Vec::with_capacity(block.rows());
    for (at, run) in sorted.runs().enumerate() {
        groups.resize(run.end, at as u32);
    }
    let firsts = UInt32Array::from(starts.clone());
    let mut columns: Vec<Option<Column>> = vec![None; block.columns().len()];
    let mut may_be_zero: Option<Vec<bool>> = (drops_zeros && !folds.is_empty()).then(|| vec![true; starts.len()]);
    for Fold { stored, kind } in folds {
        let of_fold = kind.columns(stored);
        if !of_fold.iter().all(|column| places.contains(column)) {
            // FINAL reads what is asked for.
            continue;
        }
        if !matches!(kind, FoldKind::Number(_)) {
            may_be_zero = None;
        }
        if is_one_each && !matches!(kind, FoldKind::Map { .. }) {
            continue;
        }
        let inputs = of_fold.iter().map(|stored| sorted.column(*stored)).collect::<Result<Vec<&Column>>>()?;
        let arguments: Vec<Column> = inputs.iter().map(|column| computed(column)).collect();
        let mut accumulator = kind.function().accumulator();
        accumulator.update(GroupIds::Each(&groups), starts.len(), &arguments, block.rows())?;
        while !accumulator.settle()? {
            pieces.pause().await;
        }
        let folded = accumulator.finish(starts.len())?;
        let results = match kind {
            FoldKind::Map { .. } => elements(&folded)?,
            FoldKind::Number(_) | FoldKind::Value(_) => vec![folded],
        };
        for ((result, input), stored) in results.into_iter().zip(inputs).zip(of_fold) {
            let at = places.iter().position(|place| place == stored);
            if let Some(column) = at.and_then(|at| columns.get_mut(at)) {
                *column = Some(as_type(result, input.data_type())?);
            }
        }
        pieces.pause().await;
    }
    let mut merged = Vec::with_capacity(columns.len());
    for (folded, column) in columns.into_iter().zip(block.columns()) {
        merged.push(match folded {
            Some(folded) => folded,
            None if is_one_each => column.clone(),
            None => take(column, &firsts, pieces).await?,
        });
        pieces.pause().await;
    }
    let merged = Block::new(block.schema().clone(), merged, starts.len());
    let Some(mut is_zero) = may_be_zero else { return Ok(merged) };
    for Fold { stored, .. } in folds {
        let at = places.iter().position(|place| place == stored);
        let Some(column) = at.and_then(|at| merged.columns().get(at)) else { continue };
        // Of numbers that may be NULL this is the default.
        let default = squall_types::default_value(column.data_type());
        for (row, is_zero) in is_zero.iter_mut().enumerate().filter(|(_, is_zero)| **is_zero) {
            let value = column.value(row);
            *is_zero = value.is_null() == default.is_null() && value.compare(&default).is_eq();
            pause(pieces, row).await;
        }
    }
    let rows = is_zero.iter().enumerate().filter(|(_, is_zero)| !**is_zero).map(|(row, _)| row as u32).collect();
    taken(&merged, rows, pieces).await
}

/// A column as functions take it.
pub(in crate::merge_tree) fn computed(column: &Column) -> Column {
    let data_type = column.data_type().computed();
    column.clone().with_type(data_type)
}

/// The elements of a column of tuples.
fn elements(column: &Column) -> Result<Vec<Column>> {
    let DataType::Tuple(elements) = column.data_type() else {
        return Err(Error::logical("sums of a map that are no tuple"));
    };
    let array = column.to_array()?;
    let arrays = array.as_struct().columns();
    Ok(elements
        .iter()
        .zip(arrays)
        .map(|(element, array)| Column::new(element.data_type.clone(), array.clone()))
        .collect())
}

/// A result as the type that its column has.
pub(in crate::merge_tree) fn as_type(column: Column, data_type: &DataType) -> Result<Column> {
    let wanted = data_type.computed();
    let column = match *column.data_type() == wanted || matches!(wanted, DataType::AggregateFunction(_)) {
        true => column,
        false => cast(&column, &wanted, &CastOptions::new(CastMode::Plain, TimeZone::utc()))?,
    };
    Ok(column.with_type(data_type.clone()))
}

/// Some rows of a block.
pub(in crate::merge_tree) async fn taken(block: &Block, rows: Vec<u32>, pieces: &mut Pieces) -> Result<Block> {
    if rows.len() == block.rows() && rows.is_sorted() {
        return Ok(block.clone());
    }
    let positions = UInt32Array::from(rows);
    let mut columns = Vec::with_capacity(block.columns().len());
    for column in block.columns() {
        columns.push(take(column, &positions, pieces).await?);
        pieces.pause().await;
    }
    Ok(Block::new(block.schema().clone(), columns, positions.len()))
}

/// Gives way now and then.
async fn pause(pieces: &mut Pieces, done: usize) {
    if done.is_multiple_of(4096) {
        pieces.pause().await;
    }
}

/// Names and types of some stored columns.
pub(in crate::merge_tree) fn some_columns(stored: &Schema, places: &[usize]) -> Arc<Schema> {
    Arc::new(Schema::new(places.iter().filter_map(|at| stored.fields.get(*at)).cloned()))
}
