//! CREATE of databases, tables, views, dictionaries, functions and their like as text.

use super::{Quoting, Writer};
use crate::ast::{
    ColumnDeclaration, ColumnDefaultKind, ConstraintDeclaration, CreateDatabase, CreateDictionary, CreateFunction,
    CreateIndex, CreateMode, CreateNamedCollection, CreateResource, CreateSource, CreateTable, CreateView,
    CreateWorkload, Definer, DictionaryDefinition, Function, FunctionBody, IndexDeclaration, KeyValue,
    KeyValueFunction, KeyValueValue, MoveDestination, NamedCollectionEntry, ProjectionBody, ProjectionDeclaration,
    ProjectionSelect, RefreshStrategy, ResourceOperation, SortingKey, SqlSecurity, Storage, TableElements,
    TableOverride, TimeUnitAmount, TtlAction, TtlElement, ViewKind, Watermark,
};

impl Writer {
    /// `CREATE`, `ATTACH`, `CREATE OR REPLACE`, `REPLACE`, then the words of the kind, then `IF NOT EXISTS`.
    fn create_head(&mut self, attach: bool, mode: CreateMode, kind: &str) {
        self.text(match mode {
            _ if attach => "ATTACH ",
            CreateMode::CreateOrReplace => "CREATE OR REPLACE ",
            CreateMode::Replace => "REPLACE ",
            CreateMode::Create | CreateMode::IfNotExists => "CREATE ",
        });
        self.text(kind);
        self.text(if mode == CreateMode::IfNotExists { " IF NOT EXISTS " } else { " " });
    }

    pub(super) fn create_database(&mut self, create: &CreateDatabase) {
        let mode = if create.if_not_exists { CreateMode::IfNotExists } else { CreateMode::Create };
        self.create_head(create.attach, mode, "DATABASE");
        self.identifier(&create.name);
        if let Some(uuid) = &create.uuid {
            self.text(" UUID ");
            self.string(uuid);
        }
        self.on_cluster(&create.cluster);
        if let Some(storage) = &create.storage {
            self.storage(storage);
        }
        if !create.overrides.is_empty() {
            self.line();
            self.joined(&create.overrides, ", ", |w, table| w.table_override(table));
        }
        self.comment(&create.comment);
        self.output(&create.output);
    }

    fn table_override(&mut self, table: &TableOverride) {
        self.text("TABLE OVERRIDE ");
        self.identifier(&table.table);
        self.text(" ");
        self.block(|w| w.override_body(table));
    }

    pub(super) fn override_body(&mut self, table: &TableOverride) {
        if let Some(elements) = &table.elements {
            self.text("COLUMNS ");
            self.table_elements(elements);
        }
        if let Some(storage) = &table.storage {
            self.storage(storage);
        }
    }

    pub(super) fn create_table(&mut self, create: &CreateTable) {
        self.create_head(create.attach, create.mode, if create.temporary { "TEMPORARY TABLE" } else { "TABLE" });
        self.table_name(&create.name);
        self.on_cluster(&create.cluster);
        if let Some(path) = &create.attach_from {
            self.text(" FROM ");
            self.string(path);
        }
        match create.attach_as_replicated {
            Some(true) => self.text(" AS REPLICATED"),
            Some(false) => self.text(" AS NOT REPLICATED"),
            None => {}
        }
        if let Some(elements) = &create.elements {
            self.line();
            self.table_elements(elements);
            self.primary_key_of(elements);
        }
        match &create.source {
            Some(CreateSource::Table(table)) => {
                self.text(" AS ");
                self.table_name(table);
            }
            Some(CreateSource::Clone(table)) => {
                self.text(" CLONE AS ");
                self.table_name(table);
            }
            Some(CreateSource::Function(function)) => {
                self.text(" AS ");
                self.function(function, false);
            }
            _ => {}
        }
        if let Some(storage) = &create.storage {
            self.storage(storage);
        }
        if create.empty {
            self.text(" EMPTY");
        }
        if let Some(CreateSource::Query(query)) = &create.source {
            // A comment after the query would be taken for a part of it.
            self.comment(&create.comment);
            self.line();
            self.text("AS ");
            self.query(query);
        } else {
            self.comment(&create.comment);
        }
        self.output(&create.output);
    }

    fn primary_key_of(&mut self, elements: &TableElements) {
        if let Some(key) = &elements.primary_key {
            self.line();
            self.text("PRIMARY KEY ");
            self.expression(key, false);
        }
    }

    fn table_elements(&mut self, elements: &TableElements) {
        self.text("(");
        let mut first = true;
        self.indented(|w| {
            let mut begin = |w: &mut Self| {
                if !first {
                    w.text(",");
                    w.line();
                } else {
                    w.break_line();
                }
                first = false;
            };
            for column in &elements.columns {
                begin(w);
                w.column(column);
            }
            for index in &elements.indices {
                begin(w);
                w.text("INDEX ");
                w.index(index);
            }
            for constraint in &elements.constraints {
                begin(w);
                w.text("CONSTRAINT ");
                w.constraint(constraint);
            }
            for projection in &elements.projections {
                begin(w);
                w.text("PROJECTION ");
                w.projection(projection);
            }
        });
        self.break_line();
        self.text(")");
    }

    /// One column as in CREATE TABLE.
    pub(super) fn column(&mut self, column: &ColumnDeclaration) {
        if column.name.parameter {
            self.identifier(&column.name)
        } else {
            self.quoted(&column.name.value)
        }
        if let Some(data_type) = &column.data_type {
            self.text(" ");
            self.data_type(data_type);
        }
        match column.nullable {
            Some(true) => self.text(" NULL"),
            Some(false) => self.text(" NOT NULL"),
            None => {}
        }
        if let Some(default) = &column.default {
            self.text(match default.kind {
                ColumnDefaultKind::Default => " DEFAULT",
                ColumnDefaultKind::Materialized => " MATERIALIZED",
                ColumnDefaultKind::Alias => " ALIAS",
                ColumnDefaultKind::Ephemeral => " EPHEMERAL",
                ColumnDefaultKind::AutoIncrement => " AUTO_INCREMENT",
            });
            if let Some(expression) = &default.expression {
                self.text(" ");
                self.expression(expression, false);
            }
        }
        if let Some(comment) = &column.comment {
            self.text(" COMMENT ");
            self.string(comment);
        }
        if let Some(codec) = &column.codec {
            self.text(" CODEC(");
            self.functions(codec);
            self.text(")");
        }
        if let Some(statistics) = &column.statistics {
            self.text(" STATISTICS(");
            self.functions(statistics);
            self.text(")");
        }
        if let Some(ttl) = &column.ttl {
            self.text(" TTL ");
            self.expression(ttl, false);
        }
        if let Some(collation) = &column.collation {
            self.text(" COLLATE ");
            self.name(collation);
        }
        if !column.settings.is_empty() {
            self.text(" SETTINGS (");
            self.settings(&column.settings);
            self.text(")");
        }
        if column.primary_key {
            self.text(" PRIMARY KEY");
        }
    }

    pub(super) fn functions(&mut self, functions: &[Function]) {
        self.joined(functions, ", ", |w, function| w.function(function, false));
    }

    pub(super) fn index(&mut self, index: &IndexDeclaration) {
        self.identifier(&index.name);
        self.text(" ");
        self.index_body(index);
    }

    pub(super) fn index_body(&mut self, index: &IndexDeclaration) {
        self.expression(&index.expression, false);
        if let Some(index_type) = &index.index_type {
            self.text(" TYPE ");
            self.function(index_type, false);
        }
        self.text(&format!(" GRANULARITY {}", index.granularity));
    }

    pub(super) fn constraint(&mut self, constraint: &ConstraintDeclaration) {
        self.identifier(&constraint.name);
        self.text(if constraint.assume { " ASSUME " } else { " CHECK " });
        self.expression(&constraint.expression, false);
    }

    pub(super) fn projection(&mut self, projection: &ProjectionDeclaration) {
        self.identifier(&projection.name);
        match &projection.body {
            ProjectionBody::Index { expression, index_type } => {
                self.text(" INDEX ");
                self.expression(expression, false);
                self.text(" TYPE ");
                self.function(index_type, false);
            }
            ProjectionBody::Select(select) => {
                self.line();
                self.block(|w| w.projection_select(select));
            }
        }
        if !projection.settings.is_empty() {
            self.text(" WITH SETTINGS (");
            self.settings(&projection.settings);
            self.text(")");
        }
    }

    pub(super) fn projection_select(&mut self, select: &ProjectionSelect) {
        if !select.with.is_empty() {
            self.with(&select.with, false);
        }
        self.text("SELECT");
        self.clause_list(&select.projection, |w, e| w.expression(e, false));
        if let Some(filter) = &select.filter {
            self.line();
            self.text("WHERE ");
            self.expression(filter, false);
        }
        if let Some(group_by) = &select.group_by {
            self.group_by(group_by);
        }
        if let Some(order_by) = &select.order_by {
            self.line();
            self.text("ORDER BY");
            self.clause_list(&order_by.items, |w, item| {
                w.expression(&item.expression, false);
                if item.descending {
                    w.text(" DESC");
                }
            });
        }
    }

    pub(super) fn storage(&mut self, storage: &Storage) {
        if let Some(engine) = &storage.engine {
            self.line();
            self.text("ENGINE = ");
            self.engine(engine);
        }
        if let Some(key) = &storage.partition_by {
            self.line();
            self.text("PARTITION BY ");
            self.expression(key, false);
        }
        if let Some(key) = &storage.primary_key {
            self.line();
            self.text("PRIMARY KEY ");
            self.expression(key, false);
        }
        if let Some(key) = &storage.order_by {
            self.line();
            self.text("ORDER BY ");
            self.sorting_key(key);
        }
        if let Some(key) = &storage.sample_by {
            self.line();
            self.text("SAMPLE BY ");
            self.expression(key, false);
        }
        if !storage.ttl.is_empty() {
            self.line();
            self.text("TTL");
            self.clause_list(&storage.ttl, |w, element| w.ttl_element(element));
        }
        self.settings_clause(&storage.settings);
    }

    /// An engine without arguments is written without parentheses.
    pub(super) fn engine(&mut self, engine: &Function) {
        if engine.arguments.is_empty() && engine.settings.is_empty() {
            self.dotted(&engine.name);
        } else {
            self.function(engine, false);
        }
    }

    pub(super) fn sorting_key(&mut self, key: &SortingKey) {
        if key.items.is_empty() {
            return self.text("tuple()");
        }
        let plain = key.items.iter().all(|item| !item.descending);
        match key.items.as_slice() {
            // `(a)` is written `a`, but a tuple of one item that is a tuple keeps its parentheses.
            [only] if key.tuple && plain => {
                self.text("(");
                self.expression(&only.expression, false);
                self.text(")");
            }
            _ => {
                if key.tuple {
                    self.text("(");
                }
                self.joined(&key.items, ", ", |w, item| {
                    w.expression(&item.expression, false);
                    if item.descending {
                        w.text(" DESC");
                    }
                });
                if key.tuple {
                    self.text(")");
                }
            }
        }
    }

    pub(super) fn ttl_element(&mut self, element: &TtlElement) {
        self.expression(&element.expression, false);
        match &element.action {
            TtlAction::Delete => {}
            TtlAction::Move { destination, if_exists } => {
                self.text(" TO ");
                self.destination(destination, *if_exists);
            }
            TtlAction::GroupBy { key, assignments } => {
                self.text(" GROUP BY ");
                self.expressions(key);
                if !assignments.is_empty() {
                    self.text(" SET ");
                    self.joined(assignments, ", ", |w, assignment| w.assignment(assignment));
                }
            }
            TtlAction::Recompress(codec) => {
                self.text(" RECOMPRESS CODEC(");
                self.functions(codec);
                self.text(")");
            }
        }
        if let Some(filter) = &element.filter {
            self.text(" WHERE ");
            self.expression(filter, false);
        }
    }

    pub(super) fn destination(&mut self, destination: &MoveDestination, if_exists: bool) {
        let if_exists = if if_exists { "IF EXISTS " } else { "" };
        match destination {
            MoveDestination::Disk(name) => {
                self.text("DISK ");
                self.text(if_exists);
                self.string(name);
            }
            MoveDestination::Volume(name) => {
                self.text("VOLUME ");
                self.text(if_exists);
                self.string(name);
            }
            MoveDestination::Shard(path) => {
                self.text("SHARD ");
                self.string(path);
            }
            MoveDestination::Table(table) => {
                self.text("TABLE ");
                self.table_name(table);
            }
        }
    }

    pub(super) fn create_view(&mut self, create: &CreateView) {
        let kind = match create.kind {
            ViewKind::Plain => "VIEW",
            ViewKind::Materialized => "MATERIALIZED VIEW",
            ViewKind::Live => "LIVE VIEW",
            ViewKind::Window => "WINDOW VIEW",
        };
        let kind = if create.temporary { format!("TEMPORARY {kind}") } else { kind.to_string() };
        self.create_head(create.attach, create.mode, &kind);
        self.table_name(&create.name);
        self.on_cluster(&create.cluster);
        if let Some(refresh) = &create.refresh {
            self.line();
            self.refresh(refresh);
        }
        if let Some(uuid) = &create.to_inner_uuid {
            self.text(" TO INNER UUID ");
            self.string(uuid);
        }
        if let Some(table) = &create.to {
            self.text(" TO ");
            // ClickHouse quotes it where that is needed, whatever the rule for others.
            let quoting = self.quoting;
            self.quoting = Quoting { always: false, ..quoting };
            self.table_name(table);
            self.quoting = quoting;
        }
        if let Some(elements) = &create.elements {
            self.line();
            self.table_elements(elements);
            self.primary_key_of(elements);
        }
        if let Some(storage) = &create.inner_storage {
            self.line();
            self.text("INNER ENGINE = ");
            if let Some(engine) = &storage.engine {
                self.function(engine, false);
            }
            self.storage(&Storage { engine: None, ..storage.clone() });
        }
        if let Some(storage) = &create.storage {
            self.storage(storage);
        }
        if let Some(watermark) = &create.watermark {
            self.text(" WATERMARK ");
            match watermark {
                Watermark::Ascending => self.text("ASCENDING"),
                Watermark::StrictlyAscending => self.text("STRICTLY_ASCENDING"),
                Watermark::Bounded(bound) => self.expression(bound, false),
            }
        }
        if let Some(lateness) = &create.allowed_lateness {
            self.text(" ALLOWED_LATENESS ");
            self.expression(lateness, false);
        }
        if create.populate {
            self.text(" POPULATE");
        }
        if create.empty {
            self.text(" EMPTY");
        }
        if create.definer.is_some() || create.security.is_some() {
            self.line();
            self.sql_security(&create.definer, &create.security);
        }
        self.comment(&create.comment);
        if let Some(query) = &create.query {
            self.line();
            self.text("AS ");
            self.query(query);
        }
        self.output(&create.output);
    }

    pub(super) fn sql_security(&mut self, definer: &Option<Definer>, security: &Option<SqlSecurity>) {
        if let Some(definer) = definer {
            self.text("DEFINER = ");
            match definer {
                Definer::CurrentUser => self.text("CURRENT_USER"),
                Definer::User(name) => self.name(name),
            }
            if security.is_some() {
                self.text(" ");
            }
        }
        match security {
            Some(SqlSecurity::Invoker) => self.text("SQL SECURITY INVOKER"),
            Some(SqlSecurity::Definer) => self.text("SQL SECURITY DEFINER"),
            Some(SqlSecurity::None) => self.text("SQL SECURITY NONE"),
            None => {}
        }
    }

    pub(super) fn refresh(&mut self, refresh: &RefreshStrategy) {
        self.text(if refresh.after { "REFRESH AFTER " } else { "REFRESH EVERY " });
        self.time_amounts(&refresh.period);
        if !refresh.offset.is_empty() {
            self.text(" OFFSET ");
            self.time_amounts(&refresh.offset);
        }
        if !refresh.randomize.is_empty() {
            self.text(" RANDOMIZE FOR ");
            self.time_amounts(&refresh.randomize);
        }
        if !refresh.depends_on.is_empty() {
            self.text(" DEPENDS ON ");
            self.joined(&refresh.depends_on, ", ", |w, table| w.table_name(table));
        }
        if !refresh.settings.is_empty() {
            self.text(" SETTINGS ");
            self.settings(&refresh.settings);
        }
        if refresh.append {
            self.text(" APPEND");
        }
    }

    pub(super) fn time_amounts(&mut self, amounts: &[TimeUnitAmount]) {
        self.joined(amounts, " ", |w, amount| w.text(&format!("{} {}", amount.amount, amount.unit.keyword())));
    }

    pub(super) fn create_dictionary(&mut self, create: &CreateDictionary) {
        self.create_head(create.attach, create.mode, "DICTIONARY");
        self.table_name(&create.name);
        self.on_cluster(&create.cluster);
        if let Some(definition) = &create.definition {
            self.dictionary(definition);
        }
        self.comment(&create.comment);
    }

    fn dictionary(&mut self, definition: &DictionaryDefinition) {
        if !definition.attributes.is_empty() {
            self.line();
            self.text("(");
            let attributes = &definition.attributes;
            self.indented(|w| {
                for (index, attribute) in attributes.iter().enumerate() {
                    if index > 0 {
                        w.text(",");
                        w.line();
                    } else {
                        w.break_line();
                    }
                    w.quoted(&attribute.name.value);
                    w.text(" ");
                    w.data_type(&attribute.data_type);
                    if let Some(default) = &attribute.default {
                        w.text(" DEFAULT ");
                        w.expression(default, false);
                    }
                    if let Some(expression) = &attribute.expression {
                        w.text(" EXPRESSION ");
                        w.expression(expression, false);
                    }
                    let flags = [
                        (attribute.hierarchical, " HIERARCHICAL"),
                        (attribute.bidirectional, " BIDIRECTIONAL"),
                        (attribute.injective, " INJECTIVE"),
                        (attribute.is_object_id, " IS_OBJECT_ID"),
                    ];
                    for (set, word) in flags {
                        if set {
                            w.text(word);
                        }
                    }
                }
            });
            self.break_line();
            self.text(")");
        }
        if !definition.primary_key.is_empty() {
            self.line();
            self.text("PRIMARY KEY ");
            self.expressions(&definition.primary_key);
        }
        if let Some(source) = &definition.source {
            self.line();
            self.text("SOURCE(");
            self.key_value_function(source);
            self.text(")");
        }
        if let Some(lifetime) = &definition.lifetime {
            self.line();
            self.text(&format!("LIFETIME(MIN {} MAX {})", lifetime.min, lifetime.max));
        }
        if let Some(layout) = &definition.layout {
            self.line();
            self.text("LAYOUT(");
            self.key_value_function(layout);
            self.text(")");
        }
        if let Some((min, max)) = &definition.range {
            self.line();
            self.text("RANGE(MIN ");
            self.identifier(min);
            self.text(" MAX ");
            self.identifier(max);
            self.text(")");
        }
        if !definition.settings.is_empty() {
            self.line();
            self.text("SETTINGS(");
            self.settings(&definition.settings);
            self.text(")");
        }
    }

    fn key_value_function(&mut self, function: &KeyValueFunction) {
        self.key(&function.name);
        if function.brackets {
            self.text("(");
            self.key_values(&function.pairs);
            self.text(")");
        }
    }

    /// Keys are written in upper case when that reads back the same.
    fn key(&mut self, key: &str) {
        let upper = key.to_ascii_uppercase();
        if upper.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') && !upper.is_empty() {
            self.text(&upper);
        } else {
            self.name(&upper);
        }
    }

    fn key_values(&mut self, pairs: &[KeyValue]) {
        self.joined(pairs, " ", |w, pair| {
            w.key(&pair.key);
            w.text(" ");
            match &pair.value {
                KeyValueValue::Expression(expression) => w.expression(expression, false),
                KeyValueValue::Function(function) => w.function(function, false),
                KeyValueValue::Pairs(pairs) => {
                    w.text("(");
                    w.key_values(pairs);
                    w.text(")");
                }
            }
        });
    }

    pub(super) fn create_function(&mut self, create: &CreateFunction) {
        self.create_head(false, create.mode, "FUNCTION");
        self.identifier(&create.name);
        self.on_cluster(&create.cluster);
        match &create.body {
            FunctionBody::Lambda(lambda) => {
                self.text(" AS ");
                self.expression(lambda, false);
            }
            FunctionBody::External { language, arguments, returns, options, settings } => {
                self.text(" LANGUAGE ");
                self.name(language);
                if !arguments.is_empty() {
                    self.text(" ARGUMENTS (");
                    self.joined(arguments, ", ", |w, (name, data_type)| {
                        if let Some(name) = name {
                            w.name(name);
                            w.text(" ");
                        }
                        w.data_type(data_type);
                    });
                    self.text(")");
                }
                if let Some(returns) = returns {
                    self.text(" RETURNS ");
                    self.data_type(returns);
                }
                for (name, value) in options {
                    self.text(" ");
                    if name == "::" {
                        self.text("::")
                    } else {
                        self.name(name)
                    }
                    self.text(" ");
                    self.literal(value);
                }
                if !settings.is_empty() {
                    self.text(" SETTINGS ");
                    self.settings(settings);
                }
            }
        }
    }

    pub(super) fn create_index(&mut self, create: &CreateIndex) {
        let mode = if create.if_not_exists { CreateMode::IfNotExists } else { CreateMode::Create };
        self.create_head(false, mode, if create.unique { "UNIQUE INDEX" } else { "INDEX" });
        self.identifier(&create.index.name);
        self.text(" ON ");
        self.table_name(&create.table);
        self.on_cluster(&create.cluster);
        self.text(" ");
        self.index_body(&create.index);
    }

    pub(super) fn create_named_collection(&mut self, create: &CreateNamedCollection) {
        let mode = if create.if_not_exists { CreateMode::IfNotExists } else { CreateMode::Create };
        self.create_head(false, mode, "NAMED COLLECTION");
        self.identifier(&create.name);
        self.on_cluster(&create.cluster);
        self.text(" AS ");
        self.joined(&create.entries, ", ", |w, entry| w.named_collection_entry(entry));
    }

    pub(super) fn named_collection_entry(&mut self, entry: &NamedCollectionEntry) {
        self.setting(&entry.setting);
        match entry.overridable {
            Some(true) => self.text(" OVERRIDABLE"),
            Some(false) => self.text(" NOT OVERRIDABLE"),
            None => {}
        }
    }

    pub(super) fn create_workload(&mut self, create: &CreateWorkload) {
        self.create_head(false, create.mode, "WORKLOAD");
        self.identifier(&create.name);
        self.on_cluster(&create.cluster);
        if let Some(parent) = &create.parent {
            self.text(" IN ");
            self.identifier(parent);
        }
        if !create.settings.is_empty() {
            self.text(" SETTINGS ");
            self.joined(&create.settings, ", ", |w, (setting, resource)| {
                w.setting(setting);
                if let Some(resource) = resource {
                    w.text(" FOR ");
                    w.identifier(resource);
                }
            });
        }
    }

    pub(super) fn create_resource(&mut self, create: &CreateResource) {
        self.create_head(false, create.mode, "RESOURCE");
        self.identifier(&create.name);
        self.on_cluster(&create.cluster);
        self.text(" (");
        self.joined(&create.operations, ", ", |w, operation| {
            let disk = match operation {
                ResourceOperation::ReadDisk(disk) => {
                    w.text("READ ");
                    disk
                }
                ResourceOperation::WriteDisk(disk) => {
                    w.text("WRITE ");
                    disk
                }
                ResourceOperation::MasterThread => return w.text("MASTER THREAD"),
                ResourceOperation::WorkerThread => return w.text("WORKER THREAD"),
                ResourceOperation::Query => return w.text("QUERY"),
                ResourceOperation::MemoryReservation => return w.text("MEMORY RESERVATION"),
            };
            match disk {
                Some(disk) => {
                    w.text("DISK ");
                    w.identifier(disk);
                }
                None => w.text("ANY DISK"),
            }
        });
        self.text(")");
    }
}
