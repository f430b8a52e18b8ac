//! Authentication: the mechanisms PLAIN and LOGIN, with and without an initial response.

use crate::service::base64_decoded;

/// The challenge that the next line answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    Plain,
    Username,
    Password { user: String },
}

/// The result of an `AUTH` command or of an answer to a challenge.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AuthStep {
    /// The next challenge.
    Ask(Challenge),
    /// The credentials are complete.
    Credentials { user: String, secret: String },
    /// The mechanism is unknown.
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

    /// The result of the client's answer.
    pub(super) fn answered(self, line: &str) -> AuthStep {
        if line == "*" {
            return AuthStep::Cancelled;
        }
        let Some(text) = decoded(line) else { return AuthStep::Malformed };
        match self {
            Challenge::Plain => plain(&text),
            Challenge::Username => AuthStep::Ask(Challenge::Password { user: text }),
            Challenge::Password { user } => AuthStep::Credentials { user, secret: text },
        }
    }
}

/// What follows `AUTH`.
pub(super) fn start_auth(rest: &str) -> AuthStep {
    let (mechanism, initial) =
        rest.split_once(' ').map_or((rest, None), |(mechanism, initial)| (mechanism, Some(initial.trim())));
    let challenge = match mechanism.to_ascii_uppercase().as_str() {
        "PLAIN" => Challenge::Plain,
        "LOGIN" => Challenge::Username,
        _ => return AuthStep::Unknown,
    };
    match initial {
        None => AuthStep::Ask(challenge),
        Some(line) => challenge.answered(line),
    }
}

fn plain(text: &str) -> AuthStep {
    let mut parts = text.split('\0');
    match (parts.next(), parts.next(), parts.next(), parts.next()) {
        (Some(_), Some(user), Some(secret), None) => {
            AuthStep::Credentials { user: user.to_owned(), secret: secret.to_owned() }
        }
        _ => AuthStep::Malformed,
    }
}

/// The text of a response; a lone `=` is the empty one.
fn decoded(line: &str) -> Option<String> {
    String::from_utf8(base64_decoded(line.trim())?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials(user: &str, secret: &str) -> AuthStep {
        AuthStep::Credentials { user: user.to_owned(), secret: secret.to_owned() }
    }

    #[test]
    fn plain_is_read_with_and_without_an_initial_response() {
        assert_eq!(start_auth("PLAIN AGFubgBzZWNyZXQ="), credentials("ann", "secret"));
        assert_eq!(start_auth("plain"), AuthStep::Ask(Challenge::Plain));
        assert_eq!(Challenge::Plain.answered("AGFubgBzZWNyZXQ="), credentials("ann", "secret"));
    }

    #[test]
    fn login_asks_for_name_and_password() {
        assert_eq!(start_auth("LOGIN"), AuthStep::Ask(Challenge::Username));
        let asked = start_auth("LOGIN YW5u");
        assert_eq!(asked, AuthStep::Ask(Challenge::Password { user: "ann".to_owned() }));
        assert_eq!(
            Challenge::Password { user: "ann".to_owned() }.answered("c2VjcmV0"),
            credentials("ann", "secret")
        );
    }

    #[test]
    fn each_kind_of_invalid_input_is_distinguished() {
        assert_eq!(start_auth("CRAM-MD5"), AuthStep::Unknown);
        assert_eq!(start_auth("PLAIN %%"), AuthStep::Malformed);
        assert_eq!(start_auth("PLAIN YW5u"), AuthStep::Malformed);
        assert_eq!(Challenge::Username.answered("*"), AuthStep::Cancelled);
    }
}
