//! The tables of a workload as Parquet files, from which every engine loads: visits and TPC-H's tables are generated in this process, SSB's are made of
//! TPC-H's by SQL on the Squall under test. A file that is there is not made again.

use std::fmt::{Display, Write as _};
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use squall_formats::{FormatOptions, OutputFormat, Statistics, input_format, output_format};
use squall_types::{Block, DataType, Error, Result, Schema};
use tpchgen::csv::{CustomerCsv, LineItemCsv, NationCsv, OrderCsv, PartCsv, PartSuppCsv, RegionCsv, SupplierCsv};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};

use super::workload::{Size, Table, Workload};
use crate::datagen::{Hits, in_order, schema};
use crate::file_error::file_error;

/// Pieces of TPC-H's tables at scale factor 1: some 100,000 rows of the largest one each.
const PIECES: f64 = 60.0;

/// The folder of a workload's files at a size.
pub fn folder(work: &Path, workload: Workload, size: Size) -> PathBuf {
    work.join("data").join(workload.database(size))
}

/// The file of a table.
pub fn file(work: &Path, workload: Workload, size: Size, table: &str) -> PathBuf {
    folder(work, workload, size).join(format!("{table}.parquet"))
}

/// Generates a table of ClickBench or TPC-H, if its file is not there.
///
/// # Errors
/// A file that cannot be written; a workload whose tables are not generated.
pub fn generate(work: &Path, workload: Workload, size: Size, table: &Table) -> Result<()> {
    let file = file(work, workload, size, &table.name);
    if file.is_file() {
        return Ok(());
    }
    println!("  generates {}", file.display());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let part = Part::create(&file)?;
    match workload {
        Workload::Clickbench => {
            let hits = Hits::new(0, size.rows);
            let mut parquet = Parquet::new(part, &schema())?;
            in_order(
                hits.chunks(),
                threads,
                |chunk| hits.chunk(chunk).into_block(schema()),
                |block| parquet.put(&block),
            )?;
            parquet.finish()
        }
        Workload::Tpch => {
            let schema = schema_of(table)?;
            let pieces = match table.name.as_str() {
                "region" | "nation" => 1,
                _ => (size.scale_factor * PIECES).ceil() as i32,
            };
            let mut parquet = Parquet::new(part, &schema)?;
            let make = |piece: u64| {
                let csv = tpch_csv(&table.name, size.scale_factor, piece as i32 + 1, pieces)?;
                read_csv(&csv, &schema)
            };
            in_order(pieces as u64, threads, make, |blocks| blocks?.iter().try_for_each(|block| parquet.put(block)))?;
            parquet.finish()
        }
        Workload::Ssb => Err(Error::logical("The tables of SSB are made of those of TPC-H")),
    }
}

fn schema_of(table: &Table) -> Result<Arc<Schema>> {
    let columns = table.columns.iter().map(|(name, data_type)| Ok((name.as_str(), DataType::parse(data_type)?)));
    Ok(Arc::new(Schema::new(columns.collect::<Result<Vec<_>>>()?)))
}

/// A piece of a table of TPC-H; pieces are counted from 1.
fn tpch_csv(table: &str, scale_factor: f64, piece: i32, pieces: i32) -> Result<String> {
    macro_rules! rows {
        ($generator:ident, $csv:ident) => {
            lines($generator::new(scale_factor, piece, pieces).iter().map($csv::new))
        };
    }
    Ok(match table {
        "region" => rows!(RegionGenerator, RegionCsv),
        "nation" => rows!(NationGenerator, NationCsv),
        "part" => rows!(PartGenerator, PartCsv),
        "supplier" => rows!(SupplierGenerator, SupplierCsv),
        "partsupp" => rows!(PartSuppGenerator, PartSuppCsv),
        "customer" => rows!(CustomerGenerator, CustomerCsv),
        "orders" => rows!(OrderGenerator, OrderCsv),
        "lineitem" => rows!(LineItemGenerator, LineItemCsv),
        other => return Err(Error::logical(format!("TPC-H has no table {other}"))),
    })
}

fn lines(rows: impl Iterator<Item = impl Display>) -> String {
    let mut text = String::new();
    for row in rows {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{row}");
    }
    text
}

fn read_csv(csv: &str, schema: &Arc<Schema>) -> Result<Vec<Block>> {
    let mut format = input_format("CSV", schema, &FormatOptions::default())?;
    let mut blocks = Vec::new();
    format.feed(csv.as_bytes(), &mut blocks)?;
    format.finish(&mut blocks)?;
    Ok(blocks.into_iter().map(|read| read.block).collect())
}

/// A file under another name until it is whole.
#[derive(Debug)]
pub struct Part {
    file: BufWriter<File>,
    path: PathBuf,
    whole: PathBuf,
}

impl Part {
    /// Begins `whole`, in a folder that is made where it is not there.
    ///
    /// # Errors
    /// `CANNOT_OPEN_FILE`.
    pub fn create(whole: &Path) -> Result<Self> {
        let path = whole.with_extension("part");
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| file_error(folder, &error))?;
        }
        let file = File::create(&path).map_err(|error| file_error(&path, &error))?;
        Ok(Part { file: BufWriter::new(file), path, whole: whole.to_path_buf() })
    }

    /// Appends.
    ///
    /// # Errors
    /// `CANNOT_OPEN_FILE`.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| file_error(&self.path, &error))
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// `CANNOT_OPEN_FILE`.
    pub fn finish(mut self) -> Result<()> {
        self.file.flush().map_err(|error| file_error(&self.path, &error))?;
        fs::rename(&self.path, &self.whole).map_err(|error| file_error(&self.whole, &error))
    }
}

/// Blocks on their way into a Parquet file.
struct Parquet {
    part: Part,
    format: Box<dyn OutputFormat>,
    bytes: Vec<u8>,
}

impl Parquet {
    fn new(part: Part, schema: &Arc<Schema>) -> Result<Self> {
        let mut parquet =
            Parquet { part, format: output_format("Parquet", schema, &FormatOptions::default())?, bytes: Vec::new() };
        parquet.format.begin(&mut parquet.bytes);
        parquet.write()?;
        Ok(parquet)
    }

    fn put(&mut self, block: &Block) -> Result<()> {
        self.format.block(block, &mut self.bytes)?;
        self.write()
    }

    fn finish(mut self) -> Result<()> {
        self.format.end(&Statistics::default(), &mut self.bytes)?;
        self.write()?;
        self.part.finish()
    }

    fn write(&mut self) -> Result<()> {
        self.part.write(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_of_tpch_is_of_its_types() {
        for table in Workload::Tpch.tables().unwrap() {
            let csv = tpch_csv(&table.name, 0.001, 1, 1).unwrap();
            let rows: usize = read_csv(&csv, &schema_of(&table).unwrap()).unwrap().iter().map(Block::rows).sum();
            assert_eq!(rows, csv.lines().count(), "{}", table.name);
        }
    }

    #[test]
    fn pieces_are_the_table() {
        let whole = tpch_csv("orders", 0.001, 1, 1).unwrap();
        let pieces: String = (1..=3).map(|piece| tpch_csv("orders", 0.001, piece, 3).unwrap()).collect();
        assert_eq!(whole.lines().count(), 1500);
        assert!(whole == pieces);
    }

    #[test]
    fn files_are_whole_or_not_there() {
        let work = tempfile::tempdir().unwrap();
        let size = Size { rows: 10, scale_factor: 0.001 };
        let tables = Workload::Tpch.tables().unwrap();
        generate(work.path(), Workload::Tpch, size, &tables[0]).unwrap();
        let path = file(work.path(), Workload::Tpch, size, "region");
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
        assert_eq!(fs::read_dir(folder(work.path(), Workload::Tpch, size)).unwrap().count(), 1);
        // What is there stays.
        fs::write(&path, "mine").unwrap();
        generate(work.path(), Workload::Tpch, size, &tables[0]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }
}
