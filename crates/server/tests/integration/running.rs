//! A server in this process, which serves one port.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use squall_server::Server;
use squall_server::config::{Config, ConfigSource};
use squall_server::network::Port;
use tokio::runtime::{Builder, Runtime};

/// The server, and what runs it.
pub struct Running {
    pub address: SocketAddr,
    pub server: Arc<Server>,
    pub runtime: Runtime,
}

impl Running {
    /// Starts a server with a free port that `serve` serves.
    pub fn start<S>(source: ConfigSource, serve: impl FnOnce(Arc<Server>, Port) -> S) -> Self
    where
        S: Future + Send + 'static,
        S::Output: Send + 'static,
    {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let server = Server::start(Config::load(&source).unwrap(), source).unwrap();
        let entered = runtime.enter();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(serve(server.clone(), listener.try_into().unwrap()));
        drop(entered);
        Self { address, server, runtime }
    }

    /// Starts one that serves HTTP.
    pub fn http(source: ConfigSource) -> Self {
        use squall_server::http::{Pages, serve};
        Self::start(source, |server, port| serve(server, port, connections(), Pages::All))
    }
}

/// How many connections there may be.
pub fn connections() -> Arc<tokio::sync::Semaphore> {
    Arc::new(tokio::sync::Semaphore::new(100))
}
