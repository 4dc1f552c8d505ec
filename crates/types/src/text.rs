//! Numbers as ClickHouse prints them in text: integers by `itoa`, floats in their shortest form that reads back.

use std::fmt;

/// Appends the shortest text of a `Float64` that reads back: `1`, `0.1`, `1e100`, `nan`, `inf`, `-inf`.
pub fn append_float64(out: &mut Vec<u8>, value: f64) {
    append_shortest(out, value, |buffer| buffer.format_finite(value).to_owned());
}

/// The same for a `Float32`.
pub fn append_float32(out: &mut Vec<u8>, value: f32) {
    append_shortest(out, f64::from(value), |buffer| buffer.format_finite(value).to_owned());
}

/// Writes a `Float64` to a formatter.
pub fn write_float64(f: &mut impl fmt::Write, value: f64) -> fmt::Result {
    let mut text = Vec::with_capacity(24);
    append_float64(&mut text, value);
    f.write_str(&String::from_utf8_lossy(&text))
}

fn append_shortest(out: &mut Vec<u8>, value: f64, shortest: impl FnOnce(&mut zmij::Buffer) -> String) {
    if value.is_nan() {
        out.extend_from_slice(b"nan");
        return;
    }
    if value.is_infinite() {
        out.extend_from_slice(if value < 0.0 { b"-inf" } else { b"inf" });
        return;
    }
    let text = shortest(&mut zmij::Buffer::new());
    let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // All significant digits, and the place of the point counted from their start.
    let digits = format!("{whole}{fraction}");
    let leading = digits.len() - digits.trim_start_matches('0').len();
    let significant = digits.trim_matches('0');
    out.extend_from_slice(sign.as_bytes());
    if significant.is_empty() {
        out.push(b'0');
        return;
    }
    let length = significant.len() as i32;
    let point = whole.len() as i32 + exponent - leading as i32;
    let zeros = |out: &mut Vec<u8>, count: i32| out.extend(std::iter::repeat_n(b'0', count.max(0) as usize));
    // double-conversion's limits, which ClickHouse keeps: decimal from 1e-6 up to below 1e21.
    if (-5..=21).contains(&point) {
        if point <= 0 {
            out.extend_from_slice(b"0.");
            zeros(out, -point);
            out.extend_from_slice(significant.as_bytes());
        } else if point >= length {
            out.extend_from_slice(significant.as_bytes());
            zeros(out, point - length);
        } else {
            out.extend_from_slice(&significant.as_bytes()[..point as usize]);
            out.push(b'.');
            out.extend_from_slice(&significant.as_bytes()[point as usize..]);
        }
        return;
    }
    out.extend_from_slice(&significant.as_bytes()[..1]);
    if length > 1 {
        out.push(b'.');
        out.extend_from_slice(&significant.as_bytes()[1..]);
    }
    out.push(b'e');
    out.extend_from_slice((point - 1).to_string().as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_clickhouse_prints_them() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (123456.789, "123456.789"),
            (1e20, "100000000000000000000"),
            (1e21, "1e21"),
            (1.5e300, "1.5e300"),
            (1e-6, "0.000001"),
            (1e-7, "1e-7"),
            (1.25e-10, "1.25e-10"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::MAX, "1.7976931348623157e308"),
        ] {
            let mut out = Vec::new();
            append_float64(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
        let mut out = Vec::new();
        append_float32(&mut out, 0.1);
        assert_eq!(out, b"0.1");
    }
}
