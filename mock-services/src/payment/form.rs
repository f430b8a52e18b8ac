//! Form bodies and queries: pairs of a name, such as `items[0][price]`, and a value, decoded, and borrowed
//! where nothing was encoded. The module knows no parameter by name.

use std::borrow::Cow;

use smallvec::SmallVec;

/// A name and its value.
pub(crate) type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);

/// The pairs of one request; most have few.
pub(crate) type Pairs<'a> = SmallVec<[Pair<'a>; 8]>;

/// Not a form: an invalid escape, or bytes that are not UTF-8.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Appends the pairs of one form.
pub(crate) fn read<'a>(bytes: &'a [u8], pairs: &mut Pairs<'a>) -> Result<(), Malformed> {
    // Splitting UTF-8 at ASCII bytes gives valid UTF-8.
    let text = std::str::from_utf8(bytes).map_err(|_| Malformed)?;
    let is_escaped = memchr::memchr2(b'%', b'+', bytes).is_some();
    let decode = |part| if is_escaped { decoded(part) } else { Ok(Cow::Borrowed(part)) };
    let mut rest = Some(text);
    while let Some(all) = rest {
        let (part, behind) = cut(all, b'&');
        rest = behind;
        if !part.is_empty() {
            let (name, value) = cut(part, b'=');
            pairs.push((decode(name)?, decode(value.unwrap_or_default())?));
        }
    }
    Ok(())
}

/// The text before the first such byte, and the text after it, if there is one.
fn cut(text: &str, at: u8) -> (&str, Option<&str>) {
    match memchr::memchr(at, text.as_bytes()) {
        Some(place) => (&text[..place], Some(&text[place + 1..])),
        None => (text, None),
    }
}

fn decoded(text: &str) -> Result<Cow<'_, str>, Malformed> {
    let bytes = text.as_bytes();
    if memchr::memchr2(b'%', b'+', bytes).is_none() {
        return Ok(Cow::Borrowed(text));
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
    &name[..memchr::memchr(b'[', name.as_bytes()).unwrap_or(name.len())]
}

/// The first bracket after `root` and the rest: `("0", "[price]")` of `items[0][price]`.
pub(crate) fn inner<'n>(name: &'n str, root: &str) -> Option<(&'n str, &'n str)> {
    name.strip_prefix(root)?.strip_prefix('[')?.split_once(']')
}

/// Whether a name is a word followed only by closed brackets.
pub(crate) fn is_well_formed(name: &str) -> bool {
    if memchr::memchr2(b'[', b']', name.as_bytes()).is_none() {
        return !name.is_empty();
    }
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

    fn pairs(form: &str) -> Pairs<'_> {
        let mut pairs = Pairs::new();
        read(form.as_bytes(), &mut pairs).unwrap();
        pairs
    }

    #[test]
    fn names_and_values_are_decoded() {
        let form = "amount=1000&metadata%5Border%5D=o%201&note=a+b&flag&&empty=";
        let expected =
            [("amount", "1000"), ("metadata[order]", "o 1"), ("note", "a b"), ("flag", ""), ("empty", "")];
        assert_eq!(pairs(form).iter().map(|(name, value)| (&**name, &**value)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn unencoded_text_is_borrowed() {
        assert!(matches!(&pairs("amount=1000")[0], (Cow::Borrowed(_), Cow::Borrowed(_))));
    }

    #[test]
    fn invalid_escapes_and_invalid_utf8_are_refused() {
        for form in [&b"a=%"[..], b"a=%4", b"a=%zz", b"a=\xff", b"a=%ff", b"\xc3=1"] {
            assert_eq!(read(form, &mut Pairs::new()), Err(Malformed), "{form:?}");
        }
    }

    #[test]
    fn a_name_is_split_at_its_brackets() {
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
            let _ = read(&bytes, &mut Pairs::new());
            let _ = (root(&name), inner(&name, "a"), is_well_formed(&name));
        }
    }
}
