//! Rows that are codes of few strings beside the same rows written out: whatever is done to both gives the same rows.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, UInt32Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use proptest::prelude::*;
use squall_types::{Coded, Coder, Column, DataType, ErrorCode, Rows};

/// The rows of an array as codes, in two batches.
fn coded(array: &BinaryArray) -> Option<Coded> {
    let mut coder = Coder::new(array.len()).unwrap()?;
    let half = array.len() / 2;
    for part in [array.slice(0, half), array.slice(half, array.len() - half)] {
        if !coder.append(&part).unwrap() {
            return None;
        }
    }
    coder.finish().ok()
}

fn column(rows: Rows, is_nullable: bool) -> Column {
    let data_type = if is_nullable { DataType::Nullable(Arc::new(DataType::String)) } else { DataType::String };
    Column::of_rows(data_type, rows)
}

/// Both by their arrays and value by value.
fn assert_same(coded: &Column, whole: &Column) {
    assert_eq!(coded.rows(), whole.rows());
    assert_eq!(coded.value_bytes(), whole.value_bytes());
    assert_eq!(coded.nulls(), whole.nulls());
    for row in (0..whole.rows()).step_by(97) {
        assert_eq!(coded.value(row), whole.value(row), "row {row}");
    }
    assert_eq!(&*coded.to_array().unwrap(), &*whole.to_array().unwrap());
    assert_eq!(coded.array(), whole.array());
}

fn strings(rows: usize, values: usize, length: usize, is_nullable: bool) -> BinaryArray {
    let value = |row: usize| format!("{:>length$}", row * 7 % 31 % values);
    let valid = |row: usize| !is_nullable || !row.is_multiple_of(5);
    (0..rows).map(|row| valid(row).then(|| value(row))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rows_stay_the_same(
        values in 1..20_usize, length in prop_oneof![Just(0), 1..16_usize, 17..60_usize], is_nullable: bool,
        start in 0..4000_usize, chosen in prop::collection::vec(any::<bool>(), 5000),
    ) {
        let array = strings(5000, values, length, is_nullable);
        let codes = column(Rows::Coded(coded(&array).unwrap()), is_nullable);
        let whole = column(Rows::Whole(Arc::new(array)), is_nullable);
        assert_same(&codes, &whole);
        assert_same(&codes.slice(start, 1000), &whole.slice(start, 1000));
        let mask = BooleanArray::new(BooleanBuffer::from(chosen.clone()), None);
        let count = chosen.iter().filter(|is_chosen| **is_chosen).count();
        assert_same(&codes.filter(&mask, count).unwrap(), &whole.filter(&mask, count).unwrap());
        let few = BooleanArray::from_iter((0..5000).map(|row| Some(row == start)));
        assert_same(&codes.filter(&few, 1).unwrap(), &whole.filter(&few, 1).unwrap());
        let positions = UInt32Array::from_iter_values((0..3000).map(|at| (at * 13 + start as u32) % 5000));
        assert_same(&codes.take(&positions).unwrap(), &whole.take(&positions).unwrap());
        let together = |column: &Column| Column::concat(&[column.slice(start, 900), column.clone()]).unwrap();
        assert!(together(&codes).coded().is_some());
        assert_same(&together(&codes), &together(&whole));
        assert_same(&codes.without_nulls().unwrap().to_nullable(codes.nulls().cloned()).unwrap(),
            &whole.without_nulls().unwrap().to_nullable(whole.nulls().cloned()).unwrap());
        let low_cardinality = |column: Column| column.into_low_cardinality().unwrap().without_low_cardinality().unwrap();
        assert_same(&low_cardinality(codes.clone()), &low_cardinality(whole));
        let other = NullBuffer::from(chosen);
        let with_other = codes.without_nulls().unwrap().to_nullable(Some(other.clone())).unwrap();
        prop_assert_eq!(with_other.nulls(), Some(&other).filter(|nulls| nulls.null_count() > 0));
    }
}

#[test]
fn what_is_not_worth_it_is_written_out() {
    let of = |rows: usize, value: &dyn Fn(usize) -> String| BinaryArray::from_iter_values((0..rows).map(value));
    assert!(coded(&of(5, &|_| "few rows".to_owned())).is_none());
    assert!(coded(&of(100_000, &|row| row.to_string())).is_none());
    assert!(coded(&of(900, &|row| row.to_string())).is_none());
    // Written out, they would take 80 MB.
    assert!(coded(&of(8_000, &|_| "x".repeat(10_000))).is_none());
    assert!(coded(&of(6_000, &|_| "x".repeat(10_000))).is_some());
    // Many come late.
    assert!(coded(&of(100_000, &|row| row.saturating_sub(50_000).to_string())).is_none());
    let mostly_empty = of(10_000, &|row| if row % 100 == 0 { "x".to_owned() } else { String::new() });
    let rows = |ratio: f64| {
        let mut coder = Coder::new(10_000).unwrap().unwrap();
        assert!(coder.append(&mostly_empty).unwrap());
        coder.into_rows(ratio).unwrap()
    };
    assert!(matches!(rows(0.9), Rows::Whole(_)));
    assert!(matches!(rows(1.0), Rows::Coded(_)));
}

#[test]
fn a_dictionary_of_many_values_may_take_far_less_than_rows() {
    let value = |row: usize| format!("a string that is longer than a code, number {}", row / 3 % 4_000);
    let array = BinaryArray::from_iter_values((0..20_000).map(value));
    let mut coder = Coder::new(array.len()).unwrap().unwrap();
    assert!(coder.append(&array).unwrap());
    let codes = column(coder.into_rows(1.0).unwrap(), false);
    assert!(codes.coded().unwrap().has_many_values());
    let whole = column(Rows::Whole(Arc::new(array)), false);
    assert_same(&codes, &whole);
    for (first, rows) in [(7_001, 100), (0, 63), (64, 64), (1, 19_999), (19_990, 10), (100, 0)] {
        assert_same(&codes.slice(first, rows), &whole.slice(first, rows));
        assert_same(&codes.slice(5, 19_995).slice(first, 0), &whole.slice(5, 0));
        assert_same(&codes.slice(3, 19_900).slice(first / 2, rows / 2), &whole.slice(3 + first / 2, rows / 2));
    }
    for step in [2, 70] {
        let mask = BooleanArray::from_iter((0..20_000).map(|row| Some(row % step == 0)));
        let some = codes.filter(&mask, 20_000 / step).unwrap();
        // Few rows are written out.
        assert_eq!(some.coded().is_some(), step == 2);
        assert_same(&some, &whole.filter(&mask, 20_000 / step).unwrap());
    }
}

#[test]
fn rows_that_are_much_longer_than_codes_are_reserved() {
    let tracker = Arc::new(squall_runtime::MemoryTracker::query(100 << 20, None));
    let _attached = squall_runtime::memory::attach(tracker);
    let values: ArrayRef = Arc::new(BinaryArray::from_iter_values([vec![b'x'; 1 << 20]]));
    let codes = |rows: usize| {
        let codes = UInt32Array::from(vec![0; rows]);
        Coded::rows_of(arrow_array::DictionaryArray::try_new(codes, values.clone()).unwrap())
    };
    assert!(matches!(codes(10).unwrap(), Some(Rows::Coded(_))));
    assert!(matches!(codes(50).unwrap(), Some(Rows::Whole(_))));
    assert_eq!(codes(200).unwrap_err().code, ErrorCode::MEMORY_LIMIT_EXCEEDED);
    assert_eq!(codes(3000).unwrap_err().code, ErrorCode::TOO_LARGE_STRING_SIZE);
    let Some(Rows::Coded(ten)) = codes(10).unwrap() else { panic!("ten are few") };
    let taken = ten.take(&UInt32Array::from_iter_values((0..40).map(|at| at % 10))).unwrap();
    assert!(matches!(taken, Rows::Whole(_)));
}
