use super::*;
use proptest::prelude::*;

fn services() -> Vec<ServiceAddress> {
    let service = |name: &str, port: u16, smtp: Option<u16>| ServiceAddress {
        name: name.to_owned(),
        url: format!("http://127.0.0.1:{port}"),
        smtp: smtp.map(|port| {
            let address = |port: u16| ([127, 0, 0, 1], port).into();
            let trust = crate::trust::Trust {
                ca: "/trial/ca.pem".into(),
                bundle: "/trial/all.pem".into(),
                extra: "/trial/ca.pem".into(),
            };
            crate::subject::MailAddress::new(address(port), Some(address(port + 1)), "re_1", Some(trust))
        }),
        key: format!("key_{name}"),
    };
    vec![service("payment", 4001, None), service("email", 4002, Some(2525)), service("seats", 4003, None)]
}

fn filled(text: &str) -> Option<String> {
    Template::parse(text).unwrap().fill(&services())
}

#[test]
fn placeholders_are_replaced_by_parts_of_services() {
    let cases = [
        ("${payment.url}/v1", "http://127.0.0.1:4001/v1"),
        ("${payment.host}:${payment.port}", "127.0.0.1:4001"),
        ("Bearer ${email.key}", "Bearer key_email"),
        ("${smtp.host} ${smtp.port}", "127.0.0.1 2525"),
        ("${smtp.user} ${smtps.port} ${smtp.ca}", "apikey 2526 /trial/ca.pem"),
        ("${smtps.url}", "smtps://apikey:re_1@127.0.0.1:2526"),
        ("${seats.url}", "http://127.0.0.1:4003"),
        ("no holes, $HOME, $${payment.url}", "no holes, $HOME, ${payment.url}"),
        ("", ""),
    ];
    for (text, expected) in cases {
        assert_eq!(filled(text).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn a_service_that_a_case_does_not_have_leaves_the_variable_out() {
    assert_eq!(filled("${deploy.url}"), None);
}

#[test]
fn an_unknown_placeholder_gives_a_suggestion() {
    let texts = [
        "${payment}",
        "${paymnt.url}",
        "${payment.ulr}",
        "${payment.colour}",
        "${payment.url",
        "${smtp.key}",
        "${.url}",
        "${mcp.key}",
    ];
    let messages: Vec<String> = texts
        .iter()
        .map(|text| {
            let error = Template::parse(text).unwrap_err();
            format!("{}\n  {}", error.message, error.help)
        })
        .collect();
    insta::assert_snapshot!(messages.join("\n"));
}

proptest! {
    #[test]
    fn a_text_without_placeholders_is_constant(text in "[^$]*") {
        prop_assert_eq!(filled(&text), Some(text));
    }

    #[test]
    fn no_text_makes_it_panic(text in "[${}.a-zé]*") {
        let _ = Template::parse(&text);
    }
}

#[test]
fn the_port_of_an_agent_is_filled_in_where_there_is_one() {
    let template = Template::parse("127.0.0.1:${port}").unwrap();
    assert_eq!((template.fill(&[]), template.constant()), (None, None));
    assert_eq!(template.with_port(8080).fill(&[]), Some("127.0.0.1:8080".to_owned()));
}
