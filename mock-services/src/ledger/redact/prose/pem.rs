//! The bodies of keys and certificates in PEM.

use super::skip;

const BEGIN: &[u8] = b"-----BEGIN ";
const END: &[u8] = b"-----END ";
const DASHES: &[u8] = b"-----";
/// Lines of a body are shorter.
const LONGEST_LINE: usize = 4096;
/// A shorter word is an ordinary one.
const SHORTEST_CUT: usize = 16;

/// Finds all of them, those without a beginning or an end included: the middle of a long output is cut out.
pub(super) fn find(text: &[u8], found: &mut Vec<(usize, usize)>) {
    let (mut hidden_to, mut next_end) = (0, end_from(text, 0));
    for at in memchr::memmem::find_iter(text, BEGIN) {
        // What is hidden already is not looked at again.
        if at < hidden_to {
            continue;
        }
        let Some(label) = memchr::memmem::find(&text[at + BEGIN.len()..], DASHES) else { break };
        let body = at + BEGIN.len() + label + DASHES.len();
        // Where none of them ends, the next one does not either.
        next_end = next_end.and_then(|end| if end >= body { Some(end) } else { end_from(text, body) });
        let end = next_end.unwrap_or_else(|| end_of_body(text, body));
        found.push((body, end));
        hidden_to = end;
    }
    for at in memchr::memmem::find_iter(text, END).filter(|at| *at > hidden_to).collect::<Vec<_>>() {
        found.push((start_of_body(text, hidden_to, at), at));
        hidden_to = at;
    }
}

/// The place of the next end.
fn end_from(text: &[u8], from: usize) -> Option<usize> {
    memchr::memmem::find(&text[from..], END).map(|length| from + length)
}

/// Whether a line can be one of a body. Line numbers and times can come before it.
fn is_body(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let is_base64 =
        |word: &[u8]| word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte));
    line.is_empty()
        || is_base64(line.rsplit(|byte| *byte == b' ').next().unwrap_or_default())
        || line.contains(&b':')
}

fn end_of_body(text: &[u8], from: usize) -> usize {
    let mut end = from;
    while end < text.len() {
        let window = &text[end..text.len().min(end + LONGEST_LINE)];
        let length = memchr::memchr(b'\n', window).unwrap_or(window.len());
        if length == LONGEST_LINE {
            return skip(text, end, |byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        }
        if !is_body(&window[..length]) {
            // The last line of a body can be cut, with something written behind it.
            let cut = skip(text, end, |byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
            return if cut - end >= SHORTEST_CUT { cut } else { end };
        }
        end = (end + length + 1).min(text.len());
    }
    end
}

fn start_of_body(text: &[u8], from: usize, to: usize) -> usize {
    let mut start = to;
    while start > from {
        let line = memchr::memrchr(b'\n', &text[from..start - 1]).map_or(from, |at| from + at + 1);
        let words = text[line..start].trim_ascii();
        if words.is_empty() || !is_body(words) || words.contains(&b':') {
            break;
        }
        start = line;
    }
    start
}
