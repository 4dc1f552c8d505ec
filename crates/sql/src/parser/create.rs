//! CREATE and ATTACH.

use super::expression::operator;
use super::{K, Parsed, Parser, T};
use crate::ast::{
    ColumnDeclaration, CreateDatabase, CreateDictionary, CreateFunction, CreateIndex, CreateMode,
    CreateNamedCollection, CreateResource, CreateSource, CreateTable, CreateView, CreateWorkload, DataType, Definer,
    Expression, ExpressionKind, FunctionBody, Identifier, IndexDeclaration, NamedCollectionEntry, Output,
    RefreshStrategy, ResourceOperation, SqlSecurity, Statement, Storage, TableElements, TableOverride, TimeUnitAmount,
    ViewKind, Watermark,
};
use crate::error::SYNTAX_ERROR;

impl Parser<'_> {
    /// CREATE, REPLACE or ATTACH.
    pub(super) fn create(&mut self) -> Parsed<Statement> {
        let attach = self.at_keyword(K::ATTACH);
        let mut mode = CreateMode::Create;
        if self.at_keyword(K::REPLACE) {
            mode = CreateMode::Replace;
        }
        self.advance();
        if self.keywords(&[K::OR, K::REPLACE], "OR REPLACE") {
            mode = CreateMode::CreateOrReplace;
        }
        if let Some(statement) = self.create_access_entity(attach, mode)? {
            return Ok(statement);
        }
        let temporary = self.keyword(K::TEMPORARY);
        if attach && temporary && self.at_keyword(K::TABLE) {
            return self.fatal(SYNTAX_ERROR, "ATTACH of TEMPORARY tables are not supported");
        }
        match self.peek().keyword {
            K::DATABASE => self.create_database(attach),
            K::TABLE => self.create_table(attach, mode, temporary),
            K::VIEW => self.create_view(attach, mode, temporary, ViewKind::Plain, 1),
            K::MATERIALIZED => self.create_view(attach, mode, temporary, ViewKind::Materialized, 2),
            K::LIVE => self.create_view(attach, mode, temporary, ViewKind::Live, 2),
            K::WINDOW => self.create_view(attach, mode, temporary, ViewKind::Window, 2),
            K::DICTIONARY => self.create_dictionary(attach, mode),
            K::FUNCTION => self.create_function(mode),
            K::INDEX | K::UNIQUE => self.create_index(),
            K::NAMED => self.create_named_collection(),
            K::WORKLOAD => self.create_workload(mode),
            K::RESOURCE => self.create_resource(mode),
            _ => {
                for what in [
                    "DATABASE",
                    "TABLE",
                    "TEMPORARY",
                    "VIEW",
                    "MATERIALIZED",
                    "LIVE",
                    "WINDOW",
                    "DICTIONARY",
                    "FUNCTION",
                    "INDEX",
                    "UNIQUE",
                    "USER",
                    "ROLE",
                    "ROW POLICY",
                    "POLICY",
                    "SETTINGS PROFILE",
                    "PROFILE",
                    "QUOTA",
                    "MASKING POLICY",
                    "NAMED COLLECTION",
                    "WORKLOAD",
                    "RESOURCE",
                ] {
                    self.missed(what);
                }
                self.fail("CREATE query")
            }
        }
    }

    fn mode_if_not_exists(&mut self, mode: CreateMode) -> CreateMode {
        if self.if_not_exists() { CreateMode::IfNotExists } else { mode }
    }

    fn create_database(&mut self, attach: bool) -> Parsed<Statement> {
        self.advance();
        let if_not_exists = self.if_not_exists();
        let name = self.identifier()?;
        let uuid = self.uuid_clause()?;
        let cluster = self.on_cluster()?;
        let mut comment = self.comment()?;
        let storage = self.storage()?;
        let mut overrides = Vec::new();
        while self.keywords(&[K::TABLE, K::OVERRIDE], "TABLE OVERRIDE") {
            overrides.push(self.table_override()?);
            let _ = self.accept(T::Comma);
        }
        if comment.is_none() {
            comment = self.comment()?;
        }
        Ok(Statement::CreateDatabase(Box::new(CreateDatabase {
            attach,
            if_not_exists,
            name,
            uuid,
            cluster,
            storage,
            overrides,
            comment,
            output: self.output()?,
        })))
    }

    /// `name (COLUMNS (…) storage)`, the words `TABLE OVERRIDE` read already.
    fn table_override(&mut self) -> Parsed<TableOverride> {
        let table = self.identifier()?;
        self.need(T::OpenRound)?;
        let (elements, storage) = self.override_body()?;
        self.need(T::CloseRound)?;
        Ok(TableOverride { table, elements, storage })
    }

    /// `[COLUMNS (…)] storage`.
    pub(super) fn override_body(&mut self) -> Parsed<(Option<TableElements>, Option<Storage>)> {
        let elements = if self.keyword(K::COLUMNS) { Some(self.table_elements()?) } else { None };
        Ok((elements, self.storage()?))
    }

    fn create_table(&mut self, attach: bool, mode: CreateMode, temporary: bool) -> Parsed<Statement> {
        self.advance();
        let mode = self.mode_if_not_exists(mode);
        let mut name = self.table_name()?;
        name.uuid = self.uuid_clause()?;
        let mut table = CreateTable {
            attach,
            mode,
            temporary,
            name,
            cluster: self.on_cluster()?,
            attach_from: None,
            attach_as_replicated: None,
            elements: None,
            storage: None,
            source: None,
            empty: false,
            comment: None,
            output: Output::default(),
        };
        if attach && self.keyword(K::FROM) {
            table.attach_from = Some(self.string_text()?);
        }
        if attach && self.at_keyword(K::AS) {
            let not = self.keyword_ahead(1, K::NOT);
            if self.keyword_ahead(if not { 2 } else { 1 }, K::REPLICATED) {
                self.skip(if not { 3 } else { 2 });
                table.attach_as_replicated = Some(!not);
            }
        }
        if self.at(T::OpenRound) {
            let elements = self.attempt(|p| p.table_elements())?;
            if elements.is_none() && !self.at_query() {
                // Again, for the error that it gives.
                table.elements = Some(self.table_elements()?);
            }
            table.elements = elements;
        }
        table.storage = self.storage()?;
        table.comment = self.comment()?;
        if self.keywords(&[K::CLONE, K::AS], "CLONE AS") {
            table.source = Some(CreateSource::Clone(self.table_name()?));
        } else {
            table.empty = self.keyword(K::EMPTY);
            if self.keyword(K::AS) {
                table.source = Some(self.create_source()?);
            } else if self.at_query() && !self.at_keyword(K::FROM) {
                table.source = Some(CreateSource::Query(Box::new(self.query_without_output()?)));
            }
        }
        if table.storage.is_none() {
            table.storage = self.storage()?;
        }
        if table.comment.is_none() {
            table.comment = self.comment()?;
        }
        table.output = self.output()?;
        move_primary_key(table.elements.as_mut(), &mut table.storage);
        Ok(Statement::CreateTable(Box::new(table)))
    }

    /// What follows `AS`.
    fn create_source(&mut self) -> Parsed<CreateSource> {
        if self.at_query() {
            return Ok(CreateSource::Query(Box::new(self.query_without_output()?)));
        }
        if self.ahead(1).kind == T::OpenRound {
            let name = self.identifier()?;
            return Ok(CreateSource::Function(self.function_with_settings(name)?));
        }
        Ok(CreateSource::Table(self.table_name()?))
    }

    fn create_view(
        &mut self,
        attach: bool,
        mode: CreateMode,
        temporary: bool,
        kind: ViewKind,
        words: usize,
    ) -> Parsed<Statement> {
        self.skip(words - 1);
        self.need_keyword(K::VIEW)?;
        let mode = self.mode_if_not_exists(mode);
        let mut name = self.table_name()?;
        name.uuid = self.uuid_clause()?;
        let mut view = CreateView {
            attach,
            mode,
            temporary,
            kind,
            name,
            cluster: self.on_cluster()?,
            refresh: None,
            to: None,
            to_inner_uuid: None,
            elements: None,
            storage: None,
            inner_storage: None,
            watermark: None,
            allowed_lateness: None,
            populate: false,
            empty: false,
            definer: None,
            security: None,
            comment: None,
            query: None,
            output: Output::default(),
        };
        self.view_clauses(&mut view)?;
        if self.keyword(K::AS) {
            view.query = Some(Box::new(self.query_without_output()?));
        } else if !attach {
            return self.fail("AS");
        }
        if view.comment.is_none() {
            view.comment = self.comment()?;
        }
        if view.definer.is_none() && view.security == Some(SqlSecurity::Definer) {
            view.definer = Some(Definer::CurrentUser);
        }
        view.output = self.output()?;
        move_primary_key(view.elements.as_mut(), &mut view.storage);
        Ok(Statement::CreateView(Box::new(view)))
    }

    /// What may stand between a view's name and its query, in any order.
    fn view_clauses(&mut self, view: &mut CreateView) -> Parsed<()> {
        let kind = view.kind;
        loop {
            if kind == ViewKind::Materialized && self.at_keyword(K::REFRESH) && view.refresh.is_none() {
                self.advance();
                view.refresh = Some(self.refresh_strategy()?);
            } else if self.keywords(&[K::TO, K::INNER, K::UUID], "TO INNER UUID") {
                view.to_inner_uuid = Some(self.string_text()?);
            } else if kind != ViewKind::Plain && view.to.is_none() && self.keyword(K::TO) {
                view.to = Some(self.table_name()?);
            } else if view.elements.is_none() && self.at(T::OpenRound) && !self.at_query() {
                view.elements = Some(self.view_elements()?);
            } else if kind == ViewKind::Window && self.window_view_clause(view)? {
                // That was one.
            } else if self.keyword(K::POPULATE) {
                view.populate = true;
            } else if self.keyword(K::EMPTY) {
                view.empty = true;
            } else if view.definer.is_none() && self.at_keyword(K::DEFINER) {
                self.advance();
                let _ = self.accept(T::Equals);
                view.definer = Some(self.definer()?);
            } else if view.security.is_none() && self.keywords(&[K::SQL, K::SECURITY], "SQL SECURITY") {
                view.security = Some(self.sql_security()?);
            } else if view.comment.is_none() && self.at_keyword(K::COMMENT) {
                view.comment = self.comment()?;
            } else if view.storage.is_none()
                && let Some(storage) = self.storage()?
            {
                view.storage = Some(storage);
            } else {
                return Ok(());
            }
        }
    }

    /// A clause that only window views have, where one is next.
    fn window_view_clause(&mut self, view: &mut CreateView) -> Parsed<bool> {
        if self.keywords(&[K::INNER, K::ENGINE], "INNER ENGINE") {
            let _ = self.accept(T::Equals);
            let engine = self.engine()?;
            let mut storage = self.storage()?.unwrap_or_default();
            // What follows an inner engine may belong to the outer one as well; ClickHouse reads it so, too.
            storage.engine = Some(engine);
            view.inner_storage = Some(storage);
        } else if self.keyword(K::WATERMARK) {
            let _ = self.accept(T::Equals);
            view.watermark = Some(if self.keyword(K::ASCENDING) {
                Watermark::Ascending
            } else if self.keyword(K::STRICTLY_ASCENDING) {
                Watermark::StrictlyAscending
            } else {
                Watermark::Bounded(self.expression_without_alias()?)
            });
        } else if self.keyword(K::ALLOWED_LATENESS) {
            let _ = self.accept(T::Equals);
            view.allowed_lateness = Some(self.expression_without_alias()?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Columns with their types, or bare names.
    fn view_elements(&mut self) -> Parsed<TableElements> {
        let bare = matches!(self.ahead(1).kind, T::Word | T::QuotedIdentifier)
            && matches!(self.ahead(2).kind, T::Comma | T::CloseRound);
        if !bare {
            return self.table_elements();
        }
        let columns = self.round_list(|p| {
            let name = p.identifier()?;
            let span = name.span;
            Ok(ColumnDeclaration {
                name,
                data_type: None,
                nullable: None,
                default: None,
                comment: None,
                codec: None,
                statistics: None,
                ttl: None,
                collation: None,
                settings: Vec::new(),
                primary_key: false,
                span,
            })
        })?;
        Ok(TableElements { columns, ..TableElements::default() })
    }

    /// `EVERY | AFTER …`, the word `REFRESH` read already.
    pub(super) fn refresh_strategy(&mut self) -> Parsed<RefreshStrategy> {
        let after = self.keyword(K::AFTER);
        if !after {
            self.need_keyword(K::EVERY)?;
        }
        let mut strategy = RefreshStrategy {
            after,
            period: self.time_amounts()?,
            offset: Vec::new(),
            randomize: Vec::new(),
            depends_on: Vec::new(),
            settings: Vec::new(),
            append: false,
        };
        if self.keyword(K::OFFSET) {
            strategy.offset = self.time_amounts()?;
        }
        if self.keywords(&[K::RANDOMIZE, K::FOR], "RANDOMIZE FOR") {
            strategy.randomize = self.time_amounts()?;
        }
        if self.keywords(&[K::DEPENDS, K::ON], "DEPENDS ON") {
            strategy.depends_on = self.list(|p| p.table_name())?;
        }
        strategy.settings = self.settings_clause()?;
        strategy.append = self.keyword(K::APPEND);
        Ok(strategy)
    }

    /// `1 DAY 2 HOUR`.
    fn time_amounts(&mut self) -> Parsed<Vec<TimeUnitAmount>> {
        let mut amounts = vec![self.time_amount()?];
        while self.at(T::Number) {
            amounts.push(self.time_amount()?);
        }
        Ok(amounts)
    }

    pub(super) fn time_amount(&mut self) -> Parsed<TimeUnitAmount> {
        let amount = self.unsigned()?;
        match self.interval_unit() {
            Some(unit) => Ok(TimeUnitAmount { amount, unit }),
            None => self.fail("interval unit"),
        }
    }

    pub(super) fn definer(&mut self) -> Parsed<Definer> {
        if self.keyword(K::CURRENT_USER) {
            return Ok(Definer::CurrentUser);
        }
        Ok(Definer::User(self.identifier_or_string()?.value))
    }

    pub(super) fn sql_security(&mut self) -> Parsed<SqlSecurity> {
        if self.keyword(K::INVOKER) {
            Ok(SqlSecurity::Invoker)
        } else if self.keyword(K::DEFINER) {
            Ok(SqlSecurity::Definer)
        } else {
            self.word_needed("NONE")?;
            Ok(SqlSecurity::None)
        }
    }

    fn create_dictionary(&mut self, attach: bool, mode: CreateMode) -> Parsed<Statement> {
        self.advance();
        let mode = self.mode_if_not_exists(mode);
        let mut name = self.table_name()?;
        name.uuid = self.uuid_clause()?;
        let cluster = self.on_cluster()?;
        let definition = if self.at(T::OpenRound) || !attach { Some(self.dictionary_definition()?) } else { None };
        let comment = self.comment()?;
        Ok(Statement::CreateDictionary(Box::new(CreateDictionary { attach, mode, name, cluster, definition, comment })))
    }

    fn create_function(&mut self, mode: CreateMode) -> Parsed<Statement> {
        self.advance();
        let mode = self.mode_if_not_exists(mode);
        let name = self.identifier()?;
        let cluster = self.on_cluster()?;
        let body = if self.keyword(K::AS) {
            FunctionBody::Lambda(self.expression()?)
        } else {
            self.need_keyword(K::LANGUAGE)?;
            self.external_function()?
        };
        Ok(Statement::CreateFunction(Box::new(CreateFunction { mode, name, cluster, body })))
    }

    /// `WASM FROM 'module' … ARGUMENTS (…) RETURNS type …`, the word `LANGUAGE` read already.
    fn external_function(&mut self) -> Parsed<FunctionBody> {
        let language = self.identifier()?.value;
        let mut arguments = Vec::new();
        let mut returns = None;
        let mut options = Vec::new();
        loop {
            if self.keyword(K::ARGUMENTS) {
                arguments = self.round_list(|p| p.function_argument())?;
            } else if self.keyword(K::RETURNS) {
                returns = Some(self.data_type()?);
            } else if self.at_keyword(K::SETTINGS) || !self.at(T::Word) {
                break;
            } else {
                let option = self.identifier()?.value.to_ascii_uppercase();
                let value = match self.peek().kind {
                    T::Word => crate::ast::Literal::string(self.identifier()?.value),
                    _ => self.literal()?,
                };
                options.push((option, value));
                if self.accept(T::DoubleColon) {
                    options.push(("::".to_string(), self.literal()?));
                }
            }
        }
        let settings = self.settings_clause()?;
        Ok(FunctionBody::External { language, arguments, returns, options, settings })
    }

    fn function_argument(&mut self) -> Parsed<(Option<String>, DataType)> {
        if matches!(self.ahead(1).kind, T::Word | T::QuotedIdentifier) {
            let name = self.identifier()?.value;
            return Ok((Some(name), self.data_type()?));
        }
        Ok((None, self.data_type()?))
    }

    fn create_index(&mut self) -> Parsed<Statement> {
        let start = self.start();
        let unique = self.keyword(K::UNIQUE);
        self.need_keyword(K::INDEX)?;
        let if_not_exists = self.if_not_exists();
        let name = self.identifier()?;
        self.need_keyword(K::ON)?;
        let table = self.table_name()?;
        let cluster = self.on_cluster()?;
        let mut expression = match self.attempt(|p| p.ordered_columns())? {
            Some(columns) => columns,
            None => self.expression()?,
        };
        expression.parenthesized.0 = false;
        let index_type = if self.keyword(K::TYPE) { Some(self.bare_or_call()?) } else { None };
        let granularity = if self.keyword(K::GRANULARITY) { self.unsigned()? } else { 1 };
        let index = IndexDeclaration { name, expression, index_type, granularity, span: self.span_from(start) };
        Ok(Statement::CreateIndex(Box::new(CreateIndex { if_not_exists, unique, table, cluster, index })))
    }

    /// `(a DESC, b)` of an index: as other databases have it, and the directions say nothing.
    fn ordered_columns(&mut self) -> Parsed<Expression> {
        let start = self.start();
        self.need(T::OpenRound)?;
        let mut columns = self.list(|p| {
            let column = p.expression()?;
            let _ = p.keyword(K::ASC) || p.keyword(K::DESC);
            Ok(column)
        })?;
        self.need(T::CloseRound)?;
        if !matches!(self.peek().keyword, K::TYPE | K::GRANULARITY)
            && !matches!(self.peek().kind, T::End | T::Semicolon)
        {
            return self.fail("TYPE");
        }
        match columns.pop() {
            Some(column) if columns.is_empty() => Ok(column),
            last => {
                columns.extend(last);
                Ok(operator("tuple", columns, self.span_from(start)))
            }
        }
    }

    fn create_named_collection(&mut self) -> Parsed<Statement> {
        self.advance();
        self.need_keyword(K::COLLECTION)?;
        let if_not_exists = self.if_not_exists();
        let name = self.identifier()?;
        let cluster = self.on_cluster()?;
        self.need_keyword(K::AS)?;
        let entries = self.list(|p| p.named_collection_entry())?;
        Ok(Statement::CreateNamedCollection(Box::new(CreateNamedCollection { if_not_exists, name, cluster, entries })))
    }

    /// `name = value [[NOT] OVERRIDABLE]`.
    pub(super) fn named_collection_entry(&mut self) -> Parsed<NamedCollectionEntry> {
        let setting = self.setting()?;
        let overridable = if self.keywords(&[K::NOT, K::OVERRIDABLE], "NOT OVERRIDABLE") {
            Some(false)
        } else {
            self.keyword(K::OVERRIDABLE).then_some(true)
        };
        Ok(NamedCollectionEntry { setting, overridable })
    }

    fn create_workload(&mut self, mode: CreateMode) -> Parsed<Statement> {
        self.advance();
        let mode = self.mode_if_not_exists(mode);
        let name = self.identifier()?;
        let cluster = self.on_cluster()?;
        let parent = if self.keyword(K::IN) { Some(self.identifier()?) } else { None };
        let mut settings = Vec::new();
        if self.keyword(K::SETTINGS) {
            settings = self.list(|p| {
                let setting = p.setting()?;
                let resource: Option<Identifier> = if p.keyword(K::FOR) { Some(p.identifier()?) } else { None };
                Ok((setting, resource))
            })?;
        }
        Ok(Statement::CreateWorkload(Box::new(CreateWorkload { mode, name, cluster, parent, settings })))
    }

    fn create_resource(&mut self, mode: CreateMode) -> Parsed<Statement> {
        self.advance();
        let mode = self.mode_if_not_exists(mode);
        let name = self.identifier()?;
        let cluster = self.on_cluster()?;
        let operations = self.round_list(|p| p.resource_operation())?;
        Ok(Statement::CreateResource(Box::new(CreateResource { mode, name, cluster, operations })))
    }

    fn resource_operation(&mut self) -> Parsed<ResourceOperation> {
        if self.keyword(K::QUERY) {
            return Ok(ResourceOperation::Query);
        }
        if self.keywords(&[K::MASTER, K::THREAD], "MASTER THREAD") {
            return Ok(ResourceOperation::MasterThread);
        }
        if self.keywords(&[K::WORKER, K::THREAD], "WORKER THREAD") {
            return Ok(ResourceOperation::WorkerThread);
        }
        if self.keywords(&[K::MEMORY, K::RESERVATION], "MEMORY RESERVATION") {
            return Ok(ResourceOperation::MemoryReservation);
        }
        let write = self.keyword(K::WRITE);
        if !write {
            self.need_keyword(K::READ)?;
        }
        let disk = if self.keywords(&[K::ANY, K::DISK], "ANY DISK") {
            None
        } else {
            self.need_keyword(K::DISK)?;
            Some(self.identifier()?)
        };
        Ok(if write { ResourceOperation::WriteDisk(disk) } else { ResourceOperation::ReadDisk(disk) })
    }
}

/// A primary key among the elements, or behind columns, is the storage's.
fn move_primary_key(elements: Option<&mut TableElements>, storage: &mut Option<Storage>) {
    let Some(elements) = elements else { return };
    let mut columns = Vec::new();
    for column in &mut elements.columns {
        if std::mem::take(&mut column.primary_key) {
            columns.push(Expression::new(ExpressionKind::Identifier(vec![column.name.clone()]), column.name.span));
        }
    }
    let mut key = elements.primary_key.take();
    if !columns.is_empty() {
        key = Some(Expression::function("tuple", columns));
    }
    if key.is_some() {
        storage.get_or_insert_default().primary_key = key;
    }
}
