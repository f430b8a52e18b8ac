//! One HTTP connection from its first byte to its last.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::body::{BodyProgress, Chunked};
use super::deadline::Deadline;
use super::encode::{ResponseFrame, encode};
use super::head::{BodyFraming, RequestHead, parse};
use super::late;
use crate::delivery::{ClientGone, Delivery, Origin, PendingReply};
use crate::engine::Engine;
use crate::service::{Answer, Request, Service};
use crate::wire::Limits;
use crate::wire::activity::{ConnectionActivity, TrackedConnection};
use crate::wire::close::{ConnectionEnd, FirstByte, run_while_watching, sends_first_byte};
use crate::wire::deliver::deliver;
use crate::wire::open::ConnectionRecord;

/// Larger buffers are freed after each answer.
const LARGEST_KEPT_BUFFER: usize = 64 * 1024;

/// What came in next.
pub(super) enum NextInput {
    Request {
        request: Request,
        keep_alive: bool,
    },
    /// Input that is not a valid request; with the status of the refusal.
    Bad(u16),
    Ended(ConnectionEnd),
}

pub(super) struct Connection<'a> {
    pub(super) stream: TcpStream,
    buffer: Vec<u8>,
    /// The body of the answer and the answer as a whole, kept for the next one.
    body: Vec<u8>,
    out: Vec<u8>,
    limits: &'a Limits,
    deadline: Deadline,
    /// Whether a body is being read: its head is not in the buffer any more.
    pub(super) in_body: bool,
}

/// The error page of nginx, which is in front of many services. `title` is the status and its words.
pub(super) fn nginx_page(status: u16, title: &str) -> Answer {
    let body = format!(
        "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n\
         <hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    );
    Answer::text(status, "text/html", body).with_header("Server", "nginx")
}

/// Serves the connection until either side ends it, or the trial ends.
pub(in crate::wire) async fn serve<S: Service>(
    stream: TcpStream,
    engine: Arc<Engine<S>>,
    origin: Origin,
    limits: Limits,
    mut shed: watch::Receiver<u64>,
    mut tracked: TrackedConnection,
) {
    // Answers are small and awaited: holding them back for more would only delay them.
    let _ = stream.set_nodelay(true);
    let has_input = tokio::select! {
        biased;
        first = sends_first_byte(&stream, &mut shed, limits.idle_time) => Some(first == FirstByte::Sent),
        () = tracked.is_late() => None,
    };
    drop(shed);
    match has_input {
        // Boxed, so that a connection without input takes little memory.
        Some(true) => Box::pin(serve_requests(stream, engine, origin, limits, tracked)).await,
        Some(false) => {}
        None => {
            tracked.cut_off();
            Box::pin(late::serve(stream, engine, origin)).await;
        }
    }
}

async fn serve_requests<S: Service>(
    stream: TcpStream,
    engine: Arc<Engine<S>>,
    origin: Origin,
    limits: Limits,
    mut tracked: TrackedConnection,
) {
    let mut connection = Connection::new(stream, &limits);
    let mut open = ConnectionRecord::new(Arc::clone(&engine), origin);
    let late = tracked.is_late();
    let end = tokio::select! {
        biased;
        end = answer_requests(&mut connection, &mut open, origin, &mut tracked) => Some(end),
        () = late => None,
    };
    let Some(end) = end else {
        drop(open);
        if tracked.cut_off() != ConnectionActivity::Answering {
            late::close_idle(connection, engine, origin).await;
        }
        return;
    };
    tracked.set_activity(ConnectionActivity::Idle);
    open.ends(end);
    tokio::select! {
        () = end.carry_out(&mut connection.stream) => {}
        () = tracked.is_late() => {}
    }
}

async fn answer_requests<S: Service>(
    connection: &mut Connection<'_>,
    open: &mut ConnectionRecord<S>,
    origin: Origin,
    tracked: &mut TrackedConnection,
) -> ConnectionEnd {
    loop {
        tracked.set_activity(ConnectionActivity::Idle);
        match connection.next(open.engine().service().key_header(), Some(tracked)).await {
            NextInput::Ended(end) => return end,
            NextInput::Bad(status) => {
                open.request_came();
                tracked.set_activity(ConnectionActivity::Answering);
                return connection.refuse(open.engine(), origin, status).await;
            }
            NextInput::Request { request, keep_alive } => {
                open.request_came();
                tracked.set_activity(ConnectionActivity::Answering);
                if let Some(end) = connection.answer(open.engine(), origin, request, keep_alive).await {
                    return end;
                }
            }
        }
    }
}

impl<'a> Connection<'a> {
    pub(super) fn new(stream: TcpStream, limits: &'a Limits) -> Self {
        let deadline = Deadline::new(limits.idle_time);
        Connection {
            stream,
            buffer: Vec::new(),
            body: Vec::new(),
            out: Vec::new(),
            limits,
            deadline,
            in_body: false,
        }
    }
}

impl Connection<'_> {
    /// Reads the next request completely.
    pub(super) async fn next(
        &mut self,
        key_header: &str,
        mut tracked: Option<&mut TrackedConnection>,
    ) -> NextInput {
        self.deadline.begin(self.limits.idle_time);
        let mut begun = false;
        let head = loop {
            if !self.buffer.is_empty() {
                if let Some(tracked) = &mut tracked {
                    tracked.set_activity(ConnectionActivity::Reading);
                }
                match parse(&self.buffer, self.limits.head, key_header) {
                    Ok(Some(head)) => break head,
                    Ok(None) if begun => {}
                    Ok(None) => {
                        begun = true;
                        self.deadline.begin(self.limits.head_time);
                    }
                    Err(status) => return NextInput::Bad(status),
                }
            }
            let was_empty = self.buffer.is_empty();
            match self.read_line().await {
                Ok(0) | Err(None) => return NextInput::Ended(ConnectionEnd::Left),
                Ok(_) => {}
                Err(Some(_)) if was_empty => return NextInput::Ended(ConnectionEnd::Silent),
                Err(Some(status)) => return NextInput::Bad(status),
            }
        };
        let keep_alive = head.keep_alive;
        self.in_body = true;
        let body = self.body(head).await;
        self.in_body = false;
        match body {
            Ok(request) => NextInput::Request { request, keep_alive },
            Err(None) => NextInput::Ended(ConnectionEnd::Left),
            Err(Some(status)) => NextInput::Bad(status),
        }
    }

    async fn body(&mut self, head: RequestHead) -> Result<Request, Option<u16>> {
        let RequestHead { request, length, framing, expects_continue, .. } = head;
        self.buffer.drain(..length);
        if framing == BodyFraming::Length(0) {
            return Ok(request);
        }
        if let BodyFraming::Length(length) = framing
            && length > self.limits.body as u64
        {
            return Err(Some(413));
        }
        if expects_continue && self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.is_err() {
            return Err(None);
        }
        match framing {
            BodyFraming::Length(length) => {
                // It is within the limit, so it fits.
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                if self.buffer.len() < length {
                    self.deadline.begin(self.limits.body_time);
                }
                while self.buffer.len() < length {
                    if self.read().await? == 0 {
                        return Err(None);
                    }
                }
                let body = self.buffer[..length].to_vec();
                self.buffer.drain(..length);
                Ok(request.body(body))
            }
            BodyFraming::Chunked => {
                self.deadline.begin(self.limits.body_time);
                let (mut decoder, mut body) = (Chunked::default(), Vec::new());
                loop {
                    match decoder.feed(&self.buffer, &mut body, self.limits.body).map_err(Some)? {
                        BodyProgress::Done(used) => {
                            self.buffer.drain(..used);
                            return Ok(request.body(body));
                        }
                        BodyProgress::More(used) => {
                            self.buffer.drain(..used);
                            if self.read().await? == 0 {
                                return Err(None);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Reads until the end of a line, because only then the head can be complete. The first bytes are
    /// returned at once, because they show input that is not HTTP and may have no line end.
    async fn read_line(&mut self) -> Result<usize, Option<u16>> {
        loop {
            let before = self.buffer.len();
            let length = self.read().await?;
            let ends_line = self.buffer[before..].contains(&b'\n');
            if before == 0 || length == 0 || ends_line || self.buffer.len() >= self.limits.head {
                return Ok(length);
            }
        }
    }

    /// Reads the next input; the error is 408 if the caller took too long, and `None` if it left.
    async fn read(&mut self) -> Result<usize, Option<u16>> {
        self.buffer.reserve(4096);
        tokio::select! {
            biased;
            read = self.stream.read_buf(&mut self.buffer) => read.map_err(|_| None),
            () = self.deadline.is_over() => Err(Some(408)),
        }
    }

    /// Answers a request; returns how the connection ends, if it does.
    async fn answer<S: Service>(
        &mut self,
        engine: &Arc<Engine<S>>,
        origin: Origin,
        request: Request,
        keep_alive: bool,
    ) -> Option<ConnectionEnd> {
        let head_only = request.method() == "HEAD";
        let gone = ClientGone::watched();
        let handled = engine.handle(request, origin, &gone);
        let (delivery, is_there) =
            run_while_watching(&mut self.stream, &mut self.buffer, &gone, handled).await;
        if !is_there {
            delivery.record_caller_left();
            return Some(ConnectionEnd::Left);
        }
        let frame = ResponseFrame { now: engine.clock().wall(), keep_alive, head_only };
        let end = self.send(&delivery.answer, frame, &delivery.how, delivery.pending.as_ref()).await;
        end.or((!keep_alive).then_some(ConnectionEnd::Finish))
    }

    /// Refuses input that is not a valid request, with the page of a server that is in front of such a
    /// service.
    async fn refuse<S: Service>(&mut self, engine: &Engine<S>, origin: Origin, status: u16) -> ConnectionEnd {
        // What a real service would do with a request that hapax cannot read is not known.
        let (title, unsupported) = match status {
            408 => ("408 Request Time-out", None),
            413 => ("413 Request Entity Too Large", Some("a body of this size")),
            431 => ("431 Request Header Fields Too Large", None),
            501 => ("501 Not Implemented", Some("a transfer encoding other than chunked")),
            505 => {
                ("505 HTTP Version Not Supported", Some("HTTP/2 without TLS, or another version than HTTP/1"))
            }
            _ => ("400 Bad Request", None),
        };
        let answer = nginx_page(status, title);
        engine.record_wire_refusal(origin, "", status, None, unsupported);
        let frame = ResponseFrame { now: engine.clock().wall(), keep_alive: false, head_only: false };
        let ends = if status == 408 { ConnectionEnd::TimedOut } else { ConnectionEnd::Finish };
        self.send(&answer, frame, &Delivery::default(), None).await.unwrap_or(ends)
    }

    pub(super) async fn send(
        &mut self,
        answer: &Answer,
        frame: ResponseFrame,
        how: &Delivery,
        pending: Option<&PendingReply<'_>>,
    ) -> Option<ConnectionEnd> {
        self.body.clear();
        answer.write_body(&mut self.body);
        how.reply.behavior().change_body(&mut self.body);
        let encoded = encode(answer, &self.body, frame, how, std::mem::take(&mut self.out));
        let end = deliver(&mut self.stream, &mut self.buffer, &encoded, how, pending).await;
        self.out = encoded.bytes;
        for kept in [&mut self.body, &mut self.out, &mut self.buffer] {
            kept.shrink_to(LARGEST_KEPT_BUFFER.max(kept.len()));
        }
        end
    }
}
