//! What one user may do in a session with some roles: the one place that decides. It is made of the entities once, kept as long as they
//! stay the same, and only read by queries.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use squall_sql::ast::{self, AccessSetting};
use squall_sql::{ParserLimits, parse_expression};
use squall_storage::TEMPORARY_DATABASE;
use squall_types::{Error, ErrorCode, Result, Settings};

use super::Snapshot;
use super::constraint::Constraints;
use super::entity::{Entity, Names, RowPolicy, User};
use super::grant::shown;
use super::privilege::{Level, Privilege};
use super::privilege_set::PrivilegeSet;
use super::profile_settings::{apply_settings, readonly};
use super::rights::{Rights, Target};

/// Tables of `system` that anybody may read: they say nothing that is not in the manual, or only what is the asker's own or may be seen by them.
const OPEN_SYSTEM_TABLES: &[&str] = &[
    "aggregate_function_combinators",
    "asynchronous_metrics",
    "build_options",
    "clusters",
    "collations",
    "columns",
    "contributors",
    "current_roles",
    "data_skipping_indices",
    "data_type_families",
    "database_engines",
    "databases",
    "dictionaries",
    "enabled_roles",
    "events",
    "formats",
    "functions",
    "keywords",
    "licenses",
    "macros",
    "merge_tree_settings",
    "merges",
    "metrics",
    "mutations",
    "numbers",
    "numbers_mt",
    "one",
    "parts",
    "privileges",
    "processes",
    "projection_parts",
    "projections",
    "quota_usage",
    "replicas",
    "settings",
    "table_engines",
    "table_functions",
    "tables",
    "time_zones",
    "warnings",
    "zeros",
    "zeros_mt",
];

/// Tables of `system` that who has some privileges may read.
const SYSTEM_TABLES_BY_PRIVILEGE: &[(&str, &[Privilege])] = &[
    ("users", &[Privilege::ShowUsers]),
    ("roles", &[Privilege::ShowRoles]),
    ("grants", &[Privilege::ShowUsers, Privilege::ShowRoles]),
    ("role_grants", &[Privilege::ShowUsers, Privilege::ShowRoles]),
    ("row_policies", &[Privilege::ShowRowPolicies]),
    ("quotas", &[Privilege::ShowQuotas]),
    ("quota_limits", &[Privilege::ShowQuotas]),
    ("quotas_usage", &[Privilege::ShowQuotas]),
    ("settings_profiles", &[Privilege::ShowSettingsProfiles]),
    ("settings_profile_elements", &[Privilege::ShowSettingsProfiles]),
    ("user_directories", &[Privilege::ShowAccess]),
    ("named_collections", &[Privilege::ShowNamedCollections]),
];

/// Which roles a session has.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum RoleChoice {
    /// The user's default ones.
    #[default]
    Default,
    /// These of those that were granted.
    These(BTreeSet<String>),
}

/// A condition on rows; none where all are seen.
type RowFilter = Option<Arc<ast::Expression>>;

/// What one user may do.
#[derive(Debug)]
pub struct Access {
    /// The user's name.
    pub name: Arc<str>,
    /// The user's identity.
    pub id: uuid::Uuid,
    /// The number of the snapshot that it was made of.
    pub generation: u64,
    /// The database of its sessions where the client names none.
    pub default_database: Option<String>,
    /// The settings that its sessions begin with.
    pub settings: Arc<Settings>,
    /// The same, read-only: what its HTTP GET requests begin with.
    pub readonly_settings: Arc<Settings>,
    /// What it may set settings to.
    pub constraints: Arc<Constraints>,
    /// How much it may use.
    pub quota: Option<Arc<Entity>>,
    /// The roles that the session chose.
    pub current_roles: BTreeSet<String>,
    /// These and those that are had with them; whether each may be passed on.
    pub enabled_roles: BTreeMap<String, bool>,
    /// Whether no password and no certificate is asked of the user.
    pub is_passwordless: bool,
    rights: Rights,
    grantees: Names,
    policies: Vec<(RowPolicy, bool)>,
    /// The conditions of tables that were asked for.
    filters: Mutex<HashMap<(String, String), RowFilter>>,
    reads_everything: bool,
    sees_everything: bool,
}

impl Access {
    /// What a user may do with some roles.
    ///
    /// # Errors
    /// `SET_NON_GRANTED_ROLE` for roles that the user does not have.
    pub fn new(snapshot: &Snapshot, entity: &Entity, user: &User, choice: &RoleChoice) -> Result<Self> {
        let entities = &snapshot.entities;
        let current_roles: BTreeSet<String> = match choice {
            RoleChoice::Default => {
                user.roles.keys().filter(|role| user.default_roles.contains(role)).cloned().collect()
            }
            RoleChoice::These(roles) => {
                if let Some(role) = roles.iter().find(|role| !user.roles.contains_key(*role)) {
                    return Err(Error::new(
                        ErrorCode::SET_NON_GRANTED_ROLE,
                        format!("Role {role} should be granted to set current role"),
                    ));
                }
                roles.clone()
            }
        };
        let chosen = user.roles.iter().filter(|(role, _)| current_roles.contains(*role));
        let enabled_roles = entities.with_their_roles(chosen.map(|(role, with)| (role.clone(), *with)));
        let enabled_names: BTreeSet<String> = enabled_roles.keys().cloned().collect();
        let mut rights = user.rights.clone();
        for role in &enabled_names {
            if let Some((_, role)) = entities.role(role) {
                rights.add(&role.rights);
            }
        }
        let (mut settings, mut constraints) = (Settings::default(), Constraints::default());
        let mut apply =
            |elements: &[AccessSetting]| apply_settings(entities, elements, &mut settings, &mut constraints);
        apply(&[AccessSetting::Profile(snapshot.default_profile.clone())]);
        for (_, profile) in entities.profiles() {
            if profile.to.matches(&entity.name, &enabled_names) {
                apply(&profile.settings);
            }
        }
        for role in &enabled_names {
            if let Some((_, role)) = entities.role(role) {
                apply(&role.settings);
            }
        }
        apply(&user.settings);
        let settings = Arc::new(settings);
        let quota = entities.quotas().find(|(_, quota)| quota.to.matches(&entity.name, &enabled_names));
        let policies: Vec<(RowPolicy, bool)> = entities
            .policies()
            .map(|(_, policy)| (policy.clone(), policy.to.matches(&entity.name, &enabled_names)))
            .collect();
        Ok(Self {
            name: entity.name.clone(),
            id: entity.id,
            generation: snapshot.generation,
            default_database: user.default_database.clone(),
            readonly_settings: readonly(&settings),
            settings,
            constraints: Arc::new(constraints),
            quota: quota.map(|(entity, _)| entity.clone()),
            current_roles,
            enabled_roles,
            is_passwordless: user.methods.iter().any(|method| method.authentication.is_open()),
            reads_everything: rights.has_everywhere(Privilege::Select.set()),
            sees_everything: rights.has_everywhere(Privilege::Show.set().or(Privilege::KillQuery.set())),
            rights,
            grantees: user.grantees.clone(),
            policies,
            filters: Mutex::default(),
        })
    }

    /// What the server may do on its own account: everything, with the settings of the default profile.
    pub fn of_server(snapshot: &Snapshot) -> Self {
        let settings = snapshot.default_settings().clone();
        Self {
            name: "default".into(),
            id: uuid::Uuid::nil(),
            generation: snapshot.generation,
            default_database: None,
            readonly_settings: readonly(&settings),
            settings,
            constraints: Arc::default(),
            quota: None,
            current_roles: BTreeSet::new(),
            enabled_roles: BTreeMap::new(),
            is_passwordless: false,
            reads_everything: true,
            sees_everything: true,
            rights: Rights::everything(),
            grantees: Names::all(),
            policies: Vec::new(),
            filters: Mutex::default(),
        }
    }

    /// What was granted, directly and by roles.
    pub fn rights(&self) -> &Rights {
        &self.rights
    }

    fn denied(&self, needed: &str) -> Error {
        Error::new(
            ErrorCode::ACCESS_DENIED,
            format!(
                "{}: Not enough privileges. To execute this query, it's necessary to have the grant {needed}",
                self.name
            ),
        )
    }

    /// Whether privileges are there for a thing, and for all that is in it: who may not read a column may not read its table.
    pub fn has(&self, set: PrivilegeSet, path: &[&str]) -> bool {
        // A session's own tables are nobody else's.
        if path.len() > 1 && path.first() == Some(&TEMPORARY_DATABASE) {
            return true;
        }
        let held = self.rights.throughout(path);
        if held.contains(set) {
            return true;
        }
        set.minus(held).iter().all(|privilege| self.is_implied(privilege, path))
    }

    /// Whether a privilege follows from others, as ClickHouse has it: who may do something with a column may know of it, and so on.
    fn is_implied(&self, privilege: Privilege, path: &[&str]) -> bool {
        let here = self.rights.at(path).privileges;
        let any = |levels: &dyn Fn(Level) -> bool| self.rights.has_any(path, PrivilegeSet::of_levels(levels));
        match privilege {
            Privilege::ShowColumns if path.len() >= 2 => {
                here.intersects(PrivilegeSet::of_levels(|level| level == Level::Column))
            }
            Privilege::ShowTables => any(&|level| matches!(level, Level::Table | Level::View | Level::Column)),
            Privilege::ShowDictionaries => any(&|level| level == Level::Dictionary),
            Privilege::ShowDatabases => any(&|level| {
                matches!(level, Level::Database | Level::Table | Level::View | Level::Dictionary | Level::Column)
            }),
            Privilege::CreateTemporaryTable => self.rights.has_any(&[], Privilege::CreateTable.set()),
            Privilege::CreateTemporaryView => self.rights.has_any(&[], Privilege::CreateView.set()),
            Privilege::CreateView => here.contains(Privilege::CreateTable.set()),
            Privilege::DropView => here.contains(Privilege::DropTable.set()),
            Privilege::AlterMaterializeTtl => here.contains(Privilege::AlterTtl.set()),
            Privilege::SystemReloadEmbeddedDictionaries => here.contains(Privilege::SystemReloadDictionary.set()),
            Privilege::Select => path.first() == Some(&"system") && self.reads_system_table(path.get(1)),
            _ => false,
        }
    }

    fn reads_system_table(&self, table: Option<&&str>) -> bool {
        let Some(table) = table else { return false };
        if OPEN_SYSTEM_TABLES.binary_search(table).is_ok() {
            return true;
        }
        let by_privilege = SYSTEM_TABLES_BY_PRIVILEGE.iter().find(|(name, _)| name == table);
        by_privilege.is_some_and(|(_, privileges)| self.has(privileges.iter().copied().collect(), &[]))
    }

    /// Checks that a table of `system` may be read: some tell of what has a privilege of its own.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    pub fn check_system_table(&self, table: &str) -> Result<()> {
        match SYSTEM_TABLES_BY_PRIVILEGE.iter().find(|(name, _)| *name == table) {
            Some((_, privileges)) => self.check_all(privileges.iter().copied().collect(), &[]),
            None => Ok(()),
        }
    }

    /// Checks that something may be done with a thing: nothing is the server, then a database, a table.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    pub fn check(&self, privilege: Privilege, path: &[&str]) -> Result<()> {
        self.check_all(privilege.set(), path)
    }

    /// The same for several privileges.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    pub fn check_all(&self, set: PrivilegeSet, path: &[&str]) -> Result<()> {
        if self.has(set, path) { Ok(()) } else { Err(self.denied(&shown(set, path, &[]))) }
    }

    /// Checks that something may be done with columns of a table. No columns at all are allowed to who may do it with one of them.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    pub fn check_columns(&self, privilege: Privilege, database: &str, table: &str, columns: &[&str]) -> Result<()> {
        let set = privilege.set();
        let has = if columns.is_empty() {
            self.has(set, &[database, table]) || self.rights.has_any(&[database, table], set)
        } else {
            columns.iter().all(|column| self.has(set, &[database, table, column]))
        };
        if has {
            return Ok(());
        }
        let may_know = columns.iter().all(|column| self.has(Privilege::ShowColumns.set(), &[database, table, column]));
        let named = if may_know { columns } else { &[] };
        Err(self.denied(&shown(set, &[database, table], named)))
    }

    /// Whether every column of every table may be read, and no rows are hidden: nothing has to be looked at.
    pub fn reads_everything(&self) -> bool {
        self.reads_everything && self.policies.is_empty()
    }

    /// Whether nothing of the server is hidden.
    pub fn sees_everything(&self) -> bool {
        self.sees_everything
    }

    /// Checks that a source outside of the server may be read.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    pub fn check_source(&self, kind: Privilege) -> Result<()> {
        let may =
            self.rights.has_source(Privilege::Read, kind.name()) || self.rights.at(&[]).privileges.contains(kind.set());
        if may { Ok(()) } else { Err(self.denied(&format!("READ ON {kind}"))) }
    }

    /// Checks that a target outside of the server may be written.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    pub fn check_target_source(&self, kind: Privilege) -> Result<()> {
        let may = self.rights.has_source(Privilege::Write, kind.name())
            || self.rights.at(&[]).privileges.contains(kind.set());
        if may { Ok(()) } else { Err(self.denied(&format!("WRITE ON {kind}"))) }
    }

    /// Whether a database may be known of.
    pub fn may_show_database(&self, database: &str) -> bool {
        database == "system" || self.has(Privilege::ShowDatabases.set(), &[database])
    }

    /// Whether a table may be known of.
    pub fn may_show_table(&self, database: &str, table: &str) -> bool {
        (database == "system" && self.has(Privilege::Select.set(), &[database, table]))
            || self.has(Privilege::ShowTables.set(), &[database, table])
    }

    /// Whether a column may be known of.
    pub fn may_show_column(&self, database: &str, table: &str, column: &str) -> bool {
        (database == "system" && self.has(Privilege::Select.set(), &[database, table]))
            || self.has(Privilege::ShowColumns.set(), &[database, table, column])
    }

    /// Checks that all columns of a table may be known of.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    pub fn check_show_columns(&self, database: &str, table: &str) -> Result<()> {
        let tells = PrivilegeSet::of_levels(|level| level == Level::Column);
        let may = database == TEMPORARY_DATABASE
            || (database == "system" && self.may_show_table(database, table))
            || self.rights.has_some_everywhere(&[database, table], tells);
        if may { Ok(()) } else { Err(self.denied(&shown(Privilege::ShowColumns.set(), &[database, table], &[]))) }
    }

    /// Checks that privileges are there for a target and for all that is in it.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    pub fn check_target(&self, target: &Target, set: PrivilegeSet) -> Result<()> {
        let path: Vec<&str> = target.path.iter().map(|name| &**name).collect();
        if self.rights.covers(target, set, false) { Ok(()) } else { Err(self.denied(&shown(set, &path, &[]))) }
    }

    /// Checks that a privilege is there for everything, without any exception.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    pub fn check_everywhere(&self, privilege: Privilege) -> Result<()> {
        self.check_target(&Target::default(), privilege.set())
    }

    /// Checks that a database may be used as the current one.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    pub fn check_database(&self, database: &str) -> Result<()> {
        if self.may_show_database(database) {
            return Ok(());
        }
        Err(self.denied(&shown(Privilege::ShowDatabases.set(), &[database], &[])))
    }

    /// Checks that privileges may be passed on.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    pub fn check_grant_option(&self, target: &Target, set: PrivilegeSet) -> Result<()> {
        if self.rights.covers(target, set, true) {
            return Ok(());
        }
        let path: Vec<&str> = target.path.iter().map(|name| &**name).collect();
        let (table, columns) = path.split_at(path.len().min(2));
        let needed = shown(set, table, columns);
        let without = if self.rights.covers(target, set, false) {
            return Err(Error::new(
                ErrorCode::ACCESS_DENIED,
                format!(
                    "{}: Not enough privileges. The required privileges have been granted, but without grant option. \
                     To execute this query, it's necessary to have the grant {needed} WITH GRANT OPTION",
                    self.name
                ),
            ));
        } else {
            format!("{needed} WITH GRANT OPTION")
        };
        Err(self.denied(&without))
    }

    /// Checks that a role may be passed on.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    pub fn check_admin_option(&self, role: &str) -> Result<()> {
        if self.rights.at(&[]).privileges.contains(Privilege::RoleAdmin.set()) {
            return Ok(());
        }
        match self.enabled_roles.get(role) {
            Some(true) => Ok(()),
            Some(false) => Err(Error::new(
                ErrorCode::ACCESS_DENIED,
                format!(
                    "{}: Not enough privileges. Role {role} is granted, but without ADMIN option. To execute this query, \
                     it's necessary to have the role {role} granted with ADMIN option",
                    self.name
                ),
            )),
            None => Err(Error::new(
                ErrorCode::ACCESS_DENIED,
                format!(
                    "{}: Not enough privileges. To execute this query, it's necessary to have the role {role} granted with \
                     ADMIN option",
                    self.name
                ),
            )),
        }
    }

    /// Checks that something may be granted to somebody.
    ///
    /// # Errors
    /// `ACCESS_DENIED`.
    pub fn check_grantee(&self, name: &str) -> Result<()> {
        if self.grantees.contains(name) {
            return Ok(());
        }
        let message = format!("{} is not allowed as grantee", crate::system::quote(name));
        Err(Error::new(ErrorCode::ACCESS_DENIED, message))
    }

    /// The condition that the rows of a table must meet for this user; none is no condition.
    ///
    /// # Errors
    /// Where a policy's condition is none.
    pub fn row_filter(&self, database: &str, table: &str, shows_without: bool) -> Result<Option<Arc<ast::Expression>>> {
        if self.policies.is_empty() {
            return Ok(None);
        }
        let key = (database.to_owned(), table.to_owned());
        if let Some(known) = self.filters.lock().get(&key) {
            return Ok(known.clone());
        }
        let filter = self.make_filter(database, table, shows_without)?.map(Arc::new);
        self.filters.lock().insert(key, filter.clone());
        Ok(filter)
    }

    fn make_filter(&self, database: &str, table: &str, shows_without: bool) -> Result<Option<ast::Expression>> {
        let is_about =
            |policy: &RowPolicy| policy.database == database && (policy.table == table || policy.table == "*");
        let (mut permissive, mut restrictive) = (Vec::new(), Vec::new());
        let mut is_guarded = false;
        for (policy, is_for_user) in self.policies.iter().filter(|(policy, _)| is_about(policy)) {
            is_guarded = true;
            let Some(text) = policy.filter.as_ref().filter(|_| *is_for_user) else { continue };
            let filter = parse_expression(&**text, &ParserLimits::default()).map_err(|error| {
                let message = format!("The condition of the row policy {}: {}", policy.short_name, error.message);
                Error::new(ErrorCode::INCORRECT_ACCESS_ENTITY_DEFINITION, message)
            })?;
            if policy.is_restrictive { restrictive.push(filter) } else { permissive.push(filter) }
        }
        if !is_guarded {
            return Ok(None);
        }
        if !permissive.is_empty() || !shows_without {
            let any = match permissive.len() {
                0 => ast::Expression::literal(ast::Literal::UInt64(0)),
                1 => permissive.remove(0),
                _ => ast::Expression::function("or", permissive),
            };
            restrictive.insert(0, any);
        }
        Ok(match restrictive.len() {
            0 => None,
            1 => Some(restrictive.remove(0)),
            _ => Some(ast::Expression::function("and", restrictive)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_tables_are_in_order() {
        assert!(OPEN_SYSTEM_TABLES.is_sorted());
    }
}
