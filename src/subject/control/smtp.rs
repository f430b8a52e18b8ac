//! A small SMTP client: sends one message and classifies the reply. It retries nothing.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::answer::{Reply, ReplyClass};

/// A message with its envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mail {
    pub(super) from: String,
    pub(super) to: Vec<String>,
    pub(super) message: String,
}

/// Why a message was not sent, or its reply not received.
enum SmtpFailure {
    /// The server replied with this code.
    Rejected(u16),
    /// The connection was closed.
    Disconnected,
}

impl From<io::Error> for SmtpFailure {
    fn from(_: io::Error) -> Self {
        SmtpFailure::Disconnected
    }
}

/// Sends a message. A reply that takes longer than `timeout` is lost.
pub(super) fn send(server: &str, key: &str, mail: &Mail, timeout: Duration) -> Reply {
    match send_mail(server, key, mail, timeout) {
        Ok(code) | Err(SmtpFailure::Rejected(code)) => Reply::bare(class(code), Some(code)),
        Err(SmtpFailure::Disconnected) => Reply::lost(),
    }
}

fn send_mail(server: &str, key: &str, mail: &Mail, timeout: Duration) -> Result<u16, SmtpFailure> {
    let stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    let mut line = SmtpConnection { reader: BufReader::new(stream.try_clone()?), writer: stream };
    line.expect(220)?;
    line.send_command("EHLO control.example", 250)?;
    line.send_command(&format!("AUTH PLAIN {}", BASE64.encode(format!("\0control\0{key}"))), 235)?;
    line.send_command(&format!("MAIL FROM:<{}>", mail.from), 250)?;
    for to in &mail.to {
        line.send_command(&format!("RCPT TO:<{to}>"), 250)?;
    }
    line.send_command("DATA", 354)?;
    // A line with a single dot would end the message.
    let message = mail.message.replace("\r\n.", "\r\n..");
    write!(line.writer, "{message}\r\n.\r\n")?;
    let code = line.answer()?;
    // The message has been answered, so a failure here does not matter.
    let _ = line.writer.write_all(b"QUIT\r\n");
    Ok(code)
}

struct SmtpConnection {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl SmtpConnection {
    fn send_command(&mut self, text: &str, wanted: u16) -> Result<(), SmtpFailure> {
        write!(self.writer, "{text}\r\n")?;
        self.expect(wanted)
    }

    fn expect(&mut self, wanted: u16) -> Result<(), SmtpFailure> {
        let code = self.answer()?;
        if code == wanted { Ok(()) } else { Err(SmtpFailure::Rejected(code)) }
    }

    /// The code of a reply, which can have several lines.
    fn answer(&mut self) -> Result<u16, SmtpFailure> {
        loop {
            let mut text = String::new();
            self.reader.read_line(&mut text)?;
            if !text.ends_with('\n') {
                return Err(SmtpFailure::Disconnected);
            }
            let code = text.get(..3).and_then(|code| code.parse().ok()).ok_or(SmtpFailure::Disconnected)?;
            if text.as_bytes().get(3) != Some(&b'-') {
                return Ok(code);
            }
        }
    }
}

/// Classifies a reply code.
fn class(code: u16) -> ReplyClass {
    match code {
        200..=299 => ReplyClass::Done,
        450 => ReplyClass::Limited,
        500..=599 => ReplyClass::Refused,
        _ => ReplyClass::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_5xx_code_is_a_refusal_and_a_4xx_code_is_ambiguous() {
        assert_eq!(
            [class(250), class(450), class(451), class(421), class(550)],
            [
                ReplyClass::Done,
                ReplyClass::Limited,
                ReplyClass::Failed,
                ReplyClass::Failed,
                ReplyClass::Refused
            ]
        );
    }
}
