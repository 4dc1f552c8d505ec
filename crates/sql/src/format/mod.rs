//! The formatter: a tree as text, in ClickHouse's layout (`formatQuery`, `formatQuerySingleLine`). What it writes parses to the
//! same tree.

mod access;
mod alter;
mod create;
mod expression;
mod select;
mod statement;

use crate::ast::{
    DataType, DataTypeArgument, Expression, Identifier, Literal, OnCluster, ProjectionDeclaration, ProjectionSelect,
    RefreshStrategy, Setting, SettingValue, Statement, TableName, TtlElement,
};

/// A statement over several lines, as ClickHouse's `formatQuery` lays it out.
pub fn format(statement: &Statement) -> String {
    let mut writer = Writer::new(false);
    writer.statement(statement);
    writer.out
}

/// A statement on one line, as ClickHouse's `formatQuerySingleLine` writes it.
pub fn format_one_line(statement: &Statement) -> String {
    let mut writer = Writer::new(true);
    writer.statement(statement);
    writer.out
}

/// How names are quoted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quoting {
    /// Whether names are quoted that need not be.
    pub always: bool,
    /// What stands around them: a backtick or a double quote.
    pub quote: char,
}

impl Quoting {
    const DEFAULT: Self = Self { always: false, quote: '`' };
}

/// A statement over several lines with other quotes.
pub fn format_quoted(statement: &Statement, quoting: Quoting) -> String {
    let mut writer = Writer { quoting, ..Writer::new(false) };
    writer.statement(statement);
    writer.out
}

/// A statement as `EXPLAIN SYNTAX` writes it: nothing is left to be understood. Operators are calls, joins say how many partners a row gets,
/// a SELECT of no table reads `system.one`, and what UNION and its kin put together stands in parentheses.
pub fn format_explicit(statement: &Statement, one_line: bool) -> String {
    let mut writer = Writer { is_explicit: true, ..Writer::new(one_line) };
    writer.statement(statement);
    writer.out
}

/// An expression on one line.
pub fn format_expression(expression: &Expression) -> String {
    let mut writer = Writer::new(true);
    writer.expression(expression, false);
    writer.out
}

/// An element of a table's TTL on one line.
pub fn format_ttl(element: &TtlElement) -> String {
    let mut writer = Writer::new(true);
    writer.ttl_element(element);
    writer.out
}

/// A projection of a table, as CREATE TABLE declares it.
pub fn format_projection(projection: &ProjectionDeclaration, one_line: bool) -> String {
    let mut writer = Writer::new(one_line);
    writer.projection(projection);
    writer.out
}

/// When a view is refreshed: `REFRESH EVERY | AFTER …`.
pub fn format_refresh(strategy: &RefreshStrategy) -> String {
    let mut writer = Writer::new(true);
    writer.refresh(strategy);
    writer.out
}

/// What a projection selects, on one line.
pub fn format_projection_select(select: &ProjectionSelect) -> String {
    let mut writer = Writer::new(true);
    writer.projection_select(select);
    writer.out
}

/// A data type, as ClickHouse writes the second argument of `CAST`.
pub fn format_data_type(data_type: &DataType) -> String {
    let mut writer = Writer::new(true);
    writer.data_type(data_type);
    writer.out
}

/// Settings separated by commas.
pub(crate) fn format_settings(settings: &[Setting]) -> String {
    let mut writer = Writer::new(true);
    writer.settings(settings);
    writer.out
}

/// A literal as ClickHouse writes it.
pub fn format_literal(literal: &Literal) -> String {
    let mut writer = Writer::new(true);
    writer.literal(literal);
    writer.out
}

/// Collects the text.
struct Writer {
    out: String,
    one_line: bool,
    indent: usize,
    /// Lambdas stand in parentheses: ClickHouse writes them so in lists behind the first item.
    wrap_lambdas: bool,
    /// What a reader would add is written.
    is_explicit: bool,
    quoting: Quoting,
}

impl Writer {
    fn new(one_line: bool) -> Self {
        Self {
            out: String::new(),
            one_line,
            indent: 0,
            wrap_lambdas: false,
            is_explicit: false,
            quoting: Quoting::DEFAULT,
        }
    }

    fn text(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Begins a line, or puts a space when all stands on one.
    fn line(&mut self) {
        if self.one_line {
            self.out.push(' ');
        } else {
            self.out.push('\n');
            for _ in 0..self.indent {
                self.out.push_str("    ");
            }
        }
    }

    /// Begins a line, or puts nothing when all stands on one: inside parentheses.
    fn break_line(&mut self) {
        if !self.one_line {
            self.line();
        }
    }

    fn indented(&mut self, body: impl FnOnce(&mut Self)) {
        self.indent += 1;
        body(self);
        self.indent -= 1;
    }

    /// Items with `separator` between them.
    fn joined<T>(&mut self, items: &[T], separator: &str, mut item: impl FnMut(&mut Self, &T)) {
        for (index, each) in items.iter().enumerate() {
            if index > 0 {
                self.text(separator);
            }
            item(self, each);
        }
    }

    /// After a keyword: one item on the same line, or several on lines of their own.
    fn clause_list<T>(&mut self, items: &[T], item: impl FnMut(&mut Self, &T)) {
        if let [_] = items {
            self.text(" ");
            self.indented(|w| w.joined(items, ", ", item));
        } else {
            self.lines(items, item);
        }
    }

    /// Items on lines of their own, one deeper.
    fn lines<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        self.indented(|w| {
            for (index, each) in items.iter().enumerate() {
                if index > 0 {
                    w.text(",");
                }
                w.line();
                w.wrap_lambdas = index > 0;
                item(w, each);
            }
            w.wrap_lambdas = false;
        });
    }

    /// `(` lines `)`, the parentheses on lines of their own.
    fn block(&mut self, body: impl FnOnce(&mut Self)) {
        self.text("(");
        self.indented(|w| {
            w.break_line();
            body(w);
        });
        self.break_line();
        self.text(")");
    }

    fn string(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// A string literal. Bytes that are no UTF-8 are written as hexadecimal, which ClickHouse reads as well.
    fn bytes(&mut self, bytes: &[u8]) {
        let Ok(text) = std::str::from_utf8(bytes) else {
            self.text("x'");
            for byte in bytes {
                self.out.push_str(&format!("{byte:02X}"));
            }
            return self.text("'");
        };
        self.text("'");
        escape(&mut self.out, text, '\'');
        self.text("'");
    }

    /// An identifier, in quotes when it needs them.
    fn name(&mut self, name: &str) {
        if is_plain(name) { self.text(name) } else { self.quoted(name) }
    }

    /// An identifier in quotes.
    fn quoted(&mut self, name: &str) {
        if name.is_empty() {
            // Only a string can be an empty name.
            return self.text("''");
        }
        let quote = self.quoting.quote;
        self.out.push(quote);
        escape(&mut self.out, name, quote);
        self.out.push(quote);
    }

    fn identifier(&mut self, identifier: &Identifier) {
        if identifier.parameter {
            self.text("{");
            self.text(&identifier.value);
            self.text(":Identifier}");
        } else if self.quoting.always {
            self.quoted(&identifier.value);
        } else {
            self.name(&identifier.value);
        }
    }

    /// The name of a format: `Values` and `Null` are no words to quote here.
    fn format_name(&mut self, format: &Identifier) {
        if QUOTED_WORDS.iter().any(|word| word.eq_ignore_ascii_case(&format.value)) {
            self.text(&format.value);
        } else {
            self.identifier(format);
        }
    }

    /// A column whose name may have dots that are not quoted.
    fn nested(&mut self, identifier: &Identifier) {
        if identifier.parameter {
            return self.identifier(identifier);
        }
        self.dotted(&identifier.value);
    }

    fn dotted(&mut self, name: &str) {
        let plain = !name.is_empty() && name.split('.').all(|part| !part.is_empty());
        if !plain {
            return self.name(name);
        }
        let parts: Vec<&str> = name.split('.').collect();
        self.joined(&parts, ".", |w, part| w.name(part));
    }

    fn table_name(&mut self, name: &TableName) {
        if let Some(database) = &name.database {
            self.identifier(database);
            self.text(".");
        }
        self.identifier(&name.table);
        if let Some(uuid) = &name.uuid {
            self.text(" UUID ");
            self.string(uuid);
        }
    }

    fn on_cluster(&mut self, cluster: &OnCluster) {
        if let Some(cluster) = cluster {
            self.text(" ON CLUSTER ");
            if cluster.value.starts_with('{') && !cluster.parameter {
                self.string(&cluster.value);
            } else {
                self.identifier(cluster);
            }
        }
    }

    fn comment(&mut self, comment: &Option<String>) {
        if let Some(comment) = comment {
            self.line();
            self.text("COMMENT ");
            self.string(comment);
        }
    }

    fn settings(&mut self, settings: &[Setting]) {
        self.joined(settings, ", ", |w, setting| w.setting(setting));
    }

    fn setting(&mut self, setting: &Setting) {
        self.dotted(&setting.name);
        self.text(" = ");
        match &setting.value {
            SettingValue::Literal(literal) => self.literal(literal),
            SettingValue::Default => self.text("DEFAULT"),
            SettingValue::Expression(expression) => self.expression(expression, false),
        }
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Null => self.text("NULL"),
            Literal::Bool(value) => self.text(if *value { "true" } else { "false" }),
            Literal::UInt64(value) => self.text(&value.to_string()),
            Literal::Int64(value) => self.text(&value.to_string()),
            Literal::Float64(value) => self.text(&format_float(value.0)),
            Literal::String(bytes) => self.bytes(bytes),
            Literal::Array(items) => {
                self.text("[");
                self.joined(items, ", ", |w, item| w.literal(item));
                self.text("]");
            }
            Literal::Tuple(items) => {
                self.text("(");
                self.joined(items, ", ", |w, item| w.literal(item));
                self.text(")");
            }
            Literal::Map(pairs) => {
                self.text("{");
                self.joined(pairs, ", ", |w, (key, value)| {
                    w.literal(key);
                    w.text(" : ");
                    w.literal(value);
                });
                self.text("}");
            }
        }
    }

    fn data_type(&mut self, data_type: &DataType) {
        if data_type.name.contains(' ') {
            self.text(&data_type.name)
        } else {
            self.name(&data_type.name)
        }
        let Some(arguments) = &data_type.arguments else { return };
        self.text("(");
        // ClickHouse writes the elements of a named tuple on lines of their own.
        let tall = !self.one_line
            && data_type.name == "Tuple"
            && matches!(arguments.first(), Some(DataTypeArgument::Named { .. }));
        if tall {
            self.lines(arguments, |w, argument| w.data_type_argument(argument));
        } else {
            self.joined(arguments, ", ", |w, argument| w.data_type_argument(argument));
        }
        self.text(")");
    }

    fn data_type_argument(&mut self, argument: &DataTypeArgument) {
        match argument {
            DataTypeArgument::Type(data_type) => self.data_type(data_type),
            DataTypeArgument::Named { name, data_type } => {
                self.name(name);
                self.text(" ");
                self.data_type(data_type);
            }
            DataTypeArgument::EnumValue { name, value } => {
                self.string(name);
                self.text(" = ");
                self.text(&value.to_string());
            }
            DataTypeArgument::Literal(literal) => self.literal(literal),
            DataTypeArgument::Parameter { name, value } => {
                self.name(name);
                self.text(" = ");
                self.literal(value);
            }
            DataTypeArgument::Skip(path) => {
                self.text("SKIP ");
                self.dotted(path);
            }
            DataTypeArgument::SkipRegexp(regexp) => {
                self.text("SKIP REGEXP ");
                self.string(regexp);
            }
        }
    }
}

/// Words that ClickHouse quotes wherever they name something.
const QUOTED_WORDS: &[&str] =
    &["all", "distinct", "false", "from", "inf", "nan", "null", "select", "table", "top", "true", "values"];

/// Whether an identifier is read as one without quotes.
fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !QUOTED_WORDS.iter().any(|word| word.eq_ignore_ascii_case(name))
}

fn escape(out: &mut String, text: &str, quote: char) {
    for c in text.chars() {
        match c {
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0' => out.push_str("\\0"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
}

/// A float as ClickHouse writes a literal: the shortest digits that read back the same, a point or an exponent always.
pub(crate) fn format_float(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_string();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_string();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-6..21).contains(&exponent) {
        let plain = format!("{value}");
        return if plain.contains('.') { plain } else { format!("{plain}.") };
    }
    format!("{mantissa}e{exponent}")
}
