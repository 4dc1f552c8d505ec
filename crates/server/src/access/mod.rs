//! Who may do what: users, roles, settings profiles, quotas and row policies, of configuration files and of SQL, and what follows from
//! them. [`Access`] is what a session asks; it is made once of what there is and replaced when that changes.

mod authentication;
mod certificate;
mod constraint;
pub(crate) mod definition;
mod entities;
mod entity;
pub(crate) mod grant;
mod granted;
mod mask;
mod network;
mod privilege;
mod privilege_set;
mod profile_settings;
mod quota_definition;
mod quota_usage;
mod quota_watch;
mod remote_hosts;
mod rights;
mod store;
mod users_xml;

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use squall_types::{Error, ErrorCode, Result, Settings};

pub use authentication::{Authentication, Method, Proof};
pub use certificate::CertificateNames;
pub use constraint::{Constraint, Constraints};
pub use entities::{Entities, already_exists, unknown};
pub use entity::{
    Definition, Entity, Names, Quota, QuotaInterval, QuotaKey, Resource, Role, RowPolicy, SettingsProfile, Storage,
    User,
};
pub use granted::{Access, RoleChoice};
pub use mask::{is_suspicious, masked, masked_message};
pub use network::Networks;
pub use privilege::{Level, Privilege};
pub use privilege_set::PrivilegeSet;
pub use profile_settings::profile_settings;
pub use quota_usage::{Consumer, QuotaUsages, Usage, UsageRow};
pub use quota_watch::QuotaWatch;
pub use remote_hosts::RemoteHosts;
pub use rights::{Change, Rights, Said, Target};
pub use store::role_statements;

use crate::config::Element;
use crate::session::ClientInfo;

/// Sessions with roles of their own choice of which what they may do is kept.
const CHOICES_MAX: usize = 10_000;

/// A user, and what the default roles give, once somebody asked.
type KnownUser = (Arc<Entity>, OnceLock<Arc<Access>>);
/// What users may do with roles that they chose.
type Choices = HashMap<(Arc<str>, RoleChoice), Arc<Access>>;

/// All entities at one moment, and what follows from them.
#[derive(Debug)]
pub struct Snapshot {
    /// Its number: a later one has a greater number.
    pub generation: u64,
    /// The entities.
    pub entities: Entities,
    default_profile: String,
    default_settings: Arc<Settings>,
    /// What each user may do with the default roles.
    users: HashMap<Arc<str>, KnownUser>,
    choices: Mutex<Choices>,
    quotas: Arc<QuotaUsages>,
}

impl Snapshot {
    fn new(entities: Entities, default_profile: &str, quotas: &Arc<QuotaUsages>) -> Self {
        let users =
            entities.users().map(|(entity, _)| (entity.name.clone(), (entity.clone(), OnceLock::new()))).collect();
        let mut settings = Settings::default();
        if let Ok((values, _)) = profile_settings(&entities, default_profile) {
            for (name, value) in values {
                // What is wrong was said when the profile was read.
                let _ = settings.set(&name, &value);
            }
        }
        static GENERATION: AtomicU64 = AtomicU64::new(1);
        Self {
            generation: GENERATION.fetch_add(1, Ordering::Relaxed),
            entities,
            default_profile: default_profile.to_owned(),
            default_settings: Arc::new(settings),
            users,
            choices: Mutex::default(),
            quotas: quotas.clone(),
        }
    }

    /// The settings of `default_profile`: what holds before it is known who the user is.
    pub fn default_settings(&self) -> &Arc<Settings> {
        &self.default_settings
    }

    /// What a user may do with some roles.
    ///
    /// # Errors
    /// `UNKNOWN_USER`, `SET_NON_GRANTED_ROLE`.
    pub fn access(&self, name: &str, choice: &RoleChoice) -> Result<Arc<Access>> {
        let (entity, kept) =
            self.users.get(name).ok_or_else(|| unknown(squall_sql::ast::AccessEntityKind::User, name))?;
        let Definition::User(user) = &entity.definition else { return Err(Error::logical("a user that is none")) };
        let make = |choice: &RoleChoice| Access::new(self, entity, user, choice).map(Arc::new);
        if *choice == RoleChoice::Default {
            if let Some(known) = kept.get() {
                return Ok(known.clone());
            }
            let made = make(choice)?;
            return Ok(kept.get_or_init(|| made).clone());
        }
        let key = (entity.name.clone(), choice.clone());
        if let Some(known) = self.choices.lock().get(&key) {
            return Ok(known.clone());
        }
        let made = make(choice)?;
        let mut choices = self.choices.lock();
        if choices.len() >= CHOICES_MAX {
            choices.clear();
        }
        choices.insert(key, made.clone());
        Ok(made)
    }

    /// Whether looking at a proof may take many milliseconds.
    pub fn is_slow(&self, name: &str, proof: Proof<'_>) -> bool {
        let user = self.entities.user(name);
        user.is_some_and(|(_, user)| user.methods.iter().any(|method| method.is_slow(proof)))
    }

    /// The user of this name, with the proof of it, coming from this address.
    ///
    /// # Errors
    /// `AUTHENTICATION_FAILED` whatever is wrong, so that nobody learns which users there are; `QUOTA_EXCEEDED` where it was tried in vain more
    /// often than the user's quota has it.
    pub fn authenticate(&self, name: &str, proof: Proof<'_>, address: IpAddr) -> Result<Arc<Access>> {
        const FAILURES: Resource = Resource::FailedSequentialAuthentications;
        let now = now_seconds();
        let user = self.entities.user(name);
        let failures = user.and_then(|(entity, _)| self.failures(&entity.name, address, now));
        if let Some(usage) = &failures {
            usage.check(FAILURES, now)?;
        }
        let is_proven = match user {
            Some((_, user)) => user.methods.iter().any(|method| method.check(proof, now)),
            // A name that is nobody's is checked as long as one that is somebody's.
            None => {
                Method::from(Authentication::Sha256([0; 32], String::new())).check(proof, now);
                false
            }
        };
        match user {
            Some((entity, user)) if is_proven && user.networks.contains(address) => {
                if let Some(usage) = failures {
                    usage.reset(FAILURES);
                }
                self.access(&entity.name, &RoleChoice::Default)
            }
            _ => {
                if let Some(usage) = failures {
                    // The next attempt is told.
                    let _ = usage.add(FAILURES, 1, now);
                }
                Err(Error::new(
                    ErrorCode::AUTHENTICATION_FAILED,
                    format!(
                        "{name}: Authentication failed: password is incorrect, or there is no user with such name."
                    ),
                ))
            }
        }
    }

    /// Where a user's failures to come in are counted, if a quota limits them.
    fn failures(&self, user: &str, address: IpAddr, now: i64) -> Option<Arc<Usage>> {
        let access = self.access(user, &RoleChoice::Default).ok()?;
        let quota = access.quota.as_ref()?;
        let Definition::Quota(definition) = &quota.definition else { return None };
        let limits = |interval: &QuotaInterval| interval.max.contains_key(&Resource::FailedSequentialAuthentications);
        if !definition.intervals.iter().any(limits) {
            return None;
        }
        let client = ClientInfo { address: (address, 0).into(), ..ClientInfo::default() };
        self.quotas.of(quota, Consumer { user, client: &client, query_hash: 0 }, now).ok()?
    }
}

/// Seconds since 1970.
pub fn now_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Who may do what, as it changes.
#[derive(Debug)]
pub struct AccessControl {
    snapshot: ArcSwap<Snapshot>,
    store: store::Store,
    /// Held while something changes.
    changing: Mutex<()>,
    /// What was used of quotas.
    pub quotas: Arc<QuotaUsages>,
}

impl AccessControl {
    /// Reads the entities of configuration files and those that SQL made and `folder` keeps, where there is one.
    ///
    /// # Errors
    /// What is wrong with the files; where what SQL made cannot be read.
    pub fn open(
        root: &Element,
        default_profile: &str,
        folder: Option<&Path>,
        warnings: &mut Vec<String>,
    ) -> Result<Self> {
        let store = store::Store::open(folder)?;
        let entities = users_xml::read(root, default_profile, warnings)?;
        let entities = with_those_of_sql(entities, store.load()?, warnings);
        let quotas = Arc::default();
        Ok(Self {
            snapshot: ArcSwap::from_pointee(Snapshot::new(entities, default_profile, &quotas)),
            store,
            changing: Mutex::default(),
            quotas,
        })
    }

    /// What there is now.
    pub fn load(&self) -> arc_swap::Guard<Arc<Snapshot>> {
        self.snapshot.load()
    }

    /// The same, for keeping.
    pub fn load_full(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Reads the configuration files again; gives what is to be done once everything else was read, too.
    ///
    /// # Errors
    /// What is wrong with the files: then nothing changes.
    pub fn configured(root: &Element, default_profile: &str, warnings: &mut Vec<String>) -> Result<Entities> {
        users_xml::read(root, default_profile, warnings)
    }

    /// Takes the entities of configuration files that were [read again](Self::configured).
    pub fn replace_configured(&self, configured: Entities, default_profile: &str) {
        let _changing = self.changing.lock();
        let before = self.snapshot.load_full();
        let of_sql = before.entities.all().filter(|entity| entity.storage == Storage::LocalDirectory);
        let mut warnings = Vec::new();
        let entities = with_those_of_sql(configured, of_sql.map(|entity| (**entity).clone()).collect(), &mut warnings);
        for warning in warnings {
            tracing::warn!(target: "Access", "{warning}");
        }
        self.snapshot.store(Arc::new(Snapshot::new(entities, default_profile, &self.quotas)));
    }

    /// Changes what SQL made. It holds when this returns, also after a crash. Waits for the disk.
    ///
    /// # Errors
    /// Those of `change`, and where it cannot be written: then nothing has changed.
    pub fn change<T>(&self, change: impl FnOnce(&mut Entities) -> Result<T>) -> Result<T> {
        let _changing = self.changing.lock();
        let before = self.snapshot.load_full();
        let mut after = before.entities.clone();
        let result = change(&mut after)?;
        self.store.save(&before.entities, &after)?;
        self.snapshot.store(Arc::new(Snapshot::new(after, &before.default_profile, &self.quotas)));
        Ok(result)
    }
}

/// Entities of files with those of SQL; where both have a name, the files' counts.
fn with_those_of_sql(mut entities: Entities, of_sql: Vec<Entity>, warnings: &mut Vec<String>) -> Entities {
    for entity in of_sql {
        let kind = entity.definition.kind();
        if entities.find(kind, &entity.name).is_some() {
            let what = kind.keywords().to_ascii_lowercase();
            warnings
                .push(format!("The {what} `{}` that SQL made is hidden by that of a configuration file", entity.name));
            continue;
        }
        entities.put(entity);
    }
    entities
}
