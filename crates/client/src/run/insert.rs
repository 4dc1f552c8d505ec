//! An INSERT's rows on their way in: from the statement's own text, standard input or files, through an input format, into the session.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use squall_formats::{FormatOptions, InputBlock, Omitted, input_format};
use squall_types::{Block, Error, ErrorCode, Result, Schema};

use super::interrupt::Interrupt;
use super::progress::ProgressLine;
use crate::session::{Event, Session};

/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 18;

/// Where an INSERT's rows come from, with the name that errors call it by.
pub struct Input<'a> {
    /// `standard input`, a file's name; empty is the statement itself.
    pub name: String,
    /// The bytes.
    pub reader: Box<dyn Read + 'a>,
}

/// The table, as the session has described it.
pub struct Target<'a> {
    /// The columns that are wanted.
    pub schema: Arc<Schema>,
    /// Those with a default expression.
    pub defaults: &'a [String],
}

/// How feeding ended, where all went well on this side.
#[derive(Debug)]
pub enum Fed {
    /// All rows are there.
    All,
    /// The statement ended before.
    Ended,
    /// The statement failed before.
    Failed(Error),
}

/// Reads all inputs and gives their rows to the session.
///
/// # Errors
/// What is wrong with the input; `QUERY_WAS_CANCELLED` after Ctrl-C.
pub fn feed(
    session: &mut dyn Session,
    inputs: Vec<Input<'_>>,
    format: &str,
    options: &FormatOptions,
    target: &Target<'_>,
    interrupt: &Interrupt,
    line: &mut ProgressLine,
) -> Result<Fed> {
    let mut chunk = vec![0; READ_BYTES];
    for mut input in inputs {
        let within = |error: Error| if input.name.is_empty() { error } else { error.context(&input.name) };
        let mut reader = input_format(format, &target.schema, options)?;
        let mut blocks = Vec::new();
        loop {
            if interrupt.is_set() {
                return Err(Error::new(ErrorCode::QUERY_WAS_CANCELLED, "Query was cancelled by its client"));
            }
            let read = input
                .reader
                .read(&mut chunk)
                .map_err(|error| within(Error::new(ErrorCode::CANNOT_READ_FROM_FILE_DESCRIPTOR, error.to_string())))?;
            match read {
                0 => break,
                read => reader.feed(chunk.get(..read).unwrap_or_default(), &mut blocks).map_err(within)?,
            }
            if let Some(over) = send(session, &mut blocks, target, line)? {
                return Ok(over);
            }
        }
        reader.finish(&mut blocks).map_err(within)?;
        if let Some(over) = send(session, &mut blocks, target, line)? {
            return Ok(over);
        }
        while let Some(block) = reader.next_block().map_err(within)? {
            if let Some(over) = send(session, &mut vec![block], target, line)? {
                return Ok(over);
            }
        }
    }
    Ok(Fed::All)
}

/// Sends blocks, and listens between them.
fn send(
    session: &mut dyn Session,
    blocks: &mut Vec<InputBlock>,
    target: &Target<'_>,
    line: &mut ProgressLine,
) -> Result<Option<Fed>> {
    for input in blocks.drain(..) {
        for block in without_omitted(input, target.defaults)? {
            line.done.written_rows += block.rows() as u64;
            line.done.written_bytes += block.value_bytes() as u64;
            let sent = session.send(&block);
            // A session that refuses the rows says why before it hangs up.
            loop {
                match session.next(Duration::ZERO) {
                    Ok(None) => break,
                    Ok(Some(Event::Exception(error))) => return Ok(Some(Fed::Failed(error))),
                    Ok(Some(Event::End)) => return Ok(Some(Fed::Ended)),
                    Ok(Some(Event::Log(log))) => line.hidden(|| eprintln!("{log}")),
                    Ok(Some(_)) => {}
                    Err(error) => return Err(sent.err().unwrap_or(error)),
                }
            }
            sent?;
            line.draw();
        }
    }
    Ok(None)
}

/// A block cut so that each part leaves out, as whole columns, the defaults that its rows want.
fn without_omitted(input: InputBlock, defaults: &[String]) -> Result<Vec<Block>> {
    let InputBlock { block, omitted } = input;
    let schema = block.schema().clone();
    let wants: Vec<(usize, &Omitted)> = (omitted.iter().enumerate())
        .filter(|(at, omitted)| {
            let name = schema.fields.get(*at).map(|(name, _)| &**name);
            **omitted != Omitted::None && defaults.iter().any(|default| Some(default.as_str()) == name)
        })
        .collect();
    if wants.is_empty() {
        return Ok(vec![block]);
    }
    // The rows of each set of columns that are left out; almost always there are one or two.
    let mut groups: Vec<(Vec<usize>, Vec<u32>)> = Vec::new();
    for row in 0..block.rows() {
        let is_left_out = |omitted: &Omitted| match omitted {
            Omitted::None => false,
            Omitted::All => true,
            Omitted::Rows(rows) => rows.value(row),
        };
        let columns: Vec<usize> = wants.iter().filter(|(_, omitted)| is_left_out(omitted)).map(|(at, _)| *at).collect();
        match groups.iter_mut().find(|(known, _)| *known == columns) {
            Some((_, rows)) => rows.push(row as u32),
            None => groups.push((columns, vec![row as u32])),
        }
    }
    groups
        .into_iter()
        .map(|(left_out, rows)| {
            let part = if rows.len() == block.rows() { block.clone() } else { block.take(&rows.into())? };
            let kept = |at: &usize| !left_out.contains(at);
            let fields: Vec<_> = (0..schema.len()).filter(kept).map(|at| schema.fields[at].clone()).collect();
            let columns: Vec<_> = (0..schema.len()).filter(kept).map(|at| part.column(at).clone()).collect();
            let rows = part.rows();
            Ok(Block::new(Arc::new(Schema::new(fields)), columns, rows))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use squall_types::Column;

    use super::*;

    #[test]
    fn rows_that_leave_something_out_are_sent_apart() {
        let block = Block::from_columns([
            ("a", Column::from_strings(["1", "2", "3"])),
            ("b", Column::from_strings(["x", "", "z"])),
        ])
        .unwrap();
        let omitted = vec![Omitted::None, Omitted::Rows(vec![false, true, false].into())];
        let input = InputBlock { block, omitted };
        assert_eq!(without_omitted(input.clone(), &[]).unwrap().len(), 1);
        let parts = without_omitted(input, &["b".to_owned()]).unwrap();
        let shapes: Vec<_> = parts.iter().map(|part| (part.rows(), part.schema().len())).collect();
        assert_eq!(shapes, [(2, 2), (1, 1)]);
        assert_eq!(parts[1].column(0).value(0), "2".into());
    }
}
