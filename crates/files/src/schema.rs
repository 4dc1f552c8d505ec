//! The columns of files of which nobody has said them: those of the first file that tells them, or of all.

use squall_formats::schema::cannot_extract;
use squall_formats::{FormatOptions, ParquetFile, infer_schema, is_read_by_place};
use squall_types::{DataType, Error, ErrorCode, Result, Schema, least_supertype};

use crate::compression::Compression;
use crate::file::fill;
use crate::holder::Holder;
use crate::path::Found;
use crate::table::FileTableOptions;

/// The columns of a file.
fn of_file(
    holder: &Holder,
    file: &Found,
    format: &str,
    compression: Compression,
    options: &FormatOptions,
) -> Result<(Schema, Option<ParquetFile>)> {
    let with_path =
        |error: Error| Error::new(error.code, format!("{}: (in file {})", error.message, file.path.display()));
    if is_read_by_place(format) && compression == Compression::None && file.size.is_some() {
        let opened = holder.placed(file).and_then(|source| ParquetFile::open(&*source));
        let schema = opened.and_then(|opened| Ok((opened.schema(options)?, Some(opened))));
        return schema.map_err(|error| with_path(cannot_extract(format, error)));
    }
    let mut input = holder.open(file, compression)?;
    infer_schema(format, &mut *input, options).map(|schema| (schema, None)).map_err(with_path)
}

/// Whether all bytes of a file are read and none was there.
fn has_nothing(holder: &Holder, file: &Found, compression: Compression) -> bool {
    holder.open(file, compression).and_then(|mut input| fill(&mut *input, &mut [0; 1])).is_ok_and(|read| read == 0)
}

/// The columns of files, and what was read of those that say what is in them.
pub(crate) fn of_files(
    holder: &Holder,
    files: &[Found],
    format: &str,
    table: &FileTableOptions,
    options: &FormatOptions,
) -> Result<(Schema, Vec<Option<ParquetFile>>)> {
    let is_union = options.settings.schema_inference_mode == "union";
    let mut opened = vec![None; files.len()];
    let mut all: Vec<Schema> = Vec::new();
    let mut nothing = None;
    for (file, place) in files.iter().zip(&mut opened) {
        if file.size == Some(0) {
            continue;
        }
        let compression = Compression::named(&table.compression, &file.path.to_string_lossy())?;
        match of_file(holder, file, format, compression, options) {
            Ok((schema, parquet)) => {
                *place = parquet;
                all.push(schema);
                if !is_union {
                    break;
                }
            }
            // Another may tell what an empty one does not.
            Err(error) if has_nothing(holder, file, compression) => nothing = nothing.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match all.pop() {
        Some(only) if all.is_empty() => Ok((only, opened)),
        Some(last) => {
            all.push(last);
            Ok((union(&all)?, opened))
        }
        None => Err(nothing.unwrap_or_else(|| {
            let why = if files.is_empty() { "there are no files with this path" } else { "all files are empty" };
            let message = format!(
                "The table structure cannot be extracted from a {format} format file, because {why}. You must specify table structure manually"
            );
            Error::new(ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE, message)
        })),
    }
}

/// All columns of all schemas.
fn union(schemas: &[Schema]) -> Result<Schema> {
    let mut fields: Vec<(std::sync::Arc<str>, Vec<DataType>)> = Vec::new();
    for (name, data_type) in schemas.iter().flat_map(|schema| &schema.fields) {
        match fields.iter_mut().find(|(known, _)| known == name) {
            Some((_, types)) => types.push(data_type.clone()),
            None => fields.push((name.clone(), vec![data_type.clone()])),
        }
    }
    let typed = fields.into_iter().map(|(name, types)| Ok((name, least_supertype(&types)?)));
    Ok(Schema::new(typed.collect::<Result<Vec<_>>>()?))
}
