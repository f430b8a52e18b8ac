//! In which layers a request that only costs something was retried: what the requests themselves show. A
//! client counts its retries in a header, and something above the client starts the count again.

use std::collections::BTreeMap;

use super::history::{Attempt, TrialHistory};
use super::{retry_clients, retry_evidence};
use crate::scenario::OperationTerm;

/// The maximum number of counts of a client that are listed.
const MAX_COUNTS: usize = 8;

/// What the requests with one content show.
#[derive(Debug, Default)]
struct LogicalCall {
    requests: usize,
    /// The largest number of times that a client made the call in one start of the subject.
    most_runs: usize,
    /// The times that a client made the call in the current start.
    runs: usize,
    /// Starts of the subject after the first one that made the call.
    restarts: usize,
    /// The entry of the latest request.
    latest: u64,
}

/// The layers as text; `None` if every request has another content.
pub(super) fn retry_layers(history: &TrialHistory<'_>, term: &OperationTerm) -> Option<String> {
    let mut calls: BTreeMap<(u32, Vec<Option<String>>), LogicalCall> = BTreeMap::new();
    let (mut header, mut counts, mut client) = (None, Vec::new(), None);
    let of_term = |attempt: &&Attempt<'_>| attempt.operation() == term.name;
    for attempt in history.attempts.iter().filter(of_term) {
        let values =
            term.identity.iter().map(|name| attempt.received.fields.get(name).map(ToString::to_string));
        let call = calls.entry((attempt.caller(), values.collect())).or_default();
        let counted = retry_evidence::count(&attempt.received.client);
        let is_restarted = call.latest > 0 && history.was_restarted(attempt.caller(), call.latest..attempt.n);
        if is_restarted {
            (call.runs, call.restarts) = (0, call.restarts + 1);
        }
        // Without a count, each request can be a run of its own.
        let is_retry_of_client = counted.as_ref().is_some_and(|(_, is_retry)| *is_retry) && call.runs > 0;
        call.runs += usize::from(!is_retry_of_client);
        call.most_runs = call.most_runs.max(call.runs);
        call.requests += 1;
        call.latest = attempt.n;
        if let Some((text, _)) = counted
            && let Some((name, value)) = text.split_once(": ")
        {
            header = Some(name.to_owned());
            client = client.or_else(|| retry_clients::user_agent(&attempt.received.client));
            if !counts.iter().any(|have| have == value) {
                counts.push(value.to_owned());
            }
        }
    }
    if calls.values().all(|call| call.requests <= 1) {
        return None;
    }
    let requests: usize = calls.values().map(|call| call.requests).sum();
    let runs = calls.values().map(|call| call.most_runs).max().unwrap_or_default();
    let restarts: usize = calls.values().map(|call| call.restarts).sum();
    let mut layers = Vec::new();
    counts.truncate(MAX_COUNTS);
    let client = client.map_or_else(|| "the client".to_owned(), |name| format!("the client {name}"));
    let does_client_retry = counts.len() > 1;
    match (&header, does_client_retry, runs) {
        (Some(header), true, _) => {
            layers.push(format!("{client} retried by itself ({header} {})", counts.join(", ")));
            layers.extend((runs > 1).then(|| format!("something above it made the whole call {runs} times")));
        }
        (_, _, 0 | 1) => {}
        (Some(header), false, _) => layers.push(format!(
            "something above {client} made the whole call {runs} times ({header} {} each time)",
            counts.join(", ")
        )),
        (None, ..) => layers
            .push(format!("the same request was sent {runs} times, with no header that says who retried")),
    }
    match restarts {
        0 => {}
        1 => layers.push("a new start of the subject asked again".to_owned()),
        many => layers.push(format!("{many} new starts of the subject asked again")),
    }
    let calls =
        if calls.len() == 1 { "1 logical call".to_owned() } else { format!("{} logical calls", calls.len()) };
    Some(format!("{requests} requests for {calls}: {}", layers.join(", and ")))
}

#[cfg(test)]
mod tests {
    use mock_services::service::Fields;

    use super::*;
    use crate::scenario::{Budget, Terms};
    use crate::score::testing::{LedgerScript, terms};
    use crate::score::{FindingKind, Verdict, score};

    /// Asks for quotes: the order, and the count of the client.
    fn asked(asked: &[(&str, Option<&str>)]) -> LedgerScript {
        let mut script = LedgerScript::new();
        for (order, count) in asked {
            let client = count.map(|count| Fields::new().with("x-stainless-retry-count", count));
            let fields = Fields::new().with("order", *order);
            script.received_from("shop.quote", None, &fields, client.unwrap_or_default());
        }
        script
    }

    fn judged(script: &LedgerScript) -> Verdict {
        let mut terms: Terms = terms([]);
        terms.operations.push(OperationTerm {
            name: "shop.quote".to_owned(),
            write: true,
            identity: vec!["order".to_owned()],
            natural: Vec::new(),
            cost: true,
        });
        terms.attempts.push(Budget { operation: "shop.quote".to_owned(), at_least: 0, at_most: Some(3) });
        score(&terms, &script.clone().end(), None)
    }

    fn layers(script: &LedgerScript) -> Option<String> {
        let verdict = judged(script);
        verdict.attempts.into_iter().find(|made| made.operation == "shop.quote")?.layers
    }

    #[test]
    fn a_client_inside_something_that_repeats_the_call_is_two_layers() {
        let client = [("a", Some("0")), ("a", Some("1")), ("a", Some("2"))];
        let all = [&[("b", Some("0"))][..], &client.repeat(3)].concat();
        assert_eq!(
            layers(&asked(&all)).unwrap(),
            "10 requests for 2 logical calls: the client retried by itself (x-stainless-retry-count 0, 1, 2), \
         and something above it made the whole call 3 times"
        );
        assert_eq!(
            layers(&asked(&client)).unwrap(),
            "3 requests for 1 logical call: the client retried by itself (x-stainless-retry-count 0, 1, 2)"
        );
    }

    #[test]
    fn requests_without_a_count_do_not_say_who_retried() {
        let text = layers(&asked(&[("a", None), ("a", None)])).unwrap();
        let end = "the same request was sent 2 times, with no header that says who retried";
        assert_eq!(text, format!("2 requests for 1 logical call: {end}"));
    }

    #[test]
    fn a_client_whose_count_stays_at_the_first_try_does_not_retry() {
        let mut script = LedgerScript::new();
        for _ in 0..2 {
            let client = Fields::new()
                .with("user-agent", "OpenAI/Python 2.1.0")
                .with("x-stainless-lang", "python")
                .with("x-stainless-retry-count", "0");
            script.received_from("shop.quote", None, &Fields::new().with("order", "a"), client);
        }
        assert_eq!(
            layers(&script).unwrap(),
            "2 requests for 1 logical call: something above the client OpenAI/Python 2.1.0 made the whole call 2 \
         times (x-stainless-retry-count 0 each time)"
        );
    }

    #[test]
    fn a_new_start_is_a_layer_of_its_own() {
        let mut script = asked(&[("a", None)]);
        script.started(1);
        script.received("shop.quote", None, &Fields::new().with("order", "a"));
        assert_eq!(
            layers(&script).unwrap(),
            "2 requests for 1 logical call: a new start of the subject asked again"
        );
    }

    #[test]
    fn requests_with_other_contents_are_no_retries() {
        assert_eq!(layers(&asked(&[("a", None), ("b", None), ("c", None)])), None);
    }

    #[test]
    fn too_many_requests_are_reported_with_their_layers() {
        let verdict = judged(&asked(&[("a", None); 4]));
        let finding =
            verdict.findings.iter().find(|finding| finding.kind == FindingKind::OverBudget).unwrap();
        assert!(finding.message.contains("4 requests for 1 logical call"), "{}", finding.message);
    }
}
