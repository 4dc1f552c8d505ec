//! multipart/form-data: parts with a file name are tables of the query (external data), others are parameters.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use multer::{Constraints, Field, Multipart, SizeLimit};
use squall_formats::{FormatOptions, input_format};
use squall_types::{DataType, Error, ErrorCode, Result, Schema};

use crate::http::request::input::Input;
use crate::session::{ExternalTables, ExternalTablesInput, Session, UNNAMED};

/// Room for boundaries and headers of parts beside their content.
const SYNTAX_BYTES_MAX: u64 = 16 << 20;
/// Bytes of all parameters together.
const PARAMETER_BYTES_MAX: usize = 64 << 20;
const DEFAULT_FORMAT: &str = "TabSeparated";

/// What a form holds.
#[derive(Default)]
pub(in crate::http) struct Form {
    /// The parts named `query`, one after another.
    pub(in crate::http) query: String,
    /// The parts `param_x`, by `x`.
    pub(in crate::http) parameters: Vec<(String, String)>,
    /// The tables.
    pub(in crate::http) tables: Option<Arc<ExternalTables>>,
}

/// What a table's data are, as parameters say: `t_format`, and `t_structure` or `t_types`.
#[derive(Default)]
struct Descriptions<'a> {
    in_url: &'a [(String, String)],
    in_form: Vec<(String, String)>,
}

impl Descriptions<'_> {
    fn find(&self, table: &str, suffix: &str) -> Option<&str> {
        let is_it = |name: &str| name.strip_prefix(table).is_some_and(|rest| rest == suffix);
        let mut all = self.in_url.iter().chain(&self.in_form);
        all.find(|(name, _)| is_it(name)).map(|(_, value)| value.as_str())
    }
}

/// Whether a parameter describes a table of a form.
pub(in crate::http) fn describes_table(name: &str) -> bool {
    ["_format", "_structure", "_types"].iter().any(|suffix| name.ends_with(suffix))
}

/// Reads a form. `described` are the parameters of the URL that describe tables; `query_name` is the part that holds the query's text: without one the
/// text and its parameters are given, and no part adds to them. The session is the one that the query runs in, with its settings.
///
/// # Errors
/// `INCORRECT_DATA` for what is no form, `BAD_ARGUMENTS` for a table that is not described, `LIMIT_EXCEEDED` beyond
/// `http_max_multipart_form_data_size`; those of formats, and of [`ExternalTablesInput::add`].
pub(in crate::http) async fn read(
    input: Input,
    boundary: &str,
    described: &[(String, String)],
    query_name: Option<&str>,
    session: &Session,
) -> Result<Form> {
    let settings = &session.settings;
    // The user's own limit: the request cannot give itself another.
    let bytes_max = match session.access.settings.http_max_multipart_form_data_size {
        0 => u64::MAX,
        bytes => bytes,
    };
    let limit = SizeLimit::new().whole_stream(bytes_max.saturating_add(SYNTAX_BYTES_MAX));
    let pieces = stream::unfold(Some(input), |input| async move {
        let mut input = input?;
        match input.next().await {
            Ok(piece) => piece.map(|piece| (Ok(piece), Some(input))),
            Err(error) => Some((Err(error), None)),
        }
    });
    let mut parts = Multipart::with_constraints(pieces, boundary, Constraints::new().size_limit(limit));
    let mut form = Form::default();
    let mut tables = ExternalTablesInput::new(settings);
    let mut descriptions = Descriptions { in_url: described, in_form: Vec::new() };
    let mut content = Content { bytes: 0, bytes_max };
    let mut parameter_bytes = 0;
    while let Some(mut part) = parts.next_field().await.map_err(wrong_form)? {
        let name = part.name().unwrap_or(UNNAMED).to_owned();
        if part.file_name().is_some() {
            read_table(&name, &mut part, &descriptions, &mut content, &mut tables, session).await?;
            continue;
        }
        let mut value = Vec::new();
        while let Some(piece) = content.next(&mut part).await? {
            value.extend_from_slice(&piece);
            parameter_bytes += piece.len();
            if parameter_bytes > PARAMETER_BYTES_MAX {
                let message = format!("The parameters of a form are longer than {PARAMETER_BYTES_MAX} bytes");
                return Err(Error::new(ErrorCode::LIMIT_EXCEEDED, message));
            }
        }
        let value = String::from_utf8(value)
            .map_err(|_| Error::new(ErrorCode::INCORRECT_DATA, format!("The part '{name}' of a form is not UTF-8")))?;
        if query_name == Some(&name) {
            form.query.push_str(&value);
        } else if let Some(parameter) = name.strip_prefix("param_")
            && query_name.is_some()
        {
            form.parameters.push((parameter.to_owned(), value));
        } else if describes_table(&name) {
            descriptions.in_form.push((name, value));
        }
    }
    form.tables = tables.finish();
    Ok(form)
}

/// The content of all parts, which is limited.
struct Content {
    bytes: u64,
    bytes_max: u64,
}

impl Content {
    async fn next(&mut self, part: &mut Field<'_>) -> Result<Option<Bytes>> {
        let piece = part.chunk().await.map_err(wrong_form)?;
        self.bytes += piece.as_ref().map_or(0, |piece| piece.len() as u64);
        if self.bytes > self.bytes_max {
            let message = format!(
                "Limit for the maximum size of multipart/form-data exceeded: {} bytes (http_max_multipart_form_data_size)",
                self.bytes_max
            );
            return Err(Error::new(ErrorCode::LIMIT_EXCEEDED, message));
        }
        Ok(piece)
    }
}

async fn read_table(
    name: &str,
    part: &mut Field<'_>,
    descriptions: &Descriptions<'_>,
    content: &mut Content,
    tables: &mut ExternalTablesInput,
    session: &Session,
) -> Result<()> {
    let schema = Arc::new(schema(name, descriptions)?);
    let format = descriptions.find(name, "_format").unwrap_or(DEFAULT_FORMAT);
    let options = FormatOptions::new(session.settings.clone(), &session.server.zone)?;
    let mut reader = input_format(format, &schema, &options)?;
    tables.create(name, schema)?;
    let mut blocks = Vec::new();
    loop {
        let piece = content.next(part).await?;
        match &piece {
            Some(piece) => reader.feed(piece, &mut blocks)?,
            None => reader.finish(&mut blocks)?,
        }
        for input in blocks.drain(..) {
            tables.add(name, input.block)?;
        }
        if piece.is_none() {
            break;
        }
    }
    while reader.reads_at_end() {
        let read = tokio::task::spawn_blocking(move || {
            let block = reader.next_block()?;
            Ok::<_, Error>((reader, block))
        });
        let interrupted = |error| Error::logical(format!("reading a table was interrupted: {error}"));
        let block;
        (reader, block) = read.await.map_err(interrupted)??;
        match block {
            Some(input) => tables.add(name, input.block)?,
            None => break,
        }
    }
    Ok(())
}

/// The columns of a table: `a UInt8, b String`, or types alone, whose columns are `_1`, `_2`, ….
fn schema(table: &str, descriptions: &Descriptions<'_>) -> Result<Schema> {
    let (text, has_names) = match (descriptions.find(table, "_structure"), descriptions.find(table, "_types")) {
        (Some(structure), _) => (structure, true),
        (None, Some(types)) => (types, false),
        (None, None) => {
            let message = format!(
                "Neither structure nor types have not been provided for external table {table}. Use fields {table}_structure or \
                 {table}_types to do so."
            );
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        }
    };
    let wrong = || Error::new(ErrorCode::BAD_ARGUMENTS, format!("Error while parsing table structure: '{text}'"));
    let Ok(DataType::Tuple(elements)) = DataType::parse(&format!("Tuple({text})")) else { return Err(wrong()) };
    if elements.is_empty() || elements.iter().any(|element| element.name.is_some() != has_names) {
        return Err(wrong());
    }
    Ok(Schema::new(elements.iter().enumerate().map(|(at, element)| {
        let name = element.name.clone().unwrap_or_else(|| format!("_{}", at + 1).into());
        (name, element.data_type.clone())
    })))
}

/// What is wrong with a form, or with reading it.
fn wrong_form(error: multer::Error) -> Error {
    match error {
        multer::Error::StreamReadFailed(cause) => match cause.downcast::<Error>() {
            Ok(error) => *error,
            Err(cause) => Error::new(ErrorCode::INCORRECT_DATA, format!("Cannot read multipart/form-data: {cause}")),
        },
        multer::Error::StreamSizeExceeded { limit } => Error::new(
            ErrorCode::LIMIT_EXCEEDED,
            format!("multipart/form-data is longer than {limit} bytes (http_max_multipart_form_data_size)"),
        ),
        other => Error::new(ErrorCode::INCORRECT_DATA, format!("Cannot parse multipart/form-data: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(structure: Option<&str>, types: Option<&str>) -> Result<Vec<String>> {
        let describe = |suffix: &str, text: Option<&str>| text.map(|text| (format!("t{suffix}"), text.to_owned()));
        let in_url: Vec<_> = describe("_structure", structure).into_iter().chain(describe("_types", types)).collect();
        let descriptions = Descriptions { in_url: &in_url, in_form: Vec::new() };
        let schema = schema("t", &descriptions)?;
        Ok(schema.names().zip(schema.types()).map(|(name, data_type)| format!("{name} {data_type}")).collect())
    }

    #[test]
    fn structures_and_types_are_columns() {
        let structure = Some("a UInt8, `b c` Array(Tuple(x String, y Nullable(Int8)))");
        let expected = ["a UInt8", "b c Array(Tuple(x String, y Nullable(Int8)))"];
        assert_eq!(columns(structure, Some("String")).unwrap(), expected);
        assert_eq!(columns(None, Some("String, Enum8('a, b' = 1)")).unwrap(), ["_1 String", "_2 Enum8('a, b' = 1)"]);
        for (structure, types) in
            [(None, None), (Some("UInt8"), None), (None, Some("a UInt8")), (Some(""), None), (Some("a UInt8)"), None)]
        {
            assert_eq!(
                columns(structure, types).unwrap_err().code,
                ErrorCode::BAD_ARGUMENTS,
                "{structure:?} {types:?}"
            );
        }
    }
}
