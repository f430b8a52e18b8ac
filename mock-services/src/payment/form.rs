//! Form bodies and queries: pairs of a name, such as `items[0][price]`, and a value, decoded and borrowed where nothing had to be
//! decoded. Knows no parameter by name.

use std::borrow::Cow;

/// One name with its value.
pub(crate) type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);

/// What cannot be a form: an escape that is none, or bytes that are no text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Adds the pairs of one form behind those that are there.
pub(crate) fn read<'a>(bytes: &'a [u8], pairs: &mut Vec<Pair<'a>>) -> Result<(), Malformed> {
    for part in bytes.split(|byte| *byte == b'&').filter(|part| !part.is_empty()) {
        let middle = part.iter().position(|byte| *byte == b'=').unwrap_or(part.len());
        let value = part.get(middle + 1..).unwrap_or_default();
        pairs.push((decoded(&part[..middle])?, decoded(value)?));
    }
    Ok(())
}

fn decoded(bytes: &[u8]) -> Result<Cow<'_, str>, Malformed> {
    if !bytes.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        return std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| Malformed);
    }
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        plain.push(match byte {
            b'+' => b' ',
            b'%' => digit(rest.next())? << 4 | digit(rest.next())?,
            other => *other,
        });
    }
    String::from_utf8(plain).map(Cow::Owned).map_err(|_| Malformed)
}

fn digit(byte: Option<&u8>) -> Result<u8, Malformed> {
    match byte {
        Some(byte @ b'0'..=b'9') => Ok(byte - b'0'),
        Some(byte @ b'a'..=b'f') => Ok(byte - b'a' + 10),
        Some(byte @ b'A'..=b'F') => Ok(byte - b'A' + 10),
        _ => Err(Malformed),
    }
}

/// The part of a name before its first bracket: `items` of `items[0][price]`.
pub(crate) fn root(name: &str) -> &str {
    &name[..name.find('[').unwrap_or(name.len())]
}

/// The first bracket behind `root` and what follows it: `("0", "[price]")` of `items[0][price]`.
pub(crate) fn inner<'n>(name: &'n str, root: &str) -> Option<(&'n str, &'n str)> {
    name.strip_prefix(root)?.strip_prefix('[')?.split_once(']')
}

/// Whether a name is a word and then nothing but brackets that are closed.
pub(crate) fn is_well_formed(name: &str) -> bool {
    let root = root(name);
    let mut rest = &name[root.len()..];
    while let Some((inside, behind)) = rest.strip_prefix('[').and_then(|open| open.split_once(']')) {
        if inside.contains('[') {
            return false;
        }
        rest = behind;
    }
    !root.is_empty() && !root.contains(']') && rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(form: &str) -> Vec<Pair<'_>> {
        let mut pairs = Vec::new();
        read(form.as_bytes(), &mut pairs).unwrap();
        pairs
    }

    #[test]
    fn names_and_values_are_decoded() {
        let form = "amount=1000&metadata%5Border%5D=o%201&note=a+b&flag&&empty=";
        let expected = [("amount", "1000"), ("metadata[order]", "o 1"), ("note", "a b"), ("flag", ""), ("empty", "")];
        assert_eq!(pairs(form).iter().map(|(name, value)| (&**name, &**value)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_needs_no_decoding_is_borrowed() {
        assert!(matches!(&pairs("amount=1000")[0], (Cow::Borrowed(_), Cow::Borrowed(_))));
    }

    #[test]
    fn half_escapes_and_bytes_that_are_no_text_are_refused() {
        for form in [&b"a=%"[..], b"a=%4", b"a=%zz", b"a=\xff", b"a=%ff", b"\xc3=1"] {
            assert_eq!(read(form, &mut Vec::new()), Err(Malformed), "{form:?}");
        }
    }

    #[test]
    fn a_name_is_taken_apart_at_its_brackets() {
        assert_eq!(root("items[0][price]"), "items");
        assert_eq!(inner("items[0][price]", "items"), Some(("0", "[price]")));
        assert_eq!(inner("metadata[order]", "metadata"), Some(("order", "")));
        assert_eq!(inner("metadata_x[order]", "metadata"), None);
        assert!(is_well_formed("items[0][price]") && is_well_formed("expand[]") && is_well_formed("amount"));
        for name in ["", "[a]", "a[", "a[b", "a[b]c", "a]", "a[b[c]]"] {
            assert!(!is_well_formed(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_and_no_name_make_it_panic(bytes: Vec<u8>, name: String) {
            let _ = read(&bytes, &mut Vec::new());
            let _ = (root(&name), inner(&name, "a"), is_well_formed(&name));
        }
    }
}
