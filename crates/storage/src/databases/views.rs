//! Which materialized views follow which table, and the tables that hold the rows of views.

use std::collections::HashMap;
use std::sync::Arc;

use squall_planner::MaterializedView;

use super::Databases;
use super::entry::{Engine, Entry, find};
use crate::identity::TableName;

/// A materialized view by its name.
pub type NamedView = (Arc<TableName>, Arc<MaterializedView>);

/// The views of each table, by the number of the state that they were found in.
#[derive(Debug, Default)]
pub(super) struct ViewIndex {
    generation: Option<u64>,
    by_source: HashMap<TableName, Vec<NamedView>>,
}

impl Databases {
    /// The materialized views over a table, by name.
    pub fn views_of(&self, database: &str, table: &str) -> Vec<NamedView> {
        // Read before the state, which may be newer and then is looked through again.
        let generation = self.generation();
        let mut index = self.views.load_full();
        if index.generation != Some(generation) {
            let mut by_source: HashMap<TableName, Vec<NamedView>> = HashMap::new();
            for entry in self.state.load().values().flat_map(|database| database.tables.values()) {
                if let Engine::MaterializedView(_, view) = &entry.engine
                    && let Some((database, table)) = &view.source
                {
                    let source = TableName::new(database.as_str(), table.as_str());
                    by_source.entry(source).or_default().push((entry.name.clone(), view.clone()));
                }
            }
            for views in by_source.values_mut() {
                views
                    .sort_by(|left, right| (&left.0.database, &left.0.table).cmp(&(&right.0.database, &right.0.table)));
            }
            index = Arc::new(ViewIndex { generation: Some(generation), by_source });
            self.views.store(index.clone());
        }
        if index.by_source.is_empty() {
            return Vec::new();
        }
        index.by_source.get(&TableName::new(database, table)).cloned().unwrap_or_default()
    }

    /// The table for a materialized view's rows, where it is a part of the view.
    pub(super) fn inner_table(&self, entry: &Entry) -> Option<Arc<Entry>> {
        match &entry.engine {
            Engine::MaterializedView(_, view) if view.has_inner_table() => {
                find(&self.state.load(), &entry.name.database, &view.target_table).ok().cloned()
            }
            _ => None,
        }
    }
}
