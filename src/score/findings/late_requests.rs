//! Requests that came after the trial had ended: a write fails, a read is only noted.

use mock_services::yaml::shown;

use super::FindingContext;
use crate::domain::{LateRequestEvent, LateRequestKind};
use crate::score::history::PlacedEvent;
use crate::score::verdict::{Finding, FindingKind};

/// The findings of late requests: one for all writes, one for all others.
pub(super) fn findings(context: &FindingContext<'_, '_>) -> Vec<Finding> {
    let (writes, others): (Vec<_>, Vec<_>) =
        context.history.late_requests().partition(|request| match request.event.kind {
            LateRequestKind::Write => true,
            LateRequestKind::Read | LateRequestKind::Unreadable => false,
        });
    let mut found = Vec::new();
    if let Some(what) = described(&writes) {
        found.push(Finding {
            message: format!(
                "After its trial had ended, the subject sent {what}; hapax refused it, but a \
                              real service would have executed it."
            ),
            fix: "Answer only when everything that was started has ended, including retries in the \
                  background; or raise `watch` in hapax.yaml if the agent is meant to continue after its \
                  answer."
                .to_owned(),
            entries: writes.iter().map(|note| note.n).collect(),
            ..Finding::new(FindingKind::LateWrite)
        });
    }
    if let Some(what) = described(&others) {
        found.push(Finding {
            message: format!(
                "After its trial had ended, the subject sent {what}, which could not change anything."
            ),
            fix: "Answer only when everything that was started has ended.".to_owned(),
            entries: others.iter().map(|note| note.n).collect(),
            ..Finding::new(FindingKind::LateRead)
        });
    }
    found
}

/// The requests as text: `a payment.charge (POST /v1/charges)`, `3 requests, the first a …`.
fn described(requests: &[PlacedEvent<'_, LateRequestEvent>]) -> Option<String> {
    let LateRequestEvent { service, method, path, operation, .. } = requests.first()?.event;
    let what = match operation {
        None => format!("a request to {}", shown(service)),
        Some(operation) => format!("a {}", shown(operation)),
    };
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
