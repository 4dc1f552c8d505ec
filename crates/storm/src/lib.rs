//! Squall's tools on the client's side: data to load, a benchmark that speaks the native protocol, and the experiments that
//! measure servers. Everything here knows a server by its sockets only, so it works on ClickHouse as well.

pub mod benchmark;
pub mod datagen;
mod experiment;
mod http;
pub mod native;
pub mod storm;
