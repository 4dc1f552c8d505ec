//! Rows whose fields are written by an escaping rule that a setting names: CustomSeparated and Regexp.

use squall_types::DataType;

use super::guess::{Guess, Kind, Mixing};
use super::json::JsonValues;
use super::rows::{Cell, GuessRows, Heading};
use super::text::{GuessOptions, Literals};
use crate::display::tabular::Header;
use crate::text::escaping::Escaping;
use crate::text::regexp::RegexpReader;
use crate::text::template::TemplateReader;
use crate::wire::{Cursor, Stop};

/// What a field is by its rule.
fn guess_of(field: &[u8], rule: Escaping, options: &GuessOptions) -> Result<Guess, Stop> {
    Ok(match rule {
        Escaping::Escaped | Escaping::Raw if field == b"\\N" => Guess::null(),
        Escaping::Escaped | Escaping::Raw => options.escaped_field(field),
        Escaping::Csv => match field {
            b"" | b"\\N" => Guess::null(),
            [quote @ (b'"' | b'\''), inner @ .., last] if quote == last => options.quoted_field(inner),
            plain => options.csv_field(plain.trim_ascii_end()),
        },
        Escaping::Json => JsonValues::new(options, field).value()?,
        Escaping::Quoted => {
            let mut literals = Literals { options, text: field, at: 0, depth: 0 };
            literals.literal()?.unwrap_or(Kind::Unknown.into())
        }
    })
}

/// Which values of different kinds a column of such fields holds.
fn mixing_of(rule: Escaping) -> Mixing {
    match rule {
        Escaping::Json => Mixing::JSON,
        Escaping::Quoted => Mixing::Literals,
        Escaping::Escaped | Escaping::Csv | Escaping::Raw => Mixing::Text,
    }
}

/// The rows of CustomSeparated.
pub(crate) struct CustomRows {
    pub reader: TemplateReader,
    pub header: Header,
    pub rule: Escaping,
    pub detects_header: bool,
    pub options: GuessOptions,
}

impl GuessRows for CustomRows {
    fn heading(&mut self, input: &mut Cursor<'_>) -> Result<Heading, Stop> {
        self.reader.begin(input)?;
        let mut heading = Heading::default();
        if input.peek()?.is_none() {
            return Ok(heading);
        }
        let mut line = |input: &mut Cursor<'_>| -> Result<Vec<String>, Stop> {
            let fields = self.reader.each_row(input)?.unwrap_or_default();
            fields.into_iter().map(|field| Ok(self.rule.name(field)?)).collect()
        };
        if self.header.has_names() {
            heading.names = Some(line(input)?);
        }
        if self.header.has_types() {
            let types = line(input)?;
            let types = types.iter().map(|text| DataType::parse(text)).collect::<squall_types::Result<_>>()?;
            heading.types = Some(types);
        }
        Ok(heading)
    }

    fn row(&mut self, input: &mut Cursor<'_>) -> Result<Option<Vec<Cell>>, Stop> {
        let Some(fields) = self.reader.each_row(input)? else { return Ok(None) };
        let cell = |field: &[u8]| {
            let text = self.rule.name(field).ok();
            Ok(Cell { name: None, text, guess: guess_of(field, self.rule, &self.options)? })
        };
        fields.into_iter().map(cell).collect::<Result<_, Stop>>().map(Some)
    }

    fn mixing(&self) -> Mixing {
        mixing_of(self.rule)
    }

    fn has_variable_columns(&self) -> bool {
        self.reader.variable_columns
    }

    fn may_have_header(&self) -> bool {
        self.detects_header && !self.header.has_names()
    }
}

/// The lines of Regexp.
pub(crate) struct RegexpRows {
    pub reader: RegexpReader,
    pub options: GuessOptions,
}

impl GuessRows for RegexpRows {
    fn row(&mut self, input: &mut Cursor<'_>) -> Result<Option<Vec<Cell>>, Stop> {
        while input.peek()?.is_some() {
            let Some(fields) = self.reader.fields(input)? else { continue };
            let rule = self.reader.rule();
            let cell = |field: &[u8]| Ok(Cell { name: None, text: None, guess: guess_of(field, rule, &self.options)? });
            return fields.into_iter().map(cell).collect::<Result<_, Stop>>().map(Some);
        }
        Ok(None)
    }

    fn mixing(&self) -> Mixing {
        mixing_of(self.reader.rule())
    }
}
