//! ALTER as text.

use super::Writer;
use crate::ast::{
    AlterCommand, AlterDatabase, AlterNamedCollection, AlterTable, Assignment, ColumnProperty, Function, Identifier,
    PartitionSelector, Placement,
};

impl Writer {
    pub(super) fn alter_table(&mut self, alter: &AlterTable) {
        self.text(if alter.temporary { "ALTER TEMPORARY TABLE " } else { "ALTER TABLE " });
        self.table_name(&alter.table);
        self.on_cluster(&alter.cluster);
        self.lines(&alter.commands, |w, command| {
            w.text("(");
            w.alter_command(command);
            w.text(")");
        });
        self.output(&alter.output);
    }

    pub(super) fn alter_database(&mut self, alter: &AlterDatabase) {
        self.text("ALTER DATABASE ");
        self.identifier(&alter.database);
        self.on_cluster(&alter.cluster);
        self.lines(&alter.commands, |w, command| {
            w.text("(");
            w.alter_command(command);
            w.text(")");
        });
    }

    pub(super) fn alter_named_collection(&mut self, alter: &AlterNamedCollection) {
        self.text("ALTER NAMED COLLECTION ");
        if alter.if_exists {
            self.text("IF EXISTS ");
        }
        self.identifier(&alter.name);
        self.on_cluster(&alter.cluster);
        if !alter.set.is_empty() {
            self.text(" SET ");
            self.joined(&alter.set, ", ", |w, entry| w.named_collection_entry(entry));
        }
        if !alter.delete.is_empty() {
            self.text(" DELETE ");
            self.joined(&alter.delete, ", ", |w, name| w.dotted(name));
        }
    }

    pub(super) fn assignment(&mut self, assignment: &Assignment) {
        self.dotted(&assignment.column);
        self.text(" = ");
        self.expression(&assignment.expression, false);
    }

    fn exists(&mut self, if_exists: bool) {
        if if_exists {
            self.text("IF EXISTS ");
        }
    }

    fn not_exists(&mut self, if_not_exists: bool) {
        if if_not_exists {
            self.text("IF NOT EXISTS ");
        }
    }

    fn placement(&mut self, placement: &Placement) {
        match placement {
            Placement::Last => {}
            // The space at the end is ClickHouse's.
            Placement::First => self.text(" FIRST "),
            Placement::After(column) => {
                self.text(" AFTER ");
                self.nested(column);
            }
        }
    }

    pub(super) fn partition(&mut self, partition: &PartitionSelector) {
        match partition {
            PartitionSelector::Value(value) => {
                self.text("PARTITION ");
                self.expression(value, false);
            }
            PartitionSelector::Id(id) => {
                self.text("PARTITION ID ");
                self.expression(id, false);
            }
            PartitionSelector::All => self.text("PARTITION ALL"),
            PartitionSelector::Part(part) => {
                self.text("PART ");
                self.expression(part, false);
            }
        }
    }

    pub(super) fn in_partition(&mut self, partition: &Option<PartitionSelector>) {
        if let Some(partition) = partition {
            self.text(" IN ");
            self.partition(partition);
        }
    }

    fn statistics(&mut self, columns: &[Identifier], kinds: &[Function]) {
        self.list_space();
        self.joined(columns, ", ", |w, column| w.nested(column));
        if !kinds.is_empty() {
            self.text(" TYPE ");
            self.list_space();
            self.functions(kinds);
        }
    }

    fn statistics_or_all(&mut self, columns: &[Identifier]) {
        if columns.is_empty() {
            self.list_space();
            return self.text("ALL");
        }
        self.statistics(columns, &[]);
    }

    /// `VERB [IF EXISTS] name [IN PARTITION …]`.
    fn named(&mut self, verb: &str, if_exists: bool, name: &Identifier, partition: &Option<PartitionSelector>) {
        self.text(verb);
        self.exists(if_exists);
        self.nested(name);
        self.in_partition(partition);
    }

    fn modified_column(&mut self, if_exists: bool, column: &Identifier) {
        self.text("MODIFY COLUMN ");
        self.exists(if_exists);
        self.quoted(&column.value);
    }

    /// On one line ClickHouse writes two spaces before some lists.
    fn list_space(&mut self) {
        if self.one_line {
            self.text(" ");
        }
    }

    fn freeze(&mut self, verb: &str, partition: &Option<PartitionSelector>, name: &Option<String>) {
        self.text(verb);
        if let Some(partition) = partition {
            self.text(" ");
            self.partition(partition);
        }
        if let Some(name) = name {
            self.text(" WITH NAME ");
            self.string(name);
        }
    }

    fn alter_command(&mut self, command: &AlterCommand) {
        use AlterCommand as C;
        match command {
            C::AddColumn { if_not_exists, column, placement } => {
                self.text("ADD COLUMN ");
                self.not_exists(*if_not_exists);
                self.column(column);
                self.placement(placement);
            }
            C::DropColumn { if_exists, column } => self.named("DROP COLUMN ", *if_exists, column, &None),
            C::ClearColumn { if_exists, column, partition } => {
                self.named("CLEAR COLUMN ", *if_exists, column, partition)
            }
            C::MaterializeColumn { column, partition } => self.named("MATERIALIZE COLUMN ", false, column, partition),
            C::ModifyColumn { if_exists, column, placement } => {
                self.text("MODIFY COLUMN ");
                self.exists(*if_exists);
                self.column(column);
                if let Some(placement) = placement {
                    self.placement(placement);
                }
            }
            C::RemoveColumnProperty { if_exists, column, property } => {
                self.modified_column(*if_exists, column);
                self.text(match property {
                    ColumnProperty::Default => " REMOVE DEFAULT",
                    ColumnProperty::Materialized => " REMOVE MATERIALIZED",
                    ColumnProperty::Alias => " REMOVE ALIAS",
                    ColumnProperty::Ephemeral => " REMOVE EPHEMERAL",
                    ColumnProperty::Comment => " REMOVE COMMENT",
                    ColumnProperty::Codec => " REMOVE CODEC",
                    ColumnProperty::Ttl => " REMOVE TTL",
                    ColumnProperty::Settings => " REMOVE SETTINGS",
                });
            }
            C::ModifyColumnSetting { if_exists, column, settings } => {
                self.modified_column(*if_exists, column);
                self.text(" MODIFY SETTING ");
                self.settings(settings);
            }
            C::ResetColumnSetting { if_exists, column, settings } => {
                self.modified_column(*if_exists, column);
                self.text(" RESET SETTING ");
                self.list_space();
                self.joined(settings, ", ", |w, name| w.dotted(name));
            }
            C::RenameColumn { if_exists, column, to } => {
                self.named("RENAME COLUMN ", *if_exists, column, &None);
                self.text(" TO ");
                self.nested(to);
            }
            C::CommentColumn { if_exists, column, comment } => {
                self.named("COMMENT COLUMN ", *if_exists, column, &None);
                self.text(" ");
                self.string(comment);
            }
            C::ModifyComment(comment) => {
                self.text("MODIFY COMMENT ");
                self.string(comment);
            }
            C::ModifyOrderBy(key) => {
                self.text("MODIFY ORDER BY ");
                self.sorting_key(key);
            }
            C::ModifySampleBy(expression) => {
                self.text("MODIFY SAMPLE BY ");
                self.expression(expression, false);
            }
            C::RemoveSampleBy => self.text("REMOVE SAMPLE BY"),
            C::ModifyTtl(elements) => {
                self.text("MODIFY TTL ");
                self.joined(elements, ", ", |w, element| w.ttl_element(element));
            }
            C::RemoveTtl => self.text("REMOVE TTL"),
            C::MaterializeTtl { partition } => {
                self.text("MATERIALIZE TTL");
                self.in_partition(partition);
            }
            C::RewriteParts { partition } => {
                self.text("REWRITE PARTS");
                self.in_partition(partition);
            }
            C::ModifySetting(settings) => {
                self.text("MODIFY SETTING ");
                self.settings(settings);
            }
            C::ResetSetting(names) => {
                self.text("RESET SETTING ");
                self.list_space();
                self.joined(names, ", ", |w, name| w.dotted(name));
            }
            C::ModifyQuery(query) => {
                self.text("MODIFY QUERY");
                self.line();
                self.query(query);
            }
            C::ModifyRefresh(refresh) => {
                self.text("MODIFY ");
                self.refresh(refresh);
            }
            C::ModifySqlSecurity { definer, security } => {
                self.text("MODIFY ");
                self.sql_security(definer, security);
            }
            C::AddIndex { if_not_exists, index, placement } => {
                self.text("ADD INDEX ");
                self.not_exists(*if_not_exists);
                self.index(index);
                self.placement(placement);
            }
            C::DropIndex { if_exists, index } => self.named("DROP INDEX ", *if_exists, index, &None),
            C::ClearIndex { if_exists, index, partition } => self.named("CLEAR INDEX ", *if_exists, index, partition),
            C::MaterializeIndex { if_exists, index, partition } => {
                self.named("MATERIALIZE INDEX ", *if_exists, index, partition);
            }
            C::AddStatistics { if_not_exists, columns, kinds } => {
                self.text("ADD STATISTICS ");
                self.not_exists(*if_not_exists);
                self.statistics(columns, kinds);
            }
            C::ModifyStatistics { columns, kinds } => {
                self.text("MODIFY STATISTICS ");
                self.statistics(columns, kinds);
            }
            C::DropStatistics { if_exists, columns } => {
                self.text("DROP STATISTICS ");
                self.exists(*if_exists);
                self.statistics_or_all(columns);
            }
            C::ClearStatistics { if_exists, columns } => {
                self.text("CLEAR STATISTICS ");
                self.exists(*if_exists);
                self.statistics_or_all(columns);
            }
            C::MaterializeStatistics { if_exists, columns } => {
                self.text("MATERIALIZE STATISTICS ");
                self.exists(*if_exists);
                self.statistics_or_all(columns);
            }
            C::AddProjection { if_not_exists, projection, placement } => {
                self.text("ADD PROJECTION ");
                self.not_exists(*if_not_exists);
                self.projection(projection);
                self.placement(placement);
            }
            C::DropProjection { if_exists, projection } => {
                self.named("DROP PROJECTION ", *if_exists, projection, &None)
            }
            C::ClearProjection { if_exists, projection, partition } => {
                self.named("CLEAR PROJECTION ", *if_exists, projection, partition);
            }
            C::MaterializeProjection { if_exists, projection, partition } => {
                self.named("MATERIALIZE PROJECTION ", *if_exists, projection, partition);
            }
            C::AddConstraint { if_not_exists, constraint } => {
                self.text("ADD CONSTRAINT ");
                self.not_exists(*if_not_exists);
                self.constraint(constraint);
            }
            C::DropConstraint { if_exists, constraint } => {
                self.named("DROP CONSTRAINT ", *if_exists, constraint, &None)
            }
            C::DropPartition { detach, partition } => {
                self.text(if *detach { "DETACH " } else { "DROP " });
                self.partition(partition);
            }
            C::DropDetachedPartition(partition) => {
                self.text("DROP DETACHED ");
                self.partition(partition);
            }
            C::ForgetPartition(partition) => {
                self.text("FORGET ");
                self.partition(partition);
            }
            C::AttachPartition { partition, from } => {
                self.text("ATTACH ");
                self.partition(partition);
                if let Some(table) = from {
                    self.text(" FROM ");
                    self.table_name(table);
                }
            }
            C::ReplacePartition { partition, from } => {
                self.text("REPLACE ");
                self.partition(partition);
                self.text(" FROM ");
                self.table_name(from);
            }
            C::MovePartition { partition, to } => {
                self.text("MOVE ");
                self.partition(partition);
                self.text(" TO ");
                self.destination(to, false);
            }
            C::FetchPartition { partition, from } => {
                self.text("FETCH ");
                self.partition(partition);
                self.text(" FROM ");
                self.string(from);
            }
            C::Freeze { partition, name } => self.freeze("FREEZE", partition, name),
            C::Unfreeze { partition, name } => self.freeze("UNFREEZE", partition, name),
            C::ExportPartition { partition, to } => {
                self.text("EXPORT ");
                self.partition(partition);
                self.text(" TO TABLE ");
                self.table_name(to);
            }
            C::Delete { partition, filter } => {
                self.text("DELETE");
                self.in_partition(partition);
                self.text(" WHERE ");
                self.expression(filter, false);
            }
            C::Update { assignments, partition, filter } => {
                self.text("UPDATE ");
                self.list_space();
                self.joined(assignments, ", ", |w, assignment| w.assignment(assignment));
                self.in_partition(partition);
                self.text(" WHERE ");
                self.expression(filter, false);
            }
            C::ApplyDeletedMask { partition } => {
                self.text("APPLY DELETED MASK");
                self.in_partition(partition);
            }
            C::ApplyPatches { partition } => {
                self.text("APPLY PATCHES");
                self.in_partition(partition);
            }
        }
    }
}
