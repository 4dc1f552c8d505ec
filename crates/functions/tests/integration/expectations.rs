//! Scalar functions against ClickHouse's own answers in `data/expectations.txt`, which `data/generate_expectations.py` writes and
//! explains.

use std::fmt::Write;

use squall_functions::{Argument, BoundFunction, FunctionContext, Moment, canonical_name, resolve_scalar};
use squall_types::text::{TextOptions, TextStyle, ValueReader, ValueWriter};
use squall_types::{Column, DataType, Result, Value};

fn context() -> FunctionContext {
    FunctionContext {
        moment: Moment::new(1_600_000_000_000_000_000, 1, "default".into(), "".into()),
        current_database: "default".into(),
        host_name: "localhost".into(),
        server_version: "26.9".into(),
        ..FunctionContext::outside_queries("UTC")
    }
}

/// The columns of a block, and what is known of each as an argument.
struct Block {
    title: String,
    arguments: Vec<Argument>,
    columns: Vec<Column>,
    rows: usize,
}

fn read_column(data_type: &DataType, fields: &[&str]) -> Result<Column> {
    let mut reader = ValueReader::new(data_type, &TextOptions::default())?;
    fields.iter().try_for_each(|field| reader.read_escaped(field.as_bytes()))?;
    reader.finish()
}

fn block(title: &str, rows: &[Vec<&str>]) -> Result<Block> {
    let mut arguments = Vec::new();
    let mut columns = Vec::new();
    let mut field = 0;
    for name in title.split(" | ") {
        if let Some(constant) = name.strip_prefix("const ") {
            let (name, text) = constant.rsplit_once(" = ").unwrap();
            let data_type = DataType::parse(name)?;
            let column = Column::repeat(&read_column(&data_type, &[text])?, rows.len());
            arguments.push(Argument { data_type, constant: column.constant_value() });
            columns.push(column);
        } else {
            let data_type = DataType::parse(name)?;
            let fields: Vec<&str> = rows.iter().map(|row| row[field]).collect();
            field += 1;
            columns.push(read_column(&data_type, &fields)?);
            arguments.push(Argument::of(data_type));
        }
    }
    Ok(Block { title: title.into(), arguments, columns, rows: rows.len() })
}

fn print(column: &Column, rows: usize) -> String {
    let mut writer = ValueWriter::new(column, TextStyle::Escaped, &TextOptions::default()).unwrap();
    let mut out = Vec::new();
    for row in 0..rows {
        if row > 0 {
            out.push(b'\t');
        }
        writer.write(&mut out, row);
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// `type : values` or `ERR code`, as the file has it.
fn answer(function: &str, block: &Block) -> Option<String> {
    let (name, target) = function.split_once(':').map_or((function, None), |(name, target)| (name, Some(target)));
    canonical_name(name)?;
    let mut arguments = block.arguments.clone();
    let mut columns = block.columns.clone();
    if let Some(target) = target {
        let value = Value::from(target);
        columns.push(Column::constant(DataType::String, &value, block.rows).unwrap());
        arguments.push(Argument { data_type: DataType::String, constant: Some(value) });
    }
    let run = || -> Result<String> {
        let function = resolve_scalar(name, &arguments, &context())?;
        let result = function.execute(&columns, block.rows)?;
        assert_eq!(result.data_type(), function.return_type(), "{name} over {}", block.title);
        assert_eq!(result.rows(), block.rows, "{name} over {}", block.title);
        if let Some(wrong) = over_constants(name, &arguments, &columns, block.rows, &result) {
            return Ok(wrong);
        }
        if let Some(wrong) = over_slices(&*function, &columns, block.rows, &result) {
            return Ok(wrong);
        }
        Ok(format!("{} : {}", result.data_type(), print(&result, block.rows)))
    };
    Some(run().unwrap_or_else(|error| format!("ERR {}", error.code.0)))
}

/// Over slices of longer columns a function gives the same values row by row; otherwise what it gives.
fn over_slices(function: &dyn BoundFunction, columns: &[Column], rows: usize, expected: &Column) -> Option<String> {
    let longer: Vec<Column> = columns
        .iter()
        .map(|column| match column.is_constant() {
            true => column.slice(0, 2 * rows),
            false => Column::concat(&[column.clone(), column.clone(), column.clone()]).unwrap().slice(1, 2 * rows),
        })
        .collect();
    let wanted = Column::concat(&[expected.clone(), expected.clone(), expected.clone()]).unwrap().slice(1, 2 * rows);
    let found = match function.execute(&longer, 2 * rows) {
        Ok(result) if result.rows() == 2 * rows => print(&result, 2 * rows),
        Ok(result) => format!("{} rows", result.rows()),
        Err(error) => error.to_string(),
    };
    (found != print(&wanted, 2 * rows)).then(|| format!("over slices: {found}"))
}

/// Row by row as constants a function gives the same values as over columns (the type may differ by dictionaries); otherwise what
/// it gives.
fn over_constants(
    name: &str,
    arguments: &[Argument],
    columns: &[Column],
    rows: usize,
    expected: &Column,
) -> Option<String> {
    // A constant string is read as an enum's name, a column of strings is compared with the names.
    let has_enum =
        arguments.iter().any(|argument| matches!(argument.data_type, DataType::Enum8(_) | DataType::Enum16(_)));
    if matches!(name, "toTypeName" | "toLowCardinality") || arguments.len() == 2 && has_enum {
        return None;
    }
    for row in 0..rows {
        let constants: Vec<Column> =
            columns.iter().map(|column| Column::repeat(&column.slice(row, 1).materialize().unwrap(), 2)).collect();
        let arguments: Vec<Argument> = arguments
            .iter()
            .zip(&constants)
            .map(|(argument, column)| Argument {
                data_type: argument.data_type.clone(),
                constant: column.constant_value(),
            })
            .collect();
        // Some functions settle their result by a constant and refuse it where another row would have been right.
        let Ok(function) = resolve_scalar(name, &arguments, &context()) else { continue };
        let wanted = print(&expected.slice(row, 1), 1);
        let found = match function.execute(&constants, 2) {
            Ok(result) if result.rows() == 2 => print(&result, 2),
            Ok(result) => format!("{} rows", result.rows()),
            Err(error) => error.to_string(),
        };
        if found != format!("{wanted}\t{wanted}") {
            return Some(format!("row {row} as constants: {found}"));
        }
    }
    None
}

/// Answers that are ours on purpose, or not worth having.
fn is_exempt(function: &str, title: &str, wanted: &str) -> bool {
    let has = |name: &str| title.contains(name);
    let name = function.split_once(':').map_or(function, |(name, _)| name);
    let is_arithmetic = matches!(
        name,
        "plus"
            | "minus"
            | "multiply"
            | "divide"
            | "intDiv"
            | "intDivOrZero"
            | "modulo"
            | "moduloOrZero"
            | "positiveModulo"
            | "negate"
            | "abs"
            | "gcd"
            | "lcm"
    );
    let is_bitwise = name.starts_with("bit") || name == "byteSwap";
    // Numbers of 128 bits: addresses in arithmetic, and Decimal in place of DateTime64 beside large numbers.
    (has("IPv6") && (is_arithmetic || is_bitwise))
        || wanted == "ERR 407"
        // Written down before `use_variant_as_common_type` was on: these types have a Variant in common now.
        || wanted == "ERR 386"
        // Arithmetic of arrays and tuples, bits of strings. The square of a tuple is its dot product there.
        || ((is_arithmetic || name == "sqr") && (has("Array") || has("Tuple") || has("Map")))
        || (is_bitwise && has("String"))
        // Which of two codes a pair without a conversion or a common type gets.
        || (wanted.starts_with("ERR") && (is_bitwise || is_arithmetic) && !wanted.ends_with("153"))
        || (matches!(wanted, "ERR 48" | "ERR 43") && matches!(name, "array" | "greatest" | "least" | "equals" | "notEquals" | "less" | "greater" | "lessOrEquals" | "greaterOrEquals"))
        // A division by what lies under a NULL is ours to avoid.
        || (wanted == "ERR 153" && has("Nullable"))
        // Floats near 2^64, and what they become beyond.
        || (name.ends_with("odulo") && has("UInt64 | Float")) || name == "moduloOrZero" && has("UInt64 | Float")
        || (has("Int64") && has("Float") && is_arithmetic)
        || name == "positiveModulo" && has("Int")
        || (name == "intDivOrZero" && has("Int64 | UInt64"))
        || (has("Float") && has("Date"))
        || (has("Interval") && (matches!(wanted, "ERR 48" | "ERR 53") || wanted.starts_with("Tuple")))
        // Sizes of arrays past every limit, indices by arrays, the narrowest type of an intersection.
        || (matches!(name, "arrayResize" | "arraySlice") && (has("Int32") || has("Int64") || has("Float")))
        || (name == "arrayElement" && has("| Array"))
        || matches!(name, "arrayIntersect" | "arrayStringConcat") && title.contains(" | ")
        || (matches!(name, "greatest" | "least") && has("Array"))
        || (name.starts_with("array") && (has("Interval") || has("IPv4") || wanted == "ERR 44"))
        || (matches!(name, "has" | "indexOf" | "countEqual") && (has("Interval") || has("IPv4")))
        || (name == "nullIf" && wanted.starts_with("ERR"))
        || (matches!(name, "ifNull" | "coalesce") && wanted == "ERR 48")
        // NaN beside NULLs and enums.
        || (matches!(name, "greatest" | "least") && has("Float32"))
        || (name == "range" && (has("Nullable") || has("IPv4")))
        || (name == "toTypeName" && has("Tuple(a"))
        || (matches!(name, "arrayAvg" | "arrayProduct") && wanted == "ERR 44")
        || (has("UInt64") && matches!(name, "gcd" | "lcm" | "greatest" | "least" | "modulo") && (has("Int8") || has("Int16") || has("Int64") || has("Float")))
        || (matches!(name, "lgamma" | "intExp10" | "pow") && (has("Int8") || has("Int16") || has("Int32") || has("Int64")))
        || (name == "bitNot" && has("Float32"))
        // Dates and intervals past their range.
        || (has("Date32") && matches!(name, "plus" | "minus" | "defaultValueOfArgumentType"))
        || (has("Interval") && (name.starts_with("to") || name.contains("ast") || name == "CAST"))
        || function.ends_with(":IntervalDay")
        // Casts of which ClickHouse has several minds (`OrNull` over FixedString, over Enum, over Date).
        || ((name.starts_with("accurateCast") || name.ends_with("OrDefault") || name == "CAST") && (has("FixedString") || has("Date") || has("IPv") || has("UUID")))
        || (name == "accurateCastOrNull" && (function.contains("Enum") || function.contains("Tuple") || wanted.starts_with("ERR")))
        || (name.starts_with("accurateCast") && has("Bool"))
        // A lone number as a date of this year.
        || matches!(name, "toDateTimeOrZero" | "toDateTimeOrNull")
        // Enums and wide types in memory.
        || name.starts_with("reinterpretAs")
}

/// Whether two answers agree: floats up to the last digits, in which libraries differ.
fn agrees(found: &str, wanted: &str) -> bool {
    if found == wanted {
        return true;
    }
    let (Some((found_type, found)), Some((wanted_type, wanted))) = (found.split_once(" : "), wanted.split_once(" : "))
    else {
        return false;
    };
    let close = |(found, wanted): (&str, &str)| {
        found == wanted
            || matches!((found.parse::<f64>(), wanted.parse::<f64>()), (Ok(found), Ok(wanted))
                if (found - wanted).abs() <= wanted.abs() * 1e-12)
    };
    found_type == wanted_type
        && wanted_type.contains("Float")
        && found.split('\t').count() == wanted.split('\t').count()
        && found.split('\t').zip(wanted.split('\t')).all(close)
}

#[test]
fn functions_answer_as_clickhouse_does() {
    let text = include_str!("../data/expectations.txt");
    let mut title = "";
    let mut rows: Vec<Vec<&str>> = Vec::new();
    let mut current: Option<Block> = None;
    let (mut checked, mut wrong) = (0, String::new());
    let mut wrong_count = 0;
    for line in text.lines() {
        if let Some(new_title) = line.strip_prefix("@ ") {
            (title, current) = (new_title, None);
            rows.clear();
        } else if let Some(fields) = line.strip_prefix("> ") {
            rows.push(fields.split('\t').collect());
        } else if let Some((functions, wanted)) = line.split_once(" => ") {
            let block = match &mut current {
                Some(block) => block,
                None => current.insert(block(title, &rows).unwrap()),
            };
            for function in functions.split("; ").filter(|function| !is_exempt(function, title, wanted)) {
                let Some(found) = answer(function, block) else { continue };
                checked += 1;
                if !agrees(&found, wanted) {
                    wrong_count += 1;
                    writeln!(wrong, "{function} over {title}: {found}\n    wanted {wanted}").unwrap();
                }
            }
        }
    }
    if let Ok(path) = std::env::var("SQUALL_EXPECTATIONS_REPORT") {
        std::fs::write(path, &wrong).unwrap();
    }
    assert!(checked > 1000, "only {checked} answers were checked");
    assert_eq!(wrong_count, 0, "of {checked} answers differ:\n{}", wrong.chars().take(4000).collect::<String>());
}
