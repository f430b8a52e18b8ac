//! The endpoints of a real API, also those that the mock does not have, so that a request for an endpoint
//! that is not implemented differs from a request to the wrong service.

use std::fmt;

/// The endpoints of one API, read from an `endpoints.txt`.
pub(crate) struct Endpoints(Vec<(&'static str, &'static str)>);

/// What an API has at a method and a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It has the endpoint: `POST /v1/invoices/{id}/pay`.
    Endpoint(String),
    /// It has the path, but not for this method.
    OtherMethods,
    /// It has nothing there.
    Nothing,
}

impl Endpoints {
    /// Reads lines of methods and a path: `GET,POST /v1/charges/{}`.
    pub(crate) fn read(text: &'static str) -> Self {
        Endpoints(
            text.lines()
                .filter(|line| !line.starts_with('#'))
                .filter_map(|line| line.split_once(' '))
                .collect(),
        )
    }

    /// What the API has at this method and path. An empty part of the path is not an id.
    pub(crate) fn find(&self, method: &str, path: &str) -> Known {
        let mut known = Known::Nothing;
        for (methods, template) in &self.0 {
            if !fits(template, path) {
                continue;
            }
            if methods.split(',').any(|have| have == method) {
                let template = template.replace("{+}", "{path}").replace("{}", "{id}");
                return Known::Endpoint(format!("{method} {template}"));
            }
            known = Known::OtherMethods;
        }
        known
    }

    /// The method and the path of all endpoints.
    pub(crate) fn all(&self) -> Vec<(String, String)> {
        let of_line = |(methods, template): &(&'static str, &'static str)| {
            let path = template.replace("{+}", "{path}").replace("{}", "{id}");
            let one = move |method: &str| (method.to_owned(), path.clone());
            methods.split(',').map(one).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_line).collect()
    }

    /// Whether the API has the path, for any method.
    pub(crate) fn has_path(&self, path: &str) -> bool {
        self.0.iter().any(|(_, template)| fits(template, path))
    }
}

impl fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoints({})", self.0.len())
    }
}

fn fits(template: &str, path: &str) -> bool {
    let mut parts = path.split('/');
    for wanted in template.split('/') {
        match (wanted, parts.next()) {
            ("{+}", Some(part)) => return !part.is_empty(),
            ("{}", Some(part)) if !part.is_empty() => {}
            (wanted, Some(part)) if wanted == part => {}
            _ => return false,
        }
    }
    parts.next().is_none()
}

/// The message for something that the real API has and hapax does not: `POST /v1/invoices`.
pub(crate) fn lacking(what: &str) -> String {
    format!(
        "hapax does not have {what} yet. The real API has it, so this request proves nothing against the \
         caller: hapax counts the trial as \
         void."
    )
}

/// The message for a request that belongs to another API.
pub(crate) fn no_such_endpoint(service: &str, api: &str, method: &str, path: &str) -> String {
    format!(
        "no such endpoint: this is the {service} service, which speaks {api}, and that has no {method} {path}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_found_by_its_method_and_path() {
        let endpoints = Endpoints::read(
            "# GET /nothing\nGET,POST /v1/a\nGET /v1/a/search\nGET /v1/a/{}\nPUT /files/{+}\n",
        );
        let known = |method: &str, path: &str| endpoints.find(method, path);
        assert_eq!(known("POST", "/v1/a"), Known::Endpoint("POST /v1/a".to_owned()));
        assert_eq!(known("GET", "/v1/a/search"), Known::Endpoint("GET /v1/a/search".to_owned()));
        assert_eq!(known("GET", "/v1/a/x1"), Known::Endpoint("GET /v1/a/{id}".to_owned()));
        assert_eq!(known("PUT", "/files/a/b.txt"), Known::Endpoint("PUT /files/{path}".to_owned()));
        assert_eq!(known("DELETE", "/v1/a/x1"), Known::OtherMethods);
        for path in ["/", "", "/v1", "/v1/a/", "/v1/a/x/y", "/files/", "/files", "/nothing", "v1/a"] {
            assert_eq!(known("GET", path), Known::Nothing, "{path}");
            assert!(!endpoints.has_path(path), "{path}");
        }
    }
}
