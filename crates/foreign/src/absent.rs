//! Kinds of servers that the program was built without: whoever asks one is told so.

use std::time::Duration;

use squall_types::{Error, Result, Settings};

use crate::engine::{Asked, Columns, Engine, ForeignColumn, Source, Written};
use crate::feed::{Blocks, Incoming};
use crate::server::ForeignServer;

macro_rules! absent {
    ($engine:ident, $name:literal, $port:literal, $conflict:ty) => {
        #[doc = concat!("Servers of ", $name, ", which this program cannot ask.")]
        #[derive(Clone, Copy, Debug)]
        pub struct $engine;

        impl Engine for $engine {
            type Kind = ();
            type Conflict = $conflict;
            const NAME: &'static str = $name;
            const PORT: u16 = $port;
            const SCHEMA: Option<&'static str> = None;

            fn connect_max(_: &Settings) -> Duration {
                Duration::ZERO
            }

            fn name_sql(name: &str) -> String {
                name.to_owned()
            }

            fn literal_sql(_: &[u8]) -> Option<String> {
                None
            }

            async fn columns(_: &ForeignServer, _: &Source, _: Columns) -> Result<Vec<ForeignColumn<()>>> {
                Err(missing($name))
            }

            async fn follow(_: &ForeignServer, _: &Asked<()>, _: &Blocks) -> Result<()> {
                Err(missing($name))
            }

            async fn carry(_: &ForeignServer, _: &Written<$conflict>, _: &Incoming) -> Result<()> {
                Err(missing($name))
            }
        }
    };
}

fn missing(name: &str) -> Error {
    Error::not_implemented(format!("{name} in a program that was built without it"))
}

#[cfg(not(feature = "mysql"))]
absent!(MySql, "MySQL", 3306, crate::conflict::Conflict);
#[cfg(not(feature = "postgresql"))]
absent!(PostgreSql, "PostgreSQL", 5432, String);
