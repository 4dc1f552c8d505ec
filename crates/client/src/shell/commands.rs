//! The shell's own commands: `.help` and its kin, and the names by which users of other shells know them.

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Lists the commands.
    Help,
    /// Lists tables.
    Tables,
    /// Shows how a table was created, or all tables of the database.
    Schema,
    /// Shows a table's columns.
    Describe,
    /// Lists databases.
    Databases,
    /// Goes to another database.
    Use,
    /// Turns the line of times on and off.
    Timer,
    /// Sets the format of results.
    Mode,
    /// Sets the pager.
    Pager,
    /// Turns the line of progress on and off.
    Progress,
    /// Runs the statements of a file.
    Read,
    /// Reads the names to complete again.
    Rehash,
    /// Leaves.
    Quit,
}

/// A command of the shell.
#[derive(Debug)]
pub struct Command {
    /// What it is called, behind a dot.
    pub name: &'static str,
    /// What stands behind its name.
    pub argument: &'static str,
    /// Other ways to write it, with what stands before them.
    pub aliases: &'static [&'static str],
    /// What it does, in a line.
    pub help: &'static str,
    /// What it does.
    pub action: Action,
}

/// All commands, as `.help` lists them.
pub const COMMANDS: &[Command] = &[
    command("help", "", &["help", "?", "\\h", "\\?"], "List these commands", Action::Help),
    command("tables", "[PATTERN]", &["\\dt"], "List the database's tables, those LIKE a pattern", Action::Tables),
    command("schema", "[TABLE]", &[], "Show the statements that create tables", Action::Schema),
    command("describe", "[TABLE]", &["\\d"], "Show a table's columns, or list the tables", Action::Describe),
    command("databases", "", &["\\l"], "List databases", Action::Databases),
    command("use", "DATABASE", &["\\c"], "Go to another database", Action::Use),
    command("timer", "[on|off]", &["\\timing"], "Tell how long statements take", Action::Timer),
    command("mode", "[FORMAT]", &["format"], "Set the format of results", Action::Mode),
    command("pager", "[COMMAND|off]", &["\\P"], "Show results by a command: less -SR", Action::Pager),
    command("progress", "[on|off]", &[], "Show how far statements are", Action::Progress),
    command("read", "FILE", &["\\i"], "Run the statements of a file", Action::Read),
    command("rehash", "", &[], "Read again the names that Tab completes", Action::Rehash),
    command("quit", "", &["exit", "quit", "logout", "\\q", ":q", "q"], "Leave; Ctrl-D does too", Action::Quit),
];

const fn command(
    name: &'static str,
    argument: &'static str,
    aliases: &'static [&'static str],
    help: &'static str,
    action: Action,
) -> Command {
    Command { name, argument, aliases, help, action }
}

/// The command that a line is, with what stands behind it: `None` for SQL; an unknown word behind a dot is an error by its name.
pub fn parse(line: &str) -> Option<Result<(Action, &str), &str>> {
    let line = line.trim().trim_end_matches(';').trim_end();
    let (word, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let argument = argument.trim();
    if let Some(name) = word.strip_prefix('.') {
        let found = COMMANDS.iter().find(|command| command.name == name || command.aliases.contains(&name));
        return Some(found.map(|command| (command.action, argument)).ok_or(word));
    }
    let found = COMMANDS.iter().find(|command| command.aliases.contains(&word.to_lowercase().as_str()))?;
    // Words of people, which could as well begin a statement, stand alone.
    let is_word = word.chars().all(char::is_alphabetic);
    if is_word && (!argument.is_empty() || found.action == Action::Mode) {
        return None;
    }
    Some(Ok((found.action, argument)))
}

/// Whether a line is the shell's own business.
pub fn is_command(line: &str) -> bool {
    !line.contains('\n') && parse(line).is_some()
}

/// What `.help` says.
pub fn help() -> String {
    let mut text = String::from("Statements end with ; or with \\G, which shows results row by row.\n\n");
    for command in COMMANDS {
        let form = format!(".{} {}", command.name, command.argument);
        let aliases: Vec<&str> = command.aliases.iter().copied().filter(|alias| *alias != command.name).collect();
        let aliases = if aliases.is_empty() { String::new() } else { format!(" (also {})", aliases.join(", ")) };
        text += &format!("  {form:<24} {}{aliases}\n", command.help);
    }
    text + "\nTab completes, Up and Ctrl-R look for statements of before, Alt-Enter begins a line, Ctrl-C ends a query."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_statements() {
        assert_eq!(parse(".tables hits%"), Some(Ok((Action::Tables, "hits%"))));
        assert_eq!(parse("\\d hits;"), Some(Ok((Action::Describe, "hits"))));
        assert_eq!(parse("EXIT;"), Some(Ok((Action::Quit, ""))));
        assert_eq!(parse(".nothing"), Some(Err(".nothing")));
        assert_eq!(parse("SELECT 1"), None);
        assert_eq!(parse("exit now"), None);
        assert_eq!(parse("format"), None);
        assert!(help().contains(".schema [TABLE]"));
    }
}
