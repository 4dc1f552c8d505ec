//! What SQL defines besides tables and users: functions (CREATE FUNCTION) and named collections. They are looked up without locks, and kept in
//! a database of SQLite's beside the catalog, each as the statement that makes it again.

mod store;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use squall_sql::ast::{
    self, CreateFunction, CreateNamedCollection, ExpressionKind, FunctionBody, Lambda, NamedCollectionEntry,
    SettingValue, Statement,
};
use squall_sql::{ParserLimits, format_one_line, parse};
use squall_types::{Error, ErrorCode, Result};

use store::Store;

/// A function that SQL defined.
#[derive(Debug)]
pub struct UserFunction {
    /// What it computes.
    pub lambda: Arc<Lambda>,
    /// The statement that makes it.
    pub sql: String,
}

/// A named collection.
#[derive(Clone, Debug)]
pub struct NamedCollection {
    /// Its entries, in order.
    pub entries: Vec<NamedCollectionEntry>,
}

/// All of them at one moment.
#[derive(Clone, Debug, Default)]
struct Known {
    functions: BTreeMap<String, Arc<UserFunction>>,
    collections: BTreeMap<String, Arc<NamedCollection>>,
}

/// Functions and named collections of a server.
#[derive(Debug)]
pub struct Objects {
    known: ArcSwap<Known>,
    /// Held through a change.
    store: Mutex<Store>,
}

impl Objects {
    /// Those of a folder; without one they end with the process.
    ///
    /// # Errors
    /// Where the database cannot be read.
    pub fn open(folder: Option<&Path>) -> Result<Self> {
        let store = Store::open(folder)?;
        let mut known = Known::default();
        for sql in store.load()? {
            match parse(sql.as_bytes(), &ParserLimits::default()) {
                Ok(Statement::CreateFunction(create)) => {
                    known.functions.insert(create.name.value.clone(), Arc::new(user_function(*create)?));
                }
                Ok(Statement::CreateNamedCollection(create)) => {
                    let CreateNamedCollection { name, entries, .. } = *create;
                    known.collections.insert(name.value, Arc::new(NamedCollection { entries }));
                }
                // Others are not concerned.
                _ => tracing::error!("a definition of {} cannot be read", store::FILE),
            }
        }
        Ok(Self { known: ArcSwap::from_pointee(known), store: Mutex::new(store) })
    }

    /// A function by its name.
    pub fn function(&self, name: &str) -> Option<Arc<UserFunction>> {
        self.known.load().functions.get(name).cloned()
    }

    /// All functions by name.
    pub fn functions(&self) -> Vec<(String, Arc<UserFunction>)> {
        self.known.load().functions.iter().map(|(name, function)| (name.clone(), function.clone())).collect()
    }

    /// A named collection.
    pub fn collection(&self, name: &str) -> Option<Arc<NamedCollection>> {
        self.known.load().collections.get(name).cloned()
    }

    /// All named collections by name.
    pub fn collections(&self) -> Vec<(String, Arc<NamedCollection>)> {
        self.known.load().collections.iter().map(|(name, found)| (name.clone(), found.clone())).collect()
    }

    /// `CREATE FUNCTION`. Waits for the disk, as all changes do.
    ///
    /// # Errors
    /// `FUNCTION_ALREADY_EXISTS`, `BAD_ARGUMENTS` for what is no lambda.
    pub fn create_function(&self, create: CreateFunction) -> Result<()> {
        let name = create.name.value.clone();
        let mode = create.mode;
        let mut store = self.store.lock();
        let is_known = self.known.load().functions.contains_key(&name);
        match mode {
            ast::CreateMode::IfNotExists if is_known => return Ok(()),
            ast::CreateMode::Create if is_known => {
                let message =
                    format!("User-defined object '{name}' already exists: while adding user defined function `{name}`");
                return Err(Error::new(ErrorCode::FUNCTION_ALREADY_EXISTS, message));
            }
            ast::CreateMode::Replace if !is_known => return Err(unknown_function(&name)),
            _ => {}
        }
        let function = user_function(create)?;
        store.put("function", &name, &function.sql)?;
        self.change(|known| known.functions.insert(name, Arc::new(function)));
        Ok(())
    }

    /// `DROP FUNCTION`.
    ///
    /// # Errors
    /// `UNKNOWN_FUNCTION`.
    pub fn drop_function(&self, name: &str, if_exists: bool) -> Result<()> {
        let mut store = self.store.lock();
        if !self.known.load().functions.contains_key(name) {
            return if if_exists { Ok(()) } else { Err(unknown_function(name)) };
        }
        store.remove("function", name)?;
        self.change(|known| known.functions.remove(name));
        Ok(())
    }

    /// `CREATE NAMED COLLECTION`.
    ///
    /// # Errors
    /// `NAMED_COLLECTION_ALREADY_EXISTS`.
    pub fn create_collection(&self, create: CreateNamedCollection) -> Result<()> {
        let name = create.name.value.clone();
        let mut store = self.store.lock();
        if self.known.load().collections.contains_key(&name) {
            if create.if_not_exists {
                return Ok(());
            }
            let message = format!("A named collection `{name}` already exists");
            return Err(Error::new(ErrorCode::NAMED_COLLECTION_ALREADY_EXISTS, message));
        }
        self.put_collection(&mut store, name, create.entries)
    }

    /// `ALTER NAMED COLLECTION`.
    ///
    /// # Errors
    /// `NAMED_COLLECTION_DOESNT_EXIST`, `BAD_ARGUMENTS` for an entry that is to be deleted and is not there.
    pub fn alter_collection(&self, alter: &ast::AlterNamedCollection) -> Result<()> {
        let name = &alter.name.value;
        let mut store = self.store.lock();
        let Some(found) = self.known.load().collections.get(name).cloned() else {
            return if alter.if_exists { Ok(()) } else { Err(no_collection("update", name)) };
        };
        let mut entries = found.entries.clone();
        for set in &alter.set {
            match entries.iter_mut().find(|entry| entry.setting.name == set.setting.name) {
                Some(entry) => *entry = set.clone(),
                None => entries.push(set.clone()),
            }
        }
        for key in &alter.delete {
            let before = entries.len();
            entries.retain(|entry| entry.setting.name != *key);
            if entries.len() == before {
                let message = format!("Cannot delete key `{key}` because it does not exist in collection");
                return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
            }
        }
        if entries.is_empty() {
            return Err(Error::new(ErrorCode::BAD_ARGUMENTS, "Named collection cannot be empty"));
        }
        self.put_collection(&mut store, name.clone(), entries)
    }

    /// `DROP NAMED COLLECTION`.
    ///
    /// # Errors
    /// `NAMED_COLLECTION_DOESNT_EXIST`.
    pub fn drop_collection(&self, name: &str, if_exists: bool) -> Result<()> {
        let mut store = self.store.lock();
        if !self.known.load().collections.contains_key(name) {
            return if if_exists { Ok(()) } else { Err(no_collection("remove", name)) };
        }
        store.remove("collection", name)?;
        self.change(|known| known.collections.remove(name));
        Ok(())
    }

    fn put_collection(&self, store: &mut Store, name: String, mut entries: Vec<NamedCollectionEntry>) -> Result<()> {
        entries.sort_by(|left, right| left.setting.name.cmp(&right.setting.name));
        store.put("collection", &name, &create_collection_sql(&name, &entries))?;
        self.change(|known| known.collections.insert(name, Arc::new(NamedCollection { entries })));
        Ok(())
    }

    /// Publishes a changed copy. Callers hold the store.
    fn change<T>(&self, change: impl FnOnce(&mut Known) -> T) {
        let mut known = Known::clone(&self.known.load());
        change(&mut known);
        self.known.store(Arc::new(known));
    }
}

/// The statement that makes a named collection.
pub fn create_collection_sql(name: &str, entries: &[NamedCollectionEntry]) -> String {
    format_one_line(&Statement::CreateNamedCollection(Box::new(CreateNamedCollection {
        if_not_exists: false,
        name: ast::Identifier::new(name),
        cluster: None,
        entries: entries.to_vec(),
    })))
}

/// The same, and the entries as a map, with what must not be read hidden.
pub fn hidden(name: &str, collection: &NamedCollection) -> (String, Vec<(String, String)>) {
    const HIDDEN: &str = "[HIDDEN]";
    let mut entries = collection.entries.clone();
    for entry in &mut entries {
        entry.setting.value = SettingValue::Literal(ast::Literal::String(HIDDEN.as_bytes().to_vec()));
    }
    let map = entries.iter().map(|entry| (entry.setting.name.clone(), HIDDEN.to_owned())).collect();
    (create_collection_sql(name, &entries), map)
}

fn user_function(create: CreateFunction) -> Result<UserFunction> {
    let body = match &create.body {
        FunctionBody::Lambda(body) => body,
        FunctionBody::External { language, .. } => {
            return Err(Error::not_implemented(format!("A function in the language {language}")));
        }
    };
    let ExpressionKind::Lambda(lambda) = &body.kind else {
        let message = format!("Expected function, got: {}", squall_sql::format_expression(body));
        return Err(Error::new(ErrorCode::BAD_ARGUMENTS, message));
    };
    let lambda = Arc::new((**lambda).clone());
    let made = CreateFunction { mode: ast::CreateMode::Create, cluster: None, ..create };
    Ok(UserFunction { lambda, sql: format_one_line(&Statement::CreateFunction(Box::new(made))) })
}

fn unknown_function(name: &str) -> Error {
    let message = format!("User-defined object '{name}' doesn't exist: while removing user defined function `{name}`");
    Error::new(ErrorCode::UNKNOWN_FUNCTION, message)
}

fn no_collection(verb: &str, name: &str) -> Error {
    let message = format!("Cannot {verb} collection `{name}`, because it doesn't exist");
    Error::new(ErrorCode::NAMED_COLLECTION_DOESNT_EXIST, message)
}
