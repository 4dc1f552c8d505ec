//! What statements of several kinds have in common: output clauses, and the settings that they name for themselves.

use super::{CreateSource, InsertSource, IntoOutfile, Output, Query, Setting, Statement};

impl Statement {
    /// The output clauses.
    pub fn output(&self) -> Option<&Output> {
        match self {
            Self::Query(query) => Some(&query.output),
            Self::Show(show) => Some(&show.output),
            Self::Exists(exists) => Some(&exists.output),
            Self::Describe(describe) => Some(&describe.output),
            Self::Kill(kill) => Some(&kill.output),
            Self::Optimize(optimize) => Some(&optimize.output),
            Self::Drop(drop) => Some(&drop.output),
            Self::Check(check) => Some(&check.output),
            Self::AlterTable(alter) => Some(&alter.output),
            Self::CreateDatabase(create) => Some(&create.output),
            Self::CreateTable(create) => Some(&create.output),
            Self::CreateView(create) => Some(&create.output),
            Self::Rename(rename) => Some(&rename.output),
            Self::ExecuteAs(execute) => execute.statement.as_deref()?.output(),
            Self::Explain(explain) => match &explain.statement {
                _ if explain.output.format.is_some() => Some(&explain.output),
                Some(statement) => statement.output(),
                None => Some(&explain.output),
            },
            _ => None,
        }
    }

    /// Takes `INTO OUTFILE` out of the statement, which is the client's to carry out.
    pub fn take_outfile(&mut self) -> Option<IntoOutfile> {
        let output = match self {
            Self::Query(query) => &mut query.output,
            Self::Show(show) => &mut show.output,
            Self::Exists(exists) => &mut exists.output,
            Self::Describe(describe) => &mut describe.output,
            Self::Check(check) => &mut check.output,
            Self::Explain(explain) => match &mut explain.statement {
                Some(statement) if explain.output.outfile.is_none() => return statement.take_outfile(),
                _ => &mut explain.output,
            },
            _ => return None,
        };
        output.outfile.take()
    }

    /// The settings that the statement names for itself; of several values of one the last counts. What a subquery names holds for the
    /// whole statement, unless that says otherwise.
    pub fn own_settings(&self) -> Vec<&Setting> {
        fn of_query(query: &Query) -> impl Iterator<Item = &Setting> {
            query.settings_within.iter().chain(&query.output.settings)
        }
        match self {
            Self::Query(query) => of_query(query).collect(),
            Self::Insert(insert) => match &insert.source {
                InsertSource::Query(query) | InsertSource::Input { query, .. } => {
                    of_query(query).chain(&insert.settings).collect()
                }
                _ => insert.settings.iter().collect(),
            },
            Self::Explain(explain) => match explain.statement.as_deref() {
                Some(Self::Query(query)) => of_query(query).collect(),
                _ => Vec::new(),
            },
            Self::ExecuteAs(execute) => execute.statement.as_deref().map(Self::own_settings).unwrap_or_default(),
            Self::CreateTable(create) => match &create.source {
                Some(CreateSource::Query(query)) => of_query(query).chain(&create.output.settings).collect(),
                _ => create.output.settings.iter().collect(),
            },
            // Whoever makes a view must be allowed its settings, and its columns have the types that these give them.
            Self::CreateView(create) => {
                create.query.iter().flat_map(|query| of_query(query)).chain(&create.output.settings).collect()
            }
            Self::Parallel(statements) => statements.iter().flat_map(Self::own_settings).collect(),
            Self::Delete(delete) => delete.settings.iter().collect(),
            Self::Update(update) => update.settings.iter().collect(),
            Self::Describe(describe) => describe.settings.iter().chain(&describe.output.settings).collect(),
            other => other.output().into_iter().flat_map(|output| &output.settings).collect(),
        }
    }
}
