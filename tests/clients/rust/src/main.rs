//! What a user of the crates `clickhouse` (HTTP) and `klickhouse` (native protocol) does in a day, against one server. Each check prints
//! a line: "ok NAME", or "FAILED NAME: why". Arguments: the native port, the HTTP port.

mod http;
mod native;

use std::fmt::{Debug, Display};
use std::sync::atomic::{AtomicBool, Ordering};

static FAILED: AtomicBool = AtomicBool::new(false);

/// Why a check fails.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
pub type Outcome = Result<(), Failure>;

/// Says how one thing went that a user does.
pub fn report(name: impl Display, outcome: Outcome) {
    match outcome {
        Ok(()) => println!("ok {name}"),
        Err(error) => {
            FAILED.store(true, Ordering::Relaxed);
            println!("FAILED {name}: {}", error.to_string().replace('\n', " "));
        }
    }
}

/// An error where two values differ.
pub fn same<T: PartialEq + Debug>(got: T, want: T) -> Outcome {
    if got == want { Ok(()) } else { Err(format!("got {got:?}, not {want:?}").into()) }
}

/// An error where a text does not hold another.
pub fn holds(text: impl Display, part: &str) -> Outcome {
    let text = text.to_string();
    if text.contains(part) { Ok(()) } else { Err(format!("no {part:?} in {text:?}").into()) }
}

#[tokio::main]
async fn main() {
    let ports: Vec<String> = std::env::args().skip(1).collect();
    native::check(&ports[0]).await;
    http::check(&ports[1]).await;
    if FAILED.load(Ordering::Relaxed) {
        std::process::exit(1);
    }
}
