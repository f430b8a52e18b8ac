//! Through which of its APIs a service was asked. Some services speak several, which do not know the same
//! things; the method and the path of a request, which stand in the ledger, tell them apart.

use crate::{deploy, email};

/// One API of a service.
#[derive(Debug, PartialEq, Eq)]
pub struct Api {
    /// Its name in scenarios and settings: `github`.
    pub name: &'static str,
    /// Its name in sentences: `the GitHub API`.
    pub title: &'static str,
    /// What a client of it never meets, and one of the service's other APIs does: `which knows no locks`.
    pub differs: &'static str,
}

const STRIPE: Api = Api { name: "stripe", title: "the Stripe API", differs: "the only API of this service" };
const RESEND: Api = Api {
    name: "resend",
    title: "the Resend API",
    differs: "which takes idempotency keys and answers with HTTP statuses",
};
const SENDGRID: Api = Api {
    name: "sendgrid",
    title: "the SendGrid API",
    differs: "which has no idempotency keys and answers with HTTP statuses",
};
const SMTP: Api = Api {
    name: "smtp",
    title: "SMTP",
    differs: "which has no idempotency keys and answers with codes of its own",
};
const GITHUB: Api =
    Api { name: "github", title: "the GitHub API", differs: "which knows no locks, rollouts or dry runs" };
const PLAIN: Api = Api {
    name: "plain",
    title: "the plain deploy API",
    differs: "which does nothing where the version is live already",
};

/// The APIs of a service; none where it has a single one without a name, as services of one's own have.
#[must_use]
pub fn apis(service: &str) -> &'static [Api] {
    match service {
        "payment" => &[STRIPE],
        "email" => &[RESEND, SENDGRID, SMTP],
        "deploy" => &[GITHUB, PLAIN],
        _ => &[],
    }
}

/// The API of the service through which this request came.
#[must_use]
pub fn api_of(service: &str, method: &str, path: &str) -> Option<&'static Api> {
    let name = match service {
        "payment" => "stripe",
        "email" => email::api_name(method, path),
        "deploy" => deploy::api_name(path)?,
        _ => return None,
    };
    apis(service).iter().find(|api| api.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_tells_its_api() {
        for (service, method, path, name) in [
            ("payment", "POST", "/v1/charges", Some("stripe")),
            ("email", "POST", "/emails", Some("resend")),
            ("email", "POST", "/v3/mail/send", Some("sendgrid")),
            ("email", "DATA", "smtp:", Some("smtp")),
            ("deploy", "POST", "/repos/acme/shop/deployments", Some("github")),
            ("deploy", "POST", "/api/v3/repos/acme/shop/deployments", Some("github")),
            ("deploy", "POST", "/deployments", Some("plain")),
            ("deploy", "GET", "/environments/production", Some("plain")),
            ("deploy", "GET", "/elsewhere", None),
            ("tickets", "POST", "/tickets", None),
        ] {
            assert_eq!(api_of(service, method, path).map(|api| api.name), name, "{service} {method} {path}");
        }
    }
}
