//! Which service of a trial answers in place of a host. Plain data.

use std::net::SocketAddr;

use mock_services::catalog::ServedHost;

use crate::domain::is_loopback;

/// Where a service of the trial listens for one caller, and the hosts that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServiceRoute {
    /// Its name.
    pub(crate) service: String,
    /// The hosts that it stands for.
    pub(crate) hosts: Vec<ServedHost>,
    /// Whether it stands for every host that no other service stands for.
    pub(crate) any_host: bool,
    /// Its port for HTTP.
    pub(crate) http: SocketAddr,
    /// Its port for SMTP.
    pub(crate) smtp: Option<SocketAddr>,
    /// Its port for SMTP over TLS.
    pub(crate) smtps: Option<SocketAddr>,
}

impl ServiceRoute {
    /// All its ports.
    pub(super) fn ports(&self) -> impl Iterator<Item = SocketAddr> {
        [Some(self.http), self.smtp, self.smtps].into_iter().flatten()
    }

    /// The service that stands for a host, whose name is in lower case: the one that names it, the one with a
    /// pattern that matches it, or the one that takes every host. This machine is not such a host.
    pub(super) fn find<'r>(routes: &'r [ServiceRoute], host: &str) -> Option<&'r ServiceRoute> {
        let any = || routes.iter().find(|route| route.any_host && !is_loopback(host));
        ServiceRoute::named(routes, host).or_else(any)
    }

    /// The service that names a host, or has a pattern that matches it.
    pub(super) fn named<'r>(routes: &'r [ServiceRoute], host: &str) -> Option<&'r ServiceRoute> {
        let of = |is_exact: bool| {
            let is_one = move |served: &ServedHost| served.is_exact() == is_exact && served.matches(host);
            routes.iter().find(|route| route.hosts.iter().any(is_one))
        };
        of(true).or_else(|| of(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(service: &str, hosts: &[&str], any_host: bool) -> ServiceRoute {
        ServiceRoute {
            service: service.to_owned(),
            hosts: hosts.iter().map(|host| ServedHost::parse(host).unwrap()).collect(),
            any_host,
            http: SocketAddr::from(([127, 0, 0, 1], 1)),
            smtp: None,
            smtps: None,
        }
    }

    #[test]
    fn a_name_comes_before_a_pattern_and_a_pattern_before_the_service_for_every_host() {
        let routes = [
            route("web", &[], true),
            route("email", &["*.shop.example"], false),
            route("payment", &["pay.shop.example"], false),
        ];
        let found = |host: &str| ServiceRoute::find(&routes, host).map(|route| route.service.as_str());
        assert_eq!(found("pay.shop.example"), Some("payment"));
        assert_eq!(found("mail.shop.example"), Some("email"));
        assert_eq!(found("api.example.com"), Some("web"));
        assert_eq!(found("93.184.216.34"), Some("web"));
        assert_eq!(found("localhost"), None);
        assert_eq!(found("127.0.0.1"), None);
        let without = &routes[1..];
        assert!(ServiceRoute::find(without, "api.example.com").is_none());
    }
}
