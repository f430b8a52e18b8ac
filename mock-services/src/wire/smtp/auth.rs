//! How a client says who it is: the mechanisms PLAIN and LOGIN, with and without an initial response.

use crate::service::base64_decoded;

/// What the next line is expected to answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    Plain,
    Username,
    Password { user: String },
}

/// What an `AUTH` command or an answer to a challenge comes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    /// Ask on.
    Ask(Challenge),
    /// The client has said all.
    Credentials { user: String, secret: String },
    /// No such mechanism.
    Unknown,
    /// Not base64, or not what the mechanism asks for.
    Malformed,
    /// The client gave up.
    Cancelled,
}

impl Challenge {
    /// The text after `334`: the prompt in base64.
    pub(super) fn prompt(&self) -> &'static str {
        match self {
            Challenge::Plain => "",
            Challenge::Username => "VXNlcm5hbWU6",
            Challenge::Password { .. } => "UGFzc3dvcmQ6",
        }
    }

    /// What the client's answer comes to.
    pub(super) fn answered(self, line: &str) -> Exchange {
        if line == "*" {
            return Exchange::Cancelled;
        }
        let Some(text) = decoded(line) else { return Exchange::Malformed };
        match self {
            Challenge::Plain => plain(&text),
            Challenge::Username => Exchange::Ask(Challenge::Password { user: text }),
            Challenge::Password { user } => Exchange::Credentials { user, secret: text },
        }
    }
}

/// What follows `AUTH`.
pub(super) fn begun(rest: &str) -> Exchange {
    let (mechanism, initial) =
        rest.split_once(' ').map_or((rest, None), |(mechanism, initial)| (mechanism, Some(initial.trim())));
    let challenge = match mechanism.to_ascii_uppercase().as_str() {
        "PLAIN" => Challenge::Plain,
        "LOGIN" => Challenge::Username,
        _ => return Exchange::Unknown,
    };
    match initial {
        None => Exchange::Ask(challenge),
        Some(line) => challenge.answered(line),
    }
}

fn plain(text: &str) -> Exchange {
    let mut parts = text.split('\0');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(_), Some(user), Some(secret), None) => {
            Exchange::Credentials { user: user.to_owned(), secret: secret.to_owned() }
        }
        _ => Exchange::Malformed,
    }
}

/// The text of a response; a lone `=` is the empty one.
fn decoded(line: &str) -> Option<String> {
    String::from_utf8(base64_decoded(line.trim())?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(user: &str, secret: &str) -> Exchange {
        Exchange::Credentials { user: user.to_owned(), secret: secret.to_owned() }
    }

    #[test]
    fn plain_is_read_with_and_without_an_initial_response() {
        assert_eq!(begun("PLAIN AGFubgBzZWNyZXQ="), credentials("ann", "secret"));
        assert_eq!(begun("plain"), Exchange::Ask(Challenge::Plain));
        assert_eq!(Challenge::Plain.answered("AGFubgBzZWNyZXQ="), credentials("ann", "secret"));
    }

    #[test]
    fn login_asks_for_name_and_password() {
        assert_eq!(begun("LOGIN"), Exchange::Ask(Challenge::Username));
        let asked = begun("LOGIN YW5u");
        assert_eq!(asked, Exchange::Ask(Challenge::Password { user: "ann".to_owned() }));
        assert_eq!(
            Challenge::Password { user: "ann".to_owned() }.answered("c2VjcmV0"),
            credentials("ann", "secret")
        );
    }

    #[test]
    fn what_cannot_be_read_is_told_apart() {
        assert_eq!(begun("CRAM-MD5"), Exchange::Unknown);
        assert_eq!(begun("PLAIN %%"), Exchange::Malformed);
        assert_eq!(begun("PLAIN YW5u"), Exchange::Malformed);
        assert_eq!(Challenge::Username.answered("*"), Exchange::Cancelled);
    }
}
