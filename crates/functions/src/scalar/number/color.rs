//! Colours between sRGB and OKLab (Björn Ottosson, *A perceptual color space for image processing*, 2020), or its form in polar
//! coordinates, OKLCH. A last argument is the gamma of sRGB.

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result};

use arrow_array::types::Float64Type;

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, argument, floats};
use crate::scalar::tuple::{elements, from_elements};

/// The gamma where none is said.
const GAMMA: f64 = 2.2;

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    let is_color = match call.type_of(0) {
        DataType::Tuple(elements) => {
            elements.len() == 3 && elements.iter().all(|element| element.data_type.is_number())
        }
        _ => false,
    };
    if !is_color {
        return Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "First argument of function {} must be a tuple of three numbers, got {}",
                call.name,
                call.type_of(0)
            ),
        ));
    }
    call.each([1], DataType::is_number)?;
    let result = DataType::tuple(std::iter::repeat_n(DataType::Float64, 3));
    let (to_oklab, is_polar) = (call.name.starts_with("colorSRGB"), call.name.contains("LCH"));
    call.bind(result.clone(), move |arguments, rows| {
        let parts = elements(argument(arguments, 0)?)?;
        let parts = [0, 1, 2].map(|at| floats(&parts, at, rows));
        let [first, second, third] = parts;
        let (first, second, third) = (first?, second?, third?);
        let gammas = if arguments.len() > 1 { floats(arguments, 1, rows)? } else { vec![GAMMA; rows] };
        let mut out = [Vec::with_capacity(rows), Vec::with_capacity(rows), Vec::with_capacity(rows)];
        for row in 0..rows {
            // A gamma of 0 is none.
            let gamma = if gammas[row] == 0.0 { GAMMA } else { gammas[row] };
            let color = [first[row], second[row], third[row]];
            let converted = match (to_oklab, is_polar) {
                (true, false) => oklab(color, gamma),
                (true, true) => polar(oklab(color, gamma)),
                (false, false) => srgb(color, gamma),
                (false, true) => srgb(cartesian(color), gamma),
            };
            out.iter_mut().zip(converted).for_each(|(out, value)| out.push(value));
        }
        let columns = out.map(|values| Column::from_primitive::<Float64Type>(DataType::Float64, values));
        from_elements(&result, &columns, rows)
    })
}

type Color = [f64; 3];

fn times(matrix: &[Color; 3], color: Color) -> Color {
    matrix.map(|row| row[0] * color[0] + row[1] * color[1] + row[2] * color[2])
}

fn oklab(color: Color, gamma: f64) -> Color {
    const TO_CONES: [Color; 3] = [
        [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
        [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
        [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
    ];
    const TO_LAB: [Color; 3] = [
        [0.210_454_255_3, 0.793_617_785, -0.004_072_046_8],
        [1.977_998_495_1, -2.428_592_205, 0.450_593_709_96],
        [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766],
    ];
    let linear = color.map(|value| (value / 255.0).powf(gamma));
    times(&TO_LAB, times(&TO_CONES, linear).map(f64::cbrt))
}

fn srgb(color: Color, gamma: f64) -> Color {
    const TO_CONES: [Color; 3] = [
        [1.0, 0.396_337_777_4, 0.215_803_757_3],
        [1.0, -0.105_561_345_8, -0.063_854_172_8],
        [1.0, -0.089_484_177_5, -1.291_485_548],
    ];
    const TO_LINEAR: [Color; 3] = [
        [4.076_741_662_1, -3.307_711_591_3, 0.230_969_929_2],
        [-1.268_438_004_6, 2.609_757_401_1, -0.341_319_396_5],
        [-0.004_196_086_3, -0.703_418_614_7, 1.707_614_701],
    ];
    let linear = times(&TO_LINEAR, times(&TO_CONES, color).map(|cone| cone * cone * cone));
    linear.map(|value| value.clamp(0.0, 1.0).powf(1.0 / gamma) * 255.0)
}

fn polar([lightness, a, b]: Color) -> Color {
    let hue = b.atan2(a).to_degrees();
    [lightness, a.hypot(b), if hue < 0.0 { hue + 360.0 } else { hue }]
}

fn cartesian([lightness, chroma, hue]: Color) -> Color {
    let hue = hue.to_radians();
    [lightness, chroma * hue.cos(), chroma * hue.sin()]
}
