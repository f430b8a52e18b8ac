//! The headers of every GitHub response.

use crate::service::{Answer, Context, Request};

const FIXED: [(&str, &str); 12] = [
    ("Server", "github.com"),
    ("Cache-Control", "private, max-age=60, s-maxage=60"),
    ("Vary", "Accept, Authorization, Cookie, X-GitHub-OTP,Accept-Encoding, Accept, X-Requested-With"),
    ("X-OAuth-Scopes", "repo"),
    ("X-Accepted-OAuth-Scopes", "repo_deployment"),
    ("X-GitHub-Media-Type", "github.v3; format=json"),
    ("X-GitHub-Api-Version-Selected", "2022-11-28"),
    ("Access-Control-Allow-Origin", "*"),
    ("Strict-Transport-Security", "max-age=31536000; includeSubdomains; preload"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "origin-when-cross-origin, strict-origin-when-cross-origin"),
    ("Content-Security-Policy", "default-src 'none'"),
];

/// The number of requests allowed per hour.
const LIMIT: u64 = 5000;

/// Adds GitHub's headers; headers that the response already has stay.
pub(crate) fn add_standard_headers(answer: &mut Answer, request: &Request, context: &Context) {
    super::etag::tag(answer, request);
    if answer.header("content-type") == Some("application/json") {
        answer.set_header("Content-Type", "application/json; charset=utf-8");
    }
    for (name, value) in FIXED {
        add(answer, name, || value.to_owned());
    }
    let used = 1 + context.ids.number("rate", 200);
    add(answer, "X-RateLimit-Limit", || LIMIT.to_string());
    add(answer, "X-RateLimit-Remaining", || (LIMIT - used).to_string());
    add(answer, "X-RateLimit-Reset", || super::errors::window_end(context.now).to_string());
    add(answer, "X-RateLimit-Used", || used.to_string());
    add(answer, "X-RateLimit-Resource", || "core".to_owned());
    add(answer, "X-GitHub-Request-Id", || request_id(context));
}

fn add(answer: &mut Answer, name: &'static str, value: impl FnOnce() -> String) {
    if answer.header(name).is_none() {
        answer.set_header(name, value());
    }
}

/// `C800:12BEC:606F1A6:714CFC1:5F846F24`; the last part is the time.
pub(crate) fn request_id(context: &Context) -> String {
    let digits = context.ids.hex("request", 23).to_ascii_uppercase();
    let second = context.now.as_second();
    format!("{}:{}:{}:{}:{second:X}", &digits[..4], &digits[4..9], &digits[9..16], &digits[16..])
}
