//! `squall datagen`: makes data. The same seed and number of rows give the same bytes, whatever the machine and the number of
//! threads; the rows stream, so any size fits in memory.

mod hits;
mod in_order;
mod random;
mod table;
mod vocabulary;
mod world;
pub use hits::{CHUNK_ROWS, Hits};
pub use in_order::in_order;
pub use random::Random;
pub use table::{create_table_sql, schema};

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

use squall_formats::{FormatOptions, Statistics, output_format};
use squall_types::{Error, ErrorCode, Result};

use crate::file_error::file_error;

/// Rows of the table that the experiment loads: as many as the document's `hits_v1` has.
pub const HITS_V1_ROWS: u64 = 8_873_898;

/// Make data to load: the same seed and rows give the same bytes on every machine.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    table: Table,
}

#[derive(Debug, clap::Subcommand)]
enum Table {
    Hits(HitsArgs),
}

/// Visits to web sites: the `hits` table of ClickBench, 105 columns, with lifelike distributions.
#[derive(Debug, clap::Args)]
struct HitsArgs {
    /// Number of rows.
    #[arg(long, default_value_t = HITS_V1_ROWS)]
    rows: u64,
    /// Which table of that many rows: another seed gives other people, pages and visits.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Format of the rows: Native, Parquet, TabSeparated (TSV), CSV, JSONEachRow, RowBinary, or any other that Squall writes.
    #[arg(long, default_value = "Native")]
    format: String,
    /// File to write; standard output without it.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Threads that generate; all CPUs without it. The output does not depend on it.
    #[arg(long)]
    threads: Option<usize>,
    /// Print the CREATE TABLE statement for a table of this name instead of rows.
    #[arg(long, value_name = "TABLE", num_args = 0..=1, default_missing_value = "hits")]
    create_table: Option<String>,
}

/// Runs `squall datagen`.
///
/// # Errors
/// `CANNOT_OPEN_FILE`, `CANNOT_WRITE_TO_OSTREAM`.
pub fn run(args: &Args) -> Result<()> {
    let Table::Hits(args) = &args.table;
    let mut out: Box<dyn Write> = match &args.output {
        Some(path) => Box::new(File::create(path).map_err(|error| file_error(path, &error))?),
        None => Box::new(io::stdout().lock()),
    };
    match &args.create_table {
        Some(table) => write(&mut *out, format!("{};\n", create_table_sql(table)).as_bytes()),
        None => write_hits(args, &mut *out),
    }
    .and_then(|()| out.flush().map_err(cannot_write))
    .or_else(|error| match error {
        Stop::OutputClosed => Ok(()),
        Stop::Failed(error) => Err(error),
    })
}

/// Why no more is written.
enum Stop {
    /// Whoever read the output has enough.
    OutputClosed,
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Failed(error)
    }
}

fn cannot_write(error: io::Error) -> Stop {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Stop::OutputClosed,
        _ => Stop::Failed(Error::new(ErrorCode::CANNOT_WRITE_TO_OSTREAM, error.to_string())),
    }
}

fn write(out: &mut dyn Write, bytes: &[u8]) -> Result<(), Stop> {
    out.write_all(bytes).map_err(cannot_write)
}

fn write_hits(args: &HitsArgs, out: &mut dyn Write) -> Result<(), Stop> {
    let hits = Hits::new(args.seed, args.rows);
    let schema = schema();
    let options = FormatOptions::default();
    let threads = args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let mut format = output_format(&args.format, &schema, &options)?;
    let mut bytes = Vec::new();
    format.begin(&mut bytes);
    write(out, &bytes)?;
    if blocks_stand_alone(&args.format) {
        // The text of each chunk is made where the chunk is.
        let make = |chunk| {
            let mut bytes = Vec::new();
            let mut format = output_format(&args.format, &schema, &options)?;
            format.block(&hits.chunk(chunk).into_block(schema.clone()), &mut bytes)?;
            Ok::<_, Error>(bytes)
        };
        in_order(hits.chunks(), threads, make, |bytes| write(out, &bytes?))?;
    } else {
        let make = |chunk| hits.chunk(chunk).into_block(schema.clone());
        in_order(hits.chunks(), threads, make, |block| {
            bytes.clear();
            format.block(&block, &mut bytes)?;
            write(out, &bytes)
        })?;
    }
    bytes.clear();
    format.end(&Statistics::default(), &mut bytes)?;
    write(out, &bytes)
}

/// Whether a block is written the same whatever came before it: then blocks can be written on several threads.
fn blocks_stand_alone(format: &str) -> bool {
    let families = ["native", "tsv", "tabseparated", "tskv", "csv", "rowbinary", "jsoneachrow", "jsoncompacteachrow"];
    let format = format.to_ascii_lowercase();
    families.iter().any(|family| format.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `squall datagen hits` writes with these arguments.
    fn output(format: &str, rows: u64, threads: usize) -> Vec<u8> {
        let args = HitsArgs {
            rows,
            seed: 5,
            format: format.to_owned(),
            output: None,
            threads: Some(threads),
            create_table: None,
        };
        let mut out = Vec::new();
        assert!(write_hits(&args, &mut out).is_ok(), "{format}");
        out
    }

    #[test]
    #[ignore = "long"]
    fn bytes_do_not_depend_on_threads() {
        let rows = CHUNK_ROWS + 7;
        // One format whose blocks stand alone, and one that is written in one piece.
        for format in ["TSVWithNames", "Values"] {
            let one = output(format, rows, 1);
            assert!(one == output(format, rows, 3), "{format}");
        }
        let text = output("TSVWithNames", rows, 2);
        assert_eq!(text.iter().filter(|&&byte| byte == b'\n').count() as u64, rows + 1);
    }
}
