//! `CODEC(…)` of a column: how its values lie in a table's files. A codec that lays out values is Parquet's encoding for such values, where
//! it has one; values of other types are left to the writer. What encrypts or needs hardware is refused by name.

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
    /// `LZ4HC` of this level; 0 is its default.
    Lz4Hc(i32),
    /// `ZSTD` of this level.
    Zstd(i32),
}

/// How a column's values are laid out before they are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnPacking {
    /// Of integers: differences in as few bits as they need, Parquet's `DELTA_BINARY_PACKED`.
    Deltas,
    /// Of floats: all first bytes, then all second ones, Parquet's `BYTE_STREAM_SPLIT`.
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
        codec.check_sense(data_type)?;
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
                shown.push(laying_out(name, parameter, data_type)?);
                // A column has one encoding, whatever its codecs are that lay out values.
                packing = packing_of(data_type);
            }
        }
        let sql: Arc<str> = shown.join(", ").into();
        Ok(Self { sql, packing, compression: compression.unwrap_or(ColumnCompression::Default) })
    }

    /// Refuses codecs that make no sense together, alone, or for values of this type.
    fn check_sense(&self, data_type: &DataType) -> Result<()> {
        let sql = &self.sql;
        let bad = |message: String| Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
        let hint = "(Note: you can enable setting 'allow_suspicious_codecs' to skip this check).";
        let codecs = split(sql);
        let is_general = |codec: &&str| general(name_and_parameter(codec).0, None).is_ok_and(|known| known.is_some());
        let Some((_, others)) = codecs.split_last() else { return Ok(()) };
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
        // These two make numbers small, and leave it to others that they take less.
        if codecs.iter().all(|codec| matches!(name_and_parameter(codec).0, "Delta" | "GCD")) {
            return bad(format!(
                "Compression codec {sql} does not compress anything. You may want to add generic compression algorithm after \
                 other transformations, like: {sql}, LZ4. {hint}"
            ));
        }
        let is_of_floats = codecs.iter().any(|codec| matches!(name_and_parameter(codec).0, "Gorilla" | "FPC"));
        if is_of_floats && !leaves(data_type).iter().any(|leaf| is_float(leaf)) {
            return bad(format!(
                "The combination of compression codecs {sql} is meaningless, because it does not make sense to apply a \
                 floating-point time series codec to non-floating-point columns {hint}"
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
        "LZ4HC" => {
            let level = one_number("LZ4HC", "1 parameter", parameter, 0)?;
            Ok(Some((ColumnCompression::Lz4Hc(level), format!("LZ4HC({level})"))))
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

/// The text of a codec that lays out values, checked for values of a type.
fn laying_out(name: &str, parameter: Option<&str>, data_type: &DataType) -> Result<String> {
    let leaves = leaves(data_type);
    let bad = |message: String| Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    let each = |is_taken: fn(&DataType) -> bool| leaves.iter().find(|leaf| !is_taken(leaf));
    match name.to_ascii_uppercase().as_str() {
        "DELTA" => of_bytes("Delta", parameter, &leaves),
        "GORILLA" => of_bytes("Gorilla", parameter, &leaves),
        "DOUBLEDELTA" => {
            if let Some(leaf) = each(|leaf| is_float(leaf) || is_counted(leaf) || leaf.is_wide_integer()) {
                return bad(format!(
                    "Codec DoubleDelta is not applicable for {leaf} because the data type is not numeric"
                ));
            }
            leaves.iter().try_for_each(|leaf| byte_width("DoubleDelta", leaf).map(drop))?;
            parameter.map_or(Ok(()), |bytes| check_bytes("Argument value for DoubleDelta", bytes))?;
            Ok("DoubleDelta".to_owned())
        }
        "T64" => {
            let shown = match parameter {
                None => "T64".to_owned(),
                Some(variant @ ("'bit'" | "'byte'")) => format!("T64({variant})"),
                Some(other) => {
                    let message = format!("Wrong modification for T64: {other}");
                    return Err(Error::new(ErrorCode::ILLEGAL_CODEC_PARAMETER, message));
                }
            };
            match each(|leaf| is_counted(leaf) && leaf.fixed_width_bytes().is_some_and(|width| width <= 8)) {
                None => Ok(shown),
                Some(leaf) => Err(Error::new(
                    ErrorCode::ILLEGAL_SYNTAX_FOR_CODEC_TYPE,
                    format!("T64 codec is not supported for specified type {leaf}."),
                )),
            }
        }
        "FPC" => match each(DataType::is_float) {
            None => fpc(parameter),
            Some(leaf) => bad(format!("Codec 'FPC' is not applicable for {leaf} because the data type is not Float*")),
        },
        "GCD" if parameter.is_some() => {
            Err(Error::new(ErrorCode::ILLEGAL_SYNTAX_FOR_CODEC_TYPE, "GCD codec must have 0 parameters, given 1."))
        }
        "GCD" => {
            let is_enum = |leaf: &DataType| matches!(leaf, DataType::Enum8(_) | DataType::Enum16(_));
            let is_other = |leaf: &DataType| is_enum(leaf) || matches!(leaf, DataType::IPv4 | DataType::Time64(_));
            match leaves.iter().find(|leaf| is_other(leaf) || !(is_counted(leaf) || leaf.is_wide_integer())) {
                None => Ok("GCD".to_owned()),
                Some(leaf) => bad(format!(
                    "Codec GCD cannot be applied to column {leaf} because it can only be used with Int*, UInt*, Decimal*, Date* \
                     or DateTime* types."
                )),
            }
        }
        "ALP" => bad("Codec ALP is in beta and not yet recommended for production use.".to_owned()),
        upper if upper.starts_with("AES_") => Err(unsupported(name, "data would be stored unencrypted")),
        "DEFLATE_QPL" | "ZSTD_QAT" => Err(unsupported(name, "it needs hardware of its own")),
        _ => Err(Error::new(ErrorCode::UNKNOWN_CODEC, format!("Unknown codec family: {name}"))),
    }
}

/// The text of a codec that has the width of values in bytes as its parameter. Where it is not given, it is that of the type; columns of
/// several widths have none.
fn of_bytes(codec: &str, parameter: Option<&str>, leaves: &[&DataType]) -> Result<String> {
    if let Some(bytes) = parameter {
        check_bytes(&format!("{codec} value for {}", codec.to_ascii_lowercase()), bytes)?;
        return Ok(format!("{codec}({bytes})"));
    }
    let widths = leaves.iter().map(|leaf| byte_width(codec, leaf)).collect::<Result<Vec<_>>>()?;
    Ok(match widths.split_first() {
        Some((first, others)) if others.iter().all(|other| other == first) => format!("{codec}({first})"),
        _ => codec.to_owned(),
    })
}

fn check_bytes(what: &str, bytes: &str) -> Result<()> {
    if matches!(bytes, "1" | "2" | "4" | "8") {
        return Ok(());
    }
    Err(Error::new(ErrorCode::ILLEGAL_CODEC_PARAMETER, format!("{what} codec can be 1, 2, 4 or 8, given {bytes}")))
}

/// The text of `FPC([level[, width]])`.
fn fpc(parameter: Option<&str>) -> Result<String> {
    const LEVEL_DEFAULT: u8 = 12;
    let parameters: Vec<&str> = parameter.map_or_else(Vec::new, |text| text.split(',').map(str::trim).collect());
    let wrong = |message: String| Err(Error::new(ErrorCode::ILLEGAL_CODEC_PARAMETER, message));
    let (level, width) = match parameters[..] {
        [] => (None, None),
        [level] => (Some(level), None),
        [level, width] => (Some(level), Some(width)),
        _ => {
            let message = format!("Codec 'FPC' must have from 0 to 2 parameters, given {}", parameters.len());
            return Err(Error::new(ErrorCode::ILLEGAL_SYNTAX_FOR_CODEC_TYPE, message));
        }
    };
    let level = match level.map(str::parse::<u8>) {
        None => LEVEL_DEFAULT,
        Some(Ok(level @ 1..=28)) => level,
        Some(Ok(_)) => return wrong("Codec 'FPC' level must be between 1 and 28".to_owned()),
        Some(Err(_)) => return wrong("1st argument of codec 'FPC' must be unsigned integer".to_owned()),
    };
    match width {
        None | Some("4" | "8") => Ok(format!("FPC({level})")),
        Some(other) => wrong(format!("Float size for codec 'FPC' can be 4 or 8, given {other}")),
    }
}

/// Parquet's encoding of a column's values where some codec lays them out.
fn packing_of(data_type: &DataType) -> Option<ColumnPacking> {
    if has_dictionary(data_type) {
        return None;
    }
    let leaves = leaves(data_type);
    let is_integer = |leaf: &&DataType| {
        leaf.is_integer()
            || leaf.is_date_or_time()
            || matches!(leaf, DataType::Enum8(_) | DataType::Enum16(_) | DataType::IPv4)
    };
    if leaves.iter().all(is_integer) {
        Some(ColumnPacking::Deltas)
    } else if leaves.iter().all(|leaf| leaf.is_float()) {
        Some(ColumnPacking::SplitBytes)
    } else {
        None
    }
}

/// The types of the values that lie one after the other in files.
fn leaves(data_type: &DataType) -> Vec<&DataType> {
    match data_type {
        DataType::Nullable(inner) | DataType::Array(inner) | DataType::LowCardinality(inner) => leaves(inner),
        DataType::Map(key, value) => [leaves(key), leaves(value)].concat(),
        DataType::Tuple(elements) => elements.iter().flat_map(|element| leaves(&element.data_type)).collect(),
        leaf => vec![leaf],
    }
}

fn has_dictionary(data_type: &DataType) -> bool {
    match data_type {
        DataType::LowCardinality(_) => true,
        DataType::Nullable(inner) | DataType::Array(inner) => has_dictionary(inner),
        DataType::Map(key, value) => has_dictionary(key) || has_dictionary(value),
        DataType::Tuple(elements) => elements.iter().any(|element| has_dictionary(&element.data_type)),
        _ => false,
    }
}

fn is_float(leaf: &DataType) -> bool {
    leaf.is_float() || *leaf == DataType::BFloat16
}

/// What is an integer in memory, whatever it stands for.
fn is_counted(leaf: &DataType) -> bool {
    leaf.is_integer()
        || leaf.is_decimal()
        || leaf.is_date_or_time()
        || matches!(
            leaf,
            DataType::Bool
                | DataType::Enum8(_)
                | DataType::Enum16(_)
                | DataType::IPv4
                | DataType::Time
                | DataType::Time64(_)
                | DataType::Interval(_)
        )
}

/// Bytes of a value for codecs that work on 1, 2, 4 or 8 of them.
fn byte_width(codec: &str, leaf: &DataType) -> Result<usize> {
    let bad = |why: String| Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Codec {codec} is {why}")));
    match if *leaf == DataType::BFloat16 { Some(2) } else { leaf.fixed_width_bytes() } {
        Some(width @ (1 | 2 | 4 | 8)) => Ok(width),
        Some(_) => bad(format!("only applicable for data types of size 1, 2, 4, 8 bytes. Given type {leaf}")),
        None => bad(format!("not applicable for {leaf} because the data type is not of fixed size")),
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
            ("Delta, LZ4", "Decimal(18, 2)", "Delta(8), LZ4"),
            ("Delta, LZ4", "Tuple(UInt32, Array(UInt64))", "Delta, LZ4"),
            ("Delta(2), LZ4", "String", "Delta(2), LZ4"),
            ("Delta, DoubleDelta(4), LZ4", "UInt8", "Delta(1), DoubleDelta, LZ4"),
            ("Delta, LZ4", "LowCardinality(UInt64)", "Delta(8), LZ4"),
            ("FPC(4, 8)", "Float64", "FPC(4)"),
            ("GCD, LZ4", "Int128", "GCD, LZ4"),
        ] {
            let codec = ColumnCodec::parse(sql, &DataType::parse(data_type).unwrap()).unwrap();
            assert_eq!(&*codec.sql, shown);
            assert_eq!(ColumnCodec::parse(&codec.sql, &DataType::parse(data_type).unwrap()).unwrap(), codec);
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (sql, data_type, code) in [
            ("NOPE", "UInt8", ErrorCode::UNKNOWN_CODEC),
            ("AES_128_GCM_SIV", "UInt8", ErrorCode::SUPPORT_IS_DISABLED),
            ("FPC", "UInt64", ErrorCode::BAD_ARGUMENTS),
            ("FPC(29)", "Float64", ErrorCode::ILLEGAL_CODEC_PARAMETER),
            ("GCD, LZ4", "Float64", ErrorCode::BAD_ARGUMENTS),
            ("GCD", "UInt64", ErrorCode::BAD_ARGUMENTS),
            ("DoubleDelta, LZ4", "UUID", ErrorCode::BAD_ARGUMENTS),
            ("Delta, LZ4", "Decimal(38, 2)", ErrorCode::BAD_ARGUMENTS),
            ("LZ4HC(1, 2)", "UInt8", ErrorCode::ILLEGAL_SYNTAX_FOR_CODEC_TYPE),
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
            let data_type = DataType::parse(data_type).unwrap();
            let refused = ColumnCodec::parse(sql, &data_type).and_then(|codec| codec.check_sense(&data_type));
            assert_eq!(refused.map_err(|error| error.code), Err(code), "{sql} of {data_type}");
        }
    }
}
