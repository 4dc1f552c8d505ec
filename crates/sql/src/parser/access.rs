//! Users, roles, quotas, row and masking policies, settings profiles, GRANT and REVOKE.

use super::{K, Parsed, Parser, T};
use crate::ast::{
    AccessAction, AccessDefinition, AccessEntity, AccessEntityKind, AccessEntityName, AccessSetting, AccessSettings,
    AllowedHost, AuthenticationArgument, AuthenticationMethod, CreateMode, DropAccessEntity, Grant, Granted,
    Identifier, Literal, MaskingPolicyDefinition, MoveAccessEntity, Privilege, PrivilegeGrant, PrivilegeTarget,
    QuotaDefinition, QuotaLimitKind, QuotaLimits, RoleSet, RowPolicyDefinition, SettingsProfileDefinition, ShowKind,
    Statement, TableName, UserDefinition, Writability,
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

    fn user_definition(&mut self, alter: bool, entity: &mut AccessEntity) -> Parsed<UserDefinition> {
        let mut user = UserDefinition::default();
        loop {
            let start = self.position;
            if alter && self.keywords(&[K::RESET, K::AUTHENTICATION, K::METHODS], "RESET AUTHENTICATION METHODS TO NEW")
            {
                self.need_keyword(K::TO)?;
                self.need_keyword(K::NEW)?;
                user.reset_authentication = true;
                continue;
            }
            if alter && self.at_keyword(K::ADD) && matches!(self.ahead(1).keyword, K::IDENTIFIED | K::NOT) {
                self.advance();
                user.add_authentication = true;
            }
            if self.at_keyword(K::IDENTIFIED) || (self.at_keyword(K::NOT) && self.keyword_ahead(1, K::IDENTIFIED)) {
                self.authentication(&mut user)?;
                continue;
            }
            if alter && matches!(self.peek().keyword, K::ADD | K::DROP) && self.keyword_ahead(1, K::HOST) {
                let add = self.at_keyword(K::ADD);
                self.skip(2);
                let hosts = self.hosts()?;
                *(if add { &mut user.add_hosts } else { &mut user.drop_hosts }) = Some(hosts);
                continue;
            }
            if self.keyword(K::HOST) {
                user.hosts = Some(self.hosts()?);
            } else if self.keywords(&[K::VALID, K::UNTIL], "VALID UNTIL") {
                user.valid_until = Some(self.expression()?);
            } else if self.keywords(&[K::DEFAULT, K::ROLE], "DEFAULT ROLE") {
                user.default_roles = Some(self.role_set()?);
            } else if self.keywords(&[K::DEFAULT, K::DATABASE], "DEFAULT DATABASE") {
                let none = self.word_ahead(0, "NONE");
                if none {
                    self.advance();
                }
                user.default_database = Some(if none { None } else { Some(self.identifier()?) });
            } else if self.keyword(K::GRANTEES) {
                user.grantees = Some(self.role_set()?);
            } else if entity.cluster.is_none()
                && let Some(cluster) = self.on_cluster()?
            {
                entity.cluster = Some(cluster);
            } else if user.settings.is_none()
                && let Some(settings) = self.access_settings(alter)?
            {
                user.settings = Some(settings);
            } else if self.at_keyword(K::IN) && entity.storage.is_none() {
                self.advance();
                entity.storage = Some(self.identifier()?);
            }
            if self.position == start {
                return Ok(user);
            }
        }
    }

    /// `IDENTIFIED …`, `NOT IDENTIFIED`; several methods are separated by commas.
    fn authentication(&mut self, user: &mut UserDefinition) -> Parsed<()> {
        if self.keyword(K::NOT) {
            self.need_keyword(K::IDENTIFIED)?;
            user.authentication.push(AuthenticationMethod {
                method: Some("no_password".into()),
                arguments: Vec::new(),
                valid_until: None,
            });
            return Ok(());
        }
        self.advance();
        loop {
            let method = self.authentication_method()?;
            user.authentication.push(method);
            let more = self.at(T::Comma) && (self.keyword_ahead(1, K::BY) || self.ahead(1).kind == T::Word);
            if !more {
                return Ok(());
            }
            self.advance();
        }
    }

    fn authentication_method(&mut self) -> Parsed<AuthenticationMethod> {
        let mut method = AuthenticationMethod { method: None, arguments: Vec::new(), valid_until: None };
        if self.keyword(K::WITH) || !matches!(self.peek().keyword, K::BY) {
            method.method = Some(self.identifier()?.value.to_ascii_lowercase());
        }
        loop {
            let keyword = match self.peek().keyword {
                K::BY => "BY",
                K::SALT => "SALT",
                K::SERVER => "SERVER",
                K::REALM => "REALM",
                K::CN => "CN",
                K::SAN => "SAN",
                K::SCHEME => "SCHEME",
                K::KEY => "KEY",
                K::TYPE => "TYPE",
                _ => break,
            };
            self.advance();
            // `BY KEY 'a' TYPE 't'`.
            if keyword == "BY" && self.at_keyword(K::KEY) {
                continue;
            }
            loop {
                let value =
                    if self.at(T::OpenCurly) { self.parameter_text()? } else { Literal::String(self.string()?) };
                method.arguments.push(AuthenticationArgument { keyword: keyword.to_string(), value });
                let same = self.at(T::Comma) && matches!(self.ahead(1).kind, T::String | T::HereDoc);
                if !same {
                    break;
                }
                self.advance();
            }
            // `BY KEY 'a' TYPE 't', KEY 'b' TYPE 'u'`.
            if self.at(T::Comma) && self.keyword_ahead(1, K::KEY) {
                self.advance();
            } else if self.at_keyword(K::BY) && keyword != "BY" {
                break;
            }
        }
        if self.keywords(&[K::VALID, K::UNTIL], "VALID UNTIL") {
            method.valid_until = Some(self.expression()?);
        }
        Ok(method)
    }

    /// `{name:Type}` as the text that it is.
    fn parameter_text(&mut self) -> Parsed<Literal> {
        let parameter = self.query_parameter()?;
        Ok(Literal::string(self.span_bytes(parameter.span)))
    }

    /// Hosts in ClickHouse's order: by kind, then as written.
    fn hosts(&mut self) -> Parsed<Vec<AllowedHost>> {
        let mut hosts = self.list(|p| p.host())?;
        hosts.sort_by_key(|host| match host {
            AllowedHost::Any | AllowedHost::None => 0,
            AllowedHost::Local => 1,
            AllowedHost::Ip(_) => 2,
            AllowedHost::Name(_) => 3,
            AllowedHost::Regexp(_) => 4,
            AllowedHost::Like(_) => 5,
        });
        Ok(hosts)
    }

    fn host(&mut self) -> Parsed<AllowedHost> {
        if self.keyword(K::ANY) {
            return Ok(AllowedHost::Any);
        }
        if self.keyword(K::LOCAL) {
            return Ok(AllowedHost::Local);
        }
        if self.word_ahead(0, "NONE") {
            self.advance();
            return Ok(AllowedHost::None);
        }
        if self.keyword(K::NAME) {
            if self.keyword(K::REGEXP) {
                return Ok(AllowedHost::Regexp(self.string_text()?));
            }
            return Ok(AllowedHost::Name(self.string_text()?));
        }
        if self.keyword(K::REGEXP) {
            return Ok(AllowedHost::Regexp(self.string_text()?));
        }
        if self.keyword(K::IP) {
            return Ok(AllowedHost::Ip(self.string_text()?));
        }
        self.need_keyword(K::LIKE)?;
        Ok(AllowedHost::Like(self.string_text()?))
    }

    /// `SETTINGS …`, and for ALTER its `ADD`, `MODIFY` and `DROP`; none when nothing of it is there.
    fn access_settings(&mut self, alter: bool) -> Parsed<Option<AccessSettings>> {
        let mut settings = AccessSettings::default();
        let mut any = false;
        loop {
            let next = self.ahead(1).keyword;
            let target = matches!(next, K::SETTING | K::SETTINGS | K::PROFILE | K::PROFILES);
            match self.peek().keyword {
                K::SETTING | K::SETTINGS | K::PROFILE | K::PROFILES if settings.replace.is_none() => {
                    if matches!(self.peek().keyword, K::SETTINGS | K::SETTING) {
                        self.advance();
                    }
                    settings.replace = Some(if self.word_ahead(0, "NONE") {
                        self.advance();
                        Vec::new()
                    } else {
                        self.list(|p| p.access_setting())?
                    });
                }
                K::DROP if alter && next == K::ALL => {
                    self.skip(2);
                    if self.keyword(K::SETTINGS) {
                        settings.drop_all_settings = true;
                    } else {
                        self.need_keyword(K::PROFILES)?;
                        settings.drop_all_profiles = true;
                    }
                }
                verb @ (K::ADD | K::MODIFY | K::DROP) if alter && target => {
                    self.skip(2);
                    let profiles = matches!(next, K::PROFILE | K::PROFILES);
                    let mut list = Vec::new();
                    loop {
                        list.push(if profiles {
                            AccessSetting::Profile(self.identifier_or_string()?.value)
                        } else {
                            self.access_setting()?
                        });
                        let clause = matches!(self.ahead(1).keyword, K::ADD | K::MODIFY | K::DROP);
                        if !self.at(T::Comma) || (clause && self.ahead(2).kind == T::Word) {
                            break;
                        }
                        self.advance();
                    }
                    match verb {
                        K::ADD => settings.add.extend(list),
                        K::MODIFY => settings.modify.extend(list),
                        _ => settings.drop.extend(list),
                    }
                }
                _ => {
                    // ALTER replaces all by taking away what there is.
                    if alter && let Some(replace) = settings.replace.take() {
                        settings.drop_all_settings = true;
                        settings.drop_all_profiles = true;
                        settings.add.splice(0..0, replace);
                    }
                    return Ok(any.then_some(settings));
                }
            }
            any = true;
            if alter && self.at(T::Comma) && matches!(self.ahead(1).keyword, K::ADD | K::MODIFY | K::DROP) {
                self.advance();
            }
        }
    }

    fn access_setting(&mut self) -> Parsed<AccessSetting> {
        if matches!(self.peek().keyword, K::PROFILE | K::INHERIT) && self.ahead(1).kind != T::Equals {
            self.advance();
            return Ok(AccessSetting::Profile(self.identifier_or_string()?.value));
        }
        let name = self.dotted_name()?;
        let (mut value, mut min, mut max, mut writability) = (None, None, None, None);
        let mut disallowed = Vec::new();
        if self.accept(T::Equals) || matches!(self.peek().kind, T::Number | T::String | T::Minus) {
            value = Some(self.compound_literal()?);
        }
        loop {
            if self.keyword(K::MIN) {
                let _ = self.accept(T::Equals);
                min = Some(self.literal()?);
            } else if self.keyword(K::MAX) {
                let _ = self.accept(T::Equals);
                max = Some(self.literal()?);
            } else if self.keyword(K::DISALLOWED) {
                disallowed = self.round_list(|p| p.literal())?;
            } else if self.keyword(K::READONLY) || self.keyword(K::CONST) {
                writability = Some(Writability::Const);
            } else if self.keyword(K::WRITABLE) {
                writability = Some(Writability::Writable);
            } else if self.keyword(K::CHANGEABLE_IN_READONLY) {
                writability = Some(Writability::ChangeableInReadonly);
            } else {
                return Ok(AccessSetting::Setting { name, value, min, max, disallowed, writability });
            }
        }
    }

    fn quota_definition(&mut self) -> Parsed<QuotaDefinition> {
        let mut quota = QuotaDefinition::default();
        loop {
            if self.keywords(&[K::NOT, K::KEYED], "NOT KEYED") {
                quota.keys = Some(Vec::new());
            } else if self.keywords(&[K::KEYED, K::BY], "KEYED BY") || self.keywords(&[K::KEY, K::BY], "KEY BY") {
                let round = self.accept(T::OpenRound);
                quota.keys = Some(self.list(|p| {
                    let key = p.identifier_or_string()?.value.to_ascii_lowercase().replace(' ', "_");
                    Ok(key)
                })?);
                if round {
                    self.need(T::CloseRound)?;
                }
            } else if self.word_ahead(0, "IPV4_PREFIX_BITS") {
                self.advance();
                quota.ipv4_prefix_bits = Some(self.unsigned()?);
            } else if self.word_ahead(0, "IPV6_PREFIX_BITS") {
                self.advance();
                quota.ipv6_prefix_bits = Some(self.unsigned()?);
            } else if self.at_keyword(K::FOR) || (self.at(T::Comma) && self.keyword_ahead(1, K::FOR)) {
                let _ = self.accept(T::Comma);
                self.advance();
                quota.limits.push(self.quota_limits()?);
            } else if quota.to.is_none() && self.keyword(K::TO) {
                quota.to = Some(self.role_set()?);
            } else {
                return Ok(quota);
            }
        }
    }

    fn quota_limits(&mut self) -> Parsed<QuotaLimits> {
        let randomized = self.keyword(K::RANDOMIZED);
        let _ = self.keyword(K::INTERVAL);
        let interval = self.time_amount()?;
        let kind = if self.keywords(&[K::NO, K::LIMITS], "NO LIMITS") {
            QuotaLimitKind::NoLimits
        } else if self.keywords(&[K::TRACKING, K::ONLY], "TRACKING ONLY") {
            QuotaLimitKind::TrackingOnly
        } else {
            self.need_keyword(K::MAX)?;
            let mut limits = Vec::new();
            loop {
                let _ = self.keyword(K::MAX);
                let mut name = self.identifier()?.value.to_ascii_lowercase();
                while self.at(T::Word) {
                    name.push('_');
                    name.push_str(&self.identifier()?.value.to_ascii_lowercase());
                }
                let _ = self.accept(T::Equals);
                limits.push((name, self.literal()?));
                if !self.at(T::Comma) || self.keyword_ahead(1, K::FOR) {
                    break;
                }
                self.advance();
            }
            QuotaLimitKind::Max(limits)
        };
        Ok(QuotaLimits { randomized, interval, kind })
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

    /// GRANT and REVOKE.
    pub(super) fn grant(&mut self) -> Parsed<Statement> {
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
    pub(super) fn privilege_grants(&mut self) -> Parsed<Vec<PrivilegeGrant>> {
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

    /// `SHOW CREATE USER …` and its like, the words `SHOW CREATE` read already.
    pub(super) fn show_create_access(&mut self) -> Parsed<Option<ShowKind>> {
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
    pub(super) fn show_access(&mut self) -> Parsed<Option<ShowKind>> {
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
