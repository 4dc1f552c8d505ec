//! A dictionary: rows of a source, by key. One that holds them all is loaded by whoever uses it first ([`Dictionary`] says that it wants to
//! be loaded), and again when its lifetime is over; what is looked up is what was loaded last. One that does not asks its source.

mod cache;
mod loaded;
mod networks;
mod on_demand;
mod ranges;
mod selection;
mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use squall_functions::{Attribute, Found, KeyedRows};
use squall_planner::{
    DictionaryDefinition, DictionaryLayout, DictionarySource, LoadedByQuery, OutsidePlace, OutsideSource, SourceReader,
};
use squall_types::calendar::TimeZone;
use squall_types::{
    Block, CastMode, CastOptions, Column, ColumnBuilder, DataType, Error, ErrorCode, Result, Schema, Value,
};
use uuid::Uuid;

use crate::identity::TableName;
use crate::key_index::{KeyForm, Keys};
use cache::Cache;
use loaded::Loaded;
pub use on_demand::OnDemandReader;
pub(crate) use on_demand::OnDemandSlot;
pub use table::DictionaryTable;
pub(crate) use table::DictionaryView;

/// A dictionary through its whole life.
#[derive(Debug)]
pub struct Dictionary {
    name: TableName,
    uuid: Uuid,
    definition: DictionaryDefinition,
    schema: Arc<Schema>,
    keys: Vec<(Arc<str>, DataType)>,
    attributes: Vec<Attribute>,
    /// The type of the bounds of ranges.
    range: Option<DataType>,
    loaded: ArcSwapOption<Loaded>,
    /// What a cache holds in place of all rows.
    cache: Option<Mutex<Cache>>,
    on_demand: OnDemandReaderSlot,
    status: Mutex<Status>,
    /// Held while it is being loaded.
    loading: Mutex<()>,
    /// The thread that loads it: a dictionary whose source is itself must not wait for itself.
    loader: Mutex<Option<ThreadId>>,
    /// The source's state at the last load, where it can be told.
    version: Mutex<Option<SourceVersion>>,
    is_used: AtomicBool,
    lookups: AtomicU64,
    finds: AtomicU64,
    hits: AtomicU64,
}

/// Where the server's reader of sources will be.
#[derive(Clone)]
struct OnDemandReaderSlot(OnDemandSlot);

impl std::fmt::Debug for OnDemandReaderSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnDemandReaderSlot").finish_non_exhaustive()
    }
}

impl std::ops::Deref for OnDemandReaderSlot {
    type Target = OnDemandSlot;
    fn deref(&self) -> &OnDemandSlot {
        &self.0
    }
}

/// A column as one of another type, with a value of that type in the place of NULL.
fn without_nulls(column: &Column, to: &DataType, default: &Value, options: &CastOptions) -> Result<Column> {
    let column = squall_types::cast(column, &to.to_nullable(), options)?;
    let mut builder = ColumnBuilder::new(to.clone());
    for row in 0..column.rows() {
        match column.value(row) {
            Value::Null => builder.append(default)?,
            value => builder.append(&value)?,
        }
    }
    builder.finish()
}

/// What changes when a source does.
#[derive(Clone, PartialEq, Debug)]
enum SourceVersion {
    /// Of a file, or of another server's answer.
    Number(u64),
    /// The answer of `INVALIDATE_QUERY`.
    Answer(Vec<Vec<Value>>),
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
    /// When the last one that succeeded was begun.
    succeeded_from: Option<SystemTime>,
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
    /// Whether there are rows to be found, or somebody has looked for them.
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
    /// Keys among them that were not asked of the source.
    pub hits: u64,
}

impl Dictionary {
    pub(crate) fn new(
        name: TableName,
        uuid: Uuid,
        definition: DictionaryDefinition,
        on_demand: OnDemandSlot,
    ) -> Result<Arc<Self>> {
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
        let fields = definition.columns.iter().map(|column| (column.name.clone(), column.data_type.clone()));
        let cells = definition.parameters.cells_max;
        let cache = definition.layout.is_cache().then(|| Mutex::new(Cache::new(cells, definition.lifetime_seconds)));
        Ok(Arc::new(Self {
            name,
            uuid,
            schema: Arc::new(Schema { fields: fields.collect() }),
            keys,
            attributes,
            range: definition.range.map(|(first, _)| definition.columns[first].data_type.remove_nullable()),
            definition,
            loaded: ArcSwapOption::empty(),
            cache,
            on_demand: OnDemandReaderSlot(on_demand),
            status: Mutex::default(),
            loading: Mutex::default(),
            loader: Mutex::default(),
            version: Mutex::default(),
            is_used: AtomicBool::new(false),
            lookups: AtomicU64::new(0),
            finds: AtomicU64::new(0),
            hits: AtomicU64::new(0),
        }))
    }

    /// What it was defined as.
    pub fn definition(&self) -> &DictionaryDefinition {
        &self.definition
    }

    /// The name that `dictGet` knows it by.
    pub fn shown_name(&self) -> String {
        // One of a configuration file is in no database.
        if self.name.database.is_empty() { self.name.table.to_string() } else { self.name.to_string() }
    }

    /// What there is to say of it now.
    pub fn describe(&self) -> DictionaryDescription {
        let loaded = self.loaded.load();
        let cache = self.cache.as_ref().map(|cache| cache.lock());
        let (rows, bytes) = match (&*loaded, &cache) {
            (Some(loaded), _) => (loaded.elements as u64, loaded.bytes),
            (None, Some(cache)) => (cache.len() as u64, cache.memory_bytes() as u64),
            (None, None) => (0, 0),
        };
        DictionaryDescription {
            name: self.name.clone(),
            uuid: self.uuid,
            definition: self.definition.clone(),
            status: self.status.lock().clone(),
            is_loaded: loaded.is_some() || self.is_used.load(Ordering::Relaxed),
            is_loading: self.loader.lock().is_some(),
            rows,
            bytes,
            lookups: self.lookups.load(Ordering::Relaxed),
            finds: self.finds.load(Ordering::Relaxed),
            hits: self.hits.load(Ordering::Relaxed),
        }
    }

    /// Whether its lifetime is over.
    pub fn is_due(&self, now: Instant) -> bool {
        self.loaded.load().is_some() && self.status.lock().reload_at.is_some_and(|at| at <= now)
    }

    /// Loads the rows again where their source has changed since, or nobody can tell; a cache forgets its own.
    ///
    /// # Errors
    /// As [`load`](LoadedByQuery::load).
    pub fn refresh(&self, source: &mut dyn SourceReader) -> Result<()> {
        let version = self.version_of(source);
        let is_same = matches!((&version, &*self.version.lock()), (Ok(Some(now)), Some(before)) if now == before);
        if is_same {
            self.status.lock().reload_at = self.next_reload();
            return Ok(());
        }
        self.load(true, source)
    }

    /// Forgets what a cache holds.
    pub fn forget(&self) {
        if let Some(cache) = &self.cache {
            cache.lock().clear();
        }
    }

    /// What changes when the source does; `None` where nothing tells.
    fn version_of(&self, source: &mut dyn SourceReader) -> Result<Option<SourceVersion>> {
        match &self.definition.source {
            DictionarySource::Outside(outside) => match outside.place {
                OutsidePlace::File(_) | OutsidePlace::Foreign(_) => {
                    Ok(source.version(outside).map(SourceVersion::Number))
                }
                _ => Ok(None),
            },
            DictionarySource::Query(query) => {
                let Some(invalidate) = &query.invalidate_query else { return Ok(None) };
                let blocks = source.query(invalidate, query.server.as_ref())?;
                let rows = blocks.iter().flat_map(|block| (0..block.rows()).map(move |row| (block, row)));
                let row =
                    |(block, row): (&Block, usize)| block.columns().iter().map(|column| column.value(row)).collect();
                Ok(Some(SourceVersion::Answer(rows.map(row).collect())))
            }
            DictionarySource::Null => Ok(None),
        }
    }

    /// All rows that the source has, as declared.
    fn read_all(&self, source: &mut dyn SourceReader) -> Result<Block> {
        match &self.definition.source {
            DictionarySource::Null => self.as_declared(&[]),
            DictionarySource::Query(query) => self.as_declared(&source.query(&query.query, query.server.as_ref())?),
            DictionarySource::Outside(outside) => {
                let schema = Arc::new(self.source_schema());
                self.as_declared(&source.outside(outside, &schema, None)?)
            }
        }
    }

    /// The rows to be held: all that the source has, or those of before with those that changed since.
    fn read_current(&self, source: &mut dyn SourceReader) -> Result<Block> {
        let since = self.status.lock().succeeded_from;
        if let DictionarySource::Query(query) = &self.definition.source
            && let (Some(update), Some(since), Some(loaded)) = (&query.update, since, &*self.loaded.load())
        {
            let since_s = since.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            let changed = source.query(&*update.query_since(since_s)?, query.server.as_ref())?;
            // Of several rows of a key the last one counts.
            let all: Vec<Block> = std::iter::once((*loaded.block).clone()).chain(changed).collect();
            return self.as_declared(&all);
        }
        self.read_all(source)
    }

    /// The columns as declared, but that bounds of ranges may be NULL.
    fn source_schema(&self) -> Schema {
        let mut fields = self.schema.fields.clone();
        for at in self.definition.range.into_iter().flat_map(|(first, last)| [first, last]) {
            fields[at].1 = fields[at].1.to_nullable();
        }
        Schema { fields }
    }

    /// Blocks of a source with the columns as declared, but that bounds of ranges may be NULL.
    fn as_declared(&self, blocks: &[Block]) -> Result<Block> {
        let options = CastOptions::new(CastMode::Plain, TimeZone::utc());
        let schema = Arc::new(self.source_schema());
        let mut cast_blocks = Vec::with_capacity(blocks.len());
        for block in blocks {
            if block.columns().len() != schema.len() {
                return Err(Error::new(
                    ErrorCode::SIZES_OF_COLUMNS_DOESNT_MATCH,
                    format!(
                        "The source of dictionary {} gives {} columns, the dictionary has {}",
                        self.shown_name(),
                        block.columns().len(),
                        schema.len()
                    ),
                ));
            }
            let columns = block.columns().iter().zip(schema.types()).enumerate();
            let columns = columns.map(|(at, (column, to))| {
                let column = column.materialize()?;
                match self.default_of_null(at, &column, to) {
                    Some(default) => without_nulls(&column, to, default, &options),
                    None => squall_types::cast(&column, to, &options),
                }
            });
            cast_blocks.push(Block::new(schema.clone(), columns.collect::<Result<Vec<_>>>()?, block.rows()));
        }
        Block::concat(schema, &cast_blocks)
    }

    /// What stands for NULL in a column of another server, where the dictionary has none.
    fn default_of_null(&self, at: usize, column: &Column, to: &DataType) -> Option<&Value> {
        let is_foreign = matches!(
            &self.definition.source,
            DictionarySource::Outside(OutsideSource { place: OutsidePlace::Foreign(_), .. })
        );
        if !is_foreign || to.is_nullable() || !column.data_type().is_nullable() {
            return None;
        }
        self.definition.attributes.iter().find(|attribute| attribute.column == at).map(|attribute| &attribute.default)
    }

    fn build(&self, source: &mut dyn SourceReader) -> Result<Loaded> {
        let block = self.read_current(source)?;
        Loaded::new(&self.name, &self.definition, block, &|block| self.keys_of(block))
    }

    fn next_reload(&self) -> Option<Instant> {
        let (least, most) = self.definition.lifetime_seconds;
        // Spread, so that dictionaries that were loaded together are not loaded together for ever.
        let after = (most > 0).then(|| least + self.uuid.as_u128() as u64 % (most - least + 1))?;
        Instant::now().checked_add(Duration::from_secs(after.max(1)))
    }

    /// Takes over what was loaded, or notes why nothing was.
    fn settle(&self, started: SystemTime, built: Result<Loaded>) -> Result<()> {
        let now = SystemTime::now();
        let mut status = self.status.lock();
        status.started = Some(started);
        status.duration = now.duration_since(started).unwrap_or_default();
        status.reload_at = self.next_reload();
        match built {
            Ok(loaded) => {
                status.succeeded = Some(now);
                status.succeeded_from = Some(started);
                (status.error, status.errors) = (None, 0);
                self.loaded.store(Some(Arc::new(loaded)));
                Ok(())
            }
            Err(error) => {
                status.fail(error.clone());
                Err(error)
            }
        }
    }

    /// Notes how it went to ask the source for single keys.
    fn note_fetch(&self, started: SystemTime, result: &Result<()>) {
        let now = SystemTime::now();
        let mut status = self.status.lock();
        status.started = Some(started);
        status.duration = now.duration_since(started).unwrap_or_default();
        match result {
            Ok(()) => {
                status.succeeded = Some(now);
                (status.error, status.errors) = (None, 0);
            }
            Err(error) => status.fail(error.clone()),
        }
    }

    fn count(&self, lookups: u64, finds: u64, hits: u64) {
        self.is_used.store(true, Ordering::Relaxed);
        self.lookups.fetch_add(lookups, Ordering::Relaxed);
        self.finds.fetch_add(finds, Ordering::Relaxed);
        self.hits.fetch_add(hits, Ordering::Relaxed);
    }

    /// The key's columns in the types in which they are looked up, and the keys.
    fn keys_of(&self, block: &Block) -> Result<(Vec<Column>, Keys)> {
        let options = CastOptions::new(CastMode::Plain, TimeZone::utc());
        let columns =
            self.definition.keys.iter().zip(&self.keys).map(|(key, (_, to))| {
                squall_types::cast(&block.column(*key).materialize()?, to, &options)?.materialize()
            });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let keys = Keys::new(self.form(), &columns, block.rows())?;
        Ok((columns, keys))
    }

    fn form(&self) -> KeyForm {
        KeyForm::of(self.keys.iter().map(|(_, data_type)| data_type))
    }

    fn loaded(&self) -> Result<Arc<Loaded>> {
        self.loaded.load_full().ok_or_else(|| {
            let error = self.status.lock().error.clone();
            error.unwrap_or_else(|| {
                let message = format!("Dictionary {} is not loaded", self.shown_name());
                Error::new(ErrorCode::DICTIONARIES_WAS_NOT_LOADED, message)
            })
        })
    }
}

impl LoadedByQuery for Dictionary {
    fn needs_load(&self) -> bool {
        self.loaded.load().is_none() && !self.definition.layout.is_on_demand()
    }

    fn load(&self, anew: bool, source: &mut dyn SourceReader) -> Result<()> {
        if self.definition.layout.is_on_demand() {
            self.forget();
            return Ok(());
        }
        let this_thread = std::thread::current().id();
        if *self.loader.lock() == Some(this_thread) {
            return Err(Error::new(
                ErrorCode::INFINITE_LOOP,
                format!("Dictionary {} is needed to load itself", self.shown_name()),
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
        // Asked before the rows are read: what changes meanwhile is a change.
        let version = self.version_of(source);
        let built = version.and_then(|version| Ok((version, self.build(source)?)));
        drop(loader);
        let built = built.map(|(version, loaded)| {
            *self.version.lock() = version;
            loaded
        });
        self.settle(started, built)
    }
}

impl Status {
    fn fail(&mut self, error: Error) {
        self.errors += 1;
        self.error = Some(error);
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

    fn range(&self) -> Option<&DataType> {
        self.range.as_ref()
    }

    fn is_of_networks(&self) -> bool {
        self.definition.layout == DictionaryLayout::IpTrie
    }

    fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    fn all(&self) -> Result<(Vec<Column>, Arc<[Column]>)> {
        if self.definition.layout.is_on_demand() {
            return Err(Error::new(ErrorCode::UNSUPPORTED_METHOD, "Dictionary does not support hierarchy"));
        }
        let loaded = self.loaded()?;
        Ok((loaded.keys.clone(), loaded.attributes.clone()))
    }

    fn find(&self, columns: &[Column], rows: usize) -> Result<Found> {
        if self.definition.layout.is_on_demand() {
            return self.find_on_demand(columns, rows);
        }
        let loaded = self.loaded()?;
        let key_columns = columns.get(..self.keys.len()).unwrap_or(columns);
        let rows = loaded.find(columns, || Keys::new(self.form(), key_columns, rows))?;
        self.count(rows.len() as u64, loaded::found(&rows), rows.len() as u64);
        Ok(Found { attributes: loaded.attributes.clone(), rows })
    }
}
