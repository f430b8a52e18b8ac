//! Requests to the world outside: which host, and the setting that would have led to the mock.

use std::collections::BTreeMap;

use mock_services::yaml::shown;

use super::Scene;
use crate::score::verdict::{Finding, FindingKind};
use crate::trial::notes;

/// So many hosts have a finding of their own.
const MOST_HOSTS: usize = 8;

/// The findings of all that tried to leave, one for each host.
pub(super) fn findings(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let mut hosts: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
    for note in scene.story.noted(notes::ESCAPED) {
        hosts.entry((note.text("host").to_ascii_lowercase(), note.text("port"))).or_default().push(note.n);
    }
    let more = hosts.len().saturating_sub(MOST_HOSTS);
    let mut found: Vec<Finding> =
        hosts.into_iter().take(MOST_HOSTS).map(|((host, port), entries)| finding(&host, &port, entries)).collect();
    if let Some(last) = found.last_mut().filter(|_| more > 0) {
        last.message.push_str(&format!(" There were {more} more hosts."));
    }
    found
}

fn finding(host: &str, port: &str, entries: Vec<u64>) -> Finding {
    let port = if port.is_empty() { String::new() } else { format!(":{}", shown(port)) };
    let times = if entries.len() == 1 { "once".to_owned() } else { format!("{} times", entries.len()) };
    Finding {
        kind: FindingKind::Escaped,
        fails: true,
        message: format!(
            "The subject tried {times} to reach {}{port}, which is no service of the trial. Nothing was let out.",
            shown(host)
        ),
        remedy: setting(host),
        entries,
    }
}

/// The setting that would have pointed a client of this host at the mock.
fn setting(host: &str) -> String {
    let is = |name: &str| host == name || host.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'));
    let advice = if is("stripe.com") {
        "Set the client's base address to HAPAX_PAYMENT_URL (Python: `stripe.api_base`; Node: `host`, `port` and `protocol`); Stripe's clients read no variable for it."
    } else if is("resend.com") {
        "Let RESEND_API_URL (Python) or RESEND_BASE_URL (Node) reach the client; both are set to the mock. Or give it HAPAX_EMAIL_URL."
    } else if is("sendgrid.com") {
        "Give the client HAPAX_EMAIL_URL (Python: `host=`; Node: `client.setDefaultRequest(\"baseUrl\", …)` after `setApiKey`)."
    } else if is("github.com") {
        "Give the client GITHUB_API_URL, which is set to the mock (PyGithub: `base_url=`; octokit: `baseUrl`)."
    } else if is("openai.com") {
        "Let OPENAI_BASE_URL, which is set to the mock, reach the client, or give it as its base address."
    } else if is("anthropic.com") {
        "Let ANTHROPIC_BASE_URL, which is set to the mock, reach the client, or give it as its base address."
    } else if host.starts_with("smtp.") || host.starts_with("mail.") {
        "Send mail through the server that HAPAX_SMTP_URL names."
    } else {
        "Point the client at the service that stands for this host: its address is in HAPAX_<SERVICE>_URL, and `env` in hapax.yaml can put it into any variable that the client reads."
    };
    advice.to_owned()
}

#[cfg(test)]
#[path = "escaped_tests.rs"]
mod tests;
