//! A client cannot see what was committed: for one reply it receives the same bytes for every commit option,
//! and no response reveals that it is a mock. The clock stands still and the callers use one host name, so
//! that nothing else can differ.

use crate::kit::client::Transcript;
use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, all_services_at_fixed_time, tickets};
use crate::kit::write::WriteCase;
use crate::kit::{ReplySample, write_replies};
use mock_services::email::Email;
use mock_services::fault::Reply;
use mock_services::service::{Answer, Context, Envelope, Ids, Request, Service};
use mock_services::{deploy::Deploy, payment::Payment, records::Records};
use proptest::prelude::*;

const COMMITS: [&str; 8] = [
    "now",
    "never",
    "{later: {requests: 2}}",
    "{later: 1ms}",
    "later",
    "twice",
    "{part: 0.5}",
    "{reverts: {requests: 2}}",
];

/// A preceding request, the same for all commit options.
#[derive(Debug, Clone, Copy)]
enum PrecedingRequest {
    WriteCase(WriteCase),
    Read,
    NoSuchPath,
    WrongSecret,
}

/// One experiment: everything except the commit option.
#[derive(Debug, Clone)]
struct Case {
    op: WriteCase,
    reply: ReplySample,
    caller: u32,
    key: Option<String>,
    earlier: Vec<(u32, PrecedingRequest)>,
}

impl PrecedingRequest {
    async fn send(self, services: &TestServices, caller: u32, op: WriteCase) -> Transcript {
        let facts = op.facts();
        let ask = match self {
            PrecedingRequest::WriteCase(other) if other.facts().service == facts.service => {
                other.request(services, caller).await
            }
            PrecedingRequest::WriteCase(_) | PrecedingRequest::Read => TestRequest::get(facts.read),
            PrecedingRequest::NoSuchPath => TestRequest::get("/no/such/path"),
            PrecedingRequest::WrongSecret => TestRequest::get(facts.read).secret("sk_test_wrong"),
        };
        services.send_as(caller, facts.service, &ask).await
    }
}

/// Whether the response to this write depends on no earlier commit.
fn is_independent_of_earlier_commits(op: WriteCase) -> bool {
    !matches!(
        op,
        WriteCase::Refund
            | WriteCase::Capture
            | WriteCase::Confirm
            | WriteCase::Upgrade
            | WriteCase::Unsubscribe
            | WriteCase::Withdraw
            | WriteCase::Plain
            | WriteCase::Put
            | WriteCase::Delete
    ) && op != WriteCase::Increment
}

/// Everything that the client receives: before the fault, under it and, when it is independent of the commit,
/// afterwards.
async fn view(services: &TestServices, case: &Case, commit: &str) -> Vec<Transcript> {
    let facts = case.op.facts();
    services.mock.clear_faults();
    services.mock.reset("view").await;
    let mut seen = Vec::new();
    for (caller, earlier) in &case.earlier {
        seen.push(earlier.send(services, *caller, case.op).await);
    }
    let mut ask = case.op.request(services, case.caller).await;
    ask.headers.extend(case.key.as_ref().map(|key| ("Idempotency-Key".to_owned(), key.clone())));
    services.arm(&format!("{} commit={commit} reply={}", facts.name, case.reply.text));
    if case.op == WriteCase::Plain {
        // A live version is not deployed again.
        services.arm(&format!("deploy.no-change commit={commit} reply={}", case.reply.text));
    }
    seen.push(services.send_as(case.caller, facts.service, &ask).await);
    assert_eq!(services.fired().iter().sum::<usize>(), 1, "{case:?} {commit}");
    if is_independent_of_earlier_commits(case.op) {
        ask.headers.retain(|(name, _)| name != "Idempotency-Key");
        seen.push(services.send_as(case.caller, facts.service, &ask).await);
    }
    seen
}

/// The first commit option for which the client receives something else.
async fn difference(services: &TestServices, case: &Case) -> Option<String> {
    let is_valid = |commit: &&str| {
        (case.op.is_list() || !commit.contains("part")) && !(case.reply.is_kept() && commit.contains("later"))
    };
    let commits = COMMITS.into_iter().filter(is_valid);
    let mut first = None;
    for commit in commits {
        let seen = view(services, case, commit).await;
        let first = first.get_or_insert_with(|| seen.clone());
        if let Some((one, other)) = first.iter().zip(&seen).find(|(one, other)| one != other) {
            return Some(format!(
                "{commit} is visible to the client\n{}\n{:?}\n{}\n{:?}",
                one.text(),
                one.end,
                other.text(),
                other.end
            ));
        }
    }
    None
}

async fn check_all(ops: &[WriteCase], key: Option<&str>) {
    let services = TestServices::start(all_services_at_fixed_time(11), &[]).await.unwrap();
    for op in ops {
        for reply in write_replies() {
            let earlier = vec![
                (1, PrecedingRequest::WriteCase(*op)),
                (2, PrecedingRequest::Read),
                (1, PrecedingRequest::NoSuchPath),
            ];
            let case = Case { op: *op, reply, caller: 1, key: key.map(str::to_owned), earlier };
            if let Some(difference) = difference(&services, &case).await {
                panic!("{case:?}: {difference}");
            }
        }
    }
}

#[tokio::test]
async fn payment_replies_do_not_reveal_the_commit() {
    let ops = WriteCase::ALL.into_iter().filter(|op| op.facts().service == "payment").collect::<Vec<_>>();
    check_all(&ops, None).await;
    check_all(&[WriteCase::Charge, WriteCase::Intent], Some("k-1")).await;
}

#[tokio::test]
async fn mail_replies_do_not_reveal_the_commit() {
    check_all(&[WriteCase::Resend, WriteCase::Batch, WriteCase::SendGrid, WriteCase::Smtp], None).await;
    check_all(&[WriteCase::Resend], Some("k-1")).await;
}

#[tokio::test]
async fn all_other_replies_do_not_reveal_the_commit() {
    check_all(
        &[
            WriteCase::Github,
            WriteCase::Plain,
            WriteCase::Put,
            WriteCase::Delete,
            WriteCase::Increment,
            WriteCase::Generate,
            WriteCase::GenerateStream,
            WriteCase::OpenTicket,
            WriteCase::Notify,
        ],
        None,
    )
    .await;
}

#[tokio::test]
async fn after_a_reset_the_same_requests_get_the_same_bytes() {
    let services = TestServices::start(all_services_at_fixed_time(3), &[]).await.unwrap();
    for op in WriteCase::ALL {
        let case = Case {
            op,
            reply: ReplySample { text: "ok", reply: Reply::Ok },
            caller: 2,
            key: None,
            earlier: vec![(2, PrecedingRequest::WriteCase(op)), (3, PrecedingRequest::WriteCase(op))],
        };
        let (one, other) = (view(&services, &case, "now").await, view(&services, &case, "now").await);
        assert!(one == other, "{op:?}");
    }
}

fn earlier() -> impl Strategy<Value = (u32, PrecedingRequest)> {
    let what = prop_oneof![
        4 => proptest::sample::select(WriteCase::ALL.to_vec()).prop_map(PrecedingRequest::WriteCase),
        2 => Just(PrecedingRequest::Read),
        1 => Just(PrecedingRequest::NoSuchPath),
        1 => Just(PrecedingRequest::WrongSecret),
    ];
    (1u32..=3, what)
}

fn case() -> impl Strategy<Value = Case> {
    let op = proptest::sample::select(WriteCase::ALL.to_vec());
    let reply = proptest::sample::select(write_replies());
    let key = proptest::option::of("[a-zA-Z0-9_-]{1,40}");
    let earlier = proptest::collection::vec(earlier(), 0..5);
    (op, reply, 1u32..=3, key, earlier).prop_map(|(op, reply, caller, key, earlier)| Case {
        op,
        reply,
        caller,
        key,
        earlier,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn no_seed_caller_key_or_history_reveals_the_commit(seed: u64,
        cases in proptest::collection::vec(case(), 3)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let found = runtime.block_on(async {
            let services = TestServices::start(all_services_at_fixed_time(seed), &[]).await.unwrap();
            for case in &cases {
                if let Some(difference) = difference(&services, case).await {
                    return Some(format!("{case:?}: {difference}"));
                }
            }
            None
        });
        prop_assert!(found.is_none(), "{}", found.unwrap_or_default());
    }
}

/// Words that the real services never use.
const REVEALING_WORDS: [&str; 11] =
    ["hapax", "mock", "fault", "inject", "simulat", "chaos", "fake", "dummy", "pretend", "trial", "ledger"];

fn check_words(text: &str) {
    // Unsupported features are stated openly: a trial that uses one is void, so nothing is revealed.
    if text.starts_with("HTTP/1.1 501 ") {
        return;
    }
    let plain =
        text.to_ascii_lowercase().replace("default", "").replace("trial_", "").replace("trialing", "");
    for word in REVEALING_WORDS {
        assert!(!plain.contains(word), "{word} in {text}");
    }
}

/// The request as the service parses it.
fn as_read(ask: &TestRequest, secret: &str) -> Request {
    if let Some(mail) = &ask.mail {
        let envelope = Envelope { from: "shop@shop.example".to_owned(), to: mail.to.clone() };
        return Request::smtp(envelope, mail.text.clone().into_bytes());
    }
    let request = Request::new(ask.method, &ask.target)
        .header("Host", "service.example")
        .header("Connection", "close")
        .header("Authorization", &format!("Bearer {secret}"));
    ask.headers
        .iter()
        .fold(request, |request, (name, value)| request.header(name, value))
        .body(ask.body.clone())
}

/// The response as the client receives it, from the header after `Date`.
fn as_sent(answer: &Answer, smtp: bool) -> String {
    let body = String::from_utf8_lossy(&answer.body);
    if smtp {
        return format!("{} {body}\r\n", answer.status);
    }
    let headers: String = answer.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", answer.body.len())
}

/// Each injected status has the response that the service itself sends when it fails.
async fn check_injected_statuses<S: Service>(service: &S, op: WriteCase) {
    let facts = op.facts();
    let services = TestServices::start(all_services_at_fixed_time(5), &[]).await.unwrap();
    let ask = op.request(&services, 1).await;
    let request = as_read(&ask, services.mock.key(facts.service).unwrap());
    for (number, status) in (400..600).enumerate() {
        services.mock.clear_faults();
        services.arm(&format!("{} commit=never reply={{status: {status}}}", facts.name));
        let seen = services.send(facts.service, &ask).await;
        let ids = Ids::new(5, facts.service, 1, number as u64 + 1, 0);
        let context = Context { now: "2026-11-15T10:00:00.25Z".parse().unwrap(), ids };
        let mut expected = service.failure(status, &request, &context);
        service.add_standard_headers(&mut expected, &request, &context);
        let smtp = op == WriteCase::Smtp;
        let text = seen.text();
        let shown = if smtp { text.as_str() } else { text.splitn(3, "\r\n").nth(2).unwrap_or_default() };
        assert_eq!(shown, as_sent(&expected, smtp), "{op:?} {status}");
        assert_eq!(seen.status(), Some(expected.status));
        check_words(&text);
    }
}

#[tokio::test]
async fn an_injected_status_is_the_failure_of_the_service() {
    check_injected_statuses(&Payment::default(), WriteCase::Charge).await;
    check_injected_statuses(&Email::default(), WriteCase::Resend).await;
    check_injected_statuses(&Email::default(), WriteCase::SendGrid).await;
    check_injected_statuses(&Email::default(), WriteCase::Smtp).await;
    check_injected_statuses(&Deploy::default(), WriteCase::Github).await;
    check_injected_statuses(&Deploy::default(), WriteCase::Plain).await;
    check_injected_statuses(&Records::default(), WriteCase::Put).await;
    check_injected_statuses(&tickets(), WriteCase::OpenTicket).await;
}

#[tokio::test]
async fn no_response_reveals_the_mock() {
    let services = TestServices::start(all_services_at_fixed_time(9), &[]).await.unwrap();
    for op in WriteCase::ALL {
        let facts = op.facts();
        let ask = op.request(&services, 1).await;
        check_words(&services.send(facts.service, &ask).await.text());
        let reads = [
            facts.read,
            "/",
            "/v1/balance",
            "/v1/customers/cus_1",
            "/repos/acme/shop",
            "/v3/messages",
            "/no/such/path",
        ];
        for target in reads {
            check_words(&services.send(facts.service, &TestRequest::get(target)).await.text());
            check_words(&services.send(facts.service, &TestRequest::get(target).secret("")).await.text());
            check_words(
                &services.send(facts.service, &TestRequest::get(target).secret("wrong")).await.text(),
            );
            check_words(
                &services
                    .send(facts.service, &TestRequest { method: "PATCH", ..TestRequest::get(target) })
                    .await
                    .text(),
            );
        }
        for body in ["", "{", "a=%", "{\"a\":[]}", "\u{0}"] {
            check_words(
                &services
                    .send(facts.service, &TestRequest { body: body.to_owned(), mail: None, ..ask.clone() })
                    .await
                    .text(),
            );
        }
        // The HTTP server refuses what is not a request.
        check_words(
            &services
                .send(facts.service, &TestRequest { method: "GE T", ..TestRequest::get("/") })
                .await
                .text(),
        );
    }
}
