//! Sparse columns beside whole ones: whatever is done to both gives the same rows.

use std::sync::Arc;

use arrow_array::types::{Float64Type, UInt8Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, UInt32Array};
use arrow_buffer::BooleanBuffer;
use proptest::prelude::*;
use squall_types::{Column, DataType, Rows, Sparse, Value};

/// A column of one of the layouts, from numbers most of which are zero.
fn whole(layout: usize, numbers: &[u8]) -> Column {
    match layout {
        0 => Column::from_primitive::<UInt8Type>(DataType::UInt8, numbers.to_vec()),
        1 => {
            let wide = numbers.iter().map(|number| u64::from(*number) << 33).collect();
            Column::from_primitive::<UInt64Type>(DataType::UInt64, wide)
        }
        2 => {
            let values = numbers.iter().map(|number| if *number == 1 { -0.0 } else { f64::from(*number) / 3.0 });
            Column::from_primitive::<Float64Type>(DataType::Float64, values.collect())
        }
        3 => Column::from_strings(numbers.iter().map(|number| "value ".repeat(usize::from(*number % 4)))),
        _ => {
            let rows: Vec<u8> = numbers.iter().flat_map(|number| [0, *number, 0]).collect();
            let array = FixedSizeBinaryArray::try_new(3, rows.into(), None).unwrap();
            Column::new(DataType::FixedString(3), Arc::new(array))
        }
    }
}

fn sparse_of(column: &Column) -> Column {
    let rows = Rows::of(column.array().clone(), 0.0).unwrap();
    Column::of_rows(column.data_type().clone(), rows)
}

/// Both by their arrays and value by value: the array of a sparse column is made late.
fn assert_same(sparse: &Column, whole: &Column) {
    assert_eq!(sparse.rows(), whole.rows());
    assert_eq!(sparse.value_bytes(), whole.value_bytes());
    for row in 0..whole.rows() {
        assert_eq!(sparse.value(row), whole.value(row), "row {row} of {:?}", whole.data_type());
    }
    assert_eq!(&*sparse.to_array().unwrap(), &*whole.to_array().unwrap());
    if !sparse.is_constant() {
        assert_eq!(sparse.array(), whole.array());
    }
    assert_eq!(sparse.nulls().is_none(), whole.nulls().is_none());
}

/// Numbers of which about one in seven is no zero, with a long run of each now and then.
fn numbers() -> impl Strategy<Value = Vec<u8>> {
    let one = prop_oneof![12 => Just(0_u8), 2 => any::<u8>()];
    let run = (one, prop_oneof![6 => 1..4_usize, 1 => 60..140_usize]);
    prop::collection::vec(run, 1..60)
        .prop_map(|runs| runs.into_iter().flat_map(|(number, rows)| std::iter::repeat_n(number, rows)).collect())
}

proptest! {
    #[test]
    fn every_operation_gives_the_rows_of_the_whole_column(
        numbers in numbers(),
        layout in 0..5_usize,
        cuts in (0.0..1.0_f64, 0.0..1.0_f64),
        seed in any::<u64>(),
        density in 1..64_u32,
    ) {
        let whole = whole(layout, &numbers);
        let sparse = sparse_of(&whole);
        assert_same(&sparse.clone(), &whole);
        let rows = whole.rows();
        let (offset, end) = ((cuts.0 * rows as f64) as usize, (cuts.1 * rows as f64) as usize);
        let (offset, length) = (offset.min(end), offset.max(end) - offset.min(end));
        let (sparse_part, whole_part) = (sparse.slice(offset, length), whole.slice(offset, length));
        assert_same(&sparse_part, &whole_part);
        // A slice of a slice, and what has been asked for its array.
        assert_same(&sparse_part.slice(length / 3, length / 2), &whole_part.slice(length / 3, length / 2));
        let mut state = seed | 1;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let bits: BooleanBuffer = (0..length + 5).map(|_| random() % 64 < u64::from(density)).collect();
        let mask = BooleanArray::new(bits.slice(5, length), None);
        let nulls: BooleanBuffer = (0..length).map(|_| random() % 3 > 0).collect();
        let nullable = BooleanArray::new(bits.slice(5, length), Some(nulls.clone().into()));
        assert_same(&sparse_part.filter(&mask, mask.true_count()).unwrap(), &whole_part.filter(&mask, mask.true_count()).unwrap());
        assert_same(
            &sparse_part.filter(&nullable, nullable.true_count()).unwrap(),
            &whole_part.filter(&nullable, nullable.true_count()).unwrap(),
        );
        if let Some(listed) = sparse_part.sparse() {
            // What is listed, and nothing else.
            let rows: Vec<usize> = listed.positions().collect();
            let mask = BooleanArray::new((0..length).map(|row| rows.binary_search(&row).is_ok()).collect(), None);
            let selected = rows.len();
            assert_same(&sparse_part.filter(&mask, selected).unwrap(), &whole_part.filter(&mask, selected).unwrap());
        }
        if length > 0 {
            let many = UInt32Array::from_iter_values((0..length).map(|_| (random() % length as u64) as u32));
            for positions in [many.slice(0, length.min(2)), many.clone()] {
                let fresh = sparse.slice(offset, length);
                assert_same(&fresh.take(&positions).unwrap(), &whole_part.take(&positions).unwrap());
            }
            let with_null = UInt32Array::from(vec![Some(0), None, Some(length as u32 - 1)]);
            let (left, right) = (sparse_part.take(&with_null).unwrap(), whole_part.take(&with_null).unwrap());
            prop_assert_eq!(&*left.to_array().unwrap(), &*right.to_array().unwrap());
        }
        let both = [sparse_part.clone(), sparse.clone(), sparse_part.slice(0, length / 2)];
        let expected = Column::concat(&[whole_part.clone(), whole.clone(), whole_part.slice(0, length / 2)]).unwrap();
        assert_same(&Column::concat(&both).unwrap(), &expected);
        let mixed = Column::concat(&[both[0].clone(), whole.clone(), both[2].clone()]).unwrap();
        assert_same(&mixed, &expected);
        assert_same(&sparse.materialize().unwrap(), &whole);
    }

    #[test]
    fn defaults_need_not_be_zeros(numbers in numbers(), default in any::<u64>()) {
        let listed: Vec<u32> = (0..numbers.len() as u32).filter(|row| numbers[*row as usize] != 0).collect();
        let values: Vec<u64> = listed.iter().map(|row| u64::from(numbers[*row as usize])).collect();
        let array = |values: Vec<u64>| Arc::new(PrimitiveArray::<UInt64Type>::new(values.into(), None)) as ArrayRef;
        let expected = numbers.iter().map(|number| if *number == 0 { default } else { u64::from(*number) }).collect();
        let sparse = Sparse::new(listed, array(values), array(vec![default]), numbers.len()).unwrap().unwrap();
        prop_assert_eq!(sparse.is_default_zero(), default == 0);
        let sparse = Column::of_rows(DataType::UInt64, Rows::Sparse(sparse));
        let whole = Column::from_primitive::<UInt64Type>(DataType::UInt64, expected);
        assert_same(&sparse, &whole);
        let (bits, of_values) = {
            let sparse = sparse.sparse().unwrap();
            let of_values = (0..sparse.values().len()).map(|at| at % 2 == 0).collect::<BooleanBuffer>();
            (sparse.bits(&of_values, default % 2 == 0), of_values)
        };
        let mut listed = of_values.iter();
        let expected: BooleanBuffer =
            numbers.iter().map(|number| if *number == 0 { default % 2 == 0 } else { listed.next().unwrap() }).collect();
        prop_assert_eq!(bits, expected);
    }
}

#[test]
fn the_share_of_defaults_decides() {
    let array: ArrayRef =
        Arc::new((0..100_u64).map(|row| Some(u64::from(row < 6))).collect::<PrimitiveArray<UInt64Type>>());
    let is_sparse = |ratio: f64| matches!(Rows::of(array.clone(), ratio).unwrap(), Rows::Sparse(_));
    assert!(is_sparse(0.9375) && is_sparse(0.0) && is_sparse(-1.0));
    assert!(!is_sparse(0.94) && !is_sparse(1.0) && !is_sparse(1.5));
    let none = Arc::new(PrimitiveArray::<UInt64Type>::from_iter_values(1..9)) as ArrayRef;
    assert!(matches!(Rows::of(none, 0.0).unwrap(), Rows::Whole(_)));
    let null = Arc::new(PrimitiveArray::<UInt64Type>::from_iter([Some(0), None, Some(0)])) as ArrayRef;
    assert!(matches!(Rows::of(null, 0.0).unwrap(), Rows::Whole(_)));
}

#[test]
fn what_costs_little_is_held_so() {
    let array =
        Arc::new(PrimitiveArray::<UInt64Type>::from_iter_values((0..100_000).map(|row| row % 1000 / 999))) as ArrayRef;
    let column = Column::of_rows(DataType::UInt64, Rows::of(array, 0.9375).unwrap());
    assert_eq!(column.sparse().unwrap().values().len(), 100);
    assert!(column.memory_bytes() < 4_000, "{}", column.memory_bytes());
    assert_eq!(column.value(999), Value::UInt64(1));
    assert_eq!(column.array().len(), 100_000);
    assert!(column.memory_bytes() > 800_000);
    // What was written out of it is not a slice's.
    assert!(column.slice(0, 50_000).memory_bytes() < 4_000);
}

#[test]
fn positions_must_be_rows() {
    let values = |count: u64| Arc::new(PrimitiveArray::<UInt64Type>::from_iter_values(0..count)) as ArrayRef;
    let new = |positions: &[u32], rows: usize| Sparse::new(positions.to_vec(), values(2), values(1), rows);
    assert!(new(&[1, 2], 3).unwrap().is_some());
    assert!(new(&[1, 2], 2).is_err() && new(&[2, 1], 3).is_err() && new(&[1, 1], 3).is_err() && new(&[1], 3).is_err());
    let strings = Column::from_strings(["x", "y"]).array().clone();
    // Each row would be a copy of the default.
    assert!(Sparse::new(vec![0, 1], strings.clone(), strings.slice(0, 1), 9).unwrap().is_none());
}
