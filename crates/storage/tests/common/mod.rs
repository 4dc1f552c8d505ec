//! What the tests of storage share: definitions, blocks, and reading a table to its end.
#![allow(dead_code, missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Wake, Waker};

use squall_functions::FunctionContext;
use squall_planner::{ColumnDescription, Expression, KeyExpression, TableDefinition};
use squall_runtime::block_on;
use squall_storage::{Claim, ConditionUse, Databases, PartMerge, PartWork, RowNumbers, ScanRequest, Table, TableScan};
use squall_types::{Block, Column, ColumnBuilder, DataType, Result, Schema, Value};

pub fn columns(columns: &[(&str, &str)]) -> Vec<ColumnDescription> {
    let column = |(name, data_type): &(&str, &str)| ColumnDescription::new(*name, DataType::parse(data_type).unwrap());
    columns.iter().map(column).collect()
}

pub fn definition(engine: &str, of: &[(&str, &str)], sorting_key: &[&str]) -> TableDefinition {
    let columns = columns(of);
    let sorting_key = sorting_key.iter().map(|name| key(&columns, name)).collect();
    TableDefinition {
        constraints: Vec::new(),
        indices: Vec::new(),
        projections: Vec::new(),
        ttl: Vec::new(),
        columns,
        engine: engine.into(),
        engine_arguments: Vec::new(),
        sorting_key,
        primary_key: None,
        partition_key: Vec::new(),
        sampling_key: None,
        settings: Vec::new(),
        comment: "".into(),
    }
}

pub fn key(columns: &[ColumnDescription], name: &str) -> KeyExpression {
    let position = columns.iter().position(|column| &*column.name == name).unwrap();
    let data_type = columns[position].data_type.clone();
    KeyExpression { sql: name.into(), expression: Expression::Column { position, data_type } }
}

/// A function of arguments.
pub fn call(name: &str, arguments: Vec<Expression>) -> Expression {
    squall_planner::call(name, arguments, &FunctionContext::outside_queries("UTC")).unwrap()
}

/// A number in a condition.
pub fn number(value: u64) -> Expression {
    Expression::Constant { value: Value::UInt64(value), data_type: DataType::UInt64 }
}

pub fn block(table: &dyn Table, rows: impl IntoIterator<Item = Vec<Value>>) -> Block {
    let mut builders: Vec<ColumnBuilder> =
        table.columns().iter().map(|column| ColumnBuilder::new(column.data_type.clone())).collect();
    for row in rows {
        for (builder, value) in builders.iter_mut().zip(&row) {
            builder.append(value).unwrap();
        }
    }
    let columns = builders.into_iter().map(|builder| builder.finish().unwrap());
    Block::from_columns(table.columns().iter().map(|column| column.name.clone()).zip(columns)).unwrap()
}

pub fn insert(table: &dyn Table, blocks: impl IntoIterator<Item = Block>) -> Result<()> {
    let insertion = table.insert()?;
    let mut writer = insertion.writer()?;
    for block in blocks {
        run(writer.write(block)?)?;
    }
    run(writer.finish()?)?;
    insertion.commit()
}

/// Carries a writer's work out.
pub fn run(work: Option<PartWork>) -> Result<()> {
    work.map_or(Ok(()), block_on)
}

/// Carries a merge out.
pub fn run_merge(merge: &PartMerge) -> Result<()> {
    let mut writer = merge.insertion.writer()?;
    read_scan(&*merge.scan, |block| run(writer.write(block).unwrap()).unwrap())?;
    run(writer.finish()?)?;
    merge.insertion.commit()
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

pub fn request(table: &dyn Table, names: &[&str], predicate: Option<Expression>) -> ScanRequest {
    let position = |name: &&str| table.columns().iter().position(|column| &*column.name == *name).unwrap();
    let columns: Vec<usize> = names.iter().map(position).collect();
    let fields = columns.iter().map(|at| (table.columns()[*at].name.clone(), table.columns()[*at].data_type.clone()));
    ScanRequest {
        schema: Arc::new(Schema::new(fields)),
        columns,
        predicate,
        bounds: Vec::new(),
        limit: None,
        skip_indexes: Default::default(),
        row_numbers: RowNumbers::None,
        subcolumns: None,
        condition_use: ConditionUse::default(),
    }
}

/// Every row of a scan, as values.
pub fn read_all(table: &dyn Table, request: &ScanRequest) -> Result<Vec<Vec<Value>>> {
    let mut rows = Vec::new();
    read(table, request, |block| {
        for row in 0..block.rows() {
            rows.push(block.columns().iter().map(|column: &Column| column.value(row)).collect());
        }
    })?;
    Ok(rows)
}

pub fn read(table: &dyn Table, request: &ScanRequest, each: impl FnMut(Block)) -> Result<()> {
    read_scan(&*table.scan(request)?, each)
}

pub fn read_scan(scan: &dyn TableScan, mut each: impl FnMut(Block)) -> Result<()> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match scan.claim(10_000, &waker) {
            Claim::Morsel(morsel) => scan.read(morsel, &mut |block| {
                each(block);
                Ok(ControlFlow::Continue(()))
            })?,
            Claim::Pending => std::thread::park(),
            Claim::Finished => return Ok(()),
        }
    }
}

/// The file of the only part below a folder of data.
pub fn part_file(data: &Path) -> PathBuf {
    let entries = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries(&data.join("data")).flat_map(|table| entries(&table).collect::<Vec<_>>());
    let mut parts = files.filter(|path| path.extension().is_some_and(|extension| extension == "parquet"));
    parts.next().expect("a part")
}

pub fn count(databases: &Databases, database: &str, table: &str) -> u64 {
    let table = databases.table(database, table).unwrap();
    let mut rows = 0;
    read(&*table, &request(&*table, &[], None), |block| rows += block.rows() as u64).unwrap();
    rows
}
