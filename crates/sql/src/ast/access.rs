//! Access control: users, roles, quotas, row policies, settings profiles, GRANT and REVOKE.

use super::{CreateMode, Expression, Identifier, Literal, OnCluster, TableName};

/// Kinds of access entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessEntityKind {
    /// `USER`.
    User,
    /// `ROLE`.
    Role,
    /// `QUOTA`.
    Quota,
    /// `ROW POLICY`.
    RowPolicy,
    /// `MASKING POLICY`.
    MaskingPolicy,
    /// `SETTINGS PROFILE`.
    SettingsProfile,
}

/// The name of an access entity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AccessEntityName {
    /// The name, for a row policy its short name.
    pub name: Identifier,
    /// `@'host'` of a user.
    pub host: Option<String>,
    /// `ON table` of a row policy; a table `*` stands for all of the database.
    pub table: Option<TableName>,
}

/// A set of users and roles: `a, b`, `NONE`, `ALL`, `ALL EXCEPT a`, `CURRENT_USER`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RoleSet {
    /// `ALL`, `ANY`.
    pub all: bool,
    /// The names.
    pub names: Vec<AccessEntityName>,
    /// `CURRENT_USER`.
    pub current_user: bool,
    /// `EXCEPT`, of `ALL`.
    pub except: Vec<AccessEntityName>,
    /// `EXCEPT CURRENT_USER`.
    pub except_current_user: bool,
}

/// Those to whom something is granted.
pub type Grantees = RoleSet;

/// CREATE, ALTER or ATTACH of an access entity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AccessEntity {
    /// CREATE or ALTER.
    pub action: AccessAction,
    /// The entities; several may be made alike.
    pub names: Vec<AccessEntityName>,
    /// `RENAME TO`.
    pub new_name: Option<String>,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// `IN storage`.
    pub storage: Option<Identifier>,
    /// What is defined.
    pub definition: AccessDefinition,
}

/// What is done to the entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessAction {
    /// `CREATE …`.
    Create(CreateMode),
    /// `ALTER …`.
    Alter {
        /// `IF EXISTS`.
        if_exists: bool,
    },
    /// `ATTACH …`, of an entity's stored definition.
    Attach,
}

/// The clauses of each kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AccessDefinition {
    /// A user.
    User(Box<UserDefinition>),
    /// A role.
    Role(Option<AccessSettings>),
    /// A quota.
    Quota(QuotaDefinition),
    /// A row policy.
    RowPolicy(RowPolicyDefinition),
    /// A masking policy.
    MaskingPolicy(MaskingPolicyDefinition),
    /// A settings profile.
    SettingsProfile(SettingsProfileDefinition),
}

/// The clauses of CREATE and ALTER USER.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct UserDefinition {
    /// `IDENTIFIED …`, `NOT IDENTIFIED`; empty when not written.
    pub authentication: Vec<AuthenticationMethod>,
    /// `ADD IDENTIFIED …`, of ALTER: keep the old methods.
    pub add_authentication: bool,
    /// `RESET AUTHENTICATION METHODS TO NEW`.
    pub reset_authentication: bool,
    /// `HOST …`.
    pub hosts: Option<Vec<AllowedHost>>,
    /// `ADD HOST …`, of ALTER.
    pub add_hosts: Option<Vec<AllowedHost>>,
    /// `DROP HOST …`, of ALTER.
    pub drop_hosts: Option<Vec<AllowedHost>>,
    /// `VALID UNTIL`, for all methods.
    pub valid_until: Option<Expression>,
    /// `DEFAULT ROLE`.
    pub default_roles: Option<RoleSet>,
    /// `DEFAULT DATABASE name`; the inner none is `NONE`.
    pub default_database: Option<Option<Identifier>>,
    /// `GRANTEES`.
    pub grantees: Option<RoleSet>,
    /// `SETTINGS` and their ALTER forms.
    pub settings: Option<AccessSettings>,
}

/// One way to prove who one is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AuthenticationMethod {
    /// Its name as ClickHouse keeps it: `plaintext_password`, `sha256_hash`, `no_password`, `ldap`, …; none for a bare `BY`.
    pub method: Option<String>,
    /// What belongs to it: the password or hash, `SERVER`, `REALM`, `SALT`, names of certificates, keys.
    pub arguments: Vec<AuthenticationArgument>,
    /// `VALID UNTIL`.
    pub valid_until: Option<Expression>,
}

/// One part of an authentication method.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AuthenticationArgument {
    /// The keyword before it, in upper case: `BY`, `SALT`, `SERVER`, `REALM`, `CN`, `SAN`, `KEY`, `TYPE`, `SCHEME`.
    pub keyword: String,
    /// The value.
    pub value: Literal,
}

/// Where a user may connect from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AllowedHost {
    /// `ANY`.
    Any,
    /// `NONE`.
    None,
    /// `LOCAL`.
    Local,
    /// `NAME 'host'`.
    Name(String),
    /// `REGEXP 'pattern'`.
    Regexp(String),
    /// `IP 'address'`.
    Ip(String),
    /// `LIKE 'pattern'`.
    Like(String),
}

/// `SETTINGS …` of an access entity, with what ALTER may do to them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct AccessSettings {
    /// Replaces all (`SETTINGS …`); empty for `SETTINGS NONE`. None when only the clauses below are written.
    pub replace: Option<Vec<AccessSetting>>,
    /// `DROP ALL SETTINGS`.
    pub drop_all_settings: bool,
    /// `DROP ALL PROFILES`.
    pub drop_all_profiles: bool,
    /// `ADD SETTINGS`.
    pub add: Vec<AccessSetting>,
    /// `MODIFY SETTINGS`.
    pub modify: Vec<AccessSetting>,
    /// `DROP SETTINGS`, `DROP PROFILES`: names alone.
    pub drop: Vec<AccessSetting>,
}

/// `name [= value] [MIN a] [MAX b] [CONST | WRITABLE | CHANGEABLE_IN_READONLY]`, or `PROFILE name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AccessSetting {
    /// One setting.
    Setting {
        /// Its name.
        name: String,
        /// Its value.
        value: Option<Literal>,
        /// `MIN`.
        min: Option<Literal>,
        /// `MAX`.
        max: Option<Literal>,
        /// `DISALLOWED a, b`.
        disallowed: Vec<Literal>,
        /// Who may change it.
        writability: Option<Writability>,
    },
    /// `PROFILE name`, `INHERIT name`.
    Profile(String),
}

/// Who may change a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Writability {
    /// `WRITABLE`.
    Writable,
    /// `CONST`, `READONLY`.
    Const,
    /// `CHANGEABLE_IN_READONLY`.
    ChangeableInReadonly,
}

/// The clauses of CREATE and ALTER SETTINGS PROFILE.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SettingsProfileDefinition {
    /// `SETTINGS`.
    pub settings: Option<AccessSettings>,
    /// `TO`.
    pub to: Option<RoleSet>,
}

/// The clauses of CREATE and ALTER QUOTA.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct QuotaDefinition {
    /// `KEYED BY a, b`; an empty list is `NOT KEYED`.
    pub keys: Option<Vec<String>>,
    /// `IPV4_PREFIX_BITS`.
    pub ipv4_prefix_bits: Option<u64>,
    /// `IPV6_PREFIX_BITS`.
    pub ipv6_prefix_bits: Option<u64>,
    /// `FOR INTERVAL …`.
    pub limits: Vec<QuotaLimits>,
    /// `TO`.
    pub to: Option<RoleSet>,
}

/// `FOR [RANDOMIZED] INTERVAL n unit MAX queries = 1, … | NO LIMITS | TRACKING ONLY`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QuotaLimits {
    /// `RANDOMIZED`.
    pub randomized: bool,
    /// The interval.
    pub interval: super::TimeUnitAmount,
    /// What is limited.
    pub kind: QuotaLimitKind,
}

/// What a quota limits in an interval.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QuotaLimitKind {
    /// `MAX name = value`.
    Max(Vec<(String, Literal)>),
    /// `NO LIMITS`.
    NoLimits,
    /// `TRACKING ONLY`.
    TrackingOnly,
}

/// The clauses of CREATE and ALTER ROW POLICY.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct RowPolicyDefinition {
    /// `AS RESTRICTIVE` or `PERMISSIVE`.
    pub restrictive: Option<bool>,
    /// `FOR SELECT`, the only statement that a policy can be for; also when `USING` is written alone.
    pub for_select: bool,
    /// `USING expression`; the inner none is `NONE`.
    pub using: Option<Option<Expression>>,
    /// `TO`.
    pub to: Option<RoleSet>,
}

/// The clauses of CREATE and ALTER MASKING POLICY.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct MaskingPolicyDefinition {
    /// `UPDATE column = expression`.
    pub assignments: Vec<super::Assignment>,
    /// `WHERE`.
    pub filter: Option<Expression>,
    /// `TO`.
    pub to: Option<RoleSet>,
    /// `PRIORITY`.
    pub priority: Option<i64>,
}

/// `DROP USER | ROLE | … [IF EXISTS] a, b [ON CLUSTER c] [FROM storage]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DropAccessEntity {
    /// What kind.
    pub kind: AccessEntityKind,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// Which.
    pub names: Vec<AccessEntityName>,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// `FROM storage`.
    pub storage: Option<Identifier>,
}

/// `MOVE USER | ROLE | … a, b TO storage [ON CLUSTER c]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MoveAccessEntity {
    /// What kind.
    pub kind: AccessEntityKind,
    /// Which.
    pub names: Vec<AccessEntityName>,
    /// The storage.
    pub to: Identifier,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
}

/// `GRANT` and `REVOKE`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Grant {
    /// `REVOKE` instead of `GRANT`.
    pub revoke: bool,
    /// `ON CLUSTER`.
    pub cluster: OnCluster,
    /// What is granted.
    pub granted: Granted,
    /// `GRANT … WITH GRANT OPTION`, `REVOKE GRANT OPTION FOR …`.
    pub grant_option: bool,
    /// `GRANT role WITH ADMIN OPTION`, `REVOKE ADMIN OPTION FOR role`.
    pub admin_option: bool,
    /// `WITH REPLACE OPTION`.
    pub replace_option: bool,
    /// `TO`, `FROM`.
    pub grantees: Grantees,
}

/// What is granted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Granted {
    /// Privileges.
    Privileges(Vec<PrivilegeGrant>),
    /// Roles.
    Roles(RoleSet),
    /// `CURRENT GRANTS [(privileges)]`.
    CurrentGrants(Vec<PrivilegeGrant>),
}

/// `SELECT(a, b), INSERT ON db.table`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PrivilegeGrant {
    /// The privileges.
    pub privileges: Vec<Privilege>,
    /// `ON …`.
    pub target: PrivilegeTarget,
}

/// One privilege, with its columns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Privilege {
    /// Its words in upper case, one space between.
    pub name: String,
    /// The columns in parentheses.
    pub columns: Vec<Identifier>,
}

/// What a privilege is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PrivilegeTarget {
    /// `*.*`.
    Everything,
    /// `database.*`, `database*.*` or `*` (no database: the current one).
    Database {
        /// The database; none for the current one.
        database: Option<String>,
        /// A `*` follows the name: every database that begins so.
        prefix: bool,
    },
    /// `[database.]table[*]`; for privileges about users, collections, sources and engines, the name of one.
    Table {
        /// The database; none for the current one.
        database: Option<String>,
        /// The table.
        table: String,
        /// A `*` follows the name: every table that begins so.
        prefix: bool,
    },
}
