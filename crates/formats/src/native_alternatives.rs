//! `Variant`, `Dynamic` and `JSON` in the Native format. What a column of them consists of is written once before its data: which types
//! the values of a `Dynamic` have, which paths the objects of a `JSON`. Types and paths beyond their limit go to where ClickHouse keeps
//! what few rows have ("shared"), as values in binary.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray};
use squall_types::alternatives::{Alternatives, DynamicWriter, dynamic_parts, type_prefix};
use squall_types::binary::{put_row, read_rows};
use squall_types::json::paths::{OtherPaths, OtherPathsWriter, json_array};
use squall_types::type_code::{put_type, take_type};
use squall_types::variant_type::NULL_ALTERNATIVE;
use squall_types::{Column, DataType, Error, JsonType, Result, checkpoint, grow};

use crate::native::{incorrect, read_items, read_prefix, write_prefix, write_values};
use crate::wire::{Cursor, Stop, put_string, put_varint};

/// From this revision on, peers read the second form of `Dynamic` and `JSON`.
const REVISION_WITH_SECOND_FORM: u64 = 54_473;

/// The form of a `Variant`'s numbers: one for each row.
const NUMBERS_BY_ROW: u64 = 0;

/// The forms of a `Dynamic`, of which the first says the limit of types again.
const DYNAMIC_FORMS: (u64, u64) = (1, 2);

/// The forms of a `JSON`, of which the first says the limit of paths again, and that of objects as texts.
const JSON_FORMS: (u64, u64) = (0, 2);
const JSON_AS_TEXT: u64 = 1;

/// The alternative of a `Dynamic` that holds values of types beyond the limit.
const SHARED: &str = "SharedVariant";

const NAME_BYTES_MAX: u64 = 1 << 20;
const NAMES_MAX: u64 = 1 << 20;

/// How a column is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub revision: u64,
    /// `output_format_native_write_json_as_string`.
    pub json_as_text: bool,
}

/// What a column consists of, as it was read before its data.
#[derive(Debug)]
pub(crate) enum Structure {
    /// Nothing that is not in the type.
    Plain,
    /// Of the parts of a type.
    Parts(Vec<Structure>),
    /// The alternatives of a `Dynamic` in the order of their names; `None` for the shared one.
    Dynamic(Vec<Option<DataType>>, Vec<Structure>),
    /// The typed paths' structures, the dynamic paths, and their structures.
    Json(Vec<Structure>, Vec<String>, Vec<Structure>),
    JsonAsText,
}

impl Structure {
    pub fn part(&self, at: usize) -> &Self {
        match self {
            Self::Parts(parts) => parts.get(at).unwrap_or(&Self::Plain),
            _ => &Self::Plain,
        }
    }
}

/// The types of a `Dynamic` that are kept apart, by name, with the shared one's place among them.
fn kept_types(found: &Alternatives, max_types: u8) -> (Vec<Option<usize>>, usize) {
    let mut named: Vec<(String, usize)> =
        found.columns.iter().enumerate().map(|(at, column)| (column.data_type().to_string(), at)).collect();
    named.truncate(max_types.into());
    let mut all: Vec<(String, Option<usize>)> = named.into_iter().map(|(name, at)| (name, Some(at))).collect();
    all.push((SHARED.to_owned(), None));
    all.sort();
    let shared = all.iter().position(|(_, at)| at.is_none()).unwrap_or(0);
    (all.into_iter().map(|(_, at)| at).collect(), shared)
}

fn of_dynamic(array: &dyn Array) -> Result<Alternatives> {
    Alternatives::of_array(&DataType::dynamic(), &arrow_array::make_array(array.to_data()))
}

/// Writes what a `Variant` is made of before its data.
pub(crate) fn write_variant_prefix(
    alternatives: &[DataType],
    array: &dyn Array,
    form: Form,
    out: &mut Vec<u8>,
) -> Result<()> {
    out.extend_from_slice(&NUMBERS_BY_ROW.to_le_bytes());
    let data_type = DataType::Variant(alternatives.into());
    let found = Alternatives::of_array(&data_type, &arrow_array::make_array(array.to_data()))?;
    found.columns.iter().try_for_each(|column| write_prefix(column.data_type(), &**column.array(), form, out))
}

/// Writes the data of a `Variant`.
pub(crate) fn write_variant(alternatives: &[DataType], array: &dyn Array, form: Form, out: &mut Vec<u8>) -> Result<()> {
    let data_type = DataType::Variant(alternatives.into());
    let found = Alternatives::of_array(&data_type, &arrow_array::make_array(array.to_data()))?;
    out.extend(found.rows.iter().map(|row| row.map_or(NULL_ALTERNATIVE, |(at, _)| at as u8)));
    found.columns.iter().try_for_each(|column| write_values(column.data_type(), &**column.array(), form, out))
}

/// Writes the types of a `Dynamic` before its data.
pub(crate) fn write_dynamic_prefix(max_types: u8, array: &dyn Array, form: Form, out: &mut Vec<u8>) -> Result<()> {
    let found = of_dynamic(array)?;
    let (kept, _) = kept_types(&found, max_types);
    let (first, second) = DYNAMIC_FORMS;
    if form.revision >= REVISION_WITH_SECOND_FORM {
        out.extend_from_slice(&second.to_le_bytes());
    } else {
        out.extend_from_slice(&first.to_le_bytes());
        put_varint(out, max_types.into());
    }
    put_varint(out, kept.len() as u64 - 1);
    let columns: Vec<Option<&Column>> = kept.iter().map(|at| at.and_then(|at| found.columns.get(at))).collect();
    columns.iter().flatten().for_each(|column| put_string(out, column.data_type().to_string()));
    out.extend_from_slice(&NUMBERS_BY_ROW.to_le_bytes());
    columns.iter().flatten().try_for_each(|column| write_prefix(column.data_type(), &**column.array(), form, out))
}

/// Writes the data of a `Dynamic`.
pub(crate) fn write_dynamic(max_types: u8, array: &dyn Array, form: Form, out: &mut Vec<u8>) -> Result<()> {
    let found = of_dynamic(array)?;
    let (kept, shared) = kept_types(&found, max_types);
    let mut numbers = vec![shared as u8; found.columns.len()];
    for (number, at) in kept.iter().enumerate() {
        if let Some(place) = at.and_then(|at| numbers.get_mut(at)) {
            *place = number as u8;
        }
    }
    let number = |row: &Option<(u32, u32)>| row.and_then(|(at, _)| numbers.get(at as usize).copied());
    out.extend(found.rows.iter().map(|row| number(row).unwrap_or(NULL_ALTERNATIVE)));
    for at in kept {
        match at.and_then(|at| found.columns.get(at)) {
            Some(column) => write_values(column.data_type(), &**column.array(), form, out)?,
            None => {
                for row in found.rows.iter().filter(|row| number(row) == Some(shared as u8)).flatten() {
                    let Some(column) = found.columns.get(row.0 as usize) else { continue };
                    let mut value = Vec::new();
                    put_type(column.data_type(), &mut value);
                    put_row(column.data_type(), &**column.array(), row.1 as usize, &mut value)?;
                    put_string(out, value);
                }
            }
        }
    }
    Ok(())
}

/// Reads the types of a `Dynamic`.
pub(crate) fn read_dynamic_prefix(input: &mut Cursor<'_>) -> Result<Structure, Stop> {
    let (first, second) = DYNAMIC_FORMS;
    match u64::from_le_bytes(input.array()?) {
        form if form == first => drop(input.varint()?),
        form if form == second => {}
        other => return Err(incorrect(format!("Unknown form {other} of a Dynamic column"))),
    }
    let count = names(input)?;
    let mut types: Vec<(String, Option<DataType>)> = vec![(SHARED.to_owned(), None)];
    for _ in 0..count {
        let data_type = DataType::parse(&input.text(NAME_BYTES_MAX)?)?;
        types.push((data_type.to_string(), Some(data_type)));
    }
    types.sort_by(|left, right| left.0.cmp(&right.0));
    let types: Vec<Option<DataType>> = types.into_iter().map(|(_, data_type)| data_type).collect();
    read_numbers_form(input)?;
    let parts = types.iter().map(|data_type| match data_type {
        Some(data_type) => read_prefix(data_type, input),
        None => Ok(Structure::Plain),
    });
    let parts = parts.collect::<Result<Vec<_>, Stop>>()?;
    Ok(Structure::Dynamic(types, parts))
}

fn names(input: &mut Cursor<'_>) -> Result<u64, Stop> {
    match input.varint()? {
        count if count > NAMES_MAX => Err(incorrect(format!("{count} types or paths of a column"))),
        count => Ok(count),
    }
}

fn read_numbers_form(input: &mut Cursor<'_>) -> Result<(), Stop> {
    match u64::from_le_bytes(input.array()?) {
        NUMBERS_BY_ROW => Ok(()),
        other => Err(incorrect(format!("Unknown form {other} of a Variant's discriminators"))),
    }
}

/// Reads what a `Variant` is made of.
pub(crate) fn read_variant_prefix(alternatives: &[DataType], input: &mut Cursor<'_>) -> Result<Structure, Stop> {
    read_numbers_form(input)?;
    let parts = alternatives.iter().map(|one| read_prefix(one, input));
    Ok(Structure::Parts(parts.collect::<Result<_, Stop>>()?))
}

/// Where each row's value is, by the rows' numbers among so many alternatives, and how many values each alternative has.
#[expect(clippy::type_complexity, reason = "the rows of `Alternatives` beside their counts")]
fn read_numbers(
    alternatives: usize,
    rows: usize,
    input: &mut Cursor<'_>,
) -> Result<(Vec<Option<(u32, u32)>>, Vec<usize>), Stop> {
    let mut counts = vec![0usize; alternatives];
    let places = input.take(rows)?.iter().map(|number| match *number {
        NULL_ALTERNATIVE => Ok(None),
        number => {
            let count = counts.get_mut(usize::from(number));
            let count = count.ok_or_else(|| incorrect(format!("Unknown discriminator {number} of a Variant")))?;
            *count += 1;
            Ok(Some((number.into(), *count as u32 - 1)))
        }
    });
    let places = places.collect::<Result<Vec<_>, Stop>>()?;
    Ok((places, counts))
}

/// Reads the data of a `Variant`.
pub(crate) fn read_variant(
    alternatives: &[DataType],
    structure: &Structure,
    rows: usize,
    input: &mut Cursor<'_>,
) -> Result<ArrayRef, Stop> {
    let (rows, counts) = read_numbers(alternatives.len(), rows, input)?;
    let mut columns = Vec::with_capacity(alternatives.len());
    for (at, (one, count)) in alternatives.iter().zip(counts).enumerate() {
        columns.push(Column::new(one.clone(), read_items(one, structure.part(at), count, input)?));
    }
    Ok(Alternatives { columns, rows }.to_variant(alternatives)?)
}

/// Reads the data of a `Dynamic`.
pub(crate) fn read_dynamic(structure: &Structure, rows: usize, input: &mut Cursor<'_>) -> Result<ArrayRef, Stop> {
    let Structure::Dynamic(types, parts) = structure else {
        return Err(Stop::Bad(Error::logical("a Dynamic without its types")));
    };
    let (places, counts) = read_numbers(types.len(), rows, input)?;
    let mut arrays = Vec::with_capacity(types.len());
    for ((data_type, part), count) in types.iter().zip(parts).zip(counts) {
        let read_type = data_type.as_ref().unwrap_or(&DataType::String);
        arrays.push(read_items(read_type, part, count, input)?);
    }
    let prefixes: Vec<Vec<u8>> =
        types.iter().map(|data_type| data_type.as_ref().map(type_prefix).unwrap_or_default()).collect();
    let mut writer = DynamicWriter::default();
    for place in places {
        checkpoint(16)?;
        if let Some((at, row)) = place
            && let (Some(data_type), Some(array), Some(prefix)) =
                (types.get(at as usize), arrays.get(at as usize), prefixes.get(at as usize))
        {
            match data_type {
                Some(data_type) => {
                    grow(&mut writer.bytes, prefix.len() + 16)?;
                    writer.bytes.extend_from_slice(prefix);
                    put_row(data_type, &**array, row as usize, &mut writer.bytes)?;
                }
                None => put_shared(array.as_binary::<i32>().value(row as usize), &mut writer.bytes)?,
            }
        }
        writer.end_row()?;
    }
    Ok(writer.finish()?)
}

/// Appends a value that was given as its type and itself in binary, once it is known to be one.
fn put_shared(value: &[u8], out: &mut Vec<u8>) -> Result<()> {
    let mut rest = value;
    let data_type = take_type(&mut rest)?;
    if data_type == DataType::Nothing {
        return Ok(());
    }
    read_rows(&data_type, &[rest])?;
    let prefix = type_prefix(&data_type);
    grow(out, prefix.len() + rest.len())?;
    out.extend_from_slice(&prefix);
    out.extend_from_slice(rest);
    Ok(())
}

/// The dynamic paths of a column, in order, and the column of each.
fn dynamic_paths(json: &JsonType, array: &ArrayRef) -> Result<Vec<(String, Column)>> {
    let others = OtherPaths::of(array)?;
    let mut paths = std::collections::BTreeSet::new();
    for row in 0..array.len() {
        checkpoint(16)?;
        paths.extend(others.row(row).map(|at| others.path(at)));
    }
    let column = Column::new(DataType::Json(Arc::new(json.clone())), array.clone());
    let most = usize::try_from(json.max_dynamic_paths).unwrap_or(usize::MAX);
    let kept = paths.into_iter().take(most).map(|path| {
        let path = String::from_utf8_lossy(path).into_owned();
        let values = squall_types::json::paths::path_values(&column, &path)?;
        Ok((path, values))
    });
    kept.collect()
}

fn typed_parts(array: &ArrayRef) -> &[ArrayRef] {
    array.as_struct().columns().split_last().map_or(&[], |(_, typed)| typed)
}

/// Writes the paths of a `JSON` before its data.
pub(crate) fn write_json_prefix(json: &JsonType, array: &dyn Array, form: Form, out: &mut Vec<u8>) -> Result<()> {
    if form.json_as_text {
        out.extend_from_slice(&JSON_AS_TEXT.to_le_bytes());
        return Ok(());
    }
    let array = &arrow_array::make_array(array.to_data());
    let paths = dynamic_paths(json, array)?;
    let (first, second) = JSON_FORMS;
    if form.revision >= REVISION_WITH_SECOND_FORM {
        out.extend_from_slice(&second.to_le_bytes());
    } else {
        out.extend_from_slice(&first.to_le_bytes());
        put_varint(out, json.max_dynamic_paths);
    }
    put_varint(out, paths.len() as u64);
    paths.iter().for_each(|(path, _)| put_string(out, path));
    for ((_, data_type), part) in json.typed.iter().zip(typed_parts(array)) {
        write_prefix(data_type, &**part, form, out)?;
    }
    paths.iter().try_for_each(|(_, values)| write_dynamic_prefix(json.max_dynamic_types, &**values.array(), form, out))
}

/// Writes the data of a `JSON`.
pub(crate) fn write_json(json: &JsonType, array: &dyn Array, form: Form, out: &mut Vec<u8>) -> Result<()> {
    let array = &arrow_array::make_array(array.to_data());
    if form.json_as_text {
        let column = Column::new(DataType::Json(Arc::new(json.clone())), array.clone());
        let texts = squall_types::cast(&column, &DataType::String, &squall_types::CastOptions::default())?;
        return write_values(&DataType::String, &**texts.array(), form, out);
    }
    let paths = dynamic_paths(json, array)?;
    for ((_, data_type), part) in json.typed.iter().zip(typed_parts(array)) {
        write_values(data_type, &**part, form, out)?;
    }
    for (_, values) in &paths {
        write_dynamic(json.max_dynamic_types, &**values.array(), form, out)?;
    }
    // The paths that are left: where each row's end, the paths, and their values.
    let others = OtherPaths::of(array)?;
    let is_kept = |path: &[u8]| paths.binary_search_by(|(kept, _)| kept.as_bytes().cmp(path)).is_ok();
    let (mut ends, mut left) = (Vec::with_capacity(array.len()), Vec::new());
    for row in 0..array.len() {
        left.extend(others.row(row).filter(|at| !is_kept(others.path(*at))));
        ends.push(left.len() as u64);
    }
    out.extend(ends.iter().flat_map(|end| end.to_le_bytes()));
    left.iter().for_each(|at| put_string(out, others.path(*at)));
    for at in left {
        let Some((code, value)) = dynamic_parts(others.value(at))? else { continue };
        put_varint(out, (code.len() + value.len()) as u64);
        out.extend_from_slice(code);
        out.extend_from_slice(value);
    }
    Ok(())
}

/// Reads the paths of a `JSON`.
pub(crate) fn read_json_prefix(json: &JsonType, input: &mut Cursor<'_>) -> Result<Structure, Stop> {
    let (first, second) = JSON_FORMS;
    match u64::from_le_bytes(input.array()?) {
        JSON_AS_TEXT => return Ok(Structure::JsonAsText),
        form if form == first => drop(input.varint()?),
        form if form == second => {}
        other => return Err(incorrect(format!("Unknown form {other} of a JSON column"))),
    }
    let mut paths = Vec::new();
    for _ in 0..names(input)? {
        paths.push(input.text(NAME_BYTES_MAX)?);
    }
    let typed = json.typed.iter().map(|(_, data_type)| read_prefix(data_type, input));
    let typed = typed.collect::<Result<Vec<_>, Stop>>()?;
    let dynamic = paths.iter().map(|_| read_dynamic_prefix(input)).collect::<Result<Vec<_>, Stop>>()?;
    Ok(Structure::Json(typed, paths, dynamic))
}

/// Reads the data of a `JSON`.
pub(crate) fn read_json(
    json: &Arc<JsonType>,
    structure: &Structure,
    rows: usize,
    input: &mut Cursor<'_>,
) -> Result<ArrayRef, Stop> {
    let (typed, paths, dynamic) = match structure {
        Structure::Json(typed, paths, dynamic) => (typed, paths, dynamic),
        _ => {
            let texts = read_items(&DataType::String, &Structure::Plain, rows, input)?;
            let column = Column::new(DataType::String, texts);
            let to = DataType::Json(json.clone());
            return Ok(squall_types::cast(&column, &to, &squall_types::CastOptions::default())?.to_array()?);
        }
    };
    let mut parts = Vec::with_capacity(json.typed.len() + 1);
    for ((_, data_type), part) in json.typed.iter().zip(typed) {
        parts.push(read_items(data_type, part, rows, input)?);
    }
    let mut values = Vec::with_capacity(paths.len());
    for structure in dynamic {
        values.push(read_dynamic(structure, rows, input)?);
    }
    let shared = DataType::Map(Arc::new(DataType::String), Arc::new(DataType::String));
    let shared = read_items(&shared, &Structure::Plain, rows, input)?;
    let shared = OtherPaths::of_map(&shared)?;
    let values: Vec<&BinaryArray> = values.iter().map(|values| values.as_binary::<i32>()).collect();
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_by(|left, right| paths.get(*left).cmp(&paths.get(*right)));
    let mut writer = OtherPathsWriter::default();
    let mut found: Vec<(&[u8], Vec<u8>)> = Vec::new();
    for row in 0..rows {
        checkpoint(16 + paths.len())?;
        found.clear();
        for at in &order {
            if let (Some(path), Some(values)) = (paths.get(*at), values.get(*at))
                && !values.value(row).is_empty()
            {
                found.push((path.as_bytes(), values.value(row).to_vec()));
            }
        }
        for at in shared.row(row) {
            let mut value = Vec::new();
            put_shared(shared.value(at), &mut value)?;
            if !value.is_empty() {
                found.push((shared.path(at), value));
            }
        }
        found.sort_by(|left, right| left.0.cmp(right.0));
        for (path, value) in &found {
            grow(&mut writer.values.bytes, value.len())?;
            writer.values.bytes.extend_from_slice(value);
            writer.end_path(path)?;
        }
        writer.end_row()?;
    }
    parts.push(writer.finish(json)?);
    Ok(json_array(json, parts)?)
}
