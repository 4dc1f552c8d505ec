//! Users, roles, row and masking policies, and what all statements about access entities share; the parts of their own are in files beside
//! this one.

mod grant;
mod quota;
mod settings;
mod show;
mod user;

use super::{K, Parsed, Parser, T};
use crate::ast::{
    AccessAction, AccessDefinition, AccessEntity, AccessEntityKind, AccessEntityName, CreateMode, DropAccessEntity,
    Identifier, MaskingPolicyDefinition, MoveAccessEntity, RoleSet, RowPolicyDefinition, SettingsProfileDefinition,
    Statement, TableName,
};

impl AccessEntityKind {
    /// The kind's words.
    pub fn keywords(self) -> &'static str {
        match self {
            Self::User => "USER",
            Self::Role => "ROLE",
            Self::Quota => "QUOTA",
            Self::RowPolicy => "ROW POLICY",
            Self::MaskingPolicy => "MASKING POLICY",
            Self::SettingsProfile => "SETTINGS PROFILE",
        }
    }
}

impl Parser<'_> {
    /// The kind of access entity that is named here; none, and nothing read, when there is none.
    fn access_kind(&mut self) -> Option<AccessEntityKind> {
        let next = self.ahead(1).keyword;
        let (kind, words) = match self.peek().keyword {
            K::USER => (AccessEntityKind::User, 1),
            K::ROLE => (AccessEntityKind::Role, 1),
            K::QUOTA => (AccessEntityKind::Quota, 1),
            K::POLICY => (AccessEntityKind::RowPolicy, 1),
            K::ROW if next == K::POLICY => (AccessEntityKind::RowPolicy, 2),
            K::MASKING if next == K::POLICY => (AccessEntityKind::MaskingPolicy, 2),
            K::PROFILE => (AccessEntityKind::SettingsProfile, 1),
            K::SETTINGS if next == K::PROFILE => (AccessEntityKind::SettingsProfile, 2),
            _ => return None,
        };
        self.skip(words);
        Some(kind)
    }

    /// CREATE or ATTACH of an access entity, the verb read already.
    pub(super) fn create_access_entity(&mut self, attach: bool, mode: CreateMode) -> Parsed<Option<Statement>> {
        if mode == CreateMode::Replace {
            return Ok(None);
        }
        let Some(kind) = self.access_kind() else { return Ok(None) };
        let mode = if self.if_not_exists() {
            CreateMode::IfNotExists
        } else if self.keywords(&[K::OR, K::REPLACE], "OR REPLACE") {
            CreateMode::CreateOrReplace
        } else {
            mode
        };
        let action = if attach { AccessAction::Attach } else { AccessAction::Create(mode) };
        self.access_entity(kind, action).map(Some)
    }

    /// ALTER of an access entity, the verb read already.
    pub(super) fn alter_access_entity(&mut self) -> Parsed<Option<Statement>> {
        let Some(kind) = self.access_kind() else { return Ok(None) };
        let if_exists = self.if_exists();
        self.access_entity(kind, AccessAction::Alter { if_exists }).map(Some)
    }

    fn access_entity(&mut self, kind: AccessEntityKind, action: AccessAction) -> Parsed<Statement> {
        let names = self.access_names(kind)?;
        let mut entity = AccessEntity {
            action,
            names,
            new_name: None,
            cluster: self.on_cluster()?,
            storage: None,
            definition: AccessDefinition::Role(None),
        };
        let alter = matches!(action, AccessAction::Alter { .. });
        if self.at_keyword(K::IN) {
            self.advance();
            entity.storage = Some(self.identifier()?);
        }
        if alter && self.keywords(&[K::RENAME, K::TO], "RENAME TO") {
            entity.new_name = Some(self.user_name()?.0.value);
        }
        entity.definition = match kind {
            AccessEntityKind::User => AccessDefinition::User(Box::new(self.user_definition(alter, &mut entity)?)),
            AccessEntityKind::Role => AccessDefinition::Role(self.access_settings(alter)?),
            AccessEntityKind::Quota => AccessDefinition::Quota(self.quota_definition()?),
            AccessEntityKind::RowPolicy => AccessDefinition::RowPolicy(self.row_policy_definition()?),
            AccessEntityKind::MaskingPolicy => AccessDefinition::MaskingPolicy(self.masking_policy_definition()?),
            AccessEntityKind::SettingsProfile => {
                let settings = self.access_settings(alter)?;
                let to = if self.keyword(K::TO) { Some(self.role_set()?) } else { None };
                AccessDefinition::SettingsProfile(SettingsProfileDefinition { settings, to })
            }
        };
        if entity.cluster.is_none() {
            entity.cluster = self.on_cluster()?;
        }
        if entity.storage.is_none() && self.keyword(K::IN) {
            entity.storage = Some(self.identifier()?);
        }
        Ok(Statement::AccessEntity(Box::new(entity)))
    }

    /// Names separated by commas, those of policies with their tables.
    fn access_names(&mut self, kind: AccessEntityKind) -> Parsed<Vec<AccessEntityName>> {
        let policies = matches!(kind, AccessEntityKind::RowPolicy | AccessEntityKind::MaskingPolicy);
        if !policies {
            return self.list(|p| {
                let (name, host) = p.user_name()?;
                Ok(AccessEntityName { name, host, table: None })
            });
        }
        // `a, b ON t1, c ON t2`: names before an ON share its tables.
        let mut names: Vec<AccessEntityName> = Vec::new();
        let mut waiting: Vec<Identifier> = Vec::new();
        loop {
            waiting.push(self.identifier_or_string()?);
            if self.at_keyword(K::ON) && !self.keyword_ahead(1, K::CLUSTER) {
                self.advance();
                let mut tables = vec![self.policy_table()?];
                while self.at(T::Comma) && self.at_table_after_comma() {
                    self.advance();
                    tables.push(self.policy_table()?);
                }
                for name in waiting.drain(..) {
                    for table in &tables {
                        names.push(AccessEntityName { name: name.clone(), host: None, table: Some(table.clone()) });
                    }
                }
            }
            if !self.accept(T::Comma) {
                break;
            }
        }
        if !waiting.is_empty() {
            return self.fail("ON");
        }
        Ok(names)
    }

    /// Whether another table, and not another policy, follows the comma.
    fn at_table_after_comma(&mut self) -> bool {
        let mut ahead = 2;
        while self.ahead(ahead).kind == T::Dot {
            ahead += 2;
        }
        self.ahead(ahead).keyword != K::ON || self.keyword_ahead(ahead + 1, K::CLUSTER)
    }

    /// `db.table`, `db.*`, `*`.
    fn policy_table(&mut self) -> Parsed<TableName> {
        let start = self.start();
        if self.accept(T::Asterisk) {
            return Ok(TableName::new("*"));
        }
        let first = self.identifier()?;
        if self.accept(T::Dot) {
            let table = if self.accept(T::Asterisk) { Identifier::new("*") } else { self.identifier()? };
            return Ok(TableName { database: Some(first), table, uuid: None, span: self.span_from(start) });
        }
        Ok(TableName { database: None, table: first, uuid: None, span: self.span_from(start) })
    }

    /// `name[@host]`.
    fn user_name(&mut self) -> Parsed<(Identifier, Option<String>)> {
        let mut name = self.identifier_or_string()?;
        // An address of mail is a name, too.
        while self.at(T::Dot) && self.ahead(1).kind == T::Word {
            self.advance();
            name.value.push('.');
            name.value.push_str(&self.identifier()?.value);
        }
        if !self.accept(T::At) {
            return Ok((name, None));
        }
        let mut host = self.identifier_or_string()?.value;
        while self.at(T::Dot) {
            self.advance();
            host.push('.');
            host.push_str(&self.identifier()?.value);
        }
        Ok((name, Some(host)))
    }

    /// `a, b`, `NONE`, `ALL [EXCEPT a]`, `CURRENT_USER`.
    pub(super) fn role_set(&mut self) -> Parsed<RoleSet> {
        let mut set = RoleSet::default();
        if self.word_ahead(0, "NONE") {
            self.advance();
            return Ok(set);
        }
        if self.keyword(K::ALL) || self.keyword(K::ANY) {
            set.all = true;
        } else {
            (set.names, set.current_user) = self.role_names()?;
        }
        if self.keyword(K::EXCEPT) {
            (set.except, set.except_current_user) = self.role_names()?;
        }
        Ok(set)
    }

    fn role_names(&mut self) -> Parsed<(Vec<AccessEntityName>, bool)> {
        let mut names = Vec::new();
        let mut current = false;
        loop {
            if matches!(self.peek().keyword, K::CURRENT_USER | K::CURRENTUSER) {
                self.advance();
                if self.accept(T::OpenRound) {
                    self.need(T::CloseRound)?;
                }
                current = true;
            } else {
                let (name, host) = self.user_name()?;
                names.push(AccessEntityName { name, host, table: None });
            }
            if !self.accept(T::Comma) {
                return Ok((names, current));
            }
        }
    }

    fn row_policy_definition(&mut self) -> Parsed<RowPolicyDefinition> {
        let mut policy = RowPolicyDefinition::default();
        loop {
            if self.keyword(K::AS) {
                let restrictive = self.keyword(K::RESTRICTIVE);
                if !restrictive {
                    self.need_keyword(K::PERMISSIVE)?;
                }
                policy.restrictive = Some(restrictive);
            } else if self.keywords(&[K::FOR, K::SELECT], "FOR SELECT") {
                policy.for_select = true;
            } else if self.keyword(K::USING) {
                let none = self.word_ahead(0, "NONE");
                if none {
                    self.advance();
                }
                policy.for_select = true;
                policy.using = Some(if none { None } else { Some(self.expression_without_alias()?) });
            } else if policy.to.is_none() && self.keyword(K::TO) {
                policy.to = Some(self.role_set()?);
            } else {
                return Ok(policy);
            }
        }
    }

    fn masking_policy_definition(&mut self) -> Parsed<MaskingPolicyDefinition> {
        let mut policy = MaskingPolicyDefinition::default();
        loop {
            if self.keyword(K::UPDATE) {
                policy.assignments = self.list(|p| p.assignment())?;
            } else if self.keyword(K::WHERE) {
                policy.filter = Some(self.expression()?);
            } else if self.keyword(K::PRIORITY) {
                policy.priority = Some(self.signed()?);
            } else if policy.to.is_none() && self.keyword(K::TO) {
                policy.to = Some(self.role_set()?);
            } else {
                return Ok(policy);
            }
        }
    }

    /// DROP of access entities, the verb read already.
    pub(super) fn drop_access_entity(&mut self) -> Parsed<Option<Statement>> {
        let Some(kind) = self.access_kind() else { return Ok(None) };
        let if_exists = self.if_exists();
        let names = self.access_names(kind)?;
        let cluster = self.on_cluster()?;
        let storage = if self.keyword(K::FROM) { Some(self.identifier()?) } else { None };
        let drop = DropAccessEntity { kind, if_exists, names, cluster, storage };
        Ok(Some(Statement::DropAccessEntity(Box::new(drop))))
    }

    /// `MOVE USER … TO storage`.
    pub(super) fn move_access_entity(&mut self) -> Parsed<Statement> {
        self.advance();
        let Some(kind) = self.access_kind() else { return self.fail("USER") };
        let names = self.access_names(kind)?;
        self.need_keyword(K::TO)?;
        let to = self.identifier()?;
        let cluster = self.on_cluster()?;
        Ok(Statement::MoveAccessEntity(Box::new(MoveAccessEntity { kind, names, to, cluster })))
    }
}
