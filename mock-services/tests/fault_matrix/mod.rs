//! Every cell of the square: whatever is committed, whatever the caller sees, on every write for which it
//! makes sense, over sockets. What a raw client sees, what is committed before and after the services settle,
//! and what the ledger says of it.

use crate::kit::client::Transcript;
use crate::kit::connection::End;
use crate::kit::ledger::wait_for;
use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, everything};
use crate::kit::write::Write;
use mock_services::fault::{CommitKind, ReplyKind};
use mock_services::ledger::{CommitTiming, Event};

/// What is committed: as a fault says it, the word for it, and why an effect is then committed.
const COMMITS: [(&str, &str, CommitTiming); 7] = [
    ("now", "now", CommitTiming::Now),
    ("never", "never", CommitTiming::Now),
    ("{later: {requests: 2}}", "later", CommitTiming::Later),
    ("{later: 1ms}", "later", CommitTiming::Later),
    ("later", "later", CommitTiming::Later),
    ("twice", "twice", CommitTiming::Now),
    ("{part: 0.5}", "part", CommitTiming::Part),
];

/// What the caller sees: as a fault says it, and the word for it.
const REPLIES: [(&str, &str); 15] = [
    ("ok", "ok"),
    ("drop", "drop"),
    ("reset", "reset"),
    ("{hang: {release: 5ms}}", "hang"),
    ("truncate", "truncate"),
    ("{truncate: chunked}", "truncate"),
    ("garble", "garble"),
    ("{drip: 5ms}", "drip"),
    ("{delay: 5ms}", "delay"),
    ("{status: 500}", "status"),
    ("{status: 503}", "status"),
    ("{status: 429}", "status"),
    ("{status: 504}", "status"),
    ("{status: 202}", "status"),
    ("{status: 500, kept: true}", "status"),
];

/// What is to be seen of a reply.
fn check_view(op: Write, reply: &str, seen: &Transcript) {
    let truth = op.facts().status;
    let is_smtp = op == Write::Smtp;
    let left = if is_smtp { End::Open } else { End::Fin };
    let status = |wanted: u16| match (wanted, is_smtp) {
        (500 | 504, true) => 451,
        (503, true) => 421,
        (429, true) => 450,
        _ => wanted,
    };
    match reply {
        "ok" | "{drip: 5ms}" | "{delay: 5ms}" => {
            assert_eq!((seen.status(), seen.end, seen.is_whole()), (Some(truth), left, true));
            if !is_smtp && !seen.body().is_empty() {
                seen.json();
            }
        }
        "drop" | "{hang: {release: 5ms}}" => assert_eq!((seen.bytes.len(), seen.end), (0, End::Fin)),
        "reset" => assert_eq!((seen.bytes.len(), seen.end), (0, End::Reset)),
        "truncate" | "{truncate: chunked}" => {
            assert_eq!((seen.status(), seen.end, seen.is_whole()), (Some(truth), End::Fin, false));
            if reply == "{truncate: chunked}" && !seen.body().is_empty() {
                assert_eq!(seen.header("transfer-encoding").as_deref(), Some("chunked"));
            }
        }
        "garble" if is_smtp => assert_eq!((seen.status(), seen.end, seen.is_whole()), (None, left, true)),
        "garble" => {
            assert_eq!((seen.status(), seen.end, seen.is_whole()), (Some(truth), left, true));
            // An answer that may have no body is garbled nowhere.
            assert!(truth == 204 || serde_json::from_slice::<serde_json::Value>(seen.body()).is_err());
        }
        _ => {
            let wanted = reply.trim_start_matches("{status: ")[..3].parse().unwrap();
            assert_eq!((seen.status(), seen.is_whole()), (Some(status(wanted)), true));
        }
    }
}

async fn cell(
    world: &TestServices,
    op: Write,
    (commit, commit_word, timing): (&str, &str, CommitTiming),
    (reply, reply_word): (&str, &str),
) {
    let facts = op.facts();
    world.services.clear_faults();
    world.services.reset("cell").await;
    let ask = op.request(world, 1).await;
    let before = world.count();
    world.arm(&format!("{} commit={commit} reply={reply}", facts.name));
    let seen = world.send(facts.service, &ask).await;
    check_view(op, reply, &seen);

    let attempts = world.services.fired().remove(0).attempts;
    let [attempt] = attempts[..] else { panic!("fired {attempts:?}") };
    let replied = wait_for(
        world.ledger(),
        |event| matches!(event, Event::Replied { attempt: have, .. } if *have == attempt),
    )
    .await;
    let Event::Replied { reply: word, status, bytes, whole, replay, .. } = replied else { unreachable!() };
    let sent = seen.bytes.len() as u64;
    let all = !matches!(reply_word, "drop" | "reset" | "hang" | "truncate");
    assert_eq!((word.word(), bytes, whole, replay), (reply_word, sent, all, false));
    // A garbled reply of SMTP is sent with its code, of which nothing is left.
    let told = if reply_word == "garble" { Some(facts.status) } else { seen.status() };
    assert_eq!(status, told);

    let whole = facts.effects;
    let count = || world.effects().iter().filter(|effect| effect.attempt == attempt).count();
    let due = match commit {
        "now" => whole,
        "twice" => whole + facts.again,
        "{part: 0.5}" => whole / 2,
        _ => 0,
    };
    match commit {
        "{later: 1ms}" => world.until_effects(before + whole).await,
        "{later: {requests: 2}}" => {
            assert_eq!(count(), 0, "at once");
            world.send(facts.service, &TestRequest::get(facts.read)).await;
            assert_eq!(count(), 0, "after one request");
            world.send(facts.service, &TestRequest::get(facts.read)).await;
            assert_eq!(count(), whole, "after two requests");
        }
        _ => assert_eq!(count(), due, "before it settles"),
    }
    world.settle().await;
    let finally = if commit_word == "later" { whole } else { due };
    assert_eq!(count(), finally, "when it has settled");
    assert_eq!(world.count(), before + finally, "nothing else was committed");
    world.settle().await;
    assert_eq!(count(), finally, "settling again changes nothing");

    check_ledger(world, attempt, facts.name, (commit_word, reply_word));
    let timings: Vec<CommitTiming> = world
        .effects()
        .iter()
        .filter(|effect| effect.attempt == attempt)
        .map(|effect| effect.timing)
        .collect();
    let expected: Vec<CommitTiming> =
        (0..finally).map(|place| if place < whole { timing } else { CommitTiming::Twice }).collect();
    assert_eq!(timings, expected);
}

/// One attempt, one fault and one reply, in this order, and what was committed at once between the last two.
fn check_ledger(world: &TestServices, attempt: u64, name: &str, (commit, reply): (&str, &str)) {
    let entries = world.ledger().entries();
    let places = |like: &dyn Fn(&Event<'_>) -> bool| -> Vec<u64> {
        entries.iter().filter(|entry| like(&entry.event)).map(|entry| entry.n).collect()
    };
    let received = places(
        &|event| matches!(event, Event::Received(it) if it.attempt == attempt && it.operation == name),
    );
    let faults = places(&|event| matches!(event, Event::Fault { .. }));
    let replied = places(&|event| matches!(event, Event::Replied { attempt: have, .. } if *have == attempt));
    let (&[received], &[fault], &[replied]) = (&received[..], &faults[..], &replied[..]) else {
        panic!("{received:?} {faults:?} {replied:?}")
    };
    assert!(received < fault && fault < replied);
    let (commit_kind, reply_kind) =
        (CommitKind::from_word(commit).unwrap(), ReplyKind::from_word(reply).unwrap());
    let told = Event::Fault { attempt, fault: 0, commit: commit_kind, reply: reply_kind, drawn: None };
    assert!(entries.iter().any(|entry| entry.event == told), "{told:?}");
    let committed =
        places(&|event| matches!(event, Event::Committed { attempt: have, .. } if *have == attempt));
    if commit != "later" {
        assert!(committed.iter().all(|place| (fault..replied).contains(place)), "{committed:?}");
    }
}

/// Whether a pair makes sense for an operation.
fn can_be(op: Write, commit: &str, reply: &str) -> bool {
    (op.is_list() || !commit.contains("part")) && !(commit.contains("later") && reply.contains("kept"))
}

async fn all_cells(ops: &[Write]) {
    let world = TestServices::start(everything(7), &[]).await.unwrap();
    for op in ops {
        for commit in COMMITS {
            for reply in REPLIES {
                if can_be(*op, commit.0, reply.0) {
                    let cell = cell(&world, *op, commit, reply);
                    let told = format!("{op:?} {} {}", commit.0, reply.0);
                    // Where it panics, the name of the cell is what one wants to know.
                    let caught = Caught(Some(told));
                    cell.await;
                    caught.fine();
                }
            }
        }
    }
}

/// Tells which cell failed.
struct Caught(Option<String>);

impl Caught {
    fn fine(mut self) {
        self.0 = None;
    }
}

impl Drop for Caught {
    fn drop(&mut self) {
        if let Some(told) = &self.0 {
            eprintln!("in the cell {told}");
        }
    }
}

#[tokio::test]
async fn every_cell_works_on_charges_and_intents() {
    all_cells(&[Write::Charge, Write::Intent, Write::Confirm]).await;
}

#[tokio::test]
async fn every_cell_works_on_refunds_and_captures() {
    all_cells(&[Write::Refund, Write::Capture]).await;
}

#[tokio::test]
async fn every_cell_works_on_subscriptions() {
    all_cells(&[Write::Subscribe, Write::Upgrade, Write::Unsubscribe]).await;
}

#[tokio::test]
async fn every_cell_works_on_mail_over_resend() {
    all_cells(&[Write::Resend, Write::Batch]).await;
}

#[tokio::test]
async fn every_cell_works_on_mail_over_sendgrid_and_smtp() {
    all_cells(&[Write::SendGrid, Write::Smtp]).await;
}

#[tokio::test]
async fn every_cell_works_on_deployments() {
    all_cells(&[Write::Github, Write::Plain]).await;
}

#[tokio::test]
async fn every_cell_works_on_records() {
    all_cells(&[Write::Put, Write::Delete, Write::Increment]).await;
}

#[tokio::test]
async fn every_cell_works_on_a_service_of_ones_own() {
    all_cells(&[Write::OpenTicket, Write::Notify]).await;
}

#[tokio::test]
async fn a_pair_that_cannot_be_is_refused_with_the_reason_when_the_plan_is_made() {
    let world = TestServices::with(&[]).await;
    for (yaml, reason) in [
        ("{on: payment.charge, commit: {part: 0.5}}", "no part of it can be committed"),
        ("{on: records.put, commit: {part: 0.5}, reply: drop}", "no part of it can be committed"),
        ("{on: email.send, commit: {part: 1.0}}", "less than all"),
        ("{on: email.send, commit: {part: 0.0}}", "more than nothing"),
        ("{on: payment.list, commit: twice}", "is a read"),
        ("{on: payment.get, commit: never, reply: drop}", "is a read"),
        ("{on: email.list, commit: later}", "is a read"),
        ("{on: deploy.get, reply: {status: 500, kept: true}}", "kept under no key"),
        ("{on: payment.charge, reply: {stale: {reads: 1}}}", "`stale` is for reads alone"),
        ("{on: email.send, reply: {stale: 1s}}", "`stale` is for reads alone"),
        ("{on: payment.list, reply: {stale: {reads: 0}}}", "not stale"),
        ("{on: payment.charge, commit: later, reply: {status: 500, kept: true}}", "contradict each other"),
        (
            "{on: payment.charge, commit: {later: 1s}, reply: {status: 500, kept: true}}",
            "contradict each other",
        ),
        ("{on: payment.charge, commit: {later: {requests: 0}}}", "not later but now"),
        ("{on: payment.charge, reply: {status: 100}}", "no final status"),
        ("{on: payment.charge, reply: {status: 600}}", "no final status"),
        ("{on: payment.charge, reply: {status: 204, body: \"x\"}}", "has no body"),
        ("{on: payment.charge, reply: {status: 500, headers: {Content-Length: 3}}}", "set by the wire"),
        ("{on: payment.charge, reply: {delay: 11m}}", "too long"),
        ("{on: payment.charge, attempt: 0, reply: drop}", "no attempt 0"),
        ("{on: payment.charge, reply: drop, caller: 4}", "no caller 4"),
        ("{on: payment.charge, reply: drop, where: {colour: red}}", "no field `colour`"),
        ("{on: payment.pay, reply: drop}", "no operation `payment.pay`"),
    ] {
        let unchecked = crate::kit::services::unchecked(yaml);
        let told = world.services.arm(vec![unchecked.clone()]).unwrap_err().to_string();
        assert!(told.contains(reason), "{yaml}: {told}");
        let started =
            everything(1).faults(vec![unchecked]).start().await.map(|_| ()).unwrap_err().to_string();
        assert!(started.contains(reason), "{yaml}: {started}");
    }
    let both =
        ["payment.charge#every reply=drop", "payment.charge#2 reply=reset"].map(crate::kit::fault).to_vec();
    let told = world.services.arm(both).unwrap_err().to_string();
    assert!(told.contains("can never fire"), "{told}");
    assert!(world.services.fired().is_empty(), "nothing is armed of a plan that is refused");
}
