//! Aggregation gives one answer however the rows are split: into blocks, among workers whose groups have other numbers, into
//! partitions that are merged apart, and by any kind of group ids. And that answer is the naive model's.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::UInt32Array;
use squall_functions::{Accumulator, AggregateFunction, GroupIds, resolve_aggregate};
use squall_types::{Column, ColumnBuilder, DataType, Value};

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Rows of every type that the functions are tried with.
fn table(random: &mut Random, rows: usize) -> BTreeMap<&'static str, Column> {
    let mut column = |name: &str, value: &mut dyn FnMut(&mut Random) -> Value| {
        let mut builder = ColumnBuilder::new(DataType::parse(name).unwrap());
        for _ in 0..rows {
            builder.append(&value(random)).unwrap();
        }
        builder.finish().unwrap()
    };
    let small = |random: &mut Random| Value::Int64(random.below(40) as i64 - 20);
    let text = |random: &mut Random| Value::from(["", "a", "b", "ab", "Привет"][random.below(5) as usize]);
    BTreeMap::from([
        ("u8", column("UInt8", &mut |random| Value::UInt64(random.below(256)))),
        ("u16", column("UInt16", &mut |random| Value::UInt64(random.below(65_536)))),
        ("u64", column("UInt64", &mut |random| Value::UInt64(random.below(u64::MAX)))),
        ("i16", column("Int16", &mut { small })),
        ("i64", column("Int64", &mut { small })),
        // Whole numbers, so that sums do not depend on the order.
        ("f64", column("Float64", &mut |random| Value::Float64(random.below(1000) as f64))),
        ("flag", column("UInt8", &mut |random| Value::UInt64(random.below(2)))),
        (
            "nullable_flag",
            column("Nullable(UInt8)", &mut |random| {
                if random.below(3) == 0 { Value::Null } else { Value::UInt64(random.below(2)) }
            }),
        ),
        ("date", column("Date", &mut |random| Value::UInt64(random.below(30_000)))),
        ("text", column("String", &mut { text })),
        ("fixed", column("FixedString(3)", &mut |random| Value::from(["abc", "xyz"][random.below(2) as usize]))),
        (
            "nullable",
            column("Nullable(Int32)", &mut |random| if random.below(3) == 0 { Value::Null } else { small(random) }),
        ),
        (
            "dictionary",
            column("LowCardinality(Nullable(String))", &mut |random| {
                if random.below(4) == 0 { Value::Null } else { text(random) }
            }),
        ),
        (
            "array",
            column("Array(Int64)", &mut |random| {
                Value::Array((0..random.below(4)).map(|_| Value::Int64(random.below(9) as i64)).collect())
            }),
        ),
    ])
}

const CALLS: &[(&str, &[f64], &[&str])] = &[
    ("count", &[], &[]),
    ("count", &[], &["text"]),
    ("count", &[], &["nullable"]),
    ("count", &[], &["dictionary"]),
    ("sum", &[], &["u8"]),
    ("sum", &[], &["i16"]),
    ("sum", &[], &["u64"]),
    ("sum", &[], &["f64"]),
    ("sum", &[], &["nullable"]),
    ("min", &[], &["u16"]),
    ("max", &[], &["i64"]),
    ("min", &[], &["f64"]),
    ("max", &[], &["text"]),
    ("min", &[], &["fixed"]),
    ("max", &[], &["date"]),
    ("min", &[], &["nullable"]),
    ("max", &[], &["dictionary"]),
    ("min", &[], &["array"]),
    ("avg", &[], &["u64"]),
    ("avg", &[], &["i16"]),
    ("avg", &[], &["nullable"]),
    ("any", &[], &["text"]),
    ("anyLast", &[], &["nullable"]),
    ("any_respect_nulls", &[], &["nullable"]),
    ("argMin", &[], &["text", "i16"]),
    ("argMax", &[], &["nullable", "f64"]),
    ("uniq", &[], &["u16"]),
    ("uniq", &[], &["text", "u8"]),
    ("uniqExact", &[], &["u8"]),
    ("uniqExact", &[], &["u64"]),
    ("uniqExact", &[], &["text"]),
    ("uniqExact", &[], &["nullable"]),
    ("uniqExact", &[], &["array"]),
    ("uniqExact", &[], &["i64", "dictionary"]),
    ("uniqCombined", &[], &["u16"]),
    ("uniqHLL12", &[], &["u8"]),
    ("quantile", &[], &["i64"]),
    ("quantiles", &[0.1, 0.9], &["nullable"]),
    ("quantileExact", &[0.3], &["u64"]),
    ("quantilesExact", &[0.0, 0.5, 1.0], &["f64"]),
    ("quantileExactLow", &[], &["date"]),
    ("quantileExactInclusive", &[0.25], &["u8"]),
    ("groupArray", &[], &["text"]),
    ("groupArray", &[3.0], &["i64"]),
    ("groupArray", &[], &["nullable"]),
    ("groupUniqArray", &[], &["i16"]),
    ("groupUniqArray", &[], &["text"]),
    ("varPop", &[], &["i16"]),
    ("stddevSamp", &[], &["u8"]),
    ("covarPop", &[], &["i16", "u8"]),
    ("corr", &[], &["i16", "i64"]),
    ("groupConcat", &[], &["text"]),
    ("groupConcat", &[], &["nullable"]),
    ("avgWeighted", &[], &["i16", "u8"]),
    ("skewPop", &[], &["u8"]),
    ("kurtSamp", &[], &["i16"]),
    ("groupBitAnd", &[], &["u64"]),
    ("groupBitOr", &[], &["i16"]),
    ("groupBitXor", &[], &["nullable"]),
    // As many as there may be: which of those that came equally often are left out depends on who came first.
    ("topK", &[256.0], &["u8"]),
    ("countIf", &[], &["flag"]),
    ("countIf", &[], &["text", "nullable_flag"]),
    ("sumIf", &[], &["nullable", "nullable_flag"]),
    ("uniqExactIf", &[], &["text", "flag"]),
    ("avgOrNull", &[], &["i16"]),
    ("sumOrNullIf", &[], &["i64", "flag"]),
    ("sumIfOrDefault", &[], &["i64", "flag"]),
    ("minOrDefault", &[], &["i64"]),
    ("countOrNull", &[], &[]),
    ("sumArray", &[], &["array"]),
    ("groupArrayArray", &[], &["array"]),
    ("sumArrayIf", &[], &["array", "flag"]),
    ("sumDistinct", &[], &["i16"]),
    ("groupArrayDistinct", &[], &["text"]),
    ("countDistinct", &[], &["nullable"]),
];

/// A partition of one worker's groups, and which they are.
type Part = (Box<dyn Accumulator>, Vec<u32>);

struct Case<'a> {
    function: &'a dyn AggregateFunction,
    arguments: Vec<Column>,
    ids: &'a [u32],
    groups: usize,
}

impl Case<'_> {
    fn rows(&self, from: usize, rows: usize) -> Vec<Column> {
        self.arguments.iter().map(|column| column.slice(from, rows)).collect()
    }

    /// The whole in one accumulator, in blocks of random sizes.
    fn at_once(&self, random: &mut Random) -> Column {
        let mut accumulator = self.function.accumulator();
        let mut from = 0;
        while from < self.ids.len() {
            let rows = (random.below(100) as usize).min(self.ids.len() - from);
            let ids = &self.ids[from..from + rows];
            accumulator.update(GroupIds::Each(ids), self.groups, &self.rows(from, rows), rows).unwrap();
            from += rows;
        }
        accumulator.finish(self.groups).unwrap()
    }

    /// Workers number the groups as they meet them; partitions are merged apart.
    fn split(&self, random: &mut Random) -> Vec<Value> {
        let (workers, partitions) = (1 + random.below(4) as usize, 1 + random.below(4) as usize);
        let mut parts: Vec<Vec<Part>> = (0..partitions).map(|_| Vec::new()).collect();
        let mut from = 0;
        for worker in 0..workers {
            let rest = self.ids.len() - from;
            let rows = if worker + 1 == workers { rest } else { random.below(rest as u64 + 1) as usize };
            let mut accumulator = self.function.accumulator();
            let mut known: Vec<u32> = Vec::new();
            let end = from + rows;
            while from < end {
                let rows = (1 + random.below(80) as usize).min(end - from);
                let local: Vec<u32> = self.ids[from..from + rows]
                    .iter()
                    .map(|id| match known.iter().position(|known| known == id) {
                        Some(at) => at as u32,
                        None => {
                            known.push(*id);
                            known.len() as u32 - 1
                        }
                    })
                    .collect();
                accumulator.update(GroupIds::Each(&local), known.len(), &self.rows(from, rows), rows).unwrap();
                from += rows;
            }
            let lists: Vec<Vec<u32>> = (0..partitions)
                .map(|partition| {
                    let mut list: Vec<u32> = (0..known.len() as u32)
                        .filter(|&at| known[at as usize] as usize % partitions == partition)
                        .collect();
                    list.reverse();
                    list
                })
                .collect();
            for (at, part) in lists.iter().map(|list| accumulator.take(list).unwrap()).enumerate() {
                parts[at].push((part, lists[at].iter().map(|&local| known[local as usize]).collect()));
            }
        }
        let mut values = vec![Value::Null; self.groups];
        for (partition, parts) in parts.into_iter().enumerate() {
            let of_partition: Vec<u32> =
                (0..self.groups as u32).filter(|id| *id as usize % partitions == partition).collect();
            let mut merged = self.function.accumulator();
            for (mut part, groups) in parts {
                let to: Vec<u32> = groups.iter().map(|group| group / partitions as u32).collect();
                if random.below(2) == 0 {
                    merged.merge(part, &to, of_partition.len()).unwrap();
                    continue;
                }
                let mut bytes = Vec::new();
                to.iter().enumerate().for_each(|(group, _)| part.serialize(group, &mut bytes).unwrap());
                let mut left = &bytes[..];
                to.iter().for_each(|&group| merged.merge_serialized(group as usize, &mut left).unwrap());
                assert!(left.is_empty(), "{:?}: a state is longer than what is read of it", self.function);
                // No part of a state is a state of any other length, unless nothing is missing.
                if let Some(end) = bytes.len().checked_sub(1) {
                    let (mut other, mut cut) = (self.function.accumulator(), &bytes[..end]);
                    let read = to.iter().try_for_each(|_| other.merge_serialized(0, &mut cut));
                    assert!(read.is_err(), "{:?}: a state that is cut off is read", self.function);
                }
            }
            let column = merged.finish(of_partition.len()).unwrap();
            of_partition.iter().enumerate().for_each(|(at, &group)| values[group as usize] = column.value(at));
        }
        values
    }
}

fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Float64(left), Value::Float64(right)) if left.is_nan() => right.is_nan(),
        (Value::Float64(left), Value::Float64(right)) => (left - right).abs() <= 1e-9 * left.abs().max(1.0),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right.iter()).all(|(left, right)| same(left, right))
        }
        _ => left == right,
    }
}

/// Arrays whose order is not promised, sorted.
fn sorted(name: &str, value: Value) -> Value {
    match value {
        Value::Array(items) if name.starts_with("topK") => {
            let mut items = items.to_vec();
            items.sort_by(Value::compare);
            Value::Array(items.into())
        }
        other => other,
    }
}

#[test]
fn any_split_gives_the_same() {
    let mut random = Random(1);
    for (name, parameters, columns) in CALLS {
        for _ in 0..12 {
            let rows = random.below(700) as usize;
            let groups = 1 + random.below(60) as usize;
            let table = table(&mut random, rows);
            let arguments: Vec<Column> = columns.iter().map(|column| table[column].clone()).collect();
            let types: Vec<DataType> = arguments.iter().map(|column| column.data_type().clone()).collect();
            let parameters: Vec<Value> = parameters
                .iter()
                .map(
                    |&number| {
                        if name.contains("quant") { Value::Float64(number) } else { Value::UInt64(number as u64) }
                    },
                )
                .collect();
            let function = resolve_aggregate(name, &parameters, &types).unwrap();
            let ids: Vec<u32> = (0..rows).map(|_| random.below(groups as u64) as u32).collect();
            let case = Case { function: &*function, arguments, ids: &ids, groups };
            let at_once = case.at_once(&mut random);
            assert_eq!(at_once.data_type(), function.return_type(), "{name}{columns:?}");
            assert_eq!(at_once.rows(), groups);
            let split = case.split(&mut random);
            for (group, split) in split.into_iter().enumerate() {
                let (whole, split) = (sorted(name, at_once.value(group)), sorted(name, split));
                assert!(same(&whole, &split), "{name}{columns:?}: {whole} at once, {split} merged");
            }
            for direct in direct_results(&case) {
                for group in 0..groups {
                    let (whole, other) = (sorted(name, at_once.value(group)), sorted(name, direct.value(group)));
                    assert!(same(&whole, &other), "{name}{columns:?}: {whole} by Each, {other} by another kind of ids");
                }
            }
        }
    }
}

/// The results by 8-bit and 16-bit group ids, and group by group through `Single`.
fn direct_results(case: &Case<'_>) -> Vec<Column> {
    let rows = case.ids.len();
    let by = |ids: GroupIds<'_>| {
        let mut accumulator = case.function.accumulator();
        accumulator.update(ids, case.groups, &case.arguments, rows).unwrap();
        accumulator.finish(case.groups).unwrap()
    };
    let narrow: Vec<u8> = case.ids.iter().map(|&id| id as u8).collect();
    let middle: Vec<u16> = case.ids.iter().map(|&id| id as u16).collect();
    let mut singles = Vec::new();
    for group in 0..case.groups {
        let positions: Vec<u32> = (0..rows as u32).filter(|&row| case.ids[row as usize] as usize == group).collect();
        let arguments: Vec<Column> =
            case.arguments.iter().map(|column| column.take(&UInt32Array::from(positions.clone())).unwrap()).collect();
        let mut accumulator = case.function.accumulator();
        accumulator.update(GroupIds::Single, 1, &arguments, positions.len()).unwrap();
        singles.push(accumulator.finish(1).unwrap());
    }
    vec![by(GroupIds::Direct8(&narrow)), by(GroupIds::Direct16(&middle)), Column::concat(&singles).unwrap()]
}

/// What a function of one argument should give for these values, NULLs left out.
fn model(name: &str, values: &[Value]) -> Option<Value> {
    let numbers = || values.iter().filter_map(Value::as_f64);
    Some(match name {
        "count" => Value::UInt64(values.len() as u64),
        "uniqExact" | "uniq" | "uniqCombined" | "countDistinct" => {
            Value::UInt64(values.iter().map(ToString::to_string).collect::<BTreeSet<_>>().len() as u64)
        }
        "min" => values.iter().min_by(|left, right| left.compare(right))?.clone(),
        "max" => values.iter().max_by(|left, right| left.compare(right))?.clone(),
        "avg" => Value::Float64(numbers().sum::<f64>() / values.len() as f64),
        "any" => values.first()?.clone(),
        "anyLast" => values.last()?.clone(),
        "groupArray" => Value::Array(values.into()),
        "sum" => match values.first()? {
            Value::UInt64(_) => Value::UInt64(values.iter().filter_map(Value::as_u64).fold(0, u64::wrapping_add)),
            Value::Int64(_) => Value::Int64(values.iter().filter_map(Value::as_i64).sum()),
            _ => Value::Float64(numbers().sum()),
        },
        "varPop" => {
            let mean = numbers().sum::<f64>() / values.len() as f64;
            Value::Float64(numbers().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64)
        }
        "quantileExact" => {
            let mut values = values.to_vec();
            values.sort_by(Value::compare);
            values.get(values.len() / 2)?.clone()
        }
        "groupBitXor" => Value::Int64(values.iter().filter_map(Value::as_i64).fold(0, |left, right| left ^ right)),
        _ => return None,
    })
}

#[test]
fn results_are_the_naive_models() {
    let mut random = Random(2);
    for name in [
        "count",
        "sum",
        "min",
        "max",
        "avg",
        "any",
        "anyLast",
        "uniq",
        "uniqExact",
        "uniqCombined",
        "groupArray",
        "varPop",
        "quantileExact",
        "countDistinct",
    ] {
        for column in ["u8", "u16", "i16", "i64", "f64", "date", "text", "fixed", "nullable", "dictionary"] {
            let rows = 500;
            let table = table(&mut random, rows);
            let argument = &table[column];
            let Ok(function) = resolve_aggregate(name, &[], &[argument.data_type().clone()]) else {
                assert!(["text", "fixed", "date", "dictionary"].contains(&column), "{name}({column})");
                continue;
            };
            // The model neither rounds to days nor wraps.
            if name == "avg" && ["date", "u64"].contains(&column) {
                continue;
            }
            let groups = 20;
            let ids: Vec<u32> = (0..rows).map(|_| random.below(groups) as u32).collect();
            let mut accumulator = function.accumulator();
            accumulator.update(GroupIds::Each(&ids), groups as usize, std::slice::from_ref(argument), rows).unwrap();
            let column_of_results = accumulator.finish(groups as usize).unwrap();
            for group in 0..groups as usize {
                let values: Vec<Value> = (0..rows)
                    .filter(|&row| ids[row] as usize == group)
                    .map(|row| argument.value(row))
                    .filter(|value| !value.is_null())
                    .collect();
                if let Some(expected) = model(name, &values) {
                    let found = column_of_results.value(group);
                    assert!(same(&found, &expected), "{name}({column}): {found}, the model says {expected}");
                }
            }
        }
    }
}

#[test]
fn estimates_of_many_values_are_near() {
    for (name, error_max) in [("uniq", 0.02), ("uniqCombined", 0.02), ("uniqHLL12", 0.1)] {
        let function = resolve_aggregate(name, &[], &[DataType::UInt64]).unwrap();
        for count in [10_000_u64, 100_000, 1_000_000] {
            let mut workers: Vec<Box<dyn Accumulator>> = Vec::new();
            for part in 0..2 {
                let values: Vec<u64> = (count / 3 * part..count / 3 * (part + 2)).collect();
                let rows = values.len();
                let column = Column::from_primitive::<arrow_array::types::UInt64Type>(DataType::UInt64, values);
                let mut accumulator = function.accumulator();
                accumulator.update(GroupIds::Single, 1, &[column], rows).unwrap();
                workers.push(accumulator);
            }
            let mut merged = function.accumulator();
            workers.into_iter().for_each(|worker| merged.merge(worker, &[0], 1).unwrap());
            let estimate = merged.finish(1).unwrap().value(0).as_f64().unwrap();
            let truth = (count / 3 * 3) as f64;
            assert!((estimate - truth).abs() / truth < error_max, "{name} of {truth}: {estimate}");
        }
    }
}

#[test]
fn samples_of_many_values_are_near() {
    let function = resolve_aggregate("quantiles", &[0.1, 0.5, 0.9].map(Value::Float64), &[DataType::UInt64]);
    let function = function.unwrap();
    let mut merged = function.accumulator();
    for worker in 0..3_u64 {
        let values: Vec<u64> = (0..100_000 * (worker + 1)).map(|at| at % 100_000).collect();
        let rows = values.len();
        let column = Column::from_primitive::<arrow_array::types::UInt64Type>(DataType::UInt64, values);
        let mut accumulator = function.accumulator();
        accumulator.update(GroupIds::Single, 1, &[column], rows).unwrap();
        merged.merge(accumulator, &[0], 1).unwrap();
    }
    let Value::Array(levels) = merged.finish(1).unwrap().value(0) else { panic!("quantiles is not an array") };
    for (found, expected) in levels.iter().zip([10_000.0, 50_000.0, 90_000.0]) {
        assert!((found.as_f64().unwrap() - expected).abs() < 2_500.0, "{levels:?}");
    }
}

#[test]
fn constants_are_taken() {
    let function = resolve_aggregate("sum", &[], &[DataType::UInt8]).unwrap();
    let column = Column::constant(DataType::UInt8, &Value::UInt64(3), 10).unwrap();
    let mut accumulator = function.accumulator();
    accumulator.update(GroupIds::Single, 1, &[column], 10).unwrap();
    assert_eq!(accumulator.finish(1).unwrap().value(0), Value::UInt64(30));
}

#[test]
fn counts_past_a_lane_are_kept() {
    // More rows than 32 bits count cannot be tried in a test; folding is forced through merges instead.
    let function = resolve_aggregate("count", &[], &[]).unwrap();
    let ids = vec![7_u16; 100_000];
    let mut merged = function.accumulator();
    for _ in 0..5 {
        let mut accumulator = function.accumulator();
        accumulator.update(GroupIds::Direct16(&ids), 8, &[], ids.len()).unwrap();
        accumulator.update(GroupIds::Each(&[7; 10]), 20_000, &[], 10).unwrap();
        let part = accumulator.take(&[0, 7]).unwrap();
        merged.merge(part, &[1, 0], 2).unwrap();
    }
    assert_eq!(merged.finish(2).unwrap().value(0), Value::UInt64(500_050));
}
