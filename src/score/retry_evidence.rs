//! What two requests show about who sent the second one: the client library, a framework, the agent's code, the
//! model, or what is above the call. Pure.

use mock_services::service::Fields;
use yaml_reader::shown;

use super::findings::duration_text;
use super::retry_clients::{Failure, RetryingClient, RetryingFramework, WaitFit};
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
/// Headers that a client sends unchanged with each try of one call.
const SAME_IN_A_CALL: [&str; 3] = ["user-agent", "x-stripe-client-user-agent", "x-stripe-client-telemetry"];

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
    /// How many attempts with these bytes the caller has made before.
    pub(super) number: u32,
    /// The time from the reply to the first to the next request of the caller, in microseconds: what repeats a step
    /// begins it again with its first request. `None` if that is the retry.
    pub(super) pause: Option<u64>,
    /// How the first failed.
    pub(super) failed: Failure,
    /// How the connections compare.
    pub(super) connection: Connections,
    /// Whether the caller opens a connection for each of its requests to the service.
    pub(super) is_connecting_each_time: bool,
    /// The header in which its client counts its tries, as it was sent, and whether it is not the first try.
    pub(super) count: Option<(String, bool)>,
    /// A header that a client does not change within a call, and that is different.
    pub(super) changed_header: Option<&'static str>,
    /// How its trace compares, where both have one.
    pub(super) trace: Option<Trace>,
    /// The number of a read that came in between.
    pub(super) read: Option<String>,
    /// The number of an answer of a model that came in between.
    pub(super) generation: Option<String>,
    /// Whether the model was asked with the bytes of a request before the first attempt: it does not know of it.
    pub(super) asked_model_the_same: bool,
    /// Whether the subject was started again in between.
    pub(super) restarted: bool,
    /// The event of which another copy was delivered in between.
    pub(super) redelivered: Option<String>,
    /// How long the first request had been waiting for its reply when the second came, in microseconds; `None`
    /// if it was not waiting any longer.
    pub(super) waiting: Option<u64>,
    /// A client that can retry a write by itself, and its user agent.
    pub(super) client: Option<(RetryingClient, String)>,
    /// Whether the client did not retry an earlier attempt of the caller that failed in the same way.
    pub(super) did_not_retry: bool,
    /// A framework that can repeat a step by itself.
    pub(super) framework: Option<RetryingFramework>,
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

/// How the connections of two requests compare.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Connections {
    /// The same connection.
    Same,
    /// A new one: the first cannot be used any longer.
    #[default]
    New,
    /// A new one, although the service left the first open after a complete reply.
    NewBesideOpen,
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
        let is_above = self.restarted || self.redelivered.is_some();
        if is_above || (self.waiting.is_some() && self.generation.is_none()) {
            return RetriedBy::Caller;
        }
        // The information from the client itself has priority.
        let is_counted = matches!(&self.count, Some((_, true)));
        let has_its_key = self.count.is_none() && self.generated_key_prefix.is_some();
        if is_counted || (has_its_key && self.key == Keys::Same) {
            return RetriedBy::Client;
        }
        if self.generation.is_some() {
            let is_step = self.asked_model_the_same && self.by_caller_of_client() == RetriedBy::Framework;
            return if is_step { RetriedBy::Framework } else { RetriedBy::Model };
        }
        if self.is_another_call() {
            return self.by_caller_of_client();
        }
        if self.trace == Some(Trace::Same) {
            return RetriedBy::Client;
        }
        if self.is_like_a_loop() && self.connection == Connections::Same {
            return RetriedBy::Client;
        }
        match self.wait_fit() {
            WaitFit::ByItself if self.is_like_a_loop() => RetriedBy::NotSure,
            WaitFit::ByItself => RetriedBy::Client,
            WaitFit::WhereAsked if self.is_known_to_be_a_loop() => self.by_caller_of_client(),
            WaitFit::WhereAsked => RetriedBy::NotSure,
            WaitFit::Never => self.by_caller_of_client(),
        }
    }

    /// Whether the client can have waited for so long.
    pub(super) fn wait_fit(&self) -> WaitFit {
        self.client
            .as_ref()
            .map_or(WaitFit::Never, |(client, _)| client.fit(self.failed, self.gap, self.number))
    }

    /// Whether a client that retries only where it is asked to was not asked to: it keeps its connections, and makes
    /// its first retry at once.
    fn is_known_to_be_a_loop(&self) -> bool {
        self.is_connecting_each_time || (self.did_not_retry && !RetryingClient::is_at_once(self.gap))
    }

    /// Whether the client was called again: it sends the same bytes, the same key and the same headers with each
    /// try of one call, over a connection that is open, and does nothing else in between.
    fn is_another_call(&self) -> bool {
        matches!(self.count, Some((_, false)))
            || matches!(self.key, Keys::New | Keys::One)
            || self.bytes != Bytes::Same
            || self.read.is_some()
            || self.trace == Some(Trace::Other)
            || self.changed_header.is_some()
            || (self.connection == Connections::NewBesideOpen && !self.can_leave_one_open())
    }

    fn is_like_a_loop(&self) -> bool {
        self.client.as_ref().is_some_and(|(client, _)| client.is_like_a_loop)
    }

    /// Whether its client can send a retry over a new connection although the first is open.
    fn can_leave_one_open(&self) -> bool {
        self.is_like_a_loop() || self.client.as_ref().is_some_and(|(client, _)| client.leaves_replies_unread)
    }

    /// Who made it if it was not the client: the agent's code, unless a framework is known to be there and to
    /// repeat what was sent after such a wait.
    fn by_caller_of_client(&self) -> RetriedBy {
        match self.framework {
            Some(framework)
                if self.bytes != Bytes::Other
                    && framework.can_wait(self.pause.unwrap_or(self.gap), self.number) =>
            {
                RetriedBy::Framework
            }
            _ => RetriedBy::Agent,
        }
    }

    /// What is known of the client, as text.
    fn about_client(&self, client: &RetryingClient, agent: &str) -> String {
        let name = client.called(agent);
        match self.wait_fit() {
            WaitFit::ByItself | WaitFit::Never => format!("a client that can retry by itself ({name})"),
            WaitFit::WhereAsked if self.is_connecting_each_time => {
                format!("a client that can be asked to retry ({name}), a connection for each call")
            }
            WaitFit::WhereAsked if self.is_known_to_be_a_loop() => {
                format!("a client that can be asked to retry ({name}), and did not do so before")
            }
            WaitFit::WhereAsked => {
                format!("a client that can be asked to retry ({name}), with a wait that a loop can make, too")
            }
        }
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
        let connection = match self.connection {
            Connections::Same => "the same connection",
            Connections::New => "a new connection",
            Connections::NewBesideOpen => "a new connection, although the first was still open",
        };
        let mut words = vec![match self.waiting {
            Some(time) => format!(
                "{bytes} and {key} on {connection}, after the first had waited {} for its reply and was still waiting",
                duration_text(time)
            ),
            None => format!("{bytes} and {key} {} later on {connection}", duration_text(self.gap)),
        }];
        words.extend(self.count.as_ref().map(|(header, _)| format!("header {header}")));
        words.extend(
            self.generated_key_prefix
                .as_ref()
                .map(|begin| format!("a key that the client makes for each call ({begin}…)")),
        );
        words.extend(self.changed_header.map(|header| format!("another {header}")));
        words.extend(self.trace.map(|trace| {
            let same = match trace {
                Trace::Same => "the same traceparent",
                Trace::OtherSpan => "the same trace and another span",
                Trace::Other => "another trace",
            };
            same.to_owned()
        }));
        words.extend(self.read.as_ref().map(|read| format!("after a read ({read})")));
        let same = if self.asked_model_the_same { " to the request of before" } else { "" };
        words.extend(
            self.generation.as_ref().map(|name| format!("after an answer of the model{same} ({name})")),
        );
        words.extend(self.restarted.then(|| "after a new start of the subject".to_owned()));
        words.extend(self.redelivered.as_ref().map(|event| format!("after a new delivery of {event}")));
        words.extend(self.failed.retry_after.map(|seconds| format!("Retry-After was {seconds} s")));
        words.extend(self.client.as_ref().map(|(client, agent)| self.about_client(client, agent)));
        words.extend(self.framework.map(|framework| format!("a framework ({})", framework.name())));
        words.join(", ")
    }
}

/// A header that a client does not change within a call, and that differs between two requests.
pub(super) fn changed_header(one: &Fields, other: &Fields) -> Option<&'static str> {
    SAME_IN_A_CALL.into_iter().find(|header| one.get(header) != other.get(header))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::retry_clients::user_agent;
    use crate::score::testing::request;

    fn same() -> RetryEvidence {
        RetryEvidence {
            bytes: Bytes::Same,
            key: Keys::Same,
            gap: 500_000,
            number: 1,
            ..RetryEvidence::default()
        }
    }

    fn header(name: &'static str, value: &str) -> Fields {
        Fields::new().with(name, value)
    }

    fn from(agent: &str) -> RetryEvidence {
        let request = request(agent);
        RetryEvidence { client: RetryingClient::of(&request).zip(user_agent(&request.client)), ..same() }
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
            assert_eq!(by, if is_retry { RetriedBy::Client } else { RetriedBy::Agent }, "{name}: {value}");
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
        let kept = RetryEvidence { generated_key_prefix: generated_key_prefix.clone(), ..same() };
        assert_eq!(kept.by(), RetriedBy::Client);
        let new = RetryEvidence { generated_key_prefix, key: Keys::New, ..same() };
        assert_eq!(new.by(), RetriedBy::Agent);
    }

    #[test]
    fn what_starts_again_or_does_not_wait_any_longer_is_above_the_call() {
        let counted = count(&header("x-stainless-retry-count", "1"));
        let restarted = RetryEvidence { restarted: true, count: counted, ..same() };
        assert_eq!(restarted.by(), RetriedBy::Caller);
        let waiting = RetryEvidence { waiting: Some(2_000_000), ..from("python-requests/2.34.2") };
        assert_eq!(waiting.by(), RetriedBy::Caller);
        assert_eq!(
            waiting.evidence(),
            "same bytes and same key on a new connection, after the first had waited 2.00 s for its reply and \
             was still waiting, a client that can retry by itself (python-requests/2.34.2)"
        );
    }

    #[test]
    fn an_answer_of_the_model_in_between_is_the_models_unless_the_client_counts() {
        let generation = Some("model.generate#2".to_owned());
        let after = RetryEvidence { generation: generation.clone(), ..from("Stripe/v1") };
        assert_eq!(after.by(), RetriedBy::Model);
        let count = count(&header("x-stainless-retry-count", "1"));
        assert_eq!(RetryEvidence { generation, count, ..same() }.by(), RetriedBy::Client);
    }

    #[test]
    fn what_a_client_does_not_do_within_a_call_is_the_agents_code() {
        let stripe = from("Stripe/v1 PythonBindings/16.1.0");
        assert_eq!(stripe.by(), RetriedBy::Client);
        let others = [
            RetryEvidence { key: Keys::New, ..stripe.clone() },
            RetryEvidence { key: Keys::One, ..stripe.clone() },
            RetryEvidence { bytes: Bytes::Rewritten, ..stripe.clone() },
            RetryEvidence { bytes: Bytes::Other, ..stripe.clone() },
            RetryEvidence { read: Some("payment.list#1".to_owned()), ..stripe.clone() },
            RetryEvidence { trace: Some(Trace::Other), ..stripe.clone() },
            RetryEvidence { changed_header: Some("x-stripe-client-telemetry"), ..stripe.clone() },
            RetryEvidence { connection: Connections::NewBesideOpen, ..stripe.clone() },
            RetryEvidence { gap: 2_000, ..stripe.clone() },
            RetryEvidence { gap: 1_000_000, ..stripe },
        ];
        for other in others {
            assert_eq!(other.by(), RetriedBy::Agent, "{}", other.evidence());
        }
    }

    #[test]
    fn a_plain_loop_is_the_agents_code() {
        assert_eq!(same().by(), RetriedBy::Agent);
        assert_eq!(RetryEvidence { gap: 1_000, ..from("python-httpx/0.28.1") }.by(), RetriedBy::Agent);
        assert_eq!(from("python-requests/2.34.2").by(), RetriedBy::Agent, "urllib3 retries at once");
    }

    #[test]
    fn a_wait_that_a_loop_can_make_too_does_not_show_who_retried() {
        let at_once = RetryEvidence { gap: 1_000, ..from("python-requests/2.34.2") };
        assert_eq!(at_once.by(), RetriedBy::NotSure);
        assert!(
            at_once.evidence().ends_with("with a wait that a loop can make, too"),
            "{}",
            at_once.evidence()
        );
        let second = RetryEvidence { gap: 600_000, number: 2, ..at_once.clone() };
        assert_eq!(second.by(), RetriedBy::NotSure);
        let after_another = RetryEvidence { did_not_retry: true, ..second };
        assert_eq!(after_another.by(), RetriedBy::Agent, "its first retry comes at once");
        let below = RetryEvidence { did_not_retry: true, ..at_once.clone() };
        assert_eq!(below.by(), RetriedBy::NotSure, "it can retry another failure");
        let each = RetryEvidence { is_connecting_each_time: true, ..at_once };
        assert_eq!(each.by(), RetriedBy::Agent, "a client that retries keeps its connections");
    }

    #[test]
    fn a_client_that_leaves_replies_unread_connects_again() {
        let beside = |agent| RetryEvidence { connection: Connections::NewBesideOpen, ..from(agent) }.by();
        assert_eq!(beside("Stripe/v1 NodeBindings/23.1.0"), RetriedBy::Client);
        assert_eq!(beside("Stripe/v1 PythonBindings/16.1.0"), RetriedBy::Agent);
    }

    #[test]
    fn another_copy_of_the_event_is_above_the_call() {
        let redelivered =
            RetryEvidence { redelivered: Some("evt_1 (copy 2)".to_owned()), ..from("Stripe/v1") };
        assert_eq!(redelivered.by(), RetriedBy::Caller);
        assert!(redelivered.evidence().contains("after a new delivery of evt_1 (copy 2)"));
    }

    #[test]
    fn a_loop_around_curl_looks_like_its_retries_unless_they_share_a_connection() {
        let curl = RetryEvidence { gap: 1_010_000, ..from("curl/8.5.0") };
        assert_eq!(curl.by(), RetriedBy::NotSure);
        assert_eq!(RetryEvidence { gap: 2_000, ..curl.clone() }.by(), RetriedBy::Agent);
        let kept = RetryEvidence { connection: Connections::Same, ..curl.clone() };
        assert_eq!(kept.by(), RetriedBy::Client);
        let beside = RetryEvidence { connection: Connections::NewBesideOpen, ..curl };
        assert_eq!(beside.by(), RetriedBy::NotSure, "curl closes its connection after an error with --fail");
    }

    #[test]
    fn a_framework_is_named_only_if_it_names_itself_and_waits_as_it_does() {
        let framework = RetryingFramework::of(
            &header("user-agent", "ai/7.0.169 ai-sdk-provider-utils/5.0.79"),
            [].iter(),
        );
        let repeated = RetryEvidence { framework, gap: 2_010_000, ..same() };
        assert_eq!(repeated.by(), RetriedBy::Framework);
        assert_eq!(RetryEvidence { gap: 10_000, ..repeated.clone() }.by(), RetriedBy::Agent);
        assert_eq!(RetryEvidence { bytes: Bytes::Other, ..repeated }.by(), RetriedBy::Agent);
    }

    #[test]
    fn a_step_that_asks_the_model_again_is_the_frameworks_if_it_asks_the_same() {
        let framework = RetryingFramework::of(&header("user-agent", "langchainjs-openai/1.5.8"), [].iter());
        let generation = Some("model.generate#2".to_owned());
        let (pause, gap) = (Some(900_000), 3_000_000);
        let asked = RetryEvidence { framework, generation, pause, gap, ..same() };
        assert_eq!(asked.by(), RetriedBy::Model);
        let repeated = RetryEvidence { asked_model_the_same: true, ..asked };
        assert_eq!(repeated.by(), RetriedBy::Framework);
        assert_eq!(RetryEvidence { pause: Some(1_000), ..repeated.clone() }.by(), RetriedBy::Model);
        assert_eq!(RetryEvidence { framework: None, ..repeated }.by(), RetriedBy::Model);
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
        assert_eq!(RetryEvidence { trace: of(one, two), ..same() }.by(), RetriedBy::Agent);
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
            connection: Connections::Same,
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
