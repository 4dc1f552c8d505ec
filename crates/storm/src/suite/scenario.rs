//! A scenario as its folder says it: `scenario.toml`, and beside it `config.d`, `users.d` and `dictionaries.d` for the servers' configuration, `setup.sql`
//! for their data and `nginx.conf` for what stands before them. A scenario may extend another, whose folder stands beside its own. It is only read here;
//! what is measured of it is `plan`'s business.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use squall_types::{Error, ErrorCode, Result};

use super::values::{Values, combinations, fill};
use crate::file_error::file_error;
use crate::load::Wire;

/// The file that makes a folder a scenario.
const FILE: &str = "scenario.toml";
/// How many scenarios one may extend, over one another.
const ANCESTORS_MAX: usize = 8;

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

/// What stands between clients and the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proxy {
    /// nginx, started by the suite with the scenario's `nginx.conf`.
    Nginx,
}

impl Proxy {
    /// As files and tables have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
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
    /// Through a proxy.
    pub proxy: Option<Proxy>,
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
    /// Values for `{name}` in this query alone: it stands for one query of each combination.
    #[serde(default)]
    each: BTreeMap<String, Vec<Scalar>>,
}

impl Query {
    /// The queries that this one stands for.
    fn expand(&self) -> Vec<Query> {
        let one = |values: Values| {
            let mut query = Query { each: BTreeMap::new(), ..self.clone() };
            let beside = query.beside.as_mut().map(|beside| &mut beside.sql);
            let texts = [&mut query.sql, &mut query.path, &mut query.expect].into_iter().flatten().chain(beside);
            for text in texts.chain(&mut query.subtype).chain(query.parameters.values_mut()) {
                *text = fill(text, &values);
            }
            for setting in query.settings.values_mut() {
                if let Scalar::Text(text) = setting {
                    *text = fill(text, &values);
                }
            }
            query
        };
        combinations(Values::new(), &self.each).into_iter().map(one).collect()
    }
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
    /// The folder of the scenario whose data, configuration and queries it has, beside its own.
    extends: Option<String>,
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
    /// What stands beside `scenario.toml`.
    #[serde(skip)]
    pub files: Files,
}

/// The other files of a scenario's folder. Those of configuration are names and texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Files {
    /// The servers' configuration.
    pub config: BTreeMap<String, String>,
    /// The same for servers of one name only: subfolders of `config.d`.
    pub config_of: BTreeMap<String, BTreeMap<String, String>>,
    /// The users' configuration.
    pub users: BTreeMap<String, String>,
    /// Dictionaries.
    pub dictionaries: BTreeMap<String, String>,
    /// Statements that make the data.
    pub setup: String,
    /// The configuration of nginx, where a variant goes through it.
    pub nginx: Option<String>,
}

impl Files {
    /// Adds those of a folder; of the same name they are there instead.
    fn add(&mut self, folder: &Path) -> Result<()> {
        let config = folder.join("config.d");
        self.config.extend(overlays(&config)?);
        if config.is_dir() {
            for path in entries(&config)?.iter().filter(|path| path.is_dir()) {
                self.config_of.entry(file_name(path)).or_default().extend(overlays(path)?);
            }
        }
        self.users.extend(overlays(&folder.join("users.d"))?);
        self.dictionaries.extend(overlays(&folder.join("dictionaries.d"))?);
        let (setup, nginx) = (folder.join("setup.sql"), folder.join("nginx.conf"));
        if setup.exists() {
            self.setup = read(&setup)?;
        }
        if nginx.exists() {
            self.nginx = Some(read(&nginx)?);
        }
        Ok(())
    }
}

impl Scenario {
    /// Reads the scenario of a folder.
    ///
    /// # Errors
    /// What is wrong with it, and in which file.
    pub fn read(folder: &Path) -> Result<Self> {
        // The folders from itself up to what extends nothing; a file is read as a scenario of its own first, so that a mistake is told with its line.
        let mut lineage = Vec::new();
        let mut next = Some(folder.to_owned());
        while let Some(folder) = next {
            if lineage.len() > ANCESTORS_MAX {
                return Err(bad(&folder, "extends too many scenarios, or itself"));
            }
            let text = read(&folder.join(FILE))?;
            let scenario: Self = toml::from_str(&text).map_err(|error| bad(&folder, error))?;
            let table: toml::Table = toml::from_str(&text).map_err(|error| bad(&folder, error))?;
            next = scenario.extends.as_ref().map(|name| folder.with_file_name(name));
            if let Some(base) = next.as_ref().filter(|base| !base.join(FILE).is_file()) {
                return Err(bad(&folder, format!("extends {}, which is no scenario", file_name(base))));
            }
            lineage.push((folder, table));
        }
        let (mut merged, mut files) = (toml::Table::new(), Files::default());
        for (folder, table) in lineage.into_iter().rev() {
            // A name is one scenario's own.
            merged.remove("name");
            merge(&mut merged, table);
            files.add(&folder)?;
        }
        let mut scenario: Self = merged.try_into().map_err(|error: toml::de::Error| bad(folder, error))?;
        if scenario.name.is_empty() {
            scenario.name = file_name(folder);
        }
        scenario.query = scenario.query.iter().flat_map(Query::expand).collect();
        scenario.files = files;
        scenario.check().map_err(|what| bad(folder, what))?;
        Ok(scenario)
    }

    /// What queries and servers are told beyond the common configuration, a line each.
    pub fn told(&self) -> Vec<String> {
        let settings: Vec<String> = self.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let mut told = Vec::new();
        if !settings.is_empty() {
            told.push(format!("settings of queries: {}", settings.join(", ")));
        }
        let common = [("config.d".to_owned(), &self.files.config), ("users.d".to_owned(), &self.files.users)];
        let own = self.files.config_of.iter().map(|(server, files)| (format!("config.d/{server}"), files));
        for (folder, files) in common.into_iter().chain(own) {
            for (name, text) in files {
                let words: Vec<&str> = text.split_whitespace().collect();
                told.push(format!("{folder}/{name}: {}", words.join(" ")));
            }
        }
        told
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
        for variant in self.variant.iter().filter(|variant| variant.proxy.is_some()) {
            if variant.protocol != Wire::Http {
                return Err("a proxy stands before HTTP only".to_owned());
            }
            if self.files.nginx.is_none() {
                return Err("a variant behind nginx needs an nginx.conf".to_owned());
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

/// Puts one table over another: tables within go together key by key, all else is there instead.
fn merge(under: &mut toml::Table, over: toml::Table) {
    for (key, value) in over {
        match (under.get_mut(&key), value) {
            (Some(toml::Value::Table(under)), toml::Value::Table(over)) => merge(under, over),
            (_, value) => drop(under.insert(key, value)),
        }
    }
}

fn bad(folder: &Path, what: impl fmt::Display) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, format!("{}: {what}", folder.join(FILE).display()))
}

fn overlays(folder: &Path) -> Result<BTreeMap<String, String>> {
    if !folder.is_dir() {
        return Ok(BTreeMap::new());
    }
    entries(folder)?
        .iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "xml"))
        .map(|path| Ok((file_name(path), read(path)?)))
        .collect()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let cannot = |error| file_error(folder, &error);
    std::fs::read_dir(folder).map_err(cannot)?.map(|entry| Ok(entry.map_err(cannot)?.path())).collect()
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| file_error(path, &error))
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
        assert_eq!((scenario.name.as_str(), scenario.files.setup.as_str()), ("a", "CREATE TABLE t"));
        assert_eq!(scenario.files.config, BTreeMap::from([("log.xml".to_owned(), "<yandex/>".to_owned())]));
        assert_eq!(scenario.files.config_of["Squall"]["limit.xml"], "<clickhouse/>");
        assert!(scenario.variant[0].keep_alive && scenario.query[0].sql.is_some());
        assert_eq!(scenario.told(), ["config.d/log.xml: <yandex/>", "config.d/Squall/limit.xml: <clickhouse/>"]);
    }

    #[test]
    fn one_scenario_extends_another() {
        let folder = folder(&[
            (
                "a/scenario.toml",
                "description = 'x'\nname = 'other'\nconcurrency = [1]\n[matrix]\ngranularity = [1, 2]\n[scaled]\nrows = 100\n\
                 [[variant]]\nprotocol = 'tcp'\n[[query]]\nsql = 'SELECT 1'",
            ),
            ("a/setup.sql", "CREATE TABLE t"),
            ("a/users.d/threads.xml", "1"),
            ("a/users.d/cache.xml", "0"),
            ("b/scenario.toml", "extends = 'a'\ndescription = 'y'\n[matrix]\ngranularity = [8]\n[scaled]\nkeys = 5"),
            ("b/users.d/cache.xml", "1"),
            (
                "c/scenario.toml",
                "extends = 'b'\ndescription = 'z'\n[[query]]\npath = '/ping'\n[[variant]]\nprotocol = 'http'",
            ),
        ]);
        let scenarios = read_all(folder.path()).unwrap();
        let [_, b, c] = scenarios.as_slice() else { panic!("{scenarios:?}") };
        assert_eq!((b.name.as_str(), b.description.as_str(), b.files.setup.as_str()), ("b", "y", "CREATE TABLE t"));
        assert_eq!((&b.concurrency, &b.matrix["granularity"]), (&Some(vec![1]), &vec![Scalar::Integer(8)]));
        assert_eq!(b.scaled, BTreeMap::from([("keys".to_owned(), 5), ("rows".to_owned(), 100)]));
        let users = [("cache.xml", "1"), ("threads.xml", "1")].map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(b.files.users, BTreeMap::from(users.clone()));
        assert_eq!((c.query.len(), c.query[0].path.as_deref(), c.files.users.len()), (1, Some("/ping"), 2));
    }

    #[test]
    fn a_query_stands_for_one_of_each_of_its_values() {
        let folder = folder(&[(
            "a/scenario.toml",
            "description = 'x'\n[[variant]]\nprotocol = 'tcp'\n[[query]]\nsql = 'SELECT 0'\n[[query]]\nsubtype = ['{threads} threads']\n\
             sql = 'SELECT {threads}, {key}'\nsettings = { max_threads = '{threads}' }\neach = { threads = [1, 2] }",
        )]);
        let scenarios = read_all(folder.path()).unwrap();
        let queries = &scenarios[0].query;
        assert_eq!((queries.len(), queries[2].subtype[0].as_str()), (3, "2 threads"));
        assert_eq!(queries[2].sql.as_deref(), Some("SELECT 2, {key}"));
        assert_eq!(queries[1].settings["max_threads"].to_string(), "1");
    }

    #[test]
    fn mistakes_are_named() {
        let variant = "[[variant]]\nprotocol = 'tcp'\n";
        for (text, what) in [
            ("description = 'x'\n", "at least one"),
            (&*format!("description = 'x'\n{variant}[[query]]\npath = '/ping'"), "over HTTP only"),
            (&*format!("description = 'x'\n{variant}[[query]]\nsubtype = []"), "either sql or path"),
            (&*format!("description = 'x'\nrows = 1\n{variant}"), "unknown field `rows`"),
            ("description = 'x'\nextends = 'b'", "extends b, which is no scenario"),
            ("description = 'x'\nextends = 'a'", "or itself"),
            (
                "description = 'x'\n[[variant]]\nprotocol = 'tcp'\nproxy = 'nginx'\n[[query]]\nsql = 'SELECT 1'",
                "before HTTP only",
            ),
            (
                "description = 'x'\n[[variant]]\nprotocol = 'http'\nproxy = 'nginx'\n[[query]]\nsql = 'SELECT 1'",
                "needs an nginx.conf",
            ),
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

    #[test]
    fn tests_have_the_names_that_stand_in_the_published_suites_files() {
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
        let scenarios = read_all(&shipped).unwrap();
        let wish = crate::suite::plan::Wish::default();
        let stages = scenarios.iter().flat_map(|scenario| crate::suite::plan::stages(scenario, &wish));
        let names: Vec<String> = stages.map(|stage| stage.name).collect();
        // The test_name of its rows, which is not always the name of its folder.
        let published = [
            "001_simple_ping",
            "002_ping_no_logging",
            "003_select_1_no_logging",
            "004_max_of_100K_randoms",
            "005_max_of_100K_randoms_singlethread",
            "006_merge_tree_index_granularity_16",
            "007_merge_tree_index_granularity_32",
            "008_merge_tree_index_granularity_64",
            "009_merge_tree_index_granularity_128",
            "010_merge_tree_index_granularity_256",
            "011_merge_tree_index_granularity_512",
            "012_merge_tree_index_granularity_1024",
            "013_merge_tree_index_granularity_256_use_uncompressed_cache",
            "014_fs2M_dictionary",
            "015_int20M_dictionary",
            "016_join_fs12M",
            "017_join_fs20M",
            "018_select_1_http_behind_nginx",
            "019_select_1_https",
        ];
        assert_eq!(names[..published.len()], published);
        assert!(names[published.len()..].iter().all(|name| *name.as_str() > *"020"), "{names:?}");
    }
}
