//! Conditional reads: the ETag of a response, and the 304 that replaces one that the client already has.

use sha2::{Digest, Sha256};

use crate::service::{Answer, Request};

/// Adds the ETag to a read, and removes the body when the client sent that tag.
pub(crate) fn tag(answer: &mut Answer, request: &Request) {
    if request.method() != "GET" || answer.status != 200 {
        return;
    }
    let mut body = Vec::new();
    answer.write_body(&mut body);
    let digest = hex::encode(Sha256::digest(&body));
    if request.header_value("if-none-match").is_some_and(|known| names(known, &digest)) {
        answer.status = 304;
        answer.set_body(Vec::new());
        answer.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    }
    answer.set_header("ETag", format!("W/\"{digest}\""));
}

/// Whether a list of tags contains this one, strong or weak.
fn names(known: &str, digest: &str) -> bool {
    known.split(',').map(str::trim).any(|tag| {
        let tag = tag.strip_prefix("W/").unwrap_or(tag);
        tag == "*" || tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"')) == Some(digest)
    })
}
