//! One SMTP connection from the greeting to the end, with the same faults as HTTP on the answer to a message.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use super::{Session, SmtpOptions, SmtpStep, encode, handshake};
use crate::delivery::{ClientGone, Origin};
use crate::engine::Engine;
use crate::service::{Envelope, Request, Service};
use crate::wire::Limits;
use crate::wire::activity::{ConnectionActivity, TrackedConnection};
use crate::wire::close::{ConnectionEnd, FirstByte, WireStream, run_while_watching, sends_first_byte};
use crate::wire::deliver::{Encoded, Filler, deliver};
use crate::wire::open::ConnectionRecord;

/// How a part of the session ends.
enum SessionEnd {
    Ends(ConnectionEnd),
    /// The client wants to continue over TLS.
    StartTls,
}

/// How a connection is secured.
pub(in crate::wire) enum Security {
    /// When the client asks for it, if that is possible.
    StartTls(Option<TlsAcceptor>),
    /// From the first byte.
    Implicit(TlsAcceptor),
}

struct SmtpConnection<S: Service> {
    session: Session,
    open: ConnectionRecord<S>,
    /// The maximum time without input, and of a line or a message.
    deadline: Duration,
    tracked: TrackedConnection,
}

/// Serves the connection until either side ends it.
pub(in crate::wire) async fn serve<S: Service>(
    mut stream: TcpStream,
    engine: Arc<Engine<S>>,
    origin: Origin,
    security: Security,
    limits: Limits,
    mut shed: watch::Receiver<u64>,
    tracked: TrackedConnection,
) {
    let _ = stream.set_nodelay(true);
    let options = SmtpOptions {
        hostname: "localhost".to_owned(),
        size_limit: limits.body,
        require_auth: engine.requires_generated_key(),
        starttls: matches!(security, Security::StartTls(Some(_))),
    };
    let session = Session::new(options);
    let first_byte = async {
        // Over TLS the client sends first, and is greeted after the handshake.
        let greeted =
            matches!(security, Security::Implicit(_)) || stream.write_all(&session.greeting()).await.is_ok();
        if greeted { sends_first_byte(&stream, &mut shed, limits.idle_time).await } else { FirstByte::Gone }
    };
    let first_byte = tokio::select! {
        biased;
        first_byte = first_byte => first_byte,
        () = tracked.is_late() => FirstByte::Sent,
    };
    if first_byte == FirstByte::TimedOut && matches!(security, Security::StartTls(_)) {
        let _ = stream.write_all(&session.timed_out()).await;
        ConnectionEnd::TimedOut.carry_out(&mut stream).await;
    }
    if first_byte == FirstByte::Sent {
        drop(shed);
        let connection = SmtpConnection {
            session,
            open: ConnectionRecord::new(engine, origin),
            deadline: limits.idle_time,
            tracked,
        };
        // Boxed, so that a connection without input takes little memory.
        Box::pin(until_late(stream, connection, security, limits)).await;
    }
}

/// Runs until the connection or the trial ends. A client that wants to send more has to connect again, and is
/// recorded then.
async fn until_late<S: Service>(
    stream: TcpStream,
    mut connection: SmtpConnection<S>,
    security: Security,
    limits: Limits,
) {
    let late = connection.tracked.is_late();
    let is_cut = tokio::select! {
        biased;
        () = run_with_tls(stream, &mut connection, security, limits) => false,
        () = late => true,
    };
    let SmtpConnection { open, mut tracked, .. } = connection;
    drop(open);
    if is_cut {
        tracked.cut_off();
    }
}

async fn run_with_tls<S: Service>(
    mut stream: TcpStream,
    connection: &mut SmtpConnection<S>,
    security: Security,
    limits: Limits,
) {
    let (acceptor, is_implicit) = match security {
        Security::Implicit(acceptor) => (acceptor, true),
        Security::StartTls(acceptor) => match (connection.run(&mut stream).await, acceptor) {
            (SessionEnd::StartTls, Some(acceptor)) => (acceptor, false),
            _ => return,
        },
    };
    let verb = if is_implicit { "TLS" } else { "STARTTLS" };
    match tokio::time::timeout(limits.head_time, acceptor.accept(stream)).await {
        Ok(Ok(mut secured)) => {
            connection.session.tls_started();
            let greeting = if is_implicit { connection.session.greeting() } else { Vec::new() };
            if secured.write_all(&greeting).await.is_ok() && secured.flush().await.is_ok() {
                connection.run(&mut secured).await;
            } else {
                connection.record_refusal(verb, 0, handshake::LEFT);
                connection.open.ends(ConnectionEnd::Left);
            }
        }
        Ok(Err(error)) => {
            connection.record_refusal(verb, 0, &handshake::why(&error));
            connection.open.ends(ConnectionEnd::Left);
        }
        Err(_) => {
            connection.record_refusal(verb, 0, handshake::TOOK_TOO_LONG);
            connection.open.ends(ConnectionEnd::Silent);
        }
    }
}

impl<S: Service> SmtpConnection<S> {
    /// Records that the client was refused, or left, before it could send a message.
    fn record_refusal(&self, verb: &str, code: u16, reason: &str) {
        self.open.engine().record_wire_refusal(self.open.origin, verb, code, Some(reason), None);
    }

    /// Runs the session until the connection ends or continues over TLS.
    async fn run<L: WireStream>(&mut self, stream: &mut L) -> SessionEnd {
        let then = self.run_session(stream).await;
        if let SessionEnd::Ends(end) = then {
            self.tracked.set_activity(ConnectionActivity::Idle);
            self.open.ends(end);
            end.carry_out(stream).await;
        }
        then
    }

    async fn run_session<L: WireStream>(&mut self, stream: &mut L) -> SessionEnd {
        let mut buffer = Vec::with_capacity(4096);
        let mut steps = Vec::new();
        // A line or a message that comes byte by byte has the same time as one that does not come.
        let mut deadline = Instant::now() + self.deadline;
        let mut is_first = true;
        loop {
            match tokio::time::timeout_at(deadline, stream.read_buf(&mut buffer)).await {
                Ok(Ok(0) | Err(_)) if is_first && self.session.is_secure() => {
                    self.record_refusal("TLS", 0, handshake::LEFT);
                    return SessionEnd::Ends(ConnectionEnd::Left);
                }
                Ok(Ok(0) | Err(_)) => return SessionEnd::Ends(ConnectionEnd::Left),
                Err(_) => {
                    let is_sent = stream.write_all(&self.session.timed_out()).await.is_ok();
                    return SessionEnd::Ends(if is_sent {
                        ConnectionEnd::TimedOut
                    } else {
                        ConnectionEnd::Silent
                    });
                }
                Ok(Ok(_)) => {}
            }
            if std::mem::take(&mut is_first)
                && !self.session.is_secure()
                && handshake::is_client_hello(&buffer)
            {
                self.record_refusal("TLS", 0, handshake::TLS_ON_THE_PLAIN_PORT);
                return SessionEnd::Ends(ConnectionEnd::Finish);
            }
            self.session.feed(&buffer, &mut steps);
            buffer.clear();
            let mut due: VecDeque<SmtpStep> = steps.drain(..).collect();
            let proceeds = !due.is_empty();
            while let Some(step) = due.pop_front() {
                if let Some(then) = self.step(stream, &mut buffer, step, &mut steps).await {
                    return then;
                }
                self.session.feed(&buffer, &mut steps);
                buffer.clear();
                due.extend(steps.drain(..));
            }
            self.tracked.set_activity(if proceeds {
                ConnectionActivity::Idle
            } else {
                ConnectionActivity::Reading
            });
            if proceeds {
                deadline = Instant::now() + self.deadline;
            }
        }
    }

    /// Performs one step; returns how the session ends, if it does.
    async fn step<L: WireStream>(
        &mut self,
        stream: &mut L,
        buffer: &mut Vec<u8>,
        step: SmtpStep,
        next: &mut Vec<SmtpStep>,
    ) -> Option<SessionEnd> {
        match step {
            SmtpStep::Send(bytes) => {
                let is_sent = stream.write_all(&bytes).await.is_ok() && stream.flush().await.is_ok();
                (!is_sent).then_some(SessionEnd::Ends(ConnectionEnd::Left))
            }
            SmtpStep::Authenticate { secret, .. } => {
                let valid = self.open.engine().admits(Some(&secret));
                self.session.authenticated(valid, next);
                None
            }
            SmtpStep::Refused { verb, code, text } => {
                self.record_refusal(verb, code, text);
                None
            }
            SmtpStep::StartTls => Some(SessionEnd::StartTls),
            SmtpStep::Close => Some(SessionEnd::Ends(ConnectionEnd::Finish)),
            SmtpStep::Message { envelope, message } => {
                self.message(stream, buffer, envelope, message, next).await
            }
        }
    }

    async fn message<L: WireStream>(
        &mut self,
        stream: &mut L,
        buffer: &mut Vec<u8>,
        envelope: Envelope,
        message: Vec<u8>,
        next: &mut Vec<SmtpStep>,
    ) -> Option<SessionEnd> {
        self.open.request_came();
        self.tracked.set_activity(ConnectionActivity::Answering);
        let gone = ClientGone::watched();
        let handled = self.open.engine().handle(Request::smtp(envelope, message), self.open.origin, &gone);
        let (delivery, is_there) = run_while_watching(stream, buffer, &gone, handled).await;
        if !is_there {
            delivery.record_caller_left();
            return Some(SessionEnd::Ends(ConnectionEnd::Left));
        }
        let mut bytes = encode(&delivery.answer.clone().written());
        // An SMTP reply is little more than its code, so the line as a whole is changed.
        let line_end = bytes.split_off(bytes.len().saturating_sub(2));
        delivery.how.reply.behavior().change_body(&mut bytes);
        bytes.extend(line_end);
        let padded_to = delivery.how.reply.behavior().padded_to();
        let filler = filler(delivery.answer.status, bytes.len(), padded_to);
        let encoded = Encoded { cut: bytes.len() / 2, bytes, body_at: 0, filler };
        match deliver(stream, buffer, &encoded, &delivery.how, delivery.pending.as_ref()).await {
            Some(end) => Some(SessionEnd::Ends(end)),
            None => {
                self.session.message_answered(delivery.answer.status, next);
                None
            }
        }
    }
}

/// Continued lines before the reply, up to the size.
fn filler(code: u16, length: usize, padded_to: Option<u64>) -> Filler {
    const WIDTH: usize = 80;
    let Some(size) = padded_to else { return Filler::default() };
    let line = format!("{code:03}-{:width$}\r\n", "", width = WIDTH - 6);
    let lines = size.saturating_sub(length as u64).div_ceil(WIDTH as u64);
    // Whole lines in each piece, so that the last piece ends with one.
    Filler { piece: line.repeat(512).into_bytes(), total: lines * WIDTH as u64, first: true }
}
