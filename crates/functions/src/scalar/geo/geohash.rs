//! Geohashes: places as short texts whose first letters are those of larger boxes around them.

use std::sync::Arc;

use arrow_array::types::Float64Type;
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::array::list_column;
use crate::scalar::simple::{Call, Strings, StringsBuilder, floats, integers, string_column};
use crate::scalar::tuple::from_elements;

type Bound = Result<Arc<dyn BoundFunction>>;

const LETTERS: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";

/// Letters at most, and where nothing is said.
const LETTERS_MAX: u32 = 12;

/// Bits of longitude and of latitude in so many letters: longitude has the first.
fn bits(letters: u32) -> (u32, u32) {
    ((letters * 5).div_ceil(2), letters * 5 / 2)
}

/// A coordinate as a number of so many bits.
fn encoded(value: f64, from: f64, to: f64, bits: u32) -> u64 {
    let cells = (1_u64 << bits) as f64;
    let place = (value.clamp(from, to) - from) / (to - from) * cells;
    (place as u64).min((1 << bits) - 1)
}

fn append(out: &mut Vec<u8>, longitude: u64, latitude: u64, letters: u32) {
    let (of_longitude, of_latitude) = bits(letters);
    let mut places = [of_longitude, of_latitude];
    let values = [longitude, latitude];
    let mut side = 0;
    for _ in 0..letters {
        let mut letter = 0;
        for _ in 0..5 {
            places[side] -= 1;
            letter = letter << 1 | (values[side] >> places[side] & 1) as usize;
            side = 1 - side;
        }
        out.push(LETTERS.get(letter).copied().unwrap_or(b'0'));
    }
}

fn letters(precision: i64) -> u32 {
    u32::try_from(precision).ok().filter(|letters| (1..=LETTERS_MAX).contains(letters)).unwrap_or(LETTERS_MAX)
}

/// `geohashEncode(longitude, latitude[, letters])`.
pub(super) fn resolve_encode(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    for (at, name, ordinal) in [(0, "longitude", "1st"), (1, "latitude", "2nd")] {
        if !call.type_of(at).is_float() {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "A value of illegal type was provided as {ordinal} argument '{name}' to function '{}'. Expected: \
                     Float*, got: {}",
                    call.name,
                    call.type_of(at)
                ),
            ));
        }
    }
    call.integers([2])?;
    call.bind(DataType::String, |arguments, rows| {
        let (longitudes, latitudes) = (floats(arguments, 0, rows)?, floats(arguments, 1, rows)?);
        let precisions = if arguments.len() > 2 { integers(arguments, 2, rows)? } else { vec![0; rows] };
        string_column(rows, rows * 12, |out, row| {
            let letters = letters(precisions[row]);
            let (of_longitude, of_latitude) = bits(letters);
            let longitude = encoded(longitudes[row], -180.0, 180.0, of_longitude);
            append(out, longitude, encoded(latitudes[row], -90.0, 90.0, of_latitude), letters);
            Ok(())
        })
    })
}

/// `geohashDecode(text)`: the middle of its box; (0, 0) for what is none.
pub(super) fn resolve_decode(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let result = DataType::named_tuple([("longitude", DataType::Float64), ("latitude", DataType::Float64)]);
    call.bind(result.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let (mut longitudes, mut latitudes) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for row in 0..rows {
            let (longitude, latitude) = decoded(texts.get(row)).unwrap_or((0.0, 0.0));
            longitudes.push(longitude);
            latitudes.push(latitude);
        }
        let columns =
            [longitudes, latitudes].map(|values| Column::from_primitive::<Float64Type>(DataType::Float64, values));
        from_elements(&result, &columns, rows)
    })
}

fn decoded(text: &[u8]) -> Option<(f64, f64)> {
    let text = text.get(..LETTERS_MAX as usize).unwrap_or(text);
    if text.is_empty() {
        return None;
    }
    let (mut values, mut counts, mut side) = ([0_u64; 2], [0_u32; 2], 0);
    for byte in text {
        // What is no letter counts as the last one.
        let letter = LETTERS.iter().position(|letter| *letter == byte.to_ascii_lowercase()).unwrap_or(31);
        for bit in (0..5).rev() {
            values[side] = values[side] << 1 | (letter >> bit & 1) as u64;
            counts[side] += 1;
            side = 1 - side;
        }
    }
    let middle = |side: usize, from: f64, to: f64| {
        let cells = (1_u64 << counts[side]) as f64;
        from + (to - from) * (values[side] as f64 + 0.5) / cells
    };
    Some((middle(0, -180.0, 180.0), middle(1, -90.0, 90.0)))
}

/// Boxes that one row may give.
const BOXES_MAX: u64 = 10_000_000;

/// `geohashesInBox(min longitude, min latitude, max longitude, max latitude, letters)`.
pub(super) fn resolve_box(call: &Call<'_>) -> Bound {
    call.arguments(5..=5)?;
    call.each(0..4, DataType::is_float)?;
    call.integers([4])?;
    call.bind(DataType::array(DataType::String), |arguments, rows| {
        let sides = [0, 1, 2, 3].map(|at| floats(arguments, at, rows));
        let [west, south, east, north] = sides;
        let (west, south, east, north) = (west?, south?, east?, north?);
        let precisions = integers(arguments, 4, rows)?;
        let (mut hashes, mut ends, mut count) = (StringsBuilder::new(rows, 0)?, vec![0], 0);
        for row in 0..rows {
            let letters = letters(precisions[row]);
            let (of_longitude, of_latitude) = bits(letters);
            let is_box = west[row] <= east[row] && south[row] <= north[row];
            if is_box {
                let along = |value: f64| encoded(value, -180.0, 180.0, of_longitude);
                let up = |value: f64| encoded(value, -90.0, 90.0, of_latitude);
                let from = (along(west[row]), up(south[row]));
                // A box that lies beyond the map's edge is the one cell at its corner.
                let is_beyond = west[row] > 180.0 || south[row] > 90.0;
                let to = if is_beyond { from } else { (along(east[row]), up(north[row])) };
                let boxes = (to.0 - from.0 + 1).saturating_mul(to.1 - from.1 + 1);
                if boxes > BOXES_MAX {
                    return Err(Error::new(
                        ErrorCode::TOO_LARGE_ARRAY_SIZE,
                        format!("geohashesInBox would produce {boxes} array elements, which is bigger than the allowed maximum of {BOXES_MAX}"),
                    ));
                }
                for longitude in from.0..=to.0 {
                    for latitude in from.1..=to.1 {
                        checkpoint(64)?;
                        append(&mut hashes.bytes, longitude, latitude, letters);
                        hashes.end_row()?;
                        count += 1;
                    }
                }
            }
            ends.push(count);
        }
        list_column(&DataType::String, ends, hashes.finish()?.to_array()?)
    })
}
