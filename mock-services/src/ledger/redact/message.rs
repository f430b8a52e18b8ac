//! Messages as text: a first line and headers, an empty line, and the body.

use std::fmt::Write as _;

use super::Redactor;

/// The number of bytes of a body that are kept.
const MAX_BODY: usize = 4_096;

impl Redactor {
    /// A message without what must be hidden in it; a long body is cut.
    pub(super) fn message(&mut self, text: &str) -> String {
        let (head, body) = text.split_once("\n\n").unwrap_or((text.trim_end_matches('\n'), ""));
        let mut shown = String::new();
        for (place, line) in head.lines().enumerate() {
            match line.split_once(": ").filter(|_| place > 0) {
                Some((name, value)) if self.hides_header(name) && !value.is_empty() => {
                    let _ = writeln!(shown, "{name}: {}", self.mark(value));
                }
                _ => {
                    let _ = writeln!(shown, "{}", self.redacted_prose(line, line.len()));
                }
            }
        }
        if !body.is_empty() {
            let _ = write!(shown, "\n{}", self.redacted_prose(body, MAX_BODY));
            if body.len() > MAX_BODY {
                shown.push('…');
            }
        }
        shown
    }

    /// The first bytes of a free text. All of it is searched, so that a secret that is cut is hidden too.
    fn redacted_prose(&mut self, text: &str, length: usize) -> String {
        let searched = self.search(text);
        let end = super::char_start(text, length.min(text.len()));
        self.redacted_part(&searched, text, 0..end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(text: &str) -> String {
        let mut redactor = Redactor::default();
        redactor.hide_value("own-secret-of-the-trial");
        redactor.hide_name("x-team-code");
        redactor.message(text)
    }

    #[test]
    fn secrets_are_hidden_in_the_first_line_the_headers_and_the_body() {
        let shown = redacted(
            "POST /v1/charges?api_key=abcdef123&limit=3\nAuthorization: Custom abc def\nCookie: a=b; c=d\n\
             X-Team-Code: 12\nX-Note: own-secret-of-the-trial\nContent-Type: text/plain\n\n\
             amount=4999&card[number]=4242424242424242&password=hunter22",
        );
        let expected = "POST /v1/charges?api_key=[redacted 1]&limit=3\nAuthorization: [redacted 2]\n\
                        Cookie: [redacted 3]\nX-Team-Code: [redacted 4]\nX-Note: [redacted 5]\n\
                        Content-Type: text/plain\n\n\
                        amount=4999&card[number]=[redacted 6]&password=[redacted 7]";
        assert_eq!(shown, expected);
    }

    /// The text of a message with a secret in place of `¤`, as it is shown.
    fn shown(form: &str) -> String {
        redacted(&form.replace('¤', "qwertyuiop"))
    }

    #[test]
    fn headers_with_secrets_are_hidden_whatever_their_values_are() {
        for name in [
            "X-JWT",
            "X-Jwt-Assertion",
            "Authentication",
            "Ocp-Apim-Subscription-Key",
            "Session",
            "X-Sid",
            "X-Session-Id",
            "Stripe-Signature",
            "X-Authorization",
        ] {
            let text = shown(&format!("GET /x\n{name}: ¤\nIdempotency-Key: ord_1001\n"));
            assert_eq!(text, format!("GET /x\n{name}: [redacted 1]\nIdempotency-Key: ord_1001\n"));
        }
    }

    #[test]
    fn parameters_of_queries_are_hidden_in_the_first_line_and_in_urls() {
        for name in ["key", "sig", "signature", "X-Amz-Signature", "X-Amz-Credential", "code", "token"] {
            let text = shown(&format!("GET /x?a=1&{name}=¤&b=2\n\nsee https://h.example/?{name}=¤ there"));
            let expected = format!(
                "GET /x?a=1&{name}=[redacted 1]&b=2\n\nsee https://h.example/?{name}=[redacted 1] there"
            );
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn passwords_in_forms_and_elements_are_hidden() {
        for body in [
            "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n¤\r\n--b--\r\n",
            "--b\r\nContent-Disposition: form-data; name=\"password\"\r\nContent-Type: \
             text/plain\r\n\r\n¤\r\n--b--\r\n",
            "<wsse:Password Type=\"http://x#PasswordText\">¤</wsse:Password>",
            "<password><![CDATA[¤]]></password>",
            "{\"cvc\": \"¤\", \"amount\": 1}",
            "{\"session\": \"¤\"}",
            "a=1&passphrase=¤&x=1",
        ] {
            let text = shown(&format!("POST /x\n\n{body}"));
            assert_eq!(text, format!("POST /x\n\n{}", body.replace('¤', "[redacted 1]")));
        }
    }

    #[test]
    fn a_body_stays_json_when_a_value_in_it_is_hidden() {
        let shown = redacted("HTTP 200\n\n{\"client_secret\": \"pi_1_secret_2\", \"amount\": 4999}");
        assert_eq!(shown, "HTTP 200\n\n{\"client_secret\": \"[redacted 1]\", \"amount\": 4999}");
    }

    #[test]
    fn a_secret_at_the_end_of_what_is_kept_is_hidden_as_a_whole() {
        let filler = "x ".repeat((MAX_BODY - 8) / 2);
        let shown = redacted(&format!("HTTP 200\n\n{filler}4242424242424242 and more"));
        assert!(shown.ends_with("x [redacted 1]…"), "{}", &shown[shown.len() - 40..]);
    }
}
