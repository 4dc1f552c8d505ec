//! Lookups in dictionaries that hold nothing, or only what was asked for: the source is asked for the keys of a block that are not known,
//! many at a time, on the thread that looks up.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use arrow_array::{Array, UInt32Array};
use squall_functions::{Found, MISSING};
use squall_planner::{DictionarySource, OutsidePlace, SourceReader};
use squall_runtime::profile_events::count;
use squall_runtime::{CurrentMetric, ProfileEvent};
use squall_types::{Block, Column, Error, ErrorCode, Result, Schema};

use super::Dictionary;
use super::cache::Answer;
use super::selection::selection;
use crate::key_index::{Keys, SmallKey};

/// Keys that a source is asked for at once.
const KEYS_MAX: usize = 4096;
/// Dictionaries that may ask one another.
const DEPTH_MAX: usize = 8;

/// Whoever can read sources outside of a query's planning.
pub trait OnDemandReader: Send + Sync {
    /// Lets `work` read sources on this thread.
    ///
    /// # Errors
    /// Those of `work`, and where nothing can be read.
    fn read(&self, work: &mut dyn FnMut(&mut dyn SourceReader) -> Result<()>) -> Result<()>;
}

/// The reader of a server, once it is there.
pub(crate) type OnDemandSlot = Arc<OnceLock<Box<dyn OnDemandReader>>>;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// One lookup within others on this thread.
struct Nested;

impl Nested {
    fn enter() -> Result<Self> {
        if DEPTH.get() >= DEPTH_MAX {
            return Err(Error::new(
                ErrorCode::INFINITE_LOOP,
                "Dictionaries are needed to look something up in themselves",
            ));
        }
        DEPTH.set(DEPTH.get() + 1);
        Ok(Self)
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

impl Dictionary {
    /// The rows of keys as the source has them now, or had them within the lifetime.
    pub(super) fn find_on_demand(&self, columns: &[Column], rows: usize) -> Result<Found> {
        let keys = Keys::new(self.form(), columns, rows)?;
        let bytes: Vec<SmallKey> = (0..rows).map(|row| keys.bytes(row)).collect();
        let mut answers: Vec<Option<Answer>> = vec![None; rows];
        let now = Instant::now();
        let mut hits = 0;
        if let Some(cache) = &self.cache {
            let cache = cache.lock();
            for (answer, key) in answers.iter_mut().zip(&bytes) {
                *answer = cache.get(key, now).cloned();
                hits += u64::from(answer.is_some());
            }
            count(ProfileEvent::DictCacheKeysHit, hits);
            count(ProfileEvent::DictCacheKeysNotFound, rows as u64 - hits);
        }
        let mut wanted: HashMap<&SmallKey, u32> = HashMap::new();
        for row in 0..rows {
            if answers[row].is_none() && keys.has_key(row) {
                wanted.entry(&bytes[row]).or_insert(row as u32);
            }
        }
        if !wanted.is_empty() {
            let mut asked: Vec<u32> = wanted.values().copied().collect();
            asked.sort_unstable();
            let fetched = self.fetch(columns, &asked)?;
            if let Some(cache) = &self.cache {
                let mut cache = cache.lock();
                let now = Instant::now();
                for row in &asked {
                    let key = &bytes[*row as usize];
                    cache.put(key.clone(), fetched.get(key).cloned(), now);
                }
            }
            for (answer, key) in answers.iter_mut().zip(&bytes).filter(|(answer, _)| answer.is_none()) {
                *answer = Some(fetched.get(key).cloned());
            }
        }
        let found = self.gather(answers)?;
        self.count(rows as u64, super::loaded::found(&found.rows), hits);
        Ok(found)
    }

    /// What the source says of the keys of some rows.
    fn fetch(&self, columns: &[Column], rows: &[u32]) -> Result<HashMap<SmallKey, (Arc<Block>, u32)>> {
        let _nested = Nested::enter()?;
        let reader = self.on_demand.get();
        let reader = reader.ok_or_else(|| Error::not_implemented("Asking a dictionary's source here"))?;
        let mut fetched = HashMap::new();
        let begun = std::time::SystemTime::now();
        let result = reader.read(&mut |source| {
            for rows in rows.chunks(KEYS_MAX) {
                let _asking = CurrentMetric::DictCacheRequests.hold(1);
                let began = Instant::now();
                let positions = UInt32Array::from(rows.to_vec());
                let keys = columns.iter().map(|column| column.take(&positions)).collect::<Result<Vec<_>>>()?;
                let block = Arc::new(self.ask(source, keys)?);
                let (_, found) = self.keys_of(&block)?;
                count(ProfileEvent::DictCacheRequests, 1);
                count(ProfileEvent::DictCacheRequestTimeNs, began.elapsed().as_nanos() as u64);
                for row in 0..block.rows() {
                    fetched.insert(found.bytes(row), (block.clone(), row as u32));
                }
            }
            Ok(())
        });
        self.note_fetch(begun, &result);
        count(ProfileEvent::DictCacheKeysRequested, rows.len() as u64);
        count(ProfileEvent::DictCacheKeysRequestedFound, fetched.len() as u64);
        count(ProfileEvent::DictCacheKeysRequestedMiss, rows.len().saturating_sub(fetched.len()) as u64);
        result.map(|()| fetched)
    }

    /// The rows of some keys, as declared.
    fn ask(&self, source: &mut dyn SourceReader, keys: Vec<Column>) -> Result<Block> {
        let definition = &self.definition;
        let rows = keys.first().map_or(0, Column::rows);
        match &definition.source {
            DictionarySource::Null => self.as_declared(&[]),
            DictionarySource::Query(query) => {
                let selection = selection(query, definition, &keys)?;
                self.as_declared(&source.query(&selection, query.server.as_ref())?)
            }
            DictionarySource::Outside(outside) => {
                let names = self.keys.iter().map(|(name, data_type)| (name.clone(), data_type.clone()));
                let key_block = Block::new(Arc::new(Schema { fields: names.collect() }), keys, rows);
                let has_implicit_key = matches!(outside.place, OutsidePlace::Command { has_implicit_key: true, .. });
                if !has_implicit_key {
                    return self.as_declared(&source.outside(outside, &self.schema, Some(&key_block))?);
                }
                let fields = self.schema.fields.iter().enumerate();
                let fields = fields.filter(|(at, _)| !definition.keys.contains(at)).map(|(_, field)| field.clone());
                let schema = Arc::new(Schema { fields: fields.collect() });
                let blocks = source.outside(outside, &schema, Some(&key_block))?;
                let values = Block::concat(schema, &blocks)?;
                if values.rows() != rows {
                    return Err(Error::new(
                        ErrorCode::SIZES_OF_COLUMNS_DOESNT_MATCH,
                        format!("The source of dictionary {} gave {} rows for {rows} keys", self.name, values.rows()),
                    ));
                }
                let (mut keys, mut values) = (key_block.into_columns().into_iter(), values.into_columns().into_iter());
                let column = |at: usize| if definition.keys.contains(&at) { keys.next() } else { values.next() };
                let columns: Vec<Column> = (0..self.schema.len()).filter_map(column).collect();
                self.as_declared(&[Block::from_columns(self.schema.names().zip(columns))?])
            }
        }
    }

    /// The attributes of answers that are from several blocks.
    fn gather(&self, answers: Vec<Option<Answer>>) -> Result<Found> {
        let mut blocks: Vec<Arc<Block>> = Vec::new();
        let mut numbers: HashMap<*const Block, usize> = HashMap::new();
        let mut places: Vec<(usize, usize)> = Vec::new();
        let mut rows = Vec::with_capacity(answers.len());
        for answer in answers {
            let Some((block, row)) = answer.flatten() else {
                rows.push(MISSING);
                continue;
            };
            let number = *numbers.entry(Arc::as_ptr(&block)).or_insert_with(|| {
                blocks.push(block);
                blocks.len() - 1
            });
            rows.push(places.len() as u32);
            places.push((number, row as usize));
        }
        let gathered = |column: usize, data_type| {
            if blocks.is_empty() {
                return Ok(Column::empty(data_type));
            }
            let arrays: Vec<&dyn Array> = blocks.iter().map(|block| &**block.column(column).array()).collect();
            Ok(Column::new(data_type, arrow_select::interleave::interleave(&arrays, &places)?))
        };
        let attributes = self.definition.attributes.iter().zip(&self.attributes);
        let attributes = attributes.map(|(defined, attribute)| gathered(defined.column, attribute.data_type.clone()));
        Ok(Found { attributes: attributes.collect::<Result<Vec<_>>>()?.into(), rows })
    }
}
