//! Parses one command line: its verb, and the path and parameters of `MAIL` and `RCPT`.

/// The maximum length of a path: 64 and 255 bytes around the @, and some for quotes.
const LONGEST_PATH: usize = 340;

/// The verb in upper case and the rest of the line.
pub(super) fn verb(line: &str) -> (String, &str) {
    let line = line.trim();
    let (verb, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    (verb.to_ascii_uppercase(), rest.trim())
}

/// A path with its parameters, each in upper case up to its value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MailPath {
    pub(super) address: String,
    pub(super) parameters: Vec<(String, String)>,
}

/// `FROM:<a@b> SIZE=10`, with or without a space after the colon and with or without angle brackets.
pub(super) fn path(rest: &str, keyword: &str) -> Option<MailPath> {
    let head = rest.get(..keyword.len())?;
    if !head.eq_ignore_ascii_case(keyword) {
        return None;
    }
    let rest = rest[keyword.len()..].trim_start();
    let (address, parameters) = match rest.strip_prefix('<') {
        Some(inner) => {
            let end = closing(inner)?;
            let parameters = &inner[end + 1..];
            if !(parameters.is_empty() || parameters.starts_with(' ')) {
                return None;
            }
            (&inner[..end], parameters)
        }
        None => rest.split_once(' ').unwrap_or((rest, "")),
    };
    // A source route is allowed and ignored.
    let address = match address.strip_prefix('@') {
        Some(route) => route.split_once(':')?.1,
        None => address,
    };
    if address.len() > LONGEST_PATH || address.contains(|c: char| c.is_control() || c == '\u{fffd}') {
        return None;
    }
    let parameters = parameters
        .split_ascii_whitespace()
        .map(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            (name.to_ascii_uppercase(), value.to_owned())
        })
        .collect();
    Some(MailPath { address: address.to_owned(), parameters })
}

/// Whether it has a local part and a domain, and no space outside quotes.
pub(super) fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let plain =
        !local.is_empty() && !local.contains(|c: char| c.is_whitespace() || "<>()[],;:\"\\@".contains(c));
    let literal = domain.starts_with('[') && domain.ends_with(']');
    let host = domain.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '.')
        && domain.split('.').all(|label| !label.is_empty() && !label.starts_with('-'));
    (quoted || plain) && (literal || host)
}

/// Where the angle bracket that is not within quotes closes.
fn closing(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'>' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(rest: &str) -> Option<String> {
        path(rest, "FROM:").map(|path| path.address)
    }

    #[test]
    fn a_path_is_read_as_clients_write_it() {
        assert_eq!(address("FROM:<a@b.c>").as_deref(), Some("a@b.c"));
        assert_eq!(address("from: <a@b.c> SIZE=1").as_deref(), Some("a@b.c"));
        assert_eq!(address("FROM:a@b.c").as_deref(), Some("a@b.c"));
        assert_eq!(address("FROM:<>").as_deref(), Some(""));
        assert_eq!(address("FROM:<@x.y,@z:a@b.c>").as_deref(), Some("a@b.c"));
        assert_eq!(address("FROM:<\"a>b\"@c.d>").as_deref(), Some("\"a>b\"@c.d"));
        for wrong in ["", "FRO", "TO:<a@b>", "FROM:<a@b", "FROM:<a@b>SIZE=1", "FROM:<a\0@b>", "FROM:<@a>"] {
            assert_eq!(address(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn parameters_keep_their_values() {
        let path = path("FROM:<a@b> size=12 SMTPUTF8", "FROM:").unwrap();
        assert_eq!(
            path.parameters,
            [("SIZE".to_owned(), "12".to_owned()), ("SMTPUTF8".to_owned(), String::new())]
        );
    }

    #[test]
    fn an_address_has_two_parts() {
        for right in ["a@b", "a.b+c@x-y.example", "\"a b\"@c", "jörg@münchen.example", "a@[127.0.0.1]"] {
            assert!(is_address(right), "{right}");
        }
        for wrong in ["", "a", "@b", "a@", "a b@c", "a@b..c", "a@@b", "a@b c", "a@-b"] {
            assert!(!is_address(wrong), "{wrong}");
        }
    }

    #[test]
    fn the_case_of_a_verb_does_not_matter() {
        assert_eq!(verb("mail FROM:<a@b>"), ("MAIL".to_owned(), "FROM:<a@b>"));
        assert_eq!(verb("  QUIT "), ("QUIT".to_owned(), ""));
        assert_eq!(verb(""), (String::new(), ""));
    }
}
