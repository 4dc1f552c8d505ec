//! The settings that profiles, roles and users bring, with those of the profiles that they inherit.

use std::sync::Arc;

use squall_sql::ast::AccessSetting;
use squall_types::{Error, ErrorCode, Result, Settings};

use super::constraint::Constraints;
use super::definition::literal_text;
use super::entities::Entities;

/// How deep profiles may inherit.
const PROFILE_DEPTH_MAX: usize = 16;

/// Settings under which nothing but reading is allowed, and changing settings.
pub(super) fn readonly(settings: &Arc<Settings>) -> Arc<Settings> {
    if settings.readonly != 0 {
        return settings.clone();
    }
    let mut readonly = (**settings).clone();
    readonly.readonly = 2;
    Arc::new(readonly)
}

/// Applies settings of a profile, a role or a user, with those of the profiles that they name.
pub(super) fn apply_settings(
    entities: &Entities,
    elements: &[AccessSetting],
    settings: &mut Settings,
    constraints: &mut Constraints,
    depth: usize,
) {
    if depth > PROFILE_DEPTH_MAX {
        return;
    }
    for element in elements {
        match element {
            AccessSetting::Profile(name) => {
                if let Some((_, profile)) = entities.profile(name) {
                    apply_settings(entities, &profile.settings, settings, constraints, depth + 1);
                }
            }
            AccessSetting::Setting { name, value, .. } => {
                // What is wrong was said when the element was read or made.
                if let Some(value) = value
                    && let Ok(text) = literal_text(value)
                {
                    let _ = settings.set(name, &text);
                }
                let _ = constraints.apply(element);
            }
        }
    }
}

/// The settings of a profile with all that it inherits, and its bounds.
///
/// # Errors
/// `THERE_IS_NO_PROFILE`.
pub fn profile_settings(entities: &Entities, name: &str) -> Result<(Vec<(String, String)>, Constraints)> {
    let (_, profile) = entities
        .profile(name)
        .ok_or_else(|| Error::new(ErrorCode::THERE_IS_NO_PROFILE, format!("There is no settings profile '{name}'")))?;
    let mut constraints = Constraints::default();
    apply_settings(entities, &profile.settings, &mut Settings::default(), &mut constraints, 0);
    let mut values = Vec::new();
    collect_values(entities, &profile.settings, &mut values, 0);
    Ok((values, constraints))
}

fn collect_values(entities: &Entities, elements: &[AccessSetting], values: &mut Vec<(String, String)>, depth: usize) {
    if depth > PROFILE_DEPTH_MAX {
        return;
    }
    for element in elements {
        match element {
            AccessSetting::Profile(name) => {
                if let Some((_, profile)) = entities.profile(name) {
                    collect_values(entities, &profile.settings, values, depth + 1);
                }
            }
            AccessSetting::Setting { name, value: Some(value), .. } => {
                if let Ok(text) = literal_text(value) {
                    values.push((name.clone(), text));
                }
            }
            AccessSetting::Setting { .. } => {}
        }
    }
}
