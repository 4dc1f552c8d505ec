//! Protobuf as ClickHouse 26.9 has it: `tests/protobuf/cases.jsonl`, which the script beside it makes.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use squall_formats::{FormatOptions, SchemaFolder, Statistics, infer_schema, input_format, output_format};
use squall_types::{Block, ErrorCode, Result, Schema, Settings};

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn options(settings: &[(&str, &str)]) -> FormatOptions {
    let mut all = Settings::default();
    settings.iter().for_each(|(name, value)| all.set(name, value).unwrap());
    FormatOptions { settings: Arc::new(all), ..FormatOptions::default() }
}

fn of_schema(schema: &str, more: &[(&str, &str)]) -> FormatOptions {
    let text = format!("syntax=\"proto3\"; {schema}");
    let own = [("format_schema_source", "string"), ("format_schema", &*text), ("format_schema_message_name", "M")];
    options(&own.iter().chain(more).copied().collect::<Vec<_>>())
}

fn read(format: &str, input: &[u8], piece: usize, schema: &Arc<Schema>, options: &FormatOptions) -> Result<Vec<Block>> {
    let mut format = input_format(format, schema, options)?;
    let mut blocks = Vec::new();
    for piece in input.chunks(piece) {
        format.feed(piece, &mut blocks)?;
    }
    format.finish(&mut blocks)?;
    Ok(blocks.into_iter().map(|input| input.block).collect())
}

fn write(format: &str, schema: &Arc<Schema>, blocks: &[Block], options: &FormatOptions) -> Result<Vec<u8>> {
    let mut format = output_format(format, schema, options)?;
    let mut out = Vec::new();
    format.begin(&mut out);
    blocks.iter().try_for_each(|block| format.block(block, &mut out))?;
    format.end(&Statistics::default(), &mut out)?;
    Ok(out)
}

/// What the case's query answers here.
fn answer(case: &Value, piece: usize) -> Result<Vec<u8>> {
    let settings = case["settings"].as_object().unwrap();
    let settings: Vec<(&str, String)> = settings
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    let options = options(&settings.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>());
    let format = case["format"].as_str().unwrap();
    if let Some(rows) = case["rows"].as_str() {
        let rows = unhex(rows);
        let plain = FormatOptions::default();
        let schema = Arc::new(infer_schema("RowBinaryWithNamesAndTypes", &mut &rows[..], &plain)?);
        let blocks = read("RowBinaryWithNamesAndTypes", &rows, usize::MAX, &schema, &plain)?;
        return write(format, &schema, &blocks, &options);
    }
    if case["describe"].as_bool() == Some(true) {
        let schema = infer_schema(format, &mut &b"\0"[..], &options)?;
        let lines = schema.fields.iter().map(|(name, data_type)| format!("{name}\t{data_type}\n"));
        return Ok(lines.collect::<String>().into_bytes());
    }
    let schema = Arc::new(Schema::parse(case["columns"].as_str().unwrap())?);
    let blocks = read(format, &unhex(case["read"].as_str().unwrap()), piece, &schema, &options)?;
    write("TSV", &schema, &blocks, &FormatOptions::default())
}

#[test]
fn all_is_as_in_clickhouse() {
    let path = std::env::var("SQUALL_PROTOBUF_CASES").unwrap_or_else(|_| {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/protobuf/cases.jsonl").display().to_string()
    });
    let text = std::fs::read_to_string(path).unwrap();
    let mut differing = Vec::new();
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        for piece in [usize::MAX, 1] {
            let found = answer(&case, piece);
            let is_same = match (case["hex"].as_str(), case["code"].as_i64(), &found) {
                (Some(hex), _, Ok(found)) => unhex(hex) == *found,
                (_, Some(code), Err(error)) => code == i64::from(error.code.0) || is_as_good(code, error.code),
                _ => false,
            };
            if !is_same {
                let expected = case["hex"]
                    .as_str()
                    .map_or_else(String::new, |hex| format!("{:?}", String::from_utf8_lossy(&unhex(hex))));
                let found = found.map(|found| String::from_utf8_lossy(&found).into_owned());
                differing.push(format!("{line}\n    expected {expected} found {found:?}"));
            }
        }
    }
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
    assert!(text.lines().count() > 1000);
}

/// Errors by which the same is refused under another code.
fn is_as_good(code: i64, found: ErrorCode) -> bool {
    // What tells of columns does so with the format's name around it.
    found == ErrorCode::CANNOT_EXTRACT_TABLE_STRUCTURE && (code == 36 || code == 434)
}

fn rows_of(format: &str, input: &[u8], columns: &str, options: &FormatOptions) -> Result<String> {
    let schema = Arc::new(Schema::parse(columns)?);
    let blocks = read(format, input, usize::MAX, &schema, options)?;
    let written = write("TSV", &schema, &blocks, &FormatOptions::default())?;
    Ok(String::from_utf8_lossy(&written).into_owned())
}

#[test]
fn messages_that_are_none_are_refused() {
    let schema = "message M{int32 a=1; string b=2; message T{repeated int32 p=1; T t=2;} T t=3; repeated T u=4; map<string,T> m=5;}";
    let options = of_schema(schema, &[]);
    let columns =
        "a Int32, b String, t Tuple(p Array(Int32)), u Array(Tuple(p Array(Int32))), m Map(String, Array(Int32))";
    let columns = columns.replace(", m Map(String, Array(Int32))", "");
    let good: &[u8] =
        b"\x1C\x08\x05\x12\x02ab\x1A\x05\x0A\x03\x01\x02\x03\x22\x04\x0A\x02\x01\x02\x22\x00\x2A\x05\x0A\x01k\x12\x00";
    assert_eq!(rows_of("Protobuf", good, &columns, &options).unwrap(), "5\tab\t([1,2,3])\t[([1,2]),([])]\n");
    // Whatever byte is another one, and wherever the input ends: rows or an error, and no panic.
    for format in ["Protobuf", "ProtobufSingle", "ProtobufList"] {
        for at in 0..good.len() {
            let _ = rows_of(format, &good[..at], &columns, &options);
            for byte in [0, 1, 0x0B, 0x0C, 0x7F, 0x80, 0xFF] {
                let mut bad = good.to_vec();
                bad[at] = byte;
                let _ = rows_of(format, &bad, &columns, &options);
            }
        }
    }
    for (bad, code) in [
        (&b"\x02\x08"[..], ErrorCode::CANNOT_READ_ALL_DATA),
        (b"\x01\x08", ErrorCode::UNKNOWN_PROTOBUF_FORMAT),
        (b"\x03\x12\x05a", ErrorCode::UNKNOWN_PROTOBUF_FORMAT),
        (b"\x02\x12\x7F", ErrorCode::UNKNOWN_PROTOBUF_FORMAT),
        (b"\x02\x10\x01", ErrorCode::UNKNOWN_PROTOBUF_FORMAT),
        (b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", ErrorCode::UNKNOWN_PROTOBUF_FORMAT),
        (b"\xFF\xFF\xFF\xFF\x7F\x08\x01", ErrorCode::CANNOT_READ_ALL_DATA),
    ] {
        assert_eq!(rows_of("Protobuf", bad, &columns, &options).unwrap_err().code, code, "{bad:?}");
    }
    // A group in a group in a group, for a million times.
    let mut groups = vec![0x3B; 1 << 20];
    groups.extend(vec![0x3C; 1 << 20]);
    let mut input = vec![0x80, 0x80, 0x80, 0x01];
    input.extend(&groups);
    assert_eq!(rows_of("Protobuf", &input, &columns, &options).unwrap(), "0\t\t([])\t[]\n");
    input.pop();
    assert!(rows_of("Protobuf", &input, &columns, &options).is_err());
}

#[test]
fn schemas_that_are_none_are_refused() {
    let refused =
        |schema: &str, columns: &str| rows_of("Protobuf", b"\0", columns, &of_schema(schema, &[])).unwrap_err().code;
    let deep = format!("{}{}", "message M{".repeat(5000), "}".repeat(5000));
    for schema in [
        "",
        "message M{",
        "message M{foo a=1;}",
        "message M{int32 a=0;}",
        "import \"x.proto\"; message M{int32 a=1;}",
        &deep,
    ] {
        assert!(
            [ErrorCode::CANNOT_PARSE_PROTOBUF_SCHEMA, ErrorCode::BAD_ARGUMENTS].contains(&refused(schema, "a Int32")),
            "{schema}"
        );
    }
    // Names that could be very many fields of messages in messages.
    let recursive = "message M{M a=1; M a_a=2; M a_a_a=3; int32 z=4;}";
    let name = format!("{}q", "a_".repeat(60));
    assert_eq!(refused(recursive, &format!("z Int32, {name} Int32")), ErrorCode::TOO_DEEP_RECURSION);
    let name = format!("{}z", "a_".repeat(5000));
    assert_eq!(refused("message M{M a=1; int32 z=4;}", &format!("{name} Int32")), ErrorCode::TOO_DEEP_RECURSION);
}

#[test]
fn the_last_value_of_a_field_counts() {
    let options = of_schema("message M{int32 a=1; string b=2; message T{int32 p=1; repeated int32 q=2;} T t=3;}", &[]);
    let columns = "a Int32, b String, t Tuple(p Int32, q Array(Int32))";
    // Alone, packed, and again.
    for (input, expected) in [
        (&b"\x06\x0A\x02\x01\x02\x08\x03"[..], "3"),
        (b"\x06\x08\x03\x0A\x02\x01\x02", "2"),
        (b"\x08\x0A\x00\x08\x03\x0A\x02\x01\x04", "4"),
        (b"\x04\x0A\x00\x08\x05", "5"),
        (b"\x02\x0A\x00", "0"),
        (b"\x06\x08\x01\x08\x02\x08\x03", "3"),
    ] {
        assert_eq!(
            rows_of("Protobuf", input, columns, &options).unwrap(),
            format!("{expected}\t\t(0,[])\n"),
            "{input:?}"
        );
    }
    let parts = b"\x15\x1A\x04\x08\x01\x10\x01\x12\x01a\x1A\x04\x10\x02\x08\x07\x12\x02bc\x08\x09";
    assert_eq!(rows_of("Protobuf", parts, columns, &options).unwrap(), "9\tbc\t(7,[1,2])\n");
}

#[test]
fn rows_that_cannot_be_read_are_skipped_where_that_is_allowed() {
    let options = of_schema("message M{int32 a=1;}", &[("input_format_allow_errors_num", "1")]);
    let input = b"\x02\x08\x01\x03\x08\xAC\x02\x02\x08\x03";
    assert_eq!(rows_of("Protobuf", input, "a UInt8", &options).unwrap(), "1\n3\n");
    let error = rows_of("Protobuf", input, "a UInt8", &of_schema("message M{int32 a=1;}", &[])).unwrap_err();
    assert_eq!(error.code, ErrorCode::PROTOBUF_BAD_CAST);
    assert!(error.message.contains("column 'a'"), "{}", error.message);
}

#[test]
fn forks_write_what_the_whole_writes() {
    let options = of_schema("message M{int32 a=1; repeated string b=2;}", &[]);
    let schema = Arc::new(Schema::parse("a Int32, b Array(String)").unwrap());
    let blocks =
        read("TSV", b"1\t['x']\n2\t[]\n300\t['y','z']\n", usize::MAX, &schema, &FormatOptions::default()).unwrap();
    for format in ["Protobuf", "ProtobufList"] {
        let whole = write(format, &schema, &blocks, &options).unwrap();
        let mut first = output_format(format, &schema, &options).unwrap();
        let mut out = Vec::new();
        for row in 0..blocks[0].rows() {
            let block = blocks[0].slice(row, 1);
            if row == 1 {
                first.block(&block, &mut out).unwrap();
            } else {
                let (mut fork, mut written) = (first.fork().unwrap(), Vec::new());
                fork.block(&block, &mut written).unwrap();
                first.append(1, &written, &mut out);
            }
        }
        first.end(&Statistics::default(), &mut out).unwrap();
        assert_eq!(out, whole, "{format}");
    }
    assert!(output_format("ProtobufSingle", &schema, &options).unwrap().fork().is_none());
}

#[test]
fn schemas_are_files_of_their_folder() {
    let folder = std::env::temp_dir().join(format!("squall-protobuf-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("sub")).unwrap();
    let save = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    save("part.proto", "syntax=\"proto3\"; package p; message I{int32 a=1;}");
    save(
        "sub/main.proto",
        "syntax=\"proto3\"; import \"part.proto\"; message M{p.I i=1; google.protobuf.Int32Value w=2;} import \"google/protobuf/wrappers.proto\";",
    );
    let with = |schema: &str, folder: SchemaFolder| FormatOptions {
        schemas: Arc::new(folder),
        ..options(&[("format_schema", schema)])
    };
    let closed = || SchemaFolder::closed(&folder);
    let ask = |options: &FormatOptions| {
        rows_of("Protobuf", b"\x04\x0A\x02\x08\x05", "i_a Int64", options).map_err(|error| error.code)
    };
    assert_eq!(ask(&with("sub/main:M", closed())).unwrap(), "5\n");
    assert_eq!(ask(&with("sub/main.proto:M", closed())).unwrap(), "5\n");
    // A file that changes is read again, also one that another imports.
    save("part.proto", "syntax=\"proto3\"; package p; message I{sint32 a=1; int32 other=2;}");
    assert_eq!(ask(&with("sub/main:M", closed())).unwrap(), "-3\n");
    assert_eq!(ask(&with("none:M", closed())), Err(ErrorCode::CANNOT_PARSE_PROTOBUF_SCHEMA));
    assert_eq!(ask(&with("sub/main:N", closed())), Err(ErrorCode::BAD_ARGUMENTS));
    let absolute = format!("{}/sub/main:M", folder.display());
    let outside = format!("../{}/sub/main:M", folder.file_name().unwrap().display());
    for path in [&absolute, &outside] {
        assert_eq!(ask(&with(path, closed())), Err(ErrorCode::BAD_ARGUMENTS), "{path}");
        assert_eq!(ask(&with(path, SchemaFolder::open(&folder))).unwrap(), "-3\n", "{path}");
    }
    // A link is as good as where it leads to.
    let elsewhere = folder.with_extension("proto");
    std::fs::write(&elsewhere, "message M{optional int32 i_a=1;}").unwrap();
    std::os::unix::fs::symlink(&elsewhere, folder.join("link.proto")).unwrap();
    save("imports.proto", "import \"link.proto\"; message N{optional M m=1;}");
    for schema in ["link:M", "imports:N"] {
        assert_eq!(ask(&with(schema, closed())), Err(ErrorCode::BAD_ARGUMENTS), "{schema}");
    }
    std::fs::remove_file(elsewhere).unwrap();
    // A schema that is made of columns may be kept.
    let made = FormatOptions { schemas: Arc::new(closed()), ..options(&[("output_format_schema", "made.proto")]) };
    let schema = Arc::new(Schema::parse("a UInt8").unwrap());
    write("Protobuf", &schema, &[], &made).unwrap();
    assert!(std::fs::read_to_string(folder.join("made.proto")).unwrap().contains("uint32 a = 1;"));
    std::fs::remove_dir_all(folder).unwrap();
}
