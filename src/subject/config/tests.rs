use std::time::Duration;

use super::super::{ClaimSource, HttpExchange, ServiceAddress, Signal, StandardInput, SubjectKind};
use super::*;
use crate::domain::HostTreatment;
use crate::scenario::{ClaimedOutcome, Promise};

fn loaded(text: &str) -> Result<Config, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE);
    std::fs::write(&path, text).unwrap();
    let place = folder.path().display().to_string();
    Config::load(&path).map_err(|error| error.to_string().replace(&place, "."))
}

#[test]
fn everything_that_can_be_said_of_a_subject_is_read() {
    let config = loaded(
        r#"
default: shop
allow: [api.openai.com]
subjects:
  shop:
    command: [python, agent.py]
    directory: agents
    env: { PAY_HOST: "${payment.host}" }
    pass: [OPENAI_API_KEY]
    fields: { order: metadata.order_id }
    can: [payment.charge, seats.book, email.send via resend, deploy via github]
    timeout: 90s
    grace: 500ms
    stdin: open
    before: psql -f reset.sql
    allow: ["localhost:11434"]
    ignore: ["*.sentry.io"]
    cancel: SIGTERM
    promise: at-most-once
    claim: { exit-status: { 0: done, 3: unknown } }
    via: mcp
  texts: { command: "sh -c 'exit 0'", claim: { patterns: { "order placed": done } } }
  served: { http: "http://127.0.0.1:8080/task", command: ./serve.sh, watch: 5s }
"#,
    )
    .unwrap();
    let [shop, texts, served] = config.subjects.as_slice() else { panic!("{config:?}") };
    assert_eq!(shop.kind, SubjectKind::Command { program: vec!["python".to_owned(), "agent.py".to_owned()] });
    assert!(shop.settings.directory.as_ref().is_some_and(|directory| directory.ends_with("agents")));
    let payment = ServiceAddress {
        name: "payment".into(),
        url: "http://127.0.0.1:1".into(),
        smtp: None,
        key: "k".into(),
    };
    assert_eq!(shop.settings.env[0].1.fill(&[payment]).as_deref(), Some("127.0.0.1"));
    assert_eq!(shop.settings.pass, ["OPENAI_API_KEY"]);
    assert_eq!(shop.settings.fields, [("order".to_owned(), "metadata.order_id".to_owned())]);
    assert_eq!(
        shop.settings.can,
        ["payment.charge", "seats.book", "email.send via resend", "deploy via github"]
    );
    assert_eq!(
        (shop.settings.time, shop.settings.grace),
        (Some(Duration::from_secs(90)), Duration::from_millis(500))
    );
    assert_eq!((shop.settings.input, texts.settings.input), (StandardInput::Open, StandardInput::Closed));
    assert_eq!((shop.settings.via_mcp, texts.settings.via_mcp), (true, false));
    assert_eq!(shop.settings.cancel, Signal::Term);
    assert_eq!(shop.settings.before, Some(["psql", "-f", "reset.sql"].map(str::to_owned).to_vec()));
    let treated = |subject: &Subject, host: &str, port| subject.settings.hosts.treatment(host, port);
    assert_eq!(treated(shop, "localhost", 11434), Some(HostTreatment::Allowed));
    assert_eq!(treated(shop, "o1.sentry.io", 443), Some(HostTreatment::Ignored));
    assert_eq!(treated(texts, "o1.sentry.io", 443), None);
    assert!(
        [shop, texts]
            .iter()
            .all(|subject| treated(subject, "api.openai.com", 443) == Some(HostTreatment::Allowed))
    );
    assert_eq!((shop.settings.promise, texts.settings.promise), (Promise::AtMostOnce, Promise::ExactlyOnce));
    assert_eq!(
        shop.settings.claim,
        ClaimSource::ExitStatus(vec![(0, ClaimedOutcome::Done), (3, ClaimedOutcome::Unknown)])
    );
    assert_eq!(
        texts.kind,
        SubjectKind::Command { program: ["sh", "-c", "exit 0"].map(str::to_owned).to_vec() }
    );
    assert_eq!(
        texts.settings.claim,
        ClaimSource::Patterns(vec![("order placed".to_owned(), ClaimedOutcome::Done)])
    );
    let command = Some(vec!["./serve.sh".to_owned()]);
    let (url, exchange) = ("http://127.0.0.1:8080/task".to_owned(), HttpExchange::default());
    assert_eq!(served.kind, SubjectKind::Http { url, command, exchange });
    assert_eq!(
        (served.settings.watch, shop.settings.watch),
        (Duration::from_secs(5), Duration::from_secs(1))
    );
    let usual = |keys: &str| {
        let source = format!("subjects: {{ a: {{ http: \"http://127.0.0.1:8080/task\"{keys} }} }}");
        loaded(&source).unwrap().subjects[0].settings.watch
    };
    assert_eq!((usual(""), usual(", command: ./a")), (Duration::from_secs(1), Duration::from_secs(3)));
}

#[test]
fn every_problem_is_reported_with_its_position_and_a_hint() {
    let message = loaded(
        r#"default: shp
subjects:
  shop:
    comand: python agent.py
  two:
    command: python agent.py | tee log
    env: { A: "${payment.ulr}", B: "${paymnt.url}", "C=": x, HAPAX_TASK: y, D: 5 }
    pass: [HAPAX_TOKEN, 7]
    can: [payment.chrage, refunds, email.send via pigeon, deploy.deploy via githup, records.put via rest]
    timeout: 0s
    grace: 5
    cancel: SIGKIL
    claim: stdout
    tools: { payment.chrage: charge_card, pay: charge_card, shop.buy: buy, payment.refund: 7 }
  three: { http: "https://example.com/", claim: { exit-status: { x: done } } }
  four: { command: [], claim: { patterns: { ok: yes } } }
  five: { command: a, claim: {}, watch: 5s, stdin: opne }
  resumed: { http: "http://127.0.0.1:8080/task", finds_work: true }
  six: 6
  seven: { http: "http://127.0.0.1:8080/", stdin: open }
  eight: { command: a, allow: ["*", "https://api.openai.com/v1"], ignore: ["*", "*.stripe.com", 7], before: a | b }
"#,
    )
    .unwrap_err();
    insta::assert_snapshot!(message);
}

#[test]
fn a_request_over_http_is_read_in_each_of_its_forms() {
    let exchange = |http: &str| {
        let text = format!("subjects: {{ a: {{ command: ./serve.sh, http: {http} }} }}");
        let config = loaded(&text).unwrap_or_else(|problems| panic!("{http}: {problems}"));
        let SubjectKind::Http { url, exchange, .. } = config.subjects[0].kind.clone() else {
            panic!("{http}")
        };
        (url, exchange)
    };
    assert_eq!(exchange("{format: openai}").0, "http://127.0.0.1:${port}/");
    let as_map = exchange("{request: {messages: [{role: user, content: \"${task}\"}]}}");
    let as_json = exchange(r#"{request: '{"messages": [{"role": "user", "content": "${task}"}]}'}"#);
    let below_body = exchange(r#"{request: {body: {messages: [{role: user, content: "${task}"}]}}}"#);
    assert_eq!(as_map, as_json);
    assert_eq!(as_map, below_body);
    let only_headers = exchange("{url: \"http://127.0.0.1:1/task\", request: {headers: {X-Key: a}}}").1;
    assert_eq!((only_headers.request.body, only_headers.request.headers.len()), (None, 1));
    exchange("{request: {method: GET, path: \"/run?task=${task}\"}}");
    exchange("{request: {body: [{steps: \"${steps}\", key: \"${payment.key} ${mcp.url}\"}]}}");
    exchange("{claim: {pointer: /a, patterns: {x: done}, status: {409: not-done, 5xx: unknown}}}");
}

#[test]
fn every_problem_of_a_request_over_http_has_its_position_and_a_hint() {
    let message = loaded(
        r#"subjects:
  a: { http: { format: openai } }
  b: { http: { url: "http://127.0.0.1:${port}/", format: opnai, reqest: {} } }
  c: { command: a, http: { request: { path: /run, messages: [ "${task}" ] } } }
  d: { command: a, http: { request: { prompt: "${tsak}", more: ["${paymnt.url}", "${", "${port}"] } } }
  e: { command: a, http: { request: { prompt: "the task" } } }
  f: { command: a, http: { request: { method: GET, path: /run } } }
  g: { command: a, http: { request: { method: GET, body: { task: "${task}" } } } }
  h: { command: a, http: { request: '{"prompt": "${task}"' } }
  i: { command: a, http: { request: "\"${task}\"" } }
  j: { command: a, http: { request: 5 } }
  k: { command: a, http: { request: { "${task}": a } } }
  l: { command: a, http: { request: { headers: { A: "x\ny", "B C": x, Host: x, D: "${task}", E: a, e: b } } } }
  m: { command: a, http: { url: "http://127.0.0.1:1/task", request: { path: /run } } }
  n: { command: a, http: { request: { path: run } } }
  o: { command: a, http: { request: { path: "/a b" } } }
  p: { command: a, http: { request: { path: "/${payment.key}" } } }
  q: { command: a, http: { request: { method: post } } }
  r: { command: a, http: { claim: {} } }
  s: { command: a, http: { claim: { pointer: answer, patterns: { "": done }, status: { 2: done, 700: done } } } }
  t: { command: a, http: { claim: { status: {}, patterns: {} } } }
  u: { command: a, http: { format: openai, claim: { pointer: /a } } }
  v: { command: a, http: { claim: last-line } }
  w: { command: a, http: 5 }
"#,
    )
    .unwrap_err();
    insta::assert_snapshot!(message);
}

#[test]
fn hosts_of_services_and_added_services_are_read() {
    let config = loaded(
        r#"
hosts: { payment: ["*.stripe.test"] }
subjects:
  shop:
    command: a
    hosts: { email: [mail.internal.example] }
    web: { ignore: [request_id], idempotency: stripe }
  other: { command: b, web: }
  plain: { command: c }
"#,
    )
    .unwrap();
    let [shop, other, plain] = config.subjects.as_slice() else { panic!("{config:?}") };
    let hosts = |subject: &Subject| {
        let served = subject.settings.served_hosts.iter();
        served.map(|(service, host)| format!("{service} {}", host.as_str())).collect::<Vec<_>>()
    };
    assert_eq!(hosts(shop), ["email mail.internal.example", "payment *.stripe.test"]);
    assert_eq!(hosts(plain), ["payment *.stripe.test"]);
    let added = |subject: &Subject| serde_json::to_value(&subject.settings.services).unwrap();
    assert_eq!(added(shop)[0]["configuration"]["ignore"], serde_json::json!(["request_id"]));
    assert_eq!(added(other)[0]["name"], "web");
    assert_eq!(added(plain), serde_json::json!([]));
    assert_ne!(shop.settings.services, other.settings.services);
}

#[test]
fn hosts_of_services_are_checked() {
    let message = loaded(
        r#"hosts: { paymnt: [a.example], payment: [b.example] }
subjects:
  shop:
    command: a
    hosts: { email: [b.example, api.stripe.com, "c.example:80"], desk: [d.example] }
    web: { answers: 5, ignored: [a] }
"#,
    )
    .unwrap_err();
    insta::assert_snapshot!(message);
}

#[test]
fn a_file_without_subjects_is_refused() {
    let messages: Vec<String> =
        ["", "subjects: {}", "subjects: [a]", "a: [", "subjects: {a: {command: b}, a: {command: c}}"]
            .iter()
            .map(|text| loaded(text).unwrap_err())
            .collect();
    insta::assert_snapshot!(messages.join("\n\n"));
}

#[test]
fn a_subject_is_found_by_name_by_default_or_because_it_is_the_only_one() {
    let one = loaded("subjects: {a: {command: x}}").unwrap();
    let two = loaded("subjects: {shop: {command: x}, bank: {command: y}}").unwrap();
    let with_default = loaded("default: bank\nsubjects: {shop: {command: x}, bank: {command: y}}").unwrap();
    assert_eq!(one.subject(None).unwrap().name, "a");
    assert_eq!(two.subject(Some("shop")).unwrap().name, "shop");
    assert_eq!(with_default.subject(None).unwrap().name, "bank");
    assert_eq!(
        two.subject(None).unwrap_err().to_string(),
        "no subject selected: choose one with --subject: `shop` or `bank`"
    );
    assert!(two.subject(Some("shpo")).unwrap_err().to_string().ends_with("did you mean `shop`?"));
}

#[test]
fn the_nearest_file_holds_up_to_the_root_of_the_repository() {
    let root = tempfile::tempdir().unwrap();
    let inner = root.path().join("repository/agents/shop");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(root.path().join(FILE), "").unwrap();
    assert_eq!(Config::find(&inner), Some(root.path().join(FILE)));
    std::fs::create_dir(root.path().join("repository/.git")).unwrap();
    assert_eq!(Config::find(&inner), None);
    std::fs::write(root.path().join("repository").join(FILE), "").unwrap();
    assert_eq!(Config::find(&inner), Some(root.path().join("repository").join(FILE)));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Config::load(Path::new("/no/such/hapax.yaml")).unwrap_err();
    assert!(error.to_string().starts_with("cannot read /no/such/hapax.yaml: "));
}

#[test]
fn only_labels_can_have_another_name() {
    let fields =
        |fields: &str| loaded(&format!("subjects:\n  shop:\n    command: a\n    fields: {{ {fields} }}\n"));
    for free in ["order: metadata.order_id", "order: description", "reference: metadata.ref, seat: place"] {
        assert!(fields(free).is_ok(), "{free}");
    }
    for native in ["amount", "currency", "customer", "to", "subject", "version", "environment", "quantity"] {
        let message = fields(&format!("{native}: metadata.x")).unwrap_err();
        assert!(message.contains("hapax.yaml:4:"), "{message}");
        assert!(message.contains(&format!("`{native}` cannot have another name")), "{message}");
        assert!(message.contains("remove it: hapax reads"), "{message}");
    }
    let message = fields("order: customer").unwrap_err();
    assert!(message.contains("is not free for another meaning"), "{message}");
    assert!(message.contains("metadata.order_id"), "{message}");
}
