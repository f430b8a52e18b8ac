//! The variables that real clients and the programs around them read, by service.

/// The service, the variable, and what it is set to.
const VARIABLES: [(&str, &str, Part); 10] = [
    ("payment", "STRIPE_API_KEY", Part::Key),
    ("payment", "STRIPE_SECRET_KEY", Part::Key),
    ("payment", "STRIPE_API_BASE", Part::Url),
    ("email", "RESEND_API_URL", Part::Url),
    ("email", "RESEND_BASE_URL", Part::Url),
    ("email", "RESEND_API_KEY", Part::Key),
    ("email", "SENDGRID_API_KEY", Part::Key),
    ("deploy", "GITHUB_API_URL", Part::Url),
    ("deploy", "GITHUB_TOKEN", Part::Key),
    ("deploy", "GH_TOKEN", Part::Key),
];

#[derive(Clone, Copy)]
enum Part {
    Url,
    Key,
}

/// The variables of a service that is reached at this URL with this key.
pub(crate) fn client_variables(
    service: &str,
    url: &str,
    key: &str,
) -> impl Iterator<Item = (String, String)> {
    VARIABLES.iter().filter(move |(name, _, _)| *name == service).map(move |(_, variable, part)| {
        let value = match part {
            Part::Url => url,
            Part::Key => key,
        };
        ((*variable).to_owned(), value.to_owned())
    })
}
