//! Hosts that a service answers for beside the real ones of its APIs, in runs in which clients call real hosts.

use serde::{Serialize, Serializer};
use yaml_reader::{Node, Reader, shown};

/// The longest name of a host.
const MAX_HOST_LENGTH: usize = 253;
/// The largest number of hosts in one list.
const MAX_HOSTS: usize = 100;

/// A host that a service answers for, in lower case and without a port. A `*` stands for any characters, including
/// dots: `*.stripe.test`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedHost(String);

/// Why a text is not a host that a service can answer for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct ServedHostError {
    /// The problem.
    pub message: String,
    /// What to do about it.
    pub help: &'static str,
}

impl ServedHost {
    /// Reads a host: `pay.internal.example`, or a pattern such as `*.stripe.test`.
    ///
    /// # Errors
    /// When it is not a host, has a port, matches every host, or is this machine.
    pub fn parse(text: &str) -> Result<Self, ServedHostError> {
        let refuse = |message: String, help| Err(ServedHostError { message, help });
        let host = text.to_ascii_lowercase();
        let example = "write the name of a host: pay.internal.example, *.stripe.test";
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.*".contains(&byte);
        if host.contains('/') {
            return refuse(format!("expected a host, found the URL `{}`", shown(text)), example);
        }
        if host.contains(':') {
            let help = "remove the port: the service answers at the ports 80 and 443 of the host";
            return refuse(format!("`{}` has a port", shown(text)), help);
        }
        if host.is_empty() || host.len() > MAX_HOST_LENGTH || !host.bytes().all(is_name) {
            return refuse(format!("`{}` is not a host", shown(text)), example);
        }
        if covers_top_level(&host) {
            let help = "write the end of the name: *.stripe.test";
            let is_all = host.rsplit('.').next().is_some_and(|last| last.contains('*'));
            let which = if is_all { "every host" } else { "hosts of many owners" };
            return refuse(format!("`{}` matches {which}", shown(text)), help);
        }
        let is_loopback = host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        if host == "localhost" || host.ends_with(".localhost") || is_loopback {
            let help = "name a host outside: the services have ports of their own on this machine";
            return refuse(format!("`{}` is this machine", shown(text)), help);
        }
        Ok(ServedHost(host))
    }

    /// A host by its exact name, in lower case.
    #[must_use]
    pub fn exact(name: &str) -> Self {
        ServedHost(name.to_owned())
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the name of one host.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        !self.0.contains('*')
    }

    /// Whether it matches a host, whose name is in lower case.
    #[must_use]
    pub fn matches(&self, host: &str) -> bool {
        is_match(&self.0, host)
    }
}

impl Serialize for ServedHost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

/// Reads a list of hosts; problems are reported to the reader.
pub fn read_served_hosts(reader: &Reader, node: &Node) -> Vec<ServedHost> {
    let items = reader.list(node).unwrap_or_default();
    if items.len() > MAX_HOSTS {
        reader.report(node.span, format!("{} hosts; the maximum is {MAX_HOSTS}", items.len()));
        return Vec::new();
    }
    let mut hosts = Vec::new();
    for item in items {
        match reader.text(item).map(ServedHost::parse) {
            Some(Ok(host)) if hosts.contains(&host) => {
                let message = format!("the host `{}` is listed twice", host.as_str());
                reader.report_with_help(item.span, message, "remove one of them");
            }
            Some(Ok(host)) => hosts.push(host),
            Some(Err(error)) => reader.report_with_help(item.span, error.message, error.help),
            None => {}
        }
    }
    hosts
}

/// Whether a pattern matches hosts of many owners: every host, or all below a name such as `com` or `co.uk`.
fn covers_top_level(pattern: &str) -> bool {
    let labels: Vec<&str> = pattern.rsplit('.').collect();
    let is_star = |label: &&str| label.contains('*');
    match labels.as_slice() {
        [last, ..] if is_star(last) => true,
        [_, second, ..] if is_star(second) => true,
        [country, second, third, ..] if country.len() == 2 && is_star(third) => {
            matches!(*second, "ac" | "co" | "com" | "edu" | "gov" | "net" | "org")
        }
        _ => false,
    }
}

/// Whether a pattern matches a whole text. A `*` stands for any characters.
#[must_use]
pub fn is_match(pattern: &str, text: &str) -> bool {
    matches(pattern, text, None)
}

/// Whether a pattern matches a whole text. A `*` stands for any characters, and a `?` for one.
#[must_use]
pub fn is_glob_match(pattern: &str, text: &str) -> bool {
    matches(pattern, text, Some('?'))
}

fn matches(pattern: &str, text: &str, any_one: Option<char>) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    // The pattern after the last `*`, and the text that was not tried with it.
    let mut star = None;
    loop {
        let (mut pattern_after, mut text_after) = (pattern.clone(), text.clone());
        match (pattern_after.next(), text_after.next()) {
            (Some('*'), _) => {
                star = Some((pattern_after.clone(), text.clone()));
                pattern = pattern_after;
            }
            (None, None) => return true,
            (Some(wanted), Some(found)) if wanted == found || any_one == Some(wanted) => {
                (pattern, text) = (pattern_after, text_after);
            }
            _ => {
                // The last `*` stands for one more character.
                let Some((after_star, untried)) = &mut star else { return false };
                if untried.next().is_none() {
                    return false;
                }
                (pattern, text) = (after_star.clone(), untried.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_or_the_end_of_its_name_is_read() {
        let host = ServedHost::parse("Pay.Internal.example").unwrap();
        assert!(
            host.is_exact() && host.matches("pay.internal.example") && !host.matches("x.internal.example")
        );
        let pattern = ServedHost::parse("*.stripe.test").unwrap();
        assert!(
            !pattern.is_exact() && pattern.matches("api.stripe.test") && pattern.matches("a.b.stripe.test")
        );
        assert!(!pattern.matches("stripe.test"));
    }

    #[test]
    fn what_is_not_a_host_outside_is_refused() {
        let why = |text: &str| ServedHost::parse(text).unwrap_err().message;
        assert_eq!(why("https://a.example"), "expected a host, found the URL `https://a.example`");
        assert_eq!(why("a.example:443"), "`a.example:443` has a port");
        assert_eq!(why(""), "`` is not a host");
        assert_eq!(why("a b"), "`a b` is not a host");
        assert_eq!(why("*"), "`*` matches every host");
        assert_eq!(why("api.*"), "`api.*` matches every host");
        for top in ["*.com", "api*.com", "*.co.uk"] {
            assert_eq!(why(top), format!("`{top}` matches hosts of many owners"));
        }
        for own in ["*.stripe.test", "*.api.stripe.com", "*.example.co.uk", "*.acme.de"] {
            assert!(ServedHost::parse(own).is_ok(), "{own}");
        }
        assert_eq!(why("127.0.0.1"), "`127.0.0.1` is this machine");
        assert_eq!(why("localhost"), "`localhost` is this machine");
    }

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, text, is) in [
            ("/v1/*", "/v1/orders/1", true),
            ("/v1/*/lines", "/v1/orders/1/lines", true),
            ("/v1/*/lines", "/v1/orders/1", false),
            ("*", "", true),
            ("/v1", "/v1/orders", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(is_match(pattern, text), is, "{pattern} {text}");
        }
        assert!(!is_match("a?c", "abc") && is_match("a?c", "a?c"), "a question mark is itself in a path");
    }

    #[test]
    fn a_pattern_matches_the_whole_text() {
        for (pattern, text, expected) in [
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("*b*", "abc", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("", "", true),
            ("*", "", true),
            ("a**b*c", "axxbxxbc", true),
            ("?é*", "aé", true),
        ] {
            assert_eq!(is_glob_match(pattern, text), expected, "{pattern} {text}");
        }
    }
}
