//! A TCP connection that the runtime is told of only once something has to be waited for.
//!
//! A client that connects to ask one thing has mostly asked it when its connection is accepted, and goes with the answer: to register its socket
//! with epoll, be told that it is readable and take it out again would be a fifth of what its connection costs the server.

use std::io::{self, IoSlice, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use socket2::SockRef;
use squall_runtime::profile_events::GLOBAL;
use squall_runtime::{CurrentMetric, ProfileEvent};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::coop;

/// A TCP connection. Its socket does not block.
#[derive(Debug)]
pub struct TcpSocket {
    state: State,
    /// What its bytes count for.
    interface: Interface,
}

/// What a socket's bytes count for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interface {
    /// HTTP, with TLS or without.
    Http,
    /// The native protocol.
    Native,
}

impl Interface {
    /// The connections that there are.
    pub fn connections(self) -> CurrentMetric {
        match self {
            Self::Http => CurrentMetric::HTTPConnection,
            Self::Native => CurrentMetric::TCPConnection,
        }
    }

    fn received(self) -> ProfileEvent {
        match self {
            Self::Http => ProfileEvent::InterfaceHTTPReceiveBytes,
            Self::Native => ProfileEvent::InterfaceNativeReceiveBytes,
        }
    }

    fn sent(self) -> ProfileEvent {
        match self {
            Self::Http => ProfileEvent::InterfaceHTTPSendBytes,
            Self::Native => ProfileEvent::InterfaceNativeSendBytes,
        }
    }
}

#[derive(Debug)]
enum State {
    /// Nothing has had to be waited for.
    Unregistered(std::net::TcpStream),
    /// The runtime hears of the socket.
    Registered(TcpStream),
    /// The runtime could not take it; the socket is closed.
    Lost,
}

impl TcpSocket {
    /// Of a socket that does not block.
    pub fn new(stream: std::net::TcpStream, interface: Interface) -> Self {
        Self { state: State::Unregistered(stream), interface }
    }

    fn count_received(&self, bytes: usize, began: Instant) {
        GLOBAL.add(ProfileEvent::NetworkReceiveBytes, bytes as u64);
        GLOBAL.add(self.interface.received(), bytes as u64);
        GLOBAL.add(ProfileEvent::NetworkReceiveElapsedMicroseconds, began.elapsed().as_micros() as u64);
    }

    fn count_sent(&self, bytes: usize, began: Instant) {
        GLOBAL.add(ProfileEvent::NetworkSendBytes, bytes as u64);
        GLOBAL.add(self.interface.sent(), bytes as u64);
        GLOBAL.add(ProfileEvent::NetworkSendElapsedMicroseconds, began.elapsed().as_micros() as u64);
    }

    fn registered(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        if !matches!(self.state, State::Registered(_))
            && let State::Unregistered(stream) = std::mem::replace(&mut self.state, State::Lost)
        {
            self.state = State::Registered(TcpStream::from_std(stream)?);
        }
        match &mut self.state {
            State::Registered(stream) => Ok(Pin::new(stream)),
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Writes bytes that are to leave with those that are written next, or with the end of the connection. Does not wait: the number of
    /// bytes written may be 0.
    ///
    /// # Errors
    /// Where the connection is broken.
    pub fn try_write_with_more(&self, bytes: &[u8]) -> io::Result<usize> {
        let began = Instant::now();
        let written = match &self.state {
            State::Unregistered(stream) => SockRef::from(stream).send_with_flags(bytes, libc::MSG_MORE),
            State::Registered(stream) => {
                stream.try_io(Interest::WRITABLE, || SockRef::from(stream).send_with_flags(bytes, libc::MSG_MORE))
            }
            State::Lost => Err(io::ErrorKind::NotConnected.into()),
        };
        let written = match written {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
            written => written,
        }?;
        self.count_sent(written, began);
        Ok(written)
    }

    /// Acknowledges what has come, where that was left to the answer: see [`super::Port::acknowledge_with_answers`].
    pub fn acknowledge(&self) {
        // Where it fails the client waits a little longer, no more.
        let _ = match &self.state {
            State::Unregistered(stream) => SockRef::from(stream).set_tcp_quickack(true),
            State::Registered(stream) => SockRef::from(stream).set_tcp_quickack(true),
            State::Lost => Ok(()),
        };
    }
}

impl TcpSocket {
    /// Tries an operation where the socket is not registered: `None` where it is, or has to be because the operation must wait.
    fn try_unregistered<T>(
        &mut self,
        task: &mut Context<'_>,
        operation: impl FnOnce(&mut std::net::TcpStream) -> io::Result<T>,
    ) -> Option<Poll<io::Result<T>>> {
        let State::Unregistered(stream) = &mut self.state else { return None };
        // As registered sockets do, lest a client that never rests keeps a thread to itself.
        let Poll::Ready(turn) = coop::poll_proceed(task) else { return Some(Poll::Pending) };
        match operation(stream) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => None,
            done => {
                turn.made_progress();
                Some(Poll::Ready(done))
            }
        }
    }
}

impl AsyncRead for TcpSocket {
    fn poll_read(mut self: Pin<&mut Self>, task: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let (began, before) = (Instant::now(), buffer.filled().len());
        match self.try_unregistered(task, |stream| stream.read(buffer.initialize_unfilled())) {
            Some(read) => buffer.advance(ready!(read)?),
            None => ready!(self.registered()?.poll_read(task, buffer))?,
        }
        self.count_received(buffer.filled().len() - before, began);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for TcpSocket {
    fn poll_write(mut self: Pin<&mut Self>, task: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let began = Instant::now();
        let written = match self.try_unregistered(task, |stream| stream.write(bytes)) {
            Some(written) => written,
            None => self.registered()?.poll_write(task, bytes),
        };
        let written = ready!(written)?;
        self.count_sent(written, began);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // TCP holds nothing back.
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.try_unregistered(task, |stream| stream.shutdown(std::net::Shutdown::Write)) {
            Some(shut) => shut,
            None => self.registered()?.poll_shutdown(task),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // What TLS sends is mostly one slice, and `writev` costs the system more than `send`.
        if let [bytes] = slices {
            return self.poll_write(task, bytes);
        }
        let began = Instant::now();
        let written = match self.try_unregistered(task, |stream| stream.write_vectored(slices)) {
            Some(written) => written,
            None => self.registered()?.poll_write_vectored(task, slices),
        };
        let written = ready!(written)?;
        self.count_sent(written, began);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream as Blocking};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn pair() -> (Blocking, TcpSocket) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = Blocking::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        accepted.set_nonblocking(true).unwrap();
        (client, TcpSocket::new(accepted, Interface::Native))
    }

    #[tokio::test]
    async fn what_is_there_is_read_and_answered_without_registration() {
        let (mut client, mut socket) = pair();
        client.write_all(b"asked").unwrap();
        let mut bytes = [0; 16];
        assert_eq!(socket.read(&mut bytes).await.unwrap(), 5);
        assert_eq!(socket.try_write_with_more(b"answered").unwrap(), 8);
        assert!(matches!(socket.state, State::Unregistered(_)));
        drop(socket);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        assert_eq!(answer, b"answered");
    }

    #[tokio::test]
    async fn what_is_not_there_is_waited_for() {
        let (mut client, mut socket) = pair();
        let later = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            client.write_all(b"asked").unwrap();
            // More than the system holds: the writer waits.
            let mut answer = vec![0; 32 << 20];
            client.read_exact(&mut answer).unwrap();
            answer
        });
        let mut bytes = [0; 16];
        assert_eq!(socket.read(&mut bytes).await.unwrap(), 5);
        assert!(matches!(socket.state, State::Registered(_)));
        socket.write_all(&vec![7; 32 << 20]).await.unwrap();
        assert!(later.join().unwrap().iter().all(|byte| *byte == 7));
    }

    #[tokio::test]
    async fn a_reader_that_comes_late_makes_the_writer_wait() {
        let (mut client, mut socket) = pair();
        let reader = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(20));
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).unwrap();
            answer.len()
        });
        socket.write_all(&vec![7; 32 << 20]).await.unwrap();
        drop(socket);
        assert_eq!(reader.join().unwrap(), 32 << 20);
    }
}
