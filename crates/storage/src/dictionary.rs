//! A dictionary: rows of a query in memory, by key. The query is run by whoever uses the dictionary first ([`Dictionary`] says
//! that it wants to be loaded), and again when its lifetime is over. What is looked up is what was loaded last.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwapOption;
use arrow_array::UInt32Array;
use parking_lot::Mutex;
use squall_functions::{Attribute, Found, KeyedRows, MISSING};
use squall_planner::{ColumnDescription, DictionaryDefinition, DictionaryLayout, LoadedByQuery, TableMetadata};
use squall_sql::ast;
use squall_types::calendar::TimeZone;
use squall_types::{Block, CastMode, CastOptions, Column, DataType, Error, ErrorCode, Result, Schema};
use uuid::Uuid;

use crate::identity::TableName;
use crate::key_index::{KeyForm, KeyIndex, Keys};
use crate::memory::scan_blocks;
use crate::table::{ScanRequest, Table, TableScan};

/// ClickHouse's bound on the keys of a flat dictionary, its `max_array_size`.
const FLAT_KEYS_MAX: u64 = 500_000;

/// A dictionary through its whole life.
#[derive(Debug)]
pub struct Dictionary {
    name: TableName,
    uuid: Uuid,
    definition: DictionaryDefinition,
    keys: Vec<(Arc<str>, DataType)>,
    attributes: Vec<Attribute>,
    loaded: ArcSwapOption<Loaded>,
    status: Mutex<Status>,
    /// Held while it is being loaded.
    loading: Mutex<()>,
    /// The thread that loads it: a dictionary whose source is itself must not wait for itself.
    loader: Mutex<Option<ThreadId>>,
    lookups: AtomicU64,
    finds: AtomicU64,
}

/// The rows as they were loaded.
#[derive(Debug)]
struct Loaded {
    /// All columns as declared.
    block: Arc<Block>,
    attributes: Arc<[Column]>,
    index: KeyIndex,
    bytes: u64,
}

/// What is known of the loading of a dictionary.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// When it was last begun.
    pub started: Option<SystemTime>,
    /// How long it took.
    pub duration: Duration,
    /// When it last succeeded.
    pub succeeded: Option<SystemTime>,
    /// Why it last failed, since it succeeded.
    pub error: Option<Error>,
    /// How often it has failed since then.
    pub errors: u64,
    /// When it is to be loaded again.
    reload_at: Option<Instant>,
}

/// A dictionary for `system.dictionaries`.
#[derive(Clone, Debug)]
pub struct DictionaryDescription {
    /// Its names.
    pub name: TableName,
    /// Its identity.
    pub uuid: Uuid,
    /// How it was defined.
    pub definition: DictionaryDefinition,
    /// Its loading.
    pub status: Status,
    /// Whether there are rows to be found.
    pub is_loaded: bool,
    /// Whether it is being loaded.
    pub is_loading: bool,
    /// The rows.
    pub rows: u64,
    /// The memory that they take.
    pub bytes: u64,
    /// Keys that were looked up.
    pub lookups: u64,
    /// Keys among them that were there.
    pub finds: u64,
}

impl Dictionary {
    pub(crate) fn new(name: TableName, uuid: Uuid, definition: DictionaryDefinition) -> Result<Arc<Self>> {
        let column = |at: &usize| {
            let column = &definition.columns[*at];
            // The key of a simple layout is a number, whatever it is declared as.
            let data_type = match definition.layout.is_simple() {
                true => DataType::UInt64,
                false => column.data_type.remove_low_cardinality().clone(),
            };
            (column.name.clone(), data_type)
        };
        let keys = definition.keys.iter().map(column).collect();
        let mut attributes = Vec::with_capacity(definition.attributes.len());
        for attribute in &definition.attributes {
            let column = &definition.columns[attribute.column];
            attributes.push(Attribute {
                name: column.name.clone(),
                data_type: column.data_type.clone(),
                default: Column::constant(column.data_type.clone(), &attribute.default, 1)?.materialize()?,
                is_hierarchical: attribute.is_hierarchical,
            });
        }
        Ok(Arc::new(Self {
            name,
            uuid,
            definition,
            keys,
            attributes,
            loaded: ArcSwapOption::empty(),
            status: Mutex::default(),
            loading: Mutex::default(),
            loader: Mutex::default(),
            lookups: AtomicU64::new(0),
            finds: AtomicU64::new(0),
        }))
    }

    /// What it was defined as.
    pub fn definition(&self) -> &DictionaryDefinition {
        &self.definition
    }

    /// What there is to say of it now.
    pub fn describe(&self) -> DictionaryDescription {
        let loaded = self.loaded.load();
        DictionaryDescription {
            name: self.name.clone(),
            uuid: self.uuid,
            definition: self.definition.clone(),
            status: self.status.lock().clone(),
            is_loaded: loaded.is_some(),
            is_loading: self.loader.lock().is_some(),
            rows: loaded.as_ref().map_or(0, |loaded| loaded.block.rows() as u64),
            bytes: loaded.as_ref().map_or(0, |loaded| loaded.bytes),
            lookups: self.lookups.load(Ordering::Relaxed),
            finds: self.finds.load(Ordering::Relaxed),
        }
    }

    /// Whether its lifetime is over.
    pub fn is_due(&self, now: Instant) -> bool {
        self.loaded.load().is_some() && self.status.lock().reload_at.is_some_and(|at| at <= now)
    }

    fn build(&self, blocks: &[Block]) -> Result<Loaded> {
        let definition = &self.definition;
        let options = CastOptions::new(CastMode::Plain, TimeZone::utc());
        let fields = definition.columns.iter().map(|column| (column.name.clone(), column.data_type.clone()));
        let schema = Arc::new(Schema { fields: fields.collect() });
        let mut cast_blocks = Vec::with_capacity(blocks.len());
        for block in blocks {
            if block.columns().len() != schema.len() {
                return Err(Error::new(
                    ErrorCode::SIZES_OF_COLUMNS_DOESNT_MATCH,
                    format!(
                        "The source of dictionary {} gives {} columns, the dictionary has {}",
                        self.name,
                        block.columns().len(),
                        schema.len()
                    ),
                ));
            }
            let columns = block.columns().iter().zip(schema.types());
            let columns = columns.map(|(column, to)| squall_types::cast(&column.materialize()?, to, &options));
            cast_blocks.push(Block::new(schema.clone(), columns.collect::<Result<Vec<_>>>()?, block.rows()));
        }
        let mut block = Block::concat(schema, &cast_blocks)?;
        let keys = self.keys_of(&block, &options)?;
        // Of several rows of a key the last one counts.
        let mut index = KeyIndex::of(keys.clone(), true);
        let found = index.find(&keys)?;
        let kept: Vec<u32> = (0..block.rows() as u32).filter(|row| found.get(*row as usize) == Some(row)).collect();
        if kept.len() < block.rows() {
            block = block.take(&UInt32Array::from(kept))?;
            index = KeyIndex::of(self.keys_of(&block, &options)?, true);
        }
        if definition.layout == DictionaryLayout::Flat {
            self.check_flat(&block)?;
        }
        let attributes = definition.attributes.iter().map(|attribute| block.column(attribute.column).clone());
        Ok(Loaded {
            attributes: attributes.collect(),
            bytes: (block.memory_bytes() + index.memory_bytes()) as u64,
            index,
            block: Arc::new(block),
        })
    }

    /// Takes over what was loaded, or notes why nothing was.
    fn settle(&self, started: SystemTime, built: Result<Loaded>) -> Result<()> {
        let now = SystemTime::now();
        let mut status = self.status.lock();
        status.started = Some(started);
        status.duration = now.duration_since(started).unwrap_or_default();
        let (least, most) = self.definition.lifetime_seconds;
        let after = match most {
            0 => None,
            // Spread, so that dictionaries that were loaded together are not loaded together for ever.
            most => Some(least + self.uuid.as_u128() as u64 % (most - least + 1)),
        };
        status.reload_at = after.and_then(|after| Instant::now().checked_add(Duration::from_secs(after.max(1))));
        match built {
            Ok(loaded) => {
                status.succeeded = Some(now);
                (status.error, status.errors) = (None, 0);
                self.loaded.store(Some(Arc::new(loaded)));
                Ok(())
            }
            Err(error) => {
                status.errors += 1;
                status.error = Some(error.clone());
                Err(error)
            }
        }
    }

    fn check_flat(&self, block: &Block) -> Result<()> {
        let Some(key) = self.definition.keys.first().map(|key| block.column(*key)) else { return Ok(()) };
        for row in 0..block.rows() {
            if let Some(key) = key.value(row).as_u64().filter(|key| *key >= FLAT_KEYS_MAX) {
                return Err(Error::new(
                    ErrorCode::BAD_ARGUMENTS,
                    format!(
                        "{}.{}: identifier should be less than {FLAT_KEYS_MAX}, not {key}",
                        self.name.database, self.name.table
                    ),
                ));
            }
        }
        Ok(())
    }

    fn keys_of(&self, block: &Block, options: &CastOptions) -> Result<Keys> {
        let columns =
            self.definition.keys.iter().zip(&self.keys).map(|(key, (_, to))| {
                squall_types::cast(&block.column(*key).materialize()?, to, options)?.materialize()
            });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Keys::new(self.form(), &columns, block.rows())
    }

    fn form(&self) -> KeyForm {
        KeyForm::of(self.keys.iter().map(|(_, data_type)| data_type))
    }

    fn loaded(&self) -> Result<Arc<Loaded>> {
        self.loaded.load_full().ok_or_else(|| {
            let error = self.status.lock().error.clone();
            error.unwrap_or_else(|| {
                Error::new(ErrorCode::DICTIONARIES_WAS_NOT_LOADED, format!("Dictionary {} is not loaded", self.name))
            })
        })
    }
}

impl LoadedByQuery for Dictionary {
    fn needs_load(&self) -> bool {
        self.loaded.load().is_none() || self.definition.layout.is_direct()
    }

    fn load(&self, anew: bool, run: &mut dyn FnMut(&ast::Query) -> Result<Vec<Block>>) -> Result<()> {
        let this_thread = std::thread::current().id();
        if *self.loader.lock() == Some(this_thread) {
            return Err(Error::new(
                ErrorCode::INFINITE_LOOP,
                format!("Dictionary {} is needed to load itself", self.name),
            ));
        }
        let before = self.loaded.load_full();
        let _loading = self.loading.lock();
        // Somebody else may have loaded it meanwhile.
        let is_other = match (&before, &*self.loaded.load()) {
            (Some(before), Some(now)) => !Arc::ptr_eq(before, now),
            (None, Some(_)) => true,
            _ => false,
        };
        if is_other || !anew && !self.needs_load() {
            return Ok(());
        }
        let loader = LoaderGuard::new(&self.loader);
        let started = SystemTime::now();
        let built = run(&self.definition.source).and_then(|blocks| self.build(&blocks));
        drop(loader);
        self.settle(started, built)
    }
}

/// Says which thread loads, also where that ends in a panic.
struct LoaderGuard<'a>(&'a Mutex<Option<ThreadId>>);

impl<'a> LoaderGuard<'a> {
    fn new(loader: &'a Mutex<Option<ThreadId>>) -> Self {
        *loader.lock() = Some(std::thread::current().id());
        Self(loader)
    }
}

impl Drop for LoaderGuard<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

impl KeyedRows for Dictionary {
    fn keys(&self) -> &[(Arc<str>, DataType)] {
        &self.keys
    }

    fn is_simple(&self) -> bool {
        self.definition.layout.is_simple()
    }

    fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    fn find(&self, keys: &[Column], rows: usize) -> Result<Found> {
        let loaded = self.loaded()?;
        let rows = loaded.index.find(&Keys::new(self.form(), keys, rows)?)?;
        let missing = rows.iter().filter(|row| **row == MISSING).count();
        self.lookups.fetch_add(rows.len() as u64, Ordering::Relaxed);
        self.finds.fetch_add((rows.len() - missing) as u64, Ordering::Relaxed);
        Ok(Found { attributes: loaded.attributes.clone(), rows })
    }
}

/// A dictionary as a table.
#[derive(Clone, Debug)]
pub struct DictionaryTable(pub(crate) Arc<Dictionary>);

impl TableMetadata for DictionaryTable {
    fn database(&self) -> &str {
        &self.0.name.database
    }
    fn name(&self) -> &str {
        &self.0.name.table
    }
    fn engine(&self) -> &str {
        "Dictionary"
    }
    fn columns(&self) -> &[ColumnDescription] {
        &self.0.definition.columns
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn loaded_by_query(&self) -> Option<Arc<dyn LoadedByQuery>> {
        Some(self.0.clone())
    }
}

impl Table for DictionaryTable {
    fn scan(&self, request: &ScanRequest) -> Result<Arc<dyn TableScan>> {
        let loaded = self.0.loaded()?;
        Ok(scan_blocks(vec![loaded.block.clone()], request, request.columns.clone()))
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.0.describe().bytes)
    }
}
