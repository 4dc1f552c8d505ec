//! What a row costs in the hot aggregate functions, beside the bare loop that counts 16-bit keys:
//! `cargo run --release -p squall-functions --example aggregate_speed`. One thread; the best of several rounds over 8,873,898 rows
//! in blocks of 65,536.

use std::time::Instant;

use arrow_array::types::{ArrowPrimitiveType, Int16Type, UInt8Type, UInt16Type, UInt64Type};
use squall_functions::{GroupIds, resolve_aggregate};
use squall_types::{Column, DataType};

const ROWS: usize = 8_873_898;
const BLOCK: usize = 65_536;
const ROUNDS: usize = 5;

fn main() {
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    // A dozen common widths and a long tail, as screens have them.
    let common = [1366_u16, 1920, 1280, 1024, 1440, 1600, 1680, 360, 320, 768, 800, 414];
    let widths: Vec<u16> = (0..ROWS)
        .map(|_| if random() % 20 == 0 { (random() % 4000) as u16 } else { common[(random() % 12) as usize] })
        .collect();
    // Heavy-tailed users: half of the rows belong to a hundredth of them.
    let users: Vec<u64> = (0..ROWS)
        .map(|_| {
            let user = if random() % 2 == 0 { random() % 15_000 } else { random() % 1_500_000 };
            user.wrapping_mul(0x9E37_79B9_7F4A_7C15)
        })
        .collect();
    let ids: Vec<u32> = widths.iter().map(|&width| u32::from(width)).collect();
    let many_ids: Vec<u32> = (0..ROWS).map(|_| (random() % 1_000_000) as u32).collect();

    let bare = best(|| {
        let mut tables = vec![[0_u32; 65_536]; 4];
        let (chunks, rest) = widths.as_chunks::<4>();
        for chunk in chunks {
            for (table, &key) in tables.iter_mut().zip(chunk) {
                table[usize::from(key)] += 1;
            }
        }
        rest.iter().for_each(|&key| tables[0][usize::from(key)] += 1);
        tables.iter().map(|table| u64::from(table[1366])).sum()
    });
    report("the bare loop", bare);

    let no_columns: &[Column] = &[];
    let width = &[column::<UInt16Type>(DataType::UInt16, widths.clone())];
    let narrow = &[column::<UInt8Type>(DataType::UInt8, widths.iter().map(|&width| width as u8).collect())];
    let signed = &[column::<Int16Type>(DataType::Int16, widths.iter().map(|&width| width as i16).collect())];
    let user = &[column::<UInt64Type>(DataType::UInt64, users)];
    let each = Ids::Each(&ids);
    let many = Ids::Each(&many_ids);
    let direct = Ids::Direct16(&widths);

    for (name, arguments, ids, groups) in [
        ("count", no_columns, direct, 65_536),
        ("count", no_columns, each, 4000),
        ("count", no_columns, many, 1_000_000),
        ("sum", width, Ids::Single, 1),
        ("sum", signed, Ids::Single, 1),
        ("sum", narrow, Ids::Single, 1),
        ("sum", user, Ids::Single, 1),
        ("sum", user, direct, 65_536),
        ("sum", width, each, 4000),
        ("sum", width, many, 1_000_000),
        ("min", width, Ids::Single, 1),
        ("max", user, direct, 65_536),
        ("avg", width, Ids::Single, 1),
        ("avg", width, direct, 65_536),
        ("avg", width, many, 1_000_000),
        ("uniqExact", user, Ids::Single, 1),
        ("uniqExact", width, Ids::Single, 1),
        ("uniqExact", user, many, 1_000_000),
        ("uniq", user, Ids::Single, 1),
        ("uniqCombined", user, Ids::Single, 1),
        ("quantile", user, Ids::Single, 1),
        ("countIf", narrow, Ids::Single, 1),
        ("countIf", narrow, direct, 65_536),
    ] {
        let label = format!(
            "{name}({}) by {}",
            arguments.first().map_or(String::new(), |a| a.data_type().to_string()),
            ids.name()
        );
        let types: Vec<DataType> = arguments.iter().map(|argument| argument.data_type().clone()).collect();
        let function = match resolve_aggregate(name, &[], &types) {
            Ok(function) => function,
            Err(error) => return eprintln!("{label}: {error}"),
        };
        let nanoseconds = best(|| {
            let mut accumulator = function.accumulator();
            let mut from = 0;
            while from < ROWS {
                let rows = BLOCK.min(ROWS - from);
                let arguments: Vec<Column> = arguments.iter().map(|argument| argument.slice(from, rows)).collect();
                if let Err(error) = accumulator.update(ids.slice(from, rows), groups, &arguments, rows) {
                    eprintln!("{label}: {error}");
                }
                from += rows;
            }
            accumulator.finish(groups).map_or(0, |column| column.rows() as u64)
        });
        report(&label, nanoseconds);
    }
}

#[derive(Clone, Copy)]
enum Ids<'a> {
    Single,
    Direct16(&'a [u16]),
    Each(&'a [u32]),
}

impl<'a> Ids<'a> {
    fn slice(&self, from: usize, rows: usize) -> GroupIds<'a> {
        match self {
            Self::Single => GroupIds::Single,
            Self::Direct16(ids) => GroupIds::Direct16(&ids[from..from + rows]),
            Self::Each(ids) => GroupIds::Each(&ids[from..from + rows]),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Single => "nothing".to_owned(),
            Self::Direct16(_) => "16-bit keys".to_owned(),
            Self::Each(ids) => format!("{} groups", ids.iter().max().map_or(0, |id| id + 1)),
        }
    }
}

fn column<T: ArrowPrimitiveType>(data_type: DataType, values: Vec<T::Native>) -> Column {
    Column::from_primitive::<T>(data_type, values)
}

/// Nanoseconds of the fastest of some rounds.
fn best(mut work: impl FnMut() -> u64) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        std::hint::black_box(work());
        best = best.min(start.elapsed().as_nanos() as f64);
    }
    best
}

fn report(label: &str, nanoseconds: f64) {
    println!("{label:45} {:8.2} ms {:7.3} ns a row", nanoseconds / 1e6, nanoseconds / ROWS as f64);
}
