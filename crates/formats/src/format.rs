//! The formats by name. As in ClickHouse, the case of letters does not matter and some formats have several names.

use std::io::Read;
use std::sync::Arc;

use squall_types::{DataType, Error, ErrorCode, JsonType, Result, Schema};

use crate::arrow::{self, ArrowInput, ArrowOutput, Container};
#[cfg(feature = "avro")]
use crate::binary::avro::{self, AvroInput, AvroOutput};
use crate::binary::bson::{self, BsonOutput, BsonReader};
use crate::binary::msg_pack::{MsgPackOutput, MsgPackReader};
use crate::binary::npy::{self, NpyOutput, NpyReader};
use crate::binary::odbc_driver::OdbcDriverOutput;
use crate::binary::raw_blob::{RawBlobOutput, RawBlobReader};
use crate::binary::row_binary::{RowBinaryOutput, RowBinaryReader, read_header};
use crate::display::markdown::MarkdownOutput;
use crate::display::pretty::{Drawing, PrettyForm, PrettyOutput};
use crate::display::pretty_json::PrettyJsonOutput;
use crate::display::tabular::Header;
use crate::display::vertical::VerticalOutput;
use crate::display::xml::XmlOutput;
use crate::input::{InputFormat, RowInput, RowReader};
use crate::json::column_reader::{self, JsonColumnsInput};
use crate::json::columns::{Around, JsonColumnsOutput, JsonObjectEachRowOutput};
use crate::json::output::{JsonEachRowOutput, JsonOutput, Shape};
use crate::json::progress::JsonProgressOutput;
use crate::json::rows::{Frame, JsonReader};
use crate::json::whole::JsonWholeReader;
use crate::native::{NativeInput, NativeOutput, first_schema};
use crate::options::FormatOptions;
#[cfg(feature = "orc")]
use crate::orc::{self, OrcInput, OrcOutput};
use crate::output::OutputFormat;
use crate::parquet::{self, ParquetInput, ParquetOutput};
#[cfg(feature = "protobuf")]
use crate::protobuf::{self, Framing, ProtobufOutput, ProtobufReader};
use crate::schema::{
    self, CustomRows, Feed, FieldRows, Fields, GuessOptions, JsonRows, RegexpRows, TskvRows, ValuesRows, finished,
    of_rows,
};
use crate::text::csv::{CsvOutput, CsvReader};
use crate::text::custom::{self, CustomOutput};
use crate::text::form::{FormReader, OneReader};
use crate::text::prometheus::PrometheusOutput;
use crate::text::regexp::RegexpReader;
use crate::text::sql_insert::SqlInsertOutput;
use crate::text::tab_separated::{
    LineReader, NullOutput, TabSeparatedOutput, TabSeparatedReader, TskvOutput, TskvReader,
};
use crate::text::template::{TemplateOutput, TemplateReader};
use crate::text::values::{ValuesOutput, ValuesReader};
use crate::whole_input::{WholeFormat, WholeInput};

/// A format, whatever name it was called by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    TabSeparated {
        header: Header,
        is_raw: bool,
    },
    Csv(Header),
    Values,
    /// `JSON`, `JSONCompact`, `JSONStrings`, `JSONCompactStrings`.
    Json {
        shape: Shape,
        is_strings: bool,
    },
    /// `JSONEachRow`, `JSONCompactEachRow` and their kin.
    JsonEachRow {
        shape: Shape,
        is_strings: bool,
        header: Header,
    },
    JsonProgress {
        shape: Shape,
        is_strings: bool,
    },
    JsonColumns(Around),
    JsonObjectEachRow,
    /// `CustomSeparated`; whether spaces around delimiters are passed over.
    Custom {
        header: Header,
        ignores_spaces: bool,
    },
    Template {
        ignores_spaces: bool,
    },
    Regexp,
    /// `JSONAsString`, or `JSONAsObject`.
    JsonWhole {
        is_object: bool,
    },
    Form,
    One,
    Bson,
    Npy,
    OdbcDriver,
    PrettyJson,
    MsgPack,
    SqlInsert,
    Prometheus,
    Native,
    RowBinary {
        header: Header,
        has_defaults: bool,
    },
    Pretty(PrettyForm),
    Vertical,
    Null,
    Parquet,
    Arrow(Container),
    #[cfg(feature = "avro")]
    Avro,
    #[cfg(feature = "orc")]
    Orc,
    #[cfg(feature = "protobuf")]
    Protobuf(Framing),
    Tskv,
    LineAsString(Header),
    RawBlob,
    Markdown,
    Xml,
}

/// ClickHouse's names in the order of their bytes, with whether each can be read and written.
pub(crate) const FORMATS: &[(&str, Format, bool, bool)] = {
    use Format::{Csv, Json, JsonEachRow, LineAsString, TabSeparated};
    use Header::{Absent, Names, NamesAndTypes};
    use Shape::{Arrays, Objects};
    const fn tsv(header: Header) -> Format {
        TabSeparated { header, is_raw: false }
    }
    const fn raw(header: Header) -> Format {
        TabSeparated { header, is_raw: true }
    }
    const fn custom(header: Header, ignores_spaces: bool) -> Format {
        Format::Custom { header, ignores_spaces }
    }
    const fn binary(header: Header, has_defaults: bool) -> Format {
        Format::RowBinary { header, has_defaults }
    }
    const fn pretty(drawing: Drawing, has_escapes: bool, is_mono_block: bool) -> Format {
        Format::Pretty(PrettyForm { drawing, has_escapes, is_mono_block })
    }
    const fn json(shape: Shape, is_strings: bool) -> Format {
        Json { shape, is_strings }
    }
    const fn each_row(shape: Shape, is_strings: bool, header: Header) -> Format {
        JsonEachRow { shape, is_strings, header }
    }
    const fn progress(shape: Shape, is_strings: bool) -> Format {
        Format::JsonProgress { shape, is_strings }
    }
    &[
        ("Arrow", Format::Arrow(Container::File), true, true),
        ("ArrowStream", Format::Arrow(Container::Stream), true, true),
        #[cfg(feature = "avro")]
        ("Avro", Format::Avro, true, true),
        ("BSONEachRow", Format::Bson, true, true),
        ("CSV", Csv(Absent), true, true),
        ("CSVWithNames", Csv(Names), true, true),
        ("CSVWithNamesAndTypes", Csv(NamesAndTypes), true, true),
        ("CustomSeparated", custom(Absent, false), true, true),
        ("CustomSeparatedIgnoreSpaces", custom(Absent, true), true, false),
        ("CustomSeparatedIgnoreSpacesWithNames", custom(Names, true), true, false),
        ("CustomSeparatedIgnoreSpacesWithNamesAndTypes", custom(NamesAndTypes, true), true, false),
        ("CustomSeparatedWithNames", custom(Names, false), true, true),
        ("CustomSeparatedWithNamesAndTypes", custom(NamesAndTypes, false), true, true),
        ("Form", Format::Form, true, false),
        ("JSON", json(Objects, false), true, true),
        ("JSONAsObject", Format::JsonWhole { is_object: true }, true, false),
        ("JSONAsString", Format::JsonWhole { is_object: false }, true, false),
        ("JSONColumns", Format::JsonColumns(Around::Names), true, true),
        ("JSONColumnsWithMetadata", Format::JsonColumns(Around::Document), true, true),
        ("JSONCompact", json(Arrays, false), true, true),
        ("JSONCompactColumns", Format::JsonColumns(Around::Nothing), true, true),
        ("JSONCompactEachRow", each_row(Arrays, false, Absent), true, true),
        ("JSONCompactEachRowWithNames", each_row(Arrays, false, Names), true, true),
        ("JSONCompactEachRowWithNamesAndTypes", each_row(Arrays, false, NamesAndTypes), true, true),
        ("JSONCompactEachRowWithProgress", progress(Arrays, false), false, true),
        ("JSONCompactStrings", json(Arrays, true), false, true),
        ("JSONCompactStringsEachRow", each_row(Arrays, true, Absent), true, true),
        ("JSONCompactStringsEachRowWithNames", each_row(Arrays, true, Names), true, true),
        ("JSONCompactStringsEachRowWithNamesAndTypes", each_row(Arrays, true, NamesAndTypes), true, true),
        ("JSONCompactStringsEachRowWithProgress", progress(Arrays, true), false, true),
        ("JSONEachRow", each_row(Objects, false, Absent), true, true),
        ("JSONEachRowWithProgress", progress(Objects, false), false, true),
        ("JSONL", each_row(Objects, false, Absent), true, true),
        ("JSONLines", each_row(Objects, false, Absent), true, true),
        ("JSONObjectEachRow", Format::JsonObjectEachRow, true, true),
        ("JSONStrings", json(Objects, true), false, true),
        ("JSONStringsEachRow", each_row(Objects, true, Absent), true, true),
        ("JSONStringsEachRowWithProgress", progress(Objects, true), false, true),
        ("LineAsString", LineAsString(Absent), true, true),
        ("LineAsStringWithNames", LineAsString(Names), false, true),
        ("LineAsStringWithNamesAndTypes", LineAsString(NamesAndTypes), false, true),
        ("MD", Format::Markdown, false, true),
        ("Markdown", Format::Markdown, false, true),
        ("MsgPack", Format::MsgPack, true, true),
        ("NDJSON", each_row(Objects, false, Absent), true, true),
        ("Native", Format::Native, true, true),
        ("Npy", Format::Npy, true, true),
        ("Null", Format::Null, false, true),
        ("ODBCDriver2", Format::OdbcDriver, false, true),
        #[cfg(feature = "orc")]
        ("ORC", Format::Orc, true, true),
        ("One", Format::One, true, false),
        ("Parquet", Format::Parquet, true, true),
        ("Pretty", pretty(Drawing::Full, true, false), false, true),
        ("PrettyCompact", pretty(Drawing::Compact, true, false), false, true),
        ("PrettyCompactMonoBlock", pretty(Drawing::Compact, true, true), false, true),
        ("PrettyCompactNoEscapes", pretty(Drawing::Compact, false, false), false, true),
        ("PrettyCompactNoEscapesMonoBlock", pretty(Drawing::Compact, false, true), false, true),
        ("PrettyJSONEachRow", Format::PrettyJson, false, true),
        ("PrettyJSONLines", Format::PrettyJson, false, true),
        ("PrettyMonoBlock", pretty(Drawing::Full, true, true), false, true),
        ("PrettyNDJSON", Format::PrettyJson, false, true),
        ("PrettyNoEscapes", pretty(Drawing::Full, false, false), false, true),
        ("PrettyNoEscapesMonoBlock", pretty(Drawing::Full, false, true), false, true),
        ("PrettySpace", pretty(Drawing::Space, true, false), false, true),
        ("PrettySpaceMonoBlock", pretty(Drawing::Space, true, true), false, true),
        ("PrettySpaceNoEscapes", pretty(Drawing::Space, false, false), false, true),
        ("PrettySpaceNoEscapesMonoBlock", pretty(Drawing::Space, false, true), false, true),
        ("Prometheus", Format::Prometheus, false, true),
        #[cfg(feature = "protobuf")]
        ("Protobuf", Format::Protobuf(Framing::Lengths), true, true),
        #[cfg(feature = "protobuf")]
        ("ProtobufList", Format::Protobuf(Framing::List), true, true),
        #[cfg(feature = "protobuf")]
        ("ProtobufSingle", Format::Protobuf(Framing::Single), true, true),
        ("Raw", raw(Absent), true, true),
        ("RawBLOB", Format::RawBlob, true, true),
        ("RawWithNames", raw(Names), true, true),
        ("RawWithNamesAndTypes", raw(NamesAndTypes), true, true),
        ("Regexp", Format::Regexp, true, false),
        ("RowBinary", binary(Absent, false), true, true),
        ("RowBinaryWithDefaults", binary(Absent, true), true, false),
        ("RowBinaryWithNames", binary(Names, false), true, true),
        ("RowBinaryWithNamesAndTypes", binary(NamesAndTypes, false), true, true),
        ("RowBinaryWithNamesAndTypesAndDefaults", binary(NamesAndTypes, true), true, false),
        ("SQLInsert", Format::SqlInsert, false, true),
        ("TSKV", Format::Tskv, true, true),
        ("TSV", tsv(Absent), true, true),
        ("TSVRaw", raw(Absent), true, true),
        ("TSVRawWithNames", raw(Names), true, true),
        ("TSVRawWithNamesAndTypes", raw(NamesAndTypes), true, true),
        ("TSVWithNames", tsv(Names), true, true),
        ("TSVWithNamesAndTypes", tsv(NamesAndTypes), true, true),
        ("TabSeparated", tsv(Absent), true, true),
        ("TabSeparatedRaw", raw(Absent), true, true),
        ("TabSeparatedRawWithNames", raw(Names), true, true),
        ("TabSeparatedRawWithNamesAndTypes", raw(NamesAndTypes), true, true),
        ("TabSeparatedWithNames", tsv(Names), true, true),
        ("TabSeparatedWithNamesAndTypes", tsv(NamesAndTypes), true, true),
        ("Template", Format::Template { ignores_spaces: false }, true, true),
        ("TemplateIgnoreSpaces", Format::Template { ignores_spaces: true }, true, false),
        ("Values", Format::Values, true, true),
        ("Vertical", Format::Vertical, false, true),
        ("XML", Format::Xml, false, true),
    ]
};

/// The names of all formats, each with whether it can be read and whether it can be written: what `system.formats` lists.
pub fn formats() -> impl Iterator<Item = (&'static str, bool, bool)> {
    FORMATS.iter().map(|(name, _, is_input, is_output)| (*name, *is_input, *is_output))
}

fn find(name: &str) -> Result<(Format, bool, bool)> {
    // Most write the name as it is here, and every query has one.
    let exact = FORMATS.binary_search_by(|(known, ..)| (*known).cmp(name)).ok().and_then(|at| FORMATS.get(at));
    let found = exact.or_else(|| FORMATS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name)));
    found
        .map(|(_, format, is_input, is_output)| (*format, *is_input, *is_output))
        .ok_or_else(|| Error::new(ErrorCode::UNKNOWN_FORMAT, format!("Unknown format {name}")))
}

/// The output format of a name, for results with these columns.
///
/// # Errors
/// `UNKNOWN_FORMAT`, `FORMAT_IS_NOT_SUITABLE_FOR_OUTPUT`; `NOT_IMPLEMENTED` for columns that the format has no place for.
pub fn output_format(name: &str, schema: &Arc<Schema>, options: &FormatOptions) -> Result<Box<dyn OutputFormat>> {
    let (format, _, is_output) = find(name)?;
    if !is_output {
        let message = format!("Format {name} is not suitable for output");
        return Err(Error::new(ErrorCode::FORMAT_IS_NOT_SUITABLE_FOR_OUTPUT, message));
    }
    Ok(match format {
        Format::TabSeparated { header, is_raw } => Box::new(TabSeparatedOutput::new(header, is_raw, schema, options)),
        Format::LineAsString(header) => Box::new(TabSeparatedOutput::new(header, true, schema, options)),
        Format::Csv(header) => Box::new(CsvOutput::new(header, schema, options)),
        Format::Values => Box::new(ValuesOutput::new(options)),
        Format::Json { shape, is_strings } => Box::new(JsonOutput::new(shape, is_strings, schema, options)),
        Format::JsonEachRow { shape, is_strings, header } => {
            Box::new(JsonEachRowOutput::new(shape, is_strings, header, schema, options))
        }
        Format::JsonProgress { shape, is_strings } => {
            Box::new(JsonProgressOutput::new(shape, is_strings, schema, options))
        }
        Format::JsonColumns(around) => Box::new(JsonColumnsOutput::new(around, schema, options)),
        Format::JsonObjectEachRow => Box::new(JsonObjectEachRowOutput::new(schema, options)?),
        Format::Custom { header, .. } => Box::new(CustomOutput::new(header, schema, options)),
        Format::Native => Box::new(NativeOutput::new(options)),
        Format::RowBinary { header, .. } => Box::new(RowBinaryOutput::new(header, schema)),
        Format::Pretty(form) => Box::new(PrettyOutput::new(form, schema, options)),
        Format::Vertical => Box::new(VerticalOutput::new(schema, options)),
        Format::Null => Box::new(NullOutput),
        Format::Parquet => Box::new(ParquetOutput::new(schema, options)?),
        Format::Arrow(container) => Box::new(ArrowOutput::new(container, schema, options)?),
        #[cfg(feature = "avro")]
        Format::Avro => Box::new(AvroOutput::new(schema, options)?),
        #[cfg(feature = "orc")]
        Format::Orc => Box::new(OrcOutput::new(schema, options)?),
        #[cfg(feature = "protobuf")]
        Format::Protobuf(framing) => Box::new(ProtobufOutput::new(framing, schema, options)?),
        Format::Tskv => Box::new(TskvOutput::new(schema, options)),
        Format::RawBlob => Box::new(RawBlobOutput),
        Format::Markdown => Box::new(MarkdownOutput::new(schema, options)),
        Format::Xml => Box::new(XmlOutput::new(schema, options)),
        Format::Template { .. } => Box::new(TemplateOutput::new(schema, options)?),
        Format::MsgPack => Box::new(MsgPackOutput::new(schema)?),
        Format::Bson => Box::new(BsonOutput::new(schema, options)?),
        Format::Npy => Box::new(NpyOutput::new(schema)?),
        Format::OdbcDriver => Box::new(OdbcDriverOutput::new(schema, options)),
        Format::PrettyJson => Box::new(PrettyJsonOutput::new(schema, options)),
        Format::SqlInsert => Box::new(SqlInsertOutput::new(schema, options)),
        Format::Prometheus => Box::new(PrometheusOutput::new(schema, options)?),
        Format::Regexp | Format::JsonWhole { .. } | Format::Form | Format::One => {
            let message = format!("Format {name} is not suitable for output");
            return Err(Error::new(ErrorCode::FORMAT_IS_NOT_SUITABLE_FOR_OUTPUT, message));
        }
    })
}

fn rows<R: RowReader + 'static>(
    reader: R,
    schema: &Arc<Schema>,
    options: &FormatOptions,
) -> Result<Box<dyn InputFormat>> {
    Ok(Box::new(RowInput::new(reader, schema, options)?))
}

fn whole<F: WholeFormat + 'static>(format: F, options: &FormatOptions) -> Result<Box<dyn InputFormat>> {
    Ok(Box::new(WholeInput::new(format, options)))
}

/// The input format of a name, for a table with these columns.
///
/// # Errors
/// `UNKNOWN_FORMAT`, `FORMAT_IS_NOT_SUITABLE_FOR_INPUT`; `INCORRECT_QUERY` for a table that the format cannot fill.
pub fn input_format(name: &str, schema: &Arc<Schema>, options: &FormatOptions) -> Result<Box<dyn InputFormat>> {
    let (format, is_input, _) = find(name)?;
    let unsuitable = || {
        let message = format!("Format {name} is not suitable for input");
        Error::new(ErrorCode::FORMAT_IS_NOT_SUITABLE_FOR_INPUT, message)
    };
    if !is_input {
        return Err(unsuitable());
    }
    let one_string = || {
        let is_one = schema.len() == 1 && schema.types().all(|data_type| data_type.inner().is_string_or_fixed_string());
        if is_one {
            return Ok(());
        }
        Err(Error::new(
            ErrorCode::INCORRECT_QUERY,
            format!("Format {name} is only for tables of one column of type String"),
        ))
    };
    match format {
        Format::TabSeparated { header, is_raw } => {
            rows(TabSeparatedReader::new(header, is_raw, options), schema, options)
        }
        Format::Csv(header) => rows(CsvReader::new(header, options)?, schema, options),
        Format::Values => rows(ValuesReader::new(options), schema, options),
        Format::Json { shape, is_strings } => {
            rows(JsonReader::new(Frame::Document, shape, is_strings, Header::Absent, options), schema, options)
        }
        Format::JsonEachRow { shape, is_strings, header } => {
            rows(JsonReader::new(Frame::Rows, shape, is_strings, header, options), schema, options)
        }
        Format::Native => Ok(Box::new(NativeInput::new(schema, options))),
        Format::JsonColumns(around) => whole(JsonColumnsInput::new(around, schema, options), options),
        Format::RowBinary { header, has_defaults } => rows(RowBinaryReader::new(header, has_defaults), schema, options),
        Format::Custom { header, ignores_spaces } => {
            rows(TemplateReader::custom(header, ignores_spaces, options)?, schema, options)
        }
        Format::Template { ignores_spaces } => rows(TemplateReader::new(ignores_spaces, options)?, schema, options),
        Format::Regexp => rows(RegexpReader::new(options)?, schema, options),
        Format::JsonWhole { is_object } => {
            if is_object && !matches!(schema.types().next(), Some(DataType::Json(_)) if schema.len() == 1) {
                let message = format!("Format {name} is only for tables of one column of type JSON");
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
            }
            if !is_object {
                one_string()?;
            }
            rows(JsonWholeReader::default(), schema, options)
        }
        Format::JsonObjectEachRow => {
            rows(JsonReader::new(Frame::Keys, Shape::Objects, false, Header::Absent, options), schema, options)
        }
        Format::Form => rows(FormReader, schema, options),
        Format::One => rows(OneReader, schema, options),
        Format::MsgPack => rows(MsgPackReader, schema, options),
        Format::Bson => rows(BsonReader, schema, options),
        Format::Npy => rows(NpyReader::default(), schema, options),
        Format::Parquet => whole(ParquetInput::new(schema, options), options),
        Format::Arrow(container) => Ok(Box::new(ArrowInput::new(container, schema, options))),
        #[cfg(feature = "avro")]
        Format::Avro => whole(AvroInput::new(schema, options), options),
        #[cfg(feature = "orc")]
        Format::Orc => whole(OrcInput::new(schema, options), options),
        #[cfg(feature = "protobuf")]
        Format::Protobuf(framing) => rows(ProtobufReader::new(framing, schema, options)?, schema, options),
        Format::Tskv => rows(TskvReader::new(options), schema, options),
        Format::LineAsString(_) => {
            one_string()?;
            rows(LineReader, schema, options)
        }
        Format::RawBlob => {
            one_string()?;
            rows(RawBlobReader, schema, options)
        }
        Format::Pretty(_)
        | Format::Vertical
        | Format::Null
        | Format::Markdown
        | Format::Xml
        | Format::JsonProgress { .. }
        | Format::OdbcDriver
        | Format::PrettyJson
        | Format::SqlInsert
        | Format::Prometheus => Err(unsuitable()),
    }
}

/// Reads the schema that settings name, so that formats that are made afterwards read no files. What is wrong with it they tell.
pub fn load_schema(settings: &squall_types::Settings) {
    #[cfg(feature = "protobuf")]
    protobuf::load(settings, &crate::schema_folder::SchemaFolder::current());
    #[cfg(not(feature = "protobuf"))]
    let _ = settings;
}

/// The format that a file's name tells of, by its ending, beside which that of a compression may stand.
pub fn format_of_file(path: &str) -> Option<&'static str> {
    let (_, name) = path.rsplit_once('/').unwrap_or(("", path));
    name.rsplit('.').take(2).filter(|ending| ending.len() < name.len()).find_map(|ending| {
        let known = ENDINGS.iter().find(|(known, _)| known.eq_ignore_ascii_case(ending)).map(|(_, format)| *format);
        // Any format's own name is an ending, too.
        known.or_else(|| formats().map(|(known, ..)| known).find(|known| known.eq_ignore_ascii_case(ending)))
    })
}

/// Endings of files that are no format's name.
const ENDINGS: &[(&str, &str)] = &[
    ("jsonl", "JSONEachRow"),
    ("ndjson", "JSONEachRow"),
    ("jsoneachrow", "JSONEachRow"),
    ("tab", "TSV"),
    ("pq", "Parquet"),
    ("parq", "Parquet"),
    ("feather", "Arrow"),
    ("md", "Markdown"),
    ("bin", "RowBinary"),
];

/// Checks that a format of this name exists.
///
/// # Errors
/// `UNKNOWN_FORMAT`.
pub fn check_format(name: &str) -> Result<()> {
    find(name).map(drop)
}

/// Whether files of a format are read by place rather than from their beginning.
pub fn is_read_by_place(name: &str) -> bool {
    matches!(find(name), Ok((Format::Parquet, ..)))
}

/// Whether what is written in a format may be written on: rows stand beside each other, with nothing after the last.
pub fn is_appendable(name: &str) -> bool {
    use Format::{Bson, Csv, JsonEachRow, LineAsString, MsgPack, Native, RawBlob, RowBinary, TabSeparated, Tskv};
    let format = find(name).map(|(format, ..)| format);
    #[cfg(feature = "protobuf")]
    if matches!(format, Ok(Format::Protobuf(Framing::Lengths))) {
        return true;
    }
    matches!(
        format,
        Ok(TabSeparated { .. }
            | Csv(_)
            | JsonEachRow { .. }
            | Tskv
            | MsgPack
            | Bson
            | RowBinary { .. }
            | LineAsString(_)
            | Native
            | RawBlob)
    )
}

/// Whether each column of data in a format says its name, so that those that nobody wants need not be asked for.
pub fn finds_columns_by_name(name: &str) -> bool {
    match find(name) {
        Ok((Format::TabSeparated { header, .. } | Format::Csv(header), ..)) => header.has_names(),
        Ok((Format::JsonEachRow { shape, header, .. }, ..)) => shape == Shape::Objects || header.has_names(),
        Ok((Format::Json { shape, .. }, ..)) => shape == Shape::Objects,
        Ok((Format::RowBinary { header, .. }, ..)) => header.has_types(),
        Ok((Format::JsonObjectEachRow, ..)) => true,
        Ok((Format::Native | Format::Parquet | Format::Arrow(_) | Format::Tskv, ..)) => true,
        #[cfg(feature = "orc")]
        Ok((Format::Orc, ..)) => true,
        _ => false,
    }
}

/// The columns of data in a format, as far as the data tell them.
///
/// # Errors
/// `CANNOT_EXTRACT_TABLE_STRUCTURE` where there is nothing to tell them by, `UNKNOWN_FORMAT`; what is wrong with the data.
pub fn infer_schema(name: &str, input: &mut dyn Read, options: &FormatOptions) -> Result<Schema> {
    let (format, is_input, _) = find(name)?;
    if !is_input {
        let message = format!("Format {name} is not suitable for input");
        return Err(Error::new(ErrorCode::FORMAT_IS_NOT_SUITABLE_FOR_INPUT, message));
    }
    let settings = &options.settings;
    let guesses = GuessOptions::new(options);
    let of_fields = |reader: Fields, header: Header, detects_header: bool, input: &mut dyn Read| {
        let mut rows = FieldRows { reader, header, detects_header, options: GuessOptions::new(options) };
        of_rows(&mut rows, input, options)
    };
    let schema = match format {
        Format::Csv(header) => {
            let reader = Fields::Csv(CsvReader::new(header, options)?);
            of_fields(reader, header, settings.input_format_csv_detect_header, input)
        }
        Format::TabSeparated { header, is_raw } => {
            let reader = Fields::TabSeparated(TabSeparatedReader::new(header, is_raw, options));
            of_fields(reader, header, settings.input_format_tsv_detect_header, input)
        }
        Format::Tskv => {
            let reader = TabSeparatedReader::new(Header::Absent, false, options);
            of_rows(&mut TskvRows { reader, options: guesses }, input, options)
        }
        Format::Values => of_rows(&mut ValuesRows { options: guesses }, input, options),
        Format::Custom { header, ignores_spaces } => {
            let reader = TemplateReader::custom(header, ignores_spaces, options)?;
            let (rule, detects_header) = (custom::escaping(settings)?, settings.input_format_custom_detect_header);
            of_rows(&mut CustomRows { reader, header, rule, detects_header, options: guesses }, input, options)
        }
        Format::Regexp => {
            of_rows(&mut RegexpRows { reader: RegexpReader::new(options)?, options: guesses }, input, options)
        }
        Format::Json { shape, is_strings } => {
            let header = Header::Absent;
            let mut rows = JsonRows { frame: Frame::Document, shape, is_strings, header, options: guesses };
            of_rows(&mut rows, input, options)
        }
        Format::JsonEachRow { shape, is_strings, header } => {
            let mut rows = JsonRows { frame: Frame::Rows, shape, is_strings, header, options: guesses };
            of_rows(&mut rows, input, options)
        }
        Format::Native => first_schema(input, options),
        Format::JsonColumns(around) => column_reader::infer(around, input, options),
        Format::RowBinary { header: Header::NamesAndTypes, .. } => {
            let columns = Feed::new(input, options.pending_bytes_max).read(read_header);
            columns.and_then(|columns| finished(columns, options))
        }
        Format::Parquet => parquet::infer(input, options),
        Format::Bson => bson::infer(input, options),
        Format::Npy => npy::infer(input, options.pending_bytes_max),
        Format::Arrow(container) => arrow::infer(container, input, options),
        #[cfg(feature = "avro")]
        Format::Avro => avro::infer(input, options),
        #[cfg(feature = "orc")]
        Format::Orc => orc::infer(input, options),
        #[cfg(feature = "protobuf")]
        Format::Protobuf(framing) => protobuf::infer(options, framing == Framing::List),
        Format::LineAsString(_) => Ok(Schema::new([("line", DataType::String)])),
        Format::RawBlob => Ok(Schema::new([("raw_blob", DataType::String)])),
        Format::JsonWhole { is_object: false } => Ok(Schema::new([("json", DataType::String)])),
        Format::JsonWhole { is_object: true } => {
            Ok(Schema::new([("json", DataType::Json(Arc::new(JsonType::default())))]))
        }
        Format::One => Ok(Schema::new([("dummy", DataType::UInt8)])),
        Format::JsonObjectEachRow => {
            let (frame, shape, header) = (Frame::Keys, Shape::Objects, Header::Absent);
            let mut rows = JsonRows { frame, shape, is_strings: false, header, options: guesses };
            of_keyed_objects(&of_rows(&mut rows, input, options)?, options)
        }
        Format::RowBinary { .. }
        | Format::Pretty(_)
        | Format::Vertical
        | Format::Null
        | Format::Markdown
        | Format::Xml
        | Format::JsonProgress { .. }
        | Format::Template { .. }
        | Format::Form
        | Format::MsgPack
        | Format::OdbcDriver
        | Format::PrettyJson
        | Format::SqlInsert
        | Format::Prometheus => Err(Error::new(
            ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE,
            format!("Format {name} says nothing of its columns. You must specify the structure manually"),
        )),
    };
    schema.map_err(|error| schema::cannot_extract(name, error))
}

/// The columns of objects by keys: those of the objects, behind one of their keys where that has a name.
fn of_keyed_objects(of_objects: &Schema, options: &FormatOptions) -> Result<Schema> {
    let key = &options.settings.format_json_object_each_row_column_for_object_name;
    let key = (!key.is_empty()).then(|| (key.clone(), DataType::String));
    let of_objects = of_objects.fields.iter().map(|(name, of)| (name.to_string(), of.clone()));
    finished(key.into_iter().chain(of_objects), options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case() {
        assert!(FORMATS.is_sorted_by(|(before, ..), (after, ..)| before < after));
        for (name, format, ..) in FORMATS {
            assert_eq!(find(name).unwrap().0, *format);
            assert_eq!(find(&name.to_lowercase()).unwrap().0, *format, "{name}");
        }
        assert_eq!(find("CSW").unwrap_err().code, ErrorCode::UNKNOWN_FORMAT);
    }
}
