//! Tells the program which commit it was built from: `SQUALL_COMMIT` where a packager sets it, what git says otherwise.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=SQUALL_COMMIT");
    let commit = std::env::var("SQUALL_COMMIT").ok().or_else(|| git(&["rev-parse", "HEAD"])).unwrap_or_default();
    println!("cargo:rustc-env=SQUALL_COMMIT={commit}");
    // The reflog grows with each commit; a clone without one is built anew when its sources change.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| std::path::Path::new(log).exists()) {
        println!("cargo:rerun-if-changed={log}");
    }
}

/// What git prints; nothing where there is no git or no repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned())
}
