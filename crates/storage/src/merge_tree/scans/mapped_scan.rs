//! A scan of parts some of which were written before the table's columns became what they are. Runs of parts of one schema are read one
//! after the other, each in its own columns; what comes of them is cast, or computed by the defaults of columns that they do not have.

use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};
use std::task::Waker;

use parking_lot::Mutex;
use squall_types::{Block, Error, Result, Schema};

use super::cold_scan::ColdScan;
use super::hot_scan::HotScan;
use super::prewhere_scan::PrewhereScan;
use super::pruning::{Segment, selection};
use crate::column_mapping::{ColumnMapping, Source};
use crate::merge_tree::MergeTree;
use crate::merge_tree::parts::part_schema::PartSchema;
use crate::merge_tree::subcolumns::{ComputedSubcolumns, HotSubcolumns};
use crate::table::{Claim, Morsel, ScanRequest, ScanSelection, TableScan};

/// Bits of a morsel's first row that count rows of a run; those above are the run.
const ROW_BITS: u32 = 44;

/// How the table's columns come from those of a run of parts.
pub(in crate::merge_tree) struct Mapping {
    schema: Arc<PartSchema>,
    pub(in crate::merge_tree) columns: ColumnMapping,
}

/// Parts of one schema that follow each other.
struct Run {
    mapping: Option<Mapping>,
    segments: Mutex<Vec<Segment>>,
    rows: u64,
    scan: OnceLock<Arc<dyn TableScan>>,
}

/// The scan of all runs.
pub(in crate::merge_tree) struct MappedScan {
    live: Arc<MergeTree>,
    request: ScanRequest,
    runs: Vec<Run>,
    selection: ScanSelection,
    /// The first run that may have rows left.
    at: Mutex<usize>,
}

/// Begins to read segments, in the order in which they are given. `columns` are the definition's.
pub(in crate::merge_tree) fn scan(
    live: &Arc<MergeTree>,
    segments: Vec<Segment>,
    columns: &[usize],
    request: &ScanRequest,
) -> Result<Arc<dyn TableScan>> {
    let is_mapped = !segments.iter().all(|segment| segment.part.schema.is_like(&live.schema));
    if let Some(wanted) = &request.subcolumns {
        let segments = match is_mapped {
            true => segments,
            false => {
                let stored = live.identity.stored_columns(columns)?;
                match HotSubcolumns::start(segments, &stored, request, wanted) {
                    Ok(scan) => return Ok(scan),
                    Err(segments) => segments,
                }
            }
        };
        let request = ScanRequest { subcolumns: None, ..request.clone() };
        let scan = scan(live, segments, columns, &request)?;
        return Ok(Arc::new(ComputedSubcolumns { scan, wanted: wanted.clone() }));
    }
    if !is_mapped {
        let stored = live.identity.stored_columns(columns)?;
        return Ok(plain_scan(live, segments, &stored, request, true));
    }
    let selection = selection(&segments);
    let mut runs: Vec<Run> = Vec::new();
    let mut last: Option<Arc<PartSchema>> = None;
    for segment in segments {
        let schema = segment.part.schema.clone();
        if !last.as_ref().is_some_and(|last| last.is_like(&schema)) {
            let mapping = match schema.is_like(&live.schema) {
                true => None,
                false => Some(Mapping::new(live, &schema, columns)?),
            };
            runs.push(Run { mapping, segments: Mutex::default(), rows: 0, scan: OnceLock::new() });
        }
        last = Some(schema);
        if let Some(run) = runs.last_mut() {
            run.rows += segment.rows as u64;
            run.segments.get_mut().push(segment);
        }
    }
    let request = ScanRequest { columns: columns.to_vec(), ..request.clone() };
    Ok(Arc::new(MappedScan { live: live.clone(), request, runs, selection, at: Mutex::new(0) }))
}

/// A scan of parts that have these stored columns; `is_as_asked` says that they are those that the request's condition is over.
fn plain_scan(
    live: &MergeTree,
    segments: Vec<Segment>,
    columns: &[usize],
    request: &ScanRequest,
    is_as_asked: bool,
) -> Arc<dyn TableScan> {
    let segments = match HotScan::new(&live.cache, segments, columns, request, is_as_asked) {
        Ok(scan) => return Arc::new(scan),
        Err(segments) => segments,
    };
    let segments = match is_as_asked {
        true => match PrewhereScan::start(&live.cache, segments, columns, request) {
            Ok(scan) => return scan,
            Err(segments) => segments,
        },
        false => segments,
    };
    ColdScan::start(&live.cache, segments, columns, request)
}

impl Mapping {
    pub(in crate::merge_tree) fn new(
        live: &Arc<MergeTree>,
        schema: &Arc<PartSchema>,
        wanted: &[usize],
    ) -> Result<Self> {
        let identity = &live.identity;
        let source = |stored: &Option<usize>| {
            let fields = stored.and_then(|at| Some((identity.fields.ids.get(at)?, identity.stored.fields.get(at)?)));
            fields.map_or(Source::Missing, |(ids, (_, data_type))| schema.source(ids, data_type))
        };
        let sources = identity.stored_positions.iter().map(source).collect();
        Ok(Self { schema: schema.clone(), columns: ColumnMapping::new(live.defaults.clone(), sources, wanted)? })
    }
}

impl Run {
    fn scan(&self, all: &MappedScan) -> &Arc<dyn TableScan> {
        self.scan.get_or_init(|| {
            let segments = std::mem::take(&mut *self.segments.lock());
            let request = &all.request;
            match &self.mapping {
                Some(mapping) => {
                    let fields = mapping.columns.read.iter().filter_map(|at| mapping.schema.stored.fields.get(*at));
                    let number = request.schema.fields.last().filter(|_| request.row_numbers.are_wanted());
                    let schema = Arc::new(Schema::new(fields.chain(number).cloned()));
                    let request = ScanRequest { schema, ..request.clone() };
                    plain_scan(&all.live, segments, &mapping.columns.read, &request, false)
                }
                None => {
                    // They are stored: the request was looked at before.
                    let stored = all.live.identity.stored_columns(&request.columns).unwrap_or_default();
                    plain_scan(&all.live, segments, &stored, request, true)
                }
            }
        })
    }
}

impl MappedScan {
    /// What was read of a run as the columns that are wanted.
    fn mapped(&self, mapping: &Mapping, block: Block) -> Result<Block> {
        let wanted = &self.request.schema;
        if !self.request.row_numbers.are_wanted() {
            return mapping.columns.map(&block, wanted);
        }
        let (rows, mut columns) = (block.rows(), block.columns().to_vec());
        let numbers = columns.pop();
        let without_last = |schema: &Schema| {
            let mut fields = schema.fields.clone();
            fields.pop();
            Arc::new(Schema { fields })
        };
        let block = Block::new(without_last(block.schema()), columns, rows);
        let mut columns = mapping.columns.map(&block, &without_last(wanted))?.columns().to_vec();
        columns.extend(numbers);
        Ok(Block::new(wanted.clone(), columns, rows))
    }
}

impl TableScan for MappedScan {
    fn rows_total(&self) -> Option<u64> {
        Some(self.request.limited(self.runs.iter().map(|run| run.rows).sum()))
    }

    fn selection(&self) -> ScanSelection {
        self.selection
    }

    fn take_left_out(&self) -> u64 {
        self.runs.iter().filter_map(|run| run.scan.get()).map(|scan| scan.take_left_out()).sum()
    }

    fn claim(&self, rows: u64, waker: &Waker) -> Claim {
        let mut at = self.at.lock();
        while let Some(run) = self.runs.get(*at) {
            match run.scan(self).claim(rows, waker) {
                Claim::Morsel(morsel) => {
                    return Claim::Morsel(Morsel { first: (*at as u64) << ROW_BITS | morsel.first, ..morsel });
                }
                Claim::Pending => return Claim::Pending,
                Claim::Finished => *at += 1,
            }
        }
        Claim::Finished
    }

    fn read(&self, morsel: Morsel, consume: &mut dyn FnMut(Block) -> Result<ControlFlow<()>>) -> Result<()> {
        let run = self.runs.get((morsel.first >> ROW_BITS) as usize);
        let run = run.ok_or_else(|| Error::logical("a morsel of no run of parts"))?;
        let morsel = Morsel { first: morsel.first & ((1 << ROW_BITS) - 1), ..morsel };
        match &run.mapping {
            None => run.scan(self).read(morsel, consume),
            Some(mapping) => run.scan(self).read(morsel, &mut |block| consume(self.mapped(mapping, block)?)),
        }
    }
}
