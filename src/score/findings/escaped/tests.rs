use super::*;
use crate::subject::client_variables;

fn told(host: &str, services: &[&str]) -> String {
    advice(host, 443, &services.iter().copied().collect())
}

#[test]
fn each_known_host_has_the_advice_that_helps() {
    let all = ["payment", "email", "deploy"];
    for (host, services, word) in [
        ("api.stripe.com", &all[..], "HAPAX_PAYMENT_URL"),
        ("api.resend.com", &all, "RESEND_API_URL"),
        ("api.sendgrid.com", &all, "HAPAX_EMAIL_URL"),
        ("api.github.com", &all, "GITHUB_API_URL"),
        ("api.github.com", &["payment"], "`--allow api.github.com`"),
        ("api.openai.com", &all, "`model: {}`"),
        ("api.anthropic.com", &["model"], "ANTHROPIC_BASE_URL"),
        ("api.mistral.ai", &all, "`--allow api.mistral.ai`"),
        ("smtp.example.org", &all, "HAPAX_SMTP_URL"),
        ("smtp.example.org", &["payment"], "`--ignore smtp.example.org`"),
        ("o1.ingest.sentry.io", &all, "`ignore: [o1.ingest.sentry.io]`"),
        ("notstripe.com", &all, "HAPAX_PAYMENT_URL"),
        ("localhost", &all, "NO_PROXY"),
    ] {
        assert!(told(host, services).contains(word), "{host}: {}", told(host, services));
    }
}

/// Every variable that advice names as one of the subject's environment is one that hapax sets in a trial
/// with these services.
#[test]
fn advice_names_no_variable_that_is_not_set() {
    let sets: [&[&str]; 7] = [
        &[],
        &["payment"],
        &["email"],
        &["deploy"],
        &["model"],
        &["records", "my-desk"],
        &["payment", "email", "deploy"],
    ];
    let hosts = [
        "api.stripe.com",
        "api.resend.com",
        "api.sendgrid.com",
        "api.github.com",
        "api.openai.com",
        "api.anthropic.com",
    ];
    for (services, host) in sets.iter().flat_map(|services| {
        hosts
            .iter()
            .chain(&["smtp.example.org", "github.com", "example.org", "127.0.0.1"])
            .map(move |host| (*services, *host))
    }) {
        let mut set: Vec<String> = ["NO_PROXY"].map(str::to_owned).to_vec();
        for service in services {
            set.push(format!("HAPAX_{}_URL", service.to_uppercase().replace('-', "_")));
            set.extend(client_variables(service, "", "").into_iter().map(|(name, _)| name));
            set.extend((*service == "email").then(|| "HAPAX_SMTP_URL".to_owned()));
        }
        let text = told(host, services);
        // What is to be passed on is the user's own.
        let text = text.split(", and pass its key on").next().unwrap_or_default().to_owned();
        let words = text
            .split(|character: char| !(character.is_ascii_uppercase() || character == '_'))
            .filter(|word| word.contains('_'));
        for word in words.filter(|word| word.len() > 2) {
            assert!(set.iter().any(|name| name == word), "{host} with {services:?}: {word} in {text}");
        }
    }
}

#[test]
fn a_host_of_control_characters_is_escaped() {
    let finding = finding("a\u{1b}[2J\n", 1, &BTreeSet::new(), vec![1]);
    assert!(!finding.message.contains(['\u{1b}', '\n']) && !finding.fix.contains(['\u{1b}', '\n']));
}
