//! The three workloads: their tables as resources of this crate have them, how a size of one is called, and where its owners keep the queries.

use squall_types::{Error, Result};

use crate::benchmark::statements;
use crate::datagen;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Workload {
    /// ClickBench: 43 queries over one wide table of visits to web sites
    Clickbench,
    /// Star Schema Benchmark: 13 joins of one fact table with its dimensions
    Ssb,
    /// TPC-H: 22 questions over eight tables
    Tpch,
}

/// How much data: rows of ClickBench's table, and the scale factor of the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size {
    pub rows: u64,
    pub scale_factor: f64,
}

impl Workload {
    /// Its name in commands, files and tables of results.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Clickbench => "clickbench",
            Workload::Ssb => "ssb",
            Workload::Tpch => "tpch",
        }
    }

    /// The database that has it at a size; also the folder of its files.
    pub fn database(self, size: Size) -> String {
        match self {
            Workload::Clickbench => format!("{}_{}", self.name(), size.rows),
            _ => format!("{}_{}", self.name(), size.scale_factor.to_string().replace('.', "_")),
        }
    }

    /// How a reader calls the size.
    pub fn size_text(self, size: Size) -> String {
        match self {
            Workload::Clickbench => format!("{} rows", size.rows),
            _ => format!("scale factor {}", size.scale_factor),
        }
    }

    /// Its tables, without duplicates of names.
    ///
    /// # Errors
    /// A resource that is not of its form.
    pub fn tables(self) -> Result<Vec<Table>> {
        let script = match self {
            Workload::Clickbench => datagen::create_table_sql("hits"),
            Workload::Ssb => include_str!("../../analytics/ssb.sql").to_owned(),
            Workload::Tpch => include_str!("../../analytics/tpch.sql").to_owned(),
        };
        statements(&script).iter().map(|statement| Table::parse(statement)).collect()
    }

    /// The queries that come with Squall, where it may give them to others.
    pub fn own_queries(self) -> Option<&'static str> {
        match self {
            Workload::Ssb => Some(include_str!("../../analytics/ssb_queries.sql")),
            Workload::Clickbench | Workload::Tpch => None,
        }
    }

    /// Where the queries are to be had, and where they go.
    pub fn where_queries_are(self) -> &'static str {
        match self {
            Workload::Clickbench => {
                "the repository github.com/ClickHouse/ClickBench: its clickhouse/queries.sql as clickbench.sql, and duckdb/queries.sql as \
                 clickbench.duckdb.sql"
            }
            Workload::Ssb => "this program: without the file it asks its own",
            Workload::Tpch => {
                "the repository github.com/ByConity/ByConity: the folder tests/optimizers/tpch/queries (q1.sql to q22.sql) as the folder \
                 tpch; queries that DuckDB words otherwise (q15.sql drops a view as a table) as files of the same names in the folder tpch.duckdb"
            }
        }
    }
}

/// A table of a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Names and types of its columns.
    pub columns: Vec<(String, String)>,
    /// The statement that creates it, after its name.
    definition: String,
}

impl Table {
    /// Reads `CREATE TABLE name`, a line `(`, a column a line, a line `)`, the engine.
    fn parse(statement: &str) -> Result<Self> {
        let bad = || Error::logical(format!("Not the definition of a table: {statement}"));
        let (_, statement_rest) = statement.split_once("CREATE TABLE ").ok_or_else(bad)?;
        let (name, definition) = statement_rest.split_once('\n').ok_or_else(bad)?;
        let (columns, _) = definition.strip_prefix("(\n").and_then(|rest| rest.split_once("\n)")).ok_or_else(bad)?;
        let column = |line: &str| {
            let (name, data_type) = line.trim().trim_end_matches(',').split_once(' ')?;
            Some((name.to_owned(), data_type.to_owned()))
        };
        let columns = columns.lines().map(column).collect::<Option<Vec<_>>>().ok_or_else(bad)?;
        Ok(Table { name: name.trim().to_owned(), columns, definition: definition.to_owned() })
    }

    /// The statement that creates it under another name.
    pub fn create_sql(&self, name: &str) -> String {
        format!("CREATE TABLE {name}\n{}", self.definition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_with_their_columns() {
        let shape = |workload: Workload| -> Vec<(String, usize)> {
            workload.tables().unwrap().into_iter().map(|table| (table.name, table.columns.len())).collect()
        };
        assert_eq!(shape(Workload::Clickbench), [("hits".to_owned(), 105)]);
        let names = ["region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem"];
        let columns = [3, 4, 9, 7, 5, 8, 9, 16];
        assert_eq!(shape(Workload::Tpch), names.map(str::to_owned).into_iter().zip(columns).collect::<Vec<_>>());
        assert_eq!(shape(Workload::Ssb).len(), 5);
        let part = &Workload::Tpch.tables().unwrap()[2];
        assert_eq!(part.columns[7], ("p_retailprice".to_owned(), "Decimal(15, 2)".to_owned()));
        let sql = part.create_sql("a.b");
        assert!(sql.starts_with("CREATE TABLE a.b\n(\n    p_partkey Int32,\n") && sql.ends_with("ORDER BY p_partkey"));
    }

    #[test]
    fn a_size_has_a_database_of_its_own() {
        let size = Size { rows: 1000, scale_factor: 0.1 };
        assert_eq!(Workload::Clickbench.database(size), "clickbench_1000");
        assert_eq!(Workload::Tpch.database(size), "tpch_0_1");
        assert_eq!(Workload::Ssb.database(Size { scale_factor: 10.0, ..size }), "ssb_10");
    }
}
