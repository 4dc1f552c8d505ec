//! What is computed of the values of large dictionaries while a query runs: once for all rows that have a value, whichever blocks they are in.
//! A dictionary of many values is computed page by page, so that blocks pay for what they have and no step takes long.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use arrow_array::{Array, ArrayRef, UInt32Array, make_array};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_data::ArrayData;
use arrow_schema::DataType as ArrowType;
use parking_lot::Mutex;
use squall_runtime::cpu::logical_cpus;

use crate::checkpoint::supervisor;
use crate::coded::Coded;
use crate::error::Result;
use crate::kernels;

/// Values of a page, as a power of two. In debug builds they are few, so that tests meet several pages.
const PAGE_BITS: u32 = if cfg!(debug_assertions) { 5 } else { 12 };
const PAGE_VALUES: usize = 1 << PAGE_BITS;

/// So many values may be computed for each row that has come: where rows are fewer, they are computed themselves.
const VALUES_PER_ROW_MAX: usize = 2;

/// Bytes of results that are kept for each processor: those of some functions over the dictionaries that workers are at.
const KEPT_BYTES_PER_CPU: usize = 16 << 20;

/// And so many results, however small: each is looked at when one is sought.
const KEPT_PER_CPU: usize = 32;

/// Somebody who computes always the same of the same values. Cheap to copy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Maker(u64);

impl fmt::Debug for Maker {
    /// Without its number: plans that say the same are compared by what they show.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Maker")
    }
}

impl Maker {
    /// One that is like no other.
    #[expect(clippy::new_without_default, reason = "each is another")]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The results of a query, those of the dictionaries that it came to last.
#[derive(Debug, Default)]
pub struct DictionaryResults(Mutex<VecDeque<Kept>>);

/// What somebody computes of a dictionary's values with the same constants beside.
#[derive(Debug)]
struct Kept {
    maker: Maker,
    constants: Vec<ArrayRef>,
    /// Not held, so that the dictionary goes when nobody has rows of it; but no other one gets to its place in memory.
    values: Weak<dyn Array>,
    results: Arc<Results>,
}

/// The results of a dictionary's values, as far as they are computed.
#[derive(Debug)]
struct Results {
    /// Rows that have come.
    rows: AtomicUsize,
    /// How often pages were missing.
    turns: AtomicUsize,
    /// Whether what is computed is nothing to keep.
    is_given_up: AtomicBool,
    bytes: AtomicUsize,
    /// Which pages of the numbers are there.
    has_numbers: Box<[AtomicBool]>,
    numbers: OnceLock<Numbers>,
    strings: Box<[OnceLock<ArrayRef>]>,
}

impl Results {
    fn new(values: usize) -> Self {
        let pages = values.div_ceil(PAGE_VALUES);
        Self {
            rows: AtomicUsize::new(0),
            turns: AtomicUsize::new(0),
            is_given_up: AtomicBool::new(false),
            bytes: AtomicUsize::new(0),
            has_numbers: std::iter::repeat_with(AtomicBool::default).take(pages).collect(),
            numbers: OnceLock::new(),
            strings: std::iter::repeat_with(OnceLock::new).take(pages).collect(),
        }
    }

    fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Relaxed);
    }

    /// What was computed. Where that failed, rows show whether they fail.
    fn made(&self, made: Result<ArrayRef>) -> Option<ArrayRef> {
        if made.is_err() {
            self.give_up();
        }
        made.ok()
    }

    /// The pages that these rows need and `is_there` does not have, unless they are too many for the rows that have come, or in vain. Callers
    /// begin at different ones, so that workers that need the same share them.
    fn missing(&self, codes: &[u32], is_there: impl Fn(usize) -> bool) -> Option<Vec<usize>> {
        if self.is_given_up.load(Ordering::Relaxed) {
            return None;
        }
        let all_rows = self.rows.fetch_add(codes.len(), Ordering::Relaxed) + codes.len();
        // Codes are in the order of appearance: rows have those of the rows before, and some new ones.
        let last = codes.iter().copied().max()? >> PAGE_BITS;
        let mut missing: Vec<usize> = (0..=last as usize).filter(|page| !is_there(*page)).collect();
        if missing.len() * PAGE_VALUES > VALUES_PER_ROW_MAX * all_rows {
            return None;
        }
        if !missing.is_empty() {
            // Multiples of the golden ratio are far from each other.
            let turn = self.turns.fetch_add(1, Ordering::Relaxed) as f64;
            let first = (turn * 0.618_033_988_749_895).fract() * missing.len() as f64;
            missing.rotate_left(first as usize);
        }
        Some(missing)
    }
}

impl DictionaryResults {
    /// The results of a dictionary, which are computed or not yet.
    fn of(&self, maker: Maker, constants: &[ArrayRef], values: &ArrayRef) -> Arc<Results> {
        let mut all = self.0.lock();
        let is_it = |kept: &Kept| {
            kept.maker == maker
                && std::ptr::addr_eq(kept.values.as_ptr(), Arc::as_ptr(values))
                && are_same(&kept.constants, constants)
        };
        if let Some(kept) = all.iter().rev().find(|kept| is_it(kept)) {
            return kept.results.clone();
        }
        all.retain(|kept| kept.values.strong_count() > 0);
        let bytes =
            |all: &VecDeque<Kept>| -> usize { all.iter().map(|kept| kept.results.bytes.load(Ordering::Relaxed)).sum() };
        while all.len() >= KEPT_PER_CPU * logical_cpus() || bytes(&all) > KEPT_BYTES_PER_CPU * logical_cpus() {
            all.pop_front();
        }
        let results = Arc::new(Results::new(values.len()));
        let (constants, values) = (constants.to_vec(), Arc::downgrade(values));
        all.push_back(Kept { maker, constants, values, results: results.clone() });
        results
    }
}

fn are_same(left: &[ArrayRef], right: &[ArrayRef]) -> bool {
    let is_same = |(left, right): (&ArrayRef, &ArrayRef)| Arc::ptr_eq(left, right) || left == right;
    left.len() == right.len() && left.iter().zip(right).all(is_same)
}

/// What the query on whose behalf this thread works keeps of a large dictionary.
fn results_of(maker: Maker, constants: &[ArrayRef], coded: &Coded) -> Option<Arc<Results>> {
    if !coded.has_many_values() || coded.nulls().is_some() {
        return None;
    }
    Some(supervisor()?.dictionary_results()?.of(maker, constants, coded.values()))
}

fn page_of(values: &ArrayRef, page: usize) -> ArrayRef {
    let first = page * PAGE_VALUES;
    values.slice(first, PAGE_VALUES.min(values.len() - first))
}

/// What `compute` makes of the value of each row, where it makes numbers without NULL. It is called with runs of values of which nobody in this
/// query has wanted the results yet, and may be so with values that none of these rows has. `None` where rows are better computed themselves:
/// values are few, or too many for the rows so far, or `compute` makes something else, or refuses a value, which may be that of other rows.
///
/// # Errors
/// `LOGICAL_ERROR`.
pub fn numbers_of_rows(
    maker: Maker,
    constants: &[ArrayRef],
    coded: &Coded,
    compute: impl Fn(&ArrayRef) -> Result<ArrayRef>,
) -> Result<Option<ArrayRef>> {
    let Some(results) = results_of(maker, constants, coded) else { return Ok(None) };
    let (codes, values) = (coded.codes().values(), coded.values());
    let has = |page: usize| results.has_numbers[page].load(Ordering::Acquire);
    let Some(missing) = results.missing(codes, has) else { return Ok(None) };
    for page in missing {
        // Another worker may have been faster.
        if has(page) {
            continue;
        }
        let Some(made) = results.made(compute(&page_of(values, page))) else { return Ok(None) };
        let made = made.to_data();
        let numbers = results.numbers.get_or_init(|| {
            let numbers = Numbers::new(made.data_type(), values.len());
            results.bytes.fetch_add(numbers.bytes(), Ordering::Relaxed);
            numbers
        });
        if !numbers.put(page * PAGE_VALUES, &made) {
            results.give_up();
            return Ok(None);
        }
        results.has_numbers[page].store(true, Ordering::Release);
    }
    results.numbers.get().map_or(Ok(None), |numbers| numbers.gather(codes))
}

/// As [`numbers_of_rows`], where `compute` makes strings without NULL: a code for each row, and the strings by their codes.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`, `TOO_LARGE_STRING_SIZE`.
pub fn strings_of_rows(
    maker: Maker,
    constants: &[ArrayRef],
    coded: &Coded,
    compute: impl Fn(&ArrayRef) -> Result<ArrayRef>,
) -> Result<Option<(UInt32Array, ArrayRef)>> {
    let Some(results) = results_of(maker, constants, coded) else { return Ok(None) };
    let (codes, values) = (coded.codes().values(), coded.values());
    let has = |page: usize| results.strings[page].get().is_some();
    let Some(missing) = results.missing(codes, has) else { return Ok(None) };
    for page in missing {
        if has(page) {
            continue;
        }
        let Some(made) = results.made(compute(&page_of(values, page))) else { return Ok(None) };
        if *made.data_type() != ArrowType::Binary || made.null_count() > 0 {
            results.give_up();
            return Ok(None);
        }
        results.bytes.fetch_add(made.get_array_memory_size(), Ordering::Relaxed);
        // Where another worker was at it, too, its result is as good.
        let _ = results.strings[page].set(made);
    }
    let (own, used) = used_codes(codes);
    let strings: Vec<&dyn Array> = results.strings.iter().map_while(|page| page.get()).map(|page| &**page).collect();
    let place = |code: &u32| ((code >> PAGE_BITS) as usize, *code as usize % PAGE_VALUES);
    let strings = kernels::interleave(&strings, &used.iter().map(place).collect::<Vec<_>>())?;
    Ok(Some((own, strings)))
}

/// Codes of rows without NULL as places in a list of those that some row has, and this list, which ascends.
pub fn used_codes(codes: &[u32]) -> (UInt32Array, Vec<u32>) {
    let end = codes.iter().copied().max().map_or(0, |last| last as usize + 1);
    let mut places = vec![u32::MAX; end];
    codes.iter().for_each(|code| places[*code as usize] = 0);
    let mut used = Vec::new();
    for (code, place) in places.iter_mut().enumerate().filter(|(_, place)| **place == 0) {
        *place = used.len() as u32;
        used.push(code as u32);
    }
    (codes.iter().map(|code| places[*code as usize]).collect::<Vec<u32>>().into(), used)
}

/// Numbers of one type, one for each value. Who reads them looks first at which pages are there.
#[derive(Debug)]
struct Numbers {
    data_type: ArrowType,
    words: Words,
}

#[derive(Debug)]
enum Words {
    None,
    One(Box<[AtomicU8]>),
    Two(Box<[AtomicU16]>),
    Four(Box<[AtomicU32]>),
    Eight(Box<[AtomicU64]>),
}

impl Numbers {
    /// Room for numbers of a type; for none where it is no such type.
    fn new(data_type: &ArrowType, values: usize) -> Self {
        fn zeros<T: Default>(values: usize) -> Box<[T]> {
            std::iter::repeat_with(T::default).take(values).collect()
        }
        let words = match data_type.primitive_width() {
            Some(1) => Words::One(zeros(values)),
            Some(2) => Words::Two(zeros(values)),
            Some(4) => Words::Four(zeros(values)),
            Some(8) => Words::Eight(zeros(values)),
            _ => Words::None,
        };
        Self { data_type: data_type.clone(), words }
    }

    fn bytes(&self) -> usize {
        match &self.words {
            Words::None => 0,
            Words::One(words) => words.len(),
            Words::Two(words) => 2 * words.len(),
            Words::Four(words) => 4 * words.len(),
            Words::Eight(words) => 8 * words.len(),
        }
    }

    /// Takes the numbers of an array from a place on; whether they are such.
    fn put(&self, first: usize, made: &ArrayData) -> bool {
        macro_rules! store {
            ($words:expr, $type:ty) => {{
                let numbers = made.buffers().first().map(|buffer| buffer.typed_data::<$type>()).unwrap_or_default();
                let numbers = numbers.get(made.offset()..made.offset() + made.len()).unwrap_or_default();
                let words = $words.get(first..first + numbers.len()).unwrap_or_default();
                words.iter().zip(numbers).for_each(|(word, number)| word.store(*number, Ordering::Relaxed));
                words.len() == made.len()
            }};
        }
        if *made.data_type() != self.data_type || made.null_count() > 0 {
            return false;
        }
        match &self.words {
            Words::None => false,
            Words::One(words) => store!(words, u8),
            Words::Two(words) => store!(words, u16),
            Words::Four(words) => store!(words, u32),
            Words::Eight(words) => store!(words, u64),
        }
    }

    /// The numbers of rows by their codes.
    fn gather(&self, codes: &[u32]) -> Result<Option<ArrayRef>> {
        macro_rules! load {
            ($words:expr) => {
                buffer_of(codes.iter().map(|code| $words[*code as usize].load(Ordering::Relaxed)))
            };
        }
        let numbers = match &self.words {
            Words::None => return Ok(None),
            Words::One(words) => load!(words),
            Words::Two(words) => load!(words),
            Words::Four(words) => load!(words),
            Words::Eight(words) => load!(words),
        };
        let data = ArrayData::builder(self.data_type.clone()).len(codes.len()).add_buffer(numbers);
        Ok(Some(make_array(data.build()?)))
    }
}

fn buffer_of<T: ArrowNativeType>(numbers: impl Iterator<Item = T>) -> Buffer {
    Buffer::from_vec(numbers.collect::<Vec<T>>())
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{UInt32Type, UInt64Type};
    use arrow_array::{BinaryArray, DictionaryArray, UInt64Array};

    use super::*;
    use crate::checkpoint::{Supervisor, supervise};

    #[test]
    fn makers_differ_and_show_the_same() {
        let (one, other) = (Maker::new(), Maker::new());
        assert_ne!(one, other);
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }

    #[derive(Default)]
    struct Query(DictionaryResults);

    impl Supervisor for Query {
        fn check(&self) -> Result<()> {
            Ok(())
        }

        fn dictionary_results(&self) -> Option<&DictionaryResults> {
            Some(&self.0)
        }
    }

    fn coded(codes: impl Iterator<Item = u32>, values: &ArrayRef) -> Coded {
        Coded::of(DictionaryArray::<UInt32Type>::new(codes.collect::<UInt32Array>(), values.clone())).unwrap()
    }

    #[test]
    fn each_value_is_computed_once_for_all_blocks() {
        let values: ArrayRef =
            Arc::new(BinaryArray::from_iter_values((0..40_000_u32).map(|value| vec![b'x'; value as usize % 11])));
        let (maker, computed) = (Maker::new(), AtomicUsize::new(0));
        let lengths = |values: &ArrayRef| -> Result<ArrayRef> {
            computed.fetch_add(values.len(), Ordering::Relaxed);
            let lengths = values.as_binary::<i32>().iter().map(|value| value.map_or(0, |value| value.len() as u64));
            Ok(Arc::new(lengths.collect::<UInt64Array>()))
        };
        let of = |constants: &[ArrayRef], coded: &Coded| numbers_of_rows(maker, constants, coded, lengths).unwrap();
        let half = coded(0..20_000, &values);
        assert!(of(&[], &half).is_none(), "there is no query");
        let query = Arc::new(Query::default());
        let _guard = supervise(query);
        for rows in [half.clone(), coded((0..20_000).rev(), &values), half.slice(7, 19_000)] {
            let expected: UInt64Array = rows.codes().values().iter().map(|code| u64::from(*code % 11)).collect();
            assert_eq!(of(&[], &rows).unwrap().as_ref(), &expected as &dyn Array);
        }
        let once = computed.load(Ordering::Relaxed);
        assert!((20_000..20_000 + PAGE_VALUES).contains(&once), "{once}");
        assert!(of(&[], &coded((0..20_000).step_by(5_000), &values)).is_some());
        assert_eq!(computed.load(Ordering::Relaxed), once);
        // Few rows of a dictionary wait until more have come.
        let others: ArrayRef = values.slice(0, 39_999);
        for row in 0..5 {
            assert_eq!(of(&[], &coded((0..39_999).skip(row).step_by(10), &others)).is_some(), row == 4);
        }
        computed.fetch_sub(39_999, Ordering::Relaxed);
        let constant: ArrayRef = Arc::new(UInt64Array::from(vec![1]));
        assert!(of(&[constant], &half).is_some());
        assert_eq!(computed.load(Ordering::Relaxed), 2 * once);
        let few: ArrayRef = Arc::new(BinaryArray::from_iter_values([b"a"]));
        assert!(of(&[], &coded(std::iter::repeat_n(0, 100), &few)).is_none());
    }

    #[test]
    fn no_dictionary_is_held_and_few_results_are() {
        let query = Arc::new(Query::default());
        let _guard = supervise(query.clone());
        let ones = |values: &ArrayRef| -> Result<ArrayRef> { Ok(Arc::new(UInt64Array::from(vec![1; values.len()]))) };
        let strings = || -> ArrayRef { Arc::new(BinaryArray::from_iter_values((0..20_000_u32).map(u32::to_le_bytes))) };
        for _ in 0..3 {
            let values = strings();
            let held = Arc::strong_count(&values);
            assert!(numbers_of_rows(Maker::new(), &[], &coded(0..20_000, &values), ones).unwrap().is_some());
            assert_eq!(Arc::strong_count(&values), held);
        }
        // The last one is forgotten when the next one comes.
        assert_eq!(query.0.0.lock().len(), 1);
        let values = strings();
        for _ in 0..3 * KEPT_PER_CPU * logical_cpus() {
            // So few rows that nothing is computed.
            assert!(numbers_of_rows(Maker::new(), &[], &coded(19_990..20_000, &values), ones).unwrap().is_none());
        }
        assert_eq!(query.0.0.lock().len(), KEPT_PER_CPU * logical_cpus());
    }

    #[test]
    fn strings_are_computed_once_too() {
        let values: ArrayRef =
            Arc::new(BinaryArray::from_iter_values((0..20_000_u32).map(|value| format!("value {value}"))));
        let (maker, computed) = (Maker::new(), AtomicUsize::new(0));
        let last = |values: &ArrayRef| -> Result<ArrayRef> {
            computed.fetch_add(values.len(), Ordering::Relaxed);
            let cut = values.as_binary::<i32>().iter().map(|value| value.and_then(|value| value.get(6..)));
            Ok(Arc::new(cut.collect::<BinaryArray>()))
        };
        let _guard = supervise(Arc::new(Query::default()));
        for rows in [coded((0..20_000).rev(), &values), coded((5..20_000).step_by(7), &values)] {
            let (codes, strings) = strings_of_rows(maker, &[], &rows, last).unwrap().unwrap();
            assert_eq!(strings.len(), rows.rows());
            for (row, code) in codes.values().iter().enumerate() {
                let expected = rows.codes().value(row).to_string();
                assert_eq!(strings.as_binary::<i32>().value(*code as usize), expected.as_bytes());
            }
        }
        assert_eq!(computed.load(Ordering::Relaxed), 20_000);
    }

    #[test]
    fn what_is_something_else_is_not_kept() {
        let values: ArrayRef = Arc::new(BinaryArray::from_iter_values((0..40_000_u32).map(u32::to_le_bytes)));
        let _guard = supervise(Arc::new(Query::default()));
        let rows = coded(0..40_000, &values);
        let numbers = |compute: &dyn Fn(&ArrayRef) -> ArrayRef| {
            numbers_of_rows(Maker::new(), &[], &rows, |values| Ok(compute(values))).unwrap()
        };
        assert!(numbers(&|values| values.clone()).is_none());
        let refused = |_: &ArrayRef| Err(crate::Error::logical("a value of other rows"));
        assert!(numbers_of_rows(Maker::new(), &[], &rows, refused).unwrap().is_none());
        assert!(strings_of_rows(Maker::new(), &[], &rows, refused).unwrap().is_none());
        let null = |values: &ArrayRef| -> ArrayRef {
            Arc::new((0..values.len()).map(|_| None::<u64>).collect::<UInt64Array>())
        };
        assert!(numbers(&null).is_none());
        assert!(strings_of_rows(Maker::new(), &[], &rows, |values| Ok(null(values))).unwrap().is_none());
        for data_type in [ArrowType::Int8, ArrowType::UInt16, ArrowType::Float32, ArrowType::Float64] {
            let ones = |values: &ArrayRef| {
                let bytes = vec![1_u8; values.len() * data_type.primitive_width().unwrap()];
                let data = ArrayData::builder(data_type.clone()).len(values.len()).add_buffer(Buffer::from_vec(bytes));
                make_array(data.align_buffers(true).build().unwrap())
            };
            let found = numbers(&ones).unwrap();
            assert_eq!((found.data_type(), found.len()), (&data_type, 40_000));
            assert_eq!(&found, &ones(rows.values()));
        }
        let constant: ArrayRef = Arc::new(UInt64Array::from(vec![1]));
        let with = |constants: &[ArrayRef], number: u64| {
            let compute =
                |values: &ArrayRef| -> Result<ArrayRef> { Ok(Arc::new(UInt64Array::from(vec![number; values.len()]))) };
            let found = numbers_of_rows(Maker(u64::MAX), constants, &rows, compute).unwrap().unwrap();
            found.as_primitive::<UInt64Type>().value(17)
        };
        let constants = [constant];
        assert_eq!((with(&[], 1), with(&constants, 2), with(&[], 3), with(&constants, 4)), (1, 2, 1, 2));
    }
}
