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
        "event/wrong-signature",
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
