//! What a user may set settings to: the `constraints` of profiles, and the meaning of `readonly`.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use squall_types::{Error, ErrorCode, Result, Settings};

/// The bounds of one setting.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Constraint {
    /// The least value.
    pub min: Option<String>,
    /// The greatest value.
    pub max: Option<String>,
    /// Whether it cannot be changed at all (`readonly`, `const`).
    pub is_const: bool,
    /// Whether it may be changed although the session is read-only.
    pub changeable_in_readonly: bool,
}

/// The bounds of settings, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Constraints(pub(super) BTreeMap<String, Constraint>);

impl Constraints {
    /// The bounds of a setting.
    pub fn get(&self, name: &str) -> Option<&Constraint> {
        self.0.get(name)
    }

    /// Whether a session with `settings` may set `name` to `value`.
    ///
    /// # Errors
    /// `READONLY` in read-only sessions, `SETTING_CONSTRAINT_VIOLATION` outside of the bounds.
    pub fn check(&self, settings: &Settings, name: &str, value: &str) -> Result<()> {
        let constraint = self.0.get(name);
        if settings.readonly == 1 && !constraint.is_some_and(|constraint| constraint.changeable_in_readonly) {
            return Err(Error::new(ErrorCode::READONLY, format!("Cannot modify '{name}' setting in readonly mode")));
        }
        if settings.readonly > 1 && name == "readonly" {
            return Err(Error::new(ErrorCode::READONLY, "Cannot modify 'readonly' setting in readonly mode"));
        }
        let Some(constraint) = constraint else { return Ok(()) };
        if constraint.is_const {
            let message = format!("Setting {name} should not be changed");
            return Err(Error::new(ErrorCode::SETTING_CONSTRAINT_VIOLATION, message));
        }
        if let Some(min) = &constraint.min
            && compare(value, min) == Ordering::Less
        {
            let message = format!("Setting {name} shouldn't be less than {min}");
            return Err(Error::new(ErrorCode::SETTING_CONSTRAINT_VIOLATION, message));
        }
        if let Some(max) = &constraint.max
            && compare(value, max) == Ordering::Greater
        {
            let message = format!("Setting {name} shouldn't be greater than {max}");
            return Err(Error::new(ErrorCode::SETTING_CONSTRAINT_VIOLATION, message));
        }
        Ok(())
    }
}

/// Numbers by value, anything else by text.
fn compare(left: &str, right: &str) -> Ordering {
    match (left.trim().parse::<i128>(), right.trim().parse::<i128>()) {
        (Ok(left), Ok(right)) => left.cmp(&right),
        _ => match (left.trim().parse::<f64>(), right.trim().parse::<f64>()) {
            (Ok(left), Ok(right)) => left.total_cmp(&right),
            _ => left.cmp(right),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_and_readonly_hold() {
        let bounds = [
            ("max_memory_usage", Constraint { min: Some("5".into()), max: Some("20".into()), ..Constraint::default() }),
            ("max_threads", Constraint { is_const: true, ..Constraint::default() }),
            ("priority", Constraint { changeable_in_readonly: true, ..Constraint::default() }),
        ];
        let constraints = Constraints(bounds.into_iter().map(|(name, bound)| (name.to_owned(), bound)).collect());
        let mut settings = Settings::default();
        let code =
            |settings: &Settings, name, value| constraints.check(settings, name, value).err().map(|error| error.code);
        assert_eq!(code(&settings, "max_memory_usage", "10"), None);
        assert_eq!(code(&settings, "max_memory_usage", "3"), Some(ErrorCode::SETTING_CONSTRAINT_VIOLATION));
        assert_eq!(code(&settings, "max_memory_usage", "100"), Some(ErrorCode::SETTING_CONSTRAINT_VIOLATION));
        assert_eq!(code(&settings, "max_threads", "1"), Some(ErrorCode::SETTING_CONSTRAINT_VIOLATION));
        settings.set("readonly", "1").unwrap();
        assert_eq!(code(&settings, "max_block_size", "10"), Some(ErrorCode::READONLY));
        assert_eq!(code(&settings, "priority", "1"), None);
        settings.set("readonly", "2").unwrap();
        assert_eq!(code(&settings, "max_block_size", "10"), None);
        assert_eq!(code(&settings, "readonly", "0"), Some(ErrorCode::READONLY));
    }
}
