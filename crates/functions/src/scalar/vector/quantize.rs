//! `quantizeBFloat16ToInt8` and `dequantizeInt8ToBFloat16`: a number by the nearest of 256 levels, which lie where those of Lloyd and Max
//! do for values of a normal distribution.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Int8Type};
use squall_types::{Column, DataType, Error, ErrorCode, Result};

use crate::function::BoundFunction;
use crate::scalar::array::{Lists, list_column};
use crate::scalar::simple::{Call, argument};

/// The levels above zero; those below are the same with a minus.
const LEVELS: [f32; 128] = [
    0.00491333,
    0.014709473,
    0.024536133,
    0.034423828,
    0.044189453,
    0.053955078,
    0.063964844,
    0.07373047,
    0.083496094,
    0.09326172,
    0.103027344,
    0.11328125,
    0.123046875,
    0.1328125,
    0.14257812,
    0.15234375,
    0.16308594,
    0.17285156,
    0.18261719,
    0.19238281,
    0.203125,
    0.21289062,
    0.22265625,
    0.23242188,
    0.24316406,
    0.25195312,
    0.26367188,
    0.2734375,
    0.28320312,
    0.29296875,
    0.3046875,
    0.31445312,
    0.32421875,
    0.3359375,
    0.34570312,
    0.35546875,
    0.3671875,
    0.37695312,
    0.38671875,
    0.3984375,
    0.40820312,
    0.41992188,
    0.4296875,
    0.44140625,
    0.453125,
    0.46289062,
    0.47460938,
    0.484375,
    0.49609375,
    0.5078125,
    0.51953125,
    0.52734375,
    0.5390625,
    0.55078125,
    0.5625,
    0.57421875,
    0.5859375,
    0.59765625,
    0.609375,
    0.62109375,
    0.63671875,
    0.6484375,
    0.66015625,
    0.671875,
    0.68359375,
    0.6953125,
    0.7109375,
    0.72265625,
    0.734375,
    0.75,
    0.76171875,
    0.7734375,
    0.7890625,
    0.80078125,
    0.81640625,
    0.828125,
    0.84375,
    0.859375,
    0.875,
    0.88671875,
    0.90234375,
    0.91796875,
    0.93359375,
    0.94921875,
    0.96484375,
    0.98046875,
    1.0,
    1.015625,
    1.03125,
    1.046875,
    1.0625,
    1.0859375,
    1.1015625,
    1.125,
    1.140625,
    1.1640625,
    1.1875,
    1.2109375,
    1.234375,
    1.2578125,
    1.28125,
    1.3046875,
    1.3359375,
    1.3671875,
    1.3984375,
    1.4296875,
    1.4609375,
    1.5,
    1.5390625,
    1.578125,
    1.625,
    1.671875,
    1.7265625,
    1.78125,
    1.84375,
    1.90625,
    1.9765625,
    2.046875,
    2.140625,
    2.234375,
    2.34375,
    2.453125,
    2.59375,
    2.734375,
    2.921875,
    3.15625,
    3.453125,
    3.9375,
];

/// Where each level but the first begins, above zero.
const STARTS: [f32; 127] = [
    0.009887695,
    0.01977539,
    0.029541016,
    0.03955078,
    0.049316406,
    0.05908203,
    0.06933594,
    0.07910156,
    0.08886719,
    0.09863281,
    0.10888672,
    0.118652344,
    0.12890625,
    0.13867188,
    0.1484375,
    0.15820312,
    0.16894531,
    0.17871094,
    0.18847656,
    0.19824219,
    0.20898438,
    0.21875,
    0.22851562,
    0.23925781,
    0.24902344,
    0.25976562,
    0.26953125,
    0.27929688,
    0.29101562,
    0.30078125,
    0.31054688,
    0.32226562,
    0.33203125,
    0.34179688,
    0.35351562,
    0.36328125,
    0.37304688,
    0.38476562,
    0.39453125,
    0.40625,
    0.41601562,
    0.42773438,
    0.4375,
    0.44921875,
    0.45898438,
    0.47070312,
    0.48242188,
    0.4921875,
    0.50390625,
    0.515625,
    0.52734375,
    0.5390625,
    0.55078125,
    0.5625,
    0.57421875,
    0.5859375,
    0.59765625,
    0.609375,
    0.62109375,
    0.6328125,
    0.64453125,
    0.65625,
    0.66796875,
    0.68359375,
    0.6953125,
    0.70703125,
    0.71875,
    0.734375,
    0.74609375,
    0.7578125,
    0.7734375,
    0.78515625,
    0.80078125,
    0.8125,
    0.828125,
    0.83984375,
    0.85546875,
    0.87109375,
    0.8828125,
    0.8984375,
    0.9140625,
    0.9296875,
    0.9453125,
    0.9609375,
    0.9765625,
    0.9921875,
    1.015625,
    1.03125,
    1.046875,
    1.0625,
    1.0859375,
    1.1015625,
    1.125,
    1.140625,
    1.1640625,
    1.1796875,
    1.203125,
    1.2265625,
    1.25,
    1.2734375,
    1.3046875,
    1.328125,
    1.359375,
    1.390625,
    1.421875,
    1.453125,
    1.4921875,
    1.5234375,
    1.5703125,
    1.609375,
    1.65625,
    1.7109375,
    1.7578125,
    1.8203125,
    1.8828125,
    1.953125,
    2.03125,
    2.109375,
    2.203125,
    2.296875,
    2.40625,
    2.53125,
    2.6875,
    2.84375,
    3.046875,
    3.3125,
    3.71875,
];

/// The number of the level of a value: from 0 for those above zero, from -1 for those below; of no number 0.
fn level_of(value: f32) -> i8 {
    if value.is_nan() {
        return 0;
    }
    let size = value.abs();
    let level = STARTS.partition_point(|start| *start <= size) as i8;
    if value < 0.0 { -1 - level } else { level }
}

pub(super) fn value_of(level: i8) -> f32 {
    if level < 0 { -LEVELS[usize::from((-1 - level) as u8)] } else { LEVELS[usize::from(level as u8)] }
}

/// What levels stand for of which only so many of the highest bits are known, by these bits: the mean of the normal distribution over all
/// levels that have them.
pub(super) fn prefix_means(bits: usize) -> Vec<f64> {
    let density = |at: f64| (-at * at / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let share = |at: f64| libm::erf(at / std::f64::consts::SQRT_2) / 2.0;
    let start = |level: usize| match level.checked_sub(1) {
        None => 0.0,
        Some(before) => STARTS.get(before).map_or(f64::INFINITY, |start| f64::from(*start)),
    };
    let width = 1_usize << (8 - bits);
    let mean = |prefix: usize| {
        let first = (prefix * width) as u8 as i8;
        if width == 1 {
            return f64::from(value_of(first));
        }
        // Those below zero are the same with a minus: of them the last comes first.
        let least = if first < 0 { usize::from((-1 - first) as u8) + 1 - width } else { usize::from(first as u8) };
        // With one bit a level's sign is all that is known.
        let (from, to) = (start(least), start(least + width.min(LEVELS.len())));
        let mean = (density(from) - density(to)) / (share(to) - share(from));
        if first < 0 { -mean } else { mean }
    };
    (0..1 << bits).map(mean).collect()
}

fn quantized(column: &Column) -> Result<Column> {
    let values = column.array().as_primitive_opt::<Float32Type>().ok_or_else(|| Error::logical("no floats"))?;
    let levels = values.values().iter().map(|value| level_of(*value)).collect();
    Ok(Column::from_primitive::<Int8Type>(DataType::Int8, levels))
}

fn restored(column: &Column) -> Result<Column> {
    let levels = column.array().as_primitive_opt::<Int8Type>().ok_or_else(|| Error::logical("no levels"))?;
    let values = levels.values().iter().map(|level| value_of(*level)).collect();
    Ok(Column::from_primitive::<Float32Type>(DataType::BFloat16, values))
}

/// `quantizeBFloat16ToInt8(value or array)`, `dequantizeInt8ToBFloat16(level or array)`.
pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=1)?;
    let is_back = call.name == "dequantizeInt8ToBFloat16";
    let (from, to) = if is_back { (DataType::Int8, DataType::BFloat16) } else { (DataType::BFloat16, DataType::Int8) };
    let turn = if is_back { restored } else { quantized };
    match call.type_of(0) {
        own if *own == from => call.bind(to, move |arguments, rows| {
            let column = argument(arguments, 0)?;
            let turned = turn(column)?;
            Ok(if column.is_constant() { Column::repeat(&turned, rows) } else { turned })
        }),
        DataType::Array(item) if **item == from => call.bind(DataType::array(to.clone()), move |arguments, rows| {
            let lists = Lists::of(arguments, 0)?;
            let items = turn(&lists.items)?;
            let mut positions: Vec<u32> = Vec::new();
            let mut ends = vec![0_i32];
            for row in 0..rows {
                let range = lists.range(row);
                squall_types::grow(&mut positions, range.len())?;
                positions.extend(range.map(|at| at as u32));
                ends.push(positions.len() as i32);
            }
            let items = items.take(&arrow_array::UInt32Array::from(positions))?;
            list_column(&to, ends, items.to_array()?)
        }),
        other => Err(Error::new(
            ErrorCode::ILLEGAL_TYPE_OF_ARGUMENT,
            format!(
                "Argument of function {} must be {from}, Array({from}) or QBit({from}, ...), got {other}",
                call.name
            ),
        )),
    }
}
