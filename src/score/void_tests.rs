use mock_services::fault::{CommitKind, Fault, ReplyKind};
use mock_services::ledger::{Event, RefusedRequest};
use mock_services::service::{Fields, TaskShare};

use crate::domain::{EndEvent, InterruptKind, OrderMiss, SecondCopy, StartEnd, SubjectEvent, VoidOwner};
use crate::scenario::{ClaimedOutcome, ControlOutcome, Planned, Terms, ViaDue};
use crate::score::testing::{LedgerScript, Sees, due, planned, terms};
use crate::score::{FindingKind, Outcome, TrialStatus, Verdict, score};

fn with_fault(optional: bool) -> Terms {
    let fault = Planned { optional, ..planned("payment.charge#2 commit=now reply=drop", "payment.charge") };
    Terms { faults: vec![fault], ..terms([due("o1", 10, 1)]) }
}

fn one_charge() -> LedgerScript {
    let mut script = LedgerScript::new();
    script.charge(None, "o1", 10, Sees::Ok);
    script
}

#[test]
fn a_fault_that_did_not_fire_makes_a_pass_void() {
    let verdict = score(&with_fault(false), &one_charge().end(), None);
    assert_eq!((verdict.result, verdict.control_outcome()), (TrialStatus::Void, ControlOutcome::Void));
    insta::assert_snapshot!(verdict.void_because.join("\n"), @"the fault `payment.charge#2 commit=now reply=drop` did not fire: the only attempt of payment.charge did not meet it");
    assert_eq!(score(&with_fault(true), &one_charge().end(), None).result, TrialStatus::Pass);
}

#[test]
fn a_service_that_is_required_and_not_used_makes_a_pass_void() {
    let requiring = |service: &str| Terms { requires: vec![service.to_owned()], ..terms([due("o1", 10, 1)]) };
    let verdict = score(&requiring("model"), &one_charge().end(), None);
    assert_eq!(verdict.result, TrialStatus::Void);
    assert!(verdict.void_because[0].starts_with("the scenario requires the service `model`"));
    assert_eq!(score(&requiring("payment"), &one_charge().end(), None).result, TrialStatus::Pass);
}

#[test]
fn a_failure_wins_over_void() {
    assert_eq!(score(&with_fault(false), &LedgerScript::new().end(), None).result, TrialStatus::Fail);
}

#[test]
fn an_interrupt_must_have_fired() {
    let terms = Terms {
        interrupts: vec![planned("kill when committed payment.charge#1", "payment.charge")],
        ..terms([due("o1", 10, 1)])
    };
    assert_eq!(score(&terms, &one_charge().end(), None).result, TrialStatus::Void);
    let mut script = one_charge();
    script.interrupted(InterruptKind::Kill);
    assert_eq!(score(&terms, &script.end(), None).result, TrialStatus::Pass);
}

#[test]
fn two_deliveries_must_have_overlapped() {
    let overlap = planned("payment.charge#1 arrived: freeze while the second runs", "payment.charge");
    let claim = vec![ClaimedOutcome::Done];
    let terms = Terms { overlap: Some(overlap), callers: 2, claim, ..terms([due("o1", 10, 1)]) };
    let mut alone = LedgerScript::new();
    alone.started(1);
    alone.charge(None, "o1", 10, Sees::Ok);
    alone.claims(1, ClaimedOutcome::Done);
    let verdict = score(&terms, &alone.end(), None);
    assert_eq!(verdict.result, TrialStatus::Void, "{:?}", verdict.findings);
    insta::assert_snapshot!(verdict.void_because.join("\n"), @"the two deliveries did not overlap (`payment.charge#1 arrived: freeze while the second runs`): the only attempt of payment.charge did not meet it");

    let frozen_while = |wrote: bool, second: SecondCopy| {
        let mut script = LedgerScript::new();
        script.started(1);
        script.event(&SubjectEvent::Frozen { operation: "payment.charge".to_owned() });
        script.by(2).started(1);
        if wrote {
            script.charge(Some("k"), "o1", 10, Sees::Ok);
        }
        script.by(1).event(&SubjectEvent::Unfrozen { second });
        if !wrote {
            script.charge(Some("k"), "o1", 10, Sees::Ok);
        }
        script.claims(1, ClaimedOutcome::Done);
        script.by(2).claims(1, ClaimedOutcome::Done);
        score(&terms, &script.end(), None)
    };
    for (wrote, second, result) in [
        (true, SecondCopy::Ended, TrialStatus::Pass),
        (false, SecondCopy::WaitsForLock, TrialStatus::Pass),
        (false, SecondCopy::Running, TrialStatus::Void),
        (true, SecondCopy::Running, TrialStatus::Pass),
    ] {
        let verdict = frozen_while(wrote, second);
        assert_eq!(verdict.result, result, "{wrote} {second}: {:?}", verdict.findings);
    }
    let mut missed = LedgerScript::new();
    missed.started(1);
    let reason = "it had ended".to_owned();
    missed.event(&SubjectEvent::FreezeMissed { operation: "payment.charge".to_owned(), reason });
    missed.charge(None, "o1", 10, Sees::Ok);
    missed.claims(1, ClaimedOutcome::Done);
    let verdict = score(&terms, &missed.end(), None);
    assert!(verdict.void_because[0].ends_with("it had ended"), "{:?}", verdict.void_because);
}

/// Caller 2 did not do what the order needs, and then this.
fn after_miss(miss: OrderMiss, act: impl FnOnce(&mut LedgerScript)) -> Verdict {
    let mut script = LedgerScript::new();
    script.by(1).charge(None, "o1", 10, Sees::Ok);
    script.claims(1, ClaimedOutcome::Done);
    script.by(2).event(&SubjectEvent::OrderMissed(miss));
    act(&mut script);
    let claim = vec![ClaimedOutcome::Done];
    score(&Terms { callers: 2, claim, ..terms([due("o1", 10, 1)]) }, &script.end(), None)
}

#[test]
fn what_follows_when_a_client_gives_up_while_its_request_is_held_is_void_and_no_finding() {
    let gave_up = || OrderMiss::GaveUp { caller: 2 };
    let acts: [fn(&mut LedgerScript); 3] = [
        |script| _ = script.claims(1, ClaimedOutcome::Unknown),
        |script| {
            script.charge(None, "o1", 10, Sees::Ok);
            script.claims(1, ClaimedOutcome::Done);
        },
        |script| _ = script.ended(1, StartEnd::TimeUp),
    ];
    for act in acts {
        let verdict = after_miss(gave_up(), act);
        assert_eq!(verdict.result, TrialStatus::Void, "{:#?}", verdict.findings);
        assert_eq!(
            verdict.void_because,
            [
                "the callers were not let in in the order of the scenario: the client of caller 2 gave up while its \
              request was held"
            ]
        );
        assert_eq!(verdict.void_causes[0].owner, VoidOwner::Hapax);
        let ended = after_miss(OrderMiss::Ended { caller: 2, request: 2 }, act);
        assert_eq!(ended.result, TrialStatus::Fail, "its requests were not held in vain");
    }
    let mut lie = LedgerScript::new();
    lie.by(2).event(&SubjectEvent::OrderMissed(gave_up()));
    lie.claims(1, ClaimedOutcome::Done);
    assert_eq!(score(&terms([due("o1", 10, 1)]), &lie.end(), None).result, TrialStatus::Fail);
}

#[test]
fn a_torn_ledger_proves_nothing() {
    let terms = terms([due("o1", 10, 1)]);
    let unclosed = score(&terms, &one_charge().entries, None);
    assert_eq!((unclosed.result, unclosed.void_because.len()), (TrialStatus::Void, 1));
    let torn = score(&terms, &one_charge().end(), Some("line 3 was edited"));
    assert_eq!(torn.void_because, ["the ledger is torn: line 3 was edited"]);
    // What is missing may have been in it; what is there more than once is there.
    assert_eq!(score(&terms, &[], None).result, TrialStatus::Void);
    let mut twice = one_charge();
    twice.charge(None, "o1", 10, Sees::Ok);
    assert_eq!(score(&terms, &twice.end(), Some("line 9 was edited")).result, TrialStatus::Fail);
}

#[test]
fn a_note_that_cannot_be_read_makes_a_pass_void() {
    let mut script = one_charge();
    script.add(mock_services::ledger::Event::Noted {
        name: "struck".into(),
        caller: Some(1),
        fields: Fields::new().with("do", "kill"),
    });
    let verdict = score(&terms([due("o1", 10, 1)]), &script.end(), None);
    assert_eq!(verdict.result, TrialStatus::Void);
    let reason = &verdict.void_because[0];
    assert!(reason.ends_with("cannot be read: `struck` is not the name of a subject event"), "{reason}");
}

#[test]
fn where_nothing_is_due_something_must_have_been_asked_for() {
    let none = terms([due("o1", 10, 0)]);
    let silent = score(&none, &LedgerScript::new().end(), None);
    assert_eq!(silent.result, TrialStatus::Void);
    insta::assert_snapshot!(silent.void_because.join("\n"), @"no service received a request, so the trial shows nothing about the subject");
    let mut looked = LedgerScript::new();
    looked.received("payment.list", None, &Fields::new());
    assert_eq!(score(&none, &looked.end(), None).result, TrialStatus::Pass);
}

#[test]
fn what_a_subject_leaves_running_makes_a_pass_void() {
    let terms = terms([due("o1", 10, 1)]);
    let mut script = one_charge();
    script.event(&SubjectEvent::Ended(EndEvent {
        start: 1,
        end: StartEnd::Exited(0),
        left_running: 2,
        claimed_before_limit: None,
    }));
    let verdict = score(&terms, &script.end(), None);
    assert_eq!(verdict.result, TrialStatus::Void);
    insta::assert_snapshot!(verdict.void_because.join("\n"), @"the subject ended and left 2 processes running, which hapax ended: what they would have done is not known");
}

#[test]
fn a_subject_that_could_not_be_started_is_void_though_nothing_was_done() {
    let mut script = LedgerScript::new();
    script.event(&SubjectEvent::Unstartable { start: 1, error: "no such file: agent.py".to_owned() });
    let required = Terms { claim: vec![ClaimedOutcome::Done], ..terms([due("o1", 10, 1)]) };
    let verdict = score(&required, &script.clone().end(), None);
    assert_eq!((verdict.result, verdict.outcome), (TrialStatus::Void, Outcome::Lost));
    assert_eq!(verdict.void_because, ["caller 1 could not be started: no such file: agent.py"]);
    script.charge(None, "o1", 10, Sees::Ok);
    script.charge(None, "o1", 10, Sees::Ok);
    assert_eq!(score(&required, &script.end(), None).result, TrialStatus::Fail);
}

/// A request for something that the real service has and hapax does not.
fn lacks(script: &mut LedgerScript, what: &'static str) -> u64 {
    script.add(Event::Refused(Box::new(RefusedRequest {
        service: "payment".into(),
        operation: None,
        method: "POST".into(),
        path: "/v1/invoices".into(),
        status: 501,
        caller: 1,
        connection: 1,
        key: None,
        reason: Some(format!("hapax does not have {what} yet.").into()),
        unsupported: Some(what.into()),
        undecided: None,
        declared_answer: None,
        message: None,
        answer: None,
    })))
}

#[test]
fn what_hapax_lacks_makes_a_trial_void_and_not_the_subjects_fault() {
    let required = Terms { claim: vec![ClaimedOutcome::Done], ..terms([due("o1", 10, 1)]) };
    let mut script = LedgerScript::new();
    lacks(&mut script, "POST /v1/invoices");
    lacks(&mut script, "POST /v1/invoices");
    script.claims(1, ClaimedOutcome::NotDone);
    let verdict = score(&required, &script.end(), None);
    assert_eq!((verdict.result, verdict.outcome), (TrialStatus::Void, Outcome::Lost));
    insta::assert_snapshot!(verdict.void_because.join("\n"), @"hapax does not have POST /v1/invoices yet, and the subject asked for it: open an issue that names it, serve it from a service that you declare (docs/your-own-service.md), or let the subject do without it in this test");
    let lost = verdict.findings.iter().find(|finding| finding.kind == FindingKind::Lost).unwrap();
    insta::assert_snapshot!(lost.message, @"No charge for o1, but 1 is expected. The service refused POST /v1/invoices: 501 hapax does not have POST /v1/invoices yet (entry 3).");
    insta::assert_snapshot!(lost.fix, @"The subject is not at fault: hapax does not have POST /v1/invoices yet.");
    assert!(verdict.findings.iter().all(|finding| !finding.fails));
}

#[test]
fn a_proven_failure_counts_even_if_hapax_lacks_a_feature() {
    let mut script = one_charge();
    lacks(&mut script, "GET /v1/events");
    assert_eq!(score(&terms([due("o1", 10, 1)]), &script.clone().end(), None).result, TrialStatus::Void);
    script.charge(None, "o1", 10, Sees::Ok);
    let verdict = score(&terms([due("o1", 10, 1)]), &script.end(), None);
    assert_eq!((verdict.result, verdict.outcome), (TrialStatus::Fail, Outcome::Duplicated));
}

#[test]
fn a_refusal_is_shown_with_its_reason() {
    let mut script = LedgerScript::new();
    script.add(Event::Refused(Box::new(RefusedRequest {
        service: "payment".into(),
        operation: None,
        method: "POST".into(),
        path: "/v1/charges".into(),
        status: 400,
        caller: 1,
        connection: 1,
        key: None,
        reason: Some("Missing required param: amount.".into()),
        unsupported: None,
        undecided: None,
        declared_answer: None,
        message: None,
        answer: None,
    })));
    let verdict = score(&terms([due("o1", 10, 1)]), &script.end(), None);
    assert_eq!(verdict.result, TrialStatus::Fail);
    insta::assert_snapshot!(verdict.findings[0].message, @"No charge for o1, but 1 is expected. The service refused POST /v1/charges: 400 Missing required param: amount (entry 2).");
}

fn needing(operation: &str, apis: &[&str]) -> Terms {
    let due_via =
        ViaDue { operation: operation.to_owned(), apis: apis.iter().map(|api| (*api).to_owned()).collect() };
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
    assert_eq!(score(&needing("deploy.deploy", &["plain"]), &script.end(), None).result, TrialStatus::Fail);
}

#[test]
fn a_model_that_was_never_offered_a_tool_makes_a_loss_void() {
    let asked = |shares: &[TaskShare]| {
        let mut script = LedgerScript::new();
        for share in shares {
            script.share = *share;
            let asked = script.received("model.generate", None, &Fields::new());
            script.replied(asked, Sees::Ok);
        }
        script.share = TaskShare::Full;
        script
    };
    let terms = terms([due("o1", 10, 1)]);
    let verdict = score(&terms, &asked(&[TaskShare::Part, TaskShare::Part]).end(), None);
    assert_eq!(verdict.result, TrialStatus::Void);
    insta::assert_snapshot!(verdict.void_because.join("\n"), @"the subject asked the model about the task 2 times and never offered it a tool, so the scripted model could only answer with a text: let the subject send `tools` or a text protocol that the model speaks, or script the answers with `script`");
    // A title, and then the task with tools.
    let with_tools = asked(&[TaskShare::Part, TaskShare::Full]).end();
    assert_eq!(score(&terms, &with_tools, None).result, TrialStatus::Fail);
    assert_eq!(score(&terms, &asked(&[TaskShare::None]).end(), None).result, TrialStatus::Fail);
    let mut acted = asked(&[TaskShare::Part]);
    acted.charge(None, "o2", 10, Sees::Ok);
    assert_eq!(score(&terms, &acted.end(), None).result, TrialStatus::Fail);
}

#[test]
fn a_fault_that_only_a_part_of_the_task_can_meet_has_fired_there() {
    let fired = |line: &str, asked: Fields| {
        let mut terms = terms([due("o1", 10, 1)]);
        terms.faults.push(Planned::from(&line.parse::<Fault>().unwrap()));
        let mut script = one_charge();
        for (share, fields) in
            [(TaskShare::Part, &asked), (TaskShare::Full, &Fields::new().with("model", "m"))]
        {
            script.share = share;
            let attempt = script.received("model.generate", None, fields);
            if share == TaskShare::Part {
                script.fault(attempt, 0, CommitKind::Now, ReplyKind::Delay);
            }
            script.replied(attempt, Sees::Ok);
        }
        score(&terms, &script.end(), None).result
    };
    let about_summary = Fields::new().with("model", "m").with("job", "summary");
    let line = |field: &str| format!("model.generate#1 commit=now reply={{delay: 1ms}} {field}");
    assert_eq!(fired(&line("where.job=summary"), about_summary.clone()), TrialStatus::Pass);
    // A request that acts meets these, too: the fault was used up by another one.
    assert_eq!(fired(&line("where.model=m"), about_summary.clone()), TrialStatus::Void);
    assert_eq!(fired(&line(""), about_summary), TrialStatus::Void);
}
