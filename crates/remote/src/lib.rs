//! Tables of other servers, ClickHouse's and Squall's, as tables, and files of web servers: which servers an address means, what columns a
//! table there has, the scan and the INSERT that stream its rows over the native protocol, and whole answers to queries. Who may reach which
//! address is the server's to say.

mod address;
mod condition;
pub mod http;
mod link;
mod reach;
mod read;
pub mod s3;
mod table;
mod write;

pub use address::{Address, SECURE_PORT, shards};
pub use condition::sayable;
pub use link::{Peer, Peers, wait_for};
pub use reach::Reach;
pub use read::query;
pub use table::{RemoteTable, Target};
