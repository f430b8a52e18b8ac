//! Ledgers that the services themselves wrote, over sockets: what is scored is what they write, not what
//! tests imagine.

use mock_services::MockServices;
use mock_services::fault::read_line;
use mock_services::payment::Payment;
use mock_services::service::OperationKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use yaml_reader::Source;

use super::testing::{due, planned};
use super::{FindingKind, Recovery, RetriedBy, TrialStatus, Verdict, score};
use crate::scenario::{ControlOutcome, OperationTerm, Terms};

const CHARGE: &str = "amount=4999&currency=usd&source=tok_visa&metadata[order]=ord_1001";

/// One request: method and path, key, body.
type Ask = (&'static str, Option<&'static str>, &'static str);

async fn trial(fault: &str, compensation: bool, asks: &[Ask]) -> Verdict {
    let builder = MockServices::builder().service(Payment::default(), Default::default());
    let line = Source::new("fault", fault);
    let fault = read_line(&line, builder.operations(), None).unwrap();
    let services = builder.any_key().faults(vec![fault]).start().await.unwrap();
    let address = services.address("payment", 1).unwrap();
    let mut seen = String::new();
    for (target, key, body) in asks {
        // The charge that was made last, where a request asks for it.
        let last = seen
            .split("\"id\": \"ch_")
            .nth(1)
            .and_then(|rest| rest.split('"').next())
            .map(|id| format!("ch_{id}"));
        let body = body.replace("LAST", &last.unwrap_or_default());
        let key = key.map(|key| format!("Idempotency-Key: {key}\r\n")).unwrap_or_default();
        let head = format!(
            "{target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\nConnection: close\r\n{key}\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        // A reset is an answer, too.
        let _ = stream.read_to_end(&mut answer).await;
        seen = String::from_utf8_lossy(&answer).into_owned();
    }
    services.settle().await;
    let operations = services
        .operations()
        .into_iter()
        .map(|operation| OperationTerm {
            name: operation.name.to_string(),
            write: operation.kind == OperationKind::Write,
            identity: operation.identity.iter().map(ToString::to_string).collect(),
            natural: Vec::new(),
            cost: false,
        })
        .collect();
    let ledger = services.ledger().clone();
    services.stop().await;
    ledger.close();
    let terms = Terms {
        intents: vec![due("ord_1001", 4999, 1)],
        compensation,
        faults: vec![planned(line.text(), "payment.charge")],
        callers: 1,
        operations,
        ..Terms::default()
    };
    score(&terms, &ledger.entries(), None)
}

fn charge(key: Option<&'static str>) -> Ask {
    ("POST /v1/charges", key, CHARGE)
}

const LOST_REPLY: &str = "payment.charge#1 commit=now reply=drop";

#[tokio::test]
async fn a_lost_reply_is_survived_with_the_same_key_and_not_with_a_new_one() {
    let verdict = trial(LOST_REPLY, false, &[charge(Some("k1")), charge(Some("k1"))]).await;
    assert_eq!(
        (verdict.control_outcome(), verdict.recovery, verdict.retried_by),
        (ControlOutcome::Pass, Recovery::SameKey, RetriedBy::Agent)
    );
    let verdict = trial(LOST_REPLY, false, &[charge(Some("k1")), charge(Some("k2"))]).await;
    assert_eq!(
        (verdict.control_outcome(), verdict.recovery),
        (ControlOutcome::Failed(FindingKind::Duplicated), Recovery::NewKey)
    );
    let verdict = trial(LOST_REPLY, false, &[charge(None), ("GET /v1/charges", None, "")]).await;
    assert_eq!(
        (verdict.control_outcome(), verdict.recovery),
        (ControlOutcome::Pass, Recovery::VerifiedThenSkipped)
    );
}

#[tokio::test]
async fn a_success_that_lies_is_lost() {
    let verdict = trial("payment.charge#1 commit=never reply=ok", false, &[charge(None)]).await;
    assert_eq!(
        (verdict.control_outcome(), verdict.recovery),
        (ControlOutcome::Failed(FindingKind::Lost), Recovery::NoneNeeded)
    );
}

#[tokio::test]
async fn a_surplus_that_is_given_back_passes_only_where_that_is_allowed() {
    let asks = [charge(Some("k1")), charge(Some("k2")), ("POST /v1/refunds", None, "charge=LAST")];
    assert_eq!(trial(LOST_REPLY, true, &asks).await.result, TrialStatus::Pass);
    assert_eq!(
        trial(LOST_REPLY, false, &asks).await.control_outcome(),
        ControlOutcome::Failed(FindingKind::Duplicated)
    );
    let part = [asks[0], asks[1], ("POST /v1/refunds", None, "charge=LAST&amount=100")];
    assert_eq!(
        trial(LOST_REPLY, true, &part).await.control_outcome(),
        ControlOutcome::Failed(FindingKind::Duplicated)
    );
}

#[tokio::test]
async fn a_commit_that_comes_only_when_the_trial_settles_counts() {
    let late = "payment.charge#1 commit=later reply={status: 504}";
    assert_eq!(trial(late, false, &[charge(None)]).await.control_outcome(), ControlOutcome::Pass);
    assert_eq!(
        trial(late, false, &[charge(None), ("GET /v1/charges", None, ""), charge(None)])
            .await
            .control_outcome(),
        ControlOutcome::Failed(FindingKind::Duplicated)
    );
}
