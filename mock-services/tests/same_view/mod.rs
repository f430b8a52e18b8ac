//! Same view, different world: for one reply a caller reads the same bytes whatever was committed, and
//! nothing in any answer tells that it was faked. The clock stands still and the callers name one host, so
//! that nothing else can differ.

use crate::kit::client::Transcript;
use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, pinned, tickets};
use crate::kit::write::Write;
use mock_services::email::Email;
use mock_services::service::{Answer, Context, Envelope, Ids, Request, Service};
use mock_services::{deploy::Deploy, payment::Payment, records::Records};
use proptest::prelude::*;

const COMMITS: [&str; 7] =
    ["now", "never", "{later: {requests: 2}}", "{later: 1ms}", "later", "twice", "{part: 0.5}"];

const REPLIES: [&str; 17] = [
    "ok",
    "drop",
    "reset",
    "{hang: {release: 2ms}}",
    "truncate",
    "{truncate: chunked}",
    "garble",
    "{drip: 2ms}",
    "{delay: 2ms}",
    "{status: 500}",
    "{status: 502}",
    "{status: 503, retry_after: 2}",
    "{status: 429}",
    "{status: 504}",
    "{status: 201}",
    "{status: 500, kept: true}",
    "{status: 409, headers: {X-Extra: a}, body: {error: busy}}",
];

/// Something that happens before, in all worlds alike.
#[derive(Debug, Clone, Copy)]
enum Earlier {
    Write(Write),
    Read,
    NoSuchPath,
    WrongSecret,
}

/// One experiment: everything but what is committed.
#[derive(Debug, Clone)]
struct Case {
    op: Write,
    reply: &'static str,
    caller: u32,
    key: Option<String>,
    earlier: Vec<(u32, Earlier)>,
}

impl Earlier {
    async fn happen(self, world: &TestServices, caller: u32, op: Write) -> Transcript {
        let facts = op.facts();
        let ask = match self {
            Earlier::Write(other) if other.facts().service == facts.service => {
                other.request(world, caller).await
            }
            Earlier::Write(_) | Earlier::Read => TestRequest::get(facts.read),
            Earlier::NoSuchPath => TestRequest::get("/no/such/path"),
            Earlier::WrongSecret => TestRequest::get(facts.read).secret("sk_test_wrong"),
        };
        world.send_as(caller, facts.service, &ask).await
    }
}

/// Whether the answer to this is about nothing that was committed before.
fn speaks_only_of_itself(op: Write) -> bool {
    !matches!(
        op,
        Write::Refund
            | Write::Capture
            | Write::Confirm
            | Write::Upgrade
            | Write::Unsubscribe
            | Write::Plain
            | Write::Put
            | Write::Delete
    ) && op != Write::Increment
}

/// What the caller sees of all that it is told: before, under the fault and, where that is about nothing
/// else, afterwards.
async fn view(world: &TestServices, case: &Case, commit: &str) -> Vec<Transcript> {
    let facts = case.op.facts();
    world.services.clear_faults();
    world.services.reset("view").await;
    let mut seen = Vec::new();
    for (caller, earlier) in &case.earlier {
        seen.push(earlier.happen(world, *caller, case.op).await);
    }
    let mut ask = case.op.request(world, case.caller).await;
    ask.headers.extend(case.key.as_ref().map(|key| ("Idempotency-Key".to_owned(), key.clone())));
    world.arm(&format!("{} commit={commit} reply={}", facts.name, case.reply));
    if case.op == Write::Plain {
        // What is live already is not deployed again.
        world.arm(&format!("deploy.no-change commit={commit} reply={}", case.reply));
    }
    seen.push(world.send_as(case.caller, facts.service, &ask).await);
    assert_eq!(world.fired().iter().sum::<usize>(), 1, "{case:?} {commit}");
    if speaks_only_of_itself(case.op) {
        ask.headers.retain(|(name, _)| name != "Idempotency-Key");
        seen.push(world.send_as(case.caller, facts.service, &ask).await);
    }
    seen
}

/// The first world in which the caller sees something else than in the others.
async fn difference(world: &TestServices, case: &Case) -> Option<String> {
    let can_be = |commit: &&str| {
        (case.op.is_list() || !commit.contains("part"))
            && !(case.reply.contains("kept") && commit.contains("later"))
    };
    let commits = COMMITS.into_iter().filter(can_be);
    let mut first = None;
    for commit in commits {
        let seen = view(world, case, commit).await;
        let first = first.get_or_insert_with(|| seen.clone());
        if let Some((one, other)) = first.iter().zip(&seen).find(|(one, other)| one != other) {
            return Some(format!(
                "{commit} gives itself away\n{}\n{:?}\n{}\n{:?}",
                one.text(),
                one.end,
                other.text(),
                other.end
            ));
        }
    }
    None
}

async fn check_all(ops: &[Write], key: Option<&str>) {
    let world = TestServices::start(pinned(11), &[]).await.unwrap();
    for op in ops {
        for reply in REPLIES {
            let earlier = vec![(1, Earlier::Write(*op)), (2, Earlier::Read), (1, Earlier::NoSuchPath)];
            let case = Case { op: *op, reply, caller: 1, key: key.map(str::to_owned), earlier };
            if let Some(difference) = difference(&world, &case).await {
                panic!("{case:?}: {difference}");
            }
        }
    }
}

#[tokio::test]
async fn a_caller_of_payments_reads_the_same_bytes_whatever_was_committed() {
    let ops = Write::ALL.into_iter().filter(|op| op.facts().service == "payment").collect::<Vec<_>>();
    check_all(&ops, None).await;
    check_all(&[Write::Charge, Write::Intent], Some("k-1")).await;
}

#[tokio::test]
async fn a_caller_of_mail_reads_the_same_bytes_whatever_was_committed() {
    check_all(&[Write::Resend, Write::Batch, Write::SendGrid, Write::Smtp], None).await;
    check_all(&[Write::Resend], Some("k-1")).await;
}

#[tokio::test]
async fn a_caller_of_all_else_reads_the_same_bytes_whatever_was_committed() {
    check_all(
        &[
            Write::Github,
            Write::Plain,
            Write::Put,
            Write::Delete,
            Write::Increment,
            Write::OpenTicket,
            Write::Notify,
        ],
        None,
    )
    .await;
}

#[tokio::test]
async fn after_a_reset_the_same_requests_are_answered_with_the_same_bytes() {
    let world = TestServices::start(pinned(3), &[]).await.unwrap();
    for op in Write::ALL {
        let case = Case {
            op,
            reply: "ok",
            caller: 2,
            key: None,
            earlier: vec![(2, Earlier::Write(op)), (3, Earlier::Write(op))],
        };
        let (one, other) = (view(&world, &case, "now").await, view(&world, &case, "now").await);
        assert!(one == other, "{op:?}");
    }
}

fn earlier() -> impl Strategy<Value = (u32, Earlier)> {
    let what = prop_oneof![
        4 => proptest::sample::select(Write::ALL.to_vec()).prop_map(Earlier::Write),
        2 => Just(Earlier::Read),
        1 => Just(Earlier::NoSuchPath),
        1 => Just(Earlier::WrongSecret),
    ];
    (1u32..=3, what)
}

fn case() -> impl Strategy<Value = Case> {
    let op = proptest::sample::select(Write::ALL.to_vec());
    let reply = proptest::sample::select(REPLIES.to_vec());
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
    fn no_seed_caller_key_or_history_makes_the_worlds_differ(seed: u64, cases in proptest::collection::vec(case(), 3)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let found = runtime.block_on(async {
            let world = TestServices::start(pinned(seed), &[]).await.unwrap();
            for case in &cases {
                if let Some(difference) = difference(&world, case).await {
                    return Some(format!("{case:?}: {difference}"));
                }
            }
            None
        });
        prop_assert!(found.is_none(), "{}", found.unwrap_or_default());
    }
}

/// Words that the real services never say.
const TELLING: [&str; 11] =
    ["hapax", "mock", "fault", "inject", "simulat", "chaos", "fake", "dummy", "pretend", "trial", "ledger"];

fn check_words(text: &str) {
    // What hapax lacks is said openly: a trial in which it is asked for is void, so nothing is given away.
    if text.starts_with("HTTP/1.1 501 ") {
        return;
    }
    let plain =
        text.to_ascii_lowercase().replace("default", "").replace("trial_", "").replace("trialing", "");
    for word in TELLING {
        assert!(!plain.contains(word), "{word} in {text}");
    }
}

/// The request as the service reads it.
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

/// The answer as it is read, from the header behind `Date` on.
fn as_sent(answer: &Answer, smtp: bool) -> String {
    let body = String::from_utf8_lossy(&answer.body);
    if smtp {
        return format!("{} {body}\r\n", answer.status);
    }
    let headers: String = answer.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", answer.body.len())
}

/// Each status in place of the true one comes as the service itself sends it when it fails so.
async fn failures_are_the_services_own<S: Service>(service: &S, op: Write) {
    let facts = op.facts();
    let world = TestServices::start(pinned(5), &[]).await.unwrap();
    let ask = op.request(&world, 1).await;
    let request = as_read(&ask, world.services.key(facts.service).unwrap());
    for (number, status) in (400..600).enumerate() {
        world.services.clear_faults();
        world.arm(&format!("{} commit=never reply={{status: {status}}}", facts.name));
        let seen = world.send(facts.service, &ask).await;
        let ids = Ids::new(5, facts.service, 1, number as u64 + 1, 0);
        let context = Context { now: "2026-11-15T10:00:00.25Z".parse().unwrap(), ids };
        let mut expected = service.failure(status, &request, &context);
        service.add_standard_headers(&mut expected, &request, &context);
        let smtp = op == Write::Smtp;
        let text = seen.text();
        let shown = if smtp { text.as_str() } else { text.splitn(3, "\r\n").nth(2).unwrap_or_default() };
        assert_eq!(shown, as_sent(&expected, smtp), "{op:?} {status}");
        assert_eq!(seen.status(), Some(expected.status));
        check_words(&text);
    }
}

#[tokio::test]
async fn a_status_in_place_of_the_true_one_is_the_services_own_failure() {
    failures_are_the_services_own(&Payment::default(), Write::Charge).await;
    failures_are_the_services_own(&Email::default(), Write::Resend).await;
    failures_are_the_services_own(&Email::default(), Write::SendGrid).await;
    failures_are_the_services_own(&Email::default(), Write::Smtp).await;
    failures_are_the_services_own(&Deploy::default(), Write::Github).await;
    failures_are_the_services_own(&Deploy::default(), Write::Plain).await;
    failures_are_the_services_own(&Records::default(), Write::Put).await;
    failures_are_the_services_own(&tickets(), Write::OpenTicket).await;
}

#[tokio::test]
async fn no_answer_says_that_it_is_made_up() {
    let world = TestServices::start(pinned(9), &[]).await.unwrap();
    for op in Write::ALL {
        let facts = op.facts();
        let ask = op.request(&world, 1).await;
        check_words(&world.send(facts.service, &ask).await.text());
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
            check_words(&world.send(facts.service, &TestRequest::get(target)).await.text());
            check_words(&world.send(facts.service, &TestRequest::get(target).secret("")).await.text());
            check_words(&world.send(facts.service, &TestRequest::get(target).secret("wrong")).await.text());
            check_words(
                &world
                    .send(facts.service, &TestRequest { method: "PATCH", ..TestRequest::get(target) })
                    .await
                    .text(),
            );
        }
        for body in ["", "{", "a=%", "{\"a\":[]}", "\u{0}"] {
            check_words(
                &world
                    .send(facts.service, &TestRequest { body: body.to_owned(), mail: None, ..ask.clone() })
                    .await
                    .text(),
            );
        }
        // What is no request at all is refused by the server in front.
        check_words(
            &world.send(facts.service, &TestRequest { method: "GE T", ..TestRequest::get("/") }).await.text(),
        );
    }
}
