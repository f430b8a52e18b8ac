//! How real clients reach a service: its APIs, the variables that clients read, and the hosts that they call.

use crate::idempotency::Profile;

/// One API of a service.
#[derive(Debug, PartialEq, Eq)]
pub struct ApiDescription {
    /// Its name in scenarios and settings: `github`.
    pub name: &'static str,
    /// Its name in sentences: `the GitHub API`.
    pub title: &'static str,
    /// How it differs from the other APIs of the service: `which has no locks`.
    pub differs: &'static str,
}

/// A variable that real clients read, and what it is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientVariable {
    /// Its name.
    pub name: &'static str,
    /// What it is set to.
    pub value: ClientValue,
}

/// What a variable of a client is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientValue {
    /// The URL of the service.
    Url,
    /// The URL of the service with this path after it.
    UrlWithPath(&'static str),
    /// The API key of the service.
    Key,
    /// This text.
    Fixed(&'static str),
}

impl ClientVariable {
    /// A variable with the URL of the service.
    #[must_use]
    pub const fn url(name: &'static str) -> Self {
        ClientVariable { name, value: ClientValue::Url }
    }

    /// A variable with the URL of the service and a path after it.
    #[must_use]
    pub const fn url_with_path(name: &'static str, path: &'static str) -> Self {
        ClientVariable { name, value: ClientValue::UrlWithPath(path) }
    }

    /// A variable with a fixed text.
    #[must_use]
    pub const fn fixed(name: &'static str, text: &'static str) -> Self {
        ClientVariable { name, value: ClientValue::Fixed(text) }
    }

    /// A variable with the API key of the service.
    #[must_use]
    pub const fn key(name: &'static str) -> Self {
        ClientVariable { name, value: ClientValue::Key }
    }
}

/// The host of a real API that a service mocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RealHost {
    /// Its name: `api.stripe.com`.
    pub host: &'static str,
    /// How to configure a client of the real API for the mock, as a sentence.
    pub setting: &'static str,
    /// How it treats idempotency keys, if that is known.
    pub profile: Option<Profile>,
}
