//! Settings of ClickHouse that Squall knows by name alone: what clients send of them is taken where it changes nothing, and refused
//! where an answer would have to change.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::{SettingDescription, SettingType, bad_value, check_allowed, check_named};
use crate::error::{Error, ErrorCode, Result};

/// The table of names; its first lines say what stands in it.
const TABLE: &str = include_str!("foreign.tsv");

/// Why a name is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It is implemented: it is no foreign setting.
    Implemented,
    /// It tunes an implementation that is not ours.
    Tuning,
    /// It has no effect in ClickHouse either.
    Obsolete,
    /// It changes an answer or guards something, and Squall does what its default says.
    Fixed,
}

impl SettingDescription {
    /// The value that `text` is for a foreign setting, as it is shown.
    ///
    /// # Errors
    /// Where it is no value of the type, ClickHouse's code for that type; `SUPPORT_IS_DISABLED` where it would mean something that is not
    /// there.
    pub fn foreign_value(&self, text: &str) -> Result<String> {
        let canonical = |text: &str| self.setting_type.canonical(text);
        let value = canonical(text).ok_or_else(|| bad_value(self.name, self.setting_type, text))?;
        check_named(self.type_name, text)?;
        if self.name == "compatibility" {
            return check_compatibility(text).map(|()| value);
        }
        if self.effect == Effect::Fixed && canonical(self.default).as_ref() != Some(&value) {
            check_allowed(self.name, &value, &self.allowed)?;
        }
        Ok(value)
    }
}

/// The version whose defaults the settings have.
const VERSION: [u64; 2] = [26, 9];

/// Takes a version that has no other defaults than this one, or none.
fn check_compatibility(text: &str) -> Result<()> {
    let parts: Option<Vec<u64>> = text.split('.').map(|part| part.parse().ok()).collect();
    match parts.as_deref() {
        _ if text.is_empty() => Ok(()),
        None => Err(Error::new(ErrorCode::BAD_ARGUMENTS, format!("Cannot parse ClickHouse version here: {text}"))),
        Some([major, rest @ ..]) if [*major, rest.first().copied().unwrap_or(0)] >= VERSION => Ok(()),
        Some(_) => Err(Error::new(
            ErrorCode::SUPPORT_IS_DISABLED,
            format!("Setting 'compatibility' cannot be '{text}' here: the defaults of older versions are not known"),
        )),
    }
}

/// All foreign settings of queries, in the order of their names; aliases aside.
pub fn all() -> &'static [SettingDescription] {
    static ALL: LazyLock<Vec<SettingDescription>> = LazyLock::new(|| descriptions(TABLE));
    &ALL
}

/// The foreign settings of a table like this module's, in the order of their names; aliases aside.
pub fn descriptions(table: &'static str) -> Vec<SettingDescription> {
    let describe = |row: Row| {
        let (effect, description) = match row.effect {
            "tuning" => {
                (Effect::Tuning, "Accepted for compatibility: it tunes what Squall does not have or does by itself.")
            }
            "obsolete" => (Effect::Obsolete, "Accepted for compatibility: it has no effect in ClickHouse either."),
            _ => (Effect::Fixed, "Squall does what the default says; another value is refused."),
        };
        let allowed = if effect == Effect::Fixed { Cow::Owned(vec![row.value]) } else { Cow::Borrowed(&[][..]) };
        SettingDescription {
            name: row.name,
            setting_type: setting_type(row.type_name),
            type_name: row.type_name,
            default: row.value,
            allowed,
            description,
            effect,
            tier: row.tier,
        }
    };
    rows(table).filter(|row| row.effect != ALIAS).map(describe).collect()
}

/// The foreign setting of a name.
pub fn find(name: &str) -> Option<&'static SettingDescription> {
    let all = all();
    all.binary_search_by_key(&name, |setting| setting.name).ok().and_then(|at| all.get(at))
}

/// The setting that a name of ClickHouse's is another name of.
pub fn alias(name: &str) -> Option<&'static str> {
    static ALIASES: LazyLock<Vec<(&str, &str)>> =
        LazyLock::new(|| rows(TABLE).filter(|row| row.effect == ALIAS).map(|row| (row.name, row.value)).collect());
    ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, target)| *target)
}

const ALIAS: &str = "alias";

struct Row {
    name: &'static str,
    type_name: &'static str,
    value: &'static str,
    tier: &'static str,
    effect: &'static str,
}

fn rows(table: &'static str) -> impl Iterator<Item = Row> {
    table.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut fields = line.split('\t');
        let mut next = || fields.next();
        let (name, type_name, value) = (next()?, next()?, next()?);
        // The only value that TSV escapes.
        let value = if value == r"\n" { "\n" } else { value };
        Some(Row { name, type_name, value, tier: next()?, effect: next()? })
    })
}

/// How a value of a type of ClickHouse's is read here: what is not a plain number is text.
fn setting_type(name: &str) -> SettingType {
    match name {
        "Bool" => SettingType::Bool,
        "UInt64" => SettingType::UInt64,
        "NonZeroUInt64" => SettingType::NonZeroUInt64,
        "Int64" | "Int32" => SettingType::Int64,
        "Float" | "Double" => SettingType::Float,
        "Seconds" => SettingType::Seconds,
        "Milliseconds" => SettingType::Milliseconds,
        "MaxThreads" => SettingType::MaxThreads,
        _ => SettingType::String,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Settings;
    use super::*;

    #[test]
    fn the_table_is_whole_and_in_order() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(rows(TABLE).count(), lines);
        assert!(rows(TABLE).map(|row| row.name).is_sorted_by(|one, next| one < next));
        for row in rows(TABLE) {
            assert!(["tuning", "obsolete", "fixed", ALIAS].contains(&row.effect), "{} is {}", row.name, row.effect);
            let declared = Settings::ALL.iter().any(|setting| setting.name == row.name);
            assert!(!declared, "{} is declared and in foreign.tsv: take it out of there", row.name);
            let target = if row.effect == ALIAS { row.value } else { row.name };
            assert!(Settings::description(target).is_some(), "{} stands for {target}, which is not known", row.name);
        }
    }

    #[test]
    fn every_default_can_be_set() {
        for setting in all() {
            let mut settings = Settings::default();
            settings.set(setting.name, setting.default).unwrap();
            assert!(settings.is_changed(setting.name));
        }
    }
}
