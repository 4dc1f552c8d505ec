//! Dictionaries that configuration files define (`dictionaries_config`): which files there are, when they have changed, and what they say;
//! and how sources outside of this server's tables are read. The dictionaries themselves are `storage`'s.

mod files;
mod foreign;
pub(crate) mod sources;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use squall_functions::FunctionContext;
use squall_planner::{DictionaryDefinition, plan_configured_dictionary};
use squall_storage::{Databases, Dictionary};
use squall_types::Result;

use crate::config::{Config, ConfigWatch};

/// The files of dictionaries as they were last read.
#[derive(Debug, Default)]
pub struct DictionaryFiles {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    watch: ConfigWatch,
    /// What each file said when it last could be read.
    known: HashMap<PathBuf, Vec<(Arc<str>, DictionaryDefinition)>>,
}

impl DictionaryFiles {
    /// Reads the files again where one of them has changed, or `anew`. A file that is wrong is told in the log, and what it said before
    /// stays. Gives the dictionaries that took the place of loaded ones, and are to be loaded themselves.
    ///
    /// # Errors
    /// Where a dictionary cannot be made.
    pub fn reload(
        &self,
        config: &Config,
        zone: &str,
        databases: &Databases,
        anew: bool,
    ) -> Result<Vec<Arc<Dictionary>>> {
        let files: Vec<PathBuf> =
            config.dictionaries_config.iter().flat_map(|pattern| files::files_of(pattern, &config.folder)).collect();
        let mut state = self.state.lock();
        if !anew && !state.watch.has_changed(&files) {
            return Ok(Vec::new());
        }
        // Looked at before they are read: what changes meanwhile is a change.
        let seen = ConfigWatch::of(&files);
        let context = FunctionContext::outside_queries(zone);
        let mut known = HashMap::new();
        for file in &files {
            match definitions(file, &context) {
                Ok(definitions) => drop(known.insert(file.clone(), definitions)),
                Err(error) => {
                    tracing::error!(target: "ExternalDictionariesLoader", "Dictionaries of {} are not loaded: {error}", file.display());
                    if let Some(before) = state.known.get(file) {
                        known.insert(file.clone(), before.clone());
                    }
                }
            }
        }
        state.known = known;
        state.watch = seen;
        let mut all: Vec<(Arc<str>, DictionaryDefinition)> = Vec::new();
        for (name, definition) in files.iter().filter_map(|file| state.known.get(file)).flatten() {
            if all.iter().any(|(before, _)| before == name) {
                tracing::warn!(target: "ExternalDictionariesLoader", "Dictionary '{name}' is defined twice, the first one holds");
                continue;
            }
            all.push((name.clone(), definition.clone()));
        }
        databases.set_configured_dictionaries(all)
    }
}

fn definitions(file: &Path, context: &FunctionContext) -> Result<Vec<(Arc<str>, DictionaryDefinition)>> {
    let origin = file.display().to_string();
    let statements = files::read(file)?;
    let definition = |(name, statement): &(String, _)| {
        let definition = plan_configured_dictionary(statement, &origin, context)?;
        Ok((Arc::from(name.as_str()), definition))
    };
    statements.iter().map(definition).collect()
}
