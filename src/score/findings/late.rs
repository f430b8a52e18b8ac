//! Requests that came after the trial had ended: a write fails, a read is only noted.

use mock_services::yaml::shown;

use super::FindingContext;
use crate::score::history::Note;
use crate::score::verdict::{Finding, FindingKind};
use crate::trial::notes;

/// The findings of late requests: one for all writes, one for all others.
pub(super) fn findings(scene: &FindingContext<'_, '_>) -> Vec<Finding> {
    let (writes, others): (Vec<_>, Vec<_>) =
        scene.history.noted(notes::LATE_REQUEST).partition(|note| note.text("kind") == "write");
    let mut found = Vec::new();
    if let Some(what) = described(&writes) {
        found.push(Finding {
            kind: FindingKind::LateWrite,
            fails: true,
            message: format!("After its trial had ended, the subject sent {what}; it was refused, and would have been carried out elsewhere."),
            remedy: "Answer only when everything that was started has ended, retries in the background included; or raise `watch` in hapax.yaml if \
                     the agent is meant to go on after its answer."
                .to_owned(),
            entries: writes.iter().map(|note| note.n).collect(),
        });
    }
    if let Some(what) = described(&others) {
        found.push(Finding {
            kind: FindingKind::LateRead,
            fails: false,
            message: format!(
                "After its trial had ended, the subject sent {what}, which could not change anything."
            ),
            remedy: "Answer only when everything that was started has ended.".to_owned(),
            entries: others.iter().map(|note| note.n).collect(),
        });
    }
    found
}

/// The requests in words: `a payment.charge (POST /v1/charges)`, `3 requests, the first a …`.
fn described(requests: &[&Note<'_>]) -> Option<String> {
    let first = requests.first()?;
    let operation = first.text("operation");
    let what = match operation.as_str() {
        "" => format!("a request to {}", shown(&first.text("service"))),
        operation => format!("a {}", shown(operation)),
    };
    let (method, path) = (first.text("method"), first.text("path"));
    let line = if method.is_empty() {
        String::new()
    } else {
        format!(" ({})", shown(format!("{method} {path}").trim_end()))
    };
    Some(match requests.len() {
        1 => format!("{what}{line}"),
        count => format!("{count} requests, the first {what}{line}"),
    })
}
