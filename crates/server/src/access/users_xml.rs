//! The entities of configuration files: `users`, `roles`, `profiles`, `quotas`. What SQL makes is the same, in another storage.

mod user;

use std::collections::BTreeMap;

use squall_sql::ast::{AccessSetting, Literal, Statement, Writability};
use squall_sql::{ParserLimits, parse, parse_expression};
use squall_types::settings::foreign;
use squall_types::{ErrorCode, Result, Settings};

use super::definition::policy_name;
use super::entities::Entities;
use super::entity::{
    Definition, Entity, Names, Quota, QuotaInterval, QuotaKey, Resource, Role, RowPolicy, SettingsProfile, Storage,
    id_of_name,
};
use super::quota_definition::limit_value;
use super::rights::Rights;
use super::store;
use crate::config::Element;
use user::{local_default, read_user};

/// How deep profiles may inherit.
const PROFILE_DEPTH_MAX: usize = 16;

/// Reads the entities inside `root`. Without a `users` element there is the user `default` without a password, from this machine only,
/// who may do everything.
///
/// # Errors
/// Where a value is not of its element's type, a profile is missing or inherits itself; with file and element.
pub fn read(root: &Element, default_profile: &str, warnings: &mut Vec<String>) -> Result<Entities> {
    let mut entities = Entities::default();
    let mut add = |name: &str, definition: Definition| {
        let id = id_of_name(definition.kind(), name);
        entities.put(Entity { id, name: name.into(), storage: Storage::UsersXml, definition });
    };
    let empty = Element::new("profiles", root.origin.clone());
    let profiles = root.child("profiles").unwrap_or(&empty);
    for element in &profiles.children {
        check_inheritance(profiles, element, 0)?;
        let settings = read_profile(element, warnings)?;
        add(&element.name, Definition::SettingsProfile(SettingsProfile { settings, to: Names::default() }));
    }
    // The default profile need not be written down.
    if profiles.child("default").is_none() {
        add("default", Definition::SettingsProfile(SettingsProfile::default()));
    }
    let has_profile = |name: &str| name == "default" || profiles.child(name).is_some();
    if !has_profile(default_profile) {
        return Err(root.error(format!("there is no profile '{default_profile}', the default_profile")));
    }
    for element in children(root, "roles") {
        add(&element.name, Definition::Role(read_role(element, warnings)?));
    }
    let mut quotas: BTreeMap<&str, Quota> = BTreeMap::new();
    for element in children(root, "quotas") {
        quotas.insert(&element.name, read_quota(element, warnings)?);
    }
    let mut policies = Vec::new();
    for element in children(root, "users") {
        let user = read_user(element, &has_profile, warnings)?;
        if let Some(quota) = user.quota.as_deref().and_then(|quota| quotas.get_mut(quota)) {
            quota.to.names.insert(element.name.clone());
        }
        if let Some(databases) = element.child("databases") {
            read_policies(databases, &element.name, &mut policies)?;
        }
        add(&element.name, Definition::User(user));
    }
    if root.child("users").is_none() {
        add("default", Definition::User(local_default()));
    }
    // As ClickHouse has it: a table that some are shown a part of by these files, is not shown to others by them.
    for policy in policies {
        let name = policy_name(&policy.short_name, &policy.database, &policy.table);
        add(&name, Definition::RowPolicy(policy));
    }
    for (name, quota) in quotas {
        add(name, Definition::Quota(quota));
    }
    Ok(entities)
}

fn children<'a>(root: &'a Element, name: &str) -> impl Iterator<Item = &'a Element> {
    root.child(name).into_iter().flat_map(|element| &element.children)
}

fn read_role(element: &Element, warnings: &mut Vec<String>) -> Result<Role> {
    let mut role = Role::default();
    for child in &element.children {
        match child.name.as_str() {
            "grants" => read_grants(child, &mut role.rights, &mut role.roles)?,
            "settings" => role.settings = read_profile(child, warnings)?,
            name => warnings.push(format!("{}: unknown element <{}/{name}> is ignored", child.origin, element.name)),
        }
    }
    Ok(role)
}

/// GRANTs and REVOKEs without the words that say to whom.
fn read_grants(element: &Element, rights: &mut Rights, roles: &mut BTreeMap<String, bool>) -> Result<()> {
    for query in element.children_named("query") {
        let text = query.trimmed();
        let is_revoke = text.get(..6).is_some_and(|verb| verb.eq_ignore_ascii_case("REVOKE"));
        let whole = format!("{text} {} somebody", if is_revoke { "FROM" } else { "TO" });
        match parse(whole.as_bytes(), &ParserLimits::default()) {
            Ok(Statement::Grant(grant)) => {
                store::apply(&grant, rights, roles).map_err(|error| query.error(error.message))?;
            }
            Ok(_) => return Err(query.error("is neither GRANT nor REVOKE")),
            Err(error) => return Err(query.error(error.message)),
        }
    }
    Ok(())
}

/// Row filters: `<databases><database><table><filter>…`.
fn read_policies(databases: &Element, user: &str, policies: &mut Vec<RowPolicy>) -> Result<()> {
    for database in &databases.children {
        let name_of = |element: &Element, kind: &str| match element.name.as_str() {
            name if name == kind => element.attribute("name").unwrap_or_default().to_owned(),
            name => name.to_owned(),
        };
        for table in &database.children {
            let Some(filter) = table.child("filter") else { continue };
            let text = filter.trimmed();
            parse_expression(text, &ParserLimits::default()).map_err(|error| filter.error(error.message))?;
            policies.push(RowPolicy {
                short_name: user.to_owned(),
                database: name_of(database, "database"),
                table: name_of(table, "table"),
                filter: Some(text.into()),
                is_restrictive: false,
                to: Names { names: [user.to_owned()].into(), ..Names::default() },
            });
        }
    }
    Ok(())
}

/// The settings of a profile, of a user or of a role, with their bounds.
fn read_profile(element: &Element, warnings: &mut Vec<String>) -> Result<Vec<AccessSetting>> {
    let mut settings: Vec<AccessSetting> = Vec::new();
    for child in &element.children {
        match child.name.as_str() {
            "profile" => settings.push(AccessSetting::Profile(child.trimmed().to_owned())),
            "constraints" => {
                for bounded in &child.children {
                    read_constraint(bounded, &mut settings, warnings);
                }
            }
            name => {
                // Profiles are shared with ClickHouse, which has more.
                match Settings::default().set(name, child.trimmed()) {
                    Ok(()) => {}
                    Err(error) if error.code == ErrorCode::UNKNOWN_SETTING => {
                        warnings
                            .push(format!("{}: setting <{name}> of a profile is not known and ignored", child.origin));
                        continue;
                    }
                    Err(error) if error.code == ErrorCode::SUPPORT_IS_DISABLED && foreign::find(name).is_some() => {
                        warnings.push(format!("{}: {}; it is ignored", child.origin, error.message));
                        continue;
                    }
                    Err(error) => return Err(child.error(error.message)),
                }
                settings.push(AccessSetting::Setting {
                    name: name.to_owned(),
                    value: Some(Literal::string(child.trimmed())),
                    min: None,
                    max: None,
                    disallowed: Vec::new(),
                    writability: None,
                });
            }
        }
    }
    Ok(settings)
}

fn read_constraint(element: &Element, settings: &mut Vec<AccessSetting>, warnings: &mut Vec<String>) {
    let (mut min, mut max, mut disallowed, mut writability) = (None, None, Vec::new(), None);
    for child in &element.children {
        let value = Literal::string(child.trimmed());
        match child.name.as_str() {
            "min" => min = Some(value),
            "max" => max = Some(value),
            "disallowed" => disallowed.push(value),
            "readonly" | "const" => writability = Some(Writability::Const),
            "writable" => writability = Some(Writability::Writable),
            "changeable_in_readonly" => writability = Some(Writability::ChangeableInReadonly),
            name => warnings.push(format!("{}: unknown element <{}/{name}> is ignored", child.origin, element.name)),
        }
    }
    let name = element.name.clone();
    settings.push(AccessSetting::Setting { name, value: None, min, max, disallowed, writability });
}

fn check_inheritance(profiles: &Element, element: &Element, depth: usize) -> Result<()> {
    if depth > PROFILE_DEPTH_MAX {
        return Err(element.error("inherits from itself, or too deep"));
    }
    for child in element.children_named("profile") {
        let name = child.trimmed();
        match profiles.child(name) {
            Some(base) => check_inheritance(profiles, base, depth + 1)?,
            None if name == "default" => {}
            None => return Err(child.error(format!("there is no profile '{name}'"))),
        }
    }
    Ok(())
}

fn read_quota(element: &Element, warnings: &mut Vec<String>) -> Result<Quota> {
    let mut quota = Quota { keys: vec![QuotaKey::UserName], ..Quota::default() };
    for child in &element.children {
        match child.name.as_str() {
            "interval" => quota.intervals.extend(read_interval(child, warnings)?),
            "keyed" => quota.keys = vec![QuotaKey::ClientKey, QuotaKey::UserName],
            "keyed_by_ip" => quota.keys = vec![QuotaKey::IpAddress],
            "keyed_by_forwarded_ip" => quota.keys = vec![QuotaKey::ForwardedIpAddress],
            "ipv4_prefix_bits" => quota.ipv4_prefix_bits = Some(child.value("a number of bits")?),
            "ipv6_prefix_bits" => quota.ipv6_prefix_bits = Some(child.value("a number of bits")?),
            name => warnings.push(format!("{}: unknown element <{}/{name}> is ignored", child.origin, element.name)),
        }
    }
    quota.intervals.sort_by_key(|interval| interval.seconds);
    Ok(quota)
}

fn read_interval(element: &Element, warnings: &mut Vec<String>) -> Result<Option<QuotaInterval>> {
    let mut interval = QuotaInterval { seconds: 0, is_randomized: false, max: BTreeMap::new() };
    for child in &element.children {
        match (child.name.as_str(), Resource::named(&child.name)) {
            ("duration", _) => interval.seconds = child.value("a number of seconds")?,
            ("randomize", _) => interval.is_randomized = child.boolean()?,
            (_, Some(resource)) => {
                let max = limit_value(resource, child.trimmed()).map_err(|error| child.error(error.message))?;
                // 0 is no limit in these files.
                if max > 0 {
                    interval.max.insert(resource, max);
                }
            }
            (name, None) => warnings.push(format!("{}: unknown element <interval/{name}> is ignored", child.origin)),
        }
    }
    Ok(Some(interval).filter(|interval| interval.seconds > 0))
}

#[cfg(test)]
mod tests {
    use super::super::privilege::Privilege;
    use super::*;

    fn read_text(text: &str) -> Result<(Entities, Vec<String>)> {
        let mut warnings = Vec::new();
        let entities = read(&Element::parse("users.xml", text)?, "default", &mut warnings)?;
        Ok((entities, warnings))
    }

    #[test]
    fn grants_and_filters_are_read() {
        let text = "<clickhouse><roles><r><grants><query>GRANT SELECT ON d.t</query></grants></r></roles>
            <users><a><password/><grants><query>GRANT INSERT ON d.*</query><query>GRANT r</query></grants></a>
            <b><password_double_sha1_hex>aa1420f182e88b9e5f874f6fbe7459291e8f4601</password_double_sha1_hex>
            <allow_databases><database>d</database></allow_databases>
            <databases><d><t><filter>x = 1</filter></t></d></databases></b></users>
            <quotas><q><interval><duration>60</duration><queries>5</queries><errors>0</errors></interval></q></quotas>
            </clickhouse>";
        let (entities, warnings) = read_text(text).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        let (_, a) = entities.user("a").unwrap();
        assert_eq!(a.roles.get("r"), Some(&false));
        assert!(a.rights.at(&["d", "t"]).privileges.contains(Privilege::Insert.set()));
        let (_, b) = entities.user("b").unwrap();
        assert!(b.rights.at(&["d", "t"]).privileges.contains(Privilege::DropTable.set()));
        for privilege in
            [Privilege::SystemShutdown, Privilege::KillQuery, Privilege::Select, Privilege::AccessManagement]
        {
            assert!(!b.rights.at(&["e"]).privileges.intersects(privilege.set()), "{privilege}");
        }
        let (_, policy) = entities.policies().next().unwrap();
        assert_eq!((policy.filter.as_deref(), policy.database.as_str()), (Some("x = 1"), "d"));
        let (_, quota) = entities.quotas().next().unwrap();
        assert_eq!(quota.intervals[0].max, [(Resource::Queries, 5)].into());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("<c><users><a/></users></c>", "users.xml:1: element <a>: Either 'password'"),
            ("<c><users><a><password/><no_password/></a></users></c>", "more than one way"),
            ("<c><users><a><password/><profile>x</profile></a></users></c>", "no profile 'x'"),
            ("<c><users><a><password/><networks><ip>x</ip></networks></a></users></c>", "'x' is not an address"),
            ("<c><users><a><password_sha256_hex>12</password_sha256_hex></a></users></c>", "64 hexadecimal"),
            (
                "<c><users><a><password/><grants><query>GRANT X ON *.*</query></grants></a></users></c>",
                "Unknown access type",
            ),
            ("<c><profiles><a><profile>a</profile></a></profiles></c>", "inherits from itself"),
            ("<c><profiles><default><max_threads>x</max_threads></default></profiles></c>", "element <max_threads>"),
        ] {
            let error = read_text(text).unwrap_err();
            assert!(error.message.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn the_users_that_clickhouse_is_installed_with_are_read() {
        let text = "<clickhouse><profiles><default><max_threads>auto</max_threads></default>
            <readonly><readonly>1</readonly></readonly></profiles>
            <users><default><password></password><networks><ip>::/0</ip></networks><profile>default</profile>
            <quota>default</quota><access_management>1</access_management>
            <named_collection_control>1</named_collection_control></default></users>
            <quotas><default><interval><duration>3600</duration><queries>0</queries><errors>0</errors>
            <result_rows>0</result_rows><read_rows>0</read_rows><execution_time>0</execution_time></interval></default>
            </quotas></clickhouse>";
        let (entities, warnings) = read_text(text).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        assert!(entities.profile("readonly").is_some());
        assert!(
            entities.user("default").unwrap().1.rights.at(&[]).privileges.contains(Privilege::AccessManagement.set())
        );
        let (_, quota) = entities.quotas().next().unwrap();
        assert!(quota.intervals[0].max.is_empty() && quota.to.contains("default"));
    }
}
