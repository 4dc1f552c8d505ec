//! Statements about who may do what: CREATE, ALTER and DROP of users, roles, settings profiles, quotas and row policies, GRANT, REVOKE and
//! SET ROLE. What they change is on disk before they are acknowledged.

use std::collections::BTreeSet;
use std::sync::Arc;

use squall_planner::MEMBERSHIPS;
use squall_sql::ast::{
    self, AccessAction, AccessDefinition, AccessEntityKind, AccessEntityName, AccessSetting, CreateMode, Granted,
    SetRole,
};
use squall_sql::{PlainKind, plain_tokens};
use squall_types::{Error, ErrorCode, Result, Settings};
use uuid::Uuid;

use crate::access::definition::{Maker, literal_text, name_of, policy_name};
use crate::access::{
    Access, Change, Definition, Entities, Entity, Names, Privilege, Rights, Role, RoleChoice, Storage, User,
    already_exists, grant, unknown,
};
use crate::query::Answer;
use crate::query::control::system_command::run_blocking;
use crate::query::statement::refuse_cluster;
use crate::session::Session;

/// The name of the storage of what SQL makes.
const STORAGE: &str = "local_directory";
/// Words that mean something where a name could stand.
const RESERVED: &[&str] = &["none", "all", "any", "except", "current_user", "currentuser"];

fn bad(message: impl Into<String>) -> Error {
    Error::new(ErrorCode::BAD_ARGUMENTS, message)
}

/// The privileges to make, change, remove and look at entities of a kind.
fn privileges(kind: AccessEntityKind) -> Result<[Privilege; 4]> {
    use Privilege as P;
    Ok(match kind {
        AccessEntityKind::User => [P::CreateUser, P::AlterUser, P::DropUser, P::ShowUsers],
        AccessEntityKind::Role => [P::CreateRole, P::AlterRole, P::DropRole, P::ShowRoles],
        AccessEntityKind::Quota => [P::CreateQuota, P::AlterQuota, P::DropQuota, P::ShowQuotas],
        AccessEntityKind::RowPolicy => [P::CreateRowPolicy, P::AlterRowPolicy, P::DropRowPolicy, P::ShowRowPolicies],
        AccessEntityKind::SettingsProfile => {
            [P::CreateSettingsProfile, P::AlterSettingsProfile, P::DropSettingsProfile, P::ShowSettingsProfiles]
        }
        AccessEntityKind::MaskingPolicy => return Err(Error::not_implemented("MASKING POLICY")),
    })
}

/// The privilege to look at entities of a kind.
pub(in crate::query) fn show_privilege(kind: AccessEntityKind) -> Result<Privilege> {
    privileges(kind).map(|[.., show]| show)
}

/// The full name of an entity: a row policy's is that of its table, too.
pub(in crate::query) fn full_name(session: &Session, name: &AccessEntityName) -> Arc<str> {
    match &name.table {
        Some(table) => {
            let database = table.database.as_ref().map_or(&*session.database, |database| &*database.value);
            policy_name(&name.name.value, database, &table.table.value)
        }
        None => name_of(name).into(),
    }
}

fn check(session: &Session, privilege: Privilege, kind: AccessEntityKind, name: &AccessEntityName) -> Result<()> {
    let access = &session.access;
    match (kind, &name.table) {
        (AccessEntityKind::RowPolicy, Some(table)) => {
            let database = table.database.as_ref().map_or(&*session.database, |database| &*database.value);
            match table.table.value.as_str() {
                "*" => access.check(privilege, &[database]),
                table => access.check(privilege, &[database, table]),
            }
        }
        (AccessEntityKind::User | AccessEntityKind::Role, _) => access.check(privilege, &[&name_of(name)]),
        _ => access.check(privilege, &[]),
    }
}

/// Runs CREATE and ALTER.
pub(in crate::query) async fn define(session: &Session, statement: &ast::AccessEntity) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    if let Some(storage) = statement.storage.as_ref().filter(|storage| storage.value != STORAGE) {
        return Err(Error::new(
            ErrorCode::ACCESS_STORAGE_FOR_INSERTION_NOT_FOUND,
            format!("Could not find a writeable access storage `{}`: SQL writes to {STORAGE}", storage.value),
        ));
    }
    let kind = kind_of(&statement.definition);
    let [create, alter, drop, _] = privileges(kind)?;
    for name in &statement.names {
        match statement.action {
            AccessAction::Alter { .. } => check(session, alter, kind, name)?,
            AccessAction::Create(CreateMode::CreateOrReplace | CreateMode::Replace) => {
                check(session, create, kind, name)?;
                check(session, drop, kind, name)?;
            }
            AccessAction::Create(_) => check(session, create, kind, name)?,
            AccessAction::Attach => return Err(Error::not_implemented("ATTACH of access entities")),
        }
        if RESERVED.contains(&name.name.value.to_ascii_lowercase().as_str()) || name.name.value.is_empty() {
            return Err(bad(format!("'{}' cannot be a name", name.name.value)));
        }
    }
    check_definition(session, &statement.definition)?;
    let (running, statement) = (session.clone(), statement.clone());
    run_blocking(move || {
        let access = &running.server.access;
        access.change(|entities| {
            statement.names.iter().try_for_each(|name| define_one(&running, &statement, name, kind, entities))
        })
    })
    .await?;
    Ok(Answer::Done)
}

fn kind_of(definition: &AccessDefinition) -> AccessEntityKind {
    match definition {
        AccessDefinition::User(_) => AccessEntityKind::User,
        AccessDefinition::Role(_) => AccessEntityKind::Role,
        AccessDefinition::Quota(_) => AccessEntityKind::Quota,
        AccessDefinition::RowPolicy(_) => AccessEntityKind::RowPolicy,
        AccessDefinition::MaskingPolicy(_) => AccessEntityKind::MaskingPolicy,
        AccessDefinition::SettingsProfile(_) => AccessEntityKind::SettingsProfile,
    }
}

/// What a definition names must be there, and its maker must be able to do what it lets others do.
fn check_definition(session: &Session, definition: &AccessDefinition) -> Result<()> {
    let entities = session.entities();
    let settings = match definition {
        AccessDefinition::User(user) => user.settings.as_ref(),
        AccessDefinition::Role(settings) => settings.as_ref(),
        AccessDefinition::SettingsProfile(profile) => profile.settings.as_ref(),
        _ => None,
    };
    if let Some(sql) = settings {
        for setting in sql.replace.iter().flatten().chain(&sql.add).chain(&sql.modify) {
            check_setting(session, setting)?;
        }
    }
    let names = |set: &Option<ast::RoleSet>| {
        set.iter().flat_map(|set| set.names.iter().chain(&set.except)).cloned().collect::<Vec<_>>()
    };
    let (to, roles) = match definition {
        AccessDefinition::User(user) => (names(&user.grantees), names(&user.default_roles)),
        AccessDefinition::Quota(quota) => (names(&quota.to), Vec::new()),
        AccessDefinition::RowPolicy(policy) => {
            if let Some(Some(filter)) = &policy.using {
                check_filter(session, filter)?;
            }
            (names(&policy.to), Vec::new())
        }
        AccessDefinition::SettingsProfile(profile) => (names(&profile.to), Vec::new()),
        _ => (Vec::new(), Vec::new()),
    };
    for name in to.iter().map(name_of).filter(|name| name != "ANY") {
        if entities.user(&name).is_none() && entities.role(&name).is_none() {
            return Err(unknown(AccessEntityKind::Role, &name));
        }
    }
    for name in roles.iter().map(name_of) {
        entities.get(AccessEntityKind::Role, &name)?;
    }
    Ok(())
}

fn check_setting(session: &Session, setting: &AccessSetting) -> Result<()> {
    match setting {
        AccessSetting::Profile(name) => {
            session.entities().get(AccessEntityKind::SettingsProfile, name)?;
        }
        AccessSetting::Setting { name, value, min, max, disallowed, .. } => {
            if Settings::description(name).is_none() {
                return Err(Error::new(ErrorCode::UNKNOWN_SETTING, format!("Unknown setting '{name}'")));
            }
            for bound in min.iter().chain(max).chain(disallowed) {
                Settings::default().set(name, &literal_text(bound)?)?;
            }
            if let Some(value) = value {
                let text = literal_text(value)?;
                Settings::default().set(name, &text)?;
                session.check_setting(name, &text)?;
            }
        }
    }
    Ok(())
}

/// A condition is kept as text and read again, with the rights of who reads the table. One that asks other tables would tell its maker, by
/// what comes out for others, of rows that they alone may read: so who makes it must be able to read everything.
fn check_filter(session: &Session, filter: &ast::Expression) -> Result<()> {
    let text = squall_sql::format_expression(filter);
    squall_sql::parse_expression(&text, &squall_sql::ParserLimits::default())
        .map_err(crate::query::plan::parsing::syntax_error)?;
    if reads_tables(&text) { session.access.check_everywhere(Privilege::Select) } else { Ok(()) }
}

/// Whether a condition has a subquery, or a table after IN.
fn reads_tables(condition: &str) -> bool {
    let tokens = plain_tokens(condition);
    let is_name = |at: usize| {
        let kind = |at: usize| tokens.get(at).map(|token| token.kind);
        kind(at) == Some(PlainKind::Word) && kind(at + 1) != Some(PlainKind::Open)
    };
    tokens.iter().enumerate().any(|(at, token)| {
        let word = condition.get(token.start..token.end).unwrap_or_default();
        let is_membership = MEMBERSHIPS.iter().any(|name| name.eq_ignore_ascii_case(word));
        let after = at + 1;
        let inside = after + usize::from(tokens.get(after).is_some_and(|token| token.kind == PlainKind::Open));
        word.eq_ignore_ascii_case("select") || (is_membership && is_name(inside))
    })
}

fn define_one(
    session: &Session,
    statement: &ast::AccessEntity,
    name: &AccessEntityName,
    kind: AccessEntityKind,
    entities: &mut Entities,
) -> Result<()> {
    let settings = &session.server.config.load().server;
    let maker = Maker {
        user: &session.access.name,
        zone: session.server.time_zone_tz,
        bcrypt_work: settings.bcrypt_workfactor as u32,
        allows_no_password: settings.allow_no_password,
    };
    let full = full_name(session, name);
    let known = entities.find(kind, &full).cloned();
    match statement.action {
        AccessAction::Alter { if_exists } => {
            if known.is_none() {
                return if if_exists { Ok(()) } else { Err(unknown(kind, &full)) };
            }
            entities.change(kind, &full, |definition| definition.alter(&statement.definition, &maker, false))?;
            let Some(new_name) = &statement.new_name else { return Ok(()) };
            if RESERVED.contains(&new_name.to_ascii_lowercase().as_str()) || new_name.is_empty() {
                return Err(bad(format!("'{new_name}' cannot be a name")));
            }
            let mut renamed = (**entities.get(kind, &full)?).clone();
            renamed.name = match &mut renamed.definition {
                Definition::RowPolicy(policy) => {
                    new_name.clone_into(&mut policy.short_name);
                    policy_name(new_name, &policy.database, &policy.table)
                }
                _ => new_name.as_str().into(),
            };
            entities.rename(kind, &full, renamed)
        }
        AccessAction::Create(mode) => {
            let replaces = matches!(mode, CreateMode::CreateOrReplace | CreateMode::Replace);
            match known {
                Some(_) if mode == CreateMode::IfNotExists => return Ok(()),
                Some(known) if !replaces => return Err(already_exists(kind, &full, known.storage)),
                Some(known) if known.storage == Storage::UsersXml => {
                    return Err(already_exists(kind, &full, known.storage));
                }
                _ => {}
            }
            // A name of a user and of a role would be two in one set of names.
            let other = match kind {
                AccessEntityKind::User => Some(AccessEntityKind::Role),
                AccessEntityKind::Role => Some(AccessEntityKind::User),
                _ => None,
            };
            if let Some(other) = other.and_then(|other| entities.find(other, &full)) {
                return Err(already_exists(other.definition.kind(), &full, other.storage));
            }
            let definition = Definition::new(&statement.definition, name, &session.database, &maker)?;
            entities.put(Entity { id: Uuid::new_v4(), name: full, storage: Storage::LocalDirectory, definition });
            Ok(())
        }
        AccessAction::Attach => Err(Error::not_implemented("ATTACH of access entities")),
    }
}

/// Runs DROP.
pub(in crate::query) async fn drop(session: &Session, statement: &ast::DropAccessEntity) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let kind = statement.kind;
    let [_, _, drop, _] = privileges(kind)?;
    statement.names.iter().try_for_each(|name| check(session, drop, kind, name))?;
    let names: Vec<Arc<str>> = statement.names.iter().map(|name| full_name(session, name)).collect();
    let (server, if_exists) = (session.server.clone(), statement.if_exists);
    run_blocking(move || {
        server.access.change(|entities| {
            for name in &names {
                if if_exists && entities.find(kind, name).is_none() {
                    continue;
                }
                entities.remove(kind, name)?;
            }
            Ok(())
        })
    })
    .await?;
    Ok(Answer::Done)
}

/// Runs MOVE: there is one storage that SQL can write.
pub(in crate::query) fn move_entities(session: &Session, statement: &ast::MoveAccessEntity) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let [create, _, drop, _] = privileges(statement.kind)?;
    for name in &statement.names {
        check(session, create, statement.kind, name)?;
        check(session, drop, statement.kind, name)?;
        let entity = session.entities().get(statement.kind, &full_name(session, name))?;
        if statement.to.value != entity.storage.name() || entity.storage != Storage::LocalDirectory {
            return Err(Error::new(
                ErrorCode::ACCESS_STORAGE_READONLY,
                format!("Cannot move `{}` from {} to {}", entity.name, entity.storage.name(), statement.to.value),
            ));
        }
    }
    Ok(Answer::Done)
}

/// The users and roles that a set names; each must be there.
fn grantees(session: &Session, set: &ast::RoleSet) -> Result<Vec<(AccessEntityKind, String)>> {
    let entities = session.entities();
    let names = Names::of_sql(set, &session.access.name);
    if names.all {
        let of = |kind| entities.of_kind(kind).map(move |entity| (kind, entity.name.to_string()));
        let all = of(AccessEntityKind::User).chain(of(AccessEntityKind::Role));
        return Ok(all.filter(|(_, name)| names.contains(name)).collect());
    }
    let found = names.names.into_iter().map(|name| {
        let kind = if entities.user(&name).is_some() { AccessEntityKind::User } else { AccessEntityKind::Role };
        entities.get(kind, &name)?;
        Ok((kind, name))
    });
    found.collect()
}

/// What GRANT or REVOKE does to the rights of one grantee, and to the roles that it has.
type Act = dyn Fn(&mut Rights, &mut std::collections::BTreeMap<String, bool>) + Send + Sync;

/// Runs GRANT and REVOKE.
pub(in crate::query) async fn grant(session: &Session, statement: &ast::Grant) -> Result<Answer> {
    refuse_cluster(&statement.cluster)?;
    let to = grantees(session, &statement.grantees)?;
    let access = session.access.clone();
    if !statement.revoke {
        to.iter().try_for_each(|(_, name)| access.check_grantee(name))?;
    }
    let act: Arc<Act> = match &statement.granted {
        Granted::Privileges(privileges) => {
            let parts = grant::parse(privileges, &session.database)?;
            let changes: Vec<_> = parts
                .into_iter()
                .map(|(target, set)| {
                    access.check_grant_option(&target, set)?;
                    let change = match (statement.revoke, statement.grant_option) {
                        (false, with_option) => Change::Grant(set, with_option),
                        (true, false) => Change::Revoke(set),
                        (true, true) => Change::RevokeOption(set),
                    };
                    Ok((target, change))
                })
                .collect::<Result<_>>()?;
            let replaces = statement.replace_option;
            Arc::new(move |rights, _| {
                if replaces {
                    *rights = Rights::default();
                }
                changes.iter().for_each(|(target, change)| rights.change(target, *change));
            })
        }
        Granted::CurrentGrants(privileges) => {
            let current = current_grants(&access, privileges, &session.database)?;
            let with_option = statement.grant_option;
            Arc::new(move |rights, _| {
                for said in current.statements() {
                    if let Change::Grant(set, _) = said.change {
                        rights.change(&said.target, Change::Grant(set, with_option));
                    } else if let Change::Revoke(set) = said.change {
                        rights.change(&said.target, Change::Revoke(set));
                    }
                }
            })
        }
        Granted::Roles(set) => {
            let names = Names::of_sql(set, &access.name);
            let roles: Vec<String> = if names.all {
                let all = session.entities().roles().map(|(entity, _)| entity.name.to_string());
                all.filter(|name| names.contains(name)).collect()
            } else {
                names.names.into_iter().collect()
            };
            for role in &roles {
                session.entities().get(AccessEntityKind::Role, role)?;
                // All that somebody has is taken away by whoever may take away some of it.
                if !set.all {
                    access.check_admin_option(role)?;
                }
            }
            let roles: Vec<String> = roles.into_iter().filter(|role| access.check_admin_option(role).is_ok()).collect();
            let (revoke, admin_option, replaces) = (statement.revoke, statement.admin_option, statement.replace_option);
            Arc::new(move |_, granted| {
                if replaces {
                    granted.clear();
                }
                for role in &roles {
                    match (revoke, admin_option) {
                        (true, false) => _ = granted.remove(role),
                        (true, true) => _ = granted.get_mut(role).map(|with| *with = false),
                        (false, with) => {
                            let kept = granted.entry(role.clone()).or_default();
                            *kept |= with;
                        }
                    }
                }
            })
        }
    };
    let server = session.server.clone();
    run_blocking(move || {
        server.access.change(|entities| {
            for (kind, name) in &to {
                entities.change(*kind, name, |definition| {
                    if let Definition::User(User { rights, roles, .. }) | Definition::Role(Role { rights, roles, .. }) =
                        definition
                    {
                        act(rights, roles);
                    }
                    Ok(())
                })?;
                check_no_circle(entities, name)?;
            }
            Ok(())
        })
    })
    .await?;
    Ok(Answer::Done)
}

/// A role must not have itself.
fn check_no_circle(entities: &Entities, name: &str) -> Result<()> {
    let Some((_, role)) = entities.role(name) else { return Ok(()) };
    let had = entities.with_their_roles(role.roles.iter().map(|(name, with)| (name.clone(), *with)));
    if had.contains_key(name) {
        return Err(bad(format!("Role {name} would be granted to itself")));
    }
    Ok(())
}

/// What may be passed on of what was asked for.
fn current_grants(access: &Access, asked: &[ast::PrivilegeGrant], database: &str) -> Result<Rights> {
    let passable = access.rights().passable();
    if asked.is_empty() {
        return Ok(passable);
    }
    let mut wanted = Rights::default();
    for (target, set) in grant::parse(asked, database)? {
        wanted.change(&target, Change::Grant(set, true));
    }
    Ok(passable.common(&wanted))
}

/// Runs SET ROLE and SET DEFAULT ROLE.
pub(in crate::query) async fn set_role(session: &mut Session, statement: &SetRole) -> Result<Answer> {
    match statement {
        SetRole::Default => session.set_roles(RoleChoice::Default)?,
        SetRole::Roles(set) => {
            let names = Names::of_sql(set, &session.access.name);
            let granted = session.entities().granted_roles(AccessEntityKind::User, &session.access.name);
            let chosen: BTreeSet<String> =
                if names.all { granted.into_iter().filter(|name| names.contains(name)).collect() } else { names.names };
            for name in &chosen {
                session.entities().get(AccessEntityKind::Role, name)?;
            }
            session.set_roles(RoleChoice::These(chosen))?;
        }
        SetRole::DefaultFor { roles, users, current_user } => {
            let mut names: Vec<String> = users.iter().map(name_of).collect();
            if *current_user {
                names.push(session.access.name.to_string());
            }
            let default_roles = Names::of_sql(roles, &session.access.name);
            for user in &names {
                // One's own default roles are one's own matter.
                if **user != *session.access.name {
                    session.access.check(Privilege::AlterUser, &[user])?;
                }
                let granted = session.entities().granted_roles(AccessEntityKind::User, user);
                session.entities().get(AccessEntityKind::User, user)?;
                for role in &default_roles.names {
                    session.entities().get(AccessEntityKind::Role, role)?;
                    if !granted.contains(role) {
                        return Err(Error::new(
                            ErrorCode::SET_NON_GRANTED_ROLE,
                            format!("Role {role} should be granted to set default role"),
                        ));
                    }
                }
            }
            let server = session.server.clone();
            run_blocking(move || {
                server.access.change(|entities| {
                    names.iter().try_for_each(|name| {
                        entities.change(AccessEntityKind::User, name, |definition| {
                            if let Definition::User(user) = definition {
                                user.default_roles = default_roles.clone();
                            }
                            Ok(())
                        })
                    })
                })
            })
            .await?;
        }
    }
    Ok(Answer::Done)
}
