//! Requests with a body: whole, or as it is written.

use std::io::{self, Write};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::Method;
use hyper::Response;
use hyper::body::{Body, Frame, Incoming};
use squall_files::Upload;
use squall_types::{Error, Result};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::exchange::{Answer, OwnRuntime, Pieces, Single, connect, network_error, request, send};
use super::{HttpOptions, bad_url, uri};

/// Chunks that may wait to be sent.
const CHUNKS_MAX: usize = 4;

/// Sends a request with a body that is there.
pub(super) fn post(url: &str, body: Bytes, options: &HttpOptions) -> Result<Answer> {
    let runtime = OwnRuntime::new()?;
    let single = Single { method: Method::POST, url, headers: &[], body: Pieces::new([body]), options };
    let response = runtime.block_on(send(single))?;
    Ok(Answer::new(response, options.silence_max, runtime))
}

/// A body whose chunks come one by one.
struct Chunks(mpsc::Receiver<Bytes>);

impl Body for Chunks {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(task).map(|chunk| chunk.map(|chunk| Ok(Frame::data(chunk))))
    }
}

/// A body that is being sent. Dropped before its commit it breaks the connection off, so that the server knows that there was more.
struct HttpUpload {
    url: String,
    chunks: Option<mpsc::Sender<Bytes>>,
    answer: JoinHandle<Result<Response<Incoming>>>,
    options: HttpOptions,
    // Dropped last: what runs in it ends with it.
    runtime: OwnRuntime,
}

/// Begins a request whose body is written.
pub(super) fn begin(url: &str, options: &HttpOptions) -> Result<Box<dyn Upload>> {
    let runtime = OwnRuntime::new()?;
    let (chunks, body) = mpsc::channel(CHUNKS_MAX);
    let answer = runtime.block_on(async {
        let target = uri(url)?;
        let mut sender = connect(url, &target, options).await?;
        let request = request(&options.write_method, &target, options);
        let request = request.body(Chunks(body)).map_err(|error| bad_url(url, &error))?;
        let sending = sender.send_request(request);
        Ok(tokio::spawn(async move {
            let answer = sending.await.map_err(|error| network_error(&error));
            drop(sender);
            answer
        }))
    })?;
    let (url, options) = (url.to_owned(), options.clone());
    Ok(Box::new(HttpUpload { url, chunks: Some(chunks), answer, options, runtime }))
}

impl Write for HttpUpload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(chunks) = &self.chunks else { return Err(io::Error::other("the upload is over")) };
        let silence_max = self.options.silence_max;
        let sent = self.runtime.block_on(async {
            let sending = tokio::time::timeout(silence_max, chunks.send(Bytes::copy_from_slice(bytes)));
            match sending.await {
                Ok(sent) => Ok(sent.is_ok()),
                Err(_) => Err(network_error(&format!("nothing was taken for {} s", silence_max.as_secs_f64()))),
            }
        });
        match sent.map_err(io::Error::other)? {
            true => Ok(bytes.len()),
            // The server has answered before it had everything, or has gone: the commit tells.
            false => Err(io::Error::other(self.refusal())),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl HttpUpload {
    /// What the server said that takes no more.
    fn refusal(&mut self) -> Error {
        self.chunks = None;
        let answer = &mut self.answer;
        let answered = self.runtime.block_on(async { answer.await.map_err(|error| network_error(&error))? });
        let refused = || Error::logical("an upload that ended too early");
        match (answered, OwnRuntime::new()) {
            (Ok(response), Ok(other)) => {
                let runtime = std::mem::replace(&mut self.runtime, other);
                let answer = Answer::new(response, self.options.silence_max, runtime);
                answer.accepted(&self.url).err().unwrap_or_else(refused)
            }
            (Err(error), _) | (_, Err(error)) => error,
        }
    }
}

impl Upload for HttpUpload {
    fn commit(mut self: Box<Self>) -> Result<()> {
        // The end of the body.
        self.chunks = None;
        let Self { url, answer, options, runtime, .. } = *self;
        let response = runtime.block_on(async {
            let answer = tokio::time::timeout(options.silence_max, answer).await;
            let silent = |_| network_error(&format!("no answer in {} s", options.silence_max.as_secs_f64()));
            answer.map_err(silent)?.map_err(|error| network_error(&error))?
        })?;
        Answer::new(response, options.silence_max, runtime).accepted(&url).map(drop)
    }
}
