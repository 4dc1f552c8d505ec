//! The queries of a workload as files in the working folder have them: `queries/<workload>.sql`, or a folder `queries/<workload>` with a file a query. Beside
//! it `<workload>.duckdb` has what DuckDB words otherwise.

use std::fs;
use std::path::{Path, PathBuf};

use squall_types::{Error, ErrorCode, Result};

use super::workload::Workload;
use crate::benchmark::statements;
use crate::file_error::file_error;

/// One query: mostly one statement; TPC-H's fifteenth makes a view first and drops it at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// What it is called in results: `q1`, or its file's name.
    pub name: String,
    /// For all engines but DuckDB.
    pub statements: Vec<String>,
    /// For DuckDB.
    pub duckdb: Vec<String>,
}

/// Reads the queries of a workload from the folder `queries` in `work`.
///
/// # Errors
/// Where there are none, with where to get them; files that cannot be read; another number of queries for DuckDB.
pub fn read(work: &Path, workload: Workload) -> Result<Vec<Query>> {
    let folder = work.join("queries");
    let Some(named) = read_form(&folder, workload.name())?.or_else(|| Some(number(workload.own_queries()?))) else {
        return Err(Error::new(
            ErrorCode::FILE_DOESNT_EXIST,
            format!(
                "The queries belong to the benchmark's owners and do not come with Squall. Put them into {}, from {}",
                folder.display(),
                workload.where_queries_are()
            ),
        ));
    };
    let is_folder = folder.join(workload.name()).is_dir();
    let other = read_form(&folder, &format!("{}.duckdb", workload.name()))?;
    if let Some(other) = &other
        && !is_folder
        && other.len() != named.len()
    {
        let message = format!("{} queries for DuckDB, and {} for the others", other.len(), named.len());
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    }
    let in_duckdb = |name: &str| other.iter().flatten().find(|(other, _)| other == name).map(|(_, own)| own.clone());
    Ok(named
        .into_iter()
        .map(|(name, statements)| Query {
            duckdb: in_duckdb(&name).unwrap_or_else(|| statements.clone()),
            name,
            statements,
        })
        .collect())
}

type Named = (String, Vec<String>);

/// `NAME.sql`, or else the folder `NAME`; nothing where there is neither.
fn read_form(folder: &Path, name: &str) -> Result<Option<Vec<Named>>> {
    let file = folder.join(format!("{name}.sql"));
    if file.is_file() {
        return Ok(Some(number(&text(&file)?)));
    }
    let folder = folder.join(name);
    if !folder.is_dir() {
        return Ok(None);
    }
    let entries = fs::read_dir(&folder).map_err(|error| file_error(&folder, &error))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "sql"));
    let stem = |file: &Path| file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    // q2 comes before q10.
    files.sort_by_key(|file| (stem(file).len(), stem(file)));
    let queries = files.iter().map(|file| Ok((stem(file), statements(&text(file)?))));
    Ok(Some(queries.collect::<Result<_>>()?))
}

/// The queries of a script, numbered from 1: between semicolons, or one a line where there are none and each line begins one.
fn number(script: &str) -> Vec<Named> {
    let lines: Vec<String> = script.lines().flat_map(statements).collect();
    let begins = |line: &String| {
        let word = line.split_ascii_whitespace().next().unwrap_or_default();
        ["SELECT", "WITH"].iter().any(|first| word.eq_ignore_ascii_case(first))
    };
    let between_semicolons = statements(script);
    let queries = if between_semicolons.len() == 1 && lines.iter().all(begins) { lines } else { between_semicolons };
    queries.into_iter().enumerate().map(|(at, query)| (format!("q{}", at + 1), vec![query])).collect()
}

fn text(file: &Path) -> Result<String> {
    fs::read_to_string(file).map_err(|error| file_error(file, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A working folder with these files in its folder `queries`.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let work = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = work.path().join("queries").join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        work
    }

    #[test]
    fn scripts_are_numbered_by_semicolons_or_lines() {
        let texts = |script: &str| -> Vec<String> { number(script).into_iter().flat_map(|(_, query)| query).collect() };
        assert_eq!(texts("SELECT\n1;\n-- two\nSELECT ';';\n"), ["SELECT\n1", "-- two\nSELECT ';'"]);
        assert_eq!(texts("SELECT 1\n\nSELECT 2\n"), ["SELECT 1", "SELECT 2"]);
        assert_eq!(texts("SELECT\n1;"), ["SELECT\n1"]);
        assert_eq!(texts("SELECT 1\nFROM t"), ["SELECT 1\nFROM t"]);
        assert_eq!(number("SELECT 1; SELECT 2")[1].0, "q2");
    }

    #[test]
    fn duckdb_has_its_own_words() {
        let work =
            folder(&[("clickbench.sql", "SELECT 1;\nSELECT 2;"), ("clickbench.duckdb.sql", "SELECT 1;\nSELECT 3;")]);
        let queries = read(work.path(), Workload::Clickbench).unwrap();
        assert_eq!(queries.len(), 2);
        assert_eq!((&queries[1].statements[0][..], &queries[1].duckdb[0][..]), ("SELECT 2", "SELECT 3"));
        let work = folder(&[("clickbench.sql", "SELECT 1;\nSELECT 2;"), ("clickbench.duckdb.sql", "SELECT 1;")]);
        assert_eq!(read(work.path(), Workload::Clickbench).unwrap_err().code, ErrorCode::BAD_ARGUMENTS);
    }

    #[test]
    fn folders_have_a_file_a_query() {
        let work = folder(&[
            ("tpch/q10.sql", "SELECT 10"),
            ("tpch/q2.sql", "CREATE VIEW v AS SELECT 2;\nSELECT * FROM v;\nDROP TABLE v;"),
            ("tpch.duckdb/q2.sql", "SELECT 2"),
            ("tpch/README", "no query"),
        ]);
        let queries = read(work.path(), Workload::Tpch).unwrap();
        let names: Vec<&str> = queries.iter().map(|query| query.name.as_str()).collect();
        assert_eq!(names, ["q2", "q10"]);
        assert_eq!((queries[0].statements.len(), queries[0].duckdb.len()), (3, 1));
        assert_eq!(queries[1].duckdb, ["SELECT 10"]);
    }

    #[test]
    fn who_has_no_queries_learns_where_they_are() {
        let work = folder(&[]);
        let error = read(work.path(), Workload::Clickbench).unwrap_err();
        assert_eq!(error.code, ErrorCode::FILE_DOESNT_EXIST);
        assert!(error.to_string().contains("ClickHouse/ClickBench"), "{error}");
        assert!(read(work.path(), Workload::Tpch).unwrap_err().to_string().contains("tests/optimizers/tpch"));
        assert_eq!(read(work.path(), Workload::Ssb).unwrap().len(), 13);
    }
}
