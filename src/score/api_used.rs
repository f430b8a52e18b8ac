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
mod tests {
    use mock_services::ledger::Event;

    use super::super::testing::{LedgerScript, Sees, due, terms};
    use super::super::{TrialStatus, score};
    use crate::scenario::{Terms, ViaDue};

    fn needing(operation: &str, apis: &[&str]) -> Terms {
        let due_via = ViaDue {
            operation: operation.to_owned(),
            apis: apis.iter().map(|api| (*api).to_owned()).collect(),
        };
        Terms { via: vec![due_via], ..terms([due("o1", 10, 1)]) }
    }

    /// A charge through this path, which stands for any operation: only its name and its path count here.
    fn through(operation: &str, path: &str) -> LedgerScript {
        let mut script = LedgerScript::new();
        script.charge(None, "o1", 10, Sees::Ok);
        for entry in &mut script.entries {
            if let Event::Received(received) = &mut entry.event {
                (received.operation, received.path) = (operation.to_owned().into(), path.to_owned().into());
            }
        }
        script
    }

    #[test]
    fn what_was_done_through_another_api_is_void_and_shows_the_line_that_skips_it() {
        let terms = needing("deploy.deploy", &["plain"]);
        let verdict = score(&terms, &through("deploy.deploy", "/repos/a/b/deployments").end(), None);
        assert_eq!(verdict.result, TrialStatus::Void);
        insta::assert_snapshot!(verdict.void_because.join("\n"), @"the subject did deploy.deploy through the GitHub API, which has no locks, rollouts or dry runs; this case needs the plain deploy API: to skip such cases, write `can: [deploy.deploy via github]` for the subject in hapax.yaml, with everything else that it does");
        assert_eq!(
            score(&terms, &through("deploy.deploy", "/deployments").end(), None).result,
            TrialStatus::Pass
        );
        let can = Terms { can: vec!["payment".to_owned(), "deploy".to_owned()], ..terms };
        let verdict = score(&can, &through("deploy.deploy", "/repos/a/b/deployments").end(), None);
        assert!(
            verdict.void_because[0]
                .ends_with("`can: [payment, deploy.deploy via github]` for the subject in hapax.yaml")
        );
    }

    #[test]
    fn any_of_the_named_apis_will_do_and_other_operations_are_free() {
        let terms = needing("email.send", &["sendgrid", "smtp"]);
        for (path, result) in [("/v3/mail/send", TrialStatus::Pass), ("/emails", TrialStatus::Void)] {
            assert_eq!(score(&terms, &through("email.send", path).end(), None).result, result, "{path}");
        }
        assert_eq!(score(&terms, &through("email.list", "/emails").end(), None).result, TrialStatus::Pass);
    }

    #[test]
    fn a_failure_wins_over_another_api() {
        let mut script = through("deploy.deploy", "/repos/a/b/deployments");
        script.charge(None, "o1", 10, Sees::Ok);
        assert_eq!(
            score(&needing("deploy.deploy", &["plain"]), &script.end(), None).result,
            TrialStatus::Fail
        );
    }
}
