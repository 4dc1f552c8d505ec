//! CustomSeparated: rows whose separators and escapes the settings `format_custom_*` tell.

use std::sync::Arc;

use squall_types::text::{TextStyle, ValueWriter};
use squall_types::{Block, Column, DataType, Result, Schema, Settings, Value};

use crate::display::tabular::Header;
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics, append_after};
use crate::text::escaping::Escaping;
use crate::text::field::Fields;

/// How fields are written.
///
/// # Errors
/// `BAD_ARGUMENTS`.
pub(crate) fn escaping(settings: &Settings) -> Result<Escaping> {
    Escaping::named(&settings.format_custom_escaping_rule)
}

/// The output format.
#[derive(Clone, Debug)]
pub(crate) struct CustomOutput {
    schema: Arc<Schema>,
    header: Header,
    settings: Arc<Settings>,
    options: FormatOptions,
    style: TextStyle,
    fields: Fields,
    rows: u64,
}

impl CustomOutput {
    pub fn new(header: Header, schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        // The setting takes no other names.
        let style = escaping(&options.settings).map_or(TextStyle::Escaped, Escaping::style);
        Self {
            schema: schema.clone(),
            header,
            settings: options.settings.clone(),
            options: options.clone(),
            style,
            fields: Fields::new(style, options),
            rows: 0,
        }
    }

    /// What stands before a field of a row.
    fn before_field(&mut self, at: usize, out: &mut Vec<u8>) {
        let settings = &self.settings;
        if at > 0 {
            out.extend_from_slice(settings.format_custom_field_delimiter.as_bytes());
            return;
        }
        if self.rows > 0 {
            out.extend_from_slice(settings.format_custom_row_between_delimiter.as_bytes());
        }
        out.extend_from_slice(settings.format_custom_row_before_delimiter.as_bytes());
        self.rows += 1;
    }

    fn end_row(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.settings.format_custom_row_after_delimiter.as_bytes());
    }

    fn header_row(&mut self, words: &[String], out: &mut Vec<u8>) {
        for (at, word) in words.iter().enumerate() {
            self.before_field(at, out);
            let column = Column::constant(DataType::String, &Value::string(word.as_str()), 1);
            if let Ok(column) = column
                && let Ok(mut writer) = ValueWriter::new(&column, self.style, &self.options.text())
            {
                writer.write(out, 0);
            }
        }
        self.end_row(out);
    }
}

impl OutputFormat for CustomOutput {
    fn content_type(&self) -> &'static str {
        "text/plain; charset=UTF-8"
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.settings.format_custom_result_before_delimiter.as_bytes());
        if self.header.has_names() {
            let names: Vec<String> = self.schema.names().map(|name| name.to_string()).collect();
            self.header_row(&names, out);
        }
        if self.header.has_types() {
            let types: Vec<String> = self.schema.types().map(ToString::to_string).collect();
            self.header_row(&types, out);
        }
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let mut fields = self.fields.of(block)?;
        for row in 0..block.rows() {
            for (at, field) in fields.iter_mut().enumerate() {
                self.before_field(at, out);
                field.write(row, out);
            }
            self.end_row(out);
        }
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn OutputFormat>> {
        Some(Box::new(Self { rows: 1, ..self.clone() }))
    }

    fn append(&mut self, rows: u64, written: &[u8], out: &mut Vec<u8>) {
        let between = self.settings.format_custom_row_between_delimiter.as_bytes();
        append_after(&mut self.rows, rows, between, written, out);
    }

    fn end(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        out.extend_from_slice(self.settings.format_custom_result_after_delimiter.as_bytes());
        Ok(())
    }
}
