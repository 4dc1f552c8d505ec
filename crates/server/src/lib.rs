//! The server: configuration, users, sessions, HTTP, the native protocol, system tables and logs. It turns requests into calls of
//! the planner and the engine, and blocks into bytes; it executes nothing itself.

pub mod access;
pub mod asynchronous_metrics;
mod background;
pub mod backup;
mod check_config;
pub mod compression;
pub mod config;
mod dictionaries;
pub mod http;
pub mod local;
pub mod logger;
pub mod masking;
pub mod merges;
pub mod mutations;
pub mod native;
pub mod network;
mod objects;
pub mod process;
pub mod query;
mod refresh;
pub mod run;
pub mod server;
pub mod session;
mod small_database;
pub mod system;
pub mod system_log;
pub mod version;

pub use check_config::check_config;
pub use run::{Options, run};
pub use server::Server;
