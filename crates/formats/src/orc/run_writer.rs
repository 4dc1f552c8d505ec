//! Numbers, bytes and bits written as runs of them.

use squall_types::{Result, checkpoint, grow};

use super::runs::width_of_code;

/// The most values of a run.
const RUN_VALUES_MAX: usize = 512;
/// The most values of the shortest form of equal ones.
const REPEAT_MAX: usize = 10;
const REPEAT_MIN: usize = 3;
/// Bytes of a run of bytes: of equal ones, and of others.
const EQUAL_BYTES_MAX: usize = 130;
const OTHER_BYTES_MAX: usize = 128;

/// Appends an unsigned number of variable length.
pub(super) fn put_varint(mut number: u128, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(super) fn signed_to_unsigned(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

/// Whole numbers in runs of the second version.
#[derive(Debug)]
pub(super) struct RunWriter {
    is_signed: bool,
    waiting: Vec<i64>,
    out: Vec<u8>,
}

/// The code of the least width for so many bits.
fn code_of_width(bits: usize) -> (u8, usize) {
    (0..32u8).map(|code| (code, width_of_code(code))).find(|(_, width)| *width >= bits).unwrap_or((31, 64))
}

fn bits_of(number: u64) -> usize {
    (64 - number.leading_zeros() as usize).max(1)
}

impl RunWriter {
    pub fn new(is_signed: bool) -> Self {
        Self { is_signed, waiting: Vec::new(), out: Vec::new() }
    }

    pub fn push(&mut self, number: i64) -> Result<()> {
        self.waiting.push(number);
        if self.waiting.len() == RUN_VALUES_MAX { self.flush() } else { Ok(()) }
    }

    pub fn bytes(&self) -> usize {
        self.out.len() + 8 * self.waiting.len()
    }

    /// All that was pushed; there is nothing afterwards.
    pub fn finish(&mut self) -> Result<Vec<u8>> {
        self.flush()?;
        Ok(std::mem::take(&mut self.out))
    }

    fn plain(&self, number: i64) -> u64 {
        if self.is_signed { signed_to_unsigned(number) } else { number as u64 }
    }

    fn flush(&mut self) -> Result<()> {
        let numbers = std::mem::take(&mut self.waiting);
        let (Some(first), count) = (numbers.first().copied(), numbers.len()) else { return Ok(()) };
        checkpoint(4 * count)?;
        grow(&mut self.out, 8 * count + 32)?;
        let steps: Option<Vec<i64>> =
            numbers.windows(2).map(|pair| pair[1].checked_sub(pair[0]).filter(|step| *step != i64::MIN)).collect();
        let width = numbers.iter().map(|number| bits_of(self.plain(*number))).max().unwrap_or(1);
        let (code, width) = code_of_width(width);
        match steps.as_deref() {
            Some([step, rest @ ..]) if count >= REPEAT_MIN && rest.iter().all(|other| other == step) => {
                if *step == 0 && count <= REPEAT_MAX {
                    self.short_repeat(first, count);
                } else {
                    self.delta_header(0, first, *step, count);
                }
            }
            Some([step, rest @ ..]) if count >= REPEAT_MIN => {
                // The first step's sign is that of all.
                let is_down = *step < 0;
                let goes_one_way = *step != 0 && rest.iter().all(|other| *other == 0 || (*other < 0) == is_down);
                let step_bits = rest.iter().map(|step| bits_of(step.unsigned_abs())).max().unwrap_or(1);
                // One bit has the code of steps that are all the same.
                let (step_code, step_width) = code_of_width(step_bits.max(2));
                if goes_one_way && step_width < width {
                    self.delta_header(step_code, first, *step, count);
                    self.packed(rest.iter().map(|step| step.unsigned_abs()), step_width);
                } else {
                    self.direct(&numbers, code, width);
                }
            }
            _ => self.direct(&numbers, code, width),
        }
        self.waiting = numbers;
        self.waiting.clear();
        Ok(())
    }

    fn header(&mut self, form: u8, code: u8, count: usize) {
        let length = count - 1;
        self.out.extend_from_slice(&[form << 6 | code << 1 | (length >> 8) as u8, length as u8]);
    }

    fn short_repeat(&mut self, number: i64, count: usize) {
        let number = self.plain(number);
        let bytes = bits_of(number).div_ceil(8);
        self.out.push((bytes as u8 - 1) << 3 | (count - REPEAT_MIN) as u8);
        self.out.extend(number.to_be_bytes().into_iter().skip(8 - bytes));
    }

    fn delta_header(&mut self, code: u8, first: i64, step: i64, count: usize) {
        self.header(3, code, count);
        put_varint(self.plain(first).into(), &mut self.out);
        put_varint(signed_to_unsigned(step).into(), &mut self.out);
    }

    fn direct(&mut self, numbers: &[i64], code: u8, width: usize) {
        self.header(1, code, numbers.len());
        let plain: Vec<u64> = numbers.iter().map(|number| self.plain(*number)).collect();
        self.packed(plain.into_iter(), width);
    }

    fn packed(&mut self, numbers: impl Iterator<Item = u64>, width: usize) {
        let (mut held, mut bits) = (0u128, 0);
        for number in numbers {
            held = held << width | u128::from(number);
            bits += width;
            while bits >= 8 {
                bits -= 8;
                self.out.push((held >> bits) as u8);
            }
        }
        if bits > 0 {
            self.out.push((held << (8 - bits)) as u8);
        }
    }
}

/// Bytes in runs.
#[derive(Debug, Default)]
pub(super) struct ByteRunWriter {
    bytes: Vec<u8>,
}

impl ByteRunWriter {
    pub fn push(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// All that was pushed; there is nothing afterwards.
    pub fn finish(&mut self) -> Result<Vec<u8>> {
        let bytes = std::mem::take(&mut self.bytes);
        let mut out = Vec::new();
        grow(&mut out, bytes.len() / 2)?;
        let mut others: &[u8] = &[];
        let mut rest = &*bytes;
        let put_others = |others: &[u8], out: &mut Vec<u8>| {
            for run in others.chunks(OTHER_BYTES_MAX) {
                out.push((run.len() as u8).wrapping_neg());
                out.extend_from_slice(run);
            }
        };
        while let Some(first) = rest.first() {
            let equal = rest.iter().take(EQUAL_BYTES_MAX).take_while(|byte| *byte == first).count();
            let (run, after) = rest.split_at(equal);
            if equal >= REPEAT_MIN {
                put_others(others, &mut out);
                out.extend_from_slice(&[(equal - REPEAT_MIN) as u8, *first]);
                others = &[];
            } else {
                let start = bytes.len() - rest.len() - others.len();
                others = bytes.get(start..start + others.len() + run.len()).unwrap_or_default();
            }
            rest = after;
        }
        put_others(others, &mut out);
        Ok(out)
    }
}

/// Bits, eight to a byte.
#[derive(Debug, Default)]
pub(super) struct BitRunWriter {
    bytes: ByteRunWriter,
    last: u8,
    bits: u8,
}

impl BitRunWriter {
    pub fn push(&mut self, bit: bool) {
        self.last = self.last << 1 | u8::from(bit);
        self.bits += 1;
        if self.bits == 8 {
            self.bytes.push(self.last);
            (self.last, self.bits) = (0, 0);
        }
    }

    pub fn bytes(&self) -> usize {
        self.bytes.bytes()
    }

    /// All that was pushed; there is nothing afterwards.
    pub fn finish(&mut self) -> Result<Vec<u8>> {
        if self.bits > 0 {
            self.bytes.push(self.last << (8 - self.bits));
        }
        (self.last, self.bits) = (0, 0);
        self.bytes.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::chunks::Stream;
    use super::super::runs::{BitRuns, ByteRuns, Runs};
    use super::*;

    #[test]
    fn numbers_come_back() {
        let mut seed = 7u64;
        let mut random = |bits: u32| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed.rotate_left(17) & (u64::MAX >> (64 - bits))) as i64
        };
        let mut tables: Vec<Vec<i64>> = vec![
            vec![],
            vec![5],
            vec![-5, -5],
            vec![7; 3],
            vec![7; 10],
            vec![7; 11],
            vec![i64::MIN, i64::MAX, 0, -1],
            vec![i64::MAX, i64::MIN],
            (0..2000).collect(),
            (0..2000).rev().map(|number| number * 1000).collect(),
            (0..600).map(|number| number * number).collect(),
            (0..600).map(|number| -(number * number) + number % 3).collect(),
            vec![0, 0, 1, 1, 2, 2, 2],
            vec![3, 3, 2, 1],
        ];
        for bits in 1..=64 {
            tables.push((0..700).map(|_| random(bits)).collect());
        }
        for (numbers, is_signed) in tables.iter().flat_map(|numbers| [(numbers, true), (numbers, false)]) {
            let mut writer = RunWriter::new(is_signed);
            numbers.iter().try_for_each(|number| writer.push(*number)).unwrap();
            let bytes = writer.finish().unwrap();
            let found = Runs::new(Stream::new(bytes.into(), None), is_signed, true).read(numbers.len()).unwrap();
            assert_eq!(&found, numbers, "{is_signed}");
        }
    }

    #[test]
    fn bytes_and_bits_come_back() {
        for length in [0usize, 1, 2, 3, 127, 128, 129, 130, 131, 1000] {
            for step in [1, 2, 3, 5, 200] {
                let bytes: Vec<u8> = (0..length).map(|at| (at / step) as u8).collect();
                let (mut writer, mut bits) = (ByteRunWriter::default(), BitRunWriter::default());
                bytes.iter().for_each(|byte| {
                    writer.push(*byte);
                    bits.push(byte % 3 == 1);
                });
                let (written, bits) = (writer.finish().unwrap(), bits.finish().unwrap());
                assert_eq!(ByteRuns::new(Stream::new(written.into(), None)).read(length).unwrap(), bytes);
                let expected: Vec<bool> = bytes.iter().map(|byte| byte % 3 == 1).collect();
                assert_eq!(BitRuns::new(Stream::new(bits.into(), None)).read(length).unwrap(), expected);
            }
        }
    }
}
