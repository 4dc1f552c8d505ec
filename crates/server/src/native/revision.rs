//! Revisions of the protocol: each thing that came later is sent and expected from its revision on. The names are ClickHouse's
//! (`src/Core/ProtocolDefines.h`).

/// The newest revision spoken here.
pub const REVISION: u64 = 54_479;

/// The oldest client that is served: it brought the information about clients.
pub const CLIENT_INFO: u64 = 54_032;
/// The server says its time zone.
pub const SERVER_TIMEZONE: u64 = 54_058;
/// The client says a quota key with each query.
pub const QUOTA_KEY_IN_CLIENT_INFO: u64 = 54_060;
/// The server says the name that it is shown by.
pub const SERVER_DISPLAY_NAME: u64 = 54_372;
/// Both say the third part of their versions.
pub const VERSION_PATCH: u64 = 54_401;
/// Dictionaries are sent as such.
pub const LOW_CARDINALITY_TYPE: u64 = 54_405;
/// The server sends lines of its log.
pub const SERVER_LOGS: u64 = 54_406;
/// Progress tells what was written. Also the first revision for which lines of the log have `thread_id`, and for which descriptions of
/// columns are worth sending: older clients do not know newer types.
pub const CLIENT_WRITE_INFO: u64 = 54_420;
/// Settings are text.
pub const SETTINGS_AS_STRINGS: u64 = 54_429;
/// A secret between servers.
pub const INTERSERVER_SECRET: u64 = 54_441;
/// OpenTelemetry's trace.
pub const OPENTELEMETRY: u64 = 54_442;
/// `X-Forwarded-For` of clients of clients.
pub const X_FORWARDED_FOR: u64 = 54_443;
/// `Referer` of clients of clients.
pub const REFERER: u64 = 54_447;
/// How many servers a query came through.
pub const DISTRIBUTED_DEPTH: u64 = 54_448;
/// When the query began that began it all.
pub const INITIAL_QUERY_START_TIME: u64 = 54_449;
/// The server sends counters of events.
pub const PROFILE_EVENTS: u64 = 54_451;
/// Several replicas work on one query.
pub const PARALLEL_REPLICAS: u64 = 54_453;
/// The server sends counters of events of INSERTs too.
pub const PROFILE_EVENTS_IN_INSERT: u64 = 54_456;
/// The client says more after the server's hello: a quota key.
pub const ADDENDUM: u64 = 54_458;
/// Query parameters.
pub const PARAMETERS: u64 = 54_459;
/// Progress tells the elapsed time.
pub const SERVER_QUERY_TIME: u64 = 54_460;
/// The server says its rules for passwords.
pub const PASSWORD_COMPLEXITY_RULES: u64 = 54_461;
/// The server says a number for the secret between servers.
pub const INTERSERVER_SECRET_V2: u64 = 54_462;
/// Progress tells the bytes there are to read.
pub const TOTAL_BYTES_IN_PROGRESS: u64 = 54_463;
/// The server tells a session's time zone.
pub const TIMEZONE_UPDATES: u64 = 54_464;
/// The summary tells the rows before aggregation.
pub const ROWS_BEFORE_AGGREGATION: u64 = 54_469;
/// Packets may be cut into chunks.
pub const CHUNKED_PACKETS: u64 = 54_470;
/// Both say their version of the protocol of parallel replicas.
pub const VERSIONED_PARALLEL_REPLICAS: u64 = 54_471;
/// Roles that another server granted.
pub const INTERSERVER_ROLES: u64 = 54_472;
/// The server says the settings that it changed.
pub const SERVER_SETTINGS: u64 = 54_474;
/// The query's number and line in a script.
pub const QUERY_AND_LINE_NUMBERS: u64 = 54_475;
/// A token of another server.
pub const JWT_IN_INTERSERVER: u64 = 54_476;
/// The server says its version of serialised query plans.
pub const QUERY_PLAN_SERIALIZATION: u64 = 54_477;
/// The server says its version of the protocol of cluster functions.
pub const CLUSTER_FUNCTIONS: u64 = 54_479;
