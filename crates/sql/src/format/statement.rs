//! Statements that are neither queries nor definitions as text.

use super::Writer;
use crate::ast::{
    Backup, BackupElementKind, Check, CheckTarget, Delete, Describe, DescribeTarget, DescribedObject, Drop, DropAction,
    DropObject, DropTarget, Exists, Explain, Insert, InsertSource, InsertTarget, Kill, KillKind, KillMode, LikeFilter,
    Limit, ObjectKind, Optimize, Rename, RenameKind, Set, SetRole, Show, ShowFilter, ShowKind, Statement, System,
    SystemArgument, TableName, Transaction, Update, Watch,
};

impl Writer {
    pub(super) fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Query(query) => self.query(query),
            Statement::Insert(insert) => self.insert(insert),
            Statement::Delete(delete) => self.delete(delete),
            Statement::Update(update) => self.update(update),
            Statement::CreateDatabase(create) => self.create_database(create),
            Statement::CreateTable(create) => self.create_table(create),
            Statement::CreateView(create) => self.create_view(create),
            Statement::CreateDictionary(create) => self.create_dictionary(create),
            Statement::CreateFunction(create) => self.create_function(create),
            Statement::CreateIndex(create) => self.create_index(create),
            Statement::CreateNamedCollection(create) => self.create_named_collection(create),
            Statement::CreateWorkload(create) => self.create_workload(create),
            Statement::CreateResource(create) => self.create_resource(create),
            Statement::AlterTable(alter) => self.alter_table(alter),
            Statement::AlterDatabase(alter) => self.alter_database(alter),
            Statement::AlterNamedCollection(alter) => self.alter_named_collection(alter),
            Statement::Drop(drop) => self.drop_statement(drop),
            Statement::DropObject(drop) => self.drop_object(drop),
            Statement::Undrop(undrop) => {
                self.text("UNDROP TABLE ");
                self.table_name(&undrop.table);
                self.on_cluster(&undrop.cluster);
            }
            Statement::Rename(rename) => self.rename(rename),
            Statement::AccessEntity(entity) => self.access_entity(entity),
            Statement::DropAccessEntity(drop) => self.drop_access_entity(drop),
            Statement::MoveAccessEntity(movement) => self.move_access_entity(movement),
            Statement::Grant(grant) => self.grant(grant),
            Statement::Set(set) => self.set(set),
            Statement::SetRole(role) => self.set_role(role),
            Statement::Transaction(transaction) => match transaction {
                Transaction::Begin => self.text("BEGIN TRANSACTION"),
                Transaction::Commit => self.text("COMMIT"),
                Transaction::Rollback => self.text("ROLLBACK"),
                Transaction::SetSnapshot(snapshot) => self.text(&format!("SET TRANSACTION SNAPSHOT {snapshot}")),
            },
            Statement::Use(database) => {
                self.text("USE ");
                self.nested(&database.database);
            }
            Statement::Show(show) => self.show(show),
            Statement::Exists(exists) => self.exists_statement(exists),
            Statement::Describe(describe) => self.describe(describe),
            Statement::Explain(explain) => self.explain(explain),
            Statement::Kill(kill) => self.kill(kill),
            Statement::System(system) => self.system(system),
            Statement::Optimize(optimize) => self.optimize(optimize),
            Statement::Check(check) => self.check(check),
            Statement::Backup(backup) => self.backup(backup),
            Statement::Watch(watch) => self.watch(watch),
            Statement::ExecuteAs(execute) => {
                self.text("EXECUTE AS ");
                self.name(&execute.user);
                if let Some(statement) = &execute.statement {
                    self.line();
                    self.statement(statement);
                }
            }
            Statement::Parallel(statements) => {
                for (index, statement) in statements.iter().enumerate() {
                    if index > 0 {
                        self.line();
                        self.text("PARALLEL WITH");
                        self.line();
                    }
                    self.statement(statement);
                }
            }
        }
    }

    fn insert(&mut self, insert: &Insert) {
        self.text("INSERT INTO ");
        match &insert.target {
            InsertTarget::Table(table) => self.table_name(table),
            InsertTarget::Function(function) => {
                self.text("FUNCTION ");
                self.function(function, false);
            }
        }
        if let Some(key) = &insert.partition_by {
            self.text(" PARTITION BY ");
            self.expression(key, false);
        }
        if let Some(columns) = &insert.columns {
            self.text(" (");
            self.expressions(columns);
            self.text(")");
        }
        if !insert.settings.is_empty() {
            self.line();
            self.text("SETTINGS ");
            self.settings(&insert.settings);
        }
        match &insert.source {
            InsertSource::Query(query) => {
                // The query goes on on the line of the INSERT unless settings are between them.
                if insert.settings.is_empty() {
                    self.text(" ");
                } else {
                    self.line();
                }
                self.query(query);
            }
            InsertSource::Input { query, format, .. } => {
                if insert.settings.is_empty() {
                    self.text(" ");
                } else {
                    self.line();
                }
                self.query(query);
                self.line();
                self.text("FORMAT ");
                self.format_name(format);
            }
            InsertSource::Data { format, .. } => {
                if insert.settings.is_empty() {
                    self.text(" ");
                } else {
                    self.line();
                }
                self.text("FORMAT ");
                self.format_name(format);
            }
            InsertSource::Infile { path, compression, format } => {
                self.text(" FROM INFILE ");
                self.string(path);
                if let Some(compression) = compression {
                    self.text(" COMPRESSION ");
                    self.string(compression);
                }
                if let Some(format) = format {
                    self.text(" FORMAT ");
                    self.format_name(format);
                }
            }
            InsertSource::Watch(watch) => {
                self.text(" ");
                self.watch(watch);
            }
        }
    }

    fn delete(&mut self, delete: &Delete) {
        self.text("DELETE FROM ");
        self.table_name(&delete.table);
        self.on_cluster(&delete.cluster);
        self.in_partition(&delete.partition);
        self.text(" WHERE ");
        self.expression(&delete.filter, false);
        self.settings_clause(&delete.settings);
    }

    fn update(&mut self, update: &Update) {
        self.text("UPDATE ");
        self.table_name(&update.table);
        self.on_cluster(&update.cluster);
        self.text(" SET ");
        self.joined(&update.assignments, ", ", |w, assignment| w.assignment(assignment));
        self.in_partition(&update.partition);
        self.text(" WHERE ");
        self.expression(&update.filter, false);
        self.settings_clause(&update.settings);
    }

    fn drop_statement(&mut self, drop: &Drop) {
        self.text(match drop.action {
            DropAction::Drop => "DROP ",
            DropAction::Detach => "DETACH ",
            DropAction::Truncate => "TRUNCATE ",
        });
        if drop.temporary {
            self.text("TEMPORARY ");
        }
        self.text(match &drop.target {
            DropTarget::Database(_) => "DATABASE ",
            DropTarget::Tables(_) => "TABLE ",
            DropTarget::View(_) => "VIEW ",
            DropTarget::Dictionary(_) => "DICTIONARY ",
            DropTarget::AllTables { .. } => "ALL TABLES FROM ",
        });
        if drop.if_exists {
            self.text("IF EXISTS ");
        }
        if drop.if_empty {
            self.text("IF EMPTY ");
        }
        match &drop.target {
            DropTarget::Database(name) => self.identifier(name),
            DropTarget::Tables(tables) => self.joined(tables, ", ", |w, table| w.table_name(table)),
            DropTarget::View(name) | DropTarget::Dictionary(name) => self.table_name(name),
            DropTarget::AllTables { database, like } => {
                self.identifier(database);
                self.like(like);
            }
        }
        self.on_cluster(&drop.cluster);
        if drop.permanently {
            self.text(" PERMANENTLY");
        }
        if drop.sync {
            self.text(" SYNC");
        }
        self.output(&drop.output);
    }

    fn drop_object(&mut self, drop: &DropObject) {
        self.text("DROP ");
        self.text(match drop.kind {
            ObjectKind::Function => "FUNCTION ",
            ObjectKind::Index => "INDEX ",
            ObjectKind::NamedCollection => "NAMED COLLECTION ",
            ObjectKind::Workload => "WORKLOAD ",
            ObjectKind::Resource => "RESOURCE ",
        });
        if drop.if_exists {
            self.text("IF EXISTS ");
        }
        self.identifier(&drop.name);
        if let Some(table) = &drop.table {
            self.text(" ON ");
            self.table_name(table);
        }
        self.on_cluster(&drop.cluster);
    }

    fn rename(&mut self, rename: &Rename) {
        self.text(match (rename.exchange, rename.kind) {
            (true, RenameKind::Dictionary) => "EXCHANGE DICTIONARIES ",
            (true, _) => "EXCHANGE TABLES ",
            (false, RenameKind::Table) => "RENAME TABLE ",
            (false, RenameKind::Database) => "RENAME DATABASE ",
            (false, RenameKind::Dictionary) => "RENAME DICTIONARY ",
        });
        if rename.if_exists {
            self.text("IF EXISTS ");
        }
        self.joined(&rename.pairs, ", ", |w, (from, to)| {
            w.table_name(from);
            w.text(if rename.exchange { " AND " } else { " TO " });
            w.table_name(to);
        });
        self.on_cluster(&rename.cluster);
        self.output(&rename.output);
    }

    fn set(&mut self, set: &Set) {
        self.text("SET ");
        self.settings(&set.settings);
    }

    fn set_role(&mut self, role: &SetRole) {
        match role {
            SetRole::Default => self.text("SET ROLE DEFAULT"),
            SetRole::Roles(roles) => {
                self.text("SET ROLE ");
                self.role_set(roles);
            }
            SetRole::DefaultFor { roles, users, current_user } => {
                self.text("SET DEFAULT ROLE ");
                self.role_set(roles);
                self.text(" TO ");
                self.role_names(users, *current_user);
            }
        }
    }

    fn like(&mut self, like: &Option<LikeFilter>) {
        if let Some(like) = like {
            self.text(if like.negated { " NOT" } else { "" });
            self.text(if like.case_insensitive { " ILIKE " } else { " LIKE " });
            self.string(&like.pattern);
        }
    }

    fn show_filter(&mut self, filter: &Option<ShowFilter>, limit: &Option<Limit>) {
        match filter {
            Some(ShowFilter::Like(like)) => self.like(&Some(like.clone())),
            Some(ShowFilter::Where(condition)) => {
                self.text(" WHERE ");
                self.expression(condition, false);
            }
            None => {}
        }
        if let Some(count) = limit.as_ref().and_then(|limit| limit.count.as_ref()) {
            self.text(" LIMIT ");
            self.expression(count, false);
        }
    }

    fn table_clause(&mut self, table: &crate::ast::Identifier, database: &Option<crate::ast::Identifier>) {
        self.text(" FROM ");
        self.identifier(table);
        if let Some(database) = database {
            self.text(" FROM ");
            self.identifier(database);
        }
    }

    fn show(&mut self, show: &Show) {
        self.text("SHOW ");
        match &show.kind {
            ShowKind::Databases { filter, limit } => {
                self.text("DATABASES");
                self.show_filter(filter, limit);
            }
            ShowKind::Tables { full, temporary, dictionaries, database, filter, limit } => {
                self.text(if *full { "FULL " } else { "" });
                self.text(if *temporary { "TEMPORARY " } else { "" });
                self.text(if *dictionaries { "DICTIONARIES" } else { "TABLES" });
                if let Some(database) = database {
                    self.text(" FROM ");
                    self.identifier(database);
                }
                self.show_filter(filter, limit);
            }
            ShowKind::Columns { extended, full, table, database, filter, limit } => {
                self.text(if *extended { "EXTENDED " } else { "" });
                self.text(if *full { "FULL " } else { "" });
                self.text("COLUMNS");
                self.table_clause(table, database);
                self.show_filter(filter, limit);
            }
            ShowKind::Indexes { extended, table, database, filter } => {
                self.text(if *extended { "EXTENDED " } else { "" });
                self.text("INDEXES");
                self.table_clause(table, database);
                if let Some(filter) = filter {
                    self.text(" WHERE ");
                    self.expression(filter, false);
                }
            }
            ShowKind::Clusters { filter, limit } => {
                self.text("CLUSTERS");
                self.show_filter(filter, limit);
            }
            ShowKind::Cluster(name) => {
                self.text("CLUSTER ");
                self.name(name);
            }
            ShowKind::Settings { changed, filter } => {
                self.text(if *changed { "CHANGED SETTINGS" } else { "SETTINGS" });
                self.like(filter);
            }
            ShowKind::Setting(name) => {
                self.text("SETTING ");
                self.dotted(name);
            }
            ShowKind::Merges { filter, limit } => {
                self.text("MERGES");
                self.show_filter(filter, limit);
            }
            ShowKind::FilesystemCaches => self.text("FILESYSTEM CACHES"),
            ShowKind::Engines => self.text("ENGINES"),
            ShowKind::Functions { filter } => {
                self.text("FUNCTIONS");
                self.like(filter);
            }
            ShowKind::Processlist => self.text("PROCESSLIST"),
            ShowKind::Privileges => self.text("PRIVILEGES"),
            ShowKind::Create(create) => {
                self.text("CREATE ");
                self.text(if create.temporary { "TEMPORARY " } else { "" });
                self.described(create.kind, &create.name);
            }
            ShowKind::CreateAccess { kind, names, all } => {
                self.text("CREATE ");
                self.text(if *all || names.len() > 1 { plural(*kind) } else { kind.keywords() });
                if !names.is_empty() {
                    self.text(" ");
                    self.access_names(names);
                }
            }
            ShowKind::Access => self.text("ACCESS"),
            ShowKind::Grants { grantees, with_implicit, with_final } => {
                self.text("GRANTS");
                if let Some(grantees) = grantees {
                    self.text(" FOR ");
                    self.role_set(grantees);
                }
                self.text(if *with_implicit { " WITH IMPLICIT" } else { "" });
                self.text(if *with_final { " FINAL" } else { "" });
            }
            ShowKind::AccessEntities { kind, current, enabled, table, short_name } => {
                if *current && *kind == crate::ast::AccessEntityKind::Quota {
                    self.text("CURRENT QUOTA");
                } else {
                    self.text(if *current { "CURRENT " } else { "" });
                    self.text(if *enabled { "ENABLED " } else { "" });
                    self.text(plural(*kind));
                }
                if let Some(name) = short_name {
                    self.text(" ");
                    self.name(name);
                }
                if let Some(table) = table {
                    self.text(" ON ");
                    self.policy_table(table);
                }
            }
        }
        self.output(&show.output);
    }

    fn described(&mut self, kind: DescribedObject, name: &TableName) {
        self.text(match kind {
            DescribedObject::Table => "TABLE ",
            DescribedObject::View => "VIEW ",
            DescribedObject::Dictionary => "DICTIONARY ",
            DescribedObject::Database => "DATABASE ",
        });
        self.table_name(name);
    }

    fn exists_statement(&mut self, exists: &Exists) {
        self.text(if exists.temporary { "EXISTS TEMPORARY " } else { "EXISTS " });
        self.described(exists.kind, &exists.name);
        self.output(&exists.output);
    }

    fn describe(&mut self, describe: &Describe) {
        match &describe.target {
            DescribeTarget::Table(name) => {
                self.text("DESCRIBE TABLE ");
                self.table_name(name);
            }
            DescribeTarget::Function(function) => {
                self.text("DESCRIBE TABLE ");
                self.function(function, false);
            }
            DescribeTarget::Query(query) => {
                self.text("DESCRIBE TABLE");
                self.line();
                self.block(|w| w.query(query));
            }
            DescribeTarget::FilesystemCache(name) => {
                self.text("DESCRIBE FILESYSTEM CACHE ");
                self.string(name);
            }
        }
        self.settings_clause(&describe.settings);
        self.output(&describe.output);
    }

    fn explain(&mut self, explain: &Explain) {
        self.text("EXPLAIN");
        if let Some(words) = explain.kind.keywords() {
            self.text(" ");
            self.text(words);
        }
        if !explain.settings.is_empty() {
            self.text(" ");
            self.settings(&explain.settings);
        }
        if let Some((function, table_override)) = &explain.table_override {
            self.line();
            self.function(function, false);
            if let Some(table_override) = table_override {
                if table_override.elements.is_some() {
                    self.text(" ");
                }
                self.override_body(table_override);
            }
        }
        if let Some(statement) = &explain.statement {
            self.line();
            self.statement(statement);
        }
        self.output(&explain.output);
    }

    fn kill(&mut self, kill: &Kill) {
        self.text(match kill.kind {
            KillKind::Query => "KILL QUERY",
            KillKind::Mutation => "KILL MUTATION",
            KillKind::PartMoveToShard => "KILL PART_MOVE_TO_SHARD",
            KillKind::Transaction => "KILL TRANSACTION",
        });
        self.on_cluster(&kill.cluster);
        self.text(" WHERE ");
        self.expression(&kill.filter, false);
        self.text(match kill.mode {
            KillMode::Async => " ASYNC",
            KillMode::Sync => " SYNC",
            KillMode::Test => " TEST",
        });
        self.output(&kill.output);
    }

    fn system(&mut self, system: &System) {
        self.text("SYSTEM ");
        self.text(system.command.keywords());
        self.on_cluster(&system.cluster);
        if !system.tables.is_empty() {
            self.text(" ");
            self.joined(&system.tables, ", ", |w, table| w.table_name(table));
        }
        for argument in &system.arguments {
            match argument {
                SystemArgument::Keyword(word) if word == "," => self.text(","),
                SystemArgument::Keyword(word) => {
                    self.text(" ");
                    self.text(word);
                }
                SystemArgument::Name(name) => {
                    self.text(" ");
                    self.system_name(name);
                }
                SystemArgument::Literal(literal) => {
                    self.text(" ");
                    self.literal(literal);
                }
            }
        }
    }

    /// A name that is no keyword even where the grammar has one.
    fn system_name(&mut self, name: &str) {
        if crate::parser::is_system_keyword(crate::keyword::keyword(name.as_bytes())) {
            self.quoted(name);
        } else {
            self.dotted(name);
        }
    }

    fn optimize(&mut self, optimize: &Optimize) {
        self.text("OPTIMIZE TABLE ");
        self.table_name(&optimize.table);
        self.on_cluster(&optimize.cluster);
        if let Some(partition) = &optimize.partition {
            self.text(" ");
            self.partition(partition);
        }
        if let Some(parts) = &optimize.dry_run_parts {
            self.text(" DRY RUN PARTS ");
            self.joined(parts, ", ", |w, part| w.string(part));
        }
        if optimize.with_final {
            self.text(" FINAL");
        }
        if let Some(by) = &optimize.deduplicate {
            self.text(" DEDUPLICATE");
            if !by.is_empty() {
                self.text(" BY ");
                self.expressions(by);
            }
        }
        if optimize.cleanup {
            self.text(" CLEANUP");
        }
        self.output(&optimize.output);
    }

    fn check(&mut self, check: &Check) {
        match &check.target {
            CheckTarget::AllTables => self.text("CHECK ALL TABLES"),
            CheckTarget::Database(name) => {
                self.text("CHECK DATABASE ");
                self.identifier(name);
            }
            CheckTarget::Grant(grants) => {
                self.text("CHECK GRANT ");
                self.privilege_grants(grants);
            }
            CheckTarget::Table { table, partition } => {
                self.text("CHECK TABLE ");
                self.table_name(table);
                if let Some(partition) = partition {
                    self.text(" ");
                    self.partition(partition);
                }
            }
        }
        self.output(&check.output);
    }

    fn backup(&mut self, backup: &Backup) {
        self.text(if backup.restore { "RESTORE " } else { "BACKUP " });
        self.joined(&backup.elements, ", ", |w, element| {
            match &element.kind {
                BackupElementKind::Table(table) => {
                    w.text("TABLE ");
                    w.table_name(table);
                }
                BackupElementKind::TemporaryTable(table) => {
                    w.text("TEMPORARY TABLE ");
                    w.identifier(table);
                }
                BackupElementKind::Database(name) => {
                    w.text("DATABASE ");
                    w.identifier(name);
                }
                BackupElementKind::All => w.text("ALL"),
            }
            if let Some(name) = &element.new_name {
                w.text(" AS ");
                w.table_name(name);
            }
            if !element.partitions.is_empty() {
                // ClickHouse writes two spaces on one line.
                w.text(if w.one_line { " PARTITIONS  " } else { " PARTITIONS " });
                w.expressions(&element.partitions);
            }
            if !element.except_databases.is_empty() {
                w.text(" EXCEPT DATABASES ");
                w.joined(&element.except_databases, ",", |w, name| w.identifier(name));
            }
            if !element.except_tables.is_empty() {
                w.text(if element.except_tables.len() > 1 { " EXCEPT TABLES " } else { " EXCEPT TABLE " });
                w.joined(&element.except_tables, ", ", |w, table| w.table_name(table));
            }
        });
        self.on_cluster(&backup.cluster);
        self.text(if backup.restore { " FROM " } else { " TO " });
        self.function(&backup.location, false);
        if !backup.settings.is_empty() || backup.asynchronous.is_some() {
            self.text(" SETTINGS ");
            self.settings(&backup.settings);
            if let Some(asynchronous) = backup.asynchronous {
                self.text(if backup.settings.is_empty() { "async = " } else { ", async = " });
                self.text(if asynchronous { "true" } else { "false" });
            }
        }
        self.output(&backup.output);
    }

    fn watch(&mut self, watch: &Watch) {
        self.text("WATCH ");
        self.table_name(&watch.table);
        if watch.events {
            self.text(" EVENTS");
        }
        if let Some(limit) = watch.limit {
            self.text(&format!(" LIMIT {limit}"));
        }
        self.output(&watch.output);
    }
}

/// How SHOW names all entities of a kind.
fn plural(kind: crate::ast::AccessEntityKind) -> &'static str {
    use crate::ast::AccessEntityKind as Kind;
    match kind {
        Kind::User => "USERS",
        Kind::Role => "ROLES",
        Kind::Quota => "QUOTAS",
        Kind::RowPolicy => "ROW POLICIES",
        Kind::MaskingPolicy => "MASKING POLICIES",
        Kind::SettingsProfile => "SETTINGS PROFILES",
    }
}
