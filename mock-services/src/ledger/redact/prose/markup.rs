//! The content of an element of XML, and of a part of a form with several parts.

use super::skip;

/// The attributes of an element, and the lines between the name of a part and its content, are shorter.
const FAR: usize = 400;
const CDATA: &[u8] = b"<![CDATA[";

/// The content of the element whose name is between `start` and `end`: `<password>…`,
/// `<wsse:Password Type="…">…`.
pub(super) fn content_of_element(text: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
    let before = &text[start.saturating_sub(FAR)..start];
    let in_prefix = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    let opening = match before.strip_suffix(b":") {
        Some(before) => before.iter().rev().find(|byte| !in_prefix(byte)),
        None => before.last(),
    };
    if opening != Some(&b'<') || !matches!(text.get(end), Some(b'>' | b' ' | b'\t' | b'\r' | b'\n')) {
        return None;
    }
    let near = &text[..text.len().min(end + FAR)];
    let close = skip(near, end, |byte| byte != b'>' && byte != b'<');
    if near.get(close) != Some(&b'>') || near[close - 1] == b'/' {
        return None;
    }
    let content = skip(text, close + 1, |byte| byte.is_ascii_whitespace());
    let (from, to) = if text[content..].starts_with(CDATA) {
        let from = content + CDATA.len();
        (from, memchr::memmem::find(&text[from..], b"]]>").map_or(text.len(), |length| from + length))
    } else {
        (content, skip(text, content, |byte| byte != b'<'))
    };
    let to = from + text[from..to].trim_ascii_end().len();
    (from < to).then_some((from, to))
}

/// The content of the part whose name ends before `end`, with its quote: `form-data; name="password"`, an empty
/// line, and the content up to the next boundary.
pub(super) fn content_of_part(text: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
    let before = &text[start.saturating_sub(FAR)..start];
    let line = before.rsplit(|byte| *byte == b'\n').next()?.to_ascii_lowercase();
    let is_name = line.ends_with(b"name=\"") || line.ends_with(b"name=");
    if !is_name || memchr::memmem::find(&line, b"form-data").is_none() {
        return None;
    }
    let near = &text[end..text.len().min(end + FAR)];
    let find = |wanted: &[u8]| memchr::memmem::find(near, wanted).map(|at| end + at + wanted.len());
    let from = find(b"\r\n\r\n").or_else(|| find(b"\n\n"))?;
    let to = memchr::memmem::find(&text[from..], b"\n--").map_or(text.len(), |length| from + length);
    Some((from, from + text[from..to].trim_ascii_end().len()))
}
