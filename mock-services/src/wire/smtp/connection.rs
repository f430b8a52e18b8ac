//! One SMTP connection from the greeting to the end, with the same faults as HTTP on the answer to a message.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use super::{Session, SmtpOptions, Step, encode, handshake};
use crate::delivery::{ClientGone, DeliveryMode, Origin};
use crate::engine::Engine;
use crate::service::{Envelope, Request, Service};
use crate::wire::Limits;
use crate::wire::activity::{Attached, Doing};
use crate::wire::close::{ConnectionEnd, WireStream, attend, speaks};
use crate::wire::deliver::{Encoded, Filler, deliver};
use crate::wire::garble::garble;
use crate::wire::open::ConnectionRecord;

/// What comes after a part of the conversation.
enum Then {
    Ends(ConnectionEnd),
    /// The client wants to go on over TLS.
    StartTls,
}

/// How a connection is secured.
pub(in crate::wire) enum Security {
    /// When the client asks for it, where that is possible.
    StartTls(Option<TlsAcceptor>),
    /// From the first byte.
    Implicit(TlsAcceptor),
}

struct Conversation<S: Service> {
    session: Session,
    open: ConnectionRecord<S>,
    /// How long the client may say nothing, and how long a line or a message may take.
    deadline: Duration,
    attached: Attached,
}

/// Serves the connection until either side ends it.
pub(in crate::wire) async fn serve<S: Service>(
    mut stream: TcpStream,
    engine: Arc<Engine<S>>,
    origin: Origin,
    security: Security,
    limits: Limits,
    mut shed: watch::Receiver<u64>,
    attached: Attached,
) {
    let _ = stream.set_nodelay(true);
    let options = SmtpOptions {
        hostname: "localhost".to_owned(),
        size_limit: limits.body,
        require_auth: engine.requires_minted_key(),
        starttls: matches!(security, Security::StartTls(Some(_))),
    };
    let session = Session::new(options);
    let speaks = async {
        // Over TLS the client sends first, and is greeted after the handshake.
        let greeted =
            matches!(security, Security::Implicit(_)) || stream.write_all(&session.greeting()).await.is_ok();
        greeted && speaks(&stream, &mut shed, limits.idle_time).await
    };
    let spoken = tokio::select! {
        biased;
        spoken = speaks => spoken,
        () = attached.is_late() => true,
    };
    if spoken {
        drop(shed);
        let conversation = Conversation {
            session,
            open: ConnectionRecord::new(engine, origin),
            deadline: limits.idle_time,
            attached,
        };
        // In a box of its own, so that those who say nothing take little.
        Box::pin(until_late(stream, conversation, security, limits)).await;
    }
}

/// Converses until the connection ends or the trial does. A client that wants to send more has to connect
/// again, and is recorded then.
async fn until_late<S: Service>(
    stream: TcpStream,
    mut conversation: Conversation<S>,
    security: Security,
    limits: Limits,
) {
    let late = conversation.attached.is_late();
    let is_cut = tokio::select! {
        biased;
        () = converse(stream, &mut conversation, security, limits) => false,
        () = late => true,
    };
    let Conversation { open, mut attached, .. } = conversation;
    drop(open);
    if is_cut {
        attached.cut_off();
    }
}

async fn converse<S: Service>(
    mut stream: TcpStream,
    conversation: &mut Conversation<S>,
    security: Security,
    limits: Limits,
) {
    let (acceptor, is_implicit) = match security {
        Security::Implicit(acceptor) => (acceptor, true),
        Security::StartTls(acceptor) => match (conversation.go_on(&mut stream).await, acceptor) {
            (Then::StartTls, Some(acceptor)) => (acceptor, false),
            _ => return,
        },
    };
    let verb = if is_implicit { "TLS" } else { "STARTTLS" };
    match tokio::time::timeout(limits.head_time, acceptor.accept(stream)).await {
        Ok(Ok(mut secured)) => {
            conversation.session.tls_started();
            let greeting = if is_implicit { conversation.session.greeting() } else { Vec::new() };
            if secured.write_all(&greeting).await.is_ok() && secured.flush().await.is_ok() {
                conversation.go_on(&mut secured).await;
            } else {
                conversation.note_refusal(verb, 0, handshake::LEFT);
                conversation.open.ends(ConnectionEnd::Left);
            }
        }
        Ok(Err(error)) => {
            conversation.note_refusal(verb, 0, &handshake::why(&error));
            conversation.open.ends(ConnectionEnd::Left);
        }
        Err(_) => {
            conversation.note_refusal(verb, 0, handshake::TOOK_TOO_LONG);
            conversation.open.ends(ConnectionEnd::Silent);
        }
    }
}

impl<S: Service> Conversation<S> {
    /// Records that the client was refused, or left, before it could send a
    /// message.
    fn note_refusal(&self, verb: &str, code: u16, reason: &str) {
        self.open.engine().record_wire_refusal(self.open.origin, verb, code, Some(reason));
    }

    /// Talks until the connection ends, and ends it, or continues over TLS.
    async fn go_on<L: WireStream>(&mut self, stream: &mut L) -> Then {
        let then = self.speak(stream).await;
        if let Then::Ends(end) = then {
            self.attached.does(Doing::Idle);
            self.open.ends(end);
            end.carry_out(stream).await;
        }
        then
    }

    async fn speak<L: WireStream>(&mut self, stream: &mut L) -> Then {
        let mut buffer = Vec::with_capacity(4096);
        let mut steps = Vec::new();
        // A line or a message that comes byte by byte has the time of one that does not come.
        let mut deadline = Instant::now() + self.deadline;
        let mut is_first = true;
        loop {
            match tokio::time::timeout_at(deadline, stream.read_buf(&mut buffer)).await {
                Ok(Ok(0) | Err(_)) if is_first && self.session.is_secure() => {
                    self.note_refusal("TLS", 0, handshake::LEFT);
                    return Then::Ends(ConnectionEnd::Left);
                }
                Ok(Ok(0) | Err(_)) => return Then::Ends(ConnectionEnd::Left),
                Err(_) => {
                    let told = stream.write_all(&self.session.timed_out()).await.is_ok();
                    return Then::Ends(if told { ConnectionEnd::TimedOut } else { ConnectionEnd::Silent });
                }
                Ok(Ok(_)) => {}
            }
            if std::mem::take(&mut is_first)
                && !self.session.is_secure()
                && handshake::is_client_hello(&buffer)
            {
                self.note_refusal("TLS", 0, handshake::TLS_ON_THE_PLAIN_PORT);
                return Then::Ends(ConnectionEnd::Finish);
            }
            self.session.feed(&buffer, &mut steps);
            buffer.clear();
            let mut due: VecDeque<Step> = steps.drain(..).collect();
            let proceeds = !due.is_empty();
            while let Some(step) = due.pop_front() {
                if let Some(then) = self.step(stream, &mut buffer, step, &mut steps).await {
                    return then;
                }
                self.session.feed(&buffer, &mut steps);
                buffer.clear();
                due.extend(steps.drain(..));
            }
            self.attached.does(if proceeds { Doing::Idle } else { Doing::Reading });
            if proceeds {
                deadline = Instant::now() + self.deadline;
            }
        }
    }

    /// Carries one step out; says what comes then where the conversation does not just go on.
    async fn step<L: WireStream>(
        &mut self,
        stream: &mut L,
        buffer: &mut Vec<u8>,
        step: Step,
        next: &mut Vec<Step>,
    ) -> Option<Then> {
        match step {
            Step::Say(bytes) => {
                let said = stream.write_all(&bytes).await.is_ok() && stream.flush().await.is_ok();
                (!said).then_some(Then::Ends(ConnectionEnd::Left))
            }
            Step::Authenticate { secret, .. } => {
                let valid = self.open.engine().admits(Some(&secret));
                self.session.authenticated(valid, next);
                None
            }
            Step::Refused { verb, code, text } => {
                self.note_refusal(verb, code, text);
                None
            }
            Step::StartTls => Some(Then::StartTls),
            Step::Close => Some(Then::Ends(ConnectionEnd::Finish)),
            Step::Message { envelope, message } => {
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
        next: &mut Vec<Step>,
    ) -> Option<Then> {
        self.open.asked();
        self.attached.does(Doing::Answering);
        let gone = ClientGone::attended();
        let handled = self.open.engine().handle(Request::smtp(envelope, message), self.open.origin, &gone);
        let (delivery, is_there) = attend(stream, buffer, &gone, handled).await;
        if !is_there {
            delivery.record_caller_left();
            return Some(Then::Ends(ConnectionEnd::Left));
        }
        let mut bytes = encode(&delivery.answer.clone().written());
        if delivery.mode == DeliveryMode::Garble {
            // An SMTP reply is little more than its code: the line as a whole must not parse.
            let end = bytes.len().saturating_sub(2);
            let mut stream = bytes[..end].to_vec();
            garble(&mut stream);
            bytes.splice(..end, stream);
        }
        let filler = filler(delivery.answer.status, bytes.len(), delivery.mode);
        let encoded = Encoded { cut: bytes.len() / 2, bytes, body_at: 0, filler };
        match deliver(stream, buffer, &encoded, delivery.mode, delivery.pending.as_ref()).await {
            Some(end) => Some(Then::Ends(end)),
            None => {
                self.session.message_answered(delivery.answer.status, next);
                None
            }
        }
    }
}

/// Continued lines before the reply, as many as bring it to the size.
fn filler(code: u16, length: usize, mode: DeliveryMode) -> Filler {
    const WIDTH: usize = 80;
    let DeliveryMode::Oversize(size) = mode else { return Filler::default() };
    let stream = format!("{code:03}-{:width$}\r\n", "", width = WIDTH - 6);
    let lines = size.saturating_sub(length as u64).div_ceil(WIDTH as u64);
    // Whole lines in each piece, so that the last piece ends with one.
    Filler { piece: stream.repeat(512).into_bytes(), total: lines * WIDTH as u64, first: true }
}
