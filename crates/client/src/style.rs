//! Colours on standard error, where it is a terminal and `NO_COLOR` does not forbid them.

use std::io::{self, IsTerminal};

use nu_ansi_term::{Color, Style};

fn painted(style: Style, text: &str) -> String {
    let has_colours = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if has_colours { style.paint(text).to_string() } else { text.to_owned() }
}

/// An error.
pub fn error(text: &str) -> String {
    painted(Color::Red.normal(), text)
}

/// What only some want to read.
pub fn dimmed(text: &str) -> String {
    painted(Style::new().dimmed(), text)
}
