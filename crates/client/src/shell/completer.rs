//! What Tab offers: names that begin with the word at the cursor, those first that fit where it stands.

use std::cmp::Reverse;

use reedline::{Completer, CompletionResult, Span, Suggestion};
use squall_sql::{PlainKind, plain_tokens};

use super::commands::COMMANDS;
use super::names::{Kind, Name, Names};

/// Suggestions that are offered at once.
const SUGGESTIONS_MAX: usize = 200;

/// Completes SQL and the shell's own commands.
pub struct SqlCompleter {
    /// The names to choose from.
    pub names: Names,
}

impl Completer for SqlCompleter {
    fn complete(&mut self, line: &str, cursor: usize) -> CompletionResult {
        CompletionResult::fresh(suggestions(&self.names, line, cursor))
    }
}

fn suggestions(names: &Names, line: &str, cursor: usize) -> Vec<Suggestion> {
    let before = line.get(..cursor).unwrap_or(line);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let start = before.trim_end_matches(is_word).len();
    let (context, prefix) = before.split_at(start);
    let span = Span::new(start, before.len());
    if context.trim() == "." {
        let known = COMMANDS.iter().filter(|command| command.name.starts_with(prefix));
        return known.map(|command| suggestion(command.name.to_owned(), command.help, span, true)).collect();
    }
    if is_in_string(before) {
        return Vec::new();
    }
    let mut found = match context.strip_suffix('.') {
        Some(owner) => {
            let owner = owner.rsplit(|c| !is_word(c)).next().unwrap_or_default();
            members(names, owner, prefix, line)
        }
        None => {
            if prefix.is_empty() && last_word(context).is_none() {
                return Vec::new();
            }
            ranked(names, context, prefix, line)
        }
    };
    found.truncate(SUGGESTIONS_MAX);
    found
        .into_iter()
        .map(|name| {
            let is_lower = prefix.chars().any(char::is_lowercase);
            let text = match name.kind {
                Kind::Keyword if is_lower => name.text.to_lowercase(),
                Kind::Function => format!("{}(", name.text),
                Kind::Column | Kind::Table | Kind::Database if !name.text.chars().all(is_word) => {
                    format!("`{}`", name.text)
                }
                _ => name.text,
            };
            let has_space = matches!(name.kind, Kind::Keyword | Kind::Table | Kind::Format);
            suggestion(text, name.kind.word(), span, has_space)
        })
        .collect()
}

fn suggestion(value: String, description: &str, span: Span, append_whitespace: bool) -> Suggestion {
    Suggestion { value, description: Some(description.to_owned()), span, append_whitespace, ..Suggestion::default() }
}

/// Whether a text ends within a string.
fn is_in_string(text: &str) -> bool {
    plain_tokens(text).last().is_some_and(|token| {
        let text = text.get(token.start..token.end).unwrap_or_default();
        token.kind == PlainKind::String && token.end == token.start + text.len() && !is_closed(text)
    })
}

fn is_closed(string: &str) -> bool {
    string.len() > 1 && string.ends_with('\'') && string.starts_with('\'')
}

/// The last word before the cursor, in upper case.
fn last_word(context: &str) -> Option<String> {
    let trimmed = context.trim_end();
    let word = trimmed.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
    (!word.is_empty() && trimmed.len() < context.len()).then(|| word.to_uppercase())
}

/// What stands behind `owner.`: a database's tables, a table's columns, and for an alias the columns of all tables that are named.
fn members(names: &Names, owner: &str, prefix: &str, line: &str) -> Vec<Name> {
    let tables = names.find(|name| name.kind == Kind::Table && name.owner == owner && begins(&name.text, prefix));
    if !tables.is_empty() {
        return unique(tables);
    }
    let of_owner = names.find(|name| name.kind == Kind::Column && name.owner == owner && begins(&name.text, prefix));
    if !of_owner.is_empty() {
        return unique(of_owner);
    }
    let named = |name: &Name| name.kind == Kind::Column && is_named(line, &name.owner) && begins(&name.text, prefix);
    unique(names.find(named))
}

/// Names for the place behind `context`: the kinds that belong there first.
fn ranked(names: &Names, context: &str, prefix: &str, line: &str) -> Vec<Name> {
    let first: &[Kind] = match last_word(context).as_deref() {
        Some("FROM" | "JOIN" | "INTO" | "TABLE" | "DESCRIBE" | "DESC" | "UPDATE" | "TRUNCATE") => {
            &[Kind::Table, Kind::Database]
        }
        Some("USE" | "DATABASE") => &[Kind::Database],
        Some("SET" | "SETTINGS") => &[Kind::Setting],
        Some("FORMAT") => &[Kind::Format],
        _ => &[],
    };
    let mut found = names.find(|name| {
        begins(&name.text, prefix)
            && if first.is_empty() {
                // Settings and formats have places of their own.
                !matches!(name.kind, Kind::Setting | Kind::Format)
            } else {
                first.contains(&name.kind)
            }
    });
    if found.is_empty() {
        found = names.find(|name| begins(&name.text, prefix));
    }
    found.sort_by_key(|name| {
        let is_near = name.kind == Kind::Column && is_named(line, &name.owner);
        (Reverse(is_near), order(name.kind), name.text.to_lowercase())
    });
    unique(found)
}

/// Which of two kinds comes first where neither belongs more than the other.
fn order(kind: Kind) -> u8 {
    match kind {
        Kind::Keyword => 0,
        Kind::Table => 1,
        Kind::Function => 2,
        Kind::Database => 3,
        Kind::Column => 4,
        Kind::Setting | Kind::Format => 5,
    }
}

fn begins(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Whether a table is named in the statement.
fn is_named(line: &str, table: &str) -> bool {
    let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    !table.is_empty() && words.any(|word| word == table)
}

/// Each text once, the first of its kinds.
fn unique(names: Vec<Name>) -> Vec<Name> {
    let mut seen = std::collections::HashSet::new();
    names.into_iter().filter(|name| seen.insert(name.text.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complete(line: &str) -> Vec<String> {
        let names = Names::of(&[
            (Kind::Database, "default", ""),
            (Kind::Database, "system", ""),
            (Kind::Table, "hits", "default"),
            (Kind::Table, "hosts", "system"),
            (Kind::Column, "hour", "hits"),
            (Kind::Column, "name of it", "hosts"),
            (Kind::Function, "hostName", ""),
            (Kind::Setting, "max_threads", ""),
            (Kind::Format, "Parquet", ""),
            (Kind::Keyword, "HAVING", ""),
            (Kind::Keyword, "SELECT", ""),
        ]);
        suggestions(&names, line, line.len()).into_iter().map(|suggestion| suggestion.value).collect()
    }

    #[test]
    fn names_fit_their_places() {
        assert_eq!(complete("sel"), ["select"]);
        assert_eq!(complete("SEL"), ["SELECT"]);
        assert_eq!(complete("SELECT * FROM h"), ["hits", "hosts"]);
        assert_eq!(complete("SELECT * FROM system."), ["hosts"]);
        assert_eq!(complete("SELECT hits."), ["hour"]);
        assert_eq!(complete("SELECT name FROM hosts WHERE hosts.n"), ["`name of it`"]);
        assert_eq!(complete("SELECT host"), ["hosts", "hostName("]);
        assert_eq!(complete("SET max"), ["max_threads"]);
        assert_eq!(complete("SELECT 1 FORMAT p"), ["Parquet"]);
        assert_eq!(complete("SELECT 'sel"), [""; 0]);
        assert_eq!(complete(".tab"), ["tables"]);
        assert_eq!(complete(""), [""; 0]);
    }

    #[test]
    fn columns_of_named_tables_come_first() {
        let names = Names::of(&[(Kind::Keyword, "HOUR", ""), (Kind::Column, "hourly", "hits")]);
        let line = "SELECT * FROM hits WHERE ho";
        let found: Vec<_> = suggestions(&names, line, line.len()).into_iter().map(|found| found.value).collect();
        assert_eq!(found, ["hourly", "hour"]);
    }
}
