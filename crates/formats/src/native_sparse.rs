//! Sparse columns of the Native format: how many defaults come before each other value, then these values. Which columns come so the
//! serialisation's kind says, and inside tuples one for each element.

use arrow_array::{ArrayRef, new_empty_array};
use squall_types::{DataType, Error, ErrorCode, Result, Sparse, grow};

use crate::wire::{Cursor, Stop, put_varint};

/// From this revision on columns may be sparse.
const REVISION_WITH_SPARSE: u64 = 54_465;

/// Marks the last count of defaults, which no value follows.
const END: u64 = 1 << 62;

/// Kinds of serialisation.
const KIND_DEFAULT: u8 = 0;
pub(crate) const KIND_SPARSE: u8 = 1;

/// The sparse columns of a block may be so large when they are written out: it takes no bytes to announce rows.
const WHOLE_BYTES_MAX: usize = 1 << 30;

/// How a column is serialised.
#[derive(Debug)]
pub(crate) enum Kind {
    Default,
    Sparse,
    /// Each element of a tuple in its own way.
    Elements(Vec<Kind>),
}

impl Kind {
    /// Reads the kinds of a column whose serialisation is a custom one.
    ///
    /// # Errors
    /// `Incomplete`, `NOT_IMPLEMENTED`.
    pub(crate) fn read(data_type: &DataType, input: &mut Cursor<'_>) -> Result<Self, Stop> {
        match (input.byte()?, data_type) {
            (KIND_DEFAULT, DataType::Tuple(elements)) => {
                let kinds = elements.iter().map(|element| Self::read(&element.data_type, input));
                Ok(Self::Elements(kinds.collect::<Result<_, _>>()?))
            }
            (KIND_DEFAULT, _) => Ok(Self::Default),
            (KIND_SPARSE, data_type) if can_be_sparse(data_type) => Ok(Self::Sparse),
            (kind, _) => {
                let message = format!("Reading a column of type {data_type} in a serialization of kind {kind}");
                Err(Stop::Bad(Error::not_implemented(message)))
            }
        }
    }
}

/// Whether columns of a type may be sparse in the protocol: those whose default is the zero that is left out.
fn can_be_sparse(data_type: &DataType) -> bool {
    match data_type {
        DataType::Nothing | DataType::Nullable(_) | DataType::LowCardinality(_) | DataType::BFloat16 => false,
        nested if nested.is_nested() => false,
        DataType::FixedString(_) | DataType::String => true,
        other => other.fixed_width_bytes().is_some(),
    }
}

/// What a peer of this revision is sent of sparse rows as such; `None` where it gets the column whole.
///
/// # Errors
/// `MEMORY_LIMIT_EXCEEDED`.
pub(crate) fn to_send(sparse: Option<&Sparse>, data_type: &DataType, revision: u64) -> Result<Option<Sparse>> {
    match sparse {
        Some(sparse) if revision >= REVISION_WITH_SPARSE && can_be_sparse(data_type) && sparse.is_default_zero() => {
            sparse.without_listed_defaults().map(Some)
        }
        _ => Ok(None),
    }
}

/// Writes where the values are.
pub(crate) fn put_positions(sparse: &Sparse, out: &mut Vec<u8>) {
    let mut next = 0;
    for row in sparse.positions() {
        put_varint(out, (row - next) as u64);
        next = row + 1;
    }
    put_varint(out, (sparse.rows() - next) as u64 | END);
}

/// Reads a sparse column, whose values `read` reads. `whole_bytes` is what the block's sparse columns take when they are written out.
///
/// # Errors
/// `Incomplete`, `INCORRECT_DATA`, `TOO_LARGE_ARRAY_SIZE`, `MEMORY_LIMIT_EXCEEDED`.
pub(crate) fn read_sparse(
    data_type: &DataType,
    rows: usize,
    whole_bytes: &mut usize,
    input: &mut Cursor<'_>,
    read: impl FnOnce(usize, &mut Cursor<'_>) -> Result<ArrayRef, Stop>,
) -> Result<Sparse, Stop> {
    let bytes = data_type.fixed_width_bytes().unwrap_or(4).saturating_mul(rows);
    if bytes.saturating_add(*whole_bytes) > WHOLE_BYTES_MAX {
        let message = format!("Sparse columns of a block of {rows} rows are larger than {WHOLE_BYTES_MAX} bytes");
        return Err(Stop::Bad(Error::new(ErrorCode::TOO_LARGE_ARRAY_SIZE, message)));
    }
    let positions = read_positions(rows, input)?;
    let values = match positions.len() {
        0 => new_empty_array(&data_type.arrow_type()),
        some => read(some, input)?,
    };
    if let DataType::Enum8(names) | DataType::Enum16(names) = data_type
        && positions.len() < rows
        && names.name(0).is_none()
    {
        return Err(incorrect("Unexpected value 0 in enum".to_owned()));
    }
    let sparse = Sparse::of_nonzeros(positions, values, rows)?;
    *whole_bytes += bytes;
    Ok(sparse.ok_or_else(|| Error::logical("a sparse column of a layout that is none"))?)
}

fn read_positions(rows: usize, input: &mut Cursor<'_>) -> Result<Vec<u32>, Stop> {
    let mut positions = Vec::new();
    let mut next = 0;
    loop {
        let group = input.varint()?;
        let (defaults, is_end) = (group & !END, group & END != 0);
        next = usize::try_from(defaults).ok().and_then(|defaults| defaults.checked_add(next)).unwrap_or(usize::MAX);
        // After the last value of all there are only rows of defaults, maybe none.
        if next > rows || next == rows && !is_end {
            return Err(incorrect(format!("A sparse column has more than its {rows} rows")));
        }
        if is_end {
            // A peer may have written the rows in several runs.
            if next == rows {
                return Ok(positions);
            }
            continue;
        }
        grow(&mut positions, 1)?;
        positions.push(next as u32);
        next += 1;
    }
}

fn incorrect(message: String) -> Stop {
    Stop::Bad(Error::new(ErrorCode::INCORRECT_DATA, message))
}
