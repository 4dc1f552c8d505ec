//! What packages bring beside the binary: completions for shells, and pages for `man`, both made of the arguments themselves.

use std::io::Write;
use std::path::PathBuf;

use clap::Command;
use clap_complete::Shell;
use squall_types::{Error, ErrorCode, Result};

/// Print completions for a shell.
///
/// bash reads them from /usr/share/bash-completion/completions/squall, zsh from _squall in a folder of its fpath, and fish from
/// ~/.config/fish/completions/squall.fish.
#[derive(clap::Args, Debug)]
#[command(after_help = "Example:
  source <(squall completions bash)")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Write pages for man, one for each command, to a folder.
#[derive(clap::Args, Debug)]
pub struct ManArgs {
    /// The folder, which is made where it is not there
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Prints completions.
pub fn complete(args: &CompletionsArgs, command: &mut Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "squall", &mut script);
    match std::io::stdout().write_all(&script) {
        // Whoever reads may have read enough.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(failed("standard output", &error)),
        _ => Ok(()),
    }
}

/// Writes the pages.
pub fn write(args: &ManArgs, command: Command) -> Result<()> {
    let name = args.folder.display().to_string();
    std::fs::create_dir_all(&args.folder)
        .and_then(|()| clap_mangen::generate_to(command, &args.folder))
        .map_err(|error| failed(&name, &error))
}

fn failed(name: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorCode::CANNOT_WRITE_TO_FILE_DESCRIPTOR, format!("{name}: {error}"))
}
