use super::*;
use crate::certify::mcp::observed::{SeenCall, SeenEffect, SeenWrite};
use crate::certify::mcp::startup::startup_writes;

fn facts() -> ToolFacts {
    ToolFacts {
        name: "send".to_owned(),
        effects: 1,
        effect: "email.send".to_owned(),
        idempotent_hint: false,
        keyed: false,
        callers: 8,
        source: EffectSource::Backend(vec!["email.send".to_owned()]),
        is_late: false,
        unclear_success: None,
    }
}

/// A trial with these calls, the key of each write, and so many effects.
fn seen(calls: &[(CallOutcome, &str)], keys: &[Option<&str>], effects: usize) -> ObservedTrial {
    let call = |(outcome, text): &(CallOutcome, &str)| {
        let ended_at = (*outcome == CallOutcome::NotAwaited).then_some(100);
        SeenCall { outcome: *outcome, text: (*text).to_owned(), ended_at }
    };
    let write = |(attempt, key): (u64, &Option<&str>)| SeenWrite {
        attempt,
        operation: "email.send".to_owned(),
        key: key.map(str::to_owned),
        at: 50,
        method: "POST".to_owned(),
        path: "/emails".to_owned(),
        host: None,
        body: None,
    };
    let mail = |attempt| SeenEffect {
        attempt,
        effect: "email.send".to_owned(),
        operation: "email.send".to_owned(),
        at: 50,
    };
    ObservedTrial {
        calls: calls.iter().map(call).collect(),
        writes: (1..).zip(keys).map(write).collect(),
        effects: (1..=u64::try_from(effects).unwrap()).map(mail).collect(),
        faulted: vec![1],
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

fn verdict(facts: &ToolFacts, kind: ServerScenario, seen: &ObservedTrial) -> CaseVerdict {
    judge(&case(facts, kind), seen).verdict
}

fn case(facts: &ToolFacts, kind: ServerScenario) -> ServerCase {
    let failure = match kind {
        ServerScenario::LostReply => Some("the backend commits and closes the connection"),
        ServerScenario::LostRequest => Some("the backend commits nothing and replies 503"),
        ServerScenario::LyingSuccess => Some("the backend commits nothing and replies"),
        _ => None,
    };
    let fault =
        |failure: &str| BackendFault { operation: "email.send".to_owned(), failure: failure.to_owned() };
    ServerCase {
        scenario: format!("send/{kind}"),
        kind,
        tool: facts.clone(),
        fault: failure.map(fault),
        startup: Vec::new(),
    }
}

#[test]
fn two_calls_without_a_key_are_two_operations_unless_the_annotations_say_otherwise() {
    let twice = seen(&[OK, OK], &[None, None], 2);
    let judgment = judge(&case(&facts(), ServerScenario::SameCallTwice), &twice);
    assert_eq!(judgment.verdict, CaseVerdict::Pass);
    assert_eq!(judgment.message, "`send` twice → two mails; no key reaches the backend");
    let hinted = ToolFacts { idempotent_hint: true, ..facts() };
    assert_eq!(verdict(&hinted, ServerScenario::SameCallTwice, &twice), CaseVerdict::Fail);
    assert_eq!(
        verdict(&facts(), ServerScenario::SameCallTwice, &seen(&[OK, OK], &[None; 3], 3)),
        CaseVerdict::Fail
    );
    assert_eq!(
        verdict(&facts(), ServerScenario::SameCallTwice, &seen(&[OK, OK], &[None], 0)),
        CaseVerdict::Fail
    );
    assert_eq!(
        verdict(&facts(), ServerScenario::SameCallTwice, &seen(&[ERROR, ERROR], &[], 0)),
        CaseVerdict::Void
    );
}

#[test]
fn one_key_is_one_operation_and_two_keys_are_two() {
    let keyed = ToolFacts { keyed: true, ..facts() };
    let one = seen(&[OK, OK], &[Some("a"), Some("a")], 1);
    let two = seen(&[OK, OK], &[Some("a"), Some("b")], 2);
    assert_eq!(verdict(&keyed, ServerScenario::SameKeyTwice, &one), CaseVerdict::Pass);
    assert_eq!(verdict(&keyed, ServerScenario::SameKeyTwice, &two), CaseVerdict::Fail);
    assert_eq!(verdict(&keyed, ServerScenario::AnotherKey, &two), CaseVerdict::Pass);
    assert_eq!(verdict(&keyed, ServerScenario::AnotherKey, &one), CaseVerdict::Fail);
    assert_eq!(verdict(&keyed, ServerScenario::SameKeyOtherArguments, &one), CaseVerdict::Fail);
    let refused = seen(&[OK, ERROR], &[Some("a"), Some("a")], 1);
    assert_eq!(verdict(&keyed, ServerScenario::SameKeyOtherArguments, &refused), CaseVerdict::Pass);
    assert_eq!(verdict(&keyed, ServerScenario::CallersAtOnce, &one), CaseVerdict::Pass);
    assert_eq!(verdict(&keyed, ServerScenario::CallersAtOnce, &two), CaseVerdict::Fail);
    assert_eq!(verdict(&facts(), ServerScenario::CallersAtOnce, &two), CaseVerdict::Pass);
}

#[test]
fn a_call_that_is_repeated_after_a_lost_connection_or_a_kill_has_one_effect() {
    let twice = seen(&[GONE, OK], &[None, None], 2);
    for kind in [ServerScenario::LostConnection, ServerScenario::KilledAfterEffect] {
        assert_eq!(verdict(&facts(), kind, &twice), CaseVerdict::Fail, "{kind}");
        let once = seen(&[GONE, OK], &[Some("a"), Some("a")], 1);
        assert_eq!(verdict(&facts(), kind, &once), CaseVerdict::Pass, "{kind}");
    }
    let mut too_late = twice.clone();
    too_late.writes[0].at = 150;
    assert_eq!(verdict(&facts(), ServerScenario::LostConnection, &too_late), CaseVerdict::Void);
    let not_killed = ObservedTrial { starts: 1, ..twice };
    assert_eq!(verdict(&facts(), ServerScenario::KilledAfterEffect, &not_killed), CaseVerdict::Void);
}

#[test]
fn nothing_may_happen_after_a_cancellation() {
    assert_eq!(verdict(&facts(), ServerScenario::Cancelled, &seen(&[GONE], &[None], 0)), CaseVerdict::Pass);
    let mut repeated = seen(&[GONE], &[None, None], 1);
    repeated.effects[0].at = 150;
    assert_eq!(verdict(&facts(), ServerScenario::Cancelled, &repeated), CaseVerdict::Fail);
    // What it did before is not what follows.
    repeated.effects[0].at = 90;
    assert_eq!(verdict(&facts(), ServerScenario::Cancelled, &repeated), CaseVerdict::Pass);
    let dead = ObservedTrial { alive: Some(false), ..seen(&[GONE], &[None], 0) };
    assert_eq!(verdict(&facts(), ServerScenario::Cancelled, &dead), CaseVerdict::Fail);
}

#[test]
fn a_failing_backend_is_survived_with_one_effect_and_the_truth() {
    let reply_lost = |seen: ObservedTrial| judge(&case(&facts(), ServerScenario::LostReply), &seen);
    let twice = reply_lost(seen(&[ERROR, OK], &[None, None], 2));
    assert_eq!((twice.verdict, twice.finding), (CaseVerdict::Fail, Some(FindingKind::Duplicated)));
    let message = "`send`: the backend commits and closes the connection; it says \"connection reset\", and \
                    is called again → two mails; no key reaches the backend";
    assert_eq!(twice.message, message);
    assert_eq!(reply_lost(seen(&[OK], &[None, None], 2)).verdict, CaseVerdict::Fail);
    assert_eq!(reply_lost(seen(&[OK], &[Some("a"), Some("a")], 1)).verdict, CaseVerdict::Pass);
    assert_eq!(reply_lost(seen(&[OPEN], &[None], 1)).verdict, CaseVerdict::Pass);

    let request_lost = |seen: ObservedTrial| verdict(&facts(), ServerScenario::LostRequest, &seen);
    assert_eq!(request_lost(seen(&[ERROR, OK], &[None, None], 1)), CaseVerdict::Pass);
    assert_eq!(request_lost(seen(&[ERROR, ERROR], &[None, None], 0)), CaseVerdict::Pass);
    assert_eq!(request_lost(seen(&[OK], &[None], 0)), CaseVerdict::Fail);
    let not_applied = ObservedTrial { faulted: Vec::new(), ..seen(&[OK], &[None], 0) };
    assert_eq!(request_lost(not_applied), CaseVerdict::Void);
}

#[test]
fn a_tool_is_not_blamed_for_a_backend_that_lies() {
    assert_eq!(
        verdict(&facts(), ServerScenario::LyingSuccess, &seen(&[OK], &[None], 0)),
        CaseVerdict::Skipped
    );
    assert_eq!(
        verdict(&facts(), ServerScenario::LyingSuccess, &seen(&[OPEN], &[None], 0)),
        CaseVerdict::Pass
    );
}

#[test]
fn a_server_that_cannot_be_used_shows_nothing() {
    let unusable =
        ObservedTrial { not_connected: Some("it ended".to_owned()), ..seen(&[OK, OK], &[None], 1) };
    for kind in ServerScenario::ALL {
        assert_eq!(verdict(&facts(), kind, &unusable), CaseVerdict::Void, "{kind}");
        assert_eq!(verdict(&facts(), kind, &ObservedTrial::default()), CaseVerdict::Void, "{kind}");
    }
}

#[test]
fn a_message_names_each_kind_of_effect_of_a_sum() {
    let web = |effect: &str| SeenEffect { effect: effect.to_owned(), ..SeenEffect::default() };
    let mixed = ObservedTrial {
        effects: vec![web("web.post"), web("web.delete"), web("web.post")],
        ..seen(&[ERROR, OK], &[None; 3], 0)
    };
    let facts = ToolFacts { effect: "web.post".to_owned(), ..facts() };
    let judgment = judge(&case(&facts, ServerScenario::LostReply), &mixed);
    assert_eq!(judgment.finding, Some(FindingKind::Duplicated));
    assert!(judgment.message.contains(" → one DELETE and two POSTs; "), "{}", judgment.message);
    let none = ObservedTrial { effects: Vec::new(), ..mixed };
    let judgment = judge(&case(&facts, ServerScenario::LostReply), &none);
    assert!(judgment.message.contains(" → no POST; "), "{}", judgment.message);
}

#[test]
fn what_a_server_writes_at_its_start_is_no_effect_of_its_tool() {
    let mut cleaned = seen(&[ERROR, OK], &[None; 2], 2);
    cleaned.first_connections = 1;
    cleaned.writes[0].path = "/old".to_owned();
    cleaned.effects[0].effect = "web.delete".to_owned();
    cleaned.faulted = vec![2];
    let start =
        ObservedTrial { calls: Vec::new(), writes: cleaned.writes[..1].to_vec(), ..ObservedTrial::default() };
    let case = case(&facts(), ServerScenario::LostReply);
    assert_eq!(judge(&case, &cleaned).verdict, CaseVerdict::Fail);
    let known = ServerCase { startup: startup_writes(&start), ..case };
    assert_eq!(judge(&known, &cleaned).verdict, CaseVerdict::Pass);
    // The fault was for the call, and hit the start.
    let missed = ObservedTrial { faulted: vec![1], ..cleaned.clone() };
    assert_eq!(judge(&known, &missed).void.unwrap().reason, "fault-not-fired");
    // After a new connection it counts.
    let again = ObservedTrial { first_start_ended: Some(50), ..cleaned };
    assert_eq!(judge(&known, &again).verdict, CaseVerdict::Fail);
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
    assert_eq!(verdict(&facts(), ServerScenario::Cancelled, &late), CaseVerdict::Pass);
    late.writes[0].at = 101;
    assert_eq!(verdict(&facts(), ServerScenario::Cancelled, &late), CaseVerdict::Void);
}

#[test]
fn more_successes_than_effects_are_lost_operations_unless_there_is_one_effect_in_all() {
    let with =
        |effects| verdict(&facts(), ServerScenario::CallersAtOnce, &seen(&[OK; 8], &[None; 8], effects));
    assert_eq!([1, 3, 8, 9].map(with), {
        use CaseVerdict::{Fail, Pass};
        [Pass, Fail, Pass, Fail]
    });
}

#[test]
fn what_happens_at_a_host_that_is_not_served_makes_a_trial_void() {
    let plain = seen(&[OK, OK], &[None, None], 2);
    assert_eq!(verdict(&facts(), ServerScenario::SameCallTwice, &plain), CaseVerdict::Pass);
    let escaped = ObservedTrial { escaped: vec!["db.example".to_owned()], ..plain.clone() };
    let untrusted = ObservedTrial { untrusted: vec!["api.example".to_owned()], ..plain };
    for seen in [escaped, untrusted] {
        assert_eq!(verdict(&facts(), ServerScenario::SameCallTwice, &seen), CaseVerdict::Void);
    }
}

#[test]
fn effects_that_a_read_counts_are_judged_by_the_difference() {
    let call = ToolCall { tool: "list".to_owned(), arguments: serde_json::Map::new() };
    let facts = ToolFacts { keyed: true, source: EffectSource::Read { call, occurrences: 2 }, ..facts() };
    let counted = |counts: &[usize]| ObservedTrial { counts: counts.to_vec(), ..seen(&[OK, OK], &[], 0) };
    let judged = |counts: &[usize]| judge(&case(&facts, ServerScenario::SameKeyTwice), &counted(counts));
    assert_eq!(judged(&[4, 6]).verdict, CaseVerdict::Pass);
    assert_eq!(judged(&[4, 6]).message, "`send` twice with one key → one entry; counted by `list`");
    assert_eq!(judged(&[4, 8]).verdict, CaseVerdict::Fail);
    // Part of a second effect is a second effect.
    assert_eq!(judged(&[4, 7]).verdict, CaseVerdict::Fail);
    assert_eq!(judged(&[4, 4]).verdict, CaseVerdict::Fail);
    let lost = |counts: &[usize]| verdict(&facts, ServerScenario::LostConnection, &counted(counts));
    assert_eq!(lost(&[0, 2, 2]), CaseVerdict::Pass);
    assert_eq!(lost(&[0, 2, 4]), CaseVerdict::Fail);
    // The first call had no effect when its connection was closed.
    assert_eq!(lost(&[0, 0, 2]), CaseVerdict::Void);
    assert_eq!(judged(&[4]).verdict, CaseVerdict::Void);
    let uncounted = ObservedTrial { not_counted: Some("gone".to_owned()), ..counted(&[0]) };
    assert_eq!(verdict(&facts, ServerScenario::SameKeyTwice, &uncounted), CaseVerdict::Void);
}

#[test]
fn a_text_that_says_neither_success_nor_error_is_not_a_false_success() {
    let filed = (CallOutcome::Unclear, "error report 7 was filed");
    let judged = |facts: &ToolFacts, effects| {
        judge(&case(facts, ServerScenario::LostRequest), &seen(&[filed], &[None], effects))
    };
    for effects in [0, 1] {
        let unclear = judged(&facts(), effects);
        assert_eq!(unclear.verdict, CaseVerdict::Void);
        assert_eq!(unclear.void.unwrap().reason, "unclear-text");
    }
    assert_eq!(judged(&facts(), 2).finding, Some(FindingKind::Duplicated));
    // A tool that worked with this text says with it that it worked.
    let usual = ToolFacts { unclear_success: Some("error report # was filed".to_owned()), ..facts() };
    assert_eq!(judged(&usual, 0).finding, Some(FindingKind::Overclaimed));
}

#[test]
fn a_write_after_the_last_answer_fails_unless_the_tool_always_writes_then() {
    let mut late = seen(&[OK, OK], &[None; 4], 4);
    late.calls.iter_mut().zip([100, 200]).for_each(|(call, at)| call.ended_at = Some(at));
    let at = |seen: &mut ObservedTrial, times: [i64; 4]| {
        seen.effects.iter_mut().zip(times).for_each(|(effect, time)| effect.at = time);
    };
    at(&mut late, [90, 150, 190, 1700]);
    let judged = |facts: &ToolFacts, seen: &ObservedTrial| {
        judge(&case(facts, ServerScenario::SameCallTwice), seen).finding
    };
    assert_eq!(judged(&facts(), &late), Some(FindingKind::LateWrite));
    let asynchronous = ToolFacts { is_late: true, effects: 2, ..facts() };
    assert_eq!(judged(&asynchronous, &late), None);
    at(&mut late, [90, 150, 190, 200]);
    assert_eq!(late.late_effects(), 0);
    // What comes after a call that was not answered is not late.
    at(&mut late, [90, 150, 190, 1700]);
    late.calls[1].outcome = CallOutcome::Timeout;
    assert_eq!(late.late_effects(), 0);
}

#[test]
fn a_server_that_forwards_messages_to_another_one_is_a_bridge() {
    let mut forwarding = seen(&[], &[None], 1);
    assert_eq!(forwarding.forwards_to(), None);
    forwarding.writes[0].host = Some("mcp.example.com".to_owned());
    forwarding.writes[0].body = Some(r#"{"jsonrpc": "2.0", "id": 0, "method": "initialize"}"#.to_owned());
    assert_eq!(forwarding.forwards_to(), Some("mcp.example.com"));
}
