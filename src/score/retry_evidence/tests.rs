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
        assert_eq!(by, if is_retry { RetriedBy::Client } else { RetriedBy::Framework }, "{name}: {value}");
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
    assert_eq!(RetryEvidence { generated_key_prefix, key: Keys::New, ..same() }.by(), RetriedBy::Framework);
}

#[test]
fn whoever_looks_first_or_sends_something_else_decides_and_is_the_agent() {
    assert_eq!(RetryEvidence { read: Some("payment.list#1".to_owned()), ..same() }.by(), RetriedBy::Agent);
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
