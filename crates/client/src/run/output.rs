//! Where a result goes: standard output, a file (`INTO OUTFILE`), both, or a pager; and its way there through an output format.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use squall_formats::{FormatOptions, OutputFormat, Statistics, output_format};
use squall_sql::ast::{ExpressionKind, IntoOutfile, Literal, OutfileMode};
use squall_types::{Block, Error, ErrorCode, Result, Schema};

use super::compression::{Compression, Finish};

/// Bytes that are written at once.
const WRITE_BYTES: usize = 1 << 16;

/// Where bytes go.
pub struct Destination {
    stdout: bool,
    file: Option<Box<dyn Finish>>,
    pager: Option<Child>,
}

impl Destination {
    /// Standard output, through the pager where there is one.
    ///
    /// # Errors
    /// Where the pager cannot be started.
    pub fn stdout(pager: Option<&str>) -> Result<Self> {
        let Some(pager) = pager else { return Ok(Destination { stdout: true, file: None, pager: None }) };
        let child = Command::new("sh").arg("-c").arg(pager).stdin(Stdio::piped()).spawn();
        let child = child.map_err(|error| file_error(pager, &error))?;
        Ok(Destination { stdout: false, file: None, pager: Some(child) })
    }

    /// The file of `INTO OUTFILE`.
    ///
    /// # Errors
    /// Where it cannot be made, or is there already and neither `APPEND` nor `TRUNCATE` says what to do with it.
    pub fn file(outfile: &IntoOutfile) -> Result<Self> {
        let name = file_name(outfile)?;
        let method = match &outfile.compression {
            Some(Literal::String(method)) => Some(String::from_utf8_lossy(method).into_owned()),
            _ => None,
        };
        let level = match &outfile.level {
            Some(Literal::UInt64(level)) => u32::try_from(*level).ok(),
            _ => None,
        };
        let compression = Compression::named(method.as_deref(), &name)?;
        let mut options = OpenOptions::new();
        match outfile.mode {
            OutfileMode::Create => options.write(true).create_new(true),
            OutfileMode::Truncate => options.write(true).create(true).truncate(true),
            OutfileMode::Append => options.append(true).create(true),
        };
        let file = options.open(&name).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                let message = format!("File {name} exists already; INTO OUTFILE … TRUNCATE or APPEND writes to it");
                Error::new(ErrorCode::CANNOT_OPEN_FILE, message)
            }
            _ => file_error(&name, &error),
        })?;
        let writer: Box<dyn Finish> = compression.writer(file, level).map_err(|error| file_error(&name, &error))?;
        Ok(Destination { stdout: outfile.and_stdout, file: Some(writer), pager: None })
    }

    /// Whether it is the terminal itself, whose width tables have to fit.
    pub fn is_terminal(&self) -> bool {
        self.stdout && self.file.is_none() && io::stdout().is_terminal()
    }

    /// Whether what is written can be seen while the statement runs.
    pub fn is_seen(&self) -> bool {
        self.stdout && io::stdout().is_terminal() || self.pager.is_some()
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.stdout {
            let mut stdout = io::stdout().lock();
            stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|error| output_error(&error))?;
        }
        if let Some(file) = &mut self.file {
            file.write_all(bytes).map_err(|error| output_error(&error))?;
        }
        if let Some(input) = self.pager.as_mut().and_then(|pager| pager.stdin.as_mut()) {
            input.write_all(bytes).map_err(|error| output_error(&error))?;
        }
        Ok(())
    }

    /// Writes what is held back and waits for the pager's user.
    fn finish(mut self) -> Result<()> {
        if let Some(file) = self.file.take() {
            file.finish().map_err(|error| output_error(&error))?;
        }
        self.close_pager();
        Ok(())
    }

    fn close_pager(&mut self) {
        if let Some(mut pager) = self.pager.take() {
            drop(pager.stdin.take());
            // How the pager ends is between it and its user.
            let _ = pager.wait();
        }
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        self.close_pager();
    }
}

/// The file that `INTO OUTFILE` names.
///
/// # Errors
/// Where it is no literal.
pub fn file_name(outfile: &IntoOutfile) -> Result<String> {
    match &outfile.file.kind {
        ExpressionKind::Literal(Literal::String(name)) => Ok(String::from_utf8_lossy(name).into_owned()),
        _ => Err(Error::new(ErrorCode::BAD_ARGUMENTS, "The file of INTO OUTFILE must be a string")),
    }
}

/// What a file could not do.
pub fn file_error(name: &str, error: &io::Error) -> Error {
    let code = match error.kind() {
        io::ErrorKind::NotFound => ErrorCode::FILE_DOESNT_EXIST,
        _ => ErrorCode::CANNOT_OPEN_FILE,
    };
    Error::new(code, format!("{name}: {error}"))
}

/// Whether an error is that nobody reads the output any more.
pub fn is_nobody_reading(error: &Error) -> bool {
    error.code == ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR && error.message.is_empty()
}

fn output_error(error: &io::Error) -> Error {
    let message = match error.kind() {
        io::ErrorKind::BrokenPipe => String::new(),
        _ => format!("The result cannot be written: {error}"),
    };
    Error::new(ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR, message)
}

/// A result on its way out.
pub struct ResultOutput {
    format: Box<dyn OutputFormat>,
    destination: Destination,
    buffer: Vec<u8>,
    /// Rows so far.
    pub rows: u64,
}

impl ResultOutput {
    /// Of a result with these columns.
    ///
    /// # Errors
    /// As [`output_format`].
    pub fn new(format: &str, schema: &Arc<Schema>, options: &FormatOptions, destination: Destination) -> Result<Self> {
        let mut output =
            ResultOutput { format: output_format(format, schema, options)?, destination, buffer: Vec::new(), rows: 0 };
        output.format.begin(&mut output.buffer);
        Ok(output)
    }

    /// Takes rows.
    ///
    /// # Errors
    /// Where they cannot be written in this format, or nobody takes them.
    pub fn block(&mut self, block: &Block) -> Result<()> {
        self.rows += block.rows() as u64;
        self.format.block(block, &mut self.buffer)
    }

    /// Takes totals.
    ///
    /// # Errors
    /// As [`block`](Self::block).
    pub fn totals(&mut self, block: &Block) -> Result<()> {
        self.format.totals(block, &mut self.buffer)
    }

    /// Takes extremes.
    ///
    /// # Errors
    /// As [`block`](Self::block).
    pub fn extremes(&mut self, block: &Block) -> Result<()> {
        self.format.extremes(block, &mut self.buffer)
    }

    /// Whether there is something to write now.
    pub fn is_ready(&self) -> bool {
        self.buffer.len() >= WRITE_BYTES || (!self.buffer.is_empty() && self.destination.is_seen())
    }

    /// Whether writing would disturb what else the terminal shows.
    pub fn is_seen(&self) -> bool {
        self.destination.is_seen()
    }

    /// Writes what there is.
    ///
    /// # Errors
    /// Where nobody takes it.
    pub fn write(&mut self) -> Result<()> {
        self.destination.write(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes the end of the result.
    ///
    /// # Errors
    /// As [`block`](Self::block).
    pub fn finish(mut self, statistics: &Statistics) -> Result<()> {
        self.format.end(statistics, &mut self.buffer)?;
        self.write()?;
        self.destination.finish()
    }
}

/// The format that a file's name tells by its end: `hits.csv.gz` is `CSV`.
pub fn format_of_file(name: &str) -> Option<&'static str> {
    let (_, end) = Compression::plain_name(name).rsplit_once('.')?;
    squall_formats::formats().map(|(format, ..)| format).find(|format| format.eq_ignore_ascii_case(end))
}

/// Opens a file to read.
///
/// # Errors
/// Where it is not there or may not be read.
pub fn open(name: &str) -> Result<File> {
    File::open(name).map_err(|error| file_error(name, &error))
}
