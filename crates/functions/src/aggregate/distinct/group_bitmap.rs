//! `groupBitmap`: the distinct integers of a group as a compressed bitmap (Lemire et al., *Roaring Bitmaps*, 2018), and their number.
//! `groupBitmapAnd`, `groupBitmapOr`, `groupBitmapXor`: the same of several bitmaps. Few integers are kept as a list.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::types::UInt64Type;
use roaring::{RoaringBitmap, RoaringTreemap};
use squall_types::{Column, DataType, Error, ErrorCode, Result, checkpoint};

use super::growing_integers::GrowingIntegers;
use crate::accumulator::AggregateFunction;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::values::row_hash::number_bits;
use crate::aggregate::values::state_bytes::{put_varint, take_bytes, take_count, take_varint};

/// Integers that are a list.
const LIST_MAX: usize = 32;

/// The integers of a group.
#[derive(Clone)]
pub(crate) enum Integers {
    List(Vec<u64>),
    Bitmap(Box<RoaringTreemap>),
}

impl Default for Integers {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Integers {
    pub(crate) fn insert(&mut self, integer: u64) {
        match self {
            Self::List(list) if list.contains(&integer) => {}
            Self::List(list) if list.len() < LIST_MAX => list.push(integer),
            other => {
                other.bitmap().insert(integer);
            }
        }
    }

    fn bitmap(&mut self) -> &mut RoaringTreemap {
        if let Self::List(list) = self {
            *self = Self::Bitmap(Box::new(list.iter().copied().collect()));
        }
        match self {
            Self::Bitmap(bitmap) => bitmap,
            Self::List(_) => unreachable!("it has just become a bitmap"),
        }
    }

    pub(in crate::aggregate) fn heap_bytes(&self) -> usize {
        match self {
            Self::List(list) => list.capacity() * 8,
            Self::Bitmap(bitmap) => bitmap.serialized_size() + size_of::<RoaringTreemap>(),
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        match self {
            Self::List(list) => list.len() as u64,
            Self::Bitmap(bitmap) => bitmap.len(),
        }
    }

    /// Whether an integer, in the form of [`Form::in_bitmaps`], is one of them.
    pub(crate) fn contains(&self, integer: u64) -> bool {
        match self {
            Self::List(list) => list.contains(&integer),
            Self::Bitmap(bitmap) => bitmap.contains(integer),
        }
    }

    /// All of them: as they came in a list, ascending in a bitmap.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        match self {
            Self::List(list) => Box::new(list.iter().copied()),
            Self::Bitmap(bitmap) => Box::new(bitmap.iter()),
        }
    }

    /// How many both have.
    pub(crate) fn shared(&self, other: &Self) -> u64 {
        match (self, other) {
            (Self::Bitmap(bitmap), Self::Bitmap(other)) => bitmap.intersection_len(other),
            (Self::List(list), other) | (other, Self::List(list)) => {
                list.iter().filter(|integer| other.contains(**integer)).count() as u64
            }
        }
    }

    /// Puts integers in the place of others.
    pub(crate) fn replace(&mut self, pairs: impl Iterator<Item = (u64, u64)>) {
        let bitmap = self.bitmap();
        for (from, to) in pairs {
            if from != to && bitmap.remove(from) {
                bitmap.insert(to);
            }
        }
    }

    pub(crate) fn combine(&mut self, mut other: Self, rule: Rule) {
        match (&mut *self, &other, rule) {
            (_, Self::List(list), Rule::Or) => list.iter().for_each(|integer| self.insert(*integer)),
            (Self::List(list), _, Rule::And) => list.retain(|integer| other.contains(*integer)),
            (_, _, Rule::And) => *self.bitmap() &= std::mem::take(other.bitmap()),
            (_, _, Rule::Or) => *self.bitmap() |= std::mem::take(other.bitmap()),
            (_, _, Rule::Xor) => *self.bitmap() ^= std::mem::take(other.bitmap()),
            (Self::List(list), _, Rule::AndNot) => list.retain(|integer| !other.contains(*integer)),
            (Self::Bitmap(bitmap), _, Rule::AndNot) => **bitmap -= std::mem::take(other.bitmap()),
        }
    }

    pub(crate) fn write(&self, form: Form, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::List(list) => {
                out.push(0);
                put_varint(list.len() as u64, out);
                list.iter().for_each(|integer| out.extend_from_slice(&integer.to_le_bytes()[..form.width]));
            }
            Self::Bitmap(bitmap) => {
                out.push(1);
                let wrong = |error: std::io::Error| Error::logical(error.to_string());
                // Runs of integers are written as such.
                let parts = bitmap.bitmaps().map(|(high, part)| {
                    let mut part = part.clone();
                    part.optimize();
                    (high, part)
                });
                let mut bytes = Vec::new();
                if form.width == 8 {
                    RoaringTreemap::from_bitmaps(parts).serialize_into(&mut bytes).map_err(wrong)?;
                } else {
                    let part = parts.map(|(_, part)| part).next().unwrap_or_default();
                    part.serialize_into(&mut bytes).map_err(wrong)?;
                }
                put_varint(bytes.len() as u64, out);
                out.extend(bytes);
            }
        }
        Ok(())
    }

    pub(crate) fn read(form: Form, bytes: &mut &[u8]) -> Result<Self> {
        if take_bytes(bytes, 1)? == [0] {
            let mut integers = Self::default();
            for _ in 0..take_count(bytes)? {
                let mut integer = [0; 8];
                integer[..form.width].copy_from_slice(take_bytes(bytes, form.width)?);
                integers.insert(form.in_bitmaps(form.extend(u64::from_le_bytes(integer))));
            }
            return Ok(integers);
        }
        let length = usize::try_from(take_varint(bytes)?).unwrap_or(usize::MAX);
        if length == 0 {
            return Err(Error::new(ErrorCode::INCORRECT_DATA, "Incorrect size (0) in groupBitmap"));
        }
        let own = take_bytes(bytes, length)?;
        let wrong = |error: std::io::Error| {
            Error::new(ErrorCode::INCORRECT_DATA, format!("A bitmap that cannot be read: {error}"))
        };
        let bitmap = if form.width == 8 {
            RoaringTreemap::deserialize_from(own).map_err(wrong)?
        } else {
            RoaringTreemap::from_bitmaps([(0, RoaringBitmap::deserialize_from(own).map_err(wrong)?)])
        };
        Ok(Self::Bitmap(Box::new(bitmap)))
    }
}

/// What two bitmaps become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rule {
    And,
    Or,
    Xor,
    AndNot,
}

/// How integers of a type are kept: in bitmaps those of up to 32 bits are numbers of 32 bits without a sign.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    /// Bytes of an integer in a list.
    pub width: usize,
    /// Whether the integers have a sign.
    pub is_signed: bool,
}

impl Form {
    /// Of integers of this type; `None` for types that have no bitmaps.
    pub(crate) fn of(data_type: &DataType) -> Option<Self> {
        let width = data_type.fixed_width_bytes().filter(|width| data_type.is_integer() && *width <= 8)?;
        Some(Self { width, is_signed: data_type.is_signed_integer() })
    }

    /// The bits of an integer as bitmaps have them.
    pub(crate) fn in_bitmaps(self, bits: u64) -> u64 {
        if self.width == 8 { bits } else { bits & u64::from(u32::MAX) }
    }

    /// An integer's own bits, without those that its sign fills.
    pub(crate) fn own(self, bits: u64) -> u64 {
        bits & u64::MAX >> (64 - 8 * self.width)
    }

    /// An integer of its own bits, its sign before them.
    pub(crate) fn extend(self, own: u64) -> u64 {
        let shift = 64 - 8 * self.width;
        if self.is_signed { ((own << shift) as i64 >> shift) as u64 } else { own }
    }
}

fn form_of(call: &Call<'_>, data_type: &DataType) -> Result<Form> {
    Form::of(data_type).ok_or_else(|| call.illegal_type(data_type))
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let argument = call.argument()?;
    Ok(grouped::function(GroupBitmap { form: form_of(call, argument)? }))
}

#[derive(Debug)]
struct GroupBitmap {
    form: Form,
}

fn counts(states: impl Iterator<Item = u64>) -> Result<Column> {
    Ok(Column::from_primitive::<UInt64Type>(DataType::UInt64, states.collect()))
}

impl StateFunction for GroupBitmap {
    type State = GrowingIntegers;
    type Rows<'a> = Vec<u64>;

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &DataType::UInt64
    }

    fn state(&self) -> GrowingIntegers {
        GrowingIntegers::default()
    }

    fn rows(&self, arguments: &[Column]) -> Result<Vec<u64>> {
        let [column] = arguments else { return Err(Error::logical("groupBitmap takes one argument")) };
        let bits = number_bits(column).ok_or_else(|| Error::logical("integers were expected"))?;
        Ok(bits.into_iter().map(|bits| self.form.in_bitmaps(bits)).collect())
    }

    fn add(&self, state: &mut GrowingIntegers, rows: &Vec<u64>, row: usize) {
        state.insert(rows[row]);
    }

    fn merge(&self, into: &mut GrowingIntegers, from: GrowingIntegers) -> Result<()> {
        let from = Integers::from(from);
        checkpoint(from.count() as usize / 16)?;
        let mut integers = Integers::from(std::mem::take(into));
        integers.combine(from, Rule::Or);
        *into = integers.into();
        Ok(())
    }

    fn write(&self, state: &GrowingIntegers, out: &mut Vec<u8>) -> Result<()> {
        state.all().write(self.form, out)
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<GrowingIntegers> {
        Ok(Integers::read(self.form, bytes)?.into())
    }

    fn finish(&self, states: Vec<GrowingIntegers>) -> Result<Column> {
        counts(states.into_iter().map(|state| Integers::from(state).count()))
    }

    fn heap_bytes(&self, state: &GrowingIntegers) -> usize {
        state.heap_bytes()
    }
}

pub(in crate::aggregate) fn resolve_of_states(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    call.without_parameters()?;
    let argument = call.argument()?;
    let form = match argument {
        DataType::AggregateFunction(state) if &*state.function == "groupBitmap" => match &*state.arguments {
            [integer] => form_of(call, &integer.remove_nullable())?,
            _ => return Err(call.illegal_type(argument)),
        },
        _ => return Err(call.illegal_type(argument)),
    };
    let rule = match call.name {
        "groupBitmapAnd" => Rule::And,
        "groupBitmapOr" => Rule::Or,
        _ => Rule::Xor,
    };
    Ok(grouped::function(OfBitmaps { form, rule }))
}

#[derive(Debug)]
struct OfBitmaps {
    form: Form,
    rule: Rule,
}

impl StateFunction for OfBitmaps {
    /// None before the first bitmap.
    type State = Option<Integers>;
    type Rows<'a> = Vec<Integers>;

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &DataType::UInt64
    }

    fn state(&self) -> Self::State {
        None
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        let [column] = arguments else { return Err(Error::logical("bitmaps are one argument")) };
        let states = column.as_binary()?;
        let read = |row: usize| match states.value(row) {
            [] => Ok(Integers::default()),
            mut bytes => Integers::read(self.form, &mut bytes),
        };
        (0..states.len()).map(read).collect()
    }

    fn add(&self, state: &mut Self::State, bitmaps: &Self::Rows<'_>, row: usize) {
        let other = bitmaps[row].clone();
        match state {
            None => *state = Some(other),
            Some(integers) => integers.combine(other, self.rule),
        }
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        match (&mut *into, from) {
            (_, None) => {}
            (None, from) => *into = from,
            (Some(integers), Some(other)) => integers.combine(other, self.rule),
        }
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        state.clone().unwrap_or_default().write(self.form, out)
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        Integers::read(self.form, bytes).map(Some)
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        counts(states.iter().map(|state| state.as_ref().map_or(0, Integers::count)))
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.as_ref().map_or(0, Integers::heap_bytes)
    }
}
