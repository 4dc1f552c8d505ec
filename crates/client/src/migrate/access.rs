//! Users, roles, row policies, quotas and settings profiles on their way: the source's SHOW ACCESS, run at the target. What the target has
//! under the same name stays as it is, with the rights that it has there.

use std::collections::HashSet;

use squall_sql::ast::{
    AccessDefinition, AccessEntity, AuthenticationArgument, AuthenticationMethod, Grant, Granted, Literal, Statement,
    UserDefinition,
};
use squall_sql::{ParserLimits, format_one_line, parse};
use squall_types::{Error, ErrorCode, Result};
use uuid::Uuid;

use super::Missing;
use super::journal::Journal;
use crate::sentence;
use crate::session::{Session, ask};

/// Brings the source's users and their like, and returns what did not come.
///
/// # Errors
/// Where the journal cannot be written.
pub fn bring(source: &mut dyn Session, target: &mut dyn Session, journal: &Journal) -> Result<Vec<Missing>> {
    let shown = match ask(source, "SHOW ACCESS") {
        Ok(rows) => rows,
        Err(error) if error.code == ErrorCode::SYNTAX_ERROR => {
            eprintln!("Users: the source keeps them in files, which squall server --config-file reads");
            return Ok(Vec::new());
        }
        Err(error) => return Ok(vec![Missing { name: "users".into(), reason: sentence(&error) }]),
    };
    let mut missing = Vec::new();
    let (mut entities, mut grants) = (Vec::new(), Vec::new());
    for text in shown.into_iter().flatten() {
        match parse(&text, &ParserLimits::default()) {
            Ok(Statement::AccessEntity(entity)) => entities.push(*entity),
            Ok(Statement::Grant(grant)) => grants.extend(of_one_privilege(*grant)),
            Ok(_) => missing.push(Missing { name: text, reason: "It is no statement of access control".into() }),
            Err(error) => missing.push(Missing { name: text, reason: error.to_string() }),
        }
    }
    let created = create_all(target, entities, journal, &mut missing)?;
    for mut grant in grants {
        // Nobody whom the target had before gets a right by a migration.
        grant.grantees.names.retain(|grantee| created.contains(&grantee.name.value));
        if grant.grantees.names.is_empty() {
            continue;
        }
        let text = format_one_line(&Statement::Grant(Box::new(grant)));
        if let Err(error) = ask(target, &text) {
            missing.push(Missing { name: text, reason: sentence(&error) });
        }
    }
    Ok(missing)
}

/// Creates entities at the target. Returns the names of the users and roles that this run or an earlier one has created.
fn create_all(
    target: &mut dyn Session,
    mut entities: Vec<AccessEntity>,
    journal: &Journal,
    missing: &mut Vec<Missing>,
) -> Result<HashSet<String>> {
    let (mut created, mut there) = (HashSet::new(), Vec::new());
    // An entity may name another that comes later, so those that fail are tried again while others succeed.
    loop {
        let tried = entities.len();
        let mut failed = Vec::new();
        for entity in entities {
            let name = name(&entity);
            if journal.is_done(&name) {
                created.extend(names(&entity));
                continue;
            }
            // The source's folders of users are not the target's.
            let mut wanted = AccessEntity { storage: None, ..entity.clone() };
            let is_locked = match &mut wanted.definition {
                AccessDefinition::User(user) => lock_without_password(user),
                _ => false,
            };
            match ask(target, &format_one_line(&Statement::AccessEntity(Box::new(wanted)))) {
                Ok(_) => {
                    journal.done(&name, 0)?;
                    created.extend(names(&entity));
                    if is_locked {
                        let reason =
                            "Its password did not come, since the source does not show it: set one with ALTER USER";
                        missing.push(Missing { name, reason: reason.into() });
                    }
                }
                Err(Error { code: ErrorCode::ACCESS_ENTITY_ALREADY_EXISTS, .. }) => there.push(name),
                Err(error) => failed.push((entity, error)),
            }
        }
        if failed.is_empty() || failed.len() == tried {
            missing
                .extend(failed.iter().map(|(entity, error)| Missing { name: name(entity), reason: sentence(error) }));
            break;
        }
        entities = failed.into_iter().map(|(entity, _)| entity).collect();
    }
    if !there.is_empty() {
        eprintln!("The target has these already, and they stay as they are: {}", there.join(", "));
    }
    Ok(created)
}

/// Takes away the ways to log in whose password the source does not show. Where none is left nobody can log in: the user gets a hash that is
/// no known password's. Returns whether that is so.
fn lock_without_password(user: &mut UserDefinition) -> bool {
    let hidden = |method: &AuthenticationMethod| {
        let kind = method.method.as_deref().unwrap_or_default();
        kind.ends_with("_password") && kind != "no_password" && method.arguments.is_empty()
    };
    let Some(first) = user.authentication.iter().find(|method| hidden(method)).cloned() else { return false };
    user.authentication.retain(|method| !hidden(method));
    if !user.authentication.is_empty() {
        return false;
    }
    let hash = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
    let by = AuthenticationArgument { keyword: "BY".into(), value: Literal::String(hash.into_bytes()) };
    user.authentication = vec![AuthenticationMethod {
        method: Some("sha256_hash".into()),
        arguments: vec![by],
        valid_until: first.valid_until,
    }];
    true
}

/// A GRANT as one for each privilege, so that a privilege that the target does not know leaves out no other.
fn of_one_privilege(grant: Grant) -> Vec<Grant> {
    let Granted::Privileges(granted) = &grant.granted else { return vec![grant] };
    let each = granted.iter().flat_map(|on| {
        on.privileges.iter().map(|privilege| {
            let privileges = vec![privilege.clone()];
            squall_sql::ast::PrivilegeGrant { privileges, target: on.target.clone() }
        })
    });
    each.map(|one| Grant { granted: Granted::Privileges(vec![one]), ..grant.clone() }).collect()
}

/// The names by which grants speak of these users or roles.
fn names(entity: &AccessEntity) -> impl Iterator<Item = String> {
    let named = matches!(entity.definition, AccessDefinition::User(_) | AccessDefinition::Role(_));
    entity.names.iter().filter(move |_| named).map(|name| name.name.value.clone())
}

/// What the journal and messages call it: `user alice`, `row policy own ON shop.orders`.
fn name(entity: &AccessEntity) -> String {
    let kind = match entity.definition {
        AccessDefinition::User(_) => "user",
        AccessDefinition::Role(_) => "role",
        AccessDefinition::Quota(_) => "quota",
        AccessDefinition::RowPolicy(_) => "row policy",
        AccessDefinition::MaskingPolicy(_) => "masking policy",
        AccessDefinition::SettingsProfile(_) => "settings profile",
    };
    let names: Vec<String> = entity
        .names
        .iter()
        .map(|name| match &name.table {
            None => name.name.value.clone(),
            Some(table) => {
                let database = table.database.as_ref().map(|database| format!("{}.", database.value));
                format!("{} ON {}{}", name.name.value, database.unwrap_or_default(), table.table.value)
            }
        })
        .collect();
    format!("{kind} {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(text: &str) -> AccessEntity {
        match parse(text, &ParserLimits::default()).unwrap() {
            Statement::AccessEntity(entity) => *entity,
            other => panic!("{other:?}"),
        }
    }

    fn user(text: &str) -> UserDefinition {
        match entity(text).definition {
            AccessDefinition::User(user) => *user,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_hidden_password_becomes_one_that_nobody_knows() {
        let mut hidden = user("CREATE USER a IDENTIFIED WITH sha256_password HOST LOCAL");
        assert!(lock_without_password(&mut hidden));
        let [method] = &hidden.authentication[..] else { panic!("{hidden:?}") };
        assert_eq!(method.method.as_deref(), Some("sha256_hash"));
        assert!(matches!(&method.arguments[0].value, Literal::String(hash) if hash.len() == 64));
        for whole in ["no_password", "sha256_hash BY 'aa'", "ldap SERVER 'x'", "bcrypt_password, ldap SERVER 'x'"] {
            let mut user = user(&format!("CREATE USER a IDENTIFIED WITH {whole}"));
            assert!(!lock_without_password(&mut user), "{whole}");
            assert_eq!(user.authentication.len(), 1);
            assert_ne!(user.authentication[0].method.as_deref(), Some("bcrypt_password"));
        }
    }

    #[test]
    fn entities_are_called_by_kind_and_name() {
        assert_eq!(name(&entity("CREATE ROW POLICY p ON d.t USING 1")), "row policy p ON d.t");
        assert_eq!(name(&entity("CREATE SETTINGS PROFILE `x y`")), "settings profile x y");
        assert_eq!(names(&entity("CREATE QUOTA q")).count(), 0);
    }

    #[test]
    fn each_privilege_is_granted_by_itself() {
        let Ok(Statement::Grant(grant)) =
            parse("GRANT SELECT(a, b), INSERT ON d.t TO u WITH GRANT OPTION", &ParserLimits::default())
        else {
            panic!()
        };
        let texts: Vec<String> =
            of_one_privilege(*grant).into_iter().map(|one| format_one_line(&Statement::Grant(Box::new(one)))).collect();
        assert_eq!(
            texts,
            ["GRANT SELECT(a, b) ON d.t TO u WITH GRANT OPTION", "GRANT INSERT ON d.t TO u WITH GRANT OPTION"]
        );
    }
}
