//! SHOW, DESCRIBE, EXISTS, USE, SET, transactions, EXPLAIN, KILL, WATCH.

use super::{K, Parsed, Parser, T};
use crate::ast::{
    AccessEntityKind, Describe, DescribeTarget, DescribedObject, Exists, Explain, ExplainKind, Identifier, Kill,
    KillKind, KillMode, LikeFilter, Limit, Output, RoleSet, Set, SetRole, Setting, Show, ShowCreate, ShowFilter,
    ShowKind, Statement, TableName, TableSource, Transaction, Use, Watch,
};

impl ExplainKind {
    /// Every kind.
    pub const ALL: &'static [Self] = &[
        Self::Ast,
        Self::Syntax,
        Self::QueryTree,
        Self::Plan,
        Self::Pipeline,
        Self::Analyze,
        Self::Estimate,
        Self::TableOverride,
        Self::CurrentTransaction,
    ];

    /// The words after `EXPLAIN`; none for a plan, which is what EXPLAIN alone means.
    pub fn keywords(self) -> Option<&'static str> {
        match self {
            Self::Ast => Some("AST"),
            Self::Syntax => Some("SYNTAX"),
            Self::QueryTree => Some("QUERY TREE"),
            Self::Plan => None,
            Self::Pipeline => Some("PIPELINE"),
            Self::Analyze => Some("ANALYZE"),
            Self::Estimate => Some("ESTIMATE"),
            Self::TableOverride => Some("TABLE OVERRIDE"),
            Self::CurrentTransaction => Some("CURRENT TRANSACTION"),
        }
    }
}

impl Parser<'_> {
    /// `EXPLAIN …`.
    pub(super) fn explain(&mut self) -> Parsed<Statement> {
        self.advance();
        self.enter(20)?;
        let (kind, settings) = self.explain_kind()?;
        let mut explain = Explain { kind, settings, statement: None, table_override: None, output: Output::default() };
        match kind {
            ExplainKind::CurrentTransaction => {}
            ExplainKind::TableOverride => {
                let name = self.identifier()?;
                let function = self.function_with_settings(name)?;
                let (elements, storage) = self.override_body()?;
                let table_override = (elements.is_some() || storage.is_some()).then(|| crate::ast::TableOverride {
                    table: Identifier::new(""),
                    elements,
                    storage,
                });
                explain.table_override = Some((function, table_override));
            }
            _ => {
                let mut statement = self.statement_without_parallel()?;
                // The output clauses are those of EXPLAIN.
                if let Statement::Query(query) = &mut statement {
                    explain.output = std::mem::take(&mut query.output);
                }
                explain.statement = Some(Box::new(statement));
            }
        }
        if explain.output == Output::default() {
            explain.output = self.output()?;
        }
        self.leave(20);
        Ok(Statement::Explain(Box::new(explain)))
    }

    /// The kind and the settings, the word `EXPLAIN` read already.
    pub(super) fn explain_kind(&mut self) -> Parsed<(ExplainKind, Vec<Setting>)> {
        let kind = if self.keyword(K::AST) {
            ExplainKind::Ast
        } else if self.keyword(K::SYNTAX) {
            ExplainKind::Syntax
        } else if self.keywords(&[K::QUERY, K::TREE], "QUERY TREE") {
            ExplainKind::QueryTree
        } else if self.keyword(K::PIPELINE) {
            ExplainKind::Pipeline
        } else if self.keyword(K::PLAN) {
            ExplainKind::Plan
        } else if self.keyword(K::ANALYZE) {
            ExplainKind::Analyze
        } else if self.keyword(K::ESTIMATE) {
            ExplainKind::Estimate
        } else if self.keywords(&[K::TABLE, K::OVERRIDE], "TABLE OVERRIDE") {
            ExplainKind::TableOverride
        } else if self.keywords(&[K::CURRENT, K::TRANSACTION], "CURRENT TRANSACTION") {
            ExplainKind::CurrentTransaction
        } else {
            ExplainKind::Plan
        };
        let mut settings = Vec::new();
        if matches!(self.peek().kind, T::Word | T::QuotedIdentifier) && self.ahead(1).kind == T::Equals {
            settings = self.settings()?;
        }
        Ok((kind, settings))
    }

    /// `SHOW …`.
    pub(super) fn show(&mut self) -> Parsed<Statement> {
        self.advance();
        let kind = self.show_kind()?;
        let output = self.output()?;
        Ok(Statement::Show(Box::new(Show { kind, output })))
    }

    fn show_kind(&mut self) -> Parsed<ShowKind> {
        if self.keyword(K::CREATE) {
            return self.show_create();
        }
        if self.keyword(K::DATABASES) {
            let filter = self.show_filter(false)?;
            return Ok(ShowKind::Databases { filter, limit: self.show_limit()? });
        }
        if self.keyword(K::CLUSTERS) {
            let filter = self.show_filter(false)?;
            return Ok(ShowKind::Clusters { filter, limit: self.show_limit()? });
        }
        if self.keyword(K::CLUSTER) {
            return Ok(ShowKind::Cluster(self.identifier_or_string()?.value));
        }
        if self.keyword(K::MERGES) {
            let filter = self.show_filter(false)?;
            return Ok(ShowKind::Merges { filter, limit: self.show_limit()? });
        }
        if self.keyword(K::PROCESSLIST) {
            return Ok(ShowKind::Processlist);
        }
        if self.keyword(K::ENGINES) {
            return Ok(ShowKind::Engines);
        }
        if self.keyword(K::PRIVILEGES) {
            return Ok(ShowKind::Privileges);
        }
        if self.keyword(K::FUNCTIONS) {
            return Ok(ShowKind::Functions { filter: self.like_filter()? });
        }
        if self.keywords(&[K::FILESYSTEM, K::CACHES], "FILESYSTEM CACHES") {
            return Ok(ShowKind::FilesystemCaches);
        }
        if self.keyword(K::SETTING) {
            return Ok(ShowKind::Setting(self.dotted_name()?));
        }
        if self.keyword(K::ACCESS) {
            return Ok(ShowKind::Access);
        }
        if self.at_keyword(K::CHANGED) || (self.at_keyword(K::SETTINGS) && !self.keyword_ahead(1, K::PROFILES)) {
            let changed = self.keyword(K::CHANGED);
            self.need_keyword(K::SETTINGS)?;
            return Ok(ShowKind::Settings { changed, filter: self.like_filter()? });
        }
        if let Some(kind) = self.show_access()? {
            return Ok(kind);
        }
        let extended = self.keyword(K::EXTENDED);
        let full = self.keyword(K::FULL);
        if self.keyword(K::COLUMNS) || self.keyword(K::FIELDS) {
            let (table, database) = self.show_table()?;
            let filter = self.show_filter(true)?;
            return Ok(ShowKind::Columns { extended, full, table, database, filter, limit: self.show_limit()? });
        }
        if self.keyword(K::INDEX) || self.keyword(K::INDEXES) || self.keyword(K::INDICES) || self.keyword(K::KEYS) {
            let (table, database) = self.show_table()?;
            let filter = if self.keyword(K::WHERE) { Some(self.expression()?) } else { None };
            return Ok(ShowKind::Indexes { extended, table, database, filter });
        }
        let temporary = self.keyword(K::TEMPORARY);
        let dictionaries = self.keyword(K::DICTIONARIES);
        if dictionaries || self.keyword(K::TABLES) {
            let database = if self.keyword(K::FROM) || self.keyword(K::IN) { Some(self.identifier()?) } else { None };
            let filter = self.show_filter(true)?;
            let limit = self.show_limit()?;
            return Ok(ShowKind::Tables { full, temporary, dictionaries, database, filter, limit });
        }
        // `SHOW TABLE t` is `SHOW CREATE TABLE t`.
        if matches!(self.peek().keyword, K::TABLE | K::VIEW | K::DICTIONARY | K::DATABASE) {
            let (kind, name) = self.described_object()?;
            return Ok(ShowKind::Create(ShowCreate { kind, temporary, name }));
        }
        self.fail("TABLES")
    }

    /// `FROM table [FROM database]`, `FROM database.table`.
    fn show_table(&mut self) -> Parsed<(Identifier, Option<Identifier>)> {
        if !self.keyword(K::FROM) {
            self.need_keyword(K::IN)?;
        }
        let name = self.table_name()?;
        let mut database = name.database;
        if database.is_none() && (self.keyword(K::FROM) || self.keyword(K::IN)) {
            database = Some(self.identifier()?);
        }
        Ok((name.table, database))
    }

    /// `[NOT] [I]LIKE 'pattern'`, when it is there.
    pub(super) fn like_filter(&mut self) -> Parsed<Option<LikeFilter>> {
        let negated = self.at_keyword(K::NOT) && matches!(self.ahead(1).keyword, K::LIKE | K::ILIKE);
        if negated {
            self.advance();
        }
        let case_insensitive = self.keyword(K::ILIKE);
        if !case_insensitive && !self.keyword(K::LIKE) {
            return Ok(None);
        }
        Ok(Some(LikeFilter { negated, case_insensitive, pattern: self.string_text()? }))
    }

    fn show_filter(&mut self, allow_where: bool) -> Parsed<Option<ShowFilter>> {
        if let Some(like) = self.like_filter()? {
            return Ok(Some(ShowFilter::Like(like)));
        }
        if allow_where && self.keyword(K::WHERE) {
            return Ok(Some(ShowFilter::Where(self.expression()?)));
        }
        Ok(None)
    }

    fn show_limit(&mut self) -> Parsed<Option<Limit>> {
        if !self.keyword(K::LIMIT) {
            return Ok(None);
        }
        let count = Some(self.expression()?);
        Ok(Some(Limit { count, offset: None, with_ties: false }))
    }

    fn show_create(&mut self) -> Parsed<ShowKind> {
        if let Some(kind) = self.show_create_access()? {
            return Ok(kind);
        }
        let temporary = self.keyword(K::TEMPORARY);
        let (kind, name) = self.described_object()?;
        Ok(ShowKind::Create(ShowCreate { kind, temporary, name }))
    }

    /// `[TABLE | VIEW | DICTIONARY | DATABASE] name`.
    fn described_object(&mut self) -> Parsed<(DescribedObject, TableName)> {
        let named = matches!(self.ahead(1).kind, T::Word | T::QuotedIdentifier | T::OpenCurly);
        let kind = match self.peek().keyword {
            K::DATABASE if named => DescribedObject::Database,
            K::VIEW if named => DescribedObject::View,
            K::DICTIONARY if named => DescribedObject::Dictionary,
            K::TABLE if named => DescribedObject::Table,
            _ => return Ok((DescribedObject::Table, self.table_name()?)),
        };
        self.advance();
        if kind == DescribedObject::Database {
            let table = self.identifier()?;
            let span = table.span;
            return Ok((kind, TableName { database: None, table, uuid: None, span }));
        }
        Ok((kind, self.table_name()?))
    }

    /// `EXISTS …`.
    pub(super) fn exists_statement(&mut self) -> Parsed<Statement> {
        self.advance();
        let temporary = self.keyword(K::TEMPORARY);
        let (kind, name) = self.described_object()?;
        let output = self.output()?;
        Ok(Statement::Exists(Box::new(Exists { kind, temporary, name, output })))
    }

    /// `DESCRIBE …`, `DESC …`.
    pub(super) fn describe(&mut self) -> Parsed<Statement> {
        self.advance();
        if self.keywords(&[K::FILESYSTEM, K::CACHE], "FILESYSTEM CACHE") {
            let target = DescribeTarget::FilesystemCache(self.string_text()?);
            let output = self.output()?;
            return Ok(Statement::Describe(Box::new(Describe { target, settings: Vec::new(), output })));
        }
        if self.at_keyword(K::TABLE) && !matches!(self.ahead(1).kind, T::End | T::Dot) {
            self.advance();
        }
        let table = if self.at_query() && !self.at(T::OpenRound) {
            TableSource::Subquery(Box::new(self.query_without_output()?))
        } else {
            self.table_expression()?.source
        };
        let target = match table {
            TableSource::Table(name) => DescribeTarget::Table(name),
            TableSource::Function(function) => DescribeTarget::Function(*function),
            TableSource::Subquery(query) => DescribeTarget::Query(query),
        };
        let settings = self.settings_clause()?;
        let output = self.output()?;
        Ok(Statement::Describe(Box::new(Describe { target, settings, output })))
    }

    /// `USE [DATABASE] name`.
    pub(super) fn use_statement(&mut self) -> Parsed<Statement> {
        self.advance();
        if self.at_keyword(K::DATABASE) && matches!(self.ahead(1).kind, T::Word | T::QuotedIdentifier) {
            self.advance();
        }
        Ok(Statement::Use(Box::new(Use { database: self.nested_identifier()? })))
    }

    /// `SET …`.
    pub(super) fn set(&mut self) -> Parsed<Statement> {
        self.advance();
        if self.keywords(&[K::DEFAULT, K::ROLE], "DEFAULT ROLE") {
            let roles = self.role_set()?;
            self.need_keyword(K::TO)?;
            let users = self.role_set()?;
            let role = SetRole::DefaultFor { roles, users: users.names, current_user: users.current_user };
            return Ok(Statement::SetRole(Box::new(role)));
        }
        if self.at_keyword(K::ROLE) && self.ahead(1).kind != T::Equals {
            self.advance();
            if self.at_keyword(K::DEFAULT) {
                self.advance();
                return Ok(Statement::SetRole(Box::new(SetRole::Default)));
            }
            let roles: RoleSet = self.role_set()?;
            return Ok(Statement::SetRole(Box::new(SetRole::Roles(roles))));
        }
        if self.keywords(&[K::TRANSACTION, K::SNAPSHOT], "TRANSACTION SNAPSHOT") {
            return Ok(Statement::Transaction(Transaction::SetSnapshot(self.unsigned()?)));
        }
        if self.at_keyword(K::TIME) && self.keyword_ahead(1, K::ZONE) {
            self.skip(2);
            let start = self.start();
            let _ = self.accept(T::Equals);
            let value = self.setting_value()?;
            let setting = Setting { name: "session_timezone".to_string(), value, span: self.span_from(start) };
            return Ok(Statement::Set(Box::new(Set { settings: vec![setting] })));
        }
        Ok(Statement::Set(Box::new(Set { settings: self.settings()? })))
    }

    /// `BEGIN [TRANSACTION]`, `START TRANSACTION`, `COMMIT`, `ROLLBACK`.
    pub(super) fn transaction(&mut self) -> Parsed<Statement> {
        let transaction = match self.peek().keyword {
            K::COMMIT => Transaction::Commit,
            K::ROLLBACK => Transaction::Rollback,
            _ => Transaction::Begin,
        };
        let start = self.at_keyword(K::START);
        self.advance();
        if start {
            self.need_keyword(K::TRANSACTION)?;
        } else {
            let _ = self.keyword(K::TRANSACTION);
        }
        Ok(Statement::Transaction(transaction))
    }

    /// `KILL …`.
    pub(super) fn kill(&mut self) -> Parsed<Statement> {
        self.advance();
        let kind = if self.keyword(K::QUERY) {
            KillKind::Query
        } else if self.keyword(K::MUTATION) {
            KillKind::Mutation
        } else if self.keyword(K::PART_MOVE_TO_SHARD) {
            KillKind::PartMoveToShard
        } else {
            self.need_keyword(K::TRANSACTION)?;
            KillKind::Transaction
        };
        let cluster = self.on_cluster()?;
        self.need_keyword(K::WHERE)?;
        let filter = self.expression()?;
        let mode = if self.keyword(K::SYNC) {
            KillMode::Sync
        } else if self.keyword(K::TEST) {
            KillMode::Test
        } else {
            let _ = self.keyword(K::ASYNC);
            KillMode::Async
        };
        let output = self.output()?;
        Ok(Statement::Kill(Box::new(Kill { kind, cluster, filter, mode, output })))
    }

    /// `WATCH …`.
    pub(super) fn watch(&mut self) -> Parsed<Watch> {
        self.advance();
        let table = self.table_name()?;
        let events = self.keyword(K::EVENTS);
        let limit = if self.keyword(K::LIMIT) { Some(self.unsigned()?) } else { None };
        let output = self.output()?;
        Ok(Watch { table, events, limit, output })
    }

    /// The plural of a kind of access entity, as SHOW names it.
    pub(super) fn access_plural(&mut self) -> Option<AccessEntityKind> {
        let kind = match self.peek().keyword {
            K::USERS => AccessEntityKind::User,
            K::ROLES => AccessEntityKind::Role,
            K::QUOTAS => AccessEntityKind::Quota,
            K::PROFILES => AccessEntityKind::SettingsProfile,
            K::POLICIES => AccessEntityKind::RowPolicy,
            K::SETTINGS if self.keyword_ahead(1, K::PROFILES) => AccessEntityKind::SettingsProfile,
            K::ROW if self.keyword_ahead(1, K::POLICIES) => AccessEntityKind::RowPolicy,
            K::MASKING if self.keyword_ahead(1, K::POLICIES) => AccessEntityKind::MaskingPolicy,
            _ => return None,
        };
        let words = if matches!(self.peek().keyword, K::SETTINGS | K::ROW | K::MASKING) { 2 } else { 1 };
        self.skip(words);
        Some(kind)
    }
}
