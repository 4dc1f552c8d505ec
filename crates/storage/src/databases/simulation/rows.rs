//! What the histories of the simulation do with tables: their definition, rows in them, and statements over these.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::task::Waker;

use squall_planner::{
    Alteration, ColumnDefault, ColumnDescription, DefaultKind, Expression, KeyExpression, TableDefinition,
};
use squall_runtime::block_on;
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Schema};

use super::super::{Databases, Rewrite, RewriteOf};
use super::{COLUMNS, MORE, Pieces, ROWS};
use crate::merge_tree::PartSelection;
use crate::mutation::{MutationStep, StoredMutation};
use crate::table::{Claim, ConditionUse, PartWork, RowNumbers, ScanRequest, SkipIndexUse, Table, TableScan};

fn column(name: &str) -> ColumnDescription {
    ColumnDescription::new(name, DataType::UInt64)
}

/// Adds the column `more` before the others, twice the number of the insert in every row that has none, or takes it away.
pub(super) fn alter(databases: &Databases, table: &str) -> Result<()> {
    let description = databases.describe("default", table)?;
    let before = description.definition.unwrap();
    let mut alteration = Alteration::new(&before);
    if before.columns.iter().any(|column| &*column.name == MORE) {
        alteration.definition.columns.remove(0);
        alteration.origins.remove(0);
    } else {
        let default = ColumnDefault { kind: DefaultKind::Default, expression: "insert * 2".into() };
        alteration.definition.columns.insert(0, ColumnDescription { default: Some(default), ..column(MORE) });
        alteration.origins.insert(0, None);
    }
    databases.alter_table("default", table, &before, alteration)
}

/// Reads a piece of a table, with the numbers of rows in its part behind the columns.
fn read_numbered(source: &dyn Table, each: &mut dyn FnMut(Block, Column) -> Result<()>) -> Result<()> {
    let fields = source.columns().iter().map(|column| (column.name.clone(), column.data_type.clone()));
    let schema = Schema::new(fields.chain([("number".into(), DataType::UInt64)]));
    let scan = source.scan(&ScanRequest {
        columns: (0..source.columns().len()).collect(),
        schema: Arc::new(schema),
        predicate: None,
        bounds: Vec::new(),
        limit: None,
        skip_indexes: SkipIndexUse::default(),
        row_numbers: RowNumbers::WithinPart,
        subcolumns: None,
        condition_use: ConditionUse::default(),
    })?;
    read(&*scan, &mut |block| {
        let (mut columns, mut fields) = (block.columns().to_vec(), block.schema().fields.clone());
        let numbers = columns.pop().unwrap();
        fields.pop();
        each(Block::new(Arc::new(Schema { fields }), columns, block.rows()), numbers)
    })
}

/// The rows of a block whose inserts leave this when divided.
fn of_inserts(block: &Block, divisor: u64, remainder: u64) -> Vec<bool> {
    let insert = block.schema().names().position(|name| name == COLUMNS[0]).unwrap();
    let value = |row: usize| block.column(insert).value(row).as_u64().unwrap();
    (0..block.rows()).map(|row| value(row) % divisor == remainder).collect()
}

/// Rewrites the parts of a table without the inserts that leave this when divided.
pub(super) fn delete(rewrite: Rewrite, divisor: u64, remainder: u64, step: Option<MutationStep>) -> Result<()> {
    let all = rewrite.pieces("rows");
    let numbers = (0..all.len()).collect();
    write_without(&rewrite, numbers, divisor, remainder)?;
    rewrite.commit(step)
}

fn write_without(rewrite: &Rewrite, numbers: Vec<usize>, divisor: u64, remainder: u64) -> Result<()> {
    let pieces = rewrite.pieces("rows");
    for (source, target) in numbers.into_iter().map(|at| &pieces[at]) {
        let insertion = target.insert()?;
        let mut writer = insertion.writer()?;
        read_numbered(&**source, &mut |block, _| {
            let goes = of_inserts(&block, divisor, remainder);
            let rows: arrow_array::UInt32Array = (0..block.rows() as u32).filter(|row| !goes[*row as usize]).collect();
            let columns = block.columns().iter().map(|column| column.take(&rows)).collect::<Result<Vec<_>>>()?;
            run(writer.write(Block::new(block.schema().clone(), columns, rows.values().len()))?)
        })?;
        run(writer.finish()?)?;
        insertion.commit()?;
    }
    Ok(())
}

/// Deletes every fourth insert as DELETE FROM does.
pub(super) fn name_deleted(databases: &Databases, table: &str) -> Result<()> {
    let mut rewrite = databases.rewrite("default", table, &RewriteOf::PartsOfDelete(PartSelection::All), None)?;
    let mut dense = Vec::new();
    for (number, (source, _)) in rewrite.pieces("rows").into_iter().enumerate() {
        let mut found = Vec::new();
        read_numbered(&*source, &mut |block, numbers| {
            let goes = of_inserts(&block, 4, 0);
            found.extend(
                (0..block.rows()).filter(|row| goes[*row]).map(|row| numbers.value(row).as_u64().unwrap() as u32),
            );
            Ok(())
        })?;
        if !found.is_empty() && !rewrite.delete(number, found) {
            dense.push(number);
        }
    }
    write_without(&rewrite, dense, 4, 0)?;
    rewrite.commit(None)
}

/// Those of a table that are ordered and not done.
pub(super) fn ordered(databases: &Databases, uuid: uuid::Uuid) -> Vec<StoredMutation> {
    let all = databases.mutations().unwrap();
    let own = all.into_iter().filter(|(of, mutation)| *of == uuid && mutation.finished.is_none());
    own.map(|(_, mutation)| mutation).collect()
}

/// Carries out the first mutation that is ordered.
pub(super) fn mutate(databases: &Databases, table: &str) -> Result<()> {
    let uuid = databases.describe("default", table)?.uuid;
    let Some(first) = ordered(databases, uuid).into_iter().next() else {
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "nothing is ordered"));
    };
    let step = MutationStep { version: first.fence.version, finished: Some(2) };
    let of = RewriteOf::Parts(PartSelection::All);
    delete(databases.rewrite("default", table, &of, Some(&first.fence))?, 2, 1, Some(step))
}

pub(super) fn definition() -> TableDefinition {
    let key = |position, name: &str| KeyExpression {
        sql: name.into(),
        expression: Expression::Column { position, data_type: DataType::UInt64 },
    };
    TableDefinition {
        constraints: Vec::new(),
        indices: Vec::new(),
        projections: Vec::new(),
        ttl: vec!["toDateTime(if(insert % 5 = 0, 1, 0))".into()],
        columns: COLUMNS.map(column).to_vec(),
        engine: "MergeTree".into(),
        engine_arguments: Vec::new(),
        sorting_key: vec![key(0, "insert")],
        primary_key: None,
        partition_key: vec![key(1, "part")],
        sampling_key: None,
        // Parts of few rows have several row groups, which go to disk one after the other.
        settings: vec![("index_granularity".into(), "4".into())],
        comment: "".into(),
    }
}

pub(super) fn run(work: Option<PartWork>) -> Result<()> {
    work.map_or(Ok(()), block_on)
}

pub(super) fn insert(table: &dyn Table, number: u64) -> Result<()> {
    let rows = (0..2).flat_map(|part| (0..ROWS).map(move |row| [number, part, row]));
    let column = |at: usize| {
        let values = rows.clone().map(|row| row[at]).collect();
        Column::from_primitive::<arrow_array::types::UInt64Type>(DataType::UInt64, values)
    };
    let names: Vec<String> = table.columns().iter().map(|column| column.name.to_string()).collect();
    let value = |name: &str| match COLUMNS.iter().position(|column| *column == name) {
        Some(at) => column(at),
        None => Column::from_primitive::<arrow_array::types::UInt64Type>(
            DataType::UInt64,
            vec![number * 2; 2 * ROWS as usize],
        ),
    };
    let block = Block::from_columns(names.iter().map(|name| (name.as_str(), value(name))))?;
    let insertion = table.insert()?;
    let mut writer = insertion.writer()?;
    run(writer.write(block)?)?;
    run(writer.finish()?)?;
    insertion.commit()
}

pub(super) fn merge(databases: &Databases, table: &str, partition: u64, parts_min: usize) -> Result<()> {
    for parts in databases.mergeable_parts("default", table)? {
        let of = parts.iter().filter(|part| *part.partition_id == *partition.to_string());
        let names: Vec<Arc<str>> = of.map(|part| part.name.clone()).collect();
        if names.len() < parts_min {
            continue;
        }
        let merge = databases.merge_parts("default", table, &names)?;
        let mut writer = merge.insertion.writer()?;
        read(&*merge.scan, &mut |block| run(writer.write(block)?))?;
        run(writer.finish()?)?;
        merge.insertion.commit()?;
    }
    Ok(())
}

fn read(scan: &dyn TableScan, each: &mut dyn FnMut(Block) -> Result<()>) -> Result<()> {
    loop {
        match scan.claim(10_000, Waker::noop()) {
            Claim::Morsel(morsel) => scan.read(morsel, &mut |block| each(block).map(|()| ControlFlow::Continue(())))?,
            Claim::Pending => {}
            Claim::Finished => return Ok(()),
        }
    }
}

/// The rows of a table, none of which may be there twice or without its kin.
pub(super) fn pieces(table: &dyn Table) -> Pieces {
    let names: Vec<Arc<str>> = table.columns().iter().map(|column| column.name.clone()).collect();
    let own = COLUMNS.map(|name| names.iter().position(|known| **known == *name).unwrap());
    let more = names.iter().position(|known| **known == *MORE);
    let columns: Vec<usize> = own.into_iter().chain(more).collect();
    let schema = Schema::new(columns.iter().map(|at| (names[*at].clone(), DataType::UInt64)));
    let request = ScanRequest {
        columns,
        schema: Arc::new(schema),
        predicate: None,
        bounds: Vec::new(),
        limit: None,
        skip_indexes: SkipIndexUse::default(),
        row_numbers: RowNumbers::None,
        subcolumns: None,
        condition_use: ConditionUse::default(),
    };
    let mut rows: BTreeMap<(u64, u64), Vec<u64>> = BTreeMap::new();
    let scanned = table.scan(&request).and_then(|scan| {
        read(&*scan, &mut |block| {
            for row in 0..block.rows() {
                let value = |column: usize| block.column(column).value(row).as_u64().unwrap();
                rows.entry((value(0), value(1))).or_default().push(value(2));
                assert!(more.is_none() || value(3) == 2 * value(0), "another row's value of a column that was added");
            }
            Ok(())
        })
    });
    scanned.unwrap();
    for (piece, rows) in &mut rows {
        rows.sort_unstable();
        assert_eq!(*rows, (0..ROWS).collect::<Vec<_>>(), "half of {piece:?}, or more than it");
    }
    rows.into_keys().collect()
}
