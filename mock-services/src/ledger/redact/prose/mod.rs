//! Secrets in free text: what a subject prints and claims. Each form is found by how it is written, so some
//! words that are not secrets are hidden, too; no verdict depends on these texts.

mod assigned;
mod names;
mod pem;
mod tokens;
mod urls;
mod values;

/// Finds all of them.
pub(super) fn find(text: &[u8], found: &mut Vec<(usize, usize)>) {
    let known = found.len();
    assigned::find(text, found);
    urls::find(text, found);
    pem::find(text, found);
    tokens::find(text, found);
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
