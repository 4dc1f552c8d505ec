//! Refreshable views: which there are, and what is kept of their refreshes.

use std::sync::Arc;

use squall_planner::MaterializedView;
use squall_types::{Error, ErrorCode, Result};
use uuid::Uuid;

use super::Databases;
use super::entry::{Engine, Entry};
use crate::catalog::{RefreshNote, RefreshRecord};
use crate::identity::TableName;

/// A refreshable view.
#[derive(Clone, Debug)]
pub struct RefreshableView {
    /// Its name.
    pub name: Arc<TableName>,
    /// Its identity.
    pub uuid: Uuid,
    /// What it computes, and when.
    pub view: Arc<MaterializedView>,
}

impl Databases {
    /// All refreshable views, by name.
    pub fn refreshable_views(&self) -> Vec<RefreshableView> {
        let state = self.state.load();
        let entries = state.values().flat_map(|database| database.tables.values());
        let mut views: Vec<RefreshableView> = entries.filter_map(refreshable).collect();
        views.sort_unstable_by(|left, right| {
            (&left.name.database, &left.name.table).cmp(&(&right.name.database, &right.name.table))
        });
        views
    }

    /// What is kept of the refreshes of a view; nothing of one that was never refreshed.
    ///
    /// # Errors
    /// Where the catalog cannot be read.
    pub fn refresh_record(&self, uuid: Uuid) -> Result<Option<RefreshRecord>> {
        let Some(store) = &self.store else { return Ok(None) };
        let records = store.catalog.refreshes()?;
        Ok(self.view_number(uuid).and_then(|id| records.get(&id).copied()))
    }

    /// Keeps the last refresh of a view.
    ///
    /// # Errors
    /// `TABLE_IS_DROPPED`, and where the catalog cannot be written.
    pub fn note_refresh(&self, uuid: Uuid, record: RefreshRecord) -> Result<()> {
        let Some(store) = &self.store else { return Ok(()) };
        store.catalog.note_refresh(&self.refresh_note(uuid, record)?)
    }

    /// What the commit of a refresh's rows records of it.
    ///
    /// # Errors
    /// `TABLE_IS_DROPPED`.
    pub fn refresh_note(&self, uuid: Uuid, record: RefreshRecord) -> Result<RefreshNote> {
        let gone = || Error::new(ErrorCode::TABLE_IS_DROPPED, "Table is dropped");
        Ok(RefreshNote { view: self.view_number(uuid).ok_or_else(gone)?, record })
    }

    fn view_number(&self, uuid: Uuid) -> Option<i64> {
        let state = self.state.load();
        let mut entries = state.values().flat_map(|database| database.tables.values());
        entries.find(|entry| entry.uuid() == uuid)?.id()
    }
}

fn refreshable(entry: &Arc<Entry>) -> Option<RefreshableView> {
    match &entry.engine {
        Engine::MaterializedView(stored, view) if view.refresh.is_some() => {
            Some(RefreshableView { name: entry.name.clone(), uuid: stored.identity.uuid, view: view.clone() })
        }
        _ => None,
    }
}
