//! What reads bytes: one function a reader. Each may answer with whatever it likes but a panic, a wait or much memory; what it claims about its
//! own answers it asserts.

mod config;
mod formats;
mod frames;
mod http;
mod native;
mod sql;
mod types;

/// One reader.
pub struct Target {
    /// The name, and the folder of its corpus.
    pub name: &'static str,
    /// Words that its inputs are likely to hold.
    pub words: &'static [&'static str],
    /// Gives it an input.
    pub run: fn(&[u8]),
    /// Inputs beside those of the folder, made of what is elsewhere in the repository.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

fn none() -> Vec<Vec<u8>> {
    Vec::new()
}

/// All of them.
pub const ALL: &[Target] = &[
    Target { name: "sql", words: sql::WORDS, run: sql::run, seeds: sql::seeds },
    Target { name: "types", words: types::WORDS, run: types::run, seeds: none },
    Target { name: "config", words: config::WORDS, run: config::run, seeds: config::seeds },
    Target { name: "http", words: http::WORDS, run: http::run, seeds: none },
    Target { name: "native", words: native::WORDS, run: native::run, seeds: native::seeds },
    Target { name: "frames", words: &[], run: frames::run, seeds: frames::seeds },
    Target { name: "formats", words: formats::WORDS, run: formats::run, seeds: formats::seeds },
    Target { name: "parquet", words: &["PAR1"], run: formats::run_parquet, seeds: formats::parquet_seeds },
];
