//! The Universal Transverse Mercator grid, by the series of Snyder ("Map Projections", USGS 1987) over the ellipsoid of WGS 84, and the
//! Military Grid Reference System, which writes its places as text.

use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, Result, Value, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings, floats, integers, string_column, value_column};

type Bound = Result<Arc<dyn BoundFunction>>;

/// The equator's radius in metres.
const RADIUS: f64 = 6_378_137.0;
const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// The square of the eccentricity.
const E2: f64 = FLATTENING * (2.0 - FLATTENING);
const E4: f64 = E2 * E2;
const E6: f64 = E4 * E2;
/// The square of the second eccentricity.
const SECOND: f64 = E2 / (1.0 - E2);
/// The scale along a zone's central meridian.
const SCALE: f64 = 0.9996;
const FALSE_EASTING: f64 = 500_000.0;
const FALSE_NORTHING: f64 = 10_000_000.0;
/// How long the meridian is to a latitude, as a share of `RADIUS`.
const MERIDIAN: f64 = 1.0 - E2 / 4.0 - 3.0 * E4 / 64.0 - 5.0 * E6 / 256.0;

/// The latitude bands from 80° South, of 8° each, the last of 12°.
const BANDS: &[u8; 20] = b"CDEFGHJKLMNPQRSTUVWX";
/// Letters of squares of 100 km, from west to east and from south to north.
const COLUMNS: &[u8; 24] = b"ABCDEFGHJKLMNPQRSTUVWXYZ";
const ROWS: &[u8; 20] = b"ABCDEFGHJKLMNPQRSTUV";
const SQUARE: f64 = 100_000.0;

/// A place on the grid.
#[derive(Clone, Copy)]
struct Place {
    easting: f64,
    northing: f64,
    zone: u8,
    band: u8,
}

fn out_of_bound(message: String) -> Error {
    Error::new(ErrorCode::ARGUMENT_OUT_OF_BOUND, message)
}

fn bad(message: String) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, message)
}

fn central(zone: u8) -> f64 {
    f64::from(zone) * 6.0 - 183.0
}

/// The zone of a place, with the exceptions of Norway and Svalbard.
fn zone_of(longitude: f64, latitude: f64) -> u8 {
    if (56.0..64.0).contains(&latitude) && (3.0..12.0).contains(&longitude) {
        return 32;
    }
    if (72.0..=84.0).contains(&latitude) {
        let bounds = [(0.0..9.0, 31), (9.0..21.0, 33), (21.0..33.0, 35), (33.0..42.0, 37)];
        if let Some((_, zone)) = bounds.iter().find(|(range, _)| range.contains(&longitude)) {
            return *zone;
        }
    }
    (((longitude + 180.0) / 6.0).floor() as i64 + 1).clamp(1, 60) as u8
}

fn band_of(latitude: f64) -> u8 {
    let at = ((latitude + 80.0) / 8.0).floor().clamp(0.0, 19.0) as usize;
    BANDS.get(at).copied().unwrap_or(b'X')
}

/// The latitude at which a band begins.
fn band_start(band: u8) -> Option<f64> {
    BANDS.iter().position(|known| *known == band).map(|at| at as f64 * 8.0 - 80.0)
}

fn to_grid(longitude: f64, latitude: f64, zone: Option<i64>, name: &str) -> Result<Place> {
    if !(-180.0..=180.0).contains(&longitude) {
        return Err(out_of_bound(format!("Longitude {longitude} is out of range [-180, 180] in function {name}")));
    }
    if !(-80.0..=84.0).contains(&latitude) {
        return Err(out_of_bound(format!("Latitude {latitude} is out of the UTM domain [-80, 84] in function {name}")));
    }
    let zone = match zone {
        Some(zone) => checked_zone(zone, name)?,
        None => zone_of(longitude, latitude),
    };
    let angle = latitude.to_radians();
    let (sine, cosine) = angle.sin_cos();
    let tangent = sine / cosine;
    let (t2, t4) = (tangent * tangent, tangent.powi(4));
    let n = RADIUS / (1.0 - E2 * sine * sine).sqrt();
    let c = SECOND * cosine * cosine;
    let a = cosine * (longitude.to_radians() - central(zone).to_radians());
    let (a2, a3, a4, a5, a6) = (a * a, a.powi(3), a.powi(4), a.powi(5), a.powi(6));
    let meridian = RADIUS
        * (MERIDIAN * angle - (3.0 * E2 / 8.0 + 3.0 * E4 / 32.0 + 45.0 * E6 / 1024.0) * (2.0 * angle).sin()
            + (15.0 * E4 / 256.0 + 45.0 * E6 / 1024.0) * (4.0 * angle).sin()
            - (35.0 * E6 / 3072.0) * (6.0 * angle).sin());
    let easting =
        SCALE * n * (a + a3 / 6.0 * (1.0 - t2 + c) + a5 / 120.0 * (5.0 - 18.0 * t2 + t4 + 72.0 * c - 58.0 * SECOND))
            + FALSE_EASTING;
    let northing = SCALE
        * (meridian
            + n * tangent
                * (a2 / 2.0
                    + a4 / 24.0 * (5.0 - t2 + 9.0 * c + 4.0 * c * c)
                    + a6 / 720.0 * (61.0 - 58.0 * t2 + t4 + 600.0 * c - 330.0 * SECOND)));
    let northing = if latitude < 0.0 { northing + FALSE_NORTHING } else { northing };
    Ok(Place { easting, northing, zone, band: band_of(latitude) })
}

/// Longitude and latitude of a place.
fn from_grid(easting: f64, northing: f64, zone: u8, is_north: bool) -> (f64, f64) {
    let x = easting - FALSE_EASTING;
    let y = if is_north { northing } else { northing - FALSE_NORTHING };
    let mu = y / SCALE / (RADIUS * MERIDIAN);
    let root = (1.0 - E2).sqrt();
    let e1 = (1.0 - root) / (1.0 + root);
    let foot = mu
        + (3.0 * e1 / 2.0 - 27.0 * e1.powi(3) / 32.0) * (2.0 * mu).sin()
        + (21.0 * e1 * e1 / 16.0 - 55.0 * e1.powi(4) / 32.0) * (4.0 * mu).sin()
        + (151.0 * e1.powi(3) / 96.0) * (6.0 * mu).sin();
    let (sine, cosine) = foot.sin_cos();
    let tangent = sine / cosine;
    let (t2, t4) = (tangent * tangent, tangent.powi(4));
    let flat = 1.0 - E2 * sine * sine;
    let n = RADIUS / flat.sqrt();
    let r = RADIUS * (1.0 - E2) / flat.powf(1.5);
    let c = SECOND * cosine * cosine;
    let d = x / (n * SCALE);
    let (d2, d3, d4, d5, d6) = (d * d, d.powi(3), d.powi(4), d.powi(5), d.powi(6));
    let latitude = foot
        - (n * tangent / r)
            * (d2 / 2.0 - d4 / 24.0 * (5.0 + 3.0 * t2 + 10.0 * c - 4.0 * c * c - 9.0 * SECOND)
                + d6 / 720.0 * (61.0 + 90.0 * t2 + 298.0 * c + 45.0 * t4 - 252.0 * SECOND - 3.0 * c * c));
    let longitude = (d - d3 / 6.0 * (1.0 + 2.0 * t2 + c)
        + d5 / 120.0 * (5.0 - 2.0 * c + 28.0 * t2 - 3.0 * c * c + 8.0 * SECOND + 24.0 * t4))
        / cosine;
    (central(zone) + longitude.to_degrees(), latitude.to_degrees())
}

fn checked_zone(zone: i64, name: &str) -> Result<u8> {
    u8::try_from(zone)
        .ok()
        .filter(|zone| (1..=60).contains(zone))
        .ok_or_else(|| bad(format!("UTM zone {zone} is out of range [1, 60] in function {name}")))
}

/// Checks that arguments are floats.
fn check_floats(call: &Call<'_>, names: &[&str]) -> Result<()> {
    for (at, name) in names.iter().enumerate() {
        if !call.type_of(at).is_float() {
            let place = ["1st", "2nd", "3rd", "4th"].get(at).copied().unwrap_or_default();
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "A value of illegal type was provided as {place} argument '{name}' to function '{}'. Expected: Float*, got: {}",
                    call.name,
                    call.type_of(at)
                ),
            ));
        }
    }
    Ok(())
}

/// `geoToUTM(longitude, latitude[, zone])`.
pub(super) fn resolve_to_utm(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    check_floats(call, &["longitude", "latitude"])?;
    call.integers([2])?;
    let result = DataType::named_tuple([
        ("easting", DataType::Float64),
        ("northing", DataType::Float64),
        ("zone", DataType::UInt8),
        ("band", DataType::FixedString(1)),
    ]);
    let name = call.name;
    call.bind(result.clone(), move |arguments, rows| {
        let (longitudes, latitudes) = (floats(arguments, 0, rows)?, floats(arguments, 1, rows)?);
        let zones = if arguments.len() > 2 { Some(integers(arguments, 2, rows)?) } else { None };
        value_column(&result, rows, |row| {
            let zone = zones.as_ref().map(|zones| zones[row]);
            let place = to_grid(longitudes[row], latitudes[row], zone, name)?;
            Ok(Value::Tuple(
                [
                    Value::Float64(place.easting),
                    Value::Float64(place.northing),
                    Value::UInt64(place.zone.into()),
                    Value::string([place.band]),
                ]
                .into(),
            ))
        })
    })
}

/// The type of places as longitude and latitude.
fn place_type() -> DataType {
    DataType::named_tuple([("longitude", DataType::Float64), ("latitude", DataType::Float64)])
}

fn place_value((longitude, latitude): (f64, f64)) -> Value {
    Value::Tuple([Value::Float64(longitude), Value::Float64(latitude)].into())
}

/// `UTMToGeo(easting, northing, zone, is_north or band)`.
pub(super) fn resolve_from_utm(call: &Call<'_>) -> Bound {
    call.arguments(4..=4)?;
    check_floats(call, &["easting", "northing"])?;
    call.integers([2])?;
    let has_band = call.type_of(3).is_string_or_fixed_string();
    if !has_band {
        call.integers([3])?;
    }
    let name = call.name;
    let result = place_type();
    call.bind(result.clone(), move |arguments, rows| {
        let (eastings, northings) = (floats(arguments, 0, rows)?, floats(arguments, 1, rows)?);
        let zones = integers(arguments, 2, rows)?;
        let is_north: Vec<bool> = if has_band {
            let bands = Strings::of(arguments, 3)?;
            let is_north = |row: usize| match bands.get(row) {
                [band] if band_start(band.to_ascii_uppercase()).is_some() => Ok(band.to_ascii_uppercase() >= b'N'),
                other => Err(bad(format!(
                    "The band argument of function {name} must be a single MGRS latitude band letter in 'C'..'X' \
                     (excluding 'I' and 'O', case-insensitive), but got '{}'",
                    String::from_utf8_lossy(other)
                ))),
            };
            (0..rows).map(is_north).collect::<Result<_>>()?
        } else {
            integers(arguments, 3, rows)?.into_iter().map(|flag| flag != 0).collect()
        };
        value_column(&result, rows, |row| {
            let zone = checked_zone(zones[row], name)?;
            Ok(place_value(from_grid(eastings[row], northings[row], zone, is_north[row])))
        })
    })
}

/// Where the columns' letters of a zone begin, and the row of the equator: both repeat every so many zones.
fn letters_of(zone: u8) -> (usize, usize) {
    let set = usize::from(zone - 1);
    (set % 3 * 8, set % 2 * 5)
}

/// `geoToMGRS(longitude, latitude[, digits])`.
pub(super) fn resolve_to_mgrs(call: &Call<'_>) -> Bound {
    call.arguments(2..=3)?;
    check_floats(call, &["longitude", "latitude"])?;
    call.integers([2])?;
    let name = call.name;
    call.bind(DataType::String, move |arguments, rows| {
        let (longitudes, latitudes) = (floats(arguments, 0, rows)?, floats(arguments, 1, rows)?);
        let digits = if arguments.len() > 2 { integers(arguments, 2, rows)? } else { vec![5; rows] };
        string_column(rows, 16 * rows, |out, row| {
            checkpoint(300)?;
            let digits = u32::try_from(digits[row]).ok().filter(|digits| *digits <= 5).ok_or_else(|| {
                out_of_bound(format!("Precision {} is out of range [0, 5] in function {name}", digits[row]))
            })?;
            let place = to_grid(longitudes[row], latitudes[row], None, name)?;
            let (first_column, first_row) = letters_of(place.zone);
            let column = (place.easting / SQUARE).floor() as usize;
            let row_of = (place.northing / SQUARE).floor() as usize;
            out.extend_from_slice(place.zone.to_string().as_bytes());
            out.push(place.band);
            out.push(COLUMNS.get((first_column + column.max(1) - 1) % COLUMNS.len()).copied().unwrap_or(b'A'));
            out.push(ROWS.get((first_row + row_of) % ROWS.len()).copied().unwrap_or(b'A'));
            if digits > 0 {
                let unit = 10_f64.powi(5 - digits as i32);
                for metres in [place.easting.rem_euclid(SQUARE), place.northing.rem_euclid(SQUARE)] {
                    let number = (metres / unit).floor() as u64;
                    out.extend_from_slice(format!("{number:0width$}", width = digits as usize).as_bytes());
                }
            }
            Ok(())
        })
    })
}

/// `MGRSToGeo(text)`: the middle of the square that the text names.
pub(super) fn resolve_from_mgrs(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let result = place_type();
    call.bind(result.clone(), move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        value_column(&result, rows, |row| Ok(place_value(read_mgrs(texts.get(row))?)))
    })
}

fn read_mgrs(whole: &[u8]) -> Result<(f64, f64)> {
    let wrong = |what: &str| bad(format!("Invalid MGRS string '{}': {what}", String::from_utf8_lossy(whole)));
    let text: Vec<u8> = whole.iter().filter(|byte| !byte.is_ascii_whitespace()).map(u8::to_ascii_uppercase).collect();
    let zone_digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (zone, rest) = text.split_at(zone_digits);
    let zone: u8 = std::str::from_utf8(zone)
        .ok()
        .and_then(|zone| zone.parse().ok())
        .filter(|zone| (1..=60).contains(zone))
        .ok_or_else(|| wrong("invalid zone number"))?;
    let [band, column, row, digits @ ..] = rest else { return Err(wrong("too short")) };
    let start = band_start(*band).ok_or_else(|| wrong("invalid latitude band letter"))?;
    let column = COLUMNS.iter().position(|known| known == column).ok_or_else(|| wrong("invalid column letter"))?;
    let row = ROWS.iter().position(|known| known == row).ok_or_else(|| wrong("invalid row letter"))?;
    if digits.len() % 2 != 0 {
        return Err(wrong("odd number of location digits"));
    }
    if digits.len() > 10 || !digits.iter().all(u8::is_ascii_digit) {
        return Err(wrong("invalid location digits"));
    }
    let (first_column, first_row) = letters_of(zone);
    let column = (column + COLUMNS.len() - first_column) % COLUMNS.len();
    if column >= 8 {
        return Err(wrong("column letter is not valid for the zone"));
    }
    let row = (row + ROWS.len() - first_row) % ROWS.len();
    let (east, north) = digits.split_at(digits.len() / 2);
    let unit = 10_f64.powi(5 - east.len() as i32);
    let within = |digits: &[u8]| {
        let number = digits.iter().fold(0u32, |number, digit| number * 10 + u32::from(digit - b'0'));
        (f64::from(number) + 0.5) * unit
    };
    let is_north = *band >= b'N';
    let easting = (column as f64 + 1.0) * SQUARE + within(east);
    // Rows repeat every 2,000 km: the one is meant that lies in the band.
    let least = to_grid(central(zone), start, Some(zone.into()), "MGRSToGeo")?.northing;
    let mut northing = row as f64 * SQUARE + within(north);
    while northing < least - SQUARE {
        northing += ROWS.len() as f64 * SQUARE;
    }
    Ok(from_grid(easting, northing, zone, is_north))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_back_from_the_grid() {
        for (longitude, latitude) in [(4.89, 52.36), (-70.5, -33.4), (151.2, -33.86), (20.0, 78.0)] {
            let place = to_grid(longitude, latitude, None, "").unwrap();
            let back = from_grid(place.easting, place.northing, place.zone, place.band >= b'N');
            // A tenth of a metre: Svalbard's zones are so wide that the series ends early there.
            assert!((back.0 - longitude).abs() < 1e-6 && (back.1 - latitude).abs() < 1e-6, "{back:?}");
        }
    }
}
