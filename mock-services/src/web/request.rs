//! What a request asks for: its operation, its host, its path and its content.

use serde_json::Value;

use super::answers::find;
use super::content::{add_fields, add_query_fields, content, without_ignored};
use super::graphql::{self, GraphQl};
use super::{DELETE, GET, PATCH, POST, PUT, QUERY, WebOptions, error};
use crate::description::ValueForm;
use crate::service::{Answer, Fields, Request};

/// A request that was understood.
#[derive(Debug)]
pub(super) struct ParsedRequest {
    /// The index of its operation.
    pub(super) operation: usize,
    /// Its method.
    pub(super) method: String,
    /// Its host in lower case, without the port; empty for a request to an address of this machine.
    pub(super) host: String,
    /// Its path without a slash at its end; `/` for the root.
    pub(super) path: String,
    /// The pairs of its query.
    pub(super) query: Vec<(String, String)>,
    /// Its body.
    pub(super) content: Value,
    /// The arguments of each field of a GraphQL mutation.
    pub(super) mutation: Option<Value>,
    /// The place of the declared answer that is used.
    pub(super) answer: Option<usize>,
    /// The fields that faults and the ledger can name.
    pub(super) fields: Fields,
}

impl ParsedRequest {
    /// Reads a request. The error answers a method that neither reads nor writes.
    pub(super) fn read(request: &Request, options: &WebOptions) -> Result<Self, Answer> {
        let by_method = match request.method() {
            "POST" => POST,
            "PUT" => PUT,
            "PATCH" => PATCH,
            "DELETE" => DELETE,
            "GET" | "HEAD" => GET,
            method => return Err(without_effect(method)),
        };
        let (method, host, path) = (request.method().to_owned(), host(request), path(request));
        let content = content(request).map_err(|what| {
            error(415, &format!("this mock service cannot read {what}")).unsupported(&what)
        })?;
        let answer = find(&options.answers, &method, &host, &path, &content);
        let declared = answer.and_then(|place| options.answers.get(place));
        let asked = if by_method == POST { graphql::operation(&content) } else { None };
        if let (Some(GraphQl::Read(names)), None) = (&asked, declared) {
            return Err(undecided_query(names));
        }
        let is_query = matches!(asked, Some(GraphQl::Read(_)))
            || declared.is_some_and(|declared| declared.read || by_method == GET);
        let mutation = match asked {
            Some(GraphQl::Mutation(fields)) => Some(Value::Object(fields)),
            _ => None,
        };
        let mut query = request.query_pairs();
        let mut fields = Fields::new();
        if !host.is_empty() {
            fields.set("host", host.as_str());
        }
        fields.set("path", path.as_str());
        query.retain(|(name, _)| !options.ignore.contains(name));
        let sorted = sorted_query(&query);
        if !sorted.is_empty() {
            fields.set("query", sorted);
        }
        add_query_fields(&mut fields, &query);
        // A body of a GET has no meaning, and its condition is that of a cache.
        if by_method != GET {
            if let Some(condition) = request.header_value("if-none-match") {
                fields.set("if_none_match", condition);
            }
            // However a mutation is written, its names and arguments are the effect.
            let effect = mutation.as_ref().unwrap_or(&content);
            add_fields(&mut fields, &without_ignored(effect, &options.ignore));
        }
        let operation = if is_query { QUERY } else { by_method };
        Ok(ParsedRequest { operation, method, host, path, query, content, mutation, answer, fields })
    }
}

/// The answer to a GraphQL query that no declared answer is for. A wrong answer would say that nothing was made.
fn undecided_query(names: &[String]) -> Answer {
    let why = format!(
        "what the GraphQL query of `{}` shows is not known: declare an answer for it with `read: true` and \
         `where: {{ query: \"*{}*\" }}`",
        names.join("`, `"),
        names.first().map_or("", String::as_str)
    );
    error(501, &why).undecided(&why)
}

/// The answer to a method that neither reads nor writes here. What a real API does with another method than
/// `OPTIONS` is not known.
fn without_effect(method: &str) -> Answer {
    const ALLOW: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
    match method {
        "OPTIONS" => Answer::empty(204).with_header("Allow", ALLOW),
        _ => error(405, "this method is not supported")
            .with_header("Allow", ALLOW)
            .unsupported(&format!("the method {method}")),
    }
}

/// The host that the client named. Requests to an address of this machine name none: their port differs from run
/// to run, and the effect must not.
pub(super) fn host(request: &Request) -> String {
    let named = request.header_value("host").unwrap_or_default().trim().to_ascii_lowercase();
    let host = match named.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => named.rsplit_once(':').map_or(named.as_str(), |(host, _)| host),
    };
    let host = host.trim_end_matches('.');
    let is_local = host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    if is_local { String::new() } else { host.to_owned() }
}

fn path(request: &Request) -> String {
    ValueForm::UrlPath.canonical(request.path())
}

/// The query in a canonical form: sorted.
fn sorted_query(pairs: &[(String, String)]) -> String {
    let mut pairs: Vec<&(String, String)> = pairs.iter().collect();
    pairs.sort();
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}
