//! `CODEC(…)` of a column: how its values lie in a table's files, as far as Parquet has a word for it. What it has none for is refused by
//! name.

use std::sync::Arc;

use squall_sql::ast;
use squall_types::{DataType, Error, ErrorCode, Result};

use crate::analyzer::text;

/// How a column's values are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnCompression {
    /// As the table's files are.
    Default,
    /// `NONE`.
    None,
    /// `LZ4`.
    Lz4,
    /// `ZSTD` of this level.
    Zstd(i32),
}

/// How a column's values are laid out before they are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnPacking {
    /// `Delta`, `DoubleDelta`, `T64`: differences in as few bits as they need, Parquet's `DELTA_BINARY_PACKED`.
    Deltas,
    /// `Gorilla`: all first bytes, then all second ones: Parquet's `BYTE_STREAM_SPLIT`.
    SplitBytes,
}

/// A column's codecs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColumnCodec {
    /// The codecs with their parameters, as SHOW CREATE TABLE tells them: `Delta(4), ZSTD(1)`.
    pub sql: Arc<str>,
    /// What lays values out.
    pub packing: Option<ColumnPacking>,
    /// What compresses them.
    pub compression: ColumnCompression,
}

/// The text of the codecs of a declaration, checked for its column's type; `allow_suspicious` takes those that compress nothing.
///
/// # Errors
/// As [`ColumnCodec::parse`], and `BAD_ARGUMENTS`.
pub(crate) fn declared(codecs: &[ast::Function], data_type: &DataType, allow_suspicious: bool) -> Result<Arc<str>> {
    let one = |codec: &ast::Function| match codec.arguments.as_slice() {
        [] => codec.name.clone(),
        arguments => {
            let arguments: Vec<String> = arguments.iter().map(text::expression).collect();
            format!("{}({})", codec.name, arguments.join(", "))
        }
    };
    let sql: Vec<String> = codecs.iter().map(one).collect();
    let codec = ColumnCodec::parse(&sql.join(", "), data_type)?;
    if !allow_suspicious {
        codec.check_sense()?;
    }
    Ok(codec.sql)
}

impl ColumnCodec {
    /// Reads the codecs of a column.
    ///
    /// # Errors
    /// `UNKNOWN_CODEC`; `SUPPORT_IS_DISABLED` for those that files here cannot have; `BAD_ARGUMENTS`, `ILLEGAL_CODEC_PARAMETER` and
    /// `ILLEGAL_SYNTAX_FOR_CODEC_TYPE` as in ClickHouse.
    pub fn parse(sql: &str, data_type: &DataType) -> Result<Self> {
        let (mut shown, mut packing, mut compression) = (Vec::new(), None, None);
        for codec in split(sql) {
            let (name, parameter) = name_and_parameter(codec);
            if let Some((general, sql)) = general(name, parameter)? {
                compression = Some(general);
                shown.push(sql);
            } else {
                if packing.is_some() {
                    return Err(unsupported(name, "a column has one encoding"));
                }
                let (of_codec, sql) = packing_of(name, parameter, data_type)?;
                packing = Some(of_codec);
                shown.push(sql);
            }
        }
        let sql: Arc<str> = shown.join(", ").into();
        Ok(Self { sql, packing, compression: compression.unwrap_or(ColumnCompression::Default) })
    }

    /// Refuses codecs that make no sense together or alone.
    fn check_sense(&self) -> Result<()> {
        let sql = &self.sql;
        let bad = |message: String| Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        let hint = "(Note: you can enable setting 'allow_suspicious_codecs' to skip this check).";
        let codecs = split(sql);
        let is_general = |codec: &&str| general(name_and_parameter(codec).0, None).is_ok_and(|known| known.is_some());
        let Some((last, others)) = codecs.split_last() else { return Ok(()) };
        if others.iter().any(is_general) {
            return bad(format!(
                "The combination of compression codecs {sql} is meaningless, because it does not make sense to apply any \
                 transformations after generic compression algorithm. {hint}"
            ));
        }
        if self.compression == ColumnCompression::None && !others.is_empty() {
            return bad(format!(
                "It does not make sense to have codec NONE along with other compression codecs: {sql}. {hint}"
            ));
        }
        if others.is_empty() && last.starts_with("Delta") {
            return bad(format!(
                "Compression codec {sql} does not compress anything. You may want to add generic compression algorithm after \
                 other transformations, like: {sql}, LZ4. {hint}"
            ));
        }
        Ok(())
    }
}

/// `name(parameter)` taken apart.
fn name_and_parameter(codec: &str) -> (&str, Option<&str>) {
    let codec = codec.trim();
    match codec.split_once('(') {
        Some((name, rest)) => (name.trim(), Some(rest.trim_end_matches(')').trim())),
        None => (codec, None),
    }
}

/// The codecs between commas that are in no parentheses.
fn split(sql: &str) -> Vec<&str> {
    let (mut depth, mut start, mut codecs) = (0_i32, 0, Vec::new());
    for (at, letter) in sql.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                codecs.push(sql.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    codecs.push(sql.get(start..).unwrap_or_default());
    codecs
}

/// A codec that compresses bytes, with its text; `None` for others.
fn general(name: &str, parameter: Option<&str>) -> Result<Option<(ColumnCompression, String)>> {
    let plain = |compression, shown: &str| match parameter {
        None => Ok(Some((compression, shown.to_owned()))),
        Some(_) if shown == "Default" => Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            "Default codec cannot have any arguments, it's just an alias for codec specified in config.xml",
        )),
        Some(_) => Err(Error::new(
            ErrorCode::DATA_TYPE_CANNOT_HAVE_ARGUMENTS,
            format!("Compression codec {shown} cannot have arguments."),
        )),
    };
    match name.to_ascii_uppercase().as_str() {
        "NONE" => plain(ColumnCompression::None, "NONE"),
        "LZ4" => plain(ColumnCompression::Lz4, "LZ4"),
        // Frames of the same format, whoever makes them.
        "LZ4HC" => {
            let level = one_number("LZ4HC", "1 parameter", parameter, 0)?;
            Ok(Some((ColumnCompression::Lz4, format!("LZ4HC({level})"))))
        }
        "DEFAULT" => plain(ColumnCompression::Default, "Default"),
        "ZSTD" => {
            let level = one_number("ZSTD", "1 parameter", parameter, 1)?;
            if !(1..=22).contains(&level) {
                let message = format!("ZSTD codec can't have level more than 22 or less than 1, given {level}.");
                return Err(Error::new(ErrorCode::ILLEGAL_CODEC_PARAMETER, message));
            }
            Ok(Some((ColumnCompression::Zstd(level), format!("ZSTD({level})"))))
        }
        _ => Ok(None),
    }
}

/// The only parameter of a codec.
fn one_number(codec: &str, wanted: &str, parameter: Option<&str>, default: i32) -> Result<i32> {
    let Some(text) = parameter else { return Ok(default) };
    if text.contains(',') {
        let given = text.split(',').count();
        let message = format!("{codec} codec must have {wanted}, given {given}.");
        return Err(Error::new(ErrorCode::ILLEGAL_SYNTAX_FOR_CODEC_TYPE, message));
    }
    text.parse().map_err(|_| {
        let message = format!("{codec} codec takes a number, given {text}.");
        Error::new(ErrorCode::ILLEGAL_CODEC_PARAMETER, message)
    })
}

/// A codec that lays out values, with its text.
fn packing_of(name: &str, parameter: Option<&str>, data_type: &DataType) -> Result<(ColumnPacking, String)> {
    let upper = name.to_ascii_uppercase();
    if upper.starts_with("AES_") {
        let message = format!("Codec {name} is not supported: data would be stored unencrypted");
        return Err(Error::new(ErrorCode::SUPPORT_IS_DISABLED, message));
    }
    let (packing, shown) = match upper.as_str() {
        "DELTA" => (ColumnPacking::Deltas, "Delta"),
        "DOUBLEDELTA" => (ColumnPacking::Deltas, "DoubleDelta"),
        "T64" => (ColumnPacking::Deltas, "T64"),
        "GORILLA" => (ColumnPacking::SplitBytes, "Gorilla"),
        "FPC" | "GCD" | "ALP" | "DEFLATE_QPL" | "ZSTD_QAT" => {
            return Err(unsupported(name, "parts are Parquet files, which have nothing of the kind"));
        }
        _ => return Err(Error::new(ErrorCode::UNKNOWN_CODEC, format!("Unknown codec family: {name}"))),
    };
    let mut leaves = Vec::new();
    leaves_of(data_type, &mut leaves);
    for leaf in &leaves {
        check_leaf(packing, shown, leaf)?;
    }
    let width = leaves.first().and_then(|leaf| leaf.fixed_width_bytes()).unwrap_or(1);
    let sql = match (shown, parameter) {
        ("Delta" | "Gorilla", None) => format!("{shown}({width})"),
        ("Delta" | "Gorilla", Some(bytes @ ("1" | "2" | "4" | "8"))) => format!("{shown}({bytes})"),
        ("T64", Some("'bit'" | "'byte'")) | (_, None) => {
            parameter.map_or_else(|| shown.to_owned(), |parameter| format!("{shown}({parameter})"))
        }
        (_, Some(parameter)) => {
            let message = format!("Codec {shown} cannot have the parameter {parameter}");
            return Err(Error::new(ErrorCode::ILLEGAL_CODEC_PARAMETER, message));
        }
    };
    Ok((packing, sql))
}

/// The types of the values that lie one after the other in files.
fn leaves_of<'a>(data_type: &'a DataType, leaves: &mut Vec<&'a DataType>) {
    match data_type {
        DataType::Nullable(inner) | DataType::Array(inner) => leaves_of(inner, leaves),
        DataType::Map(key, value) => {
            leaves_of(key, leaves);
            leaves_of(value, leaves);
        }
        DataType::Tuple(elements) => elements.iter().for_each(|element| leaves_of(&element.data_type, leaves)),
        leaf => leaves.push(leaf),
    }
}

fn check_leaf(packing: ColumnPacking, codec: &str, leaf: &DataType) -> Result<()> {
    let is_integer = leaf.is_integer()
        || matches!(
            leaf,
            DataType::Date
                | DataType::Date32
                | DataType::DateTime(_)
                | DataType::DateTime64(..)
                | DataType::Enum8(_)
                | DataType::Enum16(_)
                | DataType::IPv4
        );
    match packing {
        ColumnPacking::Deltas if is_integer => Ok(()),
        ColumnPacking::SplitBytes if leaf.is_float() => Ok(()),
        ColumnPacking::SplitBytes if is_integer => Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!(
                "The combination of compression codecs {codec} is meaningless, because it does not make sense to apply a \
                 floating-point time series codec to non-floating-point columns"
            ),
        )),
        ColumnPacking::Deltas if codec == "T64" => Err(Error::new(
            ErrorCode::ILLEGAL_SYNTAX_FOR_CODEC_TYPE,
            format!("T64 codec is not supported for specified type {leaf}."),
        )),
        _ if leaf.fixed_width_bytes().is_none() => Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("Codec {codec} is not applicable for {leaf} because the data type is not of fixed size"),
        )),
        _ => Err(unsupported(codec, &format!("parts have nothing of the kind for values of type {leaf}"))),
    }
}

fn unsupported(codec: &str, why: &str) -> Error {
    Error::new(ErrorCode::SUPPORT_IS_DISABLED, format!("Codec {codec} is not supported: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_are_told_as_clickhouse_tells_them() {
        for (sql, data_type, shown) in [
            ("zstd", "String", "ZSTD(1)"),
            ("LZ4HC", "UInt8", "LZ4HC(0)"),
            ("Delta, LZ4HC(9)", "UInt8", "Delta(1), LZ4HC(9)"),
            ("ZSTD(3)", "Map(String, UInt8)", "ZSTD(3)"),
            ("Delta, LZ4", "DateTime", "Delta(4), LZ4"),
            ("Delta(4),ZSTD", "Array(UInt64)", "Delta(4), ZSTD(1)"),
            ("DoubleDelta, Default", "DateTime64(3)", "DoubleDelta, Default"),
            ("T64", "Nullable(UInt32)", "T64"),
            ("T64('bit'), LZ4", "UInt32", "T64('bit'), LZ4"),
            ("Gorilla", "Float64", "Gorilla(8)"),
            ("none", "UUID", "NONE"),
        ] {
            let codec = ColumnCodec::parse(sql, &DataType::parse(data_type).unwrap()).unwrap();
            assert_eq!(&*codec.sql, shown);
            assert_eq!(ColumnCodec::parse(&codec.sql, &DataType::parse(data_type).unwrap()).unwrap(), codec);
        }
    }

    #[test]
    fn what_files_cannot_have_is_refused() {
        for (sql, data_type, code) in [
            ("NOPE", "UInt8", ErrorCode::UNKNOWN_CODEC),
            ("AES_128_GCM_SIV", "UInt8", ErrorCode::SUPPORT_IS_DISABLED),
            ("FPC", "Float64", ErrorCode::SUPPORT_IS_DISABLED),
            ("LZ4HC(1, 2)", "UInt8", ErrorCode::ILLEGAL_SYNTAX_FOR_CODEC_TYPE),
            ("Delta, DoubleDelta, LZ4", "UInt8", ErrorCode::SUPPORT_IS_DISABLED),
            ("Delta, LZ4", "Float32", ErrorCode::SUPPORT_IS_DISABLED),
            ("Delta, LZ4", "LowCardinality(UInt64)", ErrorCode::BAD_ARGUMENTS),
            ("Delta", "UInt8", ErrorCode::BAD_ARGUMENTS),
            ("Delta, LZ4", "String", ErrorCode::BAD_ARGUMENTS),
            ("Gorilla, LZ4", "UInt64", ErrorCode::BAD_ARGUMENTS),
            ("LZ4, ZSTD", "UInt8", ErrorCode::BAD_ARGUMENTS),
            ("NONE, LZ4", "UInt8", ErrorCode::BAD_ARGUMENTS),
            ("ZSTD(99)", "UInt8", ErrorCode::ILLEGAL_CODEC_PARAMETER),
            ("Delta(3), LZ4", "UInt8", ErrorCode::ILLEGAL_CODEC_PARAMETER),
            ("LZ4(3)", "UInt8", ErrorCode::DATA_TYPE_CANNOT_HAVE_ARGUMENTS),
            ("T64, LZ4", "String", ErrorCode::ILLEGAL_SYNTAX_FOR_CODEC_TYPE),
        ] {
            let refused = ColumnCodec::parse(sql, &DataType::parse(data_type).unwrap());
            let refused = refused.and_then(|codec| codec.check_sense());
            assert_eq!(refused.map_err(|error| error.code), Err(code), "{sql} of {data_type}");
        }
    }
}
