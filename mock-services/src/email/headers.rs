//! Headers that a client writes itself: whom they name as recipients, and what else they say.

use super::address::MailAddress;

/// The maximum number of headers that become fields.
const MAX_NAMED: usize = 32;
/// The maximum length of the value of a header that becomes a field.
const MAX_VALUE_BYTES: usize = 1_000;
/// The headers that name recipients.
const RECIPIENTS: &[&str] = &["to", "cc", "bcc", "apparently-to", "resent-to", "resent-cc", "resent-bcc"];
/// The headers that have a field of their own, and those that mail programs and servers write.
const KNOWN: &[&str] = &[
    "reply-to",
    "x-entity-ref-id",
    "x-smtpapi",
    "from",
    "sender",
    "subject",
    "date",
    "message-id",
    "mime-version",
    "content-type",
    "content-transfer-encoding",
    "content-disposition",
    "received",
    "return-path",
    "dkim-signature",
    "user-agent",
    "x-mailer",
];

/// The headers that a client writes itself, each with its value.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnHeaders(Vec<(String, String)>);

impl OwnHeaders {
    /// Adds headers of a JSON object; only texts are headers.
    pub(super) fn add_members(&mut self, members: &serde_json::Map<String, serde_json::Value>) {
        self.0.extend(
            members.iter().filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))),
        );
    }

    /// Adds one header.
    pub(super) fn add(&mut self, name: &str, value: &str) {
        self.0.push((name.to_owned(), value.to_owned()));
    }

    /// The addresses that they name as recipients, in lower case.
    pub(super) fn recipients(&self) -> impl Iterator<Item = String> {
        let naming = self.0.iter().filter(|(name, _)| is_one_of(RECIPIENTS, name));
        let parts = naming.flat_map(|(_, value)| value.split([',', ';'])).filter(|part| part.contains('@'));
        parts.map(|part| MailAddress::parse(part).map_or_else(|| part.trim().to_lowercase(), |one| one.plain))
    }

    /// The other ones: the name in lower case, and the value.
    pub(super) fn others(&self) -> impl Iterator<Item = (String, &str)> {
        let is_other = |name: &str| !is_one_of(RECIPIENTS, name) && !is_one_of(KNOWN, name);
        let others =
            self.0.iter().filter(move |(name, value)| is_other(name) && value.len() <= MAX_VALUE_BYTES);
        others.map(|(name, value)| (name.to_lowercase(), value.as_str())).take(MAX_NAMED)
    }
}

fn is_one_of(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipients_are_named_in_any_of_their_headers_and_everything_else_is_another_header() {
        let mut headers = OwnHeaders::default();
        headers.add("Bcc", "Eve <Eve@elsewhere.example>, mallory@elsewhere.example");
        headers.add("To", "undisclosed-recipients:;");
        headers.add("X-Order", "ord_1001");
        headers.add("reply-to", "shop@shop.example");
        assert_eq!(
            headers.recipients().collect::<Vec<_>>(),
            ["eve@elsewhere.example", "mallory@elsewhere.example"]
        );
        assert_eq!(headers.others().collect::<Vec<_>>(), [("x-order".to_owned(), "ord_1001")]);
    }
}
