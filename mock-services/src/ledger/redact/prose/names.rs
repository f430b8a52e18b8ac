//! Names whose values are secret.

/// How certain it is from a name that its value is secret, and where the value ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// A password: its value can have blanks in it.
    Password,
    /// A token or a key: one word. In a sentence its name can come before a colon, too.
    Token,
    /// A short word that means other things, too: only a value that looks like a secret is one.
    Doubtful,
    /// A header whose value goes to the end of the line.
    Header,
}

const PASSWORDS: [&str; 4] = ["password", "passwd", "passphrase", "passcode"];
const HEADERS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];
/// A name that ends like this, with any separator between its words.
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

/// What a name says about its value, if anything.
pub(super) fn name_kind(name: &str) -> Option<NameKind> {
    name.to_ascii_lowercase().split('.').find_map(of_part)
}

fn of_part(part: &str) -> Option<NameKind> {
    let part = part.trim_matches(|char: char| char.is_ascii_digit() || char == '-' || char == '_');
    if HEADERS.contains(&part) {
        return Some(NameKind::Header);
    }
    let joined: String = part.chars().filter(|char| *char != '-' && *char != '_').collect();
    if PASSWORDS.iter().any(|end| joined.ends_with(end)) {
        return Some(NameKind::Password);
    }
    if LAST_WORDS.contains(&part) {
        return Some(NameKind::Doubtful);
    }
    let last = part.rsplit(['-', '_']).next().unwrap_or_default();
    if matches!(last, "pass" | "pwd") {
        return Some(NameKind::Password);
    }
    (TOKENS.iter().any(|end| joined.ends_with(end)) || LAST_WORDS.contains(&last)).then_some(NameKind::Token)
}
