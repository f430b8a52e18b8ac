mod reference;

use std::collections::HashMap;

use proptest::prelude::*;

use self::reference::LineRedactor;
use super::*;
use crate::ledger::entry::{CommitTiming, Event, Received};
use crate::service::{Fields, Value};

const SECRET: &str = "hunter2secret";
/// Longer than keys and card numbers are.
const LONG_SECRET: &str = "hunter2secret and all that a long one may hold besides";

/// Fields, given and shown as JSON.
fn redacted(redactor: &mut Redactor, json: &str) -> String {
    let mut fields: Fields = serde_json::from_str(json).unwrap();
    redactor.redact_fields(&mut fields);
    serde_json::to_string(&fields).unwrap()
}

/// What is left in clear of a text that a caller sent.
fn shown(text: &str) -> String {
    let event = noted(text, Fields::new());
    match Redactor::default().redact(event.clone()) {
        Event::Noted { name, .. } => name.to_string(),
        other => panic!("{other:?}"),
    }
}

fn noted(name: &str, fields: Fields) -> Event {
    Event::Noted { name: name.into(), caller: None, fields }
}

fn received(key: &str, fields: Fields, client: Fields) -> Event {
    Event::Received(Box::new(Received {
        attempt: 52,
        operation: "payment.charge".into(),
        method: "POST".into(),
        path: "/v1/charges".into(),
        fields,
        key: Some(key.to_owned().into()),
        replay: false,
        share: crate::service::TaskShare::Full,
        caller: 1,
        connection: 1,
        repeats: None,
        declared_answer: None,
        client,
        message: None,
    }))
}

/// Texts in which something may have to be hidden, also across the pieces that they are made of.
fn text() -> impl Strategy<Value = String> {
    let pieces = [
        "4242424242424242",
        "4242 4242-4242",
        "4242",
        "-",
        " ",
        ".",
        "_",
        "\u{a0}",
        "\n",
        "\u{1}",
        "%20",
        "%",
        "5555555555554444",
        "re_AbCd1234_AbCdEfGhIjKlMnOpQrStUvWx",
        "metadata.password",
        "7",
        "x",
        "é",
        "\"",
        "=",
        SECRET,
        LONG_SECRET,
        "hunter2",
        "sk_live_0123456789abcdefgh",
        "api_key",
        "Authorization",
        "order",
        "metadata.clientSecret",
        "password: ",
        "\"token\": \"",
        "postgres://u:hunter2@h ",
        "?sig=",
        "-----BEGIN X-----",
        "<password>",
        "max_tokens",
    ];
    proptest::collection::vec(prop::sample::select(pieces.to_vec()), 0..4).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        text().prop_map(Value::from),
        prop::sample::select(vec![4_242_424_242_424_242, 4242, -52]).prop_map(Value::Number),
        proptest::collection::vec(text(), 0..3).prop_map(Value::List),
        any::<bool>().prop_map(Value::Bool),
    ]
}

fn events() -> impl Strategy<Value = [Event; 2]> {
    let names = proptest::collection::vec((text(), value()), 0..4);
    (text(), text(), names).prop_map(|(key, id, names)| {
        let fields = names.into_iter().fold(Fields::new(), |fields, (name, value)| fields.with(name, value));
        let committed = Event::Committed {
            attempt: 4,
            effect: "payment.charge".into(),
            id: id.into(),
            fields: fields.clone(),
            timing: CommitTiming::Now,
        };
        [received(&key, fields, Fields::new()), committed]
    })
}

proptest! {
    // Few of them, of many events each: to build the searches takes a while.
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn an_event_hides_the_same_as_its_line_of_json(
        events in proptest::collection::vec(events(), 100),
        secret in prop::sample::select(vec!["hunter2", SECRET, LONG_SECRET]),
    ) {
        let mut redactor = Redactor::default();
        redactor.hide_value(secret);
        let finder = redactor.finder();
        let mut lines = LineRedactor { redactor: &finder, hidden: HashMap::new() };
        for event in events.iter().flatten() {
            let expected = lines.redact(&serde_json::to_string(event).unwrap());
            prop_assert_eq!(serde_json::to_string(&redactor.redact(event.clone())).unwrap(), expected);
        }
    }
}

#[test]
fn a_hidden_value_is_found_in_hexadecimal_digits_and_in_base64_at_every_place() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    let secret = "correct-horse?~battery";
    let mut redactor = Redactor::default();
    redactor.hide_value(secret);
    let mut shown = |text: &str| redactor.redacted(text).into_owned();
    for before in ["", "a", "ab", "ann:"] {
        for encoded in [
            STANDARD.encode(format!("{before}{secret}")),
            URL_SAFE_NO_PAD.encode(format!("{before}{secret} and more")),
        ] {
            assert!(shown(&format!("x {encoded} y")).contains("[redacted "), "{encoded}");
        }
    }
    for encoded in [hex::encode(secret), hex::encode_upper(secret)] {
        let hidden = shown(&encoded);
        assert!(hidden.starts_with("[redacted ") && hidden.ends_with(']'), "{hidden}");
    }
}

#[test]
fn what_was_decided_for_a_name_is_decided_again_when_the_rules_change() {
    let mut redactor = Redactor::default();
    let shown = |redactor: &mut Redactor| {
        let fields = Fields::new().with("coupon_1", "abcdefgh");
        let Event::Noted { fields, .. } = redactor.redact(noted("a", fields)) else {
            panic!("another event")
        };
        fields.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(shown(&mut redactor), "coupon_1=abcdefgh");
    redactor.hide_name("coupon_1");
    assert_eq!(shown(&mut redactor), "coupon_1=[redacted 1]");
    redactor.hide_value("coupon_1");
    assert_eq!(shown(&mut redactor), "[redacted 2]=[redacted 1]");
}

#[test]
fn the_headers_of_a_client_are_hidden_as_soon_as_they_must_be() {
    let event = received("k", Fields::new(), Fields::new().with("user-agent", "agent \"hunter2secret\""));
    let mut redactor = Redactor::default();
    assert_eq!(redactor.redact(event.clone()), event);
    redactor.hide_value(SECRET);
    let client = Fields::new().with("user-agent", "agent \"[redacted 1]\"");
    assert_eq!(redactor.redact(event.clone()), received("k", Fields::new(), client));
}

#[test]
fn a_hidden_name_is_found_also_after_a_quote_and_before_an_equals_sign() {
    let fields = Fields::new().with("\"api_key", "secret one").with("x?api_key=secret-two&y", "1");
    let event = received("k", fields, Fields::new());
    let json = serde_json::to_string(&Redactor::default().redact(event.clone())).unwrap();
    assert!(json.contains("redacted") && !json.contains("secret"), "{json}");
}

#[test]
fn a_member_can_be_hidden_by_its_name() {
    let mut redactor = Redactor::default();
    redactor.hide_name("Key");
    let event = received("a1b2", Fields::new(), Fields::new());
    assert_eq!(redactor.redact(event.clone()), received("[redacted 1]", Fields::new(), Fields::new()));
}

#[test]
fn fields_without_secrets_stay_as_they_are() {
    let line = r#"{"path":"/v1/charges","amount":4999,"order":"ord_1001","key":"a1b2-9931"}"#;
    assert_eq!(redacted(&mut Redactor::default(), line), line);
}

#[test]
fn a_minted_key_is_hidden_also_where_it_is_escaped() {
    let mut redactor = Redactor::default();
    redactor.hide_value("s3\"cret/+");
    assert_eq!(
        redacted(&mut redactor, r#"{"a":"x s3\"cret/+ y","path":"/?k=s3%22cret%2F%2B"}"#),
        r#"{"a":"x [redacted 1] y","path":"/?k=[redacted 2]"}"#
    );
}

#[test]
fn the_same_value_keeps_its_number_and_another_gets_another() {
    let mut redactor = Redactor::default();
    let line =
        r#"{"a":"sk_live_aaaaaaaaaaaaaaa1","b":"sk_live_bbbbbbbbbbbbbbb2","c":"sk_live_aaaaaaaaaaaaaaa1"}"#;
    assert_eq!(
        redacted(&mut redactor, line),
        r#"{"a":"[redacted 1]","b":"[redacted 2]","c":"[redacted 1]"}"#
    );
}

#[test]
fn values_of_named_headers_fields_and_parameters_are_hidden() {
    let mut redactor = Redactor::default();
    redactor.hide_name("X-Pin");
    let line = r#"{"Authorization":"Basic a\"b","x-pin":4711,"path":"/a?api_key=abc&b=1"}"#;
    let expected =
        r#"{"Authorization":"[redacted 1]","x-pin":"[redacted 2]","path":"/a?api_key=[redacted 3]&b=1"}"#;
    assert_eq!(redacted(&mut redactor, line), expected);
}

#[test]
fn a_hidden_name_is_found_also_where_it_is_escaped() {
    let mut redactor = Redactor::default();
    redactor.hide_name("my \"pin\"");
    assert_eq!(redacted(&mut redactor, r#"{"My \"Pin\"":4711}"#), r#"{"My \"Pin\"":"[redacted 1]"}"#);
}

#[test]
fn card_numbers_are_hidden_as_text_as_number_and_with_spaces() {
    let line =
        r#"{"a":"4242424242424242","b":4242424242424242,"c":"4242 4242 4242 4242","d":"4242424242424241"}"#;
    let expected = r#"{"a":"[redacted 1]","b":"[redacted 1]","c":"[redacted 2]","d":"4242424242424241"}"#;
    assert_eq!(redacted(&mut Redactor::default(), line), expected);
}

#[test]
fn a_secret_after_an_escaped_character_is_hidden() {
    for before in
        ["a\n", "a\t", "x\r\n", "k\u{1}", "\u{8}", "a\\", "a\"", "\\n", "\\u000a", "%0a", "a%20", "a%2520"]
    {
        for secret in ["4242424242424242", "sk_live_51ABCDEFGHIJKLMNOPQR"] {
            assert_eq!(shown(&format!("{before}{secret}")), format!("{before}[redacted 1]"));
        }
    }
}

#[test]
fn a_secret_that_is_escaped_itself_is_hidden() {
    for (said, left) in [
        ("/records/4242%204242%204242%204242", "/records/[redacted 1]"),
        ("/records/4242%2D4242%2d4242%2D4242/x", "/records/[redacted 1]/x"),
        ("/records/sk%5Flive%5F51ABCDEFGHIJKLMNOPQR", "/records/[redacted 1]"),
        ("/records/%34242424242424242", "/records/[redacted 1]"),
        ("/x%3Fpass%77ord%3Dabc%26d", "/x%3Fpass%77ord%3D[redacted 1]%26d"),
        ("/50%/of%20it%2", "/50%/of%20it%2"),
    ] {
        assert_eq!(shown(said), left);
    }
    let mut redactor = Redactor::default();
    redactor.hide_value("s3\"cret/é");
    assert_eq!(
        redacted(&mut redactor, r#"{"path":"/s3%22cret%2f%c3%a9/x"}"#),
        r#"{"path":"/[redacted 1]/x"}"#
    );
}

#[test]
fn a_name_is_hidden_as_a_part_of_another() {
    let line = concat!(
        r#"{"metadata.password":"a","metadata[api_key]":"b","password.old":1,"#,
        r#""password":["c","2"],"passwords":"d"}"#
    );
    let expected = concat!(
        r#"{"metadata.password":"[redacted 1]","metadata[api_key]":"[redacted 2]","#,
        r#""password.old":"[redacted 3]","password":["[redacted 4]","[redacted 5]"],"passwords":"d"}"#
    );
    assert_eq!(redacted(&mut Redactor::default(), line), expected);
    for name in ["metadata.Password", "metadata[password]", "password", "a.password[0]"] {
        assert!(Redactor::default().hides_name(name), "{name}");
    }
    for name in ["passwords", "max_tokens", "key", "author", "metadata[idempotency_key]"] {
        assert!(!Redactor::default().hides_name(name), "{name}");
    }
}

#[test]
fn json_within_a_text_is_searched() {
    assert_eq!(shown(r#"{"password": "a\"b", "c": 1}"#), r#"{"password": "[redacted 1]", "c": 1}"#);
    assert_eq!(
        shown(r#"["{\"api_key\":\"abc\",\"d\":1}"]"#),
        r#"["{\"api_key\":\"[redacted 1]\",\"d\":1}"]"#
    );
    assert_eq!(shown(r#"{"a":"x\nsk_live_51ABCDEFGHIJKLMNOPQR"}"#), r#"{"a":"x\n[redacted 1]"}"#);
}

#[test]
fn a_field_is_hidden_by_the_words_of_its_name() {
    for name in
        ["metadata[secret]", "metadata[db_password]", "refresh_token", "a.private_key", "body.clientSecret"]
    {
        let mut fields = Fields::new().with(name, "hunter").with("order", "hunter");
        Redactor::default().redact_fields(&mut fields);
        assert_eq!(fields, Fields::new().with(name, "[redacted 1]").with("order", "hunter"));
    }
}

/// What is written as `¤` is hidden in a field, and nothing else of the text.
#[test]
fn a_secret_in_a_field_is_hidden_by_its_form() {
    for form in [
        "password: ¤",
        "DB_PASSWORD=¤",
        "a\nexport DB_PASSWORD=¤\nb",
        "user: ann\npassword: ¤\n",
        "{user: ann, password: ¤}",
        "<login><password>¤</password></login>",
        "<wsse:Password Type=\"x\">¤</wsse:Password>",
        "{\"a\": \"{\\\"clientSecret\\\": \\\"¤\\\"}\"}",
        "{\"clientSecret\":\"¤\"}",
        "postgres://u:¤@h.example/db",
        "https://h.example/x?token=¤&a=1",
        "a=1&token=¤",
        "/x?sig=¤",
        "-----BEGIN PRIVATE KEY-----¤-----END PRIVATE KEY-----",
        "your password: ¤",
        "x eyJ0eXAiOiJK.eyJ¤",
    ] {
        let secret = "Hunter2qwertyuiop";
        let text = shown(&form.replace('¤', secret));
        assert!(!text.contains(secret) && text.contains("[redacted 1]"), "{form}: {text}");
    }
}

#[test]
fn ordinary_texts_of_fields_stay() {
    for text in [
        "Reset your password: click the link below",
        "The password is not known, and the token was lost.",
        "Basic Plan2024x for Ann",
        "tokens: 812, max_tokens=1024, key=ord_1001",
        "https://shop.example/orders?key=ord_1001&code=usd",
        "idempotency_key=0b0a3a2c-7d9f-4a30-9d6c-0d9f6f1f7a11",
        "0b0a3a2c-7d9f-4a30-9d6c-0d9f6f1f7a11",
        "secretary@keys.example",
        "pin: blue, session: morning",
        "wJalrXUtnFEMIxK7MDENGxbPxRfiCYEXAMPLEKEY",
        "Author: Ann Key, compass=N",
        "pass: 3 fail: 0",
    ] {
        assert_eq!(shown(text), text);
    }
}

#[test]
fn a_value_that_the_test_names_is_shown() {
    let mut redactor = Redactor::default();
    ["hunter2", "ord_1001", "4711", "password: ask Ann"].iter().for_each(|value| redactor.show_value(value));
    let line =
        r#"{"password":"hunter2","pin":4711,"text":"password: ask Ann","body":"{\"password\":\"hunter2\"}"}"#;
    assert_eq!(redacted(&mut redactor, line), line);
    let line = r#"{"password":"hunter3","text":"password: abc for ord_1001"}"#;
    let expected = r#"{"password":"[redacted 1]","text":"password: [redacted 2]ord_1001"}"#;
    assert_eq!(redacted(&mut redactor, line), expected);
}

#[test]
fn overlapping_secrets_are_hidden_as_one_and_a_number_as_a_whole() {
    assert_eq!(shown("password=4242 4242 4242 4242 x"), "password=[redacted 1] x");
    assert_eq!(redacted(&mut Redactor::default(), r#"{"a":-4242424242424242}"#), r#"{"a":"[redacted 1]"}"#);
}

proptest! {
    #[test]
    fn a_card_number_within_any_text_is_hidden(
        said in "([^0-9]|[\\\\\",{}:=]|%[2ac][0-9a-f]|password| 4242424242424242 |\\\\u00e9){0,20}",
    ) {
        prop_assert!(!shown(&said).contains("4242424242424242"), "{}", said);
    }

    #[test]
    fn a_card_number_is_found_among_other_characters(
        before in "[a-z0-9 .-]{0,40}",
        after in "[a-z .-]{0,40}",
    ) {
        let text = format!("{before}x 4000056655665556{after}");
        prop_assert!(!shown(&text).contains("5665566555"), "{}", text);
    }
}

proptest! {
    #[test]
    fn ordinary_words_of_a_field_stay(
        words in proptest::collection::vec(prop::sample::select(vec!["your", "password", "token", "secret", "key",
            "was", "reset", "for", "Ann", "order", "ord_1001", "session", "pin", "code", "usd", "49", "and"]), 0..12),
    ) {
        let text = words.join(" ");
        prop_assert_eq!(shown(&text), text);
    }
}

#[test]
fn ordinary_words_that_begin_like_a_key_stay() {
    let line = concat!(
        r#"{"environment":"ASIA-PACIFIC-SOUTHEAST","task":"npm_install_everything_first","#,
        r#""region":"asia1-northeast-2-b-long"}"#
    );
    assert_eq!(redacted(&mut Redactor::default(), line), line);
}

#[test]
fn the_ledgers_own_words_and_numbers_are_never_hidden() {
    let mut redactor = Redactor::default();
    for word in ["payment.charge", "attempt", "committed"] {
        redactor.hide_value(word);
    }
    let opened = Event::Opened { format: 2, seed: 4_242_424_242_424_242, plan: None };
    let committed = Event::Committed {
        attempt: 4_242_424_242_424_242,
        effect: "payment.charge".into(),
        id: "1".into(),
        fields: Fields::new(),
        timing: CommitTiming::Now,
    };
    for event in [opened, committed] {
        assert_eq!(redactor.redact(event.clone()), event);
    }
    let said = noted("x", Fields::new().with("committed", "no attempt"));
    let shown = noted("x", Fields::new().with("[redacted 1]", "no [redacted 2]"));
    assert_eq!(redactor.redact(said.clone()), shown);
}

#[test]
fn a_short_secret_does_not_hide_the_ledger() {
    let mut redactor = Redactor::default();
    redactor.hide_value("1");
    assert_eq!(redacted(&mut redactor, r#"{"n":1}"#), r#"{"n":1}"#);
}
