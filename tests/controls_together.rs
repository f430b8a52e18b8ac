//! The controls in company and across starts: many callers of one task, crashes between an effect and the
//! note of it, turns.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod kit;

use std::time::Duration;

use kit::control::{Trial, World, came};
use mock_services::idempotency::{Idempotency, Profile};
use mock_services::service::After;
use mock_services::{BarrierOptions, MomentKind};

const CHARGE: &str = r#"[{"do": "payment.charge", "with": {"customer": "cus_42", "amount": 4999, "currency": "usd", "order": "ord_1001"}}]"#;
const CALLERS: u32 = 6;
/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(120);

fn charge_and_mail() -> String {
    let mail =
        r#"{"do": "email.send", "with": {"to": "ann@x.example", "subject": "Receipt", "order": "ord_1001"}}"#;
    format!("[{}, {mail}]", &CHARGE[1..CHARGE.len() - 1])
}

/// All callers at once; the claims, sorted and each once.
async fn together(trial: &Trial, control: &str, steps: &str) -> Vec<String> {
    let start = |caller| (caller, trial.command(control, caller, 1, steps).spawn().unwrap());
    let running: Vec<_> = (1..=CALLERS).map(start).collect();
    let mut claims = Vec::new();
    for (caller, mut child) in running {
        assert!(child.wait().await.unwrap().success(), "{control} {caller}");
        trial.services.caller_ended(caller);
        claims.push(trial.claim(caller, 1));
    }
    claims.sort();
    claims.dedup();
    claims
}

/// Callers that meet at a door. Only those who are not coming are waited for in vain, and the careful send
/// one of them.
fn crowd(keys: Profile, within: Duration) -> World {
    World {
        keys: Some(Idempotency::new(keys)),
        callers: CALLERS,
        barrier: Some(BarrierOptions { meet: None, within }),
        ..World::default()
    }
}

#[tokio::test]
async fn of_many_callers_of_one_task_the_careful_let_one_act() {
    for keys in [Profile::Stripe, Profile::None] {
        let trial = crowd(keys, Duration::from_millis(500)).start(&[]).await;
        assert_eq!(together(&trial, "careful", &charge_and_mail()).await, ["done"]);
        assert_eq!(
            (trial.effects("payment.charge"), trial.effects("email.send")),
            (1, 1),
            "careful with {}",
            keys.word()
        );
        assert!(!trial.came_late(), "who waits for another does not write behind its back");
    }
    let trial = crowd(Profile::Stripe, PATIENCE).start(&[]).await;
    assert_eq!(together(&trial, "keyed", CHARGE).await, ["done"]);
    assert_eq!(trial.effects("payment.charge"), 1, "one key for all");
    let trial = crowd(Profile::Stripe, PATIENCE).start(&[]).await;
    assert_eq!(together(&trial, "naive", CHARGE).await, ["done"]);
    assert_eq!(trial.effects("payment.charge"), CALLERS as usize, "a key each");
}

#[tokio::test]
async fn a_read_modify_write_loses_updates_unless_the_version_is_asked_for() {
    let steps = r#"[{"do": "records.put", "with": {"key": "stock", "add": 1}}]"#;
    let trial = crowd(Profile::None, PATIENCE).start(&[]).await;
    assert_eq!(together(&trial, "careful", steps).await, ["done"]);
    assert_eq!(
        (trial.effects("records.put"), trial.record("stock").await),
        (CALLERS as usize, i64::from(CALLERS))
    );
    let trial = crowd(Profile::None, PATIENCE).start(&[]).await;
    assert_eq!(together(&trial, "racer", steps).await, ["done"]);
    assert_eq!(
        (trial.effects("records.put"), trial.record("stock").await),
        (CALLERS as usize, 1),
        "all had read nothing"
    );
}

/// Runs a control until a charge has come to that moment, kills it, and starts it again with other steps.
async fn crashed(control: &str, kind: MomentKind, steps: &str, again: &str) -> (Trial, String) {
    let trial = World::keys(Profile::None).start(&[]).await;
    let mut listener = trial.services.listen("payment", kind).unwrap();
    let mut child = trial.command(control, 1, 1, steps).spawn().unwrap();
    let held = loop {
        let held = listener.recv().await.unwrap();
        if held.moment.operation == "payment.charge" {
            break held;
        }
    };
    child.kill().await.unwrap();
    drop(held);
    drop(listener);
    let claim = trial.run(control, 1, 2, again).await;
    trial.services.settle().await;
    (trial, claim)
}

#[tokio::test]
async fn a_crash_after_the_effect_is_no_reason_to_repeat_it() {
    for kind in [MomentKind::Received, MomentKind::Committed, MomentKind::BeforeReply] {
        for (control, effects) in [("careful", 1), ("verify-first", 1), ("naive", 2)] {
            let (trial, claim) = crashed(control, kind, CHARGE, CHARGE).await;
            assert_eq!(
                came(trial.effects(""), &claim),
                came(effects, "done"),
                "{control} killed at {kind:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_step_that_says_something_else_after_a_crash_is_what_it_was_before() {
    let other = CHARGE.replace("4999", "5099");
    for (control, effects) in [("careful", 1), ("keyed", 2)] {
        let (trial, claim) = crashed(control, MomentKind::Committed, CHARGE, &other).await;
        assert_eq!(came(trial.effects(""), &claim), came(effects, "done"), "{control}");
    }
}

#[tokio::test]
async fn a_second_turn_repeats_nothing_and_does_what_is_new() {
    let other = CHARGE.replace("ord_1001", "ord_1002");
    for (control, repeated, new) in
        [("careful", 1, 2), ("verify-first", 1, 2), ("keyed", 2, 3), ("naive", 2, 3)]
    {
        let trial = World::keys(Profile::None).start(&[]).await;
        for (start, steps, effects) in [(1, CHARGE, 1), (2, CHARGE, repeated), (3, other.as_str(), new)] {
            assert_eq!(trial.run(control, 1, start, steps).await, "done");
            assert_eq!(trial.effects(""), effects, "{control} in start {start}");
        }
    }
}

#[tokio::test]
async fn two_equal_charges_for_two_orders_are_both_due() {
    let steps = format!(
        "[{}, {}]",
        &CHARGE[1..CHARGE.len() - 1],
        CHARGE[1..CHARGE.len() - 1].replace("ord_1001", "ord_1002")
    );
    let twice = format!("[{0}, {0}]", &CHARGE[1..CHARGE.len() - 1]);
    for (control, both, same) in [("careful", 2, 1), ("keyed", 2, 1), ("naive", 2, 2)] {
        let trial = World::keys(Profile::Stripe).start(&[]).await;
        assert_eq!(trial.outcome(control, &steps).await, came(both, "done"), "{control}");
        let trial = World::keys(Profile::Stripe).start(&[]).await;
        assert_eq!(trial.outcome(control, &twice).await, came(same, "done"), "{control}");
    }
    let trial = World::keys(Profile::Stripe).start(&[]).await;
    assert_eq!(
        trial.outcome("constant-key", &steps).await,
        came(1, "not-done"),
        "the service sees the key come with another order"
    );
}

#[tokio::test]
async fn a_key_that_has_expired_is_a_new_request() {
    let lifetime = After::Requests(0);
    let world =
        || World { keys: Some(Idempotency { profile: Profile::Stripe, lifetime }), ..World::default() };
    for (control, effects) in [("keyed", 2), ("careful", 1)] {
        let trial = world().start(&["payment.charge#1 commit=now reply=drop"]).await;
        assert_eq!(trial.outcome(control, CHARGE).await, came(effects, "done"), "{control}");
    }
}

#[tokio::test]
async fn what_was_delivered_twice_without_keys_is_given_back_by_the_careful() {
    let trial = World::keys(Profile::None).start(&["payment.charge#1 commit=twice reply=ok"]).await;
    assert_eq!(trial.run("careful", 1, 1, CHARGE).await, "done");
    assert_eq!((trial.effects("payment.charge"), trial.effects("payment.refund")), (2, 1));
}

#[tokio::test]
async fn a_service_that_says_that_a_repetition_is_safe_is_believed() {
    let faults = [
        "payment.charge#1 commit=now reply={status: 503, headers: {Stripe-Should-Retry: 'true'}}",
        "payment.list#every reply={status: 503}",
    ];
    let trial = World::keys(Profile::Stripe).start(&faults).await;
    assert_eq!(trial.outcome("careful", CHARGE).await, came(1, "done"));
}

#[test]
fn help_suffices() {
    let output =
        std::process::Command::new(env!("CARGO_BIN_EXE_hapax")).args(["control", "--help"]).output().unwrap();
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap());
}

#[tokio::test]
async fn an_unknown_control_and_an_environment_without_steps_are_wrong_calls() {
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hapax"));
        let output = command.args(arguments).env_clear().output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(
        run(&["control", "niave"]),
        (Some(2), "error: unknown control `niave`; did you mean `naive`?\n".to_owned())
    );
    let (code, said) = run(&["control", "naive"]);
    assert!(code == Some(2) && said.starts_with("error: HAPAX_STEPS is not set"), "{said}");
}
