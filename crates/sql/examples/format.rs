//! Formats each line of standard input as a statement: `cargo run --example format [one-line | lines | dump]`. Used to compare with
//! ClickHouse in bulk; an error is printed in the statement's place.

use std::io::{self, BufRead};

fn main() -> io::Result<()> {
    let mode = std::env::args().nth(1).unwrap_or_default();
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        println!(">> {line}");
        match squall_sql::parse(&line, &squall_sql::ParserLimits::default()) {
            Ok(statement) if mode == "dump" => print!("{}", squall_sql::dump(&statement)),
            Ok(statement) if mode == "lines" => println!("{}", squall_sql::format(&statement)),
            Ok(statement) => println!("{}", squall_sql::format_one_line(&statement)),
            Err(error) => println!("ERR Code: {}. DB::Exception: {error}", error.code),
        }
    }
    Ok(())
}
