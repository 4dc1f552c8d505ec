//! The engine `Join`: rows in memory, found by their keys without a table being built for each query. They are on disk as parts,
//! like a MergeTree's, unless `persistent = 0`; the parts are read once, when the server starts.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};

use arc_swap::ArcSwap;
use arrow_array::UInt32Array;
use parking_lot::Mutex;
use squall_functions::{Attribute, Found, KeyedRows};
use squall_planner::{ColumnDescription, JoinKind, JoinStrictness, TableDefinition, TableMetadata};
use squall_types::{Block, Column, DataType, Error, ErrorCode, Result, Schema, Value};

use crate::identity::{TableIdentity, TableName};
use crate::key_index::{KeyForm, KeyIndex, Keys, NO_ROW};
use crate::memory::scan_blocks;
use crate::merge_tree::MergeTree;
use crate::table::{
    Claim, ConditionUse, InsertLimits, InsertWriter, Insertion, PartWork, RowNumbers, ScanRequest, SkipIndexUse, Table,
    TableScan,
};

/// The index is built when this share of the rows is new; fewer new rows wait for whoever looks.
const NEW_SHARE: usize = 8;

/// What a table of the engine is for: joins of this kind by these keys.
#[derive(Clone, Debug)]
pub struct JoinDefinition {
    /// `ANY`, `ALL`, `SEMI` or `ANTI`.
    pub strictness: JoinStrictness,
    /// `LEFT`, `INNER`, `RIGHT` or `FULL`.
    pub kind: JoinKind,
    /// Positions of the key's columns among the stored ones.
    pub keys: Vec<usize>,
    /// `join_use_nulls`.
    pub use_nulls: bool,
    takes_last: bool,
    pub(crate) is_persistent: bool,
}

impl JoinDefinition {
    /// Reads the engine's arguments and settings.
    ///
    /// # Errors
    /// `NUMBER_OF_ARGUMENTS_DOESNT_MATCH`, `BAD_ARGUMENTS`, `NO_SUCH_COLUMN_IN_TABLE`.
    pub(crate) fn new(definition: &TableDefinition) -> Result<Self> {
        let arguments: Vec<&str> = definition.engine_arguments.iter().map(|word| word.as_str().unwrap_or("")).collect();
        let [strictness, kind, keys @ ..] = &arguments[..] else { return Err(too_few_arguments()) };
        if keys.is_empty() {
            return Err(too_few_arguments());
        }
        let strictness = match strictness.to_ascii_lowercase().as_str() {
            "any" => JoinStrictness::Any,
            "all" => JoinStrictness::All,
            "semi" => JoinStrictness::Semi,
            "anti" => JoinStrictness::Anti,
            _ => {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    "First parameter of storage Join must be ANY or ALL or SEMI or ANTI (without quotes).",
                ));
            }
        };
        let kind = match kind.to_ascii_lowercase().as_str() {
            "left" => JoinKind::Left,
            "inner" => JoinKind::Inner,
            "right" => JoinKind::Right,
            "full" => JoinKind::Full,
            _ => {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    "Second parameter of storage Join must be LEFT or INNER or RIGHT or FULL (without quotes).",
                ));
            }
        };
        if strictness == JoinStrictness::Any && kind == JoinKind::Full {
            return Err(Error::new(ErrorCode::NOT_IMPLEMENTED, "ANY FULL JOINs are not implemented"));
        }
        let position = |key: &&str| {
            definition.columns.iter().position(|column| &*column.name == *key).ok_or_else(|| {
                Error::new(
                    ErrorCode::NO_SUCH_COLUMN_IN_TABLE,
                    format!("Key column ({key}) does not exist in table declaration."),
                )
            })
        };
        let keys = keys.iter().map(position).collect::<Result<Vec<_>>>()?;
        let mut own = Self { strictness, kind, keys, use_nulls: false, takes_last: false, is_persistent: true };
        for (name, value) in &definition.settings {
            let is_on = matches!(&**value, "1" | "true");
            match &**name {
                "join_use_nulls" => own.use_nulls = is_on,
                "join_any_take_last_row" => own.takes_last = is_on,
                "persistent" => own.is_persistent = is_on,
                "disk"
                | "max_rows_in_join"
                | "max_bytes_in_join"
                | "join_overflow_mode"
                | "any_join_distinct_right_table_keys" => {}
                other => {
                    return Err(Error::new(
                        ErrorCode::BAD_ARGUMENTS,
                        format!("Unknown setting {other} for storage Join"),
                    ));
                }
            }
        }
        Ok(own)
    }
}

fn too_few_arguments() -> Error {
    Error::new(
        ErrorCode::NUMBER_OF_ARGUMENTS_DOESNT_MATCH,
        "Storage Join requires at least 3 parameters: Join(ANY|ALL|SEMI|ANTI, LEFT|INNER|RIGHT, keys...).",
    )
}

/// The rows of a table, and what inserts add to.
pub(crate) struct JoinRows {
    definition: JoinDefinition,
    identity: Arc<TableIdentity>,
    inserted: ArcSwap<Inserted>,
    is_dropped: AtomicBool,
    /// Where the rows are on disk.
    parts: Option<Arc<MergeTree>>,
    /// The positions of the key's columns are those of the definition; these are the stored columns'.
    keys: Vec<usize>,
}

#[derive(Default)]
struct Inserted {
    blocks: Vec<Arc<Block>>,
    rows: usize,
    held: OnceLock<Arc<JoinHeld>>,
    /// Held by whoever builds it.
    building: Mutex<()>,
    /// What was held of the first so many blocks.
    before: Option<(Arc<JoinHeld>, usize)>,
}

/// The rows of a table by their keys.
#[derive(Debug)]
pub struct JoinHeld {
    /// The rows by key.
    pub index: Arc<KeyIndex>,
    /// The stored columns in the types that a join gives, with one more row: what stands for a row that is missing.
    pub columns: Arc<[Column]>,
    /// The number of rows.
    pub rows: usize,
}

impl std::fmt::Debug for JoinRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JoinRows").field("uuid", &self.identity.uuid).finish_non_exhaustive()
    }
}

impl JoinRows {
    /// The rows of a table, those on disk read.
    ///
    /// # Errors
    /// Where the parts cannot be read.
    pub(crate) fn open(identity: Arc<TableIdentity>, parts: Option<Arc<MergeTree>>) -> Result<Arc<Self>> {
        let definition = JoinDefinition::new(&identity.definition)?;
        let keys = identity.stored_columns(&definition.keys)?;
        let blocks = match &parts {
            Some(parts) => {
                let name = Arc::new(TableName::new("", ""));
                read_all(&parts.snapshot(name), &identity)?
            }
            None => Vec::new(),
        };
        let rows = blocks.iter().map(|block| block.rows()).sum();
        Ok(Arc::new(Self {
            definition,
            keys,
            identity,
            inserted: ArcSwap::from_pointee(Inserted { blocks, rows, ..Inserted::default() }),
            is_dropped: AtomicBool::new(false),
            parts,
        }))
    }

    /// Where the rows are on disk.
    pub(crate) fn parts(&self) -> Option<&Arc<MergeTree>> {
        self.parts.as_ref()
    }

    /// Lets go of all rows; queries under way keep theirs.
    pub(crate) fn truncate(&self) {
        self.inserted.store(Arc::default());
    }

    /// Refuses commits from now on.
    pub(crate) fn mark_dropped(&self) {
        self.is_dropped.store(true, Ordering::Release);
        self.truncate();
        if let Some(parts) = &self.parts {
            parts.mark_dropped();
        }
    }

    /// Shows rows that are on disk, where they are to be.
    pub(crate) fn publish(&self, new: &[Arc<Block>]) {
        let added: usize = new.iter().map(|block| block.rows()).sum();
        self.inserted.rcu(|before| Inserted {
            blocks: before.blocks.iter().chain(new).cloned().collect(),
            rows: before.rows + added,
            before: match before.held.get() {
                Some(held) => Some((held.clone(), before.blocks.len())),
                None => before.before.clone(),
            },
            ..Inserted::default()
        });
        let now = self.inserted.load_full();
        if added >= now.rows / NEW_SHARE {
            // Whoever looks next finds it done.
            let _ = self.held_of(&now);
        }
    }

    fn held_of(&self, inserted: &Inserted) -> Result<Arc<JoinHeld>> {
        if let Some(held) = inserted.held.get() {
            return Ok(held.clone());
        }
        // An error is of the query that meets it, whose time or memory may be up: the next one builds anew.
        let _building = inserted.building.lock();
        match inserted.held.get() {
            Some(held) => Ok(held.clone()),
            None => {
                let built = Arc::new(self.build(inserted)?);
                Ok(inserted.held.get_or_init(|| built).clone())
            }
        }
    }

    fn build(&self, inserted: &Inserted) -> Result<JoinHeld> {
        if let Some((held, blocks)) = &inserted.before
            && let Some(extended) = self.extend(held, &inserted.blocks[*blocks..])?
        {
            return Ok(extended);
        }
        let blocks: Vec<Block> = inserted.blocks.iter().map(|block| (**block).clone()).collect();
        let mut block = Block::concat(self.identity.stored.clone(), &blocks)?;
        let keeps_last = self.definition.takes_last;
        let mut index = KeyIndex::of(self.keys_of(&block)?, keeps_last);
        if self.definition.strictness != JoinStrictness::All {
            // One row of each key is ever found.
            let found = index.find(&self.keys_of(&block)?)?;
            let kept: Vec<u32> = (0..block.rows() as u32).filter(|row| found.get(*row as usize) == Some(row)).collect();
            if kept.len() < block.rows() {
                block = block.take(&UInt32Array::from(kept))?;
                index = KeyIndex::of(self.keys_of(&block)?, keeps_last);
            }
        }
        let column = |column: &Column| {
            let data_type = self.held_type(column.data_type());
            let missing = Column::default_values(data_type.clone(), 1)?;
            Column::concat(&[column.materialize()?.with_type(data_type), missing])
        };
        let columns = block.columns().iter().map(column).collect::<Result<Vec<_>>>()?;
        Ok(JoinHeld { index: Arc::new(index), columns: columns.into(), rows: block.rows() })
    }

    /// What was held, with the rows of further blocks after it; `None` where it must be built anew.
    fn extend(&self, held: &JoinHeld, blocks: &[Arc<Block>]) -> Result<Option<JoinHeld>> {
        let blocks: Vec<Block> = blocks.iter().map(|block| (**block).clone()).collect();
        let mut block = Block::concat(self.identity.stored.clone(), &blocks)?;
        let mut keys = self.keys_of(&block)?;
        if self.definition.strictness != JoinStrictness::All && !self.definition.takes_last {
            // One row of each key is ever found: the first.
            let known = held.index.find(&keys)?;
            let first = KeyIndex::of(keys.clone(), false).find(&keys)?;
            let is_kept = |row: &u32| known[*row as usize] == NO_ROW && first[*row as usize] == *row;
            let kept: Vec<u32> = (0..block.rows() as u32).filter(is_kept).collect();
            block = block.take(&UInt32Array::from(kept))?;
            keys = self.keys_of(&block)?;
        } else if self.definition.strictness != JoinStrictness::All {
            // The last one takes the place of what was there.
            return Ok(None);
        }
        let Some(index) = held.index.extended(&keys)? else { return Ok(None) };
        let column = |(known, new): (&Column, &Column)| {
            let data_type = known.data_type().clone();
            let missing = Column::default_values(data_type.clone(), 1)?;
            Column::concat(&[known.slice(0, held.rows), new.materialize()?.with_type(data_type), missing])
        };
        let columns = held.columns.iter().zip(block.columns()).map(column).collect::<Result<Vec<_>>>()?;
        Ok(Some(JoinHeld { index: Arc::new(index), columns: columns.into(), rows: held.rows + block.rows() }))
    }

    /// The type that a join gives of a column: it may be missing.
    fn held_type(&self, data_type: &DataType) -> DataType {
        if self.definition.use_nulls && self.definition.kind.keeps_left() {
            data_type.to_nullable()
        } else {
            data_type.clone()
        }
    }

    fn keys_of(&self, block: &Block) -> Result<Keys> {
        let columns = self.keys.iter().map(|key| plain(block.column(*key))).collect::<Result<Vec<_>>>()?;
        Keys::new(KeyForm::of(columns.iter().map(Column::data_type)), &columns, block.rows())
    }
}

/// A column without a dictionary.
fn plain(column: &Column) -> Result<Column> {
    let column = column.materialize()?;
    let to = column.data_type().remove_low_cardinality().clone();
    if *column.data_type() == to {
        return Ok(column);
    }
    let zone = squall_types::calendar::TimeZone::utc();
    squall_types::cast(&column, &to, &squall_types::CastOptions::new(squall_types::CastMode::Plain, zone))
}

/// All stored columns of all rows of a table. Waits for the disk.
pub(crate) fn read_all(table: &dyn Table, identity: &TableIdentity) -> Result<Vec<Arc<Block>>> {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let stored = |at: &usize| identity.stored_positions.get(*at).copied().flatten().is_some();
    let columns = (0..identity.definition.columns.len()).filter(stored).collect();
    let scan = table.scan(&ScanRequest {
        columns,
        schema: identity.stored.clone(),
        predicate: None,
        bounds: Vec::new(),
        limit: None,
        skip_indexes: SkipIndexUse::default(),
        row_numbers: RowNumbers::None,
        subcolumns: None,
        condition_use: ConditionUse::default(),
    })?;
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut blocks = Vec::new();
    loop {
        match scan.claim(u64::from(u32::MAX), &waker) {
            Claim::Morsel(morsel) => scan.read(morsel, &mut |block| {
                blocks.push(Arc::new(block.materialize()?));
                Ok(ControlFlow::Continue(()))
            })?,
            Claim::Pending => std::thread::park(),
            Claim::Finished => return Ok(blocks),
        }
    }
}

/// A table of the engine at one moment.
#[derive(Debug)]
pub struct JoinTable {
    name: Arc<TableName>,
    live: Arc<JoinRows>,
    held: OnceLock<Arc<JoinHeld>>,
}

impl JoinTable {
    pub(crate) fn new(name: Arc<TableName>, live: Arc<JoinRows>) -> Self {
        Self { name, live, held: OnceLock::new() }
    }

    /// What joins the table is for.
    pub fn definition(&self) -> &JoinDefinition {
        &self.live.definition
    }

    /// The stored column that a column of the table is.
    pub fn stored_column(&self, column: usize) -> Option<usize> {
        self.live.identity.stored_positions.get(column).copied().flatten()
    }

    /// The positions of the key's columns among the stored ones.
    pub fn key_columns(&self) -> &[usize] {
        &self.live.keys
    }

    /// The names of the key's columns.
    pub fn key_names(&self) -> impl Iterator<Item = &str> {
        let columns = &self.live.identity.definition.columns;
        self.live.definition.keys.iter().filter_map(|key| columns.get(*key)).map(|column| &*column.name)
    }

    /// The rows by key, as they were when this was first asked for.
    ///
    /// # Errors
    /// `TOO_LARGE_STRING_SIZE`: more than 2 GiB of strings in one column.
    pub fn held(&self) -> Result<Arc<JoinHeld>> {
        if let Some(held) = self.held.get() {
            return Ok(held.clone());
        }
        let held = self.live.held_of(&self.live.inserted.load())?;
        Ok(self.held.get_or_init(|| held).clone())
    }

    /// Whether the rows as they are held answer a join.
    pub fn serves(&self, kind: JoinKind, strictness: JoinStrictness, use_nulls: bool) -> bool {
        self.check_join(kind, strictness, use_nulls).is_ok()
    }

    /// The table is for other joins.
    fn incompatible(&self) -> Error {
        Error::new(
            ErrorCode::INCOMPATIBLE_TYPE_OF_JOIN,
            format!("Table '{} ({})' has incompatible type of JOIN", self.name, self.live.identity.uuid),
        )
    }

    /// The same for the setting.
    fn incompatible_nulls(&self) -> Error {
        Error::new(
            ErrorCode::INCOMPATIBLE_TYPE_OF_JOIN,
            format!(
                "Table '{} ({})' needs the same join_use_nulls setting as present in LEFT or FULL JOIN",
                self.name, self.live.identity.uuid
            ),
        )
    }

    /// The rows as `joinGet` finds them.
    ///
    /// # Errors
    /// `INCOMPATIBLE_TYPE_OF_JOIN` where the table is not for `ANY LEFT`.
    pub(crate) fn keyed(&self) -> Result<Arc<dyn KeyedRows>> {
        let live = &self.live;
        if (live.definition.strictness, live.definition.kind) != (JoinStrictness::Any, JoinKind::Left) {
            return Err(Error::new(
                ErrorCode::INCOMPATIBLE_TYPE_OF_JOIN,
                "joinGet only supports StorageJoin of type Left Any",
            ));
        }
        let stored = &live.identity.stored.fields;
        let mut attributes = Vec::with_capacity(stored.len());
        for (name, data_type) in stored {
            let data_type = live.held_type(data_type);
            let default = Column::default_values(data_type.clone(), 1)?;
            attributes.push(Attribute { name: name.clone(), data_type, default, is_hierarchical: false });
        }
        let keys = live.keys.iter().map(|key| {
            let (name, data_type) = &stored[*key];
            (name.clone(), data_type.remove_low_cardinality().clone())
        });
        Ok(Arc::new(JoinKeyed { keys: keys.collect(), attributes, live: live.clone() }))
    }
}

impl TableMetadata for JoinTable {
    fn database(&self) -> &str {
        &self.name.database
    }
    fn name(&self) -> &str {
        &self.name.table
    }
    fn engine(&self) -> &str {
        "Join"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.live.identity.definition.columns
    }
    fn rows(&self) -> Option<u64> {
        self.held().ok().map(|held| held.rows as u64)
    }
    fn check_join(&self, kind: JoinKind, strictness: JoinStrictness, use_nulls: bool) -> Result<()> {
        let definition = self.definition();
        let strictness = match strictness {
            JoinStrictness::RightAny => JoinStrictness::Any,
            other => other,
        };
        if (strictness, kind) != (definition.strictness, definition.kind) {
            return Err(self.incompatible());
        }
        if kind.keeps_left() && use_nulls != definition.use_nulls {
            return Err(self.incompatible_nulls());
        }
        Ok(())
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Table for JoinTable {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let held = self.held()?;
        let stored = &self.live.identity.stored;
        let columns = held.columns.iter().zip(stored.types());
        // A held type differs at most by its Nullable, whose arrays are the same.
        let columns = columns.map(|(column, own)| column.slice(0, held.rows).with_type(own.clone())).collect();
        let block = Block::new(stored.clone(), columns, held.rows);
        Ok(scan_blocks(vec![Arc::new(block)], request, self.live.identity.stored_columns(&request.columns)?))
    }

    fn insert(&self) -> Result<Arc<dyn Insertion>> {
        self.insert_within(InsertLimits::default())
    }

    fn insert_within(&self, limits: InsertLimits) -> Result<Arc<dyn Insertion>> {
        let on_disk = match &self.live.parts {
            Some(parts) => Some(parts.snapshot(self.name.clone()).insert_within(limits)?),
            None => None,
        };
        Ok(Arc::new(JoinInsertion { live: self.live.clone(), on_disk, pending: Arc::default() }))
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.live.inserted.load().blocks.iter().map(|block| block.memory_bytes() as u64).sum())
    }

    fn as_join(&self) -> Option<&JoinTable> {
        Some(self)
    }
}

/// The rows of a table as they are when somebody looks.
#[derive(Debug)]
struct JoinKeyed {
    keys: Vec<(Arc<str>, DataType)>,
    attributes: Vec<Attribute>,
    live: Arc<JoinRows>,
}

impl KeyedRows for JoinKeyed {
    fn keys(&self) -> &[(Arc<str>, DataType)] {
        &self.keys
    }

    fn is_simple(&self) -> bool {
        false
    }

    fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    fn find(&self, keys: &[Column], rows: usize) -> Result<Found> {
        let held = self.live.held_of(&self.live.inserted.load())?;
        let keys = Keys::new(KeyForm::of(self.keys.iter().map(|(_, data_type)| data_type)), keys, rows)?;
        Ok(Found { rows: held.index.find(&keys)?, attributes: held.columns.clone() })
    }
}

/// Blocks of an INSERT that is not committed yet.
type Pending = Mutex<Vec<Arc<Block>>>;

struct JoinInsertion {
    live: Arc<JoinRows>,
    on_disk: Option<Arc<dyn Insertion>>,
    pending: Arc<Pending>,
}

impl Insertion for JoinInsertion {
    fn writer(&self) -> Result<Box<dyn InsertWriter>> {
        Ok(Box::new(JoinWriter {
            on_disk: self.on_disk.as_ref().map(|on_disk| on_disk.writer()).transpose()?,
            pending: self.pending.clone(),
            schema: self.live.identity.stored.clone(),
            blocks: Vec::new(),
        }))
    }

    fn commit(&self) -> Result<()> {
        if self.live.is_dropped.load(Ordering::Acquire) {
            return Err(Error::new(ErrorCode::TABLE_IS_DROPPED, "Table is dropped"));
        }
        if let Some(on_disk) = &self.on_disk {
            on_disk.commit()?;
        }
        let new = std::mem::take(&mut *self.pending.lock());
        if !new.is_empty() {
            self.live.publish(&new);
        }
        Ok(())
    }
}

struct JoinWriter {
    on_disk: Option<Box<dyn InsertWriter>>,
    pending: Arc<Pending>,
    schema: Arc<Schema>,
    blocks: Vec<Arc<Block>>,
}

impl InsertWriter for JoinWriter {
    fn write(&mut self, block: Block) -> Result<Option<PartWork>> {
        if block.is_empty() {
            return Ok(None);
        }
        let block = block.materialize()?.with_schema(self.schema.clone());
        self.blocks.push(Arc::new(block.clone()));
        self.on_disk.as_mut().map_or(Ok(None), |on_disk| on_disk.write(block))
    }

    fn finish(mut self: Box<Self>) -> Result<Option<PartWork>> {
        self.pending.lock().append(&mut self.blocks);
        self.on_disk.take().map_or(Ok(None), InsertWriter::finish)
    }
}

/// The definition of the parts of a table: its columns and nothing else.
pub(crate) fn definition_of_parts(identity: &TableIdentity) -> Result<TableIdentity> {
    let definition = TableDefinition {
        engine: "MergeTree".into(),
        engine_arguments: Vec::<Value>::new(),
        settings: Vec::new(),
        ..(*identity.definition).clone()
    };
    TableIdentity::new(identity.uuid, Arc::new(definition))
}
