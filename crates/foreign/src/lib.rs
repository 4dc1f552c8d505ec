//! Tables of PostgreSQL and MySQL servers as tables: how such a server describes a table, the scan that streams its rows, and the INSERT that
//! is one transaction there. What is the same for both is here, what a server's protocol and SQL say is in the module of its name. Who may
//! reach which address is the server's to say.

#![cfg_attr(
    not(any(feature = "mysql", feature = "postgresql")),
    allow(dead_code, reason = "a program that asks no servers needs little of this")
)]

#[cfg(not(all(feature = "mysql", feature = "postgresql")))]
mod absent;
mod condition;
mod conflict;
mod engine;
mod feed;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgresql")]
mod postgresql;
mod rows;
mod server;
mod table;
mod watch;

#[cfg(not(feature = "mysql"))]
pub use absent::MySql;
#[cfg(not(feature = "postgresql"))]
pub use absent::PostgreSql;
pub use conflict::Conflict;
pub use engine::{Columns, Engine, Source};
#[cfg(feature = "mysql")]
pub use mysql::MySql;
#[cfg(feature = "postgresql")]
pub use postgresql::PostgreSql;
pub use rows::{ForeignQuery, keys_sql};
pub use server::ForeignServer;
pub use table::ForeignTable;
