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

use squall_types::{Error, ErrorCode, Result};

use crate::native::encode_block;

/// Rows of the table that the experiment loads: as many as the seed's `hits_v1` has.
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
        Some(path) => Box::new(
            File::create(path)
                .map_err(|error| Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("{}: {error}", path.display())))?,
        ),
        None => Box::new(io::stdout().lock()),
    };
    let written = match &args.create_table {
        Some(table) => writeln!(out, "{};", create_table_sql(table)),
        None => write_hits(args, &mut out),
    };
    match written.and_then(|()| out.flush()) {
        // Whoever read the output has enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Error::new(ErrorCode::CANNOT_WRITE_TO_OSTREAM, error.to_string())),
        Ok(()) => Ok(()),
    }
}

fn write_hits(args: &HitsArgs, out: &mut dyn Write) -> io::Result<()> {
    let hits = Hits::new(args.seed, args.rows);
    let schema = schema();
    let threads = args.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let make = |chunk| {
        let mut bytes = Vec::new();
        encode_block(&hits.chunk(chunk).into_block(schema.clone()), 0, &mut bytes).map(|()| bytes)
    };
    in_order(hits.chunks(), threads, make, |bytes| out.write_all(&bytes.map_err(io::Error::other)?))
}
