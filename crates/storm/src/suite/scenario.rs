//! A scenario as its folder says it: `scenario.toml`, and beside it `config.d`, `users.d` and `dictionaries.d` for the servers' configuration and `setup.sql`
//! for their data. A scenario is only read here; what is measured of it is `plan`'s business.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use squall_types::{Error, ErrorCode, Result};

use crate::load::Wire;

/// The file that makes a folder a scenario.
const FILE: &str = "scenario.toml";

/// A value of a setting or of the matrix.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// Text.
    Text(String),
}

impl fmt::Display for Scalar {
    /// As SQL and names have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{}", u8::from(*value)),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}

/// One way in which all queries of a scenario are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// The protocol.
    pub protocol: Wire,
    /// Whether connections serve more than one request.
    #[serde(default = "yes")]
    pub keep_alive: bool,
    /// Whether native blocks are compressed.
    #[serde(default = "yes")]
    pub compression: bool,
}

fn yes() -> bool {
    true
}

/// A query that others run beside the one that is measured, without end.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// How many clients send it.
    pub clients: usize,
    /// The query.
    pub sql: String,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// Up to three words that tell it from the scenario's others.
    #[serde(default)]
    pub subtype: Vec<String>,
    /// The query; `{name}` stands for values of the scenario.
    pub sql: Option<String>,
    /// Or the path to GET.
    pub path: Option<String>,
    /// What every answer must be.
    pub expect: Option<String>,
    /// Whether answers may differ from one another.
    #[serde(default)]
    pub any_answer: bool,
    /// Parameters drawn anew for each request, as `squall storm run --parameter` has them.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Settings of this query, over those of the scenario.
    #[serde(default)]
    pub settings: BTreeMap<String, Scalar>,
    /// What runs beside it.
    pub beside: Option<Beside>,
    /// Also in an open loop, at so many times the rate that the closed one gave.
    #[serde(default)]
    pub overload: Vec<f64>,
    /// Seconds after which a client goes away.
    pub timeout: Option<f64>,
}

/// What the short form has otherwise.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Short {
    /// Numbers of clients.
    pub concurrency: Option<Vec<usize>>,
    /// Seconds of a step.
    pub seconds: Option<f64>,
    /// Values of the matrix.
    #[serde(default)]
    pub matrix: BTreeMap<String, Vec<Scalar>>,
    /// Numbers of idle connections.
    pub idle: Option<Vec<usize>>,
    /// Which variants, by their positions.
    pub variants: Option<Vec<usize>>,
    /// How many of the queries, from the first on.
    pub queries: Option<usize>,
    /// How large `scaled` numbers are.
    pub scale: Option<f64>,
    /// Whether it is left out.
    #[serde(default)]
    pub skip: bool,
}

/// A scenario.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What tables call it; `{name}` stands for values of the matrix. The folder's name without it.
    #[serde(default)]
    pub name: String,
    /// What it is for, in a line.
    pub description: String,
    /// Which features of a server it needs, in words: a server whose setup fails lacks them, and is left out with its message.
    pub needs: Option<String>,
    /// Numbers of clients; those of the suite without it.
    pub concurrency: Option<Vec<usize>>,
    /// Seconds of a step; those of the suite without it.
    pub seconds: Option<f64>,
    /// Settings of every query.
    #[serde(default)]
    pub settings: BTreeMap<String, Scalar>,
    /// Values that are gone through one by one, each with a server and data of its own.
    #[serde(default)]
    pub matrix: BTreeMap<String, Vec<Scalar>>,
    /// Numbers that `--scale` makes smaller.
    #[serde(default)]
    pub scaled: BTreeMap<String, u64>,
    /// Values that a server is asked for once its data is there.
    #[serde(default)]
    pub ask: BTreeMap<String, String>,
    /// Numbers of connections that are open and idle beside the load.
    #[serde(default)]
    pub idle: Vec<usize>,
    /// How queries are sent.
    #[serde(default)]
    pub variant: Vec<Variant>,
    /// What is sent.
    #[serde(default)]
    pub query: Vec<Query>,
    /// The short form.
    #[serde(default)]
    pub short: Short,
    /// Files of the servers' configuration.
    #[serde(skip)]
    pub config: Vec<(String, String)>,
    /// The same for servers of one name only: subfolders of `config.d`.
    #[serde(skip)]
    pub config_of: BTreeMap<String, Vec<(String, String)>>,
    /// Files of the users' configuration.
    #[serde(skip)]
    pub users: Vec<(String, String)>,
    /// Files of dictionaries.
    #[serde(skip)]
    pub dictionaries: Vec<(String, String)>,
    /// Statements that make the data.
    #[serde(skip)]
    pub setup: String,
}

impl Scenario {
    /// Reads the scenario of a folder.
    ///
    /// # Errors
    /// What is wrong with it, and in which file.
    pub fn read(folder: &Path) -> Result<Self> {
        let path = folder.join(FILE);
        let bad = |what: String| Error::new(ErrorCode::BAD_ARGUMENTS, format!("{}: {what}", path.display()));
        let mut scenario: Self = toml::from_str(&read(&path)?).map_err(|error| bad(error.to_string()))?;
        if scenario.name.is_empty() {
            scenario.name = file_name(folder);
        }
        scenario.config = overlays(&folder.join("config.d"))?;
        if folder.join("config.d").is_dir() {
            for path in entries(&folder.join("config.d"))?.iter().filter(|path| path.is_dir()) {
                scenario.config_of.insert(file_name(path), overlays(path)?);
            }
        }
        scenario.users = overlays(&folder.join("users.d"))?;
        scenario.dictionaries = overlays(&folder.join("dictionaries.d"))?;
        let setup = folder.join("setup.sql");
        if setup.exists() {
            scenario.setup = read(&setup)?;
        }
        scenario.check().map_err(bad)?;
        Ok(scenario)
    }

    fn check(&self) -> Result<(), String> {
        if self.variant.is_empty() || self.query.is_empty() {
            return Err("needs at least one [[variant]] and one [[query]]".to_owned());
        }
        for query in &self.query {
            match (&query.sql, &query.path) {
                (Some(_), None) => {}
                (None, Some(_))
                    if self.variant.iter().all(|variant| matches!(variant.protocol, Wire::Http | Wire::Https)) => {}
                (None, Some(_)) => return Err("a path can be asked for over HTTP only".to_owned()),
                _ => return Err("a [[query]] has either sql or path".to_owned()),
            }
            if query.subtype.len() > 3 {
                return Err("a [[query]] has at most three subtypes".to_owned());
            }
            if query.overload.iter().any(|&load| !(0.01..=100.0).contains(&load)) {
                return Err("overload is 0.01 to 100 times".to_owned());
            }
        }
        if self.concurrency.iter().chain(&self.short.concurrency).flatten().any(|&clients| clients == 0) {
            return Err("concurrency is at least 1".to_owned());
        }
        Ok(())
    }
}

/// The scenarios of a folder, by name.
///
/// # Errors
/// A folder that cannot be read, or a scenario that is wrong.
pub fn read_all(folder: &Path) -> Result<Vec<Scenario>> {
    let mut folders: Vec<PathBuf> = entries(folder)?.into_iter().filter(|path| path.join(FILE).is_file()).collect();
    folders.sort();
    folders.iter().map(|folder| Scenario::read(folder)).collect()
}

fn overlays(folder: &Path) -> Result<Vec<(String, String)>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut files: Vec<PathBuf> = entries(folder)?
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "xml"))
        .collect();
    files.sort();
    files.iter().map(|path| Ok((file_name(path), read(path)?))).collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let cannot =
        |error: std::io::Error| Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("{}: {error}", folder.display()));
    std::fs::read_dir(folder).map_err(cannot)?.map(|entry| Ok(entry.map_err(cannot)?.path())).collect()
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path)
        .map_err(|error| Error::new(ErrorCode::CANNOT_OPEN_FILE, format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scenario folder with these files.
    pub fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn folders_are_read_with_what_is_beside() {
        let folder = folder(&[
            (
                "a/scenario.toml",
                "description = 'x'\n[scaled]\nrows = 100\n[[variant]]\nprotocol = 'tcp'\n[[query]]\nsubtype = ['hit']\nsql = 'SELECT {rows}'",
            ),
            ("a/config.d/log.xml", "<yandex/>"),
            ("a/config.d/README", "no"),
            ("a/config.d/Squall/limit.xml", "<clickhouse/>"),
            ("a/setup.sql", "CREATE TABLE t"),
            ("tls/server.crt", ""),
        ]);
        let scenarios = read_all(folder.path()).unwrap();
        let [scenario] = scenarios.as_slice() else { panic!("{scenarios:?}") };
        assert_eq!((scenario.name.as_str(), scenario.setup.as_str()), ("a", "CREATE TABLE t"));
        assert_eq!(scenario.config, [("log.xml".to_owned(), "<yandex/>".to_owned())]);
        assert_eq!(scenario.config_of["Squall"], [("limit.xml".to_owned(), "<clickhouse/>".to_owned())]);
        assert!(scenario.variant[0].keep_alive && scenario.query[0].sql.is_some());
    }

    #[test]
    fn mistakes_are_named() {
        let variant = "[[variant]]\nprotocol = 'tcp'\n";
        for (text, what) in [
            ("description = 'x'\n", "at least one"),
            (&*format!("description = 'x'\n{variant}[[query]]\npath = '/ping'"), "over HTTP only"),
            (&*format!("description = 'x'\n{variant}[[query]]\nsubtype = []"), "either sql or path"),
            (&*format!("description = 'x'\nrows = 1\n{variant}"), "unknown field `rows`"),
            (&*format!("description = 'x'\nconcurrency = [0]\n{variant}[[query]]\nsql = 'SELECT 1'"), "at least 1"),
        ] {
            let folder = folder(&[("a/scenario.toml", text)]);
            let error = read_all(folder.path()).unwrap_err();
            assert!(error.message.contains(what), "{what}: {error}");
        }
    }

    #[test]
    fn the_scenarios_that_we_ship_can_be_read() {
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let names: Vec<String> = read_all(&shipped).unwrap().into_iter().map(|scenario| scenario.name).collect();
        assert!(names.len() >= 15 && names.contains(&"001_simple_ping".to_owned()), "{names:?}");
    }
}
