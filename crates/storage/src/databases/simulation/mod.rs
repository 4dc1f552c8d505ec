//! Random histories of inserts, merges, DDL and restarts over a disk that crashes at any step. Whatever was acknowledged is there after a crash;
//! what was under way has happened wholly or not at all; no file is left that nobody knows.
//!
//! The catalog is the one thing that is not taken apart: its transactions are SQLite's with `synchronous = FULL`, which either are on disk or
//! never were. It lives in memory, outlasts every crash, and the machine may crash right before and right after each of its commits.

mod rows;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{Connection, OpenFlags};
use squall_types::{DataType, ErrorCode, Result};

use super::entry::find;
use super::store::Store;
use super::{Databases, PartCommand, RewriteOf};
use crate::catalog::Catalog;
use crate::column_cache::ColumnCache;
use crate::dictionary::OnDemandSlot;
use crate::disk::Disk;
use crate::disk::fake::{FakeDisk, Random};
use crate::identity::TableName;
use crate::key_binding::KeyBinding;
use crate::merge_tree::{MergeRoom, PartSelection};
use crate::mutation::MutationOrder;
use rows::{alter, definition, delete, insert, merge, mutate, name_deleted, ordered, pieces, run};

const DATA: &str = "/data";
const TABLES: [&str; 3] = ["a", "b", "c"];
const COLUMNS: [&str; 3] = ["insert", "part", "row"];
/// The column that comes and goes.
const MORE: &str = "more";
/// Rows of one insert in each of its two partitions.
const ROWS: u64 = 12;

/// What a table holds: inserts by their number, each in one of two partitions.
type Pieces = BTreeSet<(u64, u64)>;

/// What must be there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Model {
    /// Tables with their rows, and with those that are detached.
    tables: BTreeMap<String, (Pieces, Pieces)>,
    /// Tables that are detached permanently.
    detached: BTreeMap<String, (Pieces, Pieces)>,
    /// For each table what the mutations delete that are ordered and not done, in their order.
    ordered: BTreeMap<String, Vec<Pieces>>,
}

impl Model {
    /// Pieces that leave a table are no mutation's any more, also where they come back.
    fn forget_ordered(&mut self, table: &str, is_gone: impl Fn(&(u64, u64)) -> bool) {
        let ordered = self.ordered.get_mut(table).into_iter().flatten();
        ordered.for_each(|pieces| pieces.retain(|piece| !is_gone(piece)));
    }
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
    /// Every fourth insert is deleted by naming its rows beside the parts, where that will do.
    NameDeleted(&'static str),
    /// A mutation is ordered that deletes every other insert of those that are there.
    Order(&'static str),
    /// The first mutation that is ordered is carried out.
    Mutate(&'static str),
    Restart,
}

impl Step {
    fn any(random: &mut Random, number: u64) -> Self {
        let mut table = || TABLES[random.below(3) as usize];
        let (table, other) = (table(), table());
        let partition = random.below(2);
        match random.below(66) {
            // Mutations and other merges wait for merges of their parts.
            42..52 => match Self::any(random, number) {
                alone @ (Self::Delete(_)
                | Self::NameDeleted(_)
                | Self::Mutate(_)
                | Self::Merge(..)
                | Self::Expire(..)
                | Self::During(_)) => alone,
                step => Self::During(Box::new(step)),
            },
            52..57 => Self::NameDeleted(table),
            57..60 => Self::Order(table),
            60..66 => Self::Mutate(table),
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
    fn among(self, altered: &BTreeSet<String>, model: &Model) -> Self {
        match self {
            // Parts on both sides of a mutation do not become one: not all of them expire together.
            Self::Expire(table, _) if model.ordered.get(table).is_some_and(|ordered| !ordered.is_empty()) => {
                Self::Restart
            }
            Self::Move(from, to, _) if from != to && [from, to].iter().any(|table| altered.contains(*table)) => {
                Self::Restart
            }
            Self::During(step) => Self::During(Box::new(step.among(altered, model))),
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
            Self::Drop(table) => {
                model.tables.remove(*table)?;
                model.ordered.remove(*table);
            }
            Self::Truncate(table) => {
                model.tables.get_mut(*table)?.0.clear();
                model.forget_ordered(table, |_| true);
            }
            Self::Delete(table) => model.tables.get_mut(*table)?.0.retain(|(insert, _)| insert % 3 != 0),
            Self::NameDeleted(table) => model.tables.get_mut(*table)?.0.retain(|(insert, _)| insert % 4 != 0),
            Self::Order(table) => {
                let rows = &model.tables.get(*table)?.0;
                let meant = rows.iter().filter(|(insert, _)| insert % 2 == 1).copied().collect();
                model.ordered.entry((*table).to_owned()).or_default().push(meant);
            }
            Self::Mutate(table) => {
                let rows = &mut model.tables.get_mut(*table)?.0;
                let ordered = model.ordered.get_mut(*table).filter(|ordered| !ordered.is_empty())?;
                let meant = ordered.remove(0);
                rows.retain(|piece| !meant.contains(piece));
            }
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
                if let Some(ordered) = model.ordered.remove(*from) {
                    model.ordered.insert((*to).to_owned(), ordered);
                }
            }
            Self::Insert(table, number) => model.tables.get_mut(*table)?.0.extend([(*number, 0), (*number, 1)]),
            Self::Merge(table, _) | Self::Alter(table) => drop(model.tables.get(*table)?),
            Self::Move(from, to, partition) => {
                let moved = of(&model.tables.get(*from)?.0, *partition);
                model.tables.get(*to)?;
                model.forget_ordered(from, |piece| moved.contains(piece));
                model.tables.get_mut(*from)?.0.retain(|piece| !moved.contains(piece));
                model.tables.get_mut(*to)?.0.extend(moved);
            }
            Self::DropPartition(table, partition) => {
                model.tables.get_mut(*table)?.0.retain(|(_, at)| at != partition);
                model.forget_ordered(table, |(_, at)| at == partition);
            }
            Self::DetachPartition(table, partition) => {
                let (rows, detached) = model.tables.get_mut(*table)?;
                detached.extend(of(rows, *partition));
                rows.retain(|(_, at)| at != partition);
                model.forget_ordered(table, |(_, at)| at == partition);
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
            Self::Delete(table) => {
                let rewrite = databases.rewrite("default", table, &RewriteOf::Parts(PartSelection::All), None)?;
                delete(rewrite, 3, 0, None)
            }
            Self::NameDeleted(table) => name_deleted(databases, table),
            Self::Order(table) => databases
                .order_mutation("default", table, MutationOrder::default(), 1)
                .map(|kept| assert!(kept.is_some())),
            Self::Mutate(table) => mutate(databases, table),
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

/// Carries a step out while the background merges: whatever becomes of the merge, the step does what it says.
fn during(databases: &Arc<Databases>, step: &Step) -> Result<()> {
    let now = Instant::now() + Duration::from_secs(1 << 22);
    databases.stop_all_ttl_merges(true);
    let next =
        databases.next_merge(MergeRoom { bytes: u64::MAX, group_bytes: u64::MAX }, (now, SystemTime::now()), &|_| true);
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
            let orders = ordered(databases, table.uuid).len();
            let (name, table) = (table.table.name().to_owned(), table.table);
            model.ordered.insert(name.clone(), vec![Pieces::new(); orders]);
            let files = table.parts().into_iter().map(|part| part.path);
            known.extend(files);
            let entry = find(&databases.state.load(), "default", &name).unwrap().clone();
            known.extend(entry.parts().unwrap().deletion_files());
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
    // Of mutations it is told how many there are.
    let orders = |model: &Model| {
        let orders = model.ordered.iter().map(|(table, ordered)| (table.clone(), ordered.len()));
        orders.filter(|(_, orders)| *orders > 0).collect::<Vec<_>>()
    };
    same(&found.tables, &expected.tables)
        && same(&found.detached, &expected.detached)
        && orders(found) == orders(expected)
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
    let steps = 6 + random.below(24);
    for number in 0..steps {
        let step = Step::any(&mut random, number + 1).among(&altered(&databases), &model);
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
#[ignore = "long"]
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
