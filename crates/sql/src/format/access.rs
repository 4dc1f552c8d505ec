//! Access control as text.

use super::Writer;
use crate::ast::{
    AccessAction, AccessDefinition, AccessEntity, AccessEntityName, AccessSetting, AccessSettings, AllowedHost,
    AuthenticationMethod, CreateMode, DropAccessEntity, Grant, Granted, MaskingPolicyDefinition, MoveAccessEntity,
    PrivilegeGrant, PrivilegeTarget, QuotaDefinition, QuotaLimitKind, RoleSet, RowPolicyDefinition, TableName,
    UserDefinition, Writability,
};

impl Writer {
    pub(super) fn access_entity(&mut self, entity: &AccessEntity) {
        let kind = match &entity.definition {
            AccessDefinition::User(_) => "USER",
            AccessDefinition::Role(_) => "ROLE",
            AccessDefinition::Quota(_) => "QUOTA",
            AccessDefinition::RowPolicy(_) => "ROW POLICY",
            AccessDefinition::MaskingPolicy(_) => "MASKING POLICY",
            AccessDefinition::SettingsProfile(_) => "SETTINGS PROFILE",
        };
        match entity.action {
            AccessAction::Attach => self.text(&format!("ATTACH {kind} ")),
            AccessAction::Alter { if_exists } => {
                self.text(&format!("ALTER {kind} "));
                if if_exists {
                    self.text("IF EXISTS ");
                }
            }
            AccessAction::Create(mode) => {
                self.text("CREATE ");
                self.text(kind);
                self.text(match mode {
                    CreateMode::IfNotExists => " IF NOT EXISTS ",
                    CreateMode::CreateOrReplace | CreateMode::Replace => " OR REPLACE ",
                    CreateMode::Create => " ",
                });
            }
        }
        if matches!(entity.definition, AccessDefinition::SettingsProfile(_)) {
            self.joined(&entity.names, ", ", |w, name| w.quoted(&name.name.value));
        } else {
            self.access_names(&entity.names);
        }
        if let Some(storage) = &entity.storage {
            self.text(" IN ");
            self.identifier(storage);
        }
        self.on_cluster(&entity.cluster);
        if let Some(name) = &entity.new_name {
            self.text(" RENAME TO ");
            // ClickHouse quotes the new name of some kinds as a string.
            if matches!(entity.definition, AccessDefinition::Quota(_) | AccessDefinition::RowPolicy(_)) {
                self.name(name);
            } else {
                self.string(name);
            }
        }
        match &entity.definition {
            AccessDefinition::User(user) => self.user(user),
            AccessDefinition::Role(settings) => self.access_settings(settings, "PROFILE"),
            AccessDefinition::Quota(quota) => self.quota(quota),
            AccessDefinition::RowPolicy(policy) => self.row_policy(policy),
            AccessDefinition::MaskingPolicy(policy) => self.masking_policy(policy),
            AccessDefinition::SettingsProfile(profile) => {
                self.access_settings(&profile.settings, "INHERIT");
                self.to(&profile.to);
            }
        }
    }

    pub(super) fn access_names(&mut self, names: &[AccessEntityName]) {
        // One policy on several tables.
        if let [first, _, ..] = names
            && first.table.is_some()
            && names.iter().all(|name| name.name == first.name && name.table.is_some())
        {
            self.identifier(&first.name);
            self.text(" ON ");
            return self.joined(names, ", ", |w, name| {
                if let Some(table) = &name.table {
                    w.policy_table(table);
                }
            });
        }
        self.joined(names, ", ", |w, name| {
            w.identifier(&name.name);
            if let Some(host) = &name.host {
                w.text("@");
                w.string(host);
            }
            if let Some(table) = &name.table {
                w.text(" ON ");
                w.policy_table(table);
            }
        });
    }

    pub(super) fn policy_table(&mut self, table: &TableName) {
        if let Some(database) = &table.database {
            self.identifier(database);
            self.text(".");
        }
        if table.table.value == "*" { self.text("*") } else { self.identifier(&table.table) }
    }

    pub(super) fn role_set(&mut self, set: &RoleSet) {
        if set.all {
            self.text("ALL");
        } else if set.names.is_empty() && !set.current_user {
            self.text("NONE");
        } else {
            self.role_names(&set.names, set.current_user);
        }
        self.except(set);
    }

    fn except(&mut self, set: &RoleSet) {
        if !set.except.is_empty() || set.except_current_user {
            self.text(" EXCEPT ");
            self.role_names(&set.except, set.except_current_user);
        }
    }

    pub(super) fn role_names(&mut self, names: &[AccessEntityName], current_user: bool) {
        self.access_names(names);
        if current_user {
            self.text(if names.is_empty() { "CURRENT_USER" } else { ", CURRENT_USER" });
        }
    }

    fn to(&mut self, to: &Option<RoleSet>) {
        if let Some(to) = to {
            self.text(" TO ");
            self.role_set(to);
        }
    }

    fn user(&mut self, user: &UserDefinition) {
        if user.reset_authentication {
            self.text(" RESET AUTHENTICATION METHODS TO NEW");
        }
        if !user.authentication.is_empty() {
            if user.add_authentication {
                self.text(" ADD");
            }
            self.text(" IDENTIFIED");
            for (index, method) in user.authentication.iter().enumerate() {
                if index > 0 {
                    self.text(",");
                }
                self.authentication(method, index == 0);
            }
        }
        if let Some(until) = &user.valid_until {
            self.text(" VALID UNTIL ");
            self.expression(until, false);
        }
        for (keyword, hosts) in
            [(" HOST ", &user.hosts), (" ADD HOST ", &user.add_hosts), (" DROP HOST ", &user.drop_hosts)]
        {
            if let Some(hosts) = hosts {
                self.text(keyword);
                self.hosts(hosts);
            }
        }
        if let Some(roles) = &user.default_roles {
            self.text(" DEFAULT ROLE ");
            self.role_set(roles);
        }
        match &user.default_database {
            Some(Some(database)) => {
                self.text(" DEFAULT DATABASE ");
                self.identifier(database);
            }
            Some(None) => self.text(" DEFAULT DATABASE NONE"),
            None => {}
        }
        self.access_settings(&user.settings, "PROFILE");
        if let Some(grantees) = &user.grantees {
            self.text(" GRANTEES ");
            if grantees.all {
                self.text("ANY");
                self.except(grantees);
            } else {
                self.role_set(grantees);
            }
        }
    }

    fn authentication(&mut self, method: &AuthenticationMethod, first: bool) {
        if let Some(name) = &method.method {
            self.text(if first { " WITH " } else { " " });
            self.name(name);
        }
        let mut keyword = if method.method.as_deref() == Some("ssh_key") { "BY" } else { "" };
        if keyword == "BY" {
            self.text(" BY");
        }
        for argument in &method.arguments {
            if argument.keyword == keyword {
                self.text(", ");
                if keyword == "KEY" {
                    self.text("KEY ");
                }
            } else if argument.keyword == "KEY" && keyword == "TYPE" {
                self.text(", KEY ");
            } else {
                self.text(" ");
                self.text(&argument.keyword);
                self.text(" ");
            }
            keyword = &argument.keyword;
            match argument.value.as_str() {
                Some(parameter)
                    if parameter.starts_with('{') && parameter.ends_with('}') && parameter.contains(':') =>
                {
                    self.text(parameter)
                }
                _ => self.literal(&argument.value),
            }
        }
        if let Some(until) = &method.valid_until {
            self.text(" VALID UNTIL ");
            self.expression(until, false);
        }
    }

    fn hosts(&mut self, hosts: &[AllowedHost]) {
        self.joined(hosts, ", ", |w, host| {
            let (keyword, value) = match host {
                AllowedHost::Any => return w.text("ANY"),
                AllowedHost::None => return w.text("NONE"),
                AllowedHost::Local => return w.text("LOCAL"),
                AllowedHost::Name(value) => ("NAME ", value),
                AllowedHost::Regexp(value) => ("REGEXP ", value),
                AllowedHost::Ip(value) => ("IP ", value),
                AllowedHost::Like(value) => ("LIKE ", value),
            };
            w.text(keyword);
            w.string(value);
        });
    }

    /// `profile`: what a profile is called among the settings: profiles inherit from each other.
    fn access_settings(&mut self, settings: &Option<AccessSettings>, profile: &str) {
        let Some(settings) = settings else { return };
        if let Some(replace) = &settings.replace {
            self.text(" SETTINGS ");
            if replace.is_empty() {
                self.text("NONE");
            }
            self.joined(replace, ", ", |w, setting| w.access_setting(setting, profile));
        }
        let mut separator = " ";
        let mut begin = |w: &mut Self, clause: &str| {
            w.text(std::mem::replace(&mut separator, ", "));
            w.text(clause);
        };
        if settings.drop_all_settings {
            begin(self, "DROP ALL SETTINGS");
        }
        if settings.drop_all_profiles {
            begin(self, "DROP ALL PROFILES");
        }
        let clauses = [("ADD", &settings.add), ("MODIFY", &settings.modify), ("DROP", &settings.drop)];
        for (verb, list) in clauses {
            for profiles in [false, true] {
                let list: Vec<&AccessSetting> =
                    list.iter().filter(|s| matches!(s, AccessSetting::Profile(_)) == profiles).collect();
                if list.is_empty() {
                    continue;
                }
                let plural = if list.len() > 1 { "S" } else { "" };
                begin(self, &format!("{verb} {}{plural} ", if profiles { "PROFILE" } else { "SETTING" }));
                self.joined(&list, ", ", |w, setting| match setting {
                    AccessSetting::Profile(name) => w.quoted(name),
                    other => w.access_setting(other, profile),
                });
            }
        }
    }

    fn access_setting(&mut self, setting: &AccessSetting, profile: &str) {
        match setting {
            AccessSetting::Profile(name) => {
                self.text(profile);
                self.text(" ");
                self.quoted(name);
            }
            AccessSetting::Setting { name, value, min, max, disallowed, writability } => {
                self.dotted(name);
                if let Some(value) = value {
                    self.text(" = ");
                    self.literal(value);
                }
                if let Some(min) = min {
                    self.text(" MIN ");
                    self.literal(min);
                }
                if let Some(max) = max {
                    self.text(" MAX ");
                    self.literal(max);
                }
                if !disallowed.is_empty() {
                    self.text(" DISALLOWED (");
                    self.joined(disallowed, ", ", |w, value| w.literal(value));
                    self.text(")");
                }
                self.text(match writability {
                    Some(Writability::Writable) => " WRITABLE",
                    Some(Writability::Const) => " CONST",
                    Some(Writability::ChangeableInReadonly) => " CHANGEABLE_IN_READONLY",
                    None => "",
                });
            }
        }
    }

    fn quota(&mut self, quota: &QuotaDefinition) {
        if let Some(keys) = &quota.keys {
            if keys.is_empty() {
                self.text(" NOT KEYED");
            } else {
                self.text(" KEYED BY ");
                self.joined(keys, ", ", |w, key| w.name(key));
            }
        }
        if let Some(bits) = quota.ipv4_prefix_bits {
            self.text(&format!(" IPV4_PREFIX_BITS {bits}"));
        }
        if let Some(bits) = quota.ipv6_prefix_bits {
            self.text(&format!(" IPV6_PREFIX_BITS {bits}"));
        }
        for (index, limits) in quota.limits.iter().enumerate() {
            if index > 0 {
                self.text(",");
            }
            self.text(if limits.randomized { " FOR RANDOMIZED INTERVAL " } else { " FOR INTERVAL " });
            let interval = &limits.interval;
            self.text(&format!("{} {}", interval.amount, interval.unit.keyword().to_ascii_lowercase()));
            match &limits.kind {
                QuotaLimitKind::NoLimits => self.text(" NO LIMITS"),
                QuotaLimitKind::TrackingOnly => self.text(" TRACKING ONLY"),
                QuotaLimitKind::Max(list) => {
                    self.text(" MAX ");
                    self.joined(list, ", ", |w, (name, value)| {
                        w.name(name);
                        w.text(" = ");
                        w.literal(value);
                    });
                }
            }
        }
        self.to(&quota.to);
    }

    fn row_policy(&mut self, policy: &RowPolicyDefinition) {
        match policy.restrictive {
            Some(true) => self.text(" AS RESTRICTIVE"),
            Some(false) => self.text(" AS PERMISSIVE"),
            None => {}
        }
        if policy.for_select {
            self.text(" FOR SELECT");
        }
        match &policy.using {
            Some(Some(condition)) => {
                self.text(" USING ");
                self.expression(condition, false);
            }
            Some(None) => self.text(" USING NONE"),
            None => {}
        }
        self.to(&policy.to);
    }

    fn masking_policy(&mut self, policy: &MaskingPolicyDefinition) {
        if !policy.assignments.is_empty() {
            self.text(" UPDATE ");
            self.joined(&policy.assignments, ", ", |w, assignment| w.assignment(assignment));
        }
        if let Some(filter) = &policy.filter {
            self.text(" WHERE ");
            self.expression(filter, false);
        }
        self.to(&policy.to);
        if let Some(priority) = policy.priority {
            self.text(&format!(" PRIORITY {priority}"));
        }
    }

    pub(super) fn drop_access_entity(&mut self, drop: &DropAccessEntity) {
        self.text("DROP ");
        self.text(drop.kind.keywords());
        self.text(if drop.if_exists { " IF EXISTS " } else { " " });
        self.access_names(&drop.names);
        if let Some(storage) = &drop.storage {
            self.on_cluster(&drop.cluster);
            self.text(" FROM ");
            return self.identifier(storage);
        }
        self.on_cluster(&drop.cluster);
    }

    pub(super) fn move_access_entity(&mut self, movement: &MoveAccessEntity) {
        self.text("MOVE ");
        self.text(movement.kind.keywords());
        self.text(" ");
        self.access_names(&movement.names);
        self.text(" TO ");
        self.identifier(&movement.to);
        self.on_cluster(&movement.cluster);
    }

    pub(super) fn grant(&mut self, grant: &Grant) {
        self.text(if grant.revoke { "REVOKE" } else { "GRANT" });
        self.on_cluster(&grant.cluster);
        if grant.revoke && grant.grant_option {
            self.text(" GRANT OPTION FOR");
        }
        if grant.revoke && grant.admin_option {
            self.text(" ADMIN OPTION FOR");
        }
        self.text(" ");
        match &grant.granted {
            Granted::Privileges(grants) => self.privilege_grants(grants),
            Granted::Roles(roles) => self.role_set(roles),
            Granted::CurrentGrants(grants) => {
                self.text("CURRENT GRANTS");
                match grants.as_slice() {
                    [] => {}
                    [only] if only.privileges.is_empty() => {
                        self.text(" ON ");
                        self.privilege_target(&only.target);
                    }
                    grants => {
                        self.text("(");
                        self.privilege_grants(grants);
                        self.text(")");
                    }
                }
            }
        }
        self.text(if grant.revoke { " FROM " } else { " TO " });
        self.role_set(&grant.grantees);
        if !grant.revoke {
            if grant.grant_option {
                self.text(" WITH GRANT OPTION");
            }
            if grant.admin_option {
                self.text(" WITH ADMIN OPTION");
            }
            if grant.replace_option {
                self.text(" WITH REPLACE OPTION");
            }
        }
    }

    pub(super) fn privilege_grants(&mut self, grants: &[PrivilegeGrant]) {
        self.joined(grants, ", ", |w, grant| {
            w.joined(&grant.privileges, ", ", |w, privilege| {
                w.text(&privilege.name);
                if !privilege.columns.is_empty() {
                    w.text("(");
                    w.joined(&privilege.columns, ", ", |w, column| w.nested(column));
                    w.text(")");
                }
            });
            w.text(" ON ");
            w.privilege_target(&grant.target);
        });
    }

    fn privilege_target(&mut self, target: &PrivilegeTarget) {
        let star = |w: &mut Self, prefix: bool| {
            if prefix {
                w.text("*");
            }
        };
        match target {
            PrivilegeTarget::Everything => self.text("*.*"),
            PrivilegeTarget::Database { database: None, .. } => self.text("*"),
            PrivilegeTarget::Database { database: Some(database), prefix } => {
                self.name(database);
                star(self, *prefix);
                self.text(".*");
            }
            PrivilegeTarget::Table { database, table, prefix } => {
                if let Some(database) = database {
                    self.name(database);
                    self.text(".");
                }
                self.name(table);
                star(self, *prefix);
            }
        }
    }
}
