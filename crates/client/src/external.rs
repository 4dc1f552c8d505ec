//! Tables that come with queries: `--external --file=f --name=n --structure='a UInt8'`. The files are read before the first query.

use std::io::Read;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use squall_formats::{FormatOptions, input_format};
use squall_types::{DataType, Error, ErrorCode, Result, Schema};

use crate::bad;
use crate::run::{Compression, file_error, format_of_file, open};
use crate::session::ExternalTable;

/// What the command line says of a table; one `--external` with the options behind it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct External {
    /// The file; `-` is standard input.
    pub file: Option<String>,
    /// The table's name: `_data` where nothing else is said.
    pub name: Option<String>,
    /// The format: by the file's name, or else `TabSeparated`.
    pub format: Option<String>,
    /// Columns with their types: `a UInt8, b String`.
    pub structure: Option<String>,
    /// Types alone: the columns are `_1`, `_2` and so on.
    pub types: Option<String>,
}

impl External {
    /// The names of its options.
    pub const OPTIONS: [&'static str; 5] = ["file", "name", "format", "structure", "types"];

    /// Takes an option.
    pub fn set(&mut self, option: &str, value: String) {
        let place = match option {
            "file" => &mut self.file,
            "name" => &mut self.name,
            "format" => &mut self.format,
            "structure" => &mut self.structure,
            _ => &mut self.types,
        };
        *place = Some(value);
    }

    /// Reads the table.
    ///
    /// # Errors
    /// Where columns are missing, or the file cannot be read as its format.
    pub fn read(&self, options: &FormatOptions) -> Result<ExternalTable> {
        let name = self.name.clone().unwrap_or_else(|| "_data".to_owned());
        let columns = match (&self.structure, &self.types) {
            (Some(structure), None) => columns(structure, true)?,
            (None, Some(types)) => columns(types, false)?,
            _ => return Err(bad(format!("The external table {name} needs either --structure or --types"))),
        };
        let schema = Arc::new(Schema::new(columns));
        let file = self.file.as_deref().unwrap_or("-");
        let mut bytes = Vec::new();
        let read = match file {
            "-" => std::io::stdin().lock().read_to_end(&mut bytes),
            file => Compression::named(None, file)?
                .reader(open(file)?)
                .and_then(|mut reader| reader.read_to_end(&mut bytes)),
        };
        read.map_err(|error| file_error(file, &error))?;
        let format = self.format.as_deref().or_else(|| format_of_file(file)).unwrap_or("TabSeparated");
        let mut reader = input_format(format, &schema, options)?;
        let mut blocks = Vec::new();
        let within = |error: Error| error.context(file);
        reader.feed(&bytes, &mut blocks).map_err(within)?;
        reader.finish(&mut blocks).map_err(within)?;
        while let Some(block) = reader.next_block().map_err(within)? {
            blocks.push(block);
        }
        let mut blocks: Vec<_> = blocks.into_iter().map(|input| input.block).collect();
        if blocks.is_empty() {
            blocks.push(squall_types::Block::empty(schema));
        }
        Ok(ExternalTable { name, blocks })
    }
}

/// The parts of a list between commas that stand outside of parentheses and quotes.
pub fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut begin, mut depth, mut is_quoted) = (0, 0_usize, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\'' | b'`' | b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts.into_iter().map(str::trim).collect()
}

/// The columns of `a UInt8, b Array(String)`, or, without names, of `UInt8, Array(String)`.
fn columns(text: &str, has_names: bool) -> Result<Vec<(String, DataType)>> {
    let wrong = |part: &str| Error::new(ErrorCode::BAD_ARGUMENTS, format!("'{}' is not a column", part.trim()));
    (split(text).into_iter().filter(|part| !part.is_empty()).enumerate())
        .map(|(at, part)| {
            if !has_names {
                return Ok((format!("_{}", at + 1), DataType::parse(part)?));
            }
            let (name, data_type) = part.split_once(char::is_whitespace).ok_or_else(|| wrong(part))?;
            Ok((name.trim_matches(['`', '"']).to_owned(), DataType::parse(data_type.trim())?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_are_read() {
        let columns = columns("a UInt8, `b` Enum8('x,y' = 1), c Array(Tuple(UInt8, String))", true).unwrap();
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(columns[2].1.to_string(), "Array(Tuple(UInt8, String))");
        assert_eq!(super::columns("UInt8,String", false).unwrap()[1].0, "_2");
        assert_eq!(super::columns("a", true).unwrap_err().code, ErrorCode::BAD_ARGUMENTS);
    }

    #[test]
    fn tables_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("f.csv");
        std::fs::write(&file, "1,a\n2,b\n").unwrap();
        let mut external = External::default();
        external.set("file", file.display().to_string());
        external.set("types", "UInt8,String".to_owned());
        let table = external.read(&FormatOptions::default()).unwrap();
        assert_eq!((table.name.as_str(), table.blocks[0].rows()), ("_data", 2));
    }
}
