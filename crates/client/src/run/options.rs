//! How statements are run and shown: what the command line says and `.mode`, `.timer` and `SET` change.

use squall_sql::ast::{Literal, SettingValue, Statement};
use squall_types::Settings;
use squall_types::text::append_quoted;

use crate::session::ExternalTable;

/// How statements are run and shown.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Settings that go with every statement.
    pub settings: Vec<(String, String)>,
    /// The values of `{name:Type}`.
    pub parameters: Vec<(String, String)>,
    /// Tables that go with every statement.
    pub tables: Vec<ExternalTable>,
    /// The output format where a statement names none.
    pub format: String,
    /// The id of the statements; empty makes one up for each.
    pub query_id: String,
    /// Whether people read along: results have a line at their end, and messages.
    pub is_interactive: bool,
    /// Whether standard error shows how far a statement is.
    pub has_progress: bool,
    /// Whether the line at a statement's end tells its time; of a script, standard error has the seconds.
    pub has_time: bool,
    /// The command that results are shown by.
    pub pager: Option<String>,
    /// Whether a script goes on after an error.
    pub ignores_errors: bool,
    /// Whether statements are shown before they run.
    pub echoes: bool,
}

impl Options {
    /// Takes a setting, or a query parameter under its name `param_x`.
    pub fn set(&mut self, name: &str, value: &str) {
        let (list, name) = match name.strip_prefix("param_") {
            Some(name) => (&mut self.parameters, name),
            None => (&mut self.settings, name),
        };
        list.retain(|(known, _)| known != name);
        list.push((name.to_owned(), value.to_owned()));
    }

    /// Takes what a `SET` that succeeded has set.
    pub fn apply(&mut self, statement: &Statement) {
        let Statement::Set(set) = statement else { return };
        for setting in &set.settings {
            match &setting.value {
                SettingValue::Literal(literal) => self.set(&setting.name, &text(literal)),
                SettingValue::Default => self.settings.retain(|(name, _)| *name != setting.name),
                SettingValue::Expression(_) => {}
            }
        }
    }

    /// The settings that formats see: ours and the statement's own. Those that this program does not know are the server's business.
    pub fn settings_of(&self, statement: Option<&Statement>) -> Settings {
        let mut settings = Settings::default();
        for (name, value) in &self.settings {
            let _ = settings.set(name, value);
        }
        for setting in statement.map(Statement::own_settings).unwrap_or_default() {
            if let SettingValue::Literal(literal) = &setting.value {
                let _ = settings.set(&setting.name, &text(literal));
            }
        }
        settings
    }
}

/// A setting's value as text.
fn text(literal: &Literal) -> String {
    match literal {
        Literal::Bool(value) => u8::from(*value).to_string(),
        Literal::String(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => squall_sql::format_literal(other),
    }
}

/// Text as a literal of SQL.
pub fn quoted(text: &str) -> String {
    let mut literal = Vec::new();
    append_quoted(&mut literal, text.as_bytes());
    String::from_utf8_lossy(&literal).into_owned()
}
