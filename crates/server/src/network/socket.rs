//! A client's socket, plain or under TLS. A match costs less than the monomorphised copy of every protocol that a type parameter would.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio_rustls::server::TlsStream;

use super::tcp_socket::TcpSocket;

/// Bytes that [`Socket::try_read`] takes at once.
const TRY_READ_BYTES: usize = 4096;

/// A client's socket.
#[derive(Debug)]
pub enum Socket {
    /// Bytes as they are.
    Plain(TcpSocket),
    /// Under TLS, its handshake done.
    Secure(Box<TlsStream<TcpSocket>>),
}

impl Socket {
    /// Whether it is under TLS.
    pub fn is_secure(&self) -> bool {
        matches!(self, Self::Secure(_))
    }

    /// The certificate that the client has shown, in DER.
    pub fn client_certificate(&self) -> Option<&[u8]> {
        match self {
            Self::Plain(_) => None,
            Self::Secure(stream) => {
                stream.get_ref().1.peer_certificates()?.first().map(|certificate| certificate.as_ref())
            }
        }
    }

    /// Says goodbye where the protocol wants it said: TLS tells its client that nothing was cut off. A plain socket is closed when it is
    /// dropped.
    ///
    /// # Errors
    /// Where the connection is broken.
    pub async fn shutdown_where_secure(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Secure(stream) => stream.shutdown().await,
        }
    }

    /// Writes the last bytes, without waiting, where they can leave with the end of the connection, once the socket is dropped. The number of
    /// bytes written; what is left is to be written as ever.
    ///
    /// # Errors
    /// Where the connection is broken.
    pub fn try_write_with_end(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.try_write_with_more(bytes),
            Self::Secure(_) => Ok(0),
        }
    }

    /// Tells the client that what it sent has come, where that was left to the answer.
    pub fn acknowledge(&self) {
        if let Self::Plain(socket) = self {
            socket.acknowledge();
        }
    }

    /// Appends what has come, without waiting: the number of bytes, 0 at the end of the stream, `None` where nothing has come.
    ///
    /// # Errors
    /// Where the connection is broken.
    pub fn try_read(&mut self, received: &mut Vec<u8>) -> io::Result<Option<usize>> {
        let mut bytes = [0; TRY_READ_BYTES];
        let mut buffer = ReadBuf::new(&mut bytes);
        // Nobody is to be woken: whoever waits for the socket asks it anew.
        match Pin::new(self).poll_read(&mut Context::from_waker(Waker::noop()), &mut buffer) {
            Poll::Ready(result) => {
                result?;
                received.extend_from_slice(buffer.filled());
                Ok(Some(buffer.filled().len()))
            }
            Poll::Pending => Ok(None),
        }
    }
}

/// Calls a method of the stream inside.
macro_rules! forward {
    ($socket:expr, $stream:ident => $call:expr) => {
        match $socket.get_mut() {
            Socket::Plain($stream) => {
                let $stream = Pin::new($stream);
                $call
            }
            Socket::Secure($stream) => {
                let $stream = Pin::new(&mut **$stream);
                $call
            }
        }
    };
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        forward!(self, stream => stream.poll_read(task, buffer))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        forward!(self, stream => stream.poll_write(task, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        forward!(self, stream => stream.poll_flush(task))
    }

    fn poll_shutdown(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        forward!(self, stream => stream.poll_shutdown(task))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        task: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        forward!(self, stream => stream.poll_write_vectored(task, slices))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Secure(stream) => stream.is_write_vectored(),
        }
    }
}
