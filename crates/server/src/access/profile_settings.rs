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
) {
    for_each_setting(entities, elements, 0, &mut |element, name, value| {
        // What is wrong was said when the element was read or made.
        if let Some(value) = value {
            let _ = settings.set(name, &value);
        }
        let _ = constraints.apply(element);
    });
}

/// Visits each setting, its name and, where it has one that can be read, its value; those of a profile where it is named.
fn for_each_setting(
    entities: &Entities,
    elements: &[AccessSetting],
    depth: usize,
    visit: &mut dyn FnMut(&AccessSetting, &str, Option<String>),
) {
    if depth > PROFILE_DEPTH_MAX {
        return;
    }
    for element in elements {
        match element {
            AccessSetting::Profile(name) => {
                if let Some((_, profile)) = entities.profile(name) {
                    for_each_setting(entities, &profile.settings, depth + 1, visit);
                }
            }
            AccessSetting::Setting { name, value, .. } => {
                visit(element, name, value.as_ref().and_then(|value| literal_text(value).ok()));
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
    apply_settings(entities, &profile.settings, &mut Settings::default(), &mut constraints);
    let mut values = Vec::new();
    for_each_setting(entities, &profile.settings, 0, &mut |_, name, value| {
        values.extend(value.map(|value| (name.to_owned(), value)));
    });
    Ok((values, constraints))
}
