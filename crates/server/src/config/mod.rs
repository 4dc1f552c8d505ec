//! The server's configuration: config.xml with what is merged into it and what the command line overrides, as typed values. The users
//! and profiles stay an element tree here; `users` reads them.

mod cluster;
pub mod element;
mod elements;
mod findings;
mod function_files;
pub mod merge;
mod query_limit;
mod s3_endpoints;
mod server_settings;
mod system_logs;
mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use squall_types::{Error, ErrorCode, Result};

use crate::access::RemoteHosts;
use crate::backup::BackupsConfig;
use crate::http::{OptionsResponse, PrometheusConfig, Rules, SharedRules};
use crate::logger::LoggerConfig;
use crate::masking::MaskingRules;
use crate::network::TlsConfig;
pub use cluster::{Cluster, Replica};
pub use element::Element;
use element::Origin;
pub use findings::{Findings, Verdict};
pub use function_files::FunctionFiles;
pub use query_limit::QueryLimit;
pub use s3_endpoints::{S3Endpoint, S3Endpoints};
pub use server_settings::{Changeable, ServerSetting, ServerSettings};
pub use system_logs::{LogKind, SystemLogConfig, SystemLogsConfig};
pub use watch::ConfigWatch;

/// The ports without any configuration file.
const HTTP_PORT_DEFAULT: u64 = 8123;
const TCP_PORT_DEFAULT: u64 = 9000;
/// The ports of a server that makes its own certificate.
const HTTPS_PORT_DEFAULT: u64 = 8443;
const TCP_PORT_SECURE_DEFAULT: u64 = 9440;
/// Where that certificate is, in `path`.
const GENERATED_CERTIFICATE: &str = "certificates/server.crt";
const GENERATED_KEY: &str = "certificates/server.key";

/// Where the configuration comes from.
#[derive(Clone, Debug, Default)]
pub struct ConfigSource {
    /// `--config-file`; without one the defaults hold.
    pub config_file: Option<PathBuf>,
    /// Elements by their path (`logger.level`) with their values; they win over the file.
    pub overrides: Vec<(String, String)>,
    /// `--generate-certificate`: without a certificate of its own the server makes one, and listens on the ports for TLS.
    pub generate_certificate: bool,
    /// Whether the catalog is completed from the parts when the server starts.
    pub restore_catalog: bool,
    /// `squall local`: whoever runs it owns the machine's files.
    pub local: Option<Local>,
}

/// What `squall local` keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Local {
    /// Nothing: there is no folder, and tables are in memory.
    Transient,
    /// What is in its folder.
    InFolder,
}

/// The whole configuration.
#[derive(Clone, Debug)]
pub struct Config {
    /// Elements with one value each.
    pub server: ServerSettings,
    /// `listen_host`: addresses to listen on.
    pub listen_hosts: Vec<String>,
    /// Whether `listen_hosts` are the default ones, of which one may fail: IPv6 is not everywhere.
    pub listen_hosts_are_default: bool,
    /// `logger`.
    pub logger: LoggerConfig,
    /// `openSSL`.
    pub tls: TlsConfig,
    /// Whether `tls` names a certificate that the server is to make.
    pub is_certificate_generated: bool,
    /// Where backups may lie.
    pub backups: BackupsConfig,
    /// `macros`, by name.
    pub macros: BTreeMap<String, String>,
    /// What functions look into.
    pub function_files: FunctionFiles,
    /// The clusters of `remote_servers`.
    pub clusters: Vec<Cluster>,
    /// `query_log`, `metric_log` and their kin.
    pub system_logs: SystemLogsConfig,
    /// `dictionaries_config`: patterns of files.
    pub dictionaries_config: Vec<String>,
    /// The folder of the configuration's file, which relative patterns mean.
    pub folder: PathBuf,
    /// `prometheus`.
    pub prometheus: PrometheusConfig,
    /// `http_options_response`.
    pub options_response: OptionsResponse,
    /// `remote_url_allow_hosts`.
    pub remote_hosts: RemoteHosts,
    /// `s3`.
    pub s3: S3Endpoints,
    /// `http_handlers`.
    pub http_handlers: Option<SharedRules>,
    /// `path`, absolute.
    pub path: PathBuf,
    /// `tmp_path`, absolute.
    pub tmp_path: PathBuf,
    /// The element with `users`, `profiles` and `quotas`.
    pub users: Element,
    /// Every file that was read.
    pub files: Vec<PathBuf>,
    /// `query_masking_rules`.
    pub masking_rules: MaskingRules,
    /// What became of every element.
    pub findings: Findings,
}

impl Config {
    /// The files whose changes matter: those that were read, and those that they name.
    pub fn watched_files(&self) -> Vec<PathBuf> {
        let named = [&self.tls.certificate_file, &self.tls.private_key_file, &self.tls.ca_config];
        self.files.iter().chain(named.into_iter().flatten()).cloned().collect()
    }

    /// Reads, merges, overrides and types.
    ///
    /// # Errors
    /// Where a file cannot be read or parsed, or a value is not of its element's type; the message names file and element. `NOT_IMPLEMENTED`
    /// where an element guards something that nothing here would guard.
    pub fn load(source: &ConfigSource) -> Result<Self> {
        let config = Self::read(source)?;
        if config.findings.stops.is_empty() {
            return Ok(config);
        }
        let stops = config.findings.stops.join("\n  ");
        Err(Error::new(
            ErrorCode::INVALID_CONFIG_PARAMETER,
            format!(
                "The configuration guards what nothing here would guard, so it is not taken:\n  {stops}\nTake such an \
                 element out where that is right (in config.d: <name remove=\"1\"/>); squall check-config tells everything"
            ),
        ))
    }

    /// As [`load`](Self::load), but what guards something is only found, not refused.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn read(source: &ConfigSource) -> Result<Self> {
        let mut findings = Findings::default();
        let from = |name: &str| Origin { file: name.into(), line: 0 };
        let (root, files) = match &source.config_file {
            Some(file) => {
                let merged = merge::load(file)?;
                if !matches!(merged.root.name.as_str(), "clickhouse" | "yandex") {
                    return Err(merged.root.error("the root element must be <clickhouse> or <yandex>"));
                }
                findings.warnings = merged.warnings;
                (merged.root, merged.files)
            }
            None if source.local.is_some() => (Element::new("clickhouse", from("defaults")), Vec::new()),
            None => {
                let mut root = Element::new("clickhouse", from("defaults"));
                for (name, port) in [("http_port", HTTP_PORT_DEFAULT), ("tcp_port", TCP_PORT_DEFAULT)] {
                    let mut element = Element::new(name, from("defaults"));
                    element.text = port.to_string();
                    root.children.push(element);
                }
                (root, Vec::new())
            }
        };
        Self::of_tree(root, files, findings, source)
    }

    /// The configuration that a tree of elements means, after what the command line overrides.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn of_tree(mut root: Element, files: Vec<PathBuf>, findings: Findings, source: &ConfigSource) -> Result<Self> {
        for (path, value) in &source.overrides {
            set_override(&mut root, path, value, &Origin { file: "command line".into(), line: 0 })?;
        }
        let mut config = Self::without_elements(files, findings, source);
        for element in &root.children {
            if config.read_element(element, &root)? {
                config.findings.in_force(element);
            }
        }
        config.listen_hosts_are_default = config.listen_hosts.is_empty();
        if config.listen_hosts_are_default {
            config.listen_hosts = vec!["127.0.0.1".to_owned(), "::1".to_owned()];
        }
        config.place_folders()?;
        config.is_certificate_generated = source.generate_certificate && config.tls.certificate_file.is_none();
        if config.is_certificate_generated {
            config.place_certificate();
        }
        config.tmp_path = absolute(Path::new(&config.server.tmp_path))?;
        config.note_user_directories(&root);
        config.function_files = FunctionFiles::read(&root, &config.path)?;
        config.users = config.take_users(root, source)?;
        config.folder = absolute(if config.folder.as_os_str().is_empty() { Path::new(".") } else { &config.folder })?;
        Ok(config)
    }

    /// The configuration before any element is read: the defaults, and paths as they are written.
    fn without_elements(files: Vec<PathBuf>, findings: Findings, source: &ConfigSource) -> Self {
        Self {
            server: ServerSettings::default(),
            listen_hosts: Vec::new(),
            listen_hosts_are_default: false,
            logger: LoggerConfig::default(),
            tls: TlsConfig::default(),
            is_certificate_generated: false,
            macros: BTreeMap::new(),
            function_files: FunctionFiles::default(),
            backups: BackupsConfig::default(),
            clusters: Vec::new(),
            system_logs: match source.config_file.is_some() || source.local.is_some() {
                true => SystemLogsConfig::none(),
                false => SystemLogsConfig::all(),
            },
            dictionaries_config: Vec::new(),
            folder: source.config_file.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_owned(),
            prometheus: PrometheusConfig::default(),
            options_response: OptionsResponse::default(),
            remote_hosts: RemoteHosts::default(),
            s3: S3Endpoints::default(),
            http_handlers: None,
            path: PathBuf::new(),
            tmp_path: PathBuf::new(),
            users: Element::new("clickhouse", Origin { file: "defaults".into(), line: 0 }),
            files,
            masking_rules: MaskingRules::default(),
            findings,
        }
    }

    /// Reads one element below the root; gives whether it has an effect.
    fn read_element(&mut self, element: &Element, root: &Element) -> Result<bool> {
        let warnings = &mut self.findings.warnings;
        match element.name.as_str() {
            "listen_host" => self.listen_hosts.push(element.trimmed().to_owned()),
            "logger" => self.logger.read(element, &mut self.findings)?,
            "backups" => self.backups.read(element)?,
            "openSSL" => self.tls.read(element, &self.folder, &mut self.findings)?,
            "macros" => {
                self.macros.extend(element.children.iter().map(|child| (child.name.clone(), child.text.clone())));
            }
            "remote_servers" => {
                for cluster in &element.children {
                    self.clusters.push(Cluster::read(cluster, &mut self.findings)?);
                }
            }
            "dictionaries_config" => self.dictionaries_config.push(element.trimmed().to_owned()),
            "prometheus" => read_prometheus(element, &mut self.prometheus, &mut self.findings)?,
            "http_handlers" => self.http_handlers = Some(Rules::read(element, root, warnings)?.into()),
            "http_options_response" => self.options_response.read(element, warnings)?,
            "access_control_improvements" => self.read_access_control_improvements(element)?,
            "remote_url_allow_hosts" => self.remote_hosts.read(element, warnings)?,
            "s3" => self.s3.read(element, warnings)?,
            "query_masking_rules" => self.masking_rules = MaskingRules::read(element)?,
            // Read by `merge` and `take_users`: the tree of users is this one or another file's.
            "include_from" | "users_config" | "user_directories" | "users" | "profiles" | "quotas" => {}
            // Read once it is known where data are.
            name if FunctionFiles::reads(name) => {}
            _ if self.system_logs.read(element, warnings)? => {}
            _ if self.server.read(element)? => check(element, &self.server)?,
            name => {
                if name == "storage_configuration" {
                    self.backups.read_disks(element);
                }
                match elements::verdict(element) {
                    Some(verdict) => self.findings.note(element, name, verdict),
                    None => self.findings.unknown(element, name),
                }
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads `access_control_improvements`, of which few are enforced.
    fn read_access_control_improvements(&mut self, element: &Element) -> Result<()> {
        for child in &element.children {
            if matches!(child.name.as_str(), "users_without_row_policies_can_read_rows" | "allow_impersonate_user") {
                self.server.read(child)?;
            } else {
                let name = format!("access_control_improvements/{}", child.name);
                self.findings.note(child, &name, Verdict::Missing("is not enforced"));
            }
        }
        Ok(())
    }

    /// Makes `path` absolute, and gives the folders that are not named their places in it.
    fn place_folders(&mut self) -> Result<()> {
        let server = &mut self.server;
        self.path = absolute(Path::new(&server.path))?;
        server.path = format!("{}/", self.path.display());
        for (setting, folder) in [
            (&mut server.tmp_path, "tmp"),
            (&mut server.user_files_path, "user_files"),
            (&mut server.user_scripts_path, "user_scripts"),
            (&mut server.format_schema_path, "format_schemas"),
        ] {
            if setting.trim().is_empty() {
                *setting = format!("{}/", self.path.join(folder).display());
            }
        }
        Ok(())
    }

    /// Gives the certificate that the server is to make its place, and opens the ports for TLS.
    fn place_certificate(&mut self) {
        self.tls.certificate_file = Some(self.path.join(GENERATED_CERTIFICATE));
        self.tls.private_key_file = Some(self.path.join(GENERATED_KEY));
        let server = &mut self.server;
        for (port, default) in
            [(&mut server.https_port, HTTPS_PORT_DEFAULT), (&mut server.tcp_port_secure, TCP_PORT_SECURE_DEFAULT)]
        {
            if *port == 0 {
                *port = default;
            }
        }
    }

    /// Notes the directories in which users are not looked for.
    fn note_user_directories(&mut self, root: &Element) {
        for directory in root.child("user_directories").into_iter().flat_map(|directories| &directories.children) {
            if directory.name != "users_xml" {
                let path = format!("user_directories/{}", directory.name);
                self.findings.note(directory, &path, Verdict::Missing("users are not looked for there"));
            }
        }
    }

    /// The element with the users: of the file that the configuration names for them, or its own root.
    fn take_users(&mut self, root: Element, source: &ConfigSource) -> Result<Element> {
        let Some(file) = users_file(&root, source.config_file.as_deref())? else { return Ok(root) };
        let merged = merge::load(&file)?;
        self.files.extend(merged.files);
        self.findings.warnings.extend(merged.warnings);
        Ok(merged.root)
    }
}

/// The file of users: `user_directories/users_xml/path`, or `users_config`, beside the main file; none where the main file itself
/// holds the users.
fn users_file(root: &Element, config_file: Option<&Path>) -> Result<Option<PathBuf>> {
    let in_directories = root
        .child("user_directories")
        .and_then(|directories| directories.child("users_xml"))
        .and_then(|users_xml| users_xml.child("path"));
    let Some(element) = in_directories.or_else(|| root.child("users_config")) else { return Ok(None) };
    let named = Path::new(element.trimmed());
    let file = config_file.and_then(Path::parent).unwrap_or(Path::new("")).join(named);
    if config_file.is_some_and(|config_file| config_file == file) {
        return Ok(None);
    }
    if !file.exists() {
        return Err(element.error(format!("the file {} does not exist", file.display())));
    }
    Ok(Some(file))
}

/// Checks what a setting's type alone does not.
fn check(element: &Element, server: &ServerSettings) -> Result<()> {
    let is_port = |port: u64| port <= u64::from(u16::MAX);
    match element.name.as_str() {
        "http_port" if !is_port(server.http_port) => Err(element.bad_value("a port number")),
        "https_port" if !is_port(server.https_port) => Err(element.bad_value("a port number")),
        "tcp_port" if !is_port(server.tcp_port) => Err(element.bad_value("a port number")),
        "tcp_port_secure" if !is_port(server.tcp_port_secure) => Err(element.bad_value("a port number")),
        "total_max_threads" if server.total_max_threads < -1 => {
            Err(element.bad_value("a number of threads, 0 (unused) or -1 (twice the logical cores)"))
        }
        "concurrent_threads_scheduler"
            if !["stride", "fixed_at_start", "round_robin", "fair_round_robin", "max_min_fair"]
                .contains(&server.concurrent_threads_scheduler.as_str()) =>
        {
            Err(element.bad_value("one of stride, fixed_at_start, round_robin, fair_round_robin and max_min_fair"))
        }
        "max_server_memory_usage_to_ram_ratio" if server.max_server_memory_usage_to_ram_ratio < 0.0 => {
            Err(element.bad_value("a ratio that is not negative"))
        }
        "memory_worker_purge_dirty_pages_threshold_ratio"
            if !(0.0..=1.0).contains(&server.memory_worker_purge_dirty_pages_threshold_ratio) =>
        {
            Err(element.bad_value("a ratio from 0 to 1"))
        }
        "umask" if !server.umask.trim().is_empty() && !is_octal(&server.umask) => {
            Err(element.bad_value("octal digits, as 027"))
        }
        "path" if server.path.trim().is_empty() => Err(element.error("is empty")),
        "timezone" if !server.timezone.is_empty() && server.timezone.parse::<chrono_tz::Tz>().is_err() => {
            Err(element.bad_value("a time zone of the IANA database"))
        }
        _ => Ok(()),
    }
}

fn is_octal(text: &str) -> bool {
    u32::from_str_radix(text.trim(), 8).is_ok_and(|mask| mask <= 0o777)
}

fn read_prometheus(element: &Element, prometheus: &mut PrometheusConfig, findings: &mut Findings) -> Result<()> {
    for child in &element.children {
        match child.name.as_str() {
            "port" => prometheus.port = Some(child.value("a port number")?).filter(|port| *port > 0),
            "endpoint" if !child.trimmed().starts_with('/') => return Err(child.bad_value("a path that begins with /")),
            "endpoint" => prometheus.endpoint = child.trimmed().to_owned(),
            "metrics" => prometheus.metrics = child.boolean()?,
            "events" => prometheus.events = child.boolean()?,
            "histograms" => prometheus.histograms = child.boolean()?,
            "asynchronous_metrics" => prometheus.asynchronous_metrics = child.boolean()?,
            "errors" => prometheus.errors = child.boolean()?,
            "handlers" => findings.note(child, "prometheus/handlers", Verdict::Missing("there is one page of metrics")),
            name @ ("dimensional_metrics" | "keeper_metrics_only" | "expose_info") => {
                findings.note(
                    child,
                    &format!("prometheus/{name}"),
                    Verdict::Harmless("what there are not is not told"),
                );
            }
            name => findings.unknown(child, &format!("prometheus/{name}")),
        }
    }
    Ok(())
}

/// Sets the element at a path with dots, creating what is missing. All elements of a name that repeats give way to one.
fn set_override(root: &mut Element, path: &str, value: &str, origin: &Origin) -> Result<()> {
    let names: Vec<&str> = path.split('.').collect();
    if names.len() > 16 || names.iter().any(|name| name.is_empty()) {
        return Err(Error::new(
            ErrorCode::BAD_ARGUMENTS,
            format!("'{path}' is not the path of a configuration element"),
        ));
    }
    let mut element = root;
    for (depth, name) in names.iter().enumerate() {
        if depth + 1 == names.len() {
            element.children.retain(|child| child.name != *name);
        }
        let at = match element.children.iter().position(|child| child.name == *name) {
            Some(at) => at,
            None => {
                element.children.push(Element::new(*name, origin.clone()));
                element.children.len() - 1
            }
        };
        let Some(child) = element.children.get_mut(at) else { return Ok(()) };
        element = child;
    }
    element.text = value.to_owned();
    Ok(())
}

fn absolute(path: &Path) -> Result<PathBuf> {
    let absolute = std::path::absolute(path).map_err(|error| {
        Error::new(ErrorCode::BAD_ARGUMENTS, format!("The path '{}' cannot be made absolute: {error}", path.display()))
    })?;
    // `a/./b/` and `a/b` are the same folder, and the shorter is shown.
    Ok(absolute.components().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str, overrides: &[(&str, &str)]) -> Result<Config> {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("squall-config-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("config.xml");
        std::fs::write(&file, text).unwrap();
        let overrides = overrides.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let config = Config::load(&ConfigSource { config_file: Some(file), overrides, ..ConfigSource::default() });
        std::fs::remove_dir_all(folder).unwrap();
        config
    }

    #[test]
    fn the_defaults_need_no_file() {
        let config = Config::load(&ConfigSource::default()).unwrap();
        assert_eq!(config.server.http_port, 8123);
        assert_eq!(config.server.tcp_port, 9000);
        assert_eq!(config.listen_hosts, ["127.0.0.1", "::1"]);
        assert!(config.path.ends_with("squall-data") && config.path.is_absolute());
        assert!(config.server.tmp_path.ends_with("squall-data/tmp/"));
        assert!(config.findings.warnings.is_empty());
    }

    #[test]
    fn elements_are_typed_and_unknown_ones_warned_of() {
        let text = "<yandex>\n<http_port>8124</http_port><max_connections>10</max_connections>\n<htpp_port>1</htpp_port>\
            <listen_host>::1</listen_host><logger><level>debug</level><colour>red</colour></logger>\
            <macros><shard>01</shard></macros><zookeeper/></yandex>";
        let config = load(text, &[("max_connections", "20"), ("logger.level", "trace")]).unwrap();
        assert_eq!(config.server.http_port, 8124);
        assert_eq!(config.server.tcp_port, 0);
        assert_eq!(config.server.max_connections, 20);
        assert_eq!(config.listen_hosts, ["::1"]);
        assert_eq!(config.macros.get("shard").unwrap(), "01");
        assert_eq!(config.findings.warnings.len(), 2, "{:?}", config.findings.warnings);
        assert!(
            config
                .findings
                .warnings
                .iter()
                .any(|warning| warning.contains("config.xml:3: unknown element <htpp_port>"))
        );
        assert!(config.findings.warnings.iter().any(|warning| warning.contains("<logger/colour>")));
    }

    #[test]
    fn bad_values_name_file_and_element() {
        for (text, expected) in [
            ("<clickhouse><http_port>abc</http_port></clickhouse>", "config.xml:1: element <http_port>: 'abc'"),
            ("<clickhouse><http_port>70000</http_port></clickhouse>", "'70000' is not a port number"),
            ("<clickhouse><total_max_threads>-2</total_max_threads></clickhouse>", "<total_max_threads>"),
            ("<clickhouse><timezone>Mars/Base</timezone></clickhouse>", "<timezone>"),
            ("<clickhouse><concurrent_threads_scheduler>x</concurrent_threads_scheduler></clickhouse>", "stride"),
            ("<clickhouse><users_config>none.xml</users_config></clickhouse>", "none.xml does not exist"),
            ("<server/>", "must be <clickhouse> or <yandex>"),
        ] {
            let error = load(text, &[]).unwrap_err();
            assert!(error.message.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn what_guards_something_stops_the_start() {
        let text = "<clickhouse>\n<encryption_codecs><aes_128_gcm_siv><key_hex>00</key_hex></aes_128_gcm_siv></encryption_codecs>\
            <allow_plaintext_password>0</allow_plaintext_password><mysql_port>9004</mysql_port><query_cache/>\
            <openSSL><fips>1</fips></openSSL></clickhouse>";
        let error = load(text, &[]).unwrap_err();
        for name in ["config.xml:2: <encryption_codecs>", "<allow_plaintext_password>", "<openSSL/fips>"] {
            assert!(error.message.contains(name), "{error}");
        }
        assert!(!error.message.contains("mysql_port"), "{error}");
        let config = load("<clickhouse><mysql_port>9004</mysql_port><query_cache/></clickhouse>", &[]).unwrap();
        assert_eq!(config.findings.warnings.len(), 1, "{:?}", config.findings);
        assert!(config.findings.warnings[0].contains("<mysql_port> is ignored: this port is not listened on"));
        assert_eq!(config.findings.harmless.len(), 1);
    }

    #[test]
    fn no_element_is_both_read_and_not() {
        let mut server = ServerSettings::default();
        let mut logs = SystemLogsConfig::none();
        let names = ServerSettings::default().all().into_iter().map(|setting| setting.name);
        for name in names.chain(LogKind::ALL.map(LogKind::name)) {
            let element = Element::new(name, Origin { file: "f".into(), line: 1 });
            assert!(elements::verdict(&element).is_none(), "{name}");
        }
        let read = Element::parse("f", "<max_connections>1</max_connections>").unwrap();
        assert!(server.read(&read).unwrap() && !logs.read(&read, &mut Vec::new()).unwrap());
    }

    #[test]
    fn clickhouses_own_file_starts() {
        let text = include_str!("../../tests/data/stock_config.xml");
        let config = load(text, &[]).unwrap();
        assert_eq!(config.server.http_port, 8123);
        assert_eq!(config.server.max_concurrent_queries, QueryLimit::Fixed(1000));
        assert_eq!(config.logger.size_bytes, 1000 << 20);
        assert_eq!(config.clusters.len(), 1);
        let unknown = |warning: &&String| !warning.contains("is ignored: ");
        let unknown: Vec<_> = config.findings.warnings.iter().filter(unknown).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
