//! The session: which commands are allowed, what is replied, and when it waits for its connection.

use crate::service::Envelope;
use crate::wire::smtp::auth::{AuthStep, Challenge, start_auth};
use crate::wire::smtp::command::{is_address, path, verb};
use crate::wire::smtp::data::IncomingMessage;
use crate::wire::smtp::reply::lines;
use crate::wire::smtp::{SmtpOptions, SmtpStep};

const LONGEST_LINE: usize = 4096;
const MAX_RECIPIENTS: usize = 1000;
const MAX_ERRORS: u32 = 20;
/// The maximum unread input while the session waits, in addition to one message.
const BACKLOG: usize = 64 * 1024;

/// The session of one client.
#[derive(Debug)]
pub(crate) struct Session {
    options: SmtpOptions,
    mode: SessionMode,
    unread: Vec<u8>,
    skipping_line: bool,
    errors: u32,
    secure: bool,
    greeted: bool,
    authenticated: bool,
    envelope: Option<Envelope>,
}

#[derive(Debug)]
enum SessionMode {
    Command,
    Challenge(Challenge),
    Data(IncomingMessage),
    Waiting(WaitReason),
    Closed,
}

/// What the session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitReason {
    Answer,
    Authentication,
    Tls,
}

impl Session {
    /// A session that has not begun.
    pub(crate) fn new(options: SmtpOptions) -> Self {
        Session {
            options,
            mode: SessionMode::Command,
            unread: Vec::new(),
            skipping_line: false,
            errors: 0,
            secure: false,
            greeted: false,
            authenticated: false,
            envelope: None,
        }
    }

    /// The greeting that is sent when the client has connected.
    pub(crate) fn greeting(&self) -> Vec<u8> {
        lines(220, &format!("{} ESMTP", self.options.hostname))
    }

    /// The reply that is sent when the client has sent nothing for too long.
    pub(crate) fn timed_out(&self) -> Vec<u8> {
        lines(421, &format!("4.4.2 {} Error: timeout exceeded", self.options.hostname))
    }

    /// Reads more bytes. The steps do not depend on how the bytes are split.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut Vec<SmtpStep>) {
        if !matches!(self.mode, SessionMode::Closed | SessionMode::Waiting(WaitReason::Tls)) {
            self.unread.extend_from_slice(bytes);
            self.proceed(out);
        }
    }

    /// The answer to the message has been sent, with this code; what came after the message is read now.
    pub(crate) fn message_answered(&mut self, code: u16, out: &mut Vec<SmtpStep>) {
        if self.resume(WaitReason::Answer) {
            if code == 421 {
                self.close(out);
            }
            self.proceed(out);
        }
    }

    /// Whether the credentials are valid; what came after them is read now.
    pub(crate) fn authenticated(&mut self, valid: bool, out: &mut Vec<SmtpStep>) {
        if self.resume(WaitReason::Authentication) {
            self.authenticated = valid;
            match valid {
                true => send_reply(out, 235, "2.7.0 Authentication successful"),
                false => self.refuse_client("AUTH", out, 535, "5.7.8 Error: authentication failed"),
            }
            self.proceed(out);
        }
    }

    /// The handshake is done, before the first command or after `STARTTLS`: the session starts again, and
    /// input from now on came through TLS.
    pub(crate) fn tls_started(&mut self) {
        if self.resume(WaitReason::Tls) || !self.greeted {
            (self.secure, self.greeted, self.authenticated) = (true, false, false);
            self.envelope = None;
        }
    }

    /// Whether the session uses TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.secure
    }

    fn resume(&mut self, from: WaitReason) -> bool {
        let waited = matches!(self.mode, SessionMode::Waiting(reason) if reason == from);
        if waited {
            self.mode = SessionMode::Command;
        }
        waited
    }

    fn proceed(&mut self, out: &mut Vec<SmtpStep>) {
        let mut unread = std::mem::take(&mut self.unread);
        let mut used = 0;
        loop {
            let rest = &unread[used..];
            match &mut self.mode {
                SessionMode::Command | SessionMode::Challenge(_) => {
                    match rest.iter().position(|byte| *byte == b'\n') {
                        Some(end) => {
                            used += end + 1;
                            self.line(&rest[..=end], out);
                        }
                        None if self.skipping_line || rest.len() >= LONGEST_LINE => {
                            (self.skipping_line, used) = (true, unread.len());
                            break;
                        }
                        None => break,
                    }
                }
                SessionMode::Data(incoming) => {
                    let (read, ended) = incoming.read(rest);
                    used += read;
                    if !ended {
                        break;
                    }
                    self.received(out);
                }
                SessionMode::Waiting(WaitReason::Answer | WaitReason::Authentication) => break,
                SessionMode::Waiting(WaitReason::Tls) | SessionMode::Closed => {
                    used = unread.len();
                    break;
                }
            }
        }
        unread.drain(..used);
        self.unread = unread;
        if self.unread.len() > self.options.size_limit.saturating_add(BACKLOG) {
            send_reply(out, 421, "4.7.0 Error: too much input");
            self.close(out);
        }
    }

    fn line(&mut self, line: &[u8], out: &mut Vec<SmtpStep>) {
        if std::mem::take(&mut self.skipping_line) || line.len() > LONGEST_LINE {
            self.mode = SessionMode::Command;
            return self.refuse(out, 500, "5.5.2 Error: line too long");
        }
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches(['\r', '\n']);
        match std::mem::replace(&mut self.mode, SessionMode::Command) {
            SessionMode::Challenge(challenge) => self.exchange(challenge.answered(text), out),
            _ => self.command(text, out),
        }
    }

    fn command(&mut self, line: &str, out: &mut Vec<SmtpStep>) {
        let (verb, rest) = verb(line);
        match verb.as_str() {
            "HELO" | "EHLO" => self.hello(&verb, rest, out),
            "MAIL" => self.mail(rest, out),
            "RCPT" => self.recipient(rest, out),
            "DATA" => self.data(rest, out),
            "AUTH" => self.auth(rest, out),
            "STARTTLS" => self.starttls(rest, out),
            "RSET" => {
                self.envelope = None;
                send_reply(out, 250, "2.0.0 Ok");
            }
            "NOOP" => send_reply(out, 250, "2.0.0 Ok"),
            "VRFY" => send_reply(
                out,
                252,
                "2.0.0 Cannot verify the user, but will accept the message and attempt delivery",
            ),
            "QUIT" => {
                send_reply(out, 221, "2.0.0 Bye");
                self.close(out);
            }
            "EXPN" | "HELP" | "TURN" | "ETRN" | "BDAT" => {
                self.refuse(out, 502, "5.5.1 Error: command not implemented")
            }
            _ => self.refuse(out, 500, "5.5.2 Error: command not recognized"),
        }
    }

    fn hello(&mut self, verb: &str, name: &str, out: &mut Vec<SmtpStep>) {
        if name.is_empty() {
            return self.refuse(out, 501, &format!("5.5.4 Syntax: {verb} hostname"));
        }
        (self.greeted, self.envelope) = (true, None);
        if verb == "HELO" {
            return send_reply(out, 250, &self.options.hostname);
        }
        let starttls = if self.options.starttls && !self.secure { "STARTTLS\n" } else { "" };
        let offer = format!(
            "{}\nPIPELINING\nSIZE {}\n{starttls}AUTH PLAIN LOGIN\nENHANCEDSTATUSCODES\n8BITMIME\nSMTPUTF8",
            self.options.hostname, self.options.size_limit
        );
        send_reply(out, 250, &offer);
    }

    fn mail(&mut self, rest: &str, out: &mut Vec<SmtpStep>) {
        if !self.greeted {
            return self.refuse(out, 503, "5.5.1 Error: send HELO/EHLO first");
        }
        if self.options.require_auth && !self.authenticated {
            return self.refuse_client("MAIL", out, 530, "5.7.0 Authentication required");
        }
        if self.envelope.is_some() {
            return self.refuse(out, 503, "5.5.1 Error: nested MAIL command");
        }
        let Some(path) = path(rest, "FROM:") else {
            return self.refuse(out, 501, "5.5.4 Syntax: MAIL FROM:<address>");
        };
        if !(path.address.is_empty() || is_address(&path.address)) {
            return self.refuse(out, 501, "5.1.7 Bad sender address syntax");
        }
        for (name, value) in &path.parameters {
            let understood = match name.as_str() {
                "SIZE" => match value.parse::<usize>() {
                    Ok(size) if size > self.options.size_limit => {
                        return self.refuse(out, 552, "5.3.4 Message size exceeds fixed limit");
                    }
                    size => size.is_ok(),
                },
                "BODY" => ["7BIT", "8BITMIME"].iter().any(|body| value.eq_ignore_ascii_case(body)),
                "SMTPUTF8" | "AUTH" => true,
                _ => return self.refuse(out, 555, "5.5.4 Unsupported option"),
            };
            if !understood {
                return self.refuse(out, 501, &format!("5.5.4 Bad {name} value"));
            }
        }
        self.envelope = Some(Envelope { from: path.address, to: Vec::new() });
        send_reply(out, 250, "2.1.0 Ok");
    }

    fn recipient(&mut self, rest: &str, out: &mut Vec<SmtpStep>) {
        let Some(envelope) = &mut self.envelope else {
            return self.refuse(out, 503, "5.5.1 Error: need MAIL command");
        };
        let Some(path) = path(rest, "TO:") else {
            return self.refuse(out, 501, "5.5.4 Syntax: RCPT TO:<address>");
        };
        if !is_address(&path.address) {
            return self.refuse(out, 501, "5.1.3 Bad recipient address syntax");
        }
        if !path.parameters.is_empty() {
            return self.refuse(out, 555, "5.5.4 Unsupported option");
        }
        if envelope.to.len() == MAX_RECIPIENTS {
            // Not an error of the client: it sends the message, and another one to the other recipients.
            return send_reply(out, 452, "4.5.3 Error: too many recipients");
        }
        envelope.to.push(path.address);
        send_reply(out, 250, "2.1.5 Ok");
    }

    fn data(&mut self, rest: &str, out: &mut Vec<SmtpStep>) {
        match &self.envelope {
            _ if !rest.is_empty() => self.refuse(out, 501, "5.5.4 Syntax: DATA"),
            None => self.refuse(out, 503, "5.5.1 Error: need MAIL command"),
            Some(envelope) if envelope.to.is_empty() => {
                self.refuse(out, 554, "5.5.1 Error: no valid recipients")
            }
            Some(_) => {
                self.mode = SessionMode::Data(IncomingMessage::new(self.options.size_limit));
                send_reply(out, 354, "End data with <CR><LF>.<CR><LF>");
            }
        }
    }

    fn received(&mut self, out: &mut Vec<SmtpStep>) {
        let (mode, envelope) =
            (std::mem::replace(&mut self.mode, SessionMode::Command), self.envelope.take());
        let message = if let SessionMode::Data(incoming) = mode { incoming.finish() } else { None };
        match (message, envelope) {
            (Some(message), Some(envelope)) => {
                self.mode = SessionMode::Waiting(WaitReason::Answer);
                out.push(SmtpStep::Message { envelope, message });
            }
            _ => self.refuse(out, 552, "5.3.4 Message size exceeds fixed limit"),
        }
    }

    fn auth(&mut self, rest: &str, out: &mut Vec<SmtpStep>) {
        if !self.greeted {
            self.refuse(out, 503, "5.5.1 Error: send HELO/EHLO first");
        } else if self.authenticated {
            self.refuse(out, 503, "5.5.1 Error: already authenticated");
        } else if self.envelope.is_some() {
            self.refuse(out, 503, "5.5.1 Error: MAIL transaction in progress");
        } else {
            self.exchange(start_auth(rest), out);
        }
    }

    fn exchange(&mut self, exchange: AuthStep, out: &mut Vec<SmtpStep>) {
        match exchange {
            AuthStep::Ask(challenge) => {
                send_reply(out, 334, challenge.prompt());
                self.mode = SessionMode::Challenge(challenge);
            }
            AuthStep::Credentials { user, secret } => {
                self.mode = SessionMode::Waiting(WaitReason::Authentication);
                out.push(SmtpStep::Authenticate { user, secret });
            }
            AuthStep::Unknown => {
                self.refuse_client("AUTH", out, 504, "5.5.4 Unrecognized authentication type")
            }
            AuthStep::Malformed => self.refuse_client("AUTH", out, 501, "5.5.2 Cannot decode response"),
            AuthStep::Cancelled => self.refuse_client("AUTH", out, 501, "5.7.0 Authentication aborted"),
        }
    }

    fn starttls(&mut self, rest: &str, out: &mut Vec<SmtpStep>) {
        if !self.options.starttls {
            self.refuse(out, 502, "5.5.1 Error: command not implemented");
        } else if self.secure {
            self.refuse(out, 503, "5.5.1 Error: TLS already active");
        } else if !rest.is_empty() {
            self.refuse(out, 501, "5.5.4 Syntax: STARTTLS");
        } else {
            send_reply(out, 220, "2.0.0 Ready to start TLS");
            self.mode = SessionMode::Waiting(WaitReason::Tls);
            out.push(SmtpStep::StartTls);
        }
    }

    /// Refuses a client that cannot send a message because of this, which is recorded.
    fn refuse_client(&mut self, verb: &'static str, out: &mut Vec<SmtpStep>, code: u16, text: &'static str) {
        out.push(SmtpStep::Refused { verb, code, text });
        self.refuse(out, code, text);
    }

    /// Refuses a command; after too many refusals the connection is closed.
    fn refuse(&mut self, out: &mut Vec<SmtpStep>, code: u16, text: &str) {
        self.errors += 1;
        send_reply(out, code, text);
        if self.errors >= MAX_ERRORS {
            send_reply(out, 421, "4.7.0 Error: too many errors");
            self.close(out);
        }
    }

    fn close(&mut self, out: &mut Vec<SmtpStep>) {
        self.mode = SessionMode::Closed;
        self.unread = Vec::new();
        out.push(SmtpStep::Close);
    }
}

fn send_reply(out: &mut Vec<SmtpStep>, code: u16, text: &str) {
    out.push(SmtpStep::Send(lines(code, text)));
}
