//! What `LIKE '%needle%'` costs, beside searches that look for less at once: `cargo run --release -p squall-functions --example
//! substring_search`. One thread; the best of several rounds over 1,000,000 URLs, which lie one behind the other as in a column. The
//! searches take turns.

mod urls;

use std::hint::black_box;
use std::time::Instant;

use arrow_array::types::UInt8Type;
use memchr::{memchr, memmem};
use squall_functions::{Argument, FunctionContext, resolve_scalar};
use squall_types::{Column, DataType, Value};

use urls::urls;

const ROWS: usize = 1_000_000;
const ROUNDS: usize = 7;

/// Rows that hold the needle, by a search that gives the needle's next place from a position on.
fn rows_with(urls: &[String], find: impl Fn(&[u8]) -> Option<usize>) -> usize {
    urls.iter().filter(|url| find(url.as_bytes()).is_some()).count()
}

/// As ClickHouse did before it compared two characters: candidates are places of the first one.
fn by_first(data: &[u8], needle: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        from += memchr(needle[0], &data[from..])?;
        if data[from..].starts_with(needle) {
            return Some(from);
        }
        from += 1;
    }
}

/// Without looking for several places at once.
fn by_windows(data: &[u8], needle: &[u8]) -> Option<usize> {
    data.windows(needle.len()).position(|window| window == needle)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = FunctionContext::outside_queries("UTC");
    let urls = urls(ROWS);
    let bytes: usize = urls.iter().map(String::len).sum();
    let column = Column::from_strings(&urls);
    println!("GB/s over {} bytes a URL", bytes / ROWS);
    println!(
        "| needle | rows | LIKE | memmem, row by row | first byte | byte by byte |\n| --- | --- | --- | --- | --- | --- |"
    );
    for needle in ["google", "path/77", "page-123456", "zzz", "e"] {
        let pattern = Value::from(format!("%{needle}%").as_str());
        let arguments =
            [Argument::of(DataType::String), Argument { data_type: DataType::String, constant: Some(pattern.clone()) }];
        let like = resolve_scalar("like", &arguments, &context)?;
        let bytes_of_needle = needle.as_bytes();
        let finder = memmem::Finder::new(bytes_of_needle);
        let arguments = [column.clone(), Column::constant(DataType::String, &pattern, ROWS)?];
        let count_like = || {
            let mask = like.execute(&arguments, ROWS);
            let mask = mask.as_ref().ok().and_then(|mask| mask.as_primitive::<UInt8Type>().ok());
            mask.map_or(0, |mask| mask.values().iter().map(|held| usize::from(*held)).sum())
        };
        let searches: [&dyn Fn() -> usize; 4] = [
            &count_like,
            &|| rows_with(&urls, |url| finder.find(url)),
            &|| rows_with(&urls, |url| by_first(url, bytes_of_needle)),
            &|| rows_with(&urls, |url| by_windows(url, bytes_of_needle)),
        ];
        let mut best = [f64::INFINITY; 4];
        let mut found = [0; 4];
        for _ in 0..ROUNDS {
            for ((search, best), found) in searches.iter().zip(&mut best).zip(&mut found) {
                let begun = Instant::now();
                *found = black_box(search());
                *best = best.min(begun.elapsed().as_secs_f64());
            }
        }
        if found.iter().any(|rows| *rows != found[0]) {
            return Err(format!("{needle}: {found:?} rows").into());
        }
        let speeds: Vec<String> = best.iter().map(|seconds| format!("{:.2}", bytes as f64 / seconds / 1e9)).collect();
        println!("| `{needle}` | {} | {} |", found[0], speeds.join(" | "));
    }
    Ok(())
}
