//! `can` of a subject: the operations and services that it uses, and the API if a service has several
//! (`email.send via resend`).

use super::{Case, Step};

/// One entry of `can`.
struct CanEntry<'a> {
    /// An operation, or a service: `email.send`, `email`, `email.*`.
    what: &'a str,
    via: Option<&'a str>,
}

/// An entry without the API that it names, and that API.
pub(crate) fn split(entry: &str) -> (&str, Option<&str>) {
    match entry.split_once(" via ") {
        Some((what, via)) => (what.trim(), Some(via.trim())),
        None => (entry.trim(), None),
    }
}

fn entries<'a>(can: &'a [String], operation: &'a str) -> impl Iterator<Item = CanEntry<'a>> {
    let service = operation.split('.').next().unwrap_or_default();
    can.iter().map(|entry| split(entry)).filter_map(move |(what, via)| {
        let covers = what == operation || what == service || what.strip_suffix(".*") == Some(service);
        covers.then_some(CanEntry { what, via })
    })
}

/// What the case needs and `can` does not list; an empty `can` allows everything.
pub(crate) fn not_covered(case: &Case, can: &[String]) -> Option<String> {
    if can.is_empty() {
        return None;
    }
    let works = std::iter::once(&case.work).chain(&case.each).chain(&case.turns);
    let steps: Vec<&Step> = works.flat_map(|work| &work.steps).collect();
    let done = steps.iter().map(|step| step.operation.as_str());
    let due =
        case.terms.intents.iter().filter(|intent| intent.times > 0).map(|intent| intent.effect.as_str());
    if let Some(missing) = done.chain(due).find(|operation| entries(can, operation).next().is_none()) {
        return Some(missing.to_owned());
    }
    let by_case = case.terms.via.iter().map(|due| (due.operation.as_str(), due.apis.clone()));
    let by_steps = steps.iter().filter_map(|step| {
        Some((step.operation.as_str(), vec![step.with.get("via").map(ToString::to_string)?]))
    });
    by_case
        .chain(by_steps)
        .find(|(operation, apis)| !is_allowed_via(can, operation, apis))
        .map(|(operation, apis)| format!("{operation} via {}", apis.join(" or ")))
}

/// Whether `can` allows the operation through one of these APIs.
fn is_allowed_via(can: &[String], operation: &str, apis: &[String]) -> bool {
    let mut named = entries(can, operation).peekable();
    named.peek().is_none() || named.any(|entry| entry.via.is_none_or(|via| apis.iter().any(|api| api == via)))
}

/// The line for hapax.yaml with which the subject does this operation through this API.
pub(crate) fn line(can: &[String], operation: &str, api: &str) -> String {
    let covering: Vec<&str> = entries(can, operation).map(|entry| entry.what).collect();
    let others = can.iter().filter(|entry| !covering.contains(&split(entry).0)).cloned();
    let mut entries: Vec<String> = others.collect();
    entries.push(format!("{operation} via {api}"));
    format!("can: [{}]", entries.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(can: &[&str]) -> Vec<String> {
        can.iter().map(|entry| (*entry).to_owned()).collect()
    }

    #[test]
    fn the_line_keeps_the_other_entries() {
        assert_eq!(line(&[], "deploy.deploy", "github"), "can: [deploy.deploy via github]");
        let can = owned(&["payment", "deploy.deploy"]);
        assert_eq!(line(&can, "deploy.deploy", "github"), "can: [payment, deploy.deploy via github]");
    }

    #[test]
    fn an_entry_without_an_api_allows_all_of_them() {
        let smtp = owned(&["smtp"]);
        for (can, does) in [
            (&["email.send"][..], true),
            (&["email"], true),
            (&["email.send via smtp"], true),
            (&["email.send via resend"], false),
            (&["email via resend"], false),
            (&["email.send via resend", "email.send via smtp"], true),
            (&["payment"], true),
        ] {
            assert_eq!(is_allowed_via(&owned(can), "email.send", &smtp), does, "{can:?}");
        }
    }
}
