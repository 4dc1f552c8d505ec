//! Parquet's hybrid of runs and packed groups of eight: how keys of dictionaries and levels are written.

use squall_types::binary::put_varint;

/// A run of so many equal keys is written as one: two groups of eight.
const RUN_MIN: usize = 16;

/// Bits that a number takes.
pub(in crate::merge_tree) fn bits(number: u32) -> u32 {
    u32::BITS - number.leading_zeros()
}

/// A run of Parquet's RLE/bit-packing hybrid.
pub(in crate::merge_tree) fn put_run(out: &mut Vec<u8>, count: usize, key: u32, width: u32) {
    put_varint((count as u64) << 1, out);
    out.extend_from_slice(key.to_le_bytes().get(..width.div_ceil(8) as usize).unwrap_or_default());
}

/// `count` keys of so many bits each; the last group of eight is filled up with zeros.
fn put_packed(out: &mut Vec<u8>, count: usize, keys: impl Iterator<Item = u32>, width: u32) {
    if count == 0 {
        return;
    }
    let groups = count.div_ceil(8);
    put_varint((groups as u64) << 1 | 1, out);
    let end = out.len() + groups * width as usize;
    out.reserve(end - out.len() + 4);
    let (mut buffer, mut filled) = (0_u64, 0);
    for key in keys.take(groups * 8) {
        buffer |= u64::from(key) << filled;
        filled += width;
        if filled >= 32 {
            out.extend_from_slice(&(buffer as u32).to_le_bytes());
            buffer >>= 32;
            filled -= 32;
        }
    }
    out.extend_from_slice(&(buffer as u32).to_le_bytes());
    out.resize(end, 0);
}

/// `rows` times the same `items` keys.
pub(in crate::merge_tree) fn put_pattern(
    out: &mut Vec<u8>,
    rows: usize,
    items: usize,
    key: impl Fn(usize) -> u32,
    width: u32,
) {
    match items {
        1 => put_run(out, rows, key(0), width),
        _ => put_packed(out, rows * items, (0..rows).flat_map(|_| 0..items).map(key), width),
    }
}

/// Keys as runs where whole groups of eight are alike, packed where they are not.
pub(in crate::merge_tree) fn put_keys<K: Copy + PartialEq + Into<u32>>(out: &mut Vec<u8>, keys: &[K], width: u32) {
    out.reserve(keys.len() * width as usize / 8 + 16);
    let (groups, tail) = keys.as_chunks::<8>();
    let put_pending = |out: &mut Vec<u8>, keys: &[K]| {
        put_packed(out, keys.len(), keys.iter().map(|key| (*key).into()), width);
    };
    // Keys before the group `at` that are not written yet.
    let mut pending = 0;
    let mut at = 0;
    while let Some(group) = groups.get(at) {
        let is_of = |group: &[K; 8], key: K| group.iter().fold(true, |all, other| all & (*other == key));
        let key = group[0];
        let alike = groups.get(at..).unwrap_or_default().iter().take_while(|group| is_of(group, key)).count();
        if alike * 8 < RUN_MIN {
            at += alike.max(1);
            continue;
        }
        put_pending(out, keys.get(pending * 8..at * 8).unwrap_or_default());
        at += alike;
        pending = at;
        // Where the run goes on to the end, there is no last group of its own.
        let rest = if at == groups.len() { tail.iter().take_while(|other| **other == key).count() } else { 0 };
        let is_end = at == groups.len() && rest == tail.len();
        put_run(out, alike * 8 + if is_end { rest } else { 0 }, key.into(), width);
        if is_end {
            return;
        }
    }
    put_pending(out, keys.get(pending * 8..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the hybrid back.
    fn unpack(mut bytes: &[u8], width: u32, count: usize) -> Vec<u32> {
        let mut keys = Vec::new();
        while keys.len() < count {
            let (mut header, mut shift) = (0_usize, 0);
            loop {
                let byte = bytes[0];
                bytes = &bytes[1..];
                header |= usize::from(byte & 0x7F) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            if header & 1 == 0 {
                let size = width.div_ceil(8) as usize;
                let mut key = [0; 4];
                key[..size].copy_from_slice(&bytes[..size]);
                bytes = &bytes[size..];
                keys.extend(std::iter::repeat_n(u32::from_le_bytes(key), header >> 1));
            } else {
                let size = (header >> 1) * width as usize;
                for at in 0..(header >> 1) * 8 {
                    let bit = |bit: usize| u32::from(bytes[bit / 8] >> (bit % 8) & 1);
                    keys.push((0..width as usize).map(|low| bit(at * width as usize + low) << low).sum());
                }
                bytes = &bytes[size..];
            }
        }
        assert!(bytes.is_empty() && keys.iter().skip(count).all(|key| *key == 0));
        keys.truncate(count);
        keys
    }

    #[test]
    fn keys_become_runs_and_groups_of_eight() {
        let run = |key, count| std::iter::repeat_n(key, count);
        let cases: [Vec<u32>; 6] = [
            vec![0_u32],
            run(1, 1000).collect(),
            (0..5).collect(),
            (0..100).map(|at| at % 7).collect(),
            (0..5).chain(run(6, 300)).chain([1, 2]).chain(run(3, 17)).chain(0..7).collect(),
            run(2, 16).chain(run(3, 15)).chain(run(4, 23)).chain(run(0, 24)).collect(),
        ];
        for keys in cases {
            for width in [3, 7, 9, 20] {
                let mut bytes = Vec::new();
                put_keys(&mut bytes, &keys, width);
                assert_eq!(unpack(&bytes, width, keys.len()), keys, "{width} bits");
            }
        }
        let mut bytes = Vec::new();
        put_keys(&mut bytes, &vec![1_u32; 1 << 20], 1);
        assert_eq!(bytes.len(), 5);
    }
}
