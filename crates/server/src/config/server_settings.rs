//! The server's own settings: top-level elements of config.xml with one value each, as `system.server_settings` shows them. Elements
//! with structure (listen_host, logger, macros, users) are read in `config`.

use squall_types::Result;

use super::element::Element;
use super::query_limit::QueryLimit;

/// When a change of the file takes effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Changeable {
    No = 0,
    IncreaseOnly = 1,
    DecreaseOnly = 2,
    Yes = 3,
}

/// One server setting with its value.
#[derive(Clone, Debug)]
pub struct ServerSetting {
    /// ClickHouse's name.
    pub name: &'static str,
    /// The value as text.
    pub value: String,
    /// The default as text.
    pub default: &'static str,
    /// Whether the configuration gave it.
    pub changed: bool,
    /// What it does.
    pub description: &'static str,
    /// ClickHouse's name of its type.
    pub type_name: &'static str,
    /// When a change takes effect.
    pub changeable: Changeable,
}

/// A Rust type that holds a server setting.
pub(super) trait ServerSettingValue: Sized {
    fn read(element: &Element) -> Result<Self>;
    fn from_default(text: &str) -> Self;
    fn text(&self) -> String;
}

impl ServerSettingValue for u64 {
    fn read(element: &Element) -> Result<Self> {
        element.bytes().map_err(|_| element.bad_value("a whole number that is not negative"))
    }
    fn from_default(text: &str) -> Self {
        text.parse().unwrap_or_default()
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

impl ServerSettingValue for i64 {
    fn read(element: &Element) -> Result<Self> {
        element.value("a whole number")
    }
    fn from_default(text: &str) -> Self {
        text.parse().unwrap_or_default()
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

impl ServerSettingValue for f64 {
    fn read(element: &Element) -> Result<Self> {
        let value: f64 = element.value("a number")?;
        if value.is_finite() { Ok(value) } else { Err(element.bad_value("a finite number")) }
    }
    fn from_default(text: &str) -> Self {
        text.parse().unwrap_or_default()
    }
    fn text(&self) -> String {
        self.to_string()
    }
}

impl ServerSettingValue for bool {
    fn read(element: &Element) -> Result<Self> {
        element.boolean()
    }
    fn from_default(text: &str) -> Self {
        text == "1"
    }
    fn text(&self) -> String {
        u8::from(*self).to_string()
    }
}

impl ServerSettingValue for String {
    fn read(element: &Element) -> Result<Self> {
        Ok(element.text.clone())
    }
    fn from_default(text: &str) -> Self {
        text.to_owned()
    }
    fn text(&self) -> String {
        self.clone()
    }
}

macro_rules! server_settings {
    ($($name:ident : $rust:ty as $type_name:literal = $default:literal, $changeable:ident, $description:literal;)*) => {
        /// The server's settings; each field is the element of that name.
        #[derive(Clone, PartialEq, Debug)]
        pub struct ServerSettings {
            $(#[doc = $description] pub $name: $rust,)*
            changed: Vec<&'static str>,
        }

        impl Default for ServerSettings {
            fn default() -> Self {
                Self { $($name: <$rust as ServerSettingValue>::from_default($default),)* changed: Vec::new() }
            }
        }

        impl ServerSettings {
            /// Every setting with its value, in the order of declaration.
            pub fn all(&self) -> Vec<ServerSetting> {
                vec![$(ServerSetting {
                    name: stringify!($name),
                    value: self.$name.text(),
                    default: $default,
                    changed: self.changed.contains(&stringify!($name)),
                    description: $description,
                    type_name: $type_name,
                    changeable: Changeable::$changeable,
                }),*]
            }

            /// Takes the value of an element; whether there is a setting of its name.
            ///
            /// # Errors
            /// `CANNOT_PARSE_TEXT` with file, line and element where the value is of another type.
            pub(super) fn read(&mut self, element: &Element) -> Result<bool> {
                let name = match element.name.as_str() {
                    $(stringify!($name) => {
                        self.$name = <$rust as ServerSettingValue>::read(element)?;
                        stringify!($name)
                    })*
                    _ => return Ok(false),
                };
                if !self.changed.contains(&name) {
                    self.changed.push(name);
                }
                Ok(true)
            }
        }
    };
}

impl ServerSettings {
    /// Whether the configuration gave a setting of this name.
    pub fn is_changed(&self, name: &str) -> bool {
        self.changed.contains(&name)
    }
}

server_settings! {
    path: String as "String" = "./squall-data/", No, "The folder of all data.";
    tmp_path: String as "String" = "", No, "The folder of temporary data; `tmp/` in `path` where it is empty.";
    dictionaries_lazy_load: bool as "Bool" = "1", No, "Whether dictionaries are loaded when they are first asked for; otherwise those of configuration files are loaded when the server starts.";
    user_files_path: String as "String" = "", No, "The folder that the table function file() reads; `user_files/` in `path` where it is empty.";
    user_scripts_path: String as "String" = "", No, "The folder of the programs that the table function executable() runs; `user_scripts/` in `path` where it is empty.";
    format_schema_path: String as "String" = "", No, "The folder of schemas of input formats; `format_schemas/` in `path` where it is empty.";
    http_port: u64 as "UInt64" = "0", No, "The port of the HTTP interface; 0 is none.";
    https_port: u64 as "UInt64" = "0", No, "The port of the HTTP interface under TLS; 0 is none.";
    tcp_port: u64 as "UInt64" = "0", No, "The port of the native protocol; 0 is none.";
    tcp_port_secure: u64 as "UInt64" = "0", No, "The port of the native protocol under TLS; 0 is none.";
    listen_try: bool as "Bool" = "0", No, "Whether the server starts although it cannot listen on one of its addresses.";
    listen_reuse_port: bool as "Bool" = "0", No, "Whether several servers may listen on one port.";
    listen_backlog: u64 as "UInt32" = "4096", No, "The most connections that wait to be accepted.";
    max_connections: u64 as "Int32" = "4096", No, "The most client connections at once.";
    keep_alive_timeout: u64 as "Seconds" = "30", No, "How long an idle HTTP connection is kept, in seconds.";
    max_keep_alive_requests: u64 as "UInt64" = "0", No, "The most requests on one HTTP connection; 0 is unlimited.";
    handshake_timeout_milliseconds: u64 as "UInt64" = "30000", No, "How long a client may take for its first packet or request.";
    max_concurrent_queries: QueryLimit as "UInt64" = "0", Yes, "The most queries that run at once; 0 is unlimited, auto as many as the server finds best.";
    reserved_queries_for_operators: u64 as "UInt64" = "2", Yes, "Squall: queries of users with use_operator_reserve that run although the limits are reached.";
    os_cpu_busy_time_threshold: u64 as "UInt64" = "1000000", Yes, "The CPU time in microseconds that the server must have used in the last second to count as overloaded.";
    max_concurrent_insert_queries: u64 as "UInt64" = "0", Yes, "The most INSERTs that run at once; 0 is unlimited.";
    max_concurrent_select_queries: u64 as "UInt64" = "0", Yes, "The most SELECTs that run at once; 0 is unlimited.";
    max_waiting_queries: u64 as "UInt64" = "0", Yes, "The most queries that wait for their turn; 0 is unlimited.";
    total_max_threads: i64 as "Int64" = "0", Yes, "The budget of query threads that all queries share; 0 is unused, -1 is twice the logical cores.";
    concurrent_threads_soft_limit_num: u64 as "UInt64" = "0", Yes, "A later name of total_max_threads: the most threads that queries have together, though each has at least one; 0 is unlimited.";
    concurrent_threads_soft_limit_ratio_to_cores: u64 as "UInt64" = "0", Yes, "The budget of query threads as a multiple of the logical cores; 0 is unused.";
    concurrent_threads_scheduler: String as "String" = "stride", Yes, "The policy that gives threads to queries: stride, fixed_at_start, round_robin, fair_round_robin or max_min_fair.";
    max_thread_pool_size: u64 as "UInt64" = "10000", Yes, "The most threads of the global pool.";
    max_thread_pool_free_size: u64 as "UInt64" = "1000", Yes, "The most idle threads that the global pool keeps; more leave once they have not been wanted for half a minute.";
    thread_pool_queue_size: u64 as "UInt64" = "10000", Yes, "The most jobs that wait or run in the global pool; 0 is unlimited.";
    background_pool_weight: f64 as "Double" = "0.1", Yes, "Squall: the share of the CPU that merges and logs have together beside queries, each of which has 1.";
    scheduler_long_step_us: u64 as "UInt64" = "20000", Yes, "Squall: a step of a query that holds a worker for more microseconds is written to the log; 0 is none.";
    max_temporary_data_on_disk_size: u64 as "UInt64" = "0", Yes, "The most bytes of temporary data on disk that all queries may have at once; 0 is unlimited.";
    max_server_memory_usage: u64 as "UInt64" = "0", Yes, "The most memory in bytes that the server may use; 0 goes by max_server_memory_usage_to_ram_ratio.";
    max_server_memory_usage_to_ram_ratio: f64 as "Double" = "0.9", No, "The most memory that the server may use as a share of the machine's.";
    memory_worker_purge_dirty_pages_threshold_ratio: f64 as "Double" = "0.2", Yes, "How much freed memory the process may keep for the next allocations, as a share of what the server may use; what is free for five seconds goes back to the system anyway.";
    uncompressed_cache_size: u64 as "UInt64" = "0", Yes, "The most bytes of the cache of decoded columns; 0 is half of the memory that the server may use.";
    query_condition_cache_size: u64 as "UInt64" = "104857600", Yes, "The most bytes that parts remember of which of their granules hold no match of a condition; 0 is nothing.";
    default_database: String as "String" = "default", No, "The database of sessions that name none.";
    default_profile: String as "String" = "default", No, "The profile under every user's own.";
    default_session_user: String as "String" = "default", Yes, "The user of clients that name none.";
    users_without_row_policies_can_read_rows: bool as "Bool" = "1", Yes, "Whether users for whom no permissive row policy of a table is see all of its rows, where others have such policies.";
    allow_impersonate_user: bool as "Bool" = "0", Yes, "Whether who has the privilege IMPERSONATE may act in other users' names, by EXECUTE AS.";
    allow_no_password: bool as "Bool" = "1", Yes, "Whether CREATE USER may make users without a password.";
    bcrypt_workfactor: u64 as "UInt32" = "12", Yes, "How much work a password under bcrypt is: 2 to the power of this many rounds.";
    http_allowed_hosts: String as "String" = "", Yes, "Squall: names, separated by commas, that requests of users without a password may have in their Host header besides addresses and localhost.";
    config_reload_interval_ms: u64 as "UInt64" = "2000", Yes, "How often the configuration files are looked at, in milliseconds; those that have changed are loaded again.";
    display_name: String as "String" = "Squall", No, "The name that clients show for this server.";
    timezone: String as "String" = "", No, "The server's time zone; empty is the machine's.";
    http_server_default_response: String as "String" = "Ok.\n", No, "What the HTTP interface answers at `/`.";
    max_session_timeout: u64 as "UInt64" = "3600", No, "The longest life of an idle HTTP session, in seconds.";
    default_session_timeout: u64 as "UInt64" = "60", No, "The life of an idle HTTP session, in seconds.";
    umask: String as "String" = "", No, "The permissions, in octal digits, that files of the server are made without; empty is as the server was started.";
    disable_insertion_and_mutation: bool as "Bool" = "0", Yes, "Whether INSERT and mutations are refused, but for tables of the database system.";
    max_open_files: u64 as "UInt64" = "0", No, "The most open files; 0 is as many as the system lets.";
    max_table_size_to_drop: u64 as "UInt64" = "50000000000", Yes, "The most bytes of a table that DROP and TRUNCATE remove; 0 is unlimited.";
    max_partition_size_to_drop: u64 as "UInt64" = "50000000000", Yes, "The most bytes that ALTER TABLE … DROP or DETACH of a part or partition takes away; 0 is unlimited.";
    shutdown_wait_unfinished: u64 as "UInt64" = "5", No, "How long a stopping server waits for running queries, in seconds.";
    shutdown_wait_unfinished_queries: bool as "Bool" = "1", No, "Whether a stopping server waits for running queries.";
    asynchronous_metrics_update_period_s: u64 as "UInt32" = "1", No, "How often system.asynchronous_metrics is measured, in seconds.";
}
