//! What a user may set settings to: the bounds in profiles, and the meaning of `readonly`. Values are compared as the setting's type has
//! them: `'100Gi'` is a number of bytes, not a text.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use squall_sql::ast::{AccessSetting, Writability};
use squall_types::settings::SettingType;
use squall_types::{Error, ErrorCode, Result, Settings};

use super::definition::literal_text;

/// The bounds of one setting.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Constraint {
    /// The least value.
    pub min: Option<String>,
    /// The greatest value.
    pub max: Option<String>,
    /// Values that it cannot have.
    pub disallowed: Vec<String>,
    /// Whether it cannot be changed at all (`readonly`, `const`).
    pub is_const: bool,
    /// Whether it may be changed although the session is read-only.
    pub changeable_in_readonly: bool,
}

/// The bounds of settings, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Constraints(BTreeMap<String, Constraint>);

impl Constraints {
    /// The bounds of a setting.
    pub fn get(&self, name: &str) -> Option<&Constraint> {
        self.0.get(name)
    }

    /// Takes what a profile says of a setting, in the place of what was said before; nothing where it says nothing of bounds.
    ///
    /// # Errors
    /// Where a bound is no value of a setting.
    pub fn apply(&mut self, setting: &AccessSetting) -> Result<()> {
        let AccessSetting::Setting { name, min, max, disallowed, writability, .. } = setting else { return Ok(()) };
        if min.is_none() && max.is_none() && disallowed.is_empty() && writability.is_none() {
            return Ok(());
        }
        let text = |literal| canonical(name, &literal_text(literal)?);
        let constraint = Constraint {
            min: min.as_ref().map(text).transpose()?,
            max: max.as_ref().map(text).transpose()?,
            disallowed: disallowed.iter().map(text).collect::<Result<_>>()?,
            is_const: *writability == Some(Writability::Const),
            changeable_in_readonly: *writability == Some(Writability::ChangeableInReadonly),
        };
        self.0.insert(name.clone(), constraint);
        Ok(())
    }

    /// Whether a session with `settings` may set `name` to `value`.
    ///
    /// # Errors
    /// `READONLY` in read-only sessions, `SETTING_CONSTRAINT_VIOLATION` outside of the bounds, `CANNOT_PARSE_TEXT` where it is no value.
    pub fn check(&self, settings: &Settings, name: &str, value: &str) -> Result<()> {
        let constraint = self.0.get(name);
        if settings.readonly == 1 && !constraint.is_some_and(|constraint| constraint.changeable_in_readonly) {
            return Err(Error::new(ErrorCode::READONLY, format!("Cannot modify '{name}' setting in readonly mode")));
        }
        if settings.readonly > 1 && name == "readonly" {
            return Err(Error::new(ErrorCode::READONLY, "Cannot modify 'readonly' setting in readonly mode"));
        }
        if !settings.allow_ddl && name == "allow_ddl" {
            let message = "Cannot modify 'allow_ddl' setting when DDL queries are prohibited for the user";
            return Err(Error::new(ErrorCode::QUERY_IS_PROHIBITED, message));
        }
        let Some(constraint) = constraint else { return Ok(()) };
        let violated = |message: String| Err(Error::new(ErrorCode::SETTING_CONSTRAINT_VIOLATION, message));
        let value = canonical(name, value)?;
        if constraint.is_const {
            // What it is already may be said again.
            return match settings.get(name) {
                Some(now) if compare(name, &now, &value) == Ordering::Equal => Ok(()),
                _ => violated(format!("Setting {name} should not be changed")),
            };
        }
        if let Some(min) = &constraint.min
            && compare(name, &value, min) == Ordering::Less
        {
            return violated(format!("Setting {name} shouldn't be less than {min}"));
        }
        if let Some(max) = &constraint.max
            && compare(name, &value, max) == Ordering::Greater
        {
            return violated(format!("Setting {name} shouldn't be greater than {max}"));
        }
        if constraint.disallowed.iter().any(|other| compare(name, &value, other) == Ordering::Equal) {
            return violated(format!("Setting {name} shouldn't be {value}"));
        }
        Ok(())
    }
}

/// A value as its setting writes it.
fn canonical(name: &str, value: &str) -> Result<String> {
    let mut settings = Settings::default();
    match settings.set(name, value) {
        Ok(()) => Ok(settings.get(name).unwrap_or_default()),
        Err(error) if error.code == ErrorCode::UNKNOWN_SETTING => Ok(value.to_owned()),
        Err(error) => Err(error),
    }
}

/// Numbers by value, anything else by text.
fn compare(name: &str, left: &str, right: &str) -> Ordering {
    let setting_type = Settings::description(name).map(|description| description.setting_type);
    match setting_type {
        Some(SettingType::String | SettingType::Map) | None => return left.cmp(right),
        // As many threads as there are CPUs are meant by "auto".
        Some(SettingType::MaxThreads) => {
            let number = |text: &str| match text.parse() {
                Ok(0) | Err(_) => squall_runtime::cpu::logical_cpus() as u64,
                Ok(threads) => threads,
            };
            return number(left).cmp(&number(right));
        }
        _ => {}
    }
    match (left.parse::<i128>(), right.parse::<i128>()) {
        (Ok(left), Ok(right)) => left.cmp(&right),
        _ => match (left.parse::<f64>(), right.parse::<f64>()) {
            (Ok(left), Ok(right)) => left.total_cmp(&right),
            _ => left.cmp(right),
        },
    }
}

#[cfg(test)]
mod tests {
    use squall_sql::ast::Literal;

    use super::*;

    fn bound(name: &str, min: Option<&str>, max: Option<&str>, writability: Option<Writability>) -> AccessSetting {
        AccessSetting::Setting {
            name: name.to_owned(),
            value: None,
            min: min.map(Literal::string),
            max: max.map(Literal::string),
            disallowed: Vec::new(),
            writability,
        }
    }

    #[test]
    fn bounds_and_readonly_hold() {
        let mut constraints = Constraints::default();
        for setting in [
            bound("max_memory_usage", Some("5"), Some("10Ki"), None),
            bound("max_block_size", None, None, Some(Writability::Const)),
            bound("priority", None, None, Some(Writability::ChangeableInReadonly)),
            bound("max_execution_time", None, Some("10"), None),
        ] {
            constraints.apply(&setting).unwrap();
        }
        let mut settings = Settings::default();
        let code =
            |settings: &Settings, name, value| constraints.check(settings, name, value).err().map(|error| error.code);
        let violated = Some(ErrorCode::SETTING_CONSTRAINT_VIOLATION);
        for (name, value, expected) in [
            ("max_memory_usage", "10", None),
            ("max_memory_usage", "10240", None),
            ("max_memory_usage", "3", violated),
            ("max_memory_usage", "10241", violated),
            ("max_memory_usage", "100Gi", violated),
            ("max_memory_usage", " 1G ", violated),
            ("max_execution_time", "9.5", None),
            ("max_execution_time", "100", violated),
            ("max_block_size", "1", violated),
        ] {
            assert_eq!(code(&settings, name, value), expected, "{name} = {value}");
        }
        let now = settings.get("max_block_size").unwrap();
        assert_eq!(code(&settings, "max_block_size", &now), None);
        settings.set("readonly", "1").unwrap();
        assert_eq!(code(&settings, "max_execution_time", "1"), Some(ErrorCode::READONLY));
        assert_eq!(code(&settings, "priority", "1"), None);
        settings.set("readonly", "2").unwrap();
        assert_eq!(code(&settings, "max_execution_time", "1"), None);
        assert_eq!(code(&settings, "readonly", "0"), Some(ErrorCode::READONLY));
        settings.set("allow_ddl", "0").unwrap();
        assert_eq!(code(&settings, "allow_ddl", "1"), Some(ErrorCode::QUERY_IS_PROHIBITED));
        assert_eq!(code(&settings, "max_execution_time", "1"), None);
    }
}
