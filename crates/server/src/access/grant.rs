//! GRANT and REVOKE between SQL and rights: what privileges on a target mean, and rights as the statements that ClickHouse shows.

use std::collections::BTreeMap;

use squall_sql::ast::{PrivilegeGrant, PrivilegeTarget};
use squall_types::{Error, ErrorCode, Result};

use super::privilege::{Level, Privilege};
use super::privilege_set::PrivilegeSet;
use super::rights::{Change, Rights, Said, Target};
use crate::system::quote;

/// The kinds of things that grants are about, in the order in which ClickHouse shows them.
const KINDS: [&[Level]; 6] = [
    &[Level::Global, Level::Database, Level::Table, Level::Dictionary, Level::View, Level::Column],
    &[Level::Source],
    &[Level::TableEngine],
    &[Level::Definer],
    &[Level::UserName],
    &[Level::NamedCollection],
];

/// Reading and writing sources.
fn sources() -> PrivilegeSet {
    [Privilege::Read, Privilege::Write].into_iter().collect()
}

/// The targets of GRANT or REVOKE, with what is granted on each.
///
/// # Errors
/// `UNKNOWN_ACCESS_TYPE`, `INVALID_GRANT` for what cannot be about such a target.
pub fn parse(grants: &[PrivilegeGrant], database: &str) -> Result<Vec<(Target, PrivilegeSet)>> {
    let mut found: BTreeMap<Target, PrivilegeSet> = BTreeMap::new();
    for grant in grants {
        for privilege in &grant.privileges {
            if matches!(privilege.name.as_str(), "NONE" | "USAGE" | "NO PRIVILEGES") {
                continue;
            }
            let known = Privilege::named(&privilege.name).ok_or_else(|| {
                Error::new(ErrorCode::UNKNOWN_ACCESS_TYPE, format!("Unknown access type: {}", privilege.name))
            })?;
            let (target, set) = target_of(known, &grant.target, database);
            if set.is_empty() {
                let level = ["global", "database", "table", "column"][target.path.len().min(3)];
                let message = format!("{known} cannot be granted on the {level} level");
                return Err(Error::new(ErrorCode::INVALID_GRANT, message));
            }
            if privilege.columns.is_empty() {
                let all = found.entry(target).or_default();
                *all = all.or(set);
                continue;
            }
            let of_columns = set.and(PrivilegeSet::of_levels(|level| level == Level::Column));
            if of_columns.is_empty() || target.path.len() != 2 || target.is_prefix {
                let message = format!("{known} cannot be granted on the column level");
                return Err(Error::new(ErrorCode::INVALID_GRANT, message));
            }
            for column in &privilege.columns {
                let mut target = target.clone();
                target.path.push(column.value.as_str().into());
                let all = found.entry(target).or_default();
                *all = all.or(of_columns);
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// What a privilege on a target is about, and what of it can be.
fn target_of(privilege: Privilege, target: &PrivilegeTarget, current: &str) -> (Target, PrivilegeSet) {
    let all = privilege.set();
    let is_parameter = all.iter().all(|privilege| privilege.level().is_parameter());
    let (path, is_prefix): (Vec<&str>, bool) = match target {
        PrivilegeTarget::Everything => (Vec::new(), false),
        PrivilegeTarget::Database { database: None, .. } if is_parameter => (Vec::new(), false),
        PrivilegeTarget::Database { database, prefix } => (vec![database.as_deref().unwrap_or(current)], *prefix),
        PrivilegeTarget::Table { database: None, table, prefix } if is_parameter => (vec![table], *prefix),
        PrivilegeTarget::Table { database, table, prefix } => {
            (vec![database.as_deref().unwrap_or(current), table], *prefix)
        }
    };
    if path.is_empty() && privilege == Privilege::Sources {
        return (Target::default(), sources());
    }
    if path.is_empty() && privilege.names_source() {
        return (Target::new(&[privilege.name()]), sources());
    }
    let target = Target { is_prefix, ..Target::new(&path) };
    let depth = path.len();
    let can_be =
        PrivilegeSet::of_levels(|level| level.depth() >= depth && (depth == 0 || level.is_parameter() == is_parameter));
    (target, all.and(can_be))
}

/// A part of a statement: the privileges, perhaps with columns, and the target.
struct Part {
    target: Target,
    kind: usize,
    change: Change,
    /// Of each privilege its columns, where it is not the whole table.
    columns: BTreeMap<&'static str, Vec<String>>,
}

/// The statements that make rights, as SHOW GRANTS has them; `name` is who has the rights.
pub fn statements(rights: &Rights, name: &str) -> Vec<String> {
    let mut parts: Vec<Part> = Vec::new();
    for said in rights.statements() {
        for (kind, levels) in KINDS.iter().enumerate() {
            let of_kind = PrivilegeSet::of_levels(|level| levels.contains(&level));
            let change = match said.change {
                Change::Grant(set, with_option) => Change::Grant(set.and(of_kind), with_option),
                Change::Revoke(set) => Change::Revoke(set.and(of_kind)),
                Change::RevokeOption(set) => Change::RevokeOption(set.and(of_kind)),
            };
            if set_of(change).is_empty() {
                continue;
            }
            add_part(&mut parts, &said, kind, change);
        }
    }
    parts.iter().map(|part| statement(part, name)).collect()
}

fn set_of(change: Change) -> PrivilegeSet {
    let (Change::Grant(set, _) | Change::Revoke(set) | Change::RevokeOption(set)) = change;
    set
}

/// Adds a part; columns of a table are said in one.
fn add_part(parts: &mut Vec<Part>, said: &Said, kind: usize, change: Change) {
    let [above @ .., column] = &said.target.path[..] else {
        parts.push(Part { target: said.target.clone(), kind, change, columns: BTreeMap::new() });
        return;
    };
    if above.len() < 2 {
        parts.push(Part { target: said.target.clone(), kind, change, columns: BTreeMap::new() });
        return;
    }
    let same_action = |known: &Change| match (known, &change) {
        (Change::Grant(_, left), Change::Grant(_, right)) => left == right,
        (left, right) => std::mem::discriminant(left) == std::mem::discriminant(right),
    };
    let found = parts
        .iter()
        .position(|part| !part.columns.is_empty() && part.target.path == above && same_action(&part.change));
    let at = found.unwrap_or_else(|| {
        let target = Target { path: above.to_vec(), is_prefix: false };
        parts.push(Part { target, kind, change, columns: BTreeMap::new() });
        parts.len() - 1
    });
    if let Some(part) = parts.get_mut(at) {
        for privilege in set_of(change).names() {
            part.columns.entry(privilege.name()).or_default().push(column.to_string());
        }
    }
}

fn statement(part: &Part, name: &str) -> String {
    let set = set_of(part.change);
    let is_source = KINDS.get(part.kind).is_some_and(|levels| levels.contains(&Level::Source));
    let kind_of_source = match &part.target.path[..] {
        // Shown as in older versions, which is read as the same.
        [] if is_source && set == sources() => Some("SOURCES".to_owned()),
        [name] if is_source && set == sources() && !part.target.is_prefix => Privilege::named(name)
            .filter(|named| named.names_source() && *named.name() == **name)
            .map(|named| named.name().to_owned()),
        _ => None,
    };
    let (privileges, on) = match kind_of_source {
        Some(source) => (source, "*.*".to_owned()),
        None if part.columns.is_empty() => (set.to_string(), shown_target(&part.target, part.kind)),
        None => {
            let with_columns = part.columns.iter().map(|(privilege, columns)| {
                let mut columns: Vec<String> = columns.iter().map(|column| quote(column)).collect();
                columns.sort();
                format!("{privilege}({})", columns.join(", "))
            });
            (with_columns.collect::<Vec<_>>().join(", "), shown_target(&part.target, part.kind))
        }
    };
    let name = quote(name);
    match part.change {
        Change::Grant(_, true) => format!("GRANT {privileges} ON {on} TO {name} WITH GRANT OPTION"),
        Change::Grant(_, false) => format!("GRANT {privileges} ON {on} TO {name}"),
        Change::Revoke(_) => format!("REVOKE {privileges} ON {on} FROM {name}"),
        Change::RevokeOption(_) => format!("REVOKE GRANT OPTION FOR {privileges} ON {on} FROM {name}"),
    }
}

fn shown_target(target: &Target, kind: usize) -> String {
    let star = if target.is_prefix { "*" } else { "" };
    match &target.path[..] {
        [] if kind == 0 => "*.*".to_owned(),
        [] => "*".to_owned(),
        [database] if kind == 0 => format!("{}{star}.*", quote(database)),
        [name] => format!("{}{star}", quote(name)),
        [database, table, ..] => format!("{}.{}{star}", quote(database), quote(table)),
    }
}

/// What is lacking, in the words of the error `ACCESS_DENIED`: `SELECT(a, b) ON d.t`.
pub fn shown(set: PrivilegeSet, path: &[&str], columns: &[&str]) -> String {
    let privileges = if columns.is_empty() {
        set.to_string()
    } else {
        let columns = columns.iter().map(|column| quote(column)).collect::<Vec<_>>().join(", ");
        let names = set.names().into_iter().map(|privilege| format!("{privilege}({columns})"));
        names.collect::<Vec<_>>().join(", ")
    };
    let kind = match set.iter().next() {
        Some(first) => KINDS.iter().position(|levels| levels.contains(&first.level())).unwrap_or(0),
        None => 0,
    };
    format!("{privileges} ON {}", shown_target(&Target::new(path), kind))
}

/// One row of `system.grants`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrantRow {
    /// What is granted or taken away.
    pub privilege: Privilege,
    /// The source, user, collection or engine that it is about.
    pub object: Option<String>,
    /// The database.
    pub database: Option<String>,
    /// The table.
    pub table: Option<String>,
    /// The column.
    pub column: Option<String>,
    /// Whether it is taken away from what is granted more widely.
    pub is_partial_revoke: bool,
    /// Whether it is about passing on.
    pub grant_option: bool,
    /// Whether the last name stands for all that begin so.
    pub is_wildcard: bool,
}

/// The rows of `system.grants` for rights.
pub fn rows(rights: &Rights) -> Vec<GrantRow> {
    let mut rows = Vec::new();
    for said in rights.statements() {
        let (is_partial_revoke, grant_option) = match said.change {
            Change::Grant(_, with_option) => (false, with_option),
            Change::Revoke(_) => (true, false),
            Change::RevokeOption(_) => (true, true),
        };
        for levels in KINDS {
            let of_kind = set_of(said.change).and(PrivilegeSet::of_levels(|level| levels.contains(&level)));
            for privilege in of_kind.names() {
                let name = |at: usize| said.target.path.get(at).map(|name| name.to_string());
                let is_database = levels.contains(&Level::Database);
                rows.push(GrantRow {
                    privilege,
                    object: name(0).filter(|_| !is_database),
                    database: name(0).filter(|_| is_database),
                    table: name(1),
                    column: name(2),
                    is_partial_revoke,
                    grant_option,
                    is_wildcard: said.target.is_prefix,
                });
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use squall_sql::ast::{Granted, Statement};

    use super::*;

    /// Rights that statements make.
    fn made(statements: &[&str]) -> Result<Rights> {
        let mut rights = Rights::default();
        for text in statements {
            let verb = if text.starts_with("REVOKE") { "FROM" } else { "TO" };
            let (what, option) =
                text.split_once(" WITH ").map_or((*text, ""), |(what, _)| (what, " WITH GRANT OPTION"));
            let text = format!("{what} {verb} u{option}");
            let parsed = squall_sql::parse(text.as_bytes(), &squall_sql::ParserLimits::default()).unwrap();
            let Statement::Grant(grant) = parsed else { panic!("{text}") };
            let Granted::Privileges(privileges) = &grant.granted else { panic!("{text}") };
            for (target, set) in parse(privileges, "default")? {
                let change = if grant.revoke { Change::Revoke(set) } else { Change::Grant(set, grant.grant_option) };
                rights.change(&target, change);
            }
        }
        Ok(rights)
    }

    /// What ClickHouse 26.9 (chdb) shows for the same.
    #[test]
    fn rights_are_shown_as_clickhouse_shows_them() {
        let cases: &[(&[&str], &[&str])] = &[
            (&["GRANT FILE ON *.*"], &["GRANT FILE ON *.* TO u"]),
            (&["GRANT SOURCES ON *.*"], &["GRANT SOURCES ON *.* TO u"]),
            (
                &["GRANT SELECT ON *.*", "REVOKE SELECT ON d.*", "GRANT SELECT ON d.t", "REVOKE SELECT(x) ON d.t"],
                &[
                    "GRANT SELECT ON *.* TO u",
                    "REVOKE SELECT ON d.* FROM u",
                    "GRANT SELECT ON d.t TO u",
                    "REVOKE SELECT(x) ON d.t FROM u",
                ],
            ),
            (
                &["GRANT SELECT(x), INSERT(y,x) ON d.t", "GRANT SELECT(z) ON d.t"],
                &["GRANT INSERT(x, y), SELECT(x, z) ON d.t TO u"],
            ),
            (
                &["GRANT SELECT ON d*.*", "REVOKE SELECT ON de*.*"],
                &["GRANT SELECT ON d*.* TO u", "REVOKE SELECT ON de*.* FROM u"],
            ),
            (
                &["GRANT SELECT ON d.t*", "REVOKE SELECT ON d.tx", "GRANT INSERT ON d.*"],
                &["GRANT INSERT ON d.* TO u", "GRANT SELECT ON d.t* TO u", "REVOKE SELECT ON d.tx FROM u"],
            ),
            (
                &["GRANT CREATE ON d.*"],
                &["GRANT CREATE DATABASE, CREATE TABLE, CREATE VIEW, CREATE DICTIONARY ON d.* TO u"],
            ),
            (
                &["GRANT CREATE USER ON u*", "GRANT CREATE USER ON ab"],
                &["GRANT CREATE USER ON ab TO u", "GRANT CREATE USER ON u* TO u"],
            ),
            (
                &["GRANT ACCESS MANAGEMENT ON *.*"],
                &[
                    "GRANT CREATE TOKEN, ROLE ADMIN, CREATE ROW POLICY, ALTER ROW POLICY, DROP ROW POLICY, CREATE MASKING POLICY, \
                     ALTER MASKING POLICY, DROP MASKING POLICY, CREATE QUOTA, ALTER QUOTA, DROP QUOTA, CREATE SETTINGS PROFILE, \
                     ALTER SETTINGS PROFILE, DROP SETTINGS PROFILE, ALLOW SQL SECURITY NONE, SHOW ACCESS ON *.* TO u",
                    "GRANT CREATE USER, ALTER USER, DROP USER, CREATE ROLE, ALTER ROLE, DROP ROLE, IMPERSONATE ON * TO u",
                ],
            ),
            (
                &["GRANT INTROSPECTION ON *.*", "GRANT dictGet ON d.di"],
                &["GRANT INTROSPECTION ON *.* TO u", "GRANT dictGet ON d.di TO u"],
            ),
            (&["GRANT SELECT ON d.t", "GRANT SELECT ON d.*"], &["GRANT SELECT ON d.* TO u"]),
            (&["GRANT SELECT ON d.*", "REVOKE SELECT ON *.*"], &[]),
            (&["GRANT NONE ON *.*"], &[]),
            (&["GRANT TABLE ENGINE ON MergeTree"], &["GRANT TABLE ENGINE ON MergeTree TO u"]),
            (
                &["GRANT NAMED COLLECTION ADMIN ON *", "REVOKE NAMED COLLECTION ON nc"],
                &["GRANT NAMED COLLECTION ADMIN ON * TO u", "REVOKE NAMED COLLECTION ON nc FROM u"],
            ),
            (
                &["GRANT CREATE TEMPORARY TABLE ON *.*", "GRANT CREATE ARBITRARY TEMPORARY TABLE ON *.*"],
                &["GRANT CREATE ARBITRARY TEMPORARY TABLE ON *.* TO u"],
            ),
            (&["GRANT KILL QUERY, OPTIMIZE, TRUNCATE ON *.*"], &["GRANT TRUNCATE, OPTIMIZE, KILL QUERY ON *.* TO u"]),
            (
                &["GRANT SYSTEM RELOAD, SYSTEM DROP CACHE, SYSTEM FLUSH LOGS ON *.*"],
                &["GRANT SYSTEM DROP CACHE, SYSTEM RELOAD, SYSTEM FLUSH LOGS ON *.* TO u"],
            ),
            (&["GRANT SHOW ON d.t"], &["GRANT SHOW TABLES, SHOW COLUMNS, SHOW DICTIONARIES ON d.t TO u"]),
            (
                &["GRANT SELECT ON `we ird`.`ta-ble`", "GRANT SELECT(`co l`) ON d.t"],
                &["GRANT SELECT(`co l`) ON d.t TO u", "GRANT SELECT ON `we ird`.`ta-ble` TO u"],
            ),
            (&["GRANT SELECT ON t"], &["GRANT SELECT ON default.t TO u"]),
            (
                &["GRANT SELECT ON *.*", "REVOKE SELECT ON d*.*", "GRANT SELECT ON dx.t"],
                &["GRANT SELECT ON *.* TO u", "REVOKE SELECT ON d*.* FROM u", "GRANT SELECT ON dx.t TO u"],
            ),
            (
                &["GRANT SELECT ON d.* WITH GRANT OPTION", "GRANT INSERT ON d.*"],
                &["GRANT INSERT ON d.* TO u", "GRANT SELECT ON d.* TO u WITH GRANT OPTION"],
            ),
        ];
        for (said, expected) in cases {
            let rights = made(said).unwrap();
            let mut found = statements(&rights, "u");
            found.iter_mut().for_each(|text| *text = text.replace("`default`", "default"));
            assert_eq!(&found, expected, "{said:?}");
            let bare: Vec<String> = found
                .iter()
                .map(|text| text.replace(" TO u", "").replace(" FROM u", ""))
                .filter(|text| !text.contains("WITH GRANT"))
                .collect();
            if bare.len() == found.len() {
                let again = made(&bare.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
                assert_eq!(again, rights, "{said:?}");
            }
        }
    }

    #[test]
    fn what_cannot_be_granted_is_refused() {
        for (text, code) in [
            ("GRANT SHUTDOWN ON d.*", ErrorCode::INVALID_GRANT),
            ("GRANT CREATE DATABASE ON d.t", ErrorCode::INVALID_GRANT),
            ("GRANT DROP TABLE(x) ON d.t", ErrorCode::INVALID_GRANT),
            ("GRANT FLY ON *.*", ErrorCode::UNKNOWN_ACCESS_TYPE),
        ] {
            assert_eq!(made(&[text]).unwrap_err().code, code, "{text}");
        }
    }
}
