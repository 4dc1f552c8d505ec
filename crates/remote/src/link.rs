//! The connection to another server: who is asked and as whom, and the thread of the pool that waits for it.

use std::time::Duration;

use squall_native::{Connection, Options, Tls};
use squall_types::{Error, ErrorCode, Result};

use crate::address::Address;
use crate::reach::Reach;

/// How long each replica is tried.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a server that computes may say nothing: it sends its progress ten times a second.
const SILENCE_MAX: Duration = Duration::from_secs(300);

/// A server, and as whom it is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Where it listens.
    pub address: Address,
    /// Which of the addresses that its name stands for may be asked.
    pub reach: Reach,
    /// The user there.
    pub user: String,
    /// The user's password.
    pub password: String,
    /// The database of tables without one.
    pub database: String,
    /// Whether to speak under TLS.
    pub is_secure: bool,
}

/// The servers that hold a table's rows.
#[derive(Clone, Debug)]
pub struct Peers {
    /// The replicas of each shard.
    pub shards: Vec<Vec<Peer>>,
}

impl Peers {
    /// Connects to the first replica of a shard that answers.
    ///
    /// # Errors
    /// `UNACCEPTABLE_URL` where no address may be asked; the server's exception where it refuses the user; `ALL_CONNECTION_TRIES_FAILED`.
    pub(crate) async fn connect(&self, shard: usize) -> Result<Connection> {
        let mut failures = Vec::new();
        for peer in self.shards.get(shard).into_iter().flatten() {
            match tokio::time::timeout(CONNECT_TIMEOUT, peer.connect()).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(error)) if matches!(error.code, ErrorCode::NETWORK_ERROR | ErrorCode::DNS_ERROR) => {
                    failures.push(error.message.to_string());
                }
                Ok(Err(error)) => return Err(error),
                Err(_) => failures.push(format!("No answer from {} in {CONNECT_TIMEOUT:?}", peer.address)),
            }
        }
        let message = format!("All connection tries failed. {}", failures.join("; "));
        Err(Error::new(ErrorCode::ALL_CONNECTION_TRIES_FAILED, message))
    }

    /// The addresses, for errors and logs.
    pub(crate) fn names(&self) -> String {
        let shard =
            |replicas: &Vec<Peer>| replicas.iter().map(|peer| peer.address.to_string()).collect::<Vec<_>>().join("|");
        self.shards.iter().map(shard).collect::<Vec<_>>().join(",")
    }
}

impl Peer {
    async fn connect(&self) -> Result<Connection> {
        let address = &self.address;
        let found = address.resolve(self.reach).await?;
        let tls = if self.is_secure { Some(Tls::new(&address.host, None, false)?) } else { None };
        let options = Options {
            host: address.host.clone(),
            user: self.user.clone(),
            password: self.password.clone(),
            database: self.database.clone(),
            connect_timeout: CONNECT_TIMEOUT,
            tls,
            client_name: "server",
            ..Options::local(address.port)
        };
        let mut failure = None;
        for address in found {
            match Connection::connect_to(address, &options).await {
                Ok(connection) => return Ok(connection),
                Err(other) => failure = Some(other.error),
            }
        }
        Err(failure.unwrap_or_else(|| Error::logical("a host without addresses")))
    }
}

/// What a server sends next, unless it is silent for too long.
pub(crate) async fn in_time<T>(answer: impl Future<Output = T>) -> Result<T> {
    tokio::time::timeout(SILENCE_MAX, answer).await.map_err(|_| {
        let message = format!("The other server is silent for {} s", SILENCE_MAX.as_secs());
        Error::new(ErrorCode::SOCKET_TIMEOUT, message)
    })
}

/// Waits on the calling thread, which must be one that may.
///
/// # Errors
/// Those of the work.
pub fn wait_for<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::new(ErrorCode::CANNOT_SCHEDULE_TASK, error.to_string()))?;
    runtime.block_on(work)
}
