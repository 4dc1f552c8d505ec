//! Settings in queries: names and values as text, or, from clients before revision 54429, each in the binary form of its type, which
//! the reader must know.

use squall_formats::wire::{Cursor, Stop};
use squall_types::settings::SettingType;
use squall_types::text::read_quoted;
use squall_types::{Error, ErrorCode, Settings};

use super::revision;

/// Settings in one query.
const SETTINGS_MAX: usize = 10_000;
/// Bytes of a name and of a value.
const NAME_BYTES_MAX: u64 = 1 << 10;
const VALUE_BYTES_MAX: u64 = 1 << 24;
/// The value is to be refused where the setting is not known.
const IMPORTANT: u64 = 1;
/// The value is written as a literal.
const CUSTOM: u64 = 2;

/// Reads settings up to the empty name behind them. Unknown ones are left out unless they are important.
///
/// # Errors
/// `Incomplete`; `UNKNOWN_SETTING`, `LIMIT_EXCEEDED`.
pub fn read_settings(input: &mut Cursor<'_>, client_revision: u64) -> Result<Vec<(String, String)>, Stop> {
    let mut settings = Vec::new();
    loop {
        let name = input.text(NAME_BYTES_MAX)?;
        if name.is_empty() {
            return Ok(settings);
        }
        if settings.len() >= SETTINGS_MAX {
            let message = format!("More than {SETTINGS_MAX} settings in one query");
            return Err(Stop::Bad(Error::new(ErrorCode::LIMIT_EXCEEDED, message)));
        }
        let is_known = Settings::description(&name).is_some() || name == "profile" || name.starts_with("param_");
        if client_revision < revision::SETTINGS_AS_STRINGS {
            let value = if is_text(&name) { input.text(VALUE_BYTES_MAX)? } else { input.varint()?.to_string() };
            if is_known {
                settings.push((name, value));
            }
            continue;
        }
        let flags = input.varint()?;
        let value = input.string(VALUE_BYTES_MAX)?;
        if is_known {
            settings.push((name, text(value, flags)));
        } else if flags & IMPORTANT != 0 {
            return Err(Stop::Bad(Error::new(ErrorCode::UNKNOWN_SETTING, format!("Unknown setting '{name}'"))));
        } else {
            tracing::debug!(target: "TCPHandler", "Unknown setting '{name}' is ignored");
        }
    }
}

/// Reads the values of query parameters up to the empty name behind them.
///
/// # Errors
/// As [`read_settings`].
pub fn read_parameters(input: &mut Cursor<'_>) -> Result<Vec<(String, String)>, Stop> {
    let mut parameters = Vec::new();
    loop {
        let name = input.text(NAME_BYTES_MAX)?;
        if name.is_empty() {
            return Ok(parameters);
        }
        if parameters.len() >= SETTINGS_MAX {
            let message = format!("More than {SETTINGS_MAX} parameters of one query");
            return Err(Stop::Bad(Error::new(ErrorCode::LIMIT_EXCEEDED, message)));
        }
        let flags = input.varint()?;
        parameters.push((name, text(input.string(VALUE_BYTES_MAX)?, flags | CUSTOM)));
    }
}

/// The text of a value that may be written as a literal.
fn text(value: &[u8], flags: u64) -> String {
    let mut plain = Vec::new();
    let is_literal = flags & CUSTOM != 0 && read_quoted(&mut plain, value).is_ok_and(|read| read == value.len());
    String::from_utf8_lossy(if is_literal { &plain } else { value }).into_owned()
}

/// Whether an old client writes this setting as text.
fn is_text(name: &str) -> bool {
    Settings::description(name).is_some_and(|description| {
        matches!(
            description.setting_type,
            SettingType::String | SettingType::Map | SettingType::TimeZone | SettingType::Float
        )
    })
}

#[cfg(test)]
mod tests {
    use squall_formats::wire::{put_string, put_varint};

    use super::*;

    #[test]
    fn settings_are_read_in_both_forms() {
        let mut old = Vec::new();
        put_string(&mut old, "max_threads");
        put_varint(&mut old, 3);
        put_string(&mut old, "load_balancing");
        put_string(&mut old, "in_order");
        put_string(&mut old, "no_such_number");
        put_varint(&mut old, 1);
        put_string(&mut old, "");
        let read = read_settings(&mut Cursor::new(&old), 54_413).unwrap();
        assert_eq!(read, [("max_threads".into(), "3".into()), ("load_balancing".into(), "in_order".into())]);

        let mut new = Vec::new();
        for (name, flags, value) in [("max_threads", 0, "3"), ("no_such", 0, "x"), ("param_a", 2, "'it\\'s'")] {
            put_string(&mut new, name);
            put_varint(&mut new, flags);
            put_string(&mut new, value);
        }
        put_string(&mut new, "");
        let read = read_settings(&mut Cursor::new(&new), 54_468).unwrap();
        assert_eq!(read, [("max_threads".into(), "3".into()), ("param_a".into(), "it's".into())]);

        let mut important = Vec::new();
        put_string(&mut important, "no_such");
        put_varint(&mut important, 1);
        put_string(&mut important, "x");
        let error = read_settings(&mut Cursor::new(&important), 54_468).unwrap_err().into_error();
        assert_eq!(error.code, ErrorCode::UNKNOWN_SETTING);
        assert!(matches!(read_settings(&mut Cursor::new(&old[..5]), 54_413), Err(Stop::Incomplete)));
    }
}
