//! Users, roles, settings profiles, quotas and row policies as they were defined. What follows from them for somebody is in `access`.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use squall_sql::ast::{AccessEntityKind, AccessSetting};
use uuid::Uuid;

use super::authentication::Method;
use super::network::Networks;
use super::rights::Rights;

/// Where an entity is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Storage {
    /// A configuration file: SQL does not change it.
    UsersXml,
    /// The data folder: SQL made it.
    #[default]
    LocalDirectory,
}

impl Storage {
    /// The name in `system.user_directories`.
    pub fn name(self) -> &'static str {
        match self {
            Self::UsersXml => "users_xml",
            Self::LocalDirectory => "local_directory",
        }
    }
}

/// A set of users and roles, or of roles, by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    /// All but `except`.
    pub all: bool,
    /// Those of a set that is not `all`.
    pub names: BTreeSet<String>,
    /// Those that are left out.
    pub except: BTreeSet<String>,
}

impl Names {
    /// All there are.
    pub fn all() -> Self {
        Self { all: true, ..Self::default() }
    }

    /// Whether a name is in it.
    pub fn contains(&self, name: &str) -> bool {
        (self.all || self.names.contains(name)) && !self.except.contains(name)
    }

    /// Whether a user or one of the roles is in it, and neither the user nor any of the roles is left out.
    pub fn matches(&self, user: &str, roles: &BTreeSet<String>) -> bool {
        let is_in = self.all || self.names.contains(user) || roles.iter().any(|role| self.names.contains(role));
        is_in && !self.except.contains(user) && !roles.iter().any(|role| self.except.contains(role))
    }

    /// Gives a name another one, or none.
    pub fn rename(&mut self, from: &str, to: Option<&str>) {
        for set in [&mut self.names, &mut self.except] {
            if set.remove(from)
                && let Some(to) = to
            {
                set.insert(to.to_owned());
            }
        }
    }
}

/// Who somebody is, how that is proven, and what was granted.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct User {
    /// How the user proves who it is: one way is enough. None: there is no way in.
    pub methods: Vec<Method>,
    /// From where it may come.
    pub networks: Networks,
    /// What was granted to it itself.
    pub rights: Rights,
    /// The roles that were granted, and whether they may be passed on.
    pub roles: BTreeMap<String, bool>,
    /// The roles that a session begins with.
    pub default_roles: Names,
    /// The database of its sessions where the client names none.
    pub default_database: Option<String>,
    /// To whom it may grant something.
    pub grantees: Names,
    /// Its own settings, their bounds, and the profiles that it has.
    pub settings: Vec<AccessSetting>,
    /// The databases that it may use and see, of `allow_databases`; none is no such bound.
    pub allow_databases: Option<BTreeSet<String>>,
    /// The quota that a configuration file gives it.
    pub quota: Option<String>,
}

/// What is granted together.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Role {
    /// What was granted.
    pub rights: Rights,
    /// The roles that were granted, and whether they may be passed on.
    pub roles: BTreeMap<String, bool>,
    /// Settings of those who have it.
    pub settings: Vec<AccessSetting>,
}

/// Settings and their bounds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SettingsProfile {
    /// The settings, and the profiles that it inherits from.
    pub settings: Vec<AccessSetting>,
    /// Who has it.
    pub to: Names,
}

/// What a quota counts for each value of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum QuotaKey {
    /// The user.
    UserName = 1,
    /// The client's address.
    IpAddress = 2,
    /// What `X-Forwarded-For` says.
    ForwardedIpAddress = 3,
    /// The key that the client gives.
    ClientKey = 4,
    /// The query's form.
    NormalizedQueryHash = 7,
}

impl QuotaKey {
    /// All of them.
    pub const EVERY: [Self; 5] =
        [Self::UserName, Self::IpAddress, Self::ForwardedIpAddress, Self::ClientKey, Self::NormalizedQueryHash];

    /// The name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserName => "user_name",
            Self::IpAddress => "ip_address",
            Self::ForwardedIpAddress => "forwarded_ip_address",
            Self::ClientKey => "client_key",
            Self::NormalizedQueryHash => "normalized_query_hash",
        }
    }
}

/// What a quota counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Resource {
    Queries,
    QuerySelects,
    QueryInserts,
    Errors,
    ResultRows,
    ResultBytes,
    ReadRows,
    ReadBytes,
    /// Nanoseconds; seconds in SQL.
    ExecutionTime,
    WrittenBytes,
    FailedSequentialAuthentications,
    QueriesPerNormalizedHash,
}

impl Resource {
    /// All of them, in the order of ClickHouse's tables.
    pub const EVERY: [Self; 12] = [
        Self::Queries,
        Self::QuerySelects,
        Self::QueryInserts,
        Self::Errors,
        Self::ResultRows,
        Self::ResultBytes,
        Self::ReadRows,
        Self::ReadBytes,
        Self::ExecutionTime,
        Self::WrittenBytes,
        Self::FailedSequentialAuthentications,
        Self::QueriesPerNormalizedHash,
    ];

    /// The name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queries => "queries",
            Self::QuerySelects => "query_selects",
            Self::QueryInserts => "query_inserts",
            Self::Errors => "errors",
            Self::ResultRows => "result_rows",
            Self::ResultBytes => "result_bytes",
            Self::ReadRows => "read_rows",
            Self::ReadBytes => "read_bytes",
            Self::ExecutionTime => "execution_time",
            Self::WrittenBytes => "written_bytes",
            Self::FailedSequentialAuthentications => "failed_sequential_authentications",
            Self::QueriesPerNormalizedHash => "queries_per_normalized_hash",
        }
    }

    /// The resource of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::EVERY.into_iter().find(|resource| resource.name() == name)
    }
}

/// What may be used in an interval.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuotaInterval {
    /// Its length.
    pub seconds: u64,
    /// Whether it begins at a random moment.
    pub is_randomized: bool,
    /// How much of each; what is not here is counted only.
    pub max: BTreeMap<Resource, u64>,
}

/// How much somebody may use.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Quota {
    /// What it counts apart.
    pub keys: Vec<QuotaKey>,
    /// The bits of an IPv4 address that count.
    pub ipv4_prefix_bits: Option<u8>,
    /// The bits of an IPv6 address that count.
    pub ipv6_prefix_bits: Option<u8>,
    /// Its intervals, by length.
    pub intervals: Vec<QuotaInterval>,
    /// Who has it.
    pub to: Names,
}

/// Which rows of a table somebody sees.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RowPolicy {
    /// The name without its table.
    pub short_name: String,
    /// The database.
    pub database: String,
    /// The table; `*` is every one of the database.
    pub table: String,
    /// The condition that rows must meet, in SQL; none is no condition.
    pub filter: Option<Arc<str>>,
    /// Whether it must be met besides others, rather than one of several.
    pub is_restrictive: bool,
    /// For whom it is.
    pub to: Names,
}

/// One of them.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
#[expect(clippy::large_enum_variant, reason = "most are users, and they are kept once")]
pub enum Definition {
    User(User),
    Role(Role),
    SettingsProfile(SettingsProfile),
    Quota(Quota),
    RowPolicy(RowPolicy),
}

impl Definition {
    /// What kind it is.
    pub fn kind(&self) -> AccessEntityKind {
        match self {
            Self::User(_) => AccessEntityKind::User,
            Self::Role(_) => AccessEntityKind::Role,
            Self::SettingsProfile(_) => AccessEntityKind::SettingsProfile,
            Self::Quota(_) => AccessEntityKind::Quota,
            Self::RowPolicy(_) => AccessEntityKind::RowPolicy,
        }
    }

    /// The users and roles that it names, with who has the roles or the profile.
    fn for_each_names(&mut self, visit: &mut dyn FnMut(&mut Names)) {
        match self {
            Self::User(user) => {
                visit(&mut user.default_roles);
                visit(&mut user.grantees);
            }
            Self::Role(_) => {}
            Self::SettingsProfile(profile) => visit(&mut profile.to),
            Self::Quota(quota) => visit(&mut quota.to),
            Self::RowPolicy(policy) => visit(&mut policy.to),
        }
    }

    /// Gives what is named here another name, or takes it away.
    pub fn rename_mentioned(&mut self, kind: AccessEntityKind, from: &str, to: Option<&str>) {
        match kind {
            AccessEntityKind::User | AccessEntityKind::Role => {
                self.for_each_names(&mut |names| names.rename(from, to));
                if kind == AccessEntityKind::Role
                    && let Self::User(User { roles, .. }) | Self::Role(Role { roles, .. }) = self
                    && let Some(with_admin_option) = roles.remove(from)
                    && let Some(to) = to
                {
                    roles.insert(to.to_owned(), with_admin_option);
                }
            }
            AccessEntityKind::SettingsProfile => {
                if let Self::User(User { settings, .. })
                | Self::Role(Role { settings, .. })
                | Self::SettingsProfile(SettingsProfile { settings, .. }) = self
                {
                    settings.retain_mut(|setting| match (setting, to) {
                        (AccessSetting::Profile(name), Some(to)) if name == from => {
                            to.clone_into(name);
                            true
                        }
                        (AccessSetting::Profile(name), None) => name != from,
                        _ => true,
                    });
                }
            }
            _ => {}
        }
    }
}

/// A definition with its name, its identity, and where it is kept.
#[derive(Clone, Debug)]
pub struct Entity {
    /// What stays when the name changes.
    pub id: Uuid,
    /// The name; of a row policy with its table: `p ON d.t`.
    pub name: Arc<str>,
    /// Where it is kept.
    pub storage: Storage,
    /// What it is.
    pub definition: Definition,
}

/// An identity that stays the same as long as the name does, for what comes from files, which hold none.
pub fn id_of_name(kind: AccessEntityKind, name: &str) -> Uuid {
    use sha2::{Digest, Sha256};
    let kind = match kind {
        AccessEntityKind::SettingsProfile => "profile".to_owned(),
        kind => kind.keywords().to_ascii_lowercase(),
    };
    let hash = Sha256::new().chain_update(kind).chain_update([0]).chain_update(name).finalize();
    let bytes = hash.get(..16).and_then(|bytes| bytes.try_into().ok()).unwrap_or_default();
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}
