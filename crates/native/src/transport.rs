//! A connection's bytes, with TLS or without, and how it is opened.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use socket2::{Domain, Socket, Type};
use squall_types::{Error, ErrorCode, Result};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Where Debian and most others keep the authorities that the machine trusts.
const SYSTEM_AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// From this many bytes on what is sent first may take several packets, the last of which must not wait for the answer to the others.
const PACKET_BYTES: usize = 1024;

/// How a server's certificate is judged. Sessions are resumed: connections of one `Tls` share their tickets.
#[derive(Debug, Clone)]
pub struct Tls {
    config: Arc<ClientConfig>,
    server: ServerName<'static>,
}

impl Tls {
    /// For a server of this name. With `authorities`, a file of PEM certificates, or the machine's own without one, its certificate must
    /// be good; with `accept_any` whatever it shows will do.
    ///
    /// # Errors
    /// `BAD_ARGUMENTS` where the name is none or the file cannot be used.
    pub fn new(server: &str, authorities: Option<&Path>, accept_any: bool) -> Result<Self> {
        let bad = |what: String| Error::new(ErrorCode::BAD_ARGUMENTS, what);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| bad(error.to_string()))?;
        let config = if accept_any {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAny(provider))).with_no_client_auth()
        } else {
            let path = authorities.unwrap_or(Path::new(SYSTEM_AUTHORITIES));
            let mut roots = rustls::RootCertStore::empty();
            let certificates = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let certificates = certificates.map_err(|error| bad(format!("{}: {error}", path.display())))?;
            roots.add_parsable_certificates(certificates);
            if roots.is_empty() {
                return Err(bad(format!("{} holds no certificate", path.display())));
            }
            builder.with_root_certificates(roots).with_no_client_auth()
        };
        let server = ServerName::try_from(server.to_owned()).map_err(|error| bad(format!("{server}: {error}")))?;
        Ok(Tls { config: Arc::new(config), server })
    }
}

/// Takes any certificate, but not a handshake that its key did not sign.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// An open connection.
#[derive(Debug)]
pub enum Transport {
    /// Bytes as they are.
    Plain(TcpStream),
    /// Bytes under TLS.
    Tls(Box<TlsStream<OneByOne>>),
}

impl Transport {
    /// Connects, small packets sent at once, and shakes hands where there is `tls`.
    ///
    /// # Errors
    /// What the network or TLS says.
    pub async fn connect(address: SocketAddr, tls: Option<&Tls>) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        match tls {
            None => Ok(Self::Plain(stream)),
            Some(tls) => Self::under(tls, stream).await,
        }
    }

    /// Shakes hands over a connection that is there.
    ///
    /// # Errors
    /// What the network or TLS says.
    pub async fn under(tls: &Tls, stream: TcpStream) -> io::Result<Self> {
        let connector = TlsConnector::from(tls.config.clone());
        Ok(Self::Tls(Box::new(connector.connect(tls.server.clone(), OneByOne(stream)).await?)))
    }

    /// Connects without TLS for one request, and sends its beginning at once, without a word from the system that the connection is there: on the
    /// same machine and with it mostly is, and where it is not this waits. So a connection costs four calls of the system and a packet less. Returns how
    /// many bytes were sent.
    ///
    /// # Errors
    /// What the network says of the connection. What it says of the bytes is left to the next write.
    pub async fn connect_and_send(address: SocketAddr, bytes: &[u8]) -> io::Result<(Self, usize)> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), None)?;
        // The connection is acknowledged with its first bytes.
        socket.set_tcp_quickack(false)?;
        match socket.connect(&address.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        let mut stream = std::net::TcpStream::from(socket);
        if bytes.len() > PACKET_BYTES {
            stream.set_nodelay(true)?;
        }
        let sent = match stream.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            sent => Some(sent?),
        };
        let stream = TcpStream::from_std(stream)?;
        if sent.is_none() {
            stream.writable().await?;
            if let Some(error) = stream.take_error()? {
                return Err(error);
            }
        }
        Ok((Self::Plain(stream), sent.unwrap_or(0)))
    }

    /// Whether the server has closed it, or sent what nobody asked for, since it was last read.
    pub fn is_stale(&self) -> bool {
        let stream = match self {
            Self::Plain(stream) => stream,
            Self::Tls(stream) => &stream.get_ref().0.0,
        };
        let mut byte = [0];
        !matches!(stream.try_read(&mut byte), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

/// A connection that sends its slices one by one: what TLS sends is mostly one, and `writev` costs the system more than `send`.
#[derive(Debug)]
pub struct OneByOne(TcpStream);

impl AsyncRead for OneByOne {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for OneByOne {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

impl AsyncRead for Transport {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn what_is_sent_with_a_connection_arrives_once() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        // The second is more than the system takes at once.
        for bytes in [vec![1; 100], vec![2; 32 << 20]] {
            let (mut transport, sent) = Transport::connect_and_send(address, &bytes).await.unwrap();
            let (mut accepted, _) = listener.accept().await.unwrap();
            let rest = bytes[sent..].to_vec();
            let writing = tokio::spawn(async move {
                transport.write_all(&rest).await.unwrap();
            });
            let mut received = Vec::new();
            accepted.read_to_end(&mut received).await.unwrap();
            writing.await.unwrap();
            assert!(received == bytes, "{} of {} bytes", received.len(), bytes.len());
        }
        drop(listener);
        let refused = Transport::connect_and_send(address, b"x").await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
