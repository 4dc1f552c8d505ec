//! What the engine gives to those who started a query: a result to be read, an INSERT to be fed, an end to be awaited.

mod completion;
mod insert_stream;
mod query_stream;
mod spawned;

pub use completion::Completion;
pub use insert_stream::InsertStream;
pub use query_stream::{Helpers, QueryStream};
pub(crate) use spawned::Ending;
pub use spawned::Spawned;
