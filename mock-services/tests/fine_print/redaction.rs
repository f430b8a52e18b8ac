//! No secret stands in a ledger, in memory or in its file, whichever way it came.

use std::borrow::Cow;

use mock_services::Clock;
use mock_services::ledger::{Event, LEDGER_FORMAT, Ledger, LedgerFile, read_ledgers};
use mock_services::service::Fields;
use proptest::prelude::*;
use serde_json::json;

use crate::kit::request::TestRequest;
use crate::kit::services::{TestServices, everything};
use crate::kit::write::{Write, charge, put};

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

async fn everywhere(world: &TestServices, secret: &str) {
    let plain = secret.replace(' ', "+");
    let body = format!(
        "amount=100&currency=usd&customer=cus_1&description=pay+{plain}+now&metadata[order]={plain}&metadata[api_key]={plain}"
    );
    world.send("payment", &TestRequest::form("/v1/charges", &body).key(secret)).await;
    world.send("payment", &charge("o1").secret(secret)).await;
    world.send("payment", &charge("o1").header("User-Agent", &format!("agent/1 ({secret})"))).await;
    world
        .send(
            "payment",
            &charge("o1").header("X-Stripe-Client-User-Agent", &json!({"key": secret}).to_string()),
        )
        .await;
    world
        .send("payment", &TestRequest::get(format!("/v1/charges/{}?api_key={0}", secret.replace(' ', "%20"))))
        .await;
    world
        .send(
            "payment",
            &TestRequest::get(format!(
                "/v1/charges/search?query=metadata['a']:'{}'",
                secret.replace(' ', "%20")
            )),
        )
        .await;
    world
        .send("payment", &TestRequest::get(format!("/{}/{}", secret.replace(' ', "%20"), "x".repeat(3000))))
        .await;
    world.send("records", &put("a", 1).header("If-Match", secret)).await;
    world.send("records", &TestRequest::json("PUT", "/records/b", &json!({"value": secret}))).await;
    world
        .send(
            "records",
            &TestRequest::json("PUT", "/records/b", &json!({"value": {"password": secret, "n": [secret]}})),
        )
        .await;
    if let Ok(number) = secret.parse::<i64>() {
        world.send("records", &TestRequest::json("PUT", "/records/c", &json!({"value": number}))).await;
    }
    let mail = json!({"from": "shop@shop.example", "to": "a@x.example", "subject": format!("Your key {secret}"),
        "html": format!("<p>{secret}</p>"), "tags": [{"name": "k", "value": secret}]});
    world.send("email", &TestRequest::json("POST", "/emails", &mail)).await;
    world
        .send("email", &TestRequest::mail(&["a@x.example"], &format!("Subject: {secret}\r\n\r\n{secret}")))
        .await;
    let payload = json!({"ref": "v1", "payload": {"token": secret}, "description": secret});
    world.send("deploy", &TestRequest::json("POST", "/repos/acme/shop/deployments", &payload)).await;
    world
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
async fn no_secret_stands_in_the_ledger_whichever_way_it_came() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    let file = LedgerFile::create(&path).unwrap();
    let ledger = Ledger::in_file("t1", 1, Clock::default(), &file);
    let world = TestServices::start(everything(1).ledger(ledger), &[]).await.unwrap();
    for secret in SECRETS {
        everywhere(&world, secret).await;
    }
    let numbers = "amount=100&currency=usd&source[object]=card&source[number]=4000056655665556&source[exp_month]=8\
                   &source[exp_year]=2030&source[cvc]=123&card[number]=4000056655665556";
    world.send("payment", &TestRequest::form("/v1/charges", numbers)).await;
    for op in Write::ALL {
        let ask = op.request(&world, 1).await;
        world.send(op.facts().service, &ask).await;
    }
    let minted: Vec<String> =
        world.services.names().filter_map(|name| world.services.key(name)).map(str::to_owned).collect();
    let entries = world.ledger().entries();
    let count = world.ledger().len();
    world.ledger().close();
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
async fn no_secret_stands_in_the_ledger_however_it_is_written() {
    let world = TestServices::with(&[]).await;
    let (card, key) = ("4242424242424242", "sk_live_51ABCDEFGHIJKLMNOPQR");
    let mut said: Vec<String> = ["a\n", "a\t", "x\r\n", "k\u{1}", "card ", "order 12 ", "a\\", "a\""]
        .iter()
        .flat_map(|before| [card, key].map(|secret| format!("{before}{secret}")))
        .collect();
    said.extend([" 12/30", " 123", " 99", " 5555555555554444"].map(|after| format!("{card}{after}")));
    said.extend(["  ", "_", "--", ".", "\u{a0}", "\u{2013}"].map(|gap| ["4242"; 4].join(gap)));
    said.extend([format!("card{card}"), "re_AbCd1234_AbCdEfGhIjKlMnOpQrStUvWx".to_owned()]);
    said.push(json!({"password": "open-sesame"}).to_string());
    for said in &said {
        world.send("records", &TestRequest::json("PUT", "/records/a", &json!({"value": said}))).await;
        let percent: String = said.bytes().map(|byte| format!("%{byte:02X}")).collect();
        world
            .send("records", &TestRequest::json("PUT", format!("/records/{percent}"), &json!({"value": 1})))
            .await;
        let body =
            format!("amount=100&currency=usd&customer=cus_1&description={percent}&metadata[order]={percent}");
        world.send("payment", &TestRequest::form("/v1/charges", &body)).await;
    }
    for path in
        ["4242%204242%2D4242%204242", "x%20sk_live_51ABCDEFGHIJKLMNOPQR", "sk%5Flive%5F51ABCDEFGHIJKLMNOPQR"]
    {
        world
            .send("records", &TestRequest::json("PUT", format!("/records/{path}"), &json!({"value": 1})))
            .await;
    }
    world.send("payment", &charge("o1").key(&format!("k\t{card}"))).await;
    let body = "amount=100&currency=usd&customer=cus_1&metadata[password]=open-sesame";
    world.send("payment", &TestRequest::form("/v1/charges", body)).await;
    let entries = world.ledger().entries();
    assert_eq!(entries.len() as u64, world.ledger().len(), "every entry can still be read");
    for entry in &entries {
        let shown = format!("{:?}", entry.event);
        let left = ["4242", "51ABCDEF", "51%41", "%34%32", "555555", "AbCdEf", "open-sesame", "%73%65%73"]
            .iter()
            .find(|left| shown.contains(**left));
        assert_eq!(left, None, "{shown}");
    }
}

#[tokio::test]
async fn two_keys_that_are_hidden_can_still_be_told_apart() {
    let world = TestServices::with(&[]).await;
    for key in [SECRETS[0], SECRETS[1], SECRETS[0]] {
        world.send("payment", &charge("o1").key(key)).await;
    }
    let keys: Vec<_> =
        crate::kit::ledger::received(world.ledger()).iter().map(|it| it.key.clone().unwrap()).collect();
    assert!(keys[0] == keys[2] && keys[0] != keys[1], "{keys:?}");
    assert_eq!(world.count(), 2);
}

#[test]
fn a_seed_that_looks_like_a_card_number_is_none() {
    for seed in [4_242_424_242_424_242, 5_555_555_555_554_444, 378_282_246_310_005, u64::MAX] {
        let ledger = Ledger::new("t", seed, Clock::default());
        assert!(
            matches!(ledger.entries()[..], [ref entry] if entry.event == Event::Opened { format: LEDGER_FORMAT, seed, plan: None }),
            "{seed}"
        );
    }
}

#[tokio::test]
async fn hiding_a_word_of_the_ledger_itself_loses_no_entry() {
    let ledger = Ledger::new("t", 1, Clock::default());
    for word in ["committed", "attempt", "received", "payment", "payment.charge", "fields", "connection"] {
        ledger.hide_value(word);
    }
    let world = TestServices::start(everything(1).ledger(ledger), &[]).await.unwrap();
    world.send("payment", &charge("o1")).await;
    assert_eq!(world.ledger().entries().len() as u64, world.ledger().len());
    assert_eq!((world.count(), world.effects()[0].name.as_str()), (1, "payment.charge"));
}

#[test]
fn a_hidden_value_is_looked_for_within_one_text_and_not_across_two() {
    let ledger = Ledger::new("t", 1, Clock::default());
    ledger.hide_value("b\",\"c\":\"d");
    let fields = Fields::new().with("a", "b").with("c", "d").with("e", "x b\",\"c\":\"d y");
    ledger.append(&Event::Noted { name: "said".into(), caller: None, fields: Cow::Borrowed(&fields) });
    let expected = Cow::Owned(fields.with("e", "x [redacted 1] y"));
    assert_eq!(
        ledger.entries()[1].event,
        Event::Noted { name: "said".into(), caller: None, fields: expected }
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_is_hidden_and_whatever_is_said_every_entry_can_be_read(
        secrets in proptest::collection::vec(prop_oneof![".{6,12}", "[a\",:{}\\\\0-9]{6,8}"], 0..3),
        said in proptest::collection::vec(("[a-z\",:{}\\\\]{0,6}", ".{0,20}|[a\",:{}\\\\0-9 -]{0,30}"), 1..4),
    ) {
        let ledger = Ledger::new("t", 1, Clock::default());
        for secret in &secrets {
            ledger.hide_value(secret);
        }
        for (name, text) in &said {
            let text = secrets.iter().fold(text.clone(), |text, secret| text + secret);
            let fields = Fields::new().with(name.clone(), text.as_str()).with("password", text.as_str()).with("n", 4_242_424_242_424_242);
            ledger.append(&Event::Noted { name: text.into(), caller: Some(1), fields: Cow::Owned(fields) });
        }
        prop_assert_eq!(ledger.entries().len() as u64, ledger.len());
        for entry in ledger.entries() {
            if let Event::Noted { name, fields, .. } = entry.event {
                let shown = fields.iter().map(|(name, value)| format!("{name}\n{value}")).chain([name.into_owned()]);
                let found = shown.into_iter().find(|shown| secrets.iter().any(|secret| shown.contains(secret.as_str())));
                prop_assert_eq!(found, None);
            }
        }
    }
}
