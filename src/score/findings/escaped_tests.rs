use super::*;

#[test]
fn each_known_host_has_the_setting_that_helps() {
    for (host, word) in [
        ("api.stripe.com", "HAPAX_PAYMENT_URL"),
        ("api.resend.com", "RESEND_API_URL"),
        ("api.sendgrid.com", "HAPAX_EMAIL_URL"),
        ("api.github.com", "GITHUB_API_URL"),
        ("api.openai.com", "OPENAI_BASE_URL"),
        ("smtp.example.org", "HAPAX_SMTP_URL"),
        ("example.org", "hapax.yaml"),
        ("notstripe.com", "hapax.yaml"),
    ] {
        assert!(setting(host).contains(word), "{host}: {}", setting(host));
    }
}

#[test]
fn a_host_of_control_characters_is_made_harmless() {
    assert!(!finding("a\u{1b}[2J\n", "1", vec![1]).message.contains(['\u{1b}', '\n']));
}
