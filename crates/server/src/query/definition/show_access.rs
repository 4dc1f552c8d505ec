//! SHOW of who may do what: grants, users, roles and the rest, and the statements that would make them again.

use std::collections::BTreeSet;
use std::sync::Arc;

use squall_engine::QueryContext;
use squall_sql::ast::{self, AccessEntityKind, Statement};
use squall_types::{Column, Result};

use super::access::{full_name, show_privilege};
use super::describe;
use super::show;
use crate::access::{
    Definition, Entity, Names, Privilege, Rights, Role, RoleChoice, User, grant, role_statements, unknown,
};
use crate::query::Answer;
use crate::session::Session;
use crate::system::quote;

/// The statements that make the rights and roles of an entity.
fn grants_of(entity: &Entity) -> Vec<String> {
    match &entity.definition {
        Definition::User(User { rights, roles, .. }) | Definition::Role(Role { rights, roles, .. }) => {
            let mut statements = grant::statements(rights, &entity.name);
            statements.extend(role_statements(roles, &entity.name));
            statements
        }
        _ => Vec::new(),
    }
}

/// Runs SHOW GRANTS.
pub(in crate::query) fn grants(
    session: &Session,
    of: Option<&ast::Grantees>,
    with_implicit: bool,
    is_final: bool,
) -> Result<Answer> {
    let access = &session.access;
    let names = of.map(|set| Names::of_sql(set, &access.name));
    let is_own = |name: &str| *name == *access.name || access.enabled_roles.contains_key(name);
    let entities = session.entities();
    let mut shown: Vec<Arc<Entity>> = Vec::new();
    match names {
        None => shown.extend(entities.user(&access.name).map(|(entity, _)| entity.clone())),
        Some(names) if names.all => {
            let all = entities.users().map(|(entity, _)| entity).chain(entities.roles().map(|(entity, _)| entity));
            let may_see = |entity: &Entity| {
                is_own(&entity.name)
                    || show_privilege(entity.definition.kind()).is_ok_and(|privilege| access.has(privilege.set(), &[]))
            };
            shown.extend(all.filter(|entity| names.contains(&entity.name) && may_see(entity)).cloned());
        }
        Some(names) => {
            for name in &names.names {
                let found = entities
                    .user(name)
                    .map(|(entity, _)| entity)
                    .or_else(|| entities.role(name).map(|(entity, _)| entity));
                if !is_own(name) {
                    let kind = found.map_or(AccessEntityKind::User, |entity| entity.definition.kind());
                    access.check(show_privilege(kind)?, &[])?;
                }
                shown.push(found.ok_or_else(|| unknown(AccessEntityKind::Role, name))?.clone());
            }
        }
    }
    let mut lines = Vec::new();
    for entity in &shown {
        if !is_final && !with_implicit {
            lines.extend(grants_of(entity));
            continue;
        }
        // FINAL: with what the default roles bring.
        let mut rights = Rights::default();
        match &entity.definition {
            Definition::User(_) => {
                let whole = if *entity.name == *access.name {
                    access.clone()
                } else {
                    session.server.access.load().access(&entity.name, &RoleChoice::Default)?
                };
                rights.add(whole.rights());
            }
            Definition::Role(role) => {
                rights.add(&role.rights);
                for name in
                    entities.with_their_roles(role.roles.iter().map(|(name, with)| (name.clone(), *with))).keys()
                {
                    if let Some((_, role)) = entities.role(name) {
                        rights.add(&role.rights);
                    }
                }
            }
            _ => {}
        }
        lines.extend(grant::statements(&rights, &entity.name));
    }
    let title = match &shown[..] {
        [one] => format!("GRANTS FOR {}", quote(&one.name)),
        _ => "GRANTS".to_owned(),
    };
    let title = if of.is_none() { "GRANTS".to_owned() } else { title };
    describe::answer([(title.as_str(), Column::from_strings(lines))])
}

/// Runs SHOW CREATE of users and their kin.
pub(in crate::query) fn create(
    session: &Session,
    kind: AccessEntityKind,
    names: &[ast::AccessEntityName],
    all: bool,
) -> Result<Answer> {
    let entities = session.entities();
    let access = &session.access;
    let names: Vec<Arc<str>> = match (all, names) {
        (true, []) => entities.of_kind(kind).map(|entity| entity.name.clone()).collect(),
        (false, []) => match kind {
            AccessEntityKind::User => vec![access.name.clone()],
            AccessEntityKind::Role => access.current_roles.iter().map(|name| name.as_str().into()).collect(),
            AccessEntityKind::Quota => access.quota.iter().map(|quota| quota.name.clone()).collect(),
            _ => entities.of_kind(kind).map(|entity| entity.name.clone()).collect(),
        },
        (_, names) => names.iter().map(|name| full_name(session, name)).collect(),
    };
    let mut lines = Vec::new();
    for name in &names {
        let is_own = match kind {
            AccessEntityKind::User => *name == access.name && !all,
            AccessEntityKind::Role => access.enabled_roles.contains_key(&**name),
            AccessEntityKind::Quota => access.quota.as_ref().is_some_and(|quota| quota.name == *name),
            _ => false,
        };
        if !is_own {
            access.check(show_privilege(kind)?, &[])?;
        }
        lines.push(create_text(entities.get(kind, name)?));
    }
    let title = match &names[..] {
        [one] => format!("CREATE {} {}", kind.keywords(), quote(one)),
        _ => "CREATE".to_owned(),
    };
    describe::answer([(title.as_str(), Column::from_strings(lines))])
}

fn create_text(entity: &Entity) -> String {
    let statement = entity.definition.create_statement(&entity.name, false);
    squall_sql::format_one_line(&Statement::AccessEntity(Box::new(statement)))
}

/// Runs SHOW ACCESS.
pub(in crate::query) fn access(session: &Session) -> Result<Answer> {
    session.access.check_everywhere(Privilege::ShowAccess)?;
    let entities = session.entities();
    let mut lines: Vec<String> = entities.all().map(|entity| create_text(entity)).collect();
    for kind in [AccessEntityKind::User, AccessEntityKind::Role] {
        lines.extend(entities.of_kind(kind).flat_map(|entity| grants_of(entity)));
    }
    describe::answer([("ACCESS", Column::from_strings(lines))])
}

/// Runs SHOW USERS, ROLES, PROFILES, POLICIES and QUOTAS.
pub(in crate::query) async fn entities(
    session: &Session,
    kind: AccessEntityKind,
    only: (bool, bool),
    table: Option<&ast::TableName>,
    short_name: Option<&str>,
    context: &Arc<QueryContext>,
) -> Result<Answer> {
    let (current, enabled) = only;
    let access = &session.access;
    match kind {
        AccessEntityKind::Role if current => {
            return show::run_select(
                session,
                &show::query("SELECT * FROM system.current_roles ORDER BY role_name")?,
                context,
            )
            .await;
        }
        AccessEntityKind::Role if enabled => {
            return show::run_select(
                session,
                &show::query("SELECT * FROM system.enabled_roles ORDER BY role_name")?,
                context,
            )
            .await;
        }
        AccessEntityKind::Quota if current => {
            return show::run_select(session, &show::query("SELECT * FROM system.quota_usage")?, context).await;
        }
        _ => {}
    }
    let may_see_all = access.has(show_privilege(kind)?.set(), &[]);
    if !may_see_all {
        access.check(show_privilege(kind)?, &[])?;
    }
    let entities = session.entities().of_kind(kind);
    let names: BTreeSet<String> = match kind {
        AccessEntityKind::RowPolicy => {
            let database = |table: &ast::TableName| {
                table.database.as_ref().map_or(&*session.database, |database| &*database.value).to_owned()
            };
            entities
                .filter_map(|entity| match &entity.definition {
                    Definition::RowPolicy(policy) => Some((entity, policy)),
                    _ => None,
                })
                .filter(|(_, policy)| short_name.is_none_or(|name| policy.short_name == name))
                .filter(|(_, policy)| {
                    table.is_none_or(|table| policy.database == database(table) && policy.table == table.table.value)
                })
                .map(
                    |(entity, policy)| {
                        if table.is_some() { policy.short_name.clone() } else { entity.name.to_string() }
                    },
                )
                .collect()
        }
        _ => entities.map(|entity| entity.name.to_string()).collect(),
    };
    describe::answer([("name", Column::from_strings(names))])
}
