//! Users, their profiles of settings, and who may come in. Read once from the element tree, then immutable; a reload makes a new
//! [`Users`].

mod certificate;
mod constraint;
mod network;
mod password;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use squall_types::{Error, ErrorCode, Result, Settings};

use crate::config::Element;
pub use certificate::CertificateNames;
pub use constraint::{Constraint, Constraints};
pub use network::Networks;
pub use password::{Authentication, Proof};

/// How deep profiles may inherit.
const PROFILE_DEPTH_MAX: usize = 16;

/// One user.
#[derive(Debug)]
pub struct User {
    /// The name.
    pub name: Arc<str>,
    /// How it proves who it is.
    pub authentication: Authentication,
    /// From where it may come.
    pub networks: Networks,
    /// The profile's name.
    pub profile: String,
    /// The quota's name; quotas are accepted, not kept.
    pub quota: String,
    /// The database of its sessions where the client names none.
    pub default_database: Option<String>,
    /// The databases it may use; none is all. `system` is always among them.
    pub allow_databases: Option<Vec<String>>,
    /// The settings that its sessions begin with.
    pub settings: Arc<Settings>,
    /// The same, read-only: what its HTTP GET requests begin with.
    pub readonly_settings: Arc<Settings>,
    /// What it may set settings to.
    pub constraints: Arc<Constraints>,
}

/// Settings under which nothing but reading is allowed, and changing settings.
fn readonly(settings: &Arc<Settings>) -> Arc<Settings> {
    if settings.readonly != 0 {
        return settings.clone();
    }
    let mut readonly = (**settings).clone();
    readonly.readonly = 2;
    Arc::new(readonly)
}

impl User {
    /// Whether the user may use a database.
    ///
    /// # Errors
    /// `DATABASE_ACCESS_DENIED`.
    pub fn check_database(&self, database: &str) -> Result<()> {
        match &self.allow_databases {
            Some(allowed) if database != "system" && !allowed.iter().any(|known| known == database) => Err(Error::new(
                ErrorCode::DATABASE_ACCESS_DENIED,
                format!("Access denied to database {database} for user {}", self.name),
            )),
            _ => Ok(()),
        }
    }
}

/// One profile of settings with everything that it inherits.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The name.
    pub name: String,
    /// Its settings over the defaults.
    pub settings: Arc<Settings>,
    /// Its bounds.
    pub constraints: Arc<Constraints>,
}

/// All users and profiles.
#[derive(Debug, Default)]
pub struct Users {
    users: HashMap<String, Arc<User>>,
    profiles: HashMap<String, Profile>,
    quotas: Vec<String>,
    default_settings: Arc<Settings>,
}

impl Users {
    /// Reads `users`, `profiles` and `quotas` inside `root`. Without a `users` element there is the user `default` without a
    /// password, from this machine only.
    ///
    /// # Errors
    /// Where a value is not of its element's type, a profile is missing or inherits itself; with file and element.
    pub fn read(root: &Element, default_profile: &str, warnings: &mut Vec<String>) -> Result<Self> {
        let empty = Element::new("profiles", root.origin.clone());
        let profiles = Profiles { elements: root.child("profiles").unwrap_or(&empty), default_profile };
        let mut users =
            Self { quotas: children(root, "quotas").map(|quota| quota.name.clone()).collect(), ..Self::default() };
        for element in &profiles.elements.children {
            let profile = profiles.resolve(&element.name, element, warnings)?;
            users.profiles.insert(element.name.clone(), profile);
        }
        // The default profile need not be written down.
        if !users.profiles.contains_key("default") {
            let profile = Profile { name: "default".to_owned(), settings: Arc::default(), constraints: Arc::default() };
            users.profiles.insert(profile.name.clone(), profile);
        }
        match users.profiles.get(default_profile) {
            Some(profile) => users.default_settings = profile.settings.clone(),
            None => return Err(root.error(format!("there is no profile '{default_profile}', the default_profile"))),
        }
        for element in children(root, "users") {
            let user = read_user(element, &users.profiles, warnings)?;
            users.users.insert(element.name.clone(), Arc::new(user));
        }
        if root.child("users").is_none() {
            users.users.insert("default".to_owned(), Arc::new(local_default(users.profiles.get(default_profile))));
        }
        Ok(users)
    }

    /// The user of this name, with the proof of it, coming from this address.
    ///
    /// # Errors
    /// `AUTHENTICATION_FAILED` whatever is wrong, so that nobody learns which users there are.
    pub fn authenticate(&self, name: &str, proof: Proof<'_>, address: IpAddr) -> Result<Arc<User>> {
        let user = self.users.get(name);
        // A name that is nobody's is checked as long as one that is somebody's.
        let nobody = Authentication::Sha256([0; 32]);
        let is_proven = user.map_or(&nobody, |user| &user.authentication).check(proof);
        match user {
            Some(user) if is_proven && user.networks.contains(address) => Ok(user.clone()),
            _ => Err(Error::new(
                ErrorCode::AUTHENTICATION_FAILED,
                format!("{name}: Authentication failed: password is incorrect, or there is no user with such name."),
            )),
        }
    }

    /// A user by name.
    pub fn user(&self, name: &str) -> Option<&Arc<User>> {
        self.users.get(name)
    }

    /// The settings of `default_profile`: what holds before it is known who the user is.
    pub fn default_settings(&self) -> &Arc<Settings> {
        &self.default_settings
    }

    /// A profile by name, for `SET profile = …`.
    ///
    /// # Errors
    /// `THERE_IS_NO_PROFILE`'s text under `BAD_ARGUMENTS`.
    pub fn profile(&self, name: &str) -> Result<&Profile> {
        self.profiles
            .get(name)
            .ok_or_else(|| Error::new(ErrorCode::BAD_ARGUMENTS, format!("There is no settings profile '{name}'")))
    }

    /// All users by name.
    pub fn users(&self) -> Vec<&Arc<User>> {
        let mut users: Vec<_> = self.users.values().collect();
        users.sort_by(|left, right| left.name.cmp(&right.name));
        users
    }

    /// All profiles by name.
    pub fn profiles(&self) -> Vec<&Profile> {
        let mut profiles: Vec<_> = self.profiles.values().collect();
        profiles.sort_by(|left, right| left.name.cmp(&right.name));
        profiles
    }

    /// The names of quotas.
    pub fn quotas(&self) -> &[String] {
        &self.quotas
    }
}

fn children<'a>(root: &'a Element, name: &str) -> impl Iterator<Item = &'a Element> {
    root.child(name).into_iter().flat_map(|element| &element.children)
}

/// The user that is there when nobody says otherwise.
fn local_default(profile: Option<&Profile>) -> User {
    let mut networks = Networks::default();
    networks.add_host("localhost");
    let settings = profile.map(|profile| profile.settings.clone()).unwrap_or_default();
    User {
        name: "default".into(),
        authentication: Authentication::NoPassword,
        networks,
        profile: "default".to_owned(),
        quota: "default".to_owned(),
        default_database: None,
        allow_databases: None,
        readonly_settings: readonly(&settings),
        settings,
        constraints: profile.map(|profile| profile.constraints.clone()).unwrap_or_default(),
    }
}

fn read_user(element: &Element, profiles: &HashMap<String, Profile>, warnings: &mut Vec<String>) -> Result<User> {
    let mut authentication = None;
    let mut networks = None;
    let mut profile =
        element.children_named("profile").next().map_or("default".to_owned(), |child| child.trimmed().to_owned());
    let mut quota = String::new();
    let mut default_database = None;
    let mut allow_databases = None;
    for child in &element.children {
        let mut prove = |with: Authentication| match authentication.replace(with) {
            None => Ok(()),
            Some(_) => Err(element.error("has more than one way of authentication")),
        };
        match child.name.as_str() {
            "password" if child.text.is_empty() => prove(Authentication::NoPassword)?,
            "password" => prove(Authentication::Plaintext(child.text.clone()))?,
            "no_password" => prove(Authentication::NoPassword)?,
            "password_sha256_hex" => prove(
                Authentication::sha256_hex(child.trimmed())
                    .ok_or_else(|| child.error("is not the 64 hexadecimal digits of a SHA-256"))?,
            )?,
            "password_double_sha1_hex" => prove(Authentication::Unsupported("double_sha1_password"))?,
            "password_scram_sha256_hex" => prove(Authentication::Unsupported("scram_sha256_password"))?,
            "ldap" => prove(Authentication::Unsupported("ldap"))?,
            "kerberos" => prove(Authentication::Unsupported("kerberos"))?,
            "ssl_certificates" => prove(Authentication::Certificate(read_certificate_names(child)?))?,
            "ssh_keys" => prove(Authentication::Unsupported("ssh_key"))?,
            "http_authentication" => prove(Authentication::Unsupported("http"))?,
            "networks" => networks = Some(read_networks(child, warnings)?),
            "profile" => child.trimmed().clone_into(&mut profile),
            "quota" => child.trimmed().clone_into(&mut quota),
            "default_database" => default_database = Some(child.trimmed().to_owned()),
            "allow_databases" => {
                allow_databases =
                    Some(child.children_named("database").map(|child| child.trimmed().to_owned()).collect());
            }
            "grants" | "databases" => warnings.push(format!(
                "{}: element <{}/{}>: is not enforced: the user may do everything that its profile allows",
                child.origin, element.name, child.name
            )),
            "access_management"
            | "named_collection_control"
            | "show_named_collections"
            | "show_named_collections_secrets"
            | "allow_dictionaries"
            | "settings"
            | "roles"
            | "default_roles"
            | "auth_methods" => {}
            name => warnings.push(format!("{}: unknown element <{}/{name}> is ignored", child.origin, element.name)),
        }
    }
    let Some(authentication) = authentication else {
        return Err(element.error(format!(
            "Either 'password' or 'password_sha256_hex' or 'no_password' must be specified for user {}",
            element.name
        )));
    };
    if let Authentication::Unsupported(name) = authentication {
        warnings.push(format!(
            "{}: element <{}>: {name} is not supported: the user cannot log in",
            element.origin, element.name
        ));
    }
    let Some(resolved) = profiles.get(&profile) else {
        return Err(element.error(format!("there is no profile '{profile}'")));
    };
    let mut settings = resolved.settings.clone();
    if let Some(own) = element.child("settings") {
        for setting in &own.children {
            apply(Arc::make_mut(&mut settings), setting, warnings)?;
        }
    }
    Ok(User {
        name: element.name.as_str().into(),
        authentication,
        // Like ClickHouse, a user without `networks` may come from anywhere.
        networks: networks.unwrap_or_else(Networks::any),
        profile,
        quota,
        default_database,
        allow_databases,
        readonly_settings: readonly(&settings),
        settings,
        constraints: resolved.constraints.clone(),
    })
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

fn read_networks(element: &Element, warnings: &mut Vec<String>) -> Result<Networks> {
    let mut networks = Networks::default();
    for child in &element.children {
        match child.name.as_str() {
            "ip" if networks.add_ip(child.trimmed()) => {}
            "ip" => return Err(child.bad_value("an address or a network")),
            "host" => networks.add_host(child.trimmed()),
            "host_regexp" => {
                warnings.push(format!(
                    "{}: element <networks/host_regexp> is not supported: no host matches it",
                    child.origin
                ));
            }
            name => warnings.push(format!("{}: unknown element <networks/{name}> is ignored", child.origin)),
        }
    }
    Ok(networks)
}

/// Sets a setting of a profile. One that is not known here is warned of: profiles are shared with ClickHouse, which has more.
fn apply(settings: &mut Settings, element: &Element, warnings: &mut Vec<String>) -> Result<()> {
    match settings.set(&element.name, element.trimmed()) {
        Ok(()) => Ok(()),
        Err(error) if error.code == ErrorCode::UNKNOWN_SETTING => {
            warnings
                .push(format!("{}: setting <{}> of a profile is not known and ignored", element.origin, element.name));
            Ok(())
        }
        Err(error) => Err(element.error(error.message)),
    }
}

struct Profiles<'a> {
    elements: &'a Element,
    default_profile: &'a str,
}

impl Profiles<'_> {
    /// A profile over the default one and those that it inherits from.
    fn resolve(&self, name: &str, element: &Element, warnings: &mut Vec<String>) -> Result<Profile> {
        let mut settings = Settings::default();
        let mut constraints = Constraints::default();
        if name != self.default_profile
            && let Some(base) = self.elements.child(self.default_profile)
        {
            // What is wrong there is said when that profile itself is resolved.
            self.apply(base, &mut settings, &mut constraints, &mut Vec::new(), 0)?;
        }
        self.apply(element, &mut settings, &mut constraints, warnings, 0)?;
        Ok(Profile { name: name.to_owned(), settings: Arc::new(settings), constraints: Arc::new(constraints) })
    }

    fn apply(
        &self,
        element: &Element,
        settings: &mut Settings,
        constraints: &mut Constraints,
        warnings: &mut Vec<String>,
        depth: usize,
    ) -> Result<()> {
        if depth > PROFILE_DEPTH_MAX {
            return Err(element.error("inherits from itself, or too deep"));
        }
        for child in &element.children {
            match child.name.as_str() {
                "profile" => {
                    let name = child.trimmed();
                    let Some(base) = self.elements.child(name) else {
                        return Err(child.error(format!("there is no profile '{name}'")));
                    };
                    self.apply(base, settings, constraints, &mut Vec::new(), depth + 1)?;
                }
                "constraints" => {
                    for bounded in &child.children {
                        let bound = constraints.0.entry(bounded.name.clone()).or_default();
                        read_constraint(bounded, bound, warnings);
                    }
                }
                _ => apply(settings, child, warnings)?,
            }
        }
        Ok(())
    }
}

fn read_constraint(element: &Element, constraint: &mut Constraint, warnings: &mut Vec<String>) {
    for child in &element.children {
        match child.name.as_str() {
            "min" => constraint.min = Some(child.trimmed().to_owned()),
            "max" => constraint.max = Some(child.trimmed().to_owned()),
            "readonly" | "const" => constraint.is_const = true,
            "writable" => constraint.is_const = false,
            "changeable_in_readonly" => constraint.changeable_in_readonly = true,
            name => warnings.push(format!("{}: unknown element <{}/{name}> is ignored", child.origin, element.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn read(text: &str) -> Result<(Users, Vec<String>)> {
        let mut warnings = Vec::new();
        let users = Users::read(&Element::parse("users.xml", text)?, "default", &mut warnings)?;
        Ok((users, warnings))
    }

    #[test]
    fn without_users_there_is_a_local_default() {
        let (users, warnings) = read("<clickhouse/>").unwrap();
        assert!(warnings.is_empty());
        assert!(users.authenticate("default", Proof::Password(b""), LOCAL).is_ok());
        assert!(users.authenticate("default", Proof::Password(b""), "10.0.0.1".parse().unwrap()).is_err());
    }

    #[test]
    fn users_profiles_and_bounds_are_read() {
        let text = "<clickhouse><profiles>
            <default><max_threads>3</max_threads><max_block_size>100</max_block_size></default>
            <base><priority>5</priority><constraints><max_threads><max>8</max></max_threads></constraints></base>
            <web><profile>base</profile><max_block_size>200</max_block_size><made_up>1</made_up></web></profiles>
            <users><default><password/></default>
            <web><password>pw</password><networks><ip>127.0.0.1</ip></networks><profile>web</profile><quota>q</quota>
            <allow_databases><database>a</database></allow_databases></web></users><quotas><q/></quotas></clickhouse>";
        let (users, warnings) = read(text).unwrap();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        let web = users.authenticate("web", Proof::Password(b"pw"), LOCAL).unwrap();
        assert_eq!((web.settings.max_threads, web.settings.max_block_size, web.settings.priority), (3, 200, 5));
        assert!(web.constraints.check(&web.settings, "max_threads", "9").is_err());
        assert!(web.check_database("a").is_ok() && web.check_database("system").is_ok());
        assert_eq!(web.check_database("b").unwrap_err().code, ErrorCode::DATABASE_ACCESS_DENIED);
        for (name, password, address) in
            [("web", "no", LOCAL), ("nobody", "pw", LOCAL), ("web", "pw", "10.0.0.1".parse().unwrap()), ("", "", LOCAL)]
        {
            let error = users.authenticate(name, Proof::Password(password.as_bytes()), address).unwrap_err();
            assert_eq!(error.code, ErrorCode::AUTHENTICATION_FAILED);
            assert!(error.message.starts_with(&format!("{name}: Authentication failed: password is incorrect")));
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("<c><users><a/></users></c>", "users.xml:1: element <a>: Either 'password'"),
            ("<c><users><a><password/><no_password/></a></users></c>", "more than one way"),
            ("<c><users><a><password/><profile>x</profile></a></users></c>", "no profile 'x'"),
            ("<c><users><a><password/><networks><ip>x</ip></networks></a></users></c>", "'x' is not an address"),
            ("<c><users><a><password_sha256_hex>12</password_sha256_hex></a></users></c>", "64 hexadecimal"),
            ("<c><profiles><a><profile>a</profile></a></profiles></c>", "inherits from itself"),
            ("<c><profiles><default><max_threads>x</max_threads></default></profiles></c>", "element <max_threads>"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.message.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn debians_stock_users_are_read_without_warnings() {
        let Ok(text) = std::fs::read_to_string("/etc/clickhouse-server/users.xml") else { return };
        let (users, warnings) = read(&text).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        assert_eq!(users.authenticate("readonly", Proof::Password(b""), LOCAL).unwrap().settings.readonly, 1);
        assert_eq!(users.user("default").unwrap().settings.max_memory_usage, 10_000_000_000);
    }
}
