//! Slack's Events API as a sender. It has no service here: a scenario gives the body of the event.

use super::{EventSender, Schedule, SentAgain, SentCopy, has_same_signature, hmac_sha256};

/// Slack. A copy that is sent again says so in its headers.
pub const SLACK: EventSender = EventSender {
    name: "Slack",
    secret_variable: "SLACK_SIGNING_SECRET",
    secret: str::to_lowercase,
    shown_secret: str::to_owned,
    schedule: Schedule::Slack,
    headers,
    time_header: "X-Slack-Request-Timestamp",
    is_genuine: has_same_signature,
};

fn headers(copy: &SentCopy<'_>) -> Vec<(&'static str, String)> {
    let at = copy.at.to_string();
    let signature = hmac_sha256(copy.secret.as_bytes(), &["v0:", &at, ":", &copy.event.body]);
    let mut headers = vec![
        ("X-Slack-Request-Timestamp", at),
        ("X-Slack-Signature", format!("v0={}", hex::encode(signature))),
    ];
    if copy.earlier > 0 {
        let reason = match copy.again {
            Some(SentAgain::Error) => "http_error",
            Some(SentAgain::Timeout) | None => "http_timeout",
        };
        headers.push(("X-Slack-Retry-Num", copy.earlier.to_string()));
        headers.push(("X-Slack-Retry-Reason", reason.to_owned()));
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{Fields, ServiceEvent};

    #[test]
    fn a_signature_is_that_of_the_documentation_of_slack() {
        let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&\
                    channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&\
                    response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&\
                    trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
        let (id, kind) = ("Ev1".to_owned(), "event_callback".to_owned());
        let (effect, fields, body) = (String::new(), Fields::new(), body.to_owned());
        let event = ServiceEvent { effect, fields, id, kind, body, sender: SLACK.name };
        let secret = "8f742231b10e8888abcd99yyyzzz85a5";
        let copy = SentCopy { event: &event, secret, at: 1_531_420_618, earlier: 0, again: None };
        let expected = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503";
        assert_eq!(headers(&copy)[1].1, expected);
        let again = SentCopy { earlier: 2, again: Some(SentAgain::Error), ..copy };
        assert_eq!(
            headers(&again)[2..],
            [("X-Slack-Retry-Num", "2".to_owned()), ("X-Slack-Retry-Reason", "http_error".to_owned())]
        );
    }
}
