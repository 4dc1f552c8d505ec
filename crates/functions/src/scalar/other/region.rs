//! Regions of embedded dictionaries: what lies in what, and names.

use std::sync::Arc;

use arrow_array::types::{UInt8Type, UInt32Type};
use squall_types::{DataType, Error, ErrorCode, Result, Value};

use crate::function::BoundFunction;
use crate::regions::{EmbeddedRegions, RegionKind, Regions};
use crate::scalar::simple::{Call, Numbers, primitive_column, string_column, value_column};

type Bound = Result<Arc<dyn BoundFunction>>;

/// A number of a region.
type OfRegion = Box<dyn Fn(&Regions, u32) -> u32 + Send + Sync>;

/// The language of names where none is asked for.
const LANGUAGE: &str = "en";

/// The regions of the server.
fn embedded(call: &Call<'_>) -> Result<Arc<EmbeddedRegions>> {
    call.context.moment.note();
    call.context.surroundings.as_ref().and_then(|surroundings| surroundings.regions()).ok_or_else(|| {
        Error::new(
            ErrorCode::DICTIONARIES_WAS_NOT_LOADED,
            "Embedded dictionaries were not loaded. You need to check configuration file.",
        )
    })
}

fn check_ids(call: &Call<'_>, count: usize) -> Result<()> {
    call.each(0..count, |data_type| *data_type == DataType::UInt32)
}

/// A constant text behind the numbers; `otherwise` where there is none.
fn text(call: &Call<'_>, at: usize, otherwise: &str) -> Result<String> {
    match call.arguments.get(at) {
        Some(_) => Ok(String::from_utf8_lossy(call.constant_bytes(at)?).into_owned()),
        None => Ok(otherwise.to_owned()),
    }
}

/// The hierarchy that a call names after so many numbers.
fn hierarchy(call: &Call<'_>, count: usize) -> Result<Arc<Regions>> {
    call.arguments(count..=count + 1)?;
    check_ids(call, count)?;
    let key = text(call, count, "")?;
    let found = embedded(call)?.hierarchies.get(&key).cloned();
    found.ok_or_else(|| Error::new(ErrorCode::BAD_ARGUMENTS, format!("Unknown dictionary key '{key}'")))
}

/// `regionToCity` and its like.
pub(super) fn resolve_number(call: &Call<'_>) -> Bound {
    let regions = hierarchy(call, 1)?;
    let around = |kind| move |regions: &Regions, id: u32| regions.around(id, kind);
    let of: OfRegion = match call.name {
        "regionToCity" => Box::new(around(RegionKind::City)),
        "regionToArea" => Box::new(around(RegionKind::Area)),
        "regionToDistrict" => Box::new(around(RegionKind::District)),
        "regionToCountry" => Box::new(around(RegionKind::Country)),
        "regionToContinent" => Box::new(around(RegionKind::Continent)),
        "regionToTopContinent" => Box::new(Regions::top_continent),
        _ => Box::new(Regions::population),
    };
    call.bind(DataType::UInt32, move |arguments, rows| {
        let ids = Numbers::<UInt32Type>::of(arguments, 0)?;
        Ok(primitive_column::<UInt32Type>(DataType::UInt32, rows, |row| of(&regions, ids.get(row))))
    })
}

/// `regionIn(region, around)`.
pub(super) fn resolve_in(call: &Call<'_>) -> Bound {
    let regions = hierarchy(call, 2)?;
    call.bind(DataType::UInt8, move |arguments, rows| {
        let (ids, around) = (Numbers::<UInt32Type>::of(arguments, 0)?, Numbers::<UInt32Type>::of(arguments, 1)?);
        Ok(primitive_column::<UInt8Type>(DataType::UInt8, rows, |row| {
            u8::from(regions.chain(ids.get(row)).any(|id| id == around.get(row)))
        }))
    })
}

/// `regionHierarchy(region)`.
pub(super) fn resolve_chain(call: &Call<'_>) -> Bound {
    let regions = hierarchy(call, 1)?;
    let result = DataType::array(DataType::UInt32);
    call.bind(result.clone(), move |arguments, rows| {
        let ids = Numbers::<UInt32Type>::of(arguments, 0)?;
        value_column(&result, rows, |row| {
            Ok(Value::Array(regions.chain(ids.get(row)).map(|id| Value::UInt64(id.into())).collect()))
        })
    })
}

/// `regionToName(region[, language])`.
pub(super) fn resolve_name(call: &Call<'_>) -> Bound {
    call.arguments(1..=2)?;
    check_ids(call, 1)?;
    let language = text(call, 1, LANGUAGE)?;
    let embedded = embedded(call)?;
    if !embedded.names.contains_key(&language) {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Language {language} is not supported for region name"),
        ));
    }
    call.bind(DataType::String, move |arguments, rows| {
        let ids = Numbers::<UInt32Type>::of(arguments, 0)?;
        let names = embedded.names.get(&language);
        string_column(rows, 16 * rows, |out, row| {
            if let Some(name) = names.and_then(|names| names.get(&ids.get(row))) {
                out.extend_from_slice(name.as_bytes());
            }
            Ok(())
        })
    })
}
