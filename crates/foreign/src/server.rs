//! A server that is asked: where it listens, which of its addresses may be asked, and as whom.

use std::net::SocketAddr;
use std::time::Duration;

use squall_remote::{Address, Reach};
use squall_types::calendar::TimeZone;
use squall_types::{Error, ErrorCode, Result};

/// A server, and as whom it is asked.
#[derive(Clone, Debug)]
pub struct ForeignServer {
    /// Where it listens; the first that answers is asked.
    pub replicas: Vec<(Address, Reach)>,
    /// The user there.
    pub user: String,
    /// The user's password.
    pub password: String,
    /// The database.
    pub database: String,
    /// How long each address is tried.
    pub connect_max: Duration,
    /// The time zone of times that name none.
    pub zone: TimeZone,
}

impl ForeignServer {
    /// Connects to the first replica that answers, and tells where that is.
    ///
    /// # Errors
    /// `UNACCEPTABLE_URL` where no address may be asked; `failed` where none of them answers, with what each of them said.
    pub(crate) async fn connect<C>(
        &self,
        failed: ErrorCode,
        open: impl AsyncFn(SocketAddr, &Address) -> Result<C>,
    ) -> Result<C> {
        let mut failures = Vec::new();
        for (address, reach) in &self.replicas {
            let found = match address.resolve(*reach).await {
                Ok(found) => found,
                Err(error) if error.code == ErrorCode::DNS_ERROR => {
                    failures.push(error.message.to_string());
                    continue;
                }
                Err(error) => return Err(error),
            };
            for place in found {
                match tokio::time::timeout(self.connect_max, open(place, address)).await {
                    Ok(Ok(connection)) => return Ok(connection),
                    Ok(Err(error)) => failures.push(format!("{address}: {}", error.message)),
                    Err(_) => failures.push(format!("{address}: no answer in {:?}", self.connect_max)),
                }
            }
        }
        Err(Error::new(failed, format!("Connection failed. {}", failures.join("; "))))
    }

    /// The addresses, for errors.
    pub(crate) fn names(&self) -> String {
        self.replicas.iter().map(|(address, _)| address.to_string()).collect::<Vec<_>>().join("|")
    }
}
