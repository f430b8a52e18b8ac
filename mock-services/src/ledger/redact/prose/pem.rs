//! The bodies of keys and certificates in PEM.

use super::skip;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";

/// Finds all of them, those without a beginning or an end included: the middle of a long output is cut out.
pub(super) fn find(text: &[u8], found: &mut Vec<(usize, usize)>) {
    let mut hidden_to = 0;
    for at in memchr::memmem::find_iter(text, BEGIN) {
        let Some(label) = memchr::memmem::find(&text[at + BEGIN.len()..], DASHES) else { continue };
        let body = at + BEGIN.len() + label + DASHES.len();
        let end = memchr::memmem::find(&text[body..], END).map_or_else(|| end_of_body(text, body), |length| body + length);
        found.push((body, end));
        hidden_to = end;
    }
    for at in memchr::memmem::find_iter(text, END).filter(|at| *at > hidden_to) {
        found.push((start_of_body(text, at), at));
    }
}

/// Whether a line can be one of a body. Numbers of lines and times can stand before it.
fn is_body(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let is_base64 = |word: &[u8]| word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte));
    line.is_empty() || is_base64(line.rsplit(|byte| *byte == b' ').next().unwrap_or_default()) || line.contains(&b':')
}

fn end_of_body(text: &[u8], from: usize) -> usize {
    let mut end = from;
    while end < text.len() {
        let next = skip(text, end, |byte| byte != b'\n');
        if !is_body(&text[end..next]) {
            break;
        }
        end = (next + 1).min(text.len());
    }
    end
}

fn start_of_body(text: &[u8], to: usize) -> usize {
    let mut start = to;
    while start > 0 {
        let line = memchr::memrchr(b'\n', &text[..start - 1]).map_or(0, |at| at + 1);
        let words = text[line..start].trim_ascii();
        if words.is_empty() || !is_body(words) || words.contains(&b':') {
            break;
        }
        start = line;
    }
    start
}
