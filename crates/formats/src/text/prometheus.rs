//! Prometheus: the rows of a result as metrics, `name{label="value"} value timestamp`. Rows of one name stand together, with what is said of
//! them before, so nothing is written before the last row has come.

use std::collections::BTreeMap;
use std::sync::Arc;

use squall_types::text::TextStyle;
use squall_types::{Block, DataType, Error, ErrorCode, Result, Schema, Value, grow, reserve};

use crate::options::FormatOptions;
use crate::output::{OutputFormat, Statistics};
use crate::text::field::{Field, Fields};

/// The largest bucket of a histogram, which has all values.
const WHOLE_BUCKET: &str = "+Inf";

/// A row of a metric.
#[derive(Debug)]
struct Sample {
    labels: BTreeMap<String, String>,
    value: String,
    /// Empty where there is none.
    timestamp: String,
}

/// The rows of a name.
#[derive(Debug, Default)]
struct Metric {
    help: String,
    kind: String,
    samples: Vec<Sample>,
}

/// Where the columns are that the format has a meaning for.
#[derive(Debug)]
struct Places {
    name: usize,
    value: usize,
    help: Option<usize>,
    kind: Option<usize>,
    labels: Option<usize>,
    timestamp: Option<usize>,
}

impl Places {
    /// Of a result's columns; others than these do not matter.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where one is missing or of another type.
    fn of(schema: &Schema) -> Result<Self> {
        let bad = |message: String| Error::new(ErrorCode::BAD_ARGUMENTS, message);
        let find = |name: &str, suits: fn(&DataType) -> bool| match schema.position(name) {
            Some(at) if !suits(&schema.fields[at].1) => {
                let found = &schema.fields[at].1;
                Err(bad(format!("Illegal type '{found}' of column '{name}' for output format 'Prometheus'")))
            }
            place => Ok(place),
        };
        let needed = |name: &str, suits: fn(&DataType) -> bool| {
            let missing = || bad(format!("Column '{name}' is required for output format 'Prometheus'"));
            find(name, suits)?.ok_or_else(missing)
        };
        let is_number =
            |of: &DataType| of.is_number() || of.is_decimal() || of.is_wide_integer() || *of == DataType::Bool;
        let is_map = |of: &DataType| matches!(of, DataType::Map(key, value) if **key == DataType::String && **value == DataType::String);
        Ok(Self {
            name: needed("name", DataType::is_string_or_fixed_string)?,
            value: needed("value", is_number)?,
            help: find("help", |of| of.remove_nullable().is_string_or_fixed_string())?,
            kind: find("type", |of| of.remove_nullable().is_string_or_fixed_string())?,
            labels: find("labels", is_map)?,
            timestamp: find("timestamp", |of| {
                let inner = of.inner();
                inner.is_number() || inner.is_decimal() || inner.is_wide_integer()
            })?,
        })
    }
}

/// The output format.
#[derive(Debug)]
pub(crate) struct PrometheusOutput {
    places: Places,
    fields: Fields,
    metrics: BTreeMap<String, Metric>,
}

impl PrometheusOutput {
    /// # Errors
    /// `BAD_ARGUMENTS` where a column is missing or of another type.
    pub fn new(schema: &Arc<Schema>, options: &FormatOptions) -> Result<Self> {
        let places = Places::of(schema)?;
        Ok(Self { places, fields: Fields::new(TextStyle::Plain, options), metrics: BTreeMap::new() })
    }
}

/// A row's text in a column; empty without the column, and for NULL.
fn text(fields: &mut [Field], block: &Block, at: Option<usize>, row: usize) -> String {
    let Some(at) = at.filter(|at| !block.column(*at).value(row).is_null()) else { return String::new() };
    let mut out = Vec::new();
    if let Some(field) = fields.get_mut(at) {
        field.write(row, &mut out);
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn number(text: String) -> String {
    match text.as_str() {
        "nan" => "NaN".to_owned(),
        "inf" => WHOLE_BUCKET.to_owned(),
        "-inf" => "-Inf".to_owned(),
        _ => text,
    }
}

fn labels_of(value: &Value) -> BTreeMap<String, String> {
    let Value::Map(entries) = value else { return BTreeMap::new() };
    let text = |value: &Value| match value {
        Value::String(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => other.to_string(),
    };
    entries.iter().map(|(key, value)| (text(key), text(value))).collect()
}

/// The name of a histogram's or summary's row, whose labels tell which part of it the row is, and where it stands among its rows.
fn part(name: &str, kind: &str, labels: &mut BTreeMap<String, String>) -> (String, (u8, f64)) {
    let bucket = match kind {
        "histogram" => "le",
        "summary" => "quantile",
        _ => return (name.to_owned(), (0, 0.0)),
    };
    if let Some(bound) = labels.get(bucket) {
        let order = bound.parse().unwrap_or(f64::INFINITY);
        let suffix = if kind == "histogram" { "_bucket" } else { "" };
        return (format!("{name}{suffix}"), (0, order));
    }
    for (at, of) in ["sum", "count"].into_iter().enumerate() {
        if labels.remove(of).is_some() {
            return (format!("{name}_{of}"), (1 + at as u8, 0.0));
        }
    }
    (name.to_owned(), (0, 0.0))
}

/// The largest bucket holds as many values as there are: where one of both is missing, the other tells it.
fn complete_histogram(samples: &mut Vec<Sample>) {
    let whole = samples.iter().find(|sample| sample.labels.get("le").is_some_and(|bound| bound == WHOLE_BUCKET));
    let count = samples.iter().find(|sample| sample.labels.contains_key("count"));
    let (of, from, to) = match (whole, count) {
        (Some(whole), None) => (whole, "le", ("count", "")),
        (None, Some(count)) => (count, "count", ("le", WHOLE_BUCKET)),
        _ => return,
    };
    let mut labels = of.labels.clone();
    labels.remove(from);
    labels.insert(to.0.to_owned(), to.1.to_owned());
    samples.push(Sample { labels, value: of.value.clone(), timestamp: of.timestamp.clone() });
}

fn append_label(out: &mut Vec<u8>, text: &str) {
    for byte in text.bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            _ => out.push(byte),
        }
    }
}

impl Metric {
    fn write(mut self, name: &str, out: &mut Vec<u8>) -> Result<()> {
        if !self.help.is_empty() {
            out.extend_from_slice(format!("# HELP {name} {}\n", self.help.replace('\n', " ")).as_bytes());
        }
        if !self.kind.is_empty() {
            out.extend_from_slice(format!("# TYPE {name} {}\n", self.kind).as_bytes());
        }
        // What is added stands behind the rows that came.
        let own = self.samples.len();
        if self.kind == "histogram" {
            complete_histogram(&mut self.samples);
        }
        let named = |mut sample: Sample| {
            let (name, order) = part(name, &self.kind, &mut sample.labels);
            (order, name, sample)
        };
        let mut rows: Vec<_> = self.samples.into_iter().map(named).collect();
        rows[..own].sort_by(|left, right| left.0.partial_cmp(&right.0).unwrap_or(std::cmp::Ordering::Equal));
        for (_, name, sample) in rows {
            grow(out, name.len() + sample.value.len())?;
            out.extend_from_slice(name.as_bytes());
            if !sample.labels.is_empty() {
                out.push(b'{');
                for (at, (key, value)) in sample.labels.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(key.as_bytes());
                    out.extend_from_slice(b"=\"");
                    append_label(out, value);
                    out.push(b'"');
                }
                out.push(b'}');
            }
            out.push(b' ');
            out.extend_from_slice(sample.value.as_bytes());
            if !sample.timestamp.is_empty() {
                out.push(b' ');
                out.extend_from_slice(sample.timestamp.as_bytes());
            }
            out.push(b'\n');
        }
        out.push(b'\n');
        Ok(())
    }
}

impl OutputFormat for PrometheusOutput {
    fn content_type(&self) -> &'static str {
        "text/plain; version=0.0.4; charset=UTF-8"
    }

    fn block(&mut self, block: &Block, _: &mut Vec<u8>) -> Result<()> {
        let mut fields = self.fields.of(block)?;
        let places = &self.places;
        for row in 0..block.rows() {
            let name = text(&mut fields, block, Some(places.name), row);
            let help = text(&mut fields, block, places.help, row);
            let kind = text(&mut fields, block, places.kind, row);
            let sample = Sample {
                labels: places.labels.map(|at| labels_of(&block.column(at).value(row))).unwrap_or_default(),
                value: number(text(&mut fields, block, Some(places.value), row)),
                timestamp: match text(&mut fields, block, places.timestamp, row) {
                    zero if zero == "0" => String::new(),
                    timestamp => timestamp,
                },
            };
            let labels: usize = sample.labels.iter().map(|(key, value)| key.len() + value.len()).sum();
            reserve(size_of::<Sample>() + name.len() + help.len() + sample.value.len() + labels)?;
            let metric = self.metrics.entry(name).or_default();
            // The first row that says something of all is believed.
            if metric.help.is_empty() {
                metric.help = help;
            }
            if metric.kind.is_empty() {
                metric.kind = kind;
            }
            metric.samples.push(sample);
        }
        Ok(())
    }

    fn end(&mut self, _: &Statistics, out: &mut Vec<u8>) -> Result<()> {
        std::mem::take(&mut self.metrics).into_iter().try_for_each(|(name, metric)| metric.write(&name, out))
    }
}

#[cfg(test)]
mod tests {
    use squall_types::ColumnBuilder;

    use super::*;

    fn written(kind: &str, rows: &[(&[(&str, &str)], f64)]) -> String {
        let map = DataType::Map(Arc::new(DataType::String), Arc::new(DataType::String));
        let fields =
            [("name", DataType::String), ("type", DataType::String), ("labels", map), ("value", DataType::Float64)];
        let schema = Arc::new(Schema::new(fields));
        let mut builders: Vec<ColumnBuilder> = schema.types().map(|of| ColumnBuilder::new(of.clone())).collect();
        for (labels, value) in rows {
            let labels = labels.iter().map(|(key, value)| (Value::string(*key), Value::string(*value))).collect();
            let row = [Value::string("m"), Value::string(kind), Value::Map(labels), Value::Float64(*value)];
            builders.iter_mut().zip(&row).for_each(|(builder, value)| builder.append(value).unwrap());
        }
        let columns = builders.into_iter().map(|builder| builder.finish().unwrap()).collect();
        let mut out = Vec::new();
        let mut format = PrometheusOutput::new(&schema, &FormatOptions::default()).unwrap();
        format.block(&Block::new(schema, columns, rows.len()), &mut out).unwrap();
        format.end(&Statistics::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rows_of_a_metric_stand_together() {
        assert_eq!(written("", &[(&[], 1.5)]), "m 1.5\n\n");
        assert_eq!(
            written("gauge", &[(&[("x", "a\"\\\n")], f64::NAN)]),
            "# TYPE m gauge\nm{x=\"a\\\"\\\\\\n\"} NaN\n\n"
        );
        let buckets: &[(&[(&str, &str)], f64)] =
            &[(&[("le", "2")], 7.0), (&[("count", "")], 9.0), (&[("le", "1")], 3.0)];
        let expected =
            "# TYPE m histogram\nm_bucket{le=\"1\"} 3\nm_bucket{le=\"2\"} 7\nm_count 9\nm_bucket{le=\"+Inf\"} 9\n\n";
        assert_eq!(written("histogram", buckets), expected);
    }

    #[test]
    fn columns_are_checked() {
        let refused = |name: &str, of: DataType| {
            let schema = Arc::new(Schema::new([("name", DataType::String), (name, of)]));
            PrometheusOutput::new(&schema, &FormatOptions::default()).unwrap_err().code
        };
        assert_eq!(refused("value", DataType::String), ErrorCode::BAD_ARGUMENTS);
        assert_eq!(refused("amount", DataType::UInt8), ErrorCode::BAD_ARGUMENTS);
    }
}
