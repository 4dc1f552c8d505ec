//! Random histories of inserts, merges, DDL and restarts over a disk that crashes at any step. Whatever was acknowledged is there after a crash;
//! what was under way has happened wholly or not at all; no file is left that nobody knows.
//!
//! The catalog is the one thing that is not taken apart: its transactions are SQLite's with `synchronous = FULL`, which either are on disk or
//! never were. It lives in memory, outlasts every crash, and the machine may crash right before and right after each of its commits.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{Connection, OpenFlags};
use squall_planner::{
    Alteration, ColumnDefault, ColumnDescription, DefaultKind, Expression, KeyExpression, TableDefinition,
};
use squall_runtime::block_on;
use squall_types::{Block, Column, DataType, ErrorCode, Result, Schema};

use super::store::Store;
use super::{Databases, PartCommand, RewriteOf};
use crate::catalog::Catalog;
use crate::column_cache::ColumnCache;
use crate::dictionary::OnDemandSlot;
use crate::disk::Disk;
use crate::disk::fake::{FakeDisk, Random};
use crate::identity::TableName;
use crate::key_binding::KeyBinding;
use crate::merge_tree::PartSelection;
use crate::table::{Claim, PartWork, ScanRequest, SkipIndexUse, Table, TableScan};

const DATA: &str = "/data";
const TABLES: [&str; 3] = ["a", "b", "c"];
const COLUMNS: [&str; 3] = ["insert", "part", "row"];
/// The column that comes and goes.
const MORE: &str = "more";
/// Rows of one insert in each of its two partitions.
const ROWS: u64 = 3;

/// What a table holds: inserts by their number, each in one of two partitions.
type Pieces = BTreeSet<(u64, u64)>;

/// What must be there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Model {
    /// Tables with their rows, and with those that are detached.
    tables: BTreeMap<String, (Pieces, Pieces)>,
    /// Tables that are detached permanently.
    detached: BTreeMap<String, (Pieces, Pieces)>,
}

#[derive(Clone, Debug)]
enum Step {
    Create(&'static str),
    Drop(&'static str),
    Truncate(&'static str),
    Rename(&'static str, &'static str),
    Insert(&'static str, u64),
    Merge(&'static str, u64),
    /// A merge of all parts of a partition that lets every fifth insert expire.
    Expire(&'static str, u64),
    /// The other step, while the background merges what it chooses: the merge begins before it and ends after it.
    During(Box<Step>),
    /// A partition goes from the one table to the other.
    Move(&'static str, &'static str, u64),
    DropPartition(&'static str, u64),
    DetachPartition(&'static str, u64),
    AttachPartition(&'static str, u64),
    DropDetached(&'static str),
    DetachTable(&'static str),
    AttachTable(&'static str),
    /// A column is added before the others, or taken away.
    Alter(&'static str),
    /// Every third insert is deleted.
    Delete(&'static str),
    Restart,
}

impl Step {
    fn any(random: &mut Random, number: u64) -> Self {
        let mut table = || TABLES[random.below(3) as usize];
        let (table, other) = (table(), table());
        let partition = random.below(2);
        match random.below(52) {
            // Mutations and other merges wait for merges of their parts.
            42..52 => match Self::any(random, number) {
                alone @ (Self::Delete(_) | Self::Merge(..) | Self::Expire(..) | Self::During(_)) => alone,
                step => Self::During(Box::new(step)),
            },
            0..4 => Self::Create(table),
            4 => Self::Drop(table),
            5 => Self::Truncate(table),
            6 => Self::Rename(table, other),
            7..18 => Self::Insert(table, number),
            18..22 => Self::Merge(table, partition),
            22 => Self::DropPartition(table, partition),
            23..25 => Self::DetachPartition(table, partition),
            25..27 => Self::AttachPartition(table, partition),
            27 => Self::DropDetached(table),
            28 => Self::DetachTable(table),
            29 => Self::AttachTable(table),
            30..33 => Self::Alter(table),
            33..35 => Self::Delete(table),
            35..38 => Self::Expire(table, partition),
            38..40 => Self::Move(table, other, partition),
            _ => Self::Restart,
        }
    }

    /// The step, or another one where it is about parts of tables that may differ by now.
    fn among(self, altered: &BTreeSet<String>) -> Self {
        match self {
            Self::Move(from, to, _) if from != to && [from, to].iter().any(|table| altered.contains(*table)) => {
                Self::Restart
            }
            Self::During(step) => Self::During(Box::new(step.among(altered))),
            step => step,
        }
    }

    /// What is there after it; `None` where it must be refused.
    fn apply(&self, before: &Model) -> Option<Model> {
        let mut model = before.clone();
        let of = |pieces: &Pieces, partition: u64| {
            pieces.iter().filter(|(_, at)| *at == partition).copied().collect::<Pieces>()
        };
        match self {
            Self::Create(table) => {
                if model.tables.contains_key(*table) || model.detached.contains_key(*table) {
                    return None;
                }
                model.tables.insert((*table).to_owned(), Default::default());
            }
            Self::Drop(table) => drop(model.tables.remove(*table)?),
            Self::Truncate(table) => model.tables.get_mut(*table)?.0.clear(),
            Self::Delete(table) => model.tables.get_mut(*table)?.0.retain(|(insert, _)| insert % 3 != 0),
            Self::Expire(table, partition) => {
                let rows = &mut model.tables.get_mut(*table)?.0;
                rows.retain(|(insert, at)| at != partition || insert % 5 != 0);
            }
            Self::Rename(from, to) => {
                if model.tables.contains_key(*to) || model.detached.contains_key(*to) {
                    return None;
                }
                let rows = model.tables.remove(*from)?;
                model.tables.insert((*to).to_owned(), rows);
            }
            Self::Insert(table, number) => model.tables.get_mut(*table)?.0.extend([(*number, 0), (*number, 1)]),
            Self::Merge(table, _) | Self::Alter(table) => drop(model.tables.get(*table)?),
            Self::Move(from, to, partition) => {
                let moved = of(&model.tables.get(*from)?.0, *partition);
                model.tables.get(*to)?;
                model.tables.get_mut(*from)?.0.retain(|piece| !moved.contains(piece));
                model.tables.get_mut(*to)?.0.extend(moved);
            }
            Self::DropPartition(table, partition) => model.tables.get_mut(*table)?.0.retain(|(_, at)| at != partition),
            Self::DetachPartition(table, partition) => {
                let (rows, detached) = model.tables.get_mut(*table)?;
                detached.extend(of(rows, *partition));
                rows.retain(|(_, at)| at != partition);
            }
            Self::AttachPartition(table, partition) => {
                let (rows, detached) = model.tables.get_mut(*table)?;
                rows.extend(of(detached, *partition));
                detached.retain(|(_, at)| at != partition);
            }
            Self::DropDetached(table) => model.tables.get_mut(*table)?.1.clear(),
            Self::DetachTable(table) => {
                let rows = model.tables.remove(*table)?;
                model.detached.insert((*table).to_owned(), rows);
            }
            Self::AttachTable(table) => {
                if model.tables.contains_key(*table) {
                    return None;
                }
                let rows = model.detached.remove(*table)?;
                model.tables.insert((*table).to_owned(), rows);
            }
            Self::During(step) => return step.apply(before),
            Self::Restart => {}
        }
        Some(model)
    }

    fn carry_out(&self, databases: &Arc<Databases>) -> Result<()> {
        let partition = |partition: &u64| PartSelection::Partition(partition.to_string().into());
        let change = |table, command, of| databases.change_parts("default", table, command, &of);
        // Rows expire in the steps that say so, and in no other merge.
        databases.stop_all_ttl_merges(true);
        match self {
            Self::Create(table) => databases.create_table("default", table, definition(), false),
            Self::Drop(table) => databases.drop_table("default", table, false),
            Self::Truncate(table) => databases.truncate_table("default", table, false),
            Self::Rename(from, to) => {
                databases.rename_table(&TableName::new("default", *from), &TableName::new("default", *to))
            }
            Self::Insert(table, number) => insert(&*databases.table("default", table)?, *number),
            Self::Merge(table, partition) => merge(databases, table, *partition, 2),
            Self::Expire(table, partition) => {
                databases.stop_all_ttl_merges(false);
                let merged = merge(databases, table, *partition, 1);
                databases.stop_all_ttl_merges(true);
                merged
            }
            Self::Move(from, to, of) => databases.move_partition(
                &TableName::new("default", *from),
                &TableName::new("default", *to),
                &partition(of),
            ),
            Self::DropPartition(table, of) => change(table, PartCommand::Drop, partition(of)),
            Self::DetachPartition(table, of) => change(table, PartCommand::Detach, partition(of)),
            Self::AttachPartition(table, of) => change(table, PartCommand::Attach, partition(of)),
            Self::DropDetached(table) => change(table, PartCommand::DropDetached, PartSelection::All),
            Self::DetachTable(table) => databases.detach_table("default", table, true, false),
            Self::AttachTable(table) => databases.attach_table("default", table, false),
            Self::Alter(table) => alter(databases, table),
            Self::Delete(table) => delete(databases, table),
            Self::During(step) => during(databases, step),
            Self::Restart => Ok(()),
        }
    }

    fn is_restart(&self) -> bool {
        match self {
            Self::Restart => true,
            Self::During(step) => step.is_restart(),
            _ => false,
        }
    }

    /// Whether it is one commit, or one file after the other.
    fn is_atomic(&self) -> bool {
        match self {
            Self::DropDetached(_) => false,
            Self::During(step) => step.is_atomic(),
            _ => true,
        }
    }
}

/// The tables whose columns were altered.
fn altered(databases: &Databases) -> BTreeSet<String> {
    let state = databases.state.load();
    let tables = state.values().flat_map(|database| database.tables.values());
    let is_altered =
        |entry: &&Arc<super::entry::Entry>| entry.identity().is_some_and(|identity| identity.fields.number > 0);
    tables.filter(is_altered).map(|entry| entry.name.table.to_string()).collect()
}

fn column(name: &str) -> ColumnDescription {
    ColumnDescription::new(name, DataType::UInt64)
}

/// Adds the column `more` before the others, twice the number of the insert in every row that has none, or takes it away.
fn alter(databases: &Databases, table: &str) -> Result<()> {
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

/// Rewrites the parts of a table without every third insert.
fn delete(databases: &Databases, table: &str) -> Result<()> {
    let rewrite = databases.rewrite("default", table, &RewriteOf::Parts(PartSelection::All))?;
    for (source, target) in rewrite.pieces("rows") {
        let fields = source.columns().iter().map(|column| (column.name.clone(), column.data_type.clone()));
        let schema = Arc::new(Schema::new(fields));
        let insert = schema.names().position(|name| name == COLUMNS[0]).unwrap();
        let columns = (0..schema.len()).collect();
        let scan = source.scan(&ScanRequest {
            columns,
            schema,
            predicate: None,
            limit: None,
            skip_indexes: SkipIndexUse::default(),
            row_numbers: false,
        })?;
        let insertion = target.insert()?;
        let mut writer = insertion.writer()?;
        read(&*scan, &mut |block| {
            let stays = |row: &u32| block.column(insert).value(*row as usize).as_u64().unwrap() % 3 != 0;
            let rows: arrow_array::UInt32Array = (0..block.rows() as u32).filter(stays).collect();
            let columns = block.columns().iter().map(|column| column.take(&rows)).collect::<Result<Vec<_>>>()?;
            run(writer.write(Block::new(block.schema().clone(), columns, rows.values().len()))?)
        })?;
        run(writer.finish()?)?;
        insertion.commit()?;
    }
    rewrite.commit()
}

fn definition() -> TableDefinition {
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
        settings: Vec::new(),
        comment: "".into(),
    }
}

fn run(work: Option<PartWork>) -> Result<()> {
    work.map_or(Ok(()), block_on)
}

fn insert(table: &dyn Table, number: u64) -> Result<()> {
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

fn merge(databases: &Databases, table: &str, partition: u64, parts_min: usize) -> Result<()> {
    let parts = databases.table("default", table)?.parts();
    let of = parts.iter().filter(|part| *part.partition_id == *partition.to_string());
    let names: Vec<Arc<str>> = of.map(|part| part.name.clone()).collect();
    if names.len() < parts_min {
        return Ok(());
    }
    let merge = databases.merge_parts("default", table, &names)?;
    let mut writer = merge.insertion.writer()?;
    read(&*merge.scan, &mut |block| run(writer.write(block)?))?;
    run(writer.finish()?)?;
    merge.insertion.commit()
}

/// Carries a step out while the background merges: whatever becomes of the merge, the step does what it says.
fn during(databases: &Arc<Databases>, step: &Step) -> Result<()> {
    let now = Instant::now() + Duration::from_secs(1 << 22);
    databases.stop_all_ttl_merges(true);
    let next = databases.next_merge(u64::MAX, (now, SystemTime::now()), &|_| true);
    let begun = next.and_then(|next| next.begin(Arc::new(|| ())).ok().flatten());
    let written = begun.map(|(merge, turn)| {
        let written = merge.insertion.writer().and_then(|writer| run(writer.finish()?));
        (merge, turn, written)
    });
    let result = step.carry_out(databases);
    if let Some((merge, turn, written)) = written {
        if let Err(error) = written.and_then(|()| merge.insertion.commit()) {
            assert!(error.code != ErrorCode::LOGICAL_ERROR, "a merge fails: {error}");
        }
        drop((merge, turn));
    }
    result
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
fn pieces(table: &dyn Table) -> Pieces {
    let names: Vec<Arc<str>> = table.columns().iter().map(|column| column.name.clone()).collect();
    let own = COLUMNS.map(|name| names.iter().position(|known| **known == *name).unwrap());
    let more = names.iter().position(|known| **known == *MORE);
    let columns: Vec<usize> = own.into_iter().chain(more).collect();
    let schema = Schema::new(columns.iter().map(|at| (names[*at].clone(), DataType::UInt64)));
    let request = ScanRequest {
        columns,
        schema: Arc::new(schema),
        predicate: None,
        limit: None,
        skip_indexes: SkipIndexUse::default(),
        row_numbers: false,
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

/// A machine with its disk and its catalog.
struct Machine {
    disk: Arc<FakeDisk>,
    catalog: String,
    /// Keeps the catalog in memory.
    _keeper: Connection,
}

impl Machine {
    fn new(seed: u64) -> Self {
        let catalog = format!("file:simulation{seed}?mode=memory&cache=shared");
        let disk = FakeDisk::new(seed);
        disk.create_folder(Path::new(DATA)).unwrap();
        disk.sync_folder(Path::new("/")).unwrap();
        Self { _keeper: connect(&catalog), disk, catalog }
    }

    fn open(&self) -> Result<Arc<Databases>> {
        let disk: Arc<dyn Disk> = self.disk.clone();
        Databases::of(Store {
            catalog: Catalog::over(connect(&self.catalog), Path::new(DATA), disk)?,
            cache: Arc::new(ColumnCache::inline(1 << 20)),
            data: DATA.into(),
            binding: Arc::new(KeyBinding::new("UTC")),
            on_demand: OnDemandSlot::default(),
            _locks: Vec::new(),
        })
    }

    /// Starts the server until no crash comes between.
    fn start(&self, random: &mut Random) -> Arc<Databases> {
        loop {
            self.disk.start_again();
            if random.below(4) == 0 {
                self.disk.crash_after(1 + random.below(12));
            }
            match self.open() {
                Ok(databases) if !self.disk.has_crashed() => {
                    self.disk.crash_after(u64::MAX / 2);
                    return databases;
                }
                opened => assert!(self.disk.has_crashed(), "the server does not start: {:?}", opened.err()),
            }
        }
    }

    /// What is there, and that no file is there that is nobody's.
    fn look(&self, databases: &Arc<Databases>) -> Model {
        let mut model = Model::default();
        let mut known = BTreeSet::new();
        let permanently = databases.detached_tables();
        permanently.iter().for_each(|table| databases.attach_table("default", &table.table, false).unwrap());
        for table in databases.tables("default").unwrap() {
            let (name, table) = (table.table.name().to_owned(), table.table);
            let files = table.parts().into_iter().map(|part| part.path);
            known.extend(files);
            let mut detached = Pieces::new();
            for part in databases.detached_parts("default", &name).unwrap() {
                assert_eq!(part.reason, "", "{name}: a part was set aside");
                known.insert(part.path.clone());
                let footer = crate::merge_tree::PartFooter::read(&*self.disk, &part.path).unwrap().unwrap();
                let stored = footer.table.stored_schema().unwrap();
                let description = footer.description(&[DataType::UInt64], stored.len()).unwrap();
                let place = |column: usize| stored.names().position(|name| name == COLUMNS[column]).unwrap();
                let low = |column| description.range(place(column)).0.low.unwrap().as_u64().unwrap();
                let high = |column: usize| description.range(place(column)).0.high.unwrap().as_u64().unwrap();
                // A merged part holds several inserts, of which the first and the last are told by its bounds.
                detached.extend([(low(0), low(1)), (high(0), low(1))]);
            }
            let rows = pieces(&*table);
            if permanently.iter().any(|known| *known.table == *name) {
                databases.detach_table("default", &name, true, false).unwrap();
                model.detached.insert(name, (rows, detached));
            } else {
                model.tables.insert(name, (rows, detached));
            }
        }
        for (_, folder) in super::folder::table_folders(&*self.disk, Path::new(DATA)).unwrap() {
            for folder in [folder.join("detached"), folder] {
                for file in self.disk.list(&folder).unwrap().into_iter().filter(|file| !file.is_folder) {
                    let path = folder.join(file.name);
                    assert!(known.contains(&path), "{} is nobody's", path.display());
                }
            }
        }
        model
    }
}

/// Detached rows as far as the bounds of their parts tell them.
fn same(found: &Model, expected: &Model) -> bool {
    let same = |found: &BTreeMap<String, (Pieces, Pieces)>, expected: &BTreeMap<String, (Pieces, Pieces)>| {
        found.len() == expected.len()
            && found.iter().zip(expected).all(|((name, (rows, detached)), (other, (wanted, all)))| {
                let ends = |pieces: &Pieces, part: u64| {
                    let mut of = pieces.iter().filter(|(_, at)| *at == part).map(|(insert, _)| *insert);
                    let first = of.next();
                    first.map(|first| (first, of.next_back().unwrap_or(first)))
                };
                let same_ends = (0..2).all(|part| ends(detached, part) == ends(all, part));
                name == other && rows == wanted && detached.is_subset(all) && same_ends
            })
    };
    same(&found.tables, &expected.tables) && same(&found.detached, &expected.detached)
}

fn connect(catalog: &str) -> Connection {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(catalog, flags).unwrap();
    connection.pragma_update(None, "synchronous", "OFF").unwrap();
    connection
}

/// One history; how often the machine crashed in it.
fn history(seed: u64) -> u64 {
    let mut random = Random(seed ^ 0x005E_ED0F_D15C);
    let machine = Machine::new(seed);
    let mut databases = machine.start(&mut random);
    let mut model = Model::default();
    let mut crashes = 0;
    let steps = 4 + random.below(16);
    for number in 0..steps {
        let step = Step::any(&mut random, number + 1).among(&altered(&databases));
        if random.below(3) == 0 {
            machine.disk.crash_after(1 + random.below(24));
        }
        let after = step.apply(&model);
        let result = step.carry_out(&databases);
        let context = || format!("history {seed}, step {number}: {step:?} gave {result:?}");
        let code = result.as_ref().err().map(|error| error.code);
        assert!(code != Some(ErrorCode::LOGICAL_ERROR) && code != Some(ErrorCode::STD_EXCEPTION), "{}", context());
        if !machine.disk.has_crashed() && !step.is_restart() {
            machine.disk.crash_after(u64::MAX / 2);
            assert_eq!(result.is_ok(), after.is_some(), "{}", context());
            model = after.unwrap_or(model);
            continue;
        }
        crashes += u64::from(machine.disk.has_crashed());
        drop(databases);
        databases = machine.start(&mut random);
        let found = machine.look(&databases);
        let after = after.unwrap_or_else(|| model.clone());
        if result.is_ok() || !step.is_atomic() {
            // What was acknowledged holds; what goes file by file may have gone half of its way.
            let is_between = !step.is_atomic() && found.tables.len() == model.tables.len();
            assert!(same(&found, &after) || is_between, "{}\nfound {found:?}\nexpected {after:?}", context());
            if is_between && !same(&found, &after) {
                return crashes;
            }
            model = after;
        } else {
            let is_before = same(&found, &model);
            assert!(
                is_before || same(&found, &after),
                "{}\nfound {found:?}\nneither {model:?}\nnor {after:?}",
                context()
            );
            if !is_before {
                model = after;
            }
        }
    }
    let found = machine.look(&databases);
    assert!(same(&found, &model), "history {seed}, at its end\nfound {found:?}\nexpected {model:?}");
    crashes
}

fn histories(first: u64, count: u64) -> u64 {
    let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get() as u64);
    std::thread::scope(|scope| {
        let run =
            |thread: u64| move || (first + thread..first + count).step_by(threads as usize).map(history).sum::<u64>();
        let all: Vec<_> = (0..threads).map(|thread| scope.spawn(run(thread))).collect();
        all.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

#[test]
fn nothing_is_lost_and_nothing_is_half_there() {
    let crashes = histories(0, 1000);
    assert!(crashes > 200, "the machine crashed {crashes} times only");
}

/// `make crashes`: as many as `SQUALL_HISTORIES` says, 100,000 where it says nothing, from `SQUALL_HISTORY` on.
#[test]
#[ignore = "takes minutes"]
fn nothing_is_lost_in_many_histories() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (first, count) = (number("SQUALL_HISTORY").unwrap_or(0), number("SQUALL_HISTORIES").unwrap_or(100_000));
    let began = Instant::now();
    let crashes = histories(first, count);
    println!("{count} histories with {crashes} crashes in {:.0?}", began.elapsed());
}
