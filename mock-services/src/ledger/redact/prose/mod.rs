//! Secrets that are found by how they are written. In free text, which is what a subject prints and claims and
//! what was on the wire, some words that are not secrets are hidden, too: no verdict depends on these texts.
//! In the fields of requests and effects, only what is certain is hidden.

mod assigned;
mod markup;
mod names;
mod pem;
mod tokens;
mod urls;
mod values;

pub(super) use names::{is_secret_field, is_secret_header};
pub(super) use values::reads_environment;

/// What kind of text is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// A field, or another text that verdicts depend on.
    Field,
    /// Free text.
    Prose,
}

/// A field without any of these, in any case, has no secret that is found here.
pub(super) fn hints() -> impl Iterator<Item = &'static str> {
    let forms = ["://", "-----", "eyj", "sig=", "signature=", "code="];
    names::PARTS.into_iter().chain(forms).chain(tokens::hints())
}

/// Finds all of them.
pub(super) fn find(text: &[u8], kind: TextKind, found: &mut Vec<(usize, usize)>) {
    let known = found.len();
    assigned::find(text, kind, found);
    urls::find_passwords(text, found);
    urls::find_parameters(text, kind, found);
    pem::find(text, found);
    tokens::find(text, kind, found);
    let mut at = known;
    while at < found.len() {
        let (from, to) = found[at];
        if from >= to || super::is_mark(&text[from..to]) {
            found.swap_remove(at);
        } else {
            at += 1;
        }
    }
}

/// The first place from `from` on at which a byte is not so.
fn skip(text: &[u8], from: usize, is: impl Fn(u8) -> bool) -> usize {
    text.get(from..)
        .unwrap_or_default()
        .iter()
        .position(|byte| !is(*byte))
        .map_or(text.len(), |length| from + length)
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

#[cfg(test)]
mod tests;
