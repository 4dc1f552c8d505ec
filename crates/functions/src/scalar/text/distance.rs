//! How far apart or how like two strings are, by bytes or by characters.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use arrow_array::types::{Float64Type, UInt64Type};
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings};

/// The longest strings whose distance is computed: the work is the product of their lengths.
const BYTES_MAX: usize = 1 << 16;

#[derive(Clone, Copy)]
enum Measure {
    Number(fn(&[u8], &[u8]) -> Result<u64>),
    Share(fn(&[u8], &[u8]) -> Result<f64>),
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    call.strings([0, 1])?;
    let measure = match call.name {
        "byteHammingDistance" => Measure::Number(hamming),
        "damerauLevenshteinDistance" => Measure::Number(damerau),
        "editDistanceUTF8" => Measure::Number(|left, right| edit(&characters(left)?, &characters(right)?)),
        "jaroSimilarity" => Measure::Share(jaro),
        "jaroWinklerSimilarity" => Measure::Share(jaro_winkler),
        "stringJaccardIndex" => Measure::Share(|left, right| Ok(jaccard(left, right))),
        _ => Measure::Share(|left, right| Ok(jaccard(&characters(left)?, &characters(right)?))),
    };
    let is_product = !call.name.starts_with("byteHamming") && !call.name.starts_with("stringJaccard");
    let name = call.name;
    let check = move |left: &[u8], right: &[u8]| {
        checkpoint(if is_product { left.len().saturating_mul(right.len()) } else { left.len() + right.len() })?;
        if is_product && left.len().max(right.len()) > BYTES_MAX {
            return Err(Error::new(
                ErrorCode::TOO_LARGE_STRING_SIZE,
                format!("The string size is too big for function {name}, should be at most {BYTES_MAX}"),
            ));
        }
        Ok(())
    };
    match measure {
        Measure::Number(number) => call.bind(DataType::UInt64, move |arguments, rows| {
            let (lefts, rights) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
            let value = |row| {
                check(lefts.get(row), rights.get(row))?;
                number(lefts.get(row), rights.get(row))
            };
            let values = (0..rows).map(value).collect::<Result<_>>()?;
            Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, values))
        }),
        Measure::Share(share) => call.bind(DataType::Float64, move |arguments, rows| {
            let (lefts, rights) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
            let value = |row| {
                check(lefts.get(row), rights.get(row))?;
                share(lefts.get(row), rights.get(row))
            };
            let values = (0..rows).map(value).collect::<Result<_>>()?;
            Ok(Column::from_primitive::<Float64Type>(DataType::Float64, values))
        }),
    }
}

/// The characters of a text; a byte that is part of none counts as one.
fn characters(text: &[u8]) -> Result<Vec<u32>> {
    let mut characters = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        characters.extend(chunk.valid().chars().map(u32::from));
        characters.extend(chunk.invalid().iter().map(|byte| 0x11_0000 + u32::from(*byte)));
    }
    Ok(characters)
}

/// Bytes that differ in the same place; what one string is longer by differs.
fn hamming(left: &[u8], right: &[u8]) -> Result<u64> {
    let unlike = left.iter().zip(right).filter(|(left, right)| left != right).count();
    Ok((unlike + left.len().abs_diff(right.len())) as u64)
}

fn edit<T: PartialEq>(left: &[T], right: &[T]) -> Result<u64> {
    let mut row: Vec<u64> = (0..=right.len() as u64).collect();
    for (at, from) in left.iter().enumerate() {
        let (mut diagonal, mut before) = (at as u64, at as u64 + 1);
        for (to, cell) in right.iter().zip(row.iter_mut().skip(1)) {
            let replaced = diagonal + u64::from(from != to);
            diagonal = *cell;
            before = replaced.min(diagonal + 1).min(before + 1);
            *cell = before;
        }
        row[0] = at as u64 + 1;
    }
    Ok(row.last().copied().unwrap_or(0))
}

/// Levenshtein's distance where neighbours that changed places count once.
fn damerau(left: &[u8], right: &[u8]) -> Result<u64> {
    let width = right.len() + 1;
    let mut rows = [vec![0_u64; width], (0..width as u64).collect(), vec![0; width]];
    for (at, from) in left.iter().enumerate() {
        let [two_before, before, row] = &mut rows;
        row[0] = at as u64 + 1;
        for (to, other) in right.iter().enumerate() {
            let replaced = before[to] + u64::from(from != other);
            let mut least = replaced.min(before[to + 1] + 1).min(row[to] + 1);
            if at > 0 && to > 0 && left[at - 1] == *other && right[to - 1] == *from {
                least = least.min(two_before[to - 1] + 1);
            }
            row[to + 1] = least;
        }
        rows.rotate_left(1);
    }
    Ok(rows[1].last().copied().unwrap_or(0))
}

/// Jaro's similarity: of the bytes that both have near the same place, and of how many of them changed places.
fn jaro(left: &[u8], right: &[u8]) -> Result<f64> {
    if left.is_empty() || right.is_empty() {
        return Ok(0.0);
    }
    let reach = (left.len().max(right.len()) / 2).saturating_sub(1);
    let mut taken = vec![false; right.len()];
    let mut common = Vec::new();
    for (at, byte) in left.iter().enumerate() {
        let near = at.saturating_sub(reach)..(at + reach + 1).min(right.len());
        if let Some(found) = near.into_iter().find(|other| !taken[*other] && right[*other] == *byte) {
            taken[found] = true;
            common.push(*byte);
        }
    }
    if common.is_empty() {
        return Ok(0.0);
    }
    let in_right = right.iter().zip(&taken).filter(|(_, taken)| **taken).map(|(byte, _)| byte);
    let moved = common.iter().zip(in_right).filter(|(left, right)| left != right).count() / 2;
    let count = common.len() as f64;
    let shares = count / left.len() as f64 + count / right.len() as f64 + (count - moved as f64) / count;
    Ok(shares * (1.0 / 3.0))
}

/// Jaro's similarity and, where the strings are like each other already, their common start of up to four bytes.
fn jaro_winkler(left: &[u8], right: &[u8]) -> Result<f64> {
    let jaro = jaro(left, right)?;
    let common = left.iter().zip(right).take(4).take_while(|(left, right)| left == right).count();
    Ok(if jaro > 0.7 { jaro + 0.1 * common as f64 * (1.0 - jaro) } else { jaro })
}

/// How many of the different bytes or characters that there are both have.
fn jaccard<T: Copy + Eq + Hash>(left: &[T], right: &[T]) -> f64 {
    if left.is_empty() || right.is_empty() {
        return 0.0;
    }
    let (left, right): (HashSet<T>, HashSet<T>) = (left.iter().copied().collect(), right.iter().copied().collect());
    let both = left.intersection(&right).count();
    both as f64 / (left.len() + right.len() - both) as f64
}
