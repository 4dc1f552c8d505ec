//! GRANT and REVOKE: privileges, and what they are about.

use super::super::{K, Parsed, Parser, T};
use crate::ast::{Grant, Granted, Privilege, PrivilegeGrant, PrivilegeTarget, RoleSet, Statement};

impl Parser<'_> {
    /// GRANT and REVOKE.
    pub(in crate::parser) fn grant(&mut self) -> Parsed<Statement> {
        let revoke = self.at_keyword(K::REVOKE);
        self.advance();
        let mut grant = Grant {
            revoke,
            cluster: self.on_cluster()?,
            granted: Granted::Roles(RoleSet::default()),
            grant_option: false,
            admin_option: false,
            replace_option: false,
            grantees: RoleSet::default(),
        };
        if revoke && self.keywords(&[K::GRANT, K::OPTION, K::FOR], "GRANT OPTION FOR") {
            grant.grant_option = true;
        }
        if revoke && self.keywords(&[K::ADMIN, K::OPTION, K::FOR], "ADMIN OPTION FOR") {
            grant.admin_option = true;
        }
        if !revoke && self.keywords(&[K::CURRENT, K::GRANTS], "CURRENT GRANTS") {
            let grants = if self.accept(T::OpenRound) {
                let grants = self.privilege_grants()?;
                self.need(T::CloseRound)?;
                grants
            } else if self.at_keyword(K::ON) {
                self.advance();
                let target = self.privilege_target()?;
                vec![PrivilegeGrant {
                    privileges: vec![Privilege { name: "ALL".to_string(), columns: Vec::new() }],
                    target,
                }]
            } else {
                Vec::new()
            };
            grant.granted = Granted::CurrentGrants(grants);
        } else {
            let privileges = self.attempt(|p| p.privilege_grants())?;
            grant.granted = match privileges {
                Some(privileges) => Granted::Privileges(privileges),
                None => Granted::Roles(self.role_set()?),
            };
        }
        if grant.cluster.is_none() {
            grant.cluster = self.on_cluster()?;
        }
        self.need_keyword(if revoke { K::FROM } else { K::TO })?;
        grant.grantees = self.role_set()?;
        if grant.cluster.is_none() {
            grant.cluster = self.on_cluster()?;
        }
        loop {
            if !revoke && self.keywords(&[K::WITH, K::GRANT, K::OPTION], "WITH GRANT OPTION") {
                grant.grant_option = true;
            } else if !revoke && self.keywords(&[K::WITH, K::ADMIN, K::OPTION], "WITH ADMIN OPTION") {
                grant.admin_option = true;
            } else if !revoke && self.keywords(&[K::WITH, K::REPLACE, K::OPTION], "WITH REPLACE OPTION") {
                grant.replace_option = true;
            } else {
                return Ok(Statement::Grant(Box::new(grant)));
            }
        }
    }

    /// `SELECT(a), INSERT ON t, ALTER ON u`.
    pub(in crate::parser) fn privilege_grants(&mut self) -> Parsed<Vec<PrivilegeGrant>> {
        let mut grants = Vec::new();
        loop {
            let mut privileges = vec![self.privilege()?];
            while self.accept(T::Comma) {
                privileges.push(self.privilege()?);
            }
            if !self.at_keyword(K::ON) || self.keyword_ahead(1, K::CLUSTER) {
                return self.fail("ON");
            }
            self.advance();
            let target = self.privilege_target()?;
            grants.push(PrivilegeGrant { privileges, target });
            if !self.accept(T::Comma) {
                return Ok(grants);
            }
        }
    }

    /// Words, and columns in parentheses.
    fn privilege(&mut self) -> Parsed<Privilege> {
        let mut words = Vec::new();
        while self.at(T::Word) && (words.is_empty() || !self.at_keyword(K::ON)) {
            if matches!(self.peek().keyword, K::TO) && words.is_empty() {
                break;
            }
            words.push(self.identifier()?.value.to_ascii_uppercase());
        }
        if words.is_empty() {
            return self.fail("privilege");
        }
        let columns = if self.at(T::OpenRound) { self.round_list(|p| p.nested_identifier())? } else { Vec::new() };
        let mut name = words.join(" ");
        if name == "ALL PRIVILEGES" {
            name = "ALL".to_string();
        }
        Ok(Privilege { name, columns })
    }

    fn privilege_target(&mut self) -> Parsed<PrivilegeTarget> {
        if self.accept(T::Asterisk) {
            if self.accept(T::Dot) {
                self.need(T::Asterisk)?;
                return Ok(PrivilegeTarget::Everything);
            }
            return Ok(PrivilegeTarget::Database { database: None, prefix: false });
        }
        let first = self.identifier_or_string()?.value;
        let prefix = self.accept(T::Asterisk);
        if self.accept(T::Dot) {
            if self.accept(T::Asterisk) {
                return Ok(PrivilegeTarget::Database { database: Some(first), prefix });
            }
            let table = self.identifier()?.value;
            let prefix = self.accept(T::Asterisk);
            return Ok(PrivilegeTarget::Table { database: Some(first), table, prefix });
        }
        Ok(PrivilegeTarget::Table { database: None, table: first, prefix })
    }
}
