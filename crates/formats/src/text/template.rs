//! Template: rows by a text with places for columns, `a=${a:CSV}`, and one for the result around them. CustomSeparated is read by the
//! template that its delimiters make.

use std::sync::Arc;

use squall_types::text::ValueReader;
use squall_types::{Block, Error, ErrorCode, Result, Schema};

use crate::display::tabular::Header;
use crate::input::{RowReader, Rows};
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::text::custom;
use crate::text::escaping::Escaping;
use crate::text::field::{Field, Fields};
use crate::text::scan::skip_spaces;
use crate::wire::{Cursor, Stop};

/// A text with places.
#[derive(Clone, Debug)]
struct Template {
    /// What stands before each place, and after the last.
    texts: Vec<Vec<u8>>,
    /// The names of the places and how their values are written; without a rule, what is there is no value.
    places: Vec<(String, Option<Escaping>)>,
}

impl Template {
    fn parse(text: &str) -> Result<Self> {
        let wrong = |what: &str| {
            Error::new(ErrorCode::INVALID_TEMPLATE_FORMAT, format!("Invalid format string for Template: {what}"))
        };
        let (mut texts, mut places) = (vec![Vec::new()], Vec::new());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            if let Some(last) = texts.last_mut() {
                last.extend_from_slice(before.as_bytes());
            }
            if let Some(after) = after.strip_prefix('$') {
                if let Some(last) = texts.last_mut() {
                    last.push(b'$');
                }
                rest = after;
                continue;
            }
            let after = after.strip_prefix('{').ok_or_else(|| wrong("expected '{' or '$' after '$'"))?;
            let (place, after) = after.split_once('}').ok_or_else(|| wrong("expected '}'"))?;
            let (name, rule) = place.rsplit_once(':').unwrap_or((place, ""));
            let rule = match rule {
                "" | "None" | "Skip" => None,
                rule => Some(Escaping::named(rule)?),
            };
            places.push((name.trim_matches(['`', '"']).to_owned(), rule));
            texts.push(Vec::new());
            rest = after;
        }
        if let Some(last) = texts.last_mut() {
            last.extend_from_slice(rest.as_bytes());
        }
        Ok(Self { texts, places })
    }

    /// The template of the file that a setting names, or of the text that one has, or else of another.
    fn of_setting([file, text, absent]: [&str; 3], setting: &str, options: &FormatOptions) -> Result<Self> {
        if file.is_empty() {
            return Self::parse(if text.is_empty() { absent } else { text });
        }
        if !text.is_empty() {
            let message = format!("Expected either {setting} or {setting}_format, but not both");
            return Err(Error::new(ErrorCode::INVALID_TEMPLATE_FORMAT, message));
        }
        let found = options.schemas.read(file, setting)?.ok_or_else(|| {
            Error::new(ErrorCode::FILE_DOESNT_EXIST, format!("There is no file {file} of the setting '{setting}'"))
        })?;
        Self::parse(&found)
    }

    /// The template of rows that the settings have.
    fn of_rows(options: &FormatOptions) -> Result<Self> {
        let settings = &options.settings;
        let texts = [&*settings.format_template_row, &settings.format_template_row_format, ""];
        let template = Self::of_setting(texts, "format_template_row", options)?;
        if template.places.is_empty() {
            let message = "Invalid format string for Template: No columns specified. Set format_template_row_format";
            return Err(Error::new(ErrorCode::INVALID_TEMPLATE_FORMAT, message));
        }
        match template.places.iter().find(|(name, rule)| rule.is_none() && !name.is_empty()) {
            Some((name, _)) => Err(Error::new(
                ErrorCode::INVALID_TEMPLATE_FORMAT,
                format!("Invalid format string for Template: the column {name} has no escaping rule"),
            )),
            None => Ok(template),
        }
    }

    /// The template of the result that the settings have.
    fn of_result(options: &FormatOptions) -> Result<Self> {
        let settings = &options.settings;
        let texts = [&*settings.format_template_resultset, &settings.format_template_resultset_format, "${data}"];
        let template = Self::of_setting(texts, "format_template_resultset", options)?;
        if template.places.iter().any(|(name, _)| name == "data") {
            return Ok(template);
        }
        let message = "Invalid format string for Template: the result set has no place for data";
        Err(Error::new(ErrorCode::INVALID_TEMPLATE_FORMAT, message))
    }

    fn text(&self, at: usize) -> &[u8] {
        self.texts.get(at).map_or(&[], Vec::as_slice)
    }
}

/// The output format.
#[derive(Debug)]
pub(crate) struct TemplateOutput {
    row: Template,
    result: Template,
    between: Vec<u8>,
    /// Each place's column, and its fields by its rule.
    columns: Vec<(usize, Fields)>,
    rows: u64,
    /// The rows of totals and extremes.
    totals: Vec<u8>,
    extremes: [Vec<u8>; 2],
}

impl TemplateOutput {
    /// # Errors
    /// `INVALID_TEMPLATE_FORMAT`, `NOT_FOUND_COLUMN_IN_BLOCK`.
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Result<Self> {
        let row = Template::of_rows(options)?;
        let column = |(name, rule): &(String, Option<Escaping>)| {
            let position = schema.position(name).ok_or_else(|| {
                Error::new(ErrorCode::NOT_FOUND_COLUMN_IN_BLOCK, format!("Not found column {name} in block"))
            })?;
            let rule = rule.ok_or_else(|| {
                Error::new(ErrorCode::INVALID_TEMPLATE_FORMAT, format!("The column {name} has no escaping rule"))
            })?;
            Ok((position, Fields::new(rule.style(), options)))
        };
        Ok(Self {
            columns: row.places.iter().map(column).collect::<Result<_>>()?,
            row,
            result: Template::of_result(options)?,
            between: options.settings.format_template_rows_between_delimiter.as_bytes().to_vec(),
            rows: 0,
            totals: Vec::new(),
            extremes: Default::default(),
        })
    }

    fn data_at(&self) -> usize {
        self.result.places.iter().position(|(name, _)| name == "data").unwrap_or(0)
    }

    /// The fields of each place.
    fn fields(&self, block: &Block) -> Result<Vec<Field>> {
        let field = |(position, fields): &(usize, Fields)| {
            let column = block.columns().get(*position).cloned().ok_or_else(|| Error::logical("a missing column"))?;
            let schema =
                Arc::new(Schema { fields: block.schema().fields.get(*position).cloned().into_iter().collect() });
            let mut own = fields.of(&Block::new(schema, vec![column], block.rows()))?;
            own.pop().ok_or_else(|| Error::logical("a column without fields"))
        };
        self.columns.iter().map(field).collect()
    }

    fn write_row(&self, fields: &mut [Field], row: usize, out: &mut Vec<u8>) {
        for (at, field) in fields.iter_mut().enumerate() {
            out.extend_from_slice(self.row.text(at));
            field.write(row, out);
        }
        out.extend_from_slice(self.row.text(fields.len()));
    }
}

impl OutputFormat for TemplateOutput {
    fn content_type(&self) -> &'static str {
        "text/plain; charset=UTF-8"
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        // What the places before the data tell is not known yet.
        for at in 0..=self.data_at() {
            out.extend_from_slice(self.result.text(at));
        }
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let mut fields = self.fields(block)?;
        for row in 0..block.rows() {
            if self.rows > 0 {
                out.extend_from_slice(&self.between);
            }
            self.rows += 1;
            self.write_row(&mut fields, row, out);
        }
        Ok(())
    }

    fn totals(&mut self, block: &Block, _: &mut Vec<u8>) -> Result<()> {
        let mut text = Vec::new();
        self.write_row(&mut self.fields(block)?, 0, &mut text);
        self.totals = text;
        Ok(())
    }

    fn extremes(&mut self, block: &Block, _: &mut Vec<u8>) -> Result<()> {
        let mut fields = self.fields(block)?;
        for row in 0..block.rows().min(2) {
            let mut text = Vec::new();
            self.write_row(&mut fields, row, &mut text);
            if let Some(place) = self.extremes.get_mut(row) {
                *place = text;
            }
        }
        Ok(())
    }

    fn end(&mut self, statistics: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        for at in self.data_at() + 1..=self.result.places.len() {
            out.extend_from_slice(self.result.text(at));
            let Some((name, _)) = self.result.places.get(at) else { break };
            match name.as_str() {
                "totals" => out.extend_from_slice(&self.totals),
                "min" => out.extend_from_slice(&self.extremes[0]),
                "max" => out.extend_from_slice(&self.extremes[1]),
                "rows" => out.extend_from_slice(self.rows.to_string().as_bytes()),
                "rows_before_limit" => {
                    out.extend_from_slice(statistics.rows_before_limit.unwrap_or(self.rows).to_string().as_bytes());
                }
                "time" => out.extend_from_slice(statistics.elapsed.as_secs_f64().to_string().as_bytes()),
                "rows_read" => out.extend_from_slice(statistics.rows_read.to_string().as_bytes()),
                "bytes_read" => out.extend_from_slice(statistics.bytes_read.to_string().as_bytes()),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Reads rows by a template.
#[derive(Debug)]
pub(crate) struct TemplateReader {
    row: Template,
    /// What stands before the first row, between two rows, and after the last.
    prefix: Vec<u8>,
    between: Vec<u8>,
    suffix: Vec<u8>,
    /// More texts at which a field without quotes ends.
    ends: Vec<Vec<u8>>,
    ignores_spaces: bool,
    /// Whether a first line of CustomSeparated may be its head without the format's name saying so.
    detects_header: bool,
    /// Whether rows of CustomSeparated may have any number of fields.
    pub variable_columns: bool,
    /// The head of CustomSeparated, and the rule of its fields.
    custom: Option<(Header, Escaping)>,
    /// The table's column of each place.
    columns: Vec<Option<usize>>,
    rows: u64,
}

impl TemplateReader {
    /// By the settings of Template.
    ///
    /// # Errors
    /// `INVALID_TEMPLATE_FORMAT`.
    pub fn new(ignores_spaces: bool, options: &FormatOptions) -> Result<Self> {
        let result = Template::of_result(options)?;
        let [(_, _)] = result.places.as_slice() else {
            let message = "Template reads results of which only the data are a place";
            return Err(Error::new(ErrorCode::NOT_IMPLEMENTED, message));
        };
        Ok(Self {
            row: Template::of_rows(options)?,
            prefix: result.text(0).to_vec(),
            between: options.settings.format_template_rows_between_delimiter.as_bytes().to_vec(),
            suffix: result.text(1).to_vec(),
            ends: Vec::new(),
            ignores_spaces,
            detects_header: false,
            variable_columns: false,
            custom: None,
            columns: Vec::new(),
            rows: 0,
        })
    }

    /// By the settings of CustomSeparated.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` for an unknown rule.
    pub fn custom(header: Header, ignores_spaces: bool, options: &FormatOptions) -> Result<Self> {
        let settings = &options.settings;
        let bytes = |text: &String| text.as_bytes().to_vec();
        let rule = custom::escaping(settings)?;
        Ok(Self {
            row: Template { texts: vec![bytes(&settings.format_custom_row_before_delimiter)], places: Vec::new() },
            prefix: bytes(&settings.format_custom_result_before_delimiter),
            between: bytes(&settings.format_custom_row_between_delimiter),
            suffix: bytes(&settings.format_custom_result_after_delimiter),
            ends: vec![
                bytes(&settings.format_custom_field_delimiter),
                bytes(&settings.format_custom_row_after_delimiter),
            ],
            ignores_spaces,
            detects_header: settings.input_format_custom_detect_header,
            variable_columns: settings.input_format_custom_allow_variable_number_of_columns,
            custom: Some((header, rule)),
            columns: Vec::new(),
            rows: 0,
        })
    }

    fn expect(&self, input: &mut Cursor<'_>, text: &[u8]) -> Result<(), Stop> {
        let text = if self.ignores_spaces { text.trim_ascii() } else { text };
        if self.ignores_spaces {
            skip_spaces(input);
        }
        if input.rest().starts_with(text) {
            input.advance(text.len());
            if self.ignores_spaces {
                skip_spaces(input);
            }
            return Ok(());
        }
        if !input.is_last() && text.starts_with(input.rest()) {
            return Err(Stop::Incomplete);
        }
        let message = format!("Cannot parse input: expected '{}'", String::from_utf8_lossy(text).escape_debug());
        Err(Stop::Bad(Error::new(ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, message)))
    }

    /// Whether a text that is not empty comes next.
    fn is_next(&self, input: &mut Cursor<'_>, text: &[u8]) -> Result<bool, Stop> {
        let text = if self.ignores_spaces { text.trim_ascii() } else { text };
        if self.ignores_spaces {
            skip_spaces(input);
        }
        if !input.is_last() && text.starts_with(input.rest()) && input.rest().len() < text.len() {
            return Err(Stop::Incomplete);
        }
        Ok(!text.is_empty() && input.rest().starts_with(text))
    }

    /// Whether a row of any number of fields ends here.
    fn is_row_end(&self, input: &mut Cursor<'_>) -> Result<bool, Stop> {
        match self.ends.as_slice() {
            [_, after] if self.variable_columns => {
                Ok(self.is_next(input, after)? || (input.is_last() && input.is_empty()))
            }
            _ => Ok(false),
        }
    }

    /// Steps over what stands before the first row.
    ///
    /// # Errors
    /// `CANNOT_PARSE_INPUT_ASSERTION_FAILED` where something else does.
    pub fn begin(&self, input: &mut Cursor<'_>) -> Result<(), Stop> {
        self.expect(input, &self.prefix)
    }

    /// The fields of a row of CustomSeparated, however many they are; `None` behind the last.
    ///
    /// # Errors
    /// Where it is no row.
    pub fn each_row<'a>(&mut self, input: &mut Cursor<'a>) -> Result<Option<Vec<&'a [u8]>>, Stop> {
        let Some((_, rule)) = self.custom else { return Ok(None) };
        if self.is_at_end(input)? {
            return Ok(None);
        }
        if self.rows > 0 {
            self.expect(input, &self.between)?;
        }
        let fields = self.custom_fields(rule, input)?;
        self.rows += 1;
        Ok(Some(fields))
    }

    /// The fields of a line of CustomSeparated.
    fn custom_fields<'a>(&self, rule: Escaping, input: &mut Cursor<'a>) -> Result<Vec<&'a [u8]>, Stop> {
        let [between, after] = self.ends.as_slice() else { return Ok(Vec::new()) };
        self.expect(input, self.row.text(0))?;
        let mut fields = Vec::new();
        if self.is_row_end(input)? {
            self.expect(input, after)?;
            return Ok(fields);
        }
        loop {
            fields.push(rule.take(input, &[between, after])?);
            if !between.is_empty() && input.rest().starts_with(between) {
                self.expect(input, between)?;
            } else {
                self.expect(input, after)?;
                return Ok(fields);
            }
        }
    }

    /// Those of a line of its head.
    fn custom_names(&self, rule: Escaping, input: &mut Cursor<'_>) -> Result<Vec<String>, Stop> {
        let fields = self.custom_fields(rule, input)?;
        fields.into_iter().map(|field| Ok(rule.name(field)?)).collect()
    }

    /// Whether nothing is left but what stands behind the last row, which is stepped over.
    fn is_at_end(&self, input: &mut Cursor<'_>) -> Result<bool, Stop> {
        if self.ignores_spaces {
            skip_spaces(input);
        }
        let rest = input.rest();
        if input.is_last() {
            if rest.trim_ascii() == self.suffix.trim_ascii() {
                input.advance(rest.len());
                return Ok(true);
            }
        } else if rest.len() <= self.suffix.len() {
            return Err(Stop::Incomplete);
        }
        Ok(false)
    }

    /// Settles the places of CustomSeparated: as many as there are columns.
    fn settle_custom(&mut self, rule: Escaping) {
        let [between, after] = self.ends.as_slice() else { return };
        let first = self.row.text(0).to_vec();
        let count = self.columns.len();
        let text = |at: usize| match at {
            0 => first.clone(),
            at if at == count => after.clone(),
            _ => between.clone(),
        };
        self.row.texts = (0..=count).map(text).collect();
        self.row.places = vec![(String::new(), Some(rule)); count];
    }

    fn read_row(&self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<(), Stop> {
        if self.rows > 0 {
            self.expect(input, &self.between)?;
        }
        for (at, ((_, rule), position)) in self.row.places.iter().zip(&self.columns).enumerate() {
            if at > 0 && self.is_row_end(input)? {
                break;
            }
            self.expect(input, self.row.text(at))?;
            if at == 0 && self.is_row_end(input)? {
                break;
            }
            let next = self.row.text(at + 1);
            let next = if self.ignores_spaces { next.trim_ascii() } else { next };
            let is_final = next.is_empty() && at + 1 == self.row.places.len();
            let after_row = if is_final { self.between.as_slice() } else { &[] };
            let delimiters: Vec<&[u8]> =
                [next, after_row].into_iter().chain(self.ends.iter().map(Vec::as_slice)).collect();
            // What has no rule is passed over.
            let field = rule.unwrap_or(Escaping::Raw).take(input, &delimiters)?;
            if let (Some(rule), Some(position)) = (rule, position) {
                rule.read(field, *position, rows)?;
            }
        }
        if let Some((_, rule)) = self.custom
            && let [between, after] = self.ends.as_slice()
            && self.variable_columns
        {
            // Fields behind the last column are passed over.
            while self.is_next(input, between)? {
                self.expect(input, between)?;
                rule.take(input, &[between, after])?;
            }
        }
        let last = self.row.text(self.row.places.len());
        let is_cut = input.is_last() && input.is_empty() && last.iter().all(u8::is_ascii_whitespace);
        if is_cut { Ok(()) } else { self.expect(input, last) }
    }
}

impl RowReader for TemplateReader {
    type Column = ValueReader;

    fn header(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<(), Stop> {
        self.begin(input)?;
        let Some((header, rule)) = self.custom else {
            let names: Vec<&(String, _)> = self.row.places.iter().collect();
            self.columns = names
                .into_iter()
                .map(|(name, rule)| if rule.is_some() { rows.table.position(name) } else { Ok(None) })
                .collect::<Result<_>>()?;
            return Ok(());
        };
        self.columns = (0..rows.width()).map(Some).collect();
        if header.has_names() && !(input.is_last() && input.is_empty()) {
            let names = self.custom_names(rule, input)?;
            self.columns = rows.table.positions(&names)?;
            if header.has_types() {
                self.expect(input, &self.between)?;
                let types = self.custom_names(rule, input)?;
                rows.table.check_types(&names, &types)?;
            }
            // The head is a row for what stands between rows.
            self.rows = 1;
        } else if self.detects_header && !(input.is_last() && input.is_empty()) {
            // A first line of nothing but the table's names is a header that the format's name does not tell of.
            let begin = input.position();
            let names = match self.custom_names(rule, input) {
                Err(Stop::Incomplete) if !input.is_last() => return Err(Stop::Incomplete),
                names => names.unwrap_or_default(),
            };
            if !names.is_empty() && names.iter().all(|name| rows.table.schema.position(name).is_some()) {
                self.columns = rows.table.positions(&names)?;
                self.rows = 1;
            } else {
                input.seek(begin);
            }
        }
        self.settle_custom(rule);
        Ok(())
    }

    fn row(&mut self, input: &mut Cursor<'_>, rows: &mut Rows<ValueReader>) -> Result<bool, Stop> {
        if self.is_at_end(input)? {
            return Ok(false);
        }
        match self.read_row(input, rows) {
            // Where a row ends with the input, more of it may come.
            Ok(()) if input.is_empty() && !input.is_last() && self.row.text(self.row.places.len()).is_empty() => {
                Err(Stop::Incomplete)
            }
            Ok(()) => {
                self.rows += 1;
                Ok(true)
            }
            Err(stop) => Err(stop),
        }
    }

    fn skip_row(&mut self, input: &mut Cursor<'_>) -> Result<(), Stop> {
        let last = self.row.text(self.row.places.len());
        let end = if last.is_empty() { self.between.as_slice() } else { last };
        let end = if end.is_empty() { b"\n" } else { end };
        let rest = input.rest();
        match memchr::memmem::find(rest, end) {
            Some(at) => input.advance(at + if last.is_empty() { 0 } else { end.len() }),
            None if input.is_last() => input.advance(rest.len()),
            None => return Err(Stop::Incomplete),
        }
        self.rows += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use squall_types::Settings;

    use super::*;
    use crate::schema_folder::SchemaFolder;

    #[test]
    fn templates_are_files_of_the_folder() {
        let folder = std::env::temp_dir().join(format!("squall-templates-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("row"), "a=${a:CSV};").unwrap();
        std::fs::write(folder.join("all"), "<${data}>\n").unwrap();
        let made = |chosen: &[(&str, &str)]| {
            let mut settings = Settings::default();
            chosen.iter().for_each(|(name, value)| settings.set(name, value).unwrap());
            let schemas = Arc::new(SchemaFolder::closed(&folder));
            let options = FormatOptions { settings: Arc::new(settings), schemas, ..FormatOptions::default() };
            Template::of_rows(&options).and_then(|row| Ok((row, Template::of_result(&options)?)))
        };
        let (row, all) = made(&[("format_template_row", "row"), ("format_template_resultset", "all")]).unwrap();
        assert_eq!((row.text(0), row.text(1)), (&b"a="[..], &b";"[..]));
        assert_eq!((all.text(0), all.text(1)), (&b"<"[..], &b">\n"[..]));
        let code = |chosen: &[(&str, &str)]| made(chosen).unwrap_err().code;
        assert_eq!(code(&[("format_template_row", "none")]), ErrorCode::FILE_DOESNT_EXIST);
        assert_eq!(code(&[("format_template_row", "../row")]), ErrorCode::BAD_ARGUMENTS);
        let both = [("format_template_row", "row"), ("format_template_row_format", "${a:CSV}")];
        assert_eq!(code(&both), ErrorCode::INVALID_TEMPLATE_FORMAT);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
