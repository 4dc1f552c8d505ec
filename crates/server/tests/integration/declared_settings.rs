//! What is declared is read: each setting of queries and of the server has a place in the source that reads it, can only have the values that are
//! carried out, or says of itself that it has no effect.

use std::path::Path;

use squall_server::config::ServerSettings;
use squall_types::Settings;

/// The source of all crates but for tests, comments and the declarations themselves.
fn source() -> String {
    let mut text = String::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders: Vec<_> = crates
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path().join("src"))
        .filter(|path| path.is_dir())
        .collect();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            let is_declaration =
                path.ends_with("types/src/settings/mod.rs") || path.ends_with("config/server_settings.rs");
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !is_declaration {
                let file = std::fs::read_to_string(&path).unwrap();
                let code = file.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
                for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
    }
    text
}

/// Whether a field of this name is read somewhere: `settings.name`, and not `settings.name_of_another`.
fn is_read(source: &str, name: &str) -> bool {
    // The only name that is a word of Rust.
    let field = if name == "final" { ".with_final".to_owned() } else { format!(".{name}") };
    source.match_indices(&field).any(|(at, _)| {
        let after = source.get(at + field.len()..).and_then(|rest| rest.chars().next());
        !after.is_some_and(|character| character.is_alphanumeric() || character == '_')
    })
}

#[test]
fn every_setting_of_queries_is_read_or_says_that_it_is_not() {
    let source = source();
    let mut wrong = Vec::new();
    for setting in Settings::ALL {
        let is_read = is_read(&source, setting.name);
        // One that can have some values only is read where these mean different things.
        let may_be_unread = setting.is_without_effect() || !setting.allowed.is_empty();
        if is_read && setting.is_without_effect() || !is_read && !may_be_unread {
            wrong.push((setting.name, is_read));
        }
    }
    assert!(wrong.is_empty(), "settings and whether they are read: {wrong:?}");
}

#[test]
fn every_setting_of_the_server_is_read() {
    let source = source();
    let unread: Vec<&str> = ServerSettings::default()
        .all()
        .iter()
        .map(|setting| setting.name)
        .filter(|name| !is_read(&source, name))
        .collect();
    assert!(unread.is_empty(), "{unread:?}");
}

#[test]
fn values_that_nothing_carries_out_are_refused() {
    let mut settings = Settings::default();
    for setting in Settings::ALL.iter().filter(|setting| !setting.allowed.is_empty()) {
        for value in setting.allowed.iter() {
            settings.set(setting.name, value).unwrap();
        }
        settings.set(setting.name, setting.default).unwrap();
    }
    for (name, value) in
        [("dialect", "prql"), ("default_table_engine", "SharedMergeTree"), ("input_format_with_names_use_header", "0")]
    {
        let error = settings.set(name, value).unwrap_err();
        assert_eq!(error.code, squall_types::ErrorCode::SUPPORT_IS_DISABLED, "{error}");
    }
}
