//! Subjects that receive events: the examples of the docs, and what goes wrong on the way.

use crate::kit::workspace::Workspace;

const PAGE: &str = include_str!("../../docs/webhooks.md");

/// The n-th example in Python of the page.
fn example(number: usize) -> &'static str {
    let blocks = PAGE.split("```python\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.into_iter().nth(number).unwrap()
}

fn run(workspace: &Workspace, scenarios: &[&str], subject: &[&str]) -> (i32, String) {
    let arguments: Vec<&str> = [&["run"], scenarios, subject].concat();
    let ended = workspace.call(&arguments);
    (ended.status, format!("{}{}", ended.stdout, ended.stderr))
}

/// A forged event, and nothing is due: whoever gets no event would pass, too.
const NOTHING_DUE: &str = "about: An event is forged.\nrequires: events\ntask: Send receipts.\n\
    steps: [{do: email.send, with: {to: ann@example.com, subject: Receipt}}]\nservices: {email: {idempotency: resend}}\n\
    happens: [{payment.charge: {customer: cus_42, amount: 4999, order: ord_7}}]\n\
    events: [{of: payment.charge, copies: [{signature: wrong}]}]\n\
    expect: {effects: [{effect: email.send, where: {to: ann@example.com}, times: 0}]}\n\
    controls: {naive: unintended, careful: pass}\n";
const COMMAND: [&str; 5] = ["--with", "events", "--", "python3", "receiver.py"];

#[test]
fn the_example_that_is_started_for_each_event_passes() {
    let workspace = Workspace::new();
    workspace.write("receiver.py", example(0));
    let scenarios = [
        "event/delivered-again",
        "event/five-at-once",
        "event/killed-after-the-effect",
        "event/killed-before-the-effect",
        "event/wrong-signature@signature",
        "event/forged-first",
        "event/after-other-events",
    ];
    let (status, message) = run(&workspace, &scenarios, &COMMAND);
    assert_eq!(status, 0, "{message}");
}

#[test]
fn a_receiver_without_a_key_fails_and_the_finding_names_the_copy() {
    let workspace = Workspace::new();
    workspace.write("receiver.py", &example(0).replace("headers[\"Idempotency-Key\"] =", "unused ="));
    let (status, message) = run(&workspace, &["event/delivered-again"], &COMMAND);
    assert_eq!(status, 1, "{message}");
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("copy 2 of 2, sent again because the answer to copy 1 was lost"), "{message}");
}

fn over_http(workspace: &Workspace, path: &str) {
    workspace.write("nothing-due.yaml", NOTHING_DUE);
    workspace.write("receiver.py", example(1));
    let subject = format!(
        "subjects:\n  mine: {{ http: \"http://127.0.0.1:${{port}}/\", command: python3 receiver.py, \
         receives: {{ path: {path} }}, watch: 1s }}\n"
    );
    workspace.write("hapax.yaml", &subject);
}

#[test]
fn the_example_over_http_passes_when_an_event_comes_again_and_fails_when_it_is_killed_before_the_effect() {
    let workspace = Workspace::new();
    over_http(&workspace, "/hooks/stripe");
    let scenarios = ["event/delivered-again", "event/five-at-once", "event/sent-again-by-hand"];
    let (status, message) = run(&workspace, &scenarios, &["--subject", "mine"]);
    assert_eq!(status, 0, "{message}");
    let (status, message) = run(&workspace, &["event/killed-before-the-effect"], &["--subject", "mine"]);
    assert_eq!(status, 1, "{message}");
    assert!(message.contains("lost"), "{message}");
}

#[test]
fn a_receiver_at_another_path_makes_the_trial_void_with_the_way_out() {
    let workspace = Workspace::new();
    over_http(&workspace, "/hooks/stripe");
    let elsewhere = example(1).replace(
        "        event = json",
        "        if self.path != \"/events\":\n            return self.send_error(404)\n        event = json",
    );
    workspace.write("receiver.py", &elsewhere);
    let (status, message) = run(&workspace, &["nothing-due.yaml"], &["--subject", "mine"]);
    assert_eq!(status, 3, "{message}");
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("every event was answered with 404"), "{message}");
    assert!(message.contains("receives: {path: /hooks}"), "{message}");
}

#[test]
fn a_subject_that_does_not_say_that_it_receives_events_skips_such_cases() {
    let workspace = Workspace::new();
    workspace.write("receiver.py", example(0));
    let (_, message) = run(&workspace, &["event/delivered-again"], &["--", "python3", "receiver.py"]);
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("needs an agent that receives events"), "{message}");
    assert!(message.contains("--with events") && message.contains("`receives: {}`"), "{message}");
}

#[test]
fn a_declared_service_sends_its_own_events() {
    let workspace = Workspace::new();
    workspace.write(
        "shop.yaml",
        "service: shop\nevents: [order]\noperations:\n  order:\n    route: POST /orders\n    \
         fields: { order: body.order }\n    effect: { identity: [order] }\n",
    );
    workspace.write(
        "own.yaml",
        "about: An order comes in, and its event comes twice.\nrequires: events\n\
         task: Send ann@example.com a mail for each order.\n\
         steps: [{do: email.send, with: {from: a@example.com, to: ann@example.com, subject: Order, text: Hi}}]\n\
         services: {shop: {file: shop.yaml}, email: {idempotency: resend}}\n\
         happens: [{shop.order: {order: ord_7}}]\nevents: [{of: shop.order, copies: 2}]\n\
         expect: {effects: [{effect: email.send, where: {to: ann@example.com}, times: 1}]}\n\
         controls: {naive: duplicated, careful: pass}\n",
    );
    for control in ["by-event-id", "careful"] {
        let (status, message) = run(&workspace, &["own.yaml"], &["--subject", control]);
        assert_eq!(status, 0, "{control}: {message}");
    }
    let (status, message) = run(&workspace, &["own.yaml"], &["--subject", "naive"]);
    assert_eq!(status, 1, "{message}");
}

#[test]
fn a_receiver_that_answers_2xx_without_an_effect_has_lost_it() {
    let workspace = Workspace::new();
    let (status, message) = run(&workspace, &["event/delivered-again"], &["--with", "events", "--", "true"]);
    assert_eq!(status, 1, "{message}");
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        message.contains("The subject got copy 2 of 2, sent again because the answer to copy 1 was lost"),
        "{message}"
    );
    assert!(message.contains("answer 2xx only when the effect has happened"), "{message}");
}

#[test]
fn a_receiver_that_does_not_listen_makes_the_trial_void_with_the_way_out() {
    let workspace = Workspace::new();
    over_http(&workspace, "/hooks/stripe");
    workspace.write("receiver.py", "import time\ntime.sleep(600)\n");
    let arguments = ["--subject", "mine", "--timeout", "2s"];
    let (status, message) = run(&workspace, &["nothing-due.yaml"], &arguments);
    assert_eq!(status, 3, "{message}");
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("did not listen at 127.0.0.1:"), "{message}");
    assert!(message.contains("let it listen at HAPAX_PORT"), "{message}");
}

#[test]
fn a_receiver_that_stops_listening_makes_the_trial_void() {
    let workspace = Workspace::new();
    over_http(&workspace, "/hooks/stripe");
    let once = "import os, socket, time\n\
                listener = socket.create_server((\"127.0.0.1\", int(os.environ[\"HAPAX_PORT\"])))\n\
                listener.accept()\nlistener.close()\ntime.sleep(600)\n";
    workspace.write("receiver.py", once);
    let (status, message) = run(&workspace, &["nothing-due.yaml"], &["--subject", "mine"]);
    assert_eq!(status, 3, "{message}");
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("did not reach the subject: it did not accept a connection"), "{message}");
}

/// A receiver that stores an event, answers, and acts afterwards. Whether it looks at its start for what it has stored is
/// up to the caller.
const ANSWERS_FIRST: &str = r#"
import json, os, sqlite3, threading, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

database = os.path.join(os.environ["HAPAX_STATE_DIR"], "inbox.db")
sqlite3.connect(database).execute("create table if not exists inbox (id text primary key)").connection.commit()


def act(id):
    mail = {"from": "shop@example.com", "to": "ann@example.com", "text": "Thank you.", "subject": "Receipt for ord_7"}
    headers = {"Authorization": "Bearer " + os.environ["HAPAX_EMAIL_KEY"], "Content-Type": "application/json"}
    headers["Idempotency-Key"] = id
    url = os.environ["HAPAX_EMAIL_URL"] + "/emails"
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(mail).encode(), headers))


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with sqlite3.connect(database) as inbox:
            inbox.execute("insert or ignore into inbox values (?)", (event["id"],))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.wfile.flush()
        threading.Thread(target=act, args=(event["id"],)).start()


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ["HAPAX_PORT"])), Receiver)
AT_START
server.serve_forever()
"#;

#[test]
fn a_receiver_that_answers_before_it_acts_must_find_what_it_has_taken_when_it_starts_again() {
    let workspace = Workspace::new();
    over_http(&workspace, "/hooks/stripe");
    let subject = workspace.read("hapax.yaml");
    workspace.write("hapax.yaml", &subject.replace("watch: 1s", "watch: 5s"));
    let inbox = "for (id,) in sqlite3.connect(database).execute(\"select id from inbox\"):\n    \
                 threading.Thread(target=act, args=(id,)).start()";
    for (at_start, expected) in [("", 1), (inbox, 0)] {
        workspace.write("receiver.py", &ANSWERS_FIRST.replace("AT_START", at_start));
        let (status, message) = run(&workspace, &["event/answered-then-killed"], &["--subject", "mine"]);
        assert_eq!(status, expected, "{message}");
        assert_eq!(message.contains("0 lost"), expected == 0, "{message}");
    }
}

#[test]
fn the_event_of_a_mail_over_sendgrid_is_verified_with_its_key() {
    let workspace = Workspace::new();
    workspace.write(
        "mail.yaml",
        "about: A delivery is announced, forged first.\nrequires: events\ntask: Record it.\n\
         services: {email: {}, records: {}}\n\
         happens: [{email.send: {via: sendgrid, from: a@example.com, to: b@example.com, subject: Hi, text: Hi}}]\n\
         steps: [{do: records.put, with: {key: mail, value: delivered}}]\n\
         events: [{of: email.send, copies: [{signature: wrong}]}]\nexpect: {records: {mail: null}}\n\
         controls: {naive: altered, careful: pass}\n",
    );
    let (status, message) = run(&workspace, &["mail.yaml"], &["--subject", "careful"]);
    assert_eq!(status, 0, "{message}");
    let (status, message) = run(&workspace, &["mail.yaml"], &["--subject", "naive"]);
    assert_eq!(status, 1, "{message}");
    let right = workspace.read("mail.yaml").replace("[{signature: wrong}]", "2");
    workspace.write("right.yaml", &right.replace("mail: null", "mail: delivered"));
    let (status, message) = run(&workspace, &["right.yaml"], &["--subject", "careful"]);
    assert_eq!(status, 0, "{message}");
}

/// A receiver for the events of Stripe, Slack, Resend and GitHub. `FLAW` names what it does wrong.
const RECEIVER: &str = r#"
import base64, hashlib, hmac, json, os, sys, time, urllib.request

flaw = "FLAW"
event = json.load(open(os.environ["HAPAX_EVENT_FILE"]))
headers, text = event["headers"], event["body"]


def secret(name):
    return os.environ.get(name, "").encode()


def digest(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256)


def sender():
    """Its name, the signature that is right, the one that came, and the signed time."""
    if "stripe-signature" in headers:
        parts = dict(part.split("=", 1) for part in headers["stripe-signature"].split(","))
        right = digest(secret("STRIPE_WEBHOOK_SECRET"), f"{parts['t']}.{text}").hexdigest()
        return "stripe", right, parts["v1"], parts["t"]
    if "svix-signature" in headers:
        key = base64.b64decode(secret("RESEND_WEBHOOK_SECRET").removeprefix(b"whsec_"))
        at = headers["svix-timestamp"]
        right = base64.b64encode(digest(key, f"{headers['svix-id']}.{at}.{text}").digest()).decode()
        return "svix", "v1," + right, headers["svix-signature"], at
    if "x-slack-signature" in headers:
        at = headers["x-slack-request-timestamp"]
        right = digest(secret("SLACK_SIGNING_SECRET"), f"v0:{at}:{text}").hexdigest()
        return "slack", "v0=" + right, headers["x-slack-signature"], at
    right = digest(secret("GITHUB_WEBHOOK_SECRET"), text).hexdigest()
    return "github", "sha256=" + right, headers.get("x-hub-signature-256", ""), None


name, right, came, at = sender()
seen = os.path.join(os.environ["HAPAX_STATE_DIR"], "seen")
trusts = flaw == "trusts-" + name or (flaw == "verifies-only-the-first" and os.path.exists(seen))
if not trusts and not hmac.compare_digest(right, came):
    sys.exit("the signature is wrong")
if at and flaw != "takes-old-ones" and not trusts and abs(time.time() - int(at)) > 300:
    sys.exit("the signature is old")
open(seen, "w").close()


def send(variable, path, body, method="POST", **more):
    more |= {"Authorization": "Bearer " + os.environ[f"HAPAX_{variable}_KEY"], "Content-Type": "application/json"}
    url = os.environ[f"HAPAX_{variable}_URL"] + path
    more = {name.replace("_", "-"): value for name, value in more.items()}
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), more, method=method))


def mail(to, subject):
    message = {"from": "shop@example.com", "to": to, "subject": subject, "text": "Thank you."}
    send("EMAIL", "/emails", message, Idempotency_Key=subject)


body = json.loads(text)
any_type = flaw == "acts-on-any-type"
if name == "stripe" and (any_type or body["type"] == "charge.succeeded"):
    mail("ann@example.com", "Receipt for " + body["data"]["object"]["metadata"]["order"])
if name == "slack" and (any_type or body["event"]["type"] == "app_mention"):
    mail("ann@example.com", "Receipt for " + body["event"]["text"].split()[-1])
if name == "svix" and body["type"] == "email.delivered":
    send("RECORDS", "/records/" + body["data"]["to"][0], {"value": "delivered"}, "PUT")
if name == "github" and headers["x-github-event"] == "deployment":
    mail("team@example.com", "Deployed to " + body["deployment"]["environment"])
if flaw == "acknowledges-nothing":
    sys.exit("done")
"#;

/// What the receiver must pass: forged copies of each sender, and events of other types.
const FORGED: [&str; 6] = [
    "event/wrong-signature@signature",
    "event/wrong-signature-slack",
    "event/wrong-signature-mail",
    "event/wrong-signature-deployment",
    "event/other-type",
    "event/slack-reaction",
];

fn receiver(workspace: &Workspace, flaw: &str, scenarios: &[&str]) -> (i32, String) {
    workspace.write("receiver.py", &RECEIVER.replace("FLAW", flaw));
    run(workspace, scenarios, &[&["--no-probe"], &COMMAND[..]].concat())
}

#[test]
fn a_right_receiver_passes_forged_copies_of_every_sender_and_events_of_other_types() {
    let (status, message) = receiver(&Workspace::new(), "none", &FORGED);
    assert_eq!(status, 0, "{message}");
}

#[test]
fn a_receiver_that_does_not_verify_a_sender_or_only_the_first_event_or_takes_old_ones_fails() {
    let workspace = Workspace::new();
    for (flaw, scenario) in [
        ("trusts-stripe", "event/wrong-signature@signature=wrong"),
        ("trusts-slack", "event/wrong-signature-slack@signature=other-body"),
        ("trusts-svix", "event/wrong-signature-mail@signature=wrong"),
        ("trusts-github", "event/wrong-signature-deployment@signature=other-body"),
        ("takes-old-ones", "event/wrong-signature@signature=old"),
        ("takes-old-ones", "event/wrong-signature-slack@signature=old"),
        ("takes-old-ones", "event/wrong-signature-mail@signature=old"),
        ("verifies-only-the-first", "event/wrong-signature-slack@signature=wrong"),
    ] {
        let (status, message) = receiver(&workspace, flaw, &[scenario]);
        assert_eq!(status, 1, "{flaw}: {message}");
    }
}

#[test]
fn a_receiver_that_acts_on_events_of_any_type_fails() {
    let workspace = Workspace::new();
    for scenario in ["event/other-type", "event/slack-reaction"] {
        let (status, message) = receiver(&workspace, "acts-on-any-type", &[scenario]);
        assert_eq!(status, 1, "{scenario}: {message}");
        assert!(message.contains("unintended"), "{message}");
    }
}

#[test]
fn a_receiver_that_acknowledges_no_event_fails_although_its_effects_are_right() {
    let workspace = Workspace::new();
    let (status, message) = receiver(&workspace, "acknowledges-nothing", &["clean/receipt-after-payment"]);
    assert_eq!(status, 1, "{message}");
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(message.contains("no event was acknowledged"), "{message}");
    assert!(message.contains("Answer 2xx (a command: exit with status 0)"), "{message}");
}

#[test]
fn each_occurrence_of_a_schedule_has_its_own_time() {
    let workspace = Workspace::new();
    for (control, expected) in [("by-event-id", 1), ("careful", 0)] {
        let (status, message) = run(&workspace, &["event/schedule-catches-up"], &["--subject", control]);
        assert_eq!(status, expected, "{control}: {message}");
        assert_eq!(message.contains("duplicated"), expected == 1, "{message}");
    }
}

#[test]
fn the_events_of_a_declared_service_are_forged_like_all_others() {
    let workspace = Workspace::new();
    workspace.write(
        "shop.yaml",
        "service: shop\nevents: [order]\noperations:\n  order:\n    route: POST /orders\n    \
         fields: { order: body.order }\n    effect: { identity: [order] }\n",
    );
    workspace.write(
        "own.yaml",
        "about: An order is announced by somebody else.\nrequires: events\n\
         task: Send ann@example.com a mail for each order.\nmatrix: {signature: [wrong, old, other-body]}\n\
         steps: [{do: email.send, with: {from: a@example.com, to: ann@example.com, subject: Order, text: Hi}}]\n\
         services: {shop: {file: shop.yaml}, email: {idempotency: resend}}\n\
         happens: [{shop.order: {order: ord_7}}]\n\
         events: [{of: shop.order, copies: [{signature: \"${signature}\"}]}]\n\
         expect: {effects: [{effect: email.send, where: {to: ann@example.com}, times: 0}]}\n\
         controls: {naive: unintended, careful: pass}\n",
    );
    for (control, expected) in [("careful", 0), ("naive", 1)] {
        let (status, message) = run(&workspace, &["own.yaml"], &["--subject", control]);
        assert_eq!(status, expected, "{control}: {message}");
    }
}
