//! `hierarchicalKMeans`: centres of clusters of vectors. A sample of the rows is kept (Vitter's algorithm R, 1985). It is clustered level
//! by level, so that no level has more centres than a node has children; first centres are spread out (k-means++, Arthur and
//! Vassilvitskii, 2007), and then move to the middle of what is nearest to them (Lloyd, 1982).

use std::sync::Arc;

use squall_types::{Column, DataType, Error, ErrorCode, Result, Value, checkpoint, grow};

use crate::accumulator::AggregateFunction;
use crate::aggregate::arrays::pcg::Pcg;
use crate::aggregate::family::Call;
use crate::aggregate::grouped::{self, StateFunction};
use crate::aggregate::results::value_column;
use crate::aggregate::values::state_bytes::{Raw, put_string, put_varint, take_count, take_string, take_varint};

#[derive(Debug)]
struct KMeans {
    centres: usize,
    /// Children of a node.
    branching: usize,
    rounds: usize,
    sample_max: usize,
    seed: u64,
    /// Whether only directions count: centres have length 1.
    is_cosine: bool,
    return_type: DataType,
}

pub(in crate::aggregate) fn resolve(call: &Call<'_>) -> Result<Arc<dyn AggregateFunction>> {
    let wrong = |what: &str| Error::new(ErrorCode::BAD_ARGUMENTS, format!("hierarchicalKMeans: {what}"));
    match call.argument()? {
        DataType::Array(item) if item.is_any_float() => {}
        other => return Err(call.illegal_type(other)),
    }
    if !(1..=6).contains(&call.parameters.len()) {
        return Err(call.wrong_parameters("one to six parameters"));
    }
    let parameter = |at: usize, otherwise: u64| match call.parameters.get(at) {
        None => Ok(otherwise),
        Some(value) => value.as_u64().ok_or_else(|| wrong("parameters must be unsigned integers")),
    };
    let count = |at, otherwise| Ok::<_, Error>(usize::try_from(parameter(at, otherwise)?).unwrap_or(usize::MAX));
    let function = KMeans {
        centres: count(0, 0)?,
        branching: count(1, 16)?,
        rounds: count(2, 20)?,
        sample_max: count(3, 1_000_000)?,
        seed: parameter(4, 0)?,
        is_cosine: parameter(5, 0)? != 0,
        return_type: DataType::array(DataType::array(DataType::Float32)),
    };
    match &function {
        KMeans { centres: 0, .. } => Err(wrong("k must be greater than 0")),
        KMeans { branching: 0..=1, .. } => Err(wrong("branching must be at least 2")),
        KMeans { rounds: 0, .. } => Err(wrong("max_iter must be greater than 0")),
        own if own.sample_max < own.centres || own.sample_max > u32::MAX as usize => {
            Err(wrong("sample_cap must be at least k and fit UInt32"))
        }
        _ => Ok(grouped::function(function)),
    }
}

/// A sample of rows.
#[derive(Clone, Debug)]
struct Sample {
    dimension: usize,
    /// Rows seen.
    rows: u64,
    values: Vec<f32>,
    random: Pcg,
    /// Why there is no result.
    wrong: Option<Error>,
}

impl Sample {
    fn vectors(&self) -> Vec<&[f32]> {
        if self.dimension == 0 { Vec::new() } else { self.values.chunks(self.dimension).collect() }
    }

    /// Takes a vector in, as one that stands for so many rows.
    fn add(&mut self, vector: &[f32], most: usize) {
        if self.rows == 0 {
            self.dimension = vector.len();
        }
        if vector.len() != self.dimension {
            let message =
                format!("hierarchicalKMeans: got a vector of size {} but expected {}", vector.len(), self.dimension);
            self.wrong.get_or_insert_with(|| Error::new(ErrorCode::SIZES_OF_ARRAYS_DONT_MATCH, message));
            return;
        }
        if !vector.iter().all(|value| value.is_finite()) {
            let message = "hierarchicalKMeans: input vector must not contain non-finite values (NaN or Inf)";
            self.wrong.get_or_insert_with(|| Error::new(ErrorCode::INCORRECT_DATA, message));
            return;
        }
        self.rows += 1;
        if self.values.len() < most * self.dimension {
            self.values.extend_from_slice(vector);
            return;
        }
        let at = self.random.below(self.rows) as usize * self.dimension;
        if let Some(place) = self.values.get_mut(at..at + self.dimension) {
            place.copy_from_slice(vector);
        }
    }
}

fn distance(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| (left - right).powi(2)).sum()
}

/// The nearest of the centres, and how far it is; the first of several.
fn nearest(centres: &[Vec<f32>], vector: &[f32]) -> (usize, f32) {
    let distances = centres.iter().map(|centre| distance(centre, vector)).enumerate();
    distances.reduce(|best, next| if next.1 < best.1 { next } else { best }).unwrap_or((0, 0.0))
}

impl KMeans {
    /// Centres of some vectors, at most so many.
    fn cluster(&self, vectors: &[&[f32]], centres: usize, random: &mut Pcg, out: &mut Vec<Vec<f32>>) -> Result<()> {
        let centres = centres.min(vectors.len());
        if centres <= self.branching {
            out.extend(self.flat(vectors, centres, random)?.0);
            return Ok(());
        }
        let (_, owners) = self.flat(vectors, self.branching, random)?;
        // Each part has as many of the centres as it has of the vectors; what rounding leaves goes to the first that can take it.
        let mut parts = vec![Vec::new(); self.branching];
        owners.iter().zip(vectors).for_each(|(owner, vector)| parts[*owner].push(*vector));
        let share = |part: &Vec<&[f32]>| (centres * part.len() / vectors.len()).max(usize::from(!part.is_empty()));
        let mut shares: Vec<usize> = parts.iter().map(share).collect();
        let mut left = centres as i64 - shares.iter().sum::<usize>() as i64;
        for (share, part) in shares.iter_mut().zip(&parts) {
            let change = left.clamp(1.min(part.len() as i64) - *share as i64, part.len() as i64 - *share as i64);
            *share = (*share as i64 + change) as usize;
            left -= change;
        }
        if parts.iter().any(|part| part.len() == vectors.len()) {
            // All are the same point: no level can tell them apart.
            out.extend(vectors.iter().take(centres).map(|vector| vector.to_vec()));
            return Ok(());
        }
        parts
            .iter()
            .zip(shares)
            .filter(|(part, _)| !part.is_empty())
            .try_for_each(|(part, share)| self.cluster(part, share, random, out))
    }

    /// Centres of one level, and to which each vector belongs.
    fn flat(&self, vectors: &[&[f32]], count: usize, random: &mut Pcg) -> Result<(Vec<Vec<f32>>, Vec<usize>)> {
        let dimension = vectors.first().map_or(0, |vector| vector.len());
        let work = || checkpoint(2 * dimension * vectors.len());
        let mut centres: Vec<Vec<f32>> = Vec::new();
        let mut gaps = vec![f32::INFINITY; vectors.len()];
        while centres.len() < count {
            work()?;
            let total: f64 = gaps.iter().map(|gap| f64::from(*gap)).sum();
            let chosen = if !total.is_finite() || total == 0.0 {
                random.below(vectors.len() as u64) as usize
            } else {
                let mut place = random.below(1 << 53) as f64 / (1_u64 << 53) as f64 * total;
                let reached = gaps.iter().position(|gap| {
                    place -= f64::from(*gap);
                    place < 0.0
                });
                reached.unwrap_or(vectors.len() - 1)
            };
            let centre = vectors[chosen].to_vec();
            gaps.iter_mut().zip(vectors).for_each(|(gap, vector)| *gap = gap.min(distance(&centre, vector)));
            centres.push(centre);
        }
        let mut owners = vec![usize::MAX; vectors.len()];
        for _ in 0..self.rounds {
            let mut has_changed = false;
            for (owner, vector) in owners.iter_mut().zip(vectors) {
                checkpoint(2 * dimension * centres.len())?;
                let (own, _) = nearest(&centres, vector);
                has_changed |= *owner != own;
                *owner = own;
            }
            if !has_changed {
                break;
            }
            work()?;
            let mut sums = vec![(vec![0.0_f64; dimension], 0_u64); centres.len()];
            for (owner, vector) in owners.iter().zip(vectors) {
                let (sum, rows) = &mut sums[*owner];
                sum.iter_mut().zip(*vector).for_each(|(sum, value)| *sum += f64::from(*value));
                *rows += 1;
            }
            for (centre, (sum, rows)) in centres.iter_mut().zip(sums).filter(|(_, (_, rows))| *rows > 0) {
                let length = if self.is_cosine {
                    sum.iter().map(|value| value * value).sum::<f64>().sqrt()
                } else {
                    rows as f64
                };
                let length = if length == 0.0 { 1.0 } else { length };
                centre.iter_mut().zip(sum).for_each(|(value, sum)| *value = (sum / length) as f32);
            }
        }
        Ok((centres, owners))
    }
}

impl StateFunction for KMeans {
    type State = Sample;
    type Rows<'a> = &'a [Column];

    const HAS_HEAP: bool = true;

    fn return_type(&self) -> &DataType {
        &self.return_type
    }

    fn state(&self) -> Self::State {
        let random = Pcg::new(crate::scalar::random::Generator::from_state(self.seed).next());
        Sample { dimension: 0, rows: 0, values: Vec::new(), random, wrong: None }
    }

    fn rows<'a>(&self, arguments: &'a [Column]) -> Result<Self::Rows<'a>> {
        Ok(arguments)
    }

    fn add(&self, state: &mut Self::State, rows: &Self::Rows<'_>, row: usize) {
        let Some(Value::Array(items)) = rows.first().map(|column| column.value(row)) else { return };
        let mut vector: Vec<f32> = items.iter().map(|item| item.as_f64().unwrap_or(f64::NAN) as f32).collect();
        if self.is_cosine {
            let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
            if length == 0.0 {
                let message = "hierarchicalKMeans: a vector without a direction has no cosine distance";
                state.wrong.get_or_insert_with(|| Error::new(ErrorCode::INCORRECT_DATA, message));
                return;
            }
            vector.iter_mut().for_each(|value| *value /= length);
        }
        state.add(&vector, self.sample_max);
    }

    fn merge(&self, into: &mut Self::State, from: Self::State) -> Result<()> {
        checkpoint(16 * from.values.len())?;
        if into.rows == 0 && into.wrong.is_none() {
            *into = from;
            return Ok(());
        }
        let rows = into.rows + from.rows;
        from.vectors().into_iter().for_each(|vector| into.add(vector, self.sample_max));
        into.rows = rows;
        into.wrong = into.wrong.take().or(from.wrong);
        Ok(())
    }

    fn write(&self, state: &Self::State, out: &mut Vec<u8>) -> Result<()> {
        if let Some(wrong) = &state.wrong {
            return Err(wrong.clone());
        }
        put_varint(state.dimension as u64, out);
        put_varint(state.rows, out);
        put_varint(state.values.len() as u64, out);
        state.values.iter().for_each(|value| value.put(out));
        put_string(state.random.text().as_bytes(), out);
        Ok(())
    }

    fn read(&self, bytes: &mut &[u8]) -> Result<Self::State> {
        let (dimension, rows, count) = (take_count(bytes)?, take_varint(bytes)?, take_count(bytes)?);
        let mut values = Vec::new();
        grow(&mut values, count)?;
        for _ in 0..count {
            values.push(f32::take(bytes)?);
        }
        let random = Pcg::parse(take_string(bytes)?)?;
        Ok(Sample { dimension, rows, values, random, wrong: None })
    }

    fn finish(&self, states: Vec<Self::State>) -> Result<Column> {
        let centres = |mut state: Sample| {
            if let Some(wrong) = state.wrong {
                return Err(wrong);
            }
            let mut centres = Vec::new();
            let vectors =
                if state.dimension == 0 { Vec::new() } else { state.values.chunks(state.dimension).collect() };
            if !vectors.is_empty() {
                self.cluster(&vectors, self.centres, &mut state.random, &mut centres)?;
            }
            let one =
                |centre: Vec<f32>| Value::Array(centre.into_iter().map(|value| Value::Float64(value.into())).collect());
            Ok(Value::Array(centres.into_iter().map(one).collect()))
        };
        value_column(&self.return_type, states.into_iter().map(centres).collect::<Result<Vec<_>>>()?)
    }

    fn heap_bytes(&self, state: &Self::State) -> usize {
        state.values.capacity() * size_of::<f32>()
    }
}
