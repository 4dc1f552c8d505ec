//! All entities there are, by kind and name, those of configuration files and those that SQL made. Changes are made to a copy.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use squall_sql::ast::AccessEntityKind;
use squall_types::{Error, ErrorCode, Result};

use super::entity::{Definition, Entity, Quota, Role, RowPolicy, SettingsProfile, Storage, User};

/// The entities of every kind.
#[derive(Clone, Default, Debug)]
pub struct Entities {
    kinds: [BTreeMap<Arc<str>, Arc<Entity>>; 5],
}

/// The kinds that there are.
pub const KINDS: [AccessEntityKind; 5] = [
    AccessEntityKind::User,
    AccessEntityKind::Role,
    AccessEntityKind::SettingsProfile,
    AccessEntityKind::Quota,
    AccessEntityKind::RowPolicy,
];

fn place(kind: AccessEntityKind) -> Option<usize> {
    KINDS.iter().position(|known| *known == kind)
}

/// The error for a name that is nobody's.
pub fn unknown(kind: AccessEntityKind, name: &str) -> Error {
    let (code, what) = match kind {
        AccessEntityKind::User => (ErrorCode::UNKNOWN_USER, "user"),
        AccessEntityKind::Role => (ErrorCode::UNKNOWN_ROLE, "role"),
        AccessEntityKind::SettingsProfile => (ErrorCode::THERE_IS_NO_PROFILE, "settings profile"),
        AccessEntityKind::Quota => (ErrorCode::UNKNOWN_QUOTA, "quota"),
        AccessEntityKind::RowPolicy => (ErrorCode::ACCESS_ENTITY_NOT_FOUND, "row policy"),
        AccessEntityKind::MaskingPolicy => (ErrorCode::ACCESS_ENTITY_NOT_FOUND, "masking policy"),
    };
    Error::new(code, format!("There is no {what} `{name}` in `user directories`"))
}

macro_rules! of_kind {
    ($one:ident, $all:ident, $kind:ident, $what:literal) => {
        #[doc = concat!("The ", $what, " of a name.")]
        pub fn $one(&self, name: &str) -> Option<(&Arc<Entity>, &$kind)> {
            let entity = self.find(AccessEntityKind::$kind, name)?;
            match &entity.definition {
                Definition::$kind(definition) => Some((entity, definition)),
                _ => None,
            }
        }

        #[doc = concat!("Every ", $what, ", by name.")]
        pub fn $all(&self) -> impl Iterator<Item = (&Arc<Entity>, &$kind)> {
            self.of_kind(AccessEntityKind::$kind).filter_map(|entity| match &entity.definition {
                Definition::$kind(definition) => Some((entity, definition)),
                _ => None,
            })
        }
    };
}

impl Entities {
    of_kind!(user, users, User, "user");
    of_kind!(role, roles, Role, "role");
    of_kind!(profile, profiles, SettingsProfile, "settings profile");
    of_kind!(quota, quotas, Quota, "quota");
    of_kind!(policy, policies, RowPolicy, "row policy");

    /// The entity of a kind and name.
    pub fn find(&self, kind: AccessEntityKind, name: &str) -> Option<&Arc<Entity>> {
        self.kinds.get(place(kind)?)?.get(name)
    }

    /// The same, which must be there.
    ///
    /// # Errors
    /// The kind's own: `UNKNOWN_USER`, ….
    pub fn get(&self, kind: AccessEntityKind, name: &str) -> Result<&Arc<Entity>> {
        self.find(kind, name).ok_or_else(|| unknown(kind, name))
    }

    /// All of a kind, by name.
    pub fn of_kind(&self, kind: AccessEntityKind) -> impl Iterator<Item = &Arc<Entity>> {
        place(kind).and_then(|place| self.kinds.get(place)).into_iter().flat_map(BTreeMap::values)
    }

    /// All of every kind.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Entity>> {
        self.kinds.iter().flat_map(BTreeMap::values)
    }

    /// Puts an entity in the place of one of its kind and name.
    pub fn put(&mut self, entity: Entity) {
        if let Some(kind) = place(entity.definition.kind()).and_then(|place| self.kinds.get_mut(place)) {
            kind.insert(entity.name.clone(), Arc::new(entity));
        }
    }

    /// Changes an entity that SQL made.
    ///
    /// # Errors
    /// Where there is none, `ACCESS_STORAGE_READONLY` for those of configuration files, and those of `change`.
    pub fn change(
        &mut self,
        kind: AccessEntityKind,
        name: &str,
        change: impl FnOnce(&mut Definition) -> Result<()>,
    ) -> Result<()> {
        let mut entity = (**self.get(kind, name)?).clone();
        let before = entity.definition.clone();
        change(&mut entity.definition)?;
        if before == entity.definition {
            return Ok(());
        }
        check_writable(&entity, "update")?;
        self.put(entity);
        Ok(())
    }

    /// Takes an entity away, and its name from where it is mentioned.
    ///
    /// # Errors
    /// As [`change`](Self::change).
    pub fn remove(&mut self, kind: AccessEntityKind, name: &str) -> Result<()> {
        check_writable(self.get(kind, name)?, "remove")?;
        if let Some(kind) = place(kind).and_then(|place| self.kinds.get_mut(place)) {
            kind.remove(name);
        }
        self.rename_mentioned(kind, name, None);
        Ok(())
    }

    /// Gives an entity another name, also where it is mentioned.
    ///
    /// # Errors
    /// As [`change`](Self::change); `ACCESS_ENTITY_ALREADY_EXISTS`.
    pub fn rename(&mut self, kind: AccessEntityKind, from: &str, entity: Entity) -> Result<()> {
        check_writable(self.get(kind, from)?, "update")?;
        let to = entity.name.clone();
        if *to != *from && self.find(kind, &to).is_some() {
            return Err(already_exists(kind, &to, Storage::LocalDirectory));
        }
        if let Some(kind) = place(kind).and_then(|place| self.kinds.get_mut(place)) {
            kind.remove(from);
        }
        self.put(entity);
        self.rename_mentioned(kind, from, Some(&to));
        Ok(())
    }

    fn rename_mentioned(&mut self, kind: AccessEntityKind, from: &str, to: Option<&str>) {
        let of_sql: Vec<Arc<Entity>> =
            self.all().filter(|entity| entity.storage == Storage::LocalDirectory).cloned().collect();
        for entity in of_sql {
            let mut changed = (*entity).clone();
            changed.definition.rename_mentioned(kind, from, to);
            if changed.definition != entity.definition {
                self.put(changed);
            }
        }
    }

    /// The roles that are had with some roles, directly or through others, and whether each may be passed on.
    pub fn with_their_roles(&self, roles: impl IntoIterator<Item = (String, bool)>) -> BTreeMap<String, bool> {
        let mut found: BTreeMap<String, bool> = BTreeMap::new();
        let mut waiting: Vec<(String, bool)> = roles.into_iter().collect();
        while let Some((name, with_admin_option)) = waiting.pop() {
            let Some((_, role)) = self.role(&name) else { continue };
            let known = found.get(&name).copied();
            if known.is_some_and(|known| known || !with_admin_option) {
                continue;
            }
            found.insert(name, with_admin_option);
            waiting.extend(role.roles.iter().map(|(name, with_admin_option)| (name.clone(), *with_admin_option)));
        }
        found
    }

    /// The names of the roles that somebody was granted.
    pub fn granted_roles(&self, kind: AccessEntityKind, name: &str) -> BTreeSet<String> {
        match self.find(kind, name).map(|entity| &entity.definition) {
            Some(Definition::User(User { roles, .. }) | Definition::Role(Role { roles, .. })) => {
                roles.keys().cloned().collect()
            }
            _ => BTreeSet::new(),
        }
    }
}

/// The error for a name that is somebody's.
pub fn already_exists(kind: AccessEntityKind, name: &str, storage: Storage) -> Error {
    let what = kind.keywords().to_ascii_lowercase();
    let message =
        format!("{what} `{name}`: cannot insert because {what} `{name}` already exists in `{}`", storage.name());
    Error::new(ErrorCode::ACCESS_ENTITY_ALREADY_EXISTS, message)
}

fn check_writable(entity: &Entity, verb: &str) -> Result<()> {
    if entity.storage == Storage::LocalDirectory {
        return Ok(());
    }
    let what = entity.definition.kind().keywords().to_ascii_lowercase();
    Err(Error::new(
        ErrorCode::ACCESS_STORAGE_READONLY,
        format!("Cannot {verb} {what} `{}` in {} because this storage is readonly", entity.name, entity.storage.name()),
    ))
}
