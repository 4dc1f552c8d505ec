//! Cells of H3, the grid of hexagons: `h3o` computes, here are ClickHouse's names and types.

use std::sync::Arc;

use arrow_array::types::{Float64Type, Int64Type, UInt8Type, UInt64Type};
use h3o::{Boundary, CellIndex, DirectedEdgeIndex, LatLng, Resolution};
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use crate::function::{BoundFunction, ScalarFunction};
use crate::scalar::array::list_column;
use crate::scalar::simple::{Call, Function, Numbers, Strings, floats, integers, primitive_column, string_column};
use crate::scalar::tuple::from_elements;

type Bound = Result<Arc<dyn BoundFunction>>;

/// The functions of H3.
pub(crate) const FUNCTIONS: &[&dyn ScalarFunction] = &[
    &Function::new("geoToH3", of_place),
    &Function::new("h3CellAreaM2", |call| cell_float(call, CellIndex::area_m2)),
    &Function::new("h3CellAreaRads2", |call| cell_float(call, CellIndex::area_rads2)),
    &Function::new("h3Distance", distance),
    &Function::new("h3EdgeAngle", |call| of_resolution(call, |resolution| DEGREES_OF_METRE * edge_metres(resolution))),
    &Function::new("h3EdgeLengthKm", |call| of_resolution(call, |resolution| EDGE_KILOMETRES[usize::from(resolution)])),
    &Function::new("h3EdgeLengthM", |call| of_resolution(call, edge_metres)),
    &Function::new("h3ExactEdgeLengthKm", |call| edge_float(call, DirectedEdgeIndex::length_km)),
    &Function::new("h3ExactEdgeLengthM", |call| edge_float(call, DirectedEdgeIndex::length_m)),
    &Function::new("h3ExactEdgeLengthRads", |call| edge_float(call, DirectedEdgeIndex::length_rads)),
    &Function::new("h3GetBaseCell", |call| cell_byte(call, |cell| cell.base_cell().into())),
    &Function::new("h3GetDestinationIndexFromUnidirectionalEdge", |call| {
        edge_cell(call, DirectedEdgeIndex::destination)
    }),
    &Function::new("h3GetFaces", faces),
    &Function::new("h3GetIndexesFromUnidirectionalEdge", edge_cells),
    &Function::new("h3GetOriginIndexFromUnidirectionalEdge", |call| edge_cell(call, DirectedEdgeIndex::origin)),
    &Function::new("h3GetPentagonIndexes", pentagons),
    &Function::new("h3GetRes0Indexes", base_cells).never_throws(),
    &Function::new("h3GetResolution", |call| cell_byte(call, |cell| cell.resolution().into())),
    &Function::new("h3GetUnidirectionalEdge", edge_between),
    &Function::new("h3GetUnidirectionalEdgeBoundary", edge_boundary),
    &Function::new("h3GetUnidirectionalEdgesFromHexagon", edges),
    &Function::new("h3HexAreaKm2", |call| of_resolution(call, Resolution::area_km2)),
    &Function::new("h3HexAreaM2", |call| of_resolution(call, Resolution::area_m2)),
    &Function::new("h3HexRing", |call| disk(call, true)),
    &Function::new("h3IndexesAreNeighbors", are_neighbors),
    &Function::new("h3IsPentagon", |call| cell_byte(call, |cell| cell.is_pentagon().into())),
    &Function::new("h3IsResClassIII", |call| cell_byte(call, |cell| cell.resolution().is_class3().into())),
    &Function::new("h3IsValid", is_valid).never_throws(),
    &Function::new("h3Line", line),
    &Function::new("h3NumHexagons", count),
    &Function::new("h3PointDistKm", |call| between_places(call, LatLng::distance_km)),
    &Function::new("h3PointDistM", |call| between_places(call, LatLng::distance_m)),
    &Function::new("h3PointDistRads", |call| between_places(call, LatLng::distance_rads)),
    &Function::new("h3PolygonToCells", super::h3_cover::resolve),
    &Function::new("h3PolygonToCellsWithContainment", super::h3_cover::resolve),
    &Function::new("h3ToCenterChild", |call| relative(call, |cell, resolution| cell.center_child(resolution))),
    &Function::new("h3ToChildren", children),
    &Function::new("h3ToGeo", to_place),
    &Function::new("h3ToGeoBoundary", cell_boundary),
    &Function::new("h3ToParent", |call| relative(call, |cell, resolution| cell.parent(resolution))),
    &Function::new("h3ToString", to_text).never_throws(),
    &Function::new("h3UnidirectionalEdgeIsValid", is_valid_edge).never_throws(),
    &Function::new("h3kRing", |call| disk(call, false)),
    &Function::new("stringToH3", of_text),
];

/// The average lengths of edges by resolution, with the digits that the library in C has.
const EDGE_KILOMETRES: [f64; 16] = [
    1281.256011,
    483.0568391,
    182.5129565,
    68.97922179,
    26.07175968,
    9.854090990,
    3.724532667,
    1.406475763,
    0.531414010,
    0.200786148,
    0.075863783,
    0.028663897,
    0.010830188,
    0.004092010,
    0.001546100,
    0.000584169,
];
const EDGE_METRES: [f64; 16] = [
    1281256.011,
    483056.8391,
    182512.9565,
    68979.22179,
    26071.75968,
    9854.090990,
    3724.532667,
    1406.475763,
    531.4140101,
    200.7861476,
    75.86378287,
    28.66389748,
    10.83018784,
    4.092010473,
    1.546099657,
    0.584168630,
];

/// Degrees of a great circle that a metre is.
const DEGREES_OF_METRE: f64 = 8.993_205_922_712_88e-6;

pub(super) fn edge_metres(resolution: Resolution) -> f64 {
    EDGE_METRES[usize::from(resolution)]
}

/// Cells that one row may give.
pub(super) const CELLS_MAX: u64 = 10_000_000;

fn indices(call: &Call<'_>, positions: impl IntoIterator<Item = usize>) -> Result<()> {
    for at in positions {
        if *call.type_of(at) != DataType::UInt64 {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "Illegal type {} of argument {} of function {}. Must be UInt64",
                    call.type_of(at),
                    at + 1,
                    call.name
                ),
            ));
        }
    }
    Ok(())
}

fn unsigned(call: &Call<'_>, at: usize) -> Result<()> {
    if call.type_of(at).is_unsigned_integer() {
        return Ok(());
    }
    Err(Error::new(
        ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
        format!(
            "Illegal type {} of argument {} of function {}. Must be unsigned native integer",
            call.type_of(at),
            at + 1,
            call.name
        ),
    ))
}

fn cell(index: u64) -> Result<CellIndex> {
    CellIndex::try_from(index)
        .map_err(|_| Error::new(ErrorCode::INCORRECT_DATA, format!("Invalid H3 cell index: {index}")))
}

fn edge(index: u64) -> Result<DirectedEdgeIndex> {
    DirectedEdgeIndex::try_from(index)
        .map_err(|_| Error::new(ErrorCode::INCORRECT_DATA, format!("Invalid H3 directed edge index: {index}")))
}

pub(super) fn resolution(number: i64, name: &str) -> Result<Resolution> {
    u8::try_from(number).ok().and_then(|number| Resolution::try_from(number).ok()).ok_or_else(|| {
        Error::new(
            ErrorCode::ARGUMENT_OUT_OF_BOUND,
            format!(
                "The argument 'resolution' ({number}) of function {name} is out of bounds because the maximum resolution \
                 in H3 library is 15"
            ),
        )
    })
}

pub(super) fn too_many(name: &str) -> Error {
    Error::new(
        ErrorCode::TOO_LARGE_ARRAY_SIZE,
        format!("Function {name} would give more than {CELLS_MAX} cells in one row"),
    )
}

/// Binds a function of one index for each row.
fn of_index<T: arrow_array::ArrowPrimitiveType>(
    call: &Call<'_>,
    result: DataType,
    value: impl Fn(u64) -> Result<T::Native> + Send + Sync + 'static,
) -> Bound {
    call.arguments(1..=1)?;
    indices(call, [0])?;
    call.bind(result.clone(), move |arguments, rows| {
        let indices = Numbers::<UInt64Type>::of(arguments, 0)?;
        checkpoint(64 * rows)?;
        let values = (0..rows).map(|row| value(indices.get(row))).collect::<Result<Vec<_>>>()?;
        Ok(Column::from_primitive::<T>(result.clone(), values))
    })
}

fn cell_float(call: &Call<'_>, value: fn(CellIndex) -> f64) -> Bound {
    of_index::<Float64Type>(call, DataType::Float64, move |index| Ok(value(cell(index)?)))
}

fn edge_float(call: &Call<'_>, value: fn(DirectedEdgeIndex) -> f64) -> Bound {
    of_index::<Float64Type>(call, DataType::Float64, move |index| Ok(value(edge(index)?)))
}

fn cell_byte(call: &Call<'_>, value: fn(CellIndex) -> u8) -> Bound {
    of_index::<UInt8Type>(call, DataType::UInt8, move |index| Ok(value(cell(index)?)))
}

fn edge_cell(call: &Call<'_>, value: fn(DirectedEdgeIndex) -> CellIndex) -> Bound {
    of_index::<UInt64Type>(call, DataType::UInt64, move |index| Ok(value(edge(index)?).into()))
}

fn is_valid(call: &Call<'_>) -> Bound {
    of_index::<UInt8Type>(call, DataType::UInt8, |index| Ok(CellIndex::try_from(index).is_ok().into()))
}

fn is_valid_edge(call: &Call<'_>) -> Bound {
    of_index::<UInt8Type>(call, DataType::UInt8, |index| Ok(DirectedEdgeIndex::try_from(index).is_ok().into()))
}

/// Binds a function of a resolution.
fn of_resolution(call: &Call<'_>, value: impl Fn(Resolution) -> f64 + Send + Sync + 'static) -> Bound {
    call.arguments(1..=1)?;
    call.integers([0])?;
    let name = call.name;
    call.bind(DataType::Float64, move |arguments, rows| {
        let numbers = integers(arguments, 0, rows)?;
        let values = numbers.into_iter().map(|number| Ok(value(resolution(number, name)?)));
        Ok(Column::from_primitive::<Float64Type>(DataType::Float64, values.collect::<Result<_>>()?))
    })
}

fn count(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.integers([0])?;
    let name = call.name;
    call.bind(DataType::Int64, move |arguments, rows| {
        let numbers = integers(arguments, 0, rows)?;
        let values = numbers.into_iter().map(|number| Ok(resolution(number, name)?.cell_count() as i64));
        Ok(Column::from_primitive::<Int64Type>(DataType::Int64, values.collect::<Result<_>>()?))
    })
}

/// Arrays of indices under way.
pub(super) struct Indices {
    values: Vec<u64>,
    ends: Vec<i32>,
}

impl Indices {
    pub fn new() -> Self {
        Self { values: Vec::new(), ends: vec![0] }
    }

    pub fn push(&mut self, row: impl Iterator<Item = u64>) -> Result<()> {
        for index in row {
            checkpoint(16)?;
            self.values.push(index);
        }
        self.ends.push(i32::try_from(self.values.len()).map_err(|_| Error::logical("too many cells"))?);
        Ok(())
    }

    pub fn finish(self) -> Result<Column> {
        let items = Column::from_primitive::<UInt64Type>(DataType::UInt64, self.values);
        list_column(&DataType::UInt64, self.ends, items.array().clone())
    }
}

/// `geoToH3(latitude, longitude, resolution)`.
fn of_place(call: &Call<'_>) -> Bound {
    call.arguments(3..=3)?;
    for (at, name, ordinal) in [(0, "latitude", "1st"), (1, "longitude", "2nd")] {
        if *call.type_of(at) != DataType::Float64 {
            return Err(Error::new(
                ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                format!(
                    "A value of illegal type was provided as {ordinal} argument '{name}' to function 'geoToH3'. Expected: \
                     Float64, got: {}",
                    call.type_of(at)
                ),
            ));
        }
    }
    call.integers([2])?;
    let name = call.name;
    // Once, the longitude came first.
    let (latitude, longitude) = match call.context.settings.get("geotoh3_argument_order").as_deref() {
        Some("lon_lat") => (1, 0),
        _ => (0, 1),
    };
    call.bind(DataType::UInt64, move |arguments, rows| {
        let (latitudes, longitudes) = (floats(arguments, latitude, rows)?, floats(arguments, longitude, rows)?);
        let resolutions = integers(arguments, 2, rows)?;
        checkpoint(500 * rows)?;
        let index = |row: usize| {
            let own = resolution(resolutions[row], name)?;
            Ok(LatLng::new(latitudes[row], longitudes[row]).map_or(0, |place| place.to_cell(own).into()))
        };
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, (0..rows).map(index).collect::<Result<_>>()?))
    })
}

/// `h3ToGeo(cell)`: its middle.
fn to_place(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    indices(call, [0])?;
    let is_set = call.context.settings.get("h3togeo_lon_lat_result_order");
    let longitude_first = is_set.is_some_and(|value| value == "1" || value == "true");
    let result = match longitude_first {
        true => DataType::named_tuple([("longitude", DataType::Float64), ("latitude", DataType::Float64)]),
        false => DataType::named_tuple([("latitude", DataType::Float64), ("longitude", DataType::Float64)]),
    };
    call.bind(result.clone(), move |arguments, rows| {
        let indices = Numbers::<UInt64Type>::of(arguments, 0)?;
        let (mut latitudes, mut longitudes) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for row in 0..rows {
            checkpoint(500)?;
            let middle = LatLng::from(cell(indices.get(row))?);
            latitudes.push(middle.lat());
            longitudes.push(middle.lng());
        }
        let coordinates = if longitude_first { [longitudes, latitudes] } else { [latitudes, longitudes] };
        let columns = coordinates.map(|values| Column::from_primitive::<Float64Type>(DataType::Float64, values));
        from_elements(&result, &columns, rows)
    })
}

fn boundary(call: &Call<'_>, of_index: fn(u64) -> Result<Boundary>) -> Bound {
    call.arguments(1..=1)?;
    indices(call, [0])?;
    let point = DataType::tuple([DataType::Float64, DataType::Float64]);
    call.bind(DataType::array(point.clone()), move |arguments, rows| {
        let indices = Numbers::<UInt64Type>::of(arguments, 0)?;
        let (mut latitudes, mut longitudes, mut ends) = (Vec::new(), Vec::new(), vec![0]);
        for row in 0..rows {
            checkpoint(2000)?;
            for corner in of_index(indices.get(row))?.iter() {
                latitudes.push(corner.lat());
                longitudes.push(corner.lng());
            }
            ends.push(latitudes.len() as i32);
        }
        let count = latitudes.len();
        let columns =
            [latitudes, longitudes].map(|values| Column::from_primitive::<Float64Type>(DataType::Float64, values));
        list_column(&point, ends, from_elements(&point, &columns, count)?.to_array()?)
    })
}

fn cell_boundary(call: &Call<'_>) -> Bound {
    boundary(call, |index| Ok(cell(index)?.boundary()))
}

fn edge_boundary(call: &Call<'_>) -> Bound {
    boundary(call, |index| Ok(edge(index)?.boundary()))
}

/// Steps that `h3kRing` and `h3HexRing` take.
const STEPS_MAX: i64 = 10_000;

/// `h3kRing(cell, k)`: all cells up to so many steps away; `h3HexRing(cell, k)`: those just so far.
fn disk(call: &Call<'_>, is_hollow: bool) -> Bound {
    call.arguments(2..=2)?;
    indices(call, [0])?;
    unsigned(call, 1)?;
    let name = call.name;
    call.bind(DataType::array(DataType::UInt64), move |arguments, rows| {
        let indices = Numbers::<UInt64Type>::of(arguments, 0)?;
        let steps = integers(arguments, 1, rows)?;
        let mut out = Indices::new();
        for (row, steps) in steps.into_iter().enumerate() {
            let own = cell(indices.get(row))?;
            if steps > STEPS_MAX {
                return Err(Error::new(
                    ErrorCode::PARAMETER_OUT_OF_BOUND,
                    format!("Too large 'k' argument for {name} function, maximum {STEPS_MAX}"),
                ));
            }
            let steps = u32::try_from(steps).ok().filter(|steps| h3o::max_grid_disk_size(*steps) <= CELLS_MAX);
            let steps = steps.ok_or_else(|| too_many(name))?;
            if is_hollow {
                let ring: Vec<CellIndex> = own.grid_ring(steps);
                out.push(ring.into_iter().map(u64::from))?;
            } else {
                let disk: Vec<CellIndex> = own.grid_disk(steps);
                out.push(disk.into_iter().map(u64::from))?;
            }
        }
        out.finish()
    })
}

fn children(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    indices(call, [0])?;
    call.integers([1])?;
    let name = call.name;
    call.bind(DataType::array(DataType::UInt64), move |arguments, rows| {
        let indices = Numbers::<UInt64Type>::of(arguments, 0)?;
        let resolutions = integers(arguments, 1, rows)?;
        let mut out = Indices::new();
        for (row, number) in resolutions.into_iter().enumerate() {
            let (own, finer) = (cell(indices.get(row))?, resolution(number, name)?);
            if finer < own.resolution() {
                return Err(coarser(name));
            }
            if own.children_count(finer) > CELLS_MAX {
                return Err(too_many(name));
            }
            out.push(own.children(finer).map(u64::from))?;
        }
        out.finish()
    })
}

fn coarser(name: &str) -> Error {
    Error::new(ErrorCode::INCORRECT_DATA, format!("The resolution of function {name} does not fit that of its cell"))
}

fn relative(call: &Call<'_>, to: fn(CellIndex, Resolution) -> Option<CellIndex>) -> Bound {
    call.arguments(2..=2)?;
    indices(call, [0])?;
    call.integers([1])?;
    let name = call.name;
    call.bind(DataType::UInt64, move |arguments, rows| {
        let indices = Numbers::<UInt64Type>::of(arguments, 0)?;
        let resolutions = integers(arguments, 1, rows)?;
        let index = |row: usize| {
            let (own, wanted) = (cell(indices.get(row))?, resolution(resolutions[row], name)?);
            to(own, wanted).map(u64::from).ok_or_else(|| coarser(name))
        };
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, (0..rows).map(index).collect::<Result<_>>()?))
    })
}

fn faces(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    indices(call, [0])?;
    call.bind(DataType::array(DataType::UInt8), |arguments, rows| {
        let indices = Numbers::<UInt64Type>::of(arguments, 0)?;
        let (mut values, mut ends) = (Vec::new(), vec![0]);
        for row in 0..rows {
            values.extend(cell(indices.get(row))?.icosahedron_faces().iter().map(u8::from));
            ends.push(values.len() as i32);
        }
        let items = Column::from_primitive::<UInt8Type>(DataType::UInt8, values);
        list_column(&DataType::UInt8, ends, items.array().clone())
    })
}

fn pentagons(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.integers([0])?;
    let name = call.name;
    call.bind(DataType::array(DataType::UInt64), move |arguments, rows| {
        let mut out = Indices::new();
        for number in integers(arguments, 0, rows)? {
            out.push(resolution(number, name)?.pentagons().map(u64::from))?;
        }
        out.finish()
    })
}

fn base_cells(call: &Call<'_>) -> Bound {
    call.arguments(0..=0)?;
    call.bind(DataType::array(DataType::UInt64), |_, rows| {
        let mut out = Indices::new();
        (0..rows).try_for_each(|_| out.push(CellIndex::base_cells().map(u64::from)))?;
        out.finish()
    })
}

/// Binds a function of two cells.
fn of_cells<T: arrow_array::ArrowPrimitiveType>(
    call: &Call<'_>,
    result: DataType,
    value: impl Fn(CellIndex, CellIndex) -> Result<T::Native> + Send + Sync + 'static,
) -> Bound {
    call.arguments(2..=2)?;
    indices(call, [0, 1])?;
    call.bind(result.clone(), move |arguments, rows| {
        let (lefts, rights) = (Numbers::<UInt64Type>::of(arguments, 0)?, Numbers::<UInt64Type>::of(arguments, 1)?);
        let values = (0..rows).map(|row| value(cell(lefts.get(row))?, cell(rights.get(row))?));
        Ok(Column::from_primitive::<T>(result.clone(), values.collect::<Result<_>>()?))
    })
}

fn far_apart(name: &str) -> Error {
    Error::new(ErrorCode::INCORRECT_DATA, format!("Function {name} cannot count steps between cells so far apart"))
}

fn distance(call: &Call<'_>) -> Bound {
    let name = call.name;
    of_cells::<Int64Type>(call, DataType::Int64, move |left, right| {
        left.grid_distance(right).map(i64::from).map_err(|_| far_apart(name))
    })
}

fn are_neighbors(call: &Call<'_>) -> Bound {
    of_cells::<UInt8Type>(call, DataType::UInt8, |left, right| Ok(left.is_neighbor_with(right).unwrap_or(false).into()))
}

fn edge_between(call: &Call<'_>) -> Bound {
    let name = call.name;
    of_cells::<UInt64Type>(call, DataType::UInt64, move |left, right| {
        left.edge(right).map(u64::from).ok_or_else(|| {
            Error::new(ErrorCode::INCORRECT_DATA, format!("The cells of function {name} are no neighbors"))
        })
    })
}

fn line(call: &Call<'_>) -> Bound {
    call.arguments(2..=2)?;
    indices(call, [0, 1])?;
    let name = call.name;
    call.bind(DataType::array(DataType::UInt64), move |arguments, rows| {
        let (from, to) = (Numbers::<UInt64Type>::of(arguments, 0)?, Numbers::<UInt64Type>::of(arguments, 1)?);
        let mut out = Indices::new();
        for row in 0..rows {
            let path = cell(from.get(row))?.grid_path_cells(cell(to.get(row))?).map_err(|_| far_apart(name))?;
            let cells = path.collect::<std::result::Result<Vec<_>, _>>().map_err(|_| far_apart(name))?;
            out.push(cells.into_iter().map(u64::from))?;
        }
        out.finish()
    })
}

fn edges(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    indices(call, [0])?;
    call.bind(DataType::array(DataType::UInt64), |arguments, rows| {
        let indices = Numbers::<UInt64Type>::of(arguments, 0)?;
        let mut out = Indices::new();
        for row in 0..rows {
            let mut edges: Vec<u64> = cell(indices.get(row))?.edges().map(u64::from).collect();
            edges.sort_unstable();
            out.push(edges.into_iter())?;
        }
        out.finish()
    })
}

fn edge_cells(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    indices(call, [0])?;
    let result = DataType::named_tuple([("origin", DataType::UInt64), ("destination", DataType::UInt64)]);
    call.bind(result.clone(), move |arguments, rows| {
        let indices = Numbers::<UInt64Type>::of(arguments, 0)?;
        let (mut origins, mut destinations) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for row in 0..rows {
            let (origin, destination) = edge(indices.get(row))?.cells();
            origins.push(u64::from(origin));
            destinations.push(u64::from(destination));
        }
        let columns =
            [origins, destinations].map(|values| Column::from_primitive::<UInt64Type>(DataType::UInt64, values));
        from_elements(&result, &columns, rows)
    })
}

fn between_places(call: &Call<'_>, distance: fn(LatLng, LatLng) -> f64) -> Bound {
    call.arguments(4..=4)?;
    call.each(0..4, |data_type| *data_type == DataType::Float64)?;
    call.bind(DataType::Float64, move |arguments, rows| {
        let columns = (0..4).map(|at| floats(arguments, at, rows)).collect::<Result<Vec<_>>>()?;
        Ok(primitive_column::<Float64Type>(DataType::Float64, rows, |row| {
            let place = |at: usize| LatLng::new(columns[at][row], columns[at + 1][row]);
            match (place(0), place(2)) {
                (Ok(from), Ok(to)) => distance(from, to),
                _ => f64::NAN,
            }
        }))
    })
}

fn to_text(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    indices(call, [0])?;
    call.bind(DataType::String, |arguments, rows| {
        let indices = Numbers::<UInt64Type>::of(arguments, 0)?;
        string_column(rows, rows * 15, |out, row| {
            out.extend_from_slice(format!("{:x}", indices.get(row)).as_bytes());
            Ok(())
        })
    })
}

fn of_text(call: &Call<'_>) -> Bound {
    call.arguments(1..=1)?;
    call.strings([0])?;
    let name = call.name;
    call.bind(DataType::UInt64, move |arguments, rows| {
        let texts = Strings::of(arguments, 0)?;
        let index = |row| {
            let text = texts.get(row);
            let number = std::str::from_utf8(text).ok().and_then(|text| u64::from_str_radix(text, 16).ok());
            number.filter(|number| *number != 0).ok_or_else(|| {
                Error::new(
                    ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
                    format!("Invalid H3 index: {} in function {name}", String::from_utf8_lossy(text)),
                )
            })
        };
        Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, (0..rows).map(index).collect::<Result<_>>()?))
    })
}
