//! The line editor: prompt, keys, history, highlighting, and when Enter ends a statement and when it begins another line.

use std::borrow::Cow;
use std::path::PathBuf;

use nu_ansi_term::{Color, Style};
use reedline::{
    ColumnarMenu, DefaultHinter, EditCommand, Emacs, FileBackedHistory, Highlighter, KeyCode, KeyModifiers,
    MenuBuilder, Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus, Reedline, ReedlineEvent,
    ReedlineMenu, StyledText, ValidationResult, Validator, default_emacs_keybindings,
};
use squall_sql::{PlainKind, is_keyword, plain_tokens};
use squall_types::Result;

use super::completer::SqlCompleter;
use super::names::Names;
use crate::run::file_error;

/// Statements that are kept.
const HISTORY_MAX: usize = 100_000;
const MENU: &str = "names";

/// The editor, with its history in this file.
///
/// # Errors
/// Where the file cannot be used.
pub fn editor(history_file: Option<PathBuf>, has_colours: bool, names: &Names) -> Result<Reedline> {
    let mut keys = default_emacs_keybindings();
    let complete = vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext];
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::UntilFound(complete));
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, ReedlineEvent::Edit(vec![EditCommand::InsertNewline]));
    let menu = ColumnarMenu::default().with_name(MENU).with_columns(4).with_column_padding(2);
    let mut editor = Reedline::create()
        .with_edit_mode(Box::new(Emacs::new(keys)))
        .with_completer(Box::new(SqlCompleter { names: names.clone() }))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_validator(Box::new(StatementEnd))
        .with_ansi_colors(has_colours)
        .use_bracketed_paste(true);
    if has_colours {
        editor = editor
            .with_highlighter(Box::new(SqlHighlighter { names: names.clone() }))
            .with_hinter(Box::new(DefaultHinter::default().with_style(Style::new().dimmed())));
    }
    if let Some(file) = history_file {
        let name = file.display().to_string();
        let history = FileBackedHistory::with_file(HISTORY_MAX, file)
            .map_err(|error| file_error(&name, &std::io::Error::other(error.to_string())))?;
        editor = editor.with_history(Box::new(history));
    }
    Ok(editor)
}

/// Ends a statement at `;` and `\G` outside of strings and comments; commands of the shell are one line.
struct StatementEnd;

impl Validator for StatementEnd {
    fn validate(&self, line: &str) -> ValidationResult {
        if is_complete(line) { ValidationResult::Complete } else { ValidationResult::Incomplete }
    }
}

/// Whether what was typed can run.
pub fn is_complete(text: &str) -> bool {
    let trimmed = text.trim();
    if trimmed.is_empty() || super::commands::is_command(trimmed) {
        return true;
    }
    plain_tokens(text).last().is_some_and(|token| matches!(text.get(token.start..token.end), Some(";" | "\\G")))
}

/// Paints words of the grammar, functions, strings and numbers.
struct SqlHighlighter {
    names: Names,
}

impl Highlighter for SqlHighlighter {
    fn highlight(&self, line: &str, _: usize) -> StyledText {
        let mut styled = StyledText::new();
        let mut done = 0;
        let tokens = plain_tokens(line);
        let mut put = |style: Style, from: usize, to: usize| {
            if let Some(text) = line.get(from..to).filter(|text| !text.is_empty()) {
                styled.push((style, text.to_owned()));
            }
        };
        for (at, token) in tokens.iter().enumerate() {
            // Blanks and comments.
            put(Style::new().dimmed(), done, token.start);
            let text = line.get(token.start..token.end).unwrap_or_default();
            let is_call = tokens.get(at + 1).is_some_and(|next| line.get(next.start..next.end) == Some("("));
            let style = match token.kind {
                PlainKind::String => Color::Green.normal(),
                PlainKind::Number => Color::Yellow.normal(),
                PlainKind::Word if is_keyword(text) && !self.names.is_identifier(text) => Color::LightBlue.bold(),
                PlainKind::Word if is_call => Color::Cyan.normal(),
                _ => Style::new(),
            };
            put(style, token.start, token.end);
            done = token.end;
        }
        put(Style::new().dimmed(), done, line.len());
        styled
    }
}

/// `host :) `, and `:-] ` before a statement's other lines.
pub struct ShellPrompt {
    /// Who answers.
    pub name: String,
}

impl Prompt for ShellPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.name)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed(" :) ")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed(":-] ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let failing = match search.status {
            PromptHistorySearchStatus::Passing => "",
            PromptHistorySearchStatus::Failing => "nothing ",
        };
        Cow::Owned(format!("({failing}found: {}) ", search.term))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_outside_of_strings() {
        for text in
            ["", "SELECT 1;", "SELECT 1\\G", "SELECT ';' ; ", ".tables", "exit", "quit;", "\\d t", "SELECT 1; -- x"]
        {
            assert!(is_complete(text), "{text}");
        }
        for text in ["SELECT 1", "SELECT ';", "SELECT 1 -- ;", "SELECT /* ;", "exit_code"] {
            assert!(!is_complete(text), "{text}");
        }
    }
}
