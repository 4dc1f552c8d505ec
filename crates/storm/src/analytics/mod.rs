//! `squall storm analytics`: ClickBench, SSB and TPC-H on Squall, and in turns on ClickHouse, chdb and DuckDB where they are given, on one thread and on more.
//! This file tells its story; `workload` has the tables, `query` reads the queries, `data` makes the files, `engine` runs statements (`http` over the network),
//! `row` is what one query took, `summary` what all come to.

mod data;
mod engine;
mod http;
mod query;
mod row;
mod summary;
mod workload;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use squall_types::{Error, ErrorCode, Result};

use crate::benchmark::statements;
use crate::chart::Chart;
use crate::file_error::file_error;
use crate::server::{Kind, Server};
use engine::Engine;
use query::Query;
use row::Row;
use summary::{SQUALL, Summary, thread_word};
use workload::{Size, Table, Workload};

/// A query is not run again after so much time: the shape of slow ones is clear.
const ENOUGH_MS: f64 = 60_000.0;

/// Run ClickBench, SSB or TPC-H on Squall, and in turns on ClickHouse, chdb and DuckDB.
///
/// The data is generated once into the folder --work, as Parquet, and loaded once into each engine; later runs find it there. Each query runs three times: the
/// first may read from disk, the best of the others counts. Answers with other numbers of rows than the peers' are named.
///
/// Queries that belong to a benchmark's owners do not come with Squall: where they are missing, the command says where they are.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  squall storm analytics ssb --work bench --scale-factor 0.1 --threads 1,2
  squall storm analytics clickbench --work bench --rows 1000000 --python venv/bin/python
  squall storm analytics tpch --work bench --url http://127.0.0.1:8123 --peer-url http://127.0.0.1:18123

Files in --work: queries/<workload>.sql (or the folder queries/<workload> with a file a query) and the same with .duckdb for what DuckDB words
otherwise; data/ with the Parquet files; squall/, chdb/ and duckdb/ with the engines' own tables.")]
pub struct Args {
    /// What is measured
    #[arg(value_enum)]
    workload: Workload,
    /// Folder of queries, generated files and tables
    #[arg(long, value_name = "DIR")]
    work: PathBuf,
    /// Rows of ClickBench's table
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// Size of TPC-H and SSB: at 1 the largest table has six million rows
    #[arg(long, default_value_t = 0.1, value_parser = parse_scale_factor)]
    scale_factor: f64,
    /// Numbers of threads: each query runs on each
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096))]
    threads: Vec<u32>,
    /// How often each query runs
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Only these queries, by name: q1,q7
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    only: Vec<String>,
    /// A Squall that is up, its HTTP interface; without it one is started with its data in --work
    #[arg(long, value_name = "URL", conflicts_with = "squall")]
    url: Option<String>,
    /// The program of the Squall to start; this one without it
    #[arg(long, value_name = "FILE")]
    squall: Option<PathBuf>,
    /// A ClickHouse beside it, its HTTP interface: http://[USER:PASSWORD@]HOST:PORT
    #[arg(long, value_name = "URL")]
    peer_url: Option<String>,
    /// A Python that has chdb or DuckDB (pip install chdb duckdb): they are measured too
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
    /// Seconds after which a query or the load of a table is given up
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Folder for the CSV and the charts
    #[arg(long, value_name = "DIR", default_value = "storm-results")]
    output: PathBuf,
}

fn parse_scale_factor(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|&number| (0.001..=1000.0).contains(&number));
    number.ok_or_else(|| "expected a number from 0.001 to 1000".to_owned())
}

/// Runs `squall storm analytics`. The server and the processes that it starts end when it returns.
///
/// # Errors
/// No queries, a server that does not start or answer, a folder that cannot be written. What fails on a peer is said and left out.
pub fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))?;
    runtime.block_on(measure(args))
}

async fn measure(args: &Args) -> Result<()> {
    let mut queries = query::read(&args.work, args.workload)?;
    queries.retain(|query| args.only.is_empty() || args.only.contains(&query.name));
    if queries.is_empty() {
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "No query is of that name"));
    }
    for folder in [&args.work, &args.output] {
        std::fs::create_dir_all(folder).map_err(|error| file_error(folder, &error))?;
    }
    let bench = Bench::new(args, args.work.canonicalize().map_err(|error| file_error(&args.work, &error))?);
    let server = if args.url.is_none() { Some(bench.start_squall().await?) } else { None };
    let url = match (&args.url, &server) {
        (Some(url), _) => url.clone(),
        (None, Some(server)) => format!("http://127.0.0.1:{}", server.http_port()),
        (None, None) => return Err(Error::logical("No server was started")),
    };
    let outcome = bench.measure(&url, &queries).await;
    let stopped = server.map_or(Ok(()), Server::stop);
    outcome.and(stopped)
}

/// What all steps know.
struct Bench<'a> {
    args: &'a Args,
    work: PathBuf,
    size: Size,
    database: String,
    threads: Vec<u32>,
    patience: Duration,
}

impl<'a> Bench<'a> {
    fn new(args: &'a Args, work: PathBuf) -> Self {
        let size = Size { rows: args.rows, scale_factor: args.scale_factor };
        let cpus = std::thread::available_parallelism().map_or(1, usize::from) as u32;
        Bench {
            args,
            work,
            size,
            database: args.workload.database(size),
            threads: if args.threads.is_empty() { vec![cpus] } else { args.threads.clone() },
            patience: Duration::from_secs(args.timeout),
        }
    }

    async fn start_squall(&self) -> Result<Server> {
        let folder = self.work.join(SQUALL);
        let cannot = |error| file_error(&folder, &error);
        std::fs::create_dir_all(&folder).map_err(cannot)?;
        let program = self.args.squall.clone().map_or_else(std::env::current_exe, Ok).map_err(cannot)?;
        let program = program.canonicalize().map_err(cannot)?;
        // It tells the CPU time of each run.
        let query_log = "<database>system</database><table>query_log</table>".to_owned();
        Server::start(&Kind::Squall { program, settings: vec![("query_log", query_log)] }, &folder).await
    }

    async fn measure(&self, url: &str, queries: &[Query]) -> Result<()> {
        let squall = Engine::server(SQUALL, url, self.patience).await?;
        let tables = self.args.workload.tables()?;
        println!(
            "{}, {}, {} queries; {} CPUs, which clients and engines share",
            self.args.workload.name(),
            self.args.workload.size_text(self.size),
            queries.len(),
            std::thread::available_parallelism().map_or(1, usize::from)
        );
        let squall = self.make_files(squall, &tables).await?;
        let mut engines = Vec::new();
        for mut engine in std::iter::once(squall).chain(self.peers().await?) {
            println!("{}: {}", engine.name, engine.title);
            match self.load(&mut engine, self.args.workload, &tables).await {
                Ok(()) => engine.use_database(&self.database),
                Err(error) if engine.name != SQUALL => {
                    println!("  {} is left out: {error}", engine.name);
                    continue;
                }
                Err(error) => return Err(error),
            }
            engines.push(engine);
        }
        let mut rows = self.run_queries(&mut engines, queries).await?;
        if let Some(squall) = engines.iter_mut().find(|engine| engine.name == SQUALL) {
            self.add_cpu_times(squall, &mut rows).await;
        }
        self.write_csv(&rows)?;
        let names: Vec<&'static str> = engines.iter().map(|engine| engine.name).collect();
        let query_names: Vec<String> = queries.iter().map(|query| query.name.clone()).collect();
        let summary = Summary { rows: &rows, queries: &query_names, engines: &names, threads: &self.threads };
        print!("{}", summary.text());
        let title = format!("{}, {}", self.args.workload.name(), self.args.workload.size_text(self.size));
        self.draw("ratio", summary.ratio_chart(&title))?;
        self.draw("speed-up", summary.speed_up_chart(&title))?;
        self.draw("scaling", summary.scaling_chart(&title))?;
        println!("Written to {}", self.output("csv").display());
        Ok(())
    }

    /// The Parquet files of all tables. Those of SSB are what Squall answers over the tables of TPC-H, which it loads for that.
    async fn make_files(&self, mut squall: Engine, tables: &[Table]) -> Result<Engine> {
        let (work, size) = (&self.work, self.size);
        let missing = |table: &&Table| !data::file(work, self.args.workload, size, &table.name).is_file();
        if self.args.workload != Workload::Ssb {
            tables.iter().try_for_each(|table| data::generate(work, self.args.workload, size, table))?;
            return Ok(squall);
        }
        if !tables.iter().any(|table| missing(&table)) {
            return Ok(squall);
        }
        let sources = Workload::Tpch.tables()?;
        sources.iter().try_for_each(|table| data::generate(work, Workload::Tpch, size, table))?;
        self.load(&mut squall, Workload::Tpch, &sources).await?;
        squall.use_database(&Workload::Tpch.database(size));
        let http = squall.http().ok_or_else(|| Error::logical("Squall is a server"))?;
        let answers = statements(include_str!("../../analytics/ssb_from_tpch.sql"));
        for (table, answer) in tables.iter().zip(answers).filter(|(table, _)| missing(table)) {
            let file = data::file(work, self.args.workload, size, &table.name);
            println!("  makes {}", file.display());
            let mut part = data::Part::create(&file)?;
            http.save(&format!("{answer} FORMAT Parquet"), &mut part).await?;
            part.finish()?;
        }
        Ok(squall)
    }

    /// The peers that were asked for. A library that the Python does not have is said and left out.
    async fn peers(&self) -> Result<Vec<Engine>> {
        let mut peers = Vec::new();
        if let Some(url) = &self.args.peer_url {
            peers.push(Engine::server("clickhouse", url, self.patience).await?);
        }
        if let Some(python) = &self.args.python {
            for library in ["chdb", "duckdb"] {
                match Engine::library(library, python, &self.work, &self.database, self.patience).await {
                    Ok(engine) => peers.push(engine),
                    Err(error) => println!("{error}"),
                }
            }
        }
        Ok(peers)
    }

    async fn load(&self, engine: &mut Engine, workload: Workload, tables: &[Table]) -> Result<()> {
        let threads = self.threads.iter().copied().max().unwrap_or(1);
        for table in tables {
            let file = data::file(&self.work, workload, self.size, &table.name);
            let begun = Instant::now();
            if engine.load(&workload.database(self.size), table, &file, threads).await? {
                println!("  {} loads {} in {:.1} s", engine.name, table.name, begun.elapsed().as_secs_f64());
            }
        }
        Ok(())
    }

    /// All queries, each on all engines in turns on each number of threads; what was measured is in the CSV at once.
    async fn run_queries(&self, engines: &mut [Engine], queries: &[Query]) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for query in queries {
            for &threads in &self.threads {
                let mut measured = Vec::new();
                for engine in engines.iter_mut() {
                    measured.push(self.run_query(engine, query, threads).await);
                }
                println!("{}", line(&measured));
                rows.append(&mut measured);
                self.write_csv(&rows)?;
            }
        }
        Ok(rows)
    }

    async fn run_query(&self, engine: &mut Engine, query: &Query, threads: u32) -> Row {
        let (query_name, engine_name) = (query.name.clone(), engine.name);
        let mut row = Row {
            query: query_name,
            engine: engine_name,
            threads,
            rows: 0,
            runs_ms: Vec::new(),
            cpu_ms: None,
            error: None,
        };
        while row.runs_ms.len() < self.args.runs as usize && row.runs_ms.iter().sum::<f64>() < ENOUGH_MS {
            engine.name_next_query(&self.query_id(&row, row.runs_ms.len()));
            match engine.run(query, threads).await {
                Ok(answer) => {
                    row.rows = answer.rows;
                    row.runs_ms.push(answer.ms);
                }
                Err(error) => {
                    row.error = Some(error.message.replace('\n', " "));
                    break;
                }
            }
        }
        row
    }

    /// What a run is called in the server's log.
    fn query_id(&self, row: &Row, run: usize) -> String {
        let (process, workload) = (std::process::id(), self.args.workload.name());
        format!("analytics-{process}-{workload}-{}-{}-{run}", row.query, row.threads)
    }

    /// Adds the CPU times of Squall's runs, from its query log; without one there are none.
    async fn add_cpu_times(&self, squall: &mut Engine, rows: &mut [Row]) {
        squall.name_next_query("");
        let Some(http) = squall.http() else { return };
        let sql = format!(
            "SELECT query_id, sum(ProfileEvents['UserTimeMicroseconds'] + ProfileEvents['SystemTimeMicroseconds']) FROM system.query_log \
             WHERE type = 'QueryFinish' AND query_id LIKE 'analytics-{}-%' GROUP BY query_id",
            std::process::id()
        );
        let answer = async {
            http.run("SYSTEM FLUSH LOGS").await?;
            http.text(&sql).await
        };
        let Ok(text) = answer.await else { return };
        let times: HashMap<&str, f64> = text
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .filter_map(|(id, us)| Some((id, us.parse().ok()?)))
            .collect();
        for row in rows.iter_mut().filter(|row| row.engine == SQUALL) {
            let id = row.hot_run().map(|run| self.query_id(row, run));
            row.cpu_ms = id.and_then(|id| times.get(id.as_str())).map(|us| us / 1e3);
        }
    }

    fn write_csv(&self, rows: &[Row]) -> Result<()> {
        let runs = self.args.runs as usize;
        let mut csv = String::new();
        row::put_csv_head(runs, &mut csv);
        rows.iter().for_each(|row| row.put_csv(self.args.workload.name(), runs, &mut csv));
        self.write("csv", &csv)
    }

    fn draw(&self, name: &str, chart: Option<Chart>) -> Result<()> {
        chart.map_or(Ok(()), |chart| self.write(&format!("{name}.svg"), &chart.to_svg()))
    }

    /// A file of the results: `clickbench.csv`, `clickbench.ratio.svg`.
    fn output(&self, end: &str) -> PathBuf {
        self.args.output.join(format!("{}.{end}", self.args.workload.name()))
    }

    fn write(&self, end: &str, text: &str) -> Result<()> {
        let file = self.output(end);
        std::fs::write(&file, text).map_err(|error| file_error(&file, &error))
    }
}

/// What a reader sees of a query that all engines have run.
fn line(measured: &[Row]) -> String {
    let mut line = String::new();
    // Writing to a String cannot fail; so below.
    if let Some(Row { query, threads, .. }) = measured.first() {
        let _ = write!(line, "{query:<4} {threads:>3} {:<7}", thread_word(*threads));
    }
    for row in measured {
        let time = row.hot_ms().map_or_else(|| "fails".to_owned(), |ms| format!("{ms:.1} ms"));
        let _ = write!(line, "  {} {time:>11}", row.engine);
    }
    let mut answered = measured.iter().filter(|row| row.error.is_none());
    if let Some(first) = answered.next()
        && answered.any(|row| row.rows != first.rows)
    {
        line.push_str("  rows differ:");
        for row in measured.iter().filter(|row| row.error.is_none()) {
            let _ = write!(line, " {} {}", row.engine, row.rows);
        }
    }
    for row in measured {
        if let Some(error) = &row.error {
            let _ = write!(line, "\n     {}: {}", row.engine, error.chars().take(300).collect::<String>());
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(engine: &'static str, rows: u64, error: Option<&str>) -> Row {
        let error = error.map(str::to_owned);
        Row { query: "q7".to_owned(), engine, threads: 2, rows, runs_ms: vec![9.0, 1.5], cpu_ms: None, error }
    }

    #[test]
    fn lines_name_differences_and_failures() {
        let same = line(&[row(SQUALL, 3, None), row("chdb", 3, None)]);
        assert_eq!(same, "q7     2 threads  squall      1.5 ms  chdb      1.5 ms");
        let other = line(&[row(SQUALL, 3, None), row("chdb", 4, None), row("duckdb", 0, Some("no\nsuch"))]);
        assert!(other.contains("rows differ: squall 3 chdb 4\n     duckdb: no"), "{other}");
        assert!(other.contains("duckdb       fails"), "{other}");
    }

    #[test]
    fn each_table_of_ssb_has_what_fills_it() {
        let tables = Workload::Ssb.tables().unwrap();
        let answers = statements(include_str!("../../analytics/ssb_from_tpch.sql"));
        assert_eq!(tables.len(), answers.len());
        for (table, answer) in tables.iter().zip(&answers) {
            let columns = table.columns.iter().map(|(name, _)| name.as_str());
            let missing: Vec<&str> = columns.filter(|name| !answer.contains(name)).collect();
            assert!(missing.is_empty(), "{}: {missing:?}", table.name);
        }
    }
}
