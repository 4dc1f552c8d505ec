//! The client's half of ClickHouse's native protocol: connect, send a query with its settings, follow its packets to the end,
//! insert blocks. Results can be measured and small ones read; turning blocks into files is the business of others.

mod block;
mod compression;
mod connection;
mod wire;

pub use block::{Answer, encode_block};
pub use compression::compress;
pub use connection::{Connection, Options, Query, Stage, Summary};
