//! CityHash64 as of version 1.0.2, whose values ClickHouse keeps (later versions differ). The algorithm is by Geoff Pike and Jyrki
//! Alakuijala.

use std::sync::Arc;

use arrow_array::types::UInt64Type;
use squall_types::{DataType, Result, Value};

use crate::function::BoundFunction;
use crate::registry::resolve_scalar;
use crate::scalar::simple::{Call, Strings, integers, primitive_column, value_column};

const K0: u64 = 0xC3A5_C85C_97CB_3127;
const K1: u64 = 0xB492_B66F_BE98_F273;
const K2: u64 = 0x9AE1_6A3B_2F90_404F;
const K3: u64 = 0xC949_D7C7_509E_6557;

/// Eight bytes from `at` on.
#[inline]
fn fetch64(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u64::from_le_bytes(*chunk))
}

/// Four bytes from `at` on.
#[inline]
fn fetch32(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |chunk| u32::from_le_bytes(*chunk).into())
}

fn shift_mix(value: u64) -> u64 {
    value ^ (value >> 47)
}

/// Two hashes as one: `Hash128to64`.
#[inline]
pub(crate) fn combine(left: u64, right: u64) -> u64 {
    const MULTIPLIER: u64 = 0x9DDF_EA08_EB38_2D69;
    let mut first = (left ^ right).wrapping_mul(MULTIPLIER);
    first ^= first >> 47;
    let mut second = (right ^ first).wrapping_mul(MULTIPLIER);
    second ^= second >> 47;
    second.wrapping_mul(MULTIPLIER)
}

/// The hash of bytes and a seed.
pub(crate) fn hash64_seeded(bytes: &[u8], seed: u64) -> u64 {
    combine(hash64(bytes).wrapping_sub(K2), seed)
}

fn hash_0_to_16(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    if length > 8 {
        let first = fetch64(bytes, 0);
        let last = fetch64(bytes, length - 8);
        let rotated = last.wrapping_add(length as u64).rotate_right(length as u32);
        return combine(first, rotated) ^ last;
    }
    if length >= 4 {
        return combine((length as u64).wrapping_add(fetch32(bytes, 0) << 3), fetch32(bytes, length - 4));
    }
    let (Some(&first), Some(&middle), Some(&last)) = (bytes.first(), bytes.get(length / 2), bytes.last()) else {
        return K2;
    };
    let start = u32::from(first) + (u32::from(middle) << 8);
    let end = length as u32 + (u32::from(last) << 2);
    shift_mix(u64::from(start).wrapping_mul(K2) ^ u64::from(end).wrapping_mul(K3)).wrapping_mul(K2)
}

fn hash_17_to_32(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    let a = fetch64(bytes, 0).wrapping_mul(K1);
    let b = fetch64(bytes, 8);
    let c = fetch64(bytes, length - 8).wrapping_mul(K2);
    let d = fetch64(bytes, length - 16).wrapping_mul(K0);
    combine(
        a.wrapping_sub(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d),
        a.wrapping_add((b ^ K3).rotate_right(20)).wrapping_sub(c).wrapping_add(length as u64),
    )
}

fn hash_33_to_64(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    // Both halves are mixed in one way, from words of the start and of the end.
    let half = |a: u64, second: u64, third: u64, last: u64| {
        let low = a.wrapping_add(second).wrapping_add(third);
        let high = a.wrapping_add(last).rotate_right(52).wrapping_add(low.rotate_right(31));
        let high = high.wrapping_add(a.rotate_right(37)).wrapping_add(a.wrapping_add(second).rotate_right(7));
        (low.wrapping_add(last), high)
    };
    let start =
        fetch64(bytes, 0).wrapping_add((length as u64).wrapping_add(fetch64(bytes, length - 16)).wrapping_mul(K0));
    let (vf, vs) = half(start, fetch64(bytes, 8), fetch64(bytes, 16), fetch64(bytes, 24));
    let end = fetch64(bytes, 16).wrapping_add(fetch64(bytes, length - 32));
    let (wf, ws) = half(end, fetch64(bytes, length - 24), fetch64(bytes, length - 16), fetch64(bytes, length - 8));
    let r = shift_mix(vf.wrapping_add(ws).wrapping_mul(K2).wrapping_add(wf.wrapping_add(vs).wrapping_mul(K0)));
    shift_mix(r.wrapping_mul(K0).wrapping_add(vs)).wrapping_mul(K2)
}

/// The hash of 32 bytes from `at` on with two seeds.
fn weak_32_with_seeds(bytes: &[u8], at: usize, a: u64, b: u64) -> (u64, u64) {
    let (w, x) = (fetch64(bytes, at), fetch64(bytes, at + 8));
    let (y, z) = (fetch64(bytes, at + 16), fetch64(bytes, at + 24));
    let a = a.wrapping_add(w);
    let b = b.wrapping_add(a).wrapping_add(z).rotate_right(21);
    let c = a;
    let a = a.wrapping_add(x).wrapping_add(y);
    let b = b.wrapping_add(a.rotate_right(44));
    (a.wrapping_add(z), b.wrapping_add(c))
}

/// CityHash64 of bytes.
pub(crate) fn hash64(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    match length {
        0..=16 => return hash_0_to_16(bytes),
        17..=32 => return hash_17_to_32(bytes),
        33..=64 => return hash_33_to_64(bytes),
        _ => {}
    }
    let mut x = fetch64(bytes, 0);
    let mut y = fetch64(bytes, length - 16) ^ K1;
    let mut z = fetch64(bytes, length - 56) ^ K0;
    let mut v = weak_32_with_seeds(bytes, length - 64, length as u64, y);
    let mut w = weak_32_with_seeds(bytes, length - 32, (length as u64).wrapping_mul(K1), K0);
    z = z.wrapping_add(shift_mix(v.1).wrapping_mul(K1));
    x = z.wrapping_add(x).rotate_right(39).wrapping_mul(K1);
    y = y.rotate_right(33).wrapping_mul(K1);
    let end = (length - 1) & !63;
    for at in (0..end).step_by(64) {
        x = x.wrapping_add(y).wrapping_add(v.0).wrapping_add(fetch64(bytes, at + 16)).rotate_right(37).wrapping_mul(K1);
        y = y.wrapping_add(v.1).wrapping_add(fetch64(bytes, at + 48)).rotate_right(42).wrapping_mul(K1);
        x ^= w.1;
        y ^= v.0;
        z = (z ^ w.0).rotate_right(33);
        v = weak_32_with_seeds(bytes, at, v.1.wrapping_mul(K1), x.wrapping_add(w.0));
        w = weak_32_with_seeds(bytes, at + 32, z.wrapping_add(w.1), y);
        std::mem::swap(&mut z, &mut x);
    }
    combine(
        combine(v.0, w.0).wrapping_add(shift_mix(y).wrapping_mul(K1)).wrapping_add(z),
        combine(v.1, w.1).wrapping_add(x),
    )
}

/// The hash of a URL without a slash, `?` or `#` at its end.
fn hash_url(url: &[u8]) -> u64 {
    match url {
        [url @ .., b'/' | b'?' | b'#'] => hash64(url),
        url => hash64(url),
    }
}

/// `URLHash(url, level)`: of the part that `URLHierarchy` has at this level, from 0 on.
fn resolve_url_level(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.integers([1])?;
    let hierarchy = resolve_scalar("URLHierarchy", call.arguments.get(..1).unwrap_or_default(), call.context)?;
    call.bind(DataType::UInt64, move |arguments, rows| {
        let levels = integers(arguments, 1, rows)?;
        let parts = hierarchy.execute(arguments.get(..1).unwrap_or_default(), rows)?;
        value_column(&DataType::UInt64, rows, |row| {
            let Value::Array(parts) = parts.value(row) else { return Ok(Value::UInt64(hash_url(b""))) };
            let part = usize::try_from(levels[row]).ok().and_then(|level| parts.get(level));
            Ok(Value::UInt64(hash_url(part.and_then(Value::as_bytes).unwrap_or_default())))
        })
    })
}

/// `URLHash`.
pub(super) fn resolve_url(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(1..=2)?;
    call.strings([0])?;
    if call.arguments.len() == 2 {
        return resolve_url_level(call);
    }
    call.bind(DataType::UInt64, |arguments, rows| {
        let urls = Strings::of(arguments, 0)?;
        Ok(primitive_column::<UInt64Type>(DataType::UInt64, rows, |row| hash_url(urls.get(row))))
    })
}
