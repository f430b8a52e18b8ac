//! Controls with many callers of one task, with crashes between an effect and its record, and with turns.

use std::time::Duration;

use crate::kit::control::{ServiceSetup, Trial, result};
use mock_services::idempotency::{Idempotency, Profile};
use mock_services::service::After;
use mock_services::{BarrierOptions, MomentKind};

const CHARGE: &str = r#"[{"do": "payment.charge",
  "with": {"customer": "cus_42", "amount": 4999, "currency": "usd", "order": "ord_1001"}}]"#;
const CALLERS: u32 = 6;
/// Longer than any test here takes.
const TIMEOUT: Duration = Duration::from_secs(120);

fn charge_and_mail() -> String {
    let mail =
        r#"{"do": "email.send", "with": {"to": "ann@x.example", "subject": "Receipt", "order": "ord_1001"}}"#;
    format!("[{}, {mail}]", &CHARGE[1..CHARGE.len() - 1])
}

/// Runs all callers at once; returns their claims, sorted and without duplicates.
async fn run_all(trial: &Trial, control: &str, steps: &str) -> Vec<String> {
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

/// Callers that meet at a start barrier. Of the careful callers only one writes, so the barrier opens when
/// `within` is over.
fn callers_at_a_barrier(keys: Profile, within: Duration) -> ServiceSetup {
    ServiceSetup {
        keys: Some(Idempotency::new(keys)),
        callers: CALLERS,
        barrier: Some(BarrierOptions { meet: None, within, closed_later: false }),
        ..ServiceSetup::default()
    }
}

#[tokio::test]
async fn of_many_careful_callers_of_one_task_one_acts() {
    for keys in [Profile::Stripe, Profile::None] {
        let trial = callers_at_a_barrier(keys, Duration::from_millis(500)).start(&[]).await;
        assert_eq!(run_all(&trial, "careful", &charge_and_mail()).await, ["done"]);
        assert_eq!(
            (trial.effects("payment.charge"), trial.effects("email.send")),
            (1, 1),
            "careful with {}",
            keys.as_str()
        );
        assert!(!trial.has_late_caller(), "a caller that waits for another does not write later");
    }
    let trial = callers_at_a_barrier(Profile::Stripe, TIMEOUT).start(&[]).await;
    assert_eq!(run_all(&trial, "keyed", CHARGE).await, ["done"]);
    assert_eq!(trial.effects("payment.charge"), 1, "one key for all");
    let trial = callers_at_a_barrier(Profile::Stripe, TIMEOUT).start(&[]).await;
    assert_eq!(run_all(&trial, "naive", CHARGE).await, ["done"]);
    assert_eq!(trial.effects("payment.charge"), CALLERS as usize, "one key for each caller");
}

#[tokio::test]
async fn a_read_modify_write_loses_updates_without_a_version_check() {
    let steps = r#"[{"do": "records.put", "with": {"key": "stock", "add": 1}}]"#;
    let trial = callers_at_a_barrier(Profile::None, TIMEOUT).start(&[]).await;
    assert_eq!(run_all(&trial, "careful", steps).await, ["done"]);
    assert_eq!(
        (trial.effects("records.put"), trial.record("stock").await),
        (CALLERS as usize, i64::from(CALLERS))
    );
    let trial = callers_at_a_barrier(Profile::None, TIMEOUT).start(&[]).await;
    assert_eq!(run_all(&trial, "racer", steps).await, ["done"]);
    assert_eq!(
        (trial.effects("records.put"), trial.record("stock").await),
        (CALLERS as usize, 1),
        "every caller read the empty record"
    );
}

/// Runs a control until a charge reaches that moment, kills it, and starts it again with other steps.
async fn crashed(control: &str, kind: MomentKind, steps: &str, again: &str) -> (Trial, String) {
    let trial = ServiceSetup::keys(Profile::None).start(&[]).await;
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
async fn a_careful_agent_does_not_repeat_an_effect_after_a_crash() {
    for kind in [MomentKind::Received, MomentKind::Committed, MomentKind::BeforeReply] {
        for (control, effects) in [("careful", 1), ("verify-first", 1), ("naive", 2)] {
            let (trial, claim) = crashed(control, kind, CHARGE, CHARGE).await;
            assert_eq!(
                result(trial.effects(""), &claim),
                result(effects, "done"),
                "{control} killed at {kind:?}"
            );
        }
    }
}

#[tokio::test]
async fn after_a_crash_the_careful_control_does_not_repeat_a_step_with_another_amount() {
    let other = CHARGE.replace("4999", "5099");
    for (control, effects) in [("careful", 1), ("keyed", 2)] {
        let (trial, claim) = crashed(control, MomentKind::Committed, CHARGE, &other).await;
        assert_eq!(result(trial.effects(""), &claim), result(effects, "done"), "{control}");
    }
}

#[tokio::test]
async fn a_second_turn_repeats_nothing_and_does_what_is_new() {
    let other = CHARGE.replace("ord_1001", "ord_1002");
    for (control, repeated, new) in
        [("careful", 1, 2), ("verify-first", 1, 2), ("keyed", 2, 3), ("naive", 2, 3)]
    {
        let trial = ServiceSetup::keys(Profile::None).start(&[]).await;
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
        let trial = ServiceSetup::keys(Profile::Stripe).start(&[]).await;
        assert_eq!(trial.outcome(control, &steps).await, result(both, "done"), "{control}");
        let trial = ServiceSetup::keys(Profile::Stripe).start(&[]).await;
        assert_eq!(trial.outcome(control, &twice).await, result(same, "done"), "{control}");
    }
    let trial = ServiceSetup::keys(Profile::Stripe).start(&[]).await;
    assert_eq!(
        trial.outcome("constant-key", &steps).await,
        result(1, "not-done"),
        "the service sees the key come with another order"
    );
}

#[tokio::test]
async fn a_key_that_has_expired_is_a_new_request() {
    let lifetime = After::Requests(0);
    let setup = || ServiceSetup {
        keys: Some(Idempotency::new(Profile::Stripe).with_lifetime(lifetime)),
        ..ServiceSetup::default()
    };
    for (control, effects) in [("keyed", 2), ("careful", 1)] {
        let trial = setup().start(&["payment.charge#1 commit=now reply=drop"]).await;
        assert_eq!(trial.outcome(control, CHARGE).await, result(effects, "done"), "{control}");
    }
}

#[tokio::test]
async fn careful_agents_refund_a_charge_that_was_delivered_twice() {
    let trial = ServiceSetup::keys(Profile::None).start(&["payment.charge#1 commit=twice reply=ok"]).await;
    assert_eq!(trial.run("careful", 1, 1, CHARGE).await, "done");
    assert_eq!((trial.effects("payment.charge"), trial.effects("payment.refund")), (2, 1));
}

#[tokio::test]
async fn a_retry_is_safe_if_the_service_says_so() {
    let faults = [
        "payment.charge#1 commit=now reply={status: 503, headers: {Stripe-Should-Retry: 'true'}}",
        "payment.list#every reply={status: 503}",
    ];
    let trial = ServiceSetup::keys(Profile::Stripe).start(&faults).await;
    assert_eq!(trial.outcome("careful", CHARGE).await, result(1, "done"));
}

#[test]
fn help_matches_the_snapshot() {
    let output =
        std::process::Command::new(env!("CARGO_BIN_EXE_hapax")).args(["control", "--help"]).output().unwrap();
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap());
}

#[tokio::test]
async fn an_unknown_control_and_an_environment_without_steps_are_usage_errors() {
    let run = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hapax"));
        let output = command.args(arguments).env_clear().output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(
        run(&["control", "niave"]),
        (Some(2), "error: unknown control `niave`; did you mean `naive`?\n".to_owned())
    );
    let (code, stderr) = run(&["control", "naive"]);
    assert!(code == Some(2) && stderr.starts_with("error: HAPAX_STEPS is not set"), "{stderr}");
}
