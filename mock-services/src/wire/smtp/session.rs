//! The conversation: which command may come when, what is said to it, and where it has to wait for its
//! holder.

use crate::service::Envelope;
use crate::wire::smtp::auth::{Challenge, Exchange, begun};
use crate::wire::smtp::command::{is_address, path, verb};
use crate::wire::smtp::data::Incoming;
use crate::wire::smtp::reply::lines;
use crate::wire::smtp::{SmtpOptions, Step};

const LONGEST_LINE: usize = 4096;
const MOST_RECIPIENTS: usize = 1000;
const MOST_ERRORS: u32 = 20;
/// How much may be unread while the session waits, in addition to one message.
const BACKLOG: usize = 64 * 1024;

/// One conversation with one client.
#[derive(Debug)]
pub(crate) struct Session {
    options: SmtpOptions,
    mode: Mode,
    unread: Vec<u8>,
    skipping_line: bool,
    errors: u32,
    secure: bool,
    greeted: bool,
    authenticated: bool,
    envelope: Option<Envelope>,
}

#[derive(Debug)]
enum Mode {
    Command,
    Challenge(Challenge),
    Data(Incoming),
    Waiting(For),
    Closed,
}

/// What the holder owes the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum For {
    Answer,
    Authentication,
    Tls,
}

impl Session {
    /// A conversation that has not begun.
    pub(crate) fn new(options: SmtpOptions) -> Self {
        Session {
            options,
            mode: Mode::Command,
            unread: Vec::new(),
            skipping_line: false,
            errors: 0,
            secure: false,
            greeted: false,
            authenticated: false,
            envelope: None,
        }
    }

    /// What is sent when the client has connected.
    pub(crate) fn greeting(&self) -> Vec<u8> {
        lines(220, &format!("{} ESMTP", self.options.hostname))
    }

    /// What is sent when the client has said nothing for too long.
    pub(crate) fn timed_out(&self) -> Vec<u8> {
        lines(421, &format!("4.4.2 {} Error: timeout exceeded", self.options.hostname))
    }

    /// Reads on. However the bytes are cut, the steps are the same.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut Vec<Step>) {
        if !matches!(self.mode, Mode::Closed | Mode::Waiting(For::Tls)) {
            self.unread.extend_from_slice(bytes);
            self.proceed(out);
        }
    }

    /// The answer to the message has been sent, with this code; what came after the message is read now.
    pub(crate) fn message_answered(&mut self, code: u16, out: &mut Vec<Step>) {
        if self.resume(For::Answer) {
            if code == 421 {
                self.close(out);
            }
            self.proceed(out);
        }
    }

    /// Whether the client is who it says; what came after its credentials is read now.
    pub(crate) fn authenticated(&mut self, valid: bool, out: &mut Vec<Step>) {
        if self.resume(For::Authentication) {
            self.authenticated = valid;
            match valid {
                true => say(out, 235, "2.7.0 Authentication successful"),
                false => self.turn_away("AUTH", out, 535, "5.7.8 Error: authentication failed"),
            }
            self.proceed(out);
        }
    }

    /// The handshake is done, before the first word or after `STARTTLS`: the conversation starts again, and
    /// what is fed from now on came through TLS.
    pub(crate) fn tls_started(&mut self) {
        if self.resume(For::Tls) || !self.greeted {
            (self.secure, self.greeted, self.authenticated) = (true, false, false);
            self.envelope = None;
        }
    }

    /// Whether the conversation goes through TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.secure
    }

    fn resume(&mut self, from: For) -> bool {
        let waited = matches!(self.mode, Mode::Waiting(reason) if reason == from);
        if waited {
            self.mode = Mode::Command;
        }
        waited
    }

    fn proceed(&mut self, out: &mut Vec<Step>) {
        let mut unread = std::mem::take(&mut self.unread);
        let mut used = 0;
        loop {
            let rest = &unread[used..];
            match &mut self.mode {
                Mode::Command | Mode::Challenge(_) => match rest.iter().position(|byte| *byte == b'\n') {
                    Some(end) => {
                        used += end + 1;
                        self.line(&rest[..=end], out);
                    }
                    None if self.skipping_line || rest.len() >= LONGEST_LINE => {
                        (self.skipping_line, used) = (true, unread.len());
                        break;
                    }
                    None => break,
                },
                Mode::Data(incoming) => {
                    let (read, ended) = incoming.read(rest);
                    used += read;
                    if !ended {
                        break;
                    }
                    self.received(out);
                }
                Mode::Waiting(For::Answer | For::Authentication) => break,
                Mode::Waiting(For::Tls) | Mode::Closed => {
                    used = unread.len();
                    break;
                }
            }
        }
        unread.drain(..used);
        self.unread = unread;
        if self.unread.len() > self.options.size_limit.saturating_add(BACKLOG) {
            say(out, 421, "4.7.0 Error: too much input");
            self.close(out);
        }
    }

    fn line(&mut self, line: &[u8], out: &mut Vec<Step>) {
        if std::mem::take(&mut self.skipping_line) || line.len() > LONGEST_LINE {
            self.mode = Mode::Command;
            return self.refuse(out, 500, "5.5.2 Error: line too long");
        }
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches(['\r', '\n']);
        match std::mem::replace(&mut self.mode, Mode::Command) {
            Mode::Challenge(challenge) => self.exchange(challenge.answered(text), out),
            _ => self.command(text, out),
        }
    }

    fn command(&mut self, line: &str, out: &mut Vec<Step>) {
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
                say(out, 250, "2.0.0 Ok");
            }
            "NOOP" => say(out, 250, "2.0.0 Ok"),
            "VRFY" => say(
                out,
                252,
                "2.0.0 Cannot verify the user, but will accept the message and attempt delivery",
            ),
            "QUIT" => {
                say(out, 221, "2.0.0 Bye");
                self.close(out);
            }
            "EXPN" | "HELP" | "TURN" | "ETRN" | "BDAT" => {
                self.refuse(out, 502, "5.5.1 Error: command not implemented")
            }
            _ => self.refuse(out, 500, "5.5.2 Error: command not recognized"),
        }
    }

    fn hello(&mut self, verb: &str, name: &str, out: &mut Vec<Step>) {
        if name.is_empty() {
            return self.refuse(out, 501, &format!("5.5.4 Syntax: {verb} hostname"));
        }
        (self.greeted, self.envelope) = (true, None);
        if verb == "HELO" {
            return say(out, 250, &self.options.hostname);
        }
        let starttls = if self.options.starttls && !self.secure { "STARTTLS\n" } else { "" };
        let offer = format!(
            "{}\nPIPELINING\nSIZE {}\n{starttls}AUTH PLAIN LOGIN\nENHANCEDSTATUSCODES\n8BITMIME\nSMTPUTF8",
            self.options.hostname, self.options.size_limit
        );
        say(out, 250, &offer);
    }

    fn mail(&mut self, rest: &str, out: &mut Vec<Step>) {
        if !self.greeted {
            return self.refuse(out, 503, "5.5.1 Error: send HELO/EHLO first");
        }
        if self.options.require_auth && !self.authenticated {
            return self.turn_away("MAIL", out, 530, "5.7.0 Authentication required");
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
        say(out, 250, "2.1.0 Ok");
    }

    fn recipient(&mut self, rest: &str, out: &mut Vec<Step>) {
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
        if envelope.to.len() == MOST_RECIPIENTS {
            // No error of the client's: it is expected to send the message and to come again with the rest.
            return say(out, 452, "4.5.3 Error: too many recipients");
        }
        envelope.to.push(path.address);
        say(out, 250, "2.1.5 Ok");
    }

    fn data(&mut self, rest: &str, out: &mut Vec<Step>) {
        match &self.envelope {
            _ if !rest.is_empty() => self.refuse(out, 501, "5.5.4 Syntax: DATA"),
            None => self.refuse(out, 503, "5.5.1 Error: need MAIL command"),
            Some(envelope) if envelope.to.is_empty() => {
                self.refuse(out, 554, "5.5.1 Error: no valid recipients")
            }
            Some(_) => {
                self.mode = Mode::Data(Incoming::new(self.options.size_limit));
                say(out, 354, "End data with <CR><LF>.<CR><LF>");
            }
        }
    }

    fn received(&mut self, out: &mut Vec<Step>) {
        let (mode, envelope) = (std::mem::replace(&mut self.mode, Mode::Command), self.envelope.take());
        let message = if let Mode::Data(incoming) = mode { incoming.finish() } else { None };
        match (message, envelope) {
            (Some(message), Some(envelope)) => {
                self.mode = Mode::Waiting(For::Answer);
                out.push(Step::Message { envelope, message });
            }
            _ => self.refuse(out, 552, "5.3.4 Message size exceeds fixed limit"),
        }
    }

    fn auth(&mut self, rest: &str, out: &mut Vec<Step>) {
        if !self.greeted {
            self.refuse(out, 503, "5.5.1 Error: send HELO/EHLO first");
        } else if self.authenticated {
            self.refuse(out, 503, "5.5.1 Error: already authenticated");
        } else if self.envelope.is_some() {
            self.refuse(out, 503, "5.5.1 Error: MAIL transaction in progress");
        } else {
            self.exchange(begun(rest), out);
        }
    }

    fn exchange(&mut self, exchange: Exchange, out: &mut Vec<Step>) {
        match exchange {
            Exchange::Ask(challenge) => {
                say(out, 334, challenge.prompt());
                self.mode = Mode::Challenge(challenge);
            }
            Exchange::Credentials { user, secret } => {
                self.mode = Mode::Waiting(For::Authentication);
                out.push(Step::Authenticate { user, secret });
            }
            Exchange::Unknown => self.turn_away("AUTH", out, 504, "5.5.4 Unrecognized authentication type"),
            Exchange::Malformed => self.turn_away("AUTH", out, 501, "5.5.2 Cannot decode response"),
            Exchange::Cancelled => self.turn_away("AUTH", out, 501, "5.7.0 Authentication aborted"),
        }
    }

    fn starttls(&mut self, rest: &str, out: &mut Vec<Step>) {
        if !self.options.starttls {
            self.refuse(out, 502, "5.5.1 Error: command not implemented");
        } else if self.secure {
            self.refuse(out, 503, "5.5.1 Error: TLS already active");
        } else if !rest.is_empty() {
            self.refuse(out, 501, "5.5.4 Syntax: STARTTLS");
        } else {
            say(out, 220, "2.0.0 Ready to start TLS");
            self.mode = Mode::Waiting(For::Tls);
            out.push(Step::StartTls);
        }
    }

    /// Refuses a client that cannot send a message because of this, which is recorded.
    fn turn_away(&mut self, verb: &'static str, out: &mut Vec<Step>, code: u16, text: &'static str) {
        out.push(Step::Refused { verb, code, text });
        self.refuse(out, code, text);
    }

    /// Says no; after too many of them the client is sent away.
    fn refuse(&mut self, out: &mut Vec<Step>, code: u16, text: &str) {
        self.errors += 1;
        say(out, code, text);
        if self.errors >= MOST_ERRORS {
            say(out, 421, "4.7.0 Error: too many errors");
            self.close(out);
        }
    }

    fn close(&mut self, out: &mut Vec<Step>) {
        self.mode = Mode::Closed;
        self.unread = Vec::new();
        out.push(Step::Close);
    }
}

fn say(out: &mut Vec<Step>, code: u16, text: &str) {
    out.push(Step::Say(lines(code, text)));
}
