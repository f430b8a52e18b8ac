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
        ("api.openai.com", 443, Treatment::Allowed),
        ("api.openai.com", 8080, Treatment::Allowed),
        ("xapi.openai.com", 443, Treatment::Refused),
        ("api.openai.com.evil.org", 443, Treatment::Refused),
        ("localhost", 11434, Treatment::Allowed),
        ("localhost", 11435, Treatment::Refused),
        ("::1", 80, Treatment::Allowed),
        ("2001:db8::1", 443, Treatment::Allowed),
        ("o1.ingest.sentry.io", 443, Treatment::Ignored),
        ("sentry.io", 443, Treatment::Refused),
        ("o1.x.datadog.com", 443, Treatment::Ignored),
        ("o1.x.datadog.com", 80, Treatment::Refused),
        ("api.stripe.com", 443, Treatment::Refused),
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
    let told = HostPattern::ignored("*.stripe.com").unwrap_err().to_string();
    assert!(told.contains("api.stripe.com") && told.contains("`payment`"), "{told}");
}

#[test]
fn this_machine_is_known_by_every_name_that_it_has() {
    for host in ["localhost", "app.localhost", "127.0.0.1", "127.1.2.3", "::1", "0.0.0.0", "::ffff:127.0.0.1"]
    {
        assert!(is_loopback(host), "{host}");
    }
    for host in ["example.org", "notlocalhost", "128.0.0.1", "::2"] {
        assert!(!is_loopback(host), "{host}");
    }
}
