//! The API of a service that the subject used, if the case needs another one.

use std::collections::BTreeSet;

use mock_services::catalog::{ApiDescription, api_of, apis};

use super::history::TrialHistory;
use crate::scenario::{Terms, can_line};

/// Why the trial is void because of the APIs that the subject used, one sentence for each.
pub(super) fn reasons(terms: &Terms, history: &TrialHistory<'_>) -> Vec<String> {
    let mut reasons = Vec::new();
    for due in &terms.via {
        let service = due.operation.split('.').next().unwrap_or_default();
        let mut reported = BTreeSet::new();
        let attempts = history
            .attempts
            .iter()
            .map(|attempt| attempt.received)
            .filter(|received| received.operation == due.operation);
        let used = attempts.filter_map(|received| api_of(service, &received.method, &received.path));
        for api in used.filter(|api| !due.apis.iter().any(|name| name == api.name)) {
            if reported.insert(api.name) {
                reasons.push(sentence(&due.operation, api, &needed(service, &due.apis), &terms.can));
            }
        }
    }
    reasons
}

fn needed(service: &str, names: &[String]) -> String {
    let titles =
        apis(service).iter().filter(|api| names.iter().any(|name| name == api.name)).map(|api| api.title);
    titles.collect::<Vec<_>>().join(" or ")
}

fn sentence(operation: &str, used: &ApiDescription, needed: &str, can: &[String]) -> String {
    let line = can_line(can, operation, used.name);
    let keep = if can.is_empty() { ", with everything else that it does" } else { "" };
    format!(
        "the subject did {operation} through {}, {}; this case needs {needed}: to skip such cases, write \
         `{line}` for the subject in hapax.yaml{keep}",
        used.title, used.differs
    )
}

#[cfg(test)]
mod tests;
