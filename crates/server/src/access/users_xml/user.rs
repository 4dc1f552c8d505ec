//! One element of `users`: how the user proves who it is, from where it may come, and what it may do.

use std::collections::BTreeSet;

use squall_sql::ast::AccessSetting;
use squall_types::Result;

use super::super::authentication::{Authentication, Method, from_hex};
use super::super::certificate::CertificateNames;
use super::super::entity::{Names, User};
use super::super::network::Networks;
use super::super::privilege::{Level, Privilege};
use super::super::privilege_set::PrivilegeSet;
use super::super::rights::{Change, Rights, Target};
use super::{read_grants, read_profile};
use crate::config::Element;

/// The user that is there when nobody says otherwise.
pub(super) fn local_default() -> User {
    let mut networks = Networks::default();
    networks.add_host("localhost");
    User {
        methods: vec![Authentication::NoPassword.into()],
        networks,
        rights: Rights::everything(),
        default_roles: Names::all(),
        grantees: Names::all(),
        settings: vec![AccessSetting::Profile("default".to_owned())],
        quota: Some("default".to_owned()),
        ..User::default()
    }
}

/// Reads one user.
pub(super) fn read_user(
    element: &Element,
    has_profile: &dyn Fn(&str) -> bool,
    warnings: &mut Vec<String>,
) -> Result<User> {
    let mut user = User { default_roles: Names::all(), grantees: Names::all(), ..User::default() };
    // Like ClickHouse, a user without `networks` may come from anywhere.
    user.networks = Networks::any();
    let mut ways = 0;
    let mut profile = "default".to_owned();
    let mut grants = None;
    let mut powers = Powers::default();
    for child in &element.children {
        if let Some(authentication) = read_authentication(child)? {
            ways += 1;
            user.methods.push(authentication.into());
            continue;
        }
        match child.name.as_str() {
            "auth_methods" => {
                ways += 1;
                for method in &child.children {
                    for way in &method.children {
                        let known = read_authentication(way)?;
                        user.methods.extend(known.map(Method::from));
                    }
                }
            }
            "networks" => user.networks = read_networks(child, warnings)?,
            "profile" => child.trimmed().clone_into(&mut profile),
            "quota" => user.quota = Some(child.trimmed().to_owned()).filter(|quota| !quota.is_empty()),
            "default_database" => user.default_database = Some(child.trimmed().to_owned()),
            "allow_databases" => {
                let names = child.children_named("database").map(|child| child.trimmed().to_owned());
                user.allow_databases = Some(names.collect());
            }
            "grants" => grants = Some(child),
            "access_management" => powers.access_management = child.boolean()?,
            "named_collection_control" | "named_collection_admin" => powers.named_collections = child.boolean()?,
            "show_named_collections" => powers.shown_collections = child.boolean()?,
            "show_named_collections_secrets" => powers.secrets = child.boolean()?,
            "databases" | "settings" | "allow_dictionaries" => {}
            name => warnings.push(format!("{}: unknown element <{}/{name}> is ignored", child.origin, element.name)),
        }
    }
    check_methods(&user.methods, ways, element, warnings)?;
    if !has_profile(&profile) {
        return Err(element.error(format!("there is no profile '{profile}'")));
    }
    user.settings.push(AccessSetting::Profile(profile));
    if let Some(own) = element.child("settings") {
        user.settings.extend(read_profile(own, warnings)?);
    }
    match grants {
        Some(grants) if user.allow_databases.is_some() || element.child("access_management").is_some() => {
            return Err(grants.error("cannot stand beside allow_databases or access_management"));
        }
        Some(grants) => read_grants(grants, &mut user.rights, &mut user.roles)?,
        None => user.rights = powers.rights(user.allow_databases.as_ref(), element),
    }
    Ok(user)
}

/// Refuses a user with several ways of authentication or none, and warns of methods by which nobody can log in.
fn check_methods(methods: &[Method], ways: usize, element: &Element, warnings: &mut Vec<String>) -> Result<()> {
    if ways > 1 {
        return Err(element.error("has more than one way of authentication"));
    }
    if methods.is_empty() {
        return Err(element.error(format!(
            "Either 'password' or 'password_sha256_hex' or 'no_password' must be specified for user {}",
            element.name
        )));
    }
    for method in methods {
        if let Authentication::Unsupported(name) = method.authentication {
            let (origin, name_of_user) = (&element.origin, &element.name);
            warnings
                .push(format!("{origin}: element <{name_of_user}>: {name} is not supported: the user cannot log in"));
        }
    }
    Ok(())
}

/// What a user without `grants` may do beyond what each may.
#[derive(Default)]
struct Powers {
    access_management: bool,
    named_collections: bool,
    shown_collections: bool,
    secrets: bool,
}

impl Powers {
    /// The rights of a user with these powers, in all databases or in those that it is confined to.
    fn rights(&self, databases: Option<&BTreeSet<String>>, element: &Element) -> Rights {
        let mut rights = Rights::everything();
        let mut take = |set: PrivilegeSet| rights.change(&Target::default(), Change::Revoke(set));
        if !self.access_management {
            take(Privilege::AccessManagement.set());
        }
        if !self.named_collections {
            let shows = match self.shown_collections {
                true => Privilege::ShowNamedCollections.set(),
                false => PrivilegeSet::default(),
            };
            let secrets = Privilege::ShowNamedCollectionsSecrets.set();
            take(Privilege::NamedCollectionAdmin.set().minus(shows).minus(secrets));
        }
        if !self.secrets {
            take(Privilege::ShowNamedCollectionsSecrets.set());
        }
        if let Some(databases) = databases {
            confine(&mut rights, databases, element);
        }
        if !self.access_management {
            // As in ClickHouse: who may not manage access passes nothing on.
            rights.change(&Target::default(), Change::RevokeOption(PrivilegeSet::all()));
        }
        rights
    }
}

/// Takes away what is not about some databases. What is about the server as a whole goes too: in ClickHouse such a user may stop it.
fn confine(rights: &mut Rights, databases: &BTreeSet<String>, element: &Element) {
    let all = rights.at(&[]).privileges;
    let of_databases = PrivilegeSet::of_levels(|level| level != Level::Global && !level.is_parameter());
    let kept: PrivilegeSet = [Privilege::CreateTemporaryTable, Privilege::TableEngine].into_iter().collect();
    rights.change(&Target::default(), Change::Revoke(PrivilegeSet::all().minus(kept)));
    for database in databases {
        rights.change(&Target::new(&[database]), Change::Grant(all.and(of_databases), true));
    }
    // Dictionaries of configuration files are in no database.
    let dictionaries = element.child("allow_dictionaries");
    let dictionary = all.and(Privilege::DictGet.set().or(Privilege::ShowDictionaries.set()));
    match dictionaries {
        Some(dictionaries) => {
            for name in dictionaries.children_named("dictionary") {
                rights.change(&Target::new(&["", name.trimmed()]), Change::Grant(dictionary, false));
            }
        }
        None => rights.change(&Target::new(&[""]), Change::Grant(dictionary, false)),
    }
}

/// One way of authentication; none where the element is about something else.
fn read_authentication(element: &Element) -> Result<Option<Authentication>> {
    Ok(Some(match element.name.as_str() {
        "password" => Authentication::Plaintext(element.text.clone()),
        "no_password" => Authentication::NoPassword,
        "password_sha256_hex" => {
            let hash = from_hex(element.trimmed())
                .ok_or_else(|| element.error("is not the 64 hexadecimal digits of a SHA-256"))?;
            Authentication::Sha256(hash, String::new())
        }
        "password_double_sha1_hex" => Authentication::DoubleSha1(
            from_hex(element.trimmed())
                .ok_or_else(|| element.error("is not the 40 hexadecimal digits of a doubled SHA-1"))?,
        ),
        "password_scram_sha256_hex" => Authentication::ScramSha256(
            from_hex(element.trimmed())
                .ok_or_else(|| element.error("is not the 64 hexadecimal digits of a salted password"))?,
            String::new(),
        ),
        "bcrypt_hash" => Authentication::Bcrypt(element.trimmed().to_owned()),
        "ssl_certificates" => Authentication::Certificate(read_certificate_names(element)?),
        "ldap" => Authentication::Unsupported("ldap"),
        "kerberos" => Authentication::Unsupported("kerberos"),
        "ssh_keys" => Authentication::Unsupported("ssh_key"),
        "http_authentication" => Authentication::Unsupported("http"),
        _ => return Ok(None),
    }))
}

/// The names of `ssl_certificates`, at least one.
fn read_certificate_names(element: &Element) -> Result<CertificateNames> {
    let mut names = CertificateNames::default();
    for child in &element.children {
        let name = child.trimmed().to_owned();
        match child.name.as_str() {
            "common_name" => names.common_names.insert(name),
            "subject_alt_name" if name.starts_with("DNS:") || name.starts_with("URI:") => {
                names.alternative_names.insert(name)
            }
            "subject_alt_name" => return Err(child.bad_value("DNS: with a host or URI: with an address")),
            _ => return Err(child.error("is not known: ssl_certificates holds common_name and subject_alt_name")),
        };
    }
    if names.is_empty() {
        return Err(element.error("needs a common_name or a subject_alt_name"));
    }
    Ok(names)
}

/// The networks that a user may come from.
fn read_networks(element: &Element, warnings: &mut Vec<String>) -> Result<Networks> {
    let mut networks = Networks::default();
    for child in &element.children {
        match child.name.as_str() {
            "ip" if networks.add_ip(child.trimmed()) => {}
            "ip" => return Err(child.bad_value("an address or a network")),
            "host" => networks.add_host(child.trimmed()),
            "host_regexp" if networks.add_regexp(child.trimmed()) => {}
            "host_regexp" => return Err(child.bad_value("a regular expression")),
            name => warnings.push(format!("{}: unknown element <networks/{name}> is ignored", child.origin)),
        }
    }
    Ok(networks)
}
