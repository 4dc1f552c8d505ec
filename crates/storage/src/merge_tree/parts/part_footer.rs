//! What a part's file says of itself in its footer: the table that it is of, its name, and the description that the catalog keeps too. So a
//! catalog can be made again of nothing but parts, and a part can be taken into a table from anywhere.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parquet::file::metadata::{KeyValue, ParquetMetaDataReader};
use squall_types::{DataType, Error, Result};
use twox_hash::XxHash3_64;

use super::part::corrupted;
use super::part_description::{FileRange, PartDescription};
use super::part_name::PartName;
use crate::disk::Disk;
use crate::table_record::TableRecord;

/// The version of these entries.
const VERSION: &str = "1";
/// A footer of more bytes is none of ours.
const FOOTER_BYTES_MAX: u64 = 1 << 30;

/// The entries of a part; the description is without the place of the footer, which is not known yet.
pub(in crate::merge_tree) fn entries(
    table: &TableRecord,
    name: &PartName,
    description: &PartDescription,
) -> Vec<KeyValue> {
    let entry = |key: &str, value: String| KeyValue::new(format!("squall.{key}"), value);
    vec![
        entry("version", VERSION.to_owned()),
        // Text and lists of text always have a JSON form.
        entry("table", serde_json::to_string(table).unwrap_or_default()),
        entry("part", name.to_string()),
        entry("written_at", chrono::Utc::now().timestamp_micros().to_string()),
        entry("description", STANDARD.encode(description.encode())),
    ]
}

/// A part's file, as it describes itself.
pub(crate) struct PartFooter {
    /// The table that it was written for, under the name that this had then.
    pub(crate) table: TableRecord,
    /// When, in microseconds.
    pub(crate) written_at: i64,
    description: Vec<u8>,
    footer: FileRange,
    /// The file's length.
    pub(crate) bytes: u64,
}

impl PartFooter {
    /// Reads a file's footer; `None` where it has no such entries, as those that were written before version 2 of what is on disk.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`.
    pub(crate) fn read(disk: &dyn Disk, path: &Path) -> Result<Option<Self>> {
        let bad = |error: &dyn std::fmt::Display| corrupted(path, error);
        let bytes = disk.bytes(path).map_err(|error| bad(&error))?;
        let file = disk.open(path).map_err(|error| bad(&error))?;
        let mut tail = [0; 8];
        let at = bytes.checked_sub(8).ok_or_else(|| bad(&"it is too short"))?;
        file.read_exact_at(&mut tail, at).map_err(|error| bad(&error))?;
        let [a, b, c, d, magic @ ..] = tail;
        let length = u64::from(u32::from_le_bytes([a, b, c, d]));
        let offset = at.checked_sub(length).filter(|_| &magic == b"PAR1" && length < FOOTER_BYTES_MAX);
        let offset = offset.ok_or_else(|| bad(&"it does not end as a Parquet file"))?;
        squall_types::reserve(length as usize)?;
        let mut footer = vec![0; length as usize + 8];
        file.read_exact_at(&mut footer, offset).map_err(|error| bad(&error))?;
        let thrift = footer.get(..length as usize).unwrap_or_default();
        let metadata = ParquetMetaDataReader::decode_metadata(thrift).map_err(|error| bad(&error))?;
        let entries = metadata.file_metadata().key_value_metadata();
        let entry = |key: &str| {
            let found = entries?.iter().find(|entry| entry.key.strip_prefix("squall.") == Some(key))?;
            found.value.clone()
        };
        let (Some(table), Some(description)) = (entry("table"), entry("description")) else { return Ok(None) };
        if entry("version").as_deref() != Some(VERSION) {
            return Err(bad(&"it was written by a later server"));
        }
        Ok(Some(Self {
            table: serde_json::from_str(&table).map_err(|error| bad(&error))?,
            written_at: entry("written_at").and_then(|time| time.parse().ok()).unwrap_or(0),
            description: STANDARD.decode(description).map_err(|error| bad(&error))?,
            footer: FileRange { offset, length: length + 8, checksum: XxHash3_64::oneshot(&footer) },
            bytes,
        }))
    }

    /// The part's description; `keys` are the types of the primary key, `columns` is the number of stored columns.
    ///
    /// # Errors
    /// `CORRUPTED_DATA`.
    pub(crate) fn description(&self, keys: &[DataType], columns: usize) -> Result<PartDescription> {
        let mut description = PartDescription::decode(&self.description, keys, columns)?;
        description.footer = self.footer;
        Ok(description)
    }
}

/// The part that a file is called after: `all_1_1_0.parquet`, perhaps with a word before that says why it was set aside.
pub(crate) fn part_of_file(name: &str) -> Option<PartName> {
    let name = name.strip_suffix(".parquet")?;
    let name = match name.rfind("_try") {
        Some(at) if name.get(at + 4..).is_some_and(|number| number.parse::<u32>().is_ok()) => name.get(..at)?,
        _ => name,
    };
    let reasons = ["unexpected_", "ignored_", "broken_", "broken-on-start_"];
    PartName::parse(reasons.iter().find_map(|reason| name.strip_prefix(reason)).unwrap_or(name))
}

/// An error for a file that is no part.
pub(crate) fn bad_name(name: &str) -> Error {
    Error::new(
        squall_types::ErrorCode::BAD_DATA_PART_NAME,
        format!("Unexpected part name: {name} for format version: 1."),
    )
}
