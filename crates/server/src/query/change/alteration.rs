//! What the commands of ALTER TABLE do with a table's definition: with its columns, its clauses, its settings, and what
//! stands beside the columns.

use std::sync::Arc;

use squall_engine::QueryContext;
use squall_planner::{
    Alteration, ColumnDescription, MATERIALIZED_VIEW, MaterializedView, PlannerContext, TableDefinition,
    altered_refresh, altered_view, plan_constraint, plan_index, plan_projection, plan_setting,
};
use squall_sql::ast::{self, AlterCommand};
use squall_storage::{DefinitionChange, Placement};
use squall_types::{Error, ErrorCode, Result};

use crate::query::plan::planning;
use crate::query::statement::identifier;
use crate::refresh::check_strategy;
use crate::session::Session;

/// Does what a command says with a table's definition.
pub(super) fn alter(
    session: &Session,
    database: &str,
    command: &AlterCommand,
    alteration: &mut Alteration,
    context: &Arc<QueryContext>,
) -> Result<()> {
    check_engine(&alteration.definition, command)?;
    let mut work = AlterationWork { session, database, context, alteration };
    if work.column(command)? || work.clause(command)? || work.setting(command)? {
        return Ok(());
    }
    match work.change(command)? {
        Some(change) => change.apply(&mut work.alteration.definition),
        None => Err(refused(command)),
    }
}

/// An alteration that commands are added to, and where their names and expressions are planned.
struct AlterationWork<'a> {
    session: &'a Session,
    database: &'a str,
    context: &'a Arc<QueryContext>,
    alteration: &'a mut Alteration,
}

impl AlterationWork<'_> {
    /// Does what a command says of a column; gives whether it is one of a column.
    fn column(&mut self, command: &AlterCommand) -> Result<bool> {
        match command {
            AlterCommand::AddColumn { if_not_exists, column, placement } => {
                self.planned(|alteration, planner| alteration.add_column(column, placement, *if_not_exists, planner))?
            }
            AlterCommand::DropColumn { if_exists, column } => {
                let name = self.name(column)?;
                self.planned(|alteration, planner| alteration.drop_column(&name, *if_exists, planner))?;
            }
            AlterCommand::ClearColumn { if_exists, column, partition: None } => {
                let name = self.name(column)?;
                self.planned(|alteration, planner| alteration.clear_column(&name, *if_exists, planner))?;
            }
            AlterCommand::RenameColumn { if_exists, column, to } => {
                let (name, to) = (self.name(column)?, self.name(to)?);
                self.alteration.rename_column(&name, &to, *if_exists)?;
            }
            AlterCommand::ModifyColumn { if_exists, column, placement } => self.planned(|alteration, planner| {
                alteration.modify_column(column, placement.as_ref(), *if_exists, planner)
            })?,
            AlterCommand::RemoveColumnProperty { if_exists, column, property } => {
                let name = self.name(column)?;
                self.alteration.remove_property(&name, *property, *if_exists)?;
            }
            AlterCommand::CommentColumn { if_exists, column, comment } => {
                let name = self.name(column)?;
                let definition = &mut self.alteration.definition;
                if *if_exists && !definition.columns.iter().any(|known| *known.name == *name) {
                    return Ok(true);
                }
                let change = DefinitionChange::ColumnComment { column: name.into(), comment: comment.as_str().into() };
                change.apply(definition)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Does what a command says of the table's TTL, its key or its query; gives whether it is one of those.
    fn clause(&mut self, command: &AlterCommand) -> Result<bool> {
        match command {
            AlterCommand::ModifyTtl(elements) => {
                self.planned(|alteration, planner| alteration.modify_ttl(elements, planner))?;
            }
            AlterCommand::RemoveTtl => self.alteration.remove_ttl()?,
            AlterCommand::ModifyOrderBy(order_by) => {
                self.planned(|alteration, planner| alteration.modify_order_by(order_by, planner))?;
            }
            AlterCommand::ModifyQuery(query) => {
                let inner = inner_columns(self.session, self.database, &self.alteration.definition)?;
                self.planned(|alteration, planner| {
                    let altered = altered_view(&alteration.definition, query, inner.as_deref(), planner)?;
                    *alteration = Alteration::new(&altered);
                    Ok(())
                })?;
            }
            AlterCommand::ModifyRefresh(strategy) => {
                check_strategy(strategy)?;
                let altered = altered_refresh(&self.alteration.definition, strategy, &self.session.database)?;
                *self.alteration = Alteration::new(&altered);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets or resets the settings that a command names; gives whether it is one of settings.
    fn setting(&mut self, command: &AlterCommand) -> Result<bool> {
        let definition = &mut self.alteration.definition;
        match command {
            AlterCommand::ModifySetting(settings) => {
                for setting in settings {
                    let (name, value) = plan_setting(setting)?;
                    DefinitionChange::Setting(name, value).apply(definition)?;
                }
            }
            AlterCommand::ResetSetting(names) => {
                for name in names {
                    DefinitionChange::ResetSetting(name.as_str().into()).apply(definition)?;
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The change of the table's comment, constraints, indices or projections; none for any other command.
    fn change(&self, command: &AlterCommand) -> Result<Option<DefinitionChange>> {
        let columns = &self.alteration.definition.columns;
        let (session, context) = (self.session, self.context);
        let change = match command {
            AlterCommand::ModifyComment(comment) => DefinitionChange::Comment(comment.as_str().into()),
            AlterCommand::AddConstraint { if_not_exists, constraint } => {
                let constraint =
                    planning::planner_now(session, context, |planner| plan_constraint(constraint, columns, planner))?;
                DefinitionChange::AddConstraint { constraint, if_not_exists: *if_not_exists }
            }
            AlterCommand::DropConstraint { if_exists, constraint } => {
                DefinitionChange::DropConstraint { name: self.name(constraint)?.into(), if_exists: *if_exists }
            }
            AlterCommand::AddIndex { if_not_exists, index, placement } => {
                let index = planning::planner_now(session, context, |planner| plan_index(index, columns, planner))?;
                let placement = self.placement(placement)?;
                DefinitionChange::AddIndex { index, if_not_exists: *if_not_exists, placement }
            }
            AlterCommand::DropIndex { if_exists, index } => {
                DefinitionChange::DropIndex { name: self.name(index)?.into(), if_exists: *if_exists }
            }
            AlterCommand::AddProjection { if_not_exists, projection, placement } => {
                let projection = planning::planner_now(session, context, |planner| {
                    plan_projection(projection, columns, &planner.functions)
                })?;
                let placement = self.placement(placement)?;
                DefinitionChange::AddProjection { projection, if_not_exists: *if_not_exists, placement }
            }
            AlterCommand::DropProjection { if_exists, projection } => {
                DefinitionChange::DropProjection { name: self.name(projection)?.into(), if_exists: *if_exists }
            }
            _ => return Ok(None),
        };
        Ok(Some(change))
    }

    /// The name that an identifier means in the session.
    fn name(&self, name: &ast::Identifier) -> Result<String> {
        identifier(self.session, name)
    }

    /// The place that a command names for what it adds.
    fn placement(&self, placement: &ast::Placement) -> Result<Placement> {
        Ok(match placement {
            ast::Placement::First => Placement::First,
            ast::Placement::After(other) => Placement::After(self.name(other)?.into()),
            ast::Placement::Last => Placement::Last,
        })
    }

    /// Changes the alteration with the planner at hand.
    fn planned(&mut self, change: impl FnOnce(&mut Alteration, &PlannerContext<'_>) -> Result<()>) -> Result<()> {
        planning::planner_now(self.session, self.context, |planner| change(self.alteration, planner))
    }
}

/// Refuses what a table of this engine, or one whose keys are its engine's arguments, does not take.
fn check_engine(definition: &TableDefinition, command: &AlterCommand) -> Result<()> {
    let is_of_view = matches!(
        command,
        AlterCommand::ModifyQuery(_) | AlterCommand::ModifyRefresh(_) | AlterCommand::ModifyComment(_)
    );
    if &*definition.engine == MATERIALIZED_VIEW && !is_of_view {
        return Err(Error::not_implemented(
            "Another ALTER of storage MaterializedView than MODIFY QUERY, MODIFY REFRESH and MODIFY COMMENT",
        ));
    }
    if definition.has_old_syntax() {
        check_old_syntax(command)?;
    }
    Ok(())
}

/// The columns of the table for a materialized view's rows, where it is a part of the view.
fn inner_columns(
    session: &Session,
    database: &str,
    definition: &TableDefinition,
) -> Result<Option<Vec<ColumnDescription>>> {
    if &*definition.engine != MATERIALIZED_VIEW {
        return Ok(None);
    }
    let view = MaterializedView::of(definition)?;
    if !view.has_inner_table() {
        return Ok(None);
    }
    Ok(Some(session.databases_of(database).table(database, &view.target_table)?.columns().to_vec()))
}

/// What tables whose keys are their engine's arguments do not take.
///
/// # Errors
/// `BAD_ARGUMENTS`.
fn check_old_syntax(command: &AlterCommand) -> Result<()> {
    let message = match command {
        AlterCommand::ModifyOrderBy(_) => {
            "ALTER MODIFY ORDER BY is not supported for default-partitioned tables created with the old syntax"
        }
        AlterCommand::ModifyTtl(_) => {
            "ALTER MODIFY TTL is not supported for default-partitioned tables created with the old syntax"
        }
        AlterCommand::AddIndex { .. } => "ALTER ADD INDEX is not supported for tables with the old syntax",
        AlterCommand::AddProjection { .. } => "ALTER ADD PROJECTION is not supported for tables with the old syntax",
        AlterCommand::ModifySetting(_) | AlterCommand::ResetSetting(_) => {
            "Cannot alter settings, because table engine doesn't support settings changes."
        }
        _ => return Ok(()),
    };
    Err(Error::new(ErrorCode::BAD_ARGUMENTS, message))
}

/// A command that is not here, by its words.
fn refused(command: &AlterCommand) -> Error {
    let statement = ast::AlterTable::of(ast::TableName::new("t"), vec![command.clone()]);
    let text = squall_sql::format_one_line(&ast::Statement::AlterTable(Box::new(statement)));
    let words: Vec<&str> = text
        .split(['(', ' '])
        .skip_while(|word| *word != "t")
        .skip(1)
        .take_while(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase()))
        .collect();
    Error::not_implemented(format!("ALTER TABLE … {}", words.join(" ")))
}
