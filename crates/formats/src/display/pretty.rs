//! Pretty, PrettyCompact and PrettySpace: a table drawn with lines for people to read. All rows make one table, so rows are held back:
//! the first and the last of them, as many as are shown. Where settings say that blocks do not wait for others, each is a table.

use std::collections::VecDeque;
use std::sync::Arc;

use squall_types::text::{TextOptions, TextStyle};
use squall_types::{Block, DataType, Result, Schema, Settings};

use crate::display::colors::{Colors, Emphasis, is_quantity};
use crate::display::pretty_fit::{Wanted, fit};
use crate::display::vertical;
use crate::nested::Nested;
use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::text::field::{Field, Fields};
use crate::text::utf8::{front, width};

/// What stands for NULL where people read.
pub(crate) const NULL_TEXT: &str = "ᴺᵁᴸᴸ";

/// The width of a large number in words: ` -- 123.45 quadrillion`.
const TIP_WIDTH: usize = 24;

/// From where the names of columns are cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NameCut {
    /// The width of a name that was cut; 0 is without a limit.
    width: usize,
    /// The fewest columns for which a name is cut.
    saved_min: usize,
}

impl NameCut {
    pub fn new(settings: &Settings) -> Self {
        Self {
            width: size(settings.output_format_pretty_max_column_name_width_cut_to),
            saved_min: size(settings.output_format_pretty_max_column_name_width_min_chars_to_cut),
        }
    }
}

fn size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// How the table is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Drawing {
    /// Lines everywhere.
    Full,
    /// Lines around the table and between columns; the names stand in the upper line.
    Compact,
    /// No lines.
    Space,
}

/// What the name of a format says of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PrettyForm {
    pub drawing: Drawing,
    /// Whether there may be colours.
    pub has_escapes: bool,
    /// Whether all rows are one table, whatever settings say.
    pub is_mono_block: bool,
}

/// Whether lines are made of ASCII alone.
fn is_ascii(settings: &Settings) -> bool {
    settings.output_format_pretty_grid_charset == "ASCII"
}

/// Whether values of a type stand at the right: numbers and times.
pub(crate) fn is_right_aligned(data_type: &DataType) -> bool {
    let inner = data_type.inner();
    inner.is_number()
        || inner.is_wide_integer()
        || inner.is_date_or_time()
        || matches!(inner, DataType::Decimal(..) | DataType::Time | DataType::Time64(_) | DataType::Interval(_))
}

/// A name as short as fits a table: `count(bbbbbb⋯bbbbbbbbbb)`. Names that are one word stay whole.
pub(crate) fn cut_name(name: &str, value_width: usize, cut: NameCut) -> String {
    let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let limit = cut.width.max(value_width);
    let name_width = width(name.as_bytes(), 0);
    if is_word || cut.width == 0 || name_width <= limit.saturating_add(cut.saved_min) {
        return name.to_owned();
    }
    let start = front(name.as_bytes(), limit / 2);
    let end_width = (limit - 1) / 2;
    let end = name
        .char_indices()
        .map(|(at, _)| &name[at..])
        .find(|end| width(end.as_bytes(), 0) <= end_width)
        .unwrap_or_default();
    format!("{}⋯{end}", String::from_utf8_lossy(start))
}

/// The text of all values of some rows, column by column.
struct Texts {
    columns: Vec<Vec<Vec<u8>>>,
    rows: usize,
}

enum Text {
    Field(Box<Field>),
    Nested(Box<Nested>),
}

impl Texts {
    /// The texts of blocks; with `names`, tuples with named elements are in JSON.
    fn new(fields: &Fields, names: bool, text: &TextOptions, blocks: &[Block]) -> Result<Self> {
        let mut texts = Self { columns: Vec::new(), rows: 0 };
        for block in blocks {
            texts.columns.resize_with(block.columns().len(), Vec::new);
            for ((column, values), field) in block.columns().iter().zip(&mut texts.columns).zip(fields.of(block)?) {
                let mut source = match column.data_type() {
                    DataType::SimpleAggregateFunction(_)
                    | DataType::Named(_)
                    | DataType::Array(_)
                    | DataType::Map(..)
                    | DataType::Tuple(_)
                        if names =>
                    {
                        Text::Nested(Box::new(Nested::new(column, text)?))
                    }
                    _ => Text::Field(Box::new(field)),
                };
                values.extend((0..block.rows()).map(|row| {
                    let mut value = Vec::new();
                    match &mut source {
                        Text::Field(field) => field.write(row, &mut value),
                        Text::Nested(nested) => nested.write_pretty(row, false, text, &mut value),
                    }
                    value
                }));
            }
            texts.rows += block.rows();
        }
        Ok(texts)
    }

    fn get(&self, column: usize, row: usize) -> &[u8] {
        self.columns.get(column).and_then(|values| values.get(row)).map_or(&[], Vec::as_slice)
    }
}

/// The output formats.
#[derive(Debug)]
pub(crate) struct PrettyOutput {
    drawing: Drawing,
    colors: Colors,
    /// Whether each block is a table.
    is_by_block: bool,
    /// The table before, where the next may continue it.
    open: Option<Open>,
    schema: Arc<Schema>,
    fields: Fields,
    text: TextOptions,
    settings: Arc<Settings>,
    rows_max: usize,
    width_max: Option<usize>,
    /// Up to `rows_max` first rows.
    first: Vec<Block>,
    first_rows: usize,
    /// The last rows after those, half of `rows_max` of them at most.
    last: VecDeque<Block>,
    last_rows: usize,
    rows: u64,
    is_shown: bool,
}

impl PrettyOutput {
    pub fn new(form: PrettyForm, schema: &Arc<Schema>, options: &FormatOptions) -> Self {
        let settings = options.settings.clone();
        let PrettyForm { drawing, has_escapes, is_mono_block } = form;
        let null = if is_ascii(&settings) { "NULL" } else { NULL_TEXT };
        Self {
            drawing,
            colors: Colors::new(&settings, has_escapes),
            is_by_block: !is_mono_block && settings.output_format_pretty_squash_consecutive_ms == 0,
            open: None,
            schema: schema.clone(),
            fields: Fields::new(TextStyle::Plain, options).with_null(null),
            text: options.text(),
            rows_max: size(settings.output_format_pretty_max_rows),
            settings,
            width_max: options.width_max,
            first: Vec::new(),
            first_rows: 0,
            last: VecDeque::new(),
            last_rows: 0,
            rows: 0,
            is_shown: false,
        }
    }

    /// Draws the rows held back, once.
    fn show(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if std::mem::replace(&mut self.is_shown, true) || self.rows == 0 {
            return Ok(());
        }
        let mut blocks = std::mem::take(&mut self.first);
        blocks.extend(std::mem::take(&mut self.last));
        let held = self.first_rows + self.last_rows;
        if self.is_by_block {
            // All blocks were drawn.
        } else if self.rows <= self.rows_max as u64 {
            self.table(&blocks, 0, self.rows, None, out)?;
        } else {
            let last = self.rows_max / 2;
            let first = self.rows_max - last;
            let all = Block::concat(self.schema.clone(), &blocks)?;
            let shown = [all.slice(0, first.min(held)), all.slice(held.saturating_sub(last), last.min(held))];
            self.table(&shown, 0, self.rows, Some(first), out)?;
        }
        if self.rows < self.rows_max as u64 {
            return Ok(());
        }
        if self.drawing == Drawing::Space {
            out.push(b'\n');
        }
        out.extend_from_slice(format!("Showed {} out of {} rows.\n", self.rows_max, self.rows).as_bytes());
        Ok(())
    }

    /// Draws a table of blocks, where so many rows were shown `before`; behind `gap_after` rows some are left out of the `rows` there are.
    fn table(
        &mut self,
        blocks: &[Block],
        before: u64,
        rows: u64,
        gap_after: Option<usize>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let open = self.open.take();
        let settings = &self.settings;
        let texts = Texts::new(&self.fields, settings.output_format_pretty_named_tuples_as_json, &self.text, blocks)?;
        let is_split = settings.output_format_pretty_multiline_fields;
        let pad_width_max = size(settings.output_format_pretty_max_column_pad_width);
        let limit = match size(settings.output_format_pretty_max_value_width) {
            0 => usize::MAX,
            limit => limit,
        };
        let number_width =
            if settings.output_format_pretty_row_numbers { (before + rows).to_string().len() + 2 } else { 0 };
        let mut columns = Vec::with_capacity(self.schema.len());
        let mut left = number_width + if self.drawing == Drawing::Space { 1 } else { 2 };
        let mut has_lines = false;
        for (at, (name, data_type)) in self.schema.fields.iter().enumerate() {
            let widths = (0..texts.rows)
                .flat_map(|row| texts.get(at, row).split(|byte| is_split && *byte == b'\n'))
                .map(|line| width(line, left));
            let value_width = widths.max().unwrap_or(0).min(pad_width_max).min(limit);
            has_lines |= is_split && (0..texts.rows).any(|row| texts.get(at, row).contains(&b'\n'));
            let name = cut_name(name, value_width, NameCut::new(settings));
            let width = value_width.max(width(name.as_bytes(), 0));
            left += width + 3;
            let is_right = is_right_aligned(data_type);
            let emphasis = self.colors.emphasis(data_type);
            columns.push(Column { at: Some(at), name, width, limit, is_right, emphasis });
        }
        let values_width: usize = columns.iter().map(|column| column.width).sum();
        if settings.output_format_pretty_fallback_to_vertical
            && columns.len() >= size(settings.output_format_pretty_fallback_to_vertical_min_columns)
            && texts.rows <= size(settings.output_format_pretty_fallback_to_vertical_max_rows_per_chunk)
            && (has_lines || values_width >= size(settings.output_format_pretty_fallback_to_vertical_min_table_width))
        {
            return self.vertical(&texts, before, rows, gap_after, out);
        }
        let last_is_number = self.schema.types().last().is_some_and(is_quantity);
        let single = texts.rows == 1
            && columns.len() == 1
            && settings.output_format_pretty_max_value_width_apply_for_single_value == 0;
        let mut table = Table {
            drawing: self.drawing,
            colors: self.colors,
            is_ascii: is_ascii(settings),
            is_split,
            columns,
            number_width,
            tip_threshold: if last_is_number {
                settings.output_format_pretty_single_large_number_tip_threshold
            } else {
                0
            },
        };
        if let Some(width_max) = self.width_max.filter(|_| !single) {
            table.fit(width_max);
        }
        let shown = table.columns.iter().filter(|column| column.at.is_some()).count();
        let widths = table.columns.iter().map(|column| column.width).collect();
        let has_footer = settings.output_format_pretty_display_footer_column_names > 0
            && rows >= settings.output_format_pretty_display_footer_column_names_min_rows;
        let next = Open { widths, number_width, has_footer };
        match open.filter(|open| settings.output_format_pretty_glue_chunks == "1" && open.is_like(&next)) {
            Some(open) => table.unfold(open.has_footer, out),
            None => table.head(out),
        }
        for row in 0..texts.rows {
            if row > 0 && self.drawing == Drawing::Full {
                table.line("├", "─", "┼", "┤", out);
            }
            let is_after_gap = gap_after.is_some_and(|first| row >= first);
            if gap_after == Some(row) {
                table.gap(out);
                if self.drawing == Drawing::Full {
                    table.line("├", "─", "┼", "┤", out);
                }
            }
            let number = if is_after_gap { rows - (texts.rows - row) as u64 + 1 } else { before + row as u64 + 1 };
            table.row(number, |column| texts.get(column, row), single, out);
        }
        table.foot(has_footer, out);
        if shown < self.schema.len() {
            out.extend_from_slice(format!("Showed {shown} out of {} columns.\n", self.schema.len()).as_bytes());
        } else {
            self.open = Some(next);
        }
        Ok(())
    }

    fn vertical(
        &self,
        texts: &Texts,
        before: u64,
        rows: u64,
        gap_after: Option<usize>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        for row in 0..texts.rows {
            if before > 0 || row > 0 {
                out.push(b'\n');
            }
            let is_after_gap = gap_after.is_some_and(|first| row >= first);
            let number = if is_after_gap { rows - (texts.rows - row) as u64 + 1 } else { before + row as u64 + 1 };
            let title = vertical::row_title(number);
            let value = |column| texts.get(column, row);
            vertical::append_row(&title, &self.schema, &self.settings, self.colors, value, out);
        }
        Ok(())
    }

    fn titled(&mut self, title: &str, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.show(out)?;
        out.extend_from_slice(format!("\n{title}:\n").as_bytes());
        self.open = None;
        self.table(std::slice::from_ref(block), 0, block.rows() as u64, None, out)
    }
}

impl OutputFormat for PrettyOutput {
    fn content_type(&self) -> &'static str {
        "text/plain; charset=UTF-8"
    }

    fn block(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        let rows = block.rows();
        let before = self.rows;
        self.rows += rows as u64;
        if self.is_by_block {
            let mut shown = 0;
            let shown_max = rows.min(size((self.rows_max as u64).saturating_sub(before)));
            // A query may make its blocks larger than it was told to.
            let step = size(self.settings.max_block_size).max(1);
            while shown < shown_max {
                let taken = step.min(shown_max - shown);
                self.table(&[block.slice(shown, taken)], before + shown as u64, taken as u64, None, out)?;
                shown += taken;
            }
            return Ok(());
        }
        let first = rows.min(self.rows_max - self.first_rows);
        if first > 0 {
            self.first.push(block.slice(0, first));
            self.first_rows += first;
        }
        if first < rows {
            self.last.push_back(block.slice(first, rows - first));
            self.last_rows += rows - first;
        }
        let last_max = self.rows_max / 2;
        while self.last_rows > last_max {
            let Some(oldest) = self.last.pop_front() else { break };
            let surplus = self.last_rows - last_max;
            self.last_rows -= surplus.min(oldest.rows());
            if surplus < oldest.rows() {
                self.last.push_front(oldest.slice(surplus, oldest.rows() - surplus));
            }
        }
        Ok(())
    }

    fn totals(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.titled("Totals", block, out)
    }

    fn extremes(&mut self, block: &Block, out: &mut Vec<u8>) -> Result<()> {
        self.titled("Extremes", block, out)
    }

    fn end(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        self.show(out)
    }

    fn exception(&mut self, message: &str, out: &mut Vec<u8>) {
        // What was drawn so far is shown; a value that cannot be drawn is no worse than the error itself.
        let _ = self.show(out);
        out.extend_from_slice(message.as_bytes());
        out.push(b'\n');
    }
}

/// A table that was drawn, which the next block may continue where it looks the same.
#[derive(Debug)]
struct Open {
    widths: Vec<usize>,
    number_width: usize,
    /// Whether the names stand below it, too.
    has_footer: bool,
}

impl Open {
    fn is_like(&self, next: &Self) -> bool {
        self.widths == next.widths && self.number_width == next.number_width
    }
}

/// A column as it is drawn.
struct Column {
    /// Where it stands in the result; none is the gap where columns are left out.
    at: Option<usize>,
    name: String,
    width: usize,
    /// Values wider than this are cut.
    limit: usize,
    is_right: bool,
    emphasis: Emphasis,
}

impl Column {
    fn gap() -> Self {
        Column { at: None, name: "⋯".to_owned(), width: 1, limit: 1, is_right: false, emphasis: Emphasis::None }
    }
}

/// Draws the parts of a table.
struct Table {
    drawing: Drawing,
    colors: Colors,
    columns: Vec<Column>,
    /// Columns of the terminal before the table.
    number_width: usize,
    /// Lines of `+`, `-` and `|`.
    is_ascii: bool,
    /// Whether values of several lines are drawn over several lines.
    is_split: bool,
    /// From where the last column's numbers are said in words behind the row; 0 is never.
    tip_threshold: u64,
}

fn pad(text: &str, count: usize, out: &mut Vec<u8>) {
    (0..count).for_each(|_| out.extend_from_slice(text.as_bytes()));
}

impl Table {
    /// Makes columns narrower, and leaves some out, until the table is as wide as this at most.
    fn fit(&mut self, width_max: usize) {
        let wanted: Vec<Wanted> =
            self.columns.iter().map(|column| Wanted { width: column.width, may_cut: !column.is_right }).collect();
        let fit = fit(&wanted, width_max, self.number_width + 1);
        let has_gap = fit.has_gap(wanted.len());
        let width: usize = self.columns.iter().map(|column| column.width + 3).sum();
        // Words behind the table need room too.
        if self.number_width + 1 + width + TIP_WIDTH > width_max {
            self.tip_threshold = 0;
        }
        let mut columns = std::mem::take(&mut self.columns);
        let mut take = |(at, width): (usize, usize)| {
            let mut column = std::mem::replace(columns.get_mut(at)?, Column::gap());
            if !column.is_right {
                column.limit = width;
            }
            column.width = width;
            if crate::text::utf8::width(column.name.as_bytes(), 0) > width {
                let start = front(column.name.as_bytes(), width.saturating_sub(1));
                column.name = format!("{}⋯", String::from_utf8_lossy(start));
            }
            Some(column)
        };
        self.columns.extend(fit.front.into_iter().filter_map(&mut take));
        if has_gap {
            self.columns.push(Column::gap());
        }
        self.columns.extend(fit.back.into_iter().filter_map(&mut take));
    }

    /// A piece of a line, as the charset has it.
    fn glyph<'a>(&self, glyph: &'a str) -> &'a str {
        match glyph {
            _ if !self.is_ascii => glyph,
            "━" | "─" => "-",
            "┃" | "│" => "|",
            "↳" => ">",
            "↴" => "\\",
            "⋯" => "~",
            " " => " ",
            _ => "+",
        }
    }

    /// A line across: its left end, what it is made of, its crossings and its right end.
    fn line(&self, left: &str, dash: &str, cross: &str, right: &str, out: &mut Vec<u8>) {
        pad(" ", self.number_width, out);
        for (at, column) in self.columns.iter().enumerate() {
            out.extend_from_slice(self.glyph(if at == 0 { left } else { cross }).as_bytes());
            pad(self.glyph(dash), column.width + 2, out);
        }
        out.extend_from_slice(self.glyph(right).as_bytes());
        out.push(b'\n');
    }

    /// The names between bars.
    fn names(&self, bar: &str, out: &mut Vec<u8>) {
        let bar = self.glyph(bar);
        pad(" ", self.number_width, out);
        for column in &self.columns {
            out.extend_from_slice(format!("{bar} ").as_bytes());
            self.name(column, " ", out);
            out.push(b' ');
        }
        out.extend_from_slice(bar.as_bytes());
        out.push(b'\n');
    }

    fn name(&self, column: &Column, filler: &str, out: &mut Vec<u8>) {
        let missing = column.width - width(column.name.as_bytes(), 0).min(column.width);
        if column.is_right {
            pad(filler, missing, out);
        }
        self.colors.name(&column.name, out);
        if !column.is_right {
            pad(filler, missing, out);
        }
    }

    /// A line with the names in it.
    fn named_line(&self, left: &str, cross: &str, right: &str, out: &mut Vec<u8>) {
        pad(" ", self.number_width, out);
        for (at, column) in self.columns.iter().enumerate() {
            out.extend_from_slice(self.glyph(if at == 0 { left } else { cross }).as_bytes());
            out.extend_from_slice(self.glyph("─").as_bytes());
            self.name(column, self.glyph("─"), out);
            out.extend_from_slice(self.glyph("─").as_bytes());
        }
        out.extend_from_slice(self.glyph(right).as_bytes());
        out.push(b'\n');
    }

    /// The names between spaces.
    fn spaced_names(&self, out: &mut Vec<u8>) {
        pad(" ", self.number_width, out);
        for (at, column) in self.columns.iter().enumerate() {
            pad(" ", if at == 0 { 1 } else { 3 }, out);
            self.name(column, " ", out);
        }
        out.push(b'\n');
    }

    fn head(&self, out: &mut Vec<u8>) {
        match self.drawing {
            Drawing::Full => {
                self.line("┏", "━", "┳", "┓", out);
                self.names("┃", out);
                self.line("┡", "━", "╇", "┩", out);
            }
            Drawing::Compact => self.named_line("┌", "┬", "┐", out),
            Drawing::Space => {
                self.spaced_names(out);
                out.push(b'\n');
            }
        }
    }

    /// Takes back the foot of the table before, to go on with its rows.
    fn unfold(&self, has_names: bool, out: &mut Vec<u8>) {
        let lines = match self.drawing {
            Drawing::Full | Drawing::Space if has_names => 3,
            Drawing::Full | Drawing::Compact => 1,
            Drawing::Space => 0,
        };
        // A line up, which is then empty; at last its begin.
        (0..lines).for_each(|_| out.extend_from_slice(b"\x1b[1A\x1b[2K"));
        if lines > 0 {
            out.extend_from_slice(b"\x1b[G");
        }
        if self.drawing == Drawing::Full {
            self.line("├", "─", "┼", "┤", out);
        }
    }

    fn foot(&self, has_names: bool, out: &mut Vec<u8>) {
        match self.drawing {
            Drawing::Full if has_names => {
                self.line("┢", "━", "╈", "┪", out);
                self.names("┃", out);
                self.line("┗", "━", "┻", "┛", out);
            }
            Drawing::Full => self.line("└", "─", "┴", "┘", out),
            Drawing::Compact if has_names => self.named_line("└", "┴", "┘", out),
            Drawing::Compact => self.line("└", "─", "┴", "┘", out),
            Drawing::Space if has_names => {
                out.push(b'\n');
                self.spaced_names(out);
                out.push(b'\n');
            }
            Drawing::Space => {}
        }
    }

    /// Where rows are left out.
    fn gap(&self, out: &mut Vec<u8>) {
        let ends = if self.drawing == Drawing::Space { 0 } else { 3 };
        let table_width = (self.columns.iter().map(|column| column.width + 3).sum::<usize>() + ends).saturating_sub(2);
        pad(" ", self.number_width, out);
        let dash = self.glyph("─");
        (0..table_width).for_each(|at| out.extend_from_slice(if at % 2 == 0 { dash } else { " " }.as_bytes()));
        out.push(b'\n');
    }

    /// A row, over as many lines as its values have.
    fn row<'a>(&self, number: u64, value: impl Fn(usize) -> &'a [u8], is_single: bool, out: &mut Vec<u8>) {
        let mut lines: Vec<Vec<&[u8]>> = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let text = column.at.map_or("⋯".as_bytes(), &value);
            lines.push(text.split_inclusive(|byte| self.is_split && *byte == b'\n').collect());
        }
        let height = lines.iter().map(Vec::len).max().unwrap_or(1).max(1);
        for line in 0..height {
            if line == 0 && self.number_width > 0 {
                let number = format!("{number}. ");
                pad(" ", self.number_width - number.len().min(self.number_width), out);
                self.colors.aside(&number, out);
            } else {
                pad(" ", self.number_width, out);
            }
            let mut left = self.number_width + if self.drawing == Drawing::Space { 1 } else { 2 };
            for (at, (column, lines)) in self.columns.iter().zip(&lines).enumerate() {
                let is_continued = line > 0 && line < lines.len();
                match self.drawing {
                    Drawing::Space => pad(" ", usize::from(at > 0), out),
                    _ => out.extend_from_slice(self.glyph("│").as_bytes()),
                }
                match is_continued {
                    true => self.colors.aside(self.glyph("↳"), out),
                    false => out.push(b' '),
                }
                let text = lines.get(line).copied().unwrap_or_default();
                // A break at the end is seen by its sign alone.
                let broken = text.strip_suffix(b"\n").filter(|_| self.is_split);
                let (text, has_more) = (broken.unwrap_or(text), broken.is_some());
                let is_cut = self.cell(column, text, left, is_single, out);
                if is_cut {
                    self.colors.cut(self.glyph("⋯"), out);
                } else if has_more {
                    self.colors.aside(self.glyph("↴"), out);
                } else {
                    out.push(b' ');
                }
                left += column.width + 3;
            }
            if self.drawing != Drawing::Space {
                out.extend_from_slice(self.glyph("│").as_bytes());
            }
            if line == 0 {
                let last = self.columns.len() - 1;
                self.colors.tip(value(last), self.tip_threshold, out);
            }
            out.push(b'\n');
        }
    }

    /// A line of a value with its padding; returns whether it was too long and cut.
    fn cell(&self, column: &Column, text: &[u8], left: usize, is_single: bool, out: &mut Vec<u8>) -> bool {
        let text_width = width(text, left);
        let limit = column.limit;
        if text_width > limit && !is_single {
            let start = front(text, limit);
            self.colors.value(start, column.emphasis, out);
            pad(" ", limit.min(column.width).saturating_sub(width(start, left)), out);
            return true;
        }
        let missing = column.width - text_width.min(column.width);
        if column.is_right {
            pad(" ", missing, out);
        }
        self.colors.value(text, column.emphasis, out);
        if !column.is_right {
            pad(" ", missing, out);
        }
        false
    }
}
