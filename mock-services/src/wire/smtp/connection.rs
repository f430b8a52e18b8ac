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
use crate::engine::{ClientGone, Engine, Origin};
use crate::service::{Envelope, Request, Service};
use crate::wire::activity::{Attached, Doing};
use crate::wire::close::{End, Line, attend, speaks};
use crate::wire::deliver::{Encoded, Filler, deliver};
use crate::wire::garble::garble;
use crate::wire::open::Open;
use crate::wire::{DeliveryMode, Limits};

/// What comes after a part of the conversation.
enum Then {
    Ends(End),
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
    open: Open<S>,
    /// How long the client may say nothing, and how long a line or a message may take.
    patience: Duration,
    attached: Attached,
}

/// Serves the connection until either side ends it.
pub(in crate::wire) async fn serve<S: Service>(
    mut line: TcpStream,
    engine: Arc<Engine<S>>,
    origin: Origin,
    security: Security,
    limits: Limits,
    mut shed: watch::Receiver<u64>,
    attached: Attached,
) {
    let _ = line.set_nodelay(true);
    let options = SmtpOptions {
        hostname: "localhost".to_owned(),
        size_limit: limits.body,
        require_auth: engine.wants_minted_key(),
        starttls: matches!(security, Security::StartTls(Some(_))),
    };
    let session = Session::new(options);
    let speaks = async {
        // Over TLS the client speaks first, and is greeted when it can hear it.
        let greeted =
            matches!(security, Security::Implicit(_)) || line.write_all(&session.greeting()).await.is_ok();
        greeted && speaks(&line, &mut shed, limits.idle_time).await
    };
    let spoken = tokio::select! {
        biased;
        spoken = speaks => spoken,
        () = attached.is_late() => true,
    };
    if spoken {
        drop(shed);
        let conversation =
            Conversation { session, open: Open::new(engine, origin), patience: limits.idle_time, attached };
        // In a box of its own, so that those who say nothing take little.
        Box::pin(until_late(line, conversation, security, limits)).await;
    }
}

/// Converses until the connection ends or the trial does. A client that wants to send more has to connect
/// again, and is recorded then.
async fn until_late<S: Service>(
    line: TcpStream,
    mut conversation: Conversation<S>,
    security: Security,
    limits: Limits,
) {
    let late = conversation.attached.is_late();
    let is_cut = tokio::select! {
        biased;
        () = converse(line, &mut conversation, security, limits) => false,
        () = late => true,
    };
    let Conversation { open, mut attached, .. } = conversation;
    drop(open);
    if is_cut {
        attached.cut_off();
    }
}

async fn converse<S: Service>(
    mut line: TcpStream,
    conversation: &mut Conversation<S>,
    security: Security,
    limits: Limits,
) {
    let (acceptor, is_implicit) = match security {
        Security::Implicit(acceptor) => (acceptor, true),
        Security::StartTls(acceptor) => match (conversation.go_on(&mut line).await, acceptor) {
            (Then::StartTls, Some(acceptor)) => (acceptor, false),
            _ => return,
        },
    };
    let verb = if is_implicit { "TLS" } else { "STARTTLS" };
    match tokio::time::timeout(limits.head_time, acceptor.accept(line)).await {
        Ok(Ok(mut secured)) => {
            conversation.session.tls_started();
            let greeting = if is_implicit { conversation.session.greeting() } else { Vec::new() };
            if secured.write_all(&greeting).await.is_ok() && secured.flush().await.is_ok() {
                conversation.go_on(&mut secured).await;
            } else {
                conversation.note_refusal(verb, 0, handshake::LEFT);
                conversation.open.ends(End::Left);
            }
        }
        Ok(Err(error)) => {
            conversation.note_refusal(verb, 0, &handshake::why(&error));
            conversation.open.ends(End::Left);
        }
        Err(_) => {
            conversation.note_refusal(verb, 0, handshake::TOOK_TOO_LONG);
            conversation.open.ends(End::Silent);
        }
    }
}

impl<S: Service> Conversation<S> {
    /// Writes down that the client was turned away, or turned away itself, before it could hand over a
    /// message.
    fn note_refusal(&self, verb: &str, code: u16, reason: &str) {
        self.open.engine().refused_on_the_wire(self.open.origin, verb, code, Some(reason));
    }

    /// Speaks until the connection ends, which it carries out, or goes on over TLS.
    async fn go_on<L: Line>(&mut self, line: &mut L) -> Then {
        let then = self.speak(line).await;
        if let Then::Ends(end) = then {
            self.attached.does(Doing::Idle);
            self.open.ends(end);
            end.carry_out(line).await;
        }
        then
    }

    async fn speak<L: Line>(&mut self, line: &mut L) -> Then {
        let mut buffer = Vec::with_capacity(4096);
        let mut steps = Vec::new();
        // A line or a message that comes byte by byte has the time of one that does not come.
        let mut deadline = Instant::now() + self.patience;
        let mut is_first = true;
        loop {
            match tokio::time::timeout_at(deadline, line.read_buf(&mut buffer)).await {
                Ok(Ok(0) | Err(_)) if is_first && self.session.is_secure() => {
                    self.note_refusal("TLS", 0, handshake::LEFT);
                    return Then::Ends(End::Left);
                }
                Ok(Ok(0) | Err(_)) => return Then::Ends(End::Left),
                Err(_) => {
                    let told = line.write_all(&self.session.timed_out()).await.is_ok();
                    return Then::Ends(if told { End::TimedOut } else { End::Silent });
                }
                Ok(Ok(_)) => {}
            }
            if std::mem::take(&mut is_first)
                && !self.session.is_secure()
                && handshake::is_client_hello(&buffer)
            {
                self.note_refusal("TLS", 0, handshake::TLS_ON_THE_PLAIN_PORT);
                return Then::Ends(End::Finish);
            }
            self.session.feed(&buffer, &mut steps);
            buffer.clear();
            let mut due: VecDeque<Step> = steps.drain(..).collect();
            let proceeds = !due.is_empty();
            while let Some(step) = due.pop_front() {
                if let Some(then) = self.step(line, &mut buffer, step, &mut steps).await {
                    return then;
                }
                self.session.feed(&buffer, &mut steps);
                buffer.clear();
                due.extend(steps.drain(..));
            }
            self.attached.does(if proceeds { Doing::Idle } else { Doing::Reading });
            if proceeds {
                deadline = Instant::now() + self.patience;
            }
        }
    }

    /// Carries one step out; says what comes then where the conversation does not just go on.
    async fn step<L: Line>(
        &mut self,
        line: &mut L,
        buffer: &mut Vec<u8>,
        step: Step,
        next: &mut Vec<Step>,
    ) -> Option<Then> {
        match step {
            Step::Say(bytes) => {
                let said = line.write_all(&bytes).await.is_ok() && line.flush().await.is_ok();
                (!said).then_some(Then::Ends(End::Left))
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
            Step::Close => Some(Then::Ends(End::Finish)),
            Step::Message { envelope, message } => self.message(line, buffer, envelope, message, next).await,
        }
    }

    async fn message<L: Line>(
        &mut self,
        line: &mut L,
        buffer: &mut Vec<u8>,
        envelope: Envelope,
        message: Vec<u8>,
        next: &mut Vec<Step>,
    ) -> Option<Then> {
        self.open.asked();
        self.attached.does(Doing::Answering);
        let gone = ClientGone::attended();
        let handled = self.open.engine().handle(Request::smtp(envelope, message), self.open.origin, &gone);
        let (delivery, is_there) = attend(line, buffer, &gone, handled).await;
        if !is_there {
            delivery.caller_left();
            return Some(Then::Ends(End::Left));
        }
        let mut bytes = encode(&delivery.answer.clone().written());
        if delivery.manner == DeliveryMode::Garble {
            // An SMTP reply is little more than its code: the line as a whole must not parse.
            let end = bytes.len().saturating_sub(2);
            let mut line = bytes[..end].to_vec();
            garble(&mut line);
            bytes.splice(..end, line);
        }
        let filler = filler(delivery.answer.status, bytes.len(), delivery.manner);
        let encoded = Encoded { cut: bytes.len() / 2, bytes, body_at: 0, filler };
        match deliver(line, buffer, &encoded, delivery.manner, delivery.ticket.as_ref()).await {
            Some(end) => Some(Then::Ends(end)),
            None => {
                self.session.message_answered(delivery.answer.status, next);
                None
            }
        }
    }
}

/// Continued lines before the reply, as many as bring it to the size.
fn filler(code: u16, length: usize, manner: DeliveryMode) -> Filler {
    const WIDTH: usize = 80;
    let DeliveryMode::Oversize(size) = manner else { return Filler::default() };
    let line = format!("{code:03}-{:width$}\r\n", "", width = WIDTH - 6);
    let lines = size.saturating_sub(length as u64).div_ceil(WIDTH as u64);
    // Whole lines in each piece, so that the last piece ends with one.
    Filler { piece: line.repeat(512).into_bytes(), total: lines * WIDTH as u64, first: true }
}
