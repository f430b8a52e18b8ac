//! Requests outside of the trial: to hosts that are not its services, and after it had ended.

use std::collections::{BTreeMap, BTreeSet};

use mock_services::catalog::{self, ServiceDescription};
use mock_services::ledger::{LateRequest, LateRequestKind};
use yaml_reader::shown;

use super::FindingContext;
use crate::domain::{SubjectEvent, Transport, is_loopback, real_host};
use crate::scenario::Terms;
use crate::score::history::{PlacedEvent, service_of};
use crate::score::verdict::{Finding, FindingKind};

/// The maximum number of hosts with their own finding.
const MAX_HOSTS: usize = 8;

/// Domains of language models that no service replaces, and the variable that has the key of each.
const MODELS: [(&str, &str); 3] = [
    ("mistral.ai", "MISTRAL_API_KEY"),
    ("groq.com", "GROQ_API_KEY"),
    ("openrouter.ai", "OPENROUTER_API_KEY"),
];

/// The findings of requests to other hosts, one for each host.
pub(super) fn escaped(context: &FindingContext<'_, '_>) -> Vec<Finding> {
    let mut hosts: BTreeMap<(String, u16, Transport), Vec<u64>> = BTreeMap::new();
    for note in &context.history.notes {
        if let SubjectEvent::Escaped { host, port, transport } = &note.event {
            hosts.entry((host.to_ascii_lowercase(), *port, *transport)).or_default().push(note.n);
        }
    }
    let services = services(context.terms);
    let more = hosts.len().saturating_sub(MAX_HOSTS);
    let mut found: Vec<Finding> = hosts
        .into_iter()
        .take(MAX_HOSTS)
        .map(|((host, port, transport), entries)| finding((&host, port, transport), &services, entries))
        .collect();
    if let Some(last) = found.last_mut().filter(|_| more > 0) {
        last.message.push_str(&format!(" There were {more} more hosts."));
    }
    found.extend(told_a_name_server(context));
    found
}

/// The finding of names that were looked up to tell something to whoever answers for them.
fn told_a_name_server(context: &FindingContext<'_, '_>) -> Option<Finding> {
    let names = context.history.notes.iter().filter_map(|note| match &note.event {
        SubjectEvent::LookedUp { host, carries_data: true } => Some((host, note.n)),
        _ => None,
    });
    let names: Vec<(&String, u64)> = names.collect();
    let (first, _) = names.first()?;
    let what = match names.len() {
        1 => shown(first).to_string(),
        count => format!("{} and {} more such names", shown(first), count - 1),
    };
    Some(Finding {
        message: format!(
            "The subject looked up {what}, which is no plain host name, and did not connect: the look-up \
             itself tells what is in the name to a name server outside of the trial. hapax blocked it."
        ),
        fix: "Remove what looks up this name. If it is telemetry or the like, refuse it without a finding with \
              `ignore: [HOST]` in hapax.yaml or `--ignore HOST`; to reach the real host, use `allow: [HOST]` \
              or `--allow HOST`."
            .to_owned(),
        entries: names.into_iter().map(|(_, entry)| entry).collect(),
        ..Finding::new(FindingKind::Escaped)
    })
}

/// The services of a case whose addresses the subject gets.
pub(in crate::score) fn services(terms: &Terms) -> BTreeSet<&str> {
    terms.operations.iter().map(|operation| service_of(&operation.name)).collect()
}

fn finding(
    (host, port, transport): (&str, u16, Transport),
    services: &BTreeSet<&str>,
    entries: Vec<u64>,
) -> Finding {
    let times = if entries.len() == 1 { "once".to_owned() } else { format!("{} times", entries.len()) };
    let through = if is_loopback(host) { " through the proxy" } else { "" };
    Finding {
        message: format!(
            "The subject tried {times} to reach {}{through}, which is not a service of the trial. hapax \
             blocked it.",
            transport.target(&shown(host), port)
        ),
        fix: advice(host, port, services),
        entries,
        ..Finding::new(FindingKind::Escaped)
    }
}

/// The fix for requests to this host.
fn advice(host: &str, port: u16, services: &BTreeSet<&str>) -> String {
    let name = shown(host);
    let is =
        |domain: &str| host == domain || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'));
    if is_loopback(host) {
        let address = format!("{name}:{port}");
        return format!(
            "NO_PROXY names this address, and the client ignores it: let the client honor NO_PROXY, or let \
             the proxy forward with `allow: [\"{address}\"]` in hapax.yaml or `--allow {address}`."
        );
    }
    if let Some((service, real)) = real_host(host) {
        if services.contains(service) {
            return format!(
                "{} Or leave the agent as it is, and run with `--sealed`: then the mock answers for {name}.",
                real.setting
            );
        }
        if catalog::find(service).is_some_and(|service| service.can_be_added) {
            return format!(
                "This case has no service `{service}`, which replaces {name}: add it to every case with \
                 `{service}: {{}}` for the subject in hapax.yaml. Or let the request reach the real {name} with \
                 `allow: [{name}]` in hapax.yaml or `--allow {name}`."
            );
        }
        return format!(
            "This case has no service `{service}` that replaces {name}: remove the request if the task does \
             not need it, or let it reach the real {name} with `allow: [{name}]` in hapax.yaml or `--allow \
             {name}`."
        );
    }
    if let Some((_, key)) = MODELS.iter().find(|(domain, _)| is(domain)) {
        return format!(
            "hapax has no service that replaces this language model: let the subject reach the real one with \
             `allow: [{name}]` in hapax.yaml or `--allow {name}`, and pass its key on with `pass: [{key}]` \
             or `--env {key}`."
        );
    }
    let takes_mail = |name: &&str| catalog::find(name).is_some_and(ServiceDescription::takes_smtp);
    if services.iter().any(takes_mail) && (host.starts_with("smtp.") || host.starts_with("mail.")) {
        return "Send mail through the server that HAPAX_SMTP_URL names.".to_owned();
    }
    let any_host = catalog::built_in().iter().find(|service| service.any_host);
    let replaced = any_host.map_or_else(String::new, |any| {
        let any = &any.name;
        let add = if services.contains(any.as_str()) {
            String::new()
        } else {
            format!(" after `{any}: {{}}` for the subject in hapax.yaml")
        };
        format!("If the task needs this host, run with `--sealed`{add}: the service `{any}` answers for it. ")
    });
    let variables: Vec<String> = services
        .iter()
        .map(|service| format!("HAPAX_{}_URL", service.to_uppercase().replace('-', "_")))
        .collect();
    let addresses = if variables.is_empty() {
        String::new()
    } else {
        format!(
            "If a service of the trial replaces it, configure the client with its address: {}. ",
            shown(&variables.join(", "))
        )
    };
    format!(
        "{addresses}{replaced}If it is telemetry or the like, refuse it without a finding with `ignore: [{name}]` \
         in hapax.yaml or `--ignore {name}`. To reach the real host, use `allow: [{name}]` or `--allow {name}`."
    )
}

/// The findings of late requests: one for all writes, one for all others.
pub(super) fn late_requests(context: &FindingContext<'_, '_>) -> Vec<Finding> {
    let (writes, others): (Vec<_>, Vec<_>) =
        context.history.late_requests().partition(|request| match request.event.kind {
            LateRequestKind::Write => true,
            LateRequestKind::Read | LateRequestKind::Refused | LateRequestKind::Unreadable => false,
        });
    let mut found = Vec::new();
    if let Some(what) = described(&writes) {
        found.push(Finding {
            message: format!(
                "After its trial had ended, the subject sent {what}; hapax refused it, but a \
                              real service would have executed it."
            ),
            fix: "Answer only when everything that was started has ended, including retries in the \
                  background; or raise `watch` in hapax.yaml if the agent is meant to continue after its \
                  answer."
                .to_owned(),
            entries: writes.iter().map(|note| note.n).collect(),
            ..Finding::new(FindingKind::LateWrite)
        });
    }
    if let Some(what) = described(&others) {
        found.push(Finding {
            message: format!(
                "After its trial had ended, the subject sent {what}, which could not change anything."
            ),
            fix: "Answer only when everything that was started has ended.".to_owned(),
            entries: others.iter().map(|note| note.n).collect(),
            ..Finding::new(FindingKind::LateRead)
        });
    }
    found
}

/// The requests as text: `a payment.charge (POST /v1/charges)`, `3 requests, the first a …`.
fn described(requests: &[PlacedEvent<'_, LateRequest>]) -> Option<String> {
    let LateRequest { service, method, path, operation, .. } = requests.first()?.event;
    let what = match operation {
        None => format!("a request to {}", shown(service)),
        Some(operation) => format!("a {}", shown(operation)),
    };
    let line = if method.is_empty() {
        String::new()
    } else {
        format!(" ({})", shown(format!("{method} {path}").trim_end()))
    };
    Some(match requests.len() {
        1 => format!("{what}{line}"),
        count => format!("{count} requests, the first {what}{line}"),
    })
}

#[cfg(test)]
mod tests {
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
            ("generativelanguage.googleapis.com", &["model"], "GOOGLE_GEMINI_BASE_URL"),
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

    /// What reaches a real host is the last advice, wherever a service can answer for the host.
    #[test]
    fn a_real_host_is_allowed_last() {
        for host in ["api.stripe.com", "api.openai.com", "api.example.org", "o1.ingest.sentry.io"] {
            for services in [&["payment"][..], &["web"], &["model"], &[]] {
                let text = told(host, services);
                let allow = text.find("allow").unwrap_or(text.len());
                let other = ["--sealed", "HAPAX_", "hapax.yaml", "remove the request"];
                let first = other.iter().filter_map(|word| text.find(word)).min();
                assert!(first.is_some_and(|first| first < allow), "{host} with {services:?}: {text}");
            }
        }
        assert!(told("api.stripe.com", &["payment"]).contains("--sealed"));
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
            "generativelanguage.googleapis.com",
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
        let finding = finding(("a\u{1b}[2J\n", 1, Transport::Tcp), &BTreeSet::new(), vec![1]);
        assert!(!finding.message.contains(['\u{1b}', '\n']) && !finding.fix.contains(['\u{1b}', '\n']));
    }
}
