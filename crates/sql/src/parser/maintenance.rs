//! Which statement begins here; DROP, RENAME, OPTIMIZE, CHECK, BACKUP and their like.

use super::{K, Parsed, Parser, T};
use crate::ast::{
    Backup, BackupElement, BackupElementKind, Check, CheckTarget, Drop, DropAction, DropObject, DropTarget, ExecuteAs,
    Literal, ObjectKind, Optimize, Output, PartitionSelector, Rename, RenameKind, SettingValue, Statement, TableName,
    Undrop,
};
use crate::error::SYNTAX_ERROR;

impl Parser<'_> {
    /// A statement, or several in parallel.
    pub(super) fn statement(&mut self) -> Parsed<Statement> {
        let first = self.statement_without_parallel()?;
        if !self.keywords(&[K::PARALLEL, K::WITH], "PARALLEL WITH") {
            return Ok(first);
        }
        let mut statements = vec![first, self.statement_without_parallel()?];
        while self.keywords(&[K::PARALLEL, K::WITH], "PARALLEL WITH") {
            statements.push(self.statement_without_parallel()?);
        }
        Ok(Statement::Parallel(statements))
    }

    pub(super) fn statement_without_parallel(&mut self) -> Parsed<Statement> {
        let token = self.peek();
        let next = self.ahead(1).keyword;
        match token.keyword {
            K::SELECT | K::FROM => Ok(Statement::Query(Box::new(self.query()?))),
            K::WITH => self.with_statement(),
            _ if token.kind == T::OpenRound => Ok(Statement::Query(Box::new(self.query()?))),
            K::INSERT => self.insert(None),
            K::DELETE => self.delete(),
            K::UPDATE => self.update(),
            K::CREATE | K::ATTACH => self.create(),
            K::REPLACE => self.create(),
            K::ALTER => self.alter(),
            K::DROP => self.drop_statement(),
            K::DETACH | K::TRUNCATE => self.drop_statement(),
            K::UNDROP => self.undrop(),
            K::RENAME | K::EXCHANGE => self.rename(),
            K::SHOW => self.show(),
            K::DESCRIBE | K::DESC => self.describe(),
            K::EXISTS => self.exists_statement(),
            K::EXPLAIN => self.explain(),
            K::USE => self.use_statement(),
            K::SET => self.set(),
            K::BEGIN | K::COMMIT | K::ROLLBACK => self.transaction(),
            K::START if next == K::TRANSACTION => self.transaction(),
            K::KILL => self.kill(),
            K::WATCH => Ok(Statement::Watch(Box::new(self.watch()?))),
            K::SYSTEM => self.system(),
            K::OPTIMIZE => self.optimize(),
            K::CHECK => self.check(),
            K::GRANT | K::REVOKE => self.grant(),
            K::MOVE => self.move_access_entity(),
            K::BACKUP | K::RESTORE => self.backup(),
            K::EXECUTE => self.execute_as(),
            _ => {
                for what in [
                    "Query",
                    "Query with output",
                    "EXPLAIN",
                    "SELECT",
                    "WITH",
                    "FROM",
                    "SHOW",
                    "EXISTS",
                    "DESCRIBE",
                    "DESC",
                    "CHECK",
                    "KILL",
                    "OPTIMIZE",
                    "WATCH",
                    "BACKUP",
                    "RESTORE",
                    "INSERT INTO",
                    "USE",
                    "SET",
                    "SYSTEM",
                    "CREATE",
                    "ATTACH",
                    "REPLACE",
                    "ALTER",
                    "RENAME",
                    "EXCHANGE",
                    "DROP",
                    "DETACH",
                    "TRUNCATE",
                    "UNDROP",
                    "DELETE",
                    "UPDATE",
                    "GRANT",
                    "REVOKE",
                    "MOVE",
                    "BEGIN TRANSACTION",
                    "START TRANSACTION",
                    "COMMIT",
                    "ROLLBACK",
                    "EXECUTE AS",
                ] {
                    self.missed(what);
                }
                self.fail("Query")
            }
        }
    }

    /// A query that begins with WITH, or an INSERT after a WITH.
    fn with_statement(&mut self) -> Parsed<Statement> {
        let query = self.attempt(|p| {
            let query = p.query()?;
            if p.at_keyword(K::INSERT) { p.fail("SELECT") } else { Ok(query) }
        })?;
        if let Some(query) = query {
            return Ok(Statement::Query(Box::new(query)));
        }
        let start = self.start();
        let insert = self.attempt(|p| {
            p.advance();
            let items = p.with_items()?;
            if p.at_keyword(K::INSERT) { Ok(items) } else { p.fail("SELECT") }
        })?;
        match insert {
            Some(items) => self.insert(Some(items)),
            None => {
                self.rewind_to(start);
                Ok(Statement::Query(Box::new(self.query()?)))
            }
        }
    }

    /// DROP, DETACH, TRUNCATE.
    fn drop_statement(&mut self) -> Parsed<Statement> {
        let action = match self.peek().keyword {
            K::DETACH => DropAction::Detach,
            K::TRUNCATE => DropAction::Truncate,
            _ => DropAction::Drop,
        };
        self.advance();
        if action == DropAction::Drop
            && let Some(statement) = self.drop_object()?
        {
            return Ok(statement);
        }
        let temporary = self.keyword(K::TEMPORARY);
        let kind = self.peek().keyword;
        if action == DropAction::Truncate
            && (kind == K::TABLES || (kind == K::ALL && self.keyword_ahead(1, K::TABLES)))
            && matches!(self.ahead(if kind == K::ALL { 2 } else { 1 }).keyword, K::FROM | K::IN)
        {
            return self.truncate_all(if kind == K::ALL { 3 } else { 2 });
        }
        let named = matches!(kind, K::DATABASE | K::VIEW | K::DICTIONARY | K::TABLE)
            && matches!(self.ahead(1).kind, T::Word | T::QuotedIdentifier | T::OpenCurly | T::String);
        if named {
            self.advance();
        } else if action != DropAction::Truncate {
            for what in ["DATABASE", "TABLE", "VIEW", "DICTIONARY"] {
                self.missed(what);
            }
            return self.fail("TABLE");
        }
        let if_exists = self.if_exists();
        let if_empty = self.keywords(&[K::IF, K::EMPTY], "IF EMPTY");
        let target = match kind {
            K::DATABASE if named => DropTarget::Database(self.identifier()?),
            K::VIEW if named => DropTarget::View(self.named_table()?),
            K::DICTIONARY if named => DropTarget::Dictionary(self.named_table()?),
            _ => DropTarget::Tables(self.list(|p| p.named_table())?),
        };
        if action != DropAction::Drop && matches!(&target, DropTarget::Tables(tables) if tables.len() > 1) {
            return self.fatal(SYNTAX_ERROR, "Only DROP may name several tables");
        }
        let cluster = self.on_cluster()?;
        let permanently = self.keyword(K::PERMANENTLY);
        let sync = self.keywords(&[K::NO, K::DELAY], "NO DELAY") || self.keyword(K::SYNC);
        Ok(Statement::Drop(Box::new(Drop {
            action,
            target,
            if_exists,
            if_empty,
            temporary,
            cluster,
            permanently,
            sync,
            output: self.output()?,
        })))
    }

    fn named_table(&mut self) -> Parsed<TableName> {
        let mut name = self.table_name()?;
        name.uuid = self.uuid_clause()?;
        Ok(name)
    }

    fn truncate_all(&mut self, words: usize) -> Parsed<Statement> {
        self.skip(words);
        let if_exists = self.if_exists();
        let database = self.identifier()?;
        let like = self.like_filter()?;
        let cluster = self.on_cluster()?;
        Ok(Statement::Drop(Box::new(Drop {
            action: DropAction::Truncate,
            target: DropTarget::AllTables { database, like },
            if_exists,
            if_empty: false,
            temporary: false,
            cluster,
            permanently: false,
            sync: self.keyword(K::SYNC),
            output: self.output()?,
        })))
    }

    /// DROP of what is neither database nor table, the word DROP read already.
    fn drop_object(&mut self) -> Parsed<Option<Statement>> {
        if let Some(statement) = self.drop_access_entity()? {
            return Ok(Some(statement));
        }
        let kind = match self.peek().keyword {
            K::FUNCTION => ObjectKind::Function,
            K::INDEX => ObjectKind::Index,
            K::WORKLOAD => ObjectKind::Workload,
            K::RESOURCE => ObjectKind::Resource,
            K::NAMED if self.keyword_ahead(1, K::COLLECTION) => ObjectKind::NamedCollection,
            _ => return Ok(None),
        };
        self.skip(if kind == ObjectKind::NamedCollection { 2 } else { 1 });
        let if_exists = self.if_exists();
        let name = self.identifier()?;
        let mut table = None;
        if kind == ObjectKind::Index {
            self.need_keyword(K::ON)?;
            table = Some(self.table_name()?);
        }
        let cluster = self.on_cluster()?;
        Ok(Some(Statement::DropObject(Box::new(DropObject { kind, if_exists, name, table, cluster }))))
    }

    fn undrop(&mut self) -> Parsed<Statement> {
        self.advance();
        self.need_keyword(K::TABLE)?;
        let table = self.named_table()?;
        let cluster = self.on_cluster()?;
        Ok(Statement::Undrop(Box::new(Undrop { table, cluster })))
    }

    /// `RENAME TABLE a TO b, …`, `EXCHANGE TABLES a AND b`.
    fn rename(&mut self) -> Parsed<Statement> {
        let exchange = self.at_keyword(K::EXCHANGE);
        self.advance();
        let kind = match self.peek().keyword {
            K::TABLES if exchange => Some(RenameKind::Table),
            K::DICTIONARIES if exchange => Some(RenameKind::Dictionary),
            K::TABLE if !exchange => Some(RenameKind::Table),
            K::DATABASE if !exchange => Some(RenameKind::Database),
            K::DICTIONARY if !exchange => Some(RenameKind::Dictionary),
            _ => None,
        };
        if kind.is_some() {
            self.advance();
        } else if exchange {
            return self.fail("TABLES");
        }
        // `RENAME a TO b` renames a table or a dictionary.
        let kind = kind.unwrap_or(RenameKind::Table);
        let mut if_exists = false;
        let pairs = self.list(|p| {
            if_exists |= p.if_exists();
            let from = p.table_name()?;
            p.need_keyword(if exchange { K::AND } else { K::TO })?;
            Ok((from, p.table_name()?))
        })?;
        let cluster = self.on_cluster()?;
        Ok(Statement::Rename(Box::new(Rename { kind, exchange, if_exists, pairs, cluster, output: self.output()? })))
    }

    fn optimize(&mut self) -> Parsed<Statement> {
        self.advance();
        self.need_keyword(K::TABLE)?;
        let table = self.table_name()?;
        let mut optimize = Optimize {
            table,
            cluster: self.on_cluster()?,
            partition: None,
            with_final: false,
            dry_run_parts: None,
            deduplicate: None,
            cleanup: false,
            output: Output::default(),
        };
        if self.at_keyword(K::PARTITION) {
            optimize.partition = Some(self.partition_selector()?);
        }
        if self.keywords(&[K::DRY, K::RUN], "DRY RUN") {
            self.need_keyword(K::PARTS)?;
            optimize.dry_run_parts = Some(self.list(|p| p.string_text())?);
        }
        optimize.with_final = self.keyword(K::FINAL) || self.keyword(K::FORCE);
        if self.keyword(K::DEDUPLICATE) {
            let by = if self.keyword(K::BY) { self.list(|p| p.expression())? } else { Vec::new() };
            optimize.deduplicate = Some(by);
        }
        optimize.cleanup = self.keyword(K::CLEANUP);
        optimize.output = self.output()?;
        Ok(Statement::Optimize(Box::new(optimize)))
    }

    fn check(&mut self) -> Parsed<Statement> {
        self.advance();
        let target = if self.keywords(&[K::ALL, K::TABLES], "ALL TABLES") {
            CheckTarget::AllTables
        } else if self.keyword(K::DATABASE) {
            CheckTarget::Database(self.identifier()?)
        } else if self.keyword(K::GRANT) {
            CheckTarget::Grant(self.privilege_grants()?)
        } else {
            self.need_keyword(K::TABLE)?;
            let table = self.table_name()?;
            let partition: Option<PartitionSelector> = if matches!(self.peek().keyword, K::PARTITION | K::PART) {
                Some(self.partition_selector()?)
            } else {
                None
            };
            CheckTarget::Table { table, partition }
        };
        let output = self.output()?;
        Ok(Statement::Check(Box::new(Check { target, output })))
    }

    fn backup(&mut self) -> Parsed<Statement> {
        let restore = self.at_keyword(K::RESTORE);
        self.advance();
        let elements = self.list(|p| p.backup_element())?;
        let cluster = self.on_cluster()?;
        self.need_keyword(if restore { K::FROM } else { K::TO })?;
        let location = self.bare_or_call()?;
        let mut settings = self.settings_clause()?;
        let mut asynchronous = if self.keyword(K::ASYNC) { Some(true) } else { self.keyword(K::SYNC).then_some(false) };
        // ASYNC is short for a setting.
        settings.retain(|setting| match (setting.name.as_str(), &setting.value) {
            ("async", SettingValue::Literal(Literal::Bool(value))) => {
                asynchronous = Some(*value);
                false
            }
            ("async", SettingValue::Literal(Literal::UInt64(value))) => {
                asynchronous = Some(*value != 0);
                false
            }
            _ => true,
        });
        let output = self.output()?;
        let backup = Backup { restore, elements, cluster, location, settings, asynchronous, output };
        Ok(Statement::Backup(Box::new(backup)))
    }

    fn backup_element(&mut self) -> Parsed<BackupElement> {
        let mut element = BackupElement {
            kind: BackupElementKind::All,
            new_name: None,
            partitions: Vec::new(),
            except_tables: Vec::new(),
            except_databases: Vec::new(),
        };
        if self.keywords(&[K::TEMPORARY, K::TABLE], "TEMPORARY TABLE") {
            element.kind = BackupElementKind::TemporaryTable(self.identifier()?);
        } else if self.keyword(K::TABLE) || self.keyword(K::VIEW) || self.keyword(K::DICTIONARY) {
            element.kind = BackupElementKind::Table(self.table_name()?);
        } else if self.keyword(K::DATABASE) {
            element.kind = BackupElementKind::Database(self.identifier()?);
        } else {
            self.need_keyword(K::ALL)?;
            let _ = self.keyword(K::DATABASES);
        }
        if element.kind != BackupElementKind::All && self.keyword(K::AS) {
            element.new_name = Some(self.table_name()?);
        }
        if self.keyword(K::PARTITION) || self.keyword(K::PARTITIONS) {
            element.partitions = self.list(|p| p.expression())?;
        }
        while self.at_keyword(K::EXCEPT) {
            self.advance();
            if self.keyword(K::DATABASE) || self.keyword(K::DATABASES) {
                element.except_databases = self.list(|p| p.identifier())?;
            } else {
                if !self.keyword(K::TABLES) {
                    self.need_keyword(K::TABLE)?;
                }
                element.except_tables = self.list(|p| p.table_name())?;
            }
        }
        Ok(element)
    }

    /// `EXECUTE AS user [statement]`.
    fn execute_as(&mut self) -> Parsed<Statement> {
        self.advance();
        self.need_keyword(K::AS)?;
        let user = self.identifier_or_string()?.value;
        self.enter(20)?;
        let statement = if matches!(self.peek().kind, T::End | T::Semicolon) {
            None
        } else {
            Some(Box::new(self.statement_without_parallel()?))
        };
        self.leave(20);
        Ok(Statement::ExecuteAs(Box::new(ExecuteAs { user, statement })))
    }
}
