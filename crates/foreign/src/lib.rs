//! Tables of PostgreSQL and MySQL servers as tables: how such a server describes a table, the scan that streams its rows, and the INSERT that
//! is one transaction there. What is the same for both is here, what a server's protocol and SQL say is in the module of its name. Who may
//! reach which address is the server's to say.

mod condition;
mod engine;
mod feed;
mod mysql;
mod postgresql;
mod rows;
mod server;
mod table;
mod watch;

pub use engine::{Columns, Engine, Source};
pub use mysql::{Conflict, MySql};
pub use postgresql::PostgreSql;
pub use rows::{ForeignQuery, keys_sql};
pub use server::ForeignServer;
pub use table::ForeignTable;
