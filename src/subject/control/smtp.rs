//! A small mail client: hands one message over and says what the server's answer means. It retries nothing.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::answer::{Class, Reply};
use super::wire::CLIENT_TIMEOUT;

/// A message with its envelope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mail {
    pub(super) from: String,
    pub(super) to: Vec<String>,
    pub(super) message: String,
}

/// What went wrong before the message was handed over whole, or while its answer was awaited.
enum Broken {
    /// The server said no.
    ClaimedOutcome(u16),
    /// The line is gone.
    Line,
}

impl From<io::Error> for Broken {
    fn from(_: io::Error) -> Self {
        Broken::Line
    }
}

/// Hands a message over.
pub(super) fn hand_over(server: &str, key: &str, mail: &Mail) -> Reply {
    match converse(server, key, mail) {
        Ok(code) | Err(Broken::ClaimedOutcome(code)) => Reply::bare(class(code), Some(code)),
        Err(Broken::Line) => Reply::lost(),
    }
}

fn converse(server: &str, key: &str, mail: &Mail) -> Result<u16, Broken> {
    let stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(CLIENT_TIMEOUT))?;
    stream.set_write_timeout(Some(CLIENT_TIMEOUT))?;
    let mut line = Line { reader: BufReader::new(stream.try_clone()?), writer: stream };
    line.expect(220)?;
    line.say("EHLO control.example", 250)?;
    line.say(&format!("AUTH PLAIN {}", BASE64.encode(format!("\0control\0{key}"))), 235)?;
    line.say(&format!("MAIL FROM:<{}>", mail.from), 250)?;
    for to in &mail.to {
        line.say(&format!("RCPT TO:<{to}>"), 250)?;
    }
    line.say("DATA", 354)?;
    // A line that begins with a dot would end the message.
    let message = mail.message.replace("\r\n.", "\r\n..");
    write!(line.writer, "{message}\r\n.\r\n")?;
    let code = line.answer()?;
    // The message is answered for; whether the farewell is heard changes nothing.
    let _ = line.writer.write_all(b"QUIT\r\n");
    Ok(code)
}

struct Line {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Line {
    fn say(&mut self, text: &str, wanted: u16) -> Result<(), Broken> {
        write!(self.writer, "{text}\r\n")?;
        self.expect(wanted)
    }

    fn expect(&mut self, wanted: u16) -> Result<(), Broken> {
        let code = self.answer()?;
        if code == wanted { Ok(()) } else { Err(Broken::ClaimedOutcome(code)) }
    }

    /// The code of an answer, which may have several lines.
    fn answer(&mut self) -> Result<u16, Broken> {
        loop {
            let mut text = String::new();
            self.reader.read_line(&mut text)?;
            if !text.ends_with('\n') {
                return Err(Broken::Line);
            }
            let code = text.get(..3).and_then(|code| code.parse().ok()).ok_or(Broken::Line)?;
            if text.as_bytes().get(3) != Some(&b'-') {
                return Ok(code);
            }
        }
    }
}

/// What the code of a mail server means.
fn class(code: u16) -> Class {
    match code {
        200..=299 => Class::Done,
        450 => Class::Limited,
        500..=599 => Class::Refused,
        _ => Class::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_of_the_fives_is_a_refusal_and_one_of_the_fours_is_doubtful() {
        assert_eq!(
            [class(250), class(450), class(451), class(421), class(550)],
            [Class::Done, Class::Limited, Class::Failed, Class::Failed, Class::Refused]
        );
    }
}
