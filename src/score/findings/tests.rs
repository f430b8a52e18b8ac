//! What people read, as a whole.

use mock_services::fault::{CommitKind, ReplyKind};
use mock_services::ledger::{CommitTiming, Event, SilenceEnd};
use mock_services::service::Fields;

use crate::domain::{CancelSignal, ClaimEvent, FindingKind, InterruptKind, StartEnd, SubjectEvent};
use crate::scenario::{Budget, ClaimedOutcome, Intent, OperationTerm, Terms};
use crate::score::score;
use crate::score::testing::{LedgerScript, Sees, charge, due, terms};

fn told(terms: &Terms, script: LedgerScript) -> String {
    let verdict = score(terms, &script.end(), None);
    let lines =
        verdict.findings.iter().filter(|finding| finding.kind != FindingKind::MissingClaim).map(|finding| {
            let mark = if finding.fails { "fails" } else { "noted" };
            format!(
                "{:?} ({mark}, entries {:?})\n{}\n{}\n",
                finding.kind, finding.entries, finding.message, finding.fix
            )
        });
    lines.collect::<Vec<_>>().join("\n")
}

fn order() -> Terms {
    terms([due("ord_1001", 4999, 1)])
}

#[test]
fn a_call_that_was_given_up_must_be_canceled_if_the_scenario_says_so() {
    let mut terms = order();
    terms.cancels = vec![Budget { operation: "payment.charge".to_owned(), at_least: 1, at_most: None }];
    let kinds = |silence: SilenceEnd, is_told: bool| {
        let mut script = LedgerScript::new();
        script.charge(Some("k"), "ord_1001", 4999, Sees::Cut(ReplyKind::Hang));
        if let Some(Event::Replied { silence: ended, .. }) =
            script.entries.last_mut().map(|entry| &mut entry.event)
        {
            *ended = Some(silence);
        }
        if is_told {
            let (operation, signal) = ("payment.charge".to_owned(), CancelSignal::Notification);
            script.event(&SubjectEvent::CallCanceled { operation, signal });
        }
        told(&terms, script).lines().any(|line| line.starts_with("NotAttempted"))
    };
    assert!(kinds(SilenceEnd::Caller, false));
    assert!(!kinds(SilenceEnd::Caller, true));
    assert!(!kinds(SilenceEnd::Released, false), "it did not give up");
}

#[test]
fn a_lost_reply_and_a_new_key() {
    let mut script = LedgerScript::new();
    script.charge(Some("a1b2c3d4"), "ord_1001", 4999, Sees::Cut(ReplyKind::Drop));
    script.wait(510).charge(Some("7c9d0e1f"), "ord_1001", 4999, Sees::Ok);
    insta::assert_snapshot!(told(&order(), script));
}

#[test]
fn a_retry_without_a_key_and_one_with_a_key_that_is_ignored() {
    let again = |key: Option<&str>| {
        let mut script = LedgerScript::new();
        script.charge(key, "ord_1001", 4999, Sees::Status(503));
        script.wait(2_000).charge(key, "ord_1001", 4999, Sees::Ok);
        told(&order(), script)
    };
    insta::assert_snapshot!(format!("{}\n{}", again(None), again(Some("ord_1001"))));
}

#[test]
fn a_stale_read_and_one_that_came_too_early() {
    let mut stale = LedgerScript::new();
    stale.charge(Some("k1"), "ord_1001", 4999, Sees::Cut(ReplyKind::Hang));
    let read = stale.received("payment.list", None, &Fields::new());
    stale.fault(read, 1, CommitKind::Now, ReplyKind::Stale);
    stale.replied(read, Sees::Ok);
    stale.charge(Some("k2"), "ord_1001", 4999, Sees::Ok);

    let mut early = LedgerScript::new();
    let first = early.write_without_commit(
        "payment.charge",
        Some("k1"),
        &charge("ord_1001", 4999),
        Sees::Status(504),
    );
    early.read("payment.list");
    early.charge(Some("k2"), "ord_1001", 4999, Sees::Ok);
    early.committed(first, "payment.charge", &charge("ord_1001", 4999), CommitTiming::Later);
    insta::assert_snapshot!(format!("{}\n{}", told(&order(), stale), told(&order(), early)));
}

#[test]
fn a_kill_between_the_effect_and_the_note() {
    let mut script = LedgerScript::new();
    script.started(1);
    let first = script.received("payment.charge", Some("k-first"), &charge("ord_1001", 4999));
    script.committed(first, "payment.charge", &charge("ord_1001", 4999), CommitTiming::Now);
    script.interrupted(InterruptKind::Kill);
    script.replied(first, Sees::Cut(ReplyKind::Drop));
    script.ended(1, StartEnd::Signaled(9));
    script.started(2);
    script.wait(300).charge(Some("s-second"), "ord_1001", 4999, Sees::Ok);
    insta::assert_snapshot!(told(&order(), script));
}

#[test]
fn two_callers_at_once_and_a_network_that_delivers_twice() {
    let mut callers = LedgerScript::new();
    callers.charge(Some("c1-key"), "ord_1001", 4999, Sees::Ok);
    callers.by(2).charge(Some("c2-key"), "ord_1001", 4999, Sees::Ok);
    let mut network = LedgerScript::new();
    let attempt = network.received("payment.charge", None, &charge("ord_1001", 4999));
    network.committed(attempt, "payment.charge", &charge("ord_1001", 4999), CommitTiming::Now);
    network.committed(attempt, "payment.charge", &charge("ord_1001", 4999), CommitTiming::Twice);
    network.replied(attempt, Sees::Ok);
    insta::assert_snapshot!(format!("{}\n{}", told(&order(), callers), told(&order(), network)));
}

/// A key that the service accepts twice is no fix.
#[test]
fn the_same_key_and_two_charges_are_not_fixed_by_a_key() {
    let mut callers = LedgerScript::new();
    callers.charge(Some("ord_1001"), "ord_1001", 4999, Sees::Ok);
    callers.by(2).charge(Some("ord_1001"), "ord_1001", 4999, Sees::Ok);

    let mut early = LedgerScript::new();
    let fields = charge("ord_1001", 4999);
    let first = early.write_without_commit("payment.charge", Some("k1"), &fields, Sees::Status(504));
    early.read("payment.list");
    early.charge(Some("k1"), "ord_1001", 4999, Sees::Ok);
    early.committed(first, "payment.charge", &fields, CommitTiming::Later);

    let mut stale = LedgerScript::new();
    stale.charge(Some("k1"), "ord_1001", 4999, Sees::Cut(ReplyKind::Hang));
    let read = stale.received("payment.list", None, &Fields::new());
    stale.fault(read, 1, CommitKind::Now, ReplyKind::Stale);
    stale.replied(read, Sees::Ok);
    stale.charge(Some("k1"), "ord_1001", 4999, Sees::Ok);
    let told = [callers, early, stale].map(|script| told(&order(), script));
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn two_different_charges_for_one_order() {
    let mut script = LedgerScript::new();
    script.charge(Some("a1b2c3d4"), "ord_1001", 4999, Sees::Cut(ReplyKind::Reset));
    script.wait(510).charge(Some("7c9d0e1f"), "ord_1001", 5999, Sees::Ok);
    insta::assert_snapshot!(told(&order(), script));
}

#[test]
fn lost_in_each_way() {
    let nothing = told(&order(), LedgerScript::new());
    let mut lie = LedgerScript::new();
    lie.write_without_commit("payment.charge", None, &charge("ord_1001", 4999), Sees::Ok);
    lie.claims(1, ClaimedOutcome::Done);
    let mut gave_up = LedgerScript::new();
    gave_up.write_without_commit(
        "payment.charge",
        None,
        &charge("ord_1001", 4999),
        Sees::Cut(ReplyKind::Drop),
    );
    let mut taken_back = LedgerScript::new();
    taken_back.charge(None, "ord_1001", 4999, Sees::Ok);
    taken_back.refund(1, 4999);
    let all = [nothing, told(&order(), lie), told(&order(), gave_up), told(&order(), taken_back)];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn a_crash_is_no_fear_and_what_came_before_is_named() {
    let mut crashed = LedgerScript::new();
    crashed.ended(1, StartEnd::Exited(1));
    let two = terms([due("ord_1001", 4999, 1), due("ord_1002", 4999, 1)]);
    let mut after_one = LedgerScript::new();
    after_one.charge(None, "ord_1001", 4999, Sees::Ok);
    after_one.ended(1, StartEnd::Exited(1));
    let mut stopped = LedgerScript::new();
    stopped.charge(None, "ord_1001", 4999, Sees::Cut(ReplyKind::Drop));
    stopped.ended(1, StartEnd::Exited(0));
    let all = [told(&order(), crashed), told(&two, after_one), told(&two, stopped)];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn what_a_list_that_was_done_in_part_left_out_was_attempted() {
    let two = terms([due("ord_1001", 4999, 1), due("ord_1002", 4999, 1)]);
    let mut script = LedgerScript::new();
    let attempt = script.charge(None, "ord_1001", 4999, Sees::Cut(ReplyKind::Drop));
    script.withheld(attempt, "payment.charge", &charge("ord_1002", 4999));
    script.ended(1, StartEnd::Exited(0));
    insta::assert_snapshot!(told(&two, script));
}

#[test]
fn a_withheld_attempt_that_committed_nothing_is_no_part_of_a_list() {
    let mut script = LedgerScript::new();
    let attempt = script.received("payment.capture", None, &Fields::new());
    script.withheld(attempt, "payment.charge", &charge("ord_1001", 4999));
    script.replied(attempt, Sees::Cut(ReplyKind::Drop));
    script.ended(1, StartEnd::Exited(0));
    let told = told(&order(), script);
    assert!(!told.contains("asked for several"), "{told}");
}

fn missing_claim(terms: &Terms, script: LedgerScript) -> Option<String> {
    let verdict = score(terms, &script.end(), None);
    let missing = verdict.findings.into_iter().find(|finding| finding.kind == FindingKind::MissingClaim);
    missing.map(|finding| format!("{} {}", finding.message, finding.fix))
}

#[test]
fn a_missing_claim_names_its_cause_or_the_way_to_claim() {
    let terms = Terms { claim: vec![ClaimedOutcome::Done], ..order() };
    let ends = |end: StartEnd| {
        let mut script = LedgerScript::new();
        script.started(1);
        script.charge(Some("k"), "ord_1001", 4999, Sees::Ok);
        script.ended(1, end);
        script
    };
    let crashed = missing_claim(&terms, ends(StartEnd::Exited(1))).unwrap();
    assert!(crashed.starts_with("The subject exited with 1 after the charge ("), "{crashed}");
    assert!(crashed.contains("standard error") && !crashed.contains("HAPAX_RESULT"), "{crashed}");
    // The end of the time is a finding of its own.
    assert_eq!(missing_claim(&terms, ends(StartEnd::TimeUp)), None);
    let verdict = score(&terms, &ends(StartEnd::TimeUp).end(), None);
    let failing: Vec<FindingKind> = verdict.failing().map(|finding| finding.kind).collect();
    assert_eq!(failing, [FindingKind::TimeUp]);
    let http = missing_claim(&terms, ends(StartEnd::Answered(200))).unwrap();
    assert!(http.contains("Answer the request with the status 200"), "{http}");
    assert!(http.contains("`claim` in `http:`") && !http.contains("HAPAX_RESULT"), "{http}");
    let mut unread = ends(StartEnd::Answered(200));
    let problem =
        format!("the text of the answer has no claim: `{}`; list texts with `claim`", "x".repeat(250));
    let claimed = ClaimEvent {
        start: 1,
        outcome: None,
        message: String::new(),
        origin: None,
        problem: Some(problem.clone()),
    };
    unread.add(SubjectEvent::Claimed(claimed).to_ledger(Some(1)));
    let unread = missing_claim(&terms, unread).unwrap();
    assert!(unread.contains(&problem), "it ends with what to do: {unread}");
    let plain = missing_claim(&terms, ends(StartEnd::Exited(0))).unwrap();
    assert!(plain.contains("HAPAX_RESULT") && !plain.contains("--claim model"), "{plain}");
    let mut asked = terms.clone();
    let generate = OperationTerm {
        name: "model.generate".to_owned(),
        write: true,
        identity: Vec::new(),
        natural: Vec::new(),
        cost: true,
    };
    asked.operations.push(generate);
    let model = missing_claim(&asked, ends(StartEnd::Exited(0))).unwrap();
    assert!(model.contains("`--claim model`"), "{model}");
    // What a crash kept from being attempted is told with the crash, once.
    let two = Terms { intents: vec![due("ord_1001", 4999, 1), due("ord_1002", 4999, 1)], ..terms };
    let verdict = score(&two, &ends(StartEnd::Exited(1)).end(), None);
    let failing: Vec<FindingKind> = verdict.failing().map(|finding| finding.kind).collect();
    assert_eq!(failing, [FindingKind::Lost]);
}

#[test]
fn no_attempt_names_the_likely_reason_first() {
    let mut elsewhere = LedgerScript::new();
    elsewhere.escaped("api.stripe.com");
    let mut waiting = LedgerScript::new();
    waiting.ended(1, StartEnd::TimeUp);
    let mut other_task = LedgerScript::new();
    let mail = Fields::new().with("to", "ann@example.com").with("subject", "hi");
    other_task.write("email.send", None, &mail, Sees::Ok);
    let told = [elsewhere, waiting, other_task].map(|script| told(&order(), script));
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn no_advice_names_a_key_that_cannot_help() {
    let mut kept = LedgerScript::new();
    kept.write_without_commit("payment.charge", Some("k1"), &charge("ord_1001", 4999), Sees::Status(500));
    kept.write_without_commit("payment.charge", Some("k1"), &charge("ord_1001", 4999), Sees::Status(500));
    for entry in &mut kept.entries {
        if let mock_services::ledger::Event::Received(received) = &mut entry.event {
            received.replay = received.attempt == 2;
        }
    }
    let mut twice = LedgerScript::new();
    let attempt = twice.received("payment.charge", Some("k1"), &charge("ord_1001", 4999));
    twice.committed(attempt, "payment.charge", &charge("ord_1001", 4999), CommitTiming::Now);
    twice.committed(attempt, "payment.charge", &charge("ord_1001", 4999), CommitTiming::Twice);
    twice.replied(attempt, Sees::Ok);
    insta::assert_snapshot!([told(&order(), kept), told(&order(), twice)].join("\n"));
}

#[test]
fn not_as_asked_and_not_asked_for() {
    let mut script = LedgerScript::new();
    script.charge(None, "ord_1001", 5999, Sees::Ok);
    let mail = Fields::new().with("to", "eve@example.org").with("subject", "hi");
    script.write("email.send", None, &mail, Sees::Ok);
    insta::assert_snapshot!(told(&order(), script));
}

#[test]
fn a_surplus_that_was_refunded() {
    let mut script = LedgerScript::new();
    script.charge(Some("a1b2c3d4"), "ord_1001", 4999, Sees::Cut(ReplyKind::Drop));
    script.wait(510).charge(Some("7c9d0e1f"), "ord_1001", 4999, Sees::Ok);
    script.refund(2, 4999);
    let allowed = Terms { compensation: true, ..order() };
    insta::assert_snapshot!(format!("{}\n{}", told(&order(), script.clone()), told(&allowed, script)));
}

#[test]
fn claims_budgets_and_bounds() {
    let mut terms = Terms { callers: 2, claim: vec![ClaimedOutcome::Done], ..order() };
    terms.attempts = vec![Budget { operation: "payment.charge".to_owned(), at_least: 0, at_most: Some(2) }];
    let mut script = LedgerScript::new();
    for key in ["k1", "k1", "k1"] {
        script.write_without_commit(
            "payment.charge",
            Some(key),
            &charge("ord_1001", 4999),
            Sees::Status(503),
        );
    }
    script.charge(Some("k1"), "ord_1001", 4999, Sees::Ok);
    script.claims(1, ClaimedOutcome::NotDone);
    script.escaped("api.stripe.com");
    script.event(&SubjectEvent::OverLimit { limit: "output".to_owned() });
    script.by(2).ended(1, StartEnd::TimeUp);
    insta::assert_snapshot!(told(&terms, script));
}

#[test]
fn text_of_the_subject_is_escaped_and_shortened_everywhere() {
    let nasty = format!("\u{1b}[31m\n{}", "x".repeat(5_000));
    let intent = Intent { selector: Fields::new(), expected: Fields::new(), ..due("", 1, 1) };
    let mut script = LedgerScript::new();
    let fields =
        Fields::new().with("amount", 1).with("currency", nasty.as_str()).with("order", nasty.as_str());
    script.write("payment.charge", Some(&nasty), &fields, Sees::Ok);
    script.write("payment.charge", Some(&format!("2{nasty}")), &fields.with("amount", 2), Sees::Ok);
    script.write("email.send", None, &Fields::new().with("to", nasty.as_str()), Sees::Ok);
    script.claim(1, Some(ClaimedOutcome::NotDone), &nasty);
    script.escaped(&nasty);
    let verdict = score(&terms([intent]), &script.end(), None);
    assert!(verdict.findings.len() >= 4);
    for text in verdict.findings.iter().flat_map(|finding| [&finding.message, &finding.fix]) {
        assert!(!text.contains(['\u{1b}', '\n']) && text.chars().count() < 1_500, "{text}");
    }
}
