//! The HTTP interface: listening, connections, requests, responses. What a query is and does is `query`'s business.

mod body;
pub mod connection;
mod content_encoding;
mod handler;
mod input;
mod ping;
mod request;
mod response;
mod status;

pub use connection::serve;
pub use status::status_of;
