//! What two requests show about who retried the first one: the client library, something that repeats whole
//! calls, or the agent. Pure.

use mock_services::service::Fields;
use yaml_reader::shown;

use super::findings::duration_text;
use super::verdict::RetriedBy;

/// Headers in which clients count the tries of a call, with the value of the first try.
const COUNTS: [(&str, u64); 5] = [
    ("x-stainless-retry-count", 0),
    ("x-retry-count", 0),
    ("x-retry-attempt", 0),
    ("retry-attempt", 0),
    ("x-request-attempt", 1),
];
/// The header of Amazon's clients: `attempt=2; max=3`.
const OF_AMAZON: &str = "amz-sdk-request";
/// Clients that retry a failed write by default, by a part of their user agent.
const RETRYING: [&str; 5] = ["Stripe/", "octokit", "PyGithub", "aws-sdk", "Boto3"];
/// Headers that only such clients send.
const OF_RETRYING: [&str; 2] = ["x-stripe-client-user-agent", "x-stainless-lang"];
/// The minimum time that they wait before a retry, in microseconds.
const MIN_RETRY_WAIT: u64 = 200_000;

/// The facts about a retry and the attempt before it.
#[derive(Debug, Clone, Default)]
pub(super) struct RetryEvidence {
    /// How its bytes compare.
    pub(super) bytes: Bytes,
    /// How its key compares.
    pub(super) key: Keys,
    /// The prefix of a key that a client generates for the retries of one call; `None` if it is another key.
    pub(super) generated_key_prefix: Option<String>,
    /// The time from the reply to the first to the second, in microseconds.
    pub(super) gap: u64,
    /// Whether both came over one connection.
    pub(super) same_connection: bool,
    /// The header in which its client counts its tries, as it was sent, and whether it is not the first try.
    pub(super) count: Option<(String, bool)>,
    /// How its trace compares, where both have one.
    pub(super) trace: Option<Trace>,
    /// The number of a read that came in between.
    pub(super) read: Option<String>,
    /// Whether the subject was restarted in between.
    pub(super) restarted: bool,
    /// The user agent of a client that retries by itself.
    pub(super) retrying: Option<String>,
}

/// How the bytes of two requests compare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Bytes {
    /// The same bytes.
    Same,
    /// Other bytes with the same fields.
    #[default]
    Rewritten,
    /// Other bytes with other fields.
    Other,
}

/// How the keys of two requests compare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Keys {
    /// The same.
    Same,
    /// Two different keys.
    New,
    /// Only one of the two has a key.
    One,
    /// Neither has a key.
    #[default]
    None,
}

/// How the traces of two requests compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trace {
    /// The same trace and the same span.
    Same,
    /// The same trace, another span.
    OtherSpan,
    /// Another trace.
    Other,
}

impl RetryEvidence {
    /// Who made the retry.
    pub(super) fn by(&self) -> RetriedBy {
        if self.restarted {
            return RetriedBy::Agent;
        }
        // The information from the client itself has priority.
        match (&self.count, &self.generated_key_prefix, self.key) {
            (Some((_, true)), ..) | (None, Some(_), Keys::Same) => return RetriedBy::Client,
            (Some((_, false)), ..) | (_, _, Keys::New | Keys::One) => return self.by_caller_of_client(),
            _ => {}
        }
        let is_same = self.bytes == Bytes::Same && self.read.is_none();
        let is_one_span = self.trace == Some(Trace::Same);
        let waits = self.retrying.is_some() && self.gap >= MIN_RETRY_WAIT && self.trace != Some(Trace::Other);
        if is_same && (is_one_span || waits) { RetriedBy::Client } else { self.by_caller_of_client() }
    }

    /// Who made it if it was not the client: something that repeats calls does nothing else in between, and
    /// sends the same again.
    fn by_caller_of_client(&self) -> RetriedBy {
        let decided = self.read.is_some() || self.bytes == Bytes::Other || self.trace == Some(Trace::Other);
        if decided { RetriedBy::Agent } else { RetriedBy::Framework }
    }

    /// The evidence as text.
    pub(super) fn evidence(&self) -> String {
        let bytes = match self.bytes {
            Bytes::Same => "same bytes",
            Bytes::Rewritten => "the same fields in other bytes",
            Bytes::Other => "other fields",
        };
        let key = match self.key {
            Keys::Same => "same key",
            Keys::New => "a new key",
            Keys::One => "a key on one of the two only",
            Keys::None => "no key",
        };
        let connection = if self.same_connection { "the same connection" } else { "a new connection" };
        let mut words = vec![format!("{bytes} and {key} {} later on {connection}", duration_text(self.gap))];
        words.extend(self.count.as_ref().map(|(header, _)| format!("header {header}")));
        words.extend(
            self.generated_key_prefix
                .as_ref()
                .map(|begin| format!("a key that the client makes for each call ({begin}…)")),
        );
        words.extend(self.trace.map(|trace| {
            let same = match trace {
                Trace::Same => "the same traceparent",
                Trace::OtherSpan => "the same trace and another span",
                Trace::Other => "another trace",
            };
            same.to_owned()
        }));
        words.extend(self.read.as_ref().map(|read| format!("after a read ({read})")));
        words.extend(self.restarted.then(|| "after a restart of the subject".to_owned()));
        words
            .extend(self.retrying.as_ref().map(|agent| format!("a client that retries by itself ({agent})")));
        words.join(", ")
    }
}

/// The header in which a client counts its tries, and whether this is not the first try.
pub(super) fn count(client: &Fields) -> Option<(String, bool)> {
    let of = |header: &str, first: u64, digits: &str| {
        let count: u64 = digits.trim().parse().ok()?;
        Some((format!("{header}: {}", shown(&client.get(header)?.to_string())), count > first))
    };
    let plain =
        COUNTS.iter().find_map(|(header, first)| of(header, *first, &client.get(header)?.to_string()));
    plain.or_else(|| {
        let text = client.get(OF_AMAZON)?.to_string();
        let attempt = text.split(';').find_map(|part| part.trim().strip_prefix("attempt="))?;
        of(OF_AMAZON, 1, attempt)
    })
}

/// The prefix of a key that a client generates for the retries of one call: `stripe-node-retry-`,
/// `stainless-python-retry-`.
pub(super) fn generated_key_prefix(key: &str) -> Option<String> {
    let (client, rest) = key.split_once("-retry-")?;
    let is_name = !client.is_empty()
        && client.len() < 40
        && client.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    (is_name && !rest.is_empty()).then(|| format!("{client}-retry-"))
}

/// How two `traceparent` headers compare; `None` if one of them is missing.
pub(super) fn trace(one: &Fields, other: &Fields) -> Option<Trace> {
    let parts = |client: &Fields| {
        let text = client.get("traceparent")?.to_string();
        let mut parts = text.split('-').skip(1).map(str::to_owned);
        let (trace, span) = (parts.next()?, parts.next()?);
        (trace.len() == 32 && span.len() == 16).then_some((trace, span))
    };
    let (one, other) = (parts(one)?, parts(other)?);
    Some(match (one.0 == other.0, one.1 == other.1) {
        (true, true) => Trace::Same,
        (true, false) => Trace::OtherSpan,
        (false, _) => Trace::Other,
    })
}

/// The user agent of a client that retries by itself.
pub(super) fn retrying(client: &Fields) -> Option<String> {
    let agent = client.get("user-agent").map(ToString::to_string).unwrap_or_default();
    let is_known = RETRYING.iter().any(|name| agent.contains(name))
        || OF_RETRYING.iter().any(|name| client.get(name).is_some());
    let begin: String = agent.chars().take(40).collect();
    is_known.then(|| if begin.is_empty() { "by its headers".to_owned() } else { shown(&begin) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same() -> RetryEvidence {
        RetryEvidence { bytes: Bytes::Same, key: Keys::Same, gap: 500_000, ..RetryEvidence::default() }
    }

    fn header(name: &'static str, value: &str) -> Fields {
        Fields::new().with(name, value)
    }

    #[test]
    fn a_clients_own_count_is_believed() {
        for (name, value, is_retry) in [
            ("x-stainless-retry-count", "1", true),
            ("x-stainless-retry-count", "0", false),
            ("x-retry-attempt", "2", true),
            ("x-request-attempt", "1", false),
            ("amz-sdk-request", "attempt=2; max=3", true),
            ("amz-sdk-request", "attempt=1; max=3", false),
        ] {
            let count = count(&header(name, value));
            assert_eq!(count.as_ref().map(|(_, is_retry)| *is_retry), Some(is_retry), "{name}: {value}");
            let by = RetryEvidence { count, ..same() }.by();
            assert_eq!(
                by,
                if is_retry { RetriedBy::Client } else { RetriedBy::Framework },
                "{name}: {value}"
            );
        }
        assert_eq!(count(&header("x-retry-count", "many")), None);
        assert_eq!(count(&header("amz-sdk-request", "ttl=1")), None);
    }

    #[test]
    fn a_key_that_a_client_generates_for_each_call_distinguishes_its_retries_from_other_calls() {
        assert_eq!(generated_key_prefix("stripe-node-retry-4f1c").as_deref(), Some("stripe-node-retry-"));
        assert_eq!(
            generated_key_prefix("stainless-python-retry-4f1c").as_deref(),
            Some("stainless-python-retry-")
        );
        for key in ["order-1001", "-retry-1", "Order 7-retry-1", "retry-1", "a-retry-"] {
            assert_eq!(generated_key_prefix(key), None, "{key}");
        }
        let generated_key_prefix = Some("stripe-node-retry-".to_owned());
        assert_eq!(
            RetryEvidence { generated_key_prefix: generated_key_prefix.clone(), ..same() }.by(),
            RetriedBy::Client
        );
        assert_eq!(
            RetryEvidence { generated_key_prefix, key: Keys::New, ..same() }.by(),
            RetriedBy::Framework
        );
    }

    #[test]
    fn whoever_looks_first_or_sends_something_else_decides_and_is_the_agent() {
        assert_eq!(
            RetryEvidence { read: Some("payment.list#1".to_owned()), ..same() }.by(),
            RetriedBy::Agent
        );
        assert_eq!(RetryEvidence { bytes: Bytes::Other, ..same() }.by(), RetriedBy::Agent);
        assert_eq!(RetryEvidence { restarted: true, ..same() }.by(), RetriedBy::Agent);
        assert_eq!(RetryEvidence { trace: Some(Trace::Other), ..same() }.by(), RetriedBy::Agent);
        let with_client =
            RetryEvidence { retrying: Some("Stripe/v1".to_owned()), trace: Some(Trace::Other), ..same() };
        assert_eq!(with_client.by(), RetriedBy::Agent, "another trace is another piece of work");
    }

    #[test]
    fn the_same_call_again_with_nothing_in_between_is_made_by_what_repeats_calls() {
        assert_eq!(same().by(), RetriedBy::Framework);
        assert_eq!(RetryEvidence { key: Keys::New, ..same() }.by(), RetriedBy::Framework);
        assert_eq!(RetryEvidence { bytes: Bytes::Rewritten, ..same() }.by(), RetriedBy::Framework);
    }

    #[test]
    fn a_client_that_retries_by_itself_is_known_by_its_user_agent_and_its_wait() {
        let stripe = retrying(&header("user-agent", "Stripe/v1 PythonBindings/13.0.1"));
        assert_eq!(stripe.as_deref(), Some("Stripe/v1 PythonBindings/13.0.1"));
        assert_eq!(retrying(&header("user-agent", "python-requests/2.32")), None);
        assert_eq!(RetryEvidence { retrying: stripe.clone(), ..same() }.by(), RetriedBy::Client);
        assert_eq!(
            RetryEvidence { retrying: stripe.clone(), gap: 2_000, ..same() }.by(),
            RetriedBy::Framework,
            "it waits before it retries"
        );
        assert_eq!(
            RetryEvidence { retrying: stripe, key: Keys::New, ..same() }.by(),
            RetriedBy::Framework,
            "it keeps its key"
        );
    }

    #[test]
    fn traces_are_compared_by_trace_and_span() {
        let (one, two) = (
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01",
        );
        let three = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let of = |one: &str, other: &str| trace(&header("traceparent", one), &header("traceparent", other));
        assert_eq!(
            [of(one, one), of(one, two), of(two, three)],
            [Some(Trace::Same), Some(Trace::OtherSpan), Some(Trace::Other)]
        );
        assert_eq!([of(one, "x"), of("", one)], [None, None]);
        assert_eq!(RetryEvidence { trace: of(one, one), ..same() }.by(), RetriedBy::Client);
        assert_eq!(RetryEvidence { trace: of(one, two), ..same() }.by(), RetriedBy::Framework);
    }

    #[test]
    fn the_evidence_is_shown_as_text() {
        let evidence = RetryEvidence { count: count(&header("x-stainless-retry-count", "1")), ..same() };
        assert_eq!(
            evidence.evidence(),
            "same bytes and same key 0.50 s later on a new connection, header x-stainless-retry-count: 1"
        );
        let evidence = RetryEvidence {
            bytes: Bytes::Rewritten,
            key: Keys::New,
            read: Some("payment.list#1".to_owned()),
            same_connection: true,
            gap: 3_000,
            ..RetryEvidence::default()
        };
        assert_eq!(
            evidence.evidence(),
            "the same fields in other bytes and a new key 3 ms later on the same connection, after a read \
         (payment.list#1)"
        );
    }
}
