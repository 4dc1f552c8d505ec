//! How fast storage is: rows a second through an INSERT, what a scan costs before its rows are looked at, cold reads, point
//! lookups, and small inserts by many clients at once. Usage: `storage_speed DIRECTORY [ROWS]`; the directory is left for others
//! to look at (any DuckLake reader).

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use arrow_array::types::{Int16Type, UInt16Type, UInt32Type, UInt64Type};
use squall_planner::{ColumnDescription, Expression, KeyExpression, TableDefinition};
use squall_runtime::block_on;
use squall_storage::{Claim, ConditionUse, Databases, PartWork, RowNumbers, ScanRequest, StorageOptions, Table};
use squall_types::{Block, Column, DataType, Result, Schema};

const COLUMNS: [(&str, DataType); 7] = [
    ("WatchID", DataType::UInt64),
    ("CounterID", DataType::UInt32),
    ("EventDate", DataType::Date),
    ("UserID", DataType::UInt64),
    ("ClientIP", DataType::UInt32),
    ("ResolutionWidth", DataType::Int16),
    ("URL", DataType::String),
];

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| "/tmp/storage_speed".to_owned());
    let rows = arguments.next().and_then(|rows| rows.parse().ok()).unwrap_or(8_873_898);
    let path = Path::new(&directory);
    let databases = Databases::open(path, &StorageOptions::default())?;
    let blocks: Vec<Block> =
        (0..rows).step_by(65_536).map(|first| hits(first, (rows - first).min(65_536))).collect::<Result<_>>()?;
    let raw_bytes: usize = blocks.iter().map(Block::value_bytes).sum();
    for (writers, codec) in [(1, "NONE"), (1, "ZSTD(1)"), (1, "LZ4"), (2, "LZ4")] {
        databases.drop_table("default", "hits", true)?;
        let mut definition = definition(&COLUMNS, &[1, 2, 3]);
        definition.settings.push(("default_compression_codec".into(), codec.into()));
        databases.create_table("default", "hits", definition, false)?;
        let table = databases.table("default", "hits")?;
        let begun = Instant::now();
        let insertion = table.insert()?;
        std::thread::scope(|scope| {
            let writer = |share: usize| {
                let (insertion, blocks) = (&insertion, &blocks);
                scope.spawn(move || -> Result<()> {
                    let mut writer = insertion.writer()?;
                    let run = |work: Option<PartWork>| work.map_or(Ok(()), block_on);
                    for block in blocks.iter().skip(share).step_by(writers) {
                        run(writer.write(block.clone())?)?;
                    }
                    run(writer.finish()?)
                })
            };
            let running: Vec<_> = (0..writers).map(writer).collect();
            running.into_iter().try_for_each(|thread| thread.join().unwrap_or(Ok(())))
        })?;
        insertion.commit()?;
        let seconds = begun.elapsed().as_secs_f64();
        let table = databases.table("default", "hits")?;
        println!(
            "insert, {writers} writer(s), {codec}: {:.2} M rows/s, {:.0} MB/s raw, {:.0} MB on disk of {:.0}, {} parts",
            rows as f64 / seconds / 1e6,
            raw_bytes as f64 / seconds / 1e6,
            table.bytes().unwrap_or(0) as f64 / 1e6,
            raw_bytes as f64 / 1e6,
            table.parts().len(),
        );
        for (column, (name, _)) in COLUMNS.iter().enumerate() {
            let columns = request(&*table, &[column], None);
            let mut best = Duration::MAX;
            for _ in 0..3 {
                databases.clear_column_cache();
                let begun = Instant::now();
                read(&*table, &columns, 1 << 16, |_| ())?;
                best = best.min(begun.elapsed());
            }
            println!("  cold scan of {name} by one thread, {codec} (in the page cache): {best:.1?}");
        }
        read(&*table, &request(&*table, &[5], None), 1 << 16, |_| ())?;
    }
    drop(blocks);

    let table = databases.table("default", "hits")?;
    let widths = request(&*table, &[5], None);
    time("look up the table, begin a hot scan of one column", 1000, || {
        black_box(databases.table("default", "hits")?.scan(&widths)?);
        Ok(())
    })?;
    time("hot scan of ResolutionWidth to its end in morsels of 1 M rows", 1000, || {
        read(&*table, &widths, 1 << 20, |_| ())
    })?;
    time("hot scan of ResolutionWidth to its end in morsels of 65,536 rows", 1000, || {
        read(&*table, &widths, 1 << 16, |_| ())
    })?;
    time("the same, summing", 20, || {
        let mut sum = 0_i64;
        read(&*table, &widths, 1 << 18, |block| {
            if let Ok(array) = block.column(0).as_primitive::<Int16Type>() {
                sum += array.values().iter().map(|width| i64::from(*width)).sum::<i64>();
            }
        })?;
        black_box(sum);
        Ok(())
    })?;
    drop(table);
    drop(databases);
    let begun = Instant::now();
    let databases = Databases::open(path, &StorageOptions::default())?;
    println!("open the databases: {:.1?}", begun.elapsed());
    databases.drop_table("default", "small", true)?;
    databases.create_table("default", "small", definition(&COLUMNS[..2], &[0]), false)?;
    for clients in [1, 8, 64] {
        databases.truncate_table("default", "small", false)?;
        let begun = Instant::now();
        let each = 1024 / clients;
        std::thread::scope(|scope| {
            for _ in 0..clients {
                let databases = &databases;
                scope.spawn(move || -> Result<()> {
                    for at in 0..each {
                        let table = databases.table("default", "small")?;
                        let insertion = table.insert()?;
                        let mut writer = insertion.writer()?;
                        let works = [writer.write(hits(at, 10)?.project(2))?, writer.finish()?];
                        works.into_iter().flatten().try_for_each(block_on)?;
                        insertion.commit()?;
                    }
                    Ok(())
                });
            }
        });
        println!(
            "inserts of 10 rows, {clients} client(s): {:.0} a second",
            (clients * each) as f64 / begun.elapsed().as_secs_f64()
        );
    }
    Ok(())
}

trait Project {
    fn project(&self, columns: usize) -> Block;
}

impl Project for Block {
    fn project(&self, columns: usize) -> Block {
        let fields = self.schema().fields.iter().take(columns).cloned();
        let schema = Arc::new(Schema { fields: fields.collect() });
        Block::new(schema, self.columns().iter().take(columns).cloned().collect(), self.rows())
    }
}

fn definition(of: &[(&str, DataType)], sorting: &[usize]) -> TableDefinition {
    let columns: Vec<ColumnDescription> =
        of.iter().map(|(name, data_type)| ColumnDescription::new(*name, data_type.clone())).collect();
    let key = |position: &usize| KeyExpression {
        sql: of[*position].0.into(),
        expression: Expression::Column { position: *position, data_type: of[*position].1.clone() },
    };
    TableDefinition {
        constraints: Vec::new(),
        indices: Vec::new(),
        projections: Vec::new(),
        ttl: Vec::new(),
        sorting_key: sorting.iter().map(key).collect(),
        columns,
        engine: "MergeTree".into(),
        engine_arguments: Vec::new(),
        primary_key: None,
        partition_key: Vec::new(),
        sampling_key: None,
        settings: Vec::new(),
        comment: "".into(),
    }
}

/// Rows like those of ClickBench's `hits`.
fn hits(first: u64, rows: u64) -> Result<Block> {
    let random = |row: u64| {
        let mut x = row.wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x ^= x >> 27;
        x = x.wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    };
    let numbers: Vec<u64> = (first..first + rows).map(random).collect();
    const WIDTHS: [i16; 8] = [1368, 1638, 1996, 1750, 1587, 0, 1297, 1917];
    let columns = vec![
        Column::from_primitive::<UInt64Type>(DataType::UInt64, numbers.clone()),
        Column::from_primitive::<UInt32Type>(
            DataType::UInt32,
            numbers.iter().map(|x| ((x % 1000) * (x % 97) % 5000) as u32).collect(),
        ),
        Column::from_primitive::<UInt16Type>(
            DataType::Date,
            numbers.iter().map(|x| 15_887 + (x >> 40) as u16 % 31).collect(),
        ),
        Column::from_primitive::<UInt64Type>(DataType::UInt64, numbers.iter().map(|x| random(x % 1_000_000)).collect()),
        Column::from_primitive::<UInt32Type>(
            DataType::UInt32,
            numbers.iter().map(|x| random(x % 500_000) as u32).collect(),
        ),
        Column::from_primitive::<Int16Type>(
            DataType::Int16,
            numbers.iter().map(|x| WIDTHS[(x >> 20) as usize % 8]).collect(),
        ),
        Column::from_strings(
            numbers.iter().map(|x| format!("http://example.com/page/{}?from=search&user={}", x % 20_000, x % 300)),
        ),
    ];
    Block::from_columns(COLUMNS.iter().map(|(name, _)| *name).zip(columns))
}

fn request(table: &dyn Table, columns: &[usize], limit: Option<u64>) -> ScanRequest {
    let fields = columns.iter().map(|at| (table.columns()[*at].name.clone(), table.columns()[*at].data_type.clone()));
    ScanRequest {
        columns: columns.to_vec(),
        schema: Arc::new(Schema::new(fields)),
        predicate: None,
        bounds: Vec::new(),
        limit,
        skip_indexes: Default::default(),
        row_numbers: RowNumbers::None,
        subcolumns: None,
        condition_use: ConditionUse::default(),
    }
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn read(table: &dyn Table, request: &ScanRequest, morsel_rows: u64, mut each: impl FnMut(&Block)) -> Result<()> {
    let scan = table.scan(request)?;
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match scan.claim(morsel_rows, &waker) {
            Claim::Morsel(morsel) => scan.read(morsel, &mut |block| {
                each(black_box(&block));
                Ok(ControlFlow::Continue(()))
            })?,
            Claim::Pending => std::thread::park(),
            Claim::Finished => return Ok(()),
        }
    }
}

/// Prints the median of `times` runs.
fn time(what: &str, times: usize, mut run: impl FnMut() -> Result<()>) -> Result<()> {
    let mut durations = Vec::with_capacity(times);
    for _ in 0..times {
        let begun = Instant::now();
        run()?;
        durations.push(begun.elapsed());
    }
    durations.sort_unstable();
    println!("{what}: {:.2?}", durations[times / 2]);
    Ok(())
}
