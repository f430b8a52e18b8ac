//! Mail over SMTP: the message of `DATA`, and failures as SMTP replies.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use mail_parser::{Message, MessageParser, MessagePart, MimeHeaders};
use serde::Deserialize;

use crate::email::address::MailAddress;
use crate::email::draft::MailDraft;
use crate::service::{Answer, Envelope};

/// The maximum size of a message.
const MAX_MESSAGE_BYTES: usize = 40 * 1024 * 1024;

/// A reply with this code and text.
pub(super) fn reply(code: u16, text: &str) -> Answer {
    Answer::bare(code, text)
}

/// The received mail. The envelope names the recipients; of the message, everything readable is used.
pub(super) fn draft(envelope: &Envelope, message: &[u8]) -> Result<Arc<MailDraft>, Answer> {
    if message.len() > MAX_MESSAGE_BYTES {
        return Err(reply(552, "5.3.4 Message size exceeds fixed limit"));
    }
    if envelope.to.is_empty() {
        return Err(reply(554, "5.5.1 Error: no valid recipients"));
    }
    if envelope.to.iter().any(|to| !to.contains('@')) {
        return Err(reply(550, "5.1.3 Bad recipient address syntax"));
    }
    let mut draft = MailDraft::new(MailAddress::bare(&envelope.from), String::new());
    draft.to = envelope.to.iter().map(|to| MailAddress::bare(to)).collect();
    // A message that does not begin with a header is only text.
    let first_line = message.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let parsed = first_line.contains(&b':').then(|| MessageParser::default().parse(message)).flatten();
    match parsed.filter(|parsed| !parsed.parts.is_empty()) {
        Some(parsed) => fill(&mut draft, &parsed),
        None => draft.text = Some(Arc::from(String::from_utf8_lossy(message))),
    }
    Ok(draft.finished())
}

fn fill(draft: &mut MailDraft, parsed: &Message<'_>) {
    let from =
        parsed.from().and_then(|from| from.first()).and_then(|from| Some((from.name(), from.address()?)));
    if let Some((name, plain)) = from {
        let shown = name.map_or_else(|| plain.to_owned(), |name| format!("{name} <{plain}>"));
        draft.from = MailAddress { shown, plain: plain.to_lowercase() };
    }
    let reply_to = parsed.reply_to().into_iter().flat_map(|all| all.iter()).filter_map(|one| one.address());
    draft.reply_to = reply_to.map(str::to_owned).collect();
    draft.subject = parsed.subject().unwrap_or_default().to_owned();
    let texts = (0..parsed.text_body_count()).filter_map(|part| parsed.body_text(part));
    draft.text = joined(texts);
    let html_parts =
        (0..parsed.html_body_count()).filter_map(|part| parsed.html_part(u32::try_from(part).ok()?));
    draft.html = joined(
        html_parts
            .filter(|part| part.is_text_html())
            .filter_map(|part| part.text_contents())
            .map(Cow::Borrowed),
    );
    let named = |part: &MessagePart<'_>| part.attachment_name().unwrap_or("attachment").to_owned();
    draft.attachments = parsed.attachments().map(named).collect();
    draft.reference = header(parsed, "X-Entity-Ref-ID");
    for (name, value) in parsed.headers_raw() {
        draft.headers.add(name, &value.split_ascii_whitespace().collect::<Vec<_>>().join(" "));
    }
    let api = header(parsed, "X-SMTPAPI").and_then(|json| serde_json::from_str::<SmtpApi>(&json).ok());
    let SmtpApi { unique_args, to, filters } = api.unwrap_or_default();
    draft.metadata = unique_args.into_iter().collect();
    // Each of them gets the mail, too.
    draft.to.extend(to.iter().map(|to| MailAddress::bare(to)));
    let copy = filters.bcc.settings;
    let is_on =
        !matches!(copy.enable, serde_json::Value::Null | serde_json::Value::Bool(false)) && copy.enable != 0;
    draft.bcc.extend(copy.email.filter(|_| is_on).map(|to| MailAddress::bare(&to)));
}

/// All parts of a body as one text.
fn joined<'a>(parts: impl Iterator<Item = Cow<'a, str>>) -> Option<Arc<str>> {
    let parts: Vec<Cow<'_, str>> = parts.collect();
    (!parts.is_empty()).then(|| Arc::from(parts.join("\n")))
}

fn header(message: &Message<'_>, name: &'static str) -> Option<String> {
    message.header_raw(name).map(|value| value.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
}

/// SendGrid's header for mail over SMTP: custom arguments, and who else gets the mail.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SmtpApi {
    unique_args: BTreeMap<String, String>,
    to: Vec<String>,
    filters: SmtpFilters,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SmtpFilters {
    bcc: SmtpFilter,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SmtpFilter {
    settings: SmtpCopy,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct SmtpCopy {
    /// A number or a truth value.
    enable: serde_json::Value,
    email: Option<String>,
}

/// The reply of a mail server for this status. SMTP codes are used unchanged; an HTTP status is translated to
/// the SMTP code with the same meaning.
pub(super) fn failure(status: u16) -> Answer {
    match status {
        200..=299 => reply(250, "2.0.0 Ok"),
        429 => reply(450, "4.7.1 Error: too many messages, try again later"),
        500 => reply(451, "4.3.0 Error: queue file write error"),
        502 | 503 => reply(421, "4.3.2 Service not available, closing transmission channel"),
        504 => reply(451, "4.4.2 Error: timeout while processing the message"),
        401 => reply(535, "5.7.8 Error: authentication failed"),
        403 => reply(550, "5.7.1 Error: message refused"),
        413 => reply(552, "5.3.4 Message size exceeds fixed limit"),
        421 => reply(421, "4.3.2 Service not available, closing transmission channel"),
        450 => reply(450, "4.2.0 Mailbox temporarily unavailable"),
        451 => reply(451, "4.3.0 Error: local error in processing"),
        452 => reply(452, "4.3.1 Insufficient system storage"),
        454 => reply(454, "4.7.0 Temporary authentication failure"),
        530 => reply(530, "5.7.0 Authentication required"),
        535 => reply(535, "5.7.8 Error: authentication failed"),
        551 => reply(551, "5.1.6 User not local"),
        552 => reply(552, "5.3.4 Message size exceeds fixed limit"),
        553 => reply(553, "5.1.3 Mailbox name not allowed"),
        554 => reply(554, "5.6.0 Transaction failed"),
        500..=599 if status != 550 => reply(451, "4.3.0 Error: local error in processing"),
        _ => reply(550, "5.7.1 Error: message refused"),
    }
}

/// The reply to a client that has not authenticated.
pub(super) fn unauthorized() -> Answer {
    reply(535, "5.7.8 Error: authentication failed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn envelope(to: &[&str]) -> Envelope {
        Envelope {
            from: "bounce@shop.example".to_owned(),
            to: to.iter().map(|to| (*to).to_owned()).collect(),
        }
    }

    #[test]
    fn recipients_come_from_the_envelope_and_the_rest_from_the_message() {
        let message = b"From: Shop <shop@shop.example>\r\nTo: somebody@else.example\r\nSubject: \
                       =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n\
            X-Entity-Ref-ID: ref-1\r\nX-SMTPAPI: {\"unique_args\":\r\n {\"order\":\"o1\"}}\r\n\
            Content-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\nContent-Type: \
            text/plain\r\n\r\nHello\r\n\
            --b\r\nContent-Type: text/html\r\n\r\n<p>Hello</p>\r\n--b--\r\n";
        let draft = draft(&envelope(&["Ann@x.example", "bob@x.example"]), message).unwrap();
        assert_eq!(draft.recipients, ["ann@x.example", "bob@x.example"]);
        assert_eq!(
            (draft.from.shown.as_str(), draft.subject.as_str()),
            ("Shop <shop@shop.example>", "Grüße")
        );
        assert_eq!((draft.body.as_str(), draft.html.as_deref()), ("Hello", Some("<p>Hello</p>")));
        assert_eq!(draft.reference.as_deref(), Some("ref-1"));
        assert_eq!(draft.metadata, [("order".to_owned(), "o1".to_owned())]);
    }

    #[test]
    fn whoever_the_header_of_sendgrid_adds_gets_the_mail() {
        let recipients = |api: &str| {
            let message = format!("Subject: x\r\nX-SMTPAPI: {api}\r\n\r\nHello");
            draft(&envelope(&["ann@x.example"]), message.as_bytes()).unwrap().recipients.clone()
        };
        let copy = |enable: &str| {
            format!(r#"{{"filters":{{"bcc":{{"settings":{{"enable":{enable},"email":"spy@y.example"}}}}}}}}"#)
        };
        assert_eq!(recipients(&copy("1")), ["ann@x.example", "spy@y.example"]);
        assert_eq!(recipients(&copy("0")), ["ann@x.example"]);
        assert_eq!(recipients(r#"{"to":["bob@x.example"]}"#), ["ann@x.example", "bob@x.example"]);
    }

    #[test]
    fn every_part_of_a_message_is_read_and_attachments_are_named() {
        let message = b"Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: \
             text/plain\r\n\r\nHello\r\n\
            --b\r\nContent-Type: text/plain\r\n\r\nand more\r\n--b\r\nContent-Type: application/pdf; \
            name=bill.pdf\r\n\
            Content-Disposition: attachment; filename=bill.pdf\r\n\r\nAAAA\r\n--b--\r\n";
        let draft = draft(&envelope(&["a@x.example"]), message).unwrap();
        assert!(draft.body.contains("Hello") && draft.body.contains("and more"), "{}", draft.body);
        assert_eq!(draft.attachments, ["bill.pdf"]);
    }

    #[test]
    fn an_invalid_message_is_read_as_far_as_possible() {
        let empty = draft(&envelope(&["a@x.example"]), b"").unwrap();
        assert_eq!(
            (empty.from.plain.as_str(), empty.subject.as_str(), empty.body.as_str()),
            ("bounce@shop.example", "", "")
        );
        let bare = draft(&envelope(&["a@x.example"]), b"no header at all").unwrap();
        assert_eq!(bare.body, "no header at all");
        let broken = draft(&envelope(&["a@x.example"]), b"Subject: x\r\n\r\n\xff\xfe caf\xe9\r\n").unwrap();
        assert_eq!(broken.subject, "x");
        assert!(broken.body.contains("caf"), "{}", broken.body);
    }

    #[test]
    fn an_envelope_without_a_recipient_is_refused() {
        assert_eq!(draft(&envelope(&[]), b"").unwrap_err().status, 554);
        assert_eq!(draft(&envelope(&["nobody"]), b"").unwrap_err().status, 550);
    }

    #[test]
    fn http_statuses_become_smtp_codes() {
        let reported_id = |status| (failure(status).status, String::from_utf8(failure(status).body).unwrap());
        for (status, code, enhanced) in [
            (429, 450, "4.7.1"),
            (500, 451, "4.3.0"),
            (502, 421, "4.3.2"),
            (503, 421, "4.3.2"),
            (504, 451, "4.4.2"),
            (401, 535, "5.7.8"),
            (403, 550, "5.7.1"),
            (422, 550, "5.7.1"),
            (452, 452, "4.3.1"),
            (550, 550, "5.7.1"),
            (552, 552, "5.3.4"),
            (554, 554, "5.6.0"),
        ] {
            let (other, text) = reported_id(status);
            assert_eq!((other, text.starts_with(enhanced)), (code, true), "{status}: {text}");
        }
        assert_eq!(reported_id(202).0, 250);
        for status in 400..600 {
            let (code, text) = reported_id(status);
            assert!(text.starts_with(if code < 500 { "4." } else { "5." }), "{status}: {code} {text}");
        }
    }

    fn piece() -> impl Strategy<Value = Vec<u8>> {
        let words: Vec<&[u8]> = vec![
            b"Subject: =?utf-8?q?=C3=?=\r\n",
            b"From: a <b@c\r\n",
            b"X-SMTPAPI: {\r\n",
            b"Content-Type: multipart/mixed; boundary=b\r\n",
            b"Content-Type: text/html; charset=x\r\n",
            b"Content-Type: message/rfc822\r\n",
            b"Content-Transfer-Encoding: base64\r\n",
            b"Content-Transfer-Encoding: quoted-printable\r\n",
            b"--b\r\n",
            b"--b--",
            b"\r\n",
            b"<p>&",
            b"=E",
        ];
        prop_oneof![4 => proptest::sample::select(words).prop_map(<[u8]>::to_vec),
            1 => proptest::collection::vec(any::<u8>(), 0..40)]
    }

    proptest! {
        #[test]
        fn no_message_makes_the_parser_panic(pieces in proptest::collection::vec(piece(), 0..30)) {
            prop_assert!(draft(&envelope(&["a@x.example"]), &pieces.concat()).is_ok());
        }
    }
}
