//! A request over HTTP, or a message over SMTP, as a test writes it.

/// One request.
#[derive(Debug, Clone, Default)]
pub(crate) struct TestRequest {
    pub(crate) method: &'static str,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// The API key, when it is not the one that the service accepts; when empty, none is sent.
    pub(crate) secret: Option<String>,
    /// A message over SMTP instead of an HTTP request.
    pub(crate) mail: Option<Mail>,
}

/// One message.
#[derive(Debug, Clone)]
pub(crate) struct Mail {
    pub(crate) to: Vec<String>,
    pub(crate) text: String,
}

impl TestRequest {
    pub(crate) fn get(target: impl Into<String>) -> Self {
        TestRequest { method: "GET", target: target.into(), ..TestRequest::default() }
    }

    pub(crate) fn delete(target: impl Into<String>) -> Self {
        TestRequest { method: "DELETE", target: target.into(), ..TestRequest::default() }
    }

    /// A POST with the body that Stripe's clients send.
    pub(crate) fn form(target: impl Into<String>, body: &str) -> Self {
        TestRequest { method: "POST", target: target.into(), body: body.to_owned(), ..TestRequest::default() }
            .header("Content-Type", "application/x-www-form-urlencoded")
    }

    /// A request whose body is JSON.
    pub(crate) fn json(method: &'static str, target: impl Into<String>, body: &serde_json::Value) -> Self {
        TestRequest { method, target: target.into(), body: body.to_string(), ..TestRequest::default() }
            .header("Content-Type", "application/json")
    }

    /// A message over SMTP.
    pub(crate) fn mail(to: &[&str], text: &str) -> Self {
        let to = to.iter().map(|to| (*to).to_owned()).collect();
        TestRequest { mail: Some(Mail { to, text: text.to_owned() }), ..TestRequest::default() }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn key(self, key: &str) -> Self {
        self.header("Idempotency-Key", key)
    }

    pub(crate) fn secret(mut self, secret: &str) -> Self {
        self.secret = Some(secret.to_owned());
        self
    }
}
