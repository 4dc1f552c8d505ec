//! `system.users`, `system.settings_profiles` and `system.quotas`.

use std::sync::{Arc, Weak};

use squall_storage::Table;
use squall_types::Value;
use uuid::Uuid;

use super::table::SystemTable;
use super::upgrade;
use super::value::{flag, no_items, number, text, texts, uuid};
use crate::server::Server;
use crate::users::{Authentication, Profile, User};

const AUTH_TYPE: &str = "Array(Enum8('no_password' = 0, 'plaintext_password' = 1, 'sha256_password' = 2, 'double_sha1_password' = 3, \
    'ldap' = 4, 'kerberos' = 5, 'ssl_certificate' = 6, 'bcrypt_password' = 7, 'ssh_key' = 8, 'http' = 9, 'jwt' = 10, \
    'scram_sha256_password' = 11, 'no_authentication' = 12))";

/// An identity that stays the same as long as the name does: these come from files, which hold none.
fn id_of(kind: &str, name: &str) -> Uuid {
    use sha2::{Digest, Sha256};
    let hash = Sha256::new().chain_update(kind).chain_update([0]).chain_update(name).finalize();
    let bytes = hash.get(..16).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
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
    let gather = move || Ok(upgrade(&server)?.users.load().users().into_iter().cloned().collect());
    let table = SystemTable::new("users", gather)
        .column("name", "String", |row: &Arc<User>| text(&row.name))
        .column("id", "UUID", |row| uuid(id_of("user", &row.name)))
        .constant("storage", "String", text("users_xml"))
        .column("auth_type", AUTH_TYPE, |row| {
            let number = match &row.authentication {
                Authentication::NoPassword => 0,
                Authentication::Plaintext(_) => 1,
                Authentication::Sha256(_) => 2,
                Authentication::Unsupported("double_sha1_password") => 3,
                Authentication::Unsupported("ldap") => 4,
                Authentication::Unsupported("kerberos") => 5,
                Authentication::Certificate(_) => 6,
                Authentication::Unsupported("ssh_key") => 8,
                Authentication::Unsupported("http") => 9,
                Authentication::Unsupported("scram_sha256_password") => 11,
                Authentication::Unsupported(_) => 12,
            };
            Value::Array([Value::Int64(number)].into())
        })
        .column("auth_params", "Array(String)", |row| texts([parameters(&row.authentication)]))
        .column("host_ip", "Array(String)", |row| texts(row.networks.texts()))
        .column("host_names", "Array(String)", |row| texts(row.networks.hosts()))
        .constant("host_names_regexp", "Array(String)", no_items())
        .constant("host_names_like", "Array(String)", no_items())
        .constant("default_roles_all", "UInt8", flag(true))
        .constant("default_roles_list", "Array(String)", no_items())
        .constant("default_roles_except", "Array(String)", no_items())
        .constant("grantees_any", "UInt8", flag(true))
        .constant("grantees_list", "Array(String)", no_items())
        .constant("grantees_except", "Array(String)", no_items())
        .column("default_database", "String", |row| text(row.default_database.as_deref().unwrap_or_default()));
    Arc::new(table)
}

pub(super) fn settings_profiles(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let gather = move || Ok(upgrade(&server)?.users.load().profiles().into_iter().cloned().collect());
    let table = SystemTable::new("settings_profiles", gather)
        .column("name", "String", |row: &Profile| text(&row.name))
        .column("id", "UUID", |row| uuid(id_of("profile", &row.name)))
        .constant("storage", "String", text("users_xml"))
        .column("num_elements", "UInt64", |row| number(row.settings.changes().count()))
        .constant("apply_to_all", "UInt8", flag(false))
        .constant("apply_to_list", "Array(String)", no_items())
        .constant("apply_to_except", "Array(String)", no_items());
    Arc::new(table)
}

pub(super) fn quotas(server: &Weak<Server>) -> Arc<dyn Table> {
    let server = server.clone();
    let table = SystemTable::new("quotas", move || Ok(upgrade(&server)?.users.load().quotas().to_vec()))
        .column("name", "String", |row: &String| text(row))
        .column("id", "UUID", |row| uuid(id_of("quota", row)))
        .constant("storage", "String", text("users_xml"))
        .constant("durations", "Array(UInt32)", no_items())
        .constant("apply_to_all", "UInt8", flag(false))
        .constant("apply_to_list", "Array(String)", no_items())
        .constant("apply_to_except", "Array(String)", no_items());
    Arc::new(table)
}
