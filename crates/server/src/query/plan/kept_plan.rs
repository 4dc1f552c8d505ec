//! Plans that outlive the query that they were made for. A plan reads tables as they were when it was made; what is kept has their names
//! instead, and finds them as they are.

use std::any::Any;
use std::sync::Arc;

use squall_planner::{Catalog, ColumnDescription, Plan, QueryUses, TableMetadata};
use squall_storage::SessionCatalog;
use squall_types::{Result, Settings};

use crate::access::Access;
use crate::session::Session;

/// A plan with what it depends on.
#[derive(Clone, Debug)]
pub struct KeptPlan {
    /// The plan; its tables have but [`NamedTable`] names, where there are any.
    pub(in crate::query) plan: Arc<Plan>,
    /// What the query uses by name.
    pub(in crate::query) uses: Arc<QueryUses>,
    /// The settings that it was made under.
    settings: Arc<Settings>,
    /// The database in which its names were found.
    database: Arc<str>,
    /// For plans that find something by name: who may, and the generation of names in which it is so.
    names: Option<(Arc<Access>, u64)>,
}

impl KeptPlan {
    /// Keeps a plan of a session; `names` is the generation of names in which it found what it reads, where it found any.
    pub(in crate::query) fn new(
        session: &Session,
        settings: Arc<Settings>,
        mut plan: Arc<Plan>,
        uses: Arc<QueryUses>,
        names: Option<u64>,
    ) -> Result<Self> {
        if names.is_some() {
            for_each_table(Arc::make_mut(&mut plan), &mut |table| {
                if !is_made_up(&**table) {
                    *table = Arc::new(NamedTable { database: table.database().into(), name: table.name().into() });
                }
                Ok(())
            })?;
        }
        let names = names.map(|generation| (session.access.clone(), generation));
        Ok(Self { plan, uses, settings, database: session.database.clone(), names })
    }

    /// Whether it is what planning would give now.
    pub(in crate::query) fn holds(&self, session: &Session, settings: &Arc<Settings>) -> bool {
        let mean_the_same = |(access, generation): &(Arc<Access>, u64)| {
            Arc::ptr_eq(access, &session.access) && *generation == session.server.databases.generation()
        };
        self.database == session.database
            && self.names.as_ref().is_none_or(mean_the_same)
            && (Arc::ptr_eq(&self.settings, settings) || self.settings == *settings)
    }

    /// Whether it finds something by name.
    pub(in crate::query) fn finds_names(&self) -> bool {
        self.names.is_some()
    }

    /// The plan over its tables as they are now, changed by `change` before.
    ///
    /// # Errors
    /// Where a table has gone in this moment.
    pub(in crate::query) fn bind(&self, session: &Session, change: impl FnOnce(&mut Plan)) -> Result<Arc<Plan>> {
        if self.names.is_none() {
            return Ok(self.plan.clone());
        }
        let mut plan = (*self.plan).clone();
        change(&mut plan);
        let tables = SessionCatalog::new(session.server.databases.clone(), session.database.clone());
        for_each_table(&mut plan, &mut |table| {
            if let Some(NamedTable { database, name }) = table.as_any().downcast_ref() {
                let now = tables.table(Some(database), name)?;
                *table = now;
            }
            Ok(())
        })?;
        Ok(Arc::new(plan))
    }
}

/// A table of which a kept plan knows the name.
#[derive(Debug)]
struct NamedTable {
    database: Arc<str>,
    name: Arc<str>,
}

impl TableMetadata for NamedTable {
    fn database(&self) -> &str {
        &self.database
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn engine(&self) -> &str {
        ""
    }
    fn columns(&self) -> &[ColumnDescription] {
        &[]
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Whether a table's rows are made up, and the same for ever.
pub(in crate::query) fn is_made_up(table: &dyn TableMetadata) -> bool {
    matches!(table.engine(), "SystemOne" | "SystemNumbers" | "SystemZeros") && table.table_function().is_none()
}

fn for_each_table(plan: &mut Plan, visit: &mut dyn FnMut(&mut Arc<dyn TableMetadata>) -> Result<()>) -> Result<()> {
    if let Plan::Scan(scan) = plan {
        visit(&mut scan.table)?;
    }
    plan.try_for_each_input(|input| for_each_table(input, visit))
}
