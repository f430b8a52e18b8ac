//! One page of a list, and the `Link` header with the addresses of the others.

use serde::Serialize;

use crate::service::{Answer, Request};

/// The requested part of a list; pages are counted from 1.
#[derive(Debug)]
pub(crate) struct Page {
    number: usize,
    size: usize,
    /// The path as sent, and the query without the page.
    path: String,
    query: Vec<(String, String)>,
}

impl Page {
    pub(crate) fn read(request: &Request) -> Self {
        let value =
            |name| request.query_value(name).and_then(|value| value.parse().ok()).filter(|value| *value > 0);
        let mut query = request.query_pairs();
        query.retain(|(name, _)| name != "page");
        Page {
            number: value("page").unwrap_or(1),
            size: value("per_page").unwrap_or(30).min(100),
            path: request.base_url() + request.path(),
            query,
        }
    }

    /// The entries of this page as JSON, with the `Link` header.
    pub(crate) fn answer<Member, View: Serialize>(
        &self,
        all: &[Member],
        view: impl Fn(&Member) -> View,
    ) -> Answer {
        let here = all.iter().skip((self.number - 1).saturating_mul(self.size)).take(self.size);
        let answer = Answer::json(200, &here.map(view).collect::<Vec<_>>());
        match self.links(all.len()) {
            Some(links) => answer.with_header("Link", links),
            None => answer,
        }
    }

    fn links(&self, total: usize) -> Option<String> {
        let last = total.div_ceil(self.size).max(1);
        let mut links = Vec::new();
        if self.number > 1 {
            links.push(self.link((self.number - 1).min(last), "prev"));
        }
        if self.number < last {
            links.push(self.link(self.number + 1, "next"));
            links.push(self.link(last, "last"));
        }
        if self.number > 1 {
            links.push(self.link(1, "first"));
        }
        (!links.is_empty()).then(|| links.join(", "))
    }

    fn link(&self, page: usize, relation: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(&self.query).append_pair("page", &page.to_string());
        format!("<{}?{}>; rel=\"{relation}\"", self.path, query.finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(target: &str, total: usize) -> Answer {
        let request = Request::new("GET", target).header("Host", "h:1");
        Page::read(&request).answer(&(0..total).collect::<Vec<_>>(), |member| *member)
    }

    #[test]
    fn links_keep_the_address_and_the_query_of_the_request() {
        let answer = page("/api/v3/repos/o/r/deployments?per_page=2&environment=a%20b&page=2", 5);
        assert_eq!(answer.body, b"[2,3]");
        let at = |page| {
            format!("<http://h:1/api/v3/repos/o/r/deployments?per_page=2&environment=a+b&page={page}>")
        };
        let expected = format!(
            r#"{}; rel="prev", {}; rel="next", {}; rel="last", {}; rel="first""#,
            at(1),
            at(3),
            at(3),
            at(1)
        );
        assert_eq!(answer.header("link"), Some(expected.as_str()));
    }

    #[test]
    fn a_list_of_one_page_has_no_links_and_an_invalid_page_is_the_first() {
        assert_eq!(page("/x", 30).header("link"), None);
        assert_eq!(page("/x?page=-1&per_page=nonsense", 3).body, b"[0,1,2]");
        assert_eq!(page("/x?page=18446744073709551615&per_page=100", 3).body, b"[]");
    }
}
