//! Values of other rows, wherever in the input these are: `lag`, `lead`, `nth_value` and their kin.

use std::collections::BTreeMap;

use arrow_array::{Array, UInt32Array};
use squall_functions::{OtherRows, WindowRows};
use squall_runtime::Pieces;
use squall_types::cast::{CastOptions, cast};
use squall_types::gather::interleave;
use squall_types::memory::reserve;
use squall_types::{Column, Error, Result};

use super::reader::{Loaded, Reader};

/// The results of a call for rows of a block; `arguments` are theirs.
pub(super) async fn results(
    call: usize,
    function: &dyn OtherRows,
    rows: &WindowRows<'_>,
    arguments: &[Column],
    reader: &mut Reader<'_>,
    pieces: &mut Pieces,
) -> Result<Column> {
    let value = arguments.first().ok_or_else(|| Error::logical("a function of other rows without a value"))?;
    let data_type = value.data_type().clone();
    let positions = function.positions(rows, arguments)?;
    let (sources, places) = sources(call, &positions, reader, pieces).await?;
    if let ([source], true) = (&sources[..], positions.iter().all(Option::is_some)) {
        let in_order = places.iter().enumerate().all(|(row, (_, at))| row == *at);
        return if in_order && source.rows() == places.len() {
            Ok(source.clone())
        } else {
            source.take(&places.iter().map(|(_, at)| Some(*at as u32)).collect::<UInt32Array>())
        };
    }
    let defaults = match function.defaults(arguments) {
        Some(defaults) => cast(defaults, &data_type, &CastOptions::default())?,
        None => Column::default_values(data_type.clone(), rows.rows())?,
    };
    // Defaults come after the values: all of them, or the only one.
    let is_constant = defaults.is_constant();
    let defaults = if is_constant { defaults.slice(0, 1) } else { defaults };
    let behind = sources.len();
    let place = |(row, (source, at)): (usize, &(usize, usize))| match positions[row] {
        Some(_) => (*source, *at),
        None => (behind, if is_constant { 0 } else { row }),
    };
    let places: Vec<(usize, usize)> = places.iter().enumerate().map(place).collect();
    let all = sources.iter().chain([&defaults]);
    reserve(all.clone().map(Column::value_bytes).sum())?;
    let arrays = all.map(Column::to_array).collect::<Result<Vec<_>>>()?;
    let arrays: Vec<&dyn Array> = arrays.iter().map(|array| &**array).collect();
    pieces.pause().await;
    Ok(Column::new(data_type, interleave(&arrays, &places)?))
}

/// The values at these positions by block, and where each is among them; anywhere for rows without one.
async fn sources(
    call: usize,
    positions: &[Option<u64>],
    reader: &mut Reader<'_>,
    pieces: &mut Pieces,
) -> Result<(Vec<Column>, Vec<(usize, usize)>)> {
    let mut of_block: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    let mut places = Vec::with_capacity(positions.len());
    let mut rows = 0..0;
    let mut number = 0;
    for position in positions {
        let Some(position) = position else {
            places.push((0, 0));
            continue;
        };
        if !rows.contains(position) {
            number = reader.input.block_of(*position);
            rows = reader.input.rows_of(number);
        }
        let taken = of_block.entry(number).or_default();
        places.push((number, taken.len()));
        taken.push((position - rows.start) as u32);
    }
    pieces.pause().await;
    let mut sources = Vec::with_capacity(of_block.len());
    let mut numbers = BTreeMap::new();
    for (number, rows) in of_block {
        let loaded = reader.block(number).await?;
        numbers.insert(number, sources.len());
        sources.push(taken(call, &loaded, rows, reader)?);
        pieces.pause().await;
    }
    for (source, _) in &mut places {
        *source = numbers.get(source).copied().unwrap_or(0);
    }
    Ok((sources, places))
}

/// The call's first argument in these rows of a block.
fn taken(call: usize, loaded: &Loaded, rows: Vec<u32>, reader: &Reader<'_>) -> Result<Column> {
    let values = loaded.arguments(call, reader.window)?.first();
    let values = values.ok_or_else(|| Error::logical("a function of other rows without a value"))?;
    let first = rows.first().copied().unwrap_or(0);
    if rows.iter().enumerate().all(|(at, row)| *row == first + at as u32) {
        return Ok(values.slice(first as usize, rows.len()));
    }
    values.take(&UInt32Array::from(rows))
}
