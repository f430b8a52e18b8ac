use super::*;

fn hosts(allow: &[&str], ignore: &[&str]) -> Hosts {
    Hosts {
        allow: allow.iter().map(|text| HostPattern::allowed(text).unwrap()).collect(),
        ignore: ignore.iter().map(|text| HostPattern::ignored(text).unwrap()).collect(),
    }
}

#[test]
fn a_host_is_treated_by_the_first_list_that_names_it() {
    let hosts = hosts(
        &["API.openai.com", "localhost:11434", "[::1]:80", "2001:db8::1"],
        &["*.sentry.io", "o*.dat*.com:443"],
    );
    for (host, port, expected) in [
        ("api.openai.com", 443, Some(HostTreatment::Allowed)),
        ("api.openai.com", 8080, Some(HostTreatment::Allowed)),
        ("xapi.openai.com", 443, None),
        ("api.openai.com.evil.org", 443, None),
        ("localhost", 11434, Some(HostTreatment::Allowed)),
        ("localhost", 11435, None),
        ("::1", 80, Some(HostTreatment::Allowed)),
        ("2001:db8::1", 443, Some(HostTreatment::Allowed)),
        ("o1.ingest.sentry.io", 443, Some(HostTreatment::Ignored)),
        ("sentry.io", 443, None),
        ("o1.x.datadog.com", 443, Some(HostTreatment::Ignored)),
        ("o1.x.datadog.com", 80, None),
        ("api.stripe.com", 443, None),
    ] {
        assert_eq!(hosts.treatment(host, port), expected, "{host}:{port}");
    }
}

#[test]
fn what_would_turn_the_net_off_is_no_host() {
    for text in [
        "*",
        "*.openai.com",
        "",
        ":443",
        "https://api.openai.com",
        "api.openai.com/v1",
        "a b",
        "host:0",
        "host:99999",
        "ho\u{1b}st",
    ] {
        assert!(HostPattern::allowed(text).is_err(), "{text}");
    }
    for text in ["*", "*.*", "sentry.*", "*.com", "*.stripe.com", "api.github.com", "**.resend.com:443"] {
        assert!(HostPattern::ignored(text).is_err(), "{text}");
    }
    let message = HostPattern::ignored("*.stripe.com").unwrap_err().to_string();
    assert!(message.contains("api.stripe.com") && message.contains("`payment`"), "{message}");
}
