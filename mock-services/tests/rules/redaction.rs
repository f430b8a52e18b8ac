//! No secret is in a ledger, in memory or in its file, wherever it was sent.

use mock_services::Clock;
use mock_services::ledger::{Event, LEDGER_FORMAT, Ledger, LedgerFile, read_ledgers};
use mock_services::service::Fields;
use proptest::prelude::*;
use serde_json::json;

use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, all_services};
use crate::kit::write::{WriteCase, charge, put};

const SECRETS: [&str; 12] = [
    "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
    "sk_test_BQokikJOvBiI2HlWgH4olfQ2",
    "rk_live_9a8b7c6d5e4f3a2b1c0d",
    "whsec_1234567890abcdef1234",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "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",
    "AKIAIOSFODNN7EXAMPLE1234",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc123def456",
    "4242424242424242",
    "4242 4242 4242 4242",
    "5555-5555-5555-4444",
    "378282246310005",
];

async fn everywhere(services: &TestServices, secret: &str) {
    let plain = secret.replace(' ', "+");
    let body = format!(
        "amount=100&currency=usd&customer=cus_1&description=pay+{plain}+now&metadata[order]={plain}\
         &metadata[api_key]={plain}"
    );
    services.send("payment", &TestRequest::form("/v1/charges", &body).key(secret)).await;
    services.send("payment", &charge("o1").secret(secret)).await;
    services.send("payment", &charge("o1").header("User-Agent", &format!("agent/1 ({secret})"))).await;
    services
        .send(
            "payment",
            &charge("o1").header("X-Stripe-Client-User-Agent", &json!({"key": secret}).to_string()),
        )
        .await;
    services
        .send("payment", &TestRequest::get(format!("/v1/charges/{}?api_key={0}", secret.replace(' ', "%20"))))
        .await;
    services
        .send(
            "payment",
            &TestRequest::get(format!(
                "/v1/charges/search?query=metadata['a']:'{}'",
                secret.replace(' ', "%20")
            )),
        )
        .await;
    services
        .send("payment", &TestRequest::get(format!("/{}/{}", secret.replace(' ', "%20"), "x".repeat(3000))))
        .await;
    services.send("records", &put("a", 1).header("If-Match", secret)).await;
    services.send("records", &TestRequest::json("PUT", "/records/b", &json!({"value": secret}))).await;
    services
        .send(
            "records",
            &TestRequest::json("PUT", "/records/b", &json!({"value": {"password": secret, "n": [secret]}})),
        )
        .await;
    if let Ok(number) = secret.parse::<i64>() {
        services.send("records", &TestRequest::json("PUT", "/records/c", &json!({"value": number}))).await;
    }
    let mail = json!({"from": "shop@shop.example", "to": "a@x.example",
        "subject": format!("Your key {secret}"),
        "html": format!("<p>{secret}</p>"), "tags": [{"name": "k", "value": secret}]});
    services.send("email", &TestRequest::json("POST", "/emails", &mail)).await;
    services
        .send("email", &TestRequest::mail(&["a@x.example"], &format!("Subject: {secret}\r\n\r\n{secret}")))
        .await;
    let payload = json!({"ref": "v1", "payload": {"token": secret}, "description": secret});
    services.send("deploy", &TestRequest::json("POST", "/repos/acme/shop/deployments", &payload)).await;
    services
        .send(
            "tickets",
            &TestRequest::json(
                "POST",
                "/tickets",
                &json!({"customer": secret, "subject": secret, "text": [secret]}),
            ),
        )
        .await;
}

#[tokio::test]
async fn no_secret_is_in_the_ledger_wherever_it_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let file = LedgerFile::create(&path).unwrap();
    let ledger = Ledger::in_file("t1", 1, Clock::default(), &file);
    let services = TestServices::start(all_services(1).ledger(ledger), &[]).await.unwrap();
    for secret in SECRETS {
        everywhere(&services, secret).await;
    }
    let numbers = "amount=100&currency=usd&source[object]=card&source[number]=4000056655665556\
                   &source[exp_month]=8\
                   &source[exp_year]=2030&source[cvc]=123&card[number]=4000056655665556";
    services.send("payment", &TestRequest::form("/v1/charges", numbers)).await;
    for op in WriteCase::ALL {
        let request = op.request(&services, 1).await;
        services.send(op.facts().service, &request).await;
    }
    let minted: Vec<String> =
        services.mock.names().filter_map(|name| services.mock.key(name)).map(str::to_owned).collect();
    let entries = services.ledger().entries();
    let count = services.ledger().len();
    services.ledger().close();
    file.flush().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let shown = format!("{text}{entries:?}");
    let secrets = SECRETS.into_iter().map(str::to_owned).chain(minted).chain(["4000056655665556".to_owned()]);
    for secret in secrets {
        assert!(
            !shown.contains(&secret),
            "{secret} in {}",
            shown.lines().find(|line| line.contains(&secret)).unwrap_or_default()
        );
    }
    assert!(shown.contains("[redacted 1]"));
    assert_eq!(entries.len() as u64, count, "every entry can still be read");
    let saved = read_ledgers(text.as_bytes()).unwrap().remove("t1").unwrap();
    assert_eq!((saved.torn, saved.entries.len() as u64), (None, count + 1));
}

#[tokio::test]
async fn no_secret_is_in_the_ledger_in_any_encoding() {
    let services = TestServices::with(&[]).await;
    let (card, key) = ("4242424242424242", "sk_live_51ABCDEFGHIJKLMNOPQR");
    let mut values: Vec<String> = ["a\n", "a\t", "x\r\n", "k\u{1}", "card ", "order 12 ", "a\\", "a\""]
        .iter()
        .flat_map(|before| [card, key].map(|secret| format!("{before}{secret}")))
        .collect();
    values.extend([" 12/30", " 123", " 99", " 5555555555554444"].map(|after| format!("{card}{after}")));
    values.extend(["  ", "_", "--", ".", "\u{a0}", "\u{2013}"].map(|gap| ["4242"; 4].join(gap)));
    values.extend([format!("card{card}"), "re_AbCd1234_AbCdEfGhIjKlMnOpQrStUvWx".to_owned()]);
    values.push(json!({"password": "open-sesame"}).to_string());
    for value in &values {
        services.send("records", &TestRequest::json("PUT", "/records/a", &json!({"value": value}))).await;
        let percent: String = value.bytes().map(|byte| format!("%{byte:02X}")).collect();
        services
            .send("records", &TestRequest::json("PUT", format!("/records/{percent}"), &json!({"value": 1})))
            .await;
        let body =
            format!("amount=100&currency=usd&customer=cus_1&description={percent}&metadata[order]={percent}");
        services.send("payment", &TestRequest::form("/v1/charges", &body)).await;
    }
    for path in
        ["4242%204242%2D4242%204242", "x%20sk_live_51ABCDEFGHIJKLMNOPQR", "sk%5Flive%5F51ABCDEFGHIJKLMNOPQR"]
    {
        services
            .send("records", &TestRequest::json("PUT", format!("/records/{path}"), &json!({"value": 1})))
            .await;
    }
    services.send("payment", &charge("o1").key(&format!("k\t{card}"))).await;
    let body = "amount=100&currency=usd&customer=cus_1&metadata[password]=open-sesame";
    services.send("payment", &TestRequest::form("/v1/charges", body)).await;
    let entries = services.ledger().entries();
    assert_eq!(entries.len() as u64, services.ledger().len(), "every entry can still be read");
    for entry in &entries {
        // The last digits of a card are not secret: every answer of the service has them.
        let shown = format!("{:?}", entry.event).replace(r#"\"last4\": \"4242\""#, "");
        let left = ["4242", "51ABCDEF", "51%41", "%34%32", "555555", "AbCdEf", "open-sesame", "%73%65%73"]
            .iter()
            .find(|left| shown.contains(**left));
        assert_eq!(left, None, "{shown}");
    }
}

/// Bodies with a secret in place of `¤`, each with its type.
const BODIES: [(&str, &str); 8] = [
    ("application/json", r#"{"clientSecret": "¤", "db": "postgres://u:¤@h.example/db"}"#),
    ("application/json", r#"{"config": "{\"private_key\": \"¤\"}", "cvc": "¤"}"#),
    ("application/json", r#"{"key": "-----BEGIN PRIVATE KEY-----\n¤\n-----END PRIVATE KEY-----\n"}"#),
    ("text/plain", "password: ¤"),
    ("text/plain", "DB_PASSWORD=¤"),
    ("application/xml", "<login><wsse:Password Type=\"x\">¤</wsse:Password></login>"),
    ("application/yaml", "db:\n  user: ann\n  password: ¤\n"),
    (
        "multipart/form-data; boundary=b",
        "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n¤\r\n--b--",
    ),
];

#[tokio::test]
async fn no_secret_is_in_fields_or_messages_by_its_name_or_form() {
    let services = TestServices::with(&[]).await;
    let secret = "Hunter2qwertyuiop";
    for name in ["secret", "db_password", "refresh_token", "private_key", "pin"] {
        let body = format!("amount=100&currency=usd&customer=cus_1&metadata[{name}]={secret}");
        services.send("payment", &TestRequest::form("/v1/charges", &body)).await;
    }
    for (kind, body) in BODIES {
        let body = body.replace('¤', secret);
        let target = format!("/login?token={secret}&sig={secret}");
        let request = TestRequest { method: "POST", target, body, ..TestRequest::default() };
        services.send("web", &request.header("Content-Type", kind)).await;
    }
    let entries = services.ledger().entries();
    assert!(entries.len() > 2 * BODIES.len());
    for entry in entries {
        let shown = format!("{:?}", entry.event);
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[tokio::test]
async fn two_redacted_keys_are_distinguishable() {
    let services = TestServices::with(&[]).await;
    for key in [SECRETS[0], SECRETS[1], SECRETS[0]] {
        services.send("payment", &charge("o1").key(key)).await;
    }
    let keys: Vec<_> =
        crate::kit::ledger::received(services.ledger()).iter().map(|it| it.key.clone().unwrap()).collect();
    assert!(keys[0] == keys[2] && keys[0] != keys[1], "{keys:?}");
    assert_eq!(services.count(), 2);
}

#[test]
fn a_seed_that_resembles_a_card_number_is_not_redacted() {
    for seed in [4_242_424_242_424_242, 5_555_555_555_554_444, 378_282_246_310_005, u64::MAX] {
        let ledger = Ledger::new("t", seed, Clock::default());
        assert!(
            matches!(ledger.entries()[..],
                [ref entry] if entry.event == Event::Opened { format: LEDGER_FORMAT, seed, plan: None }),
            "{seed}"
        );
    }
}

#[tokio::test]
async fn redacting_a_word_of_the_ledger_format_loses_no_entry() {
    let ledger = Ledger::new("t", 1, Clock::default());
    for word in ["committed", "attempt", "received", "payment", "payment.charge", "fields", "connection"] {
        ledger.hide_value(word);
    }
    let services = TestServices::start(all_services(1).ledger(ledger), &[]).await.unwrap();
    services.send("payment", &charge("o1")).await;
    assert_eq!(services.ledger().entries().len() as u64, services.ledger().len());
    assert_eq!((services.count(), services.effects()[0].name.as_str()), (1, "payment.charge"));
}

#[test]
fn a_value_is_redacted_within_one_string_and_not_across_two() {
    let ledger = Ledger::new("t", 1, Clock::default());
    ledger.hide_value("b\",\"c\":\"d");
    let fields = Fields::new().with("a", "b").with("c", "d").with("e", "x b\",\"c\":\"d y");
    ledger.append(Event::Noted { name: "said".into(), caller: None, fields: fields.clone() });
    let expected = fields.with("e", "x [redacted 1] y");
    assert_eq!(
        ledger.entries()[1].event,
        Event::Noted { name: "said".into(), caller: None, fields: expected }
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_redacted_entry_can_be_parsed(
        secrets in proptest::collection::vec(prop_oneof![".{6,12}", "[a\",:{}\\\\0-9]{6,8}"], 0..3),
        values in proptest::collection::vec(("[a-z\",:{}\\\\]{0,6}", ".{0,20}|[a\",:{}\\\\0-9 -]{0,30}"),
            1..4),
    ) {
        let ledger = Ledger::new("t", 1, Clock::default());
        for secret in &secrets {
            ledger.hide_value(secret);
        }
        for (name, text) in &values {
            let text = secrets.iter().fold(text.clone(), |text, secret| text + secret);
            let fields = Fields::new()
                .with(name.clone(), text.as_str())
                .with("password", text.as_str())
                .with("n", 4_242_424_242_424_242);
            ledger.append(Event::Noted { name: text.into(), caller: Some(1), fields });
        }
        prop_assert_eq!(ledger.entries().len() as u64, ledger.len());
        for entry in ledger.entries() {
            if let Event::Noted { name, fields, .. } = entry.event {
                let fields = fields.iter().map(|(name, value)| format!("{name}\n{value}"));
                let has_secret = |text: &String| secrets.iter().any(|secret| text.contains(secret.as_str()));
                let found = fields.chain([name.to_string()]).find(has_secret);
                prop_assert_eq!(found, None);
            }
        }
    }
}
