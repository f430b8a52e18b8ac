use super::super::{Limits, MailAddress, ServiceAddress, Template, Trust};
use super::*;

fn start() -> Start {
    Start {
        intercepted: None,
        sealed: None,
        trial: "5d1c0f0e6a1b2c3d".to_owned(),
        name: "0a1b2c3d4e5f6071".to_owned(),
        caller: 2,
        start: 3,
        task: "Charge\0 cus_42.".to_owned(),
        steps: "[{\"do\": \"payment.charge\"}]".to_owned(),
        services: vec![
            ServiceAddress {
                name: "payment".into(),
                url: "http://127.0.0.1:4001".into(),
                smtp: None,
                key: "sk_1".into(),
            },
            ServiceAddress {
                name: "email".into(),
                url: "http://127.0.0.1:4002".into(),
                smtp: Some(MailAddress::new(
                    ([127, 0, 0, 1], 2525).into(),
                    Some(([127, 0, 0, 1], 2465).into()),
                    "re_1",
                    Some(Trust {
                        ca: "/trial/ca.pem".into(),
                        bundle: "/trial/all.pem".into(),
                        extra: "/trial/ca.pem".into(),
                    }),
                )),
                key: "re_1".into(),
            },
            ServiceAddress {
                name: "deploy".into(),
                url: "http://127.0.0.1:4003".into(),
                smtp: None,
                key: "gh_1".into(),
            },
            ServiceAddress {
                name: "seat-map".into(),
                url: "http://127.0.0.1:4004".into(),
                smtp: None,
                key: "st_1".into(),
            },
        ],
        mcp: Some("http://127.0.0.1:4009/mcp".into()),
        state_dir: "/trial/state".into(),
        shared_dir: "/trial/shared".into(),
        result: "/trial/result.json".into(),
        proxy: "http://127.0.0.1:5000".to_owned(),
        limits: Limits::default(),
        before_stop: None,
        before_time_up: None,
        hide: crate::subject::Hide::default(),
    }
}

fn parent() -> Vec<(String, String)> {
    [
        ("PATH", "/usr/bin"),
        ("LC_ALL", "C.UTF-8"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("OPENAI_API_KEY", "sk-real"),
        ("STRIPE_API_KEY", "sk_live_real"),
        ("HTTPS_PROXY", "http://proxy.example"),
        ("HAPAX_TOKEN", "token"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

#[test]
fn a_subject_sees_what_is_listed_and_nothing_else() {
    let lines: Vec<String> = environment(&start(), &Settings::default(), &parent())
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn a_variable_can_be_passed_on() {
    let settings = Settings { pass: vec!["OPENAI_API_KEY".to_owned()], ..Settings::default() };
    let all = environment(&start(), &settings, &parent());
    assert!(all.contains(&("OPENAI_API_KEY".to_owned(), "sk-real".to_owned())));
}

#[test]
fn a_key_for_the_real_service_never_takes_the_place_of_ours() {
    let settings =
        Settings { pass: vec!["STRIPE_API_KEY".to_owned(), "HTTPS_PROXY".to_owned()], ..Settings::default() };
    let all = environment(&start(), &settings, &parent());
    assert!(all.contains(&("STRIPE_API_KEY".to_owned(), "sk_1".to_owned())));
    assert!(all.contains(&("HTTPS_PROXY".to_owned(), "http://127.0.0.1:5000".to_owned())));
}

#[test]
fn templates_are_filled_and_have_the_last_word() {
    let template = |text: &str| Template::parse(text).unwrap();
    let settings = Settings {
        env: vec![
            ("PAY_HOST".to_owned(), template("${payment.host}")),
            ("RESEND_BASE_URL".to_owned(), template("${email.url}/api")),
            ("RECORDS".to_owned(), template("${records.url}")),
            ("TOOLS".to_owned(), template("${mcp.url} ${mcp.port}")),
        ],
        ..Settings::default()
    };
    let all = environment(&start(), &settings, &parent());
    let value = |wanted: &str| all.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    assert_eq!(value("PAY_HOST"), Some("127.0.0.1"));
    assert_eq!(value("RESEND_BASE_URL"), Some("http://127.0.0.1:4002/api"));
    assert_eq!(value("RECORDS"), None);
    assert_eq!(value("TOOLS"), Some("http://127.0.0.1:4009/mcp 4009"));
}

#[test]
fn who_opens_one_proxy_opens_all_that_a_client_would_read_in_its_place() {
    let env = vec![("HTTPS_PROXY".to_owned(), Template::parse("").unwrap())];
    let all = environment(&start(), &Settings { env, ..Settings::default() }, &parent());
    let value = |name: &str| all.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str());
    for open in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"] {
        assert_eq!(value(open), Some(""), "{open}");
    }
    assert_eq!([value("HTTP_PROXY"), value("http_proxy")], [Some("http://127.0.0.1:5000"); 2]);
}

#[test]
fn the_command_before_a_trial_sees_the_trial_and_nothing_of_the_case() {
    let before = BeforeCommand {
        trial: "5d1c0f0e6a1b2c3d".to_owned(),
        shared_dir: "/trial/shared".into(),
        hide: crate::subject::Hide::default(),
    };
    let env = [("DATABASE_URL", "postgres://localhost/test"), ("PAY", "${payment.url}")];
    let env = env.map(|(name, value)| (name.to_owned(), Template::parse(value).unwrap())).to_vec();
    let settings = Settings { env, ..Settings::default() };
    let all = before_environment(&before, &settings, &parent());
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"DATABASE_URL") && names.contains(&"PATH"), "{names:?}");
    let own: Vec<&str> = names.iter().copied().filter(|name| name.starts_with("HAPAX_")).collect();
    assert_eq!(own, ["HAPAX_SHARED_DIR", "HAPAX_TRIAL"]);
    assert!(!names.iter().any(|name| *name == "PAY" || name.to_lowercase().contains("proxy")), "{names:?}");
}
