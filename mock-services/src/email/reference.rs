//! The endpoints of the email service, for its reference. A test compares them with the routers.

use super::{resend, sendgrid};
use crate::description::{EndpointDescription, RealEndpoint};

/// All endpoints of Resend and SendGrid.
pub(super) fn real_endpoints() -> Vec<RealEndpoint> {
    let all = resend::RESEND.all().into_iter().chain(sendgrid::SENDGRID.all());
    all.map(RealEndpoint::from).collect()
}

/// All endpoints of the service. SMTP has none.
pub(super) fn endpoints() -> Vec<EndpointDescription> {
    const SEND: &[&str] = &["email.send"];
    const LIST: &[&str] = &["email.list"];
    const GET: &[&str] = &["email.get"];
    vec![
        EndpointDescription::new("POST", "/emails", SEND, &[resend::PROPERTIES]).without(resend::UNSUPPORTED),
        EndpointDescription::new("POST", "/emails/batch", SEND, &[resend::PROPERTIES])
            .without(resend::UNSUPPORTED),
        EndpointDescription::new("GET", "/emails", LIST, &[&["limit", "after", "before"]]),
        EndpointDescription::new("GET", "/emails/{id}", GET, &[]),
        EndpointDescription::new("PATCH", "/emails/{id}", &[], &[]),
        EndpointDescription::new("POST", "/emails/{id}/cancel", &[], &[]),
        EndpointDescription::new(
            "POST",
            "/v3/mail/send",
            &["email.send", "email.sandbox"],
            &[&sendgrid::PROPERTIES],
        ),
        EndpointDescription::new("GET", "/v3/messages", LIST, &[&["limit", "query"]]),
        EndpointDescription::new("GET", "/v3/messages/{id}", GET, &[]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::listed_like_routed;
    use crate::email::Email;

    #[test]
    fn the_reference_lists_exactly_the_endpoints_that_the_routers_have() {
        listed_like_routed(&Email::default(), &endpoints(), &real_endpoints());
    }
}
