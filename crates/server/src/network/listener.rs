//! Accepting connections: as many as there is room for, each with TLS where its port has it. Whom there is no room for is told so.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use squall_runtime::ProfileEvent;
use squall_runtime::profile_events::GLOBAL;
use squall_types::{Error, ErrorCode};
use tokio::io::AsyncWriteExt;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use super::linger::Linger;
use super::port::Port;
use super::socket::Socket;
use super::tcp_socket::{Interface, TcpSocket};
use crate::server::Server;

/// How long to wait before accepting again when the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Refused clients that are seen off at once; any more are cut off without a word.
const FAREWELLS_MAX: usize = 256;

/// Accepts connections until the server stops, and gives each to `serve`. Clients beyond the permits of `connections` get `refusal`
/// and are seen off.
pub async fn accept<Serving>(
    server: Arc<Server>,
    port: Port,
    connections: Arc<Semaphore>,
    interface: Interface,
    refusal: impl Fn(&Error) -> Vec<u8>,
    serve: impl Fn(Socket, SocketAddr) -> Serving + Clone + Send + 'static,
) where
    Serving: Future<Output = ()> + Send + 'static,
{
    let no_query: Arc<str> = "".into();
    let farewells = Arc::new(Semaphore::new(FAREWELLS_MAX));
    let mut options = Options::default();
    let metric = interface.connections();
    loop {
        options.update(&server, &port);
        let accepted = tokio::select! {
            accepted = port.accept(interface) => accepted,
            () = server.stopping() => return,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(target: "Application", "Cannot accept a connection: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Ok(permit) = connections.clone().try_acquire_owned() else {
            let error = too_many_connections(&server);
            tracing::warn!(target: "Application", "{} (from {address})", error.message);
            server.errors.add(&error, &no_query);
            // Under TLS there is nothing to say before a handshake, which would cost more than a served request.
            if !port.is_secure
                && let Ok(permit) = farewells.clone().try_acquire_owned()
            {
                let refusal = refusal(&error);
                tokio::spawn(async move {
                    let _permit = permit;
                    see_off(stream, &refusal).await;
                });
            }
            continue;
        };
        if interface == Interface::Http {
            GLOBAL.add(ProfileEvent::HTTPServerConnectionsCreated, 1);
        }
        if !port.is_secure {
            // In a box: the task is moved several times before it runs, and what serves a connection is some ten thousand bytes.
            let serving = Box::pin(serve(Socket::Plain(stream), address));
            tokio::spawn(async move {
                let _permit = permit;
                let _metric = metric.hold(1);
                serving.await;
            });
            continue;
        }
        let (server, serve) = (server.clone(), serve.clone());
        tokio::spawn(async move {
            let _permit = permit;
            let _metric = metric.hold(1);
            if let Some(socket) = shake_hands(&server, stream, address).await {
                Box::pin(serve(socket, address)).await;
            }
        });
    }
}

/// Puts a connection under TLS; `None` where client and server do not agree in time.
async fn shake_hands(server: &Server, stream: TcpSocket, address: SocketAddr) -> Option<Socket> {
    let config = server.tls.load_full()?;
    let timeout = Duration::from_millis(server.config.load().server.handshake_timeout_milliseconds);
    match tokio::time::timeout(timeout, TlsAcceptor::from(config).accept(stream)).await {
        Ok(Ok(stream)) => Some(Socket::Secure(Box::new(stream))),
        Ok(Err(error)) => {
            tracing::debug!(target: "TLSHandshake", "No TLS with {address}: {error}");
            None
        }
        Err(_) => {
            tracing::debug!(target: "TLSHandshake", "No TLS with {address}: no handshake in {} ms", timeout.as_millis());
            None
        }
    }
}

/// What is the same for all sockets. On Linux the accepted ones have what the listening one has: three system calls fewer a connection.
#[derive(Default)]
struct Options {
    /// `tcp_keep_alive_timeout` as it was set; none before the first time.
    idle: Option<Duration>,
}

impl Options {
    /// Sets what has changed: small packets go out at once, and peers that vanished are noticed. Who waits to be accepted already keeps
    /// what was.
    fn update(&mut self, server: &Server, port: &Port) {
        let idle = server.access.load().default_settings().tcp_keep_alive_timeout;
        if self.idle.replace(idle) == Some(idle) {
            return;
        }
        if let Err(error) = set_options(&SockRef::from(&port.listener), idle) {
            tracing::warn!(target: "Application", "Cannot set the options of a listening socket: {error}");
        }
    }
}

fn set_options(listener: &SockRef<'_>, idle: Duration) -> std::io::Result<()> {
    listener.set_tcp_nodelay(true)?;
    listener.set_keepalive(!idle.is_zero())?;
    if !idle.is_zero() {
        listener.set_tcp_keepalive(&TcpKeepalive::new().with_time(idle))?;
    }
    Ok(())
}

fn too_many_connections(server: &Server) -> Error {
    let max_connections = server.config.load().server.max_connections;
    Error::new(
        ErrorCode::NO_FREE_CONNECTION,
        format!("Too many connections. Maximum: {max_connections} (max_connections)"),
    )
}

/// Tells a client why it is not served.
async fn see_off(mut stream: TcpSocket, refusal: &[u8]) {
    if stream.write_all(refusal).await.is_ok() {
        let mut linger = Linger::default();
        let _ = std::future::poll_fn(|task| linger.poll(&mut stream, task)).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn accepted_sockets_have_the_options_of_the_listening_one() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        for idle in [Duration::from_secs(123), Duration::ZERO] {
            set_options(&SockRef::from(&listener), idle).unwrap();
            let _client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
            let (accepted, _) = listener.accept().await.unwrap();
            let accepted = SockRef::from(&accepted);
            assert!(accepted.tcp_nodelay().unwrap());
            assert_eq!(accepted.keepalive().unwrap(), !idle.is_zero());
            if !idle.is_zero() {
                assert_eq!(accepted.tcp_keepalive_time().unwrap(), idle);
            }
        }
    }
}
