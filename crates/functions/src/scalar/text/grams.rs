//! `ngramDistance` and `ngramSearch`: how many runs of four bytes, or of three characters, two strings share.

use std::sync::Arc;

use arrow_array::types::Float32Type;
use hashbrown::HashMap;
use squall_types::{Column, DataType, Result, checkpoint};

use crate::function::BoundFunction;
use crate::scalar::simple::{Call, Strings};

/// Longer strings are not compared: they count as unlike.
const BYTES_MAX: usize = 1 << 15;

/// A run of bytes or characters.
type Gram = [u32; 4];

/// How a function makes runs.
#[derive(Clone, Copy)]
struct Kind {
    in_characters: bool,
    in_any_case: bool,
}

impl Kind {
    fn for_each(self, text: &[u8], mut visit: impl FnMut(Gram)) {
        let mut gram = [0; 4];
        let size = if self.in_characters { 3 } else { 4 };
        let mut count = 0;
        let mut push = |item: u32| {
            gram.rotate_left(1);
            gram[3] = item;
            count += 1;
            if count >= size {
                let mut own = gram;
                own[..4 - size].fill(0);
                visit(own);
            }
        };
        if self.in_characters {
            for character in text.chunk_by(|_, next| next & 0xC0 == 0x80) {
                let mut item = [0; 4];
                item.iter_mut().zip(character).for_each(|(item, byte)| *item = *byte);
                // Case as ClickHouse takes it: a bit of each byte, and of the first where there are more. It is that of ASCII letters,
                // and of most Latin and Cyrillic ones.
                if self.in_any_case {
                    item.iter_mut().for_each(|byte| *byte &= !0x20);
                    if character.len() > 1 {
                        item[0] &= !1;
                    }
                }
                push(u32::from_le_bytes(item));
            }
        } else {
            let fold = |byte: &u8| if self.in_any_case { byte.to_ascii_lowercase() } else { *byte };
            text.iter().for_each(|byte| push(fold(byte).into()));
        }
    }
}

/// The runs of a needle: which there are, how often each, and how many together.
#[derive(Default)]
struct Needle {
    places: HashMap<Gram, usize>,
    counts: Vec<u32>,
    total: u32,
    /// Counts that a text has used up.
    left: Vec<u32>,
}

impl Needle {
    fn set(&mut self, kind: Kind, text: &[u8]) {
        self.places.clear();
        self.counts.clear();
        self.total = 0;
        kind.for_each(text, |gram| {
            let next = self.counts.len();
            let place = *self.places.entry(gram).or_insert(next);
            if place == next {
                self.counts.push(0);
            }
            self.counts[place] += 1;
            self.total += 1;
        });
    }

    /// How many runs a text has, and how many of them it shares with the needle.
    fn compare(&mut self, kind: Kind, text: &[u8]) -> (u32, u32) {
        self.left.clone_from(&self.counts);
        let (mut all, mut shared) = (0, 0);
        kind.for_each(text, |gram| {
            all += 1;
            if let Some(left) = self.places.get(&gram).and_then(|place| self.left.get_mut(*place))
                && *left > 0
            {
                *left -= 1;
                shared += 1;
            }
        });
        (all, shared)
    }
}

pub(super) fn resolve(call: &Call<'_>) -> Result<Arc<dyn BoundFunction>> {
    call.arguments(2..=2)?;
    call.strings([0, 1])?;
    let kind = Kind { in_characters: call.name.ends_with("UTF8"), in_any_case: call.name.contains("CaseInsensitive") };
    let is_search = call.name.starts_with("ngramSearch");
    call.bind(DataType::Float32, move |arguments, rows| {
        let (texts, needles) = (Strings::of(arguments, 0)?, Strings::of(arguments, 1)?);
        let mut needle = Needle::default();
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let (text, wanted) = (texts.get(row), needles.get(row));
            checkpoint(16 * text.len())?;
            if row == 0 || !matches!(needles, Strings::Constant(_)) {
                needle.set(kind, wanted);
            }
            let total = needle.total;
            if text.len() > BYTES_MAX || wanted.len() > BYTES_MAX {
                values.push(if is_search { 0.0 } else { 1.0 });
                continue;
            }
            let (all, shared) = needle.compare(kind, text);
            values.push(if is_search {
                1.0 - (total - shared) as f32 / total.max(1) as f32
            } else {
                (total + all - 2 * shared) as f32 / (total + all).max(1) as f32
            });
        }
        Ok(Column::from_primitive::<Float32Type>(DataType::Float32, values))
    })
}
