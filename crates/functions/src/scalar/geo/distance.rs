//! Distances along the surface of the Earth, taken for a sphere or, near by, for the WGS-84 ellipsoid. Sines and arcs are read from tables
//! between whose entries lines are drawn, as ClickHouse does: its answers are those of the tables.

use std::sync::{Arc, OnceLock};

use arrow_array::types::{Float32Type, Float64Type};
use squall_types::{Column, DataType, Result};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, floats};

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    /// Degrees of a sphere.
    Degrees,
    /// Metres of a sphere.
    Sphere,
    /// Metres of the ellipsoid where the way is short.
    Ellipsoid,
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(4..=4)?;
    call.each(0..4, DataType::is_any_number)?;
    let method = match call.name {
        "greatCircleAngle" => Method::Degrees,
        "greatCircleDistance" => Method::Sphere,
        _ => Method::Ellipsoid,
    };
    // Only where some coordinate is that precise is the distance.
    let is_wide = (0..4).any(|at| *call.type_of(at) == DataType::Float64);
    let result = if is_wide { DataType::Float64 } else { DataType::Float32 };
    call.bind(result.clone(), move |arguments, rows| {
        let columns = [0, 1, 2, 3].map(|at| floats(arguments, at, rows));
        let [longitudes, latitudes, other_longitudes, other_latitudes] = columns;
        let (longitudes, latitudes) = (longitudes?, latitudes?);
        let (other_longitudes, other_latitudes) = (other_longitudes?, other_latitudes?);
        let ends = |row: usize| [longitudes[row], latitudes[row], other_longitudes[row], other_latitudes[row]];
        Ok(if is_wide {
            let tables = wide::tables();
            let distances = (0..rows).map(|row| wide::distance(tables, method, ends(row)));
            Column::from_primitive::<Float64Type>(result.clone(), distances.collect())
        } else {
            let tables = narrow::tables();
            let distances = (0..rows).map(|row| narrow::distance(tables, method, ends(row).map(|end| end as f32)));
            Column::from_primitive::<Float32Type>(result.clone(), distances.collect())
        })
    })
}

macro_rules! precision {
    ($module:ident, $float:ident) => {
        mod $module {
            use super::{Method, OnceLock};

            type Float = $float;

            const PI: Float = std::$float::consts::PI;
            const COSINES: usize = 1024;
            const ARCS: usize = 512;
            const METRICS: usize = 1024;
            const EARTH_DIAMETER: Float = (2.0 * 6_371_007.180_918_474_f64) as Float;

            pub(super) struct Tables {
                cosines: Vec<Float>,
                arcs: Vec<Float>,
                /// Squares of the metres of a degree on the sphere, and of the share of one, along a parallel.
                sphere_metres: Vec<Float>,
                sphere: Vec<Float>,
                /// Squares of the metres of a degree of latitude and of longitude on the ellipsoid.
                ellipsoid: Vec<(Float, Float)>,
            }

            /// The tables, made when they are first asked for.
            pub(super) fn tables() -> &'static Tables {
                static TABLES: OnceLock<Tables> = OnceLock::new();
                TABLES.get_or_init(|| {
                    let pi = std::f64::consts::PI;
                    let square = |value: f64| value * value;
                    let latitude = |at: usize| at as f64 * (pi / METRICS as f64) - pi * 0.5;
                    let along = |make: &dyn Fn(f64) -> f64| -> Vec<Float> {
                        (0..=METRICS).map(|at| make(latitude(at)) as Float).collect()
                    };
                    let metres = f64::from(EARTH_DIAMETER) * pi / 360.0;
                    Tables {
                        cosines: (0..=COSINES)
                            .map(|at| (2.0 * pi * at as f64 / COSINES as f64).cos() as Float)
                            .collect(),
                        arcs: (0..=ARCS).map(|at| (at as f64 / ARCS as f64).sqrt().asin() as Float).collect(),
                        sphere_metres: along(&|latitude| square(metres * latitude.cos())),
                        sphere: along(&|latitude| square(latitude.cos())),
                        ellipsoid: (0..=METRICS)
                            .map(|at| {
                                let at = latitude(at);
                                let north = 111_132.09 - 566.05 * (2.0 * at).cos() + 1.20 * (4.0 * at).cos();
                                let east = 111_415.13 * at.cos() - 94.55 * (3.0 * at).cos() + 0.12 * (5.0 * at).cos();
                                (square(north) as Float, square(east) as Float)
                            })
                            .collect(),
                    }
                })
            }

            fn cosine_at(tables: &Tables, angle: Float, quarter_back: usize) -> Float {
                let place = angle.abs() * (COSINES as Float / PI / 2.0);
                let whole = place as usize;
                let at = whole.wrapping_sub(quarter_back) & (COSINES - 1);
                tables.cosines[at] + (tables.cosines[at + 1] - tables.cosines[at]) * (place - whole as Float)
            }

            fn cosine(tables: &Tables, angle: Float) -> Float {
                cosine_at(tables, angle, 0)
            }

            fn sine(tables: &Tables, angle: Float) -> Float {
                cosine_at(tables, angle, COSINES / 4)
            }

            /// The arc whose sine is the root of a number.
            fn arc(tables: &Tables, number: Float) -> Float {
                if number < 0.122 {
                    let root = number.sqrt();
                    return root
                        + number * root * (1.0 / 6.0)
                        + number * number * root * 0.075
                        + number * number * number * root * (15.0 / 336.0);
                }
                if number < 0.948 {
                    let place = number * ARCS as Float;
                    let at = place as usize;
                    return tables.arcs[at] + (tables.arcs[at + 1] - tables.arcs[at]) * (place - at as Float);
                }
                number.sqrt().asin()
            }

            /// The distance of two places, each a longitude and a latitude in degrees.
            pub(super) fn distance(tables: &Tables, method: Method, ends: [Float; 4]) -> Float {
                let [longitude, latitude, other_longitude, other_latitude] = ends;
                let north = (latitude - other_latitude).abs();
                let east = (longitude - other_longitude).abs();
                let east = if east > 180.0 { 360.0 - east } else { east };
                if !(north.is_finite() && east.is_finite()) {
                    return Float::NAN;
                }
                if east < 13.0 {
                    let place = (latitude + other_latitude + 180.0) * METRICS as Float / 360.0;
                    let at = place as usize & (METRICS - 1);
                    let rest = place - at as Float;
                    let between = |table: &[Float]| table[at] + (table[at + 1] - table[at]) * rest;
                    let metres = EARTH_DIAMETER * PI / 360.0;
                    let (of_north, of_east) = match method {
                        Method::Degrees => (1.0, between(&tables.sphere)),
                        Method::Sphere => (metres * metres, between(&tables.sphere_metres)),
                        Method::Ellipsoid => {
                            let (from, to) = (tables.ellipsoid[at], tables.ellipsoid[at + 1]);
                            (from.0 + (to.0 - from.0) * rest, from.1 + (to.1 - from.1) * rest)
                        }
                    };
                    return (of_north * north * north + of_east * east * east).sqrt();
                }
                let half_north = sine(tables, north * (PI / 360.0));
                let half_east = sine(tables, east * (PI / 360.0));
                let haversine = half_north * half_north
                    + cosine(tables, latitude * (PI / 180.0))
                        * cosine(tables, other_latitude * (PI / 180.0))
                        * half_east
                        * half_east;
                let arc = arc(tables, haversine);
                if method == Method::Degrees { 360.0 / PI * arc } else { EARTH_DIAMETER * arc }
            }
        }
    };
}

precision!(narrow, f32);
precision!(wide, f64);
