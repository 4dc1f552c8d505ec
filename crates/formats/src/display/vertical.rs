//! Vertical: every row as a list of names and values, a line each.

use std::sync::Arc;

use squall_types::text::{TextOptions, TextStyle};
use squall_types::{Block, DataType, Result, Schema, Settings};

use crate::display::colors::{Colors, is_quantity};
use crate::display::pretty::{NULL_TEXT, NameCut, cut_name};
use crate::nested::{Indent, Nested};
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::text::field::Fields;
use crate::text::utf8::width;

/// The output format.
#[derive(Debug)]
pub(crate) struct VerticalOutput {
    schema: Arc<Schema>,
    fields: Fields,
    text: TextOptions,
    colors: Colors,
    settings: Arc<Settings>,
    rows: u64,
    has_totals: bool,
    /// Whether what follows the rows has begun.
    has_ended: bool,
}

impl VerticalOutput {
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        let settings = options.settings.clone();
        let null = if settings.output_format_pretty_grid_charset == "ASCII" { "NULL" } else { NULL_TEXT };
        let fields = Fields::new(TextStyle::Plain, options).with_null(null);
        let (text, colors) = (options.text(), Colors::new(&settings, true));
        Self { schema: schema.clone(), fields, text, colors, settings, rows: 0, has_totals: false, has_ended: false }
    }

    fn write_rows(&self, block: &Block, titles: &[String], out: &mut Vec<u8>) -> Result<()> {
        let mut fields = self.fields.of(block)?;
        let mut values = vec![Vec::new(); fields.len()];
        // Objects stand over several lines.
        let objects = block.columns().iter().map(|column| match column.data_type().inner() {
            DataType::Json(_) => Nested::new(column, &self.text).map(Some),
            _ => Ok(None),
        });
        let mut objects = objects.collect::<Result<Vec<_>>>()?;
        for (row, title) in titles.iter().enumerate() {
            for ((field, object), value) in fields.iter_mut().zip(&mut objects).zip(&mut values) {
                value.clear();
                match object {
                    Some(object) => object.write_json(row, Indent("    "), 0, &self.text, value),
                    None => field.write(row, value),
                }
            }
            append_row(
                title,
                &self.schema,
                &self.settings,
                self.colors,
                |column| values.get(column).map_or(&[], Vec::as_slice),
                out,
            );
        }
        Ok(())
    }
}

/// `Row 1:` and the line under it, which ClickHouse makes as long as the next row's title.
pub(crate) fn row_title(number: u64) -> String {
    format!("Row {number}:\n{}\n", "─".repeat(5 + (number + 1).to_string().len()))
}

/// Appends a row under its title.
pub(crate) fn append_row<'a>(
    title: &str,
    schema: &Schema,
    settings: &Settings,
    colors: Colors,
    value: impl Fn(usize) -> &'a [u8],
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(title.as_bytes());
    let names: Vec<String> = schema.names().map(|name| cut_name(name, 0, NameCut::new(settings))).collect();
    let name_width = names.iter().map(|name| width(name.as_bytes(), 0)).max().unwrap_or(0);
    for (at, (name, data_type)) in names.iter().zip(schema.types()).enumerate() {
        colors.name(&format!("{name}:"), out);
        out.resize(out.len() + 1 + name_width - width(name.as_bytes(), 0), b' ');
        colors.value(value(at), colors.emphasis(data_type), out);
        if is_quantity(data_type) {
            colors.tip(value(at), settings.output_format_pretty_single_large_number_tip_threshold, out);
        }
        out.push(b'\n');
    }
}

impl VerticalOutput {
    /// Says once, after the rows, that not all of them are shown.
    fn end_rows(&mut self, out: &mut Vec<u8>) {
        let shown = self.settings.output_format_pretty_max_rows;
        if self.rows > shown && !std::mem::replace(&mut self.has_ended, true) {
            out.extend_from_slice(format!("\nShowed first {shown}.\n").as_bytes());
        }
    }
}

impl OutputFormat for VerticalOutput {
    fn content_type(&self) -> &'static str {
        "text/plain; charset=UTF-8"
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let shown = self.settings.output_format_pretty_max_rows.saturating_sub(self.rows).min(block.rows() as u64);
        let titles: Vec<String> = (0..shown)
            .map(|row| {
                let number = self.rows + row + 1;
                format!("{}{}", if number > 1 { "\n" } else { "" }, row_title(number))
            })
            .collect();
        self.rows += block.rows() as u64;
        self.write_rows(block, &titles, out)
    }

    fn totals(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.end_rows(out);
        self.has_totals = true;
        self.write_rows(block, &["\n\nTotals:\n───────\n".to_owned()], out)
    }

    fn extremes(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.end_rows(out);
        if !self.has_totals {
            out.push(b'\n');
        }
        self.write_rows(block, &["\nMin:\n────\n".to_owned(), "\nMax:\n────\n".to_owned()], out)
    }

    fn end(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        self.end_rows(out);
        Ok(())
    }
}
