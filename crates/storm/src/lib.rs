//! Squall's tools on the client's side: data to load, a benchmark that speaks the native protocol, the experiments that measure
//! servers, the doctor that examines them, and a picture of what their threads do. Everything here knows a server by its sockets only,
//! so it works on ClickHouse as well.

mod analytics;
pub mod benchmark;
pub mod chart;
pub mod csv;
pub mod datagen;
pub mod doctor;
mod experiment;
mod file_error;
pub mod flamegraph;
mod http_client;
pub mod load;
mod overload;
mod process;
mod report;
mod scratch;
mod server;
mod statistics;
pub mod storm;
mod suite;

pub use process::free_port;
