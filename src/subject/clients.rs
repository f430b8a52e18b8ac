//! The variables that real clients and the programs around them read, by service.

use mock_services::catalog;

/// The variables of a service that is reached at this URL with this key.
pub(crate) fn client_variables(service: &str, url: &str, key: &str) -> Vec<(String, String)> {
    catalog::find(service).map(|service| service.client_variables(url, key).collect()).unwrap_or_default()
}
