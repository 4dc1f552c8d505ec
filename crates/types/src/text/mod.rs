//! Values as text: what formats, `toString` and casts from strings share. [`ValueWriter`] prints rows of a column, [`ValueReader`]
//! builds a column from text; both are compiled once per column from its type. Fields and rows (tabs, commas, braces around rows)
//! are the formats' business.

mod basic_time;
mod best_effort;
mod date_time;
mod decimal;
mod escape;
mod json_rules;
mod literal;
mod moment_guess;
mod number;
mod read;
pub mod readable;
mod span;
mod time;
mod write;

pub use basic_time::{basic_date_time, basic_date_time64};
pub use best_effort::{BestEffort, MONTHS, ParsedMoment, ReadMoment, WEEKDAYS, read_best_effort};
pub use date_time::{
    Moment, MomentForm, MomentText, append_date, append_date_time, append_date_time64, append_local_time, read_date,
    read_date_time,
};
pub use decimal::{append_any_integer, append_decimal, read_any_integer, read_decimal, whole_integer};
pub use escape::{append_csv, append_escaped, append_json, append_quoted, read_json_string, read_quoted, unescape};
pub use json_rules::JsonRules;
pub use moment_guess::{GuessedMoment, MomentGuess};
pub use number::{
    FloatText, IntegerError, append_float32, append_float64, append_integer, bfloat16, read_float32, read_float64,
    read_integer, write_float64,
};
pub use read::{ValueReader, json_value_length};
pub use time::{SECONDS_MAX, append_time, read_time};
pub(crate) use write::append_uuid;
pub use write::{ValueWriter, append_ipv4};

use std::sync::Arc;

use crate::calendar::TimeZone;
use crate::settings::Settings;

/// How a value is dressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextStyle {
    /// Bare: Pretty, Vertical, `toString`.
    Plain,
    /// With backslash escapes: TabSeparated. NULL is `\N`.
    Escaped,
    /// Strings, dates, enums and the like in single quotes: Values, and items inside arrays, tuples and maps. NULL is `NULL`.
    Quoted,
    /// In double quotes, except for numbers: CSV. NULL is `\N`.
    Csv,
    /// JSON. NULL is `null`.
    Json,
}

/// What a session chooses about text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextOptions {
    /// The time zone of types that name none.
    pub time_zone: TimeZone,
    /// `output_format_json_quote_64bit_integers`.
    pub json_quote_64bit_integers: bool,
    /// `output_format_json_quote_64bit_floats`.
    pub json_quote_64bit_floats: bool,
    /// `output_format_json_quote_decimals`.
    pub json_quote_decimals: bool,
    /// `output_format_decimal_trailing_zeros`.
    pub decimal_trailing_zeros: bool,
    /// `output_format_json_quote_denormals`: `"nan"` in place of `null`.
    pub json_quote_denormals: bool,
    /// `output_format_json_escape_forward_slashes`.
    pub json_escape_forward_slashes: bool,
    /// `output_format_json_named_tuples_as_objects`.
    pub json_named_tuples_as_objects: bool,
    /// `output_format_json_skip_null_value_in_named_tuples`.
    pub json_skip_nulls_in_named_tuples: bool,
    /// `output_format_json_map_as_array_of_tuples`.
    pub json_map_as_array_of_tuples: bool,
    /// How floating-point numbers look.
    pub floats: FloatText,
    /// `output_format_always_write_decimal_point_in_float_and_decimal`, of decimals.
    pub decimal_point: bool,
    /// `output_format_trim_fixed_string`: without the zeros that fill a `FixedString` up.
    pub trim_fixed_string: bool,
    /// `output_format_values_escape_quote_with_quote`: quotes inside quotes are doubled, and backslashes stand
    /// for themselves.
    pub quotes_are_doubled: bool,
    /// `interval_output_format` is `kusto`: intervals are spans of time, `1.02:03:04.5000000`.
    pub intervals_are_spans: bool,
    /// `bool_false_representation` and `bool_true_representation`, where they are others than `false` and `true`.
    pub bool_words: Option<[Arc<[u8]>; 2]>,
    /// `input_format_null_as_default`, of values inside others.
    pub nulls_are_defaults: bool,
    /// `date_time_64_output_format_cut_trailing_zeros_align_to_groups_of_thousands`.
    pub date_time64_without_zeros: bool,
    /// `date_time_output_format`.
    pub moments: MomentText,
    /// `date_time_input_format`.
    pub moment_form: MomentForm,
    /// What values JSON may have.
    pub json_rules: JsonRules,
}

fn bool_words(settings: &Settings) -> Option<[Arc<[u8]>; 2]> {
    let (no, yes) = (&settings.bool_false_representation, &settings.bool_true_representation);
    (no != "false" || yes != "true").then(|| [no, yes].map(|word| Arc::from(word.as_bytes())))
}

impl Default for TextOptions {
    /// ClickHouse's defaults, in UTC.
    fn default() -> Self {
        Self::in_zone(TimeZone::utc())
    }
}

impl TextOptions {
    /// ClickHouse's defaults in a time zone.
    pub fn in_zone(time_zone: TimeZone) -> Self {
        Self {
            time_zone,
            json_quote_64bit_integers: false,
            json_quote_64bit_floats: false,
            json_quote_decimals: false,
            decimal_trailing_zeros: false,
            json_quote_denormals: false,
            json_escape_forward_slashes: true,
            json_named_tuples_as_objects: true,
            json_skip_nulls_in_named_tuples: false,
            json_map_as_array_of_tuples: false,
            floats: FloatText::default(),
            decimal_point: false,
            trim_fixed_string: false,
            quotes_are_doubled: false,
            intervals_are_spans: false,
            nulls_are_defaults: true,
            bool_words: None,
            date_time64_without_zeros: false,
            moments: MomentText::Simple,
            moment_form: MomentForm::default(),
            json_rules: JsonRules::default(),
        }
    }

    /// What a query's settings say, in its time zone.
    pub fn of(settings: &Settings, time_zone: TimeZone) -> Self {
        let decimal_point = settings.output_format_always_write_decimal_point_in_float_and_decimal;
        Self {
            time_zone,
            json_quote_64bit_integers: settings.output_format_json_quote_64bit_integers,
            json_quote_decimals: settings.output_format_json_quote_decimals,
            decimal_trailing_zeros: settings.output_format_decimal_trailing_zeros,
            json_quote_64bit_floats: settings.output_format_json_quote_64bit_floats,
            json_quote_denormals: settings.output_format_json_quote_denormals,
            json_escape_forward_slashes: settings.output_format_json_escape_forward_slashes,
            json_named_tuples_as_objects: settings.output_format_json_named_tuples_as_objects,
            json_skip_nulls_in_named_tuples: settings.output_format_json_skip_null_value_in_named_tuples,
            json_map_as_array_of_tuples: settings.output_format_json_map_as_array_of_tuples,
            floats: FloatText {
                digits: usize::try_from(settings.output_format_float_precision).unwrap_or(usize::MAX),
                with_point: decimal_point,
            },
            decimal_point,
            trim_fixed_string: settings.output_format_trim_fixed_string,
            quotes_are_doubled: settings.output_format_values_escape_quote_with_quote,
            intervals_are_spans: settings.interval_output_format == "kusto",
            nulls_are_defaults: settings.input_format_null_as_default,
            bool_words: bool_words(settings),
            date_time64_without_zeros: settings
                .date_time_64_output_format_cut_trailing_zeros_align_to_groups_of_thousands,
            moments: MomentText::of_setting(&settings.date_time_output_format),
            moment_form: MomentForm::of_setting(&settings.date_time_input_format),
            json_rules: JsonRules::of(settings),
        }
    }
}
