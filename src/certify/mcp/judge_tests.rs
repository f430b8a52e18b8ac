use super::*;
use crate::certify::mcp::observed::{SeenCall, SeenWrite};

fn facts() -> ToolFacts {
    ToolFacts {
        name: "send".to_owned(),
        effects: 1,
        effect: "email.send".to_owned(),
        idempotent_hint: false,
        keyed: false,
        callers: 8,
        source: EffectSource::Backend(vec!["email.send".to_owned()]),
    }
}

/// A trial with these calls, the key of each write, and so many effects.
fn seen(calls: &[(CallOutcome, &str)], keys: &[Option<&str>], effects: usize) -> ObservedTrial {
    let call = |(outcome, text): &(CallOutcome, &str)| {
        let ended_at = (*outcome == CallOutcome::NotAwaited).then_some(100);
        SeenCall { outcome: *outcome, text: (*text).to_owned(), ended_at }
    };
    let write = |key: &Option<&str>| SeenWrite {
        operation: "email.send".to_owned(),
        key: key.map(str::to_owned),
        at: 50,
        method: "POST".to_owned(),
        path: "/emails".to_owned(),
    };
    ObservedTrial {
        calls: calls.iter().map(call).collect(),
        writes: keys.iter().map(write).collect(),
        effects: vec![("email.send".to_owned(), "email.send".to_owned()); effects],
        fault_applied: true,
        starts: 2,
        alive: Some(true),
        ..ObservedTrial::default()
    }
}

const OK: (CallOutcome, &str) = (CallOutcome::Ok, "sent");
const ERROR: (CallOutcome, &str) = (CallOutcome::Error, "connection reset");
const OPEN: (CallOutcome, &str) =
    (CallOutcome::Error, "The mail may have been sent; check with list_emails.");
const GONE: (CallOutcome, &str) = (CallOutcome::NotAwaited, "cancelled");

fn outcome(facts: &ToolFacts, question: McpQuestion, seen: &ObservedTrial) -> ProbeOutcome {
    judge(facts, &setup(question), seen).outcome
}

fn setup(question: McpQuestion) -> TrialSetup {
    let fault = match question {
        McpQuestion::ReplyLost => Some(("email.send".to_owned(), "now".into(), "drop".into())),
        McpQuestion::RequestLost => Some(("email.send".to_owned(), "never".into(), "{ status: 503 }".into())),
        McpQuestion::BackendLies => Some(("email.send".to_owned(), "never".into(), "ok".into())),
        _ => None,
    };
    TrialSetup { fault, ..TrialSetup::new(question, Vec::new()) }
}

#[test]
fn two_calls_without_a_key_are_two_operations_unless_the_card_says_otherwise() {
    let twice = seen(&[OK, OK], &[None, None], 2);
    let judgment = judge(&facts(), &setup(McpQuestion::SameCallTwice), &twice);
    assert_eq!(judgment.outcome, ProbeOutcome::Held);
    assert_eq!(judgment.sentence, "`send` twice → two mails; no key reaches the backend");
    let hinted = ToolFacts { idempotent_hint: true, ..facts() };
    assert_eq!(outcome(&hinted, McpQuestion::SameCallTwice, &twice), ProbeOutcome::Failed);
    assert_eq!(
        outcome(&facts(), McpQuestion::SameCallTwice, &seen(&[OK, OK], &[None; 3], 3)),
        ProbeOutcome::Failed
    );
    assert_eq!(
        outcome(&facts(), McpQuestion::SameCallTwice, &seen(&[OK, OK], &[None], 0)),
        ProbeOutcome::Failed
    );
    assert_eq!(
        outcome(&facts(), McpQuestion::SameCallTwice, &seen(&[ERROR, ERROR], &[], 0)),
        ProbeOutcome::Void
    );
}

#[test]
fn one_key_is_one_operation_and_two_keys_are_two() {
    let keyed = ToolFacts { keyed: true, ..facts() };
    let one = seen(&[OK, OK], &[Some("a"), Some("a")], 1);
    let two = seen(&[OK, OK], &[Some("a"), Some("b")], 2);
    assert_eq!(outcome(&keyed, McpQuestion::OneKeyTwice, &one), ProbeOutcome::Held);
    assert_eq!(outcome(&keyed, McpQuestion::OneKeyTwice, &two), ProbeOutcome::Failed);
    assert_eq!(outcome(&keyed, McpQuestion::TwoKeys, &two), ProbeOutcome::Held);
    assert_eq!(outcome(&keyed, McpQuestion::TwoKeys, &one), ProbeOutcome::Failed);
    assert_eq!(outcome(&keyed, McpQuestion::OneKeyOtherArguments, &one), ProbeOutcome::Failed);
    let refused = seen(&[OK, ERROR], &[Some("a"), Some("a")], 1);
    assert_eq!(outcome(&keyed, McpQuestion::OneKeyOtherArguments, &refused), ProbeOutcome::Held);
    assert_eq!(outcome(&keyed, McpQuestion::CallersAtOnce, &one), ProbeOutcome::Held);
    assert_eq!(outcome(&keyed, McpQuestion::CallersAtOnce, &two), ProbeOutcome::Failed);
    assert_eq!(outcome(&facts(), McpQuestion::CallersAtOnce, &two), ProbeOutcome::Held);
}

#[test]
fn a_call_that_is_repeated_after_a_lost_connection_or_a_kill_has_one_effect() {
    let twice = seen(&[GONE, OK], &[None, None], 2);
    for question in [McpQuestion::ConnectionLost, McpQuestion::KilledAfterEffect] {
        assert_eq!(outcome(&facts(), question, &twice), ProbeOutcome::Failed, "{question}");
        let once = seen(&[GONE, OK], &[Some("a"), Some("a")], 1);
        assert_eq!(outcome(&facts(), question, &once), ProbeOutcome::Held, "{question}");
    }
    let mut too_late = twice.clone();
    too_late.writes[0].at = 150;
    assert_eq!(outcome(&facts(), McpQuestion::ConnectionLost, &too_late), ProbeOutcome::Void);
    let not_killed = ObservedTrial { starts: 1, ..twice };
    assert_eq!(outcome(&facts(), McpQuestion::KilledAfterEffect, &not_killed), ProbeOutcome::Void);
}

#[test]
fn nothing_may_happen_after_a_cancellation() {
    assert_eq!(outcome(&facts(), McpQuestion::Cancelled, &seen(&[GONE], &[None], 0)), ProbeOutcome::Held);
    assert_eq!(
        outcome(&facts(), McpQuestion::Cancelled, &seen(&[GONE], &[None, None], 1)),
        ProbeOutcome::Failed
    );
    let dead = ObservedTrial { alive: Some(false), ..seen(&[GONE], &[None], 0) };
    assert_eq!(outcome(&facts(), McpQuestion::Cancelled, &dead), ProbeOutcome::Failed);
}

#[test]
fn a_failing_backend_is_survived_with_one_effect_and_the_truth() {
    let reply_lost = |seen: ObservedTrial| judge(&facts(), &setup(McpQuestion::ReplyLost), &seen);
    let twice = reply_lost(seen(&[ERROR, OK], &[None, None], 2));
    assert_eq!(twice.outcome, ProbeOutcome::Failed);
    let sentence = "`send`: the backend commits and closes the connection; it says \"connection reset\", and \
                    is called again → two mails; no key reaches the backend";
    assert_eq!(twice.sentence, sentence);
    assert_eq!(reply_lost(seen(&[OK], &[None, None], 2)).outcome, ProbeOutcome::Failed);
    assert_eq!(reply_lost(seen(&[OK], &[Some("a"), Some("a")], 1)).outcome, ProbeOutcome::Held);
    assert_eq!(reply_lost(seen(&[OPEN], &[None], 1)).outcome, ProbeOutcome::Held);

    let request_lost = |seen: ObservedTrial| outcome(&facts(), McpQuestion::RequestLost, &seen);
    assert_eq!(request_lost(seen(&[ERROR, OK], &[None, None], 1)), ProbeOutcome::Held);
    assert_eq!(request_lost(seen(&[ERROR, ERROR], &[None, None], 0)), ProbeOutcome::Held);
    assert_eq!(request_lost(seen(&[OK], &[None], 0)), ProbeOutcome::Failed);
    let not_applied = ObservedTrial { fault_applied: false, ..seen(&[OK], &[None], 0) };
    assert_eq!(request_lost(not_applied), ProbeOutcome::Void);
}

#[test]
fn a_tool_is_not_blamed_for_a_backend_that_lies() {
    assert_eq!(outcome(&facts(), McpQuestion::BackendLies, &seen(&[OK], &[None], 0)), ProbeOutcome::NotAsked);
    assert_eq!(outcome(&facts(), McpQuestion::BackendLies, &seen(&[OPEN], &[None], 0)), ProbeOutcome::Held);
}

#[test]
fn a_server_that_cannot_be_used_shows_nothing() {
    let unusable =
        ObservedTrial { not_connected: Some("it ended".to_owned()), ..seen(&[OK, OK], &[None], 1) };
    for question in McpQuestion::EVERY {
        assert_eq!(outcome(&facts(), question, &unusable), ProbeOutcome::Void, "{question}");
        assert_eq!(outcome(&facts(), question, &ObservedTrial::default()), ProbeOutcome::Void, "{question}");
    }
}

#[test]
fn a_text_that_asks_to_try_again_is_recognized() {
    assert!(says_try_again("Timeout. Please try again later."));
    assert!(!says_try_again("It may have been sent. Do not retry before you have checked."));
    assert!(!says_try_again("not sent"));
}

#[test]
fn a_call_that_reaches_the_backend_after_it_was_cancelled_shows_nothing() {
    let mut late = seen(&[GONE], &[None], 0);
    assert_eq!(outcome(&facts(), McpQuestion::Cancelled, &late), ProbeOutcome::Held);
    late.writes[0].at = 101;
    assert_eq!(outcome(&facts(), McpQuestion::Cancelled, &late), ProbeOutcome::Void);
}

#[test]
fn more_successes_than_effects_are_lost_operations_unless_there_is_one_effect_in_all() {
    let with = |effects| outcome(&facts(), McpQuestion::CallersAtOnce, &seen(&[OK; 8], &[None; 8], effects));
    assert_eq!([1, 3, 8, 9].map(with), {
        use ProbeOutcome::{Failed, Held};
        [Held, Failed, Held, Failed]
    });
}

#[test]
fn what_happens_at_a_host_that_is_not_served_makes_a_trial_void() {
    let plain = seen(&[OK, OK], &[None, None], 2);
    assert_eq!(outcome(&facts(), McpQuestion::SameCallTwice, &plain), ProbeOutcome::Held);
    let escaped = ObservedTrial { escaped: vec!["db.example".to_owned()], ..plain.clone() };
    let untrusted = ObservedTrial { untrusted: vec!["api.example".to_owned()], ..plain };
    for seen in [escaped, untrusted] {
        assert_eq!(outcome(&facts(), McpQuestion::SameCallTwice, &seen), ProbeOutcome::Void);
    }
}

#[test]
fn effects_that_a_read_counts_are_judged_by_the_difference() {
    let call = ToolCall { tool: "list".to_owned(), arguments: serde_json::Map::new() };
    let facts = ToolFacts { keyed: true, source: EffectSource::Read { call, occurrences: 2 }, ..facts() };
    let counted = |counts: &[usize]| ObservedTrial { counts: counts.to_vec(), ..seen(&[OK, OK], &[], 0) };
    let judged = |counts: &[usize]| judge(&facts, &setup(McpQuestion::OneKeyTwice), &counted(counts));
    assert_eq!(judged(&[4, 6]).outcome, ProbeOutcome::Held);
    assert_eq!(judged(&[4, 6]).sentence, "`send` twice with one key → one entry; counted by `list`");
    assert_eq!(judged(&[4, 8]).outcome, ProbeOutcome::Failed);
    // Part of a second effect is a second effect.
    assert_eq!(judged(&[4, 7]).outcome, ProbeOutcome::Failed);
    assert_eq!(judged(&[4, 4]).outcome, ProbeOutcome::Failed);
    let lost = |counts: &[usize]| outcome(&facts, McpQuestion::ConnectionLost, &counted(counts));
    assert_eq!(lost(&[0, 2, 2]), ProbeOutcome::Held);
    assert_eq!(lost(&[0, 2, 4]), ProbeOutcome::Failed);
    // The first call had no effect when its connection was closed.
    assert_eq!(lost(&[0, 0, 2]), ProbeOutcome::Void);
    assert_eq!(judged(&[4]).outcome, ProbeOutcome::Void);
    let uncounted = ObservedTrial { not_counted: Some("gone".to_owned()), ..counted(&[0]) };
    assert_eq!(outcome(&facts, McpQuestion::OneKeyTwice, &uncounted), ProbeOutcome::Void);
}
