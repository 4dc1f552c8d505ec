//! The client's half of ClickHouse's native protocol: connect, send a query with its settings, follow its packets to the end,
//! insert blocks. Results can be measured and single values read; turning blocks into files is the business of others.

mod compression;
mod connection;

pub use connection::{Connection, Options, Query, Stage, Summary};
