//! How the databases of a folder are opened: locked, put in order after the catalog, and every table that can be opened is.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use squall_runtime::memory::add_cache;
use squall_types::{Error, ErrorCode, Result};

use super::entry::{Database, SYSTEM, State, put};
use super::folder::{self, default_cache_bytes};
use super::store::Store;
use super::{Databases, StorageOptions};
use crate::catalog::Catalog;
use crate::column_cache::ColumnCache;
use crate::dictionary::OnDemandSlot;
use crate::disk::{Disk, LocalDisk};
use crate::key_binding::KeyBinding;
use crate::merge_tree::write_error;

impl Databases {
    /// The databases kept in a folder, which comes into being where it is missing: `catalog.sqlite` and `data/`. Files that were never
    /// committed are removed, parts that the catalog does not list are set aside. A part that is damaged is reported and fails the
    /// queries that need it; so is a table that cannot be opened.
    ///
    /// # Errors
    /// Where the folder cannot be used, another server uses it, the catalog cannot be read, or there is none but there are parts.
    pub fn open(path: &Path, options: &StorageOptions) -> Result<Arc<Self>> {
        let data = path.join("data");
        std::fs::create_dir_all(&data).map_err(|error| write_error(&data, &error))?;
        let data = data.canonicalize().map_err(|error| write_error(&data, &error))?;
        let locks = folder::lock(path, &data)?;
        let disk: Arc<dyn Disk> = Arc::new(LocalDisk);
        let file = path.join("catalog.sqlite");
        let open = || {
            Catalog::open(&file, &data, disk.clone(), &|| match options.restore_catalog {
                true => Ok(()),
                false => folder::refuse_parts(&*disk, path, &data),
            })
        };
        let catalog = match open() {
            Ok(catalog) if options.restore_catalog && !catalog.is_sound() => {
                drop(catalog);
                set_catalog_aside(&file)?;
                open()?
            }
            Err(error) if options.restore_catalog && error.code == ErrorCode::CORRUPTED_DATA => {
                set_catalog_aside(&file)?;
                open()?
            }
            Err(error) if error.code == ErrorCode::CORRUPTED_DATA => {
                let advice = "The catalog is damaged: put a copy of catalog.sqlite in its place, or start with --restore-catalog, which \
                              makes a catalog of what the parts say of themselves";
                return Err(Error::new(error.code, format!("{advice}: {}", error.message)));
            }
            opened => opened?,
        };
        let cache = Arc::new(ColumnCache::new(options.column_cache_bytes.unwrap_or_else(default_cache_bytes)));
        add_cache(&cache);
        let store = Store {
            catalog,
            cache,
            data,
            binding: Arc::new(KeyBinding::new(&options.time_zone)),
            on_demand: OnDemandSlot::default(),
            _locks: locks,
        };
        if options.restore_catalog {
            store.restore_catalog()?;
        }
        Self::of(store)
    }

    /// The databases that a catalog lists.
    pub(super) fn of(store: Store) -> Result<Arc<Self>> {
        let (stored_databases, stored_tables) = store.catalog.load()?;
        folder::put_in_order(&store.catalog, &store.data, &stored_tables)?;
        let has_system = stored_databases.iter().any(|database| database.name == SYSTEM);
        let has_default = stored_databases.iter().any(|database| database.name == "default");
        let mut names = HashMap::new();
        let mut state = State::new();
        for database in stored_databases {
            let name: Arc<str> = database.name.into();
            names.insert(database.id, name.clone());
            state.insert(name, Arc::new(Database::new(Some(database.id), database.uuid, &database.comment)));
        }
        for table in stored_tables {
            let Some(database) = names.get(&table.database_id).and_then(|name| state.get_mut(name)) else { continue };
            if table.is_detached {
                let entry = store.open_table(table);
                Arc::make_mut(database).detached.insert(entry.name.table.clone(), (Arc::new(entry), true));
            } else {
                put(&mut state, store.open_table(table));
            }
        }
        let on_demand = store.on_demand.clone();
        let databases = Self::with(Some(store), on_demand);
        databases.change(|all| {
            for (name, database) in state {
                match all.get_mut(&name) {
                    // `system`: stored tables beside computed ones, whose names win.
                    Some(known) => Arc::make_mut(known).adopt(&database),
                    None => drop(all.insert(name, database)),
                }
            }
        });
        if !has_default {
            databases.create_database("default", true, "")?;
        }
        if !has_system {
            databases.store_system()?;
        }
        Ok(Arc::new(databases))
    }
}

/// Gives a damaged catalog another name: somebody may still read something from it.
fn set_catalog_aside(file: &Path) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    for ending in ["", "-wal", "-shm"] {
        let mut from = file.as_os_str().to_owned();
        from.push(ending);
        let mut to = file.as_os_str().to_owned();
        to.push(format!(".damaged-{now}{ending}"));
        match std::fs::rename(&from, &to) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(write_error(file, &error)),
            _ => {}
        }
    }
    tracing::warn!(file = %file.display(), "the catalog is damaged and was given the name catalog.sqlite.damaged-{now}");
    Ok(())
}
