//! Converts standard input from one format to another, for comparing with other servers' bytes in bulk:
//! `convert FROM TO [COLUMNS]`, where COLUMNS is a `Tuple(name Type, …)`; without it the input is Native and brings its own.
//! Several frames may follow each other, each with its length in eight bytes before it, and so are the answers; an error's frame
//! starts with `Code:`.

use std::io::{Read, Write};
use std::sync::Arc;

use squall_formats::native::BlockReader;
use squall_formats::wire::Cursor;
use squall_formats::{FormatOptions, Statistics, input_format, output_format};
use squall_types::{Block, DataType, Error, Result, Schema};

fn native_schema(input: &[u8]) -> Result<Arc<Schema>> {
    let mut cursor = Cursor::complete(input);
    let block = BlockReader::new(0).read(&mut cursor).map_err(|stop| stop.into_error())?;
    Ok(block.schema().clone())
}

fn read(from: &str, schema: &Arc<Schema>, input: &[u8], piece_bytes: usize) -> Result<Vec<Block>> {
    let mut format = input_format(from, schema, &FormatOptions::default())?;
    let mut blocks = Vec::new();
    for chunk in input.chunks(piece_bytes) {
        format.feed(chunk, &mut blocks)?;
    }
    format.finish(&mut blocks)?;
    while let Some(block) = format.next_block()? {
        blocks.push(block);
    }
    Ok(blocks.into_iter().map(|block| block.block).collect())
}

fn convert(from: &str, to: &str, columns: Option<&str>, input: &[u8], piece_bytes: usize) -> Result<Vec<u8>> {
    let schema = match columns.map(DataType::parse).transpose()? {
        Some(DataType::Tuple(elements)) => Arc::new(Schema::new(
            elements.iter().map(|element| (element.name.clone().unwrap_or_default(), element.data_type.clone())),
        )),
        _ => native_schema(input)?,
    };
    let blocks = read(from, &schema, input, piece_bytes)?;
    let mut out = Vec::new();
    let mut format = output_format(to, &schema, &FormatOptions::default())?;
    format.begin(&mut out);
    for block in &blocks {
        format.block(block, &mut out)?;
    }
    format.end(&Statistics::default(), &mut out)?;
    Ok(out)
}

fn main() -> std::io::Result<()> {
    let (mut stdin, mut stdout) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut frame = || -> std::io::Result<Vec<u8>> {
        let mut length = [0; 8];
        stdin.read_exact(&mut length)?;
        let mut frame = vec![0; u64::from_le_bytes(length) as usize];
        stdin.read_exact(&mut frame)?;
        Ok(frame)
    };
    while let (Ok(from), Ok(to), Ok(columns), Ok(piece), Ok(input)) = (frame(), frame(), frame(), frame(), frame()) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let columns = text(&columns);
        let piece = text(&piece).parse().unwrap_or(usize::MAX);
        let columns = Some(columns.as_str()).filter(|columns| !columns.is_empty());
        let answer = convert(&text(&from), &text(&to), columns, &input, piece)
            .unwrap_or_else(|error: Error| error.to_string().into_bytes());
        stdout.write_all(&(answer.len() as u64).to_le_bytes())?;
        stdout.write_all(&answer)?;
        stdout.flush()?;
    }
    Ok(())
}
