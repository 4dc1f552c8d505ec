//! The server: configuration, users, sessions, HTTP, the native protocol, system tables and logs. It turns requests into calls of
//! the planner and the engine, and blocks into bytes; it executes nothing itself.

pub mod config;
pub mod logger;
pub mod users;
