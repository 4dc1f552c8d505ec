//! Rows of a part that are deleted and still in its file: DELETE FROM names them in a small file beside the part's, as DuckLake has it, and who
//! reads the part passes over them. The next merge leaves them out for good.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType as ArrowType, Field, Schema as ArrowSchema};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, PARQUET_FIELD_ID_META_KEY};
use squall_types::{Error, ErrorCode, Result, reserve};

use crate::catalog::SeenDeletion;
use crate::merge_tree::parts::part_encoder::parquet_bug;

/// The columns of a file of positions, with the ids that the format of Iceberg gives them.
const COLUMNS: [(&str, &str); 2] = [("file_path", "2147483546"), ("pos", "2147483545")];
/// Positions that are written at once.
const BATCH_ROWS: usize = 1 << 16;

/// Positions of rows within a part, as runs in their order that do not touch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct DeletedRows {
    runs: Vec<Range<u32>>,
}

impl DeletedRows {
    /// Of positions in any order.
    pub(crate) fn of_positions(mut positions: Vec<u32>) -> Self {
        positions.sort_unstable();
        Self::of_runs(positions.into_iter().map(|row| row..row.saturating_add(1)))
    }

    /// Of runs in the order of their beginnings.
    fn of_runs(sorted: impl Iterator<Item = Range<u32>>) -> Self {
        let mut runs: Vec<Range<u32>> = Vec::new();
        for run in sorted {
            match runs.last_mut() {
                Some(last) if run.start <= last.end => last.end = last.end.max(run.end),
                _ => runs.push(run),
            }
        }
        Self { runs }
    }

    /// These and others.
    pub(crate) fn with(&self, other: &Self) -> Self {
        let mut all: Vec<Range<u32>> = self.runs.iter().chain(&other.runs).cloned().collect();
        all.sort_unstable_by_key(|run| run.start);
        Self::of_runs(all.into_iter())
    }

    /// How many rows they are.
    pub(crate) fn rows(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.end - run.start)).sum()
    }

    /// How many runs they are.
    pub(crate) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// What is left of a range of rows.
    pub(in crate::merge_tree) fn left(&self, rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let Range { start, end } = rows;
        let first = self.runs.partition_point(|run| run.end as usize <= start);
        let within = self.runs.iter().skip(first).take_while(move |run| (run.start as usize) < end);
        let ends = within.clone().map(|run| run.start as usize).chain([end]);
        let starts = [start].into_iter().chain(within.map(|run| run.end as usize));
        starts.zip(ends).map(move |(from, to)| from.max(start)..to.min(end)).filter(|left| left.start < left.end)
    }

    /// The bytes of a file of these positions of a file of data.
    ///
    /// # Errors
    /// Where there is no memory.
    pub(in crate::merge_tree) fn encode(&self, data_file: &str) -> Result<Vec<u8>> {
        let field = |(name, id): (&str, &str), data_type: ArrowType| {
            let metadata = HashMap::from([(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_owned())]);
            Field::new(name, data_type, false).with_metadata(metadata)
        };
        let [path, position] = COLUMNS;
        let fields = vec![field(path, ArrowType::Utf8), field(position, ArrowType::Int64)];
        let schema = Arc::new(ArrowSchema::new(fields));
        let mut writer = ArrowWriter::try_new(Vec::new(), schema.clone(), None).map_err(parquet_bug)?;
        let mut positions = self.runs.iter().cloned().flatten();
        loop {
            let batch: Vec<i64> = positions.by_ref().take(BATCH_ROWS).map(i64::from).collect();
            if batch.is_empty() {
                break;
            }
            reserve(batch.len() * (size_of::<i64>() + data_file.len()))?;
            let paths: ArrayRef = Arc::new(StringArray::from_iter_values(batch.iter().map(|_| data_file)));
            let columns = vec![paths, Arc::new(Int64Array::from(batch)) as ArrayRef];
            let batch = RecordBatch::try_new(schema.clone(), columns)?;
            writer.write(&batch).map_err(parquet_bug)?;
        }
        writer.into_inner().map_err(parquet_bug)
    }

    /// Reads such a file: its positions, and the file of data that it names.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`.
    pub(crate) fn decode(bytes: Vec<u8>) -> Result<(Self, String)> {
        let bad = |why: &dyn std::fmt::Display| {
            Error::new(ErrorCode::CORRUPTED_DATA, format!("Cannot read a file of deleted rows: {why}"))
        };
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).and_then(|reader| reader.build());
        let (mut positions, mut file) = (Vec::new(), String::new());
        for batch in reader.map_err(|error| bad(&error))? {
            let batch = batch.map_err(|error| bad(&error))?;
            let column = |at: usize| batch.column_by_name(COLUMNS.get(at).map_or("", |(name, _)| name));
            let rows = column(1).and_then(|column| column.as_primitive_opt::<Int64Type>());
            let rows = rows.ok_or_else(|| bad(&"it has no positions"))?;
            reserve(rows.values().len() * size_of::<u32>())?;
            for row in rows.values() {
                positions.push(u32::try_from(*row).map_err(|_| bad(&"a position is out of range"))?);
            }
            if file.is_empty()
                && let Some(names) = column(0).and_then(|column| column.as_string_opt::<i32>())
                && batch.num_rows() > 0
            {
                file = names.value(0).to_owned();
            }
        }
        Ok((Self::of_positions(positions), file))
    }
}

/// The deleted rows of a part.
#[derive(Debug)]
pub(crate) struct Deletion {
    pub(crate) rows: DeletedRows,
    /// The file that names them; none where the catalog does.
    pub(crate) file: Option<DeletionFile>,
    /// How many rows the catalog names besides.
    pub(crate) inlined: usize,
}

/// A file of positions.
#[derive(Clone, Debug)]
pub(crate) struct DeletionFile {
    pub(crate) path: PathBuf,
    /// Its length.
    pub(crate) bytes: u64,
    /// That of its footer.
    pub(crate) footer_bytes: u64,
}

impl DeletionFile {
    /// The file's name.
    pub(in crate::merge_tree) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// The deleted rows of parts, by the parts' names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deletions(HashMap<Arc<str>, Arc<Deletion>>);

impl Deletions {
    pub(crate) fn insert(&mut self, part: Arc<str>, deletion: Arc<Deletion>) {
        self.0.insert(part, deletion);
    }

    /// Those of a part.
    pub(crate) fn of(&self, part: &str) -> Option<&Arc<Deletion>> {
        if self.0.is_empty() { None } else { self.0.get(part) }
    }

    /// By what a commit tells that it has seen them.
    pub(crate) fn seen(&self, part: &str) -> SeenDeletion {
        let known = self.of(part);
        SeenDeletion {
            path: known.and_then(|known| known.file.as_ref()).map(DeletionFile::name),
            inlined: known.map_or(0, |known| known.inlined),
        }
    }

    /// How many rows of a part they are.
    pub(crate) fn rows_of(&self, part: &str) -> u64 {
        self.of(part).map_or(0, |deletion| deletion.rows.rows())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of parts that are still there.
    pub(crate) fn retain(&mut self, is_there: impl Fn(&str) -> bool) {
        self.0.retain(|part, _| is_there(part));
    }

    /// The files that name them.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.0.values().filter_map(|deletion| Some(&deletion.file.as_ref()?.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn positions_become_runs_and_come_back_through_a_file() {
        let rows = DeletedRows::of_positions(vec![7, 1, 2, 3, 9, 7]);
        assert_eq!((rows.rows(), rows.runs()), (5, 3));
        let left: Vec<_> = rows.left(0..12).collect();
        assert_eq!(left, [0..1, 4..7, 8..9, 10..12]);
        assert_eq!(rows.left(1..4).count(), 0);
        let (back, file) = DeletedRows::decode(rows.encode("a/all_1_1_0.parquet").unwrap()).unwrap();
        assert_eq!((back, file.as_str()), (rows, "a/all_1_1_0.parquet"));
        assert!(DeletedRows::decode(vec![1; 100]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_left_and_what_is_deleted_is_everything(
            some in proptest::collection::vec(0..200_u32, 0..80),
            more in proptest::collection::vec(0..200_u32, 0..80),
            from in 0..200_usize,
            length in 0..200_usize,
        ) {
            let both = DeletedRows::of_positions(some.clone()).with(&DeletedRows::of_positions(more.clone()));
            let is_deleted = |row: usize| some.iter().chain(&more).any(|deleted| *deleted as usize == row);
            let expected: Vec<usize> = (from..from + length).filter(|row| !is_deleted(*row)).collect();
            prop_assert_eq!(both.left(from..from + length).flatten().collect::<Vec<_>>(), expected);
            prop_assert_eq!(both.rows(), (0..400).filter(|row| is_deleted(*row)).count() as u64);
        }
    }
}
