//! The native protocol, as `clickhouse-client`, `clickhouse-benchmark` and the drivers speak it: packets over TCP, whose shape depends on
//! the revision that both sides agree on. Blocks inside of packets are `formats`' business, what a query is and does is `query`'s.

mod blocks;
mod connection;
mod listener;
mod packet;
mod query;
mod revision;
mod settings;

pub use listener::serve;
