//! Between SQL and entities: what CREATE and ALTER say as a definition, and a definition as the CREATE that would make it again.

use std::sync::Arc;

use chrono::{NaiveDate, NaiveDateTime, TimeZone};
use squall_sql::ast::{
    AccessAction, AccessDefinition, AccessEntity, AccessEntityName, AccessSetting, AccessSettings,
    AuthenticationArgument, AuthenticationMethod, CreateMode, Expression, ExpressionKind, Identifier, Literal, RoleSet,
    RowPolicyDefinition, SettingsProfileDefinition, TableName, UserDefinition,
};
use squall_types::{Error, ErrorCode, Result};

use super::authentication::{Authentication, Method, from_hex, to_hex};
use super::certificate::CertificateNames;
use super::entity::{Definition, Names, Quota, Role, RowPolicy, SettingsProfile, User};
use super::network::Networks;
use super::quota_definition::{alter_quota, quota_to_sql};

/// What a definition needs to know of who makes it, and where.
#[derive(Debug)]
pub struct Maker<'a> {
    /// `CURRENT_USER`.
    pub user: &'a str,
    /// The zone of dates.
    pub zone: chrono_tz::Tz,
    /// `bcrypt_workfactor`.
    pub bcrypt_work: u32,
    /// Whether a password may be kept as it is, as ClickHouse's own files have them.
    pub allows_no_password: bool,
}

pub(super) fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, message)
}

/// The name of a user or role.
pub fn name_of(name: &AccessEntityName) -> String {
    match &name.host {
        Some(host) if host != "%" => format!("{}@{host}", name.name.value),
        _ => name.name.value.clone(),
    }
}

/// A constant as the text that settings are read from.
pub fn literal_text(literal: &Literal) -> Result<String> {
    literal.setting_text().ok_or_else(|| bad("The value of a setting must be a number, a string or a map"))
}

impl Names {
    /// What SQL says.
    pub fn of_sql(set: &RoleSet, user: &str) -> Self {
        let names = |names: &[AccessEntityName], with_user: bool| {
            names.iter().map(name_of).chain(with_user.then(|| user.to_owned())).collect()
        };
        Self {
            all: set.all,
            names: names(&set.names, set.current_user),
            except: names(&set.except, set.except_current_user),
        }
    }

    fn to_sql(&self) -> RoleSet {
        let names = |names: &std::collections::BTreeSet<String>| names.iter().map(|name| entity_name(name)).collect();
        RoleSet { all: self.all, names: names(&self.names), except: names(&self.except), ..RoleSet::default() }
    }

    pub(super) fn to_sql_unless_none(&self) -> Option<RoleSet> {
        (*self != Self::default()).then(|| self.to_sql())
    }
}

/// A name in SQL.
pub fn entity_name(name: &str) -> AccessEntityName {
    AccessEntityName { name: Identifier::new(name), host: None, table: None }
}

impl Definition {
    /// A new entity of what SQL says.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS`, `NOT_IMPLEMENTED` for ways of authentication that are not here.
    pub fn new(sql: &AccessDefinition, name: &AccessEntityName, database: &str, maker: &Maker<'_>) -> Result<Self> {
        let mut new = match sql {
            AccessDefinition::User(_) => Self::User(User {
                networks: Networks::any(),
                default_roles: Names::all(),
                grantees: Names::all(),
                ..User::default()
            }),
            AccessDefinition::Role(_) => Self::Role(Role::default()),
            AccessDefinition::Quota(_) => Self::Quota(Quota::default()),
            AccessDefinition::RowPolicy(_) => {
                let table = name.table.as_ref().ok_or_else(|| bad("A row policy needs a table"))?;
                Self::RowPolicy(RowPolicy {
                    short_name: name.name.value.clone(),
                    database: table.database.as_ref().map_or(database, |database| &database.value).to_owned(),
                    table: table.table.value.clone(),
                    ..RowPolicy::default()
                })
            }
            AccessDefinition::SettingsProfile(_) => Self::SettingsProfile(SettingsProfile::default()),
            AccessDefinition::MaskingPolicy(_) => return Err(Error::not_implemented("MASKING POLICY")),
        };
        if let (Self::User(user), AccessDefinition::User(sql)) = (&mut new, sql)
            && sql.authentication.is_empty()
        {
            // As in ClickHouse, a user of whom nothing is said comes in without a password.
            user.methods.push(Authentication::NoPassword.into());
        }
        new.alter(sql, maker, true)?;
        Ok(new)
    }

    /// Changes an entity as ALTER says; `is_new` where it was just made.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn alter(&mut self, sql: &AccessDefinition, maker: &Maker<'_>, is_new: bool) -> Result<()> {
        match (self, sql) {
            (Self::User(user), AccessDefinition::User(sql)) => alter_user(user, sql, maker, is_new),
            (Self::Role(role), AccessDefinition::Role(settings)) => {
                alter_settings(&mut role.settings, settings.as_ref());
                Ok(())
            }
            (Self::SettingsProfile(profile), AccessDefinition::SettingsProfile(sql)) => {
                alter_settings(&mut profile.settings, sql.settings.as_ref());
                if let Some(to) = &sql.to {
                    profile.to = Names::of_sql(to, maker.user);
                }
                Ok(())
            }
            (Self::Quota(quota), AccessDefinition::Quota(sql)) => alter_quota(quota, sql, maker),
            (Self::RowPolicy(policy), AccessDefinition::RowPolicy(sql)) => {
                if let Some(is_restrictive) = sql.restrictive {
                    policy.is_restrictive = is_restrictive;
                }
                if let Some(using) = &sql.using {
                    policy.filter = using.as_ref().map(|filter| squall_sql::format_expression(filter).into());
                }
                if let Some(to) = &sql.to {
                    policy.to = Names::of_sql(to, maker.user);
                }
                Ok(())
            }
            _ => Err(Error::logical("an entity of another kind")),
        }
    }

    /// The statement that would make it; `with_secrets`: with the hashes of passwords.
    pub fn create_statement(&self, name: &str, with_secrets: bool) -> AccessEntity {
        let mut names = vec![entity_name(name)];
        let definition = match self {
            Self::User(user) => AccessDefinition::User(Box::new(user_to_sql(user, with_secrets))),
            Self::Role(role) => AccessDefinition::Role(settings_to_sql(&role.settings)),
            Self::SettingsProfile(profile) => AccessDefinition::SettingsProfile(SettingsProfileDefinition {
                settings: settings_to_sql(&profile.settings),
                to: profile.to.to_sql_unless_none(),
            }),
            Self::Quota(quota) => AccessDefinition::Quota(quota_to_sql(quota)),
            Self::RowPolicy(policy) => {
                let mut table = TableName::new(&*policy.table);
                table.database = Some(Identifier::new(&*policy.database));
                names = vec![AccessEntityName {
                    name: Identifier::new(&*policy.short_name),
                    host: None,
                    table: Some(table),
                }];
                let using = policy.filter.as_ref().and_then(|filter| {
                    squall_sql::parse_expression(&**filter, &squall_sql::ParserLimits::default()).ok()
                });
                AccessDefinition::RowPolicy(RowPolicyDefinition {
                    restrictive: policy.is_restrictive.then_some(true),
                    for_select: true,
                    using: using.map(Some),
                    to: policy.to.to_sql_unless_none(),
                })
            }
        };
        AccessEntity {
            action: AccessAction::Create(CreateMode::Create),
            names,
            new_name: None,
            cluster: None,
            storage: None,
            definition,
        }
    }
}

fn alter_user(user: &mut User, sql: &UserDefinition, maker: &Maker<'_>, is_new: bool) -> Result<()> {
    if !sql.authentication.is_empty() {
        let mut methods =
            sql.authentication.iter().map(|method| read_method(method, maker)).collect::<Result<Vec<_>>>()?;
        if sql.add_authentication {
            methods.splice(
                0..0,
                user.methods.iter().filter(|method| method.authentication != Authentication::NoPassword).cloned(),
            );
        }
        let is_open = methods.iter().any(|method| method.authentication == Authentication::NoPassword);
        if is_open && methods.len() > 1 {
            return Err(bad("Authentication method 'no_password' cannot co-exist with other authentication methods"));
        }
        if is_open && !maker.allows_no_password {
            return Err(bad(
                "Authentication type no_password is not allowed, check the setting allow_no_password in the server configuration",
            ));
        }
        user.methods = methods;
    } else if is_new && !maker.allows_no_password {
        return Err(bad(
            "Authentication type no_password is not allowed, check the setting allow_no_password in the server configuration",
        ));
    }
    if sql.reset_authentication
        && let Some(last) = user.methods.pop()
    {
        user.methods = vec![last];
    }
    if let Some(until) = &sql.valid_until {
        let until = read_moment(until, maker.zone)?;
        user.methods.iter_mut().for_each(|method| method.valid_until = until);
    }
    if let Some(hosts) = &sql.hosts {
        user.networks = Networks::of_sql(hosts)?;
    }
    if let Some(hosts) = &sql.add_hosts {
        user.networks.add(&Networks::of_sql(hosts)?);
    }
    if let Some(hosts) = &sql.drop_hosts {
        user.networks.remove(&Networks::of_sql(hosts)?);
    }
    if let Some(roles) = &sql.default_roles {
        user.default_roles = Names::of_sql(roles, maker.user);
    }
    if let Some(database) = &sql.default_database {
        user.default_database = database.as_ref().map(|database| database.value.clone());
    }
    if let Some(grantees) = &sql.grantees {
        user.grantees = Names::of_sql(grantees, maker.user);
    }
    alter_settings(&mut user.settings, sql.settings.as_ref());
    Ok(())
}

fn read_method(sql: &AuthenticationMethod, maker: &Maker<'_>) -> Result<Method> {
    let argument = |keyword: &str| -> Result<Option<String>> {
        let found = sql.arguments.iter().find(|argument| argument.keyword == keyword);
        found.map(|argument| literal_text(&argument.value)).transpose()
    };
    let secret = || argument("BY")?.ok_or_else(|| bad("A password or hash is expected after BY"));
    let salt = || Ok::<_, Error>(argument("SALT")?.unwrap_or_default());
    let digits = |what: &str| bad(format!("{what} is not the hexadecimal digits of such a hash"));
    let name = sql.method.as_deref().unwrap_or("sha256_password");
    let authentication = match name {
        "no_password" => Authentication::NoPassword,
        // A password that was given as it is, is not kept as it is.
        "plaintext_password" | "sha256_password" => Authentication::of_password_sha256(&secret()?),
        "sha256_hash" => {
            let hash = from_hex(&secret()?).ok_or_else(|| digits("The SHA-256"))?;
            Authentication::Sha256(hash, salt()?)
        }
        "double_sha1_password" => Authentication::of_password_double_sha1(&secret()?),
        "double_sha1_hash" => {
            Authentication::DoubleSha1(from_hex(&secret()?).ok_or_else(|| digits("The doubled SHA-1"))?)
        }
        "bcrypt_password" => Authentication::of_password_bcrypt(&secret()?, maker.bcrypt_work)
            .ok_or_else(|| bad("bcrypt does not support passwords with a length of more than 72 bytes"))?,
        "bcrypt_hash" => {
            let hash = secret()?;
            if hash.len() != 60 || !hash.starts_with("$2") {
                return Err(bad("Could not parse the bcrypt hash"));
            }
            Authentication::Bcrypt(hash)
        }
        "scram_sha256_password" => Authentication::of_password_scram(&secret()?),
        "scram_sha256_hash" => {
            let hash = from_hex(&secret()?).ok_or_else(|| digits("The hash of SCRAM-SHA-256"))?;
            Authentication::ScramSha256(hash, salt()?)
        }
        "ssl_certificate" => {
            let of = |keyword: &str| -> Result<std::collections::BTreeSet<String>> {
                let found = sql.arguments.iter().filter(|argument| argument.keyword == keyword);
                found.map(|argument| literal_text(&argument.value)).collect()
            };
            let names = CertificateNames { common_names: of("CN")?, alternative_names: of("SAN")? };
            if names.is_empty() {
                return Err(bad("ssl_certificate needs a CN or a SAN"));
            }
            Authentication::Certificate(names)
        }
        other => return Err(Error::not_implemented(format!("Authentication by {other}"))),
    };
    let mut method = Method::from(authentication);
    if let Some(until) = &sql.valid_until {
        method.valid_until = read_moment(until, maker.zone)?;
    }
    Ok(method)
}

/// Seconds since 1970 of `VALID UNTIL`; none is never.
fn read_moment(expression: &Expression, zone: chrono_tz::Tz) -> Result<Option<i64>> {
    let not_one = || bad("VALID UNTIL needs a date and time as a string, or 'infinity'");
    let ExpressionKind::Literal(literal) = &expression.kind else { return Err(not_one()) };
    let text = literal_text(literal)?;
    let text = text.trim();
    if text == "infinity" || text.is_empty() {
        return Ok(None);
    }
    if let Ok(seconds) = text.parse() {
        return Ok(Some(seconds));
    }
    // `2027-01-01T12:00:00`.
    let text = match text.split_once('T') {
        Some((date, time)) if date.len() == 10 => format!("{date} {time}"),
        _ => text.to_owned(),
    };
    let (text, zone) = match text.strip_suffix('Z').or_else(|| text.strip_suffix(" UTC")) {
        Some(text) => (text.to_owned(), chrono_tz::UTC),
        None => (text, zone),
    };
    let local = NaiveDateTime::parse_from_str(&text, "%Y-%m-%d %H:%M:%S")
        .or_else(|_| NaiveDateTime::parse_from_str(&text, "%Y-%m-%d %H:%M"))
        .or_else(|_| NaiveDate::parse_from_str(&text, "%Y-%m-%d").map(|date| date.and_time(Default::default())))
        .map_err(|_| not_one())?;
    let moment = zone.from_local_datetime(&local).earliest().ok_or_else(not_one)?;
    Ok(Some(moment.timestamp()))
}

/// Changes settings as CREATE's `SETTINGS` or ALTER's clauses say.
pub fn alter_settings(settings: &mut Vec<AccessSetting>, sql: Option<&AccessSettings>) {
    let Some(sql) = sql else { return };
    let is_profile = |setting: &AccessSetting| matches!(setting, AccessSetting::Profile(_));
    if let Some(replace) = &sql.replace {
        settings.clone_from(replace);
    }
    if sql.drop_all_settings {
        settings.retain(is_profile);
    }
    if sql.drop_all_profiles {
        settings.retain(|setting| !is_profile(setting));
    }
    let is_same = |left: &AccessSetting, right: &AccessSetting| match (left, right) {
        (AccessSetting::Profile(left), AccessSetting::Profile(right)) => left == right,
        (AccessSetting::Setting { name: left, .. }, AccessSetting::Setting { name: right, .. }) => left == right,
        _ => false,
    };
    settings.retain(|known| !sql.drop.iter().any(|dropped| is_same(known, dropped)));
    for added in &sql.add {
        settings.retain(|known| !is_same(known, added));
        settings.push(added.clone());
    }
    for modified in &sql.modify {
        match settings.iter_mut().find(|known| is_same(known, modified)) {
            Some(known) => modify_setting(known, modified),
            None => settings.push(modified.clone()),
        }
    }
}

/// What is said replaces what was; the rest stays.
fn modify_setting(known: &mut AccessSetting, modified: &AccessSetting) {
    if let (
        AccessSetting::Setting { value, min, max, disallowed, writability, .. },
        AccessSetting::Setting { value: v, min: a, max: b, disallowed: d, writability: w, .. },
    ) = (known, modified)
    {
        v.clone_into_if_some(value);
        a.clone_into_if_some(min);
        b.clone_into_if_some(max);
        w.clone_into_if_some(writability);
        if !d.is_empty() {
            disallowed.clone_from(d);
        }
    }
}

trait CloneIntoIfSome {
    fn clone_into_if_some(&self, other: &mut Self);
}

impl<T: Clone> CloneIntoIfSome for Option<T> {
    fn clone_into_if_some(&self, other: &mut Self) {
        if self.is_some() {
            other.clone_from(self);
        }
    }
}

fn settings_to_sql(settings: &[AccessSetting]) -> Option<AccessSettings> {
    let replace = Some(settings.to_vec()).filter(|settings| !settings.is_empty())?;
    Some(AccessSettings { replace: Some(replace), ..AccessSettings::default() })
}

fn user_to_sql(user: &User, with_secrets: bool) -> UserDefinition {
    let text = |keyword: &str, value: &str| AuthenticationArgument {
        keyword: keyword.to_owned(),
        value: Literal::string(value.as_bytes()),
    };
    let method = |method: &Method| {
        let by = |hash: &[u8]| vec![text("BY", &to_hex(hash))];
        let (name, arguments) = match &method.authentication {
            Authentication::Sha256(hash, salt) if with_secrets => {
                let mut arguments = by(hash);
                if !salt.is_empty() {
                    arguments.push(text("SALT", salt));
                }
                ("sha256_hash", arguments)
            }
            Authentication::DoubleSha1(hash) if with_secrets => ("double_sha1_hash", by(hash)),
            Authentication::Bcrypt(hash) if with_secrets => ("bcrypt_hash", vec![text("BY", hash)]),
            Authentication::ScramSha256(hash, salt) if with_secrets => {
                let mut arguments = by(hash);
                arguments.push(text("SALT", salt));
                ("scram_sha256_hash", arguments)
            }
            Authentication::Certificate(names) => {
                let of = |keyword: &'static str, names: &std::collections::BTreeSet<String>| {
                    names.iter().map(|name| text(keyword, name)).collect::<Vec<_>>()
                };
                let mut arguments = of("CN", &names.common_names);
                arguments.extend(of("SAN", &names.alternative_names));
                ("ssl_certificate", arguments)
            }
            other => (other.type_name(), Vec::new()),
        };
        AuthenticationMethod {
            method: Some(name.to_owned()),
            arguments,
            valid_until: method.valid_until.map(|until| constant(&shown_moment(until))),
        }
    };
    UserDefinition {
        authentication: user.methods.iter().map(method).collect(),
        hosts: user.networks.to_sql(),
        default_roles: (user.default_roles != Names::all()).then(|| user.default_roles.to_sql()),
        default_database: user.default_database.as_ref().map(|database| Some(Identifier::new(&**database))),
        grantees: (user.grantees != Names::all()).then(|| user.grantees.to_sql()),
        settings: settings_to_sql(&user.settings),
        ..UserDefinition::default()
    }
}

/// A moment so that it is read as the same in every zone.
fn shown_moment(seconds: i64) -> String {
    match chrono::DateTime::from_timestamp(seconds, 0) {
        Some(moment) => moment.format("%Y-%m-%d %H:%M:%S UTC").to_string(),
        None => seconds.to_string(),
    }
}

fn constant(text: &str) -> Expression {
    Expression::literal(Literal::string(text))
}

/// The full name of a row policy.
pub fn policy_name(short_name: &str, database: &str, table: &str) -> Arc<str> {
    let table = if table == "*" { "*".to_owned() } else { crate::system::quote(table) };
    format!("{} ON {}.{table}", crate::system::quote(short_name), crate::system::quote(database)).into()
}
