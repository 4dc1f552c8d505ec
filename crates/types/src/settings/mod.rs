//! Query settings: ClickHouse's names, types, defaults and descriptions. A [`Settings`] is what one query runs under: the
//! profile's values, then the session's `SET`s, then the query's own.

mod enumeration;
pub mod foreign;

use std::borrow::Cow;
use std::time::Duration;

use self::foreign::Effect;
use crate::calendar::TimeZone;
use crate::error::{Error, ErrorCode, Result};

/// How a setting's value is written in text and what `system.settings` calls its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum SettingType {
    UInt64,
    /// Above zero.
    NonZeroUInt64,
    Int64,
    Bool,
    Float,
    String,
    /// A literal of a map: `{'name':'value'}`.
    Map,
    /// The name of a time zone, or nothing.
    TimeZone,
    /// A whole or decimal number of seconds.
    Seconds,
    /// A whole number of milliseconds.
    Milliseconds,
    /// A number of threads; 0 or `auto` is the number of logical CPUs.
    MaxThreads,
}

impl SettingType {
    /// A value as it is shown; `None` where the text is no value of the type.
    fn canonical(self, text: &str) -> Option<String> {
        fn of<V: SettingValue>(setting_type: SettingType, text: &str) -> Option<String> {
            V::from_text(setting_type, text).map(|value| value.to_text(setting_type))
        }
        match self {
            Self::UInt64 | Self::NonZeroUInt64 | Self::MaxThreads => of::<u64>(self, text),
            Self::Int64 => of::<i64>(self, text),
            Self::Bool => of::<bool>(self, text),
            Self::Float => of::<f64>(self, text),
            Self::String | Self::Map | Self::TimeZone => of::<String>(self, text),
            Self::Seconds | Self::Milliseconds => of::<Duration>(self, text),
        }
    }

    /// ClickHouse's name of the type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UInt64 => "UInt64",
            Self::NonZeroUInt64 => "NonZeroUInt64",
            Self::Int64 => "Int64",
            Self::Bool => "Bool",
            Self::Float => "Float",
            Self::String | Self::TimeZone => "String",
            Self::Map => "Map",
            Self::Seconds => "Seconds",
            Self::Milliseconds => "Milliseconds",
            Self::MaxThreads => "MaxThreads",
        }
    }
}

/// One setting that exists.
#[derive(Debug)]
pub struct SettingDescription {
    /// ClickHouse's name.
    pub name: &'static str,
    /// How its values are read.
    pub setting_type: SettingType,
    /// ClickHouse's name of its type.
    pub type_name: &'static str,
    /// The default as text.
    pub default: &'static str,
    /// The values that it can have, where there are only some: others would change what a query means, and nothing here does what they say.
    pub allowed: Cow<'static, [&'static str]>,
    /// What it does.
    pub description: &'static str,
    /// Why it is known.
    pub effect: Effect,
    /// How far ClickHouse has come with it: `Production`, `Beta`, `Experimental`, `PrivatePreview` or `Obsolete`.
    pub tier: &'static str,
}

impl SettingDescription {
    /// Whether SQL writes its values as strings, or as maps, and not as numbers.
    pub fn takes_text(&self) -> bool {
        matches!(self.setting_type, SettingType::String | SettingType::Map | SettingType::TimeZone)
            && !self.type_name.ends_with("Auto")
    }

    /// Whether nothing reads it: what it asks for is already so, or does not change what a query answers.
    pub fn is_without_effect(&self) -> bool {
        self.description.starts_with("Accepted for compatibility")
    }
}

/// The longest time of a setting in seconds: so many microseconds are a number of 64 bits.
const SECONDS_MAX: f64 = 9_223_372_036_854.0;

/// A Rust type that holds a setting's value.
trait SettingValue: Sized {
    fn from_text(setting_type: SettingType, text: &str) -> Option<Self>;
    fn to_text(&self, setting_type: SettingType) -> String;
}

impl SettingValue for u64 {
    fn from_text(setting_type: SettingType, text: &str) -> Option<Self> {
        if setting_type == SettingType::MaxThreads {
            let text = text.trim();
            // `system.settings` shows the automatic value as `'auto(8)'`, and clients send back what they saw.
            if text.trim_matches('\'').starts_with("auto") {
                return Some(0);
            }
        }
        // Byte sizes may carry a suffix of binary thousands in configuration files: `10G`, `512Mi`.
        let text = text.trim();
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let factor: u64 = match text[digits.len()..].to_ascii_uppercase().as_str() {
            "" => 1,
            "K" => 1_000,
            "M" => 1_000_000,
            "G" => 1_000_000_000,
            "T" => 1_000_000_000_000,
            "KI" => 1 << 10,
            "MI" => 1 << 20,
            "GI" => 1 << 30,
            "TI" => 1 << 40,
            _ => return None,
        };
        let value = match digits.parse::<u64>() {
            Ok(value) => value.checked_mul(factor)?,
            Err(_) => {
                // Of a float its whole part counts.
                let value =
                    text.parse::<f64>().ok().filter(|value| (0.0..18_446_744_073_709_551_616.0).contains(value))?;
                value as u64
            }
        };
        (value > 0 || setting_type != SettingType::NonZeroUInt64).then_some(value)
    }
    fn to_text(&self, _: SettingType) -> String {
        self.to_string()
    }
}

impl SettingValue for i64 {
    fn from_text(_: SettingType, text: &str) -> Option<Self> {
        let text = text.trim();
        let of_float = |value: f64| (value.abs() < 9_223_372_036_854_775_808.0).then_some(value as Self);
        text.parse().ok().or_else(|| text.parse().ok().and_then(of_float))
    }
    fn to_text(&self, _: SettingType) -> String {
        self.to_string()
    }
}

impl SettingValue for bool {
    fn from_text(_: SettingType, text: &str) -> Option<Self> {
        match text.trim() {
            "1" => Some(true),
            "0" => Some(false),
            word if word.eq_ignore_ascii_case("true") => Some(true),
            word if word.eq_ignore_ascii_case("false") => Some(false),
            _ => None,
        }
    }
    fn to_text(&self, _: SettingType) -> String {
        u8::from(*self).to_string()
    }
}

impl SettingValue for f64 {
    fn from_text(_: SettingType, text: &str) -> Option<Self> {
        text.trim().parse().ok().filter(|value: &Self| value.is_finite())
    }
    fn to_text(&self, _: SettingType) -> String {
        self.to_string()
    }
}

impl SettingValue for String {
    fn from_text(setting_type: SettingType, text: &str) -> Option<Self> {
        let is_value = text.is_empty()
            || match setting_type {
                SettingType::TimeZone => TimeZone::named(text).is_ok(),
                SettingType::Map => text.starts_with('{'),
                _ => true,
            };
        is_value.then(|| text.to_owned())
    }
    fn to_text(&self, _: SettingType) -> String {
        self.clone()
    }
}

impl SettingValue for Duration {
    fn from_text(setting_type: SettingType, text: &str) -> Option<Self> {
        match setting_type {
            SettingType::Milliseconds => u64::from_text(SettingType::UInt64, text).map(Self::from_millis),
            // A time before none is none.
            _ => match f64::from_text(SettingType::Float, text)? {
                seconds if seconds <= 0.0 => Some(Self::ZERO),
                seconds if seconds <= SECONDS_MAX => Self::try_from_secs_f64(seconds).ok(),
                _ => None,
            },
        }
    }
    fn to_text(&self, setting_type: SettingType) -> String {
        match setting_type {
            SettingType::Milliseconds => self.as_millis().to_string(),
            _ => self.as_secs_f64().to_string(),
        }
    }
}

/// What SQL calls a setting, where that is a word of Rust.
macro_rules! name_of {
    (with_final) => {
        "final"
    };
    ($name:ident) => {
        stringify!($name)
    };
}

/// ClickHouse's name of a setting's type: its own, where it has one beside how its values are read.
macro_rules! type_name {
    ($setting_type:ident $named:ident) => {
        stringify!($named)
    };
    ($setting_type:ident) => {
        SettingType::$setting_type.name()
    };
}

macro_rules! settings {
    ($(
        $name:ident : $rust:ty as $setting_type:ident $(($named:ident))? = $default:literal $(only [$($allowed:literal),*])?, $description:literal;
    )*) => {
        /// The settings that a query runs under; each field is ClickHouse's setting of that name.
        #[derive(Clone, PartialEq, Debug)]
        pub struct Settings {
            $(#[doc = $description] pub $name: $rust,)*
            /// The names that were changed from their defaults, in the order of their first change.
            changed: Vec<&'static str>,
            /// The values of foreign settings that were set.
            foreign: Vec<(&'static str, String)>,
        }

        impl Default for Settings {
            fn default() -> Self {
                Self {
                    $($name: <$rust as SettingValue>::from_text(SettingType::$setting_type, $default).unwrap_or_default(),)*
                    changed: Vec::new(),
                    foreign: Vec::new(),
                }
            }
        }

        impl Settings {
            /// Every setting that is implemented, in the order of declaration.
            pub const ALL: &'static [SettingDescription] = &[
                $(SettingDescription {
                    name: name_of!($name),
                    setting_type: SettingType::$setting_type,
                    type_name: type_name!($setting_type $($named)?),
                    default: $default,
                    allowed: Cow::Borrowed(&[$($($allowed),*)?]),
                    description: $description,
                    effect: Effect::Implemented,
                    tier: "Production",
                }),*
            ];

            /// Sets a setting from text, as in a URL, a configuration file or `SET`.
            ///
            /// # Errors
            /// `UNKNOWN_SETTING`; where the text is not a value of the setting's type, ClickHouse's code for that type; `SUPPORT_IS_DISABLED` where
            /// the value would mean something that is not there.
            pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
                check_analyzer(name, text)?;
                let name = match name {
                    $(name_of!($name) => {
                        let value = <$rust as SettingValue>::from_text(SettingType::$setting_type, text)
                            .ok_or_else(|| bad_value(name, SettingType::$setting_type, text))?;
                        $(check_named(stringify!($named), text)?;)?
                        $(check_allowed(name, &value.to_text(SettingType::$setting_type), &[$($allowed),*])?;)?
                        self.$name = value;
                        name_of!($name)
                    })*
                    _ => match foreign::alias(name) {
                        Some(target) => return self.set(target, text),
                        None => self.set_foreign(name, text)?,
                    },
                };
                if !self.changed.contains(&name) {
                    self.changed.push(name);
                }
                Ok(())
            }

            /// A setting's value as text; `None` for a name that is not known.
            pub fn get(&self, name: &str) -> Option<String> {
                match name {
                    $(name_of!($name) => Some(self.$name.to_text(SettingType::$setting_type)),)*
                    _ => self.get_foreign(name),
                }
            }
        }
    };
}

/// Of a name that nobody knows, with the names that may have been meant.
fn unknown(name: &str) -> Error {
    let distance = |setting: &SettingDescription| strsim::osa_distance(name, setting.name);
    let near = Settings::all().map(|setting| (distance(setting), setting.name)).filter(|(distance, _)| *distance <= 3);
    let hint = near.min().map_or_else(String::new, |(_, nearest)| format!(". Maybe you meant '{nearest}'"));
    Error::new(ErrorCode::UNKNOWN_SETTING, format!("Unknown setting '{name}'{hint}"))
}

fn bad_value(name: &str, setting_type: SettingType, text: &str) -> Error {
    if setting_type == SettingType::TimeZone {
        return Error::new(ErrorCode::BAD_ARGUMENTS, format!("Invalid time zone: {text}"));
    }
    if setting_type == SettingType::NonZeroUInt64 && u64::from_text(SettingType::UInt64, text).is_some() {
        return Error::new(ErrorCode::BAD_ARGUMENTS, "A setting's value has to be greater than 0");
    }
    let number = text.trim().parse::<f64>();
    let is_finite = number.as_ref().is_ok_and(|number| number.is_finite());
    let (code, what) = match setting_type {
        SettingType::Bool if is_finite => (ErrorCode::CANNOT_CONVERT_TYPE, "it is out of its range"),
        SettingType::Bool => (ErrorCode::CANNOT_PARSE_BOOL, "it is none"),
        SettingType::Seconds if is_finite => (ErrorCode::BAD_ARGUMENTS, "it is too big"),
        SettingType::Map => (ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, "expected '{'"),
        _ if number.is_ok() && !is_finite => (ErrorCode::CANNOT_PARSE_NUMBER, "it must be finite"),
        SettingType::Float => (ErrorCode::CANNOT_PARSE_NUMBER, "it is no number"),
        SettingType::Seconds if !text.starts_with(|c: char| c.is_ascii_digit()) => {
            (ErrorCode::CANNOT_PARSE_NUMBER, "it is no number")
        }
        _ if is_finite => (ErrorCode::CANNOT_CONVERT_TYPE, "it is out of its range"),
        _ if text.is_empty() => (ErrorCode::ATTEMPT_TO_READ_AFTER_EOF, "it is empty"),
        _ => (ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED, "something follows the number"),
    };
    Error::new(code, format!("Cannot parse '{text}' as {} for setting '{name}': {what}", setting_type.name()))
}

/// Checks a value of a type with a name of its own.
///
/// # Errors
/// The type's own.
fn check_named(type_name: &str, text: &str) -> Result<()> {
    if type_name == "Char" && text.len() > 1 {
        let message = "A setting's value string has to be an exactly one character long";
        return Err(Error::new(ErrorCode::SIZE_OF_FIXED_STRING_DOESNT_MATCH, message));
    }
    enumeration::check(type_name, text)
}

/// There is no other analyzer.
fn check_analyzer(name: &str, text: &str) -> Result<()> {
    if !matches!(name, "enable_analyzer" | "allow_experimental_analyzer")
        || bool::from_text(SettingType::Bool, text) != Some(false)
    {
        return Ok(());
    }
    let message = format!(
        "Setting '{name}' cannot be disabled: the analyzer is mandatory since v26.9 and the old query analysis is no longer supported. \
         Remove '{name} = 0' from the query, the session, the settings profile or the configuration"
    );
    Err(Error::new(ErrorCode::SETTING_CONSTRAINT_VIOLATION, message))
}

fn check_allowed(name: &str, value: &str, allowed: &[&str]) -> Result<()> {
    if allowed.contains(&value) {
        return Ok(());
    }
    let allowed = allowed.join(", ");
    Err(Error::new(
        ErrorCode::SUPPORT_IS_DISABLED,
        format!("Setting '{name}' cannot be '{value}' here: only {allowed}"),
    ))
}

impl Settings {
    /// The names and values that differ from a fresh `Settings` because somebody set them.
    pub fn changes(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.changed.iter().filter_map(|name| Some((*name, self.get(name)?)))
    }

    /// A setting has its default again, as if nobody had set it.
    pub fn forget_change(&mut self, name: &str) {
        let name = foreign::alias(name).unwrap_or(name);
        self.changed.retain(|changed| *changed != name);
    }

    /// Whether somebody set this name.
    pub fn is_changed(&self, name: &str) -> bool {
        self.changed.contains(&name)
    }

    /// Every setting that is known: those that are implemented, then ClickHouse's others.
    pub fn all() -> impl Iterator<Item = &'static SettingDescription> {
        Self::ALL.iter().chain(foreign::all())
    }

    /// The description of a name or of an alias.
    pub fn description(name: &str) -> Option<&'static SettingDescription> {
        let own = Self::ALL.iter().find(|description| description.name == name);
        own.or_else(|| foreign::find(name)).or_else(|| Self::description(foreign::alias(name)?))
    }

    fn set_foreign(&mut self, name: &str, text: &str) -> Result<&'static str> {
        let setting = foreign::find(name).ok_or_else(|| unknown(name))?;
        let value = setting.foreign_value(text)?;
        match self.foreign.iter_mut().find(|(other, _)| *other == setting.name) {
            Some((_, place)) => *place = value,
            None => self.foreign.push((setting.name, value)),
        }
        Ok(setting.name)
    }

    fn get_foreign(&self, name: &str) -> Option<String> {
        let setting = Self::description(name)?;
        if setting.name != name {
            return self.get(setting.name);
        }
        let set = self.foreign.iter().find(|(other, _)| *other == name);
        Some(set.map_or_else(|| setting.default.to_owned(), |(_, value)| value.clone()))
    }
}

settings! {
    max_threads: u64 as MaxThreads = "0", "The maximum number of threads that work on one query at once; 0 is the number of logical CPUs.";
    max_insert_threads: u64 as MaxThreads = "0", "Accepted for compatibility: an INSERT SELECT has as many threads as its SELECT.";
    max_block_size: u64 as NonZeroUInt64 = "65409", "The maximum number of rows of a block that is read from a table.";
    preferred_block_size_bytes: u64 as UInt64 = "1000000", "Accepted for compatibility: morsels are as long as they take, whatever their rows' width.";
    max_insert_block_size: u64 as NonZeroUInt64 = "1048449", "The number of rows of the blocks that an INSERT is cut into.";
    min_insert_block_size_rows: u64 as UInt64 = "1048449", "Smaller blocks of an INSERT are squashed to this many rows.";
    min_insert_block_size_bytes: u64 as UInt64 = "268402944", "Smaller blocks of an INSERT are squashed to this many bytes.";
    max_memory_usage: u64 as UInt64 = "0", "The most memory in bytes that one query may use; 0 is unlimited.";
    memory_overcommit_ratio_denominator: u64 as UInt64 = "1073741824", "The memory in bytes that is guaranteed to a query when the server has too little: the query farthest beyond it is stopped; 0 takes no part.";
    memory_overcommit_ratio_denominator_for_user: u64 as UInt64 = "1073741824", "The same among the queries of one user when the user's limit is reached.";
    memory_usage_overcommit_max_wait_microseconds: u64 as UInt64 = "5000000", "The longest that a query waits for memory of a query that was stopped.";
    max_memory_usage_for_user: u64 as UInt64 = "0", "The most memory in bytes that all queries of one user may use; 0 is unlimited.";
    max_execution_time: Duration as Seconds = "0", "The longest that a query may run, in seconds; 0 is unlimited.";
    timeout_overflow_mode: String as String(OverflowMode) = "throw", "What happens at max_execution_time: throw, or break with what there is.";
    queue_max_wait_ms: Duration as Milliseconds = "0", "The longest that a query waits for its turn when too many run.";
    max_concurrent_queries_for_user: u64 as UInt64 = "0", "The most queries of one user that run at once; 0 is unlimited.";
    max_concurrent_queries_for_all_users: u64 as UInt64 = "0", "The most queries that may run for this one to start; 0 is unlimited.";
    max_concurrent_queries_for_normalized_query_hash: u64 as UInt64 = "0", "The most queries of one form, literals aside, that run at once; 0 is unlimited.";
    queue_max_wait_ms_for_normalized_query_hash: Duration as Milliseconds = "0", "The longest that a query waits for its turn when too many of its form run.";
    min_os_cpu_wait_time_ratio_to_throw: f64 as Float = "0", "The ratio of the time that threads wait for a CPU to the time that they run, up to which no query is refused.";
    max_os_cpu_wait_time_ratio_to_throw: f64 as Float = "0", "The ratio from which on every query is refused with SERVER_OVERLOADED; 0 refuses none.";
    use_operator_reserve: bool as Bool = "0", "Squall: this user's queries may run in the server's reserve (reserved_queries_for_operators) when limits are reached. Counts in the user's profile only.";
    use_concurrency_control: bool as Bool = "1", "Whether the query's threads count toward concurrent_threads_soft_limit_num and are limited by it, where the scheduler binds threads to queries.";
    priority: u64 as UInt64 = "0", "The priority of the query: 1 is highest, larger is lower, 0 takes no part.";
    weight: f64 as Float = "0", "Squall: the share of the CPU that all queries of this user have together beside other users and queries, each of which counts 1, under the scheduler stride; 0 is a share of 1 for each query. Counts in the user's profile only.";
    allow_ddl: bool as Bool = "1", "Whether CREATE, ALTER, RENAME and their like are allowed. A session that they are forbidden in cannot allow them again.";
    readonly: u64 as UInt64 = "0", "0: everything; 1: only reading, no change of settings; 2: only reading, and changing settings but this one.";
    max_rows_to_read: u64 as UInt64 = "0", "The most rows that a query may read from tables; 0 is unlimited.";
    max_bytes_to_read: u64 as UInt64 = "0", "The most bytes that a query may read from tables; 0 is unlimited.";
    read_overflow_mode: String as String(OverflowMode) = "throw", "What happens at the limits of reading: throw or break.";
    max_result_rows: u64 as UInt64 = "0", "The most rows of a result; 0 is unlimited.";
    max_result_bytes: u64 as UInt64 = "0", "The most bytes of a result; 0 is unlimited.";
    result_overflow_mode: String as String(OverflowMode) = "throw", "What happens at the limits of the result: throw or break.";
    max_bytes_before_external_group_by: u64 as UInt64 = "0", "The memory in bytes that a query holds from which on GROUP BY puts groups on disk; 0 goes by the ratio alone.";
    max_bytes_ratio_before_external_group_by: f64 as Float = "0.5", "The same as a share of the memory that is available when the query begins; 0 is none.";
    max_bytes_before_external_sort: u64 as UInt64 = "0", "The memory in bytes that a query holds from which on ORDER BY puts rows on disk; 0 goes by the ratio alone.";
    max_bytes_ratio_before_external_sort: f64 as Float = "0.5", "The same as a share of the memory that is available when the query begins; 0 is none.";
    max_bytes_before_external_distinct: u64 as UInt64 = "0", "The memory in bytes that a query holds from which on DISTINCT puts rows on disk; 0 goes by the ratio alone.";
    max_bytes_ratio_before_external_distinct: f64 as Float = "0.5", "The same as a share of the memory that is available when the query begins; 0 is none.";
    temporary_files_codec: String as String = "LZ4", "How temporary data on disk are compressed: LZ4, ZSTD or NONE.";
    max_temporary_data_on_disk_size_for_query: u64 as UInt64 = "0", "The most bytes of temporary data on disk that a query may have at once; 0 is unlimited.";
    min_free_disk_space_for_temporary_data: u64 as UInt64 = "0", "The bytes of the disk that temporary data leave free: a query whose data would take them fails.";
    max_temporary_data_on_disk_size_for_user: u64 as UInt64 = "0", "The most bytes of temporary data on disk that all queries of a user may have at once; 0 is unlimited.";
    max_rows_to_group_by: u64 as UInt64 = "0", "The most groups of an aggregation; 0 is unlimited.";
    max_rows_to_sort: u64 as UInt64 = "0", "The most rows that ORDER BY may sort; 0 is unlimited.";
    max_bytes_to_sort: u64 as UInt64 = "0", "The most bytes of rows that ORDER BY may sort; 0 is unlimited.";
    sort_overflow_mode: String as String(OverflowMode) = "throw" only ["throw", "break"], "What happens at the limits of sorting: throw, or break with the rows so far.";
    decimal_check_overflow: bool as Bool = "1", "Whether arithmetic of decimals whose result does not fit is an error, rather than its lowest bits.";
    parallel_replicas_count: u64 as UInt64 = "0", "Among how many servers a SAMPLE is shared: each reads a part of it.";
    parallel_replica_offset: u64 as UInt64 = "0", "Which of the parts of a SAMPLE this server reads, from 0, where parallel_replicas_count says that there are several.";
    max_rows_in_distinct: u64 as UInt64 = "0", "The most distinct rows that DISTINCT may find; 0 is unlimited.";
    max_bytes_in_distinct: u64 as UInt64 = "0", "The most bytes of rows that DISTINCT may keep to tell rows apart; 0 is unlimited.";
    distinct_overflow_mode: String as String(OverflowMode) = "throw" only ["throw", "break"], "What happens at the limits of DISTINCT: throw, or break with the rows so far.";
    max_rows_in_set: u64 as UInt64 = "0", "The most values of a set that IN is asked of; 0 is unlimited.";
    max_bytes_in_set: u64 as UInt64 = "0", "The most bytes of a set that IN is asked of; 0 is unlimited.";
    set_overflow_mode: String as String(OverflowMode) = "throw" only ["throw", "break"], "What happens at the limits of a set: throw, or break with the values so far.";
    empty_result_for_aggregation_by_empty_set: bool as Bool = "0", "Whether an aggregation without keys gives no row where no rows come, rather than one.";
    empty_result_for_aggregation_by_constant_keys_on_empty_set: bool as Bool = "1", "Whether an aggregation whose keys are all constants gives no row where no rows come, rather than one.";
    group_by_overflow_mode: String as String(OverflowModeGroupBy) = "throw" only ["throw", "break", "any"], "What happens at max_rows_to_group_by: throw, break with the groups so far, or any, which goes on with these groups.";
    max_query_size: u64 as UInt64 = "262144", "The most bytes of a query's text that the parser reads.";
    max_parser_depth: u64 as UInt64 = "1000", "The deepest nesting that the parser follows.";
    max_parser_backtracks: u64 as UInt64 = "1000000", "The most attempts that the parser makes.";
    max_ast_depth: u64 as UInt64 = "1000", "The deepest syntax tree.";
    max_ast_elements: u64 as UInt64 = "50000", "The most elements of a syntax tree, counted as those of max_expanded_ast_elements; where it is set and smaller, it is what holds.";
    max_expanded_ast_elements: u64 as UInt64 = "500000", "The most elements of a syntax tree after aliases and asterisks are expanded.";
    max_columns_to_read: u64 as UInt64 = "0", "The most columns that a query may read from a table; 0 is unlimited.";
    max_table_size_to_drop: u64 as UInt64 = "50000000000", "The most bytes of a table that DROP and TRUNCATE remove; 0 is unlimited. Where it is not set, the server's element of that name holds.";
    max_partition_size_to_drop: u64 as UInt64 = "50000000000", "The most bytes that ALTER TABLE … DROP or DETACH of a part or partition takes away; 0 is unlimited. Where it is not set, the server's element of that name holds.";
    max_subquery_depth: u64 as UInt64 = "100", "The deepest nesting of subqueries.";
    use_uncompressed_cache: bool as Bool = "0", "Accepted for compatibility: hot columns are always cached decoded.";
    extremes: bool as Bool = "0", "Whether minima and maxima of the result's columns are computed.";
    totals_mode: String as String(TotalsMode) = "after_having_exclusive" only ["before_having", "after_having_exclusive", "after_having_inclusive", "after_having_auto"], "Whether WITH TOTALS counts rows of groups that HAVING removes: before_having says yes; after_having_exclusive, after_having_inclusive and after_having_auto say no (after_having_inclusive counts rows of groups that max_rows_to_group_by leaves out).";
    use_with_fill_by_sorting_prefix: bool as Bool = "1", "WITH FILL fills each group of rows that are equal in the columns of ORDER BY before the first one with WITH FILL.";
    enable_materialized_cte: bool as Bool = "0", "A common table expression AS MATERIALIZED is computed once, however often it is read.";
    max_recursive_cte_evaluation_depth: u64 as UInt64 = "1000", "How often the recursive part of WITH RECURSIVE is run at most.";
    enable_optimize_predicate_expression: bool as Bool = "1", "Whether predicates are pushed into subqueries.";
    optimize_move_to_prewhere: bool as Bool = "1", "Accepted for compatibility: conditions of WHERE are always tested first where that saves reading.";
    optimize_arithmetic_operations_in_aggregate_functions: bool as Bool = "1", "Whether sum, min, max and avg of x * c and the like are computed of x, and the constant is applied to the result.";
    optimize_order_by_count_limit: bool as Bool = "1", "Whether GROUP BY … ORDER BY count() DESC LIMIT n over many rows in memory counts keys roughly first, and then groups only rows whose keys can be among the n.";
    exact_rows_before_limit: bool as Bool = "0", "Whether the server makes and counts all groups that a LIMIT chooses from, also where a few of them would do.";
    optimize_rewrite_has_to_in: bool as Bool = "1", "Whether has() of a constant array becomes IN, which builds a set of it.";
    optimize_time_filter_with_preimage: bool as Bool = "1", "Whether a condition on a function of a date or time, such as toYear(day) = 1997, becomes a range of the date or time itself.";
    optimize_trivial_count_query: bool as Bool = "1", "Whether count() of a whole table is taken from what the table knows of itself.";
    optimize_use_implicit_projections: bool as Bool = "1", "Whether min() and max() of a column of integers, dates or times over a whole table are taken from what its parts say.";
    enable_positional_arguments: bool as Bool = "1", "Whether a number in GROUP BY, ORDER BY and LIMIT BY stands for a selected expression.";
    insert_null_as_default: bool as Bool = "1", "Whether INSERT SELECT inserts the column's default for NULL where the column takes no NULL.";
    use_query_condition_cache: bool as Bool = "1", "Whether scans of many rows remember which granules hold no match of their condition, and leave out those that earlier ones found.";
    allow_experimental_analyzer: bool as Bool = "1", "Accepted for compatibility: there is one analyzer.";
    enable_analyzer: bool as Bool = "1", "Accepted for compatibility: there is one analyzer.";
    function_json_value_return_type_allow_complex: bool as Bool = "0", "Whether JSON_VALUE gives objects and arrays.";
    function_json_value_return_type_allow_nullable: bool as Bool = "0", "Whether JSON_VALUE gives NULL where there is no value.";
    log_queries: bool as Bool = "1", "Whether queries are logged in system.query_log.";
    log_queries_min_type: String as String(LogQueriesType) = "QUERY_START", "The least type of an event that goes into system.query_log: QUERY_START, QUERY_FINISH, EXCEPTION_BEFORE_START or EXCEPTION_WHILE_PROCESSING.";
    log_queries_min_query_duration_ms: Duration as Milliseconds = "0", "Only queries that took at least this long go into system.query_log and system.query_thread_log.";
    log_queries_probability: f64 as Float = "1", "The share of queries, chosen at random, that go into system.query_log and system.query_thread_log.";
    log_queries_cut_to_length: u64 as UInt64 = "100000", "The most bytes of a query's text in system.query_log.";
    log_formatted_queries: bool as Bool = "0", "Whether system.query_log has the query in its canonical form too.";
    log_profile_events: bool as Bool = "1", "Whether system.query_log has the query's ProfileEvents.";
    log_query_settings: bool as Bool = "1", "Whether system.query_log has the settings that the query changed.";
    log_query_threads: bool as Bool = "0", "Whether the threads of queries are logged in system.query_thread_log.";
    query_profiler_real_time_period_ns: u64 as UInt64 = "1000000000", "The period of the query profiler's samples by real time, in nanoseconds; 0 is never.";
    query_profiler_cpu_time_period_ns: u64 as UInt64 = "1000000000", "The period of the query profiler's samples by CPU time, in nanoseconds; 0 is never.";
    memory_profiler_step: u64 as UInt64 = "4194304", "A trace goes into system.trace_log (Memory) whenever the query holds so many bytes more; 0 is never.";
    memory_profiler_sample_probability: f64 as Float = "0", "The probability that an allocation or a free, when it is charged to the query, is noted in system.trace_log (MemorySample).";
    memory_profiler_sample_min_allocation_size: u64 as UInt64 = "0", "Smaller allocations are no samples; 0 is no bound.";
    memory_profiler_sample_max_allocation_size: u64 as UInt64 = "0", "Larger allocations are no samples; 0 is no bound.";
    max_untracked_memory: u64 as UInt64 = "262144", "A thread's allocations are charged to its query whenever they come to so many bytes; more than 262144 is as much. ClickHouse's default is 4194304.";
    system_events_show_zero_values: bool as Bool = "0", "Whether system.events shows events that have not happened.";
    log_comment: String as String = "", "A text that goes into system.query_log with the query.";
    send_logs_level: String as String(LogsLevel) = "fatal", "The level from which the server's log lines about a query are sent to its client.";
    send_progress_in_http_headers: bool as Bool = "0", "Whether X-ClickHouse-Progress headers are sent.";
    http_headers_progress_interval_ms: u64 as UInt64 = "100", "The interval of X-ClickHouse-Progress headers in milliseconds.";
    wait_end_of_query: bool as Bool = "0", "Whether an HTTP response is held back until the query is done.";
    buffer_size: u64 as UInt64 = "0", "Bytes of an HTTP response that are held back before the first is sent.";
    enable_http_compression: bool as Bool = "1", "Whether HTTP responses are compressed where the client accepts it.";
    http_zlib_compression_level: i64 as Int64 = "3", "The level of compression of HTTP responses.";
    cancel_http_readonly_queries_on_client_close: bool as Bool = "1", "Whether a reading query is cancelled when its HTTP client goes away; ClickHouse's default is 0.";
    replace_running_query: bool as Bool = "0", "Whether a query replaces the running one of the same query_id.";
    network_compression_method: String as String = "LZ4", "The codec of the native protocol's blocks: LZ4, ZSTD or NONE.";
    network_zstd_compression_level: i64 as Int64 = "1", "The level where the native protocol's codec is ZSTD.";
    interactive_delay: u64 as UInt64 = "100000", "The interval of progress packets in microseconds.";
    connect_timeout: Duration as Seconds = "10", "The time to connect, in seconds.";
    external_storage_connect_timeout_sec: u64 as UInt64 = "10", "The time in which a server of MySQL must take the connection, in seconds.";
    external_table_functions_use_nulls: bool as Bool = "1", "Whether columns of tables of PostgreSQL and MySQL that may be NULL there may be so here; otherwise NULL is the type's default.";
    mysql_datatypes_support_level: String as String(MySQLDataTypesSupport) = "decimal,datetime64,date2Date32,geometry", "Which types of MySQL have a counterpart here: decimal; datetime64, times with fractions of a second; date2Date32 or date2String, what dates are instead of Date.";
    mysql_max_rows_to_insert: u64 as UInt64 = "65536", "The most rows of a statement that inserts into a table of MySQL.";
    postgresql_connection_attempt_timeout: u64 as UInt64 = "2", "The time in which a server of PostgreSQL must take the connection, in seconds.";
    receive_timeout: Duration as Seconds = "300", "The time in which a client must send what it owes, in seconds.";
    send_timeout: Duration as Seconds = "300", "The time in which a client must take what it is sent, in seconds.";
    http_max_uri_size: u64 as UInt64 = "1048576", "The most bytes of a URL, with its parameters; that of the default profile counts.";
    http_max_fields: u64 as UInt64 = "1000", "The most headers of an HTTP request; that of the default profile counts.";
    http_max_field_name_size: u64 as UInt64 = "4096", "The most bytes of a header's name; that of the default profile counts.";
    http_max_field_value_size: u64 as UInt64 = "131072", "The most bytes of a header's value; that of the default profile counts.";
    http_max_request_header_size: u64 as UInt64 = "10485760", "The most bytes of a request's headers, names and values together; 0 is unlimited. No more than 2 MiB are taken with the URL; that of the default profile counts.";
    http_headers_read_timeout: Duration as Seconds = "30", "The time in which an HTTP client must send all of a request's headers, in seconds; 0 is unlimited, that of the default profile counts.";
    add_http_cors_header: bool as Bool = "0", "Whether a response to a page of another origin says that any page may read it, unless http_options_response says more.";
    http_max_multipart_form_data_size: u64 as UInt64 = "1073741824", "The most bytes of a part of multipart/form-data, which becomes a table in memory before the query begins; 0 is unlimited, that of the user's profile counts.";
    http_max_request_param_data_size: u64 as UInt64 = "10485760", "The most bytes of a request's body that a predefined query takes as a parameter.";
    http_receive_timeout: Duration as Seconds = "30", "The time in which an HTTP client must send what it owes, in seconds.";
    http_connection_timeout: Duration as Seconds = "1", "The time in which a web server that a query asks must take the connection, in seconds.";
    max_http_get_redirects: u64 as UInt64 = "0", "How often a web server that a query asks may send it elsewhere.";
    http_skip_not_found_url_for_globs: bool as Bool = "1", "Whether URLs of a pattern that are not found are left out.";
    http_send_timeout: Duration as Seconds = "30", "The time in which an HTTP client must take what it is sent, in seconds; that of the default profile counts.";
    tcp_keep_alive_timeout: Duration as Seconds = "290", "The time after which a silent connection is probed, in seconds; 0 is never, that of the default profile counts.";
    session_timezone: String as TimeZone = "", "The time zone of the session; empty is the server's.";
    date_time_input_format: String as String(DateTimeInputFormat) = "best_effort" only ["basic", "best_effort", "best_effort_us"], "How input formats read DateTime and DateTime64: in YYYY-MM-DD hh:mm:ss and as Unix timestamps (basic), or in any form, with the day (best_effort) or the month (best_effort_us) first where numbers say the date.";
    cast_string_to_date_time_mode: String as String(DateTimeInputFormat) = "best_effort" only ["basic", "best_effort", "best_effort_us"], "How casts of strings read DateTime and DateTime64, as date_time_input_format has it for formats.";
    date_time_output_format: String as String(DateTimeOutputFormat) = "simple", "How DateTime and DateTime64 are written in text formats: simple, iso (in UTC) or unix_timestamp.";
    format_csv_delimiter: String as String(Char) = ",", "The delimiter of the CSV formats.";
    format_csv_allow_single_quotes: bool as Bool = "0", "Whether CSV strings may stand in single quotes.";
    format_csv_allow_double_quotes: bool as Bool = "1", "Whether CSV strings may stand in double quotes.";
    output_format_csv_crlf_end_of_line: bool as Bool = "0", "Whether CSV rows end in CR LF.";
    output_format_tsv_crlf_end_of_line: bool as Bool = "0", "Whether TSV rows end in CR LF.";
    input_format_tsv_crlf_end_of_line: bool as Bool = "0", "Whether TSV rows may end in CR LF; otherwise a CR at the first row's end is an error.";
    input_format_csv_allow_cr_end_of_line: bool as Bool = "0", "Whether CSV rows may end in CR alone.";
    input_format_csv_enum_as_number: bool as Bool = "0", "Whether values of enums in CSV are their numbers rather than their names.";
    input_format_tsv_enum_as_number: bool as Bool = "0", "Whether values of enums in TSV are their numbers rather than their names.";
    input_format_csv_skip_first_lines: u64 as UInt64 = "0", "The number of lines at the beginning of CSV that are left out.";
    input_format_tsv_skip_first_lines: u64 as UInt64 = "0", "The number of lines at the beginning of TSV that are left out.";
    input_format_csv_skip_trailing_empty_lines: bool as Bool = "0", "Whether empty lines at the end of CSV are left out.";
    input_format_tsv_skip_trailing_empty_lines: bool as Bool = "0", "Whether empty lines at the end of TSV are left out.";
    input_format_csv_allow_variable_number_of_columns: bool as Bool = "0", "Whether rows of CSV may have fewer fields, which have their defaults, or more, which are left out.";
    input_format_tsv_allow_variable_number_of_columns: bool as Bool = "0", "Whether rows of TSV may have fewer fields, which have their defaults, or more, which are left out.";
    input_format_custom_allow_variable_number_of_columns: bool as Bool = "0", "Whether rows of CustomSeparated may have fewer fields, which have their defaults, or more, which are left out.";
    input_format_json_compact_allow_variable_number_of_columns: bool as Bool = "0", "Whether rows of JSONCompactEachRow may have fewer values, which have their defaults, or more, which are left out.";
    input_format_csv_trim_whitespaces: bool as Bool = "1", "Whether spaces and tabs around strings without quotes in CSV are left out.";
    input_format_csv_allow_whitespace_or_tab_as_delimiter: bool as Bool = "0", "Whether the delimiter of CSV may be a space or a tab.";
    input_format_csv_use_default_on_bad_values: bool as Bool = "0", "Whether a field of CSV that cannot be read has the column's default.";
    input_format_csv_missing_nullable_as_empty_string: bool as Bool = "0", "Whether an empty field of CSV without quotes is an empty string rather than NULL for Nullable(String).";
    input_format_csv_use_best_effort_in_schema_inference: bool as Bool = "1", "Whether the types of CSV's columns are inferred from their fields, which are strings otherwise.";
    input_format_tsv_use_best_effort_in_schema_inference: bool as Bool = "1", "Whether the types of TSV's columns are inferred from their fields, which are strings otherwise.";
    input_format_json_named_tuples_as_objects: bool as Bool = "1", "Whether JSON may have objects for named tuples.";
    input_format_json_defaults_for_missing_elements_in_named_tuple: bool as Bool = "1", "Whether elements of a named tuple that an object of JSON does not have are defaults, rather than an error.";
    input_format_json_ignore_unknown_keys_in_named_tuple: bool as Bool = "1", "Whether keys of an object of JSON that a named tuple does not have are passed over, rather than an error.";
    input_format_json_map_as_array_of_tuples: bool as Bool = "0", "Whether maps are arrays of pairs in JSON, rather than objects.";
    input_format_json_read_bools_as_numbers: bool as Bool = "1", "Whether true and false of JSON are numbers where numbers are wanted.";
    input_format_json_empty_as_default: bool as Bool = "0", "Whether an empty string of JSON is the default of its column, whatever its type.";
    input_format_json_read_bools_as_strings: bool as Bool = "1", "Whether true and false of JSON are strings where strings are wanted.";
    input_format_json_read_numbers_as_strings: bool as Bool = "1", "Whether numbers of JSON are strings where strings are wanted.";
    input_format_json_read_arrays_as_strings: bool as Bool = "1", "Whether arrays of JSON are strings, their text, where strings are wanted.";
    input_format_json_read_objects_as_strings: bool as Bool = "1", "Whether objects of JSON are strings, their text, where strings are wanted.";
    input_format_import_nested_json: bool as Bool = "0", "Whether an object under a key of JSON has the values of columns that have this key and a dot before their names.";
    input_format_csv_try_infer_numbers_from_strings: bool as Bool = "0", "Whether numbers are inferred from fields in quotes in CSV.";
    input_format_json_infer_array_of_dynamic_from_array_of_different_types: bool as Bool = "1", "Whether an array of JSON whose items are of different types is inferred as Array(Dynamic), rather than as a tuple or an array of strings.";
    input_format_json_try_infer_numbers_from_strings: bool as Bool = "0", "Whether numbers are inferred from strings in JSON.";
    input_format_values_interpret_expressions: bool as Bool = "1", "Whether expressions in VALUES are computed; where this and input_format_values_deduce_templates_of_expressions are off, they are an error.";
    input_format_values_deduce_templates_of_expressions: bool as Bool = "1", "Whether expressions in VALUES are computed; where this and input_format_values_interpret_expressions are off, they are an error.";
    format_json_object_each_row_column_for_object_name: String as String = "", "The column whose values are the keys of rows in JSONObjectEachRow; empty is row_1, row_2 and so on.";
    output_format_json_map_as_array_of_tuples: bool as Bool = "0", "Whether maps in JSON are arrays of objects with keys and values.";
    output_format_json_skip_null_value_in_named_tuples: bool as Bool = "0", "Whether elements of named tuples that are NULL are left out of objects in JSON.";
    output_format_json_pretty_print: bool as Bool = "1", "Whether values that nest are written over several lines in JSON.";
    output_format_json_validate_utf8: bool as Bool = "0", "Whether what is no UTF-8 in strings of JSON is replaced, in all formats of JSON; in JSON, JSONCompact and JSONColumns it always is.";
    output_format_trim_fixed_string: bool as Bool = "0", "Whether FixedString is written without the zeros that fill it up.";
    output_format_values_escape_quote_with_quote: bool as Bool = "0", "Whether quotes in quotes are doubled rather than escaped.";
    output_format_markdown_escape_special_characters: bool as Bool = "0", "Whether characters that may be markup are escaped in strings in Markdown.";
    interval_output_format: String as String(IntervalOutputFormat) = "numeric" only ["numeric", "kusto"], "How intervals are written: numeric, or kusto, as spans of time.";
    date_time_64_output_format_cut_trailing_zeros_align_to_groups_of_thousands: bool as Bool = "0", "Whether DateTime64 is written with as few digits of its fraction as it needs, in groups of three.";
    output_format_float_precision: u64 as UInt64 = "0", "The most digits after the point of floating-point numbers; 0 is as many as it takes to read them back.";
    output_format_always_write_decimal_point_in_float_and_decimal: bool as Bool = "0", "Whether floating-point numbers and decimals that are whole have a point at their end.";
    output_format_json_quote_64bit_integers: bool as Bool = "0", "Whether 64-bit integers are quoted in JSON.";
    output_format_json_quote_decimals: bool as Bool = "0", "Whether decimals are quoted in JSON.";
    output_format_decimal_trailing_zeros: bool as Bool = "0", "Whether decimals are written with the zeros at their end.";
    output_format_json_quote_64bit_floats: bool as Bool = "0", "Whether 64-bit floats are quoted in JSON.";
    output_format_json_quote_denormals: bool as Bool = "0", "Whether inf and nan are written in JSON, quoted, rather than as null.";
    output_format_json_escape_forward_slashes: bool as Bool = "1", "Whether / is escaped in JSON.";
    output_format_json_named_tuples_as_objects: bool as Bool = "1", "Whether named tuples are JSON objects.";
    output_format_json_array_of_rows: bool as Bool = "0", "Whether JSONEachRow writes one array of all rows.";
    output_format_pretty_max_rows: u64 as UInt64 = "1000", "The most rows that Pretty formats show.";
    output_format_pretty_max_column_pad_width: u64 as UInt64 = "250", "The widest padding of a column in Pretty formats.";
    output_format_pretty_color: String as String(UInt64Auto) = "auto" only ["auto", "0", "1"], "Whether Pretty formats and Vertical colour: with 1 alone.";
    output_format_pretty_highlight_digit_groups: bool as Bool = "1", "Whether digits of large numbers are underlined in groups, where there are colours.";
    output_format_pretty_highlight_trailing_spaces: bool as Bool = "1", "Whether white space at the end of strings is underlined, where there are colours.";
    output_format_pretty_squash_consecutive_ms: u64 as UInt64 = "50", "Whether all rows make one table in Pretty formats: with 0 each block is a table, if the format's name does not end in MonoBlock.";
    output_format_pretty_glue_chunks: String as String(UInt64Auto) = "auto" only ["auto", "0", "1"], "Whether Pretty formats add a block to the table before it in a terminal, where each block is a table: with 1 alone.";
    output_format_pretty_row_numbers: bool as Bool = "1", "Whether Pretty formats number rows.";
    output_format_pretty_grid_charset: String as String = "UTF-8", "The characters of lines in Pretty formats: UTF-8 or ASCII.";
    output_format_pretty_display_footer_column_names: u64 as UInt64 = "1", "Whether the columns' names come again below a long table in Pretty formats.";
    output_format_pretty_display_footer_column_names_min_rows: u64 as UInt64 = "50", "The fewest rows of a table with the columns' names below it.";
    output_format_pretty_fallback_to_vertical: bool as Bool = "1", "Whether tables that are wide and short are shown as in Vertical.";
    output_format_pretty_fallback_to_vertical_max_rows_per_chunk: u64 as UInt64 = "10", "The most rows of a table that is shown as in Vertical.";
    output_format_pretty_fallback_to_vertical_min_columns: u64 as UInt64 = "5", "The fewest columns of a table that is shown as in Vertical.";
    output_format_pretty_fallback_to_vertical_min_table_width: u64 as UInt64 = "250", "The least sum of the columns' widths of a table that is shown as in Vertical.";
    output_format_pretty_max_column_name_width_cut_to: u64 as UInt64 = "24", "The width to which long names of columns are cut in Pretty formats; 0 cuts none.";
    output_format_pretty_max_column_name_width_min_chars_to_cut: u64 as UInt64 = "4", "Names are cut only where that saves more characters than this.";
    output_format_pretty_max_value_width: u64 as UInt64 = "10000", "The width to which values are cut in Pretty formats; 0 cuts none.";
    output_format_pretty_max_value_width_apply_for_single_value: u64 as UInt64 = "0", "Whether a value that is all of the result is cut, too.";
    output_format_pretty_multiline_fields: bool as Bool = "1", "Whether Pretty formats draw values of several lines over several lines.";
    output_format_pretty_named_tuples_as_json: bool as Bool = "1", "Whether Pretty formats show named tuples as JSON.";
    output_format_pretty_single_large_number_tip_threshold: u64 as UInt64 = "1000000", "The number above which Pretty formats and Vertical say numbers in words, too; 0 is never.";
    output_format_write_statistics: bool as Bool = "1", "Whether JSON and XML formats write elapsed time and rows read.";
    format_custom_escaping_rule: String as String(EscapingRule) = "Escaped" only ["Escaped", "Quoted", "CSV", "JSON", "Raw"], "How CustomSeparated writes fields: Escaped, Quoted, CSV, JSON or Raw.";
    format_regexp: String as String = "", "The expression whose groups are the columns of a line in Regexp.";
    format_regexp_escaping_rule: String as String(EscapingRule) = "Raw" only ["Escaped", "Quoted", "CSV", "JSON", "Raw"], "How groups of Regexp are written: Escaped, Quoted, CSV, JSON or Raw.";
    format_regexp_skip_unmatched: bool as Bool = "0", "Whether Regexp passes over lines that do not match.";
    format_protobuf_use_autogenerated_schema: bool as Bool = "1", "Whether Protobuf formats make a schema of the columns where format_schema is empty.";
    format_schema: String as String = "", "The schema of Protobuf formats: file:Message, a file in format_schema_path; its text where format_schema_source is string.";
    format_schema_message_name: String as String = "", "The message of format_schema, where that does not name it.";
    format_schema_source: String as String = "file" only ["file", "string"], "What format_schema is: file, the name of a file, or string, the text of the schema.";
    input_format_protobuf_flatten_google_wrappers: bool as Bool = "0", "Whether messages of google/protobuf/wrappers.proto are read into columns of single values. Of a Nullable column an empty message is the default, and a missing one NULL.";
    input_format_protobuf_oneof_presence: bool as Bool = "0", "Whether a column with the name of a oneof gets the number of the field that was found, 0 for none.";
    input_format_protobuf_skip_fields_with_unsupported_types_in_schema_inference: bool as Bool = "0", "Whether fields of types that no column has are left out of columns inferred from a Protobuf schema.";
    output_format_protobuf_nullables_with_google_wrappers: bool as Bool = "0", "Whether columns of single values are written as messages of google/protobuf/wrappers.proto, those with a default value as empty messages.";
    output_format_schema: String as String = "", "The file in format_schema_path into which the schema that Protobuf formats make of the columns is written.";
    format_template_resultset: String as String = "", "The file in format_schema_path with what Template has around the rows.";
    format_template_resultset_format: String as String = "", "What Template has around the rows: a text with ${data} in it.";
    format_template_row: String as String = "", "The file in format_schema_path with what Template has for each row.";
    format_template_row_format: String as String = "", "What Template has for each row: a text with places such as ${column:CSV}.";
    format_template_rows_between_delimiter: String as String = "\n", "What Template has between two rows.";
    output_format_sql_insert_include_column_names: bool as Bool = "1", "Whether statements of SQLInsert name the columns.";
    output_format_sql_insert_max_batch_size: u64 as UInt64 = "65409", "The most rows of one statement of SQLInsert.";
    output_format_sql_insert_quote_names: bool as Bool = "1", "Whether SQLInsert quotes the names of columns.";
    output_format_sql_insert_table_name: String as String = "table", "The table that statements of SQLInsert insert into.";
    output_format_sql_insert_use_replace: bool as Bool = "0", "Whether SQLInsert writes REPLACE rather than INSERT.";
    format_custom_field_delimiter: String as String = "\t", "What CustomSeparated has between the fields of a row.";
    format_custom_row_before_delimiter: String as String = "", "What CustomSeparated has before each row.";
    format_custom_row_after_delimiter: String as String = "\n", "What CustomSeparated has after each row.";
    format_custom_row_between_delimiter: String as String = "", "What CustomSeparated has between two rows.";
    format_custom_result_before_delimiter: String as String = "", "What CustomSeparated has before the first row.";
    format_custom_result_after_delimiter: String as String = "", "What CustomSeparated has after the last row.";
    output_format_arrow_string_as_string: bool as Bool = "1", "Whether strings are text in Arrow output, rather than bytes.";
    output_format_arrow_compression_method: String as String(ArrowCompression) = "lz4_frame" only ["lz4_frame", "zstd", "none"], "How Arrow output is compressed: lz4_frame, zstd or none.";
    input_format_orc_allow_missing_columns: bool as Bool = "1", "Whether columns that an ORC file does not have are filled with defaults, rather than an error.";
    input_format_orc_case_insensitive_column_matching: bool as Bool = "0", "Whether columns of an ORC file are found by their names in any case of letters.";
    input_format_orc_dictionary_as_low_cardinality: bool as Bool = "1", "Whether strings of ORC that have a dictionary are inferred as LowCardinality.";
    input_format_orc_reader_time_zone_name: String as String = "GMT", "The time zone in which ORC's timestamps, which are of a clock on a wall, become points in time.";
    input_format_orc_skip_columns_with_unsupported_types_in_schema_inference: bool as Bool = "0", "Whether columns of types that no column has are left out of the columns inferred from an ORC file.";
    output_format_orc_compression_block_size: u64 as UInt64 = "262144", "Bytes that are compressed at once in ORC output.";
    output_format_orc_compression_method: String as String(ORCCompression) = "zstd" only ["zstd", "lz4", "zlib", "snappy", "none"], "How ORC output is compressed: zstd, lz4, zlib, snappy or none.";
    output_format_orc_string_as_string: bool as Bool = "1", "Whether strings are text in ORC output, rather than bytes.";
    output_format_orc_writer_time_zone_name: String as String = "GMT", "The time zone that ORC output says its timestamps were written in.";
    output_format_parquet_row_group_size: u64 as UInt64 = "1000000", "Rows of a row group of Parquet output.";
    output_format_parquet_row_group_size_bytes: u64 as UInt64 = "536870912", "Bytes of values, before they are encoded, after which a row group of Parquet output ends.";
    input_format_skip_unknown_fields: bool as Bool = "1", "Whether input columns that the table does not have are skipped.";
    input_format_with_names_use_header: bool as Bool = "1" only ["1"], "Whether the header of WithNames formats names the columns: it does.";
    input_format_with_types_use_header: bool as Bool = "1", "Whether the types of WithNamesAndTypes formats are checked.";
    input_format_null_as_default: bool as Bool = "1", "Whether NULL in input becomes the default of a column that takes no NULL.";
    input_format_force_null_for_omitted_fields: bool as Bool = "0", "Whether a column that the input leaves out has to be nullable.";
    input_format_parquet_max_block_size: u64 as NonZeroUInt64 = "65409", "The most rows of a block of Parquet input, where it is set.";
    output_format_csv_serialize_tuple_into_separate_columns: bool as Bool = "1", "Whether CSV writes each element of a tuple as a field.";
    output_format_csv_header_serialize_tuple_into_separate_columns: bool as Bool = "1", "Whether the header of CSV names such elements rather than their tuples.";
    input_format_csv_deserialize_separate_columns_into_tuple: bool as Bool = "1", "Whether a tuple in CSV is a field for each of its elements.";
    input_format_csv_try_infer_strings_from_quoted_tuples: bool as Bool = "1", "Whether a tuple in quotes is inferred to be a string in CSV.";
    input_format_json_try_infer_named_tuples_from_objects: bool as Bool = "1", "Whether objects of JSON are inferred to be tuples; else they are strings, or maps where those are not read.";
    input_format_json_use_string_type_for_ambiguous_paths_in_named_tuples_inference_from_objects: bool as Bool = "0", "Whether a key of JSON that has both objects and other values is inferred to be a string.";
    input_format_defaults_for_omitted_fields: bool as Bool = "1", "Whether omitted fields get the column's DEFAULT.";
    input_format_tsv_empty_as_default: bool as Bool = "0", "Whether an empty TSV field is the column's default.";
    input_format_csv_empty_as_default: bool as Bool = "1", "Whether an empty CSV field is the column's default.";
    input_format_allow_errors_num: u64 as UInt64 = "0", "Rows with errors that text input may skip.";
    input_format_allow_errors_ratio: f64 as Float = "0", "The share of rows with errors that text input may skip.";
    input_format_parallel_parsing: bool as Bool = "1", "Whether input is cut between rows into pieces that several threads read at once. Rows keep their order.";
    engine_file_truncate_on_insert: bool as Bool = "0", "Whether an INSERT into the table function file() replaces a file that is there, rather than goes on with it.";
    s3_truncate_on_insert: bool as Bool = "0", "Whether an INSERT into an object of S3 replaces one that is there.";
    s3_create_new_file_on_insert: bool as Bool = "0", "Whether an INSERT into an object of S3 that is there makes another one, with a number in its key.";
    s3_ignore_file_doesnt_exist: bool as Bool = "0", "Whether keys of S3 that are not there are left out.";
    s3_throw_on_zero_files_match: bool as Bool = "0", "Whether a pattern of keys of S3 must match one.";
    s3_validate_etag_on_read: bool as Bool = "1", "Whether an object of S3 must stay as it was when it was found, as its ETag tells.";
    s3_list_object_keys_size: u64 as UInt64 = "1000", "The most keys of one page of a listing of S3.";
    s3_max_single_read_retries: u64 as UInt64 = "4", "How often reading an object of S3 is taken up again where the connection breaks off.";
    s3_min_upload_part_size: u64 as UInt64 = "16777216", "The bytes of a part of an object that is sent to S3 in parts, but for the last one.";
    s3_max_upload_part_size: u64 as UInt64 = "5368709120", "The most bytes that such a part grows to.";
    s3_max_single_part_upload_size: u64 as UInt64 = "33554432", "The most bytes of an object that is sent to S3 by one request, and not in parts.";
    s3_upload_part_size_multiply_factor: u64 as UInt64 = "2", "By how much parts of an object of S3 grow.";
    s3_upload_part_size_multiply_parts_count_threshold: u64 as UInt64 = "500", "After how many parts of an object of S3 they grow.";
    s3_max_part_number: u64 as UInt64 = "10000", "The most parts of an object of S3.";
    s3_connect_timeout_ms: Duration as Milliseconds = "1000", "The time in which a server of S3 must take the connection, in milliseconds.";
    s3_request_timeout_ms: Duration as Milliseconds = "30000", "The time that a server of S3 may be silent, in milliseconds.";
    s3_uri_style: String as String(S3UriStyle) = "auto" only ["auto", "path", "virtual_hosted"], "Where the bucket is in URLs of S3: path, the first part of the path, virtual_hosted, the first part of the host's name, or auto, as the host's name tells.";
    s3_allow_server_credentials_in_user_queries: bool as Bool = "0", "Whether queries may use the keys for S3 in the environment of the server.";
    schema_inference_make_columns_nullable: String as String(UInt64Auto) = "3" only ["0", "1", "2", "3", "auto"], "Which columns of an inferred schema are Nullable: 0 none, 1 all, 2 and auto those with NULLs in what was looked at, 3 those that the format says, or all where it says nothing.";
    schema_inference_hints: String as String = "", "Columns of an inferred schema whose types are these: `a UInt8, b String`.";
    schema_inference_mode: String as String(SchemaInferenceMode) = "default" only ["default", "union"], "Whether the schema of several files is that of the first one that tells it, default, or has the columns of all of them, union.";
    column_names_for_schema_inference: String as String = "", "The names of columns of formats that do not tell them, with commas between them.";
    input_format_max_rows_to_read_for_schema_inference: u64 as UInt64 = "25000", "The most rows that are looked at to infer a schema.";
    input_format_max_bytes_to_read_for_schema_inference: u64 as UInt64 = "33554432", "The most bytes that are looked at to infer a schema.";
    input_format_try_infer_integers: bool as Bool = "1", "Whether numbers without a point are inferred as integers rather than floats.";
    input_format_try_infer_exponent_floats: bool as Bool = "0", "Whether numbers with an exponent are inferred as floats in text formats other than JSON.";
    input_format_try_infer_dates: bool as Bool = "1", "Whether dates are inferred from text.";
    input_format_try_infer_datetimes: bool as Bool = "1", "Whether dates with times are inferred from text.";
    output_format_avro_codec: String as String = "", "The compression of Avro files: null, deflate, snappy or zstd; snappy where it is empty.";
    output_format_bson_string_as_string: bool as Bool = "0", "Whether BSON has strings as strings, rather than as binary data.";
    input_format_csv_detect_header: bool as Bool = "1", "Whether a first line of CSV that is no data is taken for the columns' names.";
    input_format_custom_detect_header: bool as Bool = "1", "Whether a first line of CustomSeparated that is no data is taken for the columns' names.";
    input_format_tsv_detect_header: bool as Bool = "1", "Whether a first line of TSV that is no data is taken for the columns' names.";
    insert_allow_materialized_columns: bool as Bool = "0", "Whether MATERIALIZED columns may be inserted.";
    allow_drop_detached: bool as Bool = "0", "Whether ALTER TABLE … DROP DETACHED PART and PARTITION are allowed.";
    check_query_single_value_result: bool as Bool = "0", "Whether CHECK TABLE answers with one value, 1 where all parts are sound, instead of a row for each part.";
    with_final: bool as Bool = "0", "Whether tables whose engine merges rows with equal keys are read as with FINAL.";
    optimize_skip_merged_partitions: bool as Bool = "0", "Whether OPTIMIZE FINAL leaves a partition alone whose only part comes from a merge already, unless rows of it have expired or are deleted.";
    optimize_throw_if_noop: bool as Bool = "0", "Whether OPTIMIZE that finds nothing to merge is an error.";
    optimize_on_insert: bool as Bool = "1", "Whether rows of an INSERT with equal keys are merged at once, as the table's engine merges those of parts.";
    deduplicate_insert: String as String(DeduplicateInsertMode) = "enable" only ["enable", "disable", "backward_compatible_choice"], "Whether an INSERT changes nothing that a table remembers (non_replicated_deduplication_window): enable, disable, or as insert_deduplicate and async_insert_deduplicate say.";
    deduplicate_insert_select: String as String(DeduplicateInsertSelectMode) = "enable_when_possible" only ["enable_when_possible", "disable", "force_enable", "enable_even_for_bad_queries"], "The same of INSERT SELECT, whose rows must come alike each time: by ORDER BY ALL, or with a token.";
    insert_deduplicate: bool as Bool = "1", "Whether INSERTs are remembered and recognised, where deduplicate_insert is backward_compatible_choice.";
    async_insert_deduplicate: bool as Bool = "0", "The same of INSERTs with async_insert.";
    insert_deduplication_token: String as String = "", "By what an INSERT is recognised if it comes again, rather than by its rows.";
    deduplicate_blocks_in_dependent_materialized_views: bool as Bool = "1", "Whether the tables of materialized views remember INSERTs, too, so that the rows of one that comes again are in none of them twice.";
    async_insert: bool as Bool = "0", "Whether the data of INSERTs of the same form are collected and written together; tables that remember INSERTs get each by itself. ClickHouse's default is 1 since version 26.";
    wait_for_async_insert: bool as Bool = "1", "Whether an INSERT whose data are collected waits until they are durable.";
    wait_for_async_insert_timeout: Duration as Seconds = "120", "How long an INSERT waits until its collected data are durable.";
    async_insert_max_data_size: u64 as UInt64 = "10485760", "The most bytes of collected data; an INSERT with more writes them itself.";
    async_insert_max_query_number: u64 as UInt64 = "450", "The most INSERTs whose data are collected together.";
    async_insert_busy_timeout_max_ms: Duration as Milliseconds = "200", "How long data are collected from the first ones on, at most.";
    async_insert_busy_timeout_min_ms: Duration as Milliseconds = "50", "How long data are collected at first, where that adapts; INSERTs that wait share it, so that many wait less.";
    async_insert_use_adaptive_busy_timeout: bool as Bool = "1", "Whether the time in which data are collected adapts to how often they come, and ends as soon as all who waited for the last ones are back.";
    async_insert_busy_timeout_increase_rate: f64 as Float = "0.2", "How much the time in which data are collected grows where they come often.";
    async_insert_busy_timeout_decrease_rate: f64 as Float = "0.2", "How much the time in which data are collected shrinks where they come seldom.";
    max_partitions_per_insert_block: u64 as UInt64 = "100", "The most partitions that one block of an INSERT may touch; 0 is unlimited.";
    force_primary_key: bool as Bool = "0", "Whether a query fails whose conditions say nothing of the primary key of a MergeTree table that it reads.";
    force_index_by_date: bool as Bool = "0", "Whether a query fails whose conditions say nothing of the partition key of a MergeTree table that it reads, nor of the key's columns.";
    use_skip_indexes: bool as Bool = "1", "Whether skip indexes of MergeTree tables are asked which granules to read.";
    force_data_skipping_indices: String as String = "", "The names of skip indexes, separated by commas: a query fails that reads a MergeTree table and asks one of them nothing.";
    ignore_data_skipping_indices: String as String = "", "The names of skip indexes, separated by commas, that are not asked.";
    materialize_skip_indexes_on_insert: bool as Bool = "1", "Whether parts that INSERT makes get the table's skip indexes; otherwise they get them when they are merged.";
    optimize_use_projections: bool as Bool = "1", "Whether projections of MergeTree tables are read in the place of tables where that is less to read.";
    force_optimize_projection: bool as Bool = "0", "Whether a query fails that reads a MergeTree table and no projection.";
    force_optimize_projection_name: String as String = "", "A projection's name: a query fails that does not read it.";
    preferred_optimize_projection_name: String as String = "", "A projection's name: it is read where it serves, even where another one is less to read.";
    transform_null_in: bool as Bool = "0", "Whether IN finds NULL as any other value.";
    limit: u64 as UInt64 = "0", "The most rows of a query's result, beside its own LIMIT; 0 is all.";
    offset: u64 as UInt64 = "0", "So many first rows of a query's result are left out, beside its own OFFSET.";
    aggregate_functions_null_for_empty: bool as Bool = "0", "Whether aggregate functions give NULL for no rows, as with -OrNull, rather than a default; count and its like do not.";
    default_table_engine: String as String(DefaultTableEngine) = "MergeTree" only ["None", "Log", "StripeLog", "MergeTree", "ReplacingMergeTree", "Memory"], "The engine of CREATE TABLE without ENGINE; None asks for one.";
    default_temporary_table_engine: String as String(DefaultTableEngine) = "Memory" only ["None", "Log", "StripeLog", "MergeTree", "ReplacingMergeTree", "Memory"], "The engine of CREATE TEMPORARY TABLE without ENGINE; None asks for one.";
    enable_unaligned_array_join: bool as Bool = "0", "Whether ARRAY JOIN of arrays of different lengths fills the shorter ones with defaults.";
    asterisk_include_alias_columns: bool as Bool = "0", "Whether * stands for ALIAS columns, too.";
    asterisk_include_materialized_columns: bool as Bool = "0", "Whether * stands for MATERIALIZED columns, too.";
    data_type_default_nullable: bool as Bool = "0", "Whether columns of CREATE TABLE that say neither NULL nor NOT NULL are Nullable.";
    join_use_nulls: bool as Bool = "0", "Whether outer joins fill with NULL rather than with defaults.";
    join_default_strictness: String as String(JoinStrictness) = "ALL", "What JOIN without ALL or ANY means: ALL, ANY, or an error where empty.";
    any_join_distinct_right_table_keys: bool as Bool = "0", "Whether ANY JOIN takes one row of each key of the right table for any number of rows of the left one.";
    join_any_take_last_row: bool as Bool = "0", "Whether ANY JOIN with the right table's keys takes the last row of a key rather than the first.";
    joined_subquery_requires_alias: bool as Bool = "0", "Whether subqueries and table functions in a JOIN need aliases. ClickHouse's default is 1 since version 20.";
    analyzer_compatibility_join_using_top_level_identifier: bool as Bool = "1", "Whether a name in USING that the left table does not have may be an alias of the SELECT list, as before ClickHouse 24.";
    single_join_prefer_left_table: bool as Bool = "1" only ["1"], "Whether a name that both tables of a single JOIN have means the left table's column: it does.";
    max_rows_in_join: u64 as UInt64 = "0", "The most rows of the right table of a JOIN that are held in memory; 0 is unlimited.";
    max_bytes_in_join: u64 as UInt64 = "0", "The most bytes of the right table of a JOIN that are held in memory; 0 is unlimited.";
    join_overflow_mode: String as String(OverflowMode) = "throw", "What happens at the limits of JOIN: throw, or break with the rows so far.";
    max_joined_block_size_rows: u64 as UInt64 = "65409", "The most rows of a block that a JOIN makes.";
    join_algorithm: String as String(JoinAlgorithm) = "direct,parallel_hash,hash", "Joins are by hash. Where grace_hash is among the names, max_bytes_in_join is the size of the right table from which on both tables are put on disk, in buckets; others mean the same.";
    max_bytes_before_external_join: u64 as UInt64 = "0", "The memory in bytes that a query holds from which on JOIN puts both tables on disk, in buckets by their keys; 0 goes by the ratio alone.";
    max_bytes_ratio_before_external_join: f64 as Float = "0.5", "The same as a share of the memory that is available when the query begins; 0 is none.";
    grace_hash_join_initial_buckets: u64 as NonZeroUInt64 = "1", "The number of buckets of a JOIN on disk, where it is more than what is found to be enough.";
    grace_hash_join_max_buckets: u64 as NonZeroUInt64 = "1024", "The most buckets of a JOIN on disk.";
    query_plan_join_swap_table: String as String(BoolAuto) = "auto", "Whether the sides of a JOIN change places, so that the smaller one is held in memory: auto, false or true.";
    query_plan_optimize_join_order_limit: u64 as UInt64 = "10", "Whether inner joins of three and more tables run in the order that is estimated to be the fastest: above 1. 0 and 1 leave the order written.";
    query_plan_optimize_lazy_materialization: bool as Bool = "1", "Whether ORDER BY with a LIMIT reads columns that neither it nor the condition needs of the result's rows alone.";
    query_plan_max_limit_for_lazy_materialization: u64 as UInt64 = "10000", "The largest LIMIT for which columns are read of the result's rows alone; 0 is any.";
    query_plan_eager_aggregation: bool as Bool = "1", "Whether rows of one side of a join are aggregated before the join, where that leaves far fewer of them.";
    query_plan_common_subplans: bool as Bool = "1", "Whether what a query computes several times in the same way, as a common table expression that it reads twice, is computed once.";
    allow_reorder_prewhere_conditions: bool as Bool = "1", "Whether conditions joined by AND are tested in the order that costs least, by what each has cost and let through so far.";
    enable_join_runtime_filters: bool as Bool = "1", "Whether rows that will find no partner in a join are left out before the joins and aggregations below its probe side, by the keys of its build side.";
    query_plan_convert_outer_join_to_inner_join: bool as Bool = "1", "Whether an outer join keeps fewer rows where a condition above leaves out those without a partner.";
    query_plan_convert_any_join_to_semi_or_anti_join: bool as Bool = "1", "Whether a join is a semi join where only matters whether a row has a partner.";
    join_runtime_filter_pass_ratio_threshold_for_disabling: f64 as Float = "0.7", "The share of rows that may pass such a filter; one that lets more through is not tested for some blocks.";
    join_runtime_filter_blocks_to_skip_before_reenabling: u64 as UInt64 = "30", "The number of blocks for which a filter that lets too many rows through is not tested.";
    union_default_mode: String as String(SetOperationMode) = "", "What UNION without ALL or DISTINCT means.";
    except_default_mode: String as String(SetOperationMode) = "ALL" only ["", "ALL", "DISTINCT"], "What EXCEPT without ALL or DISTINCT means.";
    intersect_default_mode: String as String(SetOperationMode) = "ALL" only ["", "ALL", "DISTINCT"], "What INTERSECT without ALL or DISTINCT means.";
    group_by_use_nulls: bool as Bool = "0", "Whether keys that a set of ROLLUP, CUBE or GROUPING SETS has not are NULL instead of the type's default.";
    force_grouping_standard_compatibility: bool as Bool = "1", "Whether grouping() has a 1 for each key that is not in the set, as the standard wants it, or for each that is.";
    regexp_max_matches_per_row: u64 as UInt64 = "1000", "The most matches in one row of extractAllGroupsHorizontal; more are an error.";
    function_range_max_elements_in_block: u64 as UInt64 = "500000000", "The most items of arrays that range makes in one block.";
    function_locate_has_mysql_compatible_argument_order: bool as Bool = "1", "Whether locate takes the needle first.";
    function_visible_width_behavior: u64 as UInt64 = "1", "Whether visibleWidth counts wide characters twice (1) or all characters once (0).";
    least_greatest_legacy_null_behavior: bool as Bool = "0", "Whether least and greatest are NULL where one of their arguments is.";
    splitby_max_substrings_includes_remaining_string: bool as Bool = "0", "Whether the last part that a function of the family splitBy may give is all that is left of the string.";
    extract_key_value_pairs_max_pairs_per_row: u64 as UInt64 = "1000", "The most pairs that extractKeyValuePairs finds in one row; 0 is unlimited.";
    formatdatetime_parsedatetime_m_is_month_name: bool as Bool = "1", "Whether %M is the month's name in formatDateTime and parseDateTime, rather than the minute.";
    formatdatetime_e_with_space_padding: bool as Bool = "0", "Whether %e of formatDateTime has a space before a day of one digit.";
    formatdatetime_f_prints_single_zero: bool as Bool = "0", "Whether %f of formatDateTime is one zero where there is no fraction of a second.";
    formatdatetime_f_prints_scale_number_of_digits: bool as Bool = "0", "Whether %f of formatDateTime has as many digits as the scale of the type.";
    formatdatetime_format_without_leading_zeros: bool as Bool = "0", "Whether %c, %l and %k of formatDateTime have no zeros before them.";
    describe_compact_output: bool as Bool = "0", "Whether DESCRIBE gives names and types only.";
    describe_include_subcolumns: bool as Bool = "0", "Whether DESCRIBE gives subcolumns, too.";
    describe_include_virtual_columns: bool as Bool = "0", "Whether DESCRIBE gives virtual columns, too.";
    print_pretty_type_names: bool as Bool = "1", "Whether DESCRIBE lays the types of named tuples out over several lines.";
    enable_extended_results_for_datetime_functions: bool as Bool = "0", "Whether functions that round dates and times give Date32 and DateTime64 for Date32 and DateTime64.";
    validate_polygons: bool as Bool = "1", "Whether pointInPolygon refuses constant polygons that are not valid: with sides that cross, or holes outside.";
    cast_keep_nullable: bool as Bool = "0", "Whether CAST keeps Nullable of its argument.";
    cast_ipv4_ipv6_default_on_conversion_error: bool as Bool = "0", "Whether a text that is no address becomes the default of IPv4 or IPv6 in conversions.";
    input_format_ipv4_default_on_conversion_error: bool as Bool = "0", "Whether a text that is no address becomes the default of IPv4 in CAST.";
    input_format_ipv6_default_on_conversion_error: bool as Bool = "0", "Whether a text that is no address becomes the default of IPv6 in CAST.";
    allow_suspicious_variant_types: bool as Bool = "0", "Whether a table may have a Variant of types whose values are alike.";
    allow_suspicious_types_in_group_by: bool as Bool = "0", "Whether Variant and Dynamic may be keys of GROUP BY.";
    allow_suspicious_types_in_order_by: bool as Bool = "0", "Whether Variant and Dynamic may be keys of ORDER BY.";
    use_variant_as_common_type: bool as Bool = "1", "Whether if, multiIf, array and map give a Variant where their arguments have no common type.";
    cast_string_to_variant_use_inference: bool as Bool = "1", "Whether a cast of a String to Variant reads the text as one of the alternatives.";
    cast_string_to_dynamic_use_inference: bool as Bool = "0", "Whether a cast of a String to Dynamic takes the type that the text suggests.";
    output_format_native_write_json_as_string: bool as Bool = "0", "Whether Native has JSON as texts.";
    allow_suspicious_low_cardinality_types: bool as Bool = "0", "Whether LowCardinality of small numbers may be created.";
    allow_introspection_functions: bool as Bool = "0", "Whether functions that look into the server itself may be called.";
    format_tsv_null_representation: String as String = "\\N", "How NULL is written in TSV.";
    format_csv_null_representation: String as String = "\\N", "How NULL is written in CSV.";
    bool_true_representation: String as String = "true", "How true is written in text formats.";
    bool_false_representation: String as String = "false", "How false is written in text formats.";
    prefer_column_name_to_alias: bool as Bool = "0", "Whether a name that is both is the column rather than the alias.";
    count_distinct_implementation: String as String = "uniqExact", "The function that COUNT(DISTINCT x) is.";
    inline_rows_limit: u64 as UInt64 = "32768", "Squall: a query that reads fewer rows begins on the thread that received it, and mostly ends there.";
    use_structure_from_insertion_table_in_table_functions: u64 as UInt64 = "2", "Whether generateRandom and null have the columns that an INSERT writes where they are told none: 0 is no.";
    create_index_ignore_unique: bool as Bool = "0", "Whether CREATE UNIQUE INDEX makes an index that is not unique, rather than being an error.";
    allow_create_index_without_type: bool as Bool = "0", "Whether CREATE INDEX without TYPE does nothing, rather than being an error.";
    show_create_query_identifier_quoting_rule: String as String(IdentifierQuotingRule) = "when_necessary" only ["when_necessary", "always"], "Which names SHOW CREATE writes in quotes, beside those of columns: those that need them, or all.";
    show_create_query_identifier_quoting_style: String as String(IdentifierQuotingStyle) = "Backticks" only ["Backticks", "BackticksMySQL", "DoubleQuotes"], "What SHOW CREATE writes around names.";
    check_table_dependencies: bool as Bool = "1", "Whether DROP and RENAME of a table fail where a dictionary is loaded from it.";
    check_referential_table_dependencies: bool as Bool = "0", "Whether DROP and RENAME of a table fail where a view reads it, or a materialized view writes to it.";
    max_parts_to_move: u64 as UInt64 = "1000", "The most parts that MOVE PARTITION TO TABLE moves at once; 0 is unlimited.";
    use_query_cache: bool as Bool = "0", "Results are not cached, but a query whose result ClickHouse would refuse to cache is refused.";
    enable_writes_to_query_cache: bool as Bool = "1", "Whether use_query_cache wants the result to be cached.";
    query_cache_nondeterministic_function_handling: String as String(QueryResultCacheNondeterministicFunctionHandling) = "throw", "What use_query_cache does where a query calls a function whose result is another each time: throw, save or ignore.";
    query_cache_system_table_handling: String as String(QueryResultCacheSystemTableHandling) = "throw", "What use_query_cache does where a query names a system table: throw, save or ignore.";
    distributed_product_mode: String as String(DistributedProductMode) = "deny", "Accepted for compatibility: there are no distributed tables.";
    load_balancing: String as String(LoadBalancing) = "random", "Accepted for compatibility: there are no replicas.";
    max_distributed_connections: u64 as UInt64 = "1024", "Accepted for compatibility: there are no distributed tables.";
    database_atomic_wait_for_drop_and_detach_synchronously: bool as Bool = "0", "Accepted for compatibility: DROP returns when the table is gone.";
    allow_replace_partition_from_empty_source: bool as Bool = "0", "Whether REPLACE PARTITION may take a partition away because the other table has none.";
    alter_partition_verbose_result: bool as Bool = "0", "Whether FREEZE and UNFREEZE answer with the parts that they were about.";
    allow_suspicious_codecs: bool as Bool = "0", "Whether a column may have codecs that compress nothing.";
    flatten_nested: bool as Bool = "1", "Whether a column of the type Nested becomes an array for each of its elements, rather than one array of tuples.";
    additional_table_filters: String as Map = "{}", "Conditions that rows of tables have to meet, by the table's name or alias.";
    additional_result_filter: String as String = "", "A condition that rows of the result have to meet; not those of subqueries.";
    max_execution_speed: u64 as UInt64 = "0", "The most rows a second that a query reads once timeout_before_checking_execution_speed is over; 0 is unlimited.";
    max_execution_speed_bytes: u64 as UInt64 = "0", "The most bytes a second that a query reads once timeout_before_checking_execution_speed is over; 0 is unlimited.";
    min_execution_speed: u64 as UInt64 = "0", "A query that reads fewer rows a second ends once timeout_before_checking_execution_speed is over.";
    min_execution_speed_bytes: u64 as UInt64 = "0", "A query that reads fewer bytes a second ends once timeout_before_checking_execution_speed is over.";
    timeout_before_checking_execution_speed: Duration as Seconds = "10", "How long a query runs before the limits of its speed hold.";
    allow_suspicious_ttl_expressions: bool as Bool = "0", "Whether a TTL may be of no column, or of functions that are not deterministic.";
    materialize_ttl_after_modify: bool as Bool = "1", "Whether ALTER TABLE … MODIFY TTL is applied to the parts that are there.";
    mutations_sync: u64 as UInt64 = "0", "Whether ALTER TABLE … UPDATE and DELETE, and other mutations, return when they are done (1 and 2), or once they are recorded and go on in the background (0).";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_set_and_read_as_text() {
        let mut settings = Settings::default();
        assert_eq!(settings.max_query_size, 262_144);
        settings.set("max_threads", "auto(16)").unwrap();
        assert_eq!(settings.max_threads, 0);
        settings.set("max_execution_time", "1.5").unwrap();
        assert_eq!(settings.max_execution_time, Duration::from_millis(1500));
        settings.set("max_memory_usage", "10Gi").unwrap();
        assert_eq!(settings.get("max_memory_usage").unwrap(), (10u64 << 30).to_string());
        assert_eq!(settings.changes().count(), 3);
        assert_eq!(settings.set("no_such", "1").unwrap_err().code, ErrorCode::UNKNOWN_SETTING);
        let error = settings.set("max_thread", "1").unwrap_err();
        assert_eq!(error.message, "Unknown setting 'max_thread'. Maybe you meant 'max_threads'");
        assert_eq!(settings.set("max_threads", "x").unwrap_err().code, ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED);
    }

    #[test]
    fn foreign_settings_are_taken_where_they_change_no_answer() {
        let mut settings = Settings::default();
        settings.set("optimize_skip_unused_shards", "true").unwrap();
        assert_eq!(settings.get("optimize_skip_unused_shards").unwrap(), "1");
        settings.set("insert_quorum", "0").unwrap();
        assert_eq!(settings.set("insert_quorum", "1").unwrap_err().code, ErrorCode::SUPPORT_IS_DISABLED);
        assert_eq!(
            settings.set("max_rows_to_sort", "x").unwrap_err().code,
            ErrorCode::CANNOT_PARSE_INPUT_ASSERTION_FAILED
        );
        settings.set("replication_alter_partitions_sync", "2").unwrap();
        assert_eq!(settings.get("alter_sync"), settings.get("replication_alter_partitions_sync"));
        settings.set("max_insert_block_size_rows", "1000").unwrap();
        assert_eq!(settings.max_insert_block_size, 1_000);
        let changes: Vec<_> = settings.changes().map(|(name, _)| name).collect();
        let expected = ["optimize_skip_unused_shards", "insert_quorum", "alter_sync", "max_insert_block_size"];
        assert_eq!(changes, expected);
    }

    #[test]
    fn every_default_is_a_value_of_its_type() {
        let mut settings = Settings::default();
        for description in Settings::ALL {
            settings.set(description.name, description.default).unwrap();
        }
    }
}
