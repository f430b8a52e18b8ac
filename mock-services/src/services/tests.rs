use super::*;
use crate::fault::{Commit, Reply};
use crate::payment::Payment;
use crate::service::After;

async fn payment(faults: Vec<Fault>) -> MockServices {
    let builder = MockServices::builder().service(Payment::default(), ServiceOptions::default());
    builder.callers(2).faults(faults).start().await.unwrap()
}

/// Makes a charge for an order, without an idempotency key, as a client with no retries.
async fn charge(services: &MockServices, order: &'static str) -> Result<(), String> {
    let payment = services.handle("payment").unwrap();
    let request = move || {
        let form =
            [("amount", "4999"), ("currency", "usd"), ("customer", "cus_42"), ("metadata[order]", order)];
        ureq::post(format!("{}/v1/charges", payment.url()))
            .header("Authorization", format!("Bearer {}", payment.key()))
            .send_form(form)
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    tokio::task::spawn_blocking(request).await.unwrap()
}

#[tokio::test]
async fn an_expectation_that_is_met_passes() {
    let services = payment(vec![Fault::on("payment.charge").reply(Reply::Drop)]).await;
    services.expect("payment.charge").times(1);
    services.expect("payment.charge").field("order", "ord_2").times(0);
    services.expect("payment.refund").times_in(..=0);
    charge(&services, "ord_1").await.unwrap_err();
    services.verify().await.unwrap();
}

#[tokio::test]
async fn verify_reports_each_unmet_expectation_with_the_timeline_of_its_operation() {
    let services = payment(vec![Fault::on("payment.charge").reply(Reply::Drop)]).await;
    services.expect("payment.charge").times(1);
    services.expect("payment.charge").field("order", "ord_2").times_in(1..);
    services.expect("payment.refund").times_in(1..=2);
    charge(&services, "ord_1").await.unwrap_err();
    charge(&services, "ord_1").await.unwrap();
    let unmet = services.verify().await.unwrap_err().to_string();
    let lines: Vec<&str> = unmet.lines().collect();
    assert_eq!(lines[0], "expected exactly 1 payment.charge, found 2");
    for (line, part) in lines[1..8].iter().zip([
        "attempt 1 received POST /v1/charges: ",
        "attempt 1 fault commit=now reply=drop",
        "attempt 1 committed payment.charge ch_",
        "attempt 1 replied drop, 0 bytes, not the whole answer",
        "attempt 2 received POST /v1/charges: ",
        "attempt 2 committed payment.charge ch_",
        "attempt 2 replied ok status 200, ",
    ]) {
        assert!(line.contains(part), "{part}: {unmet}");
    }
    assert_eq!(lines[8], "expected at least 1 payment.charge with order=ord_2, found 0");
    assert_eq!(lines[16], "expected 1 to 2 payment.refund, found 0");
    assert_eq!(lines[17], "  the ledger has no attempt of payment.refund");
    // The drop does not check again what was verified.
    drop(services);
}

#[tokio::test]
async fn verify_waits_for_commits_that_a_fault_put_off() {
    let later = Fault::on("payment.charge").commit(Commit::Later(After::Settled));
    let services = payment(vec![later]).await;
    charge(&services, "ord_1").await.unwrap();
    services.expect("payment.charge").times(0);
    assert!(services.verify().await.unwrap_err().to_string().contains("found 1"));
}

#[tokio::test]
async fn dropping_services_with_an_unmet_expectation_panics() {
    let services = payment(Vec::new()).await;
    services.expect("payment.charge").times(1);
    let panic = tokio::task::spawn(async move { drop(services) }).await.unwrap_err().into_panic();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.starts_with("expected exactly 1 payment.charge, found 0"), "{message}");
}

#[tokio::test]
async fn dropping_services_during_a_panic_does_not_panic_again() {
    let services = payment(Vec::new()).await;
    services.expect("payment.charge").times(1);
    let task = tokio::task::spawn(async move {
        let _services = services;
        panic!("the first");
    });
    let panic = task.await.unwrap_err().into_panic();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the first"));
}

#[tokio::test]
async fn a_handle_has_the_url_and_the_key_of_its_caller() {
    let services = payment(Vec::new()).await;
    let (first, second) = (services.handle("payment").unwrap(), services.handle_of("payment", 2).unwrap());
    assert_eq!(first.url(), services.url("payment", 1).unwrap());
    assert_eq!(Some(second.address()), services.address("payment", 2));
    assert_eq!(Some(first.key()), services.key("payment"));
    assert_eq!((first.name(), first.caller(), second.caller()), ("payment", 1, 2));
    assert_eq!((first.smtp_address(), first.smtps_address()), (None, None));
}

#[tokio::test]
async fn a_handle_of_a_service_that_does_not_run_is_an_error_that_names_those_that_do() {
    let services = payment(Vec::new()).await;
    let error = services.handle("email").unwrap_err().to_string();
    assert_eq!(error, "no service `email` for caller 1 was started; started: payment, callers: 1 to 2");
    assert!(services.handle_of("payment", 3).is_err());
}

#[tokio::test]
async fn the_ledger_gives_effects_and_attempts_by_name() {
    let services = payment(vec![Fault::on("payment.charge").commit(Commit::Never)]).await;
    charge(&services, "ord_1").await.unwrap();
    charge(&services, "ord_2").await.unwrap();
    let ledger = services.ledger();
    assert_eq!(ledger.attempts("payment.charge").count(), 2);
    assert_eq!(ledger.attempts("payment.refund").count(), 0);
    let effects: Vec<_> = ledger.effects("payment.charge").collect();
    assert_eq!(effects.len(), 1);
    assert_eq!(effects[0].attempt, 2);
    assert_eq!(effects[0].fields.get("order").map(ToString::to_string).as_deref(), Some("ord_2"));
    assert_eq!(ledger.all_effects().collect::<Vec<_>>(), effects);
}
