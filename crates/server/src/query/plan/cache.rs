//! Parsed statements and plans of texts that come again and again. A storm repeats its texts: the second time nothing is parsed,
//! and, where the plan depends on nothing but names, nothing is planned either.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use squall_sql::ast::Statement;

use super::kept_plan::KeptPlan;
use super::plan_template::TextShape;
use crate::process::QueryKind;

/// Longer texts are not kept.
const TEXT_BYTES_MAX: usize = 4096;
const SHARDS: usize = 16;
/// Texts of one shard; when there are more, some go.
const SHARD_TEXTS_MAX: usize = 256;

/// A statement and what is known of it without any session.
#[derive(Debug)]
pub struct Parsed {
    /// The text, cut where it is long, and without the inline data of an INSERT.
    pub text: Arc<str>,
    /// The tree.
    pub statement: Arc<Statement>,
    /// What kind of statement it is.
    pub kind: QueryKind,
    /// The hash of the text with literals replaced.
    pub normalized_query_hash: u64,
    /// `FORMAT` of the statement.
    pub format: Option<Arc<str>>,
    /// Whether the text may name a function that sleeps.
    pub may_sleep: bool,
    /// Whether the text looks at the process list.
    pub looks_at_processes: bool,
    /// Its literals and the rest, where other texts may differ in literals alone.
    pub shape: Option<TextShape>,
    /// The last plan, with what it depends on.
    pub plan: ArcSwapOption<KeptPlan>,
}

type Shard = Mutex<HashMap<Arc<str>, Arc<Parsed>, foldhash::fast::RandomState>>;

/// Statements by their exact text.
#[derive(Debug)]
pub struct StatementCache {
    shards: [Shard; SHARDS],
    hasher: foldhash::fast::RandomState,
}

impl Default for StatementCache {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()), hasher: foldhash::fast::RandomState::default() }
    }
}

impl StatementCache {
    /// The statement of a text.
    pub fn get(&self, text: &str) -> Option<Arc<Parsed>> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        self.shard(text).lock().get(text).cloned()
    }

    /// Keeps a statement under its whole text.
    pub fn put(&self, text: &str, parsed: &Arc<Parsed>) {
        if text.len() > TEXT_BYTES_MAX {
            return;
        }
        let mut shard = self.shard(text).lock();
        if shard.len() >= SHARD_TEXTS_MAX {
            // Whichever the map has first: as good as random, and it costs nothing to keep track of.
            let mut number = 0;
            shard.retain(|_, _| {
                number += 1;
                number % 2 == 0
            });
        }
        shard.insert(text.into(), parsed.clone());
    }

    /// Forgets everything: SYSTEM DROP QUERY CACHE, and a change of what names mean.
    pub fn clear(&self) {
        for shard in &self.shards {
            shard.lock().clear();
        }
    }

    fn shard(&self, text: &str) -> &Shard {
        &self.shards[self.hasher.hash_one(text) as usize % SHARDS]
    }
}

/// Whether a text may name `sleep` or `sleepEachRow`.
pub fn may_sleep(text: &str) -> bool {
    text.as_bytes().windows(5).any(|word| word.eq_ignore_ascii_case(b"sleep"))
}

/// A query that looks at the process list is let in whatever the limits: how else would one see what fills them?
pub fn looks_at_processes(text: &str) -> bool {
    text.contains("system.processes") || text.to_ascii_lowercase().contains("processlist")
}
