//! A join whose right side does not fit into memory: grace hash join. Both sides are put on disk, cut into buckets by their keys' hashes;
//! then each bucket is a join of its own, of those rows alone, on any worker. A bucket whose right side does not fit is cut again.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Poll, Waker};

use parking_lot::Mutex;
use squall_planner::Expression;
use squall_runtime::Pieces;
use squall_types::{Block, Result, Schema};

use super::build::{Filling, JoinSink, JoinTable};
use super::matching::Matching;
use super::probe::JoinProbe;
use super::unmatched::Unmatched;
use crate::operator::Operator;
use crate::pipeline::{Sequence, Sink};
use crate::spill::{Frame, SpillFile, SpillKind, SpillWriter, Threshold, decode_frame};
use crate::units::{Rows, Units};
use crate::works::Works;
use squall_types::gather::{Position, gather};

/// Buckets, unless more are asked for: one of the right side must fit into memory for each worker.
const BUCKETS: usize = 128;
/// A bucket that does not fit is cut into as many, as long as no more buckets come about than are allowed.
const CUTS: usize = 8;
/// Bytes of a block on disk, about.
const FRAME_BYTES: usize = 256 << 10;
/// Rows of a block on disk at most.
const FRAME_ROWS_MAX: usize = 8_192;
/// Bytes of the left side that are gathered before they are cut and written, at most.
const LEFT_BYTES: usize = 16 << 20;
/// Rows that are cut into buckets at once, about.
const WRITTEN_ROWS: usize = 262_144;
/// Bytes that are read at once, about.
const READ_BYTES: usize = 2 << 20;

/// A side of the join on disk.
struct Side {
    schema: Arc<Schema>,
    works: Arc<Works>,
    /// What was written, by the number of when it was begun: the frames of each bucket.
    written: Mutex<Vec<(usize, Vec<Vec<Frame>>)>>,
    begun: AtomicUsize,
    ended: AtomicUsize,
    /// Units that wait until all is written.
    waiting: Mutex<Vec<Waker>>,
}

impl Side {
    fn new(schema: Arc<Schema>, works: Arc<Works>) -> Self {
        Self {
            schema,
            works,
            written: Mutex::default(),
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            waiting: Mutex::default(),
        }
    }

    /// Waits until everything that was begun is written; nothing more may be begun.
    async fn all_written(&self) {
        poll_fn(|task| {
            let mut waiting = self.waiting.lock();
            if self.ended.load(Ordering::SeqCst) == self.begun.load(Ordering::SeqCst) {
                return Poll::Ready(());
            }
            waiting.push(task.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn note_written(&self, number: usize, frames: Vec<Vec<Frame>>) {
        self.written.lock().push((number, frames));
        let waiting = {
            let mut waiting = self.waiting.lock();
            self.ended.fetch_add(1, Ordering::SeqCst);
            std::mem::take(&mut *waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// The frames of a bucket, in the order in which their rows came to a worker.
    fn take(&self, bucket: usize) -> Vec<Frame> {
        let mut frames: Vec<(usize, Vec<Frame>)> = {
            let mut written = self.written.lock();
            written.iter_mut().map(|(number, buckets)| (*number, std::mem::take(&mut buckets[bucket]))).collect()
        };
        frames.sort_unstable_by_key(|(number, _)| *number);
        frames.into_iter().flat_map(|(_, frames)| frames).collect()
    }
}

/// Rows of both sides that are joined together.
struct Bucket {
    /// Its number among so many.
    number: usize,
    buckets: usize,
    right: Vec<Frame>,
    left: Vec<Frame>,
}

/// Which rows are written to which of several buckets.
#[derive(Clone, Copy)]
struct Cutting {
    /// Buckets that all rows together would be cut into.
    buckets: usize,
    /// As many of these the rows were cut into already.
    cut: usize,
}

/// Both sides of a join, on their way to the disk and from there.
pub(crate) struct Grace {
    matching: Arc<Matching>,
    threshold: Threshold,
    buckets: usize,
    /// Buckets that may come about where some are cut again.
    buckets_max: usize,
    is_on: AtomicBool,
    file: Mutex<Option<Arc<SpillFile>>>,
    left: Side,
    right: Side,
    /// Blocks of the left side that are not enough to be written.
    gathered: Mutex<(Vec<Block>, usize)>,
}

impl Grace {
    pub(crate) fn new(
        matching: Arc<Matching>,
        left: Arc<Schema>,
        right: Arc<Schema>,
        left_works: Arc<Works>,
        right_works: Arc<Works>,
    ) -> Self {
        let settings = &matching.context.settings;
        let by_algorithm = if matching.is_grace() { settings.max_bytes_in_join } else { 0 };
        let bytes =
            [settings.max_bytes_before_external_join, by_algorithm].into_iter().filter(|bytes| *bytes > 0).min();
        let ratio = settings.max_bytes_ratio_before_external_join;
        let threshold = Threshold::new(matching.context.clone(), bytes.unwrap_or(0), ratio);
        let wanted = usize::try_from(settings.grace_hash_join_initial_buckets).unwrap_or(usize::MAX).max(BUCKETS);
        let most = usize::try_from(settings.grace_hash_join_max_buckets).unwrap_or(usize::MAX).clamp(1, 1 << 14);
        let buckets = 1 << wanted.min(most).ilog2();
        Self {
            matching,
            threshold,
            buckets,
            buckets_max: most,
            is_on: AtomicBool::new(false),
            file: Mutex::default(),
            left: Side::new(left, left_works),
            right: Side::new(right, right_works),
            gathered: Mutex::default(),
        }
    }

    /// Whether the right side did not fit into memory. Does not change once all of its rows have come.
    pub(super) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::SeqCst)
    }

    /// Whether a worker that holds so many bytes of the right side should put them on disk.
    pub(super) fn is_passed(&self, own: usize) -> bool {
        own > 0 && self.threshold.is_passed(|| own)
    }

    /// Whether the rows that are held, put together, would take too much.
    pub(super) fn is_near(&self, own: usize) -> bool {
        self.threshold.is_near(own)
    }

    pub(super) fn is_right_full(&self) -> bool {
        self.threshold.is_full(&self.right.works)
    }

    pub(super) fn is_left_full(&self) -> bool {
        self.threshold.is_full(&self.left.works)
    }

    fn file(&self) -> Result<Arc<SpillFile>> {
        let mut file = self.file.lock();
        match &*file {
            Some(file) => Ok(file.clone()),
            None => Ok(file.insert(SpillFile::new(self.matching.context.clone(), SpillKind::Join)?).clone()),
        }
    }

    /// Has rows of the right side written.
    pub(super) fn put_right(self: &Arc<Self>, blocks: Vec<Block>) -> Result<()> {
        self.is_on.store(true, Ordering::SeqCst);
        self.put(blocks, |grace| (&grace.right, &grace.matching.right_keys))
    }

    /// No more rows of the right side will come.
    pub(super) fn end_right(&self) {
        self.right.works.end();
    }

    /// Takes a block of the left side.
    pub(super) fn put_left(self: &Arc<Self>, block: Block) -> Result<()> {
        let blocks = {
            let mut gathered = self.gathered.lock();
            gathered.1 += block.value_bytes();
            gathered.0.push(block);
            if gathered.1 < self.threshold.part(8, LEFT_BYTES) {
                return Ok(());
            }
            gathered.1 = 0;
            std::mem::take(&mut gathered.0)
        };
        self.put(blocks, |grace| (&grace.left, &grace.matching.left_keys))
    }

    fn put(self: &Arc<Self>, blocks: Vec<Block>, side: fn(&Self) -> (&Side, &Vec<Expression>)) -> Result<()> {
        if blocks.is_empty() {
            return Ok(());
        }
        let (file, this) = (self.file()?, self.clone());
        let number = side(self).0.begun.fetch_add(1, Ordering::SeqCst);
        side(self).0.works.add(Box::pin(async move {
            let (side, keys) = side(&this);
            let cutting = Cutting { buckets: this.buckets, cut: 1 };
            let frames = this.write(blocks, &side.schema, keys, file, cutting).await?;
            side.note_written(number, frames);
            Ok(())
        }));
        Ok(())
    }

    /// Writes blocks of a side: so many rows at a time, bucket by bucket. Gives the frames of each bucket.
    async fn write(
        &self,
        blocks: Vec<Block>,
        schema: &Arc<Schema>,
        keys: &[Expression],
        file: Arc<SpillFile>,
        cutting: Cutting,
    ) -> Result<Vec<Vec<Frame>>> {
        let Cutting { buckets, cut } = cutting;
        let mut pieces = Pieces::begin();
        let mut writer = SpillWriter::new(file)?;
        let mut frames_of: Vec<Vec<usize>> = vec![Vec::new(); buckets / cut];
        let mut left = blocks.into_iter().peekable();
        while left.peek().is_some() {
            let mut rows = 0;
            let mut now: Vec<Block> = Vec::new();
            // What is written is let go of before the next rows are.
            while let Some(block) = left.next_if(|block| rows == 0 || rows + block.rows() <= WRITTEN_ROWS) {
                rows += block.rows();
                now.push(block);
            }
            let mut positions: Vec<Vec<Position>> = vec![Vec::new(); buckets / cut];
            for (at, block) in now.iter().enumerate() {
                let keys = self.matching.keys(keys, block)?;
                for row in 0..block.rows() {
                    // The low bits of the number are those that the rows have in common.
                    positions[keys.bucket(row, buckets) / cut].push((at, row));
                }
                pieces.pause().await;
            }
            let now: Vec<&Block> = now.iter().collect();
            let bytes: usize = now.iter().map(|block| block.value_bytes()).sum();
            let frame_rows = (FRAME_BYTES / (bytes / rows.max(1) + 1)).clamp(1, FRAME_ROWS_MAX);
            for (frames, positions) in frames_of.iter_mut().zip(positions) {
                for positions in positions.chunks(frame_rows) {
                    let block = gather(schema, &now, positions, &mut pieces).await?;
                    frames.push(writer.put(&block).await?);
                    pieces.pause().await;
                }
            }
        }
        let frames = writer.finish().await?;
        Ok(frames_of.into_iter().map(|numbers| numbers.into_iter().map(|number| frames[number]).collect()).collect())
    }

    /// Joins the rows of one bucket.
    async fn join(&self, number: usize, rows: &Rows) -> Result<()> {
        self.left.all_written().await;
        let file = self.file()?;
        let (right, left) = (self.right.take(number), self.left.take(number));
        let mut buckets = vec![Bucket { number, buckets: self.buckets, right, left }];
        let mut pieces = Pieces::begin();
        while let Some(bucket) = buckets.pop() {
            match self.build(&bucket, &file, &mut pieces).await? {
                Some(table) => self.probe(bucket, table, &file, rows, &mut pieces).await?,
                None => buckets.extend(self.cut(bucket, &file).await?),
            }
        }
        Ok(())
    }

    /// The rows of a bucket's right side in memory; `None` where they do not fit and are better cut again.
    async fn build(
        &self,
        bucket: &Bucket,
        file: &Arc<SpillFile>,
        pieces: &mut Pieces,
    ) -> Result<Option<Arc<JoinTable>>> {
        let table = Arc::new(JoinTable::new(self.matching.clone(), None));
        let sink = JoinSink::new(table.clone());
        let mut local = sink.local()?;
        let (mut morsel, mut bytes) = (0, 0);
        let can_cut = bucket.buckets * CUTS <= self.buckets_max;
        for frames in reads(&bucket.right) {
            for buffer in file.read(frames)?.await? {
                let block = decode_frame(&buffer, &self.right.schema)?;
                bytes += block.value_bytes();
                if can_cut && self.is_passed(bytes) {
                    return Ok(None);
                }
                local.consume(Sequence { input: 0, morsel }, block)?;
                morsel += 1;
                pieces.pause().await;
            }
        }
        sink.finish(vec![local])?;
        let filling = Arc::new(Filling(table.clone()));
        for unit in 0..filling.units() {
            filling.clone().run(unit, Rows::default()).await?;
            pieces.pause().await;
        }
        Ok(Some(table))
    }

    /// Writes both sides of a bucket anew, as several.
    async fn cut(&self, bucket: Bucket, file: &Arc<SpillFile>) -> Result<Vec<Bucket>> {
        let Bucket { number, buckets, right, left } = bucket;
        let cutting = Cutting { buckets: buckets * CUTS, cut: buckets };
        let part = |part| Bucket {
            number: number + part * buckets,
            buckets: cutting.buckets,
            right: Vec::new(),
            left: Vec::new(),
        };
        let mut parts: Vec<Bucket> = (0..CUTS).map(part).collect();
        for is_right in [true, false] {
            let (side, frames, keys) = match is_right {
                true => (&self.right, &right, &self.matching.right_keys),
                false => (&self.left, &left, &self.matching.left_keys),
            };
            for frames in reads(frames) {
                let buffers = file.read(frames)?.await?;
                let blocks = buffers.iter().map(|buffer| decode_frame(buffer, &side.schema)).collect::<Result<_>>()?;
                drop(buffers);
                let written = self.write(blocks, &side.schema, keys, file.clone(), cutting).await?;
                for (part, frames) in parts.iter_mut().zip(written) {
                    if is_right { part.right.extend(frames) } else { part.left.extend(frames) }
                }
                Pieces::give_way().await;
            }
        }
        Ok(parts)
    }

    /// Joins the rows of a bucket's left side.
    async fn probe(
        &self,
        bucket: Bucket,
        table: Arc<JoinTable>,
        file: &Arc<SpillFile>,
        rows: &Rows,
        pieces: &mut Pieces,
    ) -> Result<()> {
        let matching = &self.matching;
        let probe = JoinProbe::new(matching.clone(), table.clone());
        for frames in reads(&bucket.left) {
            for buffer in file.read(frames)?.await? {
                let block = decode_frame(&buffer, &self.left.schema)?;
                let _ = probe.execute_each(block, &mut |block| {
                    rows.push(block);
                    Ok(std::ops::ControlFlow::Continue(()))
                })?;
                rows.room().await;
                pieces.pause().await;
            }
        }
        if matching.gives_unmatched_right() {
            let unmatched = Arc::new(Unmatched { matching: matching.clone(), table });
            for unit in 0..unmatched.units() {
                unmatched.clone().run(unit, rows.clone()).await?;
                rows.room().await;
                pieces.pause().await;
            }
        }
        Ok(())
    }
}

/// Frames in lists of so many as are read at once.
fn reads(frames: &[Frame]) -> Vec<&[Frame]> {
    let (mut reads, mut left) = (Vec::new(), frames);
    while !left.is_empty() {
        let mut bytes = 0;
        let now = left.iter().take_while(|frame| {
            bytes += frame.bytes();
            bytes <= READ_BYTES
        });
        let (now, later) = left.split_at(now.count().max(1));
        reads.push(now);
        left = later;
    }
    reads
}

/// Joins one bucket per unit, when all rows of the left side have come. Without anything on disk there are no units.
pub(crate) struct BucketJoining(pub(crate) Arc<Grace>);

impl Units for BucketJoining {
    fn units(&self) -> usize {
        let grace = &self.0;
        let gathered = std::mem::take(&mut grace.gathered.lock().0);
        // Where there is no file for them, each bucket tells why.
        let _ = grace.put(gathered, |grace| (&grace.left, &grace.matching.left_keys));
        grace.left.works.end();
        if !grace.is_on() {
            return 0;
        }
        if let Some(file) = &*grace.file.lock() {
            file.count_merge();
        }
        grace.buckets
    }

    fn units_at_once(&self) -> usize {
        self.0.matching.context.peak_threads().max(1) + 1
    }

    async fn run(self: Arc<Self>, unit: usize, rows: Rows) -> Result<()> {
        self.0.join(unit, &rows).await
    }
}
