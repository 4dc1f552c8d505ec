//! SHOW of users, roles, grants and their like.

use super::super::{K, Parsed, Parser, T};
use crate::ast::{AccessEntityKind, ShowKind};

impl Parser<'_> {
    /// `SHOW CREATE USER …` and its like, the words `SHOW CREATE` read already.
    pub(in crate::parser) fn show_create_access(&mut self) -> Parsed<Option<ShowKind>> {
        if let Some(kind) = self.access_plural() {
            let named = matches!(self.peek().kind, T::Word | T::QuotedIdentifier | T::String)
                && !matches!(self.peek().keyword, K::FORMAT | K::SETTINGS | K::INTO);
            let names = if named { self.access_names(kind)? } else { Vec::new() };
            let all = names.is_empty();
            return Ok(Some(ShowKind::CreateAccess { kind, names, all }));
        }
        let Some(kind) = self.access_kind() else { return Ok(None) };
        let mut names = Vec::new();
        if matches!(self.peek().keyword, K::CURRENT_USER | K::CURRENTUSER) {
            self.advance();
        } else if matches!(self.peek().kind, T::Word | T::QuotedIdentifier | T::String)
            && !matches!(self.peek().keyword, K::FORMAT | K::SETTINGS | K::INTO)
        {
            names = self.access_names(kind)?;
        }
        Ok(Some(ShowKind::CreateAccess { kind, names, all: false }))
    }

    /// `SHOW USERS`, `SHOW GRANTS` and their like; none when it is another SHOW.
    pub(in crate::parser) fn show_access(&mut self) -> Parsed<Option<ShowKind>> {
        if self.keyword(K::GRANTS) {
            let grantees = if self.keyword(K::FOR) { Some(self.role_set()?) } else { None };
            let with_implicit = self.keywords(&[K::WITH, K::IMPLICIT], "WITH IMPLICIT");
            let with_final = self.keyword(K::FINAL);
            return Ok(Some(ShowKind::Grants { grantees, with_implicit, with_final }));
        }
        let (mut current, mut enabled) = (false, false);
        let plain =
            |kind, current, enabled| ShowKind::AccessEntities { kind, current, enabled, table: None, short_name: None };
        if self.at_keyword(K::CURRENT) && matches!(self.ahead(1).keyword, K::ROLES | K::QUOTA) {
            self.advance();
            current = true;
        } else if self.at_keyword(K::ENABLED) && self.keyword_ahead(1, K::ROLES) {
            self.advance();
            enabled = true;
        }
        if self.keyword(K::QUOTA) {
            return Ok(Some(plain(AccessEntityKind::Quota, true, false)));
        }
        let Some(kind) = self.access_plural() else { return Ok(None) };
        let mut show = plain(kind, current, enabled);
        if let ShowKind::AccessEntities { table, short_name, .. } = &mut show
            && kind == AccessEntityKind::RowPolicy
        {
            if matches!(self.peek().kind, T::Word | T::QuotedIdentifier | T::String)
                && !matches!(self.peek().keyword, K::ON | K::FORMAT | K::SETTINGS | K::INTO)
            {
                *short_name = Some(self.identifier_or_string()?.value);
            }
            if self.keyword(K::ON) {
                *table = Some(self.policy_table()?);
            }
        }
        Ok(Some(show))
    }
}
