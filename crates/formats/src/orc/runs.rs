//! Numbers, bytes and bits as runs of them.

use squall_types::{Result, checkpoint, grow};

use super::chunks::Stream;
use super::{corrupted, ends_early};

/// The most values of a run of either version.
const RUN_VALUES_MAX: usize = 512;

fn unsigned_to_signed(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

/// Whole numbers. Unsigned ones are the same 64 bits.
#[derive(Debug)]
pub(super) struct Runs {
    stream: Stream,
    is_signed: bool,
    is_second_version: bool,
    /// The present run, and how many of its values were given out.
    run: Vec<i64>,
    given: usize,
}

/// How many bits a code of five stands for.
pub(super) fn width_of_code(code: u8) -> usize {
    const WIDE: [usize; 8] = [26, 28, 30, 32, 40, 48, 56, 64];
    match code {
        0..=23 => usize::from(code) + 1,
        code => WIDE.get(usize::from(code) - 24).copied().unwrap_or(64),
    }
}

/// The least width with a code that holds so many bits.
fn rounded_width(bits: usize) -> usize {
    (0..32).map(width_of_code).find(|width| *width >= bits).unwrap_or(64)
}

impl Runs {
    pub fn new(stream: Stream, is_signed: bool, is_second_version: bool) -> Self {
        Self { stream, is_signed, is_second_version, run: Vec::with_capacity(RUN_VALUES_MAX), given: 0 }
    }

    /// The next `count` numbers.
    pub fn read(&mut self, count: usize) -> Result<Vec<i64>> {
        let mut numbers = Vec::new();
        while numbers.len() < count {
            if self.given == self.run.len() {
                self.next_run()?;
            }
            let here = (count - numbers.len()).min(self.run.len() - self.given);
            grow(&mut numbers, here)?;
            numbers.extend_from_slice(self.run.get(self.given..self.given + here).unwrap_or_default());
            self.given += here;
            checkpoint(here)?;
        }
        Ok(numbers)
    }

    fn next_run(&mut self) -> Result<()> {
        self.run.clear();
        self.given = 0;
        let header = self.stream.byte()?;
        if !self.is_second_version {
            return self.first_version(header);
        }
        match header >> 6 {
            0 => self.short_repeat(header),
            1 => self.direct(header),
            2 => self.patched_base(header),
            _ => self.delta(header),
        }
    }

    fn varint(&mut self) -> Result<i64> {
        let number = self.stream.varint()?;
        Ok(if self.is_signed { unsigned_to_signed(number) } else { number as i64 })
    }

    fn first_version(&mut self, header: u8) -> Result<()> {
        let header = header as i8;
        if header < 0 {
            for _ in 0..header.unsigned_abs() {
                let number = self.varint()?;
                self.run.push(number);
            }
            return Ok(());
        }
        let delta = i64::from(self.stream.byte()? as i8);
        let first = self.varint()?;
        self.run.extend((0..i64::from(header) + 3).map(|at| first.wrapping_add(at.wrapping_mul(delta))));
        Ok(())
    }

    /// A number in so many bytes, the most significant first.
    fn big_endian(&mut self, bytes: usize) -> Result<u64> {
        (0..bytes).try_fold(0u64, |number, _| Ok(number << 8 | u64::from(self.stream.byte()?)))
    }

    /// The length of a run, of which the header has the highest bit.
    fn length(&mut self, header: u8) -> Result<usize> {
        Ok(((usize::from(header & 1)) << 8 | usize::from(self.stream.byte()?)) + 1)
    }

    /// Numbers of so many bits each, of which the last byte may have some to spare.
    fn packed(&mut self, count: usize, width: usize, mut put: impl FnMut(u64)) -> Result<()> {
        let mut bytes = Vec::new();
        self.stream.take((count * width).div_ceil(8), &mut bytes)?;
        let mut bytes = bytes.into_iter();
        let (mut held, mut bits) = (0u128, 0);
        for _ in 0..count {
            while bits < width {
                held = held << 8 | u128::from(bytes.next().ok_or_else(ends_early)?);
                bits += 8;
            }
            bits -= width;
            put((held >> bits) as u64 & (u64::MAX >> (64 - width)));
        }
        Ok(())
    }

    fn short_repeat(&mut self, header: u8) -> Result<()> {
        let number = self.big_endian(usize::from(header >> 3 & 7) + 1)?;
        let number = if self.is_signed { unsigned_to_signed(number) } else { number as i64 };
        self.run.extend(std::iter::repeat_n(number, usize::from(header & 7) + 3));
        Ok(())
    }

    fn direct(&mut self, header: u8) -> Result<()> {
        let length = self.length(header)?;
        let mut run = std::mem::take(&mut self.run);
        let is_signed = self.is_signed;
        self.packed(length, width_of_code(header >> 1 & 0x1f), |number| {
            run.push(if is_signed { unsigned_to_signed(number) } else { number as i64 });
        })?;
        self.run = run;
        Ok(())
    }

    fn patched_base(&mut self, header: u8) -> Result<()> {
        let length = self.length(header)?;
        let width = width_of_code(header >> 1 & 0x1f);
        let (third, fourth) = (self.stream.byte()?, self.stream.byte()?);
        let base_bytes = usize::from(third >> 5) + 1;
        let patch_width = width_of_code(third & 0x1f);
        let gap_width = usize::from(fourth >> 5) + 1;
        let patches = usize::from(fourth & 0x1f);
        // The most significant bit is the sign.
        let base = self.big_endian(base_bytes)?;
        let sign = 1u64 << (base_bytes * 8 - 1);
        let base = if base & sign == 0 { base as i64 } else { ((base & !sign) as i64).wrapping_neg() };
        let mut values = Vec::with_capacity(length);
        self.packed(length, width, |value| values.push(value))?;
        let packed_width = gap_width + patch_width;
        if packed_width > 64 {
            return Err(corrupted("a patch of more than 64 bits"));
        }
        let mut list = Vec::with_capacity(patches);
        self.packed(patches, rounded_width(packed_width), |patch| list.push(patch))?;
        let mut at = 0;
        for patch in list {
            let bits = patch & (u64::MAX >> (64 - patch_width));
            at += patch.checked_shr(patch_width as u32).unwrap_or(0) as usize & 0xff;
            // A gap that is too wide is told by patches of nothing.
            if bits != 0 {
                let value = values.get_mut(at).ok_or_else(|| corrupted("a patch of no value"))?;
                *value |= bits.checked_shl(width as u32).unwrap_or(0);
            }
        }
        self.run.extend(values.into_iter().map(|value| base.wrapping_add(value as i64)));
        Ok(())
    }

    fn delta(&mut self, header: u8) -> Result<()> {
        let length = self.length(header)?;
        let code = header >> 1 & 0x1f;
        let first = self.varint()?;
        let delta = unsigned_to_signed(self.stream.varint()?);
        let mut run = std::mem::take(&mut self.run);
        run.push(first);
        if code == 0 {
            run.extend((1..length as i64).map(|at| first.wrapping_add(at.wrapping_mul(delta))));
        } else {
            let mut last = first.wrapping_add(delta);
            run.extend((length > 1).then_some(last));
            self.packed(length.saturating_sub(2), width_of_code(code), |step| {
                last = if delta < 0 { last.wrapping_sub(step as i64) } else { last.wrapping_add(step as i64) };
                run.push(last);
            })?;
        }
        self.run = run;
        Ok(())
    }
}

/// Bytes.
#[derive(Debug)]
pub(super) struct ByteRuns {
    stream: Stream,
    /// Bytes of the present run that are still to be given out, and the one that they all are.
    left: usize,
    repeated: Option<u8>,
}

impl ByteRuns {
    pub fn new(stream: Stream) -> Self {
        Self { stream, left: 0, repeated: None }
    }

    /// The next `count` bytes.
    pub fn read(&mut self, count: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            if self.left == 0 {
                let header = self.stream.byte()? as i8;
                if header < 0 {
                    (self.left, self.repeated) = (header.unsigned_abs().into(), None);
                } else {
                    (self.left, self.repeated) = (header.unsigned_abs() as usize + 3, Some(self.stream.byte()?));
                }
            }
            let here = (count - bytes.len()).min(self.left);
            match self.repeated {
                Some(byte) => {
                    grow(&mut bytes, here)?;
                    bytes.extend(std::iter::repeat_n(byte, here));
                }
                None => self.stream.take(here, &mut bytes)?,
            }
            self.left -= here;
            checkpoint(here)?;
        }
        Ok(bytes)
    }
}

/// Bits, eight to a byte.
#[derive(Debug)]
pub(super) struct BitRuns {
    bytes: ByteRuns,
    /// The byte whose bits were not all given out yet, and how many are left.
    last: u8,
    left: usize,
}

impl BitRuns {
    pub fn new(stream: Stream) -> Self {
        Self { bytes: ByteRuns::new(stream), last: 0, left: 0 }
    }

    /// The next `count` bits.
    pub fn read(&mut self, count: usize) -> Result<Vec<bool>> {
        let bytes = self.bytes.read(count.saturating_sub(self.left).div_ceil(8))?;
        let mut bits = Vec::new();
        grow(&mut bits, count)?;
        let mut bytes = bytes.into_iter();
        while bits.len() < count {
            if self.left == 0 {
                (self.last, self.left) = (bytes.next().ok_or_else(ends_early)?, 8);
            }
            self.left -= 1;
            bits.push(self.last >> self.left & 1 == 1);
        }
        Ok(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(bytes: &[u8], is_signed: bool, is_second_version: bool) -> Runs {
        Runs::new(Stream::new(bytes.to_vec().into(), None), is_signed, is_second_version)
    }

    /// The examples of the format's description.
    #[test]
    fn runs_of_the_second_version() {
        assert_eq!(runs(&[0x0a, 0x27, 0x10], false, true).read(5).unwrap(), [10000; 5]);
        let direct = [0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef];
        assert_eq!(runs(&direct, false, true).read(4).unwrap(), [23713, 43806, 57005, 48879]);
        let patched = [
            0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a, 0x64, 0x6e,
            0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8,
        ];
        let expected = [
            2030, 2000, 2020, 1_000_000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120, 2130, 2140, 2150, 2160,
            2170, 2180, 2190,
        ];
        assert_eq!(runs(&patched, false, true).read(20).unwrap(), expected);
        let delta = [0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46];
        assert_eq!(runs(&delta, false, true).read(10).unwrap(), [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]);
    }

    #[test]
    fn runs_of_the_first_version() {
        assert_eq!(runs(&[0x61, 0x00, 0x07], false, false).read(100).unwrap(), [7; 100]);
        assert_eq!(runs(&[0xfb, 0x02, 0x03, 0x06, 0x07, 0x0b], false, false).read(5).unwrap(), [2, 3, 6, 7, 11]);
        let down: Vec<i64> = (1..=100).rev().collect();
        assert_eq!(runs(&[0x61, 0xff, 0x64], false, false).read(100).unwrap(), down);
        assert!(runs(&[0x61, 0xff, 0x64], false, false).read(101).is_err());
    }

    #[test]
    fn runs_of_bytes_and_bits() {
        let bytes = |bytes: &[u8]| ByteRuns::new(Stream::new(bytes.to_vec().into(), None));
        assert_eq!(bytes(&[0x61, 0x00]).read(100).unwrap(), [0; 100]);
        assert_eq!(bytes(&[0xfe, 0x44, 0x45]).read(2).unwrap(), [0x44, 0x45]);
        let mut bits = BitRuns::new(Stream::new(vec![0xff, 0x80].into(), None));
        assert_eq!(bits.read(3).unwrap(), [true, false, false]);
        assert_eq!(bits.read(5).unwrap(), [false; 5]);
        assert!(bits.read(1).is_err());
    }

    #[test]
    fn any_bytes_are_numbers_or_an_error() {
        let mut seed = 1u64;
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..40)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (seed >> 33) as u8
                })
                .collect();
            for (is_signed, is_second_version) in [(false, false), (true, true), (false, true)] {
                let _ = runs(&bytes, is_signed, is_second_version).read(2000);
            }
        }
    }
}
