//! Texts with placeholders for values of a trial: `${payment.url}`. Pure.

use mock_services::{catalog, examples};
use serde::Serialize;
use yaml_reader::{listed, nearest, shown};

use super::ServiceAddress;

/// The SMTP side of a service, in plain text and over TLS.
const MAIL_SERVERS: [&str; 2] = ["smtp", "smtps"];
/// The MCP endpoint, which offers the services as tools.
pub(super) const TOOLS: &str = "mcp";

/// The names of shipped services, to distinguish a typing error from a service of the user.
fn shipped() -> impl Iterator<Item = &'static str> + Clone {
    catalog::names().chain(MAIL_SERVERS)
}

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Template(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
enum Piece {
    Text(String),
    Placeholder {
        service: String,
        part: AddressPart,
    },
    /// The port of an agent over HTTP.
    Port,
    /// A value of the start, in a request to an agent or in a command.
    OfStart(StartValue),
}

/// A value of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) enum StartValue {
    Task,
    Steps,
    /// What a person answers: an empty list if the start resumes no other.
    Answer,
    Trial,
    Caller,
    /// A home directory of its own; only in settings.
    Home,
}

impl StartValue {
    const WORDS: [(&'static str, StartValue); 5] = [
        ("task", StartValue::Task),
        ("steps", StartValue::Steps),
        ("answer", StartValue::Answer),
        ("trial", StartValue::Trial),
        ("caller", StartValue::Caller),
    ];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
enum AddressPart {
    Url,
    Host,
    Port,
    Key,
    User,
    Password,
    Ca,
}

impl AddressPart {
    /// The parts of every service.
    const SERVICE_PARTS: [(&'static str, AddressPart); 4] = [
        ("url", AddressPart::Url),
        ("host", AddressPart::Host),
        ("port", AddressPart::Port),
        ("key", AddressPart::Key),
    ];
    /// The parts of the MCP endpoint.
    const TOOLS_PARTS: [(&'static str, AddressPart); 3] =
        [("url", AddressPart::Url), ("host", AddressPart::Host), ("port", AddressPart::Port)];
    /// The parts of a mail server.
    const MAIL_PARTS: [(&'static str, AddressPart); 6] = [
        ("url", AddressPart::Url),
        ("host", AddressPart::Host),
        ("port", AddressPart::Port),
        ("user", AddressPart::User),
        ("password", AddressPart::Password),
        ("ca", AddressPart::Ca),
    ];

    fn for_service(service: &str) -> &'static [(&'static str, AddressPart)] {
        match service {
            TOOLS => &AddressPart::TOOLS_PARTS,
            _ if is_mail(service) => &AddressPart::MAIL_PARTS,
            _ => &AddressPart::SERVICE_PARTS,
        }
    }
}

/// Whether the name is that of a mail server.
fn is_mail(service: &str) -> bool {
    MAIL_SERVERS.contains(&service)
}

/// The problem with a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// The problem.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl Template {
    /// A text without placeholders.
    #[must_use]
    pub fn literal(text: String) -> Self {
        Template(vec![Piece::Text(text)])
    }

    /// The text, if it has no placeholders.
    #[must_use]
    pub fn constant(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Piece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Reads a text; `$${` is a literal `${`.
    ///
    /// # Errors
    /// When a placeholder is not closed or unknown.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        Template::parse_with(text, placeholder)
    }

    /// Reads a word of a command, which can have the task and other values of the start, and a home directory.
    pub(super) fn parse_word(text: &str) -> Result<Self, TemplateError> {
        Template::parse_with(text, |name| match name {
            "home" | "port" => placeholder(name),
            _ => request_placeholder(name),
        })
    }

    /// Reads a text of a request, which can have the task and other values of the start.
    pub(super) fn parse_request(text: &str) -> Result<Self, TemplateError> {
        Template::parse_with(text, request_placeholder)
    }

    fn parse_with(
        text: &str,
        placeholder: fn(&str) -> Result<Piece, TemplateError>,
    ) -> Result<Self, TemplateError> {
        let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
        while let Some(at) = rest.find("${") {
            if rest[..at].ends_with('$') {
                plain.push_str(&rest[..at]);
                plain.push('{');
                rest = &rest[at + 2..];
                continue;
            }
            plain.push_str(&rest[..at]);
            let Some(length) = rest[at + 2..].find('}') else {
                let message = format!("`{}` is not closed", shown(&rest[at..]));
                return Err(TemplateError {
                    message,
                    help: format!("write ${{{}.url}}, or $${{ for a literal ${{", examples::SERVICE),
                });
            };
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(placeholder(&rest[at + 2..at + 2 + length])?);
            rest = &rest[at + 3 + length..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Template(pieces))
    }

    /// The text for these services; `None` if it refers to another service.
    #[must_use]
    pub fn fill(&self, services: &[ServiceAddress]) -> Option<String> {
        self.fill_request(services, |_| None)
    }

    /// The text of a request for these services and values of the start.
    pub(super) fn fill_request(
        &self,
        services: &[ServiceAddress],
        value: impl Fn(StartValue) -> Option<String>,
    ) -> Option<String> {
        self.0
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => Some(text.clone()),
                Piece::Placeholder { service, part } => value_of(services, service, *part),
                Piece::Port => None,
                Piece::OfStart(which) => value(*which),
            })
            .collect()
    }

    /// Whether it has this value of the start.
    pub(super) fn has(&self, value: StartValue) -> bool {
        self.0.contains(&Piece::OfStart(value))
    }

    /// Whether it is nothing but this value of the start.
    pub(super) fn is_only(&self, value: StartValue) -> bool {
        self.0 == [Piece::OfStart(value)]
    }

    /// Whether it has the port of an agent over HTTP.
    pub(super) fn has_port(&self) -> bool {
        self.0.contains(&Piece::Port)
    }

    /// Whether it refers to a service.
    pub(super) fn has_service(&self) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Placeholder { .. }))
    }

    /// The same text with `${port}` replaced by this port.
    #[must_use]
    pub(super) fn with_port(mut self, port: u16) -> Self {
        for piece in &mut self.0 {
            if *piece == Piece::Port {
                *piece = Piece::Text(port.to_string());
            }
        }
        self
    }
}

/// A placeholder of a request. The port is known to the agent already.
fn request_placeholder(name: &str) -> Result<Piece, TemplateError> {
    if let Some((_, value)) = StartValue::WORDS.iter().find(|(word, _)| *word == name) {
        return Ok(Piece::OfStart(*value));
    }
    if name.contains('.') {
        return placeholder(name);
    }
    let words = || StartValue::WORDS.iter().map(|(word, _)| *word);
    let help = match nearest(name, words()) {
        Some(near) => format!("did you mean `${{{near}}}`?"),
        None => {
            let words: Vec<String> = words().map(|word| format!("${{{word}}}")).collect();
            let service = examples::SERVICE;
            format!("write {}, or a part of a service, for example ${{{service}.url}}", words.join(", "))
        }
    };
    Err(TemplateError { message: format!("unknown placeholder `${{{}}}`", shown(name)), help })
}

fn placeholder(name: &str) -> Result<Piece, TemplateError> {
    let unknown = |help: String| {
        Err(TemplateError { message: format!("unknown placeholder `${{{}}}`", shown(name)), help })
    };
    match name {
        "port" => return Ok(Piece::Port),
        "home" => return Ok(Piece::OfStart(StartValue::Home)),
        _ => {}
    }
    let Some((service, part)) = name.split_once('.') else {
        let parts = AddressPart::SERVICE_PARTS.map(|(part, _)| format!("${{{}.{part}}}", examples::SERVICE));
        return unknown(format!("write a service and a part: {}", parts.join(", ")));
    };
    let near = nearest(service, shipped()).filter(|near| *near != service && service != TOOLS);
    if let Some(near) = near {
        return unknown(format!("did you mean `${{{near}.{}}}`?", shown(part)));
    }
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if service.is_empty() || !service.bytes().all(is_name) {
        return unknown(format!("expected {}, or a service of your own", listed(shipped())));
    }
    match AddressPart::for_service(service).iter().find(|(word, _)| *word == part) {
        Some((_, part)) => Ok(Piece::Placeholder { service: service.to_owned(), part: *part }),
        None if is_mail(service) && part == "key" => {
            unknown(format!("the key is the password: `${{{service}.password}}`"))
        }
        None => {
            let words = || AddressPart::for_service(service).iter().map(|(word, _)| *word);
            let allowed = format!(
                "{} has {}",
                match service {
                    TOOLS => "the MCP endpoint",
                    _ if is_mail(service) => "a mail server",
                    _ => "a service",
                },
                listed(words())
            );
            unknown(match nearest(part, words()) {
                Some(near) => format!("did you mean `${{{service}.{near}}}`? {allowed}"),
                None => allowed,
            })
        }
    }
}

fn value_of(services: &[ServiceAddress], name: &str, part: AddressPart) -> Option<String> {
    let mail = services.iter().find(|service| service.smtp.is_some());
    let service = if is_mail(name) { mail? } else { services.iter().find(|service| service.name == name)? };
    let smtp = service.smtp.as_ref();
    let url = match name {
        "smtp" => &smtp?.url,
        "smtps" => smtp?.tls_url.as_ref()?,
        _ => &service.url,
    };
    let authority = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest).split('/').next()?;
    let authority = authority.rsplit_once('@').map_or(authority, |(_, address)| address);
    let (host, port) = authority.rsplit_once(':')?;
    Some(match part {
        AddressPart::Url => url.to_owned(),
        AddressPart::Host => host.trim_matches(['[', ']']).to_owned(),
        AddressPart::Port => port.to_owned(),
        AddressPart::Key | AddressPart::Password => service.key.clone(),
        AddressPart::User => super::environment::SMTP_USER.to_owned(),
        AddressPart::Ca => smtp?.trust.as_ref()?.ca.to_string_lossy().into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn services() -> Vec<ServiceAddress> {
        let service = |name: &str, port: u16, smtp: Option<u16>| ServiceAddress {
            name: name.to_owned(),
            url: format!("http://127.0.0.1:{port}"),
            smtp: smtp.map(|port| {
                let address = |port: u16| ([127, 0, 0, 1], port).into();
                let trust = crate::trust::Trust {
                    ca: "/trial/ca.pem".into(),
                    bundle: "/trial/all.pem".into(),
                    extra: "/trial/ca.pem".into(),
                };
                crate::subject::MailAddress::new(address(port), Some(address(port + 1)), "re_1", Some(trust))
            }),
            key: format!("key_{name}"),
        };
        vec![service("payment", 4001, None), service("email", 4002, Some(2525)), service("seats", 4003, None)]
    }

    fn filled(text: &str) -> Option<String> {
        Template::parse(text).unwrap().fill(&services())
    }

    #[test]
    fn placeholders_are_replaced_by_parts_of_services() {
        let cases = [
            ("${payment.url}/v1", "http://127.0.0.1:4001/v1"),
            ("${payment.host}:${payment.port}", "127.0.0.1:4001"),
            ("Bearer ${email.key}", "Bearer key_email"),
            ("${smtp.host} ${smtp.port}", "127.0.0.1 2525"),
            ("${smtp.user} ${smtps.port} ${smtp.ca}", "apikey 2526 /trial/ca.pem"),
            ("${smtps.url}", "smtps://apikey:re_1@127.0.0.1:2526"),
            ("${seats.url}", "http://127.0.0.1:4003"),
            ("no holes, $HOME, $${payment.url}", "no holes, $HOME, ${payment.url}"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(filled(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_service_that_a_case_does_not_have_leaves_the_variable_out() {
        assert_eq!(filled("${deploy.url}"), None);
    }

    #[test]
    fn an_unknown_placeholder_gives_a_suggestion() {
        let texts = [
            "${payment}",
            "${paymnt.url}",
            "${payment.ulr}",
            "${payment.colour}",
            "${payment.url",
            "${smtp.key}",
            "${.url}",
            "${mcp.key}",
        ];
        let messages: Vec<String> = texts
            .iter()
            .map(|text| {
                let error = Template::parse(text).unwrap_err();
                format!("{}\n  {}", error.message, error.help)
            })
            .collect();
        insta::assert_snapshot!(messages.join("\n"));
    }

    proptest! {
        #[test]
        fn a_text_without_placeholders_is_constant(text in "[^$]*") {
            prop_assert_eq!(filled(&text), Some(text));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[${}.a-zé]*") {
            let _ = Template::parse(&text);
        }
    }

    #[test]
    fn the_port_of_an_agent_is_filled_in_where_there_is_one() {
        let template = Template::parse("127.0.0.1:${port}").unwrap();
        assert_eq!((template.fill(&[]), template.constant()), (None, None));
        assert_eq!(template.with_port(8080).fill(&[]), Some("127.0.0.1:8080".to_owned()));
    }
}
