//! The virtual columns that tell of the part that a row is in: `_part`, `_partition_id` and their kin. A scan that reads one goes through
//! the parts one after the other, each with its own constants.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;

use squall_planner::{ColumnDescription, Expression, Projected, Projection, TableMetadata, named_like};
use squall_types::{Block, Column, DataType, Error, Result, Schema, TupleElement, Value};

use super::pruning;
use crate::evaluate::evaluate;
use crate::index_analysis::IndexAnalysis;
use crate::merge_tree::MergeTreeTable;
use crate::merge_tree::parts::part::Part;
use crate::merge_tree::parts::part_name::PartName;
use crate::table::{
    Claim, Insertion, Morsel, PartColumn, PartInfo, RowNumbers, ScanRequest, ScanSelection, Table, TableScan,
};

/// Morsels of a part are numbered within so many numbers.
const PART_BITS: u32 = 40;

/// What a virtual column tells.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Part,
    PartitionId,
    PartitionValue,
    PartIndex,
    PartDataVersion,
    DiskName,
    SampleFactor,
    /// That the row is not deleted: nobody sees those that are.
    RowExists,
    /// The row's number within the part, which is the only one that differs from row to row.
    PartOffset,
}

impl Origin {
    const ALL: [Self; 9] = [
        Self::Part,
        Self::PartitionId,
        Self::PartitionValue,
        Self::PartIndex,
        Self::PartDataVersion,
        Self::DiskName,
        Self::SampleFactor,
        Self::RowExists,
        Self::PartOffset,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Part => "_part",
            Self::PartitionId => "_partition_id",
            Self::PartitionValue => "_partition_value",
            Self::PartIndex => "_part_index",
            Self::PartDataVersion => "_part_data_version",
            Self::DiskName => "_disk_name",
            Self::SampleFactor => "_sample_factor",
            Self::RowExists => "_row_exists",
            Self::PartOffset => "_part_offset",
        }
    }

    /// Its type; `None` where the table has no such column.
    fn data_type(self, table: &MergeTreeTable) -> Option<DataType> {
        Some(match self {
            Self::Part | Self::PartitionId | Self::DiskName => DataType::LowCardinality(Arc::new(DataType::String)),
            Self::PartIndex | Self::PartDataVersion | Self::PartOffset => DataType::UInt64,
            Self::SampleFactor => DataType::Float64,
            Self::RowExists => DataType::UInt8,
            Self::PartitionValue => {
                let keys = &table.live.identity.definition.partition_key;
                let element = |data_type: &DataType| TupleElement { name: None, data_type: data_type.clone() };
                let elements = keys.iter().map(|key| element(key.expression.data_type()));
                (!keys.is_empty()).then(|| DataType::Tuple(elements.collect()))?
            }
        })
    }

    /// Its value in a part; `None` where each row has its own.
    fn value(self, table: &MergeTreeTable, part: &Part, number: usize) -> Result<Option<Value>> {
        Ok(Some(match self {
            Self::PartOffset => return Ok(None),
            Self::Part => Value::string(&*part.file.name),
            Self::PartitionId => Value::string(&*part.file.partition_id),
            Self::PartIndex => Value::UInt64(number as u64),
            Self::PartDataVersion => Value::UInt64(PartName::parse(&part.file.name).map_or(0, |name| name.first_block)),
            Self::DiskName => Value::string("default"),
            Self::SampleFactor => Value::Float64(1.0),
            Self::RowExists => Value::UInt64(1),
            Self::PartitionValue => Value::Tuple(partition_values(table, part)?.into()),
        }))
    }
}

/// The values of the partition key, which all rows of the part share.
pub(in crate::merge_tree) fn partition_values(table: &MergeTreeTable, part: &Part) -> Result<Vec<Value>> {
    if let Some(values) = pruning::partition_values(&table.live, part) {
        return Ok(values);
    }
    let keys = &table.live.identity.definition.partition_key;
    keys.iter().map(|key| partition_value(table, part, &key.expression)).collect()
}

/// The value of a key of partitions by the bounds of its column: that of the row with the smallest value.
fn partition_value(table: &MergeTreeTable, part: &Part, key: &Expression) -> Result<Value> {
    let identity = &table.live.identity;
    let mut columns = Vec::new();
    key.visit_columns(&mut |column| {
        if !columns.contains(&column) {
            columns.push(column);
        }
    });
    let least = |column: usize| {
        let stored = identity.stored_positions.get(column).copied().flatten()?;
        let (range, is_exact) = part.range(identity, stored);
        range.low.filter(|_| is_exact)
    };
    let [column] = columns[..] else {
        return Err(Error::not_implemented("_partition_value of a key over several columns"));
    };
    let (Some(value), Some(description)) = (least(column), identity.definition.columns.get(column)) else {
        return Err(Error::not_implemented("_partition_value of a part whose bounds are not known"));
    };
    let schema = Schema::new([(description.name.clone(), description.data_type.clone())]);
    let one = Column::constant(description.data_type.clone(), &value, 1)?.materialize()?;
    let row = Block::new(Arc::new(schema), vec![one], 1);
    Ok(evaluate(&key.map_columns(&|_| 0), &row, &[Some(0)])?.value(0))
}

/// A table with these columns behind its own.
#[derive(Debug)]
pub(in crate::merge_tree) struct PartColumns {
    table: MergeTreeTable,
    columns: Vec<ColumnDescription>,
    origins: Vec<Origin>,
}

impl PartColumns {
    pub(in crate::merge_tree) fn new(table: &MergeTreeTable) -> Self {
        let mut columns = TableMetadata::columns(table).to_vec();
        let mut origins = Vec::new();
        for origin in Origin::ALL {
            let is_taken = columns.iter().any(|column| &*column.name == origin.name());
            let Some(data_type) = origin.data_type(table).filter(|_| !is_taken) else { continue };
            columns.push(ColumnDescription::new(origin.name(), data_type));
            origins.push(origin);
        }
        Self { table: table.whole(), columns, origins }
    }

    fn own(&self) -> usize {
        self.columns.len() - self.origins.len()
    }
}

impl TableMetadata for PartColumns {
    named_like!(table);

    fn columns(&self) -> &[ColumnDescription] {
        &self.columns
    }
    fn rows(&self) -> Option<u64> {
        self.table.rows()
    }
    fn virtual_columns(&self) -> usize {
        self.origins.len()
    }
    fn projections(&self) -> Vec<Arc<Projection>> {
        self.table.projections()
    }
    fn projected(&self, projection: &Projection) -> Option<Projected> {
        self.table.projected(projection)
    }
    fn marks_selected(&self, condition: Option<&Expression>) -> Result<Option<u64>> {
        self.table.marks_selected(condition)
    }
}

impl Table for PartColumns {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let own = self.own();
        let is_own = |column: &usize| *column < own;
        if request.columns.iter().all(is_own) {
            return self.table.scan(request);
        }
        let stored: Vec<usize> = request.columns.iter().copied().filter(is_own).collect();
        let fields = request.columns.iter().zip(&request.schema.fields).filter(|(column, _)| is_own(column));
        let mut fields: Vec<_> = fields.map(|(_, field)| field.clone()).collect();
        let is_number = |column: &usize| {
            let origin = column.checked_sub(own).and_then(|at| self.origins.get(at));
            matches!(origin, Some(Origin::PartOffset))
        };
        let has_numbers = request.columns.iter().any(is_number);
        let row_numbers = if has_numbers { RowNumbers::WithinPart } else { RowNumbers::None };
        if has_numbers {
            fields.push((Origin::PartOffset.name().into(), DataType::UInt64));
        }
        let schema = Arc::new(Schema { fields });
        let mut parts = Vec::with_capacity(self.table.parts.parts.len());
        for (number, part) in self.table.parts.parts.iter().enumerate() {
            let mut columns = Vec::with_capacity(request.columns.len());
            let mut places = Vec::with_capacity(request.columns.len());
            let mut at = 0;
            for (column, (_, data_type)) in request.columns.iter().zip(&request.schema.fields) {
                if is_own(column) {
                    places.push(Expression::column(at, data_type));
                    columns.push(PlaceInPart::Read(at));
                    at += 1;
                    continue;
                }
                let origin = self.origins.get(column - own).ok_or_else(|| Error::logical("no such column"))?;
                let Some(value) = origin.value(&self.table, part, number)? else {
                    places.push(Expression::column(stored.len(), data_type));
                    columns.push(PlaceInPart::Read(stored.len()));
                    continue;
                };
                places.push(Expression::Constant { value: value.clone(), data_type: data_type.clone() });
                columns.push(PlaceInPart::Constant(value, data_type.clone()));
            }
            // In a part the virtual columns are constants, which may leave out the part as a whole.
            let predicate = request.predicate.as_ref().map(|predicate| predicate.substitute(&places));
            if predicate.as_ref().is_some_and(never_holds) {
                continue;
            }
            let request = ScanRequest {
                columns: stored.clone(),
                schema: schema.clone(),
                predicate,
                row_numbers: row_numbers.clone(),
                ..request.clone()
            };
            parts.push((self.table.of_part(part).scan(&request)?, columns));
        }
        Ok(Arc::new(PartScan { parts, schema: request.schema.clone(), part: AtomicUsize::new(0) }))
    }

    fn index_analysis(&self, request: &ScanRequest) -> Result<Option<IndexAnalysis>> {
        let is_own = request.columns.iter().all(|column| *column < self.own());
        if is_own { self.table.index_analysis(request) } else { Ok(None) }
    }

    fn insert(&self) -> Result<Arc<dyn Insertion>> {
        self.table.insert()
    }

    fn bytes(&self) -> Option<u64> {
        self.table.bytes()
    }

    fn parts(&self) -> Vec<PartInfo> {
        self.table.parts()
    }

    fn columns_of_parts(&self) -> Vec<(PartInfo, Vec<PartColumn>)> {
        self.table.columns_of_parts()
    }
}

/// Whether a condition, or one of those that must all hold, reads no column and does not hold.
fn never_holds(condition: &Expression) -> bool {
    if let Expression::Function { name, arguments, .. } = condition
        && matches!(&**name, "and" | "indexHint")
    {
        return arguments.iter().any(never_holds);
    }
    let mut is_constant = condition.is_deterministic();
    condition.visit_columns(&mut |_| is_constant = false);
    let row = Block::new(Arc::default(), Vec::new(), 1);
    is_constant
        && evaluate(condition, &row, &[]).is_ok_and(|value| value.value(0).as_f64().is_none_or(|value| value == 0.0))
}

/// Where a column of the request comes from in a part.
enum PlaceInPart {
    /// It is one of those that are read.
    Read(usize),
    /// It is the same in all rows.
    Constant(Value, DataType),
}

struct PartScan {
    parts: Vec<(Arc<dyn TableScan>, Vec<PlaceInPart>)>,
    schema: Arc<Schema>,
    /// The part that is claimed from.
    part: AtomicUsize,
}

impl TableScan for PartScan {
    fn rows_total(&self) -> Option<u64> {
        self.parts.iter().map(|(scan, _)| scan.rows_total()).sum()
    }

    fn selection(&self) -> ScanSelection {
        self.parts.iter().fold(ScanSelection::default(), |all, (scan, _)| {
            let own = scan.selection();
            ScanSelection { parts: all.parts + own.parts, marks: all.marks + own.marks }
        })
    }

    fn take_left_out(&self) -> u64 {
        self.parts.iter().map(|(scan, _)| scan.take_left_out()).sum()
    }

    fn claim(&self, rows: u64, waker: &Waker) -> Claim {
        loop {
            let at = self.part.load(Ordering::Acquire);
            let Some((scan, _)) = self.parts.get(at) else { return Claim::Finished };
            match scan.claim(rows, waker) {
                Claim::Morsel(morsel) => {
                    return Claim::Morsel(Morsel { first: (at as u64) << PART_BITS | morsel.first, rows: morsel.rows });
                }
                Claim::Pending => return Claim::Pending,
                Claim::Finished => {
                    // Another thread may have gone on already.
                    let _ = self.part.compare_exchange(at, at + 1, Ordering::AcqRel, Ordering::Acquire);
                }
            }
        }
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        let part = (morsel.first >> PART_BITS) as usize;
        let Some((scan, places)) = self.parts.get(part) else { return Err(Error::logical("no such part")) };
        let morsel = Morsel { first: morsel.first & ((1 << PART_BITS) - 1), rows: morsel.rows };
        scan.read(morsel, &mut |block| {
            let (rows, read) = (block.rows(), block.columns());
            let columns = places.iter().map(|place| match place {
                PlaceInPart::Constant(value, data_type) => Column::constant(data_type.clone(), value, rows),
                PlaceInPart::Read(at) => {
                    read.get(*at).cloned().ok_or_else(|| Error::logical("a column of a part is missing"))
                }
            });
            consume(Block::new(self.schema.clone(), columns.collect::<Result<_>>()?, rows))
        })
    }
}
