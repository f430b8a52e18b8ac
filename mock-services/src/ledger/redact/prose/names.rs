//! Names whose values are secret.

/// How sure a name tells that its value is secret, and how far the value goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A password: its value can have blanks in it.
    Password,
    /// A token or a key: one word. In a sentence its name can stand before a colon, too.
    Token,
    /// A short word that means other things, too: only a value that looks like a secret is one.
    Doubtful,
    /// A header whose value goes to the end of the line.
    Header,
}

const PASSWORDS: [&str; 4] = ["password", "passwd", "passphrase", "passcode"];
const HEADERS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];
/// A name that ends so, whatever stands between the words of it.
const TOKENS: [&str; 20] = [
    "token",
    "secret",
    "secrets",
    "apikey",
    "secretkey",
    "privatekey",
    "accesskey",
    "accountkey",
    "signingkey",
    "encryptionkey",
    "authkey",
    "masterkey",
    "sharedkey",
    "clientkey",
    "servicekey",
    "credential",
    "credentials",
    "connectionstring",
    "sessionid",
    "sessionkey",
];
/// A name of which one of these is the last word.
const LAST_WORDS: [&str; 5] = ["pass", "pwd", "auth", "dsn", "bearer"];

/// What a name tells of its value; `None` where it tells nothing.
pub(super) fn kind(name: &str) -> Option<Kind> {
    name.to_ascii_lowercase().split('.').find_map(of_part)
}

fn of_part(part: &str) -> Option<Kind> {
    let part = part.trim_matches(|char: char| char.is_ascii_digit() || char == '-' || char == '_');
    if HEADERS.contains(&part) {
        return Some(Kind::Header);
    }
    let joined: String = part.chars().filter(|char| *char != '-' && *char != '_').collect();
    if PASSWORDS.iter().any(|end| joined.ends_with(end)) {
        return Some(Kind::Password);
    }
    if LAST_WORDS.contains(&part) {
        return Some(Kind::Doubtful);
    }
    let last = part.rsplit(['-', '_']).next().unwrap_or_default();
    if matches!(last, "pass" | "pwd") {
        return Some(Kind::Password);
    }
    (TOKENS.iter().any(|end| joined.ends_with(end)) || LAST_WORDS.contains(&last)).then_some(Kind::Token)
}
