//! Large states: cut, merged part by part and put together again they give what one accumulator gives of all rows; so does a list that is
//! turned into a column in steps. Over sizes around those from which states are held in parts and chunks.

use std::collections::BTreeSet;

use squall_functions::{Accumulator, AggregateFunction, CUT_PARTS, CUT_PIECES, GroupIds, resolve_aggregate};
use squall_types::{Column, ColumnBuilder, DataType, Value};

const PARTS: usize = CUT_PARTS / CUT_PIECES;

/// Rows `from..to` of a column of so many distinct values, some of which come several times.
fn column(type_name: &str, rows: std::ops::Range<u64>, distinct: u64) -> Column {
    let mut builder = ColumnBuilder::new(DataType::parse(type_name).unwrap());
    for row in rows {
        let number = row.wrapping_mul(7_919) % distinct;
        let value = match type_name {
            "UInt64" => Value::UInt64(number),
            "UInt32" => Value::UInt64(number * 40),
            "String" => Value::from(format!("value {number}").as_str()),
            "Nullable(Int64)" if number.is_multiple_of(5) => Value::Null,
            "Nullable(Int64)" => Value::Int64(-(number as i64)),
            "LowCardinality(Nullable(String))" if number.is_multiple_of(7) => Value::Null,
            "LowCardinality(Nullable(String))" => Value::from(format!("{}", number % 3_000).as_str()),
            "FixedString(8)" => Value::from(format!("{number:08}").as_str()),
            "Array(UInt64)" => Value::Array([Value::UInt64(number), Value::UInt64(number + 1)].into()),
            "UInt8" => Value::UInt64(u64::from(!number.is_multiple_of(3))),
            other => panic!("no values of {other}"),
        };
        builder.append(&value).unwrap();
    }
    builder.finish().unwrap()
}

fn finish(mut accumulator: Box<dyn Accumulator>, groups: usize) -> Column {
    while !accumulator.settle().unwrap() {}
    accumulator.finish(groups).unwrap()
}

/// As it is, or sorted where it is a set.
fn result(name: &str, value: Value) -> Value {
    match value {
        Value::Array(items) if name.starts_with("groupUniqArray") => {
            let mut items = items.to_vec();
            items.sort_by(Value::compare);
            Value::Array(items.into())
        }
        other => other,
    }
}

/// The states of workers, each of which has seen some of the rows: those of group 1 are compared, which has all rows.
fn workers(
    function: &dyn AggregateFunction,
    types: &[&str],
    rows: u64,
    distinct: u64,
    workers: u64,
) -> Vec<Box<dyn Accumulator>> {
    (0..workers)
        .map(|worker| {
            let range = rows * worker / workers..rows * (worker + 1) / workers;
            let mut accumulator = function.accumulator();
            let mut from = range.start;
            while from < range.end {
                let to = range.end.min(from + 50_000);
                let columns: Vec<Column> = types.iter().map(|name| column(name, from..to, distinct)).collect();
                let ids = vec![1; (to - from) as usize];
                accumulator.update(GroupIds::Each(&ids), 2, &columns, ids.len()).unwrap();
                from = to;
            }
            accumulator
        })
        .collect()
}

/// Merges group 1 of each in parts.
fn merge_cut(function: &dyn AggregateFunction, states: Vec<Box<dyn Accumulator>>) -> Box<dyn Accumulator> {
    let mut whole = function.accumulator();
    let mut cuts: Vec<_> = states.into_iter().map(|mut states| states.cut(1).unwrap().into_iter()).collect();
    for _ in 0..CUT_PIECES {
        let mut pieces: Vec<_> = cuts.iter_mut().map(|cut| cut.next().unwrap()).collect();
        let last = if pieces.len() > 1 { pieces.pop() } else { None };
        let mut pieces = pieces.into_iter();
        let mut merged = pieces.next().unwrap();
        for mut piece in pieces {
            for part in 0..PARTS {
                merged.merge_range(&mut *piece, part, &[part as u32], PARTS).unwrap();
            }
        }
        if let Some(mut last) = last {
            (0..PARTS).for_each(|part| merged.merge_last(&mut *last, part, &[part as u32], PARTS).unwrap());
        }
        while !merged.settle().unwrap() {}
        whole.merge_range(&mut *merged, 0, &[1; PARTS], 2).unwrap();
    }
    assert!(cuts.iter_mut().all(|cut| cut.next().is_none()));
    whole
}

#[test]
#[ignore = "long"]
fn cut_states_merge_as_whole_ones() {
    let calls: &[(&str, &[&str])] = &[
        ("uniqExact", &["UInt64"]),
        ("uniqExact", &["UInt32"]),
        ("uniqExact", &["String"]),
        ("uniqExact", &["Nullable(Int64)"]),
        ("uniqExact", &["LowCardinality(Nullable(String))"]),
        ("uniqExact", &["UInt64", "String"]),
        ("uniqExactIf", &["UInt64", "UInt8"]),
        ("uniqExactOrNull", &["UInt64"]),
        ("uniqExactOrDefault", &["UInt64"]),
        ("uniqExactArray", &["Array(UInt64)"]),
        ("groupUniqArray", &["UInt64"]),
        ("groupUniqArray", &["String"]),
        ("groupUniqArray", &["Nullable(Int64)"]),
        ("groupUniqArray", &["LowCardinality(Nullable(String))"]),
        ("groupUniqArray", &["FixedString(8)"]),
        ("groupUniqArrayOrNull", &["UInt64"]),
        ("groupUniqArrayIf", &["String", "UInt8"]),
    ];
    for (name, types) in calls {
        let argument_types: Vec<DataType> = types.iter().map(|name| DataType::parse(name).unwrap()).collect();
        let function = resolve_aggregate(name, &[], &argument_types).unwrap();
        // A set is cut from 2^17 values on; what is not cut yet is when it is merged.
        for (rows, distinct, count) in [
            (0, 1, 2),
            (1, 1, 1),
            (5_000, 1_000, 3),
            (131_072, 131_072, 1),
            (131_073, 131_073, 1),
            (150_000, 140_000, 2),
            (300_000, 280_000, 2),
        ] {
            let all = || workers(&*function, types, rows, distinct, count);
            let mut whole = function.accumulator();
            all().into_iter().for_each(|states| whole.merge(states, &[0, 1], 2).unwrap());
            let merged = finish(merge_cut(&*function, all()), 2);
            let whole = finish(whole, 2);
            for group in 0..2 {
                let (expected, found) = (result(name, whole.value(group)), result(name, merged.value(group)));
                assert_eq!(found, expected, "{name}{types:?} of {rows} rows by {count}, group {group}");
            }
            if *name == "uniqExact" && *types == ["UInt64"] {
                assert_eq!(whole.value(1), Value::UInt64(rows.min(distinct)));
            }
        }
    }
}

#[test]
fn what_can_be_cut_says_so() {
    for (name, can_cut) in [("uniqExact", true), ("groupUniqArray", true), ("groupArray", false), ("sum", false)] {
        let function = resolve_aggregate(name, &[], &[DataType::UInt64]).unwrap();
        let mut states = workers(&*function, &["UInt64"], 3_000, 2_000, 1).pop().unwrap();
        assert_eq!(states.large(1_999), if can_cut { vec![1] } else { vec![] }, "{name}");
        assert_eq!(states.large(2_000), [0; 0], "{name}");
        assert_eq!(states.cut(1).is_ok(), can_cut, "{name}");
    }
    // With a limit it is not known which values of the parts would stay.
    let function = resolve_aggregate("groupUniqArray", &[Value::UInt64(1_500)], &[DataType::UInt64]).unwrap();
    let states = workers(&*function, &["UInt64"], 3_000, 2_000, 1).pop().unwrap();
    assert_eq!(states.items(0..2), 1_500);
    assert_eq!(states.large(0), [0; 0]);
}

#[test]
fn lists_keep_their_order() {
    for type_name in ["UInt64", "String", "FixedString(8)", "Array(UInt64)"] {
        let data_type = DataType::parse(type_name).unwrap();
        for limit in [None, Some(16_384), Some(20_000), Some(40_000)] {
            let parameters: Vec<Value> = limit.map(Value::UInt64).into_iter().collect();
            let function = resolve_aggregate("groupArray", &parameters, std::slice::from_ref(&data_type)).unwrap();
            for rows in [0, 1, 1_000, 16_383, 16_384, 16_385, 32_768, 50_001] {
                let mut whole = function.accumulator();
                for states in workers(&*function, &[type_name], rows, 99_999_989, 3) {
                    whole.merge(states, &[0, 1], 2).unwrap();
                }
                let kept = limit.unwrap_or(u64::MAX).min(rows);
                assert_eq!(whole.items(0..2), kept as usize);
                let column_of_lists = finish(whole, 2);
                assert_eq!(column_of_lists.value(0), Value::Array([].into()));
                let Value::Array(found) = column_of_lists.value(1) else { panic!("no array") };
                let expected = column(type_name, 0..kept, 99_999_989);
                assert_eq!(found.len(), kept as usize);
                let is_same = found.iter().enumerate().all(|(row, value)| *value == expected.value(row));
                assert!(is_same, "groupArray of {rows} {type_name} with {limit:?}");
            }
        }
    }
}

#[test]
fn several_long_lists_are_one_column() {
    let function = resolve_aggregate("groupArray", &[], &[DataType::String]).unwrap();
    let mut accumulator = function.accumulator();
    let ids: Vec<u32> = (0..100_000).map(|row| row % 3).collect();
    accumulator.update(GroupIds::Each(&ids), 4, &[column("String", 0..100_000, 99_999_989)], ids.len()).unwrap();
    let lists = finish(accumulator, 4);
    let values: BTreeSet<String> = (0..3)
        .flat_map(|group| match lists.value(group) {
            Value::Array(items) => items.iter().map(ToString::to_string).collect::<Vec<_>>(),
            other => panic!("{other}"),
        })
        .collect();
    assert_eq!(values.len(), 100_000);
    assert_eq!(lists.value(3), Value::Array([].into()));
}

#[test]
fn exact_quantiles_are_those_of_a_sort() {
    let levels = [0.0, 0.1, 0.5, 0.77, 1.0];
    let inner = [0.1, 0.5, 0.77];
    for (name, levels) in [
        ("quantilesExact", &levels[..]),
        ("quantilesExactLow", &levels),
        ("quantilesExactInclusive", &levels),
        ("quantilesExactExclusive", &inner),
    ] {
        let parameters: Vec<Value> = levels.iter().copied().map(Value::Float64).collect();
        let function = resolve_aggregate(name, &parameters, &[DataType::UInt64]).unwrap();
        for (rows, distinct) in
            [(0, 1), (1, 1), (16_384, 99_999_989), (16_385, 99_999_989), (200_000, 99_999_989), (200_000, 3)]
        {
            let merged = |settles: bool| {
                let mut merged = function.accumulator();
                for states in workers(&*function, &["UInt64"], rows, distinct, 3) {
                    merged.merge(states, &[0, 1], 2).unwrap();
                }
                if settles { finish(merged, 2) } else { merged.finish(2).unwrap() }
            };
            let (searched, sorted) = (merged(true), merged(false));
            assert_eq!(searched.value(0).to_string(), sorted.value(0).to_string());
            assert_eq!(searched.value(1).to_string(), sorted.value(1).to_string(), "{name} of {rows} rows");
            if name == "quantilesExact" && rows == 200_000 && distinct > rows {
                let mut values: Vec<u64> = (0..rows).map(|row| row * 7_919 % distinct).collect();
                values.sort_unstable();
                let at = |level: f64| Value::UInt64(values[((level * rows as f64) as usize).min(values.len() - 1)]);
                assert_eq!(searched.value(1), Value::Array(levels.iter().copied().map(at).collect()));
            }
        }
    }
}
