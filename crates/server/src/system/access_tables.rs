//! Tables of who may do what: users, roles, what was granted, settings profiles and row policies.

use std::sync::{Arc, Weak};

use squall_sql::ast::{AccessEntityKind, AccessSetting, Writability};
use squall_storage::Table;
use squall_types::{Result, Value};

use super::table::SystemTable;
use super::upgrade;
use super::value::{flag, number, text, texts, uuid};
use crate::access::definition::literal_text;
use crate::access::grant::{GrantRow, rows as grant_rows};
use crate::access::{
    Access, Authentication, Definition, Entity, Names, Privilege, Role, RowPolicy, SettingsProfile, Storage, User,
};
use crate::server::Server;

const AUTH_TYPE: &str = "Array(Enum8('no_password' = 0, 'plaintext_password' = 1, 'sha256_password' = 2, 'double_sha1_password' = 3, \
    'ldap' = 4, 'kerberos' = 5, 'ssl_certificate' = 6, 'bcrypt_password' = 7, 'ssh_key' = 8, 'http' = 9, 'jwt' = 10, \
    'scram_sha256_password' = 11, 'no_authentication' = 12))";
const WRITABILITY: &str = "Nullable(Enum8('WRITABLE' = 0, 'CONST' = 1, 'CHANGEABLE_IN_READONLY' = 2))";
const LEVEL: &str = "Nullable(Enum8('GLOBAL' = 0, 'DATABASE' = 1, 'TABLE' = 2, 'DICTIONARY' = 3, 'VIEW' = 4, 'COLUMN' = 5, \
    'NAMED_COLLECTION' = 6, 'USER_NAME' = 7, 'TABLE_ENGINE' = 8, 'DEFINER' = 9, 'SOURCE' = 10))";

/// An entity with its definition.
struct Of<T> {
    entity: Arc<Entity>,
    definition: T,
}

fn all<T: Clone>(server: &Weak<Server>, of: fn(&Definition) -> Option<&T>) -> Result<Vec<Of<T>>> {
    let snapshot = upgrade(server)?.access.load_full();
    let found = snapshot.entities.all().filter_map(|entity| {
        of(&entity.definition).map(|definition| Of { entity: entity.clone(), definition: definition.clone() })
    });
    Ok(found.collect())
}

/// `name`, `id` and `storage`.
fn entities<T: Send + Sync + 'static>(
    table: &'static str,
    gather: impl Fn() -> Result<Vec<Of<T>>> + Send + Sync + 'static,
) -> SystemTable<Of<T>> {
    SystemTable::new(table, gather)
        .column("name", "String", |row: &Of<T>| text(&row.entity.name))
        .column("id", "UUID", |row| uuid(row.entity.id))
        .column("storage", "String", |row| text(row.entity.storage.name()))
}

/// What a way of authentication is made with, in JSON; secrets are not among it.
fn parameters(authentication: &Authentication) -> String {
    let Authentication::Certificate(names) = authentication else { return "{}".to_owned() };
    let mut parameters = serde_json::Map::new();
    for (key, names) in [("common_names", &names.common_names), ("subject_alt_names", &names.alternative_names)] {
        if !names.is_empty() {
            parameters.insert(key.to_owned(), names.iter().cloned().collect());
        }
    }
    serde_json::Value::Object(parameters).to_string()
}

pub(super) fn users(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        all(&server, |definition| match definition {
            Definition::User(user) => Some(user),
            _ => None,
        })
    };
    let table = entities::<User>("users", gather)
        .column("auth_type", AUTH_TYPE, |row| {
            let methods = &row.definition.methods;
            Value::Array(methods.iter().map(|method| Value::Int64(method.authentication.type_number())).collect())
        })
        .column("auth_params", "Array(String)", |row| {
            texts(row.definition.methods.iter().map(|method| parameters(&method.authentication)))
        })
        .column("valid_until", "Array(DateTime64(0))", |row| {
            let methods = row.definition.methods.iter();
            Value::Array(methods.map(|method| Value::Int64(method.valid_until.unwrap_or(0))).collect())
        })
        .column("auth_grants", "Array(String)", |row| texts(row.definition.methods.iter().map(|_| "")))
        .column("host_ip", "Array(String)", |row| texts(row.definition.networks.texts()))
        .column("host_names", "Array(String)", |row| texts(row.definition.networks.hosts()))
        .column("host_names_regexp", "Array(String)", |row| texts(row.definition.networks.regexps()))
        .column("host_names_like", "Array(String)", |row| texts(row.definition.networks.patterns()));
    let table = names_columns(table, ["default_roles_all", "default_roles_list", "default_roles_except"], |row| {
        &row.definition.default_roles
    });
    let table =
        names_columns(table, ["grantees_any", "grantees_list", "grantees_except"], |row| &row.definition.grantees);
    Arc::new(table.column("default_database", "String", |row| {
        text(row.definition.default_database.as_deref().unwrap_or_default())
    }))
}

/// Three columns of a set of names: whether it is all, the names, those left out.
pub(super) fn names_columns<R: Send + Sync + 'static>(
    table: SystemTable<R>,
    [all, list, except]: [&'static str; 3],
    names: impl Fn(&R) -> &Names + Clone + Send + Sync + 'static,
) -> SystemTable<R> {
    let (first, second, third) = (names.clone(), names.clone(), names);
    table
        .column(all, "UInt8", move |row| flag(first(row).all))
        .column(list, "Array(String)", move |row| texts(&second(row).names))
        .column(except, "Array(String)", move |row| texts(&third(row).except))
}

pub(super) fn roles(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        all(&server, |definition| match definition {
            Definition::Role(role) => Some(role),
            _ => None,
        })
    };
    Arc::new(entities::<Role>("roles", gather))
}

pub(super) fn settings_profiles(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        all(&server, |definition| match definition {
            Definition::SettingsProfile(profile) => Some(profile),
            _ => None,
        })
    };
    let table = entities::<SettingsProfile>("settings_profiles", gather)
        .column("num_elements", "UInt64", |row| number(row.definition.settings.len()));
    Arc::new(names_columns(table, ["apply_to_all", "apply_to_list", "apply_to_except"], |row| &row.definition.to))
}

pub(super) fn row_policies(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        all(&server, |definition| match definition {
            Definition::RowPolicy(policy) => Some(policy),
            _ => None,
        })
    };
    let table = SystemTable::new("row_policies", gather)
        .column("name", "String", |row: &Of<RowPolicy>| text(&row.entity.name))
        .column("short_name", "String", |row| text(&row.definition.short_name))
        .column("database", "String", |row| text(&row.definition.database))
        .column("table", "String", |row| text(if row.definition.table == "*" { "" } else { &row.definition.table }))
        .column("id", "UUID", |row| uuid(row.entity.id))
        .column("storage", "String", |row| text(row.entity.storage.name()))
        .column("select_filter", "Nullable(String)", |row| row.definition.filter.as_ref().map_or(Value::Null, text))
        .column("is_restrictive", "UInt8", |row| flag(row.definition.is_restrictive));
    Arc::new(names_columns(table, ["apply_to_all", "apply_to_list", "apply_to_except"], |row| &row.definition.to))
}

/// The name of a user, or of a role, as two columns of which one is NULL.
fn grantee(entity: &Entity, kind: AccessEntityKind) -> Value {
    if entity.definition.kind() == kind { text(&entity.name) } else { Value::Null }
}

pub(super) fn grants(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let snapshot = upgrade(&server)?.access.load_full();
        let mut rows = Vec::new();
        for entity in snapshot.entities.all() {
            if let Definition::User(User { rights, .. }) | Definition::Role(Role { rights, .. }) = &entity.definition {
                rows.extend(
                    grant_rows(rights).into_iter().map(|grant| Of { entity: entity.clone(), definition: grant }),
                );
            }
        }
        Ok(rows)
    };
    let or_null = |name: &Option<String>| name.as_ref().map_or(Value::Null, text);
    let table = SystemTable::new("grants", gather)
        .column("user_name", "Nullable(String)", |row: &Of<GrantRow>| grantee(&row.entity, AccessEntityKind::User))
        .column("role_name", "Nullable(String)", |row| grantee(&row.entity, AccessEntityKind::Role))
        .column("access_type", &privilege_type(), |row| Value::Int64(row.definition.privilege as i64))
        .column("access_object", "String", |row| text(row.definition.object.as_deref().unwrap_or_default()))
        .column("database", "Nullable(String)", move |row| or_null(&row.definition.database))
        .column("table", "Nullable(String)", move |row| or_null(&row.definition.table))
        .column("column", "Nullable(String)", move |row| or_null(&row.definition.column))
        .column("is_partial_revoke", "UInt8", |row| flag(row.definition.is_partial_revoke))
        .column("grant_option", "UInt8", |row| flag(row.definition.grant_option))
        .column("is_wildcard", "UInt8", |row| flag(row.definition.is_wildcard));
    Arc::new(table)
}

/// The enumeration of all privileges.
fn privilege_type() -> String {
    let names = Privilege::EVERY.iter().map(|privilege| format!("'{privilege}' = {}", *privilege as usize));
    let names: Vec<String> = names.chain([format!("'NONE' = {}", Privilege::EVERY.len())]).collect();
    format!("Enum16({})", names.join(", "))
}

/// A role that was granted.
struct RoleGrant {
    entity: Arc<Entity>,
    role: String,
    role_id: uuid::Uuid,
    is_default: bool,
    with_admin_option: bool,
}

pub(super) fn role_grants(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let snapshot = upgrade(&server)?.access.load_full();
        let mut rows = Vec::new();
        for entity in snapshot.entities.all() {
            let (roles, default_roles) = match &entity.definition {
                Definition::User(user) => (&user.roles, Some(&user.default_roles)),
                Definition::Role(role) => (&role.roles, None),
                _ => continue,
            };
            for (role, with_admin_option) in roles {
                rows.push(RoleGrant {
                    entity: entity.clone(),
                    role: role.clone(),
                    role_id: snapshot.entities.role(role).map(|(role, _)| role.id).unwrap_or_default(),
                    is_default: default_roles.is_none_or(|names| names.contains(role)),
                    with_admin_option: *with_admin_option,
                });
            }
        }
        Ok(rows)
    };
    let table = SystemTable::new("role_grants", gather)
        .column("user_name", "Nullable(String)", |row: &RoleGrant| grantee(&row.entity, AccessEntityKind::User))
        .column("role_name", "Nullable(String)", |row| grantee(&row.entity, AccessEntityKind::Role))
        .column("granted_role_name", "String", |row| text(&row.role))
        .column("granted_role_id", "UUID", |row| uuid(row.role_id))
        .column("granted_role_is_default", "UInt8", |row| flag(row.is_default))
        .column("with_admin_option", "UInt8", |row| flag(row.with_admin_option));
    Arc::new(table)
}

pub(super) fn settings_profile_elements(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || {
        let snapshot = upgrade(&server)?.access.load_full();
        let mut rows = Vec::new();
        for entity in snapshot.entities.all() {
            let (Definition::User(User { settings, .. })
            | Definition::Role(Role { settings, .. })
            | Definition::SettingsProfile(SettingsProfile { settings, .. })) = &entity.definition
            else {
                continue;
            };
            let numbered = settings.iter().cloned().enumerate();
            rows.extend(numbered.map(|definition| Of { entity: entity.clone(), definition }));
        }
        Ok(rows)
    };
    let bound = |row: &Of<(usize, AccessSetting)>, of: fn(&AccessSetting) -> Option<&squall_sql::ast::Literal>| {
        of(&row.definition.1).and_then(|literal| literal_text(literal).ok()).map_or(Value::Null, text)
    };
    type Row = Of<(usize, AccessSetting)>;
    let table = SystemTable::new("settings_profile_elements", gather)
        .column("profile_name", "Nullable(String)", |row: &Row| grantee(&row.entity, AccessEntityKind::SettingsProfile))
        .column("user_name", "Nullable(String)", |row| grantee(&row.entity, AccessEntityKind::User))
        .column("role_name", "Nullable(String)", |row| grantee(&row.entity, AccessEntityKind::Role))
        .column("index", "UInt64", |row| number(row.definition.0))
        .column("setting_name", "Nullable(String)", |row| match &row.definition.1 {
            AccessSetting::Setting { name, .. } => text(name),
            AccessSetting::Profile(_) => Value::Null,
        })
        .column("value", "Nullable(String)", move |row| {
            bound(row, |setting| match setting {
                AccessSetting::Setting { value, .. } => value.as_ref(),
                AccessSetting::Profile(_) => None,
            })
        })
        .column("min", "Nullable(String)", move |row| {
            bound(row, |setting| match setting {
                AccessSetting::Setting { min, .. } => min.as_ref(),
                AccessSetting::Profile(_) => None,
            })
        })
        .column("max", "Nullable(String)", move |row| {
            bound(row, |setting| match setting {
                AccessSetting::Setting { max, .. } => max.as_ref(),
                AccessSetting::Profile(_) => None,
            })
        })
        .column("writability", WRITABILITY, |row| match &row.definition.1 {
            AccessSetting::Setting { writability: Some(writability), .. } => Value::Int64(match writability {
                Writability::Writable => 0,
                Writability::Const => 1,
                Writability::ChangeableInReadonly => 2,
            }),
            _ => Value::Null,
        })
        .column("inherit_profile", "Nullable(String)", |row| match &row.definition.1 {
            AccessSetting::Profile(name) => text(name),
            AccessSetting::Setting { .. } => Value::Null,
        });
    Arc::new(table)
}

pub(super) fn privileges() -> Arc<dyn Table> {
    let names = privilege_type();
    let table = SystemTable::new("privileges", || Ok(Privilege::EVERY.to_vec()))
        .column("privilege", &names, |row: &Privilege| Value::Int64(*row as i64))
        .column("aliases", "Array(String)", |row| texts(row.description().aliases))
        .column("level", LEVEL, |row| row.level().number().map_or(Value::Null, Value::Int64))
        .column("parent_group", &format!("Nullable({names})"), |row| match row.parent() {
            parent if parent == *row => Value::Null,
            parent => Value::Int64(parent as i64),
        });
    Arc::new(table)
}

pub(super) fn user_directories(server: &Weak<Server>) -> Arc<dyn Table> {
    let path = server.upgrade().map(|server| server.config.load().server.path.clone()).unwrap_or_default();
    let rows = || Ok(vec![(Storage::UsersXml, 1_u64), (Storage::LocalDirectory, 2)]);
    let table = SystemTable::new("user_directories", rows)
        .column("name", "String", |(storage, _): &(Storage, u64)| text(storage.name()))
        .column("type", "String", |(storage, _)| text(storage.name()))
        .column("params", "String", move |(storage, _)| match storage {
            Storage::UsersXml => text("{}"),
            Storage::LocalDirectory => text(serde_json::json!({ "path": path }).to_string()),
        })
        .column("precedence", "UInt64", |(_, precedence)| number(*precedence));
    Arc::new(table)
}

/// A role that a session has.
struct SessionRole {
    name: String,
    with_admin_option: bool,
    is_current: bool,
    is_default: bool,
}

fn roles_of(access: Option<&Arc<Access>>, defaults: &Names) -> Vec<SessionRole> {
    let Some(access) = access else { return Vec::new() };
    let roles = access.enabled_roles.iter().map(|(name, with_admin_option)| SessionRole {
        name: name.clone(),
        with_admin_option: *with_admin_option,
        is_current: access.current_roles.contains(name),
        is_default: defaults.contains(name),
    });
    roles.collect()
}

/// `enabled_roles` of a session, or of nobody.
pub(super) fn enabled_roles(access: Option<&Arc<Access>>, defaults: &Names) -> Arc<dyn Table> {
    let (access, defaults) = (access.cloned(), defaults.clone());
    let table = SystemTable::new("enabled_roles", move || Ok(roles_of(access.as_ref(), &defaults)))
        .column("role_name", "String", |row: &SessionRole| text(&row.name))
        .column("with_admin_option", "UInt8", |row| flag(row.with_admin_option))
        .column("is_current", "UInt8", |row| flag(row.is_current))
        .column("is_default", "UInt8", |row| flag(row.is_default));
    Arc::new(table)
}

/// `current_roles` of a session, or of nobody.
pub(super) fn current_roles(access: Option<&Arc<Access>>, defaults: &Names) -> Arc<dyn Table> {
    let (access, defaults) = (access.cloned(), defaults.clone());
    let gather = move || Ok(roles_of(access.as_ref(), &defaults).into_iter().filter(|role| role.is_current).collect());
    let table = SystemTable::new("current_roles", gather)
        .column("role_name", "String", |row: &SessionRole| text(&row.name))
        .column("with_admin_option", "UInt8", |row| flag(row.with_admin_option))
        .column("is_default", "UInt8", |row| flag(row.is_default));
    Arc::new(table)
}

#[cfg(test)]
mod tests {
    use squall_types::DataType;

    use super::*;

    #[test]
    fn types_are_those_of_clickhouse() {
        assert!(DataType::parse(&privilege_type()).is_ok());
        assert!(privilege_type().starts_with("Enum16('SHOW DATABASES' = 0, 'SHOW TABLES' = 1, 'CHECK' = 2"));
        assert!(privilege_type().ends_with("'SOURCES' = 246, 'ALL' = 247, 'NONE' = 248)"));
    }
}
