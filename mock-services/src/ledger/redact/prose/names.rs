//! Names whose values are secret.

/// How certain it is from a name that its value is secret, and where the value ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// A password: its value can have blanks in it.
    Password,
    /// A token or a key: one word. In a sentence its name can come before a colon, too.
    Token,
    /// A code or a session: one word, also a number. Its name is a word of sentences, too.
    Code,
    /// A short word that means other things, too: only a value that looks like a secret is one.
    Doubtful,
    /// A header whose value goes to the end of the line.
    Header,
}

const PASSWORDS: [&str; 6] = ["password", "passwd", "passphrase", "passcode", "mnemonic", "seedphrase"];
const HEADERS: [&str; 4] = ["authorization", "proxy-authorization", "cookie", "set-cookie"];
/// A name that ends like this, with any separator between its words.
const TOKENS: [&str; 22] = [
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
    "subscriptionkey",
    "credential",
    "credentials",
    "connectionstring",
    "sessionid",
    "sessionkey",
    "licensekey",
];
/// A name of which one of these is the last word.
const LAST_WORDS: [&str; 6] = ["pass", "pwd", "auth", "dsn", "bearer", "signature"];
/// The same for codes and sessions.
const CODES: [&str; 8] = ["cvc", "cvv", "ssn", "pin", "otp", "totp", "jwt", "session"];
/// What can follow the name of a secret: `password_confirmation`, `secret_value`.
const QUALIFIERS: [&str; 7] = ["confirmation", "confirm", "value", "hash", "old", "new", "pem"];
/// A header with one of these words carries a secret.
const HEADER_WORDS: [&str; 14] = [
    "authorization",
    "authentication",
    "cookie",
    "credential",
    "credentials",
    "jwt",
    "password",
    "secret",
    "session",
    "sid",
    "signature",
    "ssn",
    "token",
    "otp",
];
/// A header whose last word is `key` carries a secret if one of these comes before it.
const KEYS_OF_HEADERS: [&str; 8] =
    ["access", "api", "functions", "license", "master", "private", "secret", "subscription"];

/// Every name of a secret has one of these in it, in any case.
pub(in super::super) const PARTS: [&str; 21] = [
    "pass",
    "pwd",
    "auth",
    "cookie",
    "token",
    "secret",
    "key",
    "cred",
    "connection",
    "session",
    "dsn",
    "bearer",
    "cvc",
    "cvv",
    "ssn",
    "pin",
    "otp",
    "jwt",
    "mnemonic",
    "phrase",
    "signature",
];

/// What a name says about its value, if anything.
pub(super) fn name_kind(name: &str) -> Option<NameKind> {
    name.split('.').find_map(of_part)
}

/// Whether the values of a field or a parameter with this name are secret, whatever they are.
pub(in super::super) fn is_secret_field(name: &str) -> bool {
    !matches!(name_kind(name), None | Some(NameKind::Doubtful))
}

/// The same for the name of a header.
pub(in super::super) fn is_secret_header(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let mut words = lower.split(['-', '_']).rev();
    let is_key = lower.ends_with("key") && words.nth(1).is_some_and(|word| KEYS_OF_HEADERS.contains(&word));
    is_key || is_secret_field(name) || lower.split(['-', '_']).any(|word| HEADER_WORDS.contains(&word))
}

fn of_part(part: &str) -> Option<NameKind> {
    let part = part.trim_matches(|char: char| char.is_ascii_digit() || char == '-' || char == '_');
    let lower = part.to_ascii_lowercase();
    if HEADERS.contains(&lower.as_str()) {
        return Some(NameKind::Header);
    }
    let joined: String = lower.chars().filter(|char| *char != '-' && *char != '_').collect();
    let unqualified = QUALIFIERS.iter().find_map(|end| joined.strip_suffix(end)).unwrap_or(&joined);
    let ends_with = |ends: &[&str]| ends.iter().any(|end| unqualified.ends_with(end));
    if ends_with(&PASSWORDS) {
        return Some(NameKind::Password);
    }
    if LAST_WORDS.contains(&lower.as_str()) {
        return Some(NameKind::Doubtful);
    }
    let last = last_word(part).to_ascii_lowercase();
    if matches!(last.as_str(), "pass" | "pwd") {
        return Some(NameKind::Password);
    }
    if ends_with(&TOKENS) || LAST_WORDS.contains(&last.as_str()) {
        return Some(NameKind::Token);
    }
    CODES.contains(&last.as_str()).then_some(NameKind::Code)
}

/// The last word of a name: `pin` of `user_pin` and `userPin`.
fn last_word(name: &str) -> &str {
    let last = name.rsplit(['-', '_']).next().unwrap_or_default();
    let camel = last
        .as_bytes()
        .windows(2)
        .rposition(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    camel.map_or(last, |at| &last[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_name_say_whether_its_value_is_secret() {
        for name in [
            "password",
            "db_password",
            "userPasswd",
            "password_confirmation",
            "newPassword",
            "secret",
            "clientSecret",
            "refresh_token",
            "order_token",
            "private_key",
            "private_key_pem",
            "apiKey",
            "API-KEY",
            "db_pass",
            "aws_secret_access_key",
            "cvc",
            "card_cvc",
            "cardCvv",
            "ssn",
            "pin",
            "user_pin",
            "otp",
            "session",
            "session_id",
            "jwt",
            "credentials",
            "basic_auth",
            "webhookSignature",
            "mnemonic",
            "seed_phrase",
            "license_key",
        ] {
            assert!(is_secret_field(name), "{name}");
            let lower = name.to_ascii_lowercase();
            assert!(PARTS.iter().any(|part| lower.contains(part)), "{name}");
        }
        for name in [
            "tokens",
            "max_tokens",
            "total_tokens",
            "token_count",
            "key",
            "idempotency_key",
            "record_key",
            "author",
            "authorized",
            "pass",
            "auth",
            "compass",
            "shipping",
            "spin",
            "option",
            "password_reset",
            "secretary",
            "cvc_check",
            "session_count",
            "description",
            "order",
            "order_id",
            "customer",
            "email",
            "signature",
            "code",
            "path",
            "sid",
        ] {
            assert!(!is_secret_field(name), "{name}");
        }
    }

    #[test]
    fn a_header_is_secret_also_by_one_word_of_its_name() {
        for name in [
            "Authorization",
            "X-Authorization",
            "Authentication",
            "X-JWT",
            "X-Jwt-Assertion",
            "Session",
            "X-Sid",
            "X-Session-Id",
            "Ocp-Apim-Subscription-Key",
            "X-Functions-Key",
            "X-Goog-Api-Key",
            "Stripe-Signature",
            "X-Hub-Signature-256",
            "X-Auth-Token",
            "X-Amz-Security-Token",
            "Set-Cookie2",
            "X-CSRF-Token",
        ] {
            assert!(is_secret_header(name), "{name}");
        }
        for name in [
            "Idempotency-Key",
            "Content-Type",
            "X-Request-Id",
            "User-Agent",
            "WWW-Authenticate",
            "Retry-After",
            "X-RateLimit-Remaining-Tokens",
            "Cache-Key",
            "Host",
            "Accept",
        ] {
            assert!(!is_secret_header(name), "{name}");
        }
    }
}
