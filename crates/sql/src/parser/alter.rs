//! ALTER TABLE, ALTER DATABASE, ALTER NAMED COLLECTION.

use super::{K, Parsed, Parser, T};
use crate::ast::{
    AlterCommand, AlterDatabase, AlterNamedCollection, AlterTable, ColumnProperty, Definer, Expression, ExpressionKind,
    Function, Identifier, Literal, MoveDestination, PartitionSelector, Placement, SqlSecurity, Statement,
};

impl Parser<'_> {
    /// ALTER of anything.
    pub(super) fn alter(&mut self) -> Parsed<Statement> {
        self.advance();
        if let Some(statement) = self.alter_access_entity()? {
            return Ok(statement);
        }
        if self.keyword(K::DATABASE) {
            let database = self.identifier()?;
            let cluster = self.on_cluster()?;
            let commands = self.alter_commands()?;
            return Ok(Statement::AlterDatabase(Box::new(AlterDatabase { database, cluster, commands })));
        }
        if self.keywords(&[K::NAMED, K::COLLECTION], "NAMED COLLECTION") {
            return self.alter_named_collection();
        }
        let temporary = self.keyword(K::TEMPORARY);
        self.need_keyword(K::TABLE)?;
        let table = self.table_name()?;
        let cluster = self.on_cluster()?;
        let commands = self.alter_commands()?;
        let output = self.output()?;
        Ok(Statement::AlterTable(Box::new(AlterTable { temporary, table, cluster, commands, output })))
    }

    /// Commands, each perhaps in parentheses, as ClickHouse itself writes them.
    fn alter_commands(&mut self) -> Parsed<Vec<AlterCommand>> {
        self.list(|p| {
            if p.accept(T::OpenRound) {
                let command = p.alter_command()?;
                p.need(T::CloseRound)?;
                return Ok(command);
            }
            p.alter_command()
        })
    }

    fn alter_named_collection(&mut self) -> Parsed<Statement> {
        let if_exists = self.if_exists();
        let name = self.identifier()?;
        let cluster = self.on_cluster()?;
        let set = if self.keyword(K::SET) { self.list(|p| p.named_collection_entry())? } else { Vec::new() };
        let delete = if self.keyword(K::DELETE) { self.list(|p| p.dotted_name())? } else { Vec::new() };
        if set.is_empty() && delete.is_empty() {
            return self.fail("SET");
        }
        let alter = AlterNamedCollection { if_exists, name, cluster, set, delete };
        Ok(Statement::AlterNamedCollection(Box::new(alter)))
    }

    fn alter_command(&mut self) -> Parsed<AlterCommand> {
        let verb = self.peek().keyword;
        match verb {
            K::ADD => {
                self.advance();
                self.alter_add()
            }
            K::DROP => {
                self.advance();
                self.alter_drop()
            }
            K::CLEAR => {
                self.advance();
                self.alter_clear()
            }
            K::MATERIALIZE => {
                self.advance();
                self.alter_materialize()
            }
            K::MODIFY => {
                self.advance();
                self.alter_modify()
            }
            K::ALTER => {
                self.advance();
                self.need_keyword(K::COLUMN)?;
                self.modify_column()
            }
            K::RENAME => {
                self.advance();
                self.need_keyword(K::COLUMN)?;
                let if_exists = self.if_exists();
                let column = self.nested_identifier()?;
                self.need_keyword(K::TO)?;
                Ok(AlterCommand::RenameColumn { if_exists, column, to: self.nested_identifier()? })
            }
            K::COMMENT => {
                self.advance();
                self.need_keyword(K::COLUMN)?;
                let if_exists = self.if_exists();
                let column = self.nested_identifier()?;
                Ok(AlterCommand::CommentColumn { if_exists, column, comment: self.string_text()? })
            }
            K::REMOVE => {
                self.advance();
                if self.keyword(K::TTL) {
                    return Ok(AlterCommand::RemoveTtl);
                }
                self.need_keyword(K::SAMPLE)?;
                self.need_keyword(K::BY)?;
                Ok(AlterCommand::RemoveSampleBy)
            }
            K::RESET => {
                self.advance();
                self.need_keyword(K::SETTING)?;
                Ok(AlterCommand::ResetSetting(self.list(|p| p.dotted_name())?))
            }
            K::REWRITE => {
                self.advance();
                self.need_keyword(K::PARTS)?;
                Ok(AlterCommand::RewriteParts { partition: self.in_partition()? })
            }
            K::FREEZE | K::UNFREEZE => {
                self.advance();
                self.alter_freeze(verb == K::FREEZE)
            }
            K::DETACH | K::FORGET | K::ATTACH | K::REPLACE | K::MOVE | K::EXPORT | K::FETCH => {
                self.advance();
                self.alter_partition(verb)
            }
            K::DELETE | K::UPDATE | K::APPLY => {
                self.advance();
                self.alter_rows(verb)
            }
            _ => self.no_alter_command(),
        }
    }

    /// What follows FREEZE and UNFREEZE.
    fn alter_freeze(&mut self, freezes: bool) -> Parsed<AlterCommand> {
        let partition = if self.at_keyword(K::PARTITION) { Some(self.partition_selector()?) } else { None };
        let name = if self.keywords(&[K::WITH, K::NAME], "WITH NAME") { Some(self.string_text()?) } else { None };
        Ok(match freezes {
            true => AlterCommand::Freeze { partition, name },
            false => AlterCommand::Unfreeze { partition, name },
        })
    }

    /// What follows the verbs that are of one partition or part.
    fn alter_partition(&mut self, verb: K) -> Parsed<AlterCommand> {
        let partition = self.partition_selector()?;
        Ok(match verb {
            K::DETACH => AlterCommand::DropPartition { detach: true, partition },
            K::FORGET => AlterCommand::ForgetPartition(partition),
            K::ATTACH => {
                let from = if self.keyword(K::FROM) { Some(self.table_name()?) } else { None };
                AlterCommand::AttachPartition { partition, from }
            }
            K::REPLACE => {
                self.need_keyword(K::FROM)?;
                AlterCommand::ReplacePartition { partition, from: self.table_name()? }
            }
            K::MOVE => {
                self.need_keyword(K::TO)?;
                AlterCommand::MovePartition { partition, to: self.move_destination()? }
            }
            K::EXPORT => {
                self.need_keyword(K::TO)?;
                self.need_keyword(K::TABLE)?;
                AlterCommand::ExportPartition { partition, to: self.table_name()? }
            }
            _ => {
                self.need_keyword(K::FROM)?;
                AlterCommand::FetchPartition { partition, from: self.string_text()? }
            }
        })
    }

    /// What follows `MOVE PARTITION … TO`.
    fn move_destination(&mut self) -> Parsed<MoveDestination> {
        Ok(if self.keyword(K::DISK) {
            MoveDestination::Disk(self.string_text()?)
        } else if self.keyword(K::VOLUME) {
            MoveDestination::Volume(self.string_text()?)
        } else if self.keyword(K::SHARD) {
            MoveDestination::Shard(self.string_text()?)
        } else {
            self.need_keyword(K::TABLE)?;
            MoveDestination::Table(self.table_name()?)
        })
    }

    /// What follows DELETE, UPDATE and APPLY.
    fn alter_rows(&mut self, verb: K) -> Parsed<AlterCommand> {
        match verb {
            K::DELETE => {
                let partition = self.in_partition()?;
                self.need_keyword(K::WHERE)?;
                Ok(AlterCommand::Delete { partition, filter: self.expression()? })
            }
            K::UPDATE => {
                let assignments = self.list(|p| p.assignment())?;
                let partition = self.in_partition()?;
                self.need_keyword(K::WHERE)?;
                Ok(AlterCommand::Update { assignments, partition, filter: self.expression()? })
            }
            _ => {
                if self.keywords(&[K::DELETED, K::MASK], "DELETED MASK") {
                    return Ok(AlterCommand::ApplyDeletedMask { partition: self.in_partition()? });
                }
                self.need_keyword(K::PATCHES)?;
                Ok(AlterCommand::ApplyPatches { partition: self.in_partition()? })
            }
        }
    }

    /// The error where no command begins, with those that could.
    fn no_alter_command(&mut self) -> Parsed<AlterCommand> {
        for what in [
            "ADD COLUMN",
            "DROP COLUMN",
            "MODIFY COLUMN",
            "RENAME COLUMN",
            "CLEAR COLUMN",
            "COMMENT COLUMN",
            "MODIFY ORDER BY",
            "MODIFY TTL",
            "MODIFY SETTING",
            "ADD INDEX",
            "ADD PROJECTION",
            "ADD CONSTRAINT",
            "DROP PARTITION",
            "ATTACH PARTITION",
            "DETACH PARTITION",
            "FREEZE",
            "DELETE",
            "UPDATE",
        ] {
            self.missed(what);
        }
        self.fail("ALTER command")
    }

    fn alter_add(&mut self) -> Parsed<AlterCommand> {
        if self.keyword(K::INDEX) {
            let if_not_exists = self.if_not_exists();
            let index = self.index_declaration()?;
            return Ok(AlterCommand::AddIndex { if_not_exists, index, placement: self.placement()? });
        }
        if self.keyword(K::STATISTICS) {
            let if_not_exists = self.if_not_exists();
            let (columns, kinds) = self.statistics_declaration()?;
            return Ok(AlterCommand::AddStatistics { if_not_exists, columns, kinds });
        }
        if self.keyword(K::PROJECTION) {
            let if_not_exists = self.if_not_exists();
            let projection = self.projection_declaration()?;
            return Ok(AlterCommand::AddProjection { if_not_exists, projection, placement: self.placement()? });
        }
        if self.keyword(K::CONSTRAINT) {
            let if_not_exists = self.if_not_exists();
            return Ok(AlterCommand::AddConstraint { if_not_exists, constraint: self.constraint_declaration()? });
        }
        self.need_keyword(K::COLUMN)?;
        let if_not_exists = self.if_not_exists();
        let column = self.column_declaration(true)?;
        Ok(AlterCommand::AddColumn { if_not_exists, column, placement: self.placement()? })
    }

    fn alter_drop(&mut self) -> Parsed<AlterCommand> {
        if matches!(self.peek().keyword, K::PARTITION | K::PART) {
            return Ok(AlterCommand::DropPartition { detach: false, partition: self.partition_selector()? });
        }
        if self.keyword(K::DETACHED) {
            return Ok(AlterCommand::DropDetachedPartition(self.partition_selector()?));
        }
        if self.keyword(K::INDEX) {
            let if_exists = self.if_exists();
            return Ok(AlterCommand::DropIndex { if_exists, index: self.identifier()? });
        }
        if self.keyword(K::STATISTICS) {
            let if_exists = self.if_exists();
            return Ok(AlterCommand::DropStatistics { if_exists, columns: self.statistics_columns()? });
        }
        if self.keyword(K::PROJECTION) {
            let if_exists = self.if_exists();
            return Ok(AlterCommand::DropProjection { if_exists, projection: self.identifier()? });
        }
        if self.keyword(K::CONSTRAINT) {
            let if_exists = self.if_exists();
            return Ok(AlterCommand::DropConstraint { if_exists, constraint: self.identifier()? });
        }
        self.need_keyword(K::COLUMN)?;
        let if_exists = self.if_exists();
        Ok(AlterCommand::DropColumn { if_exists, column: self.nested_identifier()? })
    }

    fn alter_clear(&mut self) -> Parsed<AlterCommand> {
        if self.keyword(K::INDEX) {
            let if_exists = self.if_exists();
            let index = self.identifier()?;
            return Ok(AlterCommand::ClearIndex { if_exists, index, partition: self.in_partition()? });
        }
        if self.keyword(K::STATISTICS) {
            let if_exists = self.if_exists();
            return Ok(AlterCommand::ClearStatistics { if_exists, columns: self.statistics_columns()? });
        }
        if self.keyword(K::PROJECTION) {
            let if_exists = self.if_exists();
            let projection = self.identifier()?;
            return Ok(AlterCommand::ClearProjection { if_exists, projection, partition: self.in_partition()? });
        }
        self.need_keyword(K::COLUMN)?;
        let if_exists = self.if_exists();
        let column = self.nested_identifier()?;
        Ok(AlterCommand::ClearColumn { if_exists, column, partition: self.in_partition()? })
    }

    fn alter_materialize(&mut self) -> Parsed<AlterCommand> {
        if self.keyword(K::INDEX) {
            let if_exists = self.if_exists();
            let index = self.identifier()?;
            return Ok(AlterCommand::MaterializeIndex { if_exists, index, partition: self.in_partition()? });
        }
        if self.keyword(K::STATISTICS) {
            let if_exists = self.if_exists();
            return Ok(AlterCommand::MaterializeStatistics { if_exists, columns: self.statistics_columns()? });
        }
        if self.keyword(K::PROJECTION) {
            let if_exists = self.if_exists();
            let projection = self.identifier()?;
            return Ok(AlterCommand::MaterializeProjection { if_exists, projection, partition: self.in_partition()? });
        }
        if self.keyword(K::TTL) {
            return Ok(AlterCommand::MaterializeTtl { partition: self.in_partition()? });
        }
        self.need_keyword(K::COLUMN)?;
        let column = self.nested_identifier()?;
        Ok(AlterCommand::MaterializeColumn { column, partition: self.in_partition()? })
    }

    fn alter_modify(&mut self) -> Parsed<AlterCommand> {
        if self.keywords(&[K::ORDER, K::BY], "ORDER BY") {
            return Ok(AlterCommand::ModifyOrderBy(self.sorting_key()?));
        }
        if self.keywords(&[K::SAMPLE, K::BY], "SAMPLE BY") {
            return Ok(AlterCommand::ModifySampleBy(self.expression()?));
        }
        if self.keyword(K::TTL) {
            return Ok(AlterCommand::ModifyTtl(self.ttl_elements()?));
        }
        if self.keyword(K::SETTING) {
            return Ok(AlterCommand::ModifySetting(self.settings()?));
        }
        if self.keyword(K::QUERY) {
            return Ok(AlterCommand::ModifyQuery(Box::new(self.query_without_output()?)));
        }
        if self.keyword(K::REFRESH) {
            return Ok(AlterCommand::ModifyRefresh(self.refresh_strategy()?));
        }
        if self.keyword(K::COMMENT) {
            return Ok(AlterCommand::ModifyComment(self.string_text()?));
        }
        if self.keyword(K::STATISTICS) {
            let (columns, kinds) = self.statistics_declaration()?;
            return Ok(AlterCommand::ModifyStatistics { columns, kinds });
        }
        let mut definer = if self.at_keyword(K::DEFINER) && self.ahead(1).kind == T::Equals {
            self.skip(2);
            Some(self.definer()?)
        } else {
            None
        };
        let security =
            if self.keywords(&[K::SQL, K::SECURITY], "SQL SECURITY") { Some(self.sql_security()?) } else { None };
        if definer.is_none() && security == Some(SqlSecurity::Definer) {
            definer = Some(Definer::CurrentUser);
        }
        if definer.is_some() || security.is_some() {
            return Ok(AlterCommand::ModifySqlSecurity { definer, security });
        }
        self.need_keyword(K::COLUMN)?;
        self.modify_column()
    }

    fn modify_column(&mut self) -> Parsed<AlterCommand> {
        let if_exists = self.if_exists();
        let start = self.start();
        let column = self.nested_identifier()?;
        // `ALTER COLUMN c TYPE t`.
        let typed = self.at_keyword(K::TYPE) && matches!(self.ahead(1).kind, T::Word);
        if self.keyword(K::REMOVE) {
            let property = match self.peek().keyword {
                K::DEFAULT => ColumnProperty::Default,
                K::MATERIALIZED => ColumnProperty::Materialized,
                K::ALIAS => ColumnProperty::Alias,
                K::EPHEMERAL => ColumnProperty::Ephemeral,
                K::COMMENT => ColumnProperty::Comment,
                K::CODEC => ColumnProperty::Codec,
                K::TTL => ColumnProperty::Ttl,
                K::SETTINGS => ColumnProperty::Settings,
                _ => return self.fail("DEFAULT"),
            };
            self.advance();
            return Ok(AlterCommand::RemoveColumnProperty { if_exists, column, property });
        }
        if self.keywords(&[K::MODIFY, K::SETTING], "MODIFY SETTING") {
            return Ok(AlterCommand::ModifyColumnSetting { if_exists, column, settings: self.settings()? });
        }
        if self.keywords(&[K::RESET, K::SETTING], "RESET SETTING") {
            return Ok(AlterCommand::ResetColumnSetting {
                if_exists,
                column,
                settings: self.list(|p| p.dotted_name())?,
            });
        }
        if typed {
            self.advance();
        }
        let column = self.column_after_name(column, start, false)?;
        let placement = match self.placement()? {
            Placement::Last => None,
            placement => Some(placement),
        };
        Ok(AlterCommand::ModifyColumn { if_exists, column, placement })
    }

    /// `FIRST`, `AFTER name`.
    fn placement(&mut self) -> Parsed<Placement> {
        if self.keyword(K::FIRST) {
            return Ok(Placement::First);
        }
        if self.keyword(K::AFTER) {
            return Ok(Placement::After(self.nested_identifier()?));
        }
        Ok(Placement::Last)
    }

    /// `a, b TYPE kind, kind`.
    fn statistics_declaration(&mut self) -> Parsed<(Vec<Identifier>, Vec<Function>)> {
        let columns = self.statistics_columns()?;
        self.need_keyword(K::TYPE)?;
        Ok((columns, self.list(|p| p.bare_or_call())?))
    }

    fn statistics_columns(&mut self) -> Parsed<Vec<Identifier>> {
        if self.at_keyword(K::ALL) {
            self.advance();
            return Ok(Vec::new());
        }
        let round = self.accept(T::OpenRound);
        let columns = self.list(|p| p.nested_identifier())?;
        if round {
            self.need(T::CloseRound)?;
        }
        Ok(columns)
    }

    /// `IN PARTITION …`, when it is there.
    pub(super) fn in_partition(&mut self) -> Parsed<Option<PartitionSelector>> {
        if self.at_keyword(K::IN) && self.keyword_ahead(1, K::PARTITION) {
            self.advance();
            return self.partition_selector().map(Some);
        }
        Ok(None)
    }

    /// `PARTITION expression`, `PARTITION ID 'id'`, `PARTITION ALL`, `PART 'name'`.
    pub(super) fn partition_selector(&mut self) -> Parsed<PartitionSelector> {
        if self.keyword(K::PART) {
            return Ok(PartitionSelector::Part(self.string_or_parameter()?));
        }
        self.need_keyword(K::PARTITION)?;
        if self.at_keyword(K::ID) && matches!(self.ahead(1).kind, T::String | T::HereDoc | T::OpenCurly) {
            self.advance();
            return Ok(PartitionSelector::Id(self.string_or_parameter()?));
        }
        if self.at_keyword(K::ALL) {
            self.advance();
            return Ok(PartitionSelector::All);
        }
        Ok(PartitionSelector::Value(self.expression()?))
    }

    fn string_or_parameter(&mut self) -> Parsed<Expression> {
        if self.at(T::OpenCurly) {
            return self.query_parameter();
        }
        let start = self.start();
        let value = self.string()?;
        Ok(Expression::new(ExpressionKind::Literal(Literal::String(value)), self.span_from(start)))
    }
}
