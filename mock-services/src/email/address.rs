//! Mail addresses: as written by the client, and the bare address that receives the mail.

/// An address with or without a display name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MailAddress {
    /// As written by the client: `Ann <ann@example.com>`.
    pub(super) shown: String,
    /// The bare address, in lowercase.
    pub(super) plain: String,
}

impl MailAddress {
    /// An address that was already checked.
    pub(super) fn bare(plain: &str) -> Self {
        MailAddress { shown: plain.to_owned(), plain: plain.to_lowercase() }
    }

    /// `ann@example.com` or `Ann <ann@example.com>`; nothing else is an address.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let shown = text.trim();
        let plain = match shown.strip_suffix('>') {
            Some(rest) => {
                let (name, plain) = rest.rsplit_once('<')?;
                if name.contains(['<', '>', '\r', '\n']) {
                    return None;
                }
                plain
            }
            None => shown,
        };
        is_plain(plain).then(|| MailAddress { shown: shown.to_owned(), plain: plain.to_lowercase() })
    }
}

/// Whether it is a local part and a domain of at least two labels.
fn is_plain(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let odd = |c: char| c.is_whitespace() || c.is_control() || "<>()[],;:\"\\@".contains(c);
    !local.is_empty()
        && local.len() <= 64
        && !local.contains(odd)
        && !local.split('.').any(str::is_empty)
        && domain.len() <= 255
        && domain.contains('.')
        && domain
            .split('.')
            .all(|label| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-'))
        && domain.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_lowercase_and_without_its_display_name() {
        let address = MailAddress::parse(" Ann O'Hara <Ann@Example.COM> ").unwrap();
        assert_eq!(
            (address.plain.as_str(), address.shown.as_str()),
            ("ann@example.com", "Ann O'Hara <Ann@Example.COM>")
        );
        assert_eq!(MailAddress::parse("a+b@x-y.example").unwrap().plain, "a+b@x-y.example");
        assert_eq!(MailAddress::parse("<a@b.c>").unwrap().plain, "a@b.c");
    }

    #[test]
    fn an_invalid_address_is_not_parsed() {
        for wrong in [
            "",
            "a",
            "a@b",
            "@b.c",
            "a@",
            "a b@c.d",
            "a@b..c",
            "a@b.c, d@e.f",
            "a@b.c>",
            "x <a@b.c",
            "a@@b.c",
            "a\0@b.c",
        ] {
            assert_eq!(MailAddress::parse(wrong), None, "{wrong}");
        }
    }
}
